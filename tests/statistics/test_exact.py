import numpy as np
import pytest
from scipy import stats

from skfair._statistics.exact import constrained_rate, exact_difference_test
from skfair._statistics.limits_of_rates import clopper_pearson_limits


@pytest.mark.covering(0)
@pytest.mark.parametrize("n1, n2, difference", [(8, 8, 0.2), (14, 5, 0.1), (9, 12, 0.5)])
def test_the_error_is_at_most_the_level_at_every_rate(n1, n2, difference):
    """For every pair of counts, at rates on a fine grid."""
    rejected = np.array(
        [
            [exact_difference_test((a, b), (n1, n2), difference) <= 0.05 for b in range(n2 + 1)]
            for a in range(n1 + 1)
        ]
    )
    for second in np.linspace(0.0, 1.0 - difference, 101):
        for first in np.linspace(second + difference, 1.0, 5):
            result = (
                stats.binom.pmf(np.arange(n1 + 1), n1, first)
                @ rejected
                @ stats.binom.pmf(np.arange(n2 + 1), n2, second)
            )
            assert result <= 0.05


def test_the_test_has_more_power_than_two_exact_intervals():
    """Clopper and Pearson's limits at half of the error each."""
    (low1, low2), (high1, high2) = clopper_pearson_limits([30, 28], [200, 200], 0.975)
    assert high1 - low2 > 0.1
    assert exact_difference_test((30, 28), (200, 200), 0.1) < 0.05


@pytest.mark.slow
def test_power_is_near_that_of_walds_test():
    rng = np.random.default_rng(0)
    n = 300
    difference = 0.1
    drawn = rng.binomial(n, 0.2, size=(200, 2))
    exact = np.mean([exact_difference_test(pair, (n, n), difference) <= 0.05 for pair in drawn])
    rates = drawn / n
    errors = np.sqrt((rates * (1 - rates) / n).sum(axis=1))
    wald = np.mean(rates[:, 0] - rates[:, 1] + 1.645 * errors <= difference)
    assert exact >= wald - 0.04


def test_constrained_rates_maximise_the_likelihood():
    for x1, n1, x2, n2, difference in [
        (3, 10, 5, 12, 0.2),
        (0, 10, 0, 12, 0.1),
        (9, 10, 2, 9, 0.3),
    ]:
        grid = np.linspace(1e-9, 1 - difference - 1e-9, 200_001)
        likelihood = stats.binom.logpmf(x1, n1, grid + difference) + stats.binom.logpmf(
            x2, n2, grid
        )
        result = constrained_rate(np.array([x1]), n1, np.array([x2]), n2, difference)
        assert result == pytest.approx([grid[likelihood.argmax()]], abs=2e-5)


def test_counts_beyond_the_hypothesis_are_no_evidence():
    assert exact_difference_test((9, 1), (10, 10), 0.5) == 1.0


@pytest.mark.slow
def test_groups_of_a_million_samples():
    assert exact_difference_test((200_000, 200_000), (10**6, 10**6), 0.0015) < 0.05


@pytest.mark.parametrize("hits, n", [((3, 1), (2, 2)), ((-1, 1), (2, 2)), ((0, 0), (0, 2))])
def test_counts_must_not_be_zero(hits, n):
    with pytest.raises(ValueError, match="hits must be between 0 and n"):
        exact_difference_test(hits, n, 0.1)


@pytest.mark.parametrize(
    "hits, n", [((5.7, 5), (10, 10)), ((5, 5), (10, 10.5)), ((np.nan, 5), (10, 10))]
)
def test_counts_must_be_integers(hits, n):
    with pytest.raises(ValueError, match="hits and n must be integers.*gap_interval"):
        exact_difference_test(hits, n, 0.1)
    converted = exact_difference_test((5.0, 5), (np.int64(10), 10), 0.1)
    assert converted == exact_difference_test((5, 5), (10, 10), 0.1)


@pytest.mark.parametrize("difference", [0.0, 1.0])
def test_the_difference_must_be_between_0_and_1(difference):
    with pytest.raises(ValueError, match="difference must be a probability strictly between"):
        exact_difference_test((1, 1), (2, 2), difference)
