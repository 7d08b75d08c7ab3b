"""Classifiers trained under fairness constraints: linear ones, and networks."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skfair._fitting.input import check_training_data, refuse_partitioned, to_class_labels
from skfair._fitting.linear import (
    ConstrainedLinearEstimator,
    PercentileSolver,
    fit_percentiles,
    fit_samples,
)
from skfair._fitting.model import (
    ConstrainedEstimator,
    GroupAwareScoreMixin,
    check_loss,
    estimator_docs,
)
from skfair._fitting.network import fit_network, make_network_problem, solve_or_interrupt
from skfair._fitting.outcome import FitTask
from skfair._groups.arguments import FitArguments
from skfair._partitions.collections import row_by_row
from skfair._problems.mlp import MLPModel
from skfair._utils.api import GroupName, Label, MatrixLike, RandomState
from skfair._utils.checks import validate_data
from skfair._utils.fit import restore_on_failure
from skfair._utils.parameters import (
    Array,
    ClassWeight,
    MissingGroups,
    NonNegative,
    OpenShare,
    PositiveInt,
    Share,
    Tolerance,
    Verbose,
    make_constructor,
    validate_params,
)
from skfair._utils.sklearn import StrOptions, with_callbacks
from skfair.constraints import PARTIAL_CRITERIA, Constraint, ConstraintLike, resolve_constraints
from skfair.losses import AUCLoss, Loss, LossName, gives_log_odds
from skfair.solvers import IDCA, Solver, SolverName

if TYPE_CHECKING:
    from sklearn.utils import Tags

    from skfair._fitting.input import TrainingData
    from skfair._utils.tables import TableLike


# The base of linear classifiers: training, decisions and probabilities.


def check_logistic_loss(estimator: BaseEstimator) -> bool:
    """Whether scores are log-odds, for `available_if`, which shows the error otherwise."""
    if gives_log_odds(estimator.loss):
        return True
    raise AttributeError(
        "predict_proba needs loss='logistic', whose scores are log-odds, but this "
        f"{type(estimator).__name__} has loss={estimator.loss!r}."
    )


class BinaryClassifier(GroupAwareScoreMixin, ClassifierMixin):
    """Decisions and probabilities of two classes, from the score of each row.

    A subclass has the method ``_scores(X, sensitive_features)``, the parameter `loss`, and the
    fitted attributes ``classes_`` and ``pos_label_``.
    """

    __metadata_request__fit = {"sensitive_features": True, "groups": True}
    __metadata_request__predict = {"sensitive_features": True}
    __metadata_request__decision_function = {"sensitive_features": True}
    __metadata_request__predict_proba = {"sensitive_features": True}

    @row_by_row(lambda self: np.empty(0))
    def decision_function(
        self, X: MatrixLike, *, sensitive_features: MatrixLike | None = None
    ) -> np.ndarray:
        """Score of each row; above 0 it is the second of the ``classes_``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.
        sensitive_features : array-like, default=None
            Group of each sample; needed where predictions depend on the group, else not used.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        return self._scores(X, sensitive_features)

    @row_by_row(lambda self: self.classes_[:0])
    def predict(self, X: MatrixLike, *, sensitive_features: MatrixLike | None = None) -> np.ndarray:
        """Class of each row, by the sign of its score.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.
        sensitive_features : array-like, default=None
            Group of each sample; needed where predictions depend on the group, else not used.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        scores = self._scores(X, sensitive_features)
        # Scores are of the second class: a score of exactly 0 is no positive decision, whichever
        # that is.
        positive = scores > 0 if self.pos_label_ == self.classes_[1] else scores < 0
        return to_class_labels(positive, self.classes_, self.pos_label_)

    @available_if(check_logistic_loss)
    @row_by_row(lambda self: np.empty((0, 2)))
    def predict_proba(
        self, X: MatrixLike, *, sensitive_features: MatrixLike | None = None
    ) -> np.ndarray:
        """Probabilities of the classes; only for the logistic loss.

        A constraint moves whole groups, so that within a group the mean probability is not the rate
        of the positive class, even on the training data: in the guide, where men repay more often
        and decisions may differ by .05, the mean is .54 for women, while .50 of them repay, and .59
        for men, while .64 of them do. `~sklearn.calibration.CalibratedClassifierCV`, fitted to each
        group, gives probabilities that are right by group.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.
        sensitive_features : array-like, default=None
            Group of each sample; needed where predictions depend on the group, else not used.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, 2)
            In the order of ``classes_``.
        """
        scores = self._scores(X, sensitive_features)
        return np.column_stack((expit(-scores), expit(scores)))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class LinearClassifier(BinaryClassifier, ConstrainedLinearEstimator):
    """Base of the linear classifiers that are trained under constraints."""

    def to_sklearn(self) -> BaseEstimator:
        """Equal linear classifier of scikit-learn, without groups.

        Returns
        -------
        classifier : LogisticRegression or LinearSVC
            Fitted, with the same coefficients and decisions. A `LogisticRegression`, with the same
            probabilities, for the logistic loss; a `LinearSVC` for others, which have none.

        Raises
        ------
        ValueError
            If every group has its own coefficients or intercept.

        Examples
        --------
        >>> import numpy as np
        >>> from skfair.classification import ConstrainedERMClassifier
        >>> rng = np.random.default_rng(0)
        >>> X, sex = rng.normal(size=(200, 2)), rng.integers(2, size=200)
        >>> model = ConstrainedERMClassifier().fit(X, X[:, 0] > 0, sensitive_features=sex)
        >>> model.to_sklearn()
        LogisticRegression()
        """
        check_is_fitted(self)
        if self.group_interactions:
            raise ValueError(
                f"group_interactions={self.group_interactions!r} gives every group "
                f"{self._group_parameters_name} of its own, but a linear classifier of "
                "scikit-learn has one set; fit with group_interactions=False."
            )
        from sklearn.linear_model import LogisticRegression  # takes long to import
        from sklearn.svm import LinearSVC

        # Fitted attributes are set: scikit-learn's fit would move the coefficients.
        classifier = LogisticRegression() if gives_log_odds(self.loss) else LinearSVC()
        names = ("classes_", "coef_", "intercept_", "n_features_in_", "feature_names_in_")
        fitted = {name: getattr(self, name) for name in names if hasattr(self, name)}
        vars(classifier).update({name: np.array(value) for name, value in fitted.items()})
        classifier.n_features_in_ = self.n_features_in_
        classifier.n_iter_ = np.array([self.n_iter_])
        return classifier


# Linear classifiers trained under fairness constraints that their decisions keep.


@estimator_docs
@make_constructor
class ConstrainedERMClassifier(LinearClassifier):
    r"""Linear classifier trained under fairness constraints.

    The fit looks for the smallest mean loss at which no gap between groups, such as the difference
    of their selection rates, is larger than the tolerance:

    .. math::

        \min_{w, b} \; \frac{\sum_i \omega_i \, \ell(w \cdot x_i + b, y_i)}{\sum_i \omega_i}
        + \frac{\alpha}{2} |w|^2 \quad \text{s.t.} \quad gap(w, b) \le tolerance,

    where the gap is the public metric of the constraint, for demographic parity the largest minus
    the smallest selection rate of a group. It is the gap of the decisions on the training data that
    keeps the tolerance, not only that of a smooth surrogate, unless ``enforcement=None``. Where the
    fit without constraint keeps every bound, it is returned. On new data the gap differs by
    sampling noise; see ``constraint_report_`` for standard errors.

    Read more in the :ref:`guide <fair_classification>`.

    Parameters
    ----------
    constraint : str, Constraint, list of these, or None, default="demographic_parity"
        What must be fair: a name in :data:`skfair.constraints.CONSTRAINTS`, an object, or several,
        each held to its own tolerance; those on an interval of percentiles may be among them. None
        is the plain fit.
    {tolerance, confidence_level}
    {missing}
    enforcement : {"auto"} or None, default="auto"
        "auto": the public metric on the training data keeps its bound. None: only the smooth
        surrogate of the metric does, and the metric may exceed it.
    {loss}
    alpha : float, default=1e-4
        Strength of the l2 penalty on ``coef_``, relative to a mean loss.
    {fit_intercept, group_interactions, handle_unknown, solver, class_weight}
    {pos_label, warm_start}
    {random_state, n_jobs, verbose}

    Attributes
    ----------
    {classes_, pos_label_, coef_, intercept_, group_coef_, group_intercept_, thresholds_}
    {multipliers_, objective_, constraint_violation_}
    constraint_report_ : DataFrame
        One row per rate that is compared, with ``constraint``, ``event`` and ``group``; ``n``, the
        number of samples; ``threshold`` of the decisions counted (nan for mean losses; on the scale
        of ``decision_function``); ``estimate`` of the rate and its ``standard_error``; and ``gap``
        and ``tolerance`` of the constraint, of a ratio or floor the smallest ratio or value and its
        bound. It is empty if nothing was constrained. Groups that are not compared come last, with
        nan for gap and tolerance.
    {tolerances_, verdict_, guarantee_probability_, tightened_tolerances_, guaranteed_tolerances_}
    status_ : {"optimal", "feasible", "stopped", "max_iter", "infeasible", "unconstrained"}
        "unconstrained": groups were to be compared, but there are no two. Else "infeasible": the
        bound is not met. Else "stopped": a callback ended the fit. Else "max_iter": the solver did
        not converge. Else "feasible": the bound is kept, as by most good fits, by a model that
        exact searches have moved away from the point that the solver certified, to one with fewer
        errors, or by one that misses a tighter bound of the fit's own; or the bound is on losses,
        and several starts of the solver ended at different objectives. Else "optimal". It is about
        the training data; the population has ``verdict_``.
    {assumption_, n_iter_, groups_, n_features_in_, feature_names_in_}

    See Also
    --------
    sklearn.linear_model.LogisticRegression : Without constraints.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import ConstrainedERMClassifier
    >>> from skfair.metrics import demographic_parity_difference
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.integers(2, size=400)
    >>> X = rng.normal(size=(400, 3)) + sex[:, np.newaxis]
    >>> y = X.sum(axis=1) + rng.normal(size=400) > 1.5
    >>> model = ConstrainedERMClassifier("demographic_parity", tolerance=0.05)
    >>> decisions = model.fit(X, y, sensitive_features=sex).predict(X)
    >>> print(f"{demographic_parity_difference(y, decisions, sensitive_features=sex):.2f}")
    0.05
    """

    __metadata_request__fit = {"group_probabilities": True}

    constraint: ConstraintLike | None = "demographic_parity"
    _: KW_ONLY
    tolerance: Tolerance | None = None
    confidence_level: OpenShare | None = None
    missing: MissingGroups = "error"
    enforcement: Literal["auto"] | None = "auto"
    loss: LossName | Loss = "logistic"
    alpha: NonNegative = 1e-4
    fit_intercept: bool = True
    group_interactions: bool | Literal["intercept"] = False
    handle_unknown: Literal["error", "overall"] = "error"
    solver: SolverName | Solver = "sqp"
    class_weight: ClassWeight | None = None
    pos_label: Label | None = None
    warm_start: bool = False
    random_state: RandomState = None
    n_jobs: int | None = None
    verbose: Verbose = 0

    @restore_on_failure(one_blas_thread=True)
    @with_callbacks
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        sensitive_features: MatrixLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        group_probabilities: MatrixLike | None = None,
    ) -> Self:
        """Train the classifier.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features; also a collection of Dask or `skfair.datasets.open_blocks`, as are the others
            then. Constraints on partitioned data must be sums over samples: parities between
            groups and classes, solved by "sqp".
        {y, sensitive_features, sample_weight, groups, group_probabilities}

        Returns
        -------
        self : ConstrainedERMClassifier
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data is invalid, or the positive class is ambiguous; the message
            says what must hold.
        """
        validate_params(self)
        # Constraints by name become objects.
        constraints = resolve_constraints(self.constraint, self.tolerance)
        arguments = FitArguments(
            X=X,
            y=y,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            groups=groups,
            group_probabilities=group_probabilities,
        )
        return fit_samples(self, arguments, constraints)


# Linear classifiers under fairness constraints on an interval of percentiles.


@estimator_docs
@make_constructor
class PartialParityClassifier(LinearClassifier):
    r"""Linear classifier whose scores treat groups equally within an interval of percentiles.

    Fairness is required where decisions are contested, for instance among those ranked near the
    cut-off of an admission, and nowhere else. With :math:`F_k(h)` the share of group k that scores
    higher than h, and I the interval, partial statistical parity ([1]_, Definition 4.2) is

    .. math::

        \max_\theta \bigl| \Pr(h > \theta \mid k, F_k(h) \in I)
        - \Pr(h > \theta \mid k', F_{k'}(h) \in I) \bigr| \le tolerance

    for all groups. The fit minimises the mean loss and a penalty subject to ([1]_, (15))

    .. math::

        p \le S_k(\theta_p) \le p + \tau, \qquad
        S_k(\theta) = \operatorname{mean}_{i \in k} \, ramp((h_i - \theta) / width)

    at percentiles p on I, with thresholds :math:`\theta_p` shared by all groups. With
    ``enforcement="auto"`` :math:`\tau` is then chosen so that the difference itself, of the
    training scores, keeps the tolerance. On new data it differs by sampling noise, which is not
    small: perfectly fair scores of 16,000 samples differ by .03 on a quarter of the ranks.

    Read more in the :ref:`guide <partial_parity>`.

    Parameters
    ----------
    constraint : str or Constraint, default="partial_statistical_parity"
        What must be equal within the interval: the share above every threshold
        ("partial_statistical_parity"), or above the decision threshold
        ("partial_demographic_parity"); the same among the positive class
        ("partial_equal_opportunity"), or in both classes ("partial_equalized_odds"); or the
        probability that a member of one group scores above one of another ("partial_group_auc"). An
        object has further settings, such as ``PartialStatisticalParity(interval, scale="raw",
        n_percentiles=20)``, whose tolerance is in units of whole groups as in the published
        experiments, or ``PartialEqualOpportunity(interval, rank_within="class")``.
    {interval}
    tolerance : float in [0, 1] or None, default=None
        Largest difference allowed by a constraint without its own tolerance; None is .05.
    {confidence_level}
        "partial_group_auc" has none.
    {group_interactions, handle_unknown}
    enforcement : {"auto"} or None, default="auto"
        "auto": the tolerance holds for the training scores, and is used up to .01
        where it binds. None: the problem as written, :math:`\tau` from the tolerance.
    loss : {"logistic", "squared", "hinge", "auc"} or AUCLoss, default="logistic"
        Loss of a score; the hinge is smoothed at its breakpoint. "auc" and an
        :class:`~skfair.losses.AUCLoss` compare pairs instead ([1]_, D.2): they determine the order
        of ``decision_function`` alone, for "partial_statistical_parity" and "partial_group_auc",
        and ``predict`` has no meaningful threshold.
    alpha : float, default=1e-4
        Strength of the l2 penalty, relative to a mean loss. Groups of less than a few hundred with
        ``group_interactions=True`` need more, of the order of one over their size.
    {fit_intercept}
    solver : str or Solver, default="sqp"
        A name in :data:`skfair.solvers.SOLVERS` other than "proxy-lagrangian", which stops at a
        violation and a residual of the optimality conditions of 1e-4, or an object, such as
        ``SQP(max_iter=20, tol=1e-6)``. "idca" is the algorithm of [1]_.
    {pos_label, warm_start, random_state}
    n_jobs : int or None, default=None
        Threads for large data ("partial_statistical_parity", solved by "sqp"); None is 1 unless in
        a :func:`joblib.parallel_config` context, -1 is all processors. The fit is the same to the
        bit for any number. Others use one thread: they select samples by rank to count their
        decisions, or compare pairs, and neither is a sum over blocks.
    {verbose}

    Attributes
    ----------
    {classes_, pos_label_, coef_, intercept_, group_coef_, group_intercept_, thresholds_}
    {multipliers_, objective_, constraint_violation_, partial_report, guarantee_probability_}
    {tolerances_, verdict_, tightened_tolerances_, guaranteed_tolerances_}
    status_ : {"optimal", "feasible", "stopped", "max_iter", "infeasible", "unconstrained"}
        "unconstrained": there are no two groups. Else "infeasible": the tolerance is not kept. Else
        "stopped": a callback ended the fit. Else "max_iter": the solver did not converge. Else
        "feasible": no problem that was solved has this solution. A random search on the difference
        itself found it, or a fit under a tighter tolerance that no coefficients keep. Else
        "optimal": the last problem solved is certified.
    {n_iter_, groups_, n_features_in_, feature_names_in_}

    See Also
    --------
    ConstrainedERMClassifier : Fairness of the decisions about all samples.
    skfair.metrics.partial_statistical_parity_difference : The difference that is bounded.

    References
    ----------
    {paper}

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import PartialParityClassifier
    >>> from skfair.metrics import partial_statistical_parity_difference
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.integers(2, size=1000)
    >>> X = rng.normal(size=(1000, 3))
    >>> X[:, 0] += sex
    >>> y = X.sum(axis=1) + rng.normal(size=1000) > 1.5
    >>> model = PartialParityClassifier(interval=(0.1, 0.4), tolerance=0.1)
    >>> scores = model.fit(X, y, sensitive_features=sex).decision_function(X)
    >>> difference = partial_statistical_parity_difference(
    ...     scores, sensitive_features=sex, interval=(0.1, 0.4)
    ... )
    >>> print(f"{difference:.2f}")
    0.10
    """

    constraint: Annotated[
        str | Constraint, StrOptions(PARTIAL_CRITERIA), *PARTIAL_CRITERIA.values()
    ] = "partial_statistical_parity"
    _: KW_ONLY
    interval: Array | dict[GroupName, Array] | None = None
    tolerance: Share | None = None
    confidence_level: OpenShare | None = None
    group_interactions: bool | Literal["intercept"] = False
    handle_unknown: Literal["error", "overall"] = "error"
    enforcement: Literal["auto"] | None = "auto"
    loss: Annotated[str, StrOptions({"logistic", "squared", "hinge", "auc"})] | AUCLoss = "logistic"
    alpha: NonNegative = 1e-4
    fit_intercept: bool = True
    solver: PercentileSolver | Solver = "sqp"
    pos_label: Label | None = None
    warm_start: bool = False
    random_state: RandomState = None
    n_jobs: int | None = None
    verbose: Verbose = 0

    @classmethod
    def from_paper(
        cls,
        interval: tuple[float, float],
        tolerance: float,
        constraint: str = "partial_statistical_parity",
        **changes: Any,
    ) -> Self:
        r"""Problem (15) of [1]_ and its algorithm, as the results there have it.

        One linear model per group without penalty, the ramp of width 1 (smoothed over a twentieth
        of that at its breakpoints), ten percentiles, a tolerance in units of whole groups, initial
        coefficients of 0, and the surrogate's tolerance left as it is. Columns are standardised
        within each group. The paper has x, gamma and gamma x as columns: the same models, but other
        steps. With ``solver="sqp"`` a fit is faster and keeps the rows of (15) more closely
        (``python -m benchmarks partial-parity --cells speed``, 2026-11-25).

        It differs from the print in two further points. The tolerance is in units of whole groups:
        at ten percentiles p from :math:`\alpha` to :math:`\beta` the shares are between p and
        :math:`p + \kappa`. The paper prints :math:`\kappa (\beta - \alpha)` in place of
        :math:`\kappa` in (15) and (21), which is ``scale="normalized"``, and percentiles in
        :math:`[\alpha, \beta - \kappa (\beta - \alpha))`. Its experiments have ten in
        :math:`[\alpha, \beta)`, and the fairness in its tables falls to about
        :math:`1 - \kappa`, as it does here. With ``constraint="partial_demographic_parity"`` the
        minima in (21) distinguish three cases: the shares of the groups are close to each other,
        or none is far above :math:`\alpha`, or none far below :math:`\beta`. The constraint here
        requires the case that is nearest to the plain fit. ``python -m benchmarks
        partial-convergence`` has sharp breakpoints, the paper's columns, its :math:`\kappa` and
        percentiles, and all cases of (21).

        Parameters
        ----------
        interval : pair of floats
            The interval I.
        tolerance : float
            Largest difference of shares above a threshold, :math:`\kappa` in units of whole groups.
            The print has :math:`\kappa` times the width of the interval, with which the published
            results do not agree.
        constraint : str, default="partial_statistical_parity"
            Name of the constraint. "partial_demographic_parity" is problem (21) with the same
            :math:`\kappa`, and of its minima the case that is nearest to the plain fit.
            ``benchmarks/papers/partial_fairness/problem_21.py`` has (21) with all its cases.
        **changes
            Other parameters that should differ.

        Returns
        -------
        classifier : PartialParityClassifier

        References
        ----------
        {paper}
           Section G.2.

        Examples
        --------
        >>> from skfair.classification import PartialParityClassifier
        >>> PartialParityClassifier.from_paper((0.05, 0.3), 0.1).constraint.scale
        'raw'
        """
        fitted = PARTIAL_CRITERIA[constraint](interval, width=1.0)
        # Shares of whole groups, as in the paper's numbers; some constraints have no scale.
        if "scale" in fitted.get_params():
            fitted.set_params(scale="raw")
        settings = {
            "tolerance": tolerance,
            "group_interactions": True,
            "enforcement": None,
            "alpha": 0.0,
            "solver": IDCA.from_paper(),
        }
        return cls(fitted, **(settings | changes))

    @restore_on_failure(one_blas_thread=True)
    @with_callbacks
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        sensitive_features: MatrixLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Train the classifier.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features; also a collection of Dask or `skfair.datasets.open_blocks`, as are the others
            then: for "partial_statistical_parity", solved by "sqp", without ``confidence_level``
            and ``group_interactions``.
        {y, sensitive_features, sample_weight, groups}

        Returns
        -------
        self : PartialParityClassifier
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data is invalid, the positive class is ambiguous, or a group has
            fewer than 20 samples in its interval; the message says what must hold.
        """
        arguments = FitArguments(
            X=X,
            y=y,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            groups=groups,
        )
        return fit_percentiles(self, arguments)


# A multi-layer perceptron trained under fairness constraints that its decisions keep.


def _find_layers(estimator: ConstrainedMLPClassifier, model: MLPModel) -> np.ndarray | None:
    """Model parameters to start from: those of an earlier fit, or None, if they are drawn."""
    if not (estimator.warm_start and hasattr(estimator, "coefs_")):
        return None
    shapes = [np.shape(coef) for coef in estimator.coefs_]
    new_shapes = [np.shape(weights) for weights, _ in model.layers(model.ridge(0.0))]
    if shapes != new_shapes:
        raise ValueError(
            f"warm_start=True starts from the previous fit's layers of shapes {shapes}, but "
            f"those of this fit are {new_shapes}; pass warm_start=False."
        )
    start = model.parameters(estimator.coefs_, estimator.intercepts_)
    # Stored scores are of the second class, those of a fit of the positive class.
    is_negated = estimator.pos_label_ != estimator.classes_[1]
    start[-shapes[-1][0] - 1 :] *= -1.0 if is_negated else 1.0
    return start


def _describe_layers(
    _: ConstrainedMLPClassifier, model: MLPModel, parameters: np.ndarray, training: TrainingData
) -> dict[str, Any]:
    """The fitted attributes that predictions need."""
    coefs, intercepts = model.coefficients(parameters)
    # Stored scores are of the second class, those of a fit of the positive class: the unit has
    # the sign.
    coefs[-1] = training.unit.spread * coefs[-1]
    intercepts[-1] = training.unit.from_unit(intercepts[-1])
    return {
        "coefs_": [coef.copy() for coef in coefs],
        "intercepts_": [intercept.copy() for intercept in intercepts],
        "classes_": training.classes,
        "pos_label_": training.pos_label,
        "groups_": training.samples.groups.summary,
    }


@estimator_docs
@make_constructor
class ConstrainedMLPClassifier(BinaryClassifier, ConstrainedEstimator):
    r"""Multi-layer perceptron trained under fairness constraints.

    Minimises, over the weights w of all layers, the mean loss subject to bounds on gaps between
    groups, as :class:`ConstrainedERMClassifier` does for linear scores. All layers are trained on
    mini-batches with smooth rates. Then the last layer is fitted again, those before it held fixed:
    in it scores are linear, so that the decisions on the training data keep the tolerance exactly
    as those of a linear model do. Columns are standardised inside.

    Read more in the :ref:`guide <networks>`.

    Parameters
    ----------
    constraint : str, Constraint, list of these, or None, default="demographic_parity"
        What must be fair, as in :class:`ConstrainedERMClassifier`. Constraints on intervals of
        percentiles compare ranks, which batches do not show: the last layer alone keeps them, but
        with ``solver="stochastic-idca"`` all layers learn them.
    {tolerance, confidence_level}
    enforcement : {"auto"} or None, default="auto"
        "auto": the last layer is moved until the public metric on the training data keeps the
        bound. None: the network as the solver leaves it, for comparisons.
    hidden_layer_sizes : int or array-like of int, default=(64, 32)
        Units of each hidden layer.
    activation : {"relu", "tanh"}, default="relu"
        Activation of the hidden units.
    loss : str or callable, default="logistic"
        Loss of a score, as in :class:`ConstrainedERMClassifier`.
    alpha : float or None, default=None
        Strength of the l2 penalty on the weights of all layers, relative to a mean loss. None is 5
        over the number of samples, since few samples are memorised, at least 2e-3. With weights it
        is 5 times the smallest one over their sum, so that a weight of 2 equals a repeated sample.
    solver : str or Solver, default="adam-pd"
        A name in :data:`skfair.solvers.SOLVERS`, which takes its default settings, or an object,
        such as ``AdamPrimalDual(max_iter=50, learning_rate=1e-3)`` of :mod:`skfair.solvers`.
        Iterations are epochs, and an epoch is feasible if its violation is at most the solver's
        ``tol``. Solvers that need second derivatives or a linear model are refused.
    {early_stopping, validation_fraction, n_iter_no_change, class_weight, pos_label}
    warm_start : bool, default=False
        Whether to start from the layers of the previous fit.
    random_state : int, RandomState instance or None, default=None
        Seed of the first weights, of the batches and of the samples held out.
    verbose : int, default=0
        Print every epoch if positive.

    Attributes
    ----------
    {classes_, pos_label_}
    coefs_ : list of ndarray of shape (fan_in, fan_out)
        Weights of each layer, for the columns of X as passed.
    intercepts_ : list of ndarray of shape (fan_out,)
        Biases of each layer.
    loss_curve_ : list of float
        Objective after each epoch, on the samples trained on.
    validation_loss_curve_ : list of float
        The same on the samples held out, with ``early_stopping=True``.
    {multipliers_, objective_, constraint_violation_}
    constraint_report_ : DataFrame
        One row per rate that is compared, as in :class:`ConstrainedERMClassifier`.
    {tolerances_, verdict_, guarantee_probability_, tightened_tolerances_, guaranteed_tolerances_}
    status_ : {"optimal", "feasible", "stopped", "max_iter", "infeasible", "unconstrained"}
        As in :class:`ConstrainedERMClassifier`, of the last layer: no method certifies the others.
        With ``enforcement=None`` it is that of the training.
    n_iter_ : int
        Epochs.
    {groups_, n_features_in_, feature_names_in_}

    See Also
    --------
    ConstrainedERMClassifier : Linear scores, for which the whole fit is certified.
    sklearn.neural_network.MLPClassifier : Without constraints.

    Notes
    -----
    Ctrl-C ends the training: as for `~sklearn.neural_network.MLPClassifier` a warning says so, the
    last epoch that is complete is kept (the best one with ``early_stopping`` or a solver that
    returns the best), and its last layer enforced. Before the first epoch is over, and while the
    last layer is enforced, it leaves the earlier fit as it was.

    Fits of several `random_state` end at different local minima. With the default settings and 800
    samples, objectives of six seeds differed by 2 % on one data set and by 29 % on another, and
    errors by 2 to 4 percentage points. Where that matters, fit several and compare `objective_`.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import ConstrainedMLPClassifier
    >>> from skfair.metrics import demographic_parity_difference
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.integers(2, size=400)
    >>> X = rng.normal(size=(400, 2)) + 0.5 * sex[:, np.newaxis]
    >>> y = X[:, 0] * X[:, 1] > 0.2
    >>> model = ConstrainedMLPClassifier(tolerance=0.05, hidden_layer_sizes=16, random_state=0)
    >>> decisions = model.fit(X, y, sensitive_features=sex).predict(X)
    >>> print(f"{demographic_parity_difference(y, decisions, sensitive_features=sex):.2f}")
    0.02
    """

    constraint: ConstraintLike | None = "demographic_parity"
    _: KW_ONLY
    tolerance: Tolerance | None = None
    confidence_level: OpenShare | None = None
    enforcement: Literal["auto"] | None = "auto"
    hidden_layer_sizes: Array | PositiveInt = (64, 32)
    activation: Literal["relu", "tanh"] = "relu"
    loss: LossName | Loss = "logistic"
    alpha: NonNegative | None = None
    solver: SolverName | Solver = "adam-pd"
    early_stopping: bool = False
    validation_fraction: OpenShare = 0.1
    n_iter_no_change: PositiveInt = 10
    class_weight: ClassWeight | None = None
    pos_label: Label | None = None
    warm_start: bool = False
    random_state: RandomState = None
    verbose: Verbose = 0

    @restore_on_failure(one_blas_thread=False)
    @with_callbacks
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        sensitive_features: MatrixLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Train the classifier.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.
        {y, sensitive_features, sample_weight, groups}

        Returns
        -------
        self : ConstrainedMLPClassifier
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data is invalid, or the positive class is ambiguous; the message
            says what must hold.
        """
        validate_params(self)
        # Constraints by name become objects; groups are requested only if there are any.
        constraints = resolve_constraints(self.constraint, self.tolerance)
        arguments = FitArguments(
            X=X,
            y=y,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            groups=groups,
        )
        refuse_partitioned(self, X)
        training = check_training_data(self, arguments, bool(constraints))
        sizes = tuple(np.ravel(self.hidden_layer_sizes).tolist())
        features = training.X.astype(float, copy=False)  # trainings choose the precision
        weights = training.samples.weights
        model = MLPModel.from_features(features, weights, sizes, self.activation)
        loss = check_loss(self, "classes")
        # Penalty of many samples, where `alpha=None`.
        problem = make_network_problem(self, model, training, constraints, loss, 2e-3)
        task = FitTask.begin(self, X, y, training, problem, _describe_layers)
        return fit_network(task, problem, _find_layers(self, model), solve_or_interrupt)

    def _scores(self, X: TableLike, sensitive_features: TableLike | None = None) -> np.ndarray:
        """Score of each row."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=float, reset=False)
        sizes = tuple(coef.shape[1] for coef in self.coefs_[:-1])
        model = MLPModel(X, sizes, self.activation)
        return model.evaluate(model.parameters(self.coefs_, self.intercepts_)).scores
