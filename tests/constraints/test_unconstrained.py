import numpy as np

from skfair.constraints import Unconstrained


def test_it_has_no_rows_and_no_unknowns():
    nothing, scores = Unconstrained(), np.arange(3.0)
    found = nothing(scores, nothing.initial_aux(scores))
    assert nothing.n_aux == len(nothing.lower) == len(nothing.upper) == len(found.values) == 0
    assert found.aux_jacobian.shape == (0, 0)
    assert (found.jacobian.combine @ found.jacobian.cells).shape == (0, 3)
    np.testing.assert_array_equal(found.jacobian.adjoint(np.empty(0)), np.zeros(3))
    np.testing.assert_array_equal(found.curvature(np.empty(0)), np.zeros(3))
