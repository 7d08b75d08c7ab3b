"""Calibration of probabilities by group."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve

from skfair._statistics.limits_of_rates import rate_limits
from skfair.metrics import expected_calibration_error, group_report, reliability_table

TRUE = np.array([0, 1, 1, 1, 0, 0, 1, 0])
PROBABILITY = np.array([0.2, 0.2, 0.9, 0.9, 0.2, 0.2, 0.9, 0.9])
GROUP = np.repeat(["a", "b"], 4)


def random_sample(seed, n=500):
    rng = np.random.default_rng(seed)
    y_proba = rng.random(n)
    return rng.random(n) < y_proba**2, y_proba, rng.choice(["a", "b", "c"], n), rng.random(n)


def test_the_error_by_hand():
    # Bins of 0.2 and 0.9 hold half of the samples each: |1/4 - .2| and |3/4 - .9|.
    assert expected_calibration_error(TRUE, PROBABILITY) == pytest.approx(0.5 * 0.05 + 0.5 * 0.15)
    one_bin = expected_calibration_error(TRUE, PROBABILITY, n_bins=1)
    assert one_bin == pytest.approx(abs(TRUE.mean() - PROBABILITY.mean()))


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_bins_are_those_of_scikit_learn(strategy):
    y_true, y_proba, _, _ = random_sample(0)
    observed, predicted = calibration_curve(y_true, y_proba, n_bins=5, strategy=strategy)
    table = reliability_table(
        y_true, y_proba, sensitive_features=np.zeros(500), n_bins=5, strategy=strategy
    ).loc["overall"]
    atol = 1e-12 if strategy == "uniform" else 0.02  # quantiles between two samples
    np.testing.assert_allclose(table["estimate"], observed, atol=atol)
    np.testing.assert_allclose(table["mean_probability"], predicted, atol=atol)


@pytest.mark.slow
@given(seed=st.integers(0, 1000), n_bins=st.integers(1, 15))
def test_the_error_is_the_mean_distance_of_the_table(seed, n_bins):
    y_true, y_proba, groups, weights = random_sample(seed, n=60)
    for strategy in ("uniform", "quantile"):
        settings = {"n_bins": n_bins, "strategy": strategy, "sample_weight": weights}
        table = reliability_table(y_true, y_proba, sensitive_features=groups, **settings).loc[
            "overall"
        ]
        distance = (table["estimate"] - table["mean_probability"]).abs()
        bins = np.searchsorted(table["bin_high"].to_numpy()[:-1], y_proba)
        shares = np.bincount(bins, weights, len(table)) / weights.sum()
        error = expected_calibration_error(y_true, y_proba, **settings)
        assert error == pytest.approx(distance.to_numpy() @ shares)


def test_intervals_are_those_of_rates():
    y_true, y_proba, groups, _ = random_sample(1)
    table = reliability_table(y_true, y_proba, sensitive_features=groups, n_bins=4)
    low, high = rate_limits(table["estimate"].to_numpy(), table["n"].to_numpy(), 0.975)
    np.testing.assert_allclose(table["low"], low)
    np.testing.assert_allclose(table["high"], high)
    assert table.loc["a", "n"].sum() == (groups == "a").sum()
    assert table.loc["overall", "n"].sum() == 500


def test_groups_have_the_bins_of_all_samples():
    y_true, y_proba, groups, _ = random_sample(2)
    table = reliability_table(
        y_true, y_proba, sensitive_features=groups, n_bins=3, strategy="quantile"
    )
    ends = table.groupby(level="bin")[["bin_low", "bin_high"]].nunique()
    assert (ends == 1).all(axis=None)


def test_several_attributes_and_labels():
    y_true, y_proba, groups, _ = random_sample(3)
    data = pd.DataFrame({"sex": groups, "old": y_proba > 0.5})
    words = np.where(y_true, "yes", "no")
    table = reliability_table(words, y_proba, sensitive_features=data, pos_label="yes")
    assert table.index.names == ["sex", "old", "bin"]


@pytest.mark.slow
def test_metrics_of_calibration_are_those_of_each_group():
    y_true, y_proba, groups, weights = random_sample(4)
    report = group_report(
        y_true,
        y_proba > 0.5,
        y_proba=y_proba,
        sensitive_features=groups,
        sample_weight=weights,
        metrics=["ece", "brier_score"],
        confidence_level=0.9,
    )
    rows = groups == "b"
    expected = expected_calibration_error(y_true[rows], y_proba[rows], sample_weight=weights[rows])
    assert report.loc["b", "ece"] == pytest.approx(expected)
    assert report.loc["b", "ece_low"] < expected < report.loc["b", "ece_high"]


@pytest.mark.parametrize(
    "change, message",
    [
        ({"y_proba": [0.5, 1.5]}, "must be probabilities in .* but 1.5"),
        ({"y_true": [1, 2]}, "must hold 0 and 1"),
        ({"strategy": "uniforms"}, "Did you mean 'uniform'"),
        ({"n_bins": 0}, "positive whole number"),
        ({"n_bins": True}, "positive whole number"),
        ({"y_true": [0, 1, 1]}, "inconsistent"),
        ({"y_proba": [0.5, np.nan]}, "NaN"),
    ],
)
def test_bad_input(change, message):
    arguments = {"y_true": [0, 1], "y_proba": [0.1, 0.2]} | change
    with pytest.raises(ValueError, match=message):
        expected_calibration_error(**arguments)


def test_the_table_refuses_scores():
    with pytest.raises(ValueError, match="must be probabilities"):
        reliability_table(TRUE, 2 * PROBABILITY, sensitive_features=GROUP)


def test_rounding_is_clipped_and_what_exceeds_it_is_shown():
    error = expected_calibration_error([1, 0], [0.5, 1.0000001192092896])
    assert error == expected_calibration_error([1, 0], [0.5, 1.0])
    with pytest.raises(ValueError, match=r"in \[0, 1\], but 1\.00001 was passed"):
        expected_calibration_error([1, 0], [0.5, 1.00001])


@pytest.mark.parametrize("unit", [0.1, 1.0, 3.7, 7.0])
@pytest.mark.parametrize("n_bins", [3, 7, 10])
def test_the_unit_of_weights_moves_no_quantile(unit, n_bins):
    # As many different probabilities as bins: each is a bin of its own, whatever weights mean.
    y_true = np.arange(n_bins) % 2
    y_proba = np.linspace(0.05, 0.95, n_bins)
    error = expected_calibration_error(
        y_true,
        y_proba,
        n_bins=n_bins,
        strategy="quantile",
        sample_weight=np.full(n_bins, unit),
    )
    assert error == pytest.approx(abs(y_true - y_proba).mean())
