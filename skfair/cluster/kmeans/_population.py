"""From what a user passes to what the algorithms see, and back."""

from typing import NamedTuple

import numpy as np
from sklearn.utils import check_array

from skfair._kernels.kmeans import nearest_centers
from skfair.cluster._balance import describe, groups_missing
from skfair.cluster._limits import Asked, check_asked
from skfair.cluster.kmeans._everybody import check_everybody
from skfair.cluster.kmeans._homotopy import fair_assignment
from skfair.cluster.kmeans._samples import ClusteringProblem, compared, weights_by_group
from skfair.groups import GroupSummary, check_samples, refuse_continuous_attributes
from skfair.partitions import is_partitioned
from skfair.utils._balance import count_table
from skfair.utils._features import check_finite_squares


class Population(NamedTuple):
    """Everybody passed to fit: those with a weight are clustered, the others only get a label."""

    X: np.ndarray  # (n_rows, n_features) float64, centred
    mean: np.ndarray  # (n_features,) what was subtracted
    present: np.ndarray  # (n_samples,) rows of positive weight
    samples: ClusteringProblem
    groups: GroupSummary  # of the samples
    asked: Asked
    lacks_groups: bool = False  # though a mix is asked for

    @property
    def data_balance(self):
        """Balance of the samples as one cluster, in the scales of what is asked."""
        return self.samples.balance

    @property
    def largest_weight(self):
        """Of a sample."""
        return self.samples.largest_weight

    def cluster(self, algorithm, runs, random_state, rounds):
        """Fitted attributes of the best clustering that an algorithm finds."""

        def watch(clustering):
            return rounds.show(lambda: self.describe_clustering(clustering))

        point, n_iter, status = algorithm.solve(
            self.samples, runs, self.samples.limits.level, random_state, watch
        )
        return self.describe(point) | {"n_iter_": n_iter, "status_": status}

    def counts(self, labels, n_clusters):
        """Weight of every group in every cluster, of labels of all rows."""
        samples, kinds = self.samples, self.samples.limits.intersections
        labels = labels[self.present]
        by_kind = count_table(labels, samples.codes, samples.weights, n_clusters, len(kinds))
        counts = np.zeros((n_clusters, samples.n_groups))
        for groups in kinds.T:  # of one attribute
            np.add.at(counts, (slice(None), groups), by_kind)
        return counts

    def complete(self, labels, centers):
        """Labels of all rows: rows without weight go to the nearest (centred) centre."""
        if len(self.present) == len(self.X):
            return labels
        completed, _ = nearest_centers(self.X, centers)
        completed[self.present] = labels
        return completed

    def describe(self, point):
        """Fitted attributes of a point; its fair assignment also tells what no other undercuts."""
        samples, clustering = self.samples, point.clustering
        reached = samples.balance_of(clustering.counts)
        dual = point.dual if reached > 0 else None
        assignment = fair_assignment(samples, clustering.centers, reached, dual)
        return self.describe_clustering(clustering, point.cost) | {
            "offsets_": assignment.offsets,
            "lower_bound_": min(assignment.value, point.cost),
        }

    def describe_clustering(self, clustering, cost=None):
        """Fitted attributes of a clustering but for those that need a fair assignment."""
        samples = self.samples
        cost = samples.cost_of(clustering) if cost is None else cost
        return {
            "labels_": self.complete(clustering.labels, clustering.centers),
            "cluster_centers_": clustering.centers + self.mean,
            "_mean": self.mean,
            "_centers": clustering.centers,
            "inertia_": cost,
            "objective_": cost / samples.weights.sum(),
            "groups_": self.groups,
            **describe(clustering.counts, self.asked, samples.largest_weight),
        }


def check_population(estimator, X, sensitive_features, sample_weight):
    """Validate the input of ``estimator.fit``.

    Raises
    ------
    ValueError
        For anything scikit-learn refuses in X, for rows that do not match, for negative weights,
        for fewer rows of positive weight than clusters, for sizes that no clusters have.
    """
    if is_partitioned(X, sensitive_features, sample_weight):
        return check_everybody(estimator, X, sensitive_features, sample_weight)
    given = X
    X = check_array(X, dtype=np.float64, order="C", copy=True, input_name="X", estimator=estimator)
    check_finite_squares(X, "X")
    missing = groups_missing(estimator)
    people, present = check_samples(sensitive_features, sample_weight, missing=missing, X=given)
    refuse_continuous_attributes(people.groups)
    if len(present) < estimator.n_clusters:
        among = "" if len(present) == len(X) else " rows of positive sample_weight"
        raise ValueError(
            f"n_samples={len(present)}{among} should be >= n_clusters={estimator.n_clusters}; "
            "ask for fewer clusters."
        )
    groups, kinds, attributes = compared(people.groups, estimator.attributes)
    asked = check_asked(estimator, people.weights)
    asked = asked._replace(attributes=attributes, numbers=groups.counts)
    everyone = len(present) == len(X)
    codes = people.groups.codes
    limits = asked.limits(weights_by_group(codes, people.weights, kinds), kinds)
    rows = X if everyone else X[present]
    samples = ClusteringProblem(rows, people.weights, codes, limits, estimator.n_jobs)
    mean = samples.mean
    X -= mean
    samples = samples if everyone else samples._replace(X=X[present])
    lacks_groups = missing is not None and sensitive_features is None
    return Population(X, mean, present, samples, groups, asked, lacks_groups)
