"""Small convex quadratic programs whose rows may be violated, at a penalty."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dpotrf, dpotrs

from skfair.solvers._one_sided import OneSided

_MAX_ITER = 60

_FEW = 8
"""Rows up to which guesses are tried: more rows take more of them, or go in circles."""

_MAX_GUESSES = 10

_MANY = 128
"""Bounds up to which all of them are in every equation."""

_ROUNDING = 1e-12
"""By how much a bound may be broken, relative to its size, that is in none."""


def solve_elastic_qp(curvature, rows, lower, upper, penalty, tol=1e-12):
    r"""Minimise a separable quadratic, with rows that yield, at a penalty.

    .. math::

        \min_z \tfrac12 \sum_j h_j z_j^2
        + penalty \sum_r \max(0, a_r z - upper_r, lower_r - a_r z)

    by a primal-dual interior-point method with Mehrotra's corrector (S. Wright, Primal-Dual
    Interior-Point Methods, 1997, chapter 10). The penalty caps the multipliers, so the problem
    always has an answer; rows that contradict one another share the violation.

    Parameters
    ----------
    curvature : ndarray of shape (n,)
        h, positive.
    rows : ndarray of shape (n_rows, n)
        One row per two-sided bound.
    lower, upper : ndarray of shape (n_rows,)
        Bounds; infinite where there is none.
    penalty : float
        Cost of one unit of violation.
    tol : float, default=1e-12
        Complementarity at which to stop, relative to the penalty.

    Returns
    -------
    z : ndarray of shape (n,)
        The minimiser.
    multipliers : ndarray of shape (n_rows,)
        Signed, in [-penalty, penalty]: positive at upper bounds.
    """
    found = _by_guesses(curvature, rows, lower, upper, penalty) if len(rows) <= _FEW else None
    if found is not None:
        return found
    one_sided = OneSided(lower, upper)
    solve = _interior_point if len(one_sided.rows) <= _MANY else _on_working_set
    duals, z = solve(curvature, one_sided.jacobian(rows), one_sided.bounds, penalty, tol)
    return z, one_sided.multipliers(duals)


def _on_working_set(h, G, b, penalty, tol):
    """The same for many bounds, of which few press: the others are only looked at.

    An answer for some bounds that keeps the others is one for all. The first are those that 0
    breaks most; those that an answer breaks join them.
    """
    joining, kept = np.argsort(b)[: _MANY // 4], np.zeros(len(b), dtype=bool)
    while len(joining):
        kept[joining] = True
        duals = np.zeros(len(b))
        duals[kept], z = _interior_point(h, G[kept], b[kept], penalty, tol)
        excess = np.where(kept, 0.0, G @ z - b)
        worst = np.argsort(-excess)[: kept.sum()]  # at most twice as many in the next round
        joining = worst[excess[worst] > _ROUNDING * (1.0 + np.abs(b[worst]))]
    return duals, z


def _by_guesses(h, rows, lower, upper, penalty):
    """The answer from guesses which bounds press; None if the guesses do not come to an end.

    What each row would need if it were alone tells at which bounds the rows are, and the equations
    of those rows give the next point: a semi-smooth Newton method (M. Hintermueller, K. Ito and
    K. Kunisch, SIAM J. Optim. 13, 2002). A guess that confirms itself is the answer.
    """
    n_rows, n = rows.shape
    reach, equations = (rows**2 / h).sum(axis=1), np.zeros((n + n_rows, n + n_rows))
    if not reach.all():
        return None
    equations[:n, :n], equations[:n, n:], equations[n:, :n] = np.diag(h), rows.T, rows
    z, multipliers, guess = np.zeros(n), np.zeros(n_rows), None
    for _ in range(_MAX_GUESSES):
        alone = multipliers + rows @ z / reach
        wanted = np.maximum(0.0, alone - upper / reach) + np.minimum(0.0, alone - lower / reach)
        capped = np.clip(wanted, -penalty, penalty)
        held = (wanted != 0.0) & (capped == wanted)
        before, guess = guess, np.sign(wanted) * np.where(held, 1, 2)
        if np.array_equal(guess, before):
            return z, multipliers
        multipliers = np.where(held, 0.0, capped)
        bounds = np.where(wanted > 0.0, upper, lower)[held]
        known = np.append(-(multipliers @ rows), bounds)
        kept = np.append(np.ones(n, dtype=bool), held)
        try:
            found = np.linalg.solve(equations[np.ix_(kept, kept)], known)
        except LinAlgError:  # rows that are multiples of each other
            return None
        z, multipliers[held] = found[:n], found[n:]
    return None


class _Interior(NamedTuple):
    """A point of the interior: the unknowns and four positive vectors, one entry per bound."""

    z: np.ndarray
    slack: np.ndarray  # of G z below b + violation
    violation: np.ndarray  # by which a bound yields
    dual: np.ndarray  # multiplier of the bound
    violation_dual: np.ndarray  # multiplier of violation >= 0; dual + violation_dual = penalty

    def moved(self, step, length):
        """The point after a step of the given length."""
        return _Interior(*(value + length * by for value, by in zip(self, step, strict=True)))

    def longest(self, step):
        """Largest length up to 1 at which nothing positive turns negative."""
        positive, by = np.concatenate(self[1:]), np.concatenate(step[1:])
        return 1.0 / max(1.0, (-by / positive).max())

    @property
    def mean_product(self):
        """Mean of the products that vanish at the answer."""
        products = self.dual @ self.slack + self.violation_dual @ self.violation
        return products / (2 * len(self.slack))


class _NewtonSystem:
    """Newton's equations at an interior point, factored once for predictor and corrector."""

    def __init__(self, at, h, G, b):
        self.at, self.G = at, G
        self.stationarity = h * at.z + G.T @ at.dual
        self.primal = at.slack + G @ at.z - b - at.violation
        self.weight = 1.0 / (at.slack / at.dual + at.violation / at.violation_dual)
        # The matrices are small and many: LAPACK itself, without SciPy's checks, is what counts.
        self.factor, failed = dpotrf(np.diag(h) + (G.T * self.weight) @ G, lower=1)
        if failed:
            raise LinAlgError("the equations of the interior point are singular")

    def step(self, bound_products, violation_products):
        """Step that changes dual * slack and violation_dual * violation by the amounts given."""
        at = self.at
        shift = self.primal + bound_products / at.dual - violation_products / at.violation_dual
        push = -self.stationarity - self.G.T @ (self.weight * shift)
        dz = dpotrs(self.factor, push, lower=1)[0]
        ddual = self.weight * (self.G @ dz + shift)
        dslack = (bound_products - at.slack * ddual) / at.dual
        dviolation = (violation_products + at.violation * ddual) / at.violation_dual
        return _Interior(dz, dslack, dviolation, ddual, -ddual)


def _interior_point(h, G, b, penalty, tol):
    """Minimise ``h z^2 / 2 + penalty * sum(v)`` subject to ``G z <= b + v`` and ``v >= 0``."""
    z = np.zeros(len(h))
    if not len(b):
        return np.empty(0), z
    violation = np.maximum(0.0, -b) + max(1e-3, np.abs(b).max())
    dual = np.full(len(b), min(1.0, penalty / 2))
    at = _Interior(z, b + violation, violation, dual, penalty - dual)
    left = np.inf
    for _ in range(_MAX_ITER):
        try:
            system = _NewtonSystem(at, h, G, b)
        except LinAlgError:  # the products have vanished to the last digit
            break
        # What is left of the sum of multipliers times rows falls until it is rounding. An unknown
        # that costs next to nothing has long rows, and moves far by little that is left.
        before, left = left, np.abs(system.stationarity).max(initial=0.0)
        if at.mean_product <= tol * penalty and (left <= 1e-11 * penalty or left > before / 2):
            break
        # Predictor: Newton's step to products of zero; how near it comes sets the corrector's aim.
        predictor = system.step(-at.dual * at.slack, -at.violation_dual * at.violation)
        ahead = at.moved(predictor, at.longest(predictor)).mean_product
        aim = at.mean_product * (ahead / at.mean_product) ** 3
        corrector = system.step(
            aim - at.dual * at.slack - predictor.dual * predictor.slack,
            aim - at.violation_dual * at.violation - predictor.violation_dual * predictor.violation,
        )
        at = at.moved(corrector, 0.995 * at.longest(corrector))
    return at.dual, at.z
