"""Gaps between groups that are missing for some samples, or known as probabilities."""

import numpy as np
import pandas as pd
import pytest

from skfair._statistics import hidden_groups as hidden
from skfair.audit import Audit, SensitiveFeatures
from skfair.constraints import DemographicParity
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


def model(recorded, features, odds_ratio=1.0):
    """Model two groups, 0 and 1, of which some are None."""
    codes = np.array([-1 if one is None else int(one) for one in recorded])
    return hidden.RecordedGroups(["0", "1"], codes, features, odds_ratio)


def claim(decisions, y=None, level=0.975, constraint="demographic_parity", **known):
    """The claim about a gap, by default at a level with the upper limit of an interval at .95."""
    audit = Audit.from_predictions(y, decisions, sensitive_features=SensitiveFeatures(**known))
    return audit.certify(constraint, 0.5, confidence_level=level)


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("odds_ratio", [1.0, np.inf])
def test_groups_that_are_all_recorded_have_the_limit_of_their_gap(n_groups, odds_ratio):
    groups, X, decisions = draw(2000, np.random.default_rng(0), n_groups)
    gap = claim(decisions, labels=groups, X=X, missing="at_random", odds_ratio=odds_ratio)
    expected = gap_interval(decisions, sensitive_features=groups)
    assert (gap.estimate, gap.high) == pytest.approx((expected.estimate, expected.high))


def test_rates_may_be_over_the_samples_of_an_outcome():
    rng = np.random.default_rng(0)
    groups, X, decisions = draw(3000, rng)
    y = rng.random(3000) < 0.4
    known = {"labels": groups, "X": X, "missing": "at_random"}
    gap = claim(decisions, y, constraint="equal_opportunity", **known)
    expected = gap_interval(decisions[y], sensitive_features=groups[y])
    assert (gap.estimate, gap.high) == pytest.approx((expected.estimate, expected.high))


def test_ends_without_an_assumption_are_those_of_the_counts():
    rng = np.random.default_rng(1)
    groups, X, decisions = draw(1500, rng)
    is_recorded = rng.random(1500) < 0.5
    features = np.column_stack([X, decisions])
    one = model(hide(groups, is_recorded), features, odds_ratio=np.inf)
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
    recorded = hide(groups, is_recorded)
    gap = claim(decisions, labels=recorded, X=X, missing="at_random", odds_ratio=np.inf)
    for _ in range(50):
        filled = np.where(is_recorded, groups, rng.random(400) < rng.random())
        rates = [decisions[filled == g].mean() for g in (0, 1)]
        assert gap.low <= np.ptp(rates) <= gap.high
    for worst in (decisions, 1 - decisions):
        filled = np.where(is_recorded, groups, worst)
        rates = [decisions[filled == g].mean() for g in (0, 1)]
        assert gap.low <= np.ptp(rates) <= gap.high


def test_estimates_are_right_if_one_of_the_models_is():
    """Records depend on the decision, so that the recorded samples alone are biased."""
    rng = np.random.default_rng(0)
    n = 60_000
    groups, X, decisions = draw(n, rng)
    truth = np.array([decisions[groups == g].mean() for g in (0, 1)])
    is_recorded = rng.random(n) < 1.0 / (1.0 + np.exp(1.5 - 1.5 * decisions * (X[:, 0] > 0)))
    features = np.column_stack([X, decisions, decisions * (X[:, 0] > 0)])
    one = model(hide(groups, is_recorded), features)
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
        claim(decisions, labels=recorded, X=X, odds_ratio=ratio, missing="at_random")
        for ratio in (1.0, 1.5, 3.0, 1e6, np.inf)
    ]
    assert np.all(np.diff([gap.low for gap in gaps]) <= 0.0)
    assert np.all(np.diff([gap.high for gap in gaps]) >= 0.0)
    assert gaps[0].low > 0.0 == gaps[-1].low
    assert gaps[-2].high == pytest.approx(gaps[-1].high, abs=1e-3)


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
    for missing in ("error", "sufficient", "independent"):
        gap = claim(decisions, probabilities=probabilities, missing=missing)
        assert gap.estimate == pytest.approx(expected.estimate)
        assert gap.high == pytest.approx(expected.high, abs=0.002)


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
    gap = claim(values, probabilities=probabilities, missing=missing)
    assert gap.estimate == pytest.approx(truth, abs=0.015)
    assert gap.low < truth < gap.high
    bounds = claim(values, probabilities=probabilities)
    assert bounds.low <= truth <= bounds.high
    assert gap.assumption.startswith("if ")


@pytest.mark.slow
def test_probabilities_help_where_groups_are_missing():
    rng = np.random.default_rng(7)
    n = 20_000
    groups, X, decisions = draw(n, rng)
    z = np.where(groups == 1, 0.9, 0.1)
    recorded = hide(groups, rng.random(n) < 0.1)
    alone, both = (
        claim(decisions, labels=recorded, missing="at_random", X=X, **more)
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
        gap = claim(decisions, labels=recorded, X=X, missing="at_random")
        hits += gap.low <= truth <= gap.high
    # Intervals that hold in .75 of samples would pass with a probability of .03.
    assert hits / 50 >= 0.95 - 3.0 * np.sqrt(0.95 * 0.05 / 50)


GROUPS = ["a", "b", None, "a", "b"] * 40
VALUES = [0, 1, 1, 0, 0] * 40


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"odds_ratio": 0.5}, "odds_ratio must be a number from 1 on"),
        ({"level": 95}, "confidence_level must be a probability"),
        ({"probabilities": [[0.4, 0.4]] * 200}, "sum to 1"),
        ({"labels": ["a", None] * 100}, "two groups to be compared"),
        ({"labels": [None] * 200}, "all of them are missing"),
        ({"X": [[0.0]] * 100}, "inconsistent numbers of samples"),
    ],
)
def test_what_cannot_be_estimated_is_refused(change, message):
    known = {"labels": GROUPS, "missing": "at_random", "X": np.zeros((200, 1))}
    with pytest.raises(ValueError, match=message):
        claim(VALUES, **(known | change))


def test_arguments_that_do_not_go_with_probabilities_alone():
    probabilities = np.full((200, 2), 0.5)
    with pytest.raises(ValueError, match="odds_ratio is about samples whose group is missing"):
        claim(VALUES, probabilities=probabilities, odds_ratio=2.0)
    with pytest.raises(ValueError, match="missing must be one of"):
        claim(VALUES, probabilities=probabilities, missing="other")
    with pytest.raises(ValueError, match="nearly collinear"):
        claim(VALUES, probabilities=probabilities, missing="independent")


def test_groups_with_few_records_are_refused_without_features_with_a_warning():
    with pytest.warns(UserWarning, match="Without X groups are assumed"):
        claim(VALUES, labels=GROUPS, missing="at_random")
    groups = [*GROUPS[:-10], *["c"] * 10]
    with pytest.raises(ValueError, match=r"must each have 30 recorded samples.*one has 10"):
        claim(
            VALUES,
            labels=groups,
            X=np.zeros((200, 1)),
            missing="at_random",
            constraint=DemographicParity(min_group_size=1),
        )


def test_labels_of_unknown_groups_are_missing():
    X = np.arange(200.0)[:, np.newaxis]
    named = [group or "Unknown" for group in GROUPS]
    known = claim(VALUES, labels=named, X=X, unknown=["unknown"], missing="at_random")
    expected = claim(VALUES, labels=GROUPS, X=X, missing="at_random")
    assert (known.low, known.high) == (expected.low, expected.high)
