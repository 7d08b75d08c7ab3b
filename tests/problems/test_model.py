"""A network is a model of a problem as a linear model is."""

import numpy as np
import pytest

from skfair._problems.model import Model
from skfair.solvers import GDA, SQP, AugmentedLagrangian, ProxyLagrangian
from tests.network import network_problem


@pytest.fixture
def problem():
    return network_problem()


def test_the_model_implements_the_protocol(problem):
    assert isinstance(problem.model, Model)
    assert not isinstance(object(), Model)


def test_derivatives_are_those_of_the_network_at_its_parameters(problem):
    x = problem.initial_point(random_state=1)
    here = problem.evaluate(x)
    rng = np.random.default_rng(2)
    for _ in range(5):
        direction = 1e-6 * rng.normal(size=len(x))
        ahead = problem.evaluate(x + direction)
        behind = problem.evaluate(x - direction)
        assert 2 * here.grad @ direction == pytest.approx(ahead.fun - behind.fun, rel=1e-5)
        np.testing.assert_allclose(
            2 * here.jacobian @ direction, ahead.values - behind.values, rtol=1e-4
        )
    np.testing.assert_allclose(here.jacobian_of(np.array([0])), here.jacobian[:1], atol=1e-14)


@pytest.mark.parametrize(
    "solver",
    [SQP(hessian="lbfgs", tol=1e-5), AugmentedLagrangian(tol=1e-4)],
    ids=lambda solver: type(solver).__name__,
)
def test_solvers_without_gram_matrices_train_it(solver, problem):
    start = problem.initial_point(random_state=0)
    result = solver.set_params(max_iter=1000).solve(problem, start)
    assert result.violation <= solver.tol
    assert result.fun < problem.evaluate(start).fun - 0.1
    assert result.status == "optimal", result.message


def test_numeric_step_sizes_need_no_linear_model(problem):
    start = problem.initial_point(random_state=0)
    result = GDA(eta=0.2, max_iter=500).solve(problem, start)
    assert result.fun < problem.evaluate(start).fun


@pytest.mark.parametrize(
    ("solver", "message"),
    [
        (SQP(), r"SQP needs a model that gives Gram matrices, but .* Network .*hessian='lbfgs'"),
        (GDA(), "GDA needs a model that is linear in its parameters.*step sizes as numbers"),
        (ProxyLagrangian(), "ProxyLagrangian needs a model that is linear"),
    ],
    ids=["sqp", "gda", "proxy"],
)
def test_errors_about_missing_methods_name_the_remedy(solver, message, problem):
    with pytest.raises(ValueError, match=message):
        solver.solve(problem, problem.initial_point(random_state=0))


def test_the_last_layer_is_linear_and_its_parameters_come_last(problem):
    network = problem.model
    parameters = network.initial(0)
    last = network.last_layer(parameters)
    last_layer = parameters[-last.n_parameters :]
    np.testing.assert_allclose(last.scores(last_layer), network.evaluate(parameters).scores)
