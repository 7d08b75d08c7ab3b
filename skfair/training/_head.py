"""Linear models of few columns under constraints, with the surrogate that serves them best."""

import warnings
from dataclasses import replace

import numpy as np

from skfair.constraints import ConstraintSystem, bind_all
from skfair.enforcement import Guarantee, Task, enforce, enforce_for_all
from skfair.losses import LogisticLoss
from skfair.models import ArgmaxModel, LinearModel
from skfair.problems import ConstrainedProblem
from skfair.solvers import SQP
from skfair.surrogates import Sigmoid

_TEMPERATURES = (1.0, 0.5, 0.25)
"""Of the sigmoid that stands for decisions: where few people are near the threshold, a wide one
moves them all, a narrow one moves those who matter."""

_ALPHA = 1e-5
_SOLVER = SQP()
_PATIENT = SQP(tol=1e-4)
"""Rows of percentiles have kinks, which no solver meets to the last digit."""

_OF_LEADS = SQP(max_iter=30, tol=1e-3, hessian="lbfgs")
"""Leads of classes have kinks wherever two others overtake one another: no Hessian tells of these,
and no solver ends in a point that it could certify. The exact searches take over soon."""


def fit_head(contests, constraints, tolerance, confidence=None, watch=None):
    """Train linear scores under constraints, by the logistic loss, and keep the bounds exactly.

    Parameters
    ----------
    contests : list of Training
        Few columns, targets, groups and weights. One has a score that decides by its sign; of
        several the one with the largest score is decided for, and each keeps the constraints.
    constraints : list of Constraint
        What must be fair.
    tolerance : float
        Largest gap of those that have no tolerance of their own.
    confidence : float or None, default=None
        Probability with which new people keep the tolerances; None promises nothing of them.
    watch : callable or None, default=None
        Told of every iteration; it stops the fit by returning True.

    Returns
    -------
    problem : ConstrainedProblem
        What was solved, its rows seen from the scores found.
    promise : Guarantee
        The model as enforcement left it; of several surrogates of the decision that which errs
        least.
    """
    loss, model = LogisticLoss(), _model(contests)
    target = np.concatenate([contest.target for contest in contests])
    weights = np.concatenate([contest.weights for contest in contests])
    tasks = []
    for temperature in _TEMPERATURES:
        with warnings.catch_warnings():
            if tasks:
                warnings.simplefilter("ignore")  # of groups left out, once is enough
            joint = _joint(contests, constraints, (Sigmoid(temperature), loss, tolerance))
        problem = ConstrainedProblem(model, loss, target, weights, _ALPHA, joint)
        solver = _OF_LEADS if len(contests) > 1 else _PATIENT if joint.is_local else _SOLVER
        tasks.append(Task(problem, _solve_with(solver, watch), model.initial(), solver))
        if joint.is_local or not any(part.counts_decisions for part in joint.parts):
            break  # no sigmoid takes part
    task, found = _least_wrong(tasks if len(contests) > 1 else _promising(tasks))
    promise = Guarantee(found, task.constraint.tolerances)
    if confidence is not None:
        start, clusters = replace(task, start=found.parameters), contests[0].people.clusters
        promise = enforce_for_all(start, "auto", confidence, clusters=clusters)
    problem = task.problem
    seen = problem.constraint.seen_from(promise.found.scores)
    return replace(problem, constraint=seen), promise


def _promising(tasks):
    """Tasks with other surrogates; the best of them, if an intercept can tell which it is.

    Searches along many lines are dear. The intercept's is cheap, and leads one row to its bound.
    """
    constraint = tasks[0].constraint
    if len(tasks) == 1 or len(constraint.lower) != 1 or not constraint.counts_decisions:
        return tasks
    task, found = _least_wrong(tasks, "sweep")
    decides_alike = len(found.decisions) == 1  # of everybody: the last resort
    if decides_alike or not found.keeps_bound:
        return tasks
    return [replace(task, start=found.parameters)]


def _least_wrong(tasks, strategy="auto"):
    """The task whose enforced model errs least, and this model."""
    tried = [(task, enforce(task, strategy)) for task in tasks]
    return min(tried, key=lambda one: one[1].rank)


def _model(contests):
    columns, weights = [contest.X for contest in contests], contests[0].weights
    if len(columns) == 1:
        return LinearModel.standardized(columns[0], weights)
    return ArgmaxModel.standardized(columns, weights)


def _joint(contests, constraints, how):
    """Every constraint on every contest, as a function of the scores of all of them."""
    n_samples, n_scores = len(contests[0].target), len(contests) * len(contests[0].target)
    bound = bind_all(constraints, [contest.people for contest in contests], *how)
    if len(contests) == 1:
        return ConstraintSystem(tuple(bound[0]))
    placed = [
        one.placed(slice(number * n_samples, (number + 1) * n_samples), n_scores)
        for number, of_contest in enumerate(bound)
        for one in of_contest
    ]
    return ConstraintSystem(tuple(placed))


def _solve_with(solver, watch):
    def solve(problem, x, other=None):
        return (other or solver).solve(problem, x, callback=watch)

    return solve
