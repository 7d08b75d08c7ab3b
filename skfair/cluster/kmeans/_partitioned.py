"""Clustering problems whose samples are partitioned: every algorithm asks for sums in passes.

What needs single samples is done in memory: the warm start on a subsample, and integer repair and
local search on the samples nearest to a tie, over a background of all others.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from skfair._kernels.clustering import clustering_from_sums
from skfair._kernels.fair_assignment import evaluate_dual
from skfair._kernels.kmeans import nearest_centers
from skfair._kernels.limits import excess
from skfair.cluster.kmeans._dual import ROUND_SLACK, fair_assignment, solve_dual
from skfair.cluster.kmeans._problem import (
    Background,
    BaseClusteringProblem,
    ClusteringProblem,
    Point,
    compute_cost,
    concatenate_problems,
    find_outlying,
    recompute_point,
    sum_by_group,
    sum_clusters,
    weight_up,
)
from skfair.partitions import SUBSAMPLE_SIZES, random_keys, sampling_rates

MIN_CANDIDATES, MAX_CANDIDATES = 5000, 200_000  # samples nearest to a tie, moved one by one
PER_SHORTAGE = 20  # candidates for each sample by which a count is short


class PartitionedClustering(BaseClusteringProblem):
    """Samples in partitions of encoded blocks, and limits on their clusters.

    The cells of the summary are the intersections of the limits. The labels of clusterings are
    partitions, or None until they are computed.
    """

    patience = 5  # times ``tol`` that a pass has to gain: it costs more than a round in memory

    def __init__(self, blocks, summary, limits, n_jobs=None):
        self.blocks, self.summary, self.limits, self.n_jobs = blocks, summary, limits, n_jobs
        self.n_samples, self.total_weight = int(summary.counts.sum()), summary.weights.sum()
        self.largest_weight = summary.weight_range[1]
        self.has_equal_weights = summary.weight_range[0] == summary.weight_range[1]
        codes = np.arange(len(summary.cells))
        self.group_weights = sum_by_group(codes, summary.weights, limits.intersections)
        self.partitions = blocks.map(
            _to_problem, summary.mean, limits, summary.positions, summary.first
        )

    def tabulate(self, labels, n_clusters):
        """The clustering of labels, recomputed."""
        sums = self.partitions.reduce(sum_clusters, labels, n_clusters)
        return clustering_from_sums(labels, sums)

    def cost_of(self, clustering):
        """Sum of masses times squared distances to the centres of a clustering, recomputed."""
        constant = clustering._replace(labels=None)
        return float(self.partitions.reduce(compute_cost, clustering.labels, constant))

    def subsample(self):
        """Samples in memory for the warm start: all of them where they fit.

        They are drawn by intersection and weighted up, but those that lie far out are all drawn,
        and stand for themselves.
        """
        # Draw by random keys of row numbers, at a rate by intersection.
        size, counts = SUBSAMPLE_SIZES["k-means"], self.summary.counts
        rates = sampling_rates(counts, size)
        drawn = self.partitions.gather(_draw, rates, self.summary.scatter, size)
        problems, is_far = zip(*drawn, strict=True)
        problem = concatenate_problems(problems, self.n_jobs)
        if (rates == 1).all():  # and weights are what they are
            return problem
        is_far = np.concatenate(is_far)
        # Samples far out stand for themselves, so that the others have only the remaining weight.
        far = np.bincount(problem.codes, problem.weights * is_far, len(counts))
        return weight_up(problem, self.summary.weights - far, is_far)

    def spread(self, numbers, clustering):
        """A clustering of all samples in memory, with these row numbers, as one of these."""
        labels = self.partitions.map(_select_labels, numbers, clustering.labels)
        return clustering._replace(labels=labels)

    def assign(self, point, level, share=ROUND_SLACK):
        """The point of the fair assignment to a point's centres; empty clusters keep theirs."""
        centers = point.clustering.centers
        limits = self.limits._replace(level=float(level))
        dual = fair_assignment(self, centers, limits, point.dual, 2.0, share)
        sums, _, cost = dual.extras
        clustering = clustering_from_sums(None, sums)
        means = np.where(np.isnan(clustering.centers), centers, clustering.centers)
        # From centres to means the cost falls by size times squared distance.
        cost -= float(clustering.sizes @ ((means - centers) ** 2).sum(axis=1))
        clustering = clustering._replace(centers=means)
        return Point(clustering, cost, dual, self.balance_of(clustering.counts))

    def solve_assignment(self, centers, limits, start, slack, max_iter):
        """The dual solution of the fair assignment, with sums of its clusters."""
        evaluate = partial(_evaluate_and_sum, centers)
        solution, _ = solve_dual(self.partitions, limits, start, slack, max_iter, evaluate)
        return solution._replace(centers=centers)

    def labels_of(self, point):
        """Labels of a point, from its dual solution unless they are known."""
        if point.clustering.labels is not None:
            return point.clustering.labels
        nothing = np.zeros(0, dtype=np.intp)
        return self._labels_with_moves(point.dual, nothing, nothing)

    def relabel(self, labels, numbers):
        """Labels of clusters that get other numbers."""
        return labels.map(_relabel, numbers).keep()

    def _labels_with_moves(self, dual, numbers, labels):
        """Labels of the dual solution, but for samples of some numbers."""
        dual_solution = dual.centers, dual.sample_offsets
        return self.partitions.map(_assign_with_moves, *dual_solution, numbers, labels)

    def candidates(self, point):
        """Yield samples that integer repair and local search may move, and their point.

        They are in memory, over a background of all others. First come those nearest to a tie.
        """
        dual, (sums, _, _) = point.dual, point.dual.extras
        _, sizes, counts, _ = sums
        n_short = excess(counts, self.limits) / self.largest_weight
        n_empty = int((sizes == 0).sum())
        n_wanted = int(np.clip(PER_SHORTAGE * n_short, MIN_CANDIDATES, MAX_CANDIDATES))
        # As many as in the dual's width are near a tie.
        spacing = dual.width / max(dual.n_near, 1)
        width = spacing * n_wanted if spacing > 0 else np.inf
        yield self._load_candidates(point, width, n_wanted, n_empty)
        if self.has_equal_weights:
            # Moves got stuck: clusters far from all others have no samples near a tie.
            yield self._load_candidates(point, np.inf, n_wanted, 2 * int(n_short) + 10 + n_empty)

    def _load_candidates(self, point, *wanted):
        """The problem of candidates in memory, and their point: see `_nearest_ties`."""
        dual, n_clusters = point.dual, len(point.clustering.sizes)
        # Each block gives its nearest, of which the nearest of all remain.
        loaded = self.partitions.gather(_load, dual.centers, dual.sample_offsets, wanted)
        problems, labels, gaps = zip(*loaded, strict=True)
        problem = concatenate_problems(problems)
        labels, gaps = np.concatenate(labels), np.concatenate(gaps)
        rows = _nearest_ties(problem, labels, gaps, *wanted)
        problem, labels, gaps = problem.subset(rows), labels[rows], gaps[rows]
        problem = replace(
            problem, n_jobs=self.n_jobs, background=self._background(problem, labels, dual)
        )
        dual = dual._replace(labels=labels, gaps=gaps)
        # Where many samples are equal, all may be in one of the clusters that are as near.
        members = dual.extras[0][3].sum(axis=1) // self.n_attributes
        if not members.all():
            labels = problem.fill(labels, members, point.clustering.centers)
        return problem, recompute_point(problem, labels, n_clusters, dual)

    def _background(self, problem, labels, dual):
        """All samples but those of a problem in memory."""
        # Sums over all samples are known from the dual: subtract those of the candidates.
        (sums, counts, cost), centers = dual.extras, dual.centers
        candidate_sums = sum_clusters(problem, labels, len(centers))
        clustering = clustering_from_sums(labels, candidate_sums)._replace(centers=centers)
        return Background(
            tuple(total - loaded for total, loaded in zip(sums, candidate_sums, strict=True)),
            counts - problem.count_intersections(labels, len(centers)),
            cost - problem.cost_of(clustering),
            centers,
            self.n_samples - len(labels),
            self.summary.weight_range,
        )

    def merge(self, problem, point):
        """The point of all samples, from that of the candidates, recomputed."""
        # Only the moves travel: each partition repeats the assignment and applies them.
        moved = np.flatnonzero(point.clustering.labels != point.dual.labels)
        numbers, labels = problem.numbers[moved], point.clustering.labels[moved]
        labels = self._labels_with_moves(point.dual, numbers, labels).keep()
        return recompute_point(self, labels, len(point.clustering.sizes), point.dual)

    def complete(self, labels, centers):
        """Labels of all rows as one array; rows without weight go to the nearest centre."""
        self.summary.check_unchanged(self.blocks)
        if sum(self.summary.lengths) > self.n_samples:
            mean = self.summary.mean
            labels = self.blocks.map(_label_all_rows, labels.keep(), centers, mean)
        return labels.concatenate(self.summary.lengths, np.empty(0, np.int32))


def _to_problem(block, mean, limits, positions, first):
    """The problem of the rows of a block that have a weight."""
    weights = np.ones(len(block.X)) if block.weights is None else block.weights
    codes, numbers = block.codes_among(positions), block.row_numbers(first)
    X, unit_costs = block.X - mean, block.unit_costs
    problem = ClusteringProblem(X, weights, codes, limits, None, unit_costs, numbers)
    return problem if block.weights is None else problem.subset(np.flatnonzero(weights > 0))


def _draw(problem, rates, scatter, size):
    """The samples of a block that are drawn, and which of them lie far."""
    is_far = find_outlying(problem, scatter, size)
    drawn = np.flatnonzero(is_far | (random_keys(problem.numbers) < rates[problem.codes]))
    return problem.subset(drawn), is_far[drawn]


def _select_labels(problem, numbers, labels):
    return labels[np.searchsorted(numbers, problem.numbers)]


def _evaluate(problem, centers, offsets, width=0.0):
    """The dual of a block's samples."""
    rows = problem.costs_by_cluster(centers), problem.codes, problem.weights
    return evaluate_dual(rows, offsets, width)


def _evaluate_and_sum(centers, problem, offsets, width):
    """The dual, with sums of clusters, counts of intersections and the cost as extras."""
    evaluation = _evaluate(problem, centers, offsets, width)
    sums = sum_clusters(problem, evaluation.labels, len(centers))
    # The dual sums distances plus offsets: without the offsets it is the cost.
    cost = evaluation.value - float((offsets * evaluation.counts).sum())
    return evaluation._replace(extras=(sums, evaluation.counts, cost))


def _load(problem, centers, offsets, wanted):
    """The samples of a block that `_nearest_ties` takes, their labels and gaps."""
    evaluation = _evaluate(problem, centers, offsets)
    labels, gaps = evaluation.labels, evaluation.gaps
    rows = _nearest_ties(problem, labels, gaps, *wanted)
    return problem.subset(rows), labels[rows], gaps[rows]


def _nearest_ties(problem, labels, gaps, width, n_wanted, per_cell):
    """Positions of samples with the smallest gaps below a width, ties by random keys.

    At most so many are wanted, and in addition some of each intersection in every cluster.
    """
    near = np.flatnonzero(gaps < width)
    near = near[np.lexsort((random_keys(problem.numbers[near]), gaps[near]))]
    # Rank of each sample within its intersection and cluster, in the same order.
    cells = problem.codes[near] * (1 + labels.max(initial=0)) + labels[near]
    by_cell = np.argsort(cells, kind="stable")
    ranks = np.arange(len(cells)) - np.searchsorted(cells[by_cell], cells[by_cell])
    return np.unique(np.append(near[:n_wanted], near[by_cell[ranks < per_cell]]))


def _assign_with_moves(problem, centers, offsets, numbers, moved):
    """Labels of the fair assignment, but for the samples that moved."""
    labels = _evaluate(problem, centers, offsets).labels
    # Of all moves those of this block; row numbers of a block ascend.
    is_here = np.isin(numbers, problem.numbers, assume_unique=True)
    labels[np.searchsorted(problem.numbers, numbers[is_here])] = moved[is_here]
    return labels


def _relabel(labels, numbers):
    return numbers[labels]


def _label_all_rows(block, labels, centers, mean):
    """Labels of all rows of a block, from those of the rows that have a weight."""
    if len(labels) == len(block.X):
        return labels
    completed, _ = nearest_centers(block.X - mean, centers)
    completed[block.weights > 0] = labels
    return completed
