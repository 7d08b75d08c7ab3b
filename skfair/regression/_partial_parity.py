"""Linear regressors under fairness constraints on an interval of percentiles."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Literal, Self

from numpy.typing import ArrayLike

from skfair.constraints import PartialDemographicParity, PartialStatisticalParity
from skfair.regression._linear import LinearRegressor
from skfair.training import PartialParityModel, document, make_criterion
from skfair.utils._fit import restore_on_failure
from skfair.utils._sklearn import StrOptions, validate_params, with_callbacks
from skfair.utils._types import MatrixLike, RandomState

if TYPE_CHECKING:
    from skfair.solvers import Solver


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
    {group_interactions}
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
