"""Small logistic regressions, compared with scikit-learn's."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from skfair._postprocessing.logistic import fit_logistic, fit_standardized_logistic


def draw(n_labels, n_columns, seed=0, n_samples=400):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_columns))
    scores = X[:, :2] @ rng.normal(size=(2, n_labels)) + rng.gumbel(size=(n_samples, n_labels))
    return X, scores.argmax(axis=1), rng.uniform(0.2, 3.0, size=n_samples)


@pytest.mark.covering(1)
@pytest.mark.parametrize("n_labels", [2, 3, 4])
@pytest.mark.parametrize("n_columns", [3, 70])  # Newton's method, L-BFGS
@pytest.mark.parametrize("penalty", [0.1, 1e-3])
def test_probabilities_are_those_of_scikit_learn(n_labels, n_columns, penalty):
    X, y, weights = draw(n_labels, n_columns)
    model = fit_logistic(X, y, weights, penalty, tol=1e-9, max_iter=1000)
    peer = LogisticRegression(C=1.0 / (penalty * weights.sum()), tol=1e-9, max_iter=1000)
    expected = peer.fit(X, y, sample_weight=weights).predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-5)
    np.testing.assert_array_equal(model.classes_, np.unique(y))


@pytest.mark.covering(1)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_columns", [3, 70])
def test_sparse_and_single_precision_give_the_same_model(n_columns, seed):
    X, y, weights = draw(3, n_columns, seed)
    X[np.abs(X) < 0.5] = 0.0
    expected = fit_logistic(X, y, weights, 0.01, tol=1e-6, scale=2.0).predict_proba(X)
    # Sums in single precision end the line searches of L-BFGS a little early.
    for other, accuracy in ((sparse.csr_array(X), 1e-4), (X.astype(np.float32), 5e-4)):
        model = fit_logistic(other, y, weights, 0.01, tol=1e-6, scale=2.0)
        np.testing.assert_allclose(model.predict_proba(other), expected, atol=accuracy)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_scales_and_constant_columns_change_nothing(dtype):
    X, y, weights = draw(3, 5)
    expected = fit_standardized_logistic(X, y, weights, 0.01, tol=1e-7).predict_proba(X)
    other = np.column_stack((1e3 * X + 5e3, np.full(len(X), 0.1), np.zeros(len(X)))).astype(dtype)
    model = fit_standardized_logistic(other, y, weights, 0.01, tol=1e-7)
    np.testing.assert_allclose(model.predict_proba(other), expected, atol=1e-3)


def test_separable_labels_end():
    X, _, weights = draw(2, 2)
    y = (X[:, 0] > 0).astype(int)
    model = fit_logistic(X, y, weights, 1e-8)
    assert (model.predict_proba(X).argmax(axis=1) == y).all()
    assert np.isfinite(model.coef).all()


@pytest.mark.parametrize("n_labels", [2, 3])
def test_expected_counts_are_those_of_the_labels(n_labels):
    X, y, weights = draw(n_labels, 4)
    chances = fit_standardized_logistic(X, y, weights, 1e-3, tol=1e-8).predict_proba(X)
    counts = np.bincount(y, weights)
    np.testing.assert_allclose(weights @ chances, counts, atol=1e-5 * weights.sum())


def test_constant_scores_give_the_share_of_the_class():
    _, y, weights = draw(2, 3)
    noise = 1e-14 * np.random.default_rng(0).normal(size=len(y))
    for column in (np.full(len(y), 0.3), np.full(len(y), 1e6) + 1e6 * noise, noise):
        model = fit_standardized_logistic(column[:, np.newaxis], y, weights, 1e-6, tol=1e-8)
        chances = model.predict_proba(column[:, np.newaxis])[:, 1]
        np.testing.assert_allclose(chances, np.average(y, weights=weights), atol=1e-4)
