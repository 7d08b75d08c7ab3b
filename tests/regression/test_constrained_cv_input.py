"""ConstrainedRegressorCV: input validation, pipelines, searches, export and callbacks."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor, StackingRegressor, VotingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skfair.callbacks import FitMonitor
from skfair.constraints import BoundedGroupLoss, EqualOpportunityLossParity, MeanParity
from skfair.exceptions import MissingSensitiveFeaturesWarning
from skfair.metrics import get_scorer, mean_score_difference
from skfair.model_selection import best_subject_to
from skfair.regression import ConstrainedRegressorCV
from tests.classification.test_constrained_cv_input import Tasks
from tests.postprocessing.databases import DATABASES

BASE = LinearRegression()
GROUPS = LogisticRegression()


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], size=400)
    X = rng.normal(size=(400, 3))
    X[:, 0] += sex == "m"
    return X, 10.0 * X.sum(axis=1) + 5.0 * rng.normal(size=400), sex


def make(estimator=BASE, constraint="mean_parity", **params):
    params = {"cv": 3, "group_estimator": GROUPS} | params
    return ConstrainedRegressorCV(estimator, constraint, **params)


def fit(data, estimator=BASE, **params):
    X, y, sex = data
    return make(estimator, **params).fit(X, y, sensitive_features=sex)


def gap(data, model):
    difference = mean_score_difference(model.oof_prediction_, sensitive_features=data[2])
    return difference / np.std(data[1])


# Input --------------------------------------------------------------------------------


class Numbers(RegressorMixin, BaseEstimator):
    """A regressor whose predictions are changed by a function."""

    def __init__(self, change):
        self.change = change

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X):
        return self.change(np.asarray(X)[:, 0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: np.where(f > 0, f, np.nan), "must return finite numbers"),
        (lambda f: f[1:], "must return one row for each of the"),
        (lambda f: np.column_stack((f, f)), "predict one number for each sample.*predicts 2"),
        (lambda f: np.full(len(f), "high"), "must return an array of numbers"),
    ],
)
def test_predictions_of_another_form_are_refused(data, change, message):
    with pytest.raises(ValueError, match=message):
        fit(data, Numbers(change))


def test_predictions_may_be_a_column(data):
    column = fit(data, Numbers(lambda f: f[:, np.newaxis]))
    np.testing.assert_array_equal(
        column.predict(data[0]), fit(data, Numbers(lambda f: f)).predict(data[0])
    )


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"estimator": LogisticRegression()}, "must be a regressor, but LogisticRegression"),
        ({"estimator": "ridge"}, "'estimator' parameter"),
        ({"constraint": "demographic_parity"}, "is about classes and decisions"),
        ({"constraint": EqualOpportunityLossParity()}, "is about classes and decisions"),
        ({"constraint": BoundedGroupLoss(1.0, loss="logistic")}, "predicts numbers"),
        ({"constraint": "equal_means"}, "'constraint' parameter"),
        ({"tolerance": -0.1}, "'tolerance' parameter"),
        ({"loss": "logistic"}, "is a loss of classes"),
        ({"cv": 1}, "'cv' parameter"),
        ({"confidence_level": 1.0}, "'confidence_level' parameter"),
        ({"group_estimator": "sex"}, "'group_estimator' parameter"),
        ({"cv": ShuffleSplit(3, test_size=0.5)}, "are no partition of the samples"),
    ],
)
def test_invalid_parameters_are_refused(data, params, message):
    X, y, sex = data
    with pytest.raises(ValueError, match=message):
        make(**params).fit(X, y, sensitive_features=sex)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda y: np.column_stack((y, y)), "should be a 1d array"),
        (lambda y: np.where(y > 0, y, np.nan), "NaN"),
        (
            lambda y: np.where(y > 0, "high", "low"),
            "y must hold numbers, but it holds .low. in row 0;",
        ),
        (lambda y: y[1:], "inconsistent numbers of samples"),
    ],
)
def test_invalid_targets_are_refused(data, change, message):
    X, y, sex = data
    with pytest.raises(ValueError, match=message):
        make().fit(X, change(y), sensitive_features=sex)


def test_every_fold_needs_every_group(data):
    X, y, sex = data
    rare = np.where(np.arange(len(y)) == 0, "x", sex)
    with pytest.raises(ValueError, match="no samples of group 'x' to learn from"):
        make(constraint=MeanParity(min_group_size=1)).fit(X, y, sensitive_features=rare)


def test_training_data_of_a_fitted_regressor_are_declared(data):
    X, y, sex = data
    fitted = LinearRegression().fit(X[:200], y[:200])
    with pytest.raises(ValueError, match="200 of the 200 rows of X are in X_fit"):
        make(fitted, cv="prefit").fit(X[:200], y[:200], sensitive_features=sex[:200], X_fit=X[:200])
    with pytest.raises(ValueError, match="training data of a regressor that is fitted already"):
        make().fit(X, y, sensitive_features=sex, X_fit=X)
    held_out = make(fitted, cv="prefit")
    held_out.fit(X[200:], y[200:], sensitive_features=sex[200:], X_fit=X[:200])
    assert held_out.constraint_violation_ == 0.0


def test_samples_that_belong_together_are_in_one_fold(data):
    X, y, sex = data
    ids = np.arange(len(y)) // 4
    rows = []

    class Rows(LinearRegression):
        def fit(self, X, y):
            rows.append(np.asarray(X)[:, -1])
            return super().fit(X, y)

    X = np.column_stack((X, ids))
    make(Rows(), cv=4).fit(X, y, sensitive_features=sex, groups=ids)
    assert len(rows) == 4
    for fitted in rows:
        assert set(np.unique(fitted, return_counts=True)[1].tolist()) == {4}
    with pytest.raises(ValueError, match="cv='oob' scores samples by trees"):
        make(cv="oob").fit(X, y, sensitive_features=sex, groups=ids)


def test_without_groups_the_fit_is_unconstrained(data):
    X, y, sex = data
    with pytest.warns(MissingSensitiveFeaturesWarning):
        model = make().fit(X, y)
    np.testing.assert_allclose(model.predict(X), make(constraint=None).fit(X, y).predict(X))
    with pytest.warns(MissingSensitiveFeaturesWarning, match="All samples are in the group 'f'"):
        assert make().fit(X, y, sensitive_features=["f"] * len(y)).status_ == "unconstrained"


def test_features_that_reveal_the_group_are_warned_of(data):
    X, y, sex = data
    with pytest.warns(UserWarning, match="X reveals the group"):
        make().fit(np.column_stack((X, 5.0 * (sex == "m"))), y, sensitive_features=sex)


def test_a_constant_target_and_constant_predictions(data):
    X, y, sex = data
    constant = make().fit(X, np.full(len(y), 3.0), sensitive_features=sex)
    np.testing.assert_allclose(constant.predict(X), 3.0)
    useless = fit(data, Numbers(lambda f: np.full(len(f), 7.0)))
    assert gap(data, useless) <= 0.05


@pytest.mark.parametrize(
    "estimator",
    [
        StackingRegressor([("ridge", Ridge())]),
        VotingRegressor([("ridge", Ridge()), ("linear", LinearRegression())]),
        TransformedTargetRegressor(Ridge(), transformer=StandardScaler()),
    ],
    ids=lambda one: type(one).__name__,
)
def test_regressors_made_of_others(data, estimator):
    model = fit(data, estimator)
    assert gap(data, model) <= 0.05
    assert len(model.estimators_) == 3


@pytest.mark.parametrize("offset", [1e9, 1e12])
def test_targets_far_from_zero(data, offset):
    X, y, sex = data
    model, near = (make().fit(X, one, sensitive_features=sex) for one in (y + offset, y))
    # The doubles of the targets have as many digits.
    digits = 1e-13 * offset + 1e-3
    np.testing.assert_allclose(model.predict(X) - offset, near.predict(X), atol=20 * digits)


# Pipelines, searches and containers ---------------------------------------------------


def test_a_pipeline_takes_a_frame_with_text(data):
    X, y, sex = data
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(city=np.where(X[:, 1] > 0, "x", "y"))
    encode = make_column_transformer((OneHotEncoder(), ["city"]), remainder="passthrough")
    pipeline = make_pipeline(encode, StandardScaler(with_mean=False), Ridge())
    model = make(pipeline).fit(frame, y, sensitive_features=sex)
    assert gap(data, model) <= 0.05
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "city"]
    assert model.predict(frame).shape == y.shape


def test_sparse_features(data):
    X, y, sex = data
    dense = make(Ridge(), group_estimator=None).fit(sparse.csr_array(X), y, sensitive_features=sex)
    assert gap(data, dense) <= 0.05
    np.testing.assert_allclose(
        dense.predict(sparse.csr_array(X[:5])), dense.predict(sparse.csr_array(X))[:5]
    )


def test_weights_that_the_regressor_does_not_take(data):
    X, y, sex = data
    weights = np.ones(len(y))
    with pytest.warns(UserWarning, match="takes no sample_weight"):
        make(Numbers(lambda f: f)).fit(X, y, sensitive_features=sex, sample_weight=weights)


def test_metadata_is_routed_through_a_pipeline(data, enable_routing):
    X, y, sex = data
    weights = np.where(sex == "f", 2.0, 1.0)
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    pipeline = make_pipeline(scaler, Ridge().set_fit_request(sample_weight=True))
    model = make(pipeline).set_fit_request(sample_weight=True)
    model.fit(X, y, sensitive_features=sex, sample_weight=weights)
    plain = make(pipeline).fit(X, y, sensitive_features=sex)
    coefs = [one.estimators_[0][-1].coef_ for one in (model, plain)]
    assert not np.array_equal(*coefs)


@pytest.mark.slow
def test_a_search_bounds_a_fairness_scorer(data, enable_routing):
    X, y, sex = data
    name = "neg_mean_score_difference"
    search = GridSearchCV(
        make(HistGradientBoostingRegressor(max_iter=20, min_samples_leaf=5)),
        {"tolerance": [0.5, 20.0], "estimator__max_leaf_nodes": [3, 15]},
        scoring={"r2": "r2", name: get_scorer(name)},
        refit=best_subject_to(name, 0.2 * y.std()),
        cv=2,
    )
    search.fit(X, y, sensitive_features=sex)
    assert search.best_params_["tolerance"] == 0.5
    scores = search.cv_results_[f"mean_test_{name}"].reshape(-1, 2)
    assert np.isfinite(scores).all()


def test_the_regressor_may_be_a_step_of_a_pipeline_and_a_search_inside(data, enable_routing):
    X, y, sex = data
    search = GridSearchCV(Ridge(), {"alpha": [0.1, 10.0]}, cv=2)
    pipeline = make_pipeline(StandardScaler(), make(search)).fit(X, y, sensitive_features=sex)
    assert gap(data, pipeline[-1]) <= 0.05
    assert {one.best_params_["alpha"] for one in pipeline[-1].estimators_} <= {0.1, 10.0}


@pytest.mark.slow
def test_several_jobs_give_the_same(data):
    X = data[0]
    np.testing.assert_array_equal(fit(data, n_jobs=2).predict(X), fit(data).predict(X))


def test_folds_may_be_of_a_splitter(data):
    X, y, sex = data
    folds = list(KFold(3).split(X))
    np.testing.assert_array_equal(
        fit(data, cv=folds).oof_prediction_, fit(data, cv=KFold(3)).oof_prediction_
    )


# Export and callbacks -----------------------------------------------------------------


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"group_estimator": "sensitive_features"},
        {"constraint": BoundedGroupLoss(140.0)},
        {"constraint": None},
        {"ensemble": False},
    ],
)
def test_the_rule_that_is_exported_predicts_as_predict_does(data, params):
    X, _, sex = data
    model = fit(data, **params)
    rule = json.loads(json.dumps(model.export_rule()))
    f, probabilities = model.rule_inputs(X, sensitive_features=sex)
    factors = np.stack((np.ones_like(f), f))
    moved = np.einsum("ti,ieg,teg->i", factors, probabilities, rule["weights"])
    np.testing.assert_allclose(
        rule["prediction"] * f + rule["intercept"] + moved,
        model.predict(X, sensitive_features=sex),
        rtol=1e-9,
        atol=1e-9,
    )
    for query in DATABASES:
        in_sql = query(model.export_rule("sql"), f, probabilities)
        np.testing.assert_allclose(in_sql, model.predict(X, sensitive_features=sex), rtol=1e-9)
    with pytest.raises(ValueError, match="format must be .* got 'json'"):
        model.export_rule("json")


@pytest.mark.callbacks
def test_callbacks_get_every_fold_and_iteration(data):
    X, y, sex = data
    tasks = Tasks()
    monitor = FitMonitor()
    model = make(ensemble=False).set_callbacks(tasks, monitor)
    model.fit(X, y, sensitive_features=sex)
    folds = [(f"regressor of fold {k} of 3", 0) for k in (1, 2, 3)]
    iterations = [("iteration", 0)] * model.n_iter_
    steps = [*folds, ("regressors", 3), ("regressor of all samples", 0), *iterations]
    assert tasks.ended[: len(steps)] == steps
    assert len(monitor.log) == model.n_iter_
    assert monitor.log["objective"].iloc[-1] == pytest.approx(model.objective_, rel=1e-6)


def test_verbose_names_what_is_fitted(data, capsys):
    model = fit(data, verbose=1)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [f"regressor of fold {k} of 3: done" for k in (1, 2, 3)]
    assert sum("iteration" in line for line in lines) == model.n_iter_
