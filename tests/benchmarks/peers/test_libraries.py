"""The linear program of LinearPost, which the comparison of libraries solves itself."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from benchmarks.erm_cases import Split
from benchmarks.peers.libraries import TOLERANCE, LinearPost, linear_post_weights
from skfair.metrics import demographic_parity_difference


@pytest.fixture
def program():
    """Gains and groups' probabilities of 400 samples: the group follows from the gain and noise."""
    rng = np.random.default_rng(0)
    gains = rng.uniform(-1, 1, size=400)
    member = 1 / (1 + np.exp(-2 * gains - rng.normal(size=400)))
    return gains, np.column_stack([member, 1 - member])


def rates_of(accepted, memberships):
    return accepted @ memberships / memberships.sum(axis=0)


def test_the_rule_of_the_dual_nearly_keeps_the_tolerance(program):
    gains, memberships = program
    accepted = gains > memberships @ linear_post_weights(gains, [memberships], TOLERANCE)
    # All decisions of the program are 0 or 1, except for one or two.
    one_sample = (memberships / memberships.sum(axis=0)).max()
    assert np.ptp(rates_of(accepted, memberships)) == pytest.approx(TOLERANCE, abs=2 * one_sample)
    assert np.ptp(rates_of(gains > 0, memberships)) > 2 * TOLERANCE


def test_each_block_has_rates_within_the_tolerance(program):
    gains, memberships = program
    is_true = 1 / (1 + np.exp(-4 * gains))
    blocks = [memberships * one[:, np.newaxis] for one in (is_true, 1 - is_true)]
    accepted = gains > np.hstack(blocks) @ linear_post_weights(gains, blocks, 0.1)
    for block in blocks:
        assert np.ptp(rates_of(accepted, block)) < 0.1 + 4 * (block / block.sum(axis=0)).max()
    assert min(np.ptp(rates_of(gains > 0, block)) for block in blocks) > 0.15


def test_no_shifted_rule_within_the_tolerance_gains_more(program):
    gains, memberships = program
    weights = linear_post_weights(gains, [memberships], TOLERANCE)
    best = gains[gains > memberships @ weights].sum()
    shares = memberships / memberships.sum(axis=0)
    for shift in np.linspace(-400, 400, 801):
        accepted = gains > shift * (shares[:, 0] - shares[:, 1])
        if np.ptp(accepted @ shares) <= TOLERANCE:
            assert gains[accepted].sum() <= best + 1


def test_equal_groups_have_no_multipliers():
    gains = np.array([0.4, 0.2, -0.1, -0.3])
    weights = linear_post_weights(gains, [np.full((4, 2), 0.5)], TOLERANCE)
    np.testing.assert_allclose(weights, 0, atol=1e-12)


def test_linear_post_reduces_the_gap_without_the_group():
    rng = np.random.default_rng(0)
    groups = rng.choice(["Female", "Male"], size=8_000)
    X = rng.normal(size=(8_000, 2)) + (groups == "Male")[:, np.newaxis]
    y = (X.sum(axis=1) + rng.logistic(size=8_000) > 1).astype(int)
    train, test = Split(X[:4_000], y[:4_000], groups[:4_000]), Split(X[4_000:], y[4_000:], None)
    post = LinearPost()
    decisions = post.predict(post.fit(LogisticRegression(), train), test)
    gap = demographic_parity_difference(test.y, decisions, sensitive_features=groups[4_000:])
    assert gap < TOLERANCE + 0.05  # 2,000 samples of each group: a standard error of .016
    plain = LogisticRegression().fit(train.X, train.y).predict(X[4_000:])
    assert demographic_parity_difference(test.y, plain, sensitive_features=groups[4_000:]) > 0.3
