"""Constraints bound to samples: `BoundConstraint`, and `ConstraintSystem` of several."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from skfair.constraints._gap import GapBase
from skfair.constraints._reports import REPORT_COLUMNS
from skfair.constraints._rows import StackedRows

# A constraint, bound to samples.


@dataclass(frozen=True, eq=False)
class BoundConstraint:
    """The constraint ``gap(sums) <= tolerance`` on the scores of samples.

    What `Constraint.bind` returns. Of rates it is a chain of maps::

        scores -> terms (n_samples,) -> sums (n_terms * n_events,) -> rates (n_events,) -> gap

    Solvers call its rows, of rates `RateRows`: ``lower <= rates_to_rows @ rates(s + offset) +
    aux_jacobian @ a <= upper``, with the sums s of the smooth terms and auxiliary unknowns a. The
    public metric is the gap of the exact terms. Constraints are changed by
    :func:`dataclasses.replace`.

    Attributes
    ----------
    sums : Sums or RankSums
        What is taken from the scores: of terms, or of criteria on ranks.
    gap : GapBase
        How that becomes one gap: a `Gap` of rates, or the `IntervalGap` of a criterion on ranks.
    tolerance : float
        Largest gap allowed; of a ratio 1 minus the smallest one.
    offset : ndarray or 0.0
        Added to the smooth sums, (n_sums,), or to rows of ranks, (n_rows,); it corrects them for
        their residual.
    one_row : bool
        Whether a gap of rates is bounded by one piecewise linear row instead of several linear
        ones.
    uncompared : Sums, RankSums or None
        The sums of groups that are too small to be compared, for the report alone.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.constraints import DemographicParity
    >>> from skfair.groups import Samples, check_groups
    >>> from skfair.losses import LogisticLoss
    >>> from skfair.surrogates import Sigmoid
    >>> samples = Samples(np.array([1.0, -1.0]), check_groups(["a", "b"], 2), np.ones(2))
    >>> parity = DemographicParity().bind(samples, Sigmoid(), LogisticLoss(), tolerance=0.1)
    >>> parity.value(np.array([2.0, -1.0]))
    1.0
    """

    sums: Any
    gap: GapBase
    tolerance: float
    offset: np.ndarray | float = 0.0
    one_row: bool = False
    uncompared: Any = None

    @property
    def name(self):
        """Name in messages and reports."""
        return self.sums.name

    @cached_property
    def rows(self):
        """The rows that solvers see."""
        return self.sums.make_rows(self)

    def value(self, scores):
        """The gap by the public metric; nan where it is unknown."""
        return float(self.gap(self.sums.measure(scores)))

    def estimates(self, scores):
        """Estimates of what is compared in the population, and forms whose largest is the gap.

        The scores do not depend on these samples.
        """
        return self.sums.estimates(self.gap, scores)

    def move_offset(self, residual, step_size=1.0):
        """The same constraint, its offset moved by a step to a residual, (n_sums,)."""
        return replace(self, offset=self.offset + step_size * (residual - self.offset))

    def linearize_at(self, scores):
        """The same constraint with the rows that suit scores near the given ones."""
        if self.sums.metric_input != "ranks":
            return self
        sums = self.sums.linearize_at(scores)
        uncompared = self.uncompared and self.uncompared.linearize_at(scores)
        return replace(self, sums=sums, offset=0.0, uncompared=uncompared)

    def take(self, rows):
        """The same constraint on a subset of the samples, which may repeat.

        A ValueError where the subset is too small.
        """
        return replace(self, sums=self.sums.take(rows), uncompared=None)

    def contribution(self, rows, factors=1.0, target=None):
        """The contribution of a block of samples; sums without offset add up."""
        # The offset is added once, to the sums of all samples, so a partition has none.
        sums = self.sums.contribution(rows, factors, target)
        uncompared = self.uncompared and self.uncompared.contribution(rows, factors, target)
        return replace(self, sums=sums, offset=0.0, uncompared=uncompared)


def reported_gap(bound, scores):
    """The gap as reports state it: nan for a ratio of rates that are all 0, which is 0 / 0."""
    is_known = not bound.gap.is_ratio or bound.sums.measure(scores).any()
    return bound.value(scores) if is_known else np.nan


def make_posterior(constraint, scores, clusters=None):
    """Posterior of the population's gap; a ValueError for a metric that is none of means.

    It has ``probability(factor=1.0, multiple=1.0)``: the probability that the population's gap is
    at most the tolerance, if the measured gap were multiplied by the one and the sample size by the
    other. Out-of-fold scores leave it unbiased. Samples of equal cluster code belong together.
    """
    return constraint.sums.posterior(constraint.gap, constraint.tolerance, scores, clusters)


# Several constraints at once.


class ConstraintSystem(tuple):
    """Several constraints at once, each with its own tolerance: a tuple of them.

    Solvers see the rows of all constraints, one below the other. An empty one leaves the fit
    without constraint.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.constraints._bound import ConstraintSystem
    >>> rows = ConstraintSystem(()).rows
    >>> rows(scores=np.zeros(3), aux=rows.initial_aux(np.zeros(3))).values.shape
    (0,)
    """

    @cached_property
    def stacked_rows(self):
        """The rows of all constraints, as `StackedRows`."""
        return StackedRows(one.rows for one in self)

    @cached_property
    def rows(self):
        """The rows that solvers see: those of the only constraint, or of all."""
        # A single constraint needs no stacking, whose products would be slower.
        return self[0].rows if len(self) == 1 else self.stacked_rows

    @cached_property
    def metric_inputs(self):
        """What the public metrics depend on: a set of "decisions", "ranks" and "values"."""
        return {one.sums.metric_input for one in self}

    @cached_property
    def is_on_ranks_alone(self):
        """Whether the public metrics depend on ranks alone, not on the scale or sign of scores."""
        return self.metric_inputs == {"ranks"} and not any(one.gap.is_correctable for one in self)

    @cached_property
    def adds_up(self):
        """Whether rows of partitions add up, and are all of means or all of ranks."""
        # Means are summed and ranks are counted in bins of scores: partitions do one or the other.
        kinds = {one.sums.metric_input == "ranks" for one in self}
        return len(kinds) <= 1 and all(one.gap.adds_up and not one.one_row for one in self)

    @cached_property
    def tolerances(self):
        """Largest gap allowed by each constraint, (n_constraints,)."""
        return np.array([one.tolerance for one in self])

    @cached_property
    def units(self):
        """One unit of each gap and tolerance in the user's, (n_constraints,)."""
        return np.array([1.0 if one.gap.is_ratio else one.sums.unit.spread for one in self])

    @cached_property
    def row_units(self):
        """One unit of each row in the user's, (n_rows,)."""
        return np.repeat(self.units, [len(one.rows.lower) for one in self])

    def gaps(self, scores):
        """Gap of each constraint by its public metric, (n_constraints,)."""
        return np.array([one.value(scores) for one in self])

    def report_columns(self, scores=None, moments=None):
        """Columns of the report by name, from scores or from moments, constraint by constraint.

        They are in the user's units.
        """
        sums = [None] * len(self) if moments is None else moments
        # Intervals of ranks in whole groups depend on the scores.
        pairs = zip(self if scores is None else self.linearize_at(scores), sums, strict=True)
        reports = [one.sums.report_columns(one, scores, of_one) for one, of_one in pairs]
        if len(reports) == 1:
            return reports[0]
        return {
            name: [value for report in reports for value in report[name]] for name in REPORT_COLUMNS
        }

    # The same constraints, each changed in the same way.

    def replace_tolerances(self, tolerances):
        """The same constraints with other tolerances, (n_constraints,)."""
        pairs = zip(self, tolerances, strict=True)
        return ConstraintSystem([replace(one, tolerance=float(value)) for one, value in pairs])

    def correct(self, scores, step_size=1.0):
        """The same constraints, each offset moved by a step to the residual at the scores."""
        return ConstraintSystem(
            [one.move_offset(one.rows.residual(scores), step_size) for one in self]
        )

    def linearize_at(self, scores):
        """The same constraints with the rows that suit scores near the given ones."""
        return ConstraintSystem([one.linearize_at(scores) for one in self])

    def take(self, rows):
        """The same constraints on a subset of the samples."""
        return ConstraintSystem([one.take(rows) for one in self])

    def contribution(self, rows, factors=1.0, target=None):
        """The contribution of a block of samples to the constraints, as of each of them."""
        return ConstraintSystem([one.contribution(rows, factors, target) for one in self])


def draw_batch(rows, n_per_event, random_state=None, first=()):
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
        one.take_batch(positions, start, n_per_event)
        for one, start in zip(components, starts.tolist(), strict=True)
    ]
    return positions, drawn[0] if len(drawn) == 1 else StackedRows(drawn)
