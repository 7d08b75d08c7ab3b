"""Ratios of rates on random problems, and in populations from which samples are redrawn."""

import warnings
from typing import NamedTuple

import numpy as np

from benchmarks.guarantees import populations, redraws
from benchmarks.guarantees.redraws import table
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from skfair import metrics
from skfair.classification import ConstrainedERMClassifier
from skfair.constraints import (
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    ErrorRateParity,
    FalsePositiveRateParity,
)

N_PROBLEMS, N_REDRAWS = 500, 40

CONSTRAINTS = (
    DemographicParity,
    EqualOpportunity,
    FalsePositiveRateParity,
    EqualizedOdds,
    ErrorRateParity,
)


class RandomProblem(NamedTuple):
    """Samples and the constraint of their ratio."""

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray
    weights: np.ndarray | None
    constraint: object


def draw_problem(seed):
    """A problem of random size, groups, base rates, ties, weights, constraint and ratio."""
    rng = np.random.default_rng([11, seed])
    n_samples, n_groups = int(rng.integers(40, 600)), int(rng.integers(2, 5))
    # The first samples contain each group and class once, so that every rate is defined.
    groups = rng.choice(n_groups, size=n_samples, p=rng.dirichlet(np.full(n_groups, 4.0)))
    groups[: 2 * n_groups] = np.repeat(np.arange(n_groups), 2)
    X = rng.normal(size=(n_samples, int(rng.integers(1, 6))))
    X[:, 0] += rng.uniform(0.0, 1.5) * groups
    if rng.random() < 0.3:
        X = np.round(X)
    scores = X @ rng.normal(size=X.shape[1]) + rng.normal(size=n_groups)[groups]
    scores += rng.logistic(size=n_samples)
    y = (scores > np.quantile(scores, rng.uniform(0.1, 0.9))).astype(int)
    y[: 2 * n_groups] = np.tile([0, 1], n_groups)
    weights = rng.uniform(0.2, 2.0, n_samples) if rng.random() < 0.3 else None
    make = CONSTRAINTS[rng.integers(len(CONSTRAINTS))]
    return RandomProblem(X, y, groups, weights, make(ratio=round(rng.uniform(0.5, 1.0), 2)))


def fit_problem(seed):
    """Fit a random problem; ratio by the public metric, status and accuracy."""
    X, y, groups, weights, constraint = draw_problem(seed)
    metadata = {"sensitive_features": groups, "sample_weight": weights}
    model = ConstrainedERMClassifier(constraint.set_params(min_group_size=1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the status reports infeasible bounds as well
        decisions = model.fit(X, y, **metadata).predict(X)
        ratio = getattr(metrics, constraint.ratio_metric)(y, decisions, **metadata)
    ratio = 1.0 if np.isnan(ratio) else ratio  # rates of 0 in all groups are equal
    return {
        "constraint": type(constraint).__name__,
        "required": constraint.ratio,
        "ratio": ratio,
        "met": bool(ratio >= constraint.ratio - 1e-12),
        "infeasible": model.status_ == "infeasible",
        "constant": len(np.unique(decisions)) == 1,
        "accuracy": np.mean(decisions == y),
        "constant accuracy": max(y.mean(), 1.0 - y.mean()),
    }


@smallest(populations, SIZE=2000)
@smallest(redraws, **redraws.reduce_cases(400, "ratio: 5 columns", "ratio: label shift"))
def rate_ratios(budget):
    """Ratios of rates on 500 random problems, and in redraws with confidence_level."""
    n_problems = max(2, round(N_PROBLEMS * budget.fraction))
    fits = [fit_problem(seed) for seed in range(n_problems)]
    wrong = [fit["met"] == fit["infeasible"] for fit in fits]
    records = [
        {"case": f"{name}, {n_problems} random problems", **_means(fits, name)}
        for name in [*sorted({fit["constraint"] for fit in fits}), "all"]
    ]
    n_redraws = max(2, round(N_REDRAWS * budget.fraction))
    rows, _ = table(["ratio: 5 columns", "ratio: label shift"], n_redraws)
    checks = [Check("random problems whose status is wrong", [sum(wrong)], "<=", 0)]
    for row in rows:
        allowed = round(1.0 - row["level"] + row["2 s.e."], 4)
        name = f"guaranteed and broken, {row['case']} at {row['level']:g}"
        checks.append(Check(name, [row["guaranteed and broken"]], "<=", allowed))
    return Report("Proportions of fits, and of redraws", records + rows, checks)


def _means(fits, name):
    """Means over the fits with a constraint, or over all."""
    fits = [fit for fit in fits if name in ("all", fit["constraint"])]
    columns = ("met", "infeasible", "constant", "accuracy", "constant accuracy")
    return {"fits": len(fits)} | {
        one: float(np.mean([fit[one] for fit in fits])) for one in columns
    }
