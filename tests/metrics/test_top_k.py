"""Metrics of the k highest scores: ties, weights, and intervals given k."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from skfair._groups import Groups
from skfair._statistics.estimates import pairwise_contrasts
from skfair._statistics.gaps import interval_of_largest_contrast as interval_of
from skfair._statistics.group_estimates import FixedTotalRates, _counts_near_mode
from skfair.groups import Samples
from skfair.metrics import RATES, group_report, make_scorer
from skfair.metrics._top_k import select_top

SCORES = np.array([9, 8, 7, 7, 7, 7, 3, 2, 1, 0.0])
TRUE = np.array([1, 0, 1, 0, 1, 0, 1, 0, 0, 0])
GROUP = np.array([*"aababbabab"])


def report_of(k, metrics=("selection_rate", "recall"), **params):
    return group_report(
        TRUE, None, y_score=SCORES, k=k, sensitive_features=GROUP, metrics=metrics, **params
    )


def test_ties_share_the_places_that_are_left():
    """With four places the two highest are selected, and four samples share two places."""
    report = report_of(4)
    # Group a: 9, 8 and half of one of 7s (index 3); group b: half of three 7s.
    assert report["selection_rate"].tolist() == pytest.approx([2.5 / 5, 1.5 / 5, 0.4])
    assert report["recall"].tolist() == pytest.approx([1 / 2, 1 / 2, 2 / 4])
    assert report.attrs["ties"] == "4 samples tie at the cut and share 2 places"
    assert report_of(6).attrs["ties"] == ""


def test_a_part_of_one_sample_has_a_rate():
    """Of four places two are shared by four samples, one of which is all of its group."""
    groups = np.where(np.arange(10) == 4, "c", GROUP)
    report = group_report(
        TRUE, None, y_score=SCORES, k=4, sensitive_features=groups, metrics=["precision"]
    )
    assert report["precision"]["c"] == 1.0


@given(
    scores=st.lists(st.integers(0, 4), min_size=3, max_size=12),
    seed=st.integers(0, 99),
    share=st.floats(0.05, 0.95),
)
def test_ties_are_the_mean_over_all_orders(scores, seed, share):
    """Equal parts are the expected decisions of a random order of tied samples."""
    scores = np.array(scores, dtype=float)
    n = len(scores)
    k = max(1, int(share * len(scores)))
    groups = Groups.single(n)
    selection = select_top(scores, Samples(None, groups, np.ones(n)), k)
    cut = np.sort(scores)[-k]
    n_above = (scores > cut).sum()
    n_at = (scores == cut).sum()
    expected = np.where(scores > cut, 1.0, np.where(scores == cut, (k - n_above) / n_at, 0.0))
    np.testing.assert_allclose(selection.decisions, expected)
    weights = np.random.default_rng(seed).random(n) + 0.1
    selected = select_top(scores, Samples(None, groups, weights), share).decisions
    assert weights @ selected == pytest.approx(share * weights.sum())


@pytest.mark.parametrize("name", sorted(RATES))
def test_rates_without_ties_are_those_of_the_decisions(name):
    scores = SCORES + np.arange(10) / 100
    cut = scores >= np.sort(scores)[-4]
    at_top = group_report(
        TRUE, None, y_score=scores, k=0.4, sensitive_features=GROUP, metrics=[name]
    )
    decided = group_report(TRUE, cut, sensitive_features=GROUP, metrics=[name])
    np.testing.assert_allclose(at_top[name], decided[name])


@pytest.mark.parametrize("name", sorted(RATES))
def test_ties_are_split_samples(name):
    """Rates with ties are those of data where half of each tied sample is selected."""
    tied = np.flatnonzero(SCORES == 7)
    rows = np.concatenate((np.arange(10), tied))
    decided = np.concatenate((SCORES >= 7, np.zeros(4, dtype=bool)))
    weights = np.where(np.isin(rows, tied), 0.5, 1.0)
    split = group_report(
        TRUE[rows],
        decided,
        sensitive_features=GROUP[rows],
        sample_weight=weights,
        metrics=[name],
    )
    np.testing.assert_allclose(report_of(4, [name])[name], split[name])


def test_limits_are_those_of_the_noncentral_hypergeometric_distribution():
    n, size, chosen, hits, level = 60, 25, 20, 11, 0.975
    rates = FixedTotalRates(np.array([hits]), np.array([size]), np.array([size]), chosen, n)
    (low,), (high,) = rates.limits(level)
    support = np.arange(0, 21)
    for limit, tail in ((low, lambda p: p[support >= hits]), (high, lambda p: p[support <= hits])):
        # The odds ratio whose mean is the limit leaves 1 - level beyond the hits.
        odds = np.exp(np.linspace(-4, 4, 4001))
        means = np.array([stats.nchypergeom_fisher(n, size, chosen, w).mean() for w in odds[::40]])
        at = np.interp(limit * size, means, np.log(odds[::40]))
        masses = stats.nchypergeom_fisher(n, size, chosen, np.exp(at)).pmf(support)
        assert tail(masses).sum() == pytest.approx(1 - level, rel=0.01)


@pytest.mark.parametrize("log_odds", [-1.0, 0.0, 0.5, 2.0])
def test_masses_are_computed_around_the_mode(log_odds):
    size, chosen, rest = 40_000, 30_000, 50_000
    counts = _counts_near_mode(0, chosen, size, chosen, rest, log_odds)
    distribution = stats.nchypergeom_fisher(size + chosen + rest, size, chosen, np.exp(log_odds))
    assert counts.mean() == pytest.approx(distribution.mean(), abs=2.0)


def test_two_groups_are_one_number():
    """With k fixed the rates of two groups move together: margins of a difference add up."""
    sizes = np.array([30.0, 50.0])
    hits = np.array([10.0, 22.0])
    rates = FixedTotalRates(hits, sizes, sizes, 32.0, 80.0)
    low, high = rates.limits(0.975)
    assert low @ sizes != pytest.approx(32.0)
    assert low[0] * 30 + high[1] * 50 == pytest.approx(32.0, abs=1e-6)
    gap = interval_of(rates, pairwise_contrasts(2), 0.95)
    assert gap.high == pytest.approx(high[1] - low[0])


def test_all_samples_have_a_rate_without_error():
    overall = report_of(4, confidence_level=0.95).loc["overall"]
    names = ["selection_rate", "selection_rate_low", "selection_rate_high"]
    assert overall[names].tolist() == [0.4, 0.4, 0.4]


@pytest.mark.slow
def test_intervals_hold_given_k():
    """Of samples from a population where one group has higher scores, and k is fixed."""
    rng = np.random.default_rng(0)
    held = []
    n = 80
    k = 20
    group = np.repeat([0, 1], [30, 50])
    draws = rng.normal(size=(2000, n)) + 0.5 * (group == 0)
    top = np.argsort(-draws, axis=1)[:, :k]
    expected = (group[top] == 0).mean(axis=1).mean() * k / 30
    for scores in draws[:400]:
        report = group_report(
            group,
            None,
            y_score=scores,
            k=k,
            sensitive_features=group,
            metrics=["selection_rate"],
            confidence_level=0.9,
        ).iloc[0]
        held.append(report["selection_rate_low"] <= expected <= report["selection_rate_high"])
    assert np.mean(held) > 0.88


def test_functions_take_whole_decisions():
    assert report_of(6, [f1_score]).loc["overall", "f1_score"] == f1_score(TRUE, SCORES >= 7)
    with pytest.raises(ValueError, match="4 samples tie .* f1_score takes whole decisions"):
        report_of(4, [f1_score])


@pytest.mark.parametrize("k", [0, 11, 1.0, 0.0, -0.1, True, "4"])
def test_k_is_a_number_of_places_or_a_share(k):
    with pytest.raises(ValueError, match="k must be a number of places from 1 to 10"):
        report_of(k)


def test_k_needs_scores_and_no_decisions():
    with pytest.raises(ValueError, match="y_pred must be None"):
        group_report(TRUE, TRUE, y_score=SCORES, k=3, sensitive_features=GROUP)
    with pytest.raises(ValueError, match="pass them as y_score"):
        group_report(TRUE, None, k=3, sensitive_features=GROUP)
    with pytest.raises(ValueError, match="y_pred must hold predictions"):
        group_report(TRUE, None, y_score=SCORES, sensitive_features=GROUP)


def test_scorers_of_the_highest_scores():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    y = X[:, 0] + rng.normal(size=100) > 0
    group = rng.integers(2, size=100)
    model = LogisticRegression().fit(X, y)
    report = group_report(
        y,
        None,
        y_score=model.predict_proba(X)[:, 1],
        k=0.2,
        sensitive_features=group,
        metrics=["recall"],
    )
    scorer = make_scorer("recall", transform="group_min", k=0.2)
    assert scorer(model, X, y, sensitive_features=group) == report["recall"].iloc[:2].min()
    with pytest.raises(ValueError, match="k makes decisions of scores"):
        make_scorer("roc_auc", transform="group_min", k=3)
