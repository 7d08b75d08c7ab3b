"""Two-sided rows as one-sided ones, and their multipliers back."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class OneSided:
    r"""The rows :math:`lower \le c \le upper` written as :math:`G \le 0`.

    Every finite bound gives one component of G: ``c - upper`` or ``lower - c``.

    Attributes
    ----------
    rows : ndarray of int, shape (n_bounds,)
        Row of c that a component of G is made from.
    signs : ndarray of shape (n_bounds,)
        +1 for upper, -1 for lower bounds.
    bounds : ndarray of shape (n_bounds,)
        The bounds times their signs.
    n_rows : int
        Number of rows of c.
    """

    rows: np.ndarray
    signs: np.ndarray
    bounds: np.ndarray
    n_rows: int

    @classmethod
    def between(cls, lower, upper):
        """Make G for the given bounds, the upper ones first.

        Parameters
        ----------
        lower, upper : ndarray of shape (n_rows,)
            Bounds; infinite where there is none.

        Returns
        -------
        sides : OneSided
        """
        capped, floored = np.flatnonzero(np.isfinite(upper)), np.flatnonzero(np.isfinite(lower))
        return cls(
            np.concatenate((capped, floored)),
            np.repeat([1.0, -1.0], [len(capped), len(floored)]),
            np.concatenate((upper[capped], -lower[floored])),
            len(lower),
        )

    def excess(self, values):
        """G from c, (n_rows,) -> (n_bounds,): positive where a bound is broken."""
        return self.signs * values[self.rows] - self.bounds

    def spread(self, jacobian):
        """Jacobian of G from that of c, (n_rows, n) -> (n_bounds, n)."""
        return self.signs[:, np.newaxis] * jacobian[self.rows]

    def signed(self, pressures):
        """Multipliers of c from those of G, (n_bounds,) -> (n_rows,): the adjoint of `excess`."""
        return np.bincount(self.rows, self.signs * pressures, minlength=self.n_rows)
