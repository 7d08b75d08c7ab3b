"""Planes of models through the plain fit: the intercept, and a direction towards equal rates.

A positive decision about a sample changes the compared rates by its effect. The linear function of
the columns that predicts the effects best is the direction that brings the rates together at the
least cost. Its coefficients are noise where few samples have many columns, so they are also shrunk
by multiples of their standard errors. Scores of samples that are left out are linear in the plane.
Of networks all this is about the last layer: that of the fit without a fold has its own columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.polynomial import chebyshev

from skfair._bound.bound import decision_outcomes
from skfair._bound.rows import spread_over_samples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skfair._fitting.counting import Candidate
    from skfair._problems.linear import LinearModel
    from skfair._problems.problem import Problem


_N_DIRECTION_FOLDS = 10
"""Folds without which directions are learned."""

_SHRINKAGES = 0.0, 1.0, 2.0, 3.0
"""Standard errors by which coefficients of a direction are shrunk."""


_ALONG = np.linspace(0.0, 1.0, 17)
"""Parts of the direction at which decisions are counted."""

_BY = np.linspace(-1.0, 1.0, 25)
"""Parts of the intercept at which decisions are counted."""

_ALONG_GRID = np.linspace(0.0, 1.0, 51)
"""Parts of the direction at which a point can be taken."""

_BY_GRID = np.linspace(-1.0, 1.0, 61)
"""Parts of the intercept at which a point can be taken."""


_TINY = 1e-12
"""Smallest weight or deviation that is distinguished from none."""


def _smoother(counted: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """The matrix from counts at some parts to a polynomial at others, (n_grid, n_counted)."""
    # Rates rise like normal distributions, so that polynomials of degree 5 smooth them.
    basis, at = (chebyshev.chebvander(one, 5) for one in (counted, grid))
    return at @ np.linalg.pinv(basis)


_SMOOTH_ALONG = _smoother(2.0 * _ALONG - 1.0, 2.0 * _ALONG_GRID - 1.0)
_SMOOTH_BY = _smoother(_BY, _BY_GRID)


@dataclass(frozen=True)
class Plane:
    """Models with the parameters of a plain fit, moved along a direction and by the intercept.

    `scores` are those of samples left out, and `slopes` their changes by the whole direction. The
    whole intercept, of the parameters `up`, adds `reach` to all scores.
    """

    problem: Problem
    parameters: np.ndarray
    scores: np.ndarray
    direction: np.ndarray
    slopes: np.ndarray
    up: np.ndarray
    reach: float

    def point(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Parameters and scores of samples left out at a point of the grid."""
        a = _ALONG_GRID[k // len(_BY_GRID)]
        b = _BY_GRID[k % len(_BY_GRID)]
        parameters = self.parameters + a * self.direction + b * self.reach * self.up
        return parameters, self.scores + a * self.slopes + b * self.reach

    def _tabulate(
        self, rows: np.ndarray | slice, event: np.ndarray | int, gains: np.ndarray, n_events: int
    ) -> np.ndarray:
        """Smoothed sums of the gains of positive decisions at each point, (n_events, n_points)."""
        size = len(_BY) + 1
        # Where the counted intercepts turn decisions positive, in numbers of them.
        start = 1.0 + (1.0 - self.scores[rows] / self.reach) * (size - 2) / 2.0
        step = -self.slopes[rows] / self.reach * (size - 2) / 2.0
        first = event * size
        firsts = (np.clip(start + a * step, 0, size - 1).astype(np.intp) for a in _ALONG)
        counts = np.array([np.bincount(first + at, gains, n_events * size) for at in firsts])
        sums = counts.reshape(len(_ALONG), n_events, size).cumsum(axis=2)[..., :-1]
        smooth = _SMOOTH_ALONG @ sums.transpose(1, 0, 2) @ _SMOOTH_BY.T
        return smooth.reshape(n_events, -1)

    @cached_property
    def errors(self) -> np.ndarray:
        """Smoothed share of wrong decisions about samples left out, (n_points,)."""
        weights = self.problem.mean_weights
        target = self.problem.target
        return self._tabulate(slice(None), 0, -weights * np.sign(target), 1)[0]

    @cached_property
    def gaps(self) -> np.ndarray:
        """Smoothed gaps of samples left out, (n_constraints, n_points)."""
        gaps = []
        for one in self.problem.constraint:
            rows, event, shares = one.sums.events.memberships
            sums = []
            for low, change in decision_outcomes(one.sums):
                of_event = self._tabulate(
                    rows, event, shares * change[rows], one.sums.events.n_events
                )
                sums.append(one.sums.events.means(low)[:, np.newaxis] + of_event)
            gaps.append(one.gap(one.sums.rates(np.concatenate(sums))))
        return np.nan_to_num(gaps, nan=np.inf)


class PlainFit(NamedTuple):
    """The fit without constraint, and what fits without each of some folds tell about these.

    Attributes
    ----------
    candidate : Candidate
        The fit of all samples.
    scores : ndarray of shape (n_samples,)
        Score of each sample by a fit without it.
    folds : list of ndarray of int
        Samples of each fold.
    models : list of LinearModel
        The last layer without each fold, of all samples: features may be learned from the others.
    """

    candidate: Candidate
    scores: np.ndarray
    folds: list
    models: list


def assign_folds(n_samples: int, clusters: np.ndarray | None = None) -> list[np.ndarray]:
    """Samples of each of ten folds; samples of equal code in `clusters` are in one."""
    codes = np.arange(n_samples) if clusters is None else clusters
    fold = np.random.default_rng(0).permutation(codes.max() + 1)[codes] % _N_DIRECTION_FOLDS
    return [np.flatnonzero(fold == number) for number in range(_N_DIRECTION_FOLDS)]


def find_planes(problem: Problem, plain: PlainFit) -> Iterator[Plane]:
    """Planes through a `PlainFit` of a problem with a linear model."""
    model = problem.model
    scores = plain.scores
    parameters = plain.candidate.parameters
    up = model.intercept_direction()
    deviation = scores.std()
    if up is None or deviation == 0.0:
        return
    weights = problem.mean_weights
    values = effects(problem, scores)
    moments = _fold_moments(model, parameters, plain.folds, weights, values)
    latest = model
    total = moments.sum(axis=0)
    slopes = np.empty((len(scores), len(_SHRINKAGES)))
    for number, (rows, of_fold) in enumerate(zip(plain.folds, plain.models, strict=True)):
        if of_fold is not latest:
            moments = _fold_moments(of_fold, parameters, plain.folds, weights, values)
            latest = of_fold
        rest = moments.sum(axis=0) - moments[number]
        learned = _directions(rest, len(scores) - len(rows), up)
        slopes[rows] = np.column_stack([of_fold.take(rows).scores(one) for one in learned])
    for direction, of_one in zip(_directions(total, len(scores), up), slopes.T, strict=True):
        if of_one.std() > _TINY:
            # The direction moves scores by 1.5 standard deviations, the intercept by one at most.
            length = 1.5 * deviation / of_one.std()
            yield Plane(
                problem=problem,
                parameters=parameters,
                scores=scores,
                direction=length * direction,
                slopes=length * of_one,
                up=up,
                reach=deviation,
            )


def effects(problem: Problem, scores: np.ndarray) -> np.ndarray:
    """What a positive decision of each sample adds to the gaps, per weight, (n_samples,)."""
    total = np.zeros(len(scores))
    for one in problem.constraint:
        sums = one.sums.exact_means(scores)
        rates = one.sums.rates(sums)
        # By how much each rate is away from where there is no gap.
        weights = np.nan_to_num(rates - one.gap.rescale_means(rates, 0.0))
        if one.sums.is_quotient:
            sizes = np.maximum(sums[one.sums.events.n_events :], _TINY)
            weights = np.concatenate((weights / sizes, -weights * np.nan_to_num(rates) / sizes))
        changes = [change for _, change in decision_outcomes(one.sums)]
        of_one = spread_over_samples(one.sums.events, changes, weights)
        total += of_one / max(np.abs(of_one).max(), _TINY)
    return total / np.maximum(problem.mean_weights, _TINY) * problem.mean_weights.mean()


def _fold_moments(
    model: LinearModel,
    parameters: np.ndarray,
    folds: list[np.ndarray],
    weights: np.ndarray,
    values: np.ndarray,
) -> np.ndarray:
    """Weighted sums of products of columns and values over each fold, (n_folds, p + 1, p + 1)."""
    moments = []
    for rows in folds:
        point = model.take(rows).evaluate(parameters)
        weighted = weights[rows] * values[rows]
        products = point.pull_back(weighted)[:, np.newaxis]
        square = np.array([[weighted @ values[rows]]])
        moments.append(np.block([[point.gram(weights[rows]), products], [products.T, square]]))
    return np.array(moments)


def _directions(moments: np.ndarray, n_samples: int, up: np.ndarray) -> np.ndarray:
    """Directions against the values, by least squares, (n_shrinkages, p).

    All coefficients but the intercept's are shrunk by multiples of their standard errors.
    """
    gram = moments[:-1, :-1]
    products = moments[:-1, -1]
    square = moments[-1, -1]
    # Curvature that is added to a Gram matrix, relative to its mean eigenvalue.
    inverse = np.linalg.inv(gram + 1e-6 * np.trace(gram) / len(gram) * np.eye(len(gram)))
    coefficients = inverse @ products
    residual = max(0.0, square - coefficients @ products)
    errors = np.sqrt(np.diag(inverse) * residual / n_samples)
    sizes = np.abs(coefficients) - np.outer(_SHRINKAGES, np.where(up != 0.0, 0.0, errors))
    return -np.sign(coefficients) * np.maximum(sizes, 0.0)
