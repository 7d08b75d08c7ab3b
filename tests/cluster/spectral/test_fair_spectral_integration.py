"""FairSpectralClustering among scikit-learn's tools, and on real data."""

from functools import partial

import numpy as np
import pytest
import sklearn
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.datasets import load_benchmark
from skfair._utils.arrays import group_constraint_basis
from skfair.cluster import FairSpectralClustering, fair_embedding
from skfair.metrics import get_scorer, normalized_cut


def model(n_clusters=3, **params):
    return FairSpectralClustering(n_clusters, **{"random_state": 0, **params})


def graph_model(n_clusters=2, **params):
    return model(n_clusters, affinity="precomputed", **params)


# Repeatability and scikit-learn -------------------------------------------------------


def test_groups_travel_through_a_pipeline(blobs):
    X, groups = blobs
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), model())
        labels = pipeline.fit_predict(X, sensitive_features=groups)
    alone = model().fit(StandardScaler().fit_transform(X), sensitive_features=groups)
    np.testing.assert_array_equal(labels, alone.labels_)


def test_cross_validation_cuts_rows_and_columns_of_an_affinity(blobs):
    X, groups = blobs
    with sklearn.config_context(enable_metadata_routing=True):
        scores = cross_validate(
            graph_model(3),
            rbf_kernel(X),
            scoring=get_scorer("balance"),
            params={"sensitive_features": groups},
            cv=KFold(3),
            error_score="raise",
        )
    assert (scores["test_score"] >= 0).all()


@pytest.mark.filterwarnings("ignore:The embedding of eigen_solver='dca-admm'")
@pytest.mark.parametrize("eigen_solver", ["auto", "dca-admm"])
def test_the_record_of_an_embedding_is_what_its_definitions_say(blobs, eigen_solver):
    X, groups = blobs
    fitted = model(eigen_solver=eigen_solver).fit(X, sensitive_features=groups)
    K, H = fitted.affinity_matrix_, fitted.embedding_
    degrees = K.sum(axis=1)
    # The objective is Tr(H' M H) with M = D^-1/2 K D^-1/2.
    T = H / np.sqrt(degrees)[:, None]
    assert np.sum(T * (K @ T)) == pytest.approx(fitted.eigenvalues_.sum())
    C = group_constraint_basis(np.unique(groups, return_inverse=True)[1], 2, degrees)
    assert np.linalg.norm(C.T @ H) == pytest.approx(fitted.embedding_violation_, abs=1e-12)
    assert (fitted.embedding_violation_ > 1e-6) == (eigen_solver == "dca-admm")


@pytest.mark.slow
def test_a_search_without_scoring_takes_the_least_cut(blobs):
    X, groups = blobs
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(model(), {"gamma": [0.1, 1.0]}, cv=KFold(3), error_score="raise")
        search.fit(X, sensitive_features=groups)
    for fold, (train, test) in enumerate(KFold(3).split(X)):
        fitted = model(gamma=0.1).fit(X[train], sensitive_features=groups[train])
        cut = normalized_cut(fitted.predict(X[test]), rbf_kernel(X[test], gamma=0.1))
        assert search.cv_results_[f"split{fold}_test_score"][0] == pytest.approx(-cut)


# Real data ----------------------------------------------------------------------------


def on_disk(fetch):
    try:
        return fetch(download_if_missing=False)
    except OSError:
        pytest.skip("the data are not on this disk")


@pytest.fixture(scope="module")
def lastfm():
    return on_disk(partial(load_benchmark, "lastfm_asia"))


@pytest.mark.slow
def test_lastfm_without_balance_is_cut_better_than_by_plain_kmeans(lastfm):
    fitted = graph_model(25, min_balance=None).fit(
        lastfm.adjacency, sensitive_features=lastfm.sensitive_features
    )
    assert fitted.objective_ <= 2.85


@pytest.mark.slow
def test_lastfm_is_balanced_up_to_one_sample(lastfm):
    countries = lastfm.sensitive_features
    fitted = graph_model(25, min_balance=1).fit(lastfm.adjacency, sensitive_features=countries)
    assert fitted.status_ == "feasible"
    assert fitted.cluster_balances_.mean() >= 0.32
    assert fitted.balance_ >= 0.27
    assert fitted.objective_ <= 9
    counts = fitted.group_counts_
    least = fitted.data_balance_ * (counts.max(axis=1) - 1)
    assert (counts.min(axis=1) + 1 >= least).all()


@pytest.mark.parametrize(("n_components", "cost"), [(2, 0.126), (25, 14.114), (50, 37.084)])
@pytest.mark.parametrize("eigen_solver", ["nullspace", "projected", "auto", "chebyshev"])
def test_facebook_costs_what_the_paper_prints(n_components, cost, eigen_solver):
    graph = on_disk(partial(load_benchmark, "facebook_net"))
    result = fair_embedding(
        graph.adjacency,
        sensitive_features=graph.sensitive_features,
        n_components=n_components,
        eigen_solver=eigen_solver,
        random_state=0,
    )
    reached = n_components - result.objective
    if eigen_solver in ("nullspace", "projected"):
        assert round(reached, 3) == cost
    else:
        assert reached == pytest.approx(cost, rel=1e-4, abs=5e-4)
