"""What the courses of Figures 10 and 11 show, on data made up here."""

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


def test_a_course_is_read_at_the_last_step_that_was_paid_for():
    course = [Step(0, 0.7, 0.0), Step(200, 0.6, 0.01), Step(400, 0.5, 0.02)]
    assert idca_convergence._at(course, 400) == {
        "after 100": "0.7000, 0.0000",
        "after 200": "0.6000, 0.0100",
        "after 400": "0.5000, 0.0200",
    }


@pytest.mark.usefixtures("problem")
@pytest.mark.parametrize("number", PROBLEMS)
def test_methods_lower_the_objective_from_a_feasible_start(number):
    for method in (IDCA_NAME, "SSG, epsilon 0.001", "SSG, epsilon 0.5 / (t + 1)"):
        course = idca_convergence._kept_course(method, number, "a9a", 200)
        assert course[0].objective == pytest.approx(np.log(2))
        assert course[0].infeasibility <= 1e-12
        assert course[-1].n_calls <= 200
        if method == "IDCA":
            assert course[-1].objective < course[0].objective
            assert course[-1].infeasibility <= 5e-3 + 1e-9


@pytest.mark.usefixtures("problem")
def test_a_course_is_computed_once(monkeypatch):
    first = idca_convergence._kept_course("IDCA", "(21)", "a9a", 200)
    monkeypatch.setattr(idca_convergence, "_course", None)
    assert idca_convergence._kept_course("IDCA", "(21)", "a9a", 200) == first


@pytest.mark.usefixtures("problem")
def test_the_step_of_the_direct_method_is_the_best_of_all_candidates():
    chosen = idca_convergence._chosen("(21)", "a9a", 100)
    ends = {
        method: idca_convergence._kept_course(method, "(21)", "a9a", 100)[-1].objective
        for method in CANDIDATES
    }
    assert len(ends) == 8 and ends[chosen] == min(ends.values()) < max(ends.values())
