"""Constraints bound to data: functions of the scores, with derivatives."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache

import numpy as np
from sklearn.utils import check_random_state

from skfair.constraints._aggregates import Range, SingleRow
from skfair.constraints._posterior import (
    MeanPosterior,
    RatePosterior,
    cluster_effects,
    spread_of,
)
from skfair.constraints._rate_report import report_of
from skfair.constraints._values import ConstraintValues, EventJacobian
from skfair.groups import Events
from skfair.inference import Rates, estimates_of
from skfair.losses import as_pointwise


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
        (scores, target) -> Pointwise: the rate that the rows hold, usually smooth.
    decision_rate : callable
        (scores, target) -> Pointwise: the rate that the public metric counts.
    target : ndarray of shape (n_samples,)
        Classes -1 and +1.
    aggregate : Range, Excess, Largest or another of their kind
        How means become one gap, and which rows bound it.
    tolerance : float
        Largest gap allowed.
    names : list of (str, object)
        Cell and group of each event.
    counts : ndarray of int, shape (n_events,)
        Samples in each event.
    counts_decisions : bool
        Whether ``decision_rate`` sees of a score only whether it is positive.
    offset : ndarray of shape (n_events,) or 0.0
        Added to the means; it corrects a smooth rate for what it misses of the decisions.
    uncompared : BoundConstraint or None
        The same rate of groups that are too small to be compared, for the report alone.
    """

    name: str
    events: Events
    rate: Callable
    decision_rate: Callable
    target: np.ndarray
    aggregate: object
    tolerance: float
    names: list
    counts: np.ndarray
    counts_decisions: bool = False
    offset: np.ndarray | float = 0.0
    uncompared: object = None

    is_local = False
    """Whether the rows suit only scores near those that they are seen from."""

    bends_safely = False
    """Whether curvatures are others than those of the rows, which are safer to start with."""

    criterion = None
    """What of the constraint may change from fit to fit beside its bounds."""

    is_correctable = True
    """Whether the rows count decisions, and can be told what they miss of these."""

    @property
    def adds_up(self):
        """Whether rows are linear in means, so that those of parts of the samples add up."""
        return not isinstance(self.aggregate, SingleRow)

    @property
    def jumps(self):
        """Whether the public metric jumps as scores move; mean losses do not."""
        return self.counts_decisions

    @property
    def n_events(self):
        """Number of events, from each of which `draw` takes samples."""
        return self.events.n_events

    @property
    def rows(self):
        """The rows that bound the gap."""
        return _rows(self.aggregate, len(self.names), self.tolerance)

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

    def _smooth(self, scores):
        found = self.rate(scores, self.target)
        return as_pointwise(found, len(scores), f"The rate of {self.name}")

    def _decided(self, scores):
        """The rate of each sample that the public metric counts."""
        return self.decision_rate(scores, self.target).value

    def means(self, scores):
        """Means that the rows hold, (n_events,)."""
        return self.events.means(self._smooth(scores).value) + self.offset

    def initial_aux(self, scores):
        """Auxiliary unknowns at which the rows hold if they can at these scores, (n_aux,)."""
        return self.aggregate.unknowns(self.means(scores))

    def __call__(self, scores, aux):
        """Rows and derivatives, as `ConstraintValues`."""
        value, slope, curvature = self._smooth(scores)
        means = self.events.means(value) + self.offset
        values, combine = self.rows.at(means, aux)
        is_kinked = isinstance(self.aggregate, SingleRow) and not self.n_aux
        return ConstraintValues(
            values,
            EventJacobian(combine, self.events, slope),
            self.rows.aux,
            lambda v: self.events.means_adjoint(combine.T @ v) * curvature,
            at_shift=(lambda shift: self.rows.at(means + shift, aux)) if is_kinked else None,
        )

    def shift(self, aux):
        """Value of the rows where all means are 0 before the offset, (n_rows,)."""
        return self.rows.at(np.zeros(len(self.names)) + self.offset, aux)[0]

    @property
    def aux_jacobian(self):
        """Derivative of `shift` by the auxiliary unknowns, (n_rows, n_aux)."""
        return self.rows.aux

    def by(self, criterion):
        """The same constraint, of which nothing changes but bounds."""
        return self

    def decision_means(self, scores):
        """Means of the public metric, (n_events,)."""
        return self.events.means(self._decided(scores))

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
        samples, events, _ = self.events.memberships
        effects, negative = self._flip_effects
        n_events = self.events.n_events
        from skfair._kernels.flips import sum_flips

        sums = sum_flips((samples, events, effects), decisions, turns, n_events, n_turns)
        return self.aggregate.gap(negative[:, np.newaxis] + sums)

    @cached_property
    def _flip_effects(self):
        """What each member's positive decision adds to its event's mean; means without any."""
        positive, negative = (
            self._decided(np.full(len(self.target), sign)) for sign in (1.0, -1.0)
        )
        samples, _, shares = self.events.memberships
        return shares * (positive - negative)[samples], self.events.means(negative)

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
        positive, negative = (self._decided(np.full(len(scores), sign)) for sign in (1.0, -1.0))
        means = self.decision_means(scores)
        _, combine = self.rows.at(means, self.aggregate.unknowns(means))
        return self.events.means_adjoint(combine.T @ v) * (positive - negative)

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

    def sampled(self, scores):
        """Means of the public metric, and the linear forms of which the gap is the largest."""
        estimates = estimates_of(self.events, self._decided(scores))
        return estimates, self.aggregate.contrasts(len(self.names))

    def violation(self, scores):
        """Excess of the gap over the tolerance by the public metric; 0 when it is kept."""
        return max(0.0, self.gap(scores) - self.tolerance)

    @property
    def strata(self):
        """Which people are drawn alike, as in `MetricConstraint`."""
        return self.events.membership_codes

    def posterior(self, scores, clusters=None):
        """What the samples tell of the population's gap, as in `MetricConstraint`."""
        aggregate = self.aggregate
        if isinstance(aggregate, SingleRow):
            aggregate = aggregate.aggregate
        values = self._decided(scores)
        estimates = estimates_of(self.events, values)
        sizes, correlation = estimates.sizes, estimates.correlation
        if clusters is not None:
            effects, correlation = cluster_effects(self.events, values, clusters)
            sizes = sizes / effects
        if not isinstance(estimates, Rates):
            moments = estimates.values, spread_of(self.events, values)
            return MeanPosterior(moments, sizes, correlation, aggregate, self.tolerance)
        if type(aggregate) is Range and correlation is None:
            return RatePosterior(estimates.values, sizes, aggregate, self.tolerance)
        moments = estimates.values, None
        return MeanPosterior(moments, sizes, correlation, aggregate, self.tolerance)

    def remedy(self, scores):
        """What helps where the tolerance cannot be kept, beside raising it, as words."""
        return "leave small groups out (min_group_size)"

    def seen_from(self, scores):
        """The same constraint: its rows suit all scores."""
        return self

    def held_to(self, tolerance):
        """The same constraint with another tolerance."""
        return replace(self, tolerance=tolerance)

    def missed(self, scores):
        """What the smooth means lack of those of the decisions, (n_events,)."""
        return self.decision_means(scores) - self.events.means(self._smooth(scores).value)

    def shifted(self, offset):
        """The same constraint, where something is added to the smooth means."""
        return replace(self, offset=offset)

    def corrected(self, scores, share=1.0):
        """The same constraint, its rate shifted so that it counts the decisions at these scores.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
            Scores at which smooth rate and decisions are compared.
        share : float, default=1.0
            Share of the way from the present shift to the new one.
        """
        return self.shifted(self.offset + share * (self.missed(scores) - self.offset))

    def with_uncompared(self, events, people):
        """The same constraint, which also reports the rates of groups too small to be compared.

        Parameters
        ----------
        events : CellEvents
            Small groups within the cells; without any the constraint stays as it is.
        people : Samples
            The samples.
        """
        if not events.names:
            return self
        counts = events.counted(people)
        own = replace(
            self, events=events.weighted(people.weights), names=events.names, counts=counts
        )
        return replace(self, uncompared=own)

    @property
    def reported_names(self):
        """Cell and group of each row of the report: first of what is compared, then of the rest."""
        return self.names + ([] if self.uncompared is None else self.uncompared.names)

    def report(self, scores):
        """One row per rate, with the columns ``REPORT_COLUMNS``; small groups come last."""
        return self.report_of(self.moments(scores))

    report_of = report_of

    def moments(self, scores):
        """What `report_of` needs, which parts add to: three arrays, one entry per rate."""
        values, events = self._decided(scores), self.events
        # The sum of squared shares is one over the effective number of samples.
        shares = events.averaging.power(2).sum(axis=1)
        own = events.means(values), events.means(values**2), shares
        if self.uncompared is None:
            return own
        return tuple(map(np.append, own, self.uncompared.moments(scores)))

    def single(self):
        """The same constraint by the one row ``gap <= tolerance``: kinked, without unknowns."""
        return replace(self, aggregate=SingleRow.of(self.aggregate))

    def take(self, rows):
        """The same constraint on some of the samples; weights within events add up to 1 again.

        Parameters
        ----------
        rows : ndarray of int or bool
            Positions of the samples, which may repeat, or a mask over all samples.

        Returns
        -------
        constraint : BoundConstraint

        Raises
        ------
        ValueError
            If an event has nobody among them.
        """
        events = self.events.take(rows)
        return self._among(rows, events, np.diff(events.averaging.indptr))

    def part(self, rows, factors=1.0, target=None):
        """The share of some samples, as in `Events.part`: rows of parts add up to those of all.

        What is added to the means once is left out.
        """
        events = self.events.subset(rows, factors)
        others = self.uncompared and self.uncompared.part(rows, factors, target)
        target = self.target[rows] if target is None else target
        return replace(self, events=events, target=target, offset=0.0, uncompared=others)

    def placed(self, rows, n_samples):
        """The same constraint as a function of more scores, as in `Events.placed`."""
        target = np.ones(n_samples)
        target[rows] = self.target
        events = self.events.embed(rows, n_samples)
        others = self.uncompared and self.uncompared.placed(rows, n_samples)
        return replace(self, events=events, target=target, uncompared=others)

    def draw(self, n_per_event, random_state=None, beside=()):
        """Draw equally many samples from every event, and the constraint on them.

        The means of the events drawn are unbiased estimates of those of everybody.

        Parameters
        ----------
        n_per_event : int
            Samples drawn from every event, each by its weight, with replacement.
        random_state : int, RandomState instance or None, default=None
            Determines the draws.
        beside : sequence of int, default=()
            Positions of samples that stand before those drawn, in no event, as those of a loss.

        Returns
        -------
        rows : ndarray of int, shape (n_beside + n_events * n_per_event,)
            Positions of the samples beside and of those drawn.
        constraint : BoundConstraint
            A function of their scores.
        """
        own = self.events.draw(n_per_event, check_random_state(random_state))
        rows = np.concatenate((np.array(beside, dtype=np.intp), own))
        return rows, self._drawn(rows, len(beside), n_per_event)

    def _drawn(self, rows, start, n_per_event):
        """The constraint on samples, of which those from `start` on were drawn from its events."""
        events, counts = _drawn_events(len(rows), start, self.n_events, n_per_event)
        drawn = object.__new__(type(self))  # one is made in every step: nothing is checked again
        own = {name: value for name, value in vars(self).items() if name in _FIELDS}
        own |= {"events": events, "counts": counts, "target": self.target[rows]}
        vars(drawn).update(own, uncompared=None)
        return drawn

    def _among(self, rows, events, counts):
        target = self.target[rows]
        return replace(self, events=events, target=target, counts=counts, uncompared=None)


_FIELDS = frozenset(field.name for field in fields(BoundConstraint))


@lru_cache(maxsize=128)
def _rows(aggregate, n_events, tolerance):
    """Rows of an aggregate; constraints on the same events, as on mini-batches, share them."""
    return aggregate.rows(n_events, tolerance)


@lru_cache(maxsize=128)
def _drawn_events(n_samples, start, n_events, n_per_event):
    """Events one after the other, from a position on, and counts; batches alike share them."""
    codes = np.full(n_samples, -1)
    codes[start : start + n_events * n_per_event] = np.repeat(np.arange(n_events), n_per_event)
    return Events.disjoint(codes, n_events), np.full(n_events, n_per_event)
