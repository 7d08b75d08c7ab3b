"""Peak memory, and the first fit after a start: measurements that need a process of their own."""

import compileall
import json
import math
import os
import resource
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import NamedTuple

from benchmarks import ROOT
from benchmarks.sizes import smallest
from benchmarks.subprocesses import median_record, peak_gigabytes
from benchmarks.tables import Check, Report
from benchmarks.timing import time_call
from skfair.cluster import FairKMeans, cluster_front
from skfair.datasets import make_fair_blobs

DATA = """
import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
rng = np.random.default_rng(0)
groups = rng.integers(0, 2, 1000)
X = rng.normal(size=(1000, 5))
X[:, 0] += 1.5 * groups
y = X.sum(axis=1) + rng.logistic(size=1000) > 0.5
four = rng.integers(0, 4, 1000)
"""
POWERS = (4, 5, 6)
N_PROCESSES = 3
"""Of 10, numbers of samples of fronts; processes after the first fit."""
FIRST_FITS = {
    "FairKMeans": ("cluster", "FairKMeans(random_state=0).fit(X, {groups})"),
    "cluster_front": ("cluster", "cluster_front(FairKMeans(random_state=0), X, {groups})"),
    "FairSpectralClustering": (
        "cluster",
        "FairSpectralClustering(random_state=0).fit(X, {groups})",
    ),
    "ConstrainedERMClassifier": (
        "classification",
        "ConstrainedERMClassifier(tolerance=0.02).fit(X, y, {groups})",
    ),
    "ConstrainedERMClassifier, equalized odds": (
        "classification",
        "ConstrainedERMClassifier('equalized_odds', tolerance=0.02).fit(X, y, {groups})",
    ),
    "ConstrainedERMClassifier, four groups": (
        "classification",
        "ConstrainedERMClassifier(tolerance=0.02).fit(X, y, sensitive_features=four)",
    ),
    "ConstrainedERMClassifier, sparse X": (
        "classification",
        "ConstrainedERMClassifier().fit(sparse.csr_array(X * (X > 1.5)), y, {groups})",
    ),
    "PartialParityClassifier": (
        "classification",
        "PartialParityClassifier(tolerance=0.2).fit(X, y, {groups})",
    ),
    "ConstrainedMLPClassifier": (
        "classification",
        "ConstrainedMLPClassifier(tolerance=0.05, random_state=0).fit(X, y, {groups})",
    ),
    "ConstrainedClassifierCV": (
        "classification",
        "ConstrainedClassifierCV(tolerance=0.05).fit(X, y, {groups})",
    ),
    "ConstrainedClassifierCV of LogisticRegression": (
        "classification",
        "ConstrainedClassifierCV(LogisticRegression(), tolerance=0.05).fit(X, y, {groups})",
    ),
    "ConstrainedERMRegressor": (
        "regression",
        "ConstrainedERMRegressor(tolerance=0.1).fit(X, X.sum(axis=1), {groups})",
    ),
    "PartialParityRegressor": (
        "regression",
        "PartialParityRegressor(tolerance=0.2).fit(X, X.sum(axis=1), {groups})",
    ),
}
"""Subpackage and first fit, by name."""

PLAIN_FIRST_FIT = """
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
X, _ = make_blobs(1000, n_features=5, centers=8, random_state=0)
KMeans(n_init=10, random_state=0).fit(X)
"""


LATER_FITS = """
from time import process_time
ends = [process_time()]
for _ in range({n_fits}):
    {fit}
    ends.append(process_time())
print(ends)
"""
N_FITS = 100


class ProcessTime(NamedTuple):
    """Seconds of a process."""

    cpu: float
    elapsed: float  # more than the CPU time on a busy machine


@smallest(POWERS=(2, 3))
def front_scaling(budget):
    """Time and peak memory of a front as the number of samples grows."""
    n_runs = min(3, budget.n_runs)
    records = [median_record(__name__, 10**power, n_runs=n_runs) for power in POWERS]
    *_, middle, largest = records
    growth = math.log10(largest["CPU s"] / middle["CPU s"])
    checks = [
        Check("CPU seconds, 1e6 rows", [largest["CPU s"]], "<=", 15.0),
        Check("peak GB, 1e6 rows", [largest["peak GB"]], "<=", 1.5),
        Check("exponent of growth, 1e5 to 1e6 rows", [growth], "<=", 1.1),
    ]
    return Report("A front of 20 levels on blobs, 8 features, 10 clusters", records, checks)


def measure_front(n_rows):
    """Record of one number of rows; the peak is that of the process."""

    def front(n_rows):
        X, _, groups = make_fair_blobs(n_rows, n_features=8, centers=10, random_state=0)
        return time_call(
            lambda: cluster_front(
                FairKMeans(10, random_state=0), X, sensitive_features=groups, n_levels=20
            )
        )

    front(2000)  # compiles
    run = front(n_rows)
    return {
        "rows": n_rows,
        "points": len(run.result),
        "CPU s": run.seconds,
        "peak GB": peak_gigabytes(),
    }


@smallest(
    N_PROCESSES=1,
    N_FITS=12,
    FIRST_FITS={"ConstrainedMLPClassifier": FIRST_FITS["ConstrainedMLPClassifier"]},
)
def first_fit(budget):
    """Time of a new process that imports and fits once: without compiled kernels, with, copied.

    The tenth and hundredth fit of one process are in it as well: kernels are compiled once fits
    that need them have become many.
    """
    with TemporaryDirectory() as folder:
        plain = _run_processes(PLAIN_FIRST_FIT, folder, N_PROCESSES)
    records = [_first_fit_record("KMeans(n_init=10)", None, plain)]
    stored = 1.3 * records[0]["CPU s"] + 0.5
    checks = []
    for name, (module, fit) in FIRST_FITS.items():
        fit = fit.format(groups="sensitive_features=groups")
        code = f"{DATA}from skfair.{module} import {fit.split('(')[0]}\n"
        later = code + LATER_FITS.format(fit=fit, n_fits=N_FITS)
        code = f"{code}{fit}\n"
        runs = {"no": [], "yes": [], "copied": []}
        for _ in range(min(2, budget.n_runs)):
            with TemporaryDirectory() as first, TemporaryDirectory() as second:
                _copy_package(ROOT, first, shutil.ignore_patterns("__pycache__"))
                runs["no"] += _run_processes(code, first, 1)
                runs["yes"] += _run_processes(code, first, N_PROCESSES)
                runs["copied"] += _run_processes(code, _copy_package(first, second), 1)
        records += [_first_fit_record(name, *item) for item in runs.items()]
        records[-2] |= _later_fits(later)
        checks += [
            _first_fit_check(f"{name}, compiled before", runs["yes"], stored),
            _first_fit_check(f"{name}, compiled before, package copied", runs["copied"], 3.0),
            _first_fit_check(f"{name}, nothing compiled", runs["no"], 6.0),
        ]
    return Report("A new process: import and first fit on 1,000 rows", records, checks)


def _copy_package(source, folder, ignore=None):
    """Copy the package to a folder with new modification times, as an installation does."""
    copy = Path(folder, "skfair")
    shutil.copytree(Path(source, "skfair"), copy, ignore=ignore, copy_function=shutil.copyfile)
    compileall.compile_dir(copy, quiet=1)
    return folder


def _first_fit_record(name, compiled, runs):
    """Row of the table."""
    return {
        "fit": name,
        "compiled before": compiled,
        "CPU s": median(run.cpu for run in runs),
        "elapsed s": median(run.elapsed for run in runs),
    }


def _later_fits(code):
    """CPU milliseconds of the tenth and of the last fit of one process, medians of five."""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True
    )
    ends = json.loads(done.stdout.splitlines()[-1])
    times = [1000.0 * (end - start) for start, end in pairwise(ends)]
    return {"10th fit, CPU ms": median(times[7:12]), "100th fit, CPU ms": median(times[-5:])}


def _first_fit_check(name, runs, limit):
    """Requirement on the CPU time."""
    return Check(f"CPU seconds, {name}", [run.cpu for run in runs], "<=", limit)


def _run_processes(code, folder, n_runs):
    """Times of consecutive processes that run code with the package in a folder."""
    return [_run_process(code, folder) for _ in range(n_runs)]


def _run_process(code, folder):
    """Time of a process with the package and its compiled kernels in a folder."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    environment.pop("NUMBA_CACHE_DIR", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = perf_counter()
    subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return ProcessTime(cpu, perf_counter() - start)


if __name__ == "__main__":
    print(json.dumps(measure_front(int(sys.argv[1]))))
