"""Cox's calibration lines of groups, and bands of reliability tables."""

import numpy as np
import pandas as pd
import pytest
from scipy import special
from sklearn.linear_model import LogisticRegression

from skfair.audit import Audit, FairnessReport, SensitiveFeatures
from skfair.metrics import group_report, reliability_table

NAMES = ["calibration_intercept", "calibration_slope"]


def draw(sizes, slopes, seed=0):
    """Groups, probabilities, and outcomes whose log odds are slopes times those of these."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(len(sizes)), sizes)
    p = rng.beta(2, 3, len(codes))
    y = rng.random(len(codes)) < special.expit(np.array(slopes)[codes] * special.logit(p))
    return np.array([*"abcdefgh"])[codes], p, y


def tabulate(y, p, groups, level=0.95, **params):
    return group_report(
        y,
        p > 0.5,
        y_proba=p,
        sensitive_features=groups,
        metrics=NAMES,
        confidence_level=level,
        **params,
    )


def test_lines_are_logistic_regressions_on_log_odds():
    groups, p, y = draw([300, 400], [1.0, 0.5])
    table = tabulate(y, p, groups)
    for name in "ab":
        z = special.logit(p[groups == name])[:, np.newaxis]
        model = LogisticRegression(C=np.inf, tol=1e-10).fit(z, y[groups == name])
        line = [*model.intercept_, *model.coef_[0]]
        np.testing.assert_allclose(table.loc[name, NAMES].astype(float), line, atol=1e-5)
        # Under the model the covariance is the inverse of the information matrix.
        design = np.column_stack((np.ones(len(z)), z))
        means = model.predict_proba(z)[:, 1]
        variances = np.diag(np.linalg.inv((design.T * means * (1.0 - means)) @ design))
        errors = table.loc[name, [f"{one}_standard_error" for one in NAMES]].to_numpy(float)
        assert (errors >= np.sqrt(variances) * (1.0 - 1e-6)).all()
        assert (errors <= 1.15 * np.sqrt(variances)).all()
    assert table.loc["b", "calibration_slope_high"] < 1.0 < table.loc["a", "calibration_slope_high"]


def test_counts_and_equal_clusters_have_the_lines_of_samples():
    groups, p, y = draw([150, 150], [1.0, 0.6])
    p = np.round(p, 1)
    single = Audit.from_predictions(y, p > 0.5, y_score=p, sensitive_features=groups)
    expected = single.report().frame.query("metric in @NAMES").reset_index(drop=True)
    # Every sample twice, as one of a cluster of two equal ones: nothing is learned from the second.
    twice = Audit.from_predictions(
        *(np.tile(one, 2) for one in (y, p > 0.5)),
        y_score=np.tile(p, 2),
        sensitive_features=np.tile(groups, 2),
        groups=np.tile(np.arange(300), 2),
    )
    clustered = twice.report().frame.query("metric in @NAMES").reset_index(drop=True)
    np.testing.assert_allclose(clustered["estimate"], expected["estimate"], atol=1e-8)
    # Their limits count the classes of samples, so that quantiles differ a little.
    width = (clustered["high"] - clustered["low"]) / (expected["high"] - expected["low"])
    assert (abs(width - 1.0) < 0.15).all()


def test_groups_without_a_line_have_no_row():
    groups, p, y = draw([300, 60, 60], [1.0, 1.0, 1.0])
    y[groups == "b"] = False
    y[groups == "c"] = p[groups == "c"] > 0.4  # separated: the slope has no end
    frame = Audit.from_predictions(y, p > 0.5, y_score=p, sensitive_features=groups).report().frame
    lines = frame[frame["metric"].isin(NAMES)]
    assert set(lines["group"]) == {"overall", "a"}
    assert np.isfinite(lines[["estimate", "low", "high"]]).all(axis=None)
    constant = tabulate(y, np.full(len(y), 0.4), groups)
    assert constant[NAMES].isna().all(axis=None)


def test_probabilities_of_0_and_1_are_cut_off():
    groups, p, y = draw([400], [1.0])
    p[:3] = 0.0, 1.0, 1e-12
    slope = tabulate(y, p, groups).loc["a", "calibration_slope"]
    z = np.clip(special.logit(p), *(special.logit(1e-6), special.logit(1.0 - 1e-6)))
    model = LogisticRegression(C=np.inf, tol=1e-10).fit(z[:, np.newaxis], y)
    assert slope == pytest.approx(model.coef_[0, 0], abs=1e-5)


def test_limits_of_slopes_hold():
    n_groups = 200
    rng = np.random.default_rng(3)
    p = rng.beta(2, 3, 100 * n_groups)
    y = rng.random(len(p)) < p
    table = tabulate(y, p, np.repeat(np.arange(n_groups).astype(str), 100), level=0.9).iloc[:-1]
    # At most 20 of 200 at the level, up to four standard errors.
    for name, truth in zip(NAMES, (0.0, 1.0), strict=True):
        misses = (table[f"{name}_low"] > truth) | (table[f"{name}_high"] < truth)
        assert 2 < misses.sum() < 37


def test_bands_hold_for_all_bins_of_a_group():
    groups, p, y = draw([500, 500], [1.0, 1.0])
    table = reliability_table(y, p, sensitive_features=groups, n_bins=5)
    n_bins = table.groupby(level=0).size()
    for name in ("a", "b", "overall"):
        level = 1.0 - 0.05 / n_bins[name]
        single = reliability_table(
            y, p, sensitive_features=groups, n_bins=5, confidence_level=level
        )
        np.testing.assert_allclose(
            table.loc[name, ["band_low", "band_high"]], single.loc[name, ["low", "high"]]
        )


def test_a_page_draws_the_curve_of_each_group():
    groups, p, y = draw([200, 200], [1.0, 0.5])
    groups = np.where(groups == "a", "<a>", groups)
    report = Audit.from_predictions(y, p > 0.5, y_score=p, sensitive_features=groups).report()
    page = report.to_html()
    assert page.count('<path class="band"') == 2 and page.count("<figcaption>") == 2
    assert "<figcaption>&lt;a&gt;</figcaption>" in page and "Calibration slope" in page
    n_bins = len(report.reliability)
    assert page.split('class="curves"')[1].split("</div>")[0].count('class="dot"') == n_bins
    stored = FairnessReport.from_json(report.to_json())
    assert stored.to_html() == page
    np.testing.assert_array_equal(stored.reliability, report.reliability)


def test_lines_of_scores_that_predict_nothing_are_fitted():
    """Newton's steps from calibrated probabilities would grow without end."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=(20, 150))
    p = rng.random((20, 150))
    groups = np.repeat(np.arange(20), 150)
    report = group_report(
        y.ravel(),
        y.ravel(),
        y_proba=p.ravel(),
        sensitive_features=groups,
        metrics=["calibration_slope"],
    )
    z = np.log(p / (1.0 - p))
    expected = [
        LogisticRegression(C=1e12, tol=1e-10).fit(one[:, np.newaxis], truth).coef_.item()
        for one, truth in zip(z, y, strict=True)
    ]
    np.testing.assert_allclose(report["calibration_slope"].iloc[:20], expected, atol=1e-3)


@pytest.mark.parametrize("kind", ["clusters", "unknown groups", "overlapping groups"])
def test_too_few_outcomes_of_a_class_have_no_line_and_all_other_numbers(kind):
    groups, p, _ = draw([40, 40], [1.0, 1.0])
    y = np.arange(80) % 40 == 0  # one positive in each group, far too few for a line
    passed, options = groups.astype(object), {}
    if kind == "clusters":
        options = {"groups": np.arange(80) // 2}
    elif kind == "unknown groups":
        passed[5::40] = None
        table = pd.DataFrame({"x": passed, "y": np.tile(["u", "v"], 40)})
        passed = SensitiveFeatures(table, missing="exclude")
    else:
        passed = np.column_stack((groups == "a", groups == "b", np.tile([True, False], 40)))
    audit = Audit.from_predictions(y, p > 0.5, y_score=p, sensitive_features=passed, **options)
    frame = audit.report().frame.set_index(["metric", "attribute", "group"])["estimate"]
    assert not frame.index.get_level_values("metric").isin(NAMES).any()
    assert frame["base_rate", "overall", "overall"] == y.mean()
    assert frame["mean_probability", "overall", "overall"] == pytest.approx(p.mean())
