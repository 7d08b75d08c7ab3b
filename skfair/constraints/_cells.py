"""Cells, the samples that a constraint looks at, and its events: every group within every cell."""

from typing import NamedTuple

import numpy as np
from scipy import sparse


def everybody(target):
    """Everybody in one cell.

    Parameters
    ----------
    target : ndarray of shape (n_samples,)
        Classes -1 and +1.

    Returns
    -------
    cells : dict of str to ndarray of bool, shape (n_samples,)
        Name of a cell -> who is in it.
    """
    return {"all": np.ones(len(target), dtype=bool)}


def positives(target):
    """The positive class.

    Parameters
    ----------
    target : ndarray of shape (n_samples,)
        Classes -1 and +1.

    Returns
    -------
    cells : dict of str to ndarray of bool, shape (n_samples,)
        Name of a cell -> who is in it.
    """
    return {"positives": target > 0}


def negatives(target):
    """The negative class.

    Parameters
    ----------
    target : ndarray of shape (n_samples,)
        Classes -1 and +1.

    Returns
    -------
    cells : dict of str to ndarray of bool, shape (n_samples,)
        Name of a cell -> who is in it.
    """
    return {"negatives": target < 0}


def each_class(target):
    """The positive and the negative class.

    Parameters
    ----------
    target : ndarray of shape (n_samples,)
        Classes -1 and +1.

    Returns
    -------
    cells : dict of str to ndarray of bool, shape (n_samples,)
        Name of a cell -> who is in it.
    """
    return positives(target) | negatives(target)


class CellEvents(NamedTuple):
    """Groups within cells, each with somebody in it; made by `cell_events`.

    Attributes
    ----------
    members : csr_array of bool, shape (n_events, n_samples)
        Who is in which event.
    names : list of (str, object)
        Cell and group of each event; the group is "overall" for everybody in the cell.
    blocks : list of tuples of int
        Events of the groups, one tuple per cell in which there is anybody.
    overall : list of int
        Event of everybody, one per block; empty unless it was asked for.
    empty : list of (str, object)
        Cells and groups without members.
    """

    members: sparse.csr_array
    names: list
    blocks: list
    overall: list
    empty: list

    @property
    def counts(self):
        """Samples in each event, (n_events,)."""
        return np.diff(self.members.indptr)


def cell_events(cells, groups, with_overall):
    """Select each group's members within each cell.

    Parameters
    ----------
    cells : dict of str to ndarray of bool, shape (n_samples,)
        Who is in which cell.
    groups : Memberships
        Who belongs to which group.
    with_overall : bool
        Whether everybody in a cell is an event too.

    Returns
    -------
    events : CellEvents
    """
    by_group, n_groups = sparse.csr_array(groups.matrix.T), len(groups.names)
    n_samples = by_group.shape[1]
    if with_overall:
        everybody = sparse.csr_array(np.ones((1, n_samples), dtype=bool))
        by_group = sparse.csr_array(sparse.vstack((by_group, everybody)))
    samples, counts = [np.empty(0, dtype=by_group.indices.dtype)], []
    names, blocks, overall, empty = [], [], [], []
    for cell, inside in cells.items():
        kept = inside[by_group.indices]
        n_members = np.diff(np.concatenate(([0], np.cumsum(kept)))[by_group.indptr])
        occupied = np.flatnonzero(n_members[:n_groups])
        empty += [(cell, groups.names[g]) for g in np.flatnonzero(n_members[:n_groups] == 0)]
        if not len(occupied):
            continue
        blocks.append(tuple(range(len(names), len(names) + len(occupied))))
        names += [(cell, groups.names[g]) for g in occupied]
        if with_overall:
            overall.append(len(names))
            names.append((cell, "overall"))
        samples.append(by_group.indices[kept])
        counts += n_members[n_members > 0].tolist()
    samples, indptr = np.concatenate(samples), np.cumsum([0, *counts])
    present = (np.ones(len(samples), dtype=bool), samples, indptr)
    members = sparse.csr_array(present, shape=(len(names), n_samples))
    return CellEvents(members, names, blocks, overall, empty)
