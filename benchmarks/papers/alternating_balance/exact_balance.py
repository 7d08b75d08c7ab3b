"""Maximal balance where the groups are 1 : 3."""

from math import inf

from benchmarks.kmeans_cases import problem
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from benchmarks.timing import median_seconds, run_alternately
from skfair.cluster import AlternatingFront, FairKMeans, fair_kmeans_front


@smallest()
def exact_balance(budget):
    """Cost at the balance of the data, compared with the best of the alternating algorithm."""
    case = problem("Syn_unequal_ds2")
    arguments = {"sensitive_features": case.codes, "n_clusters": case.n_clusters}

    def fit(seed):
        model = FairKMeans(case.n_clusters, min_balance=1, random_state=seed)
        return model.fit(case.X, sensitive_features=case.codes).labels_

    def last_point(seed):
        return fair_kmeans_front(case.X, **arguments, random_state=seed).labels(-1)

    def alternating_point(seed):
        algorithm = AlternatingFront.from_paper(case.name)
        front = fair_kmeans_front(case.X, **arguments, algorithm=algorithm, random_state=seed)
        return front.labels(-1)

    runs = run_alternately(
        {"FairKMeans": fit, "front": last_point, "alternating": alternating_point}, budget.n_runs
    )
    records, costs = [], {}
    for name, calls in runs.items():
        objectives = [case.objectives(run.result) for run in calls]
        exact = [cost for cost, balance in objectives if balance >= case.balance * (1 - 1e-12)]
        costs[name] = exact or [inf]
        records.append(
            {
                "method": name,
                "runs": len(objectives),
                "exactly balanced": len(exact),
                "lowest cost": min(costs[name]),
                "highest cost": max(costs[name]),
                "CPU s": median_seconds(calls),
            }
        )
    best = min(costs["alternating"])
    checks = [
        Check(f"cost at exact balance, {name}", costs[name], "<=", best * (1 + 1e-12))
        for name in ("FairKMeans", "front")
    ]
    return Report("Maximal balance, Syn_unequal_ds2, 2 clusters", records, checks)
