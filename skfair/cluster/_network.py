"""From what users of spectral clustering pass to what the algorithms see, and on to new rows."""

from typing import NamedTuple

import numpy as np
from sklearn.utils import check_array

from skfair.cluster._affinity import Affinity
from skfair.cluster._balance import groups_missing
from skfair.cluster._fair_embedding import FairEmbedding
from skfair.cluster._limits import Asked
from skfair.cluster._normalized_affinity import NormalizedAffinity
from skfair.parts import is_in_parts
from skfair.people import Groups, check_people
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

    Raises
    ------
    ValueError
        For anything scikit-learn refuses in X, for rows that do not match, for fewer rows than
        clusters, for what is no affinity.
    TypeError
        For people who lie in parts.
    MemoryError
        See `Affinity.of`.
    """
    if is_in_parts(X, sensitive_features):
        raise TypeError(
            "A spectral embedding compares everybody with all others, who must lie in memory, but "
            "these lie in parts. Fit it to a sample of them, whose members are landmarks of the "
            "rest, and predict everybody: predict(X) answers part by part. Clusters as balanced "
            "as asked among everybody are FairKMeans's."
        )
    given = X
    X = check_array(X, accept_sparse="csr", dtype=np.float64, input_name="X", estimator=estimator)
    n_samples = X.shape[0]
    if n_samples < estimator.n_clusters:
        raise ValueError(
            f"n_samples={n_samples} should be >= n_clusters={estimator.n_clusters}; ask for fewer "
            "clusters."
        )
    missing = groups_missing(estimator)
    people, _ = check_people(sensitive_features, None, missing=missing, X=given)
    asked = Asked(estimator.min_balance or 0.0, estimator.min_share_ratio or 0.0)
    operator = NormalizedAffinity(Affinity(estimator).of(X), estimator.n_jobs)
    lacks_groups = missing is not None and sensitive_features is None
    return Network(X, operator, people.groups, asked, lacks_groups)
