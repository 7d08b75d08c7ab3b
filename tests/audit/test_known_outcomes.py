"""Audits of which one decision has outcomes less often: what is known, left out, weighed."""

import numpy as np
import pandas as pd
import pytest

from skfair.audit import Audit, FairnessReport, Outcomes, verify
from skfair.constraints import MinimumRate, RateParity
from skfair.monitoring import GapMonitor

N = 8000
RNG = np.random.default_rng(0)
SEX = pd.Series(RNG.choice(["F", "M"], N), name="sex")
REPAYS = RNG.random(N) < 0.6
CHANCE = np.where(REPAYS, np.where(SEX == "F", 0.4, 0.9), 0.08)
GRANTED = (RNG.random(N) < CHANCE).astype(int)
KNOWN = {
    "of_one_decision": GRANTED == 1,
    "by_decision": (GRANTED == 1) | (RNG.random(N) < 0.05),
    "by_chance": RNG.random(N) < 0.7,
}
NEEDS_BOTH = {"base_rate", "true_positive_rate", "false_positive_rate", "accuracy"}


def make_audit(case, missing=None, decided=None, **params):
    outcomes = Outcomes(np.where(KNOWN[case], REPAYS, np.nan), missing=missing, decided=decided)
    return Audit.from_predictions(outcomes, GRANTED, sensitive_features=SEX, **params)


@pytest.mark.parametrize("case", KNOWN)
def test_the_case_follows_from_decisions_and_masks(case):
    assert make_audit(case).known_outcomes.case == case


def test_complete_outcomes_and_other_tasks_have_no_case():
    complete = Audit.from_predictions(REPAYS, GRANTED, sensitive_features=SEX)
    assert complete.known_outcomes is None
    numbers = np.where(KNOWN["by_chance"], RNG.random(N), np.nan)
    assert Audit.from_predictions(numbers, RNG.random(N), sensitive_features=SEX).report().task


@pytest.mark.parametrize("missing", ["by_decision", "at_random"])
def test_a_selective_group_is_found_among_many_others(missing):
    is_small = RNG.random(N) < 0.05
    known = np.where(is_small, GRANTED == 1, RNG.random(N) < 0.9)
    groups = pd.Series(np.where(is_small, "branch", "others"), name="office")
    outcomes = np.where(known, REPAYS, np.nan)
    audit = Audit.from_predictions(outcomes, GRANTED, sensitive_features=groups)
    assert audit.known_outcomes.case == "by_decision"


@pytest.mark.slow
@pytest.mark.parametrize("n", [10, 60, 1000])
@pytest.mark.parametrize("share", [0.7, 0.99])
def test_false_alarms_are_rare(n, share):
    rng = np.random.default_rng(1)
    cases = []
    for _ in range(400):
        known = rng.random(n) < share
        rows = rng.integers(0, N, n)
        outcomes = np.where(known, REPAYS[rows], np.nan)
        audit = Audit.from_predictions(
            outcomes, GRANTED[rows], sensitive_features=SEX[rows].to_numpy()
        )
        record = audit.known_outcomes
        cases.append("complete" if record is None else record.case)
    assert cases.count("by_decision") + cases.count("of_one_decision") <= 2


@pytest.mark.parametrize("n", [100, 300])
def test_refused_samples_without_outcomes_are_found_in_small_files(n):
    rng = np.random.default_rng(2)
    n_found = 0
    for _ in range(100):
        rows = rng.integers(0, N, n)
        audit = Audit.from_predictions(
            np.where(GRANTED[rows] == 1, REPAYS[rows], np.nan),
            GRANTED[rows],
            sensitive_features=SEX[rows].to_numpy(),
        )
        n_found += audit.known_outcomes.case == "of_one_decision"
    assert n_found == 100


def test_a_few_samples_without_an_outcome_are_counted_and_said():
    decisions = np.repeat([0, 1], [3, 37])
    outcomes = np.where(np.arange(40) < 12, np.nan, np.arange(40) % 3 > 0)
    audit = Audit.from_predictions(
        outcomes, decisions, sensitive_features=np.tile(["a", "b"], 20), min_group_size=5
    )
    report = audit.report()
    assert "true_positive_rate" in set(report.frame["metric"])
    findings = " ".join(report.findings)
    assert "None of the 3 samples decided '0' has an outcome, perhaps by chance" in findings
    claim = audit.certify("equal_opportunity", 0.9)
    assert "if outcomes are missing at random" in claim.assumption


@pytest.mark.parametrize("case", ["of_one_decision", "by_decision"])
def test_reports_leave_out_what_is_not_known(case):
    report = make_audit(case).report()
    assert {*report.frame["metric"]} == {"selection_rate", "positive_predictive_value"}
    assert "decided '0'" in report.findings[1]
    assert FairnessReport.from_json(report.to_json()).findings == report.findings


ASK = {
    "certify": lambda audit: audit.certify("equal_opportunity", 0.1),
    "certify odds": lambda audit: audit.certify("equalized_odds", 0.1),
    "certify floor": lambda audit: audit.certify(MinimumRate("recall", 0.9)),
    "subgroups": lambda audit: audit.subgroups("accuracy"),
    "alternatives": lambda audit: audit.alternatives({"all": np.ones(N, int)}, margin=0.1),
    "own performance": lambda audit: audit.alternatives(
        {"all": np.ones(N, int)}, performance=lambda y, d: 1.0 * (y == d), margin=0.1
    ),
    "verify": lambda audit: verify(
        make_audit("by_chance").certify("equal_opportunity", 0.6), audit
    ),
}


@pytest.mark.parametrize("case", ["of_one_decision", "by_decision"])
@pytest.mark.parametrize("question", ASK)
def test_questions_about_both_decisions_raise(question, case):
    with pytest.raises(ValueError, match=r"samples decided '0'.* ha(s an|ve an) outcome"):
        ASK[question](make_audit(case))


@pytest.mark.parametrize("case", KNOWN)
def test_what_is_known_is_answered(case):
    audit = make_audit(case)
    assert audit.certify("demographic_parity", 0.4).verdict == "shown"
    assert audit.certify(RateParity("precision"), 0.2).verdict == "shown"
    assert len(audit.subgroups("positive_predictive_value").searches) == 1
    fewer = np.where(RNG.random(N) < 0.1, 0, GRANTED)
    answer = audit.alternatives({"fewer": fewer}, margin=0.2)
    assert (
        f"the accuracy counts the {KNOWN[case].sum():,} that have an outcome" in answer.findings[1]
    )


@pytest.mark.parametrize("case", ["of_one_decision", "by_decision"])
def test_another_model_is_compared_by_decisions_alone(case):
    changes = make_audit(case).compare(np.ones(N, int))
    assert {*changes.gaps["metric"]} == {"selection_rate"}
    assert "decided '0'" in changes.findings[1]


def weigh_true_positive_rate(sex, known):
    """The true positive rate of samples that count by the inverse of the known share, by hand."""
    inside = (SEX == sex).to_numpy()
    weights = np.zeros(N)
    for decision in (0, 1):
        cell = inside & (GRANTED == decision)
        weights[cell & known] = cell.sum() / (cell & known).sum()
    return weights[REPAYS & (GRANTED == 1)].sum() / weights[REPAYS].sum()


def test_weights_count_all_samples():
    audit = make_audit("by_decision", missing="by_decision")
    frame = audit.report().frame.set_index(["group", "metric"])
    known = KNOWN["by_decision"]
    for sex in ("F", "M"):
        inside = (SEX == sex).to_numpy()
        row = frame.loc[sex, "true_positive_rate"]
        assert row["estimate"] == pytest.approx(weigh_true_positive_rate(sex, known))
        assert row["low"] < GRANTED[inside & REPAYS].mean() < row["high"]
        assert row["n"] == (inside & known & REPAYS).sum()


def test_weighted_claims_are_about_all_samples():
    audit = make_audit("by_decision", missing="by_decision")
    claim = audit.certify("equal_opportunity", 0.6)
    assert claim.verdict == "shown"
    rates = [weigh_true_positive_rate(sex, KNOWN["by_decision"]) for sex in ("F", "M")]
    assert claim.estimate == pytest.approx(np.ptp(rates))
    assert "nothing but the group and the decision" in claim.assumption
    assert "outcome" not in claim.n_missing
    assert audit.certify("equal_opportunity", 0.1).verdict == "contradicted"
    assert audit.certify(MinimumRate("recall", 0.3)).verdict == "shown"
    assert audit.certify("demographic_parity", 0.4).assumption == ""
    assert not verify(claim, audit)
    assert "assumption" in verify(claim, make_audit("by_decision", missing="at_random"))


@pytest.mark.slow
def test_weighted_claims_on_the_edge_are_rarely_shown():
    rng = np.random.default_rng(2)
    n, n_draws = 1500, 200
    groups = np.repeat(["F", "M"], n)
    shown = 0
    for _ in range(n_draws):
        repays = rng.random(2 * n) < 0.6
        tpr = np.where(groups == "F", 0.6, 0.7)
        granted = rng.random(2 * n) < np.where(repays, tpr, 0.08)
        known = granted | (rng.random(2 * n) < 0.2)
        outcomes = np.where(known, repays, np.nan)
        audit = Audit.from_predictions(
            Outcomes(outcomes, missing="by_decision"),
            granted.astype(int),
            sensitive_features=groups,
        )
        shown += audit.certify("equal_opportunity", 0.1).verdict == "shown"
    assert shown <= 18  # 5 % of 200, and 2.7 standard errors


def test_at_random_counts_known_samples_as_they_are():
    audit = make_audit("by_decision", missing="at_random")
    known = KNOWN["by_decision"]
    assert NEEDS_BOTH <= {*audit.report().frame["metric"]}
    claim = audit.certify("equal_opportunity", 0.1)
    rates = [GRANTED[(SEX == sex).to_numpy() & known & REPAYS].mean() for sex in ("F", "M")]
    assert claim.estimate == pytest.approx(np.ptp(rates))
    assert claim.assumption == "if outcomes are missing at random"
    with pytest.raises(ValueError, match="None of the"):
        make_audit("of_one_decision", missing="at_random").certify("equal_opportunity", 0.1)


def test_unknown_words_and_clusters_are_refused():
    with pytest.raises(ValueError, match="missing must be"):
        make_audit("by_chance", missing="by chance")
    with pytest.raises(ValueError, match="by_decision"):
        make_audit("by_decision", missing="by_decision", groups=np.arange(N) // 2)


@pytest.mark.parametrize("case", KNOWN)
def test_monitors_refuse_outcomes_of_one_decision(case):
    ids = np.arange(N)
    monitor = GapMonitor("equal_opportunity", 0.1)
    monitor.update(None, GRANTED, sensitive_features=SEX, time=1, ids=ids)
    known = KNOWN[case]
    if case == "by_chance":
        monitor.update_labels(ids[known], REPAYS[known].astype(int), time=2)
        assert monitor.verdict_ == "contradicted"
        return
    n_refused = int((known & (GRANTED == 0)).sum())
    expected = f"of 3,323 of 3,323 positive decisions and of {n_refused} of 4,677 negative ones"
    with pytest.raises(ValueError, match=expected):
        monitor.update_labels(ids[known], REPAYS[known].astype(int), time=2)
    # What the message advises.
    precision = GapMonitor(RateParity("precision"), 0.2, delay=1)
    precision.update(None, GRANTED, sensitive_features=SEX, time=1, ids=ids)
    with pytest.warns(UserWarning, match="samples of time 1 have no outcome"):
        precision.update_labels(ids[known], REPAYS[known].astype(int), time=3)
    assert precision.verdict_ == "shown"


def test_outcomes_that_come_later_after_one_decision_are_counted_with_a_delay():
    ids = np.arange(N)
    monitor = GapMonitor("equal_opportunity", 0.1, delay=1)
    monitor.update(None, GRANTED, sensitive_features=SEX, time=1, ids=ids)
    for decision in (1, 0):
        rows = GRANTED == decision
        monitor.update_labels(ids[rows], REPAYS[rows].astype(int), time=1)
    monitor.update(
        None, GRANTED[:10], sensitive_features=SEX[:10], time=5, ids=np.arange(N, N + 10)
    )
    assert monitor.verdict_ == "contradicted"


def test_monitors_with_a_delay():
    ids = np.arange(N)
    known = KNOWN["of_one_decision"]
    for constraint in (RateParity("precision"), "equal_opportunity"):
        monitor = GapMonitor(constraint, 0.2, delay=1)
        monitor.update(None, GRANTED, sensitive_features=SEX, time=1, ids=ids)
        if constraint == "equal_opportunity":
            with pytest.raises(ValueError, match="and of 0 of 4,677 negative ones"):
                monitor.update_labels(ids[known], REPAYS[known].astype(int), time=3)
            continue
        with pytest.warns(UserWarning, match="4677 samples of time 1 have no outcome"):
            monitor.update_labels(ids[known], REPAYS[known].astype(int), time=3)
        assert monitor.verdict_ == "shown"
