"""The first sentence, the verdict, the picture and the exit status follow from one state."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main
from skfair._commands.monitor_page import describe_state
from skfair.monitoring import GapMonitor
from skfair.monitoring._verdicts import VERDICTS

TOLERANCE = 0.1


def draw_rates(kind, rng):
    """Rates of 24 months and two or three groups, (24, n_groups); nan where a group is gone."""
    base = rng.uniform(0.3, 0.6)
    gap = np.full(24, rng.choice([0.0, 0.05]))
    start = rng.integers(12, 20)
    if kind == "jump":
        gap[start:] = rng.choice([0.15, 0.2, 0.25])
    elif kind == "drift":
        gap[12:] += np.linspace(0.0, 0.2, 12)
    elif kind == "level":
        base = base + 0.1 * np.sin(np.arange(24))
    rates = np.stack([np.zeros(24) + base, base - gap], axis=1)
    if kind == "gone":
        third = np.where(np.arange(24) < start, base - 0.15, np.nan)
        rates = np.column_stack([rates, third])
    return rates


def read_months(kind, seed):
    """Yield the monitor, the rates so far and the observed gap of the last month."""
    rng = np.random.default_rng([seed, *kind.encode()])
    rates = draw_rates(kind, rng)
    n = int(rng.choice([100, 300, 1000]))
    monitor = GapMonitor("demographic_parity", TOLERANCE)
    for month in range(24):
        groups = np.repeat(np.flatnonzero(np.isfinite(rates[month])), n)
        decisions = (rng.random(len(groups)) < rates[month, groups]).astype(int)
        names = pd.DataFrame({"sex": np.array(["f", "m", "x"])[groups]})
        time = pd.Timestamp("2024-01-01") + pd.DateOffset(months=month)
        monitor.update(None, decisions, sensitive_features=names, time=time)
        observed = np.ptp(pd.Series(decisions).groupby(groups).mean())
        yield monitor, rates[: month + 1], observed


SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 15))]
WORDS = {"shown": "Shown ", "open": "Not shown ", "contradicted": "Contradicted "}


@pytest.mark.parametrize("kind", ["jump", "drift", "level", "gone"])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_first_sentence_is_true_of_the_last_month(kind, seed):
    for month, (monitor, rates, observed) in enumerate(read_months(kind, seed)):
        if month < 12:
            continue
        sentence = describe_state(monitor, "month", None)
        true_gap = np.nanmax(rates[-1]) - np.nanmin(rates[-1])
        assert sentence.startswith(WORDS[monitor.verdict_])
        if observed > TOLERANCE:
            assert not sentence.startswith("Shown")
        if true_gap > TOLERANCE:
            first_clause = re.split(", but not|:", sentence)[0]
            assert not (first_clause.startswith("Shown") and "the last month" in first_clause)
        if monitor.verdict_ == "contradicted":
            assert (np.nanmax(rates, axis=1) - np.nanmin(rates, axis=1)).max() > TOLERANCE


def write_log(path, n_months):
    """Two years of 300 decisions of each group a month, with six months of a gap of .25."""
    rng = np.random.default_rng(4)
    parts = []
    for month in range(n_months):
        sex = np.repeat(["f", "m"], 300)
        rate = np.where((sex == "f") & (8 <= month) & (month < 14), 0.2, 0.45)
        day = f"{pd.Timestamp('2024-01-01') + pd.DateOffset(months=month):%Y-%m-%d}"
        decided = (rng.random(600) < rate).astype(int)
        parts.append(pd.DataFrame({"sex": sex, "day": day, "hired": decided}))
    pd.concat(parts).to_csv(path, index=False)


def test_sentence_verdict_picture_and_status_agree_in_every_month(tmp_path, capsys):
    file, page = str(tmp_path / "log.csv"), tmp_path / "page.html"
    options = "--sensitive sex --time day --prediction hired --tolerance .1 --require-shown"
    verdicts = set()
    for n_months in range(1, 28, 2):
        write_log(file, n_months)
        columns = [*options.split(), "--repeats", "keep"]
        status = main(["monitor", file, *columns, "--out", str(page), "--json", "-"])
        results = json.loads(capsys.readouterr().out)
        verdict, text = results["verdict"], page.read_text().replace("&nbsp;", " ")
        verdicts.add(verdict)
        assert verdict == VERDICTS[results["state"]] == results["batches"][-1]["verdict"]
        assert results["findings"][0].startswith(WORDS[verdict])
        assert status == {"shown": 0, "open": 1, "contradicted": 3}[verdict]
        bands = re.findall(r'<span class="(shown|open|contradicted)" style="width', text)
        assert bands[-1] == verdict
        for one in results["windows"]:
            months = "month" if one["n_batches"] == 1 else f"{one['n_batches']} months"
            (line,) = [line for line in results["findings"] if line.startswith(f"Last {months} (")]
            assert line.split(" (of ")[0] in text
    assert verdicts == set(WORDS)


def test_each_window_of_each_batch_has_a_row():
    *_, (monitor, _, _) = read_months("jump", 0)
    table = monitor.summary(by_window=True)
    # 24 windows of one month, 22 of three, 19 of six and 13 of twelve.
    assert table["n_batches"].value_counts().to_dict() == {1: 24, 3: 22, 6: 19, 12: 13}
    last = table[table["batch"] == 24].reset_index(drop=True)
    pd.testing.assert_frame_equal(last, monitor.windows_)
    single = table[table["n_batches"] == 1]
    assert single["gap"].tolist() == pytest.approx(monitor.summary()["batch_gap"].tolist())
