"""Courses of solvers over time: objective, rows, gap and residual, on training and test rows."""

import warnings
from time import process_time
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from skfair.plotting._style import COLORS
from skfair.solvers import Iterate, StochasticSolver, estimate_multipliers, kkt_residual

ACTIVE = 1e-3
"""How near to its bound a row is active, for the multipliers that suit an iterate best."""


class Looks(NamedTuple):
    """When a course is looked at."""

    unit: str  # "steps" or "CPU s"
    at: tuple  # ascending


def course(solver, problems, start, seed, looks):
    """What a solver reaches by when; the time of looking is not counted.

    Parameters
    ----------
    solver : Solver
        The solver. Of a stochastic one every step is followed, not every epoch.
    problems : dict of str to ConstrainedProblem
        "train", which is solved, and "test", in the same parameters.
    start : ndarray of shape (n_unknowns,)
        Where to start.
    seed : int or RandomState instance
        Source of all draws.
    looks : Looks
        When to look; after the last one the run ends.

    Returns
    -------
    points : list of dict
        One per look: steps, CPU seconds, and what `state` says.
    x : ndarray of shape (n_unknowns,)
        The last iterate.
    """
    points, spent, here = [], 0.0, None
    steps = enumerate(_steps(solver, problems["train"], start, check_random_state(seed)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of steps beyond a theorem, as the paper's
        while len(points) < len(looks.at):
            begin = process_time()
            step = next(steps, None)
            spent += process_time() - begin
            if step is None:  # a solver that has found what it can
                break
            k, here = step
            reached = {"steps": k, "CPU s": spent}
            if reached[looks.unit] >= looks.at[len(points)]:
                points.append(reached | _seen(problems, *here))
    if len(points) < len(looks.at):
        points.append({"steps": k, "CPU s": spent} | _seen(problems, *here))
    return points, here[0]


def _seen(problems, x, multipliers, details):
    return state(problems, x, multipliers) | details


def _steps(solver, problem, start, random_state):
    """Unknowns, multipliers and further numbers at the start and after every step."""
    problem = problem.single() if solver.one_row else problem
    if isinstance(solver, StochasticSolver):
        yield start, np.zeros(len(problem.lower)), {}
        for x, multipliers in solver._steps(problem, start, random_state):
            yield x, multipliers, {}
    for iterate in solver._iterate(problem, start[: problem.n_unknowns], random_state):
        numbers = {
            f"{name} {i}": float(value)
            for name, values in iterate.details.items()
            for i, value in enumerate(np.atleast_1d(values))
        }
        yield iterate.evaluation.x, iterate.multipliers, numbers


def state(problems, x, multipliers=()):
    """Objective, violation, rows and gap by the public metric on all rows; residual on training.

    The residual is that with the solver's multipliers or with those that suit the point best,
    whichever is less.
    """
    found = {}
    for whose, problem in problems.items():
        # Auxiliary unknowns are those that suit the parameters, as solvers have different ones.
        here = problem.evaluate(problem.initial_point(x[: problem.n_parameters]))
        bounds = getattr(problem.constraint, "constraints", (problem.constraint,))
        found[f"{whose} objective"] = here.fun
        found[f"{whose} violation"] = here.violation
        found[f"{whose} gap"] = float(max(bound.gap(here.scores) for bound in bounds))
        found |= {f"{whose} row {i}": float(value) for i, value in enumerate(here.values)}
        if whose == "train":
            found["residual"] = _residual(here, multipliers)
    return found


def _residual(evaluation, multipliers):
    tried = [estimate_multipliers(evaluation, ACTIVE)]
    if len(multipliers) == len(evaluation.values):  # the solver's rows are these
        tried.append(multipliers)
    return min(kkt_residual(Iterate(evaluation, duals)) for duals in tried)


def draw_quartiles(ax, courses, column, *, label=None, color=COLORS[0], against="CPU s"):
    """Median of courses of the same looks, the band between their quartiles, and their mean.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    courses : list of list of dict
        Points of every run.
    column : str
        What is drawn.
    label : str or None, default=None
        Name of the median in the legend.
    color : color, default=COLORS[0]
        Colour of the median; band and mean have it too.
    against : str, default="CPU s"
        Column of the horizontal axis, of which the median over the runs is taken.
    """
    n_points = min(map(len, courses))
    times, heights = (
        np.array([[point[name] for point in points[:n_points]] for points in courses])
        for name in (against, column)
    )
    times = np.median(times, axis=0)
    low, middle, high = np.quantile(heights, (0.25, 0.5, 0.75), axis=0)
    ax.fill_between(times, low, high, color=color, alpha=0.25, linewidth=0)
    ax.plot(times, middle, color=color, label=label)
    if len(courses) > 1:
        ax.plot(times, heights.mean(axis=0), color=color, linestyle=":", linewidth=1)
