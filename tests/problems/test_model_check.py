from dataclasses import replace

import numpy as np
import pytest

from skfair._problems.linear import ArgmaxModel, GroupInterceptsModel, GroupwiseModel, LinearModel
from skfair._problems.mlp import MLPModel
from tests.problems.check import check_model

RNG = np.random.default_rng(0)
X = RNG.normal(size=(24, 3))
WEIGHTS = np.ones(24)
CODES = np.arange(24) % 2
MODELS = {
    "linear": LinearModel.from_features(X, WEIGHTS),
    "no intercept": LinearModel.from_features(X, WEIGHTS, fit_intercept=False),
    "far": LinearModel.from_features(X + [1e6, 0, 0], WEIGHTS),
    "groupwise": GroupwiseModel.from_features(X, CODES, WEIGHTS),
    "intercepts": GroupInterceptsModel.from_features(X, CODES, WEIGHTS),
    "classes": ArgmaxModel.from_features([X, X[:, :2], X[:, 1:]], WEIGHTS),
    "network": MLPModel.from_features(X, WEIGHTS, hidden_layer_sizes=(4, 3)),
    "tanh": MLPModel.from_features(X, WEIGHTS, hidden_layer_sizes=(4,), activation="tanh"),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_of_this_package_pass(name):
    check_model(MODELS[name])


class Doubled(LinearModel):
    def pull_back(self, slopes):
        return 2.0 * super().pull_back(slopes)


class Shifted(LinearModel):
    def take(self, rows):
        return super().take(np.roll(rows, 1))


class Unpenalized(LinearModel):
    def ridge(self, alpha):
        return np.zeros(1)


class Heavy(LinearModel):
    def gram(self, weights):
        return super().gram(np.abs(weights) + 1.0)


@pytest.mark.parametrize(
    "kind, match",
    [
        (Doubled, r"Doubled: pull_back\(slopes\) is .* must be"),
        (Shifted, r"Shifted: take\(rows\), whose scores is .* at \(\d+,\)"),
        (Unpenalized, r"shape of ridge\(alpha\) is 1 .* must be 4|must have shape"),
        (Heavy, r"Heavy: gram\(weights\) is"),
    ],
)
def test_mistakes_are_named(kind, match):
    with pytest.raises(ValueError, match=match):
        check_model(kind.from_features(X, WEIGHTS))


def test_scores_of_two_axes_are_refused():
    class Columns(LinearModel):
        def evaluate(self, parameters):
            return super().evaluate(parameters)._replace(scores=np.zeros((24, 1)))

    with pytest.raises(ValueError, match="number of axes of the scores is 2"):
        check_model(replace(Columns.from_features(X, WEIGHTS)))
