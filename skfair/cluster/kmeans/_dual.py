"""The cheapest fair assignment to fixed centres, by ascent of its dual."""

from functools import partial
from typing import NamedTuple

import numpy as np

from skfair._kernels.fair_assignment import (
    compute_offsets,
    evaluate_dual,
    kkt_residual,
    newton_step,
)
from skfair._kernels.fair_duals import Multipliers, required_ratios

FIRST_RIDGE = 1.0  # relative to the mean of the Hessian's diagonal
LEAST_RIDGE = 0.01
RIDGE_GROWTH = 10.0
MAX_TRIALS = 10  # of a step, each with more ridge
FAITHFUL, UNFAITHFUL = 0.75, 0.25  # gains, as shares of what the step predicted ...
RIDGE_FALL, RIDGE_RISE = 0.2, 3.0  # ... from which on, and up to which, the ridge changes
LEAST_GAIN = 1e-8  # relative gain of the dual below which the ascent stops
NEAR_TIES = 0.08  # share of the samples that the smoothing width should take in ...
NEAR_TIES_RANGE = (0.02, 0.32)  # ... and within which it may stay as it is
N_GAPS = 1000  # so many tell the width


class DualSolution(NamedTuple):
    """What the dual ascent leaves behind."""

    prices: Multipliers
    offsets: np.ndarray  # (n_clusters, n_groups)
    value: float  # L(multipliers)
    width: float  # smoothing width of the last Hessian
    ridge: float  # damping of the next step
    labels: np.ndarray | None = None  # (n_samples,) argmin of distance + offset
    gaps: np.ndarray | None = None  # (n_samples,) how much more the next cheapest cluster costs
    n_near: int = 0  # number of samples with a gap below the width
    extras: tuple = ()  # what else the looks tell, of all samples together


def cold_start(n_clusters, n_groups):
    """Prices of zero, to start `solve_dual` from."""
    return DualSolution(
        prices=Multipliers(np.zeros((n_clusters, n_groups, n_groups)), np.zeros((n_clusters, 2))),
        offsets=np.zeros((n_clusters, n_groups)),
        value=-np.inf,
        width=0.0,
        ridge=FIRST_RIDGE,
    )


def solve_dual(measured, limits, start, slack, max_iter, look=evaluate_dual):
    """Maximise the dual by damped Newton ascent from the solution ``start``.

    Stops once every active constraint holds within ``slack`` (a weight) or nothing is gained.

    Parameters
    ----------
    measured : Parts
        Each of squared distances (n_clusters, n_samples), codes of kinds, and weights.
    limits : Limits
    start : DualSolution
    slack : float
    max_iter : int
    look : callable, default=evaluate_dual
        Asked of every part in place of the kernel's `evaluate_dual`, to tell more ``extras``.

    Returns
    -------
    solution : DualSolution
    looked : Parts
        Each a `DualEvaluation` at the prices of the solution.
    """
    ratios = required_ratios(limits)
    look_at_all = partial(_LookAtAll, partial(measured.each, look), limits, ratios)
    prices, width, ridge = start.prices, start.width, start.ridge
    now = look_at_all(prices, width)
    for _ in range(max_iter):
        if kkt_residual(prices, now.counts, limits, ratios) <= slack:
            break
        # The Hessian: samples near a tie, over a width that takes in a fair share of them.
        if not NEAR_TIES_RANGE[0] <= now.share_near <= NEAR_TIES_RANGE[1]:
            width = _fitting_width(now)
            now = look_at_all(prices, width)
        # Ties lie on both sides of the border, over twice the width.
        density = (now.ties + now.ties.transpose(0, 2, 1)) * (0.5 / width)
        damping = ridge
        for _ in range(MAX_TRIALS):
            stepped, predicted = newton_step(prices, now.counts, density, damping, limits, ratios)
            trial = look_at_all(stepped, width)
            gain = trial.value - now.value
            if gain > 0.0:
                break
            damping *= RIDGE_GROWTH
        if not gain > 0.0:  # also where a gain is nan
            break
        if gain > FAITHFUL * predicted:
            damping = max(RIDGE_FALL * damping, LEAST_RIDGE)
        elif gain < UNFAITHFUL * predicted:
            damping *= RIDGE_RISE
        prices, ridge, now = stepped, damping, trial
        if gain <= LEAST_GAIN * abs(now.value):
            break
    told = {"n_near": now.n_near, "extras": now.extras}
    return DualSolution(prices, now.offsets, now.value, width, ridge, **told), now.looked


class _LookAtAll:
    """What all samples together tell of prices."""

    def __init__(self, look_at_each, limits, ratios, prices, width):
        self.offsets, by_kind, value = compute_offsets(prices, limits, ratios)
        self.looked = look_at_each(by_kind, width)
        totals = self.looked.total(_totals)
        costs, self.counts, self.ties, self.n_near, self.n_samples, self.extras = totals
        self.value = costs + value
        self.share_near = self.n_near / self.n_samples


def _totals(look):
    return look.totals


def _fitting_width(now):
    """Width that takes in the wanted share of the gaps, judged by some of them."""
    stride = 1 + now.n_samples // N_GAPS
    gaps = np.sort(np.concatenate(now.looked.collect(_some_gaps, stride)))
    wanted = gaps[int(np.ceil(NEAR_TIES * len(gaps))) - 1]
    return max(wanted * (1 + 1e-9), gaps[-1] * 2.0**-30, 1e-150)


def _some_gaps(look, stride):
    return look.gaps[::stride].copy()


def places(looked):
    """Everybody's cheapest cluster, and the gap to the next."""
    labels, gaps = zip(*looked.collect(_places), strict=True)
    return np.concatenate(labels), np.concatenate(gaps)


def _places(look):
    return look.labels, look.gaps
