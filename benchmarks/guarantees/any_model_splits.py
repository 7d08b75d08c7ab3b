"""How far gaps of new people scatter over splits, and around what: any classifier, constrained."""

from functools import partial
from itertools import product

import numpy as np

from benchmarks.erm_cases import case
from benchmarks.peers.any_model import MUST_REACH, Recalled, base, drawn_gaps, head, outcome
from benchmarks.peers.constrained_erm import TOLERANCE
from benchmarks.records import Run, recorded
from benchmarks.tables import Check, Report

STUDY = "any-model-splits"
N_SPLITS = 20
FIRST_SEED = 10
"""As many splits as any-model has, and the next ones; no choice was made by looking at them."""

CONSTRAINTS_OF = {
    "Adult": ("equalized_odds", "demographic_parity"),
    "Bank": ("demographic_parity",),
}
"""Data whose fits take seconds -> what is asked of them."""

PROMISES = {"no promise": None, "promised .95": 0.95}


def any_model_splits(budget):
    """Gaps that boosting shows to new people over twenty splits, with and without a promise.

    The gap of a single split is mostly sampling noise where a group has few people of a class.
    "drawn" is the mean gap of as many people drawn from those of the fit, by the scores of models
    that had not seen them: what the tolerance lets one expect of a sample of that size. "s.e." is
    that of the mean over the splits, as if they were of different people. Where new people are to
    show less than the tolerance, it takes a promise, and the figures are asked of it. Runs are kept
    in benchmarks/records: a command that was stopped goes on where it stood.
    """
    n_splits = N_SPLITS if budget.share == 1 else 2
    found = recorded(STUDY, _runs(n_splits), budget)
    records, checks = [], []
    for name, constraints in CONSTRAINTS_OF.items():
        of_name = [record for (data, _, _), record in found.items() if data == name]
        for constraint, way in product(constraints, PROMISES) if of_name else ():
            row = _means([record[constraint][way] for record in of_name])
            records.append({"data": name, "constraint": constraint, "way": way} | row)
            accuracy, gap = MUST_REACH[name, constraint]
            if (way == "no promise") == (gap >= TOLERANCE):
                checks += _reached(f"{name}, {constraint}, {way}", row, accuracy, gap)
    return Report("HistGradientBoosting under a tolerance of .02, new people", records, checks)


def _reached(what, row, accuracy, gap):
    yield Check(f"accuracy of new people, {what}", [row["accuracy"]], ">=", accuracy)
    yield Check(f"gap of new people, {what}", [row["gap"]], "<=", gap)
    yield Check(f"smallest price, {what}", [row["price"]], ">=", 1e-6)


def _runs(n_splits):
    for seed, name in product(range(FIRST_SEED, FIRST_SEED + n_splits), CONSTRAINTS_OF):
        yield Run(name, "head", seed, f"{TOLERANCE}, {base()}", partial(_of_split, name, seed))


def _of_split(name, seed):
    """Constraint -> way -> what came of it; the classifiers below all heads are the same."""
    split = case(name, seed, blind=True)
    found = {
        constraint: {way: _measured(split, constraint, level) for way, level in PROMISES.items()}
        for constraint in CONSTRAINTS_OF[name]
    }
    Recalled.forget()
    return found


def _measured(split, constraint, level):
    model = head(split.train, constraint, estimator=Recalled(base()), confidence_level=level)
    accuracy, gap = outcome(model.predict(split.test.X), split.test, constraint)
    drawn = drawn_gaps(model, split.train, len(split.test.y), constraint)
    return {
        "accuracy": float(accuracy),
        "gap": float(gap),
        "drawn": float(np.mean(drawn)),
        "certain": float(model.guarantee_probability_),
        "price": float(np.abs(model.multipliers_).max()),
    }


def _means(outcomes):
    """Means over splits, the standard error of the mean gap, and the smallest price."""
    means = {key: np.mean([one[key] for one in outcomes]) for key in outcomes[0]}
    error = np.std([one["gap"] for one in outcomes]) / np.sqrt(len(outcomes))
    price = min(one["price"] for one in outcomes)
    return {"splits": len(outcomes)} | means | {"s.e.": error, "price": price}
