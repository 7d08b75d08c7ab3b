"""The one shape in which every dataset is returned."""

from sklearn.utils import Bunch

from skfair.utils._messages import spelling_hint


def check_choice(name, value, choices):
    """Raise ValueError unless ``value`` is one of the strings ``choices``."""
    if value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(
            f"{name} must be one of {listed}; got {value!r}." + spelling_hint(value, choices)
        )


def pick_groups(table, sensitive):
    """Choose the sensitive features of a dataset by name among its categorical columns.

    Parameters
    ----------
    table : DataFrame of shape (n_samples, n_columns)
        The dataset; only its categorical columns are candidates.
    sensitive : str or list of str
        One name gives a Series, a list of names a DataFrame.

    Returns
    -------
    Series of shape (n_samples,) or DataFrame of shape (n_samples, n_attributes)
        The chosen columns, rows as in ``table``.
    """
    candidates = table.select_dtypes("category")
    names = [sensitive] if isinstance(sensitive, str) else sensitive
    if not isinstance(names, list) or not names or any(n not in candidates for n in names):
        raise ValueError(
            f"sensitive must name one of the columns {list(candidates)}, or be a list of such "
            f"names; got {sensitive!r}. Groups made in another way (a numeric column cut into "
            "bands, say) can be passed to an estimator as sensitive_features directly."
        )
    return table[sensitive]


def make_bunch(data, target, sensitive_features, descr):
    """Make a bunch of frames in scikit-learn's shape, with the groups beside it.

    Parameters
    ----------
    data : DataFrame of shape (n_samples, n_features)
        The features; text as pandas categories.
    target : Series of shape (n_samples,)
        What is to be predicted.
    sensitive_features : Series or DataFrame of n_samples rows
        The groups.
    descr : str
        Source, licence, meaning of the columns.

    Returns
    -------
    Bunch
        data, target, sensitive_features, feature_names, categories, DESCR, frame.
    """
    return Bunch(
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


def deliver(bunch, *, as_frame, return_X_y):
    """Give a bunch of frames the form that the caller of a ``fetch_*`` function asked for.

    Parameters
    ----------
    bunch : Bunch
        Made by :func:`make_bunch`.
    as_frame : bool
        False: arrays instead of frames. A category becomes its position in
        ``bunch.categories[feature]``, a missing one nan; ``frame`` is None.
    return_X_y : bool
        True: only ``(data, target)``, as scikit-learn's loaders do.

    Returns
    -------
    Bunch or tuple (data, target)
        See above.
    """
    if not as_frame:
        bunch = Bunch(
            **{
                **bunch,
                "data": _encode(bunch.data),
                "target": bunch.target.to_numpy(),
                "sensitive_features": bunch.sensitive_features.to_numpy(),
                "frame": None,
            }
        )
    return (bunch.data, bunch.target) if return_X_y else bunch


def _encode(data):
    """Make a float array of shape (n_samples, n_features), each category as its ordinal code."""
    codes = {
        name: column.cat.codes.where(column.notna())
        for name, column in data.select_dtypes("category").items()
    }
    return data.assign(**codes).to_numpy(dtype=float)
