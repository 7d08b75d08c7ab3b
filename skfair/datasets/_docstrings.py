"""Docstring entries that the datasets share."""

from skfair.utils._docstrings import shared_docs

dataset_docs = shared_docs(
    """
    drop_sensitive : bool, default=False
        Whether to leave the columns named in ``sensitive`` out of ``data``.
    data_home : str or path-like, default=None
        Folder of the cache. None takes scikit-learn's data home.
    download_if_missing : bool, default=True
        If False, raise OSError instead of using the network.
    as_frame : bool, default=True
        If False, arrays instead of pandas objects. ``data`` is then float64, with each category
        replaced by its position in ``categories`` (a name, not a quantity: one-hot encode it before
        measuring distances) and missing values nan.
    return_X_y : bool, default=False
        If True, return ``(data, target)`` only.
    random_state : int, RandomState instance or None, default=None
        Seed of the random draws.
    sensitive_features : Series (n_samples,) or DataFrame (n_samples, n_attributes)
        The groups, in the order of the rows of ``data``. A DataFrame if ``sensitive`` is a list.
    feature_names : list of str
        The columns of ``data``.
    categories : dict of str to list of str
        The categories of each categorical feature, in the order of their codes.
    DESCR : str
        Source, licence, meaning of the columns.
    frame : DataFrame of shape (n_samples, n_features + 1) or None
        ``data`` and ``target``. None if ``as_frame=False``.
    OSError
        If a file is neither on disk nor available from the network, or its digest is wrong.
    """,
    no_categories="""
        categories : dict
            Empty: every feature is numeric.
    """,
    data_and_target="(data, target) : tuple if ``return_X_y=True``",
)
