import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import MiniBatchKMeans

from skfair._kernels import NO_INDEX
from skfair._kernels.literature import alternating as kernels
from skfair.cluster.literature._alternating import _make_samples
from tests.kernels.standalone import standalone


def new_state(samples, labels, n_clusters):
    """A state whose tables are filled, with the centres on the means."""
    d = samples.X.shape[1]
    n_columns = samples.columns[-1]
    state = kernels.ClusteringState(
        np.array(labels, dtype=np.int32),
        np.empty((n_clusters, d)),
        np.empty((n_clusters, n_columns)),
        np.empty((n_clusters, n_columns), dtype=np.int64),
        np.empty((n_clusters, d)),
        np.empty(n_clusters),
    )
    kernels.recompute_sums(samples, state)
    kernels.recenter(samples, state)
    return state


@st.composite
def problems(draw):
    """A random problem and a labelling without empty clusters, with one or two attributes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(4, 30))
    n_clusters = draw(st.integers(1, min(4, n)))
    n_attributes = draw(st.integers(1, 2))
    codes = rng.integers(draw(st.integers(1, 3)), size=(n, n_attributes))
    codes = np.stack([np.unique(c, return_inverse=True)[1] for c in codes.T], axis=1)
    samples = _make_samples(rng.standard_normal((n, 3)), codes, rng.uniform(0.5, 2, n))
    return samples, codes, rng.permutation(n) % n_clusters, n_clusters


def table(samples, codes, labels, n_clusters):
    """Weight by cluster and group, one table per attribute, from scratch."""
    tables = [np.zeros((n_clusters, c.max() + 1)) for c in codes.T]
    for a, c in enumerate(codes.T):
        np.add.at(tables[a], (labels, c), samples.weights)
    return tables


def mean_cost(samples, labels):
    """f1 from its definition."""
    cost = 0
    for k in np.unique(labels):
        x = samples.X[labels == k]
        w = samples.weights[labels == k]
        cost += w @ ((x - np.average(x, axis=0, weights=w)) ** 2).sum(axis=1)
    return cost / samples.weights.sum()


def minimum_balance(samples, tables):
    """f2 from its definition: one attribute absolutely, several relative to the data."""
    balances = [(t.min(axis=1) / t.max(axis=1)).min() for t in tables]
    if len(tables) == 1:
        return balances[0]
    return min(
        b / (t.sum(axis=0).min() / t.sum(axis=0).max())
        for b, t in zip(balances, tables, strict=True)
    )


def check_tables(samples, codes, state):
    """The tables are those of the labels."""
    tables = table(samples, codes, state.labels, len(state.sums))
    np.testing.assert_allclose(state.counts, np.hstack(tables), atol=1e-9)
    sums = np.zeros_like(state.sums)
    np.add.at(sums, state.labels, samples.weights[:, None] * samples.X)
    np.testing.assert_allclose(state.sums, sums, atol=1e-9)
    sizes = np.zeros_like(state.sizes)
    np.add.at(sizes, (state.labels[:, None], samples.groups), 1)
    assert np.array_equal(state.sizes, sizes)


def xorshift(s):
    """The generator in Python's integers."""
    s ^= s << 13 & (2**64 - 1)
    s ^= s >> 7
    return s ^ (s << 17 & (2**64 - 1))


def test_random_numbers_are_those_of_the_generator():
    rng = np.array([88172645463325252], dtype=np.uint64)
    s = int(rng[0])
    for n in (1, 2, 7, 10**6, 2**31 - 1):
        s = xorshift(s)
        assert standalone(kernels.random_below)(rng, n) == (s >> 32) * n >> 32 < n
        assert rng[0] == s


def test_random_numbers_are_spread_evenly():
    rng = np.array([4], dtype=np.uint64)
    for _ in range(50):
        standalone(kernels.random_below)(rng, 2)  # small seeds need some steps to fill their bits
    counts = np.bincount(
        [standalone(kernels.random_below)(rng, 5) for _ in range(2000)], minlength=5
    )
    assert ((counts - 400) ** 2 / 400).sum() < 18.5  # chi-square with 4 degrees: p = .001


@pytest.mark.slow
@given(problems())
def test_tables_cost_and_balance_equal_their_definitions(problem):
    samples, codes, labels, n_clusters = problem
    state = new_state(samples, labels, n_clusters)
    check_tables(samples, codes, state)
    assert standalone(kernels.mean_squared_distance)(samples, state) == pytest.approx(
        mean_cost(samples, labels), abs=1e-12
    )
    tables = table(samples, codes, labels, n_clusters)
    least, low, rare, common = standalone(kernels.find_least_balanced_cluster)(samples, state)
    assert least == pytest.approx(minimum_balance(samples, tables))
    a = np.searchsorted(samples.columns, rare, side="right") - 1
    ratio = state.counts[low, rare] / state.counts[low, common]
    assert samples.columns[a] <= common < samples.columns[a + 1]
    assert least == pytest.approx(samples.scale[a] * ratio)


@pytest.mark.slow
@given(problems())
def test_centers_and_targets_are_the_nearest_and_the_richest(problem):
    samples, _, labels, n_clusters = problem
    state = new_state(samples, labels, n_clusters)
    weight = np.bincount(labels, samples.weights)
    np.testing.assert_allclose(state.centers, state.sums / weight[:, None])
    np.testing.assert_allclose(state.center_weights, weight)
    gaps = ((samples.X[:, None] - state.centers) ** 2).sum(axis=2)
    nearest = [
        standalone(kernels.nearest_center)(state.centers, samples.X, p, NO_INDEX)
        for p in range(len(labels))
    ]
    assert nearest == gaps.argmin(axis=1).tolist()
    between = ((state.centers[0] - state.centers[1:]) ** 2).sum(axis=1)
    closest = 1 + between.argmin() if n_clusters > 1 else 0
    assert standalone(kernels.nearest_center)(state.centers, state.centers, 0, 0) == closest


@pytest.mark.slow
def test_updates_of_kmeans_are_those_of_mini_batches_of_one():
    """Algorithm 1 is scikit-learn's MiniBatchKMeans."""
    X = np.random.default_rng(0).standard_normal((60, 2))
    samples = _make_samples(X, np.zeros(60, dtype=int), np.ones(60))
    state = new_state(samples, np.arange(60) % 3, 3)
    state.center_weights[:] = 1.0
    peer = MiniBatchKMeans(3, init=state.centers.copy(), n_init=1, reassignment_ratio=0)
    peer.partial_fit(state.centers.copy())  # each centre has seen itself and stays
    rng = np.array([88172645463325252], dtype=np.uint64)
    journal = np.empty((1, 2), np.int64)
    for _ in range(200):
        drawn = (xorshift(int(rng[0])) >> 32) * 60 >> 32
        standalone(kernels.make_kmeans_updates)(samples, state, 1, rng, journal, 0)
        peer.partial_fit(samples.X[[drawn]])
        np.testing.assert_allclose(state.centers, peer.cluster_centers_, atol=1e-12)
    assert state.center_weights.sum() == 203


def test_the_global_target_has_the_largest_ratio_and_may_lack_the_common_group():
    counts = np.array([[1.0, 4.0], [0.0, 0.0], [3.0, 4.0], [2.0, 0.0], [5.0, 1.0]])
    assert standalone(kernels.global_target)(counts, 0, 0, 1) == 3
    counts[3] = 0.0
    assert standalone(kernels.global_target)(counts, 0, 0, 1) == 4
    assert standalone(kernels.global_target)(counts[:1], 0, 0, 1) == 0


@pytest.mark.slow
def test_a_batch_that_covers_the_set_finds_its_closest_member():
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=40)
    samples = _make_samples(rng.standard_normal((40, 2)), codes, np.ones(40))
    labels = rng.permutation(40) % 3
    state = new_state(samples, labels, 3)
    draws = np.array([5], dtype=np.uint64)
    center = np.array([0.3, -0.2])
    members = np.flatnonzero((labels == 1) & (codes == 0))
    expected = members[((samples.X[members] - center) ** 2).sum(axis=1).argmin()]
    result = standalone(kernels.closest_member)(samples, state, 1, 0, center, len(members), draws)
    assert result == expected
    assert draws[0] == 5  # nothing was drawn


def test_a_batch_of_one_is_a_uniform_member():
    codes = np.array([0, 1] * 10)
    samples = _make_samples(np.arange(20.0)[:, None], codes, np.ones(20))
    labels = np.repeat([0, 1], 10)
    state = new_state(samples, labels, 2)
    draws = np.array([2**40 + 1], dtype=np.uint64)
    result = [
        standalone(kernels.closest_member)(samples, state, 0, 1, np.zeros(1), 1, draws)
        for _ in range(1000)
    ]
    counts = np.bincount(result, minlength=20)
    assert counts.nonzero()[0].tolist() == [1, 3, 5, 7, 9]
    assert ((counts[1:10:2] - 200) ** 2 / 200).sum() < 18.5


@pytest.mark.slow
@given(problems(), st.data())
def test_moves_keep_the_tables_and_the_journal_undoes_them(problem, data):
    samples, codes, labels, n_clusters = problem
    state = new_state(samples, labels, n_clusters)
    journal = np.empty((5, 2), dtype=np.int64)
    n_moves = 0
    for _ in range(5):
        p = data.draw(st.integers(0, len(labels) - 1))
        k = data.draw(st.integers(0, n_clusters - 1))
        n_moves = standalone(kernels.move)(samples, state, p, k, journal, n_moves)
    check_tables(samples, codes, state)
    for p, k in journal[::-1]:
        state.labels[p] = k
    assert np.array_equal(state.labels, labels)


def test_a_kmeans_update_moves_the_point_and_pulls_the_centre():
    samples = _make_samples(
        np.array([[0.0], [1.0], [4.0], [5.0], [3.5]]), np.zeros(5, int), np.ones(5)
    )
    state = new_state(samples, [0, 0, 1, 1, 0], 2)  # the last point is nearer to cluster 1
    expected_labels = state.labels.copy()
    expected_centers = state.centers.copy()
    absorbed = np.array([3.0, 2.0])
    s = 99
    for _ in range(20):
        s = xorshift(s)
        p = (s >> 32) * 5 >> 32
        k = ((samples.X[p] - expected_centers) ** 2).sum(axis=1).argmin()
        expected_labels[p] = k
        absorbed[k] += 1
        expected_centers[k] += (samples.X[p] - expected_centers[k]) / absorbed[k]
    journal = np.empty((20, 2), dtype=np.int64)
    standalone(kernels.make_kmeans_updates)(
        samples, state, 20, np.array([99], np.uint64), journal, 0
    )
    assert np.array_equal(state.labels, expected_labels)
    np.testing.assert_allclose(state.centers, expected_centers)
    np.testing.assert_allclose(state.center_weights, absorbed)


@pytest.mark.slow
def test_a_full_swap_exchanges_the_closest_pair():
    """Cluster 0 lacks group 1, cluster 1 lacks group 0: the innermost points change places."""
    x = np.array([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]])
    samples = _make_samples(x, np.array([0, 0, 0, 1, 1, 1]), np.ones(6))
    state = new_state(samples, [0, 0, 0, 1, 1, 1], 2)
    before = state.centers.copy()
    journal = np.empty((2, 2), dtype=np.int64)
    rule = kernels.SwapRule(100, True, False)
    n_moves = standalone(kernels.swap_samples)(
        samples, state, 1, rule, np.array([1], np.uint64), journal, 0
    )
    assert n_moves == 2
    assert state.labels.tolist() == [0, 0, 1, 0, 1, 1]
    np.testing.assert_allclose(state.centers[0], before[0] + (samples.X[3] - before[0]) / 3)
    np.testing.assert_allclose(state.centers[1], before[1] + (samples.X[2] - before[1]) / 3)


def test_a_half_swap_is_one_move():
    x = np.array([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]])
    samples = _make_samples(x, np.array([0, 0, 0, 1, 1, 1]), np.ones(6))
    state = new_state(samples, [0, 0, 0, 1, 1, 1], 2)
    rule = kernels.SwapRule(100, False, True)
    journal = np.empty((2, 2), dtype=np.int64)
    standalone(kernels.swap_samples)(samples, state, 1, rule, np.array([1], np.uint64), journal, 0)
    assert state.labels.tolist() == [0, 0, 0, 0, 1, 1]


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize(
    ("codes", "labels"),
    [
        ([0, 0, 0, 0], [0, 0, 1, 1]),  # one group
        ([0, 1, 0, 1], [0, 0, 1, 1]),  # perfect already
        ([0, 1, 0, 1], [0, 0, 0, 0]),  # one cluster
        ([1, 0, 1, 1], [0, 1, 0, 0]),  # the only member of the target must stay
    ],
)
def test_no_swap_where_none_is_possible(codes, labels, half):
    samples = _make_samples(np.arange(4.0)[:, None], np.array(codes), np.ones(4))
    state = new_state(samples, labels, max(labels) + 1)
    rule = kernels.SwapRule(1, False, half)
    journal = np.empty((6, 2), dtype=np.int64)
    assert (
        standalone(kernels.swap_samples)(
            samples, state, 3, rule, np.array([1], np.uint64), journal, 0
        )
        == 0
    )
    assert state.labels.tolist() == labels


@given(problems(), st.booleans(), st.booleans(), st.integers(1, 40), st.integers(1, 2**60))
def test_iterations_keep_every_invariant(problem, local, half, batch, seed):
    samples, codes, labels, n_clusters = problem
    state = new_state(samples, labels, n_clusters)
    rule = kernels.SwapRule(0, local, half)
    rng = np.array([seed], dtype=np.uint64)
    trace = kernels.run(samples, state, np.array([3, 2]), rule, np.full(6, batch), rng)
    check_tables(samples, codes, state)
    assert len(np.unique(state.labels)) == n_clusters
    assert trace[-1, 0] == pytest.approx(mean_cost(samples, state.labels), abs=1e-9)
    tables = table(samples, codes, state.labels, n_clusters)
    assert trace[-1, 1] == pytest.approx(minimum_balance(samples, tables), abs=1e-9)
