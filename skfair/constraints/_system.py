"""Several constraints at once."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from skfair.constraints._protocols import REPORT_COLUMNS
from skfair.constraints._rows import NoRows, StackedRows, split


@dataclass(frozen=True, eq=False)
class ConstraintSystem:
    """Several constraints at once, each with its own tolerance; iterate over it for each.

    Attributes
    ----------
    constraints : tuple of MetricConstraint
        The constraints; none of them leaves the fit without constraint.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.constraints import ConstraintSystem
    >>> rows = ConstraintSystem(()).rows
    >>> rows(scores=np.zeros(3), aux=rows.initial_aux(np.zeros(3))).values.shape
    (0,)
    """

    constraints: tuple

    def __iter__(self):
        return iter(self.constraints)

    def __len__(self):
        return len(self.constraints)

    @cached_property
    def rows(self):
        """The rows that solvers see: those of the only constraint, or stacked ones."""
        if not self.constraints:
            return NoRows()
        # A single constraint needs no stacking, whose products would be slower.
        rows = tuple(one.rows for one in self.constraints)
        return rows[0] if len(rows) == 1 else StackedRows(rows)

    @property
    def statistics(self):
        """What the public metrics depend on: a set of "decisions", "ranks" and "values"."""
        return {one.statistic for one in self.constraints}

    @property
    def adds_up(self):
        """Whether rows of partitions add up, and are all of means or all of ranks."""
        # Means are summed and ranks are counted in bins of scores: partitions do one or the other.
        kinds = {one.statistic == "ranks" for one in self.constraints}
        return len(kinds) <= 1 and all(one.adds_up for one in self.constraints)

    @property
    def tolerances(self):
        """Largest gap allowed by each constraint, (n_constraints,)."""
        return np.array([one.tolerance for one in self.constraints])

    def gaps(self, scores):
        """Gap of each constraint by its public metric, (n_constraints,)."""
        return np.array([one.gap(scores) for one in self.constraints])

    def map(self, change, *columns):
        """The system of ``change(constraint, *entries)``, with an entry of each column."""
        changed = map(change, self.constraints, *columns)
        return ConstraintSystem(tuple(changed))

    def replace_tolerances(self, tolerances):
        """The same constraints with other tolerances, (n_constraints,)."""
        return self.map(lambda one, tolerance: replace(one, tolerance=float(tolerance)), tolerances)

    def correct(self, scores, step_size=1.0):
        """The same constraints, each offset moved by a step to the residual at the scores."""
        return self.map(lambda one: one.correct(scores, step_size))

    def linearize_at(self, scores):
        """The same constraints with the rows that suit scores near the given ones."""
        return self.map(lambda one: one.linearize_at(scores))

    def split_by_constraint(self, v):
        """One vector for each constraint, from one with an entry per row."""
        return split(v, [len(one.rows.lower) for one in self.constraints])

    def report(self, scores=None, moments=None):
        """The reports of all constraints, from scores or from moments, one below the other."""
        import pandas as pd

        if moments is None:
            reports = [one.report(scores) for one in self.constraints]
        else:
            pairs = zip(self.constraints, moments, strict=True)
            reports = [one.report(moments=sums) for one, sums in pairs]
        if not reports:
            return pd.DataFrame(columns=list(REPORT_COLUMNS))
        return pd.concat(reports, ignore_index=True) if len(reports) > 1 else reports[0]

    def take(self, rows):
        """The same constraints on a subset of the samples."""
        return self.map(lambda one: one.take(rows))

    def subset(self, rows, factors=1.0, target=None):
        """A partition's contribution to the constraints, as in `BoundConstraint.subset`."""
        return self.map(lambda one: one.subset(rows, factors, target))
