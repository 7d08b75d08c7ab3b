"""Parity of rates whose denominators depend on decisions, as a user writes it: precision, F1."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, precision_score

from skfair._bound.bound import ConstraintSystem
from skfair._groups import check_groups
from skfair._partitions.partitions import blocks, make_partitions
from skfair._problems.linear import LinearModel
from skfair._problems.partitioned import PartitionedProblem
from skfair._problems.problem import ConstrainedProblem
from skfair.classification import ConstrainedClassifierCV, ConstrainedERMClassifier
from skfair.constraints import Constraint, DemographicParity, RateParity, check_constraint
from skfair.exceptions import InfeasibleConstraintWarning
from skfair.groups import Samples
from skfair.losses import LogisticLoss
from skfair.solvers import GDA, SQP
from skfair.surrogates import Sigmoid


class PredictiveParity(Constraint):
    """Equal precisions: TP / (TP + FP)."""

    applies_to = ("decisions",)
    unit = "rate"
    table = (1, 0, 0, 0), (1, 1, 0, 0)

    def cells(self, samples):
        return {"all": np.ones(len(samples.target), dtype=bool)}


class EqualF1(PredictiveParity):
    """Equal F1 scores: 2 TP / (2 TP + FP + FN)."""

    table = (2, 0, 0, 0), (2, 1, 1, 0)


SCORES = {PredictiveParity: precision_score, EqualF1: f1_score}


def draw(n_samples=3000, seed=0):
    """Groups whose outcomes are predicted with different precision."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(3, size=n_samples)
    X = rng.normal(size=(n_samples, 4))
    slope = np.array([0.0, 0.8, -0.6])[groups]
    noise = np.array([0.4, 1.0, 1.6])[groups]
    latent = X[:, 0] + 0.7 * X[:, 1] + slope * X[:, 2] + noise * rng.logistic(size=n_samples)
    return X, (latent > 0).astype(int), groups


def gap(kind, y, decisions, groups):
    """Largest difference of scikit-learn's metric between groups."""
    pairs = [(y[groups == g], decisions[groups == g]) for g in np.unique(groups)]
    return np.ptp([SCORES[kind](*pair) for pair in pairs])


@pytest.mark.parametrize("kind", SCORES)
def test_the_public_check_passes(kind):
    check_constraint(kind())


@pytest.mark.parametrize("kind", SCORES)
def test_decisions_keep_the_tolerance(kind):
    X, y, groups = draw()
    plain = ConstrainedERMClassifier(None).fit(X, y)
    before = gap(kind, y, plain.predict(X), groups)
    tolerance = before / 3
    model = ConstrainedERMClassifier(kind(), tolerance=tolerance)
    model.fit(X, y, sensitive_features=groups)
    after = gap(kind, y, model.predict(X), groups)
    assert after <= tolerance < before / 2
    report = model.constraint_report_
    assert report["gap"].iloc[0] == pytest.approx(after, abs=1e-12)
    expected = [SCORES[kind](y[groups == g], model.predict(X)[groups == g]) for g in range(3)]
    np.testing.assert_allclose(report["estimate"], expected, atol=1e-12)
    assert ((report["standard_error"] > 0) & (report["standard_error"] < 0.05)).all()
    assert len(np.unique(model.predict(X))) == 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["sqp-lbfgs", "augmented-lagrangian", GDA(max_iter=200)])
def test_other_solvers_keep_it_too(solver):
    X, y, groups = draw()
    model = ConstrainedERMClassifier(EqualF1(), tolerance=0.03, solver=solver)
    model.fit(X, y, sensitive_features=groups)
    assert gap(EqualF1, y, model.predict(X), groups) <= 0.03


def test_a_quotient_is_kept_beside_another_constraint():
    X, y, groups = draw()
    both = [PredictiveParity(tolerance=0.06), DemographicParity(tolerance=0.1)]
    model = ConstrainedERMClassifier(both).fit(X, y, sensitive_features=groups)
    decisions = model.predict(X)
    assert gap(PredictiveParity, y, decisions, groups) <= 0.06
    assert np.ptp([decisions[groups == g].mean() for g in range(3)]) <= 0.1


def test_ratios_of_quotients_are_kept():
    X, y, groups = draw()
    model = ConstrainedERMClassifier(PredictiveParity(ratio=0.92))
    model.fit(X, y, sensitive_features=groups)
    decisions = model.predict(X)
    rates = [precision_score(y[groups == g], decisions[groups == g]) for g in range(3)]
    assert min(rates) >= 0.92 * max(rates)


@pytest.mark.slow
def test_any_model_keeps_it():
    X, y, groups = draw()
    model = ConstrainedClassifierCV(
        HistGradientBoostingClassifier(max_iter=20, random_state=0),
        PredictiveParity(tolerance=0.03),
    )
    model.fit(X, y, sensitive_features=groups)
    assert model.constraint_violation_ == 0.0


@pytest.mark.parametrize("n_samples, is_guaranteed", [(400, False), (20_000, True)])
def test_guarantee_needs_samples(n_samples, is_guaranteed):
    X, y, groups = draw(n_samples)
    model = ConstrainedERMClassifier(PredictiveParity(), tolerance=0.1, confidence_level=0.9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the status says it
        model.fit(X, y, sensitive_features=groups)
    assert (model.verdict_ == "shown") is is_guaranteed
    assert (model.guarantee_probability_ >= 0.9) is is_guaranteed


def test_a_group_without_positive_decisions_has_an_unknown_gap():
    """Negative decisions alone do not keep predictive parity."""
    target = np.array([1.0, -1.0, 1.0, -1.0])
    groups = check_groups([0, 0, 1, 1], 4)
    samples = Samples(target, groups, np.ones(4))
    bound = PredictiveParity().bind(samples, Sigmoid(), LogisticLoss(), 0.1)
    assert np.isnan(bound.value(np.array([1.0, 1.0, -1.0, -1.0])))
    assert np.isnan(bound.value(-np.ones(4)))
    assert bound.value(np.ones(4)) == 0.0


def make_problem(kind, n_samples=600):
    X, y, codes = draw(n_samples)
    weights = np.ones(n_samples)
    target = np.where(y, 1.0, -1.0)
    loss = LogisticLoss()
    samples = Samples(target, check_groups(codes, n_samples), weights)
    bound = kind().bind(samples, Sigmoid(), loss, tolerance=0.05)
    bound = replace(bound, offset=np.random.default_rng(1).normal(scale=0.01, size=6))
    model = LinearModel.from_features(X, weights)
    return ConstrainedProblem(model, loss, target, weights, 0.01, ConstraintSystem((bound,)))


@pytest.mark.parametrize("kind", SCORES)
def test_second_derivatives_are_those_of_differences(kind):
    problem = make_problem(kind)
    step = 1e-6
    rng = np.random.default_rng(2)
    x = rng.normal(size=problem.n_unknowns)
    multipliers = rng.normal(size=len(problem.lower))

    def gradient(x):
        return problem.evaluate(x).lagrangian_gradient(multipliers)

    differences = [
        (gradient(x + step * e) - gradient(x - step * e)) / (2 * step) for e in np.eye(len(x))
    ]
    hessian = problem.evaluate(x).hessian(multipliers)
    np.testing.assert_allclose(hessian, differences, atol=1e-6)


@pytest.mark.parametrize("kind", SCORES)
def test_blocks_add_up_to_the_samples_in_memory(kind):
    problem = make_problem(kind)
    partitions = make_partitions([problem.contribution(rows) for rows in blocks(600, size=170)])
    partitioned = PartitionedProblem.from_problem(problem, partitions)
    rng = np.random.default_rng(3)
    x = rng.normal(size=problem.n_unknowns)
    multipliers = rng.normal(size=len(problem.lower))
    here = problem.evaluate(x)
    there = partitioned.evaluate(x, multipliers)
    for name in ("fun", "grad", "values", "jacobian"):
        np.testing.assert_allclose(getattr(there, name), getattr(here, name), atol=1e-12)
    np.testing.assert_allclose(there.hessian(multipliers), here.hessian(multipliers), atol=1e-12)
    start = problem.initial_point(x[:5])
    np.testing.assert_allclose(partitioned.initial_point(x[:5]), start, atol=1e-12)
    np.testing.assert_allclose(SQP().solve(partitioned).fun, SQP().solve(problem).fun, rtol=1e-5)


@pytest.mark.slow
def test_very_many_samples_are_fitted_in_blocks():
    X, y, groups = draw(200_000)
    model = ConstrainedERMClassifier(EqualF1(), tolerance=0.03)
    model.fit(X, y, sensitive_features=groups)
    assert gap(EqualF1, y, model.predict(X), groups) <= 0.03


@pytest.mark.covering(0)
@pytest.mark.parametrize(
    "make",
    [
        ConstrainedERMClassifier,
        lambda parity: ConstrainedClassifierCV(
            LogisticRegression(), parity, cv=3, group_estimator=LogisticRegression()
        ),
        lambda parity: ConstrainedClassifierCV(
            LogisticRegression(), parity, cv=3, group_estimator="sensitive_features"
        ),
    ],
    ids=["linear", "any model", "any model with groups"],
)
def test_the_violation_is_unknown_where_a_quotient_has_no_denominator(make):
    # A group of positives alone has no false positives, which false negatives are divided by.
    X, y, groups = draw(300)
    y = np.where(groups == 1, 1, y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = make(RateParity("treatment_equality", tolerance=0.5))
        model.fit(X, y, sensitive_features=groups)
    assert model.status_ == "infeasible" and model.constraint_violation_ is None
    report = model.constraint_report_
    assert report["estimate"].isna().tolist() == [False, True, False] and report["gap"].isna().all()
    (message,) = [str(one.message) for one in caught if one.category is InfeasibleConstraintWarning]
    assert message.startswith("The gap of RateParity('treatment_equality') cannot be measured")
    assert "Nothing counts in the denominator" in message and "inf" not in message.split()
