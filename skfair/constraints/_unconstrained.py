"""No constraint at all, for the plain fit."""

import numpy as np
from scipy import sparse

from skfair.constraints._bound import ConstraintValues, ScoreJacobian


class Unconstrained:
    """A constraint without rows; it has the interface of a bound constraint.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.constraints import Unconstrained
    >>> found = Unconstrained()(scores=np.zeros(3), aux=np.empty(0))
    >>> found.jacobian.adjoint(found.values)
    array([0., 0., 0.])
    """

    parts = ()
    lower = upper = np.empty(0)
    n_aux = 0
    counts_decisions = True

    def initial_aux(self, scores):
        """No unknowns.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
            Scores.

        Returns
        -------
        aux : ndarray of shape (0,)
        """
        return np.empty(0)

    def __call__(self, scores, aux):
        """No rows.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
            Scores.
        aux : ndarray of shape (0,)
            No unknowns.

        Returns
        -------
        ConstraintValues
        """
        n_samples = len(scores)
        nothing = ScoreJacobian(sparse.csr_array((0, 0)), sparse.csr_array((0, n_samples)))
        return ConstraintValues(
            np.empty(0), nothing, np.empty((0, 0)), lambda v: np.zeros(n_samples)
        )

    def corrected(self, scores):
        """The same: there is nothing to correct.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
            Scores.

        Returns
        -------
        Unconstrained
        """
        return self

    def violation(self, scores):
        """Nothing can be violated.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
            Scores.

        Returns
        -------
        violation : float
            0.
        """
        return 0.0
