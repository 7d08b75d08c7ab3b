"""Protocols declare every member that other subpackages read, in fits of all kinds."""

import inspect
import re
import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    ConstrainedMLPClassifier,
    PartialParityClassifier,
)
from skfair.constraints import DemographicParity, PartialStatisticalParity
from skfair.constraints._bound import ConstraintSystem, RateRows, Sums
from skfair.constraints._convex import PairRows, ShareRows
from skfair.constraints._ranks import RankSums
from skfair.constraints._rows import SmoothConstraint
from skfair.groups import Samples, check_groups
from skfair.losses import LogisticLoss
from skfair.models._linear import ArgmaxModel, GroupwiseModel, LinearModel
from skfair.models._mlp import MLPModel
from skfair.models._model import LinearInParameters, Model
from skfair.partitions._partitions import blocks, make_partitions
from skfair.problems._partitioned import PartitionedProblem
from skfair.problems._problem import ConstrainedProblem, Problem
from skfair.regression import ConstrainedERMRegressor
from skfair.solvers import SOLVERS, SQP
from skfair.surrogates import Sigmoid
from tests.audit.doors import certify_model
from tests.used_members import record_members


def members(protocol):
    """Names that a protocol, or an abstract class, declares."""
    return {
        name
        for base in protocol.__mro__
        if base.__module__.startswith("skfair.")
        for name in (*vars(base), *inspect.get_annotations(base))
        if not name.startswith("_")
    }


# Members that the docstrings of the protocols describe, which only some clients need.
OPTIONAL_ROWS_MEMBERS = {
    *("components", "correct", "events", "has_batch_majorant", "majorant", "n_events"),
    *("original_multipliers", "split_by_constraint", "take", "take_batch"),
}
OPTIONAL_MODEL_MEMBERS = {
    *("X", "astype", "batch", "finish", "kernel_columns", "original", "predict"),
    *("reference_gram", "rough_gram"),
}
OPTIONAL_LINEAR_MEMBERS = OPTIONAL_MODEL_MEMBERS | {"class_scores", "lines", "orient_flips"}
OPTIONAL_PROBLEM_MEMBERS = {
    *("batches", "loss", "mean_weights", "separate_pairs", "single", "target"),
}

ROWS = members(SmoothConstraint) | OPTIONAL_ROWS_MEMBERS
LINEAR = members(LinearInParameters) | OPTIONAL_LINEAR_MEMBERS
DECLARED = {
    Sums: members(Sums) & members(RankSums)
    | {"target", "smooth", "exact", "is_quotient"}
    | {"smooth_means", "exact_means", "outcomes", "rates"},
    RateRows: ROWS
    | {"rates_to_rows", "aux_jacobian", "rows_at", "aux_at", "constant_term"}
    | {"sums_curvature", "residual"},
    RankSums: members(Sums) & members(RankSums) | {"samples", "linearize_at"},
    ShareRows: ROWS | {"residual", "aux_jacobian", "constant_term"},
    PairRows: ROWS,
    LinearModel: LINEAR,
    GroupwiseModel: LINEAR,
    ArgmaxModel: LINEAR,
    MLPModel: members(Model) | OPTIONAL_MODEL_MEMBERS | {"coefficients", "parameters"},
}


@pytest.mark.parametrize(
    "protocol, names",
    [
        (SmoothConstraint, OPTIONAL_ROWS_MEMBERS),
        (Model, OPTIONAL_MODEL_MEMBERS),
        (LinearInParameters, OPTIONAL_LINEAR_MEMBERS - OPTIONAL_MODEL_MEMBERS),
        (Problem, OPTIONAL_PROBLEM_MEMBERS),
    ],
)
def test_docstrings_describe_optional_members(protocol, names):
    assert names <= {*re.findall(r"``(\w+)", protocol.__doc__)}


def draw(n_samples=300):
    rng = np.random.default_rng(0)
    groups = rng.integers(2, size=n_samples)
    X = rng.normal(size=(n_samples, 3)) + 0.5 * groups[:, np.newaxis]
    y = (X.sum(axis=1) + rng.logistic(size=n_samples) > 1).astype(int)
    return X, y, groups


def fits():
    """Fits that pass through every client: enforcement, guarantees, networks, classes, reports."""
    for constraint in ("equalized_odds", "loss_parity", "mean_parity"):
        yield ConstrainedERMClassifier(constraint, tolerance=0.05)
    both = ["demographic_parity", "equal_opportunity"]
    yield ConstrainedERMClassifier(both, tolerance=0.05)
    for enforcement in ("auto", None):
        yield ConstrainedERMClassifier(tolerance=0.05, enforcement=enforcement)
    yield ConstrainedERMClassifier(tolerance=0.2, confidence_level=0.8)
    for name in ("sqp-lbfgs", "gda", "adam-pd", "switching-subgradient"):
        yield ConstrainedERMClassifier(tolerance=0.05, solver=SOLVERS[name](max_iter=20))
    for interactions in (True, "intercept"):
        yield ConstrainedERMClassifier(tolerance=0.05, group_interactions=interactions)
    for criterion in ("statistical_parity", "group_auc", "equal_opportunity"):
        yield PartialParityClassifier(
            constraint=f"partial_{criterion}", interval=(0.0, 0.5), tolerance=0.1
        )
    yield PartialParityClassifier(tolerance=0.1, solver="idca")
    solver = SOLVERS["adam-pd"](max_iter=2)
    yield ConstrainedMLPClassifier(hidden_layer_sizes=(4,), solver=solver, random_state=0)
    yield ConstrainedClassifierCV(LogisticRegression(), tolerance=0.05)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_protocols_declare_what_is_used():
    X, y, groups = draw()
    with record_members(*DECLARED) as used:
        for model in fits():
            model.fit(X, y, sensitive_features=groups)
        # Several classes, a regressor, and a certificate.
        three = ConstrainedClassifierCV(LogisticRegression(), tolerance=0.1)
        three.fit(X, y + (X[:, 0] > 1), sensitive_features=groups)
        ConstrainedERMRegressor().fit(X, X[:, 0] + y, sensitive_features=groups)
        settings = {"constraint": "demographic_parity", "tolerance": 0.2}
        certify_model(model, X, y, sensitive_features=groups, **settings)
    missing = {one.__name__: used[one] - declared for one, declared in DECLARED.items()}
    assert {name: names for name, names in missing.items() if names} == {}
    assert all(used[one] for one in DECLARED), "every class is read by its clients"


def make_problem(constraint, n_samples=300):
    X, y, groups = draw(n_samples)
    weights = np.ones(n_samples)
    target = np.where(y, 1.0, -1.0)
    loss = LogisticLoss()
    samples = Samples(target, check_groups(groups, n_samples), weights)
    bound = constraint.bind(samples, Sigmoid(), loss, tolerance=0.05)
    if bound.sums.metric_input == "ranks":
        bound = bound.linearize_at(X[:, 0])
    model = LinearModel.from_features(X, weights)
    return ConstrainedProblem(model, loss, target, weights, 0.01, ConstraintSystem((bound,)))


@pytest.mark.covering(0)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("constraint", [DemographicParity(), PartialStatisticalParity()])
def test_solvers_read_what_a_problem_declares(constraint):
    problem = make_problem(constraint)
    with record_members(ConstrainedProblem, by="solvers") as used:
        for make in SOLVERS.values():
            try:
                make(max_iter=3).solve(problem, random_state=0)
            except ValueError as error:
                assert "needs" in str(error)
    assert used[ConstrainedProblem] <= members(Problem) | OPTIONAL_PROBLEM_MEMBERS


def test_a_partitioned_problem_is_all_that_sqp_needs():
    problem = make_problem(DemographicParity())
    partitions = make_partitions([problem.contribution(rows) for rows in blocks(300, size=100)])
    partitioned = PartitionedProblem.from_problem(problem, partitions)
    with record_members(PartitionedProblem, by="solvers") as used, warnings.catch_warnings():
        warnings.simplefilter("error")
        result = SQP().solve(partitioned)
    assert used[PartitionedProblem] <= members(Problem)
    np.testing.assert_allclose(result.x, SQP().solve(problem).x, atol=1e-5)
