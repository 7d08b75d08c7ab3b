"""The cheapest assignment to fixed centres with bounds on sizes, by successive shortest paths."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from skfair._kernels.candidates import find_shortest_path
from skfair._kernels.sparse_samples import member_distances, squared_norms
from skfair._partitions.partitions import blocks

BLOCK_ROWS = 1024  # samples of which all distances are in memory at once


class Network(NamedTuple):
    """Places of clusters between their bounds, and how many samples are too many for them.

    The last node is a pool, from which clusters get places and to which they return them.
    """

    places: np.ndarray  # (n_clusters,)
    smallest: np.ndarray
    largest: np.ndarray
    excess: np.ndarray  # (n_clusters + 1,)


class Transport(NamedTuple):
    """The cheapest assignment, and multipliers of the bounds that prove it."""

    labels: np.ndarray
    multipliers: np.ndarray
    value: float  # its cost: the least of all assignments within the bounds


def solve_transport(
    X: np.ndarray, centers: np.ndarray, bounds: tuple[np.ndarray, ...], multipliers: np.ndarray
) -> Transport:
    """The cheapest assignment with minimum and maximum sizes of clusters.

    The nearer the ``multipliers`` are to those of the solution, the fewer paths are searched.
    """
    labels = _assign_to_reduced(X, centers, multipliers)
    n_clusters = len(centers)
    multipliers = _raise_multipliers(X, centers, multipliers, labels, bounds[1])
    network = _open_places(multipliers, np.bincount(labels, minlength=n_clusters), *bounds)
    potentials = np.append(multipliers, 0.0)
    lengths = np.empty(n_clusters + 1)
    previous = np.empty(n_clusters + 1, np.int64)
    arcs = None
    while network.excess.any():
        arcs = Arcs(X, centers, labels) if arcs is None else arcs
        end = find_shortest_path(
            arcs.costs,
            potentials,
            network.places < network.largest,
            network.places > network.smallest,
            network.excess,
            lengths,
            previous,
        )
        if end < 0:
            lowest, highest = np.sum(bounds, axis=1)
            raise ValueError(
                f"Bounds on sizes must leave places for {len(labels)} samples, but they are for "
                f"{lowest:g} to {highest:g}."
            )
        # Labels of least reduced cost stay so along shortest paths, if multipliers follow them.
        potentials -= np.minimum(lengths, lengths[end])
        _move_along_path(network, arcs, end, previous)
    multipliers = potentials[:-1] - potentials[-1]
    value = sum(
        member_distances(X[rows], centers, labels[rows]).sum()
        for rows in blocks(len(labels), BLOCK_ROWS)
    )
    return Transport(labels, multipliers, value)


class Arcs:
    """The member of each cluster that goes to each other one at the least change of the cost.

    Attributes
    ----------
    costs : ndarray of shape (n_clusters, n_clusters)
        Least change; infinite where there is no member, and on the diagonal.
    movers : ndarray of shape (n_clusters, n_clusters)
        The member.
    """

    def __init__(self, X: np.ndarray, centers: np.ndarray, labels: np.ndarray) -> None:
        shape = len(centers), len(centers)
        self.costs, self.movers = np.full(shape, np.inf), np.zeros(shape, np.int32)
        self._X, self._labels = X, labels
        self._squares = squared_norms(centers)
        self._factors = -2.0 * centers.T
        for cluster in range(len(centers)):
            self._fill(cluster, np.arange(len(centers)))

    def list_equal_movers(self, origin: int, goal: int, most: int) -> np.ndarray:
        """At most so many members equal to the mover, which all go at the same cost."""
        mover = self.movers[origin, goal]
        if most == 1 or sparse.issparse(self._X):
            return np.array([mover])
        members = np.flatnonzero(self._labels == origin)
        is_equal = self._X[members, 0] == self._X[mover, 0]
        members = members[is_equal]
        is_equal = (self._X[members] == self._X[mover]).all(axis=1)
        return members[is_equal][:most]

    def move(self, rows: np.ndarray, origin: int, goal: int) -> None:
        """Move equal samples from one cluster to another."""
        self._labels[rows] = goal
        self._fill(origin, np.flatnonzero(np.isin(self.movers[origin], rows)))
        sample = rows[0]
        # What the sample costs elsewhere, compared with the other members.
        costs = (self._X[[sample]] @ self._factors)[0] + self._squares
        costs -= costs[goal]
        costs[goal] = np.inf
        is_least = costs < self.costs[goal]
        self.costs[goal, is_least], self.movers[goal, is_least] = costs[is_least], sample

    def _fill(self, cluster: int, goals: np.ndarray) -> None:
        """Find the cheapest moves from a cluster to some others."""
        members = np.flatnonzero(self._labels == cluster)
        self.costs[cluster, goals] = np.inf
        if len(members) == 0:
            return
        X = self._X[members]
        factors = self._factors
        costs = X @ factors[:, goals] + self._squares[goals]
        costs -= (X @ factors[:, cluster] + self._squares[cluster])[:, np.newaxis]
        cheapest = costs.argmin(axis=0)
        self.movers[cluster, goals] = members[cheapest]
        self.costs[cluster, goals] = costs[cheapest, np.arange(len(goals))]
        self.costs[cluster, cluster] = np.inf


def _assign_to_reduced(X: np.ndarray, centers: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
    """The cluster of least squared distance plus multiplier, of each sample."""
    offsets = squared_norms(centers) + multipliers
    factors = -2.0 * centers.T
    labels = np.empty(X.shape[0], np.int32)
    for rows in blocks(len(labels), BLOCK_ROWS):
        labels[rows] = (X[rows] @ factors + offsets).argmin(axis=1)
    return labels


def _raise_multipliers(
    X: np.ndarray,
    centers: np.ndarray,
    multipliers: np.ndarray,
    labels: np.ndarray,
    largest: np.ndarray,
) -> np.ndarray:
    """Multipliers at which no cluster is far too large, if few steps lead to them.

    A step raises the multiplier of one cluster until as many members as are too many prefer another
    one, and moves them, in place. All labels stay those of the least distance plus multiplier.
    """
    multipliers = multipliers.copy()
    factors = -2.0 * centers.T
    squares = squared_norms(centers)
    for _ in range(len(centers)):
        excess = np.bincount(labels, minlength=len(centers)) - np.asarray(largest, dtype=np.int64)
        cluster = int(excess.argmax())
        n_leaving = excess[cluster]
        # Shortest paths move what exceeds a maximum size by at most a twentieth.
        if n_leaving <= 0.05 * largest[cluster]:
            break
        members = np.flatnonzero(labels == cluster)
        goals = np.empty(len(members), np.int32)
        margins = np.empty(len(members))
        for rows in blocks(len(members), BLOCK_ROWS):
            costs = X[members[rows]] @ factors + (squares + multipliers)
            here = costs[:, cluster].copy()
            costs[:, cluster] = np.inf
            goals[rows], margins[rows] = costs.argmin(axis=1), costs.min(axis=1) - here
        leaving = margins.argpartition(n_leaving - 1)[:n_leaving]
        multipliers[cluster] += max(margins[leaving].max(), 0.0)
        labels[members[leaving]] = goals[leaving]
    return multipliers


def _open_places(
    multipliers: np.ndarray, sizes: np.ndarray, smallest: np.ndarray, largest: np.ndarray
) -> Network:
    """As many places as multipliers of either sign require, and the pool."""
    places = np.where(multipliers > 0, largest, np.clip(sizes, smallest, largest))
    places = np.where(multipliers < 0, smallest, places).astype(np.int64)
    excess = np.append(sizes - places, places.sum() - sizes.sum())
    return Network(places, smallest, largest, excess)


def _move_along_path(network: Network, arcs: Arcs, end: int, previous: np.ndarray) -> None:
    """Move samples, or places, along each arc of the path to the end: as many as are equal."""
    pool = len(network.places)
    path = []
    goal = end
    while previous[end] >= 0:
        path.append((int(previous[end]), end))
        end = int(previous[end])
    # How many the start has too many, the end too few, and each arc may take.
    n_moved = min(network.excess[end], -network.excess[goal])
    movers = {}
    for start, stop in path:
        if stop == pool:
            n_moved = min(n_moved, network.largest[start] - network.places[start])
        elif start == pool:
            n_moved = min(n_moved, network.places[stop] - network.smallest[stop])
        else:
            movers[start, stop] = arcs.list_equal_movers(start, stop, int(n_moved))
            n_moved = min(n_moved, len(movers[start, stop]))
    n_moved = int(n_moved)
    for start, stop in path:
        if stop == pool:
            network.places[start] += n_moved
        elif start == pool:
            network.places[stop] -= n_moved
        else:
            arcs.move(movers[start, stop][:n_moved], start, stop)
    network.excess[end] -= n_moved
    network.excess[goal] += n_moved
