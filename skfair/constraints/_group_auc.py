"""Whether the selected of one group tend to score above those of another."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import sparse

from skfair.constraints._values import ConstraintValues, ScoreJacobian
from skfair.people import Events

_TAPER = 0.1
"""Length over which the ends of an interval taper off, relative to its width."""

_REACH = 0.05
"""Distance to either side over which a density of scores is averaged, in widths of the ramp."""


@dataclass(frozen=True, eq=False)
class GroupAUCConstraint:
    r"""Rows :math:`|AUC_{kk'} - \tfrac12| \le tolerance`, one per pair of groups.

    .. math::

        AUC_{kk'} = \sum_{i \in k} \sum_{j \in k'} \omega_i \omega_j \, ramp((h_i - h_j) / width)

    over those who rank in the interval of their group, with weights that sum to 1 for each group:
    problem (49) of [1]_. The mean over pairs smooths the ramp, so its corners need no rounding;
    weights taper off where the interval begins and ends, so that people who change places there
    change the rows by little.

    Attributes
    ----------
    members : Events
        Samples of each group.
    intervals : list of ndarray, one per group, each of shape (n_pairs, 2)
        Percentiles.
    width : float
        Width of the ramp.
    tolerance : float
        Largest distance from 1/2.

    References
    ----------
    .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
       percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.
    """

    members: Events
    intervals: list
    width: float
    tolerance: float

    n_aux = 0

    @property
    def pairs(self):
        """Pairs of groups, one per row."""
        return list(combinations(range(self.members.n_events), 2))

    @property
    def lower(self):
        """Lower bounds of the rows, (n_rows,)."""
        return np.full(len(self.pairs), 0.5 - self.tolerance)

    @property
    def upper(self):
        """Upper bounds of the rows, (n_rows,)."""
        return np.full(len(self.pairs), 0.5 + self.tolerance)

    def initial_aux(self, scores):
        """No unknowns."""
        return np.empty(0)

    def __call__(self, scores, aux):
        r"""Rows and their derivatives, as `ConstraintValues`.

        Of the curvature only that of the ramp's convex corner is taken. It is one of differences of
        two scores; by :math:`(a - b)^2 \le 2 a^2 + 2 b^2` a curvature of single ones lies above it.
        """
        rankings = [
            _Ranking(pairs, *self.members.members(group), scores)
            for group, pairs in enumerate(self.intervals)
        ]
        values, rows, columns, slopes = [], [], [], []
        for row, (k, other) in enumerate(self.pairs):
            auc, slope = _win_rate(rankings[k], rankings[other], self.width)
            _, slope_of_other = _win_rate(rankings[other], rankings[k], self.width)
            values.append(auc)
            columns += [rankings[k].samples, rankings[other].samples]
            slopes += [slope, -slope_of_other]
            rows.append(np.full(len(slope) + len(slope_of_other), row))
        n_rows = len(self.pairs)
        entries = (np.concatenate(slopes), (np.concatenate(rows), np.concatenate(columns)))
        cells = sparse.csr_array(entries, shape=(n_rows, len(scores)))
        return ConstraintValues(
            np.array(values),
            ScoreJacobian(sparse.eye_array(n_rows, format="csr"), cells),
            np.empty((n_rows, 0)),
            lambda v: self._curvature(v, rankings),
        )

    def _curvature(self, v, rankings):
        curvature = np.zeros(self.members.n_samples)
        for weight, (k, other) in zip(v, self.pairs, strict=True):
            # The ramp's convex corner is where it begins, or where it ends if it counts negatively.
            lead = np.copysign(self.width / 2, weight)
            for one, two, shift in ((k, other, lead), (other, k, -lead)):
                density = _density(rankings[one].scores + shift, rankings[two], self.width)
                pairs = 2 * abs(weight) / self.width * rankings[one].shares * density
                curvature[rankings[one].samples] += pairs
        return curvature


class _Ranking:
    """Those who rank in an interval, by ascending score, with shares that sum to 1.

    Ties are broken, so that the rows are continuous.
    """

    def __init__(self, pairs, samples, shares, scores):
        ascending = np.argsort(scores[samples], kind="stable")
        samples, shares = samples[ascending], shares[ascending]
        ranks = np.cumsum(shares[::-1])[::-1] - shares / 2
        weights = shares * _window(ranks, pairs)
        within = weights > 0
        self.samples = samples[within]
        self.scores = scores[self.samples]
        self.shares = weights[within] / weights[within].sum()


def _window(ranks, pairs):
    """1 inside an interval and 0 outside, tapered at its ends but not at ranks 0 and 1."""
    length = _TAPER * np.diff(pairs).sum()

    def past(end):
        if end <= 0.0 or end >= 1.0:
            return np.full(len(ranks), float(end <= 0.0))
        return np.clip((ranks - end) / length + 0.5, 0.0, 1.0)

    return sum(past(begin) - past(end) for begin, end in pairs)


def _win_rate(ranking, other, width):
    """Mean ramp of the differences to another group, and its derivative by the own scores."""
    below = np.concatenate(([0.0], np.cumsum(other.shares)))
    moment = np.concatenate(([0.0], np.cumsum(other.shares * other.scores)))

    def past(shift):
        """Share of the others below ``score + shift``, and the mean excess over them."""
        at = np.searchsorted(other.scores, ranking.scores + shift)
        return below[at], (ranking.scores + shift) * below[at] - moment[at]

    (share_up, excess_up), (share_down, excess_down) = past(width / 2), past(-width / 2)
    auc = ranking.shares @ (excess_up - excess_down) / width
    return float(auc), ranking.shares * (share_up - share_down) / width


def _density(points, ranking, width):
    """Share of a group per unit of score around given points."""
    reach = _REACH * width
    below = np.concatenate(([0.0], np.cumsum(ranking.shares)))
    first, last = (np.searchsorted(ranking.scores, points + by) for by in (-reach, reach))
    return (below[last] - below[first]) / (2 * reach)
