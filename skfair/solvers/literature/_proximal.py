"""The proximal step of a piecewise linear constraint, by the duals of its pieces."""

import numpy as np

_MAX_ROUNDS = 50
_MAX_PIECES = 1000
_MAX_EXCHANGES = 10_000
_SHARE = 1e-4  # maximum of the last correction, relative to the step
_ACCURACY = 1e-10  # relative accuracy of the dual of one round
_ROUNDING = 1e-13


def proximal_step(start, multipliers, eta):
    r"""Minimise the proximal function of Algorithm 1, whose rows c are not linearised at x_k.

    .. math::

        \langle \nabla F(x_k), x \rangle + \langle \lambda, c(x) \rangle
        + \tfrac{1}{2 \eta} |x - x_k|^2

    The rows are polyhedral functions of means, which are smooth functions of x. Each round
    linearises the means, but not the rows, at the latest point. Its minimum follows from a
    quadratic function of one dual weight per piece. With two pieces, as in :math:`|a - b|`, this is
    a closed formula: a clipped multiplier. Rounds contract by :math:`\eta` times the curvature of
    :math:`\langle \lambda, c \rangle`; a round that does not descend is damped. A row of negative
    multiplier is concave and is replaced by its piece at the latest point.
    """
    current, damping = start, 0.0
    value = multipliers @ start.values + start.grad @ start.x
    for _ in range(_MAX_ROUNDS):
        # Minimum with the means linearised at the latest point, damped towards it.
        curvature = 1.0 / eta + damping
        center = (start.x / eta + damping * current.x - start.grad) / curvature
        x = center - _row_slope(current, multipliers, center, 1.0 / curvature) / curvature
        step = np.linalg.norm(x - start.x)
        if np.linalg.norm(x - current.x) <= _SHARE * step:
            break
        # Accept the round if the true function descends, else damp the next one.
        trial = start.problem.evaluate(x)
        new_value = multipliers @ trial.values + start.grad @ x + step**2 / (2.0 * eta)
        if new_value <= value + _ROUNDING * (1.0 + abs(value)):
            current, value = trial, new_value
        else:
            damping = max(2.0 * damping, 1.0 / eta)
    return current


def _row_slope(current, multipliers, center, eta):
    """Gradient of the weighted rows at the minimum of their model and the proximal term."""
    if current.rows_at_shift is None:
        return current.pull_back(multipliers)
    cells = current.cell_jacobian
    # Means move linearly with x: offset at the centre, and eta J J' per weight of the means.
    offset = cells @ (center - current.x)[: cells.shape[1]]
    weights = _cell_weights(current.rows_at_shift, multipliers, offset, eta * cells @ cells.T)
    return np.append(cells.T @ weights, multipliers @ current.aux_jacobian)


def _cell_weights(rows_at_shift, multipliers, offset, gram):
    """Gradient, by the means, of the weighted rows at the minimum over shifts of the means.

    The shift is ``offset - gram @ weights``. Pieces are added until no other piece is larger at the
    minimum over those added (cutting planes).
    """
    values, combine = rows_at_shift(np.zeros_like(offset))
    concave = multipliers < 0

    def piece(shift):
        """Value and gradient of the weighted rows at a shift of the means."""
        moved, slopes_at_shift = rows_at_shift(shift)
        # Concave rows are replaced by their piece at the latest point.
        moved = np.where(concave, values + combine @ shift, moved)
        return multipliers @ moved, multipliers @ np.where(
            concave[:, np.newaxis], combine, slopes_at_shift
        )

    shift, slopes, heights = np.zeros_like(offset), [], []
    weights, coefficients = np.zeros_like(offset), np.empty(0)
    for _ in range(_MAX_PIECES):
        value, slope = piece(shift)
        # Stop when the largest of the known pieces equals the function at this shift.
        modelled = max((h + s @ shift for h, s in zip(heights, slopes, strict=True)), default=None)
        if modelled is not None and value <= modelled + _ACCURACY * (1.0 + abs(value)):
            break
        # Add the piece and maximise the dual over the coefficients of the pieces.
        slopes.append(slope)
        heights.append(value - slope @ shift)
        pieces = np.array(slopes)
        coefficients = np.append(coefficients, 0.0) if len(coefficients) else np.ones(1)
        coefficients = _piece_coefficients(
            heights + pieces @ offset, pieces @ gram @ pieces.T, coefficients
        )
        weights = coefficients @ pieces
        shift = offset - gram @ weights
    return weights


def _piece_coefficients(linear, gram, start):
    """Maximise ``linear @ p - p @ gram @ p / 2`` over coefficients p of sum 1, from a start.

    Each step exchanges weight between the pieces of largest and smallest slope: one step suffices
    for two pieces.
    """
    coefficients = np.array(start, dtype=np.float64)
    for _ in range(_MAX_EXCHANGES):
        slopes = linear - gram @ coefficients
        # Pair of pieces: weight moves from the one of smallest slope to that of largest.
        best, worst = np.argmax(slopes), np.argmin(np.where(coefficients > 0, slopes, np.inf))
        gain = slopes[best] - slopes[worst]
        curvature = gram[best, best] - 2.0 * gram[best, worst] + gram[worst, worst]
        if gain <= _ACCURACY * (1.0 + abs(slopes[best])):
            break
        # Exact line search, until the worst piece has no weight left.
        step = min(coefficients[worst], gain / curvature) if curvature > 0 else coefficients[worst]
        coefficients[best] += step
        coefficients[worst] -= step
    return coefficients
