"""Gaussian affinities that are not stored, and the normalised affinity as an operator."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from skfair.partitions import blocks, make_partitions
from skfair.utils._graph import degrees_from_sums, node_degrees
from skfair.utils._types import MatrixLike

ROWS = 256  # rows of a dense affinity per task of a thread: few, for an even load
STRIPE = 4096  # rows of a sparse affinity per task
TILE_BYTES = 2**22  # one tile of kernel values, which fits into the cache


class RBFAffinity:
    r"""The Gaussian kernel of the rows of X, multiplied tile by tile and never stored.

    .. math:: K_{ij} = \exp(-\gamma \|x_i - x_j\|^2)

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Rows.
    gamma : float, default=1.0
        Inverse squared width of the kernel, positive.
    n_jobs : int or None, default=None
        Threads that multiply tiles; None is 1 unless in a ``joblib.parallel_config`` context.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.cluster import RBFAffinity
    >>> affinity = RBFAffinity(np.array([[0.0], [1.0]]), gamma=1.0)
    >>> (affinity @ np.eye(2)).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    def __init__(self, X: MatrixLike, gamma: float = 1.0, n_jobs: int | None = None):
        self.X = X
        self.gamma = gamma
        self.n_jobs = n_jobs
        self.shape = (len(X), len(X))
        self.dtype = X.dtype
        self._half_norms = 0.5 * np.einsum("ij,ij->i", X, X)

    def astype(self, dtype: Any) -> RBFAffinity:
        """The same kernel computed in another precision.

        Parameters
        ----------
        dtype : dtype
            Floating point type.
        """
        return RBFAffinity(self.X.astype(dtype), self.gamma, self.n_jobs)

    def __getitem__(self, rows):
        """Rows of the kernel as an array, selected by a slice or by an array of indices."""
        # gamma |x - y|^2 from products and norms, in one buffer.
        kernel = self.X[rows] @ self.X.T
        kernel -= self._half_norms[rows, None]
        kernel -= self._half_norms
        np.minimum(kernel, 0, out=kernel)  # against similarities above 1 by rounding
        kernel *= 2 * self.gamma
        return np.exp(kernel, out=kernel)

    def __matmul__(self, V):
        """Product with a matrix of shape (n_samples, n_columns)."""
        n_samples = len(self.X)
        tile = max(1, TILE_BYTES // (self.X.itemsize * n_samples))
        tiles = make_partitions(blocks(n_samples, tile), self.n_jobs)
        return np.concatenate(tiles.gather(_multiply_rows, self, V))


class NormalizedAffinity:
    r"""The linear map :math:`M = D^{-1/2} K D^{-1/2}`, with D the degrees (row sums) of K.

    A node without edges has the median degree of the others. Products are computed in the precision
    of the factor, by ``n_jobs`` threads; `n_products` counts the columns multiplied so far.
    """

    def __init__(self, affinity, n_jobs=None):
        self.affinity = affinity
        self.n_jobs = n_jobs
        self.n_nodes = affinity.shape[0]
        self.degrees, self.isolated = self._degrees()
        self.n_products = 0
        self._in_precision = {}

    def _degrees(self):
        if not isinstance(self.affinity, np.ndarray):
            return node_degrees(self.affinity)
        ones = np.ones(self.n_nodes)
        return degrees_from_sums(
            np.concatenate(self._rows().gather(_sum_rows, self.affinity, ones))
        )

    def __call__(self, V):
        """M times V, (n_nodes, n_columns)."""
        # K and the scale are converted once for each precision.
        if V.dtype not in self._in_precision:
            self._in_precision[V.dtype] = self._factors(V.dtype)
        self.n_products += V.shape[1]
        K, scale = self._in_precision[V.dtype]
        if sparse.issparse(self.affinity):
            image = np.empty((self.n_nodes, V.shape[1]), V.dtype)
            K.gather(_multiply_stripe, V, image)
            return image
        if isinstance(K, np.ndarray):
            scaled = np.ascontiguousarray((scale * V).T)
            products = self._rows().gather(_multiply_dense_rows, K, scaled)
            return scale * np.concatenate(products)
        return scale * (K @ (scale * V))

    def _factors(self, dtype):
        """K and the column D^(-1/2) in a precision; a sparse K becomes stripes of M."""
        K = self.affinity
        scale = (1 / np.sqrt(self.degrees)).astype(dtype)
        if sparse.issparse(K):
            values = scale.repeat(np.diff(K.indptr)) * K.data * scale[K.indices]
            K = self.stripes().map(_sparse_rows, values.astype(dtype), K.indices, K.indptr)
        elif K.dtype != dtype and isinstance(K, np.ndarray):
            stored, K = K, np.empty(K.shape, dtype)
            self._rows().gather(_convert_rows, stored, K)
        elif K.dtype != dtype:
            K = K.astype(dtype)
        return K, scale[:, None]

    def quadratic_form(self, V):
        """V' M V; of a dense K, which is symmetric, only the upper half is read."""
        if not isinstance(self.affinity, np.ndarray):
            return V.T @ self(V)
        scaled = V / np.sqrt(self.degrees)[:, None]
        half = self._rows().reduce(_half_quadratic_form, self.affinity, scaled)
        return half + half.T

    def _rows(self):
        return make_partitions(blocks(self.n_nodes, ROWS), self.n_jobs)

    def stripes(self):
        """Slices of rows, as many as caches hold of a few columns, for threads."""
        return make_partitions(blocks(self.n_nodes, STRIPE), self.n_jobs)

    def __getstate__(self):
        """State without the copies in other precisions, which are recomputed."""
        return {**vars(self), "_in_precision": {}}

    @property
    def is_graph(self):
        """Whether K is sparse or has a zero on the diagonal of a connected node.

        M may then have negative eigenvalues, unlike that of a positive semi-definite kernel.
        """
        if isinstance(self.affinity, RBFAffinity):
            return False
        has_no_loop = self.affinity.diagonal() == 0
        return sparse.issparse(self.affinity) or bool(np.any(has_no_loop & ~self.isolated))

    def rows(self, nodes):
        """Rows of M, (len(nodes), n_nodes) float64."""
        K = self.affinity[nodes]
        if sparse.issparse(K):
            K = K.toarray()
        scale = 1 / np.sqrt(self.degrees)
        return scale[nodes, None] * K * scale

    def to_dense(self):
        """M as an array, (n_nodes, n_nodes) float64."""
        return self.rows(np.arange(self.n_nodes))


def _multiply_rows(rows, affinity, V):
    return affinity[rows] @ V


def _sum_rows(rows, K, ones):
    return K[rows].dot(ones)


def _multiply_dense_rows(rows, K, V):
    """Rows of K V from V', which is faster with few rows on the left."""
    return V.dot(K[rows].T).T


def _sparse_rows(rows, values, indices, indptr):
    """Rows, and those of a sparse matrix, not copied."""
    ends = indptr[rows.start : rows.stop + 1]
    entries = slice(ends[0], ends[-1])
    shape = rows.stop - rows.start, len(indptr) - 1
    stripe = (values[entries], indices[entries], ends - ends[0])
    return rows, sparse.csr_array(stripe, shape=shape)


def _multiply_stripe(stripe, V, image):
    rows, matrix = stripe
    image[rows] = matrix @ V


def _half_quadratic_form(rows, K, V):
    """Contribution of rows to the upper half of V' K V, with half of the diagonal block."""
    after = slice(rows.stop, None)
    image = 0.5 * K[rows, rows].dot(V[rows])
    image += K[rows, after].dot(V[after])
    return V[rows].T.dot(image)


def _convert_rows(rows, stored, copy):
    copy[rows] = stored[rows]
