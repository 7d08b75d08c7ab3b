"""Searches over eight estimators with six scorers: a number, or an error that states what to do."""

import warnings

import numpy as np
import pandas as pd
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    PartialParityPostprocessor,
)
from skfair.cluster import FairKMeans
from skfair.metrics import get_scorer
from skfair.regression import ConstrainedERMRegressor

GROUP_AWARE = ConstrainedClassifierCV(
    LogisticRegression(), cv=2, group_estimator="sensitive_features"
)
ESTIMATORS = {
    "ConstrainedERMClassifier": ConstrainedERMClassifier(),
    "ConstrainedERMClassifier, group_interactions": ConstrainedERMClassifier(
        group_interactions=True
    ),
    "pipeline of it": make_pipeline(
        StandardScaler(), ConstrainedERMClassifier(group_interactions=True)
    ),
    "ConstrainedClassifierCV, group_estimator='sensitive_features'": GROUP_AWARE,
    "the same, three classes": clone(GROUP_AWARE).set_params(tolerance=0.3),
    "PartialParityPostprocessor": PartialParityPostprocessor(LogisticRegression(), cv=2),
    "ConstrainedERMRegressor, group_interactions": ConstrainedERMRegressor(group_interactions=True),
    "FairKMeans": FairKMeans(n_clusters=2, n_init=1, random_state=0),
}
"""Models that predict from the group, and some that do not."""

PARITY = "neg_demographic_parity_difference"
OURS = {
    "classifier": ["balanced_accuracy", "roc_auc", "neg_log_loss", PARITY],
    "several classes": ["balanced_accuracy", "roc_auc_ovr", "neg_log_loss", PARITY],
    "regressor": ["r2", "neg_mean_squared_error", "neg_mean_absolute_error_difference", PARITY],
    "clusterer": ["balance", "neg_additive_violation", "adjusted_rand_score", PARITY],
}
"""Names of scorers for `get_scorer` by task. Parity does not apply to regression and clustering."""

STOCK = {
    "classifier": "accuracy",
    "several classes": "accuracy",
    "regressor": "r2",
    "clusterer": "rand_score",
}
"""Name of a scikit-learn scorer by task. It passes no groups to predict."""

SITUATIONS = {
    "no routing": (False, True),
    "routing, no groups": (True, False),
    "routing and groups": (True, True),
}
"""Whether routing is enabled, and whether the search is passed the groups."""


def make_data(n_samples=120):
    """Features, and a target by task, of two groups.

    Parameters
    ----------
    n_samples : int, default=120
        Number of samples.

    Returns
    -------
    X, targets, groups : ndarray, dict of ndarray, ndarray
    """
    rng = np.random.default_rng(0)
    groups = rng.integers(2, size=n_samples)
    X = rng.normal(size=(n_samples, 2)) + 0.5 * groups[:, np.newaxis]
    score = X[:, 0] + 0.5 * rng.normal(size=n_samples)
    thirds = np.digitize(score, np.quantile(score, [1 / 3, 2 / 3]))
    decisions = (score > 0.2).astype(int)
    targets = {
        "classifier": decisions,
        "several classes": thirds,
        "regressor": score,
        "clusterer": decisions,
    }
    return X, targets, groups


def scorers_of(task):
    """The six scorers of a task by name: the default, scikit-learn's and four from `get_scorer`."""
    ours = {f"get_scorer({name!r})": get_scorer(name) for name in OURS[task]}
    return {"scoring=None": None, f"scoring={STOCK[task]!r}": STOCK[task], **ours}


def search_outcome(estimator, scorer, situation, data):
    """Outcome of a search: a finite score, an error that states what to do, or nan.

    Parameters
    ----------
    estimator, scorer : object
        Estimator of the search, and its scorer.
    situation : str
        A key of `SITUATIONS`.
    data : tuple of X, y, groups
        Training data of the search.

    Returns
    -------
    outcome : {"number", "error", "nan"}
    """
    X, y, groups = data
    routing, with_groups = SITUATIONS[situation]
    params = {"sensitive_features": groups} if with_groups else {}
    is_pipeline = hasattr(estimator, "steps")
    if is_pipeline and not routing:  # without routing the step of the pipeline is named
        params = {f"{estimator.steps[-1][0]}__{name}": value for name, value in params.items()}
    search = GridSearchCV(estimator, {}, scoring=scorer, cv=2, refit=False, error_score="raise")
    with warnings.catch_warnings(), sklearn.config_context(enable_metadata_routing=routing):
        warnings.simplefilter("ignore")
        try:
            search.fit(X, y, **params)
        except ValueError as error:
            advice = ("Pass ", "pass ", "get_scorer")
            return "error" if any(word in str(error) for word in advice) else f"bare error: {error}"
    return "number" if np.isfinite(search.cv_results_["mean_test_score"]).all() else "nan"


def outcomes(name):
    """Outcomes of the searches over one estimator.

    Parameters
    ----------
    name : str
        A key of `ESTIMATORS`.

    Returns
    -------
    table : pandas.DataFrame
        One row per scorer, one column per situation.
    """
    X, targets, groups = make_data()
    estimator = ESTIMATORS[name]
    task = "several classes" if "classes" in name else get_tags(estimator).estimator_type
    rows = []
    for scorer_name, scorer in scorers_of(task).items():
        endings = {
            situation: search_outcome(estimator, scorer, situation, (X, targets[task], groups))
            for situation in SITUATIONS
        }
        rows.append({"estimator": name, "scorer": scorer_name, **endings})
    return pd.DataFrame(rows)


@smallest(
    ESTIMATORS={
        "FairKMeans": ESTIMATORS["FairKMeans"],
        "pipeline of it": ESTIMATORS["pipeline of it"],
    }
)
def scorers(budget):
    """Scores of searches without routing, without groups and with both: numbers or errors."""
    table = pd.concat([outcomes(name) for name in ESTIMATORS], ignore_index=True)
    endings = table[list(SITUATIONS)].to_numpy().ravel()
    counts = {ending: int((endings == ending).sum()) for ending in ("number", "error", "nan")}
    others = len(endings) - sum(counts.values())
    checks = [
        Check("searches in which nan is a score", [counts["nan"]], "<=", 0),
        Check("errors that do not state what to do", [others], "<=", 0),
    ]
    title = (
        f"{len(endings)} searches: {counts['number']} numbers, {counts['error']} errors that state "
        f"what to do, {counts['nan']} scores of nan"
    )
    return Report(title, table.to_dict("records"), checks)
