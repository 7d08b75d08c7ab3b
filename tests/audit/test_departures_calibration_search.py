"""Subgroups whose probabilities are miscalibrated, and limits of calibration errors."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from skfair.__main__ import main
from skfair._statistics.limits_of_rates import clopper_pearson_limits
from skfair.audit import Audit
from skfair.audit._departures import FromProbabilities
from skfair.metrics import group_report

RNG = np.random.default_rng(0)
PROBABILITIES = {
    "even": RNG.beta(2, 3, 100),
    "clear": RNG.beta(0.1, 0.3, 100),
    "rare": RNG.beta(1, 30, 100),
    "two values": np.repeat([0.001, 0.9], [70, 30]),
    "nearly sure": np.repeat([0.01, 0.99], 50),
    "few": RNG.beta(0.5, 1.5, 30),
}


def count_distribution(probabilities):
    """Probability of each number of positives, by convolution."""
    mass = np.ones(1)
    for one in probabilities:
        mass = np.convolve(mass, [1.0 - one, one])
    return mass


def sums_of_counts(probabilities):
    """Sums of a subgroup with each number of positives, spread as calibration expects."""
    n = len(probabilities)
    hits = np.arange(n + 1.0)
    uncertainty = (probabilities * (1.0 - probabilities)).sum()
    departure = hits / n - probabilities.mean()
    # The least spread of the residuals: larger ones make wider limits.
    squares = n * departure**2
    totals = np.broadcast_arrays(n, hits, probabilities.sum(), uncertainty, squares)
    return np.array(totals, dtype=float)


@pytest.mark.parametrize("error", [0.025, 1e-3, 1e-5, 1e-7])
@pytest.mark.parametrize("name", PROBABILITIES)
def test_no_limit_of_calibrated_probabilities_errs_more_often_than_stated(name, error):
    """All numbers of positives are enumerated."""
    probabilities = PROBABILITIES[name]
    sums = sums_of_counts(probabilities)
    comparison = FromProbabilities(np.zeros(1), np.ones(1), np.zeros(1))
    _, low, high = comparison.limits(sums, None, error)
    mass = count_distribution(probabilities)
    assert mass[low > 0.0].sum() <= error and mass[high < 0.0].sum() <= error


def test_limits_are_exact_ones_where_probabilities_explain_nothing():
    n, hits = 50.0, 20.0
    sums = np.array([[n], [hits], [n * 0.3], [n * 0.21], [n * (0.24 + 0.01)]])
    comparison = FromProbabilities(np.zeros(1), np.ones(1), np.zeros(1))
    departure, low, high = comparison.limits(sums, None, 0.01)
    exact_low, exact_high = clopper_pearson_limits([hits], n, 0.99)
    assert departure == pytest.approx(0.1)
    assert low == pytest.approx(exact_low - 0.3) and high == pytest.approx(exact_high - 0.3)


@pytest.mark.parametrize("truth", ["constant", "reversed"])
def test_limits_hold_where_probabilities_explain_less_than_they_claim(truth):
    n, n_draws, error = 200, 4000, 0.01
    rng = np.random.default_rng(1)
    p = rng.beta(0.5, 1.5, n)
    q = np.full(n, 0.3) if truth == "constant" else 0.6 - 0.5 * p
    y = rng.random((n_draws, n)) < q
    rows = np.broadcast_arrays(1.0, y, p, p * (1.0 - p), (y - p) ** 2)
    sums = np.array([one.sum(axis=1) for one in rows])
    comparison = FromProbabilities(np.zeros(1), np.ones(1), np.zeros(1))
    _, low, high = comparison.limits(sums, None, error)
    bias = (q - p).mean()
    limit = stats.binom.ppf(0.999, n_draws, error)
    assert (low > bias).sum() <= limit and (high < bias).sum() <= limit


def make_attributes(n, rng):
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(18, 80, n),
            "race": rng.choice(["a", "b", "c"], n, p=[0.7, 0.2, 0.1]),
        }
    )


def draw(n=4000, off=0.2, seed=0):
    """Attributes, probabilities, and outcomes: old women are more often positive than stated."""
    rng = np.random.default_rng(seed)
    attributes = make_attributes(n, rng)
    p = rng.beta(2, 3, n)
    is_off = ((attributes["sex"] == "f") & (attributes["age"] > 60)).to_numpy()
    return attributes, p, rng.random(n) < np.clip(p + off * is_off, 0.0, 1.0)


def test_the_worst_subgroup_is_stated_with_its_limits():
    attributes, p, y = draw()
    audit = Audit.from_predictions(y, None, y_score=p, sensitive_features=attributes)
    report = audit.subgroups("calibration_error")
    first = report.subgroups.iloc[0]
    assert first["subgroup"].startswith("sex = f and age > ")
    mask = (attributes["sex"] == "f") & (attributes["age"] > int(first["subgroup"].split()[-1]))
    assert first["n"] == mask.sum()
    assert first["estimate"] == pytest.approx(y[mask].mean())
    assert first["rest_estimate"] == pytest.approx(p[mask].mean())
    assert first["difference"] == pytest.approx((y - p)[mask].mean())
    assert 0.02 < first["low"] < 0.2 and first["p_value"] < 0.001
    assert "are positive" in report._headline() and "are predicted" in report._headline()
    assert "shown to be miscalibrated" in report.findings[0]
    assert report.findings[1].startswith(
        f"The probabilities of {first['subgroup']} are too low by "
    )
    assert f"Of its {first['n']} samples" in report.findings[1]
    assert "differs from its mean probability by more than" in report.findings[-1]
    assert report.searches["largest_possible"].item() > first["difference"]
    page = report._repr_html_()
    assert "Mean probability" in page and "all other samples" not in page
    display = report.plot()
    assert "predicted" in display.ax_.get_xlabel()


def test_conditions_on_the_probability_and_all_samples_are_searched():
    rng = np.random.default_rng(0)
    attributes = make_attributes(3000, rng)[["sex"]]
    p = rng.beta(2, 3, 3000)
    above = Audit.from_predictions(
        rng.random(3000) < np.clip(p + 0.2 * (p > 0.55), 0.0, 1.0),
        None,
        y_score=p,
        sensitive_features=attributes,
    ).subgroups("calibration_error", max_conditions=1)
    assert above.subgroups.loc[0, "subgroup"].startswith("predicted probability > ")
    # All samples, two groups, and nine ranges of four bins.
    assert above.searches["n_searched"].item() == 12
    everyone = Audit.from_predictions(
        rng.random(3000) < p + 0.1 * (1.0 - p), None, y_score=p, sensitive_features=attributes
    ).subgroups("calibration_error", max_conditions=1)
    assert "all samples" in set(everyone.flagged["subgroup"])


def test_unknown_outcomes_are_left_out_and_counts_are_samples():
    attributes, p, y = draw(1500)
    p = np.round(p, 1)
    attributes["age"] = 10 * (attributes["age"] // 10)
    known = pd.Series(y.astype(object)).mask(np.arange(1500) % 3 == 0)
    audit = Audit.from_predictions(known, None, y_score=p, sensitive_features=attributes)
    report = audit.subgroups("calibration_error")
    assert report.searches["n"].item() == 1000
    table = attributes.assign(y=y, p=p).groupby([*attributes.columns, "y", "p"]).size()
    table = table.rename("n").reset_index()
    counted = Audit.from_counts(
        table, counts="n", y_true="y", y_score="p", sensitive_features=list(attributes.columns)
    ).subgroups("calibration_error")
    one_by_one = Audit.from_predictions(y, None, y_score=p, sensitive_features=attributes)
    expected = one_by_one.subgroups("calibration_error")
    pd.testing.assert_frame_equal(counted.flagged, expected.flagged)


@pytest.mark.slow
def test_calibrated_probabilities_are_seldom_called_miscalibrated():
    n_claims = 0
    for seed in range(40):
        attributes, p, y = draw(1000, 0.0, seed)
        audit = Audit.from_predictions(y, None, y_score=p, sensitive_features=attributes)
        n_claims += len(audit.subgroups("calibration_error").flagged) > 0
    # Searches that claim in .2 of the cases would pass with a probability of .03.
    assert n_claims <= 4


def test_scores_that_are_no_probabilities_are_refused():
    attributes, p, y = draw(300)
    bare = Audit.from_predictions(y, p > 0.5, sensitive_features=attributes)
    with pytest.raises(ValueError, match="pass these as y_score="):
        bare.subgroups("calibration_error")
    scored = Audit.from_predictions(y, p > 0.5, y_score=3.0 * p, sensitive_features=attributes)
    with pytest.raises(ValueError, match=r"y_score must be probabilities in \[0, 1\]"):
        scored.subgroups("calibration_error")
    blind = Audit.from_predictions(None, p > 0.5, y_score=p, sensitive_features=attributes)
    with pytest.raises(ValueError, match="y_true must hold true classes"):
        blind.subgroups("calibration_error")


def test_a_file_is_searched(tmp_path, capsys):
    attributes, p, y = draw()
    path = tmp_path / "scored.csv"
    attributes.assign(y=y.astype(int), decision=(p > 0.5).astype(int), p=p).to_csv(
        path, index=False
    )
    command = f"subgroups {path} --target y --prediction decision --probability p"
    command += " --sensitive sex age race --metric calibration_error"
    assert main(command.split()) == 3
    assert "shown to be miscalibrated" in capsys.readouterr().out


def test_a_file_needs_no_column_of_decisions(tmp_path, capsys):
    attributes, p, y = draw()
    path = tmp_path / "scored.csv"
    attributes.assign(y=y.astype(int), p=p).to_csv(path, index=False)
    columns = f"{path} --target y --probability p --sensitive sex"
    assert main(f"subgroups {columns} age race --metric calibration_error".split()) == 3
    claim = tmp_path / "claim.json"
    options = "--constraint calibration --tolerance 0.03 --json"
    assert main(f"certify {columns} {options} {claim}".split()) == 3
    assert "The probabilities of f are too low by " in capsys.readouterr().out
    assert main(f"verify {claim} {path}".split()) == 0
    with pytest.raises(SystemExit, match="2"):
        main(f"certify {path} --sensitive sex --tolerance 0.1".split())
    assert "--probability is required" in capsys.readouterr().err


def test_a_plan_is_printed(capsys):
    command = "plan --tolerance 0.02 --rate 0.1 --groups 5 --purpose calibration"
    assert main(command.split()) == 0
    text = capsys.readouterr().out
    assert "3,087 samples of each of 5 groups" in text
    assert "a calibration error of each group of at most 0.02 is shown" in text


def test_no_positives_of_a_rare_outcome_are_no_miscalibration():
    y = np.repeat([0, 0, 1], [60, 585, 15])
    p = np.full(660, 0.02)
    group = np.repeat(["a", "b"], [60, 600])
    audit = Audit.from_predictions(y, p > 0.5, y_score=p, sensitive_features=group)
    frame = audit.report().frame.set_index(["group", "metric"])
    row = frame.loc[("a", "calibration_error")]
    assert row["estimate"] == pytest.approx(-0.02) and row["low"] <= -0.02 < 0.0 < row["high"]


def report_errors(y, p, groups, **params):
    return group_report(
        y,
        p > 0.5,
        y_proba=p,
        sensitive_features=groups,
        metrics=["expected_calibration_error"],
        confidence_level=0.95,
        **params,
    )


@pytest.mark.slow
@pytest.mark.parametrize("off", [0.0, 0.3])
def test_limits_of_expected_calibration_errors_hold(off):
    n_groups, n = 60, 150
    rng = np.random.default_rng(2)
    p = rng.beta(2, 3, n_groups * n)
    q = np.clip(p + off * p * (1.0 - p), 0.0, 1.0)
    y = rng.random(len(p)) < q
    table = report_errors(y, p, np.repeat(np.arange(n_groups).astype(str), n))
    truth = (q - p).mean()  # as the differences have the same sign in all bins
    low = table["expected_calibration_error_low"].to_numpy()[:-1]
    high = table["expected_calibration_error_high"].to_numpy()[:-1]
    limit = stats.binom.ppf(0.999, n_groups, 0.025)
    assert (low > truth + 1e-12).sum() <= limit and (high < truth).sum() <= limit


@pytest.mark.slow
def test_weights_of_expected_calibration_errors_that_are_constant_change_nothing():
    _, p, y = draw(400)
    groups = np.repeat(["a", "b"], 200)
    plain = report_errors(y, p, groups)
    weighted = report_errors(y, p, groups, sample_weight=np.full(400, 3.0))
    columns = [name for name in plain if name.startswith("expected")]
    np.testing.assert_allclose(plain[columns], weighted[columns])


def test_weights_and_clusters_are_refused_with_a_way_out():
    attributes, p, y = draw(300)
    columns = {"y_score": p, "sensitive_features": attributes}
    weights = np.random.default_rng(0).uniform(1.0, 3.0, 300)
    weighted = Audit.from_predictions(y, None, sample_weight=weights, **columns)
    with pytest.raises(ValueError, match=r"each with probability w / w\.max\(\)"):
        weighted.subgroups("calibration_error")
    clustered = Audit.from_predictions(y, None, groups=np.arange(300) // 2, **columns)
    with pytest.raises(ValueError, match="drawn at random"):
        clustered.subgroups("calibration_error")
