"""Rates of decisions and scores: functions of scores and target, which kernels know, too."""

import numpy as np

from skfair._kernels import codes
from skfair.losses import Pointwise, kernel_code


def decision_rate(surrogate, scores, target):
    """The surrogate of the decision."""
    return surrogate(scores)


def error_rate(surrogate, scores, target):
    """The surrogate of a wrong decision."""
    value, slope, curvature = surrogate(scores)
    # A positive decision is wrong for the negative class, and the other way round.
    wrong = np.where(target > 0, 1.0 - value, value)
    return Pointwise(wrong, -target * slope, -target * curvature)


def mean_score(scores, target):
    """The score of each sample."""
    return Pointwise(scores, np.ones_like(scores), np.zeros_like(scores))


def kernel_rate(rate):
    """Code and width of a rate in kernels, and whether it is of errors; None if they have none."""
    if rate is mean_score:
        return codes.SCORE, 1.0, False
    function = getattr(rate, "func", None)  # of a surrogate, by `functools.partial`
    is_known = function in (decision_rate, error_rate)
    code = kernel_code(rate.args[0] if is_known else rate)
    return None if code is None else (*code, function is error_rate)
