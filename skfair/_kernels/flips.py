"""Decisions that flip along a line, counted between stops."""

import numpy as np

from skfair._kernels import jit

_FEW = 1 << 17
"""Entries up to which numpy counts: not worth a compilation."""


def place_flips(scores, slopes, still, typical, n_turns):
    """Between which stops each decision flips, on the way from -inf to +inf along a line.

    Stops are evenly spread in ``t / (typical + |t|)``, of lengths t: flips are dense near 0.

    Parameters
    ----------
    scores, slopes : ndarray of shape (n_samples,)
        Scores at length 0, and by how much each grows per length.
    still : float
        Slopes of at most this size count as 0.
    typical : float
        Half of the stops lie nearer to 0.
    n_turns : int
        Number of intervals between stops.

    Returns
    -------
    turns : ndarray of int32, shape (n_samples,)
        The interval of each flip; n_turns if there is none.
    decisions : ndarray of int8, shape (n_samples,)
        Decisions before any flip, -1 or +1.
    """
    turns = np.empty(len(scores), dtype=np.int32)
    decisions = np.empty(len(scores), dtype=np.int8)
    _place_flips(scores, slopes, still, typical, n_turns, turns, decisions)
    return turns, decisions


@jit
def _place_flips(scores, slopes, still, typical, n_turns, turns, decisions):
    for i in range(len(scores)):
        score, slope = scores[i], slopes[i]
        size = abs(slope)
        if size <= still:
            turns[i], decisions[i] = n_turns, 1 if score > 0.0 else -1
            continue
        decisions[i] = -1 if slope > 0.0 else 1
        place = decisions[i] * score / (typical * size + abs(score))
        turn = int((place + 1.0) * 0.5 * n_turns)
        turns[i] = min(max(turn, 0), n_turns - 1)


def sum_flips(entries, decisions, turns, n_events, n_turns):
    """Sums over events of what positive decisions add, turn after turn.

    Parameters
    ----------
    entries : tuple of three ndarray of shape (n_entries,)
        Sample and event of every membership, and what a positive decision adds to the event.
    decisions : ndarray of shape (n_samples,)
        Decisions before the first flip, -1 or +1.
    turns : ndarray of int, shape (n_samples,)
        The turn at which each decision flips, in [0, n_turns); n_turns for those that stay.
    n_events, n_turns : int
        Number of events and of turns.

    Returns
    -------
    sums : ndarray of shape (n_events, n_turns + 1)
        Before the first turn, and after every one.
    """
    samples, events, effects = entries
    if len(samples) > _FEW:
        sums = np.zeros((n_events, n_turns + 1))
        add_flips(samples, events, effects, decisions, turns, sums)
        return np.cumsum(sums, axis=1, out=sums)
    own, at = decisions[samples], turns[samples]
    sums = np.empty((n_events, n_turns + 1))
    sums[:, 0] = np.bincount(events, effects * (own > 0), n_events)
    flipping = np.flatnonzero(at < n_turns)
    cells = events[flipping] * n_turns + at[flipping]
    steps = -own[flipping] * effects[flipping]
    sums[:, 1:] = np.bincount(cells, steps, n_events * n_turns).reshape(n_events, n_turns)
    return np.cumsum(sums, axis=1, out=sums)


@jit
def add_flips(samples, events, effects, decisions, turns, sums):
    """Add to sums what positive decisions add before the first turn, and what every turn changes.

    Arguments are those of `sum_flips`; ``sums`` has shape (n_events, n_turns + 1).
    """
    n_turns = sums.shape[1] - 1
    for m in range(len(samples)):
        i, e = samples[m], events[m]
        if decisions[i] > 0:
            sums[e, 0] += effects[m]
        if turns[i] < n_turns:
            sums[e, turns[i] + 1] -= decisions[i] * effects[m]
