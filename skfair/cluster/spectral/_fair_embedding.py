"""The embedding of fair spectral clustering."""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite, check_array, check_random_state

from skfair.cluster.spectral._eigen_solvers import EIGEN_SOLVERS, nullspace
from skfair.cluster.spectral._literature import DCADMM, SFSC
from skfair.cluster.spectral._normalized_affinity import NormalizedAffinity, RBFAffinity
from skfair.cluster.spectral._orthonormalize import orthonormalize
from skfair.groups import check_groups
from skfair.partitions import InMemory, blocks
from skfair.utils._graph import group_constraint
from skfair.utils._messages import spelling_hint

SMALL = 600  # nodes up to which the dense eigenproblem is fastest
SMALLEST_SCALE, LARGEST_SCALE = 1e-30, 1e30  # of affinities that single precision can take
BLOCK = 256  # rows of a dense affinity that a thread checks, in tiles that stay in the cache
SYMMETRIC = 1e-8  # difference of mirrored entries of M that counts as rounding


class FairEmbedding(NamedTuple):
    """A group-fair spectral embedding, see `fair_embedding`.

    Attributes
    ----------
    embedding : ndarray of shape (n_nodes, n_components)
        H, with orthonormal columns; the first is the trivial one, proportional to the roots of the
        degrees (not for "dca-admm", whose columns come in no order, nor where isolated nodes make
        it unfair).
    eigenvalues : ndarray of shape (n_components,)
        Ritz values of M in the embedding, the largest first.
    objective : float
        Tr(H' M H), their sum.
    violation : float
        Frobenius norm of C'H, with C an orthonormal basis of the group constraint; 0 is fair.
    n_products : int
        Number of columns that were multiplied by M.
    converged : bool
        Whether the solver met its stop test; never of "dca-admm", nor of "nystroem" with fewer
        landmarks than nodes.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.cluster import fair_embedding
    >>> graph = np.ones((6, 6))
    >>> found = fair_embedding(graph, sensitive_features=[0, 1] * 3, n_components=1)
    >>> round(found.objective, 6), found.violation < 1e-9, found.converged
    (1.0, True, True)
    """

    embedding: np.ndarray
    eigenvalues: np.ndarray
    objective: float
    violation: float
    n_products: int
    converged: bool


def fair_embedding(
    affinity,
    *,
    sensitive_features,
    n_components,
    eigen_solver="auto",
    tol=3e-5,
    random_state=None,
    n_jobs=None,
):
    r"""Spectral embedding in which every group has the same mean.

    Solves, with M the normalised affinity :math:`D^{-1/2} K D^{-1/2}` and F the group constraint,

    .. math:: \max_H \; \mathrm{Tr}(H'MH) \quad \text{s.t.} \quad H'H = I_k, \; F'H = 0

    (problem (5) of [1]_, after [2]_). The root of the degrees solves it with eigenvalue 1 and is
    known beforehand; the other columns are computed. A node without any edge has the median degree
    of the others in F, so that no result depends on the scale of the affinity. It has rows and
    columns of zeros in M, and the known vector is 0 there. This vector is computed like the other
    columns where it is not fair to the groups.

    Parameters
    ----------
    affinity : array-like or sparse matrix of shape (n_nodes, n_nodes), or RBFAffinity
        Symmetric and non-negative: a graph or a kernel. An `RBFAffinity` is never stored.
    sensitive_features : array-like of shape (n_nodes,) or (n_nodes, n_attributes)
        Group of each node.
    n_components : int
        Number k of columns of the embedding.
    eigen_solver : str, SFSC or DCADMM, default="auto"
        One of "auto", "block-lanczos", "chebyshev", "projected", "nullspace", "dca-admm" and
        "nystroem". "nullspace" is o-FSC of [2]_, which has no settings, "projected" s-FSC of [3]_,
        "dca-admm" Algorithm 1 of [1]_; settings other than the defaults of :class:`SFSC` and
        :class:`DCADMM` come as such an object. "nystroem" approximates M through 500 randomly
        drawn nodes (ten per component if that is more); it is fair, but not optimal, and never
        chosen by "auto". The others stop at ``tol``. "auto" takes the dense eigenproblem for up to
        600 nodes, the Chebyshev filter for sparse graphs, and block Lanczos for all else.
    tol : float, default=3e-5
        Relative error of the objective, without its trivial part, at which block Lanczos and the
        Chebyshev filter stop. It is estimated from residuals and from gaps between eigenvalues.
    random_state : int, RandomState instance or None, default=None
        Determines the start of the solver.
    n_jobs : int or None, default=None
        Threads that multiply by the affinity; None is 1 unless in a ``joblib.parallel_config``
        context, -1 is all processors. An `RBFAffinity` has its own.

    Returns
    -------
    embedding : FairEmbedding

    Raises
    ------
    ValueError
        If the affinity is not square, symmetric, non-negative and finite, if it has fewer feasible
        directions than components, or if the solver is unknown.

    References
    ----------
    .. [1] F. Tonin, A. Lambert, J. Suykens and V. Cevher, "Accelerating spectral clustering under
       fairness constraints", ICML 2025.
    .. [2] M. Kleindessner, S. Samadi, P. Awasthi and J. Morgenstern, "Guarantees for spectral
       clustering with fairness constraints", ICML 2019.
    .. [3] J. Wang, D. Lu, I. Davidson and Z. Bai, "Scalable spectral clustering with group fairness
       constraints", AISTATS 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.cluster import fair_embedding
    >>> graph = np.array([[0, 3, 1, 0], [3, 0, 0, 1], [1, 0, 0, 3], [0, 1, 3, 0]])
    >>> found = fair_embedding(graph, sensitive_features=["a", "b", "a", "b"], n_components=2)
    >>> found.eigenvalues.round(2)
    array([1. , 0.5])
    """
    if not isinstance(eigen_solver, SFSC | DCADMM) and eigen_solver not in ("auto", *EIGEN_SOLVERS):
        raise ValueError(
            f"eigen_solver must be one of {['auto', *EIGEN_SOLVERS]}, an SFSC or a DCADMM, got "
            f"{eigen_solver!r}." + spelling_hint(eigen_solver, EIGEN_SOLVERS)
        )
    operator = NormalizedAffinity(check_affinity(affinity, n_jobs), n_jobs)
    groups = check_groups(sensitive_features, operator.n_nodes)
    random_state = check_random_state(random_state)
    return embed(operator, groups, n_components, eigen_solver, tol, random_state)


def embed(operator, groups, n_components, eigen_solver, tol, random_state):
    """The fair embedding of a checked affinity and encoded groups."""
    C = group_constraint(groups.codes, len(groups.labels), operator.degrees)
    n_feasible = operator.n_nodes - C.shape[1]
    if not 1 <= n_components <= n_feasible:
        raise ValueError(
            f"n_components (n_clusters unless it is given) must lie between 1 and the {n_feasible} "
            f"directions that the group constraint leaves of n_samples={operator.n_nodes}, got "
            f"{n_components}; ask for fewer."
        )
    solve = _choose(eigen_solver, operator, n_components)
    if isinstance(solve, DCADMM):
        H, converged = solve(operator, C, n_components, tol, random_state)
        return _describe(operator, C, H, converged)
    known = _trivial(operator, C)
    n_missing = n_components - known.shape[1]
    if n_missing == 0:
        return _describe(operator, C, known, True)
    basis = np.hstack([C, known])
    vectors, converged = solve(operator, basis, n_missing, tol, random_state)
    H = np.hstack([known, orthonormalize(basis, vectors.astype(np.float64))])
    return _describe(operator, C, H, converged)


def _trivial(operator, C):
    """The eigenvector that is known beforehand, (n_nodes, 1), or none: (n_nodes, 0).

    M maps the root of the degrees, 0 at isolated nodes, to itself, and no eigenvalue is above 1.
    Without isolated nodes it is feasible; with them only where the groups are as common among the
    linked nodes as among all.
    """
    trivial = np.sqrt(operator.degrees)[:, None]
    if not operator.isolated.all():  # without any edge M is zero, and all vectors are equally good
        trivial[operator.isolated] = 0.0
    trivial /= np.linalg.norm(trivial)
    infeasible = np.linalg.norm(C.T @ trivial) > len(C) * np.finfo(float).eps
    return trivial[:, :0] if infeasible and operator.isolated.any() else trivial


def _choose(eigen_solver, operator, n_components):
    """The function of a name; "auto" takes the fastest for the size and storage."""
    if not isinstance(eigen_solver, str):
        return eigen_solver
    if eigen_solver != "auto":
        return EIGEN_SOLVERS[eigen_solver]
    # The iterative solvers need a few blocks of room.
    if operator.n_nodes <= max(SMALL, 8 * n_components):
        return nullspace
    if sparse.issparse(operator.affinity):
        return EIGEN_SOLVERS["chebyshev"]
    return EIGEN_SOLVERS["block-lanczos"]


def _describe(operator, C, H, converged):
    """The record of an embedding, in double precision."""
    n_products = operator.n_products
    values, S = np.linalg.eigh(operator.within(H))
    return FairEmbedding(
        embedding=fix_signs(H @ S[:, ::-1]),
        eigenvalues=values[::-1],
        objective=float(values.sum()),
        violation=float(np.linalg.norm(C.T @ H)),
        n_products=n_products,
        converged=converged,
    )


def fix_signs(H):
    """Columns whose entry of largest absolute value is positive: no run differs by a sign."""
    rows = np.argmax(np.abs(H), axis=0)
    signs = np.sign(H[rows, np.arange(H.shape[1])])
    return H * np.where(signs == 0, 1.0, signs)


def check_affinity(affinity, n_jobs=None):
    """A finite, non-negative, symmetric affinity in double precision, as CSR where sparse.

    No result depends on its scale; extreme ones are scaled to about 1 by a power of two.
    """
    if isinstance(affinity, RBFAffinity):
        return affinity
    affinity = check_array(
        affinity,
        accept_sparse="csr",
        dtype=np.float64,
        ensure_all_finite=False,  # the pass below tells
        input_name="affinity",
        copy=False,
    )
    if affinity.shape[0] != affinity.shape[1]:
        raise ValueError(f"affinity must be square, but its shape is {affinity.shape}.")
    least, largest, mirrored = _seen(affinity, n_jobs)
    if not np.isfinite([least, largest]).all():
        assert_all_finite(affinity, input_name="affinity")
    if least < 0:
        raise ValueError(
            f"affinity must not be negative, but its least entry is {least:g}; degrees would lose "
            "their meaning. Clip it, or use another kernel."
        )
    affinity = _at_a_common_scale(affinity, largest)
    gap = 0.0 if mirrored else _asymmetry(affinity, n_jobs)
    if gap > SYMMETRIC:
        raise ValueError(
            f"affinity must be symmetric, but two mirrored entries differ by {gap:.2g} of the root "
            "of the product of their nodes' degrees; pass (affinity + affinity.T) / 2."
        )
    return affinity


def _seen(affinity, n_jobs):
    """The least and the largest entry, and whether mirrored ones are known to be equal."""
    if sparse.issparse(affinity):
        return affinity.min(), affinity.max(), False
    rows = blocks(len(affinity), BLOCK)
    seen = InMemory(rows, n_jobs).collect(_seen_of, rows, affinity)
    least, largest, mirrored = zip(*seen, strict=True)
    return np.min(least), np.max(largest), all(mirrored)


def _seen_of(a, rows, affinity):
    """The same of a block of rows from the diagonal on, and of its mirror image."""
    least, largest, mirrored = [], [], True
    for b in rows[rows.index(a) :]:
        tile, mirror = affinity[a, b], affinity[b, a].T
        equal = bool((tile == mirror).all())
        for one in [tile] if equal else [tile, mirror]:
            least.append(one.min())
            largest.append(one.max())
        mirrored &= equal
    return np.min(least), np.max(largest), mirrored


def _at_a_common_scale(affinity, largest):
    """The same, or a scaled copy if single precision cannot hold what is computed of it."""
    if largest == 0 or SMALLEST_SCALE <= largest <= LARGEST_SCALE:
        return affinity
    exponent = int(np.frexp(largest)[1])
    if not sparse.issparse(affinity):
        return np.ldexp(affinity, -exponent)
    scaled = affinity.copy()
    scaled.data = np.ldexp(affinity.data, -exponent)
    return scaled


def _asymmetry(affinity, n_jobs):
    """Largest difference of two mirrored entries of the normalised affinity.

    Relative to the degrees, so that small entries count where all of a node's are small. Dense
    arrays are not copied.
    """
    if sparse.issparse(affinity):
        sums = np.asarray(affinity.sum(axis=0)).ravel() + np.asarray(affinity.sum(axis=1)).ravel()
        root = np.sqrt(np.where(sums > 0, sums / 2, 1.0))
        gaps = abs(affinity - affinity.T).tocoo()
        return np.max(gaps.data / root[gaps.row] / root[gaps.col], initial=0.0)
    rows = blocks(len(affinity), BLOCK)
    parts = InMemory([affinity[own] for own in rows], n_jobs)
    sums = parts.total(np.sum, 0) + np.concatenate(parts.collect(np.sum, 1))
    root = np.sqrt(np.where(sums > 0, sums / 2, 1.0))
    return max(InMemory(rows, n_jobs).collect(_asymmetry_of, rows, affinity, root))


def _asymmetry_of(a, rows, affinity, root):
    """The same of a block of rows and of those beyond it."""
    worst = 0.0
    for b in rows[rows.index(a) :]:
        gaps = np.abs(affinity[a, b] - affinity[b, a].T)
        if gaps.any():
            worst = max(worst, (gaps / root[a, None] / root[b]).max())
    return worst
