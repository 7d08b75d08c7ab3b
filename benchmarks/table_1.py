"""Table 1 of Liu and Vicente: CPU seconds per non-dominated clustering."""

import numpy as np

from benchmarks.cases import REAL, SYNTHETIC, problem
from benchmarks.peers import vfairkm_front
from benchmarks.tables import Report
from benchmarks.timing import timed
from skfair.cluster import AlternatingFront, fair_kmeans_front
from skfair.metrics import non_dominated

PAPER = {  # SAfairKM, VfairKM: CPU seconds per point
    "Syn_equal_ds1": (0.80, 1.06),
    "Syn_unequal_ds1": (0.81, 0.98),
    "Syn_equal_ds2": (0.70, 1.29),
    "Syn_unequal_ds2": (0.80, 0.10),
    "Adult_K10": (18.52, 40.43),
    "Bank_K10": (59.12, 76.29),
    "Adult_K5": (14.88, 15.08),
    "Bank_K5": (11.97, 50.31),
}
MU_MAX = {  # Appendices C and D: the largest weight of the fairness error
    "Syn_equal_ds1": 202,
    "Syn_unequal_ds1": 223,
    "Syn_equal_ds2": 60,
    "Syn_unequal_ds2": 0,
    "Adult_K10": 3260,
    "Bank_K10": 2440,
    "Adult_K5": 6190,
    "Bank_K5": 4790,
}
N_WEIGHTS = 12  # of the fairness error; the paper does not say how many


def table_1(budget):
    """Table 1 of the alternating algorithm's paper: CPU seconds per non-dominated clustering."""
    for front in _methods(problem("Syn_unequal_ds2"), 0.01).values():
        front()  # warms up
    records = []
    for name in (*SYNTHETIC, *REAL):
        case = problem(name)
        record = {"problem": name}
        for method, front in _methods(case, budget.share).items():
            run = timed(front)
            record[f"{method} points"] = len(run.result)
            record[f"{method} s/point"] = run.seconds / len(run.result)
        record["paper SAfairKM"], record["paper VfairKM"] = PAPER[name]
        records.append(record)
    return Report("CPU seconds per non-dominated clustering, ours beside Table 1", records, [])


def _methods(case, share):
    """The points of a front of each method."""
    arguments = {"sensitive_features": case.codes, "n_clusters": case.n_clusters}
    paper = AlternatingFront.from_paper(case.name)
    paper.set_params(n_iter=max(1, round(share * paper.n_iter)))
    n_weights = max(2, round(share * N_WEIGHTS))

    def homotopy():
        return fair_kmeans_front(case.X, **arguments, random_state=0).cost

    def alternating():
        return fair_kmeans_front(case.X, **arguments, algorithm=paper, random_state=0).cost

    def vfairkm():
        weights = np.linspace(0, MU_MAX[case.name], n_weights)
        labels = vfairkm_front(case.X, case.codes, case.n_clusters, weights, random_state=0)
        cost, balance = np.transpose([case.objectives(row) for row in labels])
        return cost[non_dominated(cost, balance)]

    return {"homotopy": homotopy, "alternating": alternating, "VfairKM": vfairkm}
