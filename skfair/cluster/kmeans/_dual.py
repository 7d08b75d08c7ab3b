"""The cheapest fair assignment to fixed centres, by ascent of its dual."""

from functools import partial
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from skfair._kernels.fair_assignment import (
    compute_offsets,
    evaluate_dual,
    kkt_residual,
    newton_step,
)
from skfair._kernels.fair_duals import Multipliers
from skfair._kernels.limits import required_ratios

MAX_ITER, MIN_ITER = 50, 4
MAX_PAIRS = 2e7  # of groups or of clusters in one ascent, about: a second
SLACK = 1.5e-4  # share of all samples by which the dual may miss a count: moves repair it
ROUND_SLACK = 1e-3  # the same in rounds after which others follow
FIRST_RIDGE = 1.0  # relative to the mean of the Hessian's diagonal
MIN_RIDGE = 0.01
RIDGE_GROWTH = 10.0
MAX_TRIALS = 10  # of a step, each with more ridge
GOOD_GAIN, POOR_GAIN = 0.75, 0.25  # shares of the predicted gain from and up to which ...
RIDGE_FALL, RIDGE_RISE = 0.2, 3.0  # ... the ridge changes
MIN_GAIN = 1e-8  # relative gain of the dual below which the ascent stops
NEAR_TIES = 0.08  # share of the samples that the smoothing width should take in ...
NEAR_TIES_RANGE = (0.02, 0.32)  # ... and within which it may stay as it is
N_GAPS = 1000  # gaps from which the width is estimated, at least


class DualSolution(NamedTuple):
    """The result of a dual ascent, from which the next one may start."""

    multipliers: Multipliers
    offsets: np.ndarray  # (n_clusters, n_groups)
    value: float  # of the dual
    width: float  # smoothing width of the last Hessian
    ridge: float  # damping of the next step
    labels: np.ndarray | None = None  # (n_samples,) argmin of distance + offset
    gaps: np.ndarray | None = None  # (n_samples,) extra cost of the next cheapest cluster
    n_near: int = 0  # number of samples with a gap below the width
    extras: tuple = ()  # further sums over samples, of the last evaluation
    centers: np.ndarray | None = None  # (n_clusters, n_features) of partitioned data
    sample_offsets: np.ndarray | None = None  # (n_clusters, n_intersections)


def zero_solution(n_clusters, limits):
    """Multipliers of zero, to start `solve_dual` from."""
    n_rows, n_groups = limits.rows.shape
    return DualSolution(
        Multipliers(np.zeros((n_clusters, n_groups, n_groups)), np.zeros((n_clusters, n_rows))),
        offsets=np.zeros((n_clusters, n_groups)),
        value=-np.inf,
        width=0.0,
        ridge=FIRST_RIDGE,
    )


def fair_assignment(problem, centers, limits, dual=None, slack=0.75, share=SLACK):
    """Cheapest assignment to fixed centres within limits.

    Solves the dual of the assignment's linear programme, warm-started by an earlier solution. The
    labels round it, so that they may miss a limit by the few samples that sit on a tie. The value
    bounds from below the cost of every assignment to these centres that keeps the limits. No count
    misses its bound by more than ``slack`` samples, or a ``share`` of all.
    """
    # Without an earlier solution, start at multipliers of zero: nearest centres.
    if dual is None:
        dual = zero_solution(len(centers), limits)
    slack = max(slack * problem.largest_weight, share * problem.total_weight)
    return problem.solve_assignment(centers, limits, dual, slack, max_dual_iterations(dual, limits))


def max_dual_iterations(dual, limits):
    """Maximum number of steps of an ascent: fewer where very many groups make them expensive.

    What is short of the maximum then is repaired afterwards, and any multipliers bound the cost.
    """
    n_clusters, n_groups = dual.offsets.shape
    # Work of a step: pairs of groups in each cluster, and pairs of clusters of each intersection.
    per_step = n_clusters * (n_groups**2 + 20 * len(limits.intersections) * n_clusters)
    return int(min(max(MAX_PAIRS / per_step, MIN_ITER), MAX_ITER))


def solve_dual(rows, limits, start, slack, max_iter, evaluate=evaluate_dual):
    """Maximise the dual by damped Newton ascent from the solution ``start``.

    Stops once every active constraint holds within ``slack`` (a weight) or nothing is gained.
    ``evaluate`` is called as `evaluate_dual` for every block of the partitions ``rows``. Returns
    the solution and the partitions of its evaluations.
    """
    ratios = required_ratios(limits)
    evaluate_all = partial(_evaluate, partial(rows.map, evaluate), limits, ratios)
    # Warm start: multipliers, smoothing width and ridge of the last ascent.
    multipliers, width, ridge = start.multipliers, start.width, start.ridge
    now = evaluate_all(multipliers, width)
    for _ in range(max_iter):
        if kkt_residual(multipliers, now.counts, limits, ratios) <= slack:
            break
        # Hessian: samples near a tie, within a width that takes in a fair share of them.
        if not NEAR_TIES_RANGE[0] <= now.n_near / now.n_samples <= NEAR_TIES_RANGE[1]:
            width = _fit_width(now)
            now = evaluate_all(multipliers, width)
        # Ties lie on both sides of the border, over twice the width.
        density = (now.ties + now.ties.transpose(0, 2, 1)) * (0.5 / width)
        # Levenberg-Marquardt: more ridge until a step gains.
        damping = ridge
        for _ in range(MAX_TRIALS):
            stepped, predicted = newton_step(
                multipliers, now.counts, density, damping, limits, ratios
            )
            trial = evaluate_all(stepped, width)
            gain = trial.value - now.value
            if gain > 0.0:
                break
            damping *= RIDGE_GROWTH
        if not gain > 0.0:  # also where a gain is nan
            break
        # Trust the model more where it predicted the gain, less where it did not.
        if gain > GOOD_GAIN * predicted:
            damping = max(RIDGE_FALL * damping, MIN_RIDGE)
        elif gain < POOR_GAIN * predicted:
            damping *= RIDGE_RISE
        multipliers, ridge, now = stepped, damping, trial
        if gain <= MIN_GAIN * abs(now.value):
            break
    solution = DualSolution(
        multipliers,
        now.offsets,
        now.value,
        width,
        ridge,
        n_near=now.n_near,
        extras=now.extras,
        sample_offsets=now.sample_offsets,
    )
    return solution, now.evaluated


class _Evaluation(NamedTuple):
    """The dual and its derivatives at some multipliers, summed over all samples."""

    value: float
    counts: np.ndarray
    ties: np.ndarray
    n_near: int
    n_samples: int
    offsets: np.ndarray
    sample_offsets: np.ndarray
    extras: tuple
    evaluated: object  # partitions of the evaluations of blocks


def _evaluate(evaluate_blocks, limits, ratios, multipliers, width):
    """Evaluate the dual at multipliers: offsets, then a pass over the samples."""
    offsets, sample_offsets, value = compute_offsets(multipliers, limits, ratios)
    evaluated = evaluate_blocks(sample_offsets, width)
    totals = evaluated.reduce(attrgetter("totals"))
    costs, counts, ties, n_near, n_samples, extras = totals
    return _Evaluation(
        costs + value, counts, ties, n_near, n_samples, offsets, sample_offsets, extras, evaluated
    )


def _fit_width(now):
    """Width that takes in the wanted share of the gaps, estimated from a subset of them."""
    # The quantile of about a thousand gaps is precise enough for a width.
    stride = 1 + now.n_samples // N_GAPS
    gaps = np.sort(np.concatenate(now.evaluated.gather(_every_gap, stride)))
    wanted = gaps[int(np.ceil(NEAR_TIES * len(gaps))) - 1]
    return max(wanted * (1 + 1e-9), gaps[-1] * 2.0**-30, 1e-150)


def gather_labels(evaluated):
    """Labels and gaps of all samples."""
    labels, gaps = zip(*evaluated.gather(attrgetter("labels", "gaps")), strict=True)
    return np.concatenate(labels), np.concatenate(gaps)


def _every_gap(evaluation, stride):
    return evaluation.gaps[::stride].copy()
