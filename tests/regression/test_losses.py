"""Losses of one's own in regressors, and losses that are for other targets."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, QuantileRegressor

from skfair.classification import ConstrainedERMClassifier, ConstrainedMLPClassifier
from skfair.constraints import LossParity
from skfair.losses import Pointwise
from skfair.ranking import ConstrainedRanker
from skfair.regression import ConstrainedERMRegressor, ConstrainedRegressorCV

QUANTILE = 0.8


def pinball(width):
    """The pinball loss, rounded within a width of 0 in units of the target."""

    def loss(predictions, target):
        residual = target - predictions
        rounded = np.clip(residual, -width, width)
        value = np.maximum(np.abs(residual), (rounded**2 / width + width) / 2)
        slope = -rounded / (2 * width) - (QUANTILE - 0.5)
        curvature = (np.abs(residual) < width) / (2 * width)
        return Pointwise(value / 2 + (QUANTILE - 0.5) * residual, slope, curvature)

    return loss


@pytest.fixture(scope="module")
def wages():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 3))
    group = rng.integers(0, 2, 800)
    y = 30_000 + 5_000 * (X @ [1.0, 0.5, 0.2] + 0.8 * group + rng.normal(size=800))
    return X, y, group


def test_the_pinball_loss_gives_a_quantile_regression(wages):
    X, y, _ = wages
    model = ConstrainedERMRegressor(None, loss=pinball(20.0), alpha=0.0).fit(X, y)
    peer = QuantileRegressor(quantile=QUANTILE, alpha=0.0).fit(X, y)
    assert np.mean(model.predict(X) >= y) == pytest.approx(QUANTILE, abs=0.005)
    np.testing.assert_allclose(model.predict(X), peer.predict(X), atol=100.0)
    assert model.objective_ == pytest.approx(pinball(20.0)(model.predict(X), y).value.mean())


@pytest.mark.parametrize("pence", [1.0, 100.0])
def test_a_constraint_on_a_loss_of_ones_own_is_in_its_units(wages, pence):
    X, y, group = wages
    loss = pinball(100.0 * pence)
    tolerance = 50.0 * pence
    plain = ConstrainedERMRegressor(None, loss=loss).fit(X, pence * y)
    assert gap_of(plain, loss, X, pence * y, group) > tolerance
    model = ConstrainedERMRegressor(LossParity(tolerance=tolerance), loss=loss)
    model.fit(X, pence * y, sensitive_features=group)
    assert gap_of(model, loss, X, pence * y, group) == pytest.approx(tolerance, rel=1e-3)
    assert model.constraint_report_["gap"].max() == pytest.approx(
        gap_of(model, loss, X, pence * y, group)
    )


def gap_of(model, loss, X, y, group):
    losses = loss(model.predict(X), y).value
    return abs(losses[group == 0].mean() - losses[group == 1].mean())


def test_a_rule_around_any_regressor_minimises_a_loss_of_ones_own(wages):
    X, y, group = wages
    model = ConstrainedRegressorCV(
        LinearRegression(), "mean_parity", loss=pinball(100.0), tolerance=500.0
    ).fit(X, y, sensitive_features=group)
    predictions = model.oof_prediction_
    means = [predictions[group == g].mean() for g in (0, 1)]
    assert abs(np.subtract(*means)) <= 500.0 * (1 + 1e-9)
    assert np.mean(predictions >= y) == pytest.approx(QUANTILE, abs=0.01)


@pytest.mark.parametrize(
    ("model", "target", "other"),
    [
        (ConstrainedERMRegressor(loss="hinge"), "numbers", "classes"),
        (ConstrainedRegressorCV(LinearRegression(), loss="logistic"), "numbers", "classes"),
        (ConstrainedERMClassifier(loss="absolute"), "classes", "numbers"),
        (ConstrainedMLPClassifier(loss="absolute"), "classes", "numbers"),
        (ConstrainedRanker(loss="absolute"), "classes", "numbers"),
    ],
)
def test_losses_of_other_targets_are_refused(wages, model, target, other):
    X, y, group = wages
    y = y if target == "numbers" else (y > y.mean()).astype(int)
    columns = {"sensitive_features": group}
    if isinstance(model, ConstrainedRanker):
        columns["query_id"] = np.arange(800) // 20
    with pytest.raises(ValueError, match=f"predicts {target}, but loss=.* is a loss of {other}"):
        model.fit(X, y, **columns)
