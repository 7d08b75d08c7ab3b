"""Reweighing and a correlation remover, beside constrained fits: held-out gaps and accuracy."""

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.data import fetch_adult, fetch_compas, fetch_law_school
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from skfair.classification import ConstrainedERMClassifier
from skfair.metrics import demographic_parity_difference, equalized_odds_difference
from skfair.preprocessing import CorrelationRemover, reweighing_weights

TOLERANCE = 0.02
CASES = {"Adult": fetch_adult, "COMPAS": fetch_compas, "law school": fetch_law_school}


def _read(fetch):
    """Features without the groups, classes and groups, of the two largest groups."""
    bunch = fetch(drop_sensitive=True)
    groups = bunch.sensitive_features.astype(str)
    is_large = groups.isin(groups.value_counts().index[:2])
    X = pd.get_dummies(bunch.data[is_large], drop_first=True, dtype=float)
    y = bunch.target[is_large]
    return X.fillna(X.median()), (y == y.max()).to_numpy(int), groups[is_large].to_numpy()


def _plain():
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


def _predict_plain(X, y, groups, X_new, groups_new):
    return _plain().fit(X, y).predict(X_new)


def _predict_reweighed(X, y, groups, X_new, groups_new):
    weights = reweighing_weights(y, sensitive_features=groups)
    return _plain().fit(X, y, logisticregression__sample_weight=weights).predict(X_new)


def _predict_without_correlation(X, y, groups, X_new, groups_new):
    remover = CorrelationRemover()
    features = remover.fit_transform(X, sensitive_features=groups)
    return (
        _plain().fit(features, y).predict(remover.transform(X_new, sensitive_features=groups_new))
    )


def _predict_constrained(constraint, interactions=False):
    """A method with the constraint, and an intercept for each group if asked for."""

    def predict(X, y, groups, X_new, groups_new):
        scaler = StandardScaler().fit(X)
        model = ConstrainedERMClassifier(
            constraint, tolerance=TOLERANCE, group_interactions=interactions
        ).fit(scaler.transform(X), y, sensitive_features=groups)
        request = {"sensitive_features": groups_new} if interactions else {}
        return model.predict(scaler.transform(X_new), **request)

    return predict


METHODS = {
    "plain": _predict_plain,
    "reweighing": _predict_reweighed,
    "correlation remover, group at predict": _predict_without_correlation,
    "demographic parity .02": _predict_constrained("demographic_parity"),
    "the same, group at predict": _predict_constrained("demographic_parity", "intercept"),
    "equalized odds .02": _predict_constrained("equalized_odds"),
}


@smallest(CASES={"COMPAS": fetch_compas})
def preprocessing_methods(budget):
    """Reweighing and a correlation remover beside constrained fits, logistic, held-out data."""
    records, checks = [], []
    for name, fetch in CASES.items():
        X, y, groups = _read(fetch)
        gaps = {}
        for method, predict in METHODS.items():
            figures = [
                _measure(predict, *train_test_split(X, y, groups, test_size=0.3, random_state=seed))
                for seed in range(max(2, budget.n_runs))
            ]
            accuracy, parity, odds = np.mean(figures, axis=0)
            gaps[method] = parity
            records.append(
                {
                    "data": name,
                    "method": method,
                    "accuracy": accuracy,
                    "demographic parity gap": parity,
                    "equalized odds gap": odds,
                }
            )
        bound = 2 * TOLERANCE  # sampling noise doubles a gap of held-out data
        checks.append(Check(f"gap, {name}", [gaps["demographic parity .02"]], "<=", bound))
    return Report("Held-out accuracy and gaps, means over splits", records, checks)


def _measure(predict, X, X_new, y, y_new, groups, groups_new):
    """Accuracy and gaps of a method's decisions about held-out data."""
    decisions = predict(X, y, groups, X_new, groups_new)
    return (
        np.mean(decisions == y_new),
        demographic_parity_difference(y_new, decisions, sensitive_features=groups_new),
        equalized_odds_difference(y_new, decisions, sensitive_features=groups_new),
    )
