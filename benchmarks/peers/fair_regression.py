"""Linear regression under equal means and losses: kept, at which cost, beside the plain fit."""

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split

from benchmarks.tables import Check, Report
from benchmarks.timing import in_turns, median_seconds
from skfair.datasets import fetch_communities_crime, fetch_law_school
from skfair.metrics import mean_score_difference
from skfair.regression import ConstrainedERMRegressor

TOLERANCE = 0.05


def _law_school():
    bunch = fetch_law_school(drop_sensitive=True)
    data = bunch.data.select_dtypes("number").astype(float)
    kept = data["ugpa"].notna()
    features = data.drop(columns=["ugpa"])[kept]
    return features.dropna(axis=1), data["ugpa"][kept], bunch.sensitive_features[kept]


def _communities():
    bunch = fetch_communities_crime(drop_sensitive=True)
    return bunch.data, bunch.target, bunch.sensitive_features


CASES = {"Communities": _communities, "law school, grades": _law_school}


def fair_regression(budget):
    """Mean predictions within a twentieth of a standard deviation: kept, and in which time."""
    records, checks = [], []
    for name, fetch in CASES.items():
        X, y, groups = fetch()
        X, y = pd.DataFrame(X).to_numpy(float), np.asarray(y, dtype=float)
        columns = X, y, np.asarray(groups).astype(str)
        X, X_new, y, y_new, groups, groups_new = train_test_split(
            *columns, test_size=0.3, random_state=0
        )
        runs = in_turns(
            {
                "ours": lambda _, X=X, y=y, groups=groups: ConstrainedERMRegressor(
                    tolerance=TOLERANCE
                ).fit(X, y, sensitive_features=groups),
                "ridge": lambda _, X=X, y=y: Ridge().fit(X, y),
                "boosting": lambda _, X=X, y=y: HistGradientBoostingRegressor(
                    early_stopping=False, random_state=0
                ).fit(X, y),
            },
            max(3, budget.n_runs),
        )
        model, ridge = (runs[who][0].result for who in ("ours", "ridge"))
        seconds = {who: median_seconds(runs[who]) for who in runs}

        def gap(model, X, groups, unit=model.target_scale_):
            return mean_score_difference(model.predict(X), sensitive_features=groups) / unit

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
                "price": np.abs(model.multipliers_).max(),
            }
        )
        of_ridge, of_boosting = (seconds["ours"] / seconds[who] for who in ("ridge", "boosting"))
        checks += [
            Check(f"gap on the people of the fit, {name}", [gap(model, X, groups)], "<=", 0.0501),
            Check(f"smallest price, {name}", [records[-1]["price"]], ">=", 1e-6),
            Check(f"time / Ridge, {name}", [of_ridge], "<=", 3.0),
            Check(f"time / plain boosting, {name}", [of_boosting], "<=", 3.0),
        ]
    title = "Mean parity to .05 of a standard deviation; R2 and gap of new people, CPU s"
    return Report(title, records, checks)
