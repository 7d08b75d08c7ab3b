"""Classifiers that are fair where it matters: on an interval of percentiles."""

from numbers import Integral

from skfair.classification._linear import LinearClassifier
from skfair.constraints import PARTIAL_CRITERIA
from skfair.losses import AUCLoss
from skfair.partitions import is_partitioned
from skfair.training import (
    CONFIDENCE_LEVELS,
    PartialParityModel,
    check_training,
    fit_collected,
    published_settings,
)
from skfair.utils._fit import restore_on_failure
from skfair.utils._sklearn import StrOptions, validate_params, with_callbacks


class PartialParityClassifier(PartialParityModel, LinearClassifier):
    r"""Linear classifier whose scores are fair on an interval of percentiles.

    Fairness is asked for where decisions are contested, for instance among those ranked near the
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
    small: perfectly fair scores of 16,000 people differ by .03 on a quarter of the ranks.

    Parameters
    ----------
    criterion : str, default="statistical_parity"
        What is alike within the interval: the share above every threshold
        ("statistical_parity"), or above the decision threshold ("demographic_parity"); the same
        among the truly positive ("equal_opportunity"), or in both classes ("equalized_odds"); or
        the odds that a member of one group scores above one of another ("group_auc").
    interval : pair of floats, list of pairs, or dict of either by group, default=(0.0, 1.0)
        ``(alpha, beta)`` holds those with a rank in [alpha, beta), counted from the highest score:
        (0.0, 0.2) is the top fifth of each group. A list of pairs means their union.
    tolerance : float in [0, 1], default=0.05
        Largest difference allowed.
    confidence_level : float between 0 and 1, or None, default=None
        Probability with which the population that the samples were drawn from keeps the tolerance
        too. The training data is then held to a smaller tolerance, found by cross-validation. This
        is calibrated on redrawn samples, and no theorem (:ref:`new_data`). None guarantees the
        tolerance on the training data alone. "group_auc" has
        none.
    min_group_size : int or "auto", default="auto"
        Groups with fewer samples (of positive weight) are not compared, and a warning names them:
        the rates of few samples are mostly chance, and yet would bend the whole model. "auto":
        fewer than 30 samples that are also less than 1 % of all; 1 compares all groups. With
        ``group_interactions`` they share what the largest group has.
    tolerance_scale : {"normalized", "raw"}, default="normalized"
        "normalized" divides by the width of the interval, as the definition does. "raw" does not;
        the published experiments agree with this reading.
    n_percentiles : int, default=10
        Number of percentiles p, for "statistical_parity".
    surrogate_width : float or None, default=None
        Width of the ramp, in units of the score. None takes 2 for "statistical_parity" and
        "group_auc", and 0.5 for the criteria at the decision threshold, whose decisions a wide ramp
        mistakes. The published experiments use 1. Where the scores spread so little that the ramp
        sees no difference, it is made narrower.
    rank_within : {"group", "class"}, default="group"
        Rank among one's group, as in Definitions A.2 and A.3 of [1]_, or among those of one's group
        and class, as problems (50) and (56) do; for "equal_opportunity" and "equalized_odds". Of
        the minima in these problems the rows hold the case that is nearest to the plain fit.
    group_interactions : bool or "intercept", default=False
        True: every group has coefficients of its own, as in the published experiments. "intercept":
        groups share coefficients, and each has an intercept of its own. Either way predictions
        need each sample's group.
    enforcement : {"auto", "calibration"} or None, default="auto"
        "auto" and "calibration": the tolerance holds for the training scores, and is used up to .01
        where it binds. None: the problem as written, :math:`\tau` from the tolerance.
    loss : {"logistic", "squared", "hinge", "auc"} or AUCLoss, default="logistic"
        Loss of a score; the hinge has its kink rounded. "auc" and an
        :class:`~skfair.losses.AUCLoss` compare pairs instead ([1]_, D.2): they are about the order
        of ``decision_function`` alone, for "statistical_parity" and "group_auc", and ``predict``
        has no cut-off to go by.
    alpha : float, default=1e-4
        Strength of the l2 penalty, relative to a mean loss. Groups of less than a few hundred with
        ``group_interactions=True`` need more, of the order of one over their size.
    fit_intercept : bool, default=True
        Whether there is an intercept; it is not penalised.
    solver : str or Solver, default="sqp"
        A name in :data:`skfair.solvers.SOLVERS` other than "proxy-lagrangian", or an object with
        settings of its own. "idca" is the algorithm of [1]_, whose settings are those of
        ``IDCA.from_paper()``.
    max_iter : int or None, default=None
        Most iterations of a solver chosen by name; None leaves it to the solver. A solver that is
        an object has settings of its own, and none may be given here.
    tol : float or None, default=None
        Largest violation and largest residual of the optimality conditions at which a solver chosen
        by name stops; None takes 1e-4.
    pos_label : int, float, bool or str, default=None
        The class that means success: the rates that are compared are its rates, and ranks count
        from the sample that is most likely of it. None takes 1 if the labels are 0 and 1, -1 and 1
        or booleans, and asks for it if they are others and groups are compared.
    warm_start : bool, default=False
        Whether to start from the coefficients of the previous fit.
    random_state : int, RandomState instance or None, default=None
        Seed of stochastic solvers; those with a name here use none.
    n_jobs : int or None, default=None
        Threads that look at very many people (of "statistical_parity", by "sqp"); None is 1 unless
        in a :func:`joblib.parallel_config` context, -1 is all processors. The fit is the same to
        the bit for any number. Other criteria are looked at by one thread: they select people by
        rank to count decisions about them, or compare pairs, and neither is a sum over blocks.
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
    thresholds_ : ndarray of shape (n_thresholds,)
        Shared thresholds of the percentiles, on the scale of ``decision_function``, for
        "statistical_parity"; empty for the plain fit, and where a search kept the tolerance. There
        are ``n_percentiles``, or more where so
        few did not show that groups differ.
    multipliers_ : ndarray of shape (n_rows,)
        Multipliers of the rows of the last problem solved.
    objective_ : float
        Mean loss and penalty.
    constraint_violation_ : float
        Excess of the partial difference over the tolerance on the training data, by the public
        metric; 0 if it is kept, nan if it cannot be measured.
    constraint_report_ : DataFrame
        One row per group and threshold: constraint, cell, group, its number of samples, the share
        of those in its interval that scores above the threshold, the standard error of that, and
        difference and tolerance of the criterion. Where all thresholds count, those midway between
        the groups' own percentiles are shown.
    guarantee_probability_ : float
        Probability, estimated from out-of-fold decisions, with which the population keeps the
        tolerance; nan where ``confidence_level`` is None.
    tightened_tolerances_ : ndarray of shape (1,)
        Tolerance that the training data was held to.
    status_ : {"optimal", "feasible", "max_iter", "uncertain", "infeasible", "unconstrained"}
        "unconstrained": no groups came. Else "infeasible": the tolerance is not kept. Else
        "uncertain": new people keep it with a smaller probability than ``confidence_level``. Else
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
    ConstrainedERMClassifier : Fairness of decisions, of everybody.
    skfair.metrics.partial_statistical_parity_difference : The difference that is bounded.

    References
    ----------
    .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
       percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.

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
    >>> 0.09 <= difference <= 0.1
    True
    """

    _parameter_constraints = {
        **LinearClassifier._parameter_constraints,
        **PartialParityModel._parameter_constraints,
        "criterion": [StrOptions(PARTIAL_CRITERIA)],
        "confidence_level": CONFIDENCE_LEVELS,
        "rank_within": [StrOptions({"group", "class"})],
        "loss": [StrOptions({"logistic", "squared", "hinge", "auc"}), AUCLoss],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        criterion="statistical_parity",
        *,
        interval=(0.0, 1.0),
        tolerance=0.05,
        confidence_level=None,
        min_group_size="auto",
        tolerance_scale="normalized",
        n_percentiles=10,
        surrogate_width=None,
        rank_within="group",
        group_interactions=False,
        enforcement="auto",
        loss="logistic",
        alpha=1e-4,
        fit_intercept=True,
        solver="sqp",
        max_iter=None,
        tol=None,
        pos_label=None,
        warm_start=False,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.criterion = criterion
        self.interval = interval
        self.tolerance, self.confidence_level = tolerance, confidence_level
        self.min_group_size, self.tolerance_scale = min_group_size, tolerance_scale
        self.n_percentiles, self.surrogate_width = n_percentiles, surrogate_width
        self.rank_within = rank_within
        self.group_interactions = group_interactions
        self.enforcement = enforcement
        self.loss = loss
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.max_iter, self.tol = max_iter, tol
        self.pos_label = pos_label
        self.warm_start = warm_start
        self.random_state, self.n_jobs = random_state, n_jobs
        self.verbose = verbose

    @classmethod
    def from_paper(cls, interval, tolerance, **changes):
        r"""Problem (15) of [1]_ and its algorithm, as in the experiments there.

        One linear model per group without penalty, the ramp of width 1 (its corners rounded over a
        twentieth of that), ten percentiles, a tolerance in units of whole groups, coefficients of 0
        to begin with, and the surrogate's tolerance left as it is. That takes minutes;
        ``solver="sqp"`` finds a point of the same problem at least as good in seconds.

        Parameters
        ----------
        interval : pair of floats
            The interval I.
        tolerance : float
            Largest difference of shares above a threshold, :math:`\kappa` as the published
            results have it.
        **changes
            Other parameters that should differ. ``criterion="demographic_parity"`` is not problem
            (21) as it is printed: of its minima the rows hold the case that is nearest to the plain
            fit. ``benchmarks/papers/partial_fairness/problem_21.py`` has (21) with all its cases.

        Returns
        -------
        classifier : PartialParityClassifier

        References
        ----------
        .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
           percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026, section G.2.

        Examples
        --------
        >>> from skfair.classification import PartialParityClassifier
        >>> PartialParityClassifier.from_paper((0.05, 0.3), 0.1).tolerance_scale
        'raw'
        """
        settings = {"interval": interval, "tolerance": tolerance, **published_settings()}
        return cls(**(settings | changes))

    @restore_on_failure
    @with_callbacks
    def fit(self, X, y, *, sensitive_features=None, sample_weight=None, groups=None):
        """Train the classifier.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features; also a collection of Dask or `skfair.datasets.open_blocks`, as are the others
            then: for "statistical_parity", solved by "sqp", without ``confidence_level`` and
            ``group_interactions``.
        y : array-like of shape (n_samples,)
            Two classes, by labels of any kind.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes), or \
                sparse matrix of bool, shape (n_samples, n_groups), default=None
            Group of each sample, by labels of any kind; with several attributes, groups are the
            combinations that occur. A sparse matrix says who belongs to which of several groups
            that may overlap. None makes one group of everybody, with a warning.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights, in the loss and in the shares; samples of weight 0 count as
            absent.
        groups : array-like of shape (n_samples,), default=None
            With ``confidence_level``: samples of equal value belong together, as in
            :meth:`ConstrainedERMClassifier.fit`.

        Returns
        -------
        self : PartialParityClassifier
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data is invalid, it cannot be told which class is the positive
            one, or a group has fewer than 20 samples in its interval; the message says what must
            hold.
        """
        validate_params(self)
        people = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
        if is_partitioned(X, y, *people.values()):
            constraint = self._constraint(rank_within=self.rank_within)
            return fit_collected(self, X, y, people, [constraint])
        training = check_training(self, X, y, people | {"groups": groups}, self._request)
        constraint = self._constraint(rank_within=self.rank_within)
        return self._fit(X, y, training, [constraint])
