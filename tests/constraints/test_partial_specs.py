"""Criteria of partial fairness as rows."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from skfair import metrics
from skfair._bound.bound import ConstraintSystem
from skfair._bound.ranks import refuse_small_intervals
from skfair._groups import Groups, check_groups
from skfair.classification import ConstrainedERMClassifier
from skfair.constraints import PARTIAL_CRITERIA, PartialDemographicParity, PartialStatisticalParity
from skfair.groups import Samples


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    target = np.where(rng.random(600) < 0.4, 1.0, -1.0)
    groups = check_groups(np.arange(600) % 2, 600)
    return Samples(target, groups, rng.uniform(0.5, 2.0, 600)), rng.normal(size=600)


def bind(criterion, data, tolerance, pairs=((0.2, 0.6),), **settings):
    """Rows of a criterion, linearized at the scores of the data."""
    samples, scores = data
    constraint = PARTIAL_CRITERIA[criterion](list(pairs), **settings)
    return constraint.bind(samples, None, None, tolerance).linearize_at(scores)


@pytest.mark.parametrize(
    ("criterion", "n_rows", "n_aux"),
    [
        ("partial_statistical_parity", 20, 10),
        ("partial_demographic_parity", 2, 1),
        ("partial_equal_opportunity", 2, 1),
        ("partial_equalized_odds", 4, 2),
        ("partial_group_auc", 1, 0),
    ],
)
def test_rows_and_unknowns(criterion, n_rows, n_aux, data):
    samples, scores = data
    bound = bind(criterion, data, 0.5).rows
    assert len(bound.lower) == len(bound.upper) == n_rows
    assert bound.n_aux == n_aux
    assert len(bound.initial_aux(scores)) == n_aux


def test_opportunity_is_about_the_positive_class(data):
    samples, scores = data
    bound = bind("partial_equal_opportunity", data, 0.1, rank_within="class")
    assert (samples.target[bound.sums.events.memberships[0]] > 0).all()
    odds = bind("partial_equalized_odds", data, 0.1, rank_within="class")
    members, events, shares = odds.sums.events.memberships
    np.testing.assert_array_equal(samples.target[members] > 0, events < 2)
    # Shares of every event sum to 1.
    np.testing.assert_allclose(np.bincount(events, shares), 1.0)


def test_raw_tolerances_are_shares_of_the_group(data):
    samples, scores = data
    normalized = bind("partial_statistical_parity", data, 0.1).rows
    raw = bind("partial_statistical_parity", data, 0.04, scale="raw").rows
    np.testing.assert_allclose(raw.upper, normalized.upper)
    np.testing.assert_allclose(raw.upper - raw.lower, 0.04)


def test_percentiles_reach_from_one_end_to_the_other(data):
    bound = bind("partial_statistical_parity", data, 0.2, n_percentiles=4).rows
    np.testing.assert_allclose(bound.lower[:4], 0.2 + 0.4 * np.arange(4) / 3)


def test_ranks_within_a_group_are_read_off_its_scores(data):
    samples, scores = data
    # The upper half of each group has all of its positive class.
    sorted_out = np.where(samples.target > 0, 10.0, -10.0) + scores
    share = np.bincount(samples.groups.codes, samples.weights * (samples.target > 0))
    share /= np.bincount(samples.groups.codes, samples.weights)
    pairs = ((0.0, 0.5 * share.min()),)
    bound = bind("partial_equal_opportunity", (samples, sorted_out), 0.1, pairs).rows
    # All positive samples are above the threshold: past the ends of their intervals, less a tenth.
    np.testing.assert_allclose(bound.lower, 0.9 * pairs[0][1] / share, atol=0.02)


@pytest.mark.parametrize("criterion", PARTIAL_CRITERIA)
def test_overlapping_groups_bind(criterion, data):
    samples, scores = data
    membership = np.random.default_rng(1).random((600, 3)) < 0.5
    samples = samples._replace(
        groups=check_groups(sparse.csr_array(membership), 600, overlapping=True)
    )
    bound = bind(criterion, (samples, scores), 0.1, ((0.1, 0.7),))
    assert bound.sums.events.n_events % 3 == 0
    values = bound.rows(scores, bound.rows.initial_aux(scores)).values
    assert np.isfinite(values).all()


@pytest.mark.parametrize("criterion", PARTIAL_CRITERIA)
def test_small_groups_are_refused_by_name(criterion, data):
    samples, scores = data
    names = np.where(np.arange(600) < 30, "few", "many")
    samples = samples._replace(groups=check_groups(names, 600))
    with pytest.raises(ValueError, match=r"at least 20 samples in the interval.*'few'"):
        assert bind(criterion, (samples, scores), 0.1).rows


def test_a_group_without_a_class_is_refused_by_name(data):
    samples, scores = data
    samples = samples._replace(target=np.where(samples.groups.codes == 0, 1.0, samples.target))
    with pytest.raises(ValueError, match=r"fewer in 1 of 4: negatives of group 0 \(0\)"):
        assert bind("partial_equalized_odds", (samples, scores), 0.1).rows


@pytest.mark.parametrize(
    "criterion", ["partial_statistical_parity", "partial_group_auc", "partial_demographic_parity"]
)
def test_small_groups_are_refused_before_any_fit(criterion, data):
    samples, _ = data
    samples = samples._replace(
        groups=check_groups(np.where(np.arange(600) < 30, "few", "many"), 600)
    )
    with pytest.raises(ValueError, match=r"fewer in 1 of 2: group 'few' \(12\)"):
        PARTIAL_CRITERIA[criterion]((0.2, 0.6)).bind(samples, None, None, 0.5)


def test_ranks_in_whole_groups_that_no_scores_can_give_enough_of_are_refused(data):
    samples, _ = data
    is_rare = (samples.groups.codes == 0) & (np.arange(600) > 40)
    samples = samples._replace(target=np.where(is_rare, 1.0, samples.target))
    n = np.count_nonzero((samples.groups.codes == 0) & (samples.target < 0))
    bound = PARTIAL_CRITERIA["partial_equalized_odds"]((0.2, 0.6)).bind(samples, None, None, 0.5)
    with pytest.raises(ValueError, match=rf"negatives of group 0 \({n}\).*interval, or merge"):
        refuse_small_intervals(bound.sums)


def test_too_few_of_a_class_by_their_scores_may_be_ranked_within_it(data):
    samples, _ = data
    scores = np.where(samples.target > 0, 1.0, -1.0) + np.linspace(0.0, 0.1, 600)
    with pytest.raises(ValueError, match="rank_within='class'"):
        assert bind("partial_equalized_odds", (samples, scores), 0.1, ((0.1, 0.3),)).rows


@pytest.mark.parametrize("criterion", PARTIAL_CRITERIA)
def test_the_gap_is_the_public_metric_and_a_single_group_has_none(criterion, data):
    samples, scores = data
    bound = bind(criterion, data, 0.1)
    metric = getattr(metrics, bound.gap.criterion.metric)
    truth = (
        ()
        if criterion
        in ("partial_statistical_parity", "partial_demographic_parity", "partial_group_auc")
        else (samples.target,)
    )
    expected = metric(
        *truth,
        scores,
        sensitive_features=samples.groups.codes,
        interval=(0.2, 0.6),
        sample_weight=samples.weights,
    )
    assert bound.value(scores) == pytest.approx(expected)
    report = pd.DataFrame(ConstraintSystem((bound,)).report_columns(scores))
    assert report["gap"].unique().tolist() == [bound.value(scores)]
    alone = bind(criterion, (samples._replace(groups=Groups.single(600)), scores), 0.1)
    assert alone.value(scores) == 0.0
    assert len(alone.rows.lower) == len(alone.rows.upper) == 0


def test_settings_are_checked_when_they_are_bound(data):
    samples, _ = data
    with pytest.raises(ValueError, match="'scale' parameter of PartialDemographicParity"):
        PARTIAL_CRITERIA["partial_demographic_parity"](scale="percent").bind(
            samples, None, None, 0.1
        )
    with pytest.raises(ValueError, match="0 <= alpha < beta <= 1"):
        PARTIAL_CRITERIA["partial_group_auc"]((0.5, 0.2)).bind(samples, None, None, 0.1)
    with pytest.raises(ValueError, match="'tolerance' parameter"):
        PARTIAL_CRITERIA["partial_group_auc"](tolerance=1.5).bind(samples, None, None, 0.1)


@pytest.mark.parametrize("criterion", sorted(PARTIAL_CRITERIA))
def test_a_subset_is_bound_as_if_it_were_all_samples(criterion, data):
    samples, scores = data
    rows = np.arange(100, 500)
    result = bind(criterion, data, 0.1).take(rows)
    subset = (
        Samples(samples.target[rows], samples.groups.take(rows), samples.weights[rows]),
        scores[rows],
    )
    expected = bind(criterion, subset, 0.1)
    aux = expected.rows.initial_aux(scores[rows])
    np.testing.assert_allclose(result.rows.initial_aux(scores[rows]), aux)
    values = expected.rows(scores[rows], aux).values
    np.testing.assert_allclose(result.rows(scores[rows], aux).values, values)
    assert result.value(scores[rows]) == expected.value(scores[rows])


@pytest.mark.parametrize("rows", [np.arange(0, 600, 2), np.arange(30)])
def test_too_few_samples_are_refused(rows, data):
    with pytest.raises(ValueError, match="needs"):
        bind("partial_statistical_parity", data, 0.1).take(rows)


@pytest.mark.parametrize(
    ("criterion", "make"),
    [
        ("partial_statistical_parity", PartialStatisticalParity),
        ("partial_demographic_parity", PartialDemographicParity),
    ],
)
def test_a_fit_by_the_sigmoid_keeps_its_tolerance_and_uses_it(criterion, make):
    rng = np.random.default_rng(0)
    sex = rng.integers(2, size=1200)
    X = rng.normal(size=(1200, 3))
    X[:, 0] += sex
    y = X.sum(axis=1) + rng.logistic(size=1200) > 0.7
    model = ConstrainedERMClassifier(make((0.1, 0.5), surrogate="sigmoid"), tolerance=0.1)
    model.fit(X, y, sensitive_features=sex)
    gap = getattr(metrics, f"{criterion}_difference")(
        model.decision_function(X), sensitive_features=sex, interval=(0.1, 0.5)
    )
    assert 0.08 <= gap <= 0.1


@pytest.mark.parametrize("make", [PartialStatisticalParity, PartialDemographicParity])
def test_an_unknown_surrogate_is_named(make, data):
    samples, _ = data
    with pytest.raises(ValueError, match=f"'surrogate' parameter of {make.__name__}"):
        make(surrogate="step").bind(samples, None, None, 0.1)


@pytest.mark.parametrize("criterion", ["partial_demographic_parity", "partial_equal_opportunity"])
def test_rows_at_one_threshold_exist_where_they_are_linearised(criterion, data):
    samples, scores = data
    bound = PARTIAL_CRITERIA[criterion]((0.2, 0.6)).bind(samples, None, None, 0.1)
    with pytest.raises(ValueError, match="call linearize_at"):
        bound.rows  # noqa: B018
    assert len(bound.linearize_at(scores).rows.lower) == 2
