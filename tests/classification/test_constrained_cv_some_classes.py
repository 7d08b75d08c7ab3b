"""Some of several classes are compared, and the others are free."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from skfair.classification import ConstrainedClassifierCV, ConstrainedERMClassifier
from skfair.constraints import DemographicParity, EqualOpportunity

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

LABELS = np.array(["accepted", "rejected", "waiting"])
SETTINGS = {"cv": 3, "group_estimator": LogisticRegression()}


def draw(seed, n_samples=240):
    """Features, one of three classes, groups and weights."""
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b"], p=[0.6, 0.4], size=n_samples)
    X = rng.normal(size=(n_samples, 4))
    X[:, 0] += group == "b"
    X[:, 1] -= group == "b"
    scores = np.column_stack((X[:, 0] + X[:, 2], X[:, 1], X[:, 3] - 0.5 * X[:, 0]))
    y = LABELS[(scores + rng.gumbel(size=scores.shape)).argmax(axis=1)]
    weights = rng.lognormal(size=n_samples) if seed % 2 else np.ones(n_samples)
    return X, y, group, weights


def gap_by_hand(decided, group, weights, cell):
    """Difference of the shares of two groups that get a class."""
    members = [cell & (group == one) for one in "ab"]
    return np.ptp([np.average(decided[one], weights=weights[one]) for one in members])


def check_draw(seed):
    """Gaps of the named classes in the report are those of numpy, and kept."""
    X, y, group, weights = draw(seed)
    named = [["accepted"], ["accepted", "waiting"], ["waiting", "rejected"]][seed % 3]
    make = (DemographicParity, EqualOpportunity)[seed // 3 % 2]
    base = (LogisticRegression, GaussianNB)[seed // 2 % 2]
    constraint = make(tolerance=0.05, min_group_size=1)
    model = ConstrainedClassifierCV(base(), constraint, pos_label=named, **SETTINGS)
    model.fit(X, y, sensitive_features=group, sample_weight=weights)
    decisions = model.classes_[model.oof_decision_function_.argmax(axis=1)]
    report = model.constraint_report_
    assert sorted(set(report["class"])) == sorted(named)
    gaps = {}
    for label in named:
        cell = y == label if make is EqualOpportunity else np.ones(len(y), dtype=bool)
        gaps[label] = gap_by_hand(decisions == label, group, weights, cell)
        reported = report.loc[report["class"] == label, "gap"]
        assert reported.to_numpy() == pytest.approx(gaps[label])
    excess = max(gaps.values()) - 0.05
    assert model.constraint_violation_ == pytest.approx(max(0.0, excess))
    assert excess <= 1e-9 or model.status_ == "infeasible"


@pytest.mark.parametrize("seed", range(2))
def test_gaps_of_named_classes_are_those_of_numpy(seed):
    check_draw(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 62))
def test_gaps_of_many_draws_are_those_of_numpy(seed):
    check_draw(seed)


@pytest.mark.slow
def test_other_classes_are_free_and_all_names_are_none():
    X, y, group, _ = draw(0)

    def fit(pos_label):
        model = ConstrainedClassifierCV(
            LogisticRegression(), tolerance=0.02, pos_label=pos_label, **SETTINGS
        )
        return model.fit(X, y, sensitive_features=group)

    every = fit(None)
    np.testing.assert_array_equal(
        fit(LABELS.tolist()).oof_decision_function_, every.oof_decision_function_
    )
    models = fit(["waiting"]), every
    decisions = [one.classes_[one.oof_decision_function_.argmax(axis=1)] for one in models]
    correct = [np.mean(one == y) for one in decisions]
    assert correct[0] >= correct[1] - 2 / len(y)
    free = gap_by_hand(decisions[0] == "accepted", group, np.ones(len(y)), group != "")
    assert free > 0.02


@pytest.mark.slow
def test_a_tolerance_for_each_attribute_of_named_classes():
    X, y, group, _ = draw(0)
    attributes = np.column_stack((group, np.where(np.arange(len(y)) % 2, "x", "y")))
    model = ConstrainedClassifierCV(
        LogisticRegression(),
        tolerance={0: 0.05, 1: 0.1},
        pos_label=["accepted", "waiting"],
        **SETTINGS,
    )
    report = model.fit(X, y, sensitive_features=attributes).constraint_report_
    assert len(report) == 8
    assert report.groupby(["class", "constraint"])["gap"].nunique().eq(1).all()
    assert (report["gap"] <= report["tolerance"]).all()
    assert not set(report["class"]) - {"accepted", "waiting"}


@pytest.mark.parametrize("named", [[], ["none"], ["accepted", "accepted"]])
def test_names_must_be_different_classes(named):
    X, y, group, _ = draw(0)
    model = ConstrainedClassifierCV(LogisticRegression(), pos_label=named, **SETTINGS)
    with pytest.raises(ValueError, match="pos_label must list different classes"):
        model.fit(X, y, sensitive_features=group)


def test_two_classes_have_one_label():
    X, y, group, _ = draw(0)
    model = ConstrainedClassifierCV(LogisticRegression(), pos_label=["accepted"], **SETTINGS)
    with pytest.raises(ValueError, match="pos_label may list classes to compare of more than two"):
        model.fit(X, y == "accepted", sensitive_features=group)
    with pytest.raises(ValueError, match="'pos_label' parameter of ConstrainedERMClassifier"):
        ConstrainedERMClassifier(pos_label=["accepted"]).fit(X, y, sensitive_features=group)
    with pytest.raises(ValueError, match="as in pos_label=\\['accepted'\\]"):
        ConstrainedClassifierCV(LogisticRegression(), pos_label="accepted", **SETTINGS).fit(
            X, y, sensitive_features=group
        )
