"""Certificates: held-out data show that a model meets a tolerance in the population."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Real
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone, is_regressor
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import check_is_fitted

from skfair.audit._formats import certificate_to_json
from skfair.constraints import (
    CONSTRAINTS,
    Constraint,
    constraints_on,
    refuse_inapplicable,
)
from skfair.groups import MISSING, check_alignment, check_columns, fill_missing
from skfair.inference import (
    MIN_RECORDED,
    HiddenGroups,
    LogRates,
    Rates,
    check_level,
    check_odds_ratio,
    clopper_pearson,
    exact_pair_test,
    required_sample_size,
    separate_ends,
    stack_features,
    state_odds_ratio,
    upper_limit,
)
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
from skfair.metrics import METRICS, PREDICTIONS, Metric, find_positive
from skfair.surrogates import StepFunction
from skfair.utils._api import Label, MatrixLike
from skfair.utils._checks import (
    check_tolerance,
    join_names,
    refuse_training_data,
    resolve_name,
    warn,
    warn_of_clustered_samples,
)
from skfair.utils._fit import write_text
from skfair.utils._sklearn import safe_indexing

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from skfair.constraints import Constraint


# Units of a certificate: that of the gap, and its size in units of the fit.


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
    return constraint, _rate_unit(constraint), None


def _rate_unit(constraint):
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
    """Return the innermost estimator of nested pipelines and searches."""
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
    """Return the unit of a regression loss, or `otherwise` for any other loss."""
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


# Predictions of a model as targets and scores that constraints can be bound to.


def resolve_constraint(constraint):
    """The constraint of a name in `CONSTRAINTS`, or the instance passed."""
    return resolve_name(CONSTRAINTS, constraint, "constraint", Constraint)


def metric_kind(constraint):
    """The predictions that the constraint's metric takes, as `Metric.kind`.

    A constraint without a public metric takes classes and values of the decision function.
    """
    if constraint.counts_decisions:
        return "classification"
    return METRICS[constraint.metric].kind if constraint.metric else "labelled_margin"


def warn_of_dependent_samples(X):
    """Warn if held-out samples seem to belong together: standard errors would be too small."""
    warn_of_clustered_samples(
        X,
        "But certificates and intervals take samples for independent, and are too narrow if they "
        "are not. Pass one sample of each household or person.",
    )


def check_fitted_model(estimator):
    """Raise for an object without ``fit`` and ``predict``, or that is not fitted."""
    if not hasattr(estimator, "fit") or not hasattr(estimator, "predict"):
        raise TypeError(
            "estimator must have fit and predict, as those of scikit-learn do, but a "
            f"{type(estimator).__name__} was passed. For other models pass the predictions: to "
            "skfair.audit.FairnessReport.from_predictions, or to skfair.inference.gap_interval."
        )
    check_is_fitted(estimator)


def check_applies(constraint, estimator):
    """Raise for a constraint that is not about what the estimator predicts; name those that are.

    That is one on decisions or classes for a regressor, and one on scores for a classifier that
    has none. Other estimators are a TypeError.
    """
    name = type(estimator).__name__
    if is_regressor(estimator):
        refuse_inapplicable(constraint, name)
        return
    if not hasattr(estimator, "classes_"):
        raise TypeError(
            f"estimator must be a fitted classifier or regressor, but {name} has no classes_ and "
            "is no regressor. For the balance of clusters use skfair.inference.balance_limit; for "
            "other predictions skfair.audit.FairnessReport.from_predictions or "
            "skfair.inference.gap_interval."
        )
    if constraint.counts_decisions:
        return
    # Constraints on scores need a classifier of two classes with scores.
    instead = f"Pass a constraint on decisions: one of {constraints_on('decisions')}."
    if len(estimator.classes_) > 2:
        raise ValueError(
            f"{constraint} compares scores of two classes, but {name} knows "
            f"{len(estimator.classes_)} classes. {instead}"
        )
    methods = ["decision_function"]
    if metric_kind(constraint) != "labelled_margin":
        methods.append("predict_proba")
    if not any(hasattr(estimator, method) for method in methods):
        raise ValueError(
            f"{constraint} compares scores, but {name} has no {' or '.join(methods)}. {instead}"
        )


def predict_for_metric(estimator, constraint, X, y, sensitive_features, pos_label):
    """Arguments of the constraint's metric, a list of (positional, keyword) arguments.

    For decisions about more than two classes it has one entry for each class against the rest.
    """
    kind = metric_kind(constraint)
    classes = getattr(estimator, "classes_", ())
    if not is_regressor(estimator) and (len(classes) <= 2 or kind != "classification"):
        return [PREDICTIONS[kind](estimator, X, y, sensitive_features, pos_label)]
    (predicted,), _ = PREDICTIONS["clustering"](estimator, X, y, sensitive_features)
    if is_regressor(estimator):
        return [((y, predicted), {"is_real": True})]
    check_alignment(X=X, y=y, sensitive_features=sensitive_features)
    # Several classes: one comparison of each class against the rest.
    truth, positives = np.asarray(y), classes if pos_label is None else [pos_label]
    return [((truth == one, predicted == one), {"pos_label": True}) for one in positives]


def target_and_scores(kind, columns, *, pos_label=None, threshold=0.0, is_real=False):
    """Targets and scores that a constraint can be bound to, both (n_samples,).

    `columns` are the positional arguments of a metric of this `Metric.kind`. Scores are shifted by
    the threshold, so that decisions are made at 0. With `is_real` these are real targets and
    predictions of them.
    """
    if is_real:
        return tuple(map(to_numbers, columns, ("y", "predictions")))
    if kind == "classification":
        truth, predicted = columns
        positive = find_positive(truth, predicted, pos_label=pos_label)
        return tuple(np.where(column == positive, 1.0, -1.0) for column in (truth, predicted))
    # Move the threshold to 0, where constraints decide.
    scores = np.asarray(columns[-1], dtype=np.float64) - threshold
    if len(columns) == 1:
        return np.ones(len(scores)), scores
    positive = find_positive(columns[0], pos_label=pos_label)
    return np.where(columns[0] == positive, 1.0, -1.0), scores


def to_numbers(column, name):
    """A column as finite float64 numbers; `name` is what users call it."""
    try:
        return check_array(column, ensure_2d=False, dtype=np.float64, input_name=name)
    except ValueError as error:
        if np.asarray(column).dtype.kind in "biuf":
            raise
        raise ValueError(
            f"{name} must be numbers, as for a regression or a score, but holds "
            f"{np.asarray(column).flat[0]!r}; pass numbers, or a classifier and its classes."
        ) from error


# Certificates: held-out data show that a model meets a tolerance in the population.


_NO_MARGIN = 1e-9
"""Rest of a tolerance that is a rounding error, for which no sample size suffices."""


class Certificate(NamedTuple):
    """Whether held-out data show that a tolerance is met; made by `certify`.

    Attributes
    ----------
    certified : bool
        Whether the population's gap is at most the tolerance, at the requested confidence level.
    gap : float
        The gap in the held-out data.
    limit : float
        Upper limit of the population's gap at that confidence.
    tolerance, confidence_level : float
        As passed to `certify`.
    is_exact : bool
        Whether only exact tests were used. Then at most ``1 - confidence_level`` of the models that
        break the tolerance are certified at any sample size, and not only for large samples.
    required_sample_size : int or None
        Where it is not certified: samples of each group with which four of five certificates would
        succeed, if the population's gap or ratio is the observed one; None where no number
        suffices, or none is known. Drawing so many more until it succeeds is a repeated look, which
        errs more often (:ref:`monitoring`).
    unit : str
        Unit of gap, limit and tolerance. "percentage points" are stored as fractions: 0.05 are
        five of them. A "ratio" r is stored as 1 - r.
    fit_unit : float or None
        Size in this unit of one unit of the tolerance with which the model was fitted; None where
        the two are the same, or the model is of another package.
    certified_tolerance : float or None
        Where it is not certified: the smallest tolerance, to three digits, that these data certify
        at this level, in the unit of the tolerance; None if there is none.
    n_more : int or None
        Where `required_sample_size` is known: by how many samples it exceeds the smallest group
        here.
    assumption : str
        What it assumes of samples whose group is missing; empty if there are none.

    Examples
    --------
    >>> from skfair.audit import Certificate
    >>> print(Certificate(True, 0.02, 0.04, 0.05, 0.95, True, None))
    Certified: the gap is at most 0.05 (5 percentage points), with 95 % confidence (0.02 here, \
limit 0.04; exact).
    """

    certified: bool
    gap: float
    limit: float
    tolerance: float
    confidence_level: float
    is_exact: bool
    required_sample_size: int | None
    unit: str = RATE
    fit_unit: float | None = None
    certified_tolerance: float | None = None
    n_more: int | None = None
    assumption: str = ""

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """The certificate as JSON: all attributes by name, and its sentence as ``text``.

        Parameters
        ----------
        path : str or path-like, default=None
            File to write; None writes none.

        Returns
        -------
        text : str
            The JSON. A limit at infinity is the text "inf".
        """
        return write_text(certificate_to_json(self), path)

    def __str__(self):
        assumption = f" This holds {self.assumption}." if self.assumption else ""
        return self._describe() + assumption

    def _describe(self):
        """The result in one or two sentences, without its assumption."""
        name, relation, gap, limit = "gap", "at most", self.gap, self.limit
        if self.unit == RATIO:
            name, relation, gap, limit = "ratio", "at least", 1.0 - gap, 1.0 - limit
        observed = f"{gap:.3g} here, limit {limit:.3g}"
        if self.is_exact and self.limit <= self.tolerance and not self.certified:
            observed += ", which an exact test does not confirm"
        bound = f"{self._bound(self.tolerance)}, with {100 * self.confidence_level:g} % confidence"
        if self.certified:
            exactly = "; exact" if self.is_exact else ""
            return f"Certified: the {name} is {relation} {bound} ({observed}{exactly})."
        advice = f"no sample size suffices, if the population's {name} is the same"
        if self.gap < self.tolerance:
            advice = "a larger sample may suffice"
        if self.required_sample_size is not None:
            more = f", {self.n_more} more than the smallest has here" if self.n_more else ""
            advice = f"{self.required_sample_size} people of each group suffice{more}, if the "
            advice += f"population's {name} is the same"
        refusal = f"Not certified: these data do not show a {name} of {relation} {bound}"
        text = f"{refusal} ({observed}); {advice}."
        if self.certified_tolerance is None:
            return text
        shown = self._bound(self.certified_tolerance)
        return f"{text} They certify a {name} of {relation} {shown}."

    def _bound(self, tolerance):
        """A tolerance in all known units, or the ratio."""
        if self.unit == RATIO:
            return f"{1.0 - tolerance:g}"
        if self.unit.startswith(RATE):
            return f"{tolerance:g} ({100 * tolerance:g} {self.unit})"
        if self.fit_unit is None:
            return f"{tolerance:g} {self.unit}"
        in_fit = f"{tolerance / self.fit_unit:.3g} in units of the fit, where the target has"
        return f"{tolerance:g} {self.unit} ({in_fit} standard deviation 1)"


def certify(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    constraint: str | Constraint = "demographic_parity",
    tolerance: float | None = None,
    confidence_level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
    X_fit: MatrixLike | None = None,
    loss: str | Callable | None = None,
    missing: Literal["error", "at_random"] = "error",
    odds_ratio: float = 1.0,
) -> Certificate:
    r"""Certify on held-out data that a model's gap in the population is within a tolerance.

    The gap is the largest of many differences, such as the statistical parity differences of all
    pairs of groups. It is certified if each of them is shown to be within the tolerance at the full
    confidence level: no correction for their number is needed ([1]_). Differences of rates of
    unweighted samples in disjoint groups are tested exactly: where Clopper and Pearson's limits do
    not decide, by Berger and Boos's test. Other limits are those of
    :func:`skfair.inference.gap_interval`, and of ratios :func:`skfair.inference.ratio_interval`,
    which hold for large samples.

    Of models that break the tolerance at most one in twenty is certified at .95. The level is that
    of one certificate, read once: of 24 monthly ones on the edge of the tolerance at least one is
    false in 71 % of cases. To look repeatedly use :class:`skfair.monitoring.GapMonitor`.

    Parameters
    ----------
    estimator : estimator
        A fitted classifier or regressor of any package. For constraints on decisions about more
        than two classes, each class is certified against the rest.
    X : array-like of shape (n_samples, n_features)
        Held-out data, used in no step of the model's making: neither for the fit, nor for the
        choice among models.
    y : array-like of shape (n_samples,)
        True classes or targets.
    sensitive_features : array-like or sparse matrix
        Group of each sample.
    constraint : str or Constraint, default="demographic_parity"
        Name in :data:`skfair.constraints.CONSTRAINTS`, or an instance with its reference, aggregate
        and so on. For a regressor, constraints on predictions can be certified ("mean_parity",
        "loss_parity", partial parity of ranks), but not those on classes or decisions.
    tolerance : float or None, default=None
        Largest gap allowed in the population; None takes that of the constraint, or its ratio. For
        rates and shares a fraction: 0.05 are five percentage points. For "mean_parity" in units of
        the target (of a classifier, of its predicted probability, else of its decision function),
        for losses in units of the loss, for "partial_group_auc" in units of the area. Regressors of
        this package read the tolerance of their fit in standard deviations of the target
        (``target_scale_``, and its square for the squared loss): the certificate prints both.
    confidence_level : float, default=0.95
        Probability with which a model that violates the tolerance is not certified, at least.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights, such as inverse probabilities of having been drawn.
    pos_label : label, default=None
        The class that means success; None as in :func:`skfair.metrics.get_scorer`.
    X_fit : array-like of shape (n_fitted, n_features), default=None
        Features of the training data, if available: rows of X that are among them are reported.
    loss : str, callable or None, default=None
        Loss that constraints on mean losses compare, if they have none of their own: for a
        classifier a name in :data:`skfair.losses.LOSSES`, for a regressor "squared" (half the
        squared error) or "absolute", or a callable (scores, target) -> Pointwise. None takes the
        loss of an estimator of this package, in units of the target, and the logistic loss of the
        decision function of other classifiers; for other regressors it must be passed.
    missing : {"error", "at_random"}, default="error"
        What happens to missing values of `sensitive_features`. "at_random" assumes, for rates of
        decisions, that groups are missing at random given X, decision and outcome, as in
        :func:`skfair.inference.hidden_gap_interval`. The certificate states it.
    odds_ratio : float, default=1.0
        With ``missing="at_random"``, the largest factor by which odds of a group may differ between
        equal samples with and without a record. ``np.inf`` assumes nothing.

    Returns
    -------
    certificate : Certificate
        ``print`` shows it as a sentence.

    Raises
    ------
    ValueError
        If the tolerance or the confidence level is out of range, there is no tolerance or also a
        ratio, X is the training data, the constraint is not about what the estimator predicts (the
        error names those that are), the loss of a regressor is not known, or predictions, groups or
        weights are invalid for the metric.
    TypeError
        If the estimator is neither a classifier nor a regressor.

    Warns
    -----
    UserWarning
        If groups are too small for any certificate of rates, or their values too skewed for one of
        means (the message names them); if some rows of X are in `X_fit`; if weights are very
        uneven; if samples look like several of one person or household, which are not independent.

    References
    ----------
    .. [1] R. L. Berger, "Multiparameter hypothesis testing and acceptance sampling", Technometrics
       24, 1982.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skfair.audit import certify
    >>> rng = np.random.default_rng(0)
    >>> X, group = rng.normal(size=(4000, 1)), rng.choice(["a", "b"], size=4000)
    >>> y = (X[:, 0] + rng.logistic(size=4000) > 0).astype(int)
    >>> model = LogisticRegression().fit(X[:1000], y[:1000])
    >>> held_out = {"sensitive_features": group[1000:], "X_fit": X[:1000]}
    >>> certify(model, X[1000:], y[1000:], tolerance=0.1, **held_out).certified
    True
    """
    check_fitted_model(estimator)
    constraint, level = resolve_constraint(constraint), check_level(confidence_level)
    check_applies(constraint, estimator)
    constraint, unit, fit_unit = resolve_units(estimator, constraint, loss)
    largest = _largest_gap(constraint, unit)
    tolerance = _resolve_tolerance(constraint, tolerance, largest)
    refuse_training_data(X, X_fit)
    warn_of_dependent_samples(X)
    per_class = predict_for_metric(estimator, constraint, X, y, sensitive_features, pos_label)
    _check_missing(missing, odds_ratio, constraint, sample_weight)
    bind = bind_constraint
    if missing == "at_random":
        bind = partial(_bind_hidden, odds_ratio=odds_ratio)
    certificates = [
        _certify_gap(  # type: ignore[misc]
            *bind(constraint, predictions, sensitive_features, sample_weight, X=X, **params),
            tolerance=tolerance,
            level=level,
            largest=largest,
        )
        for predictions, params in per_class
    ]
    certificate = _combine_classes(certificates)._replace(unit=unit, fit_unit=fit_unit)
    if missing == "error":
        return certificate
    # Required sizes are those of samples that are all recorded.
    assumption = state_odds_ratio(odds_ratio, "X, decision and outcome")
    return certificate._replace(assumption=assumption, required_sample_size=None, n_more=None)


def _resolve_tolerance(constraint, tolerance, largest):
    """The tolerance that is passed or that of the constraint; 1 minus its ratio."""
    constraint._check_parameters()
    if constraint.ratio is not None:
        if tolerance is not None:
            raise ValueError(
                f"{constraint} has a ratio, but tolerance={tolerance!r} was passed too; pass one."
            )
        tolerance = 1.0 - constraint.ratio
    tolerance = constraint.tolerance if tolerance is None else tolerance
    if tolerance is None or (isinstance(tolerance, Real) and tolerance <= 0):
        raise ValueError(
            "tolerance must be positive, and a ratio less than 1, since no sample can show a gap "
            f"of 0; got tolerance={tolerance!r} and {constraint}."
        )
    return check_tolerance(tolerance, largest, closed="right", of=constraint)


def _largest_gap(constraint, unit=None):
    """The largest possible gap, also of predicted probabilities; infinite without a bound."""
    return 1.0 if unit == PROBABILITY else constraint.largest_gap


def _certify_gap(bound, scores, tolerance, level, largest):
    """The certificate of one gap, of which `largest` is the largest possible one."""
    # Upper limit of the largest difference, by intervals for large samples.
    estimates, contrasts = bound.estimates(scores)
    if not len(estimates.sizes) or not contrasts.shape[0]:
        raise ValueError(
            f"A certificate needs two groups to be compared by {bound.name}, but these samples "
            "have one at most that is large enough. Pass sensitive_features with two groups or "
            "more, or a smaller min_group_size to the constraint."
        )
    limit = upper_limit(estimates, contrasts, level)
    is_exact = _is_exact(estimates, contrasts)
    certified = limit <= tolerance
    if is_exact:
        # Differences of binomial rates: exact tests decide.
        _warn_of_small_groups(bound, estimates, tolerance, level)
        certified = tolerance >= 1.0 or _is_shown_exactly(estimates, contrasts, tolerance, level)
        limit = min(limit, tolerance) if certified else limit
    else:
        _warn_of_skewed_values(bound, estimates)
    gap = bound.gap(scores)
    certificate = Certificate(bool(certified), gap, limit, tolerance, level, is_exact, None)
    if certified:
        return certificate
    # What these data certify, and how large the groups would have to be.
    shown = _certified_tolerance(estimates, contrasts, certificate)
    if shown is not None and shown < largest:
        certificate = certificate._replace(certified_tolerance=shown)
    size = _required_size(bound, estimates, certificate)
    more = None if size is None else max(0, size - int(estimates.sizes.min()))
    return certificate._replace(required_sample_size=size, n_more=more)


def _combine_classes(certificates):
    """One certificate of all classes: each holds at the full level, so all of them hold."""
    failed = [one for one in certificates if not one.certified]

    def largest(name):
        """The largest value of an attribute of the failed ones; None if one of them is unknown."""
        values = [getattr(one, name) for one in failed]
        return None if not values or None in values else max(values)

    return certificates[0]._replace(
        certified=not failed,
        gap=max(one.gap for one in certificates),
        limit=max(one.limit for one in certificates),
        is_exact=all(one.is_exact for one in certificates),
        required_sample_size=largest("required_sample_size"),
        certified_tolerance=largest("certified_tolerance"),
        n_more=largest("n_more"),
    )


def limit_metric(constraint: str | Constraint, *, confidence_level: float = 0.95) -> Metric:
    """The upper limit of a gap as a metric, so that a scorer can be made of it.

    The gap of a constraint with a ratio is 1 minus the ratio.

    A search by it prefers models whose gap is *shown* to be small by the test folds, and not those
    whose gap is small by chance: with ``best_subject_to`` and a bound of .05 it selects a model
    that meets .05 with that confidence, on each test fold.

    Parameters
    ----------
    constraint : str or Constraint
        Name in :data:`skfair.constraints.CONSTRAINTS`, or an instance. The metric takes the
        predictions that its public metric takes, in the same units: rates as fractions, mean
        losses of the decision function in units of the constraint's loss (logistic, if it has
        none). Predicted numbers are taken by constraints on scores alone, such as "mean_parity".
    confidence_level : float, default=0.95
        Probability with which the limit holds, for a model that does not depend on these samples.

    Returns
    -------
    metric : Metric
        To be passed to :func:`skfair.metrics.get_scorer`; smaller is better.

    Raises
    ------
    ValueError
        If there is no such constraint, or the confidence level is not between 0 and 1.

    Examples
    --------
    >>> from skfair.audit import limit_metric
    >>> limit = limit_metric("equal_opportunity")
    >>> y_true, group = [1, 1, 0, 1] * 100, ["a", "b"] * 200
    >>> 0.05 < limit(y_true, y_true, sensitive_features=group) < 0.1
    False
    """
    constraint = resolve_constraint(constraint)
    function = partial(_limit, constraint=constraint, level=check_level(confidence_level))
    return Metric(
        function,
        metric_kind(constraint),
        greater_is_better=False,
        best=0.0,
        largest=_largest_gap(constraint),
    )


def _limit(*predictions, sensitive_features, constraint, level, sample_weight=None, **params):
    """Upper limit of the gap of predictions, as a metric computes it."""
    bound, scores = bind_constraint(
        constraint, predictions, sensitive_features, sample_weight, **params
    )
    return upper_limit(*bound.estimates(scores), level)


def bind_constraint(constraint, predictions, sensitive_features, sample_weight, X=None, **params):
    """The constraint bound to the held-out samples, and their scores.

    `predictions` are the positional arguments of the constraint's metric, `params` those of
    `target_and_scores`. X is for constraints that use features.
    """
    rows = np.arange(len(predictions[0]))
    # Samples of zero weight are left out; `rows` shows which are kept, to select those of X.
    columns = {f"prediction {i}": column for i, column in enumerate(predictions)}
    samples, (*columns, rows) = check_columns(
        sensitive_features, sample_weight, **columns, rows=rows
    )
    target, scores = target_and_scores(metric_kind(constraint), columns, **params)
    if X is not None:
        check_consistent_length(predictions[0], X)
        if len(rows) < len(predictions[0]):
            X = safe_indexing(X, rows)
    samples = samples._replace(target=target, X=X)
    return constraint.bind(samples, StepFunction(), LogisticLoss(), tolerance=1.0), scores


def _is_exact(estimates, contrasts):
    """Whether all contrasts are differences of two independent binomial rates."""
    if not isinstance(estimates, Rates) or estimates.is_weighted:
        return False
    pairs = (abs(contrasts).sum(axis=1) == 2) & (contrasts.sum(axis=1) == 0)
    return estimates.correlation is None and bool(pairs.all())


def _is_shown_exactly(estimates, contrasts, tolerance, level):
    """Whether exact tests show that every difference is within the tolerance."""
    hits, n = estimates.hits, estimates.counts
    first, second = _ends(contrasts)
    # Clopper-Pearson limits: pairs that they decide need no test.
    undecided = np.flatnonzero(_exact_limits(estimates, contrasts, level) > tolerance)
    by_limits = estimates.upper(contrasts, level)
    # Berger-Boos tests of the others. Skip pairs that even the large-sample limits do not show.
    return all(
        by_limits[pair] <= tolerance
        and _p_value(hits, n, first[pair], second[pair], tolerance) <= 1.0 - level
        for pair in undecided
    )


def _ends(contrasts):
    """Event of the factor 1 and of the factor -1 in each contrast."""
    return contrasts.argmax(axis=1).ravel(), contrasts.argmin(axis=1).ravel()


def _exact_limits(estimates, contrasts, level):
    """Upper limit of each difference by Clopper and Pearson's limits of both rates."""
    low, high = clopper_pearson(estimates.hits, estimates.counts, (1.0 + level) / 2.0)
    first, second = _ends(contrasts)
    return high[first] - low[second]


_CANDIDATE_POSITIONS = np.array([0.0, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.0])
"""Positions of candidate tolerances between the smallest and the largest possible one."""


def _certified_tolerance(estimates, contrasts, certificate):
    """The smallest tolerance, to three digits, that would be certified, or None.

    For exact tests there are some candidates, from the large-sample limit to the one that limits of
    single rates certify without any test. They are denser near the former.
    """
    low, level = max(certificate.limit, certificate.tolerance), certificate.confidence_level
    if not certificate.is_exact:
        return _round_up(low) if np.isfinite(low) else None
    high = max(low, _exact_limits(estimates, contrasts, level).max())
    candidates = sorted({*map(_round_up, low + (high - low) * _CANDIDATE_POSITIONS)})
    shown = (one for one in candidates if one < 1.0)
    return next((t for t in shown if _is_shown_exactly(estimates, contrasts, t, level)), None)


def _round_up(tolerance):
    """The smallest number of three digits that is at least the tolerance."""
    digits = 2 - int(np.floor(np.log10(tolerance)))
    rounded = round(float(tolerance), digits)
    return rounded if rounded >= tolerance else round(rounded + 10.0**-digits, digits)


def _p_value(hits, n, first, second, tolerance):
    """p-value of the hypothesis that the difference of two rates exceeds the tolerance."""
    return exact_pair_test((hits[first], hits[second]), (n[first], n[second]), tolerance)


def _warn_of_small_groups(bound, estimates, tolerance, level):
    """Warn of groups whose limit exceeds the tolerance even without any success."""
    if tolerance >= 1.0:
        return
    minimum = int(np.ceil(np.log(1.0 - level) / np.log(1.0 - tolerance)))
    small = np.flatnonzero(estimates.counts < minimum)
    if len(small):
        warn(
            f"Nothing can be certified about groups with fewer than {minimum} people, at tolerance="
            f"{tolerance:g} and confidence_level={level:g}: "
            f"{_name_events(bound, estimates, small)}. Use more held-out data, or leave these "
            "groups out (min_group_size of the constraint)."
        )


def _warn_of_skewed_values(bound, estimates):
    """Warn of groups whose mean is hardly known, because values are skewed."""
    uncertain = np.flatnonzero(estimates.is_uncertain)
    if len(uncertain):
        warn(
            f"Values of these groups are too skewed for so few samples, or all equal: "
            f"{_name_events(bound, estimates, uncertain)}. A certificate may be wrong more often "
            "than confidence_level says. Use more held-out samples, or a bounded loss."
        )


def _name_events(bound, estimates, events):
    """Events with their numbers of samples, as text."""
    return join_names(
        f"{group!r} ({'' if cell == 'all' else cell + ': '}{estimates.counts[event]})"
        for event, (cell, group) in ((event, bound.labels[event]) for event in events)
    )


def _required_size(bound, estimates, certificate):
    """Samples of each group, and cell, at which the rest of the tolerance suffices, or None."""
    margin = certificate.tolerance - certificate.gap
    if not isinstance(estimates, Rates | LogRates) or margin <= _NO_MARGIN:
        return None
    n_groups = max(2, len({group for _, group in bound.labels}))
    plan = partial(
        required_sample_size, n_groups=n_groups, confidence_level=certificate.confidence_level
    )
    half = 0.5 / (estimates.sizes + 1.0)
    if isinstance(estimates, LogRates):
        # Plan with the smallest rate, whose logarithm has the largest variance.
        rate = np.clip(np.exp(estimates.values), half, 1.0 - half).min()
        ratio = (1.0 - certificate.tolerance) / (1.0 - certificate.gap)
        return plan(ratio=ratio, rate=float(rate))
    # Plan with the rate of largest variance, the one nearest to 1/2. Rates of 0 and 1 are moved
    # inwards by half a sample.
    rates = np.clip(estimates.values, half, 1.0 - half)
    rate = float(rates[np.abs(rates - 0.5).argmin()])
    return plan(min(margin, 0.99), rate=rate)


# Constraints on groups that are missing for some samples.


class _HiddenConstraint(NamedTuple):
    """A constraint bound to the samples with a record, and a model of the groups of the others.

    ``cells`` are masks of all samples by name, and ``positions`` those of groups by name.
    """

    bound: Any
    cells: dict
    positions: dict
    hidden: HiddenGroups
    odds_ratio: float

    @property
    def name(self):
        """Name of the constraint."""
        return self.bound.name

    @property
    def labels(self):
        """Cell and group of each event."""
        return self.bound.labels

    def gap(self, scores):
        """The gap if groups are missing at random."""
        estimates, forms = self._replace(odds_ratio=1.0).estimates(scores)
        return float(estimates.gap((forms @ estimates.values).max(initial=0.0)))

    def estimates(self, scores):
        """Ends of the rates, and the linear forms whose largest is the largest possible gap."""
        events = [(self.cells[cell], [self.positions[group]]) for cell, group in self.labels]
        counts = [self.hidden.count(mask)[group].item() for mask, group in events]
        if min(counts, default=MIN_RECORDED) < MIN_RECORDED:
            raise ValueError(
                f"missing='at_random' needs {MIN_RECORDED} recorded samples of each group in each "
                f"cell of {self.name}, but one has {min(counts)}. Record the group of more "
                "samples, or pass a larger min_group_size to the constraint."
            )
        values = self.bound.exact[0](scores, self.bound.target).value
        ends = self.hidden.ends(values, events, self.odds_ratio)
        forms, _ = separate_ends(self.bound.aggregate.linear_forms(len(events)))
        return self.bound.aggregate.estimates(ends), forms


def _bind_hidden(
    constraint, predictions, sensitive_features, sample_weight, X, odds_ratio, **params
):
    """As `bind_constraint`, of groups that are missing at random for some samples."""
    columns = {f"prediction {i}": column for i, column in enumerate(predictions)}
    groups = fill_missing(sensitive_features)
    samples, columns = check_columns(groups, sample_weight, **columns)
    target, scores = target_and_scores(metric_kind(constraint), columns, **params)
    # Bind to the groups that are known: other samples are in none.
    known = np.flatnonzero(~(samples.groups.labels == MISSING).any(axis=1))
    groups = samples.groups.select(known)
    samples = samples._replace(target=target, groups=groups, X=X)
    bound = constraint.bind(samples, StepFunction(), LogisticLoss(), tolerance=1.0)
    # A record may depend on decision and outcome.
    codes = np.full(len(scores), -1)
    members, codes_of_members = groups.memberships
    codes[members] = codes_of_members
    features = stack_features(X, [scores, target, scores * target])
    hidden = HiddenGroups(groups.names, codes, features)
    positions = {name: position for position, name in enumerate(groups.names)}
    cells = constraint.cells(samples)
    return _HiddenConstraint(bound, cells, positions, hidden, float(odds_ratio)), scores


def _check_missing(missing, odds_ratio, constraint, sample_weight):
    """Raise for what cannot be certified of groups that are missing for some samples."""
    if missing not in ("error", "at_random"):
        raise ValueError(f"missing must be one of 'error', 'at_random'; got {missing!r}.")
    if check_odds_ratio(odds_ratio) != 1.0 and missing == "error":
        raise ValueError(
            f"odds_ratio={odds_ratio!r} is about samples whose group is missing, but "
            "missing='error' was passed; pass missing='at_random', or leave it out."
        )
    if missing == "error":
        return
    if not constraint.counts_decisions or constraint.reference != "groups":
        raise ValueError(
            "missing='at_random' is for differences and ratios of rates of decisions between "
            f"groups, which {constraint} does not compare. Pass a constraint such as "
            "'demographic_parity' with reference='groups', or samples whose group is recorded."
        )
    if sample_weight is not None:
        raise ValueError(
            "missing='at_random' is not implemented for sample_weight; leave one of them out."
        )
