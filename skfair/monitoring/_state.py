"""State of a monitor: the evidence of the batches so far, and what it says of the tolerance."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from skfair._statistics.exact import constrained_rate
from skfair._statistics.limits_of_rates import combine_margins
from skfair._utils.checks import join_names, warn
from skfair.audit._tables import group_text
from skfair.constraints._held_out import compares_both_decisions
from skfair.monitoring._batches import (
    MIN_BLOCK,
    OutstandingSamples,
    attribute_codes,
    check_label_types,
    count_by_group,
    describe_time,
    draw_blocks,
    evaluate_cohort,
    make_generator_from_key,
    refuse_many_decimals,
    restore_time,
    sort_samples,
    to_target,
    unscale_mean,
    warn_of_one_decision,
)
from skfair.monitoring._recent import (
    add_tables,
    exclude_gap,
    find_compared,
    group_by_decision,
    judge_windows,
    list_counted,
    pool_tables,
)
from skfair.monitoring._verdicts import VERDICTS, find_state

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skfair._groups.groups import Groups
    from skfair._statistics.gaps import Verdict
    from skfair._utils.api import GroupName
    from skfair.monitoring._batches import Cohort, MonitorSettings
    from skfair.monitoring._recent import Decisions


# Null hypotheses on the means of groups: their projections, and e-values of batches of counts.
#
# All functions broadcast over leading axes. The last axis of `x` (sums), `n` (counts) and `q`
# (predicted means) are the groups; values of samples are in [0, 1].


_EDGE_DISTANCE = 1e-12
"""Distance of projected means from 0 and 1."""


_SHRINKAGE = 20.0
"""Samples of the hypothesis that are added to each group in predictions."""


def plug_in_means(x: np.ndarray, n: np.ndarray, level: np.ndarray | float = 0.0) -> np.ndarray:
    """Predicted means from past sums and counts, never 0 or 1.

    Krichevsky and Trofimov's (x + 1/2) / (n + 1), with some samples more whose mean is at most half
    the level from that of all groups, so that few samples of a group do not look like a larger gap.
    """
    overall = (x.sum(axis=-1, keepdims=True) + 0.5) / (n.sum(axis=-1, keepdims=True) + 1.0)
    half = np.asarray(level, dtype=np.float64)[..., np.newaxis] / 2.0
    nearest = np.clip((x + 0.5) / (n + 1.0), overall - half, overall + half)
    return (x + 0.5 + _SHRINKAGE * nearest) / (n + 1.0 + _SHRINKAGE)


def log_likelihood_ratio(x: np.ndarray, n: np.ndarray, q: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Logarithm of the likelihood ratio of means q and p, sample by group: the bet's return.

    For values between 0 and 1, q^y (1 - q)^(1 - y) / (p^y (1 - p)^(1 - y)) is convex in y, so its
    expectation at mean m is at most that of a rate m, m q / p + (1 - m) (1 - q) / (1 - p).
    """
    return x * np.log(q / p) + (n - x) * np.log((1.0 - q) / (1.0 - p))


class DifferenceHypotheses:
    """Hypotheses on the differences of the means of groups, which are compared in pairs."""

    compares_group_pairs = True
    """Whether levels are of differences of means, and not of means themselves."""
    are_ratios = False
    """Whether levels are 1 minus ratios of means, which have no unit."""

    def pairs(self, n_groups: int) -> np.ndarray:
        """Mask of the ordered pairs whose difference, the first less the second, is bounded."""
        return ~np.eye(n_groups, dtype=bool)

    def _differences(self, means: np.ndarray) -> np.ndarray:
        """Differences of the pairs."""
        return np.where(self.pairs(len(means)), np.subtract.outer(means, means), -np.inf)

    def tested_value(self, means: np.ndarray) -> float:
        """Largest difference of these means, 0 of fewer than two."""
        return float(self._differences(means).max(initial=0.0))

    def count_contrasts(self, n_groups: int) -> int:
        """Number of ordered pairs."""
        return int(self.pairs(n_groups).sum())

    def count_on_edge(self, n_groups: int, tolerance: float) -> int:
        """Largest number of ordered pairs that can differ by just the tolerance."""
        return n_groups**2 // 4 if tolerance > 0 else self.count_contrasts(n_groups)

    def lower_limit(self, means: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
        """Lower limit of the largest difference, from limits of the means."""
        margins = combine_margins((means - low)[:, np.newaxis], high - means)
        return float((self._differences(means) - margins).max(initial=0.0))

    def upper_limit(self, means: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
        """Upper limit of the largest difference, from limits of the means."""
        margins = combine_margins((high - means)[:, np.newaxis], means - low)
        return float((self._differences(means) + margins).max(initial=0.0))

    def find_extremes(self, means: np.ndarray) -> tuple[int, int]:
        """Positions of the smaller and the larger mean of the pair that differs most."""
        return divmod(int(self._differences(means).argmax()), len(means))[::-1]

    def project_means(self, q: np.ndarray, n: np.ndarray, level: np.ndarray | float) -> np.ndarray:
        """Means nearest to q whose largest difference is at most the level: clip(q, c, c + level).

        The upper end of the largest ratio is another line of c, as `_upper_end` says. The lower end
        c is where the derivative of sum_g n_g KL(q_g || p_g) vanishes.
        """
        levels = np.asarray(level, dtype=np.float64)[..., np.newaxis]
        q, n, levels = np.broadcast_arrays(q, n, levels)
        low = np.min(q, axis=-1, initial=1.0, where=n > 0)
        largest = np.max(q, axis=-1, initial=0.0, where=n > 0)
        high = self._lower_end(largest, levels[..., 0])

        def clip(c: np.ndarray) -> np.ndarray:
            return np.clip(q, c, self._upper_end(c, levels))

        projected = np.array(q)
        active = high > low
        if not active.any():
            return projected
        q = q[active]
        n = n[active]
        levels = levels[active]
        low = low[active, np.newaxis]
        high = high[active, np.newaxis]
        c = (low + high) / 2.0
        # About five Newton steps are enough.
        for _ in range(50):
            # Newton step on the derivative, to the middle if it leaves the bracket.
            p = clip(c)
            scale = p * (1.0 - p) / np.where(p < q, self._end_slope(levels), 1.0)
            slope = (n * (p - q) / scale).sum(axis=-1, keepdims=True)
            curvature = n * (p * p - 2.0 * p * q + q) / (scale * scale)
            curvature = np.where(p == q, 0.0, curvature).sum(axis=-1, keepdims=True)
            step = slope / np.where(curvature > 0, curvature, 1.0)
            low, high = np.where(slope > 0, low, c), np.where(slope > 0, c, high)
            last = c
            c = c - step
            c = np.where((c >= low) & (c <= high), c, (low + high) / 2.0)
            # The length of the last step.
            if np.abs(c - last).max() < 1e-9:
                break
        projected[active] = clip(c)
        return projected

    @staticmethod
    def _upper_end(lower: np.ndarray, level: np.ndarray) -> np.ndarray:
        """The largest mean that the level allows beside the smallest."""
        return lower + level

    @staticmethod
    def _lower_end(upper: np.ndarray, level: np.ndarray) -> np.ndarray:
        """The smallest mean that the level allows beside the largest."""
        return upper - level

    @staticmethod
    def _end_slope(level: np.ndarray) -> np.ndarray:
        """Derivative of the upper end by the lower one."""
        return np.ones_like(level)

    @staticmethod
    def _fit_boundary_means(
        x1: np.ndarray, n1: np.ndarray, x2: np.ndarray, n2: np.ndarray, level: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Means of two groups that just differ by the level, of the largest likelihood."""
        second = constrained_rate(x1, n1, x2, n2, level)
        return second + level, second

    def log_e_contrasts(self, x, n, q, levels, is_open):
        """Evidence of a batch against p_i - p_j >= level, (..., n_groups, n_groups, n_levels).

        Of ratios it is against p_j <= (1 - level) p_i.

        Only contrasts and levels of the mask `is_open`, of this shape, bet.
        """
        first = (..., slice(None), np.newaxis, np.newaxis)
        second = (..., np.newaxis, slice(None))
        second = (*second, np.newaxis)
        # No bet where the prediction is within the hypothesis, or the batch has no such sample.
        is_within = self._lower_end(q[first], levels) < q[second]
        is_bet = is_open & is_within & (n[first] + n[second] > 0)
        *streams, i, j, level = np.nonzero(is_bet)
        first = (*streams, i)
        second = (*streams, j)
        eps = levels[level]
        columns = np.broadcast_arrays(x, n, q)
        (x1, n1, q1), (x2, n2, q2) = ([one[group] for one in columns] for group in (first, second))
        means = self._fit_boundary_means(q1 * n1, n1, q2 * n2, n2, eps)
        p1, p2 = (np.clip(p, _EDGE_DISTANCE, 1.0 - _EDGE_DISTANCE) for p in means)
        log_e = np.zeros(is_bet.shape)
        log_e[is_bet] = log_likelihood_ratio(x1, n1, q1, p1) + log_likelihood_ratio(x2, n2, q2, p2)
        return log_e


class RatioHypotheses(DifferenceHypotheses):
    """Hypotheses on 1 minus the ratio of the means of two groups: p_j >= (1 - level) p_i.

    Like those on differences they are convex, so that bets are against the nearest means.
    """

    are_ratios = True

    def _differences(self, means: np.ndarray) -> np.ndarray:
        """1 minus the ratio of the second mean to the first, of the pairs; 0 of a mean of 0."""
        differences = super()._differences(means)
        first = np.broadcast_to(means[:, np.newaxis], differences.shape)
        return np.divide(differences, first, out=np.zeros_like(differences), where=first > 0.0)

    def lower_limit(self, means: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
        """Lower limit of 1 minus the smallest ratio, from limits of the means."""
        return self._limit(means, low, high, 1.0)

    def upper_limit(self, means: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
        """Upper limit of 1 minus the smallest ratio, from limits of the means."""
        return self._limit(means, high, low, -1.0)

    def _limit(
        self, means: np.ndarray, of_first: np.ndarray, of_second: np.ndarray, sign: float
    ) -> float:
        """Limit from those of both means of a pair: margins of logarithms are combined."""
        logs, first, second = (
            np.log(np.maximum(one, _EDGE_DISTANCE)) for one in (means, of_first, of_second)
        )
        margins = combine_margins((first - logs)[:, np.newaxis], second - logs)
        ratios = np.exp(logs - logs[:, np.newaxis] + sign * margins)
        return float(np.where(self.pairs(len(means)), 1.0 - ratios, 0.0).max(initial=0.0))

    @staticmethod
    def _upper_end(lower: np.ndarray, level: np.ndarray) -> np.ndarray:
        return lower / (1.0 - level)

    @staticmethod
    def _lower_end(upper: np.ndarray, level: np.ndarray) -> np.ndarray:
        return upper * (1.0 - level)

    @staticmethod
    def _end_slope(level: np.ndarray) -> np.ndarray:
        return 1.0 / (1.0 - level)

    @staticmethod
    def _fit_boundary_means(
        x1: np.ndarray, n1: np.ndarray, x2: np.ndarray, n2: np.ndarray, level: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        ratio = 1.0 - level
        # The smaller root of a quadratic equation.
        half = (n1 + x2 + ratio * (n2 + x1)) / 2.0
        product = ratio * (n1 + n2) * (x1 + x2)
        first = (x1 + x2) / (half + np.sqrt(np.maximum(half**2 - product, 0.0)))
        return first, ratio * first


class MeanHypotheses:
    """Hypotheses on the mean of each group by itself, which a level bounds from above."""

    compares_group_pairs = False
    are_ratios = False

    def tested_value(self, means: np.ndarray) -> float:
        """The largest of these means, 0 without any."""
        return float(np.max(means, initial=0.0))

    def count_contrasts(self, n_groups: int) -> int:
        """Number of groups."""
        return n_groups

    def count_on_edge(self, n_groups: int, tolerance: float) -> int:
        """Number of groups, all of which can have just the mean that is allowed."""
        return n_groups

    def lower_limit(self, means: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
        """Lower limit of the largest mean, from limits of all."""
        return float(np.max(low, initial=0.0))

    def upper_limit(self, means: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
        """Upper limit of the largest mean, from limits of all."""
        return float(np.max(high, initial=0.0))

    def find_extremes(self, means: np.ndarray) -> tuple:
        """Position of the largest mean."""
        return (means.argmax(),)

    def project_means(self, q: np.ndarray, n: np.ndarray, level: np.ndarray | float) -> np.ndarray:
        """Means nearest to q that are at most the level."""
        level = np.asarray(level, dtype=np.float64)[..., np.newaxis]
        return np.clip(np.minimum(q, level), _EDGE_DISTANCE, 1.0 - _EDGE_DISTANCE)

    def log_e_contrasts(
        self, x: np.ndarray, n: np.ndarray, q: np.ndarray, levels: np.ndarray, is_open: np.ndarray
    ) -> np.ndarray:
        """Evidence of a batch against p_i >= level, (..., n_groups, 1, n_levels)."""
        x, n, q = (array[..., np.newaxis, np.newaxis] for array in (x, n, q))
        log_e = log_likelihood_ratio(
            x, n, q, np.clip(np.maximum(q, levels), _EDGE_DISTANCE, 1.0 - _EDGE_DISTANCE)
        )
        return np.where(is_open, log_e, 0.0)


def log_e_gap(hypothesis, x, n, q, level, fraction):
    """Evidence of a batch against the hypothesis that the gap is at most the level.

    A `fraction` below 1 bets more carefully: on means between the projection and the prediction.
    """
    p = hypothesis.project_means(q, n, level)
    return log_likelihood_ratio(x, n, p + fraction * (q - p), p).sum(axis=-1)


# E-processes and e-detectors: what the batches so far say for and against a tolerance.


WINDOWS = np.array([200.0, 1000.0, 5000.0])
"""Samples of a group after which the weight of past samples has fallen to 1 / e."""

_SUFFICIENT_LOG_EVIDENCE = np.log(1e12)
"""Evidence after which a certificate needs no further bets."""

_START_WEIGHT = 0.75
"""Weight of the e-process from the start; the mixtures over all starts have the rest."""


class CellEvidence:
    """Counts of disjoint groups in one cell, and for each contrast an e-process on the levels.

    `levels` of the gap ascend, and `tolerance` is a position among them. Arrays may have leading
    axes of shape `streams`: one entry per stream that is monitored at once. The `total` has
    samples, weight and weighted sum of values of each group since a restart, (3, n_groups), and the
    `block` samples and sums of values that wait for others, until they are enough for a bet.
    """

    hypothesis: DifferenceHypotheses | MeanHypotheses
    levels: np.ndarray
    tolerance: int
    counts: np.ndarray
    windows: np.ndarray
    total: np.ndarray
    block: np.ndarray
    log_e: np.ndarray
    log_max: np.ndarray

    def __init__(self, hypothesis, levels, tolerance, streams=()):
        self.hypothesis, self.levels, self.tolerance = hypothesis, levels, tolerance
        self.counts = np.zeros((2, *streams, 0))
        self.windows = np.zeros((2, *streams, len(WINDOWS), 0))
        self.total, self.block = np.zeros((3, 0)), np.zeros((2, 0))
        n_contrasts = 0 if hypothesis.compares_group_pairs else 1
        self.log_e = np.zeros((*streams, 0, n_contrasts, len(levels)))
        self.log_max = self.log_e.copy()

    def add_groups(self, n_groups: int) -> None:
        """Let groups join, of which nothing is known."""
        axes = (-3, -2) if self.hypothesis.compares_group_pairs else (-3,)
        tables = self.counts, self.windows, self.total, self.block
        self.counts, self.windows, self.total, self.block = (
            _pad(one, [-1], n_groups) for one in tables
        )
        self.log_e, self.log_max = (_pad(one, axes, n_groups) for one in (self.log_e, self.log_max))

    def update(self, n: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Bet on a batch by predictions from the past, and count it.

        `n` and `x`, (*streams, n_groups), are the samples of each group and sums of their values in
        [0, 1]. Returns logarithms of e-values of the batch: against "the gap is at most the level",
        (*streams, n_levels), and by recent means against the tolerance, (*streams, n_windows).
        """
        # Certificates: every contrast bets against a difference of at least each level.
        q = plug_in_means(self.counts[1], self.counts[0])
        is_open = self.log_max < _SUFFICIENT_LOG_EVIDENCE
        self.log_e = self.log_e + self.hypothesis.log_e_contrasts(x, n, q, self.levels, is_open)
        self.log_max = np.maximum(self.log_max, self.log_e)
        # Alarms: one bet of all groups against a gap of at most the level, by all past samples
        # for each level, and by recent ones for the tolerance.
        row = (..., np.newaxis, slice(None))
        n_levels = len(self.levels)
        level = np.append(self.levels, np.full(len(WINDOWS), self.levels[self.tolerance]))
        past = np.repeat(self.counts[row], n_levels, axis=-2)
        samples, values = np.concatenate((past, self.windows), axis=-2)
        q = plug_in_means(values, samples, level)
        # How far toward the predicted means a detector bets.
        fraction = np.where(np.arange(len(level)) < n_levels, 1.0, 0.75)[:, np.newaxis]
        log_e = log_e_gap(self.hypothesis, x[row], n[row], q, level, fraction)
        self._count(n, x)
        return log_e[..., :n_levels], log_e[..., n_levels:]

    def rank_groups(self, codes: np.ndarray, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Rank of each group by its samples of a batch, which are sorted, and then by its past."""

        def list_numbers(group: int) -> list[list]:
            is_in = codes == group
            past = self.total[:, group], self.windows[..., group]
            return [column.tolist() for column in (values[is_in], weights[is_in], *past)]

        n_groups = self.total.shape[1]
        return np.argsort(sorted(range(n_groups), key=list_numbers))

    def restart(self) -> None:
        """Forget counts and certificates; recent means remain predictions of the detectors."""
        self.counts, self.total, self.block = map(
            np.zeros_like, (self.counts, self.total, self.block)
        )
        self.log_e, self.log_max = np.zeros_like(self.log_e), np.zeros_like(self.log_max)

    def _count(self, n: np.ndarray, x: np.ndarray) -> None:
        """Add a batch to the counts, and to exponential windows that do not know its order."""
        batch = np.stack((n, x))
        self.counts = self.counts + batch
        n = n[..., np.newaxis, :]
        width = WINDOWS[:, np.newaxis]
        weight = -width * np.expm1(-n / width) / np.maximum(n, 1.0)
        self.windows = self.windows * np.exp(-n / width) + batch[..., np.newaxis, :] * weight

    def log_certificates(self, compared: np.ndarray) -> np.ndarray:
        """Smallest of the contrasts' largest evidence against each level, (*streams, n_levels).

        `compared` is a mask of groups; inf if there is no contrast between them.
        """
        mask = compared[..., np.newaxis]
        if self.hypothesis.compares_group_pairs:
            mask = mask & compared[..., np.newaxis, :] & ~np.eye(compared.shape[-1], dtype=bool)
        mask = np.broadcast_to(mask[..., np.newaxis], self.log_max.shape)
        return np.min(self.log_max, axis=(-3, -2), initial=np.inf, where=mask)


def _pad(array: np.ndarray, axes: list[int] | tuple[int, ...], n: int) -> np.ndarray:
    """An array with n entries 0 more at the end of some axes."""
    widths = np.zeros((array.ndim, 2), dtype=int)
    widths[list(axes), 1] = n
    return np.pad(array, widths)


class GapEvidence:
    """Evidence that a gap exceeds its levels: from the start, and since any later batch.

    For e-values e_t of batches, the e-process is their product E. A detector mixes starts:
    A_t = e_t (A_{t-1} + w_t) with w_t = 1 / (t (t + 1)), an e-process together with the weight
    1 / (t + 1) of later starts, and Shiryaev and Roberts' R_t = e_t (R_{t-1} + b_t), where b_t is 1
    if there is a bet and else 0: R_t less the number of batches is a supermartingale.

    `n_levels` are levels of the e-process, `tolerance` is a position among them, and `streams` the
    shape of leading axes.
    """

    n_starts: int
    n_bets: int
    tolerance: int
    log_start: np.ndarray
    log_e: np.ndarray
    log_max: np.ndarray
    log_mixture: np.ndarray
    log_change: np.ndarray
    log_best: np.ndarray
    starts: np.ndarray

    def __init__(self, n_levels: int, tolerance: int, streams: tuple[int, ...] = ()) -> None:
        shape = (*streams, len(WINDOWS))
        self.n_starts, self.n_bets, self.tolerance = 0, 0, tolerance
        self.log_start = np.zeros((*streams, 1))  # log E at the tolerance, which never restarts
        self.log_e = np.zeros((*streams, n_levels))
        self.log_max = np.zeros((*streams, n_levels))
        self.log_mixture = np.full(shape, -np.inf)  # log A
        self.log_change = np.full(shape, -np.inf)  # log R
        self.log_best = np.zeros(shape)  # of the best start, a CUSUM
        self.starts = np.zeros(shape, dtype=np.int64)  # bets before the best start

    def update(self, log_e: np.ndarray, log_e_windows: np.ndarray, is_start: bool = True) -> None:
        """Multiply by the e-values of a bet, as `CellEvidence.update` returns them.

        An excess may have begun with it if `is_start`: with the first bet of each batch, so that
        run lengths count batches.
        """
        self.log_e = self.log_e + log_e
        self.log_max = np.maximum(self.log_max, self.log_e)
        self.log_start = self.log_start + log_e[..., self.tolerance, np.newaxis]
        if is_start:
            self.n_starts = t = self.n_starts + 1
            self.log_mixture = np.logaddexp(self.log_mixture, -np.log(t * (t + 1.0)))
            # A start without a bet equals the next one; counted, it would add up to an alarm
            # without evidence.
            log_start = np.where(log_e_windows != 0.0, 0.0, -np.inf)
            self.log_change = np.logaddexp(self.log_change, log_start)
        self.log_mixture = self.log_mixture + log_e_windows
        self.log_change = self.log_change + log_e_windows
        # The best start so far goes on, unless the bet before had used up its evidence.
        restarts = self.log_best <= 0.0
        self.starts = np.where(restarts, self.n_bets, self.starts)
        self.log_best = np.where(restarts, 0.0, self.log_best) + log_e_windows
        self.n_bets += 1

    def restart(self) -> None:
        """Forget the levels and the detector of R; what never restarts is `log_start` and A."""
        self.log_e, self.log_max = np.zeros_like(self.log_e), np.zeros_like(self.log_max)
        self.log_change = np.full_like(self.log_change, -np.inf)
        self.log_best = np.zeros_like(self.log_best)

    @property
    def log_mixture_e_process(self) -> np.ndarray:
        """Logarithm of A_t + 1 / (t + 1), an e-process."""
        return np.logaddexp(self.log_mixture, -np.log(self.n_starts + 1.0))


def log_mean(logs: np.ndarray) -> np.ndarray:
    """Logarithm of the mean over the last axis of numbers with these logarithms."""
    largest = logs.max(axis=-1, keepdims=True)
    return (largest + np.log(np.exp(logs - largest).mean(axis=-1, keepdims=True)))[..., 0]


def log_evidence_against(gaps: list[GapEvidence]) -> np.ndarray | float:
    """Logarithm of an e-process against "no gap was ever above the tolerance".

    It is a weighted mean of the e-process from the start and of the mixtures over starts.
    Attributes share samples; a mean of their e-processes is valid under any dependence.
    """
    log_start, log_mixture = (
        log_mean(np.concatenate([getattr(one, name) for one in gaps], axis=-1))
        for name in ("log_start", "log_mixture_e_process")
    )
    return np.logaddexp(
        np.log(_START_WEIGHT) + log_start, np.log(1.0 - _START_WEIGHT) + log_mixture
    )


def change_evidence(gaps: list[GapEvidence]) -> float:
    """Shiryaev and Roberts' statistic R of a gap above the tolerance since some batch."""
    logs = np.concatenate([np.logaddexp(one.log_change, 0.0) for one in gaps], axis=-1)
    return np.expm1(np.minimum(log_mean(logs), 700.0))


def gap_limits(levels, log_for, log_against, threshold):
    """Limits of the gap, (*streams): the levels that are not rejected are a confidence set.

    `log_for` is evidence that the gap is below each level, and `log_against` that it is above,
    (*streams, n_levels), as its largest values so far.
    """
    always = np.ones((*log_for.shape[:-1], 1), dtype=bool)
    is_open = np.concatenate((always, log_for < threshold), axis=-1)
    n_above = is_open[..., ::-1].argmax(axis=-1)
    is_open = np.concatenate((log_against < threshold, always), axis=-1)
    n_below = is_open.argmax(axis=-1)
    return np.append(0.0, levels)[n_below], np.append(levels, 1.0)[len(levels) - n_above]


# The groups of one attribute: their totals, their evidence, and what it says of the gap.


class Comparison:
    """Groups of one attribute (or of combinations of attributes), compared within cells.

    Groups with fewer samples so far than `min_group_size` do not enter bets. Arrays are replaced,
    never written in place, so that a copy shares them.

    Attributes
    ----------
    name : str
        Name of the attribute.
    groups : list
        Names of the groups in the order in which they joined.
    cells : dict of str to CellEvidence
        Totals and evidence of each cell.
    gap : GapEvidence
        Evidence of all cells together, which hold different samples.
    times : list
        Times of the decisions that were bet on, one per bet.
    last_batch : int
        Number of the batch of the last bet.
    """

    name: str
    hypothesis: DifferenceHypotheses | MeanHypotheses
    levels: np.ndarray
    tolerance: int
    min_group_size: int
    groups: list
    cells: dict
    gap: GapEvidence
    times: list
    last_batch: int

    def __init__(self, name, hypothesis, levels, tolerance, min_group_size):
        self.name, self.hypothesis, self.levels = name, hypothesis, levels
        self.tolerance, self.min_group_size = tolerance, min_group_size
        self.groups = []
        self.times = []
        self.cells = {}
        self.gap = GapEvidence(len(levels), tolerance)
        self.last_batch = 0

    def copy(self) -> Comparison:
        """A comparison of equal state, which may change while this one stays as it is."""
        other = copy(self)
        other.times = [*self.times]
        other.cells = {name: copy(cell) for name, cell in self.cells.items()}
        other.gap = copy(self.gap)
        return other

    def with_groups(self, names: list[GroupName]) -> Comparison:
        """Let groups join that have not occurred before; raise if labels are of other types."""
        check_label_types(self.groups, names)
        joined = [name for name in names if name not in self.groups]
        if not joined:
            return self
        other = self.copy()
        other.groups = self.groups + joined
        for cell in other.cells.values():
            cell.add_groups(len(joined))
        return other

    def count_and_bet(self, batch, time, codes, names, cells, values, weights):
        """Count samples of known groups, bet on them, and return tables of what was counted.

        `batch` is the number of the batch, `time` that of the decisions. `codes` are positions in
        `names`, `cells` masks of the samples by name, values and weights are between 0 and 1. A
        table holds samples, weight and weighted sum of values of each group, (3, n_groups).
        """
        columns = _sort_cells(self.groups, codes, names, cells, values, weights)
        n_groups = len(self.groups)
        tables = {cell: count_by_group(*one, n_groups) for cell, one in columns.items()}
        for cell, table in tables.items():
            if cell not in self.cells:
                self.cells[cell] = CellEvidence(self.hypothesis, self.levels, self.tolerance)
                self.cells[cell].add_groups(n_groups)
            self.cells[cell].total = self.cells[cell].total + table
        # Sizes of cells do not depend on the values that are averaged, so that e-values remain
        # valid if small groups are left out, and if samples wait until there are enough for a bet.
        has_bet = False
        log_e, log_e_windows = np.zeros(len(self.levels)), np.zeros(len(WINDOWS))
        for cell in sorted(cells):
            evidence = self.cells[cell]
            is_large = self.is_compared(evidence)
            # The order of samples, which divides them into blocks, depends on no name.
            ranks = evidence.rank_groups(*columns[cell])
            ranked = sort_samples(ranks[columns[cell][0]], *columns[cell][1:])
            rng = make_generator_from_key(batch, time, cell, *ranked)
            n_known = int(evidence.counts[0].sum())
            for block in draw_blocks(*ranked, n_groups, n_known, rng):
                evidence.block = evidence.block + block[:, ranks]
                if evidence.block[0].sum() >= MIN_BLOCK:
                    increments = evidence.update(*evidence.block * is_large)
                    log_e = log_e + increments[0]
                    log_e_windows = log_e_windows + increments[1]
                    evidence.block = np.zeros_like(evidence.block)
                    has_bet = True
        if has_bet:
            self.gap.update(log_e, log_e_windows, is_start=batch > self.last_batch)
            self.times.append(time)
            self.last_batch = batch
        return tables

    def restart(self) -> None:
        """Forget totals, certificates and the detector after an alarm."""
        for cell in self.cells.values():
            cell.restart()
        self.gap.restart()

    def is_compared(self, cell: CellEvidence) -> np.ndarray:
        """Whether each group has enough samples so far in a cell, of which this is the evidence."""
        return (cell.total[0] >= self.min_group_size) & (cell.total[1] > 0)

    def estimate(self) -> float:
        """The largest gap of a cell in all samples so far, between 0 and 1."""
        gaps = [0.0]
        for cell in self.cells.values():
            _, weight, weighted_sum = cell.total
            compared = self.is_compared(cell)
            gaps.append(self.hypothesis.tested_value(weighted_sum[compared] / weight[compared]))
        return max(gaps)

    def log_certificates(self) -> np.ndarray:
        """Evidence that the gap is below each level, (n_levels,); inf without a contrast."""
        logs = [one.log_certificates(self.is_compared(one)) for one in self.cells.values()]
        return np.min([np.full(len(self.levels), np.inf), *logs], axis=0)

    def start_of_excess(self) -> int | str | None:
        """Time of the decisions since which the tolerance is most likely exceeded."""
        # The first bet that paid was prompted by the one before it.
        best = self.gap.starts[self.gap.log_best.argmax()]
        return self.times[max(best - 1, 0)]


def _sort_cells(groups, codes, names, cells, values, weights):
    """Codes among the known groups, values and weights of the samples of each cell, sorted."""
    position = {name: code for code, name in enumerate(groups)}
    codes = np.array([position[name] for name in names], dtype=np.intp)[codes]
    return {
        cell: sort_samples(codes[mask], values[mask], weights[mask]) for cell, mask in cells.items()
    }


# State of a monitor: how a batch changes it, and what it says of the tolerance.


@dataclass(frozen=True, eq=False)
class Statement:
    """What a state says of the tolerance; the gap and its limits are in units of the mean."""

    estimate: float
    low: float
    high: float
    evidence_for: float
    evidence_needed: float
    evidence_against: float
    change_evidence: float
    was_exceeded: bool
    state: str
    windows: list

    @property
    def verdict(self) -> Verdict:
        """The verdict in this state."""
        return VERDICTS[self.state]


@dataclass(frozen=True, eq=False)
class Row:
    """A batch: the samples that were counted at one time, and the statement then.

    Attributes
    ----------
    number : int
        Number of the batch, from 1.
    time : int, float, str or None
        Time at which the samples were counted.
    has_decisions : bool
        Whether `update` was called: another call begins a batch of its own.
    tables : list of tuples
        Time of the decisions, attribute, cell, and an array of samples, weights and weighted sums
        of the groups.
    n_outstanding : int
        Samples that are not counted yet.
    counted_until : int, float, str or None
        Time of the last batch of which decisions were counted by then.
    statement : Statement
    """

    number: int
    time: Any
    has_decisions: bool
    tables: list
    n_outstanding: int
    counted_until: Any
    statement: Statement | None

    def rates(self, settings, comparisons):
        """The lines of `GapMonitor.to_frame`."""
        for time, attribute, cell, (counts, weights, sums) in self.tables:
            for code in np.flatnonzero(weights > 0):
                rate = unscale_mean(settings, sums[code] / weights[code])
                group = comparisons[attribute].groups[code]
                n = int(counts[code])
                weight = float(weights[code] * settings.max_weight)
                yield self.number, time, attribute, cell, group, n, weight, rate


@dataclass(frozen=True, eq=False)
class State:
    """What a monitor knows: counts, evidence and results, but no samples that were counted.

    A batch makes a new state and leaves this one as it is.

    Attributes
    ----------
    attributes : list or None
        Names of the sensitive attributes; None before the first batch with samples.
    bins : dict of int to Bins
        Bins of numbers by the place of the attribute: those of the first batch.
    comparisons : dict of str to Comparison
        Groups and evidence by attribute.
    outstanding : OutstandingSamples
        Samples that are counted later.
    rows : list of Row
        The batches. The last one may be continued by samples of the same time.
    alarms : list of dict
        Batch, time and start ("since") of each alarm, where times are those of decisions.
    """

    attributes: list | None = None
    bins: dict = field(default_factory=dict)
    comparisons: dict = field(default_factory=dict)
    outstanding: OutstandingSamples = field(default_factory=OutstandingSamples)
    rows: list = field(default_factory=list)
    alarms: list = field(default_factory=list)

    @property
    def time(self) -> float | str | None:
        """Time of the last batch."""
        return self.rows[-1].time if self.rows else None

    @property
    def counted_batches(self) -> list[Decisions]:
        """The `Decisions` of the batches up to the last of which decisions are counted."""
        return list_counted(self.rows, len(self.outstanding) > 0)

    def summarize(self, settings: MonitorSettings) -> Iterator[dict[str, float | str | None]]:
        """Yield the lines of `GapMonitor.summary`."""
        names = (
            *("low", "high", "evidence_for", "evidence_needed", "evidence_against"),
            *("change_evidence", "was_exceeded", "state", "verdict"),
        )
        for row, decided in zip(self.rows, group_by_decision(self.rows), strict=True):
            counts: dict = {}
            for _, attribute, _, table in decided.tables:
                counts[attribute] = counts.get(attribute, 0) + int(table[0].sum())
            compared = find_compared(settings, pool_tables(decided.tables)).values()
            gaps = [settings.hypothesis.tested_value(rates) for _, _, rates in compared]
            line = {
                "batch": row.number,
                "time": row.time,
                "counted_until": row.counted_until,
                "n": max(counts.values(), default=0),
                "batch_gap": settings.unscale(max(gaps)) if gaps else np.nan,
                "gap": row.statement.estimate,
            }
            line |= {name: getattr(row.statement, name) for name in names}
            yield line | {"n_outstanding": row.n_outstanding}

    @property
    def since(self) -> float | str | None:
        """Time since which the tolerance is exceeded: of the first alarm after a certificate."""
        if not self.alarms:
            return None
        last = self.alarms[-1]["batch"]
        shown = [row.number for row in self.rows[:last] if row.statement.verdict == "shown"]
        later = (one for one in self.alarms if one["batch"] > max(shown, default=0))
        return next(later)["since"]

    def begin_row(self, time: float | str | None, has_decisions: bool) -> Row:
        """The row of samples of this time: a new one, or the last one without its statement."""
        last = self.rows[-1] if self.rows else None
        if last is None or last.time != time or (last.has_decisions and has_decisions):
            return Row(
                number=len(self.rows) + 1,
                time=time,
                has_decisions=has_decisions,
                tables=[],
                n_outstanding=0,
                counted_until=None,
                statement=None,
            )
        return replace(last, has_decisions=last.has_decisions or has_decisions)

    def split_complete(
        self, settings: MonitorSettings, time: float | str | None
    ) -> tuple[State, list[Cohort]]:
        """The state without the cohorts whose delay is over, and these if their outcomes came."""
        if settings.delay is None:
            return self, []
        ids = self.outstanding.overdue_ids(settings.delay, time)  # type: ignore[arg-type]
        if not ids:
            return self, []
        if compares_both_decisions(settings.constraint):
            self.outstanding.check_both_decisions(ids)
        known = self.outstanding.ids_with_outcome(ids)
        cohorts = self.outstanding.cohorts(known, self.attributes)
        return replace(self, outstanding=self.outstanding.drop(ids)), list(cohorts)

    def add_outcomes(self, settings, ids, outcomes):
        """The state with late outcomes, and their cohorts if they are counted when they come."""
        self.outstanding.check_ids(ids)
        target = to_target(settings.constraint, outcomes, settings.pos_label).tolist()
        outstanding = self.outstanding.add_outcomes(ids, target)
        cohorts = list(outstanding.cohorts(ids, self.attributes))
        for cohort in cohorts:
            evaluate_cohort(settings, cohort)  # raises if a value is out of range
        if settings.delay is None:
            if compares_both_decisions(settings.constraint):
                outstanding.check_both_decisions(ids)
            return replace(self, outstanding=outstanding.drop(ids)), cohorts
        return replace(self, outstanding=outstanding), []

    def rename_attributes(self, names: list) -> State:
        """Return the state with other names of its attributes, in their order."""
        renamed = dict(zip(map(str, self.attributes or []), map(str, names), strict=True))
        # A comparison is of one attribute, or of the combinations of all.
        renamed[", ".join(renamed)] = ", ".join(renamed.values())
        comparisons = {}
        for old, one in self.comparisons.items():
            comparisons[renamed[old]] = comparison = one.copy()
            comparison.name = renamed[old]
        rows = [
            replace(
                row,
                tables=[(time, renamed[old], cell, table) for time, old, cell, table in row.tables],
            )
            for row in self.rows
        ]
        return replace(self, attributes=[*names], comparisons=comparisons, rows=rows)

    def with_groups(
        self, settings: MonitorSettings, groups: Groups, time: float | str | None
    ) -> State:
        """The state that knows the groups of a batch; raise if their labels have other types."""
        comparisons = dict(self.comparisons)
        joined: dict = {}
        for name, _, names in attribute_codes(groups, settings.constraint.attributes):
            comparison = comparisons.get(name) or Comparison(
                name,
                settings.hypothesis,
                settings.levels,
                settings.tolerance_position,
                settings.smallest_size,
            )
            known = comparison.groups
            comparisons[name] = comparison.with_groups(names)
            refuse_many_decimals(comparisons[name].groups)
            joined |= {
                repr(group_text(one)): None
                for one in names
                if name in self.comparisons and one not in known
            }
        if joined:
            start = "now" if time is None else describe_time(time)
            warn(
                "Groups that did not occur in earlier batches are compared from "
                f"{start} on, once they have {settings.smallest_size} samples: "
                f"{join_names(joined)}. A certificate needs evidence on every group that is "
                "compared."
            )
        return replace(self, attributes=groups.attributes, comparisons=comparisons)


def advance_state(settings, state, row, cohorts):
    """The state after cohorts were counted, bet on and judged; `row` is from `begin_row`."""
    if compares_both_decisions(settings.constraint):
        warn_of_one_decision(cohorts)
    comparisons = _copy_comparisons(settings, state, row)
    row = _count_cohorts(settings, comparisons, row, cohorts)
    row = replace(row, n_outstanding=len(state.outstanding))
    earlier = state.rows[: row.number - 1]
    counted = list_counted([*earlier, row], len(state.outstanding) > 0)
    windows = judge_windows(settings, comparisons, counted)

    # What the evidence says, and whether it raises an alarm.
    before = [one["batch"] for one in state.alarms if one["batch"] < row.number]
    was_exceeded = bool(state.rows) and state.rows[-1].statement.was_exceeded
    statement, is_alarm = judge(
        settings, comparisons, len(before), was_exceeded, windows, max(before, default=0)
    )
    alarms = state.alarms
    # An alarm of a batch remains, and is the only one of it; without run_length, of all batches.
    is_again = bool(alarms) and (settings.run_length is None or len(before) < len(alarms))
    if is_alarm and not is_again:
        alarms = [*alarms, _describe_alarm(settings, comparisons, row, counted)]

    statement = _decide_state(settings, statement, earlier, alarms)
    counted_until = counted[-1].time if counted else None
    row = replace(row, counted_until=counted_until, statement=statement)
    return replace(state, comparisons=comparisons, rows=[*earlier, row], alarms=alarms)


def _copy_comparisons(settings: MonitorSettings, state: State, row: Row) -> dict[str, Comparison]:
    """Return copies of the comparisons, which restart with the first row after an alarm."""
    comparisons = {name: one.copy() for name, one in state.comparisons.items()}
    is_new = row.number > len(state.rows)
    was_alarm = bool(state.alarms) and state.alarms[-1]["batch"] == len(state.rows)
    if is_new and was_alarm and settings.run_length is not None:
        for comparison in comparisons.values():
            comparison.restart()
    return comparisons


def _count_cohorts(
    settings: MonitorSettings,
    comparisons: dict[str, Comparison],
    row: Row,
    cohorts: list[Cohort],
) -> Row:
    """Let the comparisons count cohorts and bet on them; return the row with their counts."""
    tables = {tuple(key): table for *key, table in row.tables}
    for cohort in cohorts:
        _count_and_bet(settings, comparisons, row.number, cohort, tables)
    return replace(row, tables=[(*key, table) for key, table in tables.items()])


def _describe_alarm(
    settings: MonitorSettings,
    comparisons: dict[str, Comparison],
    row: Row,
    counted: list[Decisions],
) -> dict[str, Any]:
    """Return the record of an alarm that a row raises, as in `State.alarms`."""
    best = max(comparisons.values(), key=lambda one: one.gap.log_best.max())
    since = _find_first_excess(settings, counted, best.start_of_excess())
    return {"batch": row.number, "time": _last_decision_time(row), "since": since}


def _decide_state(
    settings: MonitorSettings,
    statement: Statement,
    earlier: list,
    alarms: list[dict[str, Any]],
) -> Statement:
    """Return a statement with the state of its windows, its evidence and the alarms.

    `earlier` are the rows before that of the statement.
    """
    last_alarm = alarms[-1]["batch"] if alarms else None
    # Without run_length nothing restarts after the alarm, so that no certificate follows it.
    may_certify = settings.run_length is not None or not alarms
    # An alarm stands until a row after it shows the tolerance.
    is_standing = bool(alarms) and all(
        row.statement.verdict != "shown" for row in earlier[last_alarm:]
    )
    state = find_state(
        statement.windows,
        is_certified=may_certify and statement.evidence_for >= statement.evidence_needed,
        is_mean_excluded=exclude_gap(statement.windows, statement.estimate),
        has_alarm=last_alarm == len(earlier) + 1,
        is_alarm_standing=is_standing,
    )
    return replace(statement, state=state)


def _find_first_excess(
    settings: MonitorSettings, batches: list[Decisions], since: int | str | None
) -> int | str | None:
    """Time of the first batch from a time on whose own gap exceeds the tolerance.

    A batch has several bets, and the best start of the evidence may be the last bet of a batch
    whose gap is within the tolerance. It is the time itself if no batch has such a gap.
    """
    times = [one.time for one in batches]
    for batch in batches[times.index(since) :] if since in times else ():
        compared = find_compared(settings, pool_tables(batch.tables)).values()
        gaps = [settings.hypothesis.tested_value(rates) for _, _, rates in compared]
        if gaps and max(gaps) > settings.scaled_tolerance:
            return batch.time
    return since


def add_late_cohort(settings: MonitorSettings, state: State, cohort: Cohort) -> State:
    """The state whose windows count decisions of an earlier time; all evidence stays as it is.

    They count in the batch of their time, or in the first one after it.
    """
    cells, values = evaluate_cohort(settings, cohort)
    weights = cohort.samples.weights
    groups = cohort.samples.groups
    late = restore_time(cohort.time)
    rows = [*state.rows]
    position = next(i for i, row in enumerate(rows) if not restore_time(row.time) < late)
    tables = {tuple(key): table for *key, table in rows[position].tables}
    for name, codes, names in attribute_codes(groups, settings.constraint.attributes):
        comparison = state.comparisons[name]
        columns = _sort_cells(comparison.groups, codes, names, cells, values, weights)
        for cell, one in columns.items():
            table = count_by_group(one[0], one[1], one[2], len(comparison.groups))
            key = (cohort.time, name, cell)
            tables[key] = add_tables(table, tables[key]) if key in tables else table
    rows[position] = replace(
        rows[position],
        tables=[(*key, table) for key, table in tables.items()],
    )
    # The last statement has the windows of now, and no alarm is raised.
    counted = list_counted(rows, len(state.outstanding) > 0)
    windows = judge_windows(settings, state.comparisons, counted)
    statement = replace(rows[-1].statement, windows=windows)
    statement = _decide_state(settings, statement, rows[:-1], state.alarms)
    rows[-1] = replace(rows[-1], statement=statement)
    return replace(state, rows=rows)


def _count_and_bet(settings, comparisons, number, cohort, tables):
    """Let the groups of each attribute bet on a cohort, and add its counts to the tables."""
    cells, values = evaluate_cohort(settings, cohort)
    weights, groups = cohort.samples.weights, cohort.samples.groups
    for name, codes, names in attribute_codes(groups, settings.constraint.attributes):
        counted = comparisons[name].count_and_bet(
            number, cohort.time, codes, names, cells, values, weights
        )
        for cell, table in counted.items():
            key = cohort.time, name, cell
            tables[key] = add_tables(table, tables[key]) if key in tables else table


def _last_decision_time(row: Row) -> int | str | None:
    """The latest time of the decisions that were counted in a row; its own without any."""
    times = [time for time, *_ in row.tables] or [row.time]
    return times[0] if times[0] is None else max(times, key=restore_time)


def judge(settings, comparisons, n_restarts, was_exceeded, windows, last_alarm):
    """Return what the evidence says after so many restarts, and whether it raises an alarm.

    `was_exceeded` is what it said before, and `last_alarm` the number of the batch of the last
    alarm, 0 without any. The state of the statement is open until alarms are known.
    """
    comparisons = list(comparisons.values())
    gaps = [one.gap for one in comparisons]
    log_against = float(log_evidence_against(gaps)) if gaps else 0.0
    change = float(change_evidence(gaps)) if gaps else 0.0
    was_exceeded = was_exceeded or log_against >= -np.log1p(-settings.confidence_level)
    is_alarm = was_exceeded
    recent = [one for one in windows if one.first_batch > last_alarm]
    if settings.run_length is not None:
        # Beside windows the detector raises a false alarm once in so many run lengths at most.
        length = settings.run_length * (4.0 if settings.windows else 1.0)
        # Windows raise an alarm that no earlier one was about.
        has_excess = any(one.verdict == "contradicted" for one in recent)
        is_alarm = has_excess or change >= length
    log_for = _find_certificates(settings, comparisons)
    log_for_tolerance = log_for[settings.tolerance_position]
    log_needed = settings.log_evidence_needed(n_restarts)
    estimate = max((one.estimate() for one in comparisons), default=0.0)
    gap = settings.unscale(estimate)
    low, high = _find_interval(settings, gaps, log_for, n_restarts)
    # Rates have changed if limits cross or exclude the gap so far, as those of windows may, or if
    # there is an alarm although the upper limit is below the tolerance. Then the gap may be any.
    has_changed = not low <= estimate <= high or exclude_gap(recent, gap)
    if has_changed or (is_alarm and high <= settings.scaled_tolerance):
        low, high = (low if low <= estimate else 0.0), 1.0
    statement = Statement(
        estimate=gap,
        low=settings.unscale(low),
        high=settings.unscale(high),
        evidence_for=_to_e_value(log_for_tolerance),
        evidence_needed=_to_e_value(log_needed),
        evidence_against=_to_e_value(log_against),
        change_evidence=change,
        was_exceeded=bool(was_exceeded),
        state="open",
        windows=windows,
    )
    return statement, is_alarm


def _find_certificates(settings: MonitorSettings, comparisons: list) -> np.ndarray:
    """Evidence that the gap is within each level, on every pair of groups; without a pair none."""
    logs = [one.log_certificates() for one in comparisons]
    log_for = np.min([np.full(len(settings.levels), np.inf), *logs], axis=0)
    return np.where(np.isinf(log_for), 0.0, log_for)


def _find_interval(settings, gaps, log_for, n_restarts):
    """Limits of the gap, of which each side has half of the error."""
    # Attributes share the error of the lower limit.
    logs = [one.log_max - np.log(len(gaps)) for one in gaps]
    log_above = np.max([np.zeros(len(settings.levels)), *logs], axis=0)
    log_limit = settings.log_evidence_needed(n_restarts, n_sides=2)
    return gap_limits(settings.levels, log_for, log_above, log_limit)


def _to_e_value(log_e: float) -> float:
    # Logarithm of the largest e-value that is reported.
    return float(np.exp(min(log_e, 700.0)))
