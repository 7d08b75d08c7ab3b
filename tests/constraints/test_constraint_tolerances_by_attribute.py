"""A tolerance for each attribute: fits and claims state numpy's gaps of each."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from skfair.audit import Audit, fairness_front, verify
from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    ConstrainedMLPClassifier,
)
from skfair.constraints import (
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    MeanErrorParity,
    RateParity,
)
from skfair.losses import LogisticLoss
from skfair.metrics import make_scorer
from skfair.monitoring import GapMonitor
from skfair.regression import ConstrainedERMRegressor
from skfair.surrogates import Sigmoid

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

N_SAMPLES = 400


def draw(seed, n_samples=N_SAMPLES):
    """Features, classes, a table of two attributes, and weights."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], size=n_samples),
            "race": rng.choice(["a", "b", "c"], p=[0.5, 0.3, 0.2], size=n_samples),
        }
    )
    X = rng.normal(size=(n_samples, 3))
    X[:, 0] += table["sex"] == "m"
    X[:, 1] += table["race"] == "b"
    y = (X.sum(axis=1) + rng.logistic(size=n_samples) > 0.6).astype(int)
    weights = rng.lognormal(size=n_samples) if seed % 2 else np.ones(n_samples)
    return X, y, table, weights


def gaps_by_hand(values, table, weights, cells):
    """Largest difference of the means of two groups of each attribute, in any cell."""
    return {
        name: max(
            np.ptp(
                [
                    np.average(
                        values[cell & (column == one)], weights=weights[cell & (column == one)]
                    )
                    for one in np.unique(column)
                ]
            )
            for cell in cells
        )
        for name, column in table.items()
    }


CRITERIA = (
    (DemographicParity, lambda y: [y >= 0]),
    (EqualOpportunity, lambda y: [y == 1]),
    (EqualizedOdds, lambda y: [y == 0, y == 1]),
)


def gaps_of_report(report):
    """Gap by attribute, of a report with one for each."""
    attributes = [attribute for attribute, _ in report["group"]]
    assert report["gap"].groupby(attributes).nunique().eq(1).all()
    return report["gap"].groupby(attributes).first().to_dict()


def check_draw(seed):
    """Fit and claim of drawn samples against numpy."""
    X, y, table, weights = draw(seed)
    columns = {"sensitive_features": table, "sample_weight": weights}
    make, find_cells = CRITERIA[seed % 3]
    cells = find_cells(y)
    tolerance = {"race": (0.12, 0.05)[seed // 3 % 2], "sex": (0.02, 0.1)[seed // 3 % 2]}
    constraint = make(tolerance=tolerance, attributes="each", min_group_size=1)
    if seed % 2:
        model = ConstrainedERMClassifier(constraint).fit(X, y, **columns)
        decisions = model.predict(X)
    else:
        tree = DecisionTreeClassifier(max_leaf_nodes=6, random_state=0)
        model = ConstrainedClassifierCV(tree, constraint, cv=3).fit(X, y, **columns)
        decisions = (model.oof_decision_function_ > 0).astype(int)
    gaps = gaps_by_hand(decisions, table, weights, cells)
    assert gaps_of_report(model.constraint_report_) == pytest.approx(gaps)
    excess = max(gaps[name] - tolerance[name] for name in tolerance)
    assert model.constraint_violation_ == pytest.approx(max(0.0, excess))
    assert excess <= 1e-9 or model.status_ == "infeasible"
    # A claim about other decisions.
    decisions = LogisticRegression().fit(X, y).predict(X)
    gaps = gaps_by_hand(decisions, table, weights, cells)
    claim = Audit.from_predictions(y, decisions, **columns).certify(constraint)
    assert claim.threshold in tolerance.values()
    (stated,) = [name for name, one in tolerance.items() if one == claim.threshold]
    assert claim.estimate == pytest.approx(gaps[stated])
    assert claim.low <= claim.estimate <= claim.high
    # Alone each attribute has the same limits, and the verdict is that of all.
    alone = {
        name: Audit.from_predictions(
            y, decisions, sensitive_features=table[[name]], sample_weight=weights
        ).certify(make(tolerance=tolerance[name], min_group_size=1))
        for name in tolerance
    }
    assert claim.high == pytest.approx(alone[stated].high)
    assert claim.is_shown == all(one.is_shown for one in alone.values())
    assert not claim.is_contradicted or alone[stated].is_contradicted


@pytest.mark.covering(0)
@pytest.mark.parametrize("seed", range(3))
def test_gaps_of_each_attribute_are_those_of_numpy(seed):
    check_draw(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3, 63))
def test_gaps_of_many_draws_are_those_of_numpy(seed):
    check_draw(seed)


TOLERANCES = {"sex": 0.03, "race": 0.08}


@pytest.mark.covering(0)
@pytest.mark.parametrize(
    "model",
    [
        ConstrainedERMClassifier(tolerance=TOLERANCES),
        ConstrainedERMClassifier(RateParity("precision", attributes="each"), tolerance=TOLERANCES),
        ConstrainedERMClassifier(["equal_opportunity"], tolerance=TOLERANCES),
        ConstrainedMLPClassifier(tolerance=TOLERANCES, random_state=0),
        ConstrainedClassifierCV(
            LogisticRegression(), group_estimator="sensitive_features", tolerance=TOLERANCES
        ),
    ],
)
def test_a_name_means_each_attribute(model):
    X, y, table, _ = draw(0)
    model.fit(X, y, sensitive_features=table)
    report = model.constraint_report_
    assert set(report["tolerance"].dropna()) == {0.03, 0.08}
    assert {one.split(" by ")[1] for one in report["constraint"]} == {"sex", "race"}
    assert model.status_ != "infeasible"
    assert model.constraint_violation_ == 0.0


def test_names_of_the_order_and_one_attribute_change_nothing():
    X, y, table, _ = draw(0)
    model = ConstrainedERMClassifier(tolerance=TOLERANCES)
    fit = model.fit(X, y, sensitive_features=table).decision_function(X)
    moved = model.fit(X, y, sensitive_features=table[["race", "sex"]]).decision_function(X)
    np.testing.assert_allclose(moved, fit, atol=1e-4)
    one = ConstrainedERMClassifier(tolerance={"sex": 0.03})
    of_number = ConstrainedERMClassifier(tolerance=0.03)
    np.testing.assert_array_equal(
        one.fit(X, y, sensitive_features=table[["sex"]]).decision_function(X),
        of_number.fit(X, y, sensitive_features=table[["sex"]]).decision_function(X),
    )


def test_mean_errors_by_attribute_without_names():
    X, y, table, _ = draw(1)
    tolerance = {0: 0.02, 1: 0.1}
    model = ConstrainedERMRegressor(MeanErrorParity(tolerance=tolerance, attributes="each"))
    model.fit(X, y.astype(float), sensitive_features=table.to_numpy())
    errors = model.predict(X) - y
    gaps = gaps_by_hand(errors, table, np.ones(len(y)), [y >= 0])
    assert gaps["sex"] <= 0.02 + 1e-6
    assert gaps["race"] <= 0.1 + 1e-6


def test_claims_say_all_bounds_and_are_filed():
    _, y, table, _ = draw(0, 4000)
    audit = Audit.from_predictions(None, y, sensitive_features=table)
    claim = audit.certify(tolerance={"sex": 0.4, "race": 0.5})
    bound = "differ by at most 40 points by sex and 50 points by race"
    assert bound in str(claim)
    assert verify(claim.to_json(), audit) == []
    assert claim.is_shown
    broken = audit.certify(tolerance={"sex": 0.4, "race": 0.01})
    assert broken.is_contradicted
    assert " by race, and with 95 % confidence by at least" in str(broken)
    assert len(broken.sizes) == 5


@pytest.mark.parametrize(
    "settings",
    [
        {"attributes": "each", "tolerance": {0: 0.5, 1: 0.6}},
        {"reference": {0: "m", 1: "a"}, "direction": "below", "tolerance": 0.6},
    ],
)
def test_a_file_has_no_bounds_of_attributes_without_names(settings):
    """Keys of JSON are text, and positions are not: a filed claim is refused, an object is not."""
    X, y, table, _ = draw(0)
    audit = Audit.from_predictions(y, X[:, 0] > 0.5, sensitive_features=table.to_numpy())
    claim = audit.certify(DemographicParity(**settings))
    assert verify(claim, audit) == []
    with pytest.raises(ValueError, match=r"claim, \['0', '1'\], but has \[0, 1\]. Names in a file"):
        verify(claim.to_json(), audit)
    named = Audit.from_predictions(y, X[:, 0] > 0.5, sensitive_features=table)
    with pytest.raises(ValueError, match=r"but has \['sex', 'race'\]"):
        verify(claim.to_json(), named)


@pytest.mark.parametrize(
    "ask, match",
    [
        (
            lambda X, y, table: ConstrainedERMClassifier(DemographicParity(tolerance=TOLERANCES)),
            "tolerance may have one number for each attribute with attributes='each'",
        ),
        (
            lambda X, y, table: ConstrainedERMClassifier(DemographicParity(), tolerance=TOLERANCES),
            "tolerance may have one number for each attribute with attributes='each'",
        ),
        (
            lambda X, y, table: ConstrainedERMClassifier(tolerance={"sex": 0.1}),
            "tolerance must have one number for each attribute: 'sex', 'race'; got",
        ),
        (
            lambda X, y, table: ConstrainedERMClassifier(tolerance={"sex": 0.1, "race": -1.0}),
            "tolerance must be a finite number, at least 0 and at most 1; got -1.0",
        ),
        (
            lambda X, y, table: ConstrainedERMClassifier("percentiles", tolerance=TOLERANCES),
            "constraint",
        ),
        (
            lambda X, y, table: fairness_front(
                LogisticRegression(),
                X,
                y,
                sensitive_features=table,
                constraint=DemographicParity(tolerance=TOLERANCES, attributes="each"),
            ),
            "tolerance must be one number for a front",
        ),
        (
            lambda X, y, table: GapMonitor("demographic_parity", TOLERANCES).update(
                None, y, sensitive_features=table
            ),
            "tolerance must be one number for a monitor",
        ),
        (
            lambda X, y, table: make_scorer(
                DemographicParity(tolerance=TOLERANCES, attributes="each"), confidence_level=0.95
            )(LogisticRegression().fit(X, y), X, y, sensitive_features=table),
            "tolerance must be one number for scorers",
        ),
        (
            lambda X, y, table: DemographicParity(tolerance=TOLERANCES, attributes="each").bind(
                None, Sigmoid(), LogisticLoss(), 0.1
            ),
            "tolerance must be one number for bind",
        ),
    ],
)
def test_refusals(ask, match):
    X, y, table, _ = draw(0)
    with pytest.raises(ValueError, match=match):
        ask(X, y, table).fit(X, y, sensitive_features=table)
