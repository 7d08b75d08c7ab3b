"""The report of a fit, by hand."""

import numpy as np
import pytest

from skfair.classification._report import constraint_report
from skfair.constraints import DemographicParity, EqualizedOdds, People, Rates, Unconstrained
from skfair.constraints._bound import JointConstraint
from skfair.losses import LogisticLoss
from skfair.surrogates import Sigmoid, Step
from skfair.utils._groups import check_groups

COLUMNS = ["constraint", "cell", "group", "n", "rate", "standard_error", "gap", "tolerance"]
GROUPS = ["a", "a", "a", "a", "b", "b"]
TARGET = np.array([1.0, 1.0, -1.0, -1.0, 1.0, -1.0])
SCORES = np.array([1.0, -1.0, -1.0, -1.0, 1.0, 1.0])


def bind(*specs, weights=None):
    weights = np.ones(6) if weights is None else weights
    people = People(TARGET, check_groups(GROUPS, 6), weights)
    loss = LogisticLoss()
    rates = Rates(Sigmoid(), loss), Rates(Step(), loss)
    return JointConstraint(tuple(spec.bind(people, *rates, 0.1) for spec in specs))


def test_one_row_per_rate():
    report = constraint_report(bind(DemographicParity()), SCORES)
    assert report.columns.tolist() == COLUMNS
    assert report["constraint"].tolist() == ["DemographicParity"] * 2
    assert report["group"].tolist() == ["a", "b"]
    assert report["n"].tolist() == [4, 2]
    assert report["rate"].tolist() == [0.25, 1.0]
    # sqrt(p (1 - p) / n)
    assert report["standard_error"].tolist() == pytest.approx([np.sqrt(3 / 64), 0.0])
    assert report["gap"].tolist() == [0.75, 0.75]
    assert report["tolerance"].tolist() == [0.1, 0.1]


def test_constraints_follow_one_another_with_their_own_tolerances():
    report = constraint_report(bind(DemographicParity(), EqualizedOdds(tolerance=0.3)), SCORES)
    assert report["constraint"].tolist() == ["DemographicParity"] * 2 + ["EqualizedOdds"] * 4
    odds = report.iloc[2:].set_index(["cell", "group"])
    assert odds.loc[("positives", "a"), "rate"] == 0.5
    assert odds.loc[("negatives", "a"), "rate"] == 0.0
    assert odds.loc[("negatives", "b"), "n"] == 1
    assert set(odds["gap"]) == {1.0}  # false positive rates 0 and 1
    assert set(odds["tolerance"]) == {0.3}


def test_weights_count_in_rates_and_errors():
    weights = np.array([3.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    row = constraint_report(bind(DemographicParity(), weights=weights), SCORES).iloc[0]
    assert row["rate"] == pytest.approx(0.5)
    assert row["n"] == 4
    # The effective number of samples is 6^2 / (9 + 1 + 1 + 1) = 3.
    assert row["standard_error"] == pytest.approx(np.sqrt(0.25 / 3))


def test_no_constraint_no_rows():
    report = constraint_report(Unconstrained(), SCORES)
    assert report.columns.tolist() == COLUMNS
    assert report.empty
