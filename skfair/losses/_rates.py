"""Rates: pointwise functions of scores and target whose means constraints compare."""

import numpy as np

from skfair._kernels.codes import SCORE
from skfair.losses._pointwise import Pointwise, kernel_code

SELECTED = (1.0, 1.0, 0.0, 0.0)
"""Table of the selection rate: what a true positive, a false positive, a false negative and a true
negative count."""

WRONG = (0.0, 1.0, 1.0, 0.0)
"""Table of the error rate."""


def count_decisions(table, surrogate, scores, target):
    """What a table of four numbers counts, with a surrogate in place of the decision."""
    if table == SELECTED:
        return surrogate(scores)
    true_positive, false_positive, false_negative, true_negative = table
    is_positive = target > 0
    # What a sample counts if its decision is negative, and what a positive decision adds.
    negative = np.where(is_positive, false_negative, true_negative)
    step = np.where(is_positive, true_positive, false_positive) - negative
    value, slope, curvature = surrogate(scores)
    return Pointwise(negative + step * value, step * slope, step * curvature)


def mean_score(scores, target):
    """The score of each sample."""
    return Pointwise(scores, np.ones_like(scores), np.zeros_like(scores))


def kernel_rate(rate):
    """Code and width of a rate in kernels, and whether it is of errors; None if they have none."""
    if rate is mean_score:
        return SCORE, 1.0, False
    if getattr(rate, "func", None) is not count_decisions:
        code, table = kernel_code(rate), None
    else:  # of a table and a surrogate, by `functools.partial`
        table, surrogate = rate.args
        code = kernel_code(surrogate) if table in (SELECTED, WRONG) else None
    return None if code is None else (*code, table == WRONG)
