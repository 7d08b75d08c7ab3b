"""What clustering algorithms see of the data, and plain k-means on it."""

from typing import NamedTuple

import numpy as np
from sklearn.cluster import kmeans_plusplus
from sklearn.utils import check_array

from skfair._kernels.kmeans import nearest_centers, squared_distances
from skfair._kernels.local_search import cost_of, tabulate
from skfair.utils._balance import data_balance


class Samples(NamedTuple):
    """Rows to cluster, centred so that sums of squares lose no digits."""

    X: np.ndarray  # (n_samples, n_features) float64, C-contiguous
    weights: np.ndarray  # (n_samples,) float64, all positive
    codes: np.ndarray  # (n_samples,) intp in [0, n_groups)
    n_groups: int

    @property
    def group_weights(self):
        return np.bincount(self.codes, self.weights, minlength=self.n_groups)

    @property
    def balance(self):
        """The data's own balance r: what no clustering exceeds."""
        return data_balance(self.group_weights)

    @property
    def person(self):
        """The largest sample weight: how much one person may count in the balance."""
        return self.weights.max()

    def attainable_balance(self, n_clusters):
        """Balance that rounding to whole persons leaves room for, about half a person each."""
        group_weights = self.group_weights
        rounding = self.person * n_clusters / 2
        return max(0.0, min(self.balance, (group_weights.min() - rounding) / group_weights.max()))

    def tabulate(self, labels, n_clusters):
        """The clustering that the labels describe; its cells are recomputed from scratch."""
        return tabulate(self.X, self.weights, self.codes, labels, n_clusters, self.n_groups)

    def occupy(self, labels, centers):
        """The same, once every empty cluster has got the sample farthest from its own centre."""
        sizes = np.bincount(labels, minlength=len(centers))
        empty = list(np.flatnonzero(sizes == 0))
        if empty:
            labels = labels.copy()
            distances = self.weights * ((self.X - centers[labels]) ** 2).sum(axis=1)
            for p in np.argsort(-distances, kind="stable"):
                if empty and sizes[labels[p]] > 1:
                    sizes[labels[p]] -= 1
                    labels[p] = empty.pop(0)
        return self.tabulate(labels, len(centers))

    def thin(self, size, random_state):
        """About ``size`` of the samples, drawn by group and weighted up to each group's weight.

        A small group keeps at least ``size / (4 n_groups)`` members, or all it has.
        """
        n_samples = len(self.weights)
        if n_samples <= size:
            return self
        kept = []
        for g in range(self.n_groups):
            rows = np.flatnonzero(self.codes == g)
            share = max(size * len(rows) // n_samples, size // (4 * self.n_groups))
            kept.append(random_state.choice(rows, min(share, len(rows)), replace=False))
        rows = np.sort(np.concatenate(kept))
        codes = self.codes[rows]
        drawn = np.bincount(codes, self.weights[rows], minlength=self.n_groups)
        weights = self.weights[rows] * (self.group_weights / drawn)[codes]
        return Samples(self.X[rows], weights, codes, self.n_groups)


class Seeding(NamedTuple):
    """How many clusters, and where runs of k-means start."""

    n_clusters: int
    init: object  # as in sklearn.cluster.KMeans; an array is relative to the mean of the data
    n_init: int

    def draw(self, samples, random_state):
        """Starting centres of every run."""
        n_runs = self.n_init if isinstance(self.init, str) or callable(self.init) else 1
        return [self._centers(samples, random_state) for _ in range(n_runs)]

    def _centers(self, samples, random_state):
        X, weights, init = samples.X, samples.weights, self.init
        if isinstance(init, str) and init == "k-means++":
            return kmeans_plusplus(
                X, self.n_clusters, sample_weight=weights, random_state=random_state
            )[0]
        if isinstance(init, str):
            share = weights / weights.sum()
            return X[random_state.choice(len(X), self.n_clusters, replace=False, p=share)]
        if callable(init):
            init = init(X, self.n_clusters, random_state=random_state)
        return check_centers(init, (self.n_clusters, X.shape[1]))


def check_centers(centers, shape):
    """Finite starting centres of the right shape, as a new array."""
    centers = check_array(centers, dtype=np.float64, ensure_2d=False, input_name="init", copy=True)
    if centers.shape != shape:
        raise ValueError(
            f"init must give one centre per cluster, shape {shape}, but it has shape "
            f"{centers.shape}; change init or n_clusters."
        )
    return np.ascontiguousarray(centers)


class Effort(NamedTuple):
    """How long an algorithm goes on, and with how many threads."""

    max_iter: int
    tol: float  # relative gain of the cost at which it stops
    n_jobs: int | None


def lloyd(samples, centers, max_iter, tol):
    """Plain k-means from given centres.

    Stops when an iteration lowers the cost by no more than ``tol`` times the cost.
    """
    previous = np.inf
    for _ in range(max_iter):
        labels, distances = nearest_centers(samples.X, centers)
        clustering = samples.occupy(labels, centers)
        centers = clustering.centers
        cost = samples.weights @ distances
        if previous - cost <= tol * cost:
            break
        previous = cost
    return clustering


def relocate_centers(samples, clustering, patience, random_state):
    """Leave a poor local minimum of k-means by moving single centres (random swap, Franti 2018).

    Each trial takes the centre of one of the clusters that are cheapest to dissolve to a sample
    drawn by its squared distance to its own centre, makes three iterations of k-means, and keeps
    what they lead to if that is cheaper. Gives up after ``patience`` failures in a row.
    """
    X, weights = samples.X, samples.weights
    n_clusters = len(clustering.sizes)
    if n_clusters == 1:
        return clustering
    cost = cost_of(X, weights, clustering)
    cheapest, errors = _relocation_costs(samples, clustering.centers)
    failures = 0
    while failures < patience and cost > 0:
        centers = clustering.centers.copy()
        drawn = np.searchsorted(errors, random_state.uniform(0, errors[-1]), side="right")
        centers[random_state.choice(cheapest)] = X[min(drawn, len(X) - 1)]
        trial = lloyd(samples, centers, 3, 0.0)
        trial_cost = cost_of(X, weights, trial)
        if trial_cost < cost:
            clustering, cost, failures = trial, trial_cost, 0
            cheapest, errors = _relocation_costs(samples, clustering.centers)
        else:
            failures += 1
    return clustering


def _relocation_costs(samples, centers):
    """The third of the clusters that are cheapest to dissolve; the samples' costs, cumulated."""
    distances = squared_distances(samples.X, centers)
    nearest, second = np.partition(distances, 1, axis=1)[:, :2].T
    labels = distances.argmin(axis=1)
    removal = np.bincount(labels, samples.weights * (second - nearest), minlength=len(centers))
    cheapest = np.argsort(removal, kind="stable")[: max(2, len(centers) // 3)]
    return cheapest, np.cumsum(samples.weights * nearest)
