"""Published methods for fair k-means, reimplemented for comparison.

Each is as efficient as numpy and scipy make it. No result is repaired beyond what its paper
describes.
"""

from itertools import permutations

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment, linprog
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans

TINY = 1e-12


def vfairkm(X, codes, n_clusters, mu, *, init=None, random_state=None, max_iter=100):
    """Variational fair k-means: labels that minimise cost plus `mu` times a fairness error.

    The objective is half the sum of squared distances plus ``mu * sum_k KL(U || P_k)`` ((1) and (7)
    of [2]_), with U the shares of the groups in the data and P_k those in cluster k. Soft
    assignments are updated at fixed centres by bound optimisation, then the centres become the
    means of the hardened clusters, until the objective falls by less than 1e-4 of itself.

    Differences from the published code were measured to give better fronts: it starts from plain
    k-means instead of k-means++, its steps come from a bound relative to the entropy, and
    assignments start at a temperature of a quarter of the cost. As published, it finds little
    balance where the groups are far apart, and a very large `mu` makes the steps too short.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    codes : ndarray of int, shape (n_samples,)
        Group of each sample in [0, n_groups).
    n_clusters : int
    mu : float
        Weight of the fairness error.
    init : ndarray of shape (n_clusters, n_features), default=None
        First centres; by default those of the best of ten runs of k-means.
    random_state : int, RandomState instance or None, default=None
        For the starts of k-means.
    max_iter : int, default=100
        Updates of the centres.

    Returns
    -------
    labels : ndarray of intp, shape (n_samples,)
        The most likely cluster of each sample. A cluster may be left empty.

    References
    ----------
    .. [1] I. M. Ziko, J. Yuan, E. Granger and I. Ben Ayed, "Variational fair clustering", AAAI
       2021.
    .. [2] S. Liu and L. N. Vicente, "A stochastic alternating balance k-means algorithm for fair
       clustering", LION 2022, arXiv:2105.14172, Appendix C.
    """
    centers = _kmeans_centers(X, n_clusters, random_state) if init is None else np.array(init)
    previous = np.inf
    for _ in range(max_iter):
        halves = cdist(X, centers, "sqeuclidean") / 2
        soft, objective = _bound_updates(halves, codes, mu)
        labels = soft.argmax(axis=1)
        for k in np.unique(labels):
            centers[k] = X[labels == k].mean(axis=0)
        if previous - objective <= 1e-4 * abs(objective):
            break
        previous = objective
    return labels


def fairness_error(labels, codes):
    """Sum over clusters of KL(U || P_k), infinite where a cluster has no sample of a group.

    Examples
    --------
    >>> import numpy as np
    >>> fairness_error(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))
    0.0
    """
    shares = np.bincount(codes) / len(codes)
    counts = np.array([np.bincount(codes[labels == k], minlength=len(shares)) for k in set(labels)])
    with np.errstate(divide="ignore"):
        logarithms = np.log(shares * counts.sum(axis=1, keepdims=True) / counts)
    return float((shares * logarithms).sum())


def vfairkm_front(X, codes, n_clusters, mus, *, random_state=None):
    """One `vfairkm` clustering per weight in `mus`: an array (n_mus, n_samples) of labels."""
    init = _kmeans_centers(X, n_clusters, random_state)
    return np.stack([vfairkm(X, codes, n_clusters, mu, init=init) for mu in mus])


def _kmeans_centers(X, n_clusters, random_state):
    return KMeans(n_clusters, n_init=10, random_state=random_state).fit(X).cluster_centers_


def _bound_updates(distances, codes, mu, max_updates=600, tol=1e-4):
    """Minimise sum S D + mu sum_k KL(U || P_k) over soft assignments S; S and the value.

    The penalty is sum_k [log n_k - sum_j u_j log n_kj] plus a constant. Its first part is concave
    and bounded by its tangent. The second is smooth relative to the entropy of S with constant
    L = mu max u_j / n_kj, so that multiplicative updates with step 1 / L lower the objective.
    """
    shares = np.bincount(codes)[:, None] / len(codes)
    groups = np.eye(len(shares))[codes]
    soft = _softmax(-4 * distances / max(distances.min(axis=1).mean(), TINY))
    previous = np.inf
    for _ in range(max_updates):
        counts = np.maximum(groups.T @ soft, TINY)
        sizes = counts.sum(axis=0)
        error = (shares * np.log(shares * sizes / counts)).sum()
        value = (soft * distances).sum() + mu * error
        if previous - value <= tol * abs(value):
            break
        previous = value
        slope = distances + mu * (1 / sizes - shares / counts)[codes]
        # Without a penalty any step is valid; this one has the unit of the distances.
        smoothness = max(distances.mean(), mu * (shares / counts).max(), TINY)
        soft = _softmax(np.log(np.maximum(soft, TINY)) - slope / smoothness)
    return soft, value


def _softmax(scores):
    soft = np.exp(scores - scores.max(axis=1, keepdims=True))
    return soft / soft.sum(axis=1, keepdims=True)


def fair_assignment_lp(distances, codes, balance, scale=None):
    """Fractional assignment of least cost to fixed centres with a balance, by linear programming.

    Minimises ``sum_pk D_pk s_pk`` over ``s_p`` in the simplex such that ``n_kj >= b n_kj'`` for
    every cluster k and ordered pair of groups (j, j'), with ``n_kj = sum_{p in group j} s_pk``. It
    is the assignment step of [1]_ with these pairwise bounds, solved by HiGHS.

    Parameters
    ----------
    distances : ndarray of shape (n_samples, n_clusters)
        D, usually squared distances to the centres.
    codes : ndarray of int, shape (n_samples,)
        Group of each sample in [0, n_groups).
    balance : float
        b, at most the balance of the data.
    scale : ndarray of shape (n_groups,), default=None
        Weight of a member of each group, 1 if None. The reciprocal of the group's size bounds the
        ratios of shares.

    Returns
    -------
    objective : float
    assignment : ndarray of shape (n_samples, n_clusters)
        s; at a vertex all but a few rows are 0 or 1.

    Raises
    ------
    ValueError
        If no assignment has this balance.

    References
    ----------
    .. [1] S. K. Bera, D. Chakrabarty, N. J. Flores and M. Negahbani, "Fair algorithms for
       clustering", NeurIPS 2019.
    """
    n_samples, n_clusters = distances.shape
    groups = np.eye(codes.max() + 1)[codes]
    scales = np.diag(np.ones(groups.shape[1]) if scale is None else scale / scale.mean())
    pairs = [balance * v - u for u, v in permutations(scales, 2)]
    bounds = {}
    if pairs:
        rows = sparse.csr_array(np.array(pairs) @ groups.T)
        bounds["A_ub"] = sparse.kron(rows, sparse.eye_array(n_clusters), format="csr")
        bounds["b_ub"] = np.zeros(len(pairs) * n_clusters)
    simplex = sparse.kron(sparse.eye_array(n_samples), np.ones((1, n_clusters)), format="csr")
    solution = linprog(
        distances.ravel(), A_eq=simplex, b_eq=np.ones(n_samples), method="highs", **bounds
    )
    if solution.status == 2:
        counts = groups.sum(axis=0)
        raise ValueError(
            f"no assignment has balance {balance}: that of the data is "
            f"{counts.min() / counts.max():.6g}. Pass at most that."
        )
    return solution.fun, solution.x.reshape(n_samples, n_clusters)


def fairlet_kmeans(X, codes, n_clusters, *, random_state=None):
    """k-means on optimal (1, t)-fairlets of two groups.

    Every member of the smaller group gets between 1 and t = ceil(n_large / n_small) members of
    the larger one, with the smallest sum of squared distances within these pairs. A fairlet
    is replaced by its mean, weighted by its size, and k-means clusters the means. No cluster has
    a balance below 1 / t. The decomposition is an exact minimum-cost flow, solved as a dense
    assignment problem with t copies of the smaller group: O(n^2) memory and up to O(n^3) time,
    for some thousand samples. (The fairlets of [1]_ are the same flow with the k-median cost.)

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    codes : ndarray of int, shape (n_samples,)
        0 or 1.
    n_clusters : int
        At most the size of the smaller group.
    random_state : int, RandomState instance or None, default=None
        For the starts of k-means.

    Returns
    -------
    labels : ndarray of int32, shape (n_samples,)

    Raises
    ------
    ValueError
        If there are not exactly two groups.

    References
    ----------
    .. [1] F. Chierichetti, R. Kumar, S. Lattanzi and S. Vassilvitskii, "Fair clustering through
       fairlets", NeurIPS 2017.
    """
    counts = np.bincount(codes)
    if len(counts) != 2 or counts.min() == 0:
        raise ValueError(f"fairlets need two groups, got groups of sizes {counts.tolist()}.")
    small = np.flatnonzero(codes == counts.argmin())
    large = np.flatnonzero(codes != counts.argmin())
    fairlet = np.empty(len(X), dtype=np.intp)
    fairlet[small] = np.arange(len(small))
    fairlet[large] = _match(cdist(X[large], X[small], "sqeuclidean"))
    sizes = np.bincount(fairlet)
    means = np.stack([np.bincount(fairlet, column) for column in X.T], axis=1) / sizes[:, None]
    model = KMeans(n_clusters, n_init=10, random_state=random_state)
    return model.fit(means, sample_weight=sizes).labels_[fairlet]


def _match(distances):
    """Column of each row, with 1 to t rows in every column and the smallest total."""
    n_large, n_small = distances.shape
    t = -(-n_large // n_small)
    cost = np.tile(distances, t)
    # Empty rows fill the remaining copies of the columns, but never the first copy.
    empty = np.zeros((t * n_small - n_large, t * n_small))
    empty[:, :n_small] = np.inf
    _, columns = linear_sum_assignment(np.vstack([cost, empty]))
    return columns[:n_large] % n_small
