"""Figures 3 to 8 of the paper on partial fairness: densities of scores, by tolerance.

Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of percentiles by
difference-of-convex constraints", arXiv:2505.12530. The figures have no numbers. The statements of
the text are checked.
"""

import numpy as np

from benchmarks import data
from benchmarks.papers.partial_fairness import tuned_idca
from benchmarks.papers.partial_fairness.cases import case, evaluate, fit_as_printed
from benchmarks.papers.partial_fairness.figures import scores_by_kappa
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report, save_figure
from skfair.metrics import partial_demographic_parity_difference

TOLERANCES = {  # kappas of the columns after the first, which is unconstrained, and the figure
    "statistical_parity": {
        "a9a": ((0.1, 0.05, 0.01), "figure_3"),
        "bank, 54 columns": ((0.3, 0.08, 0.01), "figure_4"),
        "law school, 12 columns": ((0.15, 0.1, 0.005), "figure_5"),
    },
    "demographic_parity": {
        "a9a": ((0.15, 0.05, 0.005), "figure_6"),
        "bank": ((0.1, 0.05, 0.01), "figure_7"),
        "law school": ((0.1, 0.04, 0.005), "figure_8"),
    },
}
UNCONSTRAINED = 1.0  # a tolerance that never binds


@smallest(data, MAX_SAMPLES=3000)
@smallest(tuned_idca, INNER_ITER=(5,), EPSILONS=(5e-3,))
def partial_densities(budget):
    """Figures 3-8 on partial fairness: densities of scores by tolerance, drawn.

    Figures 3 to 5 have IDCA on the first split, tuned as in partial-tuned, with kappa as printed.
    These fits took two to six minutes each and are kept in benchmarks/papers/recorded. Figures 6 to
    8 have fits of the default solver.
    """
    parity = TOLERANCES["statistical_parity"]
    coefs = tuned_idca.first_split({name: kappas for name, (kappas, _) in parity.items()}, budget)
    records = []
    for name, (kappas, figure) in parity.items():
        scores = scores_by_kappa(case(name, 0), kappas, coefs)
        records += _figure("statistical_parity", case(name, 0), scores, figure)
    for name, (kappas, figure) in TOLERANCES["demographic_parity"].items():
        scores = _scores_of_fits(case(name, 0), (UNCONSTRAINED, *kappas))
        records += _figure("demographic_parity", case(name, 0), scores, figure)
    decreases = [
        before["difference"] - after["difference"]
        for before, after in zip(records, records[1:], strict=False)
        if before["figure"] == after["figure"]
    ]
    title = (
        "Figures 3 to 8: difference of the groups in the interval, which the densities show (of "
        "shares above\nany threshold in 3 to 5, above 0 in 6 to 8; in units of whole groups; test "
        "rows of one split; kappa 1\nnever binds). As in the paper it falls with kappa."
    )
    check = Check("Figures 3 to 8, decrease of the difference with kappa", decreases, ">=", -0.005)
    return Report(title, records, [check])


def _scores_of_fits(problem, kappas):
    """Test scores of the default solver on (21) by tolerance."""
    models = {kappa: fit_as_printed(problem, kappa, "demographic_parity") for kappa in kappas}
    rows = problem.test
    return {
        kappa: model.decision_function(rows.X, sensitive_features=rows.groups)
        for kappa, model in models.items()
    }


def _figure(criterion, problem, scores_by_kappa, name):
    """Draw a row of densities; records of their differences."""
    import matplotlib.pyplot as plt

    from skfair.plotting import ScoreDistributionDisplay

    n_columns = len(scores_by_kappa)
    shape = {"squeeze": False, "figsize": (4.5 * n_columns, 4)}
    figure, axes = plt.subplots(1, n_columns, **shape)
    records = []
    rows = problem.test
    for (kappa, scores), ax in zip(scores_by_kappa.items(), axes[0], strict=True):
        ScoreDistributionDisplay.from_predictions(
            scores, sensitive_features=rows.groups, interval=problem.interval, ax=ax
        )
        title = "unconstrained" if kappa == UNCONSTRAINED else f"kappa {kappa}"
        ax.legend(frameon=False)  # inside the axes, below the title
        ax.set(title=title, xlim=np.quantile(scores, [0.005, 0.999]))
        records.append(
            {
                "figure": name,
                "data": problem.name,
                "criterion": criterion,
                "kappa": kappa,
                "difference": _difference(criterion, scores, problem),
                "accuracy": evaluate(scores, rows, problem.interval).accuracy,
            }
        )
    save_figure(figure, f"{name}.png", bbox_inches="tight")
    return records


def _difference(criterion, scores, problem):
    """The public metric on the test rows, in units of whole groups."""
    rows, interval = problem.test, problem.interval
    if criterion == "statistical_parity":
        return 1 - evaluate(scores, rows, interval).fairness
    return partial_demographic_parity_difference(
        scores, sensitive_features=rows.groups, interval=interval, scale="raw"
    )
