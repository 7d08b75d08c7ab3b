"""Warnings of certificates and reports whose held-out samples belong together."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from skfair.cluster import FairKMeans
from tests.audit.doors import certify_model, report_model


def draw_households(rng, n=900):
    """Samples in households of three, whose members differ in one of five columns."""
    X = np.hstack((rng.normal(size=(n, 4))[np.arange(n) // 3], rng.normal(size=(n, 1))))
    y = (X.sum(axis=1) + rng.logistic(size=n) > 0).astype(int)
    return X, y, rng.integers(2, size=n)


@pytest.mark.covering(1)
@pytest.mark.parametrize("make", [certify_model, report_model])
@pytest.mark.parametrize("model", [LogisticRegression(), LinearRegression()])
def test_members_of_households_are_warned_of(make, model):
    rng = np.random.default_rng(0)
    X, y, group = draw_households(rng)
    model.fit(*draw_households(rng)[:2])
    settings = {"tolerance": 0.9} if make is certify_model else {}
    if make is certify_model and isinstance(model, LinearRegression):
        settings |= {"constraint": "mean_parity"}
    order = rng.permutation(len(y))
    for rows in (slice(None), order):
        with pytest.warns(UserWarning, match=r"Samples seem to belong together.*one sample of"):
            make(model, X[rows], y[rows], sensitive_features=group[rows], **settings)
    # One sample of each household.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make(model, X[::3], y[::3], sensitive_features=group[::3], **settings)


def test_clusterings_are_not_warned_of():
    X, _, group = draw_households(np.random.default_rng(0))
    model = FairKMeans(2, random_state=0).fit(X, sensitive_features=group)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report_model(model, X, sensitive_features=group)
