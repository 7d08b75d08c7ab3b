"""Quality of the fronts of `cluster_front`."""

from itertools import chain

import numpy as np

from benchmarks.kmeans_cases import REAL, SYNTHETIC, problem, reference_fronts
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from benchmarks.timing import time_call
from skfair.cluster import FairKMeans, cluster_front
from skfair.metrics import hypervolume, non_dominated_mask

ROUNDING = 1e-12  # rounding error of a sum in another order
RECORDED = 1e-5  # relative rounding error of records
MIN_HYPERVOLUME = {"Adult_K10": 0.960, "Adult_K5": 0.976, "Bank_K10": 0.984, "Bank_K5": 0.995}


@smallest(REAL=REAL[:1], SYNTHETIC=SYNTHETIC[:1])
def fronts(budget):
    """Hypervolume of fronts, and coverage of other methods' fronts.

    Synthetic problems have no hypervolume, as their range of costs is unknown.
    """
    records, checks = [], []
    for name in (*REAL, *SYNTHETIC):
        case = problem(name)
        others = reference_fronts(name)
        ours = [_our_front(case, seed) for seed in range(budget.n_runs)]
        records += [_record(case, f"homotopy, seed {seed}", *run) for seed, run in enumerate(ours)]
        records += [_record(case, method, points) for method, points in others.items()]
        points = [run.result for run in ours]
        if name in REAL:
            areas = [_hypervolume(case, front) for front in points]
            checks.append(Check(f"hypervolume, {name}", areas, ">=", MIN_HYPERVOLUME[name]))
        if name == "Adult_K10":
            costs = [_cost_at(front, 0.98 * case.balance) for front in points]
            checks.append(Check(f"cost at 98 % of the balance, {name}", costs, "<=", 0.3080))
        checks += _coverages(name, points, others)
    return Report("Fronts at 40 levels, real data at 5,000 rows", records, checks)


def _our_front(case, seed):
    def run():
        front = cluster_front(
            FairKMeans(case.n_clusters, random_state=seed), case.X, sensitive_features=case.codes
        )
        return np.column_stack([front.cost, front.balance])

    return time_call(run)


def _record(case, method, points, seconds=None):
    return {
        "problem": case.name,
        "method": method,
        "points": len(points),
        "hypervolume": _hypervolume(case, points) if case.name in REAL else None,
        "best balance": points[:, 1].max(),
        "CPU s": seconds,
    }


def _hypervolume(case, points):
    """The share of the problem's box that a front dominates; points beyond it count as its edge."""
    worst, best = case.box
    costs, balances = points.T
    area = hypervolume(np.maximum(costs, best[0]), np.minimum(balances, best[1]), reference=worst)
    return area / hypervolume(*np.transpose([best]), reference=worst)


def coverage(front_a, front_b):
    """Share of the points of `front_b` that some point of `front_a` dominates or equals.

    Fronts have the columns cost and balance; a covering point may be worse by `ROUNDING`. The
    measure is not symmetric. (E. Zitzler and L. Thiele, PPSN 1998.)
    """
    (cost_a, balance_a), (cost_b, balance_b) = front_a.T, front_b.T
    # The best balance of front_a at each cost of front_b.
    order = np.argsort(cost_a)
    best = np.maximum.accumulate(np.append(-np.inf, balance_a[order]))
    reached = best[np.searchsorted(cost_a[order], cost_b + ROUNDING, side="right")]
    return float(np.mean(reached >= balance_b - ROUNDING))


def extra_costs(front, others):
    """What `front` costs on top at the balance of each point of `others`, as a share of its cost.

    Infinite where no point of `front` is as balanced. Balances may have six significant digits.
    """
    costs = [_cost_at(front, balance * (1 - RECORDED)) for _, balance in others]
    return np.array(costs) / others[:, 0] - 1


def _cost_at(points, balance):
    costs, balances = points.T
    return costs[balances >= balance].min(initial=np.inf)


def _coverages(name, ours, others):
    """Coverage of the other methods' points by our fronts, and the reverse.

    Published lists also have points that others of the same list dominate, because the alternating
    algorithm keeps ties. The first check leaves them out, and the second counts them. A point that
    both fronts have, such as plain k-means, is covered but not dominated.
    """
    bound = 0.98 if name in REAL else 1.0
    strict = _stack(points[non_dominated_mask(*points.T)] for points in others.values())
    every = _stack(others.values())
    runs = ours if others else []
    return [
        Check(
            f"coverage of others' fronts by ours, {name}",
            [coverage(front, strict) for front in runs],
            ">=",
            bound,
        ),
        Check(
            f"the same with their dominated points, {name}",
            [coverage(front, every) for front in runs],
            ">=",
            bound,
        ),
        Check(
            f"proportion of our front that others dominate, {name}",
            [_dominated_share(front, every) for front in runs],
            "<=",
            0.01,
        ),
    ]


def _dominated_share(front, others):
    """Proportion of a front's points that others dominate by more than rounding errors."""
    costs, balances = others.T
    is_dominated = [
        (costs <= cost + ROUNDING) & (balances > balance + ROUNDING)
        | (costs < cost - ROUNDING) & (balances >= balance - ROUNDING)
        for cost, balance in front
    ]
    return float(np.any(is_dominated, axis=1).mean())


def _stack(fronts):
    return np.array(list(chain.from_iterable(fronts)))
