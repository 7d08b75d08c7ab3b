import warnings

import numpy as np
import pytest

from skfair.datasets import fetch_bank_marketing

FILE = "bank/bank-additional-full.csv"

SMALL = """\
"age";"job";"marital";"education";"default";"housing";"loan";"contact";"month";"day_of_week";\
"duration";"campaign";"pdays";"previous";"poutcome";"emp.var.rate";"cons.price.idx";\
"cons.conf.idx";"euribor3m";"nr.employed";"y"
24;"admin.";"single";"basic.4y";"no";"no";"no";"telephone";"may";"mon";261;1;999;0;"nonexistent";\
1.1;93.994;-36.4;4.857;5191;"no"
25;"housemaid";"married";"unknown";"no";"no";"no";"cellular";"may";"tue";149;2;3;1;"success";\
1.1;93.994;-36.4;4.857;5191.5;"yes"
60;"student";"unknown";"basic.4y";"no";"no";"no";"telephone";"jun";"mon";50;1;999;0;"nonexistent";\
1.1;93.994;-36.4;4.857;5191;"no"
61;"admin.";"divorced";"basic.4y";"no";"no";"no";"telephone";"jul";"fri";10;1;999;0;"nonexistent";\
-3.4;93.994;-36.4;0.1;5191;"no"
"""


@pytest.fixture
def small(replace_file):
    replace_file("bank/bank-additional-full.csv", SMALL)


def test_file_is_parsed(small):
    bank = fetch_bank_marketing()
    assert bank.data.shape == (4, 19)
    assert "duration" not in bank.feature_names
    assert bank.target.tolist() == ["no", "yes", "no", "no"]
    assert bank.sensitive_features.tolist() == ["single", "married", "unknown", "divorced"]
    assert bank.data["euribor3m"].tolist() == [4.857, 4.857, 4.857, 0.1]
    assert bank.categories["poutcome"] == ["nonexistent", "success"]
    assert list(bank.frame) == [*bank.feature_names, "y"]
    assert not bank.frame.isna().any(axis=None)


def test_duration_on_request(small):
    bank = fetch_bank_marketing(columns="all")
    assert bank.data["duration"].tolist() == [261, 149, 50, 10]


def test_age_bands_include_both_ends(small):
    bank = fetch_bank_marketing(sensitive="age")
    assert bank.sensitive_features.tolist() == ["other", "25-60", "25-60", "other"]
    assert bank.data["age"].tolist() == [24, 25, 60, 61]
    assert "age" not in fetch_bank_marketing(sensitive="age", drop_sensitive=True).data


def test_several_sensitive_columns(small):
    bank = fetch_bank_marketing(sensitive=["marital", "age"], drop_sensitive=True)
    assert bank.sensitive_features.to_numpy()[0].tolist() == ["single", "other"]
    assert bank.data.shape == (4, 17)


def test_clustering_columns(small):
    bank = fetch_bank_marketing(columns="clustering")
    columns = ["age", "duration", "euribor3m", "nr.employed", "cons.price.idx", "campaign"]
    assert bank.feature_names == columns
    assert bank.categories == {}


def test_arrays(small):
    bank = fetch_bank_marketing(as_frame=False, sensitive="age")
    assert bank.data.dtype == np.float64
    assert bank.frame is None
    column = dict(zip(bank.feature_names, bank.data.T, strict=True))
    assert [bank.categories["month"][int(code)] for code in column["month"]] == [
        "may",
        "may",
        "jun",
        "jul",
    ]
    X, y = fetch_bank_marketing(as_frame=False, return_X_y=True)
    np.testing.assert_array_equal(X, bank.data)
    np.testing.assert_array_equal(y, bank.target)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"columns": "numeric"},
            "columns must be one of 'default', 'all', 'clustering'; got 'numeric'",
        ),
        ({"sensitive": "sex"}, "'age'.*'marital'.*got 'sex'"),
    ],
)
def test_bad_options(small, options, message):
    with pytest.raises(ValueError, match=message):
        fetch_bank_marketing(**options)


@pytest.mark.slow
def test_real_counts(real_data):
    real_data(FILE)
    bank = fetch_bank_marketing(sensitive=["marital", "age"])
    assert bank.data.shape == (41188, 19)
    yes = bank.target == "yes"
    assert yes.mean() == pytest.approx(0.1127, abs=5e-5)
    bands = bank.sensitive_features["age"]
    assert bands.value_counts().to_dict() == {"25-60": 39210, "other": 1978}
    assert yes[bands == "25-60"].mean() == pytest.approx(0.1012, abs=5e-5)
    assert yes[bands == "other"].mean() == pytest.approx(0.3387, abs=5e-5)
    assert bank.sensitive_features["marital"].value_counts()["unknown"] == 80
    assert (bank.frame == "unknown").any(axis=1).sum() == 10700
    assert fetch_bank_marketing(columns="all").frame.duplicated().sum() == 12


def test_real_clustering_columns_equal_the_published_matrix(real_data):
    folder = real_data(FILE, "safairkm/Bank.npz")
    bank = fetch_bank_marketing(columns="clustering")
    is_known = bank.sensitive_features != "unknown"
    data = bank.data[is_known]
    groups = bank.sensitive_features[is_known]
    # the published rows are sorted by group, in file order within each
    codes = groups.map({"divorced": 0, "single": 1, "married": 2}).astype(int)
    order = np.argsort(codes, kind="stable")
    with np.load(folder / "safairkm" / "Bank.npz") as published:
        np.testing.assert_array_equal(codes.iloc[order], published["demograph"])
        np.testing.assert_allclose(data.iloc[order], published["X_org"], rtol=0, atol=2e-12)


def test_real_example(real_data, run_example):
    real_data(FILE)
    with warnings.catch_warnings(action="error"):
        run_example(fetch_bank_marketing)
