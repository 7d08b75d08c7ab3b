"""How the means of events become one gap, and which rows keep that gap below a tolerance."""

from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy import sparse


class Rows(NamedTuple):
    """The polyhedron ``lower <= combine @ means + aux @ unknowns <= upper``.

    Attributes
    ----------
    combine : csr_array of shape (n_rows, n_events)
        What the rows take of the means of events.
    aux : ndarray of shape (n_rows, n_aux)
        What they take of auxiliary unknowns, such as the free centre of several rates.
    lower, upper : ndarray of shape (n_rows,)
        Bounds; infinite where there is none.
    """

    combine: sparse.csr_array
    aux: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def at(self, means, unknowns):
        """Values of the rows, (n_rows,), and what they take of the means there."""
        return self.combine @ means + self.aux @ unknowns, self.combine


class GapRow(NamedTuple):
    """The one row ``gap(means) <= upper``: kinked, without auxiliary unknowns.

    Attributes
    ----------
    aggregate : Range, Excess or Largest
        Whose gap it is.
    aux : ndarray of shape (1, 0)
        No unknowns.
    lower, upper : ndarray of shape (1,)
        Bounds; the lower one is infinite.
    """

    aggregate: object
    aux: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def at(self, means, unknowns):
        """The gap, (1,), and a subgradient of it by the means, as a row."""
        subgradient = self.aggregate.subgradient(means)[np.newaxis, :]
        return np.array([self.aggregate.gap(means)]), sparse.csr_array(subgradient)


class _RowWriter:
    """Collects rows one by one."""

    def __init__(self):
        self._means, self._unknowns, self._bounds = [], [], []

    def add(self, lower, means, unknowns, upper):
        """Add ``lower <= sum(means) + sum(unknowns) <= upper``; both map a position to a factor."""
        self._means.append(means)
        self._unknowns.append(unknowns)
        self._bounds.append((lower, upper))

    def rows(self, n_events, n_aux):
        bounds = np.array(self._bounds, dtype=np.float64).reshape(-1, 2)
        aux = _matrix(self._unknowns, n_aux).toarray()
        return Rows(_matrix(self._means, n_events), aux, bounds[:, 0], bounds[:, 1])


def _matrix(rows, n_columns):
    """The sparse matrix whose rows map a column to a factor."""
    columns = [column for row in rows for column in row]
    factors = [factor for row in rows for factor in row.values()]
    indptr = np.cumsum([0, *map(len, rows)])
    shape = (len(rows), n_columns)
    return sparse.csr_array((factors, columns, indptr), shape=shape, dtype=np.float64)


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

    def unknowns(self, means):
        """A centre for each block of three events or more: the rows hold at it if they can."""
        return np.array([means[list(block)].min() for block in self.blocks if len(block) > 2])

    def rows(self, n_events, tolerance):
        """Rows that hold for some unknowns if and only if the gap is at most the tolerance."""
        writer, n_centers = _RowWriter(), 0
        for block in self.blocks:
            if len(block) == 2:
                first, second = block
                writer.add(-tolerance, {second: 1.0, first: -1.0}, {}, tolerance)
                continue
            for event in block:
                writer.add(0.0, {event: 1.0}, {n_centers: -1.0}, tolerance)
            n_centers += 1
        return writer.rows(n_events, n_centers)


@dataclass(frozen=True)
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
        writer, n_aux = _RowWriter(), 2 * len(self.blocks)
        lows, widths = range(0, n_aux, 2), range(1, n_aux, 2)
        for block, low, width in zip(self.blocks, lows, widths, strict=True):
            for event in block:
                writer.add(0.0, {event: 1.0}, {low: -1.0}, np.inf)
                writer.add(-np.inf, {event: 1.0}, {low: -1.0, width: -1.0}, 0.0)
        writer.add(-np.inf, {}, dict.fromkeys(widths, 1.0), tolerance)
        return writer.rows(n_events, n_aux)


@dataclass(frozen=True)
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
        writer = _RowWriter()
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

    def _excesses(self, means):
        group, everybody = np.array(self.pairs).T
        return means[group] - means[everybody]

    def gap(self, means):
        """The gap, of one vector of means or of each column."""
        return self._excesses(means).max(axis=0, initial=0.0)

    def subgradient(self, means):
        """A subgradient of the gap by the means."""
        excesses = self._excesses(means)
        return self._slope((excesses > 0) & (np.arange(len(excesses)) == excesses.argmax()), means)

    def _slope(self, share, means):
        """Derivative of ``share @ excesses`` by the means."""
        slope = np.zeros_like(means)
        group, everybody = np.array(self.pairs).T
        np.add.at(slope, group, share)
        np.subtract.at(slope, everybody, share)
        return slope

    def unknowns(self, means):
        """None are needed."""
        return np.empty(0)

    def rows(self, n_events, tolerance):
        """One row per pair."""
        writer = _RowWriter()
        for group, everybody in self.pairs:
            writer.add(-np.inf, {group: 1.0, everybody: -1.0}, {}, tolerance)
        return writer.rows(n_events, 0)


@dataclass(frozen=True)
class MeanExcess(Excess):
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
        writer, n_pairs = _RowWriter(), len(self.pairs)
        for p, (group, everybody) in enumerate(self.pairs):
            writer.add(-np.inf, {group: 1.0, everybody: -1.0}, {p: -1.0}, 0.0)
            writer.add(0.0, {}, {p: 1.0}, np.inf)
        writer.add(-np.inf, {}, dict.fromkeys(range(n_pairs), 1.0 / n_pairs), tolerance)
        return writer.rows(n_events, n_pairs)


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
        writer = _RowWriter()
        for event in self.events:
            writer.add(-np.inf, {event: 1.0}, {}, tolerance)
        return writer.rows(n_events, 0)


@dataclass(frozen=True)
class SingleRow:
    """The gap of another aggregate, bounded by one kinked row instead of linear ones.

    Attributes
    ----------
    aggregate : Range, Excess or Largest
        Whose gap it is.
    """

    aggregate: object

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
