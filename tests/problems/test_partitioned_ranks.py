"""Gaps on intervals of percentiles: partitions against the full data."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from skfair._bound.bound import ConstraintSystem
from skfair._fitting.fitter import Fitter
from skfair._groups import check_groups
from skfair._partitions.partitions import blocks, make_partitions
from skfair._problems import partitioned as partitioned_module
from skfair._problems.linear import LinearModel
from skfair._problems.partitioned import PartitionedRankProblem
from skfair._problems.problem import ConstrainedProblem
from skfair.constraints import PartialStatisticalParity
from skfair.groups import Samples
from skfair.losses import LogisticLoss
from skfair.solvers import SQP

INTERVALS = [(0.0, 1.0), (0.1, 0.4), [(0.05, 0.3), (0.5, 0.8)], (0.3, 1.0)]


@pytest.fixture(autouse=True)
def small_bins(monkeypatch):
    """Bins so small that they are divided several times."""
    monkeypatch.setattr(partitioned_module, "_N_BINS", 16)
    monkeypatch.setattr(partitioned_module, "_MAX_GATHERED", 40)


def draw(seed, is_tied, weighted, **criterion):
    rng = np.random.default_rng(seed)
    n_samples = 400
    groups = rng.integers(3, size=400)
    X = rng.normal(size=(n_samples, 2)) + 0.3 * groups[:, np.newaxis]
    X = np.round(X) if is_tied else X
    weights = rng.integers(1, 5, n_samples).astype(float) if weighted else np.ones(n_samples)
    target = rng.choice([-1.0, 1.0], n_samples)
    samples = Samples(target, check_groups(groups, n_samples), weights)
    loss = LogisticLoss()
    bound = PartialStatisticalParity(**criterion).bind(samples, None, loss, tolerance=0.05)
    model = LinearModel.from_features(X, weights)
    constraint = ConstraintSystem((bound,))
    full = ConstrainedProblem(model, loss, target, weights, 0.1, constraint)
    partitioned = make_partitions([full.contribution(rows) for rows in blocks(n_samples, size=130)])
    return (
        full,
        PartitionedRankProblem.from_problem(full, partitioned, full if seed % 2 else None),
        rng.normal(size=3),
    )


@pytest.mark.covering(1)
@pytest.mark.parametrize("is_tied", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", ["normalized", "raw"])
def test_the_gap_of_partitions_is_the_public_metric(is_tied, weighted, scale):
    for seed, interval in enumerate(INTERVALS):
        full, partitioned, parameters = draw(
            seed, is_tied, weighted, interval=interval, scale=scale
        )
        (bound,) = full.constraint
        expected = bound.value(full.predict_scores(parameters))
        assert Fitter(partitioned, None, SQP()).counter.measure_models([parameters])[0][2][
            0
        ] == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("surrogate", ["ramp", "sigmoid"])
def test_rows_and_derivatives_are_those_of_the_full_data(surrogate):
    full, partitioned, parameters = draw(1, False, True, interval=(0.1, 0.4), surrogate=surrogate)
    x = full.initial_point(parameters)
    multipliers = np.linspace(-1, 1, len(full.lower))
    expected = full.evaluate(x)
    result = partitioned.evaluate(x, multipliers)
    for name in ("fun", "grad", "values", "jacobian"):
        np.testing.assert_allclose(getattr(result, name), getattr(expected, name), atol=1e-12)
    for is_near in (False, True):
        exact = expected.hessian(multipliers, is_near)
        np.testing.assert_allclose(result.hessian(multipliers, is_near), exact, atol=1e-11)


def test_criteria_may_change_after_partitioning():
    full, partitioned, parameters = draw(1, False, False, interval=(0.1, 0.4))
    (bound,) = full.constraint
    gap = replace(bound.gap, criterion=bound.gap.criterion._narrow(0.3)._refine())
    changed = replace(bound, gap=gap)
    constraint = ConstraintSystem((changed,))
    full, partitioned = (replace(one, constraint=constraint) for one in (full, partitioned))
    x = full.initial_point(parameters)
    assert len(x) == 3 + 20
    np.testing.assert_allclose(partitioned.evaluate(x).values, full.evaluate(x).values, atol=1e-12)


def test_a_report_counts_all_samples():
    full, partitioned, parameters = draw(2, False, True, interval=(0.1, 0.4))
    objective, n_rows, report = Fitter(partitioned, None, SQP()).counter.summarize_model(parameters)
    assert objective == pytest.approx(
        Fitter(full, None, SQP()).counter.summarize_model(parameters)[0], rel=1e-12
    )
    assert n_rows == len(full.lower)
    scores = full.model.evaluate(parameters).scores
    (bound,) = full.constraint
    for row in pd.DataFrame(report).itertuples():
        members, shares = bound.sums.events.members(row.group)
        above = shares @ (scores[members] > row.threshold)
        assert row.estimate == pytest.approx(np.clip((above - 0.1) / 0.3, 0, 1), abs=1e-12)
        assert row.n == len(members)
