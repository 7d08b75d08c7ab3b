"""A problem whose samples are in partitions: every evaluation is one pass over the data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from skfair._bound.ranks import PERCENTILE_TOLERANCE, replace_samples
from skfair._bound.rows import block_diagonal, differentiate_means, spread_over_samples
from skfair._groups import Groups, Samples
from skfair._groups.events import is_in_intervals
from skfair._groups.groups import count_table
from skfair._problems.evaluation import OnePassEvaluation
from skfair._problems.problem import ConstrainedProblem, Problem

if TYPE_CHECKING:
    from typing import Self

    from skfair._bound.bound import BoundConstraint
    from skfair._bound.gap import RangeGap
    from skfair._bound.ranks import RankSums
    from skfair._partitions.partitions import Function, Partitions
    from skfair._problems.evaluation import CompiledBlock, Derivatives
    from skfair._problems.linear import LinearModel
    from skfair._utils.api import RandomState


@dataclass(frozen=True, eq=False)
class PartitionedProblem(Problem):
    """A problem as the sum of problems, each with a block of the samples.

    It has no samples of its own: its model has no rows.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair._bound.bound import ConstraintSystem
    >>> from skfair.losses import SquaredLoss
    >>> from skfair._problems.linear import LinearModel
    >>> from skfair._partitions.partitions import blocks, make_partitions
    >>> from skfair._problems.problem import ConstrainedProblem
    >>> from skfair._problems.partitioned import PartitionedProblem
    >>> X, y, weights = np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0]), np.ones(2)
    >>> model = LinearModel.from_features(X, weights)
    >>> problem = ConstrainedProblem(model, SquaredLoss(), y, weights, 0.0, ConstraintSystem(()))
    >>> partitions = make_partitions([problem.contribution(rows) for rows in blocks(2, size=1)])
    >>> PartitionedProblem.from_problem(problem, partitions).evaluate(np.zeros(2)).grad
    array([-1.,  0.])
    """

    is_partitioned = True
    model: LinearModel
    loss: Any
    alpha: float
    constraint: Any
    partitions: Partitions
    subsample: ConstrainedProblem | None = None
    region: Any = None

    @classmethod
    def from_problem(
        cls,
        problem: ConstrainedProblem,
        partitions: Partitions,
        subsample: ConstrainedProblem | None = None,
    ) -> Self:
        """A problem's settings, with partitions in place of its samples."""
        return cls(
            model=problem.model.take(slice(0, 0)),
            loss=problem.loss,
            alpha=problem.alpha,
            constraint=problem.constraint,
            partitions=partitions,
            subsample=subsample,
        )

    def initial_point(
        self, parameters: np.ndarray | None = None, random_state: RandomState = None
    ) -> np.ndarray:
        """Parameters, followed by auxiliary unknowns at which the rows are smallest."""
        parameters = self.model.initial(random_state) if parameters is None else parameters
        if not self.rows.n_aux:
            return np.array(parameters)
        means = self.partitions.reduce(_smooth_means, parameters)
        pairs = zip(self.constraint, means, strict=True)
        unknowns = [one.rows.aux_at(of_one + one.offset) for one, of_one in pairs]
        return np.concatenate((parameters, *unknowns))

    def evaluate(
        self, x: np.ndarray, multipliers: np.ndarray | None = None, is_near: bool | None = None
    ) -> OnePassEvaluation:
        """The problem at x, from one pass when it is first used."""
        is_near = multipliers is not None if is_near is None else is_near
        multipliers = np.zeros(len(self.lower)) if multipliers is None else multipliers
        is_near = is_near and self.has_convexified_hessian
        return OnePassEvaluation(self, x, self.ridge, self._reduce_latest, multipliers, is_near)

    @cached_property
    def compiled(self) -> CompiledBlock | None:
        """Passes over blocks by kernels, a `CompiledBlock`; None where there are none."""
        none = np.empty(0)
        frame = ConstrainedProblem(
            model=self.model,
            loss=self.loss,
            target=none,
            weights=none,
            alpha=self.alpha,
            constraint=self.constraint,
        )
        return frame.compiled

    @property
    def has_convexified_hessian(self) -> bool:
        """Whether curvatures are convexified and exact ones differ, as those of ranks do."""
        return "ranks" in self.constraint.metric_inputs

    def _reduce_latest(self, x: np.ndarray, multipliers: np.ndarray, is_near: bool) -> Derivatives:
        """Sums over all samples, as `OnePassEvaluation` takes them."""
        # The latest ones are stored: a solver and its driver both evaluate the start.
        key = (x.tobytes(), multipliers.tobytes(), is_near)
        latest, sums = vars(self).get("_latest", (None, None))
        if latest != key:
            sums = self._reduce(x, multipliers, is_near)
            vars(self)["_latest"] = key, sums
        return sums

    @property
    def _gaps(self) -> list[RangeGap]:
        """The gap of each constraint, which blocks measure by their own."""
        return [one.gap for one in self.constraint]

    def _reduce(self, x: np.ndarray, multipliers: np.ndarray, is_near: bool) -> Derivatives:
        reduce, compiled = self.partitions.reduce, self.compiled
        if any(getattr(one.sums, "is_quotient", False) for one in self.constraint):
            return self._reduce_quotients(x, multipliers)
        sums = None
        if compiled is not None:
            sums = compiled.evaluate(x, multipliers, is_near, reduce)
        if sums is None:
            sums = reduce(_evaluate_block, x, multipliers, is_near, self._gaps)
        return sums

    def _reduce_quotients(self, x: np.ndarray, multipliers: np.ndarray) -> Derivatives:
        """As `_reduce`, where rows are no sums: one pass for the sums, and one for the rest."""
        p, reduce, system = self.n_parameters, self.partitions.reduce, self.constraint
        if not len(multipliers):
            return reduce(_evaluate_block, x, multipliers, False, self._gaps)
        # First pass: the sums of all constraints, from which the rows and their slopes follow.
        sums = reduce(_smooth_means, x[:p])
        sums = [of_one + one.offset for one, of_one in zip(system, sums, strict=True)]
        at = zip(system, sums, system.stacked_rows.split_aux(x[p:]), strict=True)
        rows = [one.rows.rows_at(of_one, aux) for one, of_one, aux in at]
        by_row = system.stacked_rows.split_by_constraint(multipliers)
        # Second pass: derivatives of the sums, and curvature weighted by them.
        weights = [slope.T @ v for (_, slope), v in zip(rows, by_row, strict=True)]
        objective, gradient, by_sum, gram = reduce(_contribute_derivatives, x[:p], weights)
        jacobian, hessian = np.zeros((len(multipliers), len(x))), np.zeros((len(x), len(x)))
        of_each = np.split(by_sum, np.cumsum([len(one) for one in weights])[:-1])
        pairs = zip(rows, of_each, strict=True)
        jacobian[:, :p] = np.concatenate([slope @ of_one for (_, slope), of_one in pairs])
        curvatures = [
            one.rows.sums_curvature(of_one, v)
            for one, of_one, v in zip(system, sums, by_row, strict=True)
        ]
        hessian[:p, :p] = gram + by_sum.T @ block_diagonal(curvatures) @ by_sum
        values = np.concatenate([values for values, _ in rows])
        return (
            objective,
            gradient,
            values - self.constraint.rows.constant_term(x[p:]),
            jacobian,
            hessian,
        )


def _contribute_derivatives(
    block: ConstrainedProblem, x: np.ndarray, weights: list[np.ndarray]
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Share of a block in objective, gradient, Jacobian of sums, and weighted Gram matrix."""
    evaluation = block.evaluate(x)
    p = block.n_parameters
    curvature = evaluation.loss_curvature
    by_sum = []
    for one, of_sums in zip(block.constraint, weights, strict=True):
        terms = [term(evaluation.scores, one.sums.target) for term in one.sums.smooth]
        slopes = differentiate_means(one.sums.events, [term.slope for term in terms])
        by_sum.append(evaluation.point.pull_back_rows(slopes))
        curvatures = [term.curvature for term in terms]
        curvature = curvature + spread_over_samples(one.sums.events, curvatures, of_sums)
    gram = evaluation.point.gram(curvature)
    return evaluation.fun, evaluation.grad[:p], np.concatenate(by_sum), gram


def _evaluate_block(
    block: ConstrainedProblem,
    x: np.ndarray,
    multipliers: np.ndarray,
    is_near: bool,
    gaps: list[RangeGap],
) -> Derivatives:
    """Share of a block in objective, rows, and their derivatives."""
    # Scores are computed once, for the objective, the rows and all derivatives.
    evaluation = block.evaluate(x)
    p = block.n_parameters
    if not len(multipliers):  # the plain problem, though blocks have the constraint
        no_rows = np.empty(0), np.empty((0, p))
        hessian = evaluation.point.gram(evaluation.loss_curvature)
        return evaluation.fun, evaluation.grad[:p], *no_rows, hessian
    # A criterion on ranks may have changed since the blocks were made.
    pairs = zip(block.constraint, gaps, strict=True)
    system = type(block.constraint)(replace(one, gap=gap) for one, gap in pairs)
    evaluation = evaluation.replace_constraint(system)
    rows, jacobian = evaluation.problem.rows, evaluation.jacobian
    # What does not depend on the samples is added once, after the sum.
    values = evaluation.values - rows.constant_term(x[p:])
    jacobian[:, p:] -= rows.aux_jacobian
    hessian = evaluation.hessian(multipliers, is_near)
    return evaluation.fun, evaluation.grad[:p], values, jacobian, hessian


def _smooth_means(block: ConstrainedProblem, parameters: np.ndarray) -> tuple[np.ndarray, ...]:
    """Share of a block in the smooth means, by constraint."""
    means = None if block.compiled is None else block.compiled.smooth_means(parameters)
    if means is not None:
        return means
    scores = block.model.evaluate(parameters).scores
    return tuple(one.sums.smooth_means(scores) for one in block.constraint)


# A partitioned problem that compares ranks: gaps follow from a few samples near thresholds.


class PartitionedRankProblem(PartitionedProblem):
    """A partitioned problem with the gaps of its constraints at the thresholds of all scores.

    Passes count bins of scores, and one more gathers the samples that determine the gap. These are
    few, and their gap is that of all samples.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair._bound.bound import ConstraintSystem
    >>> from skfair.constraints import PartialStatisticalParity
    >>> from skfair.losses import LogisticLoss
    >>> from skfair._problems.linear import LinearModel
    >>> from skfair._partitions.partitions import blocks, make_partitions
    >>> from skfair._groups import Samples, check_groups
    >>> from skfair._problems.problem import ConstrainedProblem
    >>> from skfair._problems.partitioned import PartitionedRankProblem
    >>> X, weights = np.arange(80.0)[:, np.newaxis], np.ones(80)
    >>> y, groups = np.where(X[:, 0] > 40, 1.0, -1.0), check_groups(X[:, 0] > 39, 80)
    >>> samples, loss = Samples(y, groups, weights), LogisticLoss()
    >>> parity = PartialStatisticalParity().bind(samples, None, loss, tolerance=0.1)
    >>> model = LinearModel.from_features(X, weights)
    >>> problem = ConstrainedProblem(model, loss, y, weights, 0.0, ConstraintSystem((parity,)))
    >>> partitions = make_partitions([problem.contribution(rows) for rows in blocks(80, size=50)])
    >>> problem = PartitionedRankProblem.from_problem(problem, partitions)
    >>> constraint, scores = problem.condense(0, np.array([1.0, 0.0]))
    >>> constraint.value(scores)
    1.0
    """

    def condense(self, number: int, parameters: np.ndarray) -> tuple[BoundConstraint, np.ndarray]:
        """A constraint on few samples, and their scores, with the gap of all samples."""
        key = number, parameters.tobytes()
        if key not in self._latest_condensed:
            self._latest_condensed.clear()
            count = partial(self.partitions.reduce, _count_scores, number, parameters)
            gather = partial(self.partitions.gather, _gather_samples, number, parameters)
            guess = (
                np.zeros(1) if self.subsample is None else self.subsample.predict_scores(parameters)
            )
            bound = self.constraint[number]
            self._latest_condensed[key] = condense(bound, guess, count, gather)
        return self._latest_condensed[key]

    @cached_property
    def _latest_condensed(self) -> dict[Any, tuple[BoundConstraint, np.ndarray]]:
        return {}  # the result of a fit is usually the model that was counted last

    def initial_point(
        self, parameters: np.ndarray | None = None, random_state: RandomState = None
    ) -> np.ndarray:
        """Parameters, followed by auxiliary unknowns at which the rows are smallest."""
        parameters = self.model.initial(random_state) if parameters is None else parameters
        condensed = self.condense_all(parameters)
        return np.concatenate(
            [parameters, *(one.rows.initial_aux(scores) for one, scores in condensed)]
        )

    def condense_all(self, parameters: np.ndarray) -> list[tuple[BoundConstraint, np.ndarray]]:
        """Each constraint on few samples, and their scores."""
        return [self.condense(number, parameters) for number in range(len(self.constraint))]


def _count_scores(
    block: ConstrainedProblem, number: int, parameters: np.ndarray, cuts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Share of a block in the bins of scores of one constraint's events."""
    return count_in_bins(block.constraint[number].sums, predict_block(block, parameters), cuts)


def _gather_samples(
    block: ConstrainedProblem,
    number: int,
    parameters: np.ndarray,
    cuts: np.ndarray,
    bins: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Samples of a block that are in one of the bins."""
    sums = block.constraint[number].sums
    return gather_from_bins(sums, predict_block(block, parameters), cuts, bins)


def predict_block(block: ConstrainedProblem, parameters: np.ndarray) -> np.ndarray:
    """Scores of a block as predictions will have them."""
    scores = None if block.compiled is None else block.compiled.predict_scores(parameters)
    return block.predict_scores(parameters) if scores is None else scores


# Criteria at all thresholds on partitioned data: scores counted in bins, few of them gathered.
#
# A gap at all thresholds on an interval of percentiles depends on few samples: those around the
# ends of the interval, and those where groups differ most. All others may be counted, bin by bin of
# their scores. Bins that may hold what the gap depends on are divided until few samples are in
# them, which are then gathered one by one: the public metric of counts and samples is that of the
# full data.


_MAX_GATHERED = 1 << 16
"""Samples that are gathered one by one."""

_N_BINS = 1 << 12
"""Bins that are counted at a time, and about as many more whenever some of them are divided."""


def condense(
    bound: BoundConstraint, scores: np.ndarray, count: Function, collect: Function
) -> tuple[BoundConstraint, np.ndarray]:
    """A constraint on few samples, and their scores, whose gap is that of the full data.

    The scores of a subsample give the first cuts. `count` maps cuts to the tables of
    `count_in_bins`, summed over all partitions; `collect` maps cuts and bins to a list with what
    `gather_from_bins` gives for each partition.
    """
    # Cuts between bins with about as many samples each, ascending.
    levels = np.linspace(0.0, 1.0, _N_BINS)
    cuts = np.unique(np.quantile(scores, levels, method="nearest"))
    while True:
        weights, scored, numbers = count(cuts)
        is_single = (numbers <= 1) | np.equal(*_ends(cuts))
        divisible = _relevant_bins(bound, weights, is_single)
        if numbers[divisible].sum() <= _MAX_GATHERED:
            break
        cuts = _divide_bins(cuts, divisible)
    # Each other bin stands for its events at its mean score, within its ends despite rounding.
    event, number = np.nonzero(weights * ~divisible)
    mean_scores = scored[number] / weights.sum(axis=0)[number]
    mean_scores = np.clip(mean_scores, *_ends(cuts)[:, number])
    pieces = [(mean_scores, event, weights[event, number])]
    if divisible.any():
        pieces += collect(cuts, divisible)
    scores, event_codes, weights = map(np.concatenate, zip(*pieces, strict=True))
    return _rebind_to_samples(bound, event_codes, weights), scores


def count_in_bins(
    sums: RankSums, scores: np.ndarray, cuts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights, weighted scores and numbers of the samples of a block in bins of scores.

    `cuts` ascend; a bin is above one of them and up to the next. The three tables, of shapes
    (n_events, n_bins), (n_bins,) and (n_bins,), add up over partitions.
    """
    from skfair._kernels.scores import bin_members

    positions, event_codes, _ = sums.events.memberships
    bins = bin_members(scores, positions, cuts)
    n_bins = len(cuts) + 1
    weights = sums.samples.weights[positions]
    table = count_table(event_codes, bins, weights, sums.events.n_events, n_bins)
    scored = np.bincount(bins, weights * scores[positions], n_bins)
    return table, scored, np.bincount(bins, minlength=n_bins)


def gather_from_bins(
    sums: RankSums, scores: np.ndarray, cuts: np.ndarray, wanted: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Score, event and weight of the samples of a block in the wanted bins."""
    from skfair._kernels.scores import bin_members

    positions, event_codes, _ = sums.events.memberships
    inside = wanted[bin_members(scores, positions, cuts)]
    positions = positions[inside]
    return scores[positions], event_codes[inside], sums.samples.weights[positions]


def _rebind_to_samples(
    bound: BoundConstraint, event_codes: np.ndarray, weights: np.ndarray
) -> BoundConstraint:
    """The constraint on other samples with given events and weights."""
    ranked = bound.sums
    names = np.arange(len(ranked.cells.labels)).astype(object)[:, np.newaxis]
    samples = Samples(np.ones(len(event_codes)), Groups(names, codes=event_codes), weights)
    # Events become groups of their own, each with the interval that is known for it.
    percentiles = [interval.pairs for interval in ranked.intervals]
    condensed = replace_samples(ranked, samples, percentiles, ranked.scores)
    return replace(bound, sums=condensed, uncompared=None)


def _relevant_bins(
    bound: BoundConstraint, weights: np.ndarray, is_single: np.ndarray
) -> np.ndarray:
    """Bins that may hold an end of an interval, or where groups differ most, (n_bins,).

    `weights`, (n_events, n_bins), are those of every event in bins of ascending scores; a single
    bin holds samples of one score alone, and needs no division.
    """
    # ranks count from the highest score
    weights = weights[:, ::-1]
    is_single = is_single[::-1]
    # Rank at every cut: the share of the event above it.
    up_to = np.pad(np.cumsum(weights, axis=1), ((0, 0), (1, 0)))
    ranks = up_to / up_to[:, -1:]
    pairs = [interval.pairs for interval in bound.sums.intervals]
    surely, perhaps = _interval_membership(ranks, pairs, is_single)
    if bound.gap.criterion.scale == "raw":
        # Shares of the whole group are known at every cut.
        has_end = np.zeros(len(is_single), dtype=bool)
        is_compared = perhaps.any(axis=0)
        low = high = ranks
        known = np.ptp(ranks, axis=0)[is_in_intervals(ranks, pairs).any(axis=0)]
    else:
        # Shares of the selected depend on how bins at the ends of the interval are divided.
        has_end = ((surely != perhaps) & (weights > 0)).any(axis=0)
        is_compared = np.ones(len(is_single), dtype=bool)
        low, high = _bound_shares_above(weights * surely, weights * perhaps)
        known = low.max(axis=0) - high.min(axis=0)
    # A bin matters if groups may differ in it by more than the difference known at some cut.
    possible = high[:, 1:].max(axis=0) - low[:, :-1].min(axis=0)
    is_largest = is_compared & (possible > known.max(initial=0.0))
    return (~is_single & (has_end | is_largest))[::-1]


def _interval_membership(
    ranks: np.ndarray, pairs: list[np.ndarray], is_single: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Whether all samples of every event and bin rank in its interval, and whether some may.

    The samples of a bin rank from what is above it on, and before what is up to it.
    """
    first, end = ranks[:, :-1], ranks[:, 1:]
    surely, perhaps = np.zeros((2, *first.shape), dtype=bool)
    for event, intervals in enumerate(pairs):
        for alpha, beta in intervals:
            beta = beta - PERCENTILE_TOLERANCE if beta < 1.0 else np.inf
            # Surely inside: the whole range of ranks is. Perhaps: it overlaps the interval.
            begun = first[event] >= alpha - PERCENTILE_TOLERANCE
            surely[event] |= begun & (end[event] <= beta)
            perhaps[event] |= (end[event] > alpha - PERCENTILE_TOLERANCE) & (first[event] < beta)
    # Equal scores share the rank of the first of them, and are selected all or none.
    of_one_rank = is_in_intervals(first, pairs)
    return np.where(is_single, of_one_rank, surely), np.where(is_single, of_one_rank, perhaps)


def _bound_shares_above(surely: np.ndarray, perhaps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Smallest and largest shares of the selected above every cut, two (n_events, n_bins + 1).

    The arguments are the weights of every event and bin that are surely, and perhaps, selected.
    """
    low, high = (np.pad(np.cumsum(one, axis=1), ((0, 0), (1, 0))) for one in (surely, perhaps))
    # The smallest share has no doubtful sample above the cut, and all of them below it.
    low_rest = low[:, -1:] - low
    high_rest = high[:, -1:] - high
    lowest = np.divide(low, low + high_rest, out=np.zeros_like(low), where=low + high_rest > 0)
    highest = np.divide(high, high + low_rest, out=np.ones_like(high), where=high + low_rest > 0)
    return lowest, highest


def _divide_bins(cuts: np.ndarray, divisible: np.ndarray) -> np.ndarray:
    """More cuts in the divisible bins, with as many floating-point numbers between any two."""
    # Divide by keys instead of numbers: scores may cluster in tiny ranges far from 0.
    low, high = _to_ordered_integers(_ends(cuts)[:, divisible])[:, :, np.newaxis] - [[[1]], [[0]]]
    n_pieces = max(2, _N_BINS // len(low))
    steps = np.maximum(1, high // n_pieces - low // n_pieces)  # their difference might overflow
    keys = np.minimum(low + steps * np.arange(1, n_pieces), high)
    return np.unique(np.append(cuts, _from_ordered_integers(keys.ravel())))


def _ends(cuts: np.ndarray) -> np.ndarray:
    """Smallest and largest number of every bin, which is above one cut and up to the next."""
    largest = np.finfo(np.float64).max
    return np.array((np.nextafter([-np.inf, *cuts], np.inf), [*cuts, largest]))


def _to_ordered_integers(numbers: np.ndarray) -> np.ndarray:
    """Integers in the order of numbers, such that neighbours differ by one."""
    # IEEE floats order as their bits do if positive, and in reverse if negative.
    bits = np.ascontiguousarray(numbers, dtype=np.float64).view(np.int64)
    return bits ^ ((bits >> 63) & np.iinfo(np.int64).max)


def _from_ordered_integers(keys: np.ndarray) -> np.ndarray:
    """The numbers with given keys."""
    return (keys ^ ((keys >> 63) & np.iinfo(np.int64).max)).view(np.float64)
