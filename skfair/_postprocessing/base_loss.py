"""The loss that a wrapped regressor minimises, read off its parameters.

A rule around a regressor minimises it too: predictions of a quantile stay those of the quantile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from skfair._postprocessing.out_of_fold_scores import final_step
from skfair.losses import (
    AbsoluteLoss,
    QuantileLoss,
    SquaredLoss,
    TweedieLoss,
    is_of_positive_numbers,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from sklearn.base import BaseEstimator

    from skfair.losses import ScoreFunction


class RuleLoss(NamedTuple):
    """The loss that a final linear model minimises.

    Attributes
    ----------
    loss : callable
        Loss of scores and target, which constraints without a loss of their own take, too.
    keeps_scores : bool
        Whether scores that keep the bound are left as they are.
    is_known : bool
        Whether the loss is that of the wrapped estimator. Otherwise the model minimises the squared
        distance to its scores.
    """

    loss: Any
    keeps_scores: bool = False
    is_known: bool = True

    @property
    def is_log(self) -> bool:
        """Whether the model is linear in the logarithms of predictions."""
        return is_of_positive_numbers(self.loss)


def find_rule_loss(
    passed: ScoreFunction | Callable | None,
    estimators: list[BaseEstimator],
    predictions: np.ndarray,
) -> RuleLoss:
    """The `RuleLoss` of fitted regressors, or of a loss that was passed, with their predictions."""
    if passed is not None:
        smallest = float(np.min(predictions))
        if is_of_positive_numbers(passed) and smallest <= 0.0:
            raise ValueError(
                f"loss={passed} needs a regressor with positive predictions, but the smallest "
                f"out-of-fold prediction is {smallest:g}. Pass a regressor with a log link, such "
                "as PoissonRegressor, or another loss."
            )
        return RuleLoss(passed)
    losses = [read_loss(one) for one in estimators]
    # Searches may have chosen another loss in every fold.
    is_known = losses[0] is not None and len(set(map(repr, losses))) == 1
    if is_known and is_of_positive_numbers(losses[0]):
        is_known = bool((predictions > 0.0).all())
    return RuleLoss(losses[0] if is_known else SquaredLoss(), True, is_known)


# Names of losses among the parameters of regressors.


def read_loss(estimator: BaseEstimator) -> ScoreFunction | None:
    """The loss that a regressor, pipeline or fitted search minimises; None if it is not known."""
    estimator = final_step(estimator)
    sources = [
        _PACKAGES.get(one.__module__.partition(".")[0]) or _CLASSES.get(one.__name__)
        for one in type(estimator).__mro__
    ]
    source = next(filter(None, sources), None)
    if source is None:
        return None
    params = estimator.get_params()
    if params.get("reg_sqrt"):  # of LightGBM, which then transforms the target
        return None
    # The source is a parameter, or the name itself; boosting without a name is of squares.
    name = params.get(source, source) or "squared_error"
    if name in _KINDS:
        return _build_loss(name, params)
    # CatBoost writes options after the name, as in "Quantile:alpha=0.9".
    name, _, options = str(name).partition(":")
    return _build_loss(name, dict(one.partition("=")[::2] for one in options.split(";")))


def _build_loss(name: str, params: dict[str, Any]) -> ScoreFunction | None:
    """The loss of a name in one of the packages; None for others, such as Huber's."""
    kind = _KINDS.get(name)
    if kind == "quantile":
        default = 0.5 if name == "Quantile" else 0.9
        quantile = np.ravel(_first(params, ("quantile", "quantile_alpha", "alpha"), default))
        return QuantileLoss(float(quantile[0])) if len(quantile) == 1 else None
    if kind == "tweedie":
        names = ("power", "variance_power", "tweedie_variance_power")
        power = float(_first(params, names, 1.5))
        is_log = 1.0 <= power <= 2.0 and params.get("link") != "identity"
        return TweedieLoss(power) if is_log else None
    losses = {
        "squared": SquaredLoss(),
        "absolute": AbsoluteLoss(),
        "poisson": TweedieLoss(),
        "gamma": TweedieLoss(2.0),
    }
    return None if kind is None else losses.get(kind)


def _first(params: dict[str, Any], names: tuple[str, ...], default: float) -> Any:
    """The first parameter that is not None."""
    return next((params[name] for name in names if params.get(name) is not None), default)


_PACKAGES = {"lightgbm": "objective", "xgboost": "objective", "catboost": "loss_function"}
"""Parameter that names the loss of all regressors of a package."""

_SOURCES = {
    "criterion": "DecisionTreeRegressor ExtraTreesRegressor RandomForestRegressor",
    "loss": "GradientBoostingRegressor HistGradientBoostingRegressor MLPRegressor SGDRegressor",
    "gamma": "GammaRegressor",
    "poisson": "PoissonRegressor",
    "pinball": "QuantileRegressor",
    "tweedie": "TweedieRegressor",
    "squared_error": "ARDRegression BayesianRidge ElasticNet ElasticNetCV KernelRidge Lars Lasso "
    "LassoCV LassoLars LinearRegression OrthogonalMatchingPursuit Ridge RidgeCV",
}
"""Regressors of scikit-learn by the parameter that names their loss, or by that name."""

_CLASSES = {one: name for name, text in _SOURCES.items() for one in text.split()}

_NAMES = {
    "squared": "squared_error friedman_mse regression regression_l2 l2 mean_squared_error mse "
    "l2_root root_mean_squared_error rmse reg:squarederror reg:linear RMSE",
    "absolute": "absolute_error regression_l1 l1 mean_absolute_error mae reg:absoluteerror MAE",
    "quantile": "quantile pinball reg:quantileerror Quantile",
    "poisson": "poisson count:poisson Poisson",
    "gamma": "gamma reg:gamma",
    "tweedie": "tweedie reg:tweedie Tweedie",
}
"""Names of losses in the packages."""

_KINDS = {name: kind for kind, names in _NAMES.items() for name in names.split()}
