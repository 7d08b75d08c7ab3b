"""The records that pages and docstrings name exist, and have the numbers of the pages."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks import record_tables
from benchmarks.kmeans_cases import SYNTHETIC
from benchmarks.papers.alternating_balance import table_1
from benchmarks.papers.alternating_balance.fronts import coverage, extra_costs
from benchmarks.papers.dc_admm import spectral_tables
from benchmarks.papers.index import PAPERS
from benchmarks.papers.partial_fairness.densities import TOLERANCES
from benchmarks.papers.partial_fairness.figures import KAPPAS
from benchmarks.record_tables import RecordTable
from benchmarks.runner import BENCHMARKS, main, run
from benchmarks.timing import FULL

ROOT = Path(__file__).parents[3]
RECORDED = FULL._replace(recorded_only=True)
FOLDER = ROOT / "benchmarks" / "papers" / "recorded"
FINDINGS = " ".join(entry.finding for paper in PAPERS for entry in paper.entries)
NAMED = sorted(
    name for name, benchmark in BENCHMARKS.items() if "papers/recorded" in (benchmark.__doc__ or "")
)
STUDIES = {  # tables of records by benchmark
    "erm-time-course": ("erm-time-course", "erm-time-course-rate"),
    "many-clusters": ("many-clusters",),
    "many-groups": ("many-groups",),
    "mlp-methods": ("mlp-methods",),
    "partial": ("partial-best",),
    "partial-densities": ("partial-printed",),
    "partial-figures": ("partial-printed",),
    "partial-networks": ("partial-networks",),
    "ranking-pairs": ("ranking-pairs",),
    "spectral-full": ("spectral-full", "spectral-tables"),
    "table-1": ("table-1",),
    "torch-loops": ("torch-loops",),
}
OTHERS = {"optimum"}  # named by a page, not by a docstring


@pytest.fixture(autouse=True)
def use_stored_records(monkeypatch):
    monkeypatch.setattr(record_tables, "FOLDER", FOLDER)


def text(number):
    return f"{number:.2f}".removeprefix("0")


def test_every_table_of_records_belongs_to_a_benchmark_that_names_it():
    assert sorted(STUDIES) == NAMED
    studies = {study for names in STUDIES.values() for study in names} | OTHERS
    assert {path.stem for path in FOLDER.glob("*.csv")} == studies
    page = (ROOT / "doc" / "papers.rst").read_text(encoding="utf-8")
    assert all(f'"{name}"' in page for name in (*NAMED, *OTHERS))


@pytest.mark.parametrize(
    "name",
    ["many-clusters", "many-groups", "optimum", "partial-networks", "ranking-pairs", "torch-loops"],
)
def test_recorded_shows_runs(name):
    """Others are compared with pages below, and erm-time-course in test_index.py."""
    try:
        report = run(name, RECORDED)
    except OSError as error:
        pytest.skip(f"needs public data: {error}")
    assert report.records


def test_a_command_without_records_says_so(capsys):
    main(["--recorded", "partial-tuned"])
    assert "No runs are stored" in capsys.readouterr().out


def test_numbers_of_group_gaps():
    records = {(row["model"], row["fit"], row["epochs"]): row for row in _load("many-groups")}
    rows = {
        method: [records["5 layers", method, epochs] for epochs in (5, 25)]
        for method in ("PLADA, (18)", "multiplier model")
    }
    for column in ("held-out average", "held-out error"):
        plada, model = ([text(row[column]) for row in of_method] for of_method in rows.values())
        if column == "held-out average":
            assert "{} and {} against {} and {}".format(*plada, *model) in FINDINGS
        else:
            assert "{}, {} against {}, {}".format(*model, *plada) in FINDINGS


def test_excess_of_ipp_conex():
    excess = [
        json.loads(line["points"])[-1]["train violation"]
        for name in ("a9a", "Bank")
        for line in RecordTable("erm-time-course")._lines()
        if (line["problem"], line["method"]) == (f"{name}, equalized_odds", "ipp-conex")
    ]
    numbers = [f"{number:.3f}".removeprefix("0") for number in excess]
    assert "exceeds the tolerance by {} and {} on a9a and Bank".format(*numbers) in FINDINGS


def test_numbers_of_stochastic_methods():
    report = run("mlp-methods", RECORDED)
    many, fixed = re.findall(r"(\d+) of 28 on test rows", report.title)
    assert f"test rows {many} lie within two standard errors" in FINDINGS
    assert f"and {fixed} with one fixed split" in FINDINGS
    tests = [row for row in report.records if row["rows"] == "test" and row["runs"] == 10]
    for method, sentence in {
        "ConstrainedMLPClassifier": "the default has {} and {}, at inaccuracy {} and {}",
        "ALM": "ALM has {} and {}, at inaccuracy {} and {} in these runs",
    }.items():
        rows = [row for row in tests if row["method"] == method]
        numbers = [row[measure][1:5] for measure in ("Ind", "Ina") for row in rows]
        assert sentence.format(*numbers) in FINDINGS


def test_numbers_of_figures_3_to_5():
    columns = {name: kappas for name, (kappas, _) in TOLERANCES["statistical_parity"].items()}
    differences = {
        line["problem"]: 1.0 - float(line["fairness"])
        for line in RecordTable("partial-printed")._lines()
    }
    of_figures = (columns, KAPPAS)
    names = [f"{name} {one}" for by_name in of_figures for name in by_name for one in by_name[name]]
    assert differences.keys() == {*names}
    smallest = [differences[f"{name} {min(kappas)}"] for name, kappas in columns.items()]
    numbers = [f"{difference:.3f}".removeprefix("0") for difference in smallest]
    assert "to {}, {} and {} in the largest difference of shares".format(*numbers) in FINDINGS


def test_numbers_of_ranking_pairs():
    worst = {
        (record["method"], record["epochs"]): text(record["worst query"])
        for record in run("ranking-pairs", RECORDED).records
    }
    plada, model = (
        [worst[method, epochs] for epochs in (1, 10)] for method in ("PLADA", "multiplier model")
    )
    assert "({}, {} against {}, {})".format(*plada, *model) in FINDINGS


def test_numbers_of_large_kernels():
    seconds = {}
    for line in RecordTable("spectral-full")._lines():
        seconds.setdefault(line["method"], []).append(float(line["CPU s"]))
    ends = [
        f"{min(seconds[method]):.0f} to {max(seconds[method]):.0f}"
        for method in ("default", "s-FSC", "DC-ADMM")
    ]
    expected = "{} CPU seconds by the default, {} by s-FSC and {} by DC-ADMM"
    assert expected.format(*ends) in " ".join(FINDINGS.split())


def test_numbers_of_table_1_of_dc_admm():
    report = spectral_tables.table_1(spectral_tables.PRINTED_SIZES, RECORDED)
    ratios = {
        method: [row["time / DC-ADMM"] for row in report.records if row["method"] == method]
        for method in ("s-FSC", "default")
    }
    slower, default = (list(map(text, values)) for values in ratios.values())
    assert "s-FSC {}, {} and {} times".format(*slower) in FINDINGS
    assert "default takes {}, {} and {} times".format(*default) in FINDINGS
    balances = [
        text(row["balance"]) for row in report.records if row["method"] == spectral_tables.LAGGED
    ]
    assert "balances of DC-ADMM are {}, {} and {}".format(*balances) in FINDINGS


def test_numbers_of_s_fsc_on_lastfm():
    report = spectral_tables.figure_3(spectral_tables.SIZES, RECORDED)
    ratios = {
        method: [row["time / DC-ADMM"] for row in report.records if row["method"] == method]
        for method in ("s-FSC", spectral_tables.PRESET)
    }
    stored, by_sparse = ratios.values()
    stored = [f"{ratio:.2g}" if ratio >= 10 else f"{ratio:.1f}" for ratio in stored]
    assert "{}, {}, {} and {} times as long".format(*stored) in FINDINGS
    assert "{}, {}, {} and {} times as long".format(*map(text, by_sparse)) in FINDINGS


def test_numbers_of_fronts():
    fronts = {}
    for line in RecordTable("table-1")._lines():
        fronts.setdefault(line["problem"], {})[line["method"]] = np.array(json.loads(line["front"]))
    lists = ("alternating", table_1.EQUAL_SUMS, table_1.TIES, table_1.PRINTED)
    for name in SYNTHETIC:
        homotopy = fronts[name]["homotopy"]
        assert all(coverage(homotopy, fronts[name][method]) == 1 for method in lists)
    ahead = {}
    largest = 0.0
    for (name, methods), (method, points) in _methods_of(fronts):
        extra = extra_costs(methods["homotopy"], points)
        if (extra > table_1.AHEAD).any():
            ahead[name, method] = int((extra > table_1.AHEAD).sum())
            largest = max(largest, *extra[np.isfinite(extra)])
    assert ahead == {("Syn_unequal_ds2", table_1.RULE): 1, ("Bank_K5", table_1.EQUAL_SUMS): 1}
    assert f"by {text(100 * largest)} %, and one of the alternating algorithm" in FINDINGS
    ten = [fronts["Adult_K10"][method] for method in ("VfairKM", "alternating")]
    assert f"covers {text(coverage(*ten))} of the alternating" in FINDINGS
    assert coverage(*ten[::-1]) == 0
    n_points = [
        len(fronts["Syn_equal_ds1"][name]) for name in (table_1.PRINTED, table_1.EQUAL_SUMS)
    ]
    assert "{} points on Syn_equal_ds1, {} without ties".format(*n_points) in FINDINGS


def _methods_of(fronts):
    """Pairs of a problem with its methods, and of a method with its points."""
    data = {name: fronts[name] for name in fronts if name != table_1.FIGURE_7}
    return [(case, method) for case in data.items() for method in case[1].items()]


def _load(study):
    """Records of a table, without the runs."""
    return [
        {
            key: json.loads(value)
            for key, value in line.items()
            if key not in record_tables._RUN_COLUMNS and value
        }
        for line in RecordTable(study)._lines()
    ]


def test_a_record_must_not_replace_the_name_of_its_run(tmp_path, monkeypatch):
    from benchmarks.records import Run

    monkeypatch.setattr(record_tables, "FOLDER", tmp_path)
    one = Run("data", "PLADA, 5 epochs", 0, "", dict)
    with pytest.raises(ValueError, match=r"must not have the keys \['method'\]"):
        RecordTable("study").save(one, {"method": "PLADA", "gap": np.nan})
