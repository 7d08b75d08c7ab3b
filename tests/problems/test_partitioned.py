"""A partitioned problem against the same problem in one block."""

from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from skfair._bound.bound import ConstraintSystem
from skfair._fitting.counting import _measure_models, _residuals, count_along_lines
from skfair._fitting.fitter import Fitter
from skfair._groups.events import Events
from skfair._partitions.partitions import Partitions, blocks, make_partitions
from skfair._problems import linear
from skfair._problems.partitioned import PartitionedProblem, _smooth_means
from skfair._problems.problem import ConstrainedProblem
from skfair.losses import LogisticLoss, SquaredLoss
from skfair.solvers import SQP
from skfair.surrogates import Sigmoid
from tests.problems.test_problem import N_SAMPLES, RNG, WEIGHTS, make_problem

specs = pytest.mark.parametrize("spec", ["parity", "sum of odds", "joint", "none"])


def divide(full, size=7):
    partitions = [full.contribution(rows) for rows in blocks(N_SAMPLES, size)]
    return PartitionedProblem.from_problem(full, make_partitions(partitions))


@specs
def test_all_derivatives_are_those_of_the_full_data(spec):
    full = make_problem(spec)
    partitioned = divide(full)
    x = RNG.normal(size=full.n_unknowns)
    multipliers = RNG.normal(size=len(full.lower))
    expected = full.evaluate(x)
    result = partitioned.evaluate(x, multipliers)
    for name in ("fun", "grad", "values", "jacobian", "excess", "violation"):
        np.testing.assert_allclose(getattr(result, name), getattr(expected, name), atol=1e-12)
    np.testing.assert_allclose(
        result.hessian(multipliers), expected.hessian(multipliers), atol=1e-12
    )
    gradient = expected.lagrangian_gradient(multipliers)
    np.testing.assert_allclose(result.lagrangian_gradient(multipliers), gradient, atol=1e-12)
    np.testing.assert_allclose(result.pull_back(multipliers), expected.pull_back(multipliers))
    rows = np.arange(len(full.lower))[::2]
    np.testing.assert_allclose(result.jacobian_of(rows), expected.jacobian_of(rows), atol=1e-12)


@specs
def test_initial_unknowns_with_offsets_are_those_of_the_full_data(spec):
    full = make_problem(spec)
    parameters = RNG.normal(size=full.n_parameters)
    constraint = full.constraint.correct(full.model.evaluate(parameters).scores)
    full, partitioned = (
        type(one)(**(vars_of(one) | {"constraint": constraint})) for one in (full, divide(full))
    )
    x = full.initial_point(parameters)
    np.testing.assert_allclose(partitioned.initial_point(parameters), x, atol=1e-12)
    np.testing.assert_allclose(partitioned.evaluate(x).values, full.evaluate(x).values, atol=1e-12)


def vars_of(problem):
    return {one.name: getattr(problem, one.name) for one in fields(problem) if one.init}


@specs
def test_descriptions_are_those_of_the_full_data(spec):
    full = make_problem(spec)
    parameters = RNG.normal(size=full.n_parameters)
    (objective, n_rows, report), (other, n_other, other_report) = (
        Fitter(one, None, SQP()).counter.summarize_model(parameters) for one in (full, divide(full))
    )
    assert objective == pytest.approx(other, rel=1e-12)
    assert n_rows == n_other
    pd.testing.assert_frame_equal(pd.DataFrame(report), pd.DataFrame(other_report))


def test_a_solver_and_its_driver_share_one_pass(monkeypatch):
    reductions = []
    reduce = Partitions.reduce

    def count_and_reduce(self, function, *arguments):
        reductions.append(function)
        return reduce(self, function, *arguments)

    full = make_problem("parity")
    partitioned = PartitionedProblem.from_problem(
        full, make_partitions([full.contribution(rows) for rows in blocks(N_SAMPLES, 7)])
    )
    monkeypatch.setattr(Partitions, "reduce", count_and_reduce)
    x = np.zeros(full.n_unknowns)
    multipliers = np.ones(len(full.lower))
    evaluations = [partitioned.evaluate(x) for _ in range(3)]
    evaluations[0].fun, evaluations[1].grad, evaluations[2].hessian(0 * multipliers)
    assert len(reductions) == 1
    partitioned.evaluate(x).hessian(multipliers)  # with new multipliers
    assert len(reductions) == 2


@specs
@pytest.mark.parametrize("loss", [None, SquaredLoss()])
def test_kernels_and_numpy_agree(spec, loss, monkeypatch):
    full = make_problem(spec, loss)
    x = RNG.normal(size=full.n_unknowns)
    multipliers = RNG.normal(size=len(full.lower))
    parameters = x[: full.n_parameters]
    rises = RNG.normal(size=(2, full.n_parameters))

    def results():
        partitioned = divide(full)
        yield from partitioned._reduce(x, multipliers, False)
        (counts,) = partitioned.partitions.reduce(_measure_models, np.array([parameters]))
        yield from (*counts[:3], *(one for moments in counts[3] for one in moments))
        for sums in (_residuals, _smooth_means):
            yield from partitioned.partitions.reduce(sums, parameters)

    compiled = [*results()]
    assert all(one.compiled is not None for one in divide(full).partitions.gather(_itself))
    monkeypatch.setattr(ConstrainedProblem, "compiled", None)
    for result, expected in zip(compiled, results(), strict=True):
        np.testing.assert_allclose(result, expected, atol=1e-12)
    if spec in ("parity", "sum of odds"):  # of decisions alone
        arguments = parameters, rises, np.ones(2)
        errors, means, negative = divide(full).partitions.reduce(count_along_lines, *arguments)
        monkeypatch.undo()
        result = divide(full).partitions.reduce(count_along_lines, *arguments)
        np.testing.assert_allclose(result[0], errors, atol=1e-12)
        np.testing.assert_allclose(result[1][0], means[0], atol=1e-12)
        np.testing.assert_allclose(result[2][0], negative[0], atol=1e-12)


def _itself(block):
    return block


@pytest.mark.parametrize(
    "case", ["custom loss", "custom rate", "sparse columns", "overlapping groups", "many columns"]
)
def test_without_a_kernel_numpy_is_used(case, monkeypatch):
    container = sparse.csr_array if case == "sparse columns" else np.asarray
    loss = (lambda *of: LogisticLoss()(*of)) if case == "custom loss" else None
    full = make_problem("parity", loss, container)
    (bound,) = full.constraint
    if case == "custom rate":
        smooth = (lambda scores, target: Sigmoid()(scores),)
        bound = replace(bound, sums=replace(bound.sums, smooth=smooth))
    if case == "overlapping groups":
        events = Events.overlapping(bound.sums.events.averaging_matrix.T > 0)
        cells = bound.sums.cells._replace(events=events)
        bound = replace(bound, sums=replace(bound.sums, cells=cells))
    if case == "many columns":
        monkeypatch.setattr(linear, "_MAX_KERNEL_COLUMNS", 2)
    full = replace(full, constraint=ConstraintSystem((bound,)))
    x = RNG.normal(size=full.n_unknowns)
    multipliers = RNG.normal(size=len(full.lower))
    expected = full.evaluate(x)
    partitioned = divide(full)
    if case in ("custom rate", "overlapping groups"):
        assert partitioned.compiled.evaluate(x, multipliers, False, None) is None
    else:
        assert partitioned.compiled is None
    result = partitioned.evaluate(x, multipliers)
    assert result.fun == pytest.approx(expected.fun, rel=1e-12)
    np.testing.assert_allclose(result.jacobian, expected.jacobian, atol=1e-12)
    hessian = expected.hessian(multipliers)
    np.testing.assert_allclose(result.hessian(multipliers), hessian, atol=1e-12)


def test_partitions_have_their_share_of_the_weight():
    full = make_problem("none")
    weights = np.concatenate(
        [full.contribution(rows).mean_weights for rows in blocks(N_SAMPLES, 7)]
    )
    np.testing.assert_allclose(weights, WEIGHTS / WEIGHTS.sum())
