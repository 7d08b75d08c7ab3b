"""Coefficients or intercepts by group against the columns that they stand for."""

import numpy as np
import pytest
from scipy import sparse

from skfair._problems.linear import GroupInterceptsModel, GroupwiseModel, LinearModel
from skfair._problems.model import Model


@pytest.fixture(params=[GroupwiseModel, GroupInterceptsModel])
def case(request):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3)) + 2.0
    codes = np.arange(30) % 2
    model = request.param.from_features(X, codes, np.ones(30))
    return X, codes, model, rng.normal(size=model.n_parameters), rng


def test_scores_are_those_of_one_linear_model_per_group(case):
    X, codes, model, parameters, _ = case
    coef, intercept = model.coefficients(parameters)
    assert coef.shape == ((2, 3) if isinstance(model, GroupwiseModel) else (3,))
    by_group = np.broadcast_to(coef, (2, 3))
    expected = np.einsum("ij,ij->i", X, by_group[codes]) + intercept[codes]
    np.testing.assert_allclose(model.scores(parameters), expected)


def test_pull_backs_and_gram_are_those_of_the_design_matrix(case):
    _, _, model, _, rng = case
    design = np.array([model.scores(unit) for unit in np.eye(model.n_parameters)]).T
    slopes = rng.normal(size=30)
    weights = rng.random(30)
    rows = sparse.csr_array(rng.normal(size=(5, 30)) * (rng.random((5, 30)) < 0.4))
    np.testing.assert_allclose(model.pull_back(slopes), design.T @ slopes, atol=1e-12)
    np.testing.assert_allclose(model.pull_back_rows(rows), rows @ design, atol=1e-12)
    np.testing.assert_allclose(model.gram(weights), (design.T * weights) @ design, atol=1e-12)


def test_the_penalty_is_on_coefficients_alone(case):
    _, _, model, parameters, _ = case
    coef, _ = model.coefficients(parameters)
    assert model.ridge(0.3) @ parameters**2 == pytest.approx(0.3 * (coef**2).sum())


def test_parameters_and_coefficients_are_inverse(case):
    _, _, model, parameters, _ = case
    again = model.parameters(*model.coefficients(parameters))
    np.testing.assert_allclose(again, parameters, atol=1e-12)


def test_the_intercept_direction_adds_a_constant_to_all_scores(case):
    X, codes, model, _, _ = case
    np.testing.assert_allclose(model.scores(model.intercept_direction()), np.ones(30))


def test_without_intercepts_there_is_no_intercept_direction():
    X = np.random.default_rng(0).normal(size=(30, 3))
    codes = np.arange(30) % 2
    without = GroupwiseModel.from_features(X, codes, np.ones(30), fit_intercept=False)
    assert without.intercept_direction() is None


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("rows", [[3, 1, 1, 28, 7], [2, 4, 6], []])
def test_a_subset_has_the_scores_of_its_samples(case, container, rows):
    X, codes, made, parameters, rng = case
    model = type(made).from_features(container(X), codes, np.ones(30))
    rows = np.array(rows, dtype=int)
    taken = model.take(rows)
    np.testing.assert_allclose(taken.evaluate(parameters).scores, model.scores(parameters)[rows])
    slopes = rng.normal(size=len(rows))
    spread = np.bincount(rows, slopes, minlength=30)
    np.testing.assert_allclose(taken.pull_back(slopes), model.pull_back(spread), atol=1e-12)
    np.testing.assert_allclose(taken.gram(slopes), model.gram(spread), atol=1e-12)


def test_scores_are_linear_in_the_parameters(case):
    _, _, model, parameters, rng = case
    assert isinstance(model, Model)
    assert model.last_layer(parameters) is model
    direction = rng.normal(size=model.n_parameters)
    moved = model.evaluate(parameters + direction).scores - model.evaluate(parameters).scores
    np.testing.assert_allclose(
        model.evaluate(parameters).push_forward(direction), moved, atol=1e-12
    )


def test_one_group_is_one_linear_model(case):
    X, _, made, _, rng = case
    alone = type(made).from_features(X, np.zeros(30, dtype=int), np.ones(30))
    linear = LinearModel.from_features(X, np.ones(30))
    parameters = rng.normal(size=linear.n_parameters)
    np.testing.assert_allclose(
        alone.evaluate(parameters).scores, linear.evaluate(parameters).scores
    )
