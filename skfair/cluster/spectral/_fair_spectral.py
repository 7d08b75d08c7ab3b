"""Spectral clustering into balanced clusters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from skfair._groups.arguments import FitArguments
from skfair._kernels.kmeans import nearest_centers
from skfair._partitions.collections import row_by_row
from skfair._partitions.partitions import blocks
from skfair._utils.api import MatrixLike, RandomState
from skfair._utils.checks import validate_data, warn
from skfair._utils.fit import restore_on_failure
from skfair._utils.parameters import (
    OpenShare,
    Positive,
    PositiveInt,
    Share,
    Verbose,
    make_constructor,
    validate_params,
)
from skfair._utils.sklearn import StrOptions, with_callbacks
from skfair.cluster._base import FairClusterer, RoundReporter, store_clusters
from skfair.cluster.spectral._fair_embedding import Affinity, EigenSolver, working_memory
from skfair.cluster.spectral._problem import add_households, add_pairs, make_spectral_problem
from skfair.cluster.spectral._rounding import ROUNDINGS
from skfair.exceptions import InfeasibleConstraintWarning
from skfair.metrics import normalized_cut

if TYPE_CHECKING:
    from sklearn.utils import Tags


@make_constructor
class FairSpectralClustering(FairClusterer):
    r"""Spectral clustering of a graph or kernel into balanced clusters.

    The embedding gives every group the same mean (see :func:`fair_embedding`). That alone leaves
    clusters unbalanced on real data, so the rounding to labels then enforces ``min_balance`` at the
    smallest normalised cut it finds.

    With ``n_landmarks``, and always on partitioned data, only similarities to landmarks are
    computed. Two samples are then similar through the landmarks that they share (after the
    landmark-based spectral clustering of [2]_):

    .. math:: W_{ij} = \sum_u \frac{k(x_i, u) k(x_j, u)}{\sum_l k(x_l, u)}, \quad
        d_i = \sum_u k(x_i, u)

    One landmark u is common to all samples, so that outliers form no clusters: its similarity is a
    tenth of the mean sum of all others, over a subsample (after [3]_). The fair embedding of W is
    exact. k-means on it weighs samples by their degrees d, as the normalised cut does, and its
    balance counts each as one. Time and memory are linear in the number of samples.

    Read more in the :ref:`guide <fair_spectral_clustering>`.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    min_balance : float in [0, 1] or None, default=0.8
        Minimum balance of a cluster (smallest over largest group), relative to that of the data,
        up to one sample of rounding as in :class:`FairKMeans`. None or 0: no requirement.
    min_share_ratio : float in [0, 1] or None, default=None
        Minimum ratio of two groups' shares in a cluster, as in :class:`FairKMeans`: 0.8 is the
        four-fifths rule.
    attributes : {"intersections", "each"}, default="intersections"
        With several sensitive attributes, groups are the combinations that occur. "each" compares
        the values of every single attribute, as in :class:`FairKMeans`; the embedding then gives
        every value the same mean. Intersections of very unequal sizes have a small balance in the
        data already: ``relative_balance_`` may reach ``min_balance`` while a single attribute is
        far below it. "each" bounds that.
    min_cluster_size, max_cluster_size : int, float in (0, 1) or None, default=None
        Bounds on the number of members of every cluster: an int is a number of samples, a float a
        share of all. With them, or with ``attributes="each"`` or ``together``, labels come from
        k-means within the bounds on the embedding, and from moves and exchanges that keep them and
        lower the cut. They need ``assign_labels="ncut"`` and no landmarks.
    affinity : {"rbf", "nearest_neighbors", "precomputed"} or callable, default="rbf"
        As in :class:`sklearn.cluster.SpectralClustering`; "precomputed" takes a graph or kernel
        (array or sparse), a callable ``f(X, Y)`` returns similarities of shape (n_x, n_y). An "rbf"
        kernel above the ``working_memory`` of :func:`sklearn.set_config` is recomputed tile by
        tile.
    gamma : float, default=1.0
        Inverse squared width of the "rbf" kernel ``exp(-gamma |x - y|^2)``.
    n_neighbors : int, default=10
        Number of neighbours of "nearest_neighbors".
    n_components : int, default=None
        Columns of the embedding; None is ``n_clusters``.
    eigen_solver : str, SFSC or DCADMM, default="auto"
        See :func:`fair_embedding`.
    eigen_tol : float, default=3e-5
        Relative error of the embedding's objective, ``tol`` of :func:`fair_embedding`.
    assign_labels : {"ncut", "kmeans"}, default="ncut"
        "ncut": degree-weighted k-means, then a local search for the normalised cut within bounds on
        the counts of groups, then within ``min_balance`` itself. "kmeans": plain k-means
        on the rows of D^-1/2 H, as in the papers cited below, without balance.
    n_init : int, default=10
        Number of starts of k-means.
    n_landmarks : int or None, default=None
        Number of landmarks: k-means centres of a subsample of 20 rows per landmark. With
        "nearest_neighbors" there should be many times ``n_neighbors`` in every cluster. None uses
        the similarities of all pairs in memory, and on partitioned data 500 landmarks, or ten per
        component if that is more. Landmarks need ``eigen_solver="auto"``, ``assign_labels="ncut"``
        and an affinity other than "precomputed".
    random_state : int, RandomState instance or None, default=None
        Determines the starts of the solver and of k-means.
    n_jobs : int or None, default=None
        Number of jobs of the neighbour search, and of threads for products with an affinity or
        kernel tiles and for similarities of blocks of 65,536 rows to landmarks. None is 1 unless in
        a ``joblib.parallel_config`` context.
    verbose : int, default=0
        Print cut and balance after every round if positive.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of each sample. This and ``embedding_`` are Dask arrays if X is one.
    embedding_ : ndarray of shape (n_samples, n_components)
        The fair embedding H.
    embedding_violation_ : float
        Distance of H from the group constraint, see :func:`fair_embedding`.
    group_violation_ : float
        :math:`\|F'H\|^2`, with :math:`F = D^{-1/2} (G - 1 z')` of the groups; not with landmarks.
    eigenvalues_ : ndarray of shape (n_components,)
        Ritz values of the embedding.
    affinity_matrix_ : array or sparse matrix of shape (n_samples, n_samples)
        Not set if the kernel was recomputed tile by tile, nor with landmarks. Scaled by a power of
        two if its maximum is above 1e30 or below 1e-30.
    landmarks_ : ndarray of shape (n_landmarks, n_features)
        The landmarks, if there are any.
    objective_ : float
        Normalised cut of the labels; with landmarks, on the affinity W.
    balance_, relative_balance_, data_balance_ : float
        As in :class:`FairKMeans`.
    cluster_balances_ : ndarray of shape (n_clusters,)
        Balance of each cluster.
    share_ratio_ : float
        Minimum ratio of two groups' shares in a cluster.
    cluster_share_ratios_ : ndarray of shape (n_clusters,)
        Ratio of shares of each cluster.
    cluster_sizes_ : ndarray of shape (n_clusters,)
        Members of each cluster.
    group_counts_, group_weights_ : ndarray of shape (n_clusters, n_groups)
        Members of each group in each cluster; all have the weight 1.
    constraint_violation_ : float or None
        Number of samples by which the bound is missed that is missed most, as in
        :class:`FairKMeans`, or the number of pairs of ``cannot_link`` that are broken if it is
        larger. 0 if all is kept, None if balance was required, but there are no two groups.
    violated_bound_ : str or None
        Parameter that this is about: "min_balance", "min_share_ratio", "min_cluster_size",
        "max_cluster_size" or "cannot_link".
    status_ : {"feasible", "stopped", "max_iter", "not_found", "infeasible", "unconstrained"}
        "unconstrained": balance was required, but there are no two groups. "feasible": the required
        balance is reached; the cut is that of a local search, so no fit is "optimal". "max_iter":
        balance is reached, but the embedding is less accurate than ``eigen_tol`` (with a warning;
        "dca-admm" and, with fewer landmarks than nodes, "nystroem" always are). "stopped": balance
        is reached, and a callback ended the search. "infeasible": no clusters keep the bounds.
        "not_found": none were found that keep them. Both come with a warning.
    groups_ : GroupSummary
        Labels and counts of the groups.
    n_iter_ : int
        Number of rounds: clusterings searched by the rounding, the first of which ignores groups.
        Callbacks get each. With landmarks the rounds of k-means, which callbacks do not get.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of str
        Names of features seen during fit, if X has string column names.

    Warns
    -----
    MissingSensitiveFeaturesWarning
        If balance is required, but fit gets no ``sensitive_features`` or all are of one group.
    InfeasibleConstraintWarning
        If the required balance is not reached; the best clustering found is stored.
    ConvergenceWarning
        If balance is reached, but the embedding is less accurate than ``eigen_tol``.
    UserWarning
        If the affinity has no clusters: more than a quarter of the rows are similar to no other
        row (as with unscaled columns and a ``gamma`` that is too large), or all are equally
        similar. Clusters are arbitrary then.

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

    With four landmarks:

    >>> model.set_params(n_landmarks=4).fit(X, sensitive_features=groups).landmarks_.shape
    (4, 1)
    >>> model.cluster_balances_
    array([1., 1.])
    """

    __metadata_request__fit = {"sensitive_features": True, "together": True} | dict.fromkeys(
        ("must_link", "cannot_link"), UNUSED
    )
    __metadata_request__predict = {"sensitive_features": True}

    n_clusters: PositiveInt = 8
    _: KW_ONLY
    min_balance: Share | None = 0.8
    min_share_ratio: Share | None = None
    attributes: Literal["intersections", "each"] = "intersections"
    min_cluster_size: PositiveInt | OpenShare | None = None
    max_cluster_size: PositiveInt | OpenShare | None = None
    affinity: Annotated[str, StrOptions({"rbf", "nearest_neighbors", "precomputed"})] | Callable = (
        "rbf"
    )
    gamma: Positive = 1.0
    n_neighbors: PositiveInt = 10
    n_components: PositiveInt | None = None
    eigen_solver: EigenSolver = "auto"
    eigen_tol: Positive = 3e-5
    assign_labels: Annotated[str, StrOptions(ROUNDINGS)] = "ncut"
    n_init: PositiveInt = 10
    n_landmarks: PositiveInt | None = None
    random_state: RandomState = None
    n_jobs: int | None = None
    verbose: Verbose = 0

    @restore_on_failure(one_blas_thread=False)
    @with_callbacks
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        sensitive_features: MatrixLike | None = None,
        must_link: ArrayLike | None = None,
        cannot_link: ArrayLike | None = None,
        together: ArrayLike | None = None,
    ) -> Self:
        """Cluster the rows of X, or the nodes of a graph.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features) or (n_samples, n_samples)
            Rows, or an affinity if ``affinity="precomputed"``. Dense with landmarks. X and the
            groups may be partitioned, which needs landmarks: Dask arrays and dataframes, or what
            :func:`skfair.datasets.open_blocks` returns.
        y : Ignored
            Not used, present for API consistency.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes), \
default=None
            Group of each sample. None is one group of all samples, with a warning.
        must_link, cannot_link : array-like of int, shape (n_pairs, 2), default=None
            Row numbers of two samples that must be in one cluster, or in different clusters. Linked
            samples have equal coordinates ``D^(-1/2) H``: they are more columns of the constraint.
            Pairs need ``assign_labels="ncut"``, no landmarks, and an ``eigen_solver`` that is exact
            for them: "auto", "block-lanczos", "chebyshev" or "nullspace". They name rows of
            the X that is fitted: metadata routing does not pass them on, and a cross-validation
            without it would link other rows in every fold.
        together : array-like of shape (n_samples,), default=None
            Id of the household of each sample, whose members go to one cluster and have equal
            coordinates. Metadata routing passes it on. Balances and sizes count members. It needs
            what pairs need, and no pairs.

        Returns
        -------
        self : FairSpectralClustering
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data is invalid; the message says what must hold.
        TypeError
            If X is sparse and landmarks are used.
        MemoryError
            If the affinity would exceed scikit-learn's ``working_memory`` and cannot be recomputed
            tile by tile; nothing is allocated.
        """
        validate_params(self)
        arguments = FitArguments(X=X, sensitive_features=sensitive_features, together=together)
        problem = make_spectral_problem(self, arguments)
        problem = add_pairs(self, problem, must_link, cannot_link)  # type: ignore[arg-type]
        problem = add_households(self, problem, together)
        random_state = check_random_state(self.random_state)
        # Callbacks see every round of the search.
        rounds = RoundReporter(self, X, problem.lacks_groups)
        problem = problem.embed(self, random_state)
        fitted = problem.cluster(self, random_state, rounds)
        otherwise = "" if self.assign_labels == "ncut" else ", or use assign_labels='ncut'"
        advice = f"Use a smaller min_balance or fewer clusters{otherwise}."
        cut_short = problem.explain_early_stop(self)
        pairs = getattr(problem, "pairs", None)
        if pairs is not None and (broken := pairs.find_broken(fitted["labels_"])):
            if len(broken) > fitted["constraint_violation_"]:
                fitted |= {
                    "constraint_violation_": float(len(broken)),
                    "violated_bound_": "cannot_link",
                }
            warn(
                f"The pairs {broken} of cannot_link are in one cluster: no clusters were found "
                "that keep all pairs. Use more clusters or fewer pairs.",
                InfeasibleConstraintWarning,
            )
        return store_clusters(self, X, problem, fitted, rounds, advice, cut_short)

    @row_by_row(lambda self: np.empty(0, dtype=np.int32))
    def predict(self, X: MatrixLike, *, sensitive_features: MatrixLike | None = None) -> np.ndarray:
        """Cluster of each row, by extending the embedding to it.

        A row x is embedded at ``t(x) = k(x, .) T / (lambda d_x)``, with T the training embedding
        ``D^(-1/2) H``, and assigned to the cluster with the nearest (degree-weighted) mean. With
        landmarks k is the affinity W, which needs similarities of x to the landmarks only. Labels
        of training rows may differ from ``labels_``, and balance is not guaranteed.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features) or (n_samples, n_train)
            Rows, or with ``affinity="precomputed"`` their affinities to the training rows.
        sensitive_features : array-like, default=None
            Ignored: the nearest mean does not depend on the group.

        Returns
        -------
        labels : ndarray of int32, shape (n_samples,)
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        # Blocks of rows, so that their similarities to the training rows fit into memory.
        size = max(1, int(working_memory() / (8 * len(self._extension))))
        affinity = Affinity(self)
        coordinates = [
            self._extend(affinity.compute_pairwise(X[rows], self._X_fit))
            for rows in blocks(X.shape[0], size)
        ]
        return nearest_centers(np.vstack(coordinates), self._means)[0]

    def score(self, X: MatrixLike, y: ArrayLike | None = None) -> float:
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
        return -normalized_cut(labels, Affinity(self).compute(X))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.n_landmarks is None
        tags.input_tags.pairwise = self.affinity == "precomputed"
        return tags

    def _extend(self, similarity: np.ndarray) -> np.ndarray:
        """Coordinates of new rows, from their similarities to the training rows."""
        # Mean over the training rows, weighted by similarity.
        degrees = np.asarray(similarity.sum(axis=1), dtype=np.float64).ravel() + self._background
        degrees[degrees <= 0] = 1.0
        return (similarity @ self._extension) / degrees[:, None]
