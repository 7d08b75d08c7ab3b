"""Units of a certificate: that of the gap, and its size in units of the fit."""

import numpy as np
from sklearn.base import clone, is_regressor

from skfair.losses import (
    LOSSES,
    OBJECTIVES,
    AbsoluteLoss,
    LogisticLoss,
    Pointwise,
    SquaredLoss,
    as_pointwise,
    over_pairs,
)
from skfair.utils._messages import resolve_name

RATE = "percentage points"
"""Unit of rates; certificates show them as fractions too."""

RATIO = "ratio"
"""Unit of 1 minus a ratio; certificates show the ratio."""

PROBABILITY = "units of the predicted probability"
"""Unit of the mean scores of a classifier with probabilities."""

_NUMBER_LOSSES = ("squared", "absolute")


def resolve_units(estimator, constraint, loss):
    """The constraint with the loss to compare, the unit of its gap, and one fit unit in it.

    `loss` is the one passed to `certify`; None takes that of the constraint or of the fit. The last
    is None where the fit has no units of its own. An unknown loss of a regressor, and one that is
    not used, are a ValueError.
    """
    model, is_real = _final_estimator(estimator), is_regressor(estimator)
    scale = getattr(model, "target_scale_", None) if is_real else None
    # Mean losses: resolve the loss and its unit.
    if constraint.unit == "loss":
        loss = _requested_loss(constraint, loss)
        if is_real:
            loss, *units = _prediction_loss(model, loss, scale)
        else:
            loss, *units = _decision_function_loss(model, loss)
        return clone(constraint).set_params(loss=loss), *units
    if loss is not None:
        raise ValueError(
            f"loss={loss!r} is for constraints on mean losses, such as 'loss_parity', but "
            f"{constraint} compares none; leave it out."
        )
    # Scores and rates have no loss.
    if constraint.unit == "score":
        return constraint, *_score_units(estimator, scale, is_real)
    return constraint, _share_unit(constraint), None


def _share_unit(constraint):
    """Unit of areas, ratios and rates, which for partial criteria may be shares of the interval."""
    if constraint.unit == "area":
        return "units of the area under the ROC curve"
    if constraint.ratio is not None:
        return RATIO
    inside = getattr(constraint, "scale", None) == "normalized"
    return f"{RATE} of those ranked in the interval" if inside else RATE


def _score_units(estimator, scale, is_real):
    """Unit of scores or predictions, and one unit of the fit in it."""
    if is_real:
        return "units of the target", scale
    if hasattr(estimator, "predict_proba"):
        return PROBABILITY, None
    return "units of the decision function", None


def _final_estimator(estimator):
    """The final estimator of pipelines and searches."""
    while True:
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif hasattr(estimator, "steps"):
            estimator = estimator.steps[-1][1]
        else:
            return estimator


def _requested_loss(constraint, loss):
    """The loss that was passed to the constraint or to `certify`; not to both."""
    if loss is not None and constraint.loss is not None:
        raise ValueError(
            f"{constraint} has a loss of its own, but loss={loss!r} was passed too; pass one of "
            "them."
        )
    return constraint.loss if loss is None else loss


def _decision_function_loss(model, loss):
    """Loss of the decision function: the one passed, else that of a fit of this package."""
    if loss is None and hasattr(model, "constraint_report_"):
        fitted = resolve_name(OBJECTIVES, getattr(model, "loss", "logistic"), "loss")
        loss = None if over_pairs(fitted) else fitted  # a loss of pairs has no value per sample
    loss = LogisticLoss() if loss is None else resolve_name(LOSSES, loss, "loss")
    return loss, f"units of {_loss_name(loss)} of the decision function", None


def _loss_name(loss):
    return getattr(loss, "__name__", type(loss).__name__)


def _prediction_loss(model, loss, scale):
    """Loss of predicted numbers, its unit, and one unit of the loss of the fit in it."""
    if loss is None and scale is not None:
        loss = model.loss
    if loss is None:
        raise ValueError(
            "Mean losses must have a loss to compare, but that of "
            f"{type(model).__name__} is not known. Pass loss='squared' (half the "
            "squared error), loss='absolute', or a callable (predictions, target) -> "
            "skfair.losses.Pointwise."
        )
    if isinstance(loss, str) and loss not in _NUMBER_LOSSES:
        raise ValueError(
            f"For predicted numbers loss must be one of {list(_NUMBER_LOSSES)} or a callable; got "
            f"{loss!r}, which is a loss of classes or no loss at all."
        )
    if scale is None:
        chosen = {"squared": SquaredLoss(), "absolute": _absolute_error}.get(loss, loss)
        return chosen, _loss_unit(loss, "units of the loss"), None
    fitted = resolve_name(LOSSES, loss, "loss")
    # The fit divides target and predictions by the target's standard deviation.
    if isinstance(fitted, SquaredLoss):
        factor, name = scale**2, "squared"
    elif isinstance(fitted, AbsoluteLoss):
        factor, name = scale, "absolute"
    else:
        factor, name = 1.0, None
    unit = _loss_unit(name, "units of the loss over the target's standard deviation in the fit")
    return _rescale_loss(fitted, scale, factor), unit, factor


def _loss_unit(name, otherwise):
    """Unit of a loss of predicted numbers, in words."""
    return {
        "squared": "units of the squared loss, half the squared error",
        "absolute": "units of the target, as the absolute loss is",
    }.get(name if isinstance(name, str) else None, otherwise)


def _absolute_error(scores, target):
    """The absolute loss, not smoothed at 0 as that of a fit is."""
    residual = scores - target
    return Pointwise(np.abs(residual), np.sign(residual), np.zeros_like(residual))


def _rescale_loss(loss, scale, factor):
    """``factor * loss(scores / scale, target / scale)``, with derivatives, as a loss."""

    def evaluate(scores, target):
        scaled = loss(scores / scale, target / scale)
        value, slope, curvature = as_pointwise(scaled, len(scores), "The loss")
        return Pointwise(factor * value, factor / scale * slope, factor / scale**2 * curvature)

    return evaluate
