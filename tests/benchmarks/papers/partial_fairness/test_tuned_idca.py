"""Settings of IDCA that are chosen on validation rows, on data made up here."""

from itertools import islice

import numpy as np
import pytest
from scipy import sparse

from benchmarks.papers.partial_fairness import tuned_idca
from benchmarks.papers.partial_fairness.cases import (
    Case,
    Rows,
    case,
    printed_bounds,
    raw_bounds,
)
from benchmarks.papers.partial_fairness.compiled_idca import idca_iterates, scores_of
from benchmarks.papers.partial_fairness.tuned_idca import EPSILONS, INNER_ITER, choose


def rows(seed, n=300):
    rng = np.random.default_rng(seed)
    groups = rng.integers(2, size=n)
    X = rng.normal(size=(n, 2)) + groups[:, np.newaxis]
    return Rows(sparse.csr_array(X), X.sum(axis=1) + rng.normal(size=n) > 1, groups)


def test_the_choice_is_the_best_on_the_validation_rows(monkeypatch):
    monkeypatch.setattr(tuned_idca, "N_SELECTION", 3)
    monkeypatch.setattr(tuned_idca, "N_PROBLEMS", (4, 8))
    problem = Case("a9a", rows(0), rows(1), rows(2))
    bounds = raw_bounds(problem.interval, 0.05)
    settings, n_problems, solution = choose(problem, bounds)

    def accuracy(inner_iter, epsilon, n):
        levels = np.linspace(*problem.interval, 10)
        iterates = idca_iterates(problem.train, levels, 0.05, epsilon, inner_iter, (1.0, 2.0))
        coef = list(islice(iterates, n))[-1].coef
        return np.mean((scores_of(coef, problem.validation) > 0) == problem.validation.y)

    accuracies = {(T, epsilon): accuracy(T, epsilon, 3) for T in INNER_ITER for epsilon in EPSILONS}
    assert accuracies[settings] == max(accuracies.values())
    ends = {n: accuracy(*settings, n) for n in (4, 8)}
    assert ends[n_problems] == max(ends.values())
    assert solution.n_passes == n_problems * settings[0]


def test_bounds_as_printed():
    levels, tau = printed_bounds((0.7, 1.0), 0.1)
    assert tau == pytest.approx(0.03)
    np.testing.assert_allclose(levels, 0.7 + 0.027 * np.arange(10))


def test_steps_are_those_in_the_columns_of_the_paper():
    """One group whose columns are (x, gamma, gamma x) of gamma 2 takes the steps of codes (2)."""
    part = rows(0)
    one = part._replace(groups=np.zeros_like(part.groups))
    levels = np.linspace(0.2, 0.4, 3)
    codes = (2.0,)
    doubled = one.add_cross_terms(codes)
    (short,) = islice(idca_iterates(one, levels, 0.1, 1e-3, 9, codes), 1)
    (wide,) = islice(idca_iterates(doubled, levels, 0.1, 1e-3, 9), 1)
    np.testing.assert_allclose(scores_of(short.coef, one), scores_of(wide.coef, doubled))
    assert short.objective == pytest.approx(wide.objective)
    assert np.ptp(scores_of(short.coef, one)) > 0.01


def test_validation_rows_are_disjoint_from_training_and_test():
    try:
        problem = case("law school", 0)
    except OSError:
        pytest.skip("the data are not on this disk")
    sizes = [len(part.y) for part in (problem.train, problem.validation, problem.test)]
    assert sum(sizes) == 20_798
    assert np.array(sizes) / sum(sizes) == pytest.approx([0.5625, 0.1875, 0.25], abs=1e-3)
