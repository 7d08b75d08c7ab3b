"""Scores of very many people, condensed to as few as a gap hangs on.

A gap at all thresholds on an interval of percentiles hangs on few people: those around the ends of
the interval, and those where groups differ most. All others may as well be counted, bin by bin of
their scores. Bins that may hide what the gap hangs on are divided until few people are in them, who
are then looked at one by one: the public metric of counts and people is that of everybody.
"""

import numpy as np

from skfair.groups import is_in_intervals
from skfair.utils._balance import count_table

_FEW = 1 << 16
"""People who are looked at one by one."""

_N_BINS = 1 << 12
"""Bins that are counted at a time, and about as many more whenever some of them are divided."""

_GUARD = 1e-9
"""How much a rank may be off an end of an interval and count as there, as in the metrics."""


def first_cuts(scores):
    """Where the scores of everybody are first cut into bins.

    Parameters
    ----------
    scores : ndarray of shape (n_few,)
        Scores of some of them, who should be as many in each bin.

    Returns
    -------
    cuts : ndarray of shape (n_cuts,)
        Ascending.
    """
    return np.unique(np.quantile(scores, np.linspace(0.0, 1.0, _N_BINS), method="nearest"))


def counts(bound, scores, cuts):
    """Count the people of some part by bins of their scores.

    Parameters
    ----------
    bound : BoundPartialParity
        Who is in which event, and with which weight.
    scores : ndarray of shape (n_samples,)
        Scores.
    cuts : ndarray of shape (n_cuts,)
        Ascending; a bin is above one of them and up to the next.

    Returns
    -------
    weights : ndarray of shape (n_events, n_cuts + 1)
        Weight of every event in every bin.
    scored : ndarray of shape (n_cuts + 1,)
        Weight times score, summed over every bin.
    numbers : ndarray of int, shape (n_cuts + 1,)
        Members of events in every bin.
    """
    samples, events, _ = bound.members.memberships
    from skfair._kernels.percentile import bin_members

    places, n_bins = bin_members(scores, samples, cuts), len(cuts) + 1
    weights = bound.people.weights[samples]
    table = count_table(events, places, weights, bound.members.n_events, n_bins)
    scored = np.bincount(places, weights * scores[samples], n_bins)
    return table, scored, np.bincount(places, minlength=n_bins)


def members_within(bound, scores, cuts, bins):
    """Those of some part whose scores are in some of the bins.

    Parameters
    ----------
    bound, scores, cuts
        As in `counts`.
    bins : ndarray of bool, shape (n_cuts + 1,)
        Which bins.

    Returns
    -------
    scores, events, weights : ndarray of shape (n_members,)
        One of each for every membership.
    """
    samples, events, _ = bound.members.memberships
    from skfair._kernels.percentile import bin_members

    inside = bins[bin_members(scores, samples, cuts)]
    samples = samples[inside]
    return scores[samples], events[inside], bound.people.weights[samples]


def condensed(bound, cuts, count, collect):
    """A constraint and scores of few, of whom the gap is that of everybody.

    Parameters
    ----------
    bound : BoundPartialParity
        The constraint, of a criterion on all thresholds.
    cuts : ndarray of shape (n_cuts,)
        Where to cut scores into bins first, ascending; the last bin of all has no upper end.
    count : callable
        cuts -> what `BoundPartialParity.count` gives, summed over everybody.
    collect : callable
        (cuts, bins) -> list of what `BoundPartialParity.within` gives, of everybody.

    Returns
    -------
    constraint : BoundPartialParity
    scores : ndarray of shape (n_condensed,)
    """
    while True:
        weights, scored, numbers = count(cuts)
        is_whole = (numbers <= 1) | np.equal(*_ends(cuts))
        hiding = _hiding(bound, weights, is_whole)
        if numbers[hiding].sum() <= _FEW:
            break
        cuts = _divided(cuts, hiding)
    event, counted = np.nonzero(weights * ~hiding)
    at = scored[counted] / weights.sum(axis=0)[counted]
    at = np.clip(at, *_ends(cuts)[:, counted])  # which rounding might leave
    people = [(at, event, weights[event, counted])]
    if hiding.any():
        people += collect(cuts, hiding)
    scores, events, weights = map(np.concatenate, zip(*people, strict=True))
    return bound.of_members(events, weights), scores


def _hiding(bound, weights, is_whole):
    """Bins that may hide an end of an interval, or where groups differ most.

    Parameters
    ----------
    bound : BoundPartialParity
        The constraint.
    weights : ndarray of shape (n_events, n_bins)
        Weight of every event in bins of ascending scores.
    is_whole : ndarray of bool, shape (n_bins,)
        Whether a bin holds people of one score alone.

    Returns
    -------
    hiding : ndarray of bool, shape (n_bins,)
    """
    weights, is_whole = weights[:, ::-1], is_whole[::-1]  # ranks count from the highest score
    up_to = np.pad(np.cumsum(weights, axis=1), ((0, 0), (1, 0)))
    ranks = up_to / up_to[:, -1:]
    pairs = [position.pairs for position in bound.positions]
    surely, perhaps = _inside(ranks, pairs, is_whole)
    if bound.constraint.scale == "raw":
        is_torn = np.zeros(len(is_whole), dtype=bool)
        is_seen = perhaps.any(axis=0)
        least = most = ranks
        known = np.ptp(ranks, axis=0)[is_in_intervals(ranks, pairs).any(axis=0)]
    else:
        is_torn = ((surely != perhaps) & (weights > 0)).any(axis=0)
        is_seen = np.ones(len(is_whole), dtype=bool)
        least, most = _selected_rates(weights * surely, weights * perhaps)
        known = least.max(axis=0) - most.min(axis=0)
    possible = most[:, 1:].max(axis=0) - least[:, :-1].min(axis=0)
    is_largest = is_seen & (possible > known.max(initial=0.0))
    return (~is_whole & (is_torn | is_largest))[::-1]


def _inside(ranks, pairs, is_whole):
    """Whether all people of every event and bin rank in its interval, and whether some may.

    A bin's people rank from what is above it on, and before what is up to it.
    """
    first, end = ranks[:, :-1], ranks[:, 1:]
    surely, perhaps = np.zeros((2, *first.shape), dtype=bool)
    for event, own in enumerate(pairs):
        for alpha, beta in own:
            beta = beta - _GUARD if beta < 1.0 else np.inf
            begun = first[event] >= alpha - _GUARD
            surely[event] |= begun & (end[event] <= beta)
            perhaps[event] |= (end[event] > alpha - _GUARD) & (first[event] < beta)
    of_one_rank = is_in_intervals(first, pairs)
    return np.where(is_whole, of_one_rank, surely), np.where(is_whole, of_one_rank, perhaps)


def _selected_rates(surely, perhaps):
    """Least and largest shares of the selected above every cut, two (n_events, n_bins + 1).

    Of every event and bin so much weight is surely selected, and so much perhaps.
    """
    low, high = (np.pad(np.cumsum(one, axis=1), ((0, 0), (1, 0))) for one in (surely, perhaps))
    low_rest, high_rest = low[:, -1:] - low, high[:, -1:] - high
    least = np.divide(low, low + high_rest, out=np.zeros_like(low), where=low + high_rest > 0)
    most = np.divide(high, high + low_rest, out=np.ones_like(high), where=high + low_rest > 0)
    return least, most


def _divided(cuts, hiding):
    """More cuts, in the bins that may hide something, with as many numbers between any two."""
    low, high = _keys(_ends(cuts)[:, hiding])[:, :, np.newaxis] - [[[1]], [[0]]]
    n_pieces = max(2, _N_BINS // len(low))
    steps = np.maximum(1, high // n_pieces - low // n_pieces)  # their difference might overflow
    keys = np.minimum(low + steps * np.arange(1, n_pieces), high)
    return np.unique(np.append(cuts, _numbers(keys.ravel())))


def _ends(cuts):
    """Least and largest number of every bin, which is above one cut and up to the next."""
    largest = np.finfo(np.float64).max
    return np.array((np.nextafter([-np.inf, *cuts], np.inf), [*cuts, largest]))


def _keys(numbers):
    """Integers in the order of numbers, such that neighbours differ by one."""
    bits = np.ascontiguousarray(numbers, dtype=np.float64).view(np.int64)
    return bits ^ ((bits >> 63) & np.iinfo(np.int64).max)


def _numbers(keys):
    return (keys ^ ((keys >> 63) & np.iinfo(np.int64).max)).view(np.float64)
