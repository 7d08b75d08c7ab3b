"""Convergence curves of solvers: objective, rows, gap and residual on training and test data."""

import warnings
from time import process_time
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from skfair.plotting._display import COLORS
from skfair.solvers import StochasticSolver
from skfair.solvers._solver import Iterate, estimate_multipliers, kkt_residual

ACTIVE = 1e-3
"""Distance to its bound below which a row is active when multipliers are estimated."""


class Schedule(NamedTuple):
    """Times at which a solver's iterate is evaluated."""

    unit: str  # "steps" or "CPU s"
    times: tuple  # ascending


def convergence_curve(solver, problems, start, seed, schedule):
    """Evaluate the iterates of a solver at scheduled times. The evaluation is not timed.

    Parameters
    ----------
    solver : Solver
        The solver. A stochastic one is followed by steps, not by epochs.
    problems : dict of str to ConstrainedProblem
        "train", which is solved, and "test", with the same parameters.
    start : ndarray of shape (n_unknowns,)
        First iterate.
    seed : int or RandomState instance
        Seed of all random numbers.
    schedule : Schedule
        Times of the evaluations. The run ends after the last one.

    Returns
    -------
    points : list of dict
        One per evaluation: steps, CPU seconds, and the values of `state`.
    x : ndarray of shape (n_unknowns,)
        The last iterate.
    """
    points = []
    seconds = 0.0
    iterate = None
    steps = enumerate(_steps(solver, problems["train"], start, check_random_state(seed)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the papers' steps exceed their theorems
        while len(points) < len(schedule.times):
            begin = process_time()
            step = next(steps, None)
            seconds += process_time() - begin
            if step is None:  # the solver has terminated
                break
            k, iterate = step
            progress = {"steps": k, "CPU s": seconds}
            if progress[schedule.unit] >= schedule.times[len(points)]:
                points.append(progress | _evaluate(problems, *iterate))
    if len(points) < len(schedule.times):
        points.append({"steps": k, "CPU s": seconds} | _evaluate(problems, *iterate))
    return points, iterate[0]


def _evaluate(problems, x, multipliers, details):
    return state(problems, x, multipliers) | details


def _steps(solver, problem, start, random_state):
    """Yield unknowns, multipliers and further numbers at the start and after every step."""
    problem = problem.join_rows() if solver.one_row else problem
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
    """Objective, violation, rows and gap by the public metric; residual on the training data.

    The residual is the smaller of that with the solver's multipliers and that with the multipliers
    estimated at the point.
    """
    figures = {}
    for name, problem in problems.items():
        # Solvers have different auxiliary unknowns, so they are computed from the parameters.
        evaluation = problem.evaluate(problem.initial_point(x[: problem.n_parameters]))
        bounds = problem.constraint
        bounds = bounds if isinstance(bounds, tuple) else (bounds,)
        figures[f"{name} objective"] = evaluation.fun
        figures[f"{name} violation"] = evaluation.violation
        figures[f"{name} gap"] = float(max(bound.value(evaluation.scores) for bound in bounds))
        figures |= {f"{name} row {i}": float(value) for i, value in enumerate(evaluation.values)}
        if name == "train":
            figures["residual"] = _residual(evaluation, multipliers)
    return figures


def _residual(evaluation, multipliers):
    candidates = [estimate_multipliers(evaluation, ACTIVE)]
    if len(multipliers) == len(evaluation.values):  # the solver has the same rows
        candidates.append(multipliers)
    return min(kkt_residual(Iterate(evaluation, duals)) for duals in candidates)


def draw_quartiles(ax, curves, column, *, label=None, color=COLORS[0], against="CPU s"):
    """Draw the median of curves with one schedule, the band between quartiles, and the mean.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes to draw on.
    curves : list of list of dict
        Points of every run.
    column : str
        Name of the value on the vertical axis.
    label : str or None, default=None
        Name of the median in the legend.
    color : color, default=COLORS[0]
        Colour of median, band and mean.
    against : str, default="CPU s"
        Name of the value on the horizontal axis. Its median over the runs is drawn.
    """
    n_points = min(map(len, curves))
    times, heights = (
        np.array([[point[name] for point in points[:n_points]] for points in curves])
        for name in (against, column)
    )
    times = np.median(times, axis=0)
    low, middle, high = np.quantile(heights, (0.25, 0.5, 0.75), axis=0)
    ax.fill_between(times, low, high, color=color, alpha=0.25, linewidth=0)
    ax.plot(times, middle, color=color, label=label)
    if len(curves) > 1:
        ax.plot(times, heights.mean(axis=0), color=color, linestyle=":", linewidth=1)
