"""Small convex quadratic programs with penalised violations of their rows."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dpotrf, dpotrs

from skfair.solvers._one_sided import OneSided

_MAX_ITER = 60

_MAX_GUESS_ROWS = 8
"""Rows up to which active sets are guessed: with more rows the guesses often cycle."""

_MAX_GUESSES = 10

_MAX_DENSE_BOUNDS = 128
"""Bounds up to which all of them are in every Newton system."""

_ROUNDING = 1e-12
"""Relative violation that a bound outside the working set may have."""


def solve_elastic_qp(curvature, rows, lower, upper, penalty, tol=1e-12):
    r"""Minimise a separable quadratic plus a penalty on violations of two-sided rows.

    .. math::

        \min_z \tfrac12 \sum_j h_j z_j^2
        + penalty \sum_r \max(0, a_r z - upper_r, lower_r - a_r z)

    by a primal-dual interior-point method with Mehrotra's corrector (S. Wright, Primal-Dual
    Interior-Point Methods, 1997, chapter 10). The penalty caps the multipliers, so the problem
    always has a solution; contradicting rows share the violation. Returns z and the signed
    multipliers in [-penalty, penalty], positive at upper bounds. ``tol`` is the complementarity at
    which to stop, relative to the penalty.
    """
    solution = (
        _guess_active_set(curvature, rows, lower, upper, penalty)
        if len(rows) <= _MAX_GUESS_ROWS
        else None
    )
    if solution is not None:
        return solution
    # Fall back on the interior point, of all bounds or of a working set.
    one_sided = OneSided(lower, upper)
    solve = _interior_point if len(one_sided.rows) <= _MAX_DENSE_BOUNDS else _solve_working_set
    duals, z = solve(curvature, one_sided.jacobian(rows), one_sided.bounds, penalty, tol)
    return z, one_sided.multipliers(duals)


def _solve_working_set(h, G, b, penalty, tol):
    """The same for many bounds, few of them active, by a working set.

    A solution for a subset of the bounds that satisfies the others solves the problem. The first
    subset is what z = 0 violates most; bounds that a solution violates are added.
    """
    entering, in_set = np.argsort(b)[: _MAX_DENSE_BOUNDS // 4], np.zeros(len(b), dtype=bool)
    while len(entering):
        in_set[entering] = True
        duals = np.zeros(len(b))
        duals[in_set], z = _interior_point(h, G[in_set], b[in_set], penalty, tol)
        excess = np.where(in_set, 0.0, G @ z - b)
        worst = np.argsort(-excess)[: in_set.sum()]  # at most twice as many in the next round
        entering = worst[excess[worst] > _ROUNDING * (1.0 + np.abs(b[worst]))]
    return duals, z


def _guess_active_set(h, rows, lower, upper, penalty):
    """The solution from guesses of the active set; None if the guesses do not converge.

    The multiplier that each row would need alone determines the active bounds, and their equations
    give the next point: a semi-smooth Newton method (M. Hintermueller, K. Ito and K. Kunisch, SIAM
    J. Optim. 13, 2002). A guess that reproduces itself is the solution.
    """
    n_rows, n = rows.shape
    reach, equations = (rows**2 / h).sum(axis=1), np.zeros((n + n_rows, n + n_rows))
    # No multiplier moves a row without derivatives.
    if not reach.all():
        return None
    # Optimality conditions of all rows, from which those at a bound are selected.
    equations[:n, :n], equations[:n, n:], equations[n:, :n] = np.diag(h), rows.T, rows
    z, multipliers, guess = np.zeros(n), np.zeros(n_rows), None
    for _ in range(_MAX_GUESSES):
        # The multiplier that puts each row alone at its violated bound, capped at the penalty.
        single_row = multipliers + rows @ z / reach
        required = np.maximum(0.0, single_row - upper / reach) + np.minimum(
            0.0, single_row - lower / reach
        )
        capped = np.clip(required, -penalty, penalty)
        at_bound = (required != 0.0) & (capped == required)
        # Guess: 0 for inactive rows, 1 for rows at a bound, 2 for capped multipliers.
        previous, guess = guess, np.sign(required) * np.where(at_bound, 1, 2)
        if np.array_equal(guess, previous):
            return z, multipliers
        # Equations of the rows at a bound.
        multipliers = np.where(at_bound, 0.0, capped)
        bounds = np.where(required > 0.0, upper, lower)[at_bound]
        rhs = np.append(-(multipliers @ rows), bounds)
        in_set = np.append(np.ones(n, dtype=bool), at_bound)
        try:
            solution = np.linalg.solve(equations[np.ix_(in_set, in_set)], rhs)
        except LinAlgError:  # rows that are multiples of each other
            return None
        z, multipliers[at_bound] = solution[:n], solution[n:]
    return None


class _Interior(NamedTuple):
    """A point of the interior: the unknowns and four positive vectors, one entry per bound."""

    z: np.ndarray
    slack: np.ndarray  # b + violation - G z
    violation: np.ndarray  # of a bound
    dual: np.ndarray  # multiplier of the bound
    violation_dual: np.ndarray  # multiplier of violation >= 0; dual + violation_dual = penalty


def _move(point, step, length):
    """The point after a step of a length."""
    return _Interior(*(value + length * change for value, change in zip(point, step, strict=True)))


def _max_step(point, step):
    """Maximum length up to 1 at which all positive vectors remain non-negative."""
    positive, change = np.concatenate(point[1:]), np.concatenate(step[1:])
    return 1.0 / max(1.0, (-change / positive).max())


def _mean_product(point):
    """Mean of the complementarity products, 0 at the solution."""
    products = point.dual @ point.slack + point.violation_dual @ point.violation
    return products / (2 * len(point.slack))


class _NewtonSystem(NamedTuple):
    """Newton's equations at an interior point, factored once for predictor and corrector."""

    point: _Interior
    G: np.ndarray
    stationarity: np.ndarray
    primal: np.ndarray
    weight: np.ndarray  # of each bound, once slacks, violations and duals are eliminated
    factor: np.ndarray  # of the equations of z


def _newton_system(point, h, G, b):
    """Set up Newton's equations at a point, and factor them."""
    z, slack, violation, dual, violation_dual = point
    # Eliminate slacks, violations and duals: equations of z, a weight per bound.
    weight = 1.0 / (slack / dual + violation / violation_dual)
    # LAPACK without SciPy's checks, as the matrices are small and many.
    factor, failed = dpotrf(np.diag(h) + (G.T * weight) @ G, lower=1)
    if failed:
        raise LinAlgError("the equations of the interior point are singular")
    return _NewtonSystem(
        point, G, h * z + G.T @ dual, slack + G @ z - b - violation, weight, factor
    )


def _newton_step(system, bound_products, violation_products):
    """Step that changes dual * slack and violation_dual * violation by these amounts."""
    _, slack, violation, dual, violation_dual = system.point
    shift = system.primal + bound_products / dual - violation_products / violation_dual
    push = -system.stationarity - system.G.T @ (system.weight * shift)
    # Back substitution: z, then the duals, then the primal quantities.
    dz = dpotrs(system.factor, push, lower=1)[0]
    ddual = system.weight * (system.G @ dz + shift)
    dslack = (bound_products - slack * ddual) / dual
    dviolation = (violation_products + violation * ddual) / violation_dual
    return _Interior(dz, dslack, dviolation, ddual, -ddual)


def _interior_point(h, G, b, penalty, tol):
    """Minimise ``h z^2 / 2 + penalty * sum(v)`` subject to ``G z <= b + v`` and ``v >= 0``."""
    z = np.zeros(len(h))
    if not len(b):
        return np.empty(0), z
    # Start with violations that leave every slack positive, and duals between 0 and the penalty.
    violation = np.maximum(0.0, -b) + max(1e-3, np.abs(b).max())
    dual = np.full(len(b), min(1.0, penalty / 2))
    point = _Interior(z, b + violation, violation, dual, penalty - dual)
    residual = np.inf
    for _ in range(_MAX_ITER):
        try:
            system = _newton_system(point, h, G, b)
        except LinAlgError:  # the complementarity products underflow
            break
        # Stop when the stationarity residual no longer decreases: an unknown of little curvature
        # moves far by a small residual.
        previous, residual = residual, np.abs(system.stationarity).max(initial=0.0)
        mean_product = _mean_product(point)
        if mean_product <= tol * penalty and (
            residual <= 1e-11 * penalty or residual > previous / 2
        ):
            break
        # Predictor: Newton step to zero products; its progress determines the corrector's aim.
        products = point.dual * point.slack
        violation_products = point.violation_dual * point.violation
        predictor = _newton_step(system, -products, -violation_products)
        predicted = _mean_product(_move(point, predictor, _max_step(point, predictor)))
        # The better the predictor, the nearer to zero the corrector aims (Mehrotra).
        aim = mean_product * (predicted / mean_product) ** 3
        corrector = _newton_step(
            system,
            aim - products - predictor.dual * predictor.slack,
            aim - violation_products - predictor.violation_dual * predictor.violation,
        )
        # Stop just short of the boundary, where a positive vector would vanish.
        point = _move(point, corrector, 0.995 * _max_step(point, corrector))
    return point.dual, point.z
