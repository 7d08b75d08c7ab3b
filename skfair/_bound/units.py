"""Units of real targets: fits count from their mean in their standard deviation, users do not.

Constraints are bound here in units of a fit, from tolerances in those of the target.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from skfair.losses import (
    LogisticLoss,
    Pointwise,
    SignedError,
    as_pointwise,
    is_of_positive_numbers,
    pointwise_score,
    rescale_loss,
    step_function,
)
from skfair.metrics import METRICS
from skfair.surrogates import Sigmoid

if TYPE_CHECKING:
    from collections.abc import Callable

    from sklearn.base import BaseEstimator

    from skfair._groups import Samples
    from skfair._utils.api import Numbers
    from skfair.losses import TweedieLoss


class Unit(NamedTuple):
    """Units that numbers are in: the distance from a center, over a spread."""

    center: float = 0.0
    spread: float = 1.0

    def to_unit(self, values: Numbers) -> Numbers:
        """Values in these units."""
        return (values - self.center) / self.spread

    def from_unit(self, values: Numbers) -> Numbers:
        """Values in these units in the user's ones."""
        return self.center + self.spread * values

    @property
    def target_unit(self) -> Unit:
        """Units of the target, where those of scores are others."""
        return self

    @property
    def rule_unit(self) -> Unit:
        """Units in which a rule is linear."""
        return self


USER_UNIT = Unit()
"""Units of classes, and of real targets as they are."""


class LogOdds(Unit):
    """Units of a classifier's scores that are log-odds: users see their probabilities."""


class DecisionFunction(Unit):
    """Units of a classifier's scores of which no probabilities follow."""


class LogScale(Unit):
    """Units of scores that are logarithms of predictions over the spread of the target."""

    def to_unit(self, values: Numbers) -> Numbers:
        """Logarithms of predictions."""
        return np.log(np.maximum(values, np.finfo(float).tiny) / self.spread)

    def from_unit(self, values: Numbers) -> Numbers:
        """Predictions of which values are logarithms."""
        return self.spread * _bounded_exponential(values)

    @property
    def target_unit(self) -> Unit:
        """Units of the target, which has no logarithm at 0."""
        return Unit(0.0, self.spread)

    @property
    def rule_unit(self) -> Unit:
        """Units in which a rule is linear: those of logarithms of predictions as they are."""
        return Unit(float(np.log(self.spread)), 1.0)


MAX_EXPONENT = 300.0
"""Largest size of a logarithm: squares of its exponential are finite."""


def _bounded_exponential(values: Numbers) -> Numbers:
    """Exponential that is positive and finite."""
    return np.exp(np.clip(values, -MAX_EXPONENT, MAX_EXPONENT))


PROBABILITY = Sigmoid()
"""The probability of the positive class, of log-odds."""


class OfExponential(NamedTuple):
    """A function of predictions and targets, of the logarithms of predictions."""

    function: Any

    @property
    def size(self) -> float:
        """Size that values are divided by."""
        return getattr(self.function, "size", 1.0)

    def __call__(self, scores: np.ndarray, *target: np.ndarray) -> Pointwise:
        """Value, slope and curvature, as `Pointwise`."""
        predictions = _bounded_exponential(np.asarray(scores))
        value, slope, curvature = self.function(predictions, *target)
        # The chain rule: the exponential is its own derivative.
        slope = slope * predictions
        return Pointwise(value, slope, curvature * predictions**2 + slope)


MEANS_OF_PREDICTIONS = (
    *(pointwise_score, PROBABILITY, OfExponential(pointwise_score)),
    *(SignedError(), OfExponential(SignedError())),
)
"""Terms whose means are those of predictions, also less a constant, and not of losses."""


class ConvertedTerm(NamedTuple):
    """A function of scores and targets in the user's units, of such in those of a fit.

    Its values are divided by their size.
    """

    function: Any
    unit: Unit
    size: float = 1.0

    def __call__(self, scores: np.ndarray, *target: np.ndarray) -> Pointwise:
        """Value, slope and curvature, as `Pointwise`."""
        columns = map(self.unit.from_unit, (np.asarray(scores), *target))
        values = as_pointwise(self.function(*columns), len(scores), "A term of a constraint")
        factors = self.unit.spread ** np.arange(3) / self.size
        return Pointwise._make(one * factor for one, factor in zip(values, factors, strict=True))


def compares_predictions(constraint: BaseEstimator) -> bool:
    """Whether the public metric averages predictions: of a classifier its probabilities."""
    kind = getattr(METRICS.get(constraint.metric), "kind", None)
    exact = constraint.terms(step_function, LogisticLoss())
    return kind == "score" and exact == (pointwise_score,)


def make_terms(
    constraint: BaseEstimator,
    surrogate: Sigmoid | Callable | None,
    loss: BaseEstimator | Callable | None,
    samples: Samples | None,
    unit: Unit,
) -> tuple[tuple, tuple, Unit]:
    """Smooth and exact terms for scores in units of a fit, and the unit of rates in the user's.

    Terms of one's own are functions of scores and targets in the user's units.
    """
    if isinstance(unit, LogScale):
        # Of logarithms everything is as of predictions.
        smooth, exact, of_rates = make_terms(constraint, surrogate, loss, samples, unit.target_unit)
        return tuple(map(OfExponential, smooth)), tuple(map(OfExponential, exact)), of_rates
    if isinstance(unit, LogOdds | DecisionFunction) and compares_predictions(constraint):
        terms = (PROBABILITY if isinstance(unit, LogOdds) else pointwise_score,)
        return terms, terms, unit
    if unit == USER_UNIT:
        return constraint.terms(surrogate, loss), constraint.terms(step_function, loss), USER_UNIT
    # A surrogate has the width of its transition in units of the fit.
    converted = ConvertedTerm(surrogate, Unit(0.0, 1.0 / unit.spread))
    smooth = constraint.terms(converted, loss)
    exact = constraint.terms(step_function, loss)
    smooth = tuple(rescale_loss(term, unit.spread) for term in smooth)
    # Means and errors are linear or homogeneous, and need not be computed in another unit.
    is_mean = exact == (pointwise_score,)
    gap = constraint.gap
    if not exact or (is_mean and not gap.is_ratio and gap.compares != "bound"):
        return smooth, exact, unit
    degrees = [getattr(term, "degree", None) for term in exact]
    if not is_mean and len(exact) == 1 and degrees[0]:
        return smooth, exact, Unit(0.0, unit.spread ** degrees[0])
    # Sizes are those at constant and at exact predictions.
    sizes = [_find_size(term, samples, unit) for term in exact]  # type: ignore[arg-type]
    smooth, exact = (
        tuple(ConvertedTerm(term, unit, size) for term, size in zip(terms, sizes, strict=True))
        for terms in (smooth, exact)
    )
    return smooth, exact, Unit(0.0, float(np.divide(*sizes)) if len(sizes) == 2 else sizes[0])  # type: ignore[call-overload]


def loss_in_unit(loss: BaseEstimator | Callable, unit: Unit) -> tuple:
    """A loss of scores and targets in units of a fit, and one unit of it in the user's.

    A loss of one's own is a function of scores and targets in the user's units.
    """
    degree = getattr(loss, "degree", None)
    loss = rescale_loss(loss, unit.spread)
    is_converted = isinstance(loss, ConvertedTerm | OfExponential)
    if isinstance(unit, LogScale) and not is_converted:
        # Its size is that of half of a target.
        prediction = np.full(1, unit.spread)
        size = float(loss(prediction, 2.0 * prediction).value[0])
        return OfExponential(ConvertedTerm(loss, unit.target_unit, size)), size
    if is_converted or unit == USER_UNIT or degree:
        return loss, getattr(loss, "size", unit.spread ** (degree or 0))
    # Its size is that at the mean of the target, of targets one spread away.
    center = np.full(2, unit.center)
    away = unit.from_unit(np.array([-1.0, 1.0]))
    size = float(np.abs(as_pointwise(loss(center, away), 2, "The loss").value).mean()) or 1.0
    return ConvertedTerm(loss, unit, size), size


def _find_size(term: TweedieLoss | Callable, samples: Samples, unit: Unit) -> float:
    """The larger mean size of a term at the mean of the target and at the target itself; or 1."""
    target = unit.from_unit(samples.target)
    predictions = [np.full_like(target, unit.center), target]
    if is_of_positive_numbers(term):  # targets may be 0
        predictions = [np.full_like(target, np.average(target, weights=samples.weights))]
    sizes = [
        np.average(np.abs(term(scores, target).value), weights=samples.weights)
        for scores in predictions
    ]
    return float(max(sizes)) or 1.0
