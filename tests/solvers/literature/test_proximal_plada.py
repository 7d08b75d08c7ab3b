import numpy as np
import pytest
from scipy.optimize import minimize

from benchmarks.peers.erm_methods import slsqp
from skfair._groups import check_groups
from skfair._problems.linear import LinearModel
from skfair._problems.problem import ConstrainedProblem
from skfair.constraints import DemographicParity, LossParity
from skfair.groups import Samples
from skfair.losses import LogisticLoss
from skfair.solvers import PLADA, SQP
from skfair.surrogates import Sigmoid


def path(solver, problem):
    steps = []
    solver.solve(problem, callback=steps.append)
    return steps


def test_the_first_iterations_follow_algorithm_1(problems):
    """Two steps written out with the paper's symbols, for one pair of bounds."""
    problem = problems.fair()
    one_sided = problem.one_sided
    alpha, beta, eta, tau, gamma0, kappa = 4.0, 0.5, 0.3, 0.05, 0.8, 3.0
    solver = PLADA(2, 0.0, alpha, beta, eta, tau, gamma0, kappa)
    rho = alpha / (1 + alpha * beta)

    theta = problem.initial_point()
    lam = np.zeros(2)
    mu = np.zeros(2)
    u = -one_sided.values(problem.evaluate(theta).values)
    for k, step in enumerate(path(solver, problem)):
        np.testing.assert_allclose(step.evaluation.x, theta, atol=1e-12)
        np.testing.assert_allclose(step.details["lambda"], lam, atol=1e-12)
        np.testing.assert_allclose(step.details["mu"], mu, atol=1e-12)
        at = problem.evaluate(theta)
        G_slopes = np.vstack((at.jacobian, -at.jacobian))
        theta = theta - eta * (at.grad + lam @ G_slopes)
        u = np.maximum(0, u - tau * lam)
        gap = np.sum((lam - mu) ** 2)
        gamma = min(gamma0, rho * (kappa / (k + 1)) / (gap + 1))
        mu = mu + gamma * (lam - mu) / rho
        gap_row = problem.evaluate(theta).values[0]
        lam = mu + rho * (np.array([gap_row - 0.02, -0.02 - gap_row]) + u)
    assert k == 2


def test_the_exact_step_minimises_the_proximal_function(problems):
    problem = problems.fair()
    eta = 0.4
    solver = PLADA(max_iter=12, eta=eta, tau=0.01, theta_update="exact")
    steps = path(solver, problem)
    here, there = steps[-2], steps[-1]
    one_sided = problem.one_sided
    weights = one_sided.multipliers(here.details["lambda"])
    assert np.abs(weights).max() > 0.05, "G must matter for the step"
    moved = there.evaluation.x - here.evaluation.x
    slope = here.evaluation.grad + there.evaluation.pull_back(weights) + moved / eta
    np.testing.assert_allclose(slope, 0, atol=1e-5)


@pytest.mark.slow
def test_exact_and_linearised_steps_arrive_at_one_answer(problems):
    problem = problems.fair()
    exact, linear = (PLADA(theta_update=i).solve(problem) for i in ("exact", "linearised"))
    assert exact.status == linear.status == "optimal"
    np.testing.assert_allclose(exact.x, linear.x, atol=1e-2)
    assert exact.fun == pytest.approx(linear.fun, abs=1e-3)


@pytest.mark.slow
def test_both_multipliers_meet(problems):
    """Theorem 2: lambda - mu vanishes, and mu becomes the multiplier."""
    last = path(PLADA(tol=1e-5), problems.fair())[-1].details
    np.testing.assert_allclose(last["lambda"], last["mu"], atol=1e-3)
    assert last["lambda"].max() > 1


@pytest.mark.slow
def test_slack_is_bounded(problems):
    """With slack bounded by 0 the row becomes an equation at its upper bound."""
    known = problems.quadratic().problem
    rows = problems.linear_rows(known.constraint.rows[:1], np.array([-np.inf]), np.array([5.0]))
    problem = type(known)(known.model, known.loss, known.target, known.weights, 0.1, rows)
    free, tight = (path(PLADA(u_max=u_max, max_iter=800), problem)[-1] for u_max in (1e9, 1e-9))
    assert free.evaluation.values[0] < 1
    assert tight.evaluation.values[0] == pytest.approx(5, abs=1e-2)


def test_the_paper_s_setting_is_allowed_with_a_warning(problems):
    solver = PLADA.from_paper(max_iter=5)
    assert (solver.eta, solver.tau, solver.gamma0, solver.alpha) == (0.001, 0.1, 0.1, 10.0)
    assert (solver.u_max, PLADA.from_paper(u_max=3.0).u_max) == (1.0, 3.0)
    with pytest.warns(UserWarning, match=r"tau=0.1 is not below 1 / \(3 rho\) = 0.0667") as caught:
        result = solver.solve(problems.fair())
    assert caught[0].filename == __file__
    assert result.fun < np.log(2)


def test_one_row_for_the_mean_excess_of_many_groups(problems):
    """The nonsmooth row needs no unknown per group. Its multiplier is of the same tolerance."""
    problem = problems.fair(LossParity(reference="above_overall", aggregate="mean"), 4, 0.01)
    rows = SQP().solve(problem)
    result = PLADA(max_iter=3000, one_row=True, theta_update="exact").solve(problem)
    assert len(result.x) == problem.n_parameters < len(rows.x)
    assert result.violation <= 1e-4
    assert result.fun == pytest.approx(rows.fun, abs=2e-3)


def recidivism(n=800):
    """Data in the manner of COMPAS: one-hot columns of counts and ages, groups that differ."""
    rng = np.random.default_rng(0)
    groups = (rng.random(n) < 0.4).astype(int)
    age = rng.integers(0, 3, n)
    priors = rng.poisson(np.where(groups, 1.7, 3.7) * (1 + 0.2 * age))
    X = np.column_stack((np.eye(3)[age], rng.random(n) < 0.8, rng.random(n) < 0.6, groups, priors))
    log_odds = 0.25 * priors - 0.4 * age + 0.3 * X[:, 3] - 0.6
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-log_odds)), 1.0, -1.0)
    weights = np.ones(n)
    loss = LogisticLoss()
    samples = Samples(y, check_groups(groups, n), weights)
    bound = DemographicParity().bind(samples, Sigmoid(), loss, 0.02)
    model = LinearModel.from_features(X, weights)
    return ConstrainedProblem(model, loss, y, weights, 1e-4, bound)


def test_one_kinked_row_ends_at_the_optimum_of_an_independent_solver():
    problem = recidivism()
    best = slsqp(problem, 1e-12)
    result = PLADA(max_iter=300, tol=1e-6, one_row=True, theta_update="exact").solve(problem)
    assert best.success and np.ptp(problem.evaluate(best.x).scores) > 1
    assert result.fun == pytest.approx(best.fun, abs=1e-5)
    assert result.violation <= 1e-6


@pytest.mark.parametrize(
    "theta_update, one_row", [("linearised", False), ("exact", False), ("exact", True)]
)
def test_parameters_stay_in_a_ball(theta_update, one_row):
    """The minimum in a ball, which is that of SLSQP with the norm as one more row."""
    problem = recidivism(200)
    rows = problem.join_rows()
    best = minimize(
        lambda x: rows.evaluate(x).fun,
        rows.project(rows.initial_point()),
        jac=lambda x: rows.evaluate(x).grad,
        method="SLSQP",
        constraints=[
            {"type": "ineq", "fun": lambda x: rows.upper - rows.evaluate(x).values},
            {"type": "ineq", "fun": lambda x: 0.25 - x @ x},
        ],
        options={"ftol": 1e-12, "maxiter": 200},
    )
    steps = []
    solver = PLADA(theta_update=theta_update, one_row=one_row, radius=0.5, alpha=10.0)
    result = solver.solve(problem, callback=steps.append)
    norms = [np.linalg.norm(step.evaluation.x[: problem.n_parameters]) for step in steps]
    assert max(norms) <= 0.5 + 1e-12 and norms[-1] == pytest.approx(0.5)
    assert best.success and result.status == "optimal"
    assert result.fun == pytest.approx(best.fun, abs=1e-4)
    assert result.fun > SQP().solve(problem).fun + 1e-3


def test_linearised_breakpoints_give_a_warning():
    solver = PLADA(max_iter=300, tol=1e-6, one_row=True)
    with pytest.warns(UserWarning, match="Use theta_update='exact', as in Algorithm 1"):
        result = solver.solve(recidivism())
    assert result.fun > slsqp(recidivism(), 1e-12).fun + 1e-3
