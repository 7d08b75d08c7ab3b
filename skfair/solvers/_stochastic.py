"""Solvers on mini-batches: their base, stochastic gradient descent, and Adam."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skfair._problems.problem import evaluate_decisions
from skfair._utils.checks import warn
from skfair._utils.parameters import NonNegative, Positive, PositiveInt, make_constructor
from skfair.solvers._solver import Iterate, Solver

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from skfair._problems.evaluation import Evaluation
    from skfair._problems.problem import ConstrainedProblem, Problem


# Base of solvers on mini-batches: epochs, batches, and detection of divergence.


class StochasticSolver(Solver):
    """Base class of solvers on mini-batches, which implement one generator of steps.

    An iteration of the driver is an epoch of n_samples / batch_size steps. All samples are only
    evaluated after an epoch, to choose the best iterate and for callbacks.

    Parameters
    ----------
    max_iter : int
        Epochs.
    tol : float
        Violation of a row up to which an iterate counts as feasible, and residual of the optimality
        conditions at which the solver stops, which mini-batch methods rarely reach.
    batch_size : int
        Samples per batch: for the loss, and about as many for the constraint, split equally among
        its events. If it is at least n_samples, all samples are used and nothing is drawn.

    Examples
    --------
    Stochastic gradient descent on the loss:

    >>> import numpy as np
    >>> from skfair._bound.bound import ConstraintSystem
    >>> from skfair.losses import SquaredLoss
    >>> from skfair._problems.linear import LinearModel
    >>> from skfair._problems.problem import ConstrainedProblem
    >>> from skfair.solvers import StochasticSolver
    >>> class Descent(StochasticSolver):
    ...     def __init__(self, max_iter=100, tol=1e-2, batch_size=1):
    ...         super().__init__(max_iter, tol, batch_size)
    ...
    ...     def _steps(self, problem, x, random_state):
    ...         while True:
    ...             x = x - 0.1 * self._batch(problem, random_state).evaluate(x).grad
    ...             yield x, np.zeros(len(problem.lower))
    >>> X, y, weights = np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0]), np.ones(2)
    >>> model = LinearModel.from_features(X, weights)
    >>> problem = ConstrainedProblem(model, SquaredLoss(), y, weights, 0.0, ConstraintSystem(()))
    >>> Descent().solve(problem, random_state=0).x.round(1)
    array([1., 0.])
    """

    requires: tuple[str, ...] = ("batches",)

    advice = "Raise max_iter or batch_size, or take shorter steps."

    check_every = 10

    projects = True

    def __init__(self, max_iter: PositiveInt, tol: NonNegative, batch_size: PositiveInt):
        super().__init__(max_iter, tol)
        self.batch_size = batch_size

    takes_last = False
    """Whether the answer is the last epoch's iterate instead of the best."""

    @abstractmethod
    def _steps(
        self, problem: Problem, x: np.ndarray, random_state: np.random.RandomState
    ) -> Generator[tuple[np.ndarray, np.ndarray], Evaluation | None, None]:
        """Yield unknowns and multipliers after every step; receive an epoch's evaluation."""

    def _iterate(
        self, problem: Problem, x: np.ndarray, random_state: np.random.RandomState
    ) -> Iterator[Iterate]:
        yield Iterate(self._evaluate(problem, x), np.zeros(len(problem.lower)))
        n_steps = self._steps_per_epoch(problem)
        n_taken = 0
        here = None
        steps = self._steps(problem, x, random_state)
        while True:
            # An epoch: as many steps as batches cover the samples once.
            for _ in range(n_steps):
                x, multipliers = steps.send(here)
                n_taken = n_taken + 1
                here = None
                with np.errstate(over="ignore"):
                    is_finite = np.isfinite(x @ x)
                if not is_finite:
                    warn(
                        f"{type(self).__name__} diverged at step {n_taken}: its unknowns are not "
                        "finite. The best earlier iterate is returned. Use shorter steps or larger "
                        "batches, or standardise the columns of X.",
                        ConvergenceWarning,
                    )
                    return
            # The evaluation of all samples is sent to the steps, which may use it.
            here = self._evaluate(problem, x)
            yield Iterate(here, multipliers, True if self.takes_last else None)

    def _evaluate(self, problem: Problem, x: np.ndarray) -> Evaluation:
        """All samples at x, with auxiliary unknowns set to fit them."""
        return reset_auxiliary(problem.evaluate(x))

    def _steps_per_epoch(self, problem: Problem) -> int:
        return -(-len(problem.target) // self.batch_size)

    def _batch(self, problem: Problem, random_state: np.random.RandomState) -> ConstrainedProblem:
        """The problem on separate samples for the loss and for the constraint."""
        return self._draw(problem, self.batch_size, self._n_per_event(problem), random_state)

    def _loss_batch(
        self, problem: Problem, random_state: np.random.RandomState
    ) -> ConstrainedProblem:
        """The problem on samples for the loss only."""
        return self._draw(problem, self.batch_size, 0, random_state)

    def _constraint_batch(
        self, problem: Problem, random_state: np.random.RandomState
    ) -> ConstrainedProblem:
        """The problem on samples for the constraint only."""
        return self._draw(problem, 0, self._n_per_event(problem), random_state)

    def _draw(
        self,
        problem: Problem,
        n_samples: int,
        n_per_event: int,
        random_state: np.random.RandomState,
    ) -> ConstrainedProblem:
        if self.batch_size >= len(problem.target):
            return problem.batches.full  # a batch has all samples
        return problem.batches.draw(n_samples, n_per_event, random_state)

    def _n_per_event(self, problem: Problem) -> int:
        """Samples per event of a batch for the constraint."""
        rows: tuple[Any, ...] = getattr(problem.rows, "components", (problem.rows,))
        n_events = sum(one.n_events for one in rows if len(one.lower))
        return -(-self.batch_size // max(1, n_events))


class LoopSolver(StochasticSolver):
    """Base of solvers whose steps follow a weighted sum of the loss and of the rows G <= 0.

    These weights, and what moves them from step to step, are all that a method is beside a gradient
    step: its solver and :class:`skfair.torch.ConstrainedObjective` take them from here. `mu` is the
    weight of the distance from smoothed unknowns, and `beta` the step of these.
    """

    mu: float = 0.0
    beta: float = 0.0

    def _start_state(self, G: np.ndarray) -> dict[str, Any]:
        """What the method changes from step to step, from the rows at the start."""
        return {}

    @abstractmethod
    def _weigh(self, state: dict, G: np.ndarray, again: np.ndarray) -> tuple[bool, Any, dict]:
        """Whether a step takes the loss, weights of the rows, (n_bounds,), and the next state.

        The rows are those of two independent batches, or of one.
        """


def reset_auxiliary(evaluation: Evaluation) -> Evaluation:
    """The same point, with auxiliary unknowns that make the rows hold if possible.

    Mini-batch steps leave noise in all unknowns, which costs nothing to remove in these.
    """
    problem, point = evaluation.problem, evaluation.point
    if not problem.rows.n_aux:
        return evaluation
    aux = problem.rows.initial_aux(point.scores)
    # The scores do not depend on auxiliary unknowns, so the point is reused.
    evaluation = problem.evaluate(np.concatenate((evaluation.parameters, aux)))
    evaluation.point = point
    return evaluation


# Step directions of Adam.


_DECAYS = 0.9, 0.999
"""Decay rates of the running means of gradients and of their squares."""


class Adam:
    """Step directions: running means of gradients over the roots of those of their squares."""

    def __init__(self, n_unknowns: int) -> None:
        self._mean, self._square = np.zeros(n_unknowns), np.zeros(n_unknowns)
        self._remaining = np.ones(2)

    def __call__(self, gradient: np.ndarray) -> np.ndarray:
        """The direction after one more gradient, (n_unknowns,)."""
        mean_decay, square_decay = _DECAYS
        self._mean += (1.0 - mean_decay) * (gradient - self._mean)
        self._square += (1.0 - square_decay) * (gradient * gradient - self._square)
        self._remaining *= _DECAYS  # bias of the means towards their start at 0
        mean_weight, square_weight = 1.0 - self._remaining
        return self._mean / (mean_weight * (np.sqrt(self._square / square_weight) + 1e-8))


# Stochastic gradient descent on the loss, alone or with a fairness penalty.


@make_constructor
class SGD(LoopSolver):
    r"""Baseline on mini-batches: stochastic gradient descent, alone or with a fairness penalty.

    With the rows written as :math:`G \le 0`, each step on new mini-batches is

    .. math::

        x_{k+1} = \mathrm{proj}\Bigl(x_k - \eta \bigl(\nabla f(x_k, \xi_k)
        + \rho\, \nabla \textstyle\sum_r [G_r(x_k, \zeta_k)]_+\bigr)\Bigr).

    It is the baseline of constrained methods: without penalty it ignores the constraint, and with
    one the violation at a given :math:`\rho` is not controlled. With a tolerance of 0 the penalty
    is a norm of the gaps, as in [1]_. The answer is the last iterate.

    Read more in the :ref:`guide <solvers>`.

    Parameters
    ----------
    max_iter : int, default=20
        Epochs.
    tol : float, default=1e-3
        Maximum violation and maximum residual of the optimality conditions at the answer.
    learning_rate : float, default=0.05
        :math:`\eta`.
    batch_size : int, default=32
        Samples per batch.
    rho : float, default=0.0
        :math:`\rho`; with 0 no batches are drawn for the constraint.

    References
    ----------
    .. [1] M. Buyl, M. Defrance and T. De Bie, "fairret: a framework for differentiable fairness
       regularization terms", ICLR 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import ConstrainedERMClassifier
    >>> from skfair.solvers import SGD
    >>> groups = np.tile(["a", "b"], 50)
    >>> X = (np.linspace(-1, 1, 100) + 0.2 * (groups == "b"))[:, np.newaxis]
    >>> solver = SGD(tol=0.1)
    >>> model = ConstrainedERMClassifier(None, alpha=0.1, solver=solver, random_state=0)
    >>> model = model.fit(X, X[:, 0] > 0, sensitive_features=groups)
    >>> print(f"{model.score(X, X[:, 0] > 0):.1f} right")
    1.0 right
    """

    takes_last = True

    max_iter: PositiveInt = 20
    tol: NonNegative = 1e-3
    learning_rate: Positive = 0.05
    batch_size: PositiveInt = 32
    rho: NonNegative = 0.0

    @classmethod
    def from_paper(cls, **changes: Any) -> Self:
        """Batches of 8, as in the public code of [1]_; the paper prints no step and no batch size.

        Parameters
        ----------
        **changes
            Parameters that should differ.

        Returns
        -------
        solver : SGD

        References
        ----------
        .. [1] "Benchmarking stochastic approximation algorithms for fairness-constrained training
           of deep neural networks", section 4.2 and Table 3 (SGD).
        """
        return cls(**({"batch_size": 8, "learning_rate": 0.01} | changes))

    def _steps(
        self, problem: Problem, x: np.ndarray, random_state: np.random.RandomState
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        one_sided = problem.one_sided
        multipliers = np.zeros(len(problem.lower))
        while True:
            slope = self._loss_batch(problem, random_state).evaluate(x).grad
            # Penalty: subgradient of the sum of violations, on a batch of its own.
            if self.rho > 0:
                rows = self._constraint_batch(problem, random_state).evaluate(x)
                _, duals, _ = self._weigh({}, one_sided.values(rows.values))
                multipliers = one_sided.multipliers(duals)
                slope = slope + rows.pull_back(multipliers)
            x = problem.project(x - self.learning_rate * slope)
            yield x, multipliers

    def _weigh(
        self, state: dict[str, np.ndarray | int], G: np.ndarray, again: np.ndarray | None = None
    ) -> tuple[bool, np.ndarray, dict]:
        """The penalty of every row that is broken."""
        return True, self.rho * (G > 0), state


# Primal-dual training with Adam, with multipliers that follow decisions.


def move_multipliers(multipliers: np.ndarray, excess: np.ndarray, step: float) -> np.ndarray:
    """Multipliers, at least 0, after a step along the excess of the rows; nan is unknown, and 0."""
    return np.maximum(0.0, multipliers + step * np.nan_to_num(excess))


@make_constructor
class AdamPrimalDual(StochasticSolver):
    r"""Default solver of networks: Adam, with multipliers that grow while a gap is too large.

    With the rows written as :math:`G \le 0`, one for each ordered pair of groups (and class) that a
    gap compares, a step follows the gradient of the Lagrangian on a mini-batch, with smooth rates,

    .. math::

        g_k = \nabla f(x_k, \xi_k) + \lambda_k^T \nabla G(x_k, \zeta_k), \qquad
        x_{k+1} = \mathrm{proj}\bigl(x_k - \eta_k\, \mathrm{Adam}(g_0, \dots, g_k)\bigr),

    with :math:`\eta_k` decreasing linearly to 0 at the last step [1]_. The multipliers follow the
    decisions that are counted on the same mini-batch,

    .. math::

        \lambda_{k+1} = \bigl[\lambda_k + \tfrac{\sigma}{K} \hat G(x_k, \zeta_k)\bigr]_+,

    with K steps per epoch: the proxy-Lagrangian of [2]_. Signed differences of the rates of two
    groups have no bias, so that the moves of an epoch add up to one on all samples. A sum of
    gaps of many groups, and a gap of one's own, has one row. It is the default for networks. The
    answer is the last iterate.

    Read more in the :ref:`guide <solvers>`.

    Parameters
    ----------
    max_iter : int, default=8
        Epochs: passes over the samples, or several where a pass has fewer steps than `epoch_steps`.
    tol : float, default=1e-3
        Violation of a row up to which an iterate counts as feasible, and residual of the optimality
        conditions at which the solver stops.
    learning_rate : float, default=2e-3
        Initial step length :math:`\eta_0`.
    dual_step : float, default=1.0
        Dual step :math:`\sigma`: what a violation of 1 adds to a multiplier in an epoch.
    batch_size : int, default=128
        Samples per batch, for the loss and for the constraint each.
    optimizer : callable or None, default=None
        Of :class:`skfair.torch.ConstrainedTorchClassifier`: maps a list of parameters to a
        ``torch.optim.Optimizer``, such as ``torch.optim.AdamW`` or
        ``functools.partial(torch.optim.SGD, lr=0.1, momentum=0.9)``, in place of Adam and
        `learning_rate`.
    scheduler : callable or None, default=None
        Maps the optimiser to a scheduler of ``torch.optim.lr_scheduler``, whose ``step()`` is
        called after every epoch. None: the step of Adam decreases to 0, that of an `optimizer` is
        constant.
    epoch_steps : int, default=25
        Steps of an epoch, at least: few samples are passed over several times, since networks need
        some hundred steps.

    See Also
    --------
    skfair.torch.ConstraintTerm : The same multipliers in a training loop of one's own.

    References
    ----------
    .. [1] D. P. Kingma and J. Ba, "Adam: a method for stochastic optimization", ICLR 2015.
    .. [2] A. Cotter et al., "Optimization with non-differentiable constraints with applications to
       fairness, recall, churn, and other goals", JMLR 20(172), 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import ConstrainedERMClassifier
    >>> from skfair.solvers import AdamPrimalDual
    >>> groups = np.tile(["a", "b"], 50)
    >>> X = (np.linspace(-1, 1, 100) + 0.2 * (groups == "b"))[:, np.newaxis]
    >>> solver = AdamPrimalDual(max_iter=100, tol=0.1, learning_rate=0.1)
    >>> model = ConstrainedERMClassifier(tolerance=0.1, alpha=0.1, solver=solver, random_state=0)
    >>> model.fit(X, X[:, 0] > 0, sensitive_features=groups).constraint_violation_
    0.0
    """

    requires = ("batches", "decisions")
    takes_last = True
    by_pair = True

    max_iter: PositiveInt = 8
    tol: NonNegative = 1e-3
    learning_rate: Positive = 2e-3
    dual_step: NonNegative = 1.0
    batch_size: PositiveInt = 128
    optimizer: Callable | None = None
    scheduler: Callable | None = None
    epoch_steps: PositiveInt = 25

    def _steps(
        self, problem: Problem, x: np.ndarray, random_state: np.random.RandomState
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        if self.optimizer is not None or self.scheduler is not None:
            raise ValueError(
                f"optimizer and scheduler train modules of PyTorch, but here {self} trains another "
                "model. Leave them out, or fit a ConstrainedTorchClassifier."
            )
        one_sided = problem.one_sided
        n_steps = self._steps_per_epoch(problem)
        n_total = self.max_iter * n_steps
        duals = np.zeros(len(one_sided.rows))
        adam = Adam(len(x))
        for k in count():
            # Decisions of a mini-batch, with the derivatives of its smooth rates.
            batch = evaluate_decisions(self._batch(problem, random_state), x)
            multipliers = one_sided.multipliers(duals)
            slope = batch.lagrangian_gradient(multipliers)
            excess = one_sided.values(batch.values)
            duals = move_multipliers(duals, excess, self.dual_step / n_steps)
            # The step decreases linearly to 0 at the last one.
            eta = self.learning_rate * max(0.0, 1.0 - k / n_total)
            x = problem.project(x - eta * adam(slope))
            yield x, multipliers

    def _evaluate(self, problem: Problem, x: np.ndarray) -> Evaluation:
        return evaluate_decisions(problem, x)

    def _steps_per_epoch(self, problem: Problem) -> int:
        return max(self.epoch_steps, super()._steps_per_epoch(problem))
