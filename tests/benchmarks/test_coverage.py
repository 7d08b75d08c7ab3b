import numpy as np
import pytest

from benchmarks.coverage import CountedRates, held_by_bootstrap
from skfair.inference import all_pairs, contrast_interval, gap_interval


def people(hits, sizes):
    values = np.concatenate([np.arange(n) < x for x, n in zip(hits, sizes, strict=True)])
    return values.astype(int), np.repeat(np.arange(len(sizes)), sizes)


def test_counts_give_the_interval_of_the_people():
    hits, sizes = np.array([12, 20, 31]), np.array([40, 50, 60])
    values, groups = people(hits, sizes)
    counted = contrast_interval(CountedRates(hits, sizes), all_pairs(3), 0.95)
    assert counted == pytest.approx(gap_interval(values, sensitive_features=groups))


def test_the_bootstrap_is_fairlearns():
    """The same width, up to the draws of the bootstrap."""
    fairlearn = pytest.importorskip("fairlearn.metrics")
    hits, sizes = np.array([120, 200]), np.array([400, 500])
    values, groups = people(hits, sizes)
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
    _, width = held_by_bootstrap(hits, sizes, 0.1, np.random.default_rng(0))
    assert width == pytest.approx(high - low, rel=0.2)
