import numpy as np
import pytest

from skfair._groups import check_groups
from skfair.constraints import (
    BoundedGroupLoss,
    EqualizedOddsLossParity,
    EqualOpportunityLossParity,
    LossParity,
)
from skfair.groups import Samples
from skfair.losses import LOSSES, HingeLoss, LogisticLoss, Pointwise
from skfair.surrogates import Sigmoid

TARGET = np.array([1.0, -1.0, 1.0])
SCORES = np.array([0.0, 1.0, 3.0])
SAMPLES = Samples(TARGET, check_groups([0, 0, 0], 3), np.ones(3))


@pytest.mark.parametrize(
    "constraint, expected",
    [
        (LossParity(), {"all": [1, 1, 1]}),
        (EqualOpportunityLossParity(), {"positives": [1, 0, 1]}),
        (EqualizedOddsLossParity(), {"positives": [1, 0, 1], "negatives": [0, 1, 0]}),
        (BoundedGroupLoss(0.5), {"all": [1, 1, 1]}),
    ],
)
def test_cells(constraint, expected):
    cells = constraint.cells(SAMPLES)
    assert list(cells) == list(expected)
    for name, inside in cells.items():
        assert inside.dtype == bool
        np.testing.assert_array_equal(inside, expected[name])


@pytest.mark.parametrize(
    "loss, expected_loss",
    [
        (None, LogisticLoss()),
        ("squared", lambda s, y: Pointwise((s - y) ** 2, 2 * (s - y), np.full(3, 2.0))),
        ("hinge", HingeLoss()),
        (HingeLoss(width=0.5), HingeLoss(width=0.5)),
    ],
)
def test_the_default_loss_is_that_of_the_estimator(loss, expected_loss):
    (term,) = LossParity(loss=loss).terms(Sigmoid(), LogisticLoss())
    result = term(SCORES, TARGET)
    for one, other in zip(result, expected_loss(SCORES, TARGET), strict=True):
        np.testing.assert_array_equal(one, other)
    assert LossParity().counts_decisions is False


def test_the_bound_of_a_group_loss_is_its_tolerance():
    constraint = BoundedGroupLoss(0.4, loss="hinge")
    assert constraint.tolerance == 0.4
    constraint.set_params(upper_bound=0.6)
    assert constraint.tolerance == 0.6


ERRORS = {
    "squared": (SCORES - TARGET) ** 2,
    "absolute": np.abs(SCORES - TARGET),
    "squared_hinge": np.maximum(0.0, 1.0 - SCORES * TARGET) ** 2,
}


@pytest.mark.parametrize("loss", ERRORS)
def test_squares_are_bounded_in_full_and_absolute_errors_as_they_are(loss):
    for constraint in (BoundedGroupLoss(0.5, loss=loss), BoundedGroupLoss(0.5)):
        fitted = LOSSES[loss]()
        reached = constraint.bind(SAMPLES, Sigmoid(), fitted, 0.1).value(SCORES)
        assert reached == pytest.approx(np.mean(ERRORS[loss]))
