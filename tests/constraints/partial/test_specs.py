"""Criteria of partial fairness as rows."""

import numpy as np
import pytest
from scipy import sparse

from skfair import metrics
from skfair.classification import ConstrainedERMClassifier
from skfair.constraints import (
    PARTIAL_CRITERIA,
    PartialDemographicParity,
    PartialStatisticalParity,
)
from skfair.groups import Groups, Samples, check_groups


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    target = np.where(rng.random(600) < 0.4, 1.0, -1.0)
    groups = check_groups(np.arange(600) % 2, 600)
    return Samples(target, groups, rng.uniform(0.5, 2.0, 600)), rng.normal(size=600)


def bind(criterion, people, tolerance, pairs=((0.2, 0.6),), **settings):
    """Rows of a criterion for people, as seen from their scores."""
    who, scores = people
    constraint = PARTIAL_CRITERIA[criterion](list(pairs), **settings)
    return constraint.bind(who, None, None, tolerance).linearize_at(scores)


@pytest.mark.parametrize(
    ("criterion", "n_rows", "n_aux"),
    [
        ("statistical_parity", 20, 10),
        ("demographic_parity", 2, 1),
        ("equal_opportunity", 2, 1),
        ("equalized_odds", 4, 2),
        ("group_auc", 1, 0),
    ],
)
def test_rows_and_unknowns(criterion, n_rows, n_aux, people):
    who, scores = people
    bound = bind(criterion, people, 0.5).rows
    assert len(bound.lower) == len(bound.upper) == n_rows
    assert bound.n_aux == n_aux
    assert len(bound.initial_aux(scores)) == n_aux


def test_opportunity_is_about_the_positive_class(people):
    who, scores = people
    bound = bind("equal_opportunity", people, 0.1, rank_within="class")
    assert (who.target[bound.events.memberships[0]] > 0).all()
    odds = bind("equalized_odds", people, 0.1, rank_within="class")
    samples, events, shares = odds.events.memberships
    np.testing.assert_array_equal(who.target[samples] > 0, events < 2)
    # Shares of every event sum to 1.
    np.testing.assert_allclose(np.bincount(events, shares), 1.0)


def test_raw_tolerances_are_shares_of_the_group(people):
    who, scores = people
    normalized = bind("statistical_parity", people, 0.1).rows
    raw = bind("statistical_parity", people, 0.04, scale="raw").rows
    np.testing.assert_allclose(raw.upper, normalized.upper)
    np.testing.assert_allclose(raw.upper - raw.lower, 0.04)


def test_percentiles_reach_from_one_end_to_the_other(people):
    bound = bind("statistical_parity", people, 0.2, n_percentiles=4).rows
    np.testing.assert_allclose(bound.lower[:4], 0.2 + 0.4 * np.arange(4) / 3)


def test_ranks_within_a_group_are_read_off_its_scores(people):
    who, scores = people
    # The upper half of each group has all of its positive class.
    sorted_out = np.where(who.target > 0, 10.0, -10.0) + scores
    share = np.bincount(who.groups.codes, who.weights * (who.target > 0))
    share /= np.bincount(who.groups.codes, who.weights)
    pairs = ((0.0, 0.5 * share.min()),)
    bound = bind("equal_opportunity", (who, sorted_out), 0.1, pairs).rows
    # All positive people are above the threshold: past the ends of their intervals, less a tenth.
    np.testing.assert_allclose(bound.lower, 0.9 * pairs[0][1] / share, atol=0.02)


@pytest.mark.parametrize("criterion", PARTIAL_CRITERIA)
def test_overlapping_groups_bind(criterion, people):
    who, scores = people
    membership = np.random.default_rng(1).random((600, 3)) < 0.5
    who = who._replace(groups=check_groups(sparse.csr_array(membership), 600, overlapping=True))
    bound = bind(criterion, (who, scores), 0.1, ((0.1, 0.7),))
    assert bound.events.n_events % 3 == 0
    values = bound.rows(scores, bound.rows.initial_aux(scores)).values
    assert np.isfinite(values).all()


@pytest.mark.parametrize("criterion", PARTIAL_CRITERIA)
def test_small_groups_are_refused_by_name(criterion, people):
    who, scores = people
    names = np.where(np.arange(600) < 30, "few", "many")
    who = who._replace(groups=check_groups(names, 600))
    with pytest.raises(ValueError, match=r"at least 20 samples in the interval.*'few'"):
        assert bind(criterion, (who, scores), 0.1).rows


def test_a_group_without_a_class_is_refused_by_name(people):
    who, scores = people
    who = who._replace(target=np.where(who.groups.codes == 0, 1.0, who.target))
    with pytest.raises(ValueError, match=r"fewer in 1 of 4: negatives of group 0 \(0\)"):
        assert bind("equalized_odds", (who, scores), 0.1).rows


@pytest.mark.parametrize("criterion", ["statistical_parity", "group_auc", "demographic_parity"])
def test_small_groups_are_refused_before_any_fit(criterion, people):
    who, _ = people
    who = who._replace(groups=check_groups(np.where(np.arange(600) < 30, "few", "many"), 600))
    with pytest.raises(ValueError, match=r"fewer in 1 of 2: group 'few' \(12\)"):
        PARTIAL_CRITERIA[criterion]((0.2, 0.6)).bind(who, None, None, 0.5)


@pytest.mark.parametrize("criterion", PARTIAL_CRITERIA)
def test_the_gap_is_the_public_metric_and_a_single_group_has_none(criterion, people):
    who, scores = people
    bound = bind(criterion, people, 0.1)
    metric = getattr(metrics, bound.criterion.metric)
    truth = (
        ()
        if criterion in ("statistical_parity", "demographic_parity", "group_auc")
        else (who.target,)
    )
    expected = metric(
        *truth,
        scores,
        sensitive_features=who.groups.codes,
        interval=(0.2, 0.6),
        sample_weight=who.weights,
    )
    assert bound.gap(scores) == pytest.approx(expected)
    report = bound.report(scores)
    assert report["gap"].unique().tolist() == [bound.gap(scores)]
    alone = bind(criterion, (who._replace(groups=Groups.single(600)), scores), 0.1)
    assert alone.gap(scores) == 0.0
    assert len(alone.rows.lower) == len(alone.rows.upper) == 0


def test_settings_are_checked_when_they_are_bound(people):
    who, _ = people
    with pytest.raises(ValueError, match="'scale' parameter of PartialDemographicParity"):
        PARTIAL_CRITERIA["demographic_parity"](scale="percent").bind(who, None, None, 0.1)
    with pytest.raises(ValueError, match="0 <= alpha < beta <= 1"):
        PARTIAL_CRITERIA["group_auc"]((0.5, 0.2)).bind(who, None, None, 0.1)
    with pytest.raises(ValueError, match="'tolerance' parameter"):
        PARTIAL_CRITERIA["group_auc"](tolerance=1.5).bind(who, None, None, 0.1)


@pytest.mark.parametrize("criterion", sorted(PARTIAL_CRITERIA))
def test_some_of_the_people_are_bound_as_if_they_were_all(criterion, people):
    who, scores = people
    rows = np.arange(100, 500)
    taken = bind(criterion, people, 0.1).take(rows)
    some = Samples(who.target[rows], who.groups.take(rows), who.weights[rows]), scores[rows]
    expected = bind(criterion, some, 0.1)
    aux = expected.rows.initial_aux(scores[rows])
    np.testing.assert_allclose(taken.rows.initial_aux(scores[rows]), aux)
    values = expected.rows(scores[rows], aux).values
    np.testing.assert_allclose(taken.rows(scores[rows], aux).values, values)
    assert taken.gap(scores[rows]) == expected.gap(scores[rows])


@pytest.mark.parametrize("rows", [np.arange(0, 600, 2), np.arange(30)])
def test_too_few_people_are_refused(rows, people):
    with pytest.raises(ValueError, match="needs"):
        bind("statistical_parity", people, 0.1).take(rows)


@pytest.mark.parametrize(
    ("criterion", "make"),
    [
        ("statistical_parity", PartialStatisticalParity),
        ("demographic_parity", PartialDemographicParity),
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
    gap = getattr(metrics, f"partial_{criterion}_difference")(
        model.decision_function(X), sensitive_features=sex, interval=(0.1, 0.5)
    )
    assert 0.08 <= gap <= 0.1


@pytest.mark.parametrize("make", [PartialStatisticalParity, PartialDemographicParity])
def test_an_unknown_surrogate_is_named(make, people):
    who, _ = people
    with pytest.raises(ValueError, match=f"'surrogate' parameter of {make.__name__}"):
        make(surrogate="step").bind(who, None, None, 0.1)


@pytest.mark.parametrize("criterion", ["demographic_parity", "equal_opportunity"])
def test_rows_at_one_threshold_exist_where_they_are_linearised(criterion, people):
    who, scores = people
    bound = PARTIAL_CRITERIA[criterion]((0.2, 0.6)).bind(who, None, None, 0.1)
    with pytest.raises(ValueError, match="call linearize_at"):
        bound.rows  # noqa: B018
    assert len(bound.linearize_at(scores).rows.lower) == 2
