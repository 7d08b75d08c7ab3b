import hypothesis.extra.numpy as hnp
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from skfair._groups.events import Events
from skfair._groups.groups import check_groups

weights = hnp.arrays(np.float64, 12, elements=st.floats(0.1, 10))
values = hnp.arrays(np.float64, 12, elements=st.floats(-100, 100))
directions = hnp.arrays(np.float64, 3, elements=st.floats(-100, 100))
disjoint_codes = hnp.arrays(np.intp, 9, elements=st.integers(-1, 2)).map(
    lambda codes: np.r_[0, 1, 2, codes]
)
memberships = hnp.arrays(np.bool_, (11, 3)).map(lambda inside: np.vstack(([True] * 3, inside)))


def assert_adjoint(events, values, v):
    left = events.means(values) @ v
    right = values @ events.means_adjoint(v)
    assert left == pytest.approx(right, rel=1e-12, abs=1e-9)


@given(disjoint_codes, weights, values, directions)
def test_disjoint_events(codes, weights, values, v):
    events = Events.disjoint(codes, 3, weights)
    expected = [np.average(values[codes == e], weights=weights[codes == e]) for e in range(3)]
    np.testing.assert_allclose(events.means(values), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(events.means_adjoint(v)[codes == -1], 0)
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
    sums = np.add.reduceat(repeated.means_adjoint(v), np.r_[0, np.cumsum(repeats)[:-1]])
    np.testing.assert_allclose(weighted.means_adjoint(v), sums, rtol=1e-12, atol=1e-12)


def test_disjoint_events_are_a_case_of_overlapping_ones():
    codes = np.array([0, 1, 1, 0])
    overlapping = Events.overlapping(sparse.csc_matrix(np.eye(2, dtype=bool)[codes]))
    for value in np.eye(4):
        np.testing.assert_array_equal(
            Events.disjoint(codes, 2).means(value), overlapping.means(value)
        )


def test_groups_of_several_attributes_as_events():
    frame = pd.DataFrame({"sex": ["f", "m", "m", "f", "m"], "age": [30, 30, 40, 40, 30]})
    groups = check_groups(frame, 5)
    events = Events.disjoint(groups.codes, len(groups.labels))
    np.testing.assert_allclose(events.means(np.arange(5.0)), [0, 3, 2.5, 2])


def test_events_of_columns():
    events = Events.disjoint([0, 0, 1], 2)
    values = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    np.testing.assert_array_equal(events.means(values), [[2, 3], [5, 6]])
    np.testing.assert_array_equal(events.means_adjoint(np.eye(2)), [[0.5, 0], [0.5, 0], [0, 1]])


@pytest.mark.parametrize(
    "make, match",
    [
        (lambda: Events.disjoint([0, 0, -1], 2), "event 1 has a total weight of 0"),
        (lambda: Events.disjoint([0, 1, 1], 2, [0, 1, 1]), "event 0 has a total weight of 0"),
        (lambda: Events.disjoint([0, 1, 1], 2, [1, np.nan, 1]), "event 1 has a total weight"),
        (lambda: Events.disjoint([0, 1, 1], 2, [1, 2, -1]), "negative, but one is -1"),
        (lambda: Events.overlapping(sparse.csr_array([[1.5, 1.0]])), "boolean.* holds 1.5"),
    ],
)
def test_events_refuse(make, match):
    with pytest.raises(ValueError, match=match):
        make()


@given(disjoint_codes, weights, values)
def test_taken_events_are_those_of_the_samples_taken(codes, weights, values):
    rows = np.r_[0, 1, 2, 5, 5, 11]
    taken = Events.disjoint(codes, 3, weights).take(rows)
    expected = Events.disjoint(codes[rows], 3, weights[rows])
    np.testing.assert_allclose(taken.means(values[rows]), expected.means(values[rows]), atol=1e-12)


def test_take_names_an_event_without_samples():
    events = Events.disjoint(np.array([0, 1, 1]), 2)
    with pytest.raises(ValueError, match="event 0 has none among those selected"):
        events.take([1, 2])


@given(memberships, weights, st.integers(0, 10))
def test_draws_come_from_their_events(inside, weights, seed):
    events = Events.overlapping(sparse.csr_array(inside), weights)
    rows = events.draw(7, np.random.RandomState(seed))
    assert inside[rows, np.repeat(np.arange(3), 7)].all()


def test_draws_go_by_weight():
    events = Events.disjoint(np.array([1, 0, 0, 1, -1]), 2, np.array([1.0, 1, 3, 9, 5]))
    rows = events.draw(40_000, np.random.RandomState(0)).reshape(2, -1)
    shares = [np.bincount(drawn, minlength=5) / 40_000 for drawn in rows]
    np.testing.assert_allclose(shares, [[0, 0.25, 0.75, 0, 0], [0.1, 0, 0, 0.9, 0]], atol=0.01)


@pytest.mark.parametrize("disjoint", [True, False])
def test_members_shares_and_entries(disjoint):
    codes = np.array([1, 0, -1, 1])
    weights = np.array([1.0, 2.0, 5.0, 3.0])
    inside = sparse.csr_array(codes[:, np.newaxis] == np.arange(2))
    events = Events.disjoint(codes, 2, weights) if disjoint else Events.overlapping(inside, weights)
    samples, shares = events.members(1)
    assert samples.tolist() == [0, 3]
    assert shares.tolist() == [0.25, 0.75]
    assert (events.n_events, events.n_samples) == (2, 4)
    assert [axis.tolist() for axis in events.memberships] == [[1, 0, 3], [0, 1, 1], [1, 0.25, 0.75]]
    np.testing.assert_array_equal(
        events.averaging_matrix.toarray(), [[0, 1, 0, 0], [0.25, 0, 0, 0.75]]
    )


@given(memberships, weights, values)
def test_quantiles_are_exceeded_by_their_level(inside, weights, values):
    events = Events.overlapping(sparse.csr_array(inside), weights)
    for e, rows in enumerate(inside.T):
        group_values = values[rows]
        share = weights[rows] / weights[rows].sum()
        levels = (0.0, 0.3, 1.0)
        for level, quantile in zip(levels, events.upper_quantiles(e, values, levels), strict=True):
            assert share[group_values > quantile].sum() <= level + share.max() / 2 + 1e-9
            assert share[group_values >= quantile].sum() >= level - share.max() / 2 - 1e-9


def test_quantiles_are_between_the_middles_of_weights():
    events = Events.disjoint(np.zeros(3, dtype=int), 1, np.array([2.0, 1.0, 1.0]))
    quantiles = events.upper_quantiles(0, np.array([5.0, 9.0, 1.0]), [1 / 8, 1 / 2, 7 / 8, 5 / 16])
    assert quantiles.tolist() == [9.0, 5.0, 1.0, 7.0]


@given(values)
def test_quantiles_of_equal_and_of_nearly_equal_weights_agree(values):
    weights = np.ones(len(values))
    levels = np.linspace(0.0, 1.0, 7)
    equal = Events.disjoint(np.zeros(len(values), dtype=int), 1, weights)
    weights[0] += 1e-12
    nearly = Events.disjoint(np.zeros(len(values), dtype=int), 1, weights)
    np.testing.assert_allclose(
        equal.upper_quantiles(0, values, levels),
        nearly.upper_quantiles(0, values, levels),
        atol=1e-6,
    )


@given(memberships, weights, values)
def test_taken_events_may_overlap(inside, weights, values):
    rows = np.array([11, 0, 1, 2, 2, 5])
    taken = Events.overlapping(sparse.csr_array(inside), weights).take(rows)
    expected = Events.overlapping(sparse.csr_array(inside[rows]), weights[rows])
    np.testing.assert_allclose(taken.means(values[rows]), expected.means(values[rows]), atol=1e-12)


@pytest.mark.parametrize("n_samples", [10, 4096, 4097, 20_000])
def test_means_are_the_same_whether_counted_or_multiplied(n_samples):
    rng = np.random.default_rng(0)
    codes = np.r_[0, 1, 2, rng.integers(-1, 3, n_samples - 3)]
    values = rng.normal(size=n_samples)
    weights = rng.uniform(0.1, 2.0, n_samples)
    disjoint = Events.disjoint(codes, 3, weights)
    inside = sparse.csr_array(codes[:, np.newaxis] == np.arange(3))
    expected = Events.overlapping(inside, weights)
    np.testing.assert_allclose(disjoint.means(values), expected.means(values), rtol=1e-12)
    np.testing.assert_allclose(
        disjoint.means_adjoint(values[:3]), expected.means_adjoint(values[:3]), rtol=1e-12
    )


@pytest.mark.parametrize(
    "events",
    [
        Events.disjoint(np.array([0, 1, -1, 1]), 2, np.arange(1.0, 5.0)),
        Events.overlapping(
            sparse.csr_array(np.array([[1, 1], [0, 1], [0, 0], [1, 0]], dtype=bool))
        ),
    ],
    ids=["disjoint", "overlapping"],
)
@pytest.mark.parametrize("rows", [slice(3, 7), np.array([0, 2, 3, 8])], ids=["slice", "positions"])
def test_events_among_more_samples(events, rows):
    placed = events.embed(rows, 9)
    values = np.random.default_rng(0).normal(size=9)
    assert placed.n_samples == 9
    np.testing.assert_allclose(placed.means(values), events.means(values[rows]))
    others = np.delete(np.arange(9), rows)
    assert not placed.means_adjoint(np.ones(2))[others].any()
