"""Small convex quadratic programs whose rows may be violated at a price."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dpotrf, dpotrs

from skfair.solvers._one_sided import OneSided

_MAX_ITER = 60


def solve_elastic_qp(curvature, rows, lower, upper, price, tol=1e-12):
    r"""Minimise a separable quadratic, with rows that yield at a price.

    .. math::

        \min_z \tfrac12 \sum_j h_j z_j^2
        + price \sum_r \max(0, a_r z - upper_r, lower_r - a_r z)

    by a primal-dual interior-point method with Mehrotra's corrector (S. Wright, Primal-Dual
    Interior-Point Methods, 1997, chapter 10). The price caps the multipliers, so the problem always
    has an answer; rows that contradict one another share the violation.

    Parameters
    ----------
    curvature : ndarray of shape (n,)
        h, positive.
    rows : ndarray of shape (n_rows, n)
        One row per two-sided bound.
    lower, upper : ndarray of shape (n_rows,)
        Bounds; infinite where there is none.
    price : float
        Cost of one unit of violation.
    tol : float, default=1e-12
        Complementarity at which to stop, relative to the price.

    Returns
    -------
    z : ndarray of shape (n,)
        The minimiser.
    multipliers : ndarray of shape (n_rows,)
        Signed, in [-price, price]: positive at upper bounds.
    """
    if len(rows) == 1:
        return _one_row(curvature, rows[0], lower[0], upper[0], price)
    sides = OneSided.between(lower, upper)
    pressures, z = _interior_point(curvature, sides.spread(rows), sides.bounds, price, tol)
    return z, sides.signed(pressures)


def _one_row(h, row, lower, upper, price):
    """The answer for a single row: it moves to its nearer bound, as far as the price allows."""
    scaled = row / h
    missed = min(upper, 0.0) + max(lower, 0.0)  # the bound that 0 violates; 0 if it keeps both
    reach = row @ scaled
    multiplier = 0.0 if missed == 0.0 else -np.copysign(price, missed)
    if reach * price > abs(missed):
        multiplier = -missed / reach
    return -multiplier * scaled, np.array([multiplier])


class _Interior(NamedTuple):
    """A point of the interior: the unknowns and four positive vectors, one entry per bound."""

    z: np.ndarray
    room: np.ndarray  # of G z below b + slack
    slack: np.ndarray  # by which a bound yields
    pressure: np.ndarray  # multiplier of the bound
    relief: np.ndarray  # multiplier of slack >= 0; pressure + relief = price

    def moved(self, step, length):
        """The point after a step of the given length."""
        return _Interior(*(value + length * by for value, by in zip(self, step, strict=True)))

    def longest(self, step):
        """Largest length up to 1 at which nothing positive turns negative."""
        length = 1.0
        for value, by in zip(self[1:], step[1:], strict=True):
            length = min(length, 1.0 / max(1.0, (-by / value).max()))
        return length

    @property
    def mean_product(self):
        """Mean of the products that vanish at the answer."""
        products = self.pressure @ self.room + self.relief @ self.slack
        return products / (2 * len(self.room))


class _NewtonSystem(NamedTuple):
    """Newton's equations at an interior point, factored once for predictor and corrector."""

    at: _Interior
    G: np.ndarray
    stationarity: np.ndarray
    primal: np.ndarray
    weight: np.ndarray
    factor: np.ndarray  # Cholesky factor

    @classmethod
    def build(cls, at, h, G, b):
        stationarity = h * at.z + G.T @ at.pressure
        primal = at.room + G @ at.z - b - at.slack
        weight = 1.0 / (at.room / at.pressure + at.slack / at.relief)
        # The matrices are small and many: LAPACK itself, without SciPy's checks, is what counts.
        factor, failed = dpotrf(np.diag(h) + (G.T * weight) @ G, lower=1)
        if failed:
            raise LinAlgError("the equations of the interior point are singular")
        return cls(at, G, stationarity, primal, weight, factor)

    def step(self, bound_products, slack_products):
        """Step that changes pressure * room and relief * slack by the amounts given."""
        at = self.at
        shift = self.primal + bound_products / at.pressure - slack_products / at.relief
        push = -self.stationarity - self.G.T @ (self.weight * shift)
        dz = dpotrs(self.factor, push, lower=1)[0]
        dpressure = self.weight * (self.G @ dz + shift)
        droom = (bound_products - at.room * dpressure) / at.pressure
        dslack = (slack_products + at.slack * dpressure) / at.relief
        return _Interior(dz, droom, dslack, dpressure, -dpressure)


def _interior_point(h, G, b, price, tol):
    """Minimise ``h z^2 / 2 + price * sum(slack)`` with ``G z <= b + slack`` and ``slack >= 0``."""
    z = np.zeros(len(h))
    if not len(b):
        return np.empty(0), z
    slack = np.maximum(0.0, -b) + max(1e-3, np.abs(b).max())
    pressure = np.full(len(b), min(1.0, price / 2))
    at = _Interior(z, b + slack, slack, pressure, price - pressure)
    for _ in range(_MAX_ITER):
        try:
            system = _NewtonSystem.build(at, h, G, b)
        except LinAlgError:  # the products have vanished to the last digit
            break
        if (
            at.mean_product <= tol * price
            and np.abs(system.stationarity).max(initial=0.0) <= 1e-11 * price
        ):
            break
        predictor = system.step(-at.pressure * at.room, -at.relief * at.slack)
        ahead = at.moved(predictor, at.longest(predictor)).mean_product
        aim = at.mean_product * (ahead / at.mean_product) ** 3
        corrector = system.step(
            aim - at.pressure * at.room - predictor.pressure * predictor.room,
            aim - at.relief * at.slack - predictor.relief * predictor.slack,
        )
        at = at.moved(corrector, 0.995 * at.longest(corrector))
    return at.pressure, at.z
