"""What the figures on partial fairness show, on data made up here."""

import numpy as np
import pytest
from scipy import sparse

from benchmarks import partial_figures
from benchmarks.partial_cases import INTERVALS, NAMES, Case, Rows
from benchmarks.partial_figures import METHODS, PROBLEMS, Step
from benchmarks.runner import BENCHMARKS


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    groups = rng.integers(2, size=400)
    X = rng.normal(size=(400, 2)) + groups[:, np.newaxis]
    rows = Rows(sparse.csr_array(X), X.sum(axis=1) + rng.normal(size=400) > 1, groups)
    return Case("a9a", rows, rows)


def test_one_side_of_an_interval_moves():
    for name in NAMES:
        intervals = partial_figures._intervals(name)
        assert len(intervals) == 5
        assert tuple(map(float, INTERVALS[name])) in [tuple(map(float, i)) for i in intervals]
        assert len({i[0] for i in intervals}) == 1 or len({i[1] for i in intervals}) == 1


def test_rates_at_the_ends_of_an_interval_by_hand():
    # Nine of the larger group at 10, 20, ..., 90, of whom 70 % are above 34; four of the other.
    scores = np.r_[np.arange(10.0, 100.0, 10.0), 95.0, 75.0, 45.0, 15.0]
    rows = Rows(None, np.ones(13, dtype=bool), np.repeat([1, 0], [9, 4]))
    found = partial_figures._rates(scores, Case("law school", rows, rows))
    assert found["at alpha"] == 0.75
    assert found["in the middle"] == 0.75
    assert found["at beta"] == 1.0
    assert found["slope"] == pytest.approx(0.25 / 0.3)


def test_a_course_is_read_at_the_last_step_that_was_paid_for():
    course = [Step(0, 0.7, 0.0), Step(200, 0.6, 0.01), Step(400, 0.5, 0.02)]
    assert partial_figures._at(course, 400) == {
        "after 100": "0.7000, 0.0000",
        "after 200": "0.6000, 0.0100",
        "after 400": "0.5000, 0.0200",
    }


@pytest.mark.parametrize("number", PROBLEMS)
def test_methods_lower_the_objective_from_a_feasible_start(number, problem, monkeypatch):
    monkeypatch.setattr(partial_figures, "case", lambda name, seed: problem)
    criterion, kappas = PROBLEMS[number]
    for method, make in METHODS.items():
        found = partial_figures._problem("a9a", criterion, kappas["a9a"])
        course = partial_figures._course(make(200), found)
        assert course[0].objective == pytest.approx(np.log(2))
        assert course[0].infeasibility <= 1e-12
        assert course[-1].n_calls <= 200
        if method == "IDCA":
            assert course[-1].objective < course[0].objective
            assert course[-1].infeasibility <= 5e-3 + 1e-9


def test_the_benchmark_has_a_name():
    assert "partial-figures" in BENCHMARKS
