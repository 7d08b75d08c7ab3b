"""Partial fairness: criteria on an interval of percentiles."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from skfair.constraints._bound import EventTable
from skfair.constraints._group_auc import GroupAUCConstraint
from skfair.constraints._mean_excess import Members
from skfair.constraints._percentile_rows import Compared, Position, at_percentiles, at_threshold
from skfair.utils._groups import Groups

CRITERIA = (
    "statistical_parity",
    "demographic_parity",
    "equal_opportunity",
    "equalized_odds",
    "group_auc",
)
"""Names of the criteria."""

AT_ONE_THRESHOLD = ("demographic_parity", "equal_opportunity", "equalized_odds")
"""Those that compare decisions at one threshold."""

_LEAST_SELECTED = 20
"""Samples that every event needs in its interval: fewer would be fitted, not made fair."""


@dataclass(frozen=True)
class PartialParity:
    r"""A criterion of fairness on an interval of percentiles ([1]_, Definitions 4.2 to A.3).

    Attributes
    ----------
    criterion : str
        What must be alike, one of ``CRITERIA``.
    intervals : list of ndarray, one per group, each of shape (n_pairs, 2)
        Percentiles.
    scale : {"normalized", "raw"}, default="normalized"
        Whether the tolerance is in units of the width of the interval, or of the whole group.
    n_percentiles : int, default=10
        Number of percentiles of "statistical_parity".
    grid : {"inclusive", "lemma"}, default="inclusive"
        Whether they reach both ends of the interval, or stop short of its end by the tolerance
        ([1]_, Lemma 5.1).
    rank_within : {"group", "class"}, default="group"
        Among whom "equal_opportunity" and "equalized_odds" count percentiles.
    width : float, default=2.0
        Width of the ramp that stands for decisions.
    threshold : float, default=0.0
        Where the criteria at one threshold decide.

    References
    ----------
    .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
       percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.
    """

    criterion: str
    intervals: list
    scale: str = "normalized"
    n_percentiles: int = 10
    grid: str = "inclusive"
    rank_within: str = "group"
    width: float = 2.0
    threshold: float = 0.0

    def bind(self, people, scores, tolerance):
        """Make rows for the people given, as seen from scores near those to come.

        Parameters
        ----------
        people : People
            Targets, groups and weights.
        scores : ndarray of shape (n_samples,)
            Scores, of the plain fit for instance. They tell on which side of an interval the rates
            at one threshold lie, and how many of a class rank in the interval of their group.
        tolerance : float
            Largest difference allowed.

        Returns
        -------
        constraint : PercentileConstraint or GroupAUCConstraint

        Raises
        ------
        ValueError
            If an event has fewer than 20 samples in its interval.
        """
        compared = self.compared(people, scores, tolerance)
        _check_sizes(self.table(people), compared.positions)
        if self.criterion == "group_auc":
            return GroupAUCConstraint(compared.members, self.intervals, self.width, tolerance)
        if self.criterion == "statistical_parity":
            return at_percentiles(compared, self.grid_of(compared.tolerances), self.width)
        return at_threshold(compared, self.threshold, self.width, scores)

    def compared(self, people, scores, tolerance):
        """The events that are compared; parameters are those of `bind`.

        Returns
        -------
        compared : Compared
        """
        everyone, cells, membership = self._membership(people)
        members = Members.of(membership, people.weights)
        positions = [Position(pairs) for pairs in self.intervals] * len(cells)
        if self._ranks_in_groups:
            of_groups = Members.of(everyone.matrix, people.weights)
            positions = _ranked_in_events(positions, of_groups, members, scores)
        widths = np.array([position.width for position in positions])
        tolerances = tolerance / widths if self.scale == "raw" else np.full(len(widths), tolerance)
        blocks = np.repeat(np.arange(len(cells)), len(everyone.names))
        return Compared(members, positions, tolerances, blocks)

    def table(self, people):
        """Names and sizes of the events that are compared.

        Parameters
        ----------
        people : People
            Targets, groups and weights.

        Returns
        -------
        table : EventTable
        """
        everyone, cells, membership = self._membership(people)
        names = [(cell, name) for cell in cells for name in everyone.names]
        return EventTable(names, np.bincount(membership.indices, minlength=len(names)))

    def _membership(self, people):
        """Groups, cells within which they are compared, and who belongs to which event."""
        groups = people.groups
        everyone = groups.memberships() if isinstance(groups, Groups) else groups
        cells = self._cells(people.target)
        columns = [everyone.matrix.multiply(inside[:, np.newaxis]) for inside in cells.values()]
        membership = sparse.csr_array(sparse.hstack(columns))
        membership.eliminate_zeros()
        return everyone, cells, membership

    @property
    def at_one_threshold(self):
        """Whether decisions at one threshold are compared."""
        return self.criterion in AT_ONE_THRESHOLD

    @property
    def _by_class(self):
        return self.criterion in ("equal_opportunity", "equalized_odds")

    @property
    def _ranks_in_groups(self):
        return self._by_class and self.rank_within == "group"

    def _cells(self, target):
        """Sets of samples whose groups are compared, by name."""
        if not self._by_class:
            return {"": np.ones(len(target), dtype=bool)}
        cells = {"positive class": target > 0}
        if self.criterion == "equalized_odds":
            cells["negative class"] = target <= 0
        return cells

    def grid_of(self, tolerances):
        """Positions of the percentiles in their interval, (n_percentiles,).

        Parameters
        ----------
        tolerances : ndarray of shape (n_events,)
            Largest differences, in units of the intervals.
        """
        if self.grid == "inclusive":
            return np.linspace(0.0, 1.0, self.n_percentiles)
        end = max(0.0, 1.0 - tolerances.max())
        return np.linspace(0.0, end, self.n_percentiles, endpoint=False)


def _ranked_in_events(positions, of_groups, members, scores):
    """Which percentiles of an event rank in the interval of its group, at the given scores."""
    found = []
    for event, position in enumerate(positions):
        group = event % of_groups.n_events
        flat = position.pairs.ravel()
        thresholds = of_groups.quantiles(group, scores, flat)
        samples, shares = members.of_event(event)
        above = np.array([shares[scores[samples] > threshold].sum() for threshold in thresholds])
        above[flat <= 0.0], above[flat >= 1.0] = 0.0, 1.0
        found.append(Position(above.reshape(-1, 2)))
    return found


def _check_sizes(table, positions):
    selected = table.counts * np.array([position.width for position in positions])
    small = np.flatnonzero(selected < _LEAST_SELECTED)
    if len(small):
        named = [(*table.names[e], selected[e]) for e in small[:10]]
        listing = ", ".join(
            f"{cell + ' of ' if cell else ''}group {name!r} ({size:.0f})"
            for cell, name, size in named
        )
        raise ValueError(
            f"Every group needs at least {_LEAST_SELECTED} samples in the interval, but there are "
            f"fewer in {len(small)} of {len(selected)}: {listing}. Widen the interval, or merge or "
            "leave out small groups."
        )
