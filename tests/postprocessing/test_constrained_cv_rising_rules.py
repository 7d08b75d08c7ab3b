"""Rules rise with the score, and keep decisions of the base where nothing binds."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import FixedThresholdClassifier

from skfair.classification import ConstrainedClassifierCV


def draw(n=4000, seed=0, shift=-3.5):
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b"], n, p=[0.6, 0.4])
    X = rng.normal(size=(n, 4))
    X[:, 0] += 0.8 * (group == "a")
    X[:, 1] += 0.8 * (group == "b")
    y = (X[:, 0] + X[:, 2] + shift + rng.logistic(size=n) > 0).astype(int)
    return X, y, group


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "constraint", ["equal_opportunity", "equalized_odds", "demographic_parity"]
)
def test_each_known_group_has_one_threshold(constraint):
    X, y, group = draw(shift=-5.0)
    model = ConstrainedClassifierCV(
        LogisticRegression(),
        constraint,
        tolerance=0.05,
        class_weight="balanced",
        group_estimator="sensitive_features",
    )
    model.fit(X, y, sensitive_features=group)
    scores, _ = model.rule_inputs(X, sensitive_features=group)
    accepted = model.predict(X, sensitive_features=group) == 1
    for one in "ab":
        inside = group == one
        assert scores[inside & accepted].min() > scores[inside & ~accepted].max()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("constraint", ["equal_opportunity", "demographic_parity"])
@pytest.mark.parametrize("group_estimator", [None, LogisticRegression()])
def test_decisions_rise_with_the_score_at_equal_probabilities(constraint, group_estimator):
    X, y, group = draw()
    model = ConstrainedClassifierCV(
        LogisticRegression(), constraint, tolerance=0.02, group_estimator=group_estimator
    )
    model.fit(X, y, sensitive_features=group)
    assert model.rule_coef_[0] >= 0.0


@pytest.mark.filterwarnings("ignore")
def test_decisions_keep_the_order_of_a_poor_model():
    # Only the place shows the group. The class depends on |x|, which a linear model cannot see,
    # but boosting can: with the log-odds of boosting in the rule the order is .75 to .85.
    rng = np.random.default_rng(0)
    place = rng.integers(2, size=2000)
    group = np.where(rng.random(2000) < 0.85, place, 1 - place)
    X = np.column_stack((rng.normal(size=(2000, 2)), place))
    log_odds = 4.0 * np.abs(X[:, 0]) + 2.0 * X[:, 1] + 3.0 * place - 5.0
    y = (log_odds + rng.logistic(size=2000) > 0).astype(int)
    model = ConstrainedClassifierCV(LogisticRegression(), "equal_opportunity", tolerance=0.02, cv=3)
    model.fit(X, y, sensitive_features=group)
    scores, _ = model.rule_inputs(X)
    accepted = model.predict(X) == 1
    for one in (0, 1):
        assert roc_auc_score(accepted[place == one], scores[place == one]) > 0.99


@pytest.mark.parametrize(
    "base",
    [
        LogisticRegression(),
        LogisticRegression(class_weight="balanced"),
        FixedThresholdClassifier(LogisticRegression(), threshold=0.15),
    ],
)
def test_where_nothing_binds_decisions_are_those_of_the_base(base):
    X, y, group = draw()
    base.fit(X[::2], y[::2])
    model = ConstrainedClassifierCV(base, tolerance=1.0, cv="prefit")
    model.fit(X[1::2], y[1::2], sensitive_features=group[1::2], X_fit=X[::2])
    # A threshold lies somewhere between two scores that were seen.
    assert np.mean(model.predict(X) != base.predict(X)) <= 1e-3


@pytest.mark.filterwarnings("ignore")
def test_a_monotone_model_stays_monotone():
    X, y, group = draw(shift=-0.5)
    base = HistGradientBoostingClassifier(max_iter=10, monotonic_cst=[1, 0, 1, 0], random_state=0)
    model = ConstrainedClassifierCV(base, "equal_opportunity", tolerance=0.03)
    model.fit(X, y, sensitive_features=group)
    accepted = model.predict(X)
    for column in (0, 2):
        raised = X.copy()
        raised[:, column] += 1.0
        assert (model.predict(raised) >= accepted).all()
