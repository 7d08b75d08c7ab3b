"""No constraint at all, for the plain fit."""

import numpy as np
from scipy import sparse

from skfair.constraints._bound import ConstraintValues, ScoreJacobian


class Unconstrained:
    """A constraint without rows; it has the interface of a bound constraint."""

    lower = upper = np.empty(0)
    n_aux = 0

    def initial_aux(self, scores):
        """No unknowns."""
        return np.empty(0)

    def __call__(self, scores, aux):
        """No rows, as `ConstraintValues`."""
        n_samples = len(scores)
        nothing = ScoreJacobian(sparse.csr_array((0, 0)), sparse.csr_array((0, n_samples)))
        return ConstraintValues(
            np.empty(0), nothing, np.empty((0, 0)), lambda v: np.zeros(n_samples)
        )
