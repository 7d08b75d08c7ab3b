"""The steps of fair spectral clustering, and the extension of its embedding to new rows.

1. `check_problem` computes the affinity K of the rows and the operator M = D^-1/2 K D^-1/2.
2. `SpectralProblem.embed` computes H, the leading eigenvectors of M with the same mean in every
   group, that is C'H = 0 with C the group matrix.
3. `SpectralProblem.cluster` rounds the rows of H to balanced clusters.
4. `SpectralProblem.extension` and `means` assign new rows.

Fits through landmarks have the same steps in `skfair.cluster.spectral._landmarks`.
"""

from typing import NamedTuple

import numpy as np
from sklearn.utils import check_array

from skfair.cluster._requirements import (
    ClusterRequirements,
    describe,
    missing_groups_message,
    warn_of_one_group,
)
from skfair.cluster.kmeans._lloyd import Runs
from skfair.cluster.spectral._affinity import Affinity
from skfair.cluster.spectral._fair_embedding import FairEmbedding, embed
from skfair.cluster.spectral._landmarks import LandmarkProblem, check_parameters
from skfair.cluster.spectral._normalized_affinity import NormalizedAffinity, RBFAffinity
from skfair.cluster.spectral._rounding import ROUNDINGS
from skfair.groups import (
    Groups,
    GroupSummary,
    check_samples,
    find_first_rows,
    refuse_continuous_attributes,
)
from skfair.metrics import normalized_cut
from skfair.partitions import check_alignment, is_partitioned
from skfair.utils._balance import count_table, data_balance
from skfair.utils._features import explain_conversion


class SpectralProblem(NamedTuple):
    """A normalised affinity, the groups of its nodes, and their fair embedding once computed."""

    X: object  # array or sparse, (n_nodes, n_features) or the affinity
    operator: NormalizedAffinity
    groups: Groups  # in the order in which they appear: labels play no part
    requirements: ClusterRequirements
    lacks_groups: bool = False  # a balance is requested, but there are no two groups
    embedding: FairEmbedding | None = None
    places: np.ndarray | slice = slice(None)  # of the groups in the order of their labels

    largest_weight = 1.0  # every node counts the same

    @property
    def data_balance(self):
        """Balance of all nodes as one cluster."""
        return data_balance(self.groups.counts)

    def counts(self, labels, n_clusters):
        """Members of every group in every cluster."""
        groups = self.groups
        return count_table(labels, groups.codes, None, n_clusters, len(groups.labels))

    def embed(self, parameters, random_state):
        """The same problem with its fair embedding."""
        n_components = parameters.n_components or parameters.n_clusters
        solver, tol = parameters.eigen_solver, parameters.eigen_tol
        embedding = embed(self.operator, self.groups, n_components, solver, tol, random_state)
        return self._replace(embedding=embedding)

    def cluster(self, parameters, random_state, rounds):
        """Fitted attributes of the best clustering of the embedding."""
        labels = ROUNDINGS[parameters.rounding](
            self,
            self.embedding.embedding,
            Runs(parameters.n_clusters, n_init=parameters.n_init),
            random_state,
            lambda labels: rounds.show(lambda: self.describe(parameters, labels)),
        )
        is_complete = self.embedding.converged and not rounds.is_stopped
        return self.describe(parameters, labels) | {
            "status_": "feasible" if is_complete else "max_iter",
            "n_iter_": rounds.n_rounds,
        }

    def describe(self, parameters, labels):
        """Fitted attributes of a clustering."""
        operator, embedding, n_clusters = self.operator, self.embedding, parameters.n_clusters
        by_label = self.places
        is_stored = not isinstance(operator.affinity, RBFAffinity)
        return {
            "labels_": labels.copy(),
            "embedding_": embedding.embedding,
            "embedding_violation_": embedding.violation,
            "eigenvalues_": embedding.eigenvalues,
            "objective_": normalized_cut(labels, operator.affinity),
            "groups_": GroupSummary(*(column[by_label] for column in self.groups.summary)),
            **describe(self.counts(labels, n_clusters)[:, by_label], self.requirements),
            "_X_fit": None if parameters.affinity == "precomputed" else self.X,
            "_extension": self.extension(),
            "_background": 0.0,
            "_means": self.means(labels, n_clusters),
            **({"affinity_matrix_": operator.affinity} if is_stored else {}),
        }

    def explain_early_stop(self, parameters):
        """Message about an embedding that has not converged; None of others."""
        if self.embedding.converged:
            return None
        stops_by_tol = parameters.eigen_solver in ("auto", "block-lanczos", "chebyshev")
        return (
            f"The embedding of eigen_solver={parameters.eigen_solver!r} is not known to be as "
            f"accurate as eigen_tol={parameters.eigen_tol:g} requires. "
            + ("Raise eigen_tol." if stops_by_tol else "Use eigen_solver='auto'.")
        )

    def coordinates(self):
        """The embedding as it extends to new rows, D^(-1/2) H, (n_nodes, n_components)."""
        return self.embedding.embedding / np.sqrt(self.operator.degrees)[:, None]

    def extension(self):
        """The matrix that embeds new rows by their similarities to the nodes.

        It is zero in directions that the affinity (nearly) annihilates.
        """
        eigenvalues = self.embedding.eigenvalues
        # Nystroem: divide by eigenvalues, unless they are nearly 0 and the direction is noise.
        is_large = np.abs(eigenvalues) > 1e-6
        inverse = np.divide(1.0, eigenvalues, out=np.zeros_like(eigenvalues), where=is_large)
        return self.coordinates() * inverse

    def means(self, labels, n_clusters):
        """Degree-weighted means of clusters in the coordinates, (n_clusters, n_components)."""
        T, degrees = self.coordinates(), self.operator.degrees
        sums = np.zeros((n_clusters, T.shape[1]))
        np.add.at(sums, labels, T * degrees[:, None])
        return sums / np.bincount(labels, degrees, minlength=n_clusters)[:, None]


def check_problem(estimator, X, sensitive_features):
    """Validate the input of ``estimator.fit``: a SpectralProblem, or a LandmarkProblem.

    Raises a ValueError for what scikit-learn refuses in X, for other than one group per row, for
    fewer rows than clusters and for an invalid affinity. See `Affinity.compute` for MemoryError.
    """
    on_partitions = is_partitioned(X, sensitive_features)
    has_landmarks = on_partitions or estimator.n_landmarks is not None
    if has_landmarks:
        check_parameters(estimator)
    requirements = ClusterRequirements(
        estimator.min_balance or 0.0, estimator.min_share_ratio or 0.0
    )
    if on_partitions:
        return LandmarkProblem.from_partitions(estimator, X, sensitive_features, requirements)
    # Rows and groups in memory.
    formats, passed = False if has_landmarks else "csr", X
    check_alignment(sensitive_features=sensitive_features)  # no name, also if X has text
    with explain_conversion(X, estimator):
        X = check_array(
            X, accept_sparse=formats, dtype=np.float64, input_name="X", estimator=estimator
        )
    n_samples = X.shape[0]
    if n_samples < estimator.n_clusters:
        raise ValueError(
            f"n_samples={n_samples} should be >= n_clusters={estimator.n_clusters}. Use fewer "
            "clusters."
        )
    missing = missing_groups_message(estimator)
    samples, _ = check_samples(sensitive_features, None, missing=missing, X=passed)
    refuse_continuous_attributes(samples.groups)
    groups = samples.groups
    requirements = requirements._replace(members=groups.counts)
    if sensitive_features is None:
        lacks_groups = missing is not None
    else:
        lacks_groups = warn_of_one_group(estimator, groups)
    if has_landmarks:
        return LandmarkProblem.from_memory(estimator, X, groups, requirements, lacks_groups)
    # Affinity K of the rows, and the operator M = D^-1/2 K D^-1/2.
    operator = NormalizedAffinity(Affinity(estimator).compute(X), estimator.n_jobs)
    order = np.argsort(find_first_rows(groups.codes, len(groups.labels)))
    places = np.argsort(order)
    groups = Groups.disjoint(places[groups.codes], groups.labels[order])
    return SpectralProblem(X, operator, groups, requirements, lacks_groups, places=places)
