import numpy as np
import pytest

from skfair.metrics import (
    demographic_parity_difference,
    equal_opportunity_difference,
    false_positive_rate_difference,
    separation_gap,
    sufficiency_gap,
)

GROUP = np.repeat(["a", "b"], 200)
RNG = np.random.default_rng(0)
Y_TRUE, Y_PRED = RNG.integers(0, 2, (2, 400))


def test_gaps_are_made_of_the_rates_differences():
    metadata = {"sensitive_features": GROUP}
    assert separation_gap(Y_TRUE, Y_PRED, **metadata) == equal_opportunity_difference(
        Y_TRUE, Y_PRED, **metadata
    ) + false_positive_rate_difference(Y_TRUE, Y_PRED, **metadata)


def test_sufficiency_is_separation_with_truth_and_prediction_exchanged():
    metadata = {"sensitive_features": GROUP}
    assert sufficiency_gap(Y_TRUE, Y_PRED, **metadata) == pytest.approx(
        separation_gap(Y_PRED, Y_TRUE, **metadata), rel=1e-12
    )


def test_a_perfect_prediction_violates_independence_alone():
    y = np.array([1, 1, 0, 1, 0, 0])
    metadata = {"sensitive_features": list("aaabbb")}
    assert demographic_parity_difference(y, y, **metadata) == pytest.approx(1 / 3)
    assert separation_gap(y, y, **metadata) == sufficiency_gap(y, y, **metadata) == 0


def test_the_worst_gaps_are_two():
    y_true = np.array([0, 1, 0, 1])
    y_pred = np.array([0, 1, 1, 0])
    assert separation_gap(y_true, y_pred, sensitive_features=list("aabb")) == 2
    assert sufficiency_gap(y_true, y_pred, sensitive_features=list("aabb")) == 2
