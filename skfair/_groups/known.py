"""Groups of samples that a fit has not seen: missing values, and groups that were known."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils import check_array, check_consistent_length

from skfair._groups.groups import (
    Groups,
    attribute_columns,
    attribute_names,
    check_attribute_label_types,
    check_groups,
    check_one_label_type,
    group_names,
    is_encoded,
    normalize_label,
    refuse_continuous_attributes,
)
from skfair._partitions.collections import check_alignment, load_columns
from skfair._utils.checks import argument_error, join_names, warn
from skfair._utils.tables import to_pandas_table
from skfair.exceptions import MissingSensitiveFeaturesError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from skfair._groups.groups import GroupSummary
    from skfair._utils.api import AttributeName
    from skfair._utils.tables import TableLike


# Missing values of sensitive features, as a group of their own.


MISSING = "(missing)"
"""Name of the group of samples whose group is not recorded."""

MISSING_MARKS = frozenset(r"na n/a #n/a #na <na> nan -nan null none nil missing \n ? . -".split())
"""Usual marks of missing values of any column, in lower case; \\N is that of databases."""

_CLASS_MARK_PATTERN = re.compile(
    r"\b(unknown|undisclosed|unspecified|missing|not (disclosed|stated|specified|reported|recorded"
    r"|provided|given|known|available|applicable))\b|^\W*((n/?a|nan|null)\W*)?$|^\\n$"
)
"""Labels, in lower case, that look like the mark of an unknown class."""

_GROUP_MARK_PATTERN = re.compile(_CLASS_MARK_PATTERN.pattern + r"|\b(decline[sd]?|prefers? not)\b")
"""Labels, in lower case, that look like the mark of an unknown group."""


def is_like_unknown(label: object, is_group: bool = True) -> bool:
    """Whether a label looks like the mark of an unknown group or class; not `MISSING` itself."""
    pattern = _GROUP_MARK_PATTERN if is_group else _CLASS_MARK_PATTERN
    if not isinstance(label, str) or label == MISSING:
        return False
    return pattern.search(str(normalize_label(label))) is not None


def warn_of_missing_marks(
    labels: np.ndarray | dict[float | str, None] | list[float | str],
    name: str,
    are_groups: bool = False,
) -> None:
    """Warn of labels that look like missing values, but are groups, classes or queries."""
    if marks := [repr(label) for label in labels if is_like_unknown(label, are_groups)]:
        warn(
            f"Labels of {name} look like missing values, but count like any other: "
            f"{', '.join(marks)}. If they mark missing values, leave these samples out. For groups "
            "audits take SensitiveFeatures(groups, unknown=[...]), and commands --unknown. If they "
            "do not, rename them."
        )


def warn_of_unclear_labels(groups: Groups) -> None:
    """Warn of labels of attributes that may be one, and of those that look like missing values."""
    # Labels that `normalize_label` makes equal may be one group. A sparse matrix has no attributes.
    for name, column in zip(groups.attributes, groups.labels.T, strict=False):
        by_text: dict[Any, list[Any]] = {}
        for label in dict.fromkeys(column):
            by_text.setdefault(normalize_label(label), []).append(label)
        similar = [labels for labels in by_text.values() if len(labels) > 1]
        if similar:
            named = join_names(" and ".join(map(repr, labels)) for labels in similar)
            warn(
                f"Labels of attribute {name!r} of sensitive_features differ in case, surrounding "
                f"spaces or Unicode form alone, but count as different groups: {named}. If they "
                "mean the same, write them in one way, as by "
                'column.str.normalize("NFKC").str.strip().str.lower().'
            )
    for name, column in zip(groups.attributes, groups.labels.T, strict=False):
        about = f"attribute {name!r} of sensitive_features"
        warn_of_missing_marks(dict.fromkeys(column), about, are_groups=True)


def fill_missing(
    sensitive_features: TableLike, unknown: Collection[Any] = ()
) -> pd.DataFrame | sparse.csr_array:
    """DataFrame of the attributes, with missing values named `MISSING`; encoded groups unchanged.

    Labels in `unknown` count as missing values; text is compared without regard to case and
    surrounding spaces. A label that no attribute has raises a warning. Attributes with missing
    values become text. The others are unchanged.
    """
    (sensitive_features,) = load_columns(sensitive_features=sensitive_features).values()
    if sparse.issparse(sensitive_features) or is_encoded(sensitive_features):
        if unknown:
            raise TypeError(
                "unknown names labels of groups, but sensitive_features is a sparse matrix, whose "
                "groups are columns. Leave out the columns of unknown groups instead."
            )
        return sensitive_features
    columns = attribute_columns(sensitive_features)
    names = attribute_names(sensitive_features) or range(len(columns))
    index = sensitive_features.index if hasattr(sensitive_features, "iloc") else None
    by_name = {name: pd.Series(column) for name, column in zip(names, columns, strict=True)}
    if unknown:
        by_name = _mask_unknown_labels(by_name, unknown)
    filled = {name: _fill_column(column, name) for name, column in by_name.items()}
    return pd.DataFrame(filled, index=index)


def _mask_unknown_labels(
    by_name: dict[AttributeName, pd.Series], unknown: Collection[Any]
) -> dict[AttributeName, pd.Series]:
    """Columns by name with missing values in place of the unknown labels."""
    wanted = {normalize_label(label): label for label in unknown}
    occurring: set[Any] = set()
    known = {}
    for name, column in by_name.items():
        labels = [label for label in column.unique() if normalize_label(label) in wanted]
        occurring.update(map(normalize_label, labels))
        known[name] = column.astype(object).mask(column.isin(labels), None) if labels else column
    if absent := [label for folded, label in wanted.items() if folded not in occurring]:
        warn(
            f"unknown labels {join_names(map(repr, absent))} are named, but no attribute has them; "
            "check the spelling."
        )
    return known


def _fill_column(
    column: pd.Series, name: AttributeName
) -> np.ndarray | pd.api.extensions.ExtensionArray:
    """Values of an attribute, as text if any is missing."""
    if not column.isna().any():
        return column.array
    check_one_label_type(column.tolist(), f"attribute {name!r} of sensitive_features")
    # Integers beside missing values are stored as floats: write 1, not 1.0.
    texts = column.convert_dtypes().astype(object).map(str).where(column.notna(), MISSING)
    if (texts[column.notna()] == MISSING).any():
        raise ValueError(
            f"Missing values are reported as the group {MISSING!r}, but attribute {name!r} of "
            "sensitive_features also has a group of this name; rename it."
        )
    return texts.to_numpy()


def check_recorded_groups(
    sensitive_features: TableLike, n_samples: int, missing: str = "at_random"
) -> Groups:
    """`Groups` of samples, of which those without a label are in none.

    They are partly recorded if these are estimated, as groups that are missing "at_random".
    """
    if sparse.issparse(sensitive_features):
        raise TypeError(
            f"missing={missing!r} needs one label per sample, or a missing value, but "
            "sensitive_features is a sparse matrix; pass missing='error'."
        )
    is_recorded, groups = _encode_recorded(sensitive_features, n_samples)
    if is_recorded.all():
        return groups
    refuse_continuous_attributes(groups)
    if len(groups.labels) < 2:
        raise ValueError(
            f"missing={missing!r} needs recorded samples of two groups or more, but "
            f"sensitive_features has {len(groups.labels)}. Record the group of some hundred random "
            "samples."
        )
    ends = np.concatenate(([0], np.cumsum(is_recorded)))
    matrix = sparse.csr_array(
        (np.ones(len(groups.codes)), groups.codes, ends), shape=(n_samples, len(groups.labels))
    ).astype(float if missing == "at_random" else bool)
    return Groups(groups.labels, matrix=matrix, attributes=groups.attributes)


# Groups that are known as probabilities.


def check_group_probabilities(probabilities: TableLike, data: TableLike) -> pd.DataFrame:
    """Probabilities of groups as a DataFrame with named columns, as many rows as `data` has."""
    probabilities = to_pandas_table(probabilities)
    check_alignment(data=data, group_probabilities=probabilities)
    (probabilities,) = load_columns(group_probabilities=probabilities).values()
    table = pd.DataFrame(probabilities)
    check_consistent_length(data, table)
    numbers = check_array(table, dtype=float, input_name="group_probabilities")
    totals = numbers.sum(axis=1)
    if numbers.shape[1] < 2 or numbers.min() < 0.0 or np.abs(totals - 1.0).max() > 1e-6:
        raise argument_error(
            "group_probabilities must have a column for each of two or more groups, and each "
            f"sample's must be in [0, 1] and sum to 1. Got {numbers.shape[1]} columns, numbers "
            f"from {numbers.min():g} to {numbers.max():g}, and sums from {totals.min():g} to "
            f"{totals.max():g}."
        )
    return pd.DataFrame(numbers, columns=table.columns)


def make_probable_groups(probabilities: pd.DataFrame) -> Groups:
    """`Groups` whose memberships are the probabilities of a DataFrame."""
    labels = probabilities.columns.to_numpy(dtype=object)[:, np.newaxis]
    return Groups(labels, matrix=sparse.csr_array(probabilities.to_numpy()))


# Groups that were known at fit: new data are encoded by them.


HOW_TO_PASS_GROUPS = (
    "In a search or cross-validation, call sklearn.set_config(enable_metadata_routing=True) first, "
    "then search.fit(X, y, sensitive_features=...) or cross_validate(..., "
    'params={"sensitive_features": ...})'
)
"""Advice for errors about missing groups."""

_HOW_TO_PREDICT = (
    "Pass each sample's group, as in predict(X, sensitive_features=...) and score(X, y, "
    f"sensitive_features=...). {HOW_TO_PASS_GROUPS}, and score with "
    'skfair.metrics.get_scorer("accuracy"): scorers of scikit-learn, such as '
    'scoring="accuracy", do not pass groups to predict, and scoring=None of a pipeline does so '
    "from scikit-learn 1.8 on."
)
"""Advice for predictions that depend on the group."""


def encode_known_groups(
    sensitive_features: TableLike,
    n_samples: int,
    summary: GroupSummary,
    handle_unknown: str = "error",
) -> np.ndarray:
    """Group of each sample as a row of ``summary.labels``, (n_samples,).

    A group is unknown if it was not seen at fit, or is missing. With ``handle_unknown="overall"``
    its code is the number of known groups, at which estimators keep what holds for all groups
    together, and a warning names it. "error" raises a ValueError. Either way labels of another type
    than at fit, such as True for 1, raise a TypeError.
    """
    # Encode the samples that have a group, then translate their groups to those known at fit.
    is_recorded, groups = _encode_recorded(sensitive_features, n_samples)
    groups = order_attributes(groups, summary.attributes, "the fit")
    known = {name: code for code, name in enumerate(summary.names)}
    matched = _find_known_codes(group_names(groups.labels), known)
    codes = np.full(n_samples, len(known))
    codes[is_recorded] = matched[groups.codes]
    unknown = [name for name in group_names(groups.labels) if name not in known]
    _handle_unknown(codes == len(known), is_recorded, unknown, known, handle_unknown)
    # A dict takes True for 1, so types are compared as well.
    check_attribute_label_types(map(tuple, [*summary.labels, *groups.labels.tolist()]))
    return codes


def encode_groups_for_prediction(
    sensitive_features: TableLike | None,
    n_samples: int,
    summary: GroupSummary,
    reason: str,
    handle_unknown: str,
    advice: str = _HOW_TO_PREDICT,
) -> np.ndarray:
    """As `encode_known_groups`, for predictions that depend on the group.

    `sensitive_features` may be None if there was one group at fit. `reason` says why predictions
    depend on the group, and how to do without, and `advice` how to pass the groups, as sentences
    for the MissingSensitiveFeaturesError.
    """
    if sensitive_features is not None:
        return encode_known_groups(sensitive_features, n_samples, summary, handle_unknown)
    if len(summary.labels) == 1:
        return np.zeros(n_samples, dtype=np.intp)
    raise MissingSensitiveFeaturesError(f"{reason} {advice}")


def encode_known_values(
    sensitive_features: pd.DataFrame, n_samples: int, summary: GroupSummary, handle_unknown: str
) -> np.ndarray:
    """Groups of each sample by single attributes, as rows of ``summary.labels``.

    The summary is one of groups called by pairs (attribute, value); the codes are of shape
    (n_samples, n_attributes). Unknown values are handled as `encode_known_groups` does.
    """
    is_recorded, groups = _encode_recorded(sensitive_features, n_samples)
    codes_by_attribute: dict[AttributeName, dict[Any, int]] = {}
    names: list[Any] = summary.names  # pairs (attribute, value)
    for code, (attribute, value) in enumerate(names):
        codes_by_attribute.setdefault(attribute, {})[value] = code
    groups = order_attributes(groups, summary.attributes, "the fit")
    n_known = len(summary.labels)
    codes = np.full((n_samples, len(codes_by_attribute)), n_known)
    for number, (attribute, known) in enumerate(codes_by_attribute.items()):
        values = groups.labels[:, number].tolist()
        codes[is_recorded, number] = _find_known_codes(values, known, n_known)[groups.codes]
        unknown = [value for value in values if value not in known]
        is_unknown = codes[:, number] == n_known
        _handle_unknown(is_unknown, is_recorded, unknown, known, handle_unknown, attribute)
        check_one_label_type([*known, *values], f"attribute {attribute!r}")
    return codes


def _encode_recorded(sensitive_features: TableLike, n_samples: int) -> tuple[np.ndarray, Groups]:
    """Whether no attribute of a sample is missing, and the groups of the samples that have all."""
    if sparse.issparse(sensitive_features):
        return np.ones(n_samples, dtype=bool), check_groups(sensitive_features, n_samples)
    columns = attribute_columns(sensitive_features)
    is_recorded = ~np.any([pd.isna(column) for column in columns], axis=0)
    if is_recorded.all() or len(is_recorded) != n_samples:
        return is_recorded, check_groups(sensitive_features, n_samples)
    names = attribute_names(sensitive_features) or range(len(columns))
    recorded = {name: column[is_recorded] for name, column in zip(names, columns, strict=True)}
    if not is_recorded.any():
        labels = np.empty((0, len(columns)), dtype=object)
        codes = np.empty(0, dtype=np.intp)
        return is_recorded, Groups(labels, codes=codes, attributes=list(names))
    return is_recorded, check_groups(pd.DataFrame(recorded), int(is_recorded.sum()))


def _find_known_codes(
    names: Iterable[Any], known: dict[Any, int], n_known: int | None = None
) -> np.ndarray:
    """Code of each name among the known ones, and their number for one that is unknown."""
    n_known = len(known) if n_known is None else n_known
    return np.array([known.get(name, n_known) for name in names], dtype=np.intp)


def _handle_unknown(
    is_unknown: np.ndarray,
    is_recorded: np.ndarray,
    unknown: Iterable[Any],
    known: Iterable[Any],
    handle_unknown: str,
    attribute: AttributeName | None = None,
) -> None:
    """Raise for samples of unknown groups, or warn of them with ``handle_unknown="overall"``."""
    if not is_unknown.any():
        return
    names = [*dict.fromkeys(unknown), *([] if is_recorded.all() else [MISSING])]
    place = "" if attribute is None else f" of attribute {attribute!r}"
    listed = join_names(map(repr, names))
    if handle_unknown == "overall":
        warn(
            f"{is_unknown.sum()} of {len(is_unknown)} samples have groups{place} not seen at fit: "
            f"{listed}. With handle_unknown='overall' they are predicted as all groups together "
            "are, and nothing guarantees that a constraint holds for them."
        )
        return
    raise argument_error(
        f"sensitive_features has groups{place} not seen at fit: {listed}; the known groups are "
        f"{join_names(map(repr, known))}. Map these samples to a known group, fit on data that has "
        "theirs, or pass handle_unknown='overall' to the estimator, which predicts them as all "
        "groups together are."
    )


def order_attributes(groups: Groups, attributes: list[AttributeName], source: str) -> Groups:
    """Groups with their attributes in the order of `attributes`, those of an earlier call.

    They are matched by name, or by position where either has no names. The name of a single
    attribute is ignored, since it has no other meaning. `source` says in the error which call had
    the attributes.
    """
    names = groups.attributes
    numbers = list(range(len(attributes)))
    is_permuted = set(names) == set(attributes)
    is_by_position = len(numbers) == 1 or numbers in (names, attributes)
    if len(names) != len(numbers) or not (is_permuted or is_by_position):
        raise argument_error(
            f"sensitive_features must have the {len(numbers)} attribute(s) of {source}, "
            f"{join_names(map(repr, attributes))}, but has {len(names)}: "
            f"{join_names(map(repr, names))}. Pass the same columns; a table may have them in any "
            "order."
        )
    order = [names.index(name) for name in attributes] if is_permuted else numbers
    return groups._replace(labels=groups.labels[:, order], attributes=attributes, ranks=None)
