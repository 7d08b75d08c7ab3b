"""What the page of statuses says about missing values, infinity and sparse X, by estimator."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from skfair.classification import ConstrainedClassifierCV, ConstrainedERMClassifier
from skfair.cluster import FairKMeans, FairKMedoids

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 2))
SEX = np.repeat(["f", "m"], 60)
Y = (X.sum(axis=1) + RNG.normal(size=120) > 0).astype(int)
BOOSTING = ConstrainedClassifierCV(HistGradientBoostingClassifier(max_iter=2), cv=2)
LOGISTIC = ConstrainedClassifierCV(LogisticRegression(), cv=2)


def fit(estimator, X):
    target = {} if isinstance(estimator, FairKMeans | FairKMedoids) else {"y": Y}
    return estimator.fit(X, **target, sensitive_features=SEX)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_wrappers_take_missing_values_and_infinity_as_their_model_does(value):
    holes = X.copy()
    holes[:9, 0] = value
    assert fit(BOOSTING, holes).predict(holes).shape == (120,)
    for estimator in (LOGISTIC, ConstrainedERMClassifier(), FairKMeans(2), FairKMedoids(2)):
        with pytest.raises(ValueError, match="contains (NaN|infinity)"):
            fit(estimator, holes)


def test_wrappers_take_sparse_samples_as_their_model_does():
    sparse = csr_array(X)
    for estimator in (LOGISTIC, ConstrainedERMClassifier(), FairKMeans(2)):
        assert fit(estimator, sparse).n_features_in_ == 2
    for estimator in (BOOSTING, FairKMedoids(2)):
        with pytest.raises(TypeError, match="dense"):
            fit(estimator, sparse)
