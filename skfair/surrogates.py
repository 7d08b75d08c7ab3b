"""Surrogates of decisions: functions of the score that have a slope, which fits can follow."""

import numpy as np

from skfair._kernels import RAMP, SIGMOID
from skfair.losses import Pointwise, ScoreFunction

__all__ = ["SURROGATES", "Ramp", "Sigmoid"]


class Sigmoid(ScoreFunction):
    r"""Surrogate of a decision that rises smoothly from 0 to 1: the logistic sigmoid.

    It is :math:`1 / (1 + e^{-s/T})` of a score s.

    Read more in the :ref:`guide <solvers>`.

    Parameters
    ----------
    temperature : float, default=1.0
        T, positive. A smaller one approximates the step better, but fewer samples have a gradient.

    Examples
    --------
    >>> from skfair.surrogates import Sigmoid
    >>> Sigmoid()([0.0]).slope
    array([0.25])
    """

    _code = SIGMOID

    def __init__(self, temperature: float = 1.0):
        self.temperature = temperature

    def _evaluate(self, scores: np.ndarray, *target: np.ndarray) -> Pointwise:
        scaled = scores / self.temperature
        decay = np.exp(-np.abs(scaled))
        value = np.where(scaled > 0, 1.0, decay) / (1.0 + decay)
        slope = value * (1.0 - value) / self.temperature
        return Pointwise(value, slope, slope * (1.0 - 2.0 * value) / self.temperature)


class Ramp(ScoreFunction):
    r"""Surrogate of a decision that rises from 0 to 1 in a straight line around the threshold.

    It is :math:`\mathrm{clip}(s / width + \tfrac12, 0, 1)` of a score s.

    Read more in the :ref:`guide <solvers>`.

    Parameters
    ----------
    width : float, default=1.0
        Length of the rise, positive.

    Examples
    --------
    >>> from skfair.surrogates import Ramp
    >>> Ramp(width=2.0)([-1.0, 0.5, 3.0]).value
    array([0.  , 0.75, 1.  ])
    """

    _code = RAMP

    def __init__(self, width: float = 1.0):
        self.width = width

    def _evaluate(self, scores: np.ndarray) -> Pointwise:
        height = scores / self.width + 0.5
        rising = (height > 0) & (height < 1)
        return Pointwise(np.clip(height, 0.0, 1.0), rising / self.width, np.zeros_like(height))


SURROGATES = {"sigmoid": Sigmoid, "ramp": Ramp}
"""Classes of smooth surrogates by name."""
