"""A problem whose samples are in partitions: every evaluation is one pass over the data."""

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from skfair.constraints._partial_bound import condense, count_in_bins, gather_from_bins
from skfair.constraints._rows import block_diagonal, differentiate_means, spread_over_samples
from skfair.partitions._partitions import Partitions
from skfair.problems._evaluation import OnePassEvaluation
from skfair.problems._problem import ConstrainedProblem, Problem
from skfair.utils._api import RandomState


@dataclass(frozen=True, eq=False)
class PartitionedProblem(Problem):
    """A problem as the sum of problems, each with a block of the samples.

    It has no samples of its own: its model has no rows.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.constraints._bound import ConstraintSystem
    >>> from skfair.losses import SquaredLoss
    >>> from skfair.models._linear import LinearModel
    >>> from skfair.partitions._partitions import blocks, make_partitions
    >>> from skfair.problems._problem import ConstrainedProblem
    >>> from skfair.problems._partitioned import PartitionedProblem
    >>> X, y, weights = np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0]), np.ones(2)
    >>> model = LinearModel.from_features(X, weights)
    >>> problem = ConstrainedProblem(model, SquaredLoss(), y, weights, 0.0, ConstraintSystem(()))
    >>> partitions = make_partitions([problem.contribution(rows) for rows in blocks(2, size=1)])
    >>> PartitionedProblem.from_problem(problem, partitions).evaluate(np.zeros(2)).grad
    array([-1.,  0.])
    """

    is_partitioned = True
    model: Any
    loss: Any
    alpha: float
    constraint: Any
    partitions: Any
    subsample: Any = None
    region: Any = None

    @classmethod
    def from_problem(
        cls,
        problem: ConstrainedProblem,
        partitions: Partitions,
        subsample: ConstrainedProblem | None = None,
    ) -> Self:
        """A problem's settings, with partitions in place of its samples."""
        model = problem.model.take(slice(0, 0))
        return cls(model, problem.loss, problem.alpha, problem.constraint, partitions, subsample)

    def initial_point(
        self, parameters: np.ndarray | None = None, random_state: RandomState = None
    ) -> np.ndarray:
        """Parameters, followed by auxiliary unknowns at which the rows are smallest."""
        parameters = self.model.initial(random_state) if parameters is None else parameters
        if not self.rows.n_aux:
            return np.array(parameters)
        means = self.partitions.reduce(_smooth_means, parameters)
        pairs = zip(self.constraint, means, strict=True)
        unknowns = [one.rows.aux_at(of_one + one.offset) for one, of_one in pairs]
        return np.concatenate((parameters, *unknowns))

    def evaluate(
        self, x: np.ndarray, multipliers: np.ndarray | None = None, is_near: bool | None = None
    ) -> OnePassEvaluation:
        """The problem at x, from one pass when it is first used."""
        is_near = multipliers is not None if is_near is None else is_near
        multipliers = np.zeros(len(self.lower)) if multipliers is None else multipliers
        is_near = is_near and self.has_convexified_hessian
        return OnePassEvaluation(self, self._reduce_latest, x, multipliers, is_near)

    @cached_property
    def compiled(self) -> Any:
        """Passes over blocks by kernels, a `CompiledBlock`; None where there are none."""
        none = np.empty(0)
        frame = ConstrainedProblem(self.model, self.loss, none, none, self.alpha, self.constraint)
        return frame.compiled

    @property
    def has_convexified_hessian(self) -> bool:
        """Whether curvatures are convexified and exact ones differ, as those of ranks do."""
        return "ranks" in self.constraint.metric_inputs

    def _reduce_latest(self, x, multipliers, is_near):
        """Sums over all samples, as `OnePassEvaluation` takes them."""
        # The latest ones are stored: a solver and its driver both evaluate the start.
        key = (x.tobytes(), multipliers.tobytes(), is_near)
        latest, sums = vars(self).get("_latest", (None, None))
        if latest != key:
            sums = self._reduce(x, multipliers, is_near)
            vars(self)["_latest"] = key, sums
        return sums

    @property
    def _gaps(self):
        """The gap of each constraint, which blocks measure by their own."""
        return [one.gap for one in self.constraint]

    def _reduce(self, x, multipliers, is_near):
        reduce, compiled = self.partitions.reduce, self.compiled
        if any(getattr(one.sums, "is_quotient", False) for one in self.constraint):
            return self._reduce_quotients(x, multipliers)
        sums = compiled and compiled.evaluate(x, multipliers, is_near, reduce)
        if sums is None:
            sums = reduce(_evaluate_block, x, multipliers, is_near, self._gaps)
        return sums

    def _reduce_quotients(self, x, multipliers):
        """As `_reduce`, where rows are no sums: one pass for the sums, and one for the rest."""
        p, reduce, system = self.n_parameters, self.partitions.reduce, self.constraint
        if not len(multipliers):
            return reduce(_evaluate_block, x, multipliers, False, self._gaps)
        # First pass: the sums of all constraints, from which the rows and their slopes follow.
        sums = reduce(_smooth_means, x[:p])
        sums = [of_one + one.offset for one, of_one in zip(system, sums, strict=True)]
        at = zip(system, sums, system.stacked_rows.split_aux(x[p:]), strict=True)
        rows = [one.rows.rows_at(of_one, aux) for one, of_one, aux in at]
        by_row = system.stacked_rows.split_by_constraint(multipliers)
        # Second pass: derivatives of the sums, and curvature weighted by them.
        weights = [slope.T @ v for (_, slope), v in zip(rows, by_row, strict=True)]
        objective, gradient, by_sum, gram = reduce(_contribute_derivatives, x[:p], weights)
        jacobian, hessian = np.zeros((len(multipliers), len(x))), np.zeros((len(x), len(x)))
        of_each = np.split(by_sum, np.cumsum([len(one) for one in weights])[:-1])
        pairs = zip(rows, of_each, strict=True)
        jacobian[:, :p] = np.concatenate([slope @ of_one for (_, slope), of_one in pairs])
        curvatures = [
            one.rows.sums_curvature(of_one, v)
            for one, of_one, v in zip(system, sums, by_row, strict=True)
        ]
        hessian[:p, :p] = gram + by_sum.T @ block_diagonal(curvatures) @ by_sum
        values = np.concatenate([values for values, _ in rows])
        return objective, gradient, values - self.rows.constant_term(x[p:]), jacobian, hessian


def _contribute_derivatives(block, x, weights):
    """Share of a block in objective, gradient, Jacobian of sums, and weighted Gram matrix."""
    evaluation, p = block.evaluate(x), block.n_parameters
    curvature, by_sum = evaluation.loss_curvature, []
    for one, of_sums in zip(block.constraint, weights, strict=True):
        terms = [term(evaluation.scores, one.sums.target) for term in one.sums.smooth]
        slopes = differentiate_means(one.sums.events, [term.slope for term in terms])
        by_sum.append(evaluation.point.pull_back_rows(slopes))
        curvatures = [term.curvature for term in terms]
        curvature = curvature + spread_over_samples(one.sums.events, curvatures, of_sums)
    gram = evaluation.point.gram(curvature)
    return evaluation.fun, evaluation.grad[:p], np.concatenate(by_sum), gram


def _evaluate_block(block, x, multipliers, is_near, gaps):
    """Share of a block in objective, rows, and their derivatives."""
    # Scores are computed once, for the objective, the rows and all derivatives.
    evaluation, p = block.evaluate(x), block.n_parameters
    if not len(multipliers):  # the plain problem, though blocks have the constraint
        no_rows = np.empty(0), np.empty((0, p))
        hessian = evaluation.point.gram(evaluation.loss_curvature)
        return evaluation.fun, evaluation.grad[:p], *no_rows, hessian
    # A criterion on ranks may have changed since the blocks were made.
    pairs = zip(block.constraint, gaps, strict=True)
    constraint = type(block.constraint)(replace(one, gap=gap) for one, gap in pairs)
    evaluation = evaluation.replace_constraint(constraint)
    rows, jacobian = evaluation.problem.rows, evaluation.jacobian
    # What does not depend on the samples is added once, after the sum.
    values = evaluation.values - rows.constant_term(x[p:])
    jacobian[:, p:] -= rows.aux_jacobian
    hessian = evaluation.hessian(multipliers, is_near)
    return evaluation.fun, evaluation.grad[:p], values, jacobian, hessian


def _smooth_means(block, parameters):
    """Share of a block in the smooth means, by constraint."""
    means = block.compiled and block.compiled.smooth_means(parameters)
    if means is not None:
        return means
    scores = block.model.evaluate(parameters).scores
    return tuple(one.sums.smooth_means(scores) for one in block.constraint)


# A partitioned problem that compares ranks: gaps follow from a few samples near thresholds.


class PartitionedRankProblem(PartitionedProblem):
    """A partitioned problem with the gaps of its constraints at the thresholds of all scores.

    Passes count bins of scores, and one more gathers the samples that determine the gap. These are
    few, and their gap is that of all samples.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.constraints._bound import ConstraintSystem
    >>> from skfair.constraints import PartialStatisticalParity
    >>> from skfair.losses import LogisticLoss
    >>> from skfair.models._linear import LinearModel
    >>> from skfair.partitions._partitions import blocks, make_partitions
    >>> from skfair.groups import Samples, check_groups
    >>> from skfair.problems._problem import ConstrainedProblem
    >>> from skfair.problems._partitioned import PartitionedRankProblem
    >>> X, weights = np.arange(80.0)[:, np.newaxis], np.ones(80)
    >>> y, groups = np.where(X[:, 0] > 40, 1.0, -1.0), check_groups(X[:, 0] > 39, 80)
    >>> samples, loss = Samples(y, groups, weights), LogisticLoss()
    >>> parity = PartialStatisticalParity().bind(samples, None, loss, tolerance=0.1)
    >>> model = LinearModel.from_features(X, weights)
    >>> problem = ConstrainedProblem(model, loss, y, weights, 0.0, ConstraintSystem((parity,)))
    >>> partitions = make_partitions([problem.contribution(rows) for rows in blocks(80, size=50)])
    >>> problem = PartitionedRankProblem.from_problem(problem, partitions)
    >>> constraint, scores = problem.condense(0, np.array([1.0, 0.0]))
    >>> constraint.value(scores)
    1.0
    """

    def condense(self, number: int, parameters: np.ndarray) -> Any:
        """A constraint on few samples, and their scores, with the gap of all samples."""
        key = number, parameters.tobytes()
        if key not in self._latest_condensed:
            self._latest_condensed.clear()
            count = partial(self.partitions.reduce, _count_scores, number, parameters)
            gather = partial(self.partitions.gather, _gather_samples, number, parameters)
            guess = (
                np.zeros(1) if self.subsample is None else self.subsample.predict_scores(parameters)
            )
            constraint = self.constraint[number]
            self._latest_condensed[key] = condense(constraint, guess, count, gather)
        return self._latest_condensed[key]

    @cached_property
    def _latest_condensed(self):
        return {}  # the result of a fit is usually the model that was counted last

    def initial_point(
        self, parameters: np.ndarray | None = None, random_state: RandomState = None
    ) -> np.ndarray:
        """Parameters, followed by auxiliary unknowns at which the rows are smallest."""
        parameters = self.model.initial(random_state) if parameters is None else parameters
        condensed = self.condense_all(parameters)
        return np.concatenate(
            [parameters, *(one.rows.initial_aux(scores) for one, scores in condensed)]
        )

    def condense_all(self, parameters: np.ndarray) -> list:
        """Each constraint on few samples, and their scores."""
        return [self.condense(number, parameters) for number in range(len(self.constraint))]


def _count_scores(block, number, parameters, cuts):
    """Share of a block in the bins of scores of one constraint's events."""
    return count_in_bins(block.constraint[number].sums, predict_block(block, parameters), cuts)


def _gather_samples(block, number, parameters, cuts, bins):
    """Samples of a block that are in one of the bins."""
    sums = block.constraint[number].sums
    return gather_from_bins(sums, predict_block(block, parameters), cuts, bins)


def predict_block(block, parameters):
    """Scores of a block as predictions will have them."""
    scores = block.compiled and block.compiled.predict_scores(parameters)
    return block.predict_scores(parameters) if scores is None else scores
