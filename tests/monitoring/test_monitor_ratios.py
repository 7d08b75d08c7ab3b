"""Monitors of ratios: of means such as premiums, and of rates."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import rel_entr

from skfair.constraints import DemographicParity, MeanParity
from skfair.monitoring import GapMonitor
from skfair.monitoring._state import RatioHypotheses, log_likelihood_ratio


def divergence(q, p):
    """Kullback-Leibler divergence of rates."""
    return rel_entr(q, p) + rel_entr(1.0 - q, 1.0 - p)


@pytest.mark.parametrize("seed", range(6))
def test_projections_are_those_of_a_solver(seed):
    rng = np.random.default_rng(seed)
    q, n = rng.uniform(0.1, 0.9, 3), rng.integers(5, 50, 3).astype(float)
    level = rng.uniform(0.0, 0.5)
    bounds = [
        {"type": "ineq", "fun": lambda p, i=i, j=j: p[j] - (1.0 - level) * p[i]}
        for i in range(3)
        for j in range(3)
        if i != j
    ]
    solved = minimize(
        lambda p: n @ divergence(q, p),
        np.full(3, q.mean()),
        constraints=bounds,
        bounds=[(1e-4, 1.0 - 1e-4)] * 3,
        options={"ftol": 1e-13, "maxiter": 500},
    ).x
    hypotheses = RatioHypotheses()
    np.testing.assert_allclose(hypotheses.project_means(q, n, level), solved, atol=1e-6)
    first, second = hypotheses._fit_boundary_means(q[0] * n[0], n[0], q[1] * n[1], n[1], level)
    pair = minimize(
        lambda p: n[:2] @ divergence(q[:2], np.append(p, (1.0 - level) * p)),
        [0.5],
        bounds=[(1e-4, 1.0 - 1e-4)],
        options={"ftol": 1e-14},
    ).x
    np.testing.assert_allclose((first, second), (pair[0], (1.0 - level) * pair[0]), atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_expected_return_of_bets_is_at_most_one_in_the_hypothesis(seed):
    """Of all counts of two groups, weighed by their probability."""
    rng = np.random.default_rng(seed)
    n, level = np.array([4.0, 3.0]), 0.3
    q = rng.uniform(0.05, 0.95, 2)
    p = RatioHypotheses().project_means(q, n, level)
    for largest in (0.2, 0.6, 0.99):
        for ratio in (1.0 - level, 0.9, 1.0):
            for means in ((largest, ratio * largest), (ratio * largest, largest)):
                # Of one sample: the groups of a sample are independent.
                of_groups = [
                    (
                        means[i] * np.exp(log_likelihood_ratio(1.0, 1.0, q[i], p[i]))
                        + (1.0 - means[i]) * np.exp(log_likelihood_ratio(0.0, 1.0, q[i], p[i]))
                    )
                    ** n[i]
                    for i in range(2)
                ]
                assert np.prod(of_groups) <= 1.0 + 1e-9


@pytest.mark.parametrize(("means", "ratio"), [([0.4, 0.2, 0.3], 0.5), ([0.3, 0.3], 1.0)])
def test_the_gap_is_one_minus_the_smallest_ratio(means, ratio):
    means = np.array(means)
    hypotheses = RatioHypotheses()
    assert hypotheses.tested_value(means) == pytest.approx(1.0 - ratio)
    low = hypotheses.lower_limit(means, means - 0.05, means + 0.05)
    high = hypotheses.upper_limit(means, means - 0.05, means + 0.05)
    assert low < 1.0 - ratio < high or (ratio == 1.0 and low == 0.0 < high)
    assert hypotheses.find_extremes(means)[1] == 0


def watch(ratio, seed, n_batches=20, constraint=None, **params):
    """Verdict of a monitor of premiums up to 500, whose means have this ratio."""
    rng = np.random.default_rng(seed)
    constraint = constraint or MeanParity(ratio=0.9)
    monitor = GapMonitor(constraint, value_range=(0.0, 500.0), **params)
    for _ in range(n_batches):
        group = rng.integers(2, size=300)
        premiums = 500.0 * rng.beta(2, 3, size=300) * np.where(group == 1, 1.0, ratio)
        monitor.update(None, premiums, sensitive_features=group)
    return monitor


def test_a_monitor_shows_and_contradicts_a_ratio_of_means():
    shown = watch(1.0, 0)
    assert shown.verdict_ == "shown"
    last = shown.summary().iloc[-1]
    assert 0.0 <= last["low"] <= last["gap"] <= last["high"] < 0.2
    alarm = watch(0.7, 0, run_length=100, windows=(1, 3))
    assert len(alarm.alarms_) > 0
    assert watch(0.7, 0).verdict_ == "contradicted"
    assert alarm.summary()["gap"].iloc[0] == pytest.approx(0.3, abs=0.05)


@pytest.mark.slow
def test_a_ratio_below_the_bound_is_hardly_ever_shown():
    assert [watch(0.895, seed, 10).verdict_ for seed in range(20)].count("shown") <= 1


def test_rates_have_ratios_too_and_the_state_is_stored():
    monitor = GapMonitor(DemographicParity(ratio=0.8))
    decisions = np.tile([1, 0, 1, 0], 500)
    groups = np.repeat(["a", "b"], 1000)
    for _ in range(3):
        monitor.update(None, decisions, sensitive_features=groups)
    assert monitor.verdict_ == "shown"
    assert GapMonitor.from_json(monitor.to_json()).summary().equals(monitor.summary())
