"""Objective and rows of a problem at a point, compiled passes, and regions of parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from skfair._bound.bound import ConstraintSystem, Sums
from skfair._bound.convex import bucket_curvatures, place_buckets
from skfair._bound.rows import block_diagonal
from skfair._kernels import STEP
from skfair._utils.parameters import make_constructor
from skfair.losses import as_pointwise, is_pairwise, kernel_rate_kind

if TYPE_CHECKING:
    from skfair._bound.convex import MeanExcess
    from skfair._bound.ranks import RankSums
    from skfair._bound.rows import ConstraintValues
    from skfair._partitions.partitions import Function
    from skfair.losses import Pointwise

    Derivatives: TypeAlias = tuple[float, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
    """Objective, its gradient, values of rows, their Jacobian, Hessian of the Lagrangian."""


# Objective and rows of a problem at a point, with their derivatives.


class Evaluation:
    """Objective, constraints and derivatives of a problem at given parameters.

    Each property is computed once, when it is first used.

    Parameters
    ----------
    problem : ConstrainedProblem
        The problem.
    x : ndarray of shape (n_unknowns,)
        The point.
    ridge : ndarray of shape (n_parameters,)
        Second derivative of the penalty by each model parameter.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair._bound.bound import ConstraintSystem
    >>> from skfair.losses import SquaredLoss
    >>> from skfair._problems.linear import LinearModel
    >>> from skfair._problems.problem import ConstrainedProblem
    >>> from skfair._problems.evaluation import Evaluation
    >>> X, y, weights = np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0]), np.ones(2)
    >>> model = LinearModel.from_features(X, weights)
    >>> problem = ConstrainedProblem(model, SquaredLoss(), y, weights, 0.0, ConstraintSystem(()))
    >>> Evaluation(problem, np.zeros(2), np.zeros(2)).grad
    array([-1.,  0.])
    """

    def __init__(self, problem: Any, x: np.ndarray, ridge: np.ndarray):
        self.problem = problem
        self.x = x
        self.ridge = ridge
        # Model parameters, and the auxiliary unknowns after them.
        self.parameters, self.aux = x[: len(ridge)], x[len(ridge) :]

    @cached_property
    def point(self) -> Any:
        """The model at the parameters."""
        return self.problem.model.evaluate(self.parameters)

    @cached_property
    def scores(self) -> np.ndarray:
        """Score of each sample."""
        return self.point.scores

    def replace_constraint(self, system: Any) -> Evaluation:
        """The same point under another constraint; its scores are reused.

        Parameters
        ----------
        system : ConstraintSystem, BoundConstraint or SmoothConstraint
            With as many auxiliary unknowns.

        Returns
        -------
        evaluation : Evaluation
        """
        problem = replace(self.problem, constraint=system)
        evaluation = Evaluation(problem, self.x, self.ridge)
        evaluation.point = self.point
        return evaluation

    @cached_property
    def losses(self) -> Pointwise:
        """Loss of each sample; the objective has their mean."""
        return evaluate_losses(self.problem, self.scores)

    @cached_property
    def fun(self) -> float:
        """The objective."""
        penalty = self.ridge @ self.parameters**2 / 2
        return float(self.problem.mean_weights @ self.losses.value + penalty)

    @cached_property
    def grad(self) -> np.ndarray:
        """Gradient of the objective, (n_unknowns,)."""
        slopes = self.problem.mean_weights * self.losses.slope
        gradient = self.point.pull_back(slopes) + self.ridge * self.parameters
        return np.append(gradient, np.zeros(len(self.aux)))

    @cached_property
    def rows(self) -> ConstraintValues:
        """The rows and their derivatives by the scores, as `ConstraintValues`."""
        return self.problem.rows(self.scores, self.aux)

    @cached_property
    def values(self) -> np.ndarray:
        """The rows c(x), (n_rows,)."""
        return self.rows.values

    @cached_property
    def excess(self) -> np.ndarray:
        """Excess of each row over its bounds, (n_rows,)."""
        above = self.values - self.problem.upper
        below = self.problem.lower - self.values
        return np.maximum(0.0, np.maximum(above, below))

    @cached_property
    def violation(self) -> float:
        """The largest excess of a row; 0 if all rows are within their bounds."""
        return float(self.excess.max(initial=0.0))

    def pull_back(self, v: np.ndarray) -> np.ndarray:
        """Gradient of ``v @ values``, (n_rows,) -> (n_unknowns,), in one pass over the data.

        Parameters
        ----------
        v : ndarray of shape (n_rows,)
            Weight of each row.

        Returns
        -------
        gradient : ndarray of shape (n_unknowns,)
        """
        slopes = self.rows.jacobian.adjoint(v)
        return np.append(self.point.pull_back(slopes), v @ self.rows.aux_jacobian)

    def lagrangian_gradient(self, multipliers: np.ndarray) -> np.ndarray:
        """Gradient of ``fun + multipliers @ values``; one pass over the data.

        Parameters
        ----------
        multipliers : ndarray of shape (n_rows,)
            Positive where the upper bound is active, negative where the lower is.

        Returns
        -------
        gradient : ndarray of shape (n_unknowns,)
        """
        slopes = self.problem.mean_weights * self.losses.slope
        slopes = slopes + self.rows.jacobian.adjoint(multipliers)
        gradient = self.point.pull_back(slopes) + self.ridge * self.parameters
        return np.append(gradient, multipliers @ self.rows.aux_jacobian)

    @cached_property
    def jacobian(self) -> np.ndarray:
        """Derivative of the rows, (n_rows, n_unknowns)."""
        by_parameters = self.rows.jacobian.means_to_rows @ self.means_jacobian
        return np.column_stack((by_parameters, self.rows.aux_jacobian))

    def jacobian_of(self, rows: np.ndarray) -> np.ndarray:
        """Derivative of a subset of the rows, without that of the others.

        Parameters
        ----------
        rows : ndarray of int, shape (n_subset,)
            Rows of the constraint.

        Returns
        -------
        jacobian : ndarray of shape (n_subset, n_unknowns)
        """
        jacobian = self.rows.jacobian
        by_scores = sparse.csr_array(
            sparse.csr_array(jacobian.means_to_rows)[rows] @ jacobian.basis
        )
        by_parameters = self.point.pull_back_rows(by_scores)
        return np.column_stack((by_parameters, self.rows.aux_jacobian[rows]))

    @cached_property
    def means_jacobian(self) -> np.ndarray:
        """Derivative of the means that rows are made of, (n_means, n_parameters)."""
        return self.point.pull_back_rows(self.rows.jacobian.basis)

    @property
    def loss_curvature(self) -> np.ndarray:
        """Second derivative of the mean loss by each score, (n_samples,)."""
        return self.problem.mean_weights * self.losses.curvature

    def curvature(self, multipliers: np.ndarray) -> np.ndarray:
        """Second derivative of the Lagrangian by each score, (n_rows,) -> (n_samples,).

        Parameters
        ----------
        multipliers : ndarray of shape (n_rows,)
            As in `lagrangian_gradient`.

        Returns
        -------
        curvature : ndarray of shape (n_samples,)
        """
        return self.loss_curvature + self.rows.curvature(multipliers)

    @property
    def is_convexified(self) -> bool:
        """Whether curvatures of the rows are convexified ones, and exact ones differ."""
        return self.rows.exact is not None

    def hessian(
        self, multipliers: np.ndarray, is_near: bool = False, is_rough: bool = False
    ) -> np.ndarray:
        """Second derivative of the Lagrangian, with convexified curvatures of rows that have them.

        Parameters
        ----------
        multipliers : ndarray of shape (n_rows,)
            As in `lagrangian_gradient`.
        is_near : bool, default=False
            Whether a solution is so near that curvatures shall be exact.
        is_rough : bool, default=False
            Whether products in single precision are enough, of a model that has them.

        Returns
        -------
        hessian : ndarray of shape (n_unknowns, n_unknowns)
        """
        p = len(self.parameters)
        rows = self.rows
        if is_near and rows.exact is not None:
            rows = rows.exact()
        # By two model parameters: loss and rows as one weighted Gram matrix, and the penalty.
        hessian = np.zeros((len(self.x), len(self.x)))
        gram = self.problem.model.rough_gram if is_rough else self.point.gram
        hessian[:p, :p] = gram(self.loss_curvature + rows.curvature(multipliers))
        hessian[:p, :p] += np.diag(self.ridge)
        if rows.means_curvature is not None:
            means = self.means_jacobian
            hessian[:p, :p] += means.T @ rows.means_curvature(multipliers) @ means
        # By auxiliary unknowns, where rows are not linear in them: blocks beside and below.
        if rows.aux_curvature is not None:
            combine, hessian[p:, p:] = rows.aux_curvature(multipliers)
            hessian[p:, :p] = combine @ self.means_jacobian
            hessian[:p, p:] = hessian[p:, :p].T
        return hessian


def evaluate_losses(problem: Any, scores: np.ndarray) -> Pointwise:
    """Loss of each sample, as `Pointwise`; the objective has their mean."""
    loss, target = problem.loss, problem.target
    arguments = (target, problem.mean_weights) if is_pairwise(loss) else (target,)
    return as_pointwise(loss(scores, *arguments), len(scores), "The loss")


class OnePassEvaluation(Evaluation):
    """A problem at one point, from sums over the samples that one pass has, with one Hessian.

    The Hessian is taken at `multipliers`; `is_near` says whether it is the exact one. A call
    ``reduce(x, multipliers, is_near)`` returns objective, gradient, rows, Jacobian and Hessian
    without terms that do not depend on the samples.
    """

    is_convexified = False  # solvers need not reuse a Hessian: each pass has the latest

    def __init__(
        self,
        problem: Any,
        x: np.ndarray,
        ridge: np.ndarray,
        reduce: Function,
        multipliers: np.ndarray,
        is_near: bool,
    ) -> None:
        super().__init__(problem, x, ridge)
        self.reduce, self.multipliers, self.is_near = reduce, multipliers, is_near
        objective, gradient, values, jacobian, self._hessian = reduce(x, multipliers, is_near)
        self.fun = float(objective + ridge @ self.parameters**2 / 2)
        no_aux = np.zeros(len(self.aux))
        self.grad = np.append(gradient + ridge * self.parameters, no_aux)
        # What does not depend on the samples: the penalty, and the constant terms of rows.
        self.values = (
            values + problem.rows.constant_term(self.aux) if problem.constraint else values
        )
        self.jacobian = jacobian.copy()
        if len(self.aux):
            self.jacobian[:, len(ridge) :] += problem.rows.aux_jacobian

    def jacobian_of(self, rows: np.ndarray) -> np.ndarray:
        """Derivative of a subset of the rows, (n_subset, n_unknowns)."""
        return self.jacobian[rows]

    def pull_back(self, v: np.ndarray) -> np.ndarray:
        """Gradient of ``v @ values``, (n_rows,) -> (n_unknowns,)."""
        return v @ self.jacobian

    def lagrangian_gradient(self, multipliers: np.ndarray) -> np.ndarray:
        """Gradient of ``fun + multipliers @ values``, (n_unknowns,)."""
        return self.grad + multipliers @ self.jacobian

    def hessian(self, multipliers: np.ndarray, is_near: bool = False) -> np.ndarray:  # type: ignore[override]
        """Second derivative of the Lagrangian; another pass at other multipliers than expected."""
        is_near = is_near and self.problem.has_convexified_hessian
        if is_near != self.is_near or not np.array_equal(multipliers, self.multipliers):
            there = OnePassEvaluation(
                self.problem, self.x, self.ridge, self.reduce, multipliers, is_near
            )
            return there.hessian(multipliers, is_near)
        return self._hessian + np.diag(np.append(self.ridge, np.zeros(len(self.aux))))


# Compiled passes: one kernel per block of samples, if columns, loss and rates have kernels.


@dataclass(frozen=True, eq=False)
class CompiledBlock:
    """A block of samples as arguments of kernels; methods return None where a rate has no kernel.

    Kernels sum over the events of each constraint, and one more for samples in none of them.
    """

    block: Any
    columns: tuple[np.ndarray, ...]
    losses: tuple[Any, ...]

    @cached_property
    def _means_to_rows(self) -> np.ndarray:
        """Linear map from means to rows, (n_rows, n_means); samples of no event are in no row."""
        combines = [one.rows.rates_to_rows for one in self.block.constraint]
        if not any(map(sparse.issparse, combines)):
            padded = [np.column_stack((one, np.zeros(len(one)))) for one in combines]
            return padded[0] if len(padded) == 1 else block_diagonal(padded)
        no_event = sparse.csr_array((0, 1))
        pairs = zip(combines, [no_event] * len(combines), strict=True)
        return sparse.block_diag([one for pair in pairs for one in pair], format="csr")

    @cached_property
    def smooth(self) -> tuple[np.ndarray, ...] | None:
        """Arguments for the smooth means that are compared."""
        return _stack_arguments([one.sums for one in self.block.constraint], "smooth")

    @cached_property
    def _exact_arguments(self) -> tuple[np.ndarray, ...] | None:
        """Arguments for the exact means that are compared."""
        sums = [one.sums for one in self.block.constraint]
        return self._countable_arguments(_stack_arguments(sums, "exact"))

    @cached_property
    def _report_arguments(self) -> tuple[np.ndarray, ...] | None:
        """Arguments for the exact means of each constraint, followed by those of small groups."""
        pairs = ((one.sums, one.uncompared) for one in self.block.constraint)
        return self._countable_arguments(
            _stack_arguments([one for pair in pairs for one in pair if one], "exact")
        )

    def _countable_arguments(
        self, arguments: tuple[np.ndarray, ...] | None
    ) -> tuple[np.ndarray, ...] | None:
        """Arguments, or None where predictions have other columns than those stored."""
        return arguments if self.block.model.original is None else None

    @cached_property
    def has_one_pass(self) -> bool:
        """Whether one kernel evaluates objective, rows and derivatives, as where rows add up."""
        rows = self.block.constraint
        adds_up = isinstance(rows, ConstraintSystem) and rows.adds_up
        return adds_up and (not len(self.block.lower) or self.smooth is not None)

    def evaluate(
        self, x: np.ndarray, multipliers: np.ndarray, is_exact: bool, reduce: Function | None = None
    ) -> Derivatives | None:
        """Objective, its gradient, rows, their Jacobian, and Hessian of the Lagrangian.

        Without what does not depend on the samples: penalty, and constant terms of rows. The
        samples are those of this block, or of all of which ``reduce(function, *arguments)`` takes
        the sum.
        """
        p = self.block.model.n_parameters
        if len(multipliers) and self.smooth is None:
            buckets = place_buckets(self.block.rows, x[p:])
            # Shares are evaluated in partitions alone.
            if buckets is None or reduce is None:
                return None
            return self._evaluate_shares(x, multipliers, is_exact, buckets, reduce)
        # Rows of means, by one pass of their kernel.
        combine = self._means_to_rows if len(multipliers) else np.zeros((0, 0))
        arguments = x[:p], combine.T @ multipliers
        sums = (
            _sum_means(self.block, *arguments) if reduce is None else reduce(_sum_means, *arguments)
        )
        objective, gradient, means, by_parameters, gram = sums
        jacobian, hessian = np.zeros((len(multipliers), len(x))), np.zeros((len(x), len(x)))
        jacobian[:, :p], hessian[:p, :p] = combine @ by_parameters, gram
        return objective, gradient, combine @ means, jacobian, hessian

    def _evaluate_shares(
        self,
        x: np.ndarray,
        multipliers: np.ndarray,
        is_exact: bool,
        buckets: MeanExcess,
        reduce: Function,
    ) -> Derivatives:
        """Evaluate rows of shares above thresholds by one pass of their kernel."""
        p, rows = self.block.model.n_parameters, self.block.rows
        weights = bucket_curvatures(rows, buckets, multipliers, is_exact)
        sums = reduce(_sum_shares, x[:p], (buckets.bounds, buckets.has_corner), weights)
        objective, gradient, moments, by_parameters, gram = sums
        buckets.integrate_moments(moments)
        values = rows.evaluate_convex(buckets, x[p:])
        mixed, of_aux = (values.exact() if is_exact else values).aux_curvature(multipliers)
        by_aux = values.aux_jacobian - rows.aux_jacobian
        jacobian = np.column_stack((values.jacobian.means_to_rows @ by_parameters, by_aux))
        mixed = mixed @ by_parameters
        hessian = np.block([[gram, mixed.T], [mixed, of_aux]])
        return objective, gradient, values.values - rows.constant_term(x[p:]), jacobian, hessian

    def measure_model(self, parameters: np.ndarray) -> tuple[Any, ...] | None:
        """Contribution to errors, decisions, objective, and the moments of each constraint."""
        if self._report_arguments is None:
            return None
        (objective, error, n_positive), moments = self._sum_block(
            parameters, self._report_arguments
        )
        of_sums = iter(moments)
        decided = (len(self.block.target) - n_positive, n_positive)
        by_constraint = tuple(
            tuple(np.concatenate([next(of_sums) for each in (one.sums, one.uncompared) if each], 1))
            for one in self.block.constraint
        )
        return error, decided, objective, by_constraint

    def predict_scores(self, parameters: np.ndarray) -> np.ndarray | None:
        """Scores as predictions will have them."""
        from skfair._kernels.scores import score_samples

        if self.block.model.original is not None:
            return None
        return score_samples(self.columns[0], *self.block.model.coefficients(parameters))

    def smooth_means(self, parameters: np.ndarray) -> tuple[np.ndarray, ...] | None:
        """Contribution to the smooth means of each constraint."""
        if self.smooth is None or self._countable_arguments(self.smooth) is None:
            return None
        return tuple(means for means, *_ in self._sum_block(parameters, self.smooth)[1])

    def residuals(self, parameters: np.ndarray) -> tuple[np.ndarray, ...] | None:
        """Contribution to the differences between exact and smooth means, by constraint."""
        if self.smooth is None or self._exact_arguments is None:
            return None
        exact, smooth = (
            self._sum_block(parameters, one)[1] for one in (self._exact_arguments, self.smooth)
        )
        return tuple(one[0] - other[0] for one, other in zip(exact, smooth, strict=True))

    def sum_along_lines(
        self,
        start: np.ndarray,
        directions: np.ndarray,
        min_slope: float,
        lengths: np.ndarray,
        n_bins: int,
    ) -> tuple[np.ndarray, tuple[np.ndarray, ...], tuple[np.ndarray, ...]] | None:
        """Contribution to errors and means at the ends of bins of lines (`count_along_lines`)."""
        from skfair._kernels.scores import sum_line_bins

        if self._exact_arguments is None or (self._exact_arguments[3] != STEP).any():
            return None
        model = self.block.model
        lines = zip(*map(model.coefficients, directions), strict=True)
        errors, sums, negative = sum_line_bins(
            self.columns[0],
            model.coefficients(start),
            tuple(map(np.array, lines)),
            (min_slope, lengths),
            n_bins,
            self.losses,
            self._exact_arguments,
        )
        means = _split_by_constraint(sums, self._exact_arguments, axis=1)
        return (
            errors,
            tuple(means),
            tuple(_split_by_constraint(negative, self._exact_arguments, axis=0)),
        )

    def _sum_block(
        self, parameters: np.ndarray, arguments: tuple[np.ndarray, ...]
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        """Sums that judge a model, and the moments of each constraint."""
        from skfair._kernels.scores import sum_block_metrics

        coefficients = self.block.model.coefficients(parameters)
        totals, moments = sum_block_metrics(self.columns[0], coefficients, self.losses, arguments)
        return totals, _split_by_constraint(moments, arguments, axis=1)


def _sum_means(block: Any, parameters: np.ndarray, weights: np.ndarray) -> Derivatives:
    """Sums over a block, by a kernel."""
    from skfair._kernels.scores import evaluate_block

    compiled = block.compiled
    arguments = compiled.smooth if len(weights) else _NO_EVENTS
    return evaluate_block(compiled.columns, parameters, compiled.losses, arguments, weights)


def _sum_shares(
    block: Any,
    parameters: np.ndarray,
    buckets: tuple[np.ndarray, ...],
    weights: np.ndarray,
) -> Derivatives:
    """Sums over a block with shares of ranked samples, by a kernel."""
    from skfair._kernels.scores import evaluate_bucket_moments

    compiled, (bound,) = block.compiled, block.constraint
    arguments = bound.sums.events.codes_and_mean_weights
    return evaluate_bucket_moments(
        compiled.columns, parameters, compiled.losses, arguments, buckets, weights
    )


def _stack_arguments(several: list[Sums | RankSums], terms: str) -> tuple[np.ndarray, ...] | None:
    """Arguments of kernels for the terms, "smooth" or "exact", of several `Sums`.

    Codes and shares, (n_constraints, n_samples); where the events of each begin, and their number;
    code and width of each rate, and whether it is of errors. None if one has no kernel.
    """
    arguments = []
    for one in several:
        is_mean = isinstance(one, Sums) and not one.is_quotient
        known = kernel_rate_kind(getattr(one, terms)[0]) if is_mean else None
        # Events are disjoint; samples in none of them have their number, and a weight of 0.
        members = one.events.codes_and_mean_weights
        if known is None or members is None:
            return None
        arguments.append((*members, *known))
    if not arguments:
        return _NO_EVENTS
    event_codes, shares, rates, widths, are_errors = zip(*arguments, strict=True)
    is_single = len(several) == 1  # and not copied
    return (
        event_codes[0][np.newaxis] if is_single else np.array(event_codes),
        shares[0][np.newaxis] if is_single else np.array(shares),
        np.cumsum([0, *(one.events.n_events + 1 for one in several)]),
        np.array(rates, dtype=np.intp),
        np.array(widths, dtype=np.float64),
        np.array(are_errors, dtype=bool),
    )


_NO_EVENTS = (
    np.empty((0, 0), dtype=np.intp),
    np.empty((0, 0)),
    np.zeros(1, dtype=int),
    np.empty(0, dtype=np.intp),
    np.empty(0),
    np.empty(0, dtype=bool),
)
"""Arguments of kernels without constraints."""


def _split_by_constraint(
    sums: np.ndarray, arguments: tuple[np.ndarray, ...], axis: int
) -> list[np.ndarray]:
    """Sums over the events of each constraint, without those over samples in no event."""
    pairs = pairwise(arguments[2].tolist())
    return [sums.take(range(first, end - 1), axis) for first, end in pairs]


# Regions: closed convex sets to which parameters are restricted.


@make_constructor
class Box(BaseEstimator):
    """Parameters between bounds.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair._problems.evaluation import Box
    >>> Box(-1.0, 1.0).project(np.array([-3.0, 0.5]))
    array([-1. ,  0.5])
    """

    lower: float | np.ndarray
    upper: float | np.ndarray

    def project(self, parameters: np.ndarray) -> np.ndarray:
        """The nearest point of the set."""
        return np.clip(parameters, self.lower, self.upper)


@make_constructor
class Ball(BaseEstimator):
    """Parameters whose Euclidean norm is at most a radius.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair._problems.evaluation import Ball
    >>> Ball(1.0).project(np.array([3.0, 4.0]))
    array([0.6, 0.8])
    """

    radius: float

    def project(self, parameters: np.ndarray) -> np.ndarray:
        """The nearest point of the set."""
        return parameters * (self.radius / max(float(np.linalg.norm(parameters)), self.radius))
