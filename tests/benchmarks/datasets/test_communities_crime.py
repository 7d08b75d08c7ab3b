import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils import shuffle

from benchmarks.datasets import BENCHMARKS, communities_crime_groups, load_benchmark
from skfair._utils.copies import describe_clustered_samples

FILES = ("communities_crime/communities.data", "communities_crime/communities.names")

NAMES = """\
A line about @attribute that is none.
@attribute state numeric
@attribute county numeric
@attribute community numeric
@attribute communityname string
@attribute fold numeric
@attribute racepctblack numeric
@attribute racePctHisp numeric
@attribute racePctAsian numeric
@attribute racePctWhite numeric
@attribute PolicPerPop numeric
@attribute ViolentCrimesPerPop numeric
"""
TABLE = (
    "8,?,?,Lakewoodcity,1,0.02,0.17,0.12,0.9,0.06,0.2\r\n"
    "53,?,?,Tukwilacity,1,0.12,0.07,0.45,0.74,?,0.67\r\n"
    "24,5,7,Aberdeentown,1,0.49,0.04,0.17,0.56,?,0.43\r\n"
)


@pytest.fixture
def small(replace_file):
    replace_file("communities_crime/communities.names", NAMES)
    replace_file("communities_crime/communities.data", TABLE)


def test_files_are_parsed(small):
    crime = load_benchmark("communities_crime")
    assert crime.feature_names == ["racepctblack", "racePctHisp", "racePctAsian", "racePctWhite"]
    assert crime.target.tolist() == [0.2, 0.67, 0.43]
    assert crime.target.name == "ViolentCrimesPerPop"
    assert crime.sensitive_features.tolist() == ["up to median", "up to median", "above median"]


def test_missing_values_are_kept_on_request(small):
    crime = load_benchmark("communities_crime", missing="keep")
    assert crime.feature_names[-1] == "PolicPerPop"
    np.testing.assert_array_equal(crime.data["PolicPerPop"], [0.06, np.nan, np.nan])


def test_threshold_makes_two_classes(small):
    crime = load_benchmark("communities_crime", threshold=0.43)
    assert crime.target.tolist() == [0, 1, 0]
    assert crime.frame["ViolentCrimesPerPop"].tolist() == [0, 1, 0]
    assert load_benchmark("communities_crime", threshold=0).target.tolist() == [1, 1, 1]


def test_several_shares(small):
    crime = load_benchmark(
        "communities_crime", sensitive=["racePctHisp", "racePctWhite"], drop_sensitive=True
    )
    assert crime.sensitive_features.to_numpy().tolist() == [
        ["above median", "above median"],
        ["up to median", "up to median"],
        ["up to median", "up to median"],
    ]
    assert crime.feature_names == ["racepctblack", "racePctAsian"]


def test_arrays(small):
    X, y = load_benchmark("communities_crime", as_frame=False, return_X_y=True)
    assert X.tolist() == [
        [0.02, 0.17, 0.12, 0.9],
        [0.12, 0.07, 0.45, 0.74],
        [0.49, 0.04, 0.17, 0.56],
    ]
    assert y.tolist() == [0.2, 0.67, 0.43]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"missing": "impute"}, "missing must be one of 'drop', 'keep'; got 'impute'"),
        ({"sensitive": "state"}, "'racepctblack', .*got 'state'"),
    ],
)
def test_bad_options(small, options, message):
    with pytest.raises(ValueError, match=message):
        load_benchmark("communities_crime", **options)


def test_overlapping_groups_by_hand(small):
    membership, names = communities_crime_groups()
    groups = dict(zip(names, membership.toarray().T.tolist(), strict=True))
    # Each share has three values, hence the conditions "two or three of them" and "the largest".
    assert groups == {
        "racePctAsian >= 0.17": [False, True, True],
        "racePctAsian >= 0.45": [False, True, False],
        "racePctHisp >= 0.07": [True, True, False],
        "racePctHisp >= 0.17": [True, False, False],
        "racepctblack >= 0.49": [False, False, True],
    }


def test_real_counts(real_data):
    real_data(*FILES)
    crime = load_benchmark("communities_crime")
    assert crime.data.shape == (1994, 99)
    assert crime.target.mean() == pytest.approx(0.238, abs=5e-4)
    assert crime.target.median() == 0.15
    assert crime.sensitive_features.value_counts()["above median"] == 970
    assert load_benchmark("communities_crime", threshold=0.15).target.mean() == pytest.approx(
        0.4980, abs=5e-5
    )
    above_mean = load_benchmark("communities_crime", threshold=crime.target.mean()).target
    assert above_mean.mean() == pytest.approx(0.3551, abs=5e-5)


def test_real_missing_values(real_data):
    real_data(*FILES)
    crime = load_benchmark("communities_crime", missing="keep")
    assert crime.data.shape == (1994, 122)
    missing = crime.data.isna().sum()
    assert missing[missing > 0].value_counts().to_dict() == {1675: 22, 1: 1}
    assert missing["OtherPerCap"] == 1


def test_real_overlapping_groups(real_data):
    real_data(*FILES)
    membership, names = communities_crime_groups()
    assert isinstance(membership, sparse.csr_array)
    assert membership.dtype == bool
    assert membership.shape == (1994, 704)
    assert len(set(names)) == 704
    sizes = membership.sum(axis=0)
    assert sizes.min() > 0.01 * 1994
    assert sizes.max() < 1994
    assert len(np.unique(membership.toarray(), axis=1).T) == 704
    data = load_benchmark("communities_crime").data
    for group in (0, 350, 703):  # the name gives the conditions
        expected = data.eval(names[group].replace("&", "and"))
        np.testing.assert_array_equal(membership[:, [group]].toarray().ravel(), expected)


def test_real_samples_are_not_described_as_clustered(real_data):
    real_data(*FILES)
    X = load_benchmark("communities_crime").data
    assert describe_clustered_samples(X) is None
    assert describe_clustered_samples(shuffle(X, random_state=0)) is None


@pytest.mark.parametrize("function", [BENCHMARKS["communities_crime"], communities_crime_groups])
def test_real_example(real_data, run_example, function):
    real_data(*FILES)
    with warnings.catch_warnings(action="error"):
        run_example(function)
