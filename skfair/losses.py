r"""Losses of a score: value, slope and curvature per sample.

Targets are -1 and +1 for two classes, or real numbers. Losses know nothing of X: models turn
slopes into gradients.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

__all__ = [
    "LOSSES",
    "AbsoluteLoss",
    "HingeLoss",
    "LogisticLoss",
    "Pointwise",
    "SquaredHingeLoss",
    "SquaredLoss",
]


class Pointwise(NamedTuple):
    """A function of one score per sample, and its first two derivatives.

    Attributes
    ----------
    value : ndarray of shape (n_samples,)
        The function.
    slope : ndarray of shape (n_samples,)
        Its derivative by the score.
    curvature : ndarray of shape (n_samples,)
        Its second derivative; of a kinked function, the one almost everywhere.

    Examples
    --------
    >>> from skfair.losses import SquaredLoss
    >>> SquaredLoss()([1.0, 3.0], [0.0, 0.0]).slope
    array([1., 3.])
    """

    value: np.ndarray
    slope: np.ndarray
    curvature: np.ndarray


def check_positive(**parameters):
    """Refuse parameters of a loss or surrogate that are not positive."""
    for name, value in parameters.items():
        if not value > 0:
            raise ValueError(f"{name} must be positive, but it is {value!r}; choose a larger one.")


@dataclass(frozen=True)
class LogisticLoss:
    r"""Logistic loss :math:`\log(1 + e^{-ys})`.

    Examples
    --------
    >>> from skfair.losses import LogisticLoss
    >>> LogisticLoss()([0.0], [1.0]).slope
    array([-0.5])
    """

    def __call__(self, scores, target):
        """Evaluate at the scores.

        Parameters
        ----------
        scores, target : array-like of shape (n_samples,)
            Scores, and classes -1 or +1.

        Returns
        -------
        Pointwise
        """
        target = np.asarray(target)
        margins = target * scores
        # One exponential, of a number that is never positive, serves all three.
        decay = np.exp(-np.abs(margins))
        value = np.log1p(decay) + np.maximum(0.0, -margins)
        miss = np.where(margins > 0, decay, 1.0) / (1.0 + decay)  # probability of the other class
        return Pointwise(value, -target * miss, miss * (1.0 - miss))


@dataclass(frozen=True)
class SquaredHingeLoss:
    r"""Squared hinge loss :math:`\tfrac12 \max(0, 1 - ys)^2`.

    Examples
    --------
    >>> from skfair.losses import SquaredHingeLoss
    >>> SquaredHingeLoss()([0.0, 2.0], [1.0, 1.0]).value
    array([0.5, 0. ])
    """

    def __call__(self, scores, target):
        """Evaluate at the scores.

        Parameters
        ----------
        scores, target : array-like of shape (n_samples,)
            Scores, and classes -1 or +1.

        Returns
        -------
        Pointwise
        """
        target = np.asarray(target)
        lack = np.maximum(0.0, 1.0 - target * scores)
        return Pointwise(lack**2 / 2, -target * lack, (lack > 0).astype(np.float64))


@dataclass(frozen=True)
class HingeLoss:
    r"""Hinge loss :math:`\max(0, 1 - ys)`, its kink rounded over a short interval.

    Between margins 1 - width and 1 it is the parabola :math:`(1 - ys)^2 / (2\,width)`, so that
    Newton's method applies; it is at most width / 2 below the hinge.

    Parameters
    ----------
    width : float, default=0.1
        Length of the rounded interval of margins, positive.

    Examples
    --------
    >>> from skfair.losses import HingeLoss
    >>> HingeLoss()([0.0, 2.0], [1.0, 1.0]).value
    array([0.95, 0.  ])
    """

    width: float = 0.1

    def __post_init__(self):
        """Refuse what is not positive."""
        check_positive(width=self.width)

    def __call__(self, scores, target):
        """Evaluate at the scores.

        Parameters
        ----------
        scores, target : array-like of shape (n_samples,)
            Scores, and classes -1 or +1.

        Returns
        -------
        Pointwise
        """
        target = np.asarray(target)
        lack = np.maximum(0.0, 1.0 - target * scores)
        rounded = np.minimum(lack, self.width)
        value = rounded**2 / (2 * self.width) + (lack - rounded)
        bent = (lack > 0) & (lack < self.width)
        return Pointwise(value, -target * rounded / self.width, bent / self.width)


@dataclass(frozen=True)
class SquaredLoss:
    r"""Squared loss :math:`\tfrac12 (s - y)^2`.

    Examples
    --------
    >>> from skfair.losses import SquaredLoss
    >>> SquaredLoss()([1.0, 3.0], [0.0, 0.0]).value
    array([0.5, 4.5])
    """

    def __call__(self, scores, target):
        """Evaluate at the scores.

        Parameters
        ----------
        scores, target : array-like of shape (n_samples,)
            Scores, and targets: classes -1 or +1, or real numbers.

        Returns
        -------
        Pointwise
        """
        residual = np.asarray(scores) - target
        return Pointwise(residual**2 / 2, residual, np.ones_like(residual))


@dataclass(frozen=True)
class AbsoluteLoss:
    r"""Absolute loss :math:`|s - y|`, its kink rounded as by Huber.

    Parameters
    ----------
    width : float, default=0.1
        Positive; residuals below it in absolute value cost :math:`r^2 / (2\,width) + width / 2`.

    Examples
    --------
    >>> from skfair.losses import AbsoluteLoss
    >>> AbsoluteLoss()([2.0, 0.0], [0.0, 0.0]).value
    array([2.  , 0.05])
    """

    width: float = 0.1

    def __post_init__(self):
        """Refuse what is not positive."""
        check_positive(width=self.width)

    def __call__(self, scores, target):
        """Evaluate at the scores.

        Parameters
        ----------
        scores, target : array-like of shape (n_samples,)
            Scores, and targets: classes -1 or +1, or real numbers.

        Returns
        -------
        Pointwise
        """
        residual = np.asarray(scores) - target
        size, inside = np.abs(residual), np.abs(residual) < self.width
        rounded = residual**2 / (2 * self.width) + self.width / 2
        return Pointwise(
            np.where(inside, rounded, size),
            np.clip(residual / self.width, -1.0, 1.0),
            inside / self.width,
        )


LOSSES = {
    "logistic": LogisticLoss(),
    "hinge": HingeLoss(),
    "squared_hinge": SquaredHingeLoss(),
    "squared": SquaredLoss(),
    "absolute": AbsoluteLoss(),
}
"""Losses by name."""
