"""ConstrainedRegressorCV minimises the loss of its regressor, and leaves what keeps the bound."""

import json
import pickle

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    BaggingRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import (
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    QuantileRegressor,
    TweedieRegressor,
)
from sklearn.metrics import mean_poisson_deviance, mean_tweedie_deviance
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from skfair.audit import Audit
from skfair.constraints import (
    BoundedGroupLoss,
    LossParity,
    MeanErrorParity,
    MeanParity,
    PartialStatisticalParity,
)
from skfair.losses import QuantileLoss, TweedieLoss
from skfair.regression import ConstrainedERMRegressor, ConstrainedRegressorCV
from tests.postprocessing.databases import DATABASES

GROUPS = LogisticRegression()
WIDE = 1e6


def draw(n_samples, seed=0):
    """Features, a positive target with a skewed distribution, and groups of different means."""
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b"], n_samples, p=[0.4, 0.6])
    X = rng.normal(size=(n_samples, 2)) + np.array([0.6, 0.0]) * (group == "b")[:, np.newaxis]
    mean = 20.0 * np.exp(0.3 * X[:, 0] + 0.3 * (group == "b"))
    return X, rng.gamma(2.0, mean / 2.0), group


def fit(data, estimator, constraint="mean_parity", weights=None, **params):
    X, y, group = data
    params = {"cv": 3, "group_estimator": GROUPS} | params
    model = ConstrainedRegressorCV(estimator, constraint, **params)
    return model.fit(X, y, sensitive_features=group, sample_weight=weights)


def gap_of(predictions, group):
    """Difference of mean predictions."""
    return abs(predictions[group == "a"].mean() - predictions[group == "b"].mean())


def make_boosting(**params):
    return HistGradientBoostingRegressor(max_iter=5, max_leaf_nodes=4, random_state=0, **params)


class Constant(RegressorMixin, BaseEstimator):
    """A regressor of which nothing is known, as one of another package."""

    classes_ = ()  # as CatBoost's

    def fit(self, X, y):
        self.mean_ = np.mean(y)
        return self

    def predict(self, X):
        return self.mean_ + np.asarray(X)[:, 0]


# A bound that does not bind -----------------------------------------------------------

BASES = [
    LinearRegression(),
    FrozenEstimator(GradientBoostingRegressor(random_state=0).fit(*draw(200, 1)[:2])),
    make_boosting(),
    make_boosting(loss="quantile", quantile=0.9),
    make_boosting(loss="absolute_error"),
    make_boosting(loss="poisson"),
    make_boosting(loss="gamma"),
    GradientBoostingRegressor(loss="quantile", n_estimators=5, random_state=0),
    GradientBoostingRegressor(loss="huber", n_estimators=5, random_state=0),
    RandomForestRegressor(5, criterion="poisson", max_depth=3, random_state=0),
    BaggingRegressor(make_boosting(loss="quantile", quantile=0.1), 3, random_state=0),
    QuantileRegressor(quantile=0.8),
    PoissonRegressor(),
    GammaRegressor(),
    TweedieRegressor(power=1.5),
    TweedieRegressor(power=1.5, link="identity", max_iter=1000),
    KNeighborsRegressor(),
    SVR(),
    Constant(),
    TransformedTargetRegressor(LinearRegression(), func=np.log1p, inverse_func=np.expm1),
    make_pipeline(StandardScaler(), QuantileRegressor(quantile=0.3)),
    GridSearchCV(PoissonRegressor(), {"alpha": [0.1, 1.0]}, cv=2),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", BASES, ids=lambda one: repr(one)[:70])
def test_a_bound_that_does_not_bind_changes_nothing(estimator):
    check_nothing_changes(estimator)


BOOSTING = {
    "lightgbm": (
        "LGBMRegressor",
        {"n_estimators": 5, "n_jobs": 1, "verbose": -1},
        [{"objective": name} for name in ("regression", "quantile", "poisson", "tweedie", "huber")],
    ),
    "xgboost": (
        "XGBRegressor",
        {"n_estimators": 5, "n_jobs": 1},
        [{"objective": "reg:quantileerror", "quantile_alpha": 0.9}, {"objective": "reg:gamma"}],
    ),
    "catboost": (
        "CatBoostRegressor",
        {"iterations": 5, "verbose": 0, "allow_writing_files": False, "thread_count": 1},
        [{"loss_function": name} for name in ("RMSE", "Quantile:alpha=0.9", "Poisson")],
    ),
}


@pytest.mark.parametrize("package", BOOSTING)
def test_a_bound_that_does_not_bind_changes_nothing_around_installed_boosting(package):
    name, params, losses = BOOSTING[package]
    make = getattr(pytest.importorskip(package), name)
    for loss in losses:
        check_nothing_changes(make(**params, **loss))
    # A quantile under a bound stays one.
    data = draw(2000)
    model = fit(data, make(**params | losses[1 if package != "xgboost" else 0]), tolerance=0.5)
    assert np.mean(data[1] <= model.oof_prediction_) == pytest.approx(0.9, abs=0.01)


def check_nothing_changes(estimator):
    X, y, group = draw(240)
    model = fit((X, y, group), estimator, tolerance=WIDE)
    np.testing.assert_allclose(model.predict(X), model.rule_inputs(X)[0], rtol=1e-12)
    assert model.status_ == "optimal"
    assert not model.multipliers_.any()


@pytest.mark.covering(1)
@pytest.mark.parametrize("base", [make_boosting(loss="quantile", quantile=0.9), PoissonRegressor()])
@pytest.mark.parametrize(
    ("constraint", "params"),
    [
        (None, {}),
        (LossParity(tolerance=WIDE), {}),
        (BoundedGroupLoss(WIDE), {}),
        (PartialStatisticalParity(tolerance=1.0), {}),
        ([MeanParity(tolerance=WIDE), LossParity(tolerance=WIDE)], {"ensemble": False}),
        (MeanParity(tolerance=200.0), {"confidence_level": 0.9}),
        (MeanParity(tolerance=WIDE), {"group_estimator": "sensitive_features"}),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:The bound .* binds nothing")
def test_no_constraint_that_is_kept_changes_anything(base, constraint, params):
    X, y, group = draw(240)
    model = fit((X, y, group), base, constraint, **params)
    plain, _ = model.rule_inputs(X, sensitive_features=group)
    np.testing.assert_allclose(model.predict(X, sensitive_features=group), plain, rtol=1e-12)
    if "confidence_level" in params:
        assert model.guarantee_probability_ >= 0.9


@pytest.mark.parametrize("passed", [None, "absolute"])
def test_a_bound_that_is_missed_by_little_costs_no_loss(passed):
    # Predictions of which 1.4 times the right slope is learned: a refit has less loss.
    rng = np.random.default_rng(0)
    group = np.array(["a", "b"])[(rng.random(300) < 0.4).astype(int)]
    X = rng.normal(size=(300, 1)) + (group == "b")[:, np.newaxis]
    y = X[:, 0] + 0.3 * (group == "b") + rng.laplace(size=300)
    steep = FrozenEstimator(QuantileRegressor(alpha=0.0).fit(X, 1.4 * y))
    plain = steep.predict(X)
    gap = abs(np.diff([(plain - y)[group == one].mean() for one in "ab"])[0])
    fits = [
        fit((X, y, group), steep, MeanErrorParity(tolerance=share * gap), loss=passed)
        for share in (0.9, 0.99, 1.01, 2.0)
    ]
    losses = [np.abs(one.oof_prediction_ - y).mean() for one in fits]
    unchanged = np.abs(plain - y).mean()
    # Below the gap of the plain model the refit is better, from there on nothing is changed,
    # unless the loss is passed, which is minimised in any case.
    assert max(losses[:2]) < unchanged
    if passed is None:
        np.testing.assert_allclose(losses[2:], unchanged, rtol=1e-12)
    else:
        assert losses[3] <= min(losses) + 1e-9


def test_a_frozen_quantile_is_left_as_it_is():
    fitted = make_boosting(loss="quantile", quantile=0.9).fit(*draw(500, 1)[:2])
    data = draw(500)
    model = fit(data, FrozenEstimator(fitted), tolerance=WIDE)
    np.testing.assert_allclose(model.predict(data[0]), fitted.predict(data[0]), rtol=1e-12)


# Quantiles ----------------------------------------------------------------------------


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_quantiles_under_a_bound_stay_quantiles(quantile):
    data = draw(2000)
    base = make_boosting(loss="quantile", quantile=quantile)
    model = fit(data, base, tolerance=0.5)
    assert gap_of(model.oof_prediction_, data[2]) == pytest.approx(0.5, abs=1e-4)
    assert np.mean(data[1] <= model.oof_prediction_) == pytest.approx(quantile, abs=0.01)
    new = draw(4000, 1)
    assert np.mean(new[1] <= model.predict(new[0])) == pytest.approx(quantile, abs=0.02)


def linear_program(columns, y, quantile, difference, tolerance):
    """The least mean quantile loss of a combination of columns within a gap, by linear program."""
    n_samples, n_columns = columns.shape
    identity = np.eye(n_samples)
    cost = np.concatenate(
        (np.zeros(n_columns), np.full(n_samples, quantile), np.full(n_samples, 1.0 - quantile))
    )
    gaps = np.concatenate((difference @ columns, np.zeros(2 * n_samples)))
    solution = linprog(
        cost / n_samples,
        A_eq=np.hstack((columns, identity, -identity)),
        b_eq=y,
        A_ub=np.array([gaps, -gaps]),
        b_ub=np.full(2, tolerance),
        bounds=[(None, None)] * n_columns + [(0.0, None)] * (2 * n_samples),
    )
    return solution.fun


@pytest.mark.parametrize("quantile", [0.2, 0.9])
def test_no_other_rule_has_a_smaller_quantile_loss(quantile):
    data = X, y, group = draw(400)
    frozen = FrozenEstimator(
        make_boosting(loss="quantile", quantile=quantile).fit(*draw(400, 1)[:2])
    )
    model = fit(data, frozen, tolerance=0.1, group_estimator="sensitive_features")
    assert model.multipliers_.any()
    is_b = group == "b"
    f = frozen.predict(X)
    columns = np.column_stack((np.ones(400), f, is_b, is_b * f))
    difference = is_b / is_b.sum() - ~is_b / (~is_b).sum()
    expected = linear_program(columns, y, quantile, difference, 0.1)
    error = y - model.oof_prediction_
    loss = np.maximum(quantile * error, (quantile - 1.0) * error).mean()
    # The smooth loss is rounded within .1 standard deviations of the target.
    assert expected - 1e-9 <= loss <= expected * 1.001
    assert repr(model.loss_) == f"QuantileLoss(quantile={quantile})"
    rounded = QuantileLoss(quantile, 0.1 * y.std())(model.oof_prediction_, y).value.mean()
    assert model.objective_ == pytest.approx(rounded, rel=1e-3)


def test_a_linear_quantile_regression_may_be_fitted_by_name():
    X, y, group = draw(600)
    model = ConstrainedERMRegressor(None, loss=QuantileLoss(0.8, width=0.5), alpha=0.0)
    peer = QuantileRegressor(quantile=0.8, alpha=0.0).fit(X, y)
    np.testing.assert_allclose(model.fit(X, y).predict(X), peer.predict(X), atol=0.02 * y.std())
    median = ConstrainedERMRegressor(None, loss="quantile").fit(X, y)
    absolute = ConstrainedERMRegressor(None, loss="absolute").fit(X, y)
    np.testing.assert_allclose(median.predict(X), absolute.predict(X), rtol=1e-3)
    with pytest.raises(ValueError, match="predicts numbers, but loss='tweedie' is a loss of posit"):
        ConstrainedERMRegressor(None, loss="tweedie").fit(X, y)


# Logarithms ---------------------------------------------------------------------------


def draw_counts(n_samples, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b"], n_samples)
    X = rng.normal(size=(n_samples, 2)) + np.array([1.0, 0.0]) * (group == "b")[:, np.newaxis]
    return X, rng.poisson(np.exp(-2.0 + X[:, 0])), group


@pytest.mark.parametrize("group_estimator", [GROUPS, "sensitive_features"])
def test_predictions_of_counts_are_positive_and_bounds_are_in_units_of_the_target(group_estimator):
    data = X, y, group = draw_counts(1500)
    model = fit(data, PoissonRegressor(), tolerance=0.02, group_estimator=group_estimator)
    predictions = model.oof_prediction_
    assert predictions.min() > 0.0
    assert gap_of(predictions, group) == pytest.approx(0.02, abs=1e-5)
    assert model.predict(X, sensitive_features=group).min() > 0.0
    # The score equation of a deviance with its intercept.
    assert predictions.mean() == pytest.approx(y.mean(), rel=0.5)
    report = model.constraint_report_.set_index("group")
    for name in "ab":
        inside = predictions[group == name]
        assert report.loc[name, "estimate"] == pytest.approx(inside.mean())
        assert report.loc[name, "standard_error"] == pytest.approx(
            inside.std() / len(inside) ** 0.5
        )
    np.testing.assert_allclose(report["tolerance"], 0.02)
    np.testing.assert_allclose(
        fit(data, PoissonRegressor()).constraint_report_["tolerance"], 0.05 * y.std()
    )
    assert model.objective_ == pytest.approx(mean_poisson_deviance(y, predictions), rel=1e-3)
    again = pickle.loads(pickle.dumps(model))
    assert repr(again.loss_) == repr(model.loss_) == "TweedieLoss()"
    np.testing.assert_array_equal(
        again.predict(X, sensitive_features=group), model.predict(X, sensitive_features=group)
    )


@pytest.mark.parametrize("power", [1.0, 1.5, 2.0])
def test_no_other_rule_has_a_smaller_deviance(power):
    data = X, y, group = draw(500)
    frozen = FrozenEstimator(TweedieRegressor(power=power).fit(*draw(500, 1)[:2]))
    model = fit(data, frozen, tolerance=2.0, group_estimator="sensitive_features")
    is_b = group == "b"
    f = np.log(frozen.predict(X))
    columns = np.column_stack((np.ones(500), f, is_b, is_b * f))

    def deviance(w):
        return mean_tweedie_deviance(y, np.exp(columns @ w), power=power)

    def slack(w):
        means = [np.exp(columns @ w)[inside].mean() for inside in (is_b, ~is_b)]
        return 2.0 - abs(means[0] - means[1])

    best = minimize(
        deviance,
        [0.0, 1.0, 0.0, 0.0],
        constraints={"type": "ineq", "fun": slack},
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    np.testing.assert_allclose(model.oof_prediction_, np.exp(columns @ best.x), rtol=2e-3)
    assert deviance(best.x) <= mean_tweedie_deviance(y, model.oof_prediction_, power=power) + 1e-9
    assert model.objective_ == pytest.approx(best.fun, rel=1e-4)


@pytest.mark.parametrize("constraint", ["mean_parity", LossParity(tolerance=0.05)], ids=str)
@pytest.mark.parametrize("base", [PoissonRegressor(), LinearRegression()], ids=str)
def test_the_rule_that_is_exported_has_its_link(base, constraint):
    X, _, group = data = draw_counts(600)
    model = fit(data, base, constraint)
    rule = json.loads(json.dumps(model.export_rule()))
    f, probabilities = model.rule_inputs(X)
    f = np.log(f) if rule["link"] == "log" else f
    factors = np.stack((np.ones_like(f), f))
    moved = np.einsum("ti,ieg,teg->i", factors, probabilities, rule["weights"])
    linear = rule["prediction"] * f + rule["intercept"] + moved
    expected = np.exp(linear) if rule["link"] == "log" else linear
    assert rule["link"] == ("log" if isinstance(base, PoissonRegressor) else "identity")
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-9, atol=1e-12)
    for query in DATABASES:
        in_sql = query(model.export_rule("sql"), *model.rule_inputs(X))
        np.testing.assert_allclose(in_sql, expected, rtol=1e-9, atol=1e-12)


def test_constraints_without_a_loss_bound_that_of_the_regressor():
    X, y, group = data = draw_counts(1500)
    plain = fit(data, PoissonRegressor(), None).oof_prediction_

    def deviances(predictions):
        return [mean_poisson_deviance(y[group == g], predictions[group == g]) for g in "ab"]

    tolerance = 0.5 * np.ptp(deviances(plain))
    model = fit(data, PoissonRegressor(), "loss_parity", tolerance=tolerance)
    reached = deviances(model.oof_prediction_)
    assert np.ptp(reached) == pytest.approx(tolerance, rel=1e-3)
    assert np.ptp(reached) <= tolerance
    np.testing.assert_allclose(model.constraint_report_["estimate"], reached)
    # A claim on other data takes the same loss.
    new = draw_counts(3000, 1)
    audit = Audit.from_estimator(model, new[0], new[1], sensitive_features=new[2])
    by_name = audit.certify(LossParity(loss="tweedie"), tolerance=0.5)
    assert audit.certify("loss_parity", tolerance=0.5).estimate == by_name.estimate


def test_a_loss_of_positive_numbers_needs_positive_predictions():
    data = draw_counts(300)
    with pytest.raises(ValueError, match="loss=TweedieLoss.* needs a regressor with positive"):
        fit(data, LinearRegression(), loss="tweedie")
    with pytest.raises(ValueError, match="needs positive predictions, and targets"):
        fit(data, LinearRegression(), BoundedGroupLoss(0.2, loss="tweedie"))
    passed = fit(data, PoissonRegressor(), None, loss=TweedieLoss(1.0))
    assert passed.oof_prediction_.mean() == pytest.approx(data[1].mean(), rel=1e-3)


# Unknown losses, and data that are hard -----------------------------------------------


def test_around_an_unknown_loss_predictions_move_as_little_as_the_bound_allows():
    X, y, group = data = draw(800)
    model = fit(data, Constant(), tolerance=0.2, group_estimator="sensitive_features", cv=2)
    is_b = group == "b"
    plain = np.empty(800)
    for estimator in model.estimators_:
        is_mine = np.isclose(
            fit(data, Constant(), None, cv=2).oof_prediction_, estimator.predict(X)
        )
        plain[is_mine] = estimator.predict(X)[is_mine]
    # Of all predictions with this gap the nearest ones shift both groups against each other.
    excess = plain[is_b].mean() - plain[~is_b].mean() - 0.2
    expected = plain - excess * np.where(is_b, (~is_b).mean(), -is_b.mean())
    np.testing.assert_allclose(model.oof_prediction_, expected, atol=1e-3 * y.std())
    distance = np.mean((expected - plain) ** 2) / 2.0
    penalty = 1e-5 / 2.0 * y.var()
    assert distance <= model.objective_ <= distance + 1.1 * penalty
    assert repr(model.loss_) == "SquaredLoss()"


@pytest.mark.slow
def test_a_group_of_one_percent_unequal_weights_and_read_only_columns():
    X, y, group = draw_counts(3000)
    group[:] = np.where(np.arange(3000) % 100 == 0, "a", "b")
    y = y + 2 * (group == "a")
    X = np.round(X)
    weights = np.random.default_rng(0).uniform(0.0, 2.0, 3000)
    weights[::7] = 0.0
    for column in (X, y, weights):
        column.setflags(write=False)
    data = X, y, group
    base = HistGradientBoostingRegressor(loss="poisson", max_iter=10)
    constraint = MeanParity(tolerance=0.02, min_group_size=1)
    known = {"group_estimator": "sensitive_features"}
    model = fit(data, base, constraint, weights, **known)
    predictions = model.oof_prediction_
    present = weights > 0.0
    means = [
        np.average(predictions[inside], weights=weights[inside])
        for inside in (present & (group == "a"), present & (group == "b"))
    ]
    assert abs(means[0] - means[1]) <= 0.02
    assert np.nanmin(predictions) > 0.0
