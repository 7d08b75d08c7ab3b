"""The cheapest assignment to fixed centres with bounds on sizes, by successive shortest paths."""

from typing import NamedTuple

import numpy as np

from skfair._kernels.candidates import Network, fill_places
from skfair._kernels.sparse_samples import member_distances, squared_norms
from skfair._partitions.partitions import blocks

BLOCK_ROWS = 1024  # samples of which all distances are in memory at once


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
    if not fill_places(X, centers, squared_norms(centers), labels, potentials, network):
        lowest, highest = np.sum(bounds, axis=1)
        raise ValueError(
            f"Bounds on sizes must leave places for {len(labels)} samples, but they are for "
            f"{lowest:g} to {highest:g}."
        )
    multipliers = potentials[:-1] - potentials[-1]
    value = sum(
        member_distances(X[rows], centers, labels[rows]).sum()
        for rows in blocks(len(labels), BLOCK_ROWS)
    )
    return Transport(labels, multipliers, value)


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
