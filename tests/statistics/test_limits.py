import numpy as np
import pytest
from scipy import stats

from skfair._statistics.estimates import (
    ShareCurves,
    clopper_pearson_limits,
    curve_contrasts,
    rate_limits,
)


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
