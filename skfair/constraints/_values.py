"""Rows of constraints at given scores, with their derivatives."""

import itertools
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse


class ScoreJacobian:
    """Derivative of the rows by the scores, as the product ``combine @ cells``.

    Parameters
    ----------
    combine : csr_array or ndarray of shape (n_rows, n_cells)
        How cells make up rows.
    cells : csr_array of shape (n_cells, n_samples)
        Derivative of each cell's mean by each score.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from skfair.constraints import ScoreJacobian
    >>> cells = sparse.csr_array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    >>> ScoreJacobian(combine=np.array([[1.0, -1.0]]), cells=cells).adjoint(np.ones(1))
    array([ 0.5,  0.5, -1. ])
    """

    def __init__(self, combine, cells):
        self.combine = combine
        self.cells = cells

    def adjoint(self, v):
        """One weight per sample from one per row.

        Parameters
        ----------
        v : ndarray of shape (n_rows,)
            Weight of each row.

        Returns
        -------
        weights : ndarray of shape (n_samples,)
        """
        return self.cells.T @ (self.combine.T @ v)


class EventJacobian(ScoreJacobian):
    """A `ScoreJacobian` whose cells are means of events; nothing sparse is made of them unasked.

    Parameters
    ----------
    combine : csr_array or ndarray of shape (n_rows, n_events)
        What the rows take of the means.
    events : Events
        Samples that each mean is taken over.
    slope : ndarray of shape (n_samples,)
        Derivative of the rate of each sample by its score.
    """

    def __init__(self, combine, events, slope):
        self.combine = combine
        self.events = events
        self.slope = slope

    @cached_property
    def cells(self):
        """Derivative of each mean by each score, a csr_array of shape (n_events, n_samples)."""
        averaging = self.events.averaging
        return sparse.csr_array(
            (averaging.data * self.slope[averaging.indices], averaging.indices, averaging.indptr),
            shape=averaging.shape,
        )

    def adjoint(self, v):
        """One weight per sample from one per row, (n_rows,) -> (n_samples,)."""
        return self.events.means_adjoint(self.combine.T @ v) * self.slope


class JointJacobian(ScoreJacobian):
    """The Jacobians of several constraints, one below the other.

    Parameters
    ----------
    parts : list of ScoreJacobian
        One per constraint.
    n_samples : int
        Number of scores.
    """

    def __init__(self, parts, n_samples):
        self.parts = parts
        self.n_samples = n_samples

    @cached_property
    def combine(self):
        """How cells make up rows, a csr_array of shape (n_rows, n_cells)."""
        blocks = [sparse.csr_array((0, 0)), *(part.combine for part in self.parts)]
        return sparse.csr_array(sparse.block_diag(blocks, format="csr"))

    @cached_property
    def cells(self):
        """Derivative of each cell's mean by each score, a csr_array of (n_cells, n_samples)."""
        blocks = [sparse.csr_array((0, self.n_samples)), *(part.cells for part in self.parts)]
        return sparse.csr_array(sparse.vstack(blocks, format="csr"))

    def adjoint(self, v):
        """One weight per sample from one per row, (n_rows,) -> (n_samples,)."""
        shares = zip(
            self.parts, split(v, [part.combine.shape[0] for part in self.parts]), strict=True
        )
        return sum((part.adjoint(own) for part, own in shares), np.zeros(self.n_samples))


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
        ``combine @ jacobian.cells`` of shape (n_aux, n_samples), and by two unknowns, (n_aux,
        n_aux). None if the rows are linear in the unknowns.
    exact : callable or None
        () -> ConstraintValues: the same rows with the second derivatives that they have, where
        `curvature` gives others that are safer to start with. None where it gives these.
    at_shift : callable or None
        shift -> (values, combine): the rows, and what they take of the cells, if the cells' means
        were moved by ``shift`` of shape (n_cells,). None if the rows are linear in the means;
        otherwise they are polyhedral, and smooth only between their kinks.

    See Also
    --------
    SmoothConstraint : What returns it, with an example.

    Examples
    --------
    >>> from skfair.constraints import ConstraintValues
    >>> ConstraintValues._fields
    ('values', 'jacobian', 'aux_jacobian', 'curvature', 'aux_curvature', 'exact', 'at_shift')
    """

    values: np.ndarray
    jacobian: ScoreJacobian
    aux_jacobian: np.ndarray
    curvature: Callable
    aux_curvature: Callable | None = None
    exact: Callable | None = None
    at_shift: Callable | None = None


def stacked(found, n_samples):
    """The rows of several constraints, one below the other.

    Parameters
    ----------
    found : list of ConstraintValues
        One per constraint; there may be none.
    n_samples : int
        Number of scores.

    Returns
    -------
    values : ConstraintValues
    """

    def shares(v):
        return zip(found, split(v, [len(one.values) for one in found]), strict=True)

    def curvature(v):
        return sum((one.curvature(own) for one, own in shares(v)), np.zeros(n_samples))

    def aux_curvature(v):
        combines, hessians = zip(*(_aux_curvature(one, own) for one, own in shares(v)), strict=True)
        return block_diagonal(combines), block_diagonal(hessians)

    def exact():
        return stacked([one.exact() if one.exact else one for one in found], n_samples)

    def at_shift(shift):
        shifts = split(shift, [one.jacobian.combine.shape[1] for one in found])
        rows = [_rows_at(one, own) for one, own in zip(found, shifts, strict=True)]
        return joined(values for values, _ in rows), block_diagonal([own for _, own in rows])

    is_linear = all(one.aux_curvature is None for one in found)
    return ConstraintValues(
        joined(one.values for one in found),
        JointJacobian([one.jacobian for one in found], n_samples),
        block_diagonal([one.aux_jacobian for one in found]),
        curvature,
        None if is_linear else aux_curvature,
        exact if any(one.exact for one in found) else None,
        at_shift if any(one.at_shift for one in found) else None,
    )


def _rows_at(found, shift):
    """Rows and their derivatives by the means of the cells, moved by a shift."""
    if found.at_shift is not None:
        return found.at_shift(shift)
    combine = found.jacobian.combine
    dense = combine.toarray() if sparse.issparse(combine) else combine
    return found.values + combine @ shift, dense


def _aux_curvature(found, v):
    if found.aux_curvature is not None:
        return found.aux_curvature(v)
    n_aux, n_cells = found.aux_jacobian.shape[1], found.jacobian.combine.shape[1]
    return np.zeros((n_aux, n_cells)), np.zeros((n_aux, n_aux))


def joined(vectors):
    """Vectors one after the other; there may be none."""
    return np.concatenate([np.empty(0), *vectors])


def block_diagonal(matrices):
    """Dense matrices along the diagonal of one; there may be none."""
    whole = np.zeros(np.sum([(0, 0), *(one.shape for one in matrices)], axis=0))
    row = column = 0
    for one in matrices:
        n_rows, n_columns = one.shape
        whole[row : row + n_rows, column : column + n_columns] = one
        row, column = row + n_rows, column + n_columns
    return whole


def split(vector, lengths):
    """The vectors of given lengths that make up one."""
    ends = np.cumsum([0, *lengths])
    return [vector[start:end] for start, end in itertools.pairwise(ends)]
