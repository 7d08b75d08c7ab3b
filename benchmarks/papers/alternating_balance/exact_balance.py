"""Maximal balance where the groups are 1 : 3."""

from math import inf

from benchmarks.kmeans_cases import problem
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from benchmarks.timing import median_seconds, run_alternately
from skfair.cluster import AlternatingFront, FairKMeans, cluster_front


@smallest()
def exact_balance(budget):
    """Cost at the balance of the data, compared with the best of the alternating algorithm."""
    case = problem("Syn_unequal_ds2")
    groups = {"sensitive_features": case.codes}

    def fit(seed):
        model = FairKMeans(case.n_clusters, min_balance=1, random_state=seed)
        return model.fit(case.X, sensitive_features=case.codes).labels_

    def last_point(seed):
        kmeans = FairKMeans(case.n_clusters, random_state=seed)
        return cluster_front(kmeans, case.X, **groups).labels(-1)

    def alternating_point(seed):
        algorithm = AlternatingFront.from_paper(case.name)
        kmeans = FairKMeans(case.n_clusters, random_state=seed)
        front = cluster_front(kmeans, case.X, **groups, algorithm=algorithm)
        return front.labels(-1)

    runs = run_alternately(
        {"FairKMeans": fit, "front": last_point, "alternating": alternating_point}, budget.n_runs
    )
    records = []
    costs = {}
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
