"""Compiled passes over a block against the classes of losses, rates and models."""

from functools import partial

import numpy as np
import pytest

from skfair._kernels import HINGE, LOGISTIC, SQUARED
from skfair._kernels.scores import (
    evaluate_block,
    evaluate_bucket_moments,
    score_samples,
    sum_block_metrics,
    sum_line_bins,
)
from skfair._problems.linear import LinearModel
from skfair.losses import (
    AbsoluteLoss,
    HingeLoss,
    LogisticLoss,
    SquaredHingeLoss,
    SquaredLoss,
    averaged_loss,
    kernel_kind_and_width,
    step_function,
)
from skfair.surrogates import Ramp, Sigmoid

N_SAMPLES, N_COLUMNS, N_EVENTS = 300, 5, 3  # two chunks and a rest
RNG = np.random.default_rng(0)
X = RNG.normal(1.0, 2.0, (N_SAMPLES, N_COLUMNS))
TARGET = RNG.choice([-1.0, 1.0], N_SAMPLES)
SHARE = RNG.uniform(0.5, 2.0, N_SAMPLES) / N_SAMPLES
CODES = RNG.integers(N_EVENTS + 1, size=N_SAMPLES)  # the last is no event
SHARES = np.where(CODES < N_EVENTS, RNG.uniform(size=N_SAMPLES), 0.0)
LOSSES = [LogisticLoss(), SquaredHingeLoss(), HingeLoss(0.7), SquaredLoss(), AbsoluteLoss(0.5)]
SURROGATES = [Sigmoid(), Sigmoid(0.3), Ramp(2.0), step_function]
close = partial(np.testing.assert_allclose, rtol=1e-12, atol=1e-14)


def losses(loss):
    return TARGET, SHARE, *kernel_kind_and_width(loss)


def events(*rates):
    """Arguments of rates on the same events: pairs of a function, and whether it is of errors."""
    n_rates = len(rates)
    known = [kernel_kind_and_width(rate) for rate, _ in rates]
    return (
        np.tile(CODES, (n_rates, 1)),
        np.tile(SHARES, (n_rates, 1)),
        (N_EVENTS + 1) * np.arange(n_rates + 1),
        np.array([code for code, _ in known], dtype=np.intp),
        np.array([width for _, width in known]),
        np.array([is_error for _, is_error in rates], dtype=bool),
    )


def membership():
    """Shares of the samples in each cell, (n_cells, n_samples)."""
    return SHARES * (CODES == np.arange(N_EVENTS + 1)[:, np.newaxis])


def draw_parameters(model):
    return np.random.default_rng(1).normal(size=model.n_parameters) / 2


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_sums_are_those_of_losses_and_models(loss, fit_intercept, order):
    model = LinearModel.from_features(np.asarray(X, order=order), SHARE, fit_intercept)
    parameters = draw_parameters(model)
    point = model.evaluate(draw_parameters(model))
    value, slope, curvature = loss(point.scores, TARGET)
    no_events = events()
    sums = evaluate_block(model.kernel_columns, parameters, losses(loss), no_events, np.empty(0))
    close(sums[0], SHARE @ value)
    close(sums[1], point.pull_back(SHARE * slope))
    close(sums[4], point.gram(SHARE * curvature))


@pytest.mark.parametrize("is_error", [False, True])
@pytest.mark.parametrize(
    "rate", [*SURROGATES, HingeLoss(0.7)], ids=lambda rate: getattr(rate, "__name__", str(rate))
)
def test_means_are_those_of_rates(rate, is_error):
    model = LinearModel.from_features(X, SHARE)
    parameters = draw_parameters(model)
    loss = LogisticLoss()
    point = model.evaluate(parameters)
    weights = RNG.normal(size=2 * (N_EVENTS + 1))
    cells = membership()
    sigmoid = Sigmoid(0.5)(point.scores)
    arguments = (point.scores,) if rate in SURROGATES else (point.scores, TARGET)
    value, slope, curvature = rate(*arguments)
    if is_error:
        value = np.where(TARGET > 0, 1.0 - value, value)
        slope = -TARGET * slope
        curvature = -TARGET * curvature
    rates = events((rate, is_error), (Sigmoid(0.5), False))
    sums = evaluate_block(model.kernel_columns, parameters, losses(loss), rates, weights)
    close(sums[2], np.concatenate((cells @ value, cells @ sigmoid.value)))
    of_rates = np.concatenate((cells * slope, cells * sigmoid.slope))
    close(sums[3], [point.pull_back(row) for row in of_rates])
    of_loss = SHARE * loss(point.scores, TARGET).curvature
    first, second = np.split(weights, 2)
    curvatures = of_loss + (first @ cells) * curvature + (second @ cells) * sigmoid.curvature
    close(sums[4], point.gram(curvatures))


@pytest.mark.parametrize("loss", [LogisticLoss(), SquaredLoss()], ids=str)
def test_derivatives_are_difference_quotients(loss):
    model = LinearModel.from_features(X, SHARE)
    rates = events((Sigmoid(), False))
    weights = np.array([0.5, -1.0, 2.0, 0.0])

    def evaluate(parameters):
        return evaluate_block(model.kernel_columns, parameters, losses(loss), rates, weights)

    parameters = draw_parameters(model)
    step = 1e-6
    _, gradient, _, jacobian, hessian = evaluate(parameters)
    for k, move in enumerate(step * np.eye(len(parameters))):
        after = evaluate(parameters + move)
        before = evaluate(parameters - move)
        rise, curvature, moved, turned, _ = (
            (a - b) / (2 * step) for a, b in zip(after, before, strict=True)
        )
        np.testing.assert_allclose(gradient[k], rise, atol=1e-8)
        np.testing.assert_allclose(jacobian[:, k], moved, atol=1e-7)
        np.testing.assert_allclose(hessian[k], curvature + weights @ turned, atol=1e-7)


@pytest.mark.covering(0)
@pytest.mark.parametrize("loss", [LogisticLoss(), HingeLoss(0.1)], ids=str)
def test_extreme_scores_give_what_numpy_gives(loss):
    columns = np.array([-1e300, -800.0, -700.0, -1e-300, 0.0, 1e-300, 700.0, 800.0, 1e300])
    n_samples = len(columns)
    target, share = np.ones(n_samples), np.ones(n_samples)
    for rate in (Sigmoid(), Ramp()):
        for i in range(n_samples):
            arguments = columns[[i], np.newaxis], np.zeros(1), np.ones(1)
            known = target[:1], share[:1], *kernel_kind_and_width(loss)
            code, width = kernel_kind_and_width(rate)
            cells = (
                np.zeros((1, 1), dtype=np.intp),
                np.ones((1, 1)),
                np.array([0, 2]),
                np.array([code]),
                np.array([width]),
                np.zeros(1, dtype=bool),
            )
            sums = evaluate_block(arguments, np.ones(1), known, cells, np.zeros(2))
            close(sums[0], loss(columns[[i]], target[:1]).value[0])
            close(sums[2][0], rate(columns[[i]]).value[0], atol=1e-300)


@pytest.mark.covering(0)
@pytest.mark.parametrize("is_error", [False, True])
def test_counts_are_those_of_decisions(is_error):
    coef = RNG.normal(size=N_COLUMNS)
    intercept = 0.3
    loss = LogisticLoss()
    scores = X @ coef + intercept
    totals, moments = sum_block_metrics(
        X, (coef, intercept), losses(loss), events((step_function, is_error))
    )
    wrong = (scores > 0) != (TARGET > 0)
    expected = [SHARE @ loss(scores, TARGET).value, SHARE @ wrong, np.count_nonzero(scores > 0)]
    close(totals, expected)
    rate = wrong if is_error else scores > 0
    cells = membership()
    close(moments, [cells @ rate, cells @ rate, (cells**2).sum(axis=1)])
    close(score_samples(X, coef, intercept), scores)


@pytest.mark.covering(0)
@pytest.mark.parametrize("is_error", [False, True])
def test_lines_are_counted_between_flips(is_error):
    coef = RNG.normal(size=N_COLUMNS)
    intercept = 0.3
    n_bins = 64
    lengths = np.array([1.0, 4.0])
    steps = RNG.normal(size=(2, N_COLUMNS + 1))
    steps[1, :-1] = 0.0  # all scores move equally
    errors, sums, negative = sum_line_bins(
        X,
        (coef, intercept),
        (steps[:, :-1], steps[:, -1].copy()),
        (1e-9, lengths),
        n_bins,
        losses(LogisticLoss()),
        events((step_function, is_error)),
    )
    scores = X @ coef + intercept
    slopes = steps[:, :-1] @ X.T + steps[:, -1:]
    position = np.linspace(-1.0, 1.0, n_bins + 1)[1:-1]  # flips may lie beyond the outermost bins
    for line, typical in enumerate(lengths):
        for bin_end, length in enumerate(typical * position / (1.0 - np.abs(position)), start=1):
            decisions = scores + length * slopes[line] > 0
            wrong = decisions != (TARGET > 0)
            close(errors[line, : bin_end + 1].sum(), SHARE @ wrong, atol=1e-12)
            means = negative + sums[line, :, : bin_end + 1].sum(axis=1)
            close(means, membership() @ (wrong if is_error else decisions), atol=1e-12)


def test_shares_are_sums_over_buckets():
    model = LinearModel.from_features(X, SHARE)
    loss = LogisticLoss()
    parameters = draw_parameters(model)
    point = model.evaluate(parameters)
    bounds = np.sort(RNG.normal(size=7))
    has_corner = np.arange(8) % 2 == 1
    weights = RNG.normal(size=(N_EVENTS, 8))
    sums = evaluate_bucket_moments(
        model.kernel_columns,
        parameters,
        losses(loss),
        (CODES, SHARES),
        (bounds, has_corner),
        weights,
    )
    _, gradient, moments, jacobian, gram = sums
    buckets = np.searchsorted(bounds, point.scores)
    cells = membership()[:N_EVENTS, np.newaxis] * (buckets == np.arange(8)[:, np.newaxis])
    close(moments, [cells @ point.scores**power for power in range(3)], atol=1e-13)
    rows = cells.reshape(-1, N_SAMPLES)
    scored = rows * point.scores * np.tile(has_corner, N_EVENTS)[:, np.newaxis]
    expected = [point.pull_back(row) for row in np.concatenate((rows, scored))]
    close(jacobian, expected, atol=1e-12)
    value, slope, curvature = loss(point.scores, TARGET)
    close(sums[0], SHARE @ value)
    close(gradient, point.pull_back(SHARE * slope))
    close(gram, point.gram(SHARE * curvature + weights.ravel() @ rows), atol=1e-12)


def test_codes_are_those_of_a_class_itself():
    class CustomLoss(LogisticLoss):
        def _evaluate(self, scores, target):
            return super()._evaluate(2.0 * scores, target)

    assert kernel_kind_and_width(LogisticLoss()) == (LOGISTIC, 1.0)
    assert kernel_kind_and_width(HingeLoss(0.3)) == (HINGE, 0.3)
    assert kernel_kind_and_width(CustomLoss()) is None and kernel_kind_and_width(abs) is None
    assert kernel_kind_and_width(HingeLoss(-1.0)) is None  # its call raises the error
    noted = LogisticLoss()
    noted.note = 7.0  # no width
    assert kernel_kind_and_width(noted) == (LOGISTIC, 1.0)
    assert kernel_kind_and_width(averaged_loss(SquaredLoss())) == (SQUARED, 0.5)
