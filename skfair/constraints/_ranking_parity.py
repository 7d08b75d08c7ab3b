"""Parity between groups of the order of documents of different relevance."""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from skfair.constraints._cells import all_samples
from skfair.constraints._gap import Range
from skfair.constraints._parity import DecisionRateParity
from skfair.groups import Groups
from skfair.utils._sklearn import Interval

if TYPE_CHECKING:
    from skfair.groups import Samples


class RankingParity(DecisionRateParity):
    r"""Equal chances of two groups to be ranked above the other where they are more relevant.

    Over pairs of documents i, j of one query with relevance :math:`y_i > y_j`,

    .. math::

        r_{ab} = P(h_i > h_j \mid i \in a, \, j \in b), \qquad |r_{ab} - r_{ba}| \le tolerance

    for all groups :math:`a \ne b` ([1]_, "pairwise equal opportunity"; [2]_, appendix D.3). It is
    bound to pairs, as :class:`skfair.ranking.ConstrainedRanker` makes them: a sample is a pair, its
    score the difference :math:`h_i - h_j`, and its group the query and the groups of the two.

    Parameters
    ----------
    tolerance : float or None, default=None
        Largest gap allowed; None takes the estimator's.
    per_query : bool, default=False
        Whether rates are compared within every query, of which the largest gap counts, or over the
        pairs of all queries together.
    min_pairs : int, default=1
        Two groups are compared, in a query or in all, where there are so many pairs of either
        order.

    References
    ----------
    .. [1] H. Narasimhan, A. Cotter, M. Gupta and S. Wang, "Pairwise fairness for ranking and
       regression", AAAI 2020.
    .. [2] "A modified proximal-perturbed Lagrangian for non-convex non-smooth representatives of
       fairness constraints", under review.

    Examples
    --------
    >>> from skfair.constraints import RankingParity
    >>> RankingParity(tolerance=0.05, per_query=True)
    RankingParity(per_query=True, tolerance=0.05)
    """

    _parameter_constraints = {
        "tolerance": [Interval(Real, 0, None, closed="left"), None],
        "per_query": ["boolean"],
        "min_pairs": [Interval(Integral, 1, None, closed="left")],
    }

    metric = "ranking_parity_difference"
    cells = staticmethod(all_samples)
    reference, aggregate = "groups", "max"

    def __init__(
        self, *, tolerance: float | None = None, per_query: bool = False, min_pairs: int = 1
    ):
        self.tolerance = tolerance
        self.per_query = per_query
        self.min_pairs = min_pairs

    def compared_groups(self, samples: Samples) -> tuple[Groups, None]:
        """Pairs of groups with enough pairs of documents of either order; None is too small.

        Parameters
        ----------
        samples : Samples
            Pairs of documents, by query and groups; those of small groups are in no group.

        Returns
        -------
        large : Groups
            Of the same pairs of documents.
        small : None
        """
        return self._crossed_groups(samples.groups), None

    def _crossed_groups(self, groups):
        """Pairs of two different groups, with enough pairs of documents of either order."""
        if groups.labels.shape[1] != 3:
            raise ValueError(
                f"{self} compares pairs of documents, whose group is (query, group of the more "
                "relevant, group of the less relevant), but groups have "
                f"{groups.labels.shape[1]} attribute(s); pass it to "
                "skfair.ranking.ConstrainedRanker."
            )
        groups = groups if self.per_query else _over_queries(groups)
        # Pairs of documents of one and the same group are not compared.
        is_crossed = np.array([a != b for _, a, b in groups.labels], dtype=bool)
        if not is_crossed.any():
            return groups  # all documents are of one group
        # Each pair of groups counts as often as the rarer of its two orders.
        number = {tuple(label): code for code, label in enumerate(groups.labels)}
        partners = np.array([number.get((q, b, a), -1) for q, a, b in groups.labels])
        counts = np.append(groups.counts, 0)
        is_large = is_crossed & (np.minimum(counts[:-1], counts[partners]) >= self.min_pairs)
        if not is_large.any():
            raise ValueError(
                f"{self} has nothing to compare: no two groups have {self.min_pairs} pair(s) of "
                "documents of one query of either order. Lower min_pairs, pass per_query=False, or "
                "drop the constraint."
            )
        return groups.select(np.flatnonzero(is_large))

    def _gap(self, events):
        number = {label: code for code, (_, label) in enumerate(events.labels)}
        # Each order of a pair of groups is compared with the other one.
        blocks = ((code, number[q, b, a]) for (q, a, b), code in number.items())
        return Range(tuple(block for block in blocks if block[0] < block[1]))


def _over_queries(groups):
    """Groups of pairs of all queries together."""
    # Number the pairs of groups in the order in which they occur, and merge those of all queries.
    number = {}
    merged = [number.setdefault((a, b), len(number)) for _, a, b in groups.labels]
    by_label = dict.fromkeys((a, b) for _, a, b in groups.labels[np.argsort(groups.ranks)])
    ranks = {pair: rank for rank, pair in enumerate(by_label)}
    labels = np.empty((len(number), 3), dtype=object)
    for row, (a, b) in zip(labels, number, strict=True):
        row[:] = ["all", a, b]
    ones, ends = np.ones(len(merged), dtype=bool), np.arange(len(merged) + 1)
    unions = sparse.csr_array((ones, merged, ends), shape=(len(merged), len(number)))
    unions = sparse.csr_array(groups.matrix @ unions)
    return Groups.overlapping(unions, labels, np.array([ranks[pair] for pair in number]))
