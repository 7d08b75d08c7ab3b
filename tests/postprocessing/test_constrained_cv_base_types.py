"""Wrapped estimators must be what their wrapper is, by scikit-learn's own test."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LinearRegression, LogisticRegression

from skfair.classification import ConstrainedClassifierCV, PartialParityPostprocessor
from skfair.conformal import ConformalClassifier, ConformalRegressor
from skfair.regression import ConstrainedRegressorCV

RNG = np.random.default_rng(0)
GROUP = RNG.integers(0, 2, 60)
X = RNG.normal(size=(60, 2))
Y = (X[:, 0] + GROUP > 0.5).astype(int)
CLASSIFIERS = [ConstrainedClassifierCV, PartialParityPostprocessor, ConformalClassifier]


class Fitted:
    """Methods of a classifier."""

    def fit(self, X, y):
        self.model_ = LogisticRegression().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


class WrongOrder(Fitted, BaseEstimator, ClassifierMixin):
    """Mixins of scikit-learn count in the order of their names."""


class NoMixin(Fitted, BaseEstimator):
    pass


class OldType(Fitted, BaseEstimator):
    _estimator_type = "classifier"


@pytest.mark.parametrize("wrapper", CLASSIFIERS)
@pytest.mark.parametrize("base", [WrongOrder, NoMixin, OldType])
def test_classifiers_without_their_mixin_are_refused(wrapper, base):
    model = wrapper(base())
    assert base.__name__ in repr(model)
    model.__sklearn_tags__()
    message = "must be a classifier, but .* Derive .*ClassifierMixin, named before BaseEstimator"
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y, sensitive_features=GROUP)


class RightOrder(ClassifierMixin, Fitted, BaseEstimator):
    pass


@pytest.mark.parametrize("wrapper", CLASSIFIERS)
@pytest.mark.filterwarnings("ignore")
def test_classifiers_with_their_mixin_are_taken(wrapper):
    wrapper(RightOrder()).fit(X, Y, sensitive_features=GROUP)


@pytest.mark.parametrize(
    ("wrapper", "base", "advice"),
    [
        (ConstrainedRegressorCV, LogisticRegression, "classifier to ConstrainedClassifierCV"),
        (ConformalRegressor, LogisticRegression, "classifier to ConformalClassifier"),
        (ConformalRegressor, NoMixin, "RegressorMixin"),
    ],
)
def test_the_other_kind_is_sent_to_its_wrapper(wrapper, base, advice):
    with pytest.raises(ValueError, match=advice):
        wrapper(base()).fit(X, Y, sensitive_features=GROUP)


def test_a_regressor_is_sent_to_the_wrapper_of_regressors():
    class Scored(LinearRegression):
        def decision_function(self, X):
            return self.predict(X)

    with pytest.raises(ValueError, match="Pass a regressor to ConstrainedRegressorCV"):
        ConstrainedClassifierCV(Scored()).fit(X, Y, sensitive_features=GROUP)
