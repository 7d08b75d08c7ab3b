"""How likely a population keeps a tolerance: closed forms, other integrals, draws, coverage."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, studentized_range

from skfair._bound.bound import make_posterior
from skfair._groups import check_groups
from skfair._statistics.bounded_means import make_estimates
from skfair._statistics.gaps import (
    MonteCarloPosterior,
    cluster_effects_and_correlation,
    range_probability,
)
from skfair.constraints import (
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    LossParity,
    PartialDemographicParity,
    PartialGroupAUC,
    PartialStatisticalParity,
)
from skfair.groups import Samples
from skfair.losses import LogisticLoss
from skfair.surrogates import Sigmoid


def bound(constraint, target, groups, weights=None, tolerance=0.1):
    weights = np.ones(len(target)) if weights is None else weights
    samples = Samples(target, check_groups(groups, len(target)), weights)
    return constraint.bind(samples, Sigmoid(), LogisticLoss(), tolerance)


@pytest.mark.parametrize("n_rates", [2, 3, 5])
@pytest.mark.parametrize("width", [0.1, 0.4, 0.9])
def test_uniform_posteriors_by_hand(n_rates, width):
    # Half of one sample is positive: Beta(1, 1), and the range of k uniform numbers is known.
    probabilities = range_probability(np.full(n_rates, 0.5), np.ones(n_rates), width)
    known = n_rates * width ** (n_rates - 1) - (n_rates - 1) * width**n_rates
    assert probabilities == pytest.approx(known, abs=2e-4)


@pytest.mark.parametrize("n_rates", [2, 4, 10])
def test_many_equal_rates_have_the_range_of_normal_numbers(n_rates):
    error = np.sqrt(0.3 * 0.7 / 1e6)
    probabilities = range_probability(np.full(n_rates, 0.3), np.full(n_rates, 1e6), 3.0 * error)
    assert probabilities == pytest.approx(studentized_range.cdf(3.0, n_rates, np.inf), abs=1e-3)


@pytest.mark.parametrize(
    ("rates", "sizes", "width"),
    [
        ([0.2, 0.25], [40, 300], 0.1),
        ([0.0, 0.02, 0.05], [10, 50, 200], 0.1),
        ([1.0, 0.9], [7, 30], 0.2),
        ([0.5, 0.45, 0.55, 0.5], [1000, 2000, 500, 100], 0.12),
        ([0.3, 0.35], [20, 100_000], 0.15),
    ],
)
def test_the_integral_agrees_with_draws(rates, sizes, width):
    rates = np.array(rates)
    sizes = np.array(sizes)
    rng = np.random.default_rng(0)
    drawn = beta.rvs(
        rates * sizes + 0.5, (1 - rates) * sizes + 0.5, size=(200_000, len(rates)), random_state=rng
    )
    share = np.mean(np.ptp(drawn, axis=1) <= width)
    assert range_probability(rates, sizes, width) == pytest.approx(share, abs=0.005)
    # The probability of a ratio of at least 0.7, by the same integral.
    share = np.mean(drawn.min(axis=1) >= 0.7 * drawn.max(axis=1))
    assert range_probability(rates, sizes, 0.0, 0.7) == pytest.approx(share, abs=0.005)


def test_one_rate_has_no_range_and_a_width_of_one_has_probability_one():
    assert range_probability(np.array([0.3]), np.array([10]), 0.0) == pytest.approx(1.0)
    assert range_probability(np.array([0.0, 1.0]), np.array([10, 10]), 1.0) == pytest.approx(1.0)
    assert range_probability(np.array([0.0, 1.0]), np.array([100, 100]), 0.5) < 1e-6


@given(
    rates=st.lists(st.floats(0.0, 1.0), min_size=2, max_size=4),
    size=st.integers(1, 5000),
    width=st.floats(0.01, 0.5),
)
def test_wider_is_likelier(rates, size, width):
    rates, sizes = np.array(rates), np.full(len(rates), size)
    narrow, wide = (range_probability(rates, sizes, w) for w in (width, 1.5 * width))
    assert 0.0 <= narrow <= wide + 1e-9 <= 1.0 + 1e-9


@given(rate=st.floats(0.1, 0.9), gap=st.floats(0.0, 0.08), size=st.integers(20, 5000))
def test_more_samples_and_smaller_gaps_are_more_certain(rate, gap, size):
    parity = _posterior_of_rates([rate, min(1.0, rate + gap)], size)
    fewer = parity.probability(multiple=1.0)
    more = parity.probability(multiple=4.0)
    assert more >= fewer - 2e-3
    assert parity.probability(factor=0.5) >= fewer - 2e-3


def _posterior_of_rates(rates, size):
    """Posterior of groups of `size` samples with these rates."""
    groups = np.repeat(np.arange(len(rates)), size)
    place = np.tile(np.arange(size), len(rates))
    scores = np.where(place < np.repeat(np.round(np.array(rates) * size), size), 1.0, -1.0)
    return make_posterior(bound(DemographicParity(), np.ones(len(groups)), groups), scores)


def test_probabilities_of_disjoint_cells_multiply():
    rng = np.random.default_rng(0)
    target = rng.choice([-1.0, 1.0], 600)
    groups = rng.integers(2, size=600)
    scores = rng.normal(size=600) + 0.2 * groups
    odds = make_posterior(bound(EqualizedOdds(), target, groups, tolerance=0.15), scores)
    cells = [
        make_posterior(bound(EqualOpportunity(), side * target, groups, tolerance=0.15), scores)
        for side in (1.0, -1.0)
    ]
    product = np.prod([cell.probability(0.7, 2.0) for cell in cells])
    assert odds.probability(0.7, 2.0) == pytest.approx(product)


def test_a_constant_weight_does_not_change_the_posterior():
    rng = np.random.default_rng(1)
    groups = rng.integers(2, size=400)
    scores = rng.normal(size=400)
    once = make_posterior(bound(DemographicParity(), np.ones(400), groups), scores)
    twice = make_posterior(
        bound(DemographicParity(), np.ones(400), groups, np.full(400, 2.0)), scores
    )
    assert twice.probability() == pytest.approx(once.probability())


@pytest.mark.parametrize("parity", [DemographicParity(), DemographicParity(ratio=0.8)], ids=str)
def test_drawn_rates_agree_with_the_integral(parity):
    rng = np.random.default_rng(2)
    groups = rng.integers(3, size=900)
    scores = rng.normal(size=900)
    exact = make_posterior(bound(parity, np.ones(900), groups), scores)
    total = bound(DemographicParity(aggregate="sum"), np.ones(900), groups)
    values = (scores > 0).astype(float)
    estimates = make_estimates(total.sums.events, values)
    drawn = MonteCarloPosterior(
        (estimates.values, None), estimates.sizes, None, exact.aggregate, exact.tolerance
    )
    for factor in (0.0, 0.5, 1.0):
        assert drawn.probability(factor) == pytest.approx(exact.probability(factor), abs=0.02)


@pytest.mark.parametrize(
    "reference, aggregate",
    [
        ("overall", "max"),
        ("overall", "mean"),
        ("above_overall", "max"),
        ("above_overall", "mean"),
        ("above_overall", "signed_mean"),
    ],
)
def test_groups_against_all_samples_are_drawn_jointly(reference, aggregate):
    # Half of the overall rate is the group's: the excess is half the groups' difference, and that
    # of the other group its negative.
    rng = np.random.default_rng(3)
    groups = np.repeat([0, 1], 500)
    scores = rng.normal(size=1000)
    against = DemographicParity(reference=reference, aggregate=aggregate)
    against = make_posterior(bound(against, np.ones(1000), groups, tolerance=0.05), scores)
    between = make_posterior(
        bound(DemographicParity(), np.ones(1000), groups, tolerance=0.1), scores
    )
    if aggregate == "max" or reference == "overall":
        assert against.probability() == pytest.approx(between.probability(), abs=0.02)
    assert against.probability() >= between.probability() - 0.02


def test_claims_about_losses_hold_with_the_stated_probability():
    # Logistic losses are skewed. Where the tolerance is the population's gap, a probability of .9
    # is claimed in a tenth of the samples, and one of .5 in half.
    rng = np.random.default_rng(4)
    target = np.ones(400)
    groups = np.repeat([0, 1], 200)
    shift = np.repeat([1.0, 0.4], 200)
    grid = np.linspace(-9.0, 9.0, 4001)
    density = np.exp(-(grid**2) / 2) / np.sqrt(2 * np.pi) * (grid[1] - grid[0])
    worse, better = (density @ np.log1p(np.exp(-(grid + one))) for one in (0.4, 1.0))
    parity = bound(LossParity(), target, groups, tolerance=worse - better)
    probabilities = [
        make_posterior(parity, rng.normal(size=400) + shift).probability() for _ in range(300)
    ]
    assert abs(np.mean(np.array(probabilities) >= 0.9) - 0.1) <= 2.5 * np.sqrt(0.09 / 300)
    assert abs(np.mean(np.array(probabilities) >= 0.5) - 0.5) <= 2.5 * np.sqrt(0.25 / 300)


@pytest.mark.parametrize("criterion", [PartialStatisticalParity, PartialDemographicParity])
def test_curves_shrink_and_grow_certain(criterion):
    rng = np.random.default_rng(5)
    groups = rng.integers(2, size=2000)
    scores = rng.normal(size=2000) + 0.1 * groups
    partial = bound(criterion((0.2, 0.6), scale="raw"), np.ones(2000), groups, tolerance=0.06)
    posterior = make_posterior(partial, scores)
    probabilities = [posterior.probability(factor) for factor in (1.0, 0.5, 0.0)]
    assert probabilities == sorted(probabilities)
    assert posterior.probability(1e-9, multiple=1e6) == 1.0
    assert posterior.probability(0.0, multiple=10.0) >= probabilities[-1]


def test_many_thresholds_need_no_smaller_level_than_one():
    # At the worst threshold alone, equal groups keep the tolerance about as often as one rate does.
    rng = np.random.default_rng(8)
    groups = rng.integers(2, size=2000)
    scores = rng.normal(size=2000)
    criterion = PartialStatisticalParity((0.2, 0.6), scale="raw")
    posterior = make_posterior(bound(criterion, np.ones(2000), groups, tolerance=0.06), scores)
    share = np.abs(rng.normal(scale=2.0 * 0.5 / np.sqrt(2000), size=100_000)) <= 0.06
    assert posterior.probability(0.0) == pytest.approx(share.mean(), abs=0.01)


def test_pairs_of_samples_have_no_posterior():
    rng = np.random.default_rng(6)
    scores = rng.normal(size=400)
    groups = rng.integers(2, size=400)
    with pytest.raises(ValueError, match="PartialGroupAUC, which compares pairs"):
        make_posterior(bound(PartialGroupAUC(), np.ones(400), groups), scores)


def test_clusters_of_equal_samples_count_once():
    rng = np.random.default_rng(7)
    groups = rng.integers(2, size=400)
    scores = rng.normal(size=400)
    copies = np.repeat(np.arange(400), 4)
    for constraint in (DemographicParity(), LossParity(), PartialStatisticalParity((0.2, 0.6))):
        once = make_posterior(bound(constraint, np.ones(400), groups), scores)
        bound_to_copies = bound(constraint, np.ones(1600), groups[copies])
        clustered = make_posterior(bound_to_copies, scores[copies], copies)
        naive = make_posterior(bound_to_copies, scores[copies])
        np.testing.assert_allclose(clustered.sizes, once.sizes, rtol=0.02)
        assert clustered.probability() == pytest.approx(once.probability(), abs=0.02)
        np.testing.assert_allclose(naive.sizes, 4 * once.sizes)


def test_clusters_of_independent_samples_change_little():
    rng = np.random.default_rng(8)
    groups = np.repeat([0, 1], 1000)
    values = rng.normal(size=2000)
    events = bound(DemographicParity(), np.ones(2000), groups).sums.events
    effects, correlation = cluster_effects_and_correlation(events, values, np.arange(2000) // 2)
    assert (effects < 1.15).all()  # 1 but for chance
    assert correlation is None  # no cluster has samples of both groups


def test_clusters_across_groups_correlate_their_means():
    # Couples have equal decisions: the difference of the two groups has no error.
    rng = np.random.default_rng(9)
    couples = np.tile(np.arange(500), 2)
    groups = np.repeat([0, 1], 500)
    values = rng.normal(size=500)[couples]
    events = bound(DemographicParity(), np.ones(1000), groups).sums.events
    effects, correlation = cluster_effects_and_correlation(events, values, couples)
    np.testing.assert_allclose(effects, 500 / 499)
    np.testing.assert_allclose(correlation, 1.0)
    decisions = np.where(values > 0, 1.0, -1.0)
    parity = bound(DemographicParity(), np.ones(1000), groups, tolerance=0.01)
    assert make_posterior(parity, decisions).probability() < 0.5
    assert make_posterior(parity, decisions, couples).probability() > 0.9


def test_a_cluster_robust_variance_is_that_of_cluster_means():
    rng = np.random.default_rng(10)
    clusters = np.repeat(np.arange(60), 5)
    values = rng.normal(size=60)[clusters] + 0.5 * rng.normal(size=300)
    events = bound(DemographicParity(), np.ones(300), np.zeros(300, dtype=int)).sums.events
    effects, _ = cluster_effects_and_correlation(events, values, clusters)
    means = values.reshape(60, 5).mean(axis=1)
    robust = means.var(ddof=1) / 60
    assert effects[0] * values.var() / 300 == pytest.approx(robust)
