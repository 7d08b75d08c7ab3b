"""How good the fronts of `fair_kmeans_front` are."""

from itertools import chain

import numpy as np

from benchmarks.kmeans_cases import REAL, SYNTHETIC, problem, reference_fronts
from benchmarks.tables import Check, Report
from benchmarks.timing import timed
from skfair.cluster import fair_kmeans_front
from skfair.metrics import coverage, hypervolume, non_dominated

ROUNDING = 1e-12  # costs that differ by less are the same sum in another order
LEAST_HYPERVOLUME = {"Adult_K10": 0.960, "Adult_K5": 0.976, "Bank_K10": 0.984, "Bank_K5": 0.995}


def fronts(budget):
    """Hypervolume of fronts, and coverage of other methods' fronts.

    Synthetic problems have no box of known costs, so no hypervolume.
    """
    records, checks = [], []
    for name in (*REAL, *SYNTHETIC):
        case, others = problem(name), reference_fronts(name)
        ours = [_our_front(case, seed) for seed in range(budget.n_runs)]
        records += [_record(case, f"homotopy, seed {seed}", *run) for seed, run in enumerate(ours)]
        records += [_record(case, method, points) for method, points in others.items()]
        points = [run.result for run in ours]
        if name in REAL:
            areas = [_hypervolume(case, front) for front in points]
            checks.append(Check(f"hypervolume, {name}", areas, ">=", LEAST_HYPERVOLUME[name]))
        if name == "Adult_K10":
            costs = [_cost_at(front, 0.98 * case.balance) for front in points]
            checks.append(Check(f"cost at 98 % of the balance, {name}", costs, "<=", 0.3080))
        checks += _coverages(name, points, others)
    return Report("Fronts at 40 levels, real data at 5,000 rows", records, checks)


def _our_front(case, seed):
    def run():
        front = fair_kmeans_front(
            case.X, sensitive_features=case.codes, n_clusters=case.n_clusters, random_state=seed
        )
        return np.column_stack([front.cost, front.balance])

    return timed(run)


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
    return hypervolume(*points.T, **case.box)


def _cost_at(points, balance):
    cost, reached = points.T
    return cost[reached >= balance].min(initial=np.inf)


def _coverages(name, ours, others):
    """What our fronts cover of the other methods' points, and the reverse.

    Published lists also hold points that others of the same list dominate (the alternating
    algorithm keeps ties): they are left out of the one measure and counted in the other. What both
    have found, such as plain k-means, covers but does not beat.
    """
    asked = 0.98 if name in REAL else 1.0
    strict = _stack(points[non_dominated(*points.T)] for points in others.values())
    every = _stack(others.values())
    runs = ours if others else []
    return [
        Check(
            f"share of others' fronts that ours cover, {name}",
            [coverage(front, strict, tolerance=ROUNDING) for front in runs],
            ">=",
            asked,
        ),
        Check(
            f"the same with their dominated points, {name}",
            [coverage(front, every, tolerance=ROUNDING) for front in runs],
            ">=",
            asked,
        ),
        Check(
            f"share of our front that others beat, {name}",
            [_beaten(front, every) for front in runs],
            "<=",
            0.01,
        ),
    ]


def _beaten(front, others):
    """Share of a front's points that some other is no worse than in both, and better than in one.

    Better and worse are meant by more than rounding.
    """
    costs, balances = others.T
    beaten = [
        (costs <= cost + ROUNDING) & (balances > balance + ROUNDING)
        | (costs < cost - ROUNDING) & (balances >= balance - ROUNDING)
        for cost, balance in front
    ]
    return float(np.any(beaten, axis=1).mean())


def _stack(fronts):
    return np.array(list(chain.from_iterable(fronts)))
