from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats

from skfair._groups.events import Events
from skfair._partitions.partitions import BLOCK_SIZE
from skfair._statistics.bounded_means import make_estimates
from skfair.metrics import METRICS, class_report, group_report
from skfair.metrics._group_report import _DEFAULT_METRICS

# True class, predicted class, group.
ROWS = np.array(
    [[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1], [1, 1, 1]]
)
Y_TRUE, Y_PRED, GROUP = ROWS.T
report_with_intervals = partial(group_report, confidence_level=0.95)


def test_by_hand():
    report = report_with_intervals(Y_TRUE, Y_PRED, sensitive_features=GROUP)
    assert report.index.tolist() == [0, 1, "overall"]
    endings = ("_n", "_standard_error", "_low", "_high")
    details = [name + end for name in _DEFAULT_METRICS for end in endings]
    assert report.columns.tolist() == ["n", *_DEFAULT_METRICS, *details]
    rates = group_report(Y_TRUE, Y_PRED, sensitive_features=GROUP)
    pd.testing.assert_frame_equal(rates, report[["n", *_DEFAULT_METRICS]])
    assert report["n"].tolist() == [5, 3, 8]
    expected = {
        "base_rate": [2 / 5, 2 / 3, 4 / 8],
        "base_rate_n": [5, 3, 8],
        "true_positive_rate_n": [2, 2, 4],
        "false_positive_rate_n": [3, 1, 4],
        "positive_predictive_value_n": [2, 2, 4],
        "selection_rate": [2 / 5, 2 / 3, 4 / 8],
        "true_positive_rate": [1 / 2, 1, 3 / 4],
        "false_positive_rate": [1 / 3, 0, 1 / 4],
        "positive_predictive_value": [1 / 2, 1, 3 / 4],
        "false_omission_rate": [1 / 3, 0, 1 / 4],
        "accuracy": [3 / 5, 1, 6 / 8],
    }
    for name, rates in expected.items():
        assert report[name].tolist() == pytest.approx(rates)


def test_standard_errors_are_of_a_mean_over_the_samples_of_the_condition():
    report = report_with_intervals(Y_TRUE, Y_PRED, sensitive_features=GROUP)
    assert report.loc[0, "selection_rate_standard_error"] == pytest.approx(np.sqrt(0.4 * 0.6 / 5))
    assert report.loc[0, "true_positive_rate_standard_error"] == pytest.approx(
        np.sqrt(0.5 * 0.5 / 2)
    )
    assert report.loc["overall", "false_omission_rate_standard_error"] == pytest.approx(
        np.sqrt(0.25 * 0.75 / 4)
    )
    assert report.loc[1, "accuracy_standard_error"] == 0


def test_intervals_are_wilsons():
    repeated = (np.tile(column, 4) for column in (Y_TRUE, Y_PRED, GROUP))
    y_true, y_pred, group = repeated
    report = report_with_intervals(y_true, y_pred, sensitive_features=group)
    # Rates at which the one seen is just 1.96 standard errors away.
    for end in ("low", "high"):
        rate = report[f"selection_rate_{end}"]
        distance = np.abs(report["selection_rate"] - rate) / np.sqrt(
            rate * (1 - rate) / report["n"]
        )
        assert distance.tolist() == pytest.approx([1.959964] * 3, abs=1e-6)


def test_intervals_of_rates_near_0_or_1_are_exact():
    report = report_with_intervals(Y_TRUE, Y_PRED, sensitive_features=GROUP)
    limits = report.loc[0, ["selection_rate_low", "selection_rate_high"]].tolist()
    assert limits == pytest.approx([stats.beta.ppf(0.025, 2, 4), stats.beta.ppf(0.975, 3, 3)])


def test_two_of_two_are_not_certain():
    report = report_with_intervals(Y_TRUE, Y_PRED, sensitive_features=GROUP).loc[1]
    names = [f"true_positive_rate{end}" for end in ("", "_n", "_standard_error", "_low", "_high")]
    assert report[names].tolist() == pytest.approx([1, 2, 0, np.sqrt(0.025), 1], abs=1e-6)


def weighted_samples(n, rng):
    """Rates of .3 and .5 with weights of mean 100 and a design effect of 2, and their groups."""
    groups = np.repeat([0, 1], n)
    y_true, y_pred = (rng.random((2, 2 * n)) < np.array([0.3, 0.5])[groups]).astype(int)
    return y_true, y_pred, groups, rng.gamma(1.0, 100.0, size=2 * n) + 1e-6


def test_weighted_intervals_are_those_of_the_inference():
    y_true, y_pred, groups, weights = weighted_samples(200, np.random.default_rng(0))
    report = report_with_intervals(y_true, y_pred, sensitive_features=groups, sample_weight=weights)
    rates = make_estimates(Events.disjoint(groups, 2, weights), y_pred)
    assert report["n"].tolist() == [200, 200, 400]
    limits = report.iloc[:2].filter(regex="selection_rate")
    low, high = rates.limits(0.975)
    errors = np.sqrt(rates.values * (1 - rates.values) / rates.sizes)
    expected = np.column_stack((rates.values, rates.sizes, errors, low, high))
    np.testing.assert_allclose(limits.to_numpy(), expected, rtol=1e-12)
    positive = y_true == 1
    rates = make_estimates(
        Events.disjoint(groups[positive], 2, weights[positive]), y_pred[positive]
    )
    np.testing.assert_allclose(report["true_positive_rate_n"].iloc[:2], rates.sizes)
    np.testing.assert_allclose(report["true_positive_rate_low"].iloc[:2], rates.limits(0.975)[0])


@pytest.mark.slow
def test_weighted_intervals_hold():
    """At weights of mean 100 intervals that take weights for counts hold in .1 of samples."""
    rng = np.random.default_rng(0)
    held = []
    for _ in range(250):
        y_true, y_pred, groups, weights = weighted_samples(300, rng)
        report = group_report(
            y_true, y_pred, sensitive_features=groups, sample_weight=weights, confidence_level=0.95
        )
        for name in ("selection_rate", "true_positive_rate"):
            low, high = (report[f"{name}_{end}"].iloc[:2] for end in ("low", "high"))
            held.append((low <= [0.3, 0.5]) & (high >= [0.3, 0.5]))
    assert np.mean(held) >= 0.93


def test_the_unit_of_weights_does_not_matter():
    y_true, y_pred, groups, weights = weighted_samples(50, np.random.default_rng(0))
    reports = [
        group_report(
            y_true,
            y_pred,
            sensitive_features=groups,
            sample_weight=scale * weights,
            confidence_level=0.95,
        )
        for scale in (1.0, 1e-200, 1e200)
    ]
    for other in reports[1:]:
        pd.testing.assert_frame_equal(reports[0], other, rtol=1e-9)
    equal = group_report(
        y_true,
        y_pred,
        sensitive_features=groups,
        sample_weight=np.full(100, 7),
        confidence_level=0.95,
    )
    plain = group_report(y_true, y_pred, sensitive_features=groups, confidence_level=0.95)
    pd.testing.assert_frame_equal(equal, plain, rtol=1e-12)


@pytest.mark.parametrize("report", [group_report, class_report])
def test_counted_rows_keep_effective_sizes(report):
    """Equal rows of many samples are counted once; of few samples they are not."""
    rng = np.random.default_rng(0)
    n = 2 * BLOCK_SIZE
    y_true, y_pred, groups = rng.integers(2, size=(3, n))
    weights = rng.integers(5, size=n).astype(float)
    metadata = {"sensitive_features": groups, "sample_weight": weights}
    metadata["confidence_level"] = 0.95
    counted = report(y_true, y_pred, **metadata)
    # Objects are not counted.
    metadata["sensitive_features"] = groups.astype(object)
    pd.testing.assert_frame_equal(
        counted, report(y_true, y_pred, **metadata), check_index_type=False, rtol=1e-9
    )
    assert (counted["accuracy_n"] < 0.7 * n).all() and (counted["n"] < n).all()


def test_uneven_weights_are_warned_of_once():
    weights = np.random.default_rng(0).exponential(size=800) ** 4
    rows = np.tile(ROWS, (100, 1)).T
    with pytest.warns(UserWarning, match="design effect above 4") as warned:
        group_report(*rows[:2], sensitive_features=rows[2], sample_weight=weights)
    assert len(warned) == 1


def test_a_rate_over_no_samples_is_nan():
    report = report_with_intervals([0, 0, 1], [0, 1, 1], sensitive_features=list("aab"))
    assert np.isnan(
        report.loc["a", ["true_positive_rate", "true_positive_rate_standard_error"]]
    ).all()
    assert report.loc["overall", "true_positive_rate"] == 1


def test_the_metrics_are_columns_of_the_report():
    rates = group_report(Y_TRUE, Y_PRED, sensitive_features=GROUP).iloc[:-1]
    for metric, column in {
        "demographic_parity_difference": "selection_rate",
        "equal_opportunity_difference": "true_positive_rate",
        "false_positive_rate_difference": "false_positive_rate",
        "accuracy_score_difference": "accuracy",
    }.items():
        value = METRICS[metric](Y_TRUE, Y_PRED, sensitive_features=GROUP)
        assert value == pytest.approx(np.ptp(rates[column]))


def test_several_attributes():
    groups = pd.DataFrame({"sex": list("fmfm"), "age": [1, 1, 2, 2]})
    report = group_report([0, 1, 0, 1], [0, 1, 1, 1], sensitive_features=groups)
    assert report.index.names == ["sex", "age"]
    assert report.index.tolist() == [("f", 1), ("f", 2), ("m", 1), ("m", 2), ("overall", "")]
    assert report.loc[("f", 2), "false_positive_rate"] == 1


def test_overlapping_groups_count_each_sample_once_overall():
    members = sparse.csr_array(np.array([[1, 0], [1, 1], [0, 1], [0, 0]], dtype=bool))
    report = group_report([0, 1, 0, 1], [0, 1, 1, 1], sensitive_features=members)
    assert report.index.tolist() == [0, 1, "overall"]
    assert report["n"].tolist() == [2, 2, 4]


def test_the_positive_class():
    words = np.array(["no", "yes"])
    report = group_report(words[Y_TRUE], words[Y_PRED], sensitive_features=GROUP, pos_label="yes")
    pd.testing.assert_frame_equal(report, group_report(Y_TRUE, Y_PRED, sensitive_features=GROUP))
    swapped = group_report(words[Y_TRUE], words[Y_PRED], sensitive_features=GROUP, pos_label="no")
    np.testing.assert_allclose(swapped["true_positive_rate"], 1 - report["false_positive_rate"])


def test_a_table_of_pyarrow_names_its_attributes():
    pa = pytest.importorskip("pyarrow")
    groups = pa.table({"sex": ["f", "m", "f", "m"], "age": [1, 1, 2, 2]})
    report = group_report([0, 1, 0, 1], [0, 1, 1, 1], sensitive_features=groups)
    assert report.index.names == ["sex", "age"]
    assert report["selection_rate"].tolist() == [0, 1, 1, 1, 0.75]


def test_intervals_are_as_wide_as_the_confidence_level_asks():
    levels = (0.5, 0.95, 0.999)
    reports = [
        group_report(Y_TRUE, Y_PRED, sensitive_features=GROUP, confidence_level=level)
        for level in levels
    ]
    widths = [report["accuracy_high"] - report["accuracy_low"] for report in reports]
    assert (widths[0] < widths[1]).all() and (widths[1] < widths[2]).all()
    with pytest.raises(ValueError, match="confidence_level must be a probability"):
        group_report(Y_TRUE, Y_PRED, sensitive_features=GROUP, confidence_level=95)


def test_reports_by_class_take_a_confidence_level():
    by_class = class_report(Y_TRUE, Y_PRED, sensitive_features=GROUP, confidence_level=0.5)
    at_half = group_report(Y_TRUE, Y_PRED, sensitive_features=GROUP, confidence_level=0.5)
    pd.testing.assert_frame_equal(by_class.loc[1], at_half)
