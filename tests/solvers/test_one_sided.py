import numpy as np
import pytest

from skfair.solvers._one_sided import OneSided

LOWER = np.array([-1.0, -np.inf, 2.0, -np.inf])
UPPER = np.array([1.0, 3.0, np.inf, np.inf])


@pytest.fixture
def sides():
    return OneSided.between(LOWER, UPPER)


def test_every_finite_bound_is_one_row(sides):
    np.testing.assert_array_equal(sides.rows, [0, 1, 0, 2])
    np.testing.assert_array_equal(sides.signs, [1, 1, -1, -1])
    assert sides.excess(np.array([4.0, 5.0, 6.0, 7.0])).tolist() == [3.0, 2.0, -5.0, -4.0]


def test_positive_means_broken(sides):
    values = np.array([-3.0, 0.0, 0.0, 9.0])
    broken = np.maximum(LOWER - values, values - UPPER).max()
    assert sides.excess(values).max() == broken == 2.0


def test_signed_is_the_adjoint_of_excess(sides):
    rng = np.random.default_rng(0)
    pressures, values, jacobian = rng.random(4), rng.normal(size=4), rng.normal(size=(4, 5))
    linear = sides.excess(values) - sides.excess(np.zeros(4))
    assert pressures @ linear == pytest.approx(sides.signed(pressures) @ values)
    np.testing.assert_allclose(
        pressures @ sides.spread(jacobian), sides.signed(pressures) @ jacobian
    )


def test_no_rows():
    sides = OneSided.between(np.empty(0), np.empty(0))
    assert sides.excess(np.empty(0)).shape == sides.signed(np.empty(0)).shape == (0,)
    assert sides.spread(np.empty((0, 3))).shape == (0, 3)
