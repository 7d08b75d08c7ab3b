"""Cells, the samples that a constraint looks at, and its events: every group within every cell."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from skfair.groups import Events


def everybody(people):
    """Everybody in one cell.

    Parameters
    ----------
    people : Samples
        Targets (classes -1 and +1), groups and weights.

    Returns
    -------
    cells : dict of str to ndarray of bool, shape (n_samples,)
        Name of a cell -> who is in it.
    """
    return {"all": np.ones(len(people.target), dtype=bool)}


def positives(people):
    """The positive class.

    Parameters
    ----------
    people : Samples
        Targets (classes -1 and +1), groups and weights.

    Returns
    -------
    cells : dict of str to ndarray of bool, shape (n_samples,)
        Name of a cell -> who is in it.
    """
    return {"positives": people.target > 0}


def negatives(people):
    """The negative class.

    Parameters
    ----------
    people : Samples
        Targets (classes -1 and +1), groups and weights.

    Returns
    -------
    cells : dict of str to ndarray of bool, shape (n_samples,)
        Name of a cell -> who is in it.
    """
    return {"negatives": people.target < 0}


def each_class(people):
    """The positive and the negative class.

    Parameters
    ----------
    people : Samples
        Targets (classes -1 and +1), groups and weights.

    Returns
    -------
    cells : dict of str to ndarray of bool, shape (n_samples,)
        Name of a cell -> who is in it.
    """
    return positives(people) | negatives(people)


def check_cells(cells, people, constraint):
    """Refuse cells that are not masks of the people.

    Parameters
    ----------
    cells : dict of str to array-like
        What `Constraint.cells` returned.
    people : Samples
        Whom it was asked about.
    constraint : Constraint
        Named in the message.

    Returns
    -------
    cells : dict of str to ndarray of bool, shape (n_samples,)

    Raises
    ------
    ValueError
        If a cell is not a boolean mask with one entry per person.
    """
    cells, shape = {name: np.asarray(inside) for name, inside in cells.items()}, people.target.shape
    for name, inside in cells.items():
        if inside.dtype != bool or inside.shape != shape:
            raise ValueError(
                f"cells must be boolean masks of shape {shape}, one entry for each of the people "
                f"that it is given, but the cell {name!r} of {constraint} is of type "
                f"{inside.dtype} and shape {inside.shape}. Make it from the argument of cells: a "
                "fit gives it only the samples of its own fold, and of those only the ones of "
                "positive weight."
            )
    return cells


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

    def counted(self, people):
        """People in each event, (n_events,), of whom one may stand for many."""
        return self.counts if people.multiplicity is None else self.members @ people.multiplicity

    def weighted(self, weights):
        """Weighted means over the events.

        Parameters
        ----------
        weights : ndarray of shape (n_samples,)
            Positive sample weights.

        Returns
        -------
        events : Events
            Disjoint ones if nobody is in two, which are the faster ones.
        """
        n_events, n_samples = self.members.shape
        samples = self.members.indices
        codes = np.full(n_samples, -1)
        codes[samples] = np.repeat(np.arange(n_events), self.counts)
        if np.count_nonzero(codes >= 0) < len(samples):  # somebody is in several
            return Events.overlapping(self.members.T, weights)
        return Events.disjoint(codes, n_events, weights)


def cell_events(cells, groups, with_overall):
    """Select each group's members within each cell.

    Parameters
    ----------
    cells : dict of str to ndarray of bool, shape (n_samples,)
        Who is in which cell.
    groups : Groups
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
        of_group = map(slice, by_group.indptr[:-1], by_group.indptr[1:])
        n_members = np.array([np.count_nonzero(kept[own]) for own in of_group])
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
