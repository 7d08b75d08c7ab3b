"""Rates and gaps at every threshold of scores, with limits that hold for all of them together."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr

from skfair.__main__ import main
from skfair._groups.groups import check_groups
from skfair.audit import Audit, FairnessReport
from skfair.audit._tables import groupings
from skfair.audit._thresholds import MAX_THRESHOLDS, tabulate_thresholds


def draw_file(seed, n_samples=300):
    """Scores with ties, outcomes of which some are unknown, and groups of two attributes."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n_samples),
            "race": rng.choice([*"abc"], n_samples, p=[0.6, 0.3, 0.1]),
            "p": rng.beta(2.0, 3.0, n_samples).round(rng.integers(1, 4)),
        }
    )
    table["y"] = (rng.random(n_samples) < table["p"]).astype(float)
    table.loc[rng.random(n_samples) < 0.1 * (seed % 2), "y"] = np.nan
    return table


def tabulate(table, level=0.95, min_group_size=1):
    """The table of thresholds of two attributes and their combinations."""
    groups = check_groups(table[["sex", "race"]], len(table))
    known = table["y"].notna().to_numpy()
    columns = {
        "y_true": table["y"].fillna(0.0).to_numpy(),
        "y_proba": table["p"].to_numpy(),
        "has_outcome": known,
    }
    return tabulate_thresholds(columns, 1.0, groupings(groups), level, min_group_size)


@pytest.mark.slow
def test_rates_of_sixty_drawn_files_are_those_of_pandas():
    for seed in range(60):
        table = draw_file(seed)
        result = tabulate(table)
        table["sex × race"] = table["sex"] + " × " + table["race"]
        conditions = {
            "selection_rate": table["p"].notna(),
            "true_positive_rate": table["y"] == 1,
            "false_positive_rate": table["y"] == 0,
        }
        rng = np.random.default_rng(seed)
        thresholds = rng.choice(result["threshold"].unique(), 3, replace=False)
        is_above = pd.DataFrame(
            {
                (metric, threshold): (table["p"] > threshold).astype(float).where(is_counted)
                for metric, is_counted in conditions.items()
                for threshold in thresholds
            }
        )
        rows = result[result["threshold"].isin(thresholds)]
        for attribute in ("sex", "race", "sex × race"):
            by_group = is_above.groupby(table[attribute])
            mine = rows[rows["attribute"] == attribute].pivot(
                index="group", columns=["metric", "threshold"], values=["estimate", "n", "gap"]
            )
            mine = {name: mine[name][is_above.columns] for name in ("estimate", "n", "gap")}
            np.testing.assert_allclose(mine["estimate"], by_group.mean(), rtol=1e-9, atol=1e-12)
            np.testing.assert_array_equal(mine["n"].fillna(0), by_group.count())
            gaps = mine["estimate"].max() - mine["estimate"].min()
            assert (mine["gap"].isna() | (mine["gap"] == gaps)).all(axis=None)
            assert (mine["gap"].isna() == mine["n"].isna()).all(axis=None)


def test_many_scores_have_a_hundred_quantiles():
    table = draw_file(0, 5000)
    table["p"] = np.random.default_rng(0).random(5000)
    thresholds = tabulate(table)["threshold"].unique()
    assert len(thresholds) == MAX_THRESHOLDS and np.isin(thresholds, table["p"]).all()


@pytest.mark.slow
def test_limits_miss_the_truth_at_some_threshold_in_few_draws():
    """Normal scores of three groups, whose rates are known at every threshold."""
    means = {"a": 0.0, "b": 0.3, "c": 0.8}
    n_errors = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        names = rng.choice([*means], 200)
        scores = rng.normal([means[name] for name in names])
        groups = groupings(check_groups(pd.DataFrame({"g": names}), 200))
        result = tabulate_thresholds({"y_score": scores}, True, groups, 0.95, 1)
        result = {name: result[name].to_numpy() for name in result}
        truth = ndtr([means[name] for name in result["group"]] - result["threshold"])
        wrong = (truth < result["low"]) | (truth > result["high"])
        true_gap = ndtr(0.8 - result["threshold"]) - ndtr(-result["threshold"])
        wrong |= (true_gap < result["gap_low"]) | (true_gap > result["gap_high"])
        n_errors += wrong.any()
    assert n_errors / 400 <= 0.05


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = draw_file(2, 1000).assign(d=lambda one: (one["p"] > 0.5).astype(int))
    table.to_csv("scores.csv", index=False)
    return table


COLUMNS = ["--prediction", "d", "--sensitive", "sex", "--probability", "p", "--target", "y"]


@pytest.mark.slow
def test_the_command_prints_draws_and_stores_thresholds(file, capsys):
    main(
        ["report", "scores.csv", *COLUMNS, "--by-threshold", "--out", "r.html", "--json", "r.json"]
    )
    (sentence,) = (
        one for one in capsys.readouterr().out.splitlines() if "Of the thresholds" in one
    )
    report = FairnessReport.from_json("r.json")
    rates = report.thresholds
    assert {*rates["metric"]} == {"selection_rate", "true_positive_rate", "false_positive_rate"}
    scores = file["p"].to_numpy()
    is_second = file["sex"].to_numpy() == "m"
    gaps = {
        t: abs((scores[is_second] > t).mean() - (scores[~is_second] > t).mean())
        for t in np.unique(scores)
        if 0.1 <= (scores > t).mean() <= 0.9
    }
    smallest = min(gaps, key=gaps.get)
    assert (
        f"all samples, {smallest:.4g} has the smallest gap of the selection rate by sex" in sentence
    )
    assert "To choose one of them is a choice on these data" in sentence
    page = Path("r.html").read_text(encoding="utf-8")
    assert "Selection rate by threshold and sex" in page
    assert json.loads(Path("r.json").read_text(encoding="utf-8"))["thresholds"]["gap"]
    again = FairnessReport.from_json(report.to_json())
    pd.testing.assert_frame_equal(again.thresholds, rates)
    assert again.to_html() == report.to_html()


@pytest.mark.parametrize(
    "options, match",
    [
        (["--min-published", "5"], "--by-threshold shows the numbers of samples between"),
        (["--weight", "w"], "--by-threshold counts independent samples of equal weight"),
        (["--cluster", "c"], "--by-threshold counts independent samples"),
    ],
)
def test_what_thresholds_do_not_count_is_refused(file, capsys, options, match):
    file.assign(w=1.0 + file["d"], c=np.arange(1000) // 2).to_csv("scores.csv", index=False)
    with pytest.raises(SystemExit):
        main(["report", "scores.csv", *COLUMNS, "--by-threshold", "--json", "-", *options])
    assert match in capsys.readouterr().err


def test_scores_are_needed():
    audit = Audit.from_predictions(None, [0, 1] * 100, sensitive_features=["f", "m"] * 100)
    with pytest.raises(ValueError, match="y_score must have scores of one of two"):
        audit.report(by_threshold=True)
