import warnings

import pytest

from benchmarks.datasets import BENCHMARKS, load_benchmark

FILE = "4area/4area.csv"

SMALL = "color,1,2,3,4,5,6,7,8\n0,-0.5,1,2,3,4,5,6,7.25\n3,8,9,10,11,12,13,14,15\n"


@pytest.fixture
def small(replace_file):
    replace_file("4area/4area.csv", SMALL)


def test_file_is_parsed(small):
    researchers = load_benchmark("four_area")
    assert researchers.feature_names == ["1", "2", "3", "4", "5", "6", "7", "8"]
    assert researchers.data["8"].tolist() == [7.25, 15]
    assert researchers.target.tolist() == [0, 3]
    assert researchers.sensitive_features.tolist() == [0, 3]
    assert list(researchers.frame)[-1] == "area"


def test_arrays(small):
    X, y = load_benchmark("four_area", as_frame=False, return_X_y=True)
    assert X[0].tolist() == [-0.5, 1, 2, 3, 4, 5, 6, 7.25]
    assert y.tolist() == [0, 3]


def test_real_example_counts_researchers(real_data, run_example):
    real_data(FILE)
    with warnings.catch_warnings(action="error"):
        run_example(BENCHMARKS["four_area"])
