"""Ranks: shares of groups above thresholds, and mean ranks of tied values."""

import numpy as np


def trace_share_curves(scores, weights, bounds, limits, limit_bounds):
    """Share of the selected of each group above every selected score, (n_groups, n_thresholds).

    The members of group g are those from ``bounds[g]`` to ``bounds[g + 1]``, with descending
    scores. Their ranks are selected that lie in [begin, end) of a row of ``limits``, whose rows
    belong to groups as members do. The last threshold is -inf. The shares of a group without
    selected members are nan.
    """
    selected = [
        _select_ranks(
            scores[bounds[g] : bounds[g + 1]],
            weights[bounds[g] : bounds[g + 1]],
            limits[limit_bounds[g] : limit_bounds[g + 1]],
        )
        for g in range(len(bounds) - 1)
    ]
    thresholds = np.unique(np.concatenate([[-np.inf], *(values for values, _ in selected)]))[::-1]
    curves = np.full((len(selected), len(thresholds)), np.nan)
    for curve, (values, up_to) in zip(curves, selected, strict=True):
        if len(values):
            curve[:] = up_to[np.searchsorted(-values, -thresholds)] / up_to[-1]
    return curves


def _select_ranks(scores, weights, limits):
    """Distinct selected scores of a group, descending, and the selected weight above each.

    The weight has one entry more, that of all.
    """
    # Tied scores are one value with one rank: the share of the group strictly above it.
    values, tied = _sum_ties(scores, weights)
    above = np.append(0.0, tied.cumsum())
    ranks = above[:-1] / above[-1]
    is_selected = ((limits[:, :1] <= ranks) & (ranks < limits[:, 1:2])).any(axis=0)
    return values[is_selected], np.append(0.0, tied[is_selected].cumsum())


def average_ranks(values, weights):
    """Weighted share of the samples that have lower values, and half of those with equal ones."""
    distinct, place = np.unique(values, return_inverse=True)
    tied = np.bincount(place, weights, len(distinct))
    return (tied.cumsum() - tied / 2)[place]


def _sum_ties(values, weights):
    """Distinct values of a sorted array, and the sum of the weights of each."""
    is_first = np.append(True, values[1:] != values[:-1])[: len(values)]
    return values[is_first], np.bincount(is_first.cumsum() - 1, weights)
