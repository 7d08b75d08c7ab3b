"""Docstrings of protocols describe the members that only some clients need."""

import re

import numpy as np
import pytest

from skfair._bound.bound import ConstraintSystem
from skfair._bound.rows import SmoothConstraint
from skfair._groups import check_groups
from skfair._partitions.partitions import blocks, make_partitions
from skfair._problems.linear import LinearModel
from skfair._problems.model import LinearInParameters, Model
from skfair._problems.partitioned import PartitionedProblem
from skfair._problems.problem import ConstrainedProblem, Problem
from skfair.constraints import DemographicParity
from skfair.groups import Samples
from skfair.losses import LogisticLoss
from skfair.solvers import SQP
from skfair.surrogates import Sigmoid

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
    *("batches", "loss", "mean_weights", "separate_pairs", "join_rows", "target"),
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


def test_a_partitioned_problem_is_all_that_sqp_needs():
    problem = make_problem(DemographicParity())
    partitions = make_partitions([problem.contribution(rows) for rows in blocks(300, size=100)])
    partitioned = PartitionedProblem.from_problem(problem, partitions)
    result = SQP().solve(partitioned)
    np.testing.assert_allclose(result.x, SQP().solve(problem).x, atol=1e-5)
