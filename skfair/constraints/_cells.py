"""Cells, the samples that a constraint compares, and its events: every group within every cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from skfair.constraints._docstrings import constraint_docs
from skfair.groups import Events

if TYPE_CHECKING:
    from skfair.groups import Samples

_BLOCK = 1 << 16
"""Memberships that are encoded at a time."""


@constraint_docs
def all_samples(samples: Samples) -> dict[str, np.ndarray]:
    """One cell with all samples.

    {cell_signature}
    """
    return {"all": np.ones(len(samples.target), dtype=bool)}


@constraint_docs
def positives(samples: Samples) -> dict[str, np.ndarray]:
    """One cell with the positive class.

    {cell_signature}
    """
    return {"positives": samples.target > 0}


@constraint_docs
def negatives(samples: Samples) -> dict[str, np.ndarray]:
    """One cell with the negative class.

    {cell_signature}
    """
    return {"negatives": samples.target < 0}


@constraint_docs
def each_class(samples: Samples) -> dict[str, np.ndarray]:
    """The positive and the negative class as cells.

    {cell_signature}
    """
    return positives(samples) | negatives(samples)


def check_cells(cells, samples, constraint):
    """The cells of a constraint as boolean masks; others are refused."""
    cells = {name: np.asarray(inside) for name, inside in cells.items()}
    shape = samples.target.shape
    for name, inside in cells.items():
        if inside.dtype != bool or inside.shape != shape:
            raise ValueError(
                f"cells must be boolean masks of shape {shape}, one entry per sample that is "
                f"passed to cells, but the cell {name!r} of {constraint} is of type "
                f"{inside.dtype} and shape {inside.shape}. Make it from the argument of cells: a "
                "fit passes only the samples of its own fold, and of those only the ones of "
                "positive weight."
            )
    return cells


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
    order : ndarray of int, shape (n_events,)
        Positions of the events in reports, which sort the groups of a cell by label.
    blocks : list of tuples of int
        Events of the groups, one tuple per cell that has samples.
    overall : list of int
        Event of all samples of a cell, one per block; empty unless requested.
    empty : list of (str, object)
        Cells and groups without members.
    """

    events: Events
    counts: np.ndarray
    labels: list
    order: np.ndarray
    blocks: list
    overall: list
    empty: list


def cell_events(cells, samples, groups, with_overall=False):
    """The members of each group of samples within each cell, as `CellEvents`.

    `with_overall` adds an event of all samples of each cell.
    """
    # Memberships in groups, and at last in the set of all samples.
    n_samples, n_groups = len(samples.weights), len(groups.names)
    rows, sets = (slice(None), groups.codes) if groups.is_disjoint else groups.memberships
    n_sets = n_groups + with_overall
    if with_overall:
        all_rows = np.arange(n_samples)
        rows = np.concatenate((all_rows[rows], all_rows))
        sets = np.concatenate((sets, np.full(n_samples, n_groups)))
    memberships, counts, labels, blocks, overall, empty = [], [], [], [], [], []
    order = []
    for names, numbers in _divide(cells, n_samples):
        # Count the members of each group in each cell.
        shape, pairs = (len(names) + 1, n_sets), (numbers[rows], sets)
        n_rows = n_members = _count(pairs, shape)
        if samples.multiplicity is not None:
            n_members = _count(pairs, shape, samples.multiplicity[rows])
        event_of_pair = np.full(shape, -1)  # outside the cells
        for number, cell in enumerate(names, start=1):
            # Groups without members in the cell are no events.
            is_occupied = n_rows[number, :n_groups] > 0
            occupied = np.flatnonzero(is_occupied)
            empty += [(cell, groups.names[g]) for g in np.flatnonzero(~is_occupied)]
            if not len(occupied):
                continue
            present = np.flatnonzero(n_rows[number])
            event_of_pair[number, present] = len(labels) + np.arange(len(present))
            counts += n_members[number, present].tolist()
            blocks.append(tuple(range(len(labels), len(labels) + len(occupied))))
            order += (len(labels) + np.argsort(groups.ranks[occupied])).tolist()
            labels += [(cell, groups.names[g]) for g in occupied]
            if with_overall:
                order.append(len(labels))
                overall.append(len(labels))
                labels.append((cell, "overall"))
        memberships.append(_take_from(pairs, event_of_pair))
    events = _make_events(memberships, rows, len(labels), samples.weights)
    counts, order = np.array(counts, dtype=int), np.array(order, dtype=np.intp)
    return CellEvents(events, counts, labels, order, blocks, overall, empty)


def _divide(cells, n_samples):
    """Lists of disjoint cells, and the number of each sample's, from 1; 0 is in none of them."""
    numbers = np.zeros(n_samples, dtype=np.min_scalar_type(len(cells)))
    for number, inside in enumerate(cells.values(), start=1):
        numbers += numbers.dtype.type(number) * inside
    if np.count_nonzero(numbers) == sum(map(np.count_nonzero, cells.values())):
        return [([*cells], numbers)]
    return [([cell], inside.view(np.uint8)) for cell, inside in cells.items()]


def _keys(pairs, n_sets):
    """Rows, and one number for their cell and group, of each block: whole arrays take memory."""
    numbers, sets = pairs
    for start in range(0, len(sets), _BLOCK):
        rows = slice(start, start + _BLOCK)
        yield rows, numbers[rows] * np.intp(n_sets) + sets[rows]


def _count(pairs, shape, weights=None):
    """Number of memberships in each cell and group, or sum of their weights, as a table."""
    counts = np.zeros(shape[0] * shape[1])
    for rows, keys in _keys(pairs, shape[1]):
        counts += np.bincount(keys, None if weights is None else weights[rows], len(counts))
    return counts.astype(int).reshape(shape)


def _take_from(pairs, table):
    """Entry of a table for the cell and group of each membership."""
    if (table[-1] == np.arange(table.shape[1])).all() and pairs[0].all():
        return pairs[1]  # all samples in one cell: events are groups
    entries = np.empty(len(pairs[1]), dtype=np.intp)
    for rows, keys in _keys(pairs, table.shape[1]):
        entries[rows] = table.ravel()[keys]
    return entries


def _make_events(memberships, rows, n_events, weights):
    """Events from those of each membership within lists of cells; `rows` are the samples."""
    if len(memberships) == 1 and isinstance(rows, slice):
        return Events.disjoint(memberships[0], n_events, weights)
    inside = [np.flatnonzero(events >= 0) for events in memberships]
    events = np.concatenate([events[one] for events, one in zip(memberships, inside, strict=True)])
    all_rows = np.arange(len(weights))[rows]
    samples = np.concatenate([all_rows[one] for one in inside])
    # Disjoint events need one code per sample, which a second membership would overwrite.
    is_member = np.zeros(len(weights), dtype=bool)
    is_member[samples] = True
    if np.count_nonzero(is_member) == len(samples):
        codes = np.full(len(weights), -1)
        codes[samples] = events
        return Events.disjoint(codes, n_events, weights)
    # Order memberships by event; the stable sort of short integers is a radix sort.
    order = np.argsort(events.astype(np.min_scalar_type(n_events)), kind="stable")
    ends = np.cumsum(np.append(0, np.bincount(events, minlength=n_events)))
    present = np.ones(len(samples), dtype=bool), samples[order], ends
    return Events.overlapping(sparse.csc_array(present, shape=(len(weights), n_events)), weights)
