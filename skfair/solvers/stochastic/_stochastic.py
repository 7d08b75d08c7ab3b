"""Base of solvers on mini-batches: epochs, batches, and detection of divergence."""

from abc import abstractmethod
from numbers import Integral

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skfair.problems import Evaluation
from skfair.solvers._solver import Iterate, Solver
from skfair.utils._messages import warn
from skfair.utils._sklearn import Interval


class StochasticSolver(Solver):
    """Base of solvers on mini-batches, which implement one generator of steps.

    An iteration of the driver is an epoch of n_samples / batch_size steps. All samples are only
    evaluated after an epoch, to choose the best iterate and for callbacks.

    Parameters
    ----------
    max_iter : int
        Epochs.
    tol : float
        Violation of a row up to which an iterate counts as feasible, and residual of the optimality
        conditions at which the solver stops, which mini-batch methods rarely reach.
    batch_size : int
        Samples per batch: for the loss, and about as many for the constraint, split equally among
        its events. If it is at least n_samples, all samples are used and nothing is drawn.

    Examples
    --------
    Stochastic gradient descent on the loss:

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
    >>> model = LinearModel.from_features(X, weights)
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
    """Whether the answer is the last epoch's iterate instead of the best."""

    @abstractmethod
    def _steps(self, problem, x, random_state):
        """Yield unknowns and multipliers after every step; receive an epoch's evaluation."""

    def _iterate(self, problem, x, random_state):
        yield Iterate(self._evaluate(problem, x), np.zeros(len(problem.lower)))
        n_steps, n_taken, here = self._steps_per_epoch(problem), 0, None
        steps = self._steps(problem, x, random_state)
        while True:
            # An epoch: as many steps as batches cover the samples once.
            for _ in range(n_steps):
                x, multipliers = steps.send(here)
                n_taken, here = n_taken + 1, None
                if not np.isfinite(x @ x):
                    warn(
                        f"{type(self).__name__} diverged at step {n_taken}: its unknowns are not "
                        "finite. The best earlier iterate is returned. Use shorter steps or larger "
                        "batches, or standardise the columns of X.",
                        ConvergenceWarning,
                    )
                    return
            # The evaluation of all samples is sent to the steps, which may use it.
            here = self._evaluate(problem, x)
            yield Iterate(here, multipliers, True if self.takes_last else None)

    def _evaluate(self, problem, x):
        """All samples at x, with auxiliary unknowns set to fit them."""
        return settle_auxiliary(problem.evaluate(x))

    def _steps_per_epoch(self, problem):
        return -(-len(problem.target) // self.batch_size)

    def _batch(self, problem, random_state):
        """The problem on separate samples for the loss and for the constraint."""
        return self._draw(problem, self.batch_size, self._n_per_event(problem), random_state)

    def _loss_batch(self, problem, random_state):
        """The problem on samples for the loss only."""
        return self._draw(problem, self.batch_size, 0, random_state)

    def _constraint_batch(self, problem, random_state):
        """The problem on samples for the constraint only."""
        return self._draw(problem, 0, self._n_per_event(problem), random_state)

    def _draw(self, problem, n_samples, n_per_event, random_state):
        if self.batch_size >= len(problem.target):
            return problem.full_batch  # a batch has all samples
        return problem.sample(n_samples, n_per_event, random_state)

    def _n_per_event(self, problem):
        """Samples per event of a batch for the constraint."""
        rows = getattr(problem.rows, "components", (problem.rows,))
        n_events = sum(one.n_events for one in rows if len(one.lower))
        return -(-self.batch_size // max(1, n_events))


def settle_auxiliary(evaluation):
    """The same point, with auxiliary unknowns that make the rows hold if possible.

    Mini-batch steps leave noise in all unknowns, which costs nothing to remove in these.
    """
    problem, point = evaluation.problem, evaluation.point
    if not problem.rows.n_aux:
        return evaluation
    aux = problem.rows.initial_aux(point.scores)
    # The scores do not depend on auxiliary unknowns, so the point is reused.
    evaluation = Evaluation(problem, np.concatenate((evaluation.parameters, aux)))
    evaluation.point = point
    return evaluation
