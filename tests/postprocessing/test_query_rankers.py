"""Rankers of LightGBM, XGBoost and CatBoost get the queries as their own ``fit`` takes them."""

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skfair.ranking import ConstrainedRankerCV

KNOWN = {"group_estimator": "sensitive_features"}
quiet = pytest.mark.filterwarnings("ignore")


class Recorder(BaseEstimator):
    """A ranker that keeps what ``fit`` gets, and predicts the first column."""

    def fit(self, X, y, sample_weight=None, group=None):
        self.passed_ = X, y, sample_weight, group
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return X[:, 0]


class QidRecorder(Recorder):
    def fit(self, X, y, sample_weight=None, group=None, qid=None):
        return super().fit(X, y, sample_weight, qid)


class GroupIdRecorder(Recorder):
    def fit(self, X, y, sample_weight=None, group_id=None):
        return super().fit(X, y, sample_weight, group_id)


def draw(seed=0, n_documents=160, n_queries=12):
    """Documents in any order, of queries of 1 to many documents, whose names are text."""
    rng = np.random.default_rng(seed)
    query = np.append(rng.integers(1, n_queries, n_documents - 1), 0)
    query = np.array([f"q{code}" for code in query])[rng.permutation(n_documents)]
    sex = rng.integers(2, size=n_documents)
    X = rng.normal(size=(n_documents, 3)) + sex[:, np.newaxis]
    y = np.clip(np.round(X[:, 0] + rng.normal(size=n_documents)), 0, 4).astype(int)
    return X, y, query, sex, rng.integers(1, 4, n_documents).astype(float)


def split(query):
    """Two folds that divide no query."""
    is_first = np.unique(query, return_inverse=True)[1] % 2 == 0
    first, second = np.flatnonzero(is_first), np.flatnonzero(~is_first)
    return [(first, second), (second, first)]


def fit(ranker, seed=0, weighted=False):
    X, y, query, sex, weights = draw(seed)
    model = ConstrainedRankerCV(ranker, cv=split(query), tolerance=0.2, **KNOWN)
    weights = {"sample_weight": weights} if weighted else {}
    return model.fit(X, y, query_id=query, sensitive_features=sex, **weights)


def sort_by_query(seed):
    """What the ranker of the first fold gets: documents of each query in a row, and counts."""
    X, y, query, _, weights = draw(seed)
    names, codes = np.unique(query, return_inverse=True)
    rows = split(query)[0][0]
    order = rows[np.argsort(codes[rows], kind="stable")]
    counts = np.bincount(codes[order], minlength=len(names))
    return X[order], y[order], codes[order], weights[order], counts[counts > 0]


def average_by_query(codes, weights):
    sums = np.bincount(codes, weights)
    counts = np.bincount(codes)
    return sums[counts > 0] / counts[counts > 0]


@quiet
@pytest.mark.parametrize("in_pipeline", [False, True])
@pytest.mark.parametrize("kind", [Recorder, QidRecorder, GroupIdRecorder])
def test_documents_are_sorted_by_query(kind, in_pipeline):
    X, y, codes, weights, counts = sort_by_query(0)
    ranker = make_pipeline("passthrough", kind()) if in_pipeline else kind()
    model = fit(ranker, weighted=not in_pipeline)
    fitted = model.estimators_[0]
    assert type(fitted) is type(ranker)
    got_X, got_y, got_weights, got_query = (fitted[-1] if in_pipeline else fitted).passed_
    np.testing.assert_array_equal(got_X, X)
    np.testing.assert_array_equal(got_y, y)
    # Codes are of all documents of the fit; a ranker only compares them.
    np.testing.assert_array_equal(got_query, counts if kind is Recorder else codes)
    if not in_pipeline:
        expected = average_by_query(codes, weights) if kind is QidRecorder else weights
        np.testing.assert_allclose(got_weights, expected)


@quiet
def test_queries_are_routed():
    with sklearn.config_context(enable_metadata_routing=True):
        model = fit(Recorder())
    np.testing.assert_array_equal(model.estimators_[0].passed_[3], sort_by_query(0)[4])


def make_lightgbm():
    lightgbm = pytest.importorskip("lightgbm")
    settings = {"n_estimators": 5, "min_child_samples": 3, "verbose": -1, "n_jobs": 1}
    return lightgbm.LGBMRanker(random_state=0, deterministic=True, **settings)


def make_xgboost():
    xgboost = pytest.importorskip("xgboost")
    return xgboost.XGBRanker(n_estimators=5, max_depth=2, random_state=0, n_jobs=1)


def make_catboost():
    catboost = pytest.importorskip("catboost")
    settings = {"verbose": False, "allow_writing_files": False, "thread_count": 1}
    return catboost.CatBoostRanker(iterations=5, depth=2, random_seed=0, **settings)


FIT_BY_PACKAGE = {
    make_lightgbm: lambda ranker, X, y, codes, weights, counts: ranker.fit(
        X, y, group=counts, sample_weight=weights
    ),
    make_xgboost: lambda ranker, X, y, codes, weights, counts: ranker.fit(
        X, y, qid=codes, sample_weight=average_by_query(codes, weights)
    ),
    make_catboost: lambda ranker, X, y, codes, weights, counts: ranker.fit(
        X, y, group_id=codes, sample_weight=weights
    ),
}
"""The fit of a ranker by its own package, by the function that makes the ranker."""


@quiet
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("make", FIT_BY_PACKAGE)
def test_scores_are_those_of_the_package(make, seed):
    ranker = make()
    X, *_ = draw(seed)
    model = fit(ranker, seed, weighted=True)
    expected = FIT_BY_PACKAGE[make](make(), *sort_by_query(seed)).predict(X)
    np.testing.assert_allclose(model.estimators_[0].predict(X), expected, rtol=1e-6, atol=1e-9)
    assert type(model.estimators_[0]) is type(ranker)


@quiet
@pytest.mark.parametrize("make", FIT_BY_PACKAGE)
def test_fitted_rankers_and_pipelines(make):
    X, y, query, sex, _ = draw()
    fitted = FIT_BY_PACKAGE[make](make(), *sort_by_query(0))
    model = ConstrainedRankerCV(fitted, cv="prefit", tolerance=0.2, **KNOWN)
    new = draw(1)
    model.fit(new[0], new[1], query_id=new[2], sensitive_features=new[3])
    assert model.estimators_ == [fitted]
    model = fit(make_pipeline(StandardScaler(), make()))
    assert np.isfinite(model.predict(X, sensitive_features=sex)).all()
