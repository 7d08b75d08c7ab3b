"""Calibrations of probabilities by group, on held-out data: what each does to all groups."""

import numpy as np
import pandas as pd
from scipy.special import logit
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks import data
from benchmarks.packages import is_installed
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from skfair.audit import Audit

PROTECTED = ["sex", "race"]
DATASETS = {
    "Adult": (data.fetch_adult, ["age", "marital-status", "education-num"]),
    "COMPAS": (data.fetch_compas, ["age", "c_charge_degree", "priors_count"]),
    "Law": (data.fetch_law_school, ["fam_inc", "lsat"]),
}
"""Data by name, and columns whose subgroups are searched besides those that are protected."""

N_SPLITS = {5: 3, 1: 1}  # by the runs of the budget
N_TRAINING = 12_000
MIN_GROUP = 50
"""Samples from which a group has a calibration of its own; others have that of all samples."""


def make_logistic():
    """A linear model, which does not see the protected columns."""
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", min_frequency=20), is_category),
        (StandardScaler(), make_column_selector(dtype_include=np.number)),
    )
    return make_pipeline(encoder, LogisticRegression(max_iter=300))


is_category = make_column_selector(dtype_exclude=np.number)

BASES = {
    "linear, blind": (make_logistic, True),
    "boosting": (
        lambda: HistGradientBoostingClassifier(
            learning_rate=0.05,
            max_iter=150,
            max_leaf_nodes=8,
            min_samples_leaf=50,
            l2_regularization=10.0,
            random_state=0,
        ),
        False,
    ),
}
"""Models by name, and whether they are fitted without the protected columns."""


def fit_sigmoid(p, y):
    """Function of probabilities: a logistic regression on their log odds."""
    model = LogisticRegression(C=np.inf).fit(log_odds(p), y)
    return lambda new: model.predict_proba(log_odds(new))[:, 1]


def fit_isotonic(p, y):
    """Function of probabilities: an isotonic regression."""
    return IsotonicRegression(out_of_bounds="clip", y_min=0.0, y_max=1.0).fit(p, y).predict


def log_odds(p):
    """Log odds as a column, of probabilities that are cut off near 0 and 1."""
    return logit(np.clip(p, 1e-4, 1.0 - 1e-4))[:, np.newaxis]


def calibrate_groups(fit, fitted, new):
    """Probabilities of new samples, calibrated for each group.

    Parameters
    ----------
    fit : callable
        Probabilities and outcomes -> function of probabilities.
    fitted, new : DataFrame
        Columns "p" and "group", and "y" of those fitted.

    Returns
    -------
    probabilities : ndarray
    """
    result = fit(fitted["p"].to_numpy(), fitted["y"].to_numpy())(new["p"].to_numpy())
    for name, rows in fitted.groupby("group"):
        inside = (new["group"] == name).to_numpy()
        if len(rows) >= MIN_GROUP and rows["y"].nunique() == 2 and inside.any():
            one = fit(rows["p"].to_numpy(), rows["y"].to_numpy())
            result[inside] = one(new["p"].to_numpy()[inside])
    return result


def calibrate_mcgrad(fitted, new, columns):
    """Probabilities of new samples by the package mcgrad, from all columns of groups."""
    from mcgrad.methods import MCGrad

    numbers = fitted[columns].select_dtypes(np.number).columns.tolist()
    names = {
        "categorical_feature_column_names": [one for one in columns if one not in numbers],
        "numerical_feature_column_names": numbers,
    }
    fitted, new = (one.assign(p=np.clip(one["p"], 1e-4, 1.0 - 1e-4)) for one in (fitted, new))
    return (
        MCGrad(lightgbm_params={"num_threads": 1})
        .fit(fitted, "p", "y", **names)
        .predict(new, "p", **names)
    )


def evaluate(p, new, columns):
    """Log loss, subgroups that are shown to be miscalibrated, and the largest error of a group."""
    p = np.clip(p, 1e-4, 1.0 - 1e-4)
    y = new["y"].to_numpy()
    groups = pd.DataFrame({"y": y, "p": p, "group": new["group"].to_numpy()}).groupby("group")
    errors = groups.agg("mean")[["y", "p"]].diff(axis=1)["p"].abs()
    audit = Audit.from_predictions(y, None, y_score=p, sensitive_features=new[columns])
    search = audit.subgroups("calibration_error")
    return {
        "log loss": log_loss(y, p),
        "flagged": float(search.searches["n_flagged"].item()),
        "worst group": float(errors[groups.size() >= 2 * MIN_GROUP].max()),
    }


def judge_split(name, base, split):
    """Figures of all methods by name, on the test half of one split."""
    fetch, others = DATASETS[name]
    make, is_blind = BASES[base]
    bunch = fetch()
    frame = bunch.data.reset_index(drop=True)
    y = (bunch.target == sorted(bunch.target.unique())[-1]).astype(int).to_numpy()
    columns = [*PROTECTED, *others]
    known = frame[columns].copy()
    categories = known.select_dtypes(exclude=np.number).columns
    known[categories] = known[categories].astype(object).fillna("missing").astype(str)
    known = known.assign(y=y, group=known["sex"] + " " + known["race"])
    train, test = train_test_split(np.arange(len(y)), test_size=0.4, random_state=split, stratify=y)
    train = train[:N_TRAINING]
    X = frame.drop(columns=PROTECTED) if is_blind else frame
    # Calibrations see out-of-fold scores of the training samples.
    out_of_fold = cross_val_predict(make(), X.iloc[train], y[train], method="predict_proba", cv=5)
    stated = make().fit(X.iloc[train], y[train]).predict_proba(X.iloc[test])[:, 1]
    fitted = known.iloc[train].assign(p=out_of_fold[:, 1])
    new = known.iloc[test].assign(p=stated)
    methods = {
        "plain": stated,
        "isotonic per group": calibrate_groups(fit_isotonic, fitted, new),
        "sigmoid per group": calibrate_groups(fit_sigmoid, fitted, new),
    }
    if is_installed("mcgrad"):
        methods["MCGrad"] = calibrate_mcgrad(fitted, new, columns)
    return {method: evaluate(p, new, columns) for method, p in methods.items()}


@smallest(DATASETS={"COMPAS": DATASETS["COMPAS"]}, N_TRAINING=500)
def calibrations(budget):
    """Probabilities on held-out data by calibrations of groups: log loss, and who is miscalibrated.

    "flagged" are subgroups of all columns that `Audit.subgroups` shows to be miscalibrated, with 95
    % for all together. "worst group" is the largest calibration error of a group of sex and race.
    """
    n_splits = N_SPLITS[1 if budget.n_runs == 1 else 5]
    records = []
    for base in BASES:
        for name in DATASETS:
            splits = [judge_split(name, base, split) for split in range(n_splits)]
            for method in splits[0]:
                means = pd.DataFrame([one[method] for one in splits]).mean().to_dict()
                records.append({"base": base, "data": name, "method": method} | means)
    table = pd.DataFrame(records).pivot_table("log loss", ["base", "data"], "method")
    excess = (table["isotonic per group"] - table["sigmoid per group"]).tolist()
    checks = [
        Check("log loss of an isotonic regression per group less a sigmoid's", excess, ">=", 0.0)
    ]
    return Report(f"Calibrations of groups, means of {n_splits} splits", records, checks)
