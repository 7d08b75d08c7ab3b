"""What the comparison of reference fits lets pass."""

import numpy as np
import pytest

from tests.reference import FITS, compare, is_tolerated

BEFORE = {
    "coef_": np.array([[1.0, 2.0]]),
    "objective_": np.array(0.5),
    "constraint_violation_": np.array(0.0),
    "status_": np.array("optimal"),
}


def test_equal_results_do_not_differ():
    assert compare(BEFORE, {name: value.copy() for name, value in BEFORE.items()}) == []


def test_a_last_digit_is_a_difference():
    after = BEFORE | {"coef_": np.nextafter(BEFORE["coef_"], 9.0)}
    assert len(compare(BEFORE, after)) == 1
    assert is_tolerated(BEFORE, after)


@pytest.mark.parametrize(
    "change",
    [
        {"status_": np.array("infeasible")},
        {"constraint_violation_": np.array(1e-3)},
        {"objective_": np.array(0.501)},
    ],
)
def test_worse_fits_are_not_tolerated(change):
    assert compare(BEFORE, BEFORE | change)
    assert not is_tolerated(BEFORE, BEFORE | change)


def test_a_better_objective_is_tolerated():
    assert is_tolerated(BEFORE, BEFORE | {"objective_": np.array(0.4)})


def test_one_fit_gives_the_same_twice():
    fit = FITS["linear, demographic_parity"]
    assert len(FITS) >= 40
    assert compare(fit(), fit()) == []
