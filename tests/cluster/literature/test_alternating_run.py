from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs

from skfair.cluster import AlternatingFront, AlternatingSwaps
from skfair.cluster.literature._alternating import alternating_front, run_alternating_swaps


class Answer(NamedTuple):
    labels: np.ndarray
    cost: np.ndarray
    balance: np.ndarray


def front_of(*args):
    return Answer(*alternating_front(*args))


def path_of(*args):
    return Answer(*run_alternating_swaps(*args))


EQUAL_DS1 = AlternatingFront.from_paper("Syn_equal_ds1").set_params(n_iter=150, n_init=6)


def equal_ds1(n_samples=80):
    """Two groups, far apart, of two blobs each: the balanced clustering cuts the other way."""
    X, blob = make_blobs(
        n_samples,
        centers=[(1, 1), (2.1, 1), (1, 5), (2.1, 5)],
        cluster_std=0.1,
        shuffle=False,
        random_state=1,
    )
    return X, blob // 2


def random_problem(n, n_groups=2, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.arange(n) % n_groups)
    return rng.standard_normal((n, 2)) + codes[:, None], codes, rng.uniform(0.5, 2, n)


def objectives(X, codes, weights, labels):
    """f1 and f2 from their definitions."""
    cost = 0.0
    balances = []
    for k in np.unique(labels):
        x = X[labels == k]
        w = weights[labels == k]
        cost += w @ ((x - np.average(x, axis=0, weights=w)) ** 2).sum(axis=1)
        counts = np.bincount(codes[labels == k], w, minlength=codes.max() + 1)
        balances.append(counts.min() / counts.max())
    return cost / weights.sum(), min(balances)


def test_every_member_is_what_its_labels_say():
    X, codes, weights = random_problem(60, 3)
    algorithm = AlternatingFront(n_init=4, n_iter=40)
    front = front_of(1e3 + X, codes, weights, 3, algorithm, 0)
    assert front.labels.dtype == np.uint8
    assert (np.diff(front.cost) > 0).all()
    assert (np.diff(front.balance) > 0).all()
    variance = objectives(X, codes, weights, np.zeros(60, int))[0]
    for labels, cost, balance in zip(*front, strict=True):
        f1, f2 = objectives(X, codes, weights, labels)
        assert cost == pytest.approx(f1, abs=1e-12 * variance * 1e3)  # the shift costs digits
        assert balance == pytest.approx(f2, abs=1e-12)


def test_the_front_of_separated_groups_reaches_both_ends():
    X, codes = equal_ds1()
    front = front_of(X, codes, np.ones(80), 2, EQUAL_DS1, 0)
    assert front.balance[0] == 0
    assert front.cost[0] == pytest.approx(objectives(X, codes, np.ones(80), codes)[0])
    assert front.balance[-1] == 1
    across = (X[:, 0] > 1.5).astype(int)
    assert front.cost[-1] == pytest.approx(objectives(X, codes, np.ones(80), across)[0])


@pytest.mark.parametrize("target", ["local", "global"])
@pytest.mark.parametrize("half", [False, True])
def test_a_run_of_swaps_reaches_balance_one(target, half):
    X, codes = equal_ds1()
    algorithm = AlternatingSwaps(1, 1, swap_target=target, half_swaps=half, n_iter=400)
    path = path_of(X, codes, np.ones(80), 2, algorithm, 0)
    assert path.cost.shape == path.balance.shape == (400,)
    assert path.balance[-100:].mean() > 0.9
    f1, f2 = objectives(X, codes, np.ones(80), path.labels)
    assert path.cost[-1] == pytest.approx(f1)
    assert path.balance[-1] == f2


def test_kmeans_updates_alone_find_the_blobs():
    X, codes = equal_ds1()
    labels = path_of(X, codes, np.ones(80), 2, AlternatingSwaps(10, 0, n_iter=100), 0)[0]
    assert len(np.unique(labels[codes == 0])) == len(np.unique(labels[codes == 1])) == 1


@pytest.mark.parametrize("seed", range(3))
def test_no_member_dominates_the_true_front(seed):
    """Brute force over all labellings of eight points into two clusters."""
    X, codes, weights = random_problem(8, 2, seed)
    true = np.array(
        [
            objectives(X, codes, weights, np.array((0, *rest)))
            for rest in product((0, 1), repeat=7)
            if any(rest)
        ]
    )
    algorithm = AlternatingFront(((4, 0), (1, 2), (0, 1)), n_init=8, n_iter=60)
    front = front_of(X, codes, weights, 2, algorithm, seed)
    for cost, balance in zip(front.cost, front.balance, strict=True):
        assert np.isclose(true, (cost, balance), atol=1e-9).all(axis=1).any()
    assert front.cost[0] == pytest.approx(true[:, 0].min())
    assert front.balance[-1] > 0.9 * true[:, 1].max()


def test_ties_are_accepted_on_request_and_end_the_run():
    X, codes = equal_ds1()
    strict = clone(EQUAL_DS1).set_params(max_size=100)
    front = front_of(X, codes, np.ones(80), 2, strict, 0)
    ties = clone(strict).set_params(keep_ties=True)
    more = front_of(X, codes, np.ones(80), 2, ties, 0)
    assert len(front.cost) <= 100 < len(more.cost)
    for cost, balance in zip(more.cost, more.balance, strict=True):
        assert not ((more.cost < cost) & (more.balance > balance)).any()


def test_a_seed_fixes_the_outcome():
    X, codes, weights = random_problem(50)
    algorithm = AlternatingFront(n_init=6, n_iter=40)
    runs = [front_of(X, codes, weights, 3, algorithm, seed) for seed in (5, 5, 6)]
    for one, same in zip(runs[0], runs[1], strict=True):
        assert np.array_equal(one, same)
    assert not np.array_equal(runs[0].cost, runs[2].cost)


def test_several_attributes_are_improved_in_turn():
    """Each attribute splits one axis; only clusters that mix both are balanced."""
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(2, size=200), rng.integers(3, size=200)], axis=1)
    X = codes + 0.1 * rng.standard_normal((200, 2))
    algorithm = AlternatingSwaps(2, 6, swap_target="global", n_iter=600)
    plain = path_of(X, codes, np.ones(200), 3, AlternatingSwaps(20, 0), 0)[0]
    labels = path_of(X, codes, np.ones(200), 3, algorithm, 0)[0]
    for c in codes.T:
        most = np.bincount(c).min() / np.bincount(c).max()
        assert objectives(X, c, np.ones(200), labels)[1] > 0.7 * most
    assert min(objectives(X, c, np.ones(200), plain)[1] for c in codes.T) < 0.3


@pytest.mark.parametrize("n_clusters", [1, 6])
def test_one_cluster_and_as_many_as_samples(n_clusters):
    X, codes, weights = random_problem(6)
    labels = path_of(X, codes, weights, n_clusters, AlternatingSwaps(n_iter=20), 0)[0]
    assert len(np.unique(labels)) == n_clusters
    front = front_of(X, codes, weights, n_clusters, AlternatingFront(n_iter=20), 0)
    assert len(np.unique(front.labels[0])) == n_clusters


def test_one_group_is_plain_kmeans():
    X, codes = equal_ds1()
    front = front_of(X, np.zeros(80, int), np.ones(80), 2, EQUAL_DS1, 0)
    assert front.balance.tolist() == [1.0]
    assert front.cost[0] == pytest.approx(objectives(X, codes, np.ones(80), codes)[0])


def test_duplicate_points_are_no_obstacle():
    codes = np.array([0, 1] * 6)
    front = front_of(
        np.zeros((12, 2)), codes, np.ones(12), 3, AlternatingFront(n_init=4, n_iter=20), 0
    )
    assert front.cost.tolist() == [0.0]
    assert front.balance.tolist() == [1.0]


def test_a_batch_that_grows_beyond_all_bounds():
    X, codes, weights = random_problem(30)
    algorithm = AlternatingSwaps(3, 2, batch_growth=1e200, n_iter=20)
    labels, _, _ = path_of(X, codes, weights, 2, algorithm, 0)
    assert len(labels) == 30


def test_no_iterations_leave_the_start():
    X, codes, weights = random_problem(30)
    path = path_of(X, codes, weights, 3, AlternatingSwaps(n_iter=0), 0)
    assert path.cost.shape == (0,)
    assert np.bincount(path.labels).tolist() == [10, 10, 10]


@pytest.mark.parametrize("pairs", [((1, 2, 3),), ((1, -2),), ()])
def test_pairs_must_be_pairs(pairs):
    X, codes, weights = random_problem(10)
    with pytest.raises(ValueError, match="a pair is"):
        alternating_front(X, codes, weights, 2, AlternatingFront(pairs), 0)
