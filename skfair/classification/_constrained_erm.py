"""Classifiers trained under fairness constraints that their decisions keep."""

from numbers import Integral, Real

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from skfair.classification._outcome import Watch, status_of, warn_of_outcome
from skfair.classification._report import constraint_report
from skfair.classification._training import check_training, class_weights
from skfair.constraints import CONSTRAINTS, Constraint
from skfair.constraints._bound import JointConstraint
from skfair.constraints._constraint import People, Rates
from skfair.constraints._unconstrained import Unconstrained
from skfair.enforcement import ENFORCEMENTS, Task, enforce, plain, smooth
from skfair.losses import LOSSES
from skfair.models import LinearModel
from skfair.problems import ConstrainedProblem
from skfair.solvers import SOLVERS
from skfair.solvers._solver import Solver
from skfair.surrogates import SURROGATES, Step
from skfair.utils._sklearn import Interval, StrOptions


def _has_probabilities(estimator):
    if estimator.loss == "logistic":
        return True
    raise AttributeError(
        "predict_proba needs loss='logistic', whose scores are log-odds, but this "
        f"{type(estimator).__name__} has loss={estimator.loss!r}."
    )


class ConstrainedERMClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    r"""Linear classifier trained under fairness constraints.

    Minimises the mean loss subject to bounds on gaps between groups,

    .. math::

        \min_{w, b} \; \frac{\sum_i \omega_i \, \ell(w \cdot x_i + b, y_i)}{\sum_i \omega_i}
        + \frac{\alpha}{2} |w|^2 \quad \text{s.t.} \quad gap(w, b) \le tolerance,

    where the gap is the public metric of the constraint, for demographic parity the largest minus
    the smallest selection rate of a group. With ``enforce="true"`` it is the gap of the decisions
    on the training data that keeps the tolerance, not only that of a smooth surrogate. On new data
    the gap differs by sampling noise; see ``constraint_report_`` for standard errors.

    Parameters
    ----------
    constraint : str, Constraint, list of these, or None, default="demographic_parity"
        What must be fair: a name in :data:`skfair.constraints.CONSTRAINTS`, an object, or several,
        each held to its own tolerance. None is the plain fit.
    tolerance : float, default=0.02
        Largest gap allowed, in units of the constraint's public metric, for constraints that have
        no tolerance of their own.
    enforce : {"true", "surrogate"}, default="true"
        "true": the tolerance holds for the decisions on the training data. "surrogate": the
        smooth problem as the papers write it.
    enforcement : {"auto", "correction", "sweep", "path"}, default="auto"
        How decisions are made to keep the bound; see :mod:`skfair.enforcement`.
    loss : str or callable, default="logistic"
        Loss of a score: "logistic", "hinge", "squared_hinge", "squared" or "absolute", see
        :mod:`skfair.losses`; a callable maps (scores, target) to a `Pointwise`, with targets -1
        and +1.
    alpha : float, default=1e-4
        Strength of the l2 penalty on ``coef_``, relative to a mean loss.
    fit_intercept : bool, default=True
        Whether there is an intercept; it is not penalised.
    surrogate : {"sigmoid", "ramp"} or callable, default="sigmoid"
        Smooth stand-in for the decision, see :mod:`skfair.surrogates`.
    solver : str or Solver, default="sqp"
        A name in :data:`skfair.solvers.SOLVERS`, or an object with settings of its own.
    max_iter : int or None, default=None
        Most iterations of a solver chosen by name; None takes the solver's own default.
    tol : float or None, default=None
        Largest residual of the optimality conditions at which a solver chosen by name stops; None
        takes the solver's own default, 1e-6 for "sqp".
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes in the loss, not in the constraint.
    warm_start : bool, default=False
        Whether to start from the coefficients of the previous fit.
    random_state : int, RandomState instance or None, default=None
        Seed of stochastic solvers; "sqp" uses none.
    verbose : int, default=0
        Print every iteration if positive.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Labels of the negative and the positive class.
    coef_ : ndarray of shape (1, n_features)
        Coefficients of the columns of X.
    intercept_ : ndarray of shape (1,)
        Intercept.
    multipliers_ : ndarray of shape (n_rows,)
        Multipliers of the rows of the last problem solved: what one unit of tolerance is worth.
    objective_ : float
        Mean loss and penalty.
    constraint_violation_ : float
        Largest excess of a gap over its tolerance by the public metric on the training data; 0
        when all tolerances are kept.
    constraint_report_ : DataFrame
        One row per rate that is compared: its cell, group, number of samples, value and standard
        error, and gap and tolerance of its constraint.
    status_ : {"optimal", "feasible", "max_iter", "infeasible"}
        "infeasible": the bound is not met. Else "max_iter": the solver stopped before its own test.
        Else "optimal": the last problem solved is certified.
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
    >>> bool(demographic_parity_difference(y, decisions, sensitive_features=sex) <= 0.05)
    True
    """

    __metadata_request__fit = {"sensitive_features": True}

    _parameter_constraints = {
        "constraint": [StrOptions(set(CONSTRAINTS)), Constraint, list, tuple, None],
        "tolerance": [Interval(Real, 0, None, closed="left")],
        "enforce": [StrOptions({"true", "surrogate"})],
        "enforcement": [StrOptions(set(ENFORCEMENTS))],
        "loss": [StrOptions(set(LOSSES)), callable],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "surrogate": [StrOptions(set(SURROGATES) - {"step"}), callable],
        "solver": [StrOptions(set(SOLVERS)), Solver],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="neither"), None],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        constraint="demographic_parity",
        *,
        tolerance=0.02,
        enforce="true",
        enforcement="auto",
        loss="logistic",
        alpha=1e-4,
        fit_intercept=True,
        surrogate="sigmoid",
        solver="sqp",
        max_iter=None,
        tol=None,
        class_weight=None,
        warm_start=False,
        random_state=None,
        verbose=0,
    ):
        self.constraint = constraint
        self.tolerance = tolerance
        self.enforce = enforce
        self.enforcement = enforcement
        self.loss = loss
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.surrogate = surrogate
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(self, X, y, *, sensitive_features=None, sample_weight=None):
        """Train the classifier.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Two classes, by labels of any kind; the larger label is the positive class.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes), or \
                sparse matrix of bool, shape (n_samples, n_groups), default=None
            Group of each sample, by labels of any kind; with several attributes, groups are the
            combinations that occur. A sparse matrix says who belongs to which of several groups
            that may overlap. None makes one group of everybody, with a warning.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights, in the loss and in the rates; samples of weight 0 count as absent.

        Returns
        -------
        self : ConstrainedERMClassifier
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data is invalid; the message says what must hold.
        """
        self._validate_params()
        random_state = check_random_state(self.random_state)
        specs = self._specs()
        request = f"constraint={self.constraint!r} asks for equal rates of groups"
        people = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
        training = check_training(self, X, y, people, request if specs else None)
        problem = self._problem(specs, training)
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        watch = Watch(self, context, lambda evaluation: _predictor(training, evaluation))
        solver = self._solver()

        def solve(problem, parameters):
            return solver.solve(
                problem,
                problem.initial_point(parameters),
                random_state=random_state,
                callback=watch,
            )

        task = Task(problem, solve, self._start(problem.model), solver.tol)
        if not specs:
            found = plain(task)
        elif self.enforce == "surrogate":
            found = smooth(task)
        else:
            found = enforce(task, self.enforcement)
        validate_data(self, X, skip_check_array=True)  # number and names of features
        self._store(problem, training, found, watch.n_iter)
        warn_of_outcome(self, problem.constraint, found)
        return self

    def decision_function(self, X):
        """Score of each row; decisions are positive above 0.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return X @ self.coef_[0] + self.intercept_[0]

    def predict(self, X):
        """Class of each row; it does not depend on the group.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        decisions = self.decision_function(X) > 0
        return self.classes_[decisions.astype(int)]

    @available_if(_has_probabilities)
    def predict_proba(self, X):
        """Probabilities of the classes; only for the logistic loss.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, 2)
            In the order of ``classes_``.
        """
        scores = self.decision_function(X)
        return np.column_stack((expit(-scores), expit(scores)))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    def _specs(self):
        """The constraints asked for, as a list of objects."""
        if self.constraint is None:
            return []
        given = self.constraint if isinstance(self.constraint, list | tuple) else [self.constraint]
        specs = []
        for one in given:
            if isinstance(one, str) and one in CONSTRAINTS:
                specs.append(CONSTRAINTS[one]())
            elif isinstance(one, Constraint):
                specs.append(one)
            else:
                raise ValueError(
                    f"A constraint must be one of {sorted(CONSTRAINTS)} or a Constraint object, "
                    f"but {one!r} came."
                )
        return specs

    def _problem(self, specs, training):
        """The problem with smooth rates."""
        loss = LOSSES[self.loss] if isinstance(self.loss, str) else self.loss
        smooth = SURROGATES[self.surrogate] if isinstance(self.surrogate, str) else self.surrogate
        people = People(training.target, training.groups, training.weights)
        bound = [
            spec.bind(people, Rates(smooth, loss), Rates(Step(), loss), self.tolerance)
            for spec in specs
        ]
        return ConstrainedProblem(
            LinearModel.standardized(training.X, training.weights, self.fit_intercept),
            loss,
            training.target,
            training.weights * class_weights(self.class_weight, training),
            self.alpha,
            JointConstraint(tuple(bound)) if bound else Unconstrained(),
        )

    def _solver(self):
        if not isinstance(self.solver, str):
            return self.solver
        given = {"max_iter": self.max_iter, "tol": self.tol}
        own = {name: value for name, value in given.items() if value is not None}
        return SOLVERS[self.solver](**own)

    def _start(self, model):
        """Model parameters to start from."""
        if not (self.warm_start and hasattr(self, "coef_")):
            return np.zeros(model.n_parameters)
        if self.coef_.shape[1] != len(model.scale):
            raise ValueError(
                f"warm_start=True starts from the previous fit's {self.coef_.shape[1]} "
                f"coefficients, but X has {len(model.scale)} columns; pass warm_start=False."
            )
        return model.parameters(self.coef_[0], self.intercept_[0])

    def _store(self, problem, training, found, n_iter):
        evaluation = problem.evaluate(problem.initial_point(found.parameters))
        vars(self).update(_predictor(training, evaluation))
        multipliers = found.result.multipliers
        # The plain fit has no rows: where it keeps the bound, tolerance is worth nothing.
        self.multipliers_ = multipliers if len(multipliers) else np.zeros(len(problem.lower))
        self.objective_ = evaluation.fun
        self.constraint_violation_ = found.violation
        self.constraint_report_ = constraint_report(problem.constraint, found.scores)
        self.status_ = status_of(found, self.enforce)
        self.n_iter_ = n_iter
        self.groups_ = training.groups.summary


def _predictor(training, evaluation):
    """The fitted attributes that predictions need."""
    coef, intercept = evaluation.problem.model.coefficients(evaluation.parameters)
    return {
        "classes_": training.classes,
        "coef_": coef[np.newaxis],
        "intercept_": np.array([intercept]),
    }
