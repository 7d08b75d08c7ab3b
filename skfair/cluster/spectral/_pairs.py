"""Pairs of samples that must be, or must not be, in one cluster."""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components


class Pairs(NamedTuple):
    """Pairs of samples; those that must be in one cluster are joined to units."""

    units: np.ndarray  # (n_samples,) unit of each sample, most of which are alone
    nodes: np.ndarray  # samples that occur in a pair
    cannot_link: np.ndarray  # (n_pairs, 2) samples

    @classmethod
    def check(cls, must_link, cannot_link, n_samples):
        """Checked pairs; None if there are none. Raises a ValueError if they contradict."""
        joined = _read_pairs("must_link", must_link, n_samples)
        parted = _read_pairs("cannot_link", cannot_link, n_samples)
        if not len(joined) + len(parted):
            return None
        links = sparse.coo_array((np.ones(len(joined)), joined.T), shape=(n_samples, n_samples))
        units = connected_components(links, directed=False)[1]
        for i, j in parted[units[parted[:, 0]] == units[parted[:, 1]]].tolist():
            raise ValueError(
                f"cannot_link has the pair {i, j}, but pairs of must_link join these samples, or "
                "they are one. Remove this pair, or one of those of must_link."
            )
        return cls(units, np.unique(np.concatenate([joined, parted])), parted)

    def columns(self, degrees):
        """The columns that embeddings with equal coordinates of each unit are orthogonal to."""
        nodes = np.arange(len(self.units))
        first = np.unique(self.units, return_index=True)[1][self.units]
        others = np.flatnonzero(nodes != first)
        columns, places = np.zeros((len(nodes), len(others))), np.arange(len(others))
        columns[others, places] = 1 / np.sqrt(degrees[others])
        columns[first[others], places] = -1 / np.sqrt(degrees[first[others]])
        return columns

    def assign(self, clustering):
        """Labels that keep the pairs: each unit joins a cluster of strong links to it.

        Units of many pairs of ``cannot_link`` come first, then those whose cluster is the clearest.
        One whose pairs leave it no cluster breaks some of them.
        """
        strengths = clustering.links / np.maximum(clustering.volumes, np.finfo(float).tiny)
        scores = np.zeros((self.units.max() + 1, strengths.shape[1]))
        np.add.at(scores, self.units, strengths)
        rivals = {unit: [] for unit in np.unique(self.units[self.nodes]).tolist()}
        for u, v in self.units[self.cannot_link].tolist():
            rivals[u].append(v)
            rivals[v].append(u)
        clusters, n_clusters = {}, scores.shape[1]
        ranked = np.sort(scores, axis=1)
        clear = ranked[:, -1] - ranked[:, -min(2, n_clusters)]
        for unit in sorted(rivals, key=lambda u: (len(rivals[u]) < n_clusters, -clear[u])):
            taken = {clusters[other] for other in rivals[unit] if other in clusters}
            if len(taken) < n_clusters:
                scores[unit, [*taken]] = -1.0
            clusters[unit] = int(scores[unit].argmax())
        labels = clustering.labels.copy()
        labels[self.nodes] = [clusters[unit] for unit in self.units[self.nodes].tolist()]
        return labels

    def find_broken(self, labels):
        """The pairs of ``cannot_link`` in one cluster, as a list of tuples."""
        first, second = labels[self.cannot_link].T
        return [*map(tuple, self.cannot_link[first == second].tolist())]


def _read_pairs(name, pairs, n_samples):
    """Pairs as an array of row numbers, (n_pairs, 2)."""
    pairs = np.asarray([] if pairs is None else pairs)
    if not pairs.size:
        return np.empty((0, 2), dtype=np.intp)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must have two row numbers in each line, shape (n_pairs, 2), but has shape "
            f"{pairs.shape} and dtype {pairs.dtype}."
        )
    for i, j in pairs[((pairs < 0) | (pairs >= n_samples)).any(axis=1)].tolist():
        raise ValueError(
            f"{name} has the pair {i, j}, but X has {n_samples} rows, numbered from 0. Pairs are "
            "of rows of the complete X: do not pass them to a cross-validation, which fits subsets "
            "of its rows."
        )
    return pairs.astype(np.intp)
