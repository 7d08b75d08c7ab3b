"""Bounds on single attributes and on overlapping groups, whatever combinations are rare."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import StratifiedKFold

from skfair.classification import ConstrainedClassifierCV
from skfair.conformal import ConformalClassifier, ConformalRegressor
from skfair.constraints import DemographicParity, EqualOpportunity, MeanParity
from skfair.regression import ConstrainedRegressorCV

N = 1500
EACH = DemographicParity(attributes="each")


@pytest.fixture(scope="module")
def survey():
    """Features, classes, a real target, and three attributes with combinations of one sample."""
    rng = np.random.default_rng(0)
    groups = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], N, p=[0.35, 0.65]),
            "race": rng.choice(list("abcd"), N, p=[0.75, 0.16, 0.06, 0.03]),
            "age": rng.choice(["young", "middle", "old"], N, p=[0.4, 0.54, 0.06]),
        }
    )
    sizes = groups.value_counts()
    assert sizes.min() == 1
    assert min(groups[one].value_counts().min() for one in groups) > 30
    X = rng.normal(size=(N, 3))
    X[:, 0] += 0.8 * (groups["sex"] == "m") - 0.5 * (groups["race"] == "b")
    X[:, 1] -= 0.6 * (groups["age"] == "old")
    score = X[:, 0] + X[:, 1] + rng.normal(size=N)
    return X, (score > 0.5).astype(int), score, groups


def largest_gap(values, column):
    means = [values[column == one].mean() for one in np.unique(column)]
    return max(means) - min(means)


def assert_bounds(decisions, groups, tolerances):
    """The gaps of attributes, counted by numpy, keep their tolerances."""
    for name, tolerance in tolerances.items():
        assert largest_gap(decisions, groups[name].to_numpy()) <= tolerance + 1e-9


MODELS = {
    "each": (ConstrainedClassifierCV(LogisticRegression(), EACH, tolerance=0.1), (0.1, 0.1, 0.1)),
    "each, boosting": (
        ConstrainedClassifierCV(HistGradientBoostingClassifier(max_iter=5), EACH, tolerance=0.1),
        (0.1, 0.1, 0.1),
    ),
    "each, known groups": (
        ConstrainedClassifierCV(
            LogisticRegression(), EACH, tolerance=0.1, group_estimator="sensitive_features"
        ),
        (0.1, 0.1, 0.1),
    ),
    "tolerances by attribute": (
        ConstrainedClassifierCV(
            LogisticRegression(), tolerance={"sex": 0.05, "race": 0.1, "age": 0.2}
        ),
        (0.05, 0.1, 0.2),
    ),
    "tolerances of two": (
        ConstrainedClassifierCV(LogisticRegression(), tolerance={"sex": 0.05, "race": 0.1}),
        (0.05, 0.1),
    ),
    "a splitter": (
        ConstrainedClassifierCV(LogisticRegression(), EACH, tolerance=0.1, cv=StratifiedKFold(4)),
        (0.1, 0.1, 0.1),
    ),
}


@pytest.mark.covering(0)
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", MODELS)
def test_classifiers_keep_bounds_by_attribute(survey, name):
    X, y, _, groups = survey
    model, tolerances = MODELS[name]
    groups = groups[groups.columns[: len(tolerances)]]
    model.fit(X, y, sensitive_features=groups)
    decisions = (model.oof_decision_function_ > 0).astype(float)
    assert_bounds(decisions, groups, dict(zip(groups, tolerances, strict=True)))
    known = {"sensitive_features": groups} if "known" in name else {}
    assert 0.1 < model.predict(X, **known).mean() < 0.9
    report = model.constraint_report_
    for (attribute, label), n, estimate in report[["group", "n", "estimate"]].to_numpy():
        inside = groups[attribute].to_numpy() == label
        assert n == inside.sum()
        assert estimate == pytest.approx(decisions[inside].mean())


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_opportunities_by_attribute(survey):
    X, y, _, groups = survey
    constraint = EqualOpportunity(attributes="each", tolerance=0.1)
    model = ConstrainedClassifierCV(LogisticRegression(), constraint)
    model.fit(X, y, sensitive_features=groups)
    decisions = (model.oof_decision_function_ > 0).astype(float)
    assert_bounds(decisions[y == 1], groups[y == 1], dict.fromkeys(groups, 0.1))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_small_groups_that_are_left_out_need_no_fold(survey):
    X, y, _, groups = survey
    constraint = DemographicParity(attributes="each", min_group_size=100)
    model = ConstrainedClassifierCV(LogisticRegression(), constraint, tolerance=0.1)
    model.fit(X, y, sensitive_features=groups)
    decisions = (model.oof_decision_function_ > 0).astype(float)
    compared = groups["race"].isin(list("ab")).to_numpy()
    assert largest_gap(decisions[compared], groups["race"].to_numpy()[compared]) <= 0.1 + 1e-9
    assert largest_gap(decisions, groups["sex"].to_numpy()) <= 0.1 + 1e-9


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_regressors_and_prediction_sets(survey):
    X, y, score, groups = survey
    model = ConstrainedRegressorCV(LinearRegression(), MeanParity(attributes="each"), tolerance=0.2)
    model.fit(X, score, sensitive_features=groups)
    for name in groups:
        assert largest_gap(model.oof_prediction_, groups[name].to_numpy()) <= 0.2 + 1e-3
    sets = ConformalClassifier(LogisticRegression(), attributes="each")
    sets.fit(X, y, sensitive_features=groups)
    report = sets.coverage_report_
    assert (report["coverage"] >= 0.9 - 2.5 * np.sqrt(0.09 / report["n"])).all()
    intervals = ConformalRegressor(LinearRegression(), attributes="each")
    intervals.fit(X, score, sensitive_features=groups)
    assert intervals.predict_interval(X).shape == (N, 2)


@pytest.fixture(scope="module")
def boxes(survey):
    """People tick several boxes; some sets of boxes have one member."""
    rng = np.random.default_rng(1)
    shares = {"parent": 0.3, "migrant": 0.15, "veteran": 0.1, "student": 0.08, "carer": 0.05}
    y = survey[1]
    frame = pd.DataFrame(
        {name: rng.random(N) < share * np.where(y == 1, 0.6, 1.3) for name, share in shares.items()}
    )
    assert frame.value_counts().min() == 1
    return frame


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("cv", [None, 3, 2])
def test_overlapping_groups(survey, boxes, cv):
    X, y, _, _ = survey
    constraint = DemographicParity(reference="overall", tolerance=0.05)
    model = ConstrainedClassifierCV(LogisticRegression(), constraint, cv=cv)
    model.fit(X, y, sensitive_features=sparse.csr_array(boxes.to_numpy()))
    decisions = (model.oof_decision_function_ > 0).astype(float)
    for name in boxes:
        assert abs(decisions[boxes[name]].mean() - decisions.mean()) <= 0.05 + 1e-9


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_boxes_by_name(survey, boxes):
    X, y, _, _ = survey
    constraint = DemographicParity(reference="overall", attributes="each", tolerance=0.05)
    model = ConstrainedClassifierCV(LogisticRegression(), constraint)
    model.fit(X, y, sensitive_features=boxes)
    decisions = (model.oof_decision_function_ > 0).astype(float)
    for name in boxes:
        assert abs(decisions[boxes[name]].mean() - decisions.mean()) <= 0.05 + 1e-9
    assert ("parent", True) in model.constraint_report_["group"].tolist()


def test_an_error_names_the_compared_group_that_a_fold_lacks(survey):
    X, y, _, groups = survey
    is_old = groups["age"].to_numpy() == "old"
    rest = np.flatnonzero(~is_old)
    folds = [
        (rest[::2], np.concatenate([rest[1::2], np.flatnonzero(is_old)])),
        (np.setdiff1d(np.arange(N), rest[::2]), rest[::2]),
    ]
    model = ConstrainedClassifierCV(LogisticRegression(), EACH, tolerance=0.02, cv=folds)
    with pytest.raises(ValueError, match=r"leaves no samples of group \('age', 'old'\) to learn"):
        model.fit(X, y, sensitive_features=groups)
