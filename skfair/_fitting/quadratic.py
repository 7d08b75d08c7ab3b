"""A bound below, and starts, of fits that compare mean squared losses.

Mean squared losses are quadratic in the parameters of a linear model, and so is the Lagrangian: for
given multipliers its minimiser is the solution of linear equations. Where it is convex, its minimum
is a bound below the objective of every model that keeps the constraint (weak duality). The largest
such bound is found by an interior-point method.

Differences of mean losses are not convex, so fits from one start may end far above the bound.
Every local minimum is a stationary point of the Lagrangian at its own multipliers. So stationary
points for multipliers in several directions are what further fits start at.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from skfair.losses import SquaredLoss

if TYPE_CHECKING:
    from skfair._problems.problem import Problem


_LENGTHS = np.array([0.3, 0.6, 0.85, 0.97, 1.03, 1.2, 1.6, 2.5, 5.0, 20.0])
"""Lengths along a direction, relative to that at which the Lagrangian is no longer convex."""


@dataclass(frozen=True, eq=False)
class QuadraticProgram:
    """Objective and constraints ``constant + gradient @ x + x @ hessian @ x / 2``, which are <= 0.

    Attributes
    ----------
    constants : ndarray of shape (1 + n_rows,)
        Values at 0; those of the objective come first.
    gradients : ndarray of shape (1 + n_rows, n_parameters)
        Derivatives at 0.
    hessians : ndarray of shape (1 + n_rows, n_parameters, n_parameters)
        Second derivatives.
    """

    constants: np.ndarray
    gradients: np.ndarray
    hessians: np.ndarray

    @classmethod
    def from_problem(cls, problem: Problem) -> QuadraticProgram | None:
        """The program of a problem in memory; None if it is not quadratic, or too large."""
        if problem.is_partitioned or not isinstance(problem.loss, SquaredLoss):
            return None
        problem = problem.separate_pairs()
        n_rows = len(problem.lower)
        n_parameters = problem.n_parameters
        # There is one multiplier for each row.
        if problem.rows.n_aux or not 0 < n_rows <= 256:
            return None
        # All Hessians are in memory.
        if 2 * n_rows * n_parameters**2 > 1 << 21:
            return None
        # Expand objective and rows at 0.
        origin = problem.evaluate(np.zeros(n_parameters))
        free = origin.hessian(np.zeros(n_rows))
        units = np.eye(n_rows)
        hessians = np.array([origin.hessian(one, is_near=True) - free for one in units])
        # One constraint for each bound.
        above = np.isfinite(problem.upper)
        below = np.isfinite(problem.lower)
        over = origin.values - problem.upper
        under = problem.lower - origin.values
        program = cls(
            constants=np.concatenate(([origin.fun], over[above], under[below])),
            gradients=np.vstack((origin.grad, origin.jacobian[above], -origin.jacobian[below])),
            hessians=np.concatenate((free[np.newaxis], hessians[above], -hessians[below])),
        )
        # Rows of other losses are not quadratic, as another point shows.
        x = np.linspace(-1.0, 1.0, n_parameters)
        there = problem.evaluate(x)
        expected = np.concatenate(
            (
                [there.fun],
                (there.values - problem.upper)[above],
                (problem.lower - there.values)[below],
            )
        )
        is_quadratic = np.allclose(program.evaluate(x[np.newaxis])[0], expected, rtol=1e-6)
        return program if is_quadratic else None

    @property
    def n_rows(self) -> int:
        """Number of constraints."""
        return len(self.constants) - 1

    def evaluate(self, points: np.ndarray) -> np.ndarray:
        """Objective and constraints at points, (n_points, n_parameters) -> (n_points, 1 + rows)."""
        curved = np.einsum("ni,kij,nj->nk", points, self.hessians, points, optimize=True)
        return self.constants + points @ self.gradients.T + curved / 2.0

    @cached_property
    def _regular_hessian(self) -> np.ndarray:
        """Hessian of the objective, made positive definite where features repeat."""
        hessian = self.hessians[0]
        return hessian + 1e-10 * max(np.trace(hessian), 1e-200) * np.eye(len(hessian))

    def bound_and_starts(self, n_starts: int) -> tuple[float, list[np.ndarray]]:
        """A number that no objective is below where the constraints are kept; starts of fits."""
        bound, minimizer = self._solve_dual()
        # Stationary points of Lagrangians, each of a direction of multipliers of its own.
        rng = np.random.default_rng(0)  # the same starts for the same samples
        points = []
        for direction in rng.normal(size=(64, self.n_rows)):
            stationary = self._stationary_points_along(direction)
            # The best one of the direction: an excess of 1 over a bound costs 3 in the objective.
            values = self.evaluate(stationary)
            merits = values[:, 0] + 3.0 * np.maximum(0.0, values[:, 1:].max(axis=1))
            best = np.argmin(merits)
            points.append((merits[best], stationary[best]))
        points.sort(key=lambda pair: pair[0])
        return bound, [minimizer, *(point for _, point in points[: n_starts - 1])]

    def _solve_dual(self) -> tuple[float, np.ndarray]:
        """The largest minimum of a convex Lagrangian, and where it is."""
        # An interior-point method: barriers keep the Lagrangian convex and multipliers positive.
        multipliers = np.full(self.n_rows, 1e-3)
        latest = self._minimize_lagrangian(multipliers)
        while latest is None and multipliers[0] > 1e-12:
            multipliers = multipliers * 0.1
            latest = self._minimize_lagrangian(multipliers)
        if latest is None:
            return -np.inf, np.zeros(self.gradients.shape[1])
        best = latest
        weight = 0.1 * max(abs(best.minimum), 1e-6)
        smallest = 1e-6 * weight
        # At most 100 Newton steps of the interior-point method.
        for _ in range(100):
            newton = self._newton_step(latest, weight)
            if newton is None:
                break
            step, decrement = newton
            following = self._move_multipliers(latest, step, decrement / weight)
            if following is None:
                break
            latest = following
            best = max(best, latest, key=lambda one: one.minimum)
            if decrement < 0.5 * weight:
                if weight <= smallest:
                    break
                weight /= 5.0
        return float(best.minimum), best.minimizer

    def _newton_step(self, latest: _Lagrangian, weight: float) -> tuple[np.ndarray, float] | None:
        """Newton's step of the sum of the minimum and the weighted barriers, and its decrement.

        None if multipliers have grown so large that rounding hides the barriers: no model keeps the
        constraints then.
        """
        multipliers = latest.multipliers
        slopes = self.gradients[1:] + self.hessians[1:] @ latest.minimizer
        solved = np.array([cho_solve(latest.factor, one) for one in self.hessians[1:]])
        values = self.evaluate(latest.minimizer[np.newaxis])[0, 1:]
        traces = np.trace(solved, axis1=1, axis2=2)
        gradient = values + weight * (traces + 1.0 / multipliers)
        curvature = slopes @ cho_solve(latest.factor, slopes.T)
        curvature += weight * np.einsum("aij,bji->ab", solved, solved, optimize=True)
        curvature += weight * np.diag(1.0 / multipliers**2)
        try:
            step = cho_solve(cho_factor(curvature), gradient)
        except LinAlgError:
            return None
        return step, max(float(gradient @ step), 0.0)

    def _move_multipliers(
        self, latest: _Lagrangian, step: np.ndarray, decrement: float
    ) -> _Lagrangian | None:
        """The convex Lagrangian along a step; None if no length leads to one."""
        # Near the optimum the full step is right; else that for self-concordant barriers.
        length = 1.0 / (1.0 + np.sqrt(decrement)) if decrement > 0.0625 else 1.0
        while length > 1e-12:
            multipliers = latest.multipliers + length * step
            if (multipliers > 0.0).all():
                following = self._minimize_lagrangian(multipliers)
                if following is not None:
                    return following
            length /= 2.0
        return None

    def _minimize_lagrangian(self, multipliers: np.ndarray) -> _Lagrangian | None:
        """The Lagrangian at positive multipliers; None if it is not convex."""
        hessian = self._regular_hessian + np.tensordot(multipliers, self.hessians[1:], 1)
        try:
            factor = cho_factor(hessian)
        except LinAlgError:
            return None
        gradient = self.gradients[0] + multipliers @ self.gradients[1:]
        constant = self.constants[0] + multipliers @ self.constants[1:]
        minimizer = -cho_solve(factor, gradient)
        minimum = constant + gradient @ minimizer / 2.0
        return _Lagrangian(multipliers, factor, minimizer, minimum)

    def _stationary_points_along(self, direction: np.ndarray) -> np.ndarray:
        """Stationary points at several lengths of a direction of multipliers."""
        curved = np.tensordot(direction, self.hessians[1:], 1)
        # Where the Lagrangian is no longer convex along this direction.
        steepest = -eigh(curved, self._regular_hessian, eigvals_only=True)[0]
        lengths = _LENGTHS / max(steepest, 1e-12)
        hessians = self._regular_hessian + lengths[:, np.newaxis, np.newaxis] * curved
        gradients = self.gradients[0] + np.outer(lengths, direction @ self.gradients[1:])
        return -np.linalg.solve(hessians, gradients[..., np.newaxis])[..., 0]


class _Lagrangian(NamedTuple):
    """A convex Lagrangian: its minimum at multipliers, and the Cholesky factor of its Hessian."""

    multipliers: np.ndarray
    factor: tuple
    minimizer: np.ndarray
    minimum: float
