"""Small clusterings, and definitions of their cost, balance, moves and exchanges."""

from itertools import combinations
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from skfair._kernels.kmeans import KernelSamples, cluster_sums, clustering_from_sums
from skfair._kernels.limits import balance_limits


class Problem(NamedTuple):
    X: np.ndarray
    weights: np.ndarray
    codes: np.ndarray
    labels: np.ndarray
    n_clusters: int
    n_groups: int
    separate_masses: np.ndarray | None = None

    @property
    def masses(self):
        return self.weights if self.separate_masses is None else self.separate_masses

    @property
    def kernel_samples(self):
        return KernelSamples(self.X, self.masses, self.weights, self.codes)

    def clustering(self):
        """A new one, which kernels may change."""
        X, weights, codes, labels, n_clusters, n_groups, _ = self
        limits = balance_limits(n_groups)
        labels = np.array(labels, dtype=np.int32)
        sums = cluster_sums(X, self.masses, weights, codes, labels, n_clusters, limits)
        return clustering_from_sums(labels, sums)

    def replace_labels(self, labels):
        return self._replace(labels=np.array(labels))

    def distances(self):
        return ((self.X[:, None] - self.clustering().centers) ** 2).sum(axis=2)


def make_problem(rng, n_samples, n_clusters, n_groups, equal_weights=False):
    """Samples of all groups in all clusters, in random order."""
    X = rng.normal(size=(n_samples, 2))
    weights = np.ones(n_samples) if equal_weights else rng.uniform(0.5, 2.0, n_samples)
    codes = rng.permutation(np.arange(n_samples) % n_groups)
    labels = np.empty(n_samples, dtype=np.int32)
    for g in range(n_groups):
        labels[codes == g] = np.arange((codes == g).sum()) % n_clusters
    return Problem(X, weights, codes, labels, n_clusters, n_groups)


@st.composite
def problems(draw, equal_weights=False):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_clusters, n_groups = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    n_samples = draw(st.integers(2 * n_clusters * n_groups, 30))
    problem = make_problem(rng, n_samples, n_clusters, n_groups, equal_weights)
    if equal_weights or draw(st.booleans()):
        return problem
    return problem._replace(separate_masses=rng.uniform(0.1, 3.0, n_samples))


def cost_by_definition(problem):
    cost = 0.0
    for k in np.unique(problem.labels):
        x = problem.X[problem.labels == k]
        w = problem.masses[problem.labels == k]
        cost += w @ ((x - np.average(x, axis=0, weights=w)) ** 2).sum(axis=1)
    return cost


def ratios_by_definition(problem):
    """Balance of every cluster, 0 where a group is missing."""
    counts = np.zeros((problem.n_clusters, problem.n_groups))
    np.add.at(counts, (problem.labels, problem.codes), problem.weights)
    return counts.min(axis=1) / counts.max(axis=1)


def check_against_scratch(problem, clustering):
    """The tables that moves have updated are those of the labels."""
    recomputed = problem.replace_labels(clustering.labels).clustering()
    np.testing.assert_allclose(clustering.centers, recomputed.centers, atol=1e-10)
    np.testing.assert_allclose(clustering.sizes, recomputed.sizes, rtol=1e-12)
    np.testing.assert_allclose(clustering.counts, recomputed.counts, atol=1e-10)
    np.testing.assert_array_equal(clustering.members, recomputed.members)


def move_samples(problem, *changes):
    """The problem after samples went to other clusters."""
    labels = problem.labels.copy()
    for p, k in changes:
        labels[p] = k
    return problem.replace_labels(labels)


def is_allowed(problem, floor):
    """No cluster is empty and none is below the floor."""
    full = np.bincount(problem.labels, minlength=problem.n_clusters).all()
    return full and (floor == 0 or ratios_by_definition(problem).min() >= floor * (1 - 1e-12))


def all_moves(problem):
    for p in range(len(problem.X)):
        for k in range(problem.n_clusters):
            if k != problem.labels[p]:
                yield move_samples(problem, (p, k))


def all_exchanges(problem):
    labels = problem.labels
    for p, q in combinations(range(len(problem.X)), 2):
        if labels[p] != labels[q]:
            yield move_samples(problem, (p, labels[q]), (q, labels[p]))


def assert_none_is_cheaper(problem, neighbours, floor):
    least = cost_by_definition(problem)
    for neighbour in neighbours:
        if is_allowed(neighbour, floor):
            assert cost_by_definition(neighbour) >= least * (1 - 1e-9)
