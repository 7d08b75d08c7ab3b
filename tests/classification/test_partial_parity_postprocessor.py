import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    PartialParityClassifier,
    PartialParityPostprocessor,
)
from skfair.constraints import (
    PARTIAL_CRITERIA,
    PartialDemographicParity,
    PartialEqualizedOdds,
    PartialEqualOpportunity,
    PartialStatisticalParity,
)
from skfair.exceptions import InfeasibleConstraintWarning, MissingSensitiveFeaturesWarning
from skfair.metrics import (
    get_scorer,
    partial_demographic_parity_difference,
    partial_equal_opportunity_difference,
    partial_group_auc_difference,
    partial_statistical_parity_difference,
)

INTERVAL = (0.1, 0.6)


def population(seed=0, n_samples=800, n_groups=2):
    """Groups whose scores differ, the more the higher the number of the group."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(n_groups, size=n_samples)
    X = rng.normal(size=(n_samples, 3)) + 0.7 * groups[:, np.newaxis]
    y = X.sum(axis=1) + rng.normal(size=n_samples) > 1.5
    return X, y, groups


def make_prefit(X, y, **params):
    """A postprocessor of a classifier that is fitted to the same samples."""
    return PartialParityPostprocessor(LogisticRegression().fit(X, y), cv="prefit", **params)


def difference(criterion, y, scores, groups, **params):
    metric = {
        "partial_statistical_parity": partial_statistical_parity_difference,
        "partial_demographic_parity": partial_demographic_parity_difference,
        "partial_equal_opportunity": partial_equal_opportunity_difference,
        "partial_group_auc": partial_group_auc_difference,
    }[criterion]
    labels = (y,) if criterion == "partial_equal_opportunity" else ()
    return metric(*labels, scores, sensitive_features=groups, **params)


@pytest.mark.covering(2)
@pytest.mark.parametrize("criterion", ["partial_statistical_parity", "partial_demographic_parity"])
@pytest.mark.parametrize("scale", ["normalized", "raw"])
@pytest.mark.parametrize("tolerance", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("n_groups", [2, 3])
def test_the_tolerance_holds_on_the_training_data(criterion, scale, tolerance, n_groups):
    X, y, groups = population(n_groups=n_groups)
    constraint = PARTIAL_CRITERIA[criterion](INTERVAL, scale=scale)
    model = make_prefit(X, y, constraint=constraint, tolerance=tolerance)
    model.fit(X, y, sensitive_features=groups)
    scores = model.decision_function(X, sensitive_features=groups)
    reached = difference(criterion, y, scores, groups, interval=INTERVAL, scale=scale)
    assert reached <= tolerance + 1e-12
    assert model.constraint_violation_ == 0.0
    assert model.status_ == (
        "optimal" if criterion == "partial_demographic_parity" else "feasible"
    ) or (model.n_iter_ == 1)


@pytest.mark.parametrize("tolerance", [0.02, 0.1])
@pytest.mark.parametrize("criterion", ["partial_equal_opportunity", "partial_group_auc"])
def test_other_criteria_hold_on_the_training_data(criterion, tolerance):
    X, y, groups = population()
    model = make_prefit(X, y, constraint=criterion, interval=INTERVAL, tolerance=tolerance)
    scores = model.fit(X, y, sensitive_features=groups).decision_function(
        X, sensitive_features=groups
    )
    assert difference(criterion, y, scores, groups, interval=INTERVAL) <= tolerance + 1e-12


@pytest.mark.parametrize("interval", [[(0.05, 0.2), (0.4, 0.7)], {0: (0.1, 0.5), 1: (0.2, 0.6)}])
def test_intervals_may_be_unions_and_differ_by_group(interval):
    X, y, groups = population()
    model = make_prefit(X, y, interval=interval, tolerance=0.1)
    scores = model.fit(X, y, sensitive_features=groups).decision_function(
        X, sensitive_features=groups
    )
    reached = partial_statistical_parity_difference(
        scores, sensitive_features=groups, interval=interval
    )
    assert reached <= 0.1


@pytest.mark.slow
def test_a_large_tolerance_gives_every_group_its_most_accurate_threshold():
    X, y, groups = population()
    model = make_prefit(X, y, tolerance=1.0).fit(X, y, sensitive_features=groups)
    scores = LogisticRegression().fit(X, y).decision_function(X)
    for group in (0, 1):
        group_scores = scores[groups == group]
        truth = y[groups == group]
        thresholds = np.append(group_scores, np.inf)
        best_accuracy = max(
            accuracy_score(truth, group_scores >= threshold) for threshold in thresholds
        )
        decisions = model.predict(X[groups == group], sensitive_features=groups[groups == group])
        assert accuracy_score(truth, decisions) == pytest.approx(best_accuracy)
    assert model.n_iter_ == 1
    assert model.status_ == "optimal"


@pytest.mark.slow
def test_accuracy_grows_with_the_tolerance():
    X, y, groups = population()
    errors = [
        PartialParityPostprocessor(tolerance=tolerance)
        .fit(X, y, sensitive_features=groups)
        .objective_
        for tolerance in (0.01, 0.05, 0.1, 0.3, 1.0)
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > errors[-1]


def test_rates_are_the_shares_of_positive_decisions_and_error_their_errors():
    X, y, groups = population()
    model = make_prefit(X, y, tolerance=0.1).fit(X, y, sensitive_features=groups)
    decisions = model.predict(X, sensitive_features=groups)
    shares = np.array([decisions[groups == group].mean() for group in (0, 1)])
    np.testing.assert_allclose(model.rates_, shares)
    assert model.objective_ == pytest.approx(np.mean(decisions != y))
    # By hand: each group's threshold on the scores, and the share of all samples above it.
    scores = model.estimator_.decision_function(X)
    thresholds = [scores[(groups == group) & decisions].min() for group in (0, 1)]
    pooled = [np.mean(scores >= threshold) for threshold in thresholds]
    mixture = model.mixture_
    assert 0.0 < mixture <= 1.0
    zeros = (1.0 - mixture) * shares + mixture * np.array(pooled)
    # Between two scores of a group there may be a few of the other.
    assert model.center_ == pytest.approx(np.mean(zeros), abs=0.01 * mixture)


def test_a_loose_tolerance_is_used_for_the_order_of_groups_and_not_for_decisions():
    X, y, groups = population()
    plain = make_prefit(X, y).estimator.decision_function(X)
    areas = []
    for tolerance in (0.05, 0.15, 0.3, 1.0):
        model = make_prefit(X, y, tolerance=tolerance, interval=INTERVAL)
        model.fit(X, y, sensitive_features=groups)
        scores = model.decision_function(X, sensitive_features=groups)
        areas.append(roc_auc_score(y, scores))
        settings = {"sensitive_features": groups, "interval": INTERVAL}
        assert partial_statistical_parity_difference(scores, **settings) <= tolerance + 1e-12
        for group in (0, 1):
            member = groups == group
            order = np.argsort(-plain[member])
            assert (np.diff(scores[member][order]) <= 1e-12).all()
    assert areas == sorted(areas)
    assert areas[-1] == pytest.approx(roc_auc_score(y, plain), abs=0.01)
    assert areas[-1] > areas[0] + 0.02


def test_the_order_within_a_group_does_not_change():
    X, y, groups = population()
    model = make_prefit(X, y, tolerance=0.05).fit(X, y, sensitive_features=groups)
    before = model.estimator_.decision_function(X)
    after = model.decision_function(X, sensitive_features=groups)
    for group in (0, 1):
        group_scores = np.argsort(before[groups == group])
        assert np.all(np.diff(after[groups == group][group_scores]) > 0)


class ScaledBySamples(LogisticRegression):
    """A classifier whose scores are the larger the more samples it is fitted to."""

    def fit(self, X, y):
        self.n_samples_ = len(X)
        return super().fit(X, y)

    def decision_function(self, X):
        return self.n_samples_ * super().decision_function(X)


def test_ranks_of_new_samples_are_those_of_the_models_that_ranked_the_training_samples():
    X, y, groups = population()
    models = [
        PartialParityPostprocessor(base, interval=INTERVAL, tolerance=0.05, cv=2)
        for base in (LogisticRegression(), ScaledBySamples())
    ]
    new_X, _, new_groups = population(1)
    scores, scaled = (
        one.fit(X, y, sensitive_features=groups).decision_function(
            new_X, sensitive_features=new_groups
        )
        for one in models
    )
    np.testing.assert_allclose(scaled, scores)


def test_rates_outside_the_interval_may_differ():
    X, y, groups = population()
    inside = PartialParityPostprocessor(interval=(0.3, 0.7), tolerance=0.05)
    outside = PartialParityPostprocessor(interval=(0.9, 1.0), tolerance=0.3)
    inside.fit(X, y, sensitive_features=groups)
    outside.fit(X, y, sensitive_features=groups)
    assert np.ptp(outside.rates_) > np.ptp(inside.rates_)


# Classifiers --------------------------------------------------------------------------


@pytest.mark.covering(0)
@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        Perceptron(),
        KNeighborsClassifier(50),
        RandomForestClassifier(20, min_samples_leaf=20, random_state=0),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_the_base_may_be_any_classifier_with_scores(estimator):
    X, y, groups = population()
    y = np.where(y, "yes", "no")
    model = PartialParityPostprocessor(estimator, interval=INTERVAL, tolerance=0.2, pos_label="yes")
    decisions = model.fit(X, y, sensitive_features=groups).predict(X, sensitive_features=groups)
    assert model.status_ == "feasible"
    assert set(decisions) == {"yes", "no"}
    assert not hasattr(estimator, "classes_")


def test_a_frozen_classifier_is_not_changed():
    X, y, groups = population()
    fitted = LogisticRegression().fit(X[:400], y[:400])
    model = PartialParityPostprocessor(FrozenEstimator(fitted)).fit(
        X[400:], y[400:], sensitive_features=groups[400:]
    )
    assert model.estimator_.estimator is fitted
    with pytest.warns(UserWarning, match="fitted already, but clones"):
        again = PartialParityPostprocessor(fitted).fit(X, y, sensitive_features=groups)
    assert again.estimator_ is not fitted


def test_a_prefit_classifier_is_not_refitted():
    X, y, groups = population()
    fitted = LogisticRegression().fit(X[:400], y[:400])
    prefit = PartialParityPostprocessor(fitted, cv="prefit")
    prefit.fit(X[400:], y[400:], sensitive_features=groups[400:])
    frozen = PartialParityPostprocessor(FrozenEstimator(fitted))
    frozen.fit(X[400:], y[400:], sensitive_features=groups[400:])
    assert prefit.estimator_ is fitted
    np.testing.assert_array_equal(prefit.rates_, frozen.rates_)
    with pytest.raises(NotFittedError):
        PartialParityPostprocessor(LogisticRegression(), cv="prefit").fit(
            X, y, sensitive_features=groups
        )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:X .* the training data of the fitted")
def test_an_overfitted_classifier_is_fair_on_new_data_by_out_of_fold_scores():
    X, y, groups = population(seed=1, n_samples=24000)
    train = slice(6000)
    test = slice(6000, None)
    gaps = {}
    forest = RandomForestClassifier(100, min_samples_leaf=2, random_state=0, oob_score=True)
    for one in ("prefit", "oob", StratifiedKFold(3)):
        prefit = clone(forest).fit(X[train], y[train]) if one == "prefit" else forest
        model = PartialParityPostprocessor(prefit, interval=INTERVAL, tolerance=0.05, cv=one)
        model.fit(X[train], y[train], sensitive_features=groups[train])
        scores = model.decision_function(X[test], sensitive_features=groups[test])
        gaps[one] = partial_statistical_parity_difference(
            scores, sensitive_features=groups[test], interval=INTERVAL
        )
    # The tolerance .05, and sampling noise.
    assert gaps.pop("prefit") > 0.11
    assert max(gaps.values()) < 0.08, gaps


def test_folds_are_stratified_by_group_and_class():
    X, y, groups = population()
    order = np.lexsort((y, groups))  # blocks would leave a group or a class out
    model = PartialParityPostprocessor(interval=INTERVAL, tolerance=0.2)
    expected = model.fit(X, y, sensitive_features=groups).objective_
    model.fit(X[order], y[order], sensitive_features=groups[order])
    assert model.objective_ == pytest.approx(expected, abs=0.02)


def test_equal_samples_get_equal_scores():
    rng = np.random.default_rng(5)
    features = rng.normal(size=(25, 30))
    index = rng.integers(25, size=600)
    X = features[index]
    groups = rng.integers(2, size=600)
    y = X.sum(axis=1) + rng.logistic(size=600) > 0
    for cv in (5, "prefit"):
        model = make_prefit(X, y, interval=(0, 0.8), tolerance=0.1).set_params(cv=cv)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InfeasibleConstraintWarning)
            warnings.filterwarnings("ignore", "The LogisticRegression is fitted already")
            model.fit(X, y, sensitive_features=groups)
        for rows in (slice(None), slice(300), slice(7, 8)):
            scores = model.decision_function(X[rows], sensitive_features=groups[rows])
            all_scores = model.decision_function(X, sensitive_features=groups)
            np.testing.assert_allclose(scores, all_scores[rows], rtol=0, atol=1e-12)
        for number in range(50):
            equal = (index == number // 2) & (groups == number % 2)
            assert np.ptp(all_scores[equal]) <= 1e-12


@pytest.mark.callbacks
def test_callbacks_get_every_gap_and_may_end_the_search():
    class Watch:
        def __init__(self, max_events=np.inf):
            self.events = []
            self.max_events = max_events

        def setup(self, estimator, context):
            pass

        teardown = setup

        def on_fit_task_begin(self, estimator, context, **data):
            self.events.append(("begin", context.task_name))

        def on_fit_task_end(self, estimator, context, fitted_estimator=None):
            self.events.append(("end", context.task_name))
            return sum(name == "gap" for _, name in self.events) > self.max_events

    X, y, groups = population()
    watch = Watch()
    model = PartialParityPostprocessor(interval=INTERVAL, tolerance=0.1).set_callbacks(watch)
    model.fit(X, y, sensitive_features=groups)
    assert watch.events[0][0] == "begin"
    assert watch.events[-1] == ("end", watch.events[0][1])
    assert watch.events.count(("begin", "gap")) == watch.events.count(("end", "gap"))
    assert watch.events.count(("end", "gap")) == model.n_iter_ > 10
    fits = [name for event, name in watch.events if event == "end" and "classifier of" in name]
    folds = [f"classifier of fold {k} of 5" for k in range(1, 6)]
    assert fits == [*folds, "classifier of all samples"]
    with pytest.warns(ConvergenceWarning, match="stopped the search after 11 gaps"):
        model.set_callbacks(Watch(20)).fit(X, y, sensitive_features=groups)
    assert (model.status_, model.n_iter_) == ("stopped", 11)


def test_the_report_names_groups_and_their_rates():
    X, y, groups = population()
    names = np.array(["men", "women"])[groups]
    model = make_prefit(
        X, y, constraint="partial_demographic_parity", interval=INTERVAL, tolerance=0.1
    )
    report = model.fit(X, y, sensitive_features=names).constraint_report_
    assert report["group"].tolist() == ["men", "women"]
    assert report["tolerance"].tolist() == [0.1, 0.1]
    assert np.ptp(report["estimate"]) == pytest.approx(report["gap"][0], abs=0.005)


@pytest.mark.parametrize(
    ("cv", "estimator", "message"),
    [
        ("oob", LogisticRegression(), "needs a forest"),
        ("oob", RandomForestClassifier(2, random_state=0), "in the bag of every tree"),
        (1, None, "cv"),
        ("folds", None, "cv"),
        (ShuffleSplit(2, random_state=0), None, "no partition of the samples"),
    ],
)
@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
def test_a_bad_cv_is_refused(cv, estimator, message):
    X, y, groups = population()
    with pytest.raises(ValueError, match=message):
        PartialParityPostprocessor(estimator, cv=cv).fit(X, y, sensitive_features=groups)


def test_a_class_of_one_is_refused():
    X, y, groups = population()
    with pytest.raises(ValueError, match='only one sample of the class True .*cv="prefit"'):
        PartialParityPostprocessor().fit(X, np.arange(len(y)) == 3, sensitive_features=groups)


def test_columns_of_text_are_left_to_a_pipeline():
    X, y, groups = population()
    frame = pd.DataFrame(X, columns=list("abc")).assign(kind=np.where(X[:, 0] > 0, "x", "y"))
    encode = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    pipeline = make_pipeline(encode, LogisticRegression())
    model = PartialParityPostprocessor(pipeline).fit(frame, y, sensitive_features=groups)
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "kind"]
    assert model.status_ == "feasible"


def test_sparse_rows_give_the_same_scores():
    X, y, groups = population()
    dense, sparse_rows = (
        PartialParityPostprocessor().fit(rows, y, sensitive_features=groups)
        for rows in (X, sparse.csr_array(X))
    )
    np.testing.assert_allclose(
        dense.decision_function(X, sensitive_features=groups),
        sparse_rows.decision_function(sparse.csr_array(X), sensitive_features=groups),
        atol=1e-3,
    )


def test_groups_and_weights_go_on_to_a_classifier_that_takes_them():
    X, y, groups = population()
    weights = np.random.default_rng(0).integers(1, 4, size=len(y))
    inner = ConstrainedERMClassifier(tolerance=0.2)
    model = PartialParityPostprocessor(inner)
    model.fit(X, y, sensitive_features=groups, sample_weight=weights)
    alone = inner.fit(X, y, sensitive_features=groups, sample_weight=weights)
    np.testing.assert_array_equal(model.estimator_.coef_, alone.coef_)


def test_integer_weights_equal_repeated_rows():
    X, y, groups = population(n_samples=300)
    weights = np.random.default_rng(1).integers(0, 4, size=len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    scorer = FrozenEstimator(LogisticRegression().fit(X, y))
    weighted = PartialParityPostprocessor(scorer).fit(
        X, y, sensitive_features=groups, sample_weight=weights
    )
    repeated = PartialParityPostprocessor(scorer).fit(
        X[rows], y[rows], sensitive_features=groups[rows]
    )
    np.testing.assert_allclose(weighted.rates_, repeated.rates_)
    np.testing.assert_allclose(
        weighted.decision_function(X, sensitive_features=groups),
        repeated.decision_function(X, sensitive_features=groups),
    )


# Metadata routing ---------------------------------------------------------------------


def test_groups_reach_fit_and_predict_through_a_pipeline():
    X, y, groups = population()
    with config_context(enable_metadata_routing=True):
        prefit = make_prefit(StandardScaler().fit_transform(X), y, tolerance=0.1)
        pipeline = make_pipeline(StandardScaler(), prefit)
        pipeline.fit(X, y, sensitive_features=groups)
        decisions = pipeline.predict(X, sensitive_features=groups)
        scores = pipeline.decision_function(X, sensitive_features=groups)
    np.testing.assert_array_equal(decisions, scores > 0)
    assert (
        partial_statistical_parity_difference(
            scores, sensitive_features=groups, interval=(0.0, 1.0)
        )
        <= 0.1
    )


@pytest.mark.slow
def test_a_search_with_our_scorer():
    X, y, groups = population()
    scoring = get_scorer("neg_demographic_parity_difference")
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            PartialParityPostprocessor(), {"tolerance": [0.05, 0.8]}, scoring=scoring, cv=3
        )
        search.fit(X, y, sensitive_features=groups)
    assert search.best_params_ == {"tolerance": 0.05}


def test_routing_hands_weights_to_the_classifier_that_requests_them():
    X, y, groups = population()
    weights = np.arange(len(y)) % 3 + 1.0
    with config_context(enable_metadata_routing=True):
        inner = LogisticRegression().set_fit_request(sample_weight=True)
        model = PartialParityPostprocessor(inner).set_fit_request(sample_weight=True)
        model.fit(X, y, sensitive_features=groups, sample_weight=weights)
        routing = model.get_metadata_routing()
    expected = LogisticRegression().fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.estimator_.coef_, expected.coef_)
    assert routing.consumes("fit", ["sensitive_features", "sample_weight"])


# Input validation --------------------------------------------------------------------


def test_groups_are_needed_to_predict_and_must_be_known():
    X, y, groups = population()
    model = PartialParityPostprocessor().fit(X, y, sensitive_features=groups)
    with pytest.raises(ValueError, match=r"predict\(X, sensitive_features"):
        model.predict(X)
    with pytest.raises(ValueError, match="not seen at fit"):
        model.predict(X, sensitive_features=groups + 1)
    with pytest.raises(ValueError, match=r"score\(X, y, sensitive_features"):
        model.score(X, y)


def test_without_groups_there_is_a_warning_and_one_group():
    X, y, _ = population()
    with pytest.warns(
        MissingSensitiveFeaturesWarning, match="constraint='partial_statistical_parity'"
    ):
        model = make_prefit(X, y).fit(X, y)
    assert model.rates_.shape == (1,)
    assert model.score(X, y) == pytest.approx(1 - model.objective_)
    assert model.status_ == "unconstrained"
    assert model.constraint_violation_ is None
    assert model.constraint_report_.empty


def test_a_scorer_without_scores_is_refused():
    X, y, groups = population()
    with pytest.raises(ValueError, match="'fit' and 'decision_function'"):
        PartialParityPostprocessor(LinearRegression()).fit(X, y, sensitive_features=groups)


def test_small_groups_are_named():
    X, y, groups = population(n_samples=100)
    groups = np.where(np.arange(100) < 25, "few", "many")
    with pytest.raises(ValueError, match=r"at least 20 samples .*'few' \(5\)"):
        PartialParityPostprocessor(interval=(0.1, 0.3)).fit(X, y, sensitive_features=groups)


def test_positives_count_for_opportunity():
    X, y, groups = population()
    rare = y & (np.cumsum(y) <= 20)
    with pytest.raises(ValueError, match="at least 20 samples of every group"):
        PartialParityPostprocessor(constraint="partial_equal_opportunity").fit(
            X, rare, sensitive_features=groups
        )


def test_constant_scores_have_no_sample_in_the_interval():
    _, y, groups = population()
    with pytest.raises(ValueError, match="fewer ties"):
        X = np.zeros((len(y), 1))
        make_prefit(X, y, interval=(0.2, 0.6)).fit(X, y, sensitive_features=groups)


def test_ties_that_no_shift_separates_are_warned_of():
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1], 200)
    X = (rng.random(400) < 0.3 + 0.4 * groups)[:, np.newaxis].astype(float)
    y = rng.random(400) < 0.2 + 0.6 * X[:, 0]
    model = make_prefit(X, y, tolerance=0.05)
    with pytest.warns(InfeasibleConstraintWarning, match=r"exceeds the tolerance of 0\.05 by"):
        model.fit(X, y, sensitive_features=groups)
    reached = partial_statistical_parity_difference(
        model.decision_function(X, sensitive_features=groups),
        sensitive_features=groups,
        interval=(0.0, 1.0),
    )
    assert model.status_ == "infeasible"
    assert model.constraint_violation_ == pytest.approx(reached - 0.05)


@pytest.mark.parametrize("seed", [5, 8])
def test_new_samples_of_equal_features_and_group_get_equal_scores(seed):
    """Products of equal rows may differ in the last bits, depending on their position."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(300, 1200)), int(rng.integers(3, 40))
    features = rng.normal(size=(25, p))
    index = rng.integers(0, 25, n)
    X = features[index]
    groups = rng.integers(0, 2, n)
    y = X.sum(axis=1) + rng.logistic(size=n) > 0
    model = PartialParityPostprocessor(interval=(0, 0.8), tolerance=0.1)
    scores = model.fit(X, y, sensitive_features=groups).decision_function(
        X, sensitive_features=groups
    )
    for number in range(25):
        for group in (0, 1):
            assert len(set(scores[(index == number) & (groups == group)])) == 1


def test_a_tolerance_of_zero_needs_groups_of_equal_size():
    X, y, groups = population()
    with pytest.warns(InfeasibleConstraintWarning, match="different size"):
        model = PartialParityPostprocessor(tolerance=0.0).fit(X, y, sensitive_features=groups)
    assert model.constraint_violation_ < 0.01


@pytest.mark.slow
def test_other_estimators_that_miss_the_tolerance_name_what_may_keep_it():
    """Lines of the log-odds per group match means and spreads of scores, and no distributions."""
    rng = np.random.default_rng(0)
    groups = np.arange(200) % 2
    X = (np.where(groups, 1, 3) * rng.normal(size=200))[:, np.newaxis]
    y = (X[:, 0] + rng.logistic(size=200) > 0).astype(int)
    base = LogisticRegression().fit(X, y)
    constraint = PartialStatisticalParity((0.0, 1.0))
    knows = {"group_estimator": "sensitive_features"}
    models = {
        "Or shift ranks within groups: PartialParityPostprocessor": ConstrainedClassifierCV(
            base, constraint, tolerance=0.01, cv="prefit", **knows
        ),
        "Or try group_interactions=True": PartialParityClassifier(constraint, tolerance=0.0),
    }
    for advice, model in models.items():
        with pytest.warns(InfeasibleConstraintWarning, match=advice):
            model.fit(X, y, sensitive_features=groups)


def test_constant_decisions_are_warned_of():
    X, _, groups = population()
    y = np.arange(len(X)) % 40 == 0
    with pytest.warns(UserWarning, match="given the class False"):
        PartialParityPostprocessor(
            FrozenEstimator(LogisticRegression(C=1e-6).fit(-X, X[:, 0] > 0))
        ).fit(X, y, sensitive_features=groups)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"interval": (0.5, 0.5)}, "alpha < beta"),
        ({"interval": (-0.1, 0.5)}, "alpha < beta"),
        ({"interval": [(0.1, 0.5), (0.4, 0.6)]}, "overlap"),
        ({"interval": {0: (0.1, 0.5)}}, "entry for every group"),
        ({"interval": {0: (0.1, 0.5), 1: [(0.1, 0.2), (0.3, 0.5)]}}, "same number of pairs"),
        ({"tolerance": -0.1}, "tolerance"),
        ({"constraint": "partial_equalized_odds"}, "constraint"),
        ({"constraint": PartialStatisticalParity(scale="absolute")}, "scale"),
        ({"constraint": PartialDemographicParity(threshold=0.5)}, "Leave out threshold"),
        (
            {"constraint": PartialEqualOpportunity(rank_within="class", threshold=0.2)},
            "Leave out rank_within and threshold",
        ),
        ({"constraint": PartialEqualizedOdds()}, "Leave out the negative class"),
    ],
)
def test_bad_parameters(change, message):
    X, y, groups = population()
    with pytest.raises(ValueError, match=message):
        PartialParityPostprocessor(**change).fit(X, y, sensitive_features=groups)


def test_overlapping_groups_are_refused():
    X, y, groups = population()
    members = sparse.csr_array(np.eye(2, dtype=bool)[groups])
    with pytest.raises(ValueError, match="may overlap"):
        PartialParityPostprocessor().fit(X, y, sensitive_features=members)


def test_cross_validation_without_groups_scores_the_one_group():
    X, y = make_classification(200, random_state=0)
    with pytest.warns(MissingSensitiveFeaturesWarning):
        scores = cross_val_score(PartialParityPostprocessor(), X, y, cv=3)
    assert scores.min() > 0.7
