"""Models exported to ONNX decide as ``predict`` does, by onnxruntime."""

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

from skfair._onnx.graph import Graph, Output
from skfair._onnx.trees import write_boosted_scores
from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    PartialParityClassifier,
)
from skfair.cluster import FairKMeans
from skfair.export import check_onnx, to_onnx
from skfair.regression import ConstrainedERMRegressor, ConstrainedRegressorCV

GROUP = "sensitive_features"


def run(graph, X, **groups):
    """Outputs of a graph by name, for a table and groups by the name of their input."""
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    table = X.items() if isinstance(X, pd.DataFrame) else [("X", X)]
    feeds = {name: np.asarray(column).reshape(len(X), -1) for name, column in table}
    feeds |= {name: np.asarray(v, dtype=object).reshape(-1, 1) for name, v in groups.items()}
    inputs = {one.name for one in session.get_inputs()}
    outputs = [one.name for one in session.get_outputs()]
    values = session.run(None, {name: v for name, v in feeds.items() if name in inputs})
    return dict(zip(outputs, values, strict=True))


@pytest.fixture(scope="module")
def samples():
    """600 samples: X with numbers, integers, bool and text; a real target; two attributes."""
    rng = np.random.default_rng(0)
    n_samples = 600
    sex = np.where(rng.random(n_samples) < 0.4, "f", "m")
    X = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n_samples) + 4 * (sex == "m"),
            "children": rng.integers(0, 5, n_samples),
            "owner": rng.random(n_samples) < 0.4,
            "job": rng.choice(["clerk", "nurse", "smith"], n_samples),
        }
    )
    y = (X["age"] - 40) / 10 + X["owner"] + (sex == "m") + rng.logistic(size=n_samples)
    return X, y.to_numpy(), sex, rng.choice(["x", "y"], n_samples)


def make_encoded(last):
    """A pipeline that scales numbers, encodes text, and ends in an estimator."""
    columns = make_column_transformer(
        (StandardScaler(), ["age", "children"]),
        (OneHotEncoder(), ["job"]),
        ("passthrough", ["owner"]),
    )
    return make_pipeline(columns, last)


BOOSTING = HistGradientBoostingClassifier(max_iter=5, random_state=0)
LOGISTIC = LogisticRegression(max_iter=1000)
CLASSIFIERS = {
    "linear": ConstrainedERMClassifier(tolerance=0.05),
    "linear, first class": ConstrainedERMClassifier(tolerance=0.05, pos_label="no"),
    "hinge": ConstrainedERMClassifier(tolerance=0.05, loss="hinge"),
    "coefficients of groups": ConstrainedERMClassifier(group_interactions=True),
    "intercepts of groups": ConstrainedERMClassifier(group_interactions="intercept"),
    "partial parity": PartialParityClassifier(tolerance=0.1),
    "logistic": ConstrainedClassifierCV(make_encoded(LOGISTIC), tolerance=0.05, pos_label="yes"),
    "one model": ConstrainedClassifierCV(make_encoded(LOGISTIC), tolerance=0.05, ensemble=False),
    "boosting": ConstrainedClassifierCV(BOOSTING, tolerance=0.05, pos_label="no"),
    "losses": ConstrainedClassifierCV(BOOSTING, constraint="equalized_odds_loss", tolerance=0.05),
    "forest": ConstrainedClassifierCV(
        RandomForestClassifier(5, min_samples_leaf=20, random_state=0), tolerance=0.05
    ),
    "known groups": ConstrainedClassifierCV(LOGISTIC, tolerance=0.05, group_estimator=GROUP),
    "group model": ConstrainedClassifierCV(LOGISTIC, group_estimator=GaussianNB()),
    "places": ConstrainedClassifierCV(LOGISTIC, tolerance=0.05, k=0.3),
}


@pytest.mark.covering(0)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_graph_decides_between_two_classes_as_the_classifier(samples, name):
    X, y, sex, _ = samples
    model = CLASSIFIERS[name]
    model.set_params(pos_label=model.pos_label or "yes")
    if name not in ("logistic", "one model"):
        X = X.drop(columns="job")
    model.fit(X, np.where(y > 0.5, "yes", "no"), sensitive_features=sex)
    outputs = run(to_onnx(model, X), X, sensitive_features=sex)
    needs_groups = GROUP in (getattr(model, "group_estimator", None),)
    needs_groups |= bool(getattr(model, "group_interactions", False))
    known = {GROUP: sex} if needs_groups else {}
    np.testing.assert_array_equal(outputs["label"], model.predict(X, **known))
    if hasattr(model, "predict_proba"):
        expected = model.predict_proba(X, **known)
        np.testing.assert_allclose(outputs["probabilities"], expected, rtol=0, atol=1e-5)
    else:
        assert "probabilities" not in outputs


@pytest.mark.covering(0)
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_a_graph_decides_between_three_classes_as_the_classifier(samples, class_weight):
    X, y, sex, _ = samples
    X = X.drop(columns="job")
    labels = np.digitize(y, [-0.3, 1.2])
    model = ConstrainedClassifierCV(LOGISTIC, tolerance=0.1, class_weight=class_weight)
    model.fit(X, labels, sensitive_features=sex)
    outputs = run(to_onnx(model, X), X)
    np.testing.assert_array_equal(outputs["label"], model.predict(X))
    expected = model.predict_proba(X)
    np.testing.assert_allclose(outputs["probabilities"], expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    "model",
    [
        ConstrainedERMRegressor(tolerance=0.1),
        ConstrainedRegressorCV(LinearRegression(), tolerance=0.1),
        ConstrainedRegressorCV(
            HistGradientBoostingRegressor(loss="gamma", max_iter=5),
            constraint="mean_parity",
            tolerance=0.1,
        ),
    ],
    ids=["linear", "any regressor", "logarithms"],
)
def test_a_graph_predicts_numbers_as_the_regressor(samples, model):
    X, y, sex, _ = samples
    X = X.drop(columns="job")
    model.fit(X, np.exp(y / 4), sensitive_features=sex)
    variable = run(to_onnx(model, X), X)["variable"]
    np.testing.assert_allclose(variable[:, 0], model.predict(X), rtol=1e-5)


def test_a_graph_assigns_to_the_nearest_centre_by_numpy(samples):
    X, _, sex, _ = samples
    rows = X[["age", "children"]].to_numpy()
    model = FairKMeans(3, random_state=0).fit(rows, sensitive_features=sex)
    distances = ((rows[:, np.newaxis] - model.cluster_centers_) ** 2).sum(axis=2)
    label = run(to_onnx(model, rows), rows)["label"]
    np.testing.assert_array_equal(label, distances.argmin(axis=1))


def test_a_pipeline_that_ends_in_a_fair_model_is_one_graph(samples):
    X, y, sex, _ = samples
    model = make_encoded(ConstrainedERMClassifier(tolerance=0.05))
    model.fit(X, y > 0.5, constrainedermclassifier__sensitive_features=sex)
    label = run(to_onnx(model, X), X)["label"]
    assert label.dtype == bool
    np.testing.assert_array_equal(label, model.predict(X))


def test_steps_without_double_precision_are_exported_in_single(samples):
    X, y, sex, _ = samples
    X = X[["age", "children"]].astype(float)
    X.loc[::4, "age"] = np.nan
    steps = SimpleImputer(), PolynomialFeatures(2), StandardScaler(), LOGISTIC
    model = ConstrainedClassifierCV(make_pipeline(*steps), tolerance=0.05)
    model.fit(X, y > 0.5, sensitive_features=sex)
    np.testing.assert_array_equal(run(to_onnx(model, X), X)["label"], model.predict(X))


def test_missing_numbers_go_where_trees_of_the_model_send_them(samples):
    X, y, sex, _ = samples
    X = X[["age", "children"]].astype(float)
    X.loc[::4, "age"] = np.nan
    model = ConstrainedClassifierCV(BOOSTING, tolerance=0.05)
    model.fit(X, y > 0.5, sensitive_features=sex)
    np.testing.assert_array_equal(run(to_onnx(model, X), X)["label"], model.predict(X))


@pytest.mark.parametrize("pos_label", ["no", "yes"])
def test_a_missing_number_gives_no_positive_class_of_a_linear_graph(samples, pos_label):
    X, y, sex, _ = samples
    X = X[["age", "children"]].astype(float)
    model = ConstrainedERMClassifier(tolerance=0.05, pos_label=pos_label)
    model.fit(X, np.where(y > 0.5, "yes", "no"), sensitive_features=sex)
    X["age"] = np.nan
    label = run(to_onnx(model, X), X)["label"]
    assert pos_label not in label


@pytest.mark.parametrize("model", [LOGISTIC, None], ids=["any classifier", "linear"])
def test_an_unknown_group_is_an_error_or_overall(samples, model):
    X, y, sex, _ = samples
    X = X[["age", "children"]]
    fair = ConstrainedERMClassifier(group_interactions=True)
    if model is not None:
        fair = ConstrainedClassifierCV(model, tolerance=0.02, group_estimator=GROUP)
    unknown = np.where(np.arange(len(X)) % 5, sex, "other")
    fair.fit(X, y > 0.5, sensitive_features=sex)
    with pytest.raises(Exception, match="out of data bounds"):
        run(to_onnx(fair, X), X, sensitive_features=unknown)
    fair.set_params(handle_unknown="overall").fit(X, y > 0.5, sensitive_features=sex)
    label = run(to_onnx(fair, X), X, sensitive_features=unknown)["label"]
    with pytest.warns(UserWarning, match="other"):
        expected = fair.predict(X, sensitive_features=unknown)
    np.testing.assert_array_equal(label, expected)


def test_each_of_several_attributes_is_an_input(samples):
    X, y, sex, race = samples
    X = X[["age", "children"]]
    groups = pd.DataFrame({"sex": sex, "race": race})
    model = ConstrainedClassifierCV(LOGISTIC, tolerance=0.05, group_estimator=GROUP)
    model.fit(X, y > 0.5, sensitive_features=groups)
    inputs = {f"{GROUP}.sex": sex, f"{GROUP}.race": race}
    label = run(to_onnx(model, X), X, **inputs)["label"]
    np.testing.assert_array_equal(label, model.predict(X, sensitive_features=groups))


def fit_linear(X, y, sex, **params):
    return ConstrainedERMClassifier(**params).fit(X, y > 0.5, sensitive_features=sex)


def test_what_cannot_be_exported_is_named(samples):
    X, y, sex, _ = samples
    numbers = X[["age", "children"]]
    fitted = fit_linear(numbers, y, sex)
    with pytest.raises(NotFittedError):
        to_onnx(ConstrainedERMClassifier(), numbers)
    with pytest.raises(ValueError, match="but is LogisticRegression"):
        to_onnx(LogisticRegression().fit(numbers, y > 0.5), numbers)
    with pytest.raises(ValueError, match="dense"):
        to_onnx(fitted, sparse.csr_array(numbers.to_numpy(dtype=float)))
    with pytest.raises(ValueError, match="columns of the fit"):
        to_onnx(fitted, numbers[["children", "age"]])
    label = numbers.rename(columns={"age": "label"})
    with pytest.raises(ValueError, match="names of outputs"):
        to_onnx(fit_linear(label, y, sex), label)
    ages = np.where(sex == "f", 0.5, 1.5)
    with pytest.raises(ValueError, match="text, bool or int"):
        to_onnx(fit_linear(numbers, y, ages, group_interactions=True), numbers)


def test_a_part_without_a_converter_is_named(samples):
    X, y, sex, _ = samples
    numbers = X[["age", "children"]]

    class ChangedLogisticRegression(LogisticRegression):
        """A classifier that skl2onnx does not know, and whose scores are not linear."""

        def decision_function(self, X):
            return super().decision_function(X) ** 3

    model = ConstrainedClassifierCV(ChangedLogisticRegression()).fit(
        numbers, y > 0.5, sensitive_features=sex
    )
    with pytest.raises(ValueError, match="ChangedLogisticRegression cannot be exported"):
        to_onnx(model, numbers)


def test_categories_of_trees_are_named(samples):
    X, y, sex, _ = samples
    X = X[["age", "job"]].astype({"job": "category"})
    boosting = HistGradientBoostingClassifier(max_iter=5, random_state=0)
    model = ConstrainedClassifierCV(boosting).fit(X, y > 0.5, sensitive_features=sex)
    with pytest.raises(ValueError, match="OneHotEncoder"):
        to_onnx(model, X)


@pytest.mark.parametrize("name", ["lightgbm", "xgboost"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_trees_of_other_packages_decide_as_they_do(samples, name, n_classes):
    package = pytest.importorskip(name)
    X, y, sex, _ = samples
    X = X[["age", "children"]].astype(float)
    X.loc[::4, "age"] = np.nan
    trees = {"lightgbm": "LGBMClassifier", "xgboost": "XGBClassifier"}[name]
    quiet = {"verbose": -1} if name == "lightgbm" else {}
    trees = getattr(package, trees)(n_estimators=10, **quiet)
    labels = np.digitize(y, [0.5, 1.5][: n_classes - 1])
    model = ConstrainedClassifierCV(trees, tolerance=0.05, group_estimator=trees)
    model.fit(X, labels, sensitive_features=sex)
    # New missing values, where trees of LightGBM saw none, are 0.
    X.loc[::3, "children"] = np.nan
    outputs = run(to_onnx(model, X), X)
    np.testing.assert_array_equal(outputs["label"], model.predict(X))
    expected = model.predict_proba(X)
    np.testing.assert_allclose(outputs["probabilities"], expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("LGBMRegressor", {"objective": "tweedie"}),
        ("LGBMRegressor", {"objective": "quantile", "alpha": 0.7}),
        ("XGBRegressor", {"objective": "reg:gamma"}),
        ("XGBRegressor", {}),
    ],
)
def test_trees_of_other_packages_predict_numbers_as_they_do(samples, name, params):
    package = pytest.importorskip("lightgbm" if name[0] == "L" else "xgboost")
    X, y, sex, _ = samples
    X = X[["age", "children"]]
    quiet = {"verbose": -1} if name[0] == "L" else {}
    trees = getattr(package, name)(n_estimators=10, **params, **quiet)
    model = ConstrainedRegressorCV(trees, constraint="mean_parity", tolerance=0.1)
    model.fit(X, np.exp(y / 4), sensitive_features=sex)
    variable = run(to_onnx(model, X), X)["variable"]
    np.testing.assert_allclose(variable[:, 0], model.predict(X), rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("LGBMRegressor", {"linear_tree": True}, "linear_tree=False"),
        ("LGBMRegressor", {"zero_as_missing": True}, "zero_as_missing=False"),
        ("LGBMRegressor", {"reg_sqrt": True}, "regression sqrt"),
        ("XGBRegressor", {"booster": "dart"}, "booster='gbtree'"),
        ("XGBRegressor", {"objective": "reg:pseudohubererror"}, "Fit with one of"),
    ],
)
def test_trees_that_cannot_be_exported_are_named(samples, name, params, message):
    package = pytest.importorskip("lightgbm" if name[0] == "L" else "xgboost")
    X, y, sex, _ = samples
    X = X[["age", "children"]].astype(float)
    quiet = {"verbose": -1} if name[0] == "L" else {}
    trees = getattr(package, name)(n_estimators=3, **params, **quiet)
    model = ConstrainedRegressorCV(trees, constraint="mean_parity", tolerance=0.1)
    model.fit(X, np.exp(y / 4), sensitive_features=sex)
    with pytest.raises(ValueError, match=message):
        to_onnx(model, X)


def test_the_check_counts_samples_by_the_other_model(samples):
    X, y, sex, race = samples
    X = X[["age", "children", "job"]]
    groups = pd.DataFrame({"sex": sex, "race": race})
    model = ConstrainedClassifierCV(
        make_pipeline(
            make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough"), LOGISTIC
        ),
        tolerance=0.05,
        group_estimator=GROUP,
    )
    model.fit(X, y > 0.5, sensitive_features=groups)
    graph = to_onnx(model, X)
    assert check_onnx(graph, model, X, sensitive_features=groups) == 0
    before = model.predict(X, sensitive_features=groups)
    model.rule_intercept_ = model.rule_intercept_ + 0.5
    moved = np.sum(model.predict(X, sensitive_features=groups) != before)
    assert check_onnx(graph, model, X, sensitive_features=groups) == moved > 0


def test_the_check_counts_numbers_that_differ(samples):
    X, y, sex, _ = samples
    X = X[["age", "children"]].to_numpy()
    model = ConstrainedERMRegressor(tolerance=0.1).fit(X, y, sensitive_features=sex)
    graph = to_onnx(model, X)
    assert check_onnx(graph, model, X) == 0
    model.coef_ = model.coef_ + np.array([0, 0.1])
    assert check_onnx(graph, model, X) == np.sum(X[:, 1] != 0) > 0


def test_trees_after_the_best_round_of_early_stopping_do_not_count(samples):
    xgboost = pytest.importorskip("xgboost")
    X, y, _, _ = samples
    X = X[["age", "children"]].to_numpy(dtype=float)
    trees = xgboost.XGBRegressor(n_estimators=200, learning_rate=1.0, early_stopping_rounds=5)
    trees.fit(X[:400], y[:400], eval_set=[(X[400:], y[400:])], verbose=False)
    assert trees.best_iteration + 1 < trees.get_booster().num_boosted_rounds()
    graph = Graph()
    value = write_boosted_scores(graph, graph.add_input("X", float, 2), trees)
    outputs = run(graph.finish({"variable": Output(value, shape=(1,))}), X)
    np.testing.assert_allclose(outputs["variable"][:, 0], trees.predict(X), rtol=1e-5)
