"""Groups compared with all samples: in either direction, or above the overall rate alone."""

import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    ConstrainedMLPClassifier,
)
from skfair.constraints import (
    DemographicParity,
    EqualizedOdds,
    LossParity,
    RateParity,
)
from skfair.metrics import demographic_parity_difference

TOLERANCE = 0.05


def draw(n=1200, seed=0):
    """A tenth is a minority that a plain model selects far less often than the majority."""
    rng = np.random.default_rng(seed)
    is_minority = rng.random(n) < 0.1
    X = rng.normal(size=(n, 3)) - np.outer(is_minority, [1.5, 0, 0])
    y = (X[:, 0] + X[:, 1] + rng.logistic(size=n) > 0).astype(int)
    return X, y, np.where(is_minority, "minority", "majority")


def fit(make, constraint):
    X, y, groups = draw()
    return make(constraint).fit(X, y, sensitive_features=groups)


MODELS = {
    "linear": lambda constraint: ConstrainedERMClassifier(constraint, tolerance=TOLERANCE),
    "network": lambda constraint: ConstrainedMLPClassifier(
        constraint, tolerance=TOLERANCE, hidden_layer_sizes=(4,), random_state=0
    ),
    "any model": lambda constraint: ConstrainedClassifierCV(
        LogisticRegression(),
        constraint,
        tolerance=TOLERANCE,
        cv=3,
        group_estimator=LogisticRegression(),
    ),
}
models = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())


def excesses(model):
    """Rates of the groups less the overall rate, by the report of the fit."""
    rates = model.constraint_report_.set_index("group")["estimate"]
    return rates.drop("overall") - rates["overall"]


@pytest.mark.covering(1)
@models
@pytest.mark.parametrize("aggregate", ["max", "mean"])
def test_no_rate_is_far_from_the_overall_rate(make, aggregate):
    model = fit(make, DemographicParity(reference="overall", aggregate=aggregate))
    assert model.status_ in ("optimal", "feasible") and model.constraint_violation_ == 0
    distance = getattr(excesses(model).abs(), aggregate)()
    assert distance <= TOLERANCE + 1e-12
    assert model.constraint_report_["gap"].tolist() == pytest.approx([distance] * 3)


@models
def test_above_the_overall_rate_a_minority_may_be_any_amount_below(make):
    model = fit(make, DemographicParity(reference="above_overall"))
    assert excesses(model)["minority"] < -0.2
    assert 0 < excesses(model)["majority"] <= TOLERANCE
    assert model.constraint_violation_ == 0


def test_overlapping_groups_are_near_the_overall_rate():
    X, y, groups = draw()
    memberships = sparse.csr_array(np.column_stack((groups == "minority", X[:, 1] < -0.5)))
    settings = {"sensitive_features": memberships, "method": "to_overall"}
    gaps = []
    for constraint in (None, DemographicParity(reference="overall")):
        model = ConstrainedERMClassifier(constraint, tolerance=TOLERANCE)
        model.fit(X, y, sensitive_features=memberships)
        gaps.append(demographic_parity_difference(y, model.predict(X), **settings))
    assert gaps[0] > 0.2 and gaps[1] <= TOLERANCE


@pytest.mark.parametrize(
    ("constraint", "name"),
    [
        (DemographicParity(reference="overall"), "DemographicParity from the overall value"),
        (EqualizedOdds(reference="above_overall"), "EqualizedOdds above the overall value"),
        (
            LossParity(reference="above_overall", aggregate="mean"),
            "LossParity above the overall value on average",
        ),
        (
            RateParity("recall", reference="overall"),
            "RateParity('true_positive_rate') from the overall value",
        ),
        (EqualizedOdds(aggregate="sum"), "EqualizedOdds"),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:The constraint and confidence_level move")
def test_reports_and_warnings_name_the_side(constraint, name):
    X, y, groups = draw(500)
    model = ConstrainedERMClassifier(constraint.set_params(tolerance=0.01), confidence_level=0.99)
    with pytest.warns(UserWarning, match=r"tolerance of [.\d]+ \(" + re.escape(name) + r"\)"):
        model.fit(X, y, sensitive_features=groups)
    assert model.verdict_ == "open"
    assert model.constraint_report_["constraint"].unique().tolist() == [name]
