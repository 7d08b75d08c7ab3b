"""Reports on groups that are missing for some samples, at random given features and predictions."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from skfair.audit import Audit, FairnessReport, SensitiveFeatures
from tests.audit.doors import report_model, report_predictions

RNG = np.random.default_rng(0)
N = 6000
SEX = RNG.choice(["f", "m"], N)
AGE = RNG.choice(["old", "young"], N)
X = RNG.normal(size=(N, 2)) + np.outer(SEX == "m", [0.8, 0.0])
Y = (X[:, 0] + RNG.logistic(size=N) > 0.3).astype(int)
DECISIONS = (X.sum(axis=1) > 0.3).astype(int)
IS_RECORDED = RNG.random(N) < np.where(DECISIONS, 0.4, 0.15)
HIDDEN = pd.DataFrame({"sex": np.where(IS_RECORDED, SEX, None), "age": AGE})


def make_report(groups=HIDDEN, y=Y, **settings):
    settings = {"missing": "at_random", "X": X} | settings
    return report_predictions(y, DECISIONS, sensitive_features=groups, **settings)


@pytest.mark.slow
def test_a_gap_is_that_of_a_claim():
    report = make_report(HIDDEN[["sex"]])
    known = SensitiveFeatures(HIDDEN["sex"], X=X, missing="at_random")
    audit = Audit.from_predictions(Y, DECISIONS, sensitive_features=known)
    constraints = {
        "selection_rate": "demographic_parity",
        "true_positive_rate": "equal_opportunity",
    }
    for metric, constraint in constraints.items():
        row = report.gaps.set_index("metric").loc[metric]
        # Half the error is above an interval at .95. Features of claims have another coding.
        claim = audit.certify(constraint, 0.3, confidence_level=0.975)
        assert (row["gap"], row["gap_high"]) == pytest.approx(
            (claim.estimate, claim.high), abs=2e-3
        )


@pytest.mark.slow
def test_the_claims_that_the_page_advises_hold_whatever_the_groups_are():
    page = make_report(HIDDEN[["sex"]]).to_html()
    assert "A claim of SensitiveFeatures with odds_ratio=np.inf has limits that hold" in page
    known = SensitiveFeatures(HIDDEN["sex"], X=X, missing="at_random", odds_ratio=np.inf)
    audit = Audit.from_predictions(Y, DECISIONS, sensitive_features=known)
    claim = audit.certify("demographic_parity", 0.3)
    for worst in (DECISIONS == 1, DECISIONS == 0):
        filled = np.where(IS_RECORDED, SEX == "m", worst)
        gap = abs(DECISIONS[filled].mean() - DECISIONS[~filled].mean())
        assert claim.low <= gap <= claim.high


@pytest.mark.slow
def test_rates_are_those_of_all_samples_and_not_of_the_recorded_ones():
    true = {sex: DECISIONS[SEX == sex].mean() for sex in "fm"}
    modelled, excluded = (
        make_report(missing=missing, X=used).frame.set_index(["attribute", "metric", "group"])
        for missing, used in (("at_random", X), ("exclude", None))
    )
    for sex, rate in true.items():
        row = modelled.loc[("sex", "selection_rate", sex)]
        assert row["low"] < rate < row["high"] and row["estimate"] == pytest.approx(rate, abs=0.03)
        assert excluded.loc[("sex", "selection_rate", sex), "low"] > rate
        assert row["n"] == np.count_nonzero(IS_RECORDED & (SEX == sex))
    # Attributes without missing values are counted.
    pd.testing.assert_series_equal(
        modelled.loc[("age", "selection_rate", "old"), ["n", "estimate", "low"]],
        excluded.loc[("age", "selection_rate", "old"), ["n", "estimate", "low"]],
    )


@pytest.mark.slow
def test_page_and_json_name_the_assumption():
    report = make_report()
    n_missing = np.count_nonzero(~IS_RECORDED)
    assert report.findings[1] == (
        f"The group is missing for {n_missing:,} by sex, {n_missing:,} by sex × age: numbers of "
        "groups are right if groups are missing at random given X, predictions and outcomes."
    )
    again = FairnessReport.from_json(report.to_json())
    assert again.assumption == report.assumption and again.to_html() == report.to_html()
    assert "augmented inverse probability weighting" in report.to_markdown()
    assert make_report(missing="exclude", X=None).assumption == ""
    with pytest.raises(ValueError, match="must not overlap or be modelled"):
        report.adverse_impact()


@pytest.mark.slow
def test_decisions_without_outcomes_and_models():
    report = make_report(y=None)
    assert report.frame["metric"].unique().tolist() == ["selection_rate"]
    model = LogisticRegression().fit(X, Y)
    groups = SensitiveFeatures(HIDDEN, missing="at_random")
    fitted = report_model(model, X, Y, sensitive_features=groups)
    assert fitted.assumption == report.assumption


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"missing": "exclude"}, "X is about samples whose group is missing"),
        ({"missing": "random"}, "missing must be one of 'error', 'exclude', 'group', 'at_random'"),
        ({"sample_weight": np.arange(N)}, "for samples of equal weight"),
        ({"metrics": {"f": lambda y, p: 0.0}}, "Leave out metrics"),
        ({"task": "clustering", "y": None}, "decisions between two classes"),
        ({"min_group_size": 5}, "needs 30 recorded samples of each group"),
        ({"subgroups": True}, "missing must be one of"),
        ({"X": X[:10]}, "inconsistent numbers of samples"),
    ],
)
def test_what_cannot_be_modelled_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        make_report(**change)
