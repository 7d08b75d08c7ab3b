"""Affinities, their normalised form, and the group constraint of fair spectral clustering."""

import numpy as np
from scipy import linalg, sparse

TILE_BYTES = 2**25  # of one tile of kernel values


class RBFAffinity:
    r"""The Gaussian kernel of the rows of X, multiplied tile by tile and never stored.

    .. math:: K_{ij} = \exp(-\gamma \|x_i - x_j\|^2)

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Rows.
    gamma : float, default=1.0
        Inverse squared width of the kernel, positive.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.cluster import RBFAffinity
    >>> affinity = RBFAffinity(np.array([[0.0], [1.0]]), gamma=1.0)
    >>> (affinity @ np.eye(2)).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    def __init__(self, X, gamma=1.0):
        self.X = X
        self.gamma = gamma
        self.shape = (len(X), len(X))
        self.dtype = X.dtype

    def astype(self, dtype):
        """The same kernel computed in another precision.

        Parameters
        ----------
        dtype : dtype
            Floating point type.
        """
        return RBFAffinity(self.X.astype(dtype), self.gamma)

    def __matmul__(self, V):
        """Product with a matrix of shape (n_samples, n_columns)."""
        X = self.X
        half_norms = 0.5 * np.einsum("ij,ij->i", X, X)
        product = np.empty((len(X), V.shape[1]), dtype=np.result_type(X, V))
        tile = max(1, TILE_BYTES // (X.itemsize * len(X)))
        for start in range(0, len(X), tile):
            rows = slice(start, start + tile)
            kernel = X[rows] @ X.T
            kernel -= half_norms[rows, None]
            kernel -= half_norms
            np.minimum(kernel, 0, out=kernel)  # rounding must not make a similarity above 1
            kernel *= 2 * self.gamma
            np.exp(kernel, out=kernel)
            product[rows] = kernel @ V
        return product


class NormalizedAffinity:
    r"""The linear map :math:`M = D^{-1/2} K D^{-1/2}`, with D the degrees (row sums) of K.

    A node without any edge counts as of degree 1. Products are made in the precision of what is
    multiplied; `n_products` counts the columns multiplied so far.
    """

    def __init__(self, affinity):
        self.affinity = affinity
        self.n_nodes = affinity.shape[0]
        degrees = np.asarray(affinity @ np.ones((self.n_nodes, 1)), dtype=np.float64).ravel()
        self.isolated = degrees <= 0
        self.degrees = np.where(self.isolated, 1.0, degrees)
        self.n_products = 0
        self._casts = {np.dtype(affinity.dtype): affinity}

    def __call__(self, V):
        """M times V, (n_nodes, n_columns)."""
        if V.dtype not in self._casts:
            self._casts[V.dtype] = self.affinity.astype(V.dtype)
        self.n_products += V.shape[1]
        scale = (1 / np.sqrt(self.degrees)).astype(V.dtype)[:, None]
        return scale * (self._casts[V.dtype] @ (scale * V))

    def to_dense(self):
        """M as an array, (n_nodes, n_nodes) float64."""
        K = self.affinity
        if sparse.issparse(K):
            K = K.toarray()
        elif isinstance(K, RBFAffinity):
            K = K @ np.eye(self.n_nodes)
        scale = 1 / np.sqrt(self.degrees)
        return scale[:, None] * K * scale


def group_constraint(codes, n_groups, degrees):
    r"""Orthonormal basis C of the columns of F; embeddings with :math:`C'H = 0` are group-fair.

    :math:`F = D^{-1/2} (G - 1 z')`, with G the 0-1 membership and z the shares of the groups; one
    column is redundant, and a pivoted QR finds any further dependence.
    """
    membership = np.zeros((len(codes), n_groups))
    membership[np.arange(len(codes)), codes] = 1.0
    F = (membership - membership.mean(axis=0)) / np.sqrt(degrees)[:, None]
    if n_groups == 1:
        return F[:, :0]
    Q, R, _ = linalg.qr(F[:, :-1], mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(R))
    return Q[:, diagonal > len(codes) * np.finfo(float).eps * diagonal[0]]
