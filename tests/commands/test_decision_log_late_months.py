"""Months that a monitor states where outcomes come later than decisions, compared with pandas."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main

LATE = (
    "--prediction d --sensitive sex --time date --target y --outcome-date known --id id "
    "--constraint equal_opportunity --tolerance 0.1"
).split()


def draw_stream(rng, longest_wait):
    """Decisions of some months, perhaps not of one of them, with outcomes that come later."""
    n_months = int(rng.integers(5, 15))
    change = int(rng.integers(n_months))
    tables = []
    for month in range(n_months):
        n = int(rng.integers(150, 400))
        if 0 < month < n_months - 1 and rng.random() < 0.1:
            continue
        sex = rng.choice(["f", "m"], n)
        start = pd.Timestamp("2024-01-01") + pd.DateOffset(months=month)
        date = start + pd.to_timedelta(rng.integers(0, 28, n), "D")
        d = (rng.random(n) < np.where((sex == "f") & (month > change), 0.3, 0.6)).astype(int)
        y = (rng.random(n) < 0.7).astype(int)
        wait = pd.to_timedelta(rng.integers(5, longest_wait, n), "D")
        tables.append(
            pd.DataFrame({"date": date, "sex": sex, "d": d, "y": y, "known": date + wait})
        )
    table = pd.concat(tables, ignore_index=True)
    end = table["date"].max() + pd.Timedelta(int(rng.integers(0, 90)), "D")
    is_late = table["known"] > end
    table["y"] = table["y"].astype(object).mask(is_late, "")
    table["known"] = table["known"].mask(is_late)
    return table.assign(id=np.arange(len(table)))


def first_days(dates):
    return dates.dt.to_period("M").dt.start_time


def find_counted(table, delay):
    """Samples with a positive outcome that are counted, by the month of the decision."""
    month = first_days(table["date"])
    latest = max(month.max(), first_days(table["known"].dropna()).max())
    is_counted = table["y"].eq(1)
    if delay is not None:
        # Months differ in length by three days.
        end = month + pd.Timedelta(f"{delay + 3} days")
        assert (end != latest).all() or not is_counted.any()
        is_counted &= end <= latest
    counted = table[is_counted].assign(month=month)
    return counted, pd.date_range(month.min(), latest, freq="MS")


def rates_of(counted, months):
    """Sizes and true positive rates of both groups in some months."""
    inside = counted[counted["month"].isin(months)]
    return inside.groupby("sex")["d"].agg(["size", "mean"])


def check_months(results, table, delay):
    """Every month that is stated, and the numbers of it, against pandas."""
    counted, months = find_counted(table, delay)
    batches = pd.DataFrame(results["batches"])
    assert pd.to_datetime(batches["time"]).tolist() == list(months)
    sizes = counted["month"].value_counts().reindex(months, fill_value=0)
    assert batches["n"].tolist() == sizes.tolist()
    gaps = counted.groupby(["month", "sex"])["d"].agg(["size", "mean"]).unstack()
    gaps = gaps[(gaps["size"] >= 30).all(axis=1)]["mean"]
    gaps = gaps.max(axis=1) - gaps.min(axis=1)
    stated = batches.set_index(pd.to_datetime(batches["time"]))["batch_gap"].dropna()
    pd.testing.assert_series_equal(stated, gaps, check_names=False, check_freq=False)
    rates = pd.DataFrame(results["rates"])
    by_month = rates.groupby([pd.to_datetime(rates["time"]), "group"])["n"].sum()
    expected = counted.groupby(["month", "sex"]).size()
    assert by_month.to_dict() == expected.to_dict()
    last = counted["month"].max()
    waits = results["n_outstanding"] > 0 or last < months[-1]
    assert pd.Timestamp(results["counted_until"]) == last or not waits
    text = " ".join(results["findings"])
    read = first_days(table["date"])
    if absent := [
        f"{day:%Y-%m-%d}"
        for day in pd.date_range(read.min(), read.max(), freq="MS")
        if day not in set(read)
    ]:
        assert f"in between: {', '.join(absent)}." in text.replace(" and ", ", ")
    else:
        assert "No decisions were read" not in text
    for window in results["windows"]:
        start, end = pd.Timestamp(window["start"]), pd.Timestamp(window["end"])
        inside = pd.date_range(start, end, freq="MS")
        assert len(inside) == window["n_batches"] and end == last
        expected = rates_of(counted, inside)
        for name, rate, size in window["extremes"]:
            assert size == expected.loc[name, "size"]
            assert rate == pytest.approx(expected.loc[name, "mean"])
        dates = " to ".join(dict.fromkeys(f"{day:%Y-%m-%d}" for day in (start, end)))
        (line,) = [one for one in results["findings"] if f"({dates})" in one]
        for value in re.findall(r"([0-9.]+) % for f", line):
            assert float(value) == pytest.approx(100 * expected.loc["f", "mean"], abs=0.06)
    assert not waits or "in the last" not in text
    if waits and last < months[-1]:
        age = len(months) - 1 - list(months).index(last)
        assert f"are of {last:%Y-%m-%d}, {age} month" in text
    for alarm in results["alarms"]:
        assert pd.Timestamp(alarm["since"]) <= pd.Timestamp(alarm["time"]) <= last
    for day in re.findall(r"(?:first shown in|Contradicted since|it was until) ([0-9-]+)", text):
        assert pd.Timestamp(day) <= last


@pytest.mark.parametrize(
    "seeds", [range(3), pytest.param(range(3, 33), marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_every_stated_month_is_that_of_decisions(seeds, tmp_path, capsys):
    path = tmp_path / "late.csv"
    n_alarms = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        delay = [None, 40, 95][seed % 3]
        table = draw_stream(rng, delay or 95)
        table.to_csv(path, index=False)
        more = [] if delay is None else ["--delay", f"{delay} days"]
        main(["monitor", str(path), *LATE, *more, "--json", "-"])
        results = json.loads(capsys.readouterr().out)
        counted, _ = find_counted(table, delay)
        if len(counted):
            check_months(results, table, delay)
        n_alarms += len(results["alarms"])
    assert n_alarms or len(seeds) < 10
