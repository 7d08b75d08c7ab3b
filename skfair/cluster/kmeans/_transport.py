"""The cheapest assignment to fixed centres with bounds on sizes, by successive shortest paths."""

from typing import NamedTuple

import numpy as np

from skfair._kernels.candidates import find_shortest_paths
from skfair._kernels.sparse_samples import member_distances, squared_norms


BLOCK_ROWS = 1024  # samples of which all distances are in memory at once


class Arcs(NamedTuple):
    """The member of each cluster that goes to each other one at the least change of the cost."""

    costs: np.ndarray  # (n_clusters, n_clusters), inf where there is none
    movers: np.ndarray  # (n_clusters, n_clusters) int32


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
    value: float  # least cost of all assignments within the bounds, up to rounding from below


def solve_transport(X, centers, bounds, multipliers):
    """The cheapest assignment with minimum and maximum sizes of clusters.

    The nearer the ``multipliers`` are to those of the solution, the fewer paths are searched.
    """
    labels, n_clusters = _assign_to_reduced(X, centers, multipliers), len(centers)
    network = _open_places(multipliers, np.bincount(labels, minlength=n_clusters), *bounds)
    shape = n_clusters, n_clusters
    arcs = Arcs(np.full(shape, np.inf), np.zeros(shape, np.int32))
    squares, factors = squared_norms(centers), -2.0 * centers.T
    potentials, touched = np.append(multipliers, 0.0), np.arange(n_clusters)
    lengths, previous = np.empty(n_clusters + 1), np.empty(n_clusters + 1, np.int64)
    while True:
        for cluster in touched:
            members = np.flatnonzero(labels == cluster)
            _fill_arcs(arcs, cluster, members, X[members] @ factors + squares)
        if not network.excess.any():
            break
        find_shortest_paths(
            arcs.costs,
            potentials,
            network.places < network.largest,
            network.places > network.smallest,
            network.excess > 0,
            lengths,
            previous,
        )
        # Labels of least reduced cost stay so along shortest paths, if multipliers follow them.
        touched, longest = _move_along_paths(network, arcs.movers, lengths, previous, labels)
        potentials -= np.minimum(lengths, longest)
    multipliers = potentials[:-1] - potentials[-1]
    return Transport(labels, multipliers, _sum_costs(X, centers, labels))


def _assign_to_reduced(X, centers, multipliers):
    """The cluster of least squared distance plus multiplier, of each sample."""
    offsets, factors = squared_norms(centers) + multipliers, -2.0 * centers.T
    labels = np.empty(X.shape[0], np.int32)
    for begin in range(0, len(labels), BLOCK_ROWS):
        rows = slice(begin, begin + BLOCK_ROWS)
        labels[rows] = (X[rows] @ factors + offsets).argmin(axis=1)
    return labels


def _sum_costs(X, centers, labels):
    """Sum of the squared distances of samples to the centres of their clusters."""
    blocks = (slice(begin, begin + BLOCK_ROWS) for begin in range(0, len(labels), BLOCK_ROWS))
    return sum(member_distances(X[rows], centers, labels[rows]).sum() for rows in blocks)


def _open_places(multipliers, sizes, smallest, largest):
    """As many places as multipliers of either sign require, and the pool."""
    places = np.where(multipliers > 0, largest, np.clip(sizes, smallest, largest))
    places = np.where(multipliers < 0, smallest, places).astype(np.int64)
    excess = np.append(sizes - places, places.sum() - sizes.sum())
    return Network(places, smallest, largest, excess)


def _fill_arcs(arcs, cluster, members, changes):
    """The cheapest moves from a cluster, of whose members all costs are known up to a constant."""
    arcs.costs[cluster] = np.inf
    if len(members) > 0:
        changes -= changes[:, cluster, np.newaxis].copy()
        cheapest = changes.argmin(axis=0)
        arcs.movers[cluster] = members[cheapest]
        arcs.costs[cluster] = changes[cheapest, np.arange(changes.shape[1])]
        arcs.costs[cluster, cluster] = np.inf


def _move_along_paths(network, movers, lengths, previous, labels):
    """Move a sample, or a place, along each arc of paths that share no cluster.

    All paths are shortest ones of one search. Returns the clusters whose members changed, and the
    greatest length of a path.
    """
    pool = len(network.places)
    is_used, longest = np.zeros(pool + 1, bool), 0.0
    ends = np.flatnonzero((network.excess < 0) & (lengths < np.inf))
    for end in ends[lengths[ends].argsort()]:
        path = [end]
        while previous[path[-1]] >= 0:
            path.append(previous[path[-1]])
        if is_used[path].any() or network.excess[path[-1]] <= 0:
            continue
        for goal, start in zip(path, path[1:], strict=False):
            if goal == pool:
                network.places[start] += 1
            elif start == pool:
                network.places[goal] -= 1
            else:
                labels[movers[start, goal]] = goal
        network.excess[end] += 1
        network.excess[path[-1]] -= 1
        is_used[path], longest = True, max(longest, lengths[end])
        is_used[pool] = False
    return np.flatnonzero(is_used[:pool]), longest
