"""Several classes: largest gap of any class, compared with that of the plain classifier."""

import warnings
from itertools import product

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.data import fetch_law_school, fetch_thyroid
from benchmarks.peers.constrained_erm import GAPS
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from benchmarks.timing import time_call
from skfair.classification import ConstrainedClassifierCV

KNOWN_AT_ADMISSION = ["lsat", "ugpa", "fulltime", "fam_inc", "tier"]


def _thirds_of_grades():
    """Thirds of the grades after the first year, and features known at admission."""
    bunch = fetch_law_school(drop_sensitive=True)
    thirds = pd.qcut(bunch.data["zfygpa"], 3, labels=["low", "middle", "high"])
    return bunch.data[KNOWN_AT_ADMISSION], thirds, bunch.sensitive_features


def _thyroid():
    bunch = fetch_thyroid(sensitive="sex", drop_sensitive=True)
    return bunch.data, bunch.target, bunch.sensitive_features


CASES = {  # data, constraint: fetch, tolerance
    ("law school, thirds", "demographic_parity"): (_thirds_of_grades, 0.05),
    ("law school, thirds", "equalized_odds"): (_thirds_of_grades, 0.05),
    ("Thyroid", "demographic_parity"): (_thyroid, 0.01),
}

BASES = {
    "multinomial": make_pipeline(StandardScaler(), LogisticRegression()),
    "boosting": HistGradientBoostingClassifier(max_iter=50, early_stopping=False, random_state=0),
}


@smallest(BASES=BASES | {"boosting": HistGradientBoostingClassifier(max_iter=5, random_state=0)})
def several_classes(budget):
    """Three classes, linear and boosted: out-of-fold and held-out gaps of each class's rates."""
    records = []
    for (key, (fetch, tolerance)), base in product(CASES.items(), BASES):
        columns = [np.asarray(fetched) for fetched in fetch()]
        runs = [
            _run(columns, key[1], tolerance, BASES[base], seed) for seed in range(budget.n_runs)
        ]
        means = {name: np.mean([run[name] for run in runs]) for name in runs[0]}
        largest = {"out-of-fold gap": max(run["out-of-fold gap"] for run in runs)}
        problem = dict(zip(("data", "constraint"), key, strict=True)) | {"tolerance": tolerance}
        records.append(problem | {"base": base} | means | largest)
    excess = [record["out-of-fold gap"] - record["tolerance"] for record in records]
    change = [record["held-out gap"] - record["held-out gap, plain"] for record in records]
    plain = [record["plain gap / tolerance"] for record in records]
    checks = [
        Check("largest out-of-fold gap, less the tolerance", excess, "<=", 1e-12),
        Check("held-out gap, less that of the plain fit", change, "<=", 0.0),
        Check("training gap of the plain fit / tolerance", plain, ">=", 1.0),
    ]
    return Report("Largest gap of any of three classes, means over splits", records, checks)


def _run(columns, constraint, tolerance, base, seed):
    """Accuracy and gaps of a classifier and of its final model, on one split."""
    X, X_new, y, y_new, groups, groups_new = train_test_split(
        *columns, test_size=0.3, random_state=seed, stratify=columns[1]
    )

    def gap(y, decisions, groups):
        metric = GAPS[constraint]
        return max(
            metric(y == label, decisions == label, sensitive_features=groups)
            for label in np.unique(y)
        )

    def fit():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = ConstrainedClassifierCV(base, constraint, tolerance=tolerance)
            return model.fit(X, y, sensitive_features=groups)

    plain = time_call(base.fit, X, y)
    fair = time_call(fit)
    model = fair.result
    out_of_fold = model.classes_[model.oof_decision_function_.argmax(axis=1)]
    decisions, plain_decisions = (run.result.predict(X_new) for run in (fair, plain))
    return {
        "accuracy, plain": np.mean(plain_decisions == y_new),
        "held-out gap, plain": gap(y_new, plain_decisions, groups_new),
        "accuracy": np.mean(decisions == y_new),
        "held-out gap": gap(y_new, decisions, groups_new),
        "out-of-fold gap": gap(y, out_of_fold, groups),
        "plain gap / tolerance": gap(y, plain.result.predict(X), groups) / tolerance,
        "x": fair.seconds / plain.seconds,
    }
