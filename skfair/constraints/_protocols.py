"""Protocols of bound constraints: the rows that solvers see, and what is taken from scores."""

from typing import Any, Protocol

import numpy as np

OPTIONAL_ROWS_MEMBERS = frozenset(
    {
        "components",
        "correct",
        "has_batch_majorant",
        "events",
        "majorant",
        "n_events",
        "original_multipliers",
        "split_by_constraint",
        "take",
        "take_batch",
    }
)
"""Members of a `SmoothConstraint` that only some solvers and problems need."""


class SmoothConstraint(Protocol):
    """Rows ``lower <= c(scores, aux) <= upper``: what solvers need.

    Some solvers need further members, which may be missing elsewhere (`OPTIONAL_ROWS_MEMBERS`):

    - ``majorant(scores, aux)``: convex rows that are nowhere easier to keep and equal at the given
      point, for solvers that convexify; ``has_batch_majorant`` says whether mini-batches can be
      drawn from it, and it has ``original_multipliers(multipliers)``;
    - ``take_batch(positions, start, n_per_event)``: the rows on the samples of a mini-batch, of
      which those from ``start`` on were drawn from its ``events``, ``n_events`` in number, for
      stochastic solvers;
    - ``correct(scores)``: the rows with the means that the metric counts at these scores, for
      solvers that count decisions;
    - ``take(rows)``: the rows on a subset of the samples;
    - ``components`` and ``split_by_constraint(v)``: the rows of each of several constraints, and
      the entries of each in a vector with one per row.

    Attributes
    ----------
    lower, upper : ndarray of shape (n_rows,)
        Bounds; infinite where there is none.
    n_aux : int
        Number of auxiliary unknowns.

    Examples
    --------
    Rows of one's own, which bound the mean score of all samples at 0:

    >>> import numpy as np
    >>> from scipy import sparse
    >>> from skfair.constraints import ConstraintValues, ScoreJacobian
    >>> class CentredScores:
    ...     lower, upper, n_aux = np.zeros(1), np.zeros(1), 0
    ...
    ...     def initial_aux(self, scores):
    ...         return np.empty(0)
    ...
    ...     def __call__(self, scores, aux):
    ...         averaging = sparse.csr_array(np.full((1, len(scores)), 1.0 / len(scores)))
    ...         return ConstraintValues(
    ...             averaging @ scores,
    ...             ScoreJacobian(means_to_rows=sparse.eye_array(1, format="csr"), basis=averaging),
    ...             np.empty((1, 0)),
    ...             lambda v: np.zeros(len(scores)),
    ...         )
    >>> CentredScores()(np.array([1.0, 3.0]), np.empty(0)).values
    array([2.])
    """

    lower: np.ndarray
    upper: np.ndarray
    n_aux: int

    def initial_aux(self, scores):
        """Auxiliary unknowns at which the rows hold if they can at these scores, (n_aux,)."""

    def __call__(self, scores, aux):
        """Rows and their derivatives, as `ConstraintValues`."""


class ConstraintSums(Protocol):
    """What a bound constraint takes from scores: `Sums` of terms, or the ranks of `RankSums`.

    Attributes
    ----------
    name : str
        What the constraint is called in messages and reports.
    cells : CellEvents
        The events with their labels, counts and order in reports.
    events : Events
        Sets of samples that are compared.
    metric_input : {"decisions", "ranks", "values"}
        What of the scores the metric depends on: their signs, their order, or their values. Only
        "values" change continuously with the scores, and only they are subject to the tolerance of
        a solver. Rows of "ranks" suit scores near those where they are linearised.
    """

    name: str
    cells: Any
    events: Any
    metric_input: str

    def measure(self, scores):
        """What the gap is a function of: the rates by the public metric, or ranked samples."""

    def make_rows(self, bound):
        """The rows that solvers see, a `SmoothConstraint`, of a constraint on these sums."""

    def linearize_at(self, scores):
        """The sums that suit scores near the given ones."""

    def take(self, rows):
        """The sums over a subset of the samples; a ValueError if that is too small."""

    def contribution(self, rows, factors=1.0, target=None):
        """The contribution of a block of samples: sums of blocks add up."""

    def report_columns(self, bound, scores, moments):
        """One row per rate that is compared, from scores or from sums over partitioned data.

        Columns ``REPORT_COLUMNS``: n counts samples; the threshold is that of the decisions
        counted, nan if none are; the standard error is the sampling error of the rate; gap and
        tolerance are those of the whole constraint.
        """

    def estimates(self, gap, scores):
        """Estimates of what is compared in the population, and forms whose largest is the gap."""

    def posterior(self, gap, tolerance, scores, clusters):
        """Posterior of the population's gap, as `make_posterior` describes it."""
