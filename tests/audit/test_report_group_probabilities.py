"""Reports of groups that are known as probabilities."""

import json

import numpy as np
import pandas as pd
import pytest

from skfair.audit import Audit, FairnessReport, SensitiveFeatures
from tests.audit.doors import report_predictions

SENTENCES = {
    "sufficient": "if values and groups are uncorrelated among samples of equal probabilities",
    "independent": "if the probabilities do not depend on values among samples of one group",
}


@pytest.fixture(scope="module")
def data():
    """Outcomes, decisions, sexes, and their probabilities by a number that depends on sex alone."""
    rng = np.random.default_rng(0)
    sex = rng.integers(2, size=4000)
    y = (rng.random(4000) < 0.4).astype(int)
    decisions = (rng.random(4000) < np.where(sex, 0.5, 0.3)).astype(int)
    z = rng.normal(size=4000) + 1.5 * sex
    male = 1.0 / (1.0 + np.exp(-1.5 * (z - 0.75)))
    probabilities = pd.DataFrame({"female": 1.0 - male, "male": male})
    return y, decisions, sex, probabilities


def report(data, **settings):
    y, decisions, _, probabilities = data
    return report_predictions(y, decisions, **({"group_probabilities": probabilities} | settings))


def gap_of(report, metric="selection_rate"):
    return report.gaps.set_index("metric").loc[metric, ["gap", "gap_low", "gap_high"]].to_numpy()


@pytest.mark.parametrize("missing", SENTENCES)
def test_gaps_are_those_of_claims_and_state_the_assumption(data, missing):
    y, decisions, _, probabilities = data
    actual = report(data, missing=missing)
    known = SensitiveFeatures(probabilities=probabilities, missing=missing)
    audit = Audit.from_predictions(y, decisions, sensitive_features=known)
    constraints = {
        "selection_rate": "demographic_parity",
        "true_positive_rate": "equal_opportunity",
    }
    for metric, constraint in constraints.items():
        # Half the error is above an interval at .95.
        claim = audit.certify(constraint, 0.3, confidence_level=0.975)
        gap, _, high = gap_of(actual, metric)
        assert (gap, high) == pytest.approx((claim.estimate, claim.high), rel=0.02, abs=2e-3)
    assert actual.assumption == SENTENCES[missing]
    findings = " ".join(actual.findings)
    assert (
        f"Groups are known as probabilities alone: numbers of groups are right {SENTENCES[missing]}"
        in findings
    )
    assert (
        f"counts in every group by its probability. Rates of groups are right {SENTENCES[missing]}"
        in actual.to_html()
    )


def test_the_gap_is_found_where_the_assumption_holds(data):
    """Probabilities are independent of decisions given sex, and do not suffice."""
    _, _, low, high = (0, *gap_of(report(data, missing="independent")))
    assert low < 0.2 < high
    assert gap_of(report(data, missing="sufficient"))[2] < 0.2


def test_rates_by_hand():
    """Of group a, 75 of 100 expected samples are selected."""
    decisions = np.repeat([1, 0], 100)
    probabilities = pd.DataFrame(
        {"a": np.repeat([0.75, 0.25], 100), "b": np.repeat([0.25, 0.75], 100)}
    )
    table = report_predictions(
        None, decisions, group_probabilities=probabilities, missing="sufficient"
    ).to_frame()
    rows = table[table["metric"] == "selection_rate"].set_index("group")
    assert rows.loc["a", "estimate"] == pytest.approx(0.75)
    assert rows.loc["b", "estimate"] == pytest.approx(0.25)
    assert rows.loc["overall", "estimate"] == pytest.approx(0.5)


def test_certain_probabilities_are_groups(data):
    y, decisions, sex, _ = data
    certain = pd.DataFrame({"0": 1.0 - sex, "1": sex.astype(float)})
    expected = report_predictions(y, decisions, sensitive_features=sex)
    for missing in SENTENCES:
        actual = report(data, group_probabilities=certain, missing=missing)
        for metric in ("selection_rate", "false_positive_rate", "accuracy"):
            np.testing.assert_allclose(
                gap_of(actual, metric).astype(float),
                gap_of(expected, metric).astype(float),
                atol=2e-3,
            )


def test_probabilities_narrow_the_intervals_of_missing_groups(data):
    y, decisions, sex, probabilities = data
    recorded = np.where(np.arange(4000) % 10 == 0, sex.astype(object), None)
    settings = {"sensitive_features": recorded, "missing": "at_random", "X": y[:, np.newaxis]}
    with_p = gap_of(report(data, **settings))
    without = gap_of(report(data, **settings, group_probabilities=None))
    assert with_p[1] < 0.2 < with_p[2]
    assert with_p[2] - with_p[1] < without[2] - without[1]


def test_reports_are_stored_with_their_assumption(data, tmp_path):
    path = tmp_path / "report.json"
    original = report(data, missing="independent")
    original.to_json(path)
    assert json.loads(path.read_text())["assumption"] == SENTENCES["independent"]
    assert FairnessReport.from_json(path).findings == original.findings
    assert "assumption on groups holds, which these data cannot confirm" in original.to_html()


@pytest.mark.parametrize(
    "settings, message",
    [
        ({}, "need an assumption: pass missing='sufficient' or missing='independent'"),
        ({"missing": "sufficient", "sample_weight": np.arange(4000) + 1}, "equal weight"),
        ({"missing": "sufficient", "metrics": ["f1_score"]}, "Leave out metrics"),
        (
            {"missing": "sufficient", "min_published": 10},
            "min_published protects counts of groups, but not those that a table of probabilities",
        ),
        ({"missing": "sufficient", "min_group_size": 5}, "needs 30 recorded samples"),
        ({"missing": "sufficient", "subgroups": True}, "missing must be one of"),
        (
            {"missing": "sufficient", "group_probabilities": np.ones((4000, 1))},
            "two or more groups",
        ),
        ({"missing": "sufficient", "group_probabilities": np.full((9, 2), 0.5)}, "inconsistent"),
    ],
    ids=str,
)
def test_what_does_not_go_together_is_refused(data, settings, message):
    with pytest.raises(ValueError, match=message):
        report(data, **settings)


def test_small_groups_are_not_compared(data):
    y, _, _, probabilities = data
    rare = probabilities.assign(male=probabilities["male"] - 0.001 * probabilities["male"])
    rare["diverse"] = 0.001 * probabilities["male"]
    actual = report(data, group_probabilities=rare, missing="sufficient")
    assert gap_of(actual)[0] == pytest.approx(
        gap_of(report(data, missing="sufficient"))[0], abs=1e-3
    )
