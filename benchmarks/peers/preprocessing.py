"""Reweighing and a correlation remover, beside constrained fits: held-out gaps and accuracy."""

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.data import fetch_adult, fetch_compas, fetch_law_school
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from skfair.classification import ConstrainedClassifierCV, ConstrainedERMClassifier
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


# A correlation remover before trees.


def _make_boosting():
    return HistGradientBoostingClassifier(max_iter=60, random_state=0)


@smallest()
def preprocessing_trees(budget):
    """A correlation remover before boosted trees, which then recognise the group; one split."""
    bunch = fetch_adult(drop_sensitive=True)
    X = bunch.data.select_dtypes("number").to_numpy(float)
    y = (bunch.target == bunch.target.max()).to_numpy(int)
    groups = bunch.sensitive_features
    is_male = (groups == "Male").to_numpy()
    rows, new = train_test_split(np.arange(len(y)), test_size=0.4, random_state=0)
    remover = CorrelationRemover().fit(X[rows], sensitive_features=is_male[rows])
    constrained = ConstrainedClassifierCV(_make_boosting(), tolerance=TOLERANCE)
    constrained = constrained.fit(X[rows], y[rows], sensitive_features=is_male[rows])
    features = {
        "numeric columns": X,
        "after CorrelationRemover": remover.transform(X, sensitive_features=is_male),
        "with the sex as a column": np.column_stack((X, is_male)),
    }
    records = []
    for name, columns in features.items():
        of_group = _make_boosting().fit(columns[rows], is_male[rows])
        record = {
            "X": name,
            "AUC of the sex": roc_auc_score(
                is_male[new], of_group.predict_proba(columns[new])[:, 1]
            ),
        }
        for kind, model in {"boosting": _make_boosting(), "logistic": _plain()}.items():
            decisions = model.fit(columns[rows], y[rows]).predict(columns[new])
            record |= _name_figures(kind, y[new], decisions, is_male[new])
        records.append(record)
    held_out = _name_figures("boosting", y[new], constrained.predict(X[new]), is_male[new])
    name = f"numeric columns, ConstrainedClassifierCV, tolerance {TOLERANCE:g}"
    records.append({"X": name} | held_out)
    # Sampling noise doubles a gap of held-out data.
    check = Check("constrained gap", [held_out["boosting, gap"]], "<=", 2 * TOLERANCE)
    return Report("Trees and logistic regression of Adult, held-out data", records, [check])


def _name_figures(kind, y, decisions, groups):
    """Accuracy and gap of decisions, by what the columns of the table are called."""
    gap = demographic_parity_difference(y, decisions, sensitive_features=groups)
    return {f"{kind}, accuracy": np.mean(decisions == y), f"{kind}, gap": gap}
