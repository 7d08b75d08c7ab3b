"""Out-of-fold and out-of-bag scores."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.feature_selection import SelectFromModel, SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, TargetEncoder
from sklearn.random_projection import GaussianRandomProjection
from sklearn.tree import DecisionTreeClassifier

from skfair._postprocessing.folds import make_folds
from skfair._postprocessing.out_of_fold_scores import (
    cross_fit,
    final_step_features,
    free_columns,
    mean_scores,
)

X = np.random.default_rng(0).normal(size=(60, 2))
Y = (X[:, 0] + np.random.default_rng(1).normal(size=60) > 0).astype(int)


class Memory(ClassifierMixin, BaseEstimator):
    """Scores 1 for its training samples."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        self.rows_ = {row.tobytes() for row in X}
        self.weights_ = sample_weight
        return self

    def decision_function(self, X):
        return np.array([float(row.tobytes() in self.rows_) for row in X])


def folds(cv=3, strata=Y):
    return make_folds(cv, X, Y, strata)


def test_each_sample_is_scored_by_a_model_that_was_not_fitted_to_it():
    estimators, scores = cross_fit(Memory(), X, Y, folds())
    assert not scores.any()
    assert len(estimators) == 3
    # Each sample is out of the training folds of a third of the models.
    np.testing.assert_allclose(mean_scores(estimators, X), 2 / 3)


def test_fit_parameters_are_indexed_like_the_samples():
    weights = np.arange(60.0)
    estimators, _ = cross_fit(Memory(), X, Y, folds(), params={"sample_weight": weights})
    for estimator, (train, _) in zip(estimators, folds(), strict=True):
        np.testing.assert_array_equal(estimator.weights_, weights[train])


def test_fitted_classifiers_are_not_changed():
    model = Memory().fit(X[:30], Y[:30])
    for estimator, cv in ((model, "prefit"), (FrozenEstimator(model), folds())):
        estimators, scores = cross_fit(estimator, X, Y, cv)
        assert estimators == [estimator]
        assert scores[:, 0].tolist() == [1.0] * 30 + [0.0] * 30


def test_probabilities_become_log_odds():
    forest = RandomForestClassifier(n_estimators=60, random_state=0)
    (fitted,), scores = cross_fit(forest, X, Y, "oob")
    probability = fitted.oob_decision_function_[:, 1]
    np.testing.assert_array_equal(scores[:, 0] > 0, probability > 0.5)
    assert np.abs(scores[:, 0]).max() < 7
    np.testing.assert_array_equal(np.argsort(scores[:, 0]), np.argsort(probability))
    pipeline = make_pipeline(StandardScaler(), forest)
    (fitted,), again = cross_fit(pipeline, X, Y, "oob")
    assert fitted[-1].oob_score
    assert np.corrcoef(scores[:, 0], again[:, 0])[0, 1] > 0.95


def forest_behind(*steps):
    return make_pipeline(*steps, RandomForestClassifier(30, random_state=0))


class Supervised(TransformerMixin, BaseEstimator):
    """Features that are the target, where there is one."""

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        self.target_ = y
        return self

    def transform(self, X):
        return X if self.target_ is None else self.target_[:, np.newaxis]


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (forest_behind(SelectKBest(k=1)), "cannot be fitted without y"),
        (forest_behind(StandardScaler(), TargetEncoder()), "cannot be fitted without y"),
        (forest_behind(SelectFromModel(LogisticRegression())), "cannot be fitted without y"),
        (forest_behind(Supervised()), "give other features without y"),
        (make_pipeline(StandardScaler(), forest_behind(Supervised())), "give other features"),
        (make_pipeline(forest_behind(SelectKBest(k=1))), "cannot be fitted without y"),
    ],
)
def test_out_of_bag_scores_need_preprocessing_without_y(estimator, message):
    with pytest.raises(ValueError, match=f"cv='oob' needs preprocessing .*{message}.*Pass cv=5"):
        cross_fit(estimator, X, Y, "oob")


@pytest.mark.slow
def test_out_of_bag_scores_behind_preprocessing_without_y():
    random = GaussianRandomProjection(2, random_state=0)
    for steps in ([StandardScaler()], [PCA(2), random], [make_pipeline("passthrough")]):
        cross_fit(forest_behind(*steps), X, Y, "oob")
    # Within the bags, preprocessing sees what the tree sees.
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(100, 500))
    labels = rng.integers(2, size=100)
    tree = make_pipeline(SelectKBest(k=10), DecisionTreeClassifier(random_state=0))
    bags = BaggingClassifier(tree, 50, oob_score=True, random_state=0)
    _, scores = cross_fit(bags, noise, labels, "oob")
    assert np.mean((scores[:, 0] > 0) == labels) < 0.65


def test_features_of_the_final_step():
    pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)
    expected = StandardScaler().fit_transform(X)
    search = GridSearchCV(pipeline, {"logisticregression__C": [1.0]}, cv=2).fit(X, Y)
    for estimator in (pipeline, search, FrozenEstimator(pipeline), FrozenEstimator(search)):
        np.testing.assert_allclose(final_step_features(estimator, X), expected)
    assert final_step_features(pipeline[-1], X) is X


class Vote(ClassifierMixin, BaseEstimator):
    """A classifier without scores."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self


def test_a_vote_has_no_scores():
    with pytest.raises(ValueError, match="Vote has neither once it is fitted"):
        cross_fit(Vote(), X, Y, folds())


class CodesOnly(LogisticRegression):
    """Refuses classes other than 0, 1, ... as XGBClassifier does."""

    def fit(self, X, y, sample_weight=None):
        classes = np.unique(y)
        if not np.array_equal(classes, np.arange(len(classes))):
            raise ValueError(
                f"Invalid classes inferred from unique values of `y`. Expected: "
                f"{np.arange(len(classes))}, got {classes}"
            )
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("labels", [["no", "yes"], [1, 2]])
def test_a_classifier_that_takes_codes_only_is_explained(labels):
    y = np.array(labels)[Y]
    with pytest.raises(ValueError, match="Invalid classes inferred") as caught:
        cross_fit(CodesOnly(), X, y, folds())
    assert f"The classes are {labels}. If CodesOnly takes only 0, 1" in str(caught.value)
    assert f"y == {labels[1]!r}" in str(caught.value)
    # What the message says works.
    assert len(cross_fit(CodesOnly(), X, (y == labels[1]).astype(int), folds())[0]) == 3


def test_errors_of_codes_are_those_of_the_classifier():
    with pytest.raises(ValueError, match="max_iter") as caught:
        cross_fit(LogisticRegression(max_iter=-1), X, Y, folds())
    assert "classes" not in str(caught.value)


@pytest.mark.parametrize(
    ("signs", "expected"),
    [
        ([1, 0, -1], [1]),
        ({"b": -1}, [0, 2]),
        ({2: 1}, [0, 1]),
        ("(1,0,0)", [1, 2]),
        ("a:1,c:-1", [1]),
        ("0:1,2:-1", [1]),
        ("1:0", None),
        (None, None),
    ],
)
def test_columns_without_monotone_constraint_are_found(signs, expected):
    class Booster(BaseEstimator):
        def __init__(self, monotone_constraints=None):
            self.monotone_constraints = monotone_constraints

    features = pd.DataFrame(np.zeros((4, 3)), columns=["a", "b", "c"])
    free = free_columns(Booster(signs), features)
    assert (free is None) == (expected is None)
    if expected is not None:
        np.testing.assert_array_equal(free, expected)
