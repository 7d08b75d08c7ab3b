r"""Problem (21) of the paper on partial fairness with all its cases, for the paper's algorithms.

With :math:`A_k` the share of group k above the threshold 0 by the ramp of width 1, and the
interval :math:`[\alpha, \beta]`, the rows are

.. math::

    \min(A_k, \beta) - \min(A_k, \alpha) - \min(A_{k'}, \beta) + \min(A_{k'}, \alpha) \le \kappa

for all k and k'. The ramp is the difference of two convex functions, :math:`A_k = P_k - Q_k`, so
that :math:`\min(A_k, a) = P_k + a - \max(Q_k + a, P_k)`. This is (84), where the print lacks the
factor :math:`1 / n_k` of the last :math:`P_k`. A row is

.. math::

    \max(Q_k + \alpha, P_k) + \max(Q_{k'} + \beta, P_{k'})
    - \max(Q_k + \beta, P_k) - \max(Q_{k'} + \alpha, P_{k'}) \le \kappa .

The print has :math:`\kappa (\beta - \alpha)` on the right, with which its results do not agree. The
rows of the package have the case of the minima that is nearest to the plain fit.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

import numpy as np
from scipy import sparse

from skfair._bound.rows import ConstraintValues, ScoreJacobian
from skfair._groups.events import Events

NO_AUX = np.empty(0)


@dataclass(frozen=True, eq=False)
class PrintedDemographicParity:
    """The rows of (21), in the order of `permutations` of the groups."""

    events: Events  # samples of each group
    interval: tuple
    kappa: float

    n_aux = 0

    @property
    def pairs(self):
        """Ordered pairs of groups, one per row."""
        return list(permutations(range(self.events.n_events), 2))

    @property
    def upper(self):
        """Upper bounds of the rows."""
        return np.full(len(self.pairs), self.kappa)

    @property
    def lower(self):
        """Lower bounds, which are infinite."""
        return np.full(len(self.pairs), -np.inf)

    def initial_aux(self, scores):
        """No unknowns."""
        return NO_AUX

    def maxima(self, scores):
        """Compute max(Q + alpha, P) of every group, then max(Q + beta, P), with subgradients.

        Returns
        -------
        values : ndarray of shape (2 * n_groups,)
        slopes : csr_array of shape (2 * n_groups, n_samples)
        """
        # The ramp is (s + 1/2)_+ - (s - 1/2)_+.
        (P, slope_P), (Q, slope_Q) = (
            (
                self.events.means(np.maximum(scores + shift, 0.0)),
                self.events.averaging_matrix.multiply(scores > -shift).tocsr(),
            )
            for shift in (0.5, -0.5)
        )
        values, slopes = [], []
        for end in self.interval:
            first = (Q + end >= P).astype(float)
            values.append(np.maximum(Q + end, P))
            slopes.append(
                sparse.diags_array(first) @ slope_Q + sparse.diags_array(1 - first) @ slope_P
            )
        return np.concatenate(values), sparse.csr_array(sparse.vstack(slopes))

    @cached_property
    def coefficients(self):
        """Coefficients of the maxima in the rows: added ones, and subtracted ones."""
        n_groups = self.events.n_events
        added, subtracted = np.zeros((2, len(self.pairs), 2 * n_groups))
        for row, (k, other) in enumerate(self.pairs):
            added[row, [k, n_groups + other]] = 1.0
            subtracted[row, [n_groups + k, other]] = 1.0
        return added, subtracted

    def __call__(self, scores, aux):
        """Rows and their subgradients."""
        values, slopes = self.maxima(scores)
        added, subtracted = self.coefficients
        return _rows((added - subtracted) @ values, added - subtracted, slopes)

    def majorant(self, scores, aux):
        """Convex majorant: the subtracted maxima are replaced by their tangents."""
        return ConvexDemographicParity(self, scores)


@dataclass(frozen=True, eq=False)
class ConvexDemographicParity:
    """Rows of (21) with tangents at a point, for IDCA."""

    constraint: PrintedDemographicParity
    scores: np.ndarray  # (n_samples,) of the point

    n_aux = 0

    @property
    def upper(self):
        """Upper bounds of the rows."""
        return self.constraint.upper

    @property
    def lower(self):
        """Lower bounds, which are infinite."""
        return self.constraint.lower

    def initial_aux(self, scores):
        """No unknowns."""
        return NO_AUX

    def original_multipliers(self, multipliers):
        """Multipliers of the rows that are majorised, which are equal."""
        return multipliers

    @cached_property
    def _tangent(self):
        return self.constraint.maxima(self.scores)

    def __call__(self, scores, aux):
        """Rows and their subgradients."""
        values, slopes = self.constraint.maxima(scores)
        at_point, tangent = self._tangent
        added, subtracted = self.constraint.coefficients
        lines = at_point + tangent @ (scores - self.scores)
        combine = np.hstack((added, -subtracted))
        cells = sparse.vstack((slopes, tangent), format="csr")
        return _rows(added @ values - subtracted @ lines, combine, cells)


def _rows(values, combine, cells):
    """Rows without unknowns or curvature, which subgradient methods do not need."""
    return ConstraintValues(
        values,
        ScoreJacobian(combine, sparse.csr_array(cells)),
        np.empty((len(values), 0)),
        lambda v: np.zeros(cells.shape[1]),
    )
