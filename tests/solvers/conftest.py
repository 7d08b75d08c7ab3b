"""Problems with known answers, for all tests of solvers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from skfair._bound.rows import ConstraintValues, ScoreJacobian
from skfair._groups import check_groups
from skfair._problems.linear import LinearModel
from skfair._problems.problem import ConstrainedProblem
from skfair.constraints import DemographicParity
from skfair.groups import Samples
from skfair.losses import LogisticLoss, SquaredLoss
from skfair.surrogates import Sigmoid


@dataclass(frozen=True, eq=False)
class LinearRows:
    """lower <= rows @ scores <= upper: the simplest constraint there is."""

    rows: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    n_aux = 0

    def initial_aux(self, scores):
        return np.empty(0)

    def __call__(self, scores, aux):
        m = len(self.rows)
        return ConstraintValues(
            self.rows @ scores,
            ScoreJacobian(sparse.eye_array(m, format="csr"), sparse.csr_array(self.rows)),
            np.empty((m, 0)),
            lambda v: np.zeros_like(scores),
        )

    def correct(self, scores):
        return self


class Known(NamedTuple):
    problem: ConstrainedProblem
    x: np.ndarray
    multipliers: np.ndarray


@dataclass(frozen=True)
class Problems:
    """Makers of small problems."""

    linear_rows: Callable
    quadratic: Callable
    fair: Callable
    wide: Callable
    slsqp: Callable


def features(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    signal = X @ np.linspace(1.0, -0.5, d) + 0.5 * rng.normal(size=n)
    return X, np.where(signal > 0, 1.0, -1.0)


def make_least_squares(X, y, constraint, alpha=0.1):
    weights = np.ones(len(y))
    model = LinearModel.from_features(X, weights)
    return ConstrainedProblem(model, SquaredLoss(), y, weights, alpha, constraint)


def quadratic():
    """Squared loss and three rows: an upper and a lower bound that press, and one that does not.

    With H the Hessian and J the active rows, the answer solves
    H x + J' multipliers = -gradient(0), J x = bounds.
    """
    X, y = features(60, 3)
    rows = np.random.default_rng(1).normal(size=(3, 60)) / np.sqrt(60)
    unconstrained = make_least_squares(
        X, y, LinearRows(rows, np.full(3, -np.inf), np.full(3, np.inf))
    )
    n = unconstrained.n_parameters
    start = unconstrained.evaluate(np.zeros(n))
    H = np.column_stack([unconstrained.evaluate(e).grad - start.grad for e in np.eye(n)])
    plain = np.linalg.solve(H, -start.grad)
    values = unconstrained.evaluate(plain).values
    J = start.jacobian
    lower = np.array([-np.inf, values[1] + 0.3, values[2] - 1.0])
    upper = np.array([values[0] - 0.3, np.inf, values[2] + 1.0])
    bounds = np.array([upper[0], lower[1]])
    system = np.block([[H, J[:2].T], [J[:2], np.zeros((2, 2))]])
    answer = np.linalg.solve(system, np.concatenate((-start.grad, bounds)))
    x = answer[:n]
    multipliers = np.append(answer[n:], 0.0)
    assert multipliers[0] > 0 > multipliers[1], "both bounds must press"
    return Known(make_least_squares(X, y, LinearRows(rows, lower, upper)), x, multipliers)


def fair(spec=None, n_groups=2, tolerance=0.02, n=240, alpha=0.1):
    """Logistic loss under parity of groups that differ in their features."""
    rng = np.random.default_rng(n_groups)
    groups = np.arange(n) % n_groups
    X = rng.normal(size=(n, 3))
    X[:, 0] += 0.8 * groups / n_groups
    y = np.where(X.sum(axis=1) + rng.normal(size=n) > 0.7, 1.0, -1.0)
    weights = np.ones(n)
    loss = LogisticLoss()
    bound = (spec or DemographicParity()).bind(
        Samples(y, check_groups(groups, n), weights),
        Sigmoid(),
        loss,
        tolerance,
    )
    model = LinearModel.from_features(X, weights)
    return ConstrainedProblem(model, loss, y, weights, alpha, bound)


def wide(d, n=500, alpha=0.1):
    """As `fair` with two groups, and with d features."""
    X, y = features(n, d)
    groups = (X[:, 0] + np.random.default_rng(2).normal(size=n) > 0).astype(int)
    weights = np.ones(n)
    loss = LogisticLoss()
    samples = Samples(y, check_groups(groups, n), weights)
    bound = DemographicParity().bind(samples, Sigmoid(), loss, 0.02)
    model = LinearModel.from_features(X, weights)
    return ConstrainedProblem(model, loss, y, weights, alpha, bound)


def slsqp(problem):
    """Minimum by scipy's SLSQP."""
    rows = []
    for sign, bound in ((1.0, problem.upper), (-1.0, problem.lower)):
        finite = np.isfinite(bound)
        rows.append(
            {
                "type": "ineq",
                "fun": lambda x, s=sign, b=bound, f=finite: s * (b - problem.evaluate(x).values)[f],
                "jac": lambda x, s=sign, f=finite: -s * problem.evaluate(x).jacobian[f],
            }
        )
    result = minimize(
        lambda x: problem.evaluate(x).fun,
        problem.initial_point(),
        jac=lambda x: problem.evaluate(x).grad,
        constraints=rows,
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert result.success, result.message
    return result


@pytest.fixture(scope="session")
def problems():
    return Problems(LinearRows, quadratic, fair, wide, slsqp)
