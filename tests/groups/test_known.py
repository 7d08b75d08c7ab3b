import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from skfair._groups.known import MISSING, fill_missing, is_like_unknown
from tests.audit.doors import report_predictions


@pytest.mark.parametrize(
    "label",
    ["unknown", "Not Disclosed", "DECLINE", "Declined to state", "n/a", "N/A ", "missing"]
    + [
        "Other/Unknown",
        "unknown race",
        "Prefer not to say",
        "not stated",
        "",
        " ? ",
        "null",
        "-",
        "NA",
        "<NA>",
        "nan",
    ],
)
def test_labels_like_unknown(label):
    assert is_like_unknown(label)


@pytest.mark.parametrize(("label", "is_class_mark"), [(r"\N", True), ("decline", False)])
def test_marks_of_classes_are_another_list(label, is_class_mark):
    assert is_like_unknown(label) and is_like_unknown(label, is_group=False) == is_class_mark


@pytest.mark.parametrize(
    "label",
    ["f", "male", "White", "Two or more", "None", "Other", "Not Hispanic", "n", "1", MISSING]
    + ["Naples", "Dismissing", "knowns", "没有", 0, None, True, 3.5, ("unknown",)],
)
def test_labels_not_like_unknown(label):
    assert not is_like_unknown(label)


def test_unknown_labels_are_missing_values():
    table = pd.DataFrame(
        {"sex": ["f", "Unknown", "m", None], "age": [1, 9, 2, 1]}, index=[3, 4, 5, 6]
    )
    filled = fill_missing(table, [" UNKNOWN", 9])
    assert filled.to_dict("list") == {
        "sex": ["f", MISSING, "m", MISSING],
        "age": ["1", MISSING, "2", "1"],
    }
    assert filled.index.equals(table.index)
    assert fill_missing(table).to_dict("list")["age"] == [1, 9, 2, 1]


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pd.Categorical])
def test_any_container(kind):
    filled = fill_missing(kind(["a", "?", "b", "a"]), ["?"])
    assert filled.iloc[:, 0].tolist() == ["a", MISSING, "b", "a"]


def test_a_misspelt_label_is_warned_of():
    with pytest.warns(UserWarning, match="unknown labels 'Unkown' are named, but no attribute has"):
        fill_missing(["f", "Unknown"], ["Unkown"])


def test_columns_of_a_sparse_matrix_have_no_labels():
    members = sparse.csr_array(np.ones((4, 1), dtype=bool))
    assert fill_missing(members) is members
    with pytest.raises(TypeError, match="sensitive_features is a sparse matrix"):
        fill_missing(members, ["Unknown"])


def test_missing_values_are_still_refused_beside_unknown_labels():
    groups = ["f", "m", "Unknown", None] * 20
    with pytest.raises(ValueError, match="20 missing value"):
        report_predictions(None, [0, 1] * 40, sensitive_features=groups, unknown=["Unknown"])


@pytest.mark.parametrize("unknown", ["Unknown", 3])
def test_unknown_is_a_list(unknown):
    with pytest.raises(TypeError, match="unknown must be a list of labels"):
        report_predictions(None, [0, 1] * 40, sensitive_features=["f", "m"] * 40, unknown=unknown)
