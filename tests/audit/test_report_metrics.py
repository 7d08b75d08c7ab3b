"""Reports with metrics of one's own, and within strata."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, r2_score

from skfair.__main__ import main
from skfair._statistics.group_estimates import (
    BootstrapEstimates,
    GroupFunction,
    _bootstrap_margins,
)
from skfair.audit import Audit, FairnessReport
from skfair.metrics import Rate, group_report, reliability_table
from skfair.statistics import gap_interval
from tests.audit.doors import report_predictions

RNG = np.random.default_rng(0)
N = 600
DATA = pd.DataFrame(
    {
        "sex": RNG.choice(["f", "m"], size=N),
        "region": RNG.choice(["north", "south"], size=N),
        "y": RNG.integers(2, size=N),
    }
)
DATA["p"] = np.where(RNG.random(N) < 0.7, DATA["y"], 1 - DATA["y"])
COST = Rate("cost", {"fp": 1, "fn": 5})


def phi(y_true, y_pred, sample_weight=None):
    """Correlation of outcomes and decisions, quick enough for hundreds of draws."""
    covariance = np.cov(y_true, y_pred, aweights=sample_weight)
    return covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])


def explained_share(y_true, y_pred, sample_weight=None):
    """Coefficient of determination, quick enough for hundreds of draws."""
    center = np.average(y_true, weights=sample_weight)
    errors = (y_true - y_pred) ** 2, (y_true - center) ** 2
    rest, total = (np.average(one, weights=sample_weight) for one in errors)
    return 1.0 - rest / total


def make_report(data=DATA, **settings):
    settings = {"sensitive_features": data[["sex"]]} | settings
    return report_predictions(data["y"], data["p"], **settings)


def rows_of(report, attribute, metric):
    frame = report.to_frame()
    frame = frame[(frame["attribute"] == attribute) & (frame["metric"] == metric)]
    return frame.set_index("group")


@pytest.fixture(scope="module")
def report():
    return make_report(metrics=["f1", "recall", COST, phi])


@pytest.mark.covering(0)
@pytest.mark.parametrize("name", ["f1_score", "cost", "phi"])
def test_values_and_intervals_are_those_of_the_group_report(report, name):
    metric = {"f1_score": "f1_score", "cost": COST, "phi": phi}[name]
    table = group_report(
        DATA["y"],
        DATA["p"],
        sensitive_features=DATA["sex"],
        metrics=[metric],
        confidence_level=0.95,
    )
    rows = rows_of(report, "sex", name)
    for column, ending in (("estimate", ""), ("low", "_low"), ("high", "_high")):
        expected = table.loc[["f", "m"], name + ending]
        np.testing.assert_allclose(rows.loc[["f", "m"], column], expected, rtol=1e-12)
    assert set(rows["interval"]) == {table.attrs["intervals"][name]}


def test_a_metric_of_every_report_is_not_repeated(report):
    assert (report.gaps["metric"] == "true_positive_rate").sum() == 1
    assert "recall" not in set(report.gaps["metric"])


def test_the_gap_of_a_cost_is_that_of_a_mean(report):
    cost = np.where(DATA["y"] == 1, 5.0 * (DATA["p"] == 0), DATA["p"] == 1)
    expected = gap_interval(cost, sensitive_features=DATA["sex"])
    gap = report.gaps.set_index("metric").loc["cost"]
    assert gap["gap"] == pytest.approx(expected.estimate)
    # Limits of means of any values are others.
    assert gap[["gap_low", "gap_high"]].tolist() == pytest.approx(list(expected[1:]), rel=0.03)


@pytest.mark.parametrize("name", ["phi", "cost"])
def test_gaps_combine_the_limits_of_groups(report, name):
    rows = rows_of(report, "sex", name)
    gap = report.gaps.set_index("metric").loc[name]
    low, high = rows.loc[gap["lowest"]], rows.loc[gap["highest"]]
    margin = np.hypot(high["high"] - high["estimate"], low["estimate"] - low["low"])
    assert gap["gap_high"] == pytest.approx(gap["gap"] + margin)


def test_pages_name_bootstrap_intervals(report):
    page = report.to_html()
    assert "Intervals of phi are bias-corrected bootstrap intervals" in page
    assert "F1 score" in page and "cost" in page


def test_json_rebuilds_tables(report):
    again = FairnessReport.from_json(report.to_json())
    pd.testing.assert_frame_equal(again.to_frame(), report.to_frame())
    assert again.to_html() == report.to_html()


def test_strata_are_reports_of_their_samples():
    report = make_report(control_features=DATA["region"])
    assert report.attributes == ["sex"]
    strata = report.to_frame().query("attribute == 'sex'")["stratum"].unique()
    assert [*strata] == ["", "region = north", "region = south"]
    for region, rows in DATA.groupby("region"):
        alone = make_report(rows).to_frame().query("attribute == 'sex'")
        within = report.to_frame().query(f"stratum == 'region = {region}'")
        columns = ["group", "metric", "n", "estimate", "low", "high"]
        pd.testing.assert_frame_equal(
            within[columns].reset_index(drop=True), alone[columns].reset_index(drop=True)
        )
    assert "2 groups by sex were audited" in report.findings[0]


def test_a_gap_that_strata_explain_is_none_within_them():
    """Both sexes are selected at the rate of their region, and live in different ones."""
    n = 4000
    rng = np.random.default_rng(0)
    north = rng.random(n) < np.repeat([0.2, 0.8], n // 2)
    data = pd.DataFrame({"sex": np.repeat(["f", "m"], n // 2), "y": 1})
    data["p"] = (rng.random(n) < np.where(north, 0.7, 0.3)).astype(int)
    report = report_predictions(
        None, data["p"], sensitive_features=data[["sex"]], control_features=north
    )
    is_within = report.gaps["stratum"] != ""
    assert report.gaps.loc[~is_within, "is_significant"].item()
    assert is_within.sum() == 2 and not report.gaps.loc[is_within, "is_significant"].any()


def test_rates_of_several_classes_are_those_of_each():
    y_true, y_pred = RNG.choice([*"xyz"], (2, N))
    report = report_predictions(
        y_true, y_pred, sensitive_features=DATA[["sex"]], metrics=["f1_score"]
    )
    female = (DATA["sex"] == "f").to_numpy()
    row = rows_of(report, "sex", "f1_score of class x").loc["f"]
    expected = f1_score(y_true[female] == "x", y_pred[female] == "x")
    assert row["estimate"] == pytest.approx(expected)


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"metrics": ["recal"]}, "Did you mean 'recall'"),
        ({"metrics": ["brier_score"]}, "y_score was not passed"),
        ({"metrics": {"accuracy": f1_score}}, "other names than those of the report"),
        ({"control_features": DATA["region"][:9]}, "inconsistent|length|rows"),
        (
            {"control_features": DATA["region"], "min_published": 5},
            "within strata of control_features",
        ),
        (
            {"control_features": DATA["region"].where(DATA["region"] == "north")},
            "control_features",
        ),
    ],
)
def test_refused_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        make_report(**settings)


def test_metrics_that_need_outcomes_are_refused_without_them():
    with pytest.raises(ValueError, match="recall compares predictions with outcomes"):
        report_predictions(None, DATA["p"], sensitive_features=DATA[["sex"]], metrics=["recall"])


@pytest.fixture
def path(tmp_path, monkeypatch):
    DATA.to_csv(tmp_path / "predictions.csv", index=False)
    monkeypatch.chdir(tmp_path)
    text = "def hits(y_true, y_pred):\n    return float(y_true @ y_pred)\n\nlimit = 3\n"
    (tmp_path / "own_metrics.py").write_text(text, encoding="utf-8")
    return tmp_path / "predictions.csv"


COMMAND = ["--target", "y", "--prediction", "p", "--sensitive", "sex", "--out", "report.json"]


@pytest.mark.slow
def test_the_command_takes_names_functions_and_strata(path):
    more = ["--metric", "f1", "own_metrics:hits", "--control", "region"]
    main(["report", str(path), *COMMAND, *more])
    report = FairnessReport.from_json(path.parent / "report.json")
    assert "region = south" in {*report.frame["stratum"]}
    rows = report.frame.query("stratum == '' and metric == 'hits'").set_index("group")
    hits = rows["estimate"]
    assert hits["f"] == DATA[DATA["sex"] == "f"].eval("y * p").sum()


@pytest.mark.parametrize(
    "name, message",
    [
        ("own_metrics:miss", "--metric must name a function"),
        ("no_such_module:f", "cannot be imported"),
        ("own_metrics:limit", "but own_metrics:limit is 3"),
        ("recal", "Did you mean 'recall'"),
    ],
)
def test_the_command_refuses_other_names(path, capsys, name, message):
    with pytest.raises(SystemExit):
        main(["report", str(path), *COMMAND, "--metric", name])
    assert message in " ".join(capsys.readouterr().err.split())


SCORES = np.round(RNG.random(N) + 0.2 * (DATA["sex"] == "m"), 1).to_numpy()


@pytest.mark.slow
def test_reports_of_the_highest_scores():
    settings = {"sensitive_features": DATA[["sex"]], "y_score": SCORES, "k": 100}
    report = report_predictions(DATA["y"], None, **settings, metrics=["f1"])
    table = group_report(
        DATA["y"],
        None,
        y_score=SCORES,
        k=100,
        sensitive_features=DATA["sex"],
        metrics=["selection_rate", "f1_score"],
        confidence_level=0.95,
    )
    for name in ("selection_rate", "f1_score"):
        rows = rows_of(report, "sex", name)
        np.testing.assert_allclose(rows.loc[["f", "m"], "estimate"], table.loc[["f", "m"], name])
        np.testing.assert_allclose(
            rows.loc[["f", "m"], "low"], table.loc[["f", "m"], f"{name}_low"]
        )
    assert table.attrs["ties"] and table.attrs["ties"] in report.to_html()
    assert not report.counts_samples  # ties share places
    again = FairnessReport.from_json(report.to_json())
    assert again.to_html() == report.to_html()


def test_the_highest_scores_need_no_outcomes():
    scores = np.arange(N, dtype=float)
    report = report_predictions(
        None, None, y_score=scores, k=0.25, sensitive_features=DATA[["sex"]]
    )
    assert report.to_frame()["metric"].unique().tolist() == ["selection_rate"]
    selected = scores >= 450
    rows = rows_of(report, "sex", "selection_rate")
    assert rows.loc["f", "estimate"] == pytest.approx(selected[DATA["sex"] == "f"].mean())
    assert report.counts_samples and len(report.adverse_impact()) == 2


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"subgroups": True}, "scores without decisions"),
        ({"task": "regression"}, "k makes decisions of scores"),
        ({"k": 0}, "k must be a number of places"),
    ],
)
def test_the_highest_scores_are_refused_with(settings, message):
    arguments = {"y_true": DATA["y"], "y_pred": None, "y_score": SCORES, "k": 10} | settings
    with pytest.raises(ValueError, match=message):
        report_predictions(**arguments, sensitive_features=DATA[["sex"]])


def test_the_command_selects_the_highest_scores(path, capsys):
    DATA.assign(p=SCORES).to_csv(path, index=False)
    main(["report", str(path), *COMMAND, "--top", "100"])
    report = FairnessReport.from_json(path.parent / "report.json")
    overall = rows_of(report, "overall", "selection_rate")
    assert overall["estimate"].item() == pytest.approx(100 / N)
    assert report.provenance["threshold"].startswith("the 100 highest scores; ")
    with pytest.raises(SystemExit):
        main(["report", str(path), *COMMAND, "--top", "ten"])
    assert "--top must be a number of places" in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
def test_reports_of_probabilities_have_a_reliability_table():
    probability = np.round(RNG.random(N), 2)
    settings = {"y_proba": probability, "sensitive_features": DATA[["sex"]]}
    report = report_predictions(DATA["y"], DATA["p"], **settings)
    expected = reliability_table(DATA["y"], probability, sensitive_features=DATA["sex"])
    columns = ["n", "mean_probability", "estimate", "low", "high"]
    table = report.reliability.set_index("group")
    for group in ("f", "m"):
        np.testing.assert_allclose(table.loc[group, columns], expected.loc[group, columns])
    page = report.to_html()
    assert "Reliability by sex" in page and "Truly positive" in page
    again = FairnessReport.from_json(report.to_json())
    pd.testing.assert_frame_equal(again.reliability, report.reliability)
    assert again.to_html() == page
    assert report_predictions(DATA["y"], DATA["p"], **settings, min_published=2).reliability is None


def test_estimators_are_reported_at_the_highest_scores():
    X = RNG.normal(size=(N, 2))
    model = LogisticRegression().fit(X, DATA["y"])
    groups = {"sensitive_features": DATA[["sex"]]}
    report = Audit.from_estimator(model, X, DATA["y"], **groups).top(50).report()
    scores = model.predict_proba(X)[:, 1]
    expected = report_predictions(DATA["y"], None, y_proba=scores, k=50, **groups)
    pd.testing.assert_frame_equal(report.to_frame(), expected.to_frame())


def test_numbers_have_metrics_of_errors_and_no_rates():
    y_true, y_pred = RNG.normal(size=(2, N))
    settings = {"sensitive_features": DATA[["sex"]]}
    report = report_predictions(y_true, y_pred, **settings, metrics=[explained_share])
    female = (DATA["sex"] == "f").to_numpy()
    value = rows_of(report, "sex", "explained_share").loc["f", "estimate"]
    assert value == pytest.approx(r2_score(y_true[female], y_pred[female]))
    with pytest.raises(ValueError, match="recall is a rate of decisions"):
        report_predictions(y_true, y_pred, **settings, metrics=["recall"])


def count_low_limits_above(truth, metric, draw, n_draws):
    """Number of samples whose bootstrap limit of a function of two columns is above the truth."""
    n_above = 0
    for seed in range(n_draws):
        columns = draw(np.random.default_rng(seed))
        rows = np.arange(len(columns[0]))
        function = GroupFunction(metric, columns, np.ones(len(rows)), takes_weights=False)
        estimates = BootstrapEstimates(function, [rows], np.array([function.value(rows)]))
        n_above += estimates.limits(0.975)[0][0] > truth
    return n_above


def sum_absolute_bins(columns, weights=None):
    outcomes, probabilities = columns
    bins = np.minimum((10 * probabilities).astype(int), 9)
    return np.abs(np.bincount(bins, outcomes - probabilities)).sum() / len(outcomes)


def largest_rate_gap(columns, weights=None):
    outcomes, scores = columns
    bins = np.minimum((5 * scores).astype(int), 4)
    rates = np.bincount(bins, outcomes, 5) / np.bincount(bins, minlength=5)
    return np.ptp(rates)


def draw_calibrated(rng):
    probabilities = rng.beta(2, 3, 150)
    return [(rng.random(150) < probabilities).astype(float), probabilities]


def draw_equal(rng):
    return [(rng.random(150) < 0.4).astype(float), rng.permutation(150) / 150]


def absolute_difference(columns, weights=None):
    outcomes, probabilities = columns
    return abs(outcomes.mean() - probabilities.mean())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "draw"),
    [
        (sum_absolute_bins, draw_calibrated),
        (largest_rate_gap, draw_equal),
        (absolute_difference, draw_calibrated),
    ],
)
def test_noise_alone_does_not_show_a_function_above_its_minimum(metric, draw):
    """Both are 0 in the population; two biases alone left .53 and .32 of limits above it."""
    n_draws = 80
    assert count_low_limits_above(0.0, metric, draw, n_draws) <= stats.binom.ppf(
        0.99, n_draws, 0.05
    )


def test_draws_that_end_near_the_value_are_those_of_a_minimum():
    """Folded normal draws, 1.8 standard errors from 0: their quantiles are above 0."""
    rng = np.random.default_rng(0)
    draws = np.abs(1.8 + rng.normal(size=500))
    below, _ = _bootstrap_margins(draws, 1.8, 1e9, 0.975, 500)
    assert below == pytest.approx(np.quantile(draws, 0.975) - 1.8, rel=1e-6)
    assert below > 1.8
    # Those of a mean keep their quantiles, and counts end at the least count.
    plain = 1.9 + rng.normal(size=500)
    below, above = _bootstrap_margins(plain, 1.9, 1e9, 0.975, 500)
    bias = plain.mean() - 1.9
    low, high = np.quantile(plain, [0.025, 0.975]) - 1.9
    assert below == pytest.approx(2 * bias + 4 * max(bias, 0.0) - low, rel=0.01)
    counts = rng.binomial(50, 0.02, size=500) / 50.0
    below, _ = _bootstrap_margins(counts, 0.02, 1e9, 0.975, 500)
    assert below <= 0.02 + 6.0 * max(counts.mean() - 0.02, 0.0)


def test_a_bias_of_resamples_moves_one_limit_alone():
    """Draws 3 above the estimate on average: the lower limit is theirs less 6 of these biases."""
    draws = np.linspace(-1.0, 7.0, 401)
    below, above = _bootstrap_margins(draws, 0.0, 1e9, 0.9, 401)
    low, high = np.quantile(draws, [0.1, 0.9])
    assert below == pytest.approx(6 * 3.0 - low, rel=1e-6)
    assert above == pytest.approx(max(high - 2 * 3.0, 0.0), abs=1e-6)
    mirrored = _bootstrap_margins(-draws, 0.0, 1e9, 0.9, 401)
    assert mirrored == pytest.approx((above, below))
