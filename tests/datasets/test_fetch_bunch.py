import numpy as np
import pandas as pd
import pytest

from skfair._utils.checks import check_choice
from skfair.datasets._fetch import make_bunch, select_sensitive

TABLE = pd.DataFrame(
    {
        "age": [30, 40, 50],
        "job": pd.Categorical(["cook", None, "baker"]),
        "sex": pd.Categorical(["f", "m", "f"]),
    }
)
TARGET = pd.Series([1.0, 2.0, 3.0], name="income")


def bunch(**options):
    return make_bunch(TABLE, TARGET, TABLE["sex"], "three people", **options)


def test_a_choice_must_be_one_of_those_offered():
    check_choice("size", "small", ("small", "large"))
    with pytest.raises(ValueError, match="size must be one of 'small', 'large'; got 3"):
        check_choice("size", 3, ("small", "large"))


def test_groups_are_a_series_for_a_name_and_a_frame_for_a_list():
    assert select_sensitive(TABLE, "sex").tolist() == ["f", "m", "f"]
    assert list(select_sensitive(TABLE, ["sex"])) == ["sex"]
    assert list(select_sensitive(TABLE, ["job", "sex"])) == ["job", "sex"]


@pytest.mark.parametrize("sensitive", ["age", "income", ["sex", "age"], [], None, ("sex",)])
def test_groups_must_be_categorical_columns(sensitive):
    with pytest.raises(ValueError, match=r"one of the columns \['job', 'sex'\]"):
        select_sensitive(TABLE, sensitive)


def test_bunch_of_frames():
    result = bunch()
    assert result.feature_names == ["age", "job", "sex"]
    assert result.categories == {"job": ["baker", "cook"], "sex": ["f", "m"]}
    assert result.DESCR == "three people"
    assert list(result.frame) == ["age", "job", "sex", "income"]


def test_bunch_of_arrays():
    result = bunch(as_frame=False)
    np.testing.assert_array_equal(result.data, [[30, 1, 0], [40, np.nan, 1], [50, 0, 0]])
    np.testing.assert_array_equal(result.target, [1, 2, 3])
    assert result.sensitive_features.tolist() == ["f", "m", "f"]
    assert result.frame is None
    assert result.feature_names == ["age", "job", "sex"]


def test_data_and_target_only():
    X, y = bunch(return_X_y=True)
    assert X.equals(TABLE)
    assert y.equals(TARGET)
