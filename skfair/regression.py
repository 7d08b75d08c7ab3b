"""Regressors whose predictions keep bounds on the gaps between groups."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from joblib import Memory
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin

from skfair._bound.units import LogScale
from skfair._fitting.input import standardize_target
from skfair._fitting.linear import (
    ConstrainedLinearEstimator,
    PercentileSolver,
    fit_percentiles,
    fit_samples,
)
from skfair._fitting.model import GroupAwareScoreMixin, check_loss, estimator_docs
from skfair._fitting.outcome import status_of, warn_of_cost, warn_of_outcome
from skfair._groups.arguments import FitArguments
from skfair._partitions.collections import row_by_row
from skfair._postprocessing.base_loss import find_rule_loss
from skfair._postprocessing.constrained_cv import (
    ConstrainedCV,
    check_exportable,
    check_rule_format,
    fit_rule,
    store_rule,
    write_rule,
)
from skfair._postprocessing.folds import Folds
from skfair._postprocessing.out_of_fold_scores import check_base_type
from skfair._utils.api import GroupName, MatrixLike, RandomState
from skfair._utils.fit import restore_on_failure
from skfair._utils.parameters import (
    Array,
    MissingGroups,
    NonNegative,
    OpenShare,
    ProbabilisticClassifier,
    Share,
    Tolerance,
    Verbose,
    make_constructor,
    validate_params,
)
from skfair._utils.sklearn import HasMethods, StrOptions, with_callbacks
from skfair.constraints import (
    CONSTRAINTS,
    Constraint,
    ConstraintLike,
    PartialDemographicParity,
    PartialStatisticalParity,
    applicable_constraint_names,
    check_applies_to_numbers,
    resolve_constraints,
)
from skfair.losses import AbsoluteLoss, Loss, LossName, QuantileLoss, SquaredLoss, TweedieLoss
from skfair.solvers import Solver, SolverName

if TYPE_CHECKING:
    from skfair._fitting.input import TrainingData
    from skfair._postprocessing.constrained_cv import Rule
    from skfair._postprocessing.scored_samples import ScoredSamples
    from skfair._utils.tables import Table, TableLike


# The base of linear regressors: training and predictions.


class LinearRegressor(GroupAwareScoreMixin, RegressorMixin, ConstrainedLinearEstimator):
    """Base of the linear regressors that are trained under constraints."""

    @row_by_row(lambda self: np.empty(0))
    def predict(self, X: MatrixLike, *, sensitive_features: MatrixLike | None = None) -> np.ndarray:
        """Prediction for each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.
        sensitive_features : array-like, default=None
            Group of each sample; needed with ``group_interactions``, else not used.

        Returns
        -------
        predictions : ndarray of shape (n_samples,)
        """
        return self._scores(X, sensitive_features)


# Linear regressors trained under fairness constraints that their predictions keep.


@estimator_docs
@make_constructor
class ConstrainedERMRegressor(LinearRegressor):
    r"""Linear regressor trained under fairness constraints.

    The fit looks for the smallest mean loss at which no gap between groups, such as the difference
    of their mean predictions, is larger than the tolerance:

    .. math::

        \min_{w, b} \; \frac{\sum_i \omega_i \, \ell(w \cdot x_i + b, y_i)}{\sum_i \omega_i}
        + \frac{\alpha}{2} |w|^2 \quad \text{s.t.} \quad gap(w, b) \le tolerance,

    with tolerances in units of the target, as metrics and :meth:`skfair.audit.Audit.certify` have
    them. The fit itself is one of target and predictions in standard deviations of the target, so
    that the penalty means the same for every target.

    Read more in the :ref:`guide <fair_regression>`.

    Parameters
    ----------
    constraint : str, Constraint, list of these, or None, default="mean_parity"
        What must be fair: "mean_parity", equal mean predictions; "loss_parity", equal mean losses;
        "partial_statistical_parity" or "partial_group_auc", equal ranks on an interval; an object,
        such as `skfair.constraints.BoundedGroupLoss`; or several, each held to its own tolerance.
        None is the plain fit.
    tolerance : float, dict or None, default=None
        Largest gap allowed, for constraints that have no tolerance of their own: of mean
        predictions and absolute errors in units of the target, of squared errors in their square,
        of ranks a share. None is .05 of a standard deviation of the training target, of its
        variance, or of the samples; ``constraint_report_`` has the number.
    {missing}
    loss : {"squared", "absolute", "quantile"} or callable, default="squared"
        Loss of a prediction: half the square or the absolute value of its error, or the
        `~skfair.losses.QuantileLoss` of the median; absolute losses are smoothed as by Huber. A
        callable (predictions, target) -> `skfair.losses.Pointwise`, such as ``QuantileLoss(0.9)``,
        gets both in units of the target.
    alpha : float, default=1e-4
        Strength of the l2 penalty, relative to a mean loss.
    {fit_intercept, group_interactions, handle_unknown}
    enforcement : {"auto"} or None, default="auto"
        "auto": ranks keep their tolerances by the public metric, and means keep theirs as they are.
        None: ranks keep theirs only in the problem with smooth surrogates of shares.
    {solver, warm_start, random_state, n_jobs, verbose}

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients of the columns of X; not with ``group_interactions=True``.
    intercept_ : float
        Intercept, with ``group_interactions=False``.
    {group_coef_, group_intercept_, thresholds_}
    {multipliers_}
    objective_ : float
        Mean loss and penalty, in units of the target for the absolute loss, else in their square.
    constraint_violation_ : float or None
        Largest excess of a gap over its tolerance on the training data; 0 when all are kept, up to
        the solver's ``tol`` for means; None without groups.
    constraint_report_ : DataFrame
        One row per mean that is compared, with ``constraint``, ``event`` and ``group``; ``n``, the
        number of samples; ``estimate`` of the mean and its ``standard_error``; and ``gap`` and
        ``tolerance`` of the constraint, in units of the target.
    {without_guarantee}
    status_ : {"optimal", "feasible", "stopped", "max_iter", "infeasible", "unconstrained"}
        "unconstrained": there are no two groups. Else "infeasible": the bound is not met. Else
        "stopped": a callback ended the fit. Else "max_iter": the solver did not
        converge. Else "feasible": the bound is on losses, and several starts of the solver ended at
        different objectives, of which this is the lowest; lower ones are possible, and a warning
        states a lower bound that is far from it. Else "optimal".
    {assumption_, n_iter_, groups_, n_features_in_, feature_names_in_}

    See Also
    --------
    PartialParityRegressor : Fair near a cut-off.
    sklearn.linear_model.Ridge : Without constraints.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.metrics import mean_score_difference
    >>> from skfair.regression import ConstrainedERMRegressor
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.integers(2, size=400)
    >>> X = rng.normal(size=(400, 3)) + sex[:, np.newaxis]
    >>> y = 100 * X.sum(axis=1) + rng.normal(size=400)
    >>> model = ConstrainedERMRegressor("mean_parity", tolerance=10.0)
    >>> predictions = model.fit(X, y, sensitive_features=sex).predict(X)
    >>> round(mean_score_difference(predictions, sensitive_features=sex), 1)
    10.0
    """

    __metadata_request__fit = {"group_probabilities": True}

    constraint: ConstraintLike | None = "mean_parity"
    _: KW_ONLY
    tolerance: Tolerance | None = None
    missing: MissingGroups = "error"
    loss: LossName | Loss = "squared"
    alpha: NonNegative = 1e-4
    fit_intercept: bool = True
    group_interactions: bool | Literal["intercept"] = False
    handle_unknown: Literal["error", "overall"] = "error"
    enforcement: Literal["auto"] | None = "auto"
    solver: SolverName | Solver = "sqp"
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
        group_probabilities: MatrixLike | None = None,
    ) -> Self:
        """Train the regressor.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features; also a collection of Dask or `skfair.datasets.open_blocks`, as are the others
            then. Constraints on partitioned data must be sums over samples: mean predictions and
            losses of groups, or "partial_statistical_parity" alone, solved by "sqp".
        y : array-like of shape (n_samples,)
            Real target.
        {sensitive_features}
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights, in the loss and in the means; samples of weight 0 count as absent.
        {group_probabilities}

        Returns
        -------
        self : ConstrainedERMRegressor
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data is invalid, or a constraint is one on classes; the message
            says what must hold.
        """
        validate_params(self)
        constraints = _resolve_constraints(self)
        arguments = FitArguments(
            X=X,
            y=y,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            group_probabilities=group_probabilities,
        )
        return fit_samples(self, arguments, constraints)


def _resolve_constraints(estimator: BaseEstimator) -> list[Constraint]:
    """The constraints of a regressor; raise, before data are read, for those on classes."""
    constraints = resolve_constraints(estimator.constraint, estimator.tolerance, is_real=True)
    for constraint in constraints:
        check_applies_to_numbers(constraint, type(estimator).__name__)
        if hasattr(constraint, "threshold"):
            names = applicable_constraint_names("numbers")
            raise ValueError(
                f"{constraint} compares decisions at a threshold of predictions; pass "
                "PartialParityRegressor(PartialDemographicParity(threshold=...)), or one of "
                f"{[name for name in names if not hasattr(CONSTRAINTS[name](), 'threshold')]}."
            )
    return constraints


# Linear regressors under fairness constraints on an interval of percentiles.


@estimator_docs
@make_constructor
class PartialParityRegressor(LinearRegressor):
    """Linear regressor whose predictions are fair on an interval of percentiles.

    Fits a real target under the constraints of
    :class:`skfair.classification.PartialParityClassifier`: among the samples of each group whose
    prediction ranks within the interval, the same share is above every threshold, up to a
    tolerance, or above a given one.

    Read more in the :ref:`guide <fair_regression>`.

    Parameters
    ----------
    constraint : {"partial_statistical_parity", "partial_demographic_parity"} or Constraint, \
            default="partial_statistical_parity"
        Whether the groups' shares above every threshold must be equal, or those above one, which an
        object has: ``PartialDemographicParity(interval, threshold=350.0)`` compares the
        shares of predictions above 350, in units of the target;
        ``PartialStatisticalParity(interval, width=50.0)`` has a ramp of 50.
    {interval}
    tolerance : float in [0, 1] or None, default=None
        Largest difference allowed by a constraint without its own tolerance; None is .05.
    {group_interactions, handle_unknown}
    enforcement : {"auto"} or None, default="auto"
        "auto": the tolerance holds for the training predictions, and is used up
        to .01 where it binds. None: for the ramp instead.
    loss : {"squared", "absolute", "quantile"} or callable, default="squared"
        Loss of a prediction: half the square or the absolute value of its error, or the
        `~skfair.losses.QuantileLoss` of the median; absolute losses are smoothed as by Huber. A
        callable (predictions, target) -> `skfair.losses.Pointwise`, such as ``QuantileLoss(0.9)``,
        gets both in units of the target.
    alpha : float, default=1e-4
        Strength of the l2 penalty, relative to a mean loss.
    {fit_intercept}
    solver : str or Solver, default="sqp"
        As in :class:`skfair.classification.PartialParityClassifier`, for a target of variance one.
    {warm_start, random_state}
    n_jobs : int or None, default=None
        Threads for large data ("partial_statistical_parity", solved by "sqp"); None is 1 unless in
        a :func:`joblib.parallel_config` context, -1 is all processors. The fit is the same to the
        bit for any number. "partial_demographic_parity" uses one thread: it selects samples by rank
        to count their decisions, which is no sum over blocks.
    {verbose}

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients of the columns of X; not with ``group_interactions=True``.
    intercept_ : float
        Intercept, with ``group_interactions=False``.
    {group_coef_, group_intercept_, thresholds_}
    {multipliers_}
    objective_ : float
        Mean loss and penalty, in units of the target for the absolute loss, else in their square.
    {constraint_violation_, partial_report, without_guarantee}
    status_ : {"optimal", "feasible", "stopped", "max_iter", "infeasible", "unconstrained"}
        "unconstrained": there are no two groups. Else "infeasible": the tolerance is not kept. Else
        "stopped": a callback ended the fit. Else "max_iter": the solver did not converge. Else
        "feasible": no problem that was solved has this solution. A random search on the difference
        itself found it, or a fit under a tighter tolerance that no coefficients keep. Else
        "optimal": the last problem solved is certified.
    {n_iter_, groups_, n_features_in_, feature_names_in_}

    See Also
    --------
    skfair.classification.PartialParityClassifier : For two classes, and more criteria.
    sklearn.linear_model.Ridge : Without constraints.

    References
    ----------
    {paper}

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.metrics import partial_statistical_parity_difference
    >>> from skfair.regression import PartialParityRegressor
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.integers(2, size=1000)
    >>> X = rng.normal(size=(1000, 3))
    >>> X[:, 0] += sex
    >>> y = 100 * X.sum(axis=1) + rng.normal(size=1000)
    >>> model = PartialParityRegressor(interval=(0.1, 0.4), tolerance=0.1)
    >>> predictions = model.fit(X, y, sensitive_features=sex).predict(X)
    >>> difference = partial_statistical_parity_difference(
    ...     predictions, sensitive_features=sex, interval=(0.1, 0.4)
    ... )
    >>> print(f"{difference:.2f}")
    0.10
    """

    constraint: (
        Annotated[str, StrOptions({"partial_statistical_parity", "partial_demographic_parity"})]
        | PartialStatisticalParity
        | PartialDemographicParity
    ) = "partial_statistical_parity"
    _: KW_ONLY
    interval: Array | dict[GroupName, Array] | None = None
    tolerance: Share | None = None
    group_interactions: bool | Literal["intercept"] = False
    handle_unknown: Literal["error", "overall"] = "error"
    enforcement: Literal["auto"] | None = "auto"
    loss: LossName | Loss = "squared"
    alpha: NonNegative = 1e-4
    fit_intercept: bool = True
    solver: PercentileSolver | Solver = "sqp"
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
    ) -> Self:
        """Train the regressor.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features; also a collection of Dask or `skfair.datasets.open_blocks`, as are the others
            then: for "partial_statistical_parity", solved by "sqp", without ``group_interactions``.
        y : array-like of shape (n_samples,)
            Real target.
        {sensitive_features, sample_weight}

        Returns
        -------
        self : PartialParityRegressor
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data is invalid, a constraint on decisions has no threshold, or a
            group has fewer than 20 samples in its interval; the message says what must hold.
        """
        arguments = FitArguments(
            X=X, y=y, sensitive_features=sensitive_features, sample_weight=sample_weight
        )
        return fit_percentiles(self, arguments)


# Any regressor, under constraints on its out-of-fold predictions.


@estimator_docs
@make_constructor
class ConstrainedRegressorCV(GroupAwareScoreMixin, RegressorMixin, ConstrainedCV):
    r"""Any regressor, with predictions that satisfy fairness constraints out of sample.

    The regressor is left as it is. A linear model of few features is trained under the constraints
    on top of it: the prediction :math:`f(x)`, for every group g that is compared

    .. math::

        \phi_g(x) = \frac{P(g \mid x)}{P(g)} - \frac{P(g_0 \mid x)}{P(g_0)},

    with :math:`g_0` the largest group, and the products :math:`f(x) \phi_g(x)`. Of all predictions
    that do not use the group, those of least squared error under equal means are
    :math:`f(x) + \sum_g \lambda_g \phi_g(x)`, if f is the mean of the target given x. The
    products serve constraints on losses [1]_ and on ranks. The linear model is trained on
    out-of-fold predictions and probabilities, so that what holds for the training data holds for
    new data too, up to sampling noise.

    By default it minimises the loss of the regressor, so that quantiles stay quantiles. For
    deviances of positive targets, such as that of counts, f and the prediction of the linear model
    are replaced by their logarithms, so that predictions are positive. Bounds are on predictions as
    they are. Predictions that keep the bound already are not changed. Those that miss it are fitted
    again, which can lower the loss below that of unchanged predictions under a looser bound.

    Read more in the :ref:`guide <any_regressor>`.

    Parameters
    ----------
    estimator : estimator, default=None
        Regressor of one target, a pipeline or a search. Clones of it are fitted, unless it is in a
        `~sklearn.frozen.FrozenEstimator`; then ``fit`` needs samples that it was not fitted to.
        None means `~sklearn.ensemble.HistGradientBoostingRegressor`.
    constraint : str, Constraint, list of these, or None, default="mean_parity"
        What must be fair, as in `ConstrainedERMRegressor`: "mean_parity", "loss_parity",
        "partial_statistical_parity" or "partial_group_auc", an object, such as
        `skfair.constraints.BoundedGroupLoss`, or several, each held to its own tolerance. None
        leaves predictions as they are, unless a `loss` is passed, which is then minimised.
    tolerance : float, dict or None, default=None
        Largest gap allowed, for constraints that have no tolerance of their own, as in
        `ConstrainedERMRegressor`: in units of the target, of ranks a share.
    {confidence_level}
    group_estimator : estimator, "sensitive_features" or None, default=None
        Classifier with ``predict_proba`` that estimates the group, from the features of the
        estimator's final step; it should not overfit. None means 15 trees of 4 leaves or logistic
        regression, whichever has the lower log-loss out of fold; sparse data always has the
        latter. "sensitive_features" estimates nothing: the features are the groups themselves, and
        predictions need the group of every sample.
    {handle_unknown}
        Predictions depend on the group with ``group_estimator="sensitive_features"``.
    loss : {"squared", "absolute", "quantile", "tweedie"}, callable or None, default=None
        Loss of a prediction that the linear model minimises, and that constraints on losses bound.
        None is that of the fitted estimator, which ``loss_`` shows: the squared, absolute and
        quantile loss, and deviances of Poisson, gamma and Tweedie, of regressors of scikit-learn,
        LightGBM, XGBoost and CatBoost, also in a pipeline, a search or a
        `~sklearn.frozen.FrozenEstimator`. Around any other estimator the model minimises the
        squared distance to the estimator's own predictions, and constraints bound squared errors.
        Names are those of `skfair.losses.LOSSES`: "squared" is half the square of the error;
        `~skfair.losses.QuantileLoss` and `~skfair.losses.TweedieLoss` have parameters. A callable
        (predictions, target) -> `skfair.losses.Pointwise` gets both in units of the target. A loss
        that is passed is minimised even where predictions keep the bound already.
    cv : int, splitter, iterable, "prefit", "oob" or None, default=None
        How samples are divided, so that each is predicted by models that were not fitted to it: an
        int or None (5 folds) stratifies by group; any splitter whose test folds do not overlap,
        and whose training rows exclude the test rows. Rows that no fold predicts train the
        regressors alone. "oob" fits one forest, and takes its out-of-bag predictions; in a
        pipeline, its preprocessing must not use y. "prefit" takes a fitted regressor as it is, and
        so does a `~sklearn.frozen.FrozenEstimator` with any ``cv``. The samples must then be others
        than those that it was fitted to. The models of groups always use folds: 5 with "prefit" and
        "oob".
    ensemble : bool, default=True
        Whether new samples get the mean of the folds' models, or one model of all samples.
    n_jobs : int or None, default=None
        Number of folds that are fitted in parallel.
    memory : str, joblib.Memory or None, default=None
        Folder where the fits of `estimator` are stored, as of `~sklearn.pipeline.Pipeline`: another
        fit to the same folds, such as one with another ``tolerance``, takes them from there. A fit
        with another parameter of `estimator`, other rows, targets or weights is another fit. An
        estimator with ``random_state=None`` is always fitted again.
    verbose : int, default=0
        If positive, print the regressors that are fitted, by fold, and every iteration of the
        problems that are solved for the final linear model.

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted regressors: one per fold, or only one.
    rule_coef_ : ndarray of shape (1 + n_columns,)
        Coefficients of the prediction, of the features :math:`\phi`, and of these times the
        prediction.
    rule_intercept_ : float
        Intercept.
    oof_prediction_ : ndarray of shape (n_samples,)
        Out-of-fold ``predict`` of the training samples; nan for those without weight.
    loss_ : callable
        Loss (predictions, target) -> `skfair.losses.Pointwise` that constraints with ``loss=None``
        take: the one that was passed, or that of the estimator; the squared loss if that is not
        known.
    objective_ : float
        Mean loss of ``oof_prediction_``, and the small penalty of the linear model. With
        ``loss=None`` around an estimator whose loss is not known, half the mean squared distance to
        the estimator's out-of-fold predictions takes the place of the loss.
    constraint_report_ : DataFrame
        One row per mean that is compared, of ``oof_prediction_``, an estimate of the means on new
        data; as in `ConstrainedERMRegressor`.
    constraint_violation_ : float or None
        Largest excess of a gap over its tolerance, by ``oof_prediction_``; 0 when all are kept, up
        to the solver's ``tol`` for means; None without groups.
    multipliers_ : ndarray of shape (n_rows,)
        Multipliers of the constraint's rows: the decrease of the objective per unit of tolerance.
    {tolerances_, verdict_, guarantee_probability_, tightened_tolerances_, guaranteed_tolerances_}
    status_ : {"optimal", "feasible", "stopped", "max_iter", "infeasible", "unconstrained"}
        As in `ConstrainedERMRegressor`, for the final linear model.
    n_iter_ : int
        Iterations of the solver.
    {groups_}
    n_features_in_ : int
        Number of features seen during fit, if the estimator knows it.
    feature_names_in_ : ndarray of str
        Names of features seen during fit, if the estimator knows them.

    See Also
    --------
    ConstrainedERMRegressor : A linear model, whose coefficients are trained under constraints.
    skfair.classification.ConstrainedClassifierCV : The same for any classifier.

    Notes
    -----
    On new data gaps vary around those of ``constraint_report_``.

    Metadata is routed to the ``fit`` of the estimator and to the splitter. ``sample_weight``
    reaches the estimator if its ``fit`` takes it; through a pipeline it has to be routed.

    References
    ----------
    .. [1] A. Agarwal, M. Dudík and Z. S. Wu, "Fair regression: quantitative definitions and
       reduction-based algorithms", ICML 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from skfair.metrics import mean_score_difference
    >>> from skfair.regression import ConstrainedRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.integers(2, size=1000)
    >>> X = rng.normal(size=(1000, 3)) + sex[:, np.newaxis]
    >>> y = 100 * X.sum(axis=1) + rng.normal(size=1000)
    >>> forest = RandomForestRegressor(n_estimators=50, random_state=0)
    >>> model = ConstrainedRegressorCV(forest, "mean_parity", tolerance=10.0, cv="oob")
    >>> model = model.fit(X, y, sensitive_features=sex)
    >>> round(mean_score_difference(model.oof_prediction_, sensitive_features=sex), 1)
    10.0
    >>> model.predict(X[:2]).shape
    (2,)
    """

    _record_types = (
        *ConstrainedCV._record_types,
        AbsoluteLoss,
        QuantileLoss,
        SquaredLoss,
        TweedieLoss,
    )

    may_leave_out_samples = True

    estimator: Annotated[BaseEstimator, HasMethods(["fit"])] | None = None
    constraint: ConstraintLike | None = "mean_parity"
    _: KW_ONLY
    tolerance: Tolerance | None = None
    confidence_level: OpenShare | None = None
    group_estimator: ProbabilisticClassifier | Literal["sensitive_features"] | None = None
    handle_unknown: Literal["error", "overall"] = "error"
    loss: LossName | Loss | None = None
    cv: Folds | None = None
    ensemble: bool = True
    n_jobs: int | None = None
    memory: str | Annotated[Memory, HasMethods(["cache"])] | None = None
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
        X_fit: MatrixLike | None = None,
        **params: Any,
    ) -> Self:
        """Fit the regressor, the models of groups, and the final linear model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Whatever the regressor takes.
        y : array-like of shape (n_samples,)
            Real target.
        {sensitive_features}
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights, in the means, and in all fits that take them; samples of weight 0
            count as absent.
        groups : array-like of shape (n_samples,), default=None
            Samples of equal value belong together, and are in one fold; standard errors with
            ``confidence_level`` allow for their correlation.
        {X_fit}
        **params : dict
            Further arguments of the regressor's ``fit``; with metadata routing, of all that request
            them.

        Returns
        -------
        self : ConstrainedRegressorCV
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data is invalid, `estimator` is no regressor, a constraint is one
            on classes, a fold leaves no sample of a group to learn from, most rows of X are in
            `X_fit`, or a loss of positive predictions is passed with an estimator whose predictions
            are not; the message says what must hold.
        """
        validate_params(self)
        scored = self._score_samples(
            X,
            y,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            groups=groups,
            X_fit=X_fit,
            **params,
        )
        return self._fit_rule(scored, X, y)

    def _find_constraints(self) -> list[Constraint]:
        """The constraints; raise for those on classes, for classifiers and for their losses."""
        check_base_type(self, self._base)
        constraints = _resolve_constraints(self)
        if self.loss is not None:
            check_loss(self, "numbers", is_positive=True)
        return constraints

    def _fit_rule(self, scored: ScoredSamples, X: TableLike, y: Table) -> Self:
        """Fit the final linear model to scored samples, and store what the fit is."""
        # The loss of the rule, and the scale on which it is linear.
        passed = None if self.loss is None else check_loss(self, "numbers", is_positive=True)
        loss = find_rule_loss(passed, scored.scorers.training, scored.scores)
        if loss.is_log:
            scored = scored._replace(
                per_class=[standardize_target(scored.training, True, is_log=True)]
            )
        rule = fit_rule(self, scored, loss)
        outcome, report, status = _describe_regressor(scored.per_class[0], rule)
        store_rule(self, y, scored, rule, outcome | {"loss_": loss.loss}, report, status)
        warn_of_outcome(self, rule.problem, rule.guarantee, rule.is_stopped, is_real=True)
        if len(rule.problem.constraint):
            plain = rule.features.unconstrained_parameters(rule.problem.model, [0.0])
            warn_of_cost(rule.problem, rule.guarantee.candidate.parameters, plain, is_real=True)
        scored.context.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    @row_by_row(lambda self: np.empty(0))
    def predict(self, X: MatrixLike, *, sensitive_features: MatrixLike | None = None) -> np.ndarray:
        """Prediction for each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Whatever the regressor takes.
        sensitive_features : array-like, default=None
            Group of each sample; needed with ``group_estimator="sensitive_features"``, else not
            used.

        Returns
        -------
        predictions : ndarray of shape (n_samples,)
        """
        _, predictions = self._columns_and_scores(X, sensitive_features)
        return self._unit.from_unit(predictions[:, 0])

    def export_rule(self, format: Literal["dict", "sql"] = "dict") -> dict[str, Any] | str:
        r"""Describe the prediction in plain numbers, to serve it elsewhere.

        With f the prediction of the regressor, and P the probabilities of events, both as
        `rule_inputs` returns them, the prediction is

        .. math:: a f + b + \sum_{e, g} (v_{0eg} + v_{1eg} f) P_{eg}.

        Where the ``link`` is "log", f is replaced by its logarithm, and the prediction is the
        exponential of this sum.

        Parameters
        ----------
        format : {"dict", "sql"}, default="dict"
            Numbers, or an expression of SQL. Its columns are ``score``, which is f, and ``p_e_g``
            for each event e and group g of `rule_inputs`, as ``p_0_1``.

        Returns
        -------
        rule : dict or str
            Numbers and lists, which can be stored as JSON. ``prediction`` is a, ``intercept`` is b,
            ``weights`` is v of shape (2, n_events, n_groups), and ``link`` is identity or log.
            Or the expression, in which LN is the natural logarithm.

        Raises
        ------
        ValueError
            If there is no such format.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.linear_model import LinearRegression
        >>> from skfair.regression import ConstrainedRegressorCV
        >>> rng = np.random.default_rng(0)
        >>> sex = rng.integers(2, size=400)
        >>> X = rng.normal(size=(400, 2)) + sex[:, np.newaxis]
        >>> y = X.sum(axis=1) + rng.normal(size=400)
        >>> model = ConstrainedRegressorCV(LinearRegression(), tolerance=0.1)
        >>> rule = model.fit(X, y, sensitive_features=sex).export_rule()
        >>> sorted(rule)
        ['intercept', 'link', 'prediction', 'weights']
        """
        check_exportable(self)
        is_log = isinstance(self._unit, LogScale)
        slope_of_prediction, _, weights = self._event_features.weights(self.rule_coef_, 0.0)
        constant, _, slope, _ = weights
        rule = {
            "prediction": slope_of_prediction,
            "intercept": self.rule_intercept_,
            "weights": [constant.tolist(), slope.tolist()],
            "link": "log" if is_log else "identity",
        }
        if not check_rule_format(format):
            return rule
        column = "LN(score)" if is_log else "score"
        score = (rule["prediction"], column)
        text = write_rule(score, rule["intercept"], ("1.0e0", column), rule["weights"])
        return f"EXP({text})" if is_log else text

    @property
    def _base(self) -> BaseEstimator:
        if self.estimator is not None:
            return self.estimator
        from sklearn.ensemble import HistGradientBoostingRegressor  # takes long to import

        return HistGradientBoostingRegressor(random_state=0)


def _describe_regressor(
    training: TrainingData, rule: Rule
) -> tuple[dict[str, Any], dict[str, Any], str]:
    """Fitted attributes of the final linear model, its report, and its status."""
    unit = training.unit
    problem = rule.problem
    candidate = rule.guarantee.candidate
    coef, intercept = problem.model.coefficients(candidate.parameters)
    coef, intercept = rule.features.convert_coefficients(coef, intercept, unit.rule_unit)
    report = problem.constraint.report_columns(candidate.scores)
    report["threshold"] = unit.from_unit(np.asarray(report["threshold"]))
    objective = problem.evaluate(problem.initial_point(candidate.parameters)).fun
    fitted = {
        "rule_coef_": coef,
        "rule_intercept_": intercept,
        "objective_": training.loss_unit(problem.loss) * objective,
        "oof_prediction_": unit.from_unit(candidate.scores),
        "_unit": type(unit)(),
    }
    tolerances = problem.constraint.tolerances
    return fitted, report, status_of(candidate, tolerances, "auto", rule.is_stopped)


# Regressors whose predictions are fair.


__all__ = ["ConstrainedERMRegressor", "ConstrainedRegressorCV", "PartialParityRegressor"]
