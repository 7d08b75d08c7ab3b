from itertools import permutations, product

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from benchmarks.peers.kmeans_methods import (
    fair_assignment_lp,
    fairlet_kmeans,
    fairness_error,
    vfairkm,
    vfairkm_front,
)


def separated_groups(n=40, ratio=1):
    """Two far groups of `ratio` : 1, each of two blobs that a vertical line divides."""
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], [ratio * n, n])
    side = np.arange(len(codes)) % 2
    X = np.stack([side, 4 * codes], axis=1) + 0.05 * rng.standard_normal((len(codes), 2))
    return X, codes, side


def balance(labels, codes):
    counts = np.zeros((labels.max() + 1, codes.max() + 1))
    np.add.at(counts, (labels, codes), 1)
    return (counts.min(axis=1) / counts.max(axis=1)).min()


def agree(one, other):
    """Whether two labellings describe the same clusters."""
    return np.array_equal(one[:, None] == one, other[:, None] == other)


def test_the_fairness_error_by_hand():
    """Shares of the data 1/2 and 1/2, those of the clusters 3/4 and 1/4, and the reverse."""
    codes = np.array([0, 0, 0, 1, 0, 1, 1, 1])
    expected = 2 * (0.5 * np.log(0.5 / 0.75) + 0.5 * np.log(0.5 / 0.25))
    assert fairness_error(np.repeat([0, 1], 4), codes) == pytest.approx(expected)
    assert fairness_error(codes, codes) == np.inf


def test_vfairkm_without_penalty_is_kmeans():
    X, codes, _ = separated_groups()
    assert agree(vfairkm(X, codes, 2, 0.0, random_state=0), codes)


def overlapping_groups(n=300):
    """Two groups whose centres are two standard deviations apart."""
    rng = np.random.default_rng(0)
    codes = np.arange(n) % 2
    return rng.standard_normal((n, 2)) + [2, 0] * codes[:, None], codes


def test_the_penalty_of_vfairkm_buys_balance():
    X, codes = overlapping_groups()
    labels = vfairkm_front(X, codes, 3, [0, 300, 3000], random_state=0)
    assert labels.shape == (3, 300)
    plain, fairer, fairest = (balance(row, codes) for row in labels)
    assert plain < 0.4 < fairer < fairest
    assert fairest > 0.75


def test_a_seed_or_centres_fix_vfairkm():
    X, codes = overlapping_groups(60)
    first, same = (vfairkm(X, codes, 2, 50, random_state=3) for _ in range(2))
    assert np.array_equal(first, same)
    init = X[:2].copy()
    first, same = (vfairkm(X, codes, 2, 50, init=init) for _ in range(2))
    assert np.array_equal(first, same)
    assert np.array_equal(init, X[:2])


@pytest.mark.parametrize("n_groups", [2, 3])
def test_the_assignment_keeps_every_ratio_and_costs_no_more_than_integer_ones(n_groups):
    rng = np.random.default_rng(n_groups)
    codes = np.arange(9) % n_groups
    distances = rng.uniform(size=(9, 2))
    required = 0.7 * np.bincount(codes).min() / np.bincount(codes).max()
    objective, s = fair_assignment_lp(distances, codes, required)
    np.testing.assert_allclose(s.sum(axis=1), 1)
    assert s.min() >= -1e-9
    assert objective == pytest.approx((s * distances).sum())
    counts = np.eye(n_groups)[codes].T @ s
    for j, other in permutations(range(n_groups), 2):
        assert (counts[j] >= required * counts[other] - 1e-9).all()

    def keeps(labels):
        table = np.stack([np.bincount(labels[codes == j], minlength=2) for j in range(n_groups)])
        return (table.min(axis=0) >= required * table.max(axis=0)).all()

    labellings = map(np.array, product((0, 1), repeat=9))
    costs = [distances[np.arange(9), labels].sum() for labels in labellings if keeps(labels)]
    assert distances.min(axis=1).sum() <= objective <= min(costs) + 1e-9


def test_the_assignment_without_constraint_is_the_nearest_centre():
    distances = np.random.default_rng(0).uniform(size=(20, 3))
    for codes, required in ((np.arange(20) % 2, 0.0), (np.zeros(20, int), 1.0)):
        objective, s = fair_assignment_lp(distances, codes, required)
        assert objective == pytest.approx(distances.min(axis=1).sum())
        assert np.array_equal(s.argmax(axis=1), distances.argmin(axis=1))


def test_the_assignment_cannot_exceed_the_balance_of_the_data():
    with pytest.raises(ValueError, match="no assignment has balance 0.6: that of the data is 0.5"):
        fair_assignment_lp(np.ones((6, 2)), np.array([0, 0, 0, 0, 1, 1]), 0.6)


@pytest.mark.parametrize("ratio", [1, 2, 3])
def test_fairlets_cut_across_separated_groups(ratio):
    X, codes, side = separated_groups(12, ratio)
    labels = fairlet_kmeans(X, codes, 2, random_state=0)
    assert balance(labels, codes) >= 1 / ratio
    assert agree(labels, side)


def test_fairlets_are_the_cheapest_pairs():
    """Brute force over all ways to give three points one partner each."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((6, 2))
    codes = np.array([0, 1, 1, 0, 1, 0])
    pairs = cdist(X[codes == 0], X[codes == 1], "sqeuclidean")
    best = min(permutations(range(3)), key=lambda order: sum(pairs[range(3), order]))
    labels = fairlet_kmeans(X, codes, 3, random_state=0)
    assert np.array_equal(labels[codes == 0], labels[codes == 1][list(best)])


def test_no_member_of_the_smaller_group_goes_without_a_partner():
    """All large ones are near one small point, which may take two of the three."""
    X = np.array([[0.0], [0.1], [0.2], [0.1], [9.0]])
    labels = fairlet_kmeans(X, np.array([0, 0, 0, 1, 1]), 2, random_state=0)
    assert balance(labels, np.array([0, 0, 0, 1, 1])) == 0.5


def test_fairlets_need_two_groups():
    with pytest.raises(ValueError, match=r"two groups, got groups of sizes \[2, 2, 2\]"):
        fairlet_kmeans(np.zeros((6, 1)), np.arange(6) % 3, 2)
