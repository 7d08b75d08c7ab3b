"""Checks of arguments and data, and messages to users."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from difflib import get_close_matches
from math import isfinite
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import validate_data as validate_by_sklearn

from skfair._utils.tables import is_sparse, to_pandas_table

if TYPE_CHECKING:
    from collections.abc import Collection
    from types import FrameType

    from networkx import Graph
    from sklearn.base import BaseEstimator

    from skfair._utils.api import Label
    from skfair._utils.tables import Table, TableLike


# Messages to users: warnings at their line, lists of names, and look-up of names.


_LIBRARIES = ("skfair", "sklearn", "joblib", "functools")
"""Packages whose frames are skipped to find the user's line."""


class _Collector(NamedTuple):
    """Messages of warnings of some categories, which are collected and not shown."""

    categories: tuple[type[Warning], ...]
    messages: list[str]


_collectors: ContextVar[tuple[_Collector, ...]] = ContextVar("collectors", default=())
"""Collectors of this thread or task, the innermost one last."""


@contextmanager
def collect_warnings(*categories: type[Warning]) -> Iterator[list[str]]:
    """A context that collects messages of the package's own warnings, of these categories or all.

    Filters of :mod:`warnings` belong to the process: two threads that each restore them leave those
    of the first that ended, and all later warnings are lost.
    """
    collector = _Collector(categories or (Warning,), [])
    token = _collectors.set((*_collectors.get(), collector))
    try:
        yield collector.messages
    finally:
        _collectors.reset(token)


def mute_warnings(*categories: type[Warning]) -> AbstractContextManager[list[str]]:
    """A context in which the package itself does not warn, of these categories or of any."""
    return collect_warnings(*categories)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the user's line, however deep below it the warning arises.

    The ``page`` of a category says where the guide explains it.
    """
    message += getattr(category, "page", "")
    for collector in reversed(_collectors.get()):
        if issubclass(category, collector.categories):
            collector.messages.append(message)
            return
    frame = sys._getframe()  # from Python 3.12 on, skip_file_prefixes of warnings.warn replaces it
    level = 1
    # Skip frames of the libraries, whose warnings would point at lines the user did not write.
    while frame.f_back is not None and _is_library_frame(frame):
        frame = frame.f_back
        level = level + 1
    warnings.warn(message, category, stacklevel=level)


def _is_library_frame(frame: FrameType) -> bool:
    return frame.f_globals.get("__name__", "").split(".")[0] in _LIBRARIES


def join_names(names: Iterable[Any], limit: int = 10) -> str:
    """Names for a message, as in "a, b and 3 more"; pass ``map(repr, labels)`` for labels."""
    names = list(names)
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def argument_error(message: str) -> ValueError:
    """A ValueError, of which ``argument`` is the first word of the message, ``problem`` the rest.

    The first word is the name of an argument, which a command writes as an option.
    """
    error = ValueError(message)
    error.argument, _, error.problem = message.partition(" ")  # type: ignore[attr-defined]
    return error


def check_flag(name: str, value: bool) -> bool:
    """A switch that users pass as the argument `name`; raise for other values that Python takes."""
    if not isinstance(value, bool | np.bool_):
        raise argument_error(f"{name} must be True or False; got {value!r}.")
    return bool(value)


def check_text(name: str, value: str) -> None:
    """Raise unless the argument `name` is a text."""
    if not isinstance(value, str):
        raise argument_error(f"{name} must be a str; got {value!r}.")


def check_model(estimator: BaseEstimator) -> None:
    """Raise for a class, and for an object without ``fit`` and ``predict``."""
    if isinstance(estimator, type):
        raise TypeError(
            f"estimator must be an object, but the class {estimator.__name__} was passed. Make "
            f"one, as in {estimator.__name__}()."
        )
    if not hasattr(estimator, "fit") or not hasattr(estimator, "predict"):
        raise TypeError(
            "estimator must have fit and predict, as those of scikit-learn do, but a "
            f"{type(estimator).__name__} was passed. For other models pass the predictions: to "
            "skfair.audit.Audit.from_predictions, or to skfair.statistics.gap_interval."
        )


def check_path(path: str | PathLike[str], name: str = "path", what: str = "file") -> Path:
    """The path of a file or a folder that users pass as the argument `name`."""
    if not isinstance(path, str | PathLike):
        raise argument_error(
            f"{name} must be the name of a {what} or a pathlib.Path; got {path!r}."
        )
    return Path(path)


def list_values(values: Iterable[Any]) -> list[Any]:
    """The values of a parameter, one for each fit, that users pass as `values`."""
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise argument_error(f"values must be a list with a value for each fit; got {values!r}.")
    listed = list(values)
    if not listed:
        raise argument_error("values must hold a value for each estimator, but there is none.")
    return listed


def refuse_clusters(clusters: TableLike | None, what: str) -> None:
    """Raise for clusters of samples, unless there are none, where samples must be independent."""
    if clusters is not None:
        raise argument_error(
            f"groups must be left out for {what}, where samples count one by one: limits that "
            "count dependent samples are too narrow. Pass one sample of each person or household, "
            "drawn at random."
        )


class Registry(dict[str, Any]):
    """Objects by name, with a function that says what an unknown name may mean.

    ``hint(name, registry)`` returns a sentence to end an error with, or an empty string.
    """

    def __init__(self, objects: Mapping[str, Any], hint: Callable[[Any, Registry], str]) -> None:
        super().__init__(objects)
        self.hint = hint


def spelling_hint(name: Any, known: Any) -> str:
    """A question such as " Did you mean 'sqp'?" to end an error with; empty if no name is close.

    A `Registry` knows what other names mean.
    """
    if isinstance(known, Registry):
        return known.hint(name, known)
    return closest_name_hint(name, known)


def closest_name_hint(
    name: float | str | dict[str, str], known: Iterable[str], cutoff: float = 0.6
) -> str:
    """The question for the name of closest spelling, if it is as similar as the cutoff."""
    names = [one for one in known if isinstance(one, str)]
    close = get_close_matches(name, names, n=1, cutoff=cutoff) if isinstance(name, str) else []
    return f" Did you mean {close[0]!r}?" if close else ""


def check_choice(name: str, value: object, known: Collection[Any]) -> None:
    """Raise unless an argument is one of the values that are known."""
    if value not in [*known]:
        names = join_names(map(repr, known))
        hint = spelling_hint(value, known)
        raise argument_error(f"{name} must be one of {names}; got {value!r}.{hint}")


def resolve_name(
    registry: Mapping[str, Any],
    what: Any,
    parameter: str,
    kind: type | tuple[type, ...] = object,
) -> Any:
    """The object of a name in a registry, or the object passed if it is an instance of `kind`.

    A class in the registry stands for an instance with default parameters. `parameter` is what
    users call the argument.
    """
    if not isinstance(what, str) and isinstance(what, kind):
        return what
    if not isinstance(what, str) or what not in registry:
        kinds = kind if isinstance(kind, tuple) else (kind,)
        of_kind = "" if kind is object else f" of {' or '.join(one.__name__ for one in kinds)}"
        raise argument_error(
            f"{parameter} must be one of {sorted(registry)} or an instance{of_kind}; got {what!r}."
            + spelling_hint(what, registry)
        )
    entry = registry[what]
    # Registries hold classes and instances.
    return entry() if isinstance(entry, type) else entry


# Numbers in sentences: bounds as they were passed, limits rounded outwards, few exponents.


def bound_text(bound: float) -> str:
    """A bound as it was passed."""
    return f"{bound:.12g}"


def limit_text(limit: float, is_lower: bool = False, n_digits: int = 3) -> str:
    """A limit, rounded outwards."""
    return number_text(limit, n_digits, outward_rounding(is_lower))


def outward_rounding(is_lower: bool) -> str:
    """The rounding of a lower or an upper limit that does not narrow an interval."""
    return ROUND_FLOOR if is_lower else ROUND_CEILING


def round_up(number: float) -> float:
    """The smallest number of three digits that is at least another one."""
    digits = 2 - int(np.floor(np.log10(number)))
    rounded = round(float(number), digits)
    return rounded if rounded >= number else round(rounded + 10.0**-digits, digits)


def number_text(
    number: float, n_digits: int = 3, rounding: str = ROUND_HALF_EVEN, sign: str = ""
) -> str:
    """A number of three digits, or all before the point; no zero has a sign.

    Only numbers from a million on, and below .0001, have an exponent.
    """
    number += 0.0
    if not isfinite(number):
        return format(number, f"{sign}g")
    exact = Decimal(f"{number:.12g}")
    n_digits = n_digits if abs(number) >= 1e6 else max(n_digits, exact.adjusted() + 1)
    last = Decimal(1).scaleb(exact.adjusted() + 1 - n_digits)
    # One digit more, as 99.96 may become 100.
    return format(float(exact.quantize(last, rounding)), f"{sign}.{n_digits + 1}g")


# Checks of X beyond those of scikit-learn: text, graphs, numbers that are too large.


@contextmanager
def explain_conversion(X: TableLike | Graph | None, estimator: object) -> Iterator[None]:
    """Add to errors of the conversion of X to numbers what to do with text, and with graphs."""
    check_in_memory(X=X)
    try:
        yield
    except (TypeError, ValueError) as error:
        advice = _advise_conversion(X, estimator) or describe_non_number("X", X)
        if not advice:
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        # What numpy says of its types, and of rows of different lengths, is no word for users.
        is_ragged = isinstance(X, list | tuple) and len({*map(np.size, X)}) > 1
        is_of_numpy = isinstance(error, np.exceptions.DTypePromotionError) or is_ragged
        raise kind(advice if is_of_numpy else f"{str(error).rstrip('.')}. {advice}") from error


_HOST_DEVICES = 1, 3, 11
"""DLPack's numbers of memory that the processor reads: its own, and pinned for CUDA or ROCm."""


def check_in_memory(**named: Any) -> None:
    """Raise for arrays of an accelerator, tables that are not computed yet, and iterators."""
    for name, value in named.items():
        if isinstance(value, Iterator):
            raise TypeError(
                f"{name} must be in memory, but it is a {type(value).__name__}, which yields its "
                f"values once. Pass list({name})."
            )
        is_lazy = hasattr(value, "collect") and not hasattr(value, "__dask_graph__")
        if is_lazy and not hasattr(value, "__array__"):
            raise TypeError(
                f"{name} must be in memory, but it is a {type(value).__name__}, which is not "
                f"computed yet. Pass {name}.collect(), or what its library computes it by."
            )
        if (
            hasattr(value, "__dlpack_device__")
            and value.__dlpack_device__()[0] not in _HOST_DEVICES
        ):
            raise TypeError(
                f"{name} must be in the memory of the processor, but it is a "
                f"{type(value).__name__} on another device. Copy it, as by x.cpu() in PyTorch or "
                "x.get() in CuPy."
            )


def describe_non_number(name: str, values: TableLike | None) -> str:
    """The first entry that is no number, with its place; empty if there is none."""
    if is_sparse(values):
        return ""
    for place, value in np.ndenumerate(np.asarray(values, dtype=object)):
        try:
            float(value)
        except (TypeError, ValueError):
            where = f" in row {' of column '.join(map(str, place))}" if place else ""
            return (
                f"{name} must hold numbers, but it holds {value!r}{where}; encode it, or leave the "
                "row out."
            )
    return ""


def to_floats(name: str, values: TableLike) -> np.ndarray:
    """The values as float64; the error about one that is no number has its place."""
    if getattr(getattr(values, "dtype", None), "kind", "") == "c":
        raise ValueError(f"Complex data not supported: {name} must hold real numbers.")
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(describe_non_number(name, values) or f"{name}: {error}") from error


_NO_LABELS = (list, dict, set, np.ndarray, type(None), type(pd.NA), type(pd.NaT))
"""Types of missing values other than nan, and of several values in place of one."""


def check_no_nan(name: str, values: np.ndarray) -> None:
    """Raise for a column of numbers, the argument `name`, that has missing ones."""
    is_missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), bool)
    rows = np.flatnonzero(is_missing)
    if len(rows):
        raise ValueError(
            f"Input {name} contains NaN in {len(rows)} row(s), the first is {rows[0]}. Give these "
            "samples a value, or leave them out of all inputs."
        )


def check_column(name: str, column: TableLike | None) -> None:
    """Raise unless a column has one value or label for each sample; `name` is the argument."""
    # Objects that only become arrays by themselves are converted before their shape is read.
    check_in_memory(**{name: column})
    try:
        values = column if is_sparse(column) else np.asarray(column)
    except ValueError as error:
        raise ValueError(
            f"{name} must hold one value or label for each sample, but its rows differ in length. "
            "Pass a list, an array or a Series of single values."
        ) from error
    shape = values.shape
    if is_sparse(values) or len(shape) not in (1, 2) or shape[1:] not in ((), (1,)):
        got = f"an array of shape {shape}" if shape else repr(column)
        raise ValueError(
            f"{name} should be a 1d array, got {got} instead: pass one value or label for each "
            "sample, as a list, an array or a Series."
        )
    values = values.ravel()
    if not len(values):
        raise ValueError(f"{name} has 0 sample(s), while a minimum of 1 is required.")
    if values.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} must hold real numbers or labels.")
    if values.dtype != object:
        return
    rows = np.flatnonzero([isinstance(value, _NO_LABELS) for value in values])
    if len(rows):
        raise ValueError(
            f"{name} must hold a value or label for each sample, but it holds "
            f"{values[rows[0]]!r} in row {rows[0]}. Give this sample another, or leave it out."
        )


def validate_data(
    estimator: BaseEstimator, X: TableLike, **settings: Any
) -> np.ndarray | pd.DataFrame | sparse.csr_array:
    """scikit-learn's checks of X, with advice where it holds no numbers."""
    with explain_conversion(X, estimator):
        return validate_by_sklearn(estimator, X, **settings)


def _advise_conversion(X: TableLike | Graph | None, estimator: BaseEstimator) -> str:
    """What to pass in place of an X that does not consist of numbers; empty if it does."""
    if type(X).__module__.split(".")[0] == "networkx":
        return (
            "X is a graph of networkx: pass its adjacency matrix, as in "
            "networkx.to_scipy_sparse_array(graph), with affinity='precomputed', and the groups in "
            "the order of graph.nodes."
        )
    if isinstance(X, dict):
        return (
            "X must be a table with a row for each sample, but it is a dict: pass "
            "pd.DataFrame([X]) if this is one sample, or pd.DataFrame(X) if its values are columns."
        )
    if isinstance(X, pd.Series):
        return ""  # scikit-learn says that a row must be a DataFrame
    table = to_pandas_table(X)
    dates = [name for name, one in getattr(table, "dtypes", {}).items() if one.kind in "mM"]
    if dates:
        return (
            f"X has dates or times in {len(dates)} column(s): {join_names(map(repr, dates))}. Pass "
            "numbers, such as the days since a date."
        )
    columns = text_columns(X)
    if not columns:
        return ""
    any_model = (
        " ConstrainedClassifierCV passes X as it is to classifiers and pipelines that take text."
    )
    return (
        f"X has text in {len(columns)} column(s): {join_names(map(repr, columns))}. Encode them, "
        f"as in make_pipeline(make_column_transformer((OneHotEncoder(), {columns!r}), "
        f"remainder='passthrough'), {type(estimator).__name__}())."
        f"{any_model if is_classifier(estimator) else ''} Leave a sensitive feature out of X "
        "unless decisions may depend on it."
    )


def text_columns(X: TableLike) -> list[int | str]:
    """Names, or positions, of the columns that are no numbers."""
    X = to_pandas_table(X)
    if isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
        return []
    if not hasattr(X, "columns"):
        X = np.asarray(X, dtype=object)
        if X.ndim != 2:
            return []
        X = pd.DataFrame(X)
    numbers = (pd.to_numeric(pd.Series(list(X[name])), errors="coerce") for name in X.columns)
    missing = (pd.isna(pd.Series(list(X[name]))) for name in X.columns)
    columns = zip(X.columns, numbers, missing, strict=True)
    return [name for name, values, absent in columns if (values.isna() & ~absent).any()]


def check_finite_squares(values: Table, name: str, estimator: BaseEstimator | None = None) -> None:
    """Raise for numbers that are not finite, or whose squares have an infinite sum.

    Squares of float32 are added in float64, which holds them. `name` is what users call the
    numbers; the error names the place of the largest one, or `estimator`.
    """
    stored = values.data if is_sparse(values) else values
    if stored.dtype.kind != "f" or not stored.size:
        return
    flat = stored.ravel(order="K")  # no copy, whichever way the columns are stored
    with np.errstate(over="ignore", invalid="ignore"):
        is_double = flat.dtype == np.float64
        is_finite = np.isfinite(flat @ flat if is_double else flat.sum(dtype=np.float64))
    if is_finite:
        return
    assert_all_finite(values, estimator_name=type(estimator).__name__, input_name=name)
    # Find the largest number, for the message.
    if is_sparse(values):
        values = values.tocoo()
        entry = abs(values.data).argmax()
        largest = values.data[entry]
        place = (values.row[entry], values.col[entry])
    else:
        place = np.unravel_index(abs(values).argmax(), values.shape)
        largest = values[place]
    where = " of column ".join(map(str, place))
    raise ValueError(
        f"The squares of {name} must add up to a finite number, but it holds {largest:g} in row "
        f"{where}. Divide it by a constant, or leave the row out."
    )


def refuse_fractions(name: str, labels: np.ndarray) -> None:
    """Raise for fractions in the place of labels, such as scores; nan is left to other checks."""
    if labels.dtype.kind == "f" and (fractions := labels[abs(np.modf(labels)[0]) > 0.0]).size:
        raise argument_error(  # scikit-learn's checks of classifiers look for "Unknown label type"
            f"{name} must hold labels, such as integers or strings, but it holds {fractions[0]:g} "
            f"(Unknown label type: continuous). Make classes of real numbers, as in {name} > "
            "threshold, or exchange the arguments if these are scores."
        )


def check_exact_labels(labels: np.ndarray, name: str) -> None:
    """Raise for floats so large that integers are rounded to them: two labels may be one float."""
    labels = np.asarray(labels)
    if labels.dtype.kind == "O":
        labels = np.array([one for one in labels if isinstance(one, float | np.floating)])
    if labels.dtype.kind != "f":
        return
    limit = 2.0 ** (np.finfo(labels.dtype).nmant + 1)
    large = labels[np.isfinite(labels) & (np.abs(labels) >= limit)]
    if len(large):
        raise ValueError(
            f"Labels must be exact, but {name} holds {large[0]:.0f} as "
            f"{labels.dtype.name}, which rounds integers from {limit:.0f} on. A join or a missing "
            "value makes floats of integers: convert the integers to strings before it, at fit and "
            "for new data."
        )


# The check of tolerances, for fits, audits, plans and monitors.


def is_int(value: Any, low: int = 1, high: float = np.inf) -> bool:
    """Whether a value is an integer of this range, and no boolean."""
    return isinstance(value, Integral) and not isinstance(value, bool) and low <= int(value) <= high


def check_tolerance(tolerance, largest=1.0, *, closed="both", name="tolerance", of=None):
    """Check that a tolerance is a number from 0 to the largest possible gap, and make it a float.

    `largest` is 1 for rates, whose tolerances are fractions, and infinity for gaps without a bound,
    such as those of losses. `closed` says which ends are allowed, as in `pandas.Interval`: "both",
    "left", "right" or "neither". `name` is what users call the argument, and `of`, for the message,
    the constraint or metric that has this largest gap. Anything else raises a ValueError.
    """
    is_number = isinstance(tolerance, Real) and not isinstance(tolerance, bool | np.bool_)
    passed = tolerance.item() if isinstance(tolerance, np.generic) else tolerance
    if is_number and tolerance > largest:
        whose = "" if of is None else f" for {of}"
        if name.endswith("ratio"):
            raise argument_error(
                f"{name}={passed!r} is more than a ratio of a smaller rate to a larger one can be, "
                f"which is {largest:g}{whose}. Ratios are fractions: 0.8 is four fifths."
            )
        raise argument_error(
            f"{name}={passed!r} is more than any gap between rates can be, which is "
            f"{largest:g}{whose}. Rates are fractions: 0.05 is five percentage points."
        )
    is_inside = is_number and 0.0 <= tolerance < np.inf
    is_left_out = is_inside and (
        (tolerance == 0.0 and closed not in ("both", "left"))
        or (tolerance == largest and closed not in ("both", "right"))
    )
    if not is_inside or is_left_out:
        low = "at least 0" if closed in ("both", "left") else "positive"
        high = "at most" if closed in ("both", "right") else "less than"
        bound = "" if largest == np.inf else f" and {high} {largest:g}"
        raise argument_error(f"{name} must be a finite number, {low}{bound}; got {passed!r}.")
    return float(tolerance)


# The classes of truth and predictions, and the positive one of two.


def check_shared_classes(labels: dict[str, set[Any]], n_samples: int) -> None:
    """Raise for columns of two or more classes each, by name, that have no class in common.

    Few samples of many classes may be wrong without exception.
    """
    if n_samples < 20 or len(labels) < 2 or min(map(len, labels.values())) < 2:
        return
    if set.intersection(*labels.values()):
        return
    named = " and ".join(
        f"{name} has {join_names(sorted(map(repr, classes)))}" for name, classes in labels.items()
    )
    raise ValueError(
        f"Truth and predictions must have classes in common, but {named}, so that no prediction "
        "could be right. Write the classes of both in the same way, or name those that mean "
        "success: pass --positive for each column to a command."
    )


CONVENTIONAL_LABELS = ({0, 1}, {-1, 1})
"""Pairs of labels whose positive one is 1 by convention; False and True equal 0 and 1."""


def positive_class(labels: set[Any], pos_label: float | str | None) -> Label:
    """The label that means success: pos_label, or 1 if the labels are 0 and 1 or -1 and 1.

    `labels` is the set of the at most two labels that occur; False and True count as 0 and 1.
    """
    if pos_label is None and any(labels <= pair for pair in CONVENTIONAL_LABELS):
        return 1
    if pos_label is not None and (len(labels) != 2 or pos_label in labels):
        return pos_label
    listed = f"[{join_names(sorted(map(repr, labels)))}]"
    if pos_label is not None:
        raise argument_error(f"pos_label must be one of {listed}; got {pos_label!r}.")
    raise argument_error(
        "pos_label must name the positive class, which rates of groups are about, as the labels "
        f"are {listed}. Pass one of them, or encode the classes as 0 and 1."
    )
