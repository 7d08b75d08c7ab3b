"""Solvers of the fair embedding problem, and the affinity that they multiply with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import linalg, sparse

from skfair._kernels.sparse_samples import to_dense
from skfair._partitions.partitions import blocks, make_partitions
from skfair._utils.arrays import fill_isolated_degrees, filled_node_degrees
from skfair._utils.tables import is_sparse

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from skfair._partitions.partitions import Partitions
    from skfair._utils.tables import Table


# Orthonormal bases of the components of columns orthogonal to a subspace.


def orthonormalize(excluded: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Orthonormal basis of the component of X orthogonal to the columns of ``excluded``."""
    for _ in range(2):  # twice is enough
        X = _cholesky_qr(X - excluded @ (excluded.T @ X))
    return X


def _cholesky_qr(X: np.ndarray) -> np.ndarray:
    """Nearly orthonormal basis of the columns; by Householder QR if they are nearly dependent.

    The loss of orthogonality is about the condition number times eps, or its square times that of
    the Gram matrix in double precision: here at most 1e-3, so that a second pass removes it.
    """
    gram = np.zeros((X.shape[1], X.shape[1]))
    for rows in blocks(len(X)):
        block = X[rows].astype(np.float64, copy=False)
        gram += block.T @ block
    try:
        L = np.linalg.cholesky(gram)
    except np.linalg.LinAlgError:
        return np.linalg.qr(X)[0]
    # A tiny pivot means a column that nearly depends on the others: Cholesky loses its digits.
    if np.any(np.diag(L) <= np.finfo(np.float64).eps ** 0.25 * np.sqrt(np.diag(gram))):
        return np.linalg.qr(X)[0]
    return X @ np.linalg.inv(L).T.astype(X.dtype)


# Gaussian affinities that are not stored, and the normalised affinity as an operator.


ROWS_PER_TASK = 256  # rows of a dense affinity per task of a thread: few, for an even load
STRIPE_ROWS = 4096  # rows of a sparse affinity per task
TILE_BYTES = 2**22  # one tile of kernel values, which fits into the cache


class RBFAffinity:
    r"""Gaussian kernel that is computed in tiles when it is used, and never stored as a matrix.

    .. math:: K_{ij} = \exp(-\gamma \|x_i - x_j\|^2)

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.cluster import RBFAffinity
    >>> affinity = RBFAffinity(np.array([[0.0], [1.0]]), gamma=1.0)
    >>> (affinity @ np.eye(2)).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    def __init__(self, X: np.ndarray, gamma: float = 1.0, n_jobs: int | None = None):
        self.X = X
        self.gamma = gamma
        self.n_jobs = n_jobs
        self.shape = (len(X), len(X))
        self.dtype = X.dtype
        self._half_norms = 0.5 * np.einsum("ij,ij->i", X, X)

    def astype(self, dtype: Any) -> RBFAffinity:
        """The same kernel computed in another precision."""
        return RBFAffinity(self.X.astype(dtype), self.gamma, self.n_jobs)

    def __getitem__(self, rows: np.ndarray | slice) -> np.ndarray:
        """Rows of the kernel as an array, selected by a slice or by an array of indices."""
        # gamma |x - y|^2 from products and norms, in one buffer.
        kernel = self.X[rows] @ self.X.T
        kernel -= self._half_norms[rows, None]
        kernel -= self._half_norms
        np.minimum(kernel, 0, out=kernel)  # against similarities above 1 by rounding
        kernel *= 2 * self.gamma
        return np.exp(kernel, out=kernel)

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
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

    def __init__(self, affinity: Table | RBFAffinity, n_jobs: int | None = None) -> None:
        self.affinity = affinity
        self.n_jobs = n_jobs
        self.n_nodes = affinity.shape[0]
        self.degrees, self.isolated = self._degrees()
        self.n_products = 0
        self._in_precision: dict = {}

    def _degrees(self) -> tuple[np.ndarray, np.ndarray]:
        if not isinstance(self.affinity, np.ndarray):
            return filled_node_degrees(self.affinity)
        ones = np.ones(self.n_nodes)
        return fill_isolated_degrees(
            np.concatenate(self._row_slices().gather(_sum_rows, self.affinity, ones))
        )

    def __call__(self, V: np.ndarray) -> np.ndarray:
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
            products = self._row_slices().gather(_multiply_dense_rows, K, scaled)
            return scale * np.concatenate(products)
        return scale * (K @ (scale * V))

    def _factors(self, dtype: DTypeLike) -> tuple:
        """K and the column D^(-1/2) in a precision; a sparse K becomes stripes of M."""
        K = self.affinity
        scale = (1 / np.sqrt(self.degrees)).astype(dtype)
        if is_sparse(K):
            values = scale.repeat(np.diff(K.indptr)) * K.data * scale[K.indices]
            K = self.stripes().map(_sparse_rows, values.astype(dtype), K.indices, K.indptr)
        elif K.dtype != dtype:
            K = K.astype(dtype)
        return K, scale[:, None]

    def quadratic_form(self, V: np.ndarray) -> np.ndarray:
        """V' M V; of a dense K, which is symmetric, only the upper half is read."""
        if not isinstance(self.affinity, np.ndarray):
            return V.T @ self(V)
        scaled = V / np.sqrt(self.degrees)[:, None]
        half = self._row_slices().reduce(_half_quadratic_form, self.affinity, scaled)
        return half + half.T

    def _row_slices(self) -> Partitions:
        return make_partitions(blocks(self.n_nodes, ROWS_PER_TASK), self.n_jobs)

    def stripes(self) -> Partitions:
        """Slices of rows, as many as caches hold of a few columns, for threads."""
        return make_partitions(blocks(self.n_nodes, STRIPE_ROWS), self.n_jobs)

    def __getstate__(self) -> dict[str, Any]:
        """State without the copies in other precisions, which are recomputed."""
        return {**vars(self), "_in_precision": {}}

    @property
    def may_be_indefinite(self) -> bool:
        """Whether K is sparse or has a zero on the diagonal of a connected node.

        M may then have negative eigenvalues, unlike that of a positive semi-definite kernel.
        """
        if isinstance(self.affinity, RBFAffinity):
            return False
        has_no_loop = self.affinity.diagonal() == 0
        return sparse.issparse(self.affinity) or bool(np.any(has_no_loop & ~self.isolated))

    def loop_shares(self) -> np.ndarray:
        """Share of its affinity to itself in the degree of every node; 1 of an isolated one."""
        K = self.affinity
        loops = np.ones(self.n_nodes) if isinstance(K, RBFAffinity) else K.diagonal()
        return np.where(self.isolated, 1.0, loops / self.degrees)

    def rows(self, nodes: np.ndarray) -> np.ndarray:
        """Rows of M, (len(nodes), n_nodes) float64."""
        K = to_dense(self.affinity[nodes])
        scale = 1 / np.sqrt(self.degrees)
        return scale[nodes, None] * K * scale

    def to_dense(self) -> np.ndarray:
        """M as an array, (n_nodes, n_nodes) float64."""
        return self.rows(np.arange(self.n_nodes))


def _multiply_rows(rows: slice, affinity: RBFAffinity, V: np.ndarray) -> np.ndarray:
    return affinity[rows] @ V


def _sum_rows(rows: slice, K: np.ndarray, ones: np.ndarray) -> np.ndarray:
    return K[rows].dot(ones)


def _multiply_dense_rows(rows: slice, K: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Rows of K V from V', which is faster with few rows on the left."""
    return V.dot(K[rows].T).T


def _sparse_rows(
    rows: slice, values: np.ndarray, indices: np.ndarray, indptr: np.ndarray
) -> tuple[slice, sparse.csr_array]:
    """Rows, and those of a sparse matrix, not copied."""
    ends = indptr[rows.start : rows.stop + 1]
    entries = slice(ends[0], ends[-1])
    shape = rows.stop - rows.start, len(indptr) - 1
    stripe = (values[entries], indices[entries], ends - ends[0])
    return rows, sparse.csr_array(stripe, shape=shape)


def _multiply_stripe(
    stripe: tuple[slice, sparse.csr_array], V: np.ndarray, image: np.ndarray
) -> None:
    rows, matrix = stripe
    image[rows] = matrix @ V


def _half_quadratic_form(rows: slice, K: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Contribution of rows to the upper half of V' K V, with half of the diagonal block."""
    after = slice(rows.stop, None)
    image = 0.5 * K[rows, rows].dot(V[rows])
    image += K[rows, after].dot(V[after])
    return V[rows].T.dot(image)


# Solvers of the fair embedding problem.
#
# Each takes the operator M, an orthonormal basis B of the excluded directions (float64), the number
# of eigenpairs, a tolerance and a random state. It returns an orthonormal basis, (n_nodes,
# n_pairs), of (about) the invariant subspace of P M P, P = I - B B', of the largest eigenvalues,
# and whether it met its stop test.


def solve_in_nullspace(
    operator: NormalizedAffinity,
    basis: np.ndarray,
    n_pairs: int,
    tol: float,
    random_state: np.random.RandomState | None,
) -> tuple[np.ndarray, bool]:
    """o-FSC: a dense eigenproblem in an explicit basis of the feasible space (exact)."""
    # Explicit basis Z of the feasible space, and the reduced dense eigenproblem.
    n_nodes = operator.n_nodes
    Q, _ = linalg.qr(basis, mode="full") if basis.shape[1] else (np.eye(n_nodes), None)
    Z = Q[:, basis.shape[1] :]
    reduced = Z.T @ operator.to_dense() @ Z
    n_free = len(reduced)
    _, Y = linalg.eigh(reduced, subset_by_index=(n_free - n_pairs, n_free - 1))
    if Y.shape[1] < n_pairs:  # bisection lost copies of a repeated eigenvalue
        Y = linalg.eigh(reduced)[1][:, n_free - n_pairs :]
    return Z @ Y[:, ::-1], True


def block_lanczos(
    operator: NormalizedAffinity,
    basis: np.ndarray,
    n_pairs: int,
    tol: float,
    random_state: np.random.RandomState,
) -> tuple[np.ndarray, bool]:
    """Block Lanczos with thick restarts, as Davidson's method, in single precision.

    The basis V is expanded by the residuals of the leading Ritz pairs that are not yet accurate;
    without a preconditioner this is a Lanczos step. Until the first restart the block is wider than
    the number of pairs, as narrower blocks miss copies of a repeated eigenvalue. Stops when the
    estimated relative error of the objective is at most ``tol``.
    """
    n_nodes, n_fixed = basis.shape
    n_free = n_nodes - n_fixed
    # More Ritz pairs than requested: the guard pairs speed up convergence of the leading ones.
    n_ritz = block = min(_add_guard_pairs(n_pairs), n_free)
    n_columns = min(3 * n_ritz, n_free)
    columns = np.empty((n_nodes, n_fixed + n_columns), dtype=np.float32, order="F")
    fixed, V = columns[:, :n_fixed], columns[:, n_fixed:]
    fixed[:] = basis
    MV = np.empty_like(V)
    T = np.zeros((n_columns, n_columns), dtype=np.float32)  # V' M V, above the diagonal
    start, size = 0, n_ritz  # the newest block of V is V[:, start:size]
    V[:, :size] = orthonormalize(fixed, _draw_float32(random_state, n_nodes, size))
    for _ in range(2000):
        # Multiply the newest block, and project M onto the whole basis (Rayleigh-Ritz).
        image = operator(V[:, start:size])
        MV[:, start:size] = image - fixed @ (fixed.T @ image)
        T[:size, start:size] = V[:, :size].T @ MV[:, start:size]
        values, S = (pairs[..., :n_ritz] for pairs in _ritz_pairs(T[:size, :size]))
        residuals = MV[:, :size] @ S - V[:, :size] @ (values * S)
        errors = _ritz_errors(values, residuals)
        # Stop test: the mean error of the n_pairs leading pairs relative to their mean.
        max_error = tol * np.abs(values[:n_pairs]).mean()
        if errors[:n_pairs].mean() <= max_error:
            return V[:, :size] @ S[:, :n_pairs], True
        # Thick restart: a full basis is replaced by its leading Ritz vectors.
        inaccurate = np.flatnonzero(errors > max_error)[:block]
        if size + len(inaccurate) > n_columns:
            V[:, :n_ritz], MV[:, :n_ritz] = V[:, :size] @ S, MV[:, :size] @ S
            T[:n_ritz, :n_ritz] = np.diag(values)
            size = n_ritz
            block = min(n_columns - n_ritz, max(8, 2 * n_pairs // 3))
            inaccurate = inaccurate[:block]
        # Expand by the residuals of the inaccurate pairs.
        start = size
        size = size + len(inaccurate)
        V[:, start:size] = orthonormalize(columns[:, : n_fixed + start], residuals[:, inaccurate])
    return V[:, :n_pairs], False


def _add_guard_pairs(n_pairs: int) -> int:
    """Size of a subspace that separates the n_pairs leading pairs from the others."""
    return n_pairs + max(5, n_pairs // 5)


def _ritz_pairs(T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, descending, and eigenvectors of a matrix stored above the diagonal."""
    values, S = np.linalg.eigh(T.astype(np.float64), UPLO="U")
    return values[::-1].astype(np.float32), S[:, ::-1].astype(np.float32)


def _ritz_errors(values: np.ndarray, residuals: np.ndarray) -> np.ndarray:
    r"""Estimates of the errors of Ritz values :math:`\theta_i`, by Kato and Temple.

    :math:`\min(r_i, r_i^2 / (\theta_i - \theta))` with r the norms of the residuals and
    :math:`\theta` the last Ritz value: a bound if no eigenvalue of another pair is above
    :math:`\theta`. Rounding errors count as 0.
    """
    norms = np.linalg.norm(residuals, axis=0)
    norms[norms <= 10 * np.finfo(np.float32).eps] = 0
    gaps = np.maximum(values - values[-1], np.finfo(np.float32).tiny)
    return norms * (norms / np.maximum(gaps, norms))


def chebyshev(
    operator: NormalizedAffinity,
    basis: np.ndarray,
    n_pairs: int,
    tol: float,
    random_state: np.random.RandomState,
) -> tuple[np.ndarray, bool]:
    """Subspace iteration with a Chebyshev filter, in single precision; for sparse affinities.

    The filter damps the eigenvalues below the smallest Ritz value. Stops when the estimated
    relative error of the objective is at most ``tol``.
    """
    n_nodes = operator.n_nodes
    excluded = basis.astype(np.float32)
    n_columns = min(_add_guard_pairs(n_pairs), n_nodes - basis.shape[1])
    stripes = operator.stripes()

    def multiply(X: np.ndarray) -> np.ndarray:
        image = operator(X)
        stripes.gather(_project, image, excluded, excluded.T @ image)
        return image

    # The filter damps [low, cut], from a bound below all eigenvalues to the smallest Ritz value.
    low = _lower_bound(multiply, orthonormalize(excluded, _draw_float32(random_state, n_nodes, 1)))
    cut = (low + 1) / 2
    top = 1.0
    X = orthonormalize(excluded, _draw_float32(random_state, n_nodes, n_columns))
    for _ in range(300):
        # Filter.
        X = orthonormalize(excluded, _chebyshev_filter(multiply, stripes, X, (low, cut), top))
        # Rayleigh-Ritz in the filtered subspace.
        image = multiply(X)
        values, S = _ritz_pairs(X.T @ image)
        X = X @ S
        image = image @ S
        errors = _ritz_errors(values, image - X * values)[:n_pairs]
        if errors.mean() <= tol * np.abs(values[:n_pairs]).mean():
            return X[:, :n_pairs], True
        top, cut = values[0], values[-1]
        if cut <= low:  # low was no lower bound
            low = -1.0
    return X[:, :n_pairs], False


def _lower_bound(multiply: Any, v: np.ndarray) -> float:
    """A probable lower bound on all eigenvalues (Zhou and Li, Linear Algebra Appl. 2011).

    The smallest Ritz value of Lanczos steps from v minus the norm of its residual, at least -1.
    """
    previous = np.zeros_like(v)
    beta = np.linalg.norm(v)
    diagonal, off_diagonal = [], []
    # Lanczos steps: the matrix in their basis is tridiagonal.
    for _ in range(20):
        previous, v = v / beta, multiply(v / beta) - beta * previous
        diagonal.append(np.vdot(previous, v))
        v -= diagonal[-1] * previous
        beta = np.linalg.norm(v)
        off_diagonal.append(beta)
        if beta <= 10 * np.finfo(np.float32).eps:
            break
    values, S = linalg.eigh_tridiagonal(diagonal, off_diagonal[:-1])
    # Up to 1/2: of a graph of loops all eigenvalues are 1, which would leave nothing to damp.
    return np.clip(values[0] - abs(off_diagonal[-1] * S[-1, 0]), -1.0, 0.5)


def _chebyshev_filter(multiply, stripes, X, damped, top):
    """A Chebyshev polynomial of M times X: small on the interval ``damped``, about 1 at ``top``.

    Its degree is limited, so that ``top`` does not swamp the other columns in single precision.
    """
    low, cut = damped
    cut = min(cut, top - 3e-4 * (top - low))  # if X only has copies of one eigenvalue
    # Map [low, cut] to [-1, 1], where Chebyshev polynomials are small; outside they grow fastest.
    half = (cut - low) / 2
    middle = (cut + low) / 2
    position = (top - middle) / half
    # The gain at the largest eigenvalue is limited to exp(12), and the degree to 24.
    degree = int(np.clip(12 / np.arccosh(position), 4, 24))
    first = sigma = 1 / position

    def step(previous, current, last, factor):
        following = multiply(current)
        scale = factor / half
        factors = scale, -scale * middle, -last
        stripes.gather(_combine, (following, current, previous), factors)
        return following

    # Three-term recurrence, scaled to 1 at top.
    previous = X
    current = step(X, X, 0.0, sigma)
    for _ in range(degree - 1):
        next_sigma = 1 / (2 / first - sigma)
        following = step(previous, current, sigma * next_sigma, 2 * next_sigma)
        previous, current, sigma = current, following, next_sigma
    return current


def _project(
    rows: slice, image: np.ndarray, excluded: np.ndarray, coefficients: np.ndarray
) -> None:
    """Take the excluded directions out of some rows of an image."""
    image[rows] -= excluded[rows] @ coefficients


def _combine(rows: slice, matrices: tuple | list, factors: tuple | list) -> None:
    """Replace some rows of the first matrix by their linear combination with the others."""
    first, *others = matrices
    first[rows] *= factors[0]
    for matrix, factor in zip(others, factors[1:], strict=True):
        first[rows] += factor * matrix[rows]


def _draw_float32(random_state: np.random.RandomState, *shape: int) -> np.ndarray:
    return random_state.standard_normal(shape).astype(np.float32)


def nystroem(
    operator: NormalizedAffinity,
    basis: np.ndarray,
    n_pairs: int,
    tol: float,
    random_state: np.random.RandomState,
    n_landmarks: int | None = None,
) -> tuple[np.ndarray, bool]:
    r"""The eigenproblem of Nystroem's approximation of M; exact if every node is a landmark.

    With landmarks S drawn uniformly, :math:`A = P M_{:S}` and :math:`W = M_{SS}`, the leading
    eigenvectors of :math:`A W^+ A'` are computed through :math:`A = QR` from those of the small
    matrix :math:`R W^+ R'`. They satisfy the constraint exactly; their eigenvalues are not those of
    M.
    """
    n_nodes = operator.n_nodes
    if n_landmarks is None:
        # 500 landmarks, or ten per pair if that is more.
        n_landmarks = min(n_nodes, max(500, 10 * n_pairs))
    landmarks = np.sort(random_state.choice(n_nodes, n_landmarks, replace=False))
    columns = operator.rows(landmarks).T  # M is symmetric
    # Columns A of the landmarks without the excluded directions, and M among landmarks, W.
    W = columns[landmarks]
    A = columns - basis @ (basis.T @ columns)
    Q, R = np.linalg.qr(A)
    if np.linalg.norm(basis.T @ Q, 2) > 0.5:
        # A is rank-deficient, and the filling columns of Q are in the basis: replace them.
        Q = _complete_basis(basis, Q, n_pairs, random_state)
        R = Q.T @ A
    # Eigenvectors of A W^+ A' = Q (R W^+ R') Q' from the small matrix.
    _, Y = np.linalg.eigh(R @ linalg.pinvh(W) @ R.T)
    return Q @ Y[:, : -n_pairs - 1 : -1], n_landmarks == n_nodes


def _complete_basis(
    excluded: np.ndarray, Q: np.ndarray, n_least: int, random_state: np.random.RandomState
) -> np.ndarray:
    """Orthonormal basis of the span of Q outside ``excluded``, filled up by random columns."""
    U, shares, _ = np.linalg.svd(Q - excluded @ (excluded.T @ Q), full_matrices=False)
    U = U[:, shares > 0.5]  # of orthonormal columns: 1 outside, 0 within
    n_random = max(0, n_least - U.shape[1])
    return orthonormalize(
        excluded, np.hstack([U, random_state.standard_normal((len(Q), n_random))])
    )
