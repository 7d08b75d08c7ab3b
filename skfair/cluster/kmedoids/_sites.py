"""The search for sites: exchanges of one site for another, priced by the dual of the assignment.

At given sites the cheapest assignment within limits is a linear program, whose dual has one offset
per cluster and group (`skfair.cluster.kmeans._dual`). With the offsets that are optimal for some
sites, the sum of cheapest costs is a lower bound for any other sites, too. So one pass over the
costs bounds what each exchange of a site could gain, and only the promising ones are solved.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import comb
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import optimize, sparse

from skfair._kernels.limits import allow_slack, find_memberships, find_share_rows, has_rows
from skfair._kernels.medoids import exchange_values
from skfair._partitions.partitions import make_partitions
from skfair.cluster.kmeans._dual import (
    COUNT_TOLERANCE,
    gather_labels_and_gaps,
    solve_dual,
    zero_solution,
)
from skfair.cluster.kmeans._given_centers import assign_to_centers
from skfair.cluster.kmeans._moves import list_rows
from skfair.cluster.kmeans._problem import ClusteringProblem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from skfair._kernels.limits import Limits
    from skfair.cluster.kmeans._dual import DualSolution


MAX_SETS = 100  # sets of sites, up to which all are compared
MAX_TRIALS = 100  # exchanges that are tried in a round that gains nothing
MAX_PROGRAM = 1000  # samples times clusters, up to which a program assigns them
MAX_NODES = 100  # of branch and bound


class SiteProblem(NamedTuple):
    """Samples, what each costs at every site, and limits on the clusters of sites."""

    costs: np.ndarray  # (n_samples, n_sites)
    weights: np.ndarray  # (n_samples,) positive
    codes: np.ndarray  # (n_samples,) intp, intersections of the limits
    limits: Limits  # of all clusters, or with bounds for every site
    allowed: np.ndarray  # (n_sites,) bool, which sites may be chosen
    fixed: np.ndarray = np.empty(0, dtype=np.intp)  # sites that are chosen in any case
    household_sizes: np.ndarray | None = None  # (n_samples,) as in `ClusteringProblem`

    @property
    def member_weights(self) -> np.ndarray:
        """Weight of all members of each sample."""
        return self.weights if self.household_sizes is None else self.weights * self.household_sizes

    @property
    def total_weight(self) -> float:
        """Weight of all members of all samples."""
        return float(self.member_weights.sum())

    def limits_at(self, sites: np.ndarray) -> Limits:
        """The limits of the clusters of some sites."""
        bounds = self.limits.bounds
        return self.limits if len(bounds) == 1 else self.limits._replace(bounds=bounds[sites])

    def list_free_sites(self) -> np.ndarray:
        """The sites that may be chosen and are not fixed."""
        is_free = self.allowed.copy()
        is_free[self.fixed] = False
        return np.flatnonzero(is_free)

    def drop_limits(self) -> SiteProblem:
        """The same without limits, for plain k-medoids."""
        n_groups = self.limits.n_groups
        limits = self.limits._replace(
            level=0.0, rows=np.empty((0, n_groups)), bounds=np.empty((1, 0)), rounding=np.empty(0)
        )
        return self._replace(limits=limits)

    def are_large_enough(self, sites: np.ndarray) -> bool:
        """Whether bounds on the sizes at sites allow the weight of all samples."""
        limits = self.limits_at(sites)
        is_size = ~find_share_rows(limits)
        # A size is the sum of a row whose coefficients are equal.
        signs = np.sign(limits.rows[is_size].sum(axis=1))
        bounds = np.broadcast_to(limits.bounds, (len(sites), len(limits.rows)))[:, is_size]
        total = self.total_weight
        return bool((bounds.sum(axis=0) >= signs * total - 1e-9 * total).all())


class SiteSet(NamedTuple):
    """Sites, and the dual of the cheapest assignment to them."""

    sites: np.ndarray  # (n_clusters,) columns of the costs
    dual: DualSolution
    offsets: np.ndarray  # (n_clusters, n_intersections) of the dual
    labels: np.ndarray  # (n_samples,) int32, the cluster of least cost plus offset
    gaps: np.ndarray  # (n_samples,) what the next cheapest one costs more

    @property
    def value(self) -> float:
        """Lower bound of the cost of an assignment within the limits."""
        return self.dual.value


class SearchEnd(NamedTuple):
    """Sites that a search led to, and the assignment to them."""

    site_set: SiteSet
    labels: np.ndarray  # (n_samples,) positions of sites
    cost: float
    status: str


def solve_sites(
    problem: SiteProblem,
    sites: np.ndarray,
    warm_dual: DualSolution | None = None,
    most: float = np.inf,
) -> SiteSet:
    """Sites with the dual of the cheapest assignment to them within the limits.

    Of sites whose cost is above ``most`` the value is any number between.
    """
    limits = problem.limits_at(sites)
    distances = np.ascontiguousarray(problem.costs[:, sites].T, dtype=np.float64)
    rows = make_partitions([(distances, problem.codes, problem.weights)])
    # Weights within which counts keep the limits: moves and paths bring the rest.
    mean = problem.weights.sum() / len(problem.weights)
    slack = max(0.02 * mean, COUNT_TOLERANCE * problem.weights.sum())
    warm_dual = warm_dual or zero_solution(len(sites), limits)
    solution, evaluated = solve_dual(rows, limits, warm_dual, slack, most=most)
    labels, gaps = gather_labels_and_gaps(evaluated)
    offsets = solution.intersection_offsets
    return SiteSet(sites, solution, offsets, labels, gaps)  # type: ignore[arg-type]


def bound_exchanges(problem: SiteProblem, solved: SiteSet) -> np.ndarray:
    """Lower bounds of the cost after each exchange of a site, (n_clusters, n_sites).

    They are the value of the dual at its present multipliers. inf where the exchange is none.
    """
    sites, dual, offsets, labels, gaps = solved
    here = problem.costs[np.arange(len(labels)), sites[labels]] + offsets[labels, problem.codes]
    least = np.column_stack([here, here + gaps])
    values = exchange_values(problem.costs, problem.codes, problem.weights, offsets, labels, least)
    # The term of the rows in the dual: a site may have bounds of its own.
    values += dual.value - problem.weights @ here
    if len(problem.limits.bounds) > 1:
        shifts = problem.limits.bounds - problem.limits.bounds[sites][:, np.newaxis]
        values -= (shifts * dual.multipliers.rows[:, np.newaxis]).sum(axis=2)
    values[:, sites] = np.inf
    values[:, ~problem.allowed] = np.inf
    values[np.isin(sites, problem.fixed)] = np.inf
    return values


def exchange_sites(
    problem: SiteProblem, solved: SiteSet, max_iter: int, tol: float, watch: Callable
) -> tuple[SiteSet, int, str]:
    """The end of exchanges of single sites, each of which lowers the cost of the assignment.

    Also returns the number of rounds, and the status: "optimal" if no exchange lowers the cost,
    "feasible" if not all that might do were tried, "stopped" if ``watch`` ended them.
    """
    nearest = problem.costs.argmin(axis=0)  # sample of each site
    n_iter = 0
    while n_iter < max_iter:
        n_iter += 1
        values = bound_exchanges(problem, solved)
        before = solved.value
        most = before * (1 - tol)
        # The best site for every cluster; if none gains, the best one in each cluster; then others.
        homes = solved.labels[nearest]
        solved = _try_exchanges(problem, solved, _list_best(values, [homes >= 0]), tol)
        if solved.value == before:
            in_homes = [homes == k for k in range(len(values))]
            solved = _try_exchanges(problem, solved, _list_best(values, in_homes), tol)
        if solved.value == before:
            clusters, sites = np.nonzero(values < most)
            cheapest = np.argsort(values[clusters, sites], kind="stable")[:MAX_TRIALS]
            clusters = clusters[cheapest]
            sites = sites[cheapest]
            others = zip(values[clusters, sites], clusters, sites, strict=True)
            solved = _try_exchanges(problem, solved, others, tol)
        if watch(solved):
            return solved, n_iter, "stopped"
        if solved.value == before:
            n_gaining = (values < most).sum()
            return solved, n_iter, "optimal" if n_gaining <= MAX_TRIALS else "feasible"
    return solved, n_iter, "max_iter"


def _list_best(values: np.ndarray, masks: list[np.ndarray]) -> list[tuple]:
    """Value, cluster and site of the best exchange of each cluster for a site of each mask."""
    clusters = np.arange(len(values))
    exchanges: list[tuple] = []
    for mask in masks:
        sites = np.flatnonzero(mask)
        if len(sites):
            best = sites[values[:, sites].argmin(axis=1)]
            exchanges += zip(values[clusters, best], clusters, best, strict=True)
    return sorted(exchanges)


def _try_exchanges(
    problem: SiteProblem, solved: SiteSet, exchanges: Iterable[tuple], tol: float
) -> SiteSet:
    """The sites after those exchanges, sorted by value, that lower the cost."""
    most = solved.value * (1 - tol)
    for value, cluster, site in exchanges:
        if value >= most:
            break
        sites = solved.sites.copy()
        sites[cluster] = site
        if site not in solved.sites and problem.are_large_enough(sites):
            trial = solve_sites(problem, sites, solved.dual, solved.value)
            if trial.value < solved.value * (1 - tol):
                solved = trial
    return solved


# Starting sites.


def build_sites(problem: SiteProblem, n_clusters: int) -> np.ndarray:
    """Sites chosen one by one, each the cheapest addition: BUILD of Kaufman and Rousseeuw."""
    sites = list(problem.fixed)
    least = problem.costs[:, sites].min(axis=1, initial=np.inf)
    no_labels = np.full(len(least), -1, dtype=np.int32)
    while len(sites) < n_clusters:
        # Exchange nothing for a site: no sample has a cluster.
        costs = exchange_values(
            problem.costs,
            np.zeros_like(problem.codes),
            problem.weights,
            np.zeros((1, 1)),
            no_labels,
            np.column_stack([least, least]),
        )[0]
        costs[sites] = np.inf
        costs[~problem.allowed] = np.inf
        sites.append(int(costs.argmin()))
        least = np.minimum(least, problem.costs[:, sites[-1]])
    return np.array(sites)


def draw_sites(
    problem: SiteProblem,
    n_clusters: int,
    random_state: np.random.RandomState,
    first: Sequence[int] | np.ndarray = (),
) -> np.ndarray:
    """Sites nearest to samples that are drawn by their costs: k-means++ with costs for squares.

    Begins with the sites ``first``.
    """
    costs, weights, allowed = problem.costs, problem.weights, problem.allowed
    sites = list(first)
    least = costs[:, sites].min(axis=1) if sites else np.ones(len(weights))
    while len(sites) < n_clusters:
        masses = weights * least
        masses = masses if masses.sum() > 0 else weights
        row = random_state.choice(len(weights), p=masses / masses.sum())
        is_free = allowed.copy()
        is_free[sites] = False
        sites.append(int(np.where(is_free, costs[row], np.inf).argmin()))
        least = costs[:, sites].min(axis=1)
    return np.array(sites)


def make_large_enough(problem: SiteProblem, sites: np.ndarray) -> np.ndarray:
    """Sites whose bounds on sizes allow all samples, from others, by exchanges."""
    if len(problem.limits.bounds) == 1:
        return sites
    sites = sites.copy()
    is_size = ~find_share_rows(problem.limits)
    for row in np.flatnonzero(is_size):
        # Bounds are maxima of sizes, or minima with a negative sign: the larger, the wider.
        wide = problem.limits.bounds[:, row]
        for site in np.argsort(-np.where(problem.allowed, wide, -np.inf), kind="stable"):
            if problem.are_large_enough(sites):
                return sites
            narrowest = np.where(np.isin(sites, problem.fixed), np.inf, wide[sites]).argmin()
            if site not in sites and wide[site] > wide[sites[narrowest]]:
                sites[narrowest] = site
    return sites


# The assignment in integers.


def embed_costs(costs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Samples and centres whose squared distances are costs, up to a constant of each sample.

    With x = -costs / (2 s) and the centres s e_k, the squared distance to centre k is that of x to
    the origin, plus s squared, plus the cost. So all that assigns samples to centres of k-means
    assigns them by any costs (n_samples, n_clusters).
    """
    costs = costs - costs.min(axis=1, keepdims=True)
    # The length that makes the constants smallest.
    mean_norm = np.sqrt((costs**2).sum() / len(costs))
    scale = np.sqrt(mean_norm / 2) or 1.0
    return np.ascontiguousarray(costs / (-2 * scale)), scale * np.eye(costs.shape[1])


def assign_to_sites(problem: SiteProblem, end: SiteSet) -> tuple[np.ndarray, float]:
    """Labels of the cheapest assignment found that keeps the limits, and its cost."""
    costs = problem.costs[:, end.sites].astype(np.float64)
    X, centers = embed_costs(costs)
    limits = problem.limits_at(end.sites)
    embedded = ClusteringProblem(
        X, problem.weights, problem.codes, limits, household_sizes=problem.household_sizes
    )
    labels = occupy_sites(costs, assign_to_centers(embedded, centers).labels)
    if costs.size <= MAX_PROGRAM:
        labels = improve_by_program(embedded, costs, end, labels)
    return labels, float(problem.weights @ costs[np.arange(len(labels)), labels])


def occupy_sites(costs: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Labels once every site has the sample that costs least to move there, if it had none."""
    labels = labels.copy()
    everyone = np.arange(len(labels))
    for k in np.setdiff1d(np.arange(costs.shape[1]), labels):
        is_alone = np.bincount(labels)[labels] == 1
        rise = costs[:, k] - costs[everyone, labels]
        labels[np.where(is_alone, np.inf, rise).argmin()] = k
    return labels


def improve_by_program(
    embedded: ClusteringProblem, costs: np.ndarray, end: SiteSet, labels: np.ndarray
) -> np.ndarray:
    """Labels of an integer program, or others that are as cheap.

    A pair of sample and cluster whose reduced cost exceeds what the labels cost above the dual is
    in no cheaper assignment, so that few samples are left to decide on. Where nothing keeps the
    limits, the program may use the documented slack, the lightest sample.
    """
    weights, codes, limits = embedded.weights, embedded.codes, embedded.limits
    everyone = np.arange(len(labels))
    here = weights @ costs[everyone, labels]
    memberships = find_memberships(limits)
    counts = embedded.count_intersections(labels, costs.shape[1]) @ memberships
    rows, bounds = list_rows(embedded, limits.level)
    keeps_limits = bool((counts @ rows.T <= bounds + 1e-9 * embedded.total_weight).all())
    if limits.level > 0:  # no cluster lacks a group that is large enough
        keeps_limits &= bool((counts[:, limits.required] > 0).all())
    gap = here - end.value
    if keeps_limits and gap <= 1e-4 * here:
        return labels
    reduced = costs + end.offsets.T[codes]
    reduced = weights[:, np.newaxis] * (reduced - reduced.min(axis=1, keepdims=True))
    is_free = reduced <= (gap if keeps_limits else np.inf)
    is_free[everyone, reduced.argmin(axis=1)] = True
    relaxed = replace(embedded, limits=allow_slack(limits, embedded.rounding_weight, 0.0))
    for trial in (embedded,) if keeps_limits else (embedded, relaxed):
        solved = _solve_assignment(trial, costs, is_free)
        if solved is not None:
            is_cheaper = weights @ costs[everyone, solved] < here
            return solved if is_cheaper or not keeps_limits else labels
    return labels


def _solve_assignment(
    embedded: ClusteringProblem, costs: np.ndarray, is_free: np.ndarray
) -> np.ndarray | None:
    """Labels of the cheapest assignment by free pairs that keeps the limits; None: not found."""
    weights, codes, limits = embedded.weights, embedded.codes, embedded.limits
    rows, bounds = list_rows(embedded, limits.level)
    n_clusters = costs.shape[1]
    samples, clusters = np.nonzero(is_free)
    memberships = find_memberships(limits).astype(np.float64)

    def sum_by_cluster(coefficients: np.ndarray) -> sparse.csr_array:
        """Sums of coefficients (n_pairs, n_rows) over the pairs of each cluster."""
        n_pairs, n_rows = coefficients.shape
        places = clusters[:, np.newaxis] * n_rows + np.arange(n_rows)
        pairs = np.repeat(np.arange(n_pairs), n_rows)
        shape = n_clusters * n_rows, n_pairs
        return sparse.csr_array((coefficients.ravel(), (places.ravel(), pairs)), shape)

    of_pairs = memberships[codes[samples]]
    bounds = np.broadcast_to(bounds, (n_clusters, len(rows))).ravel()
    constraints = [
        (sum_by_cluster(weights[samples, np.newaxis] * (of_pairs @ rows.T)), -np.inf, bounds),
        (sum_by_cluster(np.ones((len(samples), 1))), 1, np.inf),
        (sparse.csr_array((np.ones(len(samples)), (samples, np.arange(len(samples))))), 1, 1),
    ]
    if limits.level > 0:  # in every cluster a member of each required group
        constraints.append((sum_by_cluster(of_pairs[:, limits.required]), 1, np.inf))
    solved = optimize.milp(
        weights[samples] * costs[samples, clusters],
        integrality=np.ones(len(samples)),
        bounds=optimize.Bounds(0, 1),
        constraints=[one for one in constraints if one[0].shape[0]],
        options={"node_limit": MAX_NODES, "mip_rel_gap": 1e-4},
    )
    if solved.x is None:
        return None
    chosen = solved.x > 0.5
    labels = np.empty(len(costs), dtype=np.int32)
    labels[samples[chosen]] = clusters[chosen]
    return labels


def compare_all_sets(problem: SiteProblem, n_clusters: int, watch: Callable) -> SearchEnd:
    """The cheapest of all sets of sites; those whose dual is above a known cost are left out."""
    free = problem.list_free_sites()
    n_free = n_clusters - len(problem.fixed)
    all_sets = [np.append(problem.fixed, one).astype(np.intp) for one in combinations(free, n_free)]
    # Where no set is large enough, all miss the bounds.
    sets = [sites for sites in all_sets if problem.are_large_enough(sites)] or all_sets
    solved = sorted((solve_sites(problem, sites) for sites in sets), key=attrgetter("value"))
    best = SearchEnd(solved[0], *assign_to_sites(problem, solved[0]), "optimal")
    for one in solved[1:]:
        if one.value >= best.cost:
            break
        if watch(best.site_set):
            return best._replace(status="stopped")
        end = SearchEnd(one, *assign_to_sites(problem, one), "optimal")
        best = end if end.cost < best.cost else best
    return best


def search_sites(
    problem: SiteProblem,
    n_clusters: int,
    starts: Iterator[tuple[np.ndarray, np.random.RandomState]],
    max_iter: int,
    tol: float,
    watch: Callable,
) -> tuple[SiteSet, np.ndarray, int, str]:
    """The best sites found from several starts, labels, rounds, and the status of the search.

    Where there are few sets of sites, all are compared.
    """
    n_free = n_clusters - len(problem.fixed)
    if comb(len(problem.list_free_sites()), n_free) <= MAX_SETS:
        best = compare_all_sets(problem, n_clusters, watch)
        return best.site_set, best.labels, 0, best.status
    plain = problem.drop_limits()
    is_limited = problem.limits.level > 0 or has_rows(problem.limits)
    ends = []
    n_rounds = 0
    for sites, random_state in starts:
        # Plain k-medoids first, then exchanges within the limits.
        solved, n_iter, status = exchange_sites(
            plain, solve_sites(plain, sites), max_iter, tol, watch
        )
        n_rounds += n_iter
        if is_limited and status == "stopped":
            solved = solve_sites(problem, make_large_enough(problem, solved.sites))
        elif is_limited:
            start = solve_sites(problem, make_large_enough(problem, solved.sites))
            solved, n_iter, status = exchange_sites(problem, start, max_iter, tol, watch)
            n_rounds += n_iter
        end = SearchEnd(solved, *assign_to_sites(problem, solved), status)
        if status != "stopped":
            end, n_iter = shake_sites(problem, end, max_iter, tol, random_state, watch)
            n_rounds += n_iter
        ends.append(end)
        if end.status == "stopped":
            break
    best = min(ends, key=attrgetter("cost"))
    if ends[-1].status == "stopped":
        best = best._replace(status="stopped")
    return best.site_set, best.labels, n_rounds, best.status


def shake_sites(
    problem: SiteProblem,
    end: SearchEnd,
    max_iter: int,
    tol: float,
    random_state: np.random.RandomState,
    watch: Callable,
) -> tuple[SearchEnd, int]:
    """The cheapest end of exchanges after two sites are drawn again, until many draws gain nothing.

    Ends are compared by what they cost, as far sites may have a dual whose ascent stops early.
    """
    n_rounds = n_failures = 0
    n_clusters = len(end.site_set.sites)
    most = 10 if len(problem.weights) <= 1000 else 5
    n_free = n_clusters - len(problem.fixed)
    while n_failures < most and len(problem.list_free_sites()) > n_free > 0 and n_clusters > 1:
        sites = end.site_set.sites.copy()
        moved = random_state.permutation(np.flatnonzero(~np.isin(sites, problem.fixed)))[:2]
        drawn = draw_sites(problem, n_clusters, random_state, np.delete(sites, moved))
        sites[moved] = drawn[-len(moved) :]
        start = solve_sites(problem, make_large_enough(problem, sites), end.site_set.dual)
        solved, n_iter, status = exchange_sites(problem, start, max_iter, tol, watch)
        n_rounds += n_iter
        if status == "stopped":
            return end._replace(status="stopped"), n_rounds
        n_failures += 1
        if solved.value < end.cost and set(solved.sites) != set(end.site_set.sites):
            trial = SearchEnd(solved, *assign_to_sites(problem, solved), status)
            if trial.cost < end.cost * (1 - tol):
                end = trial
                n_failures = 0
    return end, n_rounds
