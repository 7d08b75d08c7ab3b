r"""Smooth stand-ins for the decision :math:`1[s > 0]`: value, slope and curvature per sample."""

from dataclasses import dataclass

import numpy as np

from skfair.losses import Pointwise, check_positive

__all__ = ["SURROGATES", "Ramp", "Sigmoid", "Step"]


@dataclass(frozen=True)
class Step:
    r"""The decision itself, :math:`1[s > 0]`: what metrics count.

    Examples
    --------
    >>> from skfair.surrogates import Step
    >>> Step()([-1.0, 0.0, 2.0]).value
    array([0., 0., 1.])
    """

    def __call__(self, scores):
        """Evaluate at the scores.

        Parameters
        ----------
        scores : array-like of shape (n_samples,)
            Scores.

        Returns
        -------
        Pointwise
        """
        value = (np.asarray(scores) > 0).astype(np.float64)
        return Pointwise(value, np.zeros_like(value), np.zeros_like(value))


@dataclass(frozen=True)
class Sigmoid:
    r"""Logistic sigmoid :math:`1 / (1 + e^{-s/T})`.

    Parameters
    ----------
    temperature : float, default=1.0
        T, positive: the smaller, the nearer to the step, and the fewer samples a slope is felt by.

    Examples
    --------
    >>> from skfair.surrogates import Sigmoid
    >>> Sigmoid()([0.0]).slope
    array([0.25])
    """

    temperature: float = 1.0

    def __post_init__(self):
        """Refuse what is not positive."""
        check_positive(temperature=self.temperature)

    def __call__(self, scores):
        """Evaluate at the scores.

        Parameters
        ----------
        scores : array-like of shape (n_samples,)
            Scores.

        Returns
        -------
        Pointwise
        """
        scaled = np.asarray(scores) / self.temperature
        decay = np.exp(-np.abs(scaled))
        value = np.where(scaled > 0, 1.0, decay) / (1.0 + decay)
        slope = value * (1.0 - value) / self.temperature
        return Pointwise(value, slope, slope * (1.0 - 2.0 * value) / self.temperature)


@dataclass(frozen=True)
class Ramp:
    r"""Ramp :math:`\mathrm{clip}(s / width + \tfrac12, 0, 1)`.

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

    width: float = 1.0

    def __post_init__(self):
        """Refuse what is not positive."""
        check_positive(width=self.width)

    def __call__(self, scores):
        """Evaluate at the scores.

        Parameters
        ----------
        scores : array-like of shape (n_samples,)
            Scores.

        Returns
        -------
        Pointwise
        """
        height = np.asarray(scores) / self.width + 0.5
        rising = (height > 0) & (height < 1)
        return Pointwise(np.clip(height, 0.0, 1.0), rising / self.width, np.zeros_like(height))


SURROGATES = {"step": Step(), "sigmoid": Sigmoid(), "ramp": Ramp()}
"""Surrogates by name, with their default parameters."""
