"""Small classifiers of groups: which columns they screen, and what the default takes."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from skfair.classification import ConstrainedClassifierCV
from skfair.postprocessing import _group_models as group_models
from skfair.postprocessing._group_models import (
    ScreenedClassifier,
    default_model_names,
    fit_classifier,
    pilot_rows,
)

N_COLUMNS = 100


def draw(n_samples=2000, seed=0):
    """Columns of noise, and groups."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_samples, N_COLUMNS)), rng.integers(2, size=n_samples), rng


def hide_in_mean(X, group, rng):
    X[:, 7] += group


def hide_in_spread(X, group, rng):
    X[:, 7] *= 1.0 + 2.0 * group


def hide_in_product(X, group, rng):
    X[:, 3] += 0.5 * group
    X[:, 7] = np.abs(X[:, 7]) * np.where(group == 1, 1.0, -1.0) * np.sign(X[:, 3])


HIDDEN = [hide_in_mean, hide_in_spread, hide_in_product]


def fit(kind, X, group, weights=None):
    weights = np.ones(len(X)) if weights is None else weights
    return fit_classifier(kind, X, group, weights)


@pytest.mark.parametrize("hide", HIDDEN)
def test_screened_columns_show_the_group(hide):
    X, group, rng = draw()
    hide(X, group, rng)
    classifier = fit("screened", X[:1500], group[:1500])
    assert 7 in classifier.columns
    assert classifier.steps.shape[0] == 0
    chances = classifier.predict_proba(X[1500:])
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    accuracy = np.mean(chances.argmax(axis=1) == group[1500:])
    # Rates of the best rules: Phi(1/2) = .69 of one mean, about .76 of spreads of 1 and 3.
    assert accuracy > {hide_in_mean: 0.65, hide_in_spread: 0.7, hide_in_product: 0.9}[hide]


def test_steps_show_what_is_not_linear():
    X, group, rng = draw(3000)
    # The signs of ten columns show the group, their sizes are noise of long tails.
    agrees = rng.random((3000, 10)) < 0.65
    signs = np.where(agrees, 2 * group[:, np.newaxis] - 1, 1 - 2 * group[:, np.newaxis])
    X[:, :10] = signs * rng.lognormal(sigma=2.0, size=(3000, 10))
    classifier = fit("screened", X[:1500], group[:1500])
    assert classifier.steps.shape == (5, len(classifier.columns) + classifier.pairs.shape[1])
    accuracy = np.mean(classifier.predict_proba(X[1500:]).argmax(axis=1) == group[1500:])
    # The best rule counts the signs, and is right where most of ten agree: with probability .83.
    linear = LogisticRegression().fit(X[:1500, :10], group[:1500])
    assert linear.score(X[1500:, :10], group[1500:]) + 0.02 < accuracy < 0.86


@pytest.mark.parametrize("kind", ["dense", "screened"])
def test_weights_count_as_copies(kind):
    X, group, rng = draw(400)
    hide_in_mean(X, group, rng)
    copies = rng.integers(1, 4, size=len(X))
    rows = np.repeat(np.arange(len(X)), copies)
    weighted, repeated = fit(kind, X, group, copies.astype(float)), fit(kind, X[rows], group[rows])
    if kind == "screened":
        np.testing.assert_array_equal(weighted.columns, repeated.columns)
    difference = weighted.predict_proba(X) - repeated.predict_proba(X)
    assert np.abs(difference).max() < 0.05  # fits end early


def test_large_columns_are_scaled_and_small_ones_are_not():
    X, group, rng = draw()
    X[:, 5] += group
    expected = fit("dense", X, group).predict_proba(X)
    larger = X.copy()
    larger[:, 5] = 1e5 * X[:, 5] + 3e5
    assert np.abs(fit("dense", larger, group).predict_proba(larger) - expected).max() < 0.05
    smaller = X.copy()
    smaller[:, 5] *= 1e-4
    chances = fit("dense", smaller, group).predict_proba(smaller)[:, 1]
    assert np.ptp(chances) < np.ptp(expected[:, 1])


@pytest.mark.parametrize("column", [np.zeros, np.ones])
def test_constant_columns_do_no_harm(column):
    X, group, rng = draw(300)
    hide_in_mean(X, group, rng)
    X[:, 10:] = column((300, N_COLUMNS - 10))
    for kind in ("dense", "screened"):
        assert np.isfinite(fit(kind, X, group).predict_proba(X)).all()


def test_single_precision_finds_the_same_columns():
    X, group, rng = draw()
    hide_in_product(X, group, rng)
    double, single = (fit("screened", one, group) for one in (X, X.astype(np.float32)))
    np.testing.assert_array_equal(single.columns, double.columns)
    np.testing.assert_array_equal(single.pairs, double.pairs)


def test_the_default_depends_on_the_columns():
    X = np.zeros((10, 64))
    assert default_model_names(X) == ["boosted", "linear"]
    assert default_model_names(np.zeros((10, 65))) == ["dense", "screened"]
    assert default_model_names(sparse.csr_array(X)) == ["linear"]
    assert default_model_names(np.full((10, 65), np.nan)) == ["boosted"]


def test_few_entries_decide():
    rows = np.arange(10_000)
    assert pilot_rows(rows, 20) is rows
    pilot = pilot_rows(rows, 1000)
    assert len(pilot) == 2000
    assert len(np.unique(pilot)) == 2000


@pytest.mark.parametrize("hide", HIDDEN)
@pytest.mark.parametrize("confidence_level", [None, 0.5])
def test_wide_data_keep_the_tolerance_out_of_sample(hide, confidence_level):
    X, group, rng = draw(6000, seed=1)
    hide(X, group, rng)
    skill = rng.normal(size=6000)
    X[:, 0] += 3.0 * (skill + 0.8 * group)
    y = skill + 0.8 * group + 0.5 * rng.normal(size=6000) > 0.4
    train, test = slice(0, 2000), slice(2000, None)
    model = ConstrainedClassifierCV(
        LogisticRegression(C=0.1), tolerance=0.05, confidence_level=confidence_level
    )
    model.fit(X[train], y[train], sensitive_features=group[train])
    assert len(model.estimators_) == 3
    decisions = model.predict(X[test])
    rates = [decisions[group[test] == one].mean() for one in (0, 1)]
    assert abs(rates[0] - rates[1]) < 0.05 + 0.05  # two standard errors of new and old samples
    assert np.mean(decisions == y[test]) > 0.6


def test_a_screened_classifier_is_stored_without_classes_of_its_own():
    X, group, rng = draw(1000)
    hide_in_spread(X, group, rng)
    X[:, 0] += 3.0 * group
    model = ConstrainedClassifierCV(LogisticRegression(), tolerance=0.02)
    model.fit(X, X[:, 0] > 1.0, sensitive_features=group)
    state = repr(model.__getstate__())
    assert "'ScreenedClassifier'" in state
    assert "ScreenedClassifier(" not in state
    assert group_models.ScreenedClassifier is ScreenedClassifier


def test_wide_lists_and_frames_give_the_model_of_arrays():
    X, group, rng = draw(600)
    X[:, 0] += 3.0 * group
    y = X[:, 0] + rng.normal(size=600) > 1.0
    settings = {"tolerance": 0.05, "cv": 2}
    predicted = [
        ConstrainedClassifierCV(LogisticRegression(), **settings)
        .fit(one, y, sensitive_features=group)
        .predict(one)
        for one in (X, X.tolist(), pd.DataFrame(X))
    ]
    np.testing.assert_array_equal(predicted[0], predicted[1])
    np.testing.assert_array_equal(predicted[0], predicted[2])


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_models_of_wide_frames_know_the_names_of_columns(scale):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 80)) * np.r_[scale, np.ones(79)]).add_prefix("c")
    target = (X["c1"] > 0).astype(int).to_numpy()
    classifier = group_models.fit_classifier("dense", X, target, np.ones(300))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        of_frame = classifier.predict_proba(X)
    unnamed = group_models.fit_classifier("dense", X.to_numpy(), target, np.ones(300))
    np.testing.assert_array_equal(of_frame, unnamed.predict_proba(X.to_numpy()))
