"""Queries with documents of two groups: drawn at random, and read in the format of MSLR-WEB10K."""

import os
from pathlib import Path

import numpy as np
from sklearn.datasets import get_data_home, load_svmlight_file
from sklearn.utils import Bunch, check_random_state

from ._bunch import check_choice

ADDRESS = "https://www.microsoft.com/en-us/research/project/mslr/"
N_FEATURES = 136
QUALITY = 131  # position of the column QualityScore, which the documentation calls feature 132
QUERIES = {"train": 6000, "vali": 2000, "test": 2000}
"""Queries of the three parts of a fold."""

DESCR = f"""MSLR-WEB10K, a fold of Microsoft's learning to rank data of 10,000 queries

Source: {ADDRESS}; T. Qin and T.-Y. Liu, "Introducing LETOR 4.0 datasets", arXiv:1306.2597.
Its terms of use must be accepted before the download, so that nothing here downloads it.
Rows: pairs of a query and a page, 136 numbers each (feature 132 is the quality score of the page
by a classifier). Target: relevance, judged from 0 to 4.
Groups: pages of low and of high quality score.
"""


def make_ranking(n_queries=100, *, n_documents=20, n_features=10, bias=1.0, random_state=None):
    r"""Queries with documents of two groups, one of which looks more relevant than it is.

    A document has features x from a standard normal distribution, and a utility :math:`x \cdot w +
    \varepsilon` with w of unit length and standard normal noise. Its relevance, 0 to 4, is the
    fifth of all documents that its utility lies in. Of documents of group "high" the feature of
    largest weight is seen with ``bias`` added, so that a ranker that trusts it ranks them too high.

    Parameters
    ----------
    n_queries : int, default=100
        Number of queries.
    n_documents : int, default=20
        Documents of each query, half of them of either group on average.
    n_features : int, default=10
        Number of features.
    bias : float, default=1.0
        What is added, in standard deviations of the feature.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

    Returns
    -------
    X : ndarray of shape (n_queries * n_documents, n_features)
        The documents, query after query.
    y : ndarray of int, shape (n_queries * n_documents,)
        Relevance.
    query_id : ndarray of int, shape (n_queries * n_documents,)
        Query of each document.
    sensitive_features : ndarray of str, shape (n_queries * n_documents,)
        Group of each document, "high" or "low".

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.datasets import make_ranking
    >>> X, y, query_id, groups = make_ranking(3, n_documents=5, random_state=0)
    >>> X.shape, np.bincount(y).tolist(), np.bincount(query_id).tolist()
    ((15, 10), [3, 3, 3, 3, 3], [5, 5, 5])
    """
    rng = check_random_state(random_state)
    n = n_queries * n_documents
    X, weights = rng.normal(size=(n, n_features)), np.sqrt(0.5 ** np.arange(1.0, n_features + 1))
    utility = X @ (weights / np.linalg.norm(weights)) + rng.normal(size=n)
    y = np.empty(n, dtype=int)
    y[np.argsort(utility)] = 5 * np.arange(n) // n
    groups = np.where(rng.uniform(size=n) < 0.5, "high", "low")
    X[:, 0] += bias * (groups == "high")
    return X, y, np.repeat(np.arange(n_queries), n_documents), groups


def fetch_mslr(part="train", *, fold=1, low_quality=0.4, n_queries=None, data_home=None):
    """Read a part of MSLR-WEB10K, 1.2 million pages for 10,000 queries, from its own files.

    The terms of use have to be accepted before the download, so that the files must be fetched by
    hand, from https://www.microsoft.com/en-us/research/project/mslr/. They are read as they are.

    Parameters
    ----------
    part : {"train", "vali", "test"}, default="train"
        Which file of the fold; 6,000, 2,000 and 2,000 queries.
    fold : {1, 2, 3, 4, 5}, default=1
        Which fold.
    low_quality : float, default=0.4
        Share of the pages of the part whose quality score counts as low. Studies of fairness [1]_
        make groups of this score; where they cut it is not printed.
    n_queries : int or None, default=None
        Keep so many queries, the first ones; None keeps all.
    data_home : str or path-like, default=None
        Folder with ``mslr/Fold1/train.txt`` and so on, where the environment variable
        ``SKFAIR_DATA`` does not name one; default is ``skfair`` in scikit-learn's data home.

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
        If ``part`` or ``fold`` is none of those listed.
    OSError
        If the file is not there, cut off or another one.

    References
    ----------
    .. [1] "A modified proximal-perturbed Lagrangian for non-convex non-smooth representatives of
       fairness constraints", under review, appendix D.3.

    Examples
    --------
    >>> from skfair.datasets import fetch_mslr
    >>> queries = fetch_mslr("vali", n_queries=100)  # doctest: +SKIP
    >>> queries.data.shape[1]  # doctest: +SKIP
    136
    """
    check_choice("part", part, tuple(QUERIES))
    if fold not in range(1, 6):
        raise ValueError(f"fold must be one of 1, 2, 3, 4, 5; got {fold!r}.")
    path = _path(f"mslr/Fold{fold}/{part}.txt", data_home)
    X, y, query = _read(path, QUERIES[part])
    if n_queries is not None:
        kept = np.isin(query, query[np.sort(np.unique(query, return_index=True)[1])][:n_queries])
        X, y, query = X[kept], y[kept], query[kept]
    cut = np.quantile(X[:, QUALITY], low_quality)
    groups = np.where(X[:, QUALITY] <= cut, "low", "high")
    return Bunch(data=X, target=y, query_id=query, sensitive_features=groups, DESCR=DESCR)


def _path(name, data_home):
    """Where the file lies."""
    own = os.environ.get("SKFAIR_DATA")
    folders = [Path(own).expanduser()] if own else []
    folders.append(Path(get_data_home(data_home), "skfair"))
    found = [folder / name for folder in folders if (folder / name).is_file()]
    if not found:
        raise OSError(
            f"{name} is in none of {[str(folder) for folder in folders]}, and MSLR-WEB10K cannot "
            f"be downloaded without accepting its terms. Get it from {ADDRESS}, unpack it, and put "
            f"its folder with this file at {folders[0] / name}."
        )
    return found[0]


def _read(path, n_queries):
    """Features, relevance and query of a whole file."""
    try:
        X, y, query = load_svmlight_file(
            path, n_features=N_FEATURES, zero_based=False, query_id=True
        )
        n_given = [line.count(b":") for line in _last_lines(path)]
    except ValueError as error:
        raise OSError(f"{path} is not a file of MSLR-WEB10K: {error}. {_REMEDY}") from error
    whole = n_given and set(n_given) == {N_FEATURES + 1}
    if not whole or len(np.unique(query)) != n_queries or not np.isin(y, range(5)).all():
        raise OSError(
            f"{path} must hold {n_queries} queries, relevance from 0 to 4 and {N_FEATURES} numbers "
            f"in every line, but it holds {len(np.unique(query))} queries, relevance "
            f"{np.unique(y)[:9].tolist()} and {n_given[-1] - 1 if n_given else 0} numbers in its "
            f"last line: it is cut off, or another file. {_REMEDY}"
        )
    return X.toarray(), y.astype(int), query


_REMEDY = f"Get it again from {ADDRESS}."


def _last_lines(path):
    """The last line of a file, or none if it has none; one that is cut off has no end."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 10_000))
        return file.read().splitlines()[-1:]
