"""Integer tables of counts that keep the limits, and cheapest moves that lead to them.

If samples have equal weights, a fractional table of counts that keeps all bounds always exists:
clusters of equal size that mirror the data. Rounding it entry by entry changes counts by less than
one and no bound on a size (Bacharach, 1966), and members of each intersection then move along
cheapest paths until the counts are those of the table. So the limits can always be kept, up to one
sample.

With several attributes no rounding keeps the bounds of all of them, and there may be no integer
table: it is searched for by branch and bound then.
"""

from functools import partial

import numpy as np
from scipy import optimize, sparse

from skfair._kernels.transport import transport

TOLERANCE = 1e-6  # of HiGHS and of sums
MAX_SECONDS = 10.0  # of branch and bound, which mostly takes milliseconds


def settle(problem, point, level, rows):
    """Labels near those of a point that keep the limits, for equal weights.

    ``rows`` move if that suffices; otherwise all may. Returned as well is the slack: the weight
    that each count may be short of the level, 0 where the level is kept exactly.
    """
    labels, centers = point.clustering.labels.copy(), point.clustering.centers
    counts = problem.count_intersections(labels, len(centers))
    table, margin = fitting_table(problem, counts, level)
    surplus = np.round(counts / problem.largest_weight).astype(np.int64) - table
    # Move the rows along cheapest paths; all samples only where these do not suffice.
    for movable in (rows, np.arange(len(labels))):
        _send(problem, centers, labels, movable, surplus)
    return labels, problem.largest_weight * (1 - margin)


def _send(problem, centers, labels, rows, surplus):
    """Move rows along cheapest paths from clusters with a surplus to those that lack some.

    Changes ``labels`` and ``surplus`` in place.
    """
    # Intersections are independent: members of one take the place of members of the same.
    for code, excess in enumerate(np.ascontiguousarray(surplus.T)):
        members = rows[problem.codes[rows] == code]
        if excess.any() and len(members):
            costs = problem.subset(members).costs_by_cluster(centers).T
            transport(np.ascontiguousarray(costs), members, labels, excess)
            surplus[:, code] = excess


def fitting_table(samples, counts, level):
    """Integer counts near the weights ``counts`` that keep the limits, for equal weights.

    Returns numbers of members, (n_clusters, n_intersections), and a margin: 1 if the table keeps
    the level, 0 if it does up to one sample.
    """
    # With a margin rounding keeps the level exactly; without one it may cost a sample.
    counts = np.round(counts / samples.largest_weight)
    # One attribute: a fractional table can be rounded. Several: the programme must be integer.
    is_integer = samples.n_attributes > 1
    for margin in (1, 0):
        search = partial(_nearest_table, samples, counts, level, margin - is_integer, is_integer)
        fractional = search()
        if fractional is not None and samples.limits.rounding.any() and not is_integer:
            # Rows that rounding may exceed by a sample, if it leaves the sizes as they are.
            sizes = fractional.sum(axis=1)[:, np.newaxis]
            fractional = search(sizes=controlled_rounding(sizes).ravel())
        if fractional is not None:
            return controlled_rounding(fractional).astype(np.int64), margin
    return counts.astype(np.int64), 0  # where a group has fewer members than there are clusters


def _nearest_table(samples, counts, level, margin, is_integer, sizes=None):
    """The table nearest to the counts whose ratios hold with a margin of so many samples.

    None if there is none; fractional, or any integer table. The unknowns of the linear programme
    are how far entries are above and below the counts, and for every cluster and scale the weight
    of the largest group. Clusters have the ``sizes``, if these are given.
    """
    (n_clusters, n_codes), limits = counts.shape, samples.limits
    n_groups, n_cells, n_scales = samples.n_groups, counts.size, len(limits.factors)
    is_in = np.zeros((n_groups, n_codes))
    is_in[limits.intersections.T, np.arange(n_codes)] = 1
    by_cluster = sparse.kron(sparse.eye_array(n_clusters), np.ones((1, n_codes)), format="csr")
    by_code = sparse.kron(np.ones((1, n_clusters)), sparse.eye_array(n_codes), format="csr")
    by_group = sparse.kron(sparse.eye_array(n_clusters), is_in, format="csr")
    each = sparse.eye_array(n_cells, format="csr")
    rows, bounds = [], []

    def add_rows(on_table, on_largest, bound):
        # A bound on the table is one on counts + above - below.
        not_on_largest = sparse.csr_array((on_table.shape[0], n_clusters * n_scales))
        rows.append([on_table, -on_table, not_on_largest if on_largest is None else on_largest])
        bounds.append(bound - on_table @ counts.ravel())

    # Ratios, sizes, counts that are not negative, and members of all groups that are large enough.
    for on_groups, on_largest, spare in _ratio_rows(limits, n_clusters, level):
        add_rows(on_groups @ by_group, on_largest, -margin * spare)
    add_rows(-by_cluster, None, np.full(n_clusters, -1.0))
    for row, bound, rounding in zip(limits.rows, limits.bounds, limits.rounding, strict=True):
        # Rows that rounding may not exceed are about numbers of members, which are integers.
        bound = bound / samples.largest_weight
        bound = bound - margin if rounding else np.floor(bound)
        on_codes = sparse.csr_array((row @ is_in)[np.newaxis])
        add_rows(
            sparse.kron(sparse.eye_array(n_clusters), on_codes, format="csr"),
            None,
            np.full(n_clusters, bound),
        )
    add_rows(-each, None, np.zeros(n_cells))
    if level > 0:  # in every cluster a member of each group that is large enough
        enough = is_in @ counts.sum(axis=0) >= n_clusters
        add_rows(-by_group, None, -np.tile(enough.astype(float), n_clusters))
    sums, totals = by_code, np.zeros(n_codes)
    if sizes is not None:
        sums = sparse.vstack([by_code, by_cluster], format="csr")
        totals = np.concatenate([totals, sizes - counts.sum(axis=1)])
    nothing = sparse.csr_array((len(totals), n_clusters * n_scales))
    # The first integer table will do: nearness is worth little.
    integer_options = {
        "method": "highs",
        "options": {"mip_rel_gap": 1.0, "time_limit": MAX_SECONDS},
    }
    solved = optimize.linprog(
        np.concatenate([np.ones(2 * n_cells), np.zeros(n_clusters * n_scales)]),
        A_ub=sparse.block_array(rows, format="csr"),
        b_ub=np.concatenate(bounds),
        A_eq=sparse.block_array([[sums, -sums, nothing]], format="csr"),
        b_eq=totals,
        integrality=np.repeat([is_integer, False], [2 * n_cells, n_clusters * n_scales]),
        **(integer_options if is_integer else {"method": "highs-ds"}),
    )
    # Status 1 is the time limit: a table found until then will do.
    if solved.x is None or solved.status not in (0, 1):
        return None
    above, below = solved.x[:n_cells], solved.x[n_cells : 2 * n_cells]
    return (counts.ravel() + above - below).reshape(counts.shape)


def _ratio_rows(limits, n_clusters, level):
    """Rows on counts, rows on weights of the largest groups, and what a sample more is worth there.

    The largest group of a scale is at least every group, and no group is below the level times it.
    """
    n_scales, n_groups = limits.scales.shape
    if level == 0 or n_groups == 1:
        return
    clusters = sparse.eye_array(n_clusters)
    for s, (scale, factor) in enumerate(zip(limits.scales, limits.factors, strict=True)):
        # Rows of similar size for the solver; ratios do not depend on the scale.
        scale = scale / scale[scale > 0].min()
        weigh = sparse.kron(clusters, np.diag(scale)[scale > 0], format="csr")
        largest = np.outer(scale[scale > 0] > 0, np.arange(n_scales) == s).astype(float)
        largest = sparse.kron(clusters, largest, format="csr")
        spare = np.tile(scale[scale > 0], n_clusters)
        yield weigh, -largest, spare
        yield -factor * weigh, level * largest, factor * spare


def controlled_rounding(table):
    """Integers less than 1 from the table's entries, with its column sums and nearly its row sums.

    A row sum is rounded up or down. Such a table always exists [1]_, and the vertices of the
    linear programme are such tables.

    References
    ----------
    .. [1] M. Bacharach, "Matrix rounding problems", Management Science 12 (9), 1966.
    """
    n_rows, n_columns = table.shape
    # Entries that are integers up to rounding stay.
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
