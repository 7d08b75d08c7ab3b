"""The Pareto front of normalised cut and balance."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sklearn.exceptions import ConvergenceWarning

from skfair.cluster._base import front
from skfair.cluster._pareto_front import Route
from skfair.cluster.kmeans._lloyd import Runs
from skfair.cluster.spectral._fair_spectral import FairSpectralClustering
from skfair.cluster.spectral._rounding import ncut_path
from skfair.utils._messages import warn
from skfair.utils._types import MatrixLike, RandomState

if TYPE_CHECKING:
    from skfair.cluster._pareto_front import ParetoFront
    from skfair.cluster.spectral._literature import DCADMM, SFSC


def fair_spectral_front(
    X: MatrixLike,
    *,
    sensitive_features: MatrixLike,
    n_clusters: int = 8,
    n_levels: int = 20,
    criterion: str = "balance",
    affinity: str | Callable = "rbf",
    gamma: float = 1.0,
    n_neighbors: int = 10,
    n_components: int | None = None,
    eigen_solver: str | SFSC | DCADMM = "auto",
    eigen_tol: float = 3e-5,
    n_init: int = 10,
    memory_limit: int = 2**30,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> ParetoFront:
    """Pareto front of normalised cut and balance over spectral clusterings.

    The balance of a clustering is the minimum over clusters, of the balance or of the ratio of two
    groups' shares. The embedding is computed once, the rounding at every level.

    Parameters
    ----------
    X, affinity, gamma, n_neighbors, n_components, eigen_solver, eigen_tol, n_init, memory_limit
        As in :class:`FairSpectralClustering` and its ``fit``.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes)
        Group of each sample.
    n_clusters : int, default=8
        Number of clusters.
    n_levels : int, default=20
        Number of levels at which a clustering is computed.
    criterion : {"balance", "share_ratio"}, default="balance"
        Criterion that increases along the front, as in :func:`fair_kmeans_front`.
    random_state : int, RandomState instance or None, default=None
        Determines the solver's and k-means' starts.
    n_jobs : int or None, default=None
        Number of jobs of the neighbours search.

    Returns
    -------
    front : ParetoFront
        Normalised cut, balance, ratio of shares and labels of every clustering, sorted by cut.

    Raises
    ------
    ValueError
        If a parameter or the data is invalid; the message says what must hold.
    MemoryError
        As in :meth:`FairSpectralClustering.fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.cluster import fair_spectral_front
    >>> X = np.array([[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2], [5.3]])
    >>> front = fair_spectral_front(
    ...     X, sensitive_features=["a", "b"] * 4, n_clusters=2, random_state=0
    ... )
    >>> front.balance
    array([1.])
    """
    estimator = FairSpectralClustering(
        n_clusters,
        min_balance=None,
        affinity=affinity,
        gamma=gamma,
        n_neighbors=n_neighbors,
        n_components=n_components,
        eigen_solver=eigen_solver,
        eigen_tol=eigen_tol,
        n_init=n_init,
        memory_limit=memory_limit,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    arguments = {"sensitive_features": sensitive_features}
    return front(estimator, X, arguments, n_levels, _routes, criterion)


def _routes(estimator, problem, n_levels, random_state, criterion):
    """Clusterings at every level, as routes of one point each."""
    inaccuracy = problem.explain_early_stop(estimator)
    if inaccuracy is not None:
        warn(inaccuracy, ConvergenceWarning)
    runs = Runs(estimator.n_clusters, n_init=estimator.n_init)
    embedding = problem.embedding.embedding
    searches = ncut_path(problem, embedding, runs, random_state, n_levels)
    limits = problem.requirements._replace(**{criterion: 1.0}).limits(problem.groups.counts)
    return [
        Route.from_labels(search.labels, search.ncut, search.ratio(limits)) for search in searches
    ]
