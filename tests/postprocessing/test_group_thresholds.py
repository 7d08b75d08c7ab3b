"""Thresholds by group against the enumeration of all of them."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skfair._postprocessing import group_thresholds as code
from skfair.classification import ConstrainedClassifierCV
from skfair.constraints import DemographicParity, EqualizedOdds, EqualOpportunity, RateParity
from skfair.metrics import (
    demographic_parity_difference,
    demographic_parity_ratio,
    equal_opportunity_difference,
    equalized_odds_difference,
)
from skfair.preprocessing import ScoreColumn


@st.composite
def searches(draw):
    """Groups, and comparisons of one to three of their rates, which rise, fall or do both."""
    n_groups, n_rates = draw(st.integers(2, 3)), draw(st.integers(1, 3))
    n_samples = draw(st.integers(6, 16))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    codes = np.arange(n_samples) % n_groups
    scores = rng.integers(8, size=n_samples).astype(float)
    outcomes = rng.choice([-1.0, 1.0], n_samples) * rng.integers(1, 3, size=n_samples)
    width = draw(st.sampled_from([0.0, 0.1, 0.3, 0.5]))
    groups = {}
    for group in range(n_groups):
        order = np.flatnonzero(codes == group)
        order = order[np.argsort(-scores[order], kind="stable")]
        distinct = np.flatnonzero(np.append(np.diff(scores[order]) != 0, True)) + 1
        cuts = np.append(0, distinct)
        groups[group] = code._Group(order, cuts, code._sum_at(cuts, outcomes[order]), [], 0)
    comparisons = []
    for _ in range(n_rates):
        rates = {
            group: code._sum_at(cuts, rng.choice([-0.1, 0.2, 0.3], len(order)))
            for group, (order, cuts, *_) in groups.items()
        }
        rates[0][rng.integers(len(rates[0]))] = np.nan  # an unknown one
        scale = draw(st.sampled_from([1.0, 0.8]))
        reference = draw(st.sampled_from([None, 0, 1]))
        comparisons.append(code._ComparedRates(rates, width, scale, reference))
    return groups, comparisons


def keeps(comparison, cuts):
    """Whether cuts of groups keep a comparison, by its definition."""
    rates = {group: rates[cuts[group]] for group, rates in comparison.rates.items()}
    if np.isnan(list(rates.values())).any():
        return False
    level = min(rates.values())
    if comparison.reference is not None:
        level = rates.pop(comparison.reference)
    return comparison.scale * max(rates.values()) <= level + comparison.width + 1e-9


@given(searches())
def test_no_cuts_are_better(search):
    groups, comparisons = search
    every_cut = product(*(range(len(one.cuts)) for one in groups.values()))
    gains = [
        sum(one.gains[cut] for one, cut in zip(groups.values(), each, strict=True))
        for each in every_cut
        if all(keeps(one, each) for one in comparisons)
    ]
    cuts = code._divide_boxes(groups, comparisons)
    if not gains:
        assert cuts is None
        return
    assert all(keeps(one, cuts) for one in comparisons)
    assert sum(one.gains[cuts[group]] for group, one in groups.items()) == pytest.approx(max(gains))


def error_rate_difference(y, decisions, *, sensitive_features, sample_weight):
    """Largest difference of two groups' weighted shares of wrong decisions."""
    weights = np.ones(len(y)) if sample_weight is None else sample_weight
    groups = [sensitive_features == one for one in np.unique(sensitive_features)]
    return np.ptp([np.average((decisions != y)[one], weights=weights[one]) for one in groups])


GAPS = {
    "demographic_parity": demographic_parity_difference,
    "equal_opportunity": equal_opportunity_difference,
    "equalized_odds": equalized_odds_difference,
    "error_rate_parity": error_rate_difference,
}


def draw_scores(n_groups):
    """Scores with ties that favour a group, classes and groups."""
    rng = np.random.default_rng(n_groups)
    n_samples = 80
    groups = np.arange(n_samples) % n_groups
    skill = rng.integers(-3, 4, size=n_samples)
    y = (skill + rng.logistic(size=n_samples) > 0).astype(int)
    return pd.DataFrame({"score": skill + 2.0 * (groups > 0)}), y, groups


def smallest_error(scores, y, groups, weights, gap_of, tolerance):
    """Smallest share of errors over all thresholds that keep the tolerance."""
    ends = np.append(np.unique(scores) - 0.25, np.inf)
    rules = product(ends, repeat=groups.max() + 1)
    decisions = [
        (scores > np.array(ends_of_groups)[groups]).astype(int) for ends_of_groups in rules
    ]
    errors = [np.average(one != y, weights=weights) for one in decisions]
    best_first = np.argsort(errors)
    return next(errors[i] for i in best_first if gap_of(y, decisions[i]) <= tolerance + 1e-9)


@pytest.mark.covering(0)
@pytest.mark.filterwarnings("ignore:Every training sample", "ignore:.*hardly any positives")
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("constraint", GAPS)
def test_rules_are_the_best_thresholds(constraint, n_groups, is_weighted):
    X, y, groups = draw_scores(n_groups)
    weights = np.random.default_rng(0).integers(1, 4, size=len(y)) if is_weighted else None
    # Far below the gap of the plain model, which would be left as it is.
    tolerance = 0.01 * n_groups if constraint == "error_rate_parity" else 0.1
    model = ConstrainedClassifierCV(
        ScoreColumn("score"), constraint, group_estimator="sensitive_features", tolerance=tolerance
    )
    model.fit(X, y, sensitive_features=groups, sample_weight=weights)

    def gap(y, decisions):
        return GAPS[constraint](y, decisions, sensitive_features=groups, sample_weight=weights)

    decisions = model.oof_decision_function_ > 0
    assert gap(y, decisions) <= tolerance + 1e-9
    error = np.average(decisions != y, weights=weights)
    scores = X["score"].to_numpy()
    assert error == pytest.approx(smallest_error(scores, y, groups, weights, gap, tolerance))
    # Each group has one threshold.
    for group in range(n_groups):
        inside = groups == group
        accepted, rejected = scores[inside & decisions], scores[inside & ~decisions]
        assert not len(accepted) or not len(rejected) or accepted.min() > rejected.max()


def test_rules_of_ratios_are_the_best_thresholds():
    X, y, groups = draw_scores(2)
    model = ConstrainedClassifierCV(
        ScoreColumn("score"), DemographicParity(ratio=0.8), group_estimator="sensitive_features"
    )
    decisions = model.fit(X, y, sensitive_features=groups).oof_decision_function_ > 0

    def gap(y, decisions):
        if not decisions.any():
            return 0.0  # no sample is selected, of either group
        return 1.0 - demographic_parity_ratio(y, decisions, sensitive_features=groups)

    expected = smallest_error(X["score"].to_numpy(), y, groups, None, gap, 0.2)
    assert np.mean(decisions != y) == pytest.approx(expected)


def precision_difference(y, decisions, *, sensitive_features):
    """Largest difference of two groups' precisions; infinite where one has no positive decision."""
    groups = [sensitive_features == one for one in np.unique(sensitive_features)]
    if not all(decisions[one].any() for one in groups):
        return np.inf
    return np.ptp([y[one & (decisions == 1)].mean() for one in groups])


def distance_to_overall(y, decisions, *, sensitive_features):
    """Largest distance of a group's positive rate from that of all samples."""
    groups = [sensitive_features == one for one in np.unique(sensitive_features)]
    return max(abs(decisions[one].mean() - decisions.mean()) for one in groups)


def excess_over_reference(y, decisions, *, sensitive_features):
    """Largest excess of a group's positive rate over that of the group 0."""
    groups = [sensitive_features == one for one in np.unique(sensitive_features)]
    return max(decisions[one].mean() for one in groups) - decisions[groups[0]].mean()


def sum_of_differences(y, decisions, *, sensitive_features):
    """Difference of true positive rates plus that of false positive rates."""
    rates = [
        [decisions[(sensitive_features == group) & (y == label)].mean() for group in (0, 1)]
        for label in (0, 1)
    ]
    return np.ptp(rates, axis=1).sum()


LISTS = {
    "precision": (RateParity("precision"), [precision_difference]),
    "parity and odds": (
        [DemographicParity(), EqualizedOdds()],
        [demographic_parity_difference, equalized_odds_difference],
    ),
    "opportunity and precision": (
        [EqualOpportunity(), RateParity("precision")],
        [equal_opportunity_difference, precision_difference],
    ),
    "overall": (DemographicParity(reference="overall"), [distance_to_overall]),
    "above a reference": (
        DemographicParity(reference={0: 0}, direction="above"),
        [excess_over_reference],
    ),
    "sum": (EqualizedOdds(aggregate="sum"), [sum_of_differences]),
}


@pytest.mark.filterwarnings("ignore:Every training sample", "ignore:.*hardly any positives")
@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("name", LISTS)
def test_rules_of_quotients_lists_and_sums_are_the_best_thresholds(name, n_groups):
    constraint, gaps = LISTS[name]
    n_groups = 2 if name == "sum" else n_groups
    X, y, groups = draw_scores(n_groups)
    model = ConstrainedClassifierCV(
        ScoreColumn("score"), constraint, group_estimator="sensitive_features", tolerance=0.1
    )
    decisions = model.fit(X, y, sensitive_features=groups).oof_decision_function_ > 0

    def gap(y, decisions):
        return max(one(y, decisions, sensitive_features=groups) for one in gaps)

    assert gap(y, decisions) <= 0.1 + 1e-9
    expected = smallest_error(X["score"].to_numpy(), y, groups, None, gap, 0.1)
    assert np.mean(decisions != y) == pytest.approx(expected)
