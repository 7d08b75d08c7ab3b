"""Time of a prediction for one row: the classifier alone, and with the rule around it."""

import warnings
from functools import partial

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from benchmarks.scale.small import draw
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from benchmarks.timing import median_seconds, run_alternately
from skfair.classification import ConstrainedClassifierCV, ConstrainedERMClassifier

N_TREES = 100
N_CALLS = 30
"""Predictions of one row in each timed run."""

CASES = (("boosting", 4000), ("boosting", 12_000), ("logistic", 4000))
"""Classifier and number of training samples."""

SETTINGS = {
    "default": {},
    "ensemble=False": {"ensemble": False},
    "groups known": {"group_estimator": "sensitive_features"},
    "groups known, ensemble=False": {
        "group_estimator": "sensitive_features",
        "ensemble": False,
    },
}
"""Parameters of `ConstrainedClassifierCV` by the name of the column."""

BOUNDS = {"default": 7.0, "ensemble=False": 2.0}
"""Largest time around 4,000 rows of boosting, in predictions of the classifier alone."""


def _base(name):
    """The classifier without a constraint."""
    if name == "boosting":
        return HistGradientBoostingClassifier(
            max_iter=N_TREES, early_stopping=False, random_state=0
        )
    return LogisticRegression()


@smallest(N_TREES=3, N_CALLS=1, CASES=(("boosting", 400),))
def latency(budget):
    """CPU milliseconds of ``predict`` for one row, and how often those of the classifier alone.

    The rows have 8 numbers, and two groups. "linear" is `ConstrainedERMClassifier`. Calls run
    alternately, and the figures are medians.
    """
    records, checks = [], []
    for name, n_samples in CASES:
        X, y, groups = draw(n_samples, 8, 2)
        calls = {"alone": partial(_base(name).fit(X, y).predict, X[:1])}
        linear = ConstrainedERMClassifier(tolerance=0.05).fit(X, y, sensitive_features=groups)
        calls["linear"] = partial(linear.predict, X[:1])
        for setting, params in SETTINGS.items():
            model = ConstrainedClassifierCV(_base(name), tolerance=0.05, **params)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # what the constraint costs
                model.fit(X, y, sensitive_features=groups)
            predict = partial(model.predict, X[:1])
            if "group_estimator" in params:
                predict = partial(predict, sensitive_features=groups[:1])
            calls[setting] = predict
        runs = run_alternately(
            {key: partial(_repeat, call) for key, call in calls.items()}, max(3, budget.n_runs)
        )
        milliseconds = {key: 1e3 * median_seconds(runs[key]) / N_CALLS for key in calls}
        records.append({"classifier": name, "samples": n_samples} | milliseconds)
        if name == "boosting" and n_samples <= 4000:
            checks += [
                Check(f"{key} / alone", [milliseconds[key] / milliseconds["alone"]], "<=", bound)
                for key, bound in BOUNDS.items()
            ]
    return Report("CPU milliseconds of predict for one row", records, checks)


def _repeat(call, seed):
    """Call a function several times."""
    return np.sum([len(call()) for _ in range(N_CALLS)])
