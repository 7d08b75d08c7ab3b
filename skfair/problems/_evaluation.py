"""Objective and rows of a problem at a point, with their derivatives."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from skfair.losses import as_pointwise

if TYPE_CHECKING:
    from skfair.losses import Pointwise
    from skfair.problems._problem import ConstrainedProblem


class Evaluation:
    """A problem at one point; each property is computed once, when it is first used.

    Parameters
    ----------
    problem : ConstrainedProblem
        The problem.
    x : ndarray of shape (n_unknowns,)
        The point.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.constraints import ConstraintSystem
    >>> from skfair.losses import SquaredLoss
    >>> from skfair.models import LinearModel
    >>> from skfair.problems import ConstrainedProblem, Evaluation
    >>> X, y, weights = np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0]), np.ones(2)
    >>> model = LinearModel.from_features(X, weights)
    >>> problem = ConstrainedProblem(model, SquaredLoss(), y, weights, 0.0, ConstraintSystem(()))
    >>> Evaluation(problem, np.zeros(2)).grad
    array([-1.,  0.])
    """

    def __init__(self, problem: ConstrainedProblem, x: np.ndarray):
        self.problem = problem
        self.x = x
        # Model parameters, and the auxiliary unknowns after them.
        self.parameters, self.aux = x[: problem.n_parameters], x[problem.n_parameters :]

    @cached_property
    def point(self) -> Any:
        """The model at the parameters."""
        return self.problem.model.evaluate(self.parameters)

    @cached_property
    def scores(self) -> np.ndarray:
        """Score of each sample."""
        return self.point.scores

    def replace_constraint(self, constraint: Any) -> Evaluation:
        """The same point under another constraint; its scores are reused.

        Parameters
        ----------
        constraint : MetricConstraint, ConstraintSystem or SmoothConstraint
            With as many auxiliary unknowns.

        Returns
        -------
        evaluation : Evaluation
        """
        evaluation = Evaluation(replace(self.problem, constraint=constraint), self.x)
        evaluation.point = self.point
        return evaluation

    @cached_property
    def losses(self) -> Pointwise:
        """Loss of each sample; the objective has their mean."""
        losses = self.problem.loss(self.scores, *self.problem.loss_arguments)
        return as_pointwise(losses, len(self.scores), "The loss")

    @cached_property
    def fun(self) -> float:
        """The objective."""
        penalty = self.problem.ridge @ self.parameters**2 / 2
        return float(self.problem.mean_weights @ self.losses.value + penalty)

    @cached_property
    def grad(self) -> np.ndarray:
        """Gradient of the objective, (n_unknowns,)."""
        slopes = self.problem.mean_weights * self.losses.slope
        gradient = self.point.pull_back(slopes) + self.problem.ridge * self.parameters
        return np.append(gradient, np.zeros(self.problem.rows.n_aux))

    @cached_property
    def rows(self) -> Any:
        """The rows and their derivatives by the scores, as `ConstraintValues`."""
        return self.problem.rows(self.scores, self.aux)

    @cached_property
    def values(self) -> np.ndarray:
        """The rows c(x), (n_rows,)."""
        return self.rows.values

    @property
    def aux_jacobian(self) -> np.ndarray:
        """Derivative of the rows by the auxiliary unknowns, (n_rows, n_aux)."""
        return self.rows.aux_jacobian

    @cached_property
    def excess(self) -> np.ndarray:
        """Excess of each row over its bounds, (n_rows,)."""
        above, below = self.values - self.problem.upper, self.problem.lower - self.values
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
        problem = self.problem
        slopes = problem.mean_weights * self.losses.slope
        slopes = slopes + self.rows.jacobian.adjoint(multipliers)
        gradient = self.point.pull_back(slopes) + problem.ridge * self.parameters
        return np.append(gradient, multipliers @ self.rows.aux_jacobian)

    @cached_property
    def jacobian(self) -> np.ndarray:
        """Derivative of the rows, (n_rows, n_unknowns)."""
        by_parameters = self.rows.jacobian.combine @ self.cell_jacobian
        return np.column_stack((by_parameters, self.rows.aux_jacobian))

    @property
    def rows_at_shift(self) -> Any:
        """Rows by the means of their cells, as `ConstraintValues.rows_at_shift`; None if linear."""
        return self.rows.rows_at_shift

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
        by_scores = sparse.csr_array(sparse.csr_array(jacobian.combine)[rows] @ jacobian.cells)
        by_parameters = self.point.pull_back_rows(by_scores)
        return np.column_stack((by_parameters, self.rows.aux_jacobian[rows]))

    @cached_property
    def cell_jacobian(self) -> np.ndarray:
        """Derivative of the means that rows are made of, (n_cells, n_parameters)."""
        return self.point.pull_back_rows(self.rows.jacobian.cells)

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

    def hessian(self, multipliers: np.ndarray, is_near: bool = False) -> np.ndarray:
        """Second derivative of the Lagrangian, with convexified curvatures of rows that have them.

        Parameters
        ----------
        multipliers : ndarray of shape (n_rows,)
            As in `lagrangian_gradient`.
        is_near : bool, default=False
            Whether a solution is so near that curvatures shall be exact.

        Returns
        -------
        hessian : ndarray of shape (n_unknowns, n_unknowns)
        """
        p, rows = self.problem.n_parameters, self.rows
        if is_near and rows.exact is not None:
            rows = rows.exact()
        # By two model parameters: loss and rows as one weighted Gram matrix, and the penalty.
        hessian = np.zeros((len(self.x), len(self.x)))
        hessian[:p, :p] = self.point.gram(self.loss_curvature + rows.curvature(multipliers))
        hessian[:p, :p] += np.diag(self.problem.ridge)
        if rows.cell_curvature is not None:
            cells = self.cell_jacobian
            hessian[:p, :p] += cells.T @ rows.cell_curvature(multipliers) @ cells
        # By auxiliary unknowns, where rows are not linear in them: blocks beside and below.
        if rows.aux_curvature is not None:
            combine, hessian[p:, p:] = rows.aux_curvature(multipliers)
            hessian[p:, :p] = combine @ self.cell_jacobian
            hessian[:p, p:] = hessian[p:, :p].T
        return hessian
