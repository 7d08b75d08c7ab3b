"""Constraints bound to samples: reports, `BoundConstraint`, `ConstraintSystem`."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from skfair.constraints._gap import (
    ConstraintValues,
    Gap,
    ScoreJacobian,
    block_diagonal,
    concatenate,
    differentiate_means,
    empty_values,
    make_rows,
    split,
    spread_over_samples,
    stack_values,
)
from skfair.groups import Events
from skfair.losses import as_pointwise
from skfair.metrics import counted_values, is_share, known_values
from skfair.statistics import UnknownPosterior, gap_posterior, make_estimates

# Reports of rates from their moments, which add up over partitions.


REPORT_COLUMNS = (
    "cell",
    "group",
    "rate",
    "n",
    "standard_error",
    "constraint",
    "threshold",
    "gap",
    "tolerance",
)
"""Columns of all reports of constraints; a narrow screen leaves out those in the middle."""


def rate_moments(constraint, scores):
    """Moments of the rates of a `BoundConstraint`, which add up over partitions.

    Three arrays: means over events of the terms and of products of two terms, and sums of squared
    weights. Those of small groups come last.
    """
    means = constraint.events.means
    terms = [one(scores, constraint.target).value for one in constraint.exact]
    products = [one * other for i, one in enumerate(terms) for other in terms[i:]]
    # The sum of squared weights is one over the effective number of samples.
    weights = constraint.events.sum_squared_mean_weights()
    moments = *(np.concatenate([means(one) for one in ones]) for ones in (terms, products)), weights
    if constraint.uncompared is None:
        return moments
    return tuple(map(np.append, moments, rate_moments(constraint.uncompared, scores)))


def _rates_and_errors(constraint, moments):
    """Rates and their standard errors, by the moments of the events of one constraint."""
    sums, products, weights = moments
    rates = constraint.rates(sums)
    # Variance of what a sample adds to a rate; of a quotient to the linearised one, (n - r d) / D.
    if constraint.is_quotient:
        _, sizes = np.split(sums, 2)
        nn, nd, dd = np.split(products, 3)
        variances = (nn - 2 * rates * nd + rates**2 * dd) / sizes**2  # nan where a rate is
    else:
        variances = products - rates**2
    # Standard error of a weighted mean: the variance times the sum of squared weights.
    return rates, np.sqrt(np.maximum(0.0, variances) * weights)  # despite rounding


def rate_report_columns(constraint, moments):
    """Columns with one entry per rate of a `BoundConstraint`, by its moments.

    Those of small groups come last.
    """
    labels, counts, order = constraint.labels, constraint.counts, constraint.report_order
    n_compared, n_events = len(labels), len(moments[2])
    # Of each moment, the sums over events that are compared, and over others.
    ends = [len(sums) * n_compared // n_events for sums in moments]
    halves = [np.split(sums, [end]) for sums, end in zip(moments, ends, strict=True)]
    compared, others = zip(*halves, strict=True)
    rates, errors = _rates_and_errors(constraint, compared)
    gap = float(constraint.rate_gap(rates))
    if n_events > n_compared:
        uncompared = constraint.uncompared
        both = (rates, errors), _rates_and_errors(uncompared, others)
        rates, errors = map(np.concatenate, zip(*both, strict=True))
        labels, counts = labels + uncompared.labels, np.append(counts, uncompared.counts)
        order = np.append(order, n_compared + uncompared.report_order)
    # Groups are reported in the order of their labels.
    cells, groups = zip(*(labels[event] for event in order), strict=True)
    is_compared = np.arange(len(rates)) < n_compared
    threshold = 0.0 if constraint.metric_input == "decisions" else np.nan
    # Whole columns, in order: with single values, or an order of its own, pandas copies the frame.
    return {
        "cell": list(cells),
        "group": list(groups),
        "rate": rates[order],
        "n": counts[order],
        "standard_error": errors[order],
        "constraint": [constraint.name] * len(rates),
        "threshold": np.full(len(rates), threshold),
        "gap": np.where(is_compared, gap, np.nan),
        "tolerance": np.where(is_compared, float(constraint.tolerance), np.nan),
    }


def make_share_report(constraint, moments):
    """One row per event and threshold of a `BoundPartialParity`; those of small groups come last.

    `moments` are the gap, the thresholds, and a pair of the shares above them, (n_events,
    n_thresholds), and the sums of the squared weights of samples, (n_events,).
    """
    import pandas as pd

    gap, thresholds, sums = moments
    rates, n_compared = list(zip(*sums, strict=True)), len(constraint.interval_events.labels)
    bounds = gap, constraint.tolerance
    frames = [
        _make_event_report(
            constraint.name, constraint.interval_events, event, thresholds, sums, bounds
        )
        for event, sums in _pair_in_report_order(constraint.interval_events, rates[:n_compared])
    ]
    frames += [
        _make_event_report(
            constraint.name, constraint.uncompared, event, thresholds, sums, (np.nan, np.nan)
        )
        for event, sums in _pair_in_report_order(constraint.uncompared, rates[n_compared:])
    ]
    return pd.concat(frames, ignore_index=True)


def _pair_in_report_order(events, sums):
    """Events and their sums, in the order of reports; none without events."""
    return [(event, sums[event]) for event in events.report_order] if sums else []


def _make_event_report(name, ranked, event, thresholds, sums, bounds):
    """Rows of an event, one per threshold."""
    import pandas as pd

    (above, squares), (gap, tolerance) = sums, bounds
    cell, group = ranked.labels[event]
    interval = ranked.intervals[event]
    # Standard error of a share, by the variance of a binary decision.
    errors = np.sqrt(np.maximum(0.0, above * (1.0 - above)) * squares)
    n_rows = len(thresholds)
    # Whole columns, in order: see `rate_report_columns`.
    columns = {
        "cell": [cell] * n_rows,
        "group": [group] * n_rows,  # it may be a tuple of attributes
        "rate": interval.position_of(above),
        "n": np.full(n_rows, int(ranked.counts[event])),
        "standard_error": errors / interval.width,
        "constraint": [name] * n_rows,
        "threshold": thresholds,
        "gap": np.full(n_rows, gap, dtype=np.float64),
        "tolerance": np.full(n_rows, tolerance, dtype=np.float64),
    }
    return pd.DataFrame(columns)


# Constraints on rates of events, bound to samples: rows for solvers, and the public metric.


_NO_UNKNOWNS = np.empty(0)


@dataclass(frozen=True, eq=False)
class BoundConstraint:
    """The constraint ``rate_gap(rates(sums)) <= tolerance`` on rates of events.

    It is a chain of maps::

        scores -> terms (n_samples,) -> sums (n_terms * n_events,) -> rates (n_events,) -> gap

    A term is a pointwise function of score and target, and a sum its mean over an event. Rates are
    these sums, or the quotients of two. Solvers call the constraint: its rows are
    ``lower <= rates_to_rows @ rates(s + offset) + aux_jacobian @ a <= upper``, with the sums s of
    the smooth terms and auxiliary unknowns a. The public metric is the gap of the exact terms.
    Constraints are changed by :func:`dataclasses.replace`.

    Attributes
    ----------
    name : str
        Name in messages and reports.
    events : Events
        Samples that each mean is taken over.
    labels : list of (str, object)
        Cell and group of each event.
    report_order : ndarray of int, shape (n_events,)
        Positions of the events in reports, which sort the groups of a cell by label.
    counts : ndarray of int, shape (n_events,)
        Samples in each event.
    target : ndarray of shape (n_samples,)
        Classes -1 and +1, or real numbers.
    smooth, exact : tuple of callable
        (scores, target) -> Pointwise: the terms that solvers bound, and those that the public
        metric counts. A quotient has two of each, numerator and denominator.
    rate_gap : Gap
        How the rates become one gap.
    tolerance : float
        Largest gap allowed.
    metric_input : {"decisions", "values"}
        What the public metric depends on: the signs of the scores, or their values.
    offset : ndarray of shape (n_sums,) or 0.0
        Added to the smooth sums; it corrects them for their residual.
    one_row : bool
        Whether the gap is bounded by one piecewise linear row instead of several linear ones.
    uncompared : BoundConstraint or None
        The same rates of groups that are too small to be compared, for the report alone.
    is_ratio : bool
        Whether the gap is 1 minus a ratio, which messages state.
    """

    name: str
    events: Events
    labels: list
    report_order: np.ndarray
    counts: np.ndarray
    target: np.ndarray
    smooth: tuple[Callable, ...]
    exact: tuple[Callable, ...]
    rate_gap: Gap
    tolerance: float
    metric_input: str = "values"
    offset: np.ndarray | float = 0.0
    one_row: bool = False
    uncompared: "BoundConstraint | None" = None
    is_ratio: bool = False
    row_gap: Gap = field(init=False)
    """The gap that the rows bound, as `GapRows.gap`."""
    rates_to_rows: Any = field(init=False)
    """Linear map from rates to rows, (n_rows, n_events); None if rows are not linear in rates."""
    aux_jacobian: np.ndarray = field(init=False)
    """Derivative of the rows by the auxiliary unknowns, (n_rows, n_aux)."""
    lower: np.ndarray = field(init=False)
    upper: np.ndarray = field(init=False)
    """Bounds of the rows, (n_rows,)."""
    n_aux: int = field(init=False)
    """Number of auxiliary unknowns."""
    n_events: int = field(init=False)
    """Number of events that are compared."""
    is_quotient: bool = field(init=False)
    """Whether rates are quotients of two terms."""
    adds_up: bool = field(init=False)
    """Whether rows follow from sums that partitions add up to."""

    is_correctable = True
    """Whether an offset makes the rows count what the metric counts."""

    criterion = None
    """Settings that enforcement may change between fits; only criteria on ranks have them."""

    def __post_init__(self):
        """Store what is constant."""
        n_events = self.events.n_events
        rows = make_rows(self.rate_gap, n_events, self.tolerance, self.one_row)
        vars(self).update(
            row_gap=rows.gap,
            rates_to_rows=rows.rates_to_rows,
            aux_jacobian=rows.aux,
            lower=rows.lower,
            upper=rows.upper,
            n_aux=rows.aux.shape[1],
            n_events=n_events,
            is_quotient=len(self.exact) > 1,
            adds_up=not self.one_row,
        )

    # From terms to rates.

    def smooth_means(self, scores):
        """Sums of the smooth terms, before the offset, (n_sums,)."""
        return _evaluate_terms(self, self.smooth, scores)[1]

    def exact_means(self, scores):
        """Sums of the terms that the public metric counts, (n_sums,)."""
        return _evaluate_terms(self, self.exact, scores)[1]

    def rates(self, sums):
        """Rates from sums: themselves, or quotients of the first half by the second.

        The rate of a group without a denominator is nan, so that its gap is unknown.
        """
        if not self.is_quotient:
            return sums
        counts, sizes = np.split(np.asarray(sums, dtype=np.float64), 2)
        return np.divide(counts, sizes, out=np.full(counts.shape, np.nan), where=sizes > 0.0)

    @property
    def known_values(self):
        """Values that decisions about the compared classes can have, as `known_values`, or None."""
        classes = np.unique(self.target[self.events.memberships[0]])
        if self.metric_input != "decisions" or len(classes) > 2:
            return None
        outcomes = np.tile([1.0, -1.0], len(classes)), np.repeat(classes, 2)
        counts, *sizes = (term(*outcomes).value for term in self.exact)
        return known_values(counts, *sizes or [np.ones(len(counts))])

    # Rows, for solvers.

    @property
    def rows(self):
        """What solvers see: the constraint itself."""
        return self

    def __call__(self, scores, aux):
        """Rows and derivatives, as `ConstraintValues`."""
        terms, sums = _evaluate_terms(self, self.smooth, scores)
        sums = sums + self.offset
        values, combine = self.rows_at(sums, aux)
        slopes = [one.slope for one in terms]
        curvatures = [one.curvature for one in terms]
        is_linear = self.rates_to_rows is not None and not self.is_quotient
        return ConstraintValues(
            values,
            ScoreJacobian(
                combine,
                partial(differentiate_means, self.events, slopes),
                partial(spread_over_samples, self.events, slopes),
            ),
            self.aux_jacobian,
            lambda v: spread_over_samples(self.events, curvatures, combine.T @ v),
            rows_at_shift=None if is_linear else lambda shift: self.rows_at(sums + shift, aux),
            means_curvature=partial(quotient_curvature, self, sums) if self.is_quotient else None,
        )

    def rows_at(self, sums, aux=None):
        """Values of the rows at sums, (n_rows,), and their slope by these, (n_rows, n_sums).

        Unknowns of None are those at which the rows hold if they can.
        """
        rates = self.rates(sums)
        if self.rates_to_rows is None:
            value, slope = self.row_gap.value_and_subgradient(rates)
            values, combine = np.array([value]), slope[np.newaxis, :]
        else:
            aux = self.aux_at(sums) if aux is None else aux
            values, combine = (
                self.rates_to_rows @ rates + self.aux_jacobian @ aux,
                self.rates_to_rows,
            )
        if self.is_quotient:  # (N / D)' = (N' - D' N / D) / D, and 0 where a rate is unknown
            inverse, rates = _invert_sizes(sums[self.n_events :]), np.nan_to_num(rates)
            combine = np.hstack((combine * inverse, combine * (-rates * inverse)))
        return values, combine

    def aux_at(self, sums):
        """Auxiliary unknowns at which the rows hold if they can, (n_aux,)."""
        return self.row_gap.aux_at(self.rates(sums)) if self.n_aux else _NO_UNKNOWNS

    def initial_aux(self, scores):
        """Auxiliary unknowns at which the rows hold if they can at these scores, (n_aux,)."""
        return self.aux_at(self.smooth_means(scores) + self.offset) if self.n_aux else _NO_UNKNOWNS

    def constant_term(self, aux):
        """Value of the rows where all sums are 0 before the offset, (n_rows,)."""
        if self.is_quotient:
            return self.aux_jacobian @ aux
        return self.rows_at(np.zeros(self.n_events) + self.offset, aux)[0]

    def take_batch(self, positions, start, n_per_event):
        """The constraint on drawn samples, of which those from `start` on come from its events."""
        events, counts = batch_events(len(positions), start, self.n_events, n_per_event)
        target = self.target[positions]
        return replace(self, events=events, counts=counts, target=target, uncompared=None)

    # The public metric, for enforcement.

    def gap(self, scores):
        """The gap by the public metric."""
        return float(self.gap_of(self.exact_means(scores)))

    def gap_of(self, sums):
        """The gap of sums, or of each column of (n_sums, n_columns)."""
        return self.rate_gap(self.rates(sums))

    def report(self, scores=None, moments=None):
        """One row per rate with the columns `REPORT_COLUMNS`, from scores or `rate_moments`."""
        import pandas as pd

        return pd.DataFrame(self.report_columns(scores, moments))

    def report_columns(self, scores=None, moments=None):
        """The columns of `report` by name."""
        return rate_report_columns(self, rate_moments(self, scores) if moments is None else moments)

    def estimates(self, scores):
        """Estimates of the population's rates, and the linear forms whose largest is the gap."""
        counted = _sample_values(self, scores)
        means = make_estimates(counted.events, counted.values, known=counted.known)
        return self.rate_gap.estimates(means), self.rate_gap.linear_forms(self.n_events)

    def posterior(self, scores, clusters=None):
        """Posterior of the population's gap, with ``probability(factor, multiple)``."""
        if np.isnan(self.gap(scores)):
            return UnknownPosterior(self.n_events, self.tolerance)
        counted = _sample_values(self, scores, clusters)
        return gap_posterior(*counted, self.rate_gap, self.tolerance)

    # The same constraint with another offset, or on other samples.

    def residual(self, scores):
        """Exact sums less smooth ones, (n_sums,): the offset that would make them equal."""
        return self.exact_means(scores) - self.smooth_means(scores)

    def correct(self, scores, step_size=1.0):
        """The same constraint, its offset moved by a step to the residual at the scores."""
        return move_offset(self, self.residual(scores), step_size)

    def linearize_at(self, scores):
        """The constraint itself: its rows suit all scores."""
        return self

    def take(self, rows):
        """The same constraint on a subset of the samples, which may repeat."""
        events = self.events.take(rows)  # weights within events add up to 1 again
        counts, target = events.count_samples(), self.target[rows]
        return replace(self, events=events, target=target, counts=counts, uncompared=None)

    def contribution(self, rows, factors=1.0, target=None):
        """The contribution of a block, as in `Events.contribution`; sums without offset add up."""
        # The offset is added once, to the sums of all samples, so a partition has none.
        uncompared = self.uncompared and self.uncompared.contribution(rows, factors, target)
        target = self.target[rows] if target is None else target
        events = self.events.contribution(rows, factors)
        return replace(self, events=events, target=target, offset=0.0, uncompared=uncompared)


def _evaluate_terms(constraint, terms, scores):
    """Terms of a constraint at scores as Pointwise, and their sums."""
    name = f"The rate of {constraint.name}"
    values = [as_pointwise(one(scores, constraint.target), len(scores), name) for one in terms]
    sums = [constraint.events.means(one.value) for one in values]
    return values, np.concatenate(sums) if constraint.is_quotient else sums[0]


def move_offset(constraint, residual, step_size=1.0):
    """The same constraint, its offset moved by a step to a residual, (n_sums,)."""
    offset = constraint.offset
    return replace(constraint, offset=offset + step_size * (residual - offset))


def _invert_sizes(sizes):
    """One over the denominators of quotients; 0 where there is none."""
    return np.divide(1.0, sizes, out=np.zeros(len(sizes)), where=sizes > 0.0)


def quotient_curvature(constraint, sums, v):
    """Second derivative of ``v @ rows`` by two sums of a quotient, (n_sums, n_sums)."""
    rates, inverse = constraint.rates(sums), _invert_sizes(sums[constraint.n_events :])
    if constraint.rates_to_rows is None:
        weights = constraint.row_gap.subgradient(rates) * v
    else:
        weights = constraint.rates_to_rows.T @ v
    # Of r = N / D: -1 / D^2 by N and D, and 2 r / D^2 by D twice.
    rates = np.nan_to_num(rates)
    mixed, both = np.diag(-weights * inverse**2), np.diag(2 * weights * rates * inverse**2)
    return np.block([[np.zeros_like(mixed), mixed], [mixed, both]])


class _SampleValues(NamedTuple):
    """What the public metric averages: values of samples over events, and clusters of these.

    `known` are all values that samples can have, or None.
    """

    events: Events
    values: np.ndarray
    clusters: np.ndarray | None
    known: np.ndarray | None = None


def _sample_values(constraint, scores, clusters=None):
    """What samples count by the public metric: the mean over each event is its rate.

    A mean of known values is one over the samples of its denominator. Other quotients are
    linearised: ``z = r + (n - r d) / D`` has the mean r = N / D and its standard error (W. G.
    Cochran, "Sampling techniques", Wiley 1977, section 2.11).
    """
    terms = [term(scores, constraint.target).value for term in constraint.exact]
    known = constraint.known_values
    if not constraint.is_quotient:
        return _SampleValues(constraint.events, terms[0], clusters, known)
    (counts, sizes), sums = terms, constraint.exact_means(scores)
    unknown = np.flatnonzero(np.isnan(constraint.rates(sums)))
    if len(unknown):
        groups = ", ".join(repr(constraint.labels[event][1]) for event in unknown)
        raise ValueError(
            f"{constraint.name} is unknown where nothing counts in its denominator, as for group "
            f"{groups}; pass more samples, or leave small groups out (min_group_size)."
        )
    if known is not None or is_share(counts, sizes):
        rows = np.flatnonzero(sizes)
        events = constraint.events.contribution(rows, sizes[rows]).take(slice(None))
        events = events.with_multiplicity(constraint.events.take_multiplicity(rows))
        values = counted_values(counts, sizes)[rows]
        clusters = clusters if clusters is None else clusters[rows]
        return _SampleValues(events, values, clusters, known)
    samples, event, _ = constraint.events.memberships
    if len(np.unique(samples)) < len(samples):
        raise ValueError(
            f"{constraint.name} compares quotients of groups that overlap, and no limits of these "
            "are implemented; pass one group per sample, or confidence_level=None."
        )
    rates, denominators = constraint.rates(sums), sums[constraint.n_events :]
    of_event = np.zeros(len(counts), dtype=np.intp)
    of_event[samples] = event
    values = rates[of_event] + (counts - rates[of_event] * sizes) / denominators[of_event]
    return _SampleValues(constraint.events, values, clusters)


@lru_cache(maxsize=128)
def batch_events(n_samples, start, n_events, n_per_event):
    """Events one after the other, from a position on, and counts; equal batches share them."""
    codes = np.full(n_samples, -1)
    # Drawn samples lie event by event behind those of the loss, which are in no event.
    codes[start : start + n_events * n_per_event] = np.repeat(np.arange(n_events), n_per_event)
    return Events.disjoint(codes, n_events), np.full(n_events, n_per_event)


# Several constraints at once.


class ConstraintSystem(tuple):
    """Several constraints at once, each with its own tolerance: a tuple of them.

    Solvers call it: its rows are those of all constraints, one below the other. An empty one leaves
    the fit without constraint.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.constraints import ConstraintSystem
    >>> rows = ConstraintSystem(()).rows
    >>> rows(scores=np.zeros(3), aux=rows.initial_aux(np.zeros(3))).values.shape
    (0,)
    """

    @cached_property
    def components(self):
        """The rows of each constraint."""
        return tuple(one if callable(one) else one.rows for one in self)

    @cached_property
    def rows(self):
        """The rows that solvers see: those of the only constraint, or the system itself."""
        # A single constraint needs no stacking, whose products would be slower.
        return self.components[0] if len(self) == 1 else self

    # Rows, for solvers.

    @cached_property
    def lower(self):
        """Lower bounds of the rows, (n_rows,)."""
        return concatenate(one.lower for one in self.components)

    @cached_property
    def upper(self):
        """Upper bounds of the rows, (n_rows,)."""
        return concatenate(one.upper for one in self.components)

    @cached_property
    def n_aux(self):
        """Number of auxiliary unknowns."""
        return sum(one.n_aux for one in self.components)

    @cached_property
    def aux_jacobian(self):
        """Derivative of the rows by the auxiliary unknowns, (n_rows, n_aux)."""
        return block_diagonal([one.aux_jacobian for one in self.components])

    def split_aux(self, aux):
        """Auxiliary unknowns of each constraint."""
        return split(aux, [one.n_aux for one in self.components])

    def split_by_constraint(self, v):
        """One vector for each constraint, from one with an entry per row."""
        return split(v, [len(one.lower) for one in self.components])

    def initial_aux(self, scores):
        """Auxiliary unknowns at which the rows hold if they can at these scores, (n_aux,)."""
        return concatenate(one.initial_aux(scores) for one in self.components)

    def __call__(self, scores, aux):
        """Rows and derivatives, as `ConstraintValues`."""
        if not self:
            return empty_values(len(scores))
        pairs = zip(self.components, self.split_aux(aux), strict=True)
        return stack_values([one(scores, of_one) for one, of_one in pairs], len(scores))

    def constant_term(self, aux):
        """Value of the rows where all sums are 0 before the offsets, (n_rows,)."""
        pairs = zip(self.components, self.split_aux(aux), strict=True)
        return concatenate(one.constant_term(of_one) for one, of_one in pairs)

    def majorant(self, scores, aux):
        """Convex rows that are nowhere easier to keep, and equal to these at one point."""
        pairs = zip(self.components, self.split_aux(aux), strict=True)
        return ConstraintSystem([one.majorant(scores, of_one) for one, of_one in pairs])

    # Public metrics, for enforcement.

    @cached_property
    def metric_inputs(self):
        """What the public metrics depend on: a set of "decisions", "ranks" and "values"."""
        return {one.metric_input for one in self}

    @cached_property
    def adds_up(self):
        """Whether rows of partitions add up, and are all of means or all of ranks."""
        # Means are summed and ranks are counted in bins of scores: partitions do one or the other.
        kinds = {one.metric_input == "ranks" for one in self}
        return len(kinds) <= 1 and all(one.adds_up for one in self)

    @cached_property
    def tolerances(self):
        """Largest gap allowed by each constraint, (n_constraints,)."""
        return np.array([one.tolerance for one in self])

    def gaps(self, scores):
        """Gap of each constraint by its public metric, (n_constraints,)."""
        return np.array([one.gap(scores) for one in self])

    def report(self, scores=None, moments=None):
        """The reports of all constraints, from scores or from moments, one below the other."""
        import pandas as pd

        return pd.DataFrame(self.report_columns(scores, moments))

    def report_columns(self, scores=None, moments=None):
        """The columns of `report` by name, which are made into a table when it is read."""
        sums = [None] * len(self) if moments is None else moments
        pairs = zip(self, sums, strict=True)
        reports = [_columns_of(one, scores, of_one) for one, of_one in pairs]
        if len(reports) == 1:
            return reports[0]
        return {
            name: [value for report in reports for value in report[name]] for name in REPORT_COLUMNS
        }

    # The same constraints, each changed in the same way.

    def replace_tolerances(self, tolerances):
        """The same constraints with other tolerances, (n_constraints,)."""
        pairs = zip(self, tolerances, strict=True)
        return ConstraintSystem([replace(one, tolerance=float(value)) for one, value in pairs])

    def correct(self, scores, step_size=1.0):
        """The same constraints, each offset moved by a step to the residual at the scores."""
        return ConstraintSystem([one.correct(scores, step_size) for one in self])

    def linearize_at(self, scores):
        """The same constraints with the rows that suit scores near the given ones."""
        return ConstraintSystem([one.linearize_at(scores) for one in self])

    def take(self, rows):
        """The same constraints on a subset of the samples."""
        return ConstraintSystem([one.take(rows) for one in self])

    def contribution(self, rows, factors=1.0, target=None):
        """The contribution of a block of samples to the constraints, as of each of them."""
        return ConstraintSystem([one.contribution(rows, factors, target) for one in self])


def _columns_of(constraint, scores, moments):
    """Columns of the report of one constraint."""
    if hasattr(constraint, "report_columns"):
        return constraint.report_columns(scores, moments)
    table = constraint.report(scores, moments)
    return {name: list(table[name]) for name in table}


def draw_batch(rows, n_per_event, random_state=None, first=()):
    """Draw equally many samples from every event of rows: positions, and the rows on them.

    Samples are drawn by weight with replacement, so that means over the drawn events are unbiased
    estimates of those over all samples. The positions `first` come before them, in no event, as
    those of a loss.
    """
    random_state = check_random_state(random_state)
    # A single group has no rows, and nothing to draw for them.
    components = [one for one in getattr(rows, "components", (rows,)) if len(one.lower)]
    # Each constraint draws its own samples. Its block begins where that of the one before ends.
    draws = [one.events.draw(n_per_event, random_state) for one in components]
    positions = np.concatenate((np.array(first, dtype=np.intp), *draws))
    starts = len(first) + np.cumsum([0, *map(len, draws)])[:-1]
    drawn = [
        one.take_batch(positions, start, n_per_event)
        for one, start in zip(components, starts.tolist(), strict=True)
    ]
    return positions, drawn[0] if len(drawn) == 1 else ConstraintSystem(drawn)
