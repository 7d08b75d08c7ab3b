"""Convex majorants of rows that are differences of convex functions."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Majorant(ABC):
    """Rows whose concave parts are replaced by their tangents at one point.

    Each original row becomes two: one for its upper and one for its lower bound. Original rows come
    in blocks of equal length; of each block the rows of all upper bounds come first.
    """

    original: Any
    scores: np.ndarray
    aux: np.ndarray

    n_blocks = 1

    @property
    def n_aux(self):
        """Number of auxiliary unknowns."""
        return self.original.n_aux

    @property
    def lower(self):
        """Lower bounds of the rows, (n_rows,)."""
        lower = self.original.lower
        return self._interleave(np.full_like(lower, -np.inf), lower)

    @property
    def upper(self):
        """Upper bounds of the rows, (n_rows,)."""
        # In each block the rows of the upper bounds come first, then those of the lower ones.
        upper = self.original.upper
        return self._interleave(upper, np.full_like(upper, np.inf))

    def _interleave(self, of_upper, of_lower):
        """Rows of the upper and of the lower bounds, block by block."""
        rows = of_upper.reshape(self.n_blocks, -1), of_lower.reshape(self.n_blocks, -1)
        return np.concatenate(rows, axis=1).reshape(2 * of_upper.shape[0], *of_upper.shape[1:])

    def initial_aux(self, scores):
        """Auxiliary unknowns of the point, (n_aux,)."""
        return self.aux

    def original_multipliers(self, multipliers):
        """Multipliers of the original rows from those of these rows, which majorise them."""
        # Multipliers of upper bounds are positive, those of lower bounds negative.
        return multipliers.reshape(self.n_blocks, 2, -1).sum(axis=1).ravel()

    @abstractmethod
    def __call__(self, scores, aux):
        """Rows and their derivatives, as `ConstraintValues`."""
