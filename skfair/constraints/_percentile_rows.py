"""Rows of partial fairness: which shares of which events are held between which percentiles."""

import numpy as np

from skfair.constraints._percentile import PercentileConstraint, smooth_shares

_GUARD = 1e-9
"""Percentiles nearer than this to where a pair begins or ends count as there."""


class Position:
    """Percentiles in units of an interval, a union of pairs: 0 is where it begins, 1 its end.

    Parameters
    ----------
    pairs : ndarray of shape (n_pairs, 2)
        Ascending and disjoint.
    """

    def __init__(self, pairs):
        self.pairs = pairs

    @property
    def width(self):
        """Share of everybody that lies in the interval."""
        return float(np.diff(self.pairs).sum())

    def percentile(self, position, side):
        """Percentile at a position; beyond 1 it goes on past the interval.

        Where one pair ends and the next begins, "left" gives the end and "right" the beginning.
        """
        ends = np.cumsum(np.diff(self.pairs))
        reached = np.asarray(position) * self.width
        pair = np.searchsorted(ends[:-1], reached + (_GUARD if side == "right" else -_GUARD))
        return self.pairs[pair, 1] + reached - ends[pair]

    def of(self, percentiles):
        """Position of percentiles; 0 before the interval begins, 1 after its end."""
        begin, end = self.pairs.T
        reached = np.clip(np.asarray(percentiles)[..., np.newaxis], begin, end) - begin
        return reached.sum(axis=-1) / self.width


class Compared:
    """Events to be compared.

    Parameters
    ----------
    members : Events
        Samples of each event.
    positions : list of Position
        Interval of each event.
    tolerances : ndarray of shape (n_events,)
        Largest difference, in units of the interval of each event.
    blocks : ndarray of int, shape (n_events,)
        Events of one block are compared with one another.
    weights : ndarray of shape (n_events,)
        What all samples of an event weigh.
    """

    def __init__(self, members, positions, tolerances, blocks, weights):
        self.members = members
        self.positions = positions
        self.tolerances = tolerances
        self.blocks = blocks
        self.weights = weights

    def percentiles(self, at, side):
        """Percentiles of each event at a position of its own or common ones."""
        paired = zip(self.positions, at, strict=True)
        return np.array([position.percentile(own, side) for position, own in paired])


def at_percentiles(compared, at, width, shape):
    """Free thresholds with ``p <= S_e <= p + tolerance`` for all events ([1]_, (15)).

    Parameters
    ----------
    compared : Compared
        The events.
    at : ndarray of shape (n_thresholds,)
        Positions in their intervals of the percentiles p.
    width : float
        Width of what stands for decisions.
    shape : Shape
        What that is.

    Returns
    -------
    constraint : PercentileConstraint

    References
    ----------
    .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
       percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.
    """
    members, tolerances, n = compared.members, compared.tolerances[:, np.newaxis], len(at)
    lower = compared.percentiles(at + 0.0 * tolerances, "left")
    upper = compared.percentiles(at + tolerances, "right")
    middle = np.clip(compared.percentiles(at + tolerances / 2, "left"), 0.0, 1.0)

    def midpoints(scores):
        if not np.ptp(scores):  # no quantile tells where such a ramp is to stand
            return scores[0] - width * shape.reach(middle.mean(axis=0))
        quantiles = [members.quantiles(e, scores, levels) for e, levels in enumerate(middle)]
        return (np.min(quantiles, axis=0) + np.max(quantiles, axis=0)) / 2

    return PercentileConstraint(
        members,
        width,
        origin=np.zeros(n),
        by_threshold=np.eye(n),
        by_level=np.zeros((lower.size, n)),
        lower=np.where(lower > _GUARD, lower, -np.inf).ravel(),
        upper=np.where(upper < 1.0 - _GUARD, upper, np.inf).ravel(),
        initial_aux=midpoints,
        rounding=shape.rounding,
        parts=shape.parts,
    )


def at_threshold(compared, threshold, width, shape, scores):
    """One case of the shares in (21) of [1]_: inside their intervals they differ by the tolerance.

    Cut off at its interval, a share differs from the others by the tolerance at most in three
    cases: all lie between a free level and that level plus the tolerance, or all below the
    beginning of their intervals plus the tolerance, or all above their ends minus the tolerance.
    Each block has the case for which the fewest people would have to change sides at the given
    scores: how far a share is off says little of what the case costs, if its group is small.

    Parameters
    ----------
    compared : Compared
        The events.
    threshold : float
        Where decisions are made.
    width : float
        Width of what stands for decisions.
    shape : Shape
        What that is.
    scores : ndarray of shape (n_samples,)
        Scores near those to come.

    Returns
    -------
    constraint : PercentileConstraint

    References
    ----------
    .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
       percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.
    """
    begin = np.array([position.pairs[0, 0] for position in compared.positions])
    widths = np.array([position.width for position in compared.positions])
    ceiling = compared.percentiles(compared.tolerances, "right")
    floor = compared.percentiles(1.0 - compared.tolerances, "left")
    lower, upper = np.full(len(begin), -np.inf), np.full(len(begin), np.inf)
    people = compared.weights * widths

    def positions(scores):
        """Where the shares lie in their intervals."""
        shares = smooth_shares(compared.members, scores, threshold, width, shape)
        return (shares - begin) / widths

    at, free = positions(scores), []
    for block in np.unique(compared.blocks):
        own = compared.blocks == block
        event = at[own], compared.tolerances[own], begin[own], widths[own], floor[own], ceiling[own]
        lower[own], upper[own], has_level = _nearest_case(*event, people[own])
        if has_level:
            free.append(own)
    by_level = np.reshape(free, (-1, len(begin))).T * widths[:, np.newaxis]

    def initial_levels(scores):
        # Half-way between the lowest level that the highest share allows, and the lowest share.
        at = positions(scores)
        ends = [at[own].min() + at[own].max() - compared.tolerances[own].min() for own in free]
        return np.array(ends, dtype=np.float64) / 2

    return PercentileConstraint(
        compared.members,
        width,
        origin=np.array([threshold]),
        by_threshold=np.zeros((1, len(free))),
        by_level=by_level,
        lower=lower,
        upper=upper,
        initial_aux=initial_levels,
        rounding=shape.rounding,
        parts=shape.parts,
    )


def _nearest_case(at, tolerances, begin, widths, floor, ceiling, people):
    """Bounds of the case that asks the fewest people to change sides, and if it has a free level.

    Of a share that is off by all of its interval so many ``people`` would have to.
    """
    # The level that asks the fewest has a share at it, or a tolerance above it.
    levels = np.concatenate((at, at - tolerances))[:, np.newaxis]
    off = (
        np.maximum(levels - at, at - levels - tolerances),
        [at - (ceiling - begin) / widths],
        [(floor - begin) / widths - at],
    )
    cases = (
        (begin, begin + tolerances * widths, True),  # between a level and as much above
        (-np.inf, ceiling, False),  # all near the beginning, or below
        (floor, np.inf, False),  # all near the end, or above
    )
    moved = [(np.maximum(0.0, one) @ people).min() for one in off]
    return cases[int(np.argmin(moved))]
