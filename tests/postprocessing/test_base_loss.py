"""The loss of a wrapped regressor: read off parameters, also of boosting packages."""

import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import (
    GammaRegressor,
    HuberRegressor,
    LassoCV,
    LinearRegression,
    PoissonRegressor,
    QuantileRegressor,
    RANSACRegressor,
    SGDRegressor,
    TweedieRegressor,
)
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from skfair._postprocessing.base_loss import find_rule_loss, read_loss
from skfair.losses import QuantileLoss, TweedieLoss


def describe(loss):
    return None if loss is None else repr(loss)


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (LinearRegression(), "SquaredLoss()"),
        (LassoCV(), "SquaredLoss()"),
        (SGDRegressor(), "SquaredLoss()"),
        (SGDRegressor(loss="huber"), None),
        (RandomForestRegressor(), "SquaredLoss()"),
        (RandomForestRegressor(criterion="absolute_error"), "AbsoluteLoss()"),
        (RandomForestRegressor(criterion="poisson"), "TweedieLoss()"),
        (HistGradientBoostingRegressor(), "SquaredLoss()"),
        (HistGradientBoostingRegressor(loss="absolute_error"), "AbsoluteLoss()"),
        (
            HistGradientBoostingRegressor(loss="quantile", quantile=0.9),
            "QuantileLoss(quantile=0.9)",
        ),
        (HistGradientBoostingRegressor(loss="poisson"), "TweedieLoss()"),
        (HistGradientBoostingRegressor(loss="gamma"), "TweedieLoss(power=2.0)"),
        (GradientBoostingRegressor(loss="quantile", alpha=0.2), "QuantileLoss(quantile=0.2)"),
        (GradientBoostingRegressor(loss="huber", criterion="squared_error"), None),
        (QuantileRegressor(quantile=0.7), "QuantileLoss(quantile=0.7)"),
        (PoissonRegressor(), "TweedieLoss()"),
        (GammaRegressor(), "TweedieLoss(power=2.0)"),
        (TweedieRegressor(power=1.5), "TweedieLoss(power=1.5)"),
        (TweedieRegressor(power=1.5, link="identity"), None),
        (TweedieRegressor(power=3), None),
        (RANSACRegressor(), None),
        (HuberRegressor(), None),
        (AdaBoostRegressor(), None),
        (BaggingRegressor(), None),
        (KNeighborsRegressor(), None),
        (SVR(), None),
        (TransformedTargetRegressor(LinearRegression(), func=np.log, inverse_func=np.exp), None),
    ],
    ids=repr,
)
def test_losses_of_scikit_learn(estimator, expected):
    assert describe(read_loss(estimator)) == expected
    class_of_user = type("Mine", (type(estimator),), {})
    if type(estimator) is not BaggingRegressor:
        estimator.__class__ = class_of_user
        assert describe(read_loss(estimator)) == expected


def test_losses_are_found_in_pipelines_searches_and_frozen_estimators():
    boosting = HistGradientBoostingRegressor(loss="quantile", max_iter=2)
    X, y = np.random.default_rng(0).normal(size=(2, 60))
    search = GridSearchCV(boosting, {"quantile": [0.3]}, cv=2)
    pipeline = make_pipeline(StandardScaler(), search).fit(X[:, np.newaxis], y)
    assert repr(read_loss(FrozenEstimator(pipeline))) == "QuantileLoss(quantile=0.3)"


def stand_in(module, name, **params):
    """A regressor of a package that need not be installed."""

    class Base:
        def get_params(self, deep=True):
            return params

    return type(name, (Base, LinearRegression), {"__module__": module})()


@pytest.mark.parametrize(
    ("package", "params", "expected"),
    [
        ("lightgbm", {"objective": None}, "SquaredLoss()"),
        ("lightgbm", {"objective": "mae"}, "AbsoluteLoss()"),
        ("lightgbm", {"objective": "quantile"}, "QuantileLoss(quantile=0.9)"),
        ("lightgbm", {"objective": "quantile", "alpha": 0.1}, "QuantileLoss(quantile=0.1)"),
        ("lightgbm", {"objective": "poisson"}, "TweedieLoss()"),
        ("lightgbm", {"objective": "tweedie"}, "TweedieLoss(power=1.5)"),
        ("lightgbm", {"objective": "gamma"}, "TweedieLoss(power=2.0)"),
        ("lightgbm", {"objective": "huber"}, None),
        ("lightgbm", {"objective": np.hypot}, None),
        ("lightgbm", {"objective": "regression", "reg_sqrt": True}, None),
        ("xgboost", {"objective": "reg:squarederror"}, "SquaredLoss()"),
        ("xgboost", {"objective": "reg:absoluteerror"}, "AbsoluteLoss()"),
        ("xgboost", {"objective": "reg:quantileerror", "quantile_alpha": [0.2]}, "Quantile.*0.2"),
        ("xgboost", {"objective": "reg:quantileerror", "quantile_alpha": [0.2, 0.8]}, None),
        ("xgboost", {"objective": "count:poisson"}, "TweedieLoss()"),
        ("xgboost", {"objective": "reg:tweedie", "tweedie_variance_power": 1.2}, "Tweedie.*1.2"),
        ("xgboost", {"objective": "reg:tweedie", "tweedie_variance_power": None}, "Tweedie.*1.5"),
        ("xgboost", {"objective": "reg:pseudohubererror"}, None),
        ("catboost", {"loss_function": "RMSE"}, "SquaredLoss()"),
        ("catboost", {"loss_function": "MAE"}, "AbsoluteLoss()"),
        ("catboost", {"loss_function": "Quantile"}, "QuantileLoss()"),
        ("catboost", {"loss_function": "Quantile:alpha=0.9"}, "QuantileLoss(quantile=0.9)"),
        ("catboost", {"loss_function": "Tweedie:variance_power=1.3"}, "TweedieLoss(power=1.3)"),
        ("catboost", {"loss_function": "Poisson"}, "TweedieLoss()"),
        ("catboost", {"loss_function": "MultiQuantile:alpha=0.1,0.9"}, None),
        ("catboost", {"loss_function": "Huber:delta=2"}, None),
    ],
)
def test_losses_of_boosting_packages(package, params, expected):
    described = describe(read_loss(stand_in(f"{package}.core", "Regressor", **params)))
    if expected is None or ".*" not in expected:
        assert described == expected
    else:
        name, number = expected.split(".*")
        assert described.startswith(f"{name}Loss(") and described.endswith(f"={number})")


def test_losses_of_boosting_packages_that_are_installed():
    lightgbm, xgboost, catboost = map(pytest.importorskip, ["lightgbm", "xgboost", "catboost"])
    described = [
        read_loss(lightgbm.LGBMRegressor()),
        read_loss(lightgbm.LGBMRegressor(objective="quantile", alpha=0.3)),
        read_loss(xgboost.XGBRegressor()),
        read_loss(xgboost.XGBRegressor(objective="reg:quantileerror", quantile_alpha=0.3)),
        read_loss(xgboost.XGBRegressor(objective="reg:tweedie")),
        read_loss(catboost.CatBoostRegressor()),
        read_loss(catboost.CatBoostRegressor(loss_function="Quantile:alpha=0.3")),
    ]
    assert [repr(one) for one in described] == [
        "SquaredLoss()",
        "QuantileLoss(quantile=0.3)",
        "SquaredLoss()",
        "QuantileLoss(quantile=0.3)",
        "TweedieLoss(power=1.5)",
        "SquaredLoss()",
        "QuantileLoss(quantile=0.3)",
    ]


def test_what_the_rule_minimises():
    boosting = [HistGradientBoostingRegressor(loss="quantile", quantile=q) for q in (0.1, 0.9)]
    one = find_rule_loss(None, boosting[:1] * 2, np.ones(3))
    assert (repr(one.loss), one.keeps_scores, one.is_known) == (
        "QuantileLoss(quantile=0.1)",
        True,
        True,
    )
    # Folds that differ, and predictions that have no logarithm.
    for estimators, smallest in ((boosting, 1.0), ([PoissonRegressor()], 0.0)):
        unknown = find_rule_loss(None, estimators, np.array([smallest, 1.0]))
        assert (repr(unknown.loss), unknown.is_known) == ("SquaredLoss()", False)
        assert not unknown.is_log
    passed = find_rule_loss(QuantileLoss(0.3), boosting, np.ones(3))
    assert (passed.loss.quantile, passed.keeps_scores, passed.is_known) == (0.3, False, True)
    with pytest.raises(ValueError, match="positive predictions, but the smallest .* is -1"):
        find_rule_loss(TweedieLoss(), [LinearRegression()], np.array([-1.0, 1.0]))
