import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from skfair._utils.copies import hash_rows

X = np.random.default_rng(0).integers(3, size=(500, 3)).astype(float)
CONTAINERS = {
    "array": X,
    "three axes": X.reshape(500, 3, 1),
    "objects": X.astype(object),
    "frame": pd.DataFrame(X).assign(name=X[:, 0].astype(str)),
    "sparse": sparse.csr_array(X),
    "missing": np.where(X == 2.0, np.nan, X),
}


@pytest.mark.parametrize("table", CONTAINERS.values(), ids=CONTAINERS)
def test_rows_have_equal_numbers_if_they_are_equal(table):
    _, expected = np.unique(X, axis=0, return_inverse=True)
    hashes, codes = np.unique(hash_rows(table), return_inverse=True)
    assert len(hashes) == 27
    assert len(np.unique(np.column_stack((expected.ravel(), codes.ravel())), axis=0)) == 27


def test_rows_have_the_same_numbers_in_any_block():
    for table in (X, sparse.csr_array(X), pd.DataFrame(X)):
        rows = table.iloc[100:] if isinstance(table, pd.DataFrame) else table[100:]
        np.testing.assert_array_equal(hash_rows(rows), hash_rows(table)[100:])


def test_what_is_no_table_has_no_rows():
    assert hash_rows([[1.0]]) is None
    assert hash_rows(np.ones(3)) is None


def test_hashes_leave_a_sparse_matrix_with_repeated_entries_as_it_is():
    X = sparse.csr_array((np.array([1.0, 2.0, 3.0]), np.array([1, 1, 0]), np.array([0, 3])))
    summed = sparse.csr_array([[3.0, 3.0]])
    assert hash_rows(X) == hash_rows(summed)
    assert X.data.tolist() == [1.0, 2.0, 3.0]
    assert hash_rows(pd.DataFrame({"words": [["a"], ["b"]]})) is None
