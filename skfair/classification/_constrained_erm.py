"""Linear classifiers trained under fairness constraints that their decisions keep."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import TYPE_CHECKING, Literal, Self

from numpy.typing import ArrayLike

from skfair.classification._linear import LinearClassifier
from skfair.constraints import CONSTRAINTS, Constraint
from skfair.losses import LOSSES
from skfair.surrogates import SURROGATES
from skfair.training import CONFIDENCE_LEVELS, document, resolve_constraints
from skfair.utils._fit import restore_on_failure
from skfair.utils._sklearn import Interval, StrOptions, validate_params, with_callbacks
from skfair.utils._types import Label, MatrixLike, RandomState

if TYPE_CHECKING:
    from skfair.solvers import Solver


@document
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
    {tolerance, confidence_level, min_group_size}
        A constraint's own ``min_group_size`` takes precedence. With ``group_interactions`` these
        groups share the parameters of the largest group.
    enforcement : {"auto", "correction", "sweep", "path", "calibration"} or None, default="auto"
        How the public metric on the training data is made to keep its bound, see
        :mod:`skfair.enforcement`. None: the smooth problem as the papers write it.
    {loss}
    alpha : float, default=1e-4
        Strength of the l2 penalty on ``coef_``, relative to a mean loss.
    {fit_intercept, group_interactions, surrogate, solver, class_weight, pos_label, warm_start}
    {random_state, n_jobs, verbose}

    Attributes
    ----------
    {classes_, pos_label_, coef_, intercept_, group_coef_, group_intercept_, multipliers_}
    {objective_, constraint_violation_}
    constraint_report_ : DataFrame
        One row per rate that is compared: its constraint, cell, group, number n of samples, the
        threshold of the decisions counted (nan for mean losses; on the scale of
        ``decision_function``), its value and standard error, and gap and tolerance of the
        constraint; empty if nothing was constrained. Groups that are not compared come last, with
        nan for gap and tolerance.
    {guarantee_probability_, tightened_tolerances_, guaranteed_tolerances_}
    status_ : {"optimal", "feasible", "max_iter", "uncertain", "infeasible", "unconstrained"}
        "unconstrained": groups were to be compared, but there are no two. Else "infeasible": the
        bound is not met. Else "uncertain": the population keeps it with a smaller probability than
        ``confidence_level``. Else "max_iter": the solver stopped before its own test. Else
        "feasible": the bound is kept, as by most good fits, by a model that exact searches have
        moved away from the point that the solver certified, to one with fewer errors. Else
        "optimal".
    {n_iter_, groups_, n_features_in_, feature_names_in_}

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
        constraint: str | Constraint | list | None = "demographic_parity",
        *,
        tolerance: float = 0.02,
        confidence_level: float | None = None,
        min_group_size: int | Literal["auto"] = "auto",
        enforcement: str | None = "auto",
        loss: str | Callable = "logistic",
        alpha: float = 1e-4,
        fit_intercept: bool = True,
        group_interactions: bool | Literal["intercept"] = False,
        surrogate: Literal["sigmoid", "ramp"] | Callable = "sigmoid",
        solver: str | Solver = "sqp",
        class_weight: dict | Literal["balanced"] | None = None,
        pos_label: Label | None = None,
        warm_start: bool = False,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
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
        self.class_weight = class_weight
        self.pos_label = pos_label
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
        groups: ArrayLike | None = None,
    ) -> Self:
        """Train the classifier.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features; also a collection of Dask or `skfair.datasets.open_blocks`, as are the others
            then. Constraints on partitioned data must be sums over samples: parities between
            groups and classes, solved by "sqp" and with ``enforcement`` "auto" or None.
        {y, sensitive_features, sample_weight, groups}

        Returns
        -------
        self : ConstrainedERMClassifier
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data is invalid, or the positive class is ambiguous; the message
            says what must hold.
        """
        validate_params(self)
        # Constraints by name become objects; the request is what a message about missing groups
        # says.
        constraints = resolve_constraints(self.constraint)
        metadata = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
        request = f"constraint={self.constraint!r} asks for equal rates of groups"
        return self._train(X, y, metadata, groups, constraints, request)
