"""Groups of samples by sensitive attributes: labels, codes, and balances of clusterings."""

from __future__ import annotations

import re
from functools import cached_property
from itertools import islice, repeat
from math import inf
from numbers import Complex, Number, Real
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import normalize

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets

from skfair._utils.checks import (
    argument_error,
    check_exact_labels,
    join_names,
    refuse_fractions,
    warn,
)
from skfair._utils.tables import Table, to_pandas_table

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from typing import Any, TypeGuard

    from pandas.api.extensions import ExtensionArray

    from skfair._utils.api import AttributeName, GroupName, Label, MatrixLike
    from skfair._utils.tables import TableLike


# Labels of groups: sorted values and codes of each attribute, for any container.


def is_encoded(sensitive_features: object) -> TypeGuard[Groups]:
    """Whether they are `Groups`, as of an audit, which were encoded before."""
    return getattr(sensitive_features, "is_encoded", False)


def attribute_columns(
    sensitive_features: TableLike | Groups, name: str = "sensitive_features"
) -> list[np.ndarray | ExtensionArray]:
    """One column per sensitive attribute; no conversion may merge values that differ.

    They are arrays of numpy, or of pandas where that has codes of its own. `name` is the argument
    in messages.
    """
    sensitive_features = to_pandas_table(sensitive_features)
    if is_encoded(sensitive_features):
        columns = list(sensitive_features.labels[sensitive_features.codes].T)
    elif hasattr(sensitive_features, "iloc") and sensitive_features.ndim == 2:
        n_columns = sensitive_features.shape[1]
        columns = [_values_of(sensitive_features.iloc[:, j]) for j in range(n_columns)]
    else:
        if np.ma.isMaskedArray(sensitive_features):
            values = sensitive_features.astype(object).filled(np.nan)  # type: ignore[attr-defined]
        elif hasattr(sensitive_features, "to_pylist") and hasattr(sensitive_features, "buffers"):
            values = sensitive_features.to_numpy(zero_copy_only=False)  # an array of pyarrow
        elif hasattr(sensitive_features, "to_numpy"):
            values = _values_of(sensitive_features)
        elif hasattr(sensitive_features, "__array__"):
            values = np.asarray(sensitive_features)
        else:  # a list: numpy would turn [1, "1"] into two equal strings, so labels stay objects
            values = np.asarray(sensitive_features, dtype=object)
        if values.ndim not in (1, 2):
            raise argument_error(
                f"{name} must have one row per sample and be of shape (n_samples,) or "
                f"(n_samples, n_attributes), but a {type(sensitive_features).__name__} of "
                f"{values.ndim} dimensions was passed. Pass a list, array, Series or DataFrame."
            )
        columns = [values] if values.ndim == 1 else list(values.T)
    if not columns:
        raise argument_error(f"{name} has no columns; pass at least one attribute.")
    return columns


def _values_of(column: pd.Series) -> np.ndarray | ExtensionArray:
    """The values of a column of pandas, polars or arrow, as numpy has them unless it has codes."""
    return getattr(column, "array", column) if prefers_factorize(column) else column.to_numpy()


def prefers_factorize(column: TableLike) -> TypeGuard[pd.Series]:
    """Whether pandas finds the distinct values of a column faster than numpy does.

    That holds for its strings and categories. Its decimals are excluded: there nan is a value.
    """
    dtype = getattr(column, "dtype", None)
    if dtype is None or isinstance(dtype, np.dtype) or not hasattr(column, "factorize"):
        return False
    return dtype.kind in "biuO"


def holds_string_objects(column: TableLike) -> bool:
    """Whether a column of objects consists of strings, which pandas encodes faster."""
    return pd.api.types.infer_dtype(column, skipna=False) == "string"


def unique_labels_and_codes(
    column: np.ndarray | ExtensionArray, about: str
) -> tuple[np.ndarray, np.ndarray]:
    """Sorted distinct values of an attribute, and the position of each sample's among them.

    Messages say `about` what attribute they are.
    """
    # pandas has codes already; only its categories are sorted.
    if not isinstance(column, np.ndarray):
        codes, categories = column.factorize()
        if (codes >= 0).all():
            labels, positions = unique_labels_and_codes(categories.to_numpy(), about)
            return labels, positions[codes]
        column = column.to_numpy()
    # Dates and durations become Python objects; missing ones are left to the check of objects.
    if column.dtype.kind in "mM" and not np.isnat(column).any():
        times, codes = unique_inverse(column)
        values = _to_python_times(times)
        return np.fromiter(values, dtype=object, count=len(values)), codes
    if column.dtype.kind in "mM":
        column = column.astype(f"{column.dtype.kind}8[us]").astype(object)
    elif column.dtype.kind in "cV" or (column.dtype.kind == "f" and np.isnan(column).any()):
        column = column.astype(object)  # checked, and refused, as objects
    if column.dtype == object and holds_string_objects(column):
        codes, distinct = pd.factorize(column)
        if (distinct[codes] != column).any():  # old versions of pandas end strings at "\0"
            codes = np.arange(len(column))
            distinct = column
        values, positions = _unique_objects_and_codes(distinct.tolist(), about)
        codes = positions[codes]
    elif column.dtype.kind == "O":
        values, codes = _unique_objects_and_codes(column.tolist(), about)
    else:
        distinct, codes = unique_inverse(column)
        check_exact_labels(distinct, about)
        values = distinct.tolist()
    # fromiter, because numpy would unpack labels that are sequences themselves.
    return np.fromiter(values, dtype=object, count=len(values)), codes


def _to_python_times(values: np.ndarray) -> list[Any]:
    """Dates or durations as Python's own types, unless they are finer than microseconds."""
    rounded = values.astype(f"{values.dtype.kind}8[us]")
    return rounded.tolist() if (rounded == values).all() else list(values)


def unique_inverse(column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sorted distinct values of a column, and the position of each entry among them."""
    firsts, masks, rest = _scan_values(column)
    if not rest.any():
        # Few values: the position of an entry is the number of smaller values.
        ascending = np.argsort(column[firsts])
        positions, is_greater = np.zeros((2, len(column)), dtype=np.uint8)
        for number in ascending[:0:-1]:
            is_greater |= masks[number]
            positions += is_greater
        return column[firsts][ascending], positions.astype(np.intp)
    values = _sorted_unique_values(column, firsts, rest)
    if not _has_narrow_range(column):
        return values, np.searchsorted(values, column)
    # Integers of a narrow range: look positions up in a table.
    positions = np.empty(int(values[-1]) - int(values[0]) + 1, dtype=np.intp)
    positions[_offsets(values, values[0])] = np.arange(len(values))
    return values, positions[_offsets(column, values[0])]


def unique_values(column: np.ndarray) -> np.ndarray:
    """Sorted distinct values of a column; a few are found by scanning, without sorting."""
    firsts, _, rest = _scan_values(column)
    return _sorted_unique_values(column, firsts, rest) if rest.any() else np.sort(column[firsts])


def _scan_values(column: np.ndarray) -> tuple[list[int], list[np.ndarray], np.ndarray]:
    """First position and mask of each of a few values, and the mask of all other entries."""
    firsts: list[int] = []
    masks = []
    rest = np.ones(len(column), dtype=bool)
    # Up to four values are found by one pass for each; more are sorted.
    while rest.any() and len(firsts) < 4:
        firsts.append(int(rest.argmax()))
        masks.append(column == column[firsts[-1]])
        rest &= ~masks[-1]
    return firsts, masks, rest


def _sorted_unique_values(column: np.ndarray, firsts: list[int], rest: np.ndarray) -> np.ndarray:
    """Sorted distinct values: by counting in linear time where integers allow it."""
    if _has_narrow_range(column):
        occurs = np.bincount(_offsets(column, column.min())) > 0
        return (np.flatnonzero(occurs) + int(column.min())).astype(column.dtype)
    return np.unique(np.concatenate((column[firsts], column[rest])))


def _has_narrow_range(column: np.ndarray) -> bool:
    """Whether these are integers of a range not wider than their number."""
    if column.dtype.kind not in "iu":
        return False
    lowest = int(column.min())
    highest = int(column.max())
    # Within 62 bits the differences of two values fit into a signed integer.
    return highest - lowest < len(column) and -(2**62) < lowest and highest < 2**62


def _offsets(column: np.ndarray, lowest: int) -> np.ndarray:
    """Differences of integers to the lowest, also where their own type cannot hold them."""
    return np.subtract(column, int(lowest), dtype=np.intp, casting="unsafe")


_NUMBER = r"-?(?:inf|[\d.]+(?:e[+-]?\d+)?)"

_RANGE = re.compile(
    rf"[\[(]({_NUMBER}), ({_NUMBER})[\])]|(?:({_NUMBER}) <=? )?.* ([<>])=? ({_NUMBER})"
)
"""A label that is a range of numbers, such as "[5, 10)", "5 <= age < 10" or "age >= 10"."""


def _find_range(label: float | str) -> tuple[float, float] | None:
    """The ends of a label that is a range of numbers; None of other labels."""
    match = _RANGE.fullmatch(str(label))
    if match is None:
        return None
    *interval, low, sign, end = match.groups()
    if sign == ">":
        return float(end), inf
    return (float(low or -inf), float(end)) if sign else (float(interval[0]), float(interval[1]))


def sort_labels(column: Table) -> tuple[np.ndarray, np.ndarray]:
    """Distinct labels in ascending order, and the position of each entry among them.

    Ranges of numbers, such as "[5, 10)", are sorted by number, after which one other label may be.
    """
    values = sorted(set(column))
    ranges = {one: _find_range(one) for one in values}
    if [*ranges.values()].count(None) < min(2, len(values)):
        values.sort(key=lambda one: ranges[one] or (inf, inf))
    position = {value: code for code, value in enumerate(values)}
    codes = np.fromiter((position[one] for one in column), dtype=np.intp, count=len(column))
    return np.fromiter(values, dtype=object, count=len(values)), codes


def _unique_objects_and_codes(column: list[Any], about: str) -> tuple[list[Any], np.ndarray]:
    """As `unique_labels_and_codes`, of a list of Python objects."""
    try:
        labels = set(column)
    except TypeError as error:
        raise TypeError(
            f"A value in {about} is not a label ({error}); pass one number, string or boolean per "
            "sample and attribute."
        ) from error
    if any(map(_is_missing, labels)):
        rows = [row for row, value in enumerate(column) if _is_missing(value)]
        raise ValueError(
            f"Every sample needs a group, but {about} has {len(rows)} missing value(s), the first "
            f'in row {rows[0]}. Give these samples a group of their own, as in fillna("unknown"), '
            "or leave their rows out of all inputs. SensitiveFeatures of audits, and classifiers "
            "with the parameter 'missing', estimate it with missing='at_random'."
        )
    check_one_label_type(column, about)
    try:
        values = sorted(labels)
    except TypeError as error:
        raise TypeError(
            f"The labels in {about} cannot be sorted ({error}); convert them to strings or numbers."
        ) from error
    position = {value: code for code, value in enumerate(values)}
    codes = np.fromiter(map(position.__getitem__, column), dtype=np.intp, count=len(column))
    return [v.item() if isinstance(v, np.number | np.bool_ | np.str_) else v for v in values], codes


def check_one_label_type(labels: Collection[Any], name: str) -> None:
    """Raise for labels of different types: to Python 1 equals True, to a reader 1 equals "1".

    Missing values have no type. `name` says in the message what the labels are. Complex numbers and
    floats that may be rounded integers raise a ValueError, several types a TypeError that names
    them with an example of each.
    """
    examples = {}
    for type_ in dict.fromkeys(map(type, labels)):
        present = (one for one in labels if type(one) is type_ and not _is_missing(one))
        examples.update({_type_name(type_): example for example in islice(present, 1)})
    if "complex" in examples:
        raise ValueError(f"Labels must be numbers, strings or booleans, but {name} is complex.")
    if len(examples) > 1:
        raise TypeError(
            f"The labels in {name} must be of one type, but it mixes "
            f"{' and '.join(sorted(examples))} (such as "
            f"{join_names(sorted(map(repr, examples.values())))}). "
            "Convert it to one type, as in [str(label) for label in labels]."
        )
    check_exact_labels(np.fromiter(labels, dtype=object), name)


def check_classes(labels: np.ndarray, name: str) -> None:
    """Raise unless labels are classes as scikit-learn takes them; `name` says what they are."""
    if labels.dtype == object and len(labels) and not isinstance(labels[0], str):
        raise ValueError(
            f"Unknown label type: {name} holds {_type_name(type(labels[0]))} such as "
            f"{labels[0]!r} in an array of objects. Pass numbers or strings, as in "
            f"{name}.astype(int) or {name}.astype(str)."
        )
    refuse_fractions(name, labels)
    check_classification_targets(labels)


def check_attribute_label_types(labels: Iterable[tuple[Any, ...]]) -> None:
    """Raise for groups, as tuples of labels, whose types differ within an attribute."""
    for attribute, column in enumerate(zip(*labels, strict=True)):
        check_one_label_type(column, f"attribute {attribute} of sensitive_features")


def _is_missing(value: Any) -> bool:
    # pandas.NA cannot be compared, and is recognised by name; nan and NaT differ from themselves.
    return value is None or type(value).__name__ == "NAType" or value != value


def _type_name(type_: type) -> str:
    """What a type is called in messages; values of two such types are never the same label."""
    if issubclass(type_, bool | np.bool_):
        return "booleans"
    if issubclass(type_, Complex) and not issubclass(type_, Real):
        return "complex"
    if issubclass(type_, Number):
        return "numbers"
    if issubclass(type_, str):
        return "strings"
    return f"values of type {type_.__name__}"


# Groups of samples by sensitive attributes: codes, or a matrix where groups overlap.


class GroupSummary(NamedTuple):
    """Labels and sizes of groups. Fitted estimators store these, and no sample's group.

    Attributes
    ----------
    labels : list of list
        Labels of each group, one for each sensitive attribute.
    counts : list of int
        Number of samples of each group.
    attributes : list of length n_attributes
        Names of the attributes, or their positions where they have no names.
    names : list of length n_groups
        The label of each group, or the tuple of its labels for several attributes.

    Examples
    --------
    >>> from skfair._groups import check_groups
    >>> summary = check_groups(["b", "a", "b"], n_samples=3).summary
    >>> summary
    GroupSummary(labels=[['a'], ['b']], counts=[1, 2], attributes=[0])
    """

    labels: list[list[Any]]
    counts: list[int]
    attributes: list[AttributeName]

    @property
    def names(self) -> list[GroupName]:
        """The label of each group, or the tuple of its labels for several attributes."""
        return [tuple(row) if len(row) > 1 else row[0] for row in self.labels]


class Groups:
    """Groups of samples, by values of protected attributes; made by `check_groups`.

    Groups are disjoint, with each sample in exactly one, or may overlap: then a sample may be in
    several or in none.

    Parameters
    ----------
    labels : ndarray of object, shape (n_groups, n_attributes)
        Labels of each group, in ascending order; in fits the largest group comes first.
    codes : ndarray of intp, shape (n_samples,), default=None
        Group of each sample, in [0, n_groups), if groups are disjoint.
    matrix : csr_array of bool or float, shape (n_samples, n_groups), default=None
        Whether a sample belongs to a group, if they may overlap, or the probability of it, if
        groups are partly recorded.
    attributes : list of length n_attributes, default=None
        Names of the attributes of disjoint groups.
    ranks : ndarray of int, shape (n_groups,), default=None
        Numbers that sort the groups by label; None if they are sorted.
    multiplicity : ndarray of int, shape (n_rows,), default=None
        Number of samples that each row stands for, such as those of a table of counts; None means
        one each. Then every array over samples has one entry for each row.

    Attributes
    ----------
    is_disjoint : bool
        Whether each sample is in exactly one group, by the way in which groups were passed.
    is_partly_recorded : bool
        Whether groups are probabilities, 1 where a group is recorded.

    Examples
    --------
    >>> from skfair._groups import check_groups
    >>> groups = check_groups(["b", "a", "b"], n_samples=3)
    >>> groups.names, groups.counts.tolist(), groups.codes.tolist()
    (['a', 'b'], [1, 2], [1, 0, 1])
    """

    is_encoded = True

    def __init__(
        self,
        labels: np.ndarray,
        *,
        codes: np.ndarray | None = None,
        matrix: sparse.csr_array | None = None,
        attributes: list[AttributeName] | None = None,
        ranks: np.ndarray | None = None,
        multiplicity: np.ndarray | None = None,
    ):
        names: list[AttributeName] = [] if codes is None else list(range(labels.shape[1]))
        self.labels = labels
        self.attributes: list[AttributeName] = attributes or names
        self.multiplicity = multiplicity
        # Position of each group when they are sorted by label.
        self.ranks = np.arange(len(labels)) if ranks is None else np.argsort(np.argsort(ranks))
        self._codes = codes
        self.is_disjoint = codes is not None
        self.is_partly_recorded = matrix is not None and matrix.dtype != bool
        if matrix is not None:
            self.matrix = matrix

    @staticmethod
    def single(n_samples: int, name: str = "all") -> Groups:
        """All samples in one group, as without sensitive features.

        Parameters
        ----------
        n_samples : int
            Number of samples.
        name : str, default="all"
            Name of the group.
        """
        return Groups(_one_column([name]), codes=np.zeros(n_samples, dtype=np.intp))

    def __len__(self) -> int:
        """Number of rows, each of which may stand for several samples."""
        return len(self.codes) if self.is_disjoint else self.matrix.shape[0]

    @property
    def n_samples(self) -> int:
        """Number of samples, in a group or not."""
        return len(self) if self.multiplicity is None else int(self.multiplicity.sum())

    @property
    def row_counts(self) -> np.ndarray:
        """Number of samples that each row stands for, (n_rows,)."""
        return np.ones(len(self)) if self.multiplicity is None else self.multiplicity

    def regroup(self, codes: np.ndarray, labels: np.ndarray) -> Groups:
        """Other disjoint groups of the same rows.

        Parameters
        ----------
        codes : ndarray of intp, shape (n_rows,)
            Group of each row.
        labels : ndarray of object, shape (n_groups, n_attributes)
            Labels of each group.
        """
        return Groups(labels, codes=codes, multiplicity=self.multiplicity)

    def merge(self, name: str = "all") -> Groups:
        """All rows in one group.

        Parameters
        ----------
        name : str, default="all"
            Name of the group.
        """
        return self.regroup(np.zeros(len(self), dtype=np.intp), _one_column([name]))

    def rename(self, attributes: list[AttributeName]) -> Groups:
        """The same disjoint groups, with other names of their attributes.

        Parameters
        ----------
        attributes : list
            At least as many names as there are attributes, of which the first ones count.
        """
        return self._replace(attributes=attributes[: self.labels.shape[1]])

    def copy_with_multiplicity(self, multiplicity: np.ndarray | None) -> Groups:
        """The same groups of rows that stand for several samples each.

        Parameters
        ----------
        multiplicity : ndarray of int, shape (n_rows,), or None
            Number of samples of each row; None means one each.
        """
        return self._replace(multiplicity=multiplicity)

    def _replace(self, **changes: Any) -> Groups:
        """A copy with other arguments of the constructor."""
        matrix = None if self.is_disjoint else self.matrix
        same: dict[str, Any] = {"labels": self.labels, "codes": self._codes, "matrix": matrix}
        same |= {name: getattr(self, name) for name in ("attributes", "ranks", "multiplicity")}
        return Groups(**same | changes)

    @property
    def codes(self) -> np.ndarray:
        """Group of each sample, (n_samples,); a TypeError where groups may overlap."""
        if self._codes is None:
            raise TypeError(f"sensitive_features {_OVERLAPPING_PROBLEM}")
        return self._codes

    @cached_property
    def matrix(self) -> sparse.csr_array:
        """Whether a sample belongs to a group, (n_samples, n_groups)."""
        # Short integers, where they suffice, as the matrix is transposed and copied.
        n_samples = len(self.codes)
        integer = np.int32 if n_samples < np.iinfo(np.int32).max else np.int64
        ends = np.arange(n_samples + 1, dtype=integer)
        one_each = (np.ones(n_samples, dtype=bool), self.codes.astype(integer), ends)
        return sparse.csr_array(one_each, shape=(n_samples, len(self.labels)))

    @cached_property
    def memberships(self) -> tuple[np.ndarray, np.ndarray]:
        """Sample and group of every membership, sample by sample."""
        if self.is_disjoint:
            return np.arange(len(self.codes)), self.codes
        samples = np.repeat(np.arange(self.matrix.shape[0]), np.diff(self.matrix.indptr))
        return samples, self.matrix.indices.astype(np.intp)

    @property
    def shares(self) -> np.ndarray:
        """Probability of every membership, 1 unless groups are partly recorded, (n_entries,)."""
        if self.is_partly_recorded:
            return self.matrix.data
        return np.ones(len(self.memberships[0]))

    @property
    def recorded_codes(self) -> np.ndarray:
        """Group of each sample, (n_samples,); -1 where it is missing, of partly recorded groups."""
        if self.is_disjoint:
            return self.codes
        codes = np.full(self.matrix.shape[0], -1)
        is_recorded = self.shares == 1.0
        positions, groups = self.memberships
        codes[positions[is_recorded]] = groups[is_recorded]
        return codes

    def fill_missing(self, probabilities: np.ndarray) -> Groups:
        """Partly recorded groups with probabilities where a group is missing.

        Parameters
        ----------
        probabilities : ndarray of shape (n_samples, n_groups)
            Probability of each group; those of samples whose group is recorded are not used.
        """
        codes = self.recorded_codes
        is_recorded = (codes >= 0)[:, np.newaxis]
        members = codes[:, np.newaxis] == np.arange(len(self.labels))
        return self.replace_memberships(np.where(is_recorded, members, probabilities))

    def replace_memberships(self, probabilities: np.ndarray) -> Groups:
        """Groups of the same labels, of which samples are members with these probabilities.

        Parameters
        ----------
        probabilities : ndarray of shape (n_samples, n_groups)
            Probability of each group.
        """
        return self._replace(codes=None, matrix=sparse.csr_array(probabilities))

    def take(self, rows: np.ndarray) -> Groups:
        """Groups of selected samples, without those that have no members there.

        Parameters
        ----------
        rows : ndarray of int or bool
            Positions of the samples, or a mask over all samples.
        """
        groups = self.subset(rows)
        present = np.flatnonzero(groups.counts)
        if not self.is_disjoint:
            return groups if len(present) == len(self.labels) else groups.select(present)
        codes = np.searchsorted(present, groups.codes)
        return groups._replace(labels=self.labels[present], codes=codes, ranks=self.ranks[present])

    def subset(self, rows: slice | np.ndarray) -> Groups:
        """Groups of selected samples; groups without members there remain, empty.

        Parameters
        ----------
        rows : slice or ndarray of int
            Positions of the samples, which may repeat.
        """
        multiplicity = None if self.multiplicity is None else self.multiplicity[rows]
        if self.is_disjoint:
            return self._replace(codes=self.codes[rows], multiplicity=multiplicity)
        return self._replace(matrix=self.matrix[rows], multiplicity=multiplicity)

    def reorder(self, order: np.ndarray) -> Groups:
        """The same groups in another order.

        Parameters
        ----------
        order : ndarray of int, shape (n_groups,)
            Positions of the groups in the new order.
        """
        if (np.diff(order) == 1).all():  # as they are
            return self
        if not self.is_disjoint:
            return self.select(order)
        codes = np.argsort(order)[self.codes]
        labels = self.labels[order]
        groups = self._replace(labels=labels, codes=codes, ranks=self.ranks[order])
        vars(groups)["counts"] = self.counts[order]  # which need not be counted again
        return groups

    @cached_property
    def counts(self) -> np.ndarray:
        """Number of samples of each group, (n_groups,), rounded where it is an expectation."""
        rows, codes = (slice(None), self.codes) if self.is_disjoint else self.memberships
        shares = self.shares if self.is_partly_recorded else None
        if self.multiplicity is not None:
            shares = self.multiplicity[rows] * (1.0 if shares is None else shares)
        return np.rint(np.bincount(codes, shares, len(self.labels))).astype(np.intp)

    @property
    def names(self) -> list[GroupName]:
        """Names of the groups, a list of length n_groups."""
        return group_names(self.labels)

    @property
    def summary(self) -> GroupSummary:
        """Labels, counts and attributes alone, sorted by label, as a `GroupSummary`."""
        order = np.argsort(self.ranks)
        labels, counts = self.labels[order].tolist(), self.counts[order].tolist()
        return GroupSummary(labels, counts, list(self.attributes))

    def members(self) -> list[np.ndarray]:
        """Rows of each group, a list of n_groups arrays."""
        rows, groups = self.memberships
        # The stable sort of short integers is a radix sort, which is linear.
        order = np.argsort(groups.astype(np.min_scalar_type(len(self.labels))), kind="stable")
        # Lists end where the numbers of rows do, whatever number of samples these stand for.
        n_rows = np.bincount(groups, minlength=len(self.labels))
        return np.split(rows[order], np.cumsum(n_rows)[:-1])

    def single_attribute_groups(self) -> Groups:
        """One group per value of every single attribute; with several attributes they overlap.

        Their labels are pairs (attribute, value).
        """
        if self.labels.shape[1] == 1:
            return self
        codes, labels = self.attribute_codes_of_groups()
        n_groups, n_attributes = codes.shape
        # Matrix that maps each combination to the groups of its values, one per attribute.
        ends = np.arange(0, codes.size + 1, n_attributes)
        one_each = np.ones(codes.size, dtype=bool), codes.ravel(), ends
        values = sparse.csr_array(one_each, shape=(n_groups, len(labels)))
        matrix = sparse.csr_array(self.matrix @ values)
        return Groups(labels, matrix=matrix, multiplicity=self.multiplicity)

    def attribute_codes_of_groups(self) -> tuple[np.ndarray, np.ndarray]:
        """Values of the single attributes in each group, which is a combination of them.

        Returns
        -------
        codes : ndarray of intp, shape (n_groups, n_attributes)
            Value of each attribute, as a row of `labels`.
        labels : ndarray of object, shape (n_values, 1)
            Pairs (attribute, value), those of the first attribute first.
        """
        labels: list[tuple[AttributeName, Any]] = []
        columns = []
        for attribute, column in zip(self.attributes, self.labels.T, strict=True):
            values, codes = sort_labels(column)
            # Values are numbered on from those of the attributes before.
            columns.append(len(labels) + codes)
            labels += zip(repeat(attribute), values)
        return np.column_stack(columns), _one_column(labels)

    def select(self, positions: np.ndarray | list[int]) -> Groups:
        """Selected groups of all samples; those of other groups are then in none.

        Parameters
        ----------
        positions : ndarray of int
            Positions of the groups.
        """
        labels = self.labels[positions]
        ranks = self.ranks[positions]
        return self._replace(
            labels=labels, codes=None, matrix=self.matrix[:, positions], ranks=ranks
        )


def check_groups(
    sensitive_features: MatrixLike,
    n_samples: int,
    *,
    overlapping: bool = False,
    name: str = "sensitive_features",
) -> Groups:
    """Encode sensitive features (protected attributes) in any container.

    Equal labels get equal codes whatever the container: groups are sorted by label (numbers as
    numbers, strings by code point, several attributes lexicographically).

    Parameters
    ----------
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes)
        List, array, Series, Categorical, table (pandas, polars, pyarrow) of numbers, strings,
        booleans, dates or anything else that can be hashed and sorted. With several attributes
        the groups are the combinations that occur. Where overlapping groups are allowed, also a
        sparse matrix of booleans, of shape (n_samples, n_groups): whether a sample belongs to a
        group. The label of such a group is the number of its column.
    n_samples : int
        Number of samples of X.
    overlapping : bool, default=False
        Whether groups may overlap.
    name : str, default="sensitive_features"
        What messages call the argument.

    Returns
    -------
    groups : Groups

    Raises
    ------
    ValueError
        If the number of rows is wrong, a value is missing or complex, or the input is a scalar,
        a mapping or of more than two dimensions; if a sparse matrix is not boolean, or one of its
        columns is empty.
    TypeError
        If the input is sparse and groups may not overlap, or one attribute mixes types of values.

    Examples
    --------
    >>> from skfair._groups import check_groups
    >>> groups = check_groups([["f", "old"], ["m", "old"], ["f", "old"]], n_samples=3)
    >>> groups.names
    [('f', 'old'), ('m', 'old')]
    """
    if is_encoded(sensitive_features):
        _check_length(len(sensitive_features), n_samples, name)
        return sensitive_features
    if sparse.issparse(sensitive_features):
        if not overlapping:
            raise TypeError(f"{name} {_OVERLAPPING_PROBLEM}")
        return _groups_from_matrix(sensitive_features, n_samples, name)
    # Codes of the first attribute, then of its combinations with the others.
    columns = attribute_columns(sensitive_features, name)
    _check_length(len(columns[0]), n_samples, name)
    names = attribute_names(sensitive_features, name) or list(range(len(columns)))
    abouts = [f"attribute {attribute!r} of {name}" for attribute in names]
    values, codes = unique_labels_and_codes(columns[0], abouts[0])
    labels = values[:, np.newaxis]
    for about, column in zip(abouts[1:], columns[1:], strict=True):
        values, inverse = unique_labels_and_codes(column, about)
        # Encode only the combinations that occur, so that the codes stay small for any number of
        # attributes. The order is lexicographic.
        combined, codes = unique_inverse(codes * len(values) + inverse)
        earlier, latest = np.divmod(combined, len(values))
        labels = np.column_stack((labels[earlier], values[latest]))
    return Groups(labels, codes=codes, attributes=names)


MAX_NUMERIC_GROUPS = 30
"""Different numbers up to which a numeric attribute is accepted as groups."""


def refuse_continuous_attributes(groups: Groups, is_compared: np.ndarray | None = None) -> None:
    """Raise for numeric attributes of more than 30 values, such as an age: these are not groups.

    `is_compared` says which groups, or groups of single attributes (n_groups, n_attributes), are
    large enough to be compared. An attribute passes if at most 30 of its numbers, and not none of
    them, are those of compared groups. None compares all groups. A sparse matrix passes.
    """
    # An attribute has at most as many values as there are groups.
    if not groups.is_disjoint or len(groups.labels) <= MAX_NUMERIC_GROUPS:
        return
    # Which labels are in groups that are compared; all unless a mask is passed.
    masks = True if is_compared is None else is_compared.T
    masks = np.broadcast_to(masks, groups.labels.T.shape)
    for name, column, mask in zip(groups.attributes, groups.labels.T, masks, strict=True):
        labels = set(column)
        numbers = {one for one in labels if isinstance(one, Real) and not isinstance(one, bool)}
        n_compared = len(numbers.intersection(column[mask]))
        if len(numbers) > MAX_NUMERIC_GROUPS and not 0 < n_compared <= MAX_NUMERIC_GROUPS:
            remedy = (
                ""
                if is_compared is None
                else " Or choose min_group_size such that 1 to 30 of them are left, now "
                f"{n_compared} are."
            )
            raise ValueError(
                f"{_describe_numbers(name, numbers)}, but at most {MAX_NUMERIC_GROUPS} numbers can "
                "be groups: more look like a measurement. Bin it, as in "
                "pd.cut(age, [0, 40, 65, 120], right=False), or as audits do, in "
                f"skfair.audit.SensitiveFeatures(..., bins={{{name!r}: [40, 65]}}).bin_labels(); "
                "or pass strings, as in age.astype(str), if the numbers are names of groups."
                f"{remedy}"
            )


def _describe_numbers(name: AttributeName, numbers: Any) -> str:
    """The beginning of a sentence on an attribute of many numbers."""
    return (
        f"Attribute {name!r} of sensitive_features has {len(numbers)} different numbers, "
        f"from {min(numbers):g} to {max(numbers):g}"
    )


def warn_of_many_numbers(name: str, numbers: set[int]) -> None:
    """Warn of an attribute of many whole numbers, such as an age, each of which is a group."""
    warn(
        f"{_describe_numbers(name, numbers)}, and each is a group of its own. If they are a "
        f"measurement, pass SensitiveFeatures(bins={{{name!r}: [40, 65]}}), or --bins "
        f"{name}=40,65 to a command. If they are names of groups, ignore this."
    )


def normalize_label(label: float | str) -> Label:
    """A label as it is compared: text without regard to case, surrounding spaces and Unicode form.

    A letter with an accent has two forms: one character, or a letter and a mark.
    """
    return normalize("NFKC", label).strip().casefold() if isinstance(label, str) else label


def attribute_names(
    sensitive_features: TableLike | Groups, argument: str = "sensitive_features"
) -> list[AttributeName] | None:
    """Names of the columns of a table, or the name of a Series; None where there is none."""
    sensitive_features = to_pandas_table(sensitive_features)
    names: list[AttributeName]
    if is_encoded(sensitive_features):
        names = sensitive_features.attributes
        names = [] if names == list(range(len(names))) else names
    elif hasattr(sensitive_features, "columns"):
        names = list(sensitive_features.columns)
    else:
        name = getattr(sensitive_features, "name", None)
        names = [] if name is None or name == "" else [name]  # polars has "" for none
    if len(set(names)) < len(names):
        repeated = [name for name in names if names.count(name) > 1]
        raise ValueError(
            f"Attributes of {argument} need names of their own, but {len(repeated)} are "
            f"called {repeated[0]!r}; rename the columns, or leave all but one of them out."
        )
    return names or None


_OVERLAPPING_PROBLEM = (
    "is a sparse matrix, which means overlapping groups; these are for classifiers. Here every "
    "sample belongs to exactly one group: pass one label per sample, or one dense column per "
    "attribute to use the combinations that occur."
)


def _check_length(n_rows: int, n_samples: int, name: str) -> None:
    """Raise for sensitive features with another number of rows than X."""
    if n_rows != n_samples:
        raise argument_error(
            f"{name} has {n_rows} rows but there are {n_samples} samples; pass one "
            "row per sample, in the same order."
        )


def _groups_from_matrix(matrix: sparse.sparray, n_samples: int, name: str) -> Groups:
    """Overlapping groups of a sparse matrix of booleans."""
    matrix = sparse.csr_array(matrix)
    _check_length(matrix.shape[0], n_samples, name)
    if not np.isin(matrix.data, (0, 1)).all():
        wrong = matrix.data[~np.isin(matrix.data, (0, 1))][0]
        raise ValueError(
            f"A sparse {name} must be boolean (0 or 1), one column per group, but it holds {wrong}."
        )
    matrix = matrix.astype(bool)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    groups = Groups(_one_column(range(matrix.shape[1])), matrix=matrix)
    empty = np.flatnonzero(groups.counts == 0)
    if len(empty):
        raise ValueError(
            f"Every group needs members, but column(s) {join_names(map(str, empty))} of "
            f"{name} are empty; leave them out."
        )
    return groups


def _one_column(labels: Collection[Any]) -> np.ndarray:
    """Labels of one attribute, (n_groups, 1); numpy would unpack those that are tuples."""
    return np.fromiter(labels, dtype=object, count=len(labels))[:, np.newaxis]


def group_names(labels: np.ndarray) -> list[GroupName]:
    """Names of groups: their label, or the tuple of their labels for several attributes."""
    if labels.shape[1] == 1:
        return labels[:, 0].tolist()
    return [tuple(row) for row in labels]


# Balance of a clustering, from its table of weighted counts per cluster and group.


def count_table(
    labels: np.ndarray,
    codes: np.ndarray,
    weights: np.ndarray | None,
    n_clusters: int,
    n_groups: int,
) -> np.ndarray:
    """Weight of every group in every cluster, (n_clusters, n_groups) of float64.

    Labels and codes are in [0, n_clusters) and [0, n_groups). Without weights every sample counts
    once. The sum runs over the samples in order, so equal input gives the same bits on every
    machine and for any number of threads.
    """
    # In a small integer type of labels the flat index would overflow.
    cells = np.asarray(labels, dtype=np.intp) * n_groups + codes
    counts = np.bincount(cells, weights, minlength=n_clusters * n_groups)
    return counts.reshape(n_clusters, n_groups).astype(float, copy=False)


def cluster_balances(counts: np.ndarray) -> np.ndarray:
    """Balance of each cluster: smallest over largest group, ``min_j n_kj / max_j n_kj``.

    It is in [0, 1]: 0 where a group is missing or the cluster is empty, 1 where all groups have
    equal weight.
    """
    largest = counts.max(axis=1)
    return np.divide(counts.min(axis=1), largest, out=np.zeros(len(counts)), where=largest > 0)


def balance(counts: np.ndarray) -> float:
    """Balance of a clustering: the minimum of its clusters' balances, as a float."""
    return float(cluster_balances(counts).min())


def data_balance(counts_per_group: np.ndarray) -> float:
    """Balance of the data as one cluster: smallest over largest group, as a float.

    No clustering of all data has a higher balance.
    """
    return float(np.min(counts_per_group) / np.max(counts_per_group))


def balances_and_data_balance(tables: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, float]:
    """Balance of each cluster, that relative to the data's, and the balance of the data.

    Each is the minimum over attributes, of which `tables` has a table of counts.
    """
    of_data = np.array([data_balance(table.sum(axis=0)) for table in tables])
    balances = np.array([cluster_balances(table) for table in tables])
    # Balances of different attributes compare as shares of what the data itself has.
    relative = balances / of_data[:, np.newaxis]
    return balances.min(axis=0), relative.min(axis=0), float(of_data.min())


def smallest_share_ratios(tables: list[np.ndarray]) -> np.ndarray:
    """Minimum over attributes of the smallest ratio of two groups' shares in each cluster."""
    return np.min([cluster_balances(table / table.sum(axis=0)) for table in tables], axis=0)
