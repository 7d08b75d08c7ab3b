r"""Losses of a score: value, slope and curvature per sample.

Targets are -1 and +1 for two classes, or real numbers. Losses do not depend on X: models map slopes
to gradients.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from skfair._kernels.codes import ABSOLUTE, HINGE, LOGISTIC, SQUARED, SQUARED_HINGE

_BLOCK = 1 << 16
"""Scores evaluated at a time, so that intermediate arrays stay in the cache."""


class Pointwise(NamedTuple):
    """A function of one score per sample, and its first two derivatives.

    Attributes
    ----------
    value : ndarray of shape (n_samples,)
        The function.
    slope : ndarray of shape (n_samples,)
        Its derivative by the score.
    curvature : ndarray of shape (n_samples,)
        Its second derivative, defined almost everywhere for a piecewise function.

    Examples
    --------
    >>> from skfair.losses import SquaredLoss
    >>> SquaredLoss()([1.0, 3.0], [0.0, 0.0]).slope
    array([1., 3.])
    """

    value: np.ndarray
    slope: np.ndarray
    curvature: np.ndarray


class ScoreFunction(BaseEstimator):
    """A function of one score per sample, with its first two derivatives: a loss or a surrogate.

    One of one's own has one method, ``_evaluate``, which takes and returns arrays. Parameters of
    its constructor are positive numbers, such as the width of a corner; searches can vary them, as
    in ``{"loss__width": [0.1, 0.5]}``.

    Examples
    --------
    A loss of one's own:

    >>> import numpy as np
    >>> from skfair.losses import Pointwise, ScoreFunction
    >>> class ExponentialLoss(ScoreFunction):
    ...     def _evaluate(self, scores, target):
    ...         decay = np.exp(-target * scores)
    ...         return Pointwise(decay, -target * decay, decay)
    >>> ExponentialLoss()([0.0], [1.0]).slope
    array([-1.])
    """

    _uses_blocks = True
    """Whether evaluation needs intermediate arrays, so that blocks of scores are faster."""

    _code: Any = None
    """Number by which kernels know the function, of this class alone and not of subclasses."""

    def __call__(self, scores: np.ndarray, *target: np.ndarray) -> Pointwise:
        """Value, slope and curvature at scores and, for losses, targets (-1 or +1, or real)."""
        for name, value in vars(self).items():
            if not value > 0:
                raise ValueError(
                    f"{name} must be positive, but it is {value!r}; choose a larger one."
                )
        columns = [np.asarray(column) for column in (scores, *target)]
        if self._uses_blocks and columns[0].size > _BLOCK:
            return _evaluate_in_blocks(self._evaluate, columns)
        return self._evaluate(*columns)

    @abstractmethod
    def _evaluate(self, scores, *target):
        """Value, slope and curvature at arrays of scores and, for losses, targets."""


def _evaluate_in_blocks(evaluate, columns):
    """Evaluate a pointwise function block by block."""
    n_samples = columns[0].size
    if any(column.shape != (n_samples,) for column in columns):
        return evaluate(*columns)
    full = Pointwise(*np.empty((3, n_samples)))
    for start in range(0, n_samples, _BLOCK):
        block = slice(start, start + _BLOCK)
        result = evaluate(*(column[block] for column in columns))
        if [np.shape(values) for values in result] != [full.value[block].shape] * 3:
            return evaluate(*columns)  # not pointwise: `as_pointwise` raises the error
        for all_values, values in zip(full, result, strict=True):
            all_values[block] = values
    return full


def kernel_code(function):
    """Code and width by which kernels know a loss or surrogate; None for one of one's own."""
    code = vars(type(function)).get("_code")
    if code is None:
        return None
    width = next(iter(vars(function).values()), 1.0)
    return (code, float(width)) if width > 0 else None


def as_pointwise(result, n_samples, of):
    """The result of a function of scores, named ``of``, as a `Pointwise`, if it has its shape."""
    requirement = (
        f"{of} must return one value, slope and curvature per sample, as in "
        "skfair.losses.Pointwise(value, slope, curvature)"
    )
    if not isinstance(result, tuple) or len(result) != 3:
        raise ValueError(
            f"{requirement}, but it returned an object of type {type(result).__name__}."
        )
    if np.shape(result[0]) != (n_samples,):
        raise ValueError(
            f"{requirement}, but for {n_samples} samples it returned values of shape "
            f"{np.shape(result[0])}; do not average them."
        )
    return Pointwise(*result)


class LogisticLoss(ScoreFunction):
    r"""Logistic loss :math:`\log(1 + e^{-ys})`.

    Examples
    --------
    >>> from skfair.losses import LogisticLoss
    >>> LogisticLoss()([0.0], [1.0]).slope
    array([-0.5])
    """

    _code = LOGISTIC

    def _evaluate(self, scores, target):
        margins = target * scores
        # One exponential of a non-positive number serves all three.
        decay = np.exp(-np.abs(margins))
        value = np.log1p(decay) + np.maximum(0.0, -margins)
        # Probability of the other class.
        p_other = np.where(margins > 0, decay, 1.0) / (1.0 + decay)
        return Pointwise(value, -target * p_other, p_other * (1.0 - p_other))


class SquaredHingeLoss(ScoreFunction):
    r"""Squared hinge loss :math:`\tfrac12 \max(0, 1 - ys)^2`.

    Examples
    --------
    >>> from skfair.losses import SquaredHingeLoss
    >>> SquaredHingeLoss()([0.0, 2.0], [1.0, 1.0]).value
    array([0.5, 0. ])
    """

    _code = SQUARED_HINGE

    def _evaluate(self, scores, target):
        shortfall = np.maximum(0.0, 1.0 - target * scores)
        return Pointwise(shortfall**2 / 2, -target * shortfall, (shortfall > 0).astype(np.float64))


class HingeLoss(ScoreFunction):
    r"""Hinge loss :math:`\max(0, 1 - ys)`, rounded near margin 1 over a short interval.

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

    _code = HINGE

    def __init__(self, width: float = 0.1):
        self.width = width

    def _evaluate(self, scores, target):
        shortfall = np.maximum(0.0, 1.0 - target * scores)
        # A parabola within a width of the margin, then a line of the same slope.
        rounded = np.minimum(shortfall, self.width)
        value = rounded**2 / (2 * self.width) + (shortfall - rounded)
        is_rounded = (shortfall > 0) & (shortfall < self.width)
        return Pointwise(value, -target * rounded / self.width, is_rounded / self.width)


class SquaredLoss(ScoreFunction):
    r"""Squared loss :math:`\tfrac12 (s - y)^2`.

    Examples
    --------
    >>> from skfair.losses import SquaredLoss
    >>> SquaredLoss()([1.0, 3.0], [0.0, 0.0]).value
    array([0.5, 4.5])
    """

    _code = SQUARED

    def _evaluate(self, scores, target):
        residual = scores - target
        return Pointwise(residual**2 / 2, residual, np.ones_like(residual))


class AbsoluteLoss(ScoreFunction):
    r"""Absolute loss :math:`|s - y|`, rounded near 0 as by Huber.

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

    _code = ABSOLUTE

    def __init__(self, width: float = 0.1):
        self.width = width

    def _evaluate(self, scores, target):
        residual = scores - target
        # Quadratic within the width; the constant makes both pieces meet.
        size, inside = np.abs(residual), np.abs(residual) < self.width
        rounded = residual**2 / (2 * self.width) + self.width / 2
        return Pointwise(
            np.where(inside, rounded, size),
            np.clip(residual / self.width, -1.0, 1.0),
            inside / self.width,
        )


LOSSES = {
    "logistic": LogisticLoss,
    "hinge": HingeLoss,
    "squared_hinge": SquaredHingeLoss,
    "squared": SquaredLoss,
    "absolute": AbsoluteLoss,
}
"""Classes of losses by name."""
