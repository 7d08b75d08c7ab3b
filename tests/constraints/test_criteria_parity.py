import numpy as np
import pytest

from skfair._groups import check_groups
from skfair.constraints import (
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    ErrorRateParity,
    FalsePositiveRateParity,
    MeanParity,
)
from skfair.groups import Samples
from skfair.losses import LogisticLoss, SquaredLoss, step_function
from skfair.metrics import mean_score_difference
from skfair.surrogates import Sigmoid

TARGET = np.array([1.0, -1.0, 1.0])
SAMPLES = Samples(TARGET, check_groups([0, 0, 0], 3), np.ones(3))


@pytest.mark.parametrize(
    "constraint, expected",
    [
        (DemographicParity(), {"all": [1, 1, 1]}),
        (EqualOpportunity(), {"positives": [1, 0, 1]}),
        (FalsePositiveRateParity(), {"negatives": [0, 1, 0]}),
        (EqualizedOdds(), {"positives": [1, 0, 1], "negatives": [0, 1, 0]}),
        (ErrorRateParity(), {"all": [1, 1, 1]}),
    ],
)
def test_cells(constraint, expected):
    cells = constraint.cells(SAMPLES)
    assert list(cells) == list(expected)
    for name, inside in cells.items():
        assert inside.dtype == bool
        np.testing.assert_array_equal(inside, expected[name])


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize(
    "constraint, is_met",
    [(DemographicParity(), True), (EqualizedOdds(), True), (ErrorRateParity(), False)],
)
def test_constant_decisions_meet_parities_of_decisions(constraint, is_met, sign):
    target = np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    samples = Samples(target, check_groups(["a", "a", "b", "b", "b"], 5), np.ones(5))
    bound = constraint.bind(samples, step_function, LogisticLoss(), tolerance=0.0)
    assert (bound.value(np.full(5, sign)) == 0.0) is is_met
    assert bound.sums.metric_input == "decisions"


def test_errors_are_wrong_decisions():
    (rate,) = ErrorRateParity().terms(step_function, LogisticLoss())
    result = rate(np.array([1.0, 1.0, -1.0]), TARGET)
    np.testing.assert_array_equal(result.value, [0, 1, 1])


def test_smooth_errors_fall_with_the_margin():
    (rate,) = ErrorRateParity().terms(Sigmoid(), LogisticLoss())
    result = rate(np.zeros(3), TARGET)
    np.testing.assert_allclose(result.value, 0.5)
    np.testing.assert_allclose(result.slope, [-0.25, 0.25, -0.25])


def test_the_gap_of_mean_parity_is_that_of_the_means():
    scores = np.array([1.0, 3.0, 10.0, 4.0])
    group = list("aabb")
    samples = Samples(scores, check_groups(group, 4), np.array([1.0, 3.0, 1.0, 1.0]))
    bound = MeanParity(tolerance=0.5).bind(samples, Sigmoid(), SquaredLoss(), 0.1)
    assert bound.value(scores) == 7.0 - 2.5
    assert bound.value(scores) == mean_score_difference(
        scores, sensitive_features=group, sample_weight=samples.weights
    )
