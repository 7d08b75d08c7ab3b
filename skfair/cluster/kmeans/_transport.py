"""The cheapest assignment to fixed centres with bounds on sizes, by successive shortest paths."""

from typing import NamedTuple

import numpy as np

from skfair._kernels.candidates import Network, assign_to_places, fill_places
from skfair._kernels.sparse_samples import member_distances, squared_norms
from skfair._partitions.partitions import blocks

BLOCK_ROWS = 1024  # samples of which all distances are in memory at once


class Transport(NamedTuple):
    """The cheapest assignment, and multipliers of the bounds that prove it."""

    labels: np.ndarray
    multipliers: np.ndarray
    value: float  # its cost: the least of all assignments within the bounds


def solve_transport(
    X: np.ndarray,
    centers: np.ndarray,
    bounds: tuple[np.ndarray, ...],
    multipliers: np.ndarray,
) -> Transport:
    """The cheapest assignment with minimum and maximum sizes of clusters.

    The nearer the ``multipliers`` are to those of the solution, the fewer paths are searched.
    """
    labels = _assign_to_reduced(X, centers, multipliers, bounds[1])
    n_clusters = len(centers)
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


def _assign_to_reduced(
    X: np.ndarray,
    centers: np.ndarray,
    multipliers: np.ndarray,
    largest: np.ndarray,
) -> np.ndarray:
    """The cluster of least squared distance plus multiplier, of each sample.

    Of clusters that are equal up to rounding it is the one with most places.
    """
    squares = squared_norms(centers)
    offsets = squares + multipliers
    factors = -2.0 * centers.T
    labels = np.empty(X.shape[0], np.int32)
    places = largest.astype(np.int64)
    tolerance = 1e-12 * squares.max()
    for rows in blocks(len(labels), BLOCK_ROWS):
        assign_to_places(X[rows] @ factors + offsets, places, tolerance, labels[rows])
    return labels


def _open_places(
    multipliers: np.ndarray, sizes: np.ndarray, smallest: np.ndarray, largest: np.ndarray
) -> Network:
    """As many places as multipliers of either sign require, and the pool."""
    places = np.where(multipliers > 0, largest, np.clip(sizes, smallest, largest))
    places = np.where(multipliers < 0, smallest, places).astype(np.int64)
    excess = np.append(sizes - places, places.sum() - sizes.sum())
    return Network(places, smallest, largest, excess)
