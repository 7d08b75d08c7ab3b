"""Step directions of Adam."""

import numpy as np

_DECAYS = 0.9, 0.999
"""Decay rates of the running means of gradients and of their squares."""
_TINY = 1e-8


class Adam:
    """Step directions: running means of gradients over the roots of those of their squares."""

    def __init__(self, n_unknowns):
        self._mean, self._square = np.zeros(n_unknowns), np.zeros(n_unknowns)
        self._remaining = np.ones(2)

    def __call__(self, gradient):
        """The direction after one more gradient, (n_unknowns,)."""
        mean_decay, square_decay = _DECAYS
        self._mean += (1.0 - mean_decay) * (gradient - self._mean)
        self._square += (1.0 - square_decay) * (gradient * gradient - self._square)
        self._remaining *= _DECAYS  # bias of the means towards their start at 0
        mean_weight, square_weight = 1.0 - self._remaining
        return self._mean / (mean_weight * (np.sqrt(self._square / square_weight) + _TINY))
