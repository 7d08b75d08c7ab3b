"""Whole numbers of every group in every cluster that keep what is asked, and how to get there.

If samples count the same, a fractional table of counts that keeps all bounds always exists:
clusters of equal size that mirror the data. Rounding it entry by entry changes counts by less than
one and no bound on a size (Bacharach, 1966), and members of each group then go to where the table
wants them along cheapest paths. So what is promised, up to one person, can always be kept.
"""

import numpy as np
from scipy import optimize, sparse

from skfair._kernels.kmeans import squared_distances
from skfair._kernels.transport import transport

TOLERANCE = 1e-6  # of HiGHS and of sums


def settle(samples, point, level, rows):
    """Labels near those of a point that keep the limits, for equal weights.

    Parameters
    ----------
    samples : Samples
        Of equal weights.
    point : Point
    level : float
        Least balance of a cluster, in the scales of the limits.
    rows : ndarray of intp
        Who may move if that suffices; otherwise all may.

    Returns
    -------
    labels : ndarray of int32, shape (n_samples,)
    person : float
        Weight that each count may be short of the level, 0 where the level is kept exactly.
    """
    labels = point.clustering.labels.copy()
    n_clusters = len(point.clustering.sizes)
    table, margin = fitting_table(samples, point.clustering.counts, level)
    for g in range(samples.n_groups):
        for movable in (rows, np.arange(len(labels))):
            members = movable[samples.codes[movable] == g]
            now = np.bincount(labels[samples.codes == g], minlength=n_clusters)
            surplus = now - table[:, g]
            if surplus.any() and len(members):
                distances = squared_distances(samples.X[members], point.clustering.centers)
                transport(distances, members, labels, surplus)
    return labels, samples.largest_weight * (1 - margin)


def fitting_table(samples, counts, level):
    """Whole counts near given ones that keep the limits of the samples.

    Parameters
    ----------
    samples : Samples
        Of equal weights.
    counts : ndarray of shape (n_clusters, n_groups)
        Weights.
    level : float
        Least balance of a cluster, in the scales of the limits.

    Returns
    -------
    table : ndarray of int64, shape (n_clusters, n_groups)
        Numbers of members.
    margin : {0, 1}
        1: the table keeps the level. 0: it does up to one person.
    """
    counts = np.round(counts / samples.largest_weight)
    for margin in (1, 0):
        fractional = _nearest_table(samples, counts, level, margin)
        if fractional is not None:
            return controlled_rounding(fractional).astype(np.int64), margin
    return counts.astype(np.int64), 0  # where a group has fewer members than there are clusters


def _nearest_table(samples, counts, level, margin):
    """The fractional table nearest to the counts whose ratios hold with so many persons to spare.

    None if there is none. The linear programme has, besides the table, how far entries are above
    and below the counts, and for every cluster and scale the weight of the commonest group.
    """
    (n_clusters, n_groups), limits = counts.shape, samples.limits
    totals, n_cells, n_scales = counts.sum(axis=0), counts.size, len(limits.factors)
    by_cluster = sparse.kron(sparse.eye_array(n_clusters), np.ones((1, n_groups)), format="csr")
    by_group = sparse.kron(np.ones((1, n_clusters)), sparse.eye_array(n_groups), format="csr")
    each = sparse.eye_array(n_cells, format="csr")
    rows, bounds = [], []

    def at_most(on_table, on_commonest, bound):
        no_commonest = sparse.csr_array((on_table.shape[0], n_clusters * n_scales))
        rows.append([on_table, -on_table, no_commonest if on_commonest is None else on_commonest])
        bounds.append(bound - on_table @ counts.ravel())

    if level > 0 and n_groups > 1:
        for s, (scale, factor) in enumerate(zip(limits.scales, limits.factors, strict=True)):
            scales = np.tile(scale / scale.min(), n_clusters)
            weigh = sparse.diags_array(scales, format="csr")
            commonest = sparse.kron(
                sparse.eye_array(n_clusters),
                sparse.kron(np.ones((n_groups, 1)), np.eye(n_scales)[[s]]),
                format="csr",
            )
            at_most(weigh, -commonest, -margin * scales)
            at_most(-factor * weigh, level * commonest, -margin * factor * scales)
    person = samples.largest_weight
    smallest = np.ceil(limits.smallest / person) if np.isfinite(limits.smallest) else 1
    at_most(-by_cluster, None, np.full(n_clusters, -float(smallest)))
    if np.isfinite(limits.largest):
        at_most(by_cluster, None, np.full(n_clusters, np.floor(limits.largest / person)))
    rows.append([-each, each, sparse.csr_array((n_cells, n_clusters * n_scales))])
    needed = np.tile(totals >= n_clusters, n_clusters) if level > 0 else np.zeros(n_cells)
    bounds.append(counts.ravel() - needed)
    nothing = sparse.csr_array((n_groups, n_clusters * n_scales))
    found = optimize.linprog(
        np.concatenate([np.ones(2 * n_cells), np.zeros(n_clusters * n_scales)]),
        A_ub=sparse.block_array(rows, format="csr"),
        b_ub=np.concatenate(bounds),
        A_eq=sparse.block_array([[by_group, -by_group, nothing]], format="csr"),
        b_eq=np.zeros(n_groups),
        method="highs-ds",
    )
    if found.status != 0:
        return None
    above, below = found.x[:n_cells], found.x[n_cells : 2 * n_cells]
    return (counts.ravel() + above - below).reshape(counts.shape)


def controlled_rounding(table):
    """Whole numbers less than 1 from the table's, with its column sums and about its row sums.

    A row sum is rounded up or down. Such a table always exists [1]_, and the vertices of the
    linear programme are such tables.

    References
    ----------
    .. [1] M. Bacharach, "Matrix rounding problems", Management Science 12 (9), 1966.
    """
    n_rows, n_columns = table.shape
    floor = np.floor(table + 1e-9)
    fractions = np.clip(table - floor, 0.0, None)
    by_row = sparse.kron(sparse.eye_array(n_rows), np.ones((1, n_columns)))
    by_column = sparse.kron(np.ones((1, n_rows)), sparse.eye_array(n_columns))
    row_sums = fractions.sum(axis=1)
    # A transportation problem in the fractions: which entries are rounded up.
    raised = optimize.linprog(
        -fractions.ravel(),
        A_ub=sparse.vstack([by_row, -by_row]),
        b_ub=np.concatenate([np.ceil(row_sums - TOLERANCE), -np.floor(row_sums + TOLERANCE)]),
        A_eq=by_column,
        b_eq=np.round(fractions.sum(axis=0)),
        bounds=np.column_stack([np.zeros(table.size), fractions.ravel() > 1e-9]),
        method="highs-ds",
    )
    return floor + np.round(raised.x).reshape(table.shape)
