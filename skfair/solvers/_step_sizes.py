"""Constants of a problem that step sizes of first-order methods rest on."""

from typing import NamedTuple

import numpy as np

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
    def of(cls, problem, sides, x):
        """Estimate the constants around a starting point.

        Surrogates of decisions rise most steeply at the score 0, hence at the usual start; a gap
        that is 0 there has no slope, so the point one gradient step on counts too.

        Parameters
        ----------
        problem : ConstrainedProblem
            The problem.
        sides : OneSided
            Its one-sided rows.
        x : ndarray of shape (n_unknowns,)
            Starting point.

        Returns
        -------
        smoothness : Smoothness
        """
        bend = _largest_eigenvalue(problem.model, problem.share) * _largest_curvature(problem)
        objective = bend + problem.ridge.max(initial=_TINY)
        here = problem.evaluate(x)
        ahead = problem.evaluate(x - here.grad / objective)
        jacobians = [sides.spread(evaluation.jacobian) for evaluation in (here, ahead)]
        rows = max(np.linalg.norm(J, 2) for J in jacobians) if len(sides.rows) else 0.0
        gram = _largest_eigenvalue(problem.model, np.ones_like(problem.share))
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


def _largest_eigenvalue(model, weights):
    """Largest eigenvalue of a weighted Gram matrix, by power iteration."""
    direction = np.random.default_rng(0).standard_normal(model.n_parameters)
    for _ in range(_POWER_ITERATIONS):
        direction /= max(np.linalg.norm(direction), _TINY)
        direction = model.pull_back(weights * model.scores(direction))
    return float(np.linalg.norm(direction))


def _largest_curvature(problem):
    """Largest curvature of the loss at scores from 0 to the target."""
    targets = np.array([problem.target.min(), problem.target.max()])
    # Kinks are rounded over a short interval of scores: look closely.
    scores = np.outer(np.linspace(0.0, 1.0, 1001), targets)
    return problem.loss(scores, targets).curvature.max()
