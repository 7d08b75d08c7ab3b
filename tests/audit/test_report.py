import copy
import pickle
import re
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.svm import LinearSVC

from benchmarks.guarantees.false_claims import claims_a_gap, draw_report, excludes_equality
from skfair._statistics.estimates import Rates, pairwise_contrasts
from skfair._statistics.gaps import balance_limit, interval_of_largest_contrast
from skfair.audit import Audit, SensitiveFeatures
from skfair.audit._tables import group_text, significance_mask
from skfair.metrics import group_report
from skfair.statistics import gap_interval, ratio_interval
from tests.audit.doors import report_model, report_predictions

RNG = np.random.default_rng(0)
N = 1200
ATTRIBUTES = pd.DataFrame(
    {"sex": RNG.choice(["f", "m"], size=N), "race": RNG.choice(["a", "b", "c"], size=N)}
)
X = RNG.normal(size=(N, 2)) + 0.4 * (ATTRIBUTES[["sex"]] == "m").to_numpy()
Y = (X[:, 0] + RNG.logistic(size=N) > 0).astype(int)
MODEL = LogisticRegression().fit(X, Y)
DECISIONS = MODEL.predict(X)
PROBABILITIES = MODEL.predict_proba(X)[:, 1]


def make_report(**settings):
    settings = {"sensitive_features": ATTRIBUTES, "y_proba": PROBABILITIES} | settings
    return report_predictions(Y, DECISIONS, **settings)


@cache
def plain_report():
    """The report without further settings, which tests only read."""
    return make_report(sensitive_features=ATTRIBUTES)


def cell(report, attribute, group, metric):
    frame = report.to_frame()
    row = frame[
        (frame["attribute"] == attribute) & (frame["group"] == group) & (frame["metric"] == metric)
    ]
    return row.iloc[0]


def test_rates_and_intervals_are_those_of_the_group_report():
    report = plain_report()
    sex = {"sensitive_features": ATTRIBUTES["sex"], "confidence_level": 0.95}
    rates = group_report(Y, DECISIONS, **sex)
    for name in ("base_rate", "selection_rate", "true_positive_rate", "positive_predictive_value"):
        for group, label in {"f": "f", "m": "m"}.items():
            row = cell(report, "sex", group, name)
            expected = rates.loc[label, [name, f"{name}_n", f"{name}_low", f"{name}_high"]]
            assert row[["estimate", "n", "low", "high"]].tolist() == pytest.approx(
                expected.tolist()
            )


def test_gaps_and_ratios_are_those_of_the_inference():
    gaps = plain_report().gaps.set_index(["attribute", "metric"])
    for attribute, groups in {"race": ATTRIBUTES["race"], "sex × race": ATTRIBUTES}.items():
        row = gaps.loc[(attribute, "selection_rate")]
        gap = gap_interval(DECISIONS, sensitive_features=groups)
        assert row[["gap", "gap_low", "gap_high"]].tolist() == pytest.approx(list(gap))
        # The ratio of a gap is the impact ratio of its lowest group, with the same limits.
        lowest = cell(plain_report(), attribute, row["lowest"], "selection_rate")
        names = ["ratio", "ratio_low", "ratio_high"]
        impact = lowest[[f"impact_{name}" for name in names]].tolist()
        assert row[names].tolist() == impact == lowest[names].tolist()


def test_a_difference_to_a_named_reference_is_the_gap_of_two_groups():
    report = make_report(reference={"sex": "m"})
    row = cell(report, "sex", "f", "selection_rate")
    gap = gap_interval(DECISIONS, sensitive_features=ATTRIBUTES["sex"])
    assert row["difference"] == pytest.approx(-gap.estimate)
    assert (row["difference_low"], row["difference_high"]) == pytest.approx((-gap.high, -gap.low))
    assert cell(report, "sex", "m", "selection_rate")["is_reference"]


def test_differences_to_a_data_dependent_reference_have_simultaneous_intervals():
    """Bonferroni over all metrics of all attributes, and over all pairs of groups of each."""
    report = plain_report()
    n_tables = len(report.gaps)
    assert n_tables == 33
    for attribute, n_pairs in {"sex": 1, "race": 3, "sex × race": 15}.items():
        rows = report.frame[
            (report.frame["attribute"] == attribute) & (report.frame["metric"] == "selection_rate")
        ]
        reference = rows.loc[rows["is_reference"], "group"].item()
        row = rows[~rows["is_reference"]].iloc[0]
        by = (
            ATTRIBUTES["sex"] + " × " + ATTRIBUTES["race"]
            if "×" in attribute
            else ATTRIBUTES[attribute]
        )
        two = by.isin([reference, row["group"]])
        gap = gap_interval(
            DECISIONS[two],
            sensitive_features=by[two].to_numpy(),
            confidence_level=1.0 - 0.05 / n_tables / n_pairs,
        )
        # gap_interval ends at 0.
        assert max(0.0, -row["difference_high"]) == pytest.approx(gap.low)
        assert -row["difference_low"] == pytest.approx(gap.high)
        # Impact ratios are a family of three tables.
        ratio = ratio_interval(
            DECISIONS[two],
            sensitive_features=by[two].to_numpy(),
            confidence_level=1.0 - 0.05 / 3 / n_pairs,
        )
        assert row["impact_ratio"] == row["ratio"]
        assert row["impact_ratio_low"] == row["ratio_low"] == pytest.approx(ratio.low)


def test_the_reference_can_be_chosen():
    row = cell(make_report(reference={"sex": "f"}), "sex", "m", "selection_rate")
    assert row["difference"] > 0 and not row["is_reference"]
    with pytest.raises(ValueError, match=r"names the group 'x' of sex, but its groups are \['f'"):
        make_report(reference={"sex": "x"})
    with pytest.raises(ValueError, match="the attributes are"):
        make_report(reference={"age": "x"})


def test_scores_have_areas_and_calibration():
    report = plain_report()
    female = (ATTRIBUTES["sex"] == "f").to_numpy()
    auc = cell(report, "sex", "f", "roc_auc")
    assert auc["estimate"] == pytest.approx(roc_auc_score(Y[female], PROBABILITIES[female]))
    error = cell(report, "sex", "f", "calibration_error")
    assert error["estimate"] == pytest.approx(np.mean(Y[female] - PROBABILITIES[female]))


def compute_f1(y_true, y_pred):
    """F1 of 0/1 labels, in a thirtieth of the time of scikit-learn's: it is drawn 500 times."""
    return 2 * (y_true * y_pred).sum() / (y_true.sum() + y_pred.sum())


@pytest.mark.slow
def test_a_passed_metric():
    report = make_report(metrics={"f1": compute_f1})
    female = (ATTRIBUTES["sex"] == "f").to_numpy()
    row = cell(report, "sex", "f", "f1")
    assert row["estimate"] == pytest.approx(f1_score(Y[female], DECISIONS[female]))
    assert row["low"] < row["estimate"] < row["high"] and row["interval"] == "bootstrap"
    gap = report.gaps.set_index(["attribute", "metric"]).loc[("sex", "f1")]
    assert gap["gap_low"] < gap["gap"] < gap["gap_high"]
    assert "Intervals of f1 are bias-corrected bootstrap" in report.to_html()


@pytest.mark.slow
def test_reports_of_estimators_are_those_of_their_predictions():
    report = report_model(MODEL, X, Y, sensitive_features=ATTRIBUTES)
    pd.testing.assert_frame_equal(report.to_frame(), plain_report().to_frame())
    margins = report_model(LinearSVC().fit(X, Y), X, Y, sensitive_features=ATTRIBUTES)
    assert "roc_auc" in set(margins.frame["metric"])
    assert "calibration_error" not in set(margins.frame["metric"])
    with pytest.raises(NotFittedError):
        report_model(LogisticRegression(), X, Y, sensitive_features=ATTRIBUTES)


def test_text_labels():
    words = np.array(["no", "yes"])
    model = LogisticRegression().fit(X, words[Y])
    report = report_model(model, X, words[Y], sensitive_features=ATTRIBUTES, pos_label="yes")
    pd.testing.assert_frame_equal(report.to_frame(), plain_report().to_frame())


@pytest.mark.slow
def test_many_classes():
    three = np.array(["x", "y", "z"])[(X[:, 0] > 0).astype(int) + (X[:, 0] > 1)]
    report = report_model(
        LogisticRegression().fit(X, three), X, three, sensitive_features=ATTRIBUTES
    )
    female = (ATTRIBUTES["sex"] == "f").to_numpy()
    row = cell(report, "sex", "f", "base_rate of class y")
    assert row["estimate"] == pytest.approx(np.mean(three[female] == "y"))
    assert "of class z" in report.to_html() and len(report.findings) == 3


def test_regressions():
    truth = X[:, 0] + RNG.normal(size=N)
    model = LinearRegression().fit(X, truth)
    report = report_model(model, X, truth, sensitive_features=ATTRIBUTES)
    female = (ATTRIBUTES["sex"] == "f").to_numpy()
    errors = (model.predict(X) - truth)[female]
    assert cell(report, "sex", "f", "mean_error")["estimate"] == pytest.approx(errors.mean())
    row = cell(report, "sex", "f", "mean_absolute_error")
    assert row["estimate"] == pytest.approx(np.abs(errors).mean())
    assert "Mean prediction" in report.findings[1]
    above = model.predict(X) > np.median(model.predict(X))
    assert cell(report, "sex", "f", "scoring_rate")["estimate"] == pytest.approx(
        above[female].mean()
    )
    assert "Impact ratios by sex × race" in report.to_html()


def test_impact_ratios_are_by_each_attribute_and_by_both():
    html = plain_report().to_html()
    rates = pd.Series(DECISIONS).groupby(ATTRIBUTES["race"]).mean()
    table = html[html.index("Impact ratios by race") :]
    row = re.search(r'<th scope="row">a</th>(.*?)</tr>', table, flags=re.DOTALL)
    cells = re.sub(r"<[^>]*>", " ", row.group(1)).split()
    n = (ATTRIBUTES["race"] == "a").sum()
    assert cells[:2] == [f"{n}", f"{DECISIONS[ATTRIBUTES['race'] == 'a'].sum()}"]
    assert f"{rates['a'] / rates.max():.3g}" in cells
    assert all(f"Impact ratios by {name}" in html for name in ("sex", "race", "sex × race"))


def test_clusterings():
    report = report_model(
        KMeans(3, n_init=1, random_state=0).fit(X), X, sensitive_features=ATTRIBUTES
    )
    assert report.task == "clustering" and "balance" in report.findings[-1]
    labels = KMeans(3, n_init=1, random_state=0).fit(X).predict(X)
    assert report.balance == balance_limit(labels, sensitive_features=ATTRIBUTES)
    row = cell(report, "sex", "f", "share of cluster 0")
    assert row["estimate"] == pytest.approx(np.mean(labels[ATTRIBUTES["sex"] == "f"] == 0))


@pytest.mark.slow
def test_small_groups_are_shown_and_not_compared():
    race = ATTRIBUTES["race"].where(np.arange(N) > 7, "few")
    report = make_report(sensitive_features=ATTRIBUTES.assign(race=race))
    assert cell(report, "race", "few", "selection_rate")["is_small"]
    gaps = report.gaps[report.gaps["attribute"] == "race"]
    assert "few" not in set(gaps["lowest"]) | set(gaps["highest"])
    assert any("few (" in text for text in report.open_questions)
    assert "<small>small</small>" in report.to_html()


def test_three_findings():
    findings = plain_report().findings
    assert len(findings) == 3 and all(text.endswith(".") for text in findings)
    assert findings[0].startswith("1,200 samples in 6 groups by sex × race were audited")
    assert "four fifths" in findings[1]


def test_groups_without_samples_of_a_class_are_left_out_of_its_rates():
    truth = np.where(ATTRIBUTES["sex"] == "f", 0, Y)
    report = report_predictions(truth, DECISIONS, sensitive_features=ATTRIBUTES["sex"])
    names = report.frame[report.frame["metric"] == "true_positive_rate"]["group"].tolist()
    assert names == ["overall", "m"]


def test_weights_and_overlapping_groups():
    members = sparse.csr_array(
        np.column_stack((ATTRIBUTES["sex"] == "f", ATTRIBUTES["race"] != "a"))
    )
    report = make_report(sensitive_features=members, sample_weight=RNG.uniform(0.5, 1.5, size=N))
    row = cell(report, "group", "0", "selection_rate")
    assert row["low"] < row["estimate"] < row["high"]


def test_weighted_rates_and_gaps_are_those_of_the_inference():
    weights = np.random.default_rng(0).gamma(1.0, 100.0, size=N)
    report = make_report(sample_weight=weights)
    gap = gap_interval(DECISIONS, sensitive_features=ATTRIBUTES["race"], sample_weight=weights)
    row = report.gaps.set_index(["attribute", "metric"]).loc[("race", "selection_rate")]
    assert row[["gap", "gap_low", "gap_high"]].tolist() == pytest.approx(list(gap))
    sex = {"sensitive_features": ATTRIBUTES["sex"], "confidence_level": 0.95}
    rates = group_report(Y, DECISIONS, sample_weight=weights, **sex)
    for name in ("base_rate", "selection_rate", "true_positive_rate"):
        row = cell(report, "sex", "f", name)
        expected = rates.loc["f", [name, f"{name}_low", f"{name}_high"]]
        assert row[["estimate", "low", "high"]].tolist() == pytest.approx(expected.tolist())
        assert rates.loc["f", f"{name}_n"] < 0.7 * row["n"]


def test_weights_count_in_the_balance_of_a_clustering():
    labels = (X[:, 0] > 0).astype(int)
    weights = RNG.gamma(1.0, 100.0, size=N)
    settings = {"sensitive_features": ATTRIBUTES, "sample_weight": weights}
    report = report_predictions(None, labels, task="clustering", **settings)
    assert report.balance == pytest.approx(balance_limit(labels, **settings))
    assert report.balance.low < balance_limit(labels, sensitive_features=ATTRIBUTES).low


def holm(p_values, error):
    """Holm's procedure as printed: the smallest p-value first, until one is too large."""
    rejected = np.zeros(len(p_values), dtype=bool)
    for step, number in enumerate(np.argsort(p_values)):
        if p_values[number] > error / (len(p_values) - step):
            break
        rejected[number] = True
    return rejected


def gap_p_value(rates):
    """Smallest error at which the interval of a gap is above 0, by bisection."""
    low, high = -12.0, 0.0  # decimal logarithms
    for _ in range(40):
        middle = (low + high) / 2
        gap = interval_of_largest_contrast(
            rates, pairwise_contrasts(len(rates.values)), 1 - 10**middle
        )
        low, high = (low, middle) if gap.low > 0 else (middle, high)
    return 10**high


@pytest.mark.parametrize(
    ("apart", "expected"),
    [
        ([20, 36, 34, 60], [False, True, True, True]),  # 34 by Holm's procedure alone
        ([34, 30, 32, 33], [False] * 4),
        ([0, 0, 70], [False, False, True]),
        ([30, 40], [True, True]),
        ([20], [False]),
    ],
)
def test_significant_gaps_are_those_of_holms_procedure(apart, expected):
    """Successes among 400 in each of two or three groups, so many apart."""
    compared = []
    for more in apart:
        hits = np.array([200.0, 200.0 + more, 210.0])[: 2 + (more > 50)]
        sums = [np.repeat(counts[:, np.newaxis], 3, axis=1) for counts in (hits, 400 - hits)]
        compared.append((Rates.from_sums(*sums), np.arange(len(hits))))
    is_significant = significance_mask(compared, 0.95)
    p_values = np.array([gap_p_value(rates) for rates, _ in compared])
    assert is_significant.tolist() == holm(p_values, 0.05).tolist() == expected


def test_gaps_of_a_report_share_one_level():
    report = plain_report()
    for _, gap in report.gaps.iterrows():
        by = {"sex": ATTRIBUTES["sex"], "race": ATTRIBUTES["race"], "sex × race": ATTRIBUTES}[
            gap["attribute"]
        ]
        if gap["metric"] != "selection_rate":
            continue
        alone, last = (
            gap_interval(DECISIONS, sensitive_features=by, confidence_level=1.0 - 0.05 / n)
            for n in (len(report.gaps), 1)
        )
        assert (alone.low > 0) <= gap["is_significant"] <= (last.low > 0)


@pytest.mark.slow
@pytest.mark.parametrize("n_groups", [2, 4])
def test_reports_of_a_fair_model_seldom_claim_a_gap(n_groups):
    """At the level of each gap alone a quarter of reports do, and most show an interval."""
    rng = np.random.default_rng(n_groups)
    n_reports = 30
    reports = [draw_report(rng, n_groups, 1, 500) for _ in range(n_reports)]
    # 6 of 30 or more have a probability of .003 at .05.
    assert sum(map(claims_a_gap, reports)) < 6
    assert sum(map(excludes_equality, reports)) < 6


@pytest.mark.slow
def test_true_gaps_are_claimed():
    rng = np.random.default_rng(0)
    reports = [draw_report(rng, 4, 1, 4000, gap=0.1) for _ in range(10)]
    assert sum(map(claims_a_gap, reports)) >= 9


def test_a_gap_that_is_one_of_many_may_be_chance():
    """An interval above 0 at the level of one gap is no finding among nine of them."""
    n = 400
    groups = np.repeat([0, 1], n)
    decisions = np.concatenate([np.arange(n) < hits for hits in (200, 230)]).astype(int)
    truth = np.tile([0, 1], n)
    report = report_predictions(truth, decisions, sensitive_features=groups)
    gap = report.gaps.set_index("metric").loc["selection_rate"]
    assert gap["gap_low"] > 0 and not gap["is_significant"]
    assert report.findings[1].endswith("; as one of 6 gaps it may be chance.")
    assert any("as one of 6 gaps it may be chance" in text for text in report.open_questions)
    assert "Holm’s" in report.to_html()


def test_uneven_weights_warn_once():
    with pytest.warns(UserWarning, match="design effect above 4") as warned:
        make_report(sample_weight=RNG.exponential(size=N) ** 4)
    assert len(warned) == 1


def test_a_report_of_one_group_has_no_gaps():
    report = make_report(sensitive_features=["all"] * N)
    assert " in 1 group by " in report.findings[0] and "No two groups" in report.findings[1]
    report.to_html()


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"y_proba": PROBABILITIES[:-1]}, "inconsistent numbers of samples"),
        ({"confidence_level": 95}, "confidence_level must be a probability"),
        ({"task": "forecast"}, "task must be one of"),
        ({"sensitive_features": ATTRIBUTES.where(ATTRIBUTES != "a")}, "missing"),
        ({"sensitive_features": ATTRIBUTES.iloc[:-1]}, "rows|index"),
        (
            {"sensitive_features": np.arange(N).astype(str)},
            "by attribute 1 there are 1200, more than 1000",
        ),
    ],
)
def test_bad_input(settings, message):
    with pytest.raises(ValueError, match=message):
        make_report(**settings)


def test_predictions_of_the_wrong_kind_or_length():
    with pytest.raises(ValueError, match="and these as y_score"):
        report_predictions(Y, PROBABILITIES, sensitive_features=ATTRIBUTES)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        report_predictions(Y, DECISIONS[:-1], sensitive_features=ATTRIBUTES)
    words = np.where(Y, "yes", "no")
    with pytest.raises(ValueError, match="y_true must be numbers, .* but holds"):
        report_predictions(words, words, sensitive_features=ATTRIBUTES, task="regression")
    with pytest.raises(ValueError, match="there are 1200"):
        report_predictions(None, np.arange(N), sensitive_features=ATTRIBUTES, task="classification")


@pytest.mark.slow
def test_200_000_groups_are_refused():
    n = 200_000
    ids = np.arange(n).astype(str)
    with pytest.raises(ValueError, match="200000, more than 1000.*Leave the column out"):
        report_predictions(np.zeros(n, int), np.zeros(n, int), sensitive_features=ids)


@pytest.mark.parametrize(
    "one",
    [ATTRIBUTES["sex"], ATTRIBUTES[["sex"]], pl.Series("sex", ATTRIBUTES["sex"].to_numpy())],
    ids=["Series", "one column", "polars Series"],
)
def test_a_single_attribute_keeps_its_name(one):
    report = make_report(sensitive_features=one, reference={"sex": "f"})
    assert report.attributes == ["sex"] and "by sex" in report.findings[1]
    assert cell(report, "sex", "f", "selection_rate")["is_reference"]
    assert make_report(sensitive_features=ATTRIBUTES["sex"].to_numpy()).attributes == [
        "attribute 1"
    ]


def test_an_attribute_may_have_the_name_of_all_samples_together():
    report = make_report(
        sensitive_features=ATTRIBUTES["sex"].rename("overall"), reference={"overall": "f"}
    )
    assert report.attributes == ["'overall'"]
    overall = cell(report, "overall", "overall", "selection_rate")
    assert overall["estimate"] == pytest.approx(DECISIONS.mean())
    assert "Selection rate by &#x27;overall&#x27;" in report.to_html()


def test_attributes_of_one_name_are_refused():
    with pytest.raises(ValueError, match="2 are called 'sex'"):
        make_report(sensitive_features=ATTRIBUTES.set_axis(["sex", "sex"], axis=1))
    with pytest.raises(ValueError, match="differ in name as text"):
        make_report(sensitive_features=ATTRIBUTES.set_axis([1.5, "1.5"], axis=1))


def test_combinations_of_other_labels_have_other_names():
    labels = [("a", "b × c"), ("a × b", "c"), ("a × 'b", "c'"), ("a ×", "b"), ("a", "× b")]
    assert len({group_text(label) for label in labels}) == len(labels)
    of = RNG.integers(2, size=N)
    table = pd.DataFrame(np.array(labels)[of], columns=["u", "v"])
    rows = make_report(sensitive_features=table).frame.query("attribute == 'u × v'")
    rates = rows[rows["metric"] == "selection_rate"].set_index("group")["estimate"]
    for number, label in enumerate(labels[:2]):
        assert rates[group_text(label)] == pytest.approx(DECISIONS[of == number].mean())
    chosen = make_report(sensitive_features=table, reference={"u × v": ("a × b", "c")}).frame
    marked = chosen[(chosen["attribute"] == "u × v") & chosen["is_reference"]]
    assert set(marked["group"]) == {group_text(("a × b", "c"))}


@pytest.mark.parametrize(
    "name", ["accuracy", "roc_auc", "share of cluster 0", "accuracy of class x"]
)
def test_a_passed_metric_replaces_no_metric(name):
    with pytest.raises(ValueError, match=f"other names .* but '{name}' is one of them"):
        make_report(metrics={name: f1_score})


@pytest.mark.slow
def test_a_passed_metric_may_name_a_class():
    assert "f1 of class x" in make_report(metrics={"f1 of class x": compute_f1}).to_html()


@pytest.mark.slow
def test_a_model_without_selections_has_a_report():
    none_selected = np.zeros(N, dtype=int)
    report = report_predictions(
        Y, none_selected, sensitive_features=ATTRIBUTES, pos_label=1, y_proba=PROBABILITIES
    )
    assert cell(report, "sex", "f", "selection_rate")["estimate"] == 0.0
    assert "positive_predictive_value" not in set(report.frame["metric"])
    assert "is equal by sex: 0 % for all groups" in report.findings[2]
    assert np.isnan(cell(report, "sex", "f", "selection_rate")["impact_ratio"])
    assert "undecided" in impact_table(report.to_html(), "sex")
    neither = report_predictions(
        none_selected, none_selected, sensitive_features=ATTRIBUTES, pos_label=1
    )
    assert "true_positive_rate" not in set(neither.frame["metric"])
    neither.to_html()


@pytest.mark.slow
def test_rates_that_differ_in_the_last_digit_only_are_equal():
    """500 of 1,000 and 500 of 1,001: a gap of .05 percentage points at most, by chance."""
    decisions = np.r_[np.arange(1000) < 500, np.arange(1001) < 500].astype(int)
    groups = np.repeat(["a", "b"], (1000, 1001))
    report = report_predictions(None, decisions, sensitive_features=pd.Series(groups, name="g"))
    assert 0.0 < report.gaps["gap"].item() < 0.0005
    equal = "Selection rate (selected, of all) is equal up to rounding by g: 50 % for all groups; "
    assert report.findings[1].startswith(equal) and "may be chance" not in report.findings[1]
    assert "fifths" not in report.findings[1] and "4.51 percentage points" in report.findings[1]
    question = report.open_questions[0]
    assert question.startswith("Whether the selection rate differs by g: a gap of up to 4.51")
    # A significant gap is not equal, however small it is.
    many = np.r_[np.zeros(10**6, int), np.arange(10**6) < 400]
    report = report_predictions(
        None, many.astype(int), sensitive_features=np.repeat(["a", "b"], 10**6), pos_label=1
    )
    assert report.gaps["is_significant"].item() and "is equal" not in report.findings[1]


def test_print_shows_findings_and_no_address():
    report = make_report(title="Loans")
    assert str(report).splitlines() == ["Loans", *report.findings]
    assert (
        repr(report) == "<FairnessReport of 1,200 samples by sex, race, sex × race: classification>"
    )


@pytest.mark.parametrize("size", [0, -5, 0.05, True])
def test_a_group_size_is_a_positive_whole_number(size):
    with pytest.raises(ValueError, match="min_group_size must be a positive whole number"):
        make_report(min_group_size=size)


def test_equal_groups_do_not_differ_most():
    report = report_predictions(Y, Y, sensitive_features=ATTRIBUTES["sex"])
    equal = report.findings[2]
    assert "is equal by sex: 100 % for all groups; in the population a gap of up to" in equal
    assert not any("differs most" in text and "100 % for" in text for text in report.findings)
    gaps = report.gaps.set_index("metric")
    assert gaps.loc["accuracy", "gap"] == 0.0 and pd.isna(gaps.loc["accuracy", "highest"])


def impact_table(html, attribute):
    table = html[html.index(f"Impact ratios by {attribute}") :]
    return re.sub(r"<[^>]*>", " ", table[: table.index("</table>")])


@pytest.mark.parametrize(
    ("rates", "n", "verdict"),
    [
        ((0.5, 0.5), 2000, "kept"),
        ((0.5, 0.2), 500, "below four fifths"),
        ((0.5, 0.45), 40, "undecided"),
        ((0.5, 0.3), 40, "undecided"),
    ],
)
def test_the_verdict_on_four_fifths_needs_the_interval(rates, n, verdict):
    decisions = np.concatenate([np.arange(n) < round(rate * n) for rate in rates]).astype(int)
    groups = np.repeat(["best", "other"], n)
    report = report_predictions(
        decisions, decisions, sensitive_features=groups, reference={"attribute 1": "other"}
    )
    row = cell(report, "attribute 1", "other", "selection_rate")
    ratio = ratio_interval(decisions, sensitive_features=groups)
    assert row["impact_ratio"] == pytest.approx(rates[1] / rates[0])
    assert row["impact_ratio_low"] == pytest.approx(ratio.low)
    words = impact_table(report.to_html(), "attribute 1").split(" other ")[1]
    assert verdict in words and "largest rate" not in words
    assert {"kept", "below four fifths", "undecided"} & {verdict} == {
        one for one in ("kept", "below four fifths", "undecided") if one in words
    }


@pytest.mark.slow
def test_a_ratio_has_one_interval_and_one_verdict():
    verdicts = {"below four fifths": "below", "kept": "not below", "undecided": "undecided"}
    for seed in range(50):
        rng = np.random.default_rng(seed)
        table = pd.DataFrame({"sex": rng.choice([*"fm"], 2000)})
        table["race"] = rng.choice(["r1", "r2", "r3", "r4"], 2000, p=[0.5, 0.25, 0.15, 0.1])
        rates = np.where(table["race"] == "r2", rng.uniform(0.25, 0.46), 0.46)
        decisions = (rng.random(2000) < rates).astype(int)
        report = report_predictions(None, decisions, sensitive_features=table)
        page = report.to_html()
        pages = {by: impact_table(page, by) for by in ("sex", "race")}
        for gap in report.gaps.dropna(subset=["lowest"]).to_dict("records"):
            row = cell(report, gap["attribute"], gap["lowest"], gap["metric"])
            for name in ("ratio", "ratio_low", "ratio_high"):
                assert gap[name] == row[f"impact_{name}"]
            if gap["attribute"] in pages:
                words = pages[gap["attribute"]].split(f" {gap['lowest']} ")[1]
                printed = re.search("below four fifths|kept|undecided", words)[0]
                clause = gap["four_fifths"].rpartition(" in these data, but ")[2]
                assert clause.startswith(verdicts[printed])


def test_a_ratio_that_is_printed_as_four_fifths_is_on_its_side():
    decisions = np.concatenate([np.arange(10_000) < n for n in (5000, 3999)]).astype(int)
    report = report_predictions(None, decisions, sensitive_features=np.repeat([*"ab"], 10_000))
    (clause,) = report.gaps["four_fifths"]
    assert clause.startswith("below four fifths (0.799800) in these data")
    assert "0.799800" in re.sub(r"<[^>]*>", " ", report.to_html()).split("Adverse impact by")[1]


def test_a_copied_and_a_pickled_report_are_the_same():
    report = plain_report()
    for again in (copy.deepcopy(report), pickle.loads(pickle.dumps(report))):
        assert again.to_json() == report.to_json()


def test_samples_without_a_group_are_counted_in_the_first_sentence():
    rng = np.random.default_rng(3)
    group = rng.choice(["a", "b", None], 500, p=[0.4, 0.4, 0.2])
    known = SensitiveFeatures(group, missing="exclude")
    decisions = rng.integers(2, size=500)
    first = Audit.from_predictions(None, decisions, sensitive_features=known).report().findings[0]
    n_unknown = int(pd.isna(group).sum())
    assert first == (
        f"500 samples were audited (selection rate {100 * decisions.mean():.3g} %), "
        f"{500 - n_unknown} of them in 2 groups by attribute 1; {n_unknown} have no recorded group."
    )
