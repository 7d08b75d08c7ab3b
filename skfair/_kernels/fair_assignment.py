"""The dual of fair assignment: its value at given multipliers, and Newton steps to better ones.

With squared distances ``D`` (clusters first) and ratios ``b`` the linear programme ::

    min  sum_p w_p sum_k D[k, p] s[p, k]     over s >= 0 with sum_k s[p, k] = 1
    s.t. n[k, i] >= b[i, j] n[k, j]          for every cluster k and ordered pair of groups i, j
         R n[k] <= r                  for every cluster k and the rows of the limits

has the concave dual ::

    L(y, z) = sum_p w_p min_k (D[k, p] + offsets[k, g(p)]) - sum_k r' z[k]

in one multiplier ``y[k, i, j] >= 0`` per pair and one, ``z[k] >= 0``, per row, with
``offsets[k, i] = sum_j (b[j, i] y[k, j, i] - y[k, i, j]) + (R' z[k])[i]``. Any multipliers that are
not negative bound the cost from below.

With several attributes the pairs are those within an attribute (``b`` is 0 for others), and the
offsets of all groups of a sample are added up.
"""

from typing import NamedTuple

import numpy as np

from skfair._kernels import jit
from skfair._kernels._interpreted import interpret_at_first
from skfair._kernels.fair_duals import (
    Multipliers,
    fill_intersection_offsets,
    fill_offsets,
    group_kkt_residual,
    list_free_multipliers,
    newton_direction,
    store_multipliers,
    sum_intersections,
)

BLOCK = 128
CG_STEPS = 16  # conjugate gradients take about as many in a Newton step


class DualEvaluation(NamedTuple):
    """The value of the dual, its supergradient and the weights near a tie, at given offsets."""

    labels: np.ndarray  # (n_samples,) int32, the cheapest cluster, ties to the lowest index
    gaps: np.ndarray  # (n_samples,) cost of the next cheapest cluster minus that of the cheapest
    value: float  # sum of the minimum costs
    counts: np.ndarray  # (n_clusters, n_intersections) weight of the members
    ties: np.ndarray  # (n_intersections, n_clusters, n_clusters) weight near a tie, cheapest first
    n_near: int  # number of those near a tie
    extras: tuple = ()  # further sums over samples that callers add to every evaluation

    @property
    def totals(self):
        """The sums that add up over partitions of the samples, and the number of samples."""
        return self.value, self.counts, self.ties, self.n_near, len(self.labels), self.extras


def evaluate_dual(rows, offsets, width):
    """Assign every sample to its cheapest cluster at given offsets: a `DualEvaluation`.

    ``rows`` are squared distances (n_clusters, n_samples), codes of intersections and weights
    (n_samples,). ``offsets`` (n_clusters, n_intersections) are added to the distances. A sample is
    near a tie if its next cheapest cluster costs less than ``width`` in addition.
    """
    distances, codes, weights = rows
    n_clusters, n_intersections = offsets.shape
    labels, gaps = np.empty(len(codes), np.int32), np.empty(len(codes))
    counts = np.zeros((n_clusters, n_intersections))
    ties = np.zeros((n_intersections, n_clusters, n_clusters))
    outputs = labels, gaps, counts, ties
    value, n_near = _evaluate_dual(distances, codes, weights, offsets, float(width), outputs)
    return DualEvaluation(labels, gaps, value, counts, ties, n_near)


@jit
def _evaluate_dual(distances, codes, weights, offsets, width, outputs):
    """Evaluate the dual block by block, with selects instead of branches.

    Branch prediction would fail, as the cheapest cluster is as good as random to it.
    """
    labels, gaps, counts, ties = outputs
    n_clusters, n_samples = distances.shape
    cost, best, next_best = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    first, second = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    value, n_near = 0.0, 0
    for start in range(0, n_samples, BLOCK):
        block = min(BLOCK, n_samples - start)
        best[:], next_best[:], first[:], second[:] = np.inf, np.inf, 0, 0
        # The cheapest and the next cheapest cluster of each sample of the block.
        for k in range(n_clusters):
            row, offset = distances[k], offsets[k]
            for i in range(block):
                cost[i] = row[start + i] + offset[codes[start + i]]
            for i in range(BLOCK):
                wins = cost[i] < best[i]
                loser = first[i] if wins else k
                losing = best[i] if wins else cost[i]
                first[i] = k if wins else first[i]
                best[i] = cost[i] if wins else best[i]
                second[i] = loser if losing < next_best[i] else second[i]
                next_best[i] = losing if losing < next_best[i] else next_best[i]
        # Sums over the block.
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


def kkt_residual(multipliers, counts, limits, ratios):
    """Maximum violation of feasibility or of complementary slackness, in units of weight.

    ``counts`` are by intersection.
    """
    return _kkt_residual(multipliers, counts, limits, ratios)


@interpret_at_first(lambda multipliers, *_: 20 * multipliers.ratios.size)
def _kkt_residual(multipliers, counts, limits, ratios):
    by_group = np.empty((counts.shape[0], ratios.shape[0]))
    sum_intersections(counts, limits.intersections, by_group)
    return group_kkt_residual(multipliers, by_group, limits, ratios)


def newton_step(multipliers, counts, density, ridge, limits, ratios):
    """Multipliers after a damped Newton step, none negative, and the predicted gain of the dual.

    Levenberg-Marquardt: where few samples are near a tie the Hessian is (nearly) singular, and a
    larger ridge, relative to the mean of its diagonal, turns the step towards a short one along the
    gradient. ``counts`` and ``density`` are those of a `DualEvaluation` at the multipliers; the
    density is symmetric, weight near a tie per unit of offset.
    """
    stepped = Multipliers(*(array.copy() for array in multipliers))
    return stepped, _newton_step(stepped, counts, density, ridge, limits, ratios)


@interpret_at_first(lambda multipliers, counts, density, *_: CG_STEPS * density.size)
def _newton_step(multipliers, counts, density, ridge, limits, ratios):
    by_group = np.empty((counts.shape[0], ratios.shape[0]))
    sum_intersections(counts, limits.intersections, by_group)
    rows = list_free_multipliers(multipliers, by_group, limits, ratios)
    direction, gain = newton_direction(rows, ratios, limits, density, ridge)
    values = np.empty(rows.n_rows)
    for r in range(values.size):
        values[r] = rows.values[r] + direction[r]
    store_multipliers(rows, values, multipliers)
    return gain


def compute_offsets(multipliers, limits, ratios):
    """Offsets of the assignment costs at given multipliers.

    By group (n_clusters, n_groups), by intersection (n_clusters, n_intersections), and the term of
    the rows in the value of the dual.
    """
    n_clusters, n_groups, _ = multipliers.ratios.shape
    offsets, by_intersection = (
        np.empty((n_clusters, n_groups)),
        np.empty((n_clusters, len(limits.intersections))),
    )
    return (
        offsets,
        by_intersection,
        _compute_offsets(multipliers, limits, ratios, offsets, by_intersection),
    )


@interpret_at_first(lambda multipliers, *_: 20 * multipliers.ratios.size)
def _compute_offsets(multipliers, limits, ratios, offsets, by_intersection):
    fill_offsets(multipliers, ratios, limits, offsets)
    fill_intersection_offsets(offsets, limits.intersections, by_intersection)
    value = 0.0
    for k in range(offsets.shape[0]):
        for r in range(limits.bounds.size):
            if multipliers.rows[k, r] > 0.0:
                value -= limits.bounds[r] * multipliers.rows[k, r]
    return value
