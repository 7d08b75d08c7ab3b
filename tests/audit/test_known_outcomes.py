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
    n_alarms = 0
    for _ in range(100):
        rows = rng.integers(0, N, n)
        audit = Audit.from_predictions(
            np.where(GRANTED[rows] == 1, REPAYS[rows], np.nan),
            GRANTED[rows],
            sensitive_features=SEX[rows].to_numpy(),
        )
        n_alarms += audit.known_outcomes.case == "of_one_decision"
    assert n_alarms == 100


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


def test_unknown_words_are_refused():
    with pytest.raises(ValueError, match="missing must be"):
        make_audit("by_chance", missing="by chance")


# Clusters, other models, and the highest scores.


def test_clusters_of_copies_count_once():
    """Each sample twice, with the sample for its cluster: limits are those of the samples."""
    outcomes = np.where(KNOWN["by_decision"], REPAYS, np.nan)
    twice = Audit.from_predictions(
        Outcomes(np.repeat(outcomes, 2), missing="by_decision"),
        np.repeat(GRANTED, 2),
        sensitive_features=np.repeat(SEX.to_numpy(), 2),
        groups=np.repeat(np.arange(N), 2),
    )
    once = make_audit("by_decision", missing="by_decision")
    tables = [one.report().frame.set_index(["metric", "group"]) for one in (once, twice)]
    for metric in ("true_positive_rate", "false_positive_rate", "accuracy", "base_rate"):
        rows = [table.loc[metric, ["estimate", "low", "high"]].astype(float) for table in tables]
        pd.testing.assert_frame_equal(*(one.loc[["F", "M"]] for one in rows), rtol=1e-6)
        pd.testing.assert_frame_equal(*rows, rtol=1e-3)
    claims = [one.certify("equal_opportunity", 0.6) for one in (once, twice)]
    assert claims[1].high == pytest.approx(claims[0].high, rel=1e-6)
    assert "if clusters of samples are independent" in claims[1].assumption


OTHER = np.where(RNG.random(N) < 0.1, 1 - GRANTED, GRANTED)


def weigh_by_both_decisions(decisions):
    """True positive rates by sex of samples that count by group, decision made and the other."""
    known = KNOWN["by_decision"]
    weights = np.zeros(N)
    cells = pd.DataFrame({"sex": SEX, "made": GRANTED, "other": OTHER}).groupby(
        ["sex", "made", "other"]
    )
    for rows in cells.groups.values():
        weights[rows] = known[rows] * len(rows) / known[rows].sum()
    return [
        np.average(decisions[rows], weights=weights[rows])
        for rows in ((SEX == sex).to_numpy() & REPAYS for sex in ("F", "M"))
    ]


def test_another_model_is_compared_by_the_decision_that_was_made():
    changes = make_audit("by_decision", missing="by_decision").compare(OTHER)
    frame = changes.to_frame().set_index(["metric", "group"]).loc["true_positive_rate"]
    for name, decisions in (("before", GRANTED), ("after", OTHER)):
        assert frame[name].tolist() == pytest.approx(weigh_by_both_decisions(decisions))
    assert "rates are those of all samples" in changes.findings[1]
    assert "The accuracy of all samples, from 3,568 known outcomes," in changes.findings[-1]
    same = make_audit("by_decision", missing="by_decision").compare(GRANTED).to_frame()
    limits = same[["change", "change_low", "change_high"]]
    np.testing.assert_allclose(limits[same["metric"] == "accuracy"].astype(float), 0.0, atol=1e-12)


def test_periods_are_compared_by_the_decision_of_each():
    half = np.arange(N) < N // 2
    audits = [
        Audit.from_predictions(
            Outcomes(np.where(KNOWN["by_decision"], REPAYS, np.nan)[rows], missing="by_decision"),
            GRANTED[rows],
            sensitive_features=SEX[rows],
        )
        for rows in (half, ~half)
    ]
    frame = audits[0].compare(audits[1]).to_frame()
    frame = frame[frame["metric"] == "true_positive_rate"].set_index("group")
    for name, one in zip(("before", "after"), audits, strict=True):
        report = one.report().frame
        report = report[report["metric"] == "true_positive_rate"].set_index("group")
        for suffix, column in (("", "estimate"), ("_low", "low"), ("_high", "high")):
            expected = report.loc[["F", "M"], column].astype(float).tolist()
            assert frame[f"{name}{suffix}"].tolist() == pytest.approx(expected)
    # Where the outcomes of one period must not be weighed, none are.
    at_random = Audit.from_predictions(
        Outcomes(np.where(KNOWN["by_decision"], REPAYS, np.nan)[half], missing="at_random"),
        GRANTED[half],
        sensitive_features=SEX[half],
    )
    changes = at_random.compare(audits[1])
    assert not {*changes.gaps["metric"]} & NEEDS_BOTH


@pytest.mark.parametrize("constraint", ["equal_opportunity", "demographic_parity"])
def test_alternatives_are_judged_by_the_decision_that_was_made(constraint):
    fairer = np.where((SEX == "F") & REPAYS & (RNG.random(N) < 0.6), 1, GRANTED)
    candidates = {"fairer": fairer, "everyone": np.ones(N, int)}
    audit = make_audit("by_decision", missing="by_decision")
    answer = audit.alternatives(candidates, constraint=constraint, margin=0.05)
    complete = Audit.from_predictions(REPAYS, GRANTED, sensitive_features=SEX)
    truth = complete.alternatives(candidates, constraint=constraint, margin=0.05)
    assert answer.shown_names == truth.shown_names == ["fairer"]
    for column in ("reduction", "loss"):
        limits = answer.frame.set_index("candidate")[[f"{column}_low", f"{column}_high"]]
        value = truth.frame.set_index("candidate")[column]
        assert (limits[f"{column}_low"] <= value).all()
        assert (value <= limits[f"{column}_high"]).all()
    assert "from 3,568 known outcomes" in answer.findings[1]
    assert any("nothing but the group and the decision" in one for one in answer.findings)
    stored = type(answer).from_json(answer.to_json())
    assert stored.findings == answer.findings
    assert not verify(answer, audit, candidates=candidates)


def test_alternatives_that_are_audits_are_judged_by_the_decision_in_use():
    outcomes = np.where(KNOWN["by_decision"], REPAYS, np.nan)
    other = Audit.from_predictions(
        Outcomes(outcomes, missing="by_decision"), OTHER, sensitive_features=SEX
    )
    audit = make_audit("by_decision", missing="by_decision")
    both = audit.alternatives({"a": other, "b": OTHER}, "equal_opportunity", margin=0.1).frame
    numbers = both.drop(columns=["candidate", "verdict"]).astype(float).to_numpy()
    np.testing.assert_allclose(*numbers)


def test_other_performances_and_classes_are_refused_by_decision():
    audit = make_audit("by_decision", missing="by_decision")
    with pytest.raises(ValueError, match="decide as the model in use where no outcome is known"):
        audit.alternatives({"other": OTHER}, performance=lambda y, d: 2.0 * (y == d), margin=0.1)
    with pytest.raises(ValueError, match="of groups by several columns"):
        audit.subgroups("accuracy")
    # What the message advises.
    groups = pd.DataFrame({"sex": SEX, "half": np.arange(N) < N // 2})
    several = Audit.from_predictions(
        Outcomes(np.where(KNOWN["by_decision"], REPAYS, np.nan), missing="by_decision"),
        GRANTED,
        sensitive_features=groups,
    )
    assert several.certify("error_rate_parity", 0.6).verdict == "shown"


def test_small_numbers_of_known_outcomes_are_protected():
    """Weighed rates tell how many of the known refused samples have a positive outcome."""
    audit = make_audit("by_decision", missing="by_decision")
    assert "true_positive_rate" in set(audit.report(min_published=10).frame["metric"])
    is_known = (GRANTED == 1) | (np.cumsum(GRANTED == 0) <= 12)  # six or so of each group
    outcomes = Outcomes(np.where(is_known, REPAYS, np.nan), missing="by_decision")
    audit = Audit.from_predictions(outcomes, GRANTED, sensitive_features=SEX)
    assert "true_positive_rate" in set(audit.report().frame["metric"])
    with pytest.raises(ValueError, match="min_published=10 allows no report"):
        audit.report(min_published=10)
    with pytest.raises(ValueError, match="Report each model by itself"):
        make_audit("by_decision", missing="by_decision").compare(OTHER, min_published=10)


@pytest.mark.parametrize("k", [0.3, 900])
def test_the_highest_scores_are_new_decisions_on_old_outcomes(k):
    scores = RNG.random(N) + 0.5 * REPAYS
    y = np.where(KNOWN["by_decision"], REPAYS, np.nan)
    outcomes = Outcomes(y, missing="by_decision", decided=GRANTED)

    def report(scores, outcomes=outcomes):
        audit = Audit.from_predictions(outcomes, None, y_score=scores, sensitive_features=SEX)
        return audit.top(k).report()

    places = int(k * N) if k < 1 else k
    decisions = (scores >= np.sort(scores)[-places]).astype(int)
    decided = Audit.from_predictions(outcomes, decisions, sensitive_features=SEX).report()
    tables = [one.frame.set_index(["metric", "group"]) for one in (report(scores), decided)]
    for metric in ("true_positive_rate", "accuracy", "positive_predictive_value"):
        rows = [table.loc[metric, ["estimate", "low", "high"]].astype(float) for table in tables]
        pd.testing.assert_frame_equal(*rows)
    tied = report(scores.round(1))
    assert not {*tied.frame["metric"]} & NEEDS_BOTH
    assert "the k highest of scores that tie" in tied.findings[1]


# Coverage in populations whose truth is known.


def draw_lending(rng, n, size=1, follow_up=0.1):
    """Group, outcome, two decisions, known outcomes and clusters of `size` samples."""
    cluster = np.arange(n) // size
    effect = 0.7 * rng.normal(size=n)[cluster] * (size > 1)
    group = rng.integers(0, 2, n)
    repays = rng.normal(size=n) + effect + 0.25 > 0
    merit = np.where(group == 1, 1.3, 0.6) * repays + 0.5 * effect + rng.normal(size=n)
    made = merit > 0.8
    other = merit + 0.5 * rng.normal(size=n) - 0.2 * (group == 1) > 0.8
    known = made | (rng.random(n) < follow_up)
    return group, repays, made, other, known, cluster


def audit_draw(draw, rows=slice(None), **params):
    group, repays, made, _, known, _ = (one[rows] for one in draw)
    outcomes = Outcomes(np.where(known, repays, np.nan), missing="by_decision")
    return Audit.from_predictions(
        outcomes, made.astype(int), sensitive_features=group, min_group_size=1, **params
    )


def find_rates(draw, decisions):
    """True positive rates of both groups, and the accuracy of all samples."""
    group, repays = draw[:2]
    rates = [decisions[(group == one) & repays].mean() for one in (0, 1)]
    return np.array([*rates, (decisions == repays).mean()])


N_DRAWS = 100
MIN_COVERAGE = 0.95 - 2.0 * np.sqrt(0.95 * 0.05 / N_DRAWS)


@pytest.fixture(scope="module")
def truths():
    """Rates of the decision that was made and of the other one, in a large population."""
    population = draw_lending(np.random.default_rng(11), 2_000_000)
    return [find_rates(population, population[place]) for place in (2, 3)]


def count_covered(rows, truths):
    return np.array([low <= truth <= high for (low, high), truth in zip(rows, truths, strict=True)])


@pytest.mark.slow
def test_limits_of_clusters_contain_the_rates():
    rng = np.random.default_rng(12)
    population = draw_lending(rng, 1_500_000, 3)
    truth = find_rates(population, population[2])
    covered = []
    for _ in range(N_DRAWS):
        draw = draw_lending(rng, 600, 3, 0.3)
        frame = audit_draw(draw, groups=draw[5]).report().frame.set_index(["metric", "group"])
        names = [("true_positive_rate", "0"), ("true_positive_rate", "1"), ("accuracy", "overall")]
        rows = [frame.loc[one, ["low", "high"]] for one in names]
        covered.append(count_covered(rows, truth))
    assert (np.mean(covered, axis=0) >= MIN_COVERAGE).all()


@pytest.mark.slow
@pytest.mark.parametrize("periods", [False, True])
def test_limits_of_changes_contain_the_changes(periods, truths):
    rng = np.random.default_rng(13)
    change = np.zeros(3) if periods else truths[1] - truths[0]
    covered = []
    for _ in range(N_DRAWS):
        draw = draw_lending(rng, 1500)
        if periods:
            half = np.arange(1500) < 750
            changes = audit_draw(draw, half).compare(audit_draw(draw, ~half))
        else:
            changes = audit_draw(draw).compare(draw[3].astype(int))
        frame = pd.concat([changes.frame, changes.others]).set_index(["metric", "group"])
        names = [("true_positive_rate", "0"), ("true_positive_rate", "1"), ("accuracy", "overall")]
        rows = [frame.loc[one, ["change_low", "change_high"]] for one in names]
        covered.append(count_covered(rows, change))
    assert (np.mean(covered, axis=0) >= MIN_COVERAGE).all()


@pytest.mark.slow
def test_alternatives_on_the_edge_are_rarely_shown(truths):
    rng = np.random.default_rng(14)
    gaps = [abs(one[1] - one[0]) for one in truths]
    reduction, loss = gaps[0] - gaps[1], truths[0][2] - truths[1][2]
    assert reduction > 0 and loss > 0
    n_wrong = np.zeros(2)
    for _ in range(N_DRAWS):
        draw = draw_lending(rng, 1500)
        row = (
            audit_draw(draw)
            .alternatives({"other": draw[3].astype(int)}, "equal_opportunity", margin=loss)
            .frame.iloc[0]
        )
        n_wrong += [row["reduction_low"] > reduction, row["loss_high"] < loss]
    assert (n_wrong / N_DRAWS <= 1.0 - MIN_COVERAGE).all()


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
