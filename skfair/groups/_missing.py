"""Missing values of sensitive features, as a group of their own."""

import re

from scipy import sparse

from skfair.groups._groups import attribute_names
from skfair.groups._labels import attribute_columns, check_one_label_type
from skfair.partitions import load_columns
from skfair.utils._messages import join_names, warn

MISSING = "(missing)"
"""Name of the group of samples whose group is not recorded."""

_UNKNOWN = re.compile(
    r"\b(unknown|undisclosed|unspecified|missing|decline[sd]?|prefers? not|not "
    r"(disclosed|stated|specified|reported|recorded|provided|given|known|available|applicable))\b"
    r"|^\W*((n/a|nan|null)\W*)?$"
)
"""Labels, in lower case, that look like the mark of an unknown group."""


def is_like_unknown(label):
    """Whether a label looks like the mark of an unknown group; `MISSING` itself does not."""
    is_text = isinstance(label, str) and label != MISSING
    return is_text and _UNKNOWN.search(_fold(label)) is not None


def fill_missing(sensitive_features, unknown=()):
    """DataFrame of the attributes, with missing values named `MISSING`; a sparse matrix unchanged.

    Labels in `unknown` count as missing values; text is compared without regard to case and
    surrounding spaces. A label that no attribute has raises a warning. Attributes with missing
    values become text. The others are unchanged.
    """
    import pandas as pd

    (sensitive_features,) = load_columns(sensitive_features=sensitive_features).values()
    if sparse.issparse(sensitive_features):
        _refuse_unknown(unknown)
        return sensitive_features
    columns = attribute_columns(sensitive_features)
    names = attribute_names(sensitive_features) or range(len(columns))
    index = sensitive_features.index if hasattr(sensitive_features, "iloc") else None
    by_name = {name: pd.Series(column) for name, column in zip(names, columns, strict=True)}
    if unknown:
        by_name = _remove_unknown(by_name, unknown)
    filled = {name: _fill_column(column, name) for name, column in by_name.items()}
    return pd.DataFrame(filled, index=index)


def _refuse_unknown(unknown):
    """Raise if labels are named where groups are the columns of a sparse matrix."""
    if unknown:
        raise TypeError(
            "unknown names labels of groups, but sensitive_features is a sparse matrix, whose "
            "groups are columns. Leave out the columns of unknown groups instead."
        )


def _remove_unknown(by_name, unknown):
    """Columns by name with missing values in place of the unknown labels."""
    wanted = {_fold(label): label for label in unknown}
    occurring, known = set(), {}
    for name, column in by_name.items():
        labels = [label for label in column.unique() if _fold(label) in wanted]
        occurring.update(map(_fold, labels))
        known[name] = column.astype(object).mask(column.isin(labels), None) if labels else column
    if absent := [label for folded, label in wanted.items() if folded not in occurring]:
        warn(
            f"unknown names {join_names(map(repr, absent))}, but no attribute has such a label; "
            "check the spelling."
        )
    return known


def _fold(label):
    """A label as it is compared: text without regard to case and surrounding spaces."""
    return label.strip().casefold() if isinstance(label, str) else label


def _fill_column(column, name):
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
