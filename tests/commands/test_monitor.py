"""The command ``python -m skfair monitor``."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main
from skfair._commands.options import FINDING_STATUS
from skfair.monitoring import GapMonitor

RNG = np.random.default_rng(0)
N = 3600
DATES = pd.date_range("2026-01-01", "2026-06-30", periods=N)
SEX = RNG.choice(["f", "m"], N)
RATE = np.where((SEX == "f") & (DATES >= "2026-04-01"), 0.15, 0.45)
LOG = pd.DataFrame(
    {
        "date": DATES.strftime("%Y-%m-%d"),
        "decision": np.where(RNG.random(N) < RATE, "yes", "no"),
        "y": RNG.choice(["yes", "no"], N),
        "sex": SEX,
        "w": RNG.uniform(0.5, 1.0, N).round(2),
        "zero": 0,
        "late": np.where(np.arange(N) % 2, None, "yes"),
        "known": np.where(np.arange(N) % 2, None, "2026-08-01"),
        "early": "2025-01-01",
    }
)
BY_MONTH = pd.Series(DATES).dt.month.value_counts().sort_index().to_numpy()
COLUMNS = ["--sensitive", "sex", "--prediction", "decision", "--time", "date"]


@pytest.fixture(params=["csv", pytest.param("parquet", marks=pytest.mark.slow)])
def path(request, tmp_path):
    path = tmp_path / f"log.{request.param}"
    if request.param == "csv":
        LOG.to_csv(path, index=False)
    else:
        LOG.to_parquet(path)
    return path


def run(path, *more):
    out = path.with_suffix(".html")
    columns = COLUMNS[:4] if "--time" in more else COLUMNS
    options = [*columns, "--positive", "yes", "--out", str(out), *more]
    assert main(["monitor", str(path), *options]) in (0, FINDING_STATUS)
    return out.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_page_has_findings_picture_and_tables(path, capsys):
    page = run(path, "--by", "month", "--windows", "3", "6", "12")
    written = capsys.readouterr().out
    assert "3,600 samples in 2 groups by sex were counted in 6 batches, from 2026-01-01" in written
    assert "Contradicted since 2026-04-01" in written and "most likely since 2026-04-01" in written
    assert page.count("<li>", page.index("<h2>Findings")) >= 5
    assert re.search("<h1>Contradicted since .*2026-04-01.*: the gap exceeds", page)
    assert "Last 3 months (2026-04-01 to 2026-06-01), contradicted on average" in written
    often = "A false alarm comes about once in 300 months if the gap is just the tolerance"
    assert often in written and often in page
    # One picture for each month: the gap of the month, that of all months and the tolerance.
    assert page.count('class="hole"') == page.count('class="ref"') == 6
    assert page.count("<svg") == 9  # the curves of groups and their two keys, too
    assert page.count('class="dot end"') == page.count('<tr class="end">') > 0
    assert "Rates in all batches" in page and "<script" not in page


@pytest.mark.slow
def test_a_file_of_counts_has_the_state_of_its_samples(tmp_path, capsys):
    log = LOG.assign(date=LOG["date"].str[:7] + "-01")[["date", "decision", "y", "sex"]]
    counts = log.groupby(list(log)).size().reset_index(name="n").sample(frac=1, random_state=0)
    states = []
    for name, table, more in [("rows", log, []), ("counts", counts, ["--count", "n"])]:
        table.to_csv(tmp_path / f"{name}.csv", index=False)
        state = tmp_path / f"{name}.json"
        run(tmp_path / f"{name}.csv", "--target", "y", "--state", str(state), *more)
        text = state.read_text(encoding="utf-8").replace('"count": "n"', '"count": null')
        states.append(re.sub('"sha256": "[0-9a-f]+"', "", text))
    assert states[0] == states[1]
    with pytest.raises(SystemExit):
        run(tmp_path / "counts.csv", "--target", "y", "--count", "n", "--delay", "90 days")
    assert "--count is for classes of samples of equal weight" in capsys.readouterr().err


@pytest.mark.slow
def test_options_for_outcomes_weights_and_periods(path, capsys):
    run(path, "--target", "y", "--by", "quarter", "--weight", "w", "--run-length", "50")
    assert "in 2 batches" in capsys.readouterr().out
    windows = ["--windows", "3", "6", "12"]
    run(path, "--constraint", "demographic_parity", "--tolerance", "0.5", *windows)
    written = capsys.readouterr().out
    assert "Last 3 months (2026-04-01 to 2026-06-01), shown on average" in written
    # The gap of recent months is twice the gap since the start, which a certificate was about.
    assert "The last batches differ from the mean since the start." in written


@pytest.mark.covering(0)
@pytest.mark.parametrize(
    ("more", "match"),
    [
        (["--time", "sex"], "--time must name a column of dates"),
        (["--positive", "maybe"], "--positive"),
        (["--constraint", "parity"], "must be one of"),
        (["--out", "page.pdf"], "--out must be passed once"),
        (["--state", "state.txt"], "--state must end in one of .json"),
        (["--constraint", "equal_opportunity"], "--target must hold the outcomes"),
        (["--constraint", "equal_opportunity", "--outcome-date", "date"], "needs --target"),
        (
            ["--target", "y", "--constraint", "error_rate_parity", "--outcome-date", "date"],
            "--delay",
        ),
        (["--weight", "sex"], "--weight must hold numbers"),
        (["--weight", "zero"], "at least one positive"),
        (["--run-length", "1"], "--run-length must be a number of batches greater than 1"),
        (["--run-length", "often"], "--run-length"),
        (["--tolerance", "2"], "tolerance=2.0 is more than any gap"),
        (["--target", "late"], "1800 of 3600 outcomes. If they come later, keep these rows"),
        (["--target", "late", "--delay", "90"], "--delay must be a time span in days"),
        (["--target", "late", "--delay", "3 months"], "--delay must be a time span in days"),
        (["--target", "late", "--delay", "-3 days"], "--delay must be a time span in days"),
        (["--target", "late", "--delay", "9 days", "--id", "sex"], "column of different values"),
        (["--target", "late", "--delay", "9 days", "--state", "s.json"], "needs --id"),
        (["--target", "y", "--outcome-date", "known"], "has an outcome but no date"),
        (["--target", "late", "--outcome-date", "early"], "was known before the decision"),
    ],
)
def test_errors_about_options_are_one_sentence(path, capsys, monkeypatch, more, match):
    monkeypatch.chdir(path.parent)
    with pytest.raises(SystemExit):
        run(path, *more)
    error = capsys.readouterr().err
    assert any(one in error for one in match.split("|")) and error.count("\n") == 1
    assert "---" not in error
    assert not path.with_suffix(".html").exists()


def test_months_of_one_zone_are_those_of_its_clock_and_two_zones_are_refused(tmp_path, capsys):
    path = tmp_path / "log.csv"
    # Winter and summer time of one zone: the last hours of January and of June.
    dates = ["2026-01-31T23:30:00+01:00", "2026-02-01T00:30:00+01:00", "2026-06-30T23:30:00+02:00"]
    LOG.assign(date=dates * (N // 3)).to_csv(path, index=False)
    run(path)
    assert "in 6 batches, from 2026-01-01 to 2026-06-01" in capsys.readouterr().out
    dates[2] = "2026-02-01T00:30-05:00"
    LOG.assign(date=dates * (N // 3)).to_csv(path, index=False)
    with pytest.raises(SystemExit):
        run(path)
    assert r"of one zone, but end in +01:00 (row 1), -05:00 (row 3)" in capsys.readouterr().err


@pytest.mark.slow
def test_the_figures_are_written_as_json(path):
    out = path.with_suffix(".json")
    assert main(["monitor", str(path), *COLUMNS, "--positive", "yes", "--out", str(out)]) in (
        0,
        FINDING_STATUS,
    )
    results = json.loads(out.read_text(encoding="utf-8"), parse_constant=pytest.fail)
    # The state, what was read, two windows and their errors, the gap so far, alarms and the delay.
    assert results["verdict"] == "contradicted" and len(results["findings"]) == 9
    assert [one["n"] for one in results["batches"]] == BY_MONTH.tolist()
    assert results["since"] == "2026-04-01T00:00:00" and results["run_length"] == 300
    assert results["alarms"][0]["batch"] == 4
    rates = pd.DataFrame(results["rates"])
    april = (LOG["sex"] == "f") & LOG["date"].str.startswith("2026-04")
    selected = (LOG["decision"][april] == "yes").mean()
    row = rates[rates["time"].str.startswith("2026-04") & (rates["group"] == "f")].iloc[0]
    assert row["estimate"] == pytest.approx(selected) and row["n"] == april.sum()


def write_log(folder, months, name="log.csv", **columns):
    """The rows of the months 1, 2, ... as a file."""
    path = folder / name
    table = LOG.assign(id=np.arange(N), **columns)
    table[DATES.month <= months].to_csv(path, index=False)
    return path


def read_results(path, *more):
    """The figures of a file, without the day of the run, and without what was read before.

    Another run may be past midnight, and another state has read other periods.
    """
    out = path.with_suffix(".json")
    columns = COLUMNS[:4] if "--time" in more else COLUMNS
    options = [*columns, "--positive", "yes", "--out", str(out), *more]
    assert main(["monitor", str(path), *options]) in (0, FINDING_STATUS)
    results = json.loads(out.read_text(encoding="utf-8"))
    del results["source"]["date"]
    results["reading"]["left_out"].pop(READ_BEFORE, None)
    return results


READ_BEFORE = "decisions of periods that were read before are not read again"


@pytest.mark.slow
def test_a_growing_file_is_resumed_month_by_month(tmp_path, capsys):
    state = tmp_path / "state.json"
    for months in range(1, 7):
        path = write_log(tmp_path, months)
        resumed = read_results(path, "--state", str(state))
    assert resumed == read_results(path)
    left_out = BY_MONTH[:5].sum()
    assert f"{left_out:,} decisions of periods that were read before" in capsys.readouterr().out
    # Nothing is new: the page is the same, and the monitor can be drawn.
    assert read_results(path, "--state", str(state)) == resumed
    monitor = GapMonitor.from_json(state.read_text(encoding="utf-8"))
    assert len(monitor.summary()) == 6


@pytest.mark.covering(0)
@pytest.mark.parametrize(
    ("more", "match"),
    [
        (["--tolerance", "0.2"], "--tolerance must be that of"),
        (["--by", "week"], "--by must be that of"),
        (["--positive", "no"], "--positive must be that of"),
        (["--run-length", "none"], "--run-length must be that of"),
        (["--out", "STATE"], "--out must be passed once"),
    ],
)
def test_a_monitor_that_is_resumed_keeps_its_options(tmp_path, capsys, more, match):
    path = write_log(tmp_path, 2)
    state = tmp_path / "state.json"
    read_results(path, "--state", str(state))
    before = state.read_bytes()
    with pytest.raises(SystemExit):
        more = [str(state) if one == "STATE" else one for one in more]
        read_results(path, "--state", str(state), *more)
    assert match in capsys.readouterr().err and state.read_bytes() == before


def test_a_damaged_state_is_named(tmp_path, capsys):
    path = write_log(tmp_path, 2)
    state = tmp_path / "state.json"
    state.write_text('{"format": "skfair.GapMonitor", "version": 2, "content": {}}')
    with pytest.raises(SystemExit):
        read_results(path, "--state", str(state))
    assert "state.json cannot be read" in capsys.readouterr().err


@pytest.mark.slow
def test_an_error_while_the_page_is_written_leaves_the_state(tmp_path, monkeypatch):
    state = tmp_path / "state.json"
    read_results(write_log(tmp_path, 2), "--state", str(state))
    before = state.read_bytes()
    path = write_log(tmp_path, 4)

    def fail(*args):
        raise OSError("No space left on device")

    monkeypatch.setattr("skfair._utils.fit.os.replace", fail)
    with pytest.raises(SystemExit):
        read_results(path, "--state", str(state))
    assert state.read_bytes() == before
    assert not [one for one in os.listdir(tmp_path) if "part" in one]


# Outcomes of decisions are known after 40 days ("yes") or 70 ("no").
OUTCOME_DATES = DATES + pd.to_timedelta(np.where(LOG["y"] == "yes", 40, 70), "D")


def known_until(day):
    """Outcomes and their dates as they are in a file of this day; empty where outstanding."""
    is_known = OUTCOME_DATES < pd.Timestamp(day) + pd.Timedelta(1, "D")
    dates = OUTCOME_DATES.strftime("%Y-%m-%d")
    return {"late": np.where(is_known, LOG["y"], None), "known": np.where(is_known, dates, None)}


LATE = ["--target", "late", "--constraint", "equal_opportunity", "--outcome-date", "known"]


@pytest.mark.slow
def test_outcomes_with_dates_count_in_the_month_of_their_decision(tmp_path):
    path = write_log(tmp_path, 6, **known_until("2026-06-30"))
    results = read_results(path, *LATE)
    decided = pd.Series(DATES[(OUTCOME_DATES < "2026-07-01") & (LOG["y"] == "yes")])
    expected = decided.dt.month.value_counts().reindex(range(1, 7), fill_value=0)
    assert [one["n"] for one in results["batches"]] == expected.tolist()
    assert results["n_outstanding"] == (OUTCOME_DATES >= "2026-07-01").sum()
    assert results["findings"][-1].endswith("they wait for their outcome.")
    # Rates have the months of the decisions.
    rates = pd.DataFrame(results["rates"])
    assert rates["time"].str[:7].unique().tolist() == [f"2026-0{month}" for month in range(1, 6)]


@pytest.mark.slow
@pytest.mark.parametrize("more", [LATE, [*LATE, "--delay", "70 days"]])
def test_outcomes_of_later_files_are_those_of_earlier_decisions(tmp_path, more):
    state = tmp_path / "state.json"
    for months in (1, 3, 4, 6):
        day = pd.Timestamp("2026-01-01") + pd.offsets.MonthEnd(months)
        path = write_log(tmp_path, months, **known_until(day))
        resumed = read_results(path, *more, "--id", "id", "--state", str(state))
    assert resumed == read_results(path, *more, "--id", "id")


@pytest.mark.slow
def test_with_a_delay_cohorts_count_as_a_whole(tmp_path, capsys):
    columns = known_until("2026-06-30")
    path = write_log(tmp_path, 6, **columns)
    options = ["--target", "late", "--constraint", "error_rate_parity", "--delay", "71 days"]
    results = read_results(path, *options)
    # Decisions of January to March are at least 71 days old at the end of June.
    counted = pd.DataFrame(results["rates"]).groupby("time")["n"].sum()
    assert counted.tolist() == BY_MONTH[:3].tolist()
    assert results["n_outstanding"] == BY_MONTH[3:].sum()
    assert "warning" not in capsys.readouterr().err
    columns["late"][:50] = None
    read_results(write_log(tmp_path, 6, **columns), *options)
    assert "warning: 50 samples of 2026-01-01 have no outcome" in capsys.readouterr().err


@pytest.mark.slow
def test_marks_and_missing_categories_are_outstanding(tmp_path):
    columns = known_until("2026-06-30")
    one = read_results(write_log(tmp_path, 6, **columns), *LATE)
    stored = LOG.assign(late=pd.Categorical(columns["late"]), known=columns["known"])
    stored["date"] = DATES.tz_localize("UTC")
    stored.to_parquet(tmp_path / "log.parquet")
    source = {name: one.pop(name) for name in ("source", "reading")}  # of another file
    assert read_results(tmp_path / "log.parquet", *LATE) | source == one | source
    columns["late"] = np.where(columns["late"] == None, "NA", columns["late"])  # noqa: E711
    assert read_results(write_log(tmp_path, 6, **columns), *LATE) | source == one | source


@pytest.mark.slow
def test_samples_of_weight_zero_are_left_out_with_their_outcomes(tmp_path):
    columns = known_until("2026-06-30")
    weights = np.where(np.arange(N) % 10, 1.0, 0.0)
    weighted = read_results(write_log(tmp_path, 6, w=weights, **columns), *LATE, "--weight", "w")
    table = pd.read_csv(tmp_path / "log.csv")
    table[weights > 0].to_csv(tmp_path / "log.csv", index=False)
    plain = read_results(tmp_path / "log.csv", *LATE)
    assert weighted["reading"]["left_out"] == {"rows have weight 0": N // 10}
    other = dict.fromkeys(("source", "reading"))
    assert weighted | other == plain | other


@pytest.mark.slow
def test_without_run_length_the_page_states_the_error_of_one_alarm(path):
    page = run(path, "--run-length", "none")
    assert "An alarm is raised at most once" in page and "false alarm in" not in page


def test_nothing_is_said_of_the_gap_before_a_sample_is_counted(tmp_path, capsys):
    path = write_log(tmp_path, 2, **known_until("2026-02-28"))
    read_results(path, "--target", "late", "--delay", "400 days")
    text = capsys.readouterr().out
    assert "No sample is counted yet after 2 batches, from 2026-01-01 to 2026-02-01" in text
    assert "gap is" not in text and "are not counted yet" in text


@pytest.mark.slow
def test_every_week_has_a_picture_on_one_axis_with_the_tolerance(path):
    page = run(path, "--by", "week", "--tolerance", "0.1")
    table = page[page.index("<span>Batches</span>") :].split("</table>")[0]
    dates = re.findall(r'<th scope="row">(202[0-9-]+)</th>', table)
    weeks = pd.to_datetime(LOG["date"]).dt.to_period("W").dt.start_time.unique()
    assert dates == [f"{week:%Y-%m-%d}" for week in sorted(weeks)]
    ticks = re.findall(r"<span>([\d.]+)(?: %)?</span>", table.split("</thead>")[0])
    assert len(ticks) == 5 and ticks[0] == "0" and float(ticks[-1]) >= 20
    # The dashed line is at the tolerance of 10 points.
    lines = {*re.findall(r'class="ref" d="M([\d.]+) ', table)}
    assert lines == {f"{100 * 10 / float(ticks[-1]):.1f}"}


@pytest.mark.slow
def test_dates_with_points_begin_with_the_day(tmp_path, capsys):
    path = tmp_path / "log.csv"
    LOG.to_csv(path, index=False)
    expected = run(path, "--by", "month")
    LOG.assign(date=DATES.strftime("%d.%m.%Y")).to_csv(path, index=False, sep=";")
    assert run(path, "--by", "month").count("2026-05-01") == expected.count("2026-05-01") > 0
    LOG.assign(date=DATES.strftime("%m/%d/%Y")).to_csv(path, index=False)
    with pytest.raises(SystemExit):
        main(["monitor", str(path), *COLUMNS, "--positive", "yes"])
    assert "all as 2026-03-01 or all as 01.03.2026" in capsys.readouterr().err


@pytest.mark.parametrize("run_length", ["100", "20"])
def test_an_alarm_of_an_earlier_month_stands_until_a_certificate(run_length, tmp_path, capsys):
    """The samples since the alarm are too few for another one."""
    path = tmp_path / "log.csv"
    rng = np.random.default_rng(0)
    rates = np.where(SEX == "f", 0.25, 0.45)
    LOG.assign(decision=np.where(rng.random(N) < rates, "yes", "no")).to_csv(path, index=False)
    options = ["--positive", "yes", "--by", "month", "--tolerance", "0.05", "--json", "-"]
    status = main(["monitor", str(path), *COLUMNS, *options, "--run-length", run_length])
    results = json.loads(capsys.readouterr().out)
    assert "contradicted" in [batch["verdict"] for batch in results["batches"]]
    assert results["verdict"] != "shown" and any(
        "Contradicted since" in s for s in results["findings"]
    )
    assert status == FINDING_STATUS


@pytest.mark.slow
def test_periods_that_come_late_are_refused(tmp_path, capsys):
    state = tmp_path / "state.json"
    months = LOG.assign(month=DATES.month)
    for month, name in ((1, "a"), (3, "b"), (2, "c")):
        months[months["month"] == month].to_csv(tmp_path / f"{name}.csv", index=False)
    read_results(tmp_path / "a.csv", "--state", str(state))
    read_results(tmp_path / "b.csv", "--state", str(state))
    before = state.read_bytes()
    with pytest.raises(SystemExit, match="2"):
        read_results(tmp_path / "c.csv", "--state", str(state))
    late = (months["month"] == 2).sum()
    assert f"but {late:,} decisions are of periods (2026-02-01)" in capsys.readouterr().err
    assert state.read_bytes() == before
    # With --late they count in the windows, once, and in no evidence.
    without = read_results(tmp_path / "b.csv", "--state", str(state))
    results = [read_results(tmp_path / "c.csv", "--state", str(state), "--late") for _ in range(2)]
    assert results[0] == results[1]
    assert sum(row["n"] for row in results[0]["batches"]) == late + sum(
        row["n"] for row in without["batches"]
    )
    evidence = [[row["evidence_for"] for row in one["batches"]] for one in (without, results[0])]
    assert evidence[0] == evidence[1]


@pytest.mark.slow
def test_a_certificate_lapses_when_recent_months_depart(tmp_path, capsys):
    rng = np.random.default_rng(1)
    tables = []
    for month in range(18):
        sex = rng.choice(["f", "m"], 165)
        rate = np.where(sex == "f", 0.35 if month < 12 else 0.15, 0.37)
        date = f"{2024 + month // 12}-{month % 12 + 1:02d}-15"
        yes = np.where(rng.random(165) < rate, "yes", "no")
        tables.append(pd.DataFrame({"date": date, "sex": sex, "decision": yes}))
    path = tmp_path / "log.csv"
    pd.concat(tables).to_csv(path, index=False)
    results = read_results(path, "--tolerance", "0.1")
    batches = pd.DataFrame(results["batches"])
    # Certified in the first year, and not six months after the gap has doubled the tolerance.
    assert "shown" in batches["verdict"][:12].to_numpy()
    assert not (batches["verdict"][15:] == "shown").any()
    written = capsys.readouterr().out
    assert written.startswith("Contradicted since 2025") and ", contradicted" in written


def run_in_process(path, states):
    """A process that reads a file into one state after the other."""
    command = ["monitor", str(path), *COLUMNS, "--positive", "yes", "--out", str(path) + ".json"]
    code = "\n".join(
        (
            "from skfair.__main__ import main",
            f"for state in {[str(state) for state in states]}:",
            f"    assert main([*{command}, '--state', state]) in {(0, FINDING_STATUS)}",
        )
    )
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL)


@pytest.mark.slow
def test_two_processes_at_once_lose_no_month(tmp_path):
    states = [tmp_path / f"state{trial}.json" for trial in range(4)]
    paths = [write_log(tmp_path, months, name=f"{months}.csv") for months in (2, 3)]
    processes = [run_in_process(path, states) for path in paths]
    assert [process.wait(timeout=120) for process in processes] == [0, 0]
    for state in states:
        monitor = GapMonitor.from_json(state.read_text(encoding="utf-8"))
        assert monitor.summary()["n"].tolist() == BY_MONTH[:3].tolist()
