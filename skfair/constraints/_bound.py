"""Constraints bound to data: functions of the scores, with derivatives."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse

from skfair.utils._events import Events


class ScoreJacobian(NamedTuple):
    """Derivative of the rows by the scores, as the product ``combine @ cells``.

    Attributes
    ----------
    combine : csr_array or ndarray of shape (n_rows, n_cells)
        How cells make up rows.
    cells : csr_array of shape (n_cells, n_samples)
        Derivative of each cell's mean by each score.
    """

    combine: sparse.csr_array
    cells: sparse.csr_array

    def adjoint(self, v):
        """One weight per sample from one per row, (n_rows,) -> (n_samples,)."""
        return self.cells.T @ (self.combine.T @ v)


class ConstraintValues(NamedTuple):
    """Rows of a constraint at given scores and auxiliary unknowns.

    Attributes
    ----------
    values : ndarray of shape (n_rows,)
        To be held between the constraint's ``lower`` and ``upper``.
    jacobian : ScoreJacobian
        Derivative by the scores.
    aux_jacobian : ndarray of shape (n_rows, n_aux)
        Derivative by the auxiliary unknowns.
    curvature : callable
        v -> (n_samples,): second derivative of ``v @ values`` by each score.
    aux_curvature : callable or None
        v -> (combine, hessian): its second derivatives by unknown and score, as
        ``combine @ jacobian.cells`` of shape (n_aux, n_samples), and by two unknowns, (n_aux,
        n_aux). None if the rows are linear in the unknowns.
    """

    values: np.ndarray
    jacobian: ScoreJacobian
    aux_jacobian: np.ndarray
    curvature: Callable
    aux_curvature: Callable | None = None


class EventTable(NamedTuple):
    """The events of a constraint, for reports.

    Attributes
    ----------
    names : list of (str, object)
        Cell and group of each event.
    counts : ndarray of int, shape (n_events,)
        Samples in each event.
    """

    names: list
    counts: np.ndarray


@dataclass(frozen=True, eq=False)
class BoundConstraint:
    """A gap between means of events, held below a tolerance.

    With m the weighted means over the events of a pointwise rate of the scores, the rows are
    ``lower <= combine @ (m + offset) + aux @ unknowns <= upper``, or the one row
    ``gap(m + offset) <= tolerance``.

    Attributes
    ----------
    name : str
        What the constraint is called.
    events : Events
        Samples that each mean is taken over.
    rate : callable
        scores -> Pointwise: the rate that the rows hold, usually smooth.
    decision_rate : callable
        scores -> Pointwise: the rate that the public metric counts.
    aggregate : Range, Excess, Largest or another of their kind
        How means become one gap, and which rows bound it.
    tolerance : float
        Largest gap allowed.
    table : EventTable
        Names and sizes of the events.
    counts_decisions : bool
        Whether ``decision_rate`` sees of a score only whether it is positive.
    offset : ndarray of shape (n_events,) or 0.0
        Added to the means; it corrects a smooth rate for what it misses of the decisions.
    """

    name: str
    events: Events
    rate: Callable
    decision_rate: Callable
    aggregate: object
    tolerance: float
    table: EventTable
    counts_decisions: bool = False
    offset: np.ndarray | float = 0.0

    @cached_property
    def rows(self):
        """The rows that bound the gap."""
        return self.aggregate.rows(len(self.table.names), self.tolerance)

    @property
    def lower(self):
        """Lower bounds of the rows, (n_rows,)."""
        return self.rows.lower

    @property
    def upper(self):
        """Upper bounds of the rows, (n_rows,)."""
        return self.rows.upper

    @property
    def n_aux(self):
        """Number of auxiliary unknowns."""
        return self.rows.aux.shape[1]

    def means(self, scores):
        """Means that the rows hold, (n_events,)."""
        return self.events.means(self.rate(scores).value) + self.offset

    def initial_aux(self, scores):
        """Auxiliary unknowns at which the rows hold if they can at these scores, (n_aux,)."""
        return self.aggregate.unknowns(self.means(scores))

    def __call__(self, scores, aux):
        """Rows and their derivatives, as `ConstraintValues`."""
        value, slope, curvature = self.rate(scores)
        averaging = self.events.averaging
        values, combine = self.rows.at(averaging @ value + self.offset, aux)
        cells = sparse.csr_array(
            (averaging.data * slope[averaging.indices], averaging.indices, averaging.indptr),
            shape=averaging.shape,
        )
        return ConstraintValues(
            values,
            ScoreJacobian(combine, cells),
            self.rows.aux,
            lambda v: self.events.spread(combine.T @ v) * curvature,
        )

    def decision_means(self, scores):
        """Means of the public metric, (n_events,)."""
        return self.events.means(self.decision_rate(scores).value)

    def decision_values(self, scores):
        """The rows, counted by decisions, at the unknowns that suit these best, (n_rows,)."""
        means = self.decision_means(scores)
        return self.rows.at(means, self.aggregate.unknowns(means))[0]

    def sweep(self, decisions, turns, n_turns):
        """Gaps by the public metric as decisions flip, turn after turn.

        Parameters
        ----------
        decisions : ndarray of shape (n_samples,)
            Decisions before the first flip, -1 or +1.
        turns : ndarray of int, shape (n_samples,)
            The turn at which each decision flips, in [0, n_turns); n_turns for those that stay.
        n_turns : int
            Number of turns.

        Returns
        -------
        gaps : ndarray of shape (n_turns + 1,)
            Gap before the first turn, and after every one.
        """
        before, after = (self.decision_rate(sign * decisions).value for sign in (1.0, -1.0))
        averaging = self.events.averaging
        n_events, _ = averaging.shape
        event = np.repeat(np.arange(n_events), np.diff(averaging.indptr))
        cell = event * (n_turns + 1) + turns[averaging.indices]
        change = averaging.data * (after - before)[averaging.indices]
        steps = np.bincount(cell, change, minlength=n_events * (n_turns + 1))
        steps = steps.reshape(n_events, n_turns + 1)[:, :n_turns]
        start = (averaging @ before)[:, np.newaxis]
        return self.aggregate.gap(np.hstack((start, start + np.cumsum(steps, axis=1))))

    def decision_effects(self, scores, v):
        """What each sample's positive decision adds to ``v @ values``, counted by decisions.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
            Scores.
        v : ndarray of shape (n_rows,)
            Weight of each row.

        Returns
        -------
        effects : ndarray of shape (n_samples,)
        """
        positive, negative = (
            self.decision_rate(np.full(len(scores), sign)).value for sign in (1.0, -1.0)
        )
        means = self.decision_means(scores)
        _, combine = self.rows.at(means, self.aggregate.unknowns(means))
        return self.events.spread(combine.T @ v) * (positive - negative)

    def decision_pressure(self, scores, multipliers):
        """Multipliers times the excess of the rows over their bounds, counted by decisions.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
            Scores.
        multipliers : ndarray of shape (n_rows,)
            Positive at upper bounds, negative at lower ones.

        Returns
        -------
        pressure : float
            Positive if the rows lie beyond their bounds on the whole.
        """
        values = self.decision_values(scores)
        pressing = multipliers != 0
        bounds = np.where(multipliers > 0, self.upper, self.lower)[pressing]
        return float(multipliers[pressing] @ (values[pressing] - bounds))

    def gap(self, scores):
        """The gap by the public metric."""
        return float(self.aggregate.gap(self.decision_means(scores)))

    def violation(self, scores):
        """Excess of the gap over the tolerance by the public metric; 0 when it is kept."""
        return max(0.0, self.gap(scores) - self.tolerance)

    def corrected(self, scores, share=1.0):
        """The same constraint, its rate shifted so that it counts the decisions at these scores.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
            Scores at which smooth rate and decisions are compared.
        share : float, default=1.0
            Share of the way from the present shift to the new one.
        """
        missed = self.decision_means(scores) - self.events.means(self.rate(scores).value)
        return replace(self, offset=self.offset + share * (missed - self.offset))


@dataclass(frozen=True, eq=False)
class JointConstraint:
    """Several constraints at once, each held to its own tolerance.

    Attributes
    ----------
    parts : tuple of BoundConstraint
        The constraints.
    """

    parts: tuple

    @cached_property
    def lower(self):
        """Lower bounds of the rows, (n_rows,)."""
        return np.concatenate([part.lower for part in self.parts])

    @cached_property
    def upper(self):
        """Upper bounds of the rows, (n_rows,)."""
        return np.concatenate([part.upper for part in self.parts])

    @property
    def n_aux(self):
        """Number of auxiliary unknowns."""
        return sum(part.n_aux for part in self.parts)

    def initial_aux(self, scores):
        """Auxiliary unknowns at which the rows hold if they can at these scores, (n_aux,)."""
        return np.concatenate([part.initial_aux(scores) for part in self.parts])

    def __call__(self, scores, aux):
        """Rows and their derivatives, as `ConstraintValues`."""
        if len(self.parts) == 1:  # nothing to stack
            return self.parts[0](scores, aux)
        unknowns = np.split(aux, np.cumsum([part.n_aux for part in self.parts])[:-1])
        found = [part(scores, own) for part, own in zip(self.parts, unknowns, strict=True)]
        ends = np.cumsum([len(one.values) for one in found])[:-1]
        combine = sparse.block_diag([one.jacobian.combine for one in found], format="csr")
        cells = sparse.vstack([one.jacobian.cells for one in found], format="csr")
        return ConstraintValues(
            np.concatenate([one.values for one in found]),
            ScoreJacobian(sparse.csr_array(combine), sparse.csr_array(cells)),
            linalg.block_diag(*(one.aux_jacobian for one in found)),
            lambda v: sum(
                one.curvature(own) for one, own in zip(found, np.split(v, ends), strict=True)
            ),
        )

    def decision_pressure(self, scores, multipliers):
        """Multipliers times the excess of the rows over their bounds, counted by decisions."""
        ends = np.cumsum([len(part.lower) for part in self.parts])[:-1]
        return sum(
            part.decision_pressure(scores, own)
            for part, own in zip(self.parts, np.split(multipliers, ends), strict=True)
        )

    @property
    def counts_decisions(self):
        """Whether all public metrics see of a score only whether it is positive."""
        return all(part.counts_decisions for part in self.parts)

    def decision_effects(self, scores, v):
        """What each sample's positive decision adds to ``v @ values``, counted by decisions."""
        ends = np.cumsum([len(part.lower) for part in self.parts])[:-1]
        return sum(
            part.decision_effects(scores, own)
            for part, own in zip(self.parts, np.split(v, ends), strict=True)
        )

    def violation(self, scores):
        """Largest excess over a tolerance by the public metrics; 0 when all are kept."""
        return max(part.violation(scores) for part in self.parts)

    def corrected(self, scores, share=1.0):
        """The same constraints, each corrected at these scores."""
        return JointConstraint(tuple(part.corrected(scores, share) for part in self.parts))
