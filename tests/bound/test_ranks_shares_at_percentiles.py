"""Which shares are bound between which percentiles."""

import numpy as np
import pytest

from skfair._bound.convex import CONVEX_MEANS
from skfair._bound.ranks import (
    PercentileInterval,
    RankSums,
    rows_at_percentiles,
    rows_at_threshold,
)
from skfair._groups import check_groups
from skfair._groups.events import cell_events
from skfair.constraints import PartialStatisticalParity
from skfair.groups import Samples

UNION = PercentileInterval(np.array([[0.1, 0.3], [0.6, 0.8]]))

RAMP = CONVEX_MEANS["ramp"]


def test_positions_walk_through_a_union():
    assert UNION.width == pytest.approx(0.4)
    at = np.array([0.0, 0.25, 0.75, 1.0, 1.25])
    np.testing.assert_allclose(UNION.percentile_at(at, "left"), [0.1, 0.2, 0.7, 0.8, 0.9])
    # Where the first pair ends, any percentile up to the second pair is at the same position.
    assert UNION.percentile_at(0.5, "left") == pytest.approx(0.3)
    assert UNION.percentile_at(0.5, "right") == pytest.approx(0.6)


def test_positions_invert_percentiles_and_end_with_the_interval():
    at = np.linspace(0.0, 1.0, 9)
    for side in ("left", "right"):
        np.testing.assert_allclose(UNION.position_of(UNION.percentile_at(at, side)), at, atol=1e-12)
    np.testing.assert_allclose(UNION.position_of([0.0, 0.4, 0.9]), [0.0, 0.5, 1.0])


def two_groups(scores, pairs=((0.0, 0.5),), tolerance=0.2, weights=(50.0, 50.0)):
    """Two groups of 50 samples of given total weights, and their tolerances."""
    codes = np.repeat([0, 1], 50)
    samples = Samples(np.ones(100), check_groups(codes, 100), np.array(weights)[codes] / 50.0)
    criterion = PartialStatisticalParity(list(pairs))
    events = cell_events(criterion.cells(samples), samples, samples.groups)
    ranked = RankSums(
        "parity", samples, events, criterion.cells, [np.array(pairs)] * 2, scores=scores
    )
    return ranked, np.full(2, tolerance)


def test_free_thresholds_hold_shares_at_their_percentiles():
    scores = np.random.default_rng(0).normal(size=100)
    compared = two_groups(scores, pairs=((0.1, 0.5),), tolerance=0.25)
    bound = rows_at_percentiles(*compared, np.array([0.0, 0.5, 1.0]), 2.0, RAMP)
    assert bound.n_aux == 3
    np.testing.assert_allclose(bound.lower.reshape(2, 3), [[0.1, 0.3, 0.5]] * 2)
    np.testing.assert_allclose(bound.upper.reshape(2, 3), [[0.2, 0.4, 0.6]] * 2)


def test_percentiles_0_and_1_bind_no_sample():
    compared = two_groups(np.zeros(100), pairs=((0.0, 1.0),), tolerance=0.2)
    bound = rows_at_percentiles(*compared, np.array([0.0, 1.0]), 2.0, RAMP)
    np.testing.assert_array_equal(np.isfinite(bound.lower), [False, True] * 2)
    np.testing.assert_array_equal(np.isfinite(bound.upper), [True, False] * 2)


def test_thresholds_start_between_the_groups_quantiles():
    scores = np.concatenate((np.linspace(0, 1, 50), np.linspace(1, 2, 50)))
    compared = two_groups(scores, pairs=((0.4, 0.6),), tolerance=0.0)
    bound = rows_at_percentiles(*compared, np.array([0.5]), 0.1, RAMP)
    assert bound.initial_aux(scores)[0] == pytest.approx(1.0)


@pytest.mark.parametrize("score", [0.0, -3.5])
@pytest.mark.parametrize("shape", CONVEX_MEANS)
def test_where_scores_are_equal_thresholds_keep_the_rows(score, shape):
    scores = np.full(100, score)
    compared = two_groups(scores, pairs=((0.1, 0.5),), tolerance=0.25)
    bound = rows_at_percentiles(*compared, np.linspace(0.0, 1.0, 4), 2.0, CONVEX_MEANS[shape])
    assert keeps_rows(bound, scores)
    middle = np.linspace(0.1, 0.5, 4) + 0.05
    assert bound(scores, bound.initial_aux(scores)).values.reshape(2, 4) == pytest.approx(
        np.tile(middle, (2, 1))
    )


def rates_of(first, second):
    """Scores of two groups of 50, with these numbers of positive ones."""
    return np.concatenate([np.where(np.arange(50) < n, 1.0, -1.0) for n in (first, second)])


def keeps_rows(bound, scores):
    """Whether the rows hold at their initial unknowns."""
    values = bound(scores, bound.initial_aux(scores)).values
    return bool((values >= bound.lower - 1e-9).all() and (values <= bound.upper + 1e-9).all())


# Shares of 50 with the interval [0.2, 0.6] and a tolerance of a quarter of it, 0.1.
@pytest.mark.parametrize(
    ("first", "second", "n_levels", "expected"),
    [
        (15, 20, 1, True),  # .3 and .4: just the tolerance
        (15, 21, 1, False),
        (0, 15, 0, True),  # 0 and .3: cut off at .2, they differ by .1
        (0, 16, 1, False),
        (26, 50, 0, True),  # .52 and 1: cut off at .6, they differ by .08
        (24, 50, 1, False),
    ],
)
def test_one_threshold_compares_shares_within_the_interval(first, second, n_levels, expected):
    scores = rates_of(first, second)
    compared = two_groups(scores, pairs=((0.2, 0.6),), tolerance=0.25)
    bound = rows_at_threshold(*compared, 0.0, 1e-6, RAMP)
    assert keeps_rows(bound, scores) == expected
    if expected:
        assert bound.n_aux in (n_levels, 1)


def test_the_case_is_the_one_with_the_fewest_changed_decisions():
    """Shares .06 and .54 of [0, .5], tolerance .2: the second comes to .26, or the first to .3.

    In units of the interval they are .12 and 1.08, and may differ by .4: the first of equal groups
    is .48 off the end, the second .56 off the first. A second group of half
    the size has half as many samples.
    """
    scores = rates_of(3, 27)
    for weights, n_levels in (((50.0, 50.0), 0), ((50.0, 25.0), 1)):
        compared = two_groups(scores, tolerance=0.4, weights=weights)
        assert rows_at_threshold(*compared, 0.0, 1e-6, RAMP).n_aux == n_levels


def test_smooth_shares_plus_residual_are_shares_of_decisions():
    scores = np.random.default_rng(1).normal(size=100)
    bound = rows_at_threshold(*two_groups(scores), 0.3, 2.0, RAMP)
    decided = [(scores[:50] > 0.3).mean(), (scores[50:] > 0.3).mean()]
    smooth = bound.shares(scores, np.zeros(1))[:, 0]
    np.testing.assert_allclose(smooth + bound.residual(scores), decided)
