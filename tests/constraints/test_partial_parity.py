"""Criteria of partial fairness as rows."""

import numpy as np
import pytest
from scipy import sparse

from skfair.constraints._constraint import People
from skfair.constraints._partial_parity import CRITERIA, PartialParity
from skfair.utils._groups import check_groups, check_memberships


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    target = np.where(rng.random(600) < 0.4, 1.0, -1.0)
    groups = check_groups(np.arange(600) % 2, 600)
    return People(target, groups, rng.uniform(0.5, 2.0, 600)), rng.normal(size=600)


def parity(criterion, pairs=((0.2, 0.6),), **settings):
    return PartialParity(criterion, [np.array(pairs)] * 2, **settings)


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
    bound = parity(criterion).bind(who, scores, 0.5)
    assert len(bound.lower) == len(bound.upper) == n_rows
    assert bound.n_aux == n_aux
    assert len(bound.initial_aux(scores)) == n_aux


def test_opportunity_is_about_the_positive_class(people):
    who, scores = people
    bound = parity("equal_opportunity", rank_within="class").bind(who, scores, 0.1)
    assert (who.target[bound.members.samples] > 0).all()
    odds = parity("equalized_odds", rank_within="class").bind(who, scores, 0.1)
    classes = who.target[odds.members.samples] > 0
    np.testing.assert_array_equal(classes, odds.members.events < 2)
    # Shares of every event sum to 1.
    np.testing.assert_allclose(np.bincount(odds.members.events, odds.members.shares), 1.0)


def test_raw_tolerances_are_shares_of_the_group(people):
    who, scores = people
    normalized = parity("statistical_parity").bind(who, scores, 0.1)
    raw = parity("statistical_parity", scale="raw").bind(who, scores, 0.04)
    np.testing.assert_allclose(raw.upper, normalized.upper)
    np.testing.assert_allclose(raw.upper - raw.lower, 0.04)


def test_the_grid_of_the_lemma_stops_short_of_the_end(people):
    who, scores = people
    bound = parity("statistical_parity", grid="lemma", n_percentiles=4).bind(who, scores, 0.2)
    np.testing.assert_allclose(bound.lower[:4], 0.2 + 0.4 * 0.8 * np.arange(4) / 4)


def test_ranks_within_a_group_are_read_off_its_scores(people):
    who, scores = people
    # The upper half of each group has all of its positive class.
    sorted_out = np.where(who.target > 0, 10.0, -10.0) + scores
    share = np.bincount(who.groups.codes, who.weights * (who.target > 0))
    share /= np.bincount(who.groups.codes, who.weights)
    pairs = ((0.0, 0.5 * share.min()),)
    bound = parity("equal_opportunity", pairs).bind(who, sorted_out, 0.1)
    # All positive people are above the threshold: past the ends of their intervals, less a tenth.
    np.testing.assert_allclose(bound.lower, 0.9 * pairs[0][1] / share, atol=0.02)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_overlapping_groups_bind(criterion, people):
    who, scores = people
    membership = np.random.default_rng(1).random((600, 3)) < 0.5
    who = who._replace(groups=check_memberships(sparse.csr_array(membership), 600))
    intervals = [np.array([[0.1, 0.7]])] * 3
    bound = PartialParity(criterion, intervals).bind(who, scores, 0.1)
    assert bound.members.n_events % 3 == 0
    values = bound(scores, bound.initial_aux(scores)).values
    assert np.isfinite(values).all()


@pytest.mark.parametrize("criterion", CRITERIA)
def test_small_groups_are_refused_by_name(criterion, people):
    who, scores = people
    names = np.where(np.arange(600) < 30, "few", "many")
    who = who._replace(groups=check_groups(names, 600))
    with pytest.raises(ValueError, match=r"at least 20 samples in the interval.*'few'"):
        parity(criterion).bind(who, scores, 0.1)
