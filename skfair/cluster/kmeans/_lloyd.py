"""Plain k-means: starting centres, Lloyd iterations, and single centres that are relocated."""

from operator import itemgetter
from typing import NamedTuple

import numpy as np
from sklearn.cluster import kmeans_plusplus
from sklearn.utils import check_array

from skfair._kernels.kmeans import assign_nearest, squared_distances

MIN_GAIN = 1e-9  # share of the cost that is more than rounding


class Runs(NamedTuple):
    """How k-means is run: number of clusters, where runs start, when they end."""

    n_clusters: int
    init: object = "k-means++"  # as in sklearn's KMeans; an array is relative to the mean
    n_init: int = 10
    max_iter: int = 300
    tol: float = 1e-5  # relative gain of the cost at which a run stops

    def starts(self, samples, random_state):
        """Starting centres of every run."""
        n_runs = self.n_init if isinstance(self.init, str) or callable(self.init) else 1
        return [self._centers(samples, random_state) for _ in range(n_runs)]

    def _centers(self, samples, random_state):
        X, masses, init = samples.X, samples.masses, self.init
        if isinstance(init, str) and init == "k-means++":
            return kmeans_plusplus(
                X, self.n_clusters, sample_weight=masses, random_state=random_state
            )[0]
        if isinstance(init, str):
            # Random samples, drawn by mass.
            share = masses / masses.sum()
            return X[random_state.choice(len(X), self.n_clusters, replace=False, p=share)]
        if callable(init):
            init = init(X, self.n_clusters, random_state=random_state)
        return check_centers(init, (self.n_clusters, X.shape[1]))


def check_runs(parameters, mean):
    """The runs of an estimator's parameters, on data from which a mean is subtracted."""
    init = parameters.init
    if not (isinstance(init, str) or callable(init)):
        init = check_centers(init, (parameters.n_clusters, len(mean))) - mean
    return Runs(parameters.n_clusters, init, parameters.n_init, parameters.max_iter, parameters.tol)


def check_centers(centers, shape):
    """Finite starting centres of the right shape, as a new array."""
    centers = check_array(centers, dtype=np.float64, ensure_2d=False, input_name="init", copy=True)
    if centers.shape != shape:
        raise ValueError(
            f"init must give one centre per cluster, shape {shape}, but it has shape "
            f"{centers.shape}; change init or n_clusters."
        )
    return np.ascontiguousarray(centers)


def lloyd(samples, centers, max_iter, tol):
    """The clustering of plain k-means from given centres, by mass; see `iterate_lloyd`."""
    labels, _, _ = iterate_lloyd(samples, centers, max_iter, tol)
    return samples.tabulate(labels, len(centers))


def iterate_lloyd(samples, centers, max_iter, tol):
    """Labels of plain k-means from given centres, by mass, the means of their clusters, the cost.

    Stops when an iteration lowers the cost by no more than ``tol`` times the cost.
    """
    previous, partitions = np.inf, samples.partitions
    for _ in range(max_iter):
        # Nearest centres, then means; empty clusters get the farthest samples.
        assigned = partitions.map(_assign_nearest, centers)
        sums, sizes, cost = assigned.reduce(itemgetter(2))
        labels = assigned.gather(itemgetter(0))
        labels = labels[0] if len(labels) == 1 else np.concatenate(labels)
        if sizes.all():
            means = sums / sizes[:, np.newaxis]
        else:
            clustering = samples.occupy(labels, centers)
            labels, means, sizes = clustering.labels, clustering.centers, clustering.sizes
            cost = samples.cost_of(clustering._replace(centers=centers))
        # From centres to means the cost falls by size times squared distance.
        shifts, centers = means - centers, means
        if previous - cost <= tol * cost:
            break
        previous = cost
    return labels, centers, cost - float(sizes @ (shifts * shifts).sum(axis=1))


def _assign_nearest(samples, centers):
    return assign_nearest(samples.X, samples.masses, centers)


def relocate_centers(samples, centers, cost, patience, random_state, lead):
    """Leave a poor local minimum of k-means by moving single centres (random swap, Franti 2018).

    Each trial takes the centre of one of the clusters that are cheapest to dissolve to a sample
    drawn by its squared distance to its own centre, makes three iterations of k-means, and keeps
    what they lead to if that is cheaper. Gives up after ``patience`` failures in a row. ``lead``
    maps centres to those after the iterations, and their cost.
    """
    if len(centers) == 1:
        return centers
    X = samples.X
    cheapest, errors = _relocation_costs(samples, centers)
    failures = 0
    while failures < patience and cost > 0:
        # Move a centre of a cluster that is cheap to dissolve to a sample far from its own.
        trial = centers.copy()
        # Cumulated costs: a uniform number hits a sample with probability proportional to its cost.
        drawn = np.searchsorted(errors, random_state.uniform(0, errors[-1]), side="right")
        trial[random_state.choice(cheapest)] = X[min(drawn, len(X) - 1)]
        # Iterate, and accept what is cheaper.
        trial, trial_cost = lead(trial)
        if trial_cost < cost * (1 - MIN_GAIN):
            centers, cost, failures = trial, trial_cost, 0
            cheapest, errors = _relocation_costs(samples, centers)
        else:
            failures += 1
    return centers


def _relocation_costs(samples, centers):
    """The third of the clusters that are cheapest to dissolve; the samples' costs, cumulated."""
    distances = squared_distances(samples.X, centers)
    nearest, second = np.partition(distances, 1, axis=1)[:, :2].T
    labels, masses = distances.argmin(axis=1), samples.masses
    # Without its centre, the members of a cluster go to the second nearest.
    removal = np.bincount(labels, masses * (second - nearest), minlength=len(centers))
    cheapest = np.argsort(removal, kind="stable")[: max(2, len(centers) // 3)]
    return cheapest, np.cumsum(masses * nearest)
