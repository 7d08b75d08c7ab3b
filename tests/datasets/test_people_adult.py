import warnings

import numpy as np
import pytest

from skfair.datasets import fetch_adult
from skfair.datasets._people import CLUSTERING_COLUMNS

FILES = ("adult/adult.data", "adult/adult.test")

TRAIN = """\
39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, \
2174, 0, 40, United-States, <=50K
28, ?, 338409, Bachelors, 13, Married-civ-spouse, ?, Wife, Black, Female, 0, 0, 40, ?, >50K

"""
TEST = """\
|1x3 Cross validator
25, Private, 226802, 11th, 7, Never-married, Sales, Own-child, Black, Male, 0, 0, 40, \
United-States, >50K.

"""


@pytest.fixture
def small(replace_file):
    replace_file("adult/adult.data", TRAIN)
    replace_file("adult/adult.test", TEST)


def test_files_are_parsed(small):
    adult = fetch_adult(subset="all")
    assert adult.data.shape == (3, 14)
    assert adult.feature_names == list(adult.data)
    assert adult.target.tolist() == ["<=50K", ">50K", ">50K"]
    assert adult.sensitive_features.tolist() == ["Male", "Female", "Male"]
    assert adult.data["age"].tolist() == [39, 28, 25]
    missing = adult.data.isna()
    assert missing.sum().sum() == 3
    assert missing.loc[1, ["workclass", "occupation", "native-country"]].all()
    assert list(adult.frame) == [*adult.feature_names, "income"]


@pytest.mark.parametrize(("subset", "n_samples"), [("train", 2), ("test", 1), ("all", 3)])
def test_subsets_share_categories_and_number_their_rows(small, subset, n_samples):
    adult = fetch_adult(subset=subset)
    for rows in (adult.data, adult.target, adult.sensitive_features, adult.frame):
        assert rows.index.tolist() == list(range(n_samples))
    assert adult.data["workclass"].cat.categories.tolist() == ["Private", "State-gov"]
    assert adult.categories["education"] == ["11th", "Bachelors"]


def test_arrays_hold_codes_and_nan(small):
    adult = fetch_adult(subset="all", as_frame=False)
    assert adult.frame is None
    assert adult.data.dtype == np.float64
    column = dict(zip(adult.feature_names, adult.data.T, strict=True))
    np.testing.assert_array_equal(column["workclass"], [1, np.nan, 0])
    np.testing.assert_array_equal(column["capital-gain"], [2174, 0, 0])
    assert adult.categories["workclass"] == ["Private", "State-gov"]
    assert adult.target.tolist() == ["<=50K", ">50K", ">50K"]
    assert adult.sensitive_features.tolist() == ["Male", "Female", "Male"]


def test_return_X_y(small):
    X, y = fetch_adult(return_X_y=True)
    bunch = fetch_adult()
    assert X.equals(bunch.data)
    assert y.equals(bunch.target)


def test_several_sensitive_columns(small):
    adult = fetch_adult(sensitive=["race", "sex"], drop_sensitive=True)
    assert adult.sensitive_features.to_numpy().tolist() == [["White", "Male"], ["Black", "Female"]]
    assert adult.data.shape == (2, 12)
    assert not {"race", "sex"} & set(adult.data)


def test_clustering_columns(small):
    adult = fetch_adult(columns="clustering", drop_sensitive=True)
    assert adult.feature_names == CLUSTERING_COLUMNS
    assert adult.sensitive_features.tolist() == ["Male", "Female"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"subset": "valid"}, "subset must be one of 'train', 'test', 'all'; got 'valid'"),
        ({"columns": ["age"]}, r"columns must be one of 'all', 'clustering'; got \['age'\]"),
        ({"sensitive": "gender"}, "'race', 'sex'.*got 'gender'"),
        ({"sensitive": "age"}, "intervals.*sensitive_features"),
        ({"sensitive": "income"}, "got 'income'"),
        ({"sensitive": ["sex", "gender"]}, "got .*'gender'"),
        ({"sensitive": []}, r"got \[\]"),
        ({"sensitive": None}, "got None"),
    ],
)
def test_bad_options(small, options, message):
    with pytest.raises(ValueError, match=message):
        fetch_adult(**options)


def test_no_copy_and_no_network(tmp_path, monkeypatch):
    monkeypatch.delenv("SKFAIR_DATA", raising=False)
    with pytest.raises(OSError, match="adult.data"):
        fetch_adult(data_home=tmp_path, download_if_missing=False)


@pytest.mark.parametrize(
    ("subset", "sex", "rich"),
    [
        ("train", {"Male": 21790, "Female": 10771}, 0.2408),
        ("test", {"Male": 10860, "Female": 5421}, 0.2362),
        ("all", {"Male": 32650, "Female": 16192}, 0.2393),
    ],
)
def test_real_counts(real_data, subset, sex, rich):
    real_data(*FILES)
    adult = fetch_adult(subset=subset)
    assert adult.sensitive_features.value_counts().to_dict() == sex
    assert set(adult.target) == {"<=50K", ">50K"}
    assert (adult.target == ">50K").mean() == pytest.approx(rich, abs=5e-5)


def test_real_races_and_missing_values(real_data):
    real_data(*FILES)
    adult = fetch_adult(subset="all", sensitive="race")
    assert adult.sensitive_features.value_counts().to_dict() == {
        "White": 41762,
        "Black": 4685,
        "Asian-Pac-Islander": 1519,
        "Amer-Indian-Eskimo": 470,
        "Other": 406,
    }
    assert len(adult.frame.dropna()) == 45222
    assert (fetch_adult().data.isna().any(axis=1).mean()) == pytest.approx(0.0737, abs=5e-5)
    assert fetch_adult().frame.duplicated().sum() == 24


def test_real_clustering_columns_equal_the_published_matrix(real_data):
    folder = real_data(*FILES, "safairkm/Adult.npz")
    adult = fetch_adult(columns="clustering")
    with np.load(folder / "safairkm" / "Adult.npz") as published:
        np.testing.assert_array_equal(adult.data, published["X_org"])
        np.testing.assert_array_equal(adult.sensitive_features == "Female", published["demograph"])


def test_real_example(real_data, run_example):
    real_data(*FILES)
    with warnings.catch_warnings(action="error"):
        run_example(fetch_adult)
