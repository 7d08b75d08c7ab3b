"""Whether the selected of one group tend to score above those of another."""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy import sparse

from skfair.constraints._pair_excess import PairExcess, Ranking, convex_parts
from skfair.constraints._values import ConstraintValues, ScoreJacobian
from skfair.groups import Events


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
    draws_majorant = False  # it is of pairs

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

    def rankings(self, scores):
        """Every group in the order of its scores."""
        return [
            Ranking(pairs, *self.members.members(group), scores)
            for group, pairs in enumerate(self.intervals)
        ]

    def __call__(self, scores, aux):
        r"""Rows and their derivatives, as `ConstraintValues`.

        Of the curvature only that of the ramp's convex corner is taken. It is one of differences of
        two scores; by :math:`(a - b)^2 \le 2 a^2 + 2 b^2` a curvature of single ones lies above it.
        """
        rankings, half, n_samples = self.rankings(scores), self.width / 2, len(scores)
        selected = [ranking.selected() for ranking in rankings]
        corners = [
            [PairExcess(selected[k], selected[j], shift, self.width) for shift in (half, -half)]
            for k, j in self.pairs
        ]

        def curvature(v):
            # The ramp's convex corner is where it begins, or where it ends if it counts negatively.
            chosen = zip(v, corners, strict=True)
            return _bend(
                [(abs(weight), [both[int(weight < 0)]]) for weight, both in chosen], scores
            )

        return _rows([([begin], [end]) for begin, end in corners], n_samples, curvature)

    def majorant(self, scores, aux):
        """Convex rows that are nowhere easier to keep, and equal to these at the given point.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
            Scores where concave parts are replaced by their tangents.
        aux : ndarray of shape (0,)
            No unknowns.

        Returns
        -------
        majorant : ConvexGroupAUCConstraint
        """
        return ConvexGroupAUCConstraint(self, scores)

    def convex_parts(self, scores):
        r"""Two convex functions of the scores for each row, which is their difference.

        The weight of somebody is a difference of weights of all who rank first, up to the ends and
        up to the beginnings of the interval, or of weights of all who rank last. A mean excess
        :math:`\sum_{ij} a_i b_j \max(0, h_i - h_j + c)` is convex if a falls from the first to the
        last and b rises, for these weights make it as large as any order of theirs; and a row is
        made of eight of them. [1]_ (Example D.7) shows such functions for the sigmoid, which are as
        many times as steep as a group has members; these are not.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
            Scores.

        Returns
        -------
        parts : list of pair of list of PairExcess
            Of each row those that are added, and those that are taken away.

        References
        ----------
        .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
           percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.
        """
        rankings = self.rankings(scores)
        return [convex_parts(rankings[k], rankings[j], self.width) for k, j in self.pairs]


class ConvexGroupAUCConstraint:
    """Rows of pairs of groups whose concave parts are replaced by tangents.

    The rows of all upper bounds come first, then those of all lower bounds.

    Parameters
    ----------
    constraint : GroupAUCConstraint
        The rows to majorise.
    scores : ndarray of shape (n_samples,)
        Scores of the point.
    """

    n_aux = 0

    def __init__(self, constraint, scores):
        self.constraint = constraint
        self.scores = scores

    @property
    def lower(self):
        """Lower bounds of the rows, (n_rows,)."""
        lower = self.constraint.lower
        return np.concatenate((np.full_like(lower, -np.inf), lower))

    @property
    def upper(self):
        """Upper bounds of the rows, (n_rows,)."""
        upper = self.constraint.upper
        return np.concatenate((upper, np.full_like(upper, np.inf)))

    def initial_aux(self, scores):
        """No unknowns."""
        return np.empty(0)

    def of_constraint(self, multipliers):
        """Multipliers of the rows that are majorised, (n_rows,) -> (n_rows / 2,)."""
        return multipliers.reshape(2, -1).sum(axis=0)

    @cached_property
    def _at_point(self):
        return self.constraint.convex_parts(self.scores)

    def __call__(self, scores, aux):
        """Rows and their derivatives, as `ConstraintValues`."""
        parts, moved = self.constraint.convex_parts(scores), scores - self.scores
        lines = [
            tuple([one.line(moved) for one in half] for half in both) for both in self._at_point
        ]
        pairs = list(zip(parts, lines, strict=True))
        upper = [(up, line) for (up, _), (_, line) in pairs]
        lower = [(line, down) for (_, down), (line, _) in pairs]

        def curvature(v):
            of_upper, of_lower = np.reshape(v, (2, -1))
            pressed = [(weight, up) for weight, (up, _) in zip(of_upper, upper, strict=True)]
            pressed += [(-weight, down) for weight, (_, down) in zip(of_lower, lower, strict=True)]
            return _bend(pressed, scores)

        return _rows(upper + lower, len(scores), curvature)


def _rows(functions, n_samples, curvature):
    """Rows that are sums of functions less sums of others, as `ConstraintValues`."""
    signed = [
        (row, sign, one)
        for row, both in enumerate(functions)
        for sign, half in zip((1.0, -1.0), both, strict=True)
        for one in half
    ]
    values = np.zeros(len(functions))
    for row, sign, one in signed:
        values[row] += sign * one.value
    rows = np.repeat([row for row, _, _ in signed], [len(one.samples) for _, _, one in signed])
    none = np.empty(0)
    columns = np.concatenate([none.astype(int), *(one.samples for _, _, one in signed)])
    slopes = np.concatenate([none, *(sign * one.slopes for _, sign, one in signed)])
    shape = len(functions), n_samples
    return ConstraintValues(
        values,
        ScoreJacobian(
            sparse.eye_array(len(functions), format="csr"),
            sparse.csr_array((slopes, (rows, columns)), shape=shape),
        ),
        np.empty((len(functions), 0)),
        curvature,
    )


def _bend(weighted, scores):
    """Curvature by each score of functions with weights, those of negative weights left out."""
    curvature = np.zeros(len(scores))
    for weight, functions in weighted:
        for one in functions if weight > 0.0 else ():
            np.add.at(curvature, one.samples, weight * one.bend())
    return curvature
