"""Held-out gaps of a constrained classifier over splits: mean, scatter and sampling noise."""

from functools import partial
from itertools import product

import numpy as np

from benchmarks.erm_cases import case
from benchmarks.peers import any_model
from benchmarks.peers.any_model import BOUNDS, CachedFit, base, fit_final_model, noise_gaps, outcome
from benchmarks.peers.constrained_erm import TOLERANCE
from benchmarks.records import Run, load_or_run
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report

STUDY = "any-model-splits"
N_SPLITS = 20
FIRST_SEED = 10
"""The splits of any-model and the next ones; none of them was used for any choice."""

CONSTRAINTS_OF = {
    "Adult": ("equalized_odds", "demographic_parity"),
    "Bank": ("demographic_parity",),
}
"""Data whose fits take seconds -> constraints."""

GUARANTEES = {"none": None, ".95": 0.95}


@smallest(any_model, N_TREES=5)
@smallest(CONSTRAINTS_OF={"Adult": ("demographic_parity",)})
def any_model_splits(budget):
    """Held-out gaps of boosting over twenty splits, with and without a guarantee.

    The gap of a single split is mostly sampling noise where a group has few samples of a class.
    "gap of noise" is the mean gap of samples of the same size that are drawn from the training
    data, by out-of-fold scores. It is the gap that the tolerance lets one expect of a sample of
    that size. "s.e." is the standard error of the mean over the splits, as if they had no samples
    in common. Where the bound of the held-out gap is below the tolerance, it is checked of the fits
    with a guarantee. Runs are stored in benchmarks/records: a stopped command resumes.
    """
    n_splits = N_SPLITS if budget.fraction == 1 else 2
    stored = load_or_run(STUDY, _runs(n_splits), budget)
    records, checks = [], []
    for name, constraints in CONSTRAINTS_OF.items():
        splits = [record for (data, _, _), record in stored.items() if data == name]
        for constraint, level in product(constraints, GUARANTEES) if splits else ():
            row = _means([record[constraint][level] for record in splits])
            records.append({"data": name, "constraint": constraint, "guarantee": level} | row)
            accuracy, gap = BOUNDS[name, constraint]
            if (level == "none") == (gap >= TOLERANCE):
                what = f"{name}, {constraint}, guarantee {level}"
                checks += _checks(what, row, accuracy, gap)
    title = "HistGradientBoosting under a tolerance of .02, held-out data"
    return Report(title, records, checks)


def _checks(what, row, accuracy, gap):
    yield Check(f"held-out accuracy, {what}", [row["accuracy"]], ">=", accuracy)
    yield Check(f"held-out gap, {what}", [row["gap"]], "<=", gap)
    yield Check(f"smallest multiplier, {what}", [row["multiplier"]], ">=", 1e-6)


def _runs(n_splits):
    for seed, name in product(range(FIRST_SEED, FIRST_SEED + n_splits), CONSTRAINTS_OF):
        make = partial(_evaluate_split, name, seed)
        yield Run(name, "final model", seed, f"{TOLERANCE}, {base()}", make)


def _evaluate_split(name, seed):
    """Figures by constraint and guarantee; all final models share the classifiers below them."""
    split = case(name, seed, blind=True)
    figures = {
        constraint: {
            name: _evaluate(split, constraint, level) for name, level in GUARANTEES.items()
        }
        for constraint in CONSTRAINTS_OF[name]
    }
    CachedFit.clear()
    return figures


def _evaluate(split, constraint, level):
    estimator = CachedFit(base())
    model = fit_final_model(split.train, constraint, estimator=estimator, confidence_level=level)
    accuracy, gap = outcome(model.predict(split.test.X), split.test, constraint)
    noise = noise_gaps(model, split.train, len(split.test.y), constraint)
    return {
        "accuracy": float(accuracy),
        "gap": float(gap),
        "gap of noise": float(np.mean(noise)),
        "probability": np.nan if level is None else model.guarantee_probability_,
        "multiplier": float(np.abs(model.multipliers_).max()),
    }


def _means(outcomes):
    """Means over splits, the standard error of the mean gap, and the smallest multiplier."""
    means = {key: np.mean([one[key] for one in outcomes]) for key in outcomes[0]}
    error = np.std([one["gap"] for one in outcomes]) / np.sqrt(len(outcomes))
    multiplier = min(one["multiplier"] for one in outcomes)
    return {"splits": len(outcomes)} | means | {"s.e.": error, "multiplier": multiplier}
