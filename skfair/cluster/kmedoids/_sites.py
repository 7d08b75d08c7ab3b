"""The search for sites: exchanges of one site for another, priced by the dual of the assignment.

At given sites the cheapest assignment within limits is a linear program, whose dual has one offset
per cluster and group (`skfair.cluster.kmeans._dual`). With the offsets that are optimal for some
sites, the sum of cheapest costs is a lower bound for any other sites, too. So one pass over the
costs bounds what each exchange of a site could gain, and only the promising ones are solved.
"""

from __future__ import annotations

from itertools import combinations
from math import comb
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from skfair._kernels.candidates import FIRST_RIDGE
from skfair._kernels.limits import find_share_rows, has_rows
from skfair._kernels.medoids import exchange_values
from skfair._partitions.partitions import make_partitions
from skfair.cluster._assignment import Assignment, AssignmentProblem, assign_samples
from skfair.cluster.kmeans._dual import (
    COUNT_TOLERANCE,
    gather_labels_and_gaps,
    solve_dual,
    zero_solution,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from skfair._kernels.limits import Limits
    from skfair.cluster.kmeans._dual import DualSolution


MAX_SETS = 100  # sets of sites, up to which all are compared
MAX_TRIALS = 100  # exchanges that are tried in a round that gains nothing
N_KICKS = 25  # kicks of the best sites after each start
N_KICKED = 2  # sites that a kick exchanges for others
MAX_KICKED_COSTS = 100_000  # above which there are fewer kicks, as each takes more time
MAX_COMPARED = 3  # ends of a search that are compared by programs
MAX_NEARBY = 20  # exchanges that are compared where a set of sites misses limits


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

    def count_sets(self, n_clusters: int) -> int:
        """Number of sets of sites."""
        return comb(len(self.list_free_sites()), n_clusters - len(self.fixed))

    def list_sets(self, n_clusters: int) -> list[np.ndarray]:
        """All sets of sites, with those that are fixed."""
        free, n_free = self.list_free_sites(), n_clusters - len(self.fixed)
        return [np.append(self.fixed, one).astype(np.intp) for one in combinations(free, n_free)]

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
    assignment: Assignment  # whose labels are positions of sites
    status: str = "optimal"

    @property
    def rank(self) -> tuple[float, ...]:
        """The smaller of two ends is the better one."""
        return self.assignment.rank


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
    # The ridge that the last steps of other sites needed would make the first step here so short
    # that it gains next to nothing, and the ascent would end far below the maximum.
    warm_dual = warm_dual._replace(ridge=min(warm_dual.ridge, FIRST_RIDGE))
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


class SearchSettings(NamedTuple):
    """When exchanges of sites end, and who sees every round."""

    max_iter: int
    tol: float  # share of the cost that an exchange has to gain
    watch: Callable  # returns True to end the search


def exchange_sites(
    problem: SiteProblem, solved: SiteSet, settings: SearchSettings
) -> tuple[SiteSet, int, str]:
    """The end of exchanges of single sites, each of which lowers the cost of the assignment.

    Also returns the number of rounds, and the status: "optimal" if no exchange lowers the cost,
    "feasible" if not all that might do were tried, "stopped" if ``watch`` ended them.
    """
    tol = settings.tol
    nearest = problem.costs.argmin(axis=0)  # sample of each site
    n_iter = 0
    while n_iter < settings.max_iter:
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
        if settings.watch(solved):
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


def alternate_sites(
    problem: SiteProblem, solved: SiteSet, settings: SearchSettings
) -> tuple[SiteSet, int, bool]:
    """The end of rounds that move all sites at once, each to the medoid of its cluster.

    Under a tight balance a single exchange costs more than all of them together gain, as clusters
    have to be balanced around the sites that stay. Also returns the number of rounds that gained,
    and whether ``watch`` ended them.
    """
    n_iter = 0
    while n_iter < settings.max_iter:
        sites = find_medoids(problem, solved)
        if len(np.unique(sites)) < len(sites) or not problem.are_large_enough(sites):
            break
        trial = solve_sites(problem, sites, solved.dual, solved.value)
        if trial.value >= solved.value * (1 - settings.tol):
            break
        solved = trial
        n_iter += 1
        if settings.watch(solved):
            return solved, n_iter, True
    return solved, n_iter, False


def find_medoids(problem: SiteProblem, solved: SiteSet) -> np.ndarray:
    """The cheapest site for the samples of each cluster, (n_clusters,); fixed sites stay."""
    n_clusters, n_samples = len(solved.sites), len(solved.labels)
    members = sparse.csr_array(
        (problem.weights, (solved.labels, np.arange(n_samples))), (n_clusters, n_samples)
    )
    costs = members @ problem.costs  # (n_clusters, n_sites)
    costs[:, ~problem.allowed] = np.inf
    costs[:, problem.fixed] = np.inf
    is_fixed = np.isin(solved.sites, problem.fixed)
    return np.where(is_fixed, solved.sites, costs.argmin(axis=1))


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
    problem: SiteProblem, n_clusters: int, random_state: np.random.RandomState
) -> np.ndarray:
    """Sites nearest to samples that are drawn by their costs: k-means++ with costs for squares."""
    costs, weights, allowed = problem.costs, problem.weights, problem.allowed
    sites = list(problem.fixed)
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


def assign_to_sites(problem: SiteProblem, solved: SiteSet) -> SearchEnd:
    """The sites with the best assignment to them that was found."""
    task = AssignmentProblem(
        costs=problem.costs[:, solved.sites].astype(np.float64),
        weights=problem.weights,
        codes=problem.codes,
        limits=problem.limits_at(solved.sites),
        slack=float(problem.member_weights.min()),
    )
    return SearchEnd(solved, assign_samples(task, solved.offsets))


def choose_set(problem: SiteProblem, sets: Iterable[SiteSet]) -> SearchEnd:
    """The best of sets of sites, without those whose dual is above the cost of a better one."""
    first, *others = sorted(sets, key=attrgetter("value"))
    best = assign_to_sites(problem, first)
    for one in others:
        if best.assignment.keeps_limits and one.value >= best.assignment.cost:
            break
        best = min(best, assign_to_sites(problem, one), key=attrgetter("rank"))
    return best


def list_all_sets(problem: SiteProblem, n_clusters: int) -> list[SiteSet]:
    """All sets of sites that are large enough, or else all."""
    sets = problem.list_sets(n_clusters)
    large = [sites for sites in sets if problem.are_large_enough(sites)]
    return [solve_sites(problem, sites) for sites in large or sets]


def list_nearby_sets(problem: SiteProblem, solved: SiteSet) -> list[SiteSet]:
    """The sites, and those after one of their cheapest exchanges."""
    values = bound_exchanges(problem, solved)
    cheapest = np.argsort(values, axis=None, kind="stable")[:MAX_NEARBY]
    sets = [solved]
    for cluster, site in np.transpose(np.unravel_index(cheapest, values.shape)):
        sites = solved.sites.copy()
        sites[cluster] = site
        if np.isfinite(values[cluster, site]) and problem.are_large_enough(sites):
            sets.append(solve_sites(problem, sites, solved.dual))
    return sets


class SearchStart(NamedTuple):
    """Sites that a search begins from, and the random numbers of its kicks."""

    sites: np.ndarray  # (n_clusters,)
    random_state: np.random.RandomState


class SearchEnds(NamedTuple):
    """The ends of a search for sites, the best ones by their dual first."""

    site_sets: list[SiteSet]
    n_rounds: int
    status: str  # of the first one


def find_ends(
    problem: SiteProblem, starts: Iterator[SearchStart], settings: SearchSettings
) -> SearchEnds:
    """Return the ends of exchanges from several starts, and from kicks of the best sites.

    A further start, with its kicks, adds ends and changes no earlier one.
    """
    n_kicks = count_kicks(problem)
    ends: dict[frozenset, SiteSet] = {}
    statuses: dict[frozenset, str] = {}
    n_rounds = 0
    for start in starts:
        end, n_iter, status = descend(problem, start.sites, settings)
        n_rounds += n_iter
        ends.setdefault(frozenset(end.sites), end)
        statuses.setdefault(frozenset(end.sites), status)
        best = min(ends.values(), key=attrgetter("value"))
        for _ in range(n_kicks if status != "stopped" else 0):
            kicked = kick_sites(problem, best, start.random_state)
            end, n_iter, is_stopped = alternate_sites(problem, kicked, settings)
            n_rounds += n_iter
            ends.setdefault(frozenset(end.sites), end)
            best = min(best, end, key=attrgetter("value"))
            if is_stopped:
                status = "stopped"
                break
        if status == "stopped":
            break
    if n_kicks and status != "stopped":  # whether no exchange gains, of all that may
        best, n_iter, status = exchange_sites(problem, best, settings)
        n_rounds += n_iter
        ends.setdefault(frozenset(best.sites), best)
    elif status != "stopped":
        status = statuses[frozenset(best.sites)]
    return SearchEnds(sorted(ends.values(), key=attrgetter("value")), n_rounds, status)


def count_kicks(problem: SiteProblem) -> int:
    """Number of kicks after each start: none without a level, as exchanges find the best sites."""
    if problem.limits.level == 0:
        return 0
    return int(N_KICKS * min(1.0, MAX_KICKED_COSTS / problem.costs.size))


def descend(
    problem: SiteProblem, sites: np.ndarray, settings: SearchSettings
) -> tuple[SiteSet, int, str]:
    """The end of exchanges of plain k-medoids, then within the limits."""
    plain = problem.drop_limits()
    solved, n_rounds, status = exchange_sites(plain, solve_sites(plain, sites), settings)
    if problem.limits.level == 0 and not has_rows(problem.limits):
        return solved, n_rounds, status
    solved = solve_sites(problem, make_large_enough(problem, solved.sites))
    if status == "stopped":
        return solved, n_rounds, status
    solved, n_iter, status = exchange_sites(problem, solved, settings)
    return solved, n_rounds + n_iter, status


def kick_sites(
    problem: SiteProblem, solved: SiteSet, random_state: np.random.RandomState
) -> SiteSet:
    """The sites after exchanges of a few random ones that are not fixed for others."""
    sites = solved.sites.copy()
    movable = np.flatnonzero(~np.isin(sites, problem.fixed))
    free = np.setdiff1d(problem.list_free_sites(), sites)
    n_kicked = min(N_KICKED, len(movable), len(free))
    places = random_state.choice(movable, n_kicked, replace=False)
    sites[places] = random_state.choice(free, n_kicked, replace=False)
    return solve_sites(problem, make_large_enough(problem, sites))


def search_sites(
    problem: SiteProblem,
    n_clusters: int,
    starts: Iterator[SearchStart],
    settings: SearchSettings,
) -> tuple[SearchEnd, int]:
    """The best sites found from several starts, and the number of rounds.

    Where there are few sets of sites, all are compared.
    """
    if problem.count_sets(n_clusters) <= MAX_SETS:
        return choose_set(problem, list_all_sets(problem, n_clusters)), 0
    ends = find_ends(problem, starts, settings)
    best = choose_set(problem, ends.site_sets[:MAX_COMPARED])
    status = ends.status
    if status not in ("stopped", "max_iter"):
        # The best one by its integers may not be the one that all exchanges were tried from.
        status = status if best.site_set is ends.site_sets[0] else "feasible"
        if not best.assignment.keeps_limits:
            best = choose_set(problem, list_nearby_sets(problem, best.site_set))
            status = "feasible"
    return best._replace(status=status), ends.n_rounds
