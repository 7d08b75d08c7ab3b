"""Constants of a problem that step sizes of first-order methods rest on."""

import numpy as np

_POWER_ITERATIONS = 30


def gradient_lipschitz(problem):
    r"""Estimate L_F: how fast the gradient of the objective can change.

    The largest curvature of the loss times the largest eigenvalue of the mean Gram matrix, by power
    iteration, plus the strongest ridge.

    Parameters
    ----------
    problem : ConstrainedProblem
        A problem whose model is linear in its parameters.

    Returns
    -------
    lipschitz : float
    """
    model = problem.model
    direction = np.random.default_rng(0).standard_normal(problem.n_parameters)
    for _ in range(_POWER_ITERATIONS):
        direction /= np.linalg.norm(direction)
        direction = model.pull_back(problem.share * model.scores(direction))
    # Kinks are rounded over a short interval of scores: look closely, from 0 to the target.
    targets = np.array([problem.target.min(), problem.target.max()])
    scores = np.outer(np.linspace(0.0, 1.0, 1001), targets)
    curvature = problem.loss(scores, targets).curvature.max()
    return float(curvature * np.linalg.norm(direction) + problem.ridge.max(initial=0.0))


def lipschitz_constants(problem, sides, x):
    r"""Estimate L_F and M_G: how fast the objective's gradient and the one-sided rows can change.

    Surrogates of decisions rise most steeply at the score 0, hence at the usual start; a gap that
    is 0 there has no slope, so the point one gradient step on counts too.

    Parameters
    ----------
    problem : ConstrainedProblem
        A problem whose model is linear in its parameters.
    sides : OneSided
        The one-sided rows.
    x : ndarray of shape (n_unknowns,)
        Starting point.

    Returns
    -------
    L_F, M_G : float
    """
    L_F = gradient_lipschitz(problem)
    here = problem.evaluate(x)
    ahead = problem.evaluate(x - here.grad / L_F)
    jacobians = (sides.spread(evaluation.jacobian) for evaluation in (here, ahead))
    return L_F, max((np.linalg.norm(J, 2) for J in jacobians if J.size), default=0.0)
