"""The prices of a fair assignment, and the Newton step that improves them.

See `skfair._kernels.fair_assignment` for the dual. Only few multipliers are positive: a step works
on a list of those, and of the constraints that are violated, so that many groups cost little.
"""

from typing import NamedTuple

import numpy as np

from skfair._kernels import inlined, stage
from skfair._kernels.clustering import rarest_and_commonest

MAX_CG_ITER = 100
CG_TOLERANCE = 1e-3
MAX_STOPS = 3  # of a step: times that multipliers stop at 0, and the others make up for it
AT_LEAST = -1  # in place of a group: the row bounds a size from below; -2 from above


class Prices(NamedTuple):
    """Multipliers of the constraints, not negative."""

    multipliers: np.ndarray  # (n_clusters, n_groups, n_groups) of n[k, i] >= b[i, j] n[k, j]
    size_multipliers: np.ndarray  # (n_clusters, 2) of the least and of the largest size


class DualRows(NamedTuple):
    """The constraints whose multipliers a step may change; there may be room for more."""

    n_rows: int
    cells: np.ndarray  # (n_rows, 3) cluster, groups i and j; i < 0: a size
    values: np.ndarray  # (n_rows,) multipliers
    violations: np.ndarray  # (n_rows,) the gradient of the dual


@stage
def fill_offsets(prices, ratios, kinds, offsets):
    """Price of a place in cluster k for a member of group i (see the module's formula)."""
    multipliers, size_multipliers = prices
    n_clusters, n_groups = offsets.shape
    for k in range(n_clusters):
        for i in range(n_groups):
            offsets[k, i] = 0.0
        for i in range(n_groups):
            for j in range(n_groups):
                offsets[k, i] -= multipliers[k, i, j]
                offsets[k, j] += ratios[i, j] * multipliers[k, i, j]
        for i in range(n_groups):
            offsets[k, i] -= size_multipliers[k, 0] / kinds.shape[1]
            offsets[k, i] += size_multipliers[k, 1] / kinds.shape[1]


@stage
def fill_kind_offsets(offsets, kinds, by_kind):
    """Price of a place in cluster k for a sample of a kind: that of all its groups."""
    for k in range(offsets.shape[0]):
        for c in range(kinds.shape[0]):
            by_kind[k, c] = 0.0
            for a in range(kinds.shape[1]):
                by_kind[k, c] += offsets[k, kinds[c, a]]


@stage
def add_kinds(by_kind, kinds, by_group):
    """The transpose of `fill_kind_offsets`: what a group has is the sum over its kinds."""
    by_group[:] = 0.0
    for k in range(by_group.shape[0]):
        for c in range(kinds.shape[0]):
            for a in range(kinds.shape[1]):
                by_group[k, kinds[c, a]] += by_kind[k, c]


@stage
def _mark_extremes(counts, scales, rare, common):
    """Mark the rarest and the commonest group of a cluster in every scale."""
    rare[:], common[:] = False, False
    for s in range(scales.shape[0]):
        i, j = rarest_and_commonest(counts, scales[s])
        rare[i], common[j] = True, True


@stage
def free_rows(prices, counts, limits, ratios):
    """The constraints whose multipliers a step may change, and how far each is violated.

    Free are multipliers that are positive or whose constraint is violated. Of the violated mixes
    only those with the rarest or the commonest group of a cluster take part: they imply the others.
    """
    multipliers, size_multipliers = prices
    n_clusters, n_groups = counts.shape
    most = n_clusters * (n_groups * (n_groups - 1) + 2)
    cells, values, violations = np.empty((most, 3), np.int64), np.empty(most), np.empty(most)
    rare, common = np.empty(n_groups, np.bool_), np.empty(n_groups, np.bool_)
    n = 0
    for k in range(n_clusters):
        _mark_extremes(counts[k], limits.scales, rare, common)
        for i in range(n_groups):
            for j in range(n_groups):
                value, violation = multipliers[k, i, j], ratios[i, j] * counts[k, j] - counts[k, i]
                if i != j and (value > 0.0 or ((rare[i] or common[j]) and violation > 0.0)):
                    cells[n, 0], cells[n, 1], cells[n, 2] = k, i, j
                    values[n], violations[n] = value, violation
                    n += 1
        size = _total(counts[k]) / limits.kinds.shape[1]
        for side in range(2):
            value = size_multipliers[k, side]
            violation = limits.smallest - size if side == 0 else size - limits.largest
            if value > 0.0 or violation > 0.0:
                cells[n, 0], cells[n, 1], cells[n, 2] = k, AT_LEAST - side, 0
                values[n], violations[n] = value, violation
                n += 1
    return DualRows(n, cells, values, violations)


@inlined
def _total(values):
    total = 0.0
    for value in values:
        total += value
    return total


@stage
def fill_row_offsets(rows, values, ratios, kinds, offsets):
    """The same as `fill_offsets`, from the values of the rows and in the same order."""
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
            price = values[r] / kinds.shape[1]
            for g in range(n_groups):
                offsets[k, g] += -price if i == AT_LEAST else price


@stage
def _apply_hessian(direction, rows, density, ratios, kinds, shift, result):
    """Minus the smoothed Hessian of the dual times a direction, plus ``shift`` times it.

    Raising the price of cluster k for kind c by one drives ``density[c, k].sum()`` members away,
    ``density[c, k, l]`` of them to cluster l: a graph Laplacian per kind, between the map from
    multipliers to offsets and its transpose.
    """
    (n_kinds, n_clusters, _), n_groups = density.shape, ratios.shape[0]
    offsets, by_kind = np.empty((n_clusters, n_groups)), np.empty((n_clusters, n_kinds))
    driven, away = np.empty((n_clusters, n_groups)), np.empty((n_clusters, n_kinds))
    fill_row_offsets(rows, direction, ratios, kinds, offsets)
    fill_kind_offsets(offsets, kinds, by_kind)
    for c in range(n_kinds):
        for k in range(n_clusters):
            away[k, c] = 0.0
            for l in range(n_clusters):  # noqa: E741
                away[k, c] += density[c, k, l] * (by_kind[k, c] - by_kind[l, c])
    add_kinds(away, kinds, driven)
    for r in range(rows.n_rows):
        k, i, j = rows.cells[r, 0], rows.cells[r, 1], rows.cells[r, 2]
        if i >= 0:
            change = ratios[i, j] * driven[k, j] - driven[k, i]
        else:
            change = _total(driven[k]) / kinds.shape[1]
            change = -change if i == AT_LEAST else change
        result[r] = change + shift * direction[r]


@stage
def _mean_diagonal(rows, density, ratios, kinds):
    """Mean of the diagonal of the matrix of `_apply_hessian`.

    A cluster whose size is bound counts as having the ties of an average one at least: else a
    cluster without any would stop the ascent, as no step is then short enough.
    """
    n_kinds, n_clusters, _ = density.shape
    n_attributes = kinds.shape[1]
    by_kind, ties = np.empty((n_clusters, n_kinds)), np.empty((n_clusters, ratios.shape[0]))
    for c in range(n_kinds):
        for k in range(n_clusters):
            by_kind[k, c] = _total(density[c, k])
    add_kinds(by_kind, kinds, ties)
    average = total = 0.0
    for k in range(n_clusters):
        average += _total(ties[k]) / (n_attributes * n_clusters)
    for r in range(rows.n_rows):
        k, i, j = rows.cells[r, 0], rows.cells[r, 1], rows.cells[r, 2]
        if i >= 0:
            total += ties[k, i] + ratios[i, j] * ratios[i, j] * ties[k, j]
        else:
            total += max(_total(ties[k]) / n_attributes, average)
    return total / max(rows.n_rows, 1)


@stage
def newton_direction(rows, ratios, kinds, density, ridge):
    """Newton direction on the multipliers of the rows, and the gain of the dual that it predicts.

    Multipliers that would become negative stop at 0, and the others make up for it.
    """
    direction, is_free = np.zeros(rows.n_rows), np.ones(rows.n_rows, np.bool_)
    shift = ridge * _mean_diagonal(rows, density, ratios, kinds) + 1e-300
    for _ in range(MAX_STOPS):
        _solve_freely(rows, ratios, kinds, density, shift, is_free, direction)
        n_stopped = 0
        for r in range(rows.n_rows):
            if rows.values[r] + direction[r] < 0.0:
                direction[r] = -rows.values[r]
                is_free[r] = False
                n_stopped += 1
        if n_stopped == 0:
            break
    image, gain = np.empty(rows.n_rows), 0.0
    _apply_hessian(direction, rows, density, ratios, kinds, 0.0, image)
    for r in range(rows.n_rows):
        gain += direction[r] * (rows.violations[r] - 0.5 * image[r])
    return direction, gain


@stage
def _solve_freely(rows, ratios, kinds, density, shift, is_free, direction):
    """Solve the damped system for the free rows, in place, by conjugate gradients."""
    n_rows = rows.n_rows
    residual, search, image = np.empty(n_rows), np.empty(n_rows), np.empty(n_rows)
    _apply_hessian(direction, rows, density, ratios, kinds, shift, image)
    norm = goal = 0.0
    for r in range(n_rows):
        residual[r] = search[r] = (rows.violations[r] - image[r]) if is_free[r] else 0.0
        norm += residual[r] * residual[r]
        goal += (CG_TOLERANCE * rows.violations[r]) ** 2
    for _ in range(MAX_CG_ITER):
        if norm <= goal:
            break
        _apply_hessian(search, rows, density, ratios, kinds, shift, image)
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


@stage
def store(rows, values, prices):
    """Set the multipliers of the rows, in place."""
    multipliers, size_multipliers = prices
    for r in range(rows.n_rows):
        k, i, j = rows.cells[r, 0], rows.cells[r, 1], rows.cells[r, 2]
        if i >= 0:
            multipliers[k, i, j] = values[r]
        else:
            size_multipliers[k, AT_LEAST - i] = values[r]


@stage
def worst_violation(prices, counts, limits, ratios):
    """Largest breach of feasibility or of complementary slackness, in units of weight."""
    multipliers, size_multipliers = prices
    worst = 0.0
    n_clusters, n_groups, _ = multipliers.shape
    for k in range(n_clusters):
        for i in range(n_groups):
            for j in range(n_groups):
                violation = ratios[i, j] * counts[k, j] - counts[k, i]
                if i != j:
                    worst = max(worst, violation)
                    if multipliers[k, i, j] > 0.0:
                        worst = max(worst, -violation)
        size = _total(counts[k]) / limits.kinds.shape[1]
        for side in range(2):
            violation = limits.smallest - size if side == 0 else size - limits.largest
            worst = max(worst, violation)
            if size_multipliers[k, side] > 0.0:
                worst = max(worst, -violation)
    return worst


def ratios_of(limits):
    """(n_groups, n_groups): a cluster must have ``ratios[i, j]`` of group i for one of group j.

    It is 0 where they are not compared.
    """
    one, other = limits.scales[:, None, :], limits.scales[:, :, None]
    weighed = np.divide(one, other, out=np.zeros((*other.shape[:2], one.shape[2])), where=other > 0)
    return np.ascontiguousarray(
        (limits.level * weighed / limits.factors[:, None, None]).max(axis=0)
    )
