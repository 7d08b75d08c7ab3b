import datetime

import hypothesis.extra.numpy as hnp
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from skfair._groups.groups import (
    Groups,
    check_groups,
    group_names,
    unique_inverse,
)
from skfair._groups.known import encode_known_groups
from skfair._groups.samples import check_alignment, to_pandas_index

NAMES = ["male", "female", "male", "other", "female", "male"]


def polars_series(values):
    return pytest.importorskip("polars").Series(values)


def polars_categorical(values):
    pl = pytest.importorskip("polars")
    return pl.Series(values, dtype=pl.Categorical)


def polars_frame(values):
    return pytest.importorskip("polars").DataFrame({"group": values})


CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "array": np.array,
    "object array": lambda values: np.array(values, dtype=object),
    "column": lambda values: np.array(values).reshape(-1, 1),
    "list of rows": lambda values: [[value] for value in values],
    "Series": pd.Series,
    "object Series": lambda values: pd.Series(values, dtype=object),
    "Index": pd.Index,
    "Categorical": lambda values: pd.Categorical(values, categories=list(dict.fromkeys(values))),
    "categorical Series": lambda values: pd.Series(values, dtype="category"),
    "DataFrame": lambda values: pd.DataFrame({"group": values}),
    "categories in a DataFrame": lambda values: pd.DataFrame({"group": pd.Categorical(values)}),
    "nullable": lambda values: pd.Series(values).convert_dtypes(),
    "masked array": np.ma.array,
    "polars Series": polars_series,
    "polars DataFrame": polars_frame,
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize(
    "values, labels, codes",
    [
        (NAMES, ["female", "male", "other"], [1, 0, 1, 2, 0, 1]),
        ([10, 9, -1, 10], [-1, 9, 10], [2, 1, 0, 2]),
        ([0.5, -2.5, 0.5], [-2.5, 0.5], [1, 0, 1]),
        ([True, False, True], [False, True], [1, 0, 1]),
    ],
    ids=["strings", "integers", "floats", "booleans"],
)
def test_codes_do_not_depend_on_the_container(container, values, labels, codes):
    groups = check_groups(CONTAINERS[container](values), len(values))
    assert groups.codes.tolist() == codes
    assert groups.codes.dtype == groups.counts.dtype == np.intp
    assert groups.labels.tolist() == [[label] for label in labels]
    assert [type(label) for label in groups.labels[:, 0]] == [type(label) for label in labels]
    assert groups.counts.tolist() == [values.count(label) for label in labels]


def test_polars_categorical():
    groups = check_groups(polars_categorical(NAMES), len(NAMES))
    assert groups.labels[:, 0].tolist() == ["female", "male", "other"]
    assert groups.codes.tolist() == [1, 0, 1, 2, 0, 1]


def test_numpy_scalars_in_a_list():
    groups = check_groups([np.str_("b"), "a", "b"], 3)
    assert groups.codes.tolist() == [1, 0, 1]
    assert {type(label) for label in groups.labels[:, 0]} == {str}


def test_integers_and_floats_are_the_same_numbers():
    assert check_groups([1, 1.0, np.float32(2), 2], 4).codes.tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize(
    "values",
    [
        pd.Series(pd.to_datetime(["2001-01-01", "1999-01-01", "2001-01-01"])),
        pd.Series(pd.to_datetime(["2001-01-01", "1999-01-01", "2001-01-01"]).as_unit("ns")),
        [datetime.date(2001, 1, 1), datetime.date(1999, 1, 1), datetime.date(2001, 1, 1)],
        pd.cut(pd.Series([70, 20, 80]), [0, 60, 100]),
        np.array([b"y", b"x", b"y"]),
        np.array([("b", 1), ("a", 2), ("b", 1)], dtype="U1,i8"),
    ],
    ids=["datetime", "nanoseconds", "date", "interval", "bytes", "records"],
)
def test_anything_that_can_be_sorted_is_a_label(values):
    assert check_groups(values, 3).codes.tolist() == [1, 0, 1]


SEX = ["f", "m", "m", "f", "m"]
AGE = [30, 30, 40, 40, 30]


@pytest.mark.parametrize(
    "several",
    [
        lambda: [["f", 30], ["m", 30], ["m", 40], ["f", 40], ["m", 30]],
        lambda: list(zip(SEX, AGE, strict=True)),
        lambda: np.array([SEX, AGE], dtype=object).T,
        lambda: pd.DataFrame({"sex": SEX, "age": AGE}),
        lambda: pd.DataFrame({"sex": pd.Categorical(SEX), "age": AGE}),
        lambda: pd.DataFrame(list(zip(SEX, AGE, strict=True)), columns=["sex", 0]),
        lambda: pytest.importorskip("polars").DataFrame({"sex": SEX, "age": AGE}),
    ],
)
def test_several_attributes_give_the_combinations_that_occur(several):
    groups = check_groups(several(), 5)
    assert groups.labels.tolist() == [["f", 30], ["f", 40], ["m", 30], ["m", 40]]
    assert groups.codes.tolist() == [0, 2, 3, 1, 2]
    assert groups.counts.tolist() == [1, 1, 2, 1]
    assert group_names(groups.labels) == [("f", 30), ("f", 40), ("m", 30), ("m", 40)]


def test_attributes_of_one_name_are_refused():
    table = pd.DataFrame(list(zip(SEX, AGE, strict=True)), columns=["twice", "twice"])
    with pytest.raises(ValueError, match="names of their own, but 2 are called 'twice'"):
        check_groups(table, 5)


@pytest.mark.parametrize(
    "one",
    [
        pd.Series(SEX, name="sex"),
        pl.Series("sex", SEX),
        pd.DataFrame({"sex": SEX}),
        pl.DataFrame({"sex": SEX}),
        pd.Index(SEX, name="sex"),
    ],
    ids=["Series", "polars Series", "DataFrame", "polars DataFrame", "Index"],
)
def test_one_attribute_has_the_name_of_its_series_or_column(one):
    assert check_groups(one, 5).attributes == ["sex"]
    missing = pd.Series([None, *SEX[1:]], name="sex")
    with pytest.raises(ValueError, match="attribute 'sex' of sensitive_features has 1 missing"):
        check_groups(missing, 5)


@pytest.mark.parametrize("one", [pd.Series(SEX), pl.Series(SEX), SEX, np.array(SEX)])
def test_one_attribute_without_a_name_is_numbered(one):
    assert check_groups(one, 5).attributes == [0]


def test_combinations_that_do_not_occur_are_no_groups():
    groups = check_groups([["a", 1], ["b", 2]], 2)
    assert groups.labels.tolist() == [["a", 1], ["b", 2]]


def test_many_attributes_do_not_overflow():
    rng = np.random.default_rng(0)
    attributes = rng.integers(0, 10, size=(50, 80))
    groups = check_groups(attributes, 50)
    assert groups.codes.tolist() == [
        sorted(attributes.tolist()).index(row) for row in attributes.tolist()
    ]


@given(
    hnp.arrays(
        np.int64, st.tuples(st.integers(1, 20), st.integers(1, 3)), elements=st.integers(-2, 2)
    )
)
def test_codes_are_positions_among_the_sorted_distinct_rows(attributes):
    groups = check_groups(attributes, len(attributes))
    rows = list(map(tuple, attributes.tolist()))
    expected = sorted(set(rows))
    assert list(map(tuple, groups.labels)) == expected
    assert groups.codes.tolist() == [expected.index(row) for row in rows]
    assert groups.counts.tolist() == [rows.count(row) for row in expected]


@given(hnp.arrays(np.int64, st.integers(0, 30), elements=st.integers(-4, 4)))
def test_small_and_large_numbers_of_values_are_encoded_equally(column):
    for labels in (column, column / 3, column.astype(str), column > 0, column.astype("M8[D]")):
        values, codes = unique_inverse(labels)
        expected, positions = np.unique(labels, return_inverse=True)
        assert values.dtype == expected.dtype
        np.testing.assert_array_equal(values, expected)
        np.testing.assert_array_equal(codes, positions)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.uint64])
def test_integers_are_counted_wherever_they_lie(kind):
    ends = np.iinfo(kind)
    rng = np.random.default_rng(0)
    for lowest in (ends.min, ends.max - 100):
        column = np.array([lowest + int(step) for step in rng.integers(100, size=300)], dtype=kind)
        for labels in (column, np.append(column, kind(ends.max - lowest % 2))):
            values, codes = unique_inverse(labels)
            expected, positions = np.unique(labels, return_inverse=True)
            assert values.dtype == kind
            np.testing.assert_array_equal(values, expected)
            np.testing.assert_array_equal(codes, positions)


def test_no_samples():
    groups = check_groups([], 0)
    assert len(groups.codes) == len(groups.labels) == len(groups.counts) == 0


@pytest.mark.parametrize(
    "sensitive_features, error, match",
    [
        (["a", "b"], ValueError, "has 2 rows but there are 3 samples"),
        (np.zeros((3, 1, 1)), ValueError, "ndarray of 3 dimensions"),
        (np.zeros((3, 0)), ValueError, "no columns"),
        (pd.DataFrame(index=range(3)), ValueError, "no columns"),
        ({"a": 1, "b": 2, "c": 3}, ValueError, "a dict of 0 dimensions"),
        ({"a", "b", "c"}, ValueError, "a set of 0 dimensions"),
        (iter("abc"), ValueError, "of 0 dimensions"),
        ("abc", ValueError, "a str of 0 dimensions"),
        (3, ValueError, "an? int of 0 dimensions"),
        (None, ValueError, "a NoneType of 0 dimensions"),
        (np.array([1j, 2, 3]), ValueError, "is complex"),
        ([1j, 2j, 3j], ValueError, "is complex"),
        (["a", None, "b"], ValueError, "attribute 0 .* 1 missing value.*, the first in row 1"),
        (["a", float("nan"), "b"], ValueError, "missing value"),
        (["a", pd.NA, "b"], ValueError, "missing value"),
        (["a", pd.NaT, "b"], ValueError, "missing value"),
        (
            np.array([1.0, np.nan, np.nan]),
            ValueError,
            "attribute 0 .* 2 missing value.*, the first in row 1",
        ),
        (np.array(["2001", "NaT", "2002"], dtype="M8[s]"), ValueError, "missing value"),
        (pd.Series(["a", None, "b"]), ValueError, "missing value"),
        (pd.Series([1, None, 2], dtype="Int64"), ValueError, "missing value"),
        (pd.Categorical(["a", None, "b"]), ValueError, "missing value.*, the first in row 1"),
        (pd.Series([1.0, 2.0, None], dtype="Float64"), ValueError, "the first in row 2"),
        (
            pd.DataFrame({"x": [1, 2, 3], "y": ["a", "b", None]}),
            ValueError,
            "attribute 'y' .* has 1 missing",
        ),
        (np.ma.array([1, 2, 3], mask=[0, 0, 1]), ValueError, "the first in row 2"),
        ([1, "1", 2], TypeError, "mixes numbers and strings"),
        ([True, 1, 0], TypeError, "mixes booleans and numbers"),
        (["a", b"a", "b"], TypeError, "mixes strings and values of type bytes"),
        ([["a"], ["a", "b"], ["b"]], TypeError, "is not a label"),
        ([object(), object(), object()], TypeError, "cannot be sorted"),
        (sparse.csr_array(np.eye(3)), TypeError, "overlapping groups; these are for classifiers"),
        (sparse.csc_matrix(np.eye(3, dtype=bool)), TypeError, "overlapping groups"),
    ],
)
def test_errors_name_the_remedy(sensitive_features, error, match):
    with pytest.raises(error, match=match):
        check_groups(sensitive_features, 3)


def test_missing_values_in_polars_are_refused():
    for values in (["a", None], [1, None], [True, None], [1.5, None]):
        with pytest.raises(ValueError, match="missing value"):
            check_groups(polars_series(values), 2)


def test_single_group():
    groups = Groups.single(3)
    assert groups.codes.tolist() == [0, 0, 0]
    assert groups.counts.tolist() == [3]
    assert groups.labels.shape == (1, 1)


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=12), st.data())
def test_take_is_check_groups_of_the_rows_taken(labels, data):
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(labels), max_size=len(labels))))
    groups = check_groups(labels, len(labels))
    expected = check_groups(np.array(labels)[mask], mask.sum())
    for rows in (mask, np.flatnonzero(mask)):
        taken = groups.take(rows)
        assert taken.codes.tolist() == expected.codes.tolist()
        assert taken.labels.tolist() == expected.labels.tolist()
        assert taken.counts.tolist() == expected.counts.tolist()


def test_summary_has_no_codes():
    summary = check_groups(NAMES, 6).summary
    assert summary._fields == ("labels", "counts", "attributes")
    assert summary.counts == [2, 3, 1]


def test_match_groups_finds_the_groups_of_fit():
    summary = check_groups(NAMES, 6).summary
    assert encode_known_groups(["other", "female"], 2, summary).tolist() == [2, 0]
    assert encode_known_groups(pd.Categorical(["other", "female"]), 2, summary).tolist() == [2, 0]
    several = check_groups(pd.DataFrame({"sex": SEX, "age": AGE}), 5).summary
    assert encode_known_groups([["m", 40], ["f", 30]], 2, several).tolist() == [3, 0]


def test_booleans_are_not_matched_with_numbers():
    """To Python True equals 1."""
    summary = check_groups([0, 1, 1], 3).summary
    assert encode_known_groups([1.0, 0.0], 2, summary).tolist() == [1, 0]
    with pytest.raises(TypeError, match="mixes booleans and numbers"):
        encode_known_groups([True, False], 2, summary)


def test_match_groups_lists_the_known_groups():
    summary = check_groups([1, 2, 1], 3).summary
    with pytest.raises(ValueError, match=r"not seen at fit: '1'; the known groups are 1, 2\."):
        encode_known_groups(["1"], 1, summary)
    many = check_groups(np.arange(100), 100).summary
    with pytest.raises(ValueError, match=r"8, 9 and 90 more\."):
        encode_known_groups([100], 1, many)


def test_match_groups_refuses_other_attributes():
    summary = check_groups(NAMES, 6).summary
    with pytest.raises(ValueError, match=r"1 attribute\(s\) of the fit, 0, but has 2"):
        encode_known_groups([["male", "young"]], 1, summary)


def test_alignment():
    X = pd.DataFrame({"x": [1, 2]}, index=[5, 7])
    labels = pd.Series(["a", "b"], index=[7, 5])
    check_alignment(X=X, sensitive_features=labels.loc[X.index])
    check_alignment(X=X.to_numpy(), sensitive_features=labels)
    check_alignment(X=X, sensitive_features=["a", "b"], sample_weight=None)
    with pytest.raises(ValueError, match=r"X and sensitive_features must have the same pandas"):
        check_alignment(X=X, sensitive_features=labels)
    with pytest.raises(ValueError, match=r"sample_weight.loc\[X.index\]"):
        check_alignment(X=X, y=None, sample_weight=pd.Series([1.0, 2.0], index=[5, 8]))


def test_memberships_of_groups():
    groups = check_groups(NAMES, 6)
    members = groups
    assert members.names == ["female", "male", "other"]
    np.testing.assert_array_equal(members.matrix.toarray(), np.eye(3)[groups.codes])
    np.testing.assert_array_equal(members.counts, groups.counts)
    assert members.matrix.dtype == bool


def test_memberships_of_intersections_and_of_each_attribute():
    groups = check_groups([["f", "old"], ["f", "young"], ["m", "old"], ["f", "old"]], 4)
    assert groups.names == [("f", "old"), ("f", "young"), ("m", "old")]
    each = groups.single_attribute_groups()
    assert each.names == [(0, "f"), (0, "m"), (1, "old"), (1, "young")]
    expected = [[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [1, 0, 1, 0]]
    np.testing.assert_array_equal(each.matrix.toarray(), expected)
    np.testing.assert_array_equal(each.counts, [3, 1, 3, 1])


def test_each_attribute_of_a_table_is_called_by_its_name():
    table = pd.DataFrame({"sex": ["f", "m", "f"], "age": ["old", "old", "young"]})
    expected = [("sex", "f"), ("sex", "m"), ("age", "old"), ("age", "young")]
    groups = check_groups(table, 3)
    assert groups.single_attribute_groups().names == expected
    assert groups.take(np.array([0, 1])).single_attribute_groups().names == expected[:3]


def test_one_attribute_has_no_intersections():
    groups = check_groups(NAMES, 6)
    assert groups.single_attribute_groups().names == groups.names


@pytest.mark.parametrize(
    "container",
    [sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csr_matrix, sparse.lil_array],
)
@pytest.mark.parametrize("dtype", [bool, int, float])
def test_overlapping_memberships(container, dtype):
    inside = np.array([[1, 1], [0, 1], [1, 0]], dtype=dtype)
    members = check_groups(container(inside), 3, overlapping=True)
    assert members.names == [0, 1]
    assert members.matrix.dtype == bool
    np.testing.assert_array_equal(members.matrix.toarray(), inside.astype(bool))
    np.testing.assert_array_equal(members.counts, [2, 2])


def test_memberships_do_not_change_the_argument():
    sensitive_features = sparse.csr_array(np.array([[1.0, 1.0], [0.0, 1.0]]))
    sensitive_features.data[1] = 0.0  # a stored zero
    members = check_groups(sensitive_features, 2, overlapping=True)
    np.testing.assert_array_equal(members.counts, [1, 1])
    np.testing.assert_array_equal(sensitive_features.data, [1.0, 0.0, 1.0])


@pytest.mark.parametrize("dtype", [bool, float])
def test_entries_stored_twice_count_once(dtype):
    entries = (np.ones(4, dtype=dtype), [1, 0, 1, 0], [0, 3, 4])
    sensitive_features = sparse.csr_array(entries, shape=(2, 2))
    members = check_groups(sensitive_features, 2, overlapping=True)
    np.testing.assert_array_equal(members.matrix.toarray(), [[1, 1], [1, 0]])
    np.testing.assert_array_equal(members.counts, [2, 1])
    np.testing.assert_array_equal(sensitive_features.indices, [1, 0, 1, 0])


def test_take_of_memberships():
    inside = np.array([[1, 1, 0], [0, 1, 0], [0, 1, 1]], dtype=bool)
    members = check_groups(sparse.csr_array(inside), 3, overlapping=True)
    for rows in ([1, 2], np.array([False, True, True])):
        taken = members.take(rows)
        assert taken.names == [1, 2]
        np.testing.assert_array_equal(taken.matrix.toarray(), inside[1:, 1:])


def test_summary_of_memberships():
    members = check_groups(sparse.csr_array(np.eye(3, dtype=bool)), 3, overlapping=True)
    summary = members.summary
    assert summary.labels == [[0], [1], [2]]
    assert summary.counts == [1, 1, 1]
    pairs = check_groups([["f", 1], ["m", 2]], 2).single_attribute_groups().summary
    assert pairs.labels == [[(0, "f")], [(0, "m")], [(1, 1)], [(1, 2)]]


@pytest.mark.parametrize(
    "sensitive_features, match",
    [
        (sparse.csr_array(np.eye(2)), "has 2 rows but there are 3 samples"),
        (sparse.csr_array([[0.5, 1], [1, 1], [1, 1]]), "boolean .* it holds 0.5"),
        (sparse.csr_array([[1, 0], [1, 0], [1, 0]]), r"column\(s\) 1 of sensitive_features are"),
        (sparse.csr_array([[np.nan], [1], [1]]), "boolean .* it holds nan"),
    ],
)
def test_memberships_refuse(sensitive_features, match):
    with pytest.raises(ValueError, match=match):
        check_groups(sensitive_features, 3, overlapping=True)


def test_one_class_for_groups_that_are_disjoint_and_that_may_overlap():
    disjoint = check_groups(list("baab"), 4, overlapping=True)
    inside = np.array([[0, 1], [1, 1], [0, 0]], dtype=bool)
    overlapping = check_groups(sparse.csr_array(inside), 3, overlapping=True)
    assert isinstance(disjoint, Groups) and disjoint.is_disjoint
    assert isinstance(overlapping, Groups) and not overlapping.is_disjoint
    assert [axis.tolist() for axis in disjoint.memberships] == [[0, 1, 2, 3], [1, 0, 0, 1]]
    assert [axis.tolist() for axis in overlapping.memberships] == [[0, 1, 1], [1, 0, 1]]
    assert [rows.tolist() for rows in disjoint.members()] == [[1, 2], [0, 3]]
    assert [rows.tolist() for rows in overlapping.members()] == [[1], [0, 1]]
    assert overlapping.single_attribute_groups() is overlapping
    for refused in (lambda: overlapping.codes, lambda: check_groups(sparse.csr_array(inside), 3)):
        with pytest.raises(TypeError, match="means overlapping groups; these are for classifiers"):
            refused()


def test_selected_groups_leave_samples_in_none():
    subset = check_groups(list("abcb"), 4).select(np.array([0, 2]))
    assert subset.names == ["a", "c"]
    assert subset.counts.tolist() == [1, 1]
    np.testing.assert_array_equal(subset.matrix.toarray(), [[1, 0], [0, 0], [0, 1], [0, 0]])


def test_times_a_nanosecond_apart_are_two_groups():
    times = np.array([1, 0, 1], dtype="datetime64[ns]")
    groups = check_groups(times, 3)
    assert groups.codes.tolist() == [1, 0, 1]
    assert groups.names == [np.datetime64(0, "ns"), np.datetime64(1, "ns")]
    assert encode_known_groups(times, 3, groups.summary).tolist() == [1, 0, 1]
    groups = check_groups(np.array([1000, 0], "datetime64[ns]"), 2)
    assert groups.names == [
        datetime.datetime(1970, 1, 1),
        datetime.datetime(1970, 1, 1, 0, 0, 0, 1),
    ]


@pytest.mark.parametrize(
    "labels", [["m", "f", "m"], [True, False, True], [2, 1, 2], [0.5, 0.0, 0.5]]
)
def test_arrays_of_pyarrow(labels):
    pa = pytest.importorskip("pyarrow")
    for container in (pa.array(labels), pa.chunked_array([labels[:1], labels[1:]])):
        groups = check_groups(container, 3)
        assert groups.codes.tolist() == [1, 0, 1]
        assert groups.names == sorted(set(labels))
    with pytest.raises(ValueError, match="missing value"):
        check_groups(pa.array([*labels, None]), 4)


def test_a_table_of_pyarrow():
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"sex": ["f", "m", "f"], "age": [1, 2, 2]})
    groups = check_groups(table, 3)
    assert groups.names == [("f", 1), ("f", 2), ("m", 2)]
    assert to_pandas_index(groups.labels, table).names == ["sex", "age"]


@pytest.mark.parametrize(
    "values, message",
    [
        (["a"], "region has 1 rows but there are 2 samples"),
        ([1, "sensitive_features"], "(such as 'sensitive_features', 1)"),
        ([1, "sensitive_features"], "The labels in attribute 0 of region must be of one type"),
        (["a", None], "attribute 0 of region has 1 missing value"),
        (np.zeros((2, 0)), "region has no columns"),
        ("ab", "region must have one row per sample"),
        (sparse.csr_array(np.eye(2)), "region is a sparse matrix"),
        (pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), "Attributes of region need names"),
    ],
)
def test_messages_call_an_argument_by_its_name_and_change_no_label(values, message):
    with pytest.raises((TypeError, ValueError)) as stop:
        check_groups(values, 2, name="region")
    assert message in str(stop.value)
