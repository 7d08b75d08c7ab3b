"""A partitioned problem against the same problem in one block."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from skfair.constraints import ConstraintSystem
from skfair.groups import Events
from skfair.losses import LogisticLoss, SquaredLoss
from skfair.models import _linear
from skfair.partitions import Partitions, blocks, make_partitions
from skfair.problems import PartitionedProblem, _problem
from skfair.problems._flips import count_bins
from skfair.problems._partitioned import _count, _residuals, _smooth_means
from skfair.surrogates import Sigmoid
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


@specs
@pytest.mark.parametrize("loss", [None, SquaredLoss()])
def test_kernels_give_what_numpy_gives(spec, loss, monkeypatch):
    whole = make_problem(spec, loss)
    x, multipliers = RNG.normal(size=whole.n_unknowns), RNG.normal(size=len(whole.lower))
    parameters, rises = x[: whole.n_parameters], RNG.normal(size=(2, whole.n_parameters))

    def results():
        parts = in_parts(whole)
        yield from parts.reduce_at(x, multipliers, False)
        yield from parts.partitions.reduce(_count, np.array([parameters]))[:3]
        for sums in (_residuals, _smooth_means):
            yield from parts.partitions.reduce(sums, parameters)

    compiled = [*results()]
    assert all(part.compiled is not None for part in in_parts(whole).partitions.gather(_itself))
    monkeypatch.setattr(_problem, "compile_block", lambda problem: None)
    for found, expected in zip(compiled, results(), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)
    if spec in ("parity", "sum of odds"):  # of decisions alone
        arguments = parameters, rises, np.ones(2)
        errors, means, negative = in_parts(whole).partitions.reduce(count_bins, *arguments)
        monkeypatch.undo()
        found = in_parts(whole).partitions.reduce(count_bins, *arguments)
        np.testing.assert_allclose(found[0], errors, atol=1e-12)
        np.testing.assert_allclose(found[1][0], means[0], atol=1e-12)
        np.testing.assert_allclose(found[2][0], negative[0], atol=1e-12)


def _itself(block):
    return block


@pytest.mark.parametrize(
    "case", ["own loss", "own rate", "sparse columns", "overlapping groups", "many columns"]
)
def test_without_a_kernel_numpy_is_used(case, monkeypatch):
    container = sparse.csr_array if case == "sparse columns" else np.asarray
    loss = (lambda *of: LogisticLoss()(*of)) if case == "own loss" else None
    whole = make_problem("parity", loss, container)
    (bound,) = whole.constraint
    means = bound.means
    if case == "own rate":
        means = replace(means, smooth=lambda scores, target: Sigmoid()(scores))
    if case == "overlapping groups":
        events = Events.overlapping(means.events.averaging_matrix.T > 0)
        means = replace(means, events=events)
    if case == "many columns":
        monkeypatch.setattr(_linear, "_MAX_KERNEL_COLUMNS", 2)
    whole = replace(whole, constraint=ConstraintSystem((replace(bound, means=means),)))
    x, multipliers = RNG.normal(size=whole.n_unknowns), RNG.normal(size=len(whole.lower))
    expected, parts = whole.evaluate(x), in_parts(whole)
    if case in ("own rate", "overlapping groups"):
        assert parts.compiled.evaluate(x, multipliers, False, None) is None
    else:
        assert parts.compiled is None
    found = parts.evaluate(x, multipliers)
    assert found.fun == pytest.approx(expected.fun, rel=1e-12)
    np.testing.assert_allclose(found.jacobian, expected.jacobian, atol=1e-12)
    hessian = expected.hessian(multipliers)
    np.testing.assert_allclose(found.hessian(multipliers), hessian, atol=1e-12)


def test_parts_have_their_share_of_the_weight():
    whole = make_problem("none")
    shares = np.concatenate([whole.subset(rows).share for rows in blocks(N_SAMPLES, 7)])
    np.testing.assert_allclose(shares, WEIGHTS / WEIGHTS.sum())
