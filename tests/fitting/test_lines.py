"""Points on lines between flips of decisions, by numpy, kernels and evaluating every interval."""

import numpy as np
import pytest

from skfair._fitting import lines as lines_module
from skfair._fitting.lines import (
    COUNT,
    ERROR,
    MEANS,
    MIN_ERROR,
    TOTAL_CHANGE,
    bin_line_flips,
    choose_n_bins,
    find_line_points,
)

MARGIN = 1e-9


@pytest.fixture(params=["numpy", "kernels"])
def counted_by(request, monkeypatch):
    """Count flips by numpy or by kernels, whatever the size."""
    monkeypatch.setattr(lines_module, "MAX_NUMPY_FLIPS", np.inf if request.param == "numpy" else 0)


pytestmark = pytest.mark.usefixtures("counted_by")


def draw(n_samples, n_lines=3, n_starts=2, n_terms=2, decimals=None, seed=0):
    """Scores, slopes, the start of each line, and effects; rounded values are tied."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n_starts, n_samples))
    slopes = rng.normal(size=(n_lines, n_samples))
    if decimals is not None:
        scores = scores.round(decimals)
        slopes = slopes.round(decimals)
    slopes[:, :3], scores[:, 2:5] = 0.0, 0.0
    cells = rng.integers(2, size=(n_terms, n_samples)) + 2 * np.arange(n_terms)[:, np.newaxis]
    effects = (
        rng.normal(size=n_samples),
        rng.normal(size=(n_terms, n_samples)),
        cells.astype(np.intp),
        0.3,
        rng.normal(size=2 * n_terms),
    )
    lines = np.column_stack((rng.integers(n_starts, size=n_lines), np.arange(n_lines)))
    return scores, slopes, lines, effects


def evaluate(scores, effects):
    """Error and means of decisions, one sample at a time."""
    on_error, on_means, cells, error, means = effects
    means = means.copy()
    for i in np.flatnonzero(scores > 0):
        error += on_error[i]
        for term, c in enumerate(cells[:, i]):
            means[c] += on_means[term, i]
    return error, means


def intervals(scores, slopes):
    """Ends of the wide intervals between flips of a line."""
    moving = np.abs(slopes) > MARGIN
    flips = np.sort(-scores[moving] / slopes[moving])
    ends = np.concatenate(([flips[0] - 3.0], flips, [flips[-1] + 3.0]))
    is_wide = np.diff(ends) > MARGIN
    return np.column_stack((ends[:-1][is_wide], ends[1:][is_wide]))


def all_points(arguments, effects, n_bins, is_useful=None, max_errors=None):
    scales = np.full(len(arguments[1]), 0.7)
    bins, tables = bin_line_flips(*arguments, scales, MARGIN, effects, n_bins)
    if is_useful is None:
        is_useful = np.ones((len(scales), n_bins), dtype=bool)
    max_errors = np.full(len(scales), np.inf) if max_errors is None else max_errors
    points = find_line_points(*arguments, is_useful, max_errors, MARGIN, effects, bins, tables)
    return tables, points


@pytest.mark.covering(1)
@pytest.mark.parametrize("n_bins", [16, 64])
@pytest.mark.parametrize(("n_samples", "decimals"), [(40, None), (40, 1), (300, None), (300, 0)])
def test_every_interval_is_a_point_with_its_error_and_means(n_samples, decimals, n_bins):
    *arguments, effects = draw(n_samples, decimals=decimals)
    scores, slopes, lines = arguments
    _, (numbers, low, high, errors, means) = all_points(arguments, effects, n_bins)
    for line, (start, _) in enumerate(lines):
        of_line = numbers == line
        expected = intervals(scores[start], slopes[line])
        order = np.argsort(low[of_line])
        computed = np.column_stack((low[of_line], high[of_line]))[order]
        np.testing.assert_array_equal(computed, expected)
        for (first, last), error, of_point in zip(
            computed, errors[of_line][order], means[of_line][order], strict=True
        ):
            moved = np.where(
                np.abs(slopes[line]) > MARGIN,
                scores[start] + (first + last) / 2 * slopes[line],
                scores[start],
            )
            counted = evaluate(moved, effects)
            assert error == pytest.approx(counted[0], abs=1e-10)
            np.testing.assert_allclose(of_point, counted[1], atol=1e-10)


def test_points_of_few_errors_are_in_the_bins_that_may_hold_them():
    *arguments, effects = draw(300)
    tables, (numbers, low, _, errors, _) = all_points(arguments, effects, 64)
    max_errors = np.array([np.quantile(errors[numbers == line], 0.2) for line in range(3)])
    is_useful = tables[:, :-2, MIN_ERROR] < max_errors[:, np.newaxis]
    assert not is_useful.all()
    _, points = all_points(arguments, effects, 64, is_useful, max_errors)
    is_below = errors < max_errors[numbers]
    np.testing.assert_array_equal(points[0], numbers[is_below])
    np.testing.assert_array_equal(points[1], low[is_below])


def test_bins_bound_what_changes_within_them():
    *arguments, effects = draw(300)
    scores, slopes, lines = arguments
    tables, (numbers, low, high, errors, means) = all_points(arguments, effects, 16)
    assert tables[:, :-2, COUNT].sum() == 3 * 297  # three slopes of each line are 0
    for line, (start, _) in enumerate(lines):
        of_line = numbers == line
        lengths = (low[of_line] + high[of_line]) / 2
        place = np.minimum((lengths / (0.7 + np.abs(lengths)) + 1) * 8, 15.999).astype(int)
        table = tables[line][place]
        assert (errors[of_line] >= table[:, MIN_ERROR] - 1e-10).all()
        moved = np.abs(means[of_line] - table[:, MEANS:]).sum(axis=1)
        assert (moved <= table[:, TOTAL_CHANGE] + 1e-10).all()
        end = evaluate(np.where(slopes[line] == 0, scores[start], slopes[line]), effects)
        assert tables[line, 16, ERROR] == pytest.approx(end[0], abs=1e-10)
        np.testing.assert_allclose(tables[line, 16, MEANS:], end[1], atol=1e-10)


def test_lines_without_flips_have_no_points():
    scores, slopes, lines, effects = draw(40)
    _, points = all_points([scores, 0.0 * slopes, lines], effects, 16)
    assert all(len(values) == 0 for values in points)


def test_unknown_scores_do_no_harm():
    scores, slopes, lines, effects = draw(40)
    scores[:, 5:], slopes[:, 5:] = np.nan, np.inf
    tables, points = all_points([scores, slopes, lines], effects, 16)
    assert np.isfinite(tables).all()
    assert len(points[0]) <= 3 * 41


@pytest.mark.parametrize("counted_by", ["numpy"], indirect=True)
@pytest.mark.parametrize("decimals", [None, 1])
@pytest.mark.parametrize("shares_cells", [False, True])
def test_numpy_and_kernels_have_the_same_bits(monkeypatch, decimals, shares_cells):
    *arguments, effects = draw(2000, decimals=decimals)
    if shares_cells:  # as groups that overlap do: terms of other samples are in the same cells
        on_error, on_means, cells, error, means = effects
        effects = on_error, on_means, np.stack((cells[0], 1 - cells[0])), error, means
    expected = all_points(arguments, effects, 64)
    monkeypatch.setattr(lines_module, "MAX_NUMPY_FLIPS", 0)
    computed = all_points(arguments, effects, 64)
    np.testing.assert_array_equal(computed[0][:, :-1], expected[0][:, :-1])
    assert len(expected[1][0]) > 1000
    for one, another in zip(computed[1], expected[1], strict=True):
        np.testing.assert_array_equal(one, another)


def test_bins_are_few_where_tables_would_be_large():
    assert choose_n_bins(100, 4, 1 << 18) == 16
    assert choose_n_bins(10_000, 4, 1 << 18) == 512
    assert choose_n_bins(10**6, 4, 1 << 18) == 4096
    assert choose_n_bins(10**6, 1000, 1 << 18) == 256
