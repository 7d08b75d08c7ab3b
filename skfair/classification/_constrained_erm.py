"""Classifiers trained under fairness constraints that their decisions keep."""

from numbers import Integral, Real

from skfair.classification._linear import LinearClassifier
from skfair.constraints import CONSTRAINTS, Constraint
from skfair.losses import LOSSES
from skfair.partitions import is_partitioned
from skfair.surrogates import SURROGATES
from skfair.training import (
    CONFIDENCE_LEVELS,
    check_training,
    class_weights,
    constraints_of,
    fit_collected,
)
from skfair.utils._fit import restore_on_failure
from skfair.utils._sklearn import Interval, StrOptions, validate_params, with_callbacks


class ConstrainedERMClassifier(LinearClassifier):
    r"""Linear classifier trained under fairness constraints.

    Minimises the mean loss subject to bounds on gaps between groups,

    .. math::

        \min_{w, b} \; \frac{\sum_i \omega_i \, \ell(w \cdot x_i + b, y_i)}{\sum_i \omega_i}
        + \frac{\alpha}{2} |w|^2 \quad \text{s.t.} \quad gap(w, b) \le tolerance,

    where the gap is the public metric of the constraint, for demographic parity the largest minus
    the smallest selection rate of a group. It is the gap of the decisions on the training data that
    keeps the tolerance, not only that of a smooth surrogate, unless ``enforcement=None``. On new
    data the gap differs by sampling noise; see ``constraint_report_`` for standard errors.

    Parameters
    ----------
    constraint : str, Constraint, list of these, or None, default="demographic_parity"
        What must be fair: a name in :data:`skfair.constraints.CONSTRAINTS`, an object, or several,
        each held to its own tolerance; those on an interval of percentiles may be among them. None
        is the plain fit.
    tolerance : float, default=0.02
        Largest gap allowed, in units of the constraint's public metric, for constraints that have
        no tolerance of their own.
    confidence_level : float between 0 and 1, or None, default=None
        Probability with which the population that the samples were drawn from keeps the tolerance
        too. The training data is then held to a smaller tolerance, found by cross-validation. This
        is calibrated on redrawn samples, and no theorem (:ref:`new_data`). None guarantees the
        tolerance on the training data alone.
    min_group_size : int or "auto", default="auto"
        Groups with fewer samples (of positive weight) are not compared, and a warning names them:
        the rates of few samples are mostly chance, and yet would bend the whole model. "auto":
        fewer than 30 samples that are also less than 1 % of all; 1 compares all groups. A
        constraint with a ``min_group_size`` of its own keeps to that. With ``group_interactions``
        they share what the largest group has.
    enforcement : {"auto", "correction", "sweep", "path", "calibration"} or None, default="auto"
        How the public metric on the training data is made to keep its bound, see
        :mod:`skfair.enforcement`. None: the smooth problem as the papers write it.
    loss : str or callable, default="logistic"
        Loss of a score: "logistic", "hinge", "squared_hinge", "squared" or "absolute", see
        :mod:`skfair.losses`; a callable maps (scores, target) to a `Pointwise`, with targets -1
        and +1.
    alpha : float, default=1e-4
        Strength of the l2 penalty on ``coef_``, relative to a mean loss.
    fit_intercept : bool, default=True
        Whether there is an intercept; it is not penalised.
    group_interactions : bool or "intercept", default=False
        True: every group has coefficients of its own. "intercept": groups share coefficients, and
        each has an intercept of its own. Either way predictions need each sample's group.
    surrogate : {"sigmoid", "ramp"} or callable, default="sigmoid"
        Smooth stand-in for the decision, see :mod:`skfair.surrogates`.
    solver : str or Solver, default="sqp"
        A name in :data:`skfair.solvers.SOLVERS`, or an object with settings of its own.
    max_iter : int or None, default=None
        Most iterations of a solver chosen by name; None takes the solver's own default. A solver
        that is an object has settings of its own, and none may be given here.
    tol : float or None, default=None
        Largest residual of the optimality conditions at which a solver chosen by name stops; None
        takes the solver's own default, 1e-6 for "sqp".
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes in the loss, not in the constraint.
    pos_label : int, float, bool or str, default=None
        The class that means success: the rates that are compared are its rates. None takes 1 if the
        labels are 0 and 1, -1 and 1 or booleans, and asks for it if they are others and groups are
        compared.
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
        Multipliers of the rows of the last problem solved: what one unit of tolerance is worth.
    objective_ : float
        Mean loss and penalty.
    constraint_violation_ : float
        Largest excess of a gap over its tolerance by the public metric on the training data; 0
        when all tolerances are kept, nan if groups were to be compared, but none came.
    constraint_report_ : DataFrame
        One row per rate that is compared: its constraint, cell, group, number n of samples, the
        threshold of the decisions counted (nan for mean losses; on the scale of
        ``decision_function``), its value and standard error, and gap and tolerance of the
        constraint; empty if nothing was constrained. Groups that are not compared come last, with
        nan for gap and tolerance.
    guarantee_probability_ : float
        Probability, estimated from out-of-fold decisions, with which the population keeps the
        tolerance; nan where ``confidence_level`` is None.
    tightened_tolerances_ : ndarray of shape (n_constraints,)
        Tolerance that the training data was held to, for each constraint: less than was requested
        where ``confidence_level`` is given.
    status_ : {"optimal", "feasible", "max_iter", "uncertain", "infeasible", "unconstrained"}
        "unconstrained": groups were to be compared, but none came. Else "infeasible": the bound is
        not met. Else "uncertain": the population keeps it with a smaller probability than
        ``confidence_level``. Else "max_iter": the solver stopped before its own test. Else
        "feasible": the bound is kept, as by most good fits, by a model that exact searches have
        moved away from the point that the solver certified, to one whose decisions err less. Else
        "optimal".
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

    _parameter_constraints = {
        **LinearClassifier._parameter_constraints,
        "constraint": [StrOptions(CONSTRAINTS), Constraint, list, tuple, None],
        "tolerance": [Interval(Real, 0, None, closed="left")],
        "confidence_level": CONFIDENCE_LEVELS,
        "loss": [StrOptions(LOSSES), callable],
        "surrogate": [StrOptions(SURROGATES), callable],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        constraint="demographic_parity",
        *,
        tolerance=0.02,
        confidence_level=None,
        min_group_size="auto",
        enforcement="auto",
        loss="logistic",
        alpha=1e-4,
        fit_intercept=True,
        group_interactions=False,
        surrogate="sigmoid",
        solver="sqp",
        max_iter=None,
        tol=None,
        class_weight=None,
        pos_label=None,
        warm_start=False,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.constraint = constraint
        self.tolerance = tolerance
        self.confidence_level = confidence_level
        self.min_group_size = min_group_size
        self.enforcement = enforcement
        self.loss = loss
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.group_interactions = group_interactions
        self.surrogate = surrogate
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.class_weight = class_weight
        self.pos_label = pos_label
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @restore_on_failure
    @with_callbacks
    def fit(self, X, y, *, sensitive_features=None, sample_weight=None, groups=None):
        """Train the classifier.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features; also a collection of Dask or `skfair.datasets.open_blocks`, as are the others
            then. What is asked of people in parts must be a sum over them: of parities between
            groups and classes, solved by "sqp" and with ``enforcement`` "auto" or None.
        y : array-like of shape (n_samples,)
            Two classes, by labels of any kind.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes), or \
                sparse matrix of bool, shape (n_samples, n_groups), default=None
            Group of each sample, by labels of any kind; with several attributes, groups are the
            combinations that occur. A sparse matrix says who belongs to which of several groups
            that may overlap. None makes one group of everybody, with a warning.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights, in the loss and in the rates; samples of weight 0 count as absent.
        groups : array-like of shape (n_samples,), default=None
            With ``confidence_level``: samples of equal value belong together, such as several rows
            of one person or household, as in `~sklearn.model_selection.GroupKFold`. They are in one
            fold, and standard errors allow for their correlation. None takes all samples for
            independent. These are not the groups that are compared; those are
            ``sensitive_features``.

        Returns
        -------
        self : ConstrainedERMClassifier
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data is invalid, or it cannot be told which class is the positive
            one; the message says what must hold.
        """
        people = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
        if is_partitioned(X, y, *people.values()):
            validate_params(self)
            return fit_collected(self, X, y, people, constraints_of(self.constraint))
        return fit_classifier(self, X, y, people | {"groups": groups})


def fit_classifier(estimator, X, y, people, check=check_training):
    """Fit a classifier to the constraints that it was given.

    Parameters
    ----------
    estimator : ConstrainedERMClassifier or another of its parameters
        To be fitted.
    X, y : array-like
        As passed to fit.
    people : dict
        ``sensitive_features``, ``sample_weight`` and ``groups`` as passed to fit.
    check : callable, default=check_training
        Checks the input, as `check_training` does.

    Returns
    -------
    estimator : estimator instance
        Fitted.
    """
    validate_params(estimator)
    constraints = constraints_of(estimator.constraint)
    request = f"constraint={estimator.constraint!r} asks for equal rates of groups"
    training = check(estimator, X, y, people, request if constraints else None)
    factors = class_weights(estimator.class_weight, training)
    return estimator._fit(X, y, training, constraints, loss_weights=factors)
