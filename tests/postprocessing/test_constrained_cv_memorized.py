"""Warnings about fitted classifiers that are given their own training data."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skfair.classification import ConstrainedClassifierCV, PartialParityPostprocessor

TREE = DecisionTreeClassifier(max_depth=3, random_state=0)
SHOW = {
    "forest": RandomForestClassifier(60, random_state=0),
    "forest of few leaves": RandomForestClassifier(10, min_samples_leaf=20, random_state=0),
    "extra trees": ExtraTreesClassifier(10, max_features=None, random_state=0),
    "boosted trees": GradientBoostingClassifier(n_estimators=5, random_state=0),
    "boosted histograms": HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=10),
    "tree": TREE,
    "bagged trees": BaggingClassifier(TREE, random_state=0),
    "neighbours": KNeighborsClassifier(20),
    "support vectors": SVC(),
    "pipeline": make_pipeline(StandardScaler(), SVC()),
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    groups = rng.integers(2, size=400)
    X = rng.normal(size=(400, 4)) + groups[:, np.newaxis] * 0.5
    return X, (X[:, 0] + rng.normal(size=400) > 0.5).astype(int), groups


def messages(model, X, y, groups, **params):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, sensitive_features=groups, **params)
    return [str(one.message) for one in caught if "training data of the fitted" in str(one.message)]


def wrap(classifier, **params):
    settings = {"group_estimator": LogisticRegression(), "tolerance": 0.5}
    return ConstrainedClassifierCV(classifier, **settings, **params)


@pytest.mark.slow
@pytest.mark.covering(0)
@pytest.mark.parametrize("classifier", SHOW.values(), ids=SHOW)
def test_training_data_of_a_fitted_classifier_are_recognised(data, classifier):
    X, y, groups = (one[:200] for one in data)
    fitted = classifier.fit(X, y)
    (message,) = messages(wrap(fitted, cv="prefit"), X, y, groups)
    assert re.search("Pass samples that it was not fitted to|, pass others", message)
    assert messages(wrap(FrozenEstimator(fitted)), X, y, groups) == [message]
    # Other samples, or a comparison with the training data, are silent.
    held_out = [one[200:] for one in data]
    assert not messages(wrap(fitted, cv="prefit"), *held_out)
    assert not messages(wrap(fitted, cv="prefit"), *held_out, X_fit=X)
    assert not messages(wrap(classifier, cv=3), X, y, groups)


def test_the_sign_is_named(data):
    X, y, groups = data
    signs = {
        "forest": "every leaf of a tree has as many samples",
        "tree": "every leaf of a tree has as many samples",
        "support vectors": "100% of the samples that the classifier stores",
    }
    for name, sign in signs.items():
        (message,) = messages(wrap(SHOW[name].fit(X, y), cv="prefit"), X, y, groups)
        assert sign in message


def test_new_samples_that_are_easy_to_predict_are_not_called_training_data():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=600)
    X = rng.normal(size=(600, 2)) + 12.0 * y[:, np.newaxis]
    fitted = LogisticRegression().fit(X[:300], y[:300])
    groups = rng.integers(2, size=300)
    (message,) = messages(wrap(fitted, cv="prefit"), X[300:], y[300:], groups)
    assert "X may be the training data" in message
    assert "or easy to predict: it makes no mistake about any of the 300 samples" in message


def test_frames_bags_of_columns_and_classes_without_trees_pass(data):
    X, y, groups = data
    frame = pd.DataFrame(X, columns=list("abcd"))
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*feature names")
        assert messages(wrap(TREE.fit(frame, y), cv="prefit"), frame, y, groups)
        assert messages(wrap(SHOW["bagged trees"].fit(frame, y), cv="prefit"), frame, y, groups)
    bag = BaggingClassifier(TREE, max_features=2, random_state=0).fit(X, y)
    assert not messages(wrap(bag, cv="prefit"), X, y, groups)  # it does not show
    assert not messages(wrap(LogisticRegression().fit(X, y), cv="prefit"), X, y, groups)


@pytest.mark.parametrize("name", ["forest", "boosted histograms"])
def test_three_classes_are_compared_too(data, name):
    X, y, groups = data
    y = y + (X[:, 1] > 0.7)
    fitted = clone(SHOW[name]).fit(X, y)
    assert len(messages(wrap(fitted, cv="prefit"), X, y, groups)) == 1


def test_the_postprocessor_warns_as_well(data):
    X, y, groups = data
    model = PartialParityPostprocessor(SVC().fit(X, y), cv="prefit")
    assert len(messages(model, X, y, groups)) == 1
    assert not messages(model, X, y, groups, X_fit=X[:1] + 9.0)
