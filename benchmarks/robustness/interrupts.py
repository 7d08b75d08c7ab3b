"""Ctrl-C at random moments of a fit: KeyboardInterrupt at once, and the previous fit is intact.

Every estimator has a process of its own, as an interrupt in a kernel can break the interpreter.
"""

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import warnings
from collections import Counter
from time import perf_counter

import numpy as np
from scipy import sparse
from sklearn.model_selection import GridSearchCV

from benchmarks import ROOT
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from skfair.classification import ConstrainedERMClassifier, PartialParityClassifier
from skfair.cluster import FairKMeans, FairSpectralClustering, cluster_front
from skfair.regression import PartialParityRegressor

N_MOMENTS = 500


class Front:
    """`cluster_front` as an estimator without attributes."""

    def fit(self, X, y, sensitive_features):
        cluster_front(FairKMeans(4), X, sensitive_features=sensitive_features, n_levels=10)


def make_search(estimator, grid):
    """A grid search, which would continue after an Exception."""
    return GridSearchCV(estimator, grid, scoring=no_score, cv=3, error_score=np.nan)


def no_score(*_):
    return 0.0


SUBJECTS = {  # name -> (estimator, rows, whether X is sparse)
    "FairKMeans": (lambda: FairKMeans(random_state=0), 6000, False),
    "FairKMeans, threads": (lambda: FairKMeans(random_state=0, n_jobs=2), 6000, False),
    "FairKMeans, grid": (
        lambda: make_search(FairKMeans(random_state=0), {"n_clusters": [3, 4]}),
        1500,
        False,
    ),
    "cluster_front": (Front, 1500, False),
    "alternating": (lambda: FairKMeans(4, algorithm="alternating"), 1000, False),
    "FairSpectralClustering": (lambda: FairSpectralClustering(4, random_state=0), 500, False),
    "PartialParityClassifier": (lambda: PartialParityClassifier(tolerance=0.1), 3000, False),
    "PartialParityRegressor": (lambda: PartialParityRegressor(tolerance=0.1), 3000, False),
    "ConstrainedERM, dense": (lambda: ConstrainedERMClassifier(tolerance=0.02), 5000, False),
    "ConstrainedERM, sparse": (lambda: ConstrainedERMClassifier(tolerance=0.02), 5000, True),
    "ConstrainedERM, grid": (
        lambda: make_search(ConstrainedERMClassifier(), {"tolerance": [0.02, 0.1]}),
        2000,
        False,
    ),
}


@smallest(SUBJECTS={"ConstrainedERM, dense": SUBJECTS["ConstrainedERM, dense"]})
def interrupts(budget):
    """Interrupt fits at random moments: error, state of the estimator and delay, by estimator."""
    n_moments = max(1, int(N_MOMENTS * budget.fraction))
    records, checks = [], []
    for name in SUBJECTS:
        outcomes, delays = _run_processes(name, n_moments)
        record = {"fit": name, "interrupts": sum(outcomes.values()), **outcomes}
        record["longest delay, s"] = max(delays, default=np.nan)
        records.append(record)
        others = sum(outcomes.values()) - outcomes["KeyboardInterrupt"]
        checks.append(Check(f"other outcomes, {name}", [others], "<=", 0))
        checks.append(Check(f"seconds until the error, {name}", delays, "<=", 0.5))
    return Report(f"{n_moments} interrupts of each fit, at random moments", records, checks)


def _run_processes(name, n_moments):
    """Outcomes and delays of the interrupts. A new process continues after a crash."""
    outcomes = Counter()
    delays = []
    while (done := sum(outcomes.values())) < n_moments:
        module = "benchmarks.robustness.interrupts"
        command = [sys.executable, "-m", module, name, str(done), str(n_moments)]
        process = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        for line in process.stdout.splitlines():
            outcome, delay = json.loads(line)
            outcomes[outcome] += 1
            if outcome == "KeyboardInterrupt":
                delays.append(delay)
        if process.returncode != 0:
            outcomes[f"process died ({process.returncode})"] += 1
    return outcomes, delays


def interrupt_fits(name, first, last):
    """Interrupt fits at the random moments of the seeds ``first`` to ``last - 1``; yield outcomes.

    Half of the interrupts come from a timer of the process, half from a thread that sends SIGINT.
    """
    make, n_rows, is_sparse = SUBJECTS[name]
    data = make_data(n_rows, is_sparse)
    earlier_data = make_data(n_rows // 3, is_sparse)
    estimator = make()
    estimator.fit(*data[:2], sensitive_features=data[2])  # compiles
    seconds = -perf_counter()
    estimator.fit(*data[:2], sensitive_features=data[2])
    seconds += perf_counter()
    for seed in range(first, last):
        outcome = None
        while outcome is None:  # until the interrupt comes before the end of the fit
            estimator.fit(*earlier_data[:2], sensitive_features=earlier_data[2])
            earlier = pickle.dumps(vars(estimator))
            moment = np.random.default_rng(seed).uniform(0, seconds)
            outcome = interrupt_fit(estimator, data, moment, seed % 2 == 0)
            if outcome is None:
                seconds *= 0.9
        # A search need not keep its previous fit.
        if pickle.dumps(vars(estimator)) != earlier and not hasattr(estimator, "cv"):
            outcome = "changed the previous fit", outcome[1]
        yield outcome


def interrupt_fit(estimator, data, moment, by_timer):
    """Outcome of an interrupted fit and its delay; None if the fit ended before the interrupt."""
    signals = []

    def handler(*_):
        signals.append(perf_counter())
        raise KeyboardInterrupt

    def send():
        os.kill(os.getpid(), signal.SIGINT)

    previous = [signal.signal(number, handler) for number in (signal.SIGALRM, signal.SIGINT)]
    timer = threading.Timer(moment, send)
    outcome = None
    try:
        try:
            due = perf_counter() + moment
            if by_timer:
                signal.setitimer(signal.ITIMER_REAL, max(moment, 1e-6))
            else:
                timer.start()
            estimator.fit(*data[:2], sensitive_features=data[2])
        finally:
            ended = perf_counter()
            is_late = not signals
            signal.setitimer(signal.ITIMER_REAL, 0)
            timer.cancel()
        if not is_late:
            outcome = "swallowed"
    except KeyboardInterrupt:
        outcome = None if is_late else "KeyboardInterrupt"
    except BaseException as error:
        outcome = type(error).__name__
    for number, old in zip((signal.SIGALRM, signal.SIGINT), previous, strict=True):
        signal.signal(number, old)
    return None if outcome is None else (outcome, ended - due)


def make_data(n_rows, is_sparse):
    """Features, a target and two groups."""
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 2, n_rows)
    X = rng.normal(size=(n_rows, 5))
    X[:, 0] += 1.5 * groups
    y = X.sum(axis=1) + rng.logistic(size=n_rows) > 0.5
    if is_sparse:
        X = sparse.csr_array(X * (rng.random(X.shape) < 0.4))
    return X, y, groups


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for outcome in interrupt_fits(sys.argv[1], *map(int, sys.argv[2:])):
        print(json.dumps(outcome), flush=True)
