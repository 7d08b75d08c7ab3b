r"""Thresholds by which prediction sets cover each of many overlapping groups, which are known.

The linear program of conditional split conformal prediction (I. Gibbs, J. Cherian and E. Candes,
"Conformal prediction with conditional guarantees", arXiv:2305.12616). With m the memberships of a
sample, after a 1 for all samples, quantile regression at the level fits beta to the scores s_i of
calibration samples and to a score s of the new one. The set has all values whose score s is at most
m'beta. The largest such s follows from one program, in which the new score is infinite:

    minimise    sum_i rho(s_i - m_i'beta) - level * m'beta,    rho(r) = max(level r, (level - 1) r)

Its value depends on the memberships alone. It is found from the regression without the new sample
by steps of the parametric simplex method, as the weight of -m'beta grows from 0 to the level. The
regression itself is solved by a simplex method, too, whose steps pass as many samples as lower the
loss (I. Barrodale and F. Roberts, "An improved algorithm for discrete l1 linear approximation",
SIAM Journal on Numerical Analysis, 1973). Both count on scores without ties.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import linalg, sparse

from skfair._groups.known import encode_known_values
from skfair._utils.checks import argument_error
from skfair.exceptions import MissingSensitiveFeaturesError

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from skfair._utils.tables import TableLike

_MARGIN = 1e-6
"""By which levels are lowered at most, at random, so that no basic solution is degenerate: (n + 1)
times a level of .9 may be whole, and its order statistic is then the one that covers at the level.
"""


_ROUNDING = 1e-9
"""By which dual variables may miss their bounds, which are at most 1 apart."""

_MAX_STEPS = 10_000
"""Steps of a regression. 100,000 scores and 30 groups take some hundreds."""

_TIE = 1e-7
"""Share of the spread of the scores by which ties are broken."""


class OverlappingThresholds(NamedTuple):
    """Calibration samples, by which memberships in groups that may overlap have a threshold.

    Attributes
    ----------
    scores : ndarray of shape (n_samples,)
        Scores of the true values; ties are broken.
    members : ndarray of bool, shape (n_samples, n_groups)
        Memberships.
    levels : ndarray of shape (n_samples,)
        Level of each sample in the regression.
    columns : ndarray of int, shape (n_columns,)
        Independent columns of the memberships, after a 1 for all samples.
    basis : ndarray of int, shape (n_columns,)
        Samples on the plane of the regression without a new sample.
    duals : ndarray of shape (n_columns,)
        Dual variables of these.
    """

    scores: np.ndarray
    members: np.ndarray
    levels: np.ndarray
    columns: np.ndarray
    basis: np.ndarray
    duals: np.ndarray

    @classmethod
    def fit(cls, scores: np.ndarray, members: np.ndarray, coverage: float) -> OverlappingThresholds:
        """Solve the regression of the scores, at the level `coverage`, without a new sample."""
        # Ties are broken upwards, so that sets are no smaller than by the scores themselves.
        unit = np.ptp(scores) or 1.0
        noise = np.random.default_rng(0).random((2, len(scores)))
        scores = scores + _TIE * unit * noise[0]
        levels = coverage - _MARGIN * (0.5 + noise[1] / 2.0)
        design = _append_ones(members)
        _, triangle, order = linalg.qr(design, mode="economic", pivoting=True)
        sizes = np.abs(np.diag(triangle))
        columns = np.sort(order[: np.count_nonzero(sizes > 1e-9 * sizes[0])])
        basis, duals = _solve_regression(design[:, columns], scores, levels)
        return cls(scores, members, levels, columns, basis, duals)

    @property
    def coefficients(self) -> np.ndarray:
        """Coefficients of the regression without a new sample, 0 of dependent columns."""
        coef = np.zeros(1 + self.members.shape[1])
        rows = _append_ones(self.members)[self.basis][:, self.columns]
        coef[self.columns] = np.linalg.solve(rows, self.scores[self.basis])
        return coef

    def find(self, members: np.ndarray) -> np.ndarray:
        """Threshold of each new sample by its memberships, (n_samples,); it may be infinite."""
        patterns, codes = np.unique(members, axis=0, return_inverse=True)
        points = _append_ones(patterns)
        # Memberships that are no combination of those of calibration samples have no threshold.
        design = _append_ones(self.members)
        rows = design[:, self.columns]
        combinations = np.linalg.lstsq(rows, design, rcond=None)[0]
        is_known = np.isclose(points[:, self.columns] @ combinations, points).all(axis=1)
        thresholds = np.full(len(points), np.inf)
        for number in np.flatnonzero(is_known):
            thresholds[number] = self._find_one(rows, points[number, self.columns])
        return thresholds[codes.ravel()]

    def _find_one(self, rows: np.ndarray, point: np.ndarray) -> float:
        """Threshold of one pattern of memberships, by pivots of the parametric simplex method."""
        basis, duals = self.basis.copy(), self.duals.copy()
        is_basic = np.zeros(len(rows), dtype=bool)
        is_basic[basis] = True
        left = self.levels.min()
        while True:
            inverse = np.linalg.inv(rows[basis])
            # Duals of basic samples make up for the weight of the new sample.
            change = -inverse.T @ point
            levels = self.levels[basis]
            slack = np.where(change > 0.0, levels - duals, duals + 1.0 - levels)
            moves = np.abs(change) > 1e-12
            steps = np.divide(slack, np.abs(change), out=np.full(len(slack), np.inf), where=moves)
            leaving = int(steps.argmin())
            coef = inverse @ self.scores[basis]
            if steps[leaving] >= left:
                return float(point @ coef)
            left -= steps[leaving]
            duals += steps[leaving] * change
            # The coefficients move until the next sample is on the plane.
            direction = -np.sign(change[leaving]) * inverse[:, leaving]
            residuals = self.scores - rows @ coef
            slopes = rows @ direction
            meets = ~is_basic & (residuals * slopes > 0.0) & (np.abs(slopes) > 1e-12)
            if not meets.any():
                return np.inf
            candidates = np.flatnonzero(meets)
            entering = candidates[np.argmin(residuals[meets] / slopes[meets])]
            is_basic[[basis[leaving], entering]] = False, True
            basis[leaving] = entering
            duals[leaving] = self.levels[entering] - (residuals[entering] < 0.0)


def _solve_regression(
    rows: np.ndarray, scores: np.ndarray, levels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return samples on the best plane, ascending, and their dual variables, (n_columns,) both.

    ``rows`` is (n_samples, n_columns) of full rank. The plane ``rows @ beta`` minimises the sum of
    level * r for residuals r above 0, and of (level - 1) * r below.
    """
    # Begin with the plane through independent samples.
    _, _, order = linalg.qr(rows.T, mode="economic", pivoting=True)
    basis = np.array(order[: rows.shape[1]])
    for _ in range(_MAX_STEPS):
        inverse = np.linalg.inv(rows[basis])
        residuals = scores - rows @ (inverse @ scores[basis])
        residuals[basis] = 0.0
        slopes = levels - (residuals < 0.0)  # of the loss of each residual
        slopes[basis] = 0.0
        duals = -inverse.T @ (rows.T @ slopes)
        above = duals - levels[basis]
        excess = np.maximum(above, -1.0 - above)
        leaving = int(excess.argmax())
        if excess[leaving] <= _ROUNDING:
            ascending = np.argsort(basis)
            return basis[ascending], duals[ascending]
        # The residual of the leaving sample grows, or falls, by a unit of each step.
        direction = -np.sign(above[leaving]) * inverse[:, leaving]
        basis[leaving] = _find_entering(rows @ direction, residuals, excess[leaving])
    raise RuntimeError(
        f"Thresholds of {rows.shape[1] - 1} overlapping groups were not found in {_MAX_STEPS:,} "
        f"steps from {len(scores)} scores. Pass fewer groups, or groups that overlap less."
    )


def _find_entering(changes: np.ndarray, residuals: np.ndarray, descent: float) -> int:
    """Return the sample at which the loss ends to fall as residuals lose multiples of changes.

    At first the loss falls by ``descent`` for each unit. A sample whose residual passes 0 takes
    the absolute value of its change off the descent.
    """
    meets = np.flatnonzero((residuals * changes > 0.0) & (np.abs(changes) > 1e-12))
    order = meets[np.argsort(residuals[meets] / changes[meets])]
    passed = np.cumsum(np.abs(changes[order]))
    n_passed = min(int(np.searchsorted(passed, descent)), len(order) - 1)
    return int(order[n_passed])


def encode_memberships(
    estimator: BaseEstimator, sensitive_features: TableLike | None, n_samples: int
) -> np.ndarray:
    """Memberships of new samples in each group of a fit, (n_samples, n_groups)."""
    n_groups = len(estimator.groups_.labels)
    if sensitive_features is None:
        raise MissingSensitiveFeaturesError(
            "With group_estimator='sensitive_features' sets depend on the groups of each sample: "
            "pass sensitive_features, as in predict_set(X, sensitive_features=...)."
        )
    if estimator.attributes == "each":
        summary, handle_unknown = estimator.groups_, estimator.handle_unknown
        codes = encode_known_values(sensitive_features, n_samples, summary, handle_unknown)
        members = np.eye(n_groups + 1)[codes, :-1].sum(axis=1)
        # A value that the fit has not seen counts as the mean of the known ones.
        attributes = [attribute for attribute, _ in summary.names]
        for number, attribute in enumerate(dict.fromkeys(attributes)):
            counts = np.array(summary.counts) * [one == attribute for one in attributes]
            members[codes[:, number] == n_groups] += counts / counts.sum()
        return members
    shape = getattr(sensitive_features, "shape", None) or np.shape(np.asarray(sensitive_features))
    if not sparse.issparse(sensitive_features) or shape[1:] != (n_groups,):
        raise argument_error(
            f"sensitive_features must be a sparse matrix of booleans with {n_groups} columns, as "
            "at fit: whether a sample is in each group. Got "
            f"{type(sensitive_features).__name__} of shape {shape}."
        )
    return sparse.csr_array(sensitive_features).toarray().astype(bool).astype(float)


def _append_ones(members: np.ndarray) -> np.ndarray:
    """A column of ones, and the memberships as numbers."""
    return np.column_stack((np.ones(len(members)), members))
