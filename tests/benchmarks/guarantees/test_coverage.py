import numpy as np
import pytest

from benchmarks.guarantees.coverage import CountedRates, check_bootstrap
from benchmarks.guarantees.coverage_means import DrawnMeans, gap_intervals, populations
from skfair._statistics.estimates import pairwise_contrasts
from skfair._statistics.gaps import interval_of_largest_contrast
from skfair.statistics import gap_interval


def expand_counts(hits, sizes):
    values = np.concatenate([np.arange(n) < x for x, n in zip(hits, sizes, strict=True)])
    return values.astype(int), np.repeat(np.arange(len(sizes)), sizes)


def test_counts_give_the_interval_of_samples():
    hits = np.array([12, 20, 31])
    sizes = np.array([40, 50, 60])
    values, groups = expand_counts(hits, sizes)
    counted = interval_of_largest_contrast(CountedRates(hits, sizes), pairwise_contrasts(3), 0.95)
    assert counted == pytest.approx(gap_interval(values, sensitive_features=groups))


def test_the_bootstrap_is_fairlearns():
    """The same width, up to the draws of the bootstrap."""
    fairlearn = pytest.importorskip("fairlearn.metrics")
    hits = np.array([120, 200])
    sizes = np.array([400, 500])
    values, groups = expand_counts(hits, sizes)
    frame = fairlearn.MetricFrame(
        metrics=fairlearn.selection_rate,
        y_true=values,
        y_pred=values,
        sensitive_features=groups,
        n_boot=200,
        ci_quantiles=[0.025, 0.975],
        random_state=0,
    )
    low, high = frame.difference_ci()
    _, width = check_bootstrap(hits, sizes, 0.1, np.random.default_rng(0))
    assert width == pytest.approx(high - low, rel=0.2)


@pytest.mark.filterwarnings("ignore:Limits of means")
def test_many_draws_have_the_intervals_of_each():
    rng = np.random.default_rng(0)
    first = rng.standard_gamma(0.3, (5, 40))
    second = rng.exponential(size=(5, 60))
    both = DrawnMeans(first).join(DrawnMeans(second))
    groups = np.repeat([0, 1], [40, 60])
    for pair, low, high in zip(
        zip(first, second, strict=True), *gap_intervals(both, 0.9), strict=True
    ):
        alone = gap_interval(np.concatenate(pair), sensitive_features=groups, confidence_level=0.9)
        assert (low, high) == pytest.approx((alone.low, alone.high))


@pytest.mark.parametrize("name", populations())
def test_populations_have_the_means_that_they_say(name):
    rng = np.random.default_rng(0)
    for draw, mean in populations()[name]:
        values = draw(rng, (400, 1000))
        error = values.std() / np.sqrt(values.size)
        assert values.mean() == pytest.approx(mean, abs=5 * error)
