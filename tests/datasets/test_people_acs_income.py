import warnings

import numpy as np
import pytest

from skfair.datasets import fetch_acs_income

FILE = "acs_income/OK_0.csv"

SMALL = """\
AGEP,COW,SCHL,MAR,OCCP,POBP,RELP,WKHP,SEX,RAC1P,PINCP
37.0,2.0,16.0,2.0,2014.0,40.0,2.0,40.0,2.0,4.0,False
39.0,1.0,19.0,2.0,4760.0,40.0,13.0,33.0,2.0,1.0,False
50.0,1.0,21.0,1.0,10.0,303.0,0.0,60.0,1.0,5.0,True
"""


@pytest.fixture
def small(replace_file):
    replace_file("acs_income/OK_0.csv", SMALL)


def test_file_is_parsed(small):
    acs = fetch_acs_income()
    assert acs.data.shape == (3, 10)
    assert acs.target.tolist() == [0, 0, 1]
    assert acs.data["AGEP"].tolist() == [37, 39, 50]
    assert acs.categories["OCCP"] == [10, 2014, 4760]
    assert set(acs.categories) == {"COW", "MAR", "OCCP", "POBP", "RELP", "SEX", "RAC1P"}
    assert list(acs.frame) == [*acs.feature_names, "PINCP"]


@pytest.mark.parametrize(
    ("sensitive", "groups", "dropped"),
    [
        ("race", ["Non-White", "White", "Non-White"], {"RAC1P"}),
        ("race5", ["American Indian or Alaska Native", "White", "Other"], {"RAC1P"}),
        ("sex", ["Female", "Female", "Male"], {"SEX"}),
        (
            ["sex", "race"],
            [["Female", "Non-White"], ["Female", "White"], ["Male", "Non-White"]],
            {"SEX", "RAC1P"},
        ),
        (
            ["race", "race5"],
            [
                ["Non-White", "American Indian or Alaska Native"],
                ["White", "White"],
                ["Non-White", "Other"],
            ],
            {"RAC1P"},
        ),
    ],
)
def test_groups(small, sensitive, groups, dropped):
    acs = fetch_acs_income(sensitive=sensitive, drop_sensitive=True)
    assert acs.sensitive_features.to_numpy().tolist() == groups
    remaining = fetch_acs_income(sensitive=sensitive).feature_names
    assert set(remaining) - set(acs.feature_names) == dropped


def test_arrays(small):
    acs = fetch_acs_income(as_frame=False)
    np.testing.assert_array_equal(acs.data[:, acs.feature_names.index("OCCP")], [1, 2, 0])
    assert acs.sensitive_features.tolist() == ["Non-White", "White", "Non-White"]
    X, y = fetch_acs_income(as_frame=False, return_X_y=True)
    np.testing.assert_array_equal(X, acs.data)
    np.testing.assert_array_equal(y, acs.target)


def test_unknown_sensitive(small):
    with pytest.raises(ValueError, match="'race', 'race5', 'sex'.*got 'RAC1P'"):
        fetch_acs_income(sensitive="RAC1P")


@pytest.mark.parametrize(
    ("sensitive", "counts", "positive"),
    [
        ("race", {"White": 13350, "Non-White": 4567}, {"White": 0.3079}),
        (
            "race5",
            {
                "White": 13350,
                "Black": 965,
                "Asian": 318,
                "American Indian or Alaska Native": 1598,
                "Other": 1686,
            },
            {"Black": 0.1803, "Asian": 0.2956, "Other": 0.1886},
        ),
        ("sex", {"Male": 9482, "Female": 8435}, {"Male": 0.3734, "Female": 0.1800}),
    ],
)
def test_real_counts(real_data, sensitive, counts, positive):
    real_data(FILE)
    acs = fetch_acs_income(sensitive=sensitive)
    assert acs.data.shape == (17917, 10)
    assert acs.target.mean() == pytest.approx(0.2824, abs=5e-5)
    assert acs.sensitive_features.value_counts().to_dict() == counts
    for group, rate in positive.items():
        assert acs.target[acs.sensitive_features == group].mean() == pytest.approx(rate, abs=5e-5)


def test_real_duplicates(real_data):
    real_data(FILE)
    frame = fetch_acs_income().frame
    assert frame.duplicated().sum() == 433
    assert not frame.isna().any(axis=None)


def test_real_example(real_data, run_example):
    real_data(FILE)
    with warnings.catch_warnings(action="error"):
        run_example(fetch_acs_income)
