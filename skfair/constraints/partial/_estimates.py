"""Estimates of the population's gap on an interval of percentiles."""

import numpy as np
from scipy import sparse

from skfair.inference import AUCs, Curves, curve_pairs, kish_sizes

_MAX_THRESHOLDS = 2000
"""Thresholds up to which each distinct score is one."""


def estimate_curves(bound, scores):
    """Shares above thresholds as positions in the interval, and their differences.

    `scores` do not depend on these samples. A class whose members rank in their whole group is
    refused: its share of the interval is no share of a number that is known beforehand.
    """
    ranked = bound.ranked
    if ranked.ranks_in_groups:
        raise ValueError(
            f"{bound.name} ranks samples among their whole group and compares a class of them: no "
            'limit is known of that. Rank within the class, with rank_within="class".'
        )
    thresholds, lag = _compared_thresholds(bound, scores)
    events = ranked.events
    shares = np.array(
        [_shares_above(*events.members(e), scores, thresholds) for e in range(events.n_events)]
    )
    sizes = kish_sizes(events)
    forms = curve_pairs(ranked.cells.blocks, len(shares), len(thresholds), lag)
    is_raw = bound.criterion.scale == "raw"
    # Raw differences count where the rank of either group may lie in its interval.
    if is_raw and not bound.is_correctable:
        may_count = _may_be_inside([interval.pairs for interval in ranked.intervals])
        return Curves(shares, sizes, lambda values: values, may_count), forms
    units = ranked.widths if is_raw else np.ones(len(shares))

    def map_to_interval(values):
        of_events = zip(ranked.intervals, units, values, strict=True)
        return np.array([unit * interval.position_of(share) for interval, unit, share in of_events])

    return Curves(shares, sizes, map_to_interval), forms


def _compared_thresholds(bound, scores):
    """Thresholds of the comparison, descending, and by how many the larger one may lie ahead."""
    if bound.is_correctable:
        return np.array([bound.criterion.threshold]), 0
    distinct = np.append(np.unique(scores)[::-1], -np.inf)
    if len(distinct) <= _MAX_THRESHOLDS:
        return distinct, 0
    # Between two thresholds that are left out, a difference is one of shares one step apart.
    chosen = np.unique(np.linspace(0, len(distinct) - 1, _MAX_THRESHOLDS).astype(int))
    return distinct[chosen], 1


def _shares_above(rows, shares, scores, thresholds):
    """Share of an event above descending thresholds."""
    order = np.argsort(-scores[rows], kind="stable")
    # Cumulative shares by descending score; scores equal to a threshold are not above it.
    reached = np.append(0.0, np.cumsum(shares[order]))
    above = np.searchsorted(-scores[rows][order], -thresholds, side="left")
    return np.minimum(reached[above], 1.0)


def _may_be_inside(intervals):
    """Function of two limits: whether a share between them may lie in the interval of its event."""

    def may_count(low, high):
        inside = np.zeros(low.shape, dtype=bool)
        for event, pairs in enumerate(intervals):
            for begin, end in pairs:
                inside[event] |= (low[event] <= end) & (high[event] >= begin)
        return inside

    return may_count


def estimate_areas(bound, scores):
    """Probabilities that one group scores above another, less 1/2: one per pair, and both signs.

    `scores` do not depend on these samples. An interval that is not (0, 1) is refused: which
    members are inside depends on the sample.
    """
    if (bound.ranked.widths < 1.0).any():
        raise ValueError(
            f"{bound.name} compares samples that rank in an interval of a sample: a limit is known "
            "of it for the interval (0, 1) only. Certify partial_statistical_parity instead."
        )
    events = bound.events
    members_of = [rows for rows, _ in map(events.members, range(events.n_events))]
    # Each pair of groups is a sample of its own, of positives and negatives.
    pairs = [(a, b) for a in range(len(members_of)) for b in range(a)]
    sizes = np.array([(len(members_of[a]), len(members_of[b])) for a, b in pairs])
    positive = np.repeat(np.tile([True, False], len(pairs)), sizes.ravel())
    rows = np.concatenate([np.concatenate((members_of[a], members_of[b])) for a, b in pairs])
    ends = np.cumsum(sizes.sum(axis=1))[:-1]
    members = np.split(np.arange(len(rows)), ends)
    weights = bound.ranked.samples.weights
    areas = AUCs(positive, scores[rows], members, weights[rows], center=0.5)
    each = sparse.eye_array(len(pairs), format="csr")
    return areas, sparse.vstack((each, -each), format="csr")
