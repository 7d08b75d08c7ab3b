"""Sums of terms over events: what constraints on rates take from the scores of samples."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from skfair.constraints._reports import rate_report_columns
from skfair.constraints._rows import RateRows, evaluate_terms
from skfair.constraints._units import USER_UNIT, Unit
from skfair.groups._events import Events
from skfair.metrics._rates import counted_values, is_share, known_values
from skfair.statistics._bounded_means import BoundedMeans, make_estimates
from skfair.statistics._gaps import UnknownPosterior, gap_posterior


@dataclass(frozen=True, eq=False)
class Sums:
    """Means of some terms over events, which blocks of samples add up to.

    A term is a pointwise function of score and target. Rates are these sums, or the quotients of
    two. `RankSums` has the same methods, but for those on terms.

    Attributes
    ----------
    name : str
        Name of the constraint in messages and reports.
    cells : CellEvents
        The events with their labels, counts and order in reports.
    target : ndarray of shape (n_samples,)
        Classes -1 and +1, or real numbers.
    smooth, exact : tuple of callable
        (scores, target) -> Pointwise: the terms that solvers bound, and those that the public
        metric counts. A quotient has two of each, numerator and denominator.
    metric_input : {"decisions", "values"}
        What the public metric depends on: the signs of the scores, or their values.
    unit : Unit
        Units of the rates in the user's. Gaps and tolerances have its spread, but for ratios.
    value_range : tuple of two floats, or None
        Smallest and largest value of a sample, if they are known beforehand.
    """

    name: str
    cells: Any
    target: np.ndarray
    smooth: tuple[Callable, ...]
    exact: tuple[Callable, ...]
    metric_input: str = "values"
    unit: Unit = USER_UNIT
    value_range: tuple[float, float] | None = None

    # The rows that solvers see, and the columns of the report, of a bound constraint on sums.
    make_rows = staticmethod(RateRows)
    report_columns = staticmethod(rate_report_columns)

    @property
    def events(self):
        """Samples that each mean is taken over."""
        return self.cells.events

    @property
    def is_quotient(self):
        """Whether rates are quotients of two terms."""
        return len(self.exact) > 1

    def smooth_means(self, scores):
        """Sums of the smooth terms, (n_sums,)."""
        return evaluate_terms(self, self.smooth, scores)[1]

    def exact_means(self, scores):
        """Sums of the terms that the public metric counts, (n_sums,)."""
        return evaluate_terms(self, self.exact, scores)[1]

    def rates(self, sums):
        """Rates from sums: themselves, or quotients of the first half by the second.

        The rate of a group without a denominator is nan, so that its gap is unknown.
        """
        if not self.is_quotient:
            return sums
        counts, sizes = np.split(np.asarray(sums, dtype=np.float64), 2)
        return np.divide(counts, sizes, out=np.full(counts.shape, np.nan), where=sizes > 0.0)

    def measure(self, scores):
        """The rates by the public metric, (n_events,)."""
        return self.rates(self.exact_means(scores))

    def estimates(self, gap, scores):
        """Estimates of the population's rates, and the linear forms whose largest is the gap."""
        counted, value_range = _sample_values(self, scores, self.cells.clusters), self.value_range
        if counted.clusters is not None and counted.known is not None:
            value_range = min(counted.known), max(counted.known)
        if value_range is None:
            means = make_estimates(*counted)
        else:
            means = BoundedMeans(counted.events, counted.values, value_range, counted.clusters)
        estimates, forms = gap.estimates(means), gap.linear_forms(self.events.n_events)
        value = gap(means.values)
        by_forms = estimates.gap((forms @ estimates.values).max(initial=0.0))
        # Ratios replace a rate of 0 by half a success.
        is_known = not (np.isnan(value) or gap.is_ratio and means.values.min(initial=1.0) <= 0.0)
        if is_known and not np.isclose(by_forms, max(value, 0.0)):
            raise ValueError(
                f"linear_forms of {gap.name} must have the gap as their largest form, since limits "
                f"follow from them, but the gap is {value:g} where that is {by_forms:g}. Define "
                "them with __call__, in the same class."
            )
        return estimates, forms

    def posterior(self, gap, tolerance, scores, clusters):
        """Posterior of the population's gap."""
        if np.isnan(gap(self.measure(scores))):
            return UnknownPosterior(self.events.n_events, tolerance)
        return gap_posterior(*_sample_values(self, scores, clusters), gap, tolerance)

    def take(self, rows):
        """The same sums over a subset of the samples, which may repeat."""
        events = self.events.take(rows)  # weights within events add up to 1 again
        cells = self.cells._replace(events=events, counts=events.count_samples())
        return replace(self, cells=cells, target=self.target[rows])

    def contribution(self, rows, factors=1.0, target=None):
        """The contribution of a block, as in `Events.contribution`."""
        target = self.target[rows] if target is None else target
        cells = self.cells._replace(events=self.events.contribution(rows, factors))
        return replace(self, cells=cells, target=target)


def decision_outcomes(sums):
    """What a negative decision counts in each exact term, and what a positive one adds.

    Pairs of (n_samples,). Exact rates of decisions depend on the sign of a score alone.
    """
    ones = np.ones(len(sums.target))
    for term in sums.exact:
        low, high = (term(sign * ones, sums.target).value for sign in (-1.0, 1.0))
        yield low, high - low


class _SampleValues(NamedTuple):
    """What the public metric averages: values of samples over events, and clusters of these.

    `known` are all values that samples can have, or None.
    """

    events: Events
    values: np.ndarray
    clusters: np.ndarray | None
    known: np.ndarray | None = None


def _known_values(sums):
    """Values that decisions about the compared classes can have, as `known_values`, or None."""
    classes = np.unique(sums.target[sums.events.memberships[0]])
    if sums.metric_input != "decisions" or len(classes) > 2:
        return None
    outcomes = np.tile([1.0, -1.0], len(classes)), np.repeat(classes, 2)
    counts, *sizes = (term(*outcomes).value for term in sums.exact)
    return known_values(counts, *sizes or [np.ones(len(counts))])


def _sample_values(of, scores, clusters=None):
    """What samples count by the public metric: the mean over each event is its rate.

    A mean of known values is one over the samples of its denominator. Other quotients are
    linearised: ``z = r + (n - r d) / D`` has the mean r = N / D and its standard error (W. G.
    Cochran, "Sampling techniques", Wiley 1977, section 2.11).
    """
    terms = [term(scores, of.target).value for term in of.exact]
    known = _known_values(of)
    if not of.is_quotient:
        return _SampleValues(of.events, terms[0], clusters, known)
    (counts, sizes), sums = terms, of.exact_means(scores)
    unknown = np.flatnonzero(np.isnan(of.rates(sums)))
    if len(unknown):
        groups = ", ".join(repr(of.cells.labels[event][1]) for event in unknown)
        raise ValueError(
            f"{of.name} is unknown where nothing counts in its denominator, as for group "
            f"{groups}; pass more samples, or leave small groups out (min_group_size)."
        )
    if known is not None or is_share(counts, sizes):
        rows = np.flatnonzero(sizes)
        events = of.events.contribution(rows, sizes[rows]).take(slice(None))
        events = events.copy_with_multiplicity(of.events.take_multiplicity(rows))
        values = counted_values(counts, sizes)[rows]
        clusters = clusters if clusters is None else clusters[rows]
        return _SampleValues(events, values, clusters, known)
    samples, event, _ = of.events.memberships
    if len(np.unique(samples)) < len(samples):
        raise ValueError(
            f"{of.name} compares quotients of groups that overlap, and no limits of these "
            "are implemented; pass one group per sample, or confidence_level=None."
        )
    rates, denominators = of.rates(sums), sums[of.events.n_events :]
    of_event = np.zeros(len(counts), dtype=np.intp)
    of_event[samples] = event
    values = rates[of_event] + (counts - rates[of_event] * sizes) / denominators[of_event]
    return _SampleValues(of.events, values, clusters)
