"""Prediction sets: coverage of groups by one threshold, known groups and models of the group."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB

from skfair._postprocessing.coverage import CoverageData, IntervalSets
from skfair.conformal import ConformalClassifier, ConformalRegressor
from skfair.exceptions import MissingSensitiveFeaturesWarning

KNOWN = {"group_estimator": "sensitive_features"}
NOISE = {"a": 1.0, "b": 2.0, "c": 2.0}


def draw(n, seed=0, groups="ab", shift=2.0):
    """Features that tell groups apart, and a target whose noise depends on the group."""
    rng = np.random.default_rng(seed)
    group = rng.choice([*groups], n)
    X = rng.normal(size=(n, 2))
    X[:, 0] += shift * (group == "b")
    noise = pd.Series(NOISE)[group].to_numpy()
    return X, X.sum(axis=1) + noise * rng.normal(size=n), group


class Identity(RegressorMixin, BaseEstimator):
    """A regressor that predicts columns of X."""

    def __init__(self, columns=0):
        self.columns = columns

    def fit(self, X, y):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return X[:, self.columns]


def freeze_column(X, columns=0):
    return FrozenEstimator(Identity(columns).fit(X, None))


def coverage(model, X, y, group, **passed):
    low, high = model.predict_interval(X, **passed).T
    covered = (low <= y) & (y <= high)
    return np.array([covered[group == name].mean() for name in np.unique(group)])


def test_known_groups_get_the_order_statistic_of_their_scores():
    X, y, group = draw(300)
    model = ConformalRegressor(freeze_column(X), **KNOWN).fit(X, y, sensitive_features=group)
    for name in "ab":
        scores = np.sort(np.abs(y - X[:, 0])[group == name])
        rank = int(np.ceil((len(scores) + 1) * 0.9))
        intervals = model.predict_interval(X[:2], sensitive_features=[name, name])
        np.testing.assert_allclose(np.diff(intervals)[:, 0] / 2, scores[rank - 1])
    np.testing.assert_array_equal(model.predict(X), X[:, 0])


def score_classes(classifier, X):
    """Scores of classes: 1 - probability, or 1 - share in the odds of a model without logits."""
    probabilities = classifier.predict_proba(X)
    if hasattr(classifier, "decision_function") or probabilities.shape[1] == 2:
        return 1.0 - probabilities
    softened = 0.001 + 0.998 * probabilities
    odds = softened / (1.0 - softened)
    return 1.0 - odds / odds.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("classifier", [LogisticRegression(), GaussianNB()])
def test_sets_rest_on_the_scores_of_the_model_as_they_are(classifier, n_classes):
    X, y, group = draw(700)
    labels = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    fitted = classifier.fit(X[:300], labels[:300])
    X = X[300:]
    labels = labels[300:]
    group = group[300:]
    model = ConformalClassifier(fitted, 0.8, confidence_level=0.9, cv="prefit", **KNOWN)
    sets = model.fit(X, labels, sensitive_features=group).predict_set(X, sensitive_features=group)
    scores = score_classes(fitted, X)
    for name in "ab":
        rows = group == name
        true_scores = np.sort(scores[rows, labels[rows]])
        rank = int(stats.binom.ppf(0.9**0.5, len(true_scores), 0.8))  # counted from 0
        np.testing.assert_array_equal(sets[rows], scores[rows] <= true_scores[rank] + 1e-9)


def test_odds_break_ties_of_forests():
    X, y, group = draw(1500)
    labels = np.digitize(y, [0.0, 1.0, 2.0, 3.0])
    forest = RandomForestClassifier(10, max_depth=4, random_state=0).fit(X[:500], labels[:500])
    model = ConformalClassifier(forest, cv="prefit", **KNOWN)
    model.fit(X[500:], labels[500:], sensitive_features=group[500:])
    sets = model.predict_set(X[500:], sensitive_features=group[500:])
    covered = sets[np.arange(1000), labels[500:]]
    for name in "ab":
        rows = group[500:] == name
        assert 0.9 <= covered[rows].mean() <= 0.9 + 3.0 / rows.sum()


@pytest.mark.parametrize("is_fitted", [True, False])
def test_ties_of_few_distinct_rows_are_covered_as_a_whole(is_fitted):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        group = rng.integers(2, size=600)
        X = rng.integers(2, size=(600, 2)).astype(float)
        labels = rng.random(600) < 0.2 + 0.3 * X[:, 0] + 0.2 * group * X[:, 1]
        labels = labels.astype(int) + (rng.random(600) < 0.3)
        classifier = LogisticRegression()
        if is_fitted:
            classifier = FrozenEstimator(classifier.fit(X[:100], labels[:100]))
        X = X[100:]
        labels = labels[100:]
        group = group[100:]
        model = ConformalClassifier(classifier, 0.8, **KNOWN)
        sets = model.fit(X, labels, sensitive_features=group).predict_set(
            X, sensitive_features=group
        )
        covered = sets[np.arange(500), labels]
        assert min(covered[group == name].mean() for name in (0, 1)) >= 0.8


def test_unknown_groups_get_the_pooled_threshold():
    X, y, group = draw(999)
    model = ConformalRegressor(freeze_column(X), handle_unknown="overall", **KNOWN)
    model.fit(X, y, sensitive_features=group)
    with pytest.warns(UserWarning, match="not seen at fit: 'new'"):
        half = np.diff(model.predict_interval(X[:3], sensitive_features=["new", "a", "b"])) / 2
    scores = np.sort(np.abs(y - X[:, 0]))
    np.testing.assert_allclose(half[0, 0], scores[899])
    assert half[1, 0] < half[0, 0] < half[2, 0]


def test_a_fitted_model_needs_no_second_sample_of_a_class_or_of_a_known_group():
    X, y, group = draw(200)
    labels = np.digitize(y, [0.0, 2.0])
    one = np.append("c", group[1:])
    fitted = LogisticRegression().fit(X, labels)
    labels = np.append(2, labels[1:].clip(max=1))
    settings = {"coverage": 0.5, "cv": "prefit"} | KNOWN
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ConformalClassifier(fitted, **settings).fit(X, labels, sensitive_features=group)
        model = ConformalRegressor(freeze_column(X), **settings)
        model.fit(X, y, sensitive_features=one)
        half = np.diff(model.predict_interval(X[:1], sensitive_features=["c"])) / 2
    np.testing.assert_allclose(half[0, 0], abs(y[0] - X[0, 0]))


def test_a_confidence_takes_the_rank_of_the_binomial_distribution():
    X, y, group = draw(600)
    model = ConformalRegressor(freeze_column(X), confidence_level=0.95, **KNOWN)
    model.fit(X, y, sensitive_features=group)
    for name in "ab":
        scores = np.sort(np.abs(y - X[:, 0])[group == name])
        half = np.diff(model.predict_interval(X[:1], sensitive_features=[name]))[0, 0] / 2
        rank = np.flatnonzero(np.isclose(scores, half))[0] + 1
        # The coverage of this order statistic exceeds the level with the probability.
        assert stats.binom.cdf(rank - 1, len(scores), 0.9) >= 0.95**0.5
        assert stats.binom.cdf(rank - 2, len(scores), 0.9) < 0.95**0.5


def test_sets_without_the_group_cover_held_out_samples_of_each():
    X, y, group = draw(12_000)
    train, test = np.split(np.arange(12_000), 2)
    plain = ConformalRegressor(freeze_column(X))
    with pytest.warns(MissingSensitiveFeaturesWarning):
        plain.fit(X[train], y[train])
    assert np.ptp(coverage(plain, X[test], y[test], group[test])) > 0.1
    blind = ConformalRegressor(freeze_column(X)).fit(
        X[train], y[train], sensitive_features=group[train]
    )
    np.testing.assert_allclose(coverage(blind, X[test], y[test], group[test]), 0.9, atol=0.015)
    np.testing.assert_allclose(blind.coverage_report_["coverage"], 0.9, atol=0.01)


def test_equal_groups_get_one_threshold():
    X, _, group = draw(1000)
    y = X.sum(axis=1) + np.random.default_rng(1).normal(size=1000)
    model = ConformalRegressor(LinearRegression()).fit(X, y, sensitive_features=group)
    assert not model.rule_coef_.any()
    scores = np.unique(np.round(np.diff(model.predict_interval(X)), 12))
    assert len(scores) == 1


def test_groups_that_X_does_not_show_are_named_and_sets_stay_small():
    X, y, group = draw(1500, groups="ac", shift=0.0)
    with pytest.warns(UserWarning, match="X tells too little about groups 'c'"):
        model = ConformalRegressor(freeze_column(X)).fit(X, y, sensitive_features=group)
    known = ConformalRegressor(freeze_column(X), **KNOWN).fit(X, y, sensitive_features=group)
    sizes = [(one.coverage_report_["mean_size"]).mean() for one in (model, known)]
    assert sizes[0] < 1.5 * sizes[1]


def fit_blind_and_pooled(n, shift):
    """Blind intervals at .8, and those of one threshold, of groups with noise of 1 and 4."""
    X, y, group = draw(n, shift=shift)
    y = np.where(group == "b", X.sum(axis=1) + 2.0 * (y - X.sum(axis=1)), y)
    blind = ConformalRegressor(freeze_column(X), 0.8, group_estimator=LogisticRegression())
    with pytest.warns(UserWarning, match=r"groups 'b' \(0\.[67]\d*\).* all samples .* at 0\.8"):
        blind.fit(X, y, sensitive_features=group)
    pooled = ConformalRegressor(freeze_column(X), 0.8).fit(X, y, sensitive_features=["all"] * n)
    new_X, new_y, new_group = draw(20_000, seed=1, shift=shift)
    is_b = new_group == "b"
    new_y = np.where(is_b, new_X.sum(axis=1) + 2.0 * (new_y - new_X.sum(axis=1)), new_y)
    rates, sizes = [], []
    for model in (blind, pooled):
        low, high = model.predict_interval(new_X).T
        covered = (low <= new_y) & (new_y <= high)
        rates.append((covered[is_b].mean(), covered.mean()))
        sizes.append((high - low).mean())
    single = np.quantile(np.abs(new_y - new_X[:, 0])[is_b], rates[0][0])
    return blind, rates, sizes, 2.0 * single


def test_blind_intervals_that_are_bounded_in_size_cover_all_samples_at_the_level():
    _, rates, sizes, single = fit_blind_and_pooled(3000, shift=1.0)
    assert rates[0][1] >= 0.79
    assert rates[0][0] > rates[1][0] + 0.1
    # One threshold would cover the worst group as well with larger sets only.
    assert sizes[0] < 0.97 * single


def test_one_threshold_is_returned_where_blind_ones_only_enlarge_the_sets():
    blind, rates, sizes, _ = fit_blind_and_pooled(3000, shift=0.5)
    assert not blind.rule_coef_.any()
    np.testing.assert_array_equal(rates[0], rates[1])
    assert sizes[0] == sizes[1]


def test_guaranteed_blind_sets_are_no_larger_than_one_threshold_that_covers_all_groups():
    X, y, group = draw(1500, groups="ac", shift=0.0)
    blind = ConformalRegressor(freeze_column(X), confidence_level=0.9)
    blind.fit(X, y, sensitive_features=group)
    scores = np.sort(np.abs(y - X[:, 0])[group == "c"])
    single = scores[int(stats.binom.ppf(0.9**0.5, len(scores), 0.9))]
    assert np.diff(blind.predict_interval(X)).mean() <= 2.0 * single * (1.0 + 1e-9)


@pytest.mark.parametrize("n", [1000, 1003])
def test_names_of_classes_decide_nothing(n):
    X, y, group = draw(n)
    classifier = LogisticRegression(tol=1e-10)
    sets = []
    for names in ("ab", "ba"):
        labels = np.array([*names])[(y > 0.5).astype(int)]
        fitted = FrozenEstimator(classifier.fit(X, labels))
        model = ConformalClassifier(fitted, 0.8).fit(X, labels, sensitive_features=group)
        sets.append(model.predict_set(X)[:, :: 1 if names == "ab" else -1])
    np.testing.assert_array_equal(*sets)


def test_the_order_of_folds_decides_nothing():
    X, y, group = draw(1000)
    folds = list(KFold(5).split(X))
    intervals = [
        ConformalRegressor(freeze_column(X), cv=[folds[number] for number in order])
        .fit(X, y, sensitive_features=group)
        .predict_interval(X)
        for order in ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 1, 4, 3])
    ]
    np.testing.assert_array_equal(intervals[0], intervals[1])
    np.testing.assert_array_equal(intervals[0], intervals[2])


@pytest.mark.parametrize(
    "n, confidence, message",
    [
        (5, None, r"'few' \(5 samples, 0\.833\) have fewer than the 9 samples .* mean coverage"),
        # 1 - .9 ** 34; from 39 samples on .9 ** n is less than 1 - .95 ** (1 / 3).
        (34, 0.95, r"'few' \(34 samples, 0\.972\) have fewer than the 39 .* probability"),
    ],
)
@pytest.mark.parametrize("scale", [0.1, 5.0])
def test_a_small_group_is_named_and_gets_its_largest_score(n, confidence, message, scale):
    X, y, group = draw(1000)
    group = np.append(["few"] * n, group[n:])
    y = np.where(group == "few", X[:, 0] + scale * (y - X[:, 0]), y)
    model = ConformalRegressor(freeze_column(X), confidence_level=confidence, **KNOWN)
    with pytest.warns(UserWarning, match=message):
        model.fit(X, y, sensitive_features=group)
    half = np.diff(model.predict_interval(X[:1], sensitive_features=["few"]))[0, 0] / 2
    largest = np.abs(y - X[:, 0])[:n].max()
    # The pooled threshold is larger where the group has small errors.
    expected = max(largest, model.rule_intercept_[0])
    assert (expected == largest) == (scale == 5.0)
    np.testing.assert_allclose(half, expected)


@pytest.mark.parametrize("n_groups, needed", [(2, 35), (3, 39), (5, 44)])
def test_a_guarantee_needs_the_samples_that_the_guide_states(n_groups, needed):
    X, y, _ = draw(1000)
    for n in (needed - 1, needed):
        group = np.where(np.arange(1000) < n, -1, np.arange(1000) % (n_groups - 1))
        model = ConformalRegressor(freeze_column(X), confidence_level=0.95, **KNOWN)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, y, sensitive_features=group)
        assert len(caught) == (n < needed)


def test_a_blind_guarantee_covers_all_samples_of_a_group_that_is_too_small():
    X, y, group = draw(1500)
    surplus = np.flatnonzero(group == "b")[30:]
    X, y, group = (np.delete(one, surplus, axis=0) for one in (X, y, group))
    model = ConformalRegressor(freeze_column(X), confidence_level=0.95)
    with pytest.warns(UserWarning, match=r"'b' \(30 samples, 0\.958\) have fewer than the 35"):
        model.fit(X, y, sensitive_features=group)
    assert coverage(model, X, y, group)[1] == 1.0


def test_each_class_of_each_group_is_guaranteed_at_once():
    X, y, group = draw(1200)
    labels = np.digitize(y, [1.0])
    fitted = LogisticRegression().fit(X, labels)
    settings = {"confidence_level": 0.95, "cv": "prefit", "per_class": True} | KNOWN
    model = ConformalClassifier(fitted, 0.8, **settings).fit(X, labels, sensitive_features=group)
    sets = model.predict_set(X, sensitive_features=group)
    for name in "ab":
        for code in (0, 1):
            rows = (group == name) & (labels == code)
            rank = stats.binom.ppf(0.95**0.25, rows.sum(), 0.8) + 1
            assert sets[rows, code].sum() == rank


def test_too_few_samples_give_intervals_without_end():
    X, y, group = draw(60)
    with pytest.warns(UserWarning, match="needs 99 samples, but there are 60 in all"):
        model = ConformalRegressor(freeze_column(X), 0.99).fit(X, y, sensitive_features=group)
    assert np.isinf(model.predict_interval(X[:2])).all()


def test_overlapping_groups_are_all_covered():
    X, y, group = draw(6000)
    columns = sparse.csr_array(np.column_stack((group == "b", X[:, 1] > 0.5, X[:, 1] < 0.8)))
    model = ConformalRegressor(freeze_column(X, [0])).fit(X, y, sensitive_features=columns)
    np.testing.assert_allclose(model.coverage_report_["coverage"], 0.9, atol=0.015)


def test_each_class_of_each_group_is_covered():
    X, y, group = draw(6000)
    labels = np.array(["high", "low"])[(y < 0.5).astype(int)]
    model = ConformalClassifier(LogisticRegression(), per_class=True)
    report = model.fit(X, labels, sensitive_features=group).coverage_report_
    assert report[["class", "group"]].to_numpy().tolist() == [
        ["high", "a"],
        ["high", "b"],
        ["low", "a"],
        ["low", "b"],
    ]
    np.testing.assert_allclose(report["coverage"], 0.9, atol=0.015)
    assert model.predict_set(X[:3]).dtype == bool
    assert (model.predict(X) == labels).mean() > 0.7


def test_sets_of_several_classes_have_the_columns_of_classes():
    X, y, group = draw(3000)
    labels = np.digitize(y, [0.0, 2.0])
    model = ConformalClassifier(LogisticRegression(), confidence_level=0.9)
    sets = model.fit(X, labels, sensitive_features=group).predict_set(X)
    covered = sets[np.arange(3000), labels]
    assert min(covered[group == name].mean() for name in "ab") > 0.9


def test_spreads_and_quantiles_follow_the_noise():
    X, y, group = draw(2000)
    X = np.column_stack((X, X[:, 0] - 1.0, X[:, 0] + 3.0))
    quantiles = ConformalRegressor(freeze_column(X, [2, 3])).fit(X, y, sensitive_features=group)
    low, high = quantiles.predict_interval(X).T
    np.testing.assert_allclose((low + high) / 2, quantiles.predict(X))
    spread = ConformalRegressor(freeze_column(X), spread_estimator=LinearRegression())
    widths = np.diff(spread.fit(X, y, sensitive_features=group).predict_interval(X))
    assert widths[group == "b"].mean() > 1.3 * widths[group == "a"].mean()
    np.testing.assert_allclose(spread.coverage_report_["coverage"], 0.9, atol=0.02)


def test_intervals_have_the_unit_of_the_target_and_survive_pickle():
    X, y, group = draw(1000)
    model = ConformalRegressor(LinearRegression()).fit(X, y, sensitive_features=group)
    scaled = ConformalRegressor(LinearRegression()).fit(X, 1e6 * y, sensitive_features=group)
    expected = model.predict_interval(X)
    np.testing.assert_allclose(scaled.predict_interval(X), 1e6 * expected, rtol=1e-6)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_interval(X), expected)


def test_missing_groups_count_by_their_probability():
    X, y, group = draw(3000)
    labels = (y > 0.5).astype(int)
    partly = np.where(np.arange(3000) % 3 == 0, None, group.astype(object))
    model = ConformalClassifier(LogisticRegression(), missing="at_random")
    report = model.fit(X, labels, sensitive_features=partly).coverage_report_
    np.testing.assert_allclose(report["coverage"], 0.9, atol=0.02)
    with pytest.raises(ValueError, match="confidence_level"):
        model.set_params(confidence_level=0.9).fit(X, labels, sensitive_features=partly)


@pytest.mark.slow
def test_intervals_are_right_where_groups_are_missing_more_often_after_large_errors():
    X, y, group = draw(6000)
    rng = np.random.default_rng(1)
    train = np.arange(6000) < 4000
    test = np.arange(6000) >= 4000
    is_large = np.abs(y - LinearRegression().fit(X, y).predict(X)) > 1.5
    partly = np.where(rng.random(6000) < np.where(is_large, 0.9, 0.2), None, group.astype(object))
    coverage = {}
    for missing in ("exclude", "at_random"):
        model = ConformalRegressor(LinearRegression(), missing=missing)
        model.fit(X[train], y[train], sensitive_features=partly[train])
        low, high = model.predict_interval(X[test]).T
        covered = (low <= y[test]) & (y[test] <= high)
        coverage[missing] = [covered[group[test] == name].mean() for name in np.unique(group)]
    # Samples without a group count among all, which are covered at the level.
    np.testing.assert_allclose(coverage["exclude"], 0.9, atol=0.03)
    np.testing.assert_allclose(coverage["at_random"], 0.9, atol=0.03)


def test_samples_that_belong_together_count_as_one():
    scores = np.arange(200.0)
    units = np.arange(200) // 2
    everyone = np.ones((200, 2))
    point = np.zeros(200)
    sets = IntervalSets(point, point, point + 1.0)
    single = CoverageData(scores, sets, everyone, np.arange(200), 0.9, 0.95)
    pairs = replace(single, units=units)
    assert pairs.sizes.tolist() == [100.0, 100.0]
    assert (pairs.levels > single.levels).all()


@pytest.mark.parametrize("unit", [1e-200, 1e200])
@pytest.mark.parametrize("group_estimator", ["sensitive_features", None])
def test_the_unit_of_weights_does_not_matter(unit, group_estimator):
    X, y, group = draw(300)
    model = ConformalRegressor(freeze_column(X), group_estimator=group_estimator)
    fits = []
    for weight in (1.0, unit):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X tells too little")
            weights = weight * (1.0 + np.arange(300) % 2)
            fitted = clone(model).fit(X, y, sensitive_features=group, sample_weight=weights)
        fits.append(fitted.rule_coef_)
    np.testing.assert_allclose(*fits, rtol=1e-9)


def test_few_sets_of_samples_that_belong_together_get_as_many_folds():
    X, y, group = draw(300)
    model = ConformalRegressor(freeze_column(X), cv="prefit", **KNOWN)
    with pytest.warns(UserWarning, match="needs 9 samples, but there are 3 in all"):
        model.fit(X, y, sensitive_features=group, groups=np.arange(300) % 3)
    assert np.isinf(model.rule_intercept_[0])  # of three independent samples


@pytest.mark.parametrize(
    "estimator, settings, message",
    [
        (LinearRegression(), {"coverage": 1.0}, "coverage"),
        (LogisticRegression(), {}, "Pass a classifier to ConformalClassifier"),
        (Identity([0, 1, 1]), {}, "must predict one number"),
    ],
)
def test_what_cannot_be_covered_is_refused(estimator, settings, message):
    X, y, group = draw(60)
    with pytest.raises(ValueError, match=message), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ConformalRegressor(estimator, **settings).fit(X, y, sensitive_features=group)


def test_one_group_needs_no_model_of_groups():
    X, y, _ = draw(1000)
    model = ConformalRegressor(LinearRegression(), confidence_level=0.95)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y, sensitive_features=np.full(1000, "all"))
    assert model.rule_coef_.tolist() == [[0.0]]
    assert model.coverage_report_["coverage"].iloc[0] >= 0.9
