"""Margins of several linear models against argmax and finite differences."""

import numpy as np
import pytest
from scipy import sparse

from skfair._problems.linear import ArgmaxModel
from skfair._problems.model import Model


@pytest.fixture
def case():
    rng = np.random.default_rng(0)
    columns = [rng.normal(size=(25, part_of_class)) for part_of_class in (2, 1, 3)]
    model = ArgmaxModel.from_features(columns, rng.random(25) + 0.1)
    return columns, model, rng.normal(size=model.n_parameters), rng


def test_just_the_class_of_the_largest_score_leads(case):
    columns, model, parameters, _ = case
    coef, intercept = model.coefficients(parameters)
    scores = np.column_stack(
        [
            X @ part_of_class + b
            for X, part_of_class, b in zip(columns, coef, intercept, strict=True)
        ]
    )
    np.testing.assert_allclose(model.class_scores(parameters), scores)
    leads = model.evaluate(parameters).scores.reshape(3, 25).T
    for k in range(3):
        np.testing.assert_allclose(leads[:, k], scores[:, k] - np.delete(scores, k, 1).max(axis=1))
    np.testing.assert_array_equal(leads > 0, np.eye(3, dtype=bool)[scores.argmax(axis=1)])


def test_ties_between_classes_give_the_first(case):
    _, model, _, _ = case
    leads = model.evaluate(np.zeros(model.n_parameters)).scores.reshape(3, 25)
    assert (leads[0] > 0).all()
    assert not (leads[1:] > 0).any()


def test_derivatives_are_those_of_the_margins(case):
    _, model, parameters, rng = case
    slopes = rng.normal(size=75)
    step = 1e-7
    point = model.evaluate(parameters)
    numeric = [
        (
            model.evaluate(parameters + step * unit).scores
            - model.evaluate(parameters - step * unit).scores
        )
        / (2 * step)
        for unit in np.eye(model.n_parameters)
    ]
    np.testing.assert_allclose(point.pull_back(slopes), numeric @ slopes, atol=1e-6)
    rows = sparse.csr_array(rng.normal(size=(4, 75)) * (rng.random((4, 75)) < 0.3))
    np.testing.assert_allclose(point.pull_back_rows(rows), rows @ np.transpose(numeric), atol=1e-6)
    weights = rng.normal(size=75)
    gram = (np.array(numeric) * weights) @ np.transpose(numeric)
    np.testing.assert_allclose(point.gram(weights), gram, atol=1e-5)


def test_margins_of_a_subset(case):
    _, model, parameters, rng = case
    rows = np.array([70, 3, 3, 40])
    subset = model.take(rows).evaluate(parameters)
    at_once = model.evaluate(parameters)
    np.testing.assert_array_equal(subset.scores, at_once.scores[rows])
    slopes = rng.normal(size=4)
    spread = np.bincount(rows, slopes, minlength=75)
    np.testing.assert_allclose(subset.pull_back(slopes), at_once.pull_back(spread), atol=1e-12)
    again = model.take(rows).take(np.array([2, 0])).evaluate(parameters)
    np.testing.assert_array_equal(again.scores, at_once.scores[[3, 70]])


def test_margins_along_a_line_predict_every_decision(case):
    _, model, parameters, rng = case
    scores = model.evaluate(parameters).scores
    for direction in model.lines(rng.normal(size=model.n_parameters)):
        start, slopes = model.orient_flips(scores, model.scores(direction))
        for length in (-3.0, -0.4, 0.0, 0.2, 1.7, 9.0):
            moved = model.evaluate(parameters + length * direction).scores
            np.testing.assert_array_equal(start + length * slopes > 0, moved > 0)
    np.testing.assert_allclose(sum(model.lines(parameters)), parameters)


def test_the_intercepts_direction_is_that_of_each_class_in_turn(case):
    _, model, _, _ = case
    for k, direction in enumerate(model.lines(model.intercept_direction())):
        np.testing.assert_array_equal(model.scores(direction), np.repeat(np.arange(3) == k, 25))


def test_constants_decide_for_one_class(case):
    _, model, _, _ = case
    for k, parameters in enumerate(model.constants()):
        assert (model.class_scores(parameters).argmax(axis=1) == k).all()


def test_parameters_and_penalty(case):
    _, model, parameters, _ = case
    assert isinstance(model, Model)
    coef, intercept = model.coefficients(parameters)
    np.testing.assert_allclose(model.parameters(coef, intercept), parameters, atol=1e-12)
    squares = sum((part_of_class**2).sum() for part_of_class in coef)
    assert model.ridge(0.3) @ parameters**2 == pytest.approx(0.3 * squares)
    starts = model.coefficients(model.initial())[0]
    assert [part_of_class.tolist() for part_of_class in starts] == [[1, 0], [1], [1, 0, 0]]
    assert model.last_layer(parameters) is model


def test_two_classes_are_one_score_and_its_mirror_image(case):
    columns, _, _, rng = case
    two = ArgmaxModel.from_features(columns[:2], np.ones(25))
    first, second = two.evaluate(rng.normal(size=two.n_parameters)).scores.reshape(2, 25)
    np.testing.assert_array_equal(first, -second)
