"""Regressors whose losses are constrained, against convex duality and many starts."""

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import brentq, minimize

from benchmarks.optimum.comparison import Case, Outcome
from skfair.constraints import BoundedGroupLoss
from skfair.regression import ConstrainedERMRegressor

N_SAMPLES, N_FEATURES = 240, 3
N_STARTS = 20
"""Starts of SLSQP where there is no duality: three groups."""
ALPHA = 1e-4
TOLERANCE = 2e-6


class Quadratic:
    """The function w' A w - 2 b' w + c."""

    def __init__(self, A, b, c):
        self.A, self.b, self.c = A, b, c

    def __call__(self, w):
        return w @ self.A @ w - 2 * self.b @ w + self.c

    def gradient(self, w):
        """The gradient."""
        return 2 * (self.A @ w - self.b)

    def minimiser(self):
        """Where it is least."""
        return np.linalg.solve(self.A, self.b)

    def plus(self, factor, other):
        """The sum with a multiple of another."""
        terms = zip((self.A, self.b, self.c), (other.A, other.b, other.c), strict=True)
        return Quadratic(*(one + factor * two for one, two in terms))


def draw(seed, n_groups):
    """Rows whose groups differ in noise, and with odd seeds in coefficients."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(n_groups, size=N_SAMPLES)
    X = rng.normal(size=(N_SAMPLES, N_FEATURES))
    X += 0.5 * groups[:, np.newaxis] * rng.normal(size=N_FEATURES)
    noise = 0.5 * (1 + 1.2 * groups) * rng.normal(size=N_SAMPLES)
    y = X @ rng.normal(size=N_FEATURES) + noise
    if seed % 2:
        y += np.where(groups == 1, X @ rng.normal(size=N_FEATURES), 0)
    return X, y / y.std(), groups


def quadratics(X, y, groups, alpha):
    """The objective, half the mean squared error with the penalty, and the losses of groups."""
    design = np.column_stack([X, np.ones(len(y))])
    target = (y - y.mean()) / y.std()
    penalty = np.diag(np.append(np.full(X.shape[1], alpha / 2), 0.0))

    def loss(rows):
        B = design[rows]
        z = target[rows]
        return Quadratic(B.T @ B / len(z) / 2, B.T @ z / len(z) / 2, z @ z / len(z) / 2)

    objective = loss(np.arange(len(y)))
    objective = Quadratic(objective.A + penalty, objective.b, objective.c)
    return objective, [loss(np.flatnonzero(groups == g)) for g in range(groups.max() + 1)]


def parity_minimum(objective, losses, tolerance, seed):
    """The minimum where losses differ by the tolerance at most.

    Two groups: strong duality holds for one quadratic constraint on both sides (S-lemma), so that
    one multiplier is enough. More: the best of many starts.
    """
    if len(losses) > 2:
        return search_minimum(objective, losses, tolerance, seed)
    difference = losses[1].plus(-1.0, losses[0])
    value = difference(objective.minimiser())
    if abs(value) <= tolerance:
        return objective(objective.minimiser())
    # objective + m difference is convex for 1 + m lambda > 0.
    eigenvalues = eigh(difference.A, objective.A, eigvals_only=True)
    low = -1 / eigenvalues.max() if eigenvalues.max() > 0 else -1e6
    high = -1 / eigenvalues.min() if eigenvalues.min() < 0 else 1e6

    def residual(m):
        w = objective.plus(m, difference).minimiser()
        return difference(w) - np.sign(value) * tolerance

    ends = (0.0, high * (1 - 1e-9)) if value > 0 else (low * (1 - 1e-9), 0.0)
    if residual(ends[0]) * residual(ends[1]) > 0:
        return np.nan  # the hard case of the S-lemma
    return objective(objective.plus(brentq(residual, *ends, xtol=1e-14), difference).minimiser())


def search_minimum(objective, losses, tolerance, seed):
    """The least end of SLSQP from many starts."""
    pairs = [(a, b) for a in losses for b in losses if a is not b]
    constraints = [
        {"type": "ineq", "fun": lambda w, a=a, b=b: tolerance - a(w) + b(w)} for a, b in pairs
    ]
    rng = np.random.default_rng(seed)
    best = np.inf
    for start in rng.normal(size=(N_STARTS, len(objective.b))):
        end = minimize(
            objective,
            start,
            jac=objective.gradient,
            constraints=constraints,
            method="SLSQP",
            options={"maxiter": 300, "ftol": 1e-12},
        )
        if np.ptp([loss(end.x) for loss in losses]) <= tolerance + TOLERANCE:
            best = min(best, end.fun)
    return best if np.isfinite(best) else np.nan


def coefficients(model, y):
    """Coefficients and intercept of a model for the standardised target."""
    return np.append(model.coef_, model.intercept_ - y.mean()) / y.std()


def parity_case(n_groups):
    """Problems of loss parity."""

    def compare(seed):
        X, y, groups = draw(seed, n_groups)
        objective, losses = quadratics(X, y, groups, ALPHA)
        plain = np.ptp([loss(objective.minimiser()) for loss in losses])
        outcomes = []
        for share in (0.5, 0.1):
            tolerance = share * plain
            in_unit_of_y = 2 * y.var() * tolerance  # halves of squares of the standardised target
            model = ConstrainedERMRegressor("loss_parity", tolerance=in_unit_of_y, alpha=ALPHA)
            w = coefficients(model.fit(X, y, sensitive_features=groups), y)
            meets_limits = np.ptp([loss(w) for loss in losses]) <= tolerance + TOLERANCE
            # Trivial: the best constant.
            constants = np.zeros((601, len(w)))
            constants[:, -1] = np.linspace(-3, 3, len(constants))
            allowed = [
                objective(one)
                for one in constants
                if np.ptp([loss(one) for loss in losses]) <= tolerance
            ]
            optimum = parity_minimum(objective, losses, tolerance, seed)
            trivial = min(allowed, default=np.inf)
            outcomes.append(Outcome(objective(w), optimum, trivial, meets_limits, model.status_))
        return outcomes

    method = "S-lemma" if n_groups == 2 else f"{N_STARTS} starts of SLSQP"
    name = f"loss parity, {n_groups} groups"
    return Case("ConstrainedERMRegressor", name, method, compare, ("LossParity",))


def bounded_case():
    """Problems of bounded losses, which are convex."""

    def compare(seed):
        X, y, groups = draw(seed, 3)
        objective, losses = quadratics(X, y, groups, 0.0)
        start = objective.minimiser()
        worst = max(loss(start) for loss in losses)

        # The least bound that can be kept, and one that cannot.
        least = minimize(
            lambda v: v[-1],
            np.append(start, worst),
            constraints=[
                {"type": "ineq", "fun": lambda v, loss=loss: v[-1] - loss(v[:-1])}
                for loss in losses
            ],
            method="SLSQP",
            options={"ftol": 1e-12},
        ).fun
        outcomes = []
        for bound in ((least + worst) / 2, 0.98 * least):
            model = ConstrainedERMRegressor(BoundedGroupLoss(2 * y.var() * bound), alpha=0)
            w = coefficients(model.fit(X, y, sensitive_features=groups), y)
            limits = [
                {"type": "ineq", "fun": lambda w, loss=loss, bound=bound: bound - loss(w)}
                for loss in losses
            ]
            end = minimize(
                objective, start, constraints=limits, method="SLSQP", options={"ftol": 1e-12}
            )
            is_possible = bound > least
            meets_limits = max(loss(w) for loss in losses) <= bound + TOLERANCE
            optimum = end.fun if is_possible else np.nan
            outcomes.append(
                Outcome(objective(w), optimum, np.inf, meets_limits, model.status_, is_possible)
            )
        return outcomes

    name = "bounded losses, three groups"
    return Case("ConstrainedERMRegressor", name, "convex (SLSQP)", compare, ("BoundedGroupLoss",))


CASES = [parity_case(2), parity_case(3), bounded_case()]
