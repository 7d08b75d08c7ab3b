"""Gaps between groups that are missing for some samples, or known as probabilities."""

import numpy as np
import pandas as pd
import pytest

from skfair._statistics import hidden_groups as hidden
from skfair._statistics.hidden_groups import HiddenGap
from skfair.audit import SensitiveFeatures
from skfair.statistics import gap_interval


def draw(n, rng, n_groups=2):
    """Groups, features that depend on them, and decisions that depend on the features."""
    groups = rng.choice(
        n_groups, size=n, p=np.arange(1, n_groups + 1)[::-1] / sum(range(n_groups + 1))
    )
    X = rng.normal(size=(n, 3)) + np.outer(groups, [0.8, -0.5, 0.0])
    decisions = (X[:, 0] - X[:, 1] + rng.logistic(size=n) > 0.5).astype(int)
    return groups, X, decisions


def true_rates(n=400_000):
    groups, _, decisions = draw(n, np.random.default_rng(12345))
    return np.array([decisions[groups == g].mean() for g in (0, 1)])


def hide(groups, is_recorded):
    return np.where(is_recorded, groups.astype(str), None)


@pytest.mark.parametrize("n_groups", [2, 3])
def test_groups_that_are_all_recorded_have_the_interval_of_their_gap(n_groups):
    groups, X, decisions = draw(2000, np.random.default_rng(0), n_groups)
    gap = SensitiveFeatures(groups, X=X, missing="at_random").gap_interval(decisions)
    expected = gap_interval(decisions, sensitive_features=groups)
    assert (gap.estimate, gap.low, gap.high) == pytest.approx(expected)
    assert (gap.possible_low, gap.possible_high) == pytest.approx(expected[1:])
    assert gap.largest_odds_ratio == np.inf


def test_rates_may_be_over_the_samples_of_a_mask():
    rng = np.random.default_rng(0)
    groups, X, decisions = draw(3000, rng)
    y = rng.random(3000) < 0.4
    gap = SensitiveFeatures(groups, X=X, missing="at_random").gap_interval(decisions, where=y)
    expected = gap_interval(decisions[y], sensitive_features=groups[y])
    assert (gap.estimate, gap.low, gap.high) == pytest.approx(expected)


def test_ends_without_an_assumption_are_those_of_the_counts():
    rng = np.random.default_rng(1)
    groups, X, decisions = draw(1500, rng)
    is_recorded = rng.random(1500) < 0.5
    features = np.column_stack([X, decisions])
    one = hidden.make_recorded_groups(hide(groups, is_recorded), features, odds_ratio=np.inf)
    ends = one.extreme_rates(decisions.astype(float), [(np.ones(1500, dtype=bool), [0, 1])]).values
    unknown = [np.count_nonzero(~is_recorded & (decisions == v)) for v in (0, 1)]
    for g in (0, 1):
        members = is_recorded & (groups == g)
        n = members.sum()
        hits = decisions[members].sum()
        assert ends[g] == pytest.approx((hits + unknown[1]) / (n + unknown[1]))
        assert ends[2 + g] == pytest.approx(hits / (n + unknown[0]))


def test_no_choice_of_missing_groups_leaves_the_bounds():
    rng = np.random.default_rng(2)
    groups, X, decisions = draw(400, rng)
    is_recorded = rng.random(400) < 0.9
    gap = SensitiveFeatures(hide(groups, is_recorded), X=X, missing="at_random").gap_interval(
        decisions
    )
    for _ in range(50):
        filled = np.where(is_recorded, groups, rng.random(400) < rng.random())
        rates = [decisions[filled == g].mean() for g in (0, 1)]
        assert gap.possible_low <= np.ptp(rates) <= gap.possible_high
    for worst in (decisions, 1 - decisions):
        filled = np.where(is_recorded, groups, worst)
        rates = [decisions[filled == g].mean() for g in (0, 1)]
        assert gap.possible_low <= np.ptp(rates) <= gap.possible_high


def test_estimates_are_right_if_one_of_the_models_is():
    """Records depend on the decision, so that the recorded samples alone are biased."""
    rng = np.random.default_rng(0)
    n = 60_000
    groups, X, decisions = draw(n, rng)
    truth = np.array([decisions[groups == g].mean() for g in (0, 1)])
    is_recorded = rng.random(n) < 1.0 / (1.0 + np.exp(1.5 - 1.5 * decisions * (X[:, 0] > 0)))
    features = np.column_stack([X, decisions, decisions * (X[:, 0] > 0)])
    one = hidden.make_recorded_groups(hide(groups, is_recorded), features)
    values = decisions.astype(float)
    within = np.ones(n, dtype=bool)
    recorded = [decisions[is_recorded & (groups == g)].mean() for g in (0, 1)]
    assert (np.abs(recorded - truth) > 0.05).all()
    assert one.rates(values, within, [0, 1]).values == pytest.approx(truth, abs=0.015)
    # A useless model of the groups, then one of the record.
    probabilities, recording = one.probabilities, one.recording_probabilities
    one.probabilities = np.full_like(probabilities, 0.5)
    assert one.rates(values, within, [0, 1]).values == pytest.approx(truth, abs=0.015)
    one.probabilities, one.recording_probabilities = (
        probabilities,
        np.full_like(recording, is_recorded.mean()),
    )
    assert one.rates(values, within, [0, 1]).values == pytest.approx(truth, abs=0.015)


@pytest.mark.slow
def test_a_larger_odds_ratio_widens_the_interval_up_to_the_bounds():
    rng = np.random.default_rng(4)
    groups, X, decisions = draw(4000, rng)
    recorded = hide(groups, rng.random(4000) < 0.3)
    gaps = [
        SensitiveFeatures(recorded, X=X, odds_ratio=ratio, missing="at_random").gap_interval(
            decisions
        )
        for ratio in (1.0, 1.5, 3.0, np.inf)
    ]
    assert np.all(np.diff([gap.low for gap in gaps]) <= 0.0)
    assert np.all(np.diff([gap.high for gap in gaps]) >= 0.0)
    assert (gaps[-1].low, gaps[-1].high) == (gaps[0].possible_low, gaps[0].possible_high)
    # The lower limit reaches 0 at the largest odds ratio.
    largest = gaps[0].largest_odds_ratio
    assert 1.0 < largest < np.inf
    for factor, is_positive in ((0.999, True), (1.001, False)):
        at = SensitiveFeatures(
            recorded, X=X, odds_ratio=factor * largest, missing="at_random"
        ).gap_interval(decisions)
        assert (at.low > 0.0) == is_positive


def test_tilted_probabilities_have_the_slopes_of_finite_differences():
    p = np.linspace(0.05, 0.95, 7)
    factors = np.array([0.0, 0.4, 1.0, 3.0, np.inf])[:, np.newaxis]
    tilted, slopes = hidden._tilt_odds(p, factors)
    odds = tilted[1:4] / (1.0 - tilted[1:4])
    np.testing.assert_allclose(odds, factors[1:4] * p / (1.0 - p))
    ahead, _ = hidden._tilt_odds(p + 1e-6, factors)
    np.testing.assert_allclose(slopes, (ahead - tilted) / 1e-6, atol=1e-4)


def test_probabilities_of_0_and_1_are_groups():
    groups, _, decisions = draw(3000, np.random.default_rng(5), 3)
    probabilities = pd.DataFrame(np.eye(3)[groups], columns=list("abc"))
    expected = gap_interval(decisions, sensitive_features=groups)
    for missing in ("sufficient", "independent"):
        gap = SensitiveFeatures(probabilities=probabilities, missing=missing).gap_interval(
            decisions
        )
        assert gap.estimate == pytest.approx(expected.estimate)
        assert (gap.low, gap.high) == pytest.approx(expected[1:], abs=0.002)
    bounds = SensitiveFeatures(probabilities=probabilities).gap_interval(decisions)
    assert np.isnan(bounds.estimate)
    assert (bounds.low, bounds.high) == pytest.approx(expected[1:], abs=0.002)


def test_bounds_by_probabilities_are_those_of_the_best_and_worst_links():
    """Two levels of the probability: the extreme rates by hand."""
    n = 1000
    p = np.repeat([0.2, 0.7], n)
    values = np.concatenate([np.arange(n) < 400, np.arange(n) < 500]).astype(float)
    groups = hidden.ProbabilisticGroups(pd.DataFrame({"a": 1 - p, "b": p}))
    ends = groups.extreme_rates(values, [(np.ones(2 * n, dtype=bool), [0, 1])]).values
    # Group 1, best: 200 of 400 hits are its 200 members; 500 of 700 members are hits.
    assert ends[1] == pytest.approx((200 + 500) / 900)
    # Worst: 600 misses take all 200 members; 500 misses take 500 of 700.
    assert ends[3] == pytest.approx((0 + 200) / 900)
    # Group 0, best: 400 of 800, 300 of 300; worst: 800 - 600, 0.
    assert ends[0] == pytest.approx((400 + 300) / 1100)
    assert ends[2] == pytest.approx((200 + 0) / 1100)


@pytest.mark.parametrize("missing", ["sufficient", "independent"])
def test_assumptions_on_probabilities_that_are_true(missing):
    rng = np.random.default_rng(6)
    n = 100_000
    levels = np.array([0.15, 0.5, 0.9])
    z = rng.choice(levels, size=n)
    groups = (rng.random(n) < z).astype(int)
    by = z if missing == "sufficient" else groups
    values = (rng.random(n) < 0.2 + 0.5 * by).astype(int)
    means = [np.average(levels, weights=weights) for weights in (1 - levels, levels)]
    truth = 0.5 * (np.ptp(means) if missing == "sufficient" else 1.0)
    probabilities = np.column_stack([1 - z, z])
    gap = SensitiveFeatures(probabilities=probabilities, missing=missing).gap_interval(values)
    assert gap.estimate == pytest.approx(truth, abs=0.015)
    assert gap.low < truth < gap.high
    assert gap.possible_low <= truth <= gap.possible_high
    assert gap.assumption.startswith("if ")


@pytest.mark.slow
def test_probabilities_help_where_groups_are_missing():
    rng = np.random.default_rng(7)
    n = 20_000
    groups, X, decisions = draw(n, rng)
    z = np.where(groups == 1, 0.9, 0.1)
    recorded = hide(groups, rng.random(n) < 0.1)
    alone, both = (
        SensitiveFeatures(recorded, missing="at_random", X=X, **more).gap_interval(decisions)
        for more in ({}, {"probabilities": np.column_stack([1 - z, z])})
    )
    assert both.high - both.low < 0.7 * (alone.high - alone.low)


@pytest.mark.slow
def test_coverage_if_groups_are_missing_at_random():
    truth = np.ptp(true_rates())
    hits = 0
    for seed in range(50):
        rng = np.random.default_rng(seed)
        groups, X, decisions = draw(2000, rng)
        odds = 0.2 * np.exp(0.7 * X[:, 0].clip(-2, 2) + decisions)
        recorded = hide(groups, rng.random(2000) < odds / (1.0 + odds))
        gap = SensitiveFeatures(recorded, X=X, missing="at_random").gap_interval(decisions)
        hits += gap.low <= truth <= gap.high
    # Intervals that hold in .75 of samples would pass with a probability of .03.
    assert hits / 50 >= 0.95 - 3.0 * np.sqrt(0.95 * 0.05 / 50)


def test_the_statement_names_its_assumption():
    gap = HiddenGap(0.2, 0.16, 0.23, 0.0, 0.72, "if groups are missing at random", 0.95, 2.74)
    assert str(gap) == (
        "The gap is 0.20 (0.16 to 0.23, 95 %), if groups are missing at random. It is above 0 "
        "unless the odds of a group differ between samples with and without a record by a factor "
        "above 2.7. Whatever the groups are, it is between 0.00 and 0.72."
    )
    bounds = HiddenGap(np.nan, 0.0, 0.46, 0.0, 0.46, "however group and value are linked", 0.9)
    assert (
        str(bounds)
        == "The gap is between 0.00 and 0.46 (90 %), however group and value are linked."
    )


GROUPS = ["a", "b", None, "a", "b"] * 40
VALUES = [0, 1, 1, 0, 0] * 40


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"values": [0.5, 1.0] * 100}, "values must be 0 or 1"),
        ({"missing": "exclude", "X": None}, "missing must be 'at_random' for the gap"),
        ({"odds_ratio": 0.5}, "odds_ratio must be a number from 1 on"),
        ({"where": [0, 1] * 100}, "where must be a mask of booleans"),
        ({"where": [False] * 200}, "where must be a mask"),
        ({"confidence_level": 95}, "confidence_level must be a probability"),
        ({"probabilities": [[0.4, 0.4]] * 200}, "sum to 1"),
        ({"labels": ["a", None] * 100}, "Two groups or more must have 30"),
        ({"labels": [None] * 200}, "all of them are missing"),
        ({"X": [[0.0]] * 100}, "inconsistent numbers of samples"),
    ],
)
def test_what_cannot_be_estimated_is_refused(change, message):
    groups = {"labels": GROUPS, "missing": "at_random", "X": np.zeros((200, 1))}
    call = {"values": VALUES}
    for name, value in change.items():
        (groups if name in {*groups, "odds_ratio", "probabilities"} else call)[name] = value
    with pytest.raises(ValueError, match=message):
        SensitiveFeatures(**groups).gap_interval(**call)


def test_arguments_that_do_not_go_with_probabilities_alone():
    probabilities = np.full((200, 2), 0.5)
    with pytest.raises(ValueError, match="odds_ratio is about samples whose group is missing"):
        SensitiveFeatures(probabilities=probabilities, odds_ratio=2.0).gap_interval(VALUES)
    with pytest.raises(ValueError, match="missing must be one of"):
        SensitiveFeatures(probabilities=probabilities, missing="other").gap_interval(VALUES)
    with pytest.raises(ValueError, match="nearly collinear"):
        SensitiveFeatures(probabilities=probabilities, missing="independent").gap_interval(VALUES)


def test_warnings_name_what_is_left_out():
    with pytest.warns(UserWarning, match="Without X groups are assumed"):
        SensitiveFeatures(GROUPS, missing="at_random").gap_interval(VALUES)
    groups = [*GROUPS[:-10], *["c"] * 10]
    with pytest.warns(UserWarning, match="fewer than 30 samples .* not compared: 'c'"):
        SensitiveFeatures(groups, X=np.zeros((200, 1)), missing="at_random").gap_interval(VALUES)


def test_labels_of_unknown_groups_are_missing():
    X = np.arange(200.0)[:, np.newaxis]
    named = [group or "Unknown" for group in GROUPS]
    known = SensitiveFeatures(named, X=X, unknown=["unknown"], missing="at_random")
    expected = SensitiveFeatures(GROUPS, X=X, missing="at_random").gap_interval(VALUES)
    assert known.gap_interval(VALUES) == expected
