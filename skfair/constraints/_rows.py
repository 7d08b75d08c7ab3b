"""Rows of constraints on rates, for solvers."""

from dataclasses import replace
from functools import cached_property, lru_cache, partial

import numpy as np

from skfair.constraints._gap import make_rows
from skfair.constraints._values import (
    ConstraintValues,
    ScoreJacobian,
    block_diagonal,
    concatenate,
    differentiate_means,
    empty_values,
    split,
    spread_over_samples,
    stack_values,
)
from skfair.groups._events import Events
from skfair.losses import as_pointwise

_NO_UNKNOWNS = np.empty(0)


class RateRows:
    """The rows ``lower <= rates_to_rows @ rates + aux_jacobian @ aux <= upper`` of a constraint.

    Attributes
    ----------
    bound : BoundConstraint
        The constraint, of which rows take the smooth sums and the offset.
    gap : Gap
        The gap that the rows bound, as `GapRows.gap`.
    rates_to_rows : ndarray or csr_array of shape (n_rows, n_events), or None
        Linear map from rates to rows; None if rows are not linear in rates.
    aux_jacobian : ndarray of shape (n_rows, n_aux)
        Derivative of the rows by the auxiliary unknowns.
    lower, upper : ndarray of shape (n_rows,)
        Bounds.
    events : Events
        Samples of each mean, ``n_events`` in number.
    """

    def __init__(self, bound):
        self.bound, self.events = bound, bound.sums.events
        self.n_events = self.events.n_events
        table = make_rows(bound.gap, self.n_events, bound.tolerance, bound.one_row)
        self.gap, self.rates_to_rows, self.aux_jacobian, self.lower, self.upper = table
        self.n_aux = self.aux_jacobian.shape[1]

    def __call__(self, scores, aux):
        """Rows and derivatives, as `ConstraintValues`."""
        events, is_quotient = self.events, self.bound.sums.is_quotient
        terms, sums = evaluate_terms(self.bound.sums, self.bound.sums.smooth, scores)
        sums = sums + self.bound.offset
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

    def rows_at(self, sums, aux=None):
        """Values of the rows at sums, (n_rows,), and their slope by these, (n_rows, n_sums).

        Unknowns of None are those at which the rows hold if they can.
        """
        rates = self.bound.sums.rates(sums)
        if self.rates_to_rows is None:
            value, slope = self.gap.value_and_subgradient(rates)
            values, combine = np.array([value]), slope[np.newaxis, :]
        else:
            aux = self.aux_at(sums) if aux is None else aux
            values = self.rates_to_rows @ rates + self.aux_jacobian @ aux
            combine = self.rates_to_rows
        if (
            self.bound.sums.is_quotient
        ):  # (N / D)' = (N' - D' N / D) / D, and 0 where a rate is unknown
            inverse, rates = _invert_sizes(sums[self.n_events :]), np.nan_to_num(rates)
            combine = np.hstack((combine * inverse, combine * (-rates * inverse)))
        return values, combine

    def aux_at(self, sums):
        """Auxiliary unknowns at which the rows hold if they can, (n_aux,)."""
        return self.gap.aux_at(self.bound.sums.rates(sums)) if self.n_aux else _NO_UNKNOWNS

    def initial_aux(self, scores):
        """Auxiliary unknowns at which the rows hold if they can at these scores, (n_aux,)."""
        if not self.n_aux:
            return _NO_UNKNOWNS
        return self.aux_at(self.bound.sums.smooth_means(scores) + self.bound.offset)

    def constant_term(self, aux):
        """Value of the rows where all sums are 0 before the offset, (n_rows,)."""
        if self.bound.sums.is_quotient:
            return self.aux_jacobian @ aux
        return self.rows_at(np.zeros(self.n_events) + self.bound.offset, aux)[0]

    def take_batch(self, positions, start, n_per_event):
        """The rows on drawn samples, of which those from `start` on come from their events."""
        events, counts = batch_events(len(positions), start, self.n_events, n_per_event)
        sums = self.bound.sums
        cells = sums.cells._replace(events=events, counts=counts)
        sums = replace(sums, cells=cells, target=sums.target[positions])
        return RateRows(replace(self.bound, sums=sums, uncompared=None))

    def residual(self, scores):
        """Exact sums less smooth ones, (n_sums,): the offset that would make them equal."""
        return self.bound.sums.exact_means(scores) - self.bound.sums.smooth_means(scores)

    def correct(self, scores):
        """The rows with the means that the metric counts at these scores."""
        return self.bound.move_offset(self.residual(scores)).rows

    def sums_curvature(self, sums, v):
        """Second derivative of ``v @ rows`` by two sums, (n_sums, n_sums); 0 but of quotients."""
        if not self.bound.sums.is_quotient:
            return np.zeros((len(sums), len(sums)))
        rates, inverse = self.bound.sums.rates(sums), _invert_sizes(sums[self.n_events :])
        if self.rates_to_rows is None:
            weights = self.gap.subgradient(rates) * v
        else:
            weights = self.rates_to_rows.T @ v
        # Of r = N / D: -1 / D^2 by N and D, and 2 r / D^2 by D twice.
        rates = np.nan_to_num(rates)
        mixed, both = np.diag(-weights * inverse**2), np.diag(2 * weights * rates * inverse**2)
        return np.block([[np.zeros_like(mixed), mixed], [mixed, both]])


def evaluate_terms(sums, terms, scores):
    """Terms of a constraint's `Sums` at scores as Pointwise, and their means over the events."""
    name = f"The rate of {sums.name}"
    values = [as_pointwise(one(scores, sums.target), len(scores), name) for one in terms]
    means = [sums.events.means(one.value) for one in values]
    return values, np.concatenate(means) if sums.is_quotient else means[0]


def _invert_sizes(sizes):
    """One over the denominators of quotients; 0 where there is none."""
    return np.divide(1.0, sizes, out=np.zeros(len(sizes)), where=sizes > 0.0)


@lru_cache(maxsize=128)
def batch_events(n_samples, start, n_events, n_per_event):
    """Events one after the other, from a position on, and counts; equal batches share them."""
    codes = np.full(n_samples, -1)
    # Drawn samples lie event by event behind those of the loss, which are in no event.
    codes[start : start + n_events * n_per_event] = np.repeat(np.arange(n_events), n_per_event)
    return Events.disjoint(codes, n_events), np.full(n_events, n_per_event)


class StackedRows:
    """The rows of several constraints, one below the other.

    Attributes
    ----------
    components : tuple of SmoothConstraint
        The rows of each constraint.
    """

    def __init__(self, components):
        self.components = tuple(components)
        self.lower = concatenate(one.lower for one in self.components)
        self.upper = concatenate(one.upper for one in self.components)
        self.n_aux = sum(one.n_aux for one in self.components)

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
        if not self.components:
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
        return StackedRows(one.majorant(scores, of_one) for one, of_one in pairs)

    def correct(self, scores):
        """The rows with the means that the metric counts at these scores."""
        return StackedRows(one.correct(scores) for one in self.components)

    def take(self, rows):
        """The rows on a subset of the samples."""
        return StackedRows(one.take(rows) for one in self.components)
