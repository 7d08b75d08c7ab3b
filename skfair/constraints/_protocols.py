"""Protocol of the rows of bound constraints, which are all that solvers see."""

from typing import Protocol

import numpy as np


class SmoothConstraint(Protocol):
    """Rows ``lower <= c(scores, aux) <= upper``: what solvers need.

    Some solvers need further members, which may be missing elsewhere:

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
    >>> from skfair.constraints._rows import ConstraintValues, ScoreJacobian
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
