"""Criteria on an interval of percentiles, bound to people."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from sklearn.base import clone

from skfair.constraints import _condensed
from skfair.constraints._cells import cell_events
from skfair.constraints._joint import ConstraintSystem
from skfair.constraints._percentile import SHAPES
from skfair.constraints._percentile_rows import Compared, Position, at_percentiles
from skfair.constraints._posterior import CurvePosterior, cluster_effects, kish_sizes
from skfair.constraints._rate_report import report_of_shares
from skfair.groups import Events, Groups, Samples
from skfair.utils._messages import join_names

_LEAST_SELECTED = 20
"""Samples that every event needs in its interval: fewer would be fitted, not made fair."""

_N_CURVE = 41
"""Thresholds at which the shares of groups are compared to tell how likely new people's differ."""

_NEARLY_EQUAL = 0.1
"""Standard deviation of scores that hardly tell people apart."""


@dataclass(frozen=True, eq=False)
class BoundPartialParity:
    """A criterion on an interval of percentiles, for people at hand.

    Its rows suit scores near those that they are seen from: these tell on which side of an interval
    the rates at one threshold lie, and how many of a class rank in the interval of their group.

    Attributes
    ----------
    constraint : PartialParity
        The criterion.
    people : Samples
        Targets, groups and weights.
    intervals : list of ndarray, one per group, each of shape (n_pairs, 2)
        Percentiles.
    tolerance : float
        Largest difference allowed.
    scores : ndarray of shape (n_samples,) or None
        What the rows are seen from, the scores of the plain fit for instance.
    offset : ndarray of shape (n_rows,) or 0.0
        Added to the rows; it corrects them for what the ramp misses of the decisions.
    uncompared : BoundPartialParity or None
        The same of groups that are too small to be compared, for the report alone.
    """

    constraint: object
    people: object
    intervals: list
    tolerance: float
    scores: np.ndarray | None = None
    offset: np.ndarray | float = 0.0
    uncompared: object = None

    is_local = True
    counts_decisions = False
    jumps = True
    bends_safely = True
    """Whether curvatures are others than those of the rows, which are safer to start with."""

    @property
    def name(self):
        """What the constraint is called."""
        return type(self.constraint).__name__

    @property
    def adds_up(self):
        """Whether the rows of parts of the people add up to those of all."""
        return self.constraint.adds_up

    @property
    def is_correctable(self):
        """Whether the rows count decisions, at one threshold, and can be told what they miss."""
        return self.constraint.is_correctable

    @cached_property
    def events(self):
        """Every group within every cell, as `CellEvents`."""
        return cell_events(self.constraint.cells(self.people), self.people.groups, False)

    @cached_property
    def members(self):
        """Who belongs to which event, as `Events`."""
        return self.events.weighted(self.people.weights)

    @cached_property
    def positions(self):
        """Interval of each event, as the scores show it."""
        names = self.people.groups.names
        groups = [names.index(group) for _, group in self.events.names]
        positions = [Position(self.intervals[group]) for group in groups]
        if self.scores is None or not self.constraint.ranks_people_in_groups:
            return positions
        of_groups = Events.overlapping(self.people.groups.matrix, self.people.weights)
        return [
            _as_ranked_in_group(position, (of_groups, group), (self.members, event), self.scores)
            for event, (position, group) in enumerate(zip(positions, groups, strict=True))
        ]

    @cached_property
    def compared(self):
        """The events to be compared, as `Compared`."""
        blocks = np.empty(len(self.events.names), dtype=int)
        for number, block in enumerate(self.events.blocks):
            blocks[list(block)] = number
        tolerances = self.constraint.interval_tolerances(self.tolerance, self.positions)
        samples, events, _ = self.members.memberships
        weights = np.bincount(events, self.people.weights[samples], len(blocks))
        return Compared(self.members, self.positions, tolerances, blocks, weights)

    @cached_property
    def rows(self):
        """What solvers hold, corrections included; no rows for a single group."""
        if len(self.people.groups.names) == 1:
            return ConstraintSystem(())
        if self.constraint.ranks_people_in_groups:
            self.check_sizes(self.positions)
        rows = self.constraint.rows(self.compared, self.scores)
        return rows.shifted(self.offset) if self.is_correctable else rows

    def check_sizes(self, positions):
        """Refuse events with too few samples in their intervals."""
        widths = np.array([position.width for position in positions])
        selected = self.events.counted(self.people) * widths
        sized = [*zip(self.events.names, selected, strict=True)]
        sized += [(names, 0.0) for names in self.events.empty]
        small = [(names, size) for names, size in sized if size < _LEAST_SELECTED]
        if not small:
            return
        named = [
            f"{'' if cell == 'all' else f'{cell} of '}group {group!r} ({size:.0f})"
            for (cell, group), size in small
        ]
        raise ValueError(
            f"Every group needs at least {_LEAST_SELECTED} samples in the interval, but there are "
            f"fewer in {len(small)} of {len(sized)}: {join_names(named)}. Widen the interval, or "
            "merge or leave out small groups (min_group_size)."
        )

    # What solvers need.

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
        return self.rows.n_aux

    def initial_aux(self, scores):
        """Auxiliary unknowns at which the rows hold if they can at these scores, (n_aux,)."""
        return self.rows.initial_aux(scores)

    def __call__(self, scores, aux):
        """Rows and their derivatives, as `ConstraintValues`."""
        return self.rows(scores, aux)

    @property
    def draws_majorant(self):
        """Whether the majorant is a mean over people, of whom mini-batches can be drawn."""
        return self.rows.draws_majorant

    def majorant(self, scores, aux):
        """Convex rows that are nowhere easier to keep, and equal to these at the given point."""
        return self.rows.majorant(scores, aux)

    # What problems in parts need.

    @property
    def criterion(self):
        """What of the constraint may change from fit to fit, and hangs on nobody."""
        return self.constraint

    def shift(self, aux):
        """Value of the rows where all shares are 0, (n_rows,)."""
        return self.rows.shift(aux)

    @property
    def aux_jacobian(self):
        """Derivative of `shift`, (n_rows, n_aux)."""
        return self.rows.aux_jacobian

    def count(self, scores, cuts):
        """Weights and numbers of people in bins of scores, as `skfair.constraints._condensed`."""
        return _condensed.counts(self, scores, cuts)

    def within(self, scores, cuts, bins):
        """Score, event and weight of the people in some of the bins."""
        return _condensed.members_within(self, scores, cuts, bins)

    def condensed(self, scores, count, collect):
        """The same gap of few; `scores` are those of some, who tell where to cut first."""
        return _condensed.condensed(self, _condensed.first_cuts(scores), count, collect)

    def of_members(self, events, weights):
        """The constraint of other people, of whom events and weights are given."""
        names = np.arange(len(self.events.names)).astype(object)[:, np.newaxis]
        people = Samples(np.ones(len(events)), Groups.disjoint(events, names), weights)
        intervals = [one.pairs for one in self.positions]
        return replace(self, people=people, intervals=intervals, uncompared=None)

    # What enforcement needs.

    def gap(self, scores):
        """The gap by the public metric; nan if nobody ranks in an interval."""
        return self.constraint.difference(self.people, self.intervals, scores)

    def sampled(self, scores):
        """What the people tell of the population's gap, as `BoundConstraint.sampled`."""
        return self.constraint.sampled(self, scores)

    def violation(self, scores):
        """Excess of the gap over the tolerance by the public metric; infinite if it is unknown."""
        gap = self.gap(scores)
        return np.inf if np.isnan(gap) else max(0.0, gap - self.tolerance)

    @property
    def strata(self):
        """Which people are drawn alike, as in `MetricConstraint`."""
        return self.members.membership_codes

    def posterior(self, scores, clusters=None):
        """What the samples tell of the population's gap, as in `MetricConstraint`."""
        seen = self.seen_from(scores)
        if not hasattr(self.constraint, "scale"):
            raise ValueError(
                f"confidence_level cannot be promised of {self.name}, which compares pairs of "
                "people and not rates; pass confidence_level=None, or a criterion on rates."
            )
        thresholds = seen.thresholds(scores, _N_CURVE)
        members = map(self.members.members, range(self.members.n_events))
        above = [(scores[own] > thresholds[:, np.newaxis]) @ shares for own, shares in members]
        sizes = kish_sizes(self.members)
        if clusters is not None:  # the threshold at which clusters matter most
            effects = [
                cluster_effects(self.members, (scores > threshold).astype(float), clusters)[0]
                for threshold in thresholds
            ]
            sizes = sizes / np.max(effects, axis=0)
        units = 1.0 / self.constraint.interval_tolerances(1.0, seen.positions)
        return CurvePosterior(
            np.array(above),
            sizes,
            seen.positions,
            units,
            self.compared.blocks,
            self.tolerance,
        )

    def remedy(self, scores):
        """What helps where the tolerance cannot be kept, beside raising it, as words."""
        if scores is not None and np.std(scores) < _NEARLY_EQUAL:
            return (
                "or give the model more to tell people apart: the scores are nearly equal "
                f"(standard deviation {np.std(scores):.2g}), but ranks see any difference"
            )
        return "widen the interval, or try group_interactions=True"

    def seen_from(self, scores):
        """The same constraint, its rows those that suit scores near the given ones."""
        others = self.uncompared and self.uncompared.seen_from(scores)
        return self._with(scores=scores, offset=0.0, uncompared=others)

    def held_to(self, tolerance):
        """The same constraint with another tolerance."""
        return self._with(tolerance=tolerance)

    def missed(self, scores):
        """What the rows lack of those counted by decisions, (n_rows,)."""
        return self.rows.missed(scores)

    def shifted(self, offset):
        """The same constraint, where something is added to the rows."""
        return self._with(offset=offset)

    def narrowed(self, factor):
        """The same constraint with a ramp of so much less width."""
        return self.by(clone(self.constraint).set_params(width=self.constraint.width * factor))

    def refined(self):
        """The same constraint, compared at more places where it is compared at some."""
        return self.by(self.constraint.refined())

    def by(self, constraint):
        """The same people under another criterion, of another ramp for instance."""
        return self._with(constraint=constraint)

    def take(self, rows):
        """The same constraint among some of the samples.

        Parameters
        ----------
        rows : ndarray of int or bool
            Positions of the samples, or a mask over all of them.

        Returns
        -------
        constraint : BoundPartialParity

        Raises
        ------
        ValueError
            If an event has too few of them in its interval.
        """
        people = self.people
        groups = people.groups.take(rows)
        if len(groups.names) < len(people.groups.names):
            raise ValueError("Every group needs somebody among the samples taken; draw more.")
        target, weights = people.target[rows], people.weights[rows]
        taken = replace(
            self,
            people=Samples(target, groups, weights),
            scores=None if self.scores is None else self.scores[rows],
            uncompared=None,
        )
        taken.check_sizes(taken.positions)
        return taken

    def part(self, rows, factors=1.0, target=None):
        """The share of some samples, as in `Events.part`: rows of parts add up to those of all."""
        people, members = self.people, self.members.subset(rows, factors)
        weights = people.weights[rows] * factors
        others = self.uncompared and self.uncompared.part(rows, factors, target)
        target = people.target[rows] if target is None else target
        own = Samples(target, people.groups.subset(rows), weights)
        part = replace(self, people=own, uncompared=others)
        vars(part).update(events=self.events, members=members)
        return part

    def _with(self, **changes):
        """The same people under a changed constraint; they are not looked through again."""
        changed = replace(self, **changes)
        vars(changed).update(events=self.events, members=self.members)
        return changed

    def report(self, scores):
        """One row per event and threshold that is compared.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
            Scores.

        Returns
        -------
        report : DataFrame
            Columns as in `BoundConstraint.report`; the rate is the share of those in the interval
            that score above the threshold. Criteria at one threshold have that one; others have
            thresholds midway between the groups' own percentiles.
        """
        seen = self.seen_from(scores)
        thresholds = seen.thresholds(scores)
        return seen.report_of((self.gap(scores), thresholds, self.moments(scores, thresholds)))

    def moments(self, scores, thresholds):
        """What `report_of` needs, which parts add to: shares above thresholds, and of squares.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
            Scores.
        thresholds : ndarray of shape (n_thresholds,)
            Those that are reported.

        Returns
        -------
        above : ndarray of shape (n_events, n_thresholds)
            Share of every event above every threshold.
        squares : ndarray of shape (n_events,)
            Sum of squared shares, which is one over the effective number of samples.
        """
        members = [self.members.members(event) for event in range(self.members.n_events)]
        above = [(scores[own] > thresholds[:, np.newaxis]) @ shares for own, shares in members]
        squares = [shares @ shares for _, shares in members]
        if self.uncompared is None:
            return np.array(above), np.array(squares)
        others = self.uncompared.moments(scores, thresholds)
        return np.concatenate((above, others[0])), np.append(squares, others[1])

    report_of = report_of_shares

    def thresholds(self, scores, n_positions=None):
        """The one that decides, else those midway between the groups' own percentiles."""
        if self.is_correctable:
            return np.array([self.constraint.threshold])
        at = self.constraint.grid_positions(self.compared.tolerances)
        at = at if n_positions is None else np.linspace(0.0, 1.0, n_positions)
        midpoints = at_percentiles(self.compared, at, self.constraint.width, SHAPES["ramp"])
        return midpoints.initial_aux(scores)


def _as_ranked_in_group(position, of_group, of_event, scores):
    """Which percentiles of an event rank in the interval of its group, at the given scores.

    Group and event are given as members and a number among these.
    """
    flat = position.pairs.ravel()
    groups, group = of_group
    thresholds = groups.quantiles(group, scores, flat)
    members, event = of_event
    samples, shares = members.members(event)
    above = np.array([shares[scores[samples] > threshold].sum() for threshold in thresholds])
    above[flat <= 0.0], above[flat >= 1.0] = 0.0, 1.0
    return Position(above.reshape(-1, 2))
