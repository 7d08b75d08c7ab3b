r"""Problems: the only place where model, loss and constraint meet.

Minimise f(x) subject to lower <= c(x) <= upper, over x = (model parameters, auxiliary unknowns).
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

__all__ = ["ConstrainedProblem", "Evaluation"]


@dataclass(frozen=True, eq=False)
class ConstrainedProblem:
    r"""Empirical risk under constraints on the scores.

    .. math::

        \min_{w, a} \; \frac{\sum_i \omega_i \ell(s_i, y_i)}{\sum_i \omega_i}
        + \frac{\alpha}{2} |w|^2
        \quad \text{s.t.} \quad lower \le c(s, a) \le upper, \quad s = model(w).

    Parameters
    ----------
    model : LinearModel
        Scores from parameters.
    loss : callable
        (scores, target) -> Pointwise.
    target : ndarray of shape (n_samples,)
        Classes -1 and +1, or real numbers.
    weights : ndarray of shape (n_samples,)
        Sample weights.
    alpha : float
        Strength of the l2 penalty.
    constraint : BoundConstraint or JointConstraint
        Constraint on the scores, with the auxiliary unknowns that it needs.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.constraints import DemographicParity, People, Rates
    >>> from skfair.losses import LogisticLoss
    >>> from skfair.models import LinearModel
    >>> from skfair.problems import ConstrainedProblem
    >>> from skfair.surrogates import Sigmoid, Step
    >>> from skfair.utils._groups import check_groups
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    >>> people = People(y, check_groups(["a", "b", "a", "b"], 4), np.ones(4))
    >>> loss = LogisticLoss()
    >>> smooth, decisions = Rates(Sigmoid(), loss), Rates(Step(), loss)
    >>> parity = DemographicParity().bind(people, smooth, decisions, tolerance=0.1)
    >>> model = LinearModel.standardized(X, people.weights)
    >>> problem = ConstrainedProblem(model, loss, y, people.weights, 1e-3, parity)
    >>> round(problem.evaluate(problem.initial_point()).fun, 4)
    0.6931
    """

    model: object
    loss: object
    target: np.ndarray
    weights: np.ndarray
    alpha: float
    constraint: object
    share: np.ndarray = field(init=False, repr=False)

    def __post_init__(self):
        """Weigh the samples by their shares."""
        object.__setattr__(self, "share", self.weights / self.weights.sum())

    @property
    def n_parameters(self):
        """Number of model parameters; the auxiliary unknowns follow them in x."""
        return self.model.n_parameters

    @property
    def n_unknowns(self):
        """Length of x."""
        return self.n_parameters + self.constraint.n_aux

    @property
    def lower(self):
        """Lower bounds of the rows, (n_rows,)."""
        return self.constraint.lower

    @property
    def upper(self):
        """Upper bounds of the rows, (n_rows,)."""
        return self.constraint.upper

    @cached_property
    def ridge(self):
        """Second derivative of the penalty by each model parameter, (n_parameters,)."""
        return self.model.ridge(self.alpha)

    def initial_point(self, parameters=None):
        """Parameters, and the auxiliary unknowns that suit them.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,), default=None
            Model parameters; None starts from 0.

        Returns
        -------
        x : ndarray of shape (n_unknowns,)
        """
        parameters = np.zeros(self.n_parameters) if parameters is None else parameters
        return np.append(parameters, self.constraint.initial_aux(self.model.scores(parameters)))

    def evaluate(self, x):
        """Everything at x, computed when it is first asked for.

        Parameters
        ----------
        x : ndarray of shape (n_unknowns,)
            Model parameters and auxiliary unknowns.

        Returns
        -------
        Evaluation
        """
        return Evaluation(self, x)


class Evaluation:
    """A problem at one point; each property is computed once, when it is first asked for.

    Parameters
    ----------
    problem : ConstrainedProblem
        The problem.
    x : ndarray of shape (n_unknowns,)
        The point.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.constraints import Unconstrained
    >>> from skfair.losses import SquaredLoss
    >>> from skfair.models import LinearModel
    >>> from skfair.problems import ConstrainedProblem, Evaluation
    >>> X, y, weights = np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0]), np.ones(2)
    >>> model = LinearModel.standardized(X, weights)
    >>> problem = ConstrainedProblem(model, SquaredLoss(), y, weights, 0.0, Unconstrained())
    >>> Evaluation(problem, np.zeros(2)).grad
    array([-1.,  0.])
    """

    def __init__(self, problem, x):
        self.problem = problem
        self.x = x

    @property
    def parameters(self):
        """Model parameters."""
        return self.x[: self.problem.n_parameters]

    @property
    def aux(self):
        """Auxiliary unknowns."""
        return self.x[self.problem.n_parameters :]

    @cached_property
    def scores(self):
        """Score of each sample."""
        return self.problem.model.scores(self.parameters)

    @cached_property
    def _losses(self):
        return self.problem.loss(self.scores, self.problem.target)

    @cached_property
    def fun(self):
        """The objective."""
        penalty = self.problem.ridge @ self.parameters**2 / 2
        return float(self.problem.share @ self._losses.value + penalty)

    @cached_property
    def grad(self):
        """Gradient of the objective, (n_unknowns,)."""
        slopes = self.problem.share * self._losses.slope
        gradient = self.problem.model.pull_back(slopes) + self.problem.ridge * self.parameters
        return np.append(gradient, np.zeros(self.problem.constraint.n_aux))

    @cached_property
    def _constraint(self):
        return self.problem.constraint(self.scores, self.aux)

    @property
    def values(self):
        """The rows c(x), (n_rows,)."""
        return self._constraint.values

    @cached_property
    def excess(self):
        """By how much each row lies outside its bounds, (n_rows,)."""
        above, below = self.values - self.problem.upper, self.problem.lower - self.values
        return np.maximum(0.0, np.maximum(above, below))

    @property
    def violation(self):
        """The largest excess of a row; 0 when all are kept."""
        return float(self.excess.max(initial=0.0))

    def pull_back(self, v):
        """Gradient of ``v @ values``, (n_rows,) -> (n_unknowns,); one pass for any number of rows.

        Parameters
        ----------
        v : ndarray of shape (n_rows,)
            Weight of each row.

        Returns
        -------
        gradient : ndarray of shape (n_unknowns,)
        """
        slopes = self._constraint.jacobian.adjoint(v)
        return np.append(self.problem.model.pull_back(slopes), v @ self._constraint.aux_jacobian)

    def lagrangian_gradient(self, multipliers):
        """Gradient of ``fun + multipliers @ values``; at most one pass over the data.

        Parameters
        ----------
        multipliers : ndarray of shape (n_rows,)
            Positive where the upper bound presses, negative where the lower does.

        Returns
        -------
        gradient : ndarray of shape (n_unknowns,)
        """
        if {"grad", "jacobian"} <= vars(self).keys():  # both are there already
            return self.grad + multipliers @ self.jacobian
        problem = self.problem
        slopes = problem.share * self._losses.slope
        slopes = slopes + self._constraint.jacobian.adjoint(multipliers)
        gradient = problem.model.pull_back(slopes) + problem.ridge * self.parameters
        return np.append(gradient, multipliers @ self._constraint.aux_jacobian)

    @cached_property
    def jacobian(self):
        """Derivative of the rows, (n_rows, n_unknowns)."""
        by_parameters = self._constraint.jacobian.combine @ self._cells
        return np.column_stack((by_parameters, self._constraint.aux_jacobian))

    @cached_property
    def _cells(self):
        """Derivative of the cells that rows are made of, (n_cells, n_parameters)."""
        return self.problem.model.pull_back_rows(self._constraint.jacobian.cells)

    @property
    def loss_curvature(self):
        """Second derivative of the mean loss by each score, (n_samples,)."""
        return self.problem.share * self._losses.curvature

    def curvature(self, multipliers):
        """Second derivative of the Lagrangian by each score, (n_rows,) -> (n_samples,).

        Parameters
        ----------
        multipliers : ndarray of shape (n_rows,)
            As in `lagrangian_gradient`.

        Returns
        -------
        curvature : ndarray of shape (n_samples,)
        """
        return self.loss_curvature + self._constraint.curvature(multipliers)

    def hessian(self, multipliers):
        """Second derivative of the Lagrangian, with the curvatures that the constraint gives.

        Parameters
        ----------
        multipliers : ndarray of shape (n_rows,)
            As in `lagrangian_gradient`.

        Returns
        -------
        hessian : ndarray of shape (n_unknowns, n_unknowns)
        """
        p, constraint = self.problem.n_parameters, self._constraint
        hessian = np.zeros((len(self.x), len(self.x)))
        hessian[:p, :p] = self.problem.model.gram(self.curvature(multipliers))
        hessian[:p, :p] += np.diag(self.problem.ridge)
        if constraint.aux_curvature is not None:
            combine, hessian[p:, p:] = constraint.aux_curvature(multipliers)
            hessian[p:, :p] = combine @ self._cells
            hessian[:p, p:] = hessian[p:, :p].T
        return hessian
