"""The front of normalised cut and balance: every point is what it says."""

import numpy as np
import pytest

from skfair.cluster import FairSpectralClustering, cluster_front
from skfair.datasets import make_fair_sbm
from skfair.metrics import balance_score, normalized_cut, share_ratio_score


@pytest.fixture(scope="module")
def problem():
    return make_fair_sbm(200, n_clusters=3, n_groups=2, average_degree=15, random_state=0)


@pytest.fixture(scope="module")
def front(problem):
    adjacency, _, groups = problem
    return cluster_front(
        FairSpectralClustering(3, affinity="precomputed", random_state=0),
        adjacency,
        sensitive_features=groups,
        n_levels=5,
    )


def test_every_point_is_what_its_labels_say(front, problem):
    adjacency, _, groups = problem
    for i in range(len(front)):
        labels = front.labels(i)
        assert front.cost[i] == pytest.approx(normalized_cut(labels, adjacency))
        assert front.balance[i] == balance_score(labels, sensitive_features=groups)


def test_the_front_is_sorted_and_not_dominated(front):
    assert (np.diff(front.cost) > 0).all()
    assert (np.diff(front.balance) > 0).all()
    assert front.cost_name == "normalised cut"


def test_a_point_becomes_a_fitted_estimator(front, problem):
    i = len(front) - 1
    estimator = front.to_estimator(i)
    np.testing.assert_array_equal(estimator.labels_, front.labels(i))
    assert estimator.objective_ == pytest.approx(front.cost[i])
    assert estimator.balance_ == front.balance[i]
    assert estimator.status_ == "feasible"
    assert estimator.n_features_in_ == problem[0].shape[1]


def test_a_front_of_share_ratios_rises_in_them(front, problem):
    adjacency, _, groups = problem
    groups = np.where(np.arange(len(groups)) % 3 == 0, 2, groups)  # a third group, more common
    front = cluster_front(
        FairSpectralClustering(3, affinity="precomputed", random_state=0),
        adjacency,
        sensitive_features=groups,
        n_levels=4,
        metric="share_ratio",
    )
    assert (np.diff(front.share_ratio) > 0).all()
    for i in range(len(front)):
        labels = front.labels(i)
        expected = share_ratio_score(labels, sensitive_features=groups)
        assert front.share_ratio[i] == pytest.approx(expected, rel=1e-12)
    model = front.to_estimator(len(front) - 1)
    assert model.min_share_ratio == pytest.approx(front.share_ratio[-1], rel=1e-12)


def test_the_number_of_levels_must_be_positive(problem):
    adjacency, _, groups = problem
    with pytest.raises(ValueError, match="n_levels must be a positive int, got 0"):
        cluster_front(FairSpectralClustering(), adjacency, sensitive_features=groups, n_levels=0)
