"""A problem and its derivatives against finite differences and against plain formulas."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from skfair._bound.bound import ConstraintSystem
from skfair._groups import check_groups
from skfair._problems import problem as problem_module
from skfair._problems.linear import LinearModel
from skfair._problems.problem import ConstrainedProblem, evaluate_decisions
from skfair.constraints import BoundedGroupLoss, DemographicParity, EqualizedOdds
from skfair.groups import Samples
from skfair.losses import LOSSES, LogisticLoss, is_of_positive_numbers
from skfair.solvers import SQP
from skfair.surrogates import Sigmoid

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
    "joint": [EqualizedOdds(tolerance=0.2), BoundedGroupLoss(0.4)],
    "none": [],
}
specs = pytest.mark.parametrize("spec", ["parity", "sum of odds", "joint", "single row"])


def make_problem(name, loss=None, container=np.asarray, fit_intercept=True):
    if name == "single row":
        return make_problem("sum of odds", loss, container, fit_intercept).join_rows()
    loss = LogisticLoss() if loss is None else loss
    samples = Samples(TARGET, GROUPS, WEIGHTS)
    bound = ConstraintSystem(
        tuple(one.bind(samples, Sigmoid(), loss, tolerance=0.05) for one in SPECS[name])
    )
    model = LinearModel.from_features(container(X), WEIGHTS, fit_intercept)
    return ConstrainedProblem(model, loss, TARGET, WEIGHTS, ALPHA, bound)


def random_point(problem):
    return np.random.default_rng(1).normal(size=problem.n_unknowns)


def difference_quotients(function, at, step=1e-6):
    steps = step * np.eye(len(at))
    return np.array([(function(at + one) - function(at - one)) / (2 * step) for one in steps]).T


def test_objective_by_its_formula():
    problem = make_problem("parity")
    coef = np.array([0.3, -0.2, 0.1])
    intercept = 0.5
    x = problem.initial_point(problem.model.parameters(coef, intercept))
    evaluation = problem.evaluate(x)
    scores = X @ coef + intercept
    losses = np.average(np.log(1 + np.exp(-TARGET * scores)), weights=WEIGHTS)
    assert evaluation.fun == pytest.approx(losses + ALPHA / 2 * coef @ coef, rel=1e-13)
    np.testing.assert_allclose(evaluation.scores, scores, atol=1e-13)


def test_excess_and_violation():
    problem = make_problem("parity")
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
    x = random_point(problem)
    p = problem.n_parameters
    here = problem.evaluate(x)
    v = np.random.default_rng(2).normal(size=len(here.values))
    gram = problem.model.gram(here.curvature(v)) + np.diag(problem.ridge)
    np.testing.assert_allclose(here.hessian(v)[:p, :p], gram, rtol=1e-12)
    by_gradient = difference_quotients(lambda z: problem.evaluate(z).lagrangian_gradient(v), x)
    np.testing.assert_allclose(here.hessian(v), by_gradient, atol=1e-8)


@pytest.mark.parametrize("name", [one for one in LOSSES if not is_of_positive_numbers(one)])
def test_gradients_of_all_losses(name):
    problem = make_problem("parity", loss=LOSSES[name]())
    x = random_point(problem) / 3
    by_fun = difference_quotients(lambda z: problem.evaluate(z).fun, x)
    np.testing.assert_allclose(problem.evaluate(x).grad, by_fun, atol=1e-7)


@specs
def test_unknowns_follow_the_parameters(spec):
    problem = make_problem(spec)
    parameters = np.random.default_rng(3).normal(size=problem.n_parameters)
    x = problem.initial_point(parameters)
    assert len(x) == problem.n_unknowns == problem.n_parameters + problem.rows.n_aux
    evaluation = problem.evaluate(x)
    np.testing.assert_array_equal(evaluation.parameters, parameters)
    np.testing.assert_array_equal(
        evaluation.aux, problem.rows.initial_aux(problem.model.scores(parameters))
    )


def test_the_single_row_of_each_constraint_is_its_gap():
    problem = make_problem("joint")
    single = problem.join_rows()
    parameters = np.random.default_rng(3).normal(size=problem.n_parameters)
    evaluation = single.evaluate(single.initial_point(parameters))
    scores = evaluation.scores
    gaps = [one.gap(one.sums.smooth_means(scores)) for one in problem.constraint]
    np.testing.assert_array_equal(evaluation.values, gaps)
    np.testing.assert_array_equal(single.upper, [0.2, 0.4])
    assert single.n_unknowns == problem.n_parameters
    again = single.join_rows().evaluate(evaluation.x)
    np.testing.assert_array_equal(again.values, gaps)


def test_a_constraint_without_a_single_row_keeps_its_rows():
    def rows(scores, aux):
        return None

    problem = replace(make_problem("parity"), constraint=rows)
    assert problem.join_rows().rows is rows


def test_the_scale_of_weights_does_not_matter():
    problem = make_problem("parity")
    heavier = ConstrainedProblem(
        problem.model, problem.loss, TARGET, 7 * WEIGHTS, ALPHA, problem.constraint
    )
    x = random_point(problem)
    assert heavier.evaluate(x).fun == pytest.approx(problem.evaluate(x).fun, rel=1e-14)


def test_unused_derivatives_are_not_computed():
    class Counting:
        def __init__(self):
            self.calls = 0

        def __call__(self, scores, target):
            self.calls += 1
            return LogisticLoss()(scores, target)

    loss = Counting()
    problem = make_problem("parity")
    counted = ConstrainedProblem(problem.model, loss, TARGET, WEIGHTS, ALPHA, problem.constraint)
    evaluation = counted.evaluate(random_point(counted))
    assert evaluation.violation >= 0 and loss.calls == 0
    assert np.isfinite(evaluation.fun) and len(evaluation.grad) and loss.calls == 1


def components(problem):
    """Rows of each constraint."""
    return getattr(problem.rows, "components", (problem.rows,))


@pytest.mark.slow
@specs
def test_a_mini_batch_is_the_problem_on_average(spec):
    problem = make_problem(spec)
    x = random_point(problem)
    rng = np.random.RandomState(0)
    here = problem.evaluate(x)
    drawn = [problem.batches.draw(20, 10, rng).evaluate(x) for _ in range(2000)]
    for name in ("fun", "grad"):
        values = np.array([getattr(one, name) for one in drawn])
        error = values.std(axis=0) / np.sqrt(len(drawn))
        assert (np.abs(values.mean(axis=0) - getattr(here, name)) <= 5 * error + 1e-12).all()
    means = np.array([components(one.problem)[0].sums.smooth_means(one.scores) for one in drawn])
    expected = components(problem)[0].sums.smooth_means(here.scores)
    error = means.std(axis=0) / np.sqrt(len(drawn))
    assert (np.abs(means.mean(axis=0) - expected) <= 5 * error + 1e-12).all()


def test_samples_drawn_for_the_constraint_have_no_loss_and_those_for_the_loss_are_in_no_event():
    problem = make_problem("joint")
    batch = problem.batches.draw(7, 3, random_state=0)
    n_events = sum(one.sums.events.n_events for one in problem.constraint)
    assert len(batch.target) == 7 + 3 * n_events
    np.testing.assert_array_equal(batch.weights, np.arange(len(batch.target)) < 7)
    for rows in components(batch):
        assert not rows.events.averaging_matrix.toarray()[:, :7].any()
        np.testing.assert_array_equal(rows.sums.cells.counts, 3)
    again = problem.batches.draw(7, 3, random_state=0)
    np.testing.assert_array_equal(again.target, batch.target)
    x = random_point(problem)
    assert again.evaluate(x).fun == batch.evaluate(x).fun


def test_a_mini_batch_without_constraint():
    problem = make_problem("none")
    batch = problem.batches.draw(5, 2, random_state=0)
    assert len(batch.target) == 5
    assert np.isfinite(batch.evaluate(batch.initial_point()).fun)


@specs
def test_counted_rows_are_those_of_the_decisions_with_the_slopes_of_the_surrogate(spec):
    problem = make_problem(spec)
    x = random_point(problem)
    smooth = problem.evaluate(x)
    counted = evaluate_decisions(problem, x)
    for rows, constraint in zip(components(problem), components(counted.problem), strict=True):
        means = constraint.sums.smooth_means(counted.scores) + constraint.offset
        np.testing.assert_allclose(means, rows.sums.exact_means(smooth.scores))
    assert counted.fun == smooth.fun
    if spec != "single row":  # its slope is that of the pair with the largest difference
        np.testing.assert_allclose(counted.jacobian, smooth.jacobian, atol=1e-14)


def test_another_constraint_at_the_same_point_does_not_ask_the_model_again():
    problem = make_problem("parity")
    here = problem.evaluate(random_point(problem))
    there = here.replace_constraint(problem.constraint.correct(here.scores))
    assert there.point is here.point
    assert there.scores is here.scores


def test_selected_rows_of_the_jacobian():
    problem = make_problem("joint")
    here = problem.evaluate(random_point(problem))
    rows = np.array([2, 0])
    np.testing.assert_allclose(here.jacobian_of(rows), here.jacobian[rows], atol=1e-14)


def test_a_subset_of_a_problem_has_its_means():
    problem = make_problem("parity")
    rows = np.arange(0, N_SAMPLES, 2)
    subset = problem.take(rows)
    x = random_point(problem)
    full = problem.evaluate(x)
    here = subset.evaluate(x)
    np.testing.assert_allclose(here.scores, full.scores[rows])
    share = WEIGHTS[rows] / WEIGHTS[rows].sum()
    losses = problem.loss(full.scores, TARGET).value
    penalty = problem.ridge @ full.parameters**2 / 2
    assert here.fun == pytest.approx(share @ losses[rows] + penalty)


def test_a_mini_batch_is_penalised_as_the_problem_is():
    problem = make_problem("parity")
    drawn = problem.batches.draw(5, 4, random_state=0)
    x = random_point(problem)
    np.testing.assert_array_equal(drawn.ridge, problem.model.ridge(ALPHA))
    assert np.isfinite(drawn.evaluate(x).grad).all()


def fair_problem(order="C", tolerance=0.05):
    """A linear problem of three groups under two constraints."""
    rng = np.random.default_rng(0)
    X = np.asarray(rng.normal(size=(400, 4)), order=order)
    groups = rng.integers(3, size=400)
    target = rng.choice([-1.0, 1.0], size=400)
    weights = rng.uniform(0.5, 2.0, size=400)
    samples = Samples(target, check_groups(groups, 400), weights)
    loss = LogisticLoss()
    bound = [one.bind(samples, Sigmoid(), loss, tolerance) for one in ONE_PASS_CONSTRAINTS]
    model = LinearModel.from_features(X, weights)
    return ConstrainedProblem(model, loss, target, weights, 1e-2, ConstraintSystem(tuple(bound)))


ONE_PASS_CONSTRAINTS = [DemographicParity(), EqualizedOdds(aggregate="sum")]


def test_one_pass_of_a_kernel_has_the_values_and_derivatives_of_numpy(monkeypatch):
    problem = fair_problem()
    rng = np.random.default_rng(1)
    x = np.append(rng.normal(size=5), rng.normal(size=problem.n_unknowns - 5))
    multipliers = rng.normal(size=len(problem.lower))
    monkeypatch.setattr(problem_module, "MAX_NUMPY_STEPS", 0)
    by_kernel = problem.evaluate(x, multipliers)
    by_numpy = problem.evaluate(x)
    assert type(by_kernel) is not type(by_numpy)
    for name in ("fun", "grad", "values", "jacobian", "violation"):
        expected = getattr(by_numpy, name)
        np.testing.assert_allclose(getattr(by_kernel, name), expected, rtol=1e-10, atol=1e-12)
    for v in (multipliers, 2.0 * multipliers):  # those of the pass, and others
        expected = by_numpy.hessian(v)
        np.testing.assert_allclose(by_kernel.hessian(v), expected, rtol=1e-9, atol=1e-12)
        expected = by_numpy.lagrangian_gradient(v)
        np.testing.assert_allclose(by_kernel.lagrangian_gradient(v), expected, atol=1e-12)
        np.testing.assert_allclose(by_kernel.pull_back(v), by_numpy.pull_back(v), atol=1e-12)


def test_columns_in_any_order_of_memory_give_equal_bits():
    results = [SQP().solve(fair_problem(order)) for order in "CF"]
    np.testing.assert_array_equal(results[0].x, results[1].x)
    np.testing.assert_array_equal(results[0].multipliers, results[1].multipliers)
