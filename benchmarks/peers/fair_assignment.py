"""Fair assignment to fixed centres by its dual and by linear programming."""

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans

from benchmarks.kmeans_cases import problem
from benchmarks.peers.kmeans_methods import fair_assignment_lp
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from benchmarks.timing import median_seconds, run_alternately
from skfair._kernels.limits import balance_limits
from skfair.cluster.kmeans._problem import ClusteringProblem, recompute_point
from skfair.cluster.kmeans._repair import repair

LEVELS = (0.5, 0.8, 0.95, 0.99)  # fractions of the balance of the data


@smallest(LEVELS=(0.8,))
def fair_assignment(budget):
    """Time and cost of the fair assignment at fixed centres against the LP in HiGHS."""
    records = []
    for name in ("Adult_K10", "Bank_K10"):
        case = problem(name)
        model = KMeans(case.n_clusters, n_init=10, random_state=0).fit(case.X)
        records += [_compare(case, model, level, budget.n_runs) for level in LEVELS]
    bounds = {
        "LP / ours": (">=", 50.0),
        "repaired, above %": ("<=", 0.2),
        "bound, below %": ("<=", 0.01),
    }
    checks = [
        Check(f"{figure}, every level", [record[figure] for record in records], *bound)
        for figure, bound in bounds.items()
    ]
    return Report("Fair assignment at the centres of k-means, 5,000 rows", records, checks)


def _compare(case, model, level, n_runs):
    """Times and costs at one level; ours without a warm start, rounded and repaired."""
    ratio = level * case.balance
    limits = balance_limits(case.codes.max() + 1)
    samples = ClusteringProblem(case.X, np.ones(len(case.X)), case.codes, limits)
    start = recompute_point(samples, model.labels_, case.n_clusters)
    centers = start.clustering.centers
    distances = cdist(case.X, centers, "sqeuclidean")

    def ours(_):
        dual = samples.solve_assignment(centers, limits._replace(level=ratio))
        point = recompute_point(samples, dual.labels, case.n_clusters, dual)
        return repair(samples, point, ratio)

    runs = run_alternately(
        {"ours": ours, "lp": lambda _: fair_assignment_lp(distances, case.codes, ratio)}, n_runs
    )
    point = runs["ours"][0].result
    optimum, _ = runs["lp"][0].result

    def excess_percent(labels):
        return 100 * (distances[np.arange(len(case.X)), labels].sum() / optimum - 1)

    seconds = {name: median_seconds(runs[name]) for name in runs}
    return {
        "problem": case.name,
        "level": level,
        "relative balance": point.balance / case.balance,
        "LP CPU s": seconds["lp"],
        "our CPU s": seconds["ours"],
        "LP / ours": seconds["lp"] / seconds["ours"],
        "bound, below %": 100 * (1 - point.dual.value / optimum),
        "rounded, above %": excess_percent(point.dual.labels),
        "repaired, above %": excess_percent(point.clustering.labels),
    }
