"""Reports of decisions and scores whose outcomes are not known, and missing groups."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression, LogisticRegression

from skfair._statistics.gaps import balance_limit
from skfair.statistics import gap_interval, ratio_interval
from tests.audit.doors import report_model, report_predictions

RNG = np.random.default_rng(0)
N = 600
SEX = pd.Series(RNG.choice(["f", "m"], size=N), name="sex")
DECISIONS = (RNG.random(N) < np.where(SEX == "f", 0.3, 0.5)).astype(int)
SCORES = RNG.random(N) + 0.2 * (SEX == "m").to_numpy()


def rows(report, attribute="sex"):
    """Rows of the frame by metric and group."""
    frame = report.to_frame()
    return frame[frame["attribute"] == attribute].set_index(["metric", "group"])


def test_decisions_alone_have_selection_rates_gaps_and_ratios():
    report = report_predictions(None, DECISIONS, sensitive_features=SEX)
    assert report.task == "classification" and report.balance is None
    assert report.frame["metric"].unique().tolist() == ["selection_rate"]
    gap = report.gaps.iloc[0]
    expected = gap_interval(DECISIONS, sensitive_features=SEX)
    assert gap[["gap", "gap_low", "gap_high"]].tolist() == pytest.approx(list(expected))
    expected = ratio_interval(DECISIONS, sensitive_features=SEX)
    assert gap[["ratio", "ratio_low", "ratio_high"]].tolist() == pytest.approx(list(expected))
    assert len(report.findings) == 2 and "four fifths" in report.findings[1]
    assert any("without recorded outcomes" in text for text in report.open_questions)
    assert "Share of cluster" not in report.to_html()


@pytest.mark.parametrize("dtype", [int, float, np.uint8])
def test_integer_scores_need_a_kind(dtype):
    scores = (1 + np.arange(N) % 10).astype(dtype)
    with pytest.raises(ValueError, match=r"10 different integers of y_pred, from 1 to 10, may be"):
        report_predictions(None, scores, sensitive_features=SEX)
    report = report_predictions(
        None, scores, sensitive_features=SEX, task="regression", metrics=["scoring_rate"]
    )
    rates = rows(report)["estimate"]
    assert rates["mean_prediction", "f"] == pytest.approx(scores[SEX == "f"].mean())
    above = scores > np.median(scores)
    assert rates["scoring_rate", "f"] == pytest.approx(above[SEX == "f"].mean())
    assert "Scoring rate" in report.to_markdown(summary="ll144")
    # Classes are named, and two integers are decisions.
    report = report_predictions(None, scores, sensitive_features=SEX, task="classification")
    assert len(report.frame["metric"].unique()) == 10
    report_predictions(None, scores > 5, sensitive_features=SEX)


def test_decisions_in_words_need_the_positive_one():
    words = np.where(DECISIONS, "hired", "rejected")
    with pytest.raises(ValueError, match="pos_label must name"):
        report_predictions(None, words, sensitive_features=SEX)
    report = report_predictions(None, words, sensitive_features=SEX, pos_label="hired")
    expected = DECISIONS[SEX == "f"].mean()
    assert rows(report).loc[("selection_rate", "f"), "estimate"] == pytest.approx(expected)
    assert report.provenance["positive_label"] == "hired"


def test_scores_have_the_share_above_the_median_of_all():
    """Of .1 to .6 with median .35, two of three of b and one of three of a are above."""
    scores = [0.1, 0.2, 0.4, 0.3, 0.5, 0.6]
    groups = list("aaabbb")
    report = report_predictions(None, scores, sensitive_features=groups, metrics=["scoring_rate"])
    rates = rows(report, "attribute 1")["estimate"]
    assert report.task == "regression"
    assert rates.to_dict() == {
        ("scoring_rate", "a"): pytest.approx(1 / 3),
        ("scoring_rate", "b"): pytest.approx(2 / 3),
        ("mean_prediction", "a"): pytest.approx(0.7 / 3),
        ("mean_prediction", "b"): pytest.approx(1.4 / 3),
    }
    assert "Impact ratios by attribute 1" in report.to_html()
    with pytest.raises(ValueError, match="pos_label names a class, but predictions are numbers"):
        report_predictions(None, scores, sensitive_features=groups, pos_label=1)


def test_scores_in_addition_to_decisions():
    report = report_predictions(None, DECISIONS, sensitive_features=SEX, y_score=SCORES)
    above = (SCORES > np.median(SCORES))[SEX == "f"].mean()
    assert rows(report).loc[("scoring_rate", "f"), "estimate"] == pytest.approx(above)
    html = report.to_html()
    assert "Impact ratios of the scoring rate by sex" in html
    assert "Impact ratios of the selection rate by sex" in html


def test_several_classes_have_a_selection_rate_each():
    classes = np.array(["x", "y", "z"])[RNG.integers(3, size=N)]
    report = report_predictions(None, classes, sensitive_features=SEX)
    rate = rows(report).loc[("selection_rate of class y", "f"), "estimate"]
    assert rate == pytest.approx(np.mean(classes[SEX == "f"] == "y"))
    assert set(report.adverse_impact()["metric"]) == {
        f"selection_rate of class {name}" for name in "xyz"
    }


def test_quantities_without_a_target():
    report = report_predictions(None, np.arange(N), sensitive_features=SEX, task="regression")
    mean = rows(report).loc[("mean_prediction", "f"), "estimate"]
    assert mean == pytest.approx(np.flatnonzero(SEX == "f").mean())
    assert set(report.frame["metric"]) == {"mean_prediction"}


def test_models_without_outcomes():
    X = SCORES[:, np.newaxis]
    model = LogisticRegression().fit(X, DECISIONS)
    report = report_model(model, X, sensitive_features=SEX)
    assert set(report.frame["metric"]) == {"selection_rate", "mean_probability", "scoring_rate"}
    assert rows(report).loc[("selection_rate", "f"), "estimate"] == pytest.approx(
        model.predict(X)[SEX == "f"].mean()
    )
    report = report_model(LinearRegression().fit(X, DECISIONS), X, sensitive_features=SEX)
    assert report.task == "regression"


def make_missing():
    """Two attributes; sex is missing in rows 0 to 9 and race in rows 5 to 24."""
    race = pd.Series(RNG.choice(["a", "b"], size=N), dtype=object)
    table = pd.DataFrame({"sex": SEX.astype(object), "race": race})
    table.loc[:9, "sex"], table.loc[5:24, "race"] = None, None
    return table


def report_of(table, **settings):
    return report_predictions(None, DECISIONS, sensitive_features=table, **settings)


def test_missing_groups_are_refused_by_default():
    with pytest.raises(ValueError, match="'sex' of sensitive_features has 10 missing"):
        report_of(make_missing())
    with pytest.raises(ValueError, match="missing must be one of 'error', 'exclude', 'group'"):
        report_of(make_missing(), missing="drop")


@pytest.mark.slow
def test_missing_groups_are_counted_and_left_out_of_their_attribute_alone():
    """Excluding by sex equals dropping these rows; the overall row has all samples."""
    table = make_missing()
    report = report_of(table, missing="exclude", reference={"sex": "m", "race": "a"})
    assert report.n_missing == {"sex": 10, "race": 20, "sex × race": 25}
    assert rows(report, "overall")["n"].tolist() == [N]
    for name in ("sex", "race"):
        is_known = table[name].notna().to_numpy()
        expected = report_predictions(
            None,
            DECISIONS[is_known],
            sensitive_features=table.loc[is_known, name].to_numpy(),
            reference={"attribute 1": {"sex": "m", "race": "a"}[name]},
        )
        columns = ["n", "estimate", "low", "high", "difference", "difference_low", "ratio"]
        pd.testing.assert_frame_equal(
            rows(report, name)[columns], rows(expected, "attribute 1")[columns]
        )
    assert "10 by sex, 20 by race, 25 by sex × race" in report.to_html()
    assert "(missing)" not in report.to_html()


def test_missing_groups_as_a_group():
    report = report_of(make_missing(), missing="group")
    row = rows(report).loc[("selection_rate", "(missing)")]
    assert row["n"] == 10 and row["estimate"] == DECISIONS[:10].mean()
    assert report.n_missing["sex × race"] == 25


def test_numbers_with_missing_entries_keep_their_names():
    grades = np.where(np.arange(N) < 3, np.nan, np.arange(N) % 2 + 1)
    for table in (grades, grades.tolist(), pd.Series(grades)):
        report = report_of(table, missing="exclude")
        assert rows(report, "attribute 1").index.get_level_values(1).tolist() == ["1", "2"]


def test_complete_groups_are_the_same_under_all_settings():
    reports = [report_of(SEX, missing=missing) for missing in ("error", "group", "exclude")]
    for report in reports:
        pd.testing.assert_frame_equal(report.frame, reports[0].frame)
        assert report.n_missing == {"sex": 0}
    members = sparse.csr_array(np.column_stack((SEX == "f", np.arange(N) < 300)))
    assert report_of(members, missing="exclude").n_missing == {}


def test_a_group_may_have_the_name_of_missing_groups():
    table = make_missing()
    table.loc[30, "sex"] = "(missing)"
    with pytest.raises(ValueError, match="also has a group of this name; rename it"):
        report_of(table, missing="exclude")
    # Without missing entries it is a name like others.
    assert report_of(SEX.replace("f", "(missing)"), missing="error").n_missing == {"sex": 0}


def test_the_balance_of_a_clustering_leaves_missing_groups_out():
    table = make_missing()
    settings = {"task": "clustering", "missing": "exclude"}
    is_known = table.notna().all(axis=1).to_numpy()
    expected = balance_limit(
        DECISIONS[is_known], sensitive_features=table[is_known].astype(str).to_numpy()
    )
    assert report_of(table, **settings).balance == pytest.approx(expected)


def test_an_unknown_group_is_no_reference():
    """Though it is selected most often: rates of .9, .5 and .4."""
    groups = np.repeat(["?", "a", "b"], 100)
    decisions = (np.tile(np.arange(100), 3) < np.repeat([90, 50, 40], 100)).astype(int)
    report = report_predictions(
        None, decisions, sensitive_features=groups, unknown=["?"], missing="group"
    )
    table = rows(report, "attribute 1").loc["selection_rate"]
    assert table.index[table["is_reference"]].tolist() == ["a"]
    assert table.loc["b", "impact_ratio"] == pytest.approx(0.8)
    assert table.loc["a", "impact_ratio"] == 1.0
    impact = report.adverse_impact().set_index("group")["impact_ratio"]
    assert impact.to_dict() == pytest.approx({"(missing)": 1.8, "a": 1.0, "b": 0.8})
    # Where no group is known, there is no other.
    alone = report_predictions(
        None, decisions, sensitive_features=["?"] * 300, unknown=["?"], missing="group"
    )
    assert alone.to_frame()["is_reference"].any()
