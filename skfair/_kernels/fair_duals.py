"""The multipliers of a fair assignment, and the Newton step that improves them.

See `skfair._kernels.fair_assignment` for the dual. Few multipliers are positive. A step works on a
list of these and of the violated constraints (an active set), so that many groups cost little.
"""

from typing import NamedTuple

import numpy as np

from skfair._kernels import deferred_helper, inline_helper
from skfair._kernels.limits import extreme_groups, row_change, row_value

MAX_CG_ITER = 100
CG_TOLERANCE = 1e-3
MAX_STOPS = 3  # times per step that multipliers are fixed at 0 and the others solved for again
ROW = -1  # in place of the first group: the second is the number of a row of the limits


class Multipliers(NamedTuple):
    """Non-negative multipliers of the constraints."""

    ratios: np.ndarray  # (n_clusters, n_groups, n_groups) of n[k, i] >= b[i, j] n[k, j]
    rows: np.ndarray  # (n_clusters, n_rows) of the rows of the limits


class FreeMultipliers(NamedTuple):
    """The constraints whose multipliers a step may change; the arrays may be longer."""

    n_rows: int
    cells: np.ndarray  # (n_rows, 3) cluster, groups i and j; i < 0: row j of the limits
    values: np.ndarray  # (n_rows,) multipliers
    violations: np.ndarray  # (n_rows,) the gradient of the dual


@deferred_helper
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
        for r in range(limits.bounds.size):
            for i in range(n_groups):
                offsets[k, i] += limits.rows[r, i] * row_multipliers[k, r]


@deferred_helper
def fill_intersection_offsets(offsets, intersections, by_intersection):
    """Offset of cluster k for samples of an intersection: the sum over its groups."""
    for k in range(offsets.shape[0]):
        for c in range(intersections.shape[0]):
            by_intersection[k, c] = 0.0
            for a in range(intersections.shape[1]):
                by_intersection[k, c] += offsets[k, intersections[c, a]]


@deferred_helper
def sum_intersections(by_intersection, intersections, by_group):
    """The transpose of `fill_intersection_offsets`: sums of a group over its intersections."""
    by_group[:] = 0.0
    for k in range(by_group.shape[0]):
        for c in range(intersections.shape[0]):
            for a in range(intersections.shape[1]):
                by_group[k, intersections[c, a]] += by_intersection[k, c]


@deferred_helper
def _mark_extremes(counts, scales, is_smallest, is_largest):
    """Mark the smallest and the largest group of a cluster in every scale."""
    is_smallest[:], is_largest[:] = False, False
    for s in range(scales.shape[0]):
        i, j = extreme_groups(counts, scales[s])
        is_smallest[i], is_largest[j] = True, True


@deferred_helper
def list_free_multipliers(multipliers, counts, limits, ratios):
    """The constraints whose multipliers a step may change, and the violation of each.

    Multipliers are free if they are positive or their constraint is violated. Of the violated
    ratios only those with the smallest or the largest group of a cluster are free: they imply the
    others.
    """
    ratio_multipliers, row_multipliers = multipliers
    n_clusters, n_groups = counts.shape
    capacity = n_clusters * (n_groups * (n_groups - 1) + limits.bounds.size)
    cells, values, violations = (
        np.empty((capacity, 3), np.int64),
        np.empty(capacity),
        np.empty(capacity),
    )
    is_smallest, is_largest = np.empty(n_groups, np.bool_), np.empty(n_groups, np.bool_)
    n = 0
    for k in range(n_clusters):
        _mark_extremes(counts[k], limits.scales, is_smallest, is_largest)
        for i in range(n_groups):
            for j in range(n_groups):
                value, violation = (
                    ratio_multipliers[k, i, j],
                    ratios[i, j] * counts[k, j] - counts[k, i],
                )
                if i != j and (
                    value > 0.0 or ((is_smallest[i] or is_largest[j]) and violation > 0.0)
                ):
                    cells[n, 0], cells[n, 1], cells[n, 2] = k, i, j
                    values[n], violations[n] = value, violation
                    n += 1
        for r in range(limits.bounds.size):
            value = row_multipliers[k, r]
            violation = row_value(limits.rows[r], counts[k]) - limits.bounds[r]
            if value > 0.0 or violation > 0.0:
                cells[n, 0], cells[n, 1], cells[n, 2] = k, ROW, r
                values[n], violations[n] = value, violation
                n += 1
    return FreeMultipliers(n, cells, values, violations)


@inline_helper
def _total(values):
    total = 0.0
    for value in values:
        total += value
    return total


@deferred_helper
def fill_row_offsets(rows, values, ratios, limits, offsets):
    """The same as `fill_offsets`, from the values of the free rows and in the same order."""
    n_clusters, n_groups = offsets.shape
    for k in range(n_clusters):
        for g in range(n_groups):
            offsets[k, g] = 0.0
    for r in range(rows.n_rows):
        k, i, j = rows.cells[r, 0], rows.cells[r, 1], rows.cells[r, 2]
        if i >= 0:
            offsets[k, i] -= values[r]
            offsets[k, j] += ratios[i, j] * values[r]
        else:
            for g in range(n_groups):
                offsets[k, g] += limits.rows[j, g] * values[r]


@deferred_helper
def _apply_hessian(direction, rows, density, ratios, limits, shift, result):
    """Minus the smoothed Hessian of the dual times a direction, plus ``shift`` times it.

    If the offset of cluster k for intersection c rises by one, ``density[c, k].sum()`` members
    leave, ``density[c, k, l]`` of them for cluster l: a graph Laplacian per intersection, between
    the map from multipliers to offsets and its transpose.
    """
    (n_intersections, n_clusters, _), n_groups = density.shape, ratios.shape[0]
    offsets, by_intersection = (
        np.empty((n_clusters, n_groups)),
        np.empty((n_clusters, n_intersections)),
    )
    leaving_by_group, leaving = (
        np.empty((n_clusters, n_groups)),
        np.empty((n_clusters, n_intersections)),
    )
    # Multipliers to offsets, offsets to weight that leaves, weight to constraints.
    fill_row_offsets(rows, direction, ratios, limits, offsets)
    fill_intersection_offsets(offsets, limits.intersections, by_intersection)
    for c in range(n_intersections):
        for k in range(n_clusters):
            leaving[k, c] = 0.0
            for l in range(n_clusters):  # noqa: E741
                leaving[k, c] += density[c, k, l] * (by_intersection[k, c] - by_intersection[l, c])
    sum_intersections(leaving, limits.intersections, leaving_by_group)
    for r in range(rows.n_rows):
        k, i, j = rows.cells[r, 0], rows.cells[r, 1], rows.cells[r, 2]
        if i >= 0:
            change = ratios[i, j] * leaving_by_group[k, j] - leaving_by_group[k, i]
        else:
            change = row_value(limits.rows[j], leaving_by_group[k])
        result[r] = change + shift * direction[r]


@deferred_helper
def _mean_diagonal(rows, density, ratios, limits):
    """Mean of the diagonal of the matrix of `_apply_hessian`.

    A cluster with an active row of the limits gets at least the average tie weight: without any
    ties no step would be short enough, and the ascent would stop.
    """
    (n_intersections, n_clusters, _), intersections = density.shape, limits.intersections
    by_intersection, ties = (
        np.empty((n_clusters, n_intersections)),
        np.empty((n_clusters, ratios.shape[0])),
    )
    for c in range(n_intersections):
        for k in range(n_clusters):
            by_intersection[k, c] = _total(density[c, k])
    sum_intersections(by_intersection, intersections, ties)
    average = total = 0.0
    for k in range(n_clusters):
        average += _total(by_intersection[k]) / n_clusters
    for r in range(rows.n_rows):
        k, i, j = rows.cells[r, 0], rows.cells[r, 1], rows.cells[r, 2]
        if i >= 0:
            total += ties[k, i] + ratios[i, j] * ratios[i, j] * ties[k, j]
        else:
            squares = weighted = 0.0
            for c in range(n_intersections):
                change = row_change(limits, j, c)
                squares += change * change
                weighted += change * change * by_intersection[k, c]
            total += max(weighted, squares / n_intersections * average)
    return total / max(rows.n_rows, 1)


@deferred_helper
def newton_direction(rows, ratios, limits, density, ridge):
    """Newton direction on the free multipliers, and the increase of the dual that it predicts.

    Multipliers that would become negative are fixed at 0, and the others are solved for again.
    """
    direction, is_free = np.zeros(rows.n_rows), np.ones(rows.n_rows, np.bool_)
    shift = ridge * _mean_diagonal(rows, density, ratios, limits) + 1e-300
    for _ in range(MAX_STOPS):
        _solve_newton_system(rows, ratios, limits, density, shift, is_free, direction)
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
    image, gain = np.empty(rows.n_rows), 0.0
    _apply_hessian(direction, rows, density, ratios, limits, 0.0, image)
    for r in range(rows.n_rows):
        gain += direction[r] * (rows.violations[r] - 0.5 * image[r])
    return direction, gain


@deferred_helper
def _solve_newton_system(rows, ratios, limits, density, shift, is_free, direction):
    """Solve the damped system for the rows that are not fixed, in place, by conjugate gradients."""
    n_rows = rows.n_rows
    residual, search, image = np.empty(n_rows), np.empty(n_rows), np.empty(n_rows)
    _apply_hessian(direction, rows, density, ratios, limits, shift, image)
    # Residual of the start.
    norm = goal = 0.0
    for r in range(n_rows):
        residual[r] = search[r] = (rows.violations[r] - image[r]) if is_free[r] else 0.0
        norm += residual[r] * residual[r]
        bound = CG_TOLERANCE * rows.violations[r]
        goal += bound * bound
    for _ in range(MAX_CG_ITER):
        if norm <= goal:
            break
        _apply_hessian(search, rows, density, ratios, limits, shift, image)
        # Step along the search direction, new residual, conjugate direction.
        curvature, previous = 0.0, norm
        for r in range(n_rows):
            curvature += search[r] * image[r]
        step, norm = previous / curvature, 0.0
        for r in range(n_rows):
            if is_free[r]:
                direction[r] += step * search[r]
                residual[r] -= step * image[r]
                norm += residual[r] * residual[r]
        for r in range(n_rows):
            search[r] = residual[r] + norm / previous * search[r]


@deferred_helper
def store_multipliers(rows, values, multipliers):
    """Write the multipliers of the free rows, in place."""
    ratio_multipliers, row_multipliers = multipliers
    for r in range(rows.n_rows):
        k, i, j = rows.cells[r, 0], rows.cells[r, 1], rows.cells[r, 2]
        if i >= 0:
            ratio_multipliers[k, i, j] = values[r]
        else:
            row_multipliers[k, j] = values[r]


@deferred_helper
def group_kkt_residual(multipliers, counts, limits, ratios):
    """Maximum violation of feasibility or of complementary slackness, in units of weight."""
    ratio_multipliers, row_multipliers = multipliers
    worst = 0.0
    n_clusters, n_groups, _ = ratio_multipliers.shape
    for k in range(n_clusters):
        for i in range(n_groups):
            for j in range(n_groups):
                violation = ratios[i, j] * counts[k, j] - counts[k, i]
                if i != j:
                    worst = max(worst, violation)
                    if ratio_multipliers[k, i, j] > 0.0:
                        worst = max(worst, -violation)
        for r in range(limits.bounds.size):
            violation = row_value(limits.rows[r], counts[k]) - limits.bounds[r]
            worst = max(worst, violation)
            if row_multipliers[k, r] > 0.0:
                worst = max(worst, -violation)
    return worst
