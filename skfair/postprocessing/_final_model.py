"""The final linear model: few features, under constraints that its decisions keep exactly."""

import warnings
from dataclasses import replace

import numpy as np

from skfair.constraints import ConstraintSystem, bind_all
from skfair.enforcement import Fitter, Guarantee, enforce, enforce_in_population
from skfair.losses import LogisticLoss
from skfair.models import ArgmaxModel, LinearModel
from skfair.problems import ConstrainedProblem
from skfair.solvers import SQP
from skfair.surrogates import Sigmoid

_TEMPERATURES = (1.0, 0.5, 0.25)
"""Of the sigmoid surrogate. A wide sigmoid moves all samples, where few are near the threshold; a
narrow one moves those that change their decision."""

_ALPHA = 1e-5
_SOLVER = SQP()
_RANKS_SOLVER = SQP(tol=1e-4)
"""Rows of percentiles have breakpoints, at which no solver reaches the last digit."""

_ARGMAX_SOLVER = SQP(max_iter=30, tol=1e-3, hessian="lbfgs")
"""Leads of classes have breakpoints wherever two other classes overtake one another: a Hessian does
not show these, and no solver ends in a point that it could certify. The exact searches follow."""


def fit_final_model(problems, constraints, tolerance, confidence=None, callback=None):
    """The solved problem, linearised at its solution, and the guarantee of the enforced model.

    Problems are the one-vs-rest problems with their features: one score that decides by its sign,
    or several, the largest of which decides, and each of which keeps the constraints. ``callback``
    sees every iteration. The loss is logistic.
    """
    fitters = _fitters(problems, constraints, tolerance, callback)
    # Of several temperatures the enforced model with the fewest errors is taken.
    fitter, candidate = _select_most_accurate(fitters if len(problems) > 1 else _preselect(fitters))
    # On the training data alone, unless a confidence level asks for a margin.
    guarantee = Guarantee(candidate, fitter.constraint.tolerances)
    if confidence is not None:
        start, clusters = replace(fitter, start=candidate.parameters), problems[0].samples.clusters
        guarantee = enforce_in_population(start, "auto", confidence, clusters=clusters)
    problem = fitter.problem
    # At the enforced model, where the report and the multipliers are read.
    constraint = problem.constraint.linearize_at(guarantee.candidate.scores)
    return replace(problem, constraint=constraint), guarantee


def _fitters(problems, constraints, tolerance, callback):
    """The constrained problem at each temperature of the surrogate; one where none is used."""
    loss, model = LogisticLoss(), _make_model(problems)
    target = np.concatenate([problem.samples.target for problem in problems])
    weights = np.concatenate([problem.samples.weights for problem in problems])
    fitters = []
    for temperature in _TEMPERATURES:
        with warnings.catch_warnings():
            if fitters:
                warnings.simplefilter("ignore")  # of small groups, once is enough
            system = _bind(problems, constraints, (Sigmoid(temperature), loss, tolerance))
        solver = _RANKS_SOLVER if "ranks" in system.statistics else _SOLVER
        solver = _ARGMAX_SOLVER if len(problems) > 1 else solver
        problem = ConstrainedProblem(model, loss, target, weights, _ALPHA, system)
        fitters.append(Fitter(problem, model.initial(), solver, {"callback": callback}))
        if "ranks" in system.statistics or "decisions" not in system.statistics:
            break
    return fitters


def _preselect(fitters):
    """The fitter of the best temperature, if an intercept alone shows which it is, or all fitters.

    A search along the intercept is cheap, and leads a single row to its bound.
    """
    # Only for one row on decisions of one problem, which the intercept alone can lead to its bound.
    constraint = fitters[0].constraint
    counts_all = constraint.statistics <= {"decisions"}
    if len(fitters) == 1 or not counts_all or len(constraint.rows.lower) != 1:
        return fitters
    fitter, candidate = _select_most_accurate(fitters, "sweep")
    # Constant decisions, or a bound that is missed, say nothing about the temperature.
    is_constant = len(candidate.decisions) == 1
    if is_constant or not candidate.keeps_bound:
        return fitters
    return [replace(fitter, start=candidate.parameters)]


def _select_most_accurate(fitters, strategy="auto"):
    """The fitter whose enforced model has the fewest errors, and this model."""
    enforced = [(fitter, enforce(fitter, strategy)) for fitter in fitters]
    return min(enforced, key=lambda pair: pair[1].rank)


def _make_model(problems):
    """The linear model of one problem's score, or of the scores of several."""
    features, weights = [problem.X for problem in problems], problems[0].samples.weights
    if len(features) == 1:
        return LinearModel.from_features(features[0], weights)
    return ArgmaxModel.from_features(features, weights)


def _bind(problems, constraints, settings):
    """Every constraint on every problem, as a function of the scores of all problems."""
    n_samples, n_scores = (
        len(problems[0].samples.target),
        len(problems) * len(problems[0].samples.target),
    )
    bound = bind_all(constraints, [problem.samples for problem in problems], *settings)
    if len(problems) == 1:
        return ConstraintSystem(tuple(bound[0]))
    embedded = [
        _embed(constraint, slice(number * n_samples, (number + 1) * n_samples), n_scores)
        for number, of_problem in enumerate(bound)
        for constraint in of_problem
    ]
    return ConstraintSystem(tuple(embedded))


def _embed(constraint, rows, n_scores):
    """A constraint as a function of more scores, of which `rows` are its own."""
    target = np.ones(n_scores)
    target[rows] = constraint.target
    return replace(
        constraint,
        events=constraint.events.embed(rows, n_scores),
        target=target,
        uncompared=constraint.uncompared and _embed(constraint.uncompared, rows, n_scores),
    )


def log_odds_parameters(model):
    """Parameters by which the log-odds alone decide, as they do without constraint."""
    coef, _ = model.coefficients(np.zeros(model.n_parameters))
    first = [np.eye(1, len(one))[0] for one in np.atleast_2d(coef)]
    if len(first) == 1:
        return model.parameters(first[0], 0.0)
    return model.parameters(first, np.zeros(len(first)))
