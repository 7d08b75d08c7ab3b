"""Kernels of k-means with bounds on sizes, which look at a few candidate clusters per sample.

Each cluster has a multiplier of its bounds. The reduced cost of a sample in a cluster is the
squared distance plus the multiplier. The candidates of a sample are the clusters of least reduced
cost.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from skfair._kernels import NO_INDEX, fast_sums_helper, helper, jit
from skfair._kernels.sparse_samples import kernel_rows, member_distances, row_of


class Candidates(NamedTuple):
    """Candidate clusters of each sample, least reduced costs at some multipliers."""

    clusters: np.ndarray  # (n_samples, n_candidates) int32
    distances: np.ndarray  # (n_samples, n_candidates) squared, to the centres
    limits: np.ndarray  # (n_samples,) least reduced cost of others; inf: none
    multipliers: np.ndarray  # (n_clusters,) at which they are the least


@jit
def select_smallest(values, clusters, selected):
    """The smallest values of each row in rising order, and their positions."""
    n_candidates = clusters.shape[1]
    for i in range(len(values)):
        row = values[i]
        places = clusters[i]
        lowest = selected[i]
        lowest[:] = np.inf
        places[:] = 0
        last = lowest[n_candidates - 1]
        for k in range(len(row)):
            value = row[k]
            if not value < last:
                continue
            j = n_candidates - 1
            while j > 0 and lowest[j - 1] > value:
                lowest[j], places[j] = lowest[j - 1], places[j - 1]
                j -= 1
            lowest[j], places[j] = value, k
            last = lowest[n_candidates - 1]


@fast_sums_helper
def _distance(x, center, zero):
    """Squared distance of a sample to a centre, summed in the precision of ``zero``."""
    total = zero
    for f in range(len(x)):
        difference = x[f] - center[f]
        total += difference * difference
    return total


def measure_candidates(X, centers, clusters, distances):
    """Squared distances to the candidates, summed in the precision of ``centers``."""
    if not sparse.issparse(X):
        _measure_candidates(X, centers, clusters, distances)
        return
    for j, column in enumerate(clusters.T):
        distances[:, j] = member_distances(X, centers, column)


@jit
def _measure_candidates(X, centers, clusters, distances):
    zero = centers[0, 0] * 0
    for p in range(len(X)):
        for j in range(clusters.shape[1]):
            distances[p, j] = _distance(X[p], centers[clusters[p, j]], zero)


# The dual of sizes: its value on candidates, and damped Newton steps to its maximum.


FIRST_RIDGE, MIN_RIDGE = 1.0, 3e-3  # relative to the mean of the Hessian's diagonal
MIN_GAIN = 1e-9  # relative gain of a step that ends an ascent
MAX_STEPS, CHECKED_STEPS = 100, 7  # so many steps have to halve what sizes miss their bounds by
RIDGE_GROWTH = 10.0  # factor of the ridge where a step gains nothing
NEAR_TIE_SHARE = 0.08  # share of the samples that the smoothing width should take in
SHORT_SHARE = 0.01  # share of the samples that may need more candidates in a round ...


class Evaluations(NamedTuple):
    """Two evaluations of the dual at some multipliers: the last one, and one that is tried."""

    labels: np.ndarray  # (2, n_samples) int32
    second: np.ndarray  # (2, n_samples) int32, next best cluster
    gaps: np.ndarray  # (2, n_samples) between the two
    counts: np.ndarray  # (2, n_clusters) sums of weights
    ties: np.ndarray  # (2, n_samples) int64, samples with a gap below the width come first


def allocate_evaluations(n_samples, n_clusters):
    """Arrays for two evaluations."""
    labels, second = (np.empty((2, n_samples), np.int32) for _ in range(2))
    counts = np.empty((2, n_clusters))
    ties = np.empty((2, n_samples), np.int64)
    return Evaluations(labels, second, np.empty((2, n_samples)), counts, ties)


def _find_least_change(multipliers, before):
    """Change of the multiplier that fell most, but for a few that fell more."""
    changes = np.sort(multipliers - before)
    # A twentieth of the multipliers may have fallen more.
    return changes[int(0.05 * (len(changes) - 1))]


def find_short_lists(candidates, multipliers):
    """Samples for which a cluster that is not listed may cost less at other multipliers.

    Changes the limits and the multipliers of the candidates in place: they are those of these.
    """
    is_short = np.empty(len(candidates.limits), np.bool_)
    candidates.limits[:] += _find_least_change(multipliers, candidates.multipliers)
    candidates.multipliers[:] = multipliers
    _mark_short_lists(candidates, is_short)
    return np.flatnonzero(is_short)


@jit
def _mark_short_lists(candidates, is_short):
    clusters, distances, limits, multipliers = candidates
    for p in range(len(limits)):
        lowest = np.inf
        for j in range(clusters.shape[1]):
            lowest = min(lowest, distances[p, j] + multipliers[clusters[p, j]])
        is_short[p] = lowest > limits[p]


def _evaluate(candidates, weights, bounds, multipliers, width, evaluations, at):
    """Evaluate the dual: its value, samples that may need more candidates, number of near ties."""
    shift = _find_least_change(multipliers, candidates.multipliers)
    return _fill_evaluation(candidates, weights, bounds, multipliers, width, evaluations, at, shift)


@jit
def _fill_evaluation(candidates, weights, bounds, multipliers, width, evaluations, at, shift):
    """Fill row `at` of the evaluations; return the dual and two numbers of samples.

    The samples are those that may need more candidates, and near ties. `clusters` and `distances`
    of the candidates are (n_samples, n_candidates), `multipliers`
    (n_clusters,). Candidates of a sample may be too few if it costs more than its limit and the
    shift.
    """
    (clusters, distances, limits, _), (smallest, largest) = candidates, bounds
    labels, second, gaps, counts, ties = evaluations
    total, n_short, n_ties = 0.0, 0, 0
    for k in range(len(multipliers)):
        counts[at, k] = 0.0
        total -= (largest[k] if multipliers[k] > 0.0 else smallest[k]) * multipliers[k]
    for p in range(len(limits)):
        lowest = following = np.inf
        best = other = 0
        for j in range(clusters.shape[1]):
            k = clusters[p, j]
            cost = distances[p, j] + multipliers[k]
            if cost < lowest:
                following, other, lowest, best = lowest, best, cost, k
            elif cost < following:
                following, other = cost, k
        labels[at, p], second[at, p], gaps[at, p] = best, other, following - lowest
        counts[at, best] += weights[p]
        # A cluster that is not listed may cost less: count what it costs at least.
        if lowest > limits[p] + shift:
            n_short += 1
            lowest = limits[p] + shift
            following = max(following, lowest)
        total += weights[p] * lowest
        if following - lowest < width:
            ties[at, n_ties] = p
            n_ties += 1
    return total, n_short, n_ties


def _find_slope(counts, multipliers, bounds):
    """The gradient of the dual, at multipliers of zero only what a bound is missed by."""
    smallest, largest = bounds
    residual = np.maximum(counts - largest, 0.0) - np.maximum(smallest - counts, 0.0)
    targets = np.where(multipliers > 0.0, largest, smallest)
    return np.where(multipliers == 0.0, residual, counts - targets)


def _solve_laplacian(laplacian, damping, target, free, fixed):
    """Solve (laplacian + damping) x = target for the free unknowns; the others are fixed."""
    target = np.where(free, target - laplacian @ fixed, 0.0)
    if isinstance(laplacian, np.ndarray):
        matrix = laplacian[np.ix_(free, free)] + damping * np.eye(free.sum())
        return np.linalg.solve(matrix, target[free])
    # Conjugate gradients, preconditioned by the diagonal.
    scale = free / (laplacian.diagonal() + damping)
    solution = np.zeros(len(free))
    residual = target
    direction = scale * residual
    product = residual @ direction
    least = 1e-8 * (target @ target)
    # At most 100 steps of conjugate gradients.
    for _ in range(100):
        image = laplacian @ direction + damping * direction
        step = product / (direction @ image)
        solution += step * direction
        residual = residual - step * image * free
        if not residual @ residual > least:  # also where it is nan
            break
        last = product
        product = residual @ (scale * residual)
        direction = scale * residual + product / last * direction
    return solution[free]


def _build_laplacian(edges, n):
    """Degrees of clusters less the weights of the edges between them, (n, n); sparse if large."""
    first, second, weights = edges
    # Up to 200 multipliers, steps are solved for directly.
    if n <= 200:
        graph = np.bincount(first * np.int64(n) + second, weights, n * n).reshape(n, n)
        graph += graph.T
        return np.diag(graph.sum(axis=1)) - graph
    graph = sparse.coo_array((weights, (first, second)), (n, n)).tocsr()
    graph = graph + graph.T
    return (sparse.diags_array(graph.sum(axis=1)) - graph).tocsr()


def adapt_ridge(ridge, gain, predicted, least):
    """The next ridge: less where the model predicted the gain, more where it did not."""
    if gain > 0.75 * predicted:
        return max(0.2 * ridge, least)
    return 3.0 * ridge if gain < 0.25 * predicted else ridge


def _take_step(laplacian, multipliers, slope, ridge):
    """Multipliers after a Newton step, none of which changes its sign; the predicted gain."""
    degrees = laplacian.diagonal()
    step = np.zeros(len(slope))
    free = (multipliers != 0.0) | (slope != 0.0)
    damping = ridge * max(degrees[free].mean(), degrees.mean(), 1e-300)
    # Multipliers that would change their sign end at 0, and the others are solved for again.
    for _ in range(3):
        step[free] = 0.0
        step[free] = _solve_laplacian(laplacian, damping, slope, free, step)
        is_crossing = free & (multipliers * (multipliers + step) < 0.0)
        step[is_crossing] = -multipliers[is_crossing]
        free &= ~is_crossing
        if not (is_crossing.any() and free.any()):
            break
    stepped = multipliers + step
    stepped[multipliers * stepped < 0.0] = 0.0
    step = stepped - multipliers
    return stepped, step @ slope - 0.5 * (step @ (laplacian @ step))


def maximize_size_dual(candidates, weights, bounds, multipliers, width, ridge, slack, evaluations):
    """Maximise the dual on candidates by damped Newton steps; sizes end within a ``slack``.

    Stops as well where candidates are too few. Changes ``multipliers`` in place. Returns which of
    the evaluations is the last one, its value, the number of samples that may need more candidates,
    smoothing width and ridge.
    """
    n_samples = len(weights)
    n_clusters = len(multipliers)
    at = 0
    stride = 1 + n_samples // 4000  # of the gaps from which the width is estimated

    def evaluate(multipliers, at):
        return _evaluate(candidates, weights, bounds, multipliers, width, evaluations, at)

    value, n_short, n_ties = evaluate(multipliers, at)
    # Multipliers of other centres may be worse than none, where the dual is not negative.
    if value < 0.0:
        trial, *numbers = evaluate(np.zeros(n_clusters), 1 - at)
        if trial > value:
            at = 1 - at
            value = trial
            n_short, n_ties = numbers
            multipliers[:] = 0.0
    excess = np.inf
    for n_steps in range(MAX_STEPS):
        slope = _find_slope(evaluations.counts[at], multipliers, bounds)
        # Too many samples need more candidates, or all sizes are within the slack.
        if n_short > 0.02 * n_samples or abs(slope).max() <= slack:
            break
        # Among samples that are nearly equal steps stay short: shortest paths are faster there.
        if n_steps % CHECKED_STEPS == 0:
            if abs(slope).sum() > 0.5 * excess:
                break
            excess = abs(slope).sum()
        # The width stays as it is while it takes in a fair share of the samples.
        if not 0.02 <= n_ties / n_samples <= 0.32:
            gaps = np.sort(evaluations.gaps[at, ::stride])
            width = max(gaps[int(NEAR_TIE_SHARE * (len(gaps) - 1))] * (1.0 + 1e-9), 1e-12)
            value, n_short, n_ties = evaluate(multipliers, at)
        # Hessian: near ties lie on both sides of the border, over twice the width.
        ties = evaluations.ties[at, :n_ties]
        ends = evaluations.labels[at][ties], evaluations.second[at][ties]
        laplacian = _build_laplacian((*ends, weights[ties] * (0.5 / width)), n_clusters)
        # Levenberg-Marquardt: more ridge until a step gains.
        for _ in range(10):
            stepped, predicted = _take_step(laplacian, multipliers, slope, ridge)
            trial, *numbers = evaluate(stepped, 1 - at)
            gain = trial - value
            if gain > 0.0:
                break
            ridge *= RIDGE_GROWTH
        if not gain > 0.0:
            break
        ridge = adapt_ridge(ridge, gain, predicted, MIN_RIDGE)
        at = 1 - at
        value = trial
        n_short, n_ties = numbers
        multipliers[:] = stepped
        if gain <= MIN_GAIN * abs(value):  # the relative gain has become too small
            break
    return at, value, n_short, width, min(max(ridge, MIN_RIDGE), 10.0)


# Exact sizes: members move along shortest paths between clusters.


class Network(NamedTuple):
    """Places of clusters between their bounds, and how many samples are too many for them.

    The last node is a pool, from which clusters get places and to which they return them.
    """

    places: np.ndarray  # (n_clusters,) int64
    smallest: np.ndarray
    largest: np.ndarray
    excess: np.ndarray  # (n_clusters + 1,) int64


@jit
def assign_to_places(costs, places, tolerance, labels):
    """The cluster of least cost, of each sample; of those within a tolerance one with most places.

    Fills ``labels``, and takes their places.
    """
    for p in range(len(costs)):
        least = np.inf
        for k in range(costs.shape[1]):
            least = min(least, costs[p, k])
        best = NO_INDEX
        for k in range(costs.shape[1]):
            if costs[p, k] <= least + tolerance and (best < 0 or places[k] > places[best]):
                best = np.int64(k)
        labels[p] = best
        places[best] -= 1


class Queues(NamedTuple):
    """Members of each cluster that go to each other one at the least change of the cost."""

    changes: np.ndarray  # (n_clusters, n_clusters, n_queued) rising
    movers: np.ndarray  # (n_clusters, n_clusters, n_queued) int32; some may have left since
    lengths: np.ndarray  # (n_clusters, n_clusters) int64, how many are in the queue
    limits: np.ndarray  # (n_clusters, n_clusters) least change of the members that are in none


def allocate_queues(n_clusters):
    """Empty queues, whose lengths bound their memory and the time of a move."""
    n_queued = max(1, min(64, 2**20 // n_clusters**2))
    shape = n_clusters, n_clusters
    changes = np.empty((*shape, n_queued))
    movers = np.empty(changes.shape, np.int32)
    return Queues(changes, movers, np.zeros(shape, np.int64), np.full(shape, np.inf))


def fill_places(X, centers, squares, labels, potentials, network):
    """Move members to the places of clusters along shortest paths, in place; whether all fit.

    ``potentials`` are multipliers at which every label has the least reduced cost, and 0 for the
    pool. They follow the paths, so that this stays true (successive shortest paths).
    """
    queues = allocate_queues(len(centers))
    return _fill_places(kernel_rows(X), centers, squares, labels, potentials, network, queues)


@jit
def _fill_places(X, centers, squares, labels, potentials, network, queues):
    """Move members along shortest paths, as `fill_places`; return whether all fit.

    `potentials`, (n_clusters + 1,), and the network have the pool as their last node.
    """
    n_clusters = len(centers)
    costs = np.empty(n_clusters)
    is_filled = np.zeros(n_clusters + 1, np.bool_)
    is_filled[n_clusters] = True
    lengths, previous = np.empty(n_clusters + 1), np.empty(n_clusters + 1, np.int64)
    while True:
        has_excess = False
        for v in range(n_clusters + 1):
            has_excess |= network.excess[v] > 0
        if not has_excess:
            return True
        samples = X, centers, squares, labels, costs
        end = _find_shortest_path(
            samples, queues, is_filled, potentials, network, lengths, previous
        )
        if end < 0:
            return False
        # Labels of least reduced cost stay so along shortest paths, if multipliers follow them.
        for v in range(n_clusters + 1):
            potentials[v] -= min(lengths[v], lengths[end])
        # A member, or a place, moves along each arc of the path.
        network.excess[end] += 1
        goal = end
        while previous[goal] >= 0:
            origin = previous[goal]
            if goal == n_clusters:
                network.places[origin] += 1
            elif origin == n_clusters:
                network.places[goal] -= 1
            else:
                mover = queues.movers[origin, goal, 0]
                labels[mover] = goal
                _leave_queues(X, centers, squares, labels, mover, origin, queues)
                if is_filled[goal]:
                    _join_queues(X, centers, squares, mover, goal, costs, queues)
            goal = origin
        network.excess[goal] -= 1


@fast_sums_helper
def _dot(x, center):
    total = 0.0
    for f in range(len(x)):
        total += x[f] * center[f]
    return total


@helper
def _insert(queues, origin, goal, change, mover):
    """Insert a member into a queue; the last one leaves a full queue."""
    changes, movers = queues.changes[origin, goal], queues.movers[origin, goal]
    last = queues.lengths[origin, goal]
    if last == len(changes):
        queues.limits[origin, goal] = min(queues.limits[origin, goal], changes[last - 1])
        last -= 1
    else:
        queues.lengths[origin, goal] += 1
    while last > 0 and changes[last - 1] > change:
        changes[last], movers[last] = changes[last - 1], movers[last - 1]
        last -= 1
    changes[last], movers[last] = change, mover


@helper
def _join_queues(X, centers, squares, p, cluster, costs, queues):
    """Insert a sample into the queues of its cluster in which it is among the first."""
    x = row_of(X, p)
    for k in range(len(centers)):
        costs[k] = squares[k] - 2.0 * _dot(x, centers[k])
    for k in range(len(centers)):
        change = costs[k] - costs[cluster]
        last = queues.lengths[cluster, k]
        if k == cluster:
            continue
        if last == queues.changes.shape[2] and change >= queues.changes[cluster, k, last - 1]:
            queues.limits[cluster, k] = min(queues.limits[cluster, k], change)
        elif change <= queues.limits[cluster, k]:
            _insert(queues, cluster, k, change, p)


@helper
def _leave_queues(X, centers, squares, labels, p, cluster, queues):
    """Bring members to the front of the queues of a cluster that a sample has left."""
    for k in range(len(centers)):
        movers = queues.movers[cluster, k]
        n_queued = queues.lengths[cluster, k]
        if k == cluster or n_queued == 0 or movers[0] != p:
            continue
        first = 0
        while first < n_queued and labels[movers[first]] != cluster:
            first += 1
        queues.lengths[cluster, k] = n_queued - first
        for i in range(first, n_queued):
            queues.changes[cluster, k, i - first] = queues.changes[cluster, k, i]
            movers[i - first] = movers[i]
        if first == n_queued and queues.limits[cluster, k] < np.inf:
            _refill(X, centers, squares, labels, cluster, k, queues)


@helper
def _refill(X, centers, squares, labels, origin, goal, queues):
    """Fill an empty queue again, from all members."""
    queues.limits[origin, goal] = np.inf
    n_queued = queues.changes.shape[2]
    for p in range(len(labels)):
        if labels[p] != origin:
            continue
        x = row_of(X, p)
        here, there = _dot(x, centers[origin]), _dot(x, centers[goal])
        change = (squares[goal] - 2.0 * there) - (squares[origin] - 2.0 * here)
        last = queues.lengths[origin, goal]
        if last < n_queued or change < queues.changes[origin, goal, last - 1]:
            _insert(queues, origin, goal, change, p)
        else:
            queues.limits[origin, goal] = min(queues.limits[origin, goal], change)


@helper
def _find_shortest_path(samples, queues, is_filled, potentials, network, lengths, previous):
    """Shortest path in reduced costs from any excess to any lack, by Dijkstra's algorithm.

    Nodes are the clusters and, last, a pool of places. An arc between clusters moves a member, one
    to the pool adds a place to a cluster, and one from the pool takes a place away. Fills
    ``lengths``, of nodes farther than the end what they are at most, and the ``previous`` node of
    each; fills the queues of clusters that a path may lead on from. Returns the end, -1 if there is
    none.
    """
    X, centers, squares, labels, costs = samples
    pool = len(network.places)
    is_done = np.zeros(pool + 1, np.bool_)
    for v in range(pool + 1):
        lengths[v], previous[v] = (0.0 if network.excess[v] > 0 else np.inf), NO_INDEX
    while True:
        u, shortest = NO_INDEX, np.inf
        for v in range(pool + 1):
            if not is_done[v] and lengths[v] < shortest:
                u = np.int64(v)
                shortest = lengths[v]
        if u < 0 or network.excess[u] < 0:
            return u
        is_done[u] = True
        if not is_filled[u]:
            # A path may lead on from a cluster whose members were not compared yet.
            for p in range(len(labels)):
                if labels[p] == u:
                    _join_queues(X, centers, squares, p, u, costs, queues)
            is_filled[u] = True
        for v in range(pool + 1):
            if is_done[v]:
                continue
            if u == pool:
                cost = 0.0 if network.places[v] > network.smallest[v] else np.inf
            elif v == pool:
                cost = 0.0 if network.places[u] < network.largest[u] else np.inf
            else:
                cost = queues.changes[u, v, 0] if queues.lengths[u, v] > 0 else np.inf
            # Reduced costs are not negative, but for rounding.
            length = shortest + max(cost + potentials[v] - potentials[u], 0.0)
            if length < lengths[v]:
                lengths[v], previous[v] = length, u


# Local search: single moves and exchanges, to candidates only.


def search_candidates(X, clusters, clustering, sizes, bounds):
    """Lower the cost by a pass of moves and exchanges that keep the sizes in bounds, in place.

    ``sizes`` are numbers of members.
    """
    arcs = (len(sizes), len(sizes))
    gains, partners = np.full(arcs, np.inf, np.float32), np.full(arcs, -1, np.int32)
    rows = kernel_rows(X)
    _search_candidates(
        rows, clusters, clustering.labels, clustering.centers, sizes, bounds, gains, partners
    )


@jit
def _search_candidates(X, clusters, labels, centers, sizes, bounds, gains, partners):
    """Move and exchange members in a pass, as `search_candidates`, in place.

    `clusters` are the candidates of samples, (n_samples, n_candidates). `gains` and `partners`,
    (n_clusters, n_clusters), have for each pair of clusters the change of cost of the best member
    that waits for an exchange, and this member.
    """
    smallest, largest = bounds
    n_features = centers.shape[1]
    for p in range(len(labels)):
        a = labels[p]
        x = row_of(X, p)
        if sizes[a] <= 1:
            continue
        here = _distance(x, centers[a], 0.0)
        leaving = sizes[a] / (sizes[a] - 1.0) * here
        goal = NO_INDEX
        partner = NO_INDEX
        lowest = -1e-9 * here
        for j in range(clusters.shape[1]):
            b = np.int64(clusters[p, j])
            if b == a:
                continue
            there = _distance(x, centers[b], 0.0)
            if sizes[b] < largest and sizes[a] > smallest:
                change = sizes[b] / (sizes[b] + 1.0) * there - leaving
                if change < lowest:
                    goal, partner, lowest = b, NO_INDEX, change
            # An exchange with the sample of b that would gain most, or lose least, by going to a.
            q = np.int64(partners[b, a])
            if q >= 0 and labels[q] == b and there - here + gains[b, a] < lowest:
                change = there - here
                y = row_of(X, q)
                change += _distance(y, centers[a], 0.0) - _distance(y, centers[b], 0.0)
                change -= (1.0 / sizes[a] + 1.0 / sizes[b]) * _distance(x, y, 0.0)
                if change < lowest:
                    goal, partner, lowest = b, q, change
            if there - here < gains[a, b]:
                gains[a, b], partners[a, b] = there - here, p
        if goal == NO_INDEX:
            continue
        labels[p] = goal
        if partner == NO_INDEX:
            for f in range(n_features):
                centers[a, f] += (centers[a, f] - x[f]) / (sizes[a] - 1.0)
                centers[goal, f] -= (centers[goal, f] - x[f]) / (sizes[goal] + 1.0)
            sizes[a] -= 1
            sizes[goal] += 1
        else:
            labels[partner] = a
            partners[goal, a], gains[goal, a] = NO_INDEX, np.inf
            y = row_of(X, partner)
            for f in range(n_features):
                difference = y[f] - x[f]
                centers[a, f] += difference / sizes[a]
                centers[goal, f] -= difference / sizes[goal]
