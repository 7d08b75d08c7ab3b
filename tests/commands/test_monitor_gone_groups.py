"""A monitor names a group that has no decisions any more, and what a verdict is an average of."""

import json

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main
from skfair.monitoring import GapMonitor
from skfair.monitoring._monitor import find_last_decisions


def draw_month(month, groups, rates=None, n=200):
    rng = np.random.default_rng(month)
    g = np.repeat(groups, n)
    rate = np.full(len(g), 0.5) if rates is None else np.repeat(rates, n)
    return pd.DataFrame({"month": f"2025-{month:02d}", "g": g, "d": rng.random(len(g)) < rate})


def run(tables, tmp_path, capsys, *more):
    pd.concat(tables).astype({"d": int}).to_csv(tmp_path / "log.csv", index=False)
    options = "--prediction d --sensitive g --time month --tolerance .2 --json -".split()
    main(["monitor", str(tmp_path / "log.csv"), *options, *more])
    return json.loads(capsys.readouterr().out)


def test_a_group_that_is_gone_is_named_with_its_last_month(tmp_path, capsys):
    tables = [draw_month(month, ["a", "b"] if month < 3 else ["a", "c"]) for month in range(1, 6)]
    results = run(tables, tmp_path, capsys)
    assert results["gone_groups"] == [
        {"attribute": "g", "group": "b", "time": "2025-02-01T00:00:00"}
    ]
    (sentence,) = [one for one in results["findings"] if one.startswith("The last decisions")]
    assert "about 'b' are of 2025-02-01" in sentence and "spelling" not in sentence
    for start in ("Shown on average over the last", "Shown on average since"):
        shown = [one for one in results["findings"] if one.startswith(start)]
        assert all("without decisions about 'b' after 2025-02-01" in one for one in shown)
    assert any(one.startswith("Shown") for one in results["findings"])


def test_another_spelling_of_a_gone_group_is_named(tmp_path, capsys):
    tables = [draw_month(month, ["a", "b"] if month < 3 else ["a", "B"]) for month in (1, 2, 3)]
    findings = run(tables, tmp_path, capsys)["findings"]
    (sentence,) = [one for one in findings if one.startswith("The last decisions")]
    assert sentence.endswith("'B' may be another spelling of it.")


def test_pooled_rates_are_shown_on_average_where_gaps_change_their_sign(tmp_path, capsys):
    tables = [
        draw_month(month, ["a", "b"], [0.65, 0.35] if month % 2 else [0.35, 0.65], n=400)
        for month in range(1, 13)
    ]
    results = run(tables, tmp_path, capsys)
    gaps = [one["batch_gap"] for one in results["batches"]]
    assert min(gaps) > 0.2
    findings = results["findings"]
    assert findings[0].startswith("Contradicted since 2025-01-01")
    assert any(one.startswith("Last 12 months") and ", shown on average" in one for one in findings)


@pytest.mark.parametrize("times", [None, [10, 11, 12]])
def test_last_decisions_of_a_monitor(times):
    monitor = GapMonitor("demographic_parity", 0.2)
    for batch, groups in enumerate((["a", "b"], ["a", "b"], ["a"])):
        table = draw_month(batch + 1, groups)
        time = None if times is None else times[batch]
        monitor.update(None, table["d"].astype(int), sensitive_features=table[["g"]], time=time)
    assert find_last_decisions(monitor) == {("g", "b"): 2 if times is None else 11}


def test_a_page_of_verdicts_names_a_gone_group_without_its_dates(tmp_path, capsys):
    tables = [draw_month(month, ["a", "b"] if month < 3 else ["a", "c"]) for month in range(1, 6)]
    results = run(tables, tmp_path, capsys, "--min-published", "10")
    verdicts = [one for one in results["findings"] if one.startswith("Shown")]
    assert verdicts
    assert all("without decisions about 'b' at the end" in one for one in verdicts)
    assert all("after 2025-02" not in one for one in results["findings"])
