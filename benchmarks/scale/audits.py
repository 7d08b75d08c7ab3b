"""A report of a million samples, and certificates: time, memory, and the size of the page."""

import json
import sys
from time import perf_counter

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin

from benchmarks.sizes import smallest
from benchmarks.subprocesses import median_record, peak_gigabytes
from benchmarks.tables import Check, Report
from benchmarks.timing import time_call
from skfair.audit import Audit
from skfair.constraints import CONSTRAINTS

N_SAMPLES, N_CERTIFIED = 1_000_000, 20_000
"""Samples of the largest report, and of a certificate."""


@smallest(N_SAMPLES=20_000, N_CERTIFIED=600)
def report(budget):
    """Report of a million samples, two attributes and intersections; certificates of 20,000."""
    n_runs = min(3, budget.n_runs)
    sizes = N_SAMPLES // 100, round(N_SAMPLES * max(budget.fraction, 0.1))
    records = [median_record(__name__, n, n_runs=n_runs) for n in sizes]
    largest = records[-1]
    records += [
        _certificate(name)
        for name, constraint in CONSTRAINTS.items()
        if "partial_equal" not in name and constraint().applies_to != ("numbers",)
    ]
    seconds = [record["CPU s"] for record in records if "constraint" in record]
    checks = [
        Check("CPU seconds, largest report", [largest["CPU s"]], "<=", 10.0),
        Check("peak GB, largest report", [largest["peak GB"]], "<=", 1.0),
        Check("MB of the page", [largest["page MB"]], "<=", 2.0),
        Check("CPU seconds of a certificate", seconds, "<=", 1.0),
    ]
    return Report("Reports, one per process, and certificates", records, checks)


def draw_samples(n_samples, rng):
    """Targets, probabilities, and two attributes of two and five levels."""
    groups = pd.DataFrame(
        {
            "sex": rng.choice(["female", "male"], size=n_samples),
            "race": rng.choice(["a", "b", "c", "d", "e"], size=n_samples),
        }
    )
    probability = rng.beta(2.0, 2.0, size=n_samples)
    return (rng.random(n_samples) < probability).astype(int), probability, groups


def measure(n_samples):
    """Time, peak memory and size of one report; the memory includes the data."""
    truth, probability, groups = draw_samples(n_samples, np.random.default_rng(0))
    start = perf_counter()
    run = time_call(_page, truth, probability, groups)
    return {
        "samples": n_samples,
        "CPU s": run.seconds,
        "s": perf_counter() - start,
        "peak GB": peak_gigabytes(),
        "page MB": len(run.result.encode()) / 1e6,
    }


def _page(truth, probability, groups):
    audit = Audit.from_predictions(
        truth, (probability > 0.5).astype(int), y_score=probability, sensitive_features=groups
    )
    return audit.report().to_html()


class _Scores(ClassifierMixin, BaseEstimator):
    """A model whose probabilities are the first column."""

    classes_ = np.array([0, 1])

    def fit(self, X, y):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def predict_proba(self, X):
        return np.column_stack((1.0 - X[:, 0], X[:, 0]))

    def predict(self, X):
        return (X[:, 0] > 0.5).astype(int)

    def decision_function(self, X):
        return np.log(X[:, 0] / (1.0 - X[:, 0]))


def _certificate(name):
    """Time of a certificate at a tolerance where it needs its exact test."""
    truth, probability, _ = draw_samples(N_CERTIFIED, np.random.default_rng(1))
    samples = (probability[:, np.newaxis], truth)
    groups = np.arange(N_CERTIFIED) % 2

    def certify(tolerance):
        audit = Audit.from_estimator(_Scores(), *samples, sensitive_features=groups)
        return audit.certify(name, tolerance)

    limit = certify(0.9).high
    run = time_call(lambda: certify(1.001 * limit))
    return {"constraint": name, "samples": N_CERTIFIED, "CPU s": run.seconds}


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
