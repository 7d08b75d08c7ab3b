"""Centres that stay, and bounds on the size of each cluster."""

from itertools import product

import numpy as np
import pytest

from skfair.cluster import FairKMeans, cluster_front
from skfair.exceptions import InfeasibleConstraintWarning


def draw(n_samples, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 2))
    return X, rng.permutation(np.arange(n_samples) % 2), rng.normal(size=(3, 2))


def list_labels(n_samples, n_clusters):
    return np.array(list(product(range(n_clusters), repeat=n_samples)))


def cost_to(X, centers, labels, weights=1.0):
    return (weights * ((X - centers[labels]) ** 2).sum(axis=-1)).sum(axis=-1)


@pytest.mark.covering(0)
@pytest.mark.parametrize("seed", range(5))
def test_sizes_of_each_cluster_are_kept_at_least_cost(seed):
    X, groups, centers = draw(8, seed)
    smallest = [1, 2, 3]
    largest = [2, 3, 6]
    model = FairKMeans(
        3,
        min_balance=None,
        min_cluster_size=smallest,
        max_cluster_size=largest,
        init=centers,
        max_iter=0,
    )
    model.fit(X)
    labels = list_labels(8, 3)
    sizes = (labels[:, :, np.newaxis] == np.arange(3)).sum(axis=1)
    is_allowed = ((sizes >= smallest) & (sizes <= largest)).all(axis=1)
    least = cost_to(X, centers, labels[is_allowed]).min()
    assert model.inertia_ == pytest.approx(least)
    assert model.inertia_ == pytest.approx(cost_to(X, centers, model.labels_))
    assert model.assignment_lower_bound_ <= model.inertia_ * (1 + 1e-9)
    np.testing.assert_allclose(model.cluster_centers_, centers)
    assert (model.status_, model.n_iter_) == ("optimal", 0)
    # Rounds lower the cost, and keep the bounds of each cluster.
    moved = FairKMeans(**(model.get_params() | {"max_iter": 100})).fit(X)
    assert (moved.cluster_sizes_ >= smallest).all() and (moved.cluster_sizes_ <= largest).all()
    assert moved.inertia_ <= model.inertia_


@pytest.mark.covering(0)
@pytest.mark.parametrize("weighted", [False, True])
def test_assignments_that_keep_a_balance_are_near_the_cheapest(weighted):
    ratios = []
    labels = list_labels(9, 3)
    members = (labels[:, :, np.newaxis] == np.arange(3)).astype(float)
    for seed in range(6):
        X, groups, centers = draw(9, seed)
        weights = np.random.default_rng(seed).uniform(1, 2, 9) if weighted else np.ones(9)
        model = FairKMeans(3, min_balance=0.5, init=centers, max_iter=0)
        model.fit(X, sensitive_features=groups, sample_weight=weights)
        np.testing.assert_allclose(model.cluster_centers_, centers)
        if model.status_ in {"infeasible", "not_found"}:
            continue
        in_groups = weights[:, np.newaxis] * (groups[:, np.newaxis] == [0, 1])
        counts = members.transpose(0, 2, 1) @ in_groups
        ratio = 0.5 * counts[0].sum(axis=0).min() / counts[0].sum(axis=0).max()
        heaviest = weights.max()
        lowest = counts.min(axis=2) + heaviest
        is_allowed = (lowest >= ratio * (counts.max(axis=2) - heaviest)).all(axis=1)
        is_allowed &= (counts > 0).all(axis=(1, 2))
        least = cost_to(X, centers, labels[is_allowed], weights).min()
        assert model.inertia_ >= least * (1 - 1e-9)
        ratios.append(model.inertia_ / least)
    assert len(ratios) >= 5
    assert np.mean(ratios) < 1.1


def test_without_bounds_samples_go_to_the_nearest_centre():
    X, groups, centers = draw(50, 0)
    model = FairKMeans(3, min_balance=None, init=centers, max_iter=0).fit(X)
    np.testing.assert_array_equal(model.labels_, model.predict(X))
    assert model.status_ == "optimal"


def test_new_samples_fill_the_places_of_each_cluster():
    X, _, centers = draw(6, 1)
    model = FairKMeans(
        3, min_balance=None, max_cluster_size=[2, 4, 6], init=centers, max_iter=0
    ).fit(X)
    places = [2, 4, 6] - model.cluster_sizes_
    labels = model.predict(X, respect_sizes=True)
    assert (np.bincount(labels, minlength=3) <= places).all()


@pytest.mark.slow
def test_bounds_that_no_assignment_keeps_are_infeasible():
    X, _, _ = draw(8, 0)
    # Three members of group 0 are half of three clusters of two.
    model = FairKMeans(
        4,
        min_balance=None,
        max_group_share={0: 0.4},
        min_cluster_size=2,
        max_cluster_size=2,
        init=X[:4],
        max_iter=0,
    )
    with pytest.warns(InfeasibleConstraintWarning, match="max_group_share"):
        model.fit(X, sensitive_features=[0, 0, 0, 1, 1, 1, 1, 1])
    assert model.status_ == "infeasible"
    # One of two is .5, which is .2 samples more than .4.
    assert model.constraint_violation_ == pytest.approx(0.2)
    np.testing.assert_allclose(model.cluster_centers_, X[:4])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_iter": 0, "init": "k-means++"}, "max_iter=0 assigns samples"),
        ({"max_iter": 0, "init": [0, 1, 2] * 4}, "max_iter=0 assigns samples"),
        ({"max_cluster_size": [4, 4, 4], "init": "random"}, "only if init is an array of centres"),
        ({"max_cluster_size": [6, 6]}, "for each of 3 clusters"),
        ({"max_cluster_size": [6, 6, 0]}, "for each of 3 clusters"),
        ({"max_cluster_size": [6, 2, 3]}, "The sums of min_cluster_size"),
        ({"min_cluster_size": [6, 4, 3]}, "The sums of min_cluster_size"),
        (
            {"min_cluster_size": [6, 1, 3], "max_cluster_size": 5},
            "but cluster 0 has bounds 6 and 5",
        ),
        ({"max_iter": -1}, "max_iter"),
    ],
)
def test_invalid_bounds_and_centres(changes, message):
    X, groups, centers = draw(12, 0)
    model = FairKMeans(3, min_balance=None, init=centers).set_params(**changes)
    with pytest.raises(ValueError, match=message):
        model.fit(X, sensitive_features=groups)


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"max_cluster_size": [6, 6, 6]}, "one bound for all"), ({"max_iter": 0}, "at least 1")],
)
def test_fronts_take_one_bound_and_centres_that_move(changes, message):
    X, groups, centers = draw(12, 0)
    model = FairKMeans(3, init=centers, **changes)
    with pytest.raises(ValueError, match=message):
        cluster_front(model, X, sensitive_features=groups)


def test_whole_floats_are_numbers_of_samples():
    X = np.random.default_rng(0).normal(size=(12, 2))
    settings = {"init": X[:3], "n_init": 1}
    fits = [
        FairKMeans(3, min_cluster_size=sizes, **settings).fit(X)
        for sizes in ([5, 4, 1], np.ceil([4.2, 3.5, 0.3]))
    ]
    np.testing.assert_array_equal(fits[0].labels_, fits[1].labels_)
    assert (np.bincount(fits[0].labels_, minlength=3) >= [5, 4, 1]).all()
    message = r"an int from 0 on, or a float in \(0, 1\), .* got \[1.5, 4, 1\]"
    with pytest.raises(ValueError, match=message):
        FairKMeans(3, min_cluster_size=np.array([1.5, 4.0, 1.0]), **settings).fit(X)
