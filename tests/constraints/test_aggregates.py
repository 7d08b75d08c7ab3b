"""Gaps by hand; subgradients and rows by what defines them."""

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skfair.constraints._aggregates import (
    Excess,
    Largest,
    MeanPositiveExcess,
    Range,
    SignedMeanExcess,
    SingleRow,
    TotalDifference,
    TotalRange,
)

BLOCKS = ((0, 1), (2, 3, 4))
PAIRS = ((0, 2), (1, 2), (3, 4))
AGGREGATES = {
    "range": Range(BLOCKS),
    "total range": TotalRange(BLOCKS),
    "total difference": TotalDifference(((0, 1), (2, 3))),
    "excess": Excess(PAIRS),
    "mean excess": MeanPositiveExcess(PAIRS),
    "signed mean": SignedMeanExcess(PAIRS),
    "largest": Largest((0, 2, 4)),
    "single row": SingleRow(TotalRange(BLOCKS)),
}
MEANS = np.array([0.1, 0.5, 0.3, 0.9, 0.2])

aggregates = pytest.mark.parametrize("aggregate", AGGREGATES.values(), ids=AGGREGATES.keys())
numbers = hnp.arrays(np.float64, 5, elements=st.floats(-1, 1))


@pytest.mark.parametrize(
    "name, expected",
    [
        ("range", 0.7),
        ("total range", 1.1),
        ("total difference", 1.0),
        ("excess", 0.7),
        ("mean excess", (0.2 + 0.7) / 3),
        ("signed mean", (-0.2 + 0.2 + 0.7) / 3),
        ("largest", 0.3),
        ("single row", 1.1),
    ],
)
def test_gap_by_hand(name, expected):
    assert AGGREGATES[name].gap(MEANS) == pytest.approx(expected, rel=1e-15)


@aggregates
def test_gaps_of_columns(aggregate):
    columns = np.random.default_rng(0).normal(size=(5, 7))
    gaps = aggregate.gap(columns)
    np.testing.assert_array_equal(gaps, [aggregate.gap(column) for column in columns.T])


@aggregates
@given(means=numbers, others=numbers)
def test_the_gap_lies_above_its_tangents(aggregate, means, others):
    tangent = aggregate.gap(means) + aggregate.subgradient(means) @ (others - means)
    assert aggregate.gap(others) >= tangent - 1e-12


@aggregates
@given(means=numbers, tolerance=st.floats(0, 1))
def test_rows_at_the_unknowns_say_whether_the_gap_is_kept(aggregate, means, tolerance):
    rows = aggregate.rows(5, tolerance)
    values, _ = rows.at(means, aggregate.unknowns(means))
    excess = np.maximum(values - rows.upper, rows.lower - values).max()
    assert max(0.0, excess) == pytest.approx(
        max(0.0, aggregate.gap(means) - tolerance), rel=0, abs=1e-12
    )


@pytest.mark.parametrize(
    "name, n_rows, n_aux",
    [
        ("range", 1 + 3, 1),
        ("total range", 2 * 5 + 1, 4),
        ("total difference", 2, 0),
        ("excess", 3, 0),
        ("mean excess", 2 * 3 + 1, 3),
        ("signed mean", 1, 0),
        ("largest", 3, 0),
        ("single row", 1, 0),
    ],
)
def test_numbers_of_rows_and_unknowns(name, n_rows, n_aux):
    rows = AGGREGATES[name].rows(5, 0.1)
    assert rows.aux.shape == (n_rows, n_aux)
    assert len(rows.lower) == len(rows.upper) == n_rows


def test_two_rates_need_one_two_sided_row():
    rows = Range(((0, 1),)).rows(2, 0.1)
    np.testing.assert_array_equal(rows.combine, [[-1, 1]])
    assert (rows.lower[0], rows.upper[0]) == (-0.1, 0.1)


@given(means=hnp.arrays(np.float64, 6, elements=st.floats(-1, 1)))
def test_differences_of_pairs_are_their_ranges(means):
    blocks = ((0, 1), (2, 3), (4, 5))
    of_pairs, general = TotalDifference(blocks), TotalRange(blocks)
    assert of_pairs.gap(means) == general.gap(means)
    assert len(of_pairs.rows(6, 0.1).lower) == 4


@pytest.mark.parametrize("aggregate", [Range(()), SingleRow(Range(()))])
def test_nothing_to_compare(aggregate):
    rows, means = aggregate.rows(2, 0.1), np.array([0.2, 0.9])
    assert aggregate.gap(means) == 0
    np.testing.assert_array_equal(aggregate.gap(np.ones((2, 3))), np.zeros(3))
    values, combine = rows.at(means, aggregate.unknowns(means))
    assert values.shape == (0,) and combine.shape == (0, 2) and rows.aux.shape == (0, 0)


@aggregates
@given(means=numbers)
def test_a_gap_is_the_largest_of_its_linear_forms_or_0(aggregate, means):
    if isinstance(aggregate, SingleRow):  # another way to bound the same gap
        return
    forms = aggregate.contrasts(5) @ means
    gap = aggregate.gap(means)
    assert max(0.0, forms.max()) == pytest.approx(max(0.0, gap), abs=1e-12)


def test_forms_of_nothing_and_of_too_many():
    assert Range(()).contrasts(3).shape == (0, 3)
    assert TotalRange(()).contrasts(3).toarray().tolist() == [[0, 0, 0]]
    many = TotalRange(tuple(tuple(range(10 * b, 10 * b + 10)) for b in range(3)))
    with pytest.raises(ValueError, match='aggregate="max"'):
        many.contrasts(30)
