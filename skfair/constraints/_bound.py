"""Constraints on event means, bound to samples."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from skfair.constraints._event_means import EventMeans
from skfair.constraints._gap import Gap
from skfair.constraints._report import report_means
from skfair.constraints._rows import MeanRows
from skfair.inference import gap_posterior


@dataclass(frozen=True, eq=False)
class BoundConstraint:
    """The constraint ``aggregate(means + offset) <= tolerance``.

    It is changed by :func:`dataclasses.replace`: of its tolerance, of its offset, or to one row.

    Attributes
    ----------
    means : EventMeans
        The means that are compared.
    aggregate : Gap
        How they become one gap.
    tolerance : float
        Largest gap allowed.
    statistic : {"decisions", "values"}
        What the public metric depends on: the signs of the scores, or their values.
    offset : ndarray of shape (n_events,) or 0.0
        Added to the smooth means; it corrects them for their residual.
    one_row : bool
        Whether the gap is bounded by one piecewise linear row instead of several linear ones.
    uncompared : EventMeans or None
        The same means of groups that are too small to be compared, for the report alone.
    is_ratio : bool
        Whether the gap is 1 minus a ratio, which messages state.
    """

    means: EventMeans
    aggregate: Gap
    tolerance: float
    statistic: str = "values"
    offset: np.ndarray | float = 0.0
    one_row: bool = False
    uncompared: EventMeans | None = None
    is_ratio: bool = False

    is_correctable = True
    """Whether an offset makes the rows count what the metric counts."""

    criterion = None
    """Settings that enforcement may change between fits; only criteria on ranks have them."""

    @property
    def name(self):
        """Name in messages and reports."""
        return self.means.name

    @property
    def events(self):
        """Events that are compared."""
        return self.means.events

    @property
    def adds_up(self):
        """Whether rows are linear in means, so that those of partitions add up."""
        return not self.one_row

    @cached_property
    def rows(self):
        """The rows that solvers see, as `MeanRows`."""
        n_events = self.events.n_events
        polyhedron = self.aggregate.rows(n_events, self.tolerance, self.one_row)
        return MeanRows(self.means, polyhedron, self.offset)

    def gap(self, scores):
        """The gap by the public metric."""
        return float(self.aggregate(self.means.exact_at(scores)))

    def correct(self, scores, step_size=1.0):
        """The same constraint, its offset moved by a step to the residual at the scores."""
        residual = self.means.residual(scores)
        return replace(self, offset=self.offset + step_size * (residual - self.offset))

    def linearize_at(self, scores):
        """The constraint itself: its rows suit all scores."""
        return self

    def take(self, rows):
        """The same constraint on a subset of the samples, which may repeat."""
        return replace(self, means=self.means.take(rows), uncompared=None)

    def subset(self, rows, factors=1.0, target=None):
        """A partition's contribution, as in `Events.subset`; rows without offset add up."""
        # The offset is added once, to the means of all samples, so a partition has none.
        uncompared = self.uncompared and self.uncompared.subset(rows, factors, target)
        means = self.means.subset(rows, factors, target)
        return replace(self, means=means, offset=0.0, uncompared=uncompared)

    def moments(self, scores):
        """Three arrays from which `report` is made, one entry per rate; partitions add up."""
        moments = self.means.moments(scores)
        if self.uncompared is None:
            return moments
        return tuple(map(np.append, moments, self.uncompared.moments(scores)))

    def report(self, scores=None, moments=None):
        """One row per rate with the columns `REPORT_COLUMNS`, from scores or from `moments`."""
        return report_means(self, self.moments(scores) if moments is None else moments)

    def estimates(self, scores):
        """Estimates of the population's means, and the linear forms whose largest is the gap."""
        estimates = self.aggregate.estimates(self.means.estimates(scores))
        return estimates, self.aggregate.forms(self.events.n_events)

    def posterior(self, scores, clusters=None):
        """Posterior of the population's gap, with ``probability(factor, multiple)``."""
        values = self.means.exact_rate(scores)
        return gap_posterior(self.events, values, self.aggregate, self.tolerance, clusters)
