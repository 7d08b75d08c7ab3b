"""Mean errors of groups: fits, claims, monitors and scorers state numpy's numbers."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeRegressor

from skfair._bound.units import MEANS_OF_PREDICTIONS, OfExponential
from skfair.audit import Audit, fairness_front
from skfair.classification import ConstrainedClassifierCV, ConstrainedERMClassifier
from skfair.constraints import MeanErrorParity
from skfair.metrics import make_scorer
from skfair.monitoring import GapMonitor
from skfair.regression import ConstrainedERMRegressor, ConstrainedRegressorCV
from skfair.statistics import required_sample_size

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

N_SAMPLES = 300


def draw(seed):
    """Features, numbers, groups by one or two attributes, masks of the groups, and weights."""
    rng = np.random.default_rng(seed)
    groups = rng.choice(["a", "b", "c"], p=[0.6, 0.34, 0.06], size=N_SAMPLES)
    X = rng.normal(size=(N_SAMPLES, 3))
    X[:, 0] += groups == "b"
    y = 1e3 * (2.0 + X.sum(axis=1) - (groups == "a") + rng.normal(size=N_SAMPLES))
    weights = rng.lognormal(size=N_SAMPLES) if seed % 2 else np.ones(N_SAMPLES)
    members = [groups == one for one in np.unique(groups)]
    settings = {"min_group_size": 1}
    if seed % 3 == 2:  # overlapping groups
        other = rng.choice(["x", "y"], size=N_SAMPLES)
        y += 500.0 * (other == "x")
        members += [other == one for one in "xy"]
        settings["attributes"] = "each"
        groups = np.column_stack((groups, other))
    return X, y, groups, members, weights, settings


def gap_by_hand(errors, members, weights):
    """Largest difference of two groups' mean errors."""
    return np.ptp([np.average(errors[one], weights=weights[one]) for one in members])


def check_draw(seed):
    """Fit, claim and monitor of drawn samples against numpy."""
    X, y, groups, members, weights, settings = draw(seed)
    columns = {"sensitive_features": groups, "sample_weight": weights}
    tolerance = (50.0, 200.0, 1e4)[seed % 3]
    constraint = MeanErrorParity(tolerance=tolerance, **settings)
    if seed % 2:
        model = ConstrainedERMRegressor(constraint).fit(X, y, **columns)
        predicted = model.predict(X)
    else:
        tree = DecisionTreeRegressor(max_leaf_nodes=6, random_state=0)
        model = ConstrainedRegressorCV(tree, constraint, cv=3).fit(X, y, **columns)
        predicted = model.oof_prediction_
    gap = gap_by_hand(predicted - y, members, weights)
    assert model.constraint_report_["gap"].iloc[0] == pytest.approx(gap)
    assert model.constraint_violation_ == pytest.approx(max(0.0, gap - tolerance), abs=1e-3)
    assert gap <= tolerance + 1e-3
    plain = LinearRegression().fit(X, y).predict(X)
    gap = gap_by_hand(plain - y, members, weights)
    claim = Audit.from_predictions(y, plain, **columns).certify(constraint)
    assert claim.estimate == pytest.approx(gap)
    assert claim.low <= gap <= claim.high
    if seed % 3 < 2:  # monitors compare the values of one attribute
        limits = {"value_range": (-1e5, 1e5), "max_weight": 100.0, "min_group_size": 1}
        monitor = GapMonitor(constraint, **limits).update(y, plain, **columns)
        assert monitor.summary()["gap"].item() == pytest.approx(gap)


@pytest.mark.parametrize("seed", range(4))
def test_mean_errors_are_those_of_numpy(seed):
    check_draw(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4, 64))
def test_mean_errors_of_many_draws_are_those_of_numpy(seed):
    check_draw(seed)


def test_only_the_targets_differ_where_mean_errors_are_equal():
    X, y, groups, members, weights, _ = draw(1)
    model = ConstrainedERMRegressor(MeanErrorParity(tolerance=0.0, min_group_size=1))
    predicted = model.fit(X, y, sensitive_features=groups, sample_weight=weights).predict(X)
    assert gap_by_hand(predicted, members, weights) == pytest.approx(
        gap_by_hand(y, members, weights), abs=1.0
    )


def test_scorers_and_sentence():
    X, y, groups, members, weights, _ = draw(1)
    columns = {"sensitive_features": groups, "sample_weight": weights}
    model = LinearRegression().fit(X, y)
    gap = gap_by_hand(model.predict(X) - y, members, weights)
    score = make_scorer("mean_error", transform="difference")
    assert score(model, X, y, **columns) == pytest.approx(-gap)
    audit = Audit.from_estimator(model, X, y, **columns)
    claim = audit.certify(MeanErrorParity(min_group_size=1), 9000.0)
    assert claim.unit == "units of the target"
    assert "differ by at most 9000 units of the target" in str(claim)
    limit = make_scorer(MeanErrorParity(min_group_size=1), confidence_level=0.95)
    assert limit(model, X, y, **columns) == pytest.approx(-claim.high)


def test_outcomes_of_zero_and_one_are_numbers():
    groups = np.repeat(["a", "b"], 100)
    y = np.repeat([0, 1, 0], [80, 60, 60])
    monitor = GapMonitor("mean_error_parity", 0.2, value_range=(-1.0, 1.0))
    monitor.update(y, np.full(200, 0.5), sensitive_features=groups)
    assert monitor.summary()["gap"].item() == pytest.approx(0.2)


def test_late_outcomes_need_a_delay():
    monitor = GapMonitor("mean_error_parity", 0.2, value_range=(-1.0, 1.0))
    with pytest.raises(ValueError, match="delay must be the longest time"):
        monitor.update(None, np.ones(4), sensitive_features=list("aabb"), ids=range(4))


@pytest.mark.parametrize(
    "refuse",
    [
        lambda X, y, g: ConstrainedERMClassifier("mean_error_parity").fit(
            X, y, sensitive_features=g
        ),
        lambda X, y, g: ConstrainedClassifierCV(LogisticRegression(), "mean_error_parity").fit(
            X, y, sensitive_features=g
        ),
        lambda X, y, g: fairness_front(
            ConstrainedERMClassifier(), X, y, sensitive_features=g, constraint="mean_error_parity"
        ),
        lambda X, y, g: Audit.from_estimator(
            LogisticRegression().fit(X, y), X, y, sensitive_features=g
        ).certify("mean_error_parity", 0.1),
        lambda X, y, g: Audit.from_predictions(y, y, sensitive_features=g).certify(
            "mean_error_parity", 0.1
        ),
        lambda X, y, g: GapMonitor("mean_error_parity", 0.1).update_from(
            Audit.from_predictions(y, y, sensitive_features=g)
        ),
    ],
)
def test_classes_have_no_mean_errors(refuse):
    X, numbers, groups, *_ = draw(0)
    with pytest.raises(ValueError, match="constraint must be about classes .* MeanErrorParity"):
        refuse(X, (numbers > 2e3).astype(int), groups)


def test_what_plans_and_ratios_refuse():
    with pytest.raises(ValueError, match="must be a number; got MeanErrorParity"):
        required_sample_size(MeanErrorParity(tolerance=1.0))
    X, y, groups, *_ = draw(0)
    audit = Audit.from_predictions(y, 1.1 * y, sensitive_features=groups)
    assert audit.certify(MeanErrorParity(tolerance=1e-3)).required_sample_size is None


def test_gaps_of_mean_errors_fall_as_those_of_mean_predictions_do():
    """The target of a sample is a constant, also where predictions are exponentials."""
    (error,) = MeanErrorParity(tolerance=0.1).terms(None, None)
    assert {error, OfExponential(error)} <= {*MEANS_OF_PREDICTIONS}


@pytest.mark.slow
def test_a_level_of_mean_errors_tightens_by_its_noise():
    """A slope of losses tightened .45 to .016 to .066 at .8, and stated .955 to .973."""
    rng = np.random.default_rng(0)
    group = (rng.random(500) < 0.4).astype(int)
    X = rng.normal(size=(500, 4)) + np.outer(group, [0.7, 0.2, -0.3, 0.4])
    noise = (1 + group) * (rng.exponential(size=500) - 1)
    y = X @ [1.0, 1.0, 0.5, 0.0] + 0.9 * group + noise
    model = ConstrainedRegressorCV(
        LinearRegression(), MeanErrorParity(tolerance=0.45), confidence_level=0.8
    ).fit(X, y, sensitive_features=group)
    assert model.tightened_tolerances_[0] > 0.12
    assert 0.8 <= model.guarantee_probability_ < 0.93
