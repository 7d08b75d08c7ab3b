"""Figures 3 to 8 of the paper on partial fairness: densities of scores, by tolerance.

Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of percentiles by
difference-of-convex constraints", arXiv:2505.12530. It prints no numbers beside these figures; what
it says of them is checked.
"""

import numpy as np

from benchmarks.papers.partial_fairness.cases import NAMES, case, fit_as_printed, judge
from benchmarks.tables import FOLDER, Check, Report
from skfair.metrics import partial_demographic_parity_difference

TOLERANCES = {  # kappas of the columns after the first, which is unconstrained, and the figure
    "statistical_parity": {
        "a9a": ((0.1, 0.05, 0.01), "figure_3"),
        "bank": ((0.3, 0.08, 0.01), "figure_4"),
        "law school": ((0.15, 0.1, 0.005), "figure_5"),
    },
    "demographic_parity": {
        "a9a": ((0.15, 0.05, 0.005), "figure_6"),
        "bank": ((0.1, 0.05, 0.01), "figure_7"),
        "law school": ((0.1, 0.04, 0.005), "figure_8"),
    },
}
UNCONSTRAINED = 1.0  # a tolerance that binds nobody


def partial_densities(budget):
    """Figures 3-8 on partial fairness: densities of scores by tolerance, drawn."""
    FOLDER.mkdir(exist_ok=True)
    records = []
    for criterion, of_data in TOLERANCES.items():
        for name in NAMES:
            kappas, figure = of_data[name]
            records += _figure(criterion, case(name, 0), (UNCONSTRAINED, *kappas), figure)
    falls = [
        before["difference"] - after["difference"]
        for before, after in zip(records, records[1:], strict=False)
        if before["figure"] == after["figure"]
    ]
    title = (
        "Figures 3 to 8: what the densities are to show, the difference of the groups in the "
        "interval (of\nshares above any threshold in 3 to 5, above 0 in 6 to 8; in units of whole "
        "groups; test rows of one\nsplit; kappa 1 binds nobody). As in the paper it falls with "
        "kappa."
    )
    check = Check("Figures 3 to 8, fall of the difference with kappa", falls, ">=", -0.005)
    return Report(title, records, [check])


def _figure(criterion, problem, kappas, name):
    """Draw a row of densities, and say how unequal they are."""
    import matplotlib.pyplot as plt

    from skfair.plotting import GroupScoreDisplay

    figure, axes = plt.subplots(1, len(kappas), figsize=(4.5 * len(kappas), 4))
    records, rows = [], problem.test
    for kappa, ax in zip(kappas, axes, strict=True):
        model = fit_as_printed(problem, kappa, criterion)
        scores = model.decision_function(rows.X, sensitive_features=rows.groups)
        GroupScoreDisplay.from_predictions(
            scores, sensitive_features=rows.groups, interval=problem.interval, ax=ax
        )
        title = "unconstrained" if kappa == UNCONSTRAINED else f"kappa {kappa}"
        ax.set(title=title, xlim=np.quantile(scores, [0.005, 0.999]))
        records.append(
            {
                "figure": name,
                "data": problem.name,
                "criterion": criterion,
                "kappa": kappa,
                "difference": _difference(criterion, scores, problem),
                "accuracy": judge(scores, rows, problem.interval).accuracy,
            }
        )
    figure.savefig(FOLDER / f"{name}.png", dpi=120, bbox_inches="tight")
    plt.close(figure)
    return records


def _difference(criterion, scores, problem):
    """The public metric on the test rows, in units of whole groups."""
    rows, interval = problem.test, problem.interval
    if criterion == "statistical_parity":
        return 1 - judge(scores, rows, interval).fairness
    return partial_demographic_parity_difference(
        scores, sensitive_features=rows.groups, interval=interval, scale="raw"
    )
