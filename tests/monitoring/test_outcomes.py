"""Outcomes that come later: which samples count when, and what is refused."""

import numpy as np
import pytest

from skfair.monitoring import GapMonitor


def test_true_positive_rates_count_a_sample_when_its_outcome_comes():
    monitor = GapMonitor("equal_opportunity", 0.2)
    monitor.update([1, 0, 1, 1], sensitive_features=list("aabb"), ids=[1, 2, 3, 4])
    assert monitor.n_outstanding_ == 4 and not len(monitor.to_frame())
    monitor.update_labels([4, 1, 2], [1, 1, 0])
    assert monitor.n_outstanding_ == 1
    frame = monitor.to_frame().set_index(["cell", "group"])
    assert frame.loc[("positives", "a"), "n"] == 1  # sample 2 is negative
    assert monitor.summary()["n_outstanding"].tolist() == [4, 1]


def test_outcomes_that_are_known_at_once_and_later_count_equally():
    rng = np.random.default_rng(0)
    now, later = GapMonitor("equalized_odds", 0.2), GapMonitor("equalized_odds", 0.2)
    for batch in range(3):
        y, decisions, groups = rng.integers(2, size=(3, 50))
        now.update(decisions, y, sensitive_features=groups)
        ids = [f"{batch}.{i}" for i in range(50)]
        later.update(decisions, sensitive_features=groups, ids=ids)
        later.update_labels(ids[::-1], y[::-1])
    columns = ["group", "cell", "n", "rate"]
    assert now.to_frame()[columns].equals(later.to_frame()[columns])
    assert now.interval().estimate == later.interval().estimate


def test_error_rates_count_a_cohort_when_its_delay_has_passed():
    monitor = GapMonitor("error_rate_parity", 0.2, delay=90)
    monitor.update([1, 1, 0, 0], sensitive_features=list("abab"), time=0, ids=[1, 2, 3, 4])
    monitor.update([1, 0], [1, 1], sensitive_features=list("ab"), time=30)
    monitor.update_labels([1, 2, 4], [0, 1, 0], time=60)
    assert not len(monitor.to_frame()) and monitor.n_outstanding_ == 6
    monitor.update_labels([3], [1], time=90)
    frame = monitor.to_frame()
    assert frame["rate"].tolist() == [1.0, 0.0] and frame["n"].tolist() == [2, 2]
    assert monitor.n_outstanding_ == 2  # those of day 30, though their outcomes are known
    monitor.update([], sensitive_features=[], time=120)
    assert monitor.n_outstanding_ == 0
    assert monitor.to_frame()["rate"].tolist() == [1.0, 0.0, 0.0, 1.0]


def test_dates_have_delays_too_and_missing_outcomes_are_reported():
    monitor = GapMonitor("error_rate_parity", 0.2, delay="90 days")
    first = {"sensitive_features": list("ab"), "time": "2026-01-01"}
    monitor.update([1, 0], ids=["u", "v"], **first)
    monitor.update_labels(["u"], [1])
    with pytest.warns(UserWarning, match="1 samples have no outcome"):
        monitor.update([1, 0], [1, 0], sensitive_features=list("ab"), time="2026-04-01")
    assert monitor.to_frame()["n"].tolist() == [1]


def test_early_outcomes_bias_error_rates_so_that_they_need_a_delay():
    monitor = GapMonitor("error_rate_parity", 0.2)
    with pytest.raises(ValueError, match="delay"):
        monitor.update([1, 0], sensitive_features=list("ab"), ids=[1, 2])
    with pytest.raises(ValueError, match="pass ids"):
        GapMonitor("equal_opportunity", 0.2).update([1, 0], sensitive_features=list("ab"))


@pytest.mark.parametrize(
    ("ids", "y_true", "match"),
    [
        ([9], [1], "9 are not"),
        ([1, 1], [1, 1], "came twice"),
        ([1, 2], [1], "equal lengths"),
        ([2], [1], "2 are not"),  # its outcome has come before
        ([1], ["maybe"], "pos_label|kind"),
        ([1], [np.nan], "y_true must be one"),
        ([1], 1, "y_true must be one"),
        ([None], [1], "missing values"),
    ],
)
def test_wrong_outcomes_are_refused_and_nothing_is_lost(ids, y_true, match):
    monitor = GapMonitor("equal_opportunity", 0.2)
    monitor.update([1, 0], sensitive_features=list("ab"), ids=[1, 2])
    monitor.update_labels([2], [1])
    stored = monitor.to_json()
    with pytest.raises((ValueError, TypeError), match=match):
        monitor.update_labels(ids, y_true)
    assert monitor.to_json() == stored


def test_repeated_ids_of_batches_are_refused():
    monitor = GapMonitor("equal_opportunity", 0.2)
    monitor.update([1, 0], sensitive_features=list("ab"), ids=[1, 2])
    stored = monitor.to_json()
    for ids in ([2, 3], [4, 4]):
        with pytest.raises(ValueError, match="came twice"):
            monitor.update([1, 0], sensitive_features=list("ab"), ids=ids)
    assert monitor.to_json() == stored
