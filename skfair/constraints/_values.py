"""Values and derivatives of rows, at given scores and auxiliary unknowns."""

import itertools
from collections.abc import Callable
from copy import copy
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse


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
    >>> from skfair.constraints._values import ScoreJacobian
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
