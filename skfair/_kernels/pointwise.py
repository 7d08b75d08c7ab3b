"""Losses and rates of a few scores, in loops that use vector registers.

The formulas are those of `skfair.losses` and `skfair.surrogates`.
"""

from math import factorial

import numpy as np

from skfair._kernels.codes import ABSOLUTE, LOGISTIC, RAMP, SCORE, SIGMOID, SQUARED, SQUARED_HINGE, STEP
from skfair._kernels import deferred_helper, inline_helper

_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""Two numbers whose sum is log(2); small integers times the first one are exact."""

_LOG2_E = 1.4426950408889634

_SMALLEST = -708.0
"""Exponent below which an exponential is no normal number."""

_EXP = np.array([1.0 / factorial(k) for k in range(13, -1, -1)])
"""Coefficients of exp for |r| <= log(2) / 2."""

_ATANH = np.array([2.0 / (2 * k + 1) for k in range(16, -1, -1)])
"""Coefficients of 2 atanh(s) / s in s**2 for s <= 1/3."""


@deferred_helper
def evaluate_pointwise(code, width, scores, target, n, value, slope, curvature):
    """Value, slope and curvature of the first n scores, written into buffers."""
    if code == LOGISTIC:
        for i in range(n):
            value[i] = abs(target[i] * scores[i])
        _exponentials(value, n, slope, curvature)
        for i in range(n):
            margin, decay = target[i] * scores[i], curvature[i]
            p_other = (decay if margin > 0.0 else 1.0) / (1.0 + decay)
            value[i] = _log1p(decay) + max(0.0, -margin)
            slope[i], curvature[i] = -target[i] * p_other, p_other * (1.0 - p_other)
    elif code == SIGMOID:
        for i in range(n):
            value[i] = abs(scores[i] / width)
        _exponentials(value, n, slope, curvature)
        for i in range(n):
            decay = curvature[i]
            value[i] = (1.0 if scores[i] > 0.0 else decay) / (1.0 + decay)
            slope[i] = value[i] * (1.0 - value[i]) / width
            curvature[i] = slope[i] * (1.0 - 2.0 * value[i]) / width
    elif code == RAMP:
        for i in range(n):
            height = scores[i] / width + 0.5
            value[i], curvature[i] = min(max(height, 0.0), 1.0), 0.0
            slope[i] = (1.0 if 0.0 < height < 1.0 else 0.0) / width
    elif code == STEP:
        for i in range(n):
            value[i], slope[i], curvature[i] = 1.0 if scores[i] > 0.0 else 0.0, 0.0, 0.0
    elif code == SCORE:
        for i in range(n):
            value[i], slope[i], curvature[i] = scores[i], 1.0, 0.0
    elif code == SQUARED or code == ABSOLUTE:
        _real_losses(code, width, scores, target, n, value, slope, curvature)
    else:
        _hinge_losses(code, width, scores, target, n, value, slope, curvature)


@deferred_helper
def _real_losses(code, width, scores, target, n, value, slope, curvature):
    # The squared loss is a parabola everywhere, the absolute one within its width.
    is_parabola = code == SQUARED
    width, end = (1.0, np.inf) if is_parabola else (width, width)
    offset, steepest = (0.0, np.inf) if is_parabola else (width / 2.0, 1.0)
    for i in range(n):
        residual = scores[i] - target[i]
        is_inside, ratio = abs(residual) < end, residual / width
        value[i] = residual * ratio / 2.0 + offset if is_inside else abs(residual)
        slope[i] = min(max(ratio, -steepest), steepest)
        curvature[i] = (1.0 if is_inside else 0.0) / width


@deferred_helper
def _hinge_losses(code, width, scores, target, n, value, slope, curvature):
    # The squared hinge is a parabola up to margin 1, the hinge within its width.
    width, end = (1.0, np.inf) if code == SQUARED_HINGE else (width, width)
    for i in range(n):
        shortfall = 1.0 - target[i] * scores[i]
        shortfall = 0.0 if shortfall <= 0.0 else shortfall
        rounded = end if shortfall > end else shortfall
        value[i] = rounded * rounded / (2.0 * width) + (shortfall - rounded)
        slope[i] = -target[i] * rounded / width
        curvature[i] = (1.0 if 0.0 < shortfall < end else 0.0) / width


@inline_helper
def _exponentials(sizes, n, powers, result):
    """exp(-size) of the first n sizes, written into `result`; `powers` is a buffer."""
    bits = powers.view(np.int64)
    for i in range(n):
        # exp(x) = 2**k exp(r), where |r| is at most log(2) / 2; nan stays nan.
        x = _SMALLEST if sizes[i] > -_SMALLEST else -sizes[i]
        k = np.floor(x * _LOG2_E + 0.5)
        r = x - k * _LN2_HIGH - k * _LN2_LOW
        total = 0.0
        for coefficient in _EXP:
            total = total * r + coefficient
        result[i] = total
        bits[i] = np.int64(np.int32(k) + np.int32(1023)) << np.int64(52)
    for i in range(n):
        result[i] *= powers[i]


@inline_helper
def _log1p(x):
    """log(1 + x) for x in [0, 1]: 2 atanh(s) with s = x / (2 + x)."""
    s = x / (2.0 + x)
    squared, total = s * s, 0.0
    for coefficient in _ATANH:
        total = total * squared + coefficient
    return total * s
