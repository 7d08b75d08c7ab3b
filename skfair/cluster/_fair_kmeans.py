"""k-means whose clusters mirror the groups of the data."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    clone,
)
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from skfair._kernels.kmeans import nearest_centers, squared_distances
from skfair.cluster._algorithms import ALGORITHMS, by_name
from skfair.cluster._homotopy import fair_assignment, point_of
from skfair.cluster._outcome import Watch, describe, warn_of_status
from skfair.cluster._population import check_population
from skfair.cluster._samples import Effort, Seeding, check_centers
from skfair.utils._groups import check_alignment, match_groups
from skfair.utils._sklearn import Interval, StrOptions, check_sample_weight


class FairKMeans(
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
):
    r"""k-means clustering with a lower bound on the balance of every cluster.

    Minimises the k-means cost over all clusterings whose clusters mirror the groups of the data,

    .. math::
        \min_S \; f_1(S) = \frac{1}{N} \sum_{k} \sum_{p \in S_k} \|x_p - c_k\|^2
        \quad \text{s.t.} \quad n_{kj} \ge b \, n_{kj'} \; \text{for all } k, j, j'

    with :math:`c_k` the mean of cluster k, :math:`n_{kj}` the number of its members of group j,
    and :math:`b` = ``min_balance`` times the data's own balance (its rarest over its commonest
    group). Balance is that of [1]_ and [2]_; see the user guide for what it does and does not say.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    min_balance : float in [0, 1] or None, default=0.8
        Least balance of a cluster, relative to the data's own; 0.8 is the four-fifths rule, 1 as
        balanced as the data. Rounding to whole persons may take one person from either side:
        ``n_kj + 1 >= b (n_kj' - 1)`` is promised. None or 0 asks for no balance: plain k-means.
    init : {"k-means++", "random"}, array-like or callable, default="k-means++"
        Starting centres, as in :class:`sklearn.cluster.KMeans`; an array holds the centres
        themselves, in the shape (n_clusters, n_features).
    n_init : int, default=3
        Number of starts of plain k-means.
    max_iter : int, default=300
        Largest number of rounds of one run, and of passes of the local search after it.
    tol : float, default=1e-5
        A run stops when a round lowers the cost by no more than this share of it.
    algorithm : {"homotopy", "alternating"}, Homotopy or AlternatingSwaps, default="homotopy"
        "homotopy" follows the cheapest clustering while the balance rises to what is asked for.
        "alternating" is Algorithm 2 of [1]_, which does not aim at a given balance: fit warns if
        it misses ``min_balance``. An instance brings its own settings.
    random_state : int, RandomState instance or None, default=None
        Determines the starts. The same seed gives the same labels for any ``n_jobs``.
    n_jobs : int or None, default=None
        Number of threads that run starts side by side.
    verbose : int, default=0
        Print cost and balance after every round if positive.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of each sample. May differ from the argmin of distance plus offset for samples on a
        tie or moved by the local search.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Means of the clusters.
    inertia_ : float
        Sum of weighted squared distances of samples to the centres of their own clusters.
    objective_ : float
        f1, the same per unit of weight.
    balance_ : float
        f2, the least balance of a cluster (rarest over commonest group), in [0, 1].
    data_balance_ : float
        The balance of the data as one cluster.
    relative_balance_ : float
        ``balance_ / data_balance_``.
    cluster_balances_ : ndarray of shape (n_clusters,)
        Balance of each cluster.
    group_counts_ : ndarray of shape (n_clusters, n_groups)
        Weight of each group in each cluster.
    offsets_ : ndarray of shape (n_clusters, n_groups)
        Price, in squared distance, that a member of a group pays for a place in a cluster: the
        dual solution at ``cluster_centers_`` and the balance reached.
    lower_bound_ : float
        No assignment to ``cluster_centers_`` of at least this balance has a lower inertia.
    constraint_violation_ : float
        What ``relative_balance_`` lacks to ``min_balance``, 0 when the promise is kept.
    status_ : {"optimal", "feasible", "infeasible", "max_iter"}
        "optimal": no single move or exchange of samples that keeps the balance lowers the cost.
        "feasible": the balance is kept, the search stopped by ``tol``. "max_iter": kept, but
        stopped by ``max_iter`` (with a warning). "infeasible": not kept (with a warning).
    groups_ : GroupSummary
        Labels and counts of the groups, in the order of the columns of ``group_counts_``.
    n_iter_ : int
        Number of rounds of the run.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of str, shape (n_features,)
        Names of features seen during fit, if X has string column names.

    Warns
    -----
    MissingSensitiveFeaturesWarning
        If balance is asked for but fit gets no ``sensitive_features``.
    InfeasibleConstraintWarning
        If the balance asked for is not reached; the best fit found is kept.
    ConvergenceWarning
        If the balance is kept, but ``max_iter`` ended the fit before ``tol`` did.

    See Also
    --------
    fair_kmeans_front : The whole front of cost and balance.
    sklearn.cluster.KMeans : Plain k-means.

    Notes
    -----
    With more than two groups the bound binds the rarest against the commonest group of a cluster;
    `skfair.metrics.additive_violation` shows how far every group is from its share.

    References
    ----------
    .. [1] S. Liu and L. N. Vicente, "A stochastic alternating balance k-means algorithm for fair
       clustering", LION 2022, arXiv:2105.14172.
    .. [2] F. Chierichetti, R. Kumar, S. Lattanzi and S. Vassilvitskii, "Fair clustering through
       fairlets", NeurIPS 2017.

    Examples
    --------
    >>> from skfair.cluster import FairKMeans
    >>> from skfair.datasets import make_fair_blobs
    >>> X, _, groups = make_fair_blobs(300, centers=2, random_state=0)
    >>> model = FairKMeans(n_clusters=2, min_balance=0.8, random_state=0)
    >>> model = model.fit(X, sensitive_features=groups)
    >>> bool(model.relative_balance_ >= 0.8)
    True
    >>> model.status_
    'optimal'
    """

    __metadata_request__fit = {"sensitive_features": True}
    __metadata_request__predict = {"sensitive_features": True}

    _parameter_constraints = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "min_balance": [Interval(Real, 0, 1, closed="both"), None],
        "init": [StrOptions({"k-means++", "random"}), callable, "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "algorithm": [StrOptions(set(ALGORITHMS)), *ALGORITHMS.values()],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        min_balance=0.8,
        init="k-means++",
        n_init=3,
        max_iter=300,
        tol=1e-5,
        algorithm="homotopy",
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.n_clusters = n_clusters
        self.min_balance = min_balance
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.algorithm = algorithm
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks
    def fit(self, X, y=None, *, sensitive_features=None, sample_weight=None):
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to cluster; not sparse.
        y : Ignored
            Not used, present for API consistency.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes), \
                default=None
            Group of each sample, by labels of any kind; with several attributes, groups are the
            combinations that occur. None makes one group of everybody, with a warning.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights; samples of weight 0 count as absent.

        Returns
        -------
        self : FairKMeans
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data is invalid; the message says what must hold.
        TypeError
            If X or ``sensitive_features`` is sparse.
        """
        self._validate_params()
        random_state = check_random_state(self.random_state)
        population = check_population(self, X, sensitive_features, sample_weight, self.min_balance)
        samples = population.samples
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self, X=X)
        watch = Watch(self, context, population)
        point, n_iter, status = by_name(ALGORITHMS, self.algorithm).solve(
            samples,
            self._seeding(population.mean),
            (self.min_balance or 0.0) * samples.balance,
            Effort(self.max_iter, self.tol, self.n_jobs),
            random_state,
            watch,
        )
        validate_data(self, X, skip_check_array=True)  # number and names of features
        self._store(population, point, n_iter, status)
        warn_of_status(self, population)
        context.call_on_fit_task_end(estimator=self, X=X)
        return self

    def predict(self, X, *, sensitive_features=None):
        """Cluster of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to assign.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes), \
                default=None
            Groups by the labels known from fit. With them a row goes to the cluster of least
            squared distance plus offset, which keeps new clusters balanced as long as new people
            resemble those of the fit. Without them it goes to the nearest centre, which promises
            no balance.

        Returns
        -------
        labels : ndarray of int32, shape (n_samples,)
            Position of each row's cluster in ``cluster_centers_``.

        Raises
        ------
        ValueError
            If a group was not seen during fit; the message lists the known ones.
        """
        check_is_fitted(self)
        check_alignment(X=X, sensitive_features=sensitive_features)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        if sensitive_features is None:
            return nearest_centers(X, self.cluster_centers_)[0]
        codes = match_groups(sensitive_features, len(X), self.groups_)
        distances = squared_distances(X, self.cluster_centers_)
        return np.argmin(distances + self.offsets_.T[codes], axis=1).astype(np.int32)

    def transform(self, X):
        """Euclidean distances to the centres.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to transform.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        return np.sqrt(squared_distances(X, self.cluster_centers_))

    def score(self, X, y=None, sample_weight=None):
        """Minus the summed squared distance to the nearest centre; it ignores balance.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.
        y : Ignored
            Not used, present for API consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights.

        Returns
        -------
        score : float
            For balance use `skfair.metrics.get_scorer`.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        weights = check_sample_weight(sample_weight, X, dtype=np.float64)
        return -float(weights @ nearest_centers(X, self.cluster_centers_)[1])

    @property
    def _n_features_out(self):
        """Number of columns that `transform` returns."""
        return self.cluster_centers_.shape[0]

    def _seeding(self, mean):
        given = not (isinstance(self.init, str) or callable(self.init))
        init = self.init
        if given:
            init = check_centers(init, (self.n_clusters, len(mean))) - mean
        return Seeding(self.n_clusters, init, self.n_init)

    def _of_labels(self, population, labels):
        """A fitted clone whose clustering is the given one: a point of a front."""
        samples = population.samples
        point = point_of(samples, labels[population.present], self.n_clusters)
        reached = min(1.0, point.balance / samples.balance)
        estimator = clone(self).set_params(min_balance=reached)
        estimator._store(population, point, 0, "feasible")
        estimator.labels_ = labels
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(estimator, name, getattr(self, name))
        return estimator

    def _store(self, population, point, n_iter, status):
        """Set all fitted attributes at once, so that an interrupted fit leaves the last one."""
        samples = population.samples
        fitted = describe(population, point.clustering, point.cost, self.min_balance)
        prices = point.prices if point.balance > 0 else None
        bound = fair_assignment(samples, point.clustering.centers, point.balance, prices)
        fitted["offsets_"] = bound.offsets
        fitted["lower_bound_"] = min(bound.value, point.cost)
        fitted["n_iter_"] = n_iter
        kept = fitted["constraint_violation_"] == 0
        fitted["status_"] = status if kept else "infeasible"
        vars(self).update(fitted)
