import numpy as np
import pytest
from scipy import stats

from skfair._groups.events import Events
from skfair._statistics.areas import ShareCurves, curve_contrasts
from skfair._statistics.estimates import Means, contrast_matrix
from skfair._statistics.limits_of_rates import clopper_pearson_limits, rate_limits
from skfair.statistics import gap_interval


def error_of_differences(sizes, rate, error):
    """Probability that limits of a difference, made of those of two equal rates, exclude 0."""
    rates = [np.arange(n + 1) / n for n in sizes]
    (low1, high1), (low2, high2) = (
        rate_limits(one, n, 1.0 - error) for one, n in zip(rates, sizes, strict=True)
    )
    difference = rates[0][:, np.newaxis] - rates[1]
    up = np.hypot((high1 - rates[0])[:, np.newaxis], rates[1] - low2)
    down = np.hypot((rates[0] - low1)[:, np.newaxis], high2 - rates[1])
    masses = [stats.binom.pmf(np.arange(n + 1), n, rate) for n in sizes]
    probability = np.outer(*masses)
    return max(probability[difference + up < 0].sum(), probability[difference > down].sum())


@pytest.mark.parametrize("error", [0.0099, 1e-3, 1e-5])
@pytest.mark.parametrize("sizes", [(30, 970), (100, 900), (500, 500)])
@pytest.mark.parametrize("rate", [0.02, 0.05, 0.5, 0.98])
def test_limits_of_rates_hold_far_out_in_the_tails(sizes, rate, error):
    """Wilson's limits err 2 to 100 times as often as stated, by exact enumeration of counts."""
    assert error_of_differences(sizes, rate, error) <= error


def test_limits_of_shares_above_thresholds_hold_far_out_in_the_tails():
    shares = np.array([[0.05, 0.5], [0.2, 0.6]])
    sizes = np.array([200.0, 400.0])
    low, high = ShareCurves(shares, sizes, lambda values: values).limits(1.0 - 1e-5)
    exact_low, exact_high = clopper_pearson_limits(
        shares * sizes[:, np.newaxis], [[200], [400]], 1 - 1e-5
    )
    assert (low <= exact_low.ravel()).all() and (high >= exact_high.ravel()).all()


def test_screening_by_shares_uses_the_limits_of_its_level():
    """A tenth of the error, .005, is spent on which thresholds may count."""
    recorded = []

    def record(low, high):
        recorded.append((low, high))
        return np.ones(low.shape, dtype=bool)

    shares = np.array([[0.3], [0.4]])
    sizes = np.array([100.0, 100.0])
    curves = ShareCurves(shares, sizes, lambda values: values, record)
    curves.upper(curve_contrasts([range(2)], 2, 1), 0.95)
    low, high = clopper_pearson_limits([[30], [40]], 100, 0.995)
    assert (recorded[0][0] <= low).all() and (recorded[0][1] >= high).all()


@pytest.mark.parametrize("hits", [0, 3, 8, 50, 92])
def test_limits_of_rates_widen_with_the_level(hits):
    """Also where they change from Wilson's to exact ones."""
    errors = np.geomspace(0.05, 1e-6, 200)
    limits = np.array([rate_limits(np.array([hits / 100]), 100, 1 - error) for error in errors])
    assert (np.diff(limits[:, 0, 0]) <= 1e-12).all() and (np.diff(limits[:, 1, 0]) >= -1e-12).all()


def test_means_of_equal_values_have_limits_with_a_width():
    """30 equal values show that less than 1 - .025^(1/30) of the group has others."""
    values = np.append(np.full(30, 3.0), np.linspace(0.0, 10.0, 50))
    groups = np.repeat([0, 1], [30, 50])
    means = Means(Events.disjoint(groups, 2), values)
    low, high = means.limits(0.975)
    share = 1.0 - 0.025 ** (1 / 30)
    assert low[0] == pytest.approx(3.0 - share * 3.0)
    assert high[0] == pytest.approx(3.0 + share * 7.0)
    # The margins of a difference add up like standard errors.
    order = np.array([0]), np.array([1])
    (difference,) = means.upper(contrast_matrix(*order, 2), 0.975) - (3.0 - 5.0)
    student = means.upper(contrast_matrix(*order[::-1], 2), 0.975)[0] - 2.0
    spread = student**2 - (share * 3.0) ** 2
    assert difference == pytest.approx(np.sqrt((share * 7.0) ** 2 + spread))
    # Values that are all equal are so by construction.
    constant = Means(Events.disjoint(groups, 2), np.full(80, 3.0))
    np.testing.assert_allclose(constant.limits(0.975), 3.0)


@pytest.mark.filterwarnings("ignore:Limits of means hold less often")
def test_a_rare_value_that_a_group_does_not_show_is_within_the_limits():
    rng = np.random.default_rng(0)
    n_errors = 0
    for _ in range(100):
        rare = np.where(rng.random(40) < 0.03, 10.0, 0.0)
        values = np.append(rare, rng.normal(5.0, 2.0, 200).clip(0.0, 10.0))
        interval = gap_interval(values, sensitive_features=np.repeat([0, 1], [40, 200]))
        n_errors += not interval.low <= 4.7 <= interval.high
    assert n_errors <= 5
