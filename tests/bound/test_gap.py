"""Gaps by hand; subgradients and rows by what defines them."""

from itertools import permutations

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skfair._bound.bound import BoundConstraint, Sums
from skfair._bound.gap import LargestMean, RangeGap, RatioGap, TotalRangeGap, make_rows
from skfair._bound.pair_gap import (
    AboveReference,
    BelowReference,
    DistanceToOverall,
    ExcessOverOverall,
    MeanDistanceToOverall,
    MeanPositiveExcess,
    SignedMeanExcess,
)
from skfair._groups.events import CellEvents, Events
from skfair._statistics.estimates import Rates
from skfair._statistics.gaps import interval_of_largest_contrast

BLOCKS = ((0, 1), (2, 3, 4))
PAIRS = ((0, 2), (1, 2), (3, 4))
GAPS = {
    "range": RangeGap(BLOCKS),
    "scaled range": RangeGap(BLOCKS, 0.8),
    "total range": TotalRangeGap(BLOCKS),
    "signed total range": TotalRangeGap(((0, 1), (2, 3))),
    "distance": DistanceToOverall(PAIRS),
    "mean distance": MeanDistanceToOverall(PAIRS),
    "excess": ExcessOverOverall(PAIRS),
    "mean excess": MeanPositiveExcess(PAIRS),
    "signed mean": SignedMeanExcess(PAIRS),
    "above": AboveReference(PAIRS),
    "below": BelowReference(tuple(pair[::-1] for pair in PAIRS)),
    "largest": LargestMean((0, 2, 4)),
}
MEANS = np.array([0.1, 0.5, 0.3, 0.9, 0.2])

gaps = pytest.mark.parametrize("gap", GAPS.values(), ids=GAPS.keys())
numbers = hnp.arrays(np.float64, 5, elements=st.floats(-1, 1))


def rows_of_gap(gap, n_events, tolerance, as_one_row=False, by_pair=False):
    """The rows of a constraint of the gap, one sample an event."""
    events = Events.disjoint(np.arange(n_events), n_events)
    n = n_events
    settings = {"gap": gap, "tolerance": tolerance, "one_row": as_one_row, "by_pair": by_pair}
    cells = CellEvents(events, np.ones(n), [], np.arange(n), [], [], [])
    sums = Sums("gap", cells, np.ones(n), (None,), (None,))
    return BoundConstraint(sums, **settings).rows


@pytest.mark.parametrize(
    "name, expected",
    [
        ("range", 0.7),
        ("scaled range", 0.8 * 0.9 - 0.2),
        ("total range", 1.1),
        ("signed total range", 1.0),
        ("distance", 0.7),
        ("mean distance", (0.2 + 0.2 + 0.7) / 3),
        ("excess", 0.7),
        ("mean excess", (0.2 + 0.7) / 3),
        ("signed mean", (-0.2 + 0.2 + 0.7) / 3),
        ("largest", 0.3),
    ],
)
def test_gap_by_hand(name, expected):
    assert GAPS[name](MEANS) == pytest.approx(expected, rel=1e-15)


@gaps
def test_gaps_of_columns(gap):
    columns = np.random.default_rng(0).normal(size=(5, 7))
    expected = [gap(column) for column in columns.T]
    np.testing.assert_array_equal(gap(columns), expected)


@pytest.mark.covering(0)
@gaps
@given(means=numbers, others=numbers)
def test_the_gap_lies_above_its_tangents(gap, means, others):
    tangent = gap(means) + gap.subgradient(means) @ (others - means)
    assert gap(others) >= tangent - 1e-12


@pytest.mark.parametrize("gap", [*GAPS.values(), RatioGap(BLOCKS)], ids=[*GAPS, "ratio"])
@given(means=hnp.arrays(np.float64, 5, elements=st.sampled_from([0.0, 0.2, 0.5, 0.9, np.nan])))
def test_value_and_subgradient_are_those_of_the_gap(gap, means):
    with np.errstate(invalid="ignore"):
        value, slope = gap.value_and_subgradient(means)
        np.testing.assert_array_equal(value, gap(means))
        np.testing.assert_array_equal(slope, gap.subgradient(means))


@pytest.mark.covering(0)
@gaps
@given(means=numbers, tolerance=st.floats(0, 1))
def test_rows_at_the_unknowns_hold_if_and_only_if_the_gap_does(gap, means, tolerance):
    rows = rows_of_gap(gap, 5, tolerance)
    values, _ = rows.rows_at(means)
    excess = np.maximum(values - rows.upper, rows.lower - values).max()
    assert max(0.0, excess) == pytest.approx(max(0.0, gap(means) - tolerance), rel=0, abs=1e-12)


@pytest.mark.parametrize(
    "name, n_rows, n_aux",
    [
        ("range", 1 + 3, 1),
        ("scaled range", 2 + 6, 1),
        ("total range", 2 * 5 + 1, 4),
        ("signed total range", 2, 0),
        ("distance", 3, 0),
        ("mean distance", 2 * 3 + 1, 3),
        ("excess", 3, 0),
        ("mean excess", 2 * 3 + 1, 3),
        ("signed mean", 1, 0),
        ("largest", 3, 0),
    ],
)
def test_numbers_of_rows_and_unknowns(name, n_rows, n_aux):
    rows = rows_of_gap(GAPS[name], 5, 0.1)
    assert rows.aux_jacobian.shape == (n_rows, n_aux)
    assert len(rows.lower) == len(rows.upper) == n_rows


def test_two_rates_need_one_two_sided_row():
    rows = rows_of_gap(RangeGap(((0, 1),)), 2, 0.1)
    np.testing.assert_array_equal(rows.rates_to_rows, [[-1, 1]])
    assert (rows.lower[0], rows.upper[0]) == (-0.1, 0.1)


@given(means=hnp.arrays(np.float64, 6, elements=st.floats(-1, 1)))
def test_small_numbers_of_pairs_need_no_unknowns(means):
    smaller = TotalRangeGap(((0, 1), (2, 3), (4, 5)))
    larger = TotalRangeGap(((0, 1), (2, 3), (4, 5, 5)))
    assert smaller(means) == larger(means)
    assert rows_of_gap(smaller, 6, 0.1).rates_to_rows.shape == (4, 6)
    assert rows_of_gap(smaller, 6, 0.1).n_aux == 0 < rows_of_gap(larger, 6, 0.1).n_aux


@gaps
@given(means=numbers)
def test_one_row_is_the_gap(gap, means):
    rows = rows_of_gap(gap, 5, 0.1, as_one_row=True)
    values, slope = rows.rows_at(means)
    assert values.tolist() == [gap(means)]
    np.testing.assert_array_equal(slope, [gap.subgradient(means)])
    assert (rows.lower, rows.upper, rows.aux_jacobian.shape) == (-np.inf, 0.1, (1, 0))


@gaps
@given(means=numbers)
def test_rows_by_pair_have_the_gap_as_the_largest_excess(gap, means):
    rows = rows_of_gap(gap, 5, 0.1, by_pair=True)
    values, _ = rows.rows_at(means)
    excess = max((values - rows.upper).max(), (rows.lower - values).max())
    assert rows.n_aux == 0
    # A gap is at least 0, its rows may be far below.
    assert excess == pytest.approx(gap(means) - 0.1, abs=1e-12) or excess < -0.1 + 1e-12


def test_a_range_has_a_row_for_each_ordered_pair():
    rows = rows_of_gap(RangeGap(((0, 1, 2),)), 3, 0.1, by_pair=True)
    rates = np.array([0.5, 0.2, 0.9])
    expected = [rates[a] - rates[b] for a, b in permutations(range(3), 2)]
    np.testing.assert_allclose(rows.rows_at(rates)[0], expected)
    assert (rows.upper == 0.1).all() and (rows.lower == -np.inf).all()


def test_a_distance_has_one_two_sided_row_and_an_excess_a_one_sided_one():
    for kind, lower in ((DistanceToOverall, -0.1), (ExcessOverOverall, -np.inf)):
        rows = rows_of_gap(kind(((0, 1),)), 2, 0.1)
        assert (rows.lower.tolist(), rows.upper.tolist()) == ([lower], [0.1])
    below = np.array([0.25, 0.75])
    assert DistanceToOverall(((0, 1),))(below) == 0.5
    assert ExcessOverOverall(((0, 1),))(below) == 0
    np.testing.assert_array_equal(DistanceToOverall(((0, 1),)).subgradient(below), [-1, 1])


def test_gaps_of_equal_value_share_their_rows():
    assert make_rows(RangeGap(BLOCKS), 5, 0.1) is make_rows(RangeGap(BLOCKS), 5, 0.1)
    assert RangeGap(BLOCKS) != TotalRangeGap(BLOCKS)


@pytest.mark.parametrize("as_one_row", [False, True])
def test_nothing_to_compare(as_one_row):
    gap = RangeGap(())
    means = np.array([0.2, 0.9])
    rows = rows_of_gap(gap, 2, 0.1, as_one_row)
    assert gap(means) == 0
    np.testing.assert_array_equal(gap(np.ones((2, 3))), np.zeros(3))
    values, combine = rows.rows_at(means)
    assert values.shape == (0,) and combine.shape == (0, 2) and rows.aux_jacobian.shape == (0, 0)


@gaps
@given(means=numbers, factor=st.floats(0, 2))
def test_shrunk_means_have_a_gap_that_is_so_many_times_as_large(gap, means, factor):
    assert gap(gap.rescale_means(means, factor)) == pytest.approx(factor * gap(means), abs=1e-12)


@pytest.mark.covering(0)
@gaps
@given(means=numbers)
def test_a_gap_is_the_largest_of_its_linear_forms_or_0(gap, means):
    forms = gap.linear_forms(5) @ means
    assert max(0.0, forms.max()) == pytest.approx(max(0.0, gap(means)), abs=1e-12)


def test_forms_of_nothing_and_of_too_many():
    assert RangeGap(()).linear_forms(3).shape == (0, 3)
    assert TotalRangeGap(()).linear_forms(3).toarray().tolist() == [[0, 0, 0]]
    larger = TotalRangeGap(tuple(tuple(range(10 * b, 10 * b + 10)) for b in range(3)))
    with pytest.raises(ValueError, match='aggregate="max"'):
        larger.linear_forms(30)


# Ratios ---------------------------------------------------------------------------------

RATIO = RatioGap(BLOCKS)
rates = hnp.arrays(np.float64, 5, elements=st.floats(0, 1).map(lambda rate: round(rate, 3)))


def smallest_ratio(means):
    """Smallest over largest mean of each block by its definition; the smallest of the blocks."""
    pairs = [(means[a], means[b]) for block in BLOCKS for a in block for b in block]
    return min(a / b for a, b in pairs if b > 0) if any(b > 0 for _, b in pairs) else 1.0


def test_ratio_by_hand():
    assert RATIO(MEANS) == pytest.approx(1 - 0.1 / 0.5, rel=1e-15)
    assert RATIO(np.array([0.0, 0.0, 0.3, 0.4, 0.6])) == 0.5
    assert RATIO(np.zeros(5)) == 0
    assert RATIO(np.array([0.0, 1e-17, 0.5, 0.5, 0.5])) == 0  # rounding is no rate
    np.testing.assert_allclose(RATIO(np.column_stack((MEANS, np.ones(5)))), [0.8, 0])
    assert RatioGap(())(MEANS) == 0


def test_a_ratio_of_unknown_rates_is_unknown():
    # Precision of groups without a positive decision: no gap may seem to be kept.
    means = np.array([[0.0, np.nan, 0.5, np.nan], [0.0, np.nan, 0.4, 0.3]])
    np.testing.assert_allclose(RatioGap(((0, 1),))(means), [0.0, np.nan, 0.2, np.nan])


@given(means=rates)
def test_the_gap_of_a_ratio_is_1_minus_it(means):
    assert RATIO(means) == pytest.approx(1 - smallest_ratio(means), abs=1e-12)


@given(means=rates, ratio=st.floats(0.05, 1))
@pytest.mark.parametrize("as_one_row", [False, True])
def test_rows_hold_where_the_ratio_is_kept(as_one_row, means, ratio):
    rows = rows_of_gap(RATIO, 5, 1 - ratio, as_one_row)
    values, _ = rows.rows_at(means)
    excess = np.maximum(values - rows.upper, rows.lower - values).max()
    if abs(RATIO(means) - (1 - ratio)) > 1e-9:  # otherwise rounding decides
        assert (excess <= 0) == (RATIO(means) <= 1 - ratio)


@given(means=rates, factor=st.floats(0, 2))
def test_shrunk_rates_have_a_ratio_whose_gap_is_so_many_times_as_large(means, factor):
    shrunk = RATIO.rescale_means(means, factor)
    assert RATIO(shrunk) == pytest.approx(factor * RATIO(means), abs=1e-9)
    if factor < 1:
        for block in map(list, BLOCKS):
            middle = means[block].max() + means[block].min()
            assert shrunk[block].max() + shrunk[block].min() == pytest.approx(middle, abs=1e-12)


@given(means=hnp.arrays(np.float64, 5, elements=st.floats(0.1, 1), unique=True))
def test_slope_of_a_ratio(means):
    step = 1e-7 * np.eye(5)
    slopes = [(RATIO(means + one) - RATIO(means - one)) / 2e-7 for one in step]
    ordered = np.sort(means)
    ratios = sorted(means[list(block)].min() / means[list(block)].max() for block in BLOCKS)
    if np.diff(ordered).min() > 1e-5 and np.diff(ratios).min() > 1e-5:
        np.testing.assert_allclose(RATIO.subgradient(means), slopes, atol=1e-4)


def test_a_ratio_changes_by_one_sample():
    assert RangeGap(BLOCKS).one_sample_change(MEANS, 50) == 1 / 50
    assert RATIO.one_sample_change(MEANS, 50) == 1 / (50 * 0.5)
    assert RATIO.one_sample_change(np.zeros(5), 50) == 1


def test_the_interval_of_a_gap_is_that_of_its_largest_form():
    means = Rates.from_sums(np.array([[9.0] * 3, [20.0] * 3]), np.array([[31.0] * 3, [20.0] * 3]))
    gap = RangeGap(((0, 1),))
    interval = gap.interval(means, 0.9)
    assert interval == interval_of_largest_contrast(means, gap.linear_forms(2), 0.9)
    assert interval.estimate == pytest.approx(0.5 - 9 / 40)
    ratio = RatioGap(((0, 1),)).interval(means, 0.9)
    assert ratio.estimate == pytest.approx(1 - (9 / 40) / 0.5)
    assert ratio.low < ratio.estimate < ratio.high


def test_a_scaled_excess_may_be_negative():
    # Means 0.1 and 0.5 of groups, 0.9 of the reference: 0.8 * 0.5 - 0.9.
    gap = AboveReference(((0, 2), (1, 2)), 0.8)
    means = np.array([0.1, 0.5, 0.9])
    assert gap(means) == pytest.approx(-0.5)
    np.testing.assert_array_equal(gap.subgradient(means), [0.0, 0.8, -1.0])
