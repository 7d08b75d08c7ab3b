"""Missing values of sensitive features, as a group of their own."""

from scipy import sparse

from skfair.groups._groups import attribute_names
from skfair.groups._labels import attribute_columns, check_one_label_type
from skfair.partitions import load_columns

MISSING = "(missing)"
"""Name of the group of samples whose group is not recorded."""


def fill_missing(sensitive_features):
    """DataFrame of the attributes, with missing values named `MISSING`; a sparse matrix unchanged.

    Attributes with missing values become text. The others are unchanged.
    """
    import pandas as pd

    (sensitive_features,) = load_columns(sensitive_features=sensitive_features).values()
    if sparse.issparse(sensitive_features):
        return sensitive_features
    columns = attribute_columns(sensitive_features)
    names = attribute_names(sensitive_features) or range(len(columns))
    index = sensitive_features.index if hasattr(sensitive_features, "iloc") else None
    filled = {
        name: _fill_column(pd.Series(column), name)
        for name, column in zip(names, columns, strict=True)
    }
    return pd.DataFrame(filled, index=index)


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
