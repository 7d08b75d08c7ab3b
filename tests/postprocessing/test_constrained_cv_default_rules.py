"""Default rules of small data: bounds, exported rules, folds, weights and kinds of input."""

import itertools
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from skfair.classification import ConstrainedClassifierCV
from skfair.constraints import DemographicParity, MinimumRate
from skfair.metrics import METRICS

BASE = LogisticRegression()


def draw(n_samples=1200, seed=0, names="abc"):
    rng = np.random.default_rng(seed)
    code = rng.choice(3, p=[0.5, 0.3, 0.2], size=n_samples)
    X = rng.normal(size=(n_samples, 4))
    X[:, 0] += code == 1
    X[:, 1] -= code == 2
    y = (X[:, 0] + X[:, 1] + rng.logistic(size=n_samples) > 0.3).astype(int)
    return X, y, np.array(list(names))[code]


def fit(data, constraint="demographic_parity", estimator=BASE, **params):
    X, y, group = data
    model = ConstrainedClassifierCV(estimator, constraint, **params)
    return model.fit(X, y, sensitive_features=group)


@pytest.fixture(scope="module")
def data():
    return draw()


CONSTRAINTS = [
    "demographic_parity",
    "equal_opportunity",
    "false_positive_rate_parity",
    "equalized_odds",
    "error_rate_parity",
    MinimumRate("true_positive_rate", 0.7),
    DemographicParity(ratio=0.8),
    ["demographic_parity", "equal_opportunity"],
]


@pytest.mark.filterwarnings("ignore:.*hardly any positives")
@pytest.mark.filterwarnings("ignore:The rule :skfair.exceptions.ConstraintCostWarning")
@pytest.mark.slow
@pytest.mark.covering(0)
@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=str)
def test_counted_decisions_keep_the_tolerance(data, constraint):
    model = fit(data, constraint)
    assert model.constraint_violation_ == 0.0
    assert model.status_ in ("optimal", "feasible")
    X, y, _ = data
    constant = max(y.mean(), 1.0 - y.mean())
    assert np.mean((model.oof_decision_function_ > 0) == y) > constant


@pytest.mark.filterwarnings("ignore:.*hardly any positives")
@pytest.mark.filterwarnings("ignore:The rule :skfair.exceptions.ConstraintCostWarning")
@pytest.mark.slow
def test_the_rule_that_is_exported_decides_as_predict_does(data):
    X, _, _ = data
    for params in ({}, {"constraint": "equalized_odds"}, {"pos_label": 0}, {"ensemble": False}):
        model = fit(data, **params)
        rule = json.loads(json.dumps(model.export_rule()))
        scores, probabilities = model.rule_inputs(X)
        # The formula of the documentation.
        z = rule["slope"] * scores + rule["offset"]
        terms = np.stack([np.ones_like(z), expit(z), z, z * expit(z)])
        moved = np.einsum("ti,ieg,teg->i", terms, probabilities, rule["weights"])
        total = rule["log_odds"] * z + rule["intercept"] + moved
        np.testing.assert_array_equal(total > 0, model.predict(X) == rule["pos_label"])


@pytest.mark.filterwarnings("ignore:.*hardly any positives")
@pytest.mark.filterwarnings("ignore:The rule :skfair.exceptions.ConstraintCostWarning")
@pytest.mark.slow
def test_probabilities_agree_with_decisions(data):
    X, y, _ = data
    for constraint in ("demographic_parity", "equalized_odds"):
        model = fit(data, constraint)
        probability = model.predict_proba(X)
        np.testing.assert_allclose(probability.sum(axis=1), 1.0)
        np.testing.assert_array_equal(probability.argmax(axis=1), model.predict(X))


@pytest.mark.filterwarnings("ignore:The rule :skfair.exceptions.ConstraintCostWarning")
@pytest.mark.slow
def test_names_of_groups_do_not_matter(data):
    X = data[0]
    first, second = (fit(draw(names=names)).decision_function(X) for names in ("abc", "zxy"))
    np.testing.assert_array_equal(first, second)


@pytest.mark.filterwarnings("ignore:The rule :skfair.exceptions.ConstraintCostWarning")
@pytest.mark.slow
def test_other_folds_change_few_decisions():
    sample = draw(4000, 2)
    X = draw(10_000, 3)[0]
    decisions = [
        fit(sample, cv=StratifiedKFold(5, shuffle=True, random_state=seed)).predict(X)
        for seed in range(3)
    ]
    changes = [np.mean(one != other) for one, other in itertools.combinations(decisions, 2)]
    assert np.mean(changes) <= 0.1
    assert max(changes) <= 0.12


@pytest.mark.filterwarnings("ignore:The rule :skfair.exceptions.ConstraintCostWarning")
@pytest.mark.slow
def test_weights_count_as_repeated_samples(data):
    X, y, group = data
    weights = np.where(np.arange(len(y)) % 4 == 0, 2.0, 1.0)
    model = ConstrainedClassifierCV(BASE, tolerance=0.05)
    model.fit(X, y, sensitive_features=group, sample_weight=weights)
    gap = METRICS["demographic_parity_difference"](
        y,
        (model.oof_decision_function_ > 0).astype(int),
        sensitive_features=group,
        sample_weight=weights,
    )
    assert gap <= 0.05


@pytest.mark.filterwarnings("ignore:The rule :skfair.exceptions.ConstraintCostWarning")
@pytest.mark.slow
def test_input_of_any_kind():
    X, y, group = draw(600)
    frame = pd.DataFrame(X, columns=list("pqrs"))
    plain = fit((X, y, group)).predict(X)
    with_names = fit((frame, y, group))
    np.testing.assert_array_equal(with_names.predict(frame), plain)
    labels = fit((X, np.array(["no", "yes"])[y], group), pos_label="yes")
    np.testing.assert_array_equal(labels.predict(X) == "yes", plain == 1)
    thin = sparse.csr_array(X)
    assert fit((thin, y, group)).predict(thin).shape == (600,)
    # Missing values and categories are left to the trees.
    boosting = HistGradientBoostingClassifier(max_iter=5, random_state=0)
    missing = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    assert fit((missing, y, group), estimator=boosting).constraint_violation_ == 0.0
    frame["t"] = pd.Categorical(np.where(X[:, 0] > 0, "high", "low"))
    assert fit((frame, y, group), estimator=boosting).constraint_violation_ == 0.0
    again = pickle.loads(pickle.dumps(with_names))
    np.testing.assert_array_equal(again.predict(frame.drop(columns="t")), plain)


@pytest.mark.filterwarnings("ignore:The rule :skfair.exceptions.ConstraintCostWarning")
@pytest.mark.filterwarnings("ignore:.*hardly any positives")
@pytest.mark.slow
@pytest.mark.parametrize(
    "constraint", ["demographic_parity", "equal_opportunity", "equalized_odds"]
)
@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_sums_in_memory_decides_nothing(constraint, seed):
    X, y, group = draw(800, seed)
    plain = fit((X, y, group), constraint, tolerance=0.05).predict(X)
    by_column = np.asfortranarray(X)
    moved = fit((by_column, y, group), constraint, tolerance=0.05).predict(by_column)
    np.testing.assert_array_equal(moved, plain)
