import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from skfair.metrics._people import check_people, group_index

MEMBERS = np.array([[1, 0, 0, 0], [1, 0, 1, 0], [0, 0, 1, 0], [0, 0, 1, 1]], dtype=bool)


def test_disjoint_groups():
    people, (y,) = check_people(list("baab"), None, y=[1, 2, 3, 4])
    assert people.names == ["a", "b"]
    assert [rows.tolist() for rows in people.members()] == [[1, 2], [0, 3]]
    assert people.weights.tolist() == [1, 1, 1, 1]
    assert y.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_overlapping_groups_are_called_by_their_column(container):
    people, _ = check_people(container(MEMBERS), None, y=np.arange(4))
    assert people.names == [0, 2, 3]
    assert [rows.tolist() for rows in people.members()] == [[0, 1], [1, 2, 3], [3]]


def test_stored_zeros_are_no_members():
    matrix = sparse.csr_array(([1, 0, 0, 1], [0, 1, 1, 2], [0, 2, 4]), shape=(2, 3))
    people, _ = check_people(matrix, None, y=[0, 0])
    assert people.names == [0, 2]
    assert [rows.tolist() for rows in people.members()] == [[0], [1]]


@pytest.mark.parametrize("groups", [list("abcc"), sparse.csr_array(MEMBERS)])
def test_samples_of_zero_weight_are_absent(groups):
    people, (y,) = check_people(groups, [0, 2, 3, 0], y=list("wxyz"))
    present = groups[1:3]
    alone, _ = check_people(present, [2, 3], y=list("xy"))
    assert y.tolist() == ["x", "y"]
    assert people.names == alone.names
    for field in ("codes", "rows", "weights"):
        np.testing.assert_array_equal(getattr(people, field), getattr(alone, field))


def test_everybody_together():
    people, _ = check_people(sparse.csr_array(MEMBERS), [1, 2, 3, 4], y=np.arange(4))
    together = people.together()
    assert together.names == ["overall"]
    assert [rows.tolist() for rows in together.members()] == [[0, 1, 2, 3]]
    assert together.weights is people.weights


def test_many_groups_keep_their_members():
    codes = np.random.default_rng(0).permutation(np.repeat(np.arange(300), 3))
    people, _ = check_people(codes, None, y=codes)
    assert all((codes[rows] == group).all() for group, rows in enumerate(people.members()))


@pytest.mark.parametrize(
    "groups, weights, match",
    [
        (list("aab"), None, "has 3 rows but there are 4 samples"),
        (list("aab") + [None], None, "missing value"),
        (list("aabb"), [1, 1, 1], "sample_weight"),
        (list("aabb"), [1, 1, 1, -1], "[Nn]egative"),
        (list("aabb"), [0, 0, 0, 0], "zero"),
        (sparse.csr_array(MEMBERS[:3]), None, "has 3 rows but there are 4 samples"),
        (sparse.csr_array(MEMBERS * 2), None, "must be boolean"),
        (sparse.csr_array((4, 2), dtype=bool), None, "puts nobody into a group"),
        (sparse.csr_array(MEMBERS[:, [3]]), [1, 1, 1, 0], "nobody of positive weight"),
        (pd.Series(list("aabb"), index=[3, 2, 1, 0]), None, "same pandas index"),
    ],
)
def test_refusals(groups, weights, match):
    with pytest.raises(ValueError, match=match):
        check_people(groups, weights, y=pd.Series([0, 1, 0, 1]))


def test_columns_must_be_of_one_length_and_one_dimension():
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[2, 3\]"):
        check_people(list("ab"), None, y_true=[0, 1], y_pred=[0, 1, 0])
    with pytest.raises(ValueError, match="1d array"):
        check_people(list("ab"), None, y_true=[[0, 1], [1, 0]])


def test_an_index_has_the_names_of_the_attributes():
    frame = pd.DataFrame({"sex": list("fm"), "age": [1, 2]})
    assert group_index(frame.to_numpy(), frame).names == ["sex", "age"]
    one = group_index(frame[["sex"]].to_numpy(), frame["sex"])
    assert (one.name, one.tolist()) == ("sex", ["f", "m"])
    assert group_index(frame.to_numpy(), frame.to_numpy()).names == [None, None]
