"""Ids of households and persons: of any type, blank ones are unknown."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from skfair._groups.ids import check_clusters, encode_households, encode_ids
from skfair.audit import Audit
from skfair.classification import ConstrainedClassifierCV
from skfair.cluster import FairKMeans, FairKMedoids, FairSpectralClustering
from skfair.conformal import ConformalRegressor


@pytest.mark.parametrize(
    "ids",
    [
        ["b", "", "a", "b", " "],
        ["b", None, "a", "b", np.nan],
        np.array(["b", "", "a", "b", "\t"]),
        pd.Series(["b", None, "a", "b", ""], dtype="string"),
        pd.Series(["b", None, "a", "b", ""], dtype="category"),
    ],
)
def test_blank_ids_are_unknown(ids):
    assert encode_ids(ids, 5, "together").tolist() == [0, -1, 1, 0, -1]
    assert encode_households(ids, 5).tolist() == [0, 2, 1, 0, 3]
    with pytest.raises(ValueError, match="must not hold missing values or blank text, but 2 of 5"):
        check_clusters(ids, 5)


def test_numbers_are_ids_of_their_own():
    assert encode_ids([7, 0, 7], 3, "together").tolist() == [0, 1, 0]
    assert encode_ids([7.0, np.nan, 7.0], 3, "together").tolist() == [0, -1, 0]
    assert encode_households([None, None], 2).tolist() == [0, 1]


def draw():
    """200 samples of two groups, of which 100 have a household of two."""
    rng = np.random.default_rng(0)
    numbers = np.arange(200)
    ids = np.where(numbers < 100, np.char.add("h", (numbers // 2).astype(str)), "")
    alone = np.where(numbers < 100, ids, np.char.add("x", numbers.astype(str)))
    return rng.normal(size=(200, 3)), rng.choice(["a", "b"], 200), ids, alone


@pytest.mark.covering(0)
@pytest.mark.parametrize(
    "model",
    [
        FairKMeans(3, random_state=0),
        FairKMedoids(3, random_state=0),
        FairSpectralClustering(3, gamma=0.3, random_state=0),
    ],
    ids=lambda one: type(one).__name__,
)
def test_samples_with_blank_ids_are_households_of_their_own(model):
    X, groups, ids, alone = draw()
    expected = model.fit(X, sensitive_features=groups, together=alone).labels_.copy()
    labels = model.fit(X, sensitive_features=groups, together=ids).labels_
    np.testing.assert_array_equal(labels, expected)
    message = r"together must have one id per sample, but has the shape \(200, 2\)"
    with pytest.raises(ValueError, match=message):
        model.fit(X, sensitive_features=groups, together=np.c_[ids, ids])
    # The advice of the message.
    address = pd.DataFrame({"street": ids, "house": ids})
    joined = address["street"] + " " + address["house"]
    labels = model.fit(X, sensitive_features=groups, together=joined).labels_
    np.testing.assert_array_equal(labels, expected)


@pytest.mark.filterwarnings("ignore:Labels of groups look like missing values")
def test_blank_ids_of_clusters_are_refused_everywhere():
    X, groups, ids, alone = draw()
    y = (X.sum(axis=1) > 0).astype(int)
    classifier = ConstrainedClassifierCV(LogisticRegression(), group_estimator="sensitive_features")
    regressor = ConformalRegressor(LinearRegression(), 0.8, group_estimator="sensitive_features")
    for fit in (
        lambda one: classifier.fit(X, y, sensitive_features=groups, groups=one),
        lambda one: regressor.fit(X, X.sum(axis=1), sensitive_features=groups, groups=one),
        lambda one: Audit.from_predictions(y, 1 - y, sensitive_features=groups, groups=one),
    ):
        with pytest.raises(ValueError, match="missing values or blank text, but 100 of 200 are"):
            fit(ids)
        fit(alone)
