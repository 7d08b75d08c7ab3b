"""Reports of rates whose denominators depend on decisions, counted by numpy."""

import numpy as np
import pytest

from skfair._bound.bound import ConstraintSystem
from skfair._groups import Samples, check_groups
from skfair.constraints import DemographicParity, RateParity
from skfair.losses import LogisticLoss
from skfair.surrogates import Sigmoid


def report(scores, target, labels, constraint, weights=None):
    groups = check_groups(labels, n_samples=len(labels))
    weights = np.ones(len(labels)) if weights is None else weights
    samples = Samples(np.asarray(target, dtype=float), groups, weights)
    bound = constraint.bind(samples, Sigmoid(1.0), LogisticLoss(), None)
    return ConstraintSystem((bound,)).report_columns(np.asarray(scores, dtype=float))


SCORES = np.array([1, 1, 1, -1, -1, -1, 1, 1, 1, 1, -1, -1])
TARGET = np.array([1, 1, 1, 1, -1, -1, 1, -1, 1, -1, 1, -1])
LABELS = list("aaaaaabbbbbb")


def test_precision_counts_the_selected():
    columns = report(SCORES, TARGET, LABELS, RateParity("precision", tolerance=0.1))
    np.testing.assert_array_equal(columns["n"], [3, 4])
    np.testing.assert_allclose(columns["estimate"], [1.0, 0.5])
    # 3 of 3 count as 4 of 5, and 2 of 4 have an error of sqrt(.5 * .5 / 4).
    errors = [np.sqrt(0.8 * 0.2 / 5), 0.25]
    np.testing.assert_allclose(columns["standard_error"], errors)


def test_negative_predictive_values_count_the_refused():
    columns = report(SCORES, TARGET, LABELS, RateParity("negative_predictive_value", tolerance=0.1))
    np.testing.assert_array_equal(columns["n"], [3, 2])
    np.testing.assert_allclose(columns["estimate"], [2 / 3, 0.5])
    errors = [np.sqrt(2 / 9 / 3), np.sqrt(0.25 / 2)]
    np.testing.assert_allclose(columns["standard_error"], errors)


def test_a_precision_of_0_and_weights():
    columns = report(SCORES, -np.abs(TARGET), LABELS, RateParity("precision", tolerance=0.1))
    np.testing.assert_allclose(columns["estimate"], [0.0, 0.0])
    errors = [np.sqrt(p * (1 - p) / n) for p, n in ((1 / 5, 5), (1 / 6, 6))]
    np.testing.assert_allclose(columns["standard_error"], errors)
    same = report(SCORES, TARGET, LABELS, RateParity("precision", tolerance=0.1), np.full(12, 7.3))
    np.testing.assert_array_equal(same["n"], [3, 4])


@pytest.mark.parametrize("constraint", [DemographicParity(), RateParity("f1", tolerance=0.1)])
def test_other_rates_count_their_groups(constraint):
    columns = report(SCORES, TARGET, LABELS, constraint)
    np.testing.assert_array_equal(columns["n"], [6, 6])
