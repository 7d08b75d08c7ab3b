"""Constants of a problem that step sizes of first-order methods rest on."""

from typing import NamedTuple

import numpy as np

from skfair.losses import over_pairs

_POWER_ITERATIONS = 30
_TINY = 1e-100  # where a model has no columns, nothing bends


class Smoothness(NamedTuple):
    """How fast gradients and rows of a problem with a linear model can change, by estimates.

    Attributes
    ----------
    objective : float
        L_F, the Lipschitz constant of the objective's gradient.
    gram : float
        Largest eigenvalue of the Gram matrix of the features.
    rows : float
        M_G, the largest norm of the Jacobian of the one-sided rows.
    """

    objective: float
    gram: float
    rows: float

    @classmethod
    def of(cls, here, one_sided):
        """Estimate the constants around a starting point.

        Surrogates of decisions rise most steeply at the score 0, hence at the usual start; a gap
        that is 0 there has no slope, so the point one gradient step on counts too.

        Parameters
        ----------
        here : Evaluation
            The problem at the starting point; its model must be linear in its parameters.
        one_sided : OneSided
            The problem's one-sided rows.

        Returns
        -------
        smoothness : Smoothness
        """
        problem = here.problem
        bend = _largest_eigenvalue(here.point, problem.share) * _largest_curvature(problem)
        objective = bend + problem.ridge.max(initial=_TINY)
        ahead = problem.evaluate(here.x - here.grad / objective)
        jacobians = [one_sided.jacobian(evaluation.jacobian) for evaluation in (here, ahead)]
        rows = max(np.linalg.norm(J, 2) for J in jacobians) if len(one_sided.rows) else 0.0
        gram = _largest_eigenvalue(here.point, np.ones_like(problem.share))
        return cls(float(objective), gram, float(rows))

    def lagrangian(self, evaluation, multipliers):
        """Bound the curvature of the Lagrangian: rows bend the more, the larger their multipliers.

        Parameters
        ----------
        evaluation : Evaluation
            The problem at a point.
        multipliers : ndarray of shape (n_rows,)
            Signed multipliers.

        Returns
        -------
        lipschitz : float
        """
        of_rows = np.abs(evaluation.curvature(multipliers) - evaluation.loss_curvature)
        return self.objective + self.gram * float(of_rows.max())


def polyak_step(excess, slope):
    """Length of the step against a slope that would keep a linear row broken by `excess`."""
    return excess / max(slope @ slope, _TINY)


def _largest_eigenvalue(point, weights):
    """Largest eigenvalue of a weighted Gram matrix, by power iteration."""
    direction = np.random.default_rng(0).standard_normal(len(point.pull_back(weights)))
    for _ in range(_POWER_ITERATIONS):
        direction /= max(np.linalg.norm(direction), _TINY)
        direction = point.pull_back(weights * point.push_forward(direction))
    return float(np.linalg.norm(direction))


def _largest_curvature(problem):
    """Largest curvature of the loss at scores from 0 to the target."""
    if over_pairs(problem.loss):
        # Where all pairs are right by nearly the margin, all bend.
        return problem.losses(0.48 * problem.target).curvature.max()
    targets = np.array([problem.target.min(), problem.target.max()])
    # Kinks are rounded over a short interval of scores: look closely.
    scores = np.outer(np.linspace(0.0, 1.0, 1001), targets)
    return problem.loss(scores, targets).curvature.max()
