"""Random local search for parameters that keep tolerances of ranks, where no fit of rows does.

Smooth rows compare shares at several thresholds by a ramp, and their problem is not convex: all
fits may violate a tolerance that other parameters keep. The metrics are piecewise constant, so they
have no useful derivatives. But often a point near a fit that nearly keeps a tolerance keeps it, or
one among random parameters.
"""

import numpy as np
from scipy.optimize import minimize

from skfair.constraints import ConstraintSystem

_RADII = (0.03, 0.1, 0.3, 1.0)
"""Lengths of random steps, relative to the parameters."""

_N_STEPS = 60
"""Random steps of each length."""

_N_STARTS = 100
"""Random parameters, of which the best is the second start."""

_LOG_FACTORS = (-3.0, 3.0)
"""Logarithms of the smallest and the largest factor of parameters."""

_MANY = 1 << 15
"""Samples above which the metric is not evaluated hundreds of times."""


def search_metric(fitter, fairest):
    """The candidate of least violation, by a search of the last layer from the fairest fit.

    Where the metrics depend on ranks alone, its scale and intercept are those of least objective.
    The fairest fit itself is returned if no other is better, and where samples are partitioned or
    too many.
    """
    problem = fitter.problem
    if fitter.counter.scored is not problem or len(problem.target) > _MANY:
        return fairest
    plain = fitter.fit_plain(fairest.parameters)  # by the user's solver, whose limits it reports
    layer = problem.model.last_layer(fairest.parameters)
    before = fairest.parameters[: -layer.n_parameters]
    rng = np.random.default_rng(0)  # the same search for the same samples

    def evaluate(parameters):
        return fitter.evaluate(np.concatenate((before, parameters)), plain.result)

    # Near the fairest fit, where the objective is low.
    best = _local_search(evaluate, fairest.parameters[len(before) :], rng)
    # Anywhere else: first where scores agree with those of the plain fit, then where they do not.
    drawn = rng.normal(size=(_N_STARTS, layer.n_parameters))
    drawn *= np.where(drawn @ plain.parameters[len(before) :] < 0.0, -1.0, 1.0)[:, np.newaxis]
    for starts in (drawn, -drawn):
        if best.violation > 0.0:
            start = min(map(evaluate, starts), key=_violation)
            other = _local_search(evaluate, start.parameters[len(before) :], rng)
            best = best if other.violation > 0.0 else other
    if best.violation >= fairest.violation:
        return fairest
    # Ranks depend neither on scale nor on intercept.
    free, parameters = (
        fitter.replace_constraint(ConstraintSystem(())),
        best.parameters[len(before) :],
    )
    rescaled = _rescale(parameters, layer, lambda x: free.evaluate(np.append(before, x)).fun)
    return min(evaluate(rescaled), best, key=_violation)


def _violation(candidate):
    return candidate.violation


def _local_search(evaluate, parameters, rng):
    """The least violation by random steps, each from the best parameters so far."""
    best = evaluate(parameters)
    for radius in np.tile(_RADII, _N_STEPS):
        if best.violation == 0.0:
            break
        center = best.parameters[-len(parameters) :]
        size = radius * np.linalg.norm(center) / np.sqrt(len(center))
        best = min(best, evaluate(center + size * rng.normal(size=len(center))), key=_violation)
    return best


def _rescale(parameters, layer, objective):
    """Parameters times a factor, plus an intercept, of least objective."""
    intercept = layer.intercept_direction()
    directions = np.zeros((0, len(parameters))) if intercept is None else intercept[np.newaxis]

    def move(steps):
        return np.exp(steps[0]) * parameters + steps[1:] @ directions

    steps = minimize(
        lambda steps: objective(move(steps)),
        np.zeros(1 + len(directions)),
        method="Nelder-Mead",
        # Scores that are nearly equal lose the digits by which they are ranked.
        bounds=[_LOG_FACTORS, *len(directions) * [(None, None)]],
        options={"maxfev": 200},
    )
    return move(steps.x)
