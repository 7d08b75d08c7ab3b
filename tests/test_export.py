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

from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    PartialParityClassifier,
)
from skfair.cluster import FairKMeans
from skfair.export import to_onnx
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
