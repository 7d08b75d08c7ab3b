"""Small quadratic programs with penalised violations, by an interior point."""

import numpy as np

from skfair._kernels import deferred_helper, interpret_at_first


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
    total = 0.0
    n_bounds = positive.shape[1]
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
        value = 0.0
        dual = positive[_DUAL, i]
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
    stationarity = np.empty(n)
    primal = np.empty(n_bounds)
    weight = np.empty(n_bounds)
    factor = np.empty((n, n))
    dz = np.empty(n)
    change = np.empty((4, n_bounds))
    products = np.empty((2, n_bounds))
    predicted = np.empty((4, n_bounds))
    residual = np.inf
    # At most so many interior-point steps.
    for _ in range(60):
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
