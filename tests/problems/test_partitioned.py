"""A partitioned problem against the same problem in one block."""

import numpy as np
import pytest

from skfair.partitions import Partitions, blocks, make_partitions
from skfair.problems import PartitionedProblem
from tests.problems.test_problem import N_SAMPLES, RNG, WEIGHTS, make_problem

specs = pytest.mark.parametrize("spec", ["parity", "sum of odds", "joint", "none"])


def in_parts(whole, size=7):
    parts = [whole.subset(rows) for rows in blocks(N_SAMPLES, size)]
    return PartitionedProblem.from_problem(whole, make_partitions(parts))


@specs
def test_all_derivatives_are_those_of_the_whole(spec):
    whole = make_problem(spec)
    parts = in_parts(whole)
    x = RNG.normal(size=whole.n_unknowns)
    multipliers = RNG.normal(size=len(whole.lower))
    expected, found = whole.evaluate(x), parts.evaluate(x, multipliers)
    for name in ("fun", "grad", "values", "jacobian", "aux_jacobian", "excess", "violation"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-12)
    np.testing.assert_allclose(
        found.hessian(multipliers), expected.hessian(multipliers), atol=1e-12
    )
    gradient = expected.lagrangian_gradient(multipliers)
    np.testing.assert_allclose(found.lagrangian_gradient(multipliers), gradient, atol=1e-12)
    np.testing.assert_allclose(found.pull_back(multipliers), expected.pull_back(multipliers))
    rows = np.arange(len(whole.lower))[::2]
    np.testing.assert_allclose(found.jacobian_of(rows), expected.jacobian_of(rows), atol=1e-12)


@specs
def test_shifted_rates_start_where_those_of_the_whole_do(spec):
    whole = make_problem(spec)
    parameters = RNG.normal(size=whole.n_parameters)
    constraint = whole.constraint.correct(whole.model.evaluate(parameters).scores)
    whole, parts = (
        type(one)(**(vars_of(one) | {"constraint": constraint})) for one in (whole, in_parts(whole))
    )
    x = whole.initial_point(parameters)
    np.testing.assert_allclose(parts.initial_point(parameters), x, atol=1e-12)
    np.testing.assert_allclose(parts.evaluate(x).values, whole.evaluate(x).values, atol=1e-12)


def vars_of(problem):
    return {
        name: getattr(problem, name) for name in problem.__dataclass_fields__ if name != "share"
    }


@specs
def test_what_identify_groups_of_a_model_is_what_the_whole_tells(spec):
    whole = make_problem(spec)
    parameters = RNG.normal(size=whole.n_parameters)
    (objective, n_rows, report), (other, n_other, other_report) = (
        one.describe(parameters) for one in (whole, in_parts(whole))
    )
    assert objective == pytest.approx(other, rel=1e-12)
    assert n_rows == n_other
    assert report.equals(other_report) or np.allclose(
        report.select_dtypes("number"), other_report.select_dtypes("number"), equal_nan=True
    )


def test_one_look_serves_a_solver_and_its_driver(monkeypatch):
    looks, reduce = [], Partitions.reduce

    def count_and_reduce(self, function, *arguments):
        looks.append(function)
        return reduce(self, function, *arguments)

    whole = make_problem("parity")
    parts = PartitionedProblem.from_problem(
        whole, make_partitions([whole.subset(rows) for rows in blocks(N_SAMPLES, 7)])
    )
    monkeypatch.setattr(Partitions, "reduce", count_and_reduce)
    x, multipliers = np.zeros(whole.n_unknowns), np.ones(len(whole.lower))
    parts.evaluate(x).fun, parts.evaluate(x).grad, parts.evaluate(x).hessian(0 * multipliers)
    assert len(looks) == 1
    parts.evaluate(x).hessian(multipliers)  # was not foretold
    assert len(looks) == 2


def test_parts_have_their_share_of_the_weight():
    whole = make_problem("none")
    shares = np.concatenate([whole.subset(rows).share for rows in blocks(N_SAMPLES, 7)])
    np.testing.assert_allclose(shares, WEIGHTS / WEIGHTS.sum())
