"""Plain k-means: starting centres, Lloyd iterations, and single centres that are relocated."""

from operator import itemgetter
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_array

from skfair._kernels.kmeans import assign_nearest, squared_distances, squared_distances_by_cluster
from skfair.utils._messages import warn

MIN_GAIN = 1e-9  # share of the cost that is more than rounding
MAX_TRIALS = 12  # relocations from which k-means iterates, of those that are drawn


class Runs(NamedTuple):
    """How k-means is run: number of clusters, where runs start, when they end."""

    n_clusters: int
    init: object = "k-means++"  # as in sklearn's KMeans; an array is relative to the mean
    n_init: int = 10
    max_iter: int = 300
    tol: float = 1e-5  # relative gain of the cost at which a run stops

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
            return X[random_state.choice(len(X), self.n_clusters, replace=False, p=share)]
        if callable(init):
            init = init(X, self.n_clusters, random_state=random_state)
        return check_centers(init, (self.n_clusters, X.shape[1]))


def draw_centers(X, masses, n_clusters, random_state):
    """Starting centres by greedy k-means++, those that `sklearn.cluster.kmeans_plusplus` draws."""
    n_trials = 2 + int(np.log(n_clusters))
    rows = [random_state.choice(len(X), p=masses / masses.sum())]
    nearest = squared_distances_by_cluster(X, X[rows])[0]
    for _ in range(n_clusters - 1):
        # Some samples, drawn by their costs, of which the best becomes a centre.
        cumulated = np.cumsum(masses * nearest)
        numbers = random_state.uniform(size=n_trials) * cumulated[-1]
        drawn = np.minimum(np.searchsorted(cumulated, numbers), len(X) - 1)
        trials = np.minimum(squared_distances_by_cluster(X, X[drawn]), nearest)
        best = np.argmin(trials @ masses)
        nearest = trials[best]
        rows.append(drawn[best])
    return X[rows]


def check_runs(parameters, mean, n_auto):
    """The runs of an estimator's parameters, on data from which a mean is subtracted.

    ``n_auto`` is the number of starts that "auto" stands for.
    """
    init, n_init = parameters.init, parameters.n_init
    if isinstance(init, str) or callable(init):
        n_init = n_auto if n_init == "auto" else n_init
    else:
        init = check_centers(init, (parameters.n_clusters, len(mean))) - mean
        if n_init not in ("auto", 1):
            warn(
                "Explicit initial center position passed: performing only one init in "
                f"{type(parameters).__name__} instead of n_init={n_init}. All starts from one "
                "array would be equal; leave n_init at 'auto' or 1.",
                RuntimeWarning,
            )
        n_init = 1
    return Runs(parameters.n_clusters, init, n_init, parameters.max_iter, parameters.tol)


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

    Iterations have Nesterov's momentum, which starts again wherever it raises the cost. Stops when
    one lowers the cost by no more than ``tol`` times the cost.
    """
    partitions, lowest, n_pushed, means = samples.partitions, np.inf, 0, centers
    for _ in range(max_iter):
        # Nearest centres, then means; empty clusters get the farthest samples.
        assigned = partitions.map(_assign_nearest, centers)
        sums, masses, cost = assigned.reduce(itemgetter(2))
        if cost > lowest and n_pushed > 0:
            centers, n_pushed = means, 0
            continue
        labels, previous, sizes = assigned.gather(itemgetter(0)), means, masses
        if sizes.all():
            means = sums / sizes[:, np.newaxis]
        else:
            clustering = occupy_clusters(samples, np.concatenate(labels), centers)
            labels, means, sizes = [clustering.labels], clustering.centers, clustering.sizes
            cost = samples.cost_of(clustering._replace(centers=centers))
        shifts, gain, lowest = means - centers, lowest - cost, cost
        if gain <= tol * cost:
            break
        centers, n_pushed = push(means, previous, n_pushed), n_pushed + 1
    # From centres to means the cost falls by size times squared distance.
    return np.concatenate(labels), means, lowest - float(sizes @ (shifts * shifts).sum(axis=1))


def push(means, previous, n_pushed):
    """Means shifted on in the direction in which they moved, by Nesterov's growing momentum."""
    return means + n_pushed / (n_pushed + 3) * (means - previous)


def _assign_nearest(samples, centers):
    return assign_nearest(samples.X, samples.masses, centers)


def relocate_centers(samples, centers, cost, n_drawn, random_state, lead):
    """Leave a poor local minimum of k-means by moving single centres (random swap, Franti 2018).

    Draws ``n_drawn`` pairs: the centre of one of the clusters that are cheapest to dissolve, and a
    sample, by its squared distance to its own centre, for it to go to. The pairs of lowest cost are
    tried by three iterations of k-means. The first that is cheaper then is accepted, and pairs are
    drawn again, until none is. ``lead`` maps centres to those after the iterations, and their cost.
    """
    if len(centers) == 1 or n_drawn == 0:
        return centers
    X, masses, is_improved = samples.X, samples.masses, True
    while is_improved and cost > 0:
        # Pairs of a cluster and a sample; a uniform number hits one of the cumulated costs.
        cheapest, labels, nearest, second = _relocation_costs(samples, centers)
        cumulated = np.cumsum(masses * nearest)
        numbers = random_state.uniform(0, cumulated[-1], n_drawn)
        rows = np.minimum(np.searchsorted(cumulated, numbers, side="right"), len(X) - 1)
        dissolved = random_state.choice(cheapest, n_drawn)
        # Costs before other centres move: members of the cluster go to the second nearest.
        remaining = np.where(labels == dissolved[:, np.newaxis], second, nearest)
        costs = np.minimum(squared_distances_by_cluster(X, X[rows]), remaining) @ masses
        # Iterate from the best pairs, and accept what is cheaper.
        is_improved = False
        for i in np.argsort(costs, kind="stable")[:MAX_TRIALS]:
            trial = centers.copy()
            trial[dissolved[i]] = X[rows[i]]
            trial, trial_cost = lead(trial)
            if trial_cost < cost * (1 - MIN_GAIN):
                centers, cost, is_improved = trial, trial_cost, True
                break
    return centers


def _relocation_costs(samples, centers):
    """The third of clusters cheapest to dissolve; labels, distances to nearest and next centre."""
    distances = squared_distances(samples.X, centers)
    nearest, second = np.partition(distances, 1, axis=1)[:, :2].T
    labels = distances.argmin(axis=1)
    # Without its centre, the members of a cluster go to the second nearest.
    removal = np.bincount(labels, samples.masses * (second - nearest), minlength=len(centers))
    cheapest = np.argsort(removal, kind="stable")[: max(2, len(centers) // 3)]
    return cheapest, labels, nearest, second


def occupy_clusters(problem, labels, centers):
    """The clustering of labels, once every empty cluster has got a sample."""
    clustering = problem.tabulate(labels, len(centers))
    if clustering.sizes.all():
        return clustering
    members = np.bincount(labels, minlength=len(centers))
    return problem.tabulate(problem.fill(labels, members, centers), len(centers))
