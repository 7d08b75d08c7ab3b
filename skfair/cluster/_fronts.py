"""Pareto fronts of balance: against the k-means cost, and against the normalised cut."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from skfair.cluster._base import Route, compute_front, warn_of_duplicates
from skfair.cluster.kmeans._alternating import AlternatingFront
from skfair.cluster.kmeans._assignment import RunSettings, make_run_settings
from skfair.cluster.kmeans._fair_kmeans import FairKMeans
from skfair.cluster.kmeans._homotopy import Homotopy
from skfair.cluster.spectral._fair_spectral import FairSpectralClustering
from skfair.cluster.spectral._problem import ncut_path
from skfair.utils._api import MatrixLike, RandomState
from skfair.utils._checks import resolve_name, warn
from skfair.utils._fit import single_threaded_blas

if TYPE_CHECKING:
    from skfair.cluster._base import ParetoFront
    from skfair.cluster.spectral._eigen_solvers import DCADMM, SFSC


# The Pareto front of k-means cost and balance.


N_STARTS = 10  # "auto"
FRONT_ALGORITHMS = {"homotopy": Homotopy, "alternating": AlternatingFront}
"""An algorithm of fronts is a parameter record with a method ``front``, see `Homotopy`."""


def fair_kmeans_front(
    X: MatrixLike,
    *,
    sensitive_features: MatrixLike,
    n_clusters: int = 8,
    n_levels: int = 40,
    criterion: str = "balance",
    min_group_share: float | dict | ArrayLike | None = None,
    max_group_share: float | dict | ArrayLike | None = None,
    attributes: Literal["intersections", "each"] = "intersections",
    min_cluster_size: int | float | None = None,
    max_cluster_size: int | float | None = None,
    init: Any = "k-means++",
    n_init: int | Literal["auto"] = "auto",
    max_iter: int = 300,
    tol: float = 1e-5,
    algorithm: str | Homotopy | AlternatingFront = "homotopy",
    sample_weight: ArrayLike | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> ParetoFront:
    r"""Compute the front of k-means clusterings, which shows what every degree of balance costs.

    Both objectives are those of :class:`FairKMeans`: the mean squared distance to the means of
    the clusters (f1, less is better) and the minimum balance of a cluster (f2, more is better), or
    else the minimum ratio of the shares of two groups that are in a cluster,

    .. math::
        \min_{k, j, j'} \; \frac{n_{kj} / N_j}{n_{kj'} / N_{j'}},

    which also bounds how common a group becomes.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows to cluster; sparse ones are not made dense.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes)
        Group of each sample, as in :meth:`FairKMeans.fit`.
    n_clusters : int, default=8
        Number of clusters.
    n_levels : int, default=40
        Number of balances at which a fair clustering is computed; single moves fill the gaps
        between them. Not used by the alternating algorithm.
    criterion : {"balance", "share_ratio"}, default="balance"
        What rises along the front, as ``min_balance`` and ``min_share_ratio`` of
        :class:`FairKMeans` bound it. The alternating algorithm knows balance alone.
    min_group_share, max_group_share : float, dict, array-like or None, default=None
        Bounds on the shares of groups in a cluster that every clustering keeps, as in
        :class:`FairKMeans`. The alternating algorithm does not aim at them.
    attributes : {"intersections", "each"}, default="intersections"
        With "each", every one of several sensitive attributes has a balance of its own, as in
        :class:`FairKMeans`; the front's is their minimum, relative to the data's. So with ratios
        of shares.
    min_cluster_size, max_cluster_size : int, float in (0, 1) or None, default=None
        Bounds on sizes that every clustering keeps, as in :class:`FairKMeans`. The alternating
        algorithm does not aim at them.
    init, n_init, max_iter, tol, n_jobs
        As in :class:`FairKMeans`, but "auto" is ten starts.
    algorithm : {"homotopy", "alternating"}, Homotopy or AlternatingFront, default="homotopy"
        "alternating" is Algorithm 3 of [1]_.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights; samples of weight 0 count as absent.
    random_state : int, RandomState instance or None, default=None
        Determines the starts.

    Returns
    -------
    front : ParetoFront
        Cost, balance, ratio of shares and labels of every clustering, sorted by cost.

    Raises
    ------
    ValueError
        If a parameter or the data is invalid; the message says what must hold.
    TypeError
        If ``sensitive_features`` is sparse, or X where ``algorithm`` is "alternating".

    References
    ----------
    .. [1] S. Liu and L. N. Vicente, "A stochastic alternating balance k-means algorithm for fair
       clustering", LION 2022, arXiv:2105.14172.

    Examples
    --------
    >>> from skfair.cluster import fair_kmeans_front
    >>> from skfair.datasets import make_fair_blobs
    >>> X, _, groups = make_fair_blobs(300, centers=2, random_state=0)
    >>> front = fair_kmeans_front(X, sensitive_features=groups, n_clusters=2, random_state=0)
    >>> model = front.to_estimator(front.select(min_balance=0.9))
    >>> bool(model.relative_balance_ >= 0.9)
    True

    What the four-fifths rule costs:

    >>> front = fair_kmeans_front(
    ...     X, sensitive_features=groups, n_clusters=2, criterion="share_ratio", random_state=0
    ... )
    >>> bool(front.share_ratio[front.select(min_share_ratio=0.8)] >= 0.8)
    True
    """
    estimator = FairKMeans(
        n_clusters,
        min_balance=None,
        min_group_share=min_group_share,
        max_group_share=max_group_share,
        attributes=attributes,
        min_cluster_size=min_cluster_size,
        max_cluster_size=max_cluster_size,
        init=init,
        n_init=n_init,
        max_iter=max_iter,
        tol=tol,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    algorithm = resolve_name(
        FRONT_ALGORITHMS, algorithm, "algorithm", tuple(FRONT_ALGORITHMS.values())
    )
    columns = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
    if criterion == "share_ratio" and isinstance(algorithm, AlternatingFront):
        raise ValueError(
            "algorithm='alternating' does not control ratios of shares, so criterion must be "
            "'balance', got 'share_ratio'. Use algorithm='homotopy' for it."
        )
    routes = partial(_kmeans_routes, algorithm)
    with single_threaded_blas():
        return compute_front(estimator, X, columns, n_levels, routes, criterion)


def _kmeans_routes(algorithm, estimator, data, n_levels, random_state, criterion):
    """The clusterings of an algorithm, with labels for the rows without weight too."""
    runs, problem = make_run_settings(estimator, data, N_STARTS), data.problem
    n_distinct = problem.count_distinct_rows(runs.n_clusters)
    if n_distinct < runs.n_clusters:
        warn_of_duplicates(n_distinct, runs.n_clusters)
    # The levels rise to a ratio of 1 in the scales of the criterion.
    requirements = data.requirements._replace(**{criterion: 1.0})
    limits = requirements.limits(
        problem.group_weights, problem.limits.intersections, data.largest_weight
    )
    problem = replace(problem, limits=limits)
    routes = algorithm.front(problem, runs, n_levels, random_state)
    return [_complete_route(route, data, runs.n_clusters) for route in routes]


def _complete_route(route, data, n_clusters):
    """The route with labels and row numbers of all rows."""
    centers = data.problem.clustering_from_labels(route.labels, n_clusters).centers
    labels = data.complete_labels(route.labels.astype(np.int32), centers)
    labels = labels.astype(route.labels.dtype, copy=False)
    return route._replace(labels=labels, samples=data.positive_weight_samples[route.samples])


# The Pareto front of normalised cut and balance.


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
    """Compute the front of spectral clusterings, which shows what every degree of balance costs.

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
    return compute_front(estimator, X, arguments, n_levels, _spectral_routes, criterion)


def _spectral_routes(estimator, problem, n_levels, random_state, criterion):
    """Clusterings at every level, as routes of one point each."""
    inaccuracy = problem.explain_early_stop(estimator)
    if inaccuracy is not None:
        warn(inaccuracy, ConvergenceWarning)
    runs = RunSettings(estimator.n_clusters, n_init=estimator.n_init)
    embedding = problem.embedding.embedding
    searches = ncut_path(problem, embedding, runs, random_state, n_levels)
    limits = problem.requirements._replace(**{criterion: 1.0}).limits(problem.groups.counts)
    return [
        Route.from_labels(search.labels, search.ncut, search.scaled_balance(limits))
        for search in searches
    ]
