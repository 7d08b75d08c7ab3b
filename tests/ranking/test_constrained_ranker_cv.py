"""Offsets of groups that bound exposure: exact ones, true gaps, any ranker, refusals."""

import pickle
import warnings
from itertools import permutations, product

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skfair._postprocessing import exposure
from skfair.classification import ConstrainedERMClassifier
from skfair.constraints import ExposureParity
from skfair.datasets import make_ranking
from skfair.exceptions import (
    ConstraintCostWarning,
    InfeasibleConstraintWarning,
    MissingSensitiveFeaturesWarning,
)
from skfair.metrics import exposure_difference, exposure_ratio, get_scorer
from skfair.metrics._ranking import document_exposure
from skfair.preprocessing import ScoreColumn
from skfair.ranking import ConstrainedRanker, ConstrainedRankerCV
from skfair.regression import ConstrainedERMRegressor

KNOWN = {"group_estimator": "sensitive_features"}


class FirstColumn(BaseEstimator):
    """A ranker that is neither a regressor nor a classifier: the first column of X."""

    def fit(self, X, y):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return X[:, 0]


@pytest.fixture(scope="module")
def documents():
    X, y, query, group = make_ranking(50, random_state=0)
    return X, y, {"query_id": query, "sensitive_features": group}


def draw_scores(seed, n=240, n_queries=8, groups="abc"):
    rng = np.random.default_rng(seed)
    group = rng.choice([*groups], n)
    X = np.column_stack((rng.normal(size=n) + (group == "a") - (group == "b"), rng.random(n)))
    return (
        X,
        np.exp(X[:, 0] / 10.0),
        {"query_id": np.arange(n) % n_queries, "sensitive_features": group},
    )


def fit_known(X, y, columns, constraint, **params):
    """Offsets of scores that exist, where groups are known."""
    ranker = ConstrainedRankerCV(FrozenEstimator(FirstColumn().fit(X, y)), constraint, **KNOWN)
    return ranker.set_params(**params).fit(X, y, **columns)


@pytest.mark.parametrize("n_queries", [2, 3, 4])
def test_a_fitted_ranker_needs_no_five_queries(n_queries):
    X, y, columns = draw_scores(0, n_queries=n_queries)
    ranker = ConstrainedRankerCV(FirstColumn().fit(X, y), None, cv="prefit", **KNOWN)
    ranker.fit(X, y, **columns)
    scores = ranker.predict(X, sensitive_features=columns["sensitive_features"])
    np.testing.assert_array_equal(np.argsort(scores), np.argsort(X[:, 0]))


def test_rankings_by_offset_have_the_largest_gain_of_all_with_their_exposures():
    X, y, columns = draw_scores(0, n=8, n_queries=2, groups="ab")
    fair = fit_known(X, y, columns, ExposureParity(tolerance=0.1), cv=2)
    query, group = columns["query_id"], columns["sensitive_features"]

    def gain_and_gap(attention):
        return X[:, 0] @ attention, np.ptp([attention[group == one].mean() for one in "ab"])

    by_rank = 1.0 / np.log2(np.arange(2, 6))
    attention = np.empty(8)
    results = []
    for first, second in product(permutations(by_rank), repeat=2):
        attention[query == 0], attention[query == 1] = first, second
        results.append(gain_and_gap(attention))
    scores = fair.predict(X, sensitive_features=group)
    gain, gap = gain_and_gap(document_exposure(scores, query, None, "log"))
    assert gap <= 0.1
    assert gain >= max(one for one, other in results if other <= gap) - 1e-9


@pytest.mark.covering(1)
@pytest.mark.parametrize("groups", ["ab", "abcd"])
@pytest.mark.parametrize(
    "constraint",
    [
        ExposureParity(tolerance=0.03),
        ExposureParity(ratio=0.9),
        ExposureParity(tolerance=0.05, merit="relevance"),
        ExposureParity(tolerance=0.05, k=5),
    ],
    ids=str,
)
def test_the_metric_keeps_the_bound_on_the_training_queries(constraint, groups):
    X, y, columns = draw_scores(0, n=600, n_queries=30, groups=groups)
    fair = fit_known(X, y, columns, constraint)
    merit = None if constraint.merit is None else y
    scores = fair.predict(X, sensitive_features=columns["sensitive_features"])
    np.testing.assert_allclose(scores, fair.oof_prediction_)
    of_groups = columns | {"merit": merit, "k": constraint.k}
    assert exposure_difference(X[:, 0], **of_groups) > 0.08
    if constraint.ratio is None:
        assert constraint.tolerance / 2 < exposure_difference(scores, **of_groups)
        assert exposure_difference(scores, **of_groups) <= constraint.tolerance + 1e-12
    else:
        assert constraint.ratio - 1e-12 <= exposure_ratio(scores, **of_groups) < 0.95
    report = fair.constraint_report_
    assert report["gap"][0] == pytest.approx(
        (exposure_difference if constraint.ratio is None else exposure_ratio)(scores, **of_groups)
    )
    assert fair.status_ == ("optimal" if groups == "ab" else "feasible")
    assert fair.constraint_violation_ == 0.0


def test_rankings_worse_than_random_ones_are_warned_of():
    """Queries of group "a" alone expose it, so that equality ranks it last in most of the others.

    But there it has all of the relevance.
    """
    alone = np.arange(10, 20)
    query = np.concatenate((np.repeat(np.arange(10), 2), alone))
    group = np.array(["a", "b"] * 10 + ["a"] * 10)
    y = (group == "a").astype(float)
    X = (y + np.append(np.repeat(np.linspace(0.0, 1.0, 10), 2) * y[:20], np.zeros(10)))[:, None]
    columns = {"query_id": query, "sensitive_features": group}
    with pytest.warns(ConstraintCostWarning, match="worse than random ranks"):
        fair = fit_known(X, y, columns, ExposureParity(tolerance=0.05))
    assert fair.constraint_violation_ == 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConstraintCostWarning)
        fit_known(X, y, columns, ExposureParity(tolerance=0.25))


def test_offsets_by_probabilities_of_groups_keep_the_bound(documents):
    X, y, columns = documents
    fair = ConstrainedRankerCV(LinearRegression(), tolerance=0.03).fit(X, y, **columns)
    assert exposure_difference(fair.oof_prediction_, **columns) <= 0.03
    plain = ConstrainedRankerCV(LinearRegression(), None).fit(X, y, **columns)
    assert exposure_difference(plain.oof_prediction_, **columns) > 0.08
    # Predictions need no group, and are those of the mean of all folds.
    assert exposure_difference(fair.predict(X), **columns) < 0.05
    loaded = pickle.loads(pickle.dumps(fair))
    np.testing.assert_array_equal(loaded.predict(X), fair.predict(X))


def test_a_bound_that_holds_needs_no_offsets(documents):
    X, y, columns = documents
    fair = ConstrainedRankerCV(LinearRegression(), tolerance=0.9).fit(X, y, **columns)
    plain = ConstrainedRankerCV(LinearRegression(), None).fit(X, y, **columns)
    np.testing.assert_allclose(fair.predict(X), plain.predict(X))
    assert fair.status_ == "optimal" and fair.n_iter_ == 0


def test_the_default_is_the_linear_ranker_in_folds_of_queries(documents):
    X, y, columns = documents
    fair = ConstrainedRankerCV(tolerance=0.05, cv=2).fit(X, y, **columns)
    assert [type(one) for one in fair.estimators_] == [ConstrainedRanker] * 2
    assert fair.constraint_violation_ == 0.0
    assert fair.score(X, y, query_id=columns["query_id"]) > 0.6


@pytest.mark.slow
def test_any_ranker_of_any_shape_serves(documents):
    X, y, columns = documents
    vendor = np.column_stack((100.0 * X[:, 0] + 3.0, X))
    rankers = [FirstColumn(), make_pipeline(StandardScaler(), LinearRegression())]
    for ranker in rankers:
        fair = ConstrainedRankerCV(ranker, tolerance=0.05).fit(vendor, y, **columns)
        assert fair.constraint_violation_ == 0.0
    clicked = y > np.median(y)
    fair = ConstrainedRankerCV(ScoreColumn(0), tolerance=0.05).fit(vendor, clicked, **columns)
    assert exposure_difference(fair.oof_prediction_, **columns) <= 0.05


def test_the_order_of_rows_does_not_matter():
    X, y, columns = draw_scores(1)
    constraint = ExposureParity(tolerance=0.05)
    fair = fit_known(X, y, columns, constraint)
    rows = np.random.default_rng(0).permutation(len(y))
    shuffled = {name: column[rows] for name, column in columns.items()}
    np.testing.assert_allclose(
        fit_known(X[rows], y[rows], shuffled, constraint).rule_coef_, fair.rule_coef_
    )


def test_weights_count_in_exposures_and_documents_without_weight_are_absent():
    X, y, columns = draw_scores(2)
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    constraint = ExposureParity(tolerance=0.05)
    fair = fit_known(X, y, columns | {"sample_weight": weights}, constraint)
    assert np.array_equal(np.isnan(fair.oof_prediction_), weights == 0)
    scores = np.nan_to_num(fair.oof_prediction_)
    assert exposure_difference(scores, sample_weight=weights, **columns) <= 0.05
    present = {name: column[weights > 0] for name, column in columns.items()}
    present |= {"sample_weight": weights[weights > 0]}
    alone = fit_known(X[weights > 0], y[weights > 0], present, constraint)
    np.testing.assert_allclose(alone.rule_coef_, fair.rule_coef_)


def test_a_bound_that_no_ranking_keeps_ends_in_a_warning():
    X, y, columns = draw_scores(3)
    # Every query has one group, so that every ranking has the same exposures.
    columns |= {"query_id": np.repeat([0, 1, 2, 3, 4, 5, 6, 7], 30)}
    columns["sensitive_features"] = np.repeat([*"aaaaaabb"], 30)
    keep = np.r_[0:180, 180:190, 210:220]
    X = X[keep]
    y = y[keep]
    columns = {name: column[keep] for name, column in columns.items()}
    with pytest.warns(InfeasibleConstraintWarning, match="exceeded by .* ExposureParity is"):
        fair = fit_known(X, y, columns, ExposureParity(tolerance=0.05), cv=2)
    assert fair.status_ == "infeasible"
    expected = exposure_difference(X[:, 0], **columns) - 0.05
    assert fair.constraint_violation_ == pytest.approx(expected)


def test_queries_of_one_document_and_equal_scores_have_no_gap():
    X, y, columns = draw_scores(4)
    columns["query_id"] = np.arange(len(y))
    fair = fit_known(X, y, columns, ExposureParity(tolerance=0.0))
    assert fair.constraint_violation_ == 0.0 and fair.rule_coef_.tolist() == [1.0]
    columns["query_id"] = np.zeros(len(y))
    assert fit_known(0.0 * X, y, columns, ExposureParity(tolerance=0.0)).status_ == "optimal"


def test_groups_and_queries_are_routed_in_searches(documents):
    X, y, columns = documents
    with sklearn.config_context(enable_metadata_routing=True):
        fair = ConstrainedRankerCV(constraint=ExposureParity(), cv=2, **KNOWN)
        search = GridSearchCV(fair, {"tolerance": [0.1]}, cv=GroupKFold(2), refit=False)
        search.fit(X, y, groups=columns["query_id"], **columns)
        assert search.cv_results_["mean_test_score"][0] > 0.7


def test_documents_of_few_queries_are_divided_into_folds():
    X, y, columns = draw_scores(5, n_queries=3)
    fair = ConstrainedRankerCV(LinearRegression(), tolerance=0.1).fit(X, y, **columns)
    assert len(fair.estimators_) == 5 and fair.constraint_violation_ == 0.0


def test_fits_without_two_groups_are_unconstrained(documents):
    X, y, columns = documents
    ranker = ConstrainedRankerCV(LinearRegression())
    query = {"query_id": columns["query_id"]}
    with pytest.warns(MissingSensitiveFeaturesWarning, match="got no sensitive_features"):
        assert ranker.fit(X, y, **query).status_ == "unconstrained"
    with pytest.warns(MissingSensitiveFeaturesWarning, match="by ExposureParity"):
        ranker.fit(X, y, sensitive_features=np.zeros(len(y)), **query)
    assert ranker.status_ == "unconstrained" and len(ranker.constraint_report_) == 0


def test_what_cannot_be_fitted_is_refused_and_the_earlier_fit_stays(documents):
    X, y, columns = documents
    ranker = ConstrainedRankerCV(LinearRegression(), tolerance=0.1).fit(X, y, **columns)
    before = ranker.predict(X)
    with pytest.raises(ValueError, match="y must not be negative, and positive for some"):
        ranker.set_params(constraint=ExposureParity(merit="relevance")).fit(X, y - 9.0, **columns)
    np.testing.assert_array_equal(ranker.predict(X), before)
    with pytest.raises(ValueError, match="another bound of its own"):
        ranker.set_params(constraint=ExposureParity(ratio=0.8)).fit(X, y, **columns)
    ranker = clone(ranker).set_params(constraint="exposure_parity")
    with pytest.raises(ValueError, match="query_id has 3 rows"):
        ranker.fit(X, y, query_id=[1, 2, 3])
    with pytest.raises(NotFittedError):
        clone(ranker).predict(X)
    for model in (ConstrainedERMClassifier, ConstrainedERMRegressor):
        with pytest.raises(ValueError, match="pass it to skfair.ranking.ConstrainedRankerCV"):
            model(ExposureParity()).fit(X, y, sensitive_features=columns["sensitive_features"])
    with pytest.raises(ValueError, match="ratio bounds a quotient of rates and tolerance"):
        fit_known(X, y, columns, ExposureParity(tolerance=0.1, ratio=0.8))


def test_scorers_of_exposure_take_the_queries_of_a_search(documents):
    X, y, columns = documents
    names = {"gap": "neg_exposure_difference", "ratio": "exposure_ratio"}
    with sklearn.config_context(enable_metadata_routing=True):
        scoring = {name: get_scorer(scorer) for name, scorer in names.items()}
        plain = ConstrainedRankerCV(LinearRegression(), None)
        folds = GroupKFold(2)
        scores = cross_validate(
            plain, X, y, scoring=scoring, cv=folds, params=columns | {"groups": columns["query_id"]}
        )
    train, test = next(folds.split(X, y, groups=columns["query_id"]))
    of_train, held_out = ({name: one[k] for name, one in columns.items()} for k in (train, test))
    scored = clone(plain).fit(X[train], y[train], **of_train).predict(X[test])
    assert scores["test_gap"][0] == pytest.approx(-exposure_difference(scored, **held_out))
    assert scores["test_ratio"][0] == pytest.approx(exposure_ratio(scored, **held_out))


@pytest.mark.covering(0)
@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(one, marks=pytest.mark.slow) for one in range(4, 12))]
)
def test_of_two_known_groups_the_smallest_offset_that_keeps_the_bound_is_found(seed):
    """All offsets: ties of documents of one query, and points between and beyond them."""
    rng = np.random.default_rng(seed)
    n = 40
    query = rng.integers(4, size=n)
    group = rng.integers(2, size=n)
    scores = rng.normal(size=n) + 0.8 * group
    if seed % 2:  # several ties at one offset
        scores = np.round(2.0 * scores) / 2.0
    weights = rng.integers(1, 4, size=n).astype(float)
    k = None if seed % 3 else 3
    tolerance = (0.0, 0.005, 0.02)[seed % 3]
    constraint = ExposureParity(tolerance=tolerance, k=k, min_group_size=1)
    columns = {"query_id": query, "sensitive_features": group, "sample_weight": weights}
    X = scores[:, np.newaxis]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where no offset keeps the bound
        fair = ConstrainedRankerCV(FirstColumn().fit(X, scores), constraint, cv="prefit", **KNOWN)
        fair.fit(X, scores, **columns)
    moved = fair.predict(X, sensitive_features=group) - scores
    offset = moved[group == 1].mean() - moved[group == 0].mean()

    def excess(offset):
        shifted = np.round(scores + offset * group, 9)
        return exposure_difference(shifted, k=k, **columns) - tolerance

    differences = scores[:, np.newaxis] - scores
    is_pair = (query[:, np.newaxis] == query) & (group[:, np.newaxis] < group)
    ties = np.unique(np.round(differences[is_pair], 9))
    between = np.concatenate(([ties[0] - 1.0], (ties[1:] + ties[:-1]) / 2.0, [ties[-1] + 1.0]))
    all_offsets = np.concatenate((ties, between, [0.0]))
    feasible = (one for one in sorted(all_offsets, key=abs) if excess(one) <= 1e-12)
    nearest = next(feasible, None)
    if nearest is None:
        assert fair.status_ == "infeasible"
        smallest = min(excess(one) for one in all_offsets)
        assert fair.constraint_violation_ == pytest.approx(smallest, abs=1e-9)
        return
    assert fair.status_ == "optimal"
    assert fair.constraint_violation_ == 0.0
    assert excess(offset) <= 1e-9
    # No tie or interval that is nearer to 0 keeps the bound.
    assert abs(offset) <= abs(nearest) + 1e-4


@pytest.mark.parametrize("largest_key", [exposure._LARGEST_KEY, 0.0], ids=["integers", "numbered"])
@pytest.mark.parametrize("k", [None, 3])
@pytest.mark.parametrize("seed", range(4))
def test_offsets_in_one_array_have_the_sums_of_each_ranking(seed, k, largest_key, monkeypatch):
    monkeypatch.setattr(exposure, "_LARGEST_KEY", largest_key)
    rng = np.random.default_rng(seed)
    query = rng.integers(12, size=100)  # of unequal sizes, in any order
    documents = exposure.RankedDocuments(
        scores=rng.normal(size=100).round(seed % 2),  # with ties
        features=rng.integers(3, size=(100, 2)) - 1.0,
        query=query,
        weights=np.full(100, 0.01),
        shares=None,
        bound=None,
        k=k,
    )
    offsets = rng.normal(size=(7, 2)).round(1)
    effects = rng.normal(size=(3, 100))
    sums = exposure._OffsetRankings.make(documents).sum_attention(offsets, effects)
    expected = np.column_stack([effects @ documents.attention(one) for one in offsets])
    np.testing.assert_allclose(sums, expected, atol=1e-12)


def test_offsets_do_not_depend_on_the_size_of_a_batch(monkeypatch):
    X, y, query, groups = make_ranking(30, random_state=0)
    monkeypatch.setattr(exposure, "_N_AT_ONCE", 1)
    one_by_one = ConstrainedRankerCV(Ridge(), tolerance=0.02)
    one_by_one.fit(X, y, query_id=query, sensitive_features=groups)
    monkeypatch.setattr(exposure, "_N_AT_ONCE", 25)
    together = ConstrainedRankerCV(Ridge(), tolerance=0.02)
    together.fit(X, y, query_id=query, sensitive_features=groups)
    np.testing.assert_array_equal(one_by_one.rule_coef_, together.rule_coef_)
    assert together.constraint_violation_ == 0.0
