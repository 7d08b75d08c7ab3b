"""Solvers of the fair embedding problem.

Each takes the operator M, an orthonormal basis B of the directions to stay orthogonal to (float64),
the number of eigenpairs wanted, a tolerance and a random state, and returns `Pairs`: an orthonormal
basis of (about) the invariant subspace of P M P, P = I - B B', of the largest eigenvalues.
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg, optimize
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

MAX_RESTARTS = 300
DEGREE = 10  # of the Chebyshev filter


class Pairs(NamedTuple):
    """What an eigen-solver found."""

    vectors: np.ndarray  # (n_nodes, n_pairs)
    converged: bool


def nullspace(operator, basis, n_pairs, tol, random_state):
    """o-FSC: a dense eigenproblem in an explicit basis of the feasible space (exact)."""
    n_nodes = operator.n_nodes
    Q, _ = linalg.qr(basis, mode="full") if basis.shape[1] else (np.eye(n_nodes), None)
    Z = Q[:, basis.shape[1] :]
    reduced = Z.T @ operator.to_dense() @ Z
    n_free = len(reduced)
    _, Y = linalg.eigh(reduced, subset_by_index=(n_free - n_pairs, n_free - 1))
    return Pairs(Z @ Y[:, ::-1], True)


def projected(operator, basis, n_pairs, tol, random_state):
    r"""s-FSC: Arnoldi on :math:`P \hat L P + \sigma (I - P)` to full accuracy.

    :math:`\hat L = I - M` is shifted by :math:`\sigma \ge \|\hat L\|` along the constraint, so
    that its smallest eigenvalues are the feasible ones.
    """
    sigma = 2.0  # the eigenvalues of I - M lie in [0, 2]

    def multiply(v):
        v = v.reshape(len(v), -1)
        inside = v - basis @ (basis.T @ v)
        image = inside - operator(inside)
        image -= basis @ (basis.T @ image)
        return image + sigma * (v - inside)

    n_nodes = operator.n_nodes
    laplacian = LinearOperator((n_nodes, n_nodes), matvec=multiply, dtype=np.float64)
    ncv = min(n_nodes, max(4 * n_pairs, 20))
    start = random_state.standard_normal(n_nodes)
    try:
        _, vectors = eigsh(laplacian, k=n_pairs, which="SA", ncv=ncv, tol=0, v0=start)
    except ArpackNoConvergence as stopped:
        missing = n_pairs - stopped.eigenvectors.shape[1]
        filling = random_state.standard_normal((n_nodes, missing))
        vectors = orthonormalize(basis, np.hstack([stopped.eigenvectors, filling]))
        return Pairs(vectors, False)
    return Pairs(vectors, True)


def block_lanczos(operator, basis, n_pairs, tol, random_state):
    """Block Lanczos in single precision with full orthogonalisation and thick restarts.

    Stops when the residual norms are at most ``tol`` times the largest eigenvalue found.
    """
    n_nodes = operator.n_nodes
    n_free = n_nodes - basis.shape[1]
    block = min(max(8, n_pairs // 2), n_free)
    n_kept = min(n_pairs + block // 2, n_free)
    n_columns = min(max(4 * n_pairs, n_kept + 3 * block), n_free)
    outside = basis.astype(np.float32)
    V = np.empty((n_nodes, n_columns + block), dtype=np.float32, order="F")
    T = np.zeros((n_columns + block, n_columns + block))
    V[:, :block] = orthonormalize(outside, _normal(random_state, n_nodes, block))
    start, size = 0, block
    for _ in range(MAX_RESTARTS):
        while True:
            image = operator(np.ascontiguousarray(V[:, start:size]))
            image -= outside @ (outside.T @ image)
            coupling = np.zeros((size, size - start))
            for _ in range(2):  # twice is enough
                part = V[:, :size].T @ image
                image -= V[:, :size] @ part
                coupling += part
            T[:size, start:size] = coupling
            T[start:size, :size] = coupling.T
            width = min(size - start, n_free - size)
            following, R = _next_block(outside, V[:, :size], image, width)
            if size + width > n_columns or width == 0:
                break
            V[:, size : size + width] = following
            start, size = size, size + width
        values, S = np.linalg.eigh(T[:size, :size])
        values, S = values[::-1], S[:, ::-1]
        residuals = np.linalg.norm(R @ S[start:size, :n_pairs], axis=0)
        if width == 0 or residuals.max() <= tol * values[0]:
            return Pairs(V[:, :size] @ S[:, :n_pairs].astype(np.float32), True)
        V[:, :n_kept] = V[:, :size] @ S[:, :n_kept].astype(np.float32)
        V[:, n_kept : n_kept + width] = following
        T[:n_kept, :n_kept] = np.diag(values[:n_kept])
        start, size = n_kept, n_kept + width
    return Pairs(V[:, :n_pairs], False)


def _next_block(outside, V, image, width):
    """An orthonormal block that spans the image, orthogonal to the basis so far, and R."""
    if width == 0:
        return image[:, :0], np.zeros((0, image.shape[1]))
    following, R = np.linalg.qr(image)
    following = following[:, :width]
    # Where the image has lost rank the block holds noise, which may lie in the basis so far.
    following = orthonormalize(np.hstack([outside, V]), following)
    return following, following.T @ image


def chebyshev(operator, basis, n_pairs, tol, random_state):
    """Subspace iteration with a Chebyshev filter, in single precision; for sparse affinities.

    The filter damps the interval [-1, smallest Ritz value]. Stops when the residual norms are at
    most ``tol`` times the largest eigenvalue found.
    """
    n_nodes = operator.n_nodes
    n_free = n_nodes - basis.shape[1]
    outside = basis.astype(np.float32)
    n_columns = min(n_pairs + max(5, n_pairs // 5), n_free)

    def multiply(X):
        image = operator(X)
        return image - outside @ (outside.T @ image)

    X = orthonormalize(outside, _normal(random_state, n_nodes, n_columns))
    values, X, residuals = _rayleigh_ritz(multiply, X)
    for _ in range(MAX_RESTARTS):
        if residuals[:n_pairs].max() <= tol * values[0]:
            return Pairs(X[:, :n_pairs], True)
        X = _filter(multiply, X, values[-1], values[0])
        values, X, residuals = _rayleigh_ritz(multiply, orthonormalize(outside, X))
    return Pairs(X[:, :n_pairs], False)


def _filter(multiply, X, cut, top):
    """The Chebyshev polynomial that is small on [-1, cut], scaled to about 1 at ``top``."""
    half, middle = np.float32((cut + 1) / 2), np.float32((cut - 1) / 2)
    first = sigma = half / np.float32(top - middle)
    previous, current = X, (multiply(X) - middle * X) * (sigma / half)
    for _ in range(DEGREE - 1):
        next_sigma = 1 / (2 / first - sigma)
        following = (multiply(current) - middle * current) * (2 * next_sigma / half)
        following -= (sigma * next_sigma) * previous
        previous, current, sigma = current, following, next_sigma
    return current


def _rayleigh_ritz(multiply, X):
    """Ritz values, vectors and residual norms, the largest value first."""
    image = multiply(X)
    values, S = np.linalg.eigh((X.T @ image).astype(np.float64))
    values, S = values[::-1], S[:, ::-1].astype(np.float32)
    X, image = X @ S, image @ S
    residuals = np.linalg.norm(image - X * values.astype(np.float32), axis=0)
    return values, X, residuals


def orthonormalize(outside, X):
    """Orthonormal basis of the part of X that is orthogonal to ``outside``."""
    for _ in range(2):  # twice is enough
        X = X - outside @ (outside.T @ X)
        X, _ = np.linalg.qr(X)
    return X


def _normal(random_state, *shape):
    return random_state.standard_normal(shape).astype(np.float32)


class ADMMSettings(NamedTuple):
    """Settings of `dca_admm`; the defaults are the paper's."""

    alpha: float = 0.005  # penalty of the splitting at the start
    n_iter: int = 10
    growth: float = 2.0  # factor by which the penalty changes ...
    imbalance: float = 10.0  # ... when one residual exceeds the other by this factor
    largest_alpha: float = 0.9  # Proposition 3.2 asks for alpha < 1
    gtol: float = 1e-3
    ftol: float = 1e-4


PAPER = ADMMSettings()


def dca_admm(operator, basis, n_pairs, tol, random_state, settings=PAPER):
    r"""ADMM with a difference-of-convex dual for the embedding, and its own stop rule.

    Splits :math:`MH = Y` and alternates ::

        H = argmin over H'H = I of the augmented Lagrangian, through min_V phi*(V) - |MV|_S1
        Y = (I - B B') (M H + P / alpha)
        P = P + alpha (M H - Y)

    The constraint holds for Y only, so that H is feasible only in the limit.
    """
    shape = (operator.n_nodes, n_pairs)
    Y, P = np.zeros(shape), np.zeros(shape)
    alpha = settings.alpha
    V = random_state.standard_normal(shape)
    for _ in range(settings.n_iter):
        V = _minimize_dual(operator, V, P, Y, alpha, settings)
        L, _, Rt = np.linalg.svd(operator(V), full_matrices=False)
        H = L @ Rt
        image = operator(H)
        previous = Y
        Y = image + P / alpha
        Y = Y - basis @ (basis.T @ Y)
        P = P + alpha * (image - Y)
        primal = np.linalg.norm(image - Y)
        dual = np.linalg.norm(alpha * (previous - Y))
        if primal > settings.imbalance * dual:
            alpha = min(alpha * settings.growth, settings.largest_alpha)
        elif dual > settings.imbalance * primal:
            alpha /= settings.growth
    return Pairs(H, False)


def _minimize_dual(operator, V, P, Y, alpha, settings):
    """Minimise phi*(V) - |MV|_S1 by L-BFGS; the gradient is A(V) - M U W' with MV = U S W'."""
    shape = V.shape

    def fun(flat):
        V = flat.reshape(shape)
        A = (V + P - alpha * Y) / (1 - alpha)
        image = operator(V)
        U, singular, Wt = _polar_parts(image)
        conjugate = np.sum(A * V) - 0.5 * np.sum(A * A) + np.sum(P * A)
        conjugate += 0.5 * alpha * np.sum((A - Y) ** 2)
        gradient = A - operator(U @ Wt)
        return conjugate - singular.sum(), gradient.ravel()

    options = {"gtol": settings.gtol, "ftol": settings.ftol}
    found = optimize.minimize(fun, V.ravel(), jac=True, method="L-BFGS-B", options=options)
    return found.x.reshape(shape)


def _polar_parts(image):
    """Thin singular value decomposition by way of the small Gram matrix."""
    squares, W = np.linalg.eigh(image.T @ image)
    singular = np.sqrt(np.maximum(squares, np.finfo(float).tiny))
    return (image @ W) / singular, singular, W.T


EIGEN_SOLVERS = {
    "block-lanczos": block_lanczos,
    "chebyshev": chebyshev,
    "projected": projected,
    "nullspace": nullspace,
    "dca-admm": dca_admm,
}
