"""PartialParityRegressor: what it promises."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge

from skfair.constraints import PartialDemographicParity
from skfair.exceptions import MissingSensitiveFeaturesWarning
from skfair.metrics import (
    partial_demographic_parity_difference,
    partial_statistical_parity_difference,
)
from skfair.regression import PartialParityRegressor

INTERVAL = (0.1, 0.5)


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    sex = rng.integers(2, size=1000)
    X = rng.normal(size=(1000, 4))
    X[:, 0] += sex
    return X, 300.0 + 50.0 * X.sum(axis=1) + 20.0 * rng.normal(size=1000), sex


def fitted(people, *args, **settings):
    X, y, sex = people
    interval = None if args else INTERVAL
    settings = {"interval": interval, "tolerance": 0.1} | settings
    return PartialParityRegressor(*args, **settings).fit(X, y, sensitive_features=sex)


@pytest.mark.parametrize("loss", ["squared", "absolute"])
@pytest.mark.parametrize("interactions", [False, True])
def test_the_tolerance_is_kept_and_used(people, loss, interactions):
    X, y, sex = people
    model = fitted(people, loss=loss, group_interactions=interactions)
    predictions = model.predict(X, sensitive_features=sex)
    found = partial_statistical_parity_difference(
        predictions, sensitive_features=sex, interval=INTERVAL
    )
    assert 0.09 <= found <= 0.1
    assert np.corrcoef(predictions, y)[0, 1] > 0.5


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_a_ramp_that_rules_out_every_model_is_made_narrower(seed):
    """Of few people the first, wide ramp says that nothing keeps the tolerance."""
    rng = np.random.default_rng(seed)
    sex, X = rng.integers(0, 2, 300), rng.normal(size=(300, 3))
    X[:, 0] += sex
    y = X.sum(axis=1) + rng.logistic(size=300) > 0.5
    model = PartialParityRegressor(tolerance=0.2).fit(X, y, sensitive_features=sex)
    assert model.constraint_violation_ == 0.0


def test_shares_above_a_threshold_are_alike(people):
    X, _, sex = people
    model = fitted(people, PartialDemographicParity((0.0, 0.8), threshold=350.0))
    found = partial_demographic_parity_difference(
        model.predict(X), sensitive_features=sex, interval=(0.0, 0.8), threshold=350.0
    )
    assert found <= 0.1
    assert model.constraint_violation_ == 0.0


def test_the_plain_fit_is_ridge_regression(people):
    X, y, _ = people
    model = fitted(people, tolerance=1.0, alpha=0.01)
    ridge = Ridge(alpha=0.01 * len(y)).fit(X, y)
    np.testing.assert_allclose(model.coef_, ridge.coef_, rtol=1e-5)
    assert model.intercept_ == pytest.approx(ridge.intercept_)
    assert model.score(X, y) == pytest.approx(ridge.score(X, y))


def test_the_unit_of_the_target_does_not_matter(people):
    X, y, sex = people
    model = fitted(people)
    other = clone(model).fit(X, 1e3 * y - 7.0, sensitive_features=sex)
    np.testing.assert_allclose(other.coef_, 1e3 * model.coef_, rtol=1e-6)
    np.testing.assert_allclose(other.thresholds_, 1e3 * model.thresholds_ - 7.0, rtol=1e-6)


def test_without_groups_the_fit_is_plain_and_says_so(people):
    X, y, _ = people
    with pytest.warns(MissingSensitiveFeaturesWarning):
        model = PartialParityRegressor().fit(X, y)
    assert model.status_ == "unconstrained"
