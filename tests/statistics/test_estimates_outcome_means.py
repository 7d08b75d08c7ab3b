"""Means of few known values, such as costs of errors: values that no sample has may occur."""

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import beta, multinomial

from skfair._bound.bound import sample_values
from skfair._groups import check_groups
from skfair._groups.events import Events
from skfair._statistics.bounded_means import BoundedMeans, make_estimates
from skfair._statistics.estimates import Means, Rates
from skfair._statistics.gaps import gap_posterior
from skfair.constraints import DemographicParity, MaximumRate, RateParity
from skfair.groups import Samples
from skfair.losses import LogisticLoss
from skfair.metrics import Rate, group_report
from skfair.surrogates import Sigmoid
from tests.audit.doors import certify_predictions, skip_unexamined_numbers

COST = Rate("cost", {"fp": 1, "fn": 20})


def one_event(x, weights=None, known=(0.0, 1.0, 20.0)):
    events = Events.disjoint(np.zeros(len(x), dtype=np.intp), 1, weights)
    return make_estimates(events, np.asarray(x, dtype=np.float64), known=known)


def clopper_pearson(hits, n, level):
    low = beta.ppf(1 - level, hits, n - hits + 1) if hits else 0.0
    high = beta.ppf(level, hits + 1, n - hits) if hits < n else 1.0
    return np.array([low, high])


def test_a_cost_that_no_sample_has_counts():
    x = np.repeat([0.0, 1.0], [90, 10])
    _, high = one_event(x).limits(0.95)
    assert high[0] > 20 * clopper_pearson(0, 100, 0.95)[1] > 0.5
    assert isinstance(one_event(x), BoundedMeans)
    assert isinstance(one_event(x, known=None), Rates)
    assert isinstance(one_event(2 * x, known=None), Means)
    assert isinstance(one_event(x, known=(0.0, 1.0)), Rates)


def test_weights_count_with_their_effective_size():
    rng = np.random.default_rng(0)
    x = rng.choice([0.0, 1.0, 20.0], size=400, p=[0.8, 0.15, 0.05])
    equal = one_event(x).limits(0.95)
    scaled = one_event(x, np.full(400, 3.0)).limits(0.95)
    np.testing.assert_allclose(equal, scaled)
    # Weights of 1 and 3 at random count with Kish's size.
    weights = rng.choice([1.0, 3.0], size=400)
    uneven = one_event(x, weights)
    assert uneven.sizes[0] == pytest.approx(weights.sum() ** 2 / (weights @ weights))
    assert uneven.limits(0.95)[1] - uneven.values > equal[1] - one_event(x).values


@pytest.mark.parametrize(("n", "share"), [(8, 0.15), (12, 0.1), (18, 0.03)])
def test_limits_hold_in_all_samples_of_few(n, share):
    """Enumerate the numbers of samples with each cost, with their multinomial probabilities."""
    shares = np.array([1.0 - 0.2 - share, 0.2, share])
    costs = np.array([0.0, 1.0, 20.0])
    numbers = [(n - i - j, i, j) for i in range(n + 1) for j in range(n + 1 - i)]
    misses = np.zeros(2)
    for counts in numbers:
        low, high = one_event(np.repeat(costs, counts)).limits(0.9)
        chance = multinomial.pmf(counts, n, shares)
        misses += chance * np.array([low[0] > shares @ costs, high[0] < shares @ costs])
    assert misses.max() <= 0.1


@pytest.mark.parametrize("weighted", [False, True])
def test_limits_of_rare_costs_hold(weighted):
    rng = np.random.default_rng(1)
    n_below = 0
    n_draws = 400
    for _ in range(n_draws):
        x = rng.choice([0.0, 1.0, 20.0], size=200, p=[0.895, 0.1, 0.005])
        estimates = one_event(x, rng.choice([1.0, 2.0], size=200) if weighted else None)
        n_below += estimates.limits(0.95)[1][0] < 0.2
    assert n_below <= n_draws * 0.05 + 2 * np.sqrt(n_draws * 0.05 * 0.95)


def draw(rng, share, n):
    """Outcomes, decisions and groups: false negatives are a share of group 0 alone."""
    g = np.repeat([0, 1], n)
    y = rng.random(2 * n) < 0.3
    rejected = share * (g == 0) / 0.3
    return y, np.where(y, rng.random(2 * n) >= rejected, rng.random(2 * n) < 1 / 7), g


@pytest.mark.slow
@pytest.mark.parametrize(
    ("is_parity", "weighted"),
    [(True, False), (False, True)]
    + [pytest.param(both, both, marks=pytest.mark.slow) for both in (False, True)],
)
def test_costs_at_the_bound_are_rarely_certified(is_parity, weighted, monkeypatch):
    skip_unexamined_numbers(monkeypatch)
    constraint = RateParity(COST, tolerance=0.1) if is_parity else MaximumRate(COST, 0.2)
    rng = np.random.default_rng(2)
    false = 0
    n_draws = 100
    for _ in range(n_draws):
        y, d, g = draw(rng, 0.005, 200)
        weights = rng.choice([1.0, 2.0], size=len(y)) if weighted else None
        false += certify_predictions(
            y, d, sensitive_features=g, constraint=constraint, sample_weight=weights
        ).is_shown
    assert false <= n_draws * 0.05 + 2 * np.sqrt(n_draws * 0.05 * 0.95)


def test_reports_and_certificates_of_a_cost_have_the_same_limit():
    y, d, g = draw(np.random.default_rng(3), 0.02, 150)
    report = group_report(y, d, sensitive_features=g, metrics=[COST], confidence_level=0.9)
    certificate = certify_predictions(y, d, sensitive_features=g, constraint=MaximumRate(COST, 1.0))
    assert certificate.high == pytest.approx(report["cost_high"].iloc[:2].max())


def test_a_cost_per_positive_knows_the_values_of_positives_alone():
    cost = Rate("cost per positive", {"tp": 1, "fn": 20}, {"tp": 1, "fn": 1})
    assert cost.known_values.tolist() == [1.0, 20.0]
    y, d, g = draw(np.random.default_rng(4), 0.02, 150)
    report = group_report(y, d, sensitive_features=g, metrics=[cost], confidence_level=0.9)
    constraint = MaximumRate(cost, 5.0)
    certificate = certify_predictions(y, d, sensitive_features=g, constraint=constraint)
    high = report["cost per positive_high"].iloc[:2].max()
    assert certificate.high == pytest.approx(high)
    target = np.where(y, 1.0, -1.0)
    samples = Samples(target, check_groups(g, len(g)), np.ones(len(g)), None)
    bound = constraint.bind(samples, Sigmoid(), LogisticLoss(), 1.0)
    assert sample_values(bound.sums, np.ones(len(target))).known.tolist() == [1.0, 20.0]
    parity = DemographicParity().bind(samples, Sigmoid(), LogisticLoss(), 0.1)
    assert sample_values(parity.sums, np.ones(len(target))).known.tolist() == [0.0, 1.0]


def test_the_change_of_a_cost_that_no_sample_shows_is_not_known():
    # Two models on the same samples: their means are correlated by the units.
    rng = np.random.default_rng(5)
    units = np.tile(np.arange(200), 2)
    x = rng.choice([0.0, 1.0], size=400, p=[0.9, 0.1])
    events = Events.disjoint(np.repeat([0, 1], 200), 2)
    change = sparse.csr_array([[-1.0, 1.0]])
    known, unknown = (
        make_estimates(events, x, units, values).upper(change, 0.95)[0]
        for values in ([0.0, 1.0], [0.0, 1.0, 20.0])
    )
    rise = 20 * clopper_pearson(0, 200, 0.95)[1]
    assert known < 0.1 < rise <= unknown


class LargestValue:
    """The one mean itself, as a gap."""

    is_range = False

    def __call__(self, means):
        return means[0]

    def rescale_means(self, means, factor):
        return means


@pytest.mark.parametrize("level", [0.6, 0.8, 0.95, 0.99])
def test_the_posterior_has_the_limits(level):
    x = np.repeat([0.0, 1.0, 20.0], [180, 19, 1])
    events = Events.disjoint(np.zeros(200, dtype=np.intp), 1)
    posterior = gap_posterior(events, x, None, [0.0, 1.0, 20.0], LargestValue(), 1.0)
    low, high = make_estimates(events, x, known=[0.0, 1.0, 20.0]).limits(level)
    assert posterior.probability(tolerance=high[0]) == pytest.approx(level, abs=0.01)
    assert posterior.probability(tolerance=low[0]) == pytest.approx(1.0 - level, abs=0.01)


def test_the_posterior_of_clusters_is_that_of_their_number():
    x = np.repeat([0.0, 1.0, 20.0], [180, 19, 1])
    known = [0.0, 1.0, 20.0]
    alone, pairs = (
        gap_posterior(
            Events.disjoint(np.zeros(len(values), dtype=np.intp), 1),
            values,
            clusters,
            known,
            LargestValue(),
            1.0,
        )
        for values, clusters in ((x, None), (np.repeat(x, 2), np.repeat(np.arange(200), 2)))
    )
    for tolerance in (0.3, 0.5, 1.0):
        assert pairs.probability(tolerance=tolerance) == pytest.approx(
            alone.probability(tolerance=tolerance), abs=0.01
        )
