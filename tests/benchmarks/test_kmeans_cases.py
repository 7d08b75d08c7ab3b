import os
from pathlib import Path

import numpy as np
import pytest

from benchmarks import kmeans_cases
from benchmarks.kmeans_cases import (
    COST_RANGES,
    OTHER_METHODS,
    REAL,
    SYNTHETIC,
    problem,
    reference_fronts,
)
from benchmarks.papers.alternating_balance import table_1
from benchmarks.peers.kmeans_methods import fairness_error, vfairkm_front
from benchmarks.runner import BENCHMARKS, main
from benchmarks.tables import Check, Report, check_table, show
from benchmarks.timing import median_seconds, run_alternately

REFERENCE = Path(os.environ.get("SKFAIR_DATA", ""), "safairkm", "reference_fronts.npz")
needs_reference = pytest.mark.skipif(not REFERENCE.is_file(), reason="no reference_fronts.npz")


@pytest.mark.parametrize("name", SYNTHETIC)
def test_synthetic_problems_have_400_points_and_two_clusters(name):
    case = problem(name)
    assert case.X.shape == (400, 2)
    assert case.n_clusters == 2
    assert case.balance == pytest.approx(1 / 3 if "unequal" in name else 1)


def test_objectives_of_a_clustering_by_hand():
    case = problem("Syn_equal_ds1")._replace(
        X=np.array([[0.0], [2.0], [5.0], [5.0]]), codes=np.array([0, 1, 0, 1])
    )
    assert case.objectives(np.array([0, 0, 1, 1])) == (0.5, 1.0)
    assert case.objectives(np.array([0, 1, 0, 1]))[1] == 0.0


@needs_reference
@pytest.mark.parametrize("name", REAL)
def test_real_problems_are_those_of_the_reference(name):
    case = problem(name)
    with np.load(REFERENCE) as arrays:
        assert np.abs(case.X - arrays[f"{name}/X"]).max() < 1e-12
        assert np.array_equal(case.codes, arrays[f"{name}/groups"])
        lowest, highest, worst_balance, best_balance = arrays[f"{name}/box"]
    worst, best = case.box
    assert worst == pytest.approx((highest, worst_balance))
    assert best == pytest.approx((lowest, best_balance))
    assert COST_RANGES[name][0] < reference_fronts(name)["alg3_local"][:, 0].min()


@needs_reference
def test_reference_fronts_hold_cost_and_balance_of_every_method():
    fronts = reference_fronts("Adult_K10")
    assert tuple(fronts) == OTHER_METHODS
    assert all(points.shape[1] == 2 for points in fronts.values())


def test_the_rule_of_the_paper_raises_three_of_the_printed_weights():
    """Only on the second synthetic set does the printed weight make the fairness error small."""
    multiples = {}
    for name in SYNTHETIC:
        case = problem(name)
        weight = table_1.largest_weight(problem(name))
        (labels,) = vfairkm_front(case.X, case.codes, 2, [weight], random_state=0)
        assert fairness_error(labels, case.codes) < table_1.FAIR
        multiples[name] = weight / (table_1.MU_MAX[name] or table_1.SMALLEST_MU)
    assert list(multiples.values()) == [5, 1, 30, 30]


def test_fronts_made_here_stand_in_for_the_file(monkeypatch, tmp_path):
    fronts = {"Adult_K5": {"alternating": np.eye(2), "VfairKM": np.ones((1, 2))}}
    monkeypatch.setenv("SKFAIR_DATA", str(tmp_path))
    for module in (kmeans_cases, table_1):
        monkeypatch.setattr(module, "MADE_HERE", tmp_path / "fronts.npz")
    table_1._store(fronts | {"Syn_equal_ds1": {"homotopy": np.eye(2), "VfairKM": np.zeros((3, 2))}})
    merged = reference_fronts("Adult_K5")
    assert set(merged) == {"alg3_local", "vfairkm"}
    assert np.array_equal(merged["alg3_local"], np.eye(2))
    assert reference_fronts("Syn_equal_ds1")["vfairkm"].shape == (3, 2)


def test_without_the_file_there_are_no_reference_fronts(monkeypatch, tmp_path):
    monkeypatch.setattr(kmeans_cases, "MADE_HERE", tmp_path / "none.npz")
    monkeypatch.setenv("SKFAIR_DATA", str(tmp_path))
    assert reference_fronts("Adult_K10") == {}


@pytest.mark.parametrize(
    ("values", "sense", "outcome"),
    [
        ([1.0, 2.0, 3.0], ">=", "median"),
        ([1.0, 2.0, 3.0], "<=", "median"),
        ([2.0], ">=", "yes"),
        ([2.5], "<=", "no"),
        ([], ">=", "-"),
    ],
)
def test_a_check_compares_every_run_or_the_median_with_its_bound(values, sense, outcome):
    assert Check("figure", values, sense, 2.0).outcome == outcome


def test_tables_name_what_is_missing():
    missing = Check("share", [], ">=", 0.5)
    assert "reference not found" in check_table([missing])
    text = show(Report("Title", [{"a": 1}, {"b": 0.123456}], [missing]))
    assert text.startswith("Title")
    assert "0.1235" in text
    assert "nan" not in text.lower()


def test_contenders_alternate_after_a_warm_up():
    calls = []
    contenders = {name: lambda seed, name=name: calls.append((name, seed)) for name in "ab"}
    runs = run_alternately(contenders, 2)
    assert calls == [("a", 0), ("b", 0), ("a", 0), ("b", 0), ("a", 1), ("b", 1)]
    assert len(runs["a"]) == 2
    assert median_seconds(runs["a"]) >= 0


def test_the_command_line_runs_a_benchmark_and_prints_its_figures(capsys):
    main(["--quick", "selection"])
    printed = capsys.readouterr().out
    assert "== selection" in printed
    assert "violation without a warning" in printed


def test_a_benchmark_without_its_data_is_named_and_ends_nothing(capsys, monkeypatch):
    def nothing_on_disk(budget):
        """Needs a file."""
        raise OSError("no copy of the file")

    monkeypatch.setitem(BENCHMARKS, "fronts", nothing_on_disk)
    main(["fronts"])
    assert "fronts: not run. no copy of the file" in capsys.readouterr().out


def test_an_unknown_benchmark_is_refused_with_the_known_ones(capsys):
    with pytest.raises(SystemExit):
        main(["no-such"])
    assert "exact-balance" in capsys.readouterr().err
