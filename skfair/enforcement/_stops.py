"""Stops along a line of scores, and which decisions flip between which of them."""

from typing import NamedTuple

import numpy as np

MARGIN = 1e-9
"""Scores nearer to 0 than this, relative to the largest, might change sign when summed in another
order: a model with such scores is taken only where there is no other."""

_TYPICAL = 1001
"""Flips of which the median is taken, for the scale of all."""

_THIN = 1e-3
"""Share of the way to the next stop that spread stops leave for numbers of few digits."""


class Stops(NamedTuple):
    """Stops of a line, and who flips between which.

    Attributes
    ----------
    low, high : ndarray of shape (n_stops,)
        Lengths between which each stop may lie.
    decisions : ndarray of int, shape (n_samples,)
        Decisions at the first stop, -1 or +1.
    turns : ndarray of int, shape (n_samples,)
        Number of the stop after which the decision of a sample flips; n_stops - 1 for those that
        never do.
    """

    low: np.ndarray
    high: np.ndarray
    decisions: np.ndarray
    turns: np.ndarray

    def within(self, first, last):
        """Stops ``first`` to ``last`` alone, the last one included."""
        flipped, later = self.turns < first, self.turns >= last
        return Stops(
            self.low[first : last + 1],
            self.high[first : last + 1],
            np.where(flipped, -self.decisions, self.decisions),
            np.where(flipped | later, last - first, self.turns - first),
        )


def exact_stops(scores, slopes):
    """Stops between any two flips, found by sorting them."""
    still = np.abs(slopes) <= MARGIN
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        flips = np.where(still, np.inf, -scores / slopes)
    n_flips = len(flips) - np.count_nonzero(still)
    order = np.argsort(flips)
    flips = flips[order[:n_flips]]
    ends = np.concatenate((flips[:1] - 3.0, flips, flips[-1:] + 3.0))
    turns = np.empty(len(scores), dtype=np.intp)
    turns[order] = np.minimum(np.arange(len(scores)), n_flips)
    decisions = np.where(np.where(still, scores, -slopes) > 0, 1, -1)
    return Stops(ends[:-1], ends[1:], decisions, turns)


def spread_stops(scores, slopes, n_turns):
    """So many stops and one, dense where flips are; a few may flip beyond the outermost."""
    few = slice(None, None, max(1, len(scores) // _TYPICAL))
    own = np.abs(slopes[few])
    typical = np.median(np.abs(scores[few])[own > MARGIN] / own[own > MARGIN])
    typical = np.exp2(np.rint(np.log2(typical))) if typical > 0.0 else 1.0
    from skfair._kernels.flips import bin_flips

    turns, decisions = bin_flips(scores, slopes, MARGIN, typical, n_turns)
    return Stops(*place_stops(typical, n_turns), decisions, turns)


def place_stops(typical, n_turns):
    """Lengths between which each stop of `bin_flips` may lie, two (n_turns + 1,)."""
    place = np.linspace(-1.0, 1.0, n_turns + 1)
    place[[0, -1]] = (place[[0, -1]] + place[[1, -2]]) / 2  # short of infinity
    at = typical * place / (1.0 - np.abs(place))
    room = _THIN * np.diff(at).min()
    return at - room, at + room


def between(low, high):
    """A number of few digits near the middle of each interval."""
    grid = np.exp2(np.floor(np.log2((high - low) / 4.0)))
    return np.rint((low + high) / 2.0 / grid) * grid
