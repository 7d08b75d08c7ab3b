"""The perceptron: its derivatives, its parameters, its rows."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

from skfair._problems import mlp
from skfair._problems.linear import LinearModel
from skfair._problems.mlp import MLPModel
from skfair._problems.model import Model


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return rng.normal(size=(30, 4)) * np.array([1.0, 10.0, 0.1, 1.0]) + np.array([0, 5, 0, -2])


def model_of(X, **settings):
    settings = {"hidden_layer_sizes": (5, 3)} | settings
    return MLPModel.from_features(X, np.ones(X.shape[0]), **settings)


SHAPES = [(), (3,), (5, 3), (4, 3, 2)]


def test_the_model_implements_the_protocol(X):
    assert isinstance(model_of(X), Model)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("sizes", SHAPES)
def test_the_gradient_is_that_of_the_scores(sizes, activation, X):
    model = model_of(X, hidden_layer_sizes=sizes, activation=activation)
    rng = np.random.default_rng(1)
    parameters = model.initial(3)
    slopes = rng.normal(size=len(X))
    gradient = model.evaluate(parameters).pull_back(slopes)
    for _ in range(5):
        direction = 1e-7 * rng.normal(size=model.n_parameters)
        ahead, behind = (model.evaluate(parameters + sign * direction).scores for sign in (1, -1))
        assert 2 * gradient @ direction == pytest.approx(slopes @ (ahead - behind), rel=1e-6)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_chunks_of_rows_give_the_same_scores(container, X, monkeypatch):
    at_once = model_of(X)
    parameters = at_once.initial(0)
    slopes = np.linspace(-1, 1, len(X))
    monkeypatch.setattr(mlp, "_CHUNK_SIZE", 7)
    chunked = model_of(container(X)).evaluate(parameters)
    assert isinstance(chunked, mlp.ChunkedPoint)
    at = mlp.MLPPoint(at_once, parameters)
    np.testing.assert_allclose(chunked.scores, at.scores, atol=1e-14)
    np.testing.assert_allclose(chunked.pull_back(slopes), at.pull_back(slopes), atol=1e-13)
    np.testing.assert_allclose(chunked.hidden, at.hidden, atol=1e-14)


def test_rows_of_a_jacobian_are_gradients(X):
    at = model_of(X).evaluate(model_of(X).initial(0))
    cells = np.zeros((3, len(X)))
    cells[0, :10], cells[2, 5:] = 0.1, np.linspace(0, 1, len(X) - 5)
    rows = at.pull_back_rows(sparse.csr_array(cells))
    np.testing.assert_allclose(rows, [at.pull_back(cell) for cell in cells], atol=1e-14)


def test_a_subset_has_the_scores_of_its_samples(X):
    model = model_of(X)
    parameters = model.initial(0)
    rows = np.array([3, 3, 17])
    scores = model.evaluate(parameters).scores
    np.testing.assert_allclose(
        model.take(rows).evaluate(parameters).scores, scores[rows], atol=1e-14
    )
    thin = model_of(sparse.csr_array(X)).take(rows)
    np.testing.assert_allclose(thin.evaluate(parameters).scores, scores[rows], atol=1e-14)


def test_the_last_layer_is_linear_and_its_parameters_come_last(X):
    model = model_of(X)
    parameters = model.initial(0)
    last = model.last_layer(parameters)
    assert isinstance(last, LinearModel)
    last_layer = parameters[-last.n_parameters :]
    np.testing.assert_allclose(
        last.scores(last_layer), model.evaluate(parameters).scores, atol=1e-14
    )


def test_coefficients_are_those_of_the_original_columns(X):
    model = model_of(X)
    parameters = model.initial(0)
    coefs, intercepts = model.coefficients(parameters)
    hidden = X
    for coef, intercept in zip(coefs[:-1], intercepts[:-1], strict=True):
        hidden = np.maximum(hidden @ coef + intercept, 0.0)
    scores = (hidden @ coefs[-1] + intercepts[-1])[:, 0]
    np.testing.assert_allclose(scores, model.evaluate(parameters).scores, atol=1e-12)
    np.testing.assert_allclose(model.parameters(coefs, intercepts), parameters, atol=1e-12)


def test_initial_parameters_are_those_of_scikit_learn(X):
    plain = MLPClassifier((5, 3), max_iter=1, learning_rate_init=1e-12, random_state=4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        plain.fit(X, np.arange(len(X)) % 2)
    model = model_of(X)
    layers = model.layers(model.initial(4))
    for (weights, biases), *known in zip(layers, plain.coefs_, plain.intercepts_, strict=True):
        np.testing.assert_allclose(weights, known[0], atol=1e-10)
        np.testing.assert_allclose(biases, known[1], atol=1e-10)


def test_single_precision_is_near(X):
    exact = model_of(X)
    single = model_of(X, dtype=np.float32)
    parameters = exact.initial(0)
    slopes = np.linspace(-1, 1, len(X))
    at = single.evaluate(parameters)
    assert at.hidden.dtype == np.float32
    assert at.scores.dtype == at.pull_back(slopes).dtype == np.float64
    np.testing.assert_allclose(at.scores, exact.evaluate(parameters).scores, atol=1e-5)
    np.testing.assert_allclose(
        at.pull_back(slopes), exact.evaluate(parameters).pull_back(slopes), atol=1e-4
    )
    assert exact.astype(np.float32).X.dtype == np.float32


def test_only_weights_are_penalised(X):
    model = model_of(X)
    layers = model.layers(model.ridge(0.5))
    assert all((weights == 0.5).all() and (biases == 0).all() for weights, biases in layers)


def test_a_constant_column_changes_no_score(X):
    X = np.column_stack((X, np.full(len(X), 0.1)))
    model = model_of(X)
    assert np.isfinite(model.X).all()
    np.testing.assert_allclose(model.X[:, -1], 0.0, atol=1e-12)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"activation": "step"}, r"activation must be one of \['relu', 'tanh'\]"),
        ({"hidden_layer_sizes": (3, 0)}, "Every hidden layer needs a unit"),
    ],
)
def test_invalid_networks_are_refused(settings, message, X):
    with pytest.raises(ValueError, match=message):
        model_of(X, **settings)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_columns_of_two_values_are_scaled_by_half_their_distance(container):
    rare = np.arange(50) == 7
    coded = np.where(np.arange(50) % 5, 3.0, -1.0)
    number = np.linspace(0, 1, 50)
    X = np.column_stack((rare, coded, number))
    weights = np.linspace(1, 2, 50)
    model = MLPModel.from_features(container(X), weights)
    share = weights / weights.sum()
    spread = np.sqrt(share @ (number - share @ number) ** 2)
    np.testing.assert_allclose(model.scale, [0.5, 2.0, spread])
    np.testing.assert_allclose(model.center, share @ X)
