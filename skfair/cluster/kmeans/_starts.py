"""Starts of k-means: how it is run, and centres drawn by k-means++."""

from typing import NamedTuple

import numpy as np
from sklearn.utils import check_array

from skfair._kernels.kmeans import squared_distances_by_cluster
from skfair._kernels.sparse_samples import dense_rows
from skfair.utils._checks import to_floats, warn


class RunSettings(NamedTuple):
    """How k-means is run: number of clusters, where runs start, when they end."""

    n_clusters: int
    init: object = "k-means++"  # as in sklearn's KMeans; an array is relative to the mean
    n_init: int = 10
    max_iter: int = 300
    tol: float = 1e-5  # relative gain of the cost at which a run stops
    labels: np.ndarray | None = None  # (n_samples,) of a clustering: no end may have a higher cost

    def generators(self, random_state):
        """Random generators of all starts; the first do not depend on the number of starts."""
        seeds = random_state.randint(np.iinfo(np.int32).max, size=self.n_init)
        return [np.random.RandomState(seed) for seed in seeds]

    def start(self, samples, random_state):
        """Starting centres of one run."""
        X, masses, init = samples.X, samples.masses, self.init
        if isinstance(init, str) and init == "k-means++":
            return draw_centers(X, masses, self.n_clusters, random_state)
        if isinstance(init, str):
            # Random samples, drawn by mass.
            share = masses / masses.sum()
            rows = random_state.choice(X.shape[0], self.n_clusters, replace=False, p=share)
            return dense_rows(X, rows)
        if callable(init):
            init = init(X, self.n_clusters, random_state=random_state)
        return check_centers(init, (self.n_clusters, X.shape[1]))


def draw_centers(X, masses, n_clusters, random_state):
    """Starting centres by greedy k-means++, those that `sklearn.cluster.kmeans_plusplus` draws."""
    n_trials = 2 + int(np.log(n_clusters))
    rows = [random_state.choice(X.shape[0], p=masses / masses.sum())]
    nearest = squared_distances_by_cluster(X, dense_rows(X, rows))[0]
    for _ in range(n_clusters - 1):
        # Some samples, drawn by their costs, of which the best becomes a centre.
        cumulated = np.cumsum(masses * nearest)
        numbers = random_state.uniform(size=n_trials) * cumulated[-1]
        drawn = np.minimum(np.searchsorted(cumulated, numbers), X.shape[0] - 1)
        trials = squared_distances_by_cluster(X, dense_rows(X, drawn))
        trials = np.minimum(trials, nearest)
        best = np.argmin(trials @ masses)
        nearest = trials[best]
        rows.append(drawn[best])
    return dense_rows(X, rows)


def make_run_settings(parameters, data, n_auto):
    """The runs of an estimator's parameters, on the input of a fit.

    ``n_auto`` is the number of starts that "auto" stands for.
    """
    init, n_init, labels = parameters.init, parameters.n_init, None
    if isinstance(init, str) or callable(init):
        n_init = n_auto if n_init == "auto" else n_init
    else:
        if np.ndim(init) == 1:
            labels = data.check_labels(init, parameters.n_clusters)
            init = data.problem.clustering_from_labels(labels, parameters.n_clusters).centers
        else:
            init = check_centers(init, (parameters.n_clusters, len(data.mean))) - data.mean
        if n_init not in ("auto", 1):
            warn(
                "Explicit initial center position passed: performing only one init in "
                f"{type(parameters).__name__} instead of n_init={n_init}. All starts from one "
                "array would be equal; leave n_init at 'auto' or 1.",
                RuntimeWarning,
            )
        n_init = 1
    ends = parameters.max_iter, parameters.tol
    return RunSettings(parameters.n_clusters, init, n_init, *ends, labels)


def check_centers(centers, shape):
    """Finite starting centres of the right shape, as a new array."""
    centers = to_floats("init", centers)
    centers = check_array(centers, dtype=np.float64, ensure_2d=False, input_name="init", copy=True)
    if centers.shape != shape:
        raise ValueError(
            f"init must give one centre per cluster, shape {shape}, but it has shape "
            f"{centers.shape}; change init or n_clusters."
        )
    return np.ascontiguousarray(centers)
