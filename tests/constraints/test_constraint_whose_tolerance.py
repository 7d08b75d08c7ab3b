"""A constraint's own tolerance is its bound for every client, and another one raises."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skfair.audit import Audit, fairness_front
from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    PartialParityClassifier,
    PartialParityPostprocessor,
)
from skfair.constraints import (
    BoundedGroupLoss,
    DemographicParity,
    EqualOpportunity,
    MaximumRate,
    MeanParity,
    MinimumRate,
    PartialStatisticalParity,
    RankingParity,
    resolve_constraints,
)
from skfair.monitoring import GapMonitor
from skfair.ranking import ConstrainedRanker
from skfair.regression import ConstrainedERMRegressor, ConstrainedRegressorCV

OTHER = "has another bound of its own. Leave out one"


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    group = rng.integers(2, size=400)
    X = rng.normal(size=(400, 2)) + group[:, np.newaxis]
    y = (X.sum(axis=1) + rng.normal(size=400) > 1).astype(int)
    return X, y, group


@pytest.mark.parametrize(
    ("constraint", "tolerance"),
    [
        (None, 0.1),
        ("demographic_parity", 0.1),
        (DemographicParity(), 0.1),
        (DemographicParity(tolerance=0.1), None),
        (DemographicParity(tolerance=0.1), 0.1),
        ([DemographicParity(tolerance=0.2), "equal_opportunity"], 0.1),
        ([DemographicParity(tolerance=0.2), EqualOpportunity(tolerance=0.1)], 0.1),
        (DemographicParity(ratio=0.8), None),
    ],
)
def test_tolerances_that_agree_are_taken(constraint, tolerance):
    resolved = resolve_constraints(constraint, tolerance)
    n_constraints = len(constraint) if isinstance(constraint, list) else constraint is not None
    assert len(resolved) == n_constraints


@pytest.mark.parametrize(
    "constraint",
    [
        DemographicParity(tolerance=0.2),
        DemographicParity(ratio=0.9),
        MinimumRate("recall", 0.8),
        MaximumRate("false_positive_rate", 0.2),
        BoundedGroupLoss(0.5),
        [DemographicParity(tolerance=0.2), EqualOpportunity(tolerance=0.05)],
    ],
    ids=str,
)
def test_another_tolerance_raises_before_a_fit(data, constraint):
    X, y, group = data
    for model in (ConstrainedERMClassifier, ConstrainedClassifierCV):
        with pytest.raises(ValueError, match=OTHER):
            model(constraint=constraint, tolerance=0.1).fit(X, y, sensitive_features=group)
    if not isinstance(constraint, list):
        audit = Audit.from_predictions(y, y, sensitive_features=group)
        with pytest.raises(ValueError, match=OTHER):
            audit.certify(constraint, 0.1)


@pytest.mark.parametrize(
    ("model", "constraint"),
    [
        (ConstrainedERMRegressor, MeanParity(tolerance=0.2)),
        (ConstrainedRegressorCV, MeanParity(tolerance=0.2)),
        (PartialParityClassifier, PartialStatisticalParity(tolerance=0.2)),
        (PartialParityPostprocessor, PartialStatisticalParity(tolerance=0.2)),
    ],
)
def test_all_estimators_refuse_another_tolerance(data, model, constraint):
    X, y, group = data
    with pytest.raises(ValueError, match=OTHER):
        model(constraint=constraint, tolerance=0.1).fit(X, y, sensitive_features=group)


def test_a_ranker_refuses_another_tolerance(data):
    X, y, group = data
    ranker = ConstrainedRanker(RankingParity(tolerance=0.2), tolerance=0.1)
    with pytest.raises(ValueError, match=OTHER):
        ranker.fit(X, y, query_id=np.arange(400) // 20, sensitive_features=group)


def test_the_own_tolerance_is_the_bound_of_a_fit_and_a_claim(data):
    X, y, group = data
    model = ConstrainedERMClassifier(DemographicParity(tolerance=0.3))
    model.fit(X, y, sensitive_features=group)
    assert model.constraint_report_["tolerance"].dropna().unique() == [0.3]
    audit = Audit.from_predictions(y, y, sensitive_features=group)
    assert audit.certify(DemographicParity(tolerance=0.3)).threshold == 0.3
    assert audit.certify(MinimumRate("recall", 0.9)).threshold == pytest.approx(0.9)


def test_a_monitor_takes_the_tolerance_of_its_constraint(data):
    _, y, group = data
    monitor = GapMonitor(DemographicParity(tolerance=0.1)).update(None, y, sensitive_features=group)
    same = GapMonitor("demographic_parity", 0.1).update(None, y, sensitive_features=group)
    assert monitor.summary().equals(same.summary())
    assert monitor.summary()["evidence_for"].iloc[-1] == same.summary()["evidence_for"].iloc[-1]
    assert monitor.batches_to_alarm_ == same.batches_to_alarm_
    # The parameter stays None, and is still no other one with the next batch.
    assert len(monitor.update(None, y, sensitive_features=group).summary()) == 2
    ceiling = MaximumRate("false_positive_rate", 0.01)
    with pytest.raises(ValueError, match=OTHER):
        GapMonitor(ceiling, 0.5).update(y, y, sensitive_features=group)
    with pytest.raises(ValueError, match=r"tolerance must .*; got None"):
        GapMonitor("demographic_parity").update(None, y, sensitive_features=group)


def test_a_search_over_tolerances_raises(data):
    X, y, group = data
    search = GridSearchCV(
        ConstrainedERMClassifier(DemographicParity(tolerance=0.3)), {"tolerance": [0.01, 0.1]}, cv=2
    )
    with pytest.raises(ValueError, match=OTHER):
        search.fit(X, y, sensitive_features=group)


def test_a_front_raises_before_its_first_fit(data, monkeypatch):
    X, y, group = data
    model = ConstrainedERMClassifier(DemographicParity(tolerance=0.05))
    monkeypatch.setattr(ConstrainedERMClassifier, "fit", lambda *_, **__: pytest.fail("fitted"))
    with pytest.raises(ValueError, match=OTHER):
        fairness_front(model, X, y, sensitive_features=group, values=[0.05, 0.1])
    with pytest.raises(ValueError, match=OTHER):
        fairness_front(
            make_pipeline(StandardScaler(), model),
            X,
            y,
            sensitive_features=group,
            values=[0.3],
            parameter="constrainedermclassifier__tolerance",
        )
