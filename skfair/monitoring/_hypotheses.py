"""Null hypotheses on the means of groups: their projections, and e-values of batches of counts.

All functions broadcast over leading axes. The last axis of `x` (sums), `n` (counts) and `q`
(predicted means) are the groups; values of samples are in [0, 1].
"""

import numpy as np

from skfair.inference import constrained_rate

_EDGE = 1e-12
"""Distance of projected means from 0 and 1."""

_MAX_STEPS = 50
"""Newton steps of a projection; about five are enough."""

_SMALL_STEP = 1e-9
"""Length of the last step."""

_SHRINKAGE = 20.0
"""Samples of the hypothesis that are added to each group in predictions."""


def plug_in(x, n, level=0.0):
    """Predicted means from past sums and counts, never 0 or 1.

    Krichevsky and Trofimov's (x + 1/2) / (n + 1), with some samples more whose mean is at most half
    the level from that of all groups, so that few samples of a group do not look like a larger gap.
    """
    overall = (x.sum(axis=-1, keepdims=True) + 0.5) / (n.sum(axis=-1, keepdims=True) + 1.0)
    half = np.asarray(level, dtype=np.float64)[..., np.newaxis] / 2.0
    nearest = np.clip((x + 0.5) / (n + 1.0), overall - half, overall + half)
    return (x + 0.5 + _SHRINKAGE * nearest) / (n + 1.0 + _SHRINKAGE)


def log_ratio(x, n, q, p):
    """Logarithm of the likelihood ratio of means q and p, sample by group: the bet's return.

    For values between 0 and 1, q^y (1 - q)^(1 - y) / (p^y (1 - p)^(1 - y)) is convex in y, so its
    expectation at mean m is at most that of a rate m, m q / p + (1 - m) (1 - q) / (1 - p).
    """
    return x * np.log(q / p) + (n - x) * np.log((1.0 - q) / (1.0 - p))


class Differences:
    """Hypotheses on the differences of the means of groups, which are compared in pairs."""

    is_paired = True

    def gap(self, means):
        """Largest difference of these means, 0 of fewer than two."""
        return float(np.ptp(means)) if len(means) else 0.0

    def project_gap(self, q, n, level):
        """Means nearest to q whose largest difference is at most the level: clip(q, c, c + level).

        The lower end c is where the derivative of sum_g n_g KL(q_g || p_g) vanishes.
        """
        level = np.asarray(level, dtype=np.float64)[..., np.newaxis]
        q, n, level = np.broadcast_arrays(q, n, level)
        present = n > 0
        low = np.min(q, axis=-1, initial=1.0, where=present)
        high = np.max(q, axis=-1, initial=0.0, where=present) - level[..., 0]
        projected = np.array(q)
        active = high > low
        if not active.any():
            return projected
        q, n, level = q[active], n[active], level[active]
        low, high = low[active, np.newaxis], high[active, np.newaxis]
        c = (low + high) / 2.0
        for _ in range(_MAX_STEPS):
            # Newton step on the derivative, to the middle if it leaves the bracket.
            p = np.minimum(np.maximum(q, c), c + level)
            scale = p * (1.0 - p)
            slope = (n * (p - q) / scale).sum(axis=-1, keepdims=True)
            curvature = n * (p * p - 2.0 * p * q + q) / (scale * scale)
            curvature = np.where(p == q, 0.0, curvature).sum(axis=-1, keepdims=True)
            step = slope / np.where(curvature > 0, curvature, 1.0)
            low, high = np.where(slope > 0, low, c), np.where(slope > 0, c, high)
            last, c = c, c - step
            c = np.where((c >= low) & (c <= high), c, (low + high) / 2.0)
            if np.abs(c - last).max() < _SMALL_STEP:
                break
        projected[active] = np.minimum(np.maximum(q, c), c + level)
        return projected

    def log_e_contrasts(self, x, n, q, levels, is_open):
        """Evidence of a batch against p_i - p_j >= level, (..., n_groups, n_groups, n_levels).

        Only contrasts and levels of the mask `is_open`, of this shape, bet.
        """
        first, second = (..., slice(None), np.newaxis, np.newaxis), (..., np.newaxis, slice(None))
        second = (*second, np.newaxis)
        # No bet where the prediction is within the hypothesis, or the batch has no such sample.
        is_bet = is_open & (q[first] - q[second] < levels) & (n[first] + n[second] > 0)
        *streams, i, j, level = np.nonzero(is_bet)
        first, second, eps = (*streams, i), (*streams, j), levels[level]
        columns = np.broadcast_arrays(x, n, q)
        (x1, n1, q1), (x2, n2, q2) = ([one[group] for one in columns] for group in (first, second))
        p2 = constrained_rate(q1 * n1, n1, q2 * n2, n2, eps)
        p1, p2 = (np.clip(p, _EDGE, 1.0 - _EDGE) for p in (p2 + eps, p2))
        log_e = np.zeros(is_bet.shape)
        log_e[is_bet] = log_ratio(x1, n1, q1, p1) + log_ratio(x2, n2, q2, p2)
        return log_e


class UpperBounds:
    """Hypotheses on the mean of each group by itself, which a level bounds from above."""

    is_paired = False

    def gap(self, means):
        """The largest of these means, 0 without any."""
        return float(np.max(means, initial=0.0))

    def project_gap(self, q, n, level):
        """Means nearest to q that are at most the level."""
        level = np.asarray(level, dtype=np.float64)[..., np.newaxis]
        return np.clip(np.minimum(q, level), _EDGE, 1.0 - _EDGE)

    def log_e_contrasts(self, x, n, q, levels, is_open):
        """Evidence of a batch against p_i >= level, (..., n_groups, 1, n_levels)."""
        x, n, q = (array[..., np.newaxis, np.newaxis] for array in (x, n, q))
        log_e = log_ratio(x, n, q, np.clip(np.maximum(q, levels), _EDGE, 1.0 - _EDGE))
        return np.where(is_open, log_e, 0.0)


def log_e_gap(hypothesis, x, n, q, level, fraction):
    """Evidence of a batch against the hypothesis that the gap is at most the level.

    A `fraction` below 1 bets more carefully: on means between the projection and the prediction.
    """
    p = hypothesis.project_gap(q, n, level)
    return log_ratio(x, n, p + fraction * (q - p), p).sum(axis=-1)
