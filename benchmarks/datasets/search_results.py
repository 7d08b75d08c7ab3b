"""Search results of MSLR-WEB10K, whose pages have a quality score."""

from os import PathLike
from typing import Literal

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.utils import Bunch

from skfair._utils.checks import check_choice
from skfair.datasets._fetch import cache_folder, user_folder

MSLR_ADDRESS = "https://www.microsoft.com/en-us/research/project/mslr/"
MSLR_N_FEATURES = 136
QUALITY_COLUMN = 131
"""Position of the column QualityScore, feature 132 in the documentation."""

N_QUERIES = {"train": 6000, "vali": 2000, "test": 2000}
"""Number of queries in the three files of a fold."""

MSLR_DESCR = f"""MSLR-WEB10K, a fold of Microsoft's learning to rank data of 10,000 queries

Source: {MSLR_ADDRESS}; T. Qin and T.-Y. Liu, "Introducing LETOR 4.0 datasets", arXiv:1306.2597.
Its terms of use must be accepted before the download, so it is not downloaded here.
Rows: pairs of a query and a page, 136 numbers each (feature 132 is the quality score of the page
by a classifier). Target: relevance, judged from 0 to 4.
Groups: pages of low and of high quality score.
"""


def fetch_mslr(
    subset: Literal["train", "vali", "test"] = "train",
    *,
    fold: int = 1,
    low_quality: float = 0.4,
    n_queries: int | None = None,
    data_home: str | PathLike[str] | None = None,
) -> Bunch:
    """Load a file of MSLR-WEB10K, 1.2 million pages for 10,000 queries, that the user downloaded.

    The terms of use must be accepted before the download, from
    https://www.microsoft.com/en-us/research/project/mslr/. The files are read as published.

    Parameters
    ----------
    subset : {"train", "vali", "test"}, default="train"
        File of the fold, with 6,000, 2,000 or 2,000 queries.
    fold : {1, 2, 3, 4, 5}, default=1
        Number of the fold.
    low_quality : float, default=0.4
        Share of the pages of the file whose quality score counts as low. Studies of fairness [1]_
        make groups of this score without stating their threshold.
    n_queries : int or None, default=None
        Number of queries to return, the first of the file. None returns all.
    data_home : str or path-like, default=None
        Folder with ``mslr/Fold1/train.txt`` and so on, unless the environment variable
        ``SKFAIR_DATA`` names one. None takes ``skfair`` in scikit-learn's data home.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        data : ndarray of shape (n_documents, 136)
            The features.
        target : ndarray of int, shape (n_documents,)
            Relevance, 0 to 4.
        query_id : ndarray of int, shape (n_documents,)
            Query of each page.
        sensitive_features : ndarray of str, shape (n_documents,)
            "low" or "high" quality score.
        DESCR : str
            Source and meaning.

    Raises
    ------
    ValueError
        If ``subset`` or ``fold`` is not one of those listed.
    OSError
        If the file is missing, truncated or a different one.

    References
    ----------
    .. [1] "A modified proximal-perturbed Lagrangian for non-convex non-smooth representatives of
       fairness constraints", under review, appendix D.3.

    Examples
    --------
    >>> from benchmarks.datasets import load_benchmark
    >>> queries = load_benchmark("mslr", subset="vali", n_queries=100)  # doctest: +SKIP
    >>> queries.data.shape[1]  # doctest: +SKIP
    136
    """
    check_choice("subset", subset, tuple(N_QUERIES))
    if fold not in range(1, 6):
        raise ValueError(f"fold must be one of 1, 2, 3, 4, 5; got {fold!r}.")
    path = _find_mslr_file(f"mslr/Fold{fold}/{subset}.txt", data_home)
    X, y, query = _read_mslr(path, N_QUERIES[subset])
    if n_queries is not None:
        # Queries in the order of the file.
        _, first_rows = np.unique(query, return_index=True)
        rows = np.isin(query, query[np.sort(first_rows)][:n_queries])
        X = X[rows]
        y = y[rows]
        query = query[rows]
    threshold = np.quantile(X[:, QUALITY_COLUMN], low_quality)
    groups = np.where(X[:, QUALITY_COLUMN] <= threshold, "low", "high")
    return Bunch(data=X, target=y, query_id=query, sensitive_features=groups, DESCR=MSLR_DESCR)


def _find_mslr_file(name, data_home):
    """Path of the file, in the folder named by SKFAIR_DATA or in the data home."""
    folders = [folder for folder in (user_folder(), cache_folder(data_home)) if folder]
    paths = [folder / name for folder in folders if (folder / name).is_file()]
    if not paths:
        raise OSError(
            f"{name} is in none of {[str(folder) for folder in folders]}, and MSLR-WEB10K cannot "
            f"be downloaded without accepting its terms. Get it from {MSLR_ADDRESS}, unpack it, "
            f"and put its folder with this file at {folders[0] / name}."
        )
    return paths[0]


def _read_mslr(path, n_queries):
    """Features, relevance and query of a file, which must be complete."""
    try:
        X, y, query = load_svmlight_file(
            path, n_features=MSLR_N_FEATURES, zero_based=False, query_id=True
        )
        n_numbers = [line.count(b":") for line in _last_line(path)]
    except ValueError as error:
        raise OSError(f"{path} is not a file of MSLR-WEB10K: {error}. {_REMEDY}") from error
    # A truncated file has fewer queries, or fewer numbers in its last line.
    is_complete = n_numbers and set(n_numbers) == {MSLR_N_FEATURES + 1}
    if not is_complete or len(np.unique(query)) != n_queries or not np.isin(y, range(5)).all():
        raise OSError(
            f"{path} must hold {n_queries} queries, relevance from 0 to 4 and {MSLR_N_FEATURES} "
            f"numbers in every line, but it holds {len(np.unique(query))} queries, relevance "
            f"{np.unique(y)[:9].tolist()} and {n_numbers[-1] - 1 if n_numbers else 0} numbers in "
            f"its last line: it is truncated, or another file. {_REMEDY}"
        )
    return X.toarray(), y.astype(int), query


_REMEDY = f"Download it again from {MSLR_ADDRESS}."


def _last_line(path):
    """Return the last line of a file in a list, or [] if the file is empty."""
    with path.open("rb") as file:
        # The end of the file suffices, which is longer than any line.
        file.seek(max(0, path.stat().st_size - 10_000))
        return file.read().splitlines()[-1:]
