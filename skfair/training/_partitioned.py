"""Problems of very many people, divided into blocks of rows that threads look at side by side."""

import numpy as np

from skfair.losses import over_pairs
from skfair.models import LinearModel
from skfair.partitions import blocks, in_blocks
from skfair.problems import PartitionedProblem, PartitionedRankProblem
from skfair.solvers import SQP

_MANY = 1 << 17
_REHEARSED = 1 << 15
"""From how many people on a problem is divided, and on how many its solution is rehearsed."""


def divided(problem, solver, n_jobs):
    """A problem of very many people in parts; itself where it is none, or no sum over parts.

    Parameters
    ----------
    problem : ConstrainedProblem
        The problem.
    solver : Solver
        What it is solved by.
    n_jobs : int or None
        As in `Threads`.

    Returns
    -------
    problem : ConstrainedProblem
    """
    n_samples = len(problem.target)
    if n_samples <= _MANY or not is_sum_over_parts(problem, solver):
        return problem
    # Fixed draws: fits of the same people are the same.
    drawn = np.unique(np.random.default_rng(0).integers(n_samples, size=_REHEARSED))
    try:
        few = problem.take(drawn)
    except ValueError:  # an event has nobody among them
        return problem
    parts = in_blocks(blocks(n_samples), n_jobs).map(problem.part)
    return problem_of_parts(problem, parts, few)


def problem_of_parts(problem, parts, few):
    """A problem's own frame around its parts, of the kind that its constraint needs.

    Parameters
    ----------
    problem : ConstrainedProblem
        Of its samples nothing is taken.
    parts : Parts
        The problems of the samples.
    few : ConstrainedProblem
        The problem among some of the people.

    Returns
    -------
    problem : PartitionedProblem
    """
    kind = (
        PartitionedRankProblem if "ranks" in problem.constraint.statistics else PartitionedProblem
    )
    return kind.of(problem, parts, few)


def is_sum_over_parts(problem, solver):
    """Whether all that a solver asks of a problem is a sum over parts of its samples."""
    is_exact = isinstance(solver, SQP) and solver.hessian == "exact"
    is_linear = isinstance(problem.model, LinearModel)
    adds_up = problem.constraint.adds_up and not over_pairs(problem.loss)
    return is_exact and is_linear and adds_up
