"""Problems of very many samples, in blocks of rows that threads process at the same time."""

from skfair.losses import over_pairs
from skfair.models import LinearModel
from skfair.partitions import SUBSAMPLE_SIZES, blocks, make_partitions
from skfair.problems import PartitionedProblem, PartitionedRankProblem, is_large
from skfair.solvers import SQP


def divide(problem, solver, n_jobs):
    """A problem of very many samples in blocks of rows for threads.

    The problem itself if it is small, or not a sum over its samples.
    """
    if not (is_large(problem) and is_sum(problem, solver)):
        return problem
    subsample = problem.draw_subsample(SUBSAMPLE_SIZES["linear, blocks"])
    if subsample is problem:
        return problem
    partitions = make_partitions(blocks(len(problem.target)), n_jobs).map(problem.subset)
    return make_partitioned(problem, partitions, subsample)


def make_partitioned(problem, partitions, subsample):
    """A problem's settings, with partitions in place of its samples."""
    compares_ranks = "ranks" in problem.constraint.statistics
    make = PartitionedRankProblem if compares_ranks else PartitionedProblem
    return make.from_problem(problem, partitions, subsample)


def is_sum(problem, solver):
    """Whether all that a solver needs of a problem is a sum over its samples."""
    is_exact = isinstance(solver, SQP) and solver.hessian == "exact"
    is_linear = isinstance(problem.model, LinearModel)
    adds_up = problem.constraint.adds_up and not over_pairs(problem.loss)
    return is_exact and is_linear and adds_up
