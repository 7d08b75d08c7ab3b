"""Constraints on rates of events, bound to samples: rows for solvers, and the public metric."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from skfair.constraints._gap import Gap, make_rows
from skfair.constraints._report import report_rates, sum_moments
from skfair.constraints._rows import (
    ConstraintValues,
    ScoreJacobian,
    differentiate_means,
    spread_over_samples,
)
from skfair.groups import Events
from skfair.inference import estimates_of, gap_posterior
from skfair.losses import as_pointwise

_NO_UNKNOWNS = np.empty(0)


@dataclass(frozen=True, eq=False)
class BoundConstraint:
    """The constraint ``aggregate(rates(sums)) <= tolerance`` on rates of events.

    It is a chain of maps::

        scores -> terms (n_samples,) -> sums (n_terms * n_events,) -> rates (n_events,) -> gap

    A term is a pointwise function of score and target, and a sum its mean over an event. Rates are
    these sums, or the quotients of two. Solvers call the constraint: its rows are ``lower <=
    combine @ rates(s + offset) + aux_jacobian @ a <= upper``, with the sums s of the smooth terms
    and auxiliary unknowns a. The public metric is the gap of the exact terms. Constraints are
    changed by :func:`dataclasses.replace`.

    Attributes
    ----------
    name : str
        Name in messages and reports.
    events : Events
        Samples that each mean is taken over.
    labels : list of (str, object)
        Cell and group of each event.
    order : ndarray of int, shape (n_events,)
        Positions of the events in reports, which sort the groups of a cell by label.
    counts : ndarray of int, shape (n_events,)
        Samples in each event.
    target : ndarray of shape (n_samples,)
        Classes -1 and +1, or real numbers.
    smooth, exact : tuple of callable
        (scores, target) -> Pointwise: the terms that solvers bound, and those that the public
        metric counts. A quotient has two of each, numerator and denominator.
    aggregate : Gap
        How the rates become one gap.
    tolerance : float
        Largest gap allowed.
    statistic : {"decisions", "values"}
        What the public metric depends on: the signs of the scores, or their values.
    offset : ndarray of shape (n_sums,) or 0.0
        Added to the smooth sums; it corrects them for their residual.
    optimism : ndarray of shape (n_events,) or 0.0
        Added to all rates, smooth and exact, unless they are quotients: by how much those of new
        data are expected to be larger.
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
    order: np.ndarray
    counts: np.ndarray
    target: np.ndarray
    smooth: tuple[Callable, ...]
    exact: tuple[Callable, ...]
    aggregate: Gap
    tolerance: float
    statistic: str = "values"
    offset: np.ndarray | float = 0.0
    optimism: np.ndarray | float = 0.0
    one_row: bool = False
    uncompared: "BoundConstraint | None" = None
    is_ratio: bool = False
    row_gap: Gap = field(init=False)
    """The gap that the rows bound, as `GapRows`."""
    combine: Any = field(init=False)
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
        rows = make_rows(self.aggregate, n_events, self.tolerance, self.one_row)
        vars(self).update(
            row_gap=rows.gap,
            combine=rows.combine,
            aux_jacobian=rows.aux,
            lower=rows.lower,
            upper=rows.upper,
            n_aux=rows.aux.shape[1],
            n_events=n_events,
            is_quotient=len(self.exact) > 1,
            adds_up=not self.one_row,
        )

    # From terms to rates.

    def _evaluate(self, terms, scores):
        """Terms at scores as Pointwise, and their sums."""
        name = f"The rate of {self.name}"
        values = [as_pointwise(one(scores, self.target), len(scores), name) for one in terms]
        sums = [self.events.means(one.value) for one in values]
        return values, np.concatenate(sums) if self.is_quotient else sums[0]

    def smooth_sums(self, scores):
        """Sums of the smooth terms, before the offset, (n_sums,)."""
        return self._evaluate(self.smooth, scores)[1]

    def exact_sums(self, scores):
        """Sums of the terms that the public metric counts, (n_sums,)."""
        return self._evaluate(self.exact, scores)[1]

    def rates(self, sums):
        """Rates from sums: themselves, or quotients of the first half by the second.

        The rate of a group without a denominator is nan, so that its gap is unknown.
        """
        if not self.is_quotient:
            return (sums.T + self.optimism).T
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.divide(*np.split(sums, 2))

    # Rows, for solvers.

    @property
    def rows(self):
        """What solvers see: the constraint itself."""
        return self

    def __call__(self, scores, aux):
        """Rows and derivatives, as `ConstraintValues`."""
        terms, sums = self._evaluate(self.smooth, scores)
        sums = sums + self.offset
        values, combine = self.rows_at(sums, aux)
        slopes = [one.slope for one in terms]
        curvatures = [one.curvature for one in terms]
        is_linear = self.combine is not None and not self.is_quotient
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
            cell_curvature=partial(quotient_curvature, self, sums) if self.is_quotient else None,
        )

    def rows_at(self, sums, aux=None):
        """Values of the rows at sums, (n_rows,), and their slope by these, (n_rows, n_sums).

        Unknowns of None are those at which the rows hold if they can.
        """
        rates = self.rates(sums)
        if self.combine is None:
            values = np.array([self.row_gap(rates)])
            combine = self.row_gap.subgradient(rates)[np.newaxis, :]
        else:
            aux = self.aux_at(sums) if aux is None else aux
            values, combine = self.combine @ rates + self.aux_jacobian @ aux, self.combine
        if self.is_quotient:  # (N / D)' = (N' - D' N / D) / D
            sizes = sums[self.n_events :]
            combine = np.hstack((combine / sizes, combine * (-rates / sizes)))
        return values, combine

    def aux_at(self, sums):
        """Auxiliary unknowns at which the rows hold if they can, (n_aux,)."""
        return self.row_gap.unknowns(self.rates(sums)) if self.n_aux else _NO_UNKNOWNS

    def initial_aux(self, scores):
        """Auxiliary unknowns at which the rows hold if they can at these scores, (n_aux,)."""
        return self.aux_at(self.smooth_sums(scores) + self.offset) if self.n_aux else _NO_UNKNOWNS

    def constant_term(self, aux):
        """Value of the rows where all sums are 0 before the offset, (n_rows,)."""
        if self.is_quotient:
            return self.aux_jacobian @ aux
        return self.rows_at(np.zeros(self.n_events) + self.offset, aux)[0]

    def take_drawn(self, positions, start, n_per_event):
        """The constraint on drawn samples, of which those from `start` on come from its events."""
        events, counts = drawn_events(len(positions), start, self.n_events, n_per_event)
        target = self.target[positions]
        return replace(self, events=events, counts=counts, target=target, uncompared=None)

    # The public metric, for enforcement.

    def gap(self, scores):
        """The gap by the public metric."""
        return float(self.gap_of(self.exact_sums(scores)))

    def gap_of(self, sums):
        """The gap of sums, or of each column of (n_sums, n_columns)."""
        return self.aggregate(self.rates(sums))

    def report(self, scores=None, moments=None):
        """One row per rate with the columns `REPORT_COLUMNS`, from scores or from `sum_moments`."""
        return report_rates(self, sum_moments(self, scores) if moments is None else moments)

    def estimates(self, scores):
        """Estimates of the population's rates, and the linear forms whose largest is the gap."""
        means = estimates_of(self.events, _count(self, scores))
        return self.aggregate.estimates(means), self.aggregate.forms(self.n_events)

    def posterior(self, scores, clusters=None):
        """Posterior of the population's gap, with ``probability(factor, multiple)``."""
        values = _count(self, scores)
        return gap_posterior(self.events, values, self.aggregate, self.tolerance, clusters)

    # The same constraint with another offset, or on other samples.

    def residual(self, scores):
        """Exact sums less smooth ones, (n_sums,): the offset that would make them equal."""
        return self.exact_sums(scores) - self.smooth_sums(scores)

    def correct(self, scores, step_size=1.0):
        """The same constraint, its offset moved by a step to the residual at the scores."""
        return move_offset(self, self.residual(scores), step_size)

    def linearize_at(self, scores):
        """The constraint itself: its rows suit all scores."""
        return self

    def take(self, rows):
        """The same constraint on a subset of the samples, which may repeat."""
        events = self.events.take(rows)  # weights within events add up to 1 again
        counts = np.diff(events.averaging_matrix.indptr)
        target = self.target[rows]
        return replace(self, events=events, target=target, counts=counts, uncompared=None)

    def subset(self, rows, factors=1.0, target=None):
        """A partition's contribution, as in `Events.subset`; sums without offset add up."""
        # The offset is added once, to the sums of all samples, so a partition has none.
        uncompared = self.uncompared and self.uncompared.subset(rows, factors, target)
        target = self.target[rows] if target is None else target
        events = self.events.subset(rows, factors)
        return replace(self, events=events, target=target, offset=0.0, uncompared=uncompared)


def move_offset(constraint, residual, step_size=1.0):
    """The same constraint, its offset moved by a step to a residual, (n_sums,)."""
    offset = constraint.offset
    return replace(constraint, offset=offset + step_size * (residual - offset))


def quotient_curvature(constraint, sums, v):
    """Second derivative of ``v @ rows`` by two sums of a quotient, (n_sums, n_sums)."""
    rates, sizes = constraint.rates(sums), sums[constraint.n_events :]
    if constraint.combine is None:
        weights = constraint.row_gap.subgradient(rates) * v
    else:
        weights = constraint.combine.T @ v
    # Of r = N / D: -1 / D^2 by N and D, and 2 r / D^2 by D twice.
    mixed, both = np.diag(-weights / sizes**2), np.diag(2 * weights * rates / sizes**2)
    return np.block([[np.zeros_like(mixed), mixed], [mixed, both]])


def _count(constraint, scores):
    """What each sample counts by the public metric; a ValueError for a quotient."""
    if constraint.is_quotient:
        raise ValueError(
            f"{constraint.name} compares quotients whose denominators depend on decisions, and no "
            "limits of these are implemented; pass confidence_level=None, or a constraint on rates "
            "with fixed denominators, such as equal_opportunity."
        )
    return constraint.exact[0](scores, constraint.target).value


@lru_cache(maxsize=128)
def drawn_events(n_samples, start, n_events, n_per_event):
    """Events one after the other, from a position on, and counts; equal batches share them."""
    codes = np.full(n_samples, -1)
    # Drawn samples lie event by event behind those of the loss, which are in no event.
    codes[start : start + n_events * n_per_event] = np.repeat(np.arange(n_events), n_per_event)
    return Events.disjoint(codes, n_events), np.full(n_events, n_per_event)
