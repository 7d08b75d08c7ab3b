"""Assignment to centres under limits: dual ascent, integer repair; and plain k-means."""

from functools import partial
from operator import attrgetter, itemgetter
from typing import NamedTuple

import numpy as np
from scipy import optimize, sparse
from sklearn.utils import check_array

from skfair._kernels.fair_assignment import (
    Multipliers,
    compute_offsets,
    evaluate_dual,
    kkt_residual,
    take_newton_step,
)
from skfair._kernels.kmeans import assign_nearest, squared_distances, squared_distances_by_cluster
from skfair._kernels.limits import allow_slack, has_rows, intersection_coefficients, required_ratios
from skfair._kernels.sparse_samples import dense_rows, member_distances, squared_norms
from skfair.cluster.kmeans._size_dual import bounds_many_sizes
from skfair.cluster.kmeans._transport import solve_transport
from skfair.utils._checks import warn

# The cheapest fair assignment to fixed centres, by ascent of its dual.


_MAX_DUAL_ITER, _MIN_DUAL_ITER = 50, 4
MAX_PAIRS = 2e7  # pairs of groups or of clusters in one ascent, which take about a second
COUNT_TOLERANCE = 1.5e-4  # share of all samples by which the dual may miss a count: moves repair it
ROUND_COUNT_TOLERANCE = 1e-3  # the same in rounds after which others follow
FIRST_RIDGE = 1.0  # relative to the mean of the Hessian's diagonal
MIN_RIDGE = 0.01
RIDGE_GROWTH = 10.0
_MAX_RIDGES = 10  # of a step, each with more ridge
GOOD_GAIN = 0.75  # share of the predicted gain above which the ridge falls
POOR_GAIN = 0.25  # share of the predicted gain below which the ridge rises
RIDGE_FALL, RIDGE_RISE = 0.2, 3.0  # factors of the ridge
_MIN_DUAL_GAIN = 1e-8  # relative gain of the dual below which the ascent stops
NEAR_TIE_SHARE = 0.08  # share of the samples that the smoothing width should take in
NEAR_TIE_SHARE_RANGE = (0.02, 0.32)  # shares for which the smoothing width stays as it is
N_GAPS = 1000  # gaps from which the width is estimated, at least


class DualSolution(NamedTuple):
    """The result of a dual ascent, from which the next one may start."""

    multipliers: Multipliers
    offsets: np.ndarray  # (n_clusters, n_groups)
    value: float  # of the dual
    width: float  # smoothing width of the last Hessian
    ridge: float  # damping of the next step
    labels: np.ndarray | None = None  # (n_samples,) argmin of distance + offset
    gaps: np.ndarray | None = None  # (n_samples,) extra cost of the next cheapest cluster
    n_near_ties: int = 0  # number of samples with a gap below the width
    extra_sums: tuple = ()  # further sums over samples, of the last evaluation
    centers: np.ndarray | None = None  # (n_clusters, n_features) of partitioned data
    intersection_offsets: np.ndarray | None = None  # (n_clusters, n_intersections)


def zero_solution(n_clusters, limits):
    """Multipliers of zero, to start `solve_dual` from."""
    n_rows, n_groups = limits.rows.shape
    return DualSolution(
        Multipliers(np.zeros((n_clusters, n_groups, n_groups)), np.zeros((n_clusters, n_rows))),
        offsets=np.zeros((n_clusters, n_groups)),
        value=-np.inf,
        width=0.0,
        ridge=FIRST_RIDGE,
    )


def solution_from_multipliers(multipliers, limits):
    """A dual solution with the offsets of multipliers of sizes, to start another one from."""
    n_groups, n_attributes = limits.scales.shape[1], limits.intersections.shape[1]
    offsets = np.repeat(multipliers[:, np.newaxis], n_groups, axis=1) / n_attributes
    return zero_solution(len(multipliers), limits)._replace(offsets=offsets)


def max_dual_iterations(dual, limits, n_samples):
    """Maximum number of steps of an ascent: fewer where very many groups make them expensive.

    What is short of the maximum then is repaired afterwards, and any multipliers bound the cost.
    """
    n_clusters, n_groups = dual.offsets.shape
    # Work of a step: pairs of groups in each cluster, and pairs of clusters with a tie.
    n_pairs = min(len(limits.intersections) * n_clusters**2, n_samples)
    per_step = n_clusters * n_groups**2 + 20 * n_pairs
    return int(min(max(MAX_PAIRS / per_step, _MIN_DUAL_ITER), _MAX_DUAL_ITER))


def solve_dual(rows, limits, start, slack, evaluate=evaluate_dual):
    """Maximise the dual by damped Newton ascent from the solution ``start``.

    Stops once every active constraint holds within ``slack`` (a weight) or nothing is gained.
    ``evaluate`` is called as `evaluate_dual` for every block of the partitions ``rows``. Returns
    the solution and the partitions of its evaluations.
    """
    ratios = required_ratios(limits)
    evaluate_all = partial(_evaluate, partial(rows.map, evaluate), limits, ratios)
    # Warm start: multipliers, smoothing width and ridge of the last ascent.
    multipliers, width, ridge = start.multipliers, start.width, start.ridge
    now = evaluate_all(multipliers, width)
    for _ in range(max_dual_iterations(start, limits, now.n_samples)):
        if kkt_residual(multipliers, now.counts, limits, ratios) <= slack:
            break
        # Hessian: samples near a tie, within a width that takes in a fair share of them.
        if (
            not NEAR_TIE_SHARE_RANGE[0]
            <= now.n_near_ties / now.n_samples
            <= NEAR_TIE_SHARE_RANGE[1]
        ):
            width = _estimate_width(now)
            now = evaluate_all(multipliers, width)
        # Ties lie on both sides of the border, over twice the width.
        density = (now.tie_weights + now.tie_weights.transpose(0, 2, 1)) * (0.5 / width)
        # Levenberg-Marquardt: more ridge until a step gains.
        damping = ridge
        for _ in range(_MAX_RIDGES):
            stepped, predicted = take_newton_step(
                multipliers, now.counts, density, damping, limits, ratios
            )
            trial = evaluate_all(stepped, width)
            gain = trial.value - now.value
            if gain > 0.0:
                break
            damping *= RIDGE_GROWTH
        if not gain > 0.0:  # also where a gain is nan
            break
        # Trust the model more where it predicted the gain, less where it did not.
        if gain > GOOD_GAIN * predicted:
            damping = max(RIDGE_FALL * damping, MIN_RIDGE)
        elif gain < POOR_GAIN * predicted:
            damping *= RIDGE_RISE
        multipliers, ridge, now = stepped, damping, trial
        if gain <= _MIN_DUAL_GAIN * abs(now.value):
            break
    solution = DualSolution(
        multipliers,
        now.offsets,
        now.value,
        width,
        ridge,
        n_near_ties=now.n_near_ties,
        extra_sums=now.extra_sums,
        intersection_offsets=now.intersection_offsets,
    )
    return solution, now.block_evaluations


class _Evaluation(NamedTuple):
    """The dual and its derivatives at some multipliers, summed over all samples."""

    value: float
    counts: np.ndarray
    tie_weights: np.ndarray
    n_near_ties: int
    n_samples: int
    offsets: np.ndarray
    intersection_offsets: np.ndarray
    extra_sums: tuple
    block_evaluations: object  # partitions of the evaluations of blocks


def _evaluate(evaluate_blocks, limits, ratios, multipliers, width):
    """Evaluate the dual at multipliers: offsets, then a pass over the samples."""
    offsets, sample_offsets, value = compute_offsets(multipliers, limits, ratios)
    evaluated = evaluate_blocks(sample_offsets, width)
    totals = evaluated.reduce(attrgetter("totals"), is_small=True)
    costs, counts, ties, n_near, n_samples, extras = totals
    return _Evaluation(
        costs + value, counts, ties, n_near, n_samples, offsets, sample_offsets, extras, evaluated
    )


def _estimate_width(now):
    """Width that takes in the wanted share of the gaps, estimated from a subset of them."""
    # The quantile of about a thousand gaps is precise enough for a width.
    stride = 1 + now.n_samples // N_GAPS
    gaps = np.sort(np.concatenate(now.block_evaluations.gather(_subsample_gaps, stride)))
    wanted = gaps[int(np.ceil(NEAR_TIE_SHARE * len(gaps))) - 1]
    return max(wanted * (1 + 1e-9), gaps[-1] * 2.0**-30, 1e-150)


def gather_labels_and_gaps(evaluated):
    """Labels and gaps of all samples."""
    labels, gaps = zip(*evaluated.gather(attrgetter("labels", "gaps")), strict=True)
    return np.concatenate(labels), np.concatenate(gaps)


def _subsample_gaps(evaluation, stride):
    return evaluation.gaps[::stride].copy()


# Integer repair: tables of counts that keep the limits, and the cheapest moves that lead to them.
#
# If samples have equal weights, a fractional table of counts that keeps all bounds always exists:
# clusters of equal size that mirror the data. Rounding it entry by entry changes counts by less
# than one and no bound on a size (Bacharach, 1966), and members of each intersection then move
# along cheapest paths until the counts are those of the table. So the limits can always be kept, up
# to one sample.
#
# With several attributes no rounding keeps the bounds of all of them, and there may be no integer
# table: it is searched for by branch and bound then.


_LP_TOLERANCE = 1e-6  # of HiGHS and of sums
_MAX_BRANCHING_SECONDS = 10.0  # of branch and bound, which mostly takes milliseconds
_MAX_SEARCHED_COUNTS = 100  # of a table whose best ratio is searched for
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
    a tolerance. Where no table keeps all limits, they are the ``counts``.
    """
    counts = np.round(counts / samples.largest_weight)
    limits, weight = samples.limits._replace(level=float(level)), samples.largest_weight

    def search(ratio):
        return _nearest_table(samples, counts, allow_slack(limits, weight, ratio), 0, True)

    # One attribute: a fractional table can be rounded. With a margin rounding keeps the level
    # exactly; without one it may cost a sample. Several attributes: the programme must be integer.
    is_fractional = samples.n_attributes == 1
    best = _rounded_table(samples, counts, limits, 1) if is_fractional else search(level)
    if best is not None:
        return np.round(best).astype(np.int64)
    best = _rounded_table(samples, counts, limits, 0) if is_fractional else None
    best = search(0.0) if best is None else best
    # Few counts: bisection for the best ratio, which is 0 where a group cannot be everywhere.
    low, high, ratio = 0.0, level, level
    if best is None or counts.size > _MAX_SEARCHED_COUNTS or not limits.required.all():
        high = low
    while high - low > BALANCE_TOLERANCE * level:
        table = search(ratio)
        low, high = (low, ratio) if table is None else (ratio, high)
        best, ratio = best if table is None else table, (low + high) / 2
    return np.round(counts if best is None else best).astype(np.int64)


def _rounded_table(samples, counts, limits, margin):
    """The integers that round the nearest fractional table; None if there is none."""
    search = partial(_nearest_table, samples, counts, limits, margin, False)
    fractional = search()
    if fractional is not None and limits.rounding.any():
        # Rows that rounding may exceed by a sample, if it leaves the sizes as they are.
        sizes = fractional.sum(axis=1)[:, np.newaxis]
        fractional = search(sizes=controlled_rounding(sizes).ravel())
    return None if fractional is None else controlled_rounding(fractional)


def size_bounds(problem, limits):
    """Minimum and maximum size of a cluster, in units of the largest weight.

    The bounds are the same for all clusters. No cluster is empty, and sizes of equal weights are
    integers.
    """
    weight, coefficients = problem.largest_weight, intersection_coefficients(limits)[0]
    bounds, is_upper = limits.bounds[0] / (coefficients * weight), coefficients > 0
    total = problem.n_samples if problem.has_equal_weights else problem.total_weight / weight
    smallest = bounds[~is_upper].max(initial=problem.weight_range[0] / weight)
    largest = bounds[is_upper].min(initial=total)
    if problem.has_equal_weights:
        smallest, largest = np.ceil(smallest), np.floor(largest)
    return smallest, largest


def _nearest_table(samples, counts, limits, margin, is_integer, sizes=None):
    """The table nearest to the counts that keeps the limits, ratios by a margin of some samples.

    None if there is none; fractional, or any integer table. The unknowns of the linear programme
    are how far entries are above and below the counts, and for every cluster and scale the weight
    of the largest group. Clusters have the ``sizes``, if these are given.
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
    for row, bound, rounding in zip(limits.rows, limits.bounds.T, limits.rounding, strict=True):
        # Rows that rounding may not exceed are about numbers of members, which are integers. The
        # others have no margin: clusters of few members could not keep it.
        bound = (bound + is_integer * rounding) / samples.largest_weight
        bound = bound if rounding else np.floor(bound)
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
    sums, totals = by_code, np.zeros(n_codes)
    if sizes is not None:
        sums = sparse.vstack([by_code, by_cluster], format="csr")
        totals = np.concatenate([totals, sizes - counts.sum(axis=1)])
    nothing = sparse.csr_array((len(totals), n_clusters * n_scales))
    solution = _solve_program(
        np.concatenate([np.ones(2 * n_cells), np.zeros(n_clusters * n_scales)]),
        (sparse.block_array(rows, format="csr"), np.concatenate(bounds)),
        (sparse.block_array([[sums, -sums, nothing]], format="csr"), totals),
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


# Plain k-means: starting centres, Lloyd iterations, and single centres that are relocated.


MAX_RELOCATION_DISTANCES = 1e8  # to centres, each measured once before a relocation is accepted
_MIN_RELOCATION_GAIN = 1e-9  # share of the cost that is more than rounding


class RunSettings(NamedTuple):
    """How k-means is run: number of clusters, where runs start, when they end."""

    n_clusters: int
    init: object = "k-means++"  # as in sklearn's KMeans; an array is relative to the mean
    n_init: int = 10
    max_iter: int = 300
    tol: float = 1e-5  # relative gain of the cost at which a run stops
    labels: np.ndarray | None = None  # (n_samples,) of a clustering: no end may have a higher cost

    def generators(self, random_state):
        """Random generators of all starts; the first do not depend on the number of starts."""
        seeds = random_state.randint(np.iinfo(np.int32).max, size=self.n_init)
        return [np.random.RandomState(seed) for seed in seeds]

    def start(self, samples, random_state):
        """Starting centres of one run."""
        X, masses, init = samples.X, samples.masses, self.init
        if isinstance(init, str) and init == "k-means++":
            return draw_centers(X, masses, self.n_clusters, random_state)
        if isinstance(init, str):
            # Random samples, drawn by mass.
            share = masses / masses.sum()
            rows = random_state.choice(X.shape[0], self.n_clusters, replace=False, p=share)
            return dense_rows(X, rows)
        if callable(init):
            init = init(X, self.n_clusters, random_state=random_state)
        return check_centers(init, (self.n_clusters, X.shape[1]))


def draw_centers(X, masses, n_clusters, random_state):
    """Starting centres by greedy k-means++, those that `sklearn.cluster.kmeans_plusplus` draws."""
    n_trials = 2 + int(np.log(n_clusters))
    rows = [random_state.choice(X.shape[0], p=masses / masses.sum())]
    nearest = squared_distances_by_cluster(X, dense_rows(X, rows))[0]
    for _ in range(n_clusters - 1):
        # Some samples, drawn by their costs, of which the best becomes a centre.
        cumulated = np.cumsum(masses * nearest)
        numbers = random_state.uniform(size=n_trials) * cumulated[-1]
        drawn = np.minimum(np.searchsorted(cumulated, numbers), X.shape[0] - 1)
        trials = squared_distances_by_cluster(X, dense_rows(X, drawn))
        trials = np.minimum(trials, nearest)
        best = np.argmin(trials @ masses)
        nearest = trials[best]
        rows.append(drawn[best])
    return dense_rows(X, rows)


def make_run_settings(parameters, data, n_auto):
    """The runs of an estimator's parameters, on the input of a fit.

    ``n_auto`` is the number of starts that "auto" stands for.
    """
    init, n_init, labels = parameters.init, parameters.n_init, None
    if isinstance(init, str) or callable(init):
        n_init = n_auto if n_init == "auto" else n_init
    else:
        if np.ndim(init) == 1:
            labels = data.check_labels(init, parameters.n_clusters)
            init = data.problem.clustering_from_labels(labels, parameters.n_clusters).centers
        else:
            init = check_centers(init, (parameters.n_clusters, len(data.mean))) - data.mean
        if n_init not in ("auto", 1):
            warn(
                "Explicit initial center position passed: performing only one init in "
                f"{type(parameters).__name__} instead of n_init={n_init}. All starts from one "
                "array would be equal; leave n_init at 'auto' or 1.",
                RuntimeWarning,
            )
        n_init = 1
    ends = parameters.max_iter, parameters.tol
    return RunSettings(parameters.n_clusters, init, n_init, *ends, labels)


def check_centers(centers, shape):
    """Finite starting centres of the right shape, as a new array."""
    centers = check_array(centers, dtype=np.float64, ensure_2d=False, input_name="init", copy=True)
    if centers.shape != shape:
        raise ValueError(
            f"init must give one centre per cluster, shape {shape}, but it has shape "
            f"{centers.shape}; change init or n_clusters."
        )
    return np.ascontiguousarray(centers)


def lloyd(samples, centers, max_iter, tol):
    """The clustering of plain k-means from given centres, by mass; see `iterate_lloyd`."""
    labels, _, _ = iterate_lloyd(samples, centers, max_iter, tol)
    return samples.clustering_from_labels(labels, len(centers))


def iterate_lloyd(samples, centers, max_iter, tol):
    """Labels of plain k-means from given centres, by mass, the means of their clusters, the cost.

    Iterations have Nesterov's momentum, which starts again wherever it raises the cost. Stops when
    one lowers the cost by no more than ``tol`` times the cost.
    """
    partitions, lowest, n_pushed, means = samples.partitions, np.inf, 0, centers
    for _ in range(max_iter):
        # Nearest centres, then means; empty clusters get the farthest samples.
        assigned = partitions.map(_assign_nearest, centers)
        sums, masses, cost = assigned.reduce(itemgetter(2))
        if cost > lowest and n_pushed > 0:
            centers, n_pushed = means, 0
            continue
        labels, previous, sizes = assigned.gather(itemgetter(0)), means, masses
        if sizes.all():
            means = sums / sizes[:, np.newaxis]
        else:
            clustering = occupy_clusters(samples, np.concatenate(labels), centers)
            labels, means, sizes = [clustering.labels], clustering.centers, clustering.sizes
            cost = samples.cost_of(clustering._replace(centers=centers))
        shifts, gain, lowest = means - centers, lowest - cost, cost
        if gain <= tol * cost:
            break
        centers, n_pushed = extrapolate(means, previous, n_pushed), n_pushed + 1
    # From centres to means the cost falls by size times squared distance.
    return np.concatenate(labels), means, lowest - float(sizes @ (shifts * shifts).sum(axis=1))


def extrapolate(means, previous, n_pushed):
    """Means shifted on in the direction in which they moved, by Nesterov's growing momentum."""
    return means + n_pushed / (n_pushed + 3) * (means - previous)


def _assign_nearest(samples, centers):
    return assign_nearest(samples.X, samples.masses, centers)


def iterate_at_level(problem, point, level, max_iter, tol, watch=None):
    """The cheapest clustering near a point whose balance reaches a level, up to rounding.

    Alternates the fair assignment and the means, as k-means alternates nearest centres and means,
    until a round lowers the cost by no more than ``tol`` times the cost. Rounds have momentum, see
    `iterate_lloyd`. Returns the point, whose balance may be a few samples short of the level (see
    `repair`), the number of rounds, and whether they converged: not if ``max_iter`` or ``watch``
    ended them.
    """
    # Without limits all counts are precise; those of many clusters have a precision of their own.
    n_clusters, limits = len(point.clustering.centers), problem.limits
    is_plain = level == 0 and not has_rows(limits)
    is_precise = is_plain or bounds_many_sizes(problem, n_clusters, limits)
    lowest, start, share = np.inf, point, COUNT_TOLERANCE if is_precise else ROUND_COUNT_TOLERANCE
    converged = stopped = False
    n_iter = n_pushed = 0
    while n_iter < max_iter and not (converged or stopped):
        trial = problem.assign(start, level, share)
        n_iter += 1
        # The dual value is the cost of the fair assignment to centres before they move: it falls
        # with rounds as the cost of k-means does.
        value = trial.dual.value
        if value > lowest and n_pushed > 0:
            start, n_pushed = point, 0  # the momentum has overshot
        else:
            converged = lowest - value <= tol * value or value == 0
            pushed = extrapolate(trial.clustering.centers, point.clustering.centers, n_pushed)
            start = trial._replace(clustering=trial.clustering._replace(centers=pushed))
            point, lowest, n_pushed = trial, value, n_pushed + 1
        if converged and share > COUNT_TOLERANCE:  # go on with more precise counts
            lowest, start, share, converged, n_pushed = np.inf, point, COUNT_TOLERANCE, False, 0
        stopped = watch is not None and watch(point)
    # Rounds need neither the cost nor the balance.
    if point.cost is None:
        point = point._replace(cost=problem.cost_of(point.clustering))
    if point.balance is None:
        point = point._replace(balance=problem.balance_of(point.clustering.counts))
    return point, n_iter, converged


class LocalMinimum(NamedTuple):
    """Centres that k-means has led to."""

    centers: np.ndarray  # (n_clusters, n_features)
    cost: float
    offsets: np.ndarray | float = 0.0  # (n_clusters,) multipliers of bounds on sizes


def improve_by_swaps(samples, start, n_drawn, random_state, lead, n_trials=12, max_rise=np.inf):
    """Leave a poor local minimum of k-means by moving single centres (random swap, Franti 2018).

    Draws ``n_drawn`` pairs: the centre of one of the clusters that are cheapest to dissolve, and a
    sample, by its squared distance to its own centre, for it to go to. The pairs of lowest cost,
    ``n_trials`` or fewer, are tried by three iterations of k-means, unless their cost is more than
    ``max_rise`` times that before. The first that is cheaper then is accepted, and pairs are drawn
    again, until none is, or until it took too long with many clusters, of which each gains little.
    ``lead`` maps centres to the `LocalMinimum` after the iterations.
    """
    if len(start.centers) == 1 or n_drawn == 0:
        return start
    X, masses, is_improved = samples.X, samples.masses, True
    n_left = max(1, int(MAX_RELOCATION_DISTANCES / (X.shape[0] * len(start.centers))))
    while is_improved and n_left > 0 and start.cost > 0:
        n_left -= 1
        # Pairs of a cluster and a sample; a uniform number hits one of the cumulated costs.
        cheapest, labels, nearest, second = _find_removable_clusters(samples, start)
        cumulated = np.cumsum(masses * np.maximum(nearest, 0.0))
        numbers = random_state.uniform(0, cumulated[-1], n_drawn)
        rows = np.minimum(np.searchsorted(cumulated, numbers, side="right"), X.shape[0] - 1)
        dissolved = random_state.choice(cheapest, n_drawn)
        # Costs before other centres move: members of the cluster go to the second nearest.
        costs = np.empty(n_drawn)
        offsets = masses * np.broadcast_to(start.offsets, len(start.centers))[labels]
        for k in np.unique(dissolved):
            drawn, remaining = dissolved == k, np.where(labels == k, second, nearest)
            distances = squared_distances_by_cluster(X, dense_rows(X, rows[drawn]))
            costs[drawn] = np.minimum(distances, remaining, out=distances) @ masses
            costs[drawn] -= offsets[labels != k].sum()
        # Iterate from the best pairs, and accept what is cheaper.
        is_improved = False
        for i in np.argsort(costs, kind="stable")[:n_trials]:
            if costs[i] > max_rise * start.cost:
                break
            trial = start.centers.copy()
            trial[dissolved[i]] = dense_rows(X, rows[i : i + 1])
            trial = lead(trial)
            if trial.cost < start.cost * (1 - _MIN_RELOCATION_GAIN):
                start, is_improved = trial, True
                break
    return start


def _find_removable_clusters(samples, start):
    """The third of clusters cheapest to dissolve; labels, distances to nearest and next centre.

    Offsets are added to distances.
    """
    n_clusters = len(start.centers)
    distances = squared_distances(samples.X, start.centers) + start.offsets
    nearest, second = np.partition(distances, 1, axis=1)[:, :2].T
    labels = distances.argmin(axis=1)
    # Without its centre, the members of a cluster go to the second nearest.
    rises = second - nearest + np.broadcast_to(start.offsets, n_clusters)[labels]
    removal = np.bincount(labels, samples.masses * rises, minlength=n_clusters)
    cheapest = np.argsort(removal, kind="stable")[: max(2, n_clusters // 3)]
    return cheapest, labels, nearest, second


def occupy_clusters(problem, labels, centers):
    """The clustering of labels, once every empty cluster has got a sample."""
    clustering = problem.clustering_from_labels(labels, len(centers))
    if clustering.sizes.all():
        return clustering
    members = np.bincount(labels, minlength=len(centers))
    labels = fill_empty_clusters(problem, labels, members, centers)
    return problem.clustering_from_labels(labels, len(centers))


def fill_empty_clusters(problem, labels, members, centers):
    """Labels once every empty cluster has got the sample farthest from its own centre.

    ``members`` are numbers by cluster; they may count more samples than these.
    """
    labels, members = labels.copy(), members.copy()
    empty = list(np.flatnonzero(members == 0))
    distances = problem.masses * member_distances(problem.X, centers, labels)
    # From the farthest sample on, but never the last one of a cluster.
    for p in np.argsort(-distances, kind="stable"):
        if empty and members[labels[p]] > 1:
            members[labels[p]] -= 1
            labels[p] = empty.pop(0)
    return labels


def assignment_costs(problem, centers):
    """Cost, by weight, of assigning each sample to each centre, (n_clusters, n_samples)."""
    distances = squared_distances_by_cluster(problem.X, centers)
    return distances if problem.unit_costs is None else distances * problem.unit_costs
