"""Rows of constraints, which are all that solvers see: bounds, values and derivatives."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from copy import copy
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse

from skfair._groups.events import Events

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
    >>> from skfair._bound.rows import ScoreJacobian
    >>> basis = sparse.csr_array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    >>> ScoreJacobian(means_to_rows=np.array([[1.0, -1.0]]), basis=basis).adjoint(np.ones(1))
    array([ 0.5,  0.5, -1. ])
    """

    def __init__(self, means_to_rows: Any, basis: Any, spread: Callable | None = None):
        self.means_to_rows = means_to_rows
        self._basis = basis
        self._spread = spread

    @cached_property
    def basis(self) -> sparse.csr_array:
        """Derivative of each mean by each score, a csr_array of shape (n_means, n_samples)."""
        return self._basis() if callable(self._basis) else self._basis

    def adjoint(self, v: np.ndarray) -> np.ndarray:
        """One weight per sample from one per row, (n_rows,) -> (n_samples,)."""
        return self.basis_adjoint(self.means_to_rows.T @ v)

    def basis_adjoint(self, by_mean: np.ndarray) -> np.ndarray:
        """One weight per sample from one per mean, (n_means,) -> (n_samples,)."""
        return self.basis.T @ by_mean if self._spread is None else self._spread(by_mean)


def differentiate_means(events: Events, slopes: list[np.ndarray]) -> sparse.csr_array:
    """Derivative of the means of terms by each score, a csr_array of (n_sums, n_samples)."""
    # Chain rule: the weight of each sample in its event's mean times the slope of its term.
    averaging = events.averaging_matrix
    of_terms = []
    for slope in slopes:
        derivatives = copy(averaging)  # without the checks of a new one
        derivatives.data = averaging.data * slope[averaging.indices]
        of_terms.append(derivatives)
    return of_terms[0] if len(of_terms) == 1 else sparse.csr_array(sparse.vstack(of_terms))


def spread_over_samples(
    events: Events, factors: list[np.ndarray], by_sum: np.ndarray
) -> np.ndarray:
    """One weight per sample from one per sum, with a factor per sample for each term."""
    first, *others = np.split(by_sum, len(factors))
    weights = events.means_adjoint(first) * factors[0]
    for values, factor in zip(others, factors[1:], strict=True):
        weights += events.means_adjoint(values) * factor
    return weights


class StackedJacobian(ScoreJacobian):
    """The Jacobians of several constraints, one below the other."""

    def __init__(self, jacobians: list[ScoreJacobian], n_samples: int) -> None:
        self.jacobians = jacobians
        self.n_samples = n_samples

    @cached_property
    def means_to_rows(self) -> sparse.csr_array:
        """How means make up rows, a csr_array of shape (n_rows, n_means)."""
        blocks = [sparse.coo_array(one.means_to_rows) for one in self.jacobians]
        return sparse.csr_array(sparse.block_diag(blocks, format="csr"))

    @cached_property
    def basis(self) -> sparse.csr_array:
        """Derivative of each mean by each score, a csr_array of shape (n_means, n_samples)."""
        return sparse.csr_array(sparse.vstack([one.basis for one in self.jacobians], format="csr"))

    def adjoint(self, v: np.ndarray) -> np.ndarray:
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


def stack_values(values: list[ConstraintValues], n_samples: int) -> ConstraintValues:
    """The `ConstraintValues` of several constraints as one."""

    # Rows lie one below the other, so that a vector with an entry per row is split.
    def pair_with_rows(v: np.ndarray) -> Iterator:
        return zip(values, split(v, [len(one.values) for one in values]), strict=True)

    def curvature(v: np.ndarray) -> np.ndarray:
        return sum(
            (one.curvature(weights) for one, weights in pair_with_rows(v)), np.zeros(n_samples)
        )

    def aux_curvature(v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # Auxiliary unknowns of different constraints do not interact: blocks on the diagonal.
        pairs = (_aux_curvature(one, weights) for one, weights in pair_with_rows(v))
        combines, hessians = zip(*pairs, strict=True)
        return block_diagonal(combines), block_diagonal(hessians)

    def exact() -> ConstraintValues:
        # Some components may be exact already.
        return stack_values([one.exact() if one.exact else one for one in values], n_samples)

    def rows_at_shift(shift: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # Each constraint has means of its own, which move independently of the others.
        shifts = split(shift, [one.jacobian.means_to_rows.shape[1] for one in values])
        pairs = (_shift_rows(one, move) for one, move in zip(values, shifts, strict=True))
        moved, combines = zip(*pairs, strict=True)
        return np.concatenate(moved), block_diagonal(combines)

    def means_curvature(v: np.ndarray) -> np.ndarray:
        n_means = [one.jacobian.means_to_rows.shape[1] for one in values]
        return block_diagonal(
            one.means_curvature(weights) if one.means_curvature else np.zeros((n, n))
            for (one, weights), n in zip(pair_with_rows(v), n_means, strict=True)
        )

    is_linear = all(one.aux_curvature is None for one in values)
    return ConstraintValues(
        values=concatenate(one.values for one in values),
        jacobian=StackedJacobian([one.jacobian for one in values], n_samples),
        aux_jacobian=block_diagonal([one.aux_jacobian for one in values]),
        curvature=curvature,
        aux_curvature=None if is_linear else aux_curvature,
        exact=exact if any(one.exact for one in values) else None,
        rows_at_shift=rows_at_shift if any(one.rows_at_shift for one in values) else None,
        means_curvature=means_curvature if any(one.means_curvature for one in values) else None,
    )


def _shift_rows(values: ConstraintValues, shift: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows and their derivatives by the means, moved by a shift."""
    if values.rows_at_shift is not None:
        return values.rows_at_shift(shift)
    combine = values.jacobian.means_to_rows
    dense = combine.toarray() if sparse.issparse(combine) else combine
    return values.values + combine @ shift, dense


def _aux_curvature(values: ConstraintValues, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Second derivatives that involve auxiliary unknowns; 0 of rows that are linear in them."""
    if values.aux_curvature is not None:
        return values.aux_curvature(v)
    n_aux = values.aux_jacobian.shape[1]
    n_means = values.jacobian.means_to_rows.shape[1]
    return np.zeros((n_aux, n_means)), np.zeros((n_aux, n_aux))


def concatenate(vectors: Iterator) -> np.ndarray:
    """Vectors one after the other."""
    return np.concatenate([np.empty(0), *vectors])


def block_diagonal(matrices: Iterator | list[np.ndarray] | tuple[np.ndarray, ...]) -> np.ndarray:
    """Dense matrices along the diagonal of one."""
    matrices = list(matrices)
    stacked = np.zeros(np.sum([(0, 0), *(one.shape for one in matrices)], axis=0))
    row = column = 0
    for one in matrices:
        n_rows, n_columns = one.shape
        stacked[row : row + n_rows, column : column + n_columns] = one
        row = row + n_rows
        column = column + n_columns
    return stacked


def split(vector: np.ndarray, lengths: list[int]) -> list[np.ndarray]:
    """Consecutive pieces of a vector."""
    ends = np.cumsum([0, *lengths])
    return [vector[start:end] for start, end in itertools.pairwise(ends)]


# Rows of one constraint, and of several.


class SmoothConstraint(Protocol):
    """Rows ``lower <= c(scores, aux) <= upper``: what solvers need.

    Some solvers need further members, which may be missing elsewhere:

    - ``majorant(scores, aux)``: convex rows that are nowhere easier to keep and equal at the given
      point, for solvers that convexify; ``has_batch_majorant`` says whether mini-batches can be
      drawn from it, and it has ``original_multipliers(multipliers)``;
    - ``take_batch(positions, start, n_per_event)``: the rows on the samples of a mini-batch, of
      which those from ``start`` on were drawn from its ``events``, ``n_events`` in number, for
      stochastic solvers;
    - ``correct(scores)``: the rows with the means that the metric counts at these scores, for
      solvers that count decisions;
    - ``take(rows)``: the rows on a subset of the samples;
    - ``components`` and ``split_by_constraint(v)``: the rows of each of several constraints, and
      the entries of each in a vector with one per row.

    Attributes
    ----------
    lower, upper : ndarray of shape (n_rows,)
        Bounds; infinite where there is none.
    n_aux : int
        Number of auxiliary unknowns.

    Examples
    --------
    Rows of one's own, which bound the mean score of all samples at 0:

    >>> import numpy as np
    >>> from scipy import sparse
    >>> from skfair._bound.rows import ConstraintValues, ScoreJacobian
    >>> class CentredScores:
    ...     lower, upper, n_aux = np.zeros(1), np.zeros(1), 0
    ...
    ...     def initial_aux(self, scores):
    ...         return np.empty(0)
    ...
    ...     def __call__(self, scores, aux):
    ...         averaging = sparse.csr_array(np.full((1, len(scores)), 1.0 / len(scores)))
    ...         return ConstraintValues(
    ...             averaging @ scores,
    ...             ScoreJacobian(means_to_rows=sparse.eye_array(1, format="csr"), basis=averaging),
    ...             np.empty((1, 0)),
    ...             lambda v: np.zeros(len(scores)),
    ...         )
    >>> CentredScores()(np.array([1.0, 3.0]), np.empty(0)).values
    array([2.])
    """

    lower: np.ndarray
    upper: np.ndarray
    n_aux: int

    def initial_aux(self, scores: np.ndarray) -> np.ndarray:
        """Auxiliary unknowns at which the rows hold if they can at these scores, (n_aux,)."""

    def __call__(self, scores: np.ndarray, aux: np.ndarray) -> ConstraintValues:
        """Rows and their derivatives, as `ConstraintValues`."""


@lru_cache(maxsize=128)
def batch_events(
    n_samples: int, first: int, n_events: int, n_per_event: int
) -> tuple[Events, np.ndarray]:
    """Events one after the other, from a position on, and counts; equal batches share them."""
    codes = np.full(n_samples, -1)
    # Drawn samples lie event by event behind those of the loss, which are in no event.
    codes[first : first + n_events * n_per_event] = np.repeat(np.arange(n_events), n_per_event)
    return Events.disjoint(codes, n_events), np.full(n_events, n_per_event)


class StackedRows:
    """The rows of several constraints, one below the other.

    Attributes
    ----------
    components : tuple of SmoothConstraint
        The rows of each constraint.
    """

    def __init__(self, components: Iterator | tuple[SmoothConstraint, ...] | list) -> None:
        self.components = tuple(components)
        self.lower = concatenate(one.lower for one in self.components)
        self.upper = concatenate(one.upper for one in self.components)
        self.n_aux = sum(one.n_aux for one in self.components)

    @cached_property
    def aux_jacobian(self) -> np.ndarray:
        """Derivative of the rows by the auxiliary unknowns, (n_rows, n_aux)."""
        return block_diagonal([one.aux_jacobian for one in self.components])

    def split_aux(self, aux: np.ndarray) -> list[np.ndarray]:
        """Auxiliary unknowns of each constraint."""
        return split(aux, [one.n_aux for one in self.components])

    def split_by_constraint(self, v: np.ndarray) -> list[np.ndarray]:
        """One vector for each constraint, from one with an entry per row."""
        return split(v, [len(one.lower) for one in self.components])

    def initial_aux(self, scores: np.ndarray) -> np.ndarray:
        """Auxiliary unknowns at which the rows hold if they can at these scores, (n_aux,)."""
        return concatenate(one.initial_aux(scores) for one in self.components)

    def __call__(self, scores: np.ndarray, aux: np.ndarray) -> ConstraintValues:
        """Rows and derivatives, as `ConstraintValues`."""
        if not self.components:
            n_samples = len(scores)
            none = np.empty((0, 0))
            jacobian = ScoreJacobian(none, lambda: sparse.csr_array((0, n_samples)))
            return ConstraintValues(none.ravel(), jacobian, none, lambda v: np.zeros(n_samples))
        pairs = zip(self.components, self.split_aux(aux), strict=True)
        return stack_values([one(scores, of_one) for one, of_one in pairs], len(scores))

    def constant_term(self, aux: np.ndarray) -> np.ndarray:
        """Value of the rows where all sums are 0 before the offsets, (n_rows,)."""
        pairs = zip(self.components, self.split_aux(aux), strict=True)
        return concatenate(one.constant_term(of_one) for one, of_one in pairs)

    def majorant(self, scores: np.ndarray, aux: np.ndarray) -> StackedRows:
        """Convex rows that are nowhere easier to keep, and equal to these at one point."""
        pairs = zip(self.components, self.split_aux(aux), strict=True)
        return StackedRows(one.majorant(scores, of_one) for one, of_one in pairs)

    def correct(self, scores: np.ndarray) -> StackedRows:
        """The rows with the means that the metric counts at these scores."""
        return StackedRows(one.correct(scores) for one in self.components)

    def take(self, rows: np.ndarray) -> StackedRows:
        """The rows on a subset of the samples."""
        return StackedRows(one.take(rows) for one in self.components)


NO_ROWS = StackedRows(())
"""The rows of no constraint."""


# Two-sided rows as one-sided ones, and the map of their multipliers.


class OneSidedRows:
    r"""The rows :math:`lower \le c \le upper` written as :math:`G \le 0`.

    Every finite bound is one component of G, upper ones first: ``c - upper`` or ``lower - c``.
    """

    def __init__(self, lower: np.ndarray, upper: np.ndarray) -> None:
        capped = np.flatnonzero(np.isfinite(upper))
        floored = np.flatnonzero(np.isfinite(lower))
        self.rows = np.concatenate((capped, floored))
        self.signs = np.repeat([1.0, -1.0], [len(capped), len(floored)])
        self.bounds = np.concatenate((upper[capped], -lower[floored]))
        self.n_rows = len(lower)

    def values(self, values: np.ndarray) -> np.ndarray:
        """G from c, (n_rows,) -> (n_bounds,): positive where a bound is violated."""
        return self.signs * values[self.rows] - self.bounds

    def jacobian(self, jacobian: np.ndarray) -> np.ndarray:
        """Jacobian of G from that of c, (n_rows, n) -> (n_bounds, n)."""
        return self.signs[:, np.newaxis] * jacobian[self.rows]

    def multipliers(self, duals: np.ndarray) -> np.ndarray:
        """Multipliers of c from those of G, (n_bounds,) -> (n_rows,): the adjoint of `values`."""
        return np.bincount(self.rows, self.signs * duals, minlength=self.n_rows)
