"""Criteria on an interval of percentiles, bound to samples."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from skfair.constraints._report import report_shares
from skfair.constraints._system import ConstraintSystem
from skfair.constraints.partial._bins import PartitionSums, share_moments
from skfair.constraints.partial._estimates import estimate_areas, estimate_curves
from skfair.constraints.partial._ranked import RankedEvents
from skfair.groups import Samples
from skfair.inference import CurvePosterior, cluster_effects, kish_sizes

_N_CURVE = 41
"""Thresholds at which the shares of groups are compared in the posterior of a gap."""


@dataclass(frozen=True, eq=False)
class BoundPartialParity:
    """The constraint that a criterion on an interval of percentiles is at most a tolerance.

    It is changed by :func:`dataclasses.replace`: of its tolerance, offset or criterion. Its rows
    suit scores near those where it is linearised: these say on which side of an interval the rates
    at one threshold lie, and how many of a class rank in the interval of their group.

    Attributes
    ----------
    criterion : PartialParity
        The criterion; enforcement may narrow or refine it.
    ranked : RankedEvents
        The samples of each event and their interval.
    tolerance : float
        Largest difference allowed.
    offset : ndarray of shape (n_rows,) or 0.0
        Added to the rows; it corrects them for the residual of the ramp.
    uncompared : RankedEvents or None
        The same of groups that are too small to be compared, for the report alone.
    """

    criterion: Any
    ranked: RankedEvents
    tolerance: float
    offset: np.ndarray | float = 0.0
    uncompared: RankedEvents | None = None

    statistic = "ranks"
    is_ratio = False

    @property
    def name(self):
        """Name in messages and reports."""
        return type(self.criterion).__name__

    @property
    def events(self):
        """Events that are compared."""
        return self.ranked.events

    @property
    def adds_up(self):
        """Whether the rows of partitions add up."""
        return self.criterion.adds_up

    @property
    def is_correctable(self):
        """Whether an offset makes the rows count decisions, at one threshold."""
        return self.criterion.is_correctable

    @cached_property
    def rows(self):
        """The rows that solvers see; none for a single group."""
        if len(self.ranked.samples.groups.names) == 1:
            return ConstraintSystem(())
        if self.ranked.ranks_in_groups:
            self.ranked.check_sizes()
        rows = self.criterion.rows(self.ranked, self.tolerance)
        if not self.is_correctable:
            return rows
        # Smooth shares plus the offset count decisions; the bounds move the other way.
        return replace(rows, lower=rows.lower - self.offset, upper=rows.upper - self.offset)

    @cached_property
    def partition_sums(self):
        """What partitions contribute to the criterion, as `PartitionSums`."""
        return PartitionSums(self)

    def gap(self, scores):
        """The gap by the public metric; nan if no member of a group ranks in its interval."""
        return self.criterion.difference(self.ranked.samples, self.ranked.percentiles, scores)

    def linearize_at(self, scores):
        """The same constraint with the rows that suit scores near the given ones."""
        uncompared = self.uncompared and self.uncompared.linearize_at(scores)
        ranked = self.ranked.linearize_at(scores)
        return replace(self, ranked=ranked, offset=0.0, uncompared=uncompared)

    def take(self, rows):
        """The same constraint on a subset of the samples; one that is too small is refused."""
        ranked, samples = self.ranked, self.ranked.samples
        groups = samples.groups.take(rows)
        if len(groups.names) < len(samples.groups.names):
            raise ValueError("Every group needs a sample in the subset; draw more.")
        scores = None if ranked.scores is None else ranked.scores[rows]
        subset = Samples(samples.target[rows], groups, samples.weights[rows])
        # Ranks are recomputed among the samples of the subset.
        taken = RankedEvents.from_criterion(self.criterion, subset, ranked.percentiles, scores)
        taken.check_sizes()
        return replace(self, ranked=taken, uncompared=None)

    def subset(self, rows, factors=1.0, target=None):
        """A partition's share, as in `Events.subset`: rows of partitions add up."""
        uncompared = self.uncompared and self.uncompared.subset(rows, factors, target)
        ranked = self.ranked.subset(rows, factors, target)
        return replace(self, ranked=ranked, uncompared=uncompared)

    def report(self, scores=None, moments=None):
        """One row per event and threshold that is compared, with the columns `REPORT_COLUMNS`.

        The rate is the share of those in the interval that score above the threshold. Criteria at
        one threshold have that one; others have thresholds midway between the groups' percentiles.
        Instead of scores, `moments` are gap, thresholds and the sums of `PartitionSums.moments`.
        """
        if moments is not None:
            return report_shares(self, moments)
        # Intervals of ranks in whole groups depend on the scores.
        here = self.linearize_at(scores)
        thresholds = here.criterion.thresholds(here.ranked, here.tolerance, scores)
        sums = share_moments(here, scores, thresholds)
        return report_shares(here, (here.gap(scores), thresholds, sums))

    def estimates(self, scores):
        """Estimates of the numbers that are compared, and the forms whose largest is the gap."""
        if self.criterion.compares_pairs:
            return estimate_areas(self, scores)
        return estimate_curves(self, scores)

    def posterior(self, scores, clusters=None):
        """Posterior of the population's gap, with ``probability(factor, multiple)``."""
        if self.criterion.compares_pairs:
            raise ValueError(
                f"confidence_level cannot be guaranteed for {self.name}, which compares pairs of "
                "samples and not rates; pass confidence_level=None, or a criterion on rates."
            )
        # Shares of the groups above the thresholds of the comparison, by effective sample sizes.
        ranked = self.ranked.linearize_at(scores)
        thresholds = self.criterion.thresholds(ranked, self.tolerance, scores, _N_CURVE)
        above, _ = ranked.moments(scores, thresholds)
        sizes = kish_sizes(self.events)
        if clusters is not None:  # the threshold at which clusters matter most
            effects = [
                cluster_effects(self.events, (scores > threshold).astype(float), clusters)[0]
                for threshold in thresholds
            ]
            sizes = sizes / np.max(effects, axis=0)
        units = 1.0 / self.criterion.interval_tolerances(ranked, 1.0)
        return CurvePosterior(above, sizes, ranked.intervals, units, ranked.blocks, self.tolerance)
