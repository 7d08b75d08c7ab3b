"""Scores of samples by a linear model fitted without them."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.linalg import lstsq, null_space, qr

from skfair._bound.bound import ConstraintSystem
from skfair._bound.rows import spread_over_samples
from skfair._fitting.planes import PlainFit, assign_folds

if TYPE_CHECKING:
    from skfair._fitting.counting import Candidate
    from skfair._fitting.fitter import Fitter
    from skfair._problems.problem import Problem


_RANK_TOL = 1e-8
"""Part of the largest row in addition to others, below which a row depends on them."""


def can_leave_one_out(problem: Problem, clusters: np.ndarray | None = None) -> bool:
    """Whether `LeaveOneOut` knows a problem: a linear model under constraints of no ranks.

    A step of Newton's method does not lead far enough where clusters are large.
    """
    # A step of Newton's method leaves out a hundredth of the samples at most.
    if clusters is not None and np.bincount(clusters).max() > 0.01 * len(clusters):
        return False
    model = problem.model
    # The leads of classes over one another are not linear.
    is_linear = not hasattr(model, "lines") and model.last_layer(model.initial()) is model
    return is_linear and problem.region is None and "ranks" not in problem.constraint.metric_inputs


class LeaveOneOut:
    """What the fits of a linear model tell about samples that they were not fitted to.

    Samples of equal code in `clusters` are left out together; None if all are independent.
    """

    def __init__(self, fitter: Fitter, clusters: np.ndarray | None = None) -> None:
        self.fitter = fitter
        self.problem = fitter.problem
        self.clusters = clusters

    @cached_property
    def plain(self) -> PlainFit:
        """The plain fit, as `PlainFit`: its columns are the same without each fold."""
        plain = self.fitter.fit_unconstrained()
        scores = self.scores(plain, ConstraintSystem(()))
        folds = assign_folds(len(scores), self.clusters)
        return PlainFit(plain, scores, folds, [self.problem.model] * len(folds))

    def shrink(self, candidate: Candidate, factor: float) -> Candidate:
        """The candidate with all scores multiplied by a factor."""
        return self.fitter.evaluate(factor * candidate.parameters, candidate.result)

    def scores(self, candidate: Candidate, system: ConstraintSystem) -> np.ndarray:
        r"""Score of each sample by the model fitted to the others, to first order, (n_samples,).

        Let the fit minimise a Lagrangian with Hessian H, of whose gradient sample i with the row
        :math:`a_i` has the part :math:`q_i a_i`, while active constraints with the Jacobian J stay
        at their bounds. Without sample i, which has the part :math:`c_i` in their decisions, the
        parameters change by a step of Newton's method:

        .. math::

            H \delta_i + J^\top \mu_i = q_i a_i, \quad J \delta_i = c_i.

        A search moves a fit further along its rows than the solver did. Its multipliers are those
        that come nearest to a minimum, and all its rows stay where they are: with those of the
        solver, what samples contributed to the search would not be left out with them.

        The curvature of the sample itself is left out of H by the formula of Sherman and Morrison.
        See K. Rahnama Rad and A. Maleki, "A scalable estimate of the out-of-sample prediction error
        via approximate leave-one-out cross-validation", J. R. Stat. Soc. B 82, 2020.
        """
        problem = replace(self.problem, constraint=system)
        x = problem.initial_point(candidate.parameters)
        multipliers = candidate.result.multipliers
        if not candidate.is_solver_result:
            multipliers = _estimate_multipliers(problem, x)
        elif len(multipliers) != len(problem.lower):  # the plain fit
            multipliers = np.zeros(len(problem.lower))
        evaluation = problem.evaluate(x, multipliers)
        p = problem.n_parameters
        active, effects = _active_rows(system, candidate.scores, multipliers)
        jacobian = evaluation.jacobian_of(active)
        combinations = _combine_without_aux(jacobian[:, p:])
        basis, triangle, order = qr((combinations.T @ jacobian[:, :p]).T, pivoting=True)
        size = np.abs(np.diag(triangle))
        rank = int((size > _RANK_TOL * size.max(initial=0.0)).sum())
        order = order[:rank]
        triangle = triangle[:rank, :rank]
        # Directions in which the active rows stay, scaled to a Hessian of 1, and in which they
        # move by one each. NumPy's solve takes a rank of 0, where no row is active.
        hessian = evaluation.hessian(multipliers)[:p, :p]
        free = basis[:, rank:]
        free = free @ _inverse_root(free.T @ hessian @ free)
        moving = np.linalg.solve(triangle, basis[:, :rank].T).T
        moving = moving - free @ (free.T @ (hessian @ moving))
        # Changes of each score: by the gradient, and by the bounds.
        slopes = problem.mean_weights * evaluation.losses.slope
        curvature = evaluation.loss_curvature
        if multipliers.any():
            slopes = slopes + evaluation.rows.jacobian.adjoint(multipliers)
            curvature = evaluation.curvature(multipliers)
        change = np.zeros(len(slopes))
        leverage = np.zeros(len(slopes))
        for direction in free.T:
            scores = problem.model.scores(direction)
            leverage += scores**2 * curvature
            change += scores * self._sum_left_out(scores * slopes)
        for direction, effect in zip(moving.T, (effects @ combinations[:, order]).T, strict=True):
            change += problem.model.scores(direction) * self._sum_left_out(effect)
        # A leverage counts up to .9.
        share = np.clip(self._sum_left_out(leverage), 0.0, 0.9)
        return candidate.scores + change / (1.0 - share)

    def _sum_left_out(self, values: np.ndarray) -> np.ndarray:
        """Sum of values over all samples that are left out with each sample, (n_samples,)."""
        if self.clusters is None:
            return values
        return np.bincount(self.clusters, values)[self.clusters]


def _estimate_multipliers(problem: Problem, x: np.ndarray) -> np.ndarray:
    """Multipliers at which unknowns come nearest to a minimum of the Lagrangian, (n_rows,)."""
    none = np.zeros(len(problem.lower))
    p = problem.n_parameters
    evaluation = problem.evaluate(x, none)
    jacobian = evaluation.jacobian_of(np.arange(len(none)))
    combinations = _combine_without_aux(jacobian[:, p:])
    # Distances are those of Newton's steps.
    root = _inverse_root(evaluation.hessian(none)[:p, :p])
    rows = root.T @ (combinations.T @ jacobian[:, :p]).T
    return -combinations @ lstsq(rows, root.T @ evaluation.grad[:p], cond=_RANK_TOL)[0]


def _combine_without_aux(by_aux: np.ndarray) -> np.ndarray:
    """Combinations of rows that auxiliary unknowns, which are free, do not move."""
    return null_space(by_aux.T) if by_aux.size else np.eye(len(by_aux))


def _inverse_root(hessian: np.ndarray) -> np.ndarray:
    """A root of the inverse of a Hessian, of whose eigenvalues the absolute values are taken."""
    sizes, axes = np.linalg.eigh(hessian)  # also of no directions
    # Where all scores are far from 0, as those of separable classes, no curvature is left.
    sizes = np.abs(sizes)
    # Add a little curvature, relative to the largest.
    sizes += 1e-10 * max(sizes.max(initial=0.0), 1e-12)
    return axes / np.sqrt(sizes)


def _active_rows(
    system: ConstraintSystem, scores: np.ndarray, multipliers: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Active rows of constraints, and the part that each sample has in them, (n_samples, n_rows).

    Rows have multipliers, or decisions that two samples could lead beyond their bounds.
    """
    active = [np.empty(0, dtype=np.intp)]
    effects = [np.zeros((len(scores), 0))]
    by_constraint = system.stacked_rows.split_by_constraint(multipliers)
    start = 0
    for one, of_rows in zip(system, by_constraint, strict=True):
        sums = one.sums.exact_means(scores)
        values, by_sum = one.rows.rows_at(sums)
        slack = np.minimum(one.rows.upper - values, values - one.rows.lower)
        is_active = of_rows != 0
        if one.sums.metric_input == "decisions":
            is_active |= slack <= 2.0 / one.sums.events.count_samples().min()
        chosen = np.flatnonzero(is_active)
        terms = [term(scores, one.sums.target).value for term in one.sums.exact]
        by_sum = sparse.csr_array(by_sum)[chosen].toarray()
        ones = [np.ones(len(scores))] * len(terms)
        effects += [
            (
                spread_over_samples(one.sums.events, terms, row)
                - spread_over_samples(one.sums.events, ones, row * sums)
            )[:, np.newaxis]
            for row in by_sum
        ]
        active.append(start + chosen)
        start += len(values)
    return np.concatenate(active), np.hstack(effects)
