"""Similarities of the rows of a fit to each other and of new rows to them."""

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import NearestNeighbors, kneighbors_graph

from skfair.cluster.spectral._fair_embedding import check_affinity
from skfair.cluster.spectral._normalized_affinity import RBFAffinity


class Affinity:
    """The affinity of rows, by the parameters of a `FairSpectralClustering`."""

    def __init__(self, parameters):
        self.kind = parameters.affinity
        self.gamma = parameters.gamma
        self.n_neighbors = parameters.n_neighbors
        self.n_jobs = parameters.n_jobs
        self.memory_limit = parameters.memory_limit
        self.can_tile = self.kind == "rbf" and parameters.eigen_solver != "nullspace"

    def compute(self, X):
        """The affinity of the rows of X: stored within ``memory_limit``, else an RBFAffinity.

        Raises a MemoryError if it exceeds the limit and cannot be recomputed tile by tile.
        """
        n_samples = X.shape[0]
        if self.kind == "precomputed":
            return check_affinity(X, self.n_jobs)
        if self.kind == "nearest_neighbors":
            n_neighbors = min(self.n_neighbors, n_samples)
            # Neighbours are not mutual: the mean of both directions is symmetric.
            graph = kneighbors_graph(X, n_neighbors, include_self=True, n_jobs=self.n_jobs)
            return sparse.csr_array(0.5 * (graph + graph.T))
        # Store the kernel if it fits, else recompute it tile by tile in every product.
        n_bytes = 8 * n_samples**2
        if n_bytes <= self.memory_limit:
            return check_affinity(self._kernel(X, X), self.n_jobs)
        if sparse.issparse(X) or not self.can_tile:
            raise MemoryError(
                f"The affinity of {n_samples} rows would take {n_bytes} bytes, above "
                f"memory_limit={self.memory_limit}. Raise memory_limit, or use affinity='rbf' with "
                "dense rows and another eigen_solver, which recomputes the kernel tile by tile, or "
                "affinity='nearest_neighbors'."
            )
        return RBFAffinity(X, self.gamma, self.n_jobs)

    def compare(self, X, Y):
        """Similarities of new rows X to the rows Y of a fit; X itself if precomputed."""
        if self.kind == "precomputed":
            return X
        if self.kind == "nearest_neighbors":
            n_neighbors = min(self.n_neighbors, Y.shape[0])
            neighbors = NearestNeighbors(n_neighbors=n_neighbors, n_jobs=self.n_jobs)
            return neighbors.fit(Y).kneighbors_graph(X)
        return self._kernel(X, Y)

    def _kernel(self, X, Y):
        """The kernel of all pairs of rows, as an array."""
        if not callable(self.kind):
            return rbf_kernel(X, Y, gamma=self.gamma)
        similarity = self.kind(X, Y)
        similarity = similarity.toarray() if sparse.issparse(similarity) else similarity
        similarity = np.asarray(similarity, dtype=np.float64)
        if similarity.shape != (X.shape[0], Y.shape[0]):
            raise ValueError(
                f"affinity(X, Y) must return one similarity per pair of rows, shape "
                f"{(X.shape[0], Y.shape[0])}, but it returned shape {similarity.shape}."
            )
        return similarity
