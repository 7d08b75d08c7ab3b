"""Constraints bound to samples: sums over events, their rows and reports, and systems of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from skfair._bound.gap import GapBase, make_rows
from skfair._bound.rows import (
    NO_ROWS,
    ConstraintValues,
    ScoreJacobian,
    StackedRows,
    batch_events,
    differentiate_means,
    spread_over_samples,
)
from skfair._bound.units import USER_UNIT, Unit
from skfair._groups.events import REPORT_COLUMNS, Events
from skfair._statistics.bounded_means import BoundedMeans, ValueRange, make_estimates
from skfair._statistics.calibration_errors import make_calibration_errors
from skfair._statistics.gaps import UnknownPosterior, gap_posterior
from skfair.losses import as_pointwise
from skfair.metrics._rates import counted_values, is_share, known_values

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scipy import sparse

    from skfair._bound.convex import PairRows, ShareRows
    from skfair._bound.gap import Gap
    from skfair._bound.rows import SmoothConstraint
    from skfair._groups.events import CellEvents
    from skfair._statistics.estimates import Estimates
    from skfair._statistics.gaps import CurvePosterior, MonteCarloPosterior, RatePosterior
    from skfair._utils.tables import TableLike
    from skfair.losses import Pointwise


# A constraint, bound to samples.


@dataclass(frozen=True, eq=False)
class BoundConstraint:
    """The constraint ``gap(sums) <= tolerance`` on the scores of samples.

    What `Constraint.bind` returns. Of rates it is a chain of maps::

        scores -> terms (n_samples,) -> sums (n_terms * n_events,) -> rates (n_events,) -> gap

    Solvers call its rows, of rates `RateRows`: ``lower <= rates_to_rows @ rates(s + offset) +
    aux_jacobian @ a <= upper``, with the sums s of the smooth terms and auxiliary unknowns a. The
    public metric is the gap of the exact terms. Constraints are changed by
    :func:`dataclasses.replace`.

    Attributes
    ----------
    sums : Sums or RankSums
        What is taken from the scores: of terms, or of criteria on ranks.
    gap : GapBase
        How that becomes one gap: a `Gap` of rates, or the `IntervalGap` of a criterion on ranks.
    tolerance : float
        Largest gap allowed; of a ratio 1 minus the smallest one.
    offset : ndarray or 0.0
        Added to the smooth sums, (n_sums,), or to rows of ranks, (n_rows,); it corrects them for
        their residual.
    one_row : bool
        Whether a gap of rates is bounded by one piecewise linear row instead of several linear
        ones.
    by_pair : bool
        Whether a range of rates is bounded by one linear row for each ordered pair of them, and
        a gap that would need auxiliary unknowns by one row.
    uncompared : Sums, RankSums or None
        The sums of groups that are too small to be compared, for the report alone.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.constraints import DemographicParity
    >>> from skfair._groups import Samples, check_groups
    >>> from skfair.losses import LogisticLoss
    >>> from skfair.surrogates import Sigmoid
    >>> samples = Samples(np.array([1.0, -1.0]), check_groups(["a", "b"], 2), np.ones(2))
    >>> parity = DemographicParity().bind(samples, Sigmoid(), LogisticLoss(), tolerance=0.1)
    >>> parity.value(np.array([2.0, -1.0]))
    1.0
    """

    sums: Any
    gap: GapBase
    tolerance: float
    offset: np.ndarray | float = 0.0
    one_row: bool = False
    by_pair: bool = False
    uncompared: Any = None

    @property
    def name(self) -> str:
        """Name in messages and reports."""
        return self.sums.name

    @cached_property
    def rows(self) -> RateRows | ShareRows | PairRows | StackedRows:
        """The rows that solvers see; none where nothing is compared."""
        rows = self.sums.make_rows(self)
        return NO_ROWS if rows is None else rows

    def value(self, scores: np.ndarray) -> float:
        """The gap by the public metric; nan where it is unknown."""
        return float(self.gap(self.sums.measure(scores)))

    def estimates(self, scores: np.ndarray) -> tuple[Estimates, sparse.csr_array]:
        """Estimates of what is compared in the population, and forms whose largest is the gap.

        The scores do not depend on these samples.
        """
        return self.sums.estimates(self.gap, scores)

    def move_offset(self, residual: np.ndarray, step_size: float = 1.0) -> BoundConstraint:
        """The same constraint, its offset moved by a step to a residual, (n_sums,)."""
        return replace(self, offset=self.offset + step_size * (residual - self.offset))

    def linearize_at(self, scores: np.ndarray) -> BoundConstraint:
        """The same constraint with the rows that suit scores near the given ones."""
        if self.sums.metric_input != "ranks":
            return self
        sums = self.sums.linearize_at(scores)
        uncompared = self.uncompared and self.uncompared.linearize_at(scores)
        return replace(self, sums=sums, offset=0.0, uncompared=uncompared)

    def take(self, rows: np.ndarray) -> BoundConstraint:
        """The same constraint on a subset of the samples, which may repeat.

        A ValueError where the subset is too small.
        """
        return replace(self, sums=self.sums.take(rows), uncompared=None)

    def contribution(
        self,
        rows: np.ndarray | slice,
        factors: np.ndarray | float = 1.0,
        target: np.ndarray | None = None,
    ) -> BoundConstraint:
        """The contribution of a block of samples; sums without offset add up."""
        # The offset is added once, to the sums of all samples, so a partition has none.
        sums = self.sums.contribution(rows, factors, target)
        uncompared = self.uncompared and self.uncompared.contribution(rows, factors, target)
        return replace(self, sums=sums, offset=0.0, uncompared=uncompared)


def reported_gap(bound: Any, scores: np.ndarray) -> float:
    """The gap as reports state it: nan for a ratio of rates that are all 0, which is 0 / 0."""
    is_known = not bound.gap.is_ratio or bound.sums.measure(scores).any()
    return bound.value(scores) if is_known else np.nan


def make_posterior(
    bound: BoundConstraint, scores: np.ndarray, clusters: np.ndarray | None = None
) -> MonteCarloPosterior | RatePosterior | UnknownPosterior | CurvePosterior:
    """Posterior of the population's gap; a ValueError for a metric that is none of means.

    It has ``probability(factor=1.0, multiple=1.0)``: the probability that the population's gap is
    at most the tolerance, if the measured gap were multiplied by the one and the sample size by the
    other. Out-of-fold scores leave it unbiased. Samples of equal cluster code belong together.
    """
    return bound.sums.posterior(bound.gap, bound.tolerance, scores, clusters)


# Several constraints at once.


class ConstraintSystem(tuple):
    """Several constraints at once, each with its own tolerance: a tuple of them.

    Solvers see the rows of all constraints, one below the other. An empty one leaves the fit
    without constraint.

    Attributes
    ----------
    metric_inputs : set of {"decisions", "ranks", "values"}
        What the public metrics depend on.
    tolerances : ndarray of shape (n_constraints,)
        Largest gap allowed by each constraint.
    units : ndarray of shape (n_constraints,)
        One unit of each gap and tolerance in the user's.
    adds_up : bool
        Whether rows of partitions add up, and are all of means or all of ranks.
    is_on_ranks_alone : bool
        Whether the public metrics depend on ranks alone, not on the scale or sign of scores.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair._bound.bound import ConstraintSystem
    >>> rows = ConstraintSystem(()).rows
    >>> rows(scores=np.zeros(3), aux=rows.initial_aux(np.zeros(3))).values.shape
    (0,)
    """

    def __init__(self, bounds: Iterable[BoundConstraint]) -> None:
        self.metric_inputs = {one.sums.metric_input for one in self}
        self.tolerances = np.array([one.tolerance for one in self])
        self.units = np.array([1.0 if one.gap.is_ratio else one.sums.unit.spread for one in self])
        are_ranks = self.metric_inputs == {"ranks"}
        # Means are summed and ranks are counted in bins of scores: partitions do one or the other.
        self.adds_up = are_ranks or "ranks" not in self.metric_inputs
        self.adds_up &= all(one.gap.adds_up and not one.one_row for one in self)
        self.is_on_ranks_alone = are_ranks and not any(one.gap.is_correctable for one in self)

    @cached_property
    def stacked_rows(self) -> StackedRows:
        """The rows of all constraints, as `StackedRows`."""
        return StackedRows(one.rows for one in self)

    @cached_property
    def rows(self) -> RateRows | ShareRows | PairRows | StackedRows:
        """The rows that solvers see: those of the only constraint, or of all."""
        # A single constraint needs no stacking, whose products would be slower.
        return NO_ROWS if not self else self[0].rows if len(self) == 1 else self.stacked_rows

    @cached_property
    def row_units(self) -> np.ndarray:
        """One unit of each row in the user's, (n_rows,)."""
        return np.repeat(self.units, [len(one.rows.lower) for one in self])

    def gaps(self, scores: TableLike) -> np.ndarray:
        """Gap of each constraint by its public metric, (n_constraints,)."""
        return np.array([one.value(scores) for one in self])

    def report_columns(
        self,
        scores: np.ndarray | None = None,
        moments: Iterator | tuple[tuple[np.ndarray, ...], ...] | None = None,
    ) -> dict[str, list | np.ndarray]:
        """Columns of the report by name, from scores or from moments, constraint by constraint.

        They are in the user's units.
        """
        sums = [None] * len(self) if moments is None else moments
        # Intervals of ranks in whole groups depend on the scores.
        system = self
        if scores is not None and "ranks" in self.metric_inputs:
            system = self.linearize_at(scores)
        pairs = zip(system, sums, strict=True)
        reports = [one.sums.report_columns(one, scores, of_one) for one, of_one in pairs]
        if len(reports) == 1:
            return reports[0]
        return {
            name: [value for report in reports for value in report[name]] for name in REPORT_COLUMNS
        }

    # The same constraints, each changed in the same way.

    def replace_tolerances(self, tolerances: np.ndarray) -> ConstraintSystem:
        """The same constraints with other tolerances, (n_constraints,)."""
        pairs = zip(self, tolerances, strict=True)
        return ConstraintSystem([replace(one, tolerance=float(value)) for one, value in pairs])

    def correct(self, scores: np.ndarray, step_size: float = 1.0) -> ConstraintSystem:
        """The same constraints, each offset moved by a step to the residual at the scores."""
        return ConstraintSystem(
            [one.move_offset(one.rows.residual(scores), step_size) for one in self]
        )

    def linearize_at(self, scores: np.ndarray) -> ConstraintSystem:
        """The same constraints with the rows that suit scores near the given ones."""
        return ConstraintSystem([one.linearize_at(scores) for one in self])

    def take(self, rows: np.ndarray) -> ConstraintSystem:
        """The same constraints on a subset of the samples."""
        return ConstraintSystem([one.take(rows) for one in self])

    def contribution(
        self,
        rows: np.ndarray | slice,
        factors: np.ndarray | float = 1.0,
        target: np.ndarray | None = None,
    ) -> ConstraintSystem:
        """The contribution of a block of samples to the constraints, as of each of them."""
        return ConstraintSystem([one.contribution(rows, factors, target) for one in self])


def draw_batch(
    rows: SmoothConstraint,
    n_per_event: int,
    random_state: np.random.RandomState | int | None = None,
    first: np.ndarray | tuple | list[int] = (),
) -> tuple[np.ndarray, SmoothConstraint]:
    """Draw equally many samples from every event of rows: positions, and the rows on them.

    Samples are drawn by weight with replacement, so that means over the drawn events are unbiased
    estimates of those over all samples. The positions `first` come before them, in no event, as
    those of a loss.
    """
    random_state = check_random_state(random_state)
    # A single group has no rows, and nothing to draw for them.
    all_components: tuple[Any, ...] = getattr(rows, "components", (rows,))
    components = [one for one in all_components if len(one.lower)]
    # Each constraint draws its own samples. Its block begins where that of the one before ends.
    draws = [one.events.draw(n_per_event, random_state) for one in components]
    positions = np.concatenate((np.array(first, dtype=np.intp), *draws))
    starts = len(first) + np.cumsum([0, *map(len, draws)])[:-1]
    drawn = [
        one.take_batch(positions, start, n_per_event)
        for one, start in zip(components, starts.tolist(), strict=True)
    ]
    return positions, drawn[0] if len(drawn) == 1 else StackedRows(drawn)


# Sums of terms over events: what constraints on rates take from the scores of samples.


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
    metric_input : {"decisions", "values", "probabilities"}
        What the public metric depends on: the signs of the scores, or their values, which may be
        probabilities that are compared with outcomes.
    unit : Unit
        Units of the rates in the user's. Gaps and tolerances have its spread, but for ratios.
    value_range : ValueRange or None
        What values can be, if that is known beforehand.
    """

    name: str
    cells: CellEvents
    target: np.ndarray
    smooth: tuple[Callable, ...]
    exact: tuple[Callable, ...]
    metric_input: str = "values"
    unit: Unit = USER_UNIT
    value_range: ValueRange | None = None

    @property
    def events(self) -> Events:
        """Samples that each mean is taken over."""
        return self.cells.events

    @property
    def is_quotient(self) -> bool:
        """Whether rates are quotients of two terms."""
        return len(self.exact) > 1

    def make_rows(self, bound: BoundConstraint) -> RateRows:
        """The rows that solvers see of a `BoundConstraint`."""
        table = make_rows(
            bound.gap, self.events.n_events, bound.tolerance, bound.one_row, bound.by_pair
        )
        return RateRows(self, bound.offset, table)

    def smooth_means(self, scores: np.ndarray) -> np.ndarray:
        """Sums of the smooth terms, (n_sums,)."""
        return evaluate_terms(self, self.smooth, scores)[1]

    def exact_means(self, scores: np.ndarray) -> np.ndarray:
        """Sums of the terms that the public metric counts, (n_sums,)."""
        return evaluate_terms(self, self.exact, scores)[1]

    def rates(self, sums: np.ndarray) -> np.ndarray:
        """Rates from sums: themselves, or quotients of the first half by the second.

        The rate of a group without a denominator is nan, so that its gap is unknown.
        """
        if not self.is_quotient:
            return sums
        counts, sizes = np.split(np.asarray(sums, dtype=float), 2)
        return np.divide(counts, sizes, out=np.full(counts.shape, np.nan), where=sizes > 0.0)

    def measure(self, scores: np.ndarray) -> np.ndarray:
        """The rates by the public metric, (n_events,)."""
        return self.rates(evaluate_terms(self, self.exact, scores)[1])

    def report_columns(
        self,
        bound: BoundConstraint,
        scores: np.ndarray | None = None,
        moments: tuple[np.ndarray, ...] | None = None,
    ) -> dict[str, list | np.ndarray]:
        """Columns of the report of a `BoundConstraint`, by scores or by `rate_moments`.

        Each has an entry per rate; those of small groups come last. All are in the user's units.
        """
        moments = rate_moments(bound, scores) if moments is None else moments  # type: ignore[arg-type]
        _, counts, labels, order, *_ = self.cells
        n_compared = len(labels)
        n_events = len(moments[2])
        # Of each moment, the sums over events that are compared, and over others.
        ends = [len(sums) * n_compared // n_events for sums in moments]
        halves = [np.split(sums, [end]) for sums, end in zip(moments, ends, strict=True)]
        compared, others = zip(*halves, strict=True)
        rates, errors = _rates_and_errors(self, compared)
        counts = _count_denominators(self, compared, np.asarray(counts))
        gap = float(bound.gap(rates))
        if n_events > n_compared:
            uncompared = bound.uncompared.cells
            rates_of_others, errors_of_others = _rates_and_errors(bound.uncompared, others)
            rates = np.concatenate((rates, rates_of_others))
            errors = np.concatenate((errors, errors_of_others))
            labels = labels + uncompared.labels
            others_counts = np.asarray(uncompared.counts)
            others_counts = _count_denominators(bound.uncompared, others, others_counts)
            counts = np.append(counts, others_counts)
            order = np.append(order, n_compared + uncompared.report_order)
        # Groups are reported in the order of their labels.
        cells, groups = zip(*(labels[event] for event in order), strict=True)
        is_compared = np.arange(len(rates)) < n_compared
        threshold = 0.0 if self.metric_input == "decisions" else np.nan
        unit = self.unit
        tolerance = bound.gap.state(float(bound.tolerance))
        of_gap = 1.0 if bound.gap.is_ratio else unit.spread
        # Whole columns, in order: with single values or another order pandas copies the frame.
        return {
            "event": list(cells),
            "group": list(groups),
            "estimate": unit.from_unit(rates[order]),
            "n": counts[order],
            "standard_error": unit.spread * errors[order],
            "constraint": [self.name] * len(rates),
            "threshold": np.full(len(rates), threshold),
            "gap": np.where(is_compared, of_gap * bound.gap.state(gap), np.nan),
            "tolerance": np.where(is_compared, of_gap * tolerance, np.nan),
        }

    def estimates(self, gap: Gap, scores: np.ndarray) -> tuple[Estimates, sparse.csr_array]:
        """Estimates of the population's rates, and the linear forms whose largest is the gap."""
        counted = sample_values(self, scores, self.cells.clusters)
        value_range = self.value_range
        if counted.clusters is not None and counted.known is not None:
            value_range = ValueRange(min(counted.known), max(counted.known))
        if self.metric_input == "probabilities":
            is_true = (self.target > 0.0).astype(float)
            means = make_calibration_errors(
                counted.events, is_true, counted.clusters, probabilities=scores
            )
        elif value_range is None:
            means = make_estimates(*counted)
        else:
            means = BoundedMeans(counted.events, counted.values, value_range, counted.clusters)
        estimates = gap.estimates(means)
        forms = gap.linear_forms(self.events.n_events)
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

    def posterior(
        self, gap: Gap, tolerance: float, scores: np.ndarray, clusters: np.ndarray | None
    ) -> MonteCarloPosterior | RatePosterior | UnknownPosterior:
        """Posterior of the population's gap."""
        if np.isnan(gap(self.measure(scores))):
            return UnknownPosterior(self.events.n_events, tolerance)
        return gap_posterior(*sample_values(self, scores, clusters), gap, tolerance)

    def take(self, rows: np.ndarray) -> Sums:
        """The same sums over a subset of the samples, which may repeat."""
        events = self.events.take(rows)  # weights within events add up to 1 again
        cells = self.cells._replace(events=events, counts=events.count_samples())
        return replace(self, cells=cells, target=self.target[rows])

    def contribution(
        self,
        rows: np.ndarray | slice,
        factors: np.ndarray | float = 1.0,
        target: np.ndarray | None = None,
    ) -> Sums:
        """The contribution of a block, as in `Events.contribution`."""
        target = self.target[rows] if target is None else target
        cells = self.cells._replace(events=self.events.contribution(rows, factors))
        return replace(self, cells=cells, target=target)


def decision_outcomes(sums: Sums) -> Iterator[tuple[np.ndarray, np.ndarray]]:
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


def _known_values(sums: Sums) -> np.ndarray | None:
    """Values that decisions about the compared classes can have, as `known_values`, or None."""
    classes = np.unique(sums.target[sums.events.memberships[0]])
    if sums.metric_input != "decisions" or len(classes) > 2:
        return None
    scores = np.tile([1.0, -1.0], len(classes))
    targets = np.repeat(classes, 2)
    counts, *sizes = (term(scores, targets).value for term in sums.exact)
    return known_values(counts, *sizes or [np.ones(len(counts))])


def sample_values(
    of: Sums, scores: np.ndarray, clusters: np.ndarray | None = None
) -> _SampleValues:
    """What samples count by the public metric: the mean over each event is its rate.

    A mean of known values is one over the samples of its denominator. Other quotients are
    linearised: ``z = r + (n - r d) / D`` has the mean r = N / D and its standard error (W. G.
    Cochran, "Sampling techniques", Wiley 1977, section 2.11).
    """
    terms = [term(scores, of.target).value for term in of.exact]
    known = _known_values(of)
    if not of.is_quotient:
        return _SampleValues(of.events, terms[0], clusters, known)
    counts, sizes = terms
    sums = of.exact_means(scores)
    unknown = np.flatnonzero(np.isnan(of.rates(sums)))
    if len(unknown):
        groups = ", ".join(repr(of.cells.labels[event][1]) for event in unknown)
        raise ValueError(
            f"{of.name} is unknown where nothing counts in its denominator, as for group "
            f"{groups}; pass more samples, or leave small groups out (min_group_size)."
        )
    values = counted_values(counts, sizes)
    if values is not None and (known is not None or is_share(counts, sizes)):
        rows = np.flatnonzero(sizes)
        events = of.events.contribution(rows, sizes[rows]).take(slice(None))
        events = events.copy_with_multiplicity(of.events.take_multiplicity(rows))
        clusters = clusters if clusters is None else clusters[rows]
        return _SampleValues(events, values[rows], clusters, known)
    positions, event, _ = of.events.memberships
    if len(np.unique(positions)) < len(positions):
        raise ValueError(
            f"{of.name} compares quotients of groups that overlap, and no limits of these "
            "are implemented; pass one group per sample, or confidence_level=None."
        )
    rates = of.rates(sums)
    denominators = sums[of.events.n_events :]
    of_event = np.zeros(len(counts), dtype=np.intp)
    of_event[positions] = event
    values = rates[of_event] + (counts - rates[of_event] * sizes) / denominators[of_event]
    return _SampleValues(of.events, values, clusters)


# Rows of rates.


_NO_UNKNOWNS = np.empty(0)


class RateRows:
    """The rows ``lower <= rates_to_rows @ rates + aux_jacobian @ aux <= upper`` of a constraint.

    Attributes
    ----------
    sums : Sums
        The sums, of which rows take the smooth terms.
    offset : ndarray of shape (n_sums,), or 0.0
        Added to the smooth sums.
    gap : Gap
        The gap that the rows bound: that of the constraint, or for a ratio the scaled range.
    rates_to_rows : ndarray or csr_array of shape (n_rows, n_events), or None
        Linear map from rates to rows; None for the one row ``gap(rates) <= tolerance``, which is
        piecewise linear.
    aux_jacobian : ndarray of shape (n_rows, n_aux)
        Derivative of the rows by the auxiliary unknowns.
    lower, upper : ndarray of shape (n_rows,)
        Bounds.
    events : Events
        Samples of each mean, ``n_events`` in number.
    """

    def __init__(self, sums: Sums, offset: np.ndarray | float, table: tuple) -> None:
        self.sums, self.offset, self.table = sums, offset, table  # that of `make_rows`
        self.events = sums.events
        self.n_events = sums.events.n_events
        self.gap, self.rates_to_rows, self.aux_jacobian, self.lower, self.upper = table
        self.n_aux = self.aux_jacobian.shape[1]

    def __call__(self, scores: np.ndarray, aux: np.ndarray) -> ConstraintValues:
        """Rows and derivatives, as `ConstraintValues`."""
        events = self.events
        is_quotient = self.sums.is_quotient
        terms, sums = evaluate_terms(self.sums, self.sums.smooth, scores)
        sums = sums + self.offset
        values, combine = self.rows_at(sums, aux)
        slopes = [one.slope for one in terms]
        curvatures = [one.curvature for one in terms]
        is_linear = self.rates_to_rows is not None and not is_quotient
        return ConstraintValues(
            values,
            ScoreJacobian(
                combine,
                partial(differentiate_means, events, slopes),
                partial(spread_over_samples, events, slopes),
            ),
            self.aux_jacobian,
            lambda v: spread_over_samples(events, curvatures, combine.T @ v),
            rows_at_shift=None if is_linear else lambda shift: self.rows_at(sums + shift, aux),
            means_curvature=partial(self.sums_curvature, sums) if is_quotient else None,
        )

    def rows_at(
        self, sums: np.ndarray, aux: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Values of the rows at sums, (n_rows,), and their slope by these, (n_rows, n_sums).

        Unknowns of None are those at which the rows hold if they can.
        """
        rates = self.sums.rates(sums) if self.sums.is_quotient else sums
        if self.rates_to_rows is None:
            value, slope = self.gap.value_and_subgradient(rates)
            values = np.array([value])
            combine = slope[np.newaxis, :]
        else:
            aux = self.aux_at(sums) if aux is None else aux
            values = self.rates_to_rows @ rates + self.aux_jacobian @ aux
            combine = self.rates_to_rows
        if self.sums.is_quotient:  # (N / D)' = (N' - D' N / D) / D, and 0 where a rate is unknown
            inverse = _invert_sizes(sums[self.n_events :])
            rates = np.nan_to_num(rates)
            combine = np.hstack((combine * inverse, combine * (-rates * inverse)))
        return values, combine

    def aux_at(self, sums: np.ndarray) -> np.ndarray:
        """Auxiliary unknowns at which the rows hold if they can, (n_aux,)."""
        return self.gap.aux_at(self.sums.rates(sums)) if self.n_aux else _NO_UNKNOWNS

    def initial_aux(self, scores: np.ndarray) -> np.ndarray:
        """Auxiliary unknowns at which the rows hold if they can at these scores, (n_aux,)."""
        if not self.n_aux:
            return _NO_UNKNOWNS
        return self.aux_at(self.sums.smooth_means(scores) + self.offset)

    def constant_term(self, aux: np.ndarray) -> np.ndarray:
        """Value of the rows where all sums are 0 before the offset, (n_rows,)."""
        if self.sums.is_quotient:
            return self.aux_jacobian @ aux
        return self.rows_at(np.zeros(self.n_events) + self.offset, aux)[0]

    def take_batch(self, positions: np.ndarray, first: int, n_per_event: int) -> RateRows:
        """The rows on drawn samples, of which those from `first` on come from their events."""
        events, counts = batch_events(len(positions), first, self.n_events, n_per_event)
        cells = self.sums.cells._replace(events=events, counts=counts)
        sums = replace(self.sums, cells=cells, target=self.sums.target[positions])
        return RateRows(sums, self.offset, self.table)

    def residual(self, scores: np.ndarray) -> np.ndarray:
        """Exact sums less smooth ones, (n_sums,): the offset that would make them equal."""
        return self.sums.exact_means(scores) - self.sums.smooth_means(scores)

    def correct(self, scores: np.ndarray) -> RateRows:
        """The rows with the means that the metric counts at these scores."""
        offset = self.offset + (self.residual(scores) - self.offset)
        return RateRows(self.sums, offset, self.table)

    def sums_curvature(self, sums: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Second derivative of ``v @ rows`` by two sums, (n_sums, n_sums); 0 but of quotients."""
        if not self.sums.is_quotient:
            return np.zeros((len(sums), len(sums)))
        rates = self.sums.rates(sums)
        inverse = _invert_sizes(sums[self.n_events :])
        if self.rates_to_rows is None:
            weights = self.gap.subgradient(rates) * v
        else:
            weights = self.rates_to_rows.T @ v
        # Of r = N / D: -1 / D^2 by N and D, and 2 r / D^2 by D twice.
        rates = np.nan_to_num(rates)
        mixed = np.diag(-weights * inverse**2)
        both = np.diag(2 * weights * rates * inverse**2)
        return np.block([[np.zeros_like(mixed), mixed], [mixed, both]])


def evaluate_terms(
    sums: Sums, terms: tuple, scores: np.ndarray
) -> tuple[list[Pointwise], np.ndarray]:
    """Terms of a constraint's `Sums` at scores as Pointwise, and their means over the events."""
    name = f"The rate of {sums.name}"
    values = [as_pointwise(one(scores, sums.target), len(scores), name) for one in terms]
    means = [sums.events.means(one.value) for one in values]
    return values, np.concatenate(means) if sums.is_quotient else means[0]


def _invert_sizes(sizes: np.ndarray) -> np.ndarray:
    """One over the denominators of quotients; 0 where there is none."""
    return np.divide(1.0, sizes, out=np.zeros(len(sizes)), where=sizes > 0.0)


# Reports of rates, from moments that add up over partitions.


def rate_moments(bound: BoundConstraint, scores: np.ndarray) -> tuple[np.ndarray, ...]:
    """Moments of the rates of a `BoundConstraint`, which add up over partitions.

    Three arrays: means over events of the terms and of products of two terms, and sums of squared
    weights. Those of small groups come last.
    """
    moments = _moments_of(bound.sums, scores)
    if bound.uncompared is None:
        return moments
    return tuple(map(np.append, moments, _moments_of(bound.uncompared, scores)))


def _moments_of(sums: Sums, scores: np.ndarray) -> tuple:
    """Moments of the rates of `Sums`."""
    means = sums.events.means
    terms = [one(scores, sums.target).value for one in sums.exact]
    products = [one * other for i, one in enumerate(terms) for other in terms[i:]]
    # The sum of squared weights is one over the effective number of samples.
    weights = sums.events.sum_squared_mean_weights()
    return *(np.concatenate([means(one) for one in ones]) for ones in (terms, products)), weights


def _rates_and_errors(of: Sums, moments: tuple[np.ndarray, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Rates and their standard errors, by the moments of `Sums`."""
    sums, products, weights = moments
    rates = of.rates(sums)
    # Variance of what a sample adds to a rate; of a quotient to the linearised one, (n - r d) / D.
    if of.is_quotient:
        _, sizes = np.split(sums, 2)
        nn, nd, dd = np.split(products, 3)
        variances = (nn - 2 * rates * nd + rates**2 * dd) / sizes**2  # nan where a rate is
    else:
        variances = products - rates**2
    # Standard error of a weighted mean: the variance times the sum of squared weights.
    errors = np.sqrt(np.maximum(0.0, variances) * weights)  # despite rounding
    if of.is_quotient and of.metric_input == "decisions":
        counts = sizes / weights  # effective numbers of samples in the denominators
        is_certain = (counts > 0.0) & np.isin(rates, (0.0, 1.0))
        errors = np.where(is_certain, _error_of_certain_rate(counts), errors)
    return rates, errors


def _error_of_certain_rate(counts: np.ndarray) -> np.ndarray:
    """Standard error of a rate of 0 of n, or n of n: that of (x + 1) / (n + 2).

    The estimated variance of such a rate would be 0. Example: 3 of 3 count as 4 of 5, with an error
    of sqrt(.8 * .2 / 5) = .18.
    """
    rates = 1.0 / (counts + 2.0)
    return np.sqrt(rates * (1.0 - rates) / (counts + 2.0))


def _count_denominators(
    of: Sums, moments: tuple[np.ndarray, ...], counts: np.ndarray
) -> np.ndarray:
    """Return the numbers of samples that rates count, of ``counts`` samples of each group.

    Of quotients such as the precision they are those in the denominator, by their share of the
    weight. Denominators that are no counts, as that of F1, leave the group's.
    """
    if not (of.is_quotient and of.metric_input == "decisions"):
        return counts
    sums, products, _ = moments
    sizes = np.split(sums, 2)[1]
    squares = np.split(products, 3)[2]
    is_counted = np.isclose(sizes, squares, rtol=1e-9, atol=0.0)
    return np.where(is_counted, np.rint(counts * sizes), counts).astype(counts.dtype)
