"""Events of samples that are compared in an interval of percentiles."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from skfair.constraints._cells import CellEvents, cell_events
from skfair.groups import Events, Samples
from skfair.utils._messages import join_names

_MIN_SELECTED = 20
"""Samples that each event needs in its interval: fewer would be overfitted."""

_GUARD = 1e-9
"""Percentiles nearer than this to an end of a pair count as that end."""


class PercentileInterval:
    """A union of ascending, disjoint pairs of percentiles, (n_pairs, 2), and positions in it.

    The interval begins at position 0 and ends at position 1.
    """

    def __init__(self, pairs):
        self.pairs = pairs

    @property
    def width(self):
        """Share of all samples that lies in the interval."""
        return float(np.diff(self.pairs).sum())

    def percentile_at(self, position, side):
        """Percentile at a position, which beyond 1 goes on past the interval.

        Where one pair ends and the next begins, "left" gives the end and "right" the beginning.
        """
        ends = np.cumsum(np.diff(self.pairs))
        reached = np.asarray(position) * self.width
        # The guard decides to which of two pairs the position between them belongs.
        pair = np.searchsorted(ends[:-1], reached + (_GUARD if side == "right" else -_GUARD))
        return self.pairs[pair, 1] + reached - ends[pair]

    def position_of(self, percentiles):
        """Position of percentiles; 0 before the interval begins, 1 after its end."""
        # How much of each pair lies before the percentile, over the width of all pairs.
        begin, end = self.pairs.T
        reached = np.clip(np.asarray(percentiles)[..., np.newaxis], begin, end) - begin
        return reached.sum(axis=-1) / self.width


@dataclass(frozen=True, eq=False)
class RankedEvents:
    """Events, and the interval of percentiles in which their members are compared.

    Attributes
    ----------
    samples : Samples
        Targets, groups and weights.
    cells : CellEvents
        Every group within every cell.
    events : Events
        Those of the cells, or of a subset of the samples.
    percentiles : list of ndarray, one per group, each of shape (n_pairs, 2)
        The interval.
    ranks_in_groups : bool
        Whether these are ranks in the whole group, of which an event is one class. The scores then
        say which percentiles of the class they are.
    scores : ndarray of shape (n_samples,) or None
        Where the criterion is linearised.
    """

    samples: Samples
    cells: CellEvents
    events: Events
    percentiles: list
    ranks_in_groups: bool = False
    scores: np.ndarray | None = None

    @classmethod
    def from_criterion(cls, criterion, samples, percentiles, scores=None):
        """The events that a criterion compares."""
        cells = cell_events(criterion.cells(samples), samples, samples.groups)
        return cls(samples, cells, cells.events, percentiles, criterion.ranks_in_groups, scores)

    @property
    def labels(self):
        """Cell and group of each event."""
        return self.cells.labels

    @property
    def order(self):
        """Positions of the events in reports, (n_events,)."""
        return self.cells.order

    @property
    def counts(self):
        """Samples in each event, (n_events,)."""
        return self.cells.counts

    @cached_property
    def intervals(self):
        """`PercentileInterval` of each event, by the scores where ranks are those in groups."""
        groups = self.samples.groups
        numbers = [groups.names.index(group) for _, group in self.labels]
        intervals = [PercentileInterval(self.percentiles[group]) for group in numbers]
        if self.scores is None or not self.ranks_in_groups:
            return intervals
        # Ranks among all members of a group, of which the event holds a class.
        of_groups = Events.overlapping(groups.matrix, self.samples.weights)
        return [
            self._interval_in_group(interval, (of_groups, group), event)
            for event, (interval, group) in enumerate(zip(intervals, numbers, strict=True))
        ]

    def _interval_in_group(self, interval, of_group, event):
        """Percentiles of an event whose members rank in an interval of their group."""
        # Thresholds at the ends of the interval in the group, and shares of the event above them.
        flat = interval.pairs.ravel()
        groups, group = of_group
        thresholds = groups.quantiles(group, self.scores, flat)
        samples, shares = self.events.members(event)
        event_scores = self.scores[samples]
        above = np.array([shares[event_scores > threshold].sum() for threshold in thresholds])
        above[flat <= 0.0], above[flat >= 1.0] = 0.0, 1.0
        return PercentileInterval(above.reshape(-1, 2))

    @cached_property
    def widths(self):
        """Width of each interval, (n_events,)."""
        return np.array([interval.width for interval in self.intervals])

    @cached_property
    def blocks(self):
        """Code of the cell of each event, (n_events,): those of one cell are compared."""
        blocks = np.empty(len(self.labels), dtype=int)
        for number, block in enumerate(self.cells.blocks):
            blocks[list(block)] = number
        return blocks

    @property
    def totals(self):
        """Weight of each event, (n_events,)."""
        rows, events, _ = self.events.memberships
        return np.bincount(events, self.samples.weights[rows], len(self.labels))

    def percentiles_at(self, positions, side):
        """Percentiles of each event at positions of its own or common ones."""
        paired = zip(self.intervals, positions, strict=True)
        return np.array([interval.percentile_at(position, side) for interval, position in paired])

    def moments(self, scores, thresholds):
        """Shares above thresholds, (n_events, n_thresholds), and sums of squared shares.

        Those of partitions add up.
        """
        members = [self.events.members(event) for event in range(self.events.n_events)]
        above = [(scores[rows] > thresholds[:, np.newaxis]) @ shares for rows, shares in members]
        return np.array(above), np.array([shares @ shares for _, shares in members])

    def linearize_at(self, scores):
        """The same events linearised at other scores."""
        return replace(self, scores=scores)

    def subset(self, rows, factors=1.0, target=None):
        """A partition's share of the events, as in `Events.subset`."""
        samples = self.samples
        target = samples.target[rows] if target is None else target
        subset = Samples(target, samples.groups.subset(rows), samples.weights[rows] * factors)
        return replace(self, samples=subset, events=self.events.subset(rows, factors))

    def check_sizes(self):
        """Refuse events with too few samples in their intervals."""
        sized = [*zip(self.labels, self.counts * self.widths, strict=True)]
        # Empty cells of groups are too small as well.
        sized += [(label, 0.0) for label in self.cells.empty]
        small = [(label, size) for label, size in sized if size < _MIN_SELECTED]
        if not small:
            return
        named = [
            f"{'' if cell == 'all' else f'{cell} of '}group {group!r} ({size:.0f})"
            for (cell, group), size in small
        ]
        raise ValueError(
            f"Every group needs at least {_MIN_SELECTED} samples in the interval, but there are "
            f"fewer in {len(small)} of {len(sized)}: {join_names(named)}. Widen the interval, or "
            "merge or leave out small groups (min_group_size)."
        )
