"""Regressors whose predictions are fair."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin, clone

from skfair.constraints import (
    CONSTRAINTS,
    Constraint,
    PartialDemographicParity,
    PartialStatisticalParity,
    refuse_inapplicable,
)
from skfair.partitions import is_partitioned, row_by_row
from skfair.training import (
    MISSING_GROUPS,
    ConstrainedLinearModel,
    GroupScoreMixin,
    PartialParityModel,
    check_real_training,
    document,
    expect_groups,
    fit_collected,
    make_criterion,
    refuse_missing_groups,
    resolve_constraints,
    standardize_target,
)
from skfair.utils._api import MatrixLike, RandomState
from skfair.utils._fit import restore_on_failure
from skfair.utils._sklearn import Interval, StrOptions, validate_params, with_callbacks

if TYPE_CHECKING:
    from skfair.solvers import Solver


# The base of linear regressors: training and predictions.


class LinearRegressor(GroupScoreMixin, RegressorMixin, ConstrainedLinearModel):
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

    def _train(self, X, y, metadata, constraints, request):
        """Fit to data in memory or partitioned data; ``request`` is as in `check_training`.

        The target is in units of its standard deviation, and so are the thresholds of constraints.
        """
        # Partitioned data are fitted by sums over partitions, or collected if they are few.
        if is_partitioned(X, y, *metadata.values()):
            return fit_collected(self, X, y, metadata, constraints)
        request = request if constraints else None
        refuse_missing_groups(self, constraints, self.group_interactions)
        training = expect_groups(check_real_training(self, X, y, metadata, request))
        # Penalty and tolerances must not depend on the unit of y: fit it in standard deviations.
        training = standardize_target(training, self.fit_intercept)
        constraints = [_rescale_threshold(constraint, training.unit) for constraint in constraints]
        return self._fit(X, y, training, constraints)


def _rescale_threshold(constraint, unit):
    """The constraint on a target in other units."""
    # Parities of means and ranks have no threshold in the unit of y.
    if not hasattr(constraint, "threshold"):
        return constraint
    # A copy: the parameter of the estimator keeps the unit of y.
    return clone(constraint).set_params(threshold=unit.to_unit(constraint.threshold))


# Linear regressors trained under fairness constraints that their predictions keep.


_NAMES = ["loss_parity", "mean_parity", "partial_group_auc", "partial_statistical_parity"]


@document
class ConstrainedERMRegressor(LinearRegressor):
    r"""Linear regressor trained under fairness constraints.

    The fit looks for the smallest mean loss at which no gap between groups, such as the difference
    of their mean predictions, is larger than the tolerance:

    .. math::

        \min_{w, b} \; \frac{\sum_i \omega_i \, \ell(w \cdot x_i + b, y_i)}{\sum_i \omega_i}
        + \frac{\alpha}{2} |w|^2 \quad \text{s.t.} \quad gap(w, b) \le tolerance,

    with target and predictions in units of the target's standard deviation, so that losses and
    tolerances mean the same for every target: a tolerance of .05 on mean predictions is a twentieth
    of a standard deviation. Predictions are in units of the target again.

    Parameters
    ----------
    constraint : str, Constraint, list of these, or None, default="mean_parity"
        What must be fair: "mean_parity", equal mean predictions; "loss_parity", equal mean losses;
        "partial_statistical_parity" or "partial_group_auc", equal ranks on an interval; an object,
        such as `skfair.constraints.BoundedGroupLoss`; or several, each held to its own tolerance.
        None is the plain fit.
    tolerance : float, default=0.05
        Largest gap allowed, for constraints that have no tolerance of their own. Mean predictions
        and absolute losses are in standard deviations of the training target (``target_scale_``),
        squared losses in their square: 0.05 allows mean predictions to differ by
        ``0.05 * target_scale_`` in units of the target. Ranks are shares, in no unit.
        :func:`skfair.audit.certify` reads its tolerance in units of the target and prints both.
    {min_group_size}
        A constraint's own ``min_group_size`` takes precedence. With ``group_interactions`` these
        groups share the parameters of the largest group.
    {missing}
    loss : {"squared", "absolute"}, default="squared"
        Loss of a prediction, half the square or the absolute value of its error; the absolute loss
        is smoothed as by Huber.
    alpha : float, default=1e-4
        Strength of the l2 penalty, relative to a mean loss.
    {fit_intercept, group_interactions, handle_unknown}
    enforcement : {"auto"} or None, default="auto"
        "auto": ranks keep their tolerances by the public metric, and means keep theirs as they are.
        None: for ranks the smooth problem as the papers write it.
    {solver, warm_start, random_state, n_jobs, verbose}

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients of the columns of X; not with ``group_interactions=True``.
    intercept_ : float
        Intercept, with ``group_interactions=False``.
    {group_coef_, group_intercept_}
    target_scale_ : float
        The target's standard deviation: the unit of losses, gaps and tolerances.
    {multipliers_, objective_}
    constraint_violation_ : float
        Largest excess of a gap over its tolerance on the training data; 0 when all are kept, up to
        the solver's ``tol`` for means; nan without groups.
    constraint_report_ : DataFrame
        One row per mean that is compared: its constraint, cell, group, number n of samples, its
        value and standard error, and gap and tolerance of the constraint; means of predictions
        count from the mean of the target.
    {uncertified}
    status_ : {"optimal", "feasible", "max_iter", "infeasible", "unconstrained"}
        "unconstrained": there are no two groups. Else "infeasible": the bound is not met. Else
        "max_iter": the solver stopped before its own test. Else "optimal". ("feasible", a certified
        model that was moved afterwards, does not occur here.)
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
    >>> model = ConstrainedERMRegressor("mean_parity", tolerance=0.05)
    >>> predictions = model.fit(X, y, sensitive_features=sex).predict(X)
    >>> difference = mean_score_difference(predictions, sensitive_features=sex)
    >>> bool(difference <= 0.05001 * model.target_scale_)
    True
    """

    _parameter_constraints = {
        **LinearRegressor._parameter_constraints,
        "constraint": [StrOptions(CONSTRAINTS), Constraint, list, tuple, None],
        "tolerance": [Interval(Real, 0, None, closed="left")],
        "missing": [StrOptions(MISSING_GROUPS)],
        "loss": [StrOptions({"squared", "absolute"})],
        "enforcement": [StrOptions({"auto"}), None],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        constraint: str | Constraint | list | None = "mean_parity",
        *,
        tolerance: float = 0.05,
        min_group_size: int | Literal["auto"] = "auto",
        missing: Literal["error", "at_random"] = "error",
        loss: Literal["squared", "absolute"] = "squared",
        alpha: float = 1e-4,
        fit_intercept: bool = True,
        group_interactions: bool | Literal["intercept"] = False,
        handle_unknown: Literal["error", "overall"] = "error",
        enforcement: Literal["auto"] | None = "auto",
        solver: str | Solver = "sqp",
        warm_start: bool = False,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.constraint = constraint
        self.tolerance = tolerance
        self.min_group_size = min_group_size
        self.missing = missing
        self.loss = loss
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.group_interactions = group_interactions
        self.handle_unknown = handle_unknown
        self.enforcement = enforcement
        self.solver = solver
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

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
            then. Constraints on partitioned data must be sums over samples: mean predictions and
            losses of groups, or "partial_statistical_parity" alone, solved by "sqp".
        y : array-like of shape (n_samples,)
            Real target.
        {sensitive_features}
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights, in the loss and in the means; samples of weight 0 count as absent.

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
        # Refuse constraints on classes before any data are read.
        constraints = resolve_constraints(self.constraint)
        for constraint in constraints:
            _check_constraint(constraint)
        metadata = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
        request = f"constraint={self.constraint!r} compares groups"
        return self._train(X, y, metadata, constraints, request)

    def _predictor(self, model, parameters, training):
        # Coefficients are in the units of y; the scale shows what tolerances are relative to.
        predictor = super()._predictor(model, parameters, training)
        return predictor | {"target_scale_": training.unit.spread}


def _check_constraint(constraint):
    """Raise for a constraint that has no meaning for a real target."""
    refuse_inapplicable(constraint, "ConstrainedERMRegressor")
    if hasattr(constraint, "threshold"):
        raise ValueError(
            f"{constraint} compares decisions at a threshold of predictions; pass "
            "PartialParityRegressor(PartialDemographicParity(threshold=...)), or one of "
            f"{_NAMES}."
        )


# Linear regressors under fairness constraints on an interval of percentiles.


@document
class PartialParityRegressor(PartialParityModel, LinearRegressor):
    """Linear regressor whose predictions are fair on an interval of percentiles.

    Fits a real target under the constraints of
    :class:`skfair.classification.PartialParityClassifier`: among the samples of each group whose
    prediction ranks within the interval, the same share is above every threshold, up to a
    tolerance, or above a given one.

    Parameters
    ----------
    criterion : {"statistical_parity", "demographic_parity"} or Constraint, \
            default="statistical_parity"
        Whether the groups' shares above every threshold must be equal, or those above 0. An object
        has further settings: ``PartialDemographicParity(interval, threshold=350.0)`` compares the
        shares of predictions above 350, in units of the target;
        ``PartialStatisticalParity(interval, width=1.0)`` is a ramp of one standard deviation.
    {interval}
    tolerance : float in [0, 1], default=0.05
        Largest difference allowed, unless the criterion has its own tolerance.
    {min_group_size}
        With ``group_interactions`` these groups share the parameters of the largest group.
    {group_interactions, handle_unknown}
    enforcement : {"auto", "calibration"} or None, default="auto"
        "auto" and "calibration": the tolerance holds for the training predictions, and is used up
        to .01 where it binds. None: for the ramp instead.
    loss : {"squared", "absolute"}, default="squared"
        Loss of a prediction; the absolute loss is smoothed as by Huber.
    alpha : float, default=1e-4
        Strength of the l2 penalty, relative to a mean loss.
    {fit_intercept}
    solver : str or Solver, default="sqp"
        As in :class:`skfair.classification.PartialParityClassifier`, for a target of variance one.
    {warm_start, random_state}
    n_jobs : int or None, default=None
        Threads for large data ("statistical_parity", solved by "sqp"); None is 1 unless in a
        :func:`joblib.parallel_config` context, -1 is all processors. The fit is the same to the bit
        for any number. "demographic_parity" uses one thread: it selects samples by rank to count
        their decisions, which is no sum over blocks.
    {verbose}

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients of the columns of X; not with ``group_interactions=True``.
    intercept_ : float
        Intercept, with ``group_interactions=False``.
    {group_coef_, group_intercept_, thresholds_}
    multipliers_ : ndarray of shape (n_rows,)
        Multipliers of the rows of the last problem solved, for a target of variance one.
    objective_ : float
        Mean loss and penalty, for a target of variance one.
    {constraint_violation_, partial_report, uncertified}
    status_ : {"optimal", "feasible", "max_iter", "infeasible", "unconstrained"}
        "unconstrained": there are no two groups. Else "infeasible": the tolerance is not kept. Else
        "max_iter": the solver stopped before its own test. Else "feasible": none of the problems
        solved kept the tolerance, and a random search on the difference itself found coefficients
        that do. Else "optimal": the last problem solved is certified.
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
    >>> 0.09 <= difference <= 0.1
    True
    """

    _parameter_constraints = {
        **LinearRegressor._parameter_constraints,
        **PartialParityModel._parameter_constraints,
        "criterion": [
            StrOptions({"statistical_parity", "demographic_parity"}),
            PartialStatisticalParity,
            PartialDemographicParity,
        ],
        "loss": [StrOptions({"squared", "absolute"})],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        criterion: str = "statistical_parity",
        *,
        interval: Sequence | dict | None = None,
        tolerance: float = 0.05,
        min_group_size: int | Literal["auto"] = "auto",
        group_interactions: bool | Literal["intercept"] = False,
        handle_unknown: Literal["error", "overall"] = "error",
        enforcement: Literal["auto", "calibration"] | None = "auto",
        loss: Literal["squared", "absolute"] = "squared",
        alpha: float = 1e-4,
        fit_intercept: bool = True,
        solver: str | Solver = "sqp",
        warm_start: bool = False,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.criterion = criterion
        self.interval = interval
        self.tolerance = tolerance
        self.min_group_size = min_group_size
        self.group_interactions = group_interactions
        self.handle_unknown = handle_unknown
        self.enforcement = enforcement
        self.loss = loss
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

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
            then: for "statistical_parity", solved by "sqp", without ``group_interactions``.
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
            If a parameter or the data is invalid, or a group has fewer than 20 samples in its
            interval; the message says what must hold.
        """
        validate_params(self)
        # One criterion on an interval of percentiles is the only constraint.
        criterion = make_criterion(self.criterion, self.interval)
        metadata = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
        return self._train(X, y, metadata, [criterion], self._request)


# Regressors whose predictions are fair.


__all__ = ["ConstrainedERMRegressor", "PartialParityRegressor"]
