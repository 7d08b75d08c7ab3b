"""Coverage of prediction sets as a rate of audits, reports, monitors and commands."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV

from skfair.__main__ import main
from skfair.audit import Audit
from skfair.classification import ConstrainedClassifierCV, ConstrainedERMClassifier
from skfair.conformal import ConformalClassifier, ConformalRegressor
from skfair.constraints import MinimumRate
from skfair.metrics import class_report, group_report, make_scorer
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
        group_report(Y, frame.iloc[::-1], **by_name)
    pd.testing.assert_frame_equal(
        group_report(Y, frame.reset_index(drop=True), **by_name), expected
    )


def test_audits_of_sets_say_coverage():
    table = pd.DataFrame({"group": GROUPS, "other": RNG.choice(["u", "v"], 800)})
    audit = Audit.from_predictions(Y, INTERVALS, sensitive_features=table)
    report = audit.report()
    rates = report.frame.query("attribute == 'group'").set_index("group")["estimate"]
    np.testing.assert_allclose(rates[["a", "b"]], get_rates(COVERED))
    assert set(report.frame["metric"]) == {"coverage"}
    assert "audited (coverage" in str(report) and "selection" not in str(report)
    searches = [audit.subgroups(metrics=name) for name in ("coverage", "selection_rate")]
    assert str(searches[0]) == str(searches[1]) and "selection" not in str(searches[0])
    for constraint in ("demographic_parity", MinimumRate("selection_rate", 0.7)):
        with pytest.raises(ValueError, match="must be on the rate 'coverage'"):
            audit.certify(constraint, tolerance=0.05 if isinstance(constraint, str) else None)


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
    labels = np.where(COVERED, 1, 0)
    by_group = {"sensitive_features": GROUPS}
    message = "coverage is a metric of prediction sets"
    with pytest.raises(ValueError, match=message):
        group_report(labels, labels, metrics="coverage", **by_group)
    audit = Audit.from_predictions(labels, labels, **by_group)
    with pytest.raises(ValueError, match=message):
        audit.certify(MinimumRate("coverage", 0.5))
    with pytest.raises(ValueError, match=message):
        class_report(LABELS, LABELS, metrics="coverage", **by_group)
    with pytest.raises(ValueError, match="set_size is a metric of prediction sets"):
        group_report(LABELS, LABELS, metrics="set_size", **by_group)
    floor = MinimumRate("coverage", 0.5)
    for model in (ConstrainedERMClassifier(floor), ConstrainedClassifierCV(constraint=floor)):
        with pytest.raises(ValueError, match=message):
            model.fit(Y[:, np.newaxis], labels, **by_group)
    with pytest.raises(ValueError, match=message):
        GapMonitor(floor).update(labels, labels, **by_group)


@pytest.mark.parametrize("names", [["z", "x", "y"], ["a", "b", "c"]])
def test_columns_of_sets_may_be_named_by_the_classes(names):
    report = group_report(
        LABELS, pd.DataFrame(SETS, columns=names), sensitive_features=GROUPS, metrics="coverage"
    )
    order = names if "x" in names else ["x", "y", "z"]
    covered = SETS[np.arange(800), [order.index(label) for label in LABELS]]
    np.testing.assert_allclose(report.loc[["a", "b"], "coverage"], get_rates(covered))


@pytest.mark.parametrize("sets, y, sizes", [(SETS, LABELS, SETS.sum(axis=1)), (INTERVALS, Y, None)])
def test_reports_have_the_mean_size_of_sets(sets, y, sizes):
    sizes = np.full(800, 4.0) if sizes is None else sizes
    report = group_report(y, sets, sensitive_features=GROUPS, metrics=["coverage", "set_size"])
    np.testing.assert_allclose(report.loc[["a", "b"], "set_size"], get_rates(sizes))


@pytest.mark.parametrize("group_estimator", [None, "sensitive_features"])
@pytest.mark.parametrize("is_classifier", [False, True])
def test_scorers_take_sets_of_the_estimator(is_classifier, group_estimator):
    X = np.column_stack((Y, GROUPS == "b")) + RNG.normal(size=(800, 2))
    model = ConformalRegressor(LinearRegression(), group_estimator=group_estimator)
    y = Y
    if is_classifier:
        y = np.array(["x", "y", "z"])[np.digitize(Y, [-0.5, 0.5])]
        model = ConformalClassifier(LogisticRegression(), group_estimator=group_estimator)
    model.fit(X, y, sensitive_features=GROUPS)
    # The samples scored may lack a class that the model knows.
    rows = np.flatnonzero(y != "z") if is_classifier else np.arange(800)
    groups = {"sensitive_features": GROUPS[rows]}
    if is_classifier:
        sets = model.predict_set(X[rows], **groups)
        covered = sets[np.arange(len(rows)), (y[rows] == "y").astype(int)]
        sizes = sets.sum(axis=1)
    else:
        low, high = model.predict_interval(X, **groups).T
        covered = (low <= y) & (y <= high)
        sizes = high - low
    for metric, values in (("coverage", covered), ("set_size", sizes)):
        a, b = (values[GROUPS[rows] == name].mean() for name in "ab")
        for transform, expected in (("difference", -abs(a - b)), ("group_max", -max(a, b))):
            scorer = make_scorer(metric, transform=transform)
            assert scorer(model, X[rows], y[rows], **groups) == pytest.approx(expected)


def test_scorers_of_sets_refuse_other_estimators_and_settings():
    model = LogisticRegression().fit(Y[:, np.newaxis], LABELS)
    with pytest.raises(ValueError, match="got a LogisticRegression"):
        make_scorer("coverage", transform="difference")(
            model, Y[:, np.newaxis], LABELS, sensitive_features=GROUPS
        )
    with pytest.raises(ValueError, match="coverage is no metric of them"):
        make_scorer("coverage", transform="difference", k=10)


@pytest.mark.slow
def test_a_search_selects_by_the_coverage_of_groups():
    X = np.column_stack((Y, GROUPS == "b")) + RNG.normal(size=(800, 2))
    X = pd.DataFrame(X, index=np.arange(800) + 5)
    y, groups = pd.Series(Y, index=X.index), pd.Series(GROUPS, index=X.index)
    scorer = make_scorer("coverage", transform="difference")
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            ConformalRegressor(LinearRegression()).set_fit_request(sensitive_features=True),
            {"coverage": [0.8, 0.9]},
            scoring={"gap": scorer, "size": make_scorer("set_size", transform="group_max")},
            refit="size",
            cv=3,
        ).fit(X, y, sensitive_features=groups)
    assert search.best_params_ == {"coverage": 0.8}
    assert (search.cv_results_["mean_test_gap"] <= 0.0).all()
