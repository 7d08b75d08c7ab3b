"""Table 1 of Liu and Vicente, and the fronts of its Figures 1, 3 and 5 to 8.

The fronts are drawn into `FOLDER` and kept beside the pictures, where other benchmarks find them.
"""

import numpy as np

from benchmarks.kmeans_cases import FILED_AS, MADE_HERE, REAL, SYNTHETIC, problem
from benchmarks.papers.alternating_balance.fronts import ROUNDING
from benchmarks.peers.kmeans_methods import vfairkm_front
from benchmarks.tables import FOLDER, Report
from benchmarks.timing import timed
from skfair.cluster import AlternatingFront, fair_kmeans_front
from skfair.metrics import coverage, non_dominated

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
    "Syn_unequal_ds2_figure_7": 0,
    "Adult_K10": 3260,
    "Bank_K10": 2440,
    "Adult_K5": 6190,
    "Bank_K5": 4790,
}
FIGURE_7 = "Syn_unequal_ds2_figure_7"
"""Preset of Figure 7 (a): fewer starts and pairs than Figure 1 has on the same data."""

N_WEIGHTS = 12  # of the fairness error; the paper does not say how many


KEPT_AS = {"alternating": "alg3_local", "VfairKM": "vfairkm"}  # names in the file of fronts


def table_1(budget):
    """Table 1 and the fronts of Figures 1, 3, 5 to 8 of the alternating algorithm's paper.

    Figure 7 (a) shows the data of Figure 1 again, with fewer starts and pairs.
    """
    for front in _methods(problem("Syn_unequal_ds2"), 0.01).values():
        front()  # warms up
    runs = {
        name: {
            method: timed(front) for method, front in _methods(_case(name), budget.share).items()
        }
        for name in (*SYNTHETIC, FIGURE_7, *REAL)
    }
    FOLDER.mkdir(exist_ok=True)
    fronts = {
        name: {method: run.result for method, run in of_name.items()}
        for name, of_name in runs.items()
    }
    _draw(fronts)
    if budget.share == 1:
        _keep(fronts)
    records = [_record(name, of_name) for name, of_name in runs.items()]
    title = (
        "CPU seconds per non-dominated clustering, ours beside Table 1; the best balance reached, "
        "of what\nthe data have, and the share of the others' fronts that the homotopy's covers"
    )
    return Report(title, records, [])


def _case(name):
    """The problem of a preset."""
    return problem("Syn_unequal_ds2" if name == FIGURE_7 else name)._replace(name=name)


def _record(name, runs):
    """Points, seconds and reach of the methods on one problem."""
    record, data_balance = {"problem": name}, _case(name).balance
    others = np.vstack([run.result for method, run in runs.items() if method != "homotopy"])
    for method, run in runs.items():
        record[f"{method} points"] = len(run.result)
        record[f"{method} s/point"] = run.seconds / len(run.result)
        record[f"{method} balance"] = run.result[:, 1].max() / data_balance
    record["paper SAfairKM"], record["paper VfairKM"] = PAPER.get(name, (np.nan, np.nan))
    record["covered"] = coverage(runs["homotopy"].result, others, tolerance=ROUNDING)
    return record


def _draw(fronts):
    """All methods of a problem in one picture, balance below cost as in the paper."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(3, 3, figsize=(14, 13), layout="constrained")
    for (name, of_methods), ax in zip(fronts.items(), axes.ravel(), strict=True):
        for (method, points), mark in zip(of_methods.items(), ".x+", strict=True):
            cost, balance = points.T
            ax.plot(cost, balance, mark, label=method)
        ax.set(title=name, xlabel="cost", ylabel="balance")
    axes[0, 0].legend()
    figure.savefig(FOLDER / "kmeans_fronts.png", dpi=120)
    plt.close(figure)


def _keep(fronts):
    """Write the fronts of the others to the file that `benchmarks.kmeans_cases` looks into."""
    kept = {
        f"{FILED_AS.get(name, name)}/{KEPT_AS[method]}": points
        for name, of_methods in fronts.items()
        for method, points in of_methods.items()
        if method in KEPT_AS
    }
    np.savez_compressed(MADE_HERE, **kept)


def _methods(case, share):
    """The front of each method, (n_points, 2): cost and balance."""
    arguments = {"sensitive_features": case.codes, "n_clusters": case.n_clusters}
    paper = AlternatingFront.from_paper(case.name)
    paper.set_params(n_iter=max(1, round(share * paper.n_iter)))
    n_weights = max(2, round(share * N_WEIGHTS))

    def homotopy():
        return _points(fair_kmeans_front(case.X, **arguments, random_state=0))

    def alternating():
        return _points(fair_kmeans_front(case.X, **arguments, algorithm=paper, random_state=0))

    def vfairkm():
        weights = np.linspace(0, MU_MAX[case.name], n_weights)
        labels = vfairkm_front(case.X, case.codes, case.n_clusters, weights, random_state=0)
        points = np.array([case.objectives(row) for row in labels])
        return points[non_dominated(*points.T)]

    return {"homotopy": homotopy, "alternating": alternating, "VfairKM": vfairkm}


def _points(front):
    return np.column_stack((front.cost, front.balance))
