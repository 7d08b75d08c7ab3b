"""Integer repair: tables of counts that keep the limits, and the cheapest moves to them.

If samples have equal weights, a fractional table of counts that keeps all bounds always exists:
clusters of equal size that mirror the data. Rounding it entry by entry changes counts by less than
one and no bound on a size (Bacharach, 1966), and members of each intersection then move along
cheapest paths until the counts are those of the table. So the limits can always be kept, up to one
sample.

With several attributes no rounding keeps the bounds of all of them, and there may be no integer
table: it is searched for by branch and bound then.
"""

import numpy as np
from scipy import optimize, sparse

from skfair._kernels.limits import allow_slack, find_share_rows
from skfair._kernels.sparse_samples import squared_norms
from skfair.cluster.kmeans._transport import solve_transport

_LP_TOLERANCE = 1e-6  # of HiGHS and of sums
_MAX_BRANCHING_SECONDS = 10.0  # of branch and bound, which mostly takes milliseconds
_MAX_SEARCHED_COUNTS = 100  # of a table whose best ratio is searched for
_SHARE_TOLERANCE = 1e-3  # up to which the least excess of shares is found
BALANCE_TOLERANCE = 0.02  # share of the level up to which the best ratio is reached


def repair_to_limits(problem, point, level, rows):
    """Labels near those of a point that keep the limits, for equal weights.

    ``rows`` move if that suffices; otherwise all may.
    """
    labels, centers = point.clustering.labels.copy(), point.clustering.centers
    counts = problem.count_intersections(labels, len(centers))
    table = find_feasible_counts(problem, counts, level)
    surplus = np.round(counts / problem.largest_weight).astype(np.int64) - table
    # Move the rows to cheapest clusters; all samples only where these do not suffice.
    for movable in (rows, np.arange(len(labels))):
        _move_surplus(problem, point, labels, movable, surplus)
    return labels


def _move_surplus(problem, point, labels, rows, surplus):
    """Move rows to the cheapest clusters from which no intersection has a surplus.

    Changes ``labels`` and ``surplus`` in place.
    """
    centers, dual = point.clustering.centers, point.dual
    # Intersections are independent: members of one take the place of members of the same.
    for code, excess in enumerate(surplus.T):
        members = rows[problem.codes[rows] == code]
        places = np.bincount(labels[members], minlength=len(centers)) - excess
        if not excess.any() or places.min() < 0:
            continue
        X, ends, offsets = problem.X[members], centers, np.zeros(len(centers))
        if dual is not None:
            offsets = dual.offsets[:, problem.limits.intersections[code]].sum(axis=1)
        if problem.unit_costs is not None:
            X, ends = scale_distances(X, centers, problem.unit_costs[members])
        labels[members] = solve_transport(X, ends, (places, places), offsets).labels
        excess[:] = 0


def scale_distances(X, centers, unit_costs):
    """Samples and centres whose squared distances are unit costs times those of others.

    Distances differ by a constant of each sample, which changes no assignment.
    """
    squares, columns = squared_norms(centers), unit_costs[:, np.newaxis]
    # A last feature that samples lack makes all centres equally far from the origin.
    norms = squares + squares**2 / 4
    centers = np.column_stack([centers, -squares / 2, np.sqrt(norms.max() - norms)])
    return np.hstack([columns * X, columns, np.zeros_like(columns)]), centers


def find_feasible_counts(samples, counts, level):
    """Integer counts near the weights ``counts`` that keep the limits, for equal weights.

    Returns numbers of members, (n_clusters, n_intersections). They reach the level; or else they
    keep it up to one sample, and few counts also reach the best ratio that then is possible, up to
    a tolerance. They keep bounds on shares; or else few counts exceed them by the least that is
    possible. Where no table keeps all other limits, they are the ``counts``.
    """
    counts = np.round(counts / samples.largest_weight)
    limits, weight = samples.limits._replace(level=float(level)), samples.largest_weight
    is_small, has_shares = counts.size <= _MAX_SEARCHED_COUNTS, find_share_rows(limits).any()

    def search(ratio, excess=0.0):
        relaxed = _relax_shares(allow_slack(limits, weight, ratio), excess)
        return _nearest_table(samples, counts, relaxed, 0, True)

    # One attribute: a fractional table can be rounded. With a margin rounding keeps the level
    # exactly; without one it may cost a sample. Several attributes, and shares in small clusters:
    # the programme must be integer.
    is_fractional = samples.n_attributes == 1
    best = _rounded_table(samples, counts, limits, 1) if is_fractional else None
    is_fractional &= not has_shares
    if best is None and not is_fractional:
        best = search(level)
    if best is not None:
        return np.round(best).astype(np.int64)
    best = _rounded_table(samples, counts, limits, 0) if is_fractional else None
    best = search(0.0) if best is None else best
    # Few counts: bisection for the least excess of shares.
    low, high = 0.0, 1.0 if best is None and has_shares and is_small else 0.0
    while high - low > _SHARE_TOLERANCE:
        excess = (low + high) / 2
        table = search(0.0, excess)
        low, high = (excess, high) if table is None else (low, excess)
        best = best if table is None else table
    # Few counts: bisection for the best ratio, which is 0 where a group cannot be everywhere.
    low, high, ratio = 0.0, level, level
    if best is None or not is_small or not limits.required.all():
        high = low
    while high - low > BALANCE_TOLERANCE * level:
        table = search(ratio)
        low, high = (low, ratio) if table is None else (ratio, high)
        best, ratio = best if table is None else table, (low + high) / 2
    return np.round(counts if best is None else best).astype(np.int64)


def _relax_shares(limits, excess):
    """The limits whose bounds on shares are wider by an excess."""
    wider = excess / limits.intersections.shape[1]
    return limits._replace(rows=limits.rows - wider * find_share_rows(limits)[:, np.newaxis])


def _rounded_table(samples, counts, limits, margin):
    """The integers that round the nearest fractional table; None if there is none."""
    fractional = _nearest_table(samples, counts, limits, margin, False)
    return None if fractional is None else controlled_rounding(fractional)


def _nearest_table(samples, counts, limits, margin, is_integer):
    """The table nearest to the counts that keeps the limits, by a margin of some samples.

    The margin is for ratios and shares: rounded sizes stay within their bounds.

    None if there is none; fractional, or any integer table. The unknowns of the linear programme
    are how far entries are above and below the counts, and for every cluster and scale the weight
    of the largest group.
    """
    n_clusters, n_codes = counts.shape
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
    for on_groups, on_largest, slack, spare in _ratio_rows(limits, n_clusters):
        add_rows(
            on_groups @ by_group, on_largest, (slack / samples.largest_weight - margin) * spare
        )
    add_rows(-by_cluster, None, np.full(n_clusters, -1.0))
    for row, bound, is_share in zip(
        limits.rows, limits.bounds.T, find_share_rows(limits), strict=True
    ):
        # Sizes are integers.
        bound = bound / samples.largest_weight
        bound = bound - margin if is_share else np.floor(bound)
        on_codes = sparse.csr_array((row @ is_in)[np.newaxis])
        # The programme takes no infinite bounds: no cluster exceeds the sum over all members.
        bound = np.where(np.isinf(bound), abs(on_codes).sum() * counts.sum(), bound)
        add_rows(
            sparse.kron(sparse.eye_array(n_clusters), on_codes, format="csr"),
            None,
            np.broadcast_to(bound, n_clusters),
        )
    add_rows(-each, None, np.zeros(n_cells))
    if limits.level > 0:  # in every cluster a member of each required group
        add_rows(-by_group, None, -np.tile(limits.required.astype(float), n_clusters))
    nothing = sparse.csr_array((n_codes, n_clusters * n_scales))
    solution = _solve_program(
        np.concatenate([np.ones(2 * n_cells), np.zeros(n_clusters * n_scales)]),
        (sparse.block_array(rows, format="csr"), np.concatenate(bounds)),
        (sparse.block_array([[by_code, -by_code, nothing]], format="csr"), np.zeros(n_codes)),
        np.repeat([is_integer, False], [2 * n_cells, n_clusters * n_scales]),
    )
    if solution is None:
        return None
    above, below = solution[:n_cells], solution[n_cells : 2 * n_cells]
    return (counts.ravel() + above - below).reshape(counts.shape)


def _solve_program(costs, upper, equal, is_integer):
    """The least cost subject to ``upper`` and ``equal`` rows, or any integer point; None: none."""
    if not is_integer.any():
        solved = optimize.linprog(costs, *upper, *equal, method="highs-ds")
        return solved.x if solved.status == 0 else None
    # The first integers will do: nearness is worth little. Clusters may be renamed, so branching
    # may take long to show that there are none; without costs it takes a tenth of that.
    rows = [optimize.LinearConstraint(upper[0], ub=upper[1])]
    rows.append(optimize.LinearConstraint(equal[0], equal[1], equal[1]))
    attempts = (
        (costs, {"node_limit": 1}),
        (np.zeros(len(costs)), {"time_limit": _MAX_BRANCHING_SECONDS}),
    )
    for objective, limit in attempts:
        options = {"mip_rel_gap": 1.0} | limit
        solved = optimize.milp(objective, integrality=is_integer, constraints=rows, options=options)
        # Any status but 2 may be of a limit, at which integers may have been found.
        if solved.x is not None or solved.status == 2:
            break
    return solved.x


def _ratio_rows(limits, n_clusters):
    """Rows on counts and on weights of the largest groups, slack, and what a sample is worth there.

    The largest group of a scale is at least every group, and no group is below the level times it.
    """
    (n_scales, n_groups), level = limits.scales.shape, limits.level
    if level == 0 or n_groups == 1:
        return
    clusters = sparse.eye_array(n_clusters)
    columns = zip(limits.scales, limits.factors, limits.slack, strict=True)
    for s, (scale, factor, slack) in enumerate(columns):
        # Rows of similar size for the solver; ratios do not depend on the scale.
        scale = scale / scale[scale > 0].min()
        weigh = sparse.kron(clusters, np.diag(scale)[scale > 0], format="csr")
        largest = np.outer(scale[scale > 0] > 0, np.arange(n_scales) == s).astype(float)
        largest = sparse.kron(clusters, largest, format="csr")
        spare = np.tile(scale[scale > 0], n_clusters)
        yield weigh, -largest, slack, spare
        yield -factor * weigh, level * largest, slack, factor * spare


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
        b_ub=np.concatenate(
            [np.ceil(row_sums - _LP_TOLERANCE), -np.floor(row_sums + _LP_TOLERANCE)]
        ),
        A_eq=by_column,
        b_eq=np.round(fractions.sum(axis=0)),
        bounds=np.column_stack([np.zeros(table.size), fractions.ravel() > 1e-9]),
        method="highs-ds",
    )
    return floor + np.round(raised.x).reshape(table.shape)
