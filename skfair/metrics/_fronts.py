"""Indicators that compare Pareto fronts of cost (less is better) and balance (more is better)."""

import numpy as np


def hypervolume(cost, balance, *, reference, ideal=None):
    """Area that a front dominates up to the `reference`, a just not acceptable (cost, balance).

    With an `ideal` pair, the share of the box between reference and ideal; points beyond the ideal
    are clipped to it. (E. Zitzler and L. Thiele, PPSN 1998.)
    """
    if np.shape(cost) != np.shape(balance):
        raise ValueError(
            "cost and balance must have one entry per point of the front; got shapes "
            f"{np.shape(cost)} and {np.shape(balance)}."
        )
    cost, balance = _check_points(np.column_stack((cost, balance)), "cost and balance")
    worst_cost, worst_balance = reference
    # Points beyond the ideal are clipped to it.
    if ideal is not None:
        best_cost, best_balance = ideal
        if not (best_cost < worst_cost and best_balance > worst_balance):
            raise ValueError(
                "ideal must have less cost and more balance than reference; got "
                f"ideal={tuple(ideal)} and reference={tuple(reference)}."
            )
        cost, balance = np.maximum(cost, best_cost), np.minimum(balance, best_balance)
        box = (worst_cost - best_cost) * (best_balance - worst_balance)
    # Steps of the front by ascending cost, clipped at the reference: between two neighbouring costs
    # the area is as high as the best balance so far.
    order = np.argsort(cost)
    edges = np.append(np.minimum(cost[order], worst_cost), worst_cost)
    heights = np.maximum.accumulate(np.maximum(balance[order], worst_balance)) - worst_balance
    area = float(np.diff(edges) @ heights)
    return area if ideal is None else area / box


def coverage(front_a, front_b, *, tolerance=0.0):
    """Share of the points of `front_b` that some point of `front_a` dominates or equals.

    Fronts have the columns cost and balance; `tolerance` is by how much a covering point may be
    worse. The measure is not symmetric. (E. Zitzler and L. Thiele, PPSN 1998.)
    """
    cost_a, balance_a = _check_points(front_a, "front_a")
    cost_b, balance_b = _check_points(front_b, "front_b")
    if len(cost_b) == 0:
        raise ValueError("front_b must have at least one point; got an empty front.")
    # The best balance of front_a at each cost of front_b.
    order = np.argsort(cost_a)
    best = np.maximum.accumulate(np.append(-np.inf, balance_a[order]))
    reached = best[np.searchsorted(cost_a[order], cost_b + tolerance, side="right")]
    return float(np.mean(reached >= balance_b - tolerance))


def _check_points(points, name):
    """Cost and balance of a front's points as two float64 arrays."""
    points = np.asarray(points, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(
            f"{name} must be of shape (n_points, 2), with the columns cost and balance; got "
            f"{points.shape}."
        )
    if not np.isfinite(points).all():
        raise ValueError(f"{name} must be finite; got nan or inf. Leave these points out.")
    return points.T


def non_dominated(cost, balance):
    """Mask of the strict Pareto front of points: less cost is better, and more balance.

    A point belongs to it if no other is at least as good in both and better in one; of exact
    duplicates the first does.
    """
    cost, balance = np.asarray(cost), np.asarray(balance)
    # By ascending cost, the better balanced first among equals (lexsort is stable, so the first
    # of duplicates leads): a point is on the front when it beats every balance before it.
    order = np.lexsort((-balance, cost))
    best_before = np.maximum.accumulate(np.r_[-np.inf, balance[order]])[:-1]
    mask = np.zeros(len(cost), dtype=bool)
    mask[order] = balance[order] > best_before
    return mask
