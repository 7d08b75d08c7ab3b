"""Small classifiers of groups: which columns they screen, and what the default takes."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from skfair._postprocessing import group_models
from skfair._postprocessing.group_models import (
    ScreenedClassifier,
    default_model_names,
    fit_classifier,
    pilot_rows,
)
from skfair._utils.sklearn import safe_indexing
from skfair.classification import ConstrainedClassifierCV, PartialParityPostprocessor

N_COLUMNS = 100


def draw(n_samples=2000, seed=0):
    """Columns of noise, and groups."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_samples, N_COLUMNS)), rng.integers(2, size=n_samples), rng


def hide_in_mean(X, group, rng):
    X[:, 7] += group


def hide_in_spread(X, group, rng):
    X[:, 7] *= 1.0 + 2.0 * group


def hide_in_product(X, group, rng):
    X[:, 3] += 0.5 * group
    X[:, 7] = np.abs(X[:, 7]) * np.where(group == 1, 1.0, -1.0) * np.sign(X[:, 3])


HIDDEN = [hide_in_mean, hide_in_spread, hide_in_product]


def fit(kind, X, group, weights=None):
    weights = np.ones(len(X)) if weights is None else weights
    return fit_classifier(kind, X, group, weights)


@pytest.mark.parametrize("hide", HIDDEN)
def test_screened_columns_show_the_group(hide):
    X, group, rng = draw()
    hide(X, group, rng)
    classifier = fit("screened", X[:1500], group[:1500])
    assert 7 in classifier.columns
    assert classifier.steps.shape[0] == 0
    chances = classifier.predict_proba(X[1500:])
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    accuracy = np.mean(chances.argmax(axis=1) == group[1500:])
    # Rates of the best rules: Phi(1/2) = .69 of one mean, about .76 of spreads of 1 and 3.
    assert accuracy > {hide_in_mean: 0.65, hide_in_spread: 0.7, hide_in_product: 0.9}[hide]


def test_steps_show_what_is_not_linear():
    X, group, rng = draw(3000)
    # The signs of ten columns show the group, their sizes are noise of long tails.
    agrees = rng.random((3000, 10)) < 0.65
    signs = np.where(agrees, 2 * group[:, np.newaxis] - 1, 1 - 2 * group[:, np.newaxis])
    X[:, :10] = signs * rng.lognormal(sigma=2.0, size=(3000, 10))
    classifier = fit("screened", X[:1500], group[:1500])
    assert classifier.steps.shape == (5, len(classifier.columns) + classifier.pairs.shape[1])
    accuracy = np.mean(classifier.predict_proba(X[1500:]).argmax(axis=1) == group[1500:])
    # The best rule counts the signs, and is right where most of ten agree: with probability .83.
    linear = LogisticRegression().fit(X[:1500, :10], group[:1500])
    assert linear.score(X[1500:, :10], group[1500:]) + 0.02 < accuracy < 0.86


@pytest.mark.parametrize("kind", ["dense", "screened"])
def test_weights_count_as_copies(kind):
    X, group, rng = draw(400)
    hide_in_mean(X, group, rng)
    copies = rng.integers(1, 4, size=len(X))
    rows = np.repeat(np.arange(len(X)), copies)
    weighted = fit(kind, X, group, copies.astype(float))
    repeated = fit(kind, X[rows], group[rows])
    if kind == "screened":
        np.testing.assert_array_equal(weighted.columns, repeated.columns)
    difference = weighted.predict_proba(X) - repeated.predict_proba(X)
    assert np.abs(difference).max() < 0.05  # fits end early


def test_large_columns_are_scaled_and_small_ones_are_not():
    X, group, rng = draw()
    X[:, 5] += group
    expected = fit("dense", X, group).predict_proba(X)
    larger = X.copy()
    larger[:, 5] = 1e5 * X[:, 5] + 3e5
    assert np.abs(fit("dense", larger, group).predict_proba(larger) - expected).max() < 0.05
    smaller = X.copy()
    smaller[:, 5] *= 1e-4
    chances = fit("dense", smaller, group).predict_proba(smaller)[:, 1]
    assert np.ptp(chances) < np.ptp(expected[:, 1])


@pytest.mark.parametrize("column", [np.zeros, np.ones])
def test_constant_columns_do_no_harm(column):
    X, group, rng = draw(300)
    hide_in_mean(X, group, rng)
    X[:, 10:] = column((300, N_COLUMNS - 10))
    for kind in ("dense", "screened"):
        assert np.isfinite(fit(kind, X, group).predict_proba(X)).all()


def test_single_precision_finds_the_same_columns():
    X, group, rng = draw()
    hide_in_product(X, group, rng)
    double, single = (fit("screened", one, group) for one in (X, X.astype(np.float32)))
    np.testing.assert_array_equal(single.columns, double.columns)
    np.testing.assert_array_equal(single.pairs, double.pairs)


def test_the_default_depends_on_the_columns():
    X = np.zeros((10, 64))
    assert default_model_names(X) == ["boosted", "linear"]
    assert default_model_names(np.zeros((10, 65))) == ["dense", "screened"]
    assert default_model_names(sparse.csr_array(X)) == ["linear"]
    assert default_model_names(np.full((10, 65), np.nan)) == ["boosted"]


def test_few_entries_decide():
    rows = np.arange(10_000)
    assert pilot_rows(rows, 20) is rows
    pilot = pilot_rows(rows, 1000)
    assert len(pilot) == 2000
    assert len(np.unique(pilot)) == 2000


@pytest.mark.covering(1)
@pytest.mark.parametrize("hide", HIDDEN)
@pytest.mark.parametrize("confidence_level", [None, 0.5])
def test_wide_data_keep_the_tolerance_out_of_sample(hide, confidence_level):
    X, group, rng = draw(6000, seed=1)
    hide(X, group, rng)
    skill = rng.normal(size=6000)
    X[:, 0] += 3.0 * (skill + 0.8 * group)
    y = skill + 0.8 * group + 0.5 * rng.normal(size=6000) > 0.4
    train, test = slice(0, 2000), slice(2000, None)
    model = ConstrainedClassifierCV(
        LogisticRegression(C=0.1), tolerance=0.05, confidence_level=confidence_level
    )
    model.fit(X[train], y[train], sensitive_features=group[train])
    assert len(model.estimators_) == 3
    decisions = model.predict(X[test])
    rates = [decisions[group[test] == one].mean() for one in (0, 1)]
    assert abs(rates[0] - rates[1]) < 0.05 + 0.05  # two standard errors of new and old samples
    assert np.mean(decisions == y[test]) > 0.6


def test_a_screened_classifier_is_stored_without_classes_of_its_own():
    X, group, rng = draw(1000)
    hide_in_spread(X, group, rng)
    X[:, 0] += 3.0 * group
    y = X[:, 0] + rng.normal(size=1000) > 1.0
    model = ConstrainedClassifierCV(LogisticRegression(), tolerance=0.1)
    model.fit(X, y, sensitive_features=group)
    state = repr(model.__getstate__())
    assert "'ScreenedClassifier'" in state
    assert "ScreenedClassifier(" not in state
    assert group_models.ScreenedClassifier is ScreenedClassifier


@pytest.mark.slow
def test_wide_lists_and_frames_give_the_model_of_arrays():
    X, group, rng = draw(600)
    X[:, 0] += 3.0 * group
    y = X[:, 0] + rng.normal(size=600) > 1.0
    settings = {"tolerance": 0.05, "cv": 2}
    predicted = [
        ConstrainedClassifierCV(LogisticRegression(), **settings)
        .fit(one, y, sensitive_features=group)
        .predict(one)
        for one in (X, X.tolist(), pd.DataFrame(X))
    ]
    np.testing.assert_array_equal(predicted[0], predicted[1])
    np.testing.assert_array_equal(predicted[0], predicted[2])


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_models_of_wide_frames_know_the_names_of_columns(scale):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 80)) * np.r_[scale, np.ones(79)]).add_prefix("c")
    target = (X["c1"] > 0).astype(int).to_numpy()
    classifier = group_models.fit_classifier("dense", X, target, np.ones(300))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        of_frame = classifier.predict_proba(X)
    unnamed = group_models.fit_classifier("dense", X.to_numpy(), target, np.ones(300))
    np.testing.assert_array_equal(of_frame, unnamed.predict_proba(X.to_numpy()))


class TextReader(ClassifierMixin, BaseEstimator):
    """A classifier of tables with text, as some libraries have."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.encoder_ = OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2
        )
        self.encoder_.fit(X[["town"]])
        self.tree_ = DecisionTreeClassifier(max_depth=3).fit(self._encode(X), y)
        return self

    def predict_proba(self, X):
        return self.tree_.predict_proba(self._encode(X))

    def _encode(self, X):
        return np.column_stack((X["number"], self.encoder_.transform(X[["town"]])))


def draw_text(kind):
    """A table in which a column of text shows the group; classes and groups."""
    rng = np.random.default_rng(0)
    group = rng.integers(2, size=1200)
    number = rng.normal(size=1200) + group
    names = np.where(rng.random(1200) < 0.9, group, 1 - group)
    names = np.char.add("town ", (names * 300 + rng.integers(5, size=1200)).astype(str))
    if kind == "rare":
        names = np.append([f"street {i}" for i in range(500)], names[500:])
    names = pd.Series(names, dtype="category" if kind == "rare" else kind)
    names = names.mask(rng.random(1200) < 0.02)
    X = pd.DataFrame({"number": number, "town": names})
    return X, (number + rng.normal(size=1200) > 0.5).astype(int), group


@pytest.mark.covering(1)
@pytest.mark.parametrize("kind", ["str", "string", "object", "rare", "category"])
@pytest.mark.parametrize("as_array", [False, True], ids=["table", "array"])
def test_groups_are_learned_from_text_and_wide_categories(kind, as_array):
    X, _, group = draw_text(kind)
    X = X.to_numpy(dtype=object, na_value=np.nan) if as_array else X
    (name,) = default_model_names(X)
    model = fit(name, safe_indexing(X, np.arange(800)), group[:800])
    chances = model.predict_proba(safe_indexing(X, np.arange(800, 1200)))
    assert np.mean(chances.argmax(axis=1) == group[800:]) > (0.75 if kind == "rare" else 0.85)


def test_frequent_values_do_not_depend_on_the_order_of_rows():
    X, _, group = draw_text("rare")
    model, reverse = fit("boosted", X, group), fit("boosted", X[::-1], group[::-1])
    assert model.frequent == reverse.frequent
    assert [len(values) for values in model.frequent.values()] == [254]
    assert model.transform(X)[1].cat.categories.size == 255


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["str", "object", "rare"])
def test_a_constraint_holds_around_a_classifier_of_text(kind):
    X, y, group = draw_text(kind)
    fair = ConstrainedClassifierCV(TextReader(), tolerance=0.05).fit(X, y, sensitive_features=group)
    assert fair.constraint_violation_ == 0.0
    unseen = X.assign(town=X["town"].astype(object).where(np.arange(1200) > 3, "a new town"))
    decisions = fair.predict(unseen.astype(X.dtypes) if kind == "str" else unseen)
    np.testing.assert_array_equal(decisions[4:], fair.predict(X)[4:])
    again = pickle.loads(pickle.dumps(fair))
    np.testing.assert_array_equal(again.predict(X), fair.predict(X))


def test_a_model_of_groups_that_reads_no_text_is_refused_before_the_fits():
    X, y, group = draw_text("str")
    fits = []

    class Counting(TextReader):
        def fit(self, X, y):
            fits.append(len(y))
            return super().fit(X, y)

    model = ConstrainedClassifierCV(Counting(), group_estimator=LogisticRegression())
    with pytest.raises(ValueError, match=r"'town'\. Encode them, as in .*LogisticRegression"):
        model.fit(X, y, sensitive_features=group)
    assert not fits
    reads_text = ConstrainedClassifierCV(Counting(), tolerance=0.1, group_estimator=TextReader())
    reads_text.fit(X, y, sensitive_features=group)
    assert reads_text.constraint_violation_ == 0.0 and len(fits) == 5


class Copying(TextReader):
    """A classifier whose constructor copies a list, as that of CatBoost does."""

    def __init__(self, columns):
        self.columns = list(columns)


@pytest.mark.parametrize("wrap", [ConstrainedClassifierCV, PartialParityPostprocessor])
def test_a_classifier_that_cannot_be_cloned_is_refused_with_what_to_do(wrap):
    X, y, group = draw_text("str")
    with pytest.raises(ValueError, match=r"Cannot clone object Copying.* pass a tuple, or"):
        wrap(Copying(["town"])).fit(X, y, sensitive_features=group)
