"""Losses of scores, the objectives of training.

Those of `LOSSES` are functions of one score and its target. :class:`AUCLoss` compares pairs of
samples, so it depends on their order alone.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias

import numpy as np
from scipy.special import boxcox, expit
from sklearn.base import BaseEstimator, clone

from skfair._kernels import ABSOLUTE, HINGE, LOGISTIC, SCORE, SQUARED, SQUARED_HINGE, STEP
from skfair._utils.arrays import SortedScores, shares_up_to_rank, taper_length
from skfair._utils.parameters import (
    Array,
    OpenShare,
    Positive,
    Share,
    make_constructor,
    validate_params,
)
from skfair._utils.sklearn import Interval, StrOptions

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


__all__ = [
    "LOSSES",
    "AUCLoss",
    "AbsoluteLoss",
    "HingeLoss",
    "Pointwise",
    "QuantileLoss",
    "TweedieLoss",
]

# Losses of a score: value, slope and curvature per sample.
#
# Targets are -1 and +1 for two classes, or real numbers. Losses do not depend on X: models map
# slopes to gradients.


_BLOCK_SIZE = 1 << 16
"""Scores evaluated at a time, so that intermediate arrays stay in the cache."""


class Pointwise(NamedTuple):
    """A function of one score per sample, and its first two derivatives.

    Read more in the :ref:`guide <own_constraints>`.

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


Loss: TypeAlias = Callable[..., Pointwise]
"""A function of scores and targets: a `ScoreFunction`, or one of the user's."""


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

    _code: Any = None
    """Number by which kernels know the function, of this class alone and not of subclasses."""

    degree: int | None = None
    """Power of a factor of scores and targets by which the function changes; None if it does
    otherwise."""

    targets: tuple[str, ...] = ("classes", "numbers")
    """Targets for which a loss is: "classes", which are -1 and +1, real "numbers", or both; or
    "positive numbers", of which predictions are positive, too."""

    def __call__(self, scores: np.ndarray, *target: np.ndarray) -> Pointwise:
        """Value, slope and curvature at scores and, for losses, targets (-1 or +1, or real)."""
        for name, value in vars(self).items():
            if value is not None and not value > 0:
                raise ValueError(
                    f"{name} must be positive, but it is {value!r}; choose a larger one."
                )
        columns = [np.asarray(column) for column in (scores, *target)]
        if columns[0].size > _BLOCK_SIZE:  # intermediate arrays of blocks stay in the cache
            return _evaluate_in_blocks(self._evaluate, columns)
        return self._evaluate(*columns)

    _evaluate: Callable[..., Pointwise]
    """The method of a subclass: value, slope and curvature at arrays of scores, and of targets for
    losses."""


def _evaluate_in_blocks(evaluate: Loss, columns: list[np.ndarray]) -> Pointwise:
    """Evaluate a pointwise function block by block."""
    n_samples = columns[0].size
    if any(column.shape != (n_samples,) for column in columns):
        return evaluate(*columns)
    full = Pointwise._make(np.empty((3, n_samples)))
    for start in range(0, n_samples, _BLOCK_SIZE):
        block = slice(start, start + _BLOCK_SIZE)
        result = evaluate(*(column[block] for column in columns))
        if [np.shape(values) for values in result] != [full.value[block].shape] * 3:
            return evaluate(*columns)  # not pointwise: `as_pointwise` raises the error
        for all_values, values in zip(full, result, strict=True):
            all_values[block] = values
    return full


def kernel_kind_and_width(
    function: SignedError | BaseEstimator | Loss,
) -> tuple[int, float] | None:
    """Code and width by which kernels know a loss or surrogate; None for one of one's own."""
    if function is step_function:
        return STEP, 1.0
    code = vars(type(function)).get("_code")
    if code is None:
        return None
    # That of a sigmoid is its temperature, and a logistic loss has none.
    width = getattr(function, "temperature", getattr(function, "width", 1.0))
    width = _ABSOLUTE_WIDTH if width is None else width
    return (code, float(width)) if width > 0 else None


def as_pointwise(
    result: Pointwise | float | tuple[np.ndarray, ...], n_samples: int, of: str
) -> Pointwise:
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
    return Pointwise._make(result)


class LogisticLoss(ScoreFunction):
    r"""Logistic loss, that of logistic regression.

    It is :math:`\log(1 + e^{-ys})` for a class y of -1 or 1 and a score s.

    Examples
    --------
    >>> from skfair.losses import LogisticLoss
    >>> LogisticLoss()([0.0], [1.0]).slope
    array([-0.5])
    """

    _code = LOGISTIC
    targets = ("classes",)

    def _evaluate(self, scores: np.ndarray, target: np.ndarray) -> Pointwise:
        margins = target * scores
        # One exponential of a non-positive number serves all three.
        decay = np.exp(-np.abs(margins))
        value = np.log1p(decay) + np.maximum(0.0, -margins)
        # Probability of the other class.
        p_other = np.where(margins > 0, decay, 1.0) / (1.0 + decay)
        return Pointwise(value, -target * p_other, p_other * (1.0 - p_other))


class SquaredHingeLoss(ScoreFunction):
    r"""Squared hinge loss, as in scikit-learn's ``LinearSVC``.

    It is :math:`\tfrac12 \max(0, 1 - ys)^2` for a class y of -1 or 1 and a score s.

    Examples
    --------
    >>> from skfair.losses import SquaredHingeLoss
    >>> SquaredHingeLoss()([0.0, 2.0], [1.0, 1.0]).value
    array([0.5, 0. ])
    """

    _code = SQUARED_HINGE
    targets = ("classes",)
    width = 1.0  # as of the squared loss

    def _evaluate(self, scores: np.ndarray, target: np.ndarray) -> Pointwise:
        shortfall = np.maximum(0.0, 1.0 - target * scores)
        slope = -target * shortfall / self.width
        curvature = (shortfall > 0) / self.width
        return Pointwise(shortfall**2 / (2 * self.width), slope, curvature)


@make_constructor
class HingeLoss(ScoreFunction):
    r"""Hinge loss, that of support vector machines, rounded near margin 1.

    It is :math:`\max(0, 1 - ys)` except in a short interval. Between margins 1 - width and 1 it is
    the parabola :math:`(1 - ys)^2 / (2\,width)`, so that Newton's method applies; it is at most
    width / 2 below the hinge.

    Read more in the :ref:`guide <solvers>`.

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
    targets = ("classes",)

    width: Positive = 0.1

    def _evaluate(self, scores: np.ndarray, target: np.ndarray) -> Pointwise:
        shortfall = np.maximum(0.0, 1.0 - target * scores)
        # A parabola within a width of the margin, then a line of the same slope.
        rounded = np.minimum(shortfall, self.width)
        value = rounded**2 / (2 * self.width) + (shortfall - rounded)
        is_rounded = (shortfall > 0) & (shortfall < self.width)
        return Pointwise(value, -target * rounded / self.width, is_rounded / self.width)


class SquaredLoss(ScoreFunction):
    r"""Squared loss, that of least squares.

    It is :math:`\tfrac12 (s - y)^2`.

    Examples
    --------
    >>> from skfair.losses import SquaredLoss
    >>> SquaredLoss()([1.0, 3.0], [0.0, 0.0]).value
    array([0.5, 4.5])
    """

    _code = SQUARED
    degree = 2
    width = 1.0  # twice the factor of the square is one over it

    def _evaluate(self, scores: np.ndarray, target: np.ndarray) -> Pointwise:
        residual = scores - target
        slope = residual / self.width
        curvature = np.full_like(residual, 1.0 / self.width)
        return Pointwise(residual * slope / 2, slope, curvature)


_ABSOLUTE_WIDTH = 0.1
"""Residuals below it are rounded, unless another width is passed."""


@make_constructor
class AbsoluteLoss(ScoreFunction):
    r"""Absolute loss of regression, rounded near 0 as by Huber.

    It is :math:`|s - y|` except near 0.

    Read more in the :ref:`guide <fair_regression>`.

    Parameters
    ----------
    width : float or None, default=None
        Positive; residuals below it in absolute value cost :math:`r^2 / (2\,width) + width / 2`. It
        is in units of the target. None is .1 standard deviations of a regressor's target, else .1.

    Examples
    --------
    >>> from skfair.losses import AbsoluteLoss
    >>> AbsoluteLoss()([2.0, 0.0], [0.0, 0.0]).value
    array([2.  , 0.05])
    """

    _code = ABSOLUTE
    degree = 1
    targets = ("numbers",)

    width: Positive | None = None

    def _evaluate(self, scores: np.ndarray, target: np.ndarray) -> Pointwise:
        residual = scores - target
        width = self.width or _ABSOLUTE_WIDTH
        # Quadratic within the width; the constant makes both pieces meet.
        size = np.abs(residual)
        inside = np.abs(residual) < width
        rounded = residual**2 / (2 * width) + width / 2
        return Pointwise(
            np.where(inside, rounded, size), np.clip(residual / width, -1.0, 1.0), inside / width
        )


@make_constructor
class QuantileLoss(ScoreFunction):
    r"""Quantile loss of regression, also called pinball loss, rounded near 0.

    With the residual :math:`r = y - s` it is :math:`\max(q \, r, (q - 1) \, r)`, except near 0.
    The constant with the least mean loss is the quantile q of the target.

    Read more in the :ref:`guide <fair_regression>`.

    Parameters
    ----------
    quantile : float between 0 and 1, default=0.5
        The quantile q that predictions estimate. With .5 it is half the absolute loss.
    width : float or None, default=None
        Positive; residuals below it in absolute value are rounded as by `AbsoluteLoss`. It is in
        units of the target. None is .1 standard deviations of a regressor's target, else .1.

    Examples
    --------
    >>> from skfair.losses import QuantileLoss
    >>> QuantileLoss(0.9)([1.0, 3.0], [2.0, 2.0]).value
    array([0.9, 0.1])
    """

    degree = 1
    targets = ("numbers",)

    quantile: OpenShare = 0.5
    width: Positive | None = None

    def _evaluate(self, scores: np.ndarray, target: np.ndarray) -> Pointwise:
        validate_params(self)
        # Half the absolute loss, and a line.
        value, slope, curvature = AbsoluteLoss(self.width)(scores, target)
        tilt = 0.5 - self.quantile
        value = value / 2.0 + tilt * (scores - target)
        return Pointwise(value, slope / 2.0 + tilt, curvature / 2.0)


@make_constructor
class TweedieLoss(ScoreFunction):
    r"""Deviance of a Tweedie distribution: of Poisson, gamma, or between these.

    For a positive prediction s and the power p it is

    .. math::

        2 \left( \frac{y^{2 - p}}{(1 - p) (2 - p)} - \frac{y \, s^{1 - p}}{1 - p}
        + \frac{s^{2 - p}}{2 - p} \right),

    or the limit of that: :math:`2 (y \log (y / s) - y + s)` for p = 1 (Poisson), and
    :math:`2 (\log (s / y) + y / s - 1)` for p = 2 (gamma). Its mean is
    :func:`sklearn.metrics.mean_tweedie_deviance`. It is convex in the logarithm of s, so that a
    rule is linear on that scale.

    Read more in the :ref:`guide <fair_regression>`.

    Parameters
    ----------
    power : float between 1 and 2, default=1.0
        Power p of the mean that the variance is proportional to.

    Examples
    --------
    >>> from skfair.losses import TweedieLoss
    >>> TweedieLoss()([1.0, 3.0], [0.0, 3.0]).value
    array([2., 0.])
    """

    targets = ("positive numbers",)

    power: Annotated[float, Interval(Real, 1, 2, closed="both")] = 1.0

    def _evaluate(self, scores: np.ndarray, target: np.ndarray) -> Pointwise:
        validate_params(self)
        p = self.power
        is_possible = (target > 0.0) if p == 2.0 else (target >= 0.0)
        if not ((scores > 0.0).all() and is_possible.all()):
            raise ValueError(
                f"{self} needs positive predictions, and targets that are positive"
                f"{'' if p == 2.0 else ' or 0'}, but the smallest ones are {np.min(scores):g} and "
                f"{np.min(target):g}. Pass a regressor whose predictions are positive, such as "
                "PoissonRegressor, or another loss."
            )
        residual = scores - target
        factor = 2.0 * scores**-p
        curvature = factor * (1.0 - p * residual / scores)
        # The integral of the slope from the target on; a target of 0 needs no logarithm.
        positive = np.maximum(target, np.finfo(float).tiny)
        value = boxcox(scores, 2.0 - p) - boxcox(target, 2.0 - p)
        value -= target * (boxcox(scores, 1.0 - p) - boxcox(positive, 1.0 - p))
        return Pointwise(2.0 * value, factor * residual, curvature)


def rescale_loss(loss: Any, spread: float = 1.0) -> Loss:
    """The same loss of scores and targets over a spread, which absolute losses are rounded by."""
    if type(loss) not in (AbsoluteLoss, QuantileLoss):
        return loss
    width = _ABSOLUTE_WIDTH if loss.width is None else loss.width / spread
    return clone(loss).set_params(width=width)


LOSSES = {
    "logistic": LogisticLoss,
    "hinge": HingeLoss,
    "squared_hinge": SquaredHingeLoss,
    "squared": SquaredLoss,
    "absolute": AbsoluteLoss,
    "quantile": QuantileLoss,
    "tweedie": TweedieLoss,
}
"""Classes of losses by name."""

LossName = Annotated[str, StrOptions(LOSSES)]


def loss_targets(loss: BaseEstimator | str | Loss) -> tuple[str, ...]:
    """Targets for which a loss is, passed by name or itself; a callable may be for any."""
    loss = LOSSES[loss] if isinstance(loss, str) else loss
    return getattr(loss, "targets", ScoreFunction.targets)


def is_of_numbers(loss: ScoreFunction | str | Loss) -> bool:
    """Whether a loss, passed by name or itself, is for real targets, or for positive ones alone."""
    return not {"numbers", "positive numbers"}.isdisjoint(loss_targets(loss))


def is_of_positive_numbers(loss: Any) -> bool:
    """Whether a loss, passed by name or itself, is for positive predictions alone."""
    return loss_targets(loss) == ("positive numbers",)


def gives_log_odds(loss: BaseEstimator | str | Loss) -> bool:
    """Whether scores of the least loss, passed by name or itself, are log-odds."""
    return loss == "logistic" or type(loss) is LogisticLoss


def averaged_loss(loss: Any, is_smooth: bool = False) -> Loss:
    """The loss that constraints and metrics average, from one that fits minimise.

    Squares are in full, of which fits minimise halves, and absolute losses are rounded for solvers
    alone, which need smooth losses.
    """
    if type(loss) in (SquaredLoss, SquaredHingeLoss):
        loss = type(loss)()
        loss.width = 0.5  # the parabola is the square itself
    elif type(loss) in (AbsoluteLoss, QuantileLoss) and not is_smooth:
        loss = clone(loss).set_params(width=1e-100)  # the parabola rounds nothing
    return loss


# Losses of pairs of a positive and a negative: the area under the ROC curve, full or partial.


_ROUNDING_WIDTH = 0.1
"""Length over which the hinge is rounded."""

_HINGE_TERMS = {
    "squared_hinge": ((1.0, 1.0),),
    "hinge": ((1.0 / _ROUNDING_WIDTH, 1.0), (-1.0 / _ROUNDING_WIDTH, 1.0 - _ROUNDING_WIDTH)),
}
r"""Losses of a difference d as sums of :math:`factor \max(0, margin - d)^2 / 2`."""

_NON_HINGE_LOSSES = ("squared", "logistic")
"""Losses that are not such sums."""

_MAX_PAIRS = 1 << 20
"""Pairs whose logistic losses are in memory at a time."""


def is_pairwise(loss: BaseEstimator | Loss) -> bool:
    """Whether a loss compares samples; it then also takes their weights in the mean."""
    return getattr(loss, "compares_pairs", False)


@make_constructor
class AUCLoss(BaseEstimator):
    r"""Ranking loss: positives should score above negatives, for a large area under the ROC.

    It is a mean over pairs of a positive and a negative. With the loss :math:`\ell` of a difference
    of scores, and negatives [j] in descending order, it is ([1]_, (81) and (83))

    .. math::

        \frac{1}{n_+ (n_-^\beta - n_-^\alpha)} \sum_{i=1}^{n_+} \sum_{j=n_-^\alpha + 1}^{n_-^\beta}
        \ell(s_i^+ - s_{[j]}^-), \qquad n_-^\alpha = \alpha n_-, \; n_-^\beta = \beta n_-,

    the mean over positives and those negatives whose rank among the negatives, a false positive
    rate, is in an interval. As :math:`\ell` decreases, the sums over the first
    :math:`n_-^\beta` and over the first :math:`n_-^\alpha` are convex in the scores, and the loss
    is their difference; :class:`skfair.solvers.IDCA` linearises the second one. Both take
    :math:`O(n \log n)` by sorting, except for the logistic loss.

    It depends on the order of samples and has no threshold: adding a constant to all scores changes
    nothing. So it can be minimised under criteria on ranks, but not under those on decisions. If
    for any model the best negatives of an interval score above the average positive, equal scores
    are optimal.

    Read more in the :ref:`guide <fair_ranking>`.

    Parameters
    ----------
    interval : pair of floats, default=(0.0, 1.0)
        False positive rates :math:`(\alpha, \beta)` between which the area is taken. (0.0, 0.1) is
        the tenth of the negatives with the highest scores.
    loss : {"squared_hinge", "hinge", "squared", "logistic"}, default="squared_hinge"
        :math:`\ell(d) = \tfrac12 \max(0, 1 - d)^2`; :math:`\max(0, 1 - d)`, rounded as by
        :class:`HingeLoss`; :math:`\tfrac12 (1 - d)^2`, which increases beyond 1 and is therefore
        refused on a proper interval, where it is not a difference of convex functions unless scores
        are bounded; or :math:`\log(1 + e^{-d})`, whose time grows with the number of pairs.
    taper : float in [0, 1], default=0.1
        Length over which the weights of negatives decrease to 0 at the ends of the interval,
        relative to it, so that a swap of two ranks there changes the loss by little. 0 is (83),
        but with shares of negatives at the ends and not rounded up to whole ones. It is not
        differentiable there.

    References
    ----------
    .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
       percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026, Example D.2.

    Examples
    --------
    One of the two pairs has difference 2, the other -1:

    >>> import numpy as np
    >>> from skfair.losses import AUCLoss
    >>> scores, target, weights = np.array([0.0, 1.0, -2.0]), np.array([1, -1, -1]), np.ones(3) / 3
    >>> round(float(weights @ AUCLoss()(scores, target, weights).value), 6)
    1.0

    The half of the negatives with the higher scores is ranked wrongly:

    >>> worst = AUCLoss((0.0, 0.5), taper=0.0)
    >>> round(float(weights @ worst(scores, target, weights).value), 6)
    2.0
    """

    compares_pairs = True
    targets = ("classes",)

    interval: Array = (0.0, 1.0)
    loss: Annotated[str, StrOptions({*_HINGE_TERMS, *_NON_HINGE_LOSSES})] = "squared_hinge"
    taper: Share = 0.1

    def __call__(self, scores: np.ndarray, target: np.ndarray, weights: np.ndarray) -> Pointwise:
        r"""Losses of samples with classes -1 and +1 and weights in the mean, as `Pointwise`.

        Their mean is the loss of pairs, and likewise the derivatives: the loss of a pair is
        assigned to its negative. Curvatures are by single scores; by
        :math:`(a - b)^2 \le 2 a^2 + 2 b^2` they bound those of differences, and are never negative.
        A parameter that is out of range raises a ValueError.
        """
        convex, concave = self.parts(scores, target, weights)
        # The difference of two convex functions is not convex: negative curvatures are cut off.
        value, slope, curvature = (up - down for up, down in zip(convex, concave, strict=True))
        return Pointwise(value, slope, np.maximum(0.0, curvature))

    def parts(
        self, scores: np.ndarray, target: np.ndarray, weights: np.ndarray
    ) -> tuple[Pointwise, ...]:
        """Two functions, convex in the scores, whose difference is the loss.

        Parameters
        ----------
        scores, target, weights : ndarray of shape (n_samples,)
            As in `__call__`.

        Returns
        -------
        convex, concave : Pointwise
            Of the negatives up to the end of the interval, and up to its beginning.
        """
        begin, end = self._check_interval()
        # Negatives up to the end of the interval, less those up to its beginning.
        sides = _ClassScores(scores, target, weights)
        width = end - begin
        length = self.taper * width
        return tuple(sides.loss_up_to_rank(rank, length, self.loss, width) for rank in (end, begin))

    def majorant(self, scores: np.ndarray, target: np.ndarray, weights: np.ndarray) -> Loss:
        """A convex majorant of the loss, equal at the scores passed.

        Parameters
        ----------
        scores, target, weights : ndarray of shape (n_samples,)
            As in `__call__`.

        Returns
        -------
        loss : callable
            With the arguments of this loss.
        """
        _, concave = self.parts(scores, target, weights)
        return _Majorant(self, scores, concave)

    def _check_interval(self) -> list[float]:
        """Both ends of the interval, validated."""
        validate_params(self)
        interval = np.asarray(self.interval, dtype=float)
        if interval.shape != (2,) or not 0.0 <= interval[0] < interval[1] <= 1.0:
            raise ValueError(
                "interval must be a pair 0 <= alpha < beta <= 1 of false positive rates, such as "
                f"(0.0, 0.1); got {self.interval!r}."
            )
        if self.loss == "squared" and interval.tolist() != [0.0, 1.0]:
            raise ValueError(
                "loss='squared' increases for differences above 1, so that on an interval it is no "
                f"difference of convex functions; got interval={self.interval!r}. Use "
                "loss='squared_hinge', or interval=(0.0, 1.0)."
            )
        return interval.tolist()


@dataclass(eq=False)
class _Majorant:
    """An `AUCLoss` with its concave part replaced by the tangent."""

    loss: AUCLoss
    scores: np.ndarray
    subtracted: Pointwise

    compares_pairs = True

    def __call__(self, scores: np.ndarray, target: np.ndarray, weights: np.ndarray) -> Pointwise:
        convex, _ = self.loss.parts(scores, target, weights)
        value, slope, _ = self.subtracted
        line = value + slope * (scores - self.scores)
        return Pointwise(convex.value - line, convex.slope - slope, convex.curvature)


class _ClassScores:
    """Positives by ascending and negatives by descending score."""

    def __init__(self, scores: np.ndarray, target: np.ndarray, weights: np.ndarray) -> None:
        # Samples of weight 0 are left out, as in a mini-batch.
        positive = np.flatnonzero((target > 0) & (weights > 0))
        negative = np.flatnonzero((target <= 0) & (weights > 0))
        self.n_samples = len(scores)
        self.positives = positive[np.argsort(scores[positive], kind="stable")]
        self.negatives = negative[np.argsort(-scores[negative], kind="stable")]
        self.positive_scores = scores[self.positives]
        self.negative_scores = scores[self.negatives]
        self.weights = weights[self.positives].sum(), weights[self.negatives].sum()
        # Shares within the class; a class without samples has none.
        self.positive_shares, self.negative_shares = (
            weights[members] / max(weight, np.finfo(float).tiny)
            for members, weight in zip((self.positives, self.negatives), self.weights, strict=True)
        )

    def loss_up_to_rank(self, rank: float, length: float, loss: str, width: float) -> Pointwise:
        """The loss of all positives and the negatives up to a rank, as `Pointwise`."""
        derivatives = np.zeros((3, self.n_samples))
        length = taper_length(rank, length)
        if not (len(self.positives) and len(self.negatives)):  # possible in a mini-batch
            return Pointwise._make(derivatives)
        # Weights of the negatives, sums over pairs, and the mean per sample.
        counts = self._average_ties(shares_up_to_rank(self.negative_shares, rank, length)) / width
        positive_weight, negative_weight = self.weights
        charge, pull = self._pair_sums(loss, counts)
        derivatives[1:, self.positives] = pull / positive_weight
        derivatives[:, self.negatives] = charge * counts / self.negative_shares / negative_weight
        # Curvature of the weights at the end of the interval, where ranks may swap.
        tapering, spread = self._find_tapered_negatives(rank, length)
        if spread > 0.0:
            curvature = 2.0 * charge[1, tapering] / (width * spread * negative_weight)
            derivatives[2, self.negatives[tapering]] += curvature
        return Pointwise._make(derivatives)

    def _pair_sums(self, loss: str, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Loss, slope and 2 curvature (3, n_negatives) and slope and 2 curvature (2, n_positives).

        The first are means over the positives, the second sums over the weighted negatives.
        """
        if loss == "squared":
            return self._squared_sums(counts)
        if loss == "logistic":
            return self._logistic_sums(counts)
        positives = SortedScores(self.positive_scores, self.positive_shares)
        negatives = SortedScores(-self.negative_scores, counts)
        charge = np.zeros((3, len(self.negatives)))
        pull = np.zeros((2, len(self.positives)))
        # By one search of each side in the other: sums over the pairs closer than the margin.
        for factor, margin in _HINGE_TERMS[loss]:
            near, excess, square = positives.sums_below(self.negative_scores + margin)
            charge += factor * np.array([square, excess, 2.0 * near])
            near, excess, _ = negatives.sums_below(margin - self.positive_scores)
            pull += factor * np.array([-excess, 2.0 * near])
        return charge, pull

    def _squared_sums(self, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """`_pair_sums` of (1 - d)^2 / 2, from the mean and the variance of the positives."""
        mean = self.positive_shares @ self.positive_scores
        variance = self.positive_shares @ (self.positive_scores - mean) ** 2
        # The mean over positives of (1 - d)^2 is the squared mean plus the variance.
        short = 1.0 - mean + self.negative_scores
        charge = np.array([(short**2 + variance) / 2.0, short, np.full(len(short), 2.0)])
        total = counts.sum()
        slopes = -total * (1.0 - self.positive_scores) - counts @ self.negative_scores
        return charge, np.array([slopes, np.full(len(slopes), 2.0 * total)])

    def _logistic_sums(self, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """`_pair_sums` of log(1 + exp(-d)), in blocks of negatives with all positives."""
        charge = np.zeros((3, len(self.negatives)))
        pull = np.zeros((2, len(self.positives)))
        length = max(1, _MAX_PAIRS // len(self.positives))
        for start in range(0, np.count_nonzero(counts), length):
            # Only the first negatives have a weight.
            block = slice(start, start + length)
            differences = self.positive_scores[:, np.newaxis] - self.negative_scores[block]
            wrong = expit(-differences)
            curvature = 2.0 * wrong * (1.0 - wrong)
            terms = np.logaddexp(0.0, -differences), wrong, curvature
            charge[:, block] = [self.positive_shares @ term for term in terms]
            pull += [-wrong @ counts[block], curvature @ counts[block]]
        return charge, pull

    def _average_ties(self, counts: np.ndarray) -> np.ndarray:
        """Counts averaged over negatives of equal score, in proportion to their shares."""
        # The order of equal scores is arbitrary, so each of them has the same count per weight.
        _, ties = np.unique(self.negative_scores, return_inverse=True)
        tie_counts = np.bincount(ties, counts)
        shares = np.bincount(ties, self.negative_shares)
        return self.negative_shares * (tie_counts / shares)[ties]

    def _find_tapered_negatives(self, rank: float, length: float) -> tuple[slice, float]:
        """Negatives whose weights decrease around a rank, and the range of their scores.

        Swaps of ranks add curvature there: for evenly spread scores the slope of the weights.
        """
        # Each negative ranks at the middle of its weight.
        ranks = np.cumsum(self.negative_shares) - self.negative_shares / 2.0
        ends = np.searchsorted(ranks, [rank - length / 2.0, rank + length / 2.0])
        tapering = slice(*ends)
        return tapering, float(np.ptp(self.negative_scores[tapering])) if np.ptp(ends) else 0.0


# Rates: pointwise functions of scores and target whose means constraints compare.


SELECTION_RATE_TABLE = (1.0, 1.0, 0.0, 0.0)
"""Table of the selection rate: what a true positive, a false positive, a false negative and a true
negative count."""

ERROR_RATE_TABLE = (0.0, 1.0, 1.0, 0.0)
"""Table of the error rate."""


@dataclass(frozen=True)
class DecisionRate:
    """What a table of four numbers counts, with a surrogate in place of the decision."""

    table: tuple[float, ...]
    surrogate: Any

    def __call__(self, scores: np.ndarray, target: np.ndarray) -> Pointwise:
        if self.table == SELECTION_RATE_TABLE:
            return self.surrogate(scores)
        negative, step = self.count_decisions(target)
        value, slope, curvature = self.surrogate(scores)
        return Pointwise(negative + step * value, step * slope, step * curvature)

    def count_decisions(self, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What samples count if their decision is negative, and what a positive decision adds."""
        true_positive, false_positive, false_negative, true_negative = self.table
        is_positive = target > 0
        negative = np.where(is_positive, false_negative, true_negative)
        return negative, np.where(is_positive, true_positive, false_positive) - negative


def step_function(scores: ArrayLike) -> Pointwise:
    """The decision :math:`1[s > 0]` that metrics count; smooth rates have a surrogate of it.

    Examples
    --------
    >>> from skfair.losses import step_function
    >>> step_function([-1.0, 0.0, 2.0]).value
    array([0., 0., 1.])
    """
    value = (np.asarray(scores) > 0).astype(float)
    nothing = np.zeros(value.shape)
    return Pointwise(value, nothing, nothing)


def pointwise_score(scores: np.ndarray, target: np.ndarray) -> Pointwise:
    """The score of each sample."""
    return Pointwise(scores, np.ones_like(scores), np.zeros_like(scores))


@dataclass(frozen=True)
class SignedError:
    """The prediction less the truth of each sample."""

    degree = 1

    def __call__(self, scores: np.ndarray, target: np.ndarray) -> Pointwise:
        """Value, slope and curvature, as `Pointwise`."""
        return pointwise_score(scores - target, target)


@dataclass(frozen=True)
class CalibrationError:
    """Whether a sample is positive, less its predicted probability."""

    degree = 1

    def __call__(self, scores: np.ndarray, target: np.ndarray) -> Pointwise:
        """Value, slope and curvature, as `Pointwise`; scores are probabilities."""
        is_true = (np.asarray(target) > 0.0).astype(float)
        slope = np.full(len(is_true), -1.0)
        return Pointwise(is_true - scores, slope, np.zeros(len(is_true)))


def kernel_rate_kind(rate: Loss) -> tuple[int, float, bool] | None:
    """Code and width of a rate in kernels, and whether it is of errors; None if they have none."""
    if rate is pointwise_score:
        return SCORE, 1.0, False
    table = getattr(rate, "table", None)
    surrogate = getattr(rate, "surrogate", None)
    if table is None:
        code = kernel_kind_and_width(rate)
    else:
        code = (
            kernel_kind_and_width(surrogate)
            if table in (SELECTION_RATE_TABLE, ERROR_RATE_TABLE)
            else None
        )
    return None if code is None else (*code, table == ERROR_RATE_TABLE)


OBJECTIVES = ChainMap(LOSSES, {"auc": AUCLoss})
"""Classes of objectives by name: the entries of `LOSSES`, and the loss on pairs."""
