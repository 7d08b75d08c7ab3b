"""Integer repair: tables of counts that keep the limits, and the cheapest moves to them.

If samples have equal weights, a fractional table of counts that keeps all bounds always exists:
clusters of equal size that mirror the data. Rounding it entry by entry changes counts by less than
one and no bound on a size (Bacharach, 1966), and members of each intersection then move along
cheapest paths until the counts are those of the table. So the limits can always be kept, up to one
sample.

With several attributes no rounding keeps the bounds of all of them, and there may be no integer
table: it is searched for by branch and bound then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from skfair._kernels.iterated_search import MAX_ITERATED_SAMPLES
from skfair._kernels.kmeans import squared_distances
from skfair._kernels.limits import allow_slack, find_memberships, find_share_rows
from skfair._kernels.sparse_samples import squared_norms
from skfair._utils.programs import Program, solve_program
from skfair.cluster.kmeans._transport import solve_transport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skfair._kernels.limits import Limits
    from skfair.cluster.kmeans._problem import ClusteringProblem, MeasuredPoint


_MAX_TABLE_MEMBERS = 100  # members in a cluster, on average, up to which a table is made ...
BALANCE_TOLERANCE = 0.02  # share of the level up to which the best ratio is reached


def repair_to_limits(problem: ClusteringProblem, point: MeasuredPoint, level: float) -> np.ndarray:
    """Labels near those of a point that keep the limits at little cost, for equal weights."""
    labels = point.labels.copy()
    n_clusters = point.n_clusters
    counts = problem.count_intersections(labels, n_clusters)
    integer_counts = np.round(counts / problem.largest_weight).astype(np.int64)
    moves = estimate_move_costs(problem, point)
    surplus = integer_counts - find_feasible_counts(problem, counts, level, moves)
    _move_surplus(problem, point, labels, surplus)
    return labels


def has_small_group(problem: ClusteringProblem, n_clusters: int) -> bool:
    """Whether an intersection has so few members in a cluster that each of them counts."""
    sizes = np.bincount(problem.codes, minlength=len(problem.limits.intersections))
    if problem.background is not None:
        sizes = sizes + problem.background.counts.sum(axis=0) / problem.largest_weight
    return problem.has_equal_weights and sizes.min() <= _MAX_TABLE_MEMBERS * n_clusters


class Moves(NamedTuple):
    """What members of an intersection cost that go from a cluster to another one, in steps.

    Costs rise from step to step, as the cheapest members go first.
    """

    starts: np.ndarray  # (n_steps,) cells of the table of counts
    goals: np.ndarray  # (n_steps,)
    costs: np.ndarray  # (n_steps,) of each member, in units of the mean cost of a sample
    numbers: np.ndarray  # (n_steps,) of members
    movable: np.ndarray  # (n_cells,) number of members that may leave
    cell_costs: np.ndarray  # (n_cells,) of a member of a cell, on top


def estimate_move_costs(problem: ClusteringProblem, point: MeasuredPoint) -> Moves:
    """The costs of moves of samples between clusters, whose centres stay."""
    n_codes = len(problem.limits.intersections)
    centers = point.centers
    scale = point.cost / (problem.n_samples * problem.largest_weight) or 1.0
    offsets = intersection_offsets(problem, point, n_codes) / scale
    cells = point.labels.astype(np.int64) * n_codes + problem.codes
    movable = np.bincount(cells, minlength=len(centers) * n_codes)
    distances = squared_distances(problem.X, centers)
    if problem.unit_costs is not None:
        distances *= problem.unit_costs[:, np.newaxis]
    distances = distances / scale + offsets[:, problem.codes].T
    # Members of a cell may go to three clusters or more; there are about 5,000 steps.
    n_goals = int(np.clip(5000 // (8 * len(movable)), 3, len(centers)))
    steps = []
    order = np.argsort(cells, kind="stable")
    for cell, members in enumerate(
        np.split(order, np.searchsorted(cells[order], np.arange(1, len(movable))))
    ):
        if not len(members):
            continue
        start, code = divmod(cell, n_codes)
        costs = distances[members]
        costs = np.sort(np.maximum(costs - costs[:, [start]], 0.0), axis=0)
        goals = np.argsort(costs[0], kind="stable")
        goals = goals[goals != start][:n_goals]
        # Steps of 1, 1, 2, 4, ... members, each at their mean cost.
        ends = np.unique(
            np.append(2 ** np.arange(np.log2(len(members))).astype(int), [0, len(members)])
        )
        numbers = np.repeat(np.diff(ends), len(goals))
        costs = np.add.reduceat(costs[:, goals], ends[:-1], axis=0).ravel() / numbers
        goals = np.tile(goals * n_codes + code, len(ends) - 1)
        steps.append((np.full(len(goals), cell), goals, costs, numbers))
    columns = map(np.concatenate, zip(*steps, strict=True))
    return Moves._make((*columns, movable, -offsets.ravel()))


def intersection_offsets(
    problem: ClusteringProblem, point: MeasuredPoint, n_codes: int
) -> np.ndarray:
    """What the dual of a point adds to the cost of a sample, (n_clusters, n_intersections)."""
    if point.dual is None:
        return np.zeros((point.n_clusters, n_codes))
    return point.dual.offsets[:, problem.limits.intersections].sum(axis=2)


def _move_surplus(
    problem: ClusteringProblem,
    point: MeasuredPoint,
    labels: np.ndarray,
    surplus: np.ndarray,
) -> None:
    """Move samples to the cheapest clusters from which no intersection has a surplus.

    Changes ``labels`` in place.
    """
    centers = point.centers
    offsets = intersection_offsets(problem, point, surplus.shape[1])
    # Intersections are independent: members of one take the place of members of the same.
    for code in range(surplus.shape[1]):
        members = np.flatnonzero(problem.codes == code)
        places = np.bincount(labels[members], minlength=len(centers)) - surplus[:, code]
        X = problem.X[members]
        ends = centers
        if problem.unit_costs is not None:
            X, ends = scale_distances(X, centers, problem.unit_costs[members])
        labels[members] = solve_transport(X, ends, (places, places), offsets[:, code]).labels


def scale_distances(
    X: np.ndarray, centers: np.ndarray, unit_costs: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Samples and centres whose squared distances are unit costs times those of others.

    Distances differ by a constant of each sample, which changes no assignment.
    """
    squares = squared_norms(centers)
    columns = unit_costs[:, np.newaxis]
    # A last feature that samples lack makes all centres equally far from the origin.
    norms = squares + squares**2 / 4
    centers = np.column_stack([centers, -squares / 2, np.sqrt(norms.max() - norms)])
    return np.hstack([columns * X, columns, np.zeros_like(columns)]), centers


def find_feasible_counts(
    problem: ClusteringProblem, counts: np.ndarray, level: float, moves: Moves
) -> np.ndarray:
    """Integer counts that keep the limits and that moves from ``counts`` lead to at least cost.

    For equal weights; those nearest to the weights ``counts`` if no moves are listed. Returns
    numbers of members, (n_clusters, n_intersections). They reach the level, or many nearly do; or
    else they keep it up to one sample, and those of few samples also reach the best ratio that then
    is possible, up to a tolerance. They keep bounds on shares; or else few counts exceed them by
    the least that is possible. Where no table keeps all other limits, they are the ``counts``.
    """
    counts = np.round(counts / problem.largest_weight)
    limits = problem.limits._replace(level=float(level))
    weight = problem.largest_weight
    # The best ratio of a table of few counts is searched for.
    is_small = counts.size <= 100
    has_shares = find_share_rows(limits).any()
    every = np.ones(counts.shape[1], bool)
    is_small_sample = problem.n_samples <= MAX_ITERATED_SAMPLES

    def search(ratio: float, excess: float = 0.0) -> np.ndarray | None:
        relaxed = relax_shares(allow_slack(limits, weight, ratio), excess)
        return _nearest_table(problem, counts, relaxed, every, moves)

    # Another start may have found the best ratio, which does not depend on labels and centres.
    key = len(counts), limits.level
    best_ratios = problem.best_ratios
    if key in best_ratios:
        best = search(best_ratios[key])
        if best is not None:
            return np.round(best).astype(np.int64)
    # Integers where each member counts. Other counts are rounded, which may cost a sample.
    sizes = counts.sum(axis=0)
    is_exact = every & (is_small_sample or problem.n_attributes > 1)
    # A program has up to 40 integers, for which the smallest intersections come first.
    smallest = np.argsort(sizes, kind="stable")[: 40 // len(counts)]
    # Counts are integers up to so many members in a cluster, on average.
    most = _MAX_TABLE_MEMBERS if has_shares else 20
    is_exact[smallest] |= sizes[smallest] <= most * len(counts)
    for is_integer in (every,) if is_exact.all() else (is_exact, every):
        best = _nearest_table(problem, counts, limits, is_integer, moves)
        if best is not None:
            return np.round(best).astype(np.int64)
    best = search(0.0)
    # Few counts: bisection for the least excess of shares.
    low = 0.0
    high = 1.0 if best is None and has_shares and is_small else 0.0
    while high - low > 1e-3:
        excess = (low + high) / 2
        table = search(0.0, excess)
        low, high = (excess, high) if table is None else (low, excess)
        best = best if table is None else table
    # Few samples: bisection for the best ratio, which is 0 where a group cannot be everywhere.
    low, high, ratio = 0.0, level, level
    if best is None or not (is_small and is_small_sample) or not limits.required.all():
        high = low
    while high - low > BALANCE_TOLERANCE * level:
        table = search(ratio)
        low, high = (low, ratio) if table is None else (ratio, high)
        best = best if table is None else table
        ratio = (low + high) / 2
    if low > 0:
        best_ratios[key] = low
    return np.round(counts if best is None else best).astype(np.int64)


def relax_shares(limits: Limits, excess: float) -> Limits:
    """The limits whose bounds on shares are wider by an excess."""
    wider = excess / limits.n_attributes
    return limits._replace(rows=limits.rows - wider * find_share_rows(limits)[:, np.newaxis])


def _nearest_table(problem, counts, limits, is_integer, moves):
    """The cheapest table that keeps the limits; None if none was found.

    Counts of some intersections have to be integers. Those of others are rounded: shares have a
    margin for that, and ratios may miss the level by less than a sample. The unknowns of the
    programme are the table, members that come to a cell or leave it at a high cost, members that
    go along the steps of the moves, and for every cluster and scale the weight of the largest
    group.
    """
    n_clusters, n_codes = counts.shape
    is_in = find_memberships(limits).T.astype(np.float64)
    by_cluster = sparse.kron(sparse.eye_array(n_clusters), np.ones((1, n_codes)), format="csr")
    by_code = sparse.kron(np.ones((1, n_clusters)), sparse.eye_array(n_codes), format="csr")
    by_group = sparse.kron(sparse.eye_array(n_clusters), is_in, format="csr")
    each = sparse.eye_array(counts.size, format="csr")
    steps = np.arange(len(moves.costs))
    n_steps = len(moves.costs)
    leave, come = (
        sparse.csr_array((np.ones(n_steps), (cells, steps)), (counts.size, n_steps))
        for cells in (moves.starts, moves.goals)
    )
    n_largest = n_clusters * len(limits.factors)
    rows, bounds = [], []

    def add_rows(
        on_table: sparse.csr_array, bound: np.ndarray, on_largest: sparse.csr_array | None = None
    ) -> None:
        if on_largest is None:
            on_largest = sparse.csr_array((on_table.shape[0], n_largest))
        rows.append([on_table, None, None, None, on_largest])
        bounds.append(bound)

    # Ratios, sizes, and members of all groups that are large enough.
    for on_groups, on_largest, slack, spare in _ratio_rows(limits, n_clusters):
        add_rows(on_groups @ by_group, slack / problem.largest_weight * spare, on_largest)
    add_rows(-by_cluster, np.full(n_clusters, -1.0))
    for row, bound, is_share in zip(
        limits.rows, limits.bounds.T, find_share_rows(limits), strict=True
    ):
        # Sizes are integers.
        on_codes = row @ is_in
        bound = bound / problem.largest_weight
        bound = bound - abs(on_codes) @ ~is_integer if is_share else np.floor(bound)
        # The programme takes no infinite bounds: no cluster exceeds the sum over all members.
        bound = np.where(np.isinf(bound), abs(on_codes).sum() * counts.sum(), bound)
        on_codes = sparse.csr_array(on_codes[np.newaxis])
        on_table = sparse.kron(sparse.eye_array(n_clusters), on_codes, format="csr")
        add_rows(on_table, np.broadcast_to(bound, n_clusters))
    if limits.level > 0:  # in every cluster a member of each required group
        add_rows(-by_group, -np.tile(limits.required.astype(float), n_clusters))
    # No more members leave than may, and as many come as leave.
    rows.append([None, 0 * each, each, leave, None])
    bounds.append(moves.movable)
    no_largest = sparse.csr_array((n_codes, n_largest))
    equal = [
        [each, -each, each, leave - come, None],
        [None, by_code, -by_code, None, no_largest],
    ]
    # All members together have the cost of all samples: gaps are relative to it.
    mean = 1.0 - moves.cell_costs @ counts.ravel() / counts.sum()
    costs = np.full(3 * counts.size + n_steps + n_largest, moves.costs.max(initial=1.0))
    most = np.full(len(costs), np.inf)
    integrality = np.zeros(len(costs))
    costs[: counts.size] = moves.cell_costs + mean
    integrality[: counts.size] = np.tile(is_integer, n_clusters)
    of_steps = slice(3 * counts.size, 3 * counts.size + n_steps)
    costs[of_steps], most[of_steps], costs[of_steps.stop :] = moves.costs, moves.numbers, 0.0
    # Bounds from above, then equations: the table, and members that leave and come.
    n_upper = sum(map(len, bounds))
    fixed = np.append(counts.ravel(), np.zeros(n_codes))
    program = Program(
        costs=costs,
        rows=sparse.block_array([*rows, *equal], format="csr"),
        low=np.append(np.full(n_upper, -np.inf), fixed),
        high=np.concatenate([*bounds, fixed]),
        largest=most,
        is_integer=integrality > 0,
    )
    unknowns = _find_cheapest(program)
    if unknowns is None:
        return None
    table = unknowns[: counts.size].reshape(counts.shape)
    return table if is_integer.all() else controlled_rounding(table)


def _find_cheapest(program: Program) -> np.ndarray | None:
    """Unknowns of the least cost; None: none were found."""
    # Clusters may be renamed, so branching may take long to show that there is no table; without
    # costs it takes a tenth of that, mostly milliseconds. Then one node is for the cheapest table,
    # up to a thousandth of the cost of all samples. Limits of time would give other labels on a
    # busy machine.
    any_cost = program._replace(costs=np.zeros_like(program.costs))
    table = solve_program(any_cost, max_nodes=200).unknowns
    if table is None:
        return None
    cheapest = solve_program(program, max_nodes=1, max_gap=1e-3, presolve=False).unknowns
    return table if cheapest is None else cheapest


def _ratio_rows(limits: Limits, n_clusters: int) -> Iterator[tuple]:
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


def controlled_rounding(table: np.ndarray) -> np.ndarray:
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
    # A transportation problem in the fractions: which entries are rounded up. The tolerance of
    # HiGHS and of sums is 1e-6; fractions of table entries that are no integers are larger.
    raised = solve_program(
        Program(
            costs=-fractions.ravel(),
            rows=sparse.vstack([by_row, by_column], format="csr"),
            low=np.append(np.floor(row_sums + 1e-6), np.round(fractions.sum(axis=0))),
            high=np.append(np.ceil(row_sums - 1e-6), np.round(fractions.sum(axis=0))),
            largest=(fractions.ravel() > 1e-9).astype(np.float64),
        )
    )
    return floor + np.round(raised.require_unknowns()).reshape(table.shape)
