"""Criteria at all thresholds on partitioned data: scores counted in bins, few of them gathered.

A gap at all thresholds on an interval of percentiles depends on few samples: those around the ends
of the interval, and those where groups differ most. All others may be counted, bin by bin of their
scores. Bins that may hold what the gap depends on are divided until few samples are in them, which
are then gathered one by one: the public metric of counts and samples is that of the full data.
"""

from dataclasses import replace

import numpy as np

from skfair.constraints.partial._ranked import RankedEvents
from skfair.groups import Groups, Samples, is_in_intervals
from skfair.utils._balance import count_table

_MAX_GATHERED = 1 << 16
"""Samples that are gathered one by one."""

_N_BINS = 1 << 12
"""Bins that are counted at a time, and about as many more whenever some of them are divided."""

_GUARD = 1e-9
"""How much a rank may be off an end of an interval and count as there, as in the metrics."""


def share_moments(bound, scores, thresholds):
    """`RankedEvents.moments` of what is compared and, below it, of small groups."""
    above, squares = bound.ranked.moments(scores, thresholds)
    if bound.uncompared is None:
        return above, squares
    others = bound.uncompared.moments(scores, thresholds)
    return np.concatenate((above, others[0])), np.append(squares, others[1])


class PartitionSums:
    """What partitions contribute to a criterion on ranks, and the full data's gap from it."""

    def __init__(self, bound):
        self.bound = bound

    def count(self, scores, cuts):
        """Weights, weighted scores and numbers of a partition's samples in bins of scores.

        `cuts` ascend; a bin is above one of them and up to the next. The three tables, of shapes
        (n_events, n_bins), (n_bins,) and (n_bins,), add up over partitions.
        """
        from skfair._kernels.percentile import bin_members

        samples, events, _ = self.bound.events.memberships
        bins, n_bins = bin_members(scores, samples, cuts), len(cuts) + 1
        weights = self.bound.ranked.samples.weights[samples]
        table = count_table(events, bins, weights, self.bound.events.n_events, n_bins)
        scored = np.bincount(bins, weights * scores[samples], n_bins)
        return table, scored, np.bincount(bins, minlength=n_bins)

    def gather(self, scores, cuts, wanted):
        """Score, event and weight of a partition's samples in the wanted bins."""
        from skfair._kernels.percentile import bin_members

        samples, events, _ = self.bound.events.memberships
        inside = wanted[bin_members(scores, samples, cuts)]
        samples = samples[inside]
        return scores[samples], events[inside], self.bound.ranked.samples.weights[samples]

    def moments(self, scores, thresholds):
        """What the report needs of a partition, as `share_moments`."""
        return share_moments(self.bound, scores, thresholds)

    def condense(self, scores, count, collect):
        """A constraint on few samples, and their scores, whose gap is that of the full data.

        The scores of a subsample give the first cuts. `count` maps cuts to the tables of `count`,
        summed over all partitions; `collect` maps cuts and bins to a list with what `gather` gives
        for each partition.
        """
        cuts = first_cuts(scores)
        while True:
            weights, scored, numbers = count(cuts)
            is_single = (numbers <= 1) | np.equal(*_ends(cuts))
            divisible = _relevant_bins(self.bound, weights, is_single)
            if numbers[divisible].sum() <= _MAX_GATHERED:
                break
            cuts = _divide(cuts, divisible)
        # Each other bin stands for its events at its mean score, within its ends despite rounding.
        event, number = np.nonzero(weights * ~divisible)
        mean_scores = scored[number] / weights.sum(axis=0)[number]
        mean_scores = np.clip(mean_scores, *_ends(cuts)[:, number])
        pieces = [(mean_scores, event, weights[event, number])]
        if divisible.any():
            pieces += collect(cuts, divisible)
        scores, events, weights = map(np.concatenate, zip(*pieces, strict=True))
        return self._bind_members(events, weights), scores

    def _bind_members(self, events, weights):
        """The constraint on other samples with given events and weights."""
        ranked = self.bound.ranked
        names = np.arange(len(ranked.labels)).astype(object)[:, np.newaxis]
        samples = Samples(np.ones(len(events)), Groups.disjoint(events, names), weights)
        # Events become groups of their own, each with the interval that is known for it.
        percentiles = [interval.pairs for interval in ranked.intervals]
        condensed = RankedEvents.from_criterion(
            self.bound.criterion, samples, percentiles, ranked.scores
        )
        return replace(self.bound, ranked=condensed, uncompared=None)


def first_cuts(scores):
    """Cuts between bins with about as many samples each, ascending."""
    return np.unique(np.quantile(scores, np.linspace(0.0, 1.0, _N_BINS), method="nearest"))


def _relevant_bins(bound, weights, is_single):
    """Bins that may hold an end of an interval, or where groups differ most, (n_bins,).

    `weights`, (n_events, n_bins), are those of every event in bins of ascending scores; a single
    bin holds samples of one score alone, and needs no division.
    """
    weights, is_single = weights[:, ::-1], is_single[::-1]  # ranks count from the highest score
    # Rank at every cut: the share of the event above it.
    up_to = np.pad(np.cumsum(weights, axis=1), ((0, 0), (1, 0)))
    ranks = up_to / up_to[:, -1:]
    pairs = [interval.pairs for interval in bound.ranked.intervals]
    surely, perhaps = _selection_bounds(ranks, pairs, is_single)
    if bound.criterion.scale == "raw":
        # Shares of the whole group are known at every cut.
        has_end = np.zeros(len(is_single), dtype=bool)
        is_compared = perhaps.any(axis=0)
        low = high = ranks
        known = np.ptp(ranks, axis=0)[is_in_intervals(ranks, pairs).any(axis=0)]
    else:
        # Shares of the selected depend on how bins at the ends of the interval are divided.
        has_end = ((surely != perhaps) & (weights > 0)).any(axis=0)
        is_compared = np.ones(len(is_single), dtype=bool)
        low, high = _bound_selected(weights * surely, weights * perhaps)
        known = low.max(axis=0) - high.min(axis=0)
    # A bin matters if groups may differ in it by more than the difference known at some cut.
    possible = high[:, 1:].max(axis=0) - low[:, :-1].min(axis=0)
    is_largest = is_compared & (possible > known.max(initial=0.0))
    return (~is_single & (has_end | is_largest))[::-1]


def _selection_bounds(ranks, pairs, is_single):
    """Whether all samples of every event and bin rank in its interval, and whether some may.

    The samples of a bin rank from what is above it on, and before what is up to it.
    """
    first, end = ranks[:, :-1], ranks[:, 1:]
    surely, perhaps = np.zeros((2, *first.shape), dtype=bool)
    for event, intervals in enumerate(pairs):
        for alpha, beta in intervals:
            beta = beta - _GUARD if beta < 1.0 else np.inf
            # Surely inside: the whole range of ranks is. Perhaps: it overlaps the interval.
            begun = first[event] >= alpha - _GUARD
            surely[event] |= begun & (end[event] <= beta)
            perhaps[event] |= (end[event] > alpha - _GUARD) & (first[event] < beta)
    # Equal scores share the rank of the first of them, and are selected all or none.
    of_one_rank = is_in_intervals(first, pairs)
    return np.where(is_single, of_one_rank, surely), np.where(is_single, of_one_rank, perhaps)


def _bound_selected(surely, perhaps):
    """Smallest and largest shares of the selected above every cut, two (n_events, n_bins + 1).

    The arguments are the weights of every event and bin that are surely, and perhaps, selected.
    """
    low, high = (np.pad(np.cumsum(one, axis=1), ((0, 0), (1, 0))) for one in (surely, perhaps))
    # The smallest share has no doubtful sample above the cut, and all of them below it.
    low_rest, high_rest = low[:, -1:] - low, high[:, -1:] - high
    lowest = np.divide(low, low + high_rest, out=np.zeros_like(low), where=low + high_rest > 0)
    highest = np.divide(high, high + low_rest, out=np.ones_like(high), where=high + low_rest > 0)
    return lowest, highest


def _divide(cuts, divisible):
    """More cuts in the divisible bins, with as many floating-point numbers between any two."""
    # Divide by keys instead of numbers: scores may cluster in tiny ranges far from 0.
    low, high = _to_keys(_ends(cuts)[:, divisible])[:, :, np.newaxis] - [[[1]], [[0]]]
    n_pieces = max(2, _N_BINS // len(low))
    steps = np.maximum(1, high // n_pieces - low // n_pieces)  # their difference might overflow
    keys = np.minimum(low + steps * np.arange(1, n_pieces), high)
    return np.unique(np.append(cuts, _from_keys(keys.ravel())))


def _ends(cuts):
    """Smallest and largest number of every bin, which is above one cut and up to the next."""
    largest = np.finfo(np.float64).max
    return np.array((np.nextafter([-np.inf, *cuts], np.inf), [*cuts, largest]))


def _to_keys(numbers):
    """Integers in the order of numbers, such that neighbours differ by one."""
    # IEEE floats order as their bits do if positive, and in reverse if negative.
    bits = np.ascontiguousarray(numbers, dtype=np.float64).view(np.int64)
    return bits ^ ((bits >> 63) & np.iinfo(np.int64).max)


def _from_keys(keys):
    """The numbers with given keys."""
    return (keys ^ ((keys >> 63) & np.iinfo(np.int64).max)).view(np.float64)
