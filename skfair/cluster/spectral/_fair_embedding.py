"""The embedding of fair spectral clustering, and affinities to new samples."""

from __future__ import annotations

from collections import ChainMap
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import assert_all_finite, check_array, check_random_state

from skfair._groups import check_groups
from skfair._groups.known import warn_of_unclear_labels
from skfair._kernels.sparse_samples import to_dense
from skfair._partitions.partitions import blocks, make_partitions
from skfair._utils.api import MatrixLike, RandomState
from skfair._utils.arrays import group_constraint_basis
from skfair._utils.checks import check_in_memory, spelling_hint, warn
from skfair._utils.sklearn import StrOptions
from skfair.cluster.literature._eigen_solvers import DCADMM, SFSC
from skfair.cluster.spectral._eigen_solvers import (
    NormalizedAffinity,
    RBFAffinity,
    block_lanczos,
    chebyshev,
    nystroem,
    orthonormalize,
    solve_in_nullspace,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from sklearn.base import BaseEstimator

    from skfair._groups.groups import Groups
    from skfair._utils.tables import Table, TableLike


# The embedding of fair spectral clustering.


EIGEN_SOLVERS = {
    "block-lanczos": block_lanczos,
    "chebyshev": chebyshev,
    "projected": SFSC(),
    "nullspace": solve_in_nullspace,
    "dca-admm": DCADMM(),
    "nystroem": nystroem,
}

EigenSolver = Annotated[str, StrOptions(ChainMap({"auto": None}, EIGEN_SOLVERS))] | SFSC | DCADMM
"""A solver of the embedding problem, or its name."""

ROWS_PER_CHECK = 256  # of a dense affinity per task, in tiles that fit into the cache
NO_AFFINITY = 1e-6  # affinity to all other rows, relative to the degree, that is as good as none


class FairEmbedding(NamedTuple):
    """A group-fair spectral embedding; `fair_embedding` describes its fields."""

    embedding: np.ndarray
    eigenvalues: np.ndarray
    objective: float
    violation: float
    n_products: int
    converged: bool


def fair_embedding(
    affinity: MatrixLike | RBFAffinity,
    *,
    sensitive_features: MatrixLike,
    n_components: int,
    eigen_solver: str | SFSC | DCADMM = "auto",
    tol: float = 3e-5,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> FairEmbedding:
    r"""Spectral embedding in which every group has the same mean.

    Solves, with M the normalised affinity :math:`D^{-1/2} K D^{-1/2}` and F the group constraint,

    .. math:: \max_H \; \mathrm{Tr}(H'MH) \quad \text{s.t.} \quad H'H = I_k, \; F'H = 0

    (problem (5) of [1]_, after [2]_). The root of the degrees is a known solution of eigenvalue 1.
    The other columns are computed. A node without edges has the median degree of the others in F,
    so that no result depends on the scale of the affinity. Its row and column of M are zero, and so
    is its entry of the known vector. Where this vector violates the constraint it is computed like
    the other columns.

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
        "nystroem". "nullspace" is o-FSC of [2]_, "projected" s-FSC of [3]_ and "dca-admm" Algorithm
        1 of [1]_. Pass an :class:`SFSC` or a :class:`DCADMM` for other settings than the defaults.
        "nystroem" approximates M through 500 random nodes (ten per component if that is more). It
        is fair, but not optimal, and never chosen by "auto". The others stop at ``tol``. "auto" is
        the dense eigenproblem for up to 600 nodes, the Chebyshev filter for sparse graphs, and
        block Lanczos otherwise.
    tol : float, default=3e-5
        Relative error of the objective, without the trivial column, at which block Lanczos and the
        Chebyshev filter stop. It is estimated from residuals and gaps between eigenvalues.
    random_state : int, RandomState instance or None, default=None
        Determines the starting vectors of the solver.
    n_jobs : int or None, default=None
        Threads that multiply by the affinity; None is 1 unless in a ``joblib.parallel_config``
        context, -1 is all processors. An `RBFAffinity` has its own.

    Returns
    -------
    embedding : named tuple with the fields

        embedding : ndarray of shape (n_nodes, n_components)
            H, with orthonormal columns; the first is the trivial one, proportional to the roots of
            the degrees (not for "dca-admm", whose columns are unordered, nor where isolated nodes
            make it unfair).
        eigenvalues : ndarray of shape (n_components,)
            Ritz values of M in the embedding, descending.
        objective : float
            Tr(H' M H), their sum.
        violation : float
            Frobenius norm of C'H, with C an orthonormal basis of the group constraint; 0 is fair.
        n_products : int
            Number of columns that were multiplied by M.
        converged : bool
            Whether the solver met its stop test; always False for "dca-admm" without a ``tol`` of
            :class:`DCADMM`, and for "nystroem" with fewer landmarks than nodes.

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
    >>> round(found.objective, 6), found.violation < 1e-9, found.converged
    (1.5, True, True)
    """
    if not isinstance(eigen_solver, SFSC | DCADMM) and eigen_solver not in ("auto", *EIGEN_SOLVERS):
        raise ValueError(
            f"eigen_solver must be one of {['auto', *EIGEN_SOLVERS]}, an SFSC or a DCADMM, got "
            f"{eigen_solver!r}." + spelling_hint(eigen_solver, EIGEN_SOLVERS)
        )
    check_in_memory(affinity=affinity, sensitive_features=sensitive_features)
    operator = NormalizedAffinity(check_affinity(affinity, n_jobs), n_jobs)
    groups = check_groups(sensitive_features, operator.n_nodes)
    warn_of_unclear_labels(groups)
    random_state = check_random_state(random_state)
    return embed(operator, groups, n_components, eigen_solver, tol, random_state)


def warn_of_no_clusters(lone_share: float, eigenvalues: np.ndarray, equal_value: float) -> None:
    """Warn of an affinity without clusters: rows are similar to no other, or all equally similar.

    All rows are equally similar where no eigenvalue after the first is above that of such an
    affinity, ``equal_value``.
    """
    if len(eigenvalues) < 2:  # one cluster needs no affinity
        return
    # A warning says that a quarter of the rows are similar to none.
    if lone_share > 0.25:
        finding = (
            f"{lone_share:.1%} of the rows are similar to no other row: their affinities to all "
            f"others are less than {NO_AFFINITY:g} of their degrees"
        )
    elif eigenvalues[1] <= equal_value + NO_AFFINITY:
        finding = (
            "All rows are equally similar, up to the groups: no eigenvalue of the affinity after "
            f"the first exceeds {eigenvalues[1]:.2g}"
        )
    else:
        return
    warn(
        f"{finding}. Clusters of such rows are arbitrary. Scale the columns of X and choose gamma "
        "near 1 / the median squared distance of two rows, or use more n_neighbors; of a graph, "
        "pass the nodes that have edges."
    )


def embed(
    operator: NormalizedAffinity,
    groups: Groups,
    n_components: int,
    eigen_solver: BaseEstimator | str,
    tol: float,
    random_state: np.random.RandomState | int | None,
) -> FairEmbedding:
    """The fair embedding of a checked affinity and encoded groups."""
    # Orthonormal group matrix C: C'H = 0 means that all groups have the same mean.
    C = group_constraint_basis(groups.codes, len(groups.labels), operator.degrees)
    return embed_within(operator, C, n_components, eigen_solver, tol, random_state)  # type: ignore[arg-type]


def embed_within(
    operator: NormalizedAffinity,
    C: np.ndarray,
    n_components: int,
    eigen_solver: BaseEstimator | str,
    tol: float,
    random_state: np.random.RandomState | None,
) -> FairEmbedding:
    """The embedding orthogonal to the orthonormal columns of C."""
    n_feasible = operator.n_nodes - C.shape[1]
    if not 1 <= n_components <= n_feasible:
        raise ValueError(
            f"n_components (by default n_clusters) must be between 1 and {n_feasible}, the number "
            f"of feasible directions of n_samples={operator.n_nodes} under the group constraint, "
            f"got {n_components}. Use fewer components."
        )
    solve = _resolve_eigen_solver(eigen_solver, operator, n_components)
    if isinstance(solve, DCADMM):
        H, converged = solve(operator, C, n_components, tol, random_state)  # type: ignore[arg-type]
        return _rayleigh_ritz(operator, C, H, converged)
    # The known eigenvector, and the eigenproblem in the complement of C and it.
    known = _trivial_eigenvector(operator, C)
    n_missing = n_components - known.shape[1]
    if n_missing == 0:
        return _rayleigh_ritz(operator, C, known, True)
    basis = np.hstack([C, known])
    vectors, converged = solve(operator, basis, n_missing, tol, random_state)
    H = np.hstack([known, orthonormalize(basis, vectors.astype(np.float64))])
    return _rayleigh_ritz(operator, C, H, converged)


def _trivial_eigenvector(operator: NormalizedAffinity, C: np.ndarray) -> np.ndarray:
    """The known eigenvector, (n_nodes, 1), or none, (n_nodes, 0).

    M maps the root of the degrees, 0 at isolated nodes, to itself, and no eigenvalue is above 1. It
    is feasible unless isolated nodes change the group composition of the connected ones.
    """
    trivial = np.sqrt(operator.degrees)[:, None]
    if not operator.isolated.all():  # without edges M = 0, and all vectors are optimal
        trivial[operator.isolated] = 0.0
    trivial /= np.linalg.norm(trivial)
    infeasible = np.linalg.norm(C.T @ trivial) > len(C) * np.finfo(float).eps
    return trivial[:, :0] if infeasible and operator.isolated.any() else trivial


def _resolve_eigen_solver(
    eigen_solver: BaseEstimator | str, operator: NormalizedAffinity, n_components: int
) -> BaseEstimator | Callable:
    """The solver of a name; "auto" is the fastest for the size and storage."""
    if not isinstance(eigen_solver, str):
        return eigen_solver
    if eigen_solver != "auto":
        return EIGEN_SOLVERS[eigen_solver]
    # The dense eigenproblem is the fastest for up to 600 nodes. The iterative solvers need several
    # blocks of columns.
    if operator.n_nodes <= max(600, 8 * n_components):
        return solve_in_nullspace
    if sparse.issparse(operator.affinity):
        return EIGEN_SOLVERS["chebyshev"]
    return EIGEN_SOLVERS["block-lanczos"]


def _rayleigh_ritz(
    operator: NormalizedAffinity, C: np.ndarray, H: np.ndarray, converged: bool
) -> FairEmbedding:
    """Rayleigh-Ritz in double precision: the embedding, its eigenvalues and its violation."""
    # Count before the quadratic form, which multiplies once more.
    n_products = operator.n_products
    values, S = np.linalg.eigh(operator.quadratic_form(H))
    return FairEmbedding(
        embedding=fix_signs(H @ S[:, ::-1]),
        eigenvalues=values[::-1],
        objective=float(values.sum()),
        violation=float(np.linalg.norm(C.T @ H)),
        n_products=n_products,
        converged=converged,
    )


def fix_signs(H: np.ndarray) -> np.ndarray:
    """Columns with the entry of largest absolute value made positive, for reproducible signs."""
    rows = np.argmax(np.abs(H), axis=0)
    signs = np.sign(H[rows, np.arange(H.shape[1])])
    return H * np.where(signs == 0, 1.0, signs)


def check_affinity(
    affinity: TableLike | RBFAffinity, n_jobs: int | None = None
) -> np.ndarray | sparse.csr_array | RBFAffinity:
    """A finite, non-negative, symmetric affinity in double precision, as CSR where sparse.

    Results do not depend on its scale; extreme ones are scaled to about 1 by a power of two.
    """
    if isinstance(affinity, RBFAffinity):
        return affinity
    affinity = check_array(
        affinity,
        accept_sparse="csr",
        dtype=np.float64,
        ensure_all_finite=False,  # checked below in the same pass
        input_name="affinity",
        copy=False,
    )
    if affinity.shape[0] != affinity.shape[1]:
        raise ValueError(f"affinity must be square, but its shape is {affinity.shape}.")
    least, largest, mirrored = _range_and_symmetry(affinity, n_jobs)
    if not np.isfinite([least, largest]).all():
        assert_all_finite(affinity, input_name="affinity")
    if least < 0:
        raise ValueError(
            f"affinity must not be negative, but its minimum is {least:g}. Clip it at 0, or use "
            "another kernel."
        )
    affinity = _rescale(affinity, largest)
    gap = 0.0 if mirrored else _asymmetry(affinity, n_jobs)
    # The mirrored entries of M may differ by rounding.
    if gap > 1e-8:
        raise ValueError(
            f"affinity must be symmetric, but two mirrored entries differ by {gap:.2g} of the root "
            "of the product of their nodes' degrees; pass (affinity + affinity.T) / 2."
        )
    _warn_of_distances(affinity)
    return affinity


def _warn_of_distances(affinity: Table) -> None:
    """Warn of a dense matrix that is zero on the diagonal and keeps the triangle inequality.

    Affinities of a textbook are zero on the diagonal as well (Ng, Jordan and Weiss, 2001), but two
    similar samples that are dissimilar to a third one break the inequality. Where no positive
    entry is four times another one, nothing is known.
    """
    if sparse.issparse(affinity) or affinity.diagonal().any():
        return
    # Roots keep the inequality of distances and of squared distances; 200 samples suffice.
    n_nodes = affinity.shape[0]
    rows = np.unique(np.linspace(0, n_nodes - 1, min(n_nodes, 200)).astype(int))
    roots = np.sqrt(affinity[np.ix_(rows, rows)])
    positive = roots[roots > 0]
    if not len(positive) or positive.max() <= 2 * positive.min():
        return
    detours = [(row[:, np.newaxis] + row - roots).min() for row in roots]
    if min(detours) >= -1e-9 * positive.max():
        warn(
            "affinity is 0 on the diagonal and keeps the triangle inequality, as distances do, "
            "while larger affinities are of more similar samples. If these are distances d, pass "
            "np.exp(-(d / d.mean()) ** 2)."
        )


def _range_and_symmetry(affinity: Table, n_jobs: int | None) -> tuple[float, float, bool]:
    """Minimum and maximum entry, and whether mirrored entries are known to be equal."""
    if sparse.issparse(affinity):
        return affinity.min(), affinity.max(), False
    rows = blocks(len(affinity), ROWS_PER_CHECK)
    results = make_partitions(rows, n_jobs).gather(_block_range_and_symmetry, rows, affinity)
    least, largest, mirrored = zip(*results, strict=True)
    return np.min(least), np.max(largest), all(mirrored)


def _block_range_and_symmetry(
    a: slice, rows: list[slice], affinity: np.ndarray
) -> tuple[float, float, bool]:
    """`_range_and_symmetry` of a block of rows from the diagonal on and of its mirror image."""
    least = []
    largest = []
    mirrored = True
    for b in rows[rows.index(a) :]:
        tile = affinity[a, b]
        mirror = affinity[b, a].T
        equal = bool((tile == mirror).all())
        for one in [tile] if equal else [tile, mirror]:
            least.append(one.min())
            largest.append(one.max())
        mirrored &= equal
    return np.min(least), np.max(largest), mirrored


def _rescale(affinity: Table, largest: float) -> np.ndarray | sparse.csr_array:
    """The affinity, or a scaled copy if its range exceeds single precision."""
    if largest == 0 or 1e-30 <= largest <= 1e30:
        return affinity
    # Scale by a power of two, which changes no digit.
    exponent = int(np.frexp(largest)[1])
    if not sparse.issparse(affinity):
        return np.ldexp(affinity, -exponent)
    scaled = affinity.copy()
    scaled.data = np.ldexp(affinity.data, -exponent)
    return scaled


def _asymmetry(affinity: Table, n_jobs: int | None) -> float:
    """Maximum difference of two mirrored entries of the normalised affinity.

    Relative to the degrees, so that the small entries of a weakly linked node count. Dense arrays
    are not copied.
    """
    if sparse.issparse(affinity):
        sums = np.asarray(affinity.sum(axis=0)).ravel() + np.asarray(affinity.sum(axis=1)).ravel()
        root = np.sqrt(np.where(sums > 0, sums / 2, 1.0))
        gaps = abs(affinity - affinity.T).tocoo()
        return np.max(gaps.data / root[gaps.row] / root[gaps.col], initial=0.0)
    rows = blocks(len(affinity), ROWS_PER_CHECK)
    partitions = make_partitions([affinity[block_rows] for block_rows in rows], n_jobs)
    sums = partitions.reduce(np.sum, 0) + np.concatenate(partitions.gather(np.sum, 1))
    root = np.sqrt(np.where(sums > 0, sums / 2, 1.0))
    return max(make_partitions(rows, n_jobs).gather(_block_asymmetry, rows, affinity, root))


def _block_asymmetry(a: slice, rows: list[slice], affinity: np.ndarray, root: np.ndarray) -> float:
    """`_asymmetry` of a block of rows and of the columns from its diagonal on."""
    worst = 0.0
    for b in rows[rows.index(a) :]:
        gaps = np.abs(affinity[a, b] - affinity[b, a].T)
        if gaps.any():
            worst = max(worst, (gaps / root[a, None] / root[b]).max())
    return worst


# Similarities of the rows of a fit to each other and of new rows to them.


def working_memory() -> float:
    """Bytes that scikit-learn's configuration allows for a temporary array."""
    return get_config()["working_memory"] * 2**20


class Affinity:
    """The affinity of rows, by the parameters of a `FairSpectralClustering`."""

    def __init__(self, parameters: BaseEstimator) -> None:
        self.kind = parameters.affinity
        self.gamma = parameters.gamma
        self.n_neighbors = parameters.n_neighbors
        self.n_jobs = parameters.n_jobs
        self.can_tile = self.kind == "rbf" and parameters.eigen_solver != "nullspace"

    def compute(self, X: Table) -> np.ndarray | sparse.csr_array | RBFAffinity:
        """The affinity of the rows of X: stored within working memory, else an RBFAffinity.

        Raises a MemoryError if it exceeds the limit and cannot be recomputed tile by tile.
        """
        n_samples = X.shape[0]
        if self.kind == "precomputed":
            return check_affinity(X, self.n_jobs)
        if self.kind == "nearest_neighbors":
            from sklearn.neighbors import kneighbors_graph  # takes long to import

            n_neighbors = min(self.n_neighbors, n_samples)
            # Neighbours are not mutual: the mean of both directions is symmetric.
            graph = kneighbors_graph(X, n_neighbors, include_self=True, n_jobs=self.n_jobs)
            return sparse.csr_array(0.5 * (graph + graph.T))
        # Store the kernel if it fits, else recompute it tile by tile in every product.
        n_bytes = 8 * n_samples**2
        if n_bytes <= working_memory():
            return check_affinity(self._kernel(X, X), self.n_jobs)
        if sparse.issparse(X) or not self.can_tile:
            raise MemoryError(
                f"The affinity of {n_samples} rows would take {n_bytes} bytes, but working memory "
                f"has {working_memory():.0f}. Raise it by sklearn.set_config(working_memory="
                f"{-(-n_bytes // 2**20)}), in MiB; or use affinity='rbf' with dense rows and "
                "another eigen_solver, which recomputes the kernel tile by tile, or "
                "affinity='nearest_neighbors'."
            )
        return RBFAffinity(X, self.gamma, self.n_jobs)

    def compute_pairwise(
        self, X: np.ndarray, Y: np.ndarray | None
    ) -> np.ndarray | sparse.csr_matrix:
        """Similarities of new rows X to the rows Y of a fit; X itself if precomputed."""
        if self.kind == "precomputed":
            return X
        if self.kind == "nearest_neighbors":
            from sklearn.neighbors import NearestNeighbors  # takes long to import

            n_neighbors = min(self.n_neighbors, Y.shape[0])  # type: ignore[union-attr]
            neighbors = NearestNeighbors(n_neighbors=n_neighbors, n_jobs=self.n_jobs)
            return neighbors.fit(Y).kneighbors_graph(X)
        return self._kernel(X, Y)

    def _kernel(self, X: Table, Y: Table) -> np.ndarray:
        """The kernel of all pairs of rows, as an array."""
        if not callable(self.kind):
            return rbf_kernel(X, Y, gamma=self.gamma)
        similarity = np.asarray(to_dense(self.kind(X, Y)), dtype=np.float64)
        if similarity.shape != (X.shape[0], Y.shape[0]):
            raise ValueError(
                f"affinity(X, Y) must return one similarity per pair of rows, shape "
                f"{(X.shape[0], Y.shape[0])}, but it returned shape {similarity.shape}."
            )
        return similarity
