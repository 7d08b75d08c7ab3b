"""Partial parity fits of 2,000 samples: gap and AUC on new data, with and without a guarantee."""

import warnings

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.erm_cases import case
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from skfair.classification import PartialParityClassifier
from skfair.metrics import partial_statistical_parity_difference

DATA = ("law school", "COMPAS", "Adult")
SETTINGS = {(0.7, 1.0): 0.05, (0.1, 0.5): 0.05, (0.0, 0.3): 0.2}
"""Tolerances by interval."""

LEVELS = (None, 0.8)
N_TRAIN, FIRST_SEED = 2000, 200


@smallest(DATA=("COMPAS",), SETTINGS={(0.0, 0.3): 0.2}, N_TRAIN=600)
def partial_gaps(budget):
    """Gap of partial parity on new data less the tolerance, by default and with a guarantee."""
    records = [
        {"data": name, "interval": str(interval), "confidence_level": level}
        | _mean_outcomes(name, interval, level, budget.n_runs)
        for name in DATA
        for interval in SETTINGS
        for level in LEVELS
    ]
    title = f"PartialParityClassifier on {N_TRAIN} samples: mean gap less tolerance, and AUC"
    return Report(title, records, _checks(records))


def _mean_outcomes(name, interval, level, n_runs):
    """Means over splits."""
    runs = [_outcome(name, FIRST_SEED + k, interval, level) for k in range(n_runs)]
    shown = [run["new gap"] for run in runs if run["shown"]]
    means = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
    return means | {"new gap if shown": float(np.mean(shown)) if shown else np.nan}


def _outcome(name, seed, interval, level):
    """One fit, and what training and test samples show of it."""
    problem = case(name, seed)
    X, y, groups = (column[:N_TRAIN] for column in problem.train)
    tolerance = SETTINGS[interval]
    model = PartialParityClassifier(interval=interval, tolerance=tolerance, confidence_level=level)
    with warnings.catch_warnings():  # statuses and verdicts are in the table
        warnings.simplefilter("ignore")
        model.fit(X, y, sensitive_features=groups)
    test = problem.test
    scores, new_scores = model.decision_function(X), model.decision_function(test.X)
    gap, new_gap = (
        partial_statistical_parity_difference(one, sensitive_features=of, interval=interval)
        for one, of in ((scores, groups), (new_scores, test.groups))
    )
    return {
        "kept": model.constraint_violation_ == 0.0,
        "shown": model.verdict_ == "shown",
        "training gap": gap - tolerance,
        "new gap": new_gap - tolerance,
        "training AUC": roc_auc_score(y, scores),
        "new AUC": roc_auc_score(test.y, new_scores),
    }


def _checks(records):
    """No fit ranks at random, and a guarantee lowers the gap on new data."""
    plain, sure = ([one for one in records if one["confidence_level"] == level] for level in LEVELS)
    gaps = (np.mean([one["new gap"] for one in some]) for some in (sure, plain))
    return [
        Check("training AUC by default", [one["training AUC"] for one in plain], ">=", 0.55),
        Check("mean gap on new data, guarantee less default", [np.subtract(*gaps)], "<=", 0.0),
    ]
