import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from skfair._groups import check_groups
from skfair._groups.arguments import FitArguments
from skfair._groups.groups import refuse_continuous_attributes
from skfair._groups.samples import check_metric_input, check_samples, to_pandas_index
from skfair.exceptions import MissingSensitiveFeaturesWarning
from skfair.groups import Samples

MEMBERS = np.array([[1, 0, 0, 0], [1, 0, 1, 0], [0, 0, 1, 0], [0, 0, 1, 1]], dtype=bool)


def test_disjoint_groups():
    samples, (y,) = check_metric_input(list("baab"), None, y=[1, 2, 3, 4])
    assert samples.groups.names == ["a", "b"]
    assert [rows.tolist() for rows in samples.groups.members()] == [[1, 2], [0, 3]]
    assert samples.weights.tolist() == [1, 1, 1, 1]
    assert y.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_overlapping_groups_are_called_by_their_column(container):
    samples, _ = check_metric_input(container(MEMBERS), None, y=np.arange(4))
    assert samples.groups.names == [0, 2, 3]
    assert [rows.tolist() for rows in samples.groups.members()] == [[0, 1], [1, 2, 3], [3]]


def test_stored_zeros_are_no_members():
    matrix = sparse.csr_array(([1, 0, 0, 1], [0, 1, 1, 2], [0, 2, 4]), shape=(2, 3))
    samples, _ = check_metric_input(matrix, None, y=[0, 0])
    assert samples.groups.names == [0, 2]
    assert [rows.tolist() for rows in samples.groups.members()] == [[0], [1]]


@pytest.mark.parametrize("groups", [list("abcc"), sparse.csr_array(MEMBERS)])
def test_samples_of_zero_weight_are_absent(groups):
    samples, (y,) = check_metric_input(groups, [0, 2, 3, 0], y=list("wxyz"))
    present = groups[1:3]
    alone, _ = check_metric_input(present, [2, 3], y=list("xy"))
    assert y.tolist() == ["x", "y"]
    assert samples.groups.names == alone.groups.names
    np.testing.assert_array_equal(samples.groups.memberships, alone.groups.memberships)
    np.testing.assert_array_equal(samples.weights, alone.weights)


def test_many_groups_keep_their_members():
    codes = np.random.default_rng(0).permutation(np.repeat(np.arange(300), 3))
    samples, _ = check_metric_input(codes, None, takes_numbers=True, y=codes)
    assert all((codes[rows] == group).all() for group, rows in enumerate(samples.groups.members()))


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
        (sparse.csr_array((4, 2), dtype=bool), None, "puts no sample of positive weight"),
        (sparse.csr_array(MEMBERS[:, [3]]), [1, 1, 1, 0], "puts no sample of positive weight"),
        (pd.Series(list("aabb"), index=[3, 2, 1, 0]), None, "same pandas index"),
    ],
)
def test_refusals(groups, weights, match):
    with pytest.raises(ValueError, match=match):
        check_metric_input(groups, weights, y=pd.Series([0, 1, 0, 1]))


def test_columns_must_be_of_one_length_and_one_dimension():
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[2, 3\]"):
        check_metric_input(list("ab"), None, y_true=[0, 1], y_pred=[0, 1, 0])
    with pytest.raises(ValueError, match="1d array"):
        check_metric_input(list("ab"), None, y_true=[[0, 1], [1, 0]])


def test_an_index_has_the_names_of_the_attributes():
    frame = pd.DataFrame({"sex": list("fm"), "age": [1, 2]})
    assert to_pandas_index(frame.to_numpy(), frame).names == ["sex", "age"]
    one = to_pandas_index(frame[["sex"]].to_numpy(), frame["sex"])
    assert (one.name, one.tolist()) == ("sex", ["f", "m"])
    assert to_pandas_index(frame.to_numpy(), frame.to_numpy()).names == [None, None]


# People of a fit -----------------------------------------------------------------------


def check_fit(sensitive_features, sample_weight, *, overlapping=False, missing=None, **rows):
    arguments = FitArguments(
        sensitive_features=sensitive_features, sample_weight=sample_weight, **rows
    )
    return check_samples(arguments, overlapping=overlapping, missing=missing)


def test_samples_of_a_fit():
    samples, rows = check_fit(list("abca"), [1, 2, 3, 0], X=np.zeros((4, 1)), y=None)
    assert samples.target is None
    assert rows.tolist() == [0, 1, 2]
    assert samples.groups.codes.tolist() == [0, 1, 2]
    assert samples.weights.tolist() == [1, 2, 3]


def test_a_group_of_zero_weight_is_named_at_the_users_line():
    with pytest.warns(UserWarning, match="count as absent: 'b'. Leave") as caught:
        samples, _ = check_fit(list("aab"), [1, 1, 0], X=np.zeros((3, 1)))
    assert samples.groups.names == ["a"]
    assert caught[0].filename == __file__


def test_without_groups_there_is_one_and_a_constraint_warns():
    samples, rows = check_fit(None, [1, 0, 2], X=np.zeros((3, 1)))
    assert samples.groups.names == ["all"] and samples.groups.counts.tolist() == [2]
    assert rows.tolist() == [0, 2]
    with pytest.warns(MissingSensitiveFeaturesWarning, match=r"I asked. Inside a search or pip"):
        check_fit(None, None, missing="I asked.", X=np.zeros((3, 1)))


def test_overlapping_groups_need_permission():
    X = np.zeros((4, 1))
    with pytest.raises(TypeError, match="sparse matrix, which means overlapping groups"):
        check_fit(sparse.csr_array(MEMBERS), None, X=X)
    with pytest.raises(ValueError, match=r"column\(s\) 1 of sensitive_features are empty"):
        check_fit(sparse.csr_array(MEMBERS), None, overlapping=True, X=X)
    samples, _ = check_fit(sparse.csr_array(MEMBERS[:, [0, 2]]), None, overlapping=True, X=X)
    assert samples.groups.counts.tolist() == [2, 3]


@pytest.mark.parametrize("check", [check_fit, check_metric_input])
def test_weights_with_infinite_sum_are_refused(check):
    with pytest.raises(ValueError, match=r"sum of sample_weight must be finite.*1e\+308"):
        check(list("aab"), np.full(3, 1e308), y=[0, 1, 0])


def test_samples_of_a_fit_are_aligned():
    X = pd.DataFrame(np.zeros((2, 1)), index=[1, 2])
    with pytest.raises(ValueError, match="X and sample_weight must have the same pandas index"):
        check_fit(["a", "b"], pd.Series([1.0, 2.0], index=[2, 1]), X=X)


# Too many groups -----------------------------------------------------------------------


def test_an_id_is_no_group():
    X = np.zeros((2000, 1))
    with pytest.raises(ValueError, match=r"2000 groups for 2000 samples.*an id.*pd\.cut"):
        check_fit(np.arange(2000), None, X=X)
    with pytest.raises(ValueError, match="looks like an id"):
        check_fit([f"person {i}" for i in range(2000)], None, X=X)
    small, _ = check_fit(np.arange(50), None, X=X[:50])
    assert len(small.groups.labels) == 50


def test_a_measurement_is_no_group():
    rng = np.random.default_rng(0)
    income = rng.normal(size=2000).round(2)
    with pytest.raises(ValueError, match=r"Attribute 0 .* different numbers.*bin_labels"):
        refuse_continuous_attributes(check_groups(income, 2000))
    frame = pd.DataFrame({"sex": np.arange(2000) % 2, "income": income})
    with pytest.raises(ValueError, match="Attribute 'income' of sensitive_features"):
        refuse_continuous_attributes(check_groups(frame, 2000))
    with pytest.raises(ValueError, match=r"31 different numbers, from 0 to 30.*age\.astype\(str\)"):
        refuse_continuous_attributes(check_groups(np.arange(2000) % 31, 2000))
    refuse_continuous_attributes(check_groups(np.arange(2000) % 30, 2000))
    refuse_continuous_attributes(check_groups((np.arange(2000) % 31).astype(str), 2000))
    refuse_continuous_attributes(
        check_groups(sparse.eye_array(50, dtype=bool), 50, overlapping=True)
    )


def test_numbers_of_small_groups_do_not_count_as_groups():
    age = np.append(np.repeat(np.arange(30), 40), np.arange(30, 70))
    samples, _ = check_fit(age, None, X=np.zeros((len(age), 1)))
    assert samples.check_group_sizes(samples.groups, 2).sum() == 30
    for size, n_left in ((1, 70), (41, 0)):
        with pytest.raises(ValueError, match=rf"min_group_size such that 1 to 30 .* {n_left} are"):
            samples.check_group_sizes(samples.groups, size)
    both = np.column_stack((age, age % 2)).astype(float)
    samples, _ = check_fit(both, None, X=np.zeros((len(age), 1)))
    each = samples.groups.single_attribute_groups()
    assert samples.check_group_sizes(each, 2).sum() == 32
    with pytest.raises(ValueError, match="Attribute 0 of sensitive_features has 70"):
        samples.check_group_sizes(each, 1)


@pytest.mark.parametrize(
    ("sizes", "compared"),
    [
        ([25, 25], [True, True]),  # a small study
        ([29, 2900], [False, True]),
        ([30, 5000], [True, True]),
        ([29, 2871], [True, True]),  # just 1 %
        ([29, 2872], [False, True]),
    ],
)
def test_groups_below_30_samples_and_1_percent_are_small(sizes, compared):
    groups = check_groups(np.repeat(["a", "b"], sizes), sum(sizes))
    samples = Samples(None, groups, np.full(sum(sizes), 0.1), min_group_size="auto")
    assert samples.is_large(groups).tolist() == compared
    # One sample may stand for many.
    representatives = check_groups(["a", "b"], 2).copy_with_multiplicity(np.array(sizes))
    small = Samples(None, representatives, np.ones(2), min_group_size="auto")
    assert small.is_large(small.groups).tolist() == compared
    assert small.is_large(small.groups, 1).all()


def test_small_groups_are_merged_into_the_largest():
    groups = check_groups(list("abbbccd"), 7)
    samples = Samples(None, groups, np.ones(7), min_group_size=2)
    merged, positions = samples.merge_small_groups()
    assert merged.names == ["b", "c"] and positions.tolist() == [0, 0, 1, 0]
    assert merged.codes.tolist() == [0, 0, 0, 0, 1, 1, 0]
    same, positions = samples._replace(min_group_size=5).merge_small_groups()
    assert same is groups and positions.tolist() == [0, 1, 2, 3]


def test_many_tiny_groups_are_counted():
    groups = np.r_[np.repeat(np.arange(150), 3), np.repeat(1000, 500)]
    with pytest.warns(UserWarning, match="150 of 151 groups have fewer than 5 members"):
        check_fit(groups, None, X=np.zeros((950, 1)))
    check_fit(np.repeat(np.arange(150), 5), None, X=np.zeros((750, 1)))  # no warning


def test_many_overlapping_groups_are_no_ids():
    membership = sparse.csr_array(np.tril(np.ones((150, 150), dtype=bool)))
    samples, _ = check_fit(membership, None, overlapping=True, X=np.zeros((150, 1)))
    assert len(samples.groups.names) == 150


def test_labels_that_differ_in_case_or_spaces_alone_are_named_once():
    labels = ["Female", "female ", "MALE", "Male", "other", "an other"]
    sexes = pd.DataFrame({"sex": labels * 20, "age": ["young", "old"] * 60})
    expected = (
        r"attribute 'sex' .* different groups: 'Female' and 'female ', 'MALE' and 'Male'\. If"
    )
    for check in (check_fit, check_metric_input):
        with pytest.warns(UserWarning, match=expected) as caught:
            check(sexes, None, X=np.zeros(120))
        assert len(caught) == 1
        check(sexes["age"], None, X=np.zeros(120))  # no warning
        check(np.arange(120) % 3, None, X=np.zeros(120))
