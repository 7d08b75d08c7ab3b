"""Pipelines of text as models of groups: they read X itself, in all estimators that take them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from skfair.classification import ConstrainedClassifierCV
from skfair.conformal import ConformalClassifier, ConformalRegressor
from skfair.ranking import ConstrainedRankerCV
from skfair.regression import ConstrainedRegressorCV

RNG = np.random.default_rng(0)
N = 160
GROUPS = RNG.choice(["a", "b"], N)
Y = (RNG.random(N) < np.where(GROUPS == "a", 0.7, 0.3)).astype(int)
HINTS = np.where(RNG.random(N) < 0.8, GROUPS, "a")
TEXTS = [
    f"{'good' if y else 'bad'} {hint * 3} {word * 2}"
    for y, hint, word in zip(Y, HINTS, RNG.choice([*"uvwxyz"], N), strict=True)
]
Y = np.where(RNG.random(N) < 0.85, Y, 1 - Y)
FORMS = {
    "list": TEXTS,
    "objects": np.array(TEXTS, dtype=object),
    "Series": pd.Series(TEXTS, index=np.arange(N) + 7),
    "DataFrame": pd.DataFrame({"text": TEXTS, "number": RNG.normal(size=N)}),
}
ESTIMATORS = [
    ConstrainedClassifierCV(LogisticRegression(), tolerance=0.02),
    ConstrainedClassifierCV(LogisticRegression(), tolerance=0.02, ensemble=False),
    ConstrainedRegressorCV(Ridge(), tolerance=0.02),
    ConstrainedRankerCV(Ridge(), tolerance=0.02),
    ConformalClassifier(LogisticRegression()),
    ConformalRegressor(Ridge()),
]


def read_text(form):
    """A transformer of text, alone or as a column of a DataFrame."""
    if form != "DataFrame":
        return TfidfVectorizer()
    return ColumnTransformer([("text", TfidfVectorizer(), "text"), ("rest", "passthrough", [1])])


def fit(model, base, group_estimator, X):
    model = clone(model).set_params(estimator=base, group_estimator=group_estimator)
    queries = {"query_id": np.arange(N) // 10} if isinstance(model, ConstrainedRankerCV) else {}
    return model.fit(X, Y, sensitive_features=GROUPS, **queries)


@pytest.mark.covering(0)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("form", FORMS)
def test_a_text_pipeline_reads_what_its_classifier_would_get(model, form):
    """With equal transformers a pipeline on X is its last step on the features of the estimator."""
    X = FORMS[form]
    base = make_pipeline(read_text(form), model.estimator)
    of_text = make_pipeline(read_text(form), LogisticRegression())
    fitted, expected = (fit(model, base, one, X) for one in (of_text, LogisticRegression()))
    predicted, known = (one.predict(X) for one in (fitted, expected))
    if predicted.dtype.kind == "f":
        np.testing.assert_allclose(predicted, known, atol=1e-6)
    else:
        np.testing.assert_array_equal(predicted, known)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_models_that_read_the_features_still_get_them():
    """A scaler fails on text, and another model that reads neither raises its own error."""
    base = make_pipeline(TfidfVectorizer(), LogisticRegression())
    scaled = make_pipeline(StandardScaler(with_mean=False), LogisticRegression())
    assert fit(ESTIMATORS[0], base, scaled, TEXTS).predict(TEXTS).shape == (N,)
    dense = make_pipeline(StandardScaler(), LogisticRegression())
    with pytest.raises(ValueError, match="Cannot center sparse matrices"):
        fit(ESTIMATORS[0], base, dense, TEXTS)


@pytest.mark.filterwarnings("ignore")
def test_numbers_are_those_of_the_final_step():
    widths = []

    def note(X):
        widths.append(np.shape(X)[1])
        return X

    numbers = RNG.normal(size=(N, 3)) + 2.0 * (HINTS == "a")[:, np.newaxis]
    numbers[:, 0] += 2.0 * Y
    base = make_pipeline(FunctionTransformer(lambda X: X[:, :2]), LogisticRegression())
    noted = make_pipeline(FunctionTransformer(note), LogisticRegression())
    fit(ESTIMATORS[0], base, noted, numbers)
    assert set(widths) == {2}
