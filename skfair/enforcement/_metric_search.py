"""Random local search for parameters that keep tolerances of ranks, where no fit of rows does.

Smooth rows compare shares at some thresholds, by a ramp, and their problem is not convex: all fits
may miss a tolerance that other parameters keep. The metrics themselves are piecewise constant, so
that no derivative leads to less of them. But near a fit that nearly keeps a tolerance, or among
random parameters, some often keep it.
"""

import numpy as np
from scipy.optimize import minimize

from skfair.constraints import ConstraintSystem
from skfair.problems import PartitionedRankProblem

_RADII = (0.03, 0.1, 0.3, 1.0)
"""Lengths of random steps, relative to the parameters."""

_N_STEPS = 60
"""Random steps of each length."""

_N_STARTS = 100
"""Random parameters, of which the best is the second start."""

_LOG_FACTORS = (-3.0, 3.0)
"""Logarithms of the least and the largest factor of parameters."""

_MANY = 1 << 15
"""Samples from which on the metric is not evaluated hundreds of times."""


def search_metric(task, fairest):
    """Search parameters of the last layer whose metrics keep the tolerances.

    Parameters
    ----------
    task : Task
        What is to be solved.
    fairest : Candidate
        The fit of least violation: the search begins there.

    Returns
    -------
    candidate : Candidate
        That of least violation; where it depends on ranks alone, at the scale and intercept of
        least objective. `fairest` itself, if no other is better or samples are partitioned or many.
    """
    if isinstance(task.problem, PartitionedRankProblem) or len(task.problem.target) > _MANY:
        return fairest
    plain = task.plain(fairest.parameters)  # by the user's solver, whose limits it tells
    layer = task.problem.model.last_layer(fairest.parameters)
    before = fairest.parameters[: -layer.n_parameters]
    rng = np.random.default_rng(0)  # the same search for the same samples

    def judge(own):
        return task.judge(np.concatenate((before, own)), plain.result)

    # Near the fairest fit, where the objective is low.
    found = _local_search(judge, fairest.parameters[len(before) :], rng)
    # Anywhere else: first where scores agree with those of the plain fit, then where they do not.
    drawn = rng.normal(size=(_N_STARTS, layer.n_parameters))
    drawn *= np.where(drawn @ plain.parameters[len(before) :] < 0.0, -1.0, 1.0)[:, np.newaxis]
    for starts in (drawn, -drawn):
        if found.violation > 0.0:
            start = min(map(judge, starts), key=_violation)
            other = _local_search(judge, start.parameters[len(before) :], rng)
            found = found if other.violation > 0.0 else other
    if found.violation >= fairest.violation:
        return fairest
    # Ranks depend neither on scale nor on intercept.
    own, objective = found.parameters[len(before) :], task.under(ConstraintSystem(()))
    rescaled = judge(_rescaled(own, layer, lambda x: objective.evaluate(np.append(before, x)).fun))
    return min(rescaled, found, key=_violation)


def _violation(candidate):
    return candidate.violation


def _local_search(judge, parameters, rng):
    """The least violation by random steps, each from the best parameters so far."""
    best = judge(parameters)
    for radius in np.tile(_RADII, _N_STEPS):
        if best.violation == 0.0:
            break
        own = best.parameters[-len(parameters) :]
        size = radius * np.linalg.norm(own) / np.sqrt(len(own))
        best = min(best, judge(own + size * rng.normal(size=len(own))), key=_violation)
    return best


def _rescaled(parameters, layer, objective):
    """Parameters times a factor, and shifted by an intercept, of least objective."""
    up = layer.intercept_direction()
    directions = np.zeros((0, len(parameters))) if up is None else up[np.newaxis]

    def along(steps):
        return np.exp(steps[0]) * parameters + steps[1:] @ directions

    steps = minimize(
        lambda steps: objective(along(steps)),
        np.zeros(1 + len(directions)),
        method="Nelder-Mead",
        # Scores that are nearly equal lose the digits by which they are ranked.
        bounds=[_LOG_FACTORS, *len(directions) * [(None, None)]],
        options={"maxfev": 200},
    )
    return along(steps.x)
