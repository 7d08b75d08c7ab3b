"""E-processes and e-detectors: what the batches so far say for and against a tolerance."""

import numpy as np

from skfair.monitoring._hypotheses import Differences, UpperBounds, log_e_gap, plug_in

WINDOWS = np.array([200.0, 1000.0, 5000.0])
"""Samples of a group after which the weight of past samples has fallen to 1 / e."""

_ENOUGH = np.log(1e12)
"""Evidence after which a certificate needs no further bets."""

_START_WEIGHT = 0.75
"""Weight of the e-process from the start; the mixtures over all starts have the rest."""

_FRACTION = 0.75
"""How far toward the predicted means a detector bets."""


class CellEvidence:
    """Counts of disjoint groups in one cell, and for each contrast an e-process on the levels.

    `levels` of the gap ascend, and `tolerance` is a position among them. Arrays may have leading
    axes of shape `streams`: one entry per stream that is monitored at once.
    """

    hypothesis: Differences | UpperBounds
    levels: np.ndarray
    tolerance: int
    counts: np.ndarray
    windows: np.ndarray
    log_e: np.ndarray
    log_max: np.ndarray

    def __init__(self, hypothesis, levels, tolerance, streams=()):
        self.hypothesis, self.levels, self.tolerance = hypothesis, levels, tolerance
        self.counts = np.zeros((2, *streams, 0))
        self.windows = np.zeros((2, *streams, len(WINDOWS), 0))
        self.log_e = np.zeros((*streams, 0, 0 if hypothesis.is_paired else 1, len(levels)))
        self.log_max = self.log_e.copy()

    def add_groups(self, n_groups):
        """Let groups join, of which nothing is known."""
        axes = (-3, -2) if self.hypothesis.is_paired else (-3,)
        self.counts, self.windows = (
            _pad(one, [-1], n_groups) for one in (self.counts, self.windows)
        )
        self.log_e, self.log_max = (_pad(one, axes, n_groups) for one in (self.log_e, self.log_max))

    def update(self, n, x):
        """Bet on a batch by predictions from the past, and count it.

        `n` and `x`, (*streams, n_groups), are the samples of each group and sums of their values in
        [0, 1]. Returns logarithms of e-values of the batch: against "the gap is at most the level",
        (*streams, n_levels), and by recent means against the tolerance, (*streams, n_windows).
        """
        # Certificates: every contrast bets against a difference of at least each level.
        q = plug_in(self.counts[1], self.counts[0])
        is_open = self.log_max < _ENOUGH
        self.log_e = self.log_e + self.hypothesis.log_e_contrasts(x, n, q, self.levels, is_open)
        self.log_max = np.maximum(self.log_max, self.log_e)
        # Alarms: one bet of all groups against a gap of at most the level, by all past samples
        # for each level, and by recent ones for the tolerance.
        row, n_levels = (..., np.newaxis, slice(None)), len(self.levels)
        level = np.append(self.levels, np.full(len(WINDOWS), self.levels[self.tolerance]))
        past = np.repeat(self.counts[row], n_levels, axis=-2)
        q = plug_in(*np.concatenate((past, self.windows), axis=-2)[::-1], level)
        fraction = np.where(np.arange(len(level)) < n_levels, 1.0, _FRACTION)[:, np.newaxis]
        log_e = log_e_gap(self.hypothesis, x[row], n[row], q, level, fraction)
        self._count(n, x)
        return log_e[..., :n_levels], log_e[..., n_levels:]

    def restart(self):
        """Forget counts and certificates; recent means remain predictions of the detectors."""
        self.counts = np.zeros_like(self.counts)
        self.log_e, self.log_max = np.zeros_like(self.log_e), np.zeros_like(self.log_max)

    def _count(self, n, x):
        """Add a batch to the counts, and to exponential windows that do not know its order."""
        batch = np.stack((n, x))
        self.counts = self.counts + batch
        n = n[..., np.newaxis, :]
        width = WINDOWS[:, np.newaxis]
        weight = -width * np.expm1(-n / width) / np.maximum(n, 1.0)
        self.windows = self.windows * np.exp(-n / width) + batch[..., np.newaxis, :] * weight

    def log_certificates(self, compared):
        """Smallest of the contrasts' largest evidence against each level, (*streams, n_levels).

        `compared` is a mask of groups; inf if there is no contrast between them.
        """
        mask = compared[..., np.newaxis]
        if self.hypothesis.is_paired:
            mask = mask & compared[..., np.newaxis, :] & ~np.eye(compared.shape[-1], dtype=bool)
        mask = np.broadcast_to(mask[..., np.newaxis], self.log_max.shape)
        return np.min(self.log_max, axis=(-3, -2), initial=np.inf, where=mask)


def _pad(array, axes, n):
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

    def __init__(self, n_levels, tolerance, streams=()):
        shape = (*streams, len(WINDOWS))
        self.n_starts, self.n_bets, self.tolerance = 0, 0, tolerance
        self.log_start = np.zeros((*streams, 1))  # log E at the tolerance, which never restarts
        self.log_e = np.zeros((*streams, n_levels))
        self.log_max = np.zeros((*streams, n_levels))
        self.log_mixture = np.full(shape, -np.inf)  # log A
        self.log_change = np.full(shape, -np.inf)  # log R
        self.log_best = np.zeros(shape)  # of the best start, a CUSUM
        self.starts = np.zeros(shape, dtype=np.int64)  # bets before the best start

    def update(self, log_e, log_e_windows, is_start=True):
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

    def restart(self):
        """Forget the levels and the detector of R; what never restarts is `log_start` and A."""
        self.log_e, self.log_max = np.zeros_like(self.log_e), np.zeros_like(self.log_max)
        self.log_change = np.full_like(self.log_change, -np.inf)
        self.log_best = np.zeros_like(self.log_best)

    @property
    def log_mixture_value(self):
        """Logarithm of A_t + 1 / (t + 1), an e-process."""
        return np.logaddexp(self.log_mixture, -np.log(self.n_starts + 1.0))


def log_mean(logs):
    """Logarithm of the mean over the last axis of numbers with these logarithms."""
    largest = logs.max(axis=-1, keepdims=True)
    return (largest + np.log(np.exp(logs - largest).mean(axis=-1, keepdims=True)))[..., 0]


def log_evidence_against(gaps):
    """Logarithm of an e-process against "no gap was ever above the tolerance".

    It is a weighted mean of the e-process from the start and of the mixtures over starts.
    Attributes share samples; a mean of their e-processes is valid under any dependence.
    """
    log_start, log_mixture = (
        log_mean(np.concatenate([getattr(one, name) for one in gaps], axis=-1))
        for name in ("log_start", "log_mixture_value")
    )
    logs = np.log(_START_WEIGHT) + log_start, np.log(1.0 - _START_WEIGHT) + log_mixture
    return np.logaddexp(*logs)


def change_evidence(gaps):
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
