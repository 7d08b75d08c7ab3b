"""Plans of groups of unequal shares, of pairs and of changes, against exact powers and draws."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats

from skfair._statistics.bounded_means import is_mean_below, upper_mean
from skfair._statistics.planned_draws import (
    divide,
    follow_up_size,
    total_pair_size,
)
from skfair._statistics.rates_by_decision import DecisionCounts, RatesByDecision, WeightedCounts
from skfair.audit import Audit
from skfair.constraints import MinimumRate
from skfair.metrics import RATES
from skfair.statistics import required_sample_size


@pytest.mark.covering(0)
@pytest.mark.parametrize(
    "plan", [{"tolerance": 0.05, "rate": 0.2}, {"tolerance": 0.05, "expected": 0.02}]
)
def test_equal_shares_need_the_size_of_equal_groups(plan):
    n = required_sample_size(**plan)
    assert required_sample_size(**plan, n_groups=[0.5, 0.5]) == pytest.approx(2 * n, rel=0.02)


@pytest.mark.slow
def test_ratios_and_fits_of_equal_shares():
    n = required_sample_size(ratio=0.8, rate=0.3)
    total = required_sample_size(ratio=0.8, rate=0.3, n_groups=[0.5, 0.5])
    assert total == pytest.approx(2 * n, rel=0.02)
    n = required_sample_size(0.05, rate=0.2, purpose="fit")
    total = required_sample_size(0.05, rate=0.2, purpose="fit", n_groups=[0.5, 0.5])
    assert total == pytest.approx(2 * n, rel=0.02)


@pytest.mark.slow
def test_a_floor_of_unequal_groups_has_the_product_of_exact_powers():
    shares = [0.1, 0.3, 0.6]
    total = required_sample_size(minimum=0.75, expected=0.8, n_groups=shares)
    sizes = divide(total, shares)
    smallest = stats.binom.isf(0.05, sizes, 0.75) + 1
    power = stats.binom.sf(smallest - 1, sizes, 0.8).prod()
    assert 0.78 < power < 0.82
    ceiling = required_sample_size(maximum=0.25, expected=0.2, n_groups=shares)
    assert ceiling == pytest.approx(total, rel=0.01)


@pytest.mark.slow
def test_the_largest_group_decides_little():
    """With a share of 3 % the total is the small group's size of one sample, over its share."""
    total = required_sample_size(0.05, n_groups=[0.03, 0.97])
    # sqrt(p q / n) (z_.95 + z_.9) = .05, for both ends of the interval
    expected = 0.25 * (1.645 + 1.282) ** 2 / 0.05**2 / 0.03 / 0.97
    assert total == pytest.approx(expected, rel=0.03)


@pytest.mark.slow
def test_pairs_by_hand():
    """The difference of flips has the variance f / n: n = f (z_.95 + z_.9)^2 / tolerance^2."""
    n = total_pair_size(0.05, 0.2, 0.0, 0.95, 0.8)
    assert n == pytest.approx(0.2 * (1.645 + 1.282) ** 2 / 0.05**2, rel=0.12)


def test_means_are_below_a_bound_where_their_upper_limit_is():
    rng = np.random.default_rng(0)
    x = np.array([0.0, 0.5, 1.0])
    numbers = rng.multinomial(300, [0.1, 0.8, 0.1], size=60).astype(float)
    numbers = np.vstack((numbers, [[0, 0, 5], [5, 0, 0], [0, 300, 0]]))
    for level in (0.9, 0.99):
        limits = np.array([upper_mean(x, one, level) for one in numbers])
        for bound in (0.5, np.median(limits), 0.6):
            expected = limits <= bound * (1.0 + 1e-9)
            is_clear = np.abs(limits - bound) > 1e-6
            below = is_mean_below(bound, x, numbers, level)
            assert (below == expected)[is_clear].all() and is_clear.sum() > 50


@pytest.mark.parametrize(
    ("plan", "match"),
    [
        ({"tolerance": 0.05, "n_groups": [0.5, 0.4]}, "add up to 1"),
        ({"tolerance": 0.05, "n_groups": [1.2, -0.2]}, "positive"),
        ({"tolerance": 0.05, "n_groups": [1.0]}, "from 2 on"),
    ],
)
def test_plans_that_contradict_themselves_are_refused(plan, match):
    with pytest.raises(ValueError, match=match):
        required_sample_size(**plan)
    with pytest.raises(ValueError, match="expected must be a gap below the tolerance"):
        total_pair_size(0.2, 0.05, 0.1, 0.95, 0.8)


def draw_counts(rng, sizes, rates):
    hits = rng.binomial(sizes, rates)
    rows = [
        (f"g{g}", decision, n)
        for g, (one, size) in enumerate(zip(hits, sizes, strict=True))
        for decision, n in ((1, one), (0, size - one))
    ]
    table = pd.DataFrame(rows, columns=["group", "d", "n"])
    return Audit.from_counts(table, counts="n", sensitive_features="group", y_pred="d", pos_label=1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plan", "rates"),
    [
        ({"tolerance": 0.05, "n_groups": [0.03, 0.97]}, [0.5, 0.5]),
        ({"tolerance": 0.05, "n_groups": [0.1, 0.9], "rate": 0.2}, [0.2, 0.2]),
        ({"tolerance": 0.05, "n_groups": [0.1, 0.3, 0.6]}, [0.5, 0.5, 0.5]),
        ({"minimum": 0.75, "n_groups": [0.1, 0.3, 0.6], "expected": 0.8}, [0.8, 0.8, 0.8]),
    ],
)
def test_planned_sizes_have_the_planned_power(plan, rates):
    rng = np.random.default_rng(11)
    total = required_sample_size(**plan)
    sizes = divide(total, plan["n_groups"]).astype(int)
    n_shown = 0
    for _ in range(120):
        audit = draw_counts(rng, sizes, rates)
        if "minimum" in plan:
            n_shown += audit.certify(MinimumRate("selection_rate", 0.75)).verdict == "shown"
        else:
            n_shown += audit.certify(tolerance=plan["tolerance"]).verdict == "shown"
    # four standard errors of 120 draws
    assert abs(n_shown / 120 - 0.8) < 0.147


@pytest.mark.slow
def test_planned_pairs_have_the_planned_power():
    rng = np.random.default_rng(12)
    n = total_pair_size(0.05, 0.1, 0.0, 0.95, 0.8)
    n_shown = 0
    for _ in range(200):
        u = rng.random(n)
        first = (rng.random(n) < 0.5).astype(int)
        second = np.where(u < 0.1, 1 - first, first)
        audit = Audit.from_predictions(
            None,
            np.append(first, second),
            sensitive_features=np.repeat(["x", "y"], n),
            groups=np.tile(np.arange(n), 2),
        )
        n_shown += audit.certify(tolerance=0.05).verdict == "shown"
    assert abs(n_shown / 200 - 0.8) < 0.115


def test_a_follow_up_shows_the_gap_as_often_as_planned():
    """Claims of drawn groups, of which the planned number of refused samples are known."""
    selected, precision, rate, tolerance = 0.4, 0.9, 0.65, 0.1
    n = follow_up_size(tolerance, np.full(2, rate), selected, precision, 0.95, 0.8)
    refused_positives = selected * precision * (1 / rate - 1) / (1 - selected)
    rng = np.random.default_rng(0)
    n_group, n_draws, shown = 200_000, 400, 0
    tables = np.repeat(RATES["true_positive_rate"].tables[np.newaxis], 2, axis=0)
    sizes = np.tile([n_group * (1 - selected), n_group * selected], (2, 1))
    contrasts = sparse.csr_array([[1.0, -1.0], [-1.0, 1.0]])
    for _ in range(n_draws):
        granted = n_group * selected
        known = np.tile([n, granted], (2, 1)).astype(float)
        positive = np.stack(
            [rng.binomial(n, refused_positives, 2), np.full(2, granted * precision)], axis=1
        )
        numbers = map(WeightedCounts.count_equally, (sizes, known, positive))
        counts = DecisionCounts(*numbers, np.arange(2), np.array([[False], [True]]))
        rates = RatesByDecision(tables, counts, np.arange(2))
        shown += rates.upper(contrasts, 0.95).max() <= tolerance
    assert 0.75 < shown / n_draws < 0.86


@pytest.mark.parametrize(
    ("rate", "selected", "match"), [(0.1, 0.4, "rate must leave"), (0.6, 1.0, "selected must be")]
)
def test_follow_ups_that_cannot_be(rate, selected, match):
    with pytest.raises(ValueError, match=match):
        follow_up_size(0.1, np.full(2, rate), selected, 0.9, 0.95, 0.8)
