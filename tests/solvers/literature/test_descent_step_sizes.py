import numpy as np
import pytest

from skfair.losses import LOSSES, is_of_positive_numbers
from skfair.solvers.literature._descent import Smoothness


def constants(problem):
    one_sided = problem.one_sided
    return Smoothness.estimate(problem.evaluate(problem.initial_point()), one_sided)


def hessian(problem, weights):
    return problem.model.gram(weights) + np.diag(problem.ridge)


def test_they_are_eigenvalues_and_norms(problems):
    problem = problems.fair()
    estimates = constants(problem)
    gram = np.linalg.eigvalsh(problem.model.gram(np.ones(240)))[-1]
    assert estimates.gram == pytest.approx(gram, rel=0.05)
    at_zero = np.linalg.eigvalsh(hessian(problem, 0.25 * problem.mean_weights))[-1]
    assert estimates.objective == pytest.approx(at_zero, rel=0.1)
    slope = np.linalg.norm(problem.evaluate(problem.initial_point()).jacobian)
    assert estimates.rows >= np.sqrt(2) * slope * (1 - 1e-12)  # two bounds, one row


@pytest.mark.parametrize("name", [one for one in LOSSES if not is_of_positive_numbers(one)])
def test_no_loss_is_steeper_than_estimated(name, problems):
    known = problems.fair()
    problem = type(known)(
        known.model, LOSSES[name](), known.target, known.weights, 0.1, known.constraint
    )
    bound = constants(problem).objective
    rng = np.random.default_rng(0)
    for _ in range(20):
        x = rng.normal(size=problem.n_unknowns)
        curved = hessian(problem, problem.evaluate(x).loss_curvature)
        assert np.linalg.eigvalsh(curved)[-1] <= bound * 1.05


def test_multipliers_add_the_rows_curvature(problems):
    problem = problems.fair()
    estimates = constants(problem)
    x = np.array([1.0, -1.0, 0.5, 0.3])
    evaluation = problem.evaluate(x)
    for multipliers in (np.array([0.0]), np.array([5.0]), np.array([-5.0])):
        curved = hessian(problem, evaluation.curvature(multipliers))
        bound = estimates.bound_lagrangian_curvature(evaluation, multipliers)
        assert np.abs(np.linalg.eigvalsh(curved)).max() <= bound
    assert estimates.bound_lagrangian_curvature(evaluation, np.array([0.0])) == estimates.objective


def test_samples_without_weight_in_the_loss_may_count_in_the_rows(problems):
    known = problems.fair()
    weights = (known.target > 0).astype(float)
    problem = type(known)(known.model, known.loss, known.target, weights, 0.1, known.constraint)
    estimates = constants(problem)
    evaluation = problem.evaluate(np.array([1.0, -1.0, 0.5, 0.3]))
    multipliers = np.array([5.0])
    curved = hessian(problem, evaluation.curvature(multipliers))
    bound = estimates.bound_lagrangian_curvature(evaluation, multipliers)
    assert np.abs(np.linalg.eigvalsh(curved)).max() <= bound < np.inf


def test_without_columns(problems):
    """Without curvature nothing is divided by zero."""
    known = problems.fair()
    model = type(known.model).from_features(np.zeros((240, 2)), known.weights, fit_intercept=False)
    problem = type(known)(model, known.loss, known.target, known.weights, 0.0, known.constraint)
    assert constants(problem).objective == pytest.approx(0, abs=1e-50)


def test_without_rows(problems):
    assert constants(problems.fair(n_groups=1)).rows == 0
