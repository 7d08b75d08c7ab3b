"""The report of a fit, by hand."""

import numpy as np
import pandas as pd
import pytest

from skfair._bound.bound import ConstraintSystem
from skfair._groups import check_groups
from skfair.constraints import DemographicParity, EqualizedOdds, LossParity
from skfair.groups import Samples
from skfair.losses import LogisticLoss
from skfair.surrogates import Sigmoid

COLUMNS = [
    "event",
    "group",
    "estimate",
    "n",
    "standard_error",
    "constraint",
    "threshold",
    "gap",
    "tolerance",
]
GROUPS = ["a", "a", "a", "a", "b", "b"]
TARGET = np.array([1.0, 1.0, -1.0, -1.0, 1.0, -1.0])
SCORES = np.array([1.0, -1.0, -1.0, -1.0, 1.0, 1.0])


def bind(*specs, weights=None):
    weights = np.ones(6) if weights is None else weights
    samples = Samples(TARGET, check_groups(GROUPS, 6), weights)
    return ConstraintSystem(
        tuple(spec.bind(samples, Sigmoid(), LogisticLoss(), 0.1) for spec in specs)
    )


def test_one_row_per_rate():
    report = pd.DataFrame(bind(DemographicParity()).report_columns(SCORES))
    assert report.columns.tolist() == COLUMNS
    assert report["constraint"].tolist() == ["DemographicParity"] * 2
    assert report["group"].tolist() == ["a", "b"]
    assert report["n"].tolist() == [4, 2]
    assert report["threshold"].tolist() == [0.0, 0.0]
    assert report["estimate"].tolist() == [0.25, 1.0]
    # sqrt(p (1 - p) / n)
    assert report["standard_error"].tolist() == pytest.approx([np.sqrt(3 / 64), 0.0])
    assert report["gap"].tolist() == [0.75, 0.75]
    assert report["tolerance"].tolist() == [0.1, 0.1]


def test_each_constraint_is_reported_with_its_tolerance():
    report = pd.DataFrame(
        bind(DemographicParity(), EqualizedOdds(tolerance=0.3)).report_columns(SCORES)
    )
    assert report["constraint"].tolist() == ["DemographicParity"] * 2 + ["EqualizedOdds"] * 4
    odds = report.iloc[2:].set_index(["event", "group"])
    assert odds.loc[("positives", "a"), "estimate"] == 0.5
    assert odds.loc[("negatives", "a"), "estimate"] == 0.0
    assert odds.loc[("negatives", "b"), "n"] == 1
    assert set(odds["gap"]) == {1.0}  # false positive rates 0 and 1
    assert set(odds["tolerance"]) == {0.3}


def test_weights_count_in_rates_and_errors():
    weights = np.array([3.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    row = pd.DataFrame(bind(DemographicParity(), weights=weights).report_columns(SCORES)).iloc[0]
    assert row["estimate"] == pytest.approx(0.5)
    assert row["n"] == 4
    # The effective number of samples is 6^2 / (9 + 1 + 1 + 1) = 3.
    assert row["standard_error"] == pytest.approx(np.sqrt(0.25 / 3))


def test_no_constraint_no_rows():
    report = pd.DataFrame(ConstraintSystem(()).report_columns(SCORES))
    assert report.columns.tolist() == COLUMNS
    assert report.empty


def test_mean_losses_have_no_threshold():
    report = pd.DataFrame(
        bind(LossParity(loss="squared", reference="overall")).report_columns(SCORES)
    )
    assert report["threshold"].isna().all()
    assert report["group"].tolist() == ["a", "b", "overall"]
    losses = (SCORES - TARGET) ** 2
    means = [losses[:4].mean(), losses[4:].mean(), losses.mean()]
    assert report["estimate"].tolist() == pytest.approx(means)


@pytest.mark.filterwarnings("error")
def test_thresholds_are_numbers_also_where_there_are_none():
    report = pd.DataFrame(bind(DemographicParity(), LossParity()).report_columns(SCORES))
    assert report["threshold"].dtype == float
    assert pd.DataFrame(bind(LossParity()).report_columns(SCORES))["threshold"].dtype == float


def test_groups_of_several_attributes_are_tuples():
    samples = Samples(TARGET, check_groups([["f", g] for g in GROUPS], 6), np.ones(6))
    bound = DemographicParity().bind(samples, Sigmoid(), LogisticLoss(), 0.1)
    report = pd.DataFrame(ConstraintSystem((bound,)).report_columns(SCORES))
    assert report["group"].tolist() == [("f", "a"), ("f", "b")]


@pytest.mark.parametrize("attributes", ["intersections", "each"])
@pytest.mark.parametrize("kind", [DemographicParity, EqualizedOdds])
@pytest.mark.parametrize("max_columns", [0, 20])  # of a terminal, and of a script
def test_a_narrow_screen_shows_the_rates_first(kind, attributes, max_columns):
    sex_and_age = pd.DataFrame({"sex": list("ffmmfm"), "age": ["young", "old"] * 3})
    target = np.repeat([1.0, -1.0, 1.0, -1.0], 6)
    samples = Samples(target, check_groups(pd.concat([sex_and_age] * 4), 24), np.ones(24))
    bound = kind(attributes=attributes).bind(samples, Sigmoid(), LogisticLoss(), 0.1)
    report = pd.DataFrame(
        ConstraintSystem((bound,)).report_columns(np.tile(SCORES, 4) * np.repeat([1, 1, -1, 1], 6))
    )
    with pd.option_context("display.width", 80, "display.max_columns", max_columns):
        lines = repr(report).splitlines()
    # pandas 2 leaves out too few columns for such names.
    assert max(map(len, lines)) <= (80 if int(pd.__version__.split(".")[0]) > 2 else 84)
    assert {"event", "group", "estimate"} <= set(lines[0].split())


def test_groups_of_each_attribute_are_called_by_its_name():
    sex_and_age = pd.DataFrame({"sex": list("ffmmfm"), "age": ["young", "old"] * 3})
    samples = Samples(TARGET, check_groups(sex_and_age, 6), np.ones(6))
    bound = DemographicParity(attributes="each").bind(samples, Sigmoid(), LogisticLoss(), 0.1)
    names = [("sex", "f"), ("sex", "m"), ("age", "old"), ("age", "young")]
    assert (
        pd.DataFrame(ConstraintSystem((bound,)).report_columns(SCORES))["group"].tolist() == names
    )


@pytest.mark.filterwarnings("ignore:.*min_group_size")
def test_groups_that_are_not_compared_come_last_in_order():
    groups = check_groups(["a", "a", "a", "z", "z", "z", "d", "c", "c"], 9)
    scores = np.array([1.0, -1.0, -1.0, 1.0, 1.0, 1.0, 1.0, -1.0, -1.0])
    samples = Samples(np.resize([1.0, -1.0], 9), groups, np.ones(9), min_group_size=3)
    bound = DemographicParity().bind(samples, Sigmoid(), LogisticLoss(), 0.1)
    report = pd.DataFrame(ConstraintSystem((bound,)).report_columns(scores))
    assert report["group"].tolist() == ["a", "z", "c", "d"]
    assert report["estimate"].tolist() == pytest.approx([1 / 3, 1.0, 0.0, 1.0])
    assert report["n"].tolist() == [3, 3, 2, 1]
    assert report["gap"].tolist()[:2] == pytest.approx([2 / 3] * 2)
    assert report["gap"].isna().tolist() == [False, False, True, True]
