"""The front of Ind and inaccuracy at the benchmark's tolerance of the loss gap, on ACSIncome."""

from functools import partial
from statistics import mean

from benchmarks.papers.stochastic_methods.acs_income_problem import DELTA
from benchmarks.papers.stochastic_methods.mlp_methods import (
    MEASURES,
    N_RUNS,
    OURS,
    PUBLISHED,
    _fit,
)
from benchmarks.records import Run, load_or_run
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from skfair.classification import ConstrainedMLPClassifier
from skfair.constraints import DemographicParity, LossParity

STUDY = "mlp-parity"
TOLERANCES = (0.08, 0.065, 0.05, 0.04, 0.03)  # of demographic parity, Ind
FIRST_SELECTION_SEED = 100
N_SELECTION = 5
LOW_IND = ("StGh", "ALM", "SSL-ALM")
"""The methods of the paper that end with the lowest Ind; their Ina is the highest."""

BOUNDS = {  # by half of Table 3: the smallest Ind and the smallest Ina of these methods
    part: {m: min(rows[name].means[i] for name in LOW_IND) for m, i in (("Ind", 0), ("Ina", 2))}
    for part, rows in PUBLISHED.items()
}


@smallest(TOLERANCES=(0.05,), N_SELECTION=1)
def mlp_parity(budget):
    """Our default with Ind as a second constraint against the Ind of the benchmark's Table 3.

    The benchmark bounds the loss gap by .005, and prints Ind, which nothing bounds. Here both are
    constraints. The tolerance of Ind is chosen on other seeds than those in the table and on
    training rows: it is the smallest whose mean inaccuracy on these is at most that of StGh, ALM
    and SSL-ALM in the training half of the paper's table. Printed methods follow in the order of
    their Ind.
    """
    n_runs = N_RUNS if budget.fraction == 1 else 1
    selection = range(FIRST_SELECTION_SEED, FIRST_SELECTION_SEED + N_SELECTION)
    chosen = choose(_fronts(selection, budget))
    fronts = _fronts(range(n_runs), budget)
    records = [
        {
            "method": f"{OURS}, Ind <= {tolerance:g}",
            "chosen": "yes" if tolerance == chosen else "",
            **_means(outcomes),
        }
        for tolerance, outcomes in fronts.items()
    ]
    records += [
        {
            "method": f"{name}, paper",
            **dict(zip(MEASURES, printed.means, strict=True)),
            "train Ind": PUBLISHED["train"][name].means[0],
            "train Ina": PUBLISHED["train"][name].means[2],
        }
        for name, printed in sorted(PUBLISHED["test"].items(), key=lambda item: item[1].means)
    ]
    title = "ACSIncome, Oklahoma: loss gap <= .005 and Ind <= tolerance, network 64-32, test rows"
    return Report(title, records, _checks(fronts.get(chosen, [])))


def _fronts(seeds, budget):
    """Outcomes of the runs with the given seeds by tolerance."""
    stored = load_or_run(STUDY, _runs(seeds), budget)
    fronts = {}
    for (_, tolerance, _), outcome in stored.items():
        fronts.setdefault(float(tolerance), []).append(outcome)
    return fronts


def _runs(seeds):
    """A run for each seed and tolerance; each seed has a split of its own."""
    for seed in seeds:
        for tolerance in TOLERANCES:
            bounds = [LossParity(tolerance=DELTA), DemographicParity(tolerance=tolerance)]
            model = ConstrainedMLPClassifier(bounds, random_state=seed)
            yield Run("Oklahoma", f"{tolerance:g}", seed, str(model), partial(_fit, model, seed))


def choose(fronts):
    """The smallest tolerance whose mean inaccuracy on training rows is at most the printed ones.

    Parameters
    ----------
    fronts : dict of float to list of dict
        Outcomes by tolerance.

    Returns
    -------
    tolerance : float
        The largest tolerance where none is as accurate.
    """
    accurate = [
        tolerance
        for tolerance, outcomes in fronts.items()
        if mean(outcome["train"]["Ina"] for outcome in outcomes) <= BOUNDS["train"]["Ina"]
    ]
    return min(accurate, default=max(TOLERANCES))


def _means(outcomes):
    """Means over runs on the test rows, and on the training rows where the print has them."""
    row = {measure: mean(outcome["test"][measure] for outcome in outcomes) for measure in MEASURES}
    training = {"train Ind": "Ind", "train Ina": "Ina", "train loss gap": "loss gap"}
    row |= {
        name: mean(outcome["train"][measure] for outcome in outcomes)
        for name, measure in training.items()
    }
    return row | {"test loss gap": mean(outcome["test"]["loss gap"] for outcome in outcomes)}


def _checks(outcomes):
    """Checks of the chosen point against the lowest printed Ind and the lowest Ina with it."""
    means = _means(outcomes) if outcomes else {}
    checks = [
        Check(f"ours: {measure}", [means[measure]] if means else [], "<=", bound)
        for measure, bound in BOUNDS["test"].items()
    ]
    gaps = [outcome["train"]["loss gap"] for outcome in outcomes]
    return [*checks, Check("ours: loss gap on the training rows", gaps, "<=", DELTA)]
