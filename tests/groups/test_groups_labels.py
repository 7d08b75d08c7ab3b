"""One rule for labels in memory and on partitions: an attribute has labels of one kind."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from skfair._groups.groups import (
    check_attribute_label_types,
    check_one_label_type,
    unique_labels_and_codes,
)
from skfair.classification import ConstrainedERMClassifier, PartialParityPostprocessor
from skfair.cluster import FairKMeans
from skfair.metrics import demographic_parity_difference, group_report
from skfair.monitoring import GapMonitor
from skfair.ranking import ConstrainedRanker

SCALARS = st.one_of(
    st.text(max_size=3),
    st.text("a\0\ud800", max_size=3),
    st.text(max_size=2).map(np.str_),
    st.integers(-2, 2),
    st.integers(-2, 2).map(np.int64),
    st.booleans(),
    st.floats(-2, 2),
    st.binary(max_size=2),
    st.sampled_from([None, np.nan, pd.NA, pd.NaT]),
)


def encode_by_dict(column):
    """Sorted labels and codes of Python objects, each of one type and hashable."""
    if any(one is None or one is pd.NA or one != one for one in column):
        raise ValueError
    check_one_label_type(column, "a column")
    values = sorted(set(column))
    return values, [values.index(one) for one in column]


@given(
    st.one_of(
        st.lists(SCALARS, min_size=1),
        st.lists(st.text("ab", max_size=2), min_size=1),
        st.lists(st.text("a\0\ud800", max_size=3), min_size=1),
    )
)
@example(["", "\0"])
def test_objects_are_encoded_as_by_a_dict(column):
    array = np.fromiter(column, dtype=object, count=len(column))
    try:
        values, codes = encode_by_dict(column)
    except (TypeError, ValueError) as error:
        with pytest.raises(type(error)):
            unique_labels_and_codes(array, 0)
        return
    labels, positions = unique_labels_and_codes(array, 0)
    assert labels.tolist() == values
    assert positions.tolist() == codes
    assert not any(isinstance(label, np.generic) for label in labels)


N = 60
RNG = np.random.default_rng(0)
X = RNG.normal(size=(2 * N, 2))
CODES = np.arange(2 * N) % 2
Y = (X[:, 0] + CODES + RNG.normal(size=2 * N) > 0).astype(int)

KINDS = {
    "numbers and strings": (int, str),
    "booleans and numbers": (bool, int),
    "booleans and strings": (bool, str),
}


def combine_types(codes, kinds, *, within=False):
    """Codes as labels of two kinds: of one in each partition, or of both in all of them."""
    of_one, of_other = (np.array(list(map(kind, codes.tolist())), dtype=object) for kind in kinds)
    is_first = np.arange(2 * N) // 2 % 2 == 0 if within else np.arange(2 * N) < N
    return np.where(is_first, of_one, of_other)


def load_rows(array):
    return array


def make_lazy(array):
    import dask.array as da

    return da.from_array(array, chunks=(N, *array.shape[1:]))


def fit(place, groups):
    ConstrainedERMClassifier(tolerance=0.1).fit(
        place(X), place(Y), sensitive_features=place(groups)
    )


def cluster(place, groups):
    FairKMeans(2, random_state=0).fit(place(X), sensitive_features=place(groups))


def measure(place, groups):
    demographic_parity_difference(place(Y), place(Y), sensitive_features=place(groups))


@pytest.mark.covering(1)
@pytest.mark.parametrize("types", KINDS)
@pytest.mark.parametrize("within", [False, True], ids=["across", "within"])
@pytest.mark.parametrize("place", [load_rows, make_lazy])
@pytest.mark.parametrize("use", [fit, cluster, measure])
def test_groups_of_two_kinds_are_refused(local_client, use, place, within, types):
    groups = combine_types(CODES, KINDS[types], within=within)
    message = rf"attribute 0 of sensitive_features must be of one type, but it mixes {types} \(such"
    with pytest.raises(TypeError, match=message):
        use(place, groups)


@pytest.mark.parametrize("types", KINDS)
@pytest.mark.parametrize("place", [load_rows, make_lazy])
def test_classes_of_two_kinds_are_refused(local_client, place, types):
    y = combine_types(Y, KINDS[types])
    model = ConstrainedERMClassifier(tolerance=0.1, pos_label=1)
    with pytest.raises(TypeError, match=f"labels in y must be of one type, but it mixes {types}"):
        model.fit(place(X), place(y), sensitive_features=place(CODES))


@pytest.mark.parametrize("use", [fit, cluster, measure])
def test_the_second_attribute_is_checked_as_well(local_client, use):
    dask, dd = pytest.importorskip("dask"), pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame({"race": CODES, "sex": combine_types(CODES[::-1], (bool, int))})
    with dask.config.set({"dataframe.convert-string": False}):
        groups = dd.from_pandas(frame, npartitions=2)

    def place(array):
        return groups if array is None else make_lazy(array)

    with pytest.raises(TypeError, match="attribute 1 of sensitive_features must be of one type"):
        use(place, None)


@pytest.mark.parametrize("use", [fit, cluster, measure])
def test_integers_and_real_numbers_are_of_one_kind(local_client, use):
    use(make_lazy, combine_types(CODES, (int, float)))


def test_missing_values_are_of_no_kind():
    check_one_label_type([None, 1, float("nan"), 2.0, pd.NA, np.int64(3)], "y")
    with pytest.raises(TypeError, match="numbers and strings"):
        check_one_label_type([None, 1, float("nan"), "1"], "y")


def test_labels_of_groups():
    check_attribute_label_types([])
    check_attribute_label_types([(1, "a"), (2, "b")])
    with pytest.raises(TypeError, match="attribute 1 .* booleans and strings"):
        check_attribute_label_types([(1, "a"), (2, True)])


IDENTIFIERS = 2**53 + np.arange(2, dtype=np.int64)
"""Two integers that are one float."""


def rank(place, groups):
    ConstrainedRanker().fit(place(X), Y, query_id=groups, sensitive_features=CODES)


def monitor_ids(place, ids):
    GapMonitor("demographic_parity", tolerance=0.1).update(
        None, Y, sensitive_features=CODES, ids=ids
    )


def fit_classes(place, y):
    ConstrainedERMClassifier(tolerance=0.1).fit(place(X), place(y), sensitive_features=place(CODES))


@pytest.mark.parametrize("holds_objects", [False, True], ids=["numbers", "objects"])
@pytest.mark.parametrize("use", [fit, cluster, measure, rank, monitor_ids, fit_classes])
def test_floats_that_may_be_rounded_integers_are_refused(use, holds_objects):
    rounded = IDENTIFIERS[CODES].astype(float)
    with pytest.raises(ValueError, match="(?s)holds 9007199254740992 as float64, which rounds"):
        use(load_rows, rounded.astype(object) if holds_objects else rounded)


def test_integers_beyond_the_exact_floats_are_distinct():
    groups = IDENTIFIERS[CODES]
    model = PartialParityPostprocessor(LogisticRegression(), tolerance=0.05)
    model.fit(X, Y, sensitive_features=groups)
    decided = model.predict(X, sensitive_features=groups)
    exact = pd.Series(groups, dtype="Int64").astype(object)  # as of a join with missing values
    np.testing.assert_array_equal(model.predict(X, sensitive_features=exact), decided)
    for place in (np.float64, np.float32):
        with pytest.raises(ValueError, match="convert the integers to strings"):
            model.predict(X, sensitive_features=groups.astype(place))


def test_floats_below_the_limit_of_their_type_are_labels():
    for kind, limit in ((np.float32, 2**24), (np.float64, 2**53)):
        labels, _ = unique_labels_and_codes(np.array([-limit + 1, limit - 1], dtype=kind), 0)
        assert labels.tolist() == [-limit + 1, limit - 1]
        with pytest.raises(ValueError, match=rf"rounds integers from {limit} on"):
            unique_labels_and_codes(np.array([1, -limit], dtype=kind), 0)


def test_forms_of_unicode_are_two_groups_that_are_warned_of():
    composed, decomposed = (
        "caf\N{LATIN SMALL LETTER E WITH ACUTE}",
        "cafe\N{COMBINING ACUTE ACCENT}",
    )
    labels = [composed, decomposed, "x"] * 20
    with pytest.warns(UserWarning, match="case, surrounding spaces or Unicode form alone"):
        report = group_report([0, 1] * 30, [1, 0] * 30, sensitive_features=labels)
    assert len(report) == 4
