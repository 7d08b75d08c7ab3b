"""Events: sets of samples over which means are taken, by class, percentile or query."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from skfair._groups.groups import count_table
from skfair._partitions.partitions import blocks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from numpy.typing import ArrayLike

    from skfair._utils.api import GroupName, Intervals


# Events: sets of samples over which means are taken.


class Events:
    """Weighted means over events, that is over sets of samples which may overlap.

    Made by `Events.disjoint` or `Events.overlapping`. With w the sample weights and e an event,

        means(values)_e = sum_{i in e} w_i values_i / sum_{i in e} w_i.

    Disjoint events are stored as one code and one weight per sample, the others as a sparse matrix.

    Attributes
    ----------
    averaging_matrix : csr_array of shape (n_events, n_samples)
        The linear map itself: non-negative, each row sums to 1. Disjoint events make it when it is
        first used.
    codes_and_mean_weights : pair of ndarrays of shape (n_samples,), or None
        Of disjoint events, the event and weight of each sample; `n_events` and 0 for none.
    n_events : int
        Number of events.
    n_samples : int
        Number of samples, whether in an event or not.
    multiplicity : ndarray of shape (n_samples,), or None
        Number of samples that each row stands for, in which case every array over samples has one
        entry for each row; None means one each.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair._groups.events import Events
    >>> events = Events.disjoint(np.array([0, 1, 0]), n_events=2)
    >>> events.means(np.array([1.0, 2.0, 5.0])), events.means_adjoint(np.array([1.0, 1.0]))
    (array([3., 2.]), array([0.5, 1. , 0.5]))
    """

    def __init__(
        self,
        n_events: int,
        n_samples: int,
        codes_and_mean_weights: tuple[np.ndarray, ...] | None = None,
        averaging_matrix: sparse.csr_array | None = None,
    ) -> None:
        self.n_events = n_events
        self.n_samples = n_samples
        self.codes_and_mean_weights = codes_and_mean_weights
        self.multiplicity: np.ndarray | None = None
        if averaging_matrix is not None:
            self.averaging_matrix = averaging_matrix

    @staticmethod
    def disjoint(
        codes: np.ndarray | list[int], n_events: int, weights: np.ndarray | None = None
    ) -> Events:
        """Events without common samples, from the event of each sample; -1 is in no event.

        Weights are not negative; None weighs every sample equally.
        """
        codes = np.asarray(codes)
        weights = _fill_in_weights(weights, len(codes))
        # Samples in no event go to an extra bin, the last one, whose weights are 0.
        codes = np.where(codes >= 0, codes, n_events) if (codes < 0).any() else codes
        totals = _check_totals(np.bincount(codes, weights, n_events + 1)[:-1])
        mean_weights = np.append(1.0 / totals, 0.0)[codes]
        mean_weights *= weights
        return Events(n_events, len(codes), (codes, mean_weights))

    @staticmethod
    def overlapping(membership: sparse.sparray, weights: np.ndarray | None = None) -> Events:
        """Events that may share samples, from booleans of shape (n_samples, n_events).

        The membership may also be a probability.
        """
        # Entries of the averaging matrix.
        members = sparse.csr_array(membership.T, dtype=float)
        is_share = (members.data >= 0.0) & (members.data <= 1.0)
        if not is_share.all():
            raise ValueError(
                "membership must be boolean (0 or 1) or a probability, one row per sample and one "
                f"column per event, but it holds {members.data[~is_share][0]:g}; use weights for "
                "the weight of a sample."
            )
        weighted = members.data * _fill_in_weights(weights, members.shape[1])[members.indices]
        event = np.repeat(np.arange(members.shape[0]), np.diff(members.indptr))
        totals = _check_totals(np.bincount(event, weighted, minlength=members.shape[0]))
        mean_weights = (weighted / totals[event], members.indices, members.indptr)
        return _from_matrix(sparse.csr_array(mean_weights, shape=members.shape))

    def copy_with_multiplicity(self, multiplicity: np.ndarray | None) -> Self:
        """The same events of rows, each of which stands for so many samples; None: one each."""
        if multiplicity is not None:
            self.multiplicity = np.asarray(multiplicity, dtype=float)
        return self

    @property
    def member_counts(self) -> np.ndarray:
        """Number of samples of every membership, as in `memberships`, (n_entries,)."""
        rows = self.averaging_matrix.indices
        return np.ones(len(rows)) if self.multiplicity is None else self.multiplicity[rows]

    def take_multiplicity(self, rows: np.ndarray | slice) -> np.ndarray | None:
        """Numbers of samples of selected rows, or None."""
        return None if self.multiplicity is None else self.multiplicity[rows]

    @cached_property
    def averaging_matrix(self) -> sparse.csr_array:
        codes, mean_weights = self.codes_and_mean_weights  # type: ignore[misc]
        inside = np.flatnonzero(codes < self.n_events)
        entries = (mean_weights[inside], (codes[inside], inside))
        return sparse.csr_array(entries, shape=(self.n_events, self.n_samples))

    def means(self, values: np.ndarray) -> np.ndarray:
        """Weighted mean over each event, of values (n_samples,) or (n_samples, n_columns)."""
        # np.bincount needs no preparation; the sparse matrix, once made, is faster per sample.
        # np.bincount is faster for few samples, a sparse product for many.
        is_small = self.n_samples <= 4096 and np.ndim(values) == 1
        if self.codes_and_mean_weights is None or not is_small:
            return self.averaging_matrix @ values
        codes, mean_weights = self.codes_and_mean_weights
        return np.bincount(codes, mean_weights * values, self.n_events + 1)[:-1]

    def count_samples(self) -> np.ndarray:
        """Number of samples in each event, (n_events,)."""
        if self.codes_and_mean_weights is None:
            return np.diff(self.averaging_matrix.indptr)
        codes, _ = self.codes_and_mean_weights
        return np.bincount(codes, minlength=self.n_events + 1)[:-1]

    def sum_squared_mean_weights(self) -> np.ndarray:
        """Sum of the squared weights of each event, one over its effective number of samples."""
        if self.codes_and_mean_weights is None:
            return self.averaging_matrix.power(2).sum(axis=1)
        codes, mean_weights = self.codes_and_mean_weights
        return np.bincount(codes, mean_weights**2, self.n_events + 1)[:-1]

    def means_adjoint(self, v: np.ndarray) -> np.ndarray:
        """Adjoint of `means`: ``means(u) @ v == u @ means_adjoint(v)``."""
        if self.codes_and_mean_weights is None or np.ndim(v) > 1:
            return self.averaging_matrix.T @ v
        codes, mean_weights = self.codes_and_mean_weights
        return mean_weights * np.append(v, 0.0)[codes]

    def take(self, rows: slice | np.ndarray) -> Events:
        """The events of selected samples; the weights in each sum to 1 again.

        `rows` are positions, which may repeat, or a mask. An event without samples is a ValueError.
        """
        if self.codes_and_mean_weights is None:
            taken = self.averaging_matrix[:, rows]
            totals = _check_selected_totals(taken.sum(axis=1))
            # Divide each weight by the sum of its event, as rows of the matrix are events.
            mean_weights = taken.data / np.repeat(totals, np.diff(taken.indptr))
            entries = (mean_weights, taken.indices, taken.indptr)
            events = _from_matrix(sparse.csr_array(entries, shape=taken.shape))
            return events.copy_with_multiplicity(self.take_multiplicity(rows))
        codes, mean_weights = (values[rows] for values in self.codes_and_mean_weights)
        # Weights of the samples taken sum to 1 in every event; the extra bin divides by 1.
        totals = _check_selected_totals(np.bincount(codes, mean_weights, self.n_events + 1)[:-1])
        mean_weights = mean_weights / np.append(totals, 1.0)[codes]
        events = Events(self.n_events, len(codes), (codes, mean_weights))
        return events.copy_with_multiplicity(self.take_multiplicity(rows))

    def contribution(self, rows: slice | np.ndarray, factors: np.ndarray | float = 1.0) -> Events:
        """The weights of selected samples in the events: means of subsets add up to those of all.

        `factors` multiply the weights. Rows are samples of a block, and stand for one each.
        """
        if self.codes_and_mean_weights is None:
            taken = sparse.csr_array(self.averaging_matrix[:, rows])
            factors = np.broadcast_to(factors, taken.shape[1])
            mean_weights = (taken.data * factors[taken.indices], taken.indices, taken.indptr)
            return _from_matrix(sparse.csr_array(mean_weights, shape=taken.shape))
        codes, of_rows = (values[rows] for values in self.codes_and_mean_weights)
        if np.ndim(factors) or factors != 1.0:  # blocks in memory need no copy
            of_rows = of_rows * factors
        return Events(self.n_events, len(codes), (codes, of_rows))

    def embed(self, rows: slice | np.ndarray, n_samples: int) -> Events:
        """The same events among n_samples, of which `rows` are theirs; the others are in none."""
        if self.codes_and_mean_weights is None:
            averaging = self.averaging_matrix
            columns = np.arange(n_samples)[rows][averaging.indices]
            entries = averaging.data, columns, averaging.indptr
            return _from_matrix(sparse.csr_array(entries, shape=(self.n_events, n_samples)))
        codes = np.full(n_samples, self.n_events)
        mean_weights = np.zeros(n_samples)
        codes[rows], mean_weights[rows] = self.codes_and_mean_weights
        return Events(self.n_events, n_samples, (codes, mean_weights))

    @property
    def membership_codes(self) -> np.ndarray:
        """Code of the set of events that each sample is in, (n_samples,); -1 for none."""
        if self.codes_and_mean_weights is not None:
            codes, _ = self.codes_and_mean_weights
            return np.where(codes < self.n_events, codes, -1)
        positions, event_codes, _ = self.memberships
        # Hash each set of events by the sum of random integers.
        hashes = np.random.default_rng(0).integers(1 << 52, size=self.n_events)
        totals = np.zeros(self.n_samples, dtype=np.int64)
        np.add.at(totals, positions, hashes[event_codes])
        _, codes = np.unique(totals, return_inverse=True)
        return np.where(totals > 0, codes, -1)

    @cached_property
    def memberships(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sample, event and weight of every membership, event by event: three (n_entries,)."""
        averaging = self.averaging_matrix
        event_codes = np.repeat(np.arange(self.n_events), np.diff(averaging.indptr))
        return averaging.indices.astype(np.intp), event_codes, averaging.data

    def members(self, event: int) -> tuple[np.ndarray, np.ndarray]:
        """Positions of the samples of an event, and their weights in its mean."""
        averaging = self.averaging_matrix
        inside = slice(*averaging.indptr[event : event + 2])
        return averaging.indices[inside], averaging.data[inside]

    def draw(self, n_per_event: int, random_state: np.random.RandomState) -> np.ndarray:
        """Draw equally many samples from every event, each by its weight, with replacement.

        The positions are of shape (n_events * n_per_event,), event after event.
        """
        event_codes = np.arange(self.n_events)[:, np.newaxis]
        # Invert the cumulative weights; those of event e reach from e to e + 1.
        uniform = random_state.random_sample((self.n_events, n_per_event))
        uniform += event_codes
        entries = np.searchsorted(self._cumulative_weights, uniform, side="right")
        # Rounding must not lead into the next event.
        np.minimum(entries, self.averaging_matrix.indptr[event_codes + 1] - 1, out=entries)
        return self.averaging_matrix.indices[entries.ravel()]

    @cached_property
    def _cumulative_weights(self) -> np.ndarray:
        """Cumulative weights of all events; those of each event end at an integer."""
        _, event, mean_weights = self.memberships
        cumulative = np.cumsum(mean_weights)
        ends = cumulative[self.averaging_matrix.indptr[1:] - 1]
        return cumulative + (np.arange(1, len(ends) + 1) - ends)[event]

    def upper_quantiles(
        self, event: int, scores: np.ndarray, levels: np.ndarray | tuple[float, ...] | list[float]
    ) -> np.ndarray:
        """Scores that given proportions of an event exceed, one for each level in [0, 1]."""
        positions, mean_weights = self.members(event)
        member_scores = scores[positions]
        if np.ptp(mean_weights) > 0:
            descending = np.argsort(-member_scores, kind="stable")
            member_scores = member_scores[descending]
            mean_weights = mean_weights[descending]
        else:  # equal weights need no permutation: sorting values is much faster than argsort
            member_scores = -np.sort(-member_scores)
        return np.interp(levels, np.cumsum(mean_weights) - mean_weights / 2, member_scores)


def join_units(
    events: Events, values: np.ndarray, units: np.ndarray | None
) -> tuple[Events, np.ndarray, np.ndarray | None]:
    """Events with one row for each unit of an event, and the values and units of the rows.

    Samples of equal code in `units` are one row, which has their weight and mean value; None if all
    are independent. Events of which no unit has several samples are returned as they are.
    """
    if units is None:
        return events, values, None
    positions, event, shares = events.memberships
    n_units = units.max() + 1
    at, rows = pd.factorize(event * n_units + units[positions])
    if len(rows) == len(positions):
        return events, values, units
    totals = np.bincount(at, shares)
    means = np.bincount(at, shares * values[positions]) / totals
    return Events.disjoint(rows // n_units, events.n_events, totals), means, rows % n_units


def _from_matrix(averaging: sparse.csr_array) -> Events:
    """Events by their averaging matrix."""
    n_events, n_samples = averaging.shape
    return Events(n_events, n_samples, averaging_matrix=averaging)


def _fill_in_weights(weights: np.ndarray | None, n_samples: int) -> np.ndarray:
    """Return the weights as float64, ones for None; raise if one is negative."""
    weights = np.ones(n_samples) if weights is None else np.asarray(weights, dtype=float)
    if (weights < 0).any():
        raise ValueError(f"weights must not be negative, but one is {weights.min():g}.")
    return weights


def _check_totals(totals: np.ndarray) -> np.ndarray:
    """Raise if an event has no positive weight, else return the totals."""
    if not (totals > 0).all():
        raise ValueError(
            f"Every event needs samples of positive weight, but event "
            f"{np.flatnonzero(~(totals > 0))[0]} has a total weight of {totals.min():g}: its "
            "mean is undefined. Leave that event out."
        )
    return totals


def _check_selected_totals(totals: np.ndarray) -> np.ndarray:
    """Weights of the selected samples in each event; a ValueError if there are none in one."""
    if not (totals > 0).all():
        raise ValueError(
            f"Every event needs samples, but event {np.flatnonzero(~(totals > 0))[0]} has none "
            "among those selected; draw samples from every event instead."
        )
    return totals


# Groups within cells: the events of a constraint.


class CellEvents(NamedTuple):
    """Groups within cells, each with at least one sample; made by `cell_events`.

    Attributes
    ----------
    events : Events
        Samples of each event, with their weights; disjoint ones, which are faster, where they are.
    counts : ndarray of int, shape (n_events,)
        Samples in each event, where a row may stand for many.
    labels : list of (str, object)
        Cell and group of each event; the group is "overall" for all samples of the cell.
    report_order : ndarray of int, shape (n_events,)
        Positions of the events in reports, which sort the groups of a cell by label.
    blocks : list of tuples of int
        Events of the groups, one tuple per cell that has samples.
    overall : list of int
        Event of all samples of a cell, one per block; empty unless requested.
    empty : dict of (str, object) to int
        Cells and groups without members, or with too few, and the number that counts.
    clusters : ndarray of int, shape (n_samples,), or None
        Limits count samples of equal code as one; None if all are independent.
    """

    events: Events
    counts: np.ndarray
    labels: list[tuple[str, GroupName]]
    report_order: np.ndarray
    blocks: list[tuple[int, ...]]
    overall: list[int]
    empty: dict[tuple[str, GroupName], int]
    clusters: np.ndarray | None = None

    @property
    def names(self) -> set[str]:
        """Names of the cells."""
        return {cell for cell, _ in (*self.labels, *self.empty)}


REPORT_COLUMNS = (
    "event",
    "group",
    "estimate",
    "n",
    "standard_error",
    "constraint",
    "threshold",
    "gap",
    "tolerance",
)
"""Columns of all reports of constraints; a narrow screen leaves out those in the middle."""


def cell_events(cells, samples, groups, with_overall=False):
    """The members of each group of samples within each cell, as `CellEvents`.

    `with_overall` adds an event of all samples of each cell. Of held-out samples a group of which
    a cell counts too few is no event.
    """
    # Memberships in groups, and at last in the set of all samples.
    n_samples = len(samples.weights)
    names = groups.names
    n_groups = len(names)
    rows, sets = (slice(None), groups.codes) if groups.is_disjoint else groups.memberships
    n_sets = n_groups + with_overall
    shares = groups.shares if groups.is_partly_recorded else None
    if with_overall:
        all_rows = np.arange(n_samples)
        rows = np.concatenate((all_rows[rows], all_rows))
        sets = np.concatenate((sets, np.full(n_samples, n_groups)))
        shares = None if shares is None else np.concatenate((shares, np.ones(n_samples)))
    memberships = []
    counts = []
    labels = []
    blocks = []
    overall = []
    empty = {}
    order = []
    for cell_names, numbers in _encode_disjoint_cells(cells, n_samples):
        # Count the members of each group in each cell.
        shape = (len(cell_names) + 1, n_sets)
        pairs = (numbers[rows], sets)
        n_rows = _count_pairs(pairs, shape)
        weights = shares if groups.multiplicity is None else groups.multiplicity[rows]
        n_members = n_rows if weights is None else _count_pairs(pairs, shape, weights)
        is_present = n_rows > 0
        n_counted = n_members
        if samples.where is not None:
            n_counted = _count_pairs(((numbers * samples.where)[rows], sets), shape, weights)
            is_present[:, :n_groups] &= samples.are_enough(n_counted[:, :n_groups])
        event_of_pair = np.full(shape, -1)  # outside the cells
        for number, cell in enumerate(cell_names, start=1):
            # Groups without members in the cell, or with too few, are no events.
            is_occupied = is_present[number, :n_groups]
            occupied = np.flatnonzero(is_occupied)
            missing = np.flatnonzero(~is_occupied)
            empty |= {(cell, names[g]): int(n_counted[number, g]) for g in missing}
            if not len(occupied):
                continue
            present = np.flatnonzero(is_present[number])
            event_of_pair[number, present] = len(labels) + np.arange(len(present))
            counts += n_members[number, present].tolist()
            blocks.append(tuple(range(len(labels), len(labels) + len(occupied))))
            order += (len(labels) + np.argsort(groups.ranks[occupied])).tolist()
            labels += [(cell, names[g]) for g in occupied]
            if with_overall:
                order.append(len(labels))
                overall.append(len(labels))
                labels.append((cell, "overall"))
        memberships.append(_table_entries(pairs, event_of_pair))
    events = _make_events(memberships, rows, len(labels), samples.weights, shares)
    if groups.multiplicity is not None:
        events = events.copy_with_multiplicity(groups.multiplicity)
    counts = np.array(counts, dtype=int)
    order = np.array(order, dtype=np.intp)
    return CellEvents(
        events=events,
        counts=counts,
        labels=labels,
        report_order=order,
        blocks=blocks,
        overall=overall,
        empty=empty,
        clusters=samples.clusters,
    )


def _encode_disjoint_cells(
    cells: dict[str, np.ndarray], n_samples: int
) -> list[tuple[list[str], np.ndarray]]:
    """Lists of disjoint cells, and the number of each sample's, from 1; 0 is in none of them."""
    numbers = np.zeros(n_samples, dtype=np.min_scalar_type(len(cells)))
    for number, inside in enumerate(cells.values(), start=1):
        numbers += numbers.dtype.type(number) * inside
    if np.count_nonzero(numbers) == sum(map(np.count_nonzero, cells.values())):
        return [([*cells], numbers)]
    return [([cell], inside.view(np.uint8)) for cell, inside in cells.items()]


def _iter_pair_keys(
    pairs: tuple[np.ndarray, ...], n_sets: int
) -> Iterator[tuple[slice, np.ndarray]]:
    """Rows, and one number for their cell and group, of each block: whole arrays take memory."""
    numbers, sets = pairs
    for rows in blocks(len(sets)):
        yield rows, numbers[rows] * np.intp(n_sets) + sets[rows]


def _count_pairs(
    pairs: tuple[np.ndarray, ...], shape: tuple[int, ...], weights: np.ndarray | None = None
) -> np.ndarray:
    """Number of memberships in each cell and group, or sum of their weights, as a table."""
    counts = np.zeros(shape[0] * shape[1])
    for rows, keys in _iter_pair_keys(pairs, shape[1]):
        counts += np.bincount(keys, None if weights is None else weights[rows], len(counts))
    return np.rint(counts).astype(int).reshape(shape)


def _table_entries(pairs: tuple[np.ndarray, ...], table: np.ndarray) -> np.ndarray:
    """Entry of a table for the cell and group of each membership."""
    if (table[-1] == np.arange(table.shape[1])).all() and pairs[0].all():
        return pairs[1]  # all samples in one cell: events are groups
    entries = np.empty(len(pairs[1]), dtype=np.intp)
    for rows, keys in _iter_pair_keys(pairs, table.shape[1]):
        entries[rows] = table.ravel()[keys]
    return entries


def _make_events(
    memberships: list[np.ndarray],
    rows: np.ndarray | slice,
    n_events: int,
    weights: np.ndarray,
    shares: np.ndarray | None = None,
) -> Events:
    """Events from those of each membership within lists of cells; `rows` are the samples.

    `shares` are the probabilities of the memberships, None if all are 1.
    """
    if len(memberships) == 1 and isinstance(rows, slice):
        return Events.disjoint(memberships[0], n_events, weights)
    inside = [np.flatnonzero(event_codes >= 0) for event_codes in memberships]
    event_codes = np.concatenate(
        [event_codes[one] for event_codes, one in zip(memberships, inside, strict=True)]
    )
    all_rows = np.arange(len(weights))[rows]
    positions = np.concatenate([all_rows[one] for one in inside])
    # Disjoint events need one code per sample, which a second membership would overwrite.
    is_member = np.zeros(len(weights), dtype=bool)
    is_member[positions] = True
    if shares is None and np.count_nonzero(is_member) == len(positions):
        codes = np.full(len(weights), -1)
        codes[positions] = event_codes
        return Events.disjoint(codes, n_events, weights)
    # Order memberships by event; the stable sort of short integers is a radix sort.
    order = np.argsort(event_codes.astype(np.min_scalar_type(n_events)), kind="stable")
    ends = np.cumsum(np.append(0, np.bincount(event_codes, minlength=n_events)))
    if shares is None:
        members = np.ones(len(positions), dtype=bool)
    else:
        members = np.concatenate([shares[one] for one in inside])[order]
    present = members, positions[order], ends
    return Events.overlapping(sparse.csc_array(present, shape=(len(weights), n_events)), weights)


# Ranks of scores within groups, and the samples whose rank lies in a percentile interval.
#
# The rank of a score in a group is the share of the group with a strictly higher score, so that the
# best score has rank 0. Tied scores share their rank: an interval takes all of them or none.


class ScoreTable(NamedTuple):
    """Samples sorted into the distinct scores that occur, made by `tabulate_scores`.

    ``thresholds`` are the distinct scores, descending, and at last -inf: every predictor
    "score > threshold" decides as one of these. ``threshold_indices`` says which one each sample's
    score is, ``codes`` its group.
    """

    thresholds: np.ndarray  # (n_thresholds,) of float64
    threshold_indices: np.ndarray  # (n_samples,) of intp
    codes: np.ndarray  # (n_samples,) of intp
    n_groups: int

    def weight_at(self, weights: np.ndarray | None) -> np.ndarray:
        """Weight of every group on every threshold, (n_groups, n_thresholds)."""
        return count_table(
            self.codes, self.threshold_indices, weights, self.n_groups, len(self.thresholds)
        )

    def weight_above(self, weights: np.ndarray | None) -> np.ndarray:
        """Weight of every group strictly above every threshold, (n_groups, n_thresholds)."""
        above = np.zeros((self.n_groups, len(self.thresholds)))
        # Thresholds descend: above each lies the weight at those before it.
        np.cumsum(self.weight_at(weights)[:, :-1], axis=1, out=above[:, 1:])
        return above

    def rates(self, weights: np.ndarray | None) -> np.ndarray:
        """Share of every group strictly above every threshold, (n_groups, n_thresholds).

        The last, at -inf, is 1. The shares of a group of no weight are nan.
        """
        above = self.weight_above(weights)
        totals = above[:, -1:]
        return np.divide(above, totals, out=np.full_like(above, np.nan), where=totals > 0)

    def is_inside(self, intervals: list[np.ndarray], weights: np.ndarray | None) -> np.ndarray:
        """Whether the rank of each sample in its group lies in its interval, (n_samples,)."""
        return is_in_intervals(self.rates(weights), intervals)[self.codes, self.threshold_indices]


def tabulate_scores(y_score: np.ndarray, codes: np.ndarray, n_groups: int) -> ScoreTable:
    """Sort samples into the distinct scores that occur."""
    descending, positions = np.unique(-y_score, return_inverse=True)
    return ScoreTable(np.append(-descending, -np.inf), positions, codes, n_groups)


def intervals_by_group(interval: Intervals | None, names: list[GroupName]) -> list[np.ndarray]:
    """Intervals of ranks of every group: a list of arrays (n_pairs, 2), in the groups' order.

    ``(alpha, beta)`` means ranks in [alpha, beta), and in [alpha, 1] if beta is 1; a list of pairs
    means their union. A mapping has one entry per group, by its name (a tuple for several
    attributes); entries of groups that do not occur are not used.
    """
    if not isinstance(interval, Mapping):
        return [_check_pairs(interval)] * len(names)
    missing = [name for name in names if name not in interval]
    if missing:
        raise ValueError(
            f"An interval by group needs an entry for every group, but {missing} have none; its "
            f"entries are {list(interval)}. Add them, or pass one interval for all."
        )
    return [_check_pairs(interval[name]) for name in names]


def _check_pairs(interval: ArrayLike | None) -> np.ndarray:
    """Disjoint pairs (alpha, beta) in ascending order, (n_pairs, 2)."""
    try:
        pairs = np.atleast_2d(np.asarray(interval, dtype=float))
    except (TypeError, ValueError):  # not numbers, or of different lengths
        pairs = np.empty(0)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not len(pairs):
        raise ValueError(
            "interval must be a pair (alpha, beta), a list of such pairs, or a dict of either by "
            f"group; got {interval!r}."
        )
    pairs = pairs[np.argsort(pairs[:, 0])]
    lower, upper = pairs.T
    if not (np.all(lower >= 0) and np.all(lower < upper) and np.all(upper <= 1)):
        raise ValueError(
            "interval must have 0 <= alpha < beta <= 1, as shares of a group counted from its "
            f"highest score: (0.05, 0.3) leaves out the top 5 %; got {interval!r}."
        )
    if np.any(upper[:-1] > lower[1:]):
        raise ValueError(f"The pairs of an interval must not overlap; got {interval!r}.")
    return pairs


def is_in_intervals(ranks: np.ndarray, intervals: list[np.ndarray]) -> np.ndarray:
    """Whether ranks (n_groups, n_thresholds) lie in the intervals of their groups."""
    inside = np.zeros(ranks.shape, dtype=bool)
    for of_group, inside_group, pairs in zip(ranks, inside, intervals, strict=True):
        for begin, end in rank_limits(pairs):
            inside_group |= (begin <= of_group) & (of_group < end)
    return inside


def rank_limits(pairs: np.ndarray) -> np.ndarray:
    """Numbers between which the ranks of pairs of percentiles lie, (n_pairs, 2).

    Rank 1 counts as inside if the interval ends there; other ends are outside.
    """
    begin, end = np.transpose(pairs)
    # A rank that is smaller by rounding counts as equal: 0.3 * 10 / 10 must not be 0.3 + u, and a
    # million weights of 0.1 add up to a relative 1e-11 too much. Different ranks are farther apart.
    return np.column_stack((begin - 1e-9, np.where(end < 1.0, end - 1e-9, np.inf)))


# Pairs of documents of one query, of which the first is more relevant.


class DocumentPairs:
    """All pairs of documents of one query of which the first is more relevant, by number.

    A pair is computed from its number, so that they need not all be stored.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair._groups.events import DocumentPairs
    >>> pairs = DocumentPairs(np.array([2, 0, 1, 1, 0]), np.array([0, 0, 0, 1, 1]))
    >>> len(pairs), pairs[np.arange(4)].tolist()
    (4, [[2, 1], [0, 1], [0, 2], [3, 4]])
    """

    def __init__(self, relevance: np.ndarray, query: np.ndarray) -> None:
        self._order = np.lexsort((relevance, query))
        query = query[self._order]
        relevance = relevance[self._order]
        places = np.arange(len(query))
        is_new_query = np.append(True, query[1:] != query[:-1])
        is_new_level = is_new_query | np.append(True, relevance[1:] != relevance[:-1])
        # In ascending order the less relevant documents of a query lie between its first one and
        # the first of the same relevance.
        self._begins = np.maximum.accumulate(np.where(is_new_query, places, 0))
        self._n_below = np.maximum.accumulate(np.where(is_new_level, places, 0)) - self._begins
        self._ends = np.cumsum(self._n_below)

    def __len__(self) -> int:
        return int(self._ends[-1])

    def __getitem__(self, numbers: np.ndarray) -> np.ndarray:
        """Positions of the more and of the less relevant document, (n_numbers, 2)."""
        # The pair's more relevant document, then its rank among the less relevant ones.
        better = np.searchsorted(self._ends, numbers, side="right")
        worse = self._begins[better] + numbers - (self._ends - self._n_below)[better]
        return self._order[np.column_stack((better, worse))]
