"""Differences of errors of regressors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.metrics import mean_absolute_error, mean_squared_error

from skfair.metrics import (
    METRICS,
    largest_mean_squared_error,
    mean_absolute_error_difference,
    mean_squared_error_difference,
)

NAMES = [name for name, metric in METRICS.items() if metric.kind == "regression"]


@pytest.fixture
def outcomes():
    rng = np.random.default_rng(0)
    y = rng.normal(size=60)
    groups = rng.integers(3, size=60)
    return y, y + (1 + groups) * rng.normal(size=60) + groups, groups


def test_they_are_differences_of_the_errors_by_group(outcomes):
    y, predictions, groups = outcomes
    expected = {
        mean_squared_error_difference: mean_squared_error,
        mean_absolute_error_difference: mean_absolute_error,
    }
    for metric, error in expected.items():
        errors = [error(y[groups == g], predictions[groups == g]) for g in range(3)]
        assert_allclose(
            metric(y, predictions, sensitive_features=groups), np.ptp(errors), rtol=1e-12
        )
        excesses = np.array(errors) - error(y, predictions)
        expected = {"to_overall": np.abs(excesses).max(), "above_overall": excesses.max()}
        for method, value in expected.items():
            actual = metric(y, predictions, sensitive_features=groups, method=method)
            assert_allclose(actual, value, rtol=1e-12)
    errors = [mean_squared_error(y[groups == g], predictions[groups == g]) for g in range(3)]
    largest = largest_mean_squared_error(y, predictions, sensitive_features=groups)
    assert_allclose(largest, max(errors), rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_integer_weights_repeat_rows_and_zero_weights_are_absent(outcomes, name):
    y, predictions, groups = outcomes
    weights = np.arange(60) % 3
    rows = np.repeat(np.arange(60), weights)
    assert_allclose(
        METRICS[name](y, predictions, sensitive_features=groups, sample_weight=weights),
        METRICS[name](y[rows], predictions[rows], sensitive_features=groups[rows]),
        rtol=1e-12,
    )


@pytest.mark.parametrize("name", NAMES)
def test_overlapping_groups_count_each_member(outcomes, name):
    y, predictions, groups = outcomes
    members = sparse.csr_array(np.column_stack((groups == 0, groups > 0, groups < 9)))
    value = METRICS[name](y, predictions, sensitive_features=members)
    rows = np.concatenate([np.flatnonzero(column) for column in members.toarray().T])
    codes = np.repeat([0, 1, 2], members.toarray().sum(axis=0))
    expected = METRICS[name](y[rows], predictions[rows], sensitive_features=codes)
    assert_allclose(value, expected, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:There is one group")
@pytest.mark.parametrize("name", NAMES)
def test_perfect_predictions_and_one_group_are_fair(outcomes, name):
    y, predictions, groups = outcomes
    assert METRICS[name](y, y, sensitive_features=groups) == 0
    if "difference" in name:
        assert METRICS[name](y, predictions, sensitive_features=np.zeros(60)) == 0


@pytest.mark.parametrize("name", NAMES)
def test_values_that_are_no_numbers_are_refused(outcomes, name):
    y, predictions, groups = outcomes
    with pytest.raises(ValueError, match="y_pred"):
        METRICS[name](y, np.where(groups, predictions, np.nan), sensitive_features=groups)
    with pytest.raises(ValueError, match="y_true"):
        METRICS[name](np.where(groups, y, np.inf), predictions, sensitive_features=groups)
    with pytest.raises(ValueError, match="Did you mean 'to_overall'"):
        mean_squared_error_difference(y, predictions, sensitive_features=groups, method="to_overal")
