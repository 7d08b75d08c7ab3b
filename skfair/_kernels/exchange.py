"""Exchanges of samples between clusters that lower the k-means cost and keep a balance."""

from typing import NamedTuple

import numpy as np

from skfair._kernels import NONE, jit, stage
from skfair._kernels.clustering import distance, enter, is_single, move, ratio_after
from skfair._kernels.kmeans import squared_distances


class ExchangeCandidates(NamedTuple):
    """Samples that might gain by going from cluster a to cluster c, by a, c and kind."""

    samples: np.ndarray  # (n_candidates,) int64, in each cell the lowest bound first
    bounds: np.ndarray  # (n_candidates,) what each contributes at least to an exchange
    starts: np.ndarray  # (n_clusters**2 n_kinds + 1,) int64, where each cell starts
    lowest: np.ndarray  # (n_clusters, n_clusters, n_kinds) the least bound of a to c


def exchange(X, weights, codes, clustering, rows, bounds, cells, lowest, limits):
    """Exchange pairs of samples between clusters where that lowers the cost.

    For equal sample weights. The limits are kept; sizes stay as they are, and so does the mix in
    an exchange within a kind. ``rows``, ``bounds`` and ``cells`` tell who `might_gain`, sorted by
    `cheapest_first`: where nobody is exchanged, no exchange lowers the cost. Returns the number of
    exchanges. Changes ``clustering`` in place.
    """
    starts = np.concatenate(([0], np.cumsum(np.bincount(cells, minlength=lowest.size))))
    candidates = ExchangeCandidates(rows, bounds, starts, lowest)
    return _exchange_pass(X, weights, codes, clustering, candidates, limits)


def exchange_bounds(distances, codes, weight, clustering, n_kinds):
    """What each sample contributes at least to the change of an exchange between two clusters.

    Exchanging p of cluster a and q of cluster c, both of weight w, changes the cost by w times ::

        h_p(c) + h_q(a) - kappa |x_p - x_q|^2,      h_p(c) = |x_p - m_c|^2 - |x_p - m_a|^2

    with kappa = w (1 / n_a + 1 / n_c). As |x_p - x_q|^2 <= 2 r_p^2 + 2 r_q^2, r the distance to
    the point halfway between the centres, h_p(c) - 2 kappa r_p^2 bounds the share of p from below.

    Returns
    -------
    bounds : ndarray of shape (n_samples, n_clusters)
    lowest : ndarray of shape (n_clusters, n_clusters, n_kinds)
        The least bound of those of a kind in one cluster to go to another.
    """
    labels, centers, sizes, _, _ = clustering
    with np.errstate(divide="ignore", invalid="ignore"):  # empty clusters
        kappas = weight / sizes[:, None] + weight / sizes
        own = np.take_along_axis(distances, labels[:, None].astype(np.intp), axis=1)
        halfway = distances + own
        halfway *= 0.5
        halfway -= np.take(0.25 * squared_distances(centers, centers), labels, axis=0)
        halfway *= np.take(2.0 * kappas, labels, axis=0)
        bounds = distances - own
        bounds -= halfway
    return bounds, _lowest(bounds, labels, codes, (len(sizes), n_kinds))


def _lowest(bounds, labels, codes, shape):
    """(n_clusters, n_clusters, n_kinds): the least bound of those of a kind in a to go to c."""
    n_clusters, n_kinds = shape
    cells = labels * np.int64(n_kinds) + codes
    sizes = np.bincount(cells, minlength=n_clusters * n_kinds)
    order = by_cell(cells, n_clusters * n_kinds)
    lowest = np.full((n_clusters * n_kinds, n_clusters), np.inf)
    starts = (np.cumsum(sizes) - sizes)[sizes > 0]
    lowest[sizes > 0] = np.minimum.reduceat(np.take(bounds, order, axis=0), starts, axis=0)
    lowest = lowest.reshape(n_clusters, n_kinds, n_clusters)
    return np.ascontiguousarray(lowest.transpose(0, 2, 1))


def cheapest_first(bounds, cells, n_cells):
    """The order that sorts cells, and in each of them bounds."""
    order = np.argsort(bounds, kind="stable")
    return order[by_cell(cells[order], n_cells)]


def by_cell(cells, n_cells):
    """The order that sorts cells, and leaves what is in one as it is: short integers are faster."""
    return np.argsort(cells.astype(np.min_scalar_type(n_cells)), kind="stable")


def cheapest_partners(clustering, lowest, weight, limits):
    """The least bound of those for whom one of a kind in a cluster may go to another.

    Whom the limits forbid to come in exchange is no partner. Where the balance asked for is high
    many are, and with these nearly everybody would seem to gain.

    Returns
    -------
    partners : ndarray of shape (n_clusters, n_kinds, n_clusters)
        From which cluster, of which kind, to which cluster; inf where there is nobody.
    """
    n_clusters, _, n_kinds = lowest.shape
    partners = np.full((n_clusters, n_kinds, n_clusters), np.inf)
    _fill_partners(clustering, lowest, weight, limits, partners)
    return partners


@jit
def _fill_partners(clustering, lowest, weight, limits, partners):
    n_clusters, n_kinds, _ = partners.shape
    for a in range(n_clusters):
        for c in range(a + 1, n_clusters):
            for g in range(n_kinds):
                for h in range(n_kinds):
                    there, back = lowest[a, c, g], lowest[c, a, h]
                    if there + back < 0.0 and _may_exchange(clustering, a, c, g, h, weight, limits):
                        partners[a, g, c] = min(partners[a, g, c], back)
                        partners[c, h, a] = min(partners[c, h, a], there)


def might_gain(bounds, partners, codes, labels):
    """Those who might gain if their partner, of the `cheapest_partners`, contributed the least.

    Returns
    -------
    rows : ndarray of intp, shape (n_candidates,)
    bounds : ndarray of shape (n_candidates,)
        What each contributes at least.
    cells : ndarray of intp, shape (n_candidates,)
        From which cluster to which, and kind, as one number.
    """
    n_clusters, n_kinds, _ = partners.shape
    own = labels * np.int64(n_kinds) + codes
    rows, targets = np.nonzero(bounds < np.take(-partners.reshape(-1, n_clusters), own, axis=0))
    cells = (labels[rows] * np.int64(n_clusters) + targets) * n_kinds + codes[rows]
    return rows, bounds[rows, targets], cells


@jit
def _exchange_pass(X, weights, codes, clustering, candidates, limits):
    n_clusters, n_kinds = clustering.sizes.size, limits.kinds.shape[0]
    lowest = candidates.lowest
    n_exchanges = 0
    for a in range(n_clusters):
        for c in range(a + 1, n_clusters):
            for g in range(n_kinds):
                for h in range(n_kinds):
                    if lowest[a, c, g] + lowest[c, a, h] < 0.0 and _may_exchange(
                        clustering, a, c, g, h, weights[0], limits
                    ):
                        n_exchanges += _exchange(
                            X, weights, codes, clustering, candidates, limits, (a, c, g, h)
                        )
    return n_exchanges


@stage
def _may_exchange(clustering, a, c, g, h, w, limits):
    """Whether both clusters keep the limits when a gives one of kind g for one of h from c."""
    counts, members = clustering.counts, clustering.members
    bound = limits.level * (1.0 - 1e-12)
    if g == h or bound <= 0.0:
        return True
    for k, gone, come in ((a, g, h), (c, h, g)):
        if is_single(clustering, k, limits):
            return False
        enter(counts[k], members[k], limits.kinds, come, w)
        balance = ratio_after(counts[k], members[k], gone, -w, limits)
        enter(counts[k], members[k], limits.kinds, come, -w)
        if balance < bound:
            return False
    return True


@stage
def _exchange(X, weights, codes, clustering, candidates, limits, cell):
    """Exchange each giver of a for the taker of c that lowers the cost most, if one does."""
    labels, centers, sizes, _, _ = clustering
    samples, bounds, starts, lowest = candidates
    n_clusters, n_kinds = clustering.sizes.size, limits.kinds.shape[0]
    (a, c, g, h), w = cell, weights[0]
    first, back = (a * n_clusters + c) * n_kinds + g, (c * n_clusters + a) * n_kinds + h
    n_exchanges = 0
    for j in range(starts[first], starts[first + 1]):
        p = samples[j]
        if bounds[j] + lowest[c, a, h] >= 0.0:
            break
        if labels[p] != a:
            continue
        kappa = w / sizes[a] + w / sizes[c]
        share = distance(X[p], centers[c]) - distance(X[p], centers[a])
        best, least = NONE, -1e-10 * distance(centers[a], centers[c])
        for i in range(starts[back], starts[back + 1]):
            if bounds[j] + bounds[i] >= 0.0:
                break
            q = samples[i]
            if labels[q] == c:
                change = share + distance(X[q], centers[a]) - distance(X[q], centers[c])
                change -= kappa * distance(X[p], X[q])
                if change < least:
                    best, least = q, change
        if best >= 0 and _may_exchange(clustering, a, c, g, h, w, limits):
            move(X, weights, weights, codes, clustering, p, c, limits)
            move(X, weights, weights, codes, clustering, best, a, limits)
            n_exchanges += 1
    return n_exchanges
