"""k-means whose clusters mirror the groups of the data."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from skfair._kernels.kmeans import nearest_centers, squared_distances
from skfair.cluster._base import FairClusterer
from skfair.cluster.kmeans._alternating import AlternatingSwaps
from skfair.cluster.kmeans._homotopy import Homotopy
from skfair.cluster.kmeans._input import check_input
from skfair.cluster.kmeans._lloyd import check_runs
from skfair.groups import check_alignment, encode_known_groups, encode_known_values
from skfair.partitions import row_by_row
from skfair.utils._fit import restore_on_failure
from skfair.utils._messages import resolve_name
from skfair.utils._sklearn import (
    Interval,
    StrOptions,
    check_sample_weight,
    validate_params,
    with_callbacks,
)
from skfair.utils._types import MatrixLike, RandomState

ALGORITHMS = {"homotopy": Homotopy, "alternating": AlternatingSwaps}
"""An algorithm is a parameter record with a method ``solve``, see `Homotopy`, and an ``advice``."""

N_STARTS = 3  # "auto"
COUNT = Interval(Integral, 1, None, closed="left")
SHARE = Interval(Real, 0, 1, closed="neither")


class FairKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FairClusterer):
    r"""k-means clustering with bounds on the groups in every cluster, and on its size.

    Minimises the k-means cost over all clusterings whose clusters mirror the groups of the data,

    .. math::
        \min_S \; f_1(S) = \frac{1}{N} \sum_{k} \sum_{p \in S_k} \|x_p - c_k\|^2
        \quad \text{s.t.} \quad n_{kj} \ge b \, n_{kj'} \; \text{for all } k, j, j'

    with :math:`c_k` the mean of cluster k, :math:`n_{kj}` the number of its members of group j,
    and :math:`b` = ``min_balance`` times the data's own balance (its smallest over its largest
    group). Balance is that of [1]_ and [2]_; see the user guide for what it does and does not say.
    The ratio of shares, as in [3]_, also bounds how common a group may become:

    .. math::
        \frac{n_{kj}}{N_j} \ge s \, \frac{n_{kj'}}{N_{j'}} \; \text{for all } k, j, j',

    with :math:`N_j` the size of group j and s = ``min_share_ratio``: members of any group are in
    cluster k about as often as those of any other group.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    min_balance : float in [0, 1] or None, default=0.8
        Minimum balance of a cluster, relative to the data's own; 1 is as balanced as the data. It
        bounds how rare a group may become in a cluster, not how common. Rounding to integer counts
        may take one sample from either side: ``n_kj + 1 >= b (n_kj' - 1)`` is guaranteed. None or 0
        requires no balance: plain k-means.
    min_share_ratio : float in [0, 1] or None, default=None
        Minimum ratio of the shares of two groups that are in a cluster, in either direction: 0.8 is
        the four-fifths rule, 1 makes every cluster mirror the data. It implies as much relative
        balance. Rounding may take one sample from either side here as well. None or 0 requires
        nothing.
    min_group_share, max_group_share : float, array-like of shape (n_groups,) or None, default=None
        Bounds on the share of a group among the samples of every cluster, as in [3]_: one number,
        or one for each group in the order of ``groups_.labels`` (with ``attributes="each"``, for
        each value). ``beta_g n_k - v <= n_kg <= alpha_g n_k + v``, with v the largest weight of a
        sample (1 without weights), as integers may not divide. They can be kept if and only if the
        share of each group in the data is within its bounds. ``min_share_ratio`` compares shares of
        the groups' own sizes, ``n_kg / N_g``, instead.
    attributes : {"intersections", "each"}, default="intersections"
        With several sensitive attributes, groups are the combinations that occur. "each" compares
        the values of every single attribute instead, as Section 6 of [1]_ suggests: each attribute
        has a balance, relative to the data's own, and their minimum counts. The guarantee holds for
        every attribute; one with a single value is balanced in any case.
    min_cluster_size, max_cluster_size : int, float in (0, 1) or None, default=None
        Bounds on the size of every cluster: an int is a number of samples (or sum of weights), a
        float a share of all. With sample weights the last sample may not fit.
    init : {"k-means++", "random"}, array-like or callable, default="k-means++"
        Starting centres, as in :class:`sklearn.cluster.KMeans`; an array holds the centres
        themselves, in the shape (n_clusters, n_features).
    n_init : int or "auto", default="auto"
        Number of starts: rough runs of plain k-means from centres drawn by ``init``. The first is
        finished within the bounds, and so is each that is cheaper than all before it (with bounds,
        than all but one; see :class:`Homotopy`). The cheapest end is returned. The starts of n are
        the first n of those of n + 1, so that with one seed more starts never give a worse fit.
        "auto" is 3, and 1 if ``init`` is an array.
    max_iter : int, default=300
        Maximum number of rounds of one run, and of passes of the local search after it.
    tol : float, default=1e-5
        A run stops when a round lowers the cost by no more than this share of it, or than a tenth
        of a sample's mean cost. A pass of the local search has to gain a hundredth of that share,
        more from 2,000 samples on, and from 200,000 as much as a round. A round on partitioned data
        is a pass over all of them, and has to gain five times as much.
    algorithm : {"homotopy", "alternating"}, Homotopy or AlternatingSwaps, default="homotopy"
        "homotopy" follows the cheapest clustering while the balance rises to ``min_balance``.
        "alternating" is Algorithm 2 of [1]_, which does not aim at a given balance: fit warns if
        it misses ``min_balance``. An instance brings its own settings.
    random_state : int, RandomState instance or None, default=None
        Determines the starts. The same seed gives the same labels for any ``n_jobs``.
    n_jobs : int or None, default=None
        Number of threads for starts, and for blocks of rows from 65,537 on. None is 1 unless in a
        ``joblib.parallel_config`` context, -1 is all processors.
    verbose : int, default=0
        Print cost and balance after every round if positive.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of each sample. May differ from the argmin of distance plus offset for samples on a
        tie or moved by the local search. An array of Dask where the samples are on a cluster.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Means of the clusters.
    inertia_ : float
        Sum of weighted squared distances of samples to the centres of their own clusters.
    objective_ : float
        f1, the same per unit of weight.
    balance_ : float
        f2, the minimum balance of a cluster (smallest over largest group), in [0, 1]; of several
        attributes the minimum of their balances relative to the data's own.
    data_balance_ : float
        The balance of the data as one cluster; 1 if it is relative already.
    relative_balance_ : float
        ``balance_ / data_balance_``.
    cluster_balances_ : ndarray of shape (n_clusters,)
        Balance of each cluster; nan of an empty one, which there is only if X has fewer distinct
        rows than clusters. It comes last, at the centre of another one.
    share_ratio_ : float
        Minimum ratio of two groups' shares in a cluster, in [0, 1].
    cluster_share_ratios_ : ndarray of shape (n_clusters,)
        The same of each cluster.
    cluster_sizes_ : ndarray of shape (n_clusters,)
        Weight of the members of each cluster.
    group_counts_ : ndarray of shape (n_clusters, n_groups)
        Weight of each group in each cluster.
    offsets_ : ndarray of shape (n_clusters, n_groups)
        Added to the squared distance of a group's members to a cluster (of several groups, their
        sum): the dual solution at ``cluster_centers_``, the composition reached, and the required
        sizes.
    lower_bound_ : float
        No assignment to ``cluster_centers_`` with as good a composition and such sizes has lower
        inertia.
    constraint_violation_ : float
        What ``relative_balance_`` lacks to ``min_balance``, ``share_ratio_`` and the share of a
        group to their bounds, or a size, as a share of all, to its own: the maximum of these, 0
        when all bounds are kept, nan if balanced clusters were required, but there are no two
        groups.
    status_ : {"optimal", "feasible", "infeasible", "max_iter", "unconstrained"}
        "unconstrained": balanced clusters were required, but there are no two groups. Else
        "optimal": a local optimum, in which no single move or exchange of samples lowers the cost
        and keeps the sizes and the composition that is reached (or the required one, if more is
        reached). A clustering that differs in more samples may be cheaper. "feasible": all bounds
        are kept, and the search stopped by ``tol``, as most fits of many samples do, or the samples
        are partitioned and more than 100,000. "max_iter": kept, but stopped by ``max_iter`` (with a
        warning) or by a callback. "infeasible": not kept (with a warning).
    groups_ : GroupSummary
        Labels and counts of the groups, in the order of the columns of ``group_counts_``; with
        ``attributes="each"`` they are called by pairs (attribute, value).
    n_iter_, n_features_in_ : int
        Number of rounds of all followed starts, and of features seen during fit.
    feature_names_in_ : ndarray of str, shape (n_features,)
        Names of features seen during fit, if X has string column names.

    Warns
    -----
    MissingSensitiveFeaturesWarning
        If balance is required, but fit gets no ``sensitive_features`` or all samples are of one
        group. With a bound on sizes the default of ``min_balance`` requires none without groups.
    InfeasibleConstraintWarning
        If a required bound is not reached; the best fit found is stored.
    ConvergenceWarning
        If all bounds are kept, but ``max_iter`` ended the fit before ``tol`` did. If there are
        fewer distinct clusters than ``n_clusters``, as some rows are equal.
    RuntimeWarning
        If ``init`` is an array and ``n_init`` more than one start.

    See Also
    --------
    fair_kmeans_front : The whole front of cost and balance.
    sklearn.cluster.KMeans : Plain k-means.

    References
    ----------
    .. [1] S. Liu and L. N. Vicente, "A stochastic alternating balance k-means algorithm for fair
       clustering", LION 2022, arXiv:2105.14172.
    .. [2] F. Chierichetti, R. Kumar, S. Lattanzi and S. Vassilvitskii, "Fair clustering through
       fairlets", NeurIPS 2017.
    .. [3] S. Bera, D. Chakrabarty, N. Flores and M. Negahbani, "Fair algorithms for clustering",
       NeurIPS 2019.

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

    At most 60 % of one group in any cluster:

    >>> other = FairKMeans(n_clusters=2, min_balance=None, max_group_share=0.6, random_state=0)
    >>> counts = other.fit(X, sensitive_features=groups).group_counts_
    >>> bool((counts <= 0.6 * other.cluster_sizes_[:, None] + 1).all())
    True

    The four-fifths rule, in clusters of at least 100 samples:

    >>> model.set_params(min_share_ratio=0.8, min_cluster_size=100)
    FairKMeans(min_cluster_size=100, min_share_ratio=0.8, n_clusters=2, random_state=0)
    >>> model = model.fit(X, sensitive_features=groups)
    >>> bool(model.share_ratio_ >= 0.8), bool(model.cluster_sizes_.min() >= 100)
    (True, True)
    """

    _cost_name = "cost (mean squared distance to centre)"

    __metadata_request__fit = {"sensitive_features": True}
    __metadata_request__predict = {"sensitive_features": True}

    _parameter_constraints = {
        "n_clusters": [COUNT],
        "min_balance": [Interval(Real, 0, 1, closed="both"), None],
        "min_share_ratio": [Interval(Real, 0, 1, closed="both"), None],
        "attributes": [StrOptions({"intersections", "each"})],
        "min_group_share": [Interval(Real, 0, 1, closed="both"), "array-like", None],
        "max_group_share": [Interval(Real, 0, 1, closed="both"), "array-like", None],
        "min_cluster_size": [COUNT, SHARE, None],
        "max_cluster_size": [COUNT, SHARE, None],
        "init": [StrOptions({"k-means++", "random"}), callable, "array-like"],
        "n_init": [COUNT, StrOptions({"auto"})],
        "max_iter": [COUNT],
        "tol": [Interval(Real, 0, None, closed="left")],
        "algorithm": [StrOptions(ALGORITHMS), *ALGORITHMS.values()],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        min_balance: float | None = 0.8,
        min_share_ratio: float | None = None,
        min_group_share: float | ArrayLike | None = None,
        max_group_share: float | ArrayLike | None = None,
        attributes: Literal["intersections", "each"] = "intersections",
        min_cluster_size: int | float | None = None,
        max_cluster_size: int | float | None = None,
        init: Literal["k-means++", "random"] | ArrayLike | Callable = "k-means++",
        n_init: int | Literal["auto"] = "auto",
        max_iter: int = 300,
        tol: float = 1e-5,
        algorithm: str | Homotopy | AlternatingSwaps = "homotopy",
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.min_balance = min_balance
        self.min_share_ratio = min_share_ratio
        self.min_group_share = min_group_share
        self.max_group_share = max_group_share
        self.attributes = attributes
        self.min_cluster_size = min_cluster_size
        self.max_cluster_size = max_cluster_size
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.algorithm = algorithm
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check(self, X, sensitive_features, sample_weight):
        """The validated input."""
        return check_input(self, X, sensitive_features, sample_weight)

    @restore_on_failure(one_blas_thread=True)
    @with_callbacks
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        sensitive_features: MatrixLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to cluster; not sparse. May be partitioned, as may the other columns: arrays and
            dataframes of Dask, or what :func:`skfair.datasets.open_blocks` opens. Up to 100,000
            samples then get the labels of the fit in memory. More are fitted by passes over all,
            warm-started on a subsample. ``algorithm`` must be "homotopy".
        y : Ignored
            Not used, present for API consistency.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes), \
                default=None
            Group of each sample, by labels of any kind; with several attributes, see
            ``attributes``. None makes one group of all samples, with a warning.
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
        validate_params(self)
        return self._fit(X, self._check(X, sensitive_features, sample_weight))

    @row_by_row(lambda self: np.empty(0, dtype=np.int32))
    def predict(self, X: MatrixLike, *, sensitive_features: MatrixLike | None = None) -> np.ndarray:
        """Cluster of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to assign.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes), \
                default=None
            Groups by the labels known from fit. With them a row goes to the cluster of least
            squared distance plus offset, which keeps clusters of new data balanced as long as they
            resemble the training data. Without them it goes to the nearest centre, which guarantees
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
            return nearest_centers(*self._center(X))[0]
        # Offsets of all groups of a sample add up: one per attribute, or that of its intersection.
        match = encode_known_values if self.attributes == "each" else encode_known_groups
        codes = match(sensitive_features, len(X), self.groups_).reshape(len(X), -1)
        distances = squared_distances(*self._center(X))
        offsets = self.offsets_.T[codes].sum(axis=1)
        return np.argmin(distances + offsets, axis=1).astype(np.int32)

    @row_by_row(lambda self: np.empty((0, len(self.cluster_centers_))))
    def transform(self, X: MatrixLike) -> np.ndarray:
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
        return np.sqrt(squared_distances(*self._center(X)))

    def score(
        self, X: MatrixLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
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
        return -float(weights @ nearest_centers(*self._center(X))[1])

    @property
    def _n_features_out(self):
        """Number of columns that `transform` returns."""
        return self.cluster_centers_.shape[0]

    def _center(self, X):
        """Rows and centres about the mean of the training data.

        Far from the origin, rounding moves ``cluster_centers_``, which may change the nearest one.
        """
        return X - self._mean, self._centers

    def _cluster(self, data, random_state, rounds):
        def watch(point):
            return rounds.show(
                lambda: data.describe_clustering(point), lambda: data.label_rows(point)
            )

        algorithm = resolve_name(ALGORITHMS, self.algorithm, "algorithm")
        runs = check_runs(self, data.mean, N_STARTS)
        # Solve on centred data, then describe the solution in the units of X.
        point, n_iter, status = algorithm.solve(data.problem, runs, random_state, watch)
        return data.describe_fit(point) | {"n_iter_": n_iter, "status_": status}

    def _describe(self, data, labels):
        return data.describe_labels(labels, self.n_clusters)

    def _advice(self, data):
        return resolve_name(ALGORITHMS, self.algorithm, "algorithm").advice

    def _cut_short(self, data, is_stopped):
        if is_stopped:
            return None
        return (
            f"FairKMeans stopped after max_iter={self.max_iter} rounds or passes, before one "
            f"gained less than tol={self.tol:g} requires. Raise max_iter or tol."
        )
