import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from skfair.datasets import make_fair_sbm
from skfair.datasets._generators import _draw_success_positions, adjacency_matrix, draw_edges


def table(y, groups):
    counts = np.zeros((y.max() + 1, groups.max() + 1), dtype=int)
    np.add.at(counts, (y, groups), 1)
    return counts


def is_simple_graph(adjacency):
    return (
        isinstance(adjacency, sparse.csr_array)
        and adjacency.dtype == np.float64
        and adjacency.has_canonical_format
        and (adjacency != adjacency.T).nnz == 0
        and not adjacency.diagonal().any()
    )


def rates_by_relation(adjacency, y, groups):
    """Share of linked pairs by (same cluster, same group), from the dense matrix."""
    links = adjacency.toarray()
    cluster = y[:, None] == y
    group = groups[:, None] == groups
    others = ~np.eye(len(y), dtype=bool)
    return {
        (same_y, same_g): links[(cluster == same_y) & (group == same_g) & others].mean()
        for same_y in (True, False)
        for same_g in (True, False)
    }


# The draw of edges ---------------------------------------------------------------------


def test_successes_of_certain_trials():
    rng = np.random.RandomState(0)
    assert _draw_success_positions(4, 1.0, rng).tolist() == [0, 1, 2, 3]
    assert _draw_success_positions(4, 0.0, rng).tolist() == []


@pytest.mark.parametrize("p", [0.02, 0.5, 0.97])
def test_every_trial_succeeds_equally_often(p):
    rng = np.random.RandomState(0)
    counts = np.zeros(7)
    for _ in range(4000):
        hits = _draw_success_positions(7, p, rng)
        assert np.all(np.diff(hits) > 0)
        counts[hits] += 1
    np.testing.assert_allclose(counts / 4000, p, atol=5 * np.sqrt(p * (1 - p) / 4000))


@pytest.mark.slow
def test_every_pair_has_the_probability_of_its_blocks():
    sizes = np.array([2, 1, 3])
    links = np.array([[0.9, 0.1, 0.5], [0.1, 0.9, 0.0], [0.5, 0.0, 0.3]])
    rng = np.random.RandomState(1)
    counts = np.zeros((6, 6))
    for _ in range(4000):
        rows, cols = draw_edges(sizes, links, rng)
        assert len(set(zip(rows.tolist(), cols.tolist(), strict=True))) == len(rows)
        counts[rows, cols] += 1
    block = np.repeat(np.arange(3), sizes)
    expected = np.triu(links[block[:, None], block], 1)
    np.testing.assert_allclose(counts / 4000, expected, atol=0.04)  # five standard deviations


# make_fair_sbm -------------------------------------------------------------------------


@given(
    n_samples=st.integers(12, 80),
    n_clusters=st.integers(1, 4),
    n_groups=st.integers(1, 3),
    average_degree=st.none() | st.floats(0.1, 3),
    seed=st.integers(0, 2**32 - 1),
)
def test_sbm_is_a_simple_graph_with_fair_clusters(
    n_samples, n_clusters, n_groups, average_degree, seed
):
    adjacency, y, groups = make_fair_sbm(
        n_samples,
        n_clusters=n_clusters,
        n_groups=n_groups,
        average_degree=average_degree,
        random_state=seed,
    )
    assert adjacency.shape == (n_samples, n_samples)
    assert is_simple_graph(adjacency)
    assert np.all(adjacency.data == 1)
    counts = table(y, groups)
    assert counts.shape == (n_clusters, n_groups)
    assert np.ptp(counts) <= 1


def test_sbm_links_by_the_table():
    n = 1600
    adjacency, y, groups = make_fair_sbm(n, n_clusters=4, n_groups=2, random_state=0)
    s = (np.log(n) / n) ** 0.1 / 0.528
    expected = {(True, True): 0.9, (False, True): 0.35, (True, False): 0.5, (False, False): 0.05}
    measured = rates_by_relation(adjacency, y, groups)
    for relation, p in expected.items():
        assert measured[relation] == pytest.approx(s * p, abs=0.01)


def test_sbm_cuts_probabilities_off_at_one():
    adjacency, y, groups = make_fair_sbm(60, n_clusters=2, random_state=0)
    assert rates_by_relation(adjacency, y, groups)[True, True] == 1


def test_sbm_with_custom_probabilities():
    adjacency, y, groups = make_fair_sbm(
        40, n_clusters=2, probabilities=(1, 0, 0, 0), random_state=0
    )
    block = 2 * y + groups
    expected = (block[:, None] == block) & ~np.eye(40, dtype=bool)
    np.testing.assert_array_equal(adjacency.toarray(), expected)


def test_sbm_average_degree():
    n = 20_000
    adjacency, y, groups = make_fair_sbm(n, n_clusters=20, average_degree=12, random_state=0)
    assert adjacency.sum() / n == pytest.approx(12, abs=0.1)
    # the probabilities keep their ratios
    rows, cols = adjacency.nonzero()
    both = np.mean((y[rows] == y[cols]) & (groups[rows] == groups[cols]))
    weight = np.array([0.9 * 1, 0.35 * 19, 0.5 * 1, 0.05 * 19])  # times blocks of that relation
    assert both == pytest.approx(weight[0] / weight.sum(), abs=0.01)


def test_sbm_average_degree_is_bounded_by_the_largest_probability():
    with pytest.raises(ValueError, match="at most 7, where"):
        make_fair_sbm(8, n_clusters=1, n_groups=1, average_degree=7.5)
    adjacency, _, _ = make_fair_sbm(8, n_clusters=1, n_groups=1, average_degree=7)
    assert adjacency.nnz == 8 * 7


def test_sbm_same_seed_same_graph():
    first, second = make_fair_sbm(100, random_state=3), make_fair_sbm(100, random_state=3)
    assert (first[0] != second[0]).nnz == 0
    np.testing.assert_array_equal(first[1], second[1])
    np.testing.assert_array_equal(first[2], second[2])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_samples": 9}, "got 5 \\* 2 and n_samples=9"),
        ({"n_groups": 0}, r"int in the range \[1, inf\). Got 0"),
        ({"probabilities": (0.9, 0.1)}, "four numbers"),
        ({"probabilities": (1.2, 0.1, 0.1, 0.1)}, r"in \[0, 1\].*got \(1.2"),
        ({"probabilities": (0, 0, 0, 0)}, "not all 0"),
        ({"average_degree": 0}, r"float in the range \(0.0, inf\).*Got 0"),
        ({"average_degree": 1000}, "got 1000"),
        ({"average_degree": np.nan}, "average_degree.*Got nan"),
    ],
)
def test_sbm_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        make_fair_sbm(**options)


# Adjacency ------------------------------------------------------------------------------


def test_adjacency_is_symmetric_with_zero_diagonal():
    adjacency = adjacency_matrix([0, 2], [1, 1], 4)
    assert isinstance(adjacency, sparse.csr_array)
    assert adjacency.dtype == np.float64
    assert adjacency.indices.dtype == np.int32
    assert adjacency.toarray().tolist() == [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]]


def test_weights():
    adjacency = adjacency_matrix([0, 2], [1, 1], 3, weights=np.array([0.5, 2.0]))
    assert adjacency.toarray().tolist() == [[0, 0.5, 0], [0.5, 0, 2], [0, 2, 0]]


def test_no_edges():
    assert adjacency_matrix([], [], 3).toarray().tolist() == np.zeros((3, 3)).tolist()
