"""ConstrainedERMClassifier under constraints on ranks, decisions and losses at once."""

import numpy as np
import pytest

from skfair.classification import ConstrainedERMClassifier
from skfair.constraints import (
    DemographicParity,
    LossParity,
    PartialEqualOpportunity,
    PartialGroupAUC,
    PartialStatisticalParity,
)
from skfair.metrics import (
    demographic_parity_difference,
    loss_parity_difference,
    partial_statistical_parity_difference,
)

INTERVAL = (0.1, 0.5)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    sex = rng.integers(2, size=1200)
    X = rng.normal(size=(1200, 4))
    X[:, 0] += sex
    return X, X.sum(axis=1) + rng.logistic(size=1200) > 0.5, sex


def test_ranks_and_decisions_are_bounded_together(data):
    X, y, sex = data
    parity = PartialStatisticalParity(INTERVAL, tolerance=0.1)
    model = ConstrainedERMClassifier([parity, DemographicParity(tolerance=0.05)])
    model.fit(X, y, sensitive_features=sex)
    scores = model.decision_function(X)
    ranks = partial_statistical_parity_difference(scores, sensitive_features=sex, interval=INTERVAL)
    assert ranks <= 0.1
    assert demographic_parity_difference(y, scores > 0, sensitive_features=sex) <= 0.05
    assert model.constraint_violation_ == 0.0
    assert model.status_ == "optimal"
    assert model.multipliers_.any()
    report = model.constraint_report_
    assert report["constraint"].unique().tolist() == [
        "PartialStatisticalParity",
        "DemographicParity",
    ]
    assert report.query("constraint == 'PartialStatisticalParity'")["gap"].iloc[0] == ranks
    alone = ConstrainedERMClassifier(parity).fit(X, y, sensitive_features=sex)
    assert alone.objective_ <= model.objective_ + 1e-6


@pytest.mark.parametrize(
    "other", [LossParity(tolerance=0.05), PartialGroupAUC(INTERVAL, tolerance=0.04)], ids=str
)
def test_constraints_of_two_kinds_keep_their_tolerances(data, other):
    X, y, sex = data
    model = ConstrainedERMClassifier([PartialEqualOpportunity(INTERVAL, tolerance=0.1), other])
    model.fit(X, y, sensitive_features=sex)
    assert model.constraint_violation_ == 0.0
    gaps = model.constraint_report_.groupby("constraint")[["gap", "tolerance"]].first()
    assert (gaps["gap"] <= gaps["tolerance"] + 1e-6).all()
    if isinstance(other, LossParity):
        losses = loss_parity_difference(
            y, model.decision_function(X), sensitive_features=sex, loss="logistic"
        )
        assert losses <= 0.05 + 1e-6


def test_a_criterion_by_name(data):
    X, y, sex = data
    model = ConstrainedERMClassifier("partial_statistical_parity", tolerance=0.1)
    assert model.fit(X, y, sensitive_features=sex).constraint_violation_ == 0.0


def test_each_group_can_have_its_coefficients(data):
    X, y, sex = data
    model = ConstrainedERMClassifier(tolerance=0.05, group_interactions=True)
    model.fit(X, y, sensitive_features=sex)
    decisions = model.predict(X, sensitive_features=sex)
    assert demographic_parity_difference(y, decisions, sensitive_features=sex) <= 0.05
    assert model.group_coef_.shape == (2, 4)
    with pytest.raises(ValueError, match="predictions need sensitive_features"):
        model.predict(X)
    again = ConstrainedERMClassifier(tolerance=0.05, group_interactions=True, warm_start=True)
    again.fit(X, y, sensitive_features=sex)
    first = again.n_iter_
    again.fit(X, y, sensitive_features=sex)
    assert again.n_iter_ < first


@pytest.mark.slow
def test_an_inactive_constraint_does_not_double_the_iterations():
    """Rounding errors of its multipliers must not continue the search for a tolerance."""
    rng = np.random.default_rng(1)
    sex = rng.integers(2, size=1500)
    X = rng.normal(size=(1500, 4))
    X[:, 0] += sex
    y = X.sum(axis=1) + rng.logistic(size=1500) > 0.5
    parity = PartialStatisticalParity((0.1, 0.5), tolerance=0.05)
    alone, both = (
        ConstrainedERMClassifier(constraint).fit(X, y, sensitive_features=sex)
        for constraint in (parity, [parity, DemographicParity(tolerance=0.9)])
    )
    assert both.n_iter_ <= 2 * alone.n_iter_ < 200
    for model in (alone, both):
        assert model.status_ == "optimal"
        assert model.constraint_violation_ == 0.0
