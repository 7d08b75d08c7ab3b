"""Time and memory of fits to float32 features, against the same numbers as float64."""

import json
import sys
import warnings
from time import perf_counter

import numpy as np

from benchmarks.sizes import smallest
from benchmarks.subprocesses import median_record, peak_gigabytes
from benchmarks.tables import Check, Report
from skfair.classification import ConstrainedERMClassifier
from skfair.cluster import FairKMeans

N_COLUMNS = 50

ESTIMATORS = {
    "linear": lambda: ConstrainedERMClassifier(tolerance=0.02),
    "k-means": lambda: FairKMeans(5, random_state=0),
}


@smallest(ESTIMATORS={"linear": ESTIMATORS["linear"]})
def single_precision(budget):
    """Time and peak memory of fits to float32 features, against the same numbers as float64."""
    n_samples = round(1e6 * budget.fraction)
    records, checks = [], []
    for estimator in ESTIMATORS:
        single, double = (
            median_record(__name__, estimator, dtype, n_samples, n_runs=min(3, budget.n_runs))
            for dtype in ("float32", "float64")
        )
        records += [single, double]
        extra = [single["extra GB, fit"] / single["X GB"]]
        checks += [
            Check(f"memory of a fit beyond float32 X / X, {estimator}", extra, "<=", 1.0),
            Check(
                f"deviation from the fit to float64, {estimator}",
                [abs(single["result"] - double["result"])],
                "<=",
                1e-6,
            ),
        ]
    title = f"{n_samples:,} samples of {N_COLUMNS} columns, one process each"
    return Report(title, records, checks if budget.fraction == 1 else [])


def measure(name, dtype, n_samples):
    """Record of one estimator and dtype; memory is the peak of the process less that before."""
    rng = np.random.default_rng(0)
    groups = rng.integers(2, size=n_samples)
    X = rng.standard_normal((n_samples, N_COLUMNS), dtype=np.float32).astype(dtype, copy=False)
    X[:, 0] += 0.8 * groups
    y = X[:, :10].sum(axis=1) / 4 + rng.logistic(size=n_samples) > 0
    first = slice(0, n_samples // 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        make = ESTIMATORS[name]
        make().fit(X[first], y[first], sensitive_features=groups[first])  # compiles
        before = peak_gigabytes()
        start = perf_counter()
        model = make().fit(X, y, sensitive_features=groups)
        fit_seconds = perf_counter() - start
        after_fit = peak_gigabytes()
        start = perf_counter()
        model.predict(X)
    return {
        "estimator": name,
        "dtype": dtype,
        "X GB": X.nbytes / 1e9,
        "fit s": fit_seconds,
        "extra GB, fit": after_fit - before,
        "predict s": perf_counter() - start,
        "extra GB, predict": peak_gigabytes() - after_fit,
        "result": float(np.sum(model.coef_ if name == "linear" else model.inertia_ / n_samples)),
    }


if __name__ == "__main__":
    print(json.dumps(measure(*sys.argv[1:3], int(sys.argv[3]))))
