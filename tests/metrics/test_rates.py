import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from skfair.metrics._rates import (
    RATES,
    ConfusionMatrices,
    check_predictions,
    confusion_matrices,
    count_confusions,
    rate_difference,
    rate_ratio,
)

# Of every group: [[true negatives, false positives], [false negatives, true positives]].
TABLE = np.array([[[4.0, 1], [2, 3]], [[2, 0], [1, 2]]])


def outcomes(y_true, y_pred, pos_label=None):
    groups = ["a"] * len(y_true)
    return check_predictions(y_true, y_pred, groups, None, pos_label)[1].tolist()


@pytest.mark.parametrize(
    "name, expected",
    [
        ("selection_rate", [4 / 10, 2 / 5]),
        ("true_positive_rate", [3 / 5, 2 / 3]),
        ("false_positive_rate", [1 / 5, 0]),
        ("positive_predictive_value", [3 / 4, 1]),
        ("false_omission_rate", [2 / 6, 1 / 3]),
        ("accuracy", [7 / 10, 4 / 5]),
    ],
)
def test_rates_by_hand(name, expected):
    assert RATES[name](TABLE) == pytest.approx(expected, rel=1e-15)


def test_a_rate_over_no_samples_is_nan():
    empty = np.zeros((1, 2, 2))
    for rate in RATES.values():
        assert np.isnan(rate(empty)).all()


def matrices_of(names, weights):
    """Confusion matrices of disjoint groups."""
    return ConfusionMatrices(names, weights, weights.sum(axis=0, keepdims=True))


def test_cells_are_indexed_by_group_truth_and_prediction():
    y_true = [0, 0, 1, 1, 1]
    y_pred = [0, 1, 0, 1, 1]
    cells = confusion_matrices(y_true, y_pred, list("aaaab"), [1, 2, 3, 4, 5], None)
    assert cells.names == ["a", "b"]
    assert cells.weights.tolist() == [[[1, 2], [3, 4]], [[0, 0], [0, 5]]]
    samples, flat = check_predictions(y_true, y_pred, list("aaaab"), [1, 2, 3, 4, 5], None)
    assert count_confusions(samples, flat).overall.tolist() == [[[1, 2], [3, 9]]]


def test_difference_and_ratio_by_hand():
    cells = matrices_of(["a", "b"], TABLE)
    assert rate_difference(cells, "selection_rate") == 0
    assert rate_ratio(cells, "selection_rate") == 1
    assert rate_difference(cells, "accuracy") == pytest.approx(0.1)
    assert rate_ratio(cells, "true_positive_rate") == pytest.approx(0.9)
    assert rate_ratio(cells, "false_positive_rate") == 0
    assert rate_ratio(cells, "true_positive_rate", "false_positive_rate") == 0


def test_rates_that_are_all_zero_have_a_difference_and_no_ratio():
    none_selected = matrices_of(["a", "b"], np.array([[[1.0, 0], [1, 0]], [[2, 0], [0, 0]]]))
    assert rate_difference(none_selected, "selection_rate") == 0
    with pytest.warns(UndefinedMetricWarning, match="selection_rate of every group is 0"):
        assert np.isnan(rate_ratio(none_selected, "selection_rate"))
    # A rate that is 0 for all groups does not hide another.
    perfect = np.array([[[2.0, 0], [0, 1]]] * 2)
    with pytest.warns(UndefinedMetricWarning, match="The false_positive_rate of every group is 0"):
        assert (
            rate_ratio(
                matrices_of(["a", "b"], perfect), "true_positive_rate", "false_positive_rate"
            )
            == 1
        )


def test_a_single_group_is_treated_like_itself():
    alone = matrices_of(["a"], np.zeros((1, 2, 2)))
    with pytest.warns(UndefinedMetricWarning, match="There is one group, so that nothing is comp"):
        assert rate_difference(alone, "true_positive_rate") == 0
    with pytest.warns(UndefinedMetricWarning, match="stratify the folds by group"):
        assert rate_ratio(alone, "true_positive_rate") == 1


def test_a_group_of_unknown_rate_is_named_and_excluded():
    without_positives = [[5.0, 1], [0, 0]]
    cells = matrices_of(["a", "b", "c"], np.array([*TABLE, without_positives]))
    with pytest.warns(
        UndefinedMetricWarning, match="true_positive_rate is unknown for 1 of 3 .*'c'"
    ):
        assert rate_difference(cells, "true_positive_rate") == pytest.approx(2 / 3 - 3 / 5)
    with pytest.warns(UndefinedMetricWarning, match="no samples of the positive class: 'c'"):
        assert rate_ratio(cells, "true_positive_rate") == pytest.approx(0.9)


@pytest.mark.parametrize("compare", [rate_difference, rate_ratio])
def test_the_difference_of_fewer_than_two_known_rates_is_nan(compare):
    cells = matrices_of(["a", "b"], np.array([TABLE[0], [[5.0, 1], [0, 0]]]))
    with pytest.warns(UndefinedMetricWarning, match="Fewer than two groups remain"):
        assert np.isnan(compare(cells, "true_positive_rate"))


def test_a_long_list_of_unknown_groups_is_cut_off():
    cells = matrices_of(list(range(12)), np.zeros((12, 2, 2)))
    with pytest.warns(UndefinedMetricWarning, match=r"unknown for 12 of 12 .* 8, 9 and 2 more"):
        rate_difference(cells, "accuracy")


@pytest.mark.parametrize(
    "negative, positive",
    [(0, 1), (-1, 1), (False, True), (0.0, 1.0)],
)
def test_the_positive_class_by_default(negative, positive):
    labels = [negative, positive]
    assert outcomes([labels[0], labels[0], labels[1], labels[1]], labels * 2) == [0, 1, 2, 3]


@pytest.mark.parametrize("labels", [(1, 2), (0, 255), ("approved", "denied"), ("0", "1")])
def test_other_labels_leave_the_positive_class_open(labels):
    with pytest.raises(ValueError, match=rf"labels are \[{labels[0]!r}, {labels[1]!r}\]"):
        outcomes(labels, labels)
    assert outcomes(labels, labels, labels[0]) == [3, 0]


@pytest.mark.parametrize("only, expected", [(1, 3), (0, 0), (-1, 0), (True, 3), (False, 0)])
def test_a_single_label_of_a_known_class(only, expected):
    assert outcomes([only], [only]) == [expected]


def test_booleans_and_numbers_mean_the_same():
    assert outcomes([True, True, False], np.array([1.0, 0.0, 1.0])) == [3, 2, 1]


@pytest.mark.parametrize("container", [list, np.array, pd.Series, pd.Categorical])
def test_labels_in_any_container(container):
    y_true = container(["y", "n", "n"])
    y_pred = container(["y", "n", "y"])
    assert outcomes(y_true, y_pred, "y") == [3, 0, 1]
    assert outcomes(y_true, y_pred, "n") == [0, 3, 2]


def test_pos_label_may_be_absent_from_a_single_class():
    assert outcomes(["no", "no"], ["no", "no"], "yes") == [0, 0]
    assert outcomes(["no", "no"], ["no", "no"], "no") == [3, 3]


@pytest.mark.parametrize(
    "y_true, y_pred, pos_label, error, match",
    [
        ([0, 1, 2], [0, 1, 1], None, ValueError, "at most two classes .* 3 labels: 0, 1, 2"),
        ([0, 1, 2], [0, 1, 1], 1, ValueError, "at most two classes"),
        ([0, 1, 0], [0.1, 0.7, 0.2], None, ValueError, "If y_pred holds scores"),
        (["a", "b", "a"], [0, 1, 0], None, ValueError, "with the same labels in both"),
        (["a", "a"], [1, 1], None, TypeError, "must be of one type"),
        (
            ["yes", "yes"],
            ["yes", "yes"],
            None,
            ValueError,
            r"pos_label must name .* \['yes'\]",
        ),
        ([3, 4], [4, 4], 1, ValueError, r"pos_label must be one of \[3, 4\]; got 1"),
        ([0, np.nan], [0, 1], None, ValueError, "y_true contains NaN"),
        (
            [0, 1],
            [0, None],
            None,
            ValueError,
            "must hold a value or label for each sample, but it holds None in row 1",
        ),
        (
            ["a", None],
            ["a", "a"],
            "a",
            ValueError,
            "must hold a value or label for each sample, but it holds None in row 1",
        ),
    ],
)
def test_refused_labels(y_true, y_pred, pos_label, error, match):
    with pytest.raises(error, match=match):
        outcomes(y_true, y_pred, pos_label)
