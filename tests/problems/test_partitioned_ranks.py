"""Gaps on intervals of percentiles, of parts against everybody at once."""

from dataclasses import replace

import numpy as np
import pytest

from skfair.constraints import ConstraintSystem, PartialStatisticalParity
from skfair.constraints.partial import _bins
from skfair.groups import Samples, check_groups
from skfair.losses import LogisticLoss
from skfair.models import LinearModel
from skfair.partitions import blocks, make_partitions
from skfair.problems import ConstrainedProblem, PartitionedRankProblem

INTERVALS = [(0.0, 1.0), (0.1, 0.4), [(0.05, 0.3), (0.5, 0.8)], (0.3, 1.0)]


@pytest.fixture(autouse=True)
def few_at_a_time(monkeypatch):
    """So few bins and people that they are divided several times."""
    monkeypatch.setattr(_bins, "_N_BINS", 16)
    monkeypatch.setattr(_bins, "_MAX_GATHERED", 40)


def draw(seed, is_tied, weighted, **criterion):
    rng = np.random.default_rng(seed)
    n_samples, groups = 400, rng.integers(3, size=400)
    X = rng.normal(size=(n_samples, 2)) + 0.3 * groups[:, np.newaxis]
    X = np.round(X) if is_tied else X
    weights = rng.integers(1, 5, n_samples).astype(float) if weighted else np.ones(n_samples)
    target = rng.choice([-1.0, 1.0], n_samples)
    people, loss = Samples(target, check_groups(groups, n_samples), weights), LogisticLoss()
    bound = PartialStatisticalParity(**criterion).bind(people, None, loss, tolerance=0.05)
    model = LinearModel.from_features(X, weights)
    constraint = ConstraintSystem((bound,))
    whole = ConstrainedProblem(model, loss, target, weights, 0.1, constraint)
    parts = make_partitions([whole.subset(rows) for rows in blocks(n_samples, size=130)])
    return (
        whole,
        PartitionedRankProblem.from_problem(whole, parts, whole if seed % 2 else None),
        rng.normal(size=3),
    )


@pytest.mark.parametrize("is_tied", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", ["normalized", "raw"])
def test_the_gap_of_parts_is_the_public_metric_of_everybody(is_tied, weighted, scale):
    for seed, interval in enumerate(INTERVALS):
        whole, parts, parameters = draw(seed, is_tied, weighted, interval=interval, scale=scale)
        (bound,) = whole.constraint
        expected = bound.gap(whole.model.evaluate(parameters).predictions)
        assert parts.gaps(parameters)[0] == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("surrogate", ["ramp", "sigmoid"])
def test_rows_and_derivatives_are_those_of_the_whole(surrogate):
    whole, parts, parameters = draw(1, False, True, interval=(0.1, 0.4), surrogate=surrogate)
    x, multipliers = whole.initial_point(parameters), np.linspace(-1, 1, len(whole.lower))
    expected, found = whole.evaluate(x), parts.evaluate(x, multipliers)
    for name in ("fun", "grad", "values", "jacobian", "aux_jacobian"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-12)
    for is_near in (False, True):
        exact = expected.hessian(multipliers, is_near)
        np.testing.assert_allclose(found.hessian(multipliers, is_near), exact, atol=1e-11)


def test_criteria_may_change_after_people_are_divided():
    whole, parts, parameters = draw(1, False, False, interval=(0.1, 0.4))
    (bound,) = whole.constraint
    changed = replace(bound, criterion=bound.criterion.narrow(0.3).refine())
    constraint = ConstraintSystem((changed,))
    whole, parts = (replace(one, constraint=constraint) for one in (whole, parts))
    x = whole.initial_point(parameters)
    assert len(x) == 3 + 20
    np.testing.assert_allclose(parts.evaluate(x).values, whole.evaluate(x).values, atol=1e-12)


def test_a_report_counts_everybody():
    whole, parts, parameters = draw(2, False, True, interval=(0.1, 0.4))
    objective, n_rows, report = parts.describe(parameters)
    assert objective == pytest.approx(whole.describe(parameters)[0], rel=1e-12)
    assert n_rows == len(whole.lower)
    scores = whole.model.evaluate(parameters).scores
    (bound,) = whole.constraint
    for row in report.itertuples():
        samples, shares = bound.events.members(row.group)
        above = shares @ (scores[samples] > row.threshold)
        assert row.rate == pytest.approx(np.clip((above - 0.1) / 0.3, 0, 1), abs=1e-12)
        assert row.n == len(samples)
