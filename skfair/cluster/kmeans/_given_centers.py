"""The cheapest assignment to centres that stay where they are."""

import numpy as np

from skfair._kernels.kmeans import nearest_centers, squared_distances
from skfair._kernels.limits import (
    find_memberships,
    find_share_rows,
)
from skfair.cluster.kmeans._moves import repair_by_moves
from skfair.cluster.kmeans._problem import (
    ClusteringPoint,
    ClusteringProblem,
    MeasuredPoint,
    assign_fairly,
    replace_labels,
    size_bounds,
)
from skfair.cluster.kmeans._repair import repair
from skfair.cluster.kmeans._tables import repair_to_limits
from skfair.cluster.kmeans._transport import solve_transport


def assign_to_centers(problem: ClusteringProblem, centers: np.ndarray) -> MeasuredPoint:
    """The point of the cheapest assignment that keeps the limits, with these centres.

    Bounds on sizes alone, of equal weights, have an exact solution. Else the dual is rounded, and
    moves of single samples follow.
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
    # The dual of the fair assignment, whose labels may miss limits by a few samples.
    clustering = problem.clustering_from_labels(labels, len(centers))
    nearest = ClusteringPoint(clustering._replace(centers=centers))
    point = assign_fairly(problem, nearest, limits.level)
    point = make_point(problem, point.labels, centers)._replace(dual=point.dual)
    # Integer repair: by a table of counts, or by moves of unequal weights.
    if not problem.keeps_limits(point.counts, limits.level):
        repair_labels = repair_to_limits if problem.has_equal_weights else repair_by_moves
        labels = repair_labels(problem, point, limits.level)
        point = make_point(problem, labels, centers)._replace(dual=point.dual)
    if not problem.keeps_limits(point.counts, limits.level):
        moved = replace_labels(problem, point, labels)
        point = make_point(problem, repair(problem, moved, limits.level).clustering.labels, centers)
    labels = move_to_cheaper(problem, point.labels, centers)
    return make_point(problem, labels, centers)


def make_point(
    problem: ClusteringProblem, labels: np.ndarray, centers: np.ndarray
) -> MeasuredPoint:
    """The point of labels, whose centres are given and not the means of the clusters."""
    clustering = problem.clustering_from_labels(labels, len(centers))._replace(centers=centers)
    balance = problem.balance_of(clustering.counts)
    return MeasuredPoint(clustering, problem.cost_of(clustering), None, balance)


def move_to_cheaper(
    problem: ClusteringProblem, labels: np.ndarray, centers: np.ndarray
) -> np.ndarray:
    """Labels after the moves of single samples that lower the cost and keep the limits."""
    labels = labels.copy()
    n_clusters = len(centers)
    level = problem.limits.level
    memberships = find_memberships(problem.limits)
    costs = problem.masses[:, np.newaxis] * squared_distances(problem.X, centers)
    everyone = np.arange(len(labels))
    counts = problem.count_intersections(labels, n_clusters) @ memberships
    if not problem.keeps_limits(counts, level):
        return labels
    total = costs[everyone, labels].sum()
    # More moves than any search makes: an end in spite of rounding.
    for _ in range(1000):
        gains = costs[everyone, labels][:, np.newaxis] - costs
        # The best sample of each intersection, cluster and goal, of gains that are no rounding.
        positions, goals = np.nonzero(gains > 1e-12 * total)
        order = np.argsort(-gains[positions, goals], kind="stable")
        positions = positions[order]
        goals = goals[order]
        cells = (labels[positions] * n_clusters + goals) * len(memberships) + problem.codes[
            positions
        ]
        _, first = np.unique(cells, return_index=True)
        for i in np.sort(first):
            after = counts.copy()
            change = problem.weights[positions[i]] * memberships[problem.codes[positions[i]]]
            after[labels[positions[i]]] -= change
            after[goals[i]] += change
            if problem.keeps_limits(after, level):
                labels[positions[i]] = goals[i]
                counts = after
                break
        else:
            break
    return labels
