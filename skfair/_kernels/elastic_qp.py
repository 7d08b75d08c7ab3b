"""Small quadratic programs with penalised violations: active sets, and an interior point."""

import numpy as np

from skfair._kernels import helper, jit

_MAX_GUESSES = 10

_MAX_ITER = 60


def guess_active_set(curvature, rows, lower, upper, penalty):
    """The solution of `solve_elastic_qp` from guesses of the active set; None if they fail.

    The multiplier that each row would need alone determines the active bounds, and their equations
    give the next point: a semi-smooth Newton method (M. Hintermueller, K. Ito and K. Kunisch, SIAM
    J. Optim. 13, 2002). A guess that reproduces itself is the solution.
    """
    n_rows, n = rows.shape
    rows = np.ascontiguousarray(rows)
    z, multipliers = np.zeros(n), np.zeros(n_rows)
    values, reach, required = np.empty((3, n_rows))
    guess, matrix = np.zeros(n_rows, dtype=np.int64), np.empty((n + n_rows, n + n_rows + 1))
    problem = curvature, rows, lower, upper, float(penalty)
    is_solution = _guess_active_set(
        *problem, z, multipliers, values, reach, required, guess, matrix
    )
    return (z, multipliers) if is_solution else None


@jit
def _guess_active_set(
    h, rows, lower, upper, penalty, z, multipliers, values, reach, required, guess, matrix
):
    n_rows, n = rows.shape
    for r in range(n_rows):
        reach[r] = 0.0
        for j in range(n):
            reach[r] += rows[r, j] * rows[r, j] / h[j]
        if not reach[r] > 0.0:  # no multiplier moves a row without derivatives
            return False
    guess[:] = -1
    for _ in range(_MAX_GUESSES):
        # The multiplier that puts each row alone at its violated bound, capped at the penalty.
        is_equal, n_active = True, 0
        for r in range(n_rows):
            values[r] = 0.0
            for j in range(n):
                values[r] += rows[r, j] * z[j]
            required[r] = _required_dual(multipliers[r], values[r], reach[r], lower[r], upper[r])
            # Guess: 0 for inactive rows, 1 and 2 at a bound, 3 and 4 for capped multipliers.
            code = 0 if required[r] == 0.0 else 1 if required[r] > 0.0 else 2
            if abs(required[r]) > penalty:
                code += 2
            is_equal &= code == guess[r]
            guess[r] = code
            n_active += code == 1 or code == 2
        if is_equal:
            return True
        # Optimality conditions in which rows at a bound are equations.
        size = n + n_active
        for i in range(size):
            for j in range(size + 1):
                matrix[i, j] = 0.0
        active = n
        for j in range(n):
            matrix[j, j] = h[j]
        for r in range(n_rows):
            if guess[r] == 1 or guess[r] == 2:
                for j in range(n):
                    matrix[active, j] = matrix[j, active] = rows[r, j]
                matrix[active, size] = upper[r] if guess[r] == 1 else lower[r]
                active += 1
            else:
                multipliers[r] = 0.0 if guess[r] == 0 else penalty if guess[r] == 3 else -penalty
                for j in range(n):
                    matrix[j, size] -= multipliers[r] * rows[r, j]
        if not _solve_linear(matrix, size):  # rows that are multiples of each other
            return False
        for j in range(n):
            z[j] = matrix[j, size]
        active = n
        for r in range(n_rows):
            if guess[r] == 1 or guess[r] == 2:
                multipliers[r] = matrix[active, size]
                active += 1
    return False


@helper
def _required_dual(multiplier, value, reach, lower, upper):
    """The multiplier that puts a row alone at its violated bound; 0 within the bounds."""
    single = multiplier + value / reach
    return max(0.0, single - upper / reach) + min(0.0, single - lower / reach)


@helper
def _solve_linear(matrix, size):
    """Solve equations whose right-hand side is the column `size`, in place; False if singular.

    By Gaussian elimination with partial pivoting.
    """
    for k in range(size):
        pivot = k
        for i in range(k + 1, size):
            if abs(matrix[i, k]) > abs(matrix[pivot, k]):
                pivot = i
        if not abs(matrix[pivot, k]) > 0.0:
            return False
        if pivot != k:
            for j in range(k, size + 1):
                matrix[k, j], matrix[pivot, j] = matrix[pivot, j], matrix[k, j]
        for i in range(k + 1, size):
            factor = matrix[i, k] / matrix[k, k]
            if factor != 0.0:
                for j in range(k + 1, size + 1):
                    matrix[i, j] -= factor * matrix[k, j]
    for k in range(size - 1, -1, -1):
        for j in range(k + 1, size):
            matrix[k, size] -= matrix[k, j] * matrix[j, size]
        matrix[k, size] /= matrix[k, k]
    return True


SLACK, VIOLATION, DUAL, VIOLATION_DUAL = range(4)
"""Rows of a point of the interior: ``b + violation - G z``, the violation of each bound, its
multiplier, and that of ``violation >= 0``; both multipliers add up to the penalty."""

_RESIDUAL, _WEIGHT, _PRODUCTS, _VIOLATION_PRODUCTS = range(4)
"""Rows of Newton's equations: primal residual, weight of each bound once slacks, violations and
duals are eliminated, and the changes of dual * slack and violation_dual * violation."""


def solve_interior(h, G, b, penalty, tol):
    """Duals and solution of `skfair.solvers._sqp.interior_point`, for few bounds."""
    (n_bounds, n), G = G.shape, np.ascontiguousarray(G)
    point, step, newton = np.empty((3, 4, n_bounds))
    z, dz, stationarity, factor = np.zeros(n), np.empty(n), np.empty(n), np.empty((n, n))
    work = point, step, newton, z, dz, stationarity, factor
    _solve_interior(h, G, b, float(penalty), tol, *work)
    return point[DUAL].copy(), z


@jit
def _solve_interior(h, G, b, penalty, tol, point, step, newton, z, dz, stationarity, factor):
    n_bounds, n = G.shape
    slack, violation, dual, other = (
        point[SLACK],
        point[VIOLATION],
        point[DUAL],
        point[VIOLATION_DUAL],
    )
    products, violation_products = newton[_PRODUCTS], newton[_VIOLATION_PRODUCTS]
    # Violations that leave every slack positive, and duals between 0 and the penalty.
    largest = 1e-3
    for r in range(n_bounds):
        largest = max(largest, abs(b[r]))
    for r in range(n_bounds):
        violation[r] = max(0.0, -b[r]) + largest
        slack[r], dual[r] = b[r] + violation[r], min(1.0, penalty / 2)
        other[r] = penalty - dual[r]
    residual = np.inf
    for _ in range(_MAX_ITER):
        mean_product = _set_up_newton(h, G, b, point, newton, z, stationarity, factor)
        if not _factorise(factor):  # the complementarity products underflow
            return
        # Stop when the stationarity residual no longer decreases.
        previous, residual = residual, 0.0
        for j in range(n):
            residual = max(residual, abs(stationarity[j]))
        is_small = residual <= 1e-11 * penalty or residual > previous / 2
        if mean_product <= tol * penalty and is_small:
            return
        # Predictor: Newton step to zero products; its progress determines the corrector's aim.
        for r in range(n_bounds):
            products[r], violation_products[r] = -dual[r] * slack[r], -other[r] * violation[r]
        _newton_step(G, point, step, newton, dz, stationarity, factor)
        length, predicted = _max_step(point, step), 0.0
        for r in range(n_bounds):
            predicted += (dual[r] + length * step[DUAL, r]) * (slack[r] + length * step[SLACK, r])
            predicted += (other[r] + length * step[VIOLATION_DUAL, r]) * (
                violation[r] + length * step[VIOLATION, r]
            )
        ratio = predicted / (2 * n_bounds) / mean_product
        aim = mean_product * ratio * ratio * ratio
        for r in range(n_bounds):
            products[r] += aim - step[DUAL, r] * step[SLACK, r]
            violation_products[r] += aim - step[VIOLATION_DUAL, r] * step[VIOLATION, r]
        _newton_step(G, point, step, newton, dz, stationarity, factor)
        # Stop just short of the boundary, where a positive vector would vanish.
        length = 0.995 * _max_step(point, step)
        for j in range(n):
            z[j] += length * dz[j]
        for k in range(4):
            for r in range(n_bounds):
                point[k, r] += length * step[k, r]


@helper
def _set_up_newton(h, G, b, point, newton, z, stationarity, matrix):
    """Write Newton's equations of z, lower triangle alone; return the mean product."""
    n_bounds, n = G.shape
    for j in range(n):
        stationarity[j] = h[j] * z[j]
        for k in range(j + 1):
            matrix[j, k] = h[j] if j == k else 0.0
    mean_product = 0.0
    for r in range(n_bounds):
        slack, violation, dual = point[SLACK, r], point[VIOLATION, r], point[DUAL, r]
        violation_dual, value = point[VIOLATION_DUAL, r], 0.0
        for j in range(n):
            value += G[r, j] * z[j]
            stationarity[j] += G[r, j] * dual
        newton[_RESIDUAL, r] = slack + value - b[r] - violation
        weight = 1.0 / (slack / dual + violation / violation_dual)
        newton[_WEIGHT, r] = weight
        mean_product += dual * slack + violation_dual * violation
        for j in range(n):
            for k in range(j + 1):
                matrix[j, k] += weight * G[r, j] * G[r, k]
    return mean_product / (2 * n_bounds)


@helper
def _factorise(matrix):
    """Replace the lower triangle by its Cholesky factor; False if it is not positive definite."""
    for j in range(len(matrix)):
        for k in range(j + 1):
            value = matrix[j, k]
            for q in range(k):
                value -= matrix[j, q] * matrix[k, q]
            if k < j:
                matrix[j, k] = value / matrix[k, k]
            elif value > 0.0:
                matrix[j, j] = np.sqrt(value)
            else:
                return False
    return True


@helper
def _newton_step(G, point, step, newton, dz, stationarity, factor):
    """Write the step that changes the products as requested."""
    n_bounds, n = G.shape
    products, violation_products = newton[_PRODUCTS], newton[_VIOLATION_PRODUCTS]
    for j in range(n):
        dz[j] = -stationarity[j]
    for r in range(n_bounds):
        shift = newton[_RESIDUAL, r] + products[r] / point[DUAL, r]
        shift -= violation_products[r] / point[VIOLATION_DUAL, r]
        for j in range(n):
            dz[j] -= G[r, j] * newton[_WEIGHT, r] * shift
    # Back substitution: z, then the duals, then the primal quantities.
    for j in range(n):
        for k in range(j):
            dz[j] -= factor[j, k] * dz[k]
        dz[j] /= factor[j, j]
    for j in range(n - 1, -1, -1):
        for k in range(j + 1, n):
            dz[j] -= factor[k, j] * dz[k]
        dz[j] /= factor[j, j]
    for r in range(n_bounds):
        change = newton[_RESIDUAL, r] + products[r] / point[DUAL, r]
        change -= violation_products[r] / point[VIOLATION_DUAL, r]
        for j in range(n):
            change += G[r, j] * dz[j]
        change *= newton[_WEIGHT, r]
        step[SLACK, r] = (products[r] - point[SLACK, r] * change) / point[DUAL, r]
        step[VIOLATION, r] = (violation_products[r] + point[VIOLATION, r] * change) / point[
            VIOLATION_DUAL, r
        ]
        step[DUAL, r], step[VIOLATION_DUAL, r] = change, -change


@helper
def _max_step(point, step):
    """Maximum length up to 1 at which all positive vectors remain non-negative."""
    largest = 1.0
    for k in range(4):
        for r in range(point.shape[1]):
            largest = max(largest, -step[k, r] / point[k, r])
    return 1.0 / largest
