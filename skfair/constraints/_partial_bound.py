"""Criteria on an interval of percentiles, bound to samples in memory or in partitions."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from skfair.constraints._constraint import CellEvents, cell_events
from skfair.constraints._partial_rows import PERCENTILE_TOLERANCE, cell_codes
from skfair.constraints._reports import make_share_report
from skfair.constraints._rows import StackedRows
from skfair.constraints._units import USER_UNIT
from skfair.groups import Groups, Samples
from skfair.groups._events import Events, is_in_intervals
from skfair.groups._groups import count_table
from skfair.statistics._estimates import AUCs, ShareCurves, curve_contrasts
from skfair.statistics._gaps import CurvePosterior, cluster_effects_and_correlation, kish_sizes
from skfair.utils._checks import join_names, refuse_clusters

# Intervals of percentiles.


_MIN_INTERVAL_SAMPLES = 20
"""Samples that each event needs in its interval: fewer would be overfitted."""


@dataclass(frozen=True, eq=False)
class PercentileInterval:
    """A union of ascending, disjoint pairs of percentiles, (n_pairs, 2), and positions in it.

    The interval begins at position 0 and ends at position 1.
    """

    pairs: np.ndarray

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
        pair = np.searchsorted(
            ends[:-1],
            reached + (PERCENTILE_TOLERANCE if side == "right" else -PERCENTILE_TOLERANCE),
        )
        return self.pairs[pair, 1] + reached - ends[pair]

    def position_of(self, percentiles):
        """Position of percentiles; 0 before the interval begins, 1 after its end."""
        # How much of each pair lies before the percentile, over the width of all pairs.
        begin, end = self.pairs.T
        reached = np.clip(np.asarray(percentiles)[..., np.newaxis], begin, end) - begin
        return reached.sum(axis=-1) / self.width


# Criteria at all thresholds on partitioned data: scores counted in bins, few of them gathered.
#
# A gap at all thresholds on an interval of percentiles depends on few samples: those around the
# ends of the interval, and those where groups differ most. All others may be counted, bin by bin of
# their scores. Bins that may hold what the gap depends on are divided until few samples are in
# them, which are then gathered one by one: the public metric of counts and samples is that of the
# full data.


_MAX_GATHERED = 1 << 16
"""Samples that are gathered one by one."""

_N_BINS = 1 << 12
"""Bins that are counted at a time, and about as many more whenever some of them are divided."""


def share_moments(bound, scores, thresholds):
    """Shares above thresholds and sums of squares of events, those of small groups below."""
    above, squares = _event_moments(bound.sums, scores, thresholds)
    if bound.uncompared is None:
        return above, squares
    others = _event_moments(bound.uncompared, scores, thresholds)
    return np.concatenate((above, others[0])), np.append(squares, others[1])


def condense(bound, scores, count, collect):
    """A constraint on few samples, and their scores, whose gap is that of the full data.

    The scores of a subsample give the first cuts. `count` maps cuts to the tables of
    `count_in_bins`, summed over all partitions; `collect` maps cuts and bins to a list with what
    `gather_from_bins` gives for each partition.
    """
    # Cuts between bins with about as many samples each, ascending.
    levels = np.linspace(0.0, 1.0, _N_BINS)
    cuts = np.unique(np.quantile(scores, levels, method="nearest"))
    while True:
        weights, scored, numbers = count(cuts)
        is_single = (numbers <= 1) | np.equal(*_ends(cuts))
        divisible = _relevant_bins(bound, weights, is_single)
        if numbers[divisible].sum() <= _MAX_GATHERED:
            break
        cuts = _divide_bins(cuts, divisible)
    # Each other bin stands for its events at its mean score, within its ends despite rounding.
    event, number = np.nonzero(weights * ~divisible)
    mean_scores = scored[number] / weights.sum(axis=0)[number]
    mean_scores = np.clip(mean_scores, *_ends(cuts)[:, number])
    pieces = [(mean_scores, event, weights[event, number])]
    if divisible.any():
        pieces += collect(cuts, divisible)
    scores, events, weights = map(np.concatenate, zip(*pieces, strict=True))
    return _bind_members(bound, events, weights), scores


def count_in_bins(sums, scores, cuts):
    """Weights, weighted scores and numbers of the samples of a block in bins of scores.

    `cuts` ascend; a bin is above one of them and up to the next. The three tables, of shapes
    (n_events, n_bins), (n_bins,) and (n_bins,), add up over partitions.
    """
    from skfair._kernels.scores import bin_members

    samples, events, _ = sums.events.memberships
    bins, n_bins = bin_members(scores, samples, cuts), len(cuts) + 1
    weights = sums.samples.weights[samples]
    table = count_table(events, bins, weights, sums.events.n_events, n_bins)
    scored = np.bincount(bins, weights * scores[samples], n_bins)
    return table, scored, np.bincount(bins, minlength=n_bins)


def gather_from_bins(sums, scores, cuts, wanted):
    """Score, event and weight of the samples of a block in the wanted bins."""
    from skfair._kernels.scores import bin_members

    samples, events, _ = sums.events.memberships
    inside = wanted[bin_members(scores, samples, cuts)]
    samples = samples[inside]
    return scores[samples], events[inside], sums.samples.weights[samples]


def _bind_members(bound, events, weights):
    """The constraint on other samples with given events and weights."""
    ranked = bound.sums
    names = np.arange(len(ranked.cells.labels)).astype(object)[:, np.newaxis]
    samples = Samples(np.ones(len(events)), Groups(names, codes=events), weights)
    # Events become groups of their own, each with the interval that is known for it.
    percentiles = [interval.pairs for interval in ranked.intervals]
    condensed = _replace_samples(ranked, samples, percentiles, ranked.scores)
    return replace(bound, sums=condensed, uncompared=None)


def _relevant_bins(bound, weights, is_single):
    """Bins that may hold an end of an interval, or where groups differ most, (n_bins,).

    `weights`, (n_events, n_bins), are those of every event in bins of ascending scores; a single
    bin holds samples of one score alone, and needs no division.
    """
    weights, is_single = weights[:, ::-1], is_single[::-1]  # ranks count from the highest score
    # Rank at every cut: the share of the event above it.
    up_to = np.pad(np.cumsum(weights, axis=1), ((0, 0), (1, 0)))
    ranks = up_to / up_to[:, -1:]
    pairs = [interval.pairs for interval in bound.sums.intervals]
    surely, perhaps = _interval_membership(ranks, pairs, is_single)
    if bound.gap.criterion.scale == "raw":
        # Shares of the whole group are known at every cut.
        has_end = np.zeros(len(is_single), dtype=bool)
        is_compared = perhaps.any(axis=0)
        low = high = ranks
        known = np.ptp(ranks, axis=0)[is_in_intervals(ranks, pairs).any(axis=0)]
    else:
        # Shares of the selected depend on how bins at the ends of the interval are divided.
        has_end = ((surely != perhaps) & (weights > 0)).any(axis=0)
        is_compared = np.ones(len(is_single), dtype=bool)
        low, high = _bound_shares_above(weights * surely, weights * perhaps)
        known = low.max(axis=0) - high.min(axis=0)
    # A bin matters if groups may differ in it by more than the difference known at some cut.
    possible = high[:, 1:].max(axis=0) - low[:, :-1].min(axis=0)
    is_largest = is_compared & (possible > known.max(initial=0.0))
    return (~is_single & (has_end | is_largest))[::-1]


def _interval_membership(ranks, pairs, is_single):
    """Whether all samples of every event and bin rank in its interval, and whether some may.

    The samples of a bin rank from what is above it on, and before what is up to it.
    """
    first, end = ranks[:, :-1], ranks[:, 1:]
    surely, perhaps = np.zeros((2, *first.shape), dtype=bool)
    for event, intervals in enumerate(pairs):
        for alpha, beta in intervals:
            beta = beta - PERCENTILE_TOLERANCE if beta < 1.0 else np.inf
            # Surely inside: the whole range of ranks is. Perhaps: it overlaps the interval.
            begun = first[event] >= alpha - PERCENTILE_TOLERANCE
            surely[event] |= begun & (end[event] <= beta)
            perhaps[event] |= (end[event] > alpha - PERCENTILE_TOLERANCE) & (first[event] < beta)
    # Equal scores share the rank of the first of them, and are selected all or none.
    of_one_rank = is_in_intervals(first, pairs)
    return np.where(is_single, of_one_rank, surely), np.where(is_single, of_one_rank, perhaps)


def _bound_shares_above(surely, perhaps):
    """Smallest and largest shares of the selected above every cut, two (n_events, n_bins + 1).

    The arguments are the weights of every event and bin that are surely, and perhaps, selected.
    """
    low, high = (np.pad(np.cumsum(one, axis=1), ((0, 0), (1, 0))) for one in (surely, perhaps))
    # The smallest share has no doubtful sample above the cut, and all of them below it.
    low_rest, high_rest = low[:, -1:] - low, high[:, -1:] - high
    lowest = np.divide(low, low + high_rest, out=np.zeros_like(low), where=low + high_rest > 0)
    highest = np.divide(high, high + low_rest, out=np.ones_like(high), where=high + low_rest > 0)
    return lowest, highest


def _divide_bins(cuts, divisible):
    """More cuts in the divisible bins, with as many floating-point numbers between any two."""
    # Divide by keys instead of numbers: scores may cluster in tiny ranges far from 0.
    low, high = _to_ordered_integers(_ends(cuts)[:, divisible])[:, :, np.newaxis] - [[[1]], [[0]]]
    n_pieces = max(2, _N_BINS // len(low))
    steps = np.maximum(1, high // n_pieces - low // n_pieces)  # their difference might overflow
    keys = np.minimum(low + steps * np.arange(1, n_pieces), high)
    return np.unique(np.append(cuts, _from_ordered_integers(keys.ravel())))


def _ends(cuts):
    """Smallest and largest number of every bin, which is above one cut and up to the next."""
    largest = np.finfo(np.float64).max
    return np.array((np.nextafter([-np.inf, *cuts], np.inf), [*cuts, largest]))


def _to_ordered_integers(numbers):
    """Integers in the order of numbers, such that neighbours differ by one."""
    # IEEE floats order as their bits do if positive, and in reverse if negative.
    bits = np.ascontiguousarray(numbers, dtype=np.float64).view(np.int64)
    return bits ^ ((bits >> 63) & np.iinfo(np.int64).max)


def _from_ordered_integers(keys):
    """The numbers with given keys."""
    return (keys ^ ((keys >> 63) & np.iinfo(np.int64).max)).view(np.float64)


# Estimates of the population's gap on an interval of percentiles.


_MAX_THRESHOLDS = 2000
"""Thresholds up to which each distinct score is one."""


def estimate_curves(sums, criterion, scores):
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

    def map_to_interval(values):
        of_events = zip(sums.intervals, units, values, strict=True)
        return np.array([unit * interval.position_of(share) for interval, unit, share in of_events])

    return ShareCurves(shares, sizes, map_to_interval), forms


def _compared_thresholds(criterion, scores):
    """Thresholds of the comparison, descending, and by how many the larger one may lie ahead."""
    if criterion.is_correctable:
        return np.array([criterion.decision_threshold]), 0
    distinct = np.append(np.unique(scores)[::-1], -np.inf)
    if len(distinct) <= _MAX_THRESHOLDS:
        return distinct, 0
    # Between two thresholds that are left out, a difference is one of shares one step apart.
    chosen = np.unique(np.linspace(0, len(distinct) - 1, _MAX_THRESHOLDS).astype(int))
    return distinct[chosen], 1


def _shares_above(rows, shares, scores, thresholds):
    """Share of an event above descending thresholds."""
    order = np.argsort(-scores[rows], kind="stable")
    # Cumulative shares by descending score; scores equal to a threshold are not above it.
    reached = np.append(0.0, np.cumsum(shares[order]))
    above = np.searchsorted(-scores[rows][order], -thresholds, side="left")
    return np.minimum(reached[above], 1.0)


def _make_overlap_test(intervals):
    """Function of two limits: whether a share between them may lie in the interval of its event."""

    def may_count(low, high):
        inside = np.zeros(low.shape, dtype=bool)
        for event, pairs in enumerate(intervals):
            for begin, end in pairs:
                inside[event] |= (low[event] <= end) & (high[event] >= begin)
        return inside

    return may_count


def estimate_rank_areas(sums, scores):
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


# Criteria on an interval of percentiles, bound to samples.


_N_CURVE_THRESHOLDS = 41
"""Thresholds at which the shares of groups are compared in the posterior of a gap."""


def _count_in_intervals(sums):
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
    def events(self):
        """Events that are compared."""
        return self.cells.events

    @cached_property
    def intervals(self):
        """`PercentileInterval` of each event, by the scores where ranks are those in groups."""
        groups, names = self.samples.groups, self.samples.groups.names
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
    def widths(self):
        """Width of each interval, (n_events,)."""
        return np.array([interval.width for interval in self.intervals])

    def check_sizes(self):
        """Raise for events with too few samples in their intervals."""
        sized = [*zip(self.cells.labels, _count_in_intervals(self), strict=True)]
        # Empty cells of groups are too small as well, unless held-out data leave them out.
        if self.samples.where is None:
            sized += [(label, 0.0) for label in self.cells.empty]
        small = [(label, size) for label, size in sized if size < _MIN_INTERVAL_SAMPLES]
        if not small:
            return
        named = [
            f"{'' if cell == 'all' else f'{cell} of '}group {group!r} ({size:.0f})"
            for (cell, group), size in small
        ]
        is_of_scores = self.ranks_in_groups and self.scores is not None
        other = " rank samples within their class (rank_within='class')," * is_of_scores
        raise ValueError(
            f"Every group needs at least {_MIN_INTERVAL_SAMPLES} samples in the interval, but "
            "there are "
            f"fewer in {len(small)} of {len(sized)}: {join_names(named)}. Widen the interval,"
            f"{other} or merge or leave out small groups (min_group_size)."
        )

    def measure(self, scores):
        """What a criterion measures: the samples, their intervals and scores."""
        return self.samples, self.group_intervals, scores

    def make_rows(self, bound):
        """The rows that solvers see; none for a single group."""
        criterion = bound.gap.criterion
        if len(self.samples.groups.names) == 1:
            return StackedRows(())
        if self.ranks_in_groups:
            self.check_sizes()
        rows = criterion._linear_rows(self, bound.tolerance)
        if not criterion.is_correctable:
            return rows
        # Smooth shares plus the offset count decisions; the bounds move the other way.
        return replace(rows, lower=rows.lower - bound.offset, upper=rows.upper - bound.offset)

    def linearize_at(self, scores):
        """The same events, at other scores."""
        return replace(self, scores=scores)

    def take(self, rows):
        """The same on a subset, ranked among its samples; a ValueError if it is too small."""
        samples, groups = self.samples, self.samples.groups.take(rows)
        if len(groups.names) < len(samples.groups.names):
            raise ValueError("Every group needs a sample in the subset; draw more.")
        scores = None if self.scores is None else self.scores[rows]
        subset = Samples(samples.target[rows], groups, samples.weights[rows])
        taken = _replace_samples(self, subset, self.group_intervals, scores)
        taken.check_sizes()
        return taken

    def contribution(self, rows, factors=1.0, target=None):
        """The contribution of a block, as in `Events.contribution`; rows of blocks add up."""
        samples = self.samples
        target = samples.target[rows] if target is None else target
        groups = samples.groups.subset(rows).copy_with_multiplicity(None)  # rows may repeat
        subset = Samples(target, groups, samples.weights[rows] * factors)
        cells = self.cells._replace(events=self.events.contribution(rows, factors))
        return replace(self, samples=subset, cells=cells)

    def report_columns(self, bound, scores, moments):
        """Columns of the report: one entry per event and threshold that is compared.

        The rate is the share of those in the interval that score above the threshold. Criteria at
        one threshold have that one; others have thresholds midway between the groups' percentiles.
        Instead of scores, `moments` are gap, thresholds and the sums of `share_moments`.
        """
        if moments is not None:
            return make_share_report(bound, moments)
        thresholds = bound.gap.criterion._thresholds(self, bound.tolerance, scores)
        moments = bound.value(scores), thresholds, share_moments(bound, scores, thresholds)
        return make_share_report(bound, moments)

    def estimates(self, gap, scores):
        """Estimates of the numbers that are compared, and the forms whose largest is the gap."""
        refuse_clusters(self.cells.clusters, self.name)
        if gap.criterion.compares_pairs:
            return estimate_rank_areas(self, scores)
        return estimate_curves(self, gap.criterion, scores)

    def posterior(self, gap, tolerance, scores, clusters):
        """Posterior of the population's gap."""
        criterion = gap.criterion
        if criterion.compares_pairs:
            raise ValueError(
                f"confidence_level cannot be guaranteed for {self.name}, which compares pairs of "
                "samples and not rates; pass confidence_level=None, or a criterion on rates."
            )
        # Shares of the groups above the thresholds of the comparison, by effective sample sizes.
        ranked = self.linearize_at(scores)
        thresholds = criterion._thresholds(ranked, tolerance, scores, _N_CURVE_THRESHOLDS)
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
        units = 1.0 / criterion._interval_tolerances(ranked, 1.0)
        return CurvePosterior(above, sizes, ranked.intervals, units, cell_codes(ranked), tolerance)


def _to_event_interval(sums, interval, of_group, event):
    """Percentiles of an event whose members rank in an interval of their group."""
    # Thresholds at the ends of the interval in the group, and shares of the event above them.
    flat = interval.pairs.ravel()
    groups, group = of_group
    thresholds = groups.upper_quantiles(group, sums.scores, flat)
    samples, shares = sums.events.members(event)
    event_scores = sums.scores[samples]
    above = np.array([shares[event_scores > threshold].sum() for threshold in thresholds])
    above[flat <= 0.0], above[flat >= 1.0] = 0.0, 1.0
    return PercentileInterval(above.reshape(-1, 2))


def _replace_samples(sums, samples, intervals, scores):
    """The same events of other samples, with their intervals, linearised at their scores."""
    cells = cell_events(sums.find_cells(samples), samples, samples.groups)
    return replace(sums, samples=samples, cells=cells, group_intervals=intervals, scores=scores)


def _event_moments(sums, scores, thresholds):
    """Shares above thresholds, (n_events, n_thresholds), and sums of squared shares.

    Those of partitions add up.
    """
    members = [sums.events.members(event) for event in range(sums.events.n_events)]
    above = [(scores[rows] > thresholds[:, np.newaxis]) @ shares for rows, shares in members]
    return np.array(above), np.array([shares @ shares for _, shares in members])
