"""What estimators that are trained under constraints share: parameters, problems, docstrings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, is_classifier
from sklearn.metrics import accuracy_score, r2_score

from skfair._bound.bound import ConstraintSystem
from skfair._bound.units import LogScale, Unit, loss_in_unit
from skfair._fitting.input import loss_weights
from skfair._fitting.outcome import REPORT_ATTRIBUTE
from skfair._groups.samples import check_metric_input
from skfair._groups.state import PlainStateMixin
from skfair._partitions.collections import check_alignment
from skfair._problems.problem import ConstrainedProblem
from skfair._utils.api import MatrixLike, make_docstring_decorator
from skfair._utils.checks import check_column, join_names, resolve_name, to_floats
from skfair._utils.sklearn import CallbackSupportMixin
from skfair.constraints._constraint import bind_all
from skfair.losses import LOSSES, OBJECTIVES, is_of_positive_numbers, is_pairwise, loss_targets
from skfair.solvers import SOLVERS
from skfair.surrogates import Sigmoid

if TYPE_CHECKING:
    from sklearn.utils import Tags

    from skfair._fitting.input import TrainingData
    from skfair._problems.model import Model
    from skfair.constraints import Constraint
    from skfair.losses import Loss
    from skfair.solvers import Solver


# Estimators with a report of their constraint.


class ConstraintReportMixin(PlainStateMixin):
    """Mixin of estimators that store the columns of a constraint report, and no table."""

    _record_types = (*PlainStateMixin._record_types, LogScale, Unit)

    @property
    def constraint_report_(self) -> pd.DataFrame:
        """Report of the constraint, one row per rate: a table that is made when it is read."""
        if REPORT_ATTRIBUTE not in vars(self):
            others = [name for name in dir(type(self)) if name.endswith("_report_")]
            others.remove("constraint_report_")
            instead = f"; it has {join_names(others)}" if others else " before it is fitted"
            raise AttributeError(f"{type(self).__name__} has no constraint_report_{instead}.")
        return pd.DataFrame(vars(self)[REPORT_ATTRIBUTE])


# Base of all estimators that are trained under constraints.


class ConstrainedEstimator(ConstraintReportMixin, CallbackSupportMixin, BaseEstimator):
    """Base of the estimators that are trained under constraints, which declare their parameters."""

    __metadata_request__fit = {"sensitive_features": True}

    surrogate: Any = Sigmoid()
    """Smooth function in place of a decision; decisions are counted after every fit."""

    confidence_level: Any = None
    """Probability with which the population keeps the tolerances too; parameter of classifiers."""

    class_weight: Any = None
    """Weights of classes; a parameter of some classifiers."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


# The problem of a model under constraints.


def make_problem(
    estimator: BaseEstimator,
    model: Model,
    training: TrainingData,
    constraints: list[Constraint],
    loss: Loss | None = None,
) -> ConstrainedProblem:
    """The problem of a model with smooth rates; without a loss, the one of the estimator."""
    loss = resolve_name(OBJECTIVES, estimator.loss, "loss") if loss is None else loss
    unit = training.score_unit(loss)
    (all_bound,) = bind_all(
        constraints,
        [training.samples],
        surrogate=estimator.surrogate,
        loss=loss,
        unit=unit,
    )
    # Of a single group not even bounds that hold for one group.
    bound = [one for one in all_bound if not (training.lacks_groups and len(one.rows.lower))]
    # A loss of pairs can keep criteria at a threshold by moving all scores.
    for one in bound if is_pairwise(loss) else ():
        if one.sums.metric_input != "ranks" or one.gap.is_correctable:
            raise ValueError(
                f"{type(loss).__name__} ranks samples and has no threshold, but {one.name} is "
                "on decisions or on the losses of single samples; pass a constraint on ranks "
                '("partial_statistical_parity" or "partial_group_auc"), or '
                "loss='logistic'."
            )
    # Class weights count in the loss; rates of groups keep the sample weights.
    weights = loss_weights(estimator.class_weight, training)
    system = ConstraintSystem(tuple(bound))
    loss, _ = loss_in_unit(loss, unit)
    return ConstrainedProblem(
        model=model,
        loss=loss,
        target=training.samples.target,
        weights=weights,
        alpha=estimator.alpha,
        constraint=system,
    )


def check_loss(estimator: BaseEstimator, target: str, is_positive: bool = False) -> Loss:
    """The loss that an estimator's parameter names, or is, if it is for "classes" or "numbers".

    ``is_positive`` says that predictions may be of "positive numbers", too.
    """
    loss = resolve_name(OBJECTIVES, estimator.loss, "loss")
    if target not in loss_targets(loss) and not (is_positive and is_of_positive_numbers(loss)):
        known = [name for name in LOSSES if target in loss_targets(name)]
        raise ValueError(
            f"{type(estimator).__name__} predicts {target}, but loss={estimator.loss!r} is a loss "
            f"of {join_names(loss_targets(loss))}. Pass one of {known}, or a callable "
            "(scores, target) -> skfair.losses.Pointwise."
        )
    return loss


def make_solver(estimator: BaseEstimator) -> Solver:
    """The solver that an estimator's parameter names, or is."""
    solver = estimator.solver
    return SOLVERS[solver]() if isinstance(solver, str) else solver


# The default score of estimators whose predictions may depend on the group.


class GroupAwareScoreMixin:
    """``score`` of a classifier or regressor, which passes groups to ``predict``.

    It precedes scikit-learn's `ClassifierMixin` or `RegressorMixin` among the bases. A subclass
    that overrides ``score`` takes `sensitive_features` too, which all subclasses request.
    """

    __metadata_request__score = {"sensitive_features": True}
    predict: Any

    def score(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        sensitive_features: MatrixLike | None = None,
    ) -> float:
        """Accuracy of a classifier's decisions, or R^2 of a regressor's predictions.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            True classes or target.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights.
        sensitive_features : array-like, default=None
            Group of each sample; needed where ``predict`` needs it. With metadata routing,
            searches and pipelines pass it on.

        Returns
        -------
        score : float
            1 is best.

        Raises
        ------
        MissingSensitiveFeaturesError
            If predictions depend on the group and the groups are missing. A search scores this as
            its ``error_score``, nan by default.
        ValueError
            If the pandas indices of X, y and sample_weight differ: rows would be of other samples.
        """
        check_alignment(X=X, y=y, sample_weight=sample_weight)
        predicted = self.predict(X, sensitive_features=sensitive_features)
        groups = np.zeros(len(predicted))
        if not is_classifier(self):
            check_column("y", y)
            y = to_floats("y", y)
        samples, columns = check_metric_input(groups, sample_weight, y=y, predictions=predicted)
        measure = accuracy_score if is_classifier(self) else r2_score
        return measure(*columns, sample_weight=samples.weights)


# Docstring entries that the estimators trained under constraints share.


_PARAMETER_DOCS = """
tolerance : float, dict or None, default=None
    Largest gap allowed, in units of the constraint's public metric, for constraints that have
    neither a tolerance nor a ratio of their own; None is .05. A ValueError says so if all have
    others of their own. A dict has one for each attribute, as in ``{"sex": 0.03, "race": 0.05}``;
    a constraint that is passed by name then compares the groups of each attribute.
confidence_level : float between 0 and 1, or None, default=None
    Of repeated samples from one population, at most a share of ``1 - confidence_level`` lead to a
    fit that is guaranteed (``verdict_`` is "shown") and breaks a tolerance in this
    population. The training data is held to a smaller tolerance, which is checked by
    cross-validation: of linear models by leaving each sample out to first order. So of the
    guaranteed fits, at most ``1 - confidence_level`` over the share that is guaranteed are false:
    that is a good deal where a tolerance is nearly out of reach, and few samples are guaranteed.
    Samples are taken for independent, unless ``groups`` says otherwise. This is calibrated on
    redrawn samples, and no theorem (:ref:`new_data`). None guarantees the tolerance on the training
    data alone.
missing : str, default="error"
    What happens to samples whose group is missing (None or nan).

    - "error" raises an error.
    - "exclude" leaves them out of the groups, but not out of the loss.
    - "at_random" assumes that groups are missing at random: of samples of equal X and y, those with
      a group are as the others. Each sample without a group then counts in every group by the
      probability of it given X and y, which is estimated from the others. Some hundred recorded
      samples are needed, and audits of the decisions on recorded ones.
    - "sufficient" is for probabilities alone, passed to ``fit`` as ``group_probabilities``, which
      `ConstrainedClassifierCV` does not take. Groups do not depend on X and y among samples of
      equal probabilities, so that each sample counts in every group by its probability. Data cannot
      confirm it.
    - "independent" is for them too. The probabilities do not depend on X and y among samples of one
      group. The probability of each group given X and y is then estimated from their means.
loss : str or callable, default="logistic"
    Loss of a score: "logistic", "hinge", "squared_hinge", "squared" or "absolute", see
    :mod:`skfair.losses`; a callable maps (scores, target) to a `Pointwise`, with targets -1 and
    +1. The squared losses are half a square.
fit_intercept : bool, default=True
    Whether there is an intercept; it is not penalised.
group_interactions : bool or "intercept", default=False
    True: every group has its own coefficients. "intercept": groups share coefficients, and each
    has its own intercept. Either way predictions need each sample's group.
handle_unknown : {"error", "overall"}, default="error"
    What predictions that depend on the group do for samples of a group that was not seen at fit, or
    that is missing. "error" raises. "overall" warns, and predicts them by the mean over all groups,
    weighted as in training; no constraint is known to hold for them.
solver : str or Solver, default="sqp"
    A name in :data:`skfair.solvers.SOLVERS`, which takes its default settings, or an object, such
    as ``SQP(max_iter=20, tol=1e-8)``.
early_stopping : bool, default=False
    Whether some samples of each class of each group are held out from the training of the layers:
    it stops when neither their loss nor the violation falls any more, and the epoch of the least
    sum of both is taken. The last layer is fitted to all samples.
validation_fraction : float, default=0.1
    Share of the samples held out.
n_iter_no_change : int, default=10
    Epochs without improvement after which the training stops early.
class_weight : dict, "balanced" or None, default=None
    Weights of the classes in the loss, not in the constraint.
pos_label : int, float, bool or str, default=None
    The class that means success: the rates that are compared are its rates. None takes 1 if the
    labels are 0 and 1, -1 and 1 or booleans, and asks for it if they are others and groups are
    compared.
warm_start : bool, default=False
    Whether to start from the coefficients of the previous fit. Under a constraint on an interval
    of percentiles the previous model is also a candidate: it is taken if it keeps the tolerance
    and no other model has a smaller objective.
random_state : int, RandomState instance or None, default=None
    Seed of stochastic solvers; "sqp" uses none.
n_jobs : int or None, default=None
    Threads for data of more than 131,072 samples, which are divided into blocks of rows; the
    coefficients are the same to the bit for any number. None is 1 unless in a
    `joblib.parallel_config` context, -1 is all processors.
verbose : int, default=0
    Print every iteration if positive.
interval : pair of floats, list of pairs, dict of either by group, or None, default=None
    ``(alpha, beta)`` selects the samples with a rank in [alpha, beta), counted from the highest
    score: (0.0, 0.2) is the top fifth of each group. A list of pairs means their union. None is
    (0.0, 1.0), or the interval of the object that `constraint` is.
"""

_ATTRIBUTE_DOCS = """
classes_ : ndarray of shape (2,)
    Labels of the classes, ascending.
pos_label_ : label
    The positive class.
coef_ : ndarray of shape (1, n_features)
    Coefficients of the columns of X; not with ``group_interactions=True``.
intercept_ : ndarray of shape (1,)
    Intercept, with ``group_interactions=False``.
group_coef_ : ndarray of shape (n_groups, n_features)
    Coefficients of each group, with ``group_interactions=True``.
group_intercept_ : ndarray of shape (n_groups,)
    Intercept of each group, with ``group_interactions``.
multipliers_ : ndarray of shape (n_rows,)
    Multipliers of the rows of the last problem solved: the decrease of the objective per unit of
    tolerance.
objective_ : float
    Mean loss and penalty.
constraint_violation_ : float or None
    Largest excess of a gap over its tolerance by the public metric on the training data; 0 when all
    tolerances are kept. It is None if groups were to be compared, but there are no two, and if a
    gap is unknown, because nothing counts in the denominator of a group's rate: the status is then
    "infeasible".
verdict_ : {"shown", "open"}
    Whether the population is shown to keep the tolerance, with a probability of
    ``confidence_level``, in the words of a claim. It is open without that, too.
guarantee_probability_ : float or None
    Probability, estimated from decisions about samples left out, with which the population keeps
    the tolerance; None where ``confidence_level`` is None. Where it is less than that, it is a
    lower bound, for which standard errors are 1.3 times as large.
tolerances_ : list of float
    Tolerance of each constraint that was used, its own, that of the estimator or the default, as
    ``constraint_report_`` states it: of a regressor in units of the target, of a ratio or floor the
    ratio or the smallest value.
tightened_tolerances_ : list of float
    Tolerance that the training data was held to, for each constraint: less than was requested where
    ``confidence_level`` is given. That of a ratio or floor is the ratio or the smallest value: more
    than was requested.
guaranteed_tolerances_ : list of float or None
    The smallest tolerance of each constraint that this model keeps in the population with a
    probability of ``confidence_level``, whether or not the requested one is guaranteed; None where
    ``confidence_level`` is None. Several constraints have equal shares of the risk. Of a ratio or
    floor it is the largest that is kept.
assumption_ : str
    Unless ``missing="error"``: what gaps assume of samples whose group is not known; empty if there
    are none.
n_iter_ : int
    Iterations of the solver, over all problems solved.
groups_ : GroupSummary
    Labels and counts of the groups.
n_features_in_ : int
    Number of features seen during fit.
feature_names_in_ : ndarray of str
    Names of features seen during fit, if X has string column names.
thresholds_ : ndarray of shape (n_thresholds,)
    With one constraint, on ranks: the thresholds of the percentiles that groups share, on the scale
    of the scores, for "partial_statistical_parity"; empty for other criteria, the plain fit, and
    where a search kept the tolerance. There are as many as the constraint has percentiles, or more
    where so few did not show that groups differ.
"""

_FIT_DOCS = """
y : array-like of shape (n_samples,)
    Two classes, by labels of any kind.
sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes), or \
        sparse matrix of bool, shape (n_samples, n_groups), default=None
    Group of each sample, by labels of any kind; with several attributes, groups are the
    combinations that occur. The columns of a sparse matrix are groups that may overlap. None puts
    all samples in one group, with a warning.
group_probabilities : array-like of shape (n_samples, n_groups), default=None
    Probability of each group, such as that by names and places; a DataFrame names the groups. With
    ``missing="at_random"`` they are further features, by which groups that are missing from
    ``sensitive_features`` are estimated.
sample_weight : array-like of shape (n_samples,), default=None
    Non-negative weights, in the loss and in the rates; samples of weight 0 count as absent.
groups : array-like of shape (n_samples,), default=None
    With ``confidence_level``: samples of equal value belong together, such as several rows of one
    person or household, as in `~sklearn.model_selection.GroupKFold`. They are in one fold, and
    standard errors allow for their correlation. None takes all samples for independent. These are
    not the groups that are compared; those are ``sensitive_features``.
X_fit : array-like or sparse matrix, default=None
    Training data of the estimator, if it is fitted already (``cv="prefit"`` or a
    `~sklearn.frozen.FrozenEstimator`): X is compared with it, as by `skfair.audit.Audit.certify`.
"""

_PAPER_TEXT = """
.. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
   percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.
"""

_PARTIAL_REPORT_TEXT = """
constraint_report_ : DataFrame
    One row per group and threshold, with ``constraint``, ``event``, ``group`` and
    ``threshold``; ``n``, the number of samples; ``estimate``, the share of those in the
    interval of the group that scores above the threshold, and its ``standard_error``; and
    ``gap`` and ``tolerance`` of the constraint. Where all thresholds count, those midway
    between the groups' own percentiles are shown.
"""

_WITHOUT_GUARANTEE_TEXT = """
verdict_ : {"open"}
    Nothing is shown of the population: certify the model on held-out data.
guarantee_probability_ : None
    Unlike those of classifiers, tolerances of linear regressors and rankers are guaranteed
    on the training data alone.
guaranteed_tolerances_ : None
    Likewise.
tolerances_ : list of float
    Tolerance of each constraint that was used, of a regressor in units of the target.
tightened_tolerances_ : list of float
    Tolerance that the training data was held to: the requested one.
"""

estimator_docs = make_docstring_decorator(
    _PARAMETER_DOCS,
    _ATTRIBUTE_DOCS,
    _FIT_DOCS,
    paper=_PAPER_TEXT,
    partial_report=_PARTIAL_REPORT_TEXT,
    without_guarantee=_WITHOUT_GUARANTEE_TEXT,
)
"""Decorator that fills the placeholders of these entries in a docstring."""
