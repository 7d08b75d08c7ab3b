"""Perceptrons with constraints: training and test gaps, accuracy and time."""

import warnings
from itertools import product

import numpy as np

from benchmarks.erm_cases import case
from benchmarks.peers.constrained_erm import GAPS, TOLERANCE
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from benchmarks.timing import time_call
from skfair.classification import ConstrainedERMClassifier, ConstrainedMLPClassifier

DATA = ("Adult", "COMPAS", "Bank")


@smallest(DATA=("Adult",))
def mlp_tolerance(budget):
    """Perceptrons with a tolerance of .02: gaps of the decisions, accuracies, time."""
    records = []
    for name, constraint in product(DATA, GAPS):
        if constraint == "equal_opportunity":
            continue
        runs = [_run(case(name, seed), constraint, seed) for seed in range(min(3, budget.n_runs))]
        columns = ("s", "train", "train gap", "test", "test gap", "train linear", "test linear")
        figures = dict(zip(columns, np.mean(runs, axis=0), strict=True))
        worst = max(run[2] for run in runs)
        records.append(
            {"data": name, "constraint": constraint, **figures, "worst train gap": worst}
        )
    adult = records[0]
    checks = [
        Check("train gap", [r["worst train gap"] for r in records], "<=", TOLERANCE),
        Check("Adult, parity: test accuracy", [adult["test"]], ">=", 0.8435),
        Check("Adult, parity: test gap", [adult["test gap"]], "<=", 0.03),
        Check("Adult: CPU s", [r["s"] for r in records[:2]], "<=", 1.0),
    ]
    return Report("Perceptrons (64-32), tolerance .02, means over seeds", records, checks)


def _run(problem, constraint, seed):
    """Seconds, accuracy and gap on training and test data, and a linear model's accuracies."""
    train = problem.train
    gap = GAPS[constraint]
    model = ConstrainedMLPClassifier(constraint, tolerance=TOLERANCE, random_state=seed)
    figures = [time_call(_fit, model, train).seconds]
    for part in (train, problem.test):
        decisions = model.predict(part.X)
        figures.append(np.mean(decisions == part.y))
        figures.append(gap(part.y, decisions, sensitive_features=part.groups))
    linear = _fit(ConstrainedERMClassifier(constraint, tolerance=TOLERANCE), train)
    return [*figures, *(linear.score(part.X, part.y) for part in (train, problem.test))]


def _fit(model, train):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the gaps are reported instead
        return model.fit(train.X, train.y, sensitive_features=train.groups)
