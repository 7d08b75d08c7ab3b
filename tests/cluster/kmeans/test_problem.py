from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.datasets import make_blobs

from skfair._kernels.kmeans import clustering_cost
from skfair._kernels.limits import balance_limits
from skfair.cluster import FairKMeans
from skfair.cluster.kmeans._problem import (
    ClusteringProblem,
    concatenate_problems,
    draw_stratified,
    occupy_clusters,
)
from skfair.cluster.kmeans._rounds import (
    LocalMinimum,
    RunSettings,
    converge,
    draw_centers,
    improve_by_swaps,
    iterate_lloyd,
    lloyd,
    make_run_settings,
)


def samples_of(X, codes=None, weights=None):
    """Samples with zero mean; by default one group and equal weights."""
    X = np.array(X, dtype=np.float64)
    codes = np.zeros(len(X), dtype=np.intp) if codes is None else np.array(codes)
    weights = np.ones(len(X)) if weights is None else np.array(weights, dtype=np.float64)
    X -= np.average(X, axis=0, weights=weights)
    return ClusteringProblem(X, weights, codes, balance_limits(codes.max() + 1))


def blobs(n_samples=300, centers=6):
    X, _ = make_blobs(n_samples, centers=centers, cluster_std=0.5, random_state=0)
    return samples_of(X, np.arange(n_samples) % 3, 1 + np.arange(n_samples) % 2)


def cost(samples, clustering):
    return clustering_cost(samples.X, samples.weights, clustering)


def random_state():
    return np.random.RandomState(0)


def test_the_balance_of_the_data_is_weighted():
    samples = samples_of(np.zeros((4, 1)), [0, 1, 1, 2], [4, 1, 1, 3])
    assert samples.group_weights.tolist() == [4, 2, 3]
    assert samples.balance == 0.5
    assert samples.largest_weight == 4


def test_rounding_to_integer_counts_limits_the_balance():
    even = samples_of(np.zeros((40, 1)), np.arange(40) % 2)
    assert even.attainable_balance(2) == (20 - 1) / 20
    assert even.attainable_balance(40) == 0
    # Weights of one half halve the rounding.
    light = samples_of(np.zeros((40, 1)), np.arange(40) % 2, np.full(40, 0.5))
    assert light.attainable_balance(2) == (20 - 1) / 20
    assert samples_of(np.zeros((3, 1)), [0, 0, 1]).attainable_balance(1) <= 0.5


def test_empty_clusters_get_the_samples_farthest_from_their_centres():
    samples = samples_of([[0.0], [1.0], [2.0], [9.0]])
    labels = np.array([1, 1, 1, 1], dtype=np.int32)
    centers = samples.X[[0, 1, 2]]
    clustering = occupy_clusters(samples, labels, centers)
    assert clustering.labels.tolist() == [2, 1, 1, 0]
    assert labels.tolist() == [1, 1, 1, 1]


def test_a_single_member_is_not_taken_away():
    samples = samples_of([[0.0], [0.1], [50.0]])
    centers = samples.X[[0, 0, 0]]
    clustering = occupy_clusters(samples, np.array([0, 0, 1], dtype=np.int32), centers)
    assert clustering.labels[2] == 1
    assert sorted(clustering.labels) == [0, 1, 2]


def test_thinning_keeps_the_weight_of_every_group():
    codes = np.repeat([0, 1, 2], [900, 90, 10])
    rng = np.random.default_rng(0)
    samples = samples_of(rng.normal(size=(1000, 2)), codes, rng.uniform(0.5, 2, 1000))
    thinned = draw_stratified(samples, 120, random_state())
    assert np.bincount(thinned.codes).tolist() == [108, 10, 10]
    np.testing.assert_allclose(thinned.group_weights, samples.group_weights)
    assert thinned.balance == pytest.approx(samples.balance)
    rows = [np.flatnonzero((samples.X == x).all(axis=1))[0] for x in thinned.X]
    assert len(set(rows)) == len(rows)
    np.testing.assert_array_equal(codes[rows], thinned.codes)
    assert draw_stratified(samples, 1000, random_state()) is samples


def starts_of(runs, samples):
    return [runs.start(samples, generator) for generator in runs.generators(random_state())]


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_starts_are_samples_in_the_required_number(init):
    samples = blobs()
    starts = starts_of(RunSettings(5, init, 3), samples)
    assert [start.shape for start in starts] == [(5, 2)] * 3
    for start in starts:
        assert all((samples.X == center).all(axis=1).any() for center in start)
    assert not np.array_equal(starts[0], starts[1])
    again = starts_of(RunSettings(5, init, 3), samples)
    np.testing.assert_array_equal(starts, again)


def test_random_starts_are_drawn_by_weight():
    samples = samples_of([[0.0], [1.0], [2.0]], weights=[1, 1e9, 1e9])
    drawn = starts_of(RunSettings(2, "random", 20), samples)
    assert not any((start == samples.X[0]).any() for start in drawn)


def test_an_array_is_the_only_start():
    init = [[1, 2], [3, 4]]
    parameters = FairKMeans(2, init=init)
    data = SimpleNamespace(mean=np.zeros(2))
    (start,) = starts_of(make_run_settings(parameters, data, 5), blobs())
    assert start.dtype == np.float64
    np.testing.assert_array_equal(start, init)


def test_a_function_makes_every_start():
    calls = []

    def init(X, n_clusters, random_state):
        calls.append((X.shape, n_clusters))
        return X[:n_clusters]

    starts = starts_of(RunSettings(4, init, 3), blobs())
    assert calls == [((300, 2), 4)] * 3
    np.testing.assert_array_equal(starts[0], blobs().X[:4])


def test_a_start_of_the_wrong_shape_is_refused():
    message = r"shape \(4, 2\).*has shape \(3, 2\); change init or n_clusters"
    with pytest.raises(ValueError, match=message):
        starts_of(RunSettings(4, lambda X, n_clusters, random_state: X[:3], 1), blobs())


@pytest.mark.parametrize("seed", range(5))
def test_starts_are_those_that_scikit_learn_draws(seed):
    samples = blobs()
    state = np.random.RandomState
    expected, _ = kmeans_plusplus(
        samples.X, 6, sample_weight=samples.weights, random_state=state(seed)
    )
    centers = draw_centers(samples.X, samples.weights, 6, state(seed))
    np.testing.assert_array_equal(centers, expected)


def test_lloyd_is_kmeans():
    samples = blobs()
    start = samples.X[:6]
    clustering = lloyd(samples, start, 300, 0.0)
    kmeans = KMeans(6, init=start, n_init=1, tol=0).fit(samples.X, None, samples.weights)
    np.testing.assert_array_equal(clustering.labels, kmeans.labels_)
    np.testing.assert_allclose(clustering.centers, kmeans.cluster_centers_, atol=1e-10)
    assert cost(samples, clustering) == pytest.approx(kmeans.inertia_)


def test_without_balance_a_unit_cost_is_a_weight():
    weighted = blobs()
    samples = replace(weighted, weights=np.ones(300), unit_costs=weighted.weights)
    one, other = (lloyd(data, data.X[:6], 300, 0.0) for data in (weighted, samples))
    np.testing.assert_array_equal(one.centers, other.centers)
    np.testing.assert_array_equal(one.sizes, other.sizes)
    np.testing.assert_array_equal(other.counts, other.members)
    assert samples.cost_of(other) == weighted.cost_of(one)
    starts = (
        starts_of(RunSettings(6, init, 1), data)
        for data in (weighted, samples)
        for init in ("k-means++", "random")
    )
    starts = np.array([*starts])
    np.testing.assert_array_equal(starts[:2], starts[2:])
    halves = samples.take(slice(0, 150)), samples.take(np.arange(150, 300))
    joined = concatenate_problems(halves)
    for name in ("X", "weights", "codes", "unit_costs"):
        np.testing.assert_array_equal(getattr(joined, name), getattr(samples, name))
    thinned = draw_stratified(samples, 100, random_state())
    np.testing.assert_allclose(thinned.group_weights, samples.group_weights)
    assert len(thinned.unit_costs) == len(thinned.weights) < 300


def test_lloyd_stops_at_its_tolerance_and_its_number_of_iterations():
    samples = blobs()
    costs = [cost(samples, lloyd(samples, samples.X[:6], n, 0.0)) for n in (1, 2, 4, 300)]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] > costs[1]
    assert costs[-1] < cost(samples, lloyd(samples, samples.X[:6], 300, 0.5))


def relocate(samples, centers, n_drawn):
    """Centres after relocations, with iterations of plain k-means."""
    lead = partial(converge, samples, max_iter=3, tol=0.0)
    start = LocalMinimum(centers, iterate_lloyd(samples, centers, 1, 0.0)[2])
    return improve_by_swaps(samples, start, n_drawn, random_state(), lead).centers


def test_lloyd_returns_the_cost_of_its_labels_and_means():
    samples = blobs()
    labels, centers, total = iterate_lloyd(samples, samples.X[:6], 3, 0.0)
    clustering = samples.clustering_from_labels(labels, 6)
    np.testing.assert_array_equal(centers, clustering.centers)
    assert total == pytest.approx(samples.cost_of(clustering), rel=1e-12)
    # Four of six centres are at the same place: three clusters start empty.
    start = np.repeat(samples.X[:3], [4, 1, 1], axis=0)
    labels, centers, total = iterate_lloyd(samples, start, 1, 0.0)
    clustering = samples.clustering_from_labels(labels, 6)
    assert clustering.sizes.all()
    np.testing.assert_array_equal(centers, clustering.centers)
    assert total == pytest.approx(samples.cost_of(clustering), rel=1e-12)


def test_relocation_leaves_a_poor_local_minimum():
    """Two centres share a blob and one serves two: k-means is stuck, one relocation is not."""
    X, _ = make_blobs(90, centers=[[0, 0], [10, 0], [100, 0]], cluster_std=0.5, random_state=0)
    samples = samples_of(X)
    start = np.array([[4.5, 0.0], [99.5, 0.0], [100.5, 0.0]]) - X.mean(axis=0)
    stuck = lloyd(samples, start, 300, 0.0)
    assert sorted(np.bincount(stuck.labels))[-1] == 60
    centers = relocate(samples, stuck.centers, 30)
    assert sorted(np.bincount(lloyd(samples, centers, 1, 0.0).labels)) == [30, 30, 30]


def test_relocation_never_raises_the_cost():
    samples = blobs()
    clustering = lloyd(samples, samples.X[:6], 300, 0.0)
    after = lloyd(samples, relocate(samples, clustering.centers, 5), 1, 0.0)
    assert cost(samples, after) <= cost(samples, clustering)
    assert relocate(samples, clustering.centers, 0) is clustering.centers


def test_outliers_are_kept_and_represent_no_other_sample():
    """1,000 samples of two groups near 0, and three outliers that make up most of the cost."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(1000, 2)), [[900.0, 0], [0, 700], [-800, 0]]])
    codes = np.append(np.arange(1000) % 2, [0, 0, 0])
    weights = np.append(np.ones(1000), [3, 2, 1])
    samples = samples_of(X, codes, weights)
    thinned = draw_stratified(samples, 100, random_state())
    far = np.flatnonzero(np.abs(thinned.X).max(axis=1) > 100)
    assert thinned.weights[far].tolist() == [3, 2, 1]
    assert len(thinned.weights) <= 103
    np.testing.assert_allclose(thinned.group_weights, samples.group_weights)


@pytest.mark.parametrize("X", [np.arange(6.0)[:, None], np.zeros((6, 1))])
def test_there_is_nothing_to_relocate(X):
    samples = samples_of(X)
    n_clusters = 1 if X.any() else 2
    centers = samples.clustering_from_labels(np.arange(6) % n_clusters, n_clusters).centers
    assert relocate(samples, centers, 5) is centers
