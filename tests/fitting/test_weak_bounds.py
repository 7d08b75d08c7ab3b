"""Warnings of bounds that cannot bind, and of bounds that only chance keeps."""

import re
import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from skfair._bound.bound import ConstraintSystem
from skfair._fitting.weak_bounds import warn_of_weak_bounds
from skfair._groups import Samples, check_groups
from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    PartialParityClassifier,
    PartialParityPostprocessor,
)
from skfair.constraints import (
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    MaximumRate,
    PartialDemographicParity,
    RateParity,
)
from skfair.losses import LogisticLoss
from skfair.surrogates import Sigmoid

EMPTY, RARE, FINE, IMPRECISE = (
    "binds nothing",
    "positives are found",
    "one sample",
    "less than chance",
)


def weak_bounds(model, X, y, groups, **params):
    """The sentences about weak bounds of a fit, and the model."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, sensitive_features=groups, **params)
    messages = [str(one.message) for one in caught]
    names = (EMPTY, RARE, FINE, IMPRECISE)
    return [one for one in messages if any(name in one for name in names)], model


def draw(n, shift, seed=0, rate=0.5, n_small=None):
    """Two groups with a difference of scores; the class is given to a share of all samples."""
    rng = np.random.default_rng(seed)
    groups = (rng.random(n) < 0.4).astype(int)
    if n_small is not None:
        groups = (np.arange(n) < n_small).astype(int)
    X = rng.normal(size=(n, 3)) + shift * groups[:, np.newaxis]
    values = X.sum(axis=1) + rng.normal(size=n)
    return X, (values > np.quantile(values, 1.0 - rate)).astype(int), groups


@pytest.mark.parametrize(
    "model",
    [
        PartialParityClassifier(PartialDemographicParity((0.1, 0.3))),
        ConstrainedClassifierCV(LogisticRegression(), PartialDemographicParity((0.1, 0.3))),
        PartialParityPostprocessor(
            LogisticRegression(), constraint="partial_demographic_parity", interval=(0.1, 0.3)
        ),
    ],
    ids=["linear", "wrapper", "postprocessor"],
)
def test_an_interval_without_a_decision_is_warned_of(model):
    X, y, groups = draw(600, 0.2, rate=0.85)
    (message,), fitted = weak_bounds(model, X, y, groups)
    assert "every estimate is 1" in message
    assert "tolerance of 0.05 of PartialDemographicParity" in message
    # It states the share that is accepted, by the scores of the training samples.
    if isinstance(fitted, PartialParityClassifier):
        share = float(re.search(r"accepts ([\d.]+)%", message)[1])
        assert share == pytest.approx(100.0 * fitted.predict(X).mean(), abs=0.051)
    assert fitted.constraint_report_["estimate"].eq(1.0).all()


def test_an_interval_with_decisions_is_not_warned_of():
    X, y, groups = draw(600, 0.2, rate=0.85)
    model = PartialParityClassifier(PartialDemographicParity((0.5, 1.0)))
    messages, fitted = weak_bounds(model, X, y, groups)
    assert not messages
    assert fitted.constraint_report_["estimate"].between(0.0, 1.0, inclusive="neither").any()


@pytest.mark.parametrize("name", ["equal_opportunity", "equalized_odds"])
def test_gaps_are_closed_by_low_recall(name):
    rng = np.random.default_rng(1)
    groups = rng.integers(2, size=4000)
    X = rng.normal(size=(4000, 3))
    y = (0.3 * X[:, 0] + rng.normal(size=4000) > 2.5).astype(int)
    model = ConstrainedERMClassifier(name, tolerance=0.1)
    (message,), fitted = weak_bounds(model, X, y, groups)
    assert RARE in message
    largest = fitted.constraint_report_.query("event == 'positives'")["estimate"].max()
    stated = float(re.search(r"of a group is ([\d.]+)", message)[1])
    assert stated == pytest.approx(largest, abs=1e-3)
    assert stated <= 0.1
    # Positives that weigh as much as negatives are found.
    balanced = ConstrainedERMClassifier(name, tolerance=0.1, class_weight="balanced")
    assert not any(RARE in one for one in weak_bounds(balanced, X, y, groups)[0])


def test_a_tolerance_below_one_sample_is_warned_of():
    X, y, groups = draw(400, 1.0, n_small=60)
    fine = ConstrainedERMClassifier(DemographicParity(), tolerance=0.016)
    (message,), _ = weak_bounds(fine, X, y, groups)
    assert "group 1 (n=60) a single sample changes the rate by 0.0167" in message
    wide = ConstrainedERMClassifier(DemographicParity(), tolerance=0.017)
    assert not weak_bounds(wide, X, y, groups)[0]


def test_a_ratio_finer_than_one_sample_is_warned_of():
    X, y, groups = draw(400, 1.0, n_small=60)
    fine = ConstrainedERMClassifier(DemographicParity(ratio=0.99))
    (message,), fitted = weak_bounds(fine, X, y, groups)
    effect = 1.0 / 60.0 / fitted.constraint_report_["estimate"].max()
    stated = float(re.search(r"changes the ratio by ([\d.]+)", message)[1])
    assert stated == pytest.approx(effect, rel=2e-3)
    wide = ConstrainedERMClassifier(DemographicParity(ratio=0.8))
    assert not weak_bounds(wide, X, y, groups)[0]


def test_a_precision_of_few_selected_samples_is_warned_of():
    rng = np.random.default_rng(0)
    groups = rng.integers(2, size=3000)
    X = rng.normal(size=(3000, 3))
    # Group 1 is positive less often at equal features.
    y = (X[:, 0] + 2.0 * rng.normal(size=3000) > 1.0 + groups).astype(int)
    constraints = [RateParity("precision", tolerance=0.02), MaximumRate("selection_rate", 0.04)]
    (message,), fitted = weak_bounds(ConstrainedERMClassifier(constraints), X, y, groups)
    assert IMPRECISE in message
    # The numbers are those of the decisions.
    group, selected, size = re.search(
        r"group (\d) the rate is one of (\d+) samples of (\d+)", message
    ).groups()
    of_group = groups == int(group)
    assert int(size) == of_group.sum()
    assert int(selected) == fitted.predict(X)[of_group].sum()
    many = [RateParity("precision", tolerance=0.1), MaximumRate("selection_rate", 0.3)]
    assert not weak_bounds(ConstrainedERMClassifier(many), X, y, groups)[0]


def test_bounds_that_do_not_bind_are_not_called_chance():
    X, y, groups = draw(400, 0.0, n_small=60)
    model = ConstrainedERMClassifier(EqualizedOdds(), tolerance=0.0)
    messages, fitted = weak_bounds(model, X, y, np.zeros(400))
    assert fitted.status_ == "unconstrained"
    assert not messages
    plain = ConstrainedERMClassifier(EqualOpportunity(), tolerance=0.9)
    assert not weak_bounds(plain, X, y, groups)[0]


def test_a_precision_of_1_of_few_samples_is_chance():
    """The standard error of 3 of 3 is not 0."""
    scores = np.full(400, -1.0)
    scores[[0, 1, 2, *range(200, 208)]] = 1.0
    target = np.where((scores > 0) | (np.arange(400) % 2 == 0), 1.0, -1.0)
    groups = check_groups(np.repeat(["a", "b"], 200), n_samples=400)
    constraint = RateParity("precision", tolerance=0.03)
    samples = Samples(target, groups, np.ones(400))
    bound = constraint.bind(samples, Sigmoid(1.0), LogisticLoss(), None)
    system = ConstraintSystem((bound,))
    columns = system.report_columns(scores)
    assert columns["gap"].tolist() == [0.0, 0.0]
    with pytest.warns(UserWarning, match="group 'a' the rate is one of 3 samples of 200"):
        warn_of_weak_bounds(system, columns, scores, is_binding=True)
