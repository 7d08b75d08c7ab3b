"""The count of false guarantees at multiples of the plain gap, on records made up here."""

import numpy as np
import pytest

from benchmarks.guarantees import plain_gaps, redraws
from benchmarks.guarantees.populations import HOUSEHOLD, REPORTING, Case
from benchmarks.guarantees.redraws import CASES, CELLS, LEVELS, TOLERANCES, name_cell
from benchmarks.runner import _parse
from benchmarks.timing import FULL, QUICK
from skfair.constraints import BoundedGroupLoss, DemographicParity


def fit(guaranteed=True, holds=True, limit_holds=True, probability=0.96, seconds=3.0):
    return {
        "guaranteed": guaranteed,
        "kept": holds,
        "limit kept": limit_holds,
        "probability": probability,
        "accuracy": 0.8,
        "seconds": seconds,
    }


def record(seconds=3.0, **values):
    plain = fit(guaranteed=False, seconds=1.0) | {"accuracy": 0.85}
    return {"plain": plain, "0.95": fit(seconds=seconds, **values)}


def test_shares_are_pooled_over_populations_and_times_are_not():
    first = [record(), record(holds=False), record(guaranteed=False, limit_holds=False)]
    second = [record(seconds=7.0)]
    row = plain_gaps.pool("losses", "0.95", 0.95, [first, second])
    assert row["redraws"] == 4
    assert row["guaranteed"] == 0.75
    assert row["broken / all"] == 0.25
    assert row["broken / guaranteed"] == pytest.approx(1 / 3)
    assert row["limit exceeded"] == 0.25
    assert row["of refused"] == 1.0
    assert row["accuracy lost"] == pytest.approx(0.05)
    assert (row["time / plain"], row["largest"]) == (5.0, 7.0)
    assert row["2 s.e."] == pytest.approx(2.0 * np.sqrt(0.05 * 0.95 / 4))


def test_a_false_guarantee_among_few_is_checked_among_all_alone():
    row = plain_gaps.pool("losses", "0.95", 0.95, [[record(holds=False)] * 9 + [record()]])
    checks = {check.what.split(",")[0]: check for check in plain_gaps._check(row)}
    assert checks["broken / all"].outcome == checks["broken / guaranteed"].outcome == "no"
    refused = [record(guaranteed=False)] * 99
    row = plain_gaps.pool("losses", "0.95", 0.95, [[record(holds=False), *refused]])
    checks = {check.what.split(",")[0]: check for check in plain_gaps._check(row)}
    assert checks["broken / all"].outcome == checks["limit of refused exceeded"].outcome == "yes"
    assert "broken / guaranteed" not in checks


def test_twice_the_noise_must_be_guaranteed():
    row = plain_gaps.pool("losses", "noise", 0.95, [[record(guaranteed=False), record()]])
    checks = {check.what.split(",")[0]: check for check in plain_gaps._check(row)}
    assert checks["guaranteed"].outcome == "no"


def test_no_redraw_needs_no_check():
    row = plain_gaps.pool("losses", "0.95", 0.95, [[]])
    assert row["redraws"] == 0
    assert plain_gaps._check(row) == []


def test_cells_are_run_by_tolerance_and_chosen_by_name(monkeypatch):
    calls = []

    def records_of(name, n_redraws, recorded_only):
        calls.append((name, n_redraws))
        return [record() | {"0.8": fit()}]

    monkeypatch.setattr(plain_gaps, "records_of", records_of)
    report = plain_gaps.redraw_levels(QUICK._replace(cells=("losses", "at 1.4")))
    names = [name for name, _ in calls]
    assert all("losses" in name or name.endswith("at 1.4") for name in names)
    assert len(names) == len(set(names)) > len(CELLS["losses"])
    tolerances = [name.split(" at ")[1] for name in names]
    assert tolerances == sorted(tolerances, key=list(TOLERANCES).index)
    assert {n for _, n in calls} == {40}
    assert len(report.records) == len(LEVELS) * (len(CELLS) + len(TOLERANCES) - 1)
    calls.clear()
    plain_gaps.cell_redraws(FULL._replace(cells=("losses, mislabelled at 0.6",)))
    assert calls == [("cell: losses, mislabelled at 0.6", 300)]


def test_the_command_line_takes_texts_of_cells():
    assert _parse(["redraw-levels", "--quick", "--cells", "losses", "0.95"]).cells == [
        "losses",
        "0.95",
    ]
    assert tuple(_parse(["redraw-levels"]).cells) == ()


def test_every_kind_has_cells_at_every_tolerance():
    for kind, cases in CELLS.items():
        for name in cases:
            names = {one: name_cell(kind, name, one) for one in TOLERANCES}
            if kind == "largest loss":
                assert names.pop("noise") not in CASES
            for tolerance, cell in names.items():
                assert (CASES[cell].tolerance, CASES[cell].unit) == TOLERANCES[tolerance]


@pytest.fixture
def small(monkeypatch):
    """A population of three hundred with a plain gap, as if it were that of households."""
    rng = np.random.default_rng(0)
    groups = rng.integers(2, size=300)
    X = rng.normal(size=(300, 2)) + groups[:, np.newaxis]
    y = (X.sum(axis=1) + rng.logistic(size=300) > 1).astype(int)
    monkeypatch.setitem(REPORTING, "households", lambda: (X, y, groups))
    caches = redraws.population, redraws.bound, redraws.requirements, redraws.measure_plain_fits
    for cached in caches:
        cached.cache_clear()
    yield "households"
    for cached in caches:
        cached.cache_clear()


def test_tolerances_are_multiples_of_the_plain_gap_and_of_the_noise(small, monkeypatch):
    parity = Case(small, 150, "demographic_parity")
    ratio = parity._replace(constraint=DemographicParity(ratio=0.8))
    loss = parity._replace(constraint=BoundedGroupLoss(1.0))
    for name, case in {"gap": parity, "ratio": ratio, "loss": loss}.items():
        cell = case._replace(tolerance=0.5, unit="plain gap")
        monkeypatch.setitem(CASES, name, cell)
    noisy = parity._replace(tolerance=2.0, unit="noise")
    monkeypatch.setitem(CASES, "noise", noisy)
    plain = redraws.measure_plain_fits(parity)
    assert 0.2 < plain["plain gap"] < 0.8
    assert redraws.requirements("gap") == ("demographic_parity", 0.5 * plain["plain gap"])
    assert redraws.requirements("noise")[1] == 2.0 * plain["noise"]
    # 1.645 standard errors of a gap of two groups of 75 with rates of about .3 and .7.
    assert plain["noise"] == pytest.approx(1.645 * np.sqrt(2 * 0.21 / 75), rel=0.35)
    constraint, tolerance = redraws.requirements("ratio")
    plain_gap = redraws.measure_plain_fits(ratio)["plain gap"]
    assert tolerance is None and constraint.ratio == pytest.approx(1.0 - 0.5 * plain_gap)
    constraint, tolerance = redraws.requirements("loss")
    assert constraint.upper_bound == tolerance
    (one,) = redraws.bound("ratio")
    assert one.tolerance == pytest.approx(0.5 * redraws.measure_plain_fits(ratio)["plain gap"])


def test_households_are_drawn_as_a_whole(small):
    case = Case(small, 150, "demographic_parity")
    rows = redraws._draw_rows(case, 300, 0).reshape(-1, HOUSEHOLD)
    assert rows.shape == (150 // HOUSEHOLD, HOUSEHOLD)
    assert (rows % HOUSEHOLD == np.arange(HOUSEHOLD)).all()
    assert (rows // HOUSEHOLD == rows[:, :1] // HOUSEHOLD).all()
