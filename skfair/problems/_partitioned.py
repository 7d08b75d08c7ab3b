"""A problem whose samples are in partitions: every evaluation is one pass over the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from skfair.problems._evaluation import Evaluation
from skfair.problems._flips import N_BINS, count_bins, intervals_around_edges, round_midpoints
from skfair.problems._problem import ConstrainedProblem
from skfair.utils._types import RandomState

if TYPE_CHECKING:
    import pandas as pd

    from skfair.partitions import Partitions


_NEAR = 0.02
"""Share of the decisions that flip where half of the bins of a line are."""


@dataclass(frozen=True, eq=False)
class PartitionedProblem(ConstrainedProblem):
    """A problem as the sum of problems, each with a block of the samples.

    It has no samples of its own: model, target and weights are empty.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.constraints import ConstraintSystem
    >>> from skfair.losses import SquaredLoss
    >>> from skfair.models import LinearModel
    >>> from skfair.partitions import blocks, make_partitions
    >>> from skfair.problems import ConstrainedProblem, PartitionedProblem
    >>> X, y, weights = np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0]), np.ones(2)
    >>> model = LinearModel.from_features(X, weights)
    >>> problem = ConstrainedProblem(model, SquaredLoss(), y, weights, 0.0, ConstraintSystem(()))
    >>> partitions = make_partitions([problem.subset(rows) for rows in blocks(2, size=1)])
    >>> PartitionedProblem.from_problem(problem, partitions).evaluate(np.zeros(2)).grad
    array([-1.,  0.])
    """

    partitions: Any = None
    subsample: Any = None

    @classmethod
    def from_problem(
        cls,
        problem: ConstrainedProblem,
        partitions: Partitions,
        subsample: ConstrainedProblem | None = None,
    ) -> Self:
        """A problem's settings, with partitions in place of its samples."""
        no_rows = slice(0, 0)
        return cls(
            model=problem.model.take(no_rows),
            loss=problem.loss,
            target=problem.target[no_rows],
            weights=problem.weights[no_rows],
            alpha=problem.alpha,
            constraint=problem.constraint,
            total=1.0,
            partitions=partitions,
            subsample=subsample and CompiledProblem.from_problem(subsample),
        )

    @property
    def scored_problem(self) -> Any:
        """The subsample, whose scores are in memory."""
        return self.subsample

    def initial_point(
        self, parameters: np.ndarray | None = None, random_state: RandomState = None
    ) -> np.ndarray:
        """Parameters, followed by auxiliary unknowns at which the rows are smallest."""
        parameters = self.model.initial(random_state) if parameters is None else parameters
        if not self.rows.n_aux:
            return np.array(parameters)
        means = self.partitions.reduce(_smooth_means, parameters)
        pairs = zip(self.constraint, means, strict=True)
        unknowns = [one.rows.polyhedron.unknowns(of_one + one.offset) for one, of_one in pairs]
        return np.concatenate((parameters, *unknowns))

    def predict_scores(self, parameters: np.ndarray) -> Any:
        """None: scores are not brought into memory."""
        return None

    def count(self, points: Sequence[np.ndarray]) -> Any:
        """What several models come to by the public metrics, from one pass, as the base class.

        All count as clear: of very many samples some have a score near 0, and one sample counts
        for little.
        """
        # One pass for all models that were not counted before.
        new = [point for point in points if point.tobytes() not in self._counts]
        if new:
            errors, decided, objectives, moments = self.partitions.reduce(_count, np.array(new))
            for k, point in enumerate(new):
                of_point = tuple(tuple(values[k] for values in one) for one in moments)
                self._counts[point.tobytes()] = errors[k], decided[k], objectives[k], of_point
        counts = []
        for point in points:
            error, decided, _, moments = self._counts[point.tobytes()]
            pairs = zip(self.constraint, moments, strict=True)
            gaps = [one.aggregate(rates[: one.events.n_events]) for one, (rates, *_) in pairs]
            counts.append((None, float(error), np.array(gaps), True, np.flatnonzero(decided) == 1))
        return counts

    @cached_property
    def _counts(self):
        return {}  # of every model that was counted: the result of a fit is one of them

    def correct(self, parameters: np.ndarray, step_size: float = 1.0) -> PartitionedProblem:
        """The same problem with its smooth rates moved to those of a model's decisions."""
        residuals = self.partitions.reduce(_residuals, parameters)
        constraint = self.constraint.map(
            lambda one, of_one: replace(one, offset=one.offset + step_size * (of_one - one.offset)),
            residuals,
        )
        return replace(self, constraint=constraint)

    def count_flips(
        self, parameters: np.ndarray, scores: np.ndarray, lines: Any, max_error: float = np.inf
    ) -> Any:
        """Errors and gaps along lines, as the base class, from one pass that counts bins.

        Bins are dense where decisions of the subsample flip, whose scores and slopes these are.
        """
        directions, typical = [], []
        for direction, slopes in lines:
            is_moving = slopes != 0.0
            lengths = np.abs(scores[is_moving] / slopes[is_moving])
            near = np.quantile(lengths, _NEAR) if len(lengths) else 0.0
            if near > 0.0:
                directions.append(direction)
                typical.append(np.exp2(np.rint(np.log2(near))))
        if not directions:
            return []
        arguments = parameters, np.array(directions), np.array(typical)
        errors, means, negative = self.partitions.reduce(count_bins, *arguments)
        # Increments become values, and means those of negative decisions and what flips add.
        errors, excess = np.cumsum(errors, axis=1), np.zeros_like(errors)
        for one, increments, low in zip(self.constraint, means, negative, strict=True):
            values = np.cumsum(increments, axis=2).transpose(1, 0, 2) + low[:, None, None]
            excess = np.maximum(excess, one.aggregate(values) - one.tolerance)
        lengths = [round_midpoints(*intervals_around_edges(scale, N_BINS)) for scale in typical]
        return list(zip(directions, lengths, errors, excess, strict=True))

    def describe(self, parameters: np.ndarray) -> tuple[float, int, pd.DataFrame]:
        """Objective and report of a model, from one pass unless it was counted before."""
        self.count([parameters])
        _, _, objective, moments = self._counts[parameters.tobytes()]
        penalty = float(self.ridge @ parameters**2 / 2)
        report = self.constraint.report(moments=moments)
        return float(objective) + penalty, len(self.lower), report

    def evaluate(
        self, x: np.ndarray, multipliers: np.ndarray | None = None, is_near: bool | None = None
    ) -> PartitionedEvaluation:
        """The problem at x, from one pass when it is first used."""
        is_near = multipliers is not None if is_near is None else is_near
        multipliers = np.zeros(len(self.lower)) if multipliers is None else multipliers
        return PartitionedEvaluation(self, x, multipliers, is_near and self.has_exact_hessian)

    @property
    def has_exact_hessian(self) -> bool:
        """Whether curvatures are convexified and exact ones differ, as those of ranks do."""
        return "ranks" in self.constraint.statistics

    def reduce_at(self, x: np.ndarray, multipliers: np.ndarray, is_near: bool) -> tuple:
        """Sums of what `PartitionedEvaluation` is made of."""
        reduce, compiled = self.partitions.reduce, self.compiled
        sums = compiled and compiled.evaluate(x, multipliers, is_near, reduce)
        if sums is None:
            criteria = [one.criterion for one in self.constraint]
            sums = reduce(_evaluate, x, multipliers, is_near, criteria)
        return sums


class CompiledProblem(ConstrainedProblem):
    """A subsample of very many samples, evaluated by the kernels of their blocks if it has any."""

    @classmethod
    def from_problem(cls, problem: ConstrainedProblem) -> Self:
        """The same problem."""
        return cls(**{one.name: getattr(problem, one.name) for one in fields(problem) if one.init})

    has_exact_hessian = False

    def evaluate(
        self, x: np.ndarray, multipliers: np.ndarray | None = None, is_near: bool | None = None
    ) -> Evaluation:
        """The problem at x, from one pass when it is first used."""
        multipliers = np.zeros(len(self.lower)) if multipliers is None else multipliers
        if self.compiled is None or not self.compiled.has_means(multipliers):
            return super().evaluate(x, multipliers)
        return PartitionedEvaluation(self, x, multipliers, False)

    def reduce_at(self, x: np.ndarray, multipliers: np.ndarray, is_near: bool) -> tuple:
        """Sums of what `PartitionedEvaluation` is made of."""
        return self.compiled.evaluate(x, multipliers, is_near, self._apply)

    def _apply(self, function, *arguments):
        return function(self, *arguments)


class PartitionedEvaluation(Evaluation):
    """A partitioned problem at one point: one pass has all sums, with one Hessian.

    The Hessian is taken at `multipliers`; `is_near` says whether it is the exact one.
    """

    is_convexified = False  # solvers need not reuse a Hessian: each pass has the latest

    def __init__(self, problem, x, multipliers, is_near):
        super().__init__(problem, x)
        self.multipliers, self.is_near = multipliers, is_near

    @cached_property
    def _sums(self):
        # The problem stores the latest ones: a solver and its driver both evaluate the start.
        latest = vars(self.problem).setdefault("_latest", {})
        key = (self.x.tobytes(), self.multipliers.tobytes(), self.is_near)
        if key not in latest:
            latest.clear()
            latest[key] = self.problem.reduce_at(self.x, self.multipliers, self.is_near)
        return latest[key]

    @cached_property
    def fun(self):
        """The objective."""
        return float(self._sums[0] + self.problem.ridge @ self.parameters**2 / 2)

    @cached_property
    def grad(self):
        """Gradient of the objective, (n_unknowns,)."""
        gradient = self._sums[1] + self.problem.ridge * self.parameters
        return np.append(gradient, np.zeros(self.problem.rows.n_aux))

    @cached_property
    def values(self):
        """The rows c(x), (n_rows,)."""
        return self._sums[2] + self.problem.rows.constant_term(self.aux)

    @cached_property
    def aux_jacobian(self):
        """Derivative of the rows by the auxiliary unknowns, (n_rows, n_aux)."""
        return self.jacobian[:, self.problem.n_parameters :]

    @cached_property
    def jacobian(self):
        """Derivative of the rows, (n_rows, n_unknowns)."""
        jacobian = self._sums[3].copy()
        jacobian[:, self.problem.n_parameters :] += self.problem.rows.aux_jacobian
        return jacobian

    def jacobian_of(self, rows):
        """Derivative of a subset of the rows, (n_subset, n_unknowns)."""
        return self.jacobian[rows]

    def pull_back(self, v):
        """Gradient of ``v @ values``, (n_rows,) -> (n_unknowns,)."""
        return v @ self.jacobian

    def lagrangian_gradient(self, multipliers):
        """Gradient of ``fun + multipliers @ values``, (n_unknowns,)."""
        return self.grad + multipliers @ self.jacobian

    def hessian(self, multipliers, is_near=False):
        """Second derivative of the Lagrangian; another pass at other multipliers than expected."""
        is_near = is_near and self.problem.has_exact_hessian
        if is_near != self.is_near or not np.array_equal(multipliers, self.multipliers):
            there = self.problem.evaluate(self.x, multipliers, is_near)
            return there.hessian(multipliers, is_near)
        ridge = np.append(self.problem.ridge, np.zeros(self.problem.rows.n_aux))
        return self._sums[4] + np.diag(ridge)


def _evaluate(block, x, multipliers, is_near, criteria):
    """Share of a block in objective, rows, and their derivatives."""
    # Scores are computed once, for the objective, the rows and all derivatives.
    evaluation, p = block.evaluate(x), block.n_parameters
    if not len(multipliers):  # the plain problem, though blocks have the constraint
        no_rows = np.empty(0), np.empty((0, p))
        hessian = evaluation.point.gram(evaluation.loss_curvature)
        return evaluation.fun, evaluation.grad[:p], *no_rows, hessian
    evaluation = evaluation.replace_constraint(block.constraint.map(_replace_criterion, criteria))
    rows, jacobian = evaluation.problem.rows, evaluation.jacobian
    # What does not depend on the samples is added once, after the sum.
    values = evaluation.values - rows.constant_term(x[p:])
    jacobian[:, p:] -= rows.aux_jacobian
    hessian = evaluation.hessian(multipliers, is_near)
    return evaluation.fun, evaluation.grad[:p], values, jacobian, hessian


def _replace_criterion(constraint, criterion):
    """A constraint with the present settings of its criterion, if it has any."""
    return constraint if criterion is None else replace(constraint, criterion=criterion)


def _count(block, points):
    """Share of a block in errors, decisions, objectives and moments of several models.

    Moments are those of the report: three arrays of each constraint, (n_points, n_rates).
    """
    # Each model is judged from its scores of this block, which are not stored.
    counts = [
        block.compiled and block.compiled.count(parameters) or _count_point(block, parameters)
        for parameters in points
    ]
    errors, decided, objectives, moments = zip(*counts, strict=True)
    # From one list per model to one array per constraint and moment.
    by_constraint = zip(*moments, strict=True)
    moments = tuple(tuple(map(np.array, zip(*one, strict=True))) for one in by_constraint)
    return np.array(errors), np.array(decided), np.array(objectives), moments


def _count_point(block, parameters):
    """Share of a block in errors, decisions, objective and moments of a model."""
    scores = block.predict_scores(parameters)
    is_positive = scores > 0
    n_positive = np.count_nonzero(is_positive)
    error = block.mean_weights.dot(is_positive != (block.target > 0))
    moments = [one.moments(scores) for one in block.constraint]
    return error, (len(scores) - n_positive, n_positive), block.evaluate(parameters).fun, moments


def _residuals(block, parameters):
    """Share of a block in the differences between exact and smooth means, by constraint."""
    residuals = block.compiled and block.compiled.residuals(parameters)
    if residuals is not None:
        return residuals
    scores = block.predict_scores(parameters)
    return tuple(one.means.residual(scores) for one in block.constraint)


def _smooth_means(block, parameters):
    """Share of a block in the smooth means, by constraint."""
    means = block.compiled and block.compiled.smooth_means(parameters)
    if means is not None:
        return means
    scores = block.model.evaluate(parameters).scores
    return tuple(one.means.evaluate(scores)[1] for one in block.constraint)
