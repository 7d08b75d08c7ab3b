"""Kernels of ranks: shares of groups above thresholds, and mean ranks of tied values."""

import numpy as np

from skfair._kernels import interpret_at_first


def trace_share_curves(scores, weights, bounds, limits, limit_bounds):
    """Share of the selected of each group above every selected score, (n_groups, n_thresholds).

    The members of group g are those from ``bounds[g]`` to ``bounds[g + 1]``, with descending
    scores. Their ranks are selected that lie in [begin, end) of a row of ``limits``, whose rows
    belong to groups as members do. The last threshold is -inf. The shares of a group without
    selected members are nan.
    """
    n_groups = len(bounds) - 1
    values = np.empty(len(scores))
    up_to = np.empty(len(scores))
    ends = np.empty(n_groups, dtype=np.int64)
    curves = np.full((n_groups, len(scores) + 1), np.nan)
    n_thresholds = _trace_share_curves(
        scores, weights, bounds, limits, limit_bounds, values, up_to, ends, curves
    )
    return curves[:, :n_thresholds]


@interpret_at_first(lambda scores, *_: 4 * scores.size)
def _trace_share_curves(scores, weights, bounds, limits, limit_bounds, values, up_to, ends, curves):
    n_groups = len(bounds) - 1
    # Distinct selected scores of every group, and the selected weight at or above each.
    for g in range(n_groups):
        total = 0.0
        for i in range(bounds[g], bounds[g + 1]):
            total += weights[i]
        above = 0.0
        selected = 0.0
        ends[g] = bounds[g]
        i = bounds[g]
        while i < bounds[g + 1]:
            # Tied scores are one value with one rank: the share of the group strictly above it.
            value = scores[i]
            rank = above / total
            tied = weights[i]
            i += 1
            while i < bounds[g + 1] and scores[i] == value:
                tied += weights[i]
                i += 1
            above += tied
            for row in range(limit_bounds[g], limit_bounds[g + 1]):
                if limits[row, 0] <= rank < limits[row, 1]:
                    selected += tied
                    values[ends[g]] = value
                    up_to[ends[g]] = selected
                    ends[g] += 1
                    break
    # All groups at the selected scores of all, from the highest on.
    positions = bounds[:-1].copy()
    n_thresholds = 0
    threshold = np.inf
    while threshold > -np.inf:
        threshold = -np.inf
        for g in range(n_groups):
            if positions[g] < ends[g]:
                threshold = max(threshold, values[positions[g]])
        for g in range(n_groups):
            if ends[g] > bounds[g]:
                passed = up_to[positions[g] - 1] if positions[g] > bounds[g] else 0.0
                curves[g, n_thresholds] = passed / up_to[ends[g] - 1]
            if positions[g] < ends[g] and values[positions[g]] == threshold:
                positions[g] += 1
        n_thresholds += 1
    return n_thresholds


def average_ranks(values, weights):
    """Weighted share of the samples that have lower values, and half of those with equal ones."""
    ranks = np.empty(len(values))
    _average_ranks(values, weights, np.argsort(values), ranks)
    return ranks


@interpret_at_first(lambda values, *_: 2 * values.size)
def _average_ranks(values, weights, order, ranks):
    below = 0.0
    start = 0
    for end in range(1, len(order) + 1):
        if end < len(order) and values[order[end]] == values[order[start]]:
            continue
        tied = 0.0
        for i in range(start, end):
            tied += weights[order[i]]
        for i in range(start, end):
            ranks[order[i]] = below + tied / 2.0
        below += tied
        start = end
