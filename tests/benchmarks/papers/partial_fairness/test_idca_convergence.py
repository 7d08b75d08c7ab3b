"""Curves of Figures 10 and 11 on generated data."""

import numpy as np
import pytest
from scipy import sparse

from benchmarks.papers.partial_fairness import idca_convergence
from benchmarks.papers.partial_fairness.cases import Case, Rows
from benchmarks.papers.partial_fairness.idca_convergence import (
    CANDIDATES,
    IDCA_NAME,
    PROBLEMS,
    Step,
)


@pytest.fixture
def problem(monkeypatch, tmp_path):
    rng = np.random.default_rng(0)
    groups = rng.integers(2, size=400)
    X = rng.normal(size=(400, 2)) + groups[:, np.newaxis]
    rows = Rows(sparse.csr_array(X), X.sum(axis=1) + rng.normal(size=400) > 1, groups)
    monkeypatch.setattr(idca_convergence, "case", lambda name, seed: Case("a9a", rows, rows))
    monkeypatch.setattr(idca_convergence, "FOLDER", tmp_path)


def test_a_curve_is_read_at_the_last_step_within_the_calls():
    curve = [Step(0, 0.7, 0.0), Step(200, 0.6, 0.01), Step(400, 0.5, 0.02)]
    assert idca_convergence._row(curve, 400) == {
        "after 100": "0.7000, 0.0000",
        "after 200": "0.6000, 0.0100",
        "after 400": "0.5000, 0.0200",
    }


@pytest.mark.usefixtures("problem")
@pytest.mark.parametrize("number", PROBLEMS)
def test_methods_lower_the_objective_from_a_feasible_start(number):
    for method in (IDCA_NAME, "SSG, epsilon 0.001", "SSG, epsilon 0.5 / (t + 1)"):
        curve = idca_convergence._load_or_solve(method, number, "a9a", 200)
        assert curve[0].objective == pytest.approx(np.log(2))
        assert curve[0].infeasibility <= 1e-12
        assert curve[-1].n_calls <= 200
        if method == "IDCA":
            assert curve[-1].objective < curve[0].objective
            assert curve[-1].infeasibility <= 5e-3 + 1e-9


@pytest.mark.usefixtures("problem")
def test_a_curve_is_computed_once(monkeypatch):
    first = idca_convergence._load_or_solve("IDCA", "(21)", "a9a", 200)
    monkeypatch.setattr(idca_convergence, "_solve", None)
    assert idca_convergence._load_or_solve("IDCA", "(21)", "a9a", 200) == first


@pytest.mark.usefixtures("problem")
def test_the_step_of_the_direct_method_is_the_best_of_all_candidates():
    chosen = idca_convergence._select_candidate("(21)", "a9a", 100)
    ends = {}
    for method, epsilon in CANDIDATES.items():
        curve = idca_convergence._load_or_solve(method, "(21)", "a9a", 100)
        tolerances = [epsilon(t) if callable(epsilon) else epsilon for t, *_ in curve]
        ends[method] = min(
            step.objective
            for step, tolerance in zip(curve, tolerances, strict=True)
            if step.infeasibility <= tolerance
        )
    assert len(ends) == 8 and ends[chosen] == min(ends.values()) < max(ends.values())


def test_an_infeasible_iterate_is_no_output():
    curve = [Step(0, 0.7, 0.0), Step(1, 0.6, 1e-4), Step(2, 0.1, 0.3)]
    assert idca_convergence._best_objective("SSG, epsilon 0.001", curve) == 0.6
    assert idca_convergence._best_objective("SSG, epsilon 2 / (t + 1)", curve) == 0.1
