"""A problem whose samples lie in parts: every question is one look at them all."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from skfair.problems._evaluation import Evaluation
from skfair.problems._problem import ConstrainedProblem


@dataclass(frozen=True, eq=False)
class PartitionedProblem(ConstrainedProblem):
    """A problem as the sum of problems, each of which has some of the samples.

    It has no samples of its own: model, target and weights are those of nobody.

    Parameters
    ----------
    model, loss, target, weights, alpha, constraint, region, total
        As of `ConstrainedProblem`, of a constraint whose rows are sums over the samples.
    parts : Parts
        The problems of the samples, as `ConstrainedProblem.part` makes them.
    few : ConstrainedProblem or None
        The problem among some of the people, in memory, where solutions are tried first.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.constraints import ConstraintSystem
    >>> from skfair.losses import SquaredLoss
    >>> from skfair.models import LinearModel
    >>> from skfair.partitions import blocks, in_blocks
    >>> from skfair.problems import ConstrainedProblem, PartitionedProblem
    >>> X, y, weights = np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0]), np.ones(2)
    >>> model = LinearModel.standardized(X, weights)
    >>> whole = ConstrainedProblem(model, SquaredLoss(), y, weights, 0.0, ConstraintSystem(()))
    >>> parts = in_blocks([whole.part(rows) for rows in blocks(2, size=1)])
    >>> PartitionedProblem.of(whole, parts).evaluate(np.zeros(2)).grad
    array([-1.,  0.])
    """

    parts: object = None
    few: object = None

    @classmethod
    def of(cls, problem, parts, few=None):
        """A problem's own frame around its parts.

        Parameters
        ----------
        problem : ConstrainedProblem
            The problem; of its samples nothing is taken.
        parts : Parts
            What they lie in.
        few : ConstrainedProblem or None, default=None
            The problem among some of the people.

        Returns
        -------
        problem : PartitionedProblem
        """
        nobody = slice(0, 0)
        return cls(
            model=problem.model.take(nobody),
            loss=problem.loss,
            target=problem.target[nobody],
            weights=problem.weights[nobody],
            alpha=problem.alpha,
            constraint=problem.constraint,
            total=1.0,
            parts=parts,
            few=few,
        )

    def initial_point(self, parameters=None, random_state=None):
        """Parameters, and the auxiliary unknowns that suit them.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,), default=None
            Model parameters; None starts from 0.
        random_state : int, RandomState instance or None, default=None
            Not used by linear models.

        Returns
        -------
        x : ndarray of shape (n_unknowns,)
        """
        parameters = self.model.initial(random_state) if parameters is None else parameters
        if not self.rows.n_aux:
            return np.array(parameters)
        means = self.parts.reduce(_means, parameters)
        pairs = zip(self.constraint, means, strict=True)
        unknowns = [one.rows.polyhedron.unknowns(own + one.offset) for one, own in pairs]
        return np.concatenate((parameters, *unknowns))

    def told(self, parameters):
        """What is told of a model once it is taken, from one look at all parts.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Model parameters.

        Returns
        -------
        objective : float
        n_rows : int
            Rows of the constraint.
        report : DataFrame
            Of the constraint.
        """
        key = parameters.tobytes()
        if key not in self._known:
            self._known[key] = self.parts.reduce(_told, parameters)
        objective, moments = self._known[key]
        penalty = float(self.ridge @ parameters**2 / 2)
        report = self.constraint.report(moments=moments)
        return float(objective) + penalty, len(self.lower), report

    def total_and_told(self, function, parameters):
        """Sum over all parts of what a function makes of each; what is `told` comes with it.

        Parameters
        ----------
        function : callable
            (part, parameters) -> what may be added.
        parameters : ndarray of shape (n_parameters,)
            Model parameters.

        Returns
        -------
        total : number, array or tuple
        """
        self._known.clear()
        total, self._known[parameters.tobytes()] = self.parts.reduce(
            _with_told, function, parameters
        )
        return total

    @cached_property
    def _known(self):
        return {}  # the model that is taken is often the last that was asked about

    def evaluate(self, x, multipliers=None, is_near=None):
        """Everything at x, from one look at all parts when it is first asked for.

        Parameters
        ----------
        x : ndarray of shape (n_unknowns,)
            Model parameters and auxiliary unknowns.
        multipliers : ndarray of shape (n_rows,), default=None
            Those at which the Hessian is taken in the same look; None is 0.
        is_near : bool, default=None
            Whether that is the exact one; None where it is taken at multipliers, since solutions
            are tried by few first: after a step everybody is near.

        Returns
        -------
        PartitionedEvaluation
        """
        is_near = multipliers is not None if is_near is None else is_near
        multipliers = np.zeros(len(self.lower)) if multipliers is None else multipliers
        return PartitionedEvaluation(self, x, multipliers, is_near and self.has_exact_hessian)

    @property
    def has_exact_hessian(self):
        """Whether curvatures are convexified and exact ones differ, as those of ranks do."""
        return "ranks" in self.constraint.statistics

    def look(self, x, multipliers, is_near):
        """Sums of what `PartitionedEvaluation` is made of.

        The latest ones are remembered, since a solver and its driver both ask for the start.

        Parameters
        ----------
        x : ndarray of shape (n_unknowns,)
            Model parameters and auxiliary unknowns.
        multipliers : ndarray of shape (n_rows,)
            Those at which the Hessian is taken.
        is_near : bool
            Whether that is the exact one.

        Returns
        -------
        sums : tuple
            Mean loss and its gradient, rows and their derivatives, and second derivatives.
        """
        key = (x.tobytes(), multipliers.tobytes(), is_near)
        if key not in self._latest:
            self._latest.clear()
            criteria = [one.criterion for one in self.constraint]
            self._latest[key] = self.parts.reduce(_look, x, multipliers, is_near, criteria)
        return self._latest[key]

    @cached_property
    def _latest(self):
        return {}


class PartitionedEvaluation(Evaluation):
    """A problem in parts at one point: all is summed in one look, with one Hessian.

    Parameters
    ----------
    problem : PartitionedProblem
        The problem.
    x : ndarray of shape (n_unknowns,)
        The point.
    multipliers : ndarray of shape (n_rows,)
        Those at which the Hessian is taken.
    is_near : bool
        Whether that is the exact one.
    """

    is_bent_safely = False  # where it is, one look has the latest Hessian all the same

    def __init__(self, problem, x, multipliers, is_near):
        super().__init__(problem, x)
        self.multipliers, self.is_near = multipliers, is_near

    @cached_property
    def _sums(self):
        return self.problem.look(self.x, self.multipliers, self.is_near)

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
        """Derivative of some rows, (n_taken, n_unknowns)."""
        return self.jacobian[rows]

    def pull_back(self, v):
        """Gradient of ``v @ values``, (n_rows,) -> (n_unknowns,)."""
        return v @ self.jacobian

    def lagrangian_gradient(self, multipliers):
        """Gradient of ``fun + multipliers @ values``, (n_unknowns,)."""
        return self.grad + multipliers @ self.jacobian

    def hessian(self, multipliers, is_near=False):
        """Second derivative of the Lagrangian; another look for other multipliers than foretold."""
        is_near = is_near and self.problem.has_exact_hessian
        if is_near != self.is_near or not np.array_equal(multipliers, self.multipliers):
            there = self.problem.evaluate(self.x, multipliers, is_near)
            return there.hessian(multipliers, is_near)
        ridge = np.append(self.problem.ridge, np.zeros(self.problem.rows.n_aux))
        return self._sums[4] + np.diag(ridge)


def _look(part, x, multipliers, is_near, criteria):
    """What a part adds to objective and rows, and to their derivatives."""
    found, p = part.evaluate(x), part.n_parameters
    if not len(multipliers):  # of the plain problem, whatever constraint its parts could answer for
        no_rows = np.empty(0), np.empty((0, p))
        return found.fun, found.grad[:p], *no_rows, found.point.gram(found.loss_curvature)
    found, aux = found.under(part.constraint.map(_with_criterion, criteria)), x[p:]
    rows, jacobian = found.problem.rows, found.jacobian
    values = found.values - rows.constant_term(aux)
    jacobian[:, p:] -= rows.aux_jacobian
    return found.fun, found.grad[:p], values, jacobian, found.hessian(multipliers, is_near)


def _with_criterion(constraint, criterion):
    """A constraint with the present settings of its criterion, if it has any."""
    return constraint if criterion is None else replace(constraint, criterion=criterion)


def _told(part, parameters):
    """What a part adds to the objective, and to the moments of the report."""
    found, scores = part.evaluate(parameters), part.predicted(parameters)
    return found.fun, tuple(one.moments(scores) for one in part.constraint)


def _with_told(part, function, parameters):
    """What a function makes of a part, and `_told`."""
    return function(part, parameters), _told(part, parameters)


def _means(part, parameters):
    """What a part adds to the smooth means, constraint by constraint."""
    scores = part.model.at(parameters).scores
    return tuple(one.means.evaluate(scores)[1] for one in part.constraint)
