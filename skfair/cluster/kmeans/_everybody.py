"""Fair k-means of people who lie in parts: collections of Dask, or of files.

Some people, drawn by their numbers, rehearse in memory: they find centres and prices of places.
Everybody performs the end: rounds of fair assignments and means, of which all that is asked are
sums over parts. Then moves and exchanges of those nearest to a tie make the counts whole people's.
"""

from functools import partial

import numpy as np

from skfair._kernels.balance_path import raise_balance
from skfair._kernels.clustering import clustering_cost, clustering_from_sums
from skfair._kernels.fair_assignment import compute_offsets, evaluate_dual
from skfair._kernels.fair_duals import required_ratios
from skfair._kernels.kmeans import nearest_centers, squared_distances
from skfair.cluster._balance import describe
from skfair.cluster._limits import Asked, mixes
from skfair.cluster.kmeans._census import take_census
from skfair.cluster.kmeans._dual import solve_dual
from skfair.cluster.kmeans._homotopy import Homotopy, dual_iterations
from skfair.cluster.kmeans._local_search import change
from skfair.cluster.kmeans._samples import ClusteringProblem, compared, weights_by_group
from skfair.cluster.kmeans._tables import send, surplus_of
from skfair.groups import Groups
from skfair.partitions import LazyPartitions
from skfair.utils._balance import count_table

REHEARSED = 100_000  # people who find where to start
SLACK = 1.5e-4  # share of everybody by which the dual may miss a count: moves repair it
MIN_MOVABLE, MAX_MOVABLE = 5000, 200_000  # people nearest to a tie, who are moved one by one
N_PASSES = 5  # of the search among them
DEARER = 5  # is a round of everybody than one in memory: it has to gain as many times ``tol``


class Everybody:
    """People of a fit who lie in parts.

    Parameters
    ----------
    shards : Parts
        Of `Shard`.
    census : Census
    asked : Asked
        What is asked of every cluster, but for the groups that are compared.
    attributes : {"intersections", "each"}, default="intersections"
        As in `FairKMeans`.

    Attributes
    ----------
    groups : GroupSummary
        The groups that are compared.
    limits : Limits
        What is asked of their counts.
    """

    lacks_groups = False

    def __init__(self, shards, census, asked, attributes="intersections"):
        self.shards, self.census = shards, census
        self.mean, self.largest_weight = census.mean, census.weight_range[1]
        of_each = np.arange(len(census.labels))
        one_of_each = Groups.disjoint(of_each, census.labels)
        groups, kinds, of_attributes = compared(one_of_each, attributes)
        counts = weights_by_group(of_each, census.numbers, kinds).astype(np.intp)
        self.groups = groups._replace(counts=counts)
        self.asked = asked._replace(attributes=of_attributes, numbers=counts)
        weights = weights_by_group(of_each, census.weights, kinds)
        self.limits = self.asked.limits(weights, kinds)
        self._rows_of = partial(_rows, self.mean, self.limits, census.codes, census.first)
        self._rows = LazyPartitions(shards, self._rows_of)

    def cluster(self, algorithm, runs, random_state, rounds):
        """Fitted attributes of the cheapest clustering found whose mix is as asked."""
        labels, fitted = self.solve(algorithm, runs, random_state)
        return fitted | {"labels_": labels.joined(self.census.lengths, np.empty(0, np.int32))}

    def solve(self, algorithm, runs, random_state):
        """Its labels, in parts, and all else that is known of it, as fitted attributes."""
        if not isinstance(algorithm, Homotopy):
            raise ValueError(
                f"People in parts need algorithm='homotopy', got {algorithm!r}; or fit a sample of "
                "them in memory."
            )
        start = algorithm.rehearse(self._some(), runs, self.limits.level, random_state)
        centers, dual, n_iter = start.clustering.centers, start.dual, 0
        previous, converged = np.inf, False
        while n_iter < runs.max_iter and not converged:
            assigned_at = centers
            dual = self._assign(centers, self.limits.level, dual)
            means = clustering_from_sums(np.zeros(0, np.int32), dual.extras[0]).centers
            centers = np.where(np.isnan(means), centers, means)
            n_iter += 1
            converged = previous - dual.value <= DEARER * runs.tol * dual.value
            previous = dual.value
        prices = self._prices(dual)
        places = LazyPartitions(self._rows, partial(_placed, assigned_at, prices, dual.width))
        movers = self._whole_people(places, dual)
        asked = self._rows_of, self.mean, assigned_at, prices, movers
        labels = self.shards.each(_labels, *asked).kept()
        status = "feasible" if converged else "max_iter"
        fitted = self._describe(labels, len(centers), dual)
        return labels, fitted | {"n_iter_": n_iter, "status_": status}

    def _some(self):
        """A subsample with enough of every kind, and all that lie far, as `Samples.thin` draws."""
        numbers, n_kinds = self.census.numbers, len(self.census.numbers)
        least = REHEARSED / (4 * n_kinds)
        rates = np.minimum(np.maximum(REHEARSED / numbers.sum(), least / numbers), 1.0)
        drawn = self._rows.collect(_draw, rates, self.census.scatter, REHEARSED)
        pieces, is_far = zip(*drawn, strict=True)
        samples, is_far = ClusteringProblem.joined(pieces), np.concatenate(is_far)
        far = np.bincount(samples.codes, samples.weights * is_far, n_kinds)
        return samples.weighted_up(self.census.weights - far, is_far)

    def _prices(self, dual):
        return compute_offsets(dual.prices, self.limits, required_ratios(self.limits))[1]

    def _assign(self, centers, level, start):
        """The dual solution of the fair assignment of all samples, with its `cluster_sums`."""
        limits = self.limits._replace(level=float(level))
        slack = max(2 * self.largest_weight, SLACK * self.census.weights.sum())
        look = partial(_look_and_tally, centers)
        return solve_dual(self._rows, limits, start, slack, dual_iterations(start, limits), look)[0]

    def _whole_people(self, places, dual):
        """Who goes elsewhere so that counts are whole people's: their numbers, and where to.

        Moved are those nearest to a tie, of whom as many as in the dual's width are near one.
        """
        n_short, spacing = self._shortage(dual.extras[0][2]), dual.width / max(dual.n_near, 1)
        wanted = int(np.clip(20 * n_short, MIN_MOVABLE, MAX_MOVABLE))
        cut = spacing * wanted if spacing > 0 else np.inf
        n_empty = int((dual.extras[0][1] == 0).sum())
        numbers, labels, some = self._movable(places, cut, wanted, n_empty)
        moved = _moved(some, *_filled(some, labels, *dual.extras)[:2])
        kept = some.keep_promise(moved.counts, self.limits.level)
        if self._all_count_the_same and not kept:
            # Moves got stuck. Clusters far from all others have nobody near a tie: some of each.
            of_each = 2 * int(n_short) + 10 + n_empty
            numbers, labels, some = self._movable(places, np.inf, wanted, of_each)
            moved = _settled(some, *_filled(some, labels, *dual.extras))
        gone = np.flatnonzero(moved.labels != labels)
        return numbers[gone], moved.labels[gone]

    def _movable(self, places, *of_those):
        """Numbers, labels and samples of those whom `_least` takes."""
        *columns, people = zip(*places.collect(_movable, *of_those), strict=True)
        (numbers, labels, gaps), some = (
            map(np.concatenate, columns),
            ClusteringProblem.joined(people),
        )
        kept = _least(numbers, gaps, some.codes, labels, *of_those)
        return numbers[kept], labels[kept], some.some(kept)

    @property
    def _all_count_the_same(self):
        return self.census.weight_range[0] == self.census.weight_range[1]

    def _shortage(self, counts):
        """By how many people a count falls short, at most."""
        ratios = required_ratios(self.limits)
        short = ratios * counts[:, np.newaxis, :] - counts[:, :, np.newaxis]
        return max(0.0, short.max()) / self.largest_weight

    def _describe(self, labels, n_clusters, dual):
        """Fitted attributes, all of them counted anew over everybody."""
        tallied = self._rows.total(_tallied_at, labels, n_clusters)
        clustering = clustering_from_sums(np.zeros(0, np.int32), tallied)
        cost = float(self._rows.total(_cost_at, labels, clustering))
        reached = float(mixes(clustering.counts, self.limits).min())
        dual = self._assign(clustering.centers, reached, dual)
        return {
            "cluster_centers_": clustering.centers + self.mean,
            "_mean": self.mean,
            "_centers": clustering.centers,
            "inertia_": cost,
            "objective_": cost / self.census.weights.sum(),
            "groups_": self.groups,
            "offsets_": dual.offsets,
            "lower_bound_": min(float(dual.value), cost),
            **describe(clustering.counts, self.asked, self.largest_weight),
        }


def check_everybody(estimator, X, sensitive_features, sample_weight):
    """Validate the input of ``estimator.fit`` that lies in parts.

    Raises
    ------
    ValueError
        For bounds on sizes, and for what `take_census` refuses.
    """
    for name in ("min_cluster_size", "max_cluster_size"):
        if getattr(estimator, name) is not None:
            raise ValueError(
                f"People in parts need {name}=None, got {getattr(estimator, name)!r}; or fit a "
                "sample of them in memory."
            )
    shards, census = take_census(estimator, X, sensitive_features, sample_weight)
    asked = Asked(estimator.min_balance or 0.0, estimator.min_share_ratio or 0.0)
    return Everybody(shards, census, asked, estimator.attributes)


def lots(numbers):
    """A number in [0, 1] for every row, by its number alone (SplitMix64, Steele et al. 2014)."""
    z = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    return (z ^ (z >> np.uint64(31))) / 2.0**64


def _filled(some, labels, tallied, by_kind):
    """Labels of some, and counts of everybody, once no cluster is empty.

    Where many are equal, all may be in one of the clusters that are as near. Parameters as in
    `_settled`.
    """
    members = tallied[-1].sum(axis=1)
    if members.all():
        return labels, tallied, by_kind
    centers = clustering_from_sums(labels, tallied).centers
    filled = some.fill(labels, members // some.n_attributes, centers)
    *tallied, by_kind = _after(some, labels, filled, (*tallied, by_kind))
    return filled, tallied, by_kind


def _after(some, labels, changed, counts):
    """`cluster_sums` of all samples, and counts by kind, after labels of a subset changed."""
    shape = counts[-1].shape
    gone, come = (
        (*some.tallied(own, shape[0]), count_table(own, some.codes, some.weights, *shape))
        for own in (labels, changed)
    )
    return [all_ - out + in_ for all_, out, in_ in zip(counts, gone, come, strict=True)]


def _moved(some, labels, tallied):
    """Everybody's clustering after single moves up to the level, then what keeps it.

    ``labels`` are those of some, and so are its labels; ``tallied`` is of everybody.
    """
    moved = clustering_from_sums(labels.copy(), tuple(own.copy() for own in tallied))
    X, weights, codes, limits, *_ = some
    distances, rows = squared_distances(X, moved.centers), np.arange(len(X))
    raise_balance(X, some.masses, weights, codes, moved, rows, distances, limits, len(X))
    _polish(some, moved)
    return moved


def _settled(some, labels, tallied, by_kind):
    """Everybody's clustering after moves to a table of whole numbers that keeps the promise.

    Parameters as in `_moved`; ``by_kind`` are everybody's counts.
    """
    settled = labels.copy()
    surplus, person = surplus_of(some, by_kind, some.limits.level)
    centers = clustering_from_sums(labels, tallied).centers
    send(some, centers, settled, np.arange(len(labels)), surplus)
    moved = clustering_from_sums(settled, _after(some, labels, settled, (*tallied, by_kind))[:-1])
    _polish(some._replace(limits=some.limits._replace(slack=person)), moved)
    return moved


def _polish(some, clustering):
    """Moves and exchanges of some that keep the level, in place."""
    limits = some.at_level(min(some.limits.level, some.balance_of(clustering.counts)))
    for _ in range(N_PASSES if len(some.weights) else 0):
        if change(some, clustering, limits, some.are_exchangeable) == 0:
            break


def _rows(mean, limits, known, first, shard):
    """People of a shard who have a weight: their numbers, what they are, and the first number."""
    start = shard.number(first)
    numbers = start + np.arange(len(shard.X))
    X, codes = shard.X - mean, shard.codes_among(known)
    if shard.weights is None:
        everybody = ClusteringProblem(X, np.ones(len(X)), codes, limits, None, shard.unit_costs)
        return numbers, everybody, start
    rows = np.flatnonzero(shard.weights > 0)
    everybody = ClusteringProblem(X, shard.weights, codes, limits, None, shard.unit_costs)
    return numbers[rows], everybody.some(rows), start


def _draw(rows, rates, scatter, size):
    """The samples of a block that are drawn, and which of them lie far."""
    numbers, samples, _ = rows
    is_far = samples.lies_far(scatter, size)
    drawn = np.flatnonzero(is_far | (lots(numbers) < rates[samples.codes]))
    return samples.some(drawn), is_far[drawn]


def _look(centers, samples, prices, width):
    costs = samples.costs_by_cluster(centers)
    return evaluate_dual((costs, samples.codes, samples.weights), prices, width)


def _look_and_tally(centers, rows, prices, width):
    """A look that tells besides what makes the clustering, and counts of kinds."""
    samples = rows[1]
    looked = _look(centers, samples, prices, width)
    tallied = samples.tallied(looked.labels, len(centers))
    return looked._replace(extras=(tallied, looked.counts))


def _placed(centers, prices, width, rows):
    """Numbers, samples, and what a look at them tells."""
    return *rows[:2], _look(centers, rows[1], prices, width)


def _movable(placed, *of_those):
    """Numbers, labels and gaps of the people of a part whom `_least` takes, and who they are."""
    numbers, samples, looked = placed
    kept = _least(numbers, looked.gaps, samples.codes, looked.labels, *of_those)
    return numbers[kept], looked.labels[kept], looked.gaps[kept], samples.some(kept)


def _least(numbers, gaps, codes, labels, cut, most, of_each):
    """Positions of people whose gap is below the cut: of least gaps, then of lots.

    At most so many, and besides some of each kind in every cluster.
    """
    near = np.flatnonzero(gaps < cut)
    near = near[np.lexsort((lots(numbers[near]), gaps[near]))]
    cells = codes[near] * (1 + labels.max(initial=0)) + labels[near]
    by_cell = np.argsort(cells, kind="stable")
    ranks = np.arange(len(cells)) - np.searchsorted(cells[by_cell], cells[by_cell])
    return np.unique(np.append(near[:most], near[by_cell[ranks < of_each]]))


def _labels(shard, rows_of, mean, centers, prices, movers):
    """Everybody's cluster; people without weight are in the nearest."""
    numbers, samples, start = rows_of(shard)
    labels = _look(centers, samples, prices, 0.0).labels
    if len(numbers) < len(shard.X):
        placed, labels = labels, nearest_centers(shard.X - mean, centers)[0]
        labels[numbers - start] = placed
    who, where = movers
    here = (who >= start) & (who < start + len(shard.X))
    labels[who[here] - start] = where[here]
    return labels


def _own(rows, labels):
    """Labels of those who have a weight."""
    numbers, _, first = rows
    return labels if len(labels) == len(numbers) else labels[numbers - first]


def _tallied_at(rows, labels, n_clusters):
    return rows[1].tallied(_own(rows, labels), n_clusters)


def _cost_at(rows, labels, clustering):
    samples = rows[1]
    own = clustering._replace(labels=_own(rows, labels))
    return clustering_cost(samples.X, samples.masses, own)
