"""The cheapest assignment to centres that stay where they are."""

import numpy as np

from skfair._kernels.kmeans import nearest_centers
from skfair._kernels.limits import find_memberships, find_share_rows
from skfair.cluster.kmeans._problem import (
    ClusteringPoint,
    ClusteringProblem,
    MeasuredPoint,
    assign_fairly,
    size_bounds,
)
from skfair.cluster.kmeans._repair import solve_assignment
from skfair.cluster.kmeans._transport import solve_transport


def assign_to_centers(problem: ClusteringProblem, centers: np.ndarray) -> MeasuredPoint:
    """The point of the cheapest assignment that keeps the limits, with these centres.

    Bounds on sizes alone, of equal weights, have an exact solution. Else an integer program assigns
    the samples that the dual leaves near a tie.
    """
    limits = problem.limits
    labels, _ = nearest_centers(problem.X, centers)
    counts = problem.count_intersections(labels, len(centers)) @ find_memberships(limits)
    if problem.keeps_limits(counts, limits.level):
        return make_point(problem, labels, centers)
    is_plain = limits.level == 0 and not find_share_rows(limits).any()
    if is_plain and problem.has_equal_weights:
        sizes = size_bounds(problem, limits, len(centers), least=0)
        labels = solve_transport(problem.X, centers, sizes, np.zeros(len(centers))).labels
        return make_point(problem, labels, centers)
    clustering = problem.clustering_from_labels(labels, len(centers))
    nearest = ClusteringPoint(clustering._replace(centers=centers))
    assigned = assign_fairly(problem, nearest, limits.level)
    point = make_point(problem, assigned.labels, centers)._replace(dual=assigned.dual)
    return make_point(problem, solve_assignment(problem, point, limits.level).labels, centers)


def make_point(
    problem: ClusteringProblem, labels: np.ndarray, centers: np.ndarray
) -> MeasuredPoint:
    """The point of labels, whose centres are given and not the means of the clusters."""
    clustering = problem.clustering_from_labels(labels, len(centers))._replace(centers=centers)
    balance = problem.balance_of(clustering.counts)
    return MeasuredPoint(clustering, problem.cost_of(clustering), None, balance)
