"""Kernels of fair assignment: its dual, and paths to more balance."""

from typing import Any, NamedTuple

import numpy as np

from skfair._kernels import helper, interpret_at_first, jit
from skfair._kernels.kmeans import move, move_cost, squared_distance
from skfair._kernels.limits import (
    composition_ratio,
    contains_group,
    extreme_groups,
    find_least_ratio,
    has_single_member,
    intersection_coefficient,
    max_violation,
    ratio_after,
    row_bound,
    row_value,
    rows_allow,
)
from skfair._kernels.sparse_samples import row_of

# The multipliers of a fair assignment, and the Newton step that improves them.
#
# Few multipliers are positive. A step works on
# a list of these and of the violated constraints (an active set), so that many groups cost little.


CG_TOLERANCE = 1e-3  # residual of a Newton step, relative to the violations
ROW_SENTINEL = -1  # in place of the first group: the second is the number of a row of the limits


class Multipliers(NamedTuple):
    """Non-negative multipliers of the constraints."""

    ratios: np.ndarray  # (n_clusters, n_groups, n_groups) of n[k, i] >= b[i, j] n[k, j]
    rows: np.ndarray  # (n_clusters, n_rows) of the rows of the limits


class TieDensities(NamedTuple):
    """Weight near a tie of two clusters per unit of offset, by intersection, where not 0."""

    intersections: np.ndarray  # (n_pairs,), in rising order, then by cluster
    clusters: np.ndarray  # (n_pairs,)
    others: np.ndarray  # (n_pairs,) the other cluster
    densities: np.ndarray  # (n_pairs,)
    n_clusters: int


class FreeMultipliers(NamedTuple):
    """The constraints whose multipliers a step may change; the arrays may be longer."""

    n_rows: int
    cells: np.ndarray  # (n_rows, 3) cluster, groups i and j; i < 0: row j of the limits
    values: np.ndarray  # (n_rows,) multipliers
    violations: np.ndarray  # (n_rows,) the gradient of the dual


@helper
def fill_offsets(multipliers, ratios, limits, offsets):
    """Offset of cluster k for members of group i (formula in `fair_assignment`)."""
    ratio_multipliers, row_multipliers = multipliers
    n_clusters, n_groups = offsets.shape
    for k in range(n_clusters):
        for i in range(n_groups):
            offsets[k, i] = 0.0
        for i in range(n_groups):
            for j in range(n_groups):
                offsets[k, i] -= ratio_multipliers[k, i, j]
                offsets[k, j] += ratios[i, j] * ratio_multipliers[k, i, j]
        for r in range(limits.rows.shape[0]):
            for i in range(n_groups):
                offsets[k, i] += limits.rows[r, i] * row_multipliers[k, r]


@helper
def fill_intersection_offsets(offsets, intersections, by_intersection):
    """Offset of cluster k for samples of an intersection: the sum over its groups."""
    for k in range(offsets.shape[0]):
        for c in range(intersections.shape[0]):
            by_intersection[k, c] = 0.0
            for a in range(intersections.shape[1]):
                by_intersection[k, c] += offsets[k, intersections[c, a]]


@helper
def sum_intersections(by_intersection, intersections, by_group):
    """The transpose of `fill_intersection_offsets`: sums of a group over its intersections."""
    by_group[:] = 0.0
    for k in range(by_group.shape[0]):
        for c in range(intersections.shape[0]):
            for a in range(intersections.shape[1]):
                by_group[k, intersections[c, a]] += by_intersection[k, c]


@helper
def _mark_extremes(counts, scales, is_smallest, is_largest):
    """Mark the smallest and the largest group of a cluster in every scale."""
    is_smallest[:], is_largest[:] = False, False
    for s in range(scales.shape[0]):
        i, j = extreme_groups(counts, scales[s])
        is_smallest[i], is_largest[j] = True, True


@helper
def list_free_multipliers(multipliers, counts, limits, ratios):
    """The constraints whose multipliers a step may change, and the violation of each.

    Multipliers are free if they are positive or their constraint is violated. Of the violated
    ratios only those with the smallest or the largest group of a cluster are free: they imply the
    others.
    """
    ratio_multipliers, row_multipliers = multipliers
    n_clusters, n_groups = counts.shape
    capacity = n_clusters * (n_groups * (n_groups - 1) + limits.rows.shape[0])
    cells = np.empty((capacity, 3), np.int64)
    values = np.empty(capacity)
    violations = np.empty(capacity)
    is_smallest, is_largest = np.empty(n_groups, np.bool_), np.empty(n_groups, np.bool_)
    n = 0
    for k in range(n_clusters):
        _mark_extremes(counts[k], limits.scales, is_smallest, is_largest)
        for i in range(n_groups):
            for j in range(n_groups):
                value = ratio_multipliers[k, i, j]
                violation = ratios[i, j] * counts[k, j] - counts[k, i]
                if i != j and (
                    value > 0.0 or ((is_smallest[i] or is_largest[j]) and violation > 0.0)
                ):
                    cells[n, 0], cells[n, 1], cells[n, 2] = k, i, j
                    values[n], violations[n] = value, violation
                    n += 1
        for r in range(limits.rows.shape[0]):
            value = row_multipliers[k, r]
            violation = row_value(limits.rows[r], counts[k]) - row_bound(limits, k, r)
            if value > 0.0 or violation > 0.0:
                cells[n, 0], cells[n, 1], cells[n, 2] = k, ROW_SENTINEL, r
                values[n], violations[n] = value, violation
                n += 1
    return FreeMultipliers(n, cells, values, violations)


@helper
def _total(values):
    total = 0.0
    for value in values:
        total += value
    return total


@helper
def fill_free_offsets(rows, values, ratios, limits, offsets):
    """The same as `fill_offsets`, from the values of the free rows and in the same order."""
    n_clusters, n_groups = offsets.shape
    for k in range(n_clusters):
        for g in range(n_groups):
            offsets[k, g] = 0.0
    for r in range(rows.n_rows):
        k = rows.cells[r, 0]
        i = rows.cells[r, 1]
        j = rows.cells[r, 2]
        if i >= 0:
            offsets[k, i] -= values[r]
            offsets[k, j] += ratios[i, j] * values[r]
        else:
            for g in range(n_groups):
                offsets[k, g] += limits.rows[j, g] * values[r]


@helper
def _apply_negative_hessian(direction, rows, ties, ratios, limits, shift, result):
    """Minus the smoothed Hessian of the dual times a direction, plus ``shift`` times it.

    If the offset of cluster k for intersection c rises by one, the sum of the densities of its
    pairs leave, one density for each other cluster: a graph Laplacian per intersection, between the
    map from multipliers to offsets and its transpose.
    """
    n_clusters = ties.n_clusters
    n_groups = ratios.shape[0]
    n_intersections = limits.intersections.shape[0]
    offsets = np.empty((n_clusters, n_groups))
    by_intersection = np.empty((n_clusters, n_intersections))
    leaving_by_group = np.empty((n_clusters, n_groups))
    leaving = np.zeros((n_clusters, n_intersections))
    # Multipliers to offsets, offsets to weight that leaves, weight to constraints.
    fill_free_offsets(rows, direction, ratios, limits, offsets)
    fill_intersection_offsets(offsets, limits.intersections, by_intersection)
    for e in range(ties.densities.size):
        c = ties.intersections[e]
        k = ties.clusters[e]
        other = ties.others[e]
        leaving[k, c] += ties.densities[e] * (by_intersection[k, c] - by_intersection[other, c])
    sum_intersections(leaving, limits.intersections, leaving_by_group)
    for r in range(rows.n_rows):
        k = rows.cells[r, 0]
        i = rows.cells[r, 1]
        j = rows.cells[r, 2]
        if i >= 0:
            change = ratios[i, j] * leaving_by_group[k, j] - leaving_by_group[k, i]
        else:
            change = row_value(limits.rows[j], leaving_by_group[k])
        result[r] = change + shift * direction[r]


@helper
def _mean_hessian_diagonal(rows, ties, ratios, limits):
    """Mean of the diagonal of the matrix of `_apply_negative_hessian`.

    A cluster with an active row of the limits gets at least the average tie weight: without any
    ties no step would be short enough, and the ascent would stop.
    """
    n_clusters, intersections = ties.n_clusters, limits.intersections
    n_intersections = intersections.shape[0]
    by_intersection = np.zeros((n_clusters, n_intersections))
    by_group = np.empty((n_clusters, ratios.shape[0]))
    for e in range(ties.densities.size):
        by_intersection[ties.clusters[e], ties.intersections[e]] += ties.densities[e]
    sum_intersections(by_intersection, intersections, by_group)
    average = total = 0.0
    for k in range(n_clusters):
        average += _total(by_intersection[k]) / n_clusters
    for r in range(rows.n_rows):
        k = rows.cells[r, 0]
        i = rows.cells[r, 1]
        j = rows.cells[r, 2]
        if i >= 0:
            total += by_group[k, i] + ratios[i, j] * ratios[i, j] * by_group[k, j]
        else:
            squares = weighted = 0.0
            for c in range(n_intersections):
                change = intersection_coefficient(limits, j, c)
                squares += change * change
                weighted += change * change * by_intersection[k, c]
            total += max(weighted, squares / n_intersections * average)
    # Where no cluster with a free row has ties, a step as short as with the average of all.
    return total / max(rows.n_rows, 1) if total > 0.0 else average


@helper
def newton_direction(rows, ratios, limits, ties, ridge):
    """Newton direction on the free multipliers, and the increase of the dual that it predicts.

    Multipliers that would become negative are fixed at 0, and the others are solved for again.
    """
    direction = np.zeros(rows.n_rows)
    is_free = np.ones(rows.n_rows, np.bool_)
    shift = ridge * _mean_hessian_diagonal(rows, ties, ratios, limits) + 1e-300
    # Fix multipliers and solve for the others again, three times at most.
    for _ in range(3):
        _solve_newton_system(rows, ratios, limits, ties, shift, is_free, direction)
        # Fix multipliers that would become negative.
        n_stopped = 0
        for r in range(rows.n_rows):
            if rows.values[r] + direction[r] < 0.0:
                direction[r] = -rows.values[r]
                is_free[r] = False
                n_stopped += 1
        if n_stopped == 0:
            break
    # Gain of the quadratic model.
    image = np.empty(rows.n_rows)
    gain = 0.0
    _apply_negative_hessian(direction, rows, ties, ratios, limits, 0.0, image)
    for r in range(rows.n_rows):
        gain += direction[r] * (rows.violations[r] - 0.5 * image[r])
    return direction, gain


@helper
def _solve_newton_system(rows, ratios, limits, ties, shift, is_free, direction):
    """Solve the damped system for the rows that are not fixed, in place, by conjugate gradients."""
    n_rows = rows.n_rows
    residual = np.empty(n_rows)
    search = np.empty(n_rows)
    image = np.empty(n_rows)
    _apply_negative_hessian(direction, rows, ties, ratios, limits, shift, image)
    # Residual of the start.
    norm = goal = 0.0
    for r in range(n_rows):
        residual[r] = search[r] = (rows.violations[r] - image[r]) if is_free[r] else 0.0
        norm += residual[r] * residual[r]
        bound = CG_TOLERANCE * rows.violations[r]
        goal += bound * bound
    # At most 100 steps of conjugate gradients.
    for _ in range(100):
        if norm <= goal:
            break
        _apply_negative_hessian(search, rows, ties, ratios, limits, shift, image)
        # Step along the search direction, new residual, conjugate direction.
        curvature, previous = 0.0, norm
        for r in range(n_rows):
            curvature += search[r] * image[r]
        step = previous / curvature
        norm = 0.0
        for r in range(n_rows):
            if is_free[r]:
                direction[r] += step * search[r]
                residual[r] -= step * image[r]
                norm += residual[r] * residual[r]
        for r in range(n_rows):
            search[r] = residual[r] + norm / previous * search[r]


@helper
def add_to_multipliers(rows, direction, multipliers):
    """Move the multipliers of the free rows along a direction, in place."""
    ratio_multipliers, row_multipliers = multipliers
    for r in range(rows.n_rows):
        k = rows.cells[r, 0]
        i = rows.cells[r, 1]
        j = rows.cells[r, 2]
        if i >= 0:
            ratio_multipliers[k, i, j] = rows.values[r] + direction[r]
        else:
            row_multipliers[k, j] = rows.values[r] + direction[r]


# The dual of fair assignment: its value at given multipliers, and Newton steps to better ones.
#
# With squared distances ``D`` (clusters first) and ratios ``b`` the linear programme ::
#
#     min  sum_p w_p sum_k D[k, p] s[p, k]     over s >= 0 with sum_k s[p, k] = 1
#     s.t. n[k, i] >= b[i, j] n[k, j]          for every cluster k and ordered pair of groups i, j
#          R n[k] <= r                  for every cluster k and the rows of the limits
#
# has the concave dual ::
#
#     L(y, z) = sum_p w_p min_k (D[k, p] + offsets[k, g(p)]) - sum_k r' z[k]
#
# in one multiplier ``y[k, i, j] >= 0`` per pair and one, ``z[k] >= 0``, per row, with ``offsets[k,
# i] = sum_j (b[j, i] y[k, j, i] - y[k, i, j]) + (R' z[k])[i]``. Any multipliers that are not
# negative bound the cost from below.
#
# With several attributes the pairs are those within an attribute (``b`` is 0 for others), and the
# offsets of all groups of a sample are added up.


BLOCK = 128  # samples at a time: their distances stay in the cache


class DualEvaluation(NamedTuple):
    """The value of the dual, its supergradient and the weights near a tie, at given offsets."""

    labels: np.ndarray  # (n_samples,) int32, the cheapest cluster, ties to the lowest index
    gaps: np.ndarray  # (n_samples,) cost of the next cheapest cluster minus that of the cheapest
    value: float  # sum of the minimum costs
    counts: np.ndarray  # (n_clusters, n_intersections) weight of the members
    # (n_intersections, n_clusters, n_clusters) weight near a tie, cheapest first
    tie_weights: np.ndarray
    n_near_ties: int  # number of those near a tie
    # Further sums over samples that callers add to every evaluation.
    extra_sums: tuple[Any, ...] = ()

    @property
    def totals(self):
        """The sums that add up over partitions of the samples, and the number of samples."""
        return (
            self.value,
            self.counts,
            self.tie_weights,
            self.n_near_ties,
            len(self.labels),
            self.extra_sums,
        )


def evaluate_dual(rows, offsets, width):
    """Assign every sample to its cheapest cluster at given offsets: a `DualEvaluation`.

    ``rows`` are squared distances (n_clusters, n_samples), codes of intersections and weights
    (n_samples,). ``offsets`` (n_clusters, n_intersections) are added to the distances. A sample is
    near a tie if its next cheapest cluster costs less than ``width`` in addition.
    """
    distances, codes, weights = rows
    n_clusters, n_intersections = offsets.shape
    labels = np.empty(len(codes), np.int32)
    gaps = np.empty(len(codes))
    counts = np.zeros((n_clusters, n_intersections))
    ties = np.zeros((n_intersections, n_clusters, n_clusters))
    outputs = labels, gaps, counts, ties
    value, n_near = _evaluate_dual(distances, codes, weights, offsets, float(width), outputs)
    return DualEvaluation(
        labels=labels,
        gaps=gaps,
        value=value,
        counts=counts,
        tie_weights=ties,
        n_near_ties=n_near,
    )


@jit
def _evaluate_dual(distances, codes, weights, offsets, width, outputs):
    """Evaluate the dual block by block, with selects instead of branches.

    Branch prediction would fail, as the cheapest cluster is as good as random to it.
    """
    labels, gaps, counts, ties = outputs
    n_clusters, n_samples = distances.shape
    cost = np.empty(BLOCK)
    best = np.empty(BLOCK)
    next_best = np.empty(BLOCK)
    first, second = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    value, n_near = 0.0, 0
    for start in range(0, n_samples, BLOCK):
        block = min(BLOCK, n_samples - start)
        best[:], next_best[:], first[:], second[:] = np.inf, np.inf, 0, 0
        # The cheapest and the next cheapest cluster of each sample of the block.
        for k in range(n_clusters):
            row = distances[k]
            offset = offsets[k]
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
            k = first[i]
            g = codes[p]
            w = weights[p]
            gap = next_best[i] - best[i]
            labels[p], gaps[p] = k, gap
            counts[k, g] += w
            value += w * best[i]
            if gap < width:
                n_near += 1
                ties[g, k, second[i]] += w
    return value, n_near


@interpret_at_first(lambda multipliers, *_: 20 * multipliers.ratios.size)
def kkt_residual(multipliers, counts_by_intersection, limits, ratios):
    """Maximum violation of feasibility or of complementary slackness, in units of weight."""
    ratio_multipliers, row_multipliers = multipliers
    n_clusters, n_groups, _ = ratio_multipliers.shape
    counts = np.empty((n_clusters, n_groups))
    sum_intersections(counts_by_intersection, limits.intersections, counts)
    worst = 0.0
    for k in range(n_clusters):
        for i in range(n_groups):
            for j in range(n_groups):
                violation = ratios[i, j] * counts[k, j] - counts[k, i]
                if i != j:
                    worst = max(worst, violation)
                    if ratio_multipliers[k, i, j] > 0.0:
                        worst = max(worst, -violation)
        for r in range(limits.rows.shape[0]):
            violation = row_value(limits.rows[r], counts[k]) - row_bound(limits, k, r)
            worst = max(worst, violation)
            if row_multipliers[k, r] > 0.0:
                worst = max(worst, -violation)
    return worst


def take_newton_step(multipliers, counts, density, ridge, limits, ratios):
    """Multipliers after a damped Newton step, none negative, and the predicted gain of the dual.

    Levenberg-Marquardt: where few samples are near a tie the Hessian is (nearly) singular, and a
    larger ridge, relative to the mean of its diagonal, turns the step towards a short one along the
    gradient. ``counts`` and ``density`` are those of a `DualEvaluation` at the multipliers; the
    density is symmetric, weight near a tie per unit of offset.
    """
    stepped = Multipliers._make(array.copy() for array in multipliers)
    ties = list_ties(density)
    return stepped, _take_newton_step(stepped, counts, ties, ridge, limits, ratios)


def list_ties(density):
    """The pairs of clusters of a density that is not 0, (n_intersections, n_clusters, _)."""
    pairs = np.nonzero(density)
    intersections, clusters, others = pairs
    return TieDensities(
        intersections=intersections,
        clusters=clusters,
        others=others,
        densities=density[pairs],
        n_clusters=density.shape[1],
    )


def _count_newton_steps(multipliers, counts, ties, *_):
    """Ties, offsets and free multipliers in each step of a system, and all multipliers once."""
    n_each = len(ties.densities) + 2 * counts.size + np.count_nonzero(multipliers.ratios)
    # A Newton step takes about 16 steps of conjugate gradients.
    return 16 * n_each + multipliers.ratios.size


@interpret_at_first(_count_newton_steps)
def _take_newton_step(multipliers, counts, ties, ridge, limits, ratios):
    by_group = np.empty((counts.shape[0], ratios.shape[0]))
    sum_intersections(counts, limits.intersections, by_group)
    rows = list_free_multipliers(multipliers, by_group, limits, ratios)
    direction, gain = newton_direction(rows, ratios, limits, ties, ridge)
    add_to_multipliers(rows, direction, multipliers)
    return gain


def compute_offsets(multipliers, limits, ratios):
    """Offsets of the assignment costs at given multipliers.

    By group (n_clusters, n_groups), by intersection (n_clusters, n_intersections), and the term of
    the rows in the value of the dual.
    """
    n_clusters, n_groups, _ = multipliers.ratios.shape
    offsets = np.empty((n_clusters, n_groups))
    by_intersection = np.empty((n_clusters, len(limits.intersections)))
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
        for r in range(limits.rows.shape[0]):
            if multipliers.rows[k, r] > 0.0:
                value -= row_bound(limits, k, r) * multipliers.rows[k, r]
    return value


# Paths of cheapest moves, each of which raises the balance of the least balanced cluster.


QUEUE_SIZE = 32  # long enough to search all rows rarely, short enough to evaluate at each move


class MovePath(NamedTuple):
    """Single moves, in order, with the cost and balance after each."""

    samples: np.ndarray  # (n_moves,) int32
    clusters: np.ndarray  # (n_moves,) int32, the new cluster of the sample
    cost_changes: np.ndarray  # (n_moves,) change of the cost
    balances: np.ndarray  # (n_moves,) balance after the move


@helper
def _stays_above(counts, members, code, change, above, limits):
    """Whether a cluster's ratio stays above a bound after a change.

    At the bound 0 a cluster that already lacks a group may change as long as it keeps a member of
    every other group.
    """
    if above == 0.0 and composition_ratio(counts, members, limits) == 0.0:
        stays = True
        for a in range(limits.intersections.shape[1]):
            stays &= members[limits.intersections[code, a]] > 1
        return stays or change > 0.0
    return ratio_after(counts, members, code, change, limits) > above


@helper
def _may_change(clustering, k, target, code, change, above, limits):
    """Whether cluster k may gain (change > 0) or lose (change < 0) a sample of an intersection.

    ``above`` is the ratio of the target, and the other clusters must stay above it. A sample that
    leaves must raise the ratio of the target. One that joins may keep it, as it breaks a tie of
    smallest groups or adds a missing group. So no move is ever undone, and the path is finite.
    """
    counts = clustering.counts[k]
    members = clustering.members[k]
    leaving, joining = (-1, code) if change > 0.0 else (code, -1)
    if not rows_allow(counts, k, leaving, joining, abs(change), limits):
        return False
    if change < 0.0 and has_single_member(members, limits):
        return False
    if k != target:
        return _stays_above(counts, members, code, change, above, limits)
    after = ratio_after(counts, members, code, change, limits)
    return after > above or (after == above and change > 0.0)


@helper
def _queue_cheapest_samples(
    rows, distances, samples, clustering, target, above, limits, queue, costs
):
    """Fill ``queue`` with the indices of rows that help ``target`` at the lowest cost, in order.

    A sample of another cluster joins the target, or a sample of the target leaves it. Costs are
    per unit of log balance, to first order, but plain where the level is reached by any gain.
    ``distances`` are those of the rows to all centres. Returns the length of the queue and the
    destination of its first row.
    """
    _, masses, weights, codes = samples
    labels, _, sizes, counts, _ = clustering
    smallest, largest = find_least_ratio(counts[target], limits)
    any_gain_suffices = limits.level <= above * (1 + 1e-12)
    n_intersections = limits.intersections.shape[0]
    # Samples of the smallest group help by joining, those of the largest by leaving.
    helps = np.empty((2, n_intersections), np.bool_)  # by joining; by leaving
    for code in range(n_intersections):
        helps[0, code] = contains_group(limits.intersections, code, smallest)
        helps[1, code] = contains_group(limits.intersections, code, largest)
    # Cache by intersection: the weight last checked, and whether the cluster may change.
    checked = np.empty((2, n_intersections, sizes.size))
    checked[:] = np.nan
    allowed = np.empty(checked.shape, np.bool_)
    costs[:] = np.inf
    length, destination = 0, -1
    for r in range(rows.size):
        p = rows[r]
        least_cost = costs[costs.size - 1]
        a = np.int64(labels[p])
        code = codes[p]
        mass = masses[p]
        w = weights[p]
        side, g = (1, largest) if a == target else (0, smallest)
        if not helps[side, code] or sizes[a] <= mass:
            continue
        # Cheapest destination: any other cluster for a sample that leaves, else the target.
        best = -1
        factor = 1.0 if any_gain_suffices else max(counts[target, g] / w, 1.0)
        for k in range(sizes.size) if a == target else range(target, target + 1):
            cost = factor * move_cost(distances[r, k], distances[r, a], sizes[k], sizes[a], mass)
            if k != a and cost < least_cost:
                for c, signed_weight in ((a, -w), (k, w)):
                    if checked[side, code, c] != w:
                        checked[side, code, c] = w
                        allowed[side, code, c] = _may_change(
                            clustering, c, target, code, signed_weight, above, limits
                        )
                if allowed[side, code, a] and allowed[side, code, k]:
                    best, least_cost = k, cost
        if best < 0:
            continue
        # Insert the row into the queue by cost.
        i = min(length, queue.size - 1)
        while i > 0 and costs[i - 1] > least_cost:
            queue[i], costs[i] = queue[i - 1], costs[i - 1]
            i -= 1
        queue[i], costs[i] = r, least_cost
        length = min(length + 1, queue.size)
        destination = best if i == 0 else destination
    return length, destination


@helper
def _fill_queue(rows, distances, samples, clustering, target, above, limits, queue):
    """Fill ``queue`` with samples; its length, and a lower bound on the cost of the others."""
    costs = np.empty(queue.size)
    length, _ = _queue_cheapest_samples(
        rows, distances, samples, clustering, target, above, limits, queue, costs
    )
    for i in range(length):
        queue[i] = rows[queue[i]]
    return length, costs[queue.size - 1]


@helper
def _find_cheapest_queued(samples, clustering, target, above, queue, limits):
    """Index in the queue, cost and destination of the cheapest move at the current centres."""
    labels, centers, sizes, _, _ = clustering
    distances = np.empty((queue.size, sizes.size))
    for i in range(queue.size):
        p = queue[i]
        x = row_of(samples.X, p)
        for k in range(sizes.size):
            if k == target or k == labels[p] or labels[p] == target:
                distances[i, k] = squared_distance(x, centers[k])
    best = np.empty(1, np.int64)
    least_cost = np.empty(1)
    n_candidates, k = _queue_cheapest_samples(
        queue, distances, samples, clustering, target, above, limits, best, least_cost
    )
    return best[0] if n_candidates else -1, least_cost[0], k


def raise_balance(samples, clustering, rows, distances, limits, max_moves):
    """Raise the least balanced cluster by the cheapest move, until all reach the level.

    Balance is the ratio of the limits; their rows are kept.

    ``rows`` are the samples that may move, ``distances`` theirs to the centres at the start. Each
    cluster keeps a queue of its cheapest candidates by these distances. The costs in the queue are
    recomputed at every move, those of all other rows only when the best of the queue costs more
    than they did when the queue was filled. Changes ``clustering`` in place and returns the path,
    which ends below the level where no move helps.
    """
    path = MovePath(
        samples=np.empty(max_moves, np.int32),
        clusters=np.empty(max_moves, np.int32),
        cost_changes=np.empty(max_moves),
        balances=np.empty(max_moves),
    )
    n_moves = _raise_balance(samples, clustering, rows, distances, limits, path)
    return MovePath._make(column[:n_moves] for column in path)


@helper
def _argmin(values):
    """Index of the minimum, ties to the lowest index."""
    lowest = 0
    for k in range(1, values.size):
        if values[k] < values[lowest]:
            lowest = k
    return lowest


@helper
def _record_move(samples, clustering, p, k, path, n_moves):
    """Record the move of a sample and its cost, before it is made."""
    labels, centers, sizes, _, _ = clustering
    a = labels[p]
    x = row_of(samples.X, p)
    path.cost_changes[n_moves] = move_cost(
        squared_distance(x, centers[k]),
        squared_distance(x, centers[a]),
        sizes[k],
        sizes[a],
        samples.masses[p],
    )
    path.samples[n_moves], path.clusters[n_moves] = p, k


def _count_steps(samples, clustering, rows, distances, limits, path):
    # About as many moves as members that groups lack.
    weight = samples.weights.max()
    lacking = len(clustering.sizes) * max_violation(clustering.counts, limits) / weight
    return (
        distances.size
        + min(1 + lacking, path.samples.size) * QUEUE_SIZE * clustering.centers.shape[1]
    )


@interpret_at_first(_count_steps)
def _raise_balance(samples, clustering, rows, distances, limits, path):
    """Move samples to the least balanced clusters until all reach the level, and record the path.

    `distances`, (n_rows, n_clusters), are those of the samples in `rows`.
    """
    labels, _, sizes, counts, members = clustering
    n_clusters = sizes.size
    queues = np.empty((n_clusters, QUEUE_SIZE), np.int64)
    lengths = np.empty(n_clusters, np.int64)
    highest = np.empty(n_clusters)
    ratios = np.empty(n_clusters)
    for k in range(n_clusters):
        lengths[k], highest[k], ratios[k] = (
            0,
            -np.inf,
            composition_ratio(counts[k], members[k], limits),
        )
    # Raise the least balanced cluster until all reach the level.
    n_moves = 0
    while n_moves < path.samples.size:
        target = _argmin(ratios)
        above = ratios[target]
        if above >= limits.level:
            break
        # The cheapest move of the queue, which is filled again if a row outside may be cheaper now.
        n_filled = 0
        while True:
            queue = queues[target, : lengths[target]]
            best, least_cost, k = _find_cheapest_queued(
                samples, clustering, target, above, queue, limits
            )
            if n_filled == 1 or (best >= 0 and least_cost <= highest[target]):
                break
            lengths[target], highest[target] = _fill_queue(
                rows, distances, samples, clustering, target, above, limits, queues[target]
            )
            n_filled += 1
        if best < 0:
            break
        # Remove it from the queue, record it and make it.
        p = queue[best]
        queue[best] = queue[queue.size - 1]
        lengths[target] -= 1
        _record_move(samples, clustering, p, k, path, n_moves)
        # Move it and update the ratios of both clusters.
        a = labels[p]
        move(samples, clustering, p, k, limits)
        ratios[a] = composition_ratio(counts[a], members[a], limits)
        ratios[k] = composition_ratio(counts[k], members[k], limits)
        path.balances[n_moves] = ratios[_argmin(ratios)]
        n_moves += 1
    return n_moves
