"""Constraints on event means, bound to samples: rows for solvers, and the public metric."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np

from skfair.constraints._gap import Gap
from skfair.constraints._rates import kernel_rate
from skfair.constraints._report import report_means
from skfair.constraints._rows import ConstraintValues, EventJacobian, spread_terms
from skfair.constraints._system import draw_rows
from skfair.groups import Events
from skfair.inference import estimates_of, gap_posterior
from skfair.losses import as_pointwise

_MAX_NUMPY = 1 << 17
"""Memberships up to which numpy counts: to import numba takes longer."""

_NO_UNKNOWNS = np.empty(0)


@dataclass(frozen=True, eq=False)
class BoundConstraint:
    """The constraint ``aggregate(rates(sums + offset)) <= tolerance`` on rates of events.

    Solvers call it: its rows are ``lower <= combine @ rates(s + offset) + aux_jacobian @ a <=
    upper``, with the sums s of the smooth rate and auxiliary unknowns a. The public metric is the
    same gap of the sums of the exact rate. It is changed by :func:`dataclasses.replace`.

    Attributes
    ----------
    name : str
        Name in messages and reports.
    events : Events
        Samples that each mean is taken over.
    labels : list of (str, object)
        Cell and group of each event.
    counts : ndarray of int, shape (n_events,)
        Samples in each event.
    target : ndarray of shape (n_samples,)
        Classes -1 and +1, or real numbers.
    smooth, exact : tuple of callable
        (scores, target) -> Pointwise: the rate that solvers bound, and the one that the public
        metric counts. A rate that is a quotient has two terms, numerator and denominator; their
        means over events are `sums`, (n_terms * n_events,), and ``rates(sums)`` the quotients.
    aggregate : Gap
        How the means become one gap.
    tolerance : float
        Largest gap allowed.
    statistic : {"decisions", "values"}
        What the public metric depends on: the signs of the scores, or their values.
    offset : ndarray of shape (n_events,) or 0.0
        Added to the smooth means; it corrects them for their residual.
    one_row : bool
        Whether the gap is bounded by one piecewise linear row instead of several linear ones.
    uncompared : BoundConstraint or None
        The same means of groups that are too small to be compared, for the report alone.
    is_ratio : bool
        Whether the gap is 1 minus a ratio, which messages state.
    """

    name: str
    events: Events
    labels: list
    counts: np.ndarray
    target: np.ndarray
    smooth: tuple[Callable, ...]
    exact: tuple[Callable, ...]
    aggregate: Gap
    tolerance: float
    statistic: str = "values"
    offset: np.ndarray | float = 0.0
    one_row: bool = False
    uncompared: "BoundConstraint | None" = None
    is_ratio: bool = False
    combine: Any = field(init=False)
    """Linear map from means to rows, (n_rows, n_events); None if rows are not linear in means."""
    n_events: int = field(init=False)
    """Number of events that are compared."""
    lower: np.ndarray = field(init=False)
    upper: np.ndarray = field(init=False)
    """Bounds of the rows, (n_rows,)."""
    n_aux: int = field(init=False)
    """Number of auxiliary unknowns."""
    aux_jacobian: np.ndarray = field(init=False)
    """Derivative of the rows by the auxiliary unknowns, (n_rows, n_aux)."""
    _row_gap: Gap = field(init=False)

    is_correctable = True
    """Whether an offset makes the rows count what the metric counts."""

    criterion = None
    """Settings that enforcement may change between fits; only criteria on ranks have them."""

    def __post_init__(self):
        """Store the rows, which constraints on equal events share."""
        gap, tolerance = self.aggregate.polyhedral(self.tolerance)
        n_events = self.events.n_events
        combine, aux, (lower, upper) = gap.rows(n_events, tolerance, self.one_row)
        vars(self).update(
            n_events=n_events,
            combine=combine,
            lower=lower,
            upper=upper,
            n_aux=aux.shape[1],
            aux_jacobian=aux,
            _row_gap=gap,
        )

    @property
    def rows(self):
        """What solvers see: the constraint itself."""
        return self

    @property
    def adds_up(self):
        """Whether rows follow from sums that partitions add up to."""
        return not self.one_row

    # Rows, for solvers.

    def __call__(self, scores, aux):
        """Rows and derivatives, as `ConstraintValues`."""
        # Chain rule: rows are polyhedral in rates, rates are means or quotients of means, means
        # are linear in the terms, terms smooth in scores.
        terms = self._terms(scores)
        sums = self._sums(terms) + self.offset
        values, combine = self.rows_of(sums, aux)
        by_sample = EventJacobian(combine, self.events, [one.slope for one in terms])
        curvatures = [one.curvature for one in terms]
        return ConstraintValues(
            values,
            by_sample,
            self.aux_jacobian,
            lambda v: spread_terms(self.events, combine.T @ v, curvatures),
            rows_at_shift=None
            if self._is_linear
            else lambda shift: self.rows_of(sums + shift, aux),
            cell_curvature=partial(self.sums_curvature, sums) if len(terms) > 1 else None,
        )

    def differentiate(self, scores, weights):
        """Derivative of sums by scores, a csr_array, and weighted curvature of each sample."""
        terms = self._terms(scores)
        slopes = EventJacobian(None, self.events, [one.slope for one in terms]).cells
        return slopes, spread_terms(self.events, weights, [one.curvature for one in terms])

    @property
    def _is_linear(self):
        """Whether rows are linear in the sums."""
        return self.combine is not None and len(self.smooth) == 1

    def rates(self, sums):
        """Rates from sums: themselves, or quotients of the first half by the second."""
        return sums if len(self.smooth) == 1 else np.divide(*np.split(sums, 2))

    def rows_of(self, sums, aux=None):
        """Values of the rows at sums, (n_rows,), and their slope by these, (n_rows, n_sums).

        Unknowns of None are those at which the rows hold if they can.
        """
        rates = self.rates(sums)
        if self.combine is None:
            values = np.array([self._row_gap(rates)])
            combine = self._row_gap.subgradient(rates)[np.newaxis, :]
        else:
            aux = self.aux_at(sums) if aux is None else aux
            values, combine = self.combine @ rates + self.aux_jacobian @ aux, self.combine
        if len(self.smooth) > 1:  # (N / D)' = (N' - D' N / D) / D
            sizes = sums[self.n_events :]
            combine = np.hstack((combine / sizes, combine * (-rates / sizes)))
        return values, combine

    def sums_curvature(self, sums, v):
        """Second derivative of ``v @ rows`` by two sums, (n_sums, n_sums), of quotients."""
        if len(self.smooth) == 1:
            return np.zeros((self.n_events, self.n_events))
        rates, sizes = self.rates(sums), sums[self.n_events :]
        weights = (
            self._row_gap.subgradient(rates) * v if self.combine is None else self.combine.T @ v
        )
        mixed, both = np.diag(-weights / sizes**2), np.diag(2 * weights * rates / sizes**2)
        return np.block([[np.zeros_like(mixed), mixed], [mixed, both]])

    def aux_at(self, sums):
        """Auxiliary unknowns at which the rows hold if they can, (n_aux,)."""
        return self._row_gap.unknowns(self.rates(sums)) if self.n_aux else _NO_UNKNOWNS

    def initial_aux(self, scores):
        """Auxiliary unknowns at which the rows hold if they can at these scores, (n_aux,)."""
        return self.aux_at(self.smooth_means(scores) + self.offset) if self.n_aux else np.empty(0)

    def constant_term(self, aux):
        """Value of the rows where all means are 0 before the offset, (n_rows,)."""
        if len(self.smooth) > 1:
            return self.aux_jacobian @ aux
        return self.rows_of(np.zeros(self.n_events) + self.offset, aux)[0]

    def smooth_means(self, scores):
        """Sums of the smooth rate, before the offset, (n_sums,)."""
        return self._sums(self._terms(scores))

    def _terms(self, scores):
        """Terms of the smooth rate, as Pointwise."""
        text = f"The rate of {self.name}"
        return [as_pointwise(one(scores, self.target), len(scores), text) for one in self.smooth]

    def _sums(self, terms):
        """Means over events of the values of terms, one term after the other."""
        if len(terms) == 1:
            return self.events.means(terms[0].value)
        return np.concatenate([self.events.means(one.value) for one in terms])

    # The public metric.

    def exact_rate(self, scores, term=0):
        """Rate of each sample that the public metric counts, (n_samples,); a term of a quotient."""
        return self.exact[term](scores, self.target).value

    def exact_means(self, scores):
        """Sums of the exact rate, (n_sums,)."""
        return self._sums([one(scores, self.target) for one in self.exact])

    def exact_rows(self, scores):
        """Rows as the metric counts them, at suitable unknowns, and their slope by the means."""
        return self.rows_of(self.exact_means(scores))

    def gap(self, scores):
        """The gap by the public metric."""
        return float(self.gap_of(self.exact_means(scores)))

    def gap_of(self, sums):
        """The gap of sums, or of each column of (n_sums, n_columns)."""
        return self.aggregate(self.rates(sums))

    def residual(self, scores):
        """Exact means less smooth ones, (n_events,)."""
        return self.exact_means(scores) - self.smooth_means(scores)

    @cached_property
    def flip_effects(self):
        """What each membership adds to its event's mean by a positive decision; means without any.

        One pair per term: the first is (n_entries,) in the order of ``events.memberships``, the
        second (n_events,).
        """
        # The exact rate of decisions depends on their sign alone: two evaluations give all flips.
        samples, _, weights = self.events.memberships
        effects = []
        for term in range(len(self.exact)):
            positive, negative = (
                self.exact_rate(np.full(len(self.target), sign), term) for sign in (1.0, -1.0)
            )
            of_term = weights * (positive - negative)[samples], self.events.means(negative)
            effects.append(of_term)
        return effects

    def along_flips(self, decisions, steps, n_steps):
        """Exact means as decisions flip, (n_events, n_steps + 1): at first, and after each step.

        A decision, -1 or +1, flips at its step in [0, n_steps); those that stay have n_steps.
        """
        samples, events, _ = self.events.memberships
        # Start from means with all decisions negative, and add the effects of the positive ones.
        sums = [
            negative[:, np.newaxis]
            + sum_flips((samples, events, effects), decisions, steps, self.n_events, n_steps)
            for effects, negative in self.flip_effects
        ]
        return sums[0] if len(sums) == 1 else np.concatenate(sums)

    def moments(self, scores):
        """Means of the exact rate and its square, sums of squared weights; partitions add up.

        One entry per rate of the report: those of small groups come last.
        """
        values = self.exact_rate(scores)
        # The sum of squared weights is one over the effective number of samples.
        weights = self.events.averaging_matrix.power(2).sum(axis=1)
        moments = self.events.means(values), self.events.means(values**2), weights
        if len(self.exact) > 1:
            sizes = self.exact_rate(scores, 1)
            sums = np.concatenate((moments[0], self.events.means(sizes)))
            seconds = moments[1], self.events.means(values * sizes), self.events.means(sizes**2)
            return sums, np.concatenate(seconds), weights
        if self.uncompared is None:
            return moments
        return tuple(map(np.append, moments, self.uncompared.moments(scores)))

    def gap_of_moments(self, moments):
        """The gap, from the sums of `moments` over partitions."""
        return self.gap_of(moments[0][: len(self.exact) * self.n_events])

    def rate_moments(self, moments):
        """Rates, mean squares and sums of squared weights, from the sums of `moments`."""
        if len(self.exact) == 1:
            return moments
        sums, seconds, weights = moments
        rates, sizes = self.rates(sums), sums[self.n_events :]
        # Of a quotient, the variance is that of its linearisation (n - r m) / D.
        nn, nm, mm = np.split(seconds, 3)
        return rates, rates**2 + (nn - 2 * rates * nm + rates**2 * mm) / sizes**2, weights

    def report(self, scores=None, moments=None):
        """One row per rate with the columns `REPORT_COLUMNS`, from scores or from `moments`."""
        moments = self.moments(scores) if moments is None else moments
        return report_means(self, self.rate_moments(moments))

    def estimates(self, scores):
        """Estimates of the population's means, and the linear forms whose largest is the gap."""
        self._check_has_statistics()
        means = estimates_of(self.events, self.exact_rate(scores))
        return self.aggregate.estimates(means), self.aggregate.forms(self.n_events)

    def posterior(self, scores, clusters=None):
        """Posterior of the population's gap, with ``probability(factor, multiple)``."""
        self._check_has_statistics()
        values = self.exact_rate(scores)
        return gap_posterior(self.events, values, self.aggregate, self.tolerance, clusters)

    def _check_has_statistics(self):
        """Raise for a quotient, whose sampling distribution is not implemented."""
        if len(self.exact) > 1:
            raise ValueError(
                f"{self.name} compares quotients, for which no limits are known; pass "
                "confidence_level=None, or a constraint on rates of fixed events."
            )

    # The same constraint with another offset, or on other samples.

    def correct(self, scores, step_size=1.0):
        """The same constraint, its offset moved by a step to the residual at the scores."""
        return self.move_offset(self.residual(scores), step_size)

    def move_offset(self, residual, step_size=1.0):
        """The same constraint, its offset moved by a step to a residual, (n_events,)."""
        # The offset that would make smooth means equal to exact ones is their residual.
        return replace(self, offset=self.offset + step_size * (residual - self.offset))

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
        """A partition's contribution, as in `Events.subset`; rows without offset add up."""
        # The offset is added once, to the means of all samples, so a partition has none.
        uncompared = self.uncompared and self.uncompared.subset(rows, factors, target)
        target = self.target[rows] if target is None else target
        events = self.events.subset(rows, factors)
        return replace(self, events=events, target=target, offset=0.0, uncompared=uncompared)

    def embed(self, rows, n_samples):
        """The same constraint as a function of more scores, as in `Events.embed`."""
        uncompared = self.uncompared and self.uncompared.embed(rows, n_samples)
        target = np.ones(n_samples)
        target[rows] = self.target
        events = self.events.embed(rows, n_samples)
        return replace(self, events=events, target=target, uncompared=uncompared)

    def draw(self, n_per_event, random_state=None, first=()):
        """Draw equally many samples from every event, as `draw_rows`."""
        return draw_rows([self], n_per_event, random_state, first)

    def take_drawn(self, rows, start, n_per_event):
        """The constraint on drawn samples, of which those from `start` on come from its events."""
        events, counts = drawn_events(len(rows), start, self.n_events, n_per_event)
        target = self.target[rows]
        return replace(self, events=events, counts=counts, target=target, uncompared=None)

    # Arguments of kernels.

    @property
    def has_kernel(self):
        """Whether kernels know the smooth rate and the events."""
        return self.kernel_arguments(self.smooth) is not None

    def kernel_arguments(self, rate):
        """Event and weight of each sample, and what kernels know a rate by; None without a kernel.

        Events are disjoint; samples in none of them have the number of events, and a weight of 0.
        """
        known, members = kernel_rate(rate[0]), self.events.codes_and_weights
        if known is None or members is None or len(rate) > 1:
            return None
        return *members, *known


def sum_flips(entries, decisions, bins, n_events, n_bins):
    """Sums over events of the effects of positive decisions, (n_events, n_bins + 1).

    ``entries`` are sample and event of every membership, and the effect of a positive decision on
    the event. ``decisions`` are those before the first flip, -1 or +1, and ``bins`` the bin of each
    flip, n_bins for none. The sums are before the first bin and after every one.
    """
    samples, events, effects = entries
    if len(samples) > _MAX_NUMPY:
        from skfair._kernels.flips import add_flips

        sums = np.zeros((n_events, n_bins + 1))
        add_flips(samples, events, effects, decisions, bins, sums)
        return np.cumsum(sums, axis=1, out=sums)
    # Sums before any flip, then the change in every bin, cumulated.
    signs, flip_bins = decisions[samples], bins[samples]
    sums = np.empty((n_events, n_bins + 1))
    sums[:, 0] = np.bincount(events, effects * (signs > 0), n_events)
    flipping = np.flatnonzero(flip_bins < n_bins)
    cells = events[flipping] * n_bins + flip_bins[flipping]
    steps = -signs[flipping] * effects[flipping]
    sums[:, 1:] = np.bincount(cells, steps, n_events * n_bins).reshape(n_events, n_bins)
    return np.cumsum(sums, axis=1, out=sums)


@lru_cache(maxsize=128)
def drawn_events(n_samples, start, n_events, n_per_event):
    """Events one after the other, from a position on, and counts; equal batches share them."""
    codes = np.full(n_samples, -1)
    # Drawn samples lie event by event behind those of the loss, which are in no event.
    codes[start : start + n_events * n_per_event] = np.repeat(np.arange(n_events), n_per_event)
    return Events.disjoint(codes, n_events), np.full(n_events, n_per_event)
