"""Audits of decisions of which only some have an outcome, against audits of those that have one."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression, LogisticRegression

from skfair.audit import Audit, Claim, FairnessReport, Outcomes, SensitiveFeatures, verify
from skfair.constraints import MaximumRate, RateParity
from skfair.metrics import Rate, equal_opportunity_difference
from skfair.monitoring import GapMonitor
from tests.audit.doors import certify_model, report_model, report_predictions

RNG = np.random.default_rng(0)
N = 900
SEX = pd.Series(RNG.choice(["f", "m"], N), name="sex")
DECISIONS = (RNG.random(N) < np.where(SEX == "f", 0.4, 0.6)).astype(int)
TRUTH = np.where(RNG.random(N) < 0.8, DECISIONS, 1 - DECISIONS)
# Outcomes of some never become known, by chance: `test_known_outcomes` has other reasons.
KNOWN = RNG.random(N) < 0.6
OUTCOMES = np.where(KNOWN, TRUTH, np.nan)
SCORES = np.round(np.clip(0.2 + 0.5 * DECISIONS + 0.3 * RNG.random(N), 0.0, 1.0), 3)
NEEDS_NO_OUTCOME = ("selection_rate", "mean_probability", "mean_prediction", "scoring_rate")


def select(column, rows=KNOWN):
    return None if column is None else column[rows]


def check_report(y_true, y_pred, groups, metrics=(), known=KNOWN, **columns):
    """Each number is that of all samples, or that of those with an outcome."""
    report = Audit.from_predictions(y_true, y_pred, sensitive_features=groups, **columns).report(
        metrics=metrics
    )
    of_all = {**columns, "sensitive_features": groups}
    of_scores = ["scoring_rate"] if report.task == "regression" else []
    of_known = {name: one[known] if np.ndim(one) else one for name, one in of_all.items()}
    complete = np.asarray(getattr(y_true, "y", y_true))[known]
    parts = {
        True: report_predictions(None, y_pred, task=report.task, metrics=of_scores, **of_all),
        False: Audit.from_predictions(complete, y_pred[known], **of_known).report(metrics=metrics),
    }
    columns = ["attribute", "group", "metric", "n", "estimate", "low", "high"]
    for name, rows in report.frame.groupby("metric"):
        expected = parts[name.split(" of class ")[0] in NEEDS_NO_OUTCOME].frame
        expected = expected[expected["metric"] == name]
        pd.testing.assert_frame_equal(
            rows[columns].reset_index(drop=True),
            expected[columns].reset_index(drop=True),
            check_dtype=False,
        )
    assert set(parts[False].frame["metric"]) <= set(report.frame["metric"])
    assert report.n_without_outcome == np.sum(~known)
    return report


@pytest.mark.slow
def test_rates_of_ten_samples_by_hand():
    """Of five decisions each, 3 and 1 are positive; of 3 and 2 outcomes, 2 and 1 are as decided."""
    decisions = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    outcomes = [1, 1, None, 1, None, None, 0, 1, None, None]
    report = report_predictions(
        outcomes, decisions, sensitive_features=[*"aaaaabbbbb"], min_group_size=1
    )
    values = report.frame.set_index(["metric", "group"])[["n", "estimate"]]
    expected = {
        ("selection_rate", "a"): (5, 3 / 5),
        ("selection_rate", "b"): (5, 1 / 5),
        ("accuracy", "a"): (3, 2 / 3),
        ("accuracy", "b"): (2, 1 / 2),
        ("base_rate", "a"): (3, 1.0),
        ("true_positive_rate", "a"): (3, 2 / 3),
        ("true_positive_rate", "b"): (1, 0.0),
        ("false_positive_rate", "b"): (1, 0.0),
        ("positive_predictive_value", "a"): (2, 1.0),
        ("selection_rate", "overall"): (10, 4 / 10),
        ("accuracy", "overall"): (5, 3 / 5),
    }
    for row, numbers in expected.items():
        assert values.loc[row].tolist() == pytest.approx(numbers)
    # Neither b's selected sample nor a's negative ones have an outcome.
    assert ("positive_predictive_value", "b") not in values.index
    assert ("false_positive_rate", "a") not in values.index
    sentence = (
        "The outcomes of 5 samples are unknown. Numbers that need an outcome count the other 5."
    )
    assert sentence in report.findings and "5 samples have no outcome" in report.to_html()
    assert sentence in report.to_markdown()
    assert any("applicants who were refused" in text for text in report.open_questions)
    assert json.loads(report.to_json())["n_without_outcome"] == 5
    assert FairnessReport.from_json(report.to_json()).findings == report.findings
    assert FairnessReport.from_json(report.to_json()).n_without_outcome == 5


@pytest.mark.slow
def test_reports_count_the_samples_that_have_what_a_number_needs():
    cost = Rate("cost", {"fp": 1, "fn": 5})
    report = check_report(OUTCOMES, DECISIONS, SEX, [cost, "balanced_accuracy", "mcc"])
    assert report.n_samples == N and "cost" in set(report.frame["metric"])


@pytest.mark.slow
@pytest.mark.covering(0)
@pytest.mark.parametrize(
    "columns",
    [
        {"y_score": SCORES},
        {"y_score": 10.0 * SCORES},
        {"sample_weight": RNG.integers(0, 3, N) + RNG.random(N)},
        {"control_features": pd.Series(RNG.choice(["n", "s"], N), name="region")},
    ],
    ids=["probabilities", "scores", "weights", "strata"],
)
def test_reports_of_more_columns(columns):
    report = check_report(OUTCOMES, DECISIONS, SEX, **columns)
    if "y_score" in columns:
        assert "roc_auc" in set(report.frame["metric"])


@pytest.mark.slow
def test_calibration_is_of_the_samples_with_an_outcome():
    report = check_report(OUTCOMES, DECISIONS, SEX, y_score=SCORES)
    known = Audit.from_predictions(
        TRUTH[KNOWN], DECISIONS[KNOWN], sensitive_features=SEX[KNOWN], y_score=SCORES[KNOWN]
    )
    pd.testing.assert_frame_equal(report.reliability, known.report().reliability)


def test_zero_weights_and_unknown_outcomes_are_left_out_together():
    weights = np.where(RNG.random(N) < 0.2, 0.0, 1.0)
    columns = {"sensitive_features": SEX, "sample_weight": weights}
    report = Audit.from_predictions(OUTCOMES, DECISIONS, **columns).report()
    used = weights > 0
    same = Audit.from_predictions(OUTCOMES[used], DECISIONS[used], sensitive_features=SEX[used])
    pd.testing.assert_frame_equal(report.frame, same.report().frame)
    assert report.n_without_outcome == np.sum(used & ~KNOWN)


def test_groups_that_overlap():
    members = sparse.csr_array(
        np.column_stack((SEX == "f", DECISIONS == 1, np.ones(N, dtype=bool)))
    )
    check_report(OUTCOMES, DECISIONS, members)


@pytest.mark.slow
def test_many_classes_and_one_without_any_outcome():
    decisions = RNG.choice(["a", "b", "c"], N)
    outcomes = pd.Series(np.where(RNG.random(N) < 0.5, decisions, "a"))
    outcomes[(decisions == "c") & (RNG.random(N) < 0.5)] = None
    outcomes[outcomes == "c"] = None
    known = outcomes.notna().to_numpy()
    of_chance = Outcomes(outcomes, missing="at_random")  # though "c" has fewer
    report = check_report(of_chance, decisions, SEX, ["recall"], known=known)
    of_c = report.frame[report.frame["metric"] == "base_rate of class c"]
    assert of_c["estimate"].tolist() == [0.0, 0.0, 0.0]


def test_regressions():
    target = 3.0 * TRUTH + RNG.normal(size=N)
    predicted = 3.0 * DECISIONS + RNG.normal(size=N)
    report = check_report(np.where(KNOWN, target, np.nan), predicted, SEX)
    assert report.task == "regression" and "mean_error" in set(report.frame["metric"])
    audit = Audit.from_predictions(
        np.where(KNOWN, target, np.nan), predicted, sensitive_features=SEX
    )
    assert "numbers" not in str(audit.certify("mean_parity", 0.9))
    assert audit.certify("mean_parity", 0.9).n_missing == {}


@pytest.mark.parametrize(
    "outcomes",
    [
        [None if np.isnan(one) else bool(one) for one in OUTCOMES],
        pd.Series(OUTCOMES).astype("Int64"),
        pd.Series(OUTCOMES).map({1.0: "yes", 0.0: "no"}),
        pd.Series(OUTCOMES).map({1.0: "yes", 0.0: "no"}).astype("category"),
    ],
    ids=["booleans", "integers", "text", "categories"],
)
def test_outcomes_of_any_type(outcomes):
    decisions = DECISIONS
    if hasattr(outcomes, "iloc") and outcomes.dtype != "Int64":
        decisions = np.where(DECISIONS == 1, "yes", "no")
    columns = {"sensitive_features": SEX, "pos_label": "yes" if decisions is not DECISIONS else 1}
    report = Audit.from_predictions(outcomes, decisions, **columns).report()
    expected = Audit.from_predictions(OUTCOMES, DECISIONS, sensitive_features=SEX).report()
    pd.testing.assert_frame_equal(report.frame, expected.frame)


def test_no_outcome_at_all_is_a_report_without_outcomes():
    report = Audit.from_predictions([np.nan] * N, DECISIONS, sensitive_features=SEX).report()
    expected = Audit.from_predictions(None, DECISIONS, sensitive_features=SEX).report()
    assert report.to_json() == expected.to_json() and report.n_without_outcome == 0


@pytest.mark.slow
def test_tables_of_counts():
    table = pd.DataFrame({"sex": SEX, "y": OUTCOMES, "d": DECISIONS})
    table = table.groupby(["sex", "y", "d"], dropna=False).size().rename("n").reset_index()
    columns = {"sensitive_features": "sex", "y_true": "y", "y_pred": "d"}
    counts = Audit.from_counts(table, counts="n", **columns)
    samples = Audit.from_predictions(OUTCOMES, DECISIONS, sensitive_features=SEX)
    pd.testing.assert_frame_equal(counts.report().frame, samples.report().frame)
    assert counts.n_without_outcome == samples.n_without_outcome == np.sum(~KNOWN)
    for constraint in ("demographic_parity", "equalized_odds"):
        assert not counts.certify(constraint, 0.2).find_differences(
            samples.certify(constraint, 0.2)
        )


def test_many_rows_are_merged_with_the_same_numbers():
    repeated = {name: np.tile(one, 100) for name, one in {"y": OUTCOMES, "d": DECISIONS}.items()}
    audit = Audit.from_predictions(
        Outcomes(repeated["y"], missing="at_random"),
        repeated["d"],
        sensitive_features=np.tile(SEX, 100),
    )
    merged, columns, _ = audit.rows()
    assert len(merged.weights) < 20 and "has_outcome" in columns
    rates = audit.report().frame.set_index(["metric", "group"])["estimate"]
    once = Audit.from_predictions(OUTCOMES, DECISIONS, sensitive_features=SEX.to_numpy()).report()
    assert rates.to_numpy() == pytest.approx(once.frame["estimate"].to_numpy())
    claim = audit.certify("equal_opportunity", 0.2)
    assert claim.n_missing.get("outcome", 0) == 100 * np.sum(~KNOWN)
    assert sum(claim.sizes.values()) == 100 * np.sum(KNOWN & (TRUTH == 1))


def test_top_k_decides_among_all_samples():
    audit = Audit.from_predictions(OUTCOMES, None, sensitive_features=SEX, y_score=SCORES)
    frame = audit.top(200).report().frame.set_index(["metric", "group"])
    place = np.sort(SCORES)[-200]
    selected = (SCORES > place) + (SCORES == place) * (
        (200 - np.sum(SCORES > place)) / np.sum(SCORES == place)
    )
    is_f = SEX == "f"
    is_positive = KNOWN & (TRUTH == 1)
    assert frame.loc[("selection_rate", "f"), "estimate"] == pytest.approx(selected[is_f].mean())
    rate = frame.loc[("true_positive_rate", "f"), "estimate"]
    assert rate == pytest.approx(selected[is_f & is_positive].mean())


@pytest.mark.parametrize(
    "constraint",
    [
        "equal_opportunity",
        "equalized_odds",
        "error_rate_parity",
        RateParity("positive_predictive_value"),
        MaximumRate("false_negative_rate", 0.6),
    ],
)
def test_claims_that_need_outcomes_are_of_the_samples_with_one(constraint):
    tolerance = None if isinstance(constraint, MaximumRate) else 0.15
    claim = Audit.from_predictions(OUTCOMES, DECISIONS, sensitive_features=SEX).certify(
        constraint, tolerance
    )
    expected = Audit.from_predictions(
        TRUTH[KNOWN], DECISIONS[KNOWN], sensitive_features=SEX[KNOWN]
    ).certify(constraint, tolerance)
    assert set(expected.find_differences(claim)) <= {"counted", "n_missing", "reading", "text"}
    n = np.sum(~KNOWN)
    assert claim.n_missing.get("outcome", 0) == n and "outcome" in claim.counted
    assert f"{n} samples of unknown outcome are left out; the claim is about the others." in str(
        claim
    )
    assert claim.reading.left_out["samples have no outcome"] == n
    assert f"{n:,} samples have no outcome" in claim.to_html()
    assert not Claim.from_json(claim.to_json()).find_differences(claim)


def test_claims_on_decisions_count_all_samples():
    columns = {"sensitive_features": SEX, "pos_label": 1}
    claim = Audit.from_predictions(OUTCOMES, DECISIONS, **columns).certify(tolerance=0.3)
    expected = Audit.from_predictions(None, DECISIONS, **columns).certify(tolerance=0.3)
    assert expected.find_differences(claim) == ["reading"] and sum(claim.sizes.values()) == N


def test_a_group_without_any_outcome_is_named():
    groups = SEX.where(np.arange(N) % 5 > 0, "x")
    outcomes = np.where(groups == "x", np.nan, OUTCOMES)
    audit = Audit.from_predictions(outcomes, DECISIONS, sensitive_features=groups)
    claim = audit.certify("equal_opportunity", 0.2)
    assert claim.left_out == ("x",) and "left out as too small: 'x'" in str(claim)
    assert any("none of them in 'x'" in text for text in audit.report().findings)


def test_models_are_audited_on_partly_known_outcomes():
    X = RNG.normal(size=(N, 1)) + DECISIONS[:, np.newaxis]
    model = LogisticRegression().fit(X[:100], TRUTH[:100])
    held_out = slice(100, None)
    known = np.flatnonzero(KNOWN[100:]) + 100
    for constraint in ("equal_opportunity", "partial_group_auc", "loss_parity"):
        claim = certify_model(
            model,
            X[held_out],
            OUTCOMES[held_out],
            sensitive_features=SEX[held_out],
            constraint=constraint,
            tolerance=0.3,
        )
        rows = np.arange(100, N) if constraint == "partial_group_auc" else known
        expected = certify_model(
            model,
            X[rows],
            TRUTH[rows],
            sensitive_features=SEX[rows],
            constraint=constraint,
            tolerance=0.3,
        )
        assert claim.estimate == pytest.approx(expected.estimate)
        assert (claim.low, claim.high) == pytest.approx((expected.low, expected.high))
        needs_outcome = constraint != "partial_group_auc"
        assert claim.n_missing.get("outcome", 0) == needs_outcome * (N - 100 - len(known))
    regressor = LinearRegression().fit(X[:100], TRUTH[:100] + 0.5)
    report = report_model(
        regressor, X, np.where(KNOWN, TRUTH + 0.5, np.nan), sensitive_features=SEX
    )
    assert report.n_without_outcome == np.sum(~KNOWN)


def test_numbers_of_unknown_outcomes_are_not_published_if_small():
    """Three of 300 outcomes of women are unknown: any error rate would show that number."""
    outcomes = np.ones(900)
    sex = np.repeat(["f", "m", "n"], 300)
    decisions = np.tile([0.0, 1.0], 450)
    outcomes[::3] = 0.0
    outcomes[[0, 1, 2, *range(300, 400), *range(600, 700)]] = np.nan
    report = Audit.from_predictions(outcomes, decisions, sensitive_features=sex).report(
        min_published=10
    )
    assert "f" not in set(report.frame["group"])


@pytest.mark.slow
def test_subgroups_and_changes():
    audit = Audit.from_predictions(OUTCOMES, DECISIONS, sensitive_features=SEX)
    known = Audit.from_predictions(TRUTH[KNOWN], DECISIONS[KNOWN], sensitive_features=SEX[KNOWN])
    searched, expected = (one.subgroups(["accuracy"]).searches for one in (audit, known))
    pd.testing.assert_frame_equal(searched, expected)
    assert audit.subgroups().searches["n"].item() == N
    changed = audit.compare(known).frame.set_index(["metric", "group"])
    with pytest.warns(UserWarning, match="look like the same samples"):
        alone = known.compare(known).frame.set_index(["metric", "group"])
    assert changed.loc["accuracy"].equals(alone.loc["accuracy"])
    assert changed.loc[("selection_rate", "f"), "n_before"] == np.sum(SEX == "f")
    paired = audit.compare(1 - DECISIONS).frame.set_index(["metric", "group"])
    expected = known.compare(1 - DECISIONS[KNOWN]).frame.set_index(["metric", "group"])
    assert paired.loc["accuracy"].equals(expected.loc["accuracy"])


def test_digests_do_not_depend_on_the_order_of_samples():
    salt = "a secret of 16 letters"
    order = RNG.permutation(N)
    audit = Audit.from_predictions(OUTCOMES, DECISIONS, sensitive_features=SEX.to_numpy())
    permuted = Audit.from_predictions(
        OUTCOMES[order], DECISIONS[order], sensitive_features=SEX.to_numpy()[order]
    )
    claim = audit.certify("equal_opportunity", 0.2, salt=salt)
    assert verify(claim, permuted, salt=salt) == []
    first = int(np.flatnonzero(KNOWN & (TRUTH == 0))[0])
    fewer = np.where(np.arange(N) == first, np.nan, OUTCOMES)
    changed = Audit.from_predictions(fewer, DECISIONS, sensitive_features=SEX.to_numpy())
    assert "salted_sha256" in verify(claim, changed, salt=salt)


def test_attempts_on_other_outcomes_are_counted_apart(tmp_path):
    ledger = tmp_path / "ledger.json"
    for outcomes, attempt in ((OUTCOMES, 1), (OUTCOMES, 2), (TRUTH, 1)):
        audit = Audit.from_predictions(outcomes, DECISIONS, sensitive_features=SEX)
        assert audit.certify(tolerance=0.3, ledger=ledger).attempt == attempt


def test_modelled_groups_need_complete_outcomes():
    labels = SEX.where(np.arange(N) % 7 > 0, None)
    known = SensitiveFeatures(labels, missing="at_random")
    with pytest.raises(ValueError, match="but some outcomes in y_true are unknown. Leave y_true"):
        Audit.from_predictions(OUTCOMES, DECISIONS, sensitive_features=known)
    excluded = SensitiveFeatures(labels, missing="exclude")
    audit = Audit.from_predictions(OUTCOMES, DECISIONS, sensitive_features=excluded)
    claim = audit.certify("equal_opportunity", 0.3)
    rows = KNOWN & labels.notna().to_numpy()
    expected = equal_opportunity_difference(
        TRUTH[rows], DECISIONS[rows], sensitive_features=SEX[rows]
    )
    assert claim.estimate == pytest.approx(expected)
    assert claim.n_missing["group"] == labels.isna().sum()


def test_monitors_read_unknown_outcomes_later():
    audit = Audit.from_predictions(OUTCOMES, DECISIONS, sensitive_features=SEX.to_numpy())
    monitor = GapMonitor("equal_opportunity", 0.2)
    with pytest.raises(ValueError, match=f"or be None, but {np.sum(~KNOWN)} are missing"):
        monitor.update_from(audit)
    monitor.update(None, DECISIONS, sensitive_features=SEX.to_numpy(), ids=np.arange(N))
    monitor.update_labels(np.flatnonzero(KNOWN), TRUTH[KNOWN])
    assert len(monitor.outstanding_ids_) == audit.n_without_outcome


@pytest.mark.slow
def test_files_may_lack_outcomes(tmp_path):
    for mark in ("", "NA", "nan"):
        table = pd.DataFrame({"y": OUTCOMES, "d": DECISIONS, "sex": SEX})
        table["y"] = table["y"].map({1.0: "repaid", 0.0: "default"}).fillna(mark)
        table["d"] = table["d"].map({1: "repaid", 0: "default"})
        table.to_csv(tmp_path / "loans.csv", index=False)
        roles = {"y_true": "y", "y_pred": "d", "sensitive_features": "sex"}
        audit = Audit.from_file(tmp_path / "loans.csv", roles, pos_label="repaid")
        expected = Audit.from_predictions(OUTCOMES, DECISIONS, sensitive_features=SEX)
        pd.testing.assert_frame_equal(audit.report().frame, expected.report().frame)
        assert audit.report().reading.left_out == {"samples have no outcome": np.sum(~KNOWN)}


@pytest.mark.parametrize("outcomes", [[1, 0, 1, 0], [1, 0, np.nan, np.nan]])
def test_samples_of_which_none_has_a_group_and_an_outcome_are_refused_in_words(outcomes):
    groups = SensitiveFeatures(np.array([None] * 2 + [None, "a"], dtype=object), missing="exclude")
    if not np.isnan(outcomes).any():
        groups = SensitiveFeatures(np.array([None] * 4, dtype=object), missing="exclude")
    audit = Audit.from_predictions(outcomes, [1, 0, 1, 0], sensitive_features=groups)
    with pytest.raises(ValueError, match="No sample has a known group.*nothing to compare"):
        audit.certify("equal_opportunity", 0.1)
    with pytest.raises(ValueError, match="No sample has a known group.*nothing to compare"):
        audit.alternatives({"x": [1, 1, 1, 0]}, "equal_opportunity", margin=0.05)
