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
    members : csr_array of bool, shape (n_events, n_samples)
        Samples of each event.
    labels : list of (str, object)
        Cell and group of each event; the group is "overall" for all samples of the cell.
    blocks : list of tuples of int
        Events of the groups, one tuple per cell that has samples.
    overall : list of int
        Event of all samples of a cell, one per block; empty unless requested.
    empty : list of (str, object)
        Cells and groups without members.
    """

    members: sparse.csr_array
    labels: list
    blocks: list
    overall: list
    empty: list

    @property
    def counts(self):
        """Rows in each event, (n_events,)."""
        return np.diff(self.members.indptr)

    def count(self, samples):
        """Samples in each event, (n_events,), where a row may stand for many."""
        return self.counts if samples.multiplicity is None else self.members @ samples.multiplicity

    def to_events(self, weights):
        """The `Events` with sample weights; disjoint ones, which are faster, where they are."""
        # Disjoint events need one code per sample, which a second membership would overwrite.
        n_events, n_samples = self.members.shape
        rows = self.members.indices
        codes = np.full(n_samples, -1)
        for event, members in enumerate(np.split(rows, self.members.indptr[1:-1])):
            codes[members] = event
        if np.count_nonzero(codes >= 0) < len(rows):  # a sample is in several
            return Events.overlapping(self.members.T, weights)
        return Events.disjoint(codes, n_events, weights)


def cell_events(cells, groups, with_overall=False):
    """The members of each group within each cell, as `CellEvents`.

    `with_overall` adds an event of all samples of each cell.
    """
    # Rows of the groups, and at last one of all samples.
    by_group, n_groups = sparse.csr_array(groups.matrix.T), len(groups.names)
    n_samples = by_group.shape[1]
    if with_overall:
        overall_row = sparse.csr_array(np.ones((1, n_samples), dtype=bool))
        by_group = sparse.csr_array(sparse.vstack((by_group, overall_row)))
    rows, counts = [np.empty(0, dtype=by_group.indices.dtype)], []
    labels, blocks, overall, empty = [], [], [], []
    for cell, inside in cells.items():
        # Count the members of each group in the cell; empty ones are no events.
        is_inside = inside[by_group.indices]
        of_group = map(slice, by_group.indptr[:-1], by_group.indptr[1:])
        n_members = np.array([np.count_nonzero(is_inside[entries]) for entries in of_group])
        occupied = np.flatnonzero(n_members[:n_groups])
        empty += [(cell, groups.names[g]) for g in np.flatnonzero(n_members[:n_groups] == 0)]
        if not len(occupied):
            continue
        blocks.append(tuple(range(len(labels), len(labels) + len(occupied))))
        labels += [(cell, groups.names[g]) for g in occupied]
        if with_overall:
            overall.append(len(labels))
            labels.append((cell, "overall"))
        # Positions are found without branches, which masks of random samples would mispredict.
        rows.append(by_group.indices[np.flatnonzero(is_inside)])
        counts += n_members[n_members > 0].tolist()
    rows, indptr = np.concatenate(rows), np.cumsum([0, *counts])
    # Entries lie event by event, as compressed rows.
    present = (np.ones(len(rows), dtype=bool), rows, indptr)
    members = sparse.csr_array(present, shape=(len(labels), n_samples))
    return CellEvents(members, labels, blocks, overall, empty)
