"""Several constraints at once."""

from dataclasses import replace
from functools import cached_property

import numpy as np
from sklearn.utils import check_random_state

from skfair.constraints._protocols import REPORT_COLUMNS
from skfair.constraints._rows import (
    block_diagonal,
    concatenate,
    no_rows,
    split,
    stack_values,
)


class ConstraintSystem(tuple):
    """Several constraints at once, each with its own tolerance: a tuple of them.

    Solvers call it: its rows are those of all constraints, one below the other. An empty one leaves
    the fit without constraint.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.constraints import ConstraintSystem
    >>> rows = ConstraintSystem(()).rows
    >>> rows(scores=np.zeros(3), aux=rows.initial_aux(np.zeros(3))).values.shape
    (0,)
    """

    @cached_property
    def components(self):
        """The rows of each constraint."""
        return tuple(one if callable(one) else one.rows for one in self)

    @cached_property
    def rows(self):
        """The rows that solvers see: those of the only constraint, or the system itself."""
        # A single constraint needs no stacking, whose products would be slower.
        return self.components[0] if len(self) == 1 else self

    # Rows, for solvers.

    @cached_property
    def lower(self):
        """Lower bounds of the rows, (n_rows,)."""
        return concatenate(one.lower for one in self.components)

    @cached_property
    def upper(self):
        """Upper bounds of the rows, (n_rows,)."""
        return concatenate(one.upper for one in self.components)

    @cached_property
    def n_aux(self):
        """Number of auxiliary unknowns."""
        return sum(one.n_aux for one in self.components)

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
        if not self:
            return no_rows(len(scores))
        pairs = zip(self.components, self.split_aux(aux), strict=True)
        return stack_values([one(scores, of_one) for one, of_one in pairs], len(scores))

    def constant_term(self, aux):
        """Value of the rows where all sums are 0 before the offsets, (n_rows,)."""
        pairs = zip(self.components, self.split_aux(aux), strict=True)
        return concatenate(one.constant_term(of_one) for one, of_one in pairs)

    def majorant(self, scores, aux):
        """Convex rows that are nowhere easier to keep, and equal to these at one point."""
        pairs = zip(self.components, self.split_aux(aux), strict=True)
        return ConstraintSystem([one.majorant(scores, of_one) for one, of_one in pairs])

    # Public metrics, for enforcement.

    @cached_property
    def statistics(self):
        """What the public metrics depend on: a set of "decisions", "ranks" and "values"."""
        return {one.statistic for one in self}

    @cached_property
    def adds_up(self):
        """Whether rows of partitions add up, and are all of means or all of ranks."""
        # Means are summed and ranks are counted in bins of scores: partitions do one or the other.
        kinds = {one.statistic == "ranks" for one in self}
        return len(kinds) <= 1 and all(one.adds_up for one in self)

    @cached_property
    def tolerances(self):
        """Largest gap allowed by each constraint, (n_constraints,)."""
        return np.array([one.tolerance for one in self])

    def gaps(self, scores):
        """Gap of each constraint by its public metric, (n_constraints,)."""
        return np.array([one.gap(scores) for one in self])

    def report(self, scores=None, moments=None):
        """The reports of all constraints, from scores or from moments, one below the other."""
        import pandas as pd

        if moments is None:
            reports = [one.report(scores) for one in self]
        else:
            pairs = zip(self, moments, strict=True)
            reports = [one.report(moments=sums) for one, sums in pairs]
        if not reports:
            return pd.DataFrame(columns=list(REPORT_COLUMNS))
        return pd.concat(reports, ignore_index=True) if len(reports) > 1 else reports[0]

    # The same constraints, each changed in the same way.

    def replace_tolerances(self, tolerances):
        """The same constraints with other tolerances, (n_constraints,)."""
        pairs = zip(self, tolerances, strict=True)
        return ConstraintSystem([replace(one, tolerance=float(value)) for one, value in pairs])

    def add_optimism(self, optimism):
        """The same constraints with rates as expected of new data; None adds nothing."""
        pairs = zip(self, optimism, strict=True)
        return ConstraintSystem(
            [one if of_one is None else replace(one, optimism=of_one) for one, of_one in pairs]
        )

    def correct(self, scores, step_size=1.0):
        """The same constraints, each offset moved by a step to the residual at the scores."""
        return ConstraintSystem([one.correct(scores, step_size) for one in self])

    def linearize_at(self, scores):
        """The same constraints with the rows that suit scores near the given ones."""
        return ConstraintSystem([one.linearize_at(scores) for one in self])

    def take(self, rows):
        """The same constraints on a subset of the samples."""
        return ConstraintSystem([one.take(rows) for one in self])

    def subset(self, rows, factors=1.0, target=None):
        """A partition's contribution to the constraints, as in `BoundConstraint.subset`."""
        return ConstraintSystem([one.subset(rows, factors, target) for one in self])


def draw_rows(rows, n_per_event, random_state=None, first=()):
    """Draw equally many samples from every event of rows: positions, and the rows on them.

    Samples are drawn by weight with replacement, so that means over the drawn events are unbiased
    estimates of those over all samples. The positions `first` come before them, in no event, as
    those of a loss.
    """
    random_state = check_random_state(random_state)
    # A single group has no rows, and nothing to draw for them.
    components = [one for one in getattr(rows, "components", (rows,)) if len(one.lower)]
    # Each constraint draws its own samples. Its block begins where that of the one before ends.
    draws = [one.events.draw(n_per_event, random_state) for one in components]
    positions = np.concatenate((np.array(first, dtype=np.intp), *draws))
    starts = len(first) + np.cumsum([0, *map(len, draws)])[:-1]
    drawn = [
        one.take_drawn(positions, start, n_per_event)
        for one, start in zip(components, starts.tolist(), strict=True)
    ]
    return positions, drawn[0] if len(drawn) == 1 else ConstraintSystem(drawn)
