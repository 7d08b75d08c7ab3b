"""Regressors that are fair where it matters: on an interval of percentiles."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import RegressorMixin

from skfair.partitions import is_partitioned, row_by_row
from skfair.training import (
    ConstrainedLinearModel,
    GroupScoreMixin,
    PartialParityModel,
    check_real_training,
    fit_collected,
    in_units_of_spread,
)
from skfair.utils._fit import restore_on_failure
from skfair.utils._sklearn import Interval, StrOptions, validate_params, with_callbacks


class PartialParityRegressor(
    GroupScoreMixin, RegressorMixin, PartialParityModel, ConstrainedLinearModel
):
    r"""Linear regressor whose predictions are fair on an interval of percentiles.

    Fits a real target under the constraints of
    :class:`skfair.classification.PartialParityClassifier`: among those of each group whose
    prediction ranks within the interval, the same share lies above every threshold, up to a
    tolerance, or above one of interest.

    Parameters
    ----------
    criterion : {"statistical_parity", "demographic_parity"}, default="statistical_parity"
        Whether the groups' shares above every threshold must be alike, or those above
        `threshold`.
    interval : pair of floats, list of pairs, or dict of either by group, default=(0.0, 1.0)
        ``(alpha, beta)`` holds those with a rank in [alpha, beta), counted from the highest
        prediction: (0.0, 0.2) is the top fifth of each group. A list of pairs means their union.
    tolerance : float in [0, 1], default=0.05
        Largest difference allowed.
    min_group_size : int or "auto", default="auto"
        Groups with fewer samples (of positive weight) are not compared, and a warning names them:
        the rates of few samples are mostly chance, and yet would bend the whole model. "auto":
        fewer than 30 samples that are also less than 1 % of all; 1 compares all groups. With
        ``group_interactions`` they share what the largest group has.
    tolerance_scale : {"normalized", "raw"}, default="normalized"
        Whether differences are divided by the width of the interval.
    threshold : float, default=0.0
        Prediction above which "demographic_parity" compares shares.
    n_percentiles : int, default=10
        Number of percentiles at which "statistical_parity" is enforced.
    surrogate_width : float or None, default=None
        Width of the ramp that stands for decisions, in standard deviations of y. None takes 2 for
        "statistical_parity" and 0.5 for "demographic_parity".
    group_interactions : bool or "intercept", default=False
        True: every group has coefficients of its own. "intercept": groups share coefficients, and
        each has an intercept of its own. Either way predictions need each sample's group.
    enforcement : {"auto", "calibration"} or None, default="auto"
        "auto" and "calibration": the tolerance holds for the training predictions, and is used up
        to .01 where it binds. None: for the ramp instead.
    loss : {"squared", "absolute"}, default="squared"
        Loss of a prediction; the absolute loss has its kink rounded as by Huber.
    alpha : float, default=1e-4
        Strength of the l2 penalty, relative to a mean loss.
    fit_intercept : bool, default=True
        Whether there is an intercept; it is not penalised.
    solver : str or Solver, default="sqp"
        As in :class:`skfair.classification.PartialParityClassifier`.
    max_iter : int or None, default=None
        Most iterations of a solver chosen by name; None leaves it to the solver. A solver that is
        an object has settings of its own, and none may be given here.
    tol : float or None, default=None
        Largest violation and largest residual of the optimality conditions at which a solver chosen
        by name stops, for a target of variance one; None takes 1e-4.
    warm_start : bool, default=False
        Whether to start from the coefficients of the previous fit.
    random_state : int, RandomState instance or None, default=None
        Seed of stochastic solvers; those with a name here use none.
    n_jobs : int or None, default=None
        Threads that look at very many people (of "statistical_parity", by "sqp"); None is 1 unless
        in a :func:`joblib.parallel_config` context, -1 is all processors. The fit is the same to
        the bit for any number. "demographic_parity" is looked at by one thread: it selects people
        by rank to count decisions about them, which is no sum over blocks.
    verbose : int, default=0
        Print every iteration if positive.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients of the columns of X; not with ``group_interactions=True``.
    intercept_ : float
        Intercept, with ``group_interactions=False``.
    group_coef_ : ndarray of shape (n_groups, n_features)
        Coefficients of each group, with ``group_interactions=True``.
    group_intercept_ : ndarray of shape (n_groups,)
        Intercept of each group, with ``group_interactions``.
    thresholds_ : ndarray of shape (n_thresholds,)
        Shared thresholds of the percentiles, for
        "statistical_parity"; empty for the plain fit. There are ``n_percentiles``, or more where so
        few did not show that groups differ.
    multipliers_ : ndarray of shape (n_rows,)
        Multipliers of the rows of the last problem solved, for a target of variance one.
    objective_ : float
        Mean loss and penalty, for a target of variance one.
    constraint_violation_ : float
        Excess of the partial difference over the tolerance on the training data, by the public
        metric; 0 if it is kept, nan if it cannot be measured.
    constraint_report_ : DataFrame
        One row per group and threshold: constraint, cell, group, its number of samples, the share
        of those in its interval that scores above the threshold, the standard error of that, and
        difference and tolerance of the criterion. Where all thresholds count, those midway between
        the groups' own percentiles are shown.
    guarantee_probability_ : float
        nan: of regressors nothing is promised to new people, as ``confidence_level`` does of
        classifiers.
    tightened_tolerances_ : ndarray of shape (n_constraints,)
        Tolerance that the people of the fit were held to: the one asked for.
    status_ : {"optimal", "feasible", "max_iter", "infeasible", "unconstrained"}
        "unconstrained": no groups came. Else "infeasible": the tolerance is not kept. Else
        "max_iter": the solver stopped before its own test. Else "feasible": none of the problems
        solved kept the tolerance, and a random search on the difference itself found coefficients
        that do. Else "optimal": the last problem solved is certified.
    n_iter_ : int
        Iterations of the solver, over all problems solved.
    groups_ : GroupSummary
        Labels and counts of the groups.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of str
        Names of features seen during fit, if X has string column names.

    See Also
    --------
    skfair.classification.PartialParityClassifier : For two classes, and more criteria.
    sklearn.linear_model.Ridge : Without constraints.

    References
    ----------
    .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
       percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.

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
        **ConstrainedLinearModel._parameter_constraints,
        **PartialParityModel._parameter_constraints,
        "criterion": [StrOptions({"statistical_parity", "demographic_parity"})],
        "threshold": [Interval(Real, None, None, closed="neither")],
        "loss": [StrOptions({"squared", "absolute"})],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        criterion="statistical_parity",
        *,
        interval=(0.0, 1.0),
        tolerance=0.05,
        min_group_size="auto",
        tolerance_scale="normalized",
        threshold=0.0,
        n_percentiles=10,
        surrogate_width=None,
        group_interactions=False,
        enforcement="auto",
        loss="squared",
        alpha=1e-4,
        fit_intercept=True,
        solver="sqp",
        max_iter=None,
        tol=None,
        warm_start=False,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.criterion = criterion
        self.interval = interval
        self.tolerance = tolerance
        self.min_group_size = min_group_size
        self.tolerance_scale = tolerance_scale
        self.threshold = threshold
        self.n_percentiles = n_percentiles
        self.surrogate_width = surrogate_width
        self.group_interactions = group_interactions
        self.enforcement = enforcement
        self.loss = loss
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.max_iter, self.tol = max_iter, tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @restore_on_failure
    @with_callbacks
    def fit(self, X, y, *, sensitive_features=None, sample_weight=None):
        """Train the regressor.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features; also a collection of Dask or `skfair.datasets.open_blocks`, as are the others
            then: for "statistical_parity", solved by "sqp", without ``group_interactions``.
        y : array-like of shape (n_samples,)
            Real target.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes), or \
                sparse matrix of bool, shape (n_samples, n_groups), default=None
            Group of each sample, by labels of any kind; with several attributes, groups are the
            combinations that occur. A sparse matrix says who belongs to which of several groups
            that may overlap. None makes one group of everybody, with a warning.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights, in the loss and in the shares; samples of weight 0 count as
            absent.

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
        people = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
        if is_partitioned(X, y, *people.values()):
            constraint = self._constraint(threshold=self.threshold)
            return fit_collected(self, X, y, people, [constraint])
        training = check_real_training(self, X, y, people, self._request)
        training = in_units_of_spread(training, self.fit_intercept)
        constraint = self._constraint(threshold=training.unit.to_unit(self.threshold))
        return self._fit(X, y, training, [constraint])

    @row_by_row(lambda self: np.empty(0))
    def predict(self, X, *, sensitive_features=None):
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
