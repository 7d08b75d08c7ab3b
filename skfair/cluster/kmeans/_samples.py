"""What clustering algorithms see of the data, and plain k-means on it."""

from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.cluster import kmeans_plusplus
from sklearn.utils import check_array

from skfair._kernels.clustering import (
    Clustering,
    Limits,
    cluster_sums,
    clustering_cost,
    clustering_from_sums,
)
from skfair._kernels.kmeans import (
    nearest_centers,
    squared_distances,
    squared_distances_by_cluster,
)
from skfair.cluster._limits import keeps_sizes, mixes
from skfair.cluster.kmeans._dual import DualSolution
from skfair.groups import GroupSummary
from skfair.partitions import BLOCK, InMemory, blocks

OUTLYING = 4  # times the squared distance of all per sample drawn: of these at most a quarter


class ClusteringProblem(NamedTuple):
    """Rows to cluster, centred so that sums of squares lose no digits."""

    X: np.ndarray  # (n_samples, n_features) float64, C-contiguous
    weights: np.ndarray  # (n_samples,) float64, all positive
    codes: np.ndarray  # (n_samples,) intp, of which of the limits' kinds a sample is
    limits: Limits  # what every cluster has to keep
    n_jobs: int | None = None  # threads
    unit_costs: np.ndarray | None = None  # (n_samples,) of a squared distance; None: all are 1

    @property
    def masses(self):
        """What squared distances cost, by weight: with it a sample pulls at its centre."""
        return self.weights if self.unit_costs is None else self.weights * self.unit_costs

    @property
    def parts(self):
        """The samples in blocks of rows, each of them samples too."""
        if len(self.weights) <= BLOCK:
            return InMemory([self])
        return InMemory([self.some(rows) for rows in blocks(len(self.weights))], self.n_jobs)

    def some(self, rows):
        """Those in some rows, for one thread."""
        unit_costs = None if self.unit_costs is None else self.unit_costs[rows]
        X, weights, codes = self.X[rows], self.weights[rows], self.codes[rows]
        return ClusteringProblem(X, weights, codes, self.limits, None, unit_costs)

    def tallied(self, labels, n_clusters):
        """What `cluster_sums` counts of labels of theirs."""
        X, weights, codes, limits, *_ = self
        return cluster_sums(X, self.masses, weights, codes, labels, n_clusters, limits)

    @classmethod
    def joined(cls, pieces):
        """All of several samples."""
        X, weights, codes, limits, _, unit_costs = zip(*pieces, strict=True)
        unit_costs = None if unit_costs[0] is None else np.concatenate(unit_costs)
        return cls(*map(np.concatenate, (X, weights, codes)), limits[0], None, unit_costs)

    def costs_by_cluster(self, centers):
        """What a place near each centre costs by weight, (n_clusters, n_samples)."""
        distances = squared_distances_by_cluster(self.X, centers)
        return distances if self.unit_costs is None else distances * self.unit_costs

    def in_parts(self, values):
        """An array of one value per sample, in the same blocks."""
        return InMemory([values[rows] for rows in blocks(len(values))], self.n_jobs)

    def measured(self, centers):
        """Parts for `solve_dual`: distances to centres, kinds and weights."""
        return self.parts.each(_measured, centers)

    @property
    def mean(self):
        """Weighted means of the features, (n_features,)."""
        return self.parts.total(_weighted_sums) / self.weights.sum()

    @property
    def n_groups(self):
        return self.limits.scales.shape[1]

    @property
    def n_attributes(self):
        return self.limits.intersections.shape[1]

    @property
    def attribute_codes(self):
        """Group of every sample, by attribute, (n_samples, n_attributes); each starts at 0."""
        kinds = self.limits.intersections
        return (kinds - kinds.min(axis=0))[self.codes]

    @property
    def group_weights(self):
        return weights_by_group(self.codes, self.weights, self.limits.intersections)

    @property
    def balance(self):
        """The balance of the data as one cluster, in the limits' scales: none exceeds it."""
        return self.balance_of(self.group_weights[None])

    @property
    def count_the_same(self):
        """Whether all samples have the same weight."""
        return self.weights.min() == self.weights.max()

    @property
    def are_exchangeable(self):
        """Whether two samples of a kind can change places, and nothing but the cost changes."""
        return self.count_the_same and self.unit_costs is None

    @property
    def largest_weight(self):
        """How much one sample may count in the balance."""
        return self.weights.max()

    def attainable_balance(self, n_clusters):
        """Balance that rounding to whole samples can reach: half of one is lost in each cluster."""
        scales = self.limits.scales
        rounding = self.largest_weight * n_clusters / 2
        scaled = (self.group_weights - rounding) * scales
        lowest = scaled.min(axis=1, where=scales > 0, initial=np.inf)
        highest = (self.group_weights * scales).max(axis=1)
        attainable = self.limits.factors * lowest / highest
        return max(0.0, min(self.balance, attainable.min()))

    def balance_of(self, counts):
        """The least balance of a cluster, in the limits' scales, as a float."""
        return float(mixes(counts, self.limits).min())

    def keep_promise(self, counts, level):
        """Whether clusters keep sizes, and a level up to one sample, and lack no group."""
        limits = self.limits._replace(slack=self.largest_weight)
        kept = level == 0 or mixes(counts, limits).min() >= level * (1 - 1e-12)
        return bool(kept) and keeps_sizes(counts.sum(axis=1) / self.n_attributes, limits)

    def at_level(self, level):
        """The limits with another least balance."""
        return self.limits._replace(level=float(level))

    def tabulate(self, labels, n_clusters):
        """The clustering that the labels describe; its cells are recomputed from scratch."""
        labels = np.array(labels, dtype=np.int32)
        tallied = self.parts.total(ClusteringProblem.tallied, self.in_parts(labels), n_clusters)
        return clustering_from_sums(labels, tallied)

    def cost_of(self, clustering):
        """Sum of masses times squared distances to the centres of a clustering, from scratch."""
        return self.parts.total(_cost, self.in_parts(clustering.labels), clustering)

    def occupy(self, labels, centers):
        """The same, once every empty cluster has got the sample farthest from its own centre."""
        clustering = self.tabulate(labels, len(centers))
        if clustering.sizes.all():
            return clustering
        numbers = np.bincount(labels, minlength=len(centers))
        return self.tabulate(self.fill(labels, numbers, centers), len(centers))

    def fill(self, labels, numbers, centers):
        """Labels once every empty cluster has got the sample farthest from its own centre.

        ``numbers`` are of the members of every cluster; they may be more than the samples.
        """
        labels, numbers = labels.copy(), numbers.copy()
        empty = list(np.flatnonzero(numbers == 0))
        distances = self.masses * ((self.X - centers[labels]) ** 2).sum(axis=1)
        for p in np.argsort(-distances, kind="stable"):
            if empty and numbers[labels[p]] > 1:
                numbers[labels[p]] -= 1
                labels[p] = empty.pop(0)
        return labels

    def thin(self, size, random_state):
        """About ``size`` of the samples, drawn by kind and weighted up to each kind's weight.

        Of a rare kind at least ``size / (4 n_kinds)`` are kept, or all there are; and whoever lies
        so far out that clusters hang on single persons, for no others can stand for them.
        """
        n_samples = len(self.weights)
        if n_samples <= size:
            return self
        kept, n_kinds = [], len(self.limits.intersections)
        is_far = self.lies_far(self.scatter, size)
        for kind in range(n_kinds):
            rows = np.flatnonzero((self.codes == kind) & ~is_far)
            share = max(size * len(rows) // n_samples, size // (4 * n_kinds))
            kept.append(random_state.choice(rows, min(share, len(rows)), replace=False))
        others = np.bincount(self.codes, self.weights * ~is_far, minlength=n_kinds)
        rows = np.sort(np.concatenate((*kept, np.flatnonzero(is_far))))
        drawn = self.some(rows)._replace(n_jobs=self.n_jobs)
        return drawn.weighted_up(others, is_far[rows])

    def lies_far(self, scatter, size):
        """Which samples a subsample of about ``size`` must keep, as no others can stand for them.

        They make up more than a fixed multiple of their share in the ``scatter`` of the full data
        (sum of squared distances to the mean, by mass), which is true of a quarter of ``size`` at
        most.
        """
        squares = self.masses * np.einsum("ij,ij->i", self.X, self.X)
        return squares > OUTLYING / size * scatter

    def weighted_up(self, others, is_far):
        """A subsample weighted to the full data: samples that lie far stand for themselves only.

        ``others`` are the weights of all other samples in the full data, by kind.
        """
        drawn = np.bincount(self.codes, self.weights * ~is_far, minlength=len(others))
        factors = np.divide(others, drawn, out=np.ones(len(others)), where=drawn > 0)
        return self._replace(weights=self.weights * np.where(is_far, 1.0, factors[self.codes]))

    @property
    def scatter(self):
        """Sum of masses times squared distances to the origin, where the mean is."""
        return float((self.masses * np.einsum("ij,ij->i", self.X, self.X)).sum())


def _weighted_sums(samples):
    return (samples.X * samples.weights[:, np.newaxis]).sum(axis=0)


def _measured(samples, centers):
    return samples.costs_by_cluster(centers), samples.codes, samples.weights


def _cost(samples, labels, clustering):
    return clustering_cost(samples.X, samples.masses, clustering._replace(labels=labels))


def weights_by_group(codes, weights, kinds):
    """Weight of every group, (n_groups,), of samples of some kinds."""
    by_kind = np.bincount(codes, weights, minlength=len(kinds))
    n_attributes = kinds.shape[1]
    return np.bincount(kinds.ravel(), np.repeat(by_kind, n_attributes))


def compared(groups, attributes):
    """The groups that are compared, which of them each combination is in, those of each attribute.

    With ``attributes="each"`` they are the values of single attributes, else the combinations.
    """
    if attributes != "each":
        return groups.summary, np.arange(len(groups.labels))[:, np.newaxis], (slice(None),)
    kinds, labels = groups.single_attribute_codes()
    counts = weights_by_group(groups.codes, None, kinds).astype(np.intp)
    columns = tuple(slice(column.min(), column.max() + 1) for column in kinds.T)
    return GroupSummary(labels, counts), kinds, columns


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
            share = masses / masses.sum()
            return X[random_state.choice(len(X), self.n_clusters, replace=False, p=share)]
        if callable(init):
            init = init(X, self.n_clusters, random_state=random_state)
        return check_centers(init, (self.n_clusters, X.shape[1]))


def check_runs(parameters, mean):
    """The runs that an estimator's parameters ask for, on data from which a mean is subtracted.

    Parameters
    ----------
    parameters : FairKMeans
        Has ``n_clusters``, ``init``, ``n_init``, ``max_iter`` and ``tol``.
    mean : ndarray of shape (n_features,)

    Returns
    -------
    runs : Runs
    """
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


class Point(NamedTuple):
    """A clustering of the samples, what it costs, and the dual solution that led to it."""

    clustering: Clustering
    cost: float  # summed over the samples
    dual: DualSolution | None  # of the fair assignment, which starts from it the next time
    balance: float  # the least of a cluster, in the scales of the samples' limits


def point_of(samples, labels, n_clusters, dual=None):
    """The point that labels describe, with everything computed from scratch."""
    return as_point(samples, samples.tabulate(labels, n_clusters), dual)


def as_point(samples, clustering, dual):
    """The point of a clustering, and of the dual solution that led to it."""
    cost = samples.cost_of(clustering)
    return Point(clustering, cost, dual, samples.balance_of(clustering.counts))


def lloyd(samples, centers, max_iter, tol):
    """Plain k-means from given centres, by mass.

    Stops when an iteration lowers the cost by no more than ``tol`` times the cost.
    """
    previous, masses = np.inf, samples.masses
    for _ in range(max_iter):
        labels, distances = nearest_centers(samples.X, centers)
        clustering = samples.occupy(labels, centers)
        centers = clustering.centers
        cost = masses @ distances
        if previous - cost <= tol * cost:
            break
        previous = cost
    return clustering


def relocate_centers(samples, clustering, patience, random_state, lead=None):
    """Leave a poor local minimum of k-means by moving single centres (random swap, Franti 2018).

    Each trial takes the centre of one of the clusters that are cheapest to dissolve to a sample
    drawn by its squared distance to its own centre, makes three iterations of k-means, and keeps
    what they lead to if that is cheaper. Gives up after ``patience`` failures in a row. ``lead``
    takes centres to the clustering that other iterations than those of plain k-means lead to.
    """
    lead = lead or partial(lloyd, samples, max_iter=3, tol=0.0)
    X = samples.X
    n_clusters = len(clustering.sizes)
    if n_clusters == 1:
        return clustering
    cost = samples.cost_of(clustering)
    cheapest, errors = _relocation_costs(samples, clustering.centers)
    failures = 0
    while failures < patience and cost > 0:
        centers = clustering.centers.copy()
        drawn = np.searchsorted(errors, random_state.uniform(0, errors[-1]), side="right")
        centers[random_state.choice(cheapest)] = X[min(drawn, len(X) - 1)]
        trial = lead(centers)
        trial_cost = samples.cost_of(trial)
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
    labels, masses = distances.argmin(axis=1), samples.masses
    removal = np.bincount(labels, masses * (second - nearest), minlength=len(centers))
    cheapest = np.argsort(removal, kind="stable")[: max(2, len(centers) // 3)]
    return cheapest, np.cumsum(masses * nearest)
