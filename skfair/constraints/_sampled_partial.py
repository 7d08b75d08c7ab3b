"""What people tell of a population's gap on an interval of percentiles."""

import numpy as np
from scipy import sparse

from skfair.inference import AUCs, Curves, curve_pairs

_MANY_THRESHOLDS = 2000
"""Thresholds up to which each distinct score is one."""


def sampled_curves(bound, scores):
    """Shares above thresholds, mapped to the interval.

    Parameters
    ----------
    bound : BoundPartialParity
        A criterion on shares.
    scores : ndarray of shape (n_samples,)
        Scores that do not depend on these people, without ties that matter.

    Returns
    -------
    estimates : Curves
        One per event and threshold.
    contrasts : csr_array of shape (n_forms, n_events * n_thresholds)
        Differences, of which the gap is the largest.

    Raises
    ------
    ValueError
        If a class is compared where people rank among their whole group: its share of the interval
        is no share of a number that is known beforehand.
    """
    if bound.constraint.ranks_people_in_groups:
        raise ValueError(
            f"{bound.name} ranks people among their whole group and compares a class of them: no "
            'limit is known of that. Rank within the class, with rank_within="class".'
        )
    thresholds, lag = _thresholds(bound, scores)
    members, positions = bound.members, bound.positions
    shares = np.array(
        [_shares_above(*members.members(e), scores, thresholds) for e in range(members.n_events)]
    )
    sizes = 1.0 / members.averaging.power(2).sum(axis=1)
    blocks = bound.events.blocks
    contrasts = curve_pairs(blocks, len(shares), len(thresholds), lag)
    is_raw = getattr(bound.constraint, "scale", "normalized") == "raw"
    if is_raw and not bound.is_correctable:
        counted = _inside([position.pairs for position in positions])
        return Curves(shares, sizes, lambda found: found, counted), contrasts
    units = [position.width if is_raw else 1.0 for position in positions]

    def mapped(found):
        own = zip(positions, units, found, strict=True)
        return np.array([unit * position.of(share) for position, unit, share in own])

    return Curves(shares, sizes, mapped), contrasts


def _thresholds(bound, scores):
    """Where shares are compared, descending, and by how many the larger one may lie ahead."""
    if bound.is_correctable:
        return np.array([bound.constraint.threshold]), 0
    distinct = np.append(np.unique(scores)[::-1], -np.inf)
    if len(distinct) <= _MANY_THRESHOLDS:
        return distinct, 0
    kept = np.unique(np.linspace(0, len(distinct) - 1, _MANY_THRESHOLDS).astype(int))
    return distinct[kept], 1


def _shares_above(rows, shares, scores, thresholds):
    order = np.argsort(-scores[rows], kind="stable")
    reached = np.append(0.0, np.cumsum(shares[order]))
    above = np.searchsorted(-scores[rows][order], -thresholds, side="left")
    return np.minimum(reached[above], 1.0)


def _inside(intervals):
    """Whether a share between two limits may lie in the interval of its event."""

    def counted(low, high):
        found = np.zeros(low.shape, dtype=bool)
        for event, pairs in enumerate(intervals):
            for begin, end in pairs:
                found[event] |= (low[event] <= end) & (high[event] >= begin)
        return found

    return counted


def sampled_areas(bound, scores):
    """Probabilities that one group scores above another, less one half.

    Parameters
    ----------
    bound : BoundPartialParity
        The criterion, on the whole of the ranks.
    scores : ndarray of shape (n_samples,)
        Scores that do not depend on these people.

    Returns
    -------
    estimates : AUCs
        One per pair of events.
    contrasts : csr_array of shape (2 * n_pairs, n_pairs)
        Each and its negative.

    Raises
    ------
    ValueError
        If the interval is not all of them: who is inside depends on the sample.
    """
    if any(position.width < 1.0 for position in bound.positions):
        raise ValueError(
            f"{bound.name} compares those who rank in an interval of a sample: a limit is known of "
            "it for the interval (0, 1) only. Certify partial_statistical_parity instead."
        )
    own = [rows for rows, _ in map(bound.members.members, range(bound.members.n_events))]
    pairs = [(a, b) for a in range(len(own)) for b in range(a)]
    sizes = np.array([(len(own[a]), len(own[b])) for a, b in pairs])
    positive = np.repeat(np.tile([True, False], len(pairs)), sizes.ravel())
    rows = np.concatenate([np.concatenate((own[a], own[b])) for a, b in pairs])
    ends = np.cumsum(sizes.sum(axis=1))[:-1]
    members = np.split(np.arange(len(rows)), ends)
    areas = AUCs(positive, scores[rows], members, bound.people.weights[rows], center=0.5)
    each = sparse.eye_array(len(pairs), format="csr")
    return areas, sparse.vstack((each, -each), format="csr")
