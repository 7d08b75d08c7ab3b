"""Docstring entries that the estimators trained under constraints share."""

from skfair.utils._docstrings import shared_docs

_PARAMETERS = """
tolerance : float, default=0.02
    Largest gap allowed, in units of the constraint's public metric, for constraints that have
    neither a tolerance nor a ratio of their own.
confidence_level : float between 0 and 1, or None, default=None
    Of repeated samples from one population, at most a share of ``1 - confidence_level`` lead to a
    fit that is guaranteed (``status_`` is not "uncertain") and breaks a tolerance in this
    population. The training data is held to a smaller tolerance, which is checked by
    cross-validation. So of the guaranteed fits, at most ``1 - confidence_level`` over the share
    that is guaranteed are false: that is a good deal where a tolerance is nearly out of reach, and
    few samples are guaranteed. Samples are taken for independent, unless ``groups`` says otherwise.
    This is calibrated on redrawn samples, and no theorem (:ref:`new_data`). None guarantees the
    tolerance on the training data alone.
min_group_size : int or "auto", default="auto"
    Groups with fewer samples (of positive weight) are not compared, and a warning names them: the
    rates of few samples are mostly chance, and yet would distort the whole model. "auto": fewer
    than 30 samples that are also less than 1 % of all; 1 compares all groups.
loss : str or callable, default="logistic"
    Loss of a score: "logistic", "hinge", "squared_hinge", "squared" or "absolute", see
    :mod:`skfair.losses`; a callable maps (scores, target) to a `Pointwise`, with targets -1 and
    +1.
fit_intercept : bool, default=True
    Whether there is an intercept; it is not penalised.
group_interactions : bool or "intercept", default=False
    True: every group has its own coefficients. "intercept": groups share coefficients, and each
    has its own intercept. Either way predictions need each sample's group.
surrogate : {"sigmoid", "ramp"} or callable, default="sigmoid"
    Smooth surrogate of the decision, see :mod:`skfair.surrogates`.
solver : str or Solver, default="sqp"
    A name in :data:`skfair.solvers.SOLVERS`, which takes its default settings, or an object, such
    as ``SQP(max_iter=20, tol=1e-8)``.
early_stopping : bool, default=False
    Whether some samples of each class of each group are held out from the training of the layers:
    it stops when their loss no longer falls, and the best epoch for them is taken, among those of
    the smallest violation. The last layer is fitted to all samples.
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
    Whether to start from the coefficients of the previous fit.
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
    (0.0, 1.0), or the interval of the object that `criterion` is.
"""

_ATTRIBUTES = """
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
constraint_violation_ : float
    Largest excess of a gap over its tolerance by the public metric on the training data; 0 when all
    tolerances are kept, nan if groups were to be compared, but there are no two.
guarantee_probability_ : float
    Probability, estimated from out-of-fold decisions of fits at the tightened tolerances, with
    which the population keeps the tolerance; nan where ``confidence_level`` is None.
tightened_tolerances_ : ndarray of shape (n_constraints,)
    Tolerance that the training data was held to, for each constraint: less than was requested where
    ``confidence_level`` is given. Where rates would be too far apart on new data even if they were
    equal in training, it is that of the rates that are expected of new data. That of a ratio is 1
    minus the ratio.
guaranteed_tolerances_ : ndarray of shape (n_constraints,)
    The smallest tolerance of each constraint that this model keeps in the population with a
    probability of ``confidence_level``, whether or not the requested one is guaranteed; nan where
    ``confidence_level`` is None. Several constraints have equal shares of the risk. That of a ratio
    is 1 minus the ratio.
n_iter_ : int
    Iterations of the solver, over all problems solved.
groups_ : GroupSummary
    Labels and counts of the groups.
n_features_in_ : int
    Number of features seen during fit.
feature_names_in_ : ndarray of str
    Names of features seen during fit, if X has string column names.
thresholds_ : ndarray of shape (n_thresholds,)
    Shared thresholds of the percentiles, on the scale of the scores, for "statistical_parity";
    empty for the plain fit, and where a search kept the tolerance. There are as many as the
    criterion has percentiles, or more where so few did not show that groups differ.
"""

_FIT = """
y : array-like of shape (n_samples,)
    Two classes, by labels of any kind.
sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes), or \
        sparse matrix of bool, shape (n_samples, n_groups), default=None
    Group of each sample, by labels of any kind; with several attributes, groups are the
    combinations that occur. The columns of a sparse matrix are groups that may overlap. None puts
    all samples in one group, with a warning.
sample_weight : array-like of shape (n_samples,), default=None
    Non-negative weights, in the loss and in the rates; samples of weight 0 count as absent.
groups : array-like of shape (n_samples,), default=None
    With ``confidence_level``: samples of equal value belong together, such as several rows of one
    person or household, as in `~sklearn.model_selection.GroupKFold`. They are in one fold, and
    standard errors allow for their correlation. None takes all samples for independent. These are
    not the groups that are compared; those are ``sensitive_features``.
X_fit : array-like or sparse matrix, default=None
    Training data of the estimator, if it is fitted already (``cv="prefit"`` or a
    `~sklearn.frozen.FrozenEstimator`): X is compared with it, as by `skfair.audit.certify`.
"""

document = shared_docs(
    _PARAMETERS,
    _ATTRIBUTES,
    _FIT,
    paper="""
    .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
       percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.
    """,
    partial_report="""
    constraint_report_ : DataFrame
        One row per group and threshold: constraint, cell, group, its number of samples, the share
        of those in its interval that scores above the threshold, the standard error of that, and
        difference and tolerance of the criterion. Where all thresholds count, those midway between
        the groups' own percentiles are shown.
    """,
    uncertified="""
    guarantee_probability_ : float
        nan: unlike those of classifiers, tolerances of regressors and rankers are guaranteed on the
        training data alone.
    guaranteed_tolerances_ : ndarray of shape (n_constraints,)
        nan, likewise.
    tightened_tolerances_ : ndarray of shape (n_constraints,)
        Tolerance that the training data was held to: the requested one.
    """,
)
"""Decorator that fills the placeholders of these entries in a docstring."""
