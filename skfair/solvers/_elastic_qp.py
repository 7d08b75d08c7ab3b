"""Small quadratic programs with penalised violations, by an interior point."""

import numpy as np
from scipy.linalg.lapack import dgesv, dpotrf, dpotrs


def solve_active_set(
    h: np.ndarray, rows: np.ndarray, lower: np.ndarray, upper: np.ndarray, penalty: float
) -> tuple[np.ndarray, np.ndarray] | None:
    """The solution of `solve_interior_point` from guesses of the active set; None if they fail.

    The multiplier that each row would need alone determines the active bounds, and their equations
    give the next multipliers: a semi-smooth Newton method (M. Hintermueller, K. Ito and K. Kunisch,
    SIAM J. Optim. 13, 2002). A guess that reproduces itself is the solution.
    """
    scaled = rows / h
    gram = scaled @ rows.T  # what each multiplier takes off the value of each row
    reach = gram.diagonal()
    if not reach.min() > 0.0:  # no multiplier moves a row without derivatives
        return None
    lowest, highest = lower / reach, upper / reach
    multipliers = np.zeros(len(rows))
    single = multipliers
    guess = None
    for _ in range(10):
        required = np.maximum(single - highest, 0.0) + np.minimum(single - lowest, 0.0)
        # 0 for inactive rows, 1 and -1 at a bound, 2 and -2 for capped multipliers.
        code = np.sign(required) * (1.0 + (np.abs(required) > penalty))
        if guess is not None and (code == guess).all():
            return -(multipliers @ scaled), multipliers
        guess = code
        multipliers = penalty * np.trunc(code / 2.0)
        at_bound = np.flatnonzero(np.abs(code) == 1.0)
        if len(at_bound):
            bound = np.where(code > 0.0, upper, lower)[at_bound]
            of_bound = gram[at_bound]
            factors, _, solution, info = dgesv(
                of_bound[:, at_bound], -bound - of_bound @ multipliers
            )
            pivots = np.abs(factors.diagonal())
            if info or pivots.min() < 1e-6 * pivots.max():  # rows that depend on each other
                return None
            multipliers[at_bound] = solution
        single = multipliers - gram @ multipliers / reach
    return None


@np.errstate(all="ignore")
def solve_interior_point(
    h: np.ndarray,
    rows: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    penalty: float,
    max_complementarity: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Minimise ``h z^2 / 2`` plus the penalty times the excess of ``rows z`` over its bounds.

    `h` is positive, (n,), and `rows` is (n_rows, n). Returns z, (n,), and the multipliers of the
    rows, (n_rows,). `max_complementarity` is the mean at which to stop, relative to the penalty.
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
    # Slacks and violations, their duals, and the changes of all four.
    slacks, duals = positive[:2], positive[2:]
    change = np.empty_like(positive)
    residual = np.inf
    # At most so many interior-point steps.
    for _ in range(60):
        stationarity = h * z + duals[0] @ G
        # Stop when the stationarity residual no longer decreases: an unknown of little curvature
        # moves far by a small residual.
        previous = residual
        residual = np.abs(stationarity).max()
        mean_product = _mean_complementarity(positive)
        if mean_product <= max_complementarity * penalty and (
            residual <= 1e-11 * penalty or residual > previous / 2
        ):
            break
        # The weight of each bound once all but z is eliminated.
        ratios = slacks / duals
        weight = 1.0 / (ratios[0] + ratios[1])
        matrix = (G.T * weight) @ G
        matrix.flat[:: len(h) + 1] += h
        factor, info = dpotrf(matrix, clean=False)
        if info:  # the complementarity products underflow
            break
        system = G, weight, ratios, factor, stationarity
        # Predictor: Newton step to zero products; its progress determines the corrector's aim.
        _newton_step(-slacks, *system, change)
        predicted = positive + _max_step(positive, change) * change
        # The better the predictor, the nearer to zero the corrector aims (Mehrotra).
        aim = mean_product * (_mean_complementarity(predicted) / mean_product) ** 3
        dz = _newton_step((aim - change[2:] * change[:2]) / duals - slacks, *system, change)
        # Stop just short of the boundary, where a positive vector would vanish.
        length = 0.995 * _max_step(positive, change)
        z += length * dz
        positive += length * change
    n_capped = np.count_nonzero(is_capped)
    multipliers[is_capped] = duals[0, :n_capped]
    multipliers[is_floored] -= duals[0, n_capped:]
    return z, multipliers


# The rows of positive vectors have one entry per bound each: slacks b + violation - G z,
# violations, and the multipliers of a row and of violation >= 0, which add up to the penalty.


def _mean_complementarity(positive: np.ndarray) -> float:
    """Mean of the complementarity products, 0 at the solution."""
    return np.vdot(positive[2:], positive[:2]) / (2 * positive.shape[1])


def _max_step(positive: np.ndarray, change: np.ndarray) -> float:
    """Maximum length up to 1 at which all positive vectors remain non-negative."""
    return 1.0 / max(1.0, -(change / positive).min())


def _newton_step(
    moves: np.ndarray,
    G: np.ndarray,
    weight: np.ndarray,
    ratios: np.ndarray,
    factor: np.ndarray,
    stationarity: np.ndarray,
    change: np.ndarray,
) -> np.ndarray:
    """The step of z; the changes of positive vectors are written to `change`.

    Slacks and violations change by `moves` where duals stay, and by `ratios` less per dual.
    """
    shift = moves[0] - moves[1]
    dz, _ = dpotrs(factor, -stationarity - (weight * shift) @ G)
    # Back substitution: the duals, then slacks and violations.
    np.multiply(weight, shift + G @ dz, out=change[2])
    np.negative(change[2], out=change[3])
    np.subtract(moves, ratios * change[2:], out=change[:2])
    return dz
