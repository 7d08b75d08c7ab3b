"""One side of a reference group: fits and claims state numpy's gaps and ratios."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from skfair.audit import Audit, fairness_front, verify
from skfair.classification import ConstrainedClassifierCV, ConstrainedERMClassifier
from skfair.constraints import (
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    LossParity,
    MeanErrorParity,
    MeanParity,
    RateParity,
    check_constraint,
)
from skfair.metrics import make_scorer
from skfair.monitoring import GapMonitor
from skfair.regression import ConstrainedERMRegressor

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

N_SAMPLES = 400
REFERENCE = {"sex": "m"}


def draw(seed, n_samples=N_SAMPLES):
    """Features, classes, a table of one attribute, and weights."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"sex": rng.choice(["f", "m", "x"], p=[0.5, 0.3, 0.2], size=n_samples)})
    X = rng.normal(size=(n_samples, 3))
    X[:, 0] += table["sex"].map({"f": 0.0, "m": 0.8, "x": 1.5})
    y = (X.sum(axis=1) + rng.logistic(size=n_samples) > 0.6).astype(int)
    weights = rng.lognormal(size=n_samples) if seed % 2 else np.ones(n_samples)
    return X, y, table, weights


CRITERIA = (
    (DemographicParity, lambda y: [y >= 0]),
    (EqualOpportunity, lambda y: [y == 1]),
    (EqualizedOdds, lambda y: [y == 0, y == 1]),
)


def number_by_hand(values, sex, weights, cells, direction, is_ratio):
    """The gap on one side of the reference, or the smallest ratio, which is at most 1."""
    numbers = []
    for cell in cells:
        means = [
            np.average(values[cell & (sex == one)], weights=weights[cell & (sex == one)])
            for one in "mfx"
        ]
        for other in means[1:]:
            high, low = (means[0], other) if direction == "below" else (other, means[0])
            numbers.append(min(1.0, low / high) if is_ratio else max(0.0, high - low))
    return min(numbers) if is_ratio else max(numbers)


def check_draw(seed):
    """Fit and claim of drawn samples against numpy."""
    X, y, table, weights = draw(seed)
    columns = {"sensitive_features": table, "sample_weight": weights}
    make, find_cells = CRITERIA[seed % 3]
    cells = find_cells(y)
    direction = ("below", "above")[seed // 3 % 2]
    is_ratio = seed // 6 % 2 == 1
    bound = {"ratio": 0.8} if is_ratio else {"tolerance": 0.05}
    constraint = make(reference=REFERENCE, direction=direction, min_group_size=1, **bound)
    settings = (table["sex"], weights, cells, direction, is_ratio)
    if seed % 2:
        model = ConstrainedERMClassifier(constraint).fit(X, y, **columns)
        decisions = model.predict(X)
    else:
        tree = DecisionTreeClassifier(max_leaf_nodes=6, random_state=0)
        model = ConstrainedClassifierCV(tree, constraint, cv=3).fit(X, y, **columns)
        decisions = (model.oof_decision_function_ > 0).astype(int)
    number = number_by_hand(decisions, *settings)
    assert model.constraint_report_["gap"].iloc[0] == pytest.approx(number)
    excess = 0.8 - number if is_ratio else number - 0.05
    assert model.constraint_violation_ == pytest.approx(max(0.0, excess))
    assert excess <= 1e-9 or model.status_ == "infeasible"
    # A claim about other decisions.
    decisions = LogisticRegression().fit(X, y).predict(X)
    audit = Audit.from_predictions(y, decisions, **columns)
    claim = audit.certify(constraint)
    number = number_by_hand(decisions, *settings)
    assert claim.estimate == pytest.approx(number)
    assert claim.low <= claim.estimate <= claim.high
    assert verify(claim.to_json(), audit) == []


@pytest.mark.parametrize("seed", [1, 4, 9, 11])
def test_one_side_is_that_of_numpy(seed):
    check_draw(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_one_side_of_many_draws_is_that_of_numpy(seed):
    check_draw(seed)


@pytest.mark.filterwarnings("ignore:.*no sensitive_features")
def test_without_groups_nothing_is_compared():
    X, y, _, _ = draw(0)
    plain = ConstrainedERMClassifier(None).fit(X, y).predict(X)
    one_sided = DemographicParity(reference=REFERENCE, direction="below")
    for constraint in (one_sided, DemographicParity(tolerance={"sex": 0.1}, attributes="each")):
        model = ConstrainedERMClassifier(constraint).fit(X, y)
        np.testing.assert_array_equal(model.predict(X), plain)


def test_the_other_side_is_free():
    X, y, table, _ = draw(0)
    columns = {"sensitive_features": table}
    plain = ConstrainedERMClassifier(None).fit(X, y)
    # No group is below the group with the lowest rates.
    below = DemographicParity(reference={"sex": "f"}, direction="below", tolerance=0.0)
    free = ConstrainedERMClassifier(below).fit(X, y, **columns)
    np.testing.assert_array_equal(free.predict(X), plain.predict(X))
    below.set_params(reference={"sex": "x"}, tolerance=0.02)
    bound = ConstrainedERMClassifier(below).fit(X, y, **columns)
    assert bound.score(X, y) < plain.score(X, y)
    two_sided = ConstrainedERMClassifier(DemographicParity(tolerance=0.02)).fit(X, y, **columns)
    assert bound.objective_ <= two_sided.objective_ + 1e-6


def test_references_of_several_attributes():
    X, y, table, weights = draw(1, 1000)
    table["age"] = np.where(np.arange(1000) % 3 == 0, "old", "young")
    reference = {"age": "old", "sex": "m"}
    settings = {"reference": reference, "direction": "below", "min_group_size": 1}
    columns = {"sensitive_features": table, "sample_weight": weights}
    crossed = DemographicParity(tolerance=0.03, **settings)
    model = ConstrainedERMClassifier(crossed).fit(X, y, **columns)
    rates = model.constraint_report_.set_index("group")["estimate"]
    assert rates["m", "old"] - rates.min() <= 0.03 + 1e-9
    tolerance = {"sex": 0.03, "age": 0.01}
    each = DemographicParity(tolerance=tolerance, attributes="each", **settings)
    rates = ConstrainedERMClassifier(each).fit(X, y, **columns).constraint_report_
    rates = rates.set_index("group")["estimate"]
    assert rates["sex", "m"] - rates.filter(like="sex").min() <= 0.03 + 1e-9
    assert rates["age", "old"] - rates["age", "young"] <= 0.01 + 1e-9


def test_mean_errors_on_one_side():
    X, _, table, _ = draw(2)
    y = X.sum(axis=1) + 2.0 * (table["sex"] == "m") - (table["sex"] == "x")
    constraint = MeanErrorParity(tolerance=0.3, reference=REFERENCE, direction="above")
    model = ConstrainedERMRegressor(constraint).fit(X, y, sensitive_features=table)
    means = (model.predict(X) - y).groupby(table["sex"]).mean()
    assert means.max() - means["m"] == pytest.approx(0.3, abs=1e-3)
    claim = Audit.from_predictions(y, X.sum(axis=1), sensitive_features=table).certify(
        constraint.set_params(tolerance=9.0)
    )
    assert claim.estimate == pytest.approx(3.0)


def test_sentences():
    _, y, table, _ = draw(0, 4000)
    audit = Audit.from_predictions(None, y, sensitive_features=table)
    settings = {"reference": REFERENCE, "direction": "below"}
    text = str(audit.certify(DemographicParity(**settings), 0.4))
    assert "no group is more than 40 percentage points below the reference" in text.replace(
        " by sex", "", 1
    )
    assert "('m' by sex)" in text
    text = str(audit.certify(DemographicParity(ratio=0.3, **settings)))
    assert "is at least 0.3 times that of the reference ('m' by sex)" in text


@pytest.mark.parametrize("direction", ["below", "above"])
@pytest.mark.parametrize("bound", [{"tolerance": 0.1}, {"ratio": 0.9}])
def test_scorers_and_fronts(direction, bound):
    X, y, table, _ = draw(0)
    constraint = EqualOpportunity(reference=REFERENCE, direction=direction, **bound)
    model = LogisticRegression().fit(X, y)
    limit = make_scorer(constraint, confidence_level=0.95)
    claim = Audit.from_estimator(model, X, y, sensitive_features=table).certify(constraint)
    high = 1.0 - claim.low if "ratio" in bound else claim.high
    score = limit(model, X, y, sensitive_features=table)
    assert -score >= high - 1e-9  # exact tests may be sharper
    front = fairness_front(model, X, y, sensitive_features=table, constraint=constraint)
    assert len(front.to_frame()) == 1


def test_derivatives_and_blocks():
    for rate in ("precision", "selection_rate"):
        check_constraint(RateParity(rate, reference={0: 1}, direction="below"))
    check_constraint(EqualizedOdds(reference={0: 1}, direction="above", ratio=0.9))


BELOW = {"reference": REFERENCE, "direction": "below"}


@pytest.mark.parametrize(
    "make, match",
    [
        (lambda: DemographicParity(reference=REFERENCE), "reference must be a group, as in"),
        (lambda: DemographicParity(direction="below"), "reference must be a group, as in"),
        (
            lambda: EqualizedOdds(aggregate="sum", **BELOW),
            "aggregate must be 'max' with a reference group; got 'sum'",
        ),
        (
            lambda: DemographicParity(reference={"sex": "q"}, direction="below"),
            "reference must be a group that is compared, but 'q' is none of",
        ),
        (
            lambda: DemographicParity(reference={"age": "m"}, direction="below"),
            "reference must have one label for each attribute, which are 'sex'; got",
        ),
        (lambda: MeanParity(reference=REFERENCE), "'reference' parameter of MeanParity must be"),
        (lambda: LossParity(reference=REFERENCE), "'reference' parameter of LossParity must be"),
    ],
)
def test_refusals(make, match):
    X, y, table, _ = draw(0)
    with pytest.raises(ValueError, match=match):
        ConstrainedERMClassifier(make()).fit(X, y, sensitive_features=table)


@pytest.mark.parametrize("ratio", [None, 0.8])
def test_monitors_refuse_one_side_of_a_reference(ratio):
    _, y, table, _ = draw(0)
    with pytest.raises(ValueError, match=r"whose gap is (Ratio)?BelowReference"):
        GapMonitor(DemographicParity(ratio=ratio, **BELOW), 0.1).update(
            None, y, sensitive_features=table
        )
