"""Whole numbers of every kind in every cluster that keep what is asked, and how to get there.

If samples count the same, a fractional table of counts that keeps all bounds always exists:
clusters of equal size that mirror the data. Rounding it entry by entry changes counts by less than
one and no bound on a size (Bacharach, 1966), and members of each group then go to where the table
wants them along cheapest paths. So what is promised, up to one person, can always be kept.

With several attributes no rounding keeps the bounds of all of them, and there may be no table of
whole numbers: it is searched for by branch and bound then.
"""

import numpy as np
from scipy import optimize, sparse

from skfair._kernels.transport import transport
from skfair.utils._balance import count_table

TOLERANCE = 1e-6  # of HiGHS and of sums
MAX_SECONDS = 10.0  # of branch and bound, which mostly takes milliseconds


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
    labels, centers = point.clustering.labels.copy(), point.clustering.centers
    n_kinds = len(samples.limits.intersections)
    counts = count_table(labels, samples.codes, samples.weights, len(centers), n_kinds)
    surplus, person = surplus_of(samples, counts, level)
    for movable in (rows, np.arange(len(labels))):
        send(samples, centers, labels, movable, surplus)
    return labels, person


def surplus_of(samples, counts, level):
    """How many too many of every kind are in every cluster, and the ``person`` of `settle`.

    Parameters are those of `fitting_table`.
    """
    table, margin = fitting_table(samples, counts, level)
    surplus = np.round(counts / samples.largest_weight).astype(np.int64) - table
    return surplus, samples.largest_weight * (1 - margin)


def send(samples, centers, labels, rows, surplus):
    """Some of the rows go from clusters with a surplus of their kind to those that lack them.

    Changes ``labels`` and ``surplus`` in place.
    """
    for kind, own in enumerate(np.ascontiguousarray(surplus.T)):
        members = rows[samples.codes[rows] == kind]
        if own.any() and len(members):
            costs = samples.some(members).costs_by_cluster(centers).T
            transport(np.ascontiguousarray(costs), members, labels, own)
            surplus[:, kind] = own


def fitting_table(samples, counts, level):
    """Whole counts near given ones that keep the limits of the samples.

    Parameters
    ----------
    samples : Samples
        Of equal weights.
    counts : ndarray of shape (n_clusters, n_kinds)
        Weights.
    level : float
        Least balance of a cluster, in the scales of the limits.

    Returns
    -------
    table : ndarray of int64, shape (n_clusters, n_kinds)
        Numbers of members.
    margin : {0, 1}
        1: the table keeps the level. 0: it does up to one person.
    """
    counts = np.round(counts / samples.largest_weight)
    is_whole = samples.n_attributes > 1
    for margin in (1, 0):
        fractional = _nearest_table(samples, counts, level, margin - is_whole, is_whole)
        if fractional is not None:
            return controlled_rounding(fractional).astype(np.int64), margin
    return counts.astype(np.int64), 0  # where a group has fewer members than there are clusters


def _nearest_table(samples, counts, level, margin, is_whole):
    """The table nearest to the counts whose ratios hold with so many persons to spare.

    None if there is none; fractional, or some table of whole numbers. The linear programme has,
    besides the table, how far entries are above and below the counts, and for every cluster and
    scale the weight of the commonest group.
    """
    (n_clusters, n_kinds), limits = counts.shape, samples.limits
    n_groups, n_cells, n_scales = samples.n_groups, counts.size, len(limits.factors)
    is_in = np.zeros((n_groups, n_kinds))
    is_in[limits.intersections.T, np.arange(n_kinds)] = 1
    by_cluster = sparse.kron(sparse.eye_array(n_clusters), np.ones((1, n_kinds)), format="csr")
    by_kind = sparse.kron(np.ones((1, n_clusters)), sparse.eye_array(n_kinds), format="csr")
    by_group = sparse.kron(sparse.eye_array(n_clusters), is_in, format="csr")
    each = sparse.eye_array(n_cells, format="csr")
    rows, bounds = [], []

    def at_most(on_table, on_commonest, bound):
        no_commonest = sparse.csr_array((on_table.shape[0], n_clusters * n_scales))
        rows.append([on_table, -on_table, no_commonest if on_commonest is None else on_commonest])
        bounds.append(bound - on_table @ counts.ravel())

    for on_groups, on_commonest, spare in _mix_rows(limits, n_clusters, level):
        at_most(on_groups @ by_group, on_commonest, -margin * spare)
    person = samples.largest_weight
    smallest = np.ceil(limits.min_size / person) if np.isfinite(limits.min_size) else 1
    at_most(-by_cluster, None, np.full(n_clusters, -float(smallest)))
    if np.isfinite(limits.max_size):
        at_most(by_cluster, None, np.full(n_clusters, np.floor(limits.max_size / person)))
    at_most(-each, None, np.zeros(n_cells))
    if level > 0:  # in every cluster somebody of each group that is large enough
        enough = is_in @ counts.sum(axis=0) >= n_clusters
        at_most(-by_group, None, -np.tile(enough.astype(float), n_clusters))
    nothing = sparse.csr_array((n_kinds, n_clusters * n_scales))
    # The first whole table found will do: that all are near is worth little.
    whole = {"method": "highs", "options": {"mip_rel_gap": 1.0, "time_limit": MAX_SECONDS}}
    found = optimize.linprog(
        np.concatenate([np.ones(2 * n_cells), np.zeros(n_clusters * n_scales)]),
        A_ub=sparse.block_array(rows, format="csr"),
        b_ub=np.concatenate(bounds),
        A_eq=sparse.block_array([[by_kind, -by_kind, nothing]], format="csr"),
        b_eq=np.zeros(n_kinds),
        integrality=np.repeat([is_whole, False], [2 * n_cells, n_clusters * n_scales]),
        **(whole if is_whole else {"method": "highs-ds"}),
    )
    if found.x is None or found.status not in (0, 1):
        return None
    above, below = found.x[:n_cells], found.x[n_cells : 2 * n_cells]
    return (counts.ravel() + above - below).reshape(counts.shape)


def _mix_rows(limits, n_clusters, level):
    """What the mix asks of the counts of groups and of the weight of the commonest ones.

    Yields rows on the counts, rows on the weights, and what a person more is worth to them: the
    commonest of a scale is at least every group, and no group is below the level times it.
    """
    n_scales, n_groups = limits.scales.shape
    if level == 0 or n_groups == 1:
        return
    clusters = sparse.eye_array(n_clusters)
    for s, (scale, factor) in enumerate(zip(limits.scales, limits.factors, strict=True)):
        scale = scale / scale[scale > 0].min()
        weigh = sparse.kron(clusters, np.diag(scale)[scale > 0], format="csr")
        commonest = np.outer(scale[scale > 0] > 0, np.arange(n_scales) == s).astype(float)
        commonest = sparse.kron(clusters, commonest, format="csr")
        spare = np.tile(scale[scale > 0], n_clusters)
        yield weigh, -commonest, spare
        yield -factor * weigh, level * commonest, factor * spare


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
