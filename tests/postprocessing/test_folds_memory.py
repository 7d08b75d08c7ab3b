"""Fits of wrapped estimators that ``memory`` stores: which are taken from there, and which not."""

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skfair.classification import ConstrainedClassifierCV
from skfair.regression import ConstrainedRegressorCV

FITS = []
"""An entry for each fit of a counted estimator."""


class Counted(ClassifierMixin, BaseEstimator):
    """Logistic regression that counts its fits."""

    def __init__(self, C=1.0, random_state=0):
        self.C = C
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        FITS.append(len(X))
        self.model_ = LogisticRegression(C=self.C).fit(X, y, sample_weight)
        self.classes_ = self.model_.classes_
        return self

    def decision_function(self, X):
        return self.model_.decision_function(X)

    def predict(self, X):
        return self.model_.predict(X)


class CountedRegressor(RegressorMixin, BaseEstimator):
    """Least squares that counts its fits."""

    def fit(self, X, y):
        FITS.append(len(X))
        self.model_ = LinearRegression().fit(X, y)
        return self

    def predict(self, X):
        return self.model_.predict(X)


def draw(n_samples=300):
    rng = np.random.default_rng(0)
    groups = rng.integers(2, size=n_samples)
    X = rng.normal(size=(n_samples, 3))
    X[:, 0] += groups
    y = (X[:, 0] + X[:, 1] + rng.logistic(size=n_samples) > 0.5).astype(int)
    return X, y, groups


X, Y, GROUPS = draw()


def count_fits(estimator, X=X, y=Y, **params):
    """Fits of the counted estimator in one ``fit``, and the fitted estimator."""
    FITS.clear()
    fitted = clone(estimator).fit(X, y, sensitive_features=GROUPS, **params)
    return len(FITS), fitted


@pytest.fixture
def model(tmp_path):
    return ConstrainedClassifierCV(Counted(), tolerance=0.1, cv=3, memory=str(tmp_path))


def test_another_tolerance_fits_no_base_and_gives_the_same_model(model):
    assert count_fits(model)[0] == 3
    for tolerance in (0.1, 0.05, 0.02):
        n_fits, stored = count_fits(model.set_params(tolerance=tolerance))
        alone = count_fits(clone(model).set_params(memory=None))
        assert (n_fits, alone[0]) == (0, 3)
        np.testing.assert_array_equal(
            stored.oof_decision_function_, alone[1].oof_decision_function_
        )
        np.testing.assert_array_equal(stored.decision_function(X), alone[1].decision_function(X))


def test_what_leaves_the_scores_as_they_are_fits_no_base(model):
    count_fits(model)
    for params in (
        {"constraint": "equal_opportunity"},
        {"constraint": None},
        {"group_estimator": "sensitive_features"},
        {"class_weight": "balanced"},
        {"confidence_level": 0.5, "tolerance": 0.5},
    ):
        assert count_fits(clone(model).set_params(**params))[0] == 0, params
    # One model of all samples is the only further fit.
    assert count_fits(clone(model).set_params(ensemble=False))[0] == 1
    assert count_fits(clone(model).set_params(ensemble=False))[0] == 0


@pytest.mark.parametrize(
    "change",
    [
        {"estimator": Counted(C=0.5)},
        {"estimator": Counted(random_state=1)},
        {"cv": KFold(3)},
        {"cv": 4},
    ],
)
def test_other_parameters_and_folds_are_other_fits(model, change):
    count_fits(model)
    changed = clone(model).set_params(**change)
    n_folds = 4 if change.get("cv") == 4 else 3
    assert count_fits(changed)[0] == n_folds


def test_other_samples_weights_and_persons_are_other_fits(model):
    assert count_fits(model)[0] == 3
    weights = 1.0 + GROUPS
    assert count_fits(model, sample_weight=weights)[0] == 3
    assert count_fits(model, sample_weight=weights)[0] == 0
    assert count_fits(model, sample_weight=1.0 + weights**2)[0] == 3
    assert count_fits(model, groups=np.arange(300) // 2)[0] == 3
    assert count_fits(model, X=X + 1e-9)[0] == 3
    flipped = Y.copy()
    flipped[[0, 1]] = 1 - Y[[0, 1]]
    assert count_fits(model, y=flipped)[0] == 3


@pytest.mark.parametrize(
    "base",
    [Counted(random_state=None), make_pipeline(StandardScaler(), Counted(random_state=None))],
)
def test_a_random_state_of_none_is_never_shared(model, base):
    model.set_params(estimator=base)
    assert [count_fits(model)[0] for _ in range(2)] == [3, 3]


def test_a_search_over_tolerances_fits_the_base_once_for_each_fold(model):
    search = GridSearchCV(model, {"tolerance": [0.02, 0.05, 0.1, 0.2]}, cv=2, refit=False)
    FITS.clear()
    search.fit(X, Y, sensitive_features=GROUPS)
    assert len(FITS) == 2 * 3


def test_regressors_and_joblib_s_memory(tmp_path):
    memory = joblib.Memory(tmp_path, verbose=0)
    model = ConstrainedRegressorCV(CountedRegressor(), tolerance=0.1, cv=3, memory=memory)
    target = X.sum(axis=1)
    assert count_fits(model, y=target)[0] == 3
    assert count_fits(clone(model).set_params(tolerance=0.2), y=target)[0] == 0


def test_memory_of_another_type_is_refused(model):
    with pytest.raises(ValueError, match="'memory' parameter"):
        model.set_params(memory=3).fit(X, Y, sensitive_features=GROUPS)
