"""Every question about outcomes that only some decisions have: refused, left out, or known."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from skfair.__main__ import main
from skfair.audit import Audit, Outcomes, verify
from skfair.constraints import LossParity, MinimumRate, RateParity
from skfair.metrics import Rate
from skfair.monitoring import GapMonitor

N = 4000
RNG = np.random.default_rng(0)
SEX = pd.Series(RNG.choice(["F", "M"], N), name="sex")
REPAYS = (RNG.random(N) < 0.6).astype(int)
GRANTED = (RNG.random(N) < np.where(REPAYS, np.where(SEX == "F", 0.4, 0.9), 0.08)).astype(int)
SCORES = np.clip(0.35 + 0.3 * GRANTED + RNG.normal(0, 0.1, N), 0.0, 1.0).round(3)
EVERYONE = np.ones(N, dtype=int)
KNOWN = {
    "of_one_decision": GRANTED == 1,
    "by_decision": (GRANTED == 1) | (RNG.random(N) < 0.05),
}
NAMES_DECISION = r"samples decided '?(0|none)'?.* ha(s an|ve an) outcome"
"""The decision without outcomes, and how many samples or which share of them."""


def outcomes(case, values=REPAYS, **params):
    column = pd.Series(values, dtype=object).where(KNOWN[case])
    return Outcomes(column.astype(float) if values is REPAYS else column, **params)


def audit(case, y_pred=GRANTED, **params):
    return Audit.from_predictions(outcomes(case, **params), y_pred, sensitive_features=SEX)


def audit_scores(case, **params):
    return Audit.from_predictions(
        outcomes(case, **params), GRANTED, y_score=SCORES, sensitive_features=SEX
    )


COMPLETE = Audit.from_predictions(REPAYS, GRANTED, sensitive_features=SEX)
HALF = np.arange(N) < N // 2
THREE = np.where(GRANTED == 1, np.where(SCORES > 0.65, "gold", "loan"), "none")
TRUE_THREE = np.where(REPAYS == 1, np.where(SCORES > 0.65, "gold", "loan"), "none")
LOSS = Rate("cost", {"fp": 1.0, "fn": 1.0})


def audit_three(case, **params):
    return Audit.from_predictions(
        outcomes(case, TRUE_THREE, **params), THREE, sensitive_features=SEX
    )


def audit_amounts(case, **params):
    amounts = RNG.normal(size=N)
    column = np.where(KNOWN[case], amounts, np.nan)
    return Audit.from_predictions(
        Outcomes(column, decided=GRANTED, **params), RNG.normal(size=N), sensitive_features=SEX
    )


def audit_counts(case, **params):
    table = pd.DataFrame({"y": outcomes(case).y, "d": GRANTED, "sex": SEX})
    counts = table.groupby(["y", "d", "sex"], dropna=False).size().rename("n").reset_index()
    return Audit.from_counts(
        counts, counts="n", sensitive_features="sex", y_true=Outcomes("y", **params), y_pred="d"
    )


def audit_model(case, **params):
    X = GRANTED[:, np.newaxis]
    model = LogisticRegression().fit(X, GRANTED)
    return Audit.from_estimator(model, X, outcomes(case, **params), sensitive_features=SEX)


def compare_periods(case):
    y = outcomes(case).y
    both = [
        Audit.from_predictions(y[one], GRANTED[one], sensitive_features=SEX[one])
        for one in (HALF, ~HALF)
    ]
    return both[0].compare(both[1])


def update_labels(case, **params):
    monitor = GapMonitor("equal_opportunity", 0.1, **params)
    monitor.update(None, GRANTED, sensitive_features=SEX, time=1, ids=np.arange(N))
    rows = np.flatnonzero(KNOWN[case])
    monitor.update_labels(rows, REPAYS[rows], time=2)


REFUSED = {
    "true positive rate": lambda case: audit(case).certify("equal_opportunity", 0.1),
    "false positive rate": lambda case: audit(case).certify("false_positive_rate_parity", 0.1),
    "equalized odds": lambda case: audit(case).certify("equalized_odds", 0.1),
    "accuracy": lambda case: audit(case).certify("error_rate_parity", 0.1),
    "floor": lambda case: audit(case).certify(MinimumRate("recall", 0.9)),
    "own rate": lambda case: audit(case).certify(RateParity(LOSS), 0.1),
    "calibration": lambda case: audit_scores(case).certify("calibration", 0.1),
    "loss": lambda case: audit_model(case).certify("loss_parity", 0.1),
    "loss of numbers": lambda case: audit_amounts(case).certify(LossParity(loss="squared"), 0.1),
    "three classes": lambda case: audit_three(case).certify("equal_opportunity", 0.1),
    "counts": lambda case: audit_counts(case).certify("equal_opportunity", 0.1),
    "a new model": lambda case: audit(case, EVERYONE, decided=GRANTED).certify(
        RateParity("precision"), 0.1
    ),
    "by threshold": lambda case: audit_scores(case).report(by_threshold=True),
    "verify": lambda case: verify(COMPLETE.certify("equal_opportunity", 0.6), audit(case)),
    "subgroups": lambda case: audit(case).subgroups("true_positive_rate"),
    "calibrated subgroups": lambda case: audit_scores(case).subgroups("calibration_error"),
    "alternatives": lambda case: audit(case).alternatives({"all": EVERYONE}, margin=0.1),
    "own performance": lambda case: audit(case).alternatives(
        {"all": EVERYONE}, performance=lambda y, d: 1.0 * (y == d), margin=0.1
    ),
    "alternatives by area": lambda case: audit_scores(case).alternatives(
        {"other": 1.0 - SCORES}, performance="roc_auc", margin=0.1
    ),
}


@pytest.mark.parametrize("case", KNOWN)
@pytest.mark.parametrize("question", REFUSED)
def test_what_is_not_known_is_refused(question, case):
    with pytest.raises(ValueError, match=NAMES_DECISION) as error:
        REFUSED[question](case)
    message = str(error.value)
    if case == "of_one_decision":
        assert f"None of the {(GRANTED == 0).sum():,} samples" in message
        assert "ask about selection rates" in message
    else:
        assert "missing='by_decision'" in message


LEFT_OUT = {
    "report": (lambda case: audit(case).report(), {"selection_rate", "positive_predictive_value"}),
    "own metrics": (
        lambda case: audit(case).report(metrics={"cost": LOSS, "recall": "recall"}),
        {"selection_rate", "positive_predictive_value"},
    ),
    "scores": (
        lambda case: audit_scores(case).report(),
        {"selection_rate", "positive_predictive_value", "mean_probability"},
    ),
    "counts": (
        lambda case: audit_counts(case).report(),
        {"selection_rate", "positive_predictive_value"},
    ),
    "model": (
        lambda case: audit_model(case).report(),
        {"selection_rate", "positive_predictive_value", "mean_probability"},
    ),
    "top": (lambda case: audit_scores(case).top(0.4).report(), {"selection_rate"}),
    "three classes": (
        lambda case: audit_three(case).report(),
        {f"selection_rate of class {one}" for one in ("gold", "loan", "none")}
        | {f"positive_predictive_value of class {one}" for one in ("gold", "loan")},
    ),
    "numbers": (lambda case: audit_amounts(case).report(), {"scoring_rate", "mean_prediction"}),
    "a new model": (
        lambda case: audit(case, EVERYONE, decided=GRANTED).report(),
        {"selection_rate"},
    ),
    "another model": (lambda case: audit(case).compare(EVERYONE), {"selection_rate"}),
    "periods": (compare_periods, {"selection_rate", "positive_predictive_value"}),
}


@pytest.mark.parametrize("case", KNOWN)
@pytest.mark.parametrize("question", LEFT_OUT)
def test_what_is_not_known_is_left_out(question, case):
    ask, metrics = LEFT_OUT[question]
    report = ask(case)
    more = {"positive_predictive_value of class none"} if case == "by_decision" else set()
    assert metrics <= {*report.frame["metric"]} <= metrics | more
    assert re.search(NAMES_DECISION, report.findings[1])
    for text in (report.to_html(), report.to_markdown(), str(report)):
        assert "have an outcome" in text or "has an outcome" in text
    stored = json.loads(report.to_json())
    assert re.search(NAMES_DECISION, json.dumps(stored["known_outcomes"]))


@pytest.mark.parametrize("case", KNOWN)
@pytest.mark.parametrize("params", [{}, {"delay": 0}])
def test_monitors_count_nothing(case, params):
    with pytest.raises(ValueError, match=r"negative ones of the same time.*Nothing was counted"):
        update_labels(case, **params)


WEIGHED = {
    "equalized odds": lambda one: one.certify("equalized_odds", 0.7),
    "accuracy": lambda one: one.certify("error_rate_parity", 0.6),
    "ratio": lambda one: one.certify(RateParity("recall", ratio=0.2)),
    "floor": lambda one: one.certify(MinimumRate("recall", 0.2)),
}


@pytest.mark.parametrize("question", WEIGHED)
def test_claims_are_weighed(question):
    claim = WEIGHED[question](audit("by_decision", missing="by_decision"))
    assert claim.verdict == "shown" and "the group and the decision" in claim.assumption
    truth = WEIGHED[question](COMPLETE)
    assert claim.low - 0.03 <= truth.estimate <= claim.high + 0.03
    counted = audit_counts("by_decision", missing="by_decision")
    assert WEIGHED[question](counted).estimate == pytest.approx(claim.estimate)


def test_equalized_odds_are_the_larger_of_both_gaps():
    one = audit("by_decision", missing="by_decision")
    gaps = [
        one.certify(name, 0.6).estimate
        for name in ("equal_opportunity", "false_positive_rate_parity")
    ]
    assert one.certify("equalized_odds", 0.6).estimate == pytest.approx(max(gaps))


def test_claims_by_attribute_weigh_the_finest_groups():
    """By hand: each sample counts by the inverse of the known share of sex, region, decision."""
    region = pd.Series(RNG.choice(["n", "s"], N, p=[0.3, 0.7]), name="region")
    known = (GRANTED == 1) | (RNG.random(N) < np.where(region == "n", 0.3, 0.1))
    y = Outcomes(np.where(known, REPAYS, np.nan), missing="by_decision")
    groups = pd.concat([SEX, region], axis=1)
    claim = Audit.from_predictions(y, GRANTED, sensitive_features=groups).certify(
        RateParity("recall", attributes="each"), {"sex": 0.6, "region": 0.1}
    )
    weights = np.zeros(N)
    for cell in groups.assign(made=GRANTED).groupby(["sex", "region", "made"]).groups.values():
        weights[cell] = known[cell] * len(cell) / known[cell].sum()
    rates = {
        sex: np.average(GRANTED[rows], weights=weights[rows])
        for sex, rows in ((one, (SEX == one).to_numpy() & (REPAYS == 1)) for one in ("F", "M"))
    }
    assert claim.verdict == "shown"
    report = Audit.from_predictions(y, GRANTED, sensitive_features=groups).report()
    frame = report.frame[report.frame["metric"] == "true_positive_rate"].set_index("group")
    assert frame.loc["F", "estimate"] == pytest.approx(rates["F"])
    only = Audit.from_predictions(y, GRANTED, sensitive_features=groups).certify(
        RateParity("recall", attributes="each"), {"sex": 0.01, "region": 0.9}
    )
    assert only.estimate == pytest.approx(rates["M"] - rates["F"])


def test_a_group_without_a_known_refused_sample_is_left_out_by_name():
    is_other = np.arange(N) < 200
    groups = pd.Series(np.where(is_other, "X", SEX), name="sex")
    known = KNOWN["by_decision"] & ~(is_other & (GRANTED == 0))
    y = Outcomes(np.where(known, REPAYS, np.nan), missing="by_decision")
    one = Audit.from_predictions(y, GRANTED, sensitive_features=groups)
    claim = one.certify("equal_opportunity", 0.65)
    assert "X" in claim.left_out and claim.verdict == "shown"
    frame = one.report().frame
    assert "X" not in set(frame.loc[frame["metric"] == "true_positive_rate", "group"])
    assert "X" in set(frame.loc[frame["metric"] == "selection_rate", "group"])


def test_three_classes_are_weighed():
    report = audit_three("by_decision", missing="by_decision").report()
    overall = report.frame[report.frame["group"] == "overall"].set_index("metric")
    weights = np.zeros(N)
    known = KNOWN["by_decision"]
    for cell in pd.DataFrame({"s": SEX, "d": THREE}).groupby(["s", "d"]).groups.values():
        weights[cell] = known[cell] * len(cell) / known[cell].sum()
    by_hand = np.average(THREE == TRUE_THREE, weights=weights)
    assert overall.loc["accuracy", "estimate"] == pytest.approx(by_hand)
    is_loan = TRUE_THREE == "loan"
    by_hand = np.average(THREE[is_loan] == "loan", weights=weights[is_loan])
    row = overall.loc["true_positive_rate of class loan"]
    assert row["estimate"] == pytest.approx(by_hand)
    claim = audit_three("by_decision", missing="by_decision").certify("equal_opportunity", 0.9)
    assert claim.verdict == "shown"


# Tables without any refused sample.

ACCEPTED = GRANTED == 1
NEW = (SCORES > np.median(SCORES)).astype(int)


def audit_accepted(y_pred=GRANTED, decided=None, rows=ACCEPTED, **params):
    return Audit.from_predictions(
        Outcomes(REPAYS[rows], decided=None if decided is None else decided[rows]),
        y_pred[rows],
        y_score=SCORES[rows],
        sensitive_features=SEX[rows].to_numpy(),
        **params,
    )


def monitor_accepted():
    monitor = GapMonitor("error_rate_parity", 0.5)
    with pytest.warns(UserWarning, match="samples of another decision are missing") as record:
        monitor.update(REPAYS[ACCEPTED], GRANTED[ACCEPTED], sensitive_features=SEX[ACCEPTED])
    return str(record[0].message)


def compare_accepted_periods():
    one, other = (audit_accepted(rows=ACCEPTED & rows) for rows in (HALF, ~HALF))
    return one.compare(other)


OF_ACCEPTED = {
    "report": lambda: audit_accepted().report(),
    "a new model": lambda: audit_accepted(NEW, GRANTED).report(),
    "top": lambda: audit_accepted().top(0.5).report(),
    "true positive rate": lambda: audit_accepted().certify("equal_opportunity", 0.1),
    "accuracy": lambda: audit_accepted(NEW, GRANTED).certify("error_rate_parity", 0.5),
    "calibration": lambda: audit_accepted().certify("calibration", 0.9),
    "subgroups": lambda: audit_accepted().subgroups("accuracy"),
    "calibrated subgroups": lambda: audit_accepted().subgroups("calibration_error"),
    "another model": lambda: audit_accepted().compare(NEW[ACCEPTED]),
    "periods": compare_accepted_periods,
    "alternatives": lambda: audit_accepted().alternatives({"new": NEW[ACCEPTED]}, margin=0.1),
    "monitor": monitor_accepted,
}


@pytest.mark.parametrize("question", OF_ACCEPTED)
def test_a_table_of_the_accepted_only_is_said_to_be_one(question):
    answer = OF_ACCEPTED[question]()
    texts = [answer] if isinstance(answer, str) else answer.findings
    assert "samples of another decision are missing from the data" in " ".join(texts)
    if not isinstance(answer, str):
        assert "samples of another decision are missing" in answer.to_html()


def test_rates_of_one_decision_do_not_depend_on_others():
    audit = audit_accepted()
    assert audit.certify(RateParity("precision"), 0.2).assumption == ""
    assert audit.certify("demographic_parity", 0.2).assumption == ""
    assert audit.subgroups("positive_predictive_value").assumption == ""


# Denominators.


@pytest.mark.covering(0)
@pytest.mark.parametrize("share", [0.7, 1.0])
def test_each_number_says_how_many_outcomes_it_counts(share):
    known = np.random.default_rng(1).random(N) < share
    n = known.sum()
    one = Audit.from_predictions(np.where(known, REPAYS, np.nan), GRANTED, sensitive_features=SEX)
    report, changes = one.report(), one.compare(np.where(HALF, GRANTED, 0))
    assert (f"from {n:,} known outcomes" in report.findings[0]) == (share < 1.0)
    assert ("judged rightly, of all whose outcome is known" in report.to_markdown()) == (
        share < 1.0
    )
    assert ("With outcome" in report.to_html()) == (share < 1.0)
    whose = f"the {n:,} samples whose outcome is known" if share < 1.0 else "all samples"
    assert f"The accuracy of {whose} was" in " ".join(changes.findings)


def test_findings_and_answers_name_the_samples_that_a_rate_counts():
    line = next(one for one in audit("of_one_decision").report().findings if "Precision" in one)
    assert re.search(r"\(of [\d,]+ and [\d,]+ samples decided '1' whose outcome is known\)", line)
    fewer = np.where(HALF, GRANTED, 0)
    answer = audit("of_one_decision").alternatives({"fewer": fewer}, margin=0.9)
    assert f"the accuracy counts the {GRANTED.sum():,} that have an outcome" in answer.findings[1]


# Commands.


@pytest.fixture(scope="module")
def loans(tmp_path_factory):
    path = tmp_path_factory.mktemp("loans") / "loans.csv"
    table = pd.DataFrame({"sex": SEX, "granted": GRANTED, "everyone": 1, "score": SCORES})
    for case, known in KNOWN.items():
        table[case] = np.where(known, REPAYS.astype(str), "")
    table.to_csv(path, index=False)
    return path


COMMANDS = {
    "report": ([], 3),
    "certify": (["--constraint", "equal_opportunity", "--tolerance", ".1"], 2),
    "subgroups": (["--metric", "true_positive_rate"], 2),
    "compare": (["--prediction", "everyone", "--out", "report.html"], 0),
    "alternatives": (["--prediction", "everyone", "--margin", ".01"], 2),
}


@pytest.mark.parametrize("case", KNOWN)
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_name_it_in_their_own_words(command, case, loans, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options, status = COMMANDS[command]
    arguments = [command, str(loans), "--target", case, "--sensitive", "sex"]
    arguments += ["--prediction", "granted", *options]
    if status == 2:
        with pytest.raises(SystemExit, match="2"):
            main(arguments)
        text = capsys.readouterr().err
        assert re.search(r"error: --(target|prediction) (does|must)", text)
    else:
        assert main(arguments) == status
        text = capsys.readouterr().out
        page = next(tmp_path.glob("*.html")).read_text(encoding="utf-8")
        assert re.search(r"ha(s an|ve an) outcome", page)
    assert re.search(NAMES_DECISION, text)
    if case == "by_decision":
        assert "--missing-outcomes by_decision" in text


@pytest.mark.parametrize("command", ["report", "certify", "compare", "alternatives"])
def test_commands_weigh_outcomes_by_decision(command, loans, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options, status = COMMANDS[command]
    status = {"certify": 3, "alternatives": 0}.get(command, status)
    arguments = [command, str(loans), "--target", "by_decision", "--sensitive", "sex"]
    arguments += ["--prediction", "granted", *options, "--missing-outcomes", "by_decision"]
    assert main(arguments) == status
    text = capsys.readouterr().out
    assert "if nothing but the group and the decision says whether an outcome is known" in text
    assert "Other rates are left out" not in text


@pytest.mark.parametrize("command", ["report", "certify", "subgroups", "compare", "alternatives"])
def test_commands_say_that_no_refused_sample_is_in_the_file(command, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame({"sex": SEX, "granted": GRANTED, "new": NEW, "repays": REPAYS})
    table[ACCEPTED].to_csv("accepted.csv", index=False)
    options = [*COMMANDS[command][0]]
    options = ["new" if one == "everyone" else one for one in options]
    arguments = [command, "accepted.csv", "--target", "repays", "--sensitive", "sex"]
    main([*arguments, "--prediction", "granted", *options])
    assert "samples of another decision are missing from the data" in capsys.readouterr().out


def test_commands_weigh_a_new_model_by_the_decision_that_was_made(loans, capsys, monkeypatch):
    monkeypatch.chdir(loans.parent)
    arguments = ["certify", str(loans), "--target", "by_decision", "--sensitive", "sex"]
    arguments += ["--prediction", "everyone", "--metric", "accuracy", "--minimum", ".5"]
    assert main([*arguments, "--decided", "granted", "--missing-outcomes", "by_decision"]) == 0
    assert "Shown" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        main([*arguments, "--missing-outcomes", "by_decision"])
    assert "all samples are decided '1'" in capsys.readouterr().err
