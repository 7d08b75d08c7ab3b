"""Input of k-means: from what users pass to a clustering problem, and from its solution back."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_array

from skfair._kernels.kmeans import nearest_centers
from skfair._kernels.limits import has_rows, reached_limits
from skfair.cluster._requirements import (
    ClusterRequirements,
    check_requirements,
    describe,
    missing_groups_message,
    warn_of_duplicates,
    warn_of_one_group,
)
from skfair.cluster.kmeans._dual import fair_assignment
from skfair.cluster.kmeans._partitioned import PartitionedClustering
from skfair.cluster.kmeans._problem import (
    BaseClusteringProblem,
    ClusteringProblem,
    compared_groups,
    find_twins,
    order_groups,
    recompute_point,
    sum_by_group,
)
from skfair.groups import (
    Groups,
    GroupSummary,
    Summary,
    check_alignment,
    check_samples,
    encode_block,
    find_first_rows,
    refuse_continuous_attributes,
)
from skfair.partitions import is_partitioned, partitions_of
from skfair.utils._features import check_finite_squares, explain_conversion


class KMeansInput(NamedTuple):
    """Validated input of a fit: rows with a weight are clustered, others only get a label."""

    problem: BaseClusteringProblem
    mean: np.ndarray  # (n_features,) what was subtracted
    groups: GroupSummary  # of the samples
    requirements: ClusterRequirements
    complete: Callable  # labels of samples, centred centres -> labels of all rows
    present: np.ndarray | None = None  # (n_samples,) rows of positive weight, of data in memory
    lacks_groups: bool = False  # balanced clusters are required, but there are no two groups

    @property
    def data_balance(self):
        """Balance of the samples as one cluster, in the scales of the requirements."""
        return self.problem.balance

    @property
    def largest_weight(self):
        return self.problem.largest_weight

    def counts(self, labels, n_clusters):
        """Weight of every group in every cluster, from labels of all rows in memory."""
        intersections = self.problem.limits.intersections
        by_code = self.problem.count_intersections(labels[self.present], n_clusters)
        counts = np.zeros((n_clusters, self.problem.n_groups))
        for groups in intersections.T:  # of one attribute
            np.add.at(counts, (slice(None), groups), by_code)
        return counts

    def describe(self, point):
        """Fitted attributes of a point, with the bound that its fair assignment gives."""
        problem, clustering = self.problem, point.clustering
        # The bound is that of the limits reached: no clustering with these centres and limits is
        # cheaper.
        limits = reached_limits(clustering.counts, problem.limits)
        dual = point.dual if limits.level > 0 else None
        assignment = fair_assignment(problem, clustering.centers, limits, dual)
        return self.describe_clustering(point) | {
            "offsets_": assignment.offsets[:, self.requirements.places],
            "lower_bound_": min(float(assignment.value), point.cost),
            **self.label_rows(point),
        }

    def describe_fit(self, point):
        """Fitted attributes of the point that a fit ends with.

        Clusters of equal centres are merged where there are fewer distinct rows than clusters. The
        empty clusters that are left come last, at the centre of another one.
        """
        problem, n_clusters = self.problem, len(point.clustering.sizes)
        twins, distinct = np.unique(find_twins(problem, point), return_inverse=True)
        n_distinct = len(twins)
        if n_distinct == n_clusters or problem.count_distinct_rows(n_clusters) == n_clusters:
            return self.describe(point)
        warn_of_duplicates(n_distinct, n_clusters)
        if has_rows(problem.limits):  # an empty cluster may be too small
            return self.describe(point)
        labels = problem.relabel(point.clustering.labels, distinct.astype(np.int32))
        attributes = self.describe(recompute_point(problem, labels, n_distinct))
        merged = np.delete(distinct, twins)
        for name in ("cluster_centers_", "_centers", "offsets_"):
            values = attributes[name]
            attributes[name] = np.concatenate([values, values[merged]])
        fills = {"cluster_sizes_": 0.0, "group_counts_": 0.0}
        for name, fill in (
            fills | dict.fromkeys(("cluster_balances_", "cluster_share_ratios_"), np.nan)
        ).items():
            values = attributes[name]
            attributes[name] = np.concatenate([values, np.full_like(values[merged], fill)])
        return attributes

    def describe_labels(self, labels, n_clusters):
        """Fitted attributes of labels of all rows in memory."""
        point = recompute_point(self.problem, labels[self.present], n_clusters)
        return self.describe(point) | {"labels_": labels}

    def describe_clustering(self, point):
        """Fitted attributes of a point that need no further pass over partitioned data."""
        problem, clustering = self.problem, point.clustering
        cost = problem.cost_of(clustering) if point.cost is None else point.cost
        return {
            "cluster_centers_": clustering.centers + self.mean,
            "_mean": self.mean,
            "_centers": clustering.centers,
            "inertia_": cost,
            "objective_": cost / problem.total_weight,
            "groups_": self.groups,
            **self.describe_counts(clustering.counts),
        }

    def describe_counts(self, counts):
        """Fitted attributes that follow from the group counts of clusters in the problem."""
        by_group = counts[:, self.requirements.places]
        return describe(by_group, self.requirements, self.problem.largest_weight)

    def label_rows(self, point):
        """The fitted labels of a point."""
        labels = self.problem.labels_of(point)
        return {"labels_": self.complete(labels, point.clustering.centers)}


def check_input(estimator, X, sensitive_features, sample_weight):
    """Validate the input of ``estimator.fit``.

    Raises
    ------
    ValueError
        For anything scikit-learn refuses in X, for rows that do not match, for negative weights,
        for fewer rows of positive weight than clusters, for sizes that no clusters have; of
        partitioned data the message says in which partition.
    """
    if is_partitioned(X, sensitive_features, sample_weight):
        return _check_partitioned(estimator, X, sensitive_features, sample_weight)
    # Metadata are aligned with X as it was passed: an index of pandas is lost by the conversion.
    passed = X
    check_alignment(sensitive_features=sensitive_features)  # no name, also if X has text
    with explain_conversion(X, estimator):
        X = check_array(
            X, dtype=np.float64, order="C", copy=True, input_name="X", estimator=estimator
        )
    check_finite_squares(X, "X")
    missing = missing_groups_message(estimator)
    samples, present = check_samples(sensitive_features, sample_weight, missing=missing, X=passed)
    refuse_continuous_attributes(samples.groups)
    n_samples, n_rows = len(present), len(X)
    if n_samples < estimator.n_clusters:
        among = "" if n_samples == n_rows else " rows of positive sample_weight"
        raise ValueError(
            f"n_samples={n_samples}{among} should be >= n_clusters={estimator.n_clusters}; "
            "ask for fewer clusters."
        )
    # The groups that are compared, in an order that does not depend on their labels.
    groups, intersections, attributes = compared_groups(samples.groups, estimator.attributes)
    is_single = sensitive_features is not None and warn_of_one_group(estimator, groups, attributes)
    first_rows = find_first_rows(samples.groups.codes, len(intersections))
    order, intersections, places = order_groups(first_rows, intersections, attributes)
    codes, weights = np.argsort(order)[samples.groups.codes], samples.weights
    # Requirements, and limits in units of group weights.
    requirements = check_requirements(estimator, weights.sum(), bool((weights == 1).all()))
    by_group = sum_by_group(codes, weights, intersections)
    requirements = requirements.for_groups(groups, attributes, places, by_group)
    limits = requirements.limits(by_group, intersections)
    # Centre at the weighted mean; rows without weight are needed for their labels only.
    others = np.delete(X, present, axis=0) if n_samples < n_rows else None
    rows = X if others is None else X[present]
    problem = ClusteringProblem(rows, weights, codes, limits, estimator.n_jobs)
    mean = problem.mean
    rows -= mean
    return KMeansInput(
        problem,
        mean,
        groups,
        requirements,
        partial(_complete, None if others is None else others - mean, present),
        present,
        lacks_groups=is_single or (missing is not None and sensitive_features is None),
    )


def _complete(others, present, labels, centers):
    """Labels of all rows in memory; rows without weight go to the nearest centre."""
    if others is None:
        return labels
    completed = np.empty(len(present) + len(others), np.int32)
    is_present = np.zeros(len(completed), dtype=bool)
    is_present[present] = True
    completed[present], completed[~is_present] = labels, nearest_centers(others, centers)[0]
    return completed


def _check_partitioned(estimator, X, sensitive_features, sample_weight):
    """The input of partitioned data, from a pass that summarizes them."""
    blocks, summary = summarize(estimator, X, sensitive_features, sample_weight)
    total, is_count = summary.weights.sum(), summary.weight_range == (1, 1)
    requirements = check_requirements(estimator, total, is_count)
    data = partitioned_input(blocks, summary, requirements, estimator.attributes, estimator.n_jobs)
    is_single = sensitive_features is not None and warn_of_one_group(
        estimator, data.groups, data.requirements.attributes
    )
    return data._replace(lacks_groups=is_single)


def summarize(estimator, X, sensitive_features, sample_weight=None):
    """The encoded blocks of partitioned data, and their `Summary`.

    Raises
    ------
    ValueError
        For what is refused of data in memory, with the number of the partition; if clusters are to
        be balanced, but there are no groups; if there are fewer samples than clusters.
    """
    if sensitive_features is None and missing_groups_message(estimator) is not None:
        raise ValueError(
            "Balanced clusters of partitioned data need sensitive_features, but none came; pass a "
            "collection with the same partitions, or min_balance=None."
        )
    columns = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
    rows = partitions_of(estimator.n_jobs, X=X, **columns)
    blocks = rows.map(encode_block, type(estimator).__name__).persist()
    summary = Summary(blocks)
    refuse_continuous_attributes(groups_of_cells(summary))
    n_samples = summary.counts.sum()
    if n_samples < estimator.n_clusters:
        raise ValueError(
            f"n_samples={n_samples} should be >= n_clusters={estimator.n_clusters}; ask for fewer "
            "clusters."
        )
    return blocks, summary


def groups_of_cells(summary):
    """Groups of one sample of each intersection of a summary."""
    return Groups.disjoint(np.arange(len(summary.cells)), np.array(summary.cells, dtype=object))


def partitioned_input(blocks, summary, requirements, attributes="intersections", n_jobs=None):
    """The input of summarized partitions of encoded blocks."""
    # Each intersection of the summary stands for one sample, with its weight.
    codes = np.arange(len(summary.cells))
    groups, intersections, columns = compared_groups(groups_of_cells(summary), attributes)
    counts = sum_by_group(codes, summary.counts, intersections).astype(np.intp)
    groups = groups._replace(counts=counts)
    # The order of groups does not depend on their labels.
    order, intersections, places = order_groups(summary.first_rows, intersections, columns)
    summary = summary.reorder_cells(order)
    by_group = sum_by_group(codes, summary.weights, intersections)
    requirements = requirements.for_groups(groups, columns, places, by_group)
    limits = requirements.limits(by_group, intersections)
    problem = PartitionedClustering(blocks, summary, limits, n_jobs)
    return KMeansInput(problem, summary.mean, groups, requirements, problem.complete)
