"""Criteria on an interval of percentiles: their gap, ranks, rows, estimates and report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.exceptions import UndefinedMetricWarning

from skfair._bound.convex import CONVEX_MEANS, MeanExcess, PairRows, ShareRows
from skfair._bound.gap import GapBase
from skfair._bound.units import USER_UNIT
from skfair._groups import Samples
from skfair._groups.events import REPORT_COLUMNS, CellEvents, Events, cell_events
from skfair._statistics.areas import AUCs, ShareCurves, curve_contrasts
from skfair._statistics.gaps import CurvePosterior, cluster_effects_and_correlation, kish_sizes
from skfair._utils.checks import join_names, mute_warnings, refuse_clusters
from skfair.metrics._partial import collect_members

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from skfair._bound.bound import BoundConstraint
    from skfair._bound.convex import ConvexMeans
    from skfair.metrics._partial import Members, ScoredMembers


# .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
#    percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.


# Intervals of percentiles, and gaps on them.


PERCENTILE_TOLERANCE = 1e-9
"""Percentiles nearer than this count as equal: to an end of a pair, or to 0 or 1."""

_MIN_INTERVAL_SAMPLES = 20
"""Samples that each event needs in its interval: fewer would be overfitted."""


@dataclass(frozen=True, eq=False)
class PercentileInterval:
    """A union of ascending, disjoint pairs of percentiles, (n_pairs, 2), and positions in it.

    The interval begins at position 0 and ends at position 1.
    """

    pairs: np.ndarray

    @property
    def width(self) -> float:
        """Share of all samples that lies in the interval."""
        return float(np.diff(self.pairs).sum())

    def percentile_at(self, position: np.ndarray | float, side: str) -> np.ndarray | float:
        """Percentile at a position, which beyond 1 goes on past the interval.

        Where one pair ends and the next begins, "left" gives the end and "right" the beginning.
        """
        ends = np.cumsum(np.diff(self.pairs))
        reached = np.asarray(position) * self.width
        # The guard decides to which of two pairs the position between them belongs.
        pair = np.searchsorted(
            ends[:-1],
            reached + (PERCENTILE_TOLERANCE if side == "right" else -PERCENTILE_TOLERANCE),
        )
        return self.pairs[pair, 1] + reached - ends[pair]

    def position_of(self, percentiles: np.ndarray | list[float]) -> np.ndarray:
        """Position of percentiles; 0 before the interval begins, 1 after its end."""
        # How much of each pair lies before the percentile, over the width of all pairs.
        begin, end = self.pairs.T
        reached = np.clip(np.asarray(percentiles)[..., np.newaxis], begin, end) - begin
        return reached.sum(axis=-1) / self.width


@dataclass(frozen=True)
class IntervalGap(GapBase):
    """The gap of a criterion on ranks, which is no function of means.

    ``criterion`` is the `PartialParity`; enforcement may narrow or refine it. ``metric`` is its
    public metric, of `ScoredMembers`.
    """

    criterion: Any
    metric: Callable

    compares = "groups"
    form = "gap"

    @classmethod
    def from_cells(cls, cells: CellEvents, constraint: Any) -> IntervalGap:
        # The criterion itself knows how ranks are compared.
        return cls(constraint, constraint._metric())

    def __call__(self, means: ScoredMembers) -> float:
        # Unknown rates give nan; the estimator's own message says what to do.
        with mute_warnings(UndefinedMetricWarning):
            return self.metric(means)

    @property
    def is_correctable(self) -> bool:
        """Whether an offset makes the rows count decisions, at one threshold."""
        return self.criterion.is_correctable

    @property
    def adds_up(self) -> bool:
        """Whether the rows of partitions add up."""
        return self.criterion.adds_up


# Criteria on an interval of percentiles, bound to samples.


def _count_in_intervals(sums: RankSums) -> np.ndarray:
    """Samples of the events in their intervals: at most, if that depends on unknown scores."""
    sizes = sums.cells.counts * sums.widths
    if sums.scores is not None or not sums.ranks_in_groups:
        return sizes
    groups = sums.samples.groups
    of_groups = np.array([groups.counts[groups.names.index(one)] for _, one in sums.cells.labels])
    return np.minimum(sums.cells.counts, of_groups * sums.widths)


@dataclass(frozen=True, eq=False)
class RankSums:
    """What criteria on an interval of percentiles take from scores: ranks within events.

    Rows suit scores near those where the events are linearised: these say on which side of an
    interval the rates at one threshold lie, and how many of a class rank in the interval of their
    group. The methods are those of `Sums`; gaps are `IntervalGap`.

    Attributes
    ----------
    name : str
        Name in messages and reports.
    samples : Samples
        Targets, groups and weights.
    cells : CellEvents
        Every group within every cell, with labels, counts and order in reports.
    find_cells : callable
        Samples -> masks of the cells, as `Constraint.cells`.
    group_intervals : list of ndarray, one per group, each of shape (n_pairs, 2)
        The interval.
    ranks_in_groups : bool
        Whether these are ranks in the whole group, of which an event is one class. The scores then
        say which percentiles of the class they are.
    scores : ndarray of shape (n_samples,) or None
        Where the criterion is linearised.
    """

    name: str
    samples: Samples
    cells: CellEvents
    find_cells: Callable
    group_intervals: list
    ranks_in_groups: bool = False
    scores: np.ndarray | None = None

    metric_input, unit = "ranks", USER_UNIT

    @property
    def events(self) -> Events:
        """Events that are compared."""
        return self.cells.events

    @cached_property
    def intervals(self) -> list[PercentileInterval]:
        """`PercentileInterval` of each event, by the scores where ranks are those in groups."""
        groups = self.samples.groups
        names = self.samples.groups.names
        numbers = [names.index(group) for _, group in self.cells.labels]
        intervals = [PercentileInterval(self.group_intervals[group]) for group in numbers]
        if self.scores is None or not self.ranks_in_groups:
            return intervals
        # Ranks among all members of a group, of which the event holds a class.
        of_groups = Events.overlapping(groups.matrix, self.samples.weights)
        return [
            _to_event_interval(self, interval, (of_groups, group), event)
            for event, (interval, group) in enumerate(zip(intervals, numbers, strict=True))
        ]

    @cached_property
    def widths(self) -> np.ndarray:
        """Width of each interval, (n_events,)."""
        return np.array([interval.width for interval in self.intervals])

    @cached_property
    def members(self) -> Members:
        """`Members` of the groups, by which gaps are measured."""
        samples = self.samples
        return collect_members(
            samples.groups, samples.weights, self.group_intervals, samples.target > 0
        )

    def measure(self, scores: np.ndarray) -> ScoredMembers:
        """What a criterion measures: `ScoredMembers`."""
        return self.members.score(scores)

    def make_rows(self, bound: BoundConstraint) -> ShareRows | PairRows | None:
        """The rows that solvers see; None of a single group, which is compared with none."""
        criterion = bound.gap.criterion
        if len(self.samples.groups.names) == 1:
            return None
        if self.ranks_in_groups:
            refuse_small_intervals(self)
        rows = rows_of_criterion(self, criterion, bound.tolerance)
        if isinstance(rows, PairRows) or not criterion.is_correctable:
            return rows
        # Smooth shares plus the offset count decisions; the bounds move the other way.
        return replace(rows, lower=rows.lower - bound.offset, upper=rows.upper - bound.offset)

    def linearize_at(self, scores: np.ndarray) -> RankSums:
        """The same events, at other scores; at unknown ones if there are none."""
        return replace(self, scores=scores if len(scores) else None)

    def take(self, rows: np.ndarray) -> RankSums:
        """The same on a subset, ranked among its samples; a ValueError if it is too small."""
        samples = self.samples
        groups = self.samples.groups.take(rows)
        if len(groups.names) < len(samples.groups.names):
            raise ValueError("Every group needs a sample in the subset; draw more.")
        scores = None if self.scores is None else self.scores[rows]
        subset = Samples(samples.target[rows], groups, samples.weights[rows])
        taken = replace_samples(self, subset, self.group_intervals, scores)
        refuse_small_intervals(taken)
        return taken

    def contribution(
        self,
        rows: np.ndarray | slice,
        factors: np.ndarray | float = 1.0,
        target: np.ndarray | None = None,
    ) -> RankSums:
        """The contribution of a block, as in `Events.contribution`; rows of blocks add up."""
        samples = self.samples
        target = samples.target[rows] if target is None else target
        groups = samples.groups.subset(rows).copy_with_multiplicity(None)  # rows may repeat
        subset = Samples(target, groups, samples.weights[rows] * factors)
        cells = self.cells._replace(events=self.events.contribution(rows, factors))
        return replace(self, samples=subset, cells=cells)

    def report_columns(
        self, bound: BoundConstraint, scores: Any, moments: tuple[Any, ...] | None
    ) -> dict[str, list | np.ndarray]:
        """Columns of the report: one entry per event and threshold that is compared.

        The rate is the share of those in the interval that score above the threshold. Criteria at
        one threshold have that one; others have thresholds midway between the groups' percentiles.
        Instead of scores, `moments` are gap, thresholds and the sums of `share_moments`.
        """
        if moments is not None:
            return make_share_report(bound, moments)
        thresholds = report_thresholds(self, bound.gap.criterion, bound.tolerance, scores)
        moments = bound.value(scores), thresholds, share_moments(bound, scores, thresholds)
        return make_share_report(bound, moments)

    def estimates(
        self, gap: IntervalGap, scores: np.ndarray
    ) -> tuple[ShareCurves | AUCs, sparse.csr_array]:
        """Estimates of the numbers that are compared, and the forms whose largest is the gap."""
        refuse_clusters(self.cells.clusters, self.name)
        if gap.criterion.compares_pairs:
            return estimate_rank_areas(self, scores)
        return estimate_curves(self, gap.criterion, scores)

    def posterior(
        self, gap: IntervalGap, tolerance: float, scores: np.ndarray, clusters: np.ndarray | None
    ) -> CurvePosterior:
        """Posterior of the population's gap."""
        criterion = gap.criterion
        if criterion.compares_pairs:
            raise ValueError(
                f"confidence_level cannot be guaranteed for {self.name}, which compares pairs of "
                "samples and not rates; pass confidence_level=None, or a criterion on rates."
            )
        # Shares of the groups above the thresholds of the comparison, by effective sample sizes.
        ranked = self.linearize_at(scores)
        # The posterior of a gap compares the shares of groups at 41 thresholds.
        thresholds = report_thresholds(ranked, criterion, tolerance, scores, n_positions=41)
        above, _ = _event_moments(ranked, scores, thresholds)
        sizes = kish_sizes(self.events)
        if clusters is not None:  # the threshold at which clusters matter most
            effects = [
                cluster_effects_and_correlation(
                    self.events, (scores > threshold).astype(float), clusters
                )[0]
                for threshold in thresholds
            ]
            sizes = sizes / np.max(effects, axis=0)
        units = 1.0 / interval_tolerances(ranked, criterion, 1.0)
        return CurvePosterior(above, sizes, ranked.intervals, units, cell_codes(ranked), tolerance)


def refuse_small_intervals(sums: RankSums) -> None:
    """Raise for events with too few samples in their intervals."""
    sized = [*zip(sums.cells.labels, _count_in_intervals(sums), strict=True)]
    # Empty cells of groups are too small as well, unless held-out data leave them out.
    if sums.samples.where is None:
        sized += [(label, 0.0) for label in sums.cells.empty]
    small = [(label, size) for label, size in sized if size < _MIN_INTERVAL_SAMPLES]
    if not small:
        return
    named = [
        f"{'' if cell == 'all' else f'{cell} of '}group {group!r} ({size:.0f})"
        for (cell, group), size in small
    ]
    is_of_scores = sums.ranks_in_groups and sums.scores is not None
    other = " rank samples within their class (rank_within='class')," * is_of_scores
    raise ValueError(
        f"Every group needs at least {_MIN_INTERVAL_SAMPLES} samples in the interval, but "
        "there are "
        f"fewer in {len(small)} of {len(sized)}: {join_names(named)}. Widen the interval,"
        f"{other} or merge or leave out small groups (min_group_size)."
    )


def _to_event_interval(
    sums: RankSums, interval: PercentileInterval, of_group: tuple[Events, int], event: int
) -> PercentileInterval:
    """Percentiles of an event whose members rank in an interval of their group."""
    # Thresholds at the ends of the interval in the group, and shares of the event above them.
    flat = interval.pairs.ravel()
    groups, group = of_group
    thresholds = groups.upper_quantiles(group, sums.scores, flat)  # type: ignore[arg-type]
    positions, shares = sums.events.members(event)
    event_scores = sums.scores[positions]  # type: ignore[index]
    above = np.array([shares[event_scores > threshold].sum() for threshold in thresholds])
    above[flat <= 0.0] = 0.0
    above[flat >= 1.0] = 1.0
    return PercentileInterval(above.reshape(-1, 2))


def replace_samples(
    sums: RankSums, samples: Samples, intervals: list[np.ndarray], scores: np.ndarray | None
) -> RankSums:
    """The same events of other samples, with their intervals, linearised at their scores."""
    cells = cell_events(sums.find_cells(samples), samples, samples.groups)
    return replace(sums, samples=samples, cells=cells, group_intervals=intervals, scores=scores)


def _event_moments(
    sums: RankSums, scores: np.ndarray, thresholds: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Shares above thresholds, (n_events, n_thresholds), and sums of squared shares.

    Those of partitions add up.
    """
    members = [sums.events.members(event) for event in range(sums.events.n_events)]
    above = [(scores[rows] > thresholds[:, np.newaxis]) @ shares for rows, shares in members]
    return np.array(above), np.array([shares @ shares for _, shares in members])


# Rows of criteria: the shares that they bound, between which percentiles.


def rows_of_criterion(
    ranked: RankSums, criterion: BaseEstimator, tolerance: float
) -> ShareRows | PairRows:
    """The rows that bound a criterion, as `ShareRows` or `PairRows`.

    Those at one threshold suit the scores of `ranked`.
    """
    width = criterion.width
    if criterion.compares_pairs:
        # Every event is a group, as there is one cell with all samples.
        percentiles = [interval.pairs for interval in ranked.intervals]
        return PairRows(ranked.events, percentiles, width, float(tolerance))
    tolerances = interval_tolerances(ranked, criterion, tolerance)
    convex_means = CONVEX_MEANS[criterion.surrogate]
    if not criterion.is_correctable:
        positions = np.linspace(0.0, 1.0, criterion.n_percentiles)
        return rows_at_percentiles(ranked, tolerances, positions, width, convex_means)  # type: ignore[type-abstract]
    if ranked.scores is None:
        raise ValueError(
            f"Rows of {ranked.name} depend on the scores near which they are used, but there are "
            "none; call linearize_at(scores) first."
        )
    return rows_at_threshold(ranked, tolerances, criterion.threshold, width, convex_means)


def report_thresholds(
    ranked: RankSums,
    criterion: BaseEstimator,
    tolerance: float,
    scores: np.ndarray,
    n_positions: int | None = None,
) -> np.ndarray:
    """Thresholds of reports: that of decisions, or midway between the percentiles of the groups.

    The latter are those from which rows of shares would start, at so many positions in the
    interval; None takes those of the rows.
    """
    if criterion.is_correctable:
        return np.array([criterion.threshold])
    tolerances = interval_tolerances(ranked, criterion, tolerance)
    positions = np.linspace(0.0, 1.0, n_positions or criterion.n_percentiles)
    rows = rows_at_percentiles(ranked, tolerances, positions, criterion.width, MeanExcess)
    return rows.initial_aux(scores)


def interval_tolerances(ranked: RankSums, criterion: BaseEstimator, tolerance: float) -> np.ndarray:
    """The tolerance in units of the interval of each event, (n_events,)."""
    # Raw differences are in units of the whole group, of which the interval is a share.
    if criterion.scale == "raw":
        return tolerance / ranked.widths
    return np.full(len(ranked.widths), tolerance)


def _percentiles_at(ranked: RankSums, positions: np.ndarray, side: str) -> np.ndarray:
    """Percentiles of each event at positions of its own or common ones."""
    paired = zip(ranked.intervals, positions, strict=True)
    return np.array([interval.percentile_at(position, side) for interval, position in paired])


def cell_codes(ranked: RankSums) -> np.ndarray:
    """Code of the cell of each event, (n_events,): those of one cell are compared."""
    codes = np.empty(ranked.events.n_events, dtype=int)
    for number, block in enumerate(ranked.cells.blocks):
        codes[list(block)] = number
    return codes


def rows_at_percentiles(
    ranked: RankSums,
    tolerances: np.ndarray,
    positions: np.ndarray,
    width: float,
    convex_means: type[ConvexMeans],
) -> ShareRows:
    """Rows ``p <= S_e <= p + tolerance`` at free thresholds, for all events (as [1]_, (15)).

    `ranked` are `RankSums`, with a tolerance each in units of its interval; `positions`,
    (n_thresholds,), are those of the percentiles p in the intervals.
    """
    # Percentiles of the bounds, and between them those where the thresholds start.
    events = ranked.events
    tolerances = tolerances[:, np.newaxis]
    n = len(positions)
    lower = _percentiles_at(ranked, positions + 0.0 * tolerances, "left")
    upper = _percentiles_at(ranked, positions + tolerances, "right")
    middle = _percentiles_at(ranked, positions + tolerances / 2, "left")
    middle = np.clip(middle, 0.0, 1.0)

    def midpoints(scores: np.ndarray) -> np.ndarray:
        if not np.ptp(scores):  # quantiles of equal scores do not say where a ramp must stand
            return scores[0] - width * convex_means.inverse_surrogate(middle.mean(axis=0))
        quantiles = [events.upper_quantiles(e, scores, levels) for e, levels in enumerate(middle)]
        return (np.min(quantiles, axis=0) + np.max(quantiles, axis=0)) / 2

    return ShareRows(
        events,
        width,
        origin=np.zeros(n),
        threshold_jacobian=np.eye(n),
        aux_jacobian=np.zeros((lower.size, n)),
        lower=np.where(lower > PERCENTILE_TOLERANCE, lower, -np.inf).ravel(),
        upper=np.where(upper < 1.0 - PERCENTILE_TOLERANCE, upper, np.inf).ravel(),
        initial_aux=midpoints,
        convex_means=convex_means,
    )


def rows_at_threshold(
    ranked: RankSums, tolerances: np.ndarray, threshold: float, width: float, convex_means: Any
) -> ShareRows:
    """Rows of one case of (21), (50) or (56) of [1]_: bounds on differences inside intervals.

    Cut off at its interval, a share differs from the others by the tolerance at most in three
    cases: all lie between a free level and that level plus the tolerance, or all below the
    beginning of their intervals plus the tolerance, or all above their ends minus the tolerance.
    Each block has the case for which the fewest samples would have to change sides at the scores of
    `ranked`: the distance of a share alone does not say what the case costs, if its group is small.
    """
    # Shares below the ceiling, or above the floor, are all near one end of their interval.
    events = ranked.events
    scores = ranked.scores
    widths = ranked.widths
    begin = np.array([interval.pairs[0, 0] for interval in ranked.intervals])
    ceiling = _percentiles_at(ranked, tolerances, "right")
    floor = _percentiles_at(ranked, 1.0 - tolerances, "left")
    lower = np.full(len(begin), -np.inf)
    upper = np.full(len(begin), np.inf)
    # Weight of each event in its interval.
    rows, members, _ = events.memberships
    weights = ranked.samples.weights[rows]
    selected = np.bincount(members, weights, events.n_events) * widths

    def share_positions(scores: np.ndarray) -> np.ndarray:
        """Positions of the shares in their intervals."""
        breakpoints = threshold + width * np.array([-0.5, 0.5])
        convex = convex_means(events, scores, breakpoints, convex_means.rounding * width)
        return (convex.values @ [1.0, -1.0] / width - begin) / widths

    # Choose a case for each block.
    positions = share_positions(scores)  # type: ignore[arg-type]
    with_level = []
    shares = _Shares(
        positions=positions,
        tolerances=tolerances,
        begin=begin,
        widths=widths,
        floor=floor,
        ceiling=ceiling,
        selected=selected,
    )
    codes = cell_codes(ranked)
    for block in np.unique(codes):
        in_block = codes == block
        lower[in_block], upper[in_block], has_level = shares.restrict(in_block).cheapest_case()
        if has_level:
            with_level.append(in_block)
    # One free level per block of that case, in units of the widths of its intervals.
    by_level = np.reshape(with_level, (-1, len(begin))).T * widths[:, np.newaxis]

    def initial_levels(scores: np.ndarray) -> np.ndarray:
        # Half-way between the lowest level that the highest share allows, and the lowest share.
        positions = share_positions(scores)
        ends = [
            positions[in_block].min() + positions[in_block].max() - tolerances[in_block].min()
            for in_block in with_level
        ]
        return np.array(ends, dtype=float) / 2

    return ShareRows(
        events,
        width,
        origin=np.array([threshold]),
        threshold_jacobian=np.zeros((1, len(with_level))),
        aux_jacobian=-by_level,
        lower=lower,
        upper=upper,
        initial_aux=initial_levels,
        convex_means=convex_means,
    )


class _Shares(NamedTuple):
    """Shares of events above a threshold, which have to keep tolerances in their intervals."""

    positions: np.ndarray  # of the shares in their intervals, from 0 to 1
    tolerances: np.ndarray
    begin: np.ndarray  # of the intervals
    widths: np.ndarray
    floor: np.ndarray  # of the shares that are all near the end of their interval, or above it
    ceiling: np.ndarray  # of those that are all near its beginning, or below it
    selected: np.ndarray  # weight of the samples that change sides from beginning to end

    def restrict(self, in_block: np.ndarray) -> _Shares:
        """The shares of the events of a block."""
        return _Shares._make(column[in_block] for column in self)

    def cheapest_case(self) -> tuple:
        """Bounds of the case of fewest samples that change sides; whether it has a free level."""
        positions, tolerances, begin, widths, floor, ceiling, selected = self
        # The best level has a share at it, or a tolerance above it.
        levels = np.concatenate((positions, positions - tolerances))[:, np.newaxis]
        # Distance of each share from the bounds of the case, 0 inside.
        off = (
            np.maximum(levels - positions, positions - levels - tolerances),
            [positions - (ceiling - begin) / widths],
            [(floor - begin) / widths - positions],
        )
        cases = (
            (begin, begin + tolerances * widths, True),  # between a level and a tolerance above it
            (-np.inf, ceiling, False),  # all near the beginning, or below
            (floor, np.inf, False),  # all near the end, or above
        )
        # Samples that change sides, minimised over the levels.
        moved = [(np.maximum(0.0, one) @ selected).min() for one in off]
        return cases[np.argmin(moved)]


# Estimates of the population's gap on an interval of percentiles.


_MAX_THRESHOLDS = 2000
"""Thresholds up to which each distinct score is one."""


def estimate_curves(
    sums: RankSums, criterion: BaseEstimator, scores: np.ndarray
) -> tuple[ShareCurves, sparse.csr_array]:
    """Shares above thresholds as positions in the interval, and their differences.

    `scores` do not depend on these samples. A class whose members rank in their whole group is
    refused: its share of the interval is no share of a number that is known beforehand.
    """
    if sums.ranks_in_groups:
        raise ValueError(
            f"{sums.name} ranks samples among their whole group and compares a class of them: no "
            'limit is known of that. Rank within the class, with rank_within="class".'
        )
    thresholds, lag = _compared_thresholds(criterion, scores)
    events = sums.events
    shares = np.array(
        [_shares_above(*events.members(e), scores, thresholds) for e in range(events.n_events)]
    )
    sizes = kish_sizes(events)
    forms = curve_contrasts(sums.cells.blocks, len(shares), len(thresholds), lag)
    is_raw = criterion.scale == "raw"
    # Raw differences count where the rank of either group may lie in its interval.
    if is_raw and not criterion.is_correctable:
        may_count = _make_overlap_test([interval.pairs for interval in sums.intervals])
        return ShareCurves(shares, sizes, lambda values: values, may_count), forms
    units = sums.widths if is_raw else np.ones(len(shares))

    def map_to_interval(values: np.ndarray) -> np.ndarray:
        of_events = zip(sums.intervals, units, values, strict=True)
        return np.array([unit * interval.position_of(share) for interval, unit, share in of_events])

    return ShareCurves(shares, sizes, map_to_interval), forms


def _compared_thresholds(criterion: BaseEstimator, scores: np.ndarray) -> tuple[np.ndarray, int]:
    """Thresholds of the comparison, descending, and by how many the larger one may lie ahead."""
    if criterion.is_correctable:
        return np.array([criterion.decision_threshold]), 0
    distinct = np.append(np.unique(scores)[::-1], -np.inf)
    if len(distinct) <= _MAX_THRESHOLDS:
        return distinct, 0
    # Between two thresholds that are left out, a difference is one of shares one step apart.
    chosen = np.unique(np.linspace(0, len(distinct) - 1, _MAX_THRESHOLDS).astype(int))
    return distinct[chosen], 1


def _shares_above(
    rows: np.ndarray, shares: np.ndarray, scores: np.ndarray, thresholds: np.ndarray
) -> np.ndarray:
    """Share of an event above descending thresholds."""
    order = np.argsort(-scores[rows], kind="stable")
    # Cumulative shares by descending score; scores equal to a threshold are not above it.
    reached = np.append(0.0, np.cumsum(shares[order]))
    above = np.searchsorted(-scores[rows][order], -thresholds, side="left")
    return np.minimum(reached[above], 1.0)


def _make_overlap_test(
    intervals: list[np.ndarray],
) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Function of two limits: whether a share between them may lie in the interval of its event."""

    def may_count(low: np.ndarray, high: np.ndarray) -> np.ndarray:
        inside = np.zeros(low.shape, dtype=bool)
        for event, pairs in enumerate(intervals):
            for begin, end in pairs:
                inside[event] |= (low[event] <= end) & (high[event] >= begin)
        return inside

    return may_count


def estimate_rank_areas(sums: RankSums, scores: np.ndarray) -> tuple[AUCs, sparse.csr_array]:
    """Probabilities that one group scores above another, less 1/2: one per pair, and both signs.

    `scores` do not depend on these samples. An interval that is not (0, 1) is refused: which
    members are inside depends on the sample.
    """
    if (sums.widths < 1.0).any():
        raise ValueError(
            f"{sums.name} compares samples that rank in an interval of a sample: a limit is known "
            "of it for the interval (0, 1) only. Certify partial_statistical_parity instead."
        )
    events = sums.events
    members_of = [rows for rows, _ in map(events.members, range(events.n_events))]
    # Each pair of groups is a sample of its own, of positives and negatives.
    pairs = [(a, b) for a in range(len(members_of)) for b in range(a)]
    sizes = np.array([(len(members_of[a]), len(members_of[b])) for a, b in pairs])
    positive = np.repeat(np.tile([True, False], len(pairs)), sizes.ravel())
    rows = np.concatenate([np.concatenate((members_of[a], members_of[b])) for a, b in pairs])
    ends = np.cumsum(sizes.sum(axis=1))[:-1]
    members = np.split(np.arange(len(rows)), ends)
    weights = sums.samples.weights
    areas = AUCs(positive, scores[rows], members, weights[rows], center=0.5)
    each = sparse.eye_array(len(pairs), format="csr")
    return areas, sparse.vstack((each, -each), format="csr")


# Reports, from moments that add up over partitions.


def share_moments(
    bound: BoundConstraint, scores: np.ndarray, thresholds: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Shares above thresholds and sums of squares of events, those of small groups below."""
    above, squares = _event_moments(bound.sums, scores, thresholds)
    if bound.uncompared is None:
        return above, squares
    others = _event_moments(bound.uncompared, scores, thresholds)
    return np.concatenate((above, others[0])), np.append(squares, others[1])


def make_share_report(bound: BoundConstraint, moments: tuple) -> dict[str, list | np.ndarray]:
    """One row per event and threshold of a criterion on ranks; those of small groups come last.

    `moments` are the gap, the thresholds, and a pair of the shares above them, (n_events,
    n_thresholds), and the sums of the squared weights of samples, (n_events,).
    """
    gap, thresholds, sums = moments
    shares = list(zip(*sums, strict=True))
    ranked = bound.sums
    n_compared = len(ranked.cells.labels)
    bounds = (gap, bound.tolerance)
    name = bound.name
    tables = [
        _share_columns(name, ranked, event, thresholds, shares[event], bounds)
        for event in ranked.cells.report_order
    ]
    if others := shares[n_compared:]:
        ranked = bound.uncompared
        bounds = (np.nan, np.nan)
        tables += [
            _share_columns(name, ranked, event, thresholds, others[event], bounds)
            for event in ranked.cells.report_order
        ]
    return {name: [one for event in tables for one in event[name]] for name in REPORT_COLUMNS}


def _share_columns(
    name: str,
    ranked: RankSums,
    event: int,
    thresholds: np.ndarray,
    sums: tuple[np.ndarray, float],
    bounds: tuple[float, ...],
) -> dict[str, Any]:
    """Columns of the report of an event, with one entry per threshold."""
    (above, squares) = sums
    (gap, tolerance) = bounds
    cell, group = ranked.cells.labels[event]
    interval = ranked.intervals[event]
    # Standard error of a share, by the variance of a binary decision.
    errors = np.sqrt(np.maximum(0.0, above * (1.0 - above)) * squares)
    n_rows = len(thresholds)
    return {
        "event": [cell] * n_rows,
        "group": [group] * n_rows,  # it may be a tuple of attributes
        "estimate": interval.position_of(above),
        "n": [int(ranked.cells.counts[event])] * n_rows,
        "standard_error": errors / interval.width,
        "constraint": [name] * n_rows,
        "threshold": thresholds,
        "gap": [float(gap)] * n_rows,
        "tolerance": [float(tolerance)] * n_rows,
    }
