"""Several constraints at once."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.utils import check_random_state

from skfair.constraints._protocols import REPORT_COLUMNS
from skfair.constraints._values import block_diagonal, joined, split, stacked


@dataclass(frozen=True, eq=False)
class ConstraintSystem:
    """Several constraints at once, each held to its own tolerance.

    Attributes
    ----------
    parts : tuple of MetricConstraint
        The constraints; none of them leaves the plain fit.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.constraints import ConstraintSystem
    >>> nothing = ConstraintSystem(())
    >>> nothing(scores=np.zeros(3), aux=nothing.initial_aux(np.zeros(3))).values.shape
    (0,)
    """

    parts: tuple

    @cached_property
    def lower(self):
        """Lower bounds of the rows, (n_rows,)."""
        return joined(part.lower for part in self.parts)

    @cached_property
    def upper(self):
        """Upper bounds of the rows, (n_rows,)."""
        return joined(part.upper for part in self.parts)

    @property
    def n_aux(self):
        """Number of auxiliary unknowns."""
        return sum(part.n_aux for part in self.parts)

    @property
    def n_events(self):
        """Number of events of all parts, from each of which `draw` takes samples."""
        return sum(part.n_events for part in self.parts)

    def initial_aux(self, scores):
        """Auxiliary unknowns at which the rows hold if they can at these scores.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
            Scores.

        Returns
        -------
        aux : ndarray of shape (n_aux,)
        """
        return joined(part.initial_aux(scores) for part in self.parts)

    def __call__(self, scores, aux):
        """Rows and their derivatives, as `ConstraintValues`."""
        if len(self.parts) == 1:  # nothing to stack
            return self.parts[0](scores, aux)
        unknowns = split(aux, [part.n_aux for part in self.parts])
        found = [part(scores, own) for part, own in zip(self.parts, unknowns, strict=True)]
        return stacked(found, len(scores))

    @property
    def adds_up(self):
        """Whether rows of parts of the samples add up, and are all of means or all of ranks."""
        kinds = {part.is_local for part in self.parts}
        return len(kinds) <= 1 and all(getattr(part, "adds_up", False) for part in self.parts)

    @property
    def criteria(self):
        """What of the parts may change from fit to fit, beside their bounds; a tuple."""
        return tuple(part.criterion for part in self.parts)

    def by(self, criteria):
        """The same people under other criteria.

        Parameters
        ----------
        criteria : list
            As ``criteria`` of another constraint on these people, one for every part.

        Returns
        -------
        constraint : ConstraintSystem
        """
        return ConstraintSystem(
            tuple(part.by(own) for part, own in zip(self.parts, criteria, strict=True))
        )

    @property
    def bends_safely(self):
        """Whether curvatures are others than those of the rows, which are safer to start with."""
        return any(part.bends_safely for part in self.parts)

    def shift(self, aux):
        """Value of the rows where all means are 0 before the offsets, (n_rows,).

        Parameters
        ----------
        aux : ndarray of shape (n_aux,)
            Auxiliary unknowns.
        """
        unknowns = split(aux, [part.n_aux for part in self.parts])
        return joined(part.shift(own) for part, own in zip(self.parts, unknowns, strict=True))

    @property
    def aux_jacobian(self):
        """Derivative of `shift` by the auxiliary unknowns, (n_rows, n_aux)."""
        return block_diagonal([part.aux_jacobian for part in self.parts])

    @property
    def is_local(self):
        """Whether rows of a part suit only scores near those that they are seen from."""
        return any(part.is_local for part in self.parts)

    def seen_from(self, scores):
        """The same constraints, their rows those that suit scores near the given ones.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
            Scores.

        Returns
        -------
        constraint : ConstraintSystem
        """
        return ConstraintSystem(tuple(part.seen_from(scores) for part in self.parts))

    @property
    def draws_majorant(self):
        """Whether the majorant is a mean over people, of whom mini-batches can be drawn."""
        return all(getattr(part, "draws_majorant", False) for part in self.parts)

    def majorant(self, scores, aux):
        """Convex rows that are nowhere easier to keep, and equal to these at the given point.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
            Scores.
        aux : ndarray of shape (n_aux,)
            Auxiliary unknowns.

        Returns
        -------
        constraint : ConstraintSystem
        """
        unknowns = split(aux, [part.n_aux for part in self.parts])
        pairs = zip(self.parts, unknowns, strict=True)
        return ConstraintSystem(tuple(part.majorant(scores, own) for part, own in pairs))

    def of_constraint(self, multipliers):
        """Multipliers of the rows that the parts majorise, from those of these rows.

        Parameters
        ----------
        multipliers : ndarray of shape (n_rows,)
            Multipliers of these rows.

        Returns
        -------
        multipliers : ndarray of shape (n_constraint_rows,)
        """
        return joined(part.of_constraint(own) for part, own in self._by_part(multipliers))

    def _by_part(self, v):
        """Every part with what belongs to its rows."""
        return zip(self.parts, split(v, [len(part.lower) for part in self.parts]), strict=True)

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
        """
        return sum(part.decision_pressure(scores, own) for part, own in self._by_part(multipliers))

    @property
    def counts_decisions(self):
        """Whether all public metrics see of a score only whether it is positive."""
        return all(part.counts_decisions for part in self.parts)

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
        effects = (part.decision_effects(scores, own) for part, own in self._by_part(v))
        return sum(effects, np.zeros(len(scores)))

    def violation(self, scores):
        """Largest excess over a tolerance by the public metrics; 0 when all are kept.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
            Scores.

        Returns
        -------
        violation : float
        """
        return max((part.violation(scores) for part in self.parts), default=0.0)

    def corrected(self, scores, share=1.0):
        """The same constraints, each corrected at these scores.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
            Scores.
        share : float, default=1.0
            Share of the way from the present shifts to the new ones.

        Returns
        -------
        constraint : ConstraintSystem
        """
        return ConstraintSystem(tuple(part.corrected(scores, share) for part in self.parts))

    @property
    def tolerances(self):
        """Largest gap allowed of each part, (n_parts,)."""
        return np.array([part.tolerance for part in self.parts])

    def held_to(self, tolerances):
        """The same constraints with other tolerances.

        Parameters
        ----------
        tolerances : ndarray of shape (n_parts,)
            Largest gap allowed of each.

        Returns
        -------
        constraint : ConstraintSystem
        """
        pairs = zip(self.parts, tolerances, strict=True)
        return ConstraintSystem(tuple(part.held_to(float(own)) for part, own in pairs))

    def report(self, scores):
        """The reports of all parts, one after the other.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
            Scores.

        Returns
        -------
        report : DataFrame
            As in `MetricConstraint.report`.
        """
        return _one_below_the_other([part.report(scores) for part in self.parts])

    def moments(self, scores):
        """What `report_of` needs, which parts of the samples add to, by constraint.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
            Scores.

        Returns
        -------
        moments : tuple of tuples of three ndarray
        """
        return tuple(part.moments(scores) for part in self.parts)

    def report_of(self, moments):
        """The reports of all parts from what all samples add up to.

        Parameters
        ----------
        moments : sequence of tuples
            What the ``report_of`` of each of them takes.

        Returns
        -------
        report : DataFrame
        """
        pairs = zip(self.parts, moments, strict=True)
        return _one_below_the_other([part.report_of(own) for part, own in pairs])

    def single(self):
        """The same constraints, each that can be by its one row ``gap <= tolerance``."""
        return ConstraintSystem(
            tuple(part.single() if hasattr(part, "single") else part for part in self.parts)
        )

    def take(self, rows):
        """The same constraints on some of the samples, as `BoundConstraint.take`.

        Parameters
        ----------
        rows : ndarray of int or bool
            Positions of the samples, which may repeat, or a mask over all samples.

        Returns
        -------
        constraint : ConstraintSystem
        """
        return ConstraintSystem(tuple(part.take(rows) for part in self.parts))

    def part(self, rows, factors=1.0, target=None):
        """The share of some samples in the constraints: rows of parts add up to those of all.

        Parameters
        ----------
        rows : slice or ndarray of int, shape (n_taken,)
            Positions of the samples, which may repeat.
        factors : ndarray of shape (n_taken,), default=1.0
            How much of its sample each stands for.
        target : ndarray of shape (n_taken,), default=None
            What is to be predicted of each; None is what is of its sample.

        Returns
        -------
        constraint : ConstraintSystem
        """
        return ConstraintSystem(tuple(part.part(rows, factors, target) for part in self.parts))

    def draw(self, n_per_event, random_state=None, beside=()):
        """Draw equally many samples from every event of every part, as `BoundConstraint.draw`.

        Parameters
        ----------
        n_per_event : int
            Samples drawn from every event, each by its weight, with replacement.
        random_state : int, RandomState instance or None, default=None
            Determines the draws.
        beside : array-like of int, default=()
            Positions of samples that come first, in no event.

        Returns
        -------
        rows : ndarray of int, shape (n_drawn,)
            Positions of the samples.
        constraint : ConstraintSystem
            A function of their scores.
        """
        random_state = check_random_state(random_state)
        lots = [part.events.draw(n_per_event, random_state) for part in self.parts]
        rows = np.concatenate((np.array(beside, dtype=np.intp), *lots))
        parts, start = [], len(beside)
        for part, own in zip(self.parts, lots, strict=True):
            parts.append(part._drawn(rows, start, n_per_event))
            start += len(own)
        return rows, ConstraintSystem(tuple(parts))


def _one_below_the_other(reports):
    import pandas as pd

    if not reports:
        return pd.DataFrame(columns=list(REPORT_COLUMNS))
    return pd.concat(reports, ignore_index=True) if len(reports) > 1 else reports[0]
