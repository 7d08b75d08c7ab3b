"""Pairwise fairness of rankings."""

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning

from skfair.groups import DocumentPairs, check_columns, check_groups
from skfair.utils._messages import warn
from skfair.utils._types import MatrixLike

_CHUNK = 1 << 20
"""Pairs that are evaluated at a time."""


def ranking_parity_difference(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    query_id: ArrayLike | None = None,
    per_query: bool = False,
    min_pairs: int = 1,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Largest difference of two groups' rates of being ranked above the other if more relevant.

    Over pairs of documents i, j of one query with relevance :math:`y_i > y_j`,

    .. math:: \max_{a \ne b} |r_{ab} - r_{ba}|, \quad r_{ab} = P(h_i > h_j \mid i \in a, j \in b).

    Of tied scores neither is ranked above the other. This is what
    :class:`skfair.constraints.RankingParity` bounds ([1]_, "pairwise equal opportunity").

    Parameters
    ----------
    y_true : array-like of shape (n_documents,)
        Relevance of each document to its query, a number.
    y_score : array-like of shape (n_documents,)
        Scores by which documents are ranked.
    sensitive_features : array-like of shape (n_documents,) or (n_documents, n_attributes)
        Group of each document.
    query_id : array-like of shape (n_documents,), default=None
        Query of each document. None: all belong to one query.
    per_query : bool, default=False
        True compares rates within every query and takes the largest difference, False compares
        rates over the pairs of all queries together.
    min_pairs : int, default=1
        Two groups are compared, in a query or in all, if there are at least so many pairs in either
        order.
    sample_weight : array-like of shape (n_documents,), default=None
        Non-negative weights of documents. The weight of a pair is the product of its two.

    Returns
    -------
    difference : float
        In [0, 1], 0 is fair. 0 with a single group, nan where no two groups can be compared.

    Raises
    ------
    ValueError
        If the inputs differ in length, or hold missing values.

    References
    ----------
    .. [1] H. Narasimhan, A. Cotter, M. Gupta and S. Wang, "Pairwise fairness for ranking and
       regression", AAAI 2020.

    Examples
    --------
    >>> from skfair.metrics import ranking_parity_difference
    >>> relevance, scores = [1, 0, 1, 0, 1, 0], [3, 1, 2, 4, 5, 2]
    >>> group = ["a", "b", "a", "b", "b", "a"]
    >>> query = [0, 0, 0, 0, 1, 1]
    >>> ranking_parity_difference(
    ...     relevance, scores, sensitive_features=group, query_id=query
    ... )  # a above b: 2 of 4 pairs, b above a: 1 of 1
    0.5
    """
    query_id = np.zeros(len(y_true)) if query_id is None else query_id  # type: ignore[arg-type]
    samples, (relevance, scores, query) = check_columns(
        sensitive_features, sample_weight, y_true=y_true, y_score=y_score, query_id=query_id
    )
    if len(samples.groups.names) == 1:
        return 0.0
    query = check_groups(query, len(query)).codes
    pairs = DocumentPairs(relevance, query)
    counts, totals, wins = _sum_pairs(pairs, query * per_query, samples, scores)
    # Compare two groups only with enough pairs in both orders, never a group with itself.
    enough = np.minimum(counts, counts.swapaxes(1, 2)) >= min_pairs
    rates = np.divide(wins, totals, out=np.zeros(counts.shape), where=counts > 0)
    differences = np.abs(rates - rates.swapaxes(1, 2))
    enough[:, *np.diag_indices(counts.shape[1])] = False
    if not enough.any():
        warn(
            f"No two groups have min_pairs={min_pairs} pairs of documents of one query in either "
            "order: the difference is nan. Lower min_pairs, or pass per_query=False.",
            UndefinedMetricWarning,
        )
        return float("nan")
    return float(differences[enough].max())


def _sum_pairs(pairs, query, samples, scores):
    """Pairs, their weight, and that of the concordant ones, (3, n_queries, n_groups, n_groups)."""
    groups, n_groups = samples.groups.codes, len(samples.groups.names)
    shape = (query.max() + 1, n_groups, n_groups)
    sums = np.zeros((3, np.prod(shape)))
    # There may be far more pairs than documents, so they are enumerated in chunks by number.
    for start in range(0, len(pairs), _CHUNK):
        # A chunk of pairs, by the query and the groups of both documents.
        better, worse = pairs[np.arange(start, min(start + _CHUNK, len(pairs)))].T
        cells = np.ravel_multi_index((query[better], groups[better], groups[worse]), shape)
        weights = samples.weights[better] * samples.weights[worse]
        is_concordant = scores[better] > scores[worse]
        for total, added in zip(sums, (None, weights, weights * is_concordant), strict=True):
            total += np.bincount(cells, added, minlength=len(total))
    return sums.reshape(3, *shape)
