"""Input validation of the estimators of partial parity, and fits to unusual data."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC

from skfair.classification import PartialParityClassifier, PartialParityPostprocessor
from skfair.constraints import PartialStatisticalParity
from skfair.exceptions import InfeasibleConstraintWarning, MissingSensitiveFeaturesWarning
from skfair.metrics import partial_statistical_parity_difference
from skfair.regression import PartialParityRegressor

ROUNDING = 1e-12
INTERVAL = (0.1, 0.6)
LINEAR = (PartialParityClassifier, PartialParityRegressor)
CLASSIFIERS = (PartialParityClassifier, PartialParityPostprocessor)
ALL = (*LINEAR, PartialParityPostprocessor)

every = pytest.mark.parametrize("estimator", ALL, ids=lambda estimator: estimator.__name__)
every_linear = pytest.mark.parametrize(
    "estimator", LINEAR, ids=lambda estimator: estimator.__name__
)
every_classifier = pytest.mark.parametrize(
    "estimator", CLASSIFIERS, ids=lambda estimator: estimator.__name__
)


def population(n_samples=500, n_groups=2, seed=0):
    """Features, real target and group; the higher its number, the higher the group's values."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(n_groups, size=n_samples)
    X = rng.normal(size=(n_samples, 3))
    X[:, 0] += groups
    return X, X.sum(axis=1) + rng.logistic(size=n_samples) - 0.7, groups


@pytest.fixture(scope="module")
def data():
    return population()


def make(kind, **params):
    return kind(**({"interval": INTERVAL, "tolerance": 0.15} | params))


def fit(model, X, y, groups, sample_weight=None):
    """The model, fitted to a real target, or to its sign if it is a classifier."""
    target = y if isinstance(model, PartialParityRegressor) else y > 0
    if isinstance(model, PartialParityPostprocessor) and model.estimator is None:
        # Its tolerance holds for the scores of a prefit classifier.
        model.set_params(estimator=LogisticRegression().fit(X, target, sample_weight), cv="prefit")
    return model.fit(X, target, sensitive_features=groups, sample_weight=sample_weight)


@pytest.fixture(scope="module")
def model_of(data):
    """A function that gives the default fit of an estimator, which tests do not change."""
    return cache(lambda estimator: fit(make(estimator), *data))


def scores_of(model, X, groups):
    respond = (
        model.predict if isinstance(model, PartialParityRegressor) else model.decision_function
    )
    return respond(X, sensitive_features=groups)


def difference(model, X, groups, sample_weight=None, scale="normalized"):
    return partial_statistical_parity_difference(
        scores_of(model, X, groups),
        sensitive_features=groups,
        interval=INTERVAL if model.interval is None else model.interval,
        scale=scale,
        sample_weight=sample_weight,
    )


def assert_fair(model, X, groups, sample_weight=None):
    assert model.status_ != "infeasible"
    assert model.constraint_violation_ == 0.0
    assert difference(model, X, groups, sample_weight) <= model.tolerance + ROUNDING


# Intervals and tolerances -------------------------------------------------------------


@every
@pytest.mark.parametrize(
    ("interval", "message"),
    [
        ((0.5, 0.2), r"0 <= alpha < beta <= 1, .*top 5 %; got \(0\.5, 0\.2\)"),
        ((0.2, 0.2), r"alpha < beta .*got \(0\.2, 0\.2\)"),
        ((-0.1, 0.2), r"0 <= alpha .*got \(-0\.1, 0\.2\)"),
        ((0.5, 1.2), r"beta <= 1, .*got \(0\.5, 1\.2\)"),
        ((np.nan, 0.5), r"alpha < beta .*got \(nan, 0\.5\)"),
        ([(0.1, 0.4), (0.3, 0.5)], "must not overlap"),
        ({0: (0.1, 0.4), 1: (0.6, 0.3)}, r"alpha < beta .*got \(0\.6, 0\.3\)"),
        ({0: (0.1, 0.4)}, r"\[1\] have none; its entries are \[0\]\. Add them"),
        ("top", "array-like|a list of such pairs"),
    ],
    ids=str,
)
def test_invalid_intervals_are_refused(estimator, interval, message, data):
    with pytest.raises(ValueError, match=f"interval.*{message}"):
        fit(make(estimator, interval=interval), *data)


@every
def test_intervals_of_absent_groups_are_ignored(estimator, data, model_of):
    # A fold of a cross-validation may lack a group; one that is misspelt leaves another without.
    X, y, groups = data
    model = fit(make(estimator, interval={0: INTERVAL, 1: INTERVAL, 2: (0.0, 0.1)}), *data)
    alone = model_of(estimator)
    np.testing.assert_array_equal(scores_of(model, X, groups), scores_of(alone, X, groups))


@every
def test_a_criterion_object_sets_interval_and_tolerance(estimator, data, model_of):
    X, _, groups = data
    by_name = model_of(estimator)
    criterion = PartialStatisticalParity(INTERVAL, tolerance=0.15)
    by_object = fit(estimator(constraint=criterion), *data)
    np.testing.assert_array_equal(scores_of(by_object, X, groups), scores_of(by_name, X, groups))
    with pytest.raises(
        ValueError, match="interval can be set only for a constraint chosen by name"
    ):
        fit(make(estimator, constraint=criterion), *data)


@every
@pytest.mark.parametrize("tolerance", [-0.1, 1.5, np.nan, "strict"])
def test_a_tolerance_is_between_0_and_1(estimator, tolerance, data):
    with pytest.raises(ValueError, match=r"'tolerance' parameter .*\[0\.0, 1\.0\]"):
        fit(make(estimator, tolerance=tolerance), *data)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "scale"), zip(ALL, ["normalized", "raw", "normalized"], strict=True)
)
def test_a_tolerance_of_0_is_approached_and_the_violation_reported(estimator, scale):
    data = population(200)
    criterion = {"constraint": PartialStatisticalParity(INTERVAL, scale=scale), "interval": None}
    model = make(estimator, tolerance=0.0, **criterion)
    X, _, groups = data
    plain = fit(make(estimator, tolerance=1.0, **criterion), *data)
    plain = difference(plain, X, groups, scale=scale)
    with pytest.warns(InfeasibleConstraintWarning, match=r"tolerance.*0\..*[Rr]aise the tolerance"):
        fit(model, *data)
    reached = difference(model, X, groups, scale=scale)
    assert model.status_ == "infeasible"
    assert model.constraint_violation_ == pytest.approx(reached, abs=ROUNDING)
    assert reached < plain / 2


# Groups -------------------------------------------------------------------------------


@every
def test_groups_too_small_for_the_interval_are_named_and_counted(estimator, data):
    X, y, _ = data
    names = np.where(np.arange(len(y)) < 36, "few", "many")
    with pytest.raises(ValueError, match=r"at least 20 .*'few' \(18\).*Widen the interval"):
        fit(make(estimator), X, y, names)
    fitted = fit(make(estimator, interval=(0.1, 1.0), tolerance=0.4), X, y, names)
    assert_fair(fitted, X, names)


@every
def test_five_groups_of_very_different_size(estimator):
    X, y, _ = population(1500)
    groups = np.digitize(np.random.default_rng(2).random(1500), [0.6, 0.85, 0.93, 0.97])
    model = fit(make(estimator, interval=(0.0, 0.9), tolerance=0.25), X, y, groups)
    assert max(model.groups_.counts) > 15 * min(model.groups_.counts)
    assert_fair(model, X, groups)


@every
def test_one_group_gives_the_plain_fit(estimator, data):
    X, y, _ = data
    # No groups are compared: neither the size of the interval nor its names matter.
    with pytest.warns(MissingSensitiveFeaturesWarning, match="in the group 'all of us'"):
        model = fit(make(estimator, interval=(0.5, 0.501)), X, y, np.full(len(y), "all of us"))
    with pytest.warns(
        MissingSensitiveFeaturesWarning, match="constraint=.*enable_metadata_routing"
    ):
        without = fit(make(estimator, interval=(0.5, 0.501)), X, y, None)
    np.testing.assert_array_equal(scores_of(model, X, None), scores_of(without, X, None))
    assert model.status_ == without.status_ == "unconstrained"


@pytest.mark.slow
@every
def test_labels_of_groups_may_have_any_dtype(estimator, data, model_of):
    X, y, groups = data
    expected = scores_of(model_of(estimator), X, groups)
    codes = ["a", "b"]
    for labels in (
        np.array(codes)[groups],
        pd.Series(pd.Categorical.from_codes(groups, codes)),
        groups == 1,
        np.column_stack((groups, np.zeros_like(groups))),
    ):
        model = fit(make(estimator), X, y, labels)
        np.testing.assert_array_equal(scores_of(model, X, labels), expected)


@every_classifier
def test_predictions_are_labels_of_the_classes(estimator, data):
    X, y, groups = data
    named = np.where(y > 0, "yes", "no")
    model = make(estimator).set_params(pos_label="yes").fit(X, named, sensitive_features=groups)
    decisions = model.predict(X, sensitive_features=groups)
    assert model.classes_.tolist() == ["no", "yes"]
    expected = make(estimator).fit(X, y > 0, sensitive_features=groups)
    np.testing.assert_array_equal(
        decisions == "yes", expected.predict(X, sensitive_features=groups)
    )


@every_classifier
def test_the_positive_class_may_come_first_in_the_alphabet(estimator, data):
    X, y, groups = data
    expected = make(estimator).fit(X, y > 0, sensitive_features=groups)
    named = np.where(y > 0, "approved", "denied")
    with pytest.raises(ValueError, match=r"pos_label must name .* \['approved', 'denied'\]"):
        make(estimator).fit(X, named, sensitive_features=groups)
    model = (
        make(estimator).set_params(pos_label="approved").fit(X, named, sensitive_features=groups)
    )
    assert model.classes_.tolist() == ["approved", "denied"]
    assert model.pos_label_ == "approved"
    metadata = {"sensitive_features": groups}
    approved = model.predict(X, **metadata) == "approved"
    np.testing.assert_array_equal(approved, expected.predict(X, **metadata))
    # As everywhere in scikit-learn, scores are those of the second class.
    scores = model.decision_function(X, **metadata)
    np.testing.assert_allclose(scores, -expected.decision_function(X, **metadata), atol=1e-9)


@every
def test_missing_groups_are_refused(estimator, data):
    X, y, groups = data
    partly = np.where(np.arange(len(y)) == 7, np.nan, groups)
    with pytest.raises(ValueError, match=r"row 7.*fillna"):
        fit(make(estimator), X, y, partly)


@every_linear
def test_predictions_with_interactions_need_known_groups(estimator, data):
    X, _, groups = data
    model = fit(make(estimator, group_interactions=True), *data)
    with pytest.raises(ValueError, match="need sensitive_features: .*group_interactions=False"):
        model.predict(X)
    with pytest.raises(ValueError, match="not seen at fit: 2; the known groups are 0, 1. Map"):
        model.predict(X, sensitive_features=groups + 1)
    with pytest.raises(ValueError, match="499 rows but there are 500 samples"):
        model.predict(X, sensitive_features=groups[1:])
    one = scores_of(model, X[:1], groups[:1])
    assert one == pytest.approx(scores_of(model, X, groups)[:1])


# Classes, targets and scorers ---------------------------------------------------------


@every_classifier
def test_there_must_be_two_classes(estimator, data):
    X, y, groups = data
    model = make(estimator)
    with pytest.raises(ValueError, match="at least 2 classes .*only one class"):
        model.fit(X, np.zeros(len(y)), sensitive_features=groups)
    with pytest.raises(ValueError, match="only one class"):
        model.fit(X, y > 0, sensitive_features=groups, sample_weight=(y > 0).astype(float))
    with pytest.raises(ValueError, match="3 classes.*OneVsRestClassifier"):
        model.fit(X, np.arange(len(y)) % 3, sensitive_features=groups)
    with pytest.raises(ValueError, match="continuous"):
        model.fit(X, y, sensitive_features=groups)


@pytest.mark.parametrize(
    "scorer", [LinearRegression(), KMeans(2), object()], ids=["regressor", "clusterer", "nothing"]
)
def test_a_postprocessor_needs_scores(scorer, data):
    message = "'estimator' parameter .*'decision_function'.*'predict_proba'"
    with pytest.raises(ValueError, match=message):
        fit(make(PartialParityPostprocessor, estimator=scorer), *data)
    frozen = FrozenEstimator(LinearRegression().fit(data[0], data[1]))
    with pytest.raises(ValueError, match=message):
        fit(make(PartialParityPostprocessor, estimator=frozen), *data)


@pytest.mark.parametrize("scorer", [LinearSVC(), LogisticRegression()], ids=str)
def test_a_frozen_classifier_must_have_the_same_two_classes(scorer, data):
    X, y, groups = data
    for other in (np.arange(len(y)) % 3, np.where(y > 0, "no", "yes")):
        frozen = FrozenEstimator(clone(scorer).fit(X, other))
        with pytest.raises(ValueError, match=r"same 2 classes.*\[False, True\].*[0no].*fit it on"):
            fit(make(PartialParityPostprocessor, estimator=frozen), X, y, groups)


def test_a_frozen_classifier_must_be_fitted(data):
    frozen = FrozenEstimator(LogisticRegression())
    with pytest.raises(ValueError, match="not fitted"):
        fit(make(PartialParityPostprocessor, estimator=frozen), *data)


# Features, rows and weights -----------------------------------------------------------


@every
@pytest.mark.parametrize(("bad", "message"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_features_must_be_finite(estimator, bad, message, data, model_of):
    X, y, groups = data
    model = model_of(estimator)
    broken = X.copy()
    broken[3, 1] = bad
    with pytest.raises(ValueError, match=f"contains {message}"):
        fit(make(estimator), broken, y, groups)
    with pytest.raises(ValueError, match=f"contains {message}"):
        model.predict(broken, sensitive_features=groups)


def test_a_real_target_must_be_finite(data):
    X, y, groups = data
    with pytest.raises(ValueError, match="Input y contains NaN"):
        fit(make(PartialParityRegressor), X, np.where(y > 3, np.nan, y), groups)


@pytest.mark.covering(1)
@every_linear
@pytest.mark.parametrize("interactions", [False, True])
def test_the_scale_of_columns_does_not_matter(estimator, interactions, data):
    X, y, groups = data
    scale = np.array([1e-6, 1.0, 1e6])
    expected = fit(make(estimator, alpha=0.0, group_interactions=interactions), *data)
    model = fit(make(estimator, alpha=0.0, group_interactions=interactions), X * scale, y, groups)
    np.testing.assert_allclose(
        scores_of(model, X * scale, groups), scores_of(expected, X, groups), atol=1e-4
    )
    assert_fair(model, X * scale, groups)


@every
def test_storage_does_not_matter(estimator, data):
    X, y, groups = data
    X = np.where(np.abs(X) < 0.3, 0.0, np.round(X * 64) / 64)  # exact in float32
    expected = scores_of(fit(make(estimator), X, y, groups), X, groups)
    for rows in (
        X.astype(np.float32),
        pd.DataFrame(X, columns=[*"abc"]),
        sparse.csr_array(X),
    ):
        model = fit(make(estimator), rows, y, groups)
        np.testing.assert_allclose(scores_of(model, rows, groups), expected, atol=1e-3)
        assert_fair(model, rows, groups)


@every
def test_a_fit_does_not_change_its_input(estimator, data):
    X, y, groups = (part.copy() for part in data)
    weights = np.ones(len(y))
    for array in (X, y, groups, weights):
        array.flags.writeable = False
    assert_fair(fit(make(estimator), X, y, groups, weights), X, groups)


@every
def test_arguments_must_have_equal_lengths_and_indices(estimator, data):
    X, y, groups = data
    model = make(estimator)
    with pytest.raises(ValueError, match="499 rows but there are 500 samples; pass one row per"):
        fit(model, X, y, groups[1:])
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples"):
        fit(model, X, y[1:], groups)
    with pytest.raises(ValueError, match="one weight for each of the 500 samples, but has 499"):
        fit(model, X, y, groups, np.ones(499))
    with pytest.raises(ValueError, match=r"same pandas index.*\.loc\[X\.index\].*to_numpy"):
        fit(model, pd.DataFrame(X), y, pd.Series(groups)[::-1])
    with pytest.raises(ValueError, match="same pandas index"):
        fit(model, X, pd.Series(y), pd.Series(groups)[::-1])
    with pytest.raises(ValueError, match="same pandas index"):
        fit(model, pd.DataFrame(X), y, groups, pd.Series(np.ones(500))[::-1])


@every
def test_arguments_of_predict_must_have_equal_indices_and_names(estimator, data):
    X, y, groups = data
    model = fit(make(estimator), pd.DataFrame(X, columns=[*"abc"]), y, groups)
    with pytest.raises(ValueError, match="same pandas index"):
        model.predict(pd.DataFrame(X), sensitive_features=pd.Series(groups)[::-1])
    with pytest.raises(ValueError, match="feature names"):
        model.predict(pd.DataFrame(X, columns=[*"cba"]), sensitive_features=groups)


@every
def test_weights_must_be_weights(estimator, data):
    model = fit(make(estimator), *data)
    for weights, message in (
        (np.full(500, -1.0), "Negative values"),
        (np.zeros(500), "at least one non-zero"),
        (np.full(500, np.nan), "NaN"),
    ):
        with pytest.raises(ValueError, match=message):
            fit(model, *data, weights)


@every
def test_samples_without_weight_are_absent(estimator, data, model_of):
    X, y, groups = data
    rng = np.random.default_rng(3)
    wild = 100.0 * rng.normal(size=(60, 3))
    with_absent = np.r_[X, wild], np.r_[y, rng.normal(size=60)], np.r_[groups, groups[:60]]
    weights = np.r_[np.ones(500), np.zeros(60)]
    model = fit(make(estimator), *with_absent, weights)
    expected = model_of(estimator)
    np.testing.assert_allclose(
        scores_of(model, X, groups), scores_of(expected, X, groups), atol=1e-6
    )
    assert model.groups_.counts == expected.groups_.counts


@every
def test_a_group_without_weight_is_dropped_by_name(estimator, data):
    X, y, groups = data
    names = np.array(["a", "b"], dtype=object)[groups]
    names[:5] = "ghost"
    weights = (np.arange(500) >= 5).astype(float)
    with pytest.warns(UserWarning, match=r"without any sample weight .*'ghost'"):
        model = fit(make(estimator), X, y, names, weights)
    assert model.groups_.names == ["a", "b"]


@every
def test_integer_weights_equal_repeated_samples(estimator, data):
    X, y, groups = data
    weights = np.random.default_rng(1).integers(0, 4, 500)
    rows = np.repeat(np.arange(500), weights)
    weighted = fit(make(estimator), *data, weights)
    repeated = fit(make(estimator), X[rows], y[rows], groups[rows])
    np.testing.assert_allclose(
        scores_of(weighted, X, groups), scores_of(repeated, X, groups), atol=1e-3
    )
    assert_fair(weighted, X, groups, weights)


@every
def test_a_failed_fit_leaves_the_earlier_one_unchanged(estimator, data):
    X, y, groups = data
    model = fit(make(estimator), *data)
    before = {name: value for name, value in vars(model).items() if name.endswith("_")}
    with pytest.raises(ValueError, match="rows"):
        fit(model, X[:, :2], y, groups[:-1])
    assert {name: vars(model)[name] for name in before} == before
    with pytest.raises(ValueError, match="2 features, but .* 3 features"):
        model.predict(X[:, :2], sensitive_features=groups)
