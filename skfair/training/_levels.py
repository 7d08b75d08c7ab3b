"""Scores that are equal up to rounding."""

import numpy as np

_EQUAL = 2.0**-40
"""Difference of scores, relative to the largest, that rounding makes between equal people."""


def distinct_levels(scores):
    """Scores that differ by more than rounding, ascending.

    The score of a person depends in its last bits on who is scored beside them.

    Parameters
    ----------
    scores : ndarray of shape (n_samples,)
        Scores.

    Returns
    -------
    levels : ndarray of shape (n_levels,)
        The lowest of those that are equal up to rounding.
    """
    ordered = np.unique(scores)
    return ordered[np.diff(ordered, prepend=-np.inf) > _rounding(ordered)]


def at_levels(scores, levels):
    """Scores that are equal to a level up to rounding become equal to it.

    Parameters
    ----------
    scores : ndarray of shape (n_samples,)
        Scores.
    levels : ndarray of shape (n_levels,)
        As returned by `distinct_levels`.

    Returns
    -------
    scores : ndarray of shape (n_samples,)
    """
    above = np.minimum(np.searchsorted(levels, scores), len(levels) - 1)
    near = _rounding(levels)
    for position in (above, np.maximum(above - 1, 0)):
        level = levels[position]
        scores = np.where(np.abs(scores - level) <= near, level, scores)
    return scores


def _rounding(levels):
    """How far off rounding may bring scores."""
    return _EQUAL * np.abs(levels).max()
