import hypothesis.extra.numpy as hnp
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from skfair.utils._events import Events
from skfair.utils._groups import check_groups

weights = hnp.arrays(np.float64, 12, elements=st.floats(0.1, 10))
values = hnp.arrays(np.float64, 12, elements=st.floats(-100, 100))
directions = hnp.arrays(np.float64, 3, elements=st.floats(-100, 100))
disjoint_codes = hnp.arrays(np.intp, 9, elements=st.integers(-1, 2)).map(
    lambda codes: np.r_[0, 1, 2, codes]
)
memberships = hnp.arrays(np.bool_, (11, 3)).map(lambda inside: np.vstack(([True] * 3, inside)))


def assert_adjoint(events, values, v):
    left, right = events.means(values) @ v, values @ events.spread(v)
    assert left == pytest.approx(right, rel=1e-12, abs=1e-9)


@given(disjoint_codes, weights, values, directions)
def test_disjoint_events(codes, weights, values, v):
    events = Events.disjoint(codes, 3, weights)
    expected = [np.average(values[codes == e], weights=weights[codes == e]) for e in range(3)]
    np.testing.assert_allclose(events.means(values), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(events.spread(v)[codes == -1], 0)
    assert_adjoint(events, values, v)


@given(memberships, weights, values, directions)
def test_overlapping_events(inside, weights, values, v):
    events = Events.overlapping(sparse.csr_array(inside), weights)
    expected = [np.average(values[rows], weights=weights[rows]) for rows in inside.T]
    np.testing.assert_allclose(events.means(values), expected, rtol=1e-12, atol=1e-12)
    assert_adjoint(events, values, v)


@given(disjoint_codes, hnp.arrays(np.intp, 12, elements=st.integers(1, 3)), values, directions)
def test_integer_weights_equal_repeated_rows(codes, repeats, values, v):
    weighted = Events.disjoint(codes, 3, repeats)
    repeated = Events.disjoint(np.repeat(codes, repeats), 3)
    np.testing.assert_allclose(
        weighted.means(values), repeated.means(np.repeat(values, repeats)), rtol=1e-12, atol=1e-12
    )
    sums = np.add.reduceat(repeated.spread(v), np.r_[0, np.cumsum(repeats)[:-1]])
    np.testing.assert_allclose(weighted.spread(v), sums, rtol=1e-12, atol=1e-12)


def test_disjoint_events_are_a_case_of_overlapping_ones():
    codes = np.array([0, 1, 1, 0])
    overlapping = Events.overlapping(sparse.csc_matrix(np.eye(2, dtype=bool)[codes]))
    for value in np.eye(4):
        np.testing.assert_array_equal(
            Events.disjoint(codes, 2).means(value), overlapping.means(value)
        )


def test_groups_of_several_attributes_as_events():
    people = pd.DataFrame({"sex": ["f", "m", "m", "f", "m"], "age": [30, 30, 40, 40, 30]})
    groups = check_groups(people, 5)
    events = Events.disjoint(groups.codes, len(groups.labels))
    np.testing.assert_allclose(events.means(np.arange(5.0)), [0, 3, 2.5, 2])


def test_events_of_columns():
    events = Events.disjoint([0, 0, 1], 2)
    values = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    np.testing.assert_array_equal(events.means(values), [[2, 3], [5, 6]])
    np.testing.assert_array_equal(events.spread(np.eye(2)), [[0.5, 0], [0.5, 0], [0, 1]])


@pytest.mark.parametrize(
    "make, match",
    [
        (lambda: Events.disjoint([0, 0, -1], 2), "event 1 has a total weight of 0"),
        (lambda: Events.disjoint([0, 1, 1], 2, [0, 1, 1]), "event 0 has a total weight of 0"),
        (lambda: Events.disjoint([0, 1, 1], 2, [1, np.nan, 1]), "event 1 has a total weight"),
        (lambda: Events.disjoint([0, 1, 1], 2, [1, 2, -1]), "negative, but one is -1"),
        (lambda: Events.overlapping(sparse.csr_array([[0.5, 1.0]])), "boolean.* holds 0.5"),
    ],
)
def test_events_refuse(make, match):
    with pytest.raises(ValueError, match=match):
        make()
