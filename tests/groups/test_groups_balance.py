import hypothesis.extra.numpy as hnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from skfair._groups.groups import balance, cluster_balances, count_table, data_balance


def test_count_table_by_hand():
    labels = np.array([0, 0, 1, 1, 1])
    codes = np.array([0, 1, 1, 1, 0])
    counts = count_table(labels, codes, np.array([1, 2, 0.5, 0.25, 3]), n_clusters=3, n_groups=2)
    np.testing.assert_array_equal(counts, [[1, 2], [3, 0.75], [0, 0]])
    assert counts.dtype == np.float64


def test_count_table_without_weights_counts():
    counts = count_table(np.array([1, 1]), np.array([0, 0]), None, n_clusters=2, n_groups=1)
    np.testing.assert_array_equal(counts, [[0], [2]])
    assert counts.dtype == np.float64


def test_count_table_of_small_integer_labels_does_not_overflow():
    labels = np.full(3, 100, dtype=np.int8)
    counts = count_table(labels, np.array([0, 1, 2]), np.ones(3), n_clusters=101, n_groups=3)
    np.testing.assert_array_equal(counts[100], [1, 1, 1])
    assert counts.sum() == 3


def test_cluster_balances_by_hand():
    counts = np.array([[1.0, 2.0, 4.0], [3.0, 3.0, 3.0], [5.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(cluster_balances(counts), [0.25, 1, 0, 0])
    assert balance(counts) == 0
    assert balance(counts[:2]) == 0.25
    assert data_balance(counts.sum(axis=0)) == 5 / 9


def test_one_group_is_balanced():
    np.testing.assert_array_equal(cluster_balances(np.array([[3.0], [1.0]])), [1, 1])
    assert data_balance(np.array([4])) == 1


@given(hnp.arrays(np.float64, (4, 3), elements=st.floats(0.01, 100)))
def test_no_clustering_is_better_balanced_than_the_data(counts):
    assert balance(counts) <= data_balance(counts.sum(axis=0)) * (1 + 1e-12)
