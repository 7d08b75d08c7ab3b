"""Several classes: the largest gap of any of them, beside the plain classifier's."""

import warnings
from itertools import product

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.peers.constrained_erm import GAPS
from benchmarks.tables import Check, Report
from benchmarks.timing import timed
from skfair.classification import ConstrainedClassifierCV
from skfair.datasets import fetch_law_school, fetch_thyroid

KNOWN_AT_ADMISSION = ["lsat", "ugpa", "fulltime", "fam_inc", "tier"]


def _thirds_of_grades():
    """Who ends the first year in which third, by what is known before it."""
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


def several_classes(budget):
    """Three classes, linear and boosted: each class's rates alike on people not seen."""
    records = []
    for (key, (fetch, tolerance)), base in product(CASES.items(), BASES):
        columns = [np.asarray(fetched) for fetched in fetch()]
        runs = [
            _run(columns, key[1], tolerance, BASES[base], seed) for seed in range(budget.n_runs)
        ]
        means = {name: np.mean([run[name] for run in runs]) for name in runs[0]}
        most = {"gap (fit)": max(run["gap (fit)"] for run in runs)}
        asked = dict(zip(("data", "constraint"), key, strict=True)) | {"tolerance": tolerance}
        records.append(asked | {"base": base} | means | most)
    excess = [record["gap (fit)"] - record["tolerance"] for record in records]
    less = [record["gap (new)"] - record["gap (new), plain"] for record in records]
    checks = [
        Check("largest gap of unseen people of the fit, less the tolerance", excess, "<=", 1e-12),
        Check("gap of new people, less the plain one", less, "<=", 0.0),
        Check("gap of the plain fit / tolerance", [r["plain / asked"] for r in records], ">=", 1.0),
    ]
    return Report("Largest gap of any of three classes, means over splits", records, checks)


def _run(columns, constraint, tolerance, base, seed):
    """Accuracy and gaps of a base and of its head, in one split."""
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

    plain, fair = timed(base.fit, X, y), timed(fit)
    model = fair.result
    unseen = model.classes_[model.oof_scores_.argmax(axis=1)]
    decided, before = (run.result.predict(X_new) for run in (fair, plain))
    return {
        "accuracy, plain": np.mean(before == y_new),
        "gap (new), plain": gap(y_new, before, groups_new),
        "accuracy": np.mean(decided == y_new),
        "gap (new)": gap(y_new, decided, groups_new),
        "gap (fit)": gap(y, unseen, groups),
        "plain / asked": gap(y, plain.result.predict(X), groups) / tolerance,
        "x": fair.seconds / plain.seconds,
    }
