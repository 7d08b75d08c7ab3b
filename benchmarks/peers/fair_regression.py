"""Linear regression with equal means: gap, R2 and time, compared with a plain fit."""

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split

from benchmarks.data import fetch_law_school
from benchmarks.datasets import load_benchmark
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from benchmarks.timing import median_seconds, run_alternately
from skfair.metrics import mean_score_difference
from skfair.regression import ConstrainedERMRegressor

TOLERANCE = 0.05


def _law_school():
    bunch = fetch_law_school(drop_sensitive=True)
    data = bunch.data.select_dtypes("number").astype(float)
    is_known = data["ugpa"].notna()
    features = data.drop(columns=["ugpa"])[is_known]
    return features.dropna(axis=1), data["ugpa"][is_known], bunch.sensitive_features[is_known]


def _communities():
    bunch = load_benchmark("communities_crime", drop_sensitive=True)
    return bunch.data, bunch.target, bunch.sensitive_features


CASES = {"Communities": _communities, "law school, grades": _law_school}


@smallest()
def fair_regression(budget):
    """Mean parity within .05 of a standard deviation: gap, R2 and time against Ridge, boosting."""
    records, checks = [], []
    for name, fetch in CASES.items():
        X, y, groups = fetch()
        X = pd.DataFrame(X).to_numpy(float)
        y = np.asarray(y, dtype=float)
        columns = X, y, np.asarray(groups).astype(str)
        X, X_new, y, y_new, groups, groups_new = train_test_split(
            *columns, test_size=0.3, random_state=0
        )
        runs = run_alternately(
            {
                "ours": lambda _, X=X, y=y, groups=groups: ConstrainedERMRegressor(
                    tolerance=TOLERANCE * y.std()
                ).fit(X, y, sensitive_features=groups),
                "ridge": lambda _, X=X, y=y: Ridge().fit(X, y),
                "boosting": lambda _, X=X, y=y: HistGradientBoostingRegressor(
                    early_stopping=False, random_state=0
                ).fit(X, y),
            },
            max(3, budget.n_runs),
        )
        model, ridge = (runs[name][0].result for name in ("ours", "ridge"))
        seconds = {method: median_seconds(calls) for method, calls in runs.items()}

        def gap(model, X, groups, y=y):
            return mean_score_difference(model.predict(X), sensitive_features=groups) / y.std()

        records.append(
            {
                "data": name,
                "Ridge s": seconds["ridge"],
                "boosting s": seconds["boosting"],
                "ours s": seconds["ours"],
                "R2 plain": ridge.score(X_new, y_new),
                "gap plain": gap(ridge, X_new, groups_new),
                "R2": model.score(X_new, y_new),
                "gap": gap(model, X_new, groups_new),
                "multiplier": np.abs(model.multipliers_).max(),
            }
        )
        checks += [
            Check(f"training gap, {name}", [gap(model, X, groups)], "<=", 0.0501),
            Check(f"smallest multiplier, {name}", [records[-1]["multiplier"]], ">=", 1e-6),
            Check(f"time / Ridge, {name}", [seconds["ours"] / seconds["ridge"]], "<=", 3.0),
            Check(f"time / boosting, {name}", [seconds["ours"] / seconds["boosting"]], "<=", 3.0),
        ]
    title = "Mean parity within .05 of a standard deviation; held-out R2 and gap, CPU s"
    return Report(title, records, checks)
