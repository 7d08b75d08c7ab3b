"""Published proximal methods: IDCA, inexact proximal points, PLADA."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import replace
from itertools import count
from numbers import Real
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np

from skfair._problems.evaluation import Ball
from skfair._utils.checks import warn
from skfair._utils.parameters import NonNegative, Positive, PositiveInt, make_constructor
from skfair._utils.sklearn import Interval
from skfair.losses import is_pairwise
from skfair.solvers._solver import Iterate, Solver
from skfair.solvers._sqp import SQP
from skfair.solvers.literature._descent import Smoothness, SwitchingSubgradient, polyak_step

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from sklearn.base import BaseEstimator

    from skfair._problems.evaluation import Evaluation
    from skfair._problems.problem import ConstrainedProblem, Problem


# The proximal step of a piecewise linear constraint, by the duals of its pieces.


_DUAL_TOLERANCE = 1e-10  # relative accuracy of the dual of one round


def proximal_step(evaluation: Evaluation, multipliers: np.ndarray, eta: float) -> Evaluation:
    r"""Minimise the proximal function of Algorithm 1, whose rows c are not linearised at x_k.

    .. math::

        \langle \nabla F(x_k), x \rangle + \langle \lambda, c(x) \rangle
        + \tfrac{1}{2 \eta} |x - x_k|^2

    The rows are polyhedral functions of means, which are smooth functions of x. Each round
    linearises the means, but not the rows, at the latest point. Its minimum follows from a
    quadratic function of one dual weight per piece. With two pieces, as in :math:`|a - b|`, this is
    a closed formula: a clipped multiplier. Rounds contract by :math:`\eta` times the curvature of
    :math:`\langle \lambda, c \rangle`; a round that does not descend is damped. A row of negative
    multiplier is concave and is replaced by its piece at the latest point.

    On a region each round projects its minimum. Where the rows are smooth at x, that is the
    minimum on the region.
    """
    current, damping = evaluation, 0.0
    value = multipliers @ evaluation.values + evaluation.grad @ evaluation.x
    for _ in range(50):
        # Minimum with the means linearised at the latest point, damped towards it.
        curvature = 1.0 / eta + damping
        center = (evaluation.x / eta + damping * current.x - evaluation.grad) / curvature
        x = center - _row_slope(current, multipliers, center, 1.0 / curvature) / curvature
        x = evaluation.problem.project(x)
        step = np.linalg.norm(x - evaluation.x)
        # The last correction is small, relative to the step.
        if np.linalg.norm(x - current.x) <= 1e-4 * step:
            break
        # Accept the round if the true function descends, up to rounding, else damp the next one.
        trial = evaluation.problem.evaluate(x)
        new_value = multipliers @ trial.values + evaluation.grad @ x + step**2 / (2.0 * eta)
        if new_value <= value + 1e-13 * (1.0 + abs(value)):
            current, value = trial, new_value
        else:
            damping = max(2.0 * damping, 1.0 / eta)
    return current


def _row_slope(
    current: Evaluation, multipliers: np.ndarray, center: np.ndarray, eta: float
) -> np.ndarray:
    """Gradient of the weighted rows at the minimum of their model and the proximal term."""
    if current.rows.rows_at_shift is None:
        return current.pull_back(multipliers)
    means = current.means_jacobian
    # Means move linearly with x: offset at the centre, and eta J J' per weight of the means.
    offset = means @ (center - current.x)[: means.shape[1]]
    weights = _means_gradient(
        current.rows.rows_at_shift, multipliers, offset, eta * means @ means.T
    )
    return np.append(means.T @ weights, multipliers @ current.rows.aux_jacobian)


def _means_gradient(
    rows_at_shift: Callable, multipliers: np.ndarray, offset: np.ndarray, gram: np.ndarray
) -> np.ndarray:
    """Gradient, by the means, of the weighted rows at the minimum over shifts of the means.

    The shift is ``offset - gram @ weights``. Pieces are added until no other piece is larger at the
    minimum over those added (cutting planes).
    """
    values, combine = rows_at_shift(np.zeros_like(offset))
    concave = multipliers < 0

    def piece(shift: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient of the weighted rows at a shift of the means."""
        moved, slopes_at_shift = rows_at_shift(shift)
        # Concave rows are replaced by their piece at the latest point.
        moved = np.where(concave, values + combine @ shift, moved)
        return multipliers @ moved, multipliers @ np.where(
            concave[:, np.newaxis], combine, slopes_at_shift
        )

    shift = np.zeros_like(offset)
    slopes: list = []
    heights: list = []
    weights = np.zeros_like(offset)
    coefficients = np.empty(0)
    for _ in range(1000):
        value, slope = piece(shift)
        # Stop when the largest of the known pieces equals the function at this shift.
        modelled = max((h + s @ shift for h, s in zip(heights, slopes, strict=True)), default=None)
        if modelled is not None and value <= modelled + _DUAL_TOLERANCE * (1.0 + abs(value)):
            break
        # Add the piece and maximise the dual over the coefficients of the pieces.
        slopes.append(slope)
        heights.append(value - slope @ shift)
        pieces = np.array(slopes)
        coefficients = np.append(coefficients, 0.0) if len(coefficients) else np.ones(1)
        coefficients = _piece_coefficients(
            heights + pieces @ offset, pieces @ gram @ pieces.T, coefficients
        )
        weights = coefficients @ pieces
        shift = offset - gram @ weights
    return weights


def _piece_coefficients(linear: np.ndarray, gram: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Maximise ``linear @ p - p @ gram @ p / 2`` over coefficients p of sum 1, from a start.

    Each step exchanges weight between the pieces of largest and smallest slope: one step suffices
    for two pieces.
    """
    coefficients = np.array(start, dtype=np.float64)
    for _ in range(10_000):
        slopes = linear - gram @ coefficients
        # Pair of pieces: weight moves from the one of smallest slope to that of largest.
        best = np.argmax(slopes)
        worst = np.argmin(np.where(coefficients > 0, slopes, np.inf))
        gain = slopes[best] - slopes[worst]
        curvature = gram[best, best] - 2.0 * gram[best, worst] + gram[worst, worst]
        if gain <= _DUAL_TOLERANCE * (1.0 + abs(slopes[best])):
            break
        # Exact line search, until the worst piece has no weight left.
        step = min(coefficients[worst], gain / curvature) if curvature > 0 else coefficients[worst]
        coefficients[best] += step
        coefficients[worst] -= step
    return coefficients


# The inexact difference-of-convex algorithm.


def majorize(evaluation: Evaluation) -> ConstrainedProblem:
    """A convex upper bound of the problem of a linear model, which is equal at the evaluated point.

    Concave terms of rows and of a loss of pairs are replaced by their tangents.
    """
    problem, scores = evaluation.problem, evaluation.scores
    loss = problem.loss
    if is_pairwise(loss):
        loss = loss.majorant(scores, problem.target, problem.mean_weights)
    return replace(problem, loss=loss, constraint=problem.rows.majorant(scores, evaluation.aux))


def original_multipliers(rows: Any, multipliers: np.ndarray) -> np.ndarray:
    """Multipliers of the original rows from those of rows that majorise them."""
    if not hasattr(rows, "components"):
        return rows.original_multipliers(multipliers)
    pairs = zip(rows.components, rows.split_by_constraint(multipliers), strict=True)
    return np.concatenate(
        [np.empty(0), *(original_multipliers(one, of_one) for one, of_one in pairs)]
    )


@make_constructor
class IDCA(Solver):
    r"""Solver for percentile constraints: a sequence of convex problems (IDCA).

    Each of them has stricter constraints than the problem itself. Rows that are differences of
    convex functions, :math:`f_i^+ - f_i^- \le 0`, are majorised at the iterate :math:`w_k` by
    :math:`g_i(v) = f_i^+(v) - f_i^-(w_k) - \nabla f_i^-(w_k)^T (v - w_k)`, and the next iterate
    nearly solves

    .. math::

        \min_v f(v) \quad \text{s.t.} \quad g_i(v) \le 0,

    such that :math:`\max(f(w_{k+1}) - f^*, \max_i g_i(w_{k+1})) \le \epsilon_k` ([1]_, Algorithm 1
    and (33)). Feasible iterates stay feasible up to :math:`\epsilon_k`. If the objective is such a
    difference, as that of :class:`skfair.losses.AUCLoss`, its concave part is majorised likewise.

    It needs a constraint with a ``majorant``, such as percentile constraints. Callbacks get
    ``details["n_oracle"]``, the number of (sub)gradients of convex problems computed so far, which
    is the oracle complexity of [1]_ (Theorem 6.5).

    Read more in the :ref:`guide <partial_parity>`.

    Parameters
    ----------
    max_iter : int, default=200
        Maximum number of convex problems.
    tol : float, default=1e-4
        Maximum violation and maximum residual of the optimality conditions at the answer.
    solver : Solver or None, default=None
        Solves the convex problems. None is :class:`SQP`, stopped at an optimality residual of
        ``tol``: by convexity the objective is then within ``tol`` of the minimum, per unit of
        distance (in the 1-norm) to it. A :class:`SwitchingSubgradient` is as accurate as its
        ``epsilon`` after enough iterations ([1]_, Proposition 6.4).
    warm_start : bool, default=True
        Whether to start from the passed parameters. If not, the start is the model's initial ones,
        0 if it is linear: equal scores are fair, so it is feasible ([1]_, Assumption 6.3E).

    See Also
    --------
    SQP : The default of :class:`skfair.classification.PartialParityClassifier`.

    References
    ----------
    .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
       percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.

    Examples
    --------
    >>> from skfair.solvers import IDCA
    >>> IDCA.from_paper(epsilon=5e-4).solver.epsilon
    0.0005
    """

    requires = ("majorant",)

    max_iter: PositiveInt = 200
    tol: NonNegative = 1e-4
    solver: Solver | None = None
    warm_start: bool = True

    @property
    def projects(self) -> bool:
        """Whether the inner solver projects onto the region."""
        return self.solver is not None and self.solver.projects

    @classmethod
    def from_paper(cls, epsilon: float = 1e-3, inner_iter: int = 200, **changes: Any) -> Self:
        """The settings of [1]_, section G.2.2, which start from coefficients of 0.

        Parameters
        ----------
        epsilon : float, default=1e-3
            Infeasibility that the inner solver tolerates; the paper chooses among 5e-4, 1e-3, 2e-3
            and 5e-3 by accuracy on validation data.
        inner_iter : int, default=200
            Subgradient steps per convex problem; the paper chooses between 150 and 200.
        **changes
            Other parameters that should differ; the paper chooses `max_iter` among 100, 150, ...,
            400.

        Returns
        -------
        solver : IDCA

        References
        ----------
        .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
           percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.
        """
        inner = SwitchingSubgradient.from_paper(
            "partial_fairness", epsilon=epsilon, max_iter=inner_iter
        )
        settings = {"max_iter": 400, "tol": epsilon, "solver": inner, "warm_start": False}
        return cls(**(settings | changes))

    def _iterate(
        self, problem: Problem, x: np.ndarray, random_state: np.random.RandomState
    ) -> Iterator[Iterate]:
        inner = SQP(tol=self.tol) if self.solver is None else self.solver
        x = x if self.warm_start else problem.initial_point(random_state=random_state)
        evaluation = problem.evaluate(x)
        n_oracle = 0
        multipliers = np.zeros(len(problem.lower))
        while True:
            yield Iterate(evaluation, multipliers, details={"n_oracle": n_oracle})
            # Majorise at the iterate and solve the convex problem.
            convex = majorize(evaluation)
            result = inner.solve(convex, evaluation.x, random_state=random_state)
            n_oracle += result.n_iter
            # The inner solver stays at the iterate: it solves its own majorant.
            if not (result.x != evaluation.x).any():
                return
            evaluation = problem.evaluate(result.x)
            multipliers = original_multipliers(convex.rows, result.multipliers)


# Inexact proximal point methods: double loops for weakly convex rows.


class _ProximalProblem:
    r"""F and G with :math:`\frac{\rho}{2} \|x - center\|^2` added to each."""

    def __init__(self, one_sided: Any, center: np.ndarray, rho: float) -> None:
        self.one_sided = one_sided
        self.center = center
        self.rho = rho

    def proximal_term(self, evaluation: Evaluation) -> tuple[float, np.ndarray]:
        """The proximal term and its gradient."""
        displacement = evaluation.x - self.center
        return self.rho / 2.0 * displacement @ displacement, self.rho * displacement

    def rows(self, evaluation: Evaluation) -> np.ndarray:
        """G, (n_bounds,)."""
        return self.one_sided.values(evaluation.values) + self.proximal_term(evaluation)[0]

    def linearized_rows(self, evaluation: Evaluation, x: np.ndarray) -> np.ndarray:
        """G linearised at an evaluation, at x."""
        jacobian = self.one_sided.jacobian(evaluation.jacobian) + self.proximal_term(evaluation)[1]
        return self.rows(evaluation) + jacobian @ (x - evaluation.x)

    def row_gradient(self, evaluation: Evaluation, i: int) -> np.ndarray:
        """Gradient of one component of G."""
        one = np.arange(len(self.one_sided.rows)) == i
        gradient = evaluation.pull_back(self.one_sided.multipliers(one))
        return gradient + self.proximal_term(evaluation)[1]

    def lagrangian_gradient(self, evaluation: Evaluation, duals: np.ndarray) -> np.ndarray:
        """Gradient of F plus the duals times G."""
        # F and every G contain the proximal term.
        gradient = evaluation.lagrangian_gradient(self.one_sided.multipliers(duals))
        return gradient + (1.0 + duals.sum()) * self.proximal_term(evaluation)[1]


class _InexactProximalPoint(Solver):
    """The outer loop: a sequence of strongly convex problems around centres."""

    check_every = 9
    projects = True
    requires = ("linear",)

    def _iterate(
        self, problem: Problem, x: np.ndarray, random_state: np.random.RandomState
    ) -> Iterator[Iterate]:
        one_sided = problem.one_sided
        evaluation = problem.evaluate(x)
        duals = np.zeros(len(one_sided.rows))
        smoothness = Smoothness.estimate(evaluation, one_sided)
        while True:
            # Each round solves a strongly convex problem around the last iterate.
            proximal = _ProximalProblem(one_sided, evaluation.x, self.rho)
            inner = self._solve_inner(proximal, evaluation, duals, smoothness)
            evaluation, duals = yield from inner

    @abstractmethod
    def _solve_inner(
        self,
        proximal: _ProximalProblem,
        evaluation: Evaluation,
        duals: np.ndarray,
        smoothness: Smoothness,
    ) -> Generator[Iterate, None, tuple[Evaluation, np.ndarray]]:
        """Yield the iterates of an inner loop; return the next centre and its multipliers."""


@make_constructor
class IPPSSG(_InexactProximalPoint):
    r"""Proximal point method, with steps against objective or constraint inside (IPP-SSG).

    Around the centre :math:`x_t` the outer loop approximately solves the strongly convex problem

    .. math::

        x_{t+1} \approx \arg\min_x F(x) + \tfrac{\rho}{2} \|x - x_t\|^2 \quad \text{s.t.} \quad
        \max_i G_i(x) + \tfrac{\rho}{2} \|x - x_t\|^2 \le 0 ,

    with :math:`\rho` above the weak convexity of F and G ([1]_, [2]_). If the rows hold up to
    `tol`, the inner loop steps against the gradient of the objective by
    :math:`\gamma_k = 2 / (2 L_F + \rho (k + 2))`, otherwise against that of the worst row, to where
    its linearisation holds. The next centre is the average of the points of the objective steps
    with weights k + 1. Each gap is one row, which may be piecewise smooth. Multipliers are
    estimated as by :class:`SwitchingSubgradient`.

    Parameters
    ----------
    max_iter : int, default=20000
        Maximum number of iterations, counted over all inner loops.
    tol : float, default=1e-4
        Maximum violation and maximum residual of the optimality conditions at the answer.
    rho : float, default=0.1
        :math:`\rho`.
    inner_iter : int, default=100
        Iterations of an inner loop.

    References
    ----------
    .. [1] R. Ma, Q. Lin and T. Yang, "Quadratically regularized subgradient methods for weakly
       convex optimization with weakly convex constraints", ICML 2020.
    .. [2] Y. Huang and Q. Lin, "Oracle complexity of single-loop switching subgradient methods for
       non-smooth weakly convex functional constrained optimization", NeurIPS 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import ConstrainedERMClassifier
    >>> from skfair.solvers import IPPSSG
    >>> groups = np.tile(["a", "b"], 50)
    >>> X = (np.linspace(-1, 1, 100) + 0.2 * (groups == "b"))[:, np.newaxis]
    >>> model = ConstrainedERMClassifier(tolerance=0.1, alpha=0.1, solver=IPPSSG(tol=1e-2))
    >>> model.fit(X, X[:, 0] > 0, sensitive_features=groups).constraint_violation_
    0.0
    """

    one_row = True

    max_iter: PositiveInt = 20000
    tol: NonNegative = 1e-4
    rho: Positive = 0.1
    inner_iter: PositiveInt = 100

    def _solve_inner(
        self,
        proximal: _ProximalProblem,
        evaluation: Evaluation,
        duals: np.ndarray,
        smoothness: Smoothness,
    ) -> Generator[Iterate, None, tuple[Evaluation, np.ndarray]]:
        problem, one_sided = evaluation.problem, proximal.one_sided
        average = np.zeros_like(evaluation.x)
        weight = 0.0
        against_rows = np.zeros_like(duals)
        against_objective = 0.0
        for k in range(self.inner_iter):
            yield Iterate(evaluation, one_sided.multipliers(duals))
            G = proximal.rows(evaluation)
            # Step against the objective if the rows hold, otherwise against the worst row.
            if G.max(initial=-np.inf) <= self.tol:
                step = 2.0 / (2.0 * smoothness.objective + self.rho * (k + 2))
                slope = proximal.lagrangian_gradient(evaluation, np.zeros_like(G))
                average += (k + 1) * evaluation.x
                weight += k + 1
                against_objective += step
            else:
                worst = G.argmax()
                slope = proximal.row_gradient(evaluation, worst)
                step = polyak_step(G[worst], slope)
                against_rows[worst] += step
            evaluation = problem.evaluate(problem.project(evaluation.x - step * slope))
        # Next centre: weighted average of the points of objective steps; without any, the last
        # point.
        if weight:
            evaluation = problem.evaluate(average / weight)
            duals = against_rows / against_objective
        return evaluation, duals


@make_constructor
class IPPConEx(_InexactProximalPoint):
    r"""Proximal point method, with primal-dual steps inside (IPP-ConEx).

    The outer problems are those of :class:`IPPSSG`; the inner loop is primal-dual ([1]_,
    Algorithm 1). With :math:`\ell(x_k) = G(x_{k-1}) + J(x_{k-1}) (x_k - x_{k-1})`, where G and F
    contain :math:`\tfrac{\rho}{2} \|x - x_t\|^2`,

    .. math::

        s_k &= 2\, \ell(x_k) - \ell(x_{k-1}), \\
        \lambda_{k+1} &= \mathrm{clip}(\lambda_k + \sigma s_k,\, 0,\, \lambda_{max}), \\
        x_{k+1} &= x_k - \eta \bigl(\nabla F(x_k) + J(x_k)^T \lambda_{k+1}\bigr), \qquad
        1 / \eta = L + \sigma M_G^2 + \rho\,(1 + \textstyle\sum \lambda_{k+1}).

    The next centre is the last iterate of the inner loop, not the weighted average of its iterates
    that [1]_ analyses. Multipliers are carried from one inner loop to the next. The cap bounds them
    where the rows cannot hold around a centre; long dual steps make the inner loop cycle.

    Parameters
    ----------
    max_iter : int, default=20000
        Maximum number of iterations, counted over all inner loops.
    tol : float, default=1e-4
        Maximum violation and maximum residual of the optimality conditions at the answer.
    rho : float, default=0.1
        :math:`\rho`.
    inner_iter : int, default=20
        Iterations of an inner loop.
    dual_step : float, default=0.25
        :math:`\sigma`, below 0.3.
    dual_max : float, default=10.0
        :math:`\lambda_{max}`.

    References
    ----------
    .. [1] D. Boob, Q. Deng and G. Lan, "Stochastic first-order methods for convex and nonconvex
       functional constrained optimization", Mathematical Programming, 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import ConstrainedERMClassifier
    >>> from skfair.solvers import IPPConEx
    >>> groups = np.tile(["a", "b"], 50)
    >>> X = (np.linspace(-1, 1, 100) + 0.2 * (groups == "b"))[:, np.newaxis]
    >>> model = ConstrainedERMClassifier(tolerance=0.1, alpha=0.1, solver=IPPConEx(tol=1e-2))
    >>> model.fit(X, X[:, 0] > 0, sensitive_features=groups).constraint_violation_
    0.0
    """

    max_iter: PositiveInt = 20000
    tol: NonNegative = 1e-4
    rho: Positive = 0.1
    inner_iter: PositiveInt = 20
    dual_step: Annotated[float, Interval(Real, 0, 0.3, closed="neither")] = 0.25
    dual_max: Annotated[float, Interval(Real, 0, None, closed="right")] = 10.0

    def _solve_inner(
        self,
        proximal: _ProximalProblem,
        evaluation: Evaluation,
        duals: np.ndarray,
        smoothness: Smoothness,
    ) -> Generator[Iterate, None, tuple[Evaluation, np.ndarray]]:
        problem, one_sided = evaluation.problem, proximal.one_sided
        previous = evaluation
        linear = proximal.rows(evaluation)
        for _ in range(self.inner_iter):
            yield Iterate(evaluation, one_sided.multipliers(duals))
            # Ascent with extrapolated linearised rows, then a gradient step.
            previous_linear = linear
            linear = proximal.linearized_rows(previous, evaluation.x)
            ascent = 2.0 * linear - previous_linear
            duals = np.clip(duals + self.dual_step * ascent, 0.0, self.dual_max)
            # 1 / eta of the docstring, whose L includes the curvature that the multipliers add.
            lipschitz = smoothness.bound_lagrangian_curvature(
                evaluation, one_sided.multipliers(duals)
            )
            lipschitz += self.dual_step * smoothness.rows**2 + self.rho * (1.0 + duals.sum())
            slope = proximal.lagrangian_gradient(evaluation, duals)
            previous = evaluation
            evaluation = problem.evaluate(problem.project(evaluation.x - slope / lipschitz))
        return evaluation, duals


# The primal-dual algorithm of the proximal-perturbed Lagrangian (PLADA).


def plada_update(
    solver: BaseEstimator,
    k: int,
    tau: float,
    u: np.ndarray,
    lam: np.ndarray,
    mu: np.ndarray,
    G: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Slack, multiplier and auxiliary multiplier after step k, from the rows at its unknowns."""
    rho = solver.alpha / (1.0 + solver.alpha * solver.beta)
    u = np.clip(u - tau * lam, 0.0, solver.u_max)
    apart = lam - mu
    delta = solver.kappa / (k + 1)
    # gamma_k: at most gamma0, and shorter the further lambda and mu are apart.
    gamma = min(solver.gamma0, rho * delta / (apart @ apart + 1.0))
    mu = mu + gamma * apart / rho
    return u, mu + rho * (G + u), mu


@make_constructor
class PLADA(Solver):
    r"""Solver that updates parameters, slacks and multipliers in turn (PLADA).

    These are alternating directions on the proximal-perturbed Lagrangian. With the rows written as
    :math:`G(\theta) + u = z`, slack :math:`u \ge 0`, :math:`z = 0` and :math:`\rho = \alpha / (1 +
    \alpha\beta)`, Algorithm 1 of [1]_ repeats

    .. math::

        \theta_{k+1} &= \arg\min_\theta \langle \nabla F(\theta_k), \theta \rangle
        + \langle \lambda_k, G(\theta) \rangle + \tfrac{1}{2\eta} \|\theta - \theta_k\|^2, \\
        u_{k+1} &= \mathrm{clip}(u_k - \tau \lambda_k,\, 0,\, u_{max}), \\
        \mu_{k+1} &= \mu_k + \gamma_k (\lambda_k - \mu_k) / \rho, \qquad
        \gamma_k = \min\Bigl\{\gamma_0,\,
        \frac{\rho\, \delta_k}{\|\lambda_k - \mu_k\|^2 + 1}\Bigr\}, \quad
        \delta_k = \frac{\kappa}{k + 1}, \\
        \lambda_{k+1} &= \mu_{k+1} + \rho\,(G(\theta_{k+1}) + u_{k+1}).

    The perturbation :math:`z_k = (\lambda_k - \mu_k) / \alpha` follows from these. Callbacks get
    :math:`\lambda_k` and :math:`\mu_k` in ``progress.details``.

    Read more in the :ref:`guide <solvers>`.

    Parameters
    ----------
    max_iter : int, default=10000
        Maximum number of iterations.
    tol : float, default=1e-4
        Maximum violation and maximum residual of the optimality conditions at the answer.
    alpha : float, default=2.0
        Penalty :math:`\alpha` of the perturbation.
    beta : float, default=0.9
        Proximal parameter :math:`\beta` of the multipliers.
    eta : float or None, default=None
        Step :math:`\eta`; None is :math:`0.9 / (L_F + 3 \rho M_G^2)` with estimates of the
        Lipschitz constants of :math:`\nabla F` and G; if G is linearised, L_F includes the
        curvature of :math:`\lambda^T G`.
    tau : float or None, default=None
        Step :math:`\tau` of the slack; None is :math:`0.9 / (3\rho)`.
    gamma0 : float, default=1.0
        Maximum step :math:`\gamma_0` of the auxiliary multiplier.
    kappa : float, default=1000.0
        :math:`\kappa`; the larger, the slower these steps decay.
    u_max : float, default=inf
        Maximum slack, :math:`B_G \ge \|G(\theta)\|` in the paper (below its (10)); it must not be
        below the slack of the answer.
    theta_update : {"linearised", "exact"}, default="linearised"
        Whether G is linearised in the step of :math:`\theta`, which makes it a gradient step, or
        kept as in Algorithm 1. The exact step has about the same cost: it linearises the means that
        G compares, but not G itself, and repeats this until the step converges.
    one_row : bool, default=False
        Whether each gap is one row ``gap - tolerance``, piecewise linear as (17) of [1]_, which is
        cheaper for the mean excess of hundreds of groups. Otherwise it is linear rows on the rates,
        with auxiliary unknowns if necessary. Combine it with ``theta_update="exact"``.
    radius : float or None, default=None
        Largest Euclidean norm of the parameters :math:`\theta`, which are the intercept and the
        coefficients of standardised columns in linear models: the compact domain of Assumption 4.
        Each step ends with a projection onto this ball, which the search of
        ``enforcement="auto"`` may leave. None is no bound.

    Warns
    -----
    UserWarning
        If piecewise linear rows are linearised: the iterates then step across breakpoints and can
        end far from the optimum. If :math:`\tau` is not below :math:`1 / (3\rho)`, as in the
        setting of the paper: its convergence theorem then does not apply.

    References
    ----------
    .. [1] "A Modified Proximal-Perturbed Lagrangian for Non-Convex Non-Smooth Representatives of
       Fairness Constraints", Algorithm 1 and Table 2.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import ConstrainedERMClassifier
    >>> from skfair.solvers import PLADA
    >>> groups = np.tile(["a", "b"], 50)
    >>> X = (np.linspace(-1, 1, 100) + 0.2 * (groups == "b"))[:, np.newaxis]
    >>> model = ConstrainedERMClassifier(tolerance=0.1, alpha=0.1, solver=PLADA(tol=1e-2))
    >>> model.fit(X, X[:, 0] > 0, sensitive_features=groups).constraint_violation_
    0.0

    The setting of the paper:

    >>> PLADA.from_paper()
    PLADA(alpha=10.0, beta=0.1, eta=0.001, gamma0=0.1, tau=0.1,
          theta_update='exact', u_max=1.0)
    """

    check_every = 10

    max_iter: PositiveInt = 10000
    tol: NonNegative = 1e-4
    alpha: Positive = 2.0
    beta: NonNegative = 0.9
    eta: Positive | None = None
    tau: Positive | None = None
    gamma0: Positive = 1.0
    kappa: Positive = 1000.0
    u_max: Annotated[float, Interval(Real, 0, None, closed="right")] = math.inf
    theta_update: Literal["linearised", "exact"] = "linearised"
    one_row: bool = False
    radius: Positive | None = None

    @classmethod
    def from_paper(cls, **changes: Any) -> Self:
        r"""The settings of the paper (Table 2; its :math:`\kappa` is not printed).

        The step :math:`\eta` is short: with it linear models are far from the optimum after
        seconds, and with that of the theorem, the default, near it
        (``python -m benchmarks erm-time-course``, 2026-11-27). The slack is at most
        :math:`B_G = 1`, as gaps of rates and tolerances are in [0, 1]. Gaps of losses need another
        bound.

        Parameters
        ----------
        **changes
            Parameters that should differ.

        Returns
        -------
        solver : PLADA
        """
        settings = {"alpha": 10.0, "beta": 0.1, "eta": 0.001, "tau": 0.1, "gamma0": 0.1}
        return cls(**(settings | {"u_max": 1.0, "theta_update": "exact"} | changes))

    @property
    def projects(self) -> bool:
        """A region of the problem is projected onto, unless there is a ball."""
        return self.radius is None

    @property
    def requires(self) -> tuple[str, ...]:
        """A linear model, to estimate the primal step unless it is a number."""
        return ("linear",) if self.eta is None else ()

    def _iterate(
        self, problem: Problem, x: np.ndarray, random_state: np.random.RandomState
    ) -> Iterator[Iterate]:
        one_sided = problem.one_sided
        # A compact domain (Assumption 4).
        if self.radius is not None:
            problem = replace(problem, region=Ball(self.radius))  # type: ignore[type-var]
        evaluation = problem.evaluate(problem.project(x))
        rho = self.alpha / (1.0 + self.alpha * self.beta)
        primal_step = self._primal_step_rule(evaluation, one_sided, rho)
        tau = self._slack_step(rho)
        minimise = proximal_step if self.theta_update == "exact" else _gradient_step
        self._warn_of_breakpoints(evaluation)
        # Slack that makes G + u = 0 where the bounds of u allow.
        u = np.clip(-one_sided.values(evaluation.values), 0.0, self.u_max)
        lam = mu = np.zeros_like(u)
        for k in count():
            multipliers = one_sided.multipliers(np.maximum(0.0, lam))
            yield Iterate(evaluation, multipliers, details={"lambda": lam, "mu": mu})
            eta = primal_step(evaluation, multipliers)
            # theta: the proximal (or gradient) step on the Lagrangian.
            evaluation = minimise(evaluation, one_sided.multipliers(lam), eta)
            G = one_sided.values(evaluation.values)
            u, lam, mu = plada_update(self, k, tau, u, lam, mu, G)

    def _warn_of_breakpoints(self, evaluation: Evaluation) -> None:
        """Warn if gradient steps replace proximal ones on piecewise linear rows."""
        if self.theta_update == "linearised" and evaluation.rows.rows_at_shift is not None:
            warn(
                "PLADA(theta_update='linearised') takes gradient steps on piecewise linear rows "
                "(one_row=True). They step back and forth across breakpoints and can end far from "
                "the optimum. Use theta_update='exact', as in Algorithm 1."
            )

    def _primal_step_rule(
        self, initial_evaluation: Evaluation, one_sided: Any, rho: float
    ) -> Callable:
        """The rule (evaluation, multipliers) -> eta."""
        if self.eta is not None:
            return lambda evaluation, multipliers: self.eta
        smoothness = Smoothness.estimate(initial_evaluation, one_sided)
        coupling = 3.0 * rho * smoothness.rows**2
        if self.theta_update == "exact":
            return lambda evaluation, multipliers: 0.9 / (smoothness.objective + coupling)
        return lambda evaluation, multipliers: (
            0.9 / (smoothness.bound_lagrangian_curvature(evaluation, multipliers) + coupling)
        )

    def _slack_step(self, rho: float) -> float:
        limit = 1.0 / (3.0 * rho)
        if self.tau is None:
            return 0.9 * limit
        if self.tau >= limit:
            warn(
                f"tau={self.tau:g} is not below 1 / (3 rho) = {limit:.3g}, so the convergence "
                "theorem of PLADA does not apply. Use tau=None to satisfy it."
            )
        return self.tau


def _gradient_step(evaluation: Evaluation, multipliers: np.ndarray, eta: float) -> Evaluation:
    """The minimum of F and G, both linearised, and the proximal term: a gradient step."""
    problem = evaluation.problem
    slope = evaluation.lagrangian_gradient(multipliers)
    return problem.evaluate(problem.project(evaluation.x - eta * slope))
