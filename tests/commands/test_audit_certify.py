"""Certificates of predictions and files, their plans, and the exit statuses of all commands."""

import hashlib
import json
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from skfair.__main__ import main
from skfair._statistics.gaps import gap_lower_limit
from skfair._statistics.limits_of_rates import limit_difference
from skfair._statistics.planned_draws import follow_up_size, total_pair_size
from skfair.audit import Audit, Claim, verify
from skfair.audit._claims import UNCOMPARED_FACTS, read_filed_claim
from skfair.constraints import (
    CONSTRAINTS,
    DemographicParity,
    LossParity,
    MaximumRate,
    MinimumRate,
    RateParity,
)
from skfair.metrics import Rate
from skfair.statistics import required_sample_size
from tests.audit.doors import certify_model, certify_predictions, skip_unexamined_numbers

RNG = np.random.default_rng(0)
N = 3000
SEX = RNG.choice(["f", "m"], N)
X = np.column_stack((RNG.normal(size=N) + 0.1 * (SEX == "m"), RNG.normal(size=N)))
Y = (X[:, 0] + RNG.logistic(size=N) > 0).astype(int)
MODEL = LogisticRegression().fit(X[:500], Y[:500])
HELD_OUT = X[500:], Y[500:]
GROUPS = {"sensitive_features": SEX[500:]}
ON_DECISIONS = [name for name, kind in CONSTRAINTS.items() if kind().counts_decisions]
ON_SCORES = sorted({*CONSTRAINTS} - {*ON_DECISIONS} - {"mean_error_parity"})


@cache
def write_decisions():
    """The text of a file of decisions."""
    decisions = MODEL.predict(HELD_OUT[0])
    unfair = np.where(SEX[500:] == "f", 0, decisions)
    columns = {"y": HELD_OUT[1], "d": decisions, "unfair": unfair, "sex": SEX[500:]}
    columns["p"] = MODEL.predict_proba(HELD_OUT[0])[:, 1]
    columns["some"] = np.where(np.arange(len(decisions)) < 40, "Unknown", SEX[500:])
    columns["month"] = np.repeat(["2026-01-05", "2026-02-05"], len(decisions) // 2)
    return pd.DataFrame(columns).to_csv(index=False)


@pytest.fixture
def path(tmp_path):
    (tmp_path / "decisions.csv").write_text(write_decisions())
    return tmp_path / "decisions.csv"


def run(command, path, *options):
    """Exit status of a command on the decisions of a file, or on the prediction of the options."""
    prediction = [] if "--prediction" in options else ["--prediction", "d"]
    return main([command, str(path), *prediction, "--sensitive", "sex", *options])


# Certificates of predictions are those of the model, to the last bit.


@pytest.mark.covering(1)
@pytest.mark.parametrize("ratio", [None, 0.8])
@pytest.mark.parametrize("name", ON_DECISIONS)
def test_predictions_have_the_certificate_of_their_model(name, ratio):
    settings = {"constraint": CONSTRAINTS[name](ratio=ratio), **GROUPS}
    settings["tolerance"] = 0.05 if ratio is None else None
    expected = certify_model(MODEL, *HELD_OUT, **settings)
    y_pred = MODEL.predict(HELD_OUT[0])
    assert certify_predictions(HELD_OUT[1], y_pred, **settings) == expected


@pytest.mark.parametrize("name", ON_SCORES)
def test_scores_have_the_certificate_of_their_model(name):
    constraint = CONSTRAINTS[name]()
    if "rank_within" in constraint.get_params():
        constraint.set_params(rank_within="class")  # other ranks are not independent
    settings = {"constraint": constraint, "tolerance": 0.2, **GROUPS}
    expected = certify_model(MODEL, *HELD_OUT, **settings)
    scores = MODEL.decision_function(HELD_OUT[0])
    if expected.unit == "units of the predicted probability" or name in (
        "partial_statistical_parity",
        "partial_group_auc",
    ):
        scores = MODEL.predict_proba(HELD_OUT[0])[:, 1]
    assert certify_predictions(HELD_OUT[1], scores, **settings) == expected


def test_numbers_and_several_classes_have_the_certificate_of_their_model():
    target = X[:, 0] + RNG.normal(size=N)
    model = LinearRegression().fit(X[:500], target[:500])
    settings = {"constraint": LossParity(loss="squared"), "tolerance": 0.2, **GROUPS}
    expected = certify_model(model, X[500:], target[500:], **settings)
    predictions = model.predict(X[500:])
    assert certify_predictions(target[500:], predictions, **settings) == expected
    classes = np.digitize(target, [-1, 1])
    model = LogisticRegression().fit(X[:500], classes[:500])
    settings = {"constraint": "equal_opportunity", "tolerance": 0.1, **GROUPS}
    expected = certify_model(model, X[500:], classes[500:], **settings)
    certificate = certify_predictions(classes[500:], model.predict(X[500:]), **settings)
    assert certificate == expected and not certificate.is_shown


def test_strata_and_weights_reach_the_certificate():
    strata = DemographicParity(control_features=lambda X: X[:, 1] > 0)
    weights = RNG.integers(0, 3, N - 500)
    settings = {"constraint": strata, "tolerance": 0.1, "sample_weight": weights, **GROUPS}
    certificate = certify_model(MODEL, *HELD_OUT, **settings)
    inside = HELD_OUT[0][:, 1] > 0
    y_pred = MODEL.predict(HELD_OUT[0])
    groups = np.asarray(GROUPS["sensitive_features"])
    gaps = [
        np.ptp([np.average(y_pred[at & one], weights=weights[at & one]) for at in by_group])
        for one in (inside, ~inside)
        for by_group in [[groups == group for group in np.unique(groups)]]
    ]
    assert certificate.estimate == pytest.approx(max(gaps))


def test_outcomes_are_needed_where_the_constraint_depends_on_them():
    y_pred = MODEL.predict(HELD_OUT[0])
    assert certify_predictions(None, y_pred, tolerance=0.2, **GROUPS).is_shown
    for name in ("equal_opportunity", "error_rate_parity", "loss_parity"):
        with pytest.raises(ValueError, match="y_true must hold the outcomes, on which"):
            certify_predictions(None, y_pred, constraint=name, tolerance=0.2, **GROUPS)


def test_predictions_of_another_kind_are_refused():
    scores = MODEL.predict_proba(HELD_OUT[0])[:, 1]
    with pytest.raises(ValueError, match="scores without decisions"):
        certify_predictions(HELD_OUT[1], scores, tolerance=0.2, **GROUPS)
    with pytest.raises(ValueError, match="predicts numbers, so it cannot be measured"):
        certify_predictions(X[500:, 0], scores, tolerance=0.2, **GROUPS)
    with pytest.raises(ValueError, match="task must be one of"):
        certify_predictions(None, scores, task="ranking", tolerance=0.2, **GROUPS)
    with pytest.warns(UserWarning, match="takes values of the decision function"):
        certify_predictions(HELD_OUT[1], scores, constraint="loss_parity", tolerance=0.2, **GROUPS)


# A tolerance that the data show to be exceeded.


def test_the_lower_limit_shows_that_the_tolerance_is_exceeded():
    decisions = np.repeat([1, 0, 1, 0], [300, 200, 150, 350])
    groups = np.repeat(["a", "b"], 500)
    certificate = certify_predictions(None, decisions, sensitive_features=groups, tolerance=0.2)
    low = -limit_difference((150, 300), (500, 500), 0.975)
    assert certificate.low == pytest.approx(low)
    assert certificate.is_contradicted and not certificate.is_shown
    assert str(certificate) == (
        "Contradicted: selection rates of a and b differ by at most 20 points. Here they differ by "
        "30, and with 95 % confidence by at least 23.9 in the population."
    )
    assert json.loads(certificate.to_json())["exit_status"] == 3
    ratio = certify_predictions(
        None, decisions, sensitive_features=groups, constraint=DemographicParity(ratio=0.8)
    )
    assert ratio.is_contradicted and "Here it is 0.5, and with 95 % confidence at most 0.58" in str(
        ratio
    )


@pytest.mark.slow
def test_an_excess_is_seldom_false(monkeypatch):
    # The gap of three groups is the tolerance: at most one in twenty may be shown to exceed it.
    skip_unexamined_numbers(monkeypatch)
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(3), 200)
    n_false = 0
    rates = np.repeat([0.3, 0.35, 0.4], 200)
    for _ in range(150):
        decisions = (rng.random(600) < rates).astype(int)
        n_false += certify_predictions(
            None, decisions, sensitive_features=groups, tolerance=0.1
        ).is_contradicted
    assert n_false <= 7


def test_the_lower_limit_divides_the_error_among_forms():
    from skfair._statistics.estimates import Rates, pairwise_contrasts

    hits = np.array([[60.0] * 3, [30.0] * 3, [45.0] * 3])
    rates = Rates.from_sums(hits, 100.0 - hits)
    pairs = pairwise_contrasts(3)
    lows = -rates.upper(-pairs, 1.0 - 0.05 / 6)
    assert gap_lower_limit(rates, pairs, 0.95) == lows.max()


# Claims that are filed, and recomputed from the data.


FILED = ["--target", "y", "--constraint", "equal_opportunity", "--tolerance", "0.2"]


def test_a_filed_claim_states_what_was_audited_and_is_recomputed(path, capsys):
    filed = path.with_suffix(".json")
    page = path.with_name("claim.html")
    run("certify", path, *FILED, "--json", str(filed), "--out", str(page))
    content = json.loads(filed.read_text(encoding="utf-8"))
    source, read = content["source"], content["reading"]
    assert source["file"] == "decisions.csv" and read["n_rows"] == 2500
    assert source["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert source["positive_label"] == "1"
    assert [(one["name"], one["role"]) for one in read["columns"][1:]] == [
        ("y", "outcome"),
        ("sex", "group"),
    ]
    text = page.read_text(encoding="utf-8")
    assert source["sha256"] in text and "Shown: true positive rates of f and m differ" in text
    # Rows in another order have the same claim, by other bits.
    table = pd.read_csv(path)
    table.sample(frac=1, random_state=0).to_csv(path, index=False)
    assert main(["verify", str(filed), str(path)]) == 0
    assert "which are not the file of the claim (another SHA-256 digest)" in capsys.readouterr().out
    # One decision about a positive is changed.
    first = int(np.flatnonzero(table["y"] == 1)[0])
    table.loc[first, "d"] = 1 - table.loc[first, "d"]
    table.to_csv(path, index=False)
    assert main(["verify", str(filed), str(path), "--json", "-"]) == 3
    assert "estimate" in json.loads(capsys.readouterr().out)["differences"]


def test_claims_of_counts_have_no_digest(path, tmp_path):
    table = pd.read_csv(path).groupby(["sex", "d"]).size().reset_index(name="n")
    table.to_csv(path, index=False)
    filed = tmp_path / "claim.json"
    assert run("certify", path, "--tolerance", "0.2", "--count", "n", "--json", str(filed)) == 0
    content = json.loads(filed.read_text(encoding="utf-8"))
    assert "sha256" not in content["source"] and sum(content["sizes"].values()) == 2500
    assert main(["verify", str(filed), str(path)]) == 0


@pytest.mark.parametrize("text", ["{}", '{"format": "skfair.Claim", "version": 1}', "no"])
def test_other_files_are_no_claims(path, text, tmp_path, capsys):
    (tmp_path / "claim.json").write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit, match="2"):
        main(["verify", str(tmp_path / "claim.json"), str(path)])
    assert "error: " in capsys.readouterr().err


@pytest.mark.parametrize(
    "constraint",
    [
        "demographic_parity",
        DemographicParity(ratio=0.8),
        MinimumRate("recall", 0.6),
        MaximumRate("false_positive_rate", 0.5),
        DemographicParity(reference="overall", min_group_size=50),
    ],
)
def test_claims_of_an_audit_are_recomputed_from_their_text(constraint):
    decisions = MODEL.predict(HELD_OUT[0])
    order = RNG.permutation(N - 500)
    tolerance = 0.1 if getattr(constraint, "tolerance", None) is None else None
    if getattr(constraint, "ratio", None) is not None:
        tolerance = None
    audits = [
        Audit.from_predictions(
            HELD_OUT[1][rows], decisions[rows], sensitive_features=SEX[500:][rows]
        )
        for rows in (np.arange(N - 500), order, order[100:])
    ]
    filed = audits[0].certify(constraint, tolerance)
    assert Claim.from_json(filed.to_json()) == filed
    assert verify(filed.to_json(), audits[1]) == [] == verify(filed, audits[0])
    assert {"sizes"} <= set(verify(filed, audits[2]))


def test_a_rate_of_ones_own_cannot_be_made_again():
    cost = Rate("cost", {"fp": 1, "fn": 5})
    audit = Audit.from_predictions(HELD_OUT[1], MODEL.predict(HELD_OUT[0]), **GROUPS)
    filed = audit.certify(RateParity(cost), 0.5)
    assert "units of cost per sample. Here they differ by 0." in str(filed)
    with pytest.raises(ValueError, match="rate was an object of one's own"):
        verify(filed.to_json(), audit)


# Commands: results, JSON on standard output, exit statuses.


def test_the_command_certifies_as_the_library_does(path, capsys):
    assert run("certify", path, "--tolerance", "0.2", "--json", "-") == 0
    printed = json.loads(capsys.readouterr().out)
    table = pd.read_csv(path)
    certificate = certify_predictions(
        None, table["d"], sensitive_features=table["sex"], tolerance=0.2
    )
    filed = json.loads(replace(certificate, source=printed["source"]).to_json())
    assert printed | {"reading": None} == filed | {"reading": None}
    assert Claim.from_json(json.dumps(printed)).reading.agrees(certificate.reading)
    assert run("certify", path, "--ratio", "0.5", "--target", "y") == 0
    assert (
        "Shown: the smallest selection rate of a group by sex is at least 0.5 times"
        in capsys.readouterr().out
    )


@pytest.mark.covering(0)
@pytest.mark.parametrize(
    ("command", "options", "status"),
    [
        ("certify", ["--tolerance", "0.2"], 0),
        ("certify", ["--tolerance", "0.07"], 1),
        ("certify", ["--tolerance", "0.1", "--prediction", "unfair"], 3),
        ("certify", ["--ratio", "0.8", "--prediction", "unfair"], 3),
        ("report", ["--sensitive", "month"], 0),
        ("report", ["--target", "y", "--prediction", "unfair"], 3),
        ("monitor", ["--time", "month", "--tolerance", "0.07"], 0),
        ("monitor", ["--time", "month", "--tolerance", "0.07", "--require-shown"], 1),
        ("monitor", ["--time", "month", "--tolerance", "0.3", "--require-shown"], 0),
        ("monitor", ["--time", "month", "--prediction", "unfair"], 3),
    ],
)
def test_the_exit_status_says_what_was_found(path, command, options, status, capsys, monkeypatch):
    monkeypatch.chdir(path.parent)
    assert run(command, path, *options, "--json", "-") == status
    json.loads(capsys.readouterr().out)
    assert [one.name for one in path.parent.iterdir()] == [path.name]  # no page beside JSON


def test_sentences_are_printed_with_json_in_a_file(path, capsys):
    out = path.with_suffix(".json")
    assert run("certify", path, "--tolerance", "0.2", "--json", str(out)) == 0
    assert (
        "Shown: selection rates of f and m differ by at most 20 points. " in capsys.readouterr().out
    )
    assert json.loads(out.read_text(encoding="utf-8"))["verdict"] == "shown"


@pytest.mark.slow
def test_json_on_standard_output_is_ascii_and_alone(path, capsys):
    table = pd.read_csv(path).replace({"sex": {"f": "weiblich (ä)"}})
    table.to_csv(path, index=False)
    run("report", path, "--prediction", "p", "--target", "y", "--json", "-")
    out, err = capsys.readouterr()
    assert out.isascii() and "weiblich (ä)" in json.loads(out)["frame"]["group"]
    assert "p holds probabilities" in err


@pytest.mark.slow
def test_unknown_groups_are_named_before_anything_is_certified(path, capsys):
    options = ["--sensitive", "some", "--tolerance", "0.2"]
    run("certify", path, *options)
    assert re.search("look like missing values.*'Unknown'.*--unknown", capsys.readouterr().err)
    for missing in ([], ["--missing", "exclude"]):
        assert run("certify", path, *options, "--unknown", "Unknown", *missing) == 0
        assert "40 samples of unknown group are left out" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--tolerance", "0.1", "--constraint", "equal_opportunity"],
            "--target must hold the outcomes",
        ),
        (["--tolerance", "2"], "Rates are fractions"),
        (["--ratio", "1.5"], "--ratio=1.5 is more than"),
        (["--ratio", "0.8", "--constraint", "loss_parity"], "pass --tolerance"),
        ([], "one of the arguments --tolerance --ratio --minimum --maximum is required"),
        (["--tolerance", "0.1", "--json", "x.txt"], "--json must end in"),
    ],
)
def test_errors_are_one_sentence_with_status_2(path, options, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        run("certify", path, *options)
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_plans_print_the_number_and_its_assumption(capsys):
    assert main(["plan", "--ratio", "0.8", "--rate", "0.2"]) == 0
    n = required_sample_size(ratio=0.8, rate=0.2)
    out = capsys.readouterr().out
    assert f"{n:,} samples of each of 2 groups are required, {2 * n:,} in all" in out
    assert "assumes that all groups have the rate 0.2" in out
    assert main(["plan", "--tolerance", "0.05", "--expected", "0.03", "--rate", "0.2"]) == 0
    out = capsys.readouterr().out
    assert f"{required_sample_size(0.05, expected=0.03, rate=0.2):,} samples of each" in out
    assert "rates about 0.2 with a gap of 0.03" in out and "no gap" not in out
    options = ["--tolerance", "0.2", "--shares", "0.1", "0.3", "0.6", "--json", "-"]
    assert main(["plan", *options]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["n_samples"] == required_sample_size(0.2, n_groups=[0.1, 0.3, 0.6])
    assert plan["required_sample_size"] == int(np.ceil(0.1 * plan["n_samples"]))
    assert f"{plan['n_samples']:,} samples in all are required" in plan["text"]
    assert main(["plan", "--tolerance", "0.05", "--pairs", "0.1"]) == 0
    out = capsys.readouterr().out
    n = total_pair_size(0.05, 0.1, 0.0, 0.95, 0.8)
    assert f"{n:,} pairs of two versions are required" in out and "10 % of all pairs differ" in out
    options = ["--tolerance", "0.1", "--rate", "0.65", "--selected", "0.4", "--precision", "0.9"]
    assert main(["plan", *options]) == 0
    n = follow_up_size(0.1, np.full(2, 0.65), 0.4, 0.9, 0.95, 0.8)
    assert f"{n:,} refused samples of each of 2 groups are required" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--ratio", "0.8"], "--ratio needs --rate"),
        (["--tolerance", "0.1", "--selected", "0.4"], "Pass also --rate"),
        (
            [*"--tolerance .1 --rate .5 --selected .4 --precision .9 --expected .2".split()],
            "Pass a smaller --expected",
        ),
        (
            ["--tolerance", "0.1", "--shares", "0.6", "0.6"],
            "--shares must be positive and add up to 1",
        ),
        (["--tolerance", "0.1", "--groups", "1"], "--groups must be a whole number from 2 on"),
        (["--tolerance", "0.1", "--rate", "2"], "--rate must be strictly between 0 and 1"),
    ],
)
def test_plans_name_wrong_options(options, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["plan", *options])
    assert message in capsys.readouterr().err


# Forged claims: every field of a file, one at a time.


def change_field(value):
    """Another value of the type of a field."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return f"{value} forged"
    if isinstance(value, list):
        return [*value, "forged"]
    if isinstance(value, dict):
        return {**value, "forged": 500}
    return 7


def list_fields(value, place=()):
    """Places of all fields of a claim, as keys and numbers, and their values."""
    yield place, value
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from list_fields(value[key], (*place, key))


def replace_field(claim, place, value):
    """A copy of a claim in which a field has another value; None removes it."""
    copied = json.loads(json.dumps(claim))
    *first, last = place
    holder = copied
    for key in first:
        holder = holder[key]
    if value is None:
        del holder[last]
    else:
        holder[last] = value
    return copied


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        FILED,
        ["--ratio", "0.8", "--min-published", "10"],
        ["--sensitive", "some", "--unknown", "Unknown", "--minimum", "0.1"],
    ],
)
def test_every_forged_field_is_another_claim_or_named_as_damaged(path, tmp_path, options):
    """Every field of the file, one at a time: changed, of another type, and removed."""
    filed = tmp_path / "claim.json"
    run("certify", path, *options, "--json", str(filed))
    claim = json.loads(filed.read_text(encoding="utf-8"))
    now = Claim.from_json(filed)
    places = [(place, value) for place, value in list_fields(claim) if place]
    assert len(places) > 60
    for place, value in places:
        for other in (change_field(value), [value], None):
            try:
                forged, edited = read_filed_claim(json.dumps(replace_field(claim, place, other)))
            except ValueError as error:
                message = str(error)
                assert place[0] in message or place[0] in ("format", "version"), place
                continue
            is_compared = place[0] != "source" or place[-1] not in UNCOMPARED_FACTS
            # Claims that were filed before there were these fields lack them.
            is_compared &= (place, other) not in ((("order",), None), (("worst_group",), None))
            assert edited + forged.find_differences(now) or not is_compared, (place, other)


def test_verify_recomputes_what_bounds_a_claim_and_names_what_it_does_not_compare(
    path, tmp_path, capsys
):
    filed = tmp_path / "claim.json"
    forged = tmp_path / "forged.json"
    run("certify", path, *FILED, "--json", str(filed))
    claim = json.loads(filed.read_text(encoding="utf-8"))
    for place, value, status, said in [
        (("confidence_level",), 0.9, 3, "Another claim, by confidence_level"),
        (("threshold",), 0.3, 3, "Another claim, by threshold"),
        (("source", "date"), "2020-01-01", 0, "do not tell them: date, versions"),
        (("source", "sha256"), None, 3, "Another claim, by sha256"),
    ]:
        forged.write_text(json.dumps(replace_field(claim, place, value)), encoding="utf-8")
        assert main(["verify", str(forged), str(path)]) == status
        assert said in capsys.readouterr().out


@pytest.mark.parametrize("added", [" --ledger written", " --json written.json", " --out w.html"])
def test_a_claim_makes_verify_write_no_file(path, tmp_path, monkeypatch, added):
    monkeypatch.chdir(tmp_path)
    filed = tmp_path / "claim.json"
    run("certify", path, "--tolerance", "0.2", "--json", str(filed))
    claim = json.loads(filed.read_text(encoding="utf-8"))
    claim["source"]["command"] += added
    filed.write_text(json.dumps(claim), encoding="utf-8")
    before = sorted(tmp_path.rglob("*"))
    assert main(["verify", str(filed), str(path)]) == 0
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("command", ["--help", "--tolerance x", "other.csv", "--nothing 1"])
def test_options_that_are_none_are_named(path, tmp_path, capsys, command):
    filed = tmp_path / "claim.json"
    run("certify", path, "--tolerance", "0.2", "--json", str(filed))
    claim = json.loads(filed.read_text(encoding="utf-8"))
    claim["source"]["command"] = command
    filed.write_text(json.dumps(claim), encoding="utf-8")
    with pytest.raises(SystemExit, match="2"):
        main(["verify", str(filed), str(path)])
    assert "The field source.command of a claim" in capsys.readouterr().err


@pytest.mark.parametrize("rate", ["precision", "npv", "f1", "accuracy", "recall"])
def test_the_message_about_a_rate_names_the_constraint_to_pass(path, rate, capsys):
    known = ["--target", "y", "--tolerance", "0.3"]
    advised = []
    for option in ("--metric", "--constraint"):
        with pytest.raises(SystemExit, match="2"):
            run("certify", path, *known, option, rate)
        message = capsys.readouterr().err
        advised.append(re.search(r"(?:--constraint |mean ')(\w+)'?[.?]", message)[1])
    assert advised[0] == advised[1]
    assert run("certify", path, *known, "--constraint", advised[0]) in (0, 1, 3)
    page = ["--time", "month", "--out", str(path.with_name("m.html"))]
    with pytest.raises(SystemExit, match="2"):
        run("monitor", path, *known, *page, "--constraint", rate)
    assert f"Did you mean '{advised[0]}'" in capsys.readouterr().err
    if rate != "f1":  # whose monitor is refused
        assert run("monitor", path, *known, *page, "--constraint", advised[0]) in (0, 1, 3)
