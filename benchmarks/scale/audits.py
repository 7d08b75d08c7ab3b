"""A report of a million people, and a certificate: time, memory, and the size of the page."""

import json
import resource
import subprocess
import sys
from statistics import median
from time import perf_counter

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin

from benchmarks import ROOT
from benchmarks.tables import Check, Report
from benchmarks.timing import timed
from skfair.audit import FairnessReport, certify
from skfair.constraints import CONSTRAINTS


def report(budget):
    """A report of a million people, two attributes and both; certificates of 10,000 per group."""
    n_runs = min(3, budget.n_runs)
    records = [_in_process(n, n_runs) for n in (10_000, round(1e6 * max(budget.share, 0.1)))]
    largest = records[-1]
    records += [_certificate(name) for name in CONSTRAINTS if "partial_equal" not in name]
    seconds = [record["CPU s"] for record in records if "constraint" in record]
    checks = [
        Check("CPU seconds, most people", [largest["CPU s"]], "<=", 10.0),
        Check("peak GB, most people", [largest["peak GB"]], "<=", 1.0),
        Check("MB of the page", [largest["page MB"]], "<=", 2.0),
        Check("CPU seconds of a certificate", seconds, "<=", 1.0),
    ]
    return Report("Reports in processes of their own; certificates beside", records, checks)


def _in_process(n_people, n_runs):
    """Medians over processes that call `measure` once each."""
    command = [sys.executable, "-m", "benchmarks.scale.audits", str(n_people)]
    records = []
    for _ in range(n_runs):
        done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
        records.append(json.loads(done.stdout))
    return {key: median(record[key] for record in records) for key in records[0]}


def people(n_people, rng):
    """Truth, probabilities, and two attributes of two and five levels."""
    groups = pd.DataFrame(
        {
            "sex": rng.choice(["female", "male"], size=n_people),
            "race": rng.choice(["a", "b", "c", "d", "e"], size=n_people),
        }
    )
    probability = rng.beta(2.0, 2.0, size=n_people)
    return (rng.random(n_people) < probability).astype(int), probability, groups


def measure(n_people):
    """Time, peak memory and size of one report, people included."""
    truth, probability, groups = people(n_people, np.random.default_rng(0))
    start = perf_counter()
    run = timed(_page, truth, probability, groups)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return {
        "people": n_people,
        "CPU s": run.seconds,
        "s": perf_counter() - start,
        "peak GB": peak,
        "page MB": len(run.result.encode()) / 1e6,
    }


def _page(truth, probability, groups):
    return FairnessReport.from_predictions(
        truth, (probability > 0.5).astype(int), y_proba=probability, sensitive_features=groups
    ).to_html()


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
    """Time of a certificate at the tolerance where its exact test is needed."""
    truth, probability, _ = people(20_000, np.random.default_rng(1))
    given = {"sensitive_features": np.arange(20_000) % 2, "constraint": name}
    X = probability[:, np.newaxis]
    limit = certify(_Scores(), X, truth, tolerance=0.9, **given).limit
    run = timed(lambda: certify(_Scores(), X, truth, tolerance=1.001 * limit, **given))
    return {"constraint": name, "people": 20_000, "CPU s": run.seconds}


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
