"""Rows that means of events and auxiliary unknowns must keep."""

from typing import NamedTuple

import numpy as np
from scipy import sparse


class Rows(NamedTuple):
    """The polyhedron ``lower <= combine @ means + aux @ unknowns <= upper``.

    Attributes
    ----------
    combine : ndarray or csr_array of shape (n_rows, n_events)
        What the rows take of the means of events.
    aux : ndarray of shape (n_rows, n_aux)
        What they take of auxiliary unknowns, such as the free centre of several rates.
    lower, upper : ndarray of shape (n_rows,)
        Bounds; infinite where there is none.
    """

    combine: np.ndarray | sparse.csr_array
    aux: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def at(self, means, unknowns):
        """Values of the rows, (n_rows,), and what they take of the means there."""
        return self.combine @ means + self.aux @ unknowns, self.combine


class GapRow(NamedTuple):
    """The one row ``gap(means) <= upper``: kinked, without auxiliary unknowns.

    Attributes
    ----------
    aggregate : Range, Excess or Largest
        Whose gap it is.
    aux : ndarray of shape (1, 0)
        No unknowns.
    lower, upper : ndarray of shape (1,)
        Bounds; the lower one is infinite.
    """

    aggregate: object
    aux: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def at(self, means, unknowns):
        """The gap, (1,), and a subgradient of it by the means, as a row."""
        subgradient = self.aggregate.subgradient(means)[np.newaxis, :]
        return np.array([self.aggregate.gap(means)]), subgradient


class RowWriter:
    """Collects rows one by one."""

    def __init__(self):
        self._means, self._unknowns, self._bounds = [], [], []

    def add(self, lower, means, unknowns, upper):
        """Add ``lower <= sum(means) + sum(unknowns) <= upper``; both map a position to a factor."""
        self._means.append(means)
        self._unknowns.append(unknowns)
        self._bounds.append((lower, upper))

    def rows(self, n_events, n_aux):
        bounds = np.array(self._bounds, dtype=np.float64).reshape(-1, 2)
        aux = np.zeros((len(self._unknowns), n_aux))
        for row, unknowns in zip(aux, self._unknowns, strict=True):
            row[list(unknowns)] = list(unknowns.values())
        return Rows(_matrix(self._means, n_events), aux, bounds[:, 0], bounds[:, 1])


_FEW = 4096
"""Numbers up to which a matrix is dense: products with it are then much faster."""


def _matrix(rows, n_columns):
    """The matrix whose rows map a column to a factor; sparse if it is large."""
    columns = [column for row in rows for column in row]
    factors = [factor for row in rows for factor in row.values()]
    indptr = np.cumsum([0, *map(len, rows)])
    shape = (len(rows), n_columns)
    matrix = sparse.csr_array((factors, columns, indptr), shape=shape, dtype=np.float64)
    return matrix.toarray() if len(rows) * n_columns <= _FEW else matrix
