import warnings

import pandas as pd
import pytest

from benchmarks.datasets import BENCHMARKS, load_benchmark

FILE = "synthetic2d/DS-577.arff"

SMALL = """\
% A comment with “quotes”
@RELATION DS-577

@ATTRIBUTE x REAL
@ATTRIBUTE class {1,2,3}

@DATA
4.5,3.9,1
3.2,3.0,2
2.3,3.2,1
0.1,0.2,1
0.3,0.4,1
"""


@pytest.fixture
def small(replace_file):
    replace_file("synthetic2d/DS-577.arff", SMALL)


def test_file_is_parsed_and_groups_are_dealt_within_clusters(small):
    points = load_benchmark("ds577")
    assert points.feature_names == ["x", "y"]
    assert points.data["x"].tolist() == [4.5, 3.2, 2.3, 0.1, 0.3]
    assert points.target.tolist() == [1, 2, 1, 1, 1]
    assert points.sensitive_features.tolist() == [0, 0, 1, 2, 0]


def test_arrays(small):
    X, y = load_benchmark("ds577", as_frame=False, return_X_y=True)
    assert X[0].tolist() == [4.5, 3.9]
    assert y.tolist() == [1, 2, 1, 1, 1]


def test_real_clusters_are_fair(real_data):
    real_data(FILE)
    points = load_benchmark("ds577")
    counts = pd.crosstab(points.target, points.sensitive_features)
    assert counts.to_numpy().tolist() == [[66, 65, 65], [67, 67, 67], [60, 60, 60]]


def test_real_example(real_data, run_example):
    real_data(FILE)
    with warnings.catch_warnings(action="error"):
        run_example(BENCHMARKS["ds577"])
