"""Cells, the samples that a constraint compares, and its events: every group within every cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from skfair.constraints._docstrings import constraint_docs
from skfair.groups import Events

if TYPE_CHECKING:
    from skfair.groups import Samples


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
        everyone = np.arange(n_samples)
        rows = np.concatenate((everyone[rows], everyone))
        sets = np.concatenate((sets, np.full(n_samples, n_groups)))
    memberships, counts, labels, blocks, overall, empty = [], [], [], [], [], []
    for cell, inside in cells.items():
        # Count the members of each group in the cell; empty ones are no events.
        keys = sets + n_sets * inside[rows]
        n_members = np.bincount(keys, minlength=2 * n_sets)[n_sets:]
        occupied = np.flatnonzero(n_members[:n_groups])
        empty += [(cell, groups.names[g]) for g in np.flatnonzero(n_members[:n_groups] == 0)]
        if not len(occupied):
            continue
        # Event of each membership; -1 outside the cell.
        event_of_key = np.full(2 * n_sets, -1)
        present = np.flatnonzero(n_members)
        event_of_key[n_sets + present] = len(labels) + np.arange(len(present))
        memberships.append(event_of_key[keys])
        if samples.multiplicity is not None:
            n_members = np.bincount(keys, samples.multiplicity[rows], 2 * n_sets)[n_sets:]
        counts += n_members[present].astype(int).tolist()
        blocks.append(tuple(range(len(labels), len(labels) + len(occupied))))
        labels += [(cell, groups.names[g]) for g in occupied]
        if with_overall:
            overall.append(len(labels))
            labels.append((cell, "overall"))
    events = _make_events(memberships, rows, len(labels), samples.weights)
    return CellEvents(events, np.array(counts, dtype=int), labels, blocks, overall, empty)


def _make_events(memberships, rows, n_events, weights):
    """Events from those of each membership within each cell, of which `rows` are the samples."""
    # Disjoint events need one code per sample, which a second membership would overwrite.
    codes = np.full(len(weights), -1)
    for events in memberships:
        codes[rows] = np.maximum(codes[rows], events)
    n_members = sum(np.count_nonzero(events >= 0) for events in memberships)
    if np.count_nonzero(codes >= 0) == n_members:
        return Events.disjoint(codes, n_events, weights)
    inside = [np.flatnonzero(events >= 0) for events in memberships]
    samples = np.concatenate([np.arange(len(weights))[rows][one] for one in inside])
    events = np.concatenate([own[one] for own, one in zip(memberships, inside, strict=True)])
    present = np.ones(len(samples), dtype=bool), (samples, events)
    return Events.overlapping(sparse.csc_array(present, shape=(len(weights), n_events)), weights)

