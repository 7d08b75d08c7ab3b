"""The cheapest fair assignment to fixed centres, by ascent of its dual."""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skfair._kernels.candidates import (
    FIRST_RIDGE,
    NEAR_TIE_SHARE,
    RIDGE_GROWTH,
    adapt_ridge,
)
from skfair._kernels.fair_assignment import (
    Multipliers,
    compute_offsets,
    evaluate_dual,
    kkt_residual,
    take_newton_step,
)
from skfair._kernels.limits import required_ratios

if TYPE_CHECKING:
    from collections.abc import Callable

    from skfair._kernels.fair_assignment import DualEvaluation
    from skfair._kernels.limits import Limits
    from skfair._partitions.partitions import Partitions


COUNT_TOLERANCE = 1.5e-4  # share of all samples by which the dual may miss a count: moves repair it
NEAR_TIE_SHARE_RANGE = (0.02, 0.32)  # shares for which the smoothing width stays as it is


class DualSolution(NamedTuple):
    """The result of a dual ascent, from which the next one may start."""

    multipliers: Multipliers
    offsets: np.ndarray  # (n_clusters, n_groups)
    value: float  # of the dual
    width: float  # smoothing width of the last Hessian
    ridge: float  # damping of the next step
    labels: np.ndarray | None = None  # (n_samples,) argmin of distance + offset
    gaps: np.ndarray | None = None  # (n_samples,) extra cost of the next cheapest cluster
    n_near_ties: int = 0  # number of samples with a gap below the width
    extra_sums: tuple = ()  # further sums over samples, of the last evaluation
    centers: np.ndarray | None = None  # (n_clusters, n_features) of partitioned data
    intersection_offsets: np.ndarray | None = None  # (n_clusters, n_intersections)


def zero_solution(n_clusters: int, limits: Limits) -> DualSolution:
    """Multipliers of zero, to start `solve_dual` from."""
    n_rows, n_groups = limits.rows.shape
    return DualSolution(
        Multipliers(np.zeros((n_clusters, n_groups, n_groups)), np.zeros((n_clusters, n_rows))),
        offsets=np.zeros((n_clusters, n_groups)),
        value=-np.inf,
        width=0.0,
        ridge=FIRST_RIDGE,
    )


def solution_from_multipliers(multipliers: np.ndarray, limits: Limits) -> DualSolution:
    """A dual solution with the offsets of multipliers of sizes, to start another one from."""
    offsets = np.repeat(multipliers[:, np.newaxis], limits.n_groups, axis=1)
    offsets = offsets / limits.n_attributes
    return zero_solution(len(multipliers), limits)._replace(offsets=offsets)


def max_dual_iterations(dual: DualSolution, limits: Limits, n_samples: int) -> int:
    """Maximum number of steps of an ascent: fewer where very many groups make them expensive.

    What is short of the maximum then is repaired afterwards, and any multipliers bound the cost.
    """
    n_clusters, n_groups = dual.offsets.shape
    # Work of a step: pairs of groups in each cluster, and pairs of clusters with a tie.
    n_pairs = min(len(limits.intersections) * n_clusters**2, n_samples)
    per_step = n_clusters * n_groups**2 + 20 * n_pairs
    # An ascent over 20 million pairs takes about a second. Most problems are far below that, and
    # converge in fewer than 50 steps: the numbers decide only how soon a large one is repaired.
    return int(min(max(2e7 / per_step, 4), 50))


def solve_dual(
    rows: Partitions,
    limits: Limits,
    warm_dual: DualSolution,
    slack: float,
    evaluate: Callable = evaluate_dual,
    most: float = np.inf,
) -> tuple[DualSolution, Partitions]:
    """Maximise the dual by damped Newton ascent from the solution ``warm_dual``.

    Stops once every active constraint holds within ``slack`` (a weight), or nothing is gained, or
    the value is above ``most``.
    ``evaluate`` is called as `evaluate_dual` for every block of the partitions ``rows``. Returns
    the solution and the partitions of its evaluations.
    """
    ratios = required_ratios(limits)
    evaluate_all = partial(_evaluate_multipliers, partial(rows.map, evaluate), limits, ratios)

    def is_done(multipliers: Multipliers, now: _Evaluation) -> bool:
        return now.value > most or kkt_residual(multipliers, now.counts, limits, ratios) <= slack

    # Warm start: multipliers, smoothing width and ridge of the last ascent.
    first = warm_dual.multipliers, warm_dual.width, warm_dual.ridge
    now = evaluate_all(*first[:2])
    n_steps = max_dual_iterations(warm_dual, limits, now.n_samples)
    end = _ascend(evaluate_all, _Ascent(*first, now), limits, n_steps, is_done)
    now = end.now
    solution = DualSolution(
        end.multipliers,
        now.offsets,
        now.value,
        end.width,
        end.ridge,
        n_near_ties=now.n_near_ties,
        extra_sums=now.extra_sums,
        intersection_offsets=now.intersection_offsets,
    )
    return solution, now.block_evaluations


class _Ascent(NamedTuple):
    """Where an ascent stands."""

    multipliers: Multipliers
    width: float
    ridge: float
    now: _Evaluation


def _ascend(
    evaluate_all: Callable,
    ascent: _Ascent,
    limits: Limits,
    n_steps: int,
    is_done: Callable,
) -> _Ascent:
    """The end of damped Newton steps, each of which raises the value of the dual."""
    ratios = required_ratios(limits)
    multipliers, width, ridge, now = ascent
    for _ in range(n_steps):
        if is_done(multipliers, now):
            break
        # Hessian: samples near a tie, within a width that takes in a fair share of them.
        near_share = now.n_near_ties / now.n_samples
        if not NEAR_TIE_SHARE_RANGE[0] <= near_share <= NEAR_TIE_SHARE_RANGE[1]:
            width = _near_tie_width(now)
            now = evaluate_all(multipliers, width)
        # Ties lie on both sides of the border, over twice the width.
        density = (now.tie_weights + now.tie_weights.transpose(0, 2, 1)) * (0.5 / width)
        # Levenberg-Marquardt: more ridge until a step gains.
        damping = ridge
        for _ in range(10):
            stepped, predicted = take_newton_step(
                multipliers, now.counts, density, damping, limits, ratios
            )
            trial = evaluate_all(stepped, width)
            gain = trial.value - now.value
            if gain > 0.0:
                break
            damping *= RIDGE_GROWTH
        if not gain > 0.0:  # also where a gain is nan
            break
        multipliers = stepped
        ridge = adapt_ridge(damping, gain, predicted, least=0.01)
        now = trial
        # The relative gain has become too small.
        if gain <= 1e-8 * abs(now.value):
            break
    return _Ascent(multipliers, width, ridge, now)


class _Evaluation(NamedTuple):
    """The dual and its derivatives at some multipliers, summed over all samples."""

    value: float
    counts: np.ndarray
    tie_weights: np.ndarray
    n_near_ties: int
    n_samples: int
    offsets: np.ndarray
    intersection_offsets: np.ndarray
    extra_sums: tuple
    block_evaluations: Partitions  # partitions of the evaluations of blocks


def _evaluate_multipliers(
    evaluate_blocks: Callable,
    limits: Limits,
    ratios: np.ndarray,
    multipliers: Multipliers,
    width: float,
) -> _Evaluation:
    """Evaluate the dual at multipliers: offsets, then a pass over the samples."""
    offsets, sample_offsets, value = compute_offsets(multipliers, limits, ratios)
    evaluated = evaluate_blocks(sample_offsets, width)
    totals = evaluated.reduce(attrgetter("totals"), is_small=True)
    costs, counts, ties, n_near, n_samples, extras = totals
    return _Evaluation(
        costs + value, counts, ties, n_near, n_samples, offsets, sample_offsets, extras, evaluated
    )


def _near_tie_width(now: _Evaluation) -> float:
    """Width that takes in the wanted share of the gaps, estimated from a subset of them."""
    # The quantile of about a thousand gaps is precise enough for a width.
    stride = 1 + now.n_samples // 1000
    gaps = np.sort(np.concatenate(now.block_evaluations.gather(_subsample_gaps, stride)))
    wanted = gaps[int(np.ceil(NEAR_TIE_SHARE * len(gaps))) - 1]
    return max(wanted * (1 + 1e-9), gaps[-1] * 2.0**-30, 1e-150)


def gather_labels_and_gaps(evaluated: Partitions) -> tuple[np.ndarray, np.ndarray]:
    """Labels and gaps of all samples."""
    labels, gaps = zip(*evaluated.gather(attrgetter("labels", "gaps")), strict=True)
    return np.concatenate(labels), np.concatenate(gaps)


def _subsample_gaps(evaluation: DualEvaluation, stride: int) -> np.ndarray:
    return evaluation.gaps[::stride].copy()
