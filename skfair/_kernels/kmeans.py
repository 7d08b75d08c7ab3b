"""Kernels of k-means: a clustering that moves change, distances, single moves, exchanges."""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from skfair._kernels import NO_INDEX, helper, interpret_at_first, jit
from skfair._kernels.limits import allows_change, allows_exchange, has_single_member, update_counts
from skfair._kernels.sparse_samples import (
    member_distances,
    member_sums,
    row_blocks,
    row_of,
    sparse_distances,
    sparse_nearest,
)

# A clustering that single moves change in place, and what a move does to it.
#
# A sample has a mass and a weight. The mass weighs it in the mean of its cluster and in the cost;
# the weight counts it in the group composition. Mostly they are the same.
#
# Moving a sample of mass w out of cluster a and into cluster b changes the k-means cost by ::
#
#     w n_b / (n_b + w) |x - m_b|^2  -  w n_a / (n_a - w) |x - m_a|^2
#
# where n and m are the mass and the mean of a cluster before the move (Hartigan, 1975).


class Clustering(NamedTuple):
    """A clustering that single moves change in place."""

    labels: np.ndarray  # (n_samples,) int32
    centers: np.ndarray  # (n_clusters, n_features) means of the members by mass
    sizes: np.ndarray  # (n_clusters,) mass of the members
    counts: np.ndarray  # (n_clusters, n_groups) weight of the members by group
    members: np.ndarray  # (n_clusters, n_groups) int64, number of the members


class KernelSamples(NamedTuple):
    """Samples as kernels of single moves read them."""

    X: np.ndarray  # (n_samples, n_features), or `SparseSamples`
    masses: np.ndarray  # (n_samples,)
    weights: np.ndarray  # (n_samples,)
    codes: np.ndarray  # (n_samples,) intersections of the limits


def clustering_from_sums(labels, summed):
    """The clustering of labels and their `cluster_sums`, summed over all partitions.

    The centre of an empty cluster is nan.
    """
    sums, sizes, counts, members = summed
    occupied = np.where(sizes == 0, np.nan, sizes)
    return Clustering(labels, sums / occupied[:, np.newaxis], sizes, counts, members)


def cluster_sums(X, masses, weights, codes, labels, n_clusters, limits):
    """Sums, sizes, counts and members by cluster, which add up over partitions of the samples."""
    n_codes = len(limits.intersections)
    sums = np.zeros((n_clusters, X.shape[1]))
    sizes = np.zeros(n_clusters)
    weights_by_code = np.zeros((n_clusters, n_codes))
    numbers_by_code = np.zeros((n_clusters, n_codes), np.int64)
    outputs = sums, sizes, weights_by_code, numbers_by_code
    add = _add_cluster_sums_by_numpy if sparse.issparse(X) else _add_cluster_sums
    add(X, masses, weights, codes, labels, outputs)
    # Count intersections first, then groups: a sample is in one intersection but several groups.
    counts = np.zeros((n_clusters, limits.n_groups))
    members = np.zeros((n_clusters, limits.n_groups), np.int64)
    for groups in limits.intersections.T:
        np.add.at(counts.T, groups, weights_by_code.T)
        np.add.at(members.T, groups, numbers_by_code.T)
    return sums, sizes, counts, members


def _add_cluster_sums_by_numpy(X, masses, weights, codes, labels, outputs):
    """The same as `_add_cluster_sums`, also of sparse samples."""
    sums, sizes, weights_by_code, numbers_by_code = outputs
    n_clusters, n_codes = weights_by_code.shape
    cells = np.asarray(labels, dtype=np.intp) * n_codes + codes
    size = n_clusters * n_codes
    weights_by_code += np.bincount(cells, weights, size).reshape(-1, n_codes)
    numbers_by_code += np.bincount(cells, minlength=size).reshape(-1, n_codes)
    sums += member_sums(X, masses, labels, n_clusters)
    sizes += np.bincount(labels, masses, n_clusters)


@interpret_at_first(lambda X, *_: X.size // 20, by_numpy=_add_cluster_sums_by_numpy)
def _add_cluster_sums(X, masses, weights, codes, labels, outputs):
    """Add each sample to the sums of its cluster, in order of the samples."""
    sums, sizes, weights_by_code, numbers_by_code = outputs
    for p in range(labels.size):
        k = labels[p]
        x = X[p]
        mass = masses[p]
        total = sums[k]
        for f in range(x.size):
            total[f] += mass * x[f]
        sizes[k] += mass
        weights_by_code[k, codes[p]] += weights[p]
        numbers_by_code[k, codes[p]] += 1


def clustering_cost(X, masses, clustering):
    """Sum of masses times squared distances to the centres, in one sequential sum."""
    if sparse.issparse(X):
        return float(masses @ member_distances(X, clustering.centers, clustering.labels))
    return _clustering_cost(X, masses, clustering)


@jit
def _clustering_cost(X, masses, clustering):
    labels, centers = clustering.labels, clustering.centers
    cost = 0.0
    for p in range(labels.size):
        cost += masses[p] * squared_distance(X[p], centers[labels[p]])
    return cost


@helper
def squared_distance(x, center):
    s = 0.0
    for f in range(x.size):
        d = x[f] - center[f]
        s += d * d
    return s


@helper
def move(samples, clustering, p, k, limits):
    """Move sample p to cluster k."""
    labels, centers, sizes, counts, members = clustering
    a = labels[p]
    code = samples.codes[p]
    mass = samples.masses[p]
    weight = samples.weights[p]
    # Label, sizes and counts.
    labels[p] = k
    sizes[a] -= mass
    sizes[k] += mass
    update_counts(counts[a], members[a], limits.intersections, code, -weight)
    update_counts(counts[k], members[k], limits.intersections, code, weight)
    x = row_of(samples.X, p)
    for f in range(x.size):
        # Means without and with the sample.
        centers[a, f] += mass * (centers[a, f] - x[f]) / sizes[a]
        centers[k, f] -= mass * (centers[k, f] - x[f]) / sizes[k]


@helper
def move_cost(distance_to, distance_from, size_to, size_from, w):
    """Change of the cost by a move of mass w, see the module's formula."""
    joining = w * size_to / (size_to + w) * distance_to
    leaving = w * size_from / (size_from - w) * distance_from
    return joining - leaving


@helper
def may_leave(clustering, p, w, limits):
    """Whether the cluster of sample p, of mass w, keeps a member without it."""
    a = clustering.labels[p]
    return not has_single_member(clustering.members[a], limits) and clustering.sizes[a] > w


# Distances to centres and the nearest of them.
#
# Samples are processed in blocks, feature by feature. So the innermost loop runs over samples and
# vectorises for any number of features and clusters. Differences are squared, not expanded into a
# matrix product, which keeps full accuracy far from the origin and an order of the sums that does
# not depend on the number of threads.


BLOCK = 128  # samples at a time: their distances stay in the cache


@helper
def _fill_block_distances(X, centers, start, block, features, distances):
    """Squared distances of ``block`` samples from ``start`` on, (n_clusters, BLOCK)."""
    n_clusters, n_features = centers.shape
    # Transpose the block, so that the innermost loop runs over samples.
    for i in range(block):
        for f in range(n_features):
            features[f, i] = X[start + i, f]
    for k in range(n_clusters):
        row = distances[k]
        row[:] = 0.0
        for f in range(n_features):
            column = features[f]
            c = centers[k, f]
            for i in range(BLOCK):
                d = column[i] - c
                row[i] += d * d


def squared_distances(X, centers):
    """Squared Euclidean distances, (n_samples, n_clusters), float64 whatever X is."""
    if sparse.issparse(X):
        return sparse_distances(X, np.asarray(centers, dtype=np.float64))
    distances = np.empty((len(X), len(centers)))
    # In blocks, since samples of float32 are copied.
    for rows in row_blocks(len(X)):
        cdist(X[rows], centers, "sqeuclidean", out=distances[rows])
    return distances


def squared_distances_by_cluster(X, centers):
    """Squared Euclidean distances, transposed: (n_clusters, n_samples)."""
    centers = np.asarray(centers, dtype=np.float64)
    if sparse.issparse(X):
        return np.ascontiguousarray(sparse_distances(X, centers).T)
    distances = np.empty((len(centers), len(X)))
    for rows in row_blocks(len(X)):
        distances[:, rows] = cdist(centers, X[rows], "sqeuclidean")
    return distances


def _block_arrays(X, centers):
    """Arrays of a block of samples: its features, and the distances to each centre."""
    return np.zeros((X.shape[1], BLOCK)), np.empty((len(centers), BLOCK))


def nearest_centers(X, centers):
    """Index of the nearest centre (ties to the lowest) and the squared distance to it."""
    labels, least, _ = assign_nearest(X, np.ones(X.shape[0]), centers)
    return labels, least


def assign_nearest(X, masses, centers):
    """The nearest centres as `nearest_centers`, and sums over the samples of each.

    The sums are those of masses times samples, of masses, and the total cost.
    """
    if sparse.issparse(X):
        labels, least = sparse_nearest(X, centers)
        sizes = np.bincount(labels, masses, len(centers))
        sums = member_sums(X, masses, labels, len(centers))
        return labels, least, (sums, sizes, float(masses @ least))
    labels = np.empty(len(X), np.int32)
    least = np.empty(len(X))
    sums = np.zeros(centers.shape)
    sizes = np.zeros(len(centers))
    outputs = labels, least, sums, sizes
    cost = _assign_nearest(X, masses, centers, outputs, _block_arrays(X, centers))
    return labels, least, (sums, sizes, cost)


@jit
def _assign_nearest(X, masses, centers, outputs, block_arrays):
    """Fill labels, squared distances, sums and sizes, as `assign_nearest`; return the cost.

    Distances are those of a block of samples to all centres at once.
    """
    n_samples = X.shape[0]
    n_clusters = centers.shape[0]
    labels, least, sums, sizes = outputs
    features, distances = block_arrays
    best = np.empty(BLOCK)
    first = np.empty(BLOCK, np.int64)
    cost = 0.0
    for start in range(0, n_samples, BLOCK):
        block = min(BLOCK, n_samples - start)
        _fill_block_distances(X, centers, start, block, features, distances)
        best[:], first[:] = np.inf, 0
        for k in range(n_clusters):
            row = distances[k]
            for i in range(BLOCK):
                wins = row[i] < best[i]
                first[i] = k if wins else first[i]
                best[i] = row[i] if wins else best[i]
        for i in range(block):
            p = start + i
            k = first[i]
            x = X[p]
            total = sums[k]
            mass = masses[p]
            labels[p], least[p] = k, best[i]
            sizes[k] += mass
            cost += mass * best[i]
            for f in range(x.size):
                total[f] += mass * x[f]
    return cost


# Passes of single moves that lower the k-means cost and keep a balance (Hartigan, 1975).


def _count_checks(samples, distances, clustering, limits):
    # Features count where they are many.
    return distances.size * max(1, clustering.centers.shape[1] - 200)


@interpret_at_first(_count_checks)
def hartigan_pass(samples, distances, clustering, limits):
    """Move each sample to the cluster of minimum cost, within the limits.

    ``distances`` are those to the centres at the start. They select the samples that are checked
    again at the current centres, so a pass without a move proves that no move lowers the cost.
    Returns the number of moves. Changes ``clustering`` in place.
    """
    labels, centers, sizes, counts, members = clustering
    n_moves = 0
    row = np.empty(sizes.size)
    checked = np.full((2, limits.intersections.shape[0], sizes.size), np.nan)
    cache = checked, np.empty(checked.shape, np.bool_)
    for p in range(labels.size):
        at = distances[p]
        if not _has_cheaper_cluster(at, sizes, labels[p], samples.masses[p]):
            continue
        if _find_best_destination(at, samples, clustering, p, limits, cache) >= 0:
            # Check the candidate again at the current centres, which earlier moves have changed.
            x = row_of(samples.X, p)
            for k in range(sizes.size):
                row[k] = squared_distance(x, centers[k])
            best = _find_best_destination(row, samples, clustering, p, limits, cache)
            if best >= 0:
                checked[:, :, labels[p]] = checked[:, :, best] = np.nan
                move(samples, clustering, p, best, limits)
                n_moves += 1
    return n_moves


def find_improvable_samples(samples, distances, clustering, limits):
    """Indices of the samples of which a single allowed move lowers the cost."""
    movers = np.empty(len(distances), np.intp)
    n_movers = _find_improvable_samples(samples, distances, clustering, limits, movers)
    return movers[:n_movers]


@interpret_at_first(lambda samples, distances, *_: distances.size)
def _find_improvable_samples(samples, distances, clustering, limits, movers):
    """Write the samples of which a single allowed move lowers the cost; return their number."""
    labels, _, sizes, _, _ = clustering
    checked = np.full((2, limits.intersections.shape[0], sizes.size), np.nan)
    cache = checked, np.empty(checked.shape, np.bool_)
    n_movers = 0
    for p in range(labels.size):
        at = distances[p]
        # Most samples end here: the other function reads many arrays and takes ten times as long.
        if not _has_cheaper_cluster(at, sizes, labels[p], samples.masses[p]):
            continue
        if _find_best_destination(at, samples, clustering, p, limits, cache) >= 0:
            movers[n_movers] = p
            n_movers += 1
    return n_movers


@helper
def _has_cheaper_cluster(distances, sizes, a, mass):
    """Whether a sample of cluster a, at these distances, would cost less in another cluster."""
    attractive = 0
    if sizes[a] > mass:
        leaving = distances[a] * sizes[a] / (sizes[a] - mass)
        for k in range(sizes.size):
            attractive += distances[k] * sizes[k] < leaving * (sizes[k] + mass)
    # The sample's cluster always counts; for most samples it is the only one.
    return attractive > 1


@helper
def _find_best_destination(distances, samples, clustering, p, limits, cache):
    """Cluster that sample p should move to, -1 where no allowed move lowers the cost.

    ``distances`` are those of sample p to all centres. ``cache`` has the weight last checked, and
    whether the cluster keeps the limits, by joining or leaving, intersection and cluster.
    """
    (labels, _, sizes, _, _), (checked, allowed) = clustering, cache
    a = labels[p]
    g = samples.codes[p]
    w = samples.masses[p]
    weight = samples.weights[p]
    # Destinations by cost; whether a cluster keeps the limits is checked for cheaper ones only.
    is_limited = limits.level > 0.0 or limits.bounds.size > 0
    best = NO_INDEX
    least = -1e-12 * w * distances[a]
    leaves = False
    counts, members = clustering.counts, clustering.members
    for k in range(sizes.size):
        if k != a and move_cost(distances[k], distances[a], sizes[k], sizes[a], w) < least:
            if not leaves:
                if not may_leave(clustering, p, w, limits):
                    return -1
                if is_limited:
                    if checked[1, g, a] != weight:
                        checked[1, g, a] = weight
                        allowed[1, g, a] = allows_change(
                            counts[a], members[a], a, g, -weight, limits
                        )
                    if not allowed[1, g, a]:
                        return -1
                leaves = True
            if is_limited and checked[0, g, k] != weight:
                checked[0, g, k] = weight
                allowed[0, g, k] = allows_change(counts[k], members[k], k, g, weight, limits)
            if not is_limited or allowed[0, g, k]:
                best = k
                least = move_cost(distances[k], distances[a], sizes[k], sizes[a], w)
    return best


# Exchanges of samples between clusters that lower the k-means cost and keep a balance.


class ExchangeCandidates(NamedTuple):
    """Candidates of exchanges, in cells: from cluster a, to cluster c, of an intersection."""

    samples: np.ndarray  # (n_candidates,) int64, in each cell the lowest bound first
    bounds: np.ndarray  # (n_candidates,) lower bounds on what each adds to the cost of an exchange
    cell_starts: np.ndarray  # (n_clusters**2 n_intersections + 1,) int64, where each cell starts
    lowest: np.ndarray  # (n_clusters, n_clusters, n_intersections) minimum bound of a to c


def exchange_pass(samples, clustering, rows, bounds, cells, lowest, limits):
    """Exchange pairs of samples between clusters where that lowers the cost.

    For equal sample weights. The limits are kept. Sizes do not change, nor does the composition in
    an exchange within an intersection. ``rows``, ``bounds`` and ``cells`` are those of
    `find_exchange_candidates`, in the order of `argsort_candidates`: if there is no exchange, none
    lowers the cost. Returns the number of exchanges. Changes ``clustering`` in place.
    """
    starts = np.concatenate(([0], np.cumsum(np.bincount(cells, minlength=lowest.size))))
    candidates = ExchangeCandidates(rows, bounds, starts, lowest)
    return _exchange_pass(samples, clustering, candidates, limits)


def min_exchange_bounds(distances, codes, weight, clustering, n_intersections):
    """Minimum bound of the samples of an intersection in a cluster, for going to another.

    Exchanging p of cluster a and q of cluster c, both of weight w, changes the cost by w times ::

        h_p(c) + h_q(a) - kappa |x_p - x_q|^2,      h_p(c) = |x_p - m_c|^2 - |x_p - m_a|^2

    with kappa = w (1 / n_a + 1 / n_c). As |x_p - x_q|^2 <= 2 r_p^2 + 2 r_q^2, with r the distance
    to the midpoint of the centres, h_p(c) - 2 kappa r_p^2 bounds the contribution of p from below.
    (n_clusters, n_clusters, n_intersections), of a to c.
    """
    n_clusters = len(clustering.sizes)
    lowest = np.full((n_clusters, n_clusters, n_intersections), np.inf)
    tables = _bound_tables(weight, clustering)
    _fill_min_exchange_bounds(distances, clustering.labels, codes, tables, lowest)
    return lowest


def _bound_tables(weight, clustering):
    """For pairs of clusters 2 kappa and a quarter of the squared distance of their centres."""
    centers, sizes = clustering.centers, clustering.sizes
    with np.errstate(divide="ignore", invalid="ignore"):  # empty clusters
        kappas = weight / sizes[:, None] + weight / sizes
    return np.stack([2.0 * kappas, 0.25 * squared_distances(centers, centers)])


@helper
def _exchange_bound(distances, a, c, tables):
    """The lower bound for a sample of cluster a, at these distances, and cluster c."""
    # r^2 = (|x - m_a|^2 + |x - m_c|^2) / 2 - |m_a - m_c|^2 / 4.
    halfway = 0.5 * (distances[c] + distances[a]) - tables[1, a, c]
    return distances[c] - distances[a] - tables[0, a, c] * halfway


@interpret_at_first(lambda distances, *_: distances.size)
def _fill_min_exchange_bounds(distances, labels, codes, tables, lowest):
    for p in range(labels.size):
        a = labels[p]
        code = codes[p]
        for c in range(distances.shape[1]):
            if c != a:
                bound = _exchange_bound(distances[p], a, c, tables)
                if bound < lowest[a, c, code]:
                    lowest[a, c, code] = bound


def argsort_candidates(bounds, cells, n_cells):
    """The order that sorts by cell, as a short integer, which is faster, then by bound."""
    return np.lexsort((bounds, cells.astype(np.min_scalar_type(n_cells))))


def partner_bounds(clustering, lowest, weight, limits):
    """The minimum bound of the samples for which a sample may be exchanged.

    Samples that the limits forbid to join in exchange do not count. A high balance forbids many,
    and with these nearly all samples would be candidates. (n_clusters, n_intersections,
    n_clusters): of a cluster, an intersection, for exchange with a cluster; inf without a partner.
    """
    n_clusters, _, n_intersections = lowest.shape
    partners = np.full((n_clusters, n_intersections, n_clusters), np.inf)
    _fill_partner_bounds(clustering, lowest, weight, limits, partners)
    return partners


@interpret_at_first(lambda clustering, lowest, *_: 5 * lowest.size * lowest.shape[2])
def _fill_partner_bounds(clustering, lowest, weight, limits, partners):
    """Fill `partners`, (n_clusters, n_intersections, n_clusters), as the function that calls it."""
    n_clusters, n_intersections, _ = partners.shape
    # Whether a cluster keeps the limits, by what it gives and gets; -1 where not yet checked.
    keeps = np.full((n_clusters, n_intersections, n_intersections), -1)
    for a in range(n_clusters):
        for c in range(a + 1, n_clusters):
            for g in range(n_intersections):
                for h in range(n_intersections):
                    bound, returning = lowest[a, c, g], lowest[c, a, h]
                    if bound + returning < 0.0:
                        if keeps[a, g, h] < 0:
                            keeps[a, g, h] = _cluster_may_exchange(
                                clustering, a, g, h, weight, limits
                            )
                        if keeps[c, h, g] < 0:
                            keeps[c, h, g] = _cluster_may_exchange(
                                clustering, c, h, g, weight, limits
                            )
                        if keeps[a, g, h] and keeps[c, h, g]:
                            partners[a, g, c] = min(partners[a, g, c], returning)
                            partners[c, h, a] = min(partners[c, h, a], bound)


def find_exchange_candidates(distances, codes, weight, clustering, partners):
    """The samples whose exchange with the partner of minimum bound might lower the cost.

    Returns their rows, their bounds as in `min_exchange_bounds`, and their cells: source,
    destination and intersection encoded as one integer.
    """
    rows, cells = np.empty(distances.size, np.int64), np.empty(distances.size, np.int64)
    bounds = np.empty(distances.size)
    tables = _bound_tables(weight, clustering)
    candidates = rows, bounds, cells
    labels = clustering.labels
    n_candidates = _fill_candidates(distances, labels, codes, tables, partners, candidates)
    return tuple(column[:n_candidates].copy() for column in candidates)


@interpret_at_first(lambda distances, *_: distances.size)
def _fill_candidates(distances, labels, codes, tables, partners, candidates):
    """Write rows, bounds and cells of the candidates of an exchange; return their number."""
    n_clusters, n_intersections, _ = partners.shape
    rows, bounds, cells = candidates
    n = 0
    for p in range(labels.size):
        a = labels[p]
        code = codes[p]
        for c in range(n_clusters):
            if partners[a, code, c] < np.inf:
                bound = _exchange_bound(distances[p], a, c, tables)
                if bound < -partners[a, code, c]:
                    rows[n], bounds[n] = p, bound
                    cells[n] = (a * n_clusters + c) * n_intersections + code
                    n += 1
    return n


def _count_steps(samples, clustering, candidates, limits):
    return candidates.lowest.size + 10 * candidates.samples.size * clustering.centers.shape[1]


@interpret_at_first(_count_steps)
def _exchange_pass(samples, clustering, candidates, limits):
    """Exchange samples between each pair of clusters; return the number of exchanges.

    `lowest` of the candidates, (n_clusters, n_clusters, n_intersections), bounds what the move of a
    sample changes.
    """
    n_clusters = clustering.sizes.size
    n_intersections = limits.intersections.shape[0]
    lowest = candidates.lowest
    n_exchanges = 0
    for a in range(n_clusters):
        for c in range(a + 1, n_clusters):
            for g in range(n_intersections):
                for h in range(n_intersections):
                    if lowest[a, c, g] + lowest[c, a, h] < 0.0 and _may_exchange(
                        clustering, a, c, g, h, samples.weights[0], limits
                    ):
                        n_exchanges += _exchange(
                            samples, clustering, candidates, limits, (a, c, g, h)
                        )
    return n_exchanges


@helper
def _may_exchange(clustering, a, c, g, h, w, limits):
    """Whether both clusters keep the limits if a gives a sample of g to c for one of h."""
    return _cluster_may_exchange(clustering, a, g, h, w, limits) and _cluster_may_exchange(
        clustering, c, h, g, w, limits
    )


@helper
def _cluster_may_exchange(clustering, k, leaving, joining, w, limits):
    """Whether cluster k keeps the limits if it gives a sample of an intersection for another."""
    counts = clustering.counts[k]
    members = clustering.members[k]
    return allows_exchange(counts, members, k, leaving, joining, w, limits)


@helper
def _exchange(samples, clustering, candidates, limits, cell):
    """Exchange each candidate of a for the one of c that lowers the cost most, if one does."""
    labels, centers, sizes, _, _ = clustering
    listed = candidates.samples
    bounds = candidates.bounds
    starts = candidates.cell_starts
    lowest = candidates.lowest
    n_clusters = clustering.sizes.size
    n_intersections = limits.intersections.shape[0]
    a, c, g, h = cell
    w = samples.weights[0]
    giving = (a * n_clusters + c) * n_intersections + g
    returning = (c * n_clusters + a) * n_intersections + h
    n_exchanges = 0
    for j in range(starts[giving], starts[giving + 1]):
        p = listed[j]
        if bounds[j] + lowest[c, a, h] >= 0.0:
            break
        if labels[p] != a:
            continue
        # Contribution of p to the change, and bounds that end the search.
        kappa = w / sizes[a] + w / sizes[c]
        x = row_of(samples.X, p)
        share = squared_distance(x, centers[c]) - squared_distance(x, centers[a])
        # The best partner: bounds ascend, so the search ends at the first that cannot gain.
        best = NO_INDEX
        least = -1e-10 * squared_distance(centers[a], centers[c])
        for i in range(starts[returning], starts[returning + 1]):
            if bounds[j] + bounds[i] >= 0.0:
                break
            q = listed[i]
            if labels[q] == c:
                y = row_of(samples.X, q)
                change = share + squared_distance(y, centers[a]) - squared_distance(y, centers[c])
                change -= kappa * squared_distance(x, y)
                if change < least:
                    best, least = q, change
        # Make the exchange.
        if best >= 0 and _may_exchange(clustering, a, c, g, h, w, limits):
            move(samples, clustering, p, c, limits)
            move(samples, clustering, best, a, limits)
            n_exchanges += 1
    return n_exchanges
