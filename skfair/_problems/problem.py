"""Model, loss and constraint put together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from skfair._bound.bound import draw_batch
from skfair._bound.rows import OneSidedRows
from skfair._groups import Samples, check_groups
from skfair._partitions.partitions import SUBSAMPLE_SIZES
from skfair._problems.evaluation import CompiledBlock, Evaluation, OnePassEvaluation
from skfair._problems.linear import LinearModel
from skfair.constraints import DemographicParity
from skfair.losses import LogisticLoss, kernel_kind_and_width
from skfair.surrogates import Sigmoid

if TYPE_CHECKING:
    from skfair._bound.rows import SmoothConstraint
    from skfair._partitions.partitions import Partitions
    from skfair._problems.evaluation import Ball, Box
    from skfair._utils.api import RandomState
    from skfair.losses import Loss


MAX_NUMPY_STEPS = 200_000
"""Steps of a pass over samples that numpy takes; a kernel is compiled for more of them."""

MAX_WITHOUT_SUBSAMPLE = 1 << 17
"""Samples up to which a problem is solved without a warm start on a subsample."""


def needs_subsample(problem: Problem) -> bool:
    """Whether fits of a problem in memory start from a subsample."""
    return len(problem.target) > MAX_WITHOUT_SUBSAMPLE


class Problem(ABC):
    """What solvers see of a problem, wherever its samples are.

    Some solvers read further members of a problem with samples in memory: ``batches`` of those on
    mini-batches, ``join_rows`` of those on one row per gap, ``separate_pairs`` of those on rows of
    pairs, and ``loss``, ``mean_weights`` and ``target`` of those that majorise rows, estimate step
    sizes or weigh samples.

    Attributes
    ----------
    model : Model
        Scores from parameters.
    alpha : float
        Strength of the l2 penalty.
    constraint : BoundConstraint, ConstraintSystem or SmoothConstraint
        Constraint on the scores with its public metric, or rows alone. Solvers see its `rows`.
    region : object or None
        Closed convex set of model parameters.
    subsample : Problem
        The problem on a subsample for warm starts; itself where samples are not very many.
    is_partitioned : bool
        Whether the samples are in blocks, and not in memory at once.
    """

    is_partitioned = False
    # What problems with samples in memory have, and those in partitions only in part.
    loss: Loss
    target: np.ndarray
    mean_weights: Any
    weights: np.ndarray
    batches: Any
    join_rows: Any
    separate_pairs: Any
    take: Any
    contribution: Any
    predict_scores: Any
    # What problems with samples in partitions have.
    partitions: Partitions
    condense_all: Any
    # What all have.
    model: Any
    alpha: float
    constraint: Any
    region: Box | Ball | None
    subsample: Any

    @property
    def has_convexified_hessian(self) -> bool:
        """Whether Hessians of passes have convexified curvatures of rows, and exact ones differ."""
        return False

    @cached_property
    def n_parameters(self) -> int:
        """Number of model parameters; the auxiliary unknowns follow them in x."""
        return self.model.n_parameters

    @cached_property
    def n_unknowns(self) -> int:
        """Length of x."""
        return self.n_parameters + self.rows.n_aux

    @cached_property
    def rows(self) -> SmoothConstraint:
        """The rows that solvers see, a `SmoothConstraint`, which is callable."""
        rows = self.constraint
        return rows if callable(rows) else rows.rows

    @cached_property
    def lower(self) -> np.ndarray:
        """Lower bounds of the rows, (n_rows,)."""
        return self.rows.lower

    @cached_property
    def upper(self) -> np.ndarray:
        """Upper bounds of the rows, (n_rows,)."""
        return self.rows.upper

    @cached_property
    def one_sided(self) -> OneSidedRows:
        """The rows written as G <= 0."""
        return OneSidedRows(self.lower, self.upper)

    @cached_property
    def ridge(self) -> np.ndarray:
        """Second derivative of the penalty by each model parameter, (n_parameters,)."""
        return self.model.ridge(self.alpha)

    @abstractmethod
    def evaluate(self, x: np.ndarray, multipliers: np.ndarray | None = None) -> Evaluation:
        """The problem at x, computed when it is first used."""

    @abstractmethod
    def initial_point(
        self, parameters: np.ndarray | None = None, random_state: RandomState = None
    ) -> np.ndarray:
        """Parameters, followed by auxiliary unknowns at which the rows are smallest."""

    def project(self, x: np.ndarray) -> np.ndarray:
        """The nearest unknowns whose model parameters are in the region."""
        if self.region is None:
            return x
        parameters = self.region.project(x[: self.n_parameters])
        return np.concatenate((parameters, x[self.n_parameters :]))


@dataclass(frozen=True, eq=False)
class ConstrainedProblem(Problem):
    r"""The problem that a solver solves: the smallest mean loss under constraints on the scores.

    .. math::

        \min_{w, a} \; \frac{\sum_i \omega_i \ell(s_i, y_i)}{\sum_i \omega_i}
        + \frac{\alpha}{2} |w|^2
        \quad \text{s.t.} \quad lower \le c(s, a) \le upper, \quad s = model(w).

    Parameters
    ----------
    model : Model
        Scores from parameters.
    loss : callable
        (scores, target) -> Pointwise; of pairs (scores, target, weights) -> Pointwise.
    target : ndarray of shape (n_samples,)
        Classes -1 and +1, or real numbers.
    weights : ndarray of shape (n_samples,)
        Sample weights.
    alpha : float
        Strength of the l2 penalty.
    constraint : BoundConstraint, ConstraintSystem or SmoothConstraint
        Constraint on the scores with its public metric, or rows alone. Solvers see its `rows`.
    region : object, default=None
        Closed convex set of model parameters, with a method ``project(parameters)`` to its nearest
        point, such as :class:`Box`; None is all of them.
    total : float or None, default=None
        Weight that losses are a mean over. None is the weight of these samples; that of all samples
        makes the objective a part of theirs.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.constraints import DemographicParity
    >>> from skfair.losses import LogisticLoss
    >>> from skfair._problems.linear import LinearModel
    >>> from skfair._problems.problem import ConstrainedProblem
    >>> from skfair.surrogates import Sigmoid
    >>> from skfair._groups import Samples, check_groups
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    >>> samples = Samples(y, check_groups(["a", "b", "a", "b"], 4), np.ones(4))
    >>> loss = LogisticLoss()
    >>> parity = DemographicParity().bind(samples, Sigmoid(), loss, tolerance=0.1)
    >>> model = LinearModel.from_features(X, samples.weights)
    >>> problem = ConstrainedProblem(model, loss, y, samples.weights, 1e-3, parity)
    >>> round(problem.evaluate(problem.initial_point()).fun, 4)
    0.6931
    """

    model: Any
    loss: Any
    target: np.ndarray
    weights: np.ndarray
    alpha: float
    constraint: Any
    region: Box | Ball | None = None
    total: float | None = None

    @cached_property
    def mean_weights(self) -> np.ndarray:
        """Share of each sample in the objective, (n_samples,)."""
        total = self.weights.sum() if self.total is None else self.total
        # In mini-batches for the constraint alone no sample has a weight.
        return self.weights / total if total > 0 else self.weights

    def __sizeof__(self) -> int:
        """Bytes of the samples, for schedulers of partitions."""
        arrays = (getattr(self.model, "X", None), self.target, self.weights, self.mean_weights)
        # Each constraint stores the events, their weights, and both again as a sparse array.
        return sum(getattr(array, "nbytes", 0) for array in arrays) + 28 * len(self.target)

    def initial_point(
        self, parameters: np.ndarray | None = None, random_state: RandomState = None
    ) -> np.ndarray:
        """Parameters, followed by auxiliary unknowns at which the rows are smallest.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,), default=None
            Model parameters; None starts from those of the model, 0 for linear models.
        random_state : int, RandomState instance or None, default=None
            For models with random initial parameters.

        Returns
        -------
        x : ndarray of shape (n_unknowns,)
        """
        parameters = self.model.initial(random_state) if parameters is None else parameters
        if not self.rows.n_aux:
            return np.array(parameters)
        return np.append(parameters, self.rows.initial_aux(self.model.evaluate(parameters).scores))

    def join_rows(self) -> ConstrainedProblem:
        """The same problem with each gap as one piecewise linear row without auxiliary unknowns.

        Returns
        -------
        problem : ConstrainedProblem
            The problem itself if it has rows alone.
        """
        return _replace_rows(self, one_row=True)

    def separate_pairs(self) -> ConstrainedProblem:
        """The same problem with a row for each ordered pair of means, without auxiliary unknowns.

        A gap that is no range, and would need unknowns, has one piecewise linear row.

        Returns
        -------
        problem : ConstrainedProblem
            The problem itself if it has rows alone.
        """
        return _replace_rows(self, by_pair=True)

    def evaluate(self, x: np.ndarray, multipliers: np.ndarray | None = None) -> Evaluation:
        """The problem at x, computed when it is first used.

        Parameters
        ----------
        x : ndarray of shape (n_unknowns,)
            Model parameters and auxiliary unknowns.
        multipliers : ndarray of shape (n_rows,), default=None
            Those at which the Hessian will be computed, if it is: kernels and partitioned problems
            take it in the same pass.

        Returns
        -------
        Evaluation
        """
        compiled = self.compiled
        if multipliers is None or compiled is None or not compiled.has_one_pass:
            return Evaluation(self, x, self.ridge)
        # A pass of some 20 steps per sample may not be worth compiling its kernel.
        n_samples, n_columns = compiled.columns[0].shape
        if n_samples * (n_columns + 20) <= MAX_NUMPY_STEPS:
            return Evaluation(self, x, self.ridge)
        return OnePassEvaluation(self, x, self.ridge, compiled.evaluate, multipliers, False)

    def predict_scores(self, parameters: np.ndarray) -> np.ndarray:
        """Scores as predictions will have them, from which decisions are counted.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Model parameters.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Those of the model's ``predict`` where predictions have fewer digits.
        """
        if hasattr(self.model, "predict"):
            return self.model.predict(parameters)
        return self.model.evaluate(parameters).scores

    def take(self, rows: np.ndarray) -> ConstrainedProblem:
        """The same problem on a subset of the samples.

        Parameters
        ----------
        rows : ndarray of int, shape (n_subset,)
            Samples, with some of every event of the constraint.

        Returns
        -------
        problem : ConstrainedProblem
            In the same unknowns.
        """
        return replace(
            self,
            model=self.model.take(rows),
            target=self.target[rows],
            weights=self.weights[rows],
            constraint=self.constraint.take(rows),
        )

    @cached_property
    def compiled(self) -> CompiledBlock | None:
        """The samples as arguments of kernels, a `CompiledBlock`; None without kernels."""
        code = kernel_kind_and_width(self.loss)
        columns = getattr(self.model, "kernel_columns", None)
        if code is None or columns is None:
            return None
        return CompiledBlock(self, columns, (self.target, self.mean_weights, *code))

    @cached_property
    def subsample(self) -> ConstrainedProblem:
        """The problem on a subsample for warm starts; itself where samples are not very many."""
        return draw_subsample(self, SUBSAMPLE_SIZES["linear"]) if needs_subsample(self) else self

    def contribution(self, rows: slice) -> ConstrainedProblem:
        """The contribution of a block of samples to the problem, without the penalty.

        Objectives, rows and derivatives of all blocks add up to those of the problem, with
        auxiliary unknowns 0 and without offsets of means.

        Parameters
        ----------
        rows : slice
            Positions of the samples.

        Returns
        -------
        problem : ConstrainedProblem
            In the same unknowns.
        """
        return replace(
            self,
            model=self.model.take(rows),
            target=self.target[rows],
            weights=self.weights[rows],
            alpha=0.0,
            constraint=self.constraint.contribution(rows),
            total=float(self.weights.sum()) if self.total is None else self.total,
        )

    @cached_property
    def batches(self) -> MiniBatches:
        """Mini-batches of the samples."""
        return MiniBatches(self)


class MiniBatches:
    """Problems in the same unknowns, on mini-batches of the samples of a problem."""

    def __init__(self, problem: ConstrainedProblem) -> None:
        self.problem = problem
        self._make_batch = getattr(problem.model, "batch", problem.model.take)
        self._cumulative_weights = np.cumsum(problem.mean_weights)

    @cached_property
    def full(self) -> ConstrainedProblem:
        """The problem with all samples as its mini-batch."""
        problem = self.problem
        if not hasattr(problem.model, "batch"):
            return problem
        return replace(problem, model=self._make_batch(slice(None)))

    def draw(
        self,
        n_samples: int,
        n_per_event: int,
        random_state: RandomState = None,
    ) -> ConstrainedProblem:
        """The problem on samples drawn for the loss, and samples drawn for the constraint.

        Objective and its gradient, and the means that the constraint compares, are those of the
        problem on average over the draws. Samples for the loss are drawn by their weights, with
        replacement; without any, objective and gradient are those of the penalty. Those for the
        constraint are drawn from each of its events, and their loss does not count; without any,
        the rows may not be evaluated.
        """
        rng = check_random_state(random_state)
        target = self.problem.target
        # Draws for the loss, by the cumulative weights, followed by those for the events.
        keys = rng.random_sample(n_samples) * self._cumulative_weights[-1]
        positions = np.searchsorted(self._cumulative_weights, keys, side="right")
        rows = self.problem.rows
        if n_per_event:
            positions, rows = draw_batch(rows, n_per_event, rng, first=positions)
        counts = np.zeros(len(positions))
        counts[:n_samples] = 1.0
        return replace(
            self.problem,
            model=self._make_batch(positions),
            target=target[positions],
            weights=counts,
            constraint=rows,
            total=float(max(1, n_samples)),
        )


def draw_subsample(problem: ConstrainedProblem, size: int) -> ConstrainedProblem:
    """The problem on so many draws with replacement, of which repeated samples count once.

    The problem itself if an event has no sample among the draws.
    """
    # The seed is fixed, so that fits of the same samples are equal.
    is_drawn = np.zeros(len(problem.target), dtype=bool)
    is_drawn[np.random.default_rng(0).integers(len(problem.target), size=size)] = True
    try:
        return problem.take(np.flatnonzero(is_drawn))
    except ValueError:
        return problem


def evaluate_decisions(problem: Problem, x: np.ndarray) -> Evaluation:
    """Rows at x as the public metric counts them, with the derivatives of the smooth ones.

    The problem of the evaluation has smooth means that are offset to the exact ones at x.
    """
    smooth = problem.evaluate(x)
    # Constraints of a fit stay what they are, with their units; others have rows alone.
    system: Any = problem.constraint if hasattr(problem.constraint, "correct") else problem.rows
    return smooth.replace_constraint(system.correct(smooth.scores))


def _replace_rows(problem: ConstrainedProblem, **form: Any) -> ConstrainedProblem:
    """The same problem with rows of another form, as settings of a `BoundConstraint`."""
    system = problem.constraint
    if isinstance(system, tuple):
        changed = type(system)(_change_rows(one, form) for one in system)
    else:
        changed = _change_rows(system, form)
    return replace(problem, constraint=changed)


def _change_rows(bound: Any, form: dict[str, bool]) -> Any:
    """A bound constraint with rows of another form; criteria on ranks have none."""
    is_of_rates = hasattr(bound, "one_row") and bound.sums.metric_input != "ranks"
    return replace(bound, **form) if is_of_rates else bound


# A small problem whose constraint binds, to try a solver on.


def example_problem(n_samples: int = 200, tolerance: float = 0.02) -> ConstrainedProblem:
    """Make a small problem to try a solver on: logistic loss under demographic parity.

    The smooth rates of its two groups differ by .2.

    Examples
    --------
    >>> from skfair._problems.problem import example_problem
    >>> from skfair.solvers import SQP
    >>> result = SQP().solve(example_problem())
    >>> result.status, bool(abs(result.multipliers[0]) > 0)
    ('optimal', True)
    """
    rng = np.random.default_rng(0)
    codes = np.arange(n_samples) % 2
    weights = np.ones(n_samples)
    X = rng.normal(size=(n_samples, 2)) + codes[:, np.newaxis]
    target = np.where(X.sum(axis=1) + rng.logistic(size=n_samples) > 1.0, 1.0, -1.0)
    samples = Samples(target, check_groups(codes, n_samples), weights)
    loss = LogisticLoss()
    parity = DemographicParity().bind(samples, Sigmoid(), loss, tolerance)
    model = LinearModel.from_features(X, weights)
    return ConstrainedProblem(model, loss, target, weights, alpha=0.01, constraint=parity)
