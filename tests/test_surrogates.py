import numpy as np
import pytest

from skfair.losses import step_function
from skfair.surrogates import SURROGATES, Ramp, Sigmoid

CHOICES = {
    **{name: make() for name, make in SURROGATES.items()},
    "step": step_function,
    "steep sigmoid": Sigmoid(temperature=0.1),
    "wide ramp": Ramp(width=3.0),
}
surrogates = pytest.mark.parametrize("surrogate", CHOICES.values(), ids=CHOICES.keys())


@pytest.mark.parametrize(
    "surrogate, score, expected",
    [
        (step_function, 0.0, (0, 0, 0)),
        (step_function, 1e-300, (1, 0, 0)),
        (Sigmoid(), 0.0, (0.5, 0.25, 0)),
        (Sigmoid(temperature=0.5), np.log(3) / 2, (0.75, 0.375, -0.375)),
        (Ramp(width=2.0), 0.5, (0.75, 0.5, 0)),
        (Ramp(), 0.6, (1, 0, 0)),
    ],
)
def test_known_values(surrogate, score, expected):
    result = [part.item() for part in surrogate([score])]
    assert result == pytest.approx(expected, rel=1e-14, abs=1e-16)


@surrogates
def test_derivatives(surrogate):
    # A grid without breakpoints.
    scores = np.linspace(-3, 3, 97) + 0.0123
    step = 1e-6
    result = surrogate(scores)
    above = surrogate(scores + step)
    below = surrogate(scores - step)
    np.testing.assert_allclose(result.slope, (above.value - below.value) / (2 * step), atol=1e-7)
    np.testing.assert_allclose(
        result.curvature, (above.slope - below.slope) / (2 * step), atol=1e-7
    )


@surrogates
def test_rises_from_zero_to_one_symmetrically(surrogate):
    scores = np.linspace(-60, 60, 1201)[1::2]
    value, slope, _ = surrogate(scores)
    assert (np.diff(value) >= 0).all() and (slope >= 0).all()
    np.testing.assert_allclose(value + surrogate(-scores).value, 1, rtol=1e-14)
    assert value[0] == pytest.approx(0, abs=1e-15) and value[-1] == pytest.approx(1)


@surrogates
def test_extreme_scores(surrogate):
    for part in surrogate(np.array([-1e4, 1e4, 0.0])):
        assert part.dtype == np.float64 and np.isfinite(part).all()
    np.testing.assert_array_equal(surrogate([-1e4, 1e4]).value, [0, 1])


@pytest.mark.parametrize(
    "make, match",
    [
        (lambda: Sigmoid(temperature=0.0)([0.0]), "temperature must be positive, but it is 0.0"),
        (lambda: Ramp(width=-1.0)([0.0]), "width must be positive, but it is -1.0"),
    ],
)
def test_refusals(make, match):
    with pytest.raises(ValueError, match=match):
        make()
