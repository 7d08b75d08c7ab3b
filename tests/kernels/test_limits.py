"""Rows over group counts, and what a move does to them."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skfair._kernels import limits as limits_kernels
from tests.kernels.standalone import standalone

# Compiled kernels divide by zero in silence; run by the interpreter, they warn.
pytestmark = pytest.mark.filterwarnings("ignore:.* encountered in scalar:RuntimeWarning")


@st.composite
def tables(draw):
    """Counts by cluster and group, of two attributes, and limits with random rows."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    intersections = np.array([*product([0, 1], [2, 3, 4])])
    limits = limits_kernels.balance_limits(5, rng.uniform())._replace(
        intersections=intersections,
        scales=np.array([[1.0, 1, 0, 0, 0], [0, 0, 1, 1, 1]]),
        factors=np.ones(2),
        slack=np.full(2, float(rng.integers(2))),
    )
    n_rows = draw(st.integers(0, 3))
    # One line of bounds for all clusters, or one for each.
    rows = rng.normal(size=(n_rows, 5))
    bounds = rng.normal(size=(rng.choice([1, 3]), n_rows))
    limits = limits_kernels.add_rows(limits, rows, 5 * bounds, rng.integers(2, size=n_rows))
    numbers = rng.integers(0, 6, size=(3, 6))
    counts = np.zeros((3, 5))
    members = np.zeros((3, 5), dtype=np.int64)
    for code, groups in enumerate(intersections):
        counts[:, groups] += 0.5 * numbers[:, [code]]
        members[:, groups] += numbers[:, [code]]
    return limits, counts, members, numbers


@pytest.mark.slow
@given(tables())
def test_a_change_is_allowed_if_the_limits_hold_after_it_or_get_no_worse(table):
    limits, counts, members, numbers = table
    for k, code, change in product(range(3), range(6), (0.5, -0.5)):
        if change < 0 and numbers[k, code] == 0:
            continue
        after = counts[k].copy()
        groups = limits.intersections[code]
        after[groups] += change
        values = limits.rows @ after
        before = limits.rows @ counts[k]
        bounds = np.broadcast_to(limits.bounds, (3, len(limits.rows)))[k] + limits.rounding
        holds = ((values <= bounds) | (values <= before)).all()
        after_members = members[k].copy()
        after_members[groups] += 1 if change > 0 else -1
        ratio = standalone(limits_kernels.composition_ratio)(after, after_members, limits)
        # A change of one attribute's groups compares that attribute; here it changes both.
        holds &= ratio >= limits.level * (1 - 1e-12)
        allowed = standalone(limits_kernels.allows_change)(
            counts[k], members[k], k, code, change, limits
        )
        assert allowed == holds


@pytest.mark.slow
@given(tables())
def test_an_exchange_is_allowed_if_the_limits_hold_after_it(table):
    limits, counts, members, numbers = table
    for k, leaving, joining in product(range(3), range(6), range(6)):
        if numbers[k, leaving] == 0 or leaving == joining or numbers[k].sum() == 1:
            continue
        after = counts[k].copy()
        after_members = members[k].copy()
        for code, sign in ((leaving, -1), (joining, 1)):
            after[limits.intersections[code]] += 0.5 * sign
            after_members[limits.intersections[code]] += sign
        change = limits.rows @ (after - counts[k])
        bounds = np.broadcast_to(limits.bounds, (3, len(limits.rows)))[k] + limits.rounding
        holds = ((limits.rows @ after <= bounds) | (change <= 1e-12)).all()
        ratio = standalone(limits_kernels.composition_ratio)(after, after_members, limits)
        allowed = standalone(limits_kernels.allows_exchange)(
            counts[k], members[k], k, leaving, joining, 0.5, limits
        )
        assert allowed == (holds and ratio >= limits.level * (1 - 1e-12))


def test_rows_of_sizes_count_a_sample_once_for_all_attributes():
    limits = limits_kernels.balance_limits(4)._replace(
        intersections=np.array([[0, 2], [0, 3], [1, 2], [1, 3]])
    )
    rows, bounds = limits_kernels.size_rows(limits, 3.0, np.inf)
    np.testing.assert_array_equal(rows, [[-0.5] * 4])
    assert bounds.tolist() == [-3]
    limits = limits_kernels.add_rows(limits, *limits_kernels.size_rows(limits, 3.0, 5.0))
    assert limits_kernels.intersection_coefficients(limits).tolist() == [[-1, 1]] * 4
    counts = np.array([[2.0, 2.0, 3.0, 1.0], [1.0, 1.0, 1.0, 1.0], [6.0, 0.0, 2.0, 4.0]])
    np.testing.assert_array_equal(
        limits_kernels.row_excess(counts, limits), [[-1, -1], [1, -3], [-3, 1]]
    )
    assert limits_kernels.satisfies_rows(counts[:1], limits)
    assert not limits_kernels.satisfies_rows(counts, limits)
    assert limits_kernels.max_violation(counts, limits) == 1
    # The pair of groups 0 and 1 at ratio .5: the last cluster lacks 3.
    assert limits_kernels.max_violation(counts, limits._replace(level=0.5)) == 3
    reached = limits_kernels.limits_at_counts(counts, limits)
    assert reached.bounds.tolist() == [[-2, 6]]
    # Of two lines each is that of its cluster.
    of_each = limits_kernels.add_rows(limits, np.ones((1, 4)), np.array([[5.0], [2.0], [20.0]]))
    assert of_each.bounds.tolist() == [[-3, 5, 5], [-3, 5, 2], [-3, 5, 20]]
    excess = limits_kernels.row_excess(counts, of_each)
    np.testing.assert_array_equal(excess, [[-1, -1, 3], [1, -3, 2], [-3, 1, -8]])
    reached = limits_kernels.limits_at_counts(counts, of_each).bounds
    np.testing.assert_array_equal(reached, [[-3, 5, 8], [-2, 5, 4], [-3, 6, 20]])
    assert not limits_kernels.has_rows(limits_kernels.balance_limits(2))
    assert limits_kernels.has_rows(limits)


def ratio(counts, members, **limits):
    limits = limits_kernels.balance_limits(len(counts))._replace(**limits)
    return standalone(limits_kernels.composition_ratio)(np.array(counts), np.array(members), limits)


def test_the_ratio_is_smallest_over_largest_group():
    assert ratio([2.0, 8.0, 4.0], [1, 3, 2]) == 0.25
    assert ratio([5.0], [2]) == 1
    # Rounding may leave some weight where the last member has gone: members decide.
    assert ratio([1e-17, 8.0], [0, 3]) == 0


def test_the_ratio_in_other_scales_and_up_to_one_sample():
    # 2 of 4 and 8 of 8: shares of .5 and 1.
    shares = np.array([[1 / 4, 1 / 8]])
    assert ratio([2.0, 8.0], [2, 8], scales=shares) == 0.5
    both = {"scales": np.array([[1.0, 1.0], [1 / 4, 1 / 8]]), "factors": np.array([1.0, 0.4])}
    both["slack"] = np.zeros(2)
    assert ratio([2.0, 8.0], [2, 8], **both) == pytest.approx(0.2)  # the second, times .4
    assert ratio([2.0, 8.0], [2, 8], slack=np.ones(1)) == 3 / 7
    assert ratio([0.0, 8.0], [0, 8], slack=np.ones(1)) == 0  # a group is missing all the same
    assert ratio([1.0, 1.0], [1, 1], slack=np.ones(1)) == np.inf


def test_the_groups_that_bind_are_those_of_the_least_ratio():
    counts = np.array([2.0, 8.0, 3.0])
    limits = limits_kernels.balance_limits(3)
    assert standalone(limits_kernels.find_least_ratio)(counts, limits) == (0, 1)
    scales = np.array([[1.0, 1.0, 1.0], [1.0, 0.5, 9.0]])
    limits = limits._replace(scales=scales, factors=np.ones(2), slack=np.zeros(2))
    assert standalone(limits_kernels.find_least_ratio)(counts, limits) == (0, 2)
    limits = limits._replace(factors=np.array([1.0, 9.0]))
    assert standalone(limits_kernels.find_least_ratio)(counts, limits) == (0, 1)


def test_the_ratio_after_a_change_leaves_the_table_as_it_is():
    counts = np.array([2.0, 4.0])
    members = np.array([1, 2])
    limits = limits_kernels.balance_limits(2)
    assert standalone(limits_kernels.ratio_after)(counts, members, 0, 2.0, limits) == 1
    assert standalone(limits_kernels.ratio_after)(counts, members, 0, -2.0, limits) == 0
    assert counts.tolist() == [2, 4]
    assert members.tolist() == [1, 2]
