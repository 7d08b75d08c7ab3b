"""The best order under bounds on the counts of prefixes, against all sequences of cells."""

from itertools import product

import numpy as np
import pytest

from skfair._kernels import compile_at_first_call
from skfair._kernels.prefix_counts import count_states, find_best_order


@pytest.mark.parametrize("sizes", [[1, 2], [3], [2, 0, 4], [5, 1, 1, 2]])
def test_states_are_all_counts_of_a_sum(sizes):
    n_states = count_states(np.array(sizes), 6)
    for first in range(len(sizes) + 1):
        sums = [sum(counts) for counts in product(*[range(one + 1) for one in sizes[first:]])]
        np.testing.assert_array_equal(n_states[first], np.bincount(sums, minlength=20)[:7])


def draw_problem(seed):
    """Scores of two to four cells, and bounds on their counts in five prefixes."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, rng.integers(2, 5))
    scores = -np.sort(-rng.integers(-3, 4, (len(sizes), 5)), axis=1) * 1.0
    n_ranks = min(5, sizes.sum())
    is_member = rng.random((2, len(sizes))) < 0.5
    low = rng.integers(0, 3, (2, n_ranks))
    high = low + rng.integers(0, 3, (2, n_ranks))
    attention = np.sort(rng.random(n_ranks))[::-1]
    return scores[:, :n_ranks], sizes, attention, is_member, low, high


def rate_order(cells, scores, sizes, attention, is_member, low, high):
    """Misses and negative value of a sequence of cells; None if a cell has too few documents."""
    counts = np.cumsum([np.arange(len(sizes)) == cell for cell in cells], axis=0)
    if (counts[-1] > sizes).any():
        return None
    of_bounds = (counts @ is_member.T).T
    misses = np.maximum(0, low - of_bounds).sum() + np.maximum(0, of_bounds - high).sum()
    places = [counts[rank, cell] - 1 for rank, cell in enumerate(cells)]
    return misses, -(scores[list(cells), places] * attention).sum()


@pytest.mark.parametrize("seed", range(40))
def test_the_order_has_the_fewest_misses_and_then_the_largest_value(seed):
    problem = draw_problem(seed)
    sequences = product(range(len(problem[1])), repeat=len(problem[2]))
    rated = [rate_order(cells, *problem) for cells in sequences]
    fewest, cost = min(one for one in rated if one is not None)
    interpreted = find_best_order(*problem)
    with compile_at_first_call():
        cells = find_best_order(*problem)
    np.testing.assert_array_equal(cells, interpreted)
    misses, reached = rate_order(cells.tolist(), *problem)
    assert misses == fewest
    assert reached == pytest.approx(cost, abs=1e-12)
