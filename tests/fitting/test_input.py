"""Validation of the arguments of fit."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from skfair._fitting.input import check_training_data, loss_weights
from skfair._groups.arguments import FitArguments
from skfair.classification import ConstrainedERMClassifier
from skfair.exceptions import MissingSensitiveFeaturesWarning

X = np.arange(12.0).reshape(6, 2)
Y = ["no", "yes", "no", "yes", "no", "yes"]
GROUPS = ["a", "a", "a", "b", "b", "b"]


def check(
    X=X, y=Y, sensitive_features=GROUPS, sample_weight=None, compares_groups=True, pos_label="yes"
):
    arguments = FitArguments(
        X=X, y=y, sensitive_features=sensitive_features, sample_weight=sample_weight
    )
    estimator = ConstrainedERMClassifier(pos_label=pos_label)
    return check_training_data(estimator, arguments, compares_groups)


def test_labels_become_signs():
    training = check()
    assert training.classes.tolist() == ["no", "yes"]
    assert training.samples.target.tolist() == [-1, 1, -1, 1, -1, 1]
    assert training.samples.weights.tolist() == [1] * 6
    assert training.samples.groups.is_disjoint
    assert training.samples.groups.counts.tolist() == [3, 3]
    np.testing.assert_array_equal(training.X, X)


def test_the_positive_class_has_the_sign_plus():
    training = check(pos_label="no")
    assert training.classes.tolist() == ["no", "yes"]
    assert training.samples.target.tolist() == [1, -1, 1, -1, 1, -1]
    assert training.labels.tolist() == Y
    # Users' scores are positive for the second class.
    assert training.unit.from_unit(training.samples.target).tolist() == [-1, 1, -1, 1, -1, 1]


@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), (False, True), (0.0, 1.0)])
def test_common_numeric_labels_need_no_pos_label(labels):
    y = np.array(labels)[[0, 1, 0, 1, 0, 1]]
    assert check(y=y, pos_label=None).samples.target.tolist() == [-1, 1, -1, 1, -1, 1]


@pytest.mark.parametrize("labels", [("approved", "denied"), (1, 2), (-1, 0)])
def test_other_labels_need_pos_label_where_groups_are_compared(labels):
    y = np.array(labels)[[0, 1, 0, 1, 0, 1]]
    with pytest.raises(ValueError, match=r"pos_label must name .* \[.*, .*\]"):
        check(y=y, pos_label=None)
    assert check(y=y, pos_label=None, compares_groups=False).pos_label == labels[1]
    with pytest.warns(MissingSensitiveFeaturesWarning):
        assert check(y=y, pos_label=None, sensitive_features=None).pos_label == labels[1]


def test_the_positive_class_must_be_a_class():
    for groups in (GROUPS, None):
        with pytest.raises(ValueError, match=r"pos_label must be one of \['no', 'yes'\]; got 'y'"):
            check(pos_label="y", sensitive_features=groups, compares_groups=False)


def test_samples_without_weight_are_absent():
    training = check(sample_weight=[1, 2, 0, 1, 0, 3])
    np.testing.assert_array_equal(training.X, X[[0, 1, 3, 5]])
    assert training.samples.target.tolist() == [-1, 1, 1, 1]
    assert training.samples.weights.tolist() == [1, 2, 1, 3]
    assert training.samples.groups.counts.tolist() == [2, 2]


def test_groups_without_weight_are_dropped_by_name():
    with pytest.warns(UserWarning, match=r"without any sample weight count as absent: 'b'\."):
        training = check(sample_weight=[1, 1, 1, 0, 0, 0])
    assert training.samples.groups.counts.tolist() == [3]


def test_overlapping_groups_stay_overlapping():
    members = sparse.csr_array(np.array([[1, 0], [1, 1], [0, 1], [1, 1], [1, 0], [0, 1]], bool))
    training = check(sensitive_features=members, sample_weight=[1, 1, 1, 1, 0, 1])
    assert not training.samples.groups.is_disjoint
    groups = training.samples.groups
    assert groups.counts.tolist() == [4, 3] and groups.names == [1, 0]  # the largest first
    assert groups.summary.counts == [3, 4]


def test_missing_groups_give_one_group_and_a_warning_if_a_constraint_needs_groups():
    with pytest.warns(MissingSensitiveFeaturesWarning, match="enable_metadata_routing"):
        assert check(sensitive_features=None).samples.groups.counts.tolist() == [6]
    assert check(sensitive_features=None, compares_groups=False).samples.groups.counts.tolist() == [
        6
    ]


def test_sparse_features_become_csr_arrays_of_float64():
    training = check(X=sparse.csc_matrix(X.astype(np.float32)))
    assert isinstance(training.X, sparse.csr_array)
    assert training.X.dtype == np.float64


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"y": list("aabbcc")}, "3 classes: .*CV.LogisticRegression.*OneVsRestClassifier"),
        ({"y": ["no"] * 6}, "at least 2 classes.*only one class"),
        ({"sample_weight": [1, 0, 1, 0, 1, 0]}, "only one class: .*no"),
        ({"sample_weight": np.zeros(6)}, "at least one non-zero"),
        ({"sample_weight": [-1, 1, 1, 1, 1, 1]}, "[Nn]egative values"),
        ({"sample_weight": [1, 1]}, "sample_weight"),
        ({"y": [0.3, 1.2, 0.5, 2.2, 1.1, 0.7]}, "continuous"),
        ({"sensitive_features": ["a", "b"]}, "2 rows"),
        ({"sensitive_features": {"sex": GROUPS}}, "sensitive_features"),
        ({"sensitive_features": ["a", None, "b", "b", "a", "a"]}, "missing"),
        ({"X": X.tolist()[:5]}, "inconsistent numbers of samples"),
        (
            {"X": pd.DataFrame(X), "sensitive_features": pd.Series(GROUPS)[::-1]},
            "same pandas index",
        ),
    ],
)
def test_invalid_input_is_refused(changed, message):
    with pytest.raises(ValueError, match=message):
        check(**changed)


def test_class_weights_are_those_of_scikit_learn():
    training = check(y=list("nynnnn"), pos_label="y")
    assert loss_weights(None, training).tolist() == [1] * 6
    assert loss_weights({"n": 2, "y": 3}, training).tolist() == [2, 3, 2, 2, 2, 2]
    # n_samples / (2 * count)
    assert loss_weights("balanced", training).tolist() == pytest.approx([0.6, 3.0] + [0.6] * 4)
    swapped = check(y=list("nynnnn"), pos_label="n")
    assert loss_weights({"n": 2, "y": 3}, swapped).tolist() == [2, 3, 2, 2, 2, 2]
