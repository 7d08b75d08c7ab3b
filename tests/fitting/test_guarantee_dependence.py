"""Warnings of fits with ``confidence_level`` whose samples belong together."""

import warnings

import numpy as np
import pytest
from sklearn import clone
from sklearn.linear_model import LogisticRegression

from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    ConstrainedMLPClassifier,
    PartialParityClassifier,
    PartialParityPostprocessor,
)

TOGETHER = "Samples seem to belong together"

MODELS = [
    ConstrainedERMClassifier(tolerance=0.3, confidence_level=0.8),
    ConstrainedClassifierCV(
        LogisticRegression(),
        tolerance=0.3,
        confidence_level=0.8,
        group_estimator=LogisticRegression(),
    ),
    PartialParityPostprocessor(LogisticRegression(), tolerance=0.5, confidence_level=0.8),
    pytest.param(
        PartialParityClassifier(tolerance=0.5, confidence_level=0.8), marks=pytest.mark.slow
    ),
    pytest.param(
        ConstrainedMLPClassifier(tolerance=0.3, confidence_level=0.8, random_state=0),
        marks=pytest.mark.slow,
    ),
]


def draw_households(seed, n=400, is_shuffled=False):
    """Households of one to three: members differ in two of eight columns, target and group."""
    rng = np.random.default_rng(seed)
    household = np.repeat(np.arange(n), rng.integers(1, 4, size=n))[:n]
    if is_shuffled:
        household = rng.permutation(household)
    X = np.hstack((rng.normal(size=(n, 6))[household], rng.normal(size=(n, 2))))
    y = (X.sum(axis=1) + 2.0 * rng.logistic(size=n) > 0).astype(int)
    return X, y, rng.integers(2, size=n), household


def warnings_of(model, X, y, sex, **params):
    """Messages of a fit that say that samples belong together."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clone(model).fit(X, y, sensitive_features=sex, **params)
    return [str(one.message) for one in caught if TOGETHER in str(one.message)]


@pytest.mark.covering(1)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("is_shuffled", [False, True])
def test_households_are_warned_of_unless_they_are_declared(model, is_shuffled):
    X, y, sex, household = draw_households(0, is_shuffled=is_shuffled)
    (message,) = warnings_of(model, X, y, sex)
    assert "Pass fit(..., groups=ids)" in message
    assert warnings_of(model, X, y, sex, groups=household) == []


def test_independent_samples_and_fits_without_confidence_are_not_warned_of():
    X, y, sex, household = draw_households(1)
    model = ConstrainedERMClassifier(tolerance=0.3, confidence_level=0.8)
    first = np.unique(household, return_index=True)[1]
    assert warnings_of(model, X[first], y[first], sex[first]) == []
    assert warnings_of(model.set_params(confidence_level=None), X, y, sex) == []


def test_different_ids_declare_that_samples_are_independent():
    X, y, sex, _ = draw_households(2)
    model = ConstrainedERMClassifier(tolerance=0.3, confidence_level=0.8)
    assert warnings_of(model, X, y, sex, groups=np.arange(len(y))) == []


def test_copies_have_one_warning():
    X, y, sex, _ = draw_households(3)
    X, y, sex = (np.concatenate((one, one)) for one in (X, y, sex))
    model = ConstrainedERMClassifier(tolerance=0.3, confidence_level=0.8)
    with pytest.warns(UserWarning, match="50% of the samples repeat"):
        assert warnings_of(model, X, y, sex) == []
        clone(model).fit(X, y, sensitive_features=sex)
