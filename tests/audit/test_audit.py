"""Audits: data loaded once; rows that stand for many samples have the answers of the samples."""

import inspect
import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, LogisticRegression

from skfair._groups import check_groups
from skfair.audit import (
    Audit,
    SensitiveFeatures,
    _data,
)
from skfair.metrics import group_report
from skfair.monitoring import GapMonitor
from tests.audit.doors import (
    certify_predictions,
    compare_models,
    compare_periods,
    report_model,
    report_predictions,
    search_predictions,
)
from tests.audit.stored_results import CONSTRAINTS, draw_data

GROUP_METRICS = ["selection_rate", "true_positive_rate"]


def draw_table(seed):
    """Table of outcomes, decisions of two models, rounded scores and ages, and attribute names."""
    y_true, decisions, others, scores, groups, _ = draw_data(seed)
    ages = np.random.default_rng(seed).integers(18, 65, len(y_true))
    table = groups.assign(y=y_true, d=decisions, other=others, s=scores.round(1), age=ages)
    return table, list(groups)


def count(table, seed=0):
    """Table of counts in random order, with some combinations in several rows and one of none."""
    counted = table.groupby(list(table), sort=False).size().reset_index(name="n")
    halves = counted.assign(n=counted["n"] // 2), counted.assign(n=counted["n"] - counted["n"] // 2)
    return pd.concat(halves).sample(frac=1.0, random_state=seed, ignore_index=True)


def audit_counts(table, names, score=None, **settings):
    columns = [*names, "y", "d"] + ([] if score is None else [score])
    return Audit.from_counts(
        count(table[columns]),
        counts="n",
        sensitive_features=names,
        y_true="y",
        y_pred="d",
        y_score=score,
        **settings,
    )


def audit_rows(table, names, **settings):
    return Audit.from_predictions(
        table["y"], table["d"], sensitive_features=table[names], **settings
    )


def answers(report):
    """JSON of a report without what was read, which are rows of other tables."""
    stored = json.loads(report.to_json())
    return {name: value for name, value in stored.items() if name != "reading"}


def assert_equal(first, second, tolerance=0.0):
    """Check that two tables are equal, by default in every bit."""
    first = first.reset_index(drop=True)
    second = second.reset_index(drop=True)
    settings = {"check_exact": True} if not tolerance else {"rtol": tolerance, "atol": tolerance}
    pd.testing.assert_frame_equal(first, second, **settings)


# Counts have the answers of their samples.


@pytest.mark.slow
@settings(max_examples=15)  # of half a second each
@given(seed=st.integers(0, 10**6))
def test_reports_of_counts_are_those_of_samples_in_every_bit(seed):
    table, names = draw_table(seed - seed % 10)
    rows = audit_rows(table, names).report()
    counts = audit_counts(table, names).report()
    plain = report_predictions(table["y"], table["d"], sensitive_features=table[names])
    assert answers(plain) == answers(rows) == answers(counts)
    assert_equal(rows.adverse_impact(), counts.adverse_impact())


@pytest.mark.parametrize("minimum", [3, 12])
def test_counts_are_suppressed_as_those_of_samples(minimum):
    table, names = draw_table(1)
    rows = audit_rows(table, names).report(min_published=minimum)
    assert_equal(rows.frame, audit_counts(table, names).report(min_published=minimum).frame)


@pytest.mark.slow
@given(seed=st.integers(0, 10**6))
@example(seed=25360)  # a class of 100 samples, where the scale of the limits changes
@settings(max_examples=15)  # of a quarter of a second each
def test_scores_of_counts_have_the_areas_and_calibration_of_samples(seed):
    table, names = draw_table(seed - seed % 10)
    rows = audit_rows(table, names, y_score=table["s"])
    counts = audit_counts(table, names, score="s")
    first = rows.report()
    second = counts.report()
    assert "roc_auc" in set(first.frame["metric"])
    assert_equal(first.frame, second.frame, 1e-9)
    assert_equal(first.reliability, second.reliability, 1e-9)


@pytest.mark.slow
@given(seed=st.integers(0, 10**6))
@example(seed=280)  # two groups of the largest rate, equal but for rounding
@example(seed=8960)  # shares of tied samples add up to the minimum, but for rounding
@settings(max_examples=3)  # exact limits given a total take seconds
def test_the_highest_scores_of_counts_are_those_of_samples(seed):
    table, names = draw_table(seed - seed % 10)
    rows = audit_rows(table, names, y_score=table["s"])
    counts = audit_counts(table, names, score="s")
    k = len(table) // 4
    first = rows.top(k).report()
    second = counts.top(k).report()
    assert_equal(first.frame, second.frame, 1e-9)
    assert first.provenance == second.provenance  # of ties


def test_scoring_rates_of_counts_are_above_the_median_of_all_samples():
    table = pd.DataFrame({"g": ["a", "a", "b", "b"], "s": [0.2, 0.9, 0.5, 0.9], "n": [5, 1, 3, 1]})
    audit = Audit.from_counts(
        table.assign(d=[0, 1, 0, 1]),
        counts="n",
        sensitive_features="g",
        y_pred="d",
        y_score="s",
        min_group_size=1,
    )
    frame = audit.report().frame
    rates = frame[(frame["metric"] == "scoring_rate") & (frame["attribute"] == "g")]
    # The median of .2 (5 times), .5 (3 times) and .9 (2 times) is .35.
    assert rates["estimate"].tolist() == [1 / 6, 1.0] and rates["n"].tolist() == [6, 4]


@pytest.mark.covering(0)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "seed", [pytest.param(0, marks=pytest.mark.slow), 1, pytest.param(5, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(("constraint", "tolerance"), CONSTRAINTS)
def test_certificates_of_counts_are_those_of_samples(seed, constraint, tolerance):
    table, names = draw_table(seed)
    audits = audit_rows(table, names), audit_counts(table, names)
    try:
        rows, counts = (audit.certify(constraint, tolerance) for audit in audits)
    except ValueError as error:  # too many cells for a sum, or too few samples in each
        message = str(error)
        with pytest.raises(ValueError, match=re.escape(message)):
            audits[1].certify(constraint, tolerance)
        assert "the largest of" in message or "there are too few" in message
        return
    # What was read is rows of another table.
    assert rows.reading != counts.reading
    for name, value in vars(rows).items():
        if name == "reading":
            continue
        expected = pytest.approx(value, abs=1e-12) if isinstance(value, float) else value
        assert getattr(counts, name) == expected, name
    assert str(rows) == str(counts)


@pytest.mark.slow
@given(seed=st.integers(0, 10**6))
@example(seed=8270)
def test_subgroups_of_counts_are_those_of_samples_in_every_bit(seed):
    """Ages are binned by the quantiles of the samples, not of the rows."""
    table, names = draw_table(seed - seed % 10)
    names = [*names, "age"]
    size = {"min_group_size": 10}  # of which each table has some
    plain = search_predictions(
        table["y"], table["d"], sensitive_features=table[names], metrics=GROUP_METRICS, **size
    )
    for make in (audit_rows, audit_counts):
        result = make(table, names, **size).subgroups(GROUP_METRICS)
        assert_equal(plain.flagged, result.flagged)
        assert_equal(plain.searches, result.searches)


@pytest.mark.slow
@pytest.mark.covering(0)
@pytest.mark.parametrize("seed", [0, 1, pytest.param(2, marks=pytest.mark.slow)])
def test_changes_of_counts_are_those_of_samples_in_every_bit(seed):
    table, names = draw_table(seed)
    halves = table.iloc[: len(table) // 2], table.iloc[len(table) // 2 :]
    plain = compare_periods(
        *(
            {"y_true": one["y"], "y_pred": one["d"], "sensitive_features": one[names]}
            for one in halves
        )
    )
    for make in (audit_rows, audit_counts):
        first, second = (make(one, names) for one in halves)
        report = first.compare(second)
        assert_equal(plain.frame, report.frame)
        assert_equal(plain.gaps, report.gaps)


def test_control_features_of_counts():
    table, names = draw_table(0)
    settings = {"control_features": "other"}
    columns = [*names, "y", "d", "other"]
    counts = Audit.from_counts(
        count(table[columns]),
        counts="n",
        sensitive_features=names,
        y_true="y",
        y_pred="d",
        **settings,
    )
    rows = audit_rows(table, names, control_features=table["other"])
    first = rows.report()
    second = counts.report()
    assert {*first.frame["stratum"]} == {"", "other = 0", "other = 1"}
    assert_equal(first.frame, second.frame)


# Samples one by one.


def test_the_models_are_compared_on_the_same_samples():
    table, names = draw_table(3)
    report = audit_rows(table, names).compare(table["other"])
    plain = compare_models(table["y"], table["d"], table["other"], sensitive_features=table[names])
    assert_equal(plain.frame, report.frame)
    assert_equal(plain.moves, report.moves)
    with pytest.raises(ValueError, match="sample by sample"):
        audit_counts(table, names).compare(table["other"])


def test_functions_of_samples_are_not_for_counts():
    table, names = draw_table(0)
    settings = {"metrics": ["matthews_corrcoef"]}
    frame = audit_rows(table, names).report(**settings).frame
    assert "matthews_corrcoef" in set(frame["metric"])
    with pytest.raises(ValueError, match="matthews_corrcoef is a function of single samples"):
        audit_counts(table, names).report(**settings)


def test_constraints_on_scores_are_not_for_counts():
    table, names = draw_table(0)
    audit = audit_rows(table, names, y_score=table["s"])
    assert audit.certify("mean_parity", 0.5).unit == "units of the predicted probability"
    with pytest.raises(ValueError, match="compares scores of single samples"):
        audit_counts(table, names, score="s").certify("mean_parity", 0.5)


def test_small_groups_are_left_out_of_all_answers():
    groups = np.array(["f"] * 2000 + ["m"] * 2000 + ["x"] * 20)
    decisions = np.array([1, 0, 0, 1, 0] * 800 + [1] + [0] * 19)
    audit = Audit.from_predictions(None, decisions, sensitive_features=groups)
    assert audit.report().gaps["gap"].tolist() == [0.0]
    with pytest.warns(UserWarning, match="fewer than min_group_size=30"):
        certificate = audit.certify(tolerance=0.1)
    assert certificate.is_shown and certificate.left_out == ("x",)
    assert not len(audit.subgroups().flagged)


@pytest.mark.slow
def test_weights_are_those_of_samples():
    y_true, decisions, _, _, groups, weights = draw_data(4)
    audit = Audit.from_predictions(
        y_true, decisions, sensitive_features=groups, sample_weight=weights
    )
    data = {"sensitive_features": groups, "sample_weight": weights}
    plain = report_predictions(y_true, decisions, **data)
    assert_equal(plain.frame, audit.report().frame)
    plain = certify_predictions(y_true, decisions, tolerance=0.5, **data)
    assert audit.certify(tolerance=0.5).high == plain.high
    with pytest.raises(ValueError, match="samples of equal weight"):
        audit.subgroups()


def test_models_are_audited():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    groups = rng.choice(["f", "m"], 300)
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    model = LogisticRegression().fit(X, y)
    audit = Audit.from_estimator(model, X, y, sensitive_features=groups)
    plain = report_model(model, X, y, sensitive_features=groups)
    assert audit.report().to_json() == plain.to_json()
    regressor = LinearRegression().fit(X, X[:, 0])
    audit = Audit.from_estimator(regressor, X, X[:, 0], sensitive_features=groups)
    assert repr(audit) == "<Audit of 300 samples by sensitive_features: regression>"
    assert "mean_error" in set(audit.report().frame["metric"])


# Rows that are equal are merged, and nothing else changes.


@pytest.mark.slow
def test_merged_rows_have_the_report_of_all_rows(monkeypatch):
    rng = np.random.default_rng(0)
    n = 70_000
    groups = pd.DataFrame({"a": rng.choice(["p", "q"], n), "b": rng.integers(3, size=n)})
    y_true, decisions = rng.integers(2, size=(2, n))
    merged = report_predictions(y_true, decisions, sensitive_features=groups)
    strings = report_predictions(
        np.array(["no", "yes"], dtype=object)[y_true],
        np.array(["no", "yes"], dtype=object)[decisions],
        sensitive_features=groups,
        pos_label="yes",
    )
    assert_equal(merged.frame, strings.frame)
    rows = []
    monkeypatch.setattr(
        _data, "merge_samples", lambda *data: (rows.append(len(data[0].weights)), data)[1]
    )
    plain = report_predictions(y_true, decisions, sensitive_features=groups)
    assert rows == [n]
    assert plain.to_json() == merged.to_json()
    monkeypatch.undo()
    audit = Audit.from_predictions(y_true, decisions, sensitive_features=groups)
    assert audit.report().to_json() == plain.to_json()
    assert len(audit._distinct_rows[0].weights) == 24


def test_groups_count_samples_and_list_rows():
    groups = check_groups(["a", "b", "a"], 3).copy_with_multiplicity(np.array([5, 1, 2]))
    assert groups.counts.tolist() == [7, 1] and groups.n_samples == 8
    assert [rows.tolist() for rows in groups.members()] == [[0, 2], [1]]
    assert groups.take(np.array([1, 2])).counts.tolist() == [2, 1]
    assert groups.select(np.array([0])).counts.tolist() == [7]
    assert groups.merge().counts.tolist() == [8]


# Files, and bad input.


def test_files_of_samples_and_of_counts(tmp_path):
    table, names = draw_table(1)
    table["d"] = np.where(table["d"] == 1, "yes", "no")
    table["y"] = np.where(table["y"] == 1, "yes", "no")
    columns = table[[*names, "y", "d"]]
    columns.to_csv(tmp_path / "rows.csv", index=False)
    count(columns).to_csv(tmp_path / "counts.csv", index=False)
    roles = {"sensitive_features": names, "y_true": "y", "y_pred": "d"}
    rows = Audit.from_file(tmp_path / "rows.csv", roles, pos_label="yes")
    counts = Audit.from_file(tmp_path / "counts.csv", roles | {"counts": "n"}, pos_label="yes")
    assert rows.n_samples == counts.n_samples == len(table)
    first = rows.report()
    second = counts.report()
    assert_equal(first.frame, second.frame)
    assert second.provenance["file"] == "counts.csv" and "sha256" not in second.provenance
    assert len(first.provenance["sha256"]) == 64
    names = [(one.name, one.role) for one in second.reading.columns]
    assert names[1:] == [("y", "outcome"), ("a0", "group"), ("a1", "group"), ("n", "count")]
    assert_equal(rows.subgroups().flagged, counts.subgroups().flagged)
    with pytest.raises(ValueError, match="counts are of samples of equal weight"):
        Audit.from_file(tmp_path / "counts.csv", roles | {"counts": "n", "sample_weight": "n"})
    for wrong in (roles | {"target": "y"}, {"y_pred": "d"}):
        with pytest.raises(ValueError, match="columns must map some of"):
            Audit.from_file(tmp_path / "counts.csv", wrong)


TABLE = {"sex": ["f", "f", "m", "m"], "d": [0, 1, 0, 1], "n": [30, 40, 50, 60]}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n": [1, 2, 3, -1]}, "'n' must hold numbers of samples.*holds -1"),
        ({"n": [1, 2, 3, 0.5]}, "whole and not negative, but it holds 0.5"),
        ({"n": ["1", "2", "3", "many"]}, "holds 'many'"),
        ({"n": [1, 2, 3, np.nan]}, "holds nan"),
        ({"n": [0, 0, 0, 0]}, "must count samples, but all are 0"),
        ({"sex": ["f", "f", None, "m"]}, "missing value"),
        ({"d": [0.1, 0.2, 0.3, 0.4], "y": [0.5, 1.5, 2.5, 0.1]}, "Counts are of classes"),
    ],
)
def test_bad_counts_are_errors(changes, message):
    outcome = "y" if "y" in changes else None
    with pytest.raises(ValueError, match=message):
        Audit.from_counts(
            TABLE | changes, counts="n", sensitive_features="sex", y_pred="d", y_true=outcome
        )


def test_absent_columns_are_named():
    with pytest.raises(ValueError, match="no column 'age'.*its 3 columns are 'sex', 'd', 'n'"):
        Audit.from_counts(TABLE, counts="n", sensitive_features=["sex", "age"], y_pred="d")


def test_decisions_or_scores_are_needed():
    with pytest.raises(ValueError, match="y_pred must hold predictions"):
        Audit.from_predictions(None, None, sensitive_features=["a", "b"])
    scores = Audit.from_predictions(
        None, None, y_score=[0.1, 0.9, 0.4, 0.6], sensitive_features=list("aabb")
    )
    for question in (scores.certify, scores.subgroups, scores.top(2).certify):
        with pytest.raises(ValueError, match="scores have reports alone"):
            question()
    with pytest.raises(ValueError, match=r"Ask Audit.top\(k\)"):
        scores.report()
    assert scores.top(2).report().n_samples == 4
    with pytest.raises(ValueError, match="pass them as y_score or score"):
        Audit.from_counts(TABLE, counts="n", sensitive_features="sex", y_pred="d").top(3)
    with pytest.raises(ValueError, match="min_group_size must be a positive whole number"):
        Audit.from_counts(TABLE, counts="n", sensitive_features="sex", y_pred="d", min_group_size=0)


def test_weights_as_counts_raise_a_warning():
    data = {"sensitive_features": TABLE["sex"], "sample_weight": TABLE["n"]}
    for make in (Audit.from_predictions, report_predictions):
        with pytest.warns(UserWarning, match="look like numbers of samples"):
            make(None, TABLE["d"], **data)


def test_public_functions_that_take_data_have_few_parameters():
    """Of an audit there is one set of data arguments, and of each question few settings."""
    functions = [
        *(Audit.from_predictions, Audit.from_estimator, Audit.from_file, Audit.from_counts),
        *(Audit.report, Audit.certify, Audit.subgroups, Audit.compare, SensitiveFeatures),
        GapMonitor(None, 0.1).update,
    ]
    numbers = [len(inspect.signature(function).parameters) for function in functions]
    assert sum(numbers) <= 90 and max(numbers) <= 12


# Names of columns.


def test_tables_have_one_name_for_each_fact():
    table, names = draw_table(1)
    data = {"sensitive_features": table[names]}
    scores = table["s"] / table["s"].max()
    audit = Audit.from_predictions(table["y"], table["d"], y_score=scores, **data)
    report = audit.report()
    subgroups = audit.subgroups()
    monitor = GapMonitor("demographic_parity", tolerance=0.1).update(None, table["d"], **data)
    tables = [
        *(report.frame, report.gaps, report.adverse_impact(), report.reliability),
        *(subgroups.flagged, subgroups.searches, monitor.summary(), monitor.to_frame()),
        group_report(table["y"], table["d"], **data, confidence_level=0.9),
    ]
    columns = set().union(*map(set, tables))
    retired = {
        "cell",
        "departure",
        "measure",
        "n_samples",
        "observed",
        "rate",
        "rest_rate",
        "value",
    }
    assert columns & retired == set()
    assert {"metric", "group", "n", "estimate", "low", "high", "gap", "event"} <= columns
