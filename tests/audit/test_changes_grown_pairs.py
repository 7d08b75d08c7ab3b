"""Pairs of groups whose difference grew: by hand, with the same samples, and in draws."""

import numpy as np
import pytest
from scipy.stats import norm

from skfair.audit import Audit


def audit_of(groups, decisions):
    return Audit.from_predictions(None, decisions, sensitive_features=groups)


def decide(n, *n_positive):
    return np.concatenate([np.arange(n) < one for one in n_positive]).astype(int)


def test_the_pair_is_the_one_that_a_z_test_finds_among_three():
    n = 4000
    groups = np.repeat([*"abc"], n)
    before = audit_of(groups, decide(n, 1200, 1200, 1200))
    after = audit_of(groups, decide(n, 1200, 1240, 1400))
    gap = before.compare(after).gaps.iloc[0]
    assert gap["grown"] == ("c", "a")
    names = ["pair_before", "pair_after", "pair_change"]
    assert gap[names].tolist() == pytest.approx([0.0, 0.05, 0.05])
    error = np.sqrt(3 * 0.3 * 0.7 / n + 0.35 * 0.65 / n)
    limits = 0.05 + norm.ppf([0.025, 0.975]) * error
    assert gap[["pair_low", "pair_high"]].tolist() == pytest.approx(limits.tolist(), abs=2e-4)
    # c to b rose by .04, with z = 3.86 beyond the quantile of Holm's second step.
    assert 0.04 / error > norm.ppf(1 - 0.05 / 4)
    changes = before.compare(after)
    assert changes.has_finding
    assert "the difference of 'c' to 'a' is shown to have grown, from +0 to +5, by +5 (" in str(
        changes.findings
    )


def test_a_gap_that_changes_sides_or_shrinks_names_no_pair():
    groups = np.repeat([*"ab"], 4000)
    first, second = (audit_of(groups, decide(4000, *one)) for one in ((1200, 1600), (1600, 1200)))
    for before, after in ((first, second), (first, audit_of(groups, decide(4000, 1400, 1400)))):
        changes = before.compare(after)
        assert changes.gaps["grown"].isna().all() and not changes.has_finding


def test_decisions_that_change_on_the_same_samples_name_their_group():
    """McNemar's test of 40 withdrawn decisions of b; a and b differ by chance before."""
    n = 1000
    groups = np.repeat([*"ab"], n)
    before = decide(n, 450, 440)
    after = before.copy()
    after[n : n + 40] = 0
    paired = audit_of(groups, before).compare(after).gaps.iloc[0]
    assert paired["grown"] == ("a", "b") and paired["verdict"] == "open"
    other = audit_of(groups, before).compare(audit_of(groups, after)).gaps.iloc[0]
    assert other["grown"] is None
    assert paired["pair_low"] == pytest.approx(0.04 - 1.96 * np.sqrt(0.04 * 0.96 / n), abs=2e-3)


def test_protected_changes_state_no_limits_of_a_pair():
    groups = np.repeat([*"ab"], 1000)
    before, after = decide(1000, 450, 440), decide(1000, 450, 400)
    changes = audit_of(groups, before).compare(after, min_published=5)
    assert np.isnan(changes.gaps["pair_low"].astype(float)).all()
    assert not changes.frame["change_low"].notna().any()


def count_named(rates_before, rates_after, n, n_draws, seed):
    """Draws of different samples of which a pair is named."""
    groups = np.repeat(np.arange(len(rates_before)), n)
    n_named = 0
    for draw in range(n_draws):
        rng = np.random.default_rng([seed, draw])
        first, second = (
            audit_of(groups, (rng.random(len(groups)) < np.repeat(rates, n)).astype(int))
            for rates in (rates_before, rates_after)
        )
        n_named += first.compare(second).gaps["grown"].notna().item()
    return n_named


@pytest.mark.slow
def test_a_pair_among_three_groups_is_named_in_half_of_all_draws_and_rarely_falsely():
    # no gap -> .12 in groups of 400; equal gaps of .12 before and after
    assert count_named((0.3, 0.3, 0.3), (0.3, 0.36, 0.42), 400, 120, 1) >= 60
    assert count_named((0.3, 0.36, 0.42), (0.3, 0.36, 0.42), 400, 120, 2) <= 12


@pytest.mark.slow
def test_growth_on_the_same_samples_is_found():
    """16 % of the decisions on c are withdrawn: a true growth of 7.2 points."""
    n_named = 0
    for seed in range(60):
        rng = np.random.default_rng(500 + seed)
        groups = rng.choice(["a", "c"], 3000, p=[0.7, 0.3])
        before = (rng.random(3000) < 0.45).astype(int)
        after = np.where((groups == "c") & (rng.random(3000) < 0.16), 0, before)
        (grown,) = audit_of(groups, before).compare(after).gaps["grown"]
        n_named += grown == ("a", "c")
    assert n_named >= 45
