"""A linear model of few columns under constraints, with the surrogate that serves it best."""

import warnings
from dataclasses import replace

from skfair.constraints import JointConstraint
from skfair.enforcement import Task, enforce
from skfair.losses import LogisticLoss
from skfair.models import LinearModel
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


def fit_head(training, constraints, tolerance):
    """Train linear scores under constraints, by the logistic loss, and keep the bounds exactly.

    Parameters
    ----------
    training : Training
        Few columns, targets, groups and weights.
    constraints : list of Constraint
        What must be fair.
    tolerance : float
        Largest gap of those that have no tolerance of their own.

    Returns
    -------
    problem : ConstrainedProblem
        What was solved, its rows seen from the scores found.
    found : Candidate
        The model as enforcement left it; of several surrogates of the decision that which errs
        least.
    """
    loss, model = LogisticLoss(), LinearModel.standardized(training.X, training.weights)
    tried = []
    for temperature in _TEMPERATURES:
        with warnings.catch_warnings():
            if tried:
                warnings.simplefilter("ignore")  # of groups left out, once is enough
            surrogate, people = Sigmoid(temperature), training.people
            parts = [one.bind(people, surrogate, loss, tolerance) for one in constraints]
        joint = JointConstraint(tuple(parts))
        problem = ConstrainedProblem(model, loss, training.target, training.weights, _ALPHA, joint)
        solver = _PATIENT if joint.is_local else _SOLVER
        task = Task(problem, _solve_with(solver), model.initial(), solver.tol)
        tried.append((problem, enforce(task, "auto")))
        if joint.is_local or not any(part.counts_decisions for part in parts):
            break  # no sigmoid takes part
    problem, found = min(tried, key=lambda one: one[1].rank)
    return replace(problem, constraint=problem.constraint.seen_from(found.scores)), found


def _solve_with(solver):
    def solve(problem, x, other=None):
        return (other or solver).solve(problem, x)

    return solve
