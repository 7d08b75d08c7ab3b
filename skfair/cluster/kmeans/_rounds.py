"""Runs of k-means: Lloyd's rounds, those within limits, relocations of centres, starts."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.utils import check_array

from skfair._kernels.kmeans import assign_nearest, squared_distances_by_cluster
from skfair._kernels.limits import has_rows
from skfair._kernels.sparse_samples import dense_rows
from skfair._utils.checks import to_floats, warn
from skfair.cluster.kmeans._problem import (
    ClusteringPoint,
    MeasuredPoint,
    assign_fairly,
    occupy_clusters,
    start_from_centers,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from sklearn.base import BaseEstimator

    from skfair._kernels.kmeans import Clustering
    from skfair.cluster.kmeans._problem import ClusteringProblem


def lloyd(problem: ClusteringProblem, centers: np.ndarray, max_iter: int, tol: float) -> Clustering:
    """The clustering of plain k-means from given centres, by mass; see `iterate_lloyd`."""
    labels, _, _ = iterate_lloyd(problem, centers, max_iter, tol)
    return problem.clustering_from_labels(labels, len(centers))


def iterate_lloyd(
    problem: ClusteringProblem, centers: np.ndarray, max_iter: int, tol: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """Labels of plain k-means from given centres, by mass, the means of their clusters, the cost.

    Iterations have Nesterov's momentum, which starts again wherever it raises the cost. Stops when
    one lowers the cost by no more than ``tol`` times the cost.
    """
    partitions, lowest, n_pushed, means = problem.partitions, np.inf, 0, centers
    for _ in range(max_iter):
        # Nearest centres, then means; empty clusters get the farthest samples.
        assigned = partitions.map(_assign_nearest, centers)
        sums, masses, cost = assigned.reduce(itemgetter(2))
        if cost > lowest and n_pushed > 0:
            centers, n_pushed = means, 0
            continue
        labels = assigned.gather(itemgetter(0))
        previous = means
        sizes = masses
        if sizes.all():
            means = sums / sizes[:, np.newaxis]
        else:
            clustering = occupy_clusters(problem, np.concatenate(labels), centers)
            labels = [clustering.labels]
            means = clustering.centers
            sizes = clustering.sizes
            cost = problem.cost_of(clustering._replace(centers=centers))
        shifts = means - centers
        gain = lowest - cost
        lowest = cost
        if gain <= tol * cost:
            break
        centers = extrapolate(means, previous, n_pushed)
        n_pushed = n_pushed + 1
    # From centres to means the cost falls by size times squared distance.
    return np.concatenate(labels), means, lowest - float(sizes @ (shifts * shifts).sum(axis=1))


def extrapolate(means: np.ndarray, previous: np.ndarray, n_pushed: int) -> np.ndarray:
    """Means shifted on in the direction in which they moved, by Nesterov's growing momentum."""
    return means + n_pushed / (n_pushed + 3) * (means - previous)


def _assign_nearest(problem: ClusteringProblem, centers: np.ndarray) -> tuple:
    return assign_nearest(problem.X, problem.masses, centers)


def iterate_at_level(
    problem: ClusteringProblem,
    point: ClusteringPoint,
    level: float,
    max_iter: int,
    tol: float,
    watch: Callable | None = None,
) -> tuple[MeasuredPoint, int, bool]:
    """The cheapest clustering near a point whose balance reaches a level, up to rounding.

    Alternates the fair assignment and the means, as k-means alternates nearest centres and means,
    until a round lowers the cost by no more than ``tol`` times the cost. Rounds have momentum, see
    `iterate_lloyd`. Returns the point, whose balance may be a few samples short of the level (see
    `repair`), the number of rounds, and whether they converged: not if ``max_iter`` or ``watch``
    ended them.
    """
    lowest = np.inf
    base = point
    converged = stopped = False
    n_iter = n_pushed = 0
    while n_iter < max_iter and not (converged or stopped):
        trial = assign_fairly(problem, base, level)
        n_iter += 1
        # The dual value is the cost of the fair assignment to centres before they move: it falls
        # with rounds as the cost of k-means does.
        value = trial.dual.value  # type: ignore[union-attr]
        if value > lowest and n_pushed > 0:
            base, n_pushed = point, 0  # the momentum has overshot
        else:
            converged = lowest - value <= tol * value or value == 0
            pushed = extrapolate(trial.centers, point.centers, n_pushed)
            base = trial._replace(clustering=trial.clustering._replace(centers=pushed))
            point = trial
            lowest = value
            n_pushed = n_pushed + 1
        stopped = watch is not None and watch(point)
    # Rounds need neither the cost nor the balance.
    cost = problem.cost_of(point.clustering) if point.cost is None else point.cost
    balance = problem.balance_of(point.counts) if point.balance is None else point.balance
    return MeasuredPoint(point.clustering, cost, point.dual, balance), n_iter, converged


class LocalMinimum(NamedTuple):
    """Centres that k-means has led to."""

    centers: np.ndarray  # (n_clusters, n_features)
    cost: float
    offsets: np.ndarray | float = 0.0  # (n_clusters,) multipliers of bounds on sizes


def improve_by_swaps(
    problem: ClusteringProblem,
    minimum: LocalMinimum,
    n_drawn: int,
    random_state: np.random.RandomState,
    lead: Callable,
    n_trials: int = 6,
    max_rise: float = np.inf,
) -> LocalMinimum:
    """Leave a poor local minimum of k-means by moving single centres (random swap, Franti 2018).

    Draws ``n_drawn`` pairs: the centre of one of the clusters that are cheapest to dissolve, and a
    sample, by its squared distance to its own centre, for it to go to. The pairs of lowest cost,
    ``n_trials`` or fewer, are tried by three iterations of k-means, unless their cost is more than
    ``max_rise`` times that before. The first that is cheaper then is accepted, and pairs are drawn
    again, until none is, or until it took too long with many clusters, of which each gains little.
    ``lead`` maps centres to the `LocalMinimum` after the iterations.
    """
    if len(minimum.centers) == 1 or n_drawn == 0:
        return minimum
    X, masses, is_improved = problem.X, problem.masses, True
    # Each relocation measures all distances to the centres once.
    n_left = max(1, int(1e8 / (X.shape[0] * len(minimum.centers))))
    while is_improved and n_left > 0 and minimum.cost > 0:
        n_left -= 1
        # Pairs of a cluster and a sample; a uniform number hits one of the cumulated costs.
        cheapest, labels, nearest, second = _find_removable_clusters(problem, minimum)
        cumulated = np.cumsum(masses * np.maximum(nearest, 0.0))
        numbers = random_state.uniform(0, cumulated[-1], n_drawn)
        rows = np.minimum(np.searchsorted(cumulated, numbers, side="right"), X.shape[0] - 1)
        dissolved = random_state.choice(cheapest, n_drawn)
        # Costs before other centres move: members of the cluster go to the second nearest.
        costs = np.empty(n_drawn)
        offsets = masses * np.broadcast_to(minimum.offsets, len(minimum.centers))[labels]
        for k in np.unique(dissolved):
            drawn = dissolved == k
            remaining = np.where(labels == k, second, nearest)
            distances = squared_distances_by_cluster(X, dense_rows(X, rows[drawn]))
            costs[drawn] = np.minimum(distances, remaining, out=distances) @ masses
            costs[drawn] -= offsets[labels != k].sum()
        # Iterate from the best pairs, and accept what is cheaper.
        is_improved = False
        for i in np.argsort(costs, kind="stable")[:n_trials]:
            if costs[i] > max_rise * minimum.cost:
                break
            trial = minimum.centers.copy()
            trial[dissolved[i]] = dense_rows(X, rows[i : i + 1])
            trial = lead(trial)
            # A gain of this share of the cost is more than rounding.
            if trial.cost < minimum.cost * (1 - 1e-9):
                minimum, is_improved = trial, True
                break
    return minimum


def cross_centers(
    problem: ClusteringProblem,
    first: np.ndarray,
    second: np.ndarray,
    random_state: np.random.RandomState,
) -> np.ndarray:
    """Centres of which each is one of either set, but for one (HG-means, Gribel and Vidal 2019)."""
    # Both sets are matched at the least sum of squared distances; one of each pair is drawn.
    rows, columns = linear_sum_assignment(squared_distances_by_cluster(first, second))
    is_first = random_state.uniform(size=len(first)) < 0.5
    centers = np.where(is_first[:, np.newaxis], first[columns], second[rows])
    # One centre goes to a sample that is drawn by its squared distance to the others.
    moved = random_state.randint(len(centers))
    others = np.delete(centers, moved, axis=0)
    nearest = np.maximum(squared_distances_by_cluster(problem.X, others).min(axis=0), 0.0)
    cumulated = np.cumsum(problem.masses * nearest)
    number = random_state.uniform(0, cumulated[-1])
    row = min(np.searchsorted(cumulated, number, side="right"), len(cumulated) - 1)
    centers[moved] = dense_rows(problem.X, slice(row, row + 1))[0]
    return centers


def _find_removable_clusters(problem: ClusteringProblem, minimum: LocalMinimum) -> tuple:
    """The third of clusters cheapest to dissolve; labels, distances to nearest and next centre.

    Offsets are added to distances.
    """
    n_clusters = len(minimum.centers)
    offsets = np.broadcast_to(minimum.offsets, n_clusters)
    distances = squared_distances_by_cluster(problem.X, minimum.centers) + offsets[:, np.newaxis]
    nearest, second = np.partition(distances, 1, axis=0)[:2]
    labels = distances.argmin(axis=0)
    # Without its centre, the members of a cluster go to the second nearest.
    rises = second - nearest + offsets[labels]
    removal = np.bincount(labels, problem.masses * rises, minlength=n_clusters)
    cheapest = np.argsort(removal, kind="stable")[: max(2, n_clusters // 3)]
    return cheapest, labels, nearest, second


def converge(
    problem: ClusteringProblem, centers: np.ndarray, max_iter: int, tol: float
) -> LocalMinimum:
    """The end of iterations of k-means, with sizes and shares within their bounds."""
    if not has_rows(problem.limits):
        return LocalMinimum(*iterate_lloyd(problem, centers, max_iter, tol)[1:])
    # Every round is an assignment with a dual.
    point, *_ = iterate_at_level(problem, start_from_centers(centers), 0.0, max_iter, tol)
    return LocalMinimum(point.centers, point.cost)


# How k-means is run, and its starts.


def never_stop(point: ClusteringPoint) -> bool:
    """Never end a run."""
    return False


class RunSettings(NamedTuple):
    """How k-means is run: number of clusters, where runs start, when they end."""

    n_clusters: int
    init: Any = "k-means++"  # as in sklearn's KMeans; an array is relative to the mean
    n_init: int = 10
    max_iter: int = 300
    tol: float = 1e-5  # relative gain of the cost at which a run stops
    labels: np.ndarray | None = None  # (n_samples,) of a clustering: no end may have a higher cost
    watch: Callable = never_stop  # called with the point of every round and pass; True ends the fit

    def generators(self, random_state: np.random.RandomState) -> list[np.random.RandomState]:
        """Random generators of all starts; the first do not depend on the number of starts."""
        seeds = random_state.randint(np.iinfo(np.int32).max, size=self.n_init)
        return [np.random.RandomState(seed) for seed in seeds]

    def start(self, problem: ClusteringProblem, random_state: np.random.RandomState) -> np.ndarray:
        """Starting centres of one run."""
        X, masses, init = problem.X, problem.masses, self.init
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


def draw_centers(
    X: np.ndarray, masses: np.ndarray, n_clusters: int, random_state: np.random.RandomState
) -> np.ndarray:
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


def make_run_settings(
    parameters: BaseEstimator, fit_input: Any, n_auto: int, watch: Callable = never_stop
) -> RunSettings:
    """The runs of an estimator's parameters, on the input of a fit.

    ``n_auto`` is the number of starts that "auto" stands for.
    """
    init, n_init, labels = parameters.init, parameters.n_init, None
    if np.ndim(init) == 0:  # a name, or a function that draws centres
        n_init = n_auto if n_init == "auto" else n_init
    else:
        if np.ndim(init) == 1:
            labels = fit_input.check_labels(init, parameters.n_clusters)
            init = fit_input.problem.clustering_from_labels(labels, parameters.n_clusters).centers
        else:
            init = (
                check_centers(init, (parameters.n_clusters, len(fit_input.mean))) - fit_input.mean
            )
        if n_init not in ("auto", 1):
            warn(
                "Explicit initial center position passed: performing only one init in "
                f"{type(parameters).__name__} instead of n_init={n_init}. All starts from one "
                "array would be equal; leave n_init at 'auto' or 1.",
                RuntimeWarning,
            )
        n_init = 1
    return RunSettings(
        n_clusters=parameters.n_clusters,
        init=init,
        n_init=n_init,
        max_iter=parameters.max_iter,
        tol=parameters.tol,
        labels=labels,
        watch=watch,
    )


def check_centers(centers: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Finite starting centres of the right shape, as a new array."""
    centers = to_floats("init", centers)
    centers = check_array(centers, dtype=np.float64, ensure_2d=False, input_name="init", copy=True)
    if centers.shape != shape:
        raise ValueError(
            f"init must give one centre per cluster, shape {shape}, but it has shape "
            f"{centers.shape}; change init or n_clusters."
        )
    return np.ascontiguousarray(centers)
