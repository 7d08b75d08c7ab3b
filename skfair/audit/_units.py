"""Units of a certificate: what a gap is measured in, and what that is in units of the fit."""

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
from skfair.utils._messages import look_up_name

RATE = "percentage points"
"""Unit of rates; certificates show them as fractions too."""

_NUMBER_LOSSES = ("squared", "absolute")


def resolve_units(estimator, constraint, loss):
    """The constraint with the loss that it compares, and the units of its gap.

    Parameters
    ----------
    estimator : estimator
        Fitted classifier or regressor.
    constraint : Constraint
        What is to be measured; it applies to the estimator.
    loss : str, callable or None
        Loss to compare; None takes that of the constraint or of the fit.

    Returns
    -------
    constraint : Constraint
    unit : str
        What 1 is, in words.
    fit_unit : float or None
        What 1 in units of the fit is in this unit; None where the fit has no units of its own.

    Raises
    ------
    ValueError
        If the loss of a regressor is not known, or one is passed that is not used.
    """
    model, of_numbers = _innermost(estimator), is_regressor(estimator)
    scale = getattr(model, "target_scale_", None) if of_numbers else None
    if constraint.unit == "loss":
        loss = _one_loss(constraint, loss)
        resolved = _number_loss(model, loss, scale) if of_numbers else _class_loss(model, loss)
        loss, *units = resolved
        return clone(constraint).set_params(loss=loss), *units
    if loss is not None:
        raise ValueError(
            f"loss={loss!r} is for constraints on mean losses, such as 'loss_parity', but "
            f"{constraint} compares none; leave it out."
        )
    if constraint.unit == "score":
        return constraint, *_score_units(estimator, scale, of_numbers)
    return constraint, _share_unit(constraint), None


def _share_unit(constraint):
    """Unit of areas and rates, which for partial criteria may be shares of the interval."""
    if constraint.unit == "area":
        return "units of the area under the ROC curve"
    inside = getattr(constraint, "scale", None) == "normalized"
    return f"{RATE} of those ranked in the interval" if inside else RATE


def _score_units(estimator, scale, of_numbers):
    if of_numbers:
        return "units of the target", scale
    if hasattr(estimator, "predict_proba"):
        return "units of the predicted probability", None
    return "units of the decision function", None


def _innermost(estimator):
    """The model at the end of pipelines and searches."""
    while True:
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif hasattr(estimator, "steps"):
            estimator = estimator.steps[-1][1]
        else:
            return estimator


def _one_loss(constraint, loss):
    """The loss that was passed, on the constraint or beside it."""
    if loss is not None and constraint.loss is not None:
        raise ValueError(
            f"{constraint} has a loss of its own, but loss={loss!r} was passed too; pass one of "
            "them."
        )
    return constraint.loss if loss is None else loss


def _class_loss(model, loss):
    """Loss of the decision function: the one passed, else that of a fit of this package."""
    if loss is None and hasattr(model, "constraint_report_"):
        own = look_up_name(OBJECTIVES, getattr(model, "loss", "logistic"), "loss")
        loss = None if over_pairs(own) else own  # a loss of pairs is none of single samples
    loss = LogisticLoss() if loss is None else look_up_name(LOSSES, loss, "loss")
    return loss, f"units of {_called(loss)} of the decision function", None


def _called(loss):
    return getattr(loss, "__name__", type(loss).__name__)


def _number_loss(model, loss, scale):
    """Loss of predicted numbers, its unit, and what its unit in the fit is."""
    if loss is None and scale is not None:
        loss = model.loss
    if loss is None:
        raise ValueError(
            f"Mean losses are to be compared, but which loss of {type(model).__name__} is not "
            "known. Pass loss='squared' (half the squared error), loss='absolute', or a callable "
            "(predictions, target) -> skfair.losses.Pointwise."
        )
    if isinstance(loss, str) and loss not in _NUMBER_LOSSES:
        raise ValueError(
            f"Of predicted numbers loss must be one of {list(_NUMBER_LOSSES)} or a callable; got "
            f"{loss!r}, which is a loss of classes or no loss at all."
        )
    if scale is None:
        chosen = {"squared": SquaredLoss(), "absolute": _absolute_error}.get(loss, loss)
        return chosen, _loss_unit(loss, "units of the loss"), None
    own = look_up_name(LOSSES, loss, "loss")
    # Losses of the fit are those of target and predictions over the target's spread.
    if isinstance(own, SquaredLoss):
        factor, name = scale**2, "squared"
    elif isinstance(own, AbsoluteLoss):
        factor, name = scale, "absolute"
    else:
        factor, name = 1.0, None
    unit = _loss_unit(name, "units of the loss over the target's standard deviation in the fit")
    return _rescaled(own, scale, factor), unit, factor


def _loss_unit(name, otherwise):
    return {
        "squared": "units of the squared loss, half the squared error",
        "absolute": "units of the target, as the absolute loss is",
    }.get(name if isinstance(name, str) else None, otherwise)


def _absolute_error(scores, target):
    """The absolute loss with its kink, for models whose fit rounded none."""
    residual = scores - target
    return Pointwise(np.abs(residual), np.sign(residual), np.zeros_like(residual))


def _rescaled(loss, scale, factor):
    """The loss of numbers over a scale, times a factor, as a loss of these numbers themselves."""

    def of_numbers(scores, target):
        found = as_pointwise(loss(scores / scale, target / scale), len(scores), "The loss")
        value, slope, curvature = found
        return Pointwise(factor * value, factor / scale * slope, factor / scale**2 * curvature)

    return of_numbers
