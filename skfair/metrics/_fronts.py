"""Indicators that compare Pareto fronts of cost (less is better) and balance (more is better)."""

import numpy as np


def hypervolume(cost, balance, *, reference, ideal=None):
    """Area that the points of a front dominate, up to a reference point.

    A point (c, b) dominates the rectangle between itself and the reference (r1, r2), that is all
    (c', b') with c <= c' <= r1 and r2 <= b' <= b; the hypervolume is the area of the union of
    these rectangles. It grows with every point that is added to the front, and the best front has
    the largest.

    Parameters
    ----------
    cost, balance : array-like of shape (n_points,)
        The points, in any order, dominated ones allowed. Points that are no better than the
        reference in either objective contribute nothing.
    reference : tuple of two floats (r1, r2)
        Cost and balance that are just not acceptable.
    ideal : tuple of two floats (lo, r), default=None
        Cost and balance that are out of reach. If given, the part of the area inside the box
        between the reference and the ideal point is returned as a share of the box,
        ``area / ((r1 - lo) (r - r2))``; points beyond the ideal are clipped to it.

    Returns
    -------
    hypervolume : float
        Non-negative; at most 1 with an ideal point; 0 for an empty front.

    Raises
    ------
    ValueError
        If the points are not finite, differ in number, or the ideal point is not better than the
        reference in both objectives.

    References
    ----------
    .. [1] E. Zitzler and L. Thiele, "Multiobjective optimization using evolutionary algorithms: a
       comparative case study", PPSN 1998.

    Examples
    --------
    >>> from skfair.metrics import hypervolume
    >>> hypervolume([1.0, 2.0], [0.2, 0.5], reference=(3.0, 0.0))
    0.7
    >>> hypervolume([1.0, 2.0], [0.2, 0.5], reference=(3.0, 0.0), ideal=(1.0, 0.5))
    0.7
    """
    if np.shape(cost) != np.shape(balance):
        raise ValueError(
            "cost and balance must have one entry per point of the front; got shapes "
            f"{np.shape(cost)} and {np.shape(balance)}."
        )
    cost, balance = _check_points(np.column_stack((cost, balance)), "cost and balance")
    worst_cost, worst_balance = reference
    if ideal is not None:
        best_cost, best_balance = ideal
        if not (best_cost < worst_cost and best_balance > worst_balance):
            raise ValueError(
                "ideal must be better than reference, of less cost and more balance, but "
                f"ideal={tuple(ideal)} and reference={tuple(reference)}."
            )
        cost, balance = np.maximum(cost, best_cost), np.minimum(balance, best_balance)
        box = (worst_cost - best_cost) * (best_balance - worst_balance)
    # Between two neighbouring costs the area is as high as the best balance so far.
    order = np.argsort(cost)
    edges = np.append(np.minimum(cost[order], worst_cost), worst_cost)
    heights = np.maximum.accumulate(np.maximum(balance[order], worst_balance)) - worst_balance
    area = float(np.diff(edges) @ heights)
    return area if ideal is None else area / box


def coverage(front_a, front_b, *, tolerance=0.0):
    """Share of one front's points that another front dominates or equals.

    A point of b is covered if some point of a costs at most as much and is at least as balanced.
    The measure is not symmetric: look at ``coverage(a, b)`` and ``coverage(b, a)`` together.

    Parameters
    ----------
    front_a : array-like of shape (n_points_a, 2)
        Cost (less is better) and balance (more is better) of the covering points.
    front_b : array-like of shape (n_points_b, 2)
        Cost and balance of the points to be covered; at least one.
    tolerance : float, default=0.0
        By how much a covering point may be worse in either objective; for fronts that were
        rounded.

    Returns
    -------
    share : float
        In [0, 1].

    Raises
    ------
    ValueError
        If a front is not of two finite columns, or `front_b` is empty.

    References
    ----------
    .. [1] E. Zitzler and L. Thiele, "Multiobjective optimization using evolutionary algorithms: a
       comparative case study", PPSN 1998.

    Examples
    --------
    >>> from skfair.metrics import coverage
    >>> ours, theirs = [[1.0, 0.2], [2.0, 0.5]], [[1.5, 0.2], [1.9, 0.4]]
    >>> coverage(ours, theirs), coverage(theirs, ours)
    (0.5, 0.0)
    """
    cost_a, balance_a = _check_points(front_a, "front_a")
    cost_b, balance_b = _check_points(front_b, "front_b")
    if len(cost_b) == 0:
        raise ValueError("front_b must have at least one point: no share of none is known.")
    # The best balance that a has to offer at each of b's costs.
    order = np.argsort(cost_a)
    best = np.maximum.accumulate(np.append(-np.inf, balance_a[order]))
    offered = best[np.searchsorted(cost_a[order], cost_b + tolerance, side="right")]
    return float(np.mean(offered >= balance_b - tolerance))


def _check_points(points, name):
    """Cost and balance of a front's points as two float64 arrays."""
    points = np.asarray(points, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(
            f"{name} must be of shape (n_points, 2), cost beside balance; got {points.shape}."
        )
    if not np.isfinite(points).all():
        raise ValueError(f"{name} must be finite, but nan or inf came; leave these points out.")
    return points.T


def non_dominated(cost, balance):
    """Mark the strict Pareto front of points with a cost (less is better) and a balance (more is).

    A point is kept if no other is at least as good in both and better in one; of exact duplicates
    the first stays.

    Parameters
    ----------
    cost, balance : array-like of shape (n_points,)
        The two objectives of each point.

    Returns
    -------
    mask : ndarray of bool, shape (n_points,)
        True for the points of the front.

    Examples
    --------
    >>> from skfair.metrics import non_dominated
    >>> non_dominated([1.0, 2.0, 3.0], [0.2, 0.1, 0.5]).tolist()
    [True, False, True]
    """
    cost, balance = np.asarray(cost), np.asarray(balance)
    # By ascending cost, the better balanced first among equals (lexsort is stable, so the first
    # of duplicates leads): a point is on the front when it beats every balance before it.
    order = np.lexsort((-balance, cost))
    best_before = np.maximum.accumulate(np.r_[-np.inf, balance[order]])[:-1]
    mask = np.zeros(len(cost), dtype=bool)
    mask[order] = balance[order] > best_before
    return mask
