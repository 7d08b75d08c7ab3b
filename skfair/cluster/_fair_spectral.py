"""Spectral clustering whose clusters are really balanced."""

import warnings
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import NearestNeighbors, kneighbors_graph
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from skfair._kernels.kmeans import nearest_centers
from skfair.cluster._eigen_solvers import EIGEN_SOLVERS
from skfair.cluster._fair_embedding import FairEmbedding, check_affinity, embed
from skfair.cluster._normalized_affinity import NormalizedAffinity, RBFAffinity
from skfair.cluster._rounding import Rounding, round_kmeans, round_ncut
from skfair.exceptions import InfeasibleConstraintWarning, MissingSensitiveFeaturesWarning
from skfair.metrics import normalized_cut
from skfair.utils._balance import (
    balance,
    cluster_balances,
    count_table,
    data_balance,
    keeps_promise,
)
from skfair.utils._groups import Groups, check_alignment, check_groups
from skfair.utils._sklearn import Interval, StrOptions

ROUNDINGS = {"ncut": round_ncut, "kmeans": round_kmeans}


class Embedded(NamedTuple):
    """A validated input and its fair embedding."""

    X: object  # array or sparse
    operator: NormalizedAffinity
    groups: Groups
    found: FairEmbedding


class FairSpectralClustering(ClusterMixin, BaseEstimator):
    r"""Spectral clustering of a graph or kernel into balanced clusters.

    The embedding gives every group the same mean (see :func:`fair_embedding`); that alone leaves
    clusters unbalanced on real data, so the rounding to labels then enforces the balance asked for
    at the least normalised cut it finds.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    min_balance : float in [0, 1] or None, default=0.8
        Least balance of a cluster (rarest over commonest group), relative to the data's own, with
        one person of rounding as in :class:`FairKMeans`. None or 0 asks for no balance.
    affinity : {"rbf", "nearest_neighbors", "precomputed"} or callable, default="rbf"
        As in :class:`sklearn.cluster.SpectralClustering`; "precomputed" takes a graph or kernel
        (array or sparse), a callable ``f(X, Y)`` returns similarities of shape (n_x, n_y).
    gamma : float, default=1.0
        Of the "rbf" kernel ``exp(-gamma |x - y|^2)``.
    n_neighbors : int, default=10
        Of "nearest_neighbors".
    n_components : int, default=None
        Columns of the embedding; None takes ``n_clusters``.
    eigen_solver : str, default="auto"
        See :func:`fair_embedding`.
    eigen_tol : float, default=3e-5
        Relative error of the embedding's objective, ``tol`` of :func:`fair_embedding`.
    rounding : {"ncut", "kmeans"}, default="ncut"
        "ncut": degree-weighted k-means, local search for the normalised cut, quotas. "kmeans": the
        papers' plain k-means on the rows, which promises no balance.
    n_init : int, default=10
        Number of starts of k-means.
    memory_limit : int, default=2**30
        Bytes that the affinity of "rbf" may take; above it the kernel is recomputed tile by tile.
    random_state : int, RandomState instance or None, default=None
        Determines the solver's and k-means' starts.
    n_jobs : int or None, default=None
        Number of jobs of the neighbours search.
    verbose : int, default=0
        Print the objective of the embedding and the cut if positive.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of each sample.
    embedding_ : ndarray of shape (n_samples, n_components)
        The fair embedding H.
    embedding_violation_ : float
        Distance of H from the group constraint, see :func:`fair_embedding`.
    eigenvalues_ : ndarray of shape (n_components,)
        Ritz values of the embedding.
    affinity_matrix_ : array or sparse matrix of shape (n_samples, n_samples)
        Not set where the kernel was recomputed tile by tile.
    objective_ : float
        Normalised cut of the labels.
    balance_, relative_balance_, data_balance_ : float
        As in :class:`FairKMeans`.
    cluster_balances_ : ndarray of shape (n_clusters,)
        Balance of each cluster.
    group_counts_ : ndarray of shape (n_clusters, n_groups)
        Members of each group in each cluster.
    constraint_violation_ : float
        What ``relative_balance_`` lacks to ``min_balance``, 0 when the promise is kept.
    status_ : {"feasible", "infeasible"}
        Whether the balance asked for is kept; if not, fit warns.
    groups_ : GroupSummary
        Labels and counts of the groups.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of str
        Names of features seen during fit, if X has string column names.

    See Also
    --------
    fair_embedding : The embedding alone.
    sklearn.cluster.SpectralClustering : Without groups.

    References
    ----------
    .. [1] M. Kleindessner, S. Samadi, P. Awasthi and J. Morgenstern, "Guarantees for spectral
       clustering with fairness constraints", ICML 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.cluster import FairSpectralClustering
    >>> X = np.array([[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2], [5.3]])
    >>> groups = ["a", "b"] * 4
    >>> model = FairSpectralClustering(n_clusters=2, random_state=0)
    >>> model.fit(X, sensitive_features=groups).cluster_balances_
    array([1., 1.])
    """

    __metadata_request__fit = {"sensitive_features": True}

    _parameter_constraints = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "min_balance": [Interval(Real, 0, 1, closed="both"), None],
        "affinity": [StrOptions({"rbf", "nearest_neighbors", "precomputed"}), callable],
        "gamma": [Interval(Real, 0, None, closed="neither")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "eigen_solver": [StrOptions({"auto", *EIGEN_SOLVERS})],
        "eigen_tol": [Interval(Real, 0, None, closed="neither")],
        "rounding": [StrOptions(set(ROUNDINGS))],
        "n_init": [Interval(Integral, 1, None, closed="left")],
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
        affinity="rbf",
        gamma=1.0,
        n_neighbors=10,
        n_components=None,
        eigen_solver="auto",
        eigen_tol=3e-5,
        rounding="ncut",
        n_init=10,
        memory_limit=2**30,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.n_clusters = n_clusters
        self.min_balance = min_balance
        self.affinity = affinity
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.eigen_solver = eigen_solver
        self.eigen_tol = eigen_tol
        self.rounding = rounding
        self.n_init = n_init
        self.memory_limit = memory_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X, y=None, *, sensitive_features=None):
        """Cluster the rows of X, or the nodes of a graph.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features) or (n_samples, n_samples)
            Rows, or an affinity if ``affinity="precomputed"``.
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
        MemoryError
            If the affinity would exceed ``memory_limit`` and cannot be recomputed tile by tile;
            nothing is allocated.
        """
        random_state = check_random_state(self.random_state)
        embedded = self._embed(X, sensitive_features, random_state)
        settings = Rounding(self.n_clusters, self.min_balance or None, self.n_init)
        labels = ROUNDINGS[self.rounding](
            embedded.operator, embedded.found.embedding, embedded.groups, settings, random_state
        )
        self._store(embedded, labels)
        self._report()
        return self

    def predict(self, X):
        """Cluster of each row, by extending the embedding to it.

        A row x is embedded at ``t(x) = k(x, .) T / (lambda d_x)``, T the training embedding
        ``D^(-1/2) H``, and goes to the cluster with the nearest (degree-weighted) mean there.
        The labels of the training rows may differ from ``labels_``, and no balance is promised.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features) or (n_samples, n_train)
            Rows, or with ``affinity="precomputed"`` their affinities to the training rows.

        Returns
        -------
        labels : ndarray of int32, shape (n_samples,)
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        # Row blocks, so that the similarities to all training rows keep within memory_limit.
        block = max(1, self.memory_limit // (8 * len(self._extension)))
        starts = range(0, X.shape[0], block)
        extended = [self._extend(X[start : start + block]) for start in starts]
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
        return -normalized_cut(labels, self._affinity_of(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.affinity == "precomputed"
        return tags

    def _embed(self, X, sensitive_features, random_state):
        """Validate the input of a fit and embed it."""
        self._validate_params()
        check_alignment(X=X, sensitive_features=sensitive_features)
        # Nothing is set on the estimator before the fit has succeeded: an earlier fit stays whole.
        checked = check_array(
            X, accept_sparse="csr", dtype=np.float64, input_name="X", estimator=self
        )
        n_samples = checked.shape[0]
        if n_samples < self.n_clusters:
            raise ValueError(
                f"n_samples={n_samples} should be >= n_clusters={self.n_clusters}; ask for fewer "
                "clusters."
            )
        groups = self._check_groups(sensitive_features, n_samples)
        operator = NormalizedAffinity(self._affinity_of(checked))
        n_components = self.n_components or self.n_clusters
        found = embed(
            operator, groups, n_components, self.eigen_solver, self.eigen_tol, random_state
        )
        validate_data(self, X, skip_check_array=True)  # number and names of features
        return Embedded(checked, operator, groups, found)

    def _of_labels(self, embedded, labels):
        """A fitted clone whose clustering is the given one: a point of a front."""
        counts = count_table(
            labels, embedded.groups.codes, None, self.n_clusters, len(embedded.groups.labels)
        )
        reached = min(1.0, balance(counts) / data_balance(embedded.groups.counts))
        estimator = clone(self).set_params(min_balance=reached)
        estimator._store(embedded, labels)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(estimator, name, getattr(self, name))
        return estimator

    def _check_groups(self, sensitive_features, n_samples):
        if sensitive_features is not None:
            return check_groups(sensitive_features, n_samples)
        if self.min_balance:
            warnings.warn(
                f"min_balance={self.min_balance} asks for balanced clusters, but fit got no "
                "sensitive_features: everybody is one group and the fit is plain spectral "
                "clustering. Pass fit(X, sensitive_features=...), or min_balance=None.",
                MissingSensitiveFeaturesWarning,
                stacklevel=4,
            )
        return Groups.single(n_samples)

    def _affinity_of(self, X):
        """The affinity of the rows of X, stored where it fits."""
        n_samples = X.shape[0]
        if self.affinity == "precomputed":
            return check_affinity(X)
        if self.affinity == "nearest_neighbors":
            n_neighbors = min(self.n_neighbors, n_samples)
            graph = kneighbors_graph(X, n_neighbors, include_self=True, n_jobs=self.n_jobs)
            return sparse.csr_array(0.5 * (graph + graph.T))
        n_bytes = 8 * n_samples**2
        if n_bytes <= self.memory_limit:
            return check_affinity(self._kernel(X, X))
        if callable(self.affinity) or sparse.issparse(X) or self.eigen_solver == "nullspace":
            raise MemoryError(
                f"The affinity of {n_samples} rows would take {n_bytes} bytes, above "
                f"memory_limit={self.memory_limit}. Raise memory_limit, or use affinity='rbf' with "
                "dense rows and another eigen_solver, which recomputes the kernel tile by tile, or "
                "affinity='nearest_neighbors'."
            )
        return RBFAffinity(X, self.gamma)

    def _kernel(self, X, Y):
        if not callable(self.affinity):
            return rbf_kernel(X, Y, gamma=self.gamma)
        similarity = self.affinity(X, Y)
        similarity = similarity.toarray() if sparse.issparse(similarity) else similarity
        similarity = np.asarray(similarity, dtype=np.float64)
        if similarity.shape != (X.shape[0], Y.shape[0]):
            raise ValueError(
                f"affinity(X, Y) must return one similarity per pair of rows, shape "
                f"{(X.shape[0], Y.shape[0])}, but it returned shape {similarity.shape}."
            )
        return similarity

    def _extend(self, X):
        """Coordinates of new rows in the embedding."""
        similarity = self._similarity(X)
        degrees = np.asarray(similarity.sum(axis=1), dtype=np.float64).ravel()
        degrees[degrees <= 0] = 1.0
        return (similarity @ self._extension) / degrees[:, None]

    def _similarity(self, X):
        """Similarities of new rows to the training rows."""
        if self.affinity == "precomputed":
            return X
        if self.affinity == "nearest_neighbors":
            n_neighbors = min(self.n_neighbors, self._X_fit.shape[0])
            neighbors = NearestNeighbors(n_neighbors=n_neighbors, n_jobs=self.n_jobs)
            return neighbors.fit(self._X_fit).kneighbors_graph(X)
        return self._kernel(X, self._X_fit)

    def _store(self, embedded, labels):
        """Set all fitted attributes at once, so that an interrupted fit leaves the last one."""
        X, operator, groups, found = embedded
        n_groups = len(groups.labels)
        counts = count_table(labels, groups.codes, None, self.n_clusters, n_groups)
        T = found.embedding / np.sqrt(operator.degrees)[:, None]
        r, reached = data_balance(groups.counts), balance(counts)
        asked = self.min_balance or 0.0
        kept = keeps_promise(counts, asked * r, 1.0)
        volumes = np.bincount(labels, operator.degrees, minlength=self.n_clusters)
        sums = np.zeros((self.n_clusters, T.shape[1]))
        np.add.at(sums, labels, T * operator.degrees[:, None])
        fitted = {
            "labels_": labels,
            "embedding_": found.embedding,
            "embedding_violation_": found.violation,
            "eigenvalues_": found.eigenvalues,
            "objective_": normalized_cut(labels, operator.affinity),
            "balance_": reached,
            "data_balance_": r,
            "relative_balance_": reached / r,
            "cluster_balances_": cluster_balances(counts),
            "group_counts_": counts,
            "constraint_violation_": 0.0 if kept else asked - reached / r,
            "status_": "feasible" if kept else "infeasible",
            "groups_": groups.summary,
            "_X_fit": None if self.affinity == "precomputed" else X,
            "_extension": T * _inverse(found.eigenvalues),
            "_means": sums / volumes[:, None],
        }
        if not isinstance(operator.affinity, RBFAffinity):
            fitted["affinity_matrix_"] = operator.affinity
        vars(self).pop("affinity_matrix_", None)
        vars(self).update(fitted)

    def _report(self):
        if self.verbose:
            print(
                f"embedding: eigenvalues {self.eigenvalues_.sum():.6g}; "
                f"normalised cut {self.objective_:.6g}, balance {self.balance_:.4f}"
            )
        if self.status_ == "infeasible":
            warnings.warn(
                f"min_balance={self.min_balance:g} is not reached: the relative balance of the fit "
                f"is {self.relative_balance_:.4f} (balance {self.balance_:.4f} of "
                f"{self.data_balance_:.4f} in the data). Ask for less balance or for fewer "
                "clusters, or use rounding='ncut'.",
                InfeasibleConstraintWarning,
                stacklevel=3,
            )


def _inverse(eigenvalues):
    """1 / lambda, and 0 for directions that the affinity (nearly) annihilates."""
    kept = np.abs(eigenvalues) > 1e-6
    return np.divide(1.0, eigenvalues, out=np.zeros_like(eigenvalues), where=kept)
