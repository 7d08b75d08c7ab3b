"""Losses against their formulas, and their derivatives against finite differences."""

import numpy as np
import pytest
from sklearn.metrics import mean_pinball_loss, mean_tweedie_deviance

from skfair.losses import (
    LOSSES,
    AbsoluteLoss,
    HingeLoss,
    LogisticLoss,
    Pointwise,
    QuantileLoss,
    SquaredHingeLoss,
    SquaredLoss,
    TweedieLoss,
    as_pointwise,
    averaged_loss,
    is_of_positive_numbers,
    kernel_kind_and_width,
)

EVERYWHERE = {name: make() for name, make in LOSSES.items() if not is_of_positive_numbers(name)}
losses = pytest.mark.parametrize("loss", EVERYWHERE.values(), ids=EVERYWHERE.keys())


@pytest.mark.parametrize(
    "loss, scores, target, value, slope, curvature",
    [
        (LogisticLoss(), 0.0, 1, np.log(2), -0.5, 0.25),
        (LogisticLoss(), 2.0, -1, np.log1p(np.exp(2)), 1 / (1 + np.exp(-2)), np.nan),
        (SquaredHingeLoss(), -1.0, 1, 2.0, -2.0, 1.0),
        (SquaredHingeLoss(), 2.0, 1, 0.0, 0.0, 0.0),
        (HingeLoss(width=0.5), -1.0, 1, 1.75, -1.0, 0.0),
        (HingeLoss(width=0.5), -0.75, -1, 0.0625, 0.5, 2.0),
        (HingeLoss(), 3.0, 1, 0.0, 0.0, 0.0),
        (SquaredLoss(), 3.0, 1, 2.0, 2.0, 1.0),
        (AbsoluteLoss(width=0.5), 3.0, 1, 2.0, 1.0, 0.0),
        (AbsoluteLoss(width=0.5), 0.75, 1, 0.3125, -0.5, 2.0),
        (QuantileLoss(0.75), 3.0, 1, 0.5, 0.25, 0.0),
        (QuantileLoss(0.75), -1.0, 1, 1.5, -0.75, 0.0),
        (QuantileLoss(0.75, width=0.5), 0.75, 1, 0.21875, -0.5, 1.0),
        (TweedieLoss(), 2.0, 3, 6 * np.log(1.5) - 2, -1.0, 1.5),
        (TweedieLoss(2.0), 2.0, 4, 2 - 2 * np.log(2), -1.0, 1.5),
    ],
)
def test_known_values(loss, scores, target, value, slope, curvature):
    result = [part.item() for part in loss([scores], [target])]
    expected = [value, slope, result[2] if np.isnan(curvature) else curvature]
    assert result == pytest.approx(expected, rel=1e-14)


@losses
@pytest.mark.parametrize("target", [-1.0, 1.0])
def test_derivatives(loss, target):
    # A grid without breakpoints.
    scores = np.linspace(-3, 3, 97) + 0.0123
    step = 1e-6
    target = np.full_like(scores, target)
    above = loss(scores + step, target)
    below = loss(scores - step, target)
    result = loss(scores, target)
    np.testing.assert_allclose(result.slope, (above.value - below.value) / (2 * step), atol=1e-8)
    np.testing.assert_allclose(
        result.curvature, (above.slope - below.slope) / (2 * step), atol=1e-8
    )


@losses
def test_convex_and_least_where_the_target_is(loss):
    scores = np.linspace(-5, 5, 101)
    ones = np.ones(101)
    value, slope, curvature = loss(scores, ones)
    assert (np.diff(slope) >= 0).all() and (curvature >= 0).all()
    assert value.argmin() >= scores.searchsorted(1.0 - 1e-9)


@losses
def test_extreme_scores(loss):
    scores = np.array([-1e4, 1e4, -745.0, 745.0, 0.0])
    for target in (np.ones(5), -np.ones(5)):
        for part in loss(scores, target):
            assert part.dtype == np.float64 and np.isfinite(part).all()


def test_logistic_keeps_its_digits_at_large_margins():
    value, slope, _ = LogisticLoss()([50.0, -50.0], [1.0, 1.0])
    np.testing.assert_allclose(value, [np.exp(-50), 50], rtol=1e-14)
    np.testing.assert_allclose(slope, [-np.exp(-50), -1], rtol=1e-14)


@pytest.mark.parametrize("power", [1.0, 1.3, 1.5, 1.9, 2.0])
def test_tweedie_losses_are_deviances_that_are_convex_in_logarithms(power):
    loss = TweedieLoss(power)
    rng = np.random.default_rng(0)
    scores = np.exp(rng.normal(size=50))
    target = np.exp(rng.normal(size=50))
    target[0] = 0.0 if power < 2.0 else 1.0
    value, slope, curvature = loss(scores, target)
    assert value.mean() == pytest.approx(mean_tweedie_deviance(target, scores, power=power))
    step = 1e-6 * scores
    above = loss(scores + step, target)
    below = loss(scores - step, target)
    np.testing.assert_allclose(slope, (above.value - below.value) / (2 * step), atol=1e-7)
    np.testing.assert_allclose(curvature, (above.slope - below.slope) / (2 * step), rtol=1e-6)
    assert (curvature * scores**2 + slope * scores >= 0.0).all()
    np.testing.assert_allclose(loss(target[1:], target[1:]).value, 0.0, atol=1e-14)


@pytest.mark.parametrize(
    ("power", "score", "target"),
    [(1.0, 0.0, 1.0), (1.5, 1.0, -1.0), (2.0, 1.0, 0.0), (1.0, np.nan, 1)],
)
def test_tweedie_losses_need_positive_numbers(power, score, target):
    with pytest.raises(ValueError, match="needs positive predictions, and targets that are"):
        TweedieLoss(power)([1.0, score], [1.0, target])


@pytest.mark.parametrize(
    "loss",
    [QuantileLoss(0.0), QuantileLoss(1.0), QuantileLoss(np.nan), TweedieLoss(0.5), TweedieLoss(3)],
)
def test_parameters_out_of_range(loss):
    with pytest.raises(ValueError, match=f"of {type(loss).__name__} must be|must be positive"):
        loss([1.0], [1.0])


def test_the_quantile_loss_is_averaged_as_it_is_and_has_no_kernel():
    residual = np.linspace(-2, 2, 41)
    exact = averaged_loss(QuantileLoss(0.9, width=0.5))(residual, np.zeros(41)).value
    expected = [mean_pinball_loss([0.0], [one], alpha=0.9) for one in residual]
    np.testing.assert_allclose(exact, expected, atol=1e-15)
    half = AbsoluteLoss(0.5)(residual, np.zeros(41)).value / 2
    np.testing.assert_allclose(QuantileLoss(0.5, 0.5)(residual, np.zeros(41)).value, half)
    assert kernel_kind_and_width(QuantileLoss()) is kernel_kind_and_width(TweedieLoss()) is None


@pytest.mark.parametrize("loss", [HingeLoss, AbsoluteLoss])
def test_rounding_stays_within_half_a_width(loss):
    scores = np.linspace(-3, 3, 601)
    ones = np.ones(601)
    sharp = loss(width=1e-12)(scores, ones).value
    rounded = loss(width=0.4)(scores, ones).value
    assert 0 < np.abs(sharp - rounded).max() <= 0.2 + 1e-12


@pytest.mark.parametrize("loss", [HingeLoss, AbsoluteLoss])
@pytest.mark.parametrize("width", [0.0, -1.0, np.nan])
def test_refused_widths(loss, width):
    with pytest.raises(ValueError, match="width must be positive, but it is"):
        loss(width=width)([0.0], [1.0])


@pytest.mark.parametrize(
    "result, match",
    [
        (0.5, "returned an object of type float"),
        (np.ones(3), "type ndarray"),
        ((np.ones(3), np.ones(3)), "type tuple"),
        ((1.0, np.ones(3), np.ones(3)), r"for 3 samples it returned values of shape \(\); do not"),
        ((np.ones(2), np.ones(2), np.ones(2)), r"of shape \(2,\)"),
    ],
)
def test_what_no_loss_may_return(result, match):
    with pytest.raises(ValueError, match=f"My loss must return .* per sample.*{match}"):
        as_pointwise(result, 3, "My loss")


def test_a_plain_tuple_will_do():
    result = as_pointwise((np.ones(3), np.zeros(3), np.zeros(3)), 3, "My loss")
    np.testing.assert_array_equal(result.value, 1.0)
    assert isinstance(result, Pointwise)
