"""The loss that a wrapped regressor minimises, read off its parameters.

A rule around a regressor minimises it too: predictions of a quantile stay those of the quantile.
"""

from typing import Any, NamedTuple

import numpy as np

from skfair.losses import (
    AbsoluteLoss,
    QuantileLoss,
    SquaredLoss,
    TweedieLoss,
    is_of_positive_numbers,
)
from skfair.postprocessing._out_of_fold_scores import final_step


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
    def is_log(self):
        """Whether the model is linear in the logarithms of predictions."""
        return is_of_positive_numbers(self.loss)


def find_rule_loss(passed, estimators, predictions):
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


# Readers of parameters, by package.


def read_loss(estimator):
    """The loss that a regressor, pipeline or fitted search minimises; None if it is not known."""
    estimator = final_step(estimator)
    bases = type(estimator).__mro__
    packages = [base.__module__.partition(".")[0] for base in bases]
    read = next((_READERS[one] for one in _READERS if one in packages), None)
    if read is None:
        return None
    pairs = zip(bases, packages, strict=True)
    names = [base.__name__ for base, package in pairs if package in _READERS]
    return read(estimator.get_params(deep=False), names)


def _read_lightgbm(params, names):
    if params.get("reg_sqrt"):  # the target is transformed
        return None
    name = params.get("objective") or "regression"
    return _make_loss(name, params.get("alpha", 0.9), params.get("tweedie_variance_power", 1.5))


def _read_xgboost(params, names):
    name = params.get("objective") or "reg:squarederror"
    power = params.get("tweedie_variance_power") or 1.5
    return _make_loss(name, params.get("quantile_alpha"), power)


def _read_catboost(params, names):
    text = params.get("loss_function") or params.get("objective") or "RMSE"
    # Options follow the name, as in "Quantile:alpha=0.9".
    name, _, rest = str(text).partition(":")
    options = dict(one.partition("=")[::2] for one in rest.split(";"))
    return _make_loss(name, options.get("alpha", 0.5), options.get("variance_power", 1.5))


def _read_scikit_learn(params, names):
    name = next((_SCIKIT_LEARN[one] for one in names if one in _SCIKIT_LEARN), None)
    power = params.get("power")
    if name == "tweedie":
        is_squared = power == 0 and params["link"] in ("auto", "identity")
        is_log = 1 <= power <= 2 and params["link"] in ("auto", "log")
        name = "squared_error" if is_squared else "tweedie" if is_log else None
    return _make_loss(params.get(name, name), params.get("quantile", params.get("alpha")), power)


_READERS = {
    "lightgbm": _read_lightgbm,
    "xgboost": _read_xgboost,
    "catboost": _read_catboost,
    "sklearn": _read_scikit_learn,
}
"""Functions of the parameters of a regressor and the names of its classes, by package; first those
of packages whose classes derive from others."""

_SQUARED = (
    "ARDRegression BayesianRidge ElasticNet ElasticNetCV KernelRidge Lars Lasso LassoCV LassoLars "
    "LinearRegression OrthogonalMatchingPursuit Ridge RidgeCV"
)
_SCIKIT_LEARN = {
    "DecisionTreeRegressor": "criterion",
    "ExtraTreesRegressor": "criterion",
    "RandomForestRegressor": "criterion",
    "GradientBoostingRegressor": "loss",
    "HistGradientBoostingRegressor": "loss",
    "MLPRegressor": "loss",
    "SGDRegressor": "loss",
    "GammaRegressor": "gamma",
    "PoissonRegressor": "poisson",
    "QuantileRegressor": "pinball",
    "TweedieRegressor": "tweedie",
    **dict.fromkeys(_SQUARED.split(), "squared_error"),
}
"""Name of the loss, or of the parameter that has it, of scikit-learn's regressors."""


def _make_loss(name, quantile, power):
    """The loss of a name in one of the packages; None for others, such as Huber's."""
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind == "quantile":
        levels = np.ravel(quantile)
        return QuantileLoss(float(levels[0])) if len(levels) == 1 else None
    if kind == "tweedie":
        return TweedieLoss(float(power))
    makers = {
        "squared": SquaredLoss,
        "absolute": AbsoluteLoss,
        "poisson": TweedieLoss,
        "gamma": lambda: TweedieLoss(2.0),
    }
    return None if kind is None else makers[kind]()


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
