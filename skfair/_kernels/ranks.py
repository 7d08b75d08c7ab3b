"""Ranks: shares of groups above thresholds."""

import numpy as np

from skfair._kernels import interpret_at_first


def trace_share_curves(scores, weights, bounds, limits, limit_bounds):
    """Share of the selected of each group above every selected score, (n_groups, n_thresholds).

    The members of group g are those from ``bounds[g]`` to ``bounds[g + 1]``, with descending
    scores. Their ranks are selected that lie in [begin, end) of a row of ``limits``, whose rows
    belong to groups as members do. The last threshold is -inf. The shares of a group without
    selected members are nan.
    """
    curves = np.full((len(bounds) - 1, len(scores) + 1), np.nan)
    n_thresholds = _trace_share_curves(scores, weights, bounds, limits, limit_bounds, curves)
    return curves[:, :n_thresholds]


def _trace_by_numpy(scores, weights, bounds, limits, limit_bounds, curves):
    """As `_trace_share_curves`, to the bit: all sums add one term after the other."""
    is_first = np.ones(len(scores), dtype=bool)
    is_first[1:] = scores[1:] != scores[:-1]
    is_first[bounds[:-1][np.diff(bounds) > 0]] = True
    # Tied scores of a group are one value.
    first = np.flatnonzero(is_first)
    values, tied = scores[first], np.bincount(is_first.cumsum() - 1, weights)
    ends = np.searchsorted(first, bounds)  # of the values of each group
    is_selected = np.empty(len(values), dtype=bool)
    for g in range(len(curves)):
        # The rank of a value is the share of the group strictly above it.
        members = slice(ends[g], ends[g + 1])
        total = weights[bounds[g] : bounds[g + 1]].cumsum()[-1:]
        ranks = np.append(0.0, tied[members].cumsum())[:-1] / total
        low, high = limits[limit_bounds[g] : limit_bounds[g + 1]].T[..., np.newaxis]
        is_selected[members] = ((low <= ranks) & (ranks < high)).any(axis=0)
    # Cumulate the selected weight of each group along the values of all groups, descending.
    group = np.repeat(np.arange(len(curves)), np.diff(ends))[is_selected]
    values, tied = values[is_selected], tied[is_selected]
    order = np.argsort(-values, kind="stable")
    values = values[order]
    steps = np.zeros((len(curves), 1 + len(values)))
    steps[group[order], 1 + np.arange(len(values))] = tied[order]
    up_to = steps.cumsum(axis=1)
    # One threshold for each distinct value, and one below all.
    is_threshold = np.ones(1 + len(values), dtype=bool)
    is_threshold[1:-1] = values[1:] != values[:-1]
    n_thresholds = np.count_nonzero(is_threshold)
    has_selected = up_to[:, -1] > 0.0
    curves[has_selected, :n_thresholds] = (up_to[:, is_threshold] / up_to[:, -1:])[has_selected]
    return n_thresholds


@interpret_at_first(lambda scores, *_: scores.size // 10, by_numpy=_trace_by_numpy)
def _trace_share_curves(scores, weights, bounds, limits, limit_bounds, curves):
    """Fill the share of each group above each threshold; return the number of thresholds.

    `scores` and `weights`, (n_samples,), are sorted by group, from `bounds[g]` on, and descending
    within it. `curves` are (n_groups, n_samples + 1) and begin with 0.
    """
    n_groups = len(bounds) - 1
    values = np.empty(len(scores))
    up_to = np.empty(len(scores))
    ends = np.empty(n_groups, dtype=np.int64)
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
