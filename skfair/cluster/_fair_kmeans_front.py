"""The Pareto front of k-means cost and balance."""

import warnings
from functools import partial
from numbers import Integral

from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from skfair.cluster._algorithms import FRONT_ALGORITHMS, by_name
from skfair.cluster._fair_kmeans import FairKMeans
from skfair.cluster._pareto_front import ParetoFront
from skfair.cluster._population import check_population
from skfair.cluster._samples import Effort
from skfair.exceptions import MissingSensitiveFeaturesWarning


def fair_kmeans_front(
    X,
    *,
    sensitive_features,
    n_clusters=8,
    n_levels=40,
    init="k-means++",
    n_init=10,
    max_iter=300,
    tol=1e-5,
    algorithm="homotopy",
    sample_weight=None,
    random_state=None,
    n_jobs=None,
):
    """What every degree of balance costs: a front of k-means clusterings.

    Both objectives are those of :class:`FairKMeans`: the mean squared distance to the means of
    the clusters (f1, less is better) and the least balance of a cluster (f2, more is better).

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows to cluster; not sparse.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes)
        Group of each sample, as in :meth:`FairKMeans.fit`.
    n_clusters : int, default=8
        Number of clusters.
    n_levels : int, default=40
        Number of balances at which a fair clustering is computed; single moves fill the gaps
        between them. Not used by the alternating algorithm.
    init, n_init, max_iter, tol, n_jobs
        As in :class:`FairKMeans`, but with ten starts.
    algorithm : {"homotopy", "alternating"}, Homotopy or AlternatingFront, default="homotopy"
        "alternating" is Algorithm 3 of [1]_.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights; samples of weight 0 count as absent.
    random_state : int, RandomState instance or None, default=None
        Determines the starts.

    Returns
    -------
    front : ParetoFront
        Cost, balance and labels of every clustering, sorted by cost.

    Raises
    ------
    ValueError
        If a parameter or the data is invalid; the message says what must hold.
    TypeError
        If X or ``sensitive_features`` is sparse.

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
    """
    if not isinstance(n_levels, Integral) or n_levels < 1:
        raise ValueError(f"n_levels must be a positive int, got {n_levels!r}.")
    algorithm = by_name(FRONT_ALGORITHMS, algorithm)
    estimator = FairKMeans(
        n_clusters,
        init=init,
        n_init=n_init,
        max_iter=max_iter,
        tol=tol,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    estimator._validate_params()
    random_state = check_random_state(random_state)
    if sensitive_features is None:
        warnings.warn(
            "fair_kmeans_front got sensitive_features=None: everybody is one group, every "
            "clustering is balanced, and the front is one plain k-means. Pass everybody's group.",
            MissingSensitiveFeaturesWarning,
            stacklevel=2,
        )
    population = check_population(estimator, X, sensitive_features, sample_weight, None)
    validate_data(estimator, X, skip_check_array=True)  # number and names of features
    samples = population.samples
    routes = algorithm.front(
        samples,
        estimator._seeding(population.mean),
        n_levels,
        Effort(max_iter, tol, n_jobs),
        random_state,
    )
    if len(population.present) < len(population.X):
        routes = [_over_everyone(route, population, n_clusters) for route in routes]
    build = partial(FairKMeans._of_labels, estimator, population)
    cost_name = "cost (mean squared distance to centre)"
    return ParetoFront.from_routes(routes, samples.balance, build, cost_name)


def _over_everyone(route, population, n_clusters):
    """The route with labels for the rows without weight too."""
    clustering = population.samples.tabulate(route.labels, n_clusters)
    labels = population.complete(clustering.labels, clustering.centers)
    return route._replace(
        labels=labels.astype(route.labels.dtype), samples=population.present[route.samples]
    )
