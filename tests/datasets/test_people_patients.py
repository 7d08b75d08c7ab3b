import numpy as np
from sklearn.datasets import load_diabetes

from skfair.datasets import load_patients


def test_values_are_those_of_the_source():
    patients = load_patients()
    source = load_diabetes(scaled=False)
    np.testing.assert_array_equal(patients.data, source.data)
    np.testing.assert_array_equal(patients.target, source.target)
    assert patients.feature_names == source.feature_names
    assert patients.frame.shape == (442, 11)
    assert patients.categories == {}
    assert "442" in patients.DESCR


def test_groups_follow_the_column_sex():
    patients = load_patients()
    assert patients.sensitive_features.value_counts().to_dict() == {"sex 1": 235, "sex 2": 207}
    codes = patients.sensitive_features.str.removeprefix("sex ").astype(float)
    assert (codes == patients.data["sex"]).all()


def test_sex_can_be_left_out_of_the_data():
    patients = load_patients(drop_sensitive=True)
    assert "sex" not in patients.data
    assert patients.feature_names == list(patients.data)
    assert patients.sensitive_features.index.equals(patients.data.index)


def test_arrays():
    patients = load_patients(as_frame=False)
    assert patients.data.dtype == np.float64
    assert patients.data.shape == (442, 10)
    assert set(patients.sensitive_features) == {"sex 1", "sex 2"}
    assert patients.frame is None
    X, y = load_patients(as_frame=False, return_X_y=True)
    np.testing.assert_array_equal(X, patients.data)
    np.testing.assert_array_equal(y, patients.target)
