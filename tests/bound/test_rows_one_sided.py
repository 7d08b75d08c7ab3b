import numpy as np
import pytest

from skfair._bound.rows import OneSidedRows

LOWER = np.array([-1.0, -np.inf, 2.0, -np.inf])
UPPER = np.array([1.0, 3.0, np.inf, np.inf])


@pytest.fixture
def one_sided():
    return OneSidedRows(LOWER, UPPER)


def test_every_finite_bound_is_one_row(one_sided):
    np.testing.assert_array_equal(one_sided.rows, [0, 1, 0, 2])
    np.testing.assert_array_equal(one_sided.signs, [1, 1, -1, -1])
    assert one_sided.values(np.array([4.0, 5.0, 6.0, 7.0])).tolist() == [3.0, 2.0, -5.0, -4.0]


def test_positive_means_broken(one_sided):
    values = np.array([-3.0, 0.0, 0.0, 9.0])
    broken = np.maximum(LOWER - values, values - UPPER).max()
    assert one_sided.values(values).max() == broken == 2.0


def test_multipliers_are_the_adjoint_of_values(one_sided):
    rng = np.random.default_rng(0)
    duals = rng.random(4)
    values = rng.normal(size=4)
    jacobian = rng.normal(size=(4, 5))
    linear = one_sided.values(values) - one_sided.values(np.zeros(4))
    assert duals @ linear == pytest.approx(one_sided.multipliers(duals) @ values)
    np.testing.assert_allclose(
        duals @ one_sided.jacobian(jacobian), one_sided.multipliers(duals) @ jacobian
    )


def test_no_rows():
    one_sided = OneSidedRows(np.empty(0), np.empty(0))
    assert one_sided.values(np.empty(0)).shape == one_sided.multipliers(np.empty(0)).shape == (0,)
    assert one_sided.jacobian(np.empty((0, 3))).shape == (0, 3)
