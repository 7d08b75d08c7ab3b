"""What solvers share that step on mini-batches: epochs, batches, steps that explode."""

from abc import abstractmethod
from numbers import Integral

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skfair.problems import Evaluation
from skfair.solvers._solver import Iterate, Solver
from skfair.utils._messages import warn
from skfair.utils._sklearn import Interval


class StochasticSolver(Solver):
    """Base of solvers that step on mini-batches: a solver's own part is one generator of steps.

    An iteration of the driver is an epoch, of as many steps as batches make up the samples. Only
    then are all samples looked at: to choose the best iterate, and for callbacks.

    Parameters
    ----------
    max_iter : int
        Epochs.
    tol : float
        Violation of a row up to which an iterate counts as feasible; residual of the optimality
        conditions at which the solver stops, which steps on mini-batches rarely reach.
    batch_size : int
        Samples of a batch: for the loss, and about as many for the constraint, shared equally among
        its events. Where it has room for everybody, everybody is in it, and nothing is drawn.

    Examples
    --------
    Steps against the loss alone:

    >>> import numpy as np
    >>> from skfair.constraints import ConstraintSystem
    >>> from skfair.losses import SquaredLoss
    >>> from skfair.models import LinearModel
    >>> from skfair.problems import ConstrainedProblem
    >>> from skfair.solvers import StochasticSolver
    >>> class Descent(StochasticSolver):
    ...     def __init__(self, max_iter=100, tol=1e-2, batch_size=1):
    ...         self.max_iter = max_iter
    ...         self.tol = tol
    ...         self.batch_size = batch_size
    ...
    ...     def _steps(self, problem, x, random_state):
    ...         while True:
    ...             x = x - 0.1 * self._batch(problem, random_state).evaluate(x).grad
    ...             yield x, np.zeros(len(problem.lower))
    >>> X, y, weights = np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0]), np.ones(2)
    >>> model = LinearModel.standardized(X, weights)
    >>> problem = ConstrainedProblem(model, SquaredLoss(), y, weights, 0.0, ConstraintSystem(()))
    >>> Descent().solve(problem, random_state=0).x.round(1)
    array([1., 0.])
    """

    _parameter_constraints = {
        **Solver._parameter_constraints,
        "batch_size": [Interval(Integral, 1, None, closed="left")],
    }

    requires = ("batches",)

    advice = "Raise max_iter or batch_size, or take shorter steps."

    check_every = 10

    projects = True

    takes_last = False
    """Whether the answer is that of the last epoch, not the best of all."""

    @abstractmethod
    def _steps(self, problem, x, random_state):
        """Yield the answer so far and the multipliers of the rows after every step.

        Parameters
        ----------
        problem : ConstrainedProblem
            What to minimise, and what must hold.
        x : ndarray of shape (n_unknowns,)
            Starting point.
        random_state : RandomState instance
            Source of all draws.

        Yields
        ------
        x : ndarray of shape (n_unknowns,)
        multipliers : ndarray of shape (n_rows,)
            As in `Iterate`.

        Receives
        --------
        here : Evaluation or None
            After the last step of an epoch, all samples at x; for solvers that look at them anyway.
        """

    def _iterate(self, problem, x, random_state):
        yield Iterate(self._evaluate(problem, x), np.zeros(len(problem.lower)))
        n_steps, n_taken, here = self._steps_per_epoch(problem), 0, None
        steps = self._steps(problem, x, random_state)
        while True:
            for _ in range(n_steps):
                x, multipliers = steps.send(here)
                n_taken, here = n_taken + 1, None
                if not np.isfinite(x @ x):
                    warn(
                        f"{type(self).__name__} exploded at step {n_taken}: its unknowns are no "
                        "longer finite. The best iterate before is kept; take shorter steps or "
                        "larger batches, or standardise the columns of X.",
                        ConvergenceWarning,
                    )
                    return
            here = self._evaluate(problem, x)
            yield Iterate(here, multipliers, True if self.takes_last else None)

    def _evaluate(self, problem, x):
        """All samples at x, with the auxiliary unknowns that suit them best."""
        return settled(problem.evaluate(x))

    def _steps_per_epoch(self, problem):
        return -(-len(problem.target) // self.batch_size)

    def _batch(self, problem, random_state):
        """The problem on samples for the loss, and others for the constraint."""
        return self._draw(problem, self.batch_size, self._n_per_event(problem), random_state)

    def _loss_batch(self, problem, random_state):
        """The problem on samples for the loss alone."""
        return self._draw(problem, self.batch_size, 0, random_state)

    def _constraint_batch(self, problem, random_state):
        """The problem on samples for the constraint alone."""
        return self._draw(problem, 0, self._n_per_event(problem), random_state)

    def _draw(self, problem, n_samples, n_per_event, random_state):
        if self.batch_size >= len(problem.target):
            return problem.all_drawn  # there is room for everybody
        return problem.sample(n_samples, n_per_event, random_state)

    def _n_per_event(self, problem):
        """Samples of each event that make up about a batch."""
        return -(-self.batch_size // max(1, problem.rows.n_events))


def settled(evaluation):
    """The same point, with auxiliary unknowns at which the rows hold if they can.

    Steps on mini-batches leave noise in all unknowns; to get these right costs nothing.
    """
    problem, point = evaluation.problem, evaluation.point
    if not problem.rows.n_aux:
        return evaluation
    aux = problem.rows.initial_aux(point.scores)
    evaluation = Evaluation(problem, np.concatenate((evaluation.parameters, aux)))
    evaluation.point = point
    return evaluation
