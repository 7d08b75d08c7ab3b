"""PartialParityRegressor: tolerances, and the plain fit."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge

from skfair._bound.units import Unit, make_terms
from skfair._groups.groups import check_groups
from skfair.audit import Audit
from skfair.constraints import (
    LossParity,
    PartialDemographicParity,
    PartialEqualizedOdds,
    PartialGroupAUC,
    PartialStatisticalParity,
)
from skfair.constraints._constraint import bind_all
from skfair.groups import Samples
from skfair.losses import AbsoluteLoss
from skfair.metrics import (
    partial_demographic_parity_difference,
    partial_statistical_parity_difference,
)
from skfair.regression import ConstrainedERMRegressor, PartialParityRegressor
from skfair.surrogates import Sigmoid

INTERVAL = (0.1, 0.5)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    sex = rng.integers(2, size=1000)
    X = rng.normal(size=(1000, 4))
    X[:, 0] += sex
    return X, 300.0 + 50.0 * X.sum(axis=1) + 20.0 * rng.normal(size=1000), sex


def fit_model(data, *args, **settings):
    X, y, sex = data
    interval = None if args else INTERVAL
    settings = {"interval": interval, "tolerance": 0.1} | settings
    return PartialParityRegressor(*args, **settings).fit(X, y, sensitive_features=sex)


@pytest.mark.parametrize("loss", ["squared", "absolute"])
@pytest.mark.parametrize("interactions", [False, True])
def test_the_difference_is_just_below_the_tolerance(data, loss, interactions):
    X, y, sex = data
    model = fit_model(data, loss=loss, group_interactions=interactions)
    predictions = model.predict(X, sensitive_features=sex)
    reached = partial_statistical_parity_difference(
        predictions, sensitive_features=sex, interval=INTERVAL
    )
    assert 0.09 <= reached <= 0.1
    assert np.corrcoef(predictions, y)[0, 1] > 0.5


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_a_ramp_that_rules_out_every_model_is_made_narrower(seed):
    """On a small sample no model keeps the tolerance under the first, wide ramp."""
    rng = np.random.default_rng(seed)
    sex = rng.integers(0, 2, 300)
    X = rng.normal(size=(300, 3))
    X[:, 0] += sex
    y = X.sum(axis=1) + rng.logistic(size=300) > 0.5
    model = PartialParityRegressor(tolerance=0.2).fit(X, y, sensitive_features=sex)
    assert model.constraint_violation_ == 0.0


def test_shares_above_a_threshold_keep_the_tolerance(data):
    X, _, sex = data
    model = fit_model(data, PartialDemographicParity((0.0, 0.8), threshold=350.0))
    reached = partial_demographic_parity_difference(
        model.predict(X), sensitive_features=sex, interval=(0.0, 0.8), threshold=350.0
    )
    assert reached <= 0.1
    assert model.constraint_violation_ == 0.0


def test_shares_above_no_threshold_are_refused(data):
    X, y, sex = data
    for constraint in ("partial_demographic_parity", PartialDemographicParity((0.0, 0.8))):
        with pytest.raises(ValueError, match="threshold must be .* Pass PartialDemographicParity"):
            fit_model(data, constraint)
    audit = Audit.from_predictions(y, y, sensitive_features=sex)
    with pytest.raises(ValueError, match="threshold must be a number from which on predictions"):
        audit.certify("partial_demographic_parity", 0.1)
    claim = audit.certify(PartialDemographicParity(threshold=350.0), 1.0)
    assert claim.estimate == pytest.approx(np.ptp([(y[sex == s] > 350).mean() for s in set(sex)]))


def test_the_plain_fit_is_ridge_regression(data):
    X, y, _ = data
    model = fit_model(data, tolerance=1.0, alpha=0.01)
    ridge = Ridge(alpha=0.01 * len(y)).fit(X, y)
    np.testing.assert_allclose(model.coef_, ridge.coef_, rtol=1e-5)
    assert model.intercept_ == pytest.approx(ridge.intercept_)
    assert model.score(X, y) == pytest.approx(ridge.score(X, y))


def test_the_unit_of_the_target_does_not_matter(data):
    X, y, sex = data
    model = fit_model(data)
    other = clone(model).fit(X, 1e3 * y - 7.0, sensitive_features=sex)
    np.testing.assert_allclose(other.coef_, 1e3 * model.coef_, rtol=1e-6)
    np.testing.assert_allclose(other.thresholds_, 1e3 * model.thresholds_ - 7.0, rtol=1e-6)


def test_the_width_of_a_ramp_is_in_units_of_the_target(data):
    X, y, sex = data
    first = (X[:300], 100.0 * y[:300], sex[:300])
    coef = [
        fit_model(
            first, PartialDemographicParity(threshold=35_000.0, width=width), enforcement=None
        ).coef_
        for width in (None, 0.5 * np.std(first[1]))
    ]
    np.testing.assert_allclose(coef[1], coef[0], rtol=1e-6)


@pytest.mark.parametrize(
    ("kind", "default"),
    [
        (PartialStatisticalParity, 2.0),
        (PartialGroupAUC, 2.0),
        (PartialDemographicParity, 0.5),
        (PartialEqualizedOdds, 0.5),
    ],
)
def test_the_default_width_is_in_standard_deviations_of_the_target(data, kind, default):
    target = np.sign(data[1] - 300.0)
    group = check_groups(data[2], len(data[2]))
    samples = Samples(target, group, np.ones(len(target)))
    for width, used in ((None, default), (8.0, 2.0)):
        unit = Unit(300.0, 4.0)
        (bound,) = bind_all([kind(width=width)], [samples], None, None, unit)[0]
        assert bound.gap.criterion.width == used


def test_the_absolute_loss_is_rounded_in_units_of_the_target(data):
    X, y, _ = data
    coef = [
        ConstrainedERMRegressor(None, loss=AbsoluteLoss(width)).fit(X, y).coef_
        for width in (None, 0.1 * np.std(y), np.std(y))
    ]
    np.testing.assert_allclose(coef[1], coef[0], rtol=1e-9)
    assert not np.allclose(coef[2], coef[0], rtol=1e-3)
    parity = LossParity(loss=AbsoluteLoss(8.0))
    unit = Unit(0.0, 4.0)
    smooth, exact, _ = make_terms(parity, Sigmoid(), None, None, unit)
    assert smooth[0].width == 2.0
    assert exact[0]([1.0], [0.0]).value == 1.0
