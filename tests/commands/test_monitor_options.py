"""Options of other commands in the monitor, windows by calendar, and certificates that lapse."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main
from skfair._commands.monitor import _RUN_LENGTH
from skfair.monitoring import GapMonitor

COLUMNS = "--prediction d --sensitive sex --time date --tolerance 0.1".split()


def draw_month(month, gap=0.0, n=400):
    rng = np.random.default_rng(100 * month)
    sex = rng.choice(["f", "m"], n)
    d = (rng.random(n) < np.where(sex == "f", 0.5 - gap, 0.5)).astype(int)
    table = pd.DataFrame({"date": f"2025-{month:02d}-15", "sex": sex, "d": d})
    return table.assign(id=[f"{month}-{i}" for i in range(n)], age=rng.integers(18, 70, n))


@pytest.fixture
def monitor(tmp_path, monkeypatch, capsys):
    """A function that lets a monitor read a table; it returns its results."""
    monkeypatch.chdir(tmp_path)

    def run(table, *options, columns=COLUMNS):
        table.to_csv("log.csv", index=False)
        main(["monitor", "log.csv", *columns, *options, "--json", "-"])
        return json.loads(capsys.readouterr().out)

    return run


def test_the_command_has_the_run_length_of_the_class():
    assert _RUN_LENGTH == GapMonitor("demographic_parity", 0.1).run_length


@pytest.mark.slow
def test_windows_are_by_calendar_and_absent_months_are_named(monitor):
    tables = [draw_month(month) for month in (1, 2, 4)]
    windows = ["--windows", "3", "6", "12"]
    results = monitor(pd.concat(tables), *windows)
    assert [one["n"] for one in results["batches"]] == [400, 400, 0, 400]
    assert "No decisions were counted of 1 month in between: 2025-03-01." in results["findings"]
    (window,) = results["windows"]
    assert window["start"].startswith("2025-02-01")
    for table in tables:
        resumed = monitor(table, "--state", "s.json", *windows)
    assert resumed["windows"] == results["windows"] and resumed["batches"] == results["batches"]


@pytest.mark.slow
def test_a_month_without_decisions_may_raise_an_alarm(monitor):
    """The window that it ends is about other months than the one before."""
    for month in (1, 2, 3, 5):
        drawn = draw_month(month, 0.38 * (month == 3))
        windows = ["--windows", "3", "6", "12", "--run-length", "100"]
        results = monitor(drawn, "--state", "s.json", *windows)
    batches = pd.DataFrame(results["batches"])
    assert batches["n"].tolist() == [400, 400, 400, 0, 400]
    assert batches["verdict"].tolist()[2:4] == ["open", "contradicted"]
    assert results["alarms"][0]["time"].startswith("2025-04-01")


@pytest.mark.slow
def test_late_months_count_in_windows_and_are_named_where_they_do_not(monitor, capsys):
    months = {month: draw_month(month, 0.45 * (month == 3)) for month in range(1, 5)}
    expected = monitor(pd.concat(months))
    for order in ((1, 2, 4, 3), (1, 4, 3, 2)):
        for month in order:
            state = f"{order}.json"
            results = monitor(months[month], "--state", state, "--late")
        assert results["windows"] == expected["windows"]
        late = [
            f"2025-{month:02d}-01" for i, month in enumerate(order) if month < max(order[: i + 1])
        ]
        (sentence,) = [one for one in results["findings"] if "which came late" in one]
        assert f"without {400 * len(late)} samples of" in sentence.replace(",", "")
        assert all(day in sentence for day in late)
        # The verdict since the start is about the others, too.
        (verdict,) = [one for one in results["findings"] if "without the samples that" in one]
        starts = r"(Shown|The tolerance is kept) on average|Not shown yet|Contradicted"
        assert re.match(starts, verdict)
    assert not any("came late" in one for one in expected["findings"])
    monitor(months[2], "--state", "s.json")
    with pytest.raises(SystemExit):
        monitor(months[1], "--state", "s.json", "--late")
    assert "if they are not before the first one" in capsys.readouterr().err


@pytest.mark.slow
def test_enough_evidence_without_a_certificate_says_why(monitor):
    """The window has a late month with a large gap, which evidence since the start has not."""
    early, late = (
        pd.concat([draw_month(month, 0.45 * (month == 3)) for month in months])
        for months in ((1, 5, 6), (2, 3))
    )
    assert monitor(early, "--state", "s.json")["verdict"] == "shown"
    results = monitor(late, "--state", "s.json", "--late")
    assert (results["verdict"], results["state"]) == ("open", "windows open")
    assert results["findings"][0].startswith("Not shown in ")
    assert any("The last batches differ from the mean since" in one for one in results["findings"])


@pytest.mark.slow
def test_unknown_groups_are_left_out_or_compared_or_refused(monitor, capsys):
    table = draw_month(1)
    table.loc[:99, "sex"], table.loc[100:149, "sex"] = "Unknown", ""
    results = monitor(table, "--unknown", "unknown")
    assert results["reading"]["left_out"] == {"samples of unknown group are left out": 150}
    assert sum(one["n"] for one in results["batches"]) == 250
    results = monitor(table, "--unknown", "unknown", "--missing", "group")
    assert {one["group"]: one["n"] for one in results["rates"]}["(missing)"] == 150
    with pytest.raises(SystemExit):
        monitor(table, "--missing", "error")
    message = capsys.readouterr().err
    assert "50 of 400 rows have none in 'sex', first in row 101" in message
    assert "at_random" not in message


@pytest.mark.slow
def test_scores_above_the_threshold_are_positive(monitor, capsys):
    table = draw_month(1).assign(s=lambda t: 0.2 + 0.5 * t["d"])
    scores = ["--prediction", "s", *COLUMNS[2:]]
    by_score = monitor(table, "--threshold", "0.5", columns=scores)
    assert by_score["batches"] == monitor(table)["batches"]
    decision = by_score["reading"]["columns"][0]
    assert (decision["name"], decision["positive"]) == ("s above 0.5", ["True"])
    for more, match in [
        (["--threshold", "0.5", "--positive", "1"], "Leave one of the two out"),
        ([], "--threshold in a shell"),
    ]:
        with pytest.raises(SystemExit):
            monitor(table, *more, columns=scores)
        assert match in capsys.readouterr().err


def test_repeated_rows_are_named_or_refused(monitor, capsys):
    table = draw_month(1)
    table = pd.concat([table, table[:5]])
    assert monitor(table)["reading"]["n_repeated"] == 5
    assert monitor(table, "--id", "id", "--repeats", "keep")["reading"]["n_repeated"] == 5
    with pytest.raises(SystemExit):
        monitor(table, "--id", "id")
    assert "'1-0' occurs more than once in 'id'" in capsys.readouterr().err


@pytest.mark.slow
def test_many_numbers_are_bins_which_a_state_keeps(monitor, capsys):
    ages = ["--prediction", "d", "--sensitive", "age", *COLUMNS[4:], "--state", "s.json"]
    first = monitor(draw_month(1).assign(age=lambda t: t["age"] + 0.5), columns=ages)
    column = first["reading"]["columns"][2]
    assert column["notation"] == "numbers in 4 bins of equally many samples"
    second = monitor(draw_month(2).assign(age=lambda t: t["age"] + 9.5), columns=ages)
    groups = {one["group"] for one in second["rates"]}
    assert groups == {*column["labels"]} and len(groups) == 4
    with pytest.raises(SystemExit):
        monitor(draw_month(3).assign(age="old"), columns=ages)
    assert "The column 'age' must hold numbers" in capsys.readouterr().err


def test_a_month_without_groups_is_refused_unless_the_user_says_so(monitor, capsys):
    """One such month would end a certificate if "(missing)" were a group from then on."""
    table = pd.concat([draw_month(1), draw_month(2).assign(sex="")])
    with pytest.raises(SystemExit):
        monitor(table)
    assert "but in 2025-02-01 400 of 400 have none" in capsys.readouterr().err
    results = monitor(table, "--missing", "exclude")
    assert results["reading"]["left_out"] == {"samples of unknown group are left out": 400}
    assert {one["group"] for one in results["rates"]} == {"f", "m"}
    groups = {one["group"] for one in monitor(table, "--missing", "group")["rates"]}
    assert groups == {"f", "m", "(missing)"}


def test_options_of_a_state_are_kept(monitor, capsys):
    monitor(draw_month(1), "--state", "s.json")
    with pytest.raises(SystemExit):
        monitor(draw_month(2), "--state", "s.json", "--missing", "group")
    assert "--missing must be that of s.json, exclude; got group" in capsys.readouterr().err


def test_a_state_refuses_weights_above_those_with_which_it_began(monitor, capsys):
    first = draw_month(1).assign(w=lambda t: np.resize([0.5, 0.8], len(t)))
    second = draw_month(2).assign(w=3.0)
    monitor(first, "--weight", "w", "--state", "s.json")
    with pytest.raises(SystemExit):
        monitor(second, "--weight", "w", "--state", "s.json")
    message = capsys.readouterr().err
    assert "began, 0.8, since" in message and "--weight w is 3. Read a file of all" in message
    results = monitor(pd.concat([first, second]), "--weight", "w", "--state", "new.json")
    assert [one["batch"] for one in results["batches"]] == [1, 2]


@pytest.mark.slow
def test_a_certificate_that_lapses_says_why(monitor):
    log = [draw_month(month) for month in range(1, 7)]
    results = monitor(pd.concat(log))
    assert results["verdict"] == "shown"
    joined = draw_month(7).assign(sex=lambda t: np.where(np.arange(len(t)) < 60, "x", t["sex"]))
    results = monitor(pd.concat([*log, joined]))
    assert results["verdict"] == "open"
    (sentence,) = [one for one in results["findings"] if "Not shown any more" in one]
    assert "since 'x' became large enough to be compared" in sentence
    assert "recent batches differ" not in sentence


def test_decisions_of_periods_that_were_read_before_are_in_the_reading(monitor):
    first, second = (draw_month(month, n=80) for month in (1, 2))
    assert monitor(first, "--state", "s.json")["reading"]["left_out"] == {}
    reading = monitor(pd.concat([first, second]), "--state", "s.json")["reading"]
    reason = "decisions of periods that were read before are not read again"
    assert reading["left_out"] == {reason: 80} and reading["n_rows"] == 160


@pytest.mark.slow
def test_protected_pages_of_a_growing_file_have_verdicts_and_no_count(monitor, capsys):
    options = ["--min-published", "10", "--out", "page.html"]
    log = pd.concat([draw_month(month, 0.5, n=100) for month in (1, 2)])
    plain = monitor(log)
    # Three more decisions of a woman, and one of another group.
    added = pd.concat([log, log[-3:].assign(sex="f"), log[-1:].assign(sex="x")])
    results, pages = [], []
    for table in (log, added):
        results.append(monitor(table, *options))
        pages.append(Path("page.html").read_text(encoding="utf-8"))
    assert results[0] == results[1] and pages[0] == pages[1] and not capsys.readouterr().err
    numbers = {
        *re.findall(r"\d+", re.sub(r"\d{4}-\d\d-\d\d(T[\d:.]+)?", "", json.dumps(results[0])))
    }
    assert numbers <= {*"012359", "05", "95", "10", "300"}  # bounds, levels, classes and batches
    windows = [(one["n_batches"], one["verdict"]) for one in plain["windows"]]
    assert [(one["n_batches"], one["verdict"]) for one in results[0]["windows"]] == windows
    assert plain["verdict"] == results[0]["verdict"] and "rates" in plain
    assert "Verdicts alone are published" in pages[0] and "<svg" not in pages[0]
    assert results[0]["rates"] is None and results[0]["reading"]["n_rows"] is None
    assert "sha256" not in results[0]["source"]
    with pytest.raises(SystemExit):
        monitor(log, "--min-published", "1")
    assert "--min-published must be a whole number" in capsys.readouterr().err
