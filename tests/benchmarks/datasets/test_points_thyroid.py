import warnings

import pytest

from benchmarks.datasets import BENCHMARKS, load_benchmark

FILES = ("thyroid/ann-train.data", "thyroid/ann-test.data")

TRAIN = "0.73,0,1,0,0,0,0,0,1,0,0,0,0,0,0,0,0.0006,0.015,0.12,0.082,0.146,3\n"
TEST = "0.29,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0.0061,0.028,0.111,0.131,0.085,2\n"


@pytest.fixture
def small(replace_file):
    replace_file("thyroid/ann-train.data", TRAIN)
    replace_file("thyroid/ann-test.data", TEST)


def test_files_are_parsed(small):
    thyroid = load_benchmark("thyroid")
    assert thyroid.data.shape == (2, 21)
    assert thyroid.data.index.tolist() == [0, 1]
    assert thyroid.data["TSH"].tolist() == [0.0006, 0.0061]
    assert thyroid.data["FTI"].tolist() == [0.146, 0.085]
    assert thyroid.target.tolist() == [3, 2]
    assert thyroid.sensitive_features.tolist() == [3, 2]
    assert thyroid.categories == {}


def test_sex(small):
    thyroid = load_benchmark("thyroid", sensitive="sex", drop_sensitive=True)
    assert thyroid.sensitive_features.tolist() == [0, 1]
    assert thyroid.data.shape == (2, 20)
    assert load_benchmark("thyroid", sensitive="class", drop_sensitive=True).data.shape == (2, 21)


def test_arrays(small):
    X, y = load_benchmark("thyroid", as_frame=False, return_X_y=True)
    assert X[:, 0].tolist() == [0.73, 0.29]
    assert y.tolist() == [3, 2]


def test_unknown_sensitive(small):
    with pytest.raises(ValueError, match="'sex', 'class'.*got 'age'"):
        load_benchmark("thyroid", sensitive="age")


def test_real_counts(real_data):
    real_data(*FILES)
    thyroid = load_benchmark("thyroid", sensitive=["class", "sex"])
    assert thyroid.data.shape == (7200, 21)
    assert thyroid.target.value_counts().to_dict() == {3: 6666, 2: 368, 1: 166}
    sex = thyroid.sensitive_features["sex"]
    assert sex.value_counts().to_dict() == {0: 5009, 1: 2191}
    for code, normal in [(0, 0.9163), (1, 0.9475)]:
        assert (thyroid.target[sex == code] == 3).mean() == pytest.approx(normal, abs=1e-4)
    assert thyroid.frame.duplicated().sum() == 71


def test_real_example(real_data, run_example):
    real_data(*FILES)
    with warnings.catch_warnings(action="error"):
        run_example(BENCHMARKS["thyroid"])
