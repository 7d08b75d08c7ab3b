import numpy as np
from scipy import sparse

from skfair._groups import check_groups
from skfair._groups.events import cell_events
from skfair.groups import Samples

CELLS = {
    "positives": np.array([True, True, False, False, True]),
    "negatives": np.array([False, False, True, True, False]),
}


def samples_of(groups, **columns):
    return Samples(None, groups, np.ones(groups.matrix.shape[0]), **columns)


def members_of(events):
    return events.events.averaging_matrix.toarray() > 0


def test_groups_within_cells():
    groups = check_groups(["a", "b", "a", "b", "b"], 5)
    events = cell_events(CELLS, samples_of(groups), groups, with_overall=False)
    assert events.labels == [
        ("positives", "a"),
        ("positives", "b"),
        ("negatives", "a"),
        ("negatives", "b"),
    ]
    np.testing.assert_array_equal(
        members_of(events),
        [[1, 0, 0, 0, 0], [0, 1, 0, 0, 1], [0, 0, 1, 0, 0], [0, 0, 0, 1, 0]],
    )
    np.testing.assert_array_equal(events.counts, [1, 2, 1, 1])
    assert events.blocks == [(0, 1), (2, 3)]
    assert events.overall == [] and events.empty == {}


def test_the_overall_event_comes_after_the_groups_of_a_cell():
    groups = check_groups(["a", "b", "b", "b", "b"], 5)
    events = cell_events(CELLS, samples_of(groups), groups, with_overall=True)
    assert events.labels == [
        ("positives", "a"),
        ("positives", "b"),
        ("positives", "overall"),
        ("negatives", "b"),
        ("negatives", "overall"),
    ]
    np.testing.assert_array_equal(members_of(events)[2], CELLS["positives"])
    assert events.blocks == [(0, 1), (3,)]
    assert events.overall == [2, 4]
    assert events.empty == {("negatives", "a"): 0}


def test_overlapping_groups():
    inside = np.array([[1, 1], [0, 1], [1, 0], [1, 1], [0, 0]], dtype=bool)
    groups = check_groups(sparse.csr_array(inside), 5, overlapping=True)
    events = cell_events(CELLS, samples_of(groups), groups, with_overall=False)
    expected = [column & mask for mask in CELLS.values() for column in inside.T]
    np.testing.assert_array_equal(members_of(events), expected)


def test_an_empty_cell_has_no_block():
    groups = check_groups(["a", "b"], 2)
    cells = {"none": np.zeros(2, dtype=bool), "all": np.ones(2, dtype=bool)}
    events = cell_events(cells, samples_of(groups), groups, with_overall=True)
    assert events.labels == [("all", "a"), ("all", "b"), ("all", "overall")]
    assert events.blocks == [(0, 1)] and events.overall == [2]
    assert events.empty == {("none", "a"): 0, ("none", "b"): 0}


def test_no_samples_at_all():
    groups = check_groups(["a", "b"], 2)
    cells = {"none": np.zeros(2, dtype=bool)}
    events = cell_events(cells, samples_of(groups), groups, with_overall=True)
    assert events.events.n_events == 0 and events.labels == []


def test_rows_may_stand_for_many_samples():
    groups = check_groups(["a", "b", "a", "b", "b"], 5)
    groups = groups.copy_with_multiplicity(np.array([3, 1, 1, 5, 2]))
    samples = samples_of(groups)
    assert cell_events(CELLS, samples, groups).counts.tolist() == [3, 3, 1, 5]
    overall = cell_events(CELLS, samples, groups, with_overall=True)
    assert overall.counts.tolist() == [3, 3, 6, 1, 5, 6]
