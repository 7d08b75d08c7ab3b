import warnings

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skfair import ranking
from skfair._groups.events import DocumentPairs
from skfair.classification import ConstrainedERMClassifier
from skfair.constraints import RankingParity
from skfair.datasets import make_ranking
from skfair.exceptions import MissingSensitiveFeaturesWarning
from skfair.metrics import ranking_parity_difference
from skfair.ranking import ConstrainedRanker
from skfair.solvers.literature import StochasticPLADA


@pytest.fixture(scope="module")
def documents():
    X, y, query, groups = make_ranking(40, n_documents=15, random_state=0)
    return X, y, {"query_id": query, "sensitive_features": groups}


def gap(ranker, documents, **changes):
    X, y, metadata = documents
    return ranking_parity_difference(y, ranker.predict(X), **metadata, **changes)


def test_the_plain_fit_is_logistic_regression_of_differences(documents):
    X, y, metadata = documents
    ranker = ConstrainedRanker(constraint=None, alpha=0.01).fit(X, y, query_id=metadata["query_id"])
    pairs = DocumentPairs(y, metadata["query_id"])
    better, worse = pairs[np.arange(len(pairs))].T
    differences = X[better] - X[worse]
    both = np.concatenate((differences, -differences))
    target = np.repeat([1, 0], len(differences))
    plain = LogisticRegression(C=1 / (0.01 * len(both)), fit_intercept=False, tol=1e-10)
    np.testing.assert_allclose(ranker.coef_, plain.fit(both, target).coef_[0], atol=1e-4)
    assert ranker.n_pairs_ == len(pairs)
    assert ranker.score(X, y, query_id=metadata["query_id"]) == pytest.approx(
        np.mean(ranker.predict(X)[better] > ranker.predict(X)[worse])
    )


@pytest.mark.parametrize("tolerance", [0.1, 0.03])
def test_orders_keep_the_tolerance(tolerance, documents):
    X, y, metadata = documents
    plain = ConstrainedRanker(constraint=None).fit(X, y, query_id=metadata["query_id"])
    assert gap(plain, documents) > 0.15
    fair = ConstrainedRanker(tolerance=tolerance).fit(X, y, **metadata)
    assert gap(fair, documents) <= tolerance
    assert fair.constraint_violation_ == 0.0
    assert fair.constraint_report_["gap"].iloc[0] == pytest.approx(gap(fair, documents))
    assert fair.score(X, y, query_id=metadata["query_id"]) > 0.6


def test_the_worst_query_keeps_the_tolerance(documents):
    X, y, metadata = documents
    constraint = RankingParity(per_query=True, min_pairs=15)
    fair = ConstrainedRanker(constraint, tolerance=0.5).fit(X, y, **metadata)
    worst = gap(fair, documents, per_query=True, min_pairs=15)
    assert worst <= 0.5
    assert fair.constraint_report_["gap"].iloc[0] == pytest.approx(worst)
    plain = ConstrainedRanker(constraint=None).fit(X, y, query_id=metadata["query_id"])
    assert gap(plain, documents, per_query=True, min_pairs=15) > 0.5


@pytest.mark.slow
def test_solvers_draw_pairs(documents):
    X, y, metadata = documents
    solver = StochasticPLADA(max_iter=5, tol=0.02, batch_size=128)
    ranker = ConstrainedRanker(tolerance=0.1, solver=solver, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # mini-batches end uncertified
        coefs = [ranker.fit(X, y, **metadata).coef_ for _ in range(2)]
    np.testing.assert_array_equal(*coefs)
    assert gap(ranker, documents) <= 0.1


def test_the_number_of_pairs_is_limited(documents, monkeypatch):
    X, y, metadata = documents
    monkeypatch.setattr(ranking, "MAX_PAIRS", 500)
    ranker = ConstrainedRanker(tolerance=0.05, random_state=0).fit(X, y, **metadata)
    assert ranker.n_pairs_ == 500
    assert ranker.constraint_report_["n"].sum() <= 500
    assert ranker.constraint_violation_ == 0.0


def test_order_and_names_of_queries_do_not_matter(documents):
    X, y, metadata = documents
    order = np.random.default_rng(0).permutation(len(y))
    first = ConstrainedRanker(tolerance=0.05).fit(X, y, **metadata)
    second = ConstrainedRanker(tolerance=0.05).fit(
        sparse.csr_array(X[order]),
        y[order],
        query_id=[f"query {q}" for q in metadata["query_id"][order]],
        sensitive_features=metadata["sensitive_features"][order],
    )
    np.testing.assert_allclose(second.coef_, first.coef_, rtol=1e-3)


def test_queries_are_routed_through_a_pipeline_and_a_search(documents):
    pytest.importorskip("sklearn", "1.8", reason="the score of a pipeline gets no queries before")
    X, y, metadata = documents
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            make_pipeline(StandardScaler(), ConstrainedRanker(tolerance=0.1)),
            {"constrainedranker__alpha": [1e-3, 1e-1]},
            cv=GroupKFold(3),
        )
        search.fit(X, y, groups=metadata["query_id"], **metadata)
    assert search.best_score_ > 0.6
    assert gap(search.best_estimator_, documents) <= 0.1


def test_without_groups_the_fit_is_unconstrained(documents):
    X, y, metadata = documents
    with pytest.warns(MissingSensitiveFeaturesWarning, match="got no sensitive_features"):
        ranker = ConstrainedRanker().fit(X, y, query_id=metadata["query_id"])
    assert ranker.status_ == "unconstrained"


def test_documents_without_queries_are_warned_of(documents):
    X, y, metadata = documents
    with pytest.warns(UserWarning, match="no query_id: all .* one query.*query_id=np.zeros"):
        ranker = ConstrainedRanker(constraint=None).fit(X[:50], y[:50])
    with pytest.warns(UserWarning, match="no query_id: all .* one query"):
        score = ranker.score(X, y)
    assert score == ranker.score(X, y, query_id=np.zeros(len(y)))  # which warns of nothing


def test_errors_about_bad_input_name_the_remedy(documents):
    X, y, metadata = documents
    with pytest.raises(ValueError, match="No query has documents of different relevance"):
        ConstrainedRanker().fit(X, np.zeros(len(y)), **metadata)
    with pytest.raises(ValueError, match="query_id has 3 rows but there are"):
        ConstrainedRanker().fit(X, y, **(metadata | {"query_id": [1, 2, 3]}))
    with pytest.raises(ValueError, match="nothing to compare: no two groups have 10000 pair"):
        ConstrainedRanker(RankingParity(min_pairs=10_000)).fit(X, y, **metadata)
    with pytest.raises(ValueError, match=r"compares pairs.*skfair\.ranking\.ConstrainedRanker"):
        ConstrainedERMClassifier(RankingParity()).fit(
            X, y > 2, sensitive_features=metadata["sensitive_features"]
        )


def test_a_document_of_weight_two_counts_as_two(documents):
    X, y, metadata = (part[:150] if isinstance(part, np.ndarray) else part for part in documents)
    metadata = {name: values[:150] for name, values in metadata.items()}
    weights = np.random.default_rng(0).integers(3, size=150)
    rows = np.repeat(np.arange(150), weights)
    weighted = ConstrainedRanker(tolerance=0.05).fit(X, y, sample_weight=weights, **metadata)
    repeated = {name: values[rows] for name, values in metadata.items()}
    twice = ConstrainedRanker(tolerance=0.05).fit(X[rows], y[rows], **repeated)
    np.testing.assert_allclose(weighted.coef_, twice.coef_, rtol=1e-4)
    query = {"query_id": metadata["query_id"]}
    assert weighted.score(X, y, sample_weight=weights, **query) == pytest.approx(
        weighted.score(X[rows], y[rows], query_id=repeated["query_id"])
    )
    scores = weighted.predict(X)
    assert ranking_parity_difference(y, scores, sample_weight=weights, **metadata) == pytest.approx(
        ranking_parity_difference(y[rows], scores[rows], **repeated)
    )


def test_missing_queries_are_refused_as_queries():
    X = np.ones((4, 1))
    y = np.array([0, 1, 0, 1])
    query = np.array([1.0, 1.0, np.nan, 2.0])
    with pytest.raises(ValueError, match="query_id must name the query of each document"):
        ConstrainedRanker(constraint=None).fit(X, y, query_id=query)


def test_queries_of_one_group_are_warned_of(documents):
    X, y, metadata = documents
    query = metadata["query_id"]
    plain = ConstrainedRanker(constraint=None).fit(X, y, query_id=query)
    by_query = np.where(query % 2, "a", "b")
    ranker = ConstrainedRanker()
    message = "no query has documents of two groups and of different relevance. The fit is uncon"
    with pytest.warns(MissingSensitiveFeaturesWarning, match=message):
        ranker.fit(X, y, query_id=query, sensitive_features=by_query)
    assert ranker.status_ == "unconstrained"
    assert ranker.constraint_violation_ is None
    np.testing.assert_allclose(ranker.coef_, plain.coef_)
    with pytest.warns(MissingSensitiveFeaturesWarning, match="all documents are in the group 'a'"):
        ranker.fit(X, y, query_id=query, sensitive_features=np.full(len(y), "a"))
    # What the warning advises ends it.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranker.fit(X, y, **metadata)
        assert ranker.status_ != "unconstrained"
        ranker.set_params(constraint=None)
        ranker.fit(X, y, query_id=query, sensitive_features=by_query)


@pytest.mark.covering(0)
@pytest.mark.parametrize("seed", range(4))
def test_sparse_and_dense_rows_have_equal_fits(seed):
    X, y, query, groups = make_ranking(60, random_state=seed)
    X[np.abs(X) < 0.6] = 0.0
    metadata = {"query_id": query, "sensitive_features": groups}
    dense = ConstrainedRanker(tolerance=0.03).fit(X, y, **metadata)
    thin = ConstrainedRanker(tolerance=0.03).fit(sparse.csr_array(X), y, **metadata)
    np.testing.assert_array_equal(thin.coef_, dense.coef_)
    np.testing.assert_allclose(thin.predict(sparse.csr_array(X)), dense.predict(X))


def test_many_sparse_columns_stay_sparse(monkeypatch):
    X, y, query, groups = make_ranking(20, random_state=0)
    fitted_features = []

    def fit(ranker, arguments, training, constraints):
        fitted_features.append(training.X)
        return fit_linear_model(ranker, arguments, training, constraints)

    fit_linear_model = ranking.fit_linear_model
    monkeypatch.setattr(ranking, "fit_linear_model", fit)
    wide = sparse.hstack([sparse.csr_array(X)] * 7).tocsr()
    for columns, is_sparse in ((wide, True), (wide[:, :64], False)):
        ranker = ConstrainedRanker(tolerance=0.1)
        ranker.fit(columns, y, query_id=query, sensitive_features=groups)
        assert sparse.issparse(fitted_features[-1]) == is_sparse
