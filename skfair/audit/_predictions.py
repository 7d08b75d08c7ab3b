"""Predictions as targets and scores that constraints can be bound to, and the units of gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from skfair._bound.units import compares_predictions
from skfair._groups import Groups
from skfair._groups.samples import check_alignment, samples_without_target
from skfair._statistics.hidden_groups import MIN_RECORDED, HiddenGroups, extreme_contrasts
from skfair._utils.checks import argument_error, check_model, resolve_name, warn
from skfair._utils.copies import warn_of_clustered_samples
from skfair.constraints import (
    applicable_constraint_names,
    check_applies_to_numbers,
    check_task,
    find_constraints,
)
from skfair.constraints._held_out import bind_decisions, metric_kind, outcome_use, target_and_scores
from skfair.losses import (
    LOSSES,
    OBJECTIVES,
    LogisticLoss,
    is_of_numbers,
    is_pairwise,
    pointwise_score,
    step_function,
)
from skfair.metrics import find_positive
from skfair.metrics._group_metrics import to_numbers
from skfair.metrics._rates import RATES, refuse_sets_metric
from skfair.metrics._scoring import ARGUMENTS_BY_METRIC_KIND

if TYPE_CHECKING:
    from scipy import sparse
    from sklearn.base import BaseEstimator

    from skfair._bound.bound import BoundConstraint, Sums
    from skfair._statistics.estimates import Estimates
    from skfair._utils.api import Label
    from skfair._utils.tables import TableLike
    from skfair.constraints import Constraint
    from skfair.losses import TweedieLoss


# Units of a gap.


RATE_UNIT = "percentage points"
"""Unit of rates, which are stored as fractions."""

RATIO_UNIT = "ratio"
"""Unit of a ratio."""

PROBABILITY_UNIT = "units of the predicted probability"
"""Unit of the mean scores of a classifier with probabilities."""

_UNITS_BY_DEGREE = {1: "units of the target", 2: "squared units of the target"}
"""Units of losses of predicted numbers, by their degree."""


def resolve_loss_and_unit(
    constraint: Constraint,
    model: BaseEstimator | None = None,
    *,
    is_real: bool = False,
    has_probabilities: bool = False,
) -> tuple[Constraint, str]:
    """The constraint with the loss to compare, and the unit of its gap.

    A constraint without a loss takes that of the fitted `model`. `is_real` says that numbers are
    predicted. An unknown loss of numbers is a ValueError.
    """
    # Mean losses: resolve the loss and its unit.
    if constraint.unit == "loss":
        if "loss" not in constraint.get_params():
            raise ValueError(
                f"{constraint} is about mean losses, but has no parameter loss to compare them by; "
                "derive it from LossParity, or declare another unit than 'loss'."
            )
        find = _prediction_loss if is_real else _decision_function_loss
        loss, unit = find(model, constraint.loss)
        resolved = clone(constraint).set_params(loss=loss)
        return resolved, RATIO_UNIT if constraint.gap.is_ratio else unit
    # Scores and rates have no loss.
    if constraint.unit == "attention" and not constraint.gap.is_ratio:
        return constraint, "units of attention"
    if constraint.unit != "score" or constraint.gap.is_ratio:
        return constraint, _rate_unit(constraint)
    is_error = constraint.rate_name == "mean_error"
    if constraint.terms(step_function, LogisticLoss()) != (pointwise_score,) and not is_error:
        return constraint, "units of what is averaged"
    if is_real:
        return constraint, "units of the target"
    if has_probabilities and compares_predictions(constraint):
        return constraint, PROBABILITY_UNIT
    return constraint, "units of the decision function"


def _rate_unit(constraint: Constraint) -> str:
    """Unit of areas, ratios and rates, which for partial criteria may be shares of the interval."""
    if constraint.unit == "area":
        return "units of the area under the ROC curve"
    if constraint.gap.is_ratio:
        return RATIO_UNIT
    inside = getattr(constraint, "scale", None) == "normalized"
    return f"{RATE_UNIT} of those ranked in the interval" if inside else RATE_UNIT


def final_estimator(estimator: BaseEstimator) -> BaseEstimator:
    """Return the innermost estimator of nested pipelines and searches."""
    while True:
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif hasattr(estimator, "steps"):
            estimator = estimator.steps[-1][1]
        else:
            return estimator


def _decision_function_loss(model, loss):
    """Loss of the decision function: the one passed, else that of a fit of this package."""
    if loss is None and hasattr(model, "constraint_report_"):
        fitted = resolve_name(OBJECTIVES, getattr(model, "loss", "logistic"), "loss")
        loss = None if is_pairwise(fitted) else fitted  # a loss of pairs has no value per sample
    loss = LogisticLoss() if loss is None else resolve_name(LOSSES, loss, "loss")
    name = getattr(loss, "__name__", type(loss).__name__)
    return loss, f"units of {name} of the decision function"


def _prediction_loss(
    model: BaseEstimator | None, loss: str | None
) -> tuple[TweedieLoss | str, str]:
    """Loss of predicted numbers: the one passed, else that of a fit of this package; its unit."""
    if loss is None and hasattr(model, "constraint_report_"):
        loss = getattr(model, "loss_", model.loss)  # type: ignore[union-attr]
    if loss is None:
        of_model = "these predictions" if model is None else type(model).__name__
        raise ValueError(
            f"Mean losses must have a loss to compare, but that of {of_model} is not known. Pass a "
            "constraint that has one, as LossParity(loss='squared') (the squared error), "
            "'absolute', or a callable (predictions, target) -> skfair.losses.Pointwise."
        )
    names = [name for name in LOSSES if is_of_numbers(name)]
    if (isinstance(loss, str) and loss not in names) or not is_of_numbers(loss):
        raise ValueError(
            f"For predicted numbers loss must be one of {names} or a callable; "
            f"got {loss!r}, which is a loss of classes or no loss at all."
        )
    degree = getattr(resolve_name(LOSSES, loss, "loss"), "degree", None)
    return loss, _UNITS_BY_DEGREE.get(degree, "units of the loss")  # type: ignore[arg-type]


# Predictions of a model as targets and scores that constraints can be bound to.


def resolve_constraint(
    constraint: Constraint | str,
    tolerance: float | dict[str, float] | None = None,
    *,
    takes_all: bool = False,
) -> Constraint:
    """The constraint of a name in `CONSTRAINTS`, or the instance passed, with valid parameters.

    A tolerance must be the bound of one that has none.
    """
    (constraint,) = find_constraints([constraint], tolerance, takes_all=takes_all)
    constraint._check_parameters()
    return constraint


def warn_of_dependent_samples(X: TableLike) -> None:
    """Warn if held-out samples seem to belong together: standard errors would be too small."""
    warn_of_clustered_samples(
        X,
        "But claims and intervals take samples for independent, and are too narrow if they "
        "are not. Pass groups=ids, with equal ids for samples that belong together, or one sample "
        "of each household or person.",
    )


def check_fitted_model(estimator: BaseEstimator) -> None:
    """Raise for an object without ``fit`` and ``predict``, or that is not fitted."""
    check_model(estimator)
    check_is_fitted(estimator)


def check_applies(constraint: Constraint, estimator: BaseEstimator) -> None:
    """Raise for a constraint that is not about what the estimator predicts; name those that are.

    That is one on decisions or classes for a regressor, and one on scores for a classifier that
    has none. Other estimators are a TypeError.
    """
    name = type(estimator).__name__
    if is_regressor(estimator):
        check_applies_to_numbers(constraint, name)
        return
    check_task(constraint, is_real=False)
    if not hasattr(estimator, "classes_"):
        raise TypeError(
            f"estimator must be a fitted classifier or regressor, but {name} has no classes_ and "
            "is no regressor. Reports state limits of the balance of clusters: "
            "skfair.audit.Audit.from_estimator(...).report(). For other predictions use "
            "skfair.audit.Audit.from_predictions or skfair.statistics.gap_interval."
        )
    if constraint.counts_decisions:
        return
    # Constraints on scores need a classifier of two classes with scores.
    instead = f"Pass a constraint on decisions: one of {applicable_constraint_names('decisions')}."
    if len(estimator.classes_) > 2:
        raise ValueError(
            f"{constraint} compares scores of two classes, but {name} knows "
            f"{len(estimator.classes_)} classes. {instead}"
        )
    methods = ["decision_function"]
    if metric_kind(constraint) != "labelled_margin":
        methods.append("predict_proba")
    if constraint.unit == "probability":
        methods = ["predict_proba"]
    if not any(hasattr(estimator, method) for method in methods):
        raise ValueError(
            f"{constraint} compares scores, but {name} has no {' or '.join(methods)}. {instead}"
        )


def predict_columns(
    estimator: BaseEstimator,
    X: TableLike,
    y: TableLike | None,
    sensitive_features: TableLike | None,
    pos_label: Label | None,
    groups: TableLike | None,
) -> tuple:
    """Task of a fitted model, its predictions, the positive class, and its scores.

    The scores are those of a classifier of two classes that has some, else None. Warns of samples
    that seem to belong together, unless `groups` say which do.
    """
    check_fitted_model(estimator)
    if groups is None and (is_classifier(estimator) or is_regressor(estimator)):
        warn_of_dependent_samples(X)
    if not is_classifier(estimator) or len(estimator.classes_) != 2:
        predict = ARGUMENTS_BY_METRIC_KIND["clustering"]
        (y_pred,), _ = predict(estimator, X, y, sensitive_features)
        if is_classifier(estimator):
            return "classification", y_pred, pos_label, None
        return "regression" if is_regressor(estimator) else "clustering", y_pred, None, None
    # Decisions of the positive class, and scores if there are any.
    (_, y_pred), params = ARGUMENTS_BY_METRIC_KIND["classification"](
        estimator, X, y, sensitive_features, pos_label
    )
    pos_label = params["pos_label"]
    if not hasattr(estimator, "predict_proba") and not hasattr(estimator, "decision_function"):
        return "classification", y_pred, pos_label, None
    (scores,), _ = ARGUMENTS_BY_METRIC_KIND["score"](estimator, X, y, sensitive_features, pos_label)
    return "classification", y_pred, pos_label, scores


def predict_for_metric(
    estimator: BaseEstimator,
    constraint: Constraint,
    X: np.ndarray,
    y: np.ndarray,
    sensitive_features: TableLike,
    pos_label: Label | None,
) -> list[tuple]:
    """Arguments of the metric of a classifier's constraint: pairs of positional and keyword ones.

    For decisions about more than two classes it has one entry for each class against the rest.
    """
    kind = metric_kind(constraint)
    classes = getattr(estimator, "classes_", ())
    if len(classes) <= 2 or kind != "classification":
        return [ARGUMENTS_BY_METRIC_KIND[kind](estimator, X, y, sensitive_features, pos_label)]
    (predicted,), _ = ARGUMENTS_BY_METRIC_KIND["clustering"](estimator, X, y, sensitive_features)
    check_alignment(X=X, y=y, sensitive_features=sensitive_features)
    return arrange_for_metric(constraint, y, predicted, "classification", pos_label, classes)


def arrange_for_metric(
    constraint: Constraint,
    y_true: np.ndarray | None,
    y_pred: np.ndarray,
    task: str,
    pos_label: Label | None,
    classes: np.ndarray | tuple = (),
) -> list[tuple[tuple, dict]]:
    """As `predict_for_metric`, of predictions that were made; `task` is what they are.

    `classes` are those that the model knows, if it is known.
    """
    if task == "regression":
        return [((y_pred if y_true is None else y_true, y_pred), {"is_real": True})]
    metric = metric_kind(constraint)
    if metric == "classification":
        return _arrange_decisions(constraint, y_true, y_pred, pos_label, classes)
    # Scores: probabilities decide at 0.5, values of a decision function at 0.
    scores = to_numbers(y_pred, "y_pred")
    params = (
        {"threshold": 0.5 if are_probabilities(scores) else 0.0} if "decision" in metric else {}
    )
    if not metric.startswith("labelled"):
        return [((scores,), params)]
    if metric == "labelled_margin" and are_probabilities(scores):
        warn(
            f"{constraint} takes values of the decision function, which decide at 0, but y_pred "
            f"holds numbers from {scores.min():.3g} to {scores.max():.3g}, as probabilities do. "
            "Pass log(p / (1 - p)) of probabilities p."
        )
    return [((y_true, scores), params | {"pos_label": find_positive(y_true, pos_label=pos_label)})]  # type: ignore[arg-type]


def _arrange_decisions(
    constraint: Constraint,
    y_true: np.ndarray | None,
    y_pred: np.ndarray,
    pos_label: Label | None,
    classes: np.ndarray | tuple[Any, ...],
) -> list[tuple[tuple, dict]]:
    """Decisions of two classes, or of each class against the rest."""
    if type_of_target(y_pred) == "continuous":
        raise ValueError(
            f"{constraint} compares decisions, but y_pred holds numbers with decimals. Pass the "
            "predicted classes, as in y_proba > 0.5, or one of "
            f"{applicable_constraint_names('scores')}."
        )
    truth = np.asarray(y_pred if y_true is None else y_true)
    labels = np.unique(np.concatenate((np.unique(truth), np.unique(np.asarray(y_pred)))))
    labels = np.asarray(classes) if len(classes) > 2 else labels
    if len(labels) <= 2:
        return [((y_pred if y_true is None else y_true, y_pred), {"pos_label": pos_label})]
    positives = labels if pos_label is None else [pos_label]
    return [((truth == one, np.asarray(y_pred) == one), {"pos_label": True}) for one in positives]


def are_probabilities(scores: np.ndarray) -> bool:
    """Whether all scores are between 0 and 1."""
    return bool(((scores >= 0.0) & (scores <= 1.0)).all())


def needs_outcomes(constraint: Constraint, n_samples: int, X: np.ndarray | None = None) -> bool:
    """Whether a constraint depends on the outcomes of so many samples with features X."""
    if not constraint.counts_decisions:
        return metric_kind(constraint).startswith(("labelled", "regression"))
    samples = samples_without_target(Groups.single(n_samples), np.ones(n_samples), X)
    return outcome_use(constraint, samples) != "nothing"


def check_outcomes(constraint: Constraint, columns: dict[str, np.ndarray]) -> None:
    """Raise if a constraint depends on outcomes that are missing, or takes labels for sets."""
    if "y_true" in columns:
        refuse_sets_metric(constraint.compared_rate)
    elif "covered" in columns and constraint.compared_rate is RATES["selection_rate"]:
        raise argument_error(
            f"constraint of prediction sets must be on the rate 'coverage'; got {constraint.name}."
        )
    elif needs_outcomes(constraint, len(next(iter(columns.values())))):
        raise argument_error(
            f"y_true must hold the outcomes, on which {constraint.name} depends. Without outcomes "
            "pass a constraint on selection rates, such as 'demographic_parity'."
        )


# The same for samples whose groups are not all known.


def check_can_model(audit: Any, constraint: Constraint) -> None:
    """Raise for what cannot be certified of groups that are not all known."""
    argument = audit.known.argument
    if not constraint.counts_decisions or constraint.gap.compares != "groups":
        raise ValueError(
            f"{argument} is for differences and ratios of rates of decisions between groups, "
            f"which {constraint} does not compare. Pass a constraint such as 'demographic_parity' "
            "with reference='groups', or samples whose group is recorded."
        )
    if not audit.samples.is_equally_weighted:
        raise ValueError(f"{argument} is not implemented for sample_weight; leave one of them out.")


def bind_hidden_groups(
    constraint: Constraint, predictions: tuple[np.ndarray, ...], audit: Any, **params: Any
) -> tuple[HiddenGroupConstraint, np.ndarray]:
    """The constraint bound to the samples of an audit whose groups are modelled, and their scores.

    Parameters are those of `bind_constraint`.
    """
    target, scores = target_and_scores(metric_kind(constraint), predictions, **params)
    known = audit.known
    modeller = known.make_modeller([scores, target, scores * target])
    groups = known.select_known(audit.samples.groups)
    samples = audit.samples._replace(groups=groups, target=target)
    bound = bind_decisions(constraint, samples, scores)
    positions = {name: position for position, name in enumerate(groups.names)}
    hidden = modeller(groups)
    return HiddenGroupConstraint(bound, constraint.cells(samples), positions, hidden), scores


class HiddenGroupConstraint(NamedTuple):
    """A constraint bound to samples whose groups are not all known.

    ``cells`` are masks of samples by name, and ``group_positions`` those of groups by name.
    """

    bound_constraint: BoundConstraint
    cells: dict
    group_positions: dict
    hidden: HiddenGroups

    @property
    def name(self) -> str:
        """Name of the constraint."""
        return self.bound_constraint.name

    @property
    def sums(self) -> Sums:
        """Sums of the constraint."""
        return self.bound_constraint.sums

    @property
    def gap(self) -> Any:
        """Gap of the constraint."""
        return self.bound_constraint.gap

    def value(self, scores: np.ndarray) -> float:
        """The estimated gap; without an assumption the largest that the samples allow."""
        estimates, forms = self._replace(hidden=self.hidden.to_identified_groups()).estimates(
            scores
        )
        return float(estimates.gap((forms @ estimates.values).max(initial=0.0)))

    def estimates(self, scores: np.ndarray) -> tuple[Estimates, sparse.csr_array]:
        """Ends of the rates, and the linear forms whose largest is the largest possible gap."""
        ends, (widest, _) = self._possible_gap_estimates(scores)
        return ends, widest

    def smallest_gap_estimates(self, scores: np.ndarray) -> tuple[Estimates, sparse.csr_array]:
        """Ends of the rates, and the linear forms whose largest is the smallest possible gap."""
        ends, (_, narrowest) = self._possible_gap_estimates(scores)
        return ends, narrowest

    def _possible_gap_estimates(self, scores: np.ndarray) -> tuple:
        """Ends of the rates, and the forms of the largest and of the smallest possible gap."""
        members = [
            (self.cells[cell], [self.group_positions[group]])
            for cell, group in self.sums.cells.labels
        ]
        counts = [self.hidden.count(mask)[group].item() for mask, group in members]
        if min(counts, default=MIN_RECORDED) < MIN_RECORDED:
            raise ValueError(
                "Groups that are not all known must each have "
                f"{MIN_RECORDED} recorded samples, or as many expected ones, in each cell of "
                f"{self.name}, but one has {min(counts)}. Record the group of more samples, or "
                "pass a larger min_group_size to the constraint."
            )
        values = self.sums.exact[0](scores, self.sums.target).value
        ends = self.hidden.extreme_rates(values, members)
        forms = extreme_contrasts(self.gap.linear_forms(len(members)))
        return self.gap.estimates(ends), forms
