"""Rows of constraints on rates, for solvers: their values, derivatives and bounds."""

import itertools
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skfair.constraints._gap import make_rows
from skfair.groups._events import Events
from skfair.losses import as_pointwise

# Values and derivatives of rows, at given scores and auxiliary unknowns.


class ScoreJacobian:
    """Derivative of the rows by the scores, as the product ``means_to_rows @ basis``.

    `means_to_rows`, (n_rows, n_means), says how means make up rows; `basis`, a csr_array of shape
    (n_means, n_samples), are the derivatives of the means by the scores, or a function that makes
    them when they are first used. ``spread(v)`` is ``basis.T @ v``, where that is faster
    without the matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from skfair.constraints._rows import ScoreJacobian
    >>> basis = sparse.csr_array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    >>> ScoreJacobian(means_to_rows=np.array([[1.0, -1.0]]), basis=basis).adjoint(np.ones(1))
    array([ 0.5,  0.5, -1. ])
    """

    def __init__(self, means_to_rows: Any, basis: Any, spread: Callable | None = None):
        self.means_to_rows = means_to_rows
        self._basis = basis
        self._spread = spread

    @cached_property
    def basis(self) -> Any:
        """Derivative of each mean by each score, a csr_array of shape (n_means, n_samples)."""
        return self._basis() if callable(self._basis) else self._basis

    def adjoint(self, v: np.ndarray) -> np.ndarray:
        """One weight per sample from one per row, (n_rows,) -> (n_samples,)."""
        return self.basis_adjoint(self.means_to_rows.T @ v)

    def basis_adjoint(self, by_mean: np.ndarray) -> np.ndarray:
        """One weight per sample from one per mean, (n_means,) -> (n_samples,)."""
        return self.basis.T @ by_mean if self._spread is None else self._spread(by_mean)


def differentiate_means(events, slopes):
    """Derivative of the means of terms by each score, a csr_array of (n_sums, n_samples)."""
    # Chain rule: the weight of each sample in its event's mean times the slope of its term.
    averaging, of_terms = events.averaging_matrix, []
    for slope in slopes:
        derivatives = copy(averaging)  # without the checks of a new one
        derivatives.data = averaging.data * slope[averaging.indices]
        of_terms.append(derivatives)
    return of_terms[0] if len(of_terms) == 1 else sparse.csr_array(sparse.vstack(of_terms))


def spread_over_samples(events, factors, by_sum):
    """One weight per sample from one per sum, with a factor per sample for each term."""
    first, *others = np.split(by_sum, len(factors))
    weights = events.means_adjoint(first) * factors[0]
    for values, factor in zip(others, factors[1:], strict=True):
        weights += events.means_adjoint(values) * factor
    return weights


class StackedJacobian(ScoreJacobian):
    """The Jacobians of several constraints, one below the other."""

    def __init__(self, jacobians, n_samples):
        self.jacobians = jacobians
        self.n_samples = n_samples

    @cached_property
    def means_to_rows(self):
        """How means make up rows, a csr_array of shape (n_rows, n_means)."""
        blocks = [sparse.coo_array(one.means_to_rows) for one in self.jacobians]
        return sparse.csr_array(sparse.block_diag(blocks, format="csr"))

    @cached_property
    def basis(self):
        """Derivative of each mean by each score, a csr_array of shape (n_means, n_samples)."""
        return sparse.csr_array(sparse.vstack([one.basis for one in self.jacobians], format="csr"))

    def adjoint(self, v):
        """One weight per sample from one per row, (n_rows,) -> (n_samples,)."""
        blocks = split(v, [one.means_to_rows.shape[0] for one in self.jacobians])
        pairs = zip(self.jacobians, blocks, strict=True)
        return sum((one.adjoint(block) for one, block in pairs), np.zeros(self.n_samples))


class ConstraintValues(NamedTuple):
    """Rows of a constraint at given scores and auxiliary unknowns.

    Attributes
    ----------
    values : ndarray of shape (n_rows,)
        To be held between the constraint's ``lower`` and ``upper``.
    jacobian : ScoreJacobian
        Derivative by the scores.
    aux_jacobian : ndarray of shape (n_rows, n_aux)
        Derivative by the auxiliary unknowns.
    curvature : callable
        v -> (n_samples,): second derivative of ``v @ values`` by each score.
    aux_curvature : callable or None
        v -> (combine, hessian): its second derivatives by unknown and score, as
        ``combine @ jacobian.basis`` of shape (n_aux, n_samples), and by two unknowns, (n_aux,
        n_aux). None if the rows are linear in the unknowns.
    exact : callable or None
        () -> ConstraintValues: the same rows with their exact second derivatives, where `curvature`
        is convexified. None where `curvature` is exact.
    rows_at_shift : callable or None
        shift -> (values, combine): the rows, and what they take of the means, if the means
        were moved by ``shift`` of shape (n_means,). None if the rows are linear in the means;
        otherwise they are polyhedral, and smooth only between their breakpoints.
    means_curvature : callable or None
        v -> (n_means, n_means): second derivative of ``v @ values`` by the means. None if
        the rows are linear or polyhedral in the means.
    """

    values: np.ndarray
    jacobian: ScoreJacobian
    aux_jacobian: np.ndarray
    curvature: Callable
    aux_curvature: Callable | None = None
    exact: Callable | None = None
    rows_at_shift: Callable | None = None
    means_curvature: Callable | None = None


def empty_values(n_samples):
    """The `ConstraintValues` of no constraint."""
    jacobian = ScoreJacobian(sparse.csr_array((0, 0)), sparse.csr_array((0, n_samples)))
    return ConstraintValues(np.empty(0), jacobian, np.empty((0, 0)), lambda v: np.zeros(n_samples))


def stack_values(values, n_samples):
    """The `ConstraintValues` of several constraints as one."""

    # Rows lie one below the other, so that a vector with an entry per row is split.
    def pair_with_rows(v):
        return zip(values, split(v, [len(one.values) for one in values]), strict=True)

    def curvature(v):
        return sum(
            (one.curvature(weights) for one, weights in pair_with_rows(v)), np.zeros(n_samples)
        )

    def aux_curvature(v):
        # Auxiliary unknowns of different constraints do not interact: blocks on the diagonal.
        pairs = (_aux_curvature(one, weights) for one, weights in pair_with_rows(v))
        combines, hessians = zip(*pairs, strict=True)
        return block_diagonal(combines), block_diagonal(hessians)

    def exact():
        # Some components may be exact already.
        return stack_values([one.exact() if one.exact else one for one in values], n_samples)

    def rows_at_shift(shift):
        # Each constraint has means of its own, which move independently of the others.
        shifts = split(shift, [one.jacobian.means_to_rows.shape[1] for one in values])
        pairs = (_shift_rows(one, move) for one, move in zip(values, shifts, strict=True))
        moved, combines = zip(*pairs, strict=True)
        return np.concatenate(moved), block_diagonal(combines)

    def means_curvature(v):
        n_means = [one.jacobian.means_to_rows.shape[1] for one in values]
        return block_diagonal(
            one.means_curvature(weights) if one.means_curvature else np.zeros((n, n))
            for (one, weights), n in zip(pair_with_rows(v), n_means, strict=True)
        )

    is_linear = all(one.aux_curvature is None for one in values)
    return ConstraintValues(
        concatenate(one.values for one in values),
        StackedJacobian([one.jacobian for one in values], n_samples),
        block_diagonal([one.aux_jacobian for one in values]),
        curvature,
        None if is_linear else aux_curvature,
        exact if any(one.exact for one in values) else None,
        rows_at_shift if any(one.rows_at_shift for one in values) else None,
        means_curvature if any(one.means_curvature for one in values) else None,
    )


def _shift_rows(values, shift):
    """Rows and their derivatives by the means, moved by a shift."""
    if values.rows_at_shift is not None:
        return values.rows_at_shift(shift)
    combine = values.jacobian.means_to_rows
    dense = combine.toarray() if sparse.issparse(combine) else combine
    return values.values + combine @ shift, dense


def _aux_curvature(values, v):
    """Second derivatives that involve auxiliary unknowns; 0 of rows that are linear in them."""
    if values.aux_curvature is not None:
        return values.aux_curvature(v)
    n_aux, n_means = values.aux_jacobian.shape[1], values.jacobian.means_to_rows.shape[1]
    return np.zeros((n_aux, n_means)), np.zeros((n_aux, n_aux))


def concatenate(vectors):
    """Vectors one after the other."""
    return np.concatenate([np.empty(0), *vectors])


def block_diagonal(matrices):
    """Dense matrices along the diagonal of one."""
    matrices = list(matrices)
    stacked = np.zeros(np.sum([(0, 0), *(one.shape for one in matrices)], axis=0))
    row = column = 0
    for one in matrices:
        n_rows, n_columns = one.shape
        stacked[row : row + n_rows, column : column + n_columns] = one
        row, column = row + n_rows, column + n_columns
    return stacked


def split(vector, lengths):
    """Consecutive pieces of a vector."""
    ends = np.cumsum([0, *lengths])
    return [vector[start:end] for start, end in itertools.pairwise(ends)]


# Rows of one constraint, and of several.


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
