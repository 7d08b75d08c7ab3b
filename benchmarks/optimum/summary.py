"""The command: every estimator and constraint against the optimum of small problems."""

import importlib

import numpy as np
from sklearn.base import BaseEstimator

from benchmarks.optimum import clusterings, linear_rules, losses, rankings
from benchmarks.optimum.comparison import summarise
from benchmarks.record_tables import store_of
from benchmarks.records import Run, load_or_run
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from skfair import constraints

CASES = [*clusterings.CASES, *linear_rules.CASES, *losses.CASES, *rankings.CASES]
N_SEEDS = 4
MODULES = ("classification", "cluster", "preprocessing", "ranking", "regression")
MAX_MEAN = {"FairKMeans": 0.001, "cluster_front(FairKMeans)": 0.05, "FairSpectralClustering": 0.01}
"""Required mean above the optimum, of clusterings; of other estimators .01."""


@smallest(N_SEEDS=1)
@smallest(linear_rules, N_SAMPLES=60)
@smallest(losses, N_STARTS=3)
@smallest(rankings, SIZES=(35, 40), N_QUERIES=8)
def optimum(budget):
    """Fits against the optimum of small problems: mean, worst, worse than trivial, wrong status."""
    runs = [
        Run(
            f"{case.estimator}: {case.requirement}",
            case.optimum,
            0,
            f"{N_SEEDS} seeds",
            lambda case=case: summarise(case, N_SEEDS),
        )
        for case in CASES
    ]
    records = list(load_or_run("optimum", runs, budget, store_of(budget)).values())
    checks = []
    for name in dict.fromkeys(record["estimator"] for record in records):
        of_estimator = [record for record in records if record["estimator"] == name]
        means = [one["mean above"] for one in of_estimator if np.isfinite(one["mean above"])]
        bound = MAX_MEAN.get(name, 0.01)
        checks.append(Check(f"mean above the optimum, {name}", means, "<=", bound))
        wrong = [one["wrong status"] for one in of_estimator]
        checks.append(Check(f"wrong status, {name}", wrong, "<=", 0))
    title = "Fits of small problems, and how far they are from the optimum"
    return Report(title, [*records, *list_missing()], checks)


def list_missing():
    """Public estimators and constraints without a row."""
    compared = {case.estimator for case in CASES}
    covered = {name for case in CASES for name in case.covers}
    names = [
        (name, "") for module in MODULES for name in list_estimators(module) if name not in compared
    ]
    names += [
        ("", name)
        for name in constraints.__all__
        if isinstance(getattr(constraints, name), type) and name not in {*covered, "Constraint"}
    ]
    return [
        {"estimator": estimator, "requirement": requirement, "optimum by": "not compared"}
        for estimator, requirement in names
    ]


def list_estimators(module):
    """Names of the public estimators of a module of skfair."""
    public = importlib.import_module(f"skfair.{module}")
    kinds = {name: getattr(public, name) for name in public.__all__}
    return sorted(
        name
        for name, kind in kinds.items()
        if isinstance(kind, type) and issubclass(kind, BaseEstimator) and hasattr(kind, "fit")
    )
