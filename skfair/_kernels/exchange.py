"""Exchanges of samples between clusters that lower the k-means cost and keep a balance."""

from typing import NamedTuple

import numpy as np

from skfair._kernels import NO_INDEX, deferred_helper, inline_helper
from skfair._kernels._interpreted import interpret_at_first
from skfair._kernels.clustering import distance, move
from skfair._kernels.kmeans import squared_distances
from skfair._kernels.limits import allows_exchange


class ExchangeCandidates(NamedTuple):
    """Candidates of exchanges, in cells: from cluster a, to cluster c, of an intersection."""

    samples: np.ndarray  # (n_candidates,) int64, in each cell the lowest bound first
    bounds: np.ndarray  # (n_candidates,) lower bounds on what each adds to the cost of an exchange
    starts: np.ndarray  # (n_clusters**2 n_intersections + 1,) int64, where each cell starts
    lowest: np.ndarray  # (n_clusters, n_clusters, n_intersections) minimum bound of a to c


def exchange(X, weights, codes, clustering, rows, bounds, cells, lowest, limits):
    """Exchange pairs of samples between clusters where that lowers the cost.

    For equal sample weights. The limits are kept. Sizes do not change, nor does the composition in
    an exchange within an intersection. ``rows``, ``bounds`` and ``cells`` are those of
    `find_candidates`, in the order of `sort_candidates`: if there is no exchange, none lowers the
    cost. Returns the number of exchanges. Changes ``clustering`` in place.
    """
    starts = np.concatenate(([0], np.cumsum(np.bincount(cells, minlength=lowest.size))))
    candidates = ExchangeCandidates(rows, bounds, starts, lowest)
    return _exchange_pass(X, weights, codes, clustering, candidates, limits)


def lowest_bounds(distances, codes, weight, clustering, n_intersections):
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
    _fill_lowest(distances, clustering.labels, codes, tables, lowest)
    return lowest


def _bound_tables(weight, clustering):
    """For pairs of clusters 2 kappa and a quarter of the squared distance of their centres."""
    centers, sizes = clustering.centers, clustering.sizes
    with np.errstate(divide="ignore", invalid="ignore"):  # empty clusters
        kappas = weight / sizes[:, None] + weight / sizes
    return np.stack([2.0 * kappas, 0.25 * squared_distances(centers, centers)])


@inline_helper
def _bound(distances, a, c, tables):
    """The lower bound for a sample of cluster a, at these distances, and cluster c."""
    # r^2 = (|x - m_a|^2 + |x - m_c|^2) / 2 - |m_a - m_c|^2 / 4.
    halfway = 0.5 * (distances[c] + distances[a]) - tables[1, a, c]
    return distances[c] - distances[a] - tables[0, a, c] * halfway


@interpret_at_first(lambda distances, *_: distances.size)
def _fill_lowest(distances, labels, codes, tables, lowest):
    for p in range(labels.size):
        a, code = labels[p], codes[p]
        for c in range(distances.shape[1]):
            if c != a:
                bound = _bound(distances[p], a, c, tables)
                if bound < lowest[a, c, code]:
                    lowest[a, c, code] = bound


def sort_candidates(bounds, cells, n_cells):
    """The order that sorts by cell, then by bound."""
    order = np.argsort(bounds, kind="stable")
    return order[argsort_cells(cells[order], n_cells)]


def argsort_cells(cells, n_cells):
    """The stable order that sorts cells, as short integers, which is faster."""
    return np.argsort(cells.astype(np.min_scalar_type(n_cells)), kind="stable")


def partner_bounds(clustering, lowest, weight, limits):
    """The minimum bound of the samples for which a sample may be exchanged.

    Samples that the limits forbid to join in exchange do not count. A high balance forbids many,
    and with these nearly all samples would be candidates. (n_clusters, n_intersections,
    n_clusters): of a cluster, an intersection, for exchange with a cluster; inf without a partner.
    """
    n_clusters, _, n_intersections = lowest.shape
    partners = np.full((n_clusters, n_intersections, n_clusters), np.inf)
    _fill_partners(clustering, lowest, weight, limits, partners)
    return partners


@interpret_at_first(lambda clustering, lowest, *_: 5 * lowest.size * lowest.shape[2])
def _fill_partners(clustering, lowest, weight, limits, partners):
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
                            keeps[a, g, h] = _may_swap(clustering, a, g, h, weight, limits)
                        if keeps[c, h, g] < 0:
                            keeps[c, h, g] = _may_swap(clustering, c, h, g, weight, limits)
                        if keeps[a, g, h] and keeps[c, h, g]:
                            partners[a, g, c] = min(partners[a, g, c], returning)
                            partners[c, h, a] = min(partners[c, h, a], bound)


def find_candidates(distances, codes, weight, clustering, partners):
    """The samples whose exchange with the partner of minimum bound might lower the cost.

    Returns their rows, their bounds as in `lowest_bounds`, and their cells: source, destination and
    intersection encoded as one integer.
    """
    rows, cells = np.empty(distances.size, np.int64), np.empty(distances.size, np.int64)
    bounds, tables = np.empty(distances.size), _bound_tables(weight, clustering)
    candidates = rows, bounds, cells
    labels = clustering.labels
    n_candidates = _fill_candidates(distances, labels, codes, tables, partners, candidates)
    return tuple(column[:n_candidates].copy() for column in candidates)


@interpret_at_first(lambda distances, *_: distances.size)
def _fill_candidates(distances, labels, codes, tables, partners, candidates):
    n_clusters, n_intersections, _ = partners.shape
    rows, bounds, cells = candidates
    n = 0
    for p in range(labels.size):
        a, code = labels[p], codes[p]
        for c in range(n_clusters):
            if partners[a, code, c] < np.inf:
                bound = _bound(distances[p], a, c, tables)
                if bound < -partners[a, code, c]:
                    rows[n], bounds[n] = p, bound
                    cells[n] = (a * n_clusters + c) * n_intersections + code
                    n += 1
    return n


def _count_steps(X, weights, codes, clustering, candidates, limits):
    return candidates.lowest.size + 10 * candidates.samples.size * X.shape[1]


@interpret_at_first(_count_steps)
def _exchange_pass(X, weights, codes, clustering, candidates, limits):
    n_clusters, n_intersections = clustering.sizes.size, limits.intersections.shape[0]
    lowest = candidates.lowest
    n_exchanges = 0
    for a in range(n_clusters):
        for c in range(a + 1, n_clusters):
            for g in range(n_intersections):
                for h in range(n_intersections):
                    if lowest[a, c, g] + lowest[c, a, h] < 0.0 and _may_exchange(
                        clustering, a, c, g, h, weights[0], limits
                    ):
                        n_exchanges += _exchange(
                            X, weights, codes, clustering, candidates, limits, (a, c, g, h)
                        )
    return n_exchanges


@deferred_helper
def _may_exchange(clustering, a, c, g, h, w, limits):
    """Whether both clusters keep the limits if a gives a sample of g to c for one of h."""
    return _may_swap(clustering, a, g, h, w, limits) and _may_swap(clustering, c, h, g, w, limits)


@deferred_helper
def _may_swap(clustering, k, leaving, joining, w, limits):
    """Whether cluster k keeps the limits if it gives a sample of an intersection for another."""
    counts, members = clustering.counts[k], clustering.members[k]
    return allows_exchange(counts, members, leaving, joining, w, limits)


@deferred_helper
def _exchange(X, weights, codes, clustering, candidates, limits, cell):
    """Exchange each candidate of a for the one of c that lowers the cost most, if one does."""
    labels, centers, sizes, _, _ = clustering
    samples, bounds, starts, lowest = candidates
    n_clusters, n_intersections = clustering.sizes.size, limits.intersections.shape[0]
    (a, c, g, h), w = cell, weights[0]
    giving, returning = (
        (a * n_clusters + c) * n_intersections + g,
        (c * n_clusters + a) * n_intersections + h,
    )
    n_exchanges = 0
    for j in range(starts[giving], starts[giving + 1]):
        p = samples[j]
        if bounds[j] + lowest[c, a, h] >= 0.0:
            break
        if labels[p] != a:
            continue
        # Contribution of p to the change, and bounds that end the search.
        kappa = w / sizes[a] + w / sizes[c]
        share = distance(X[p], centers[c]) - distance(X[p], centers[a])
        # The best partner: bounds ascend, so the search ends at the first that cannot gain.
        best, least = NO_INDEX, -1e-10 * distance(centers[a], centers[c])
        for i in range(starts[returning], starts[returning + 1]):
            if bounds[j] + bounds[i] >= 0.0:
                break
            q = samples[i]
            if labels[q] == c:
                change = share + distance(X[q], centers[a]) - distance(X[q], centers[c])
                change -= kappa * distance(X[p], X[q])
                if change < least:
                    best, least = q, change
        # Make the exchange.
        if best >= 0 and _may_exchange(clustering, a, c, g, h, w, limits):
            move(X, weights, weights, codes, clustering, p, c, limits)
            move(X, weights, weights, codes, clustering, best, a, limits)
            n_exchanges += 1
    return n_exchanges
