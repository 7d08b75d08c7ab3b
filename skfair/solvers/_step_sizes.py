"""Lipschitz constants of a problem, which determine step sizes of first-order methods."""

from typing import NamedTuple

import numpy as np

from skfair.losses import over_pairs

_N_POWER_ITERATIONS = 30
_TINY = 1e-100  # for models without columns


class Smoothness(NamedTuple):
    """Estimated Lipschitz constants of a problem with a linear model."""

    objective: float  # L_F, Lipschitz constant of the objective's gradient
    gram: float  # largest eigenvalue of the Gram matrix of the features
    rows: float  # M_G, largest norm of the Jacobian of the one-sided rows

    @classmethod
    def estimate(cls, start, one_sided):
        """Estimate the constants around a starting point.

        Surrogates of decisions are steepest at the score 0, hence at the usual start. A gap that is
        0 there has no gradient, so the point after one gradient step counts too.
        """
        problem = start.problem
        gram = _largest_eigenvalue(start.point, problem.mean_weights)
        curvature = gram * _largest_curvature(problem)
        objective = curvature + problem.ridge.max(initial=_TINY)
        # M_G: the larger norm at the start and after a gradient step.
        next_evaluation = problem.evaluate(start.x - start.grad / objective)
        jacobians = (one_sided.jacobian(one.jacobian) for one in (start, next_evaluation))
        rows = max(np.linalg.norm(J, 2) for J in jacobians) if len(one_sided.rows) else 0.0
        gram = _largest_eigenvalue(start.point, np.ones_like(problem.mean_weights))
        return cls(float(objective), gram, float(rows))

    def lagrangian(self, evaluation, multipliers):
        """Bound on the curvature of the Lagrangian, which grows with the multipliers."""
        row_curvature = np.abs(evaluation.curvature(multipliers) - evaluation.loss_curvature)
        return self.objective + self.gram * float(row_curvature.max())


def polyak_step(excess, slope):
    """Length of the step against a slope to where a linear row of this excess holds."""
    return excess / max(slope @ slope, _TINY)


def _largest_eigenvalue(point, weights):
    """Largest eigenvalue of a weighted Gram matrix, by power iteration."""
    direction = np.random.default_rng(0).standard_normal(len(point.pull_back(weights)))
    for _ in range(_N_POWER_ITERATIONS):
        direction /= max(np.linalg.norm(direction), _TINY)
        direction = point.pull_back(weights * point.push_forward(direction))
    return float(np.linalg.norm(direction))


def _largest_curvature(problem):
    """Largest curvature of the loss at scores from 0 to the target."""
    if over_pairs(problem.loss):
        # If the differences of all pairs are nearly the margin, all have curvature.
        return problem.losses(0.48 * problem.target).curvature.max()
    targets = np.array([problem.target.min(), problem.target.max()])
    # Fine grid, as losses are rounded over short intervals of scores.
    scores = np.outer(np.linspace(0.0, 1.0, 1001), targets)
    return problem.loss(scores, targets).curvature.max()
