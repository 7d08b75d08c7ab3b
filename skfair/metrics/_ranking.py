"""Metrics of rankings: orders of pairs of documents, and the exposure that groups get."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils import gen_batches

from skfair._groups import check_groups
from skfair._groups.events import DocumentPairs
from skfair._groups.samples import check_metric_input
from skfair._utils.api import ComparisonMethod, MatrixLike
from skfair._utils.checks import (
    argument_error,
    check_choice,
    is_int,
    refuse_fractions,
    to_floats,
    warn,
)
from skfair.metrics._docstrings import ranking_docs
from skfair.metrics._rates import gap, ratio
from skfair.metrics._registry import register_metric
from skfair.metrics._regression import mean_losses

if TYPE_CHECKING:
    from skfair._groups import Samples


# Pairwise fairness of rankings.


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

    Read more in the :ref:`guide <fair_ranking>`.

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
        In [0, 1], 0 is fair. 0 with a single group. nan, with a warning, where no two groups can be
        compared, for example with queries of one document.

    Raises
    ------
    ValueError
        If the inputs differ in length, or hold missing values, or ``min_pairs`` is less than 1.

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
    samples, (relevance, scores, query) = check_metric_input(
        sensitive_features, sample_weight, y_true=y_true, y_score=y_score, query_id=query_id
    )
    if len(samples.groups.names) == 1:
        return 0.0
    refuse_fractions("query_id", query)
    if not is_int(min_pairs):
        raise argument_error(
            f"min_pairs must be a number of pairs of at least 1; got {min_pairs!r}."
        )
    query = check_groups(query, len(query)).codes
    pairs = DocumentPairs(relevance, query)
    if not len(pairs):
        warn(
            "No query has documents of different relevance, so that there are no orders to "
            "compare: the difference is nan. Pass query_id with one value for all documents of a "
            "query.",
            UndefinedMetricWarning,
        )
        return float("nan")
    counts, totals, wins = _sum_pairs(pairs, query * per_query, samples, scores)
    # Compare two groups only with enough pairs in both orders, never a group with itself.
    enough = np.minimum(counts, counts.swapaxes(1, 2)) >= min_pairs
    rates = np.divide(wins, totals, out=np.zeros(counts.shape), where=counts > 0)
    differences = np.abs(rates - rates.swapaxes(1, 2))
    enough[:, *np.diag_indices(counts.shape[1])] = False
    if not enough.any():
        warn(
            f"No two groups have min_pairs={min_pairs} pairs of documents of one query in either "
            f"order: the difference is nan. {_advise_on_pairs(per_query, min_pairs)}",
            UndefinedMetricWarning,
        )
        return float("nan")
    return float(differences[enough].max())


def _advise_on_pairs(per_query: bool, min_pairs: int) -> str:
    """Return what to change so that there are pairs of two groups."""
    if per_query and min_pairs > 1:
        return "Lower min_pairs, or pass per_query=False."
    if per_query:
        return "Pass per_query=False."
    if min_pairs > 1:
        return "Lower min_pairs."
    return "Add queries in which the more relevant document is of either group."


def _sum_pairs(
    pairs: DocumentPairs, query: np.ndarray, samples: Samples, scores: np.ndarray
) -> np.ndarray:
    """Pairs, their weight, and that of the concordant ones, (3, n_queries, n_groups, n_groups)."""
    groups = samples.groups.codes
    n_groups = len(samples.groups.names)
    shape = (query.max() + 1, n_groups, n_groups)
    sums = np.zeros((3, np.prod(shape)))
    # There may be far more pairs than documents, so they are enumerated in chunks by number.
    for chunk in gen_batches(len(pairs), 1 << 20):
        # A chunk of pairs, by the query and the groups of both documents.
        better, worse = pairs[np.arange(chunk.start, chunk.stop)].T
        cells = np.ravel_multi_index((query[better], groups[better], groups[worse]), shape)
        weights = samples.weights[better] * samples.weights[worse]
        is_concordant = scores[better] > scores[worse]
        for total, added in zip(sums, (None, weights, weights * is_concordant), strict=True):
            total += np.bincount(cells, added, minlength=len(total))
    return sums.reshape((3, *shape))


# Exposure: the attention that documents get at their ranks.


@ranking_docs
@register_metric("score", largest=1.0)
def exposure_difference(
    y_score: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    query_id: ArrayLike | None = None,
    merit: ArrayLike | None = None,
    k: int | None = None,
    discount: str | Callable = "log",
    average: Literal["documents", "queries"] = "documents",
    method: ComparisonMethod = "between_groups",
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Largest minus smallest mean exposure of a group of documents.

    .. math::

        \max_{g, g'} (e_g - e_{g'}), \qquad
        e_g = \frac{E[v \mid g]}{E[m \mid g] \, / \, E[m]},

    where m is the merit of a document and v the attention that it gets at its rank in its query,
    :math:`1 / \log_2(1 + \operatorname{rank})`. Documents of equal score share the attention of
    their ranks, as if their order were drawn. The merit of all documents is the same by default, so
    that :math:`e_g` is the mean exposure of the documents of a group ([1]_). With a merit exposure
    should be in proportion to it.

    Read more in the :ref:`guide <fair_ranking>`.

    Parameters
    ----------
    {y_score, sensitive_features, query_id, merit, k, discount, average, method, sample_weight}

    Returns
    -------
    difference : float
        In units of attention, of which the first rank gets 1; 0 is fair. 0 with a single group.

    Raises
    ------
    {ValueError}

    See Also
    --------
    exposure_ratio : The smallest over the largest mean exposure.

    References
    ----------
    {singh2018}

    Examples
    --------
    The example of [1]_: relevance differs by a little, exposure by far.

    >>> from skfair.metrics import exposure_difference
    >>> relevance = [0.82, 0.81, 0.80, 0.79, 0.78, 0.77]
    >>> group = ["m", "m", "m", "f", "f", "f"]
    >>> round(exposure_difference(relevance, sensitive_features=group), 3)  # 0.710 - 0.391
    0.319
    """
    columns = y_score, sensitive_features, query_id, merit, sample_weight
    return gap([_group_exposures(columns, k, discount, average)], method)


@ranking_docs
@register_metric("score", best=1.0)
def exposure_ratio(
    y_score: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    query_id: ArrayLike | None = None,
    merit: ArrayLike | None = None,
    k: int | None = None,
    discount: str | Callable = "log",
    average: Literal["documents", "queries"] = "documents",
    method: ComparisonMethod = "between_groups",
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Smallest over largest mean exposure of a group of documents.

    .. math:: \min_g e_g \, / \, \max_g e_g

    with the mean exposure :math:`e_g` of :func:`exposure_difference`.

    Read more in the :ref:`guide <fair_ranking>`.

    Parameters
    ----------
    {y_score, sensitive_features, query_id, merit, k, discount, average, method, sample_weight}

    Returns
    -------
    {ratio}

    Raises
    ------
    {ValueError}

    References
    ----------
    {singh2018}

    Examples
    --------
    >>> from skfair.metrics import exposure_ratio
    >>> scores, group = [6, 5, 4, 3, 2, 1], ["m", "m", "m", "f", "f", "f"]
    >>> round(exposure_ratio(scores, sensitive_features=group), 3)  # 0.391 / 0.710
    0.551
    """
    columns = y_score, sensitive_features, query_id, merit, sample_weight
    return ratio([_group_exposures(columns, k, discount, average)], method, names=["exposure"])


def _group_exposures(
    columns: tuple, k: int | None, discount: str | Callable, average: str
) -> tuple[np.ndarray, float]:
    """Mean exposure of each group by its mean merit, and that of all documents."""
    check_choice("average", average, ("documents", "queries"))
    y_score, sensitive_features, query_id, merit, sample_weight = columns
    optional = {"query_id": query_id, "merit": merit}
    passed = {name: one for name, one in optional.items() if one is not None}
    samples, (scores, *rest) = check_metric_input(
        sensitive_features, sample_weight, y_score=y_score, **passed
    )
    known = dict(zip(passed, rest, strict=True))
    scores = to_floats("y_score", scores)
    query = known.get("query_id", np.zeros(len(scores)))
    refuse_fractions("query_id", query)
    merit = to_floats("merit", known.get("merit", np.ones(len(scores))))
    if average == "queries":  # the documents of a group and query weigh 1 together
        samples = samples._replace(weights=_share_within_queries(samples, query))
    everywhere = np.ones(len(scores))
    merits, _ = mean_losses(samples, relative_merit("merit", merit, samples), everywhere)
    means, mean = mean_losses(samples, document_exposure(scores, query, k, discount), everywhere)
    return means / merits, mean


def _share_within_queries(samples: Samples, query: np.ndarray) -> np.ndarray:
    """Weight of each document over that of all documents of its group and query."""
    if not samples.groups.is_disjoint:
        raise argument_error("average must be 'documents' where groups overlap; got 'queries'.")
    codes = check_groups(query, len(query)).codes * len(samples.groups.names) + samples.groups.codes
    return samples.weights / np.bincount(codes, samples.weights)[codes]


def relative_merit(name: str, merit: np.ndarray, samples: Samples) -> np.ndarray:
    """Merit of each document over the mean, whose name errors state."""
    by_group, overall = mean_losses(samples, merit, np.ones(len(merit)))
    if (merit < 0.0).any() or not (by_group > 0.0).all():
        raise argument_error(
            f"{name} must not be negative, and positive for some documents of each group, since "
            f"exposure is compared in proportion to it; the mean merits of the groups are "
            f"{by_group.round(6).tolist()}, the smallest of a document is {merit.min():g}."
        )
    return merit / overall


def document_exposure(
    scores: np.ndarray, query: np.ndarray, k: int | None, discount: str | Callable
) -> np.ndarray:
    """Attention of each document at its rank in its query, of ties that of their mean."""
    if k is not None and not is_int(k, 1):
        raise argument_error(f"k must be a number of ranks of at least 1, or None; got {k!r}.")
    query = check_groups(query, len(query)).codes
    # Ranks within queries, best first.
    order = np.lexsort((-scores, query))
    is_first = np.diff(query[order], prepend=-1) != 0
    positions = np.arange(len(order))
    ranks = positions - positions[is_first][np.cumsum(is_first) - 1] + 1
    attention = _discount_ranks(discount, ranks) * (ranks <= (np.inf if k is None else k))
    # Each of several equal scores gets the mean of their attention.
    is_new = is_first | (np.diff(scores[order], prepend=np.nan) != 0.0)
    tie = np.cumsum(is_new) - 1
    exposure = np.empty(len(order))
    exposure[order] = (np.bincount(tie, attention) / np.bincount(tie))[tie]
    return exposure


def _discount_ranks(discount: str | Callable, ranks: np.ndarray) -> np.ndarray:
    """Attention that ranks get, from 0 to 1."""
    if discount == "log":
        return 1.0 / np.log2(1.0 + ranks)
    attention = np.asarray(discount(ranks) if callable(discount) else np.nan)
    if attention.shape != ranks.shape or not ((attention >= 0.0) & (attention <= 1.0)).all():
        raise argument_error(
            "discount must be 'log', or a function of an array of ranks (the first is 1) that "
            f"returns an array of as many numbers from 0 to 1; got {discount!r}, and "
            f"{attention!r} of it."
        )
    return attention.astype(float)
