"""Spectral clustering whose clusters are really balanced."""

from collections import ChainMap
from numbers import Integral, Real

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from skfair._kernels.kmeans import nearest_centers
from skfair.cluster._base import FairClusterer
from skfair.cluster.spectral._affinity import Affinity
from skfair.cluster.spectral._eigen_solvers import EIGEN_SOLVERS
from skfair.cluster.spectral._literature import DCADMM, SFSC
from skfair.cluster.spectral._network import check_network
from skfair.cluster.spectral._rounding import ROUNDINGS
from skfair.metrics import normalized_cut
from skfair.partitions import row_by_row
from skfair.utils._fit import restore_on_failure
from skfair.utils._sklearn import Interval, StrOptions, validate_params, with_callbacks


class FairSpectralClustering(FairClusterer):
    r"""Spectral clustering of a graph or kernel into balanced clusters.

    The embedding gives every group the same mean (see :func:`fair_embedding`); that alone leaves
    clusters unbalanced on real data, so the rounding to labels then enforces the balance asked for
    at the least normalised cut it finds.

    Of many people only the similarity to some landmarks is computed, if ``n_landmarks`` is given,
    and always where they lie in parts. Two people are then as similar as the landmarks that they
    share (after the landmark-based spectral clustering of [2]_):

    .. math:: W_{ij} = \sum_u \frac{k(x_i, u) k(x_j, u)}{\sum_l k(x_l, u)}, \quad
        d_i = \sum_u k(x_i, u)

    One of the landmarks u all have in common, so that few who are far from all others make no
    cluster: everybody is as similar to it as a tenth of the mean of all other sums, over a sample
    (after [3]_). On the fair embedding of W, which is exact, k-means weighs people by their degrees
    d, as the normalised cut does, and its balance counts each as one. Time and memory are linear in
    the number of people.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    min_balance : float in [0, 1] or None, default=0.8
        Least balance of a cluster (rarest over commonest group), relative to the data's own, with
        one person of rounding as in :class:`FairKMeans`. None or 0 asks for no balance.
    min_share_ratio : float in [0, 1] or None, default=None
        Least ratio of two groups' shares in a cluster, as in :class:`FairKMeans`: 0.8 is the
        four-fifths rule.
    affinity : {"rbf", "nearest_neighbors", "precomputed"} or callable, default="rbf"
        As in :class:`sklearn.cluster.SpectralClustering`; "precomputed" takes a graph or kernel
        (array or sparse), a callable ``f(X, Y)`` returns similarities of shape (n_x, n_y).
    gamma : float, default=1.0
        Of the "rbf" kernel ``exp(-gamma |x - y|^2)``.
    n_neighbors : int, default=10
        Of "nearest_neighbors".
    n_components : int, default=None
        Columns of the embedding; None takes ``n_clusters``.
    eigen_solver : str, SFSC or DCADMM, default="auto"
        See :func:`fair_embedding`.
    eigen_tol : float, default=3e-5
        Relative error of the embedding's objective, ``tol`` of :func:`fair_embedding`.
    rounding : {"ncut", "kmeans"}, default="ncut"
        "ncut": degree-weighted k-means, local search for the normalised cut, quotas. "kmeans": the
        papers' plain k-means on the rows, which promises no balance.
    n_init : int, default=10
        Number of starts of k-means.
    n_landmarks : int or None, default=None
        Landmarks with which everybody is compared in place of everybody: centres of k-means among
        some of the rows, 20 for each landmark. With "nearest_neighbors" there should be many times
        ``n_neighbors`` in every cluster. None compares everybody with all others; people in parts
        have 500 landmarks then, or ten for each component if that is more. Landmarks need
        ``eigen_solver="auto"`` and ``rounding="ncut"``, and no "precomputed" affinity.
    memory_limit : int, default=2**30
        Bytes that the affinity of "rbf" may take; above it the kernel is recomputed tile by tile.
    random_state : int, RandomState instance or None, default=None
        Determines the solver's and k-means' starts.
    n_jobs : int or None, default=None
        Number of jobs of the neighbours search, and of threads that multiply by an affinity or
        by tiles of a kernel, or compare blocks of 65,536 rows with landmarks; None is 1 unless in a
        ``joblib.parallel_config`` context.
    verbose : int, default=0
        Print cut and balance after every round if positive.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of each sample. This and ``embedding_`` are arrays of Dask where the samples lie on
        a cluster.
    embedding_ : ndarray of shape (n_samples, n_components)
        The fair embedding H.
    embedding_violation_ : float
        Distance of H from the group constraint, see :func:`fair_embedding`.
    eigenvalues_ : ndarray of shape (n_components,)
        Ritz values of the embedding.
    affinity_matrix_ : array or sparse matrix of shape (n_samples, n_samples)
        Not set where the kernel was recomputed tile by tile, nor with landmarks. Scaled by a power
        of two if its largest entry is above 1e30 or below 1e-30.
    landmarks_ : ndarray of shape (n_landmarks, n_features)
        Set with landmarks.
    objective_ : float
        Normalised cut of the labels; with landmarks, of the affinity through these.
    balance_, relative_balance_, data_balance_ : float
        As in :class:`FairKMeans`.
    cluster_balances_ : ndarray of shape (n_clusters,)
        Balance of each cluster.
    share_ratio_ : float
        Least ratio of two groups' shares in a cluster.
    cluster_share_ratios_ : ndarray of shape (n_clusters,)
        The same of each cluster.
    cluster_sizes_ : ndarray of shape (n_clusters,)
        Members of each cluster.
    group_counts_ : ndarray of shape (n_clusters, n_groups)
        Members of each group in each cluster.
    constraint_violation_ : float
        What ``relative_balance_`` lacks to ``min_balance``, or ``share_ratio_`` to
        ``min_share_ratio``; 0 when the promise is kept, nan if groups were to be mixed, but none
        came.
    status_ : {"feasible", "infeasible", "max_iter", "unconstrained"}
        "unconstrained": groups were to be mixed, but none came. Else "feasible": the balance asked
        for is kept; the cut is a local search's, so that no fit is "optimal". "max_iter": kept, but
        the embedding is not as accurate as ``eigen_tol`` asks for (with a warning; "dca-admm" and,
        with landmarks, "nystroem" never are), or a callback ended the search. "infeasible": not
        kept (with a warning).
    groups_ : GroupSummary
        Labels and counts of the groups.
    n_iter_ : int
        Number of rounds: clusterings that the rounding has searched, one of them without regard
        to groups. Callbacks see each. With landmarks the rounds of k-means, of which they see none.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of str
        Names of features seen during fit, if X has string column names.

    Warns
    -----
    MissingSensitiveFeaturesWarning
        If balance is asked for but fit gets no ``sensitive_features``.
    InfeasibleConstraintWarning
        If the balance asked for is not reached; the best clustering found is kept.
    ConvergenceWarning
        If the balance is kept, but the embedding is not as accurate as ``eigen_tol`` asks for.

    See Also
    --------
    fair_embedding : The embedding alone.
    sklearn.cluster.SpectralClustering : Without groups.

    References
    ----------
    .. [1] M. Kleindessner, S. Samadi, P. Awasthi and J. Morgenstern, "Guarantees for spectral
       clustering with fairness constraints", ICML 2019.
    .. [2] X. Chen and D. Cai, "Large scale spectral clustering with landmark-based representation",
       AAAI 2011.
    .. [3] T. Qin and K. Rohe, "Regularized spectral clustering under the degree-corrected
       stochastic blockmodel", NeurIPS 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.cluster import FairSpectralClustering
    >>> X = np.array([[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2], [5.3]])
    >>> groups = ["a", "b"] * 4
    >>> model = FairSpectralClustering(n_clusters=2, random_state=0)
    >>> model.fit(X, sensitive_features=groups).cluster_balances_
    array([1., 1.])

    Compared with four landmarks in place of everybody:

    >>> model.set_params(n_landmarks=4).fit(X, sensitive_features=groups).landmarks_.shape
    (4, 1)
    >>> model.cluster_balances_
    array([1., 1.])
    """

    _cost_name = "normalised cut"

    __metadata_request__fit = {"sensitive_features": True}
    __metadata_request__predict = {"sensitive_features": True}

    _parameter_constraints = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "min_balance": [Interval(Real, 0, 1, closed="both"), None],
        "min_share_ratio": [Interval(Real, 0, 1, closed="both"), None],
        "affinity": [StrOptions({"rbf", "nearest_neighbors", "precomputed"}), callable],
        "gamma": [Interval(Real, 0, None, closed="neither")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "eigen_solver": [StrOptions(ChainMap({"auto": None}, EIGEN_SOLVERS)), SFSC, DCADMM],
        "eigen_tol": [Interval(Real, 0, None, closed="neither")],
        "rounding": [StrOptions(ROUNDINGS)],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "n_landmarks": [Interval(Integral, 1, None, closed="left"), None],
        "memory_limit": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        min_balance=0.8,
        min_share_ratio=None,
        affinity="rbf",
        gamma=1.0,
        n_neighbors=10,
        n_components=None,
        eigen_solver="auto",
        eigen_tol=3e-5,
        rounding="ncut",
        n_init=10,
        n_landmarks=None,
        memory_limit=2**30,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.n_clusters = n_clusters
        self.min_balance = min_balance
        self.min_share_ratio = min_share_ratio
        self.affinity = affinity
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.eigen_solver = eigen_solver
        self.eigen_tol = eigen_tol
        self.rounding = rounding
        self.n_init = n_init
        self.n_landmarks = n_landmarks
        self.memory_limit = memory_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @restore_on_failure
    @with_callbacks
    def fit(self, X, y=None, *, sensitive_features=None):
        """Cluster the rows of X, or the nodes of a graph.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features) or (n_samples, n_samples)
            Rows, or an affinity if ``affinity="precomputed"``. Dense with landmarks. May lie in
            parts, as may the groups: arrays and dataframes of Dask, or what
            :func:`skfair.datasets.open_blocks` opens; these are compared with landmarks.
        y : Ignored
            Not used, present for API consistency.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes), \
default=None
            Group of each sample. None makes one group of everybody, with a warning.

        Returns
        -------
        self : FairSpectralClustering
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data is invalid; the message says what must hold.
        TypeError
            If X is sparse, though there are landmarks.
        MemoryError
            If the affinity would exceed ``memory_limit`` and cannot be recomputed tile by tile;
            nothing is allocated.
        """
        validate_params(self)
        return self._fit(X, self._check(X, sensitive_features))

    @row_by_row(lambda self: np.empty(0, dtype=np.int32))
    def predict(self, X, *, sensitive_features=None):
        """Cluster of each row, by extending the embedding to it.

        A row x is embedded at ``t(x) = k(x, .) T / (lambda d_x)``, T the training embedding
        ``D^(-1/2) H``, and goes to the cluster with the nearest (degree-weighted) mean there. With
        landmarks k is the affinity through these, and only they have to be compared with x.
        The labels of the training rows may differ from ``labels_``, and no balance is promised.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features) or (n_samples, n_train)
            Rows, or with ``affinity="precomputed"`` their affinities to the training rows.
        sensitive_features : array-like, default=None
            Not used: the nearest mean does not ask for the group.

        Returns
        -------
        labels : ndarray of int32, shape (n_samples,)
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        # Row blocks, so that the similarities to all training rows keep within memory_limit.
        block = max(1, self.memory_limit // (8 * len(self._extension)))
        starts = range(0, X.shape[0], block)
        affinity = Affinity(self)
        extended = [
            self._extended(affinity.between(X[start : start + block], self._X_fit))
            for start in starts
        ]
        return nearest_centers(np.vstack(extended), self._means)[0]

    def score(self, X, y=None):
        """Minus the normalised cut of ``predict(X)`` on the affinity of X itself.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features) or (n_train, n_train)
            Rows, or with ``affinity="precomputed"`` the square training affinity.
        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        score : float
        """
        labels = self.predict(X)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return -normalized_cut(labels, Affinity(self).of(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.affinity == "precomputed"
        return tags

    def _extended(self, similarity):
        """Coordinates of new rows in the embedding, from their similarities to those of the fit."""
        degrees = np.asarray(similarity.sum(axis=1), dtype=np.float64).ravel() + self._background
        degrees[degrees <= 0] = 1.0
        return (similarity @ self._extension) / degrees[:, None]

    def _check(self, X, sensitive_features):
        return check_network(self, X, sensitive_features)

    def _prepare(self, network, random_state):
        return network.embed(self, random_state)

    def _cluster(self, network, random_state, rounds):
        return network.cluster(self, random_state, rounds)

    def _describe(self, network, labels):
        return network.describe(self, labels)

    def _advice(self, network):
        otherwise = "" if self.rounding == "ncut" else ", or use rounding='ncut'"
        return f"Ask for less balance or for fewer clusters{otherwise}."

    def _cut_short(self, network, is_stopped):
        return network.cut_short(self)
