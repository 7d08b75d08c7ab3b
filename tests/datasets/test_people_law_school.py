import warnings

import pytest

from skfair.datasets import fetch_law_school

FILE = "law_school/law_school_clean.csv"

SMALL = """\
decile1b,decile3,lsat,ugpa,zfygpa,zgpa,fulltime,fam_inc,male,tier,race,pass_bar
10.0,10.0,44.0,3.5,1.33,1.88,1.0,5.0,0.0,4.0,White,1.0
5.0,4.0,29.0,3.5,-0.11,-0.57,1.0,4.0,1.0,2.0,Non-White,0.0
"""


@pytest.fixture
def small(replace_file):
    replace_file("law_school/law_school_clean.csv", SMALL)


def test_file_is_parsed(small):
    law = fetch_law_school()
    assert law.data.shape == (2, 11)
    assert law.target.tolist() == [1, 0]
    assert law.data["lsat"].tolist() == [44, 29]
    assert law.sensitive_features.tolist() == ["White", "Non-White"]
    assert law.categories == {"race": ["Non-White", "White"], "sex": ["female", "male"]}


def test_sex(small):
    law = fetch_law_school(sensitive=["sex", "race"], drop_sensitive=True)
    assert law.sensitive_features.to_numpy().tolist() == [
        ["female", "White"],
        ["male", "Non-White"],
    ]
    assert not {"sex", "male", "race"} & set(law.feature_names)
    assert law.categories == {}


def test_arrays(small):
    X, y = fetch_law_school(as_frame=False, return_X_y=True)
    assert X.dtype == float
    assert X[:, -3:].tolist() == [[0, 4, 1], [1, 2, 0]]  # sex, tier, race
    assert y.tolist() == [1, 0]


def test_unknown_sensitive(small):
    with pytest.raises(ValueError, match="'race'.*got 'male'"):
        fetch_law_school(sensitive="male")


@pytest.mark.parametrize(
    ("sensitive", "counts", "passed"),
    [
        ("race", {"White": 17491, "Non-White": 3307}, {"White": 0.9213, "Non-White": 0.7230}),
        ("sex", {"male": 11675, "female": 9123}, {"male": 0.8990, "female": 0.8779}),
    ],
)
def test_real_counts(real_data, sensitive, counts, passed):
    real_data(FILE)
    law = fetch_law_school(sensitive=sensitive)
    assert not law.frame.isna().any(axis=None)
    assert law.target.mean() == pytest.approx(0.8897, abs=5e-5)
    assert law.sensitive_features.value_counts().to_dict() == counts
    for group, rate in passed.items():
        assert law.target[law.sensitive_features == group].mean() == pytest.approx(rate, abs=5e-5)


def test_real_example(real_data, run_example):
    real_data(FILE)
    with warnings.catch_warnings(action="error"):
        run_example(fetch_law_school)
