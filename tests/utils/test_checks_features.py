import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression

from skfair._utils.checks import check_finite_squares
from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    ConstrainedMLPClassifier,
    PartialParityPostprocessor,
)
from skfair.cluster import FairKMeans, FairSpectralClustering
from skfair.datasets import open_blocks
from skfair.ranking import ConstrainedRanker
from skfair.regression import ConstrainedERMRegressor, ConstrainedRegressorCV

X = np.random.default_rng(0).normal(size=(60, 3))
LARGE = X.copy()
LARGE[5, 1] = -1e160
OF_X = r"squares of X .* holds -1e\+160 in row 5 of column 1\. Divide it by a constant"
OF_Y = r"squares of y .* holds -1e\+160 in row 5\. Divide it by a constant"
GROUPS = np.arange(60) // 2 % 2


@pytest.mark.parametrize(
    "kind", [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_array]
)
def test_squares_that_overflow(kind):
    check_finite_squares(kind(X), "X")
    with pytest.raises(ValueError, match=OF_X):
        check_finite_squares(kind(LARGE), "X")


def test_one_column():
    check_finite_squares(X[:, 1], "y")
    with pytest.raises(ValueError, match=OF_Y):
        check_finite_squares(LARGE[:, 1], "y")


def test_what_is_not_refused():
    check_finite_squares(np.full((3, 2), 1e38, dtype=np.float32), "X")
    check_finite_squares(np.empty((0, 2)), "X")


OF_OUTPUT = r"must return finite numbers, below 1e\+140 .* but 1 of \d+ rows"
IN_MEMORY = {
    "ranker": (ConstrainedRanker(), np.arange(60) // 15, OF_X),
    "spectral": (FairSpectralClustering(2), np.zeros(60), OF_X),
    "any regressor": (ConstrainedRegressorCV(LinearRegression()), X[:, 0], OF_OUTPUT),
    "any classifier": (ConstrainedClassifierCV(LogisticRegression()), GROUPS, OF_OUTPUT),
    "ranks of a classifier": (PartialParityPostprocessor(LogisticRegression()), GROUPS, OF_OUTPUT),
}
"""Estimators that are fitted in memory; those of any model check what it returns."""


@pytest.mark.parametrize("case", IN_MEMORY)
@pytest.mark.filterwarnings(
    "ignore:Got no query_id", "ignore::sklearn.exceptions.ConvergenceWarning"
)
def test_fits_in_memory_name_the_value(case):
    estimator, y, message = IN_MEMORY[case]
    with pytest.raises(ValueError, match=message):
        estimator.fit(LARGE, y, sensitive_features=np.arange(60) % 2)


def test_trees_do_not_square_features():
    trees = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5)
    model = ConstrainedClassifierCV(trees, tolerance=0.9)
    model.fit(LARGE, X[:, 0] > 0.0, sensitive_features=np.arange(60) % 2)
    np.testing.assert_array_equal(model.predict(LARGE[:5]), model.predict(X[:5]))


FITS = {
    "classifier": (ConstrainedERMClassifier(tolerance=0.1), LARGE, np.arange(60) % 2, OF_X),
    "regressor": (ConstrainedERMRegressor("mean_parity"), LARGE, X[:, 0], OF_X),
    "target": (ConstrainedERMRegressor("mean_parity"), X, LARGE[:, 1], OF_Y),
    "clusterer": (FairKMeans(2), LARGE, np.zeros(60), OF_X),
}


@pytest.mark.parametrize("in_files", [False, True], ids=["memory", "files"])
@pytest.mark.parametrize("case", FITS)
def test_fits_name_the_value(case, in_files, tmp_path):
    estimator, features, y, message = FITS[case]
    groups = GROUPS
    if in_files:
        np.save(tmp_path / "table.npy", np.column_stack((features, y, groups)))
        table = open_blocks(tmp_path / "table.npy")
        features = table[[0, 1, 2]]
        y = table[3]
        groups = table[4]
    with pytest.raises(ValueError, match=message):
        estimator.fit(features, y, sensitive_features=groups)


TEXT = pd.DataFrame({"age": [1.0, 2.0], "sex": ["f", "m"], "code": ["1", "2"], "job": ["x", None]})


@pytest.mark.parametrize(
    ("make", "fit"),
    [
        (
            ConstrainedERMClassifier,
            lambda model, X: model.fit(X, [0, 1], sensitive_features=[0, 1]),
        ),
        (ConstrainedERMRegressor, lambda model, X: model.fit(X, [0, 1], sensitive_features=[0, 1])),
        (
            ConstrainedMLPClassifier,
            lambda model, X: model.fit(X, [0, 1], sensitive_features=[0, 1]),
        ),
        (lambda: FairKMeans(2), lambda model, X: model.fit(X, sensitive_features=[0, 1])),
    ],
    ids=["classifier", "regressor", "network", "clusterer"],
)
@pytest.mark.parametrize("as_list", [False, True])
def test_text_in_columns_is_named_with_what_to_do(make, fit, as_list):
    columns = "1, 3" if as_list else "'sex', 'job'"
    model = make()
    X = TEXT.to_numpy().tolist() if as_list else TEXT
    with pytest.raises(ValueError, match="could not convert string to float") as caught:
        fit(model, X)
    message = str(caught.value)
    assert f"X has text in 2 column(s): {columns}. Encode them" in message
    assert f"OneHotEncoder(), [{columns}])" in message and type(model).__name__ in message
    assert ("ConstrainedClassifierCV passes X as it is" in message) == is_classifier(model)


def test_errors_without_text_are_those_of_scikit_learn():
    with pytest.raises(ValueError, match="contains NaN") as caught:
        ConstrainedERMClassifier().fit([[np.nan], [1.0]], [0, 1], sensitive_features=[0, 1])
    assert "Encode" not in str(caught.value)


def test_graphs_of_networkx_become_matrices():
    graph = type("Graph", (), {"__module__": "networkx.classes.graph"})()
    model = FairSpectralClustering(2, affinity="precomputed")
    with pytest.raises((TypeError, ValueError), match="networkx.to_scipy_sparse_array"):
        model.fit(graph, sensitive_features=[0, 1, 0, 1])


@pytest.mark.parametrize(
    "model",
    [
        ConstrainedERMClassifier(),
        ConstrainedClassifierCV(),
        FairKMeans(2),
        FairSpectralClustering(2),
    ],
)
def test_the_name_of_a_column_is_no_column(model):
    with pytest.raises(ValueError, match=r"sensitive_features=X\['sex'\]. Leave it out of X"):
        model.fit(TEXT, [0, 1], sensitive_features="sex")
