"""Small quadratic programs with penalised violations: active sets, and an interior point."""

import numpy as np

from skfair._kernels import deferred_helper, helper, interpret_at_first

# Guesses of the active set.


_MAX_GUESSES = 10


def solve_active_set(curvature, rows, lower, upper, penalty):
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
    is_solution = _solve_active_set(
        *problem, z, multipliers, values, reach, required, guess, matrix
    )
    return (z, multipliers) if is_solution else None


@interpret_at_first(lambda h, rows, *_: 20 * (len(h) + len(rows)) ** 3)
def _solve_active_set(
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


# The interior-point method.


MAX_ITER = 60


def solve_interior_point(h, rows, lower, upper, penalty, tol):
    """Minimise ``h z^2 / 2`` plus the penalty times the excess of ``rows z`` over its bounds.

    `h` is positive, (n,), and `rows` is (n_rows, n). Returns z, (n,), and the multipliers of the
    rows, (n_rows,). `tol` is the complementarity at which to stop, relative to the penalty.
    """
    z, multipliers = np.zeros(len(h)), np.zeros(len(rows))
    # One-sided bounds G z <= b + v, v >= 0: upper ones, then lower ones.
    is_capped, is_floored = np.isfinite(upper), np.isfinite(lower)
    G = np.concatenate((rows[is_capped], -rows[is_floored]), dtype=np.float64)
    b = np.concatenate((upper[is_capped], -lower[is_floored]))
    if not len(b):
        return z, multipliers
    # Start with violations that leave every slack positive, and duals between 0 and the penalty.
    violation = np.maximum(0.0, -b) + max(1e-3, np.abs(b).max())
    dual = np.full(len(b), min(1.0, penalty / 2))
    positive = np.array([b + violation, violation, dual, penalty - dual])
    _solve_interior_point(np.asarray(h, dtype=np.float64), G, b, penalty, tol, z, positive)
    n_capped = np.count_nonzero(is_capped)
    multipliers[is_capped] = positive[_DUAL, :n_capped]
    multipliers[is_floored] -= positive[_DUAL, n_capped:]
    return z, multipliers


# Rows of positive vectors, one entry per bound each. Slacks are b + violation - G z, and the two
# multipliers of a bound, that of its row and that of violation >= 0, add up to the penalty.
_SLACK, _VIOLATION, _DUAL, _VIOLATION_DUAL = range(4)


@deferred_helper
def _mean_complementarity(positive):
    """Mean of the complementarity products, 0 at the solution."""
    total, n_bounds = 0.0, positive.shape[1]
    for i in range(n_bounds):
        total += positive[_DUAL, i] * positive[_SLACK, i]
        total += positive[_VIOLATION_DUAL, i] * positive[_VIOLATION, i]
    return total / (2 * n_bounds)


@deferred_helper
def _max_step(positive, change):
    """Maximum length up to 1 at which all positive vectors remain non-negative."""
    fastest = 1.0
    for k in range(4):
        for i in range(positive.shape[1]):
            fastest = max(fastest, -change[k, i] / positive[k, i])
    return 1.0 / fastest


@deferred_helper
def _factorize(h, G, weight, factor):
    """Cholesky factor U of ``diag(h) + G' diag(weight) G = U'U``; whether it exists."""
    n = len(h)
    factor[:] = 0.0
    for j in range(n):
        factor[j, j] = h[j]
    for i in range(G.shape[0]):
        for j in range(n):
            scaled = weight[i] * G[i, j]
            for k in range(j, n):
                factor[j, k] += scaled * G[i, k]
    for j in range(n):
        if not factor[j, j] > 0.0:
            return False
        pivot = 1.0 / np.sqrt(factor[j, j])
        for k in range(j, n):
            factor[j, k] *= pivot
        for i in range(j + 1, n):
            for k in range(i, n):
                factor[i, k] -= factor[j, i] * factor[j, k]
    return True


@deferred_helper
def _solve_factored(factor, vector):
    """Solve ``U'U x = vector`` in place."""
    n = len(vector)
    for j in range(n):
        vector[j] /= factor[j, j]
        for k in range(j + 1, n):
            vector[k] -= factor[j, k] * vector[j]
    for j in range(n - 1, -1, -1):
        for k in range(j + 1, n):
            vector[j] -= factor[j, k] * vector[k]
        vector[j] /= factor[j, j]


@deferred_helper
def _set_newton_step(G, positive, residuals, weight, factor, products, dz, change):
    """Step that changes dual * slack and violation_dual * violation by `products`, (2, n_bounds).

    `residuals` are those of stationarity, (n,), and of the slacks, (n_bounds,).
    """
    stationarity, primal = residuals
    n_bounds, n = G.shape
    for j in range(n):
        dz[j] = -stationarity[j]
    for i in range(n_bounds):
        shift = primal[i] + products[0, i] / positive[_DUAL, i]
        shift -= products[1, i] / positive[_VIOLATION_DUAL, i]
        change[_DUAL, i] = shift
        for j in range(n):
            dz[j] -= weight[i] * shift * G[i, j]
    # Back substitution: z, then the duals, then the primal quantities.
    _solve_factored(factor, dz)
    for i in range(n_bounds):
        moved = change[_DUAL, i]
        for j in range(n):
            moved += G[i, j] * dz[j]
        ddual = weight[i] * moved
        change[_DUAL, i], change[_VIOLATION_DUAL, i] = ddual, -ddual
        rest = products[0, i] - positive[_SLACK, i] * ddual
        change[_SLACK, i] = rest / positive[_DUAL, i]
        rest = products[1, i] + positive[_VIOLATION, i] * ddual
        change[_VIOLATION, i] = rest / positive[_VIOLATION_DUAL, i]


@deferred_helper
def _set_residuals(h, G, b, z, positive, stationarity, primal, weight):
    """Set the residuals, and the weight of each bound once all but z is eliminated.

    Returns the largest residual of stationarity.
    """
    n_bounds, n = G.shape
    for j in range(n):
        stationarity[j] = h[j] * z[j]
    for i in range(n_bounds):
        value, dual = 0.0, positive[_DUAL, i]
        for j in range(n):
            value += G[i, j] * z[j]
            stationarity[j] += G[i, j] * dual
        slack, violation = positive[_SLACK, i], positive[_VIOLATION, i]
        primal[i] = slack + value - b[i] - violation
        weight[i] = 1.0 / (slack / dual + violation / positive[_VIOLATION_DUAL, i])
    largest = 0.0
    for j in range(n):
        largest = max(largest, abs(stationarity[j]))
    return largest


def _count_steps(h, G, *_):
    return 10 * G.size * len(h)


@interpret_at_first(_count_steps)
def _solve_interior_point(h, G, b, penalty, tol, z, positive):
    n_bounds, n = G.shape
    stationarity, primal, weight = np.empty(n), np.empty(n_bounds), np.empty(n_bounds)
    factor, dz, change = np.empty((n, n)), np.empty(n), np.empty((4, n_bounds))
    products, predicted = np.empty((2, n_bounds)), np.empty((4, n_bounds))
    residual = np.inf
    for _ in range(MAX_ITER):
        # Stop when the stationarity residual no longer decreases: an unknown of little curvature
        # moves far by a small residual.
        previous = residual
        residual = _set_residuals(h, G, b, z, positive, stationarity, primal, weight)
        mean_product = _mean_complementarity(positive)
        if mean_product <= tol * penalty and (
            residual <= 1e-11 * penalty or residual > previous / 2
        ):
            break
        if not _factorize(h, G, weight, factor):  # the complementarity products underflow
            break
        # Predictor: Newton step to zero products; its progress determines the corrector's aim.
        for i in range(n_bounds):
            products[0, i] = -positive[_DUAL, i] * positive[_SLACK, i]
            products[1, i] = -positive[_VIOLATION_DUAL, i] * positive[_VIOLATION, i]
        residuals = stationarity, primal
        _set_newton_step(G, positive, residuals, weight, factor, products, dz, change)
        length = _max_step(positive, change)
        for k in range(4):
            for i in range(n_bounds):
                predicted[k, i] = positive[k, i] + length * change[k, i]
        # The better the predictor, the nearer to zero the corrector aims (Mehrotra).
        progress = _mean_complementarity(predicted) / mean_product
        aim = mean_product * (progress * (progress * progress))
        for i in range(n_bounds):
            products[0, i] += aim - change[_DUAL, i] * change[_SLACK, i]
            products[1, i] += aim - change[_VIOLATION_DUAL, i] * change[_VIOLATION, i]
        _set_newton_step(G, positive, residuals, weight, factor, products, dz, change)
        # Stop just short of the boundary, where a positive vector would vanish.
        length = 0.995 * _max_step(positive, change)
        for j in range(n):
            z[j] += length * dz[j]
        for k in range(4):
            for i in range(n_bounds):
                positive[k, i] += length * change[k, i]
