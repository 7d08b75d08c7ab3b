"""Two published schemes of fair k-means by minimum-cost flows, written here with OR-Tools.

Both assign one group after the other by a minimum-cost flow, then update the centres.
"""

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans, kmeans_plusplus

COST_UNIT = 1e6  # costs of arcs are integers
MIN_GAIN = 0.001  # relative gain of a round, below which the scheme in stages ends


def solve_flow(distances, smallest, largest):
    """Return the labels of the cheapest assignment with bounds on the size of each cluster.

    Parameters
    ----------
    distances : ndarray of shape (n_samples, n_clusters)
        Cost of each assignment.
    smallest, largest : ndarray of shape (n_clusters,)
        Bounds on the number of samples of each cluster.

    Returns
    -------
    labels : ndarray of shape (n_samples,)
    """
    from ortools.graph.python.min_cost_flow import SimpleMinCostFlow

    n_samples, n_clusters = distances.shape
    flow = SimpleMinCostFlow()
    samples, clusters = np.divmod(np.arange(distances.size), n_clusters)
    costs = np.rint(distances.ravel() / distances.mean() * COST_UNIT).astype(np.int64)
    ones = np.ones(distances.size, dtype=np.int64)
    arcs = flow.add_arcs_with_capacity_and_unit_cost(samples, n_samples + clusters, ones, costs)
    sink = n_samples + n_clusters
    ends = n_samples + np.arange(n_clusters), np.full(n_clusters, sink)
    # The minimum of each cluster flows on an arc that is cheaper than any detour.
    reward = np.full(n_clusters, -(costs.max() + 1) * n_clusters)
    flow.add_arcs_with_capacity_and_unit_cost(*ends, smallest, reward)
    flow.add_arcs_with_capacity_and_unit_cost(*ends, largest - smallest, 0 * reward)
    supplies = np.append(np.ones(n_samples, dtype=np.int64), -n_samples)
    flow.set_nodes_supplies(np.append(np.arange(n_samples), sink), supplies)
    if flow.solve() != flow.OPTIMAL:
        raise ValueError("No assignment has these sizes.")
    return flow.flows(arcs).reshape(distances.shape).argmax(axis=1)


def fit_largest_remainders(X, codes, target, centers, n_rounds=4):
    """Return labels: counts of the smallest group by largest remainders, flows for all groups.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    codes : ndarray of shape (n_samples,)
        Groups, as 0, 1, ...
    target : float
        Balance of every cluster: its smallest count of a group over the largest.
    centers : ndarray of shape (n_clusters, n_features)
        First centres, which k-means moves.
    n_rounds : int, default=4
        Rounds of assignments and means.
    """
    n_clusters = len(centers)
    sizes = np.bincount(codes)
    centers = KMeans(n_clusters, init=centers, n_init=1).fit(X).cluster_centers_
    for _ in range(n_rounds):
        distances = cdist(X, centers, "sqeuclidean")
        labels = distances.argmin(axis=1)
        of_largest = np.bincount(labels[codes == sizes.argmax()], minlength=n_clusters)
        smallest = _round_shares(np.maximum(of_largest, 1), sizes.min())
        largest = np.floor(smallest / target + 1e-9).astype(np.int64)
        for code in range(len(sizes)):
            most = smallest if code == sizes.argmin() else largest
            labels[codes == code] = solve_flow(distances[codes == code], smallest, most)
        centers = _means(X, labels, n_clusters)
    return labels


def _round_shares(sizes, total):
    """Return integers of at least 1 that are nearly proportional to sizes and add up to total."""
    exact = total * sizes / sizes.sum()
    counts = np.maximum(np.floor(exact).astype(np.int64), 1)
    while counts.sum() < total:
        counts[np.argmax(exact - counts)] += 1
    while counts.sum() > total:
        counts[np.argmax(np.where(counts > 1, counts - exact, -np.inf))] -= 1
    return counts


def fit_in_stages(X, codes, target, centers, max_rounds=100):
    """Return labels by the scheme of MS-FlowFC (arXiv:2605.13759).

    The largest group goes to the nearest centres. The other groups follow by size, each within
    the bounds that the counts of the groups before it leave. Bounds that no assignment has, for
    the counts are integers, are relaxed, so that the target can be missed.
    """
    n_clusters = len(centers)
    order = np.argsort(-np.bincount(codes), kind="stable")
    of_largest = X[codes == order[0]]
    best = np.inf, None
    for _ in range(max_rounds):
        centers = _fill_empty(of_largest, centers)
        distances = cdist(X, centers, "sqeuclidean")
        labels = distances.argmin(axis=1)
        counts = np.empty((0, n_clusters), dtype=np.int64)
        for position, code in enumerate(order):
            members = codes == code
            if position:
                bounds = _stage_bounds(counts, target, members.sum())
                labels[members] = solve_flow(distances[members], *bounds)
            counts = np.vstack((counts, np.bincount(labels[members], minlength=n_clusters)))
        centers = _means(X, labels, n_clusters)
        cost = ((X - centers[labels]) ** 2).sum()
        if cost > (1 - MIN_GAIN) * best[0]:
            break
        best = cost, labels
    return best[1]


def _fill_empty(X, centers):
    """Return centres of which none is nearest to no sample: others are drawn by k-means++."""
    for seed in range(100):
        nearest = cdist(X, centers, "sqeuclidean").argmin(axis=1)
        empty = np.flatnonzero(np.bincount(nearest, minlength=len(centers)) == 0)
        if not len(empty):
            break
        centers = centers.copy()
        centers[empty] = kmeans_plusplus(X, len(empty), random_state=seed)[0]
    return centers


def _stage_bounds(counts, target, n_members):
    """Return bounds of a group from the counts of the groups before it, which have a solution."""
    smallest = np.ceil(target * counts.max(axis=0) - 1e-9).astype(np.int64)
    largest = np.maximum(np.floor(counts.min(axis=0) / target + 1e-9).astype(np.int64), smallest)
    while smallest.sum() > n_members:
        smallest[smallest.argmax()] -= 1
    while largest.sum() < n_members:
        largest[largest.argmax()] += 1
    return smallest, largest


def _means(X, labels, n_clusters):
    """Return the means of the clusters."""
    sums = np.zeros((n_clusters, X.shape[1]))
    np.add.at(sums, labels, X)
    return sums / np.maximum(np.bincount(labels, minlength=n_clusters), 1)[:, np.newaxis]
