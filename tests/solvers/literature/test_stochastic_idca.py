"""IDCA on mini-batches: agreement with IDCA on all samples, and networks."""

import numpy as np
import pytest

from skfair._bound.bound import draw_batch
from skfair.classification import ConstrainedMLPClassifier, PartialParityClassifier
from skfair.constraints import PartialDemographicParity, PartialGroupAUC, PartialStatisticalParity
from skfair.solvers import IDCA
from skfair.solvers.literature import StochasticIDCA
from tests.solvers.literature.test_proximal_idca import draw_samples, problem


@pytest.fixture(scope="module")
def task():
    """A small linear problem, where its plain fit ends, and the answer of IDCA."""
    task, start = problem()
    return task, start, IDCA(tol=1e-6).solve(task, start)


@pytest.mark.slow
def test_with_full_batches_it_agrees_with_idca(task):
    task, start, exact = task
    solver = StochasticIDCA(max_iter=600, tol=2e-3, inner_iter=30, batch_size=400)
    result = solver.solve(task, start)
    assert result.violation <= 2e-3
    assert result.fun == pytest.approx(exact.fun, abs=5e-3)


@pytest.mark.slow
def test_on_mini_batches_it_comes_near(task):
    task, start, exact = task
    solver = StochasticIDCA(max_iter=30, tol=5e-3)
    result = solver.solve(task, start, random_state=0)
    assert result.violation <= 5e-3 < task.evaluate(start).violation
    assert result.fun == pytest.approx(exact.fun, abs=0.03)
    first, second = (solver.set_params(max_iter=2).solve(task, start, random_state=0) for _ in "ab")
    np.testing.assert_array_equal(first.x, second.x)


@pytest.mark.slow
def test_rows_on_a_batch_are_unbiased(task):
    task, start, _ = task
    here = task.evaluate(start)
    majorant = task.rows.majorant(here.scores, here.aux)
    scores = here.scores + np.random.default_rng(0).normal(size=len(here.scores))
    rng = np.random.RandomState(0)
    drawn = []
    for _ in range(150):
        rows, batch = draw_batch(majorant, 8, rng)
        drawn.append(batch(scores[rows], here.aux).values)
    expected = majorant(scores, here.aux).values
    error = np.std(drawn, axis=0) / np.sqrt(len(drawn))
    assert (np.abs(np.mean(drawn, axis=0) - expected) <= 4 * error + 1e-12).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::skfair.exceptions.InfeasibleConstraintWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_all_layers_of_a_network_learn_it():
    X, samples = draw_samples(1000)
    constraint = PartialStatisticalParity((0.1, 0.6), tolerance=0.1)
    bound = constraint.bind(samples, None, None, 0.1)
    gaps = []
    for specification, solver in (
        (None, "adam-pd"),
        (constraint, StochasticIDCA(max_iter=9, tol=0.02)),
    ):
        model = ConstrainedMLPClassifier(
            specification, enforcement=None, solver=solver, hidden_layer_sizes=(8,), random_state=0
        )
        model.fit(X, samples.target, sensitive_features=samples.groups.codes)
        gaps.append(bound.value(model.decision_function(X)))
    assert gaps[1] < 0.5 * gaps[0]


def test_pairwise_constraints_need_full_data():
    X, samples = draw_samples(300)
    groups = {"sensitive_features": samples.groups.codes}
    solver = StochasticIDCA(max_iter=3, tol=0.1)
    with pytest.raises(ValueError, match="StochasticIDCA needs a constraint whose majorant is"):
        PartialParityClassifier("partial_group_auc", solver=solver, tolerance=0.05).fit(
            X, samples.target, **groups
        )
    for criterion in (PartialGroupAUC, PartialDemographicParity):
        network = ConstrainedMLPClassifier(criterion((0.1, 0.9), tolerance=0.1), solver=solver)
        with pytest.raises(ValueError, match="keeps it in the last layer"):
            network.set_params(enforcement=None).fit(X, samples.target, **groups)
