import dataclasses
import hashlib
import io
import warnings

import pytest

from skfair.datasets import _fetch, fetch_compas
from skfair.datasets._fetch import PERSONAL_COLUMNS, SOURCES, drop_personal_columns

FILE = "compas/compas-scores-two-years-anonymous.csv"

# Invented rows in the layout of the public file, with its line ends and its quotes.
PUBLIC = (
    "id,name,first,last,sex,dob,age,race,juv_fel_count,juv_misd_count,juv_other_count,"
    "priors_count,days_b_screening_arrest,c_case_number,c_charge_degree,c_charge_desc,is_recid,"
    "r_case_number,vr_case_number,decile_score,score_text,priors_count,two_year_recid\r\n"
    '1,ann doe,ann,doe,Female,1990-01-01,23,Asian,0,0,1,2,-1,13A,M,"Poss 3,4",1,14B,15C,3,Low,2,1'
    "\r\n"
    "2,bob roe,bob,roe,Male,1980-01-01,33,Other,0,0,0,0,-30,13D,F,Arson,0,,,1,Low,0,0\r\n"
    "3,cy poe,cy,poe,Male,1970-01-01,43,Other,0,0,0,0,31,13E,F,Arson,0,,,1,Low,0,0\r\n"
    "4,di moe,di,moe,Female,1970-01-01,43,Other,0,0,0,0,,13F,F,Arson,0,,,1,Low,0,1\r\n"
    "5,ed foe,ed,foe,Male,1970-01-01,43,Other,0,0,0,0,0,13G,F,Arson,-1,,,1,Low,0,0\r\n"
    "6,flo goe,flo,goe,Female,1970-01-01,43,Other,0,0,0,0,0,13H,O,Parking,0,,,1,Low,0,0\r\n"
    "7,gus hoe,gus,hoe,Male,1970-01-01,43,Other,0,0,0,0,0,13I,F,Arson,0,,,-1,N/A,0,0\r\n"
)
ANONYMOUS = drop_personal_columns(PUBLIC.encode())
SECRETS = ["doe", "ann", "1990-01-01", "13A", "14B", "15C"]


def digest(body):
    return hashlib.sha256(body).hexdigest()


@pytest.fixture
def small(replace_file):
    replace_file(FILE, ANONYMOUS.decode())


def test_only_personal_data_are_dropped():
    lines = ANONYMOUS.decode().split("\n")
    assert lines[0] == (
        "id,sex,age,race,juv_fel_count,juv_misd_count,juv_other_count,priors_count,"
        "days_b_screening_arrest,c_charge_degree,c_charge_desc,is_recid,decile_score,score_text,"
        "priors_count,two_year_recid"
    )
    assert lines[1] == '1,Female,23,Asian,0,0,1,2,-1,M,"Poss 3,4",1,3,Low,2,1'
    assert len(lines) == 9
    assert lines[-1] == ""


def test_file_is_parsed_and_filtered(small):
    compas = fetch_compas()
    assert compas.feature_names == [
        *("sex", "age", "race", "juv_fel_count", "juv_misd_count"),
        *("juv_other_count", "priors_count", "c_charge_degree"),
    ]
    assert compas.data["age"].tolist() == [23, 33]
    assert compas.target.tolist() == [1, 0]
    assert compas.sensitive_features.tolist() == ["Asian", "Other"]
    assert compas.categories["c_charge_degree"] == ["F", "M"]
    for rows in (compas.data, compas.target, compas.sensitive_features, compas.frame):
        assert rows.index.tolist() == [0, 1]


def test_filter_can_be_left_out(small):
    compas = fetch_compas(subset="all")
    assert len(compas.data) == 7
    assert compas.categories["c_charge_degree"] == ["F", "M", "O"]


def test_sex(small):
    compas = fetch_compas(sensitive="sex", drop_sensitive=True)
    assert compas.sensitive_features.tolist() == ["Female", "Male"]
    assert "sex" not in compas.feature_names


def test_every_column(small):
    compas = fetch_compas(columns="all")
    assert compas.data.shape == (2, 15)
    assert compas.data["decile_score"].tolist() == [3, 1]
    assert fetch_compas(columns="all", as_frame=False).data.dtype == float


def test_arrays(small):
    X, y = fetch_compas(as_frame=False, return_X_y=True)
    assert X.tolist() == [[0, 23, 0, 0, 0, 1, 2, 1], [1, 33, 1, 0, 0, 0, 0, 0]]
    assert y.tolist() == [1, 0]


def test_a_users_copy_of_the_public_file_is_read_without_names(replace_file):
    replace_file("compas/compas-scores-two-years.csv", PUBLIC)
    compas = fetch_compas(columns="all")
    assert compas.data.shape == (2, 15)
    assert not PERSONAL_COLUMNS & set(compas.feature_names)


def test_a_download_is_saved_without_names(tmp_path, monkeypatch):
    monkeypatch.delenv("SKFAIR_DATA", raising=False)
    remote = dataclasses.replace(
        SOURCES[FILE], sha256=digest(ANONYMOUS), public_sha256=digest(PUBLIC.encode())
    )
    monkeypatch.setitem(SOURCES, FILE, remote)
    monkeypatch.setattr(_fetch, "urlopen", lambda url, timeout: io.BytesIO(PUBLIC.encode()))
    downloaded = fetch_compas(data_home=tmp_path)
    (saved,) = (path for path in tmp_path.rglob("*") if path.is_file())
    assert saved.name == "compas-scores-two-years-anonymous.csv"
    assert saved.read_bytes() == ANONYMOUS
    assert not any(secret in saved.read_text() for secret in SECRETS)
    cached = fetch_compas(data_home=tmp_path, download_if_missing=False)
    assert cached.frame.equals(downloaded.frame)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": "few"}, "columns must be one of 'default', 'all'; got 'few'"),
        ({"sensitive": "age"}, "'sex', 'race'.*got 'age'"),
    ],
)
def test_bad_options(small, options, message):
    with pytest.raises(ValueError, match=message):
        fetch_compas(**options)


def test_real_counts(real_data):
    real_data(FILE)
    compas = fetch_compas(sensitive=["race", "sex"])
    race, sex = compas.sensitive_features["race"], compas.sensitive_features["sex"]
    assert race.value_counts().to_dict() == {
        "African-American": 3175,
        "Caucasian": 2103,
        "Hispanic": 509,
        "Other": 343,
        "Asian": 31,
        "Native American": 11,
    }
    assert sex.value_counts().to_dict() == {"Male": 4997, "Female": 1175}
    assert compas.target.mean() == pytest.approx(0.4551, abs=5e-5)
    assert compas.target[race == "African-American"].mean() == pytest.approx(0.5231, abs=5e-5)
    assert compas.target[race == "Caucasian"].mean() == pytest.approx(0.3909, abs=5e-5)
    assert not compas.frame.isna().any(axis=None)


def test_real_file_is_what_remains_of_the_public_one(real_data):
    body = (real_data(FILE) / FILE).read_bytes()
    assert drop_personal_columns(body) == body
    everything = fetch_compas(columns="all", subset="all")
    assert everything.data.shape == (7214, 45)
    assert not PERSONAL_COLUMNS & set(everything.feature_names)


def test_real_example(real_data, run_example):
    real_data(FILE)
    with warnings.catch_warnings(action="error"):
        run_example(fetch_compas)
