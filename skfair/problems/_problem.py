"""Model, loss and constraint put together."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from sklearn.utils import check_random_state

from skfair.losses import as_pointwise, over_pairs
from skfair.problems._evaluation import Evaluation


@dataclass(frozen=True, eq=False)
class ConstrainedProblem:
    r"""Empirical risk under constraints on the scores.

    .. math::

        \min_{w, a} \; \frac{\sum_i \omega_i \ell(s_i, y_i)}{\sum_i \omega_i}
        + \frac{\alpha}{2} |w|^2
        \quad \text{s.t.} \quad lower \le c(s, a) \le upper, \quad s = model(w).

    Parameters
    ----------
    model : Model
        Scores from parameters.
    loss : callable
        (scores, target) -> Pointwise; of pairs (scores, target, share) -> Pointwise.
    target : ndarray of shape (n_samples,)
        Classes -1 and +1, or real numbers.
    weights : ndarray of shape (n_samples,)
        Sample weights.
    alpha : float
        Strength of the l2 penalty.
    constraint : MetricConstraint, ConstraintSystem or SmoothConstraint
        Constraint on the scores with its public metric, or rows alone. Solvers see its `rows`.
    region : object, default=None
        Closed convex set of model parameters, with a method ``project(parameters)`` to its nearest
        point, such as :class:`Box` or :class:`Ball`; None is all of them.
    total : float or None, default=None
        Weight that losses are a mean over; None is that of these samples, more is that of a problem
        of which this is a part.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.constraints import DemographicParity
    >>> from skfair.losses import LogisticLoss
    >>> from skfair.models import LinearModel
    >>> from skfair.problems import ConstrainedProblem
    >>> from skfair.surrogates import Sigmoid
    >>> from skfair.groups import Samples, check_groups
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    >>> people = Samples(y, check_groups(["a", "b", "a", "b"], 4), np.ones(4))
    >>> loss = LogisticLoss()
    >>> parity = DemographicParity().bind(people, Sigmoid(), loss, tolerance=0.1)
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
    region: object = None
    total: float | None = None
    share: np.ndarray = field(init=False, repr=False)

    def __post_init__(self):
        """Weigh the samples by their shares."""
        total = self.weights.sum() if self.total is None else self.total
        # Of mini-batches for the constraint alone, no sample has a weight.
        object.__setattr__(self, "share", self.weights / total if total > 0 else self.weights)

    def __sizeof__(self):
        """Bytes of the samples: a scheduler of parts must know what they take."""
        arrays = (getattr(self.model, "X", None), self.target, self.weights, self.share)
        # Of every constraint the events, their shares, and the same once more as a sparse array.
        return sum(getattr(one, "nbytes", 0) for one in arrays) + 28 * len(self.target)

    @property
    def n_parameters(self):
        """Number of model parameters; the auxiliary unknowns follow them in x."""
        return self.model.n_parameters

    @property
    def n_unknowns(self):
        """Length of x."""
        return self.n_parameters + self.rows.n_aux

    @cached_property
    def rows(self):
        """What solvers see of the constraint, as `SmoothConstraint`: rows are callable."""
        return self.constraint if callable(self.constraint) else self.constraint.rows

    @property
    def lower(self):
        """Lower bounds of the rows, (n_rows,)."""
        return self.rows.lower

    @property
    def upper(self):
        """Upper bounds of the rows, (n_rows,)."""
        return self.rows.upper

    @cached_property
    def ridge(self):
        """Second derivative of the penalty by each model parameter, (n_parameters,)."""
        return self.model.ridge(self.alpha)

    def losses(self, scores):
        """Loss of each sample, of which the objective has the mean.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
            Scores.

        Returns
        -------
        losses : Pointwise
        """
        known = (self.target, self.share) if over_pairs(self.loss) else (self.target,)
        return as_pointwise(self.loss(scores, *known), len(scores), "The loss")

    def majorant(self, evaluation):
        """A convex problem, for a linear model, that is nowhere easier and equal at one point.

        Parameters
        ----------
        evaluation : Evaluation
            This problem at the point; concave parts of rows and of a loss of pairs are replaced by
            their tangents there.

        Returns
        -------
        problem : ConstrainedProblem
            In the same unknowns.
        """
        loss, scores = self.loss, evaluation.scores
        if over_pairs(loss):
            loss = loss.majorant(scores, self.target, self.share)
        return replace(self, loss=loss, constraint=self.rows.majorant(scores, evaluation.aux))

    def initial_point(self, parameters=None, random_state=None):
        """Parameters, and the auxiliary unknowns that suit them.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,), default=None
            Model parameters; None starts from the model's own, 0 for linear models.
        random_state : int, RandomState instance or None, default=None
            For models whose own start is drawn at random.

        Returns
        -------
        x : ndarray of shape (n_unknowns,)
        """
        parameters = self.model.initial(random_state) if parameters is None else parameters
        if not self.rows.n_aux:
            return np.array(parameters)
        return np.append(parameters, self.rows.initial_aux(self.model.at(parameters).scores))

    def single(self):
        """The same problem with each gap held by one row, kinked and without auxiliary unknowns.

        Returns
        -------
        problem : ConstrainedProblem
            The problem itself where a constraint has no such row.
        """
        if callable(self.constraint):
            return self
        is_system = hasattr(self.constraint, "map")
        one_row = self.constraint.map(_as_one_row) if is_system else _as_one_row(self.constraint)
        return replace(self, constraint=one_row)

    def project(self, x):
        """The nearest unknowns whose model parameters lie in the region.

        Parameters
        ----------
        x : ndarray of shape (n_unknowns,)
            Model parameters and auxiliary unknowns.

        Returns
        -------
        x : ndarray of shape (n_unknowns,)
        """
        if self.region is None:
            return x
        parameters = self.region.project(x[: self.n_parameters])
        return np.concatenate((parameters, x[self.n_parameters :]))

    def evaluate(self, x, multipliers=None):
        """Everything at x, computed when it is first asked for.

        Parameters
        ----------
        x : ndarray of shape (n_unknowns,)
            Model parameters and auxiliary unknowns.
        multipliers : ndarray of shape (n_rows,), default=None
            Those at which the Hessian will be asked for, if it is: of use to problems that take all
            in one look at their samples.

        Returns
        -------
        Evaluation
        """
        return Evaluation(self, x)

    def predicted(self, parameters):
        """Scores as predictions will have them, by which decisions are counted.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Model parameters.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            A model whose scores lose digits in predictions says so by ``predicted``.
        """
        point = self.model.at(parameters)
        return point.predicted if hasattr(point, "predicted") else point.scores

    def told(self, parameters):
        """What is told of a model once it is taken.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Model parameters.

        Returns
        -------
        objective : float
        n_rows : int
            Rows of the constraint, where the model is.
        report : DataFrame
            Of the constraint.
        """
        scores = self.model.at(parameters).scores
        seen = replace(self, constraint=self.constraint.linearize_at(scores))
        evaluation = seen.evaluate(seen.initial_point(parameters))
        report = seen.constraint.report(self.predicted(parameters))
        return evaluation.fun, len(seen.lower), report

    def take(self, rows):
        """The same problem on some of the samples.

        Parameters
        ----------
        rows : ndarray of int, shape (n_taken,)
            Samples, some of every event of the constraint among them.

        Returns
        -------
        problem : ConstrainedProblem
            In the same unknowns.
        """
        return replace(
            self,
            model=self.model.take(rows),
            target=self.target[rows],
            weights=self.weights[rows],
            constraint=self.constraint.take(rows),
        )

    def part(self, rows):
        """The share of some samples in the problem, without its penalty.

        Objectives, rows and derivatives of parts add up to those of the problem, with auxiliary
        unknowns 0 and without what is added to means.

        Parameters
        ----------
        rows : slice
            Positions of the samples.

        Returns
        -------
        problem : ConstrainedProblem
            In the same unknowns.
        """
        return replace(
            self,
            model=self.model.take(rows),
            target=self.target[rows],
            weights=self.weights[rows],
            alpha=0.0,
            constraint=self.constraint.subset(rows),
            total=float(self.weights.sum()) if self.total is None else self.total,
        )

    def sample(self, n_samples, n_per_event, random_state=None):
        """The same problem on a mini-batch.

        Objective and its gradient, and the means that the constraint compares, are those of the
        problem on average over the draws.

        Parameters
        ----------
        n_samples : int
            Samples drawn for the loss, by their weights, with replacement; with 0, objective and
            gradient are those of the penalty alone.
        n_per_event : int
            Samples drawn for the constraint from each of its events; their loss does not count.
            With 0, nothing may be asked of the rows.
        random_state : int, RandomState instance or None, default=None
            Determines the draws.

        Returns
        -------
        problem : ConstrainedProblem
            In the same unknowns.
        """
        random_state = check_random_state(random_state)
        lots = random_state.random_sample(n_samples) * self._running_share[-1]
        drawn = np.searchsorted(self._running_share, lots, side="right")
        positions, rows = drawn, self.rows
        if n_per_event:
            positions, rows = rows.draw(n_per_event, random_state, first=drawn)
        counts = np.zeros(len(positions))
        counts[:n_samples] = 1.0
        batch = getattr(self.model, "batch", self.model.take)
        problem = object.__new__(type(self))  # one is made in every step: nothing is made twice
        vars(problem).update(
            model=batch(positions),
            loss=self.loss,
            target=self.target[positions],
            weights=counts,
            alpha=self.alpha,
            constraint=rows,
            rows=rows,
            region=self.region,
            share=counts / max(1, n_samples),
            ridge=self.ridge,
        )
        return problem

    @cached_property
    def all_drawn(self):
        """The same problem with everybody as its mini-batch."""
        batch = getattr(self.model, "batch", None)
        return self if batch is None else replace(self, model=batch(slice(None)))

    @cached_property
    def _running_share(self):
        return np.cumsum(self.share)

    def counted(self, x):
        """Rows at x as the public metric counts them, with the derivatives of the smooth ones.

        Parameters
        ----------
        x : ndarray of shape (n_unknowns,)
            Model parameters and auxiliary unknowns.

        Returns
        -------
        Evaluation
            Of the problem whose smooth means are offset to the exact ones at x.
        """
        smooth = self.evaluate(x)
        return smooth.under(self.rows.correct(smooth.scores))


def _as_one_row(constraint):
    """A bound constraint with its gap in one row; criteria on ranks have none, and stay."""
    return replace(constraint, one_row=True) if hasattr(constraint, "one_row") else constraint
