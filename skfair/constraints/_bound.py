"""Constraints bound to samples: `BoundConstraint`, and `ConstraintSystem` of several."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from skfair.constraints._gap import Gap
from skfair.constraints._reports import REPORT_COLUMNS, rate_report_columns
from skfair.constraints._rows import RateRows, evaluate_terms
from skfair.constraints._values import (
    block_diagonal,
    concatenate,
    empty_values,
    split,
    stack_values,
)
from skfair.groups import Events
from skfair.metrics import counted_values, is_share, known_values
from skfair.statistics import UnknownPosterior, gap_posterior, make_estimates

# A constraint on rates of events, bound to samples.


@dataclass(frozen=True, eq=False)
class BoundConstraint:
    """The constraint ``gap(rates(sums)) <= tolerance`` on rates of events.

    It is a chain of maps::

        scores -> terms (n_samples,) -> sums (n_terms * n_events,) -> rates (n_events,) -> gap

    A term is a pointwise function of score and target, and a sum its mean over an event. Rates are
    these sums, or the quotients of two. Solvers call its `RateRows`:
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
    gap : Gap
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
    """

    name: str
    events: Events
    labels: list
    report_order: np.ndarray
    counts: np.ndarray
    target: np.ndarray
    smooth: tuple[Callable, ...]
    exact: tuple[Callable, ...]
    gap: Gap
    tolerance: float
    metric_input: str = "values"
    offset: np.ndarray | float = 0.0
    one_row: bool = False
    uncompared: "BoundConstraint | None" = None
    is_correctable = True
    """Whether an offset makes the rows count what the metric counts."""

    criterion = None
    """Settings that enforcement may change between fits; only criteria on ranks have them."""

    @property
    def n_events(self):
        """Number of events that are compared."""
        return self.events.n_events

    @property
    def is_quotient(self):
        """Whether rates are quotients of two terms."""
        return len(self.exact) > 1

    @property
    def adds_up(self):
        """Whether rows follow from sums that partitions add up to."""
        return not self.one_row

    # From terms to rates.

    def smooth_means(self, scores):
        """Sums of the smooth terms, before the offset, (n_sums,)."""
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

    @cached_property
    def rows(self):
        """The rows that solvers see."""
        return RateRows(self)

    # The public metric, for enforcement.

    def value(self, scores):
        """The gap by the public metric."""
        return float(self.gap(self.rates(self.exact_means(scores))))

    def report(self, scores=None, moments=None):
        """One row per rate with the columns `REPORT_COLUMNS`, from scores or `rate_moments`."""
        import pandas as pd

        return pd.DataFrame(rate_report_columns(self, scores, moments))

    def estimates(self, scores):
        """Estimates of the population's rates, and the linear forms whose largest is the gap."""
        counted = _sample_values(self, scores)
        means = make_estimates(counted.events, counted.values, known=counted.known)
        return self.gap.estimates(means), self.gap.linear_forms(self.n_events)

    def posterior(self, scores, clusters=None):
        """Posterior of the population's gap, with ``probability(factor, multiple)``."""
        if np.isnan(self.value(scores)):
            return UnknownPosterior(self.n_events, self.tolerance)
        counted = _sample_values(self, scores, clusters)
        return gap_posterior(*counted, self.gap, self.tolerance)

    # The same constraint with another offset, or on other samples.

    def correct(self, scores, step_size=1.0):
        """The same constraint, its offset moved by a step to the residual at the scores."""
        return move_offset(self, self.rows.residual(scores), step_size)

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


def move_offset(constraint, residual, step_size=1.0):
    """The same constraint, its offset moved by a step to a residual, (n_sums,)."""
    offset = constraint.offset
    return replace(constraint, offset=offset + step_size * (residual - offset))


class _SampleValues(NamedTuple):
    """What the public metric averages: values of samples over events, and clusters of these.

    `known` are all values that samples can have, or None.
    """

    events: Events
    values: np.ndarray
    clusters: np.ndarray | None
    known: np.ndarray | None = None


def _known_values(constraint):
    """Values that decisions about the compared classes can have, as `known_values`, or None."""
    classes = np.unique(constraint.target[constraint.events.memberships[0]])
    if constraint.metric_input != "decisions" or len(classes) > 2:
        return None
    outcomes = np.tile([1.0, -1.0], len(classes)), np.repeat(classes, 2)
    counts, *sizes = (term(*outcomes).value for term in constraint.exact)
    return known_values(counts, *sizes or [np.ones(len(counts))])


def _sample_values(constraint, scores, clusters=None):
    """What samples count by the public metric: the mean over each event is its rate.

    A mean of known values is one over the samples of its denominator. Other quotients are
    linearised: ``z = r + (n - r d) / D`` has the mean r = N / D and its standard error (W. G.
    Cochran, "Sampling techniques", Wiley 1977, section 2.11).
    """
    terms = [term(scores, constraint.target).value for term in constraint.exact]
    known = _known_values(constraint)
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
        events = events.copy_with_multiplicity(constraint.events.take_multiplicity(rows))
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
        return np.array([one.value(scores) for one in self])

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
    if constraint.metric_input != "ranks":
        return rate_report_columns(constraint, scores, moments)
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
