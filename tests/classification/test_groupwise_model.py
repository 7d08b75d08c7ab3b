"""One linear model per group against the cross terms that it stands for."""

import numpy as np
import pytest
from scipy import sparse

from skfair.classification._groupwise_model import GroupwiseModel


@pytest.fixture
def case():
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(30, 3)), np.arange(30) % 2
    model = GroupwiseModel.standardized(X, codes, np.ones(30))
    return X, codes, model, rng.normal(size=model.n_parameters), rng


def test_scores_are_those_of_each_groups_own_model(case):
    X, codes, model, parameters, _ = case
    coef, intercept = model.coefficients(parameters)
    assert coef.shape == (2, 3)
    expected = np.einsum("ij,ij->i", X, coef[codes]) + intercept[codes]
    np.testing.assert_allclose(model.scores(parameters), expected)


def test_pull_backs_and_gram_are_those_of_the_design_matrix(case):
    _, _, model, _, rng = case
    design = np.array([model.scores(unit) for unit in np.eye(model.n_parameters)]).T
    slopes, weights = rng.normal(size=30), rng.random(30)
    rows = sparse.random_array((5, 30), density=0.4, rng=rng, format="csr")
    np.testing.assert_allclose(model.pull_back(slopes), design.T @ slopes, atol=1e-12)
    np.testing.assert_allclose(model.pull_back_rows(rows), rows @ design, atol=1e-12)
    np.testing.assert_allclose(model.gram(weights), (design.T * weights) @ design, atol=1e-12)


def test_the_penalty_is_on_coefficients_alone(case):
    _, _, model, parameters, _ = case
    coef, _ = model.coefficients(parameters)
    assert model.ridge(0.3) @ parameters**2 == pytest.approx(0.3 * (coef**2).sum())
