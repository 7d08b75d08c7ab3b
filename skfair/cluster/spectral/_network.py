"""From what users of spectral clustering pass to what the algorithms see, and on to new rows."""

from typing import NamedTuple

import numpy as np
from sklearn.utils import check_array

from skfair.cluster._balance import describe, groups_missing
from skfair.cluster._limits import Asked
from skfair.cluster.kmeans._samples import Runs
from skfair.cluster.spectral._affinity import Affinity
from skfair.cluster.spectral._fair_embedding import FairEmbedding, embed
from skfair.cluster.spectral._landmarks import check_parameters, crowd_in_memory, crowd_in_parts
from skfair.cluster.spectral._normalized_affinity import NormalizedAffinity, RBFAffinity
from skfair.cluster.spectral._rounding import ROUNDINGS
from skfair.groups import Groups, check_samples, refuse_continuous_attributes
from skfair.metrics import normalized_cut
from skfair.partitions import is_partitioned
from skfair.utils._balance import count_table, data_balance


class Network(NamedTuple):
    """Everybody passed to fit, and how they are linked."""

    X: object  # array or sparse, (n_nodes, n_features) or the affinity
    operator: NormalizedAffinity
    groups: Groups
    asked: Asked
    lacks_groups: bool = False  # though a mix is asked for
    embedded: FairEmbedding | None = None

    largest_weight = 1.0  # every node counts the same

    @property
    def data_balance(self):
        """Balance of everybody as one cluster."""
        return data_balance(self.groups.counts)

    def counts(self, labels, n_clusters):
        """Members of every group in every cluster."""
        groups = self.groups
        return count_table(labels, groups.codes, None, n_clusters, len(groups.labels))

    def embed(self, parameters, random_state):
        """The same with their embedding."""
        return self._replace(
            embedded=embed(
                self.operator,
                self.groups,
                parameters.n_components or parameters.n_clusters,
                parameters.eigen_solver,
                parameters.eigen_tol,
                random_state,
            )
        )

    def cluster(self, parameters, random_state, rounds):
        """Fitted attributes of the clustering that a rounding finds."""
        labels = ROUNDINGS[parameters.rounding](
            self,
            self.embedded.embedding,
            Runs(parameters.n_clusters, n_init=parameters.n_init),
            random_state,
            lambda labels: rounds.show(lambda: self.describe(parameters, labels)),
        )
        is_complete = self.embedded.converged and not rounds.is_stopped
        return self.describe(parameters, labels) | {
            "status_": "feasible" if is_complete else "max_iter",
            "n_iter_": rounds.n_rounds,
        }

    def describe(self, parameters, labels):
        """Fitted attributes of given labels."""
        operator, embedded, n_clusters = self.operator, self.embedded, parameters.n_clusters
        is_stored = not isinstance(operator.affinity, RBFAffinity)
        return {
            "labels_": labels.copy(),
            "embedding_": embedded.embedding,
            "embedding_violation_": embedded.violation,
            "eigenvalues_": embedded.eigenvalues,
            "objective_": normalized_cut(labels, operator.affinity),
            "groups_": self.groups.summary,
            **describe(self.counts(labels, n_clusters), self.asked),
            "_X_fit": None if parameters.affinity == "precomputed" else self.X,
            "_extension": self.extension(),
            "_background": 0.0,
            "_means": self.means(labels, n_clusters),
            **({"affinity_matrix_": operator.affinity} if is_stored else {}),
        }

    def cut_short(self, parameters):
        """What to tell of an embedding that has not converged; None of others."""
        if self.embedded.converged:
            return None
        stops_by_tol = parameters.eigen_solver in ("auto", "block-lanczos", "chebyshev")
        return (
            f"The embedding of eigen_solver={parameters.eigen_solver!r} is not known to be as "
            f"accurate as eigen_tol={parameters.eigen_tol:g} asks for. "
            + ("Raise eigen_tol." if stops_by_tol else "Use eigen_solver='auto'.")
        )

    def coordinates(self):
        """The embedding as it extends to new rows, D^(-1/2) H, (n_nodes, n_components)."""
        return self.embedded.embedding / np.sqrt(self.operator.degrees)[:, None]

    def extension(self):
        """What similarities to the nodes are multiplied by to embed new rows.

        Directions that the affinity (nearly) annihilates extend to nowhere.
        """
        eigenvalues = self.embedded.eigenvalues
        kept = np.abs(eigenvalues) > 1e-6
        inverse = np.divide(1.0, eigenvalues, out=np.zeros_like(eigenvalues), where=kept)
        return self.coordinates() * inverse

    def means(self, labels, n_clusters):
        """Degree-weighted means of clusters in those coordinates, (n_clusters, n_components)."""
        T, degrees = self.coordinates(), self.operator.degrees
        sums = np.zeros((n_clusters, T.shape[1]))
        np.add.at(sums, labels, T * degrees[:, None])
        return sums / np.bincount(labels, degrees, minlength=n_clusters)[:, None]


def check_network(estimator, X, sensitive_features):
    """Validate the input of ``estimator.fit``.

    Returns
    -------
    network : Network or Crowd
        The latter of people who are compared with landmarks alone.

    Raises
    ------
    ValueError
        For anything scikit-learn refuses in X, for rows that do not match, for fewer rows than
        clusters, for what is no affinity, for what has no meaning through landmarks.
    MemoryError
        See `Affinity.of`.
    """
    in_parts = is_partitioned(X, sensitive_features)
    has_landmarks = in_parts or estimator.n_landmarks is not None
    if has_landmarks:
        check_parameters(estimator)
    asked = Asked(estimator.min_balance or 0.0, estimator.min_share_ratio or 0.0)
    if in_parts:
        return crowd_in_parts(estimator, X, sensitive_features, asked)
    given, formats = X, False if has_landmarks else "csr"
    X = check_array(X, accept_sparse=formats, dtype=np.float64, input_name="X", estimator=estimator)
    n_samples = X.shape[0]
    if n_samples < estimator.n_clusters:
        raise ValueError(
            f"n_samples={n_samples} should be >= n_clusters={estimator.n_clusters}; ask for fewer "
            "clusters."
        )
    missing = groups_missing(estimator)
    people, _ = check_samples(sensitive_features, None, missing=missing, X=given)
    refuse_continuous_attributes(people.groups)
    asked = asked._replace(numbers=people.groups.counts)
    lacks_groups = missing is not None and sensitive_features is None
    if has_landmarks:
        return crowd_in_memory(estimator, X, people.groups, asked, lacks_groups)
    operator = NormalizedAffinity(Affinity(estimator).of(X), estimator.n_jobs)
    return Network(X, operator, people.groups, asked, lacks_groups)
