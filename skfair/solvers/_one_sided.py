"""Two-sided rows as one-sided ones, and the map of their multipliers."""

import numpy as np


class OneSided:
    r"""The rows :math:`lower \le c \le upper` written as :math:`G \le 0`.

    Every finite bound is one component of G, upper ones first: ``c - upper`` or ``lower - c``.
    """

    def __init__(self, lower, upper):
        capped, floored = np.flatnonzero(np.isfinite(upper)), np.flatnonzero(np.isfinite(lower))
        self.rows = np.concatenate((capped, floored))
        self.signs = np.repeat([1.0, -1.0], [len(capped), len(floored)])
        self.bounds = np.concatenate((upper[capped], -lower[floored]))
        self.n_rows = len(lower)

    def values(self, values):
        """G from c, (n_rows,) -> (n_bounds,): positive where a bound is violated."""
        return self.signs * values[self.rows] - self.bounds

    def jacobian(self, jacobian):
        """Jacobian of G from that of c, (n_rows, n) -> (n_bounds, n)."""
        return self.signs[:, np.newaxis] * jacobian[self.rows]

    def multipliers(self, duals):
        """Multipliers of c from those of G, (n_bounds,) -> (n_rows,): the adjoint of `values`."""
        return np.bincount(self.rows, self.signs * duals, minlength=self.n_rows)
