"""ConstrainedERMRegressor: tolerances of predictions, and the plain fit."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression, Ridge

from skfair._utils.checks import bound_text, limit_text
from skfair.constraints import (
    BoundedGroupLoss,
    Constraint,
    EqualOpportunityLossParity,
    LossParity,
    MeanParity,
    PartialStatisticalParity,
)
from skfair.exceptions import InfeasibleConstraintWarning, MissingSensitiveFeaturesWarning
from skfair.losses import Pointwise
from skfair.metrics import mean_score_difference, partial_statistical_parity_difference
from skfair.regression import ConstrainedERMRegressor, ConstrainedRegressorCV
from skfair.solvers import SQP, AdamPrimalDual


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    group = rng.choice(["a", "b", "c"], p=[0.5, 0.3, 0.2], size=900)
    X = rng.normal(size=(900, 4))
    X[:, 0] += group == "b"
    noise = np.where(group == "c", 2.5, 1.0) * rng.normal(size=900)
    return X, 1000 + 50 * (X @ [1.0, 1.0, -1.0, 0.0] + 0.5 * (group == "c") + noise), group


def fit(data, constraint="mean_parity", **params):
    X, y, group = data
    return ConstrainedERMRegressor(constraint, **params).fit(X, y, sensitive_features=group)


def losses(data, model, loss="squared"):
    """Mean loss of each group."""
    X, y, group = data
    error = model.predict(X) - y
    each = error**2 if loss == "squared" else np.abs(error)
    return np.array([each[group == g].mean() for g in "abc"])


@pytest.mark.covering(0)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::skfair.exceptions.InfeasibleConstraintWarning")
@pytest.mark.parametrize("enforcement", ["auto", None])
def test_solvers_that_count_decisions_fit_regressors_in_units_of_the_target(data, enforcement):
    solver = AdamPrimalDual(max_iter=2)
    model = fit(data, solver=solver, enforcement=enforcement, tolerance=20.0, random_state=0)
    X, _, group = data
    means = [model.predict(X)[group == name].mean() for name in "abc"]
    excess = max(0.0, np.ptp(means) - 20.0)
    assert model.constraint_violation_ == pytest.approx(excess, abs=1e-6)


@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_mean_predictions_keep_the_tolerance(data, loss):
    X, y, group = data
    model = fit(data, loss=loss, tolerance=7.0)
    difference = mean_score_difference(model.predict(X), sensitive_features=group)
    assert difference == pytest.approx(7.0, rel=1e-3)
    assert model.constraint_violation_ == 0.0
    assert model.status_ == "optimal"
    assert model.multipliers_.any()
    plain = fit(data, None, loss=loss).predict(X)
    assert mean_score_difference(plain / y.std(), sensitive_features=group) > 0.4


def test_the_plain_fit_is_that_of_scikit_learn(data):
    X, y, _ = data
    for model in (fit(data, None, alpha=0.0), fit(data, tolerance=500.0, alpha=0.0)):
        np.testing.assert_allclose(model.coef_, LinearRegression().fit(X, y).coef_, rtol=1e-5)
        assert not model.multipliers_.any()
    ridge = Ridge(alpha=0.1 * len(y)).fit(X, y)
    np.testing.assert_allclose(fit(data, None, alpha=0.1).coef_, ridge.coef_, rtol=1e-5)


def test_the_fit_is_the_constrained_optimum(data):
    """With equality of two means the answer is that of linear algebra."""
    X, y, group = data
    two = group != "c"
    model = fit((X[two], y[two], group[two]), tolerance=0.0, alpha=0.0)
    contrast = X[group == "a"].mean(axis=0) - X[group == "b"].mean(axis=0)
    centred = X[two] - X[two].mean(axis=0)
    target = y[two] - y[two].mean()
    gram = centred.T @ centred
    kkt = np.block([[gram, contrast[:, np.newaxis]], [contrast, np.zeros(1)]])
    expected = np.linalg.solve(kkt, np.append(centred.T @ target, 0.0))[:-1]
    np.testing.assert_allclose(model.coef_, expected, atol=1e-3)


@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_mean_losses_keep_the_tolerance(data, loss):
    plain = losses(data, fit(data, None, loss=loss), loss)
    model = fit(data, LossParity(tolerance=0.5 * np.ptp(plain)), loss=loss)
    constrained = losses(data, model, loss)
    # Fits smooth the absolute error, and leave a little of the tolerance.
    unused = 0.0 if loss == "squared" else 0.01
    assert 0.5 - unused - 1e-4 <= np.ptp(constrained) / np.ptp(plain) <= 0.5
    np.testing.assert_allclose(model.constraint_report_["estimate"], constrained)
    assert model.constraint_violation_ == 0.0


@pytest.mark.slow
def test_group_losses_keep_their_bound(data):
    plain = losses(data, fit(data, None))
    bound = plain.max() - 0.01 * np.ptp(plain)
    model = fit(data, BoundedGroupLoss(bound))
    assert losses(data, model).max() == pytest.approx(bound, rel=1e-4)
    with pytest.warns(InfeasibleConstraintWarning, match="BoundedGroupLoss"):
        fit(data, BoundedGroupLoss(0.01))


@pytest.mark.parametrize("unit", [1.0, 100.0])
def test_a_bound_that_binds_nothing_is_warned_of(data, unit):
    X, y, group = data
    y = unit * y
    constant = max(np.mean((y[group == g] - y.mean()) ** 2) for g in "abc")
    model = ConstrainedERMRegressor()
    wrapped = ConstrainedRegressorCV(LinearRegression().fit(X, y), cv="prefit")
    for bound in (1.01 * constant, 0.99 * constant):
        for one in (model, wrapped):
            one.set_params(constraint=[MeanParity(tolerance=1e6), BoundedGroupLoss(bound)])
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                one.fit(X, y, sensitive_features=group)
            messages = [str(w.message) for w in caught if "binds nothing" in str(w.message)]
            assert len(messages) == (bound > constant)
            if messages:
                assert f"bound {bound_text(bound)} of BoundedGroupLoss" in messages[0]
                assert f"above {limit_text(constant)}, neither" in messages[0]


def test_ranks_and_means_together(data):
    X, _, group = data
    constraint = [PartialStatisticalParity((0.0, 0.5), tolerance=0.15), MeanParity(tolerance=10.0)]
    model = fit(data, constraint)
    predictions = model.predict(X)
    ranks = partial_statistical_parity_difference(
        predictions, sensitive_features=group, interval=(0.0, 0.5)
    )
    assert ranks <= 0.15
    difference = mean_score_difference(predictions, sensitive_features=group)
    assert difference <= 10.0 * (1 + 1e-4)


def test_the_unit_of_the_target_does_not_matter(data):
    X, y, group = data
    model = fit(data)
    other = fit((X, 1e-6 * y - 7.0, group))
    np.testing.assert_allclose(other.predict(X), 1e-6 * model.predict(X) - 7.0, atol=1e-9)
    for name, power in {"objective_": 2, "multipliers_": 1, "tightened_tolerances_": 1}.items():
        scaled = np.multiply(1e-6**power, getattr(model, name))
        np.testing.assert_allclose(getattr(other, name), scaled, rtol=1e-5)


@pytest.mark.parametrize(
    "constraint, loss",
    [("mean_parity", "squared"), ("loss_parity", "squared"), ("loss_parity", "absolute")],
)
def test_multipliers_are_what_the_objective_gains_by_a_unit_of_tolerance(data, constraint, loss):
    plain = fit(data, constraint, loss=loss, tolerance=1e9).constraint_report_["gap"].iloc[0]
    one, other = (
        fit(data, constraint, loss=loss, tolerance=share * plain, solver=SQP(tol=1e-9))
        for share in (0.499, 0.501)
    )
    gain = (one.objective_ - other.objective_) / (0.002 * plain)
    # Each of the two extreme groups is bound on its own side of a free center.
    assert np.abs(one.multipliers_).sum() / 2 == pytest.approx(gain, rel=0.02)


@pytest.mark.covering(0)
@pytest.mark.parametrize("model", [ConstrainedERMRegressor, ConstrainedRegressorCV])
def test_tolerances_that_seem_to_be_in_standard_deviations_are_warned_of(data, model):
    X, y, group = data
    y = 1000.0 * y
    # The default is .05 standard deviations, 5,700; .05 are .05 units of the target.
    with pytest.warns(UserWarning, match=r"tolerance=0.05 of MeanParity is in units of the target"):
        model(constraint="mean_parity", tolerance=0.05).fit(X, y, sensitive_features=group)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "tolerance=.* in units of the target")
        for tolerance in (None, 0.0, 10.0):
            fitted = model(constraint="mean_parity", tolerance=tolerance)
            fitted.fit(X, y, sensitive_features=group)


class HighPredictions(Constraint):
    """Equal shares of high predictions; the cell is of high targets."""

    def cells(self, samples):
        return {"high": samples.target > 1000.0}

    def terms(self, surrogate, loss):
        return (lambda scores, target: surrogate(scores - 1100.0),)


class SquareParity(Constraint):
    """Equal means of squared predictions."""

    def cells(self, samples):
        return {"all": np.ones(len(samples.target), dtype=bool)}

    def terms(self, surrogate, loss):
        return (lambda scores, target: Pointwise(scores**2, 2 * scores, np.full_like(scores, 2)),)


def test_constraints_of_ones_own_see_the_target_as_it_is(data):
    X, y, group = data
    model = fit(data, HighPredictions(tolerance=0.1))
    predictions = model.predict(X)
    high = y > 1000.0
    shares = [np.mean(predictions[high & (group == g)] > 1100.0) for g in "abc"]
    np.testing.assert_allclose(model.constraint_report_["estimate"], shares)
    model = fit(data, SquareParity(tolerance=2e4))
    squares = [np.mean(model.predict(X)[group == g] ** 2) for g in "abc"]
    assert np.ptp(squares) == pytest.approx(2e4, rel=1e-3)
    np.testing.assert_allclose(model.constraint_report_["estimate"], squares)
    assert model.constraint_report_["tolerance"].iloc[0] == pytest.approx(2e4)


def test_weights_overlapping_groups_and_interactions(data):
    X, y, group = data
    weights = 1.0 + (np.arange(len(y)) % 3)
    model = ConstrainedERMRegressor().fit(X, y, sensitive_features=group, sample_weight=weights)
    weighted = mean_score_difference(
        model.predict(X), sensitive_features=group, sample_weight=weights
    )
    assert weighted <= 0.05001 * np.sqrt(np.cov(y, aweights=weights, ddof=0))
    members = sparse.csr_array(np.column_stack((group == "b", X[:, 3] > 0)))
    model = fit((X, y, members))
    difference = mean_score_difference(model.predict(X), sensitive_features=members)
    assert difference <= 0.05001 * y.std()
    aware = fit(data, group_interactions=True)
    predictions = aware.predict(X, sensitive_features=group)
    difference = mean_score_difference(predictions, sensitive_features=group)
    assert difference <= 0.05001 * y.std()


def test_unknown_names_are_refused(data):
    with pytest.raises(ValueError, match="'constraint' parameter of ConstrainedERMRegressor"):
        fit(data, "bounded")


@pytest.mark.parametrize(
    "constraint",
    ["demographic_parity", ["demographic_parity"], EqualOpportunityLossParity()],
    ids=str,
)
def test_constraints_on_classes_are_refused(data, constraint):
    with pytest.raises(ValueError, match="about classes and decisions, .* Pass one of .*mean_par"):
        fit(data, constraint)


def test_without_groups(data):
    X, y, _ = data
    with pytest.warns(MissingSensitiveFeaturesWarning, match="unconstrained"):
        model = ConstrainedERMRegressor().fit(X, y)
    assert model.status_ == "unconstrained"
    np.testing.assert_allclose(model.coef_, fit(data, None).coef_)
