"""Coverage of prediction sets as a rate of audits, reports, monitors and commands."""

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main
from skfair.audit import Audit
from skfair.constraints import MinimumRate
from skfair.metrics import group_report, make_scorer
from skfair.monitoring import GapMonitor

RNG = np.random.default_rng(0)
GROUPS = RNG.choice(["a", "b"], 800)
Y = RNG.normal(size=800) * np.where(GROUPS == "a", 1.0, 1.5)
INTERVALS = np.column_stack((np.full(800, -2.0), np.full(800, 2.0)))
COVERED = np.abs(Y) <= 2.0
LABELS = np.array(["x", "y", "z"])[RNG.integers(3, size=800)]
SETS = RNG.random((800, 3)) < 0.9


def get_rates(covered):
    return [covered[GROUPS == name].mean() for name in "ab"]


@pytest.mark.parametrize("intervals", [INTERVALS, pd.DataFrame(INTERVALS, columns=["l", "h"])])
def test_reports_and_audits_take_intervals(intervals):
    report = group_report(Y, intervals, sensitive_features=GROUPS, metrics="coverage")
    np.testing.assert_allclose(report.loc[["a", "b"], "coverage"], get_rates(COVERED))
    audit = Audit.from_predictions(Y, intervals, sensitive_features=GROUPS)
    claim = audit.certify(MinimumRate("coverage", 0.7))
    assert claim.verdict == "shown" and "every group has a coverage of at least 70 %" in str(claim)
    decisions = Audit.from_predictions(None, COVERED, sensitive_features=GROUPS)
    same = decisions.certify(MinimumRate("selection_rate", 0.7))
    assert str(claim) == str(same).replace("selection rate", "coverage")


def test_sets_have_a_column_for_each_class_in_ascending_order():
    report = group_report(LABELS, SETS, sensitive_features=GROUPS, metrics="coverage")
    covered = SETS[np.arange(800), np.searchsorted(["x", "y", "z"], LABELS)]
    np.testing.assert_allclose(report.loc[["a", "b"], "coverage"], get_rates(covered))


def test_lists_and_intervals_without_end_are_taken():
    ends = np.tile([-np.inf, np.inf], (800, 1))
    report = group_report(Y.tolist(), ends, sensitive_features=GROUPS, metrics="coverage")
    assert (report["coverage"] == 1.0).all()


def test_an_index_of_groups_is_compared_with_indices_of_sets_only():
    groups = pd.Series(GROUPS, index=np.arange(800) + 800)
    by_name = {"sensitive_features": groups, "metrics": "coverage"}
    expected = group_report(Y, INTERVALS, sensitive_features=GROUPS, metrics="coverage")
    pd.testing.assert_frame_equal(group_report(Y, INTERVALS, **by_name), expected)
    frame = pd.DataFrame(INTERVALS, index=groups.index)
    pd.testing.assert_frame_equal(group_report(Y, frame, **by_name), expected)
    with pytest.raises(ValueError, match="same pandas index"):
        group_report(Y, frame.reset_index(drop=True), **by_name)


def test_a_monitor_takes_intervals():
    settings = {"windows": (1,)}
    monitor = GapMonitor(MinimumRate("coverage", 0.9), **settings)
    monitor.update(Y, INTERVALS, sensitive_features=GROUPS)
    other = GapMonitor(MinimumRate("selection_rate", 0.9), **settings)
    other.update(None, COVERED, sensitive_features=GROUPS)
    assert monitor.summary().iloc[0]["verdict"] == other.summary().iloc[0]["verdict"]


@pytest.mark.parametrize(
    "y_true, sets, message",
    [
        (Y, INTERVALS[:-1], "inconsistent numbers of samples"),
        (Y, np.hstack((INTERVALS, INTERVALS)), "two numbers, low and high; got 4 columns"),
        (LABELS, SETS[:, :2], r"each class of y_true \(3\)"),
        (Y, INTERVALS[:, ::-1], r"low is above high, .* np.sort\(y_pred, axis=1\)"),
        (np.arange(800) % 2, np.tile([0.2, 0.8], (800, 1)), "add up to 1, as probabilities do"),
    ],
)
def test_sets_of_another_shape_are_refused(y_true, sets, message):
    with pytest.raises(ValueError, match=message):
        Audit.from_predictions(y_true, sets, sensitive_features=GROUPS)


def test_a_command_certifies_the_coverage_of_intervals(tmp_path, capsys):
    path = tmp_path / "intervals.csv"
    table = pd.DataFrame(INTERVALS, columns=["low", "high"])
    table.assign(y=Y, group=GROUPS).to_csv(path, index=False)
    rate = ["--sensitive", "group", "--metric", "coverage", "--minimum", "0.7"]
    command = ["certify", str(path), "--interval", "low", "high", *rate]
    assert main([*command, "--target", "y"]) == 0
    assert "every group by group has a coverage of at least 70 %" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(command)
    assert "--interval needs --target" in capsys.readouterr().err


def test_coverage_of_labels_is_refused():
    labels, by_group = np.where(COVERED, 1, 0), {"sensitive_features": GROUPS}
    message = "coverage is the rate of prediction sets"
    with pytest.raises(ValueError, match=message):
        group_report(labels, labels, metrics="coverage", **by_group)
    audit = Audit.from_predictions(labels, labels, **by_group)
    with pytest.raises(ValueError, match=message):
        audit.certify(MinimumRate("coverage", 0.5))
    with pytest.raises(ValueError, match=message):
        make_scorer("coverage", transform="difference")
