"""Rows that solvers see: values and derivatives at given scores and auxiliary unknowns."""

import itertools
from collections.abc import Callable
from copy import copy
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state


class ScoreJacobian:
    """Derivative of the rows by the scores, as the product ``combine @ cells``.

    `combine`, (n_rows, n_cells), says how cells make up rows; `cells`, a csr_array of shape
    (n_cells, n_samples), are the derivatives of the means of the cells by the scores.

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
        """One weight per sample from one per row, (n_rows,) -> (n_samples,)."""
        return self.cells.T @ (self.combine.T @ v)


class EventJacobian(ScoreJacobian):
    """A `ScoreJacobian` whose cells are means of events; sparse matrices are made lazily."""

    def __init__(self, combine, events, slope):
        self.combine = combine
        self.events = events
        self.slope = slope

    @cached_property
    def cells(self):
        """Derivative of each mean by each score, a csr_array of shape (n_events, n_samples)."""
        # Chain rule: the weight of each sample in its event's mean times the slope of its rate.
        averaging = self.events.averaging_matrix
        cells = copy(averaging)  # without the checks of a new one
        cells.data = averaging.data * self.slope[averaging.indices]
        return cells

    def adjoint(self, v):
        """One weight per sample from one per row, (n_rows,) -> (n_samples,)."""
        return self.events.means_adjoint(self.combine.T @ v) * self.slope


class StackedJacobian(ScoreJacobian):
    """The Jacobians of several constraints, one below the other."""

    def __init__(self, jacobians, n_samples):
        self.jacobians = jacobians
        self.n_samples = n_samples

    @cached_property
    def combine(self):
        """How cells make up rows, a csr_array of shape (n_rows, n_cells)."""
        blocks = [sparse.coo_array(one.combine) for one in self.jacobians]
        return sparse.csr_array(sparse.block_diag(blocks, format="csr"))

    @cached_property
    def cells(self):
        """Derivative of each cell's mean by each score, a csr_array of (n_cells, n_samples)."""
        return sparse.csr_array(sparse.vstack([one.cells for one in self.jacobians], format="csr"))

    def adjoint(self, v):
        """One weight per sample from one per row, (n_rows,) -> (n_samples,)."""
        blocks = split(v, [one.combine.shape[0] for one in self.jacobians])
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
        ``combine @ jacobian.cells`` of shape (n_aux, n_samples), and by two unknowns, (n_aux,
        n_aux). None if the rows are linear in the unknowns.
    exact : callable or None
        () -> ConstraintValues: the same rows with their exact second derivatives, where `curvature`
        is convexified. None where `curvature` is exact.
    rows_at_shift : callable or None
        shift -> (values, combine): the rows, and what they take of the cells, if the cells' means
        were moved by ``shift`` of shape (n_cells,). None if the rows are linear in the means;
        otherwise they are polyhedral, and smooth only between their breakpoints.
    """

    values: np.ndarray
    jacobian: ScoreJacobian
    aux_jacobian: np.ndarray
    curvature: Callable
    aux_curvature: Callable | None = None
    exact: Callable | None = None
    rows_at_shift: Callable | None = None


class MeanRows:
    """Rows of a polyhedron of event means, ``lower <= combine @ (m + offset) + aux @ a <= upper``.

    The offset corrects the smooth means m for their residual.
    """

    def __init__(self, means, polyhedron, offset):
        self.means, self.polyhedron, self.offset = means, polyhedron, offset
        self.lower, self.upper = polyhedron.lower, polyhedron.upper
        self.aux_jacobian, self.n_aux = polyhedron.aux, polyhedron.aux.shape[1]
        # Events from each of which samples are drawn.
        self.events, self.n_events = means.events, means.events.n_events

    def initial_aux(self, scores):
        """Auxiliary unknowns at which the rows hold if they can at these scores, (n_aux,)."""
        if not self.n_aux:
            return np.empty(0)
        return self.polyhedron.unknowns(self.means.evaluate(scores)[1] + self.offset)

    def __call__(self, scores, aux):
        """Rows and derivatives, as `ConstraintValues`."""
        # Chain rule: rows are polyhedral in means, means are linear in rates, rates smooth in
        # scores.
        (_, slope, curvature), means = self.means.evaluate(scores)
        means, polyhedron, spread = means + self.offset, self.polyhedron, self.events.means_adjoint
        values, combine = polyhedron.evaluate(means, aux)

        def rows_at_shift(shift):
            return polyhedron.evaluate(means + shift, aux)

        return ConstraintValues(
            values,
            EventJacobian(combine, self.events, slope),
            polyhedron.aux,
            lambda v: spread(combine.T @ v) * curvature,
            rows_at_shift=None if polyhedron.combine is not None else rows_at_shift,
        )

    def constant_term(self, aux):
        """Value of the rows where all means are 0 before the offset, (n_rows,)."""
        return self.polyhedron.evaluate(np.zeros(self.n_events) + self.offset, aux)[0]

    def exact_at(self, scores):
        """Rows as the metric counts them, at suitable unknowns, and their slope by the means."""
        means = self.means.exact_at(scores)
        return self.polyhedron.evaluate(means, self.polyhedron.unknowns(means))

    def residual(self, scores):
        """What the smooth means lack of the exact ones, an offset, (n_events,)."""
        return self.means.residual(scores)

    def correct(self, scores, step_size=1.0):
        """The same rows with an offset that is moved by a step to the residual at the scores."""
        # The offset that would make smooth means equal to exact ones is their residual.
        offset = self.offset + step_size * (self.residual(scores) - self.offset)
        return MeanRows(self.means, self.polyhedron, offset)

    def draw(self, n_per_event, random_state=None, first=()):
        """Draw equally many samples from every event, as `draw_rows`."""
        return draw_rows([self], n_per_event, random_state, first)

    def take_drawn(self, rows, start, n_per_event):
        """The rows on drawn samples, of which those from `start` on come from the events."""
        drawn = self.means.take_drawn(rows, start, n_per_event)
        return MeanRows(drawn, self.polyhedron, self.offset)


class NoRows:
    """The rows of no constraint, which need no stacking."""

    lower = upper = np.empty(0)
    n_aux = n_events = 0
    components = ()
    draws_majorant = True
    aux_jacobian = np.empty((0, 0))

    def initial_aux(self, scores):
        """No auxiliary unknowns, (0,)."""
        return np.empty(0)

    def __call__(self, scores, aux):
        """No rows, as `ConstraintValues`."""
        n_samples = len(scores)
        cells = sparse.csr_array((0, n_samples))
        jacobian = ScoreJacobian(sparse.csr_array((0, 0)), cells)
        return ConstraintValues(aux, jacobian, self.aux_jacobian, lambda v: np.zeros(n_samples))

    def constant_term(self, aux):
        """No values, (0,)."""
        return aux

    def correct(self, scores, step_size=1.0):
        """The same: there is nothing to correct."""
        return self

    def majorant(self, scores, aux):
        """The same: there is nothing to majorise."""
        return self

    def original_multipliers(self, multipliers):
        """No multipliers, (0,)."""
        return multipliers

    def draw(self, n_per_event, random_state=None, first=()):
        """The positions that come first, and no rows."""
        return np.array(first, dtype=np.intp), self


class StackedRows:
    """The rows of several constraints, one below the other."""

    def __init__(self, components):
        self.components = components

    @cached_property
    def lower(self):
        """Lower bounds, (n_rows,)."""
        return concatenate(one.lower for one in self.components)

    @cached_property
    def upper(self):
        """Upper bounds, (n_rows,)."""
        return concatenate(one.upper for one in self.components)

    @cached_property
    def n_aux(self):
        """Number of auxiliary unknowns."""
        return sum(one.n_aux for one in self.components)

    @property
    def n_events(self):
        """Number of events from which samples are drawn."""
        return sum(one.n_events for one in self.components)

    @property
    def aux_jacobian(self):
        """Derivative of the rows by the auxiliary unknowns, (n_rows, n_aux)."""
        return block_diagonal([one.aux_jacobian for one in self.components])

    def _pair_with_aux(self, aux):
        """Each component, and its auxiliary unknowns."""
        unknowns = split(aux, [one.n_aux for one in self.components])
        return zip(self.components, unknowns, strict=True)

    def initial_aux(self, scores):
        """Auxiliary unknowns at which the rows hold if they can at these scores, (n_aux,)."""
        return concatenate(one.initial_aux(scores) for one in self.components)

    def __call__(self, scores, aux):
        """Rows and derivatives, as `ConstraintValues`."""
        return _stack(
            [one(scores, unknowns) for one, unknowns in self._pair_with_aux(aux)], len(scores)
        )

    def constant_term(self, aux):
        """Value of the rows where all means are 0 before the offsets, (n_rows,)."""
        return concatenate(
            one.constant_term(unknowns) for one, unknowns in self._pair_with_aux(aux)
        )

    def correct(self, scores, step_size=1.0):
        """The same rows, each corrected at the scores."""
        return StackedRows(tuple(one.correct(scores, step_size) for one in self.components))

    def majorant(self, scores, aux):
        """Convex rows that are nowhere easier to keep, and equal to these at one point."""
        return StackedRows(
            tuple(one.majorant(scores, unknowns) for one, unknowns in self._pair_with_aux(aux))
        )

    def original_multipliers(self, multipliers):
        """Multipliers of the original rows from those of these rows, which majorise them."""
        blocks = split(multipliers, [len(one.lower) for one in self.components])
        pairs = zip(self.components, blocks, strict=True)
        return concatenate(one.original_multipliers(block) for one, block in pairs)

    def draw(self, n_per_event, random_state=None, first=()):
        """Draw equally many samples from every event of every component, as `draw_rows`."""
        return draw_rows(self.components, n_per_event, random_state, first)


def draw_rows(components, n_per_event, random_state=None, first=()):
    """Positions of drawn samples, equally many from every event, and the rows on them.

    Samples are drawn by weight with replacement, so that means over the drawn events are unbiased
    estimates of those over all samples. The positions `first` come before them, in no event, as
    those of a loss.
    """
    random_state = check_random_state(random_state)
    components = [one for one in components if one.n_events]
    # Each constraint draws its own samples. Its block begins where that of the one before ends.
    draws = [one.events.draw(n_per_event, random_state) for one in components]
    positions = np.concatenate((np.array(first, dtype=np.intp), *draws))
    starts = len(first) + np.cumsum([0, *map(len, draws)])[:-1]
    drawn = [
        one.take_drawn(positions, start, n_per_event)
        for one, start in zip(components, starts.tolist(), strict=True)
    ]
    return positions, drawn[0] if len(drawn) == 1 else StackedRows(tuple(drawn))


def _stack(values, n_samples):
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
        return _stack([one.exact() if one.exact else one for one in values], n_samples)

    def rows_at_shift(shift):
        # Each constraint has cells of its own, which move independently of the others.
        shifts = split(shift, [one.jacobian.combine.shape[1] for one in values])
        pairs = (_rows_at(one, move) for one, move in zip(values, shifts, strict=True))
        moved, combines = zip(*pairs, strict=True)
        return np.concatenate(moved), block_diagonal(combines)

    is_linear = all(one.aux_curvature is None for one in values)
    return ConstraintValues(
        concatenate(one.values for one in values),
        StackedJacobian([one.jacobian for one in values], n_samples),
        block_diagonal([one.aux_jacobian for one in values]),
        curvature,
        None if is_linear else aux_curvature,
        exact if any(one.exact for one in values) else None,
        rows_at_shift if any(one.rows_at_shift for one in values) else None,
    )


def _rows_at(values, shift):
    """Rows and their derivatives by the means of the cells, moved by a shift."""
    if values.rows_at_shift is not None:
        return values.rows_at_shift(shift)
    combine = values.jacobian.combine
    dense = combine.toarray() if sparse.issparse(combine) else combine
    return values.values + combine @ shift, dense


def _aux_curvature(values, v):
    """Second derivatives that involve auxiliary unknowns; 0 of rows that are linear in them."""
    if values.aux_curvature is not None:
        return values.aux_curvature(v)
    n_aux, n_cells = values.aux_jacobian.shape[1], values.jacobian.combine.shape[1]
    return np.zeros((n_aux, n_cells)), np.zeros((n_aux, n_aux))


def concatenate(vectors):
    """Vectors one after the other."""
    return np.concatenate(list(vectors))


def block_diagonal(matrices):
    """Dense matrices along the diagonal of one."""
    stacked = np.zeros(np.sum([one.shape for one in matrices], axis=0))
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
