"""The best order of documents under bounds on group counts in every prefix of its ranks.

Documents that count in the same bounds are a cell. Let an order rank a document of a cell above a
better one of it. To exchange the two changes no count and cannot lower the sum of score times
attention, which falls with the rank. So some best order ranks each cell by score, and is a path of
counts: how many documents of each cell are among the first 1, 2, ... ranks. The misses of the
bounds on a prefix follow from its counts, so the best path to given counts extends a best path to
counts with one document less. This holds for all scores, ties, minimum and maximum numbers.
"""

import numpy as np

from skfair._kernels import helper, interpret_at_first


def count_states(sizes, n_ranks):
    """Number of states, which are counts of documents, by the first cell and by the sum.

    ``sizes`` is (n_cells,) largest counts. Row j of (n_cells + 1, n_ranks + 1) has the counts of
    the cells j, j + 1, ... with sum 0, 1, ..., n_ranks. Numbers are floats, exact below 2**53. With
    sizes 1 and 2, row 0 is 1, 2, 2, 1.
    """
    n_states = np.zeros((len(sizes) + 1, n_ranks + 1))
    n_states[-1, 0] = 1.0
    for cell in reversed(range(len(sizes))):
        for count in range(min(sizes[cell], n_ranks) + 1):
            n_states[cell, count:] += n_states[cell + 1, : n_ranks + 1 - count]
    return n_states


def find_best_order(scores, sizes, attention, is_member, low, high):
    """Cell of the document at each rank: fewest misses of bounds, then the largest value.

    ``scores`` is (n_cells, n_ranks), of the best documents of each cell in descending order, and
    ``sizes`` (n_cells,) how many there are. ``is_member`` is (n_bounds, n_cells), ``low`` and
    ``high`` (n_bounds, n_ranks). The value is the sum of score times attention.
    """
    # numba compiles a kernel for each layout of its arrays.
    scores, is_member = np.ascontiguousarray(scores), np.ascontiguousarray(is_member)
    n_ranks = len(attention)
    n_states = count_states(sizes, n_ranks).astype(np.int64)
    n_largest = n_states[0].max()  # states of a prefix
    last_cells = np.empty(n_states[0, 1:].sum(), dtype=np.int32)
    misses = np.zeros((2, n_largest), dtype=np.int64)
    values = np.zeros((2, n_largest))
    cells = np.empty(n_ranks, dtype=np.int64)
    _search_orders(
        scores, sizes, attention, is_member, low, high, n_states, misses, values, last_cells, cells
    )
    return cells


@helper
def _fill_from_last(counts, first, total, sizes):
    """Give the cells from the first one on the counts that come first in the order of states."""
    for cell in range(len(counts) - 1, first - 1, -1):
        counts[cell] = min(total, sizes[cell])
        total -= counts[cell]


@helper
def _move_to_next_state(counts, sizes):
    """Replace counts by the next ones of the same sum, in lexicographic order."""
    behind = 0  # documents of the cells behind
    for cell in range(len(counts) - 1, -1, -1):
        if behind > 0 and counts[cell] < sizes[cell]:
            counts[cell] += 1
            _fill_from_last(counts, cell + 1, behind - 1, sizes)
            return
        behind += counts[cell]


@helper
def _count_misses(counts, is_member, low, high, prefix):
    """By how many documents in all the counts of a prefix miss its bounds."""
    misses = 0
    for bound in range(len(is_member)):
        count = 0
        for cell in range(len(counts)):
            count += is_member[bound, cell] * counts[cell]
        misses += max(low[bound, prefix] - count, count - high[bound, prefix], 0)
    return misses


@helper
def _follow_path(state, counts, n_states, last_cells, cells):
    """Fill the cell at each rank on the best path to a state of the last prefix."""
    first_state = len(last_cells)  # of a prefix, among the states of all
    for taken in range(len(cells), 0, -1):
        first_state -= n_states[0, taken]
        last_cell = last_cells[first_state + state]
        cells[taken - 1] = last_cell
        # The number of the counts with one document less, as in the search.
        left = taken
        for cell in range(last_cell):
            state -= n_states[cell + 1, left]
            left -= counts[cell]
            state += n_states[cell + 1, left]
        state -= n_states[last_cell + 1, left]
        counts[last_cell] -= 1


def _count_steps(scores, sizes, attention, is_member, low, high, n_states, *_):
    """Number of innermost steps: predecessors and bounds of all states."""
    return int(n_states[0].sum()) * len(sizes) * (2 + len(is_member))


@interpret_at_first(_count_steps)
def _search_orders(
    scores, sizes, attention, is_member, low, high, n_states, misses, values, last_cells, cells
):
    """Fill the last cell of the best order to each state, and the cells of the best order.

    A state is the counts of a prefix. The states of a prefix are numbered in lexicographic order,
    and those of all prefixes follow each other in ``last_cells``. ``misses`` and ``values`` are
    (2, n), for the states of a prefix and the next one.
    """
    counts = np.empty(len(sizes), dtype=np.int64)
    best_counts = np.empty(len(sizes), dtype=np.int64)
    best_state = 0
    first_state = -1  # of this prefix, among the states of all; no document is one state
    for taken in range(1, len(attention) + 1):
        before, now = (taken - 1) % 2, taken % 2
        first_state += n_states[0, taken - 1]
        _fill_from_last(counts, 0, taken, sizes)
        for state in range(n_states[0, taken]):
            # The best order to these counts ends with a document of one of the cells.
            fewest = np.int64(0)
            largest = 0.0
            last_cell = -1
            # The number of the counts with one document less is smaller by the counts between.
            previous = state
            left = taken  # documents of this cell and those behind
            for cell in range(len(sizes)):
                previous -= n_states[cell + 1, left]
                if counts[cell] > 0:
                    gain = attention[taken - 1] * scores[cell, counts[cell] - 1]
                    value = values[before, previous] + gain
                    n_misses = misses[before, previous]
                    is_fewer = n_misses < fewest
                    if last_cell < 0 or is_fewer or (n_misses == fewest and value > largest):
                        fewest = n_misses
                        largest = value
                        last_cell = cell
                left -= counts[cell]
                previous += n_states[cell + 1, left]
            last_cells[first_state + state] = last_cell
            fewest += _count_misses(counts, is_member, low, high, taken - 1)
            misses[now, state] = fewest
            values[now, state] = largest
            # The best state of the last prefix is the end of the best path.
            is_fewer = fewest < misses[now, best_state]
            is_larger = fewest == misses[now, best_state] and largest > values[now, best_state]
            if state == 0 or is_fewer or is_larger:
                best_state = state
                best_counts[:] = counts
            _move_to_next_state(counts, sizes)
    _follow_path(best_state, best_counts, n_states, last_cells, cells)
