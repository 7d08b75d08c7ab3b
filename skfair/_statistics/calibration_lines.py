"""Cox's calibration lines of groups: whether probabilities are too extreme, with limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse, special

from skfair._statistics.estimates import Estimates, correlation_of

if TYPE_CHECKING:
    from skfair._groups import Groups


_MIN_RARER = 10
"""Samples of the rarer class from which a calibration line is fitted to a group."""

_LARGEST_LOG_ODDS = float(special.logit(1.0 - 1e-6))
"""Log odds at which those of probabilities near 0 and 1 are cut off."""

_MAX_STEPS, _LAST_STEP = 50, 1e-5
"""Newton steps after which a line counts as unknown, and the length of the last one."""


_MAX_HALVINGS = 30
"""Halvings of a step of Newton's method."""


class CalibrationLines(NamedTuple):
    """Lines of the groups that have one, `present`, as `fit_calibration_lines` returns them.

    ``coefficients``, (2, n_groups), are intercepts and slopes, with their ``variances`` and
    ``correlations``, a matrix for each of both or None if groups share no units. ``counts`` are the
    samples of the groups, and ``sizes`` the effective ones of their rarer class.
    """

    coefficients: np.ndarray
    variances: np.ndarray
    correlations: list[np.ndarray | None]
    counts: np.ndarray
    sizes: np.ndarray
    present: np.ndarray


class CalibrationCoefficients(Estimates):
    r"""Intercepts or slopes of Cox's calibration lines of groups ([1]_).

    The line a + b logit(p) of a group is the logistic regression of its outcomes on the log odds of
    its predicted probabilities: a = 0 and b = 1 if these are calibrated, and b < 1 if they are too
    extreme. Limits are Wald's, with Student's quantile of the size of the rarer class. With x the
    pair of 1 and logit(p), H the matrix of second derivatives of the log-likelihood, m the fitted
    means and w the weights, the covariance is :math:`H^{-1} (\sum w^2 v\, x x^\top) H^{-1}`. The
    larger variance counts of v = m (1 - m), and of v = (y - m)^2, which holds where no line is
    right. Clusters add up as units. Groups with fewer than ten samples of a class, or whose classes
    a threshold of p separates, have no line.

    `coefficient` is 0 for intercepts and 1 for slopes.

    References
    ----------
    .. [1] D. R. Cox, "Two further applications of a model for binary regression", Biometrika 45,
       1958.
    """

    interval = "Wald's of a logistic regression"

    def __init__(self, lines: CalibrationLines, coefficient: int) -> None:
        self.counts = lines.counts
        self.sizes = lines.sizes
        self.values = lines.coefficients[coefficient]
        self._errors = np.sqrt(lines.variances[coefficient])
        self.correlation = lines.correlations[coefficient]

    @property
    def standard_errors(self) -> np.ndarray:
        """Standard error of each coefficient."""
        return self._errors

    def limits(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Wald's limits, as in `Estimates.limits`."""
        margin = special.stdtrit(self.sizes - 1.0, level) * self._errors
        return self.values - margin, self.values + margin


def fit_calibration_lines(
    groups: Groups,
    weights: np.ndarray,
    is_true: np.ndarray,
    probabilities: np.ndarray,
    clusters: np.ndarray | None = None,
) -> CalibrationLines:
    """Calibration lines of the groups that have one; samples of equal cluster are one unit."""
    n_groups = len(groups.labels)
    rows, codes = groups.memberships
    counts = groups.row_counts[rows]
    sizes = _count_rarer(codes, n_groups, weights[rows], counts, is_true[rows])
    # Leave out the samples of groups without a line.
    is_large = sizes > _MIN_RARER - 0.5
    rows, codes, counts = (one[is_large[codes]] for one in (rows, codes, counts))
    w = weights[rows]
    y = is_true[rows].astype(float)
    z = np.clip(special.logit(probabilities[rows]), -_LARGEST_LOG_ODDS, _LARGEST_LOG_ODDS)
    coefficients, inverse, is_known = _solve_lines(codes, n_groups, w, y, z)
    present = np.flatnonzero(is_known & is_large)
    means = special.expit(coefficients[0, codes] + coefficients[1, codes] * z)
    variances, correlations = [], []
    for first, second in inverse:
        # What a sample of residual 1 adds to the coefficient of its group. A row of n equal samples
        # has n times the square of a share of 1 / n.
        added = w * (first[codes] + second[codes] * z) / np.sqrt(counts)
        assumed = np.bincount(codes, added**2 * means * (1.0 - means), n_groups)
        added *= y - means
        correlation = None
        if groups.is_disjoint and clusters is None:
            observed = np.bincount(codes, added**2, n_groups)
        else:
            units = rows if clusters is None else clusters[rows]
            shape = (n_groups, units.max(initial=0) + 1)
            by_unit = sparse.csr_array((added, (codes, units)), shape=shape)
            covariance = (by_unit @ by_unit.T).toarray()
            observed = np.diag(covariance)
            correlation = correlation_of(covariance[np.ix_(present, present)])
        variances.append(np.maximum(assumed, observed)[present])
        correlations.append(correlation)
    return CalibrationLines(
        coefficients[:, present],
        np.array(variances),
        correlations,
        np.bincount(codes, counts, n_groups)[present].astype(np.intp),
        sizes[present],
        present,
    )


def estimate_coefficients(
    lines: CalibrationLines, coefficient: int
) -> tuple[CalibrationCoefficients | None, np.ndarray]:
    """Intercepts (0) or slopes (1) of the groups that have a line, and these groups."""
    has_any = len(lines.present) > 0
    return CalibrationCoefficients(lines, coefficient) if has_any else None, lines.present


def _count_rarer(
    codes: np.ndarray,
    n_groups: int,
    weights: np.ndarray,
    counts: np.ndarray,
    is_true: np.ndarray,
) -> np.ndarray:
    """Effective number of samples of the rarer class in each group."""
    sizes = []
    for is_class in (is_true, ~is_true):
        totals = np.bincount(codes, is_class * weights, n_groups)
        squares = np.bincount(codes, is_class * weights**2 / counts, n_groups)
        sizes.append(np.divide(totals**2, squares, out=np.zeros(n_groups), where=squares > 0.0))
    return np.minimum(*sizes)


def _solve_lines(
    codes: np.ndarray, n_groups: int, w: np.ndarray, y: np.ndarray, z: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Intercepts and slopes, (2, n_groups), by Newton's method, and whether they are known.

    The second result are the inverses of the matrices of second derivatives, (2, 2, n_groups).
    """

    def add_up(values: np.ndarray) -> np.ndarray:
        return np.bincount(codes, values, n_groups)

    def log_losses(line: np.ndarray) -> np.ndarray:
        log_odds = line[0, codes] + line[1, codes] * z
        return add_up(w * (np.logaddexp(0.0, log_odds) - y * log_odds))

    # Start at calibrated probabilities.
    line = np.stack((np.zeros(n_groups), np.ones(n_groups)))
    losses = log_losses(line)
    for _ in range(_MAX_STEPS):
        means = special.expit(line[0, codes] + line[1, codes] * z)
        residuals = w * (y - means)
        curvatures = w * means * (1.0 - means)
        h00, h01, h11 = (add_up(one) for one in (curvatures, curvatures * z, curvatures * z * z))
        determinant = h00 * h11 - h01**2
        # Where all log odds are equal, or lines grow without end, there is no inverse.
        is_known = determinant > 1e-9 * h00 * h11
        scale = np.divide(1.0, determinant, out=np.zeros(n_groups), where=is_known)
        inverse = scale * np.array([[h11, -h01], [-h01, h00]])
        step = np.einsum(
            "ijg,jg->ig", inverse, np.stack((add_up(residuals), add_up(residuals * z)))
        )
        # Far from the solution steps are shortened, by halves where the loss does not fall.
        length = np.abs(step).max(axis=0)
        step *= np.minimum(1.0, 2.0 / np.maximum(length, 2.0))
        for _ in range(_MAX_HALVINGS):
            moved = log_losses(line + step)
            rises = moved > losses * (1.0 + 1e-12)
            if not rises.any():
                break
            step[:, rises] /= 2.0
        line, losses = line + step, moved
        # The error after a step is about its square.
        if length.max(initial=0.0) < _LAST_STEP:
            break
    return line, inverse, is_known & (length < _LAST_STEP)
