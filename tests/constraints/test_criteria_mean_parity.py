"""Mean parity of classifiers is about their probabilities, wherever they have some."""

from functools import cache

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from skfair.audit import Audit
from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    ConstrainedMLPClassifier,
)
from skfair.constraints import LossParity, MeanParity
from skfair.losses import LogisticLoss
from skfair.metrics import get_scorer

PREFIT = {"estimator": LogisticRegression(), "cv": "prefit"}
PREFIT |= {"group_estimator": "sensitive_features"}  # predictions are those of the fit

SETTINGS = {
    "linear": (ConstrainedERMClassifier, {}),
    "object": (ConstrainedERMClassifier, {"loss": LogisticLoss()}),
    "around": (ConstrainedClassifierCV, PREFIT),
    "network": (ConstrainedMLPClassifier, {"random_state": 0}),
}


@cache
def draw_data():
    """Features, classes as text, three groups and weights."""
    rng = np.random.default_rng(0)
    group = rng.choice(["a", "b", "c"], size=800, p=[0.5, 0.3, 0.2])
    X = rng.normal(size=(800, 3)) + 1.2 * (group == "b")[:, np.newaxis]
    y = np.where(X.sum(axis=1) + rng.normal(size=800) > 1.0, "yes", "no")
    return X, y, group, rng.lognormal(size=800)


def fit(name, positive, **settings):
    kind, others = SETTINGS[name]
    X, y, group, weights = draw_data()
    others = dict(others)
    if "estimator" in others:
        others["estimator"] = LogisticRegression().fit(*draw_data()[:2])
    model = kind(constraint=MeanParity(**settings), pos_label=positive, **others)
    model.fit(X, y, sensitive_features=group, sample_weight=weights)
    of_groups = {"sensitive_features": group} if name == "around" else {}
    scores = model.predict_proba(X, **of_groups)[:, list(model.classes_).index(positive)]
    means = [np.average(scores[group == g], weights=weights[group == g]) for g in "abc"]
    return model, means, np.average(scores, weights=weights)


@pytest.mark.covering(0)
@pytest.mark.parametrize("positive", ["yes", "no"])
@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.filterwarnings("ignore:.*training data", "ignore:.*prefit", "ignore:.*memor")
def test_the_tolerance_is_one_of_mean_probabilities(name, positive):
    model, means, _ = fit(name, positive, tolerance=0.05)
    assert 0.04 < np.ptp(means) <= 0.05 + 1e-9
    report = model.constraint_report_
    np.testing.assert_allclose(report["estimate"], means, atol=1e-12)
    np.testing.assert_allclose(report["gap"], np.ptp(means), atol=1e-12)
    assert set(report["tolerance"]) == {0.05}
    X, y, group, weights = draw_data()
    columns = {"sensitive_features": group, "sample_weight": weights}
    audit = Audit.from_estimator(model, X, y, **columns)
    claim = audit.certify(MeanParity(), tolerance=0.2)
    assert claim.estimate == pytest.approx(np.ptp(means), abs=1e-12)
    scorer = get_scorer("neg_mean_score_difference", pos_label=positive)
    assert scorer(model, X, y, **columns) == pytest.approx(-np.ptp(means), abs=1e-12)


@pytest.mark.parametrize("positive", ["yes", "no"])
def test_the_excess_over_the_mean_is_one_of_the_positive_class(positive):
    _, means, overall = fit("linear", positive, tolerance=0.05, reference="above_overall")
    assert max(means) - overall == pytest.approx(0.05, abs=1e-5)
    assert overall - min(means) > 0.02


def test_without_probabilities_the_tolerance_is_one_of_the_decision_function():
    X, y, group, _ = draw_data()
    columns = {"sensitive_features": group}
    model = ConstrainedERMClassifier("mean_parity", loss="hinge", pos_label="yes")
    with pytest.raises(
        ValueError, match="tolerance of MeanParity must be a number in units of the dec"
    ):
        model.fit(X, y, **columns)
    model.set_params(tolerance=0.3).fit(X, y, **columns)
    scores = model.decision_function(X)
    gap = np.ptp([scores[group == g].mean() for g in "abc"])
    assert gap == pytest.approx(0.3, abs=1e-5)
    with pytest.warns(UserWarning, match="looks like the training data"):
        claim = Audit.from_estimator(model, X, y, **columns).certify(MeanParity(tolerance=0.5))
    assert claim.estimate == pytest.approx(gap)


def test_a_difference_of_probabilities_is_at_most_1():
    X, y, group, _ = draw_data()
    model = ConstrainedERMClassifier("mean_parity", tolerance=1.5, pos_label="yes")
    with pytest.raises(ValueError, match="tolerance=1.5 is more than any gap"):
        model.fit(X, y, sensitive_features=group)


@pytest.mark.parametrize("constraint", [MeanParity(tolerance=0.3), LossParity(tolerance=0.3)])
def test_classes_are_no_scores(constraint):
    _, y, group, _ = draw_data()
    for labels in (y, (y == "yes").astype(int)):
        settings = {"sensitive_features": group, "pos_label": labels[0]}
        audit = Audit.from_predictions(labels, labels, **settings)
        with pytest.raises(ValueError, match="compares scores, but there are decisions alone"):
            audit.certify(constraint)
