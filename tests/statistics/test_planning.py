from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.linear_model import LinearRegression

from benchmarks.guarantees.sample_size import certified_share, guaranteed_share
from skfair._statistics.areas import AUCs
from skfair._statistics.estimates import pairwise_contrasts
from skfair._statistics.gaps import (
    balance_limit,
    gap_lower_limit,
    gap_upper_limit,
    range_probability,
)
from skfair._statistics.limits_of_rates import rate_limits
from skfair._statistics.planning import (
    certificate_power,
    minimum_rate_power,
    ratio_power,
    smallest_certifiable_size,
)
from skfair.constraints import DemographicParity, MaximumRate, MinimumRate
from skfair.statistics import gap_interval, ratio_interval, required_sample_size
from tests.audit.doors import certify_predictions, skip_unexamined_numbers

TABLE = {  # samples of each group at a rate of .2, confidence .95 and power .8
    2: {0.01: 27404, 0.02: 6851, 0.05: 1096, 0.1: 274},
    4: {0.01: 41778, 0.02: 10445, 0.05: 1671, 0.1: 418},
    10: {0.01: 58689, 0.02: 14672, 0.05: 2348, 0.1: 587},
}


@pytest.mark.covering(0)
@pytest.mark.parametrize("n_groups", TABLE)
def test_sample_sizes_equal_the_table(n_groups):
    """The table is rounded to the nearest, and sample sizes are rounded up."""
    for tolerance, n in TABLE[n_groups].items():
        assert 0 <= required_sample_size(tolerance, n_groups=n_groups, rate=0.2) - n <= 1


def test_the_power_is_the_requested_one():
    """A seeded simulation at the planned sample size."""
    rng = np.random.default_rng(0)
    rate = 0.3
    tolerance = 0.1
    n = required_sample_size(tolerance, n_groups=3, rate=rate)
    rates = rng.binomial(n, rate, size=(4000, 3)) / n
    errors = np.sqrt(2 * rate * (1 - rate) / n)
    shown = np.ptp(rates, axis=1) + stats.norm.ppf(0.95) * errors <= tolerance
    assert 0.78 < shown.mean() < 0.82


@pytest.mark.covering(1)
@pytest.mark.parametrize("n_groups", [2, 4, 10])
@pytest.mark.parametrize("rate", [0.001, 0.005, 0.02])
@pytest.mark.parametrize("tolerance", [0.05, 0.1, 0.5])
def test_small_rates_have_the_requested_power(rate, tolerance, n_groups):
    n = required_sample_size(tolerance, n_groups=n_groups, rate=rate)
    assert n >= np.log(0.05) / np.log(1 - tolerance)
    assert certificate_power(n, tolerance, np.full(n_groups, rate), 0.95) >= 0.78
    # A smaller count has too little power.
    if n > smallest_certifiable_size(tolerance, 0.95):
        assert certificate_power(n - 1, tolerance, np.full(n_groups, rate), 0.95) < 0.81


@pytest.mark.slow
def test_the_power_is_that_of_certificates(monkeypatch):
    """Two routes: binomial sums, and `certify` on drawn decisions."""
    skip_unexamined_numbers(monkeypatch)
    n, rate, tolerance = 62, 0.03, 0.1
    constraint = DemographicParity(tolerance=tolerance)
    drawn = certified_share(n, rate, constraint, 3, 2000, np.random.default_rng(0))
    assert drawn == pytest.approx(certificate_power(n, tolerance, np.full(3, rate), 0.95), abs=0.04)


def test_successes_and_failures_need_samples_of_the_same_size():
    assert required_sample_size(0.1, rate=0.98) == required_sample_size(0.1, rate=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ratio", "rate", "n_groups"),
    [
        (0.8, 0.3, 2),
        (0.8, 0.9, 4),
        (0.6, 0.05, 3),
    ],
)
def test_ratios_have_the_requested_power(ratio, rate, n_groups):
    """Two routes: binomial sums, and `ratio_interval` of drawn decisions."""
    n = required_sample_size(ratio=ratio, rate=rate, n_groups=n_groups)
    assert 0.8 <= ratio_power(n, ratio, np.full(n_groups, rate), 0.95) < 0.85
    assert ratio_power(n - 1, ratio, np.full(n_groups, rate), 0.95) < 0.8
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(n_groups), n)
    shown = 0
    for counts in rng.binomial(n, rate, size=(300, n_groups)):
        decisions = np.tile(np.arange(n), n_groups) < np.repeat(counts, n)
        interval = ratio_interval(
            decisions.astype(int), sensitive_features=groups, confidence_level=0.9
        )
        shown += interval.low >= ratio  # one-sided at .95
    assert shown / 300 == pytest.approx(0.8, abs=0.07)


@pytest.mark.slow
def test_sizes_for_ratios_grow_with_the_ratio_and_at_small_rates():
    """The logarithm of a rate p has the variance (1 - p) / (n p)."""
    sizes = [required_sample_size(ratio=ratio, rate=0.2) for ratio in (0.7, 0.8, 0.9)]
    assert sizes == sorted(sizes) and len(set(sizes)) == 3
    errors = np.sqrt(2.0) * (stats.norm.ppf(0.95) + stats.norm.ppf(0.9))
    for rate in (0.001, 0.2, 0.5):
        normal = (1 - rate) / rate * (errors / np.log(0.8)) ** 2
        assert required_sample_size(ratio=0.8, rate=rate) == pytest.approx(normal, rel=0.06)


@pytest.mark.slow
@pytest.mark.parametrize("n_groups", [2, 5])
@pytest.mark.parametrize("bound", ["tolerance", "ratio"])
def test_a_model_with_the_expected_gap_is_certified_with_the_power(bound, n_groups):
    """Intervals of drawn decisions, of half of the groups with either rate."""
    limit, expected = (0.2, 0.1) if bound == "tolerance" else (0.6, 0.8)
    n = required_sample_size(**{bound: limit}, expected=expected, rate=0.36, n_groups=n_groups)
    smallest = 0.31 if bound == "tolerance" else 0.32
    rates = np.resize([0.72 - smallest, smallest], n_groups)
    interval = gap_interval if bound == "tolerance" else ratio_interval
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(n_groups), n)
    shown = 0
    for counts in rng.binomial(n, rates, size=(400, n_groups)):
        decisions = np.tile(np.arange(n), n_groups) < np.repeat(counts, n)
        limits = interval(decisions * 1, sensitive_features=groups, confidence_level=0.9)
        shown += limits.high <= limit if bound == "tolerance" else limits.low >= limit
    assert shown / 400 == pytest.approx(0.8, abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "expected", "size"), [(0.03, 0.02, 45), (0.04, 0.06, 94), (0.96, 0.05, 69)]
)
def test_the_power_at_an_expected_gap_is_exact_at_small_rates(rate, expected, size, monkeypatch):
    """Two routes: binomial sums, and `certify` on drawn decisions. Without a gap 45 suffice."""
    skip_unexamined_numbers(monkeypatch)
    assert required_sample_size(0.15, rate=rate) == 45
    n = required_sample_size(0.15, expected=expected, rate=rate)
    assert n == size
    rates = rate + np.array([-expected / 2.0, expected / 2.0])
    smaller, power = (certificate_power(size, 0.15, rates, 0.95) for size in (n - 1, n))
    assert smaller < 0.8 <= power
    constraint = DemographicParity(tolerance=0.15)
    rng = np.random.default_rng(0)
    drawn = certified_share(n, rates, constraint, 2, 2000, rng)
    assert drawn == pytest.approx(power, abs=0.03)


def test_the_size_of_a_fit_with_an_expected_gap_is_between_its_bounds():
    """One that uses half of the tolerance, by the rule of a fit that uses none."""
    none, half, rest = (
        required_sample_size(tolerance, expected=expected, rate=0.2, purpose="fit")
        for tolerance, expected in ((0.05, None), (0.05, 0.025), (0.025, 0.0))
    )
    assert 2 * none < half < rest


@pytest.mark.parametrize("wrong", [{}, {"tolerance": 0.1, "ratio": 0.8}])
def test_either_a_tolerance_or_a_ratio_is_planned(wrong):
    with pytest.raises(ValueError, match="Pass exactly one of tolerance, ratio"):
        required_sample_size(**wrong)
    with pytest.raises(ValueError, match="ratio=80 is more"):
        required_sample_size(ratio=80)


@pytest.mark.parametrize(
    "wrong", [{"tolerance": 0.0}, {"rate": 1.0}, {"power": 1}, {"n_groups": 1}, {"n_groups": 2.5}]
)
def test_numbers_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be"):
        required_sample_size(**({"tolerance": 0.1} | wrong))


def test_balance_limit_of_two_groups_is_the_exact_one():
    labels = np.zeros(50, dtype=int)
    group = np.repeat(["a", "b"], [20, 30])
    limits = balance_limit(labels, sensitive_features=group)
    share = stats.binomtest(20, 50).proportion_ci(0.9, method="exact").low
    assert limits == pytest.approx((2 / 3, share / (1 - share), 1.0))


def test_a_cluster_without_two_groups_has_no_balance():
    limits = balance_limit([0, 0, 0, 1], sensitive_features=["a", "b", "c", "c"])
    assert limits == (0.0, 0.0, 1.0)


@pytest.mark.slow
def test_weighted_balance_limits_hold():
    """Shares of 2 to 3 in the least balanced cluster, design effect 2, weights of mean 100."""
    rng = np.random.default_rng(0)
    held = []
    shares = np.array([[2, 3, 3], [3, 3, 3], [3, 3, 4], [4, 4, 3]]) / 38.0
    for _ in range(400):
        cells = rng.choice(12, size=600, p=shares.ravel())
        weights = rng.gamma(1.0, 100.0, size=600) + 1e-6
        limits = balance_limit(cells // 3, sensitive_features=cells % 3, sample_weight=weights)
        held.append(limits.low <= 2 / 3)
    assert np.mean(held) >= 0.93
    plain, equal = (
        balance_limit(cells // 3, sensitive_features=cells % 3, sample_weight=weights)
        for weights in (None, np.full(600, 100.0))
    )
    assert equal == pytest.approx(plain)


def test_balance_limits_hold():
    """Three groups in two clusters; at most the number of misses that is likely at .95."""
    rng = np.random.default_rng(0)
    n_misses = 0
    shares = np.array([[0.2, 0.15, 0.15], [0.1, 0.2, 0.2]])
    for _ in range(200):
        cells = rng.choice(6, size=300, p=shares.ravel())
        low = balance_limit(cells // 3, sensitive_features=cells % 3).low
        n_misses += low > 0.5
    assert n_misses <= stats.binom.isf(0.001, 200, 0.05)


def test_a_cluster_that_no_sample_shows_has_a_limit_of_0():
    """Clusters of 49, 49 and 2 %, the last of one group: without n_clusters it is forgotten."""
    rng = np.random.default_rng(0)
    n_forgotten = 0
    for _ in range(100):
        cells = rng.choice(5, size=60, p=[0.245, 0.245, 0.245, 0.245, 0.02])
        labels, groups = cells // 2, cells % 2
        n_forgotten += balance_limit(labels, sensitive_features=groups).low > 0.0
        assert balance_limit(labels, sensitive_features=groups, n_clusters=3).low == 0.0
    assert 15 < n_forgotten < 45
    shown = balance_limit([0, 1] * 40, sensitive_features=["a", "a", "b", "b"] * 20, n_clusters=2)
    assert shown.low > 0.3


def test_the_number_of_clusters_is_that_of_a_clustering():
    labels, groups = [0, 1] * 20, ["a", "a", "b", "b"] * 10
    limit = partial(balance_limit, labels, sensitive_features=groups)
    for clustering in (KMeans(3), AgglomerativeClustering(3)):
        assert limit(n_clusters=clustering).low == limit(n_clusters=3).low == 0.0
    assert limit(n_clusters=KMeans(2)) == limit()
    for wrong in (0, True, 2.5, LinearRegression()):
        with pytest.raises(ValueError, match="n_clusters must be a positive integer"):
            limit(n_clusters=wrong)
    with pytest.raises(ValueError, match="it has 1, and the labels name 2"):
        limit(n_clusters=1)


def test_a_missing_group_leaves_no_balance():
    assert balance_limit([0, 0, 1], sensitive_features=["a", "b", "a"]).low == 0.0
    assert balance_limit([0, 1], sensitive_features=["a", "a"]).low == 1.0


def _auc(positive, scores):
    above = scores[positive][:, np.newaxis] - scores[~positive]
    return np.mean((above > 0) + (above == 0) / 2)


def _jackknife_error(positive, scores):
    """Jackknife standard error within each class, which is DeLong's."""
    variance = 0.0
    for rows in (np.flatnonzero(positive), np.flatnonzero(~positive)):
        left = [_auc(np.delete(positive, i), np.delete(scores, i)) for i in rows]
        variance += (len(rows) - 1) / len(rows) * np.sum((left - np.mean(left)) ** 2)
    return np.sqrt(variance)


def test_areas_have_delongs_errors():
    rng = np.random.default_rng(0)
    positive = rng.random(300) < 0.4
    scores = np.round(rng.normal(size=300) + positive, 1)
    members = np.split(np.arange(300), [120])
    areas = AUCs(positive, scores, members, np.ones(300))
    low, high = areas.limits(0.975)
    for k, rows in enumerate(members):
        assert areas.values[k] == pytest.approx(_auc(positive[rows], scores[rows]))
        # Symmetric on the logit scale, with Student's quantile by the variance of placements.
        area = areas.values[k]
        error = _jackknife_error(positive[rows], scores[rows]) / (area * (1 - area))
        degrees = _degrees_by_placements(positive[rows], scores[rows])
        reach = stats.t.ppf(0.975, degrees) * error
        assert special.logit(high[k]) - special.logit(area) == pytest.approx(reach, rel=1e-6)
        assert special.logit(area) - special.logit(low[k]) == pytest.approx(reach, rel=1e-6)


def _degrees_by_placements(positive, scores):
    """2 V^2 / Var(V), with the sample variances and fourth moments of both classes' placements."""
    wins = np.sign(scores[positive][:, None] - scores[~positive]) / 2 + 0.5
    placements = wins.mean(axis=1), wins.mean(axis=0)
    variances = [one.var(ddof=1) / len(one) for one in placements]
    relative = [stats.kurtosis(one, fisher=False) - 1.0 for one in placements]
    spread = sum(
        v**2 * k / len(one) for v, k, one in zip(variances, relative, placements, strict=True)
    )
    return min(2.0 * sum(variances) ** 2 / spread, min(map(len, placements)) - 1)


def _draw_areas(rng, sizes, area):
    """`AUCs` of groups of so many positives and negatives, whose true area is `area`."""
    positive = np.repeat([True, False] * len(sizes), np.ravel(sizes))
    scores = rng.normal(size=len(positive)) + np.sqrt(2) * stats.norm.ppf(area) * positive
    members = np.split(np.arange(len(positive)), np.cumsum(np.sum(sizes, axis=1))[:-1])
    return AUCs(positive, scores, members, np.ones(len(positive)))


@pytest.mark.parametrize(("sizes", "area"), [((8, 30), 0.9), ((12, 60), 0.97), ((40, 200), 0.97)])
def test_areas_of_small_groups_are_missed_no_more_often_than_stated(sizes, area):
    """The plain scale misses in .12 to .20 of samples, nearly always above."""
    rng = np.random.default_rng(0)
    n_draws = 300
    n_errors = n_above = 0
    for _ in range(n_draws):
        areas = _draw_areas(rng, [sizes, (100, 400)], area)
        low, high = areas.limits(0.975)
        n_errors += not low[0] <= area <= high[0]
        n_above += gap_lower_limit(areas, pairwise_contrasts(2), 0.975) > 0
    # The largest number that a true share of .05 shows in .99 of the tests.
    assert max(n_errors, n_above) <= stats.binom.ppf(0.99, n_draws, 0.05)


def test_equal_weights_leave_areas_and_limits_alone():
    rng = np.random.default_rng(1)
    positive = rng.random(900) < 0.5
    scores = rng.normal(size=900)
    members = [np.arange(450), np.arange(450, 900)]
    plain = AUCs(positive, scores, members, np.ones(900))
    weighted = AUCs(positive, scores, members, np.full(900, 2.5))
    np.testing.assert_allclose(weighted.limits(0.9), plain.limits(0.9))
    assert gap_upper_limit(plain, pairwise_contrasts(2), 0.95) < 0.15


def test_perfect_areas_are_not_certain():
    positive = np.arange(20) < 10
    low, high = AUCs(positive, positive * 1.0, [np.arange(20)], np.ones(20)).limits(0.95)
    assert low < 0.9 and high == 1.0


def test_weighted_areas_have_students_quantiles():
    rng = np.random.default_rng(0)
    n = 30
    positive = np.tile([True, False], n)
    scores = rng.normal(size=2 * n)
    weights = np.ones(2 * n)
    plain, scaled, uneven = (
        AUCs(positive, scores + positive, [np.arange(2 * n)], w)
        for w in (weights, 100.0 * weights, rng.gamma(1.0, 100.0, size=2 * n) + 1e-6)
    )
    np.testing.assert_allclose(plain.limits(0.975), scaled.limits(0.975))
    assert plain.counts == uneven.counts == n and uneven.sizes[0] < 0.8 * n
    reach = special.logit(uneven.values) - special.logit(uneven.limits(0.975)[0])
    expected = stats.t.ppf(0.975, uneven.sizes - 1) * uneven._errors
    np.testing.assert_allclose(reach, expected / (uneven.values * (1 - uneven.values)))


PLANNED_FITS = {2: 492, 4: 845, 10: 1283}  # tolerance .05, rate .2, a training gap of 0


@pytest.mark.parametrize("n_groups", PLANNED_FITS)
def test_a_fit_of_equal_rates_needs_the_size_of_the_table(n_groups):
    """Hardly any power: out-of-fold rates as equal as those of the training data."""
    n = required_sample_size(0.05, n_groups=n_groups, rate=0.2, power=1e-12, purpose="fit")
    noise = 0.6 * stats.studentized_range.ppf(1e-12, n_groups, np.inf)
    certain = stats.studentized_range.ppf(0.95, n_groups, np.inf)
    assert n * (certain / (certain + noise)) ** 2 == pytest.approx(PLANNED_FITS[n_groups], rel=4e-3)


@pytest.mark.covering(0)
@pytest.mark.parametrize(
    ("n_groups", "power"), [(2, 0.5), (2, 0.8), (4, 0.8), (4, 0.9), (6, 0.8), (10, 0.8)]
)
def test_the_size_of_a_fit_is_enough_for_noisy_rates(n_groups, power):
    """Two routes: the formula, and posteriors of rates that are drawn with their noise."""
    rate, tolerance, n_draws = 0.3, 0.1, 300
    n = required_sample_size(tolerance, n_groups=n_groups, rate=rate, power=power, purpose="fit")
    rates = np.random.default_rng(0).binomial(n, rate, size=(n_draws, n_groups)) / n
    sizes = np.full(n_groups, n)
    share = np.mean([range_probability(one, sizes, tolerance) >= 0.95 for one in rates])
    assert share == pytest.approx(power, abs=0.1)


@pytest.mark.parametrize("n_groups", [2, 5])
def test_half_the_tolerance_of_a_fit_takes_four_times_as_many_samples(n_groups):
    sizes = [required_sample_size(t, n_groups=n_groups, purpose="fit") for t in (0.04, 0.02)]
    assert sizes[1] == pytest.approx(4 * sizes[0], rel=0.01)


def test_the_size_of_a_fit_is_the_smallest():
    """At rates near 0 and 1 too, where the prior counts."""
    for rate in (0.5, 0.01, 0.995):
        n = required_sample_size(0.1, rate=rate, purpose="fit")
        certain, noise = stats.studentized_range.ppf([0.95, 0.8], 2, np.inf)
        width = 0.1 * certain / (certain + 0.6 * noise)
        rates = np.full(2, rate)
        assert range_probability(rates, np.full(2, n), width) >= 0.95
        assert range_probability(rates, np.full(2, n - 1), width) < 0.95


def test_sizes_of_fits_grow_with_groups_level_and_power():
    sizes = [
        required_sample_size(0.1, purpose="fit", **params)
        for params in (
            {"confidence_level": 0.8},
            {"power": 0.5},
            {},
            {"power": 0.95},
            {"confidence_level": 0.99},
            {"n_groups": 3},
        )
    ]
    assert sizes[0] < sizes[2] < sizes[4] and sizes[1] < sizes[2] < sizes[3]
    assert sizes[2] < sizes[5]


def test_an_unknown_purpose_is_refused():
    with pytest.raises(
        ValueError, match="purpose must be one of 'certificate', 'fit', .*; got 'fits'"
    ):
        required_sample_size(0.1, purpose="fits")


@pytest.mark.slow
def test_a_fit_is_guaranteed_at_the_planned_size():
    """Four draws, of which most are guaranteed; at a third of the size none is."""
    tolerance, n_groups = 0.12, 2
    n = n_groups * required_sample_size(tolerance, n_groups=n_groups, purpose="fit")
    arguments = n_groups, "demographic_parity", 10, tolerance, 4
    assert guaranteed_share(n, *arguments) >= 0.5
    assert guaranteed_share(n // 3, *arguments) == 0.0


# Floors and ceilings of single rates.


@pytest.mark.parametrize("n_groups", [1, 2, 6])
@pytest.mark.parametrize("minimum, rate", [(0.75, 0.8), (0.5, 0.6), (0.05, 0.1), (0.9, 0.95)])
def test_certificates_of_floors_have_the_power(minimum, rate, n_groups):
    """2,000 draws at the planned size, by Clopper-Pearson limits or Wilson's."""
    n = required_sample_size(minimum=minimum, expected=rate, n_groups=n_groups)
    counts = np.random.default_rng(n).binomial(n, rate, size=(2000, n_groups))
    exact = stats.beta.ppf(0.05, counts, n - counts + 1)
    lowest = np.minimum(exact, rate_limits(counts / n, n, 0.95)[0])
    assert 0.78 <= (lowest >= minimum).all(axis=1).mean() <= 0.9


@pytest.mark.slow
@pytest.mark.covering(0)
@pytest.mark.parametrize("n", [40, 77])
@pytest.mark.parametrize("constraint", [MinimumRate, MaximumRate])
def test_planned_floors_are_those_of_certificates(n, constraint):
    """The probability is the sum over the counts that are certified."""
    bound, rate = (0.6, 0.75) if constraint is MinimumRate else (0.4, 0.25)
    groups = np.repeat(["a", "b"], n)
    certain = np.full(n, int(constraint is MinimumRate))
    is_certified = []
    for count in range(n + 1):
        decisions = np.concatenate((np.repeat([1, 0], [count, n - count]), certain))
        certificate = certify_predictions(
            None,
            decisions,
            sensitive_features=groups,
            constraint=constraint("selection_rate", bound),
            pos_label=1,
        )
        is_certified.append(certificate.is_shown)
    expected = stats.binom.pmf(np.arange(n + 1), n, rate) @ is_certified
    mirrored = (bound, rate) if constraint is MinimumRate else (1.0 - bound, 1.0 - rate)
    assert minimum_rate_power(n, mirrored[0], 1, mirrored[1], 0.95) == pytest.approx(expected)


@given(
    st.floats(0.05, 0.9),
    st.floats(0.02, 0.5),
    st.integers(1, 5),
    st.sampled_from([0.8, 0.95]),
)
def test_planned_floors_are_the_smallest_and_mirror_ceilings(minimum, distance, n_groups, level):
    rate = min(minimum + distance, 0.99)
    settings = {"n_groups": n_groups, "confidence_level": level}
    n = required_sample_size(minimum=minimum, expected=rate, **settings)
    powers = minimum_rate_power(np.arange(1, n + 1), minimum, n_groups, rate, level)
    assert powers[-1] >= 0.8
    if n < 800:  # larger ones are searched from far below the approximation on
        assert (powers[:-1] < 0.8).all()
    ceiling = required_sample_size(maximum=1.0 - minimum, expected=1.0 - rate, **settings)
    assert abs(ceiling - n) <= 0.05 * n + 1  # 1 - (1 - x) is not x


def test_what_no_sample_can_show_is_refused():
    for bound, expected in (
        ({"minimum": 0.8}, 0.8),
        ({"maximum": 0.2}, 0.5),
        ({"tolerance": 0.1}, 0.2),
        ({"ratio": 0.8}, 0.7),
        ({"minimum": 0.5}, 1.0),
    ):
        with pytest.raises(ValueError, match=rf"expected must be .*; got {expected}"):
            required_sample_size(**bound, expected=expected)
    with pytest.raises(ValueError, match="expected must be the rate that the groups are expected"):
        required_sample_size(maximum=0.2)
    with pytest.raises(ValueError, match="rate must be left out with minimum=.*; got 0.6"):
        required_sample_size(minimum=0.5, rate=0.6)
    with pytest.raises(ValueError, match=r"are 0.03 apart with expected=0.03 .*; got 0.01"):
        required_sample_size(0.05, expected=0.03, rate=0.01)
    with pytest.raises(ValueError, match=r"exactly one of .*; got tolerance=0.1, minimum=0.5"):
        required_sample_size(0.1, minimum=0.5, rate=0.6)
    with pytest.raises(ValueError, match=r"exactly one of tolerance, .*; got none\."):
        required_sample_size()
    with pytest.raises(ValueError, match="plans for a tolerance, but minimum=0.5 was passed"):
        required_sample_size(minimum=0.5, expected=0.6, purpose="fit")
    with pytest.raises(ValueError, match="n_groups must be a whole number from 1 on; got 0"):
        required_sample_size(minimum=0.5, expected=0.6, n_groups=0)


def test_certificates_of_floors_state_how_many_samples_suffice():
    decisions = np.tile(np.repeat([1, 0], [32, 8]), 2)
    certificate = certify_predictions(
        None,
        decisions,
        sensitive_features=np.repeat(["a", "b"], 40),
        constraint=MinimumRate("selection_rate", 0.75),
        pos_label=1,
    )
    assert not certificate.is_shown
    assert certificate.required_sample_size == required_sample_size(minimum=0.75, expected=0.8)
