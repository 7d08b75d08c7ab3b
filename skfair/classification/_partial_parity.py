"""Linear classifiers under fairness constraints on an interval of percentiles."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, Self

from numpy.typing import ArrayLike

from skfair.classification._linear import LinearClassifier
from skfair.constraints import PARTIAL_CRITERIA
from skfair.losses import AUCLoss
from skfair.solvers import IDCA
from skfair.training import CONFIDENCE_LEVELS, PartialParityModel, document, make_criterion
from skfair.utils._fit import restore_on_failure
from skfair.utils._sklearn import StrOptions, validate_params, with_callbacks
from skfair.utils._types import Label, MatrixLike, RandomState

if TYPE_CHECKING:
    from skfair.solvers import Solver


@document
class PartialParityClassifier(PartialParityModel, LinearClassifier):
    r"""Linear classifier whose scores are fair on an interval of percentiles.

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

    Parameters
    ----------
    criterion : str or Constraint, default="statistical_parity"
        What must be equal within the interval: the share above every threshold
        ("statistical_parity"), or above the decision threshold ("demographic_parity"); the same
        among the positive class ("equal_opportunity"), or in both classes ("equalized_odds"); or
        the probability that a member of one group scores above one of another ("group_auc"). An
        object has further settings, such as
        ``PartialStatisticalParity(interval, scale="raw", n_percentiles=20)``, whose tolerance is in
        units of whole groups as in the published experiments, or
        ``PartialEqualOpportunity(interval, rank_within="class")``.
    {interval}
    tolerance : float in [0, 1], default=0.05
        Largest difference allowed, unless the criterion has its own tolerance.
    {confidence_level}
        "group_auc" has none.
    {min_group_size}
        With ``group_interactions`` these groups share the parameters of the largest group.
    {group_interactions}
    enforcement : {"auto", "calibration"} or None, default="auto"
        "auto" and "calibration": the tolerance holds for the training scores, and is used up to .01
        where it binds. None: the problem as written, :math:`\tau` from the tolerance.
    loss : {"logistic", "squared", "hinge", "auc"} or AUCLoss, default="logistic"
        Loss of a score; the hinge is smoothed at its breakpoint. "auc" and an
        :class:`~skfair.losses.AUCLoss` compare pairs instead ([1]_, D.2): they determine the order
        of ``decision_function`` alone, for "statistical_parity" and "group_auc", and ``predict``
        has no meaningful threshold.
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
        Threads for large data ("statistical_parity", solved by "sqp"); None is 1 unless in a
        :func:`joblib.parallel_config` context, -1 is all processors. The fit is the same to the bit
        for any number. Other criteria use one thread: they select samples by rank to count their
        decisions, or compare pairs, and neither is a sum over blocks.
    {verbose}

    Attributes
    ----------
    {classes_, pos_label_, coef_, intercept_, group_coef_, group_intercept_, thresholds_}
    {multipliers_, objective_, constraint_violation_, partial_report, guarantee_probability_}
    {tightened_tolerances_, guaranteed_tolerances_}
    status_ : {"optimal", "feasible", "max_iter", "uncertain", "infeasible", "unconstrained"}
        "unconstrained": there are no two groups. Else "infeasible": the tolerance is not kept. Else
        "uncertain": the population keeps it with a smaller probability than ``confidence_level``.
        Else "max_iter": the solver stopped before its own test. Else "feasible": none of the
        problems solved kept the tolerance, and a random search on the difference itself found
        coefficients that do. Else "optimal": the last problem solved is certified.
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
    >>> 0.09 <= difference <= 0.1
    True
    """

    _parameter_constraints = {
        **LinearClassifier._parameter_constraints,
        **PartialParityModel._parameter_constraints,
        "criterion": [StrOptions(PARTIAL_CRITERIA), *PARTIAL_CRITERIA.values()],
        "confidence_level": CONFIDENCE_LEVELS,
        "loss": [StrOptions({"logistic", "squared", "hinge", "auc"}), AUCLoss],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        criterion: str = "statistical_parity",
        *,
        interval: Sequence | dict | None = None,
        tolerance: float = 0.05,
        confidence_level: float | None = None,
        min_group_size: int | Literal["auto"] = "auto",
        group_interactions: bool | Literal["intercept"] = False,
        enforcement: Literal["auto", "calibration"] | None = "auto",
        loss: str | AUCLoss = "logistic",
        alpha: float = 1e-4,
        fit_intercept: bool = True,
        solver: str | Solver = "sqp",
        pos_label: Label | None = None,
        warm_start: bool = False,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.criterion = criterion
        self.interval = interval
        self.tolerance = tolerance
        self.confidence_level = confidence_level
        self.min_group_size = min_group_size
        self.group_interactions = group_interactions
        self.enforcement = enforcement
        self.loss = loss
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.pos_label = pos_label
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @classmethod
    def from_paper(
        cls,
        interval: tuple[float, float],
        tolerance: float,
        criterion: str = "statistical_parity",
        **changes: Any,
    ) -> Self:
        r"""Problem (15) of [1]_ and its algorithm, as in the experiments there.

        One linear model per group without penalty, the ramp of width 1 (smoothed over a twentieth
        of that at its breakpoints), ten percentiles, a tolerance in units of whole groups, initial
        coefficients of 0, and the surrogate's tolerance left as it is. That takes minutes;
        ``solver="sqp"`` finds a point of the same problem at least as good in seconds.

        Parameters
        ----------
        interval : pair of floats
            The interval I.
        tolerance : float
            Largest difference of shares above a threshold, :math:`\kappa` as the published
            results have it.
        criterion : str, default="statistical_parity"
            Name of the criterion. "demographic_parity" is not problem (21) as it is printed: of its
            minima the rows hold the case that is nearest to the plain fit.
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
        >>> PartialParityClassifier.from_paper((0.05, 0.3), 0.1).criterion.scale
        'raw'
        """
        constraint = PARTIAL_CRITERIA[criterion](interval, width=1.0)
        # Shares of whole groups, as in the paper; some criteria have no scale.
        if "scale" in constraint.get_params():
            constraint.set_params(scale="raw")
        settings = {
            "tolerance": tolerance,
            "group_interactions": True,
            "enforcement": None,
            "alpha": 0.0,
            "solver": IDCA.from_paper(),
        }
        return cls(constraint, **(settings | changes))

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
            then: for "statistical_parity", solved by "sqp", without ``confidence_level`` and
            ``group_interactions``.
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
        validate_params(self)
        # One criterion on an interval of percentiles is the only constraint.
        criterion = make_criterion(self.criterion, self.interval)
        metadata = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
        return self._train(X, y, metadata, groups, [criterion], self._request)
