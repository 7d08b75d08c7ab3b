"""Solvers of the fair embedding problem.

Each takes the operator M, an orthonormal basis B of the excluded directions (float64), the number
of eigenpairs, a tolerance and a random state. It returns an orthonormal basis, (n_nodes, n_pairs),
of (about) the invariant subspace of P M P, P = I - B B', of the largest eigenvalues, and whether it
met its stop test.
"""

import numpy as np
from scipy import linalg

from skfair.cluster.spectral._literature import DCADMM, SFSC
from skfair.cluster.spectral._orthonormalize import orthonormalize

MAX_STEPS = 2000  # of block Lanczos
MAX_FILTERS = 300  # of the Chebyshev iteration
DEGREE = 24  # maximum degree of the Chebyshev filter
LOG_GAIN = 12  # logarithm of the maximum gain of the filter at the largest eigenvalue
LANDMARKS = 500  # of the Nystroem approximation, or ten per pair if that is more


def nullspace(operator, basis, n_pairs, tol, random_state):
    """o-FSC: a dense eigenproblem in an explicit basis of the feasible space (exact)."""
    # Explicit basis Z of the feasible space, and the reduced dense eigenproblem.
    n_nodes = operator.n_nodes
    Q, _ = linalg.qr(basis, mode="full") if basis.shape[1] else (np.eye(n_nodes), None)
    Z = Q[:, basis.shape[1] :]
    reduced = Z.T @ operator.to_dense() @ Z
    n_free = len(reduced)
    _, Y = linalg.eigh(reduced, subset_by_index=(n_free - n_pairs, n_free - 1))
    return Z @ Y[:, ::-1], True


def block_lanczos(operator, basis, n_pairs, tol, random_state):
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
    V[:, :size] = orthonormalize(fixed, _draw_normal(random_state, n_nodes, size))
    for _ in range(MAX_STEPS):
        # Multiply the newest block, and project M onto the whole basis (Rayleigh-Ritz).
        image = operator(V[:, start:size])
        MV[:, start:size] = image - fixed @ (fixed.T @ image)
        T[:size, start:size] = V[:, :size].T @ MV[:, start:size]
        values, S = (pairs[..., :n_ritz] for pairs in _ritz_pairs(T[:size, :size]))
        residuals = MV[:, :size] @ S - V[:, :size] @ (values * S)
        errors = _errors(values, residuals)
        # Stop test: the mean error of the n_pairs leading pairs relative to their mean.
        max_error = tol * np.abs(values[:n_pairs]).mean()
        if errors[:n_pairs].mean() <= max_error:
            return V[:, :size] @ S[:, :n_pairs], True
        # Thick restart: a full basis is replaced by its leading Ritz vectors.
        inaccurate = np.flatnonzero(errors > max_error)[:block]
        if size + len(inaccurate) > n_columns:
            V[:, :n_ritz], MV[:, :n_ritz] = V[:, :size] @ S, MV[:, :size] @ S
            T[:n_ritz, :n_ritz] = np.diag(values)
            size, block = n_ritz, min(n_columns - n_ritz, max(8, 2 * n_pairs // 3))
            inaccurate = inaccurate[:block]
        # Expand by the residuals of the inaccurate pairs.
        start, size = size, size + len(inaccurate)
        V[:, start:size] = orthonormalize(columns[:, : n_fixed + start], residuals[:, inaccurate])
    return V[:, :n_pairs], False


def _add_guard_pairs(n_pairs):
    """Size of a subspace that separates the n_pairs leading pairs from the others."""
    return n_pairs + max(5, n_pairs // 5)


def _ritz_pairs(T):
    """Eigenvalues, descending, and eigenvectors of a matrix stored above the diagonal."""
    values, S = np.linalg.eigh(T.astype(np.float64), UPLO="U")
    return values[::-1].astype(np.float32), S[:, ::-1].astype(np.float32)


def _errors(values, residuals):
    r"""Estimates of the errors of Ritz values :math:`\theta_i`, by Kato and Temple.

    :math:`\min(r_i, r_i^2 / (\theta_i - \theta))` with r the norms of the residuals and
    :math:`\theta` the last Ritz value: a bound if no eigenvalue of another pair is above
    :math:`\theta`. Rounding errors count as 0.
    """
    norms = np.linalg.norm(residuals, axis=0)
    norms[norms <= 10 * np.finfo(np.float32).eps] = 0
    gaps = np.maximum(values - values[-1], np.finfo(np.float32).tiny)
    return norms * (norms / np.maximum(gaps, norms))


def chebyshev(operator, basis, n_pairs, tol, random_state):
    """Subspace iteration with a Chebyshev filter, in single precision; for sparse affinities.

    The filter damps the eigenvalues below the smallest Ritz value. Stops when the estimated
    relative error of the objective is at most ``tol``.
    """
    n_nodes = operator.n_nodes
    excluded = basis.astype(np.float32)
    n_columns = min(_add_guard_pairs(n_pairs), n_nodes - basis.shape[1])
    stripes = operator.stripes()

    def multiply(X):
        image = operator(X)
        stripes.gather(_project, image, excluded, excluded.T @ image)
        return image

    # The filter damps [low, cut], from a bound below all eigenvalues to the smallest Ritz value.
    low = _lower_bound(multiply, orthonormalize(excluded, _draw_normal(random_state, n_nodes, 1)))
    cut, top = (low + 1) / 2, 1.0
    X = orthonormalize(excluded, _draw_normal(random_state, n_nodes, n_columns))
    for _ in range(MAX_FILTERS):
        # Filter.
        X = orthonormalize(excluded, _filter(multiply, stripes, X, (low, cut), top))
        # Rayleigh-Ritz in the filtered subspace.
        image = multiply(X)
        values, S = _ritz_pairs(X.T @ image)
        X, image = X @ S, image @ S
        errors = _errors(values, image - X * values)[:n_pairs]
        if errors.mean() <= tol * np.abs(values[:n_pairs]).mean():
            return X[:, :n_pairs], True
        top, cut = values[0], values[-1]
        if cut <= low:  # low was no lower bound
            low = -1.0
    return X[:, :n_pairs], False


def _lower_bound(multiply, v, n_steps=20):
    """A probable lower bound on all eigenvalues (Zhou and Li, Linear Algebra Appl. 2011).

    The smallest Ritz value of Lanczos steps from v minus the norm of its residual, at least -1.
    """
    previous, beta = np.zeros_like(v), np.linalg.norm(v)
    diagonal, off_diagonal = [], []
    # Lanczos steps: the matrix in their basis is tridiagonal.
    for _ in range(n_steps):
        previous, v = v / beta, multiply(v / beta) - beta * previous
        diagonal.append(np.vdot(previous, v))
        v -= diagonal[-1] * previous
        beta = np.linalg.norm(v)
        off_diagonal.append(beta)
        if beta <= 10 * np.finfo(np.float32).eps:
            break
    values, S = linalg.eigh_tridiagonal(diagonal, off_diagonal[:-1])
    return max(-1.0, values[0] - abs(off_diagonal[-1] * S[-1, 0]))


def _filter(multiply, stripes, X, damped, top):
    """A Chebyshev polynomial of M times X: small on the interval ``damped``, about 1 at ``top``.

    Its degree is limited, so that ``top`` does not swamp the other columns in single precision.
    """
    low, cut = damped
    cut = min(cut, top - 3e-4 * (top - low))  # if X only has copies of one eigenvalue
    # Map [low, cut] to [-1, 1], where Chebyshev polynomials are small; outside they grow fastest.
    half, middle = (cut - low) / 2, (cut + low) / 2
    position = (top - middle) / half
    degree = int(np.clip(LOG_GAIN / np.arccosh(position), 4, DEGREE))
    first = sigma = 1 / position

    def step(previous, current, last, factor):
        following = multiply(current)
        stripes.gather(_recur, following, current, previous, middle, factor / half, last)
        return following

    # Three-term recurrence, scaled to 1 at top.
    previous, current = X, step(X, X, 0.0, sigma)
    for _ in range(degree - 1):
        next_sigma = 1 / (2 / first - sigma)
        following = step(previous, current, sigma * next_sigma, 2 * next_sigma)
        previous, current, sigma = current, following, next_sigma
    return current


def _project(rows, image, excluded, coefficients):
    """Take the excluded directions out of some rows of an image."""
    image[rows] -= excluded[rows] @ coefficients


def _recur(rows, following, current, previous, middle, factor, last):
    """Rows of the next Chebyshev polynomial, from M times the current one."""
    following[rows] -= middle * current[rows]
    following[rows] *= factor
    following[rows] -= last * previous[rows]


def _draw_normal(random_state, *shape):
    return random_state.standard_normal(shape).astype(np.float32)


def nystroem(operator, basis, n_pairs, tol, random_state, n_landmarks=None):
    r"""The eigenproblem of Nystroem's approximation of M; exact if every node is a landmark.

    With landmarks S drawn uniformly, :math:`A = P M_{:S}` and :math:`W = M_{SS}`, the leading
    eigenvectors of :math:`A W^+ A'` are computed through :math:`A = QR` from those of the small
    matrix :math:`R W^+ R'`. They satisfy the constraint exactly; their eigenvalues are not those of
    M.
    """
    n_nodes = operator.n_nodes
    if n_landmarks is None:
        n_landmarks = min(n_nodes, max(LANDMARKS, 10 * n_pairs))
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


def _complete_basis(excluded, Q, n_least, random_state):
    """Orthonormal basis of the span of Q outside ``excluded``, filled up by random columns."""
    U, shares, _ = np.linalg.svd(Q - excluded @ (excluded.T @ Q), full_matrices=False)
    U = U[:, shares > 0.5]  # of orthonormal columns: 1 outside, 0 within
    n_random = max(0, n_least - U.shape[1])
    return orthonormalize(
        excluded, np.hstack([U, random_state.standard_normal((len(Q), n_random))])
    )


EIGEN_SOLVERS = {
    "block-lanczos": block_lanczos,
    "chebyshev": chebyshev,
    "projected": SFSC(),
    "nullspace": nullspace,
    "dca-admm": DCADMM(),
    "nystroem": nystroem,
}
