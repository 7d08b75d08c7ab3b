import numpy as np
import pytest

from skfair.classification import ConstrainedERMClassifier
from skfair.constraints import DemographicParity, EqualizedOdds
from skfair.solvers import SQP, ProxyLagrangian


def selection_gap(problem, x):
    """From scores alone: every other sample is in the second group."""
    selected = problem.model.scores(x[: problem.n_parameters]) > 0
    return abs(selected[0::2].mean() - selected[1::2].mean())


def test_the_decisions_keep_the_bound(problems):
    problem = problems.fair(tolerance=0.05)
    smooth = SQP().solve(problem)
    result = ProxyLagrangian(max_iter=2000).solve(problem)
    assert selection_gap(problem, result.x) <= 0.05 + 1e-4
    assert result.violation == pytest.approx(max(0, selection_gap(problem, result.x) - 0.05))
    assert result.status in ("optimal", "max_iter")
    assert result.fun < np.log(2) - 0.05, "better than the constant model"
    assert abs(result.fun - smooth.fun) < 0.1


def test_what_it_reports_are_the_decisions_rows_and_the_surrogate_s_slopes(problems):
    problem = problems.fair(EqualizedOdds(), tolerance=0.05)
    steps = []
    ProxyLagrangian(max_iter=5).solve(problem, callback=steps.append)
    for progress in steps:
        evaluation = progress.evaluation
        scores = problem.model.scores(evaluation.parameters)
        decisions = problem.constraint.sums.exact_means(scores)
        rows = problem.rows.rates_to_rows @ decisions
        np.testing.assert_allclose(evaluation.values, rows, atol=1e-12)
        np.testing.assert_allclose(
            evaluation.jacobian, problem.evaluate(evaluation.x).jacobian, atol=1e-12
        )


@pytest.mark.slow
def test_three_groups_with_a_free_centre(problems):
    problem = problems.fair(DemographicParity(), n_groups=3, tolerance=0.05)
    result = ProxyLagrangian(max_iter=3000).solve(problem)
    assert result.violation <= 1e-4
    scores = problem.model.scores(result.x[: problem.n_parameters])
    assert problem.constraint.value(scores) <= 0.05 + 2e-4


def test_a_constraint_on_ranks_is_refused():
    rng = np.random.default_rng(0)
    groups = rng.integers(2, size=200)
    X = rng.normal(size=(200, 2)) + groups[:, np.newaxis]
    model = ConstrainedERMClassifier("partial_statistical_parity", solver="proxy-lagrangian")
    with pytest.raises(
        ValueError, match="needs a constraint that can be shifted to count decisions"
    ):
        model.fit(X, X[:, 0] > 0.5, sensitive_features=groups)
