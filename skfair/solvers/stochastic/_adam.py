"""Directions of steps by Adam."""

import numpy as np

_DECAYS = 0.9, 0.999
"""Of Adam's running means of gradients and of their squares."""
_TINY = 1e-8


class Adam:
    """Directions of steps: running means of gradients, over the root of those of their squares.

    Parameters
    ----------
    n_unknowns : int
        Length of a gradient.
    """

    def __init__(self, n_unknowns):
        self._mean, self._square = np.zeros(n_unknowns), np.zeros(n_unknowns)
        self._left = np.ones(2)

    def __call__(self, gradient):
        """The direction after one more gradient, (n_unknowns,)."""
        of_mean, of_square = _DECAYS
        self._mean += (1.0 - of_mean) * (gradient - self._mean)
        self._square += (1.0 - of_square) * (gradient * gradient - self._square)
        self._left *= _DECAYS  # what is still owed to the zeros that the means started from
        mean_share, square_share = 1.0 - self._left
        return self._mean / (mean_share * (np.sqrt(self._square / square_share) + _TINY))
