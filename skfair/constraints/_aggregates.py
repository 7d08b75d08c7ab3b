"""How the means of events become one gap, and which rows keep that gap below a tolerance."""

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from scipy import sparse

from skfair.constraints._forms import check_forms, differences
from skfair.constraints._rows import GapRow, RowWriter


@dataclass(frozen=True)
class Range:
    """Largest minus smallest mean of each block of events; the largest over the blocks counts.

    Attributes
    ----------
    blocks : tuple of tuples of int
        Events compared with one another, two at least: for instance the groups' true positive
        rates in one block, their false positive rates in another.
    """

    blocks: tuple

    def _ranges(self, means):
        ranges = [np.ptp(means[list(block)], axis=0) for block in self.blocks]
        return np.reshape(ranges, (len(self.blocks), *means.shape[1:]))

    def gap(self, means):
        """The gap, of means of shape (n_events,) or of each column of (n_events, n_columns)."""
        return self._ranges(means).max(axis=0, initial=0.0)

    def subgradient(self, means):
        """A subgradient of the gap by the means."""
        return _range_slope([self.blocks[self._ranges(means).argmax()]], means)

    def shrunk(self, means, factor):
        """Means whose gap is so many times theirs: they move toward the middle of their block."""
        found = np.array(means)
        for block in map(list, self.blocks):
            middle = (means[block].max() + means[block].min()) / 2
            found[block] = middle + factor * (means[block] - middle)
        return found

    def unknowns(self, means):
        """A centre for each block of three events or more: the rows hold at it if they can."""
        return np.array([means[list(block)].min() for block in self.blocks if len(block) > 2])

    def rows(self, n_events, tolerance):
        """Rows that hold for some unknowns if and only if the gap is at most the tolerance."""
        writer, n_centers = RowWriter(), 0
        for block in self.blocks:
            if len(block) == 2:
                first, second = block
                writer.add(-tolerance, {second: 1.0, first: -1.0}, {}, tolerance)
                continue
            for event in block:
                writer.add(0.0, {event: 1.0}, {n_centers: -1.0}, tolerance)
            n_centers += 1
        return writer.rows(n_events, n_centers)

    def contrasts(self, n_events):
        """Linear forms of the means of which the gap is the largest, or 0, (n_forms, n_events)."""
        blocks = [differences(block, n_events) for block in self.blocks]
        return sparse.vstack([sparse.csr_array((0, n_events)), *blocks], format="csr")


class TotalRange(Range):
    """Largest minus smallest mean of each block of events, added over the blocks.

    Attributes
    ----------
    blocks : tuple of tuples of int
        As in `Range`.
    """

    def gap(self, means):
        """The gap, of one vector of means or of each column."""
        return self._ranges(means).sum(axis=0)

    def subgradient(self, means):
        """A subgradient of the gap by the means."""
        return _range_slope(self.blocks, means)

    def unknowns(self, means):
        """Lowest mean and range of each block: the rows hold at them if they can."""
        lowest = [means[list(block)].min() for block in self.blocks]
        return np.column_stack((lowest, self._ranges(means))).ravel()

    def rows(self, n_events, tolerance):
        """Rows that hold for some unknowns if and only if the gap is at most the tolerance."""
        writer, n_aux = RowWriter(), 2 * len(self.blocks)
        lows, widths = range(0, n_aux, 2), range(1, n_aux, 2)
        for block, low, width in zip(self.blocks, lows, widths, strict=True):
            for event in block:
                writer.add(0.0, {event: 1.0}, {low: -1.0}, np.inf)
                writer.add(-np.inf, {event: 1.0}, {low: -1.0, width: -1.0}, 0.0)
        writer.add(-np.inf, {}, dict.fromkeys(widths, 1.0), tolerance)
        return writer.rows(n_events, n_aux)

    def contrasts(self, n_events):
        """Linear forms as of `Range`: one difference of each block, added, in all combinations."""
        check_forms(np.prod([len(block) * (len(block) - 1.0) for block in self.blocks]))
        total = sparse.csr_array((1, n_events))
        for block in self.blocks:
            own = differences(block, n_events)
            first = np.repeat(np.arange(total.shape[0]), own.shape[0])
            total = total[first] + own[np.tile(np.arange(own.shape[0]), total.shape[0])]
        return total


class TotalDifference(TotalRange):
    """The same for blocks of two events, without unknowns: |a| + |b| is the larger of |a +- b|.

    There are ``2 ** (n_blocks - 1)`` rows, so the blocks should be few.

    Attributes
    ----------
    blocks : tuple of pairs of int
        As in `Range`.
    """

    def unknowns(self, means):
        """None are needed."""
        return np.empty(0)

    def rows(self, n_events, tolerance):
        """One two-sided row per choice of signs; they hold if and only if the gap is kept."""
        writer = RowWriter()
        for signs in product((1.0, -1.0), repeat=len(self.blocks) - 1):
            factors = {}
            for sign, (first, second) in zip((1.0, *signs), self.blocks, strict=True):
                factors |= {second: sign, first: -sign}
            writer.add(-tolerance, factors, {}, tolerance)
        return writer.rows(n_events, 0)


def _range_slope(blocks, means):
    slope = np.zeros_like(means)
    for block in map(list, blocks):
        slope[block[means[block].argmax()]] += 1.0
        slope[block[means[block].argmin()]] -= 1.0
    return slope


@dataclass(frozen=True)
class Excess:
    """By how much a group's mean exceeds everybody's; the largest over the groups, 0 at least.

    Attributes
    ----------
    pairs : tuple of (int, int)
        Event of a group and the event of everybody it is compared with.
    """

    pairs: tuple

    @cached_property
    def _columns(self):
        return np.array(self.pairs).T

    def _excesses(self, means):
        group, everybody = self._columns
        return means[group] - means[everybody]

    def gap(self, means):
        """The gap, of one vector of means or of each column."""
        return self._excesses(means).max(axis=0, initial=0.0)

    def shrunk(self, means, factor):
        """Means whose gap is so many times theirs: groups move toward everybody."""
        found, (group, everybody) = np.array(means), self._columns
        found[group] = means[everybody] + factor * self._excesses(means)
        return found

    def subgradient(self, means):
        """A subgradient of the gap by the means."""
        excesses = self._excesses(means)
        return self._slope((excesses > 0) & (np.arange(len(excesses)) == excesses.argmax()), means)

    def _slope(self, share, means):
        """Derivative of ``share @ excesses`` by the means."""
        slope = np.zeros_like(means)
        group, everybody = self._columns
        np.add.at(slope, group, share)
        np.subtract.at(slope, everybody, share)
        return slope

    def unknowns(self, means):
        """None are needed."""
        return np.empty(0)

    def rows(self, n_events, tolerance):
        """One row per pair."""
        writer = RowWriter()
        for group, everybody in self.pairs:
            writer.add(-np.inf, {group: 1.0, everybody: -1.0}, {}, tolerance)
        return writer.rows(n_events, 0)

    def contrasts(self, n_events):
        """Linear forms of the means of which the gap is the largest, or 0, (n_forms, n_events)."""
        rows = np.arange(len(self.pairs))
        group, everybody = self._columns
        signs = np.repeat([1.0, -1.0], len(rows))
        place = np.tile(rows, 2), np.concatenate((group, everybody))
        return sparse.csr_array((signs, place), shape=(len(rows), n_events))


class MeanPositiveExcess(Excess):
    """By how much a group's mean exceeds everybody's, averaged over the groups.

    Groups that do not exceed everybody count as 0.

    Attributes
    ----------
    pairs : tuple of (int, int)
        As in `Excess`.
    """

    def gap(self, means):
        """The gap, of one vector of means or of each column."""
        return np.maximum(0.0, self._excesses(means)).mean(axis=0)

    def subgradient(self, means):
        """A subgradient of the gap by the means."""
        return self._slope((self._excesses(means) > 0) / len(self.pairs), means)

    def unknowns(self, means):
        """The positive part of each excess: the rows hold at them if they can."""
        return np.maximum(0.0, self._excesses(means))

    def rows(self, n_events, tolerance):
        """Rows that hold for some unknowns if and only if the gap is at most the tolerance."""
        writer, n_pairs = RowWriter(), len(self.pairs)
        for p, (group, everybody) in enumerate(self.pairs):
            writer.add(-np.inf, {group: 1.0, everybody: -1.0}, {p: -1.0}, 0.0)
            writer.add(0.0, {}, {p: 1.0}, np.inf)
        writer.add(-np.inf, {}, dict.fromkeys(range(n_pairs), 1.0 / n_pairs), tolerance)
        return writer.rows(n_events, n_pairs)

    def contrasts(self, n_events):
        """Linear forms as of `Excess`: the excesses of every set of groups, averaged over all."""
        n_pairs = len(self.pairs)
        check_forms(2.0**n_pairs)
        sets = (np.arange(1, 2**n_pairs)[:, np.newaxis] >> np.arange(n_pairs)) & 1
        return sparse.csr_array(sets / n_pairs) @ super().contrasts(n_events)


class SignedMeanExcess(Excess):
    """The same average with its sign: a group below everybody makes up for one above.

    Attributes
    ----------
    pairs : tuple of (int, int)
        As in `Excess`.
    """

    def gap(self, means):
        """The gap, of one vector of means or of each column."""
        return self._excesses(means).mean(axis=0)

    def subgradient(self, means):
        """The gradient of the gap by the means."""
        return self._slope(np.full(len(self.pairs), 1.0 / len(self.pairs)), means)

    def rows(self, n_events, tolerance):
        """One row."""
        factors = self.subgradient(np.zeros(n_events))
        writer = RowWriter()
        writer.add(-np.inf, dict(enumerate(factors)), {}, tolerance)
        return writer.rows(n_events, 0)

    def contrasts(self, n_events):
        """The gap itself, one linear form."""
        return sparse.csr_array(self.subgradient(np.zeros(n_events))[np.newaxis])


@dataclass(frozen=True)
class Largest:
    """The largest mean of all events.

    Attributes
    ----------
    events : tuple of int
        Events bounded.
    """

    events: tuple

    def gap(self, means):
        """The largest mean, of one vector of means or of each column."""
        return means[list(self.events)].max(axis=0)

    def shrunk(self, means, factor):
        """Means so many times as large."""
        return factor * means

    def subgradient(self, means):
        """A subgradient of it by the means."""
        slope = np.zeros_like(means)
        slope[self.events[means[list(self.events)].argmax()]] = 1.0
        return slope

    def unknowns(self, means):
        """None are needed."""
        return np.empty(0)

    def rows(self, n_events, tolerance):
        """One row per event."""
        writer = RowWriter()
        for event in self.events:
            writer.add(-np.inf, {event: 1.0}, {}, tolerance)
        return writer.rows(n_events, 0)

    def contrasts(self, n_events):
        """The means, of which the gap is the largest, (n_means, n_events)."""
        return sparse.eye_array(n_events, format="csr")[list(self.events)]


@dataclass(frozen=True)
class SingleRow:
    """The gap of another aggregate, bounded by one kinked row instead of linear ones.

    Attributes
    ----------
    aggregate : Range, Excess or Largest
        Whose gap it is.
    """

    aggregate: object

    @classmethod
    def of(cls, aggregate):
        """The single row of an aggregate, which may be one already."""
        return aggregate if isinstance(aggregate, cls) else cls(aggregate)

    def gap(self, means):
        """The gap, of one vector of means or of each column."""
        return self.aggregate.gap(means)

    def subgradient(self, means):
        """A subgradient of the gap by the means."""
        return self.aggregate.subgradient(means)

    def unknowns(self, means):
        """None are needed."""
        return np.empty(0)

    def rows(self, n_events, tolerance):
        """The row ``gap <= tolerance``; none if there is nothing to compare."""
        linear = self.aggregate.rows(n_events, tolerance)
        if not len(linear.lower):
            return linear
        return GapRow(self.aggregate, np.empty((1, 0)), np.array([-np.inf]), np.array([tolerance]))


def _among_groups(of_blocks):
    """The aggregate of the groups of each cell, where there are two at least."""
    return lambda events: of_blocks(tuple(block for block in events.blocks if len(block) > 1))


def _total(blocks):
    if len(blocks) < 2:
        return Range(blocks)
    few_pairs = len(blocks) <= 4 and all(len(block) == 2 for block in blocks)
    return TotalDifference(blocks) if few_pairs else TotalRange(blocks)


def _against_overall(of_pairs):
    """The aggregate of groups and everybody in their cell; of nothing if they are the same."""

    def aggregate(events):
        pairs = tuple(
            (event, everybody)
            for block, everybody in zip(events.blocks, events.overall, strict=True)
            for event in block
        )
        if all(events.counts[event] == events.counts[everybody] for event, everybody in pairs):
            return Range(())
        return of_pairs(pairs)

    return aggregate


AGGREGATES = {
    ("groups", "max"): _among_groups(Range),
    ("groups", "sum"): _among_groups(_total),
    ("overall", "max"): _against_overall(Excess),
    ("overall", "mean"): _against_overall(MeanPositiveExcess),
    ("overall", "signed_mean"): _against_overall(SignedMeanExcess),
}
"""Makers of aggregates from `CellEvents`, by the reference and aggregate of a constraint."""
