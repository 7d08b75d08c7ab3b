"""Regressors trained under fairness constraints that their predictions keep."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import RegressorMixin

from skfair.constraints import CONSTRAINTS, Constraint, refuse_inapplicable
from skfair.partitions import is_partitioned, row_by_row
from skfair.training import (
    ConstrainedLinearModel,
    GroupScoreMixin,
    check_real_training,
    constraints_of,
    fit_collected,
    in_units_of_spread,
)
from skfair.utils._fit import restore_on_failure
from skfair.utils._sklearn import Interval, StrOptions, validate_params, with_callbacks

_NAMES = ["loss_parity", "mean_parity", "partial_group_auc", "partial_statistical_parity"]


class ConstrainedERMRegressor(GroupScoreMixin, RegressorMixin, ConstrainedLinearModel):
    r"""Linear regressor trained under fairness constraints.

    Minimises the mean loss subject to bounds on gaps between groups,

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
    min_group_size : int or "auto", default="auto"
        Groups with fewer samples (of positive weight) are not compared, and a warning names them:
        the rates of few samples are mostly chance, and yet would bend the whole model. "auto":
        fewer than 30 samples that are also less than 1 % of all; 1 compares all groups. A
        constraint with a ``min_group_size`` of its own keeps to that. With ``group_interactions``
        they share what the largest group has.
    loss : {"squared", "absolute"}, default="squared"
        Loss of a prediction, half the square or the absolute value of its error; the absolute loss
        has its kink rounded as by Huber.
    alpha : float, default=1e-4
        Strength of the l2 penalty, relative to a mean loss.
    fit_intercept : bool, default=True
        Whether there is an intercept; it is not penalised.
    group_interactions : bool or "intercept", default=False
        True: every group has coefficients of its own. "intercept": groups share coefficients, and
        each has an intercept of its own. Either way predictions need each sample's group.
    enforcement : {"auto"} or None, default="auto"
        "auto": ranks keep their tolerances by the public metric, and means keep theirs as they are.
        None: for ranks the smooth problem as the papers write it.
    solver : str or Solver, default="sqp"
        A name in :data:`skfair.solvers.SOLVERS`, or an object with settings of its own.
    max_iter : int or None, default=None
        Most iterations of a solver chosen by name; None takes the solver's own default.
    tol : float or None, default=None
        Largest violation and largest residual of the optimality conditions at which a solver chosen
        by name stops; None takes the solver's own default, 1e-6 for "sqp".
    warm_start : bool, default=False
        Whether to start from the coefficients of the previous fit.
    random_state : int, RandomState instance or None, default=None
        Seed of stochastic solvers; "sqp" uses none.
    n_jobs : int or None, default=None
        Threads that look at more than 131,072 people, who are divided into blocks of rows; whatever
        their number, coefficients are the same to the bit. None is 1 unless in a
        `joblib.parallel_config` context, -1 is all processors.
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
    target_scale_ : float
        The target's standard deviation: the unit of losses, gaps and tolerances.
    multipliers_ : ndarray of shape (n_rows,)
        Multipliers of the rows of the last problem solved: what one unit of tolerance is worth.
    objective_ : float
        Mean loss and penalty.
    constraint_violation_ : float
        Largest excess of a gap over its tolerance on the training data; 0 when all are kept, up to
        ``tol`` for means; nan without groups.
    constraint_report_ : DataFrame
        One row per mean that is compared: its constraint, cell, group, number n of samples, its
        value and standard error, and gap and tolerance of the constraint; means of predictions
        count from the mean of the target.
    guarantee_probability_ : float
        nan: of regressors nothing is promised to new people, as ``confidence_level`` does of
        classifiers.
    tightened_tolerances_ : ndarray of shape (n_constraints,)
        Tolerance that the people of the fit were held to: the one asked for.
    status_ : {"optimal", "feasible", "max_iter", "infeasible", "unconstrained"}
        "unconstrained": no groups came. "infeasible": the bound is not met. Else "max_iter": the
        solver stopped before its own test. Else "optimal". ("feasible", a certified model that was
        moved afterwards, does not occur here.)
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
    PartialParityRegressor : Alike near a cut-off.
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
        **ConstrainedLinearModel._parameter_constraints,
        "constraint": [StrOptions(CONSTRAINTS), Constraint, list, tuple, None],
        "tolerance": [Interval(Real, 0, None, closed="left")],
        "loss": [StrOptions({"squared", "absolute"})],
        "enforcement": [StrOptions({"auto"}), None],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        constraint="mean_parity",
        *,
        tolerance=0.05,
        min_group_size="auto",
        loss="squared",
        alpha=1e-4,
        fit_intercept=True,
        group_interactions=False,
        enforcement="auto",
        solver="sqp",
        max_iter=None,
        tol=None,
        warm_start=False,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.constraint = constraint
        self.tolerance = tolerance
        self.min_group_size = min_group_size
        self.loss = loss
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.group_interactions = group_interactions
        self.enforcement = enforcement
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
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
            then. What is asked of people in parts must be a sum over them: of mean predictions and
            losses of groups, or of "partial_statistical_parity" alone, solved by "sqp".
        y : array-like of shape (n_samples,)
            Real target.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes), or \
                sparse matrix of bool, shape (n_samples, n_groups), default=None
            Group of each sample, by labels of any kind; with several attributes, groups are the
            combinations that occur. A sparse matrix says who belongs to which of several groups
            that may overlap. None makes one group of everybody, with a warning.
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
        constraints = constraints_of(self.constraint)
        for constraint in constraints:
            _check_constraint(constraint)
        people = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
        if is_partitioned(X, y, *people.values()):
            return fit_collected(self, X, y, people, constraints)
        request = f"constraint={self.constraint!r} asks for groups to be alike"
        training = check_real_training(self, X, y, people, request if constraints else None)
        training = in_units_of_spread(training, self.fit_intercept)
        return self._fit(X, y, training, constraints)

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

    def _predictor(self, model, parameters, training):
        found = super()._predictor(model, parameters, training)
        return found | {"target_scale_": training.unit.spread}


def _check_constraint(constraint):
    """Refuse a constraint that has no meaning for a real target."""
    refuse_inapplicable(constraint, "ConstrainedERMRegressor")
    if hasattr(constraint, "threshold"):
        raise ValueError(
            f"{constraint} compares decisions at a threshold of predictions; pass "
            "PartialParityRegressor(criterion='demographic_parity', threshold=...), or one of "
            f"{_NAMES}."
        )
