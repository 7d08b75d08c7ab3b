import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse, stats

from skfair._groups.events import Events
from skfair._statistics.bounded_means import make_estimates
from skfair._statistics.estimates import Means, Rates, _hall_quantile, pairwise_contrasts
from skfair._statistics.gaps import Interval, gap_upper_limit, interval_of_largest_contrast
from skfair.statistics import gap_interval, ratio_interval


def zeros_and_ones(hits, n):
    """Values with these hits of n, and the groups."""
    values = np.concatenate([np.arange(of) < x for x, of in zip(hits, n, strict=True)])
    return values.astype(int), np.repeat(np.arange(len(n)), n)


@pytest.mark.parametrize(
    "hits, n, low, high",
    [  # Newcombe 1998, table II, method 10
        ((56, 48), (70, 80), 0.0524, 0.3339),
    ],
)
def test_two_rates_have_newcombes_interval(hits, n, low, high):
    values, groups = zeros_and_ones(hits, n)
    rates = Rates(Events.disjoint(groups, 2, np.ones(len(groups))), values)
    rates._list_exact_pairs = lambda contrasts: []  # Newcombe's limits alone
    interval = interval_of_largest_contrast(rates, pairwise_contrasts(2), 0.95)
    assert interval.estimate == pytest.approx(hits[0] / n[0] - hits[1] / n[1])
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=5e-5)
    # Exact limits, which hold for so few samples, are no narrower.
    exact = gap_interval(values, sensitive_features=groups)
    assert exact.low <= interval.low and exact.high >= interval.high


def test_rates_near_0_or_1_have_exact_limits():
    """The upper limit of 9 of 10 and the lower one of 3 of 10, Newcombe's .1705 to .8090."""
    values, groups = zeros_and_ones((9, 3), (10, 10))
    rates = Rates(Events.disjoint(groups, 2, np.ones(len(groups))), values)
    rates._list_exact_pairs = lambda contrasts: []  # Newcombe's limits alone
    interval = interval_of_largest_contrast(rates, pairwise_contrasts(2), 0.95)
    low = stats.beta.ppf(0.025, [9, 3], [2, 8])
    high = stats.beta.ppf(0.975, [10, 4], [1, 7])
    assert interval.high == pytest.approx(0.6 + np.hypot(high[0] - 0.9, 0.3 - low[1]))
    assert interval.low == pytest.approx(0.6 - np.hypot(0.9 - low[0], high[1] - 0.3))
    assert interval.low < 0.1705 and interval.high > 0.8090


@pytest.mark.parametrize(
    "n, rates",
    [((5, 500), (0.02, 0.02)), ((30, 3000), (0.005, 0.005)), ((10, 1000), (0.3, 0.1))]
    + [((1000, 1000), (0.3, 0.35)), ((100, 100), (0.5, 0.5))],
)
def test_coverage_of_unequal_groups_and_small_rates(n, rates):
    """Probability of the pairs of counts whose interval contains the gap."""
    likely = [np.flatnonzero(stats.binom.pmf(np.arange(m + 1), m, p) > 1e-4) for m, p in
              zip(n, rates, strict=True)]  # fmt: skip
    first, second = (x.ravel() for x in np.meshgrid(*likely, indexing="ij"))
    estimates = [_Counted(x, m) for x, m in zip((first, second), n, strict=True)]
    (low1, high1), (low2, high2) = (one.limits(0.975) for one in estimates)
    p1, p2 = (one.values for one in estimates)
    up = p1 - p2 + np.hypot(high1 - p1, p2 - low2), p2 - p1 + np.hypot(high2 - p2, p1 - low1)
    down = p1 - p2 - np.hypot(p1 - low1, high2 - p2), p2 - p1 - np.hypot(p2 - low2, high1 - p1)
    gap = abs(rates[0] - rates[1]) + np.array([-1e-9, 1e-9])
    held = (np.maximum(*down) <= gap[1]) & (np.maximum(*up) >= gap[0])
    chances = stats.binom.pmf(first, n[0], rates[0]) * stats.binom.pmf(second, n[1], rates[1])
    assert chances @ held >= 0.94 * chances.sum()


class _Counted(Rates):
    """Rates of counts alone."""

    is_weighted = False

    def __init__(self, hits, n):
        self.values, self.sizes = hits / n, np.full(len(hits), float(n))


def test_the_limit_of_many_groups_is_the_largest_of_those_of_pairs():
    values, groups = zeros_and_ones((10, 30, 45), (100, 100, 120))
    pairs = [(0, 1), (0, 2), (1, 2)]
    alone = [
        gap_interval(values[inside], sensitive_features=groups[inside]).high
        for inside in (np.isin(groups, pair) for pair in pairs)
    ]
    assert gap_interval(values, sensitive_features=groups).high == pytest.approx(max(alone))


def test_two_means_of_symmetric_values_have_limits_made_of_students():
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 1.5, 2.0, 2.5])
    groups = [0, 0, 0, 0, 0, 1, 1, 1]
    interval = gap_interval(values, sensitive_features=groups)
    reach = [
        stats.t.ppf(0.975, len(sample) - 1) * stats.sem(sample)
        for sample in (values[:5], values[5:])
    ]
    assert interval.high == pytest.approx(1.0 + np.hypot(*reach))
    assert interval.low == 0.0
    welch = stats.ttest_ind(values[:5], values[5:], equal_var=False).confidence_interval(0.95)
    assert interval.high > welch.high


def test_halls_limits_by_hand():
    x = np.array([0.0, 0.0, 1.0, 3.0])  # mean 1, variance 2, third moment (8 - 2) / 4 = 1.5
    means = Means(Events.disjoint(np.zeros(4, dtype=int), 1), x)
    t = stats.t.ppf(0.9, 3)
    error = np.sqrt(2.0 / 4)
    naive = (1.5 / 4**2) / error**3
    skewness = naive * (1.0 + 4.0 * naive)

    def studentise(distance):
        """Hall's transformation of the distance from the mean, in standard errors."""
        g = skewness
        return distance + g * distance**2 / 3 + g**2 * distance**3 / 27 + g / 6

    low, high = means.limits(0.9)
    assert studentise((1.0 - high[0]) / error) == pytest.approx(-t)
    assert high[0] > 1.0 + t * error
    assert low == pytest.approx([1.0 - t * error])  # Hall's is nearer, so that Student's stays
    lowest, highest = Means(Events.disjoint(np.zeros(4, dtype=int), 1), -x).limits(0.9)
    assert (lowest[0], highest[0]) == pytest.approx((-high[0], -low[0]))


def test_limits_of_a_difference_of_skewed_means_by_hand():
    """The long tail of one mean counts, by its share in the variance or, if larger, by its size."""
    first = np.array([0.0, 0.0, 1.0, 3.0])
    second = np.array([2.0, 4.0, 6.0, 8.0, 10.0, 12.0])
    events = Events.disjoint(np.repeat([0, 1], (4, 6)), 2)
    high = (
        Means(events, np.concatenate((first, second))).upper(pairwise_contrasts(2)[[0]], 0.9).item()
    )
    naive = (1.5 / 4**2) / (2.0 / 4) ** 1.5
    variances = np.array([2.0 / 4, 14.0 / 6])  # the first has .18 of the variance, .6 by its size
    skewness = naive * (1.0 + 4.0 * naive) * 0.6**1.5
    error = np.sqrt(variances.sum())
    quantile = np.hypot(*(stats.t.ppf(0.9, [3, 5]) * np.sqrt(variances))) / error
    distance = 3.0 / skewness * (1.0 - np.cbrt(1.0 - skewness * (quantile + skewness / 6.0)))
    assert high == pytest.approx(1.0 - 7.0 + distance * error)
    # The other way round the long tail is on the other side: Student's margins.
    low = (
        Means(events, np.concatenate((first, second))).upper(pairwise_contrasts(2)[[1]], 0.9).item()
    )
    assert low == pytest.approx(7.0 - 1.0 + quantile * error)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Limits of means")
def test_intervals_of_skewed_means_of_50_are_narrow_and_hold():
    """Lognormal values with a gap of .3, of which the standard error is .4."""
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1], 50)
    intervals = []
    for _ in range(1000):
        values = rng.lognormal(np.log(np.array([1.65, 1.95]))[groups] - 0.5, 1.0)
        intervals.append(gap_interval(values, sensitive_features=groups))
    _, low, high = np.array(intervals).T
    assert ((low <= 0.3) & (high >= 0.3)).mean() >= 0.93
    assert (high - low).mean() <= 2.4 and np.median(high - low) <= 1.8


@pytest.mark.parametrize("level", [0.9, 0.975, 0.999])
def test_skewness_widens_limits_of_means(level):
    t = stats.norm.ppf(level)
    reach = _hall_quantile(np.full(400, t), np.linspace(0.0, 4.0, 400))
    assert reach[0] == pytest.approx(t) and (np.diff(reach) >= -1e-9).all()
    every = np.linspace(1e-3, 4.0, 4000)
    free = 3.0 / every * (1.0 - np.cbrt(1.0 - every * (t + every / 6.0)))
    assert reach[-1] >= 0.97 * free.max()


@pytest.mark.parametrize("t", [1e3, 1e8, 1e50, 1e100])
def test_a_limit_of_a_skewed_mean_is_at_most_four_large_quantiles_away(t):
    distances = _hall_quantile(np.full(3, t), np.array([0.01, 0.5, 5.0]))
    assert distances == pytest.approx(np.full(3, 4.0 * t), rel=1e-4)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Limits of means")
@pytest.mark.parametrize("n", [(200, 200), (300, 30), (100, 1000)])
def test_coverage_of_skewed_means(n):
    """Losses of which a few are large, where Johnson's term held in .57 to .86."""
    rng = np.random.default_rng(1)
    draws = 400
    held = 0
    codes = np.repeat([0, 1], n)
    events = Events.disjoint(codes, 2)
    for _ in range(draws):
        drawn = rng.standard_gamma(0.1, size=len(codes))
        interval = interval_of_largest_contrast(
            make_estimates(events, drawn), pairwise_contrasts(2), 0.95
        )
        held += interval.low <= 1e-12  # both groups have a mean of .1
    assert draws - held <= stats.binom.isf(0.001, draws, 0.06)


def test_values_too_skewed_for_their_number_are_warned_of():
    values = np.concatenate((np.arange(30.0), [*np.zeros(28), 1.0, 90.0]))
    groups = np.repeat(["a", "b"], 30)
    with pytest.warns(UserWarning, match="in 1 of 2 groups, .* smallest has 30 samples"):
        gap_interval(values, sensitive_features=groups)
    with pytest.warns(UserWarning, match="or all equal: so they are in 1 of 2 groups"):
        gap_interval(np.where(groups == "a", values, 3.5), sensitive_features=groups)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gap_interval(np.tile(values[:30], 2), sensitive_features=groups)


def test_a_group_of_one_has_infinite_limits_of_its_mean():
    interval = gap_interval([0.3, 0.5, 0.9], sensitive_features=["a", "a", "b"])
    assert interval.low == 0.0 and interval.high == np.inf


def test_ratio_by_hand():
    values, groups = zeros_and_ones((56, 48), (70, 80))
    interval = ratio_interval(values, sensitive_features=groups)
    hits = np.array([56, 48])
    n = np.array([70, 80])
    wilson_low, wilson_high = _wilson(hits / n, n)
    low = np.log(np.minimum(wilson_low, stats.beta.ppf(0.025, hits, n - hits + 1)))
    high = np.log(np.maximum(wilson_high, stats.beta.ppf(0.975, hits + 1, n - hits)))
    first, second = np.log(0.8), np.log(0.6)
    up = first - second + np.hypot(high[0] - first, second - low[1])
    down = first - second - np.hypot(first - low[0], high[1] - second)
    assert interval == pytest.approx((0.75, np.exp(-up), np.exp(-down)), rel=1e-6)


def _wilson(p, n):
    z = 1.959964
    center = p + z**2 / (2 * n)
    reach = z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return (center - reach) / (1 + z**2 / n), (center + reach) / (1 + z**2 / n)


def test_ratios_with_rates_of_0():
    assert np.isnan(ratio_interval([0, 0, 0, 0], sensitive_features=list("aabb")).estimate)
    values, groups = zeros_and_ones((0, 40), (50, 50))
    interval = ratio_interval(values, sensitive_features=groups)
    assert interval.estimate == interval.low == 0.0 and 0.0 < interval.high < 0.3


def test_equal_weights_are_no_weights():
    values, groups = zeros_and_ones((10, 30), (80, 90))
    plain = gap_interval(values, sensitive_features=groups)
    assert gap_interval(
        values, sensitive_features=groups, sample_weight=np.full(170, 3.0)
    ) == pytest.approx(plain)


def test_uneven_weights_widen_by_the_effective_size_and_warn():
    rng = np.random.default_rng(0)
    values, groups = zeros_and_ones((100, 130), (400, 400))
    weights = rng.exponential(size=800)
    plain = gap_interval(values, sensitive_features=groups)
    weighted = gap_interval(values, sensitive_features=groups, sample_weight=weights)
    ratio = (weighted.high - weighted.estimate) / (plain.high - plain.estimate)
    assert 1.25 < ratio < 1.6  # the design effect of exponential weights is 2
    with pytest.warns(UserWarning, match="design effect above 4"):
        gap_interval(values, sensitive_features=groups, sample_weight=weights**3)


def test_overlapping_groups_use_their_correlation():
    """A group and one that contains it differ by the rest: Newcombe's paired method."""
    rng = np.random.default_rng(1)
    values = (rng.random(4000) < 0.3).astype(float)
    inside = np.column_stack((np.ones(4000), rng.random(4000) < 0.9)).astype(bool)
    both = Rates(Events.overlapping(sparse.csr_array(inside)), values)
    reach = gap_upper_limit(both, pairwise_contrasts(2), 0.975) - abs(np.diff(both.values)[0])
    # mean of 10 % less than that of 90 %: the standard error of a difference of disjoint groups
    error = 0.1 * np.sqrt(0.3 * 0.7 * (1 / 400 + 1 / 3600))
    assert reach == pytest.approx(1.96 * error, rel=0.1)
    means = Means(Events.overlapping(sparse.csr_array(inside)), values)
    reach = gap_upper_limit(means, pairwise_contrasts(2), 0.975) - abs(np.diff(means.values)[0])
    assert reach == pytest.approx(1.96 * error, rel=0.1)


@given(
    hits=st.lists(st.integers(0, 40), min_size=2, max_size=5),
    level=st.floats(0.5, 0.99),
)
def test_limits_contain_the_gap_and_widen_with_the_level(hits, level):
    values, groups = zeros_and_ones(hits, [40] * len(hits))
    interval = gap_interval(values, sensitive_features=groups, confidence_level=level)
    wider = gap_interval(values, sensitive_features=groups, confidence_level=(1 + level) / 2)
    assert 0.0 <= wider.low <= interval.low <= interval.estimate + 1e-12
    assert interval.estimate - 1e-12 <= interval.high <= wider.high <= 1.0 + 1e-9


@pytest.mark.covering(1)
@pytest.mark.parametrize("k", [2, 4, 10])
@pytest.mark.parametrize("apart", [0.0, 0.2])
def test_coverage(k, apart):
    """Of 300 seeded samples at most the number miss that has a probability of 1 in 1000 at .94."""
    rng = np.random.default_rng(k)
    n = np.full(k, 60)
    draws = 300
    rates = 0.3 + apart * np.linspace(0, 1, k)
    pairs = pairwise_contrasts(k)
    codes = np.repeat(np.arange(k), n)
    events = Events.disjoint(codes, k)
    held = 0
    for _ in range(draws):
        drawn = rng.random(len(codes)) < rates[codes]
        interval = interval_of_largest_contrast(make_estimates(events, drawn), pairs, 0.95)
        held += interval.low <= apart + 1e-12 <= interval.high + 2e-12
    assert draws - held <= stats.binom.isf(0.001, draws, 0.06)


def test_the_gap_of_one_group_is_zero():
    assert gap_interval([0, 1], sensitive_features=["a", "a"]) == Interval(0.0, 0.0, 0.0)


@pytest.mark.parametrize("level", [0.0, 1.0, 95, -0.1, "0.95", np.nan, True])
def test_a_confidence_level_is_a_probability(level):
    with pytest.raises(ValueError, match="confidence_level must be a probability strictly between"):
        gap_interval([0, 1], sensitive_features=["a", "b"], confidence_level=level)


def test_a_ratio_is_of_rates():
    with pytest.raises(ValueError, match="values must be 0 or 1"):
        ratio_interval([0.5, 1.0], sensitive_features=["a", "b"])


@pytest.mark.slow
def test_100_000_groups_are_refused_at_once():
    with pytest.raises(ValueError, match="must be at most 1000 groups, .* got 100000"):
        gap_interval(np.zeros(100_000), sensitive_features=np.arange(100_000).astype(str))


@pytest.mark.parametrize("seed", range(5))
def test_weighted_rates_of_1_and_0_are_not_certain(seed):
    """Weights whose shares add up to a little more or less than 1."""
    weights = np.random.default_rng(seed).exponential(size=1200)
    for rate in (0.0, 1.0):
        interval = make_estimates(
            Events.disjoint(np.zeros(1200, dtype=int), 1, weights), np.full(1200, rate)
        )
        low, high = interval.limits(0.95)
        assert interval.values == [rate] and 0 < interval.sizes < 1200
        assert 0.0 < high - low < 0.01
