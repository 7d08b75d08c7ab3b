"""A front made by hand of two routes over four samples in two clusters."""

import warnings

import numpy as np
import pandas as pd
import pytest

from skfair.cluster import ParetoFront
from skfair.cluster._base import Route
from skfair.exceptions import InfeasibleConstraintWarning


class Built:
    """What stands in for a fitted estimator."""

    def __init__(self, labels):
        self.labels_ = labels
        self.cluster_centers_ = np.bincount(labels)[:, None]


def measure_route(route, n_moves):
    """What stands in for balances and ratio of shares: the latter falls as cluster 1 shrinks."""
    shares = [route.labels_after(number).mean() for number in n_moves]
    return route.ratios[n_moves], route.ratios[n_moves] / 0.5, shares


ROUTES = [
    # Sample 1 goes to cluster 1 and returns; the second clustering is dominated.
    Route(
        labels=np.array([0, 0, 1, 1], dtype=np.uint8),
        samples=np.array([2, 1, 1]),
        clusters=np.array([0, 1, 0]),
        costs=np.array([1.0, 3.0, 2.0, 4.0]),
        ratios=np.array([0.1, 0.1, 0.2, 0.4]),
    ),
    # A single clustering, equal in both objectives to the third of the route above.
    Route(
        labels=np.array([1, 0, 1, 0], dtype=np.uint8),
        samples=np.array([], dtype=int),
        clusters=np.array([], dtype=int),
        costs=np.array([2.0]),
        ratios=np.array([0.2]),
    ),
]


@pytest.fixture
def front():
    return ParetoFront._from_routes(
        ROUTES, measure_route, Built, data_balance=0.5, cost_name="cost", metric="balance"
    )


def test_the_points_are_those_that_no_other_dominates_by_rising_cost(front):
    assert len(front) == 3
    assert front.cost.tolist() == [1, 2, 4]
    assert front.balance.tolist() == [0.1, 0.2, 0.4]
    assert front.data_balance == 0.5
    np.testing.assert_allclose(front.relative_balance, [0.2, 0.4, 0.8])
    assert front.share_ratio.tolist() == [0.5, 0.5, 0.25]


def test_labels_are_those_after_the_moves(front):
    assert front.labels(0).tolist() == [0, 0, 1, 1]
    assert front.labels(1).tolist() == [0, 1, 0, 1]
    assert front.labels(2).tolist() == [0, 0, 0, 1]
    assert front.labels(-1).tolist() == [0, 0, 0, 1]
    assert front.labels(np.int64(0)).dtype == np.int32


def test_the_source_of_a_move_is_the_cluster_before_it():
    rng = np.random.default_rng(0)
    samples, clusters = rng.integers(6, size=50), rng.integers(4, size=50)
    route = Route(rng.integers(4, size=6), samples, clusters, np.zeros(51), np.zeros(51))
    expected = [route.labels_after(number)[sample] for number, sample in enumerate(samples)]
    assert route.sources().tolist() == expected
    assert not len(Route.from_labels(np.array([0, 1]), 1.0, 0.5).sources())


def test_labels_are_new_every_time(front):
    front.labels(0)[:] = 7
    assert front.labels(0).tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("i", [3, -4])
def test_there_is_nothing_beyond_the_ends(front, i):
    with pytest.raises(IndexError):
        front.labels(i)


def test_estimators_are_built_from_the_labels(front):
    assert front.to_estimator(2).labels_.tolist() == [0, 0, 0, 1]
    assert front.centers(2).tolist() == [[3], [1]]


@pytest.mark.parametrize(
    ("min_balance", "i"), [(0, 0), (0.2, 0), (0.21, 1), (0.4, 1), (0.5, 2), (0.8, 2)]
)
def test_the_cheapest_point_of_enough_relative_balance_is_selected(front, min_balance, i):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert front.select(min_balance=min_balance) == i


@pytest.mark.parametrize(
    ("required", "i"),
    [
        ({}, 0),
        ({"min_share_ratio": 0.5}, 0),
        ({"min_balance": 0.4, "min_share_ratio": 0.5}, 1),
        ({"min_balance": 0.8, "min_share_ratio": 0.25}, 2),
    ],
)
def test_the_cheapest_point_that_has_both_is_selected(front, required, i):
    assert front.select(**required) == i


def test_requirements_other_than_the_criterion_may_be_infeasible(front):
    message = (
        r"min_balance=0.8 and min_share_ratio=0.5; the nearest has 0\.8000 .* 0\.2500 .*metric"
    )
    with pytest.warns(InfeasibleConstraintWarning, match=message):
        assert front.select(min_balance=0.8, min_share_ratio=0.5) == 2


def test_a_front_of_share_ratios_rises_in_them():
    front = ParetoFront._from_routes(
        ROUTES, measure_route, Built, data_balance=0.5, cost_name="cost", metric="share_ratio"
    )
    assert front.share_ratio.tolist() == [0.1, 0.2, 0.4]
    assert front.hypervolume(reference=(5, 0)) == pytest.approx(0.1 + 0.2 * 2 + 0.4)
    assert repr(front) == "ParetoFront(3 points, cost 1 to 4, share_ratio 0.1 to 0.4)"
    assert front.select(min_share_ratio=0.2) == 1
    with pytest.warns(InfeasibleConstraintWarning, match=r"0.4000 and is selected. Samples"):
        assert front.select(min_share_ratio=0.8) == 2


def test_an_infeasible_balance_selects_the_best_and_warns(front):
    with pytest.warns(InfeasibleConstraintWarning, match=r"min_balance=0.9.*has 0\.8000") as caught:
        assert front.select(min_balance=0.9) == 2
    assert caught[0].filename == __file__


@pytest.mark.parametrize("min_balance", [-0.1, 1.1, np.nan])
def test_a_balance_outside_the_range_is_refused(front, min_balance):
    with pytest.raises(ValueError, match=rf"in \[0, 1\], got {min_balance}"):
        front.select(min_balance=min_balance)


def test_the_hypervolume_is_the_area_of_the_staircase(front):
    # .1 high from cost 1 to 2, .2 from 2 to 4, .4 from 4 to 5
    area = 0.1 * 1 + 0.2 * 2 + 0.4 * 1
    assert front.hypervolume(reference=(5, 0)) == pytest.approx(area)


def test_the_table_has_a_row_for_every_point(front):
    expected = pd.DataFrame(
        {
            "cost": [1.0, 2.0, 4.0],
            "balance": [0.1, 0.2, 0.4],
            "relative_balance": [0.2, 0.4, 0.8],
            "share_ratio": [0.5, 0.5, 0.25],
            "extra_cost": [0.0, 1.0, 3.0],
        }
    )
    pd.testing.assert_frame_equal(front.to_frame(), expected)


def test_the_representation_has_the_range_of_the_front(front):
    text = "ParetoFront(3 points, cost 1 to 4, balance 0.1 to 0.4 of 0.5)"
    assert repr(front) == text


def test_a_front_is_not_changed(front):
    with pytest.raises(AttributeError):
        front.cost = np.zeros(3)
