"""Solvers of the fair embedding problem.

Each takes the operator M, an orthonormal basis B of the directions to stay orthogonal to (float64),
the number of eigenpairs wanted, a tolerance and a random state. It returns an orthonormal basis,
(n_nodes, n_pairs), of (about) the invariant subspace of P M P, P = I - B B', of the largest
eigenvalues, and whether it met its stop test.
"""

import numpy as np
from scipy import linalg

from skfair.cluster.spectral._literature import DCADMM, SFSC
from skfair.cluster.spectral._orthonormalize import orthonormalize

MAX_STEPS = 2000  # of block Lanczos
MAX_FILTERS = 300  # of the Chebyshev iteration
DEGREE = 24  # of the Chebyshev filter at most
LOG_GAIN = 12  # logarithm of how much the filter may favour the largest eigenvalue
LANDMARKS = 500  # of the Nystroem approximation, or ten per pair if that is more


def nullspace(operator, basis, n_pairs, tol, random_state):
    """o-FSC: a dense eigenproblem in an explicit basis of the feasible space (exact)."""
    n_nodes = operator.n_nodes
    Q, _ = linalg.qr(basis, mode="full") if basis.shape[1] else (np.eye(n_nodes), None)
    Z = Q[:, basis.shape[1] :]
    reduced = Z.T @ operator.to_dense() @ Z
    n_free = len(reduced)
    _, Y = linalg.eigh(reduced, subset_by_index=(n_free - n_pairs, n_free - 1))
    return Z @ Y[:, ::-1], True


def block_lanczos(operator, basis, n_pairs, tol, random_state):
    """Block Lanczos with thick restarts, as Davidson's method, in single precision.

    The basis V grows by the residuals of the leading Ritz pairs that are not accurate yet; without
    a preconditioner this is a Lanczos step. Until the first restart V grows by more vectors than
    pairs are wanted: narrower blocks miss copies of a repeated eigenvalue. Stops when the estimated
    error of the objective is at most ``tol`` times that.
    """
    n_nodes, n_fixed = basis.shape
    n_free = n_nodes - n_fixed
    n_kept = block = min(_with_slack(n_pairs), n_free)
    n_columns = min(3 * n_kept, n_free)
    columns = np.empty((n_nodes, n_fixed + n_columns), dtype=np.float32, order="F")
    fixed, V = columns[:, :n_fixed], columns[:, n_fixed:]
    fixed[:] = basis
    MV = np.empty_like(V)
    T = np.zeros((n_columns, n_columns), dtype=np.float32)  # V' M V, above the diagonal
    start, size = 0, n_kept  # the newest block of V is V[:, start:size]
    V[:, :size] = orthonormalize(fixed, _normal(random_state, n_nodes, size))
    for _ in range(MAX_STEPS):
        # Multiply the newest block, and project M onto the whole basis (Rayleigh-Ritz).
        image = operator(V[:, start:size])
        MV[:, start:size] = image - fixed @ (fixed.T @ image)
        T[:size, start:size] = V[:, :size].T @ MV[:, start:size]
        values, S = (part[..., :n_kept] for part in _ritz_pairs(T[:size, :size]))
        residuals = MV[:, :size] @ S - V[:, :size] @ (values * S)
        errors = _errors(values, residuals)
        # Stop test: the mean error of the wanted pairs against their mean.
        enough = tol * np.abs(values[:n_pairs]).mean()
        if errors[:n_pairs].mean() <= enough:
            return V[:, :size] @ S[:, :n_pairs], True
        # Thick restart: where the basis is full it shrinks to its leading Ritz vectors.
        chosen = np.flatnonzero(errors > enough)[:block]
        if size + len(chosen) > n_columns:
            V[:, :n_kept], MV[:, :n_kept] = V[:, :size] @ S, MV[:, :size] @ S
            T[:n_kept, :n_kept] = np.diag(values)
            size, block = n_kept, min(n_columns - n_kept, max(8, 2 * n_pairs // 3))
            chosen = chosen[:block]
        # Expand by the residuals of the pairs that are not accurate yet.
        start, size = size, size + len(chosen)
        V[:, start:size] = orthonormalize(columns[:, : n_fixed + start], residuals[:, chosen])
    return V[:, :n_pairs], False


def _with_slack(n_pairs):
    """Number of pairs that a subspace holds so that the wanted ones are told from the others."""
    return n_pairs + max(5, n_pairs // 5)


def _ritz_pairs(T):
    """Eigenvalues, the largest first, and eigenvectors of a matrix given above the diagonal."""
    values, S = np.linalg.eigh(T.astype(np.float64), UPLO="U")
    return values[::-1].astype(np.float32), S[:, ::-1].astype(np.float32)


def _errors(values, residuals):
    r"""Estimates of how far Ritz values :math:`\theta_i` are below the eigenvalues.

    :math:`\min(r_i, r_i^2 / (\theta_i - \theta))` with r the norms of the residuals and
    :math:`\theta` the last Ritz value, beyond the wanted ones: Kato and Temple bound the error so
    if no eigenvalue of another pair lies above :math:`\theta`. Rounding errors count as none.
    """
    norms = np.linalg.norm(residuals, axis=0)
    norms[norms <= 10 * np.finfo(np.float32).eps] = 0
    gaps = np.maximum(values - values[-1], np.finfo(np.float32).tiny)
    return norms * (norms / np.maximum(gaps, norms))


def chebyshev(operator, basis, n_pairs, tol, random_state):
    """Subspace iteration with a Chebyshev filter, in single precision; for sparse affinities.

    The filter damps the eigenvalues below the smallest Ritz value. Stops when the estimated error
    of the objective is at most ``tol`` times that.
    """
    n_nodes = operator.n_nodes
    outside = basis.astype(np.float32)
    n_columns = min(_with_slack(n_pairs), n_nodes - basis.shape[1])

    def multiply(X):
        image = operator(X)
        return image - outside @ (outside.T @ image)

    # The filter damps [low, cut]: below all eigenvalues to the least Ritz value, once there is one.
    low = _lower_bound(multiply, orthonormalize(outside, _normal(random_state, n_nodes, 1)))
    cut, top = (low + 1) / 2, 1.0
    X = orthonormalize(outside, _normal(random_state, n_nodes, n_columns))
    for _ in range(MAX_FILTERS):
        X = orthonormalize(outside, _filter(multiply, X, (low, cut), top))
        # Rayleigh-Ritz in the filtered subspace.
        image = multiply(X)
        values, S = _ritz_pairs(X.T @ image)
        X, image = X @ S, image @ S
        errors = _errors(values, image - X * values)[:n_pairs]
        if errors.mean() <= tol * np.abs(values[:n_pairs]).mean():
            return X[:, :n_pairs], True
        top, cut = values[0], values[-1]
        if cut <= low:  # not a bound after all
            low = -1.0
    return X[:, :n_pairs], False


def _lower_bound(multiply, v, n_steps=20):
    """What nearly always lies below all eigenvalues: see Zhou and Li, Linear Algebra Appl. 2011.

    The least Ritz value of Lanczos steps from v, less the norm of its residual; -1 at the least.
    """
    previous, beta = np.zeros_like(v), np.linalg.norm(v)
    diagonal, beside = [], []
    for _ in range(n_steps):
        previous, v = v / beta, multiply(v / beta) - beta * previous
        diagonal.append(np.vdot(previous, v))
        v -= diagonal[-1] * previous
        beta = np.linalg.norm(v)
        beside.append(beta)
        if beta <= 10 * np.finfo(np.float32).eps:
            break
    values, S = linalg.eigh_tridiagonal(diagonal, beside[:-1])
    return max(-1.0, values[0] - abs(beside[-1] * S[-1, 0]))


def _filter(multiply, X, damped, top):
    """A Chebyshev polynomial of M times X: small on an interval, about 1 at ``top``.

    Its degree keeps columns along ``top`` from drowning the others in single precision.
    """
    low, cut = damped
    cut = min(cut, top - 3e-4 * (top - low))  # X may hold copies of one eigenvalue only
    half, middle = (cut - low) / 2, (cut + low) / 2
    position = (top - middle) / half
    degree = int(np.clip(LOG_GAIN / np.arccosh(position), 4, DEGREE))
    first = sigma = 1 / position

    def step(X, factor):
        image = multiply(X)
        image -= middle * X
        image *= factor / half
        return image

    previous, current = X, step(X, sigma)
    for _ in range(degree - 1):
        next_sigma = 1 / (2 / first - sigma)
        following = step(current, 2 * next_sigma)
        following -= (sigma * next_sigma) * previous
        previous, current, sigma = current, following, next_sigma
    return current


def _normal(random_state, *shape):
    return random_state.standard_normal(shape).astype(np.float32)


def nystroem(operator, basis, n_pairs, tol, random_state, n_landmarks=None):
    r"""The eigenproblem of Nystroem's approximation of M; exact where every node is a landmark.

    With landmarks S drawn uniformly, :math:`A = P M_{:S}` and :math:`W = M_{SS}`, the leading
    eigenvectors of :math:`A W^+ A'` are found through :math:`A = QR` as those of the small matrix
    :math:`R W^+ R'`. Their constraint is kept exactly, their eigenvalues are not those of M.
    """
    n_nodes = operator.n_nodes
    if n_landmarks is None:
        n_landmarks = min(n_nodes, max(LANDMARKS, 10 * n_pairs))
    landmarks = np.sort(random_state.choice(n_nodes, n_landmarks, replace=False))
    columns = operator.rows(landmarks).T  # M is symmetric
    W = columns[landmarks]
    A = columns - basis @ (basis.T @ columns)
    Q, R = np.linalg.qr(A)
    if np.linalg.norm(basis.T @ Q, 2) > 0.5:
        # A lacks rank, and what fills up Q is within the basis: take what is outside.
        Q = _part_outside(basis, Q, n_pairs, random_state)
        R = Q.T @ A
    _, Y = np.linalg.eigh(R @ linalg.pinvh(W) @ R.T)
    return Q @ Y[:, : -n_pairs - 1 : -1], n_landmarks == n_nodes


def _part_outside(outside, Q, n_least, random_state):
    """Orthonormal basis of what the columns of Q span outside; random columns if that is little."""
    U, shares, _ = np.linalg.svd(Q - outside @ (outside.T @ Q), full_matrices=False)
    U = U[:, shares > 0.5]  # of orthonormal columns, 1 lies outside and 0 within
    n_random = max(0, n_least - U.shape[1])
    return orthonormalize(outside, np.hstack([U, random_state.standard_normal((len(Q), n_random))]))


EIGEN_SOLVERS = {
    "block-lanczos": block_lanczos,
    "chebyshev": chebyshev,
    "projected": SFSC(),
    "nullspace": nullspace,
    "dca-admm": DCADMM(),
    "nystroem": nystroem,
}
