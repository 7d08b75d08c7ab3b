import warnings

import numpy as np
import pytest

from benchmarks.datasets import BENCHMARKS, load_benchmark
from benchmarks.datasets.adult import A9A_ENCODING
from skfair.datasets import fetch_adult

FILES = ("adult/adult.data", "adult/adult.test")

TRAIN = """\
39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, \
2174, 0, 40, United-States, <=50K
28, ?, 338409, Bachelors, 13, Married-civ-spouse, ?, Wife, Black, Female, 0, 0, 34, ?, >50K
"""
TEST = """\
|1x3 Cross validator
26, Private, 106648, 11th, 7, Never-married, Sales, Own-child, Black, Male, 0, 1, 48, \
Holand-Netherlands, >50K.
"""


@pytest.fixture
def small(replace_file):
    replace_file("adult/adult.data", TRAIN)
    replace_file("adult/adult.test", TEST)


def ones(bunch, row):
    return [bunch.feature_names[j] for j in bunch.data[[row]].nonzero()[1]]


def test_a_full_row_has_one_feature_per_column(small):
    assert ones(load_benchmark("a9a"), 0) == [
        "33<=age<41",
        "workclass=State-gov",
        "fnlwgt<106648",
        "education=Bachelors",
        "education-num>=13",
        "marital-status=Never-married",
        "occupation=Adm-clerical",
        "relationship=Not-in-family",
        "race=White",
        "sex=Male",
        "capital-gain>=1",
        "capital-loss<1",
        "40<=hours-per-week<41",
        "native-country=United-States",
    ]


def test_a_missing_category_sets_no_feature(small):
    features = [name.split("=")[0] for name in ones(load_benchmark("a9a"), 1)]
    assert len(features) == 11
    assert not {"workclass", "occupation", "native-country"} & set(features)


def test_intervals_begin_at_their_lower_ends(small):
    test = load_benchmark("a9a", subset="test")
    assert {"26<=age<33", "106648<=fnlwgt<158662", "capital-loss>=1", "hours-per-week>=48"} < set(
        ones(test, 0)
    )
    assert test.data[0, 122] == 1  # the last category of the last column


def test_shape_labels_and_groups(small):
    a9a = load_benchmark("a9a", subset="all", sensitive=["race", "sex"])
    assert a9a.data.shape == (3, 123)
    assert a9a.data.dtype == np.float64
    assert a9a.data.indices.dtype == np.int32
    assert a9a.data.has_canonical_format
    assert len(set(a9a.feature_names)) == 123
    assert a9a.feature_names[71:73] == ["sex=Female", "sex=Male"]
    assert a9a.target.tolist() == ["<=50K", ">50K", ">50K"]
    assert a9a.sensitive_features.tolist()[:2] == [["White", "Male"], ["Black", "Female"]]


def test_sensitive_features_can_be_left_out(small):
    a9a = load_benchmark("a9a", drop_sensitive=True)
    assert a9a.data.shape == (2, 121)
    assert len(a9a.feature_names) == 121
    assert "sex=Male" not in a9a.feature_names
    assert a9a.sensitive_features.tolist() == ["Male", "Female"]


def test_return_X_y(small):
    X, y = load_benchmark("a9a", return_X_y=True)
    bunch = load_benchmark("a9a")
    np.testing.assert_array_equal(X.toarray(), bunch.data.toarray())
    np.testing.assert_array_equal(y, bunch.target)


def test_bad_subset(small):
    with pytest.raises(ValueError, match="'train', 'test', 'all'"):
        load_benchmark("a9a", subset="valid")


@pytest.mark.parametrize(("subset", "file"), [("train", "a9a"), ("test", "a9a.t")])
def test_real_matrix_equals_the_published_one(real_data, subset, file):
    folder = real_data(*FILES, f"a9a/{file}")
    a9a = load_benchmark("a9a", subset=subset)
    lines = [line.split() for line in (folder / "a9a" / file).read_text().splitlines()]
    indices = [int(entry.removesuffix(":1")) - 1 for line in lines for entry in line[1:]]
    np.testing.assert_array_equal(a9a.data.indices, indices)
    np.testing.assert_array_equal(np.diff(a9a.data.indptr), [len(line) - 1 for line in lines])
    assert np.all(a9a.data.data == 1)
    np.testing.assert_array_equal(a9a.target == ">50K", [line[0] == "+1" for line in lines])


def test_real_categories_are_all_encoded(real_data):
    real_data(*FILES)
    adult = fetch_adult(subset="all")
    for name, categories in adult.categories.items():
        assert set(categories) == set(A9A_ENCODING[name])


def test_real_example(real_data, run_example):
    real_data(*FILES)
    with warnings.catch_warnings(action="error"):
        run_example(BENCHMARKS["a9a"])
