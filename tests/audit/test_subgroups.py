"""Worst subgroups: counts of all conjunctions, limits that hold for all of them, the short list."""

import json
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, stats

from skfair.__main__ import main
from skfair._statistics.limits_of_rates import clopper_pearson_limits
from skfair.audit import Audit
from skfair.audit import _subgroups as search
from skfair.audit._departures import FromRest, departure_limits
from tests.audit.doors import report_predictions, search_predictions


def make_table(n, rng, n_columns=5):
    """Columns of labels and numbers by turns, which are correlated."""
    factor = rng.standard_normal(n)
    table = {}
    for j in range(n_columns):
        column = np.sqrt(0.3) * factor + np.sqrt(0.7) * rng.standard_normal(n)
        shares = 0.6 ** np.arange(2 + (j // 2) % 5)
        cuts = stats.norm.ppf(np.cumsum(shares / shares.sum())[:-1])
        is_label = j % 2 == 0
        table[f"c{j}"] = np.searchsorted(cuts, column).astype(str) if is_label else column
    return pd.DataFrame(table)


def family_of(table, values, max_conditions=2, min_size=30, missing="error"):
    counts = np.ones(len(table))
    columns = search._encode_columns(table, missing, counts)
    return search._count_subgroups(columns, FromRest(values, counts), max_conditions, min_size)


def conditions_of(column, n_bins=4):
    """All conditions on a column: masks by text, written down without the search."""
    if column.dtype == object or not pd.api.types.is_numeric_dtype(column):
        return {f"{column.name} = {label}": column == label for label in column.unique()}
    cuts = sorted({column.quantile(i / n_bins, interpolation="lower") for i in range(1, n_bins)})
    ends = [-np.inf, *cuts, np.inf]
    masks = {}
    for low, high in combinations(range(len(ends)), 2):
        mask = (column > ends[low]) & (column <= ends[high])
        if not mask.all() and mask.any():
            masks[f"{column.name} {ends[low]} {ends[high]}"] = mask
    return masks


@pytest.mark.parametrize("max_conditions", [1, 2, 3])
def test_counts_are_those_of_pandas_for_every_conjunction(max_conditions):
    rng = np.random.default_rng(max_conditions)
    table = make_table(600, rng, 4)
    values = rng.random(600) < 0.3
    family = family_of(table, values, max_conditions, min_size=25)
    expected = []
    for depth in range(1, max_conditions + 1):
        for names in combinations(table.columns, depth):
            for masks in product(*(conditions_of(table[name]).values() for name in names)):
                mask = np.logical_and.reduce(masks)
                if min(mask.sum(), (~mask).sum()) >= 25:
                    expected.append((depth, int(mask.sum()), int(values[mask].sum())))
    counted = zip(family.n_conditions, family.n.astype(int), family.hits.astype(int), strict=True)
    assert sorted(counted) == sorted(expected)


def test_masks_and_texts_have_the_counts_of_their_subgroups():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"is_old": rng.random(500) < 0.5, "age": rng.integers(18, 70, 500)})
    values = rng.random(500) < 0.4
    family = family_of(table, values)
    assert len(family.n) > 20
    for subgroup in range(len(family.n)):
        mask = family.mask(subgroup)
        assert (mask.sum(), values[mask].sum()) == (family.n[subgroup], family.hits[subgroup])
        text = family.text(subgroup).replace(" = ", " == ").replace(" and ", ") & (")
        np.testing.assert_array_equal(table.eval(f"({text})"), mask)


def test_conditions_on_numbers_are_ranges_of_bins():
    column = pd.Series([1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], name="age")
    texts = search._encode_levels("age", column, "error", np.ones(12)).texts
    assert texts == [
        *("age = 1", "age <= 4", "age <= 7", "1 < age <= 4", "1 < age <= 7"),
        *("age > 1", "4 < age <= 7", "age > 4", "age > 7"),
    ]
    two = search._encode_levels("flag", pd.Series([0, 1, 1]), "error", np.ones(3))
    assert two.texts == ["flag = 0", "flag = 1"]
    one = search._encode_levels("same", pd.Series([3, 3]), "error", np.ones(2))
    assert one.texts == []
    assert search._encode_levels("s", pd.Series(["x"]), "error", np.ones(1)).texts == []


def test_missing_values_are_a_condition_or_meet_none():
    rng = np.random.default_rng(0)
    table = make_table(400, rng, 2)
    values = rng.random(400) < 0.5
    table.loc[:99, "c1"], table.loc[50:149, "c0"] = np.nan, None
    with pytest.raises(ValueError, match="attribute 'c0' .* has 100 missing value"):
        search_predictions(None, values, sensitive_features=table)
    group = family_of(table, values, 1, missing="group")
    sizes = {group.text(i): group.n[i] for i in range(len(group.n))}
    assert sizes["c0 is missing"] == sizes["c1 is missing"] == 100
    excluded = family_of(table, values, 1, missing="exclude")
    texts = [excluded.text(i) for i in range(len(excluded.n))]
    assert sorted(texts) == sorted(set(sizes) - {"c0 is missing", "c1 is missing"})
    assert not any(excluded.mask(i)[:100].any() for i in range(len(texts)) if "c1" in texts[i])


def test_limits_are_those_of_the_formula():
    departure, low, high = departure_limits(np.array([40]), np.array([30]), (100, 45), 0.01)
    (l_p, u_p), (l_q, u_q) = (
        clopper_pearson_limits(30, 40, 0.99),
        clopper_pearson_limits(15, 60, 0.99),
    )
    assert departure == pytest.approx(0.5)
    assert low == pytest.approx(0.5 - np.sqrt((0.75 - l_p) ** 2 + (u_q - 0.25) ** 2))
    assert high == pytest.approx(0.5 + np.sqrt((u_p - 0.75) ** 2 + (0.25 - l_q) ** 2))


@pytest.mark.covering(1)
@pytest.mark.parametrize("error", [0.025, 1e-3, 1e-5])
@pytest.mark.parametrize(
    "sizes", [(30, 970), (100, 900), pytest.param((500, 500), marks=pytest.mark.slow)]
)
def test_a_limit_errs_no_more_often_than_stated(error, sizes):
    """All pairs of counts are enumerated."""
    first, second = (np.arange(n + 1) for n in sizes)
    hits, all_hits = np.broadcast_arrays(first[:, np.newaxis], first[:, np.newaxis] + second)
    _, low, high = departure_limits(sizes[0], hits, (sum(sizes), all_hits), error)
    counts = first, second
    for rate in (0.01, 0.05, 0.3, 0.5, 0.8, 0.99):
        masses = (stats.binom.pmf(x, n, rate) for x, n in zip(counts, sizes, strict=True))
        probability = np.outer(*masses)
        assert probability[low > 0.0].sum() <= error and probability[high < 0.0].sum() <= error


@pytest.mark.covering(0)
@pytest.mark.parametrize("seed", range(4))
def test_no_subgroup_is_lost_by_screening_and_p_values_go_with_limits(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    table = make_table(3000, rng)
    values = rng.random(3000) < np.where(table["c0"] == "1", 0.1 + 0.1 * seed, 0.05)
    screened = search_predictions(None, values, sensitive_features=table).to_frame(all=True)
    monkeypatch.setattr(search, "_SCREENING_SHARE", 0.0)
    full = search_predictions(None, values, sensitive_features=table).to_frame(all=True)
    pd.testing.assert_frame_equal(screened, full)
    assert len(full) > 3 and ((full["low"] > 0) | (full["high"] < 0)).all()
    assert (full["p_value"] <= 0.05).all()
    # At a level of 1 minus the p-value a limit is 0.
    row = full.iloc[-1]
    for factor, n_flagged in ((1.01, True), (0.99, False)):
        level = 1.0 - factor * row["p_value"]
        again = search_predictions(None, values, sensitive_features=table, confidence_level=level)
        assert (row["subgroup"] in set(again.flagged["subgroup"])) == n_flagged


@pytest.mark.parametrize("direction", ["both", "above", "below"])
def test_the_bound_is_the_largest_limit_of_any_subgroup(direction):
    rng = np.random.default_rng(1)
    table = make_table(2500, rng)
    values = rng.random(2500) < np.where(table["c0"] == "1", 0.5, 0.3)
    family = family_of(table, values)
    _, low, high = departure_limits(family.n, family.hits, family.total, 0.1)
    largest = {"above": high.max(), "below": -low.min()}
    largest["both"] = max(largest.values())
    report = search_predictions(
        None,
        values,
        sensitive_features=table,
        confidence_level=0.9,
        direction=direction,
    )
    assert report.searches["largest_possible"].item() == pytest.approx(largest[direction])


@pytest.mark.slow
@settings(deadline=None, max_examples=8)
@given(st.integers(0, 10**6), st.sampled_from(["selection_rate", "false_positive_rate"]))
def test_order_of_samples_and_columns_and_flipped_decisions(seed, metric):
    rng = np.random.default_rng(seed)
    table = make_table(500, rng, 3)
    truth = rng.integers(2, size=500)
    decisions = (rng.random(500) < np.where(table["c0"] == "1", 0.8, 0.3)).astype(int)
    report = search_predictions(truth, decisions, sensitive_features=table, metrics=metric)
    order = rng.permutation(500)
    shuffled = search_predictions(
        truth[order],
        decisions[order],
        sensitive_features=table.iloc[order].reset_index(drop=True),
        metrics=metric,
    )
    pd.testing.assert_frame_equal(report.flagged, shuffled.flagged)
    columns = search_predictions(
        truth, decisions, sensitive_features=table[table.columns[::-1]], metrics=metric
    )
    assert sorted(columns.flagged["low"]) == pytest.approx(sorted(report.flagged["low"]))
    assert columns.searches["largest_possible"].equals(report.searches["largest_possible"])
    flipped = search_predictions(truth, 1 - decisions, sensitive_features=table, metrics=metric)
    assert flipped.flagged["subgroup"].tolist() == report.flagged["subgroup"].tolist()
    assert flipped.flagged["low"].to_numpy() == pytest.approx(-report.flagged["high"].to_numpy())


def test_metrics_share_the_error_and_are_searched_where_they_are_defined():
    rng = np.random.default_rng(0)
    table = make_table(4000, rng, 3)
    truth = rng.random(4000) < 0.5
    decisions = rng.random(4000) < np.where(table["c0"] == "1", 0.7, 0.4)
    names = ["selection_rate", "true_positive_rate"]
    both = search_predictions(truth, decisions, sensitive_features=table, metrics=names)
    assert both.searches["n"].tolist() == [4000, truth.sum()]
    alone = search_predictions(
        None, decisions[truth], sensitive_features=table[truth], confidence_level=0.975
    )
    same = search_predictions(truth, decisions, sensitive_features=table, metrics=names)
    rows = same.flagged[same.flagged["metric"] == "true_positive_rate"]
    label = "c0 = 1"  # bins are cut in all samples
    row, other = (one.set_index("subgroup").loc[label] for one in (rows, alone.flagged))
    assert row["estimate"] == other["estimate"] and row["n"] == other["n"]
    assert row["low"] == pytest.approx(other["low"], abs=0.002)


def test_the_list_has_subgroups_that_overlap_little():
    rng = np.random.default_rng(3)
    n = 12000
    table = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "age": rng.integers(18, 70, n)})
    table["region"] = rng.choice(["n", "s", "w"], n)
    is_high = (table["sex"] == "m") & (table["region"] == "n")
    is_low = (table["sex"] == "f") & (table["region"] == "s")
    rates = np.where(is_high, 0.6, np.where(is_low, 0.15, 0.35))
    report = search_predictions(None, rng.random(n) < rates, sensitive_features=table)
    assert report.subgroups["subgroup"].tolist() == [
        "sex = m and region = n",
        "sex = f and region = s",
    ]
    assert report.subgroups.loc[0, "low"] > 0 > report.subgroups.loc[1, "high"]
    assert len(report.to_frame()) == 2 < len(report.to_frame(all=True))
    assert report.findings[1].startswith("Selection rate: ")
    assert "% for sex = m and region = n, " in report.findings[1]
    assert all(", a difference of " in text for text in report.findings[1:3])
    assert str(report) == "\n".join(report.findings)


def test_one_direction_needs_smaller_departures():
    rng = np.random.default_rng(5)
    table = make_table(3000, rng)
    values = rng.random(3000) < np.where(table["c0"] == "1", 0.4, 0.3)
    both, above, below = (
        search_predictions(None, values, sensitive_features=table, direction=direction)
        for direction in ("both", "above", "below")
    )
    shared = set(both.flagged["subgroup"]) & set(above.flagged["subgroup"])
    rows = [one.flagged.set_index("subgroup") for one in (both, above)]
    assert (
        shared and (rows[1].loc[sorted(shared), "low"] > rows[0].loc[sorted(shared), "low"]).all()
    )
    assert (above.flagged["difference"] > 0).all() and (below.flagged["difference"] < 0).all()


@pytest.mark.slow
@pytest.mark.parametrize(("n_columns", "max_conditions"), [(2, 2), (10, 3)])
def test_error_of_searches_without_any_departure(n_columns, max_conditions):
    rng = np.random.default_rng(0)
    n_claims = 0
    n_wrong_bounds = 0
    for _ in range(70):
        report = search_predictions(
            None,
            rng.random(2000) < 0.3,
            sensitive_features=make_table(2000, rng, n_columns),
            max_conditions=max_conditions,
        )
        n_claims += len(report.subgroups) > 0
        n_wrong_bounds += report.searches["largest_possible"].item() < 0.0
    # Searches that claim in .2 of the cases would pass with a probability of .003.
    assert n_claims / 70 <= 0.08 and n_wrong_bounds == 0


@pytest.mark.slow
def test_a_planted_subgroup_is_found_with_a_limit_below_its_departure():
    n_hits, n_listed, n_wrong = 0, 0, 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        table = make_table(20_000, rng)
        scores = table["c1"].where(table["c0"] == "1", -np.inf)
        planted = (scores > scores.nlargest(1001).min()).to_numpy()
        values = rng.random(20_000) < 0.3 + 0.2 * planted
        report = search_predictions(None, values, sensitive_features=table)
        counts = np.ones(len(table))
        columns = search._encode_columns(table, "error", counts)
        family = search._count_subgroups(columns, FromRest(values, counts), 2, 30)
        texts = [family.text(i) for i in range(len(family.n))]
        mask = family.mask(texts.index(report.subgroups.loc[0, "subgroup"]))
        n_hits += (mask & planted).sum() / (mask | planted).sum() >= 0.25
        n_listed += len(report.subgroups)
        true_rates = 0.3 + 0.2 * np.array([planted[mask].mean(), planted[~mask].mean()])
        n_wrong += report.subgroups.loc[0, "low"] > true_rates[0] - true_rates[1]
        assert report.searches["largest_possible"].item() >= 0.2 * (planted[mask].mean() - 0.05)
    assert n_hits == 10 and n_listed <= 20 and n_wrong <= 1


@pytest.mark.slow
def test_many_samples_are_searched_in_all_subgroups():
    rng = np.random.default_rng(0)
    table = make_table(30_000, rng, 20)
    values = rng.random(30_000) < 0.3
    report = search_predictions(None, values, sensitive_features=table, max_conditions=3)
    assert report.searches["n_searched"].item() > 200_000


TABLE = pd.DataFrame({"sex": ["f", "m"] * 100, "id": range(200), "p": [0, 1, 1, 1] * 50})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_conditions": 4}, "max_conditions must be a whole number from 1 to 3; got 4"),
        ({"min_group_size": 0}, "min_group_size must be a positive whole number .*; got 0"),
        ({"direction": "up"}, "direction must be one of 'both', 'above', 'below'; got 'up'"),
        ({"metrics": "f1"}, "metrics must be one of .*; got 'f1'"),
        ({"metrics": []}, "metrics must be one of .*; got"),
        ({"metrics": "accuracy"}, "must hold true classes, with which metrics='accuracy' compares"),
        ({"confidence_level": 1.0}, "confidence_level must be a probability"),
        ({"y_pred": None}, "y_pred must hold predictions"),
        ({"sensitive_features": sparse.csr_array(np.eye(200, dtype=bool))}, "sparse matrix"),
        ({"y_pred": [0, 1, 2, 3] * 50}, "at most two classes"),
        ({"sensitive_features": TABLE}, "column 'p' of sensitive_features equals y_pred"),
        ({"sensitive_features": TABLE["id"].map(str)}, "'id' has 200. Leave the column out"),
        ({"sensitive_features": ["x"] * 200}, "No subgroup has 30 of the 200 samples"),
        ({"sensitive_features": np.full(200, np.inf)}, "must be finite"),
        ({"sensitive_features": TABLE["sex"][:100]}, "has 100 rows but there are 200 samples"),
        ({"sensitive_features": TABLE[["sex"]][::-1], "y_pred": TABLE["p"]}, "[Aa]lign"),
    ],
)
def test_what_cannot_be_searched_is_refused(change, message):
    inputs = {"y_pred": TABLE["p"].to_numpy(), "sensitive_features": TABLE["sex"]} | change
    with pytest.raises(ValueError, match=message):
        search_predictions(None, inputs.pop("y_pred"), **inputs)


@pytest.mark.slow
def test_searches_that_would_take_hours_are_refused():
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 60)))
    with pytest.raises(ValueError, match="at most 5,000,000 subgroups, .* Pass fewer columns"):
        search_predictions(None, TABLE["p"], sensitive_features=table, max_conditions=3)


def test_json_has_all_numbers_and_the_findings():
    rng = np.random.default_rng(0)
    table = make_table(1000, rng)
    values = rng.random(1000) < np.where(table["c0"] == "1", 0.7, 0.3)
    report = search_predictions(None, values, sensitive_features=table)
    content = json.loads(report.to_json())
    assert content["findings"] == report.findings
    assert content["flagged"]["difference"] == report.flagged["difference"].tolist()
    assert content["searches"]["n_searched"] == report.searches["n_searched"].tolist()


@pytest.mark.slow
def test_a_report_has_a_section_on_subgroups():
    rng = np.random.default_rng(0)
    table = make_table(3000, rng, 3).assign(c1=lambda one: (one["c1"] > 0).map(str))
    decisions = rng.random(3000) < np.where(table["c0"] == "1", 0.6, 0.3)
    report = report_predictions(None, decisions, sensitive_features=table, subgroups=True)
    alone = search_predictions(None, decisions, sensitive_features=table)
    pd.testing.assert_frame_equal(report.subgroups.flagged, alone.flagged)
    text = report.to_markdown()
    assert "## Subgroups" in text and alone.findings[0] in text and "c0 = 0" in text
    assert "Subgroups that depart most: selection rate" in report.to_html()
    plain = report_predictions(None, decisions, sensitive_features=table)
    assert plain.subgroups is None and "## Subgroups" not in plain.to_markdown()


def test_a_subgroup_that_departs_is_a_finding_of_a_report(tmp_path, capsys):
    """Neither attribute has a gap, but their intersections differ: xor."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.choice(["x", "y"], size=(4000, 3)), columns=list("abc"))
    chance = np.where((table["a"] == "x") ^ (table["b"] == "x"), 0.6, 0.4)
    decisions = (rng.random(4000) < chance).astype(int)
    settings = {"sensitive_features": table[["a"]].assign(b=table["b"])}
    of_each = report_predictions(None, decisions, sensitive_features=table[["a"]])
    assert not of_each.has_finding
    with_both = report_predictions(None, decisions, subgroups=True, **settings)
    assert with_both.has_finding
    # Of gaps of single attributes none is significant; the subgroups alone are.
    with_both = replace(with_both, gaps=of_each.gaps)
    assert with_both.has_finding and len(with_both.subgroups.subgroups)
    path = tmp_path / "decisions.csv"
    table.assign(decision=decisions).to_csv(path, index=False)
    command = ["report", str(path), "--prediction", "decision", "--sensitive", "a", "b"]
    assert main([*command, "--subgroups", "--json", "-"]) == 3
    assert json.loads(capsys.readouterr().out)["subgroups"]


def test_a_search_without_a_subgroup_is_no_finding(tmp_path, capsys):
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.choice(["x", "y"], size=(2000, 2)), columns=list("ab"))
    path = tmp_path / "decisions.csv"
    table.assign(decision=rng.integers(2, size=2000)).to_csv(path, index=False)
    command = ["report", str(path), "--prediction", "decision", "--sensitive", "a", "b"]
    assert main([*command, "--subgroups", "--json", "-"]) == 0
    assert capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"task": "clustering"}, "decisions between two classes"),
        ({"sample_weight": np.arange(200)}, "samples of equal weight"),
    ],
)
def test_a_report_that_cannot_be_searched(change, message):
    inputs = {"sensitive_features": TABLE["sex"], "subgroups": True} | change
    with pytest.raises(ValueError, match=message):
        report_predictions(None, TABLE["p"], **inputs)


@pytest.fixture
def path(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"sex": rng.choice(["f", "m"], 2000), "age": rng.integers(18, 70, 2000)})
    table["p"] = (rng.random(2000) < np.where(table["sex"] == "f", 0.3, 0.6)).astype(int)
    table["q"], table["y"] = rng.integers(2, size=(2, 2000))
    table.to_csv(tmp_path / "decisions.csv", index=False)
    return tmp_path / "decisions.csv"


def test_the_command_prints_findings_and_exits_with_3(path, capsys):
    sensitive = ["--sensitive", "sex", "age"]
    assert main(["subgroups", str(path), "--prediction", "p", *sensitive]) == 3
    printed = capsys.readouterr().out
    table = pd.read_csv(path)
    report = search_predictions(None, table["p"], sensitive_features=table[["sex", "age"]])
    assert printed.startswith("Read: 2,000 ") and printed.endswith(f"\n{report}\n")
    assert "sex = f" in printed
    assert main(["subgroups", str(path), "--prediction", "q", *sensitive]) == 0
    assert "\n0 of " in capsys.readouterr().out


def test_the_command_writes_json(path, capsys, tmp_path):
    command = ["subgroups", str(path), "--prediction", "p", "--target", "y", "--sensitive", "sex"]
    command += ["--metric", "true_positive_rate", "--json"]
    assert main([*command, "-"]) == 3
    printed = capsys.readouterr().out
    assert json.loads(printed)["searches"]["metric"] == ["true_positive_rate"]
    out = tmp_path / "found.json"
    assert main([*command, str(out)]) == 3
    assert out.read_text(encoding="utf-8") == printed.rstrip("\n")
    assert "true positive rate" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--metric", "accuracy"], "--target must hold true classes"),
        (["--sensitive", "p"], "'p' is named twice"),
        (["--json", "out.txt"], "--json must end in one of .json"),
        (["--confidence", "2"], "--confidence must be a probability"),
        (["--sensitive", "race"], "has no column 'race'"),
    ],
)
def test_errors_of_the_command(path, capsys, more, message):
    with pytest.raises(SystemExit) as error:
        main(["subgroups", str(path), "--prediction", "p", "--sensitive", "sex", *more])
    assert error.value.code == 2 and message in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("wrong", [True, "all", {"metrics": "recall"}])
def test_a_report_raises_at_once_for_subgroups_that_no_search_made(wrong):
    audit = Audit.from_predictions(None, [1, 0] * 200, sensitive_features=["f"] * 200 + ["m"] * 200)
    with pytest.raises(ValueError, match=r"subgroups must be .* Pass audit\.subgroups\(\)"):
        audit.report(subgroups=wrong)
    assert "subgroups searched" in audit.report(subgroups=audit.subgroups()).to_html()


@pytest.mark.parametrize("suffix", ["html", "md", "json"])
def test_the_command_writes_a_page(path, tmp_path, suffix):
    out = tmp_path / f"page.{suffix}"
    columns = ["--prediction", "p", "--sensitive", "sex", "--out", str(out)]
    main(["subgroups", str(path), *columns])
    text = out.read_text(encoding="utf-8")
    assert "subgroups searched are shown to" in text and "sex" in text
