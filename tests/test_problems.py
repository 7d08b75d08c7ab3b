"""A problem and its derivatives against finite differences and against plain formulas."""

import numpy as np
import pytest
from scipy import sparse

from skfair.constraints import BoundedGroupLoss, DemographicParity, EqualizedOdds, People, Rates
from skfair.constraints._bound import JointConstraint
from skfair.losses import LOSSES, LogisticLoss
from skfair.models import LinearModel
from skfair.problems import ConstrainedProblem
from skfair.surrogates import Sigmoid, Step
from skfair.utils._groups import check_groups

N_SAMPLES = 40
RNG = np.random.default_rng(0)
X = RNG.normal(1.0, 2.0, (N_SAMPLES, 3))
TARGET = RNG.choice([-1.0, 1.0], N_SAMPLES)
WEIGHTS = RNG.uniform(0.5, 2, N_SAMPLES)
GROUPS = check_groups(RNG.integers(0, 3, N_SAMPLES), N_SAMPLES)
ALPHA = 0.1

SPECS = {
    "parity": [DemographicParity()],
    "sum of odds": [EqualizedOdds(aggregate="sum")],
    "single row": [EqualizedOdds(form="single")],
    "joint": [EqualizedOdds(tolerance=0.2), BoundedGroupLoss(0.4)],
}
specs = pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())


def make_problem(spec, loss=None, container=np.asarray, fit_intercept=True):
    loss = LogisticLoss() if loss is None else loss
    people = People(TARGET, GROUPS, WEIGHTS)
    rates = Rates(Sigmoid(), loss), Rates(Step(), loss)
    bound = JointConstraint(tuple(one.bind(people, *rates, tolerance=0.05) for one in spec))
    model = LinearModel.standardized(container(X), WEIGHTS, fit_intercept)
    return ConstrainedProblem(model, loss, TARGET, WEIGHTS, ALPHA, bound)


def random_point(problem):
    return np.random.default_rng(1).normal(size=problem.n_unknowns)


def difference_quotients(function, at, step=1e-6):
    steps = step * np.eye(len(at))
    return np.array([(function(at + one) - function(at - one)) / (2 * step) for one in steps]).T


def test_objective_by_its_formula():
    problem = make_problem(SPECS["parity"])
    coef, intercept = np.array([0.3, -0.2, 0.1]), 0.5
    x = problem.initial_point(problem.model.parameters(coef, intercept))
    evaluation = problem.evaluate(x)
    scores = X @ coef + intercept
    losses = np.average(np.log(1 + np.exp(-TARGET * scores)), weights=WEIGHTS)
    assert evaluation.fun == pytest.approx(losses + ALPHA / 2 * coef @ coef, rel=1e-13)
    np.testing.assert_allclose(evaluation.scores, scores, atol=1e-13)


def test_excess_and_violation():
    problem = make_problem(SPECS["parity"])
    evaluation = problem.evaluate(random_point(problem))
    values, excess = evaluation.values, evaluation.excess
    for value, lower, upper, one in zip(values, problem.lower, problem.upper, excess, strict=True):
        assert one == max(0.0, value - upper, lower - value)
    assert evaluation.violation == excess.max() > 0
    # At equal scores all rates are equal.
    assert problem.evaluate(problem.initial_point()).violation == pytest.approx(0, abs=1e-15)


@specs
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_derivatives(spec, container, fit_intercept):
    problem = make_problem(spec, container=container, fit_intercept=fit_intercept)
    x = random_point(problem)
    here = problem.evaluate(x)
    by_fun = difference_quotients(lambda z: problem.evaluate(z).fun, x)
    np.testing.assert_allclose(here.grad, by_fun, atol=1e-8)
    by_values = difference_quotients(lambda z: problem.evaluate(z).values, x)
    np.testing.assert_allclose(here.jacobian, by_values, atol=1e-8)
    v = np.random.default_rng(2).normal(size=len(here.values))
    np.testing.assert_allclose(here.pull_back(v), v @ here.jacobian, atol=1e-13)
    np.testing.assert_allclose(
        here.lagrangian_gradient(v), here.grad + v @ here.jacobian, atol=1e-13
    )


@specs
def test_hessian_of_the_lagrangian(spec):
    problem = make_problem(spec)
    x, p = random_point(problem), problem.n_parameters
    here = problem.evaluate(x)
    v = np.random.default_rng(2).normal(size=len(here.values))
    gram = problem.model.gram(here.curvature(v)) + np.diag(problem.ridge)
    np.testing.assert_allclose(here.hessian(v)[:p, :p], gram, rtol=1e-12)
    by_gradient = difference_quotients(lambda z: problem.evaluate(z).lagrangian_gradient(v), x)
    np.testing.assert_allclose(here.hessian(v), by_gradient, atol=1e-8)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())
def test_gradients_of_all_losses(loss):
    problem = make_problem(SPECS["parity"], loss=loss)
    x = random_point(problem) / 3
    by_fun = difference_quotients(lambda z: problem.evaluate(z).fun, x)
    np.testing.assert_allclose(problem.evaluate(x).grad, by_fun, atol=1e-7)


@specs
def test_unknowns_follow_the_parameters(spec):
    problem = make_problem(spec)
    parameters = np.random.default_rng(3).normal(size=problem.n_parameters)
    x = problem.initial_point(parameters)
    assert len(x) == problem.n_unknowns == problem.n_parameters + problem.constraint.n_aux
    evaluation = problem.evaluate(x)
    np.testing.assert_array_equal(evaluation.parameters, parameters)
    np.testing.assert_array_equal(
        evaluation.aux, problem.constraint.initial_aux(problem.model.scores(parameters))
    )


def test_the_scale_of_weights_does_not_matter():
    problem = make_problem(SPECS["parity"])
    heavier = ConstrainedProblem(
        problem.model, problem.loss, TARGET, 7 * WEIGHTS, ALPHA, problem.constraint
    )
    x = random_point(problem)
    assert heavier.evaluate(x).fun == pytest.approx(problem.evaluate(x).fun, rel=1e-14)


def test_what_is_not_asked_for_is_not_computed():
    class Counting:
        def __init__(self):
            self.calls = 0

        def __call__(self, scores, target):
            self.calls += 1
            return LogisticLoss()(scores, target)

    loss = Counting()
    problem = make_problem(SPECS["parity"])
    counted = ConstrainedProblem(problem.model, loss, TARGET, WEIGHTS, ALPHA, problem.constraint)
    evaluation = counted.evaluate(random_point(counted))
    assert evaluation.violation >= 0 and loss.calls == 0
    assert np.isfinite(evaluation.fun) and len(evaluation.grad) and loss.calls == 1
