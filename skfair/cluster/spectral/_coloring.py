"""Clusters of units of which pairs must be apart: a graph colouring with preferences.

Colours are clusters. Units are coloured greedily, the one with the fewest clusters left first
(Brelaz 1979). Where none is left, chains of two colours are swapped to free one (Kempe 1879), and
then branch and bound looks for a colouring.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

NO_CLUSTER = -1  # marks a unit that is not assigned yet


class Coloring(NamedTuple):
    """Clusters of the units of a connected component, changed in place."""

    scores: np.ndarray  # (n_units, n_clusters) how much each unit prefers each cluster
    rivals: list[np.ndarray]  # by unit: those that may not be in its cluster
    clusters: np.ndarray  # (n_units,) NO_CLUSTER before a unit has one
    taken: np.ndarray  # (n_units, n_clusters) number of rivals in each cluster

    @classmethod
    def start(cls, scores: np.ndarray, rivals: list[np.ndarray]) -> "Coloring":
        """Units without clusters."""
        return cls(scores, rivals, np.full(len(scores), NO_CLUSTER), np.zeros(scores.shape, int))

    def assign(self, unit: int, cluster: int) -> None:
        """Assign a unit, or take its cluster away."""
        previous = self.clusters[unit]
        if previous != NO_CLUSTER:
            self.taken[self.rivals[unit], previous] -= 1
        if cluster != NO_CLUSTER:
            self.taken[self.rivals[unit], cluster] += 1
        self.clusters[unit] = cluster

    def choose_next(self) -> int:
        """The unit with the fewest clusters left, then of many rivals, then the clearest."""
        units = np.flatnonzero(self.clusters == NO_CLUSTER)
        n_clusters = self.scores.shape[1]
        n_left = (self.taken[units] == 0).sum(axis=1)
        is_free = np.array([len(self.rivals[unit]) < n_clusters for unit in units])
        ranked = np.sort(self.scores[units], axis=1)
        clear = ranked[:, -1] - ranked[:, -min(2, n_clusters)]
        return int(units[np.lexsort((-clear, is_free, n_left))[0]])

    def list_clusters(self, unit: int) -> list[int]:
        """Clusters without rivals of a unit, the preferred one first."""
        order = np.argsort(-self.scores[unit], kind="stable")
        return order[self.taken[unit, order] == 0].tolist()

    def free_by_chain(self, unit: int) -> bool:
        """Swap chains of two clusters so that a cluster is left for a unit, if that can be."""
        order = np.argsort(-self.scores[unit], kind="stable").tolist()
        for freed in order:
            for other in order:
                chain = None if other == freed else self.find_chain(unit, freed, other)
                if chain is None:
                    continue
                for member in chain:
                    self.assign(member, freed + other - self.clusters[member])
                return True
        return False

    def find_chain(self, unit: int, freed: int, other: int) -> list[int] | None:
        """The units that have to swap two clusters; None if a rival would come into the first."""
        waiting = [u for u in self.rivals[unit].tolist() if self.clusters[u] == freed]
        rivals = set(self.rivals[unit].tolist())
        chain = set(waiting)
        while waiting:
            member = waiting.pop()
            if member in rivals and self.clusters[member] == other:
                return None
            for u in self.rivals[member].tolist():
                if self.clusters[u] in (freed, other) and u not in chain:
                    chain.add(u)
                    waiting.append(u)
        return sorted(chain)


def color_units(scores: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Cluster of each unit, (n_units,): preferred ones in which no pair meets, if any are found.

    ``scores`` are (n_units, n_clusters), and ``pairs`` of units (n_pairs, 2).
    """
    n_units = len(scores)
    both = np.vstack([pairs, pairs[:, ::-1]])
    links = sparse.csr_array((np.ones(len(both)), both.T), shape=(n_units, n_units))
    links.sum_duplicates()
    n_components, components = connected_components(links, directed=False)
    clusters = np.empty(n_units, dtype=np.intp)
    for component in range(n_components):
        units = np.flatnonzero(components == component)
        within = links[units][:, units]
        rivals = np.split(within.indices, within.indptr[1:-1])
        clusters[units] = color_component(scores[units], rivals)
    return clusters


def color_component(scores: np.ndarray, rivals: list[np.ndarray]) -> np.ndarray:
    """Clusters of the units of a component; where no colouring is found some rivals meet."""
    coloring = Coloring.start(scores, rivals)
    is_proper = True
    for _ in range(len(scores)):
        unit = coloring.choose_next()
        if not (coloring.taken[unit] == 0).any():
            coloring.free_by_chain(unit)
        clusters = coloring.list_clusters(unit)
        is_proper &= bool(clusters)
        coloring.assign(unit, clusters[0] if clusters else int(scores[unit].argmax()))
    if is_proper:
        return coloring.clusters
    exact = search_coloring(scores, rivals)
    return coloring.clusters if exact is None else exact


def search_coloring(scores: np.ndarray, rivals: list[np.ndarray]) -> np.ndarray | None:
    """Clusters in which no rivals meet, by branch and bound; None if none were found."""
    coloring = Coloring.start(scores, rivals)
    choices: list[tuple[int, list[int]]] = []
    # A step compares all units of the component.
    n_left = min(10_000, 2_000_000 // len(scores))
    while n_left > 0:
        if (coloring.clusters != NO_CLUSTER).all():
            return coloring.clusters
        unit = coloring.choose_next()
        choices.append((unit, coloring.list_clusters(unit)))
        # Go back to the last unit that has another cluster left.
        while choices:
            unit, clusters = choices[-1]
            coloring.assign(unit, NO_CLUSTER)
            if clusters:
                break
            choices.pop()
        if not choices:
            return None
        coloring.assign(unit, clusters.pop(0))
        n_left -= 1
    return None
