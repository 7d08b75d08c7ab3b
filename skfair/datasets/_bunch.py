"""Bunches, the form in which every dataset is returned."""

from sklearn.utils import Bunch

from skfair.utils._messages import spelling_hint


def check_choice(name, value, choices):
    """Raise ValueError unless ``value`` is one of the strings ``choices``."""
    if value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(
            f"{name} must be one of {listed}; got {value!r}." + spelling_hint(value, choices)
        )


def categorize_texts(table, target):
    """Make a categorical column of every column of text but the target."""
    texts = table.drop(columns=target).select_dtypes(exclude="number").columns
    return table.astype(dict.fromkeys(texts, "category"))


def select_groups(table, sensitive):
    """Categorical columns of a table by name: a Series for one name, a DataFrame for a list."""
    candidates = table.select_dtypes("category")
    names = [sensitive] if isinstance(sensitive, str) else sensitive
    if not isinstance(names, list) or not names or any(n not in candidates for n in names):
        raise ValueError(
            f"sensitive must name one of the columns {list(candidates)}, or be a list of such "
            f"names; got {sensitive!r}. Pass other groups (such as intervals of a numeric column) "
            "to an estimator as sensitive_features directly."
        )
    return table[sensitive]


def make_bunch(data, target, sensitive_features, descr, as_frame=True, return_X_y=False):
    """Make the bunch of a dataset from pandas objects, or with ``return_X_y`` data and target.

    With ``as_frame=False`` it holds arrays: a category becomes its position in
    ``bunch.categories[feature]``, a missing one nan, and ``frame`` is None.
    """
    bunch = Bunch(
        data=data,
        target=target,
        sensitive_features=sensitive_features,
        feature_names=list(data.columns),
        categories={
            name: list(column.cat.categories)
            for name, column in data.select_dtypes("category").items()
        },
        DESCR=descr,
        frame=data.assign(**{target.name: target}),
    )
    # Arrays: categories as their codes, and no frame.
    if not as_frame:
        arrays = {
            "data": _encode(data),
            "target": target.to_numpy(),
            "sensitive_features": sensitive_features.to_numpy(),
            "frame": None,
        }
        bunch = Bunch(**{**bunch, **arrays})
    return (bunch.data, bunch.target) if return_X_y else bunch


def _encode(data):
    """Make a float array of shape (n_samples, n_features), each category as its ordinal code."""
    # Codes of missing categories become nan.
    codes = {
        name: column.cat.codes.where(column.notna())
        for name, column in data.select_dtypes("category").items()
    }
    return data.assign(**codes).to_numpy(dtype=float)
