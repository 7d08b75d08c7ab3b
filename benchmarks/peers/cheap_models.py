"""Known groups around logistic regression: CPU time and accuracy beside OxonFair."""

import warnings
from functools import partial

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.erm_cases import Split, case
from benchmarks.packages import is_installed
from benchmarks.peers.libraries import TOLERANCE, OxonFair
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from benchmarks.timing import median_seconds, run_alternately
from skfair.classification import ConstrainedClassifierCV
from skfair.metrics import demographic_parity_difference

N_TRAIN = 10_000
BASE = make_pipeline(StandardScaler(), LogisticRegression(max_iter=200))


def fit_held_out(classifier, train):
    """A rule of a quarter of the samples around a classifier of the others, as OxonFair's."""
    X, X_rest, y, y_rest, _, rest = train_test_split(*train, test_size=0.25, random_state=0)
    frozen = FrozenEstimator(classifier.fit(X, y))
    return _fit_rule(frozen, Split(X_rest, y_rest, rest))


def _fit_rule(classifier, train, **params):
    """Our rule of scores and known groups."""
    model = ConstrainedClassifierCV(
        classifier, tolerance=TOLERANCE, group_estimator="sensitive_features", **params
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(train.X, train.y, sensitive_features=train.groups)


@smallest(N_TRAIN=400)
def cheap_models(budget):
    """CPU time of a fit by known groups around logistic regression, held-out accuracy and gap.

    Adult, demographic parity of .05. "x" is the CPU time over that of OxonFair, whose thresholds
    are chosen on a quarter of the samples. Fits run alternately, and the times are medians.
    """
    split = case("Adult", 0, blind=True)
    train = Split(*(column[:N_TRAIN] for column in split.train))
    fits = {
        "plain": lambda classifier: classifier.fit(train.X, train.y),
        "default": partial(_fit_rule, train=train),
        "cv=2": partial(_fit_rule, train=train, cv=2),
        "held out": partial(fit_held_out, train=train),
    }
    if is_installed("oxonfair"):
        fits["OxonFair"] = partial(OxonFair().fit, train=train)
    runs = run_alternately(
        {name: lambda _, fit=fit: fit(clone(BASE)) for name, fit in fits.items()}, budget.n_runs
    )
    records = []
    for name in fits:
        decisions = _predict(name, runs[name][0].result, split.test)
        gap = demographic_parity_difference(
            split.test.y, decisions, sensitive_features=split.test.groups
        )
        record = {"fit": name, "CPU ms": 1e3 * median_seconds(runs[name])}
        if "OxonFair" in fits:
            record["x"] = median_seconds(runs[name]) / median_seconds(runs["OxonFair"])
        records.append(record | {"accuracy": np.mean(decisions == split.test.y), "gap": gap})
    checks = [
        Check("held out, times OxonFair", [record["x"]], "<=", 2.0)
        for record in records
        if record["fit"] == "held out" and "x" in record
    ]
    return Report("Known groups around logistic regression, Adult", records, checks)


def _predict(name, model, test):
    """Decisions about held-out samples."""
    if name == "OxonFair":
        return OxonFair().predict(model, test)
    passed = {} if name == "plain" else {"sensitive_features": test.groups}
    return model.predict(test.X, **passed)
