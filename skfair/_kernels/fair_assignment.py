"""Everybody's cheapest cluster at given prices, and better prices: the dual of fair assignment.

With squared distances ``D`` (clusters first) and ratios ``b`` the linear programme ::

    min  sum_p w_p sum_k D[k, p] s[p, k]     over s >= 0 with sum_k s[p, k] = 1
    s.t. n[k, i] >= b[i, j] n[k, j]          for every cluster k and ordered pair of groups i, j
         l <= sum_i n[k, i] <= u             for every cluster k

has the concave dual ::

    L(y, z) = sum_p w_p min_k (D[k, p] + offsets[k, g(p)]) + sum_k (l z[k, 0] - u z[k, 1])

in one multiplier ``y[k, i, j] >= 0`` per pair and two, ``z[k] >= 0``, per size, with
``offsets[k, i] = sum_j (b[j, i] y[k, j, i] - y[k, i, j]) + z[k, 1] - z[k, 0]``. Any multipliers
that are not negative bound the cost from below.

With several attributes the pairs are those within an attribute (``b`` is 0 for others), a sample
pays the offsets of all groups that it is in, and the price of a size is shared by its groups.
"""

from typing import NamedTuple

import numpy as np

from skfair._kernels import jit
from skfair._kernels.fair_prices import (
    Prices,
    add_kinds,
    fill_kind_offsets,
    fill_offsets,
    free_rows,
    newton_direction,
    store,
    worst_violation,
)

BLOCK = 128


class Look(NamedTuple):
    """What the dual ascent asks of samples at given prices."""

    labels: np.ndarray  # (n_samples,) int32, the cheapest cluster, ties to the lowest index
    gaps: np.ndarray  # (n_samples,) how much more the next cheapest cluster costs
    value: float  # sum of the least costs
    counts: np.ndarray  # (n_clusters, n_kinds) weight of the members
    ties: np.ndarray  # (n_kinds, n_clusters, n_clusters) weight near a tie, cheapest cluster first
    n_near: int  # number of those near a tie
    besides: tuple = ()  # whatever else of these samples is asked at every look, and adds up

    @property
    def totals(self):
        """What adds up over parts of the samples, and their number."""
        return self.value, self.counts, self.ties, self.n_near, len(self.labels), self.besides


def look(rows, prices, width):
    """Every sample in its cheapest cluster at given prices.

    Parameters
    ----------
    rows : tuple
        Squared distances (n_clusters, n_samples), codes of kinds and weights (n_samples,).
    prices : ndarray of shape (n_clusters, n_kinds)
        Of a place in a cluster, by kind of sample.
    width : float
        Samples whose next cheapest cluster costs less on top count as near a tie.

    Returns
    -------
    look : Look
    """
    distances, codes, weights = rows
    n_clusters, n_kinds = prices.shape
    labels, gaps = np.empty(len(codes), np.int32), np.empty(len(codes))
    counts = np.zeros((n_clusters, n_kinds))
    ties = np.zeros((n_kinds, n_clusters, n_clusters))
    places = labels, gaps, counts, ties
    value, n_near = _look(distances, codes, weights, prices, float(width), places)
    return Look(labels, gaps, value, counts, ties, n_near)


@jit
def _look(distances, codes, weights, prices, width, places):
    """Samples are taken in blocks and compared by selects, not branches.

    Which cluster is cheapest is as good as random to a processor that tries to guess it.
    """
    labels, gaps, counts, ties = places
    n_clusters, n_samples = distances.shape
    cost, best, next_best = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    first, second = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    value, n_near = 0.0, 0
    for start in range(0, n_samples, BLOCK):
        block = min(BLOCK, n_samples - start)
        best[:], next_best[:], first[:], second[:] = np.inf, np.inf, 0, 0
        for k in range(n_clusters):
            row, price = distances[k], prices[k]
            for i in range(block):
                cost[i] = row[start + i] + price[codes[start + i]]
            for i in range(BLOCK):
                wins = cost[i] < best[i]
                loser = first[i] if wins else k
                losing = best[i] if wins else cost[i]
                first[i] = k if wins else first[i]
                best[i] = cost[i] if wins else best[i]
                second[i] = loser if losing < next_best[i] else second[i]
                next_best[i] = losing if losing < next_best[i] else next_best[i]
        for i in range(block):
            p = start + i
            k, g, w, gap = first[i], codes[p], weights[p], next_best[i] - best[i]
            labels[p], gaps[p] = k, gap
            counts[k, g] += w
            value += w * best[i]
            if gap < width:
                n_near += 1
                ties[g, k, second[i]] += w
    return value, n_near


def worst_breach(prices, counts, limits, ratios):
    """Largest breach of feasibility or of complementary slackness, in units of weight.

    ``counts`` are by kind.
    """
    return _worst_breach(prices, counts, limits, ratios)


@jit
def _worst_breach(prices, counts, limits, ratios):
    by_group = np.empty((counts.shape[0], ratios.shape[0]))
    add_kinds(counts, limits.kinds, by_group)
    return worst_violation(prices, by_group, limits, ratios)


def newton_step(prices, counts, density, ridge, limits, ratios):
    """Multipliers after a damped Newton step from ``prices``, which makes none negative.

    Levenberg-Marquardt: where few samples tie the Hessian is (nearly) singular, and with more
    ridge the step shrinks towards a short one along the gradient.

    Parameters
    ----------
    prices : Prices
    counts, density
        As of a `Look` at these prices, the density per unit of price and symmetric.
    ridge : float
        Relative to the mean of the Hessian's diagonal.
    limits : Limits
    ratios : ndarray of shape (n_groups, n_groups)
        See `ratios_of`.

    Returns
    -------
    prices : Prices
    gain : float
        What the step should add to the value of the dual.
    """
    stepped = Prices(*(array.copy() for array in prices))
    return stepped, _newton_step(stepped, counts, density, ridge, limits, ratios)


@jit
def _newton_step(prices, counts, density, ridge, limits, ratios):
    by_group = np.empty((counts.shape[0], ratios.shape[0]))
    add_kinds(counts, limits.kinds, by_group)
    rows = free_rows(prices, by_group, limits, ratios)
    direction, gain = newton_direction(rows, ratios, limits.kinds, density, ridge)
    values = np.empty(rows.n_rows)
    for r in range(values.size):
        values[r] = rows.values[r] + direction[r]
    store(rows, values, prices)
    return gain


def offsets_of(prices, limits, ratios):
    """What the multipliers amount to.

    Returns
    -------
    offsets : ndarray of shape (n_clusters, n_groups)
        Price of a place for members of a group.
    by_kind : ndarray of shape (n_clusters, n_kinds)
        The same for samples of a kind, who are members of several groups.
    value : float
        What the bounds on sizes add to the value of the dual.
    """
    n_clusters, n_groups, _ = prices.multipliers.shape
    offsets, by_kind = np.empty((n_clusters, n_groups)), np.empty((n_clusters, len(limits.kinds)))
    return offsets, by_kind, _fill(prices, limits, ratios, offsets, by_kind)


@jit
def _fill(prices, limits, ratios, offsets, by_kind):
    fill_offsets(prices, ratios, limits.kinds, offsets)
    fill_kind_offsets(offsets, limits.kinds, by_kind)
    value = 0.0
    for at_least, at_most in prices.size_multipliers:
        if at_least > 0.0:  # else the bound may be infinite
            value += limits.smallest * at_least
        if at_most > 0.0:
            value -= limits.largest * at_most
    return value
