"""Ten groups of sex and race on Adult, some very small: their effect on the decisions."""

import warnings
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier

from benchmarks import data
from benchmarks.data import fetch_adult
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from benchmarks.timing import time_call
from skfair.classification import ConstrainedClassifierCV, ConstrainedERMClassifier
from skfair.constraints import DemographicParity

TOLERANCE = 0.03
N_SMALL = 4000
"""First rows of the training data, in which four groups have fewer than 30 samples."""

BOOSTING = HistGradientBoostingClassifier(early_stopping=False, random_state=0)


@smallest(data, MAX_SAMPLES=2000)
@smallest(N_SMALL=2000, BOOSTING=clone(BOOSTING).set_params(max_iter=5))
def small_groups(budget):
    """Demographic parity between ten groups: selection rate and accuracy against a plain fit."""
    bunch = fetch_adult()
    groups = bunch.data[["sex", "race"]]
    y = np.asarray(bunch.target == ">50K").astype(int)
    features = {
        "all": pd.get_dummies(bunch.data, dtype=float).to_numpy(),
        "without sex and race": pd.get_dummies(
            bunch.data.drop(columns=["sex", "race"]), dtype=float
        ).to_numpy(),
    }
    sizes = (N_SMALL,) if budget.n_runs == 1 else (N_SMALL, len(y))
    records = [
        {"samples": n, "columns": columns, "model": name}
        | _run(fit, features[columns][:n], y[:n], groups[:n], size)
        | {"min_group_size": size}
        for n, columns, (name, fit), size in product(sizes, features, MODELS.items(), ("auto", 1))
        if size == "auto" or (n == N_SMALL and columns != "all")
    ]
    auto = [record for record in records if record["min_group_size"] == "auto"]
    change = [abs(one["selected"] / one["selected, plain"] - 1.0) for one in auto]
    checks = [
        Check("relative change of the selection rate", change, "<=", 0.3),
        Check("largest gap of compared groups", [one["gap"] for one in auto], "<=", TOLERANCE),
    ]
    title = f"Adult, ten groups of sex and race, demographic parity at {TOLERANCE}"
    return Report(title, records, checks)


def _fit_linear(X, y, groups, **constraint):
    """Decisions of a linear model on its training data, and the model."""
    model = ConstrainedERMClassifier(tolerance=TOLERANCE, **constraint)
    model.fit(X, y, sensitive_features=groups)
    return model.predict(X), model


def _fit_boosting(X, y, groups, **constraint):
    """Out-of-fold decisions of gradient boosting, and the model."""
    model = ConstrainedClassifierCV(BOOSTING, tolerance=TOLERANCE, **constraint)
    model.fit(X, y, sensitive_features=groups)
    return (model.oof_decision_function_ > 0).astype(int), model


MODELS = {"linear": _fit_linear, "boosting": _fit_boosting}


def _run(fit, X, y, groups, size):
    """Selection rates, accuracies and gap of a model, with constraint and without."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        plain, _ = fit(X, y, groups, constraint=None)
        run = time_call(
            partial(fit, constraint=DemographicParity(min_group_size=size)), X, y, groups
        )
    decisions, model = run.result
    report = model.constraint_report_
    return {
        "selected, plain": np.mean(plain),
        "selected": np.mean(decisions),
        "accuracy, plain": np.mean(plain == y),
        "accuracy": np.mean(decisions == y),
        "groups compared": int(report["tolerance"].notna().sum()),
        "smallest compared": int(report.dropna(subset="tolerance")["n"].min()),
        "gap": report["gap"].max(),
        "status": model.status_,
        "s": run.seconds,
    }
