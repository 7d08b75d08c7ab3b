"""Exact sizes of many clusters beside k-means without bounds, each fit in a process of its own."""

import json
import sys
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
from sklearn.cluster import KMeans

from benchmarks.peers import vector_index
from benchmarks.peers.vector_index import make_vectors
from benchmarks.record_tables import store_of
from benchmarks.records import Run, load_or_run
from benchmarks.sizes import smallest
from benchmarks.subprocesses import peak_gigabytes, reset_peak, run_module
from benchmarks.tables import Check, Report
from benchmarks.timing import time_call
from skfair.cluster import FairKMeans

CAP = 1.1  # times the mean size
SOLVERS = "KMeans", "FairKMeans"


class Case(NamedTuple):
    """Generated vectors, the number of clusters, and the time that is asked for."""

    n_samples: int
    n_features: int
    n_clusters: int
    max_iter: int
    largest_ratio: float  # of the CPU seconds to those of KMeans

    @property
    def name(self):
        """The name in tables and of recorded runs."""
        return f"{self.n_samples:,} x {self.n_features}, {self.n_clusters:,} clusters"


CASES = (
    Case(20_000, 32, 100, 300, 2.5),
    Case(50_000, 64, 256, 300, 2.0),
    Case(100_000, 64, 1000, 300, 2.0),
    Case(1_000_000, 128, 4096, 20, 3.0),
)
SEEDS = (0, 1, 2)
"""Of the vectors and of the fits; the last case is run with the first one only."""


@smallest(CASES=(Case(600, 4, 60, 20, 100.0),), SEEDS=(0,))
@smallest(vector_index, N_TOPICS=20)
def compare_many_clusters(budget):
    """Clusters of at most 1.1 times the mean size, up to 4,096: time and cost beside KMeans.

    Both have one start. Runs are kept in benchmarks/papers/recorded, with the commit and the day;
    the last case takes an hour. --recorded shows the stored runs.
    """
    stored = load_or_run("many-clusters", _runs(), budget, store_of(budget))
    records, checks = [], []
    for case in CASES:
        ratios = []
        for seed in SEEDS:
            plain, bounded = (stored.get((case.name, solver, seed)) for solver in SOLVERS)
            if plain is None or bounded is None:
                continue
            ratios.append(bounded["CPU s"] / plain["CPU s"])
            records.append(
                {
                    "data": case.name,
                    "seed": seed,
                    "KMeans, CPU s": plain["CPU s"],
                    "FairKMeans, CPU s": bounded["CPU s"],
                    "/ KMeans": ratios[-1],
                    "largest / mean": bounded["largest / mean"],
                    "KMeans, largest / mean": plain["largest / mean"],
                    "cost / KMeans": bounded["cost"] / plain["cost"],
                    "dual gap %": bounded["dual gap %"],
                    "peak GB beyond X": bounded["peak GB beyond X"],
                }
            )
        checks.append(Check(f"time / KMeans, {case.name}", ratios, "<=", case.largest_ratio))
    sizes = [record["largest / mean"] for record in records]
    checks.append(Check("largest / mean", sizes, "<=", CAP))
    title = f"Clusters of at most {CAP} times the mean size, one start; the last case 20 iterations"
    return Report(title, records, checks)


def _runs():
    """A run of each solver for every case and seed."""
    for case, seed, solver in product(CASES, SEEDS, SOLVERS):
        if case.n_samples < 1_000_000 or seed == SEEDS[0]:
            make = partial(run_module, __name__, solver, *case[:4], vector_index.N_TOPICS, seed)
            yield Run(case.name, solver, seed, f"max_iter={case.max_iter}", make)


def measure(solver, n_samples, n_features, n_clusters, max_iter, n_topics, seed):
    """Figures of a fit, which follows a small one that compiles kernels."""
    vector_index.N_TOPICS = n_topics
    _fit(solver, make_vectors(4000, 4, np.random.default_rng(1)), 60, max_iter, seed)
    X = make_vectors(n_samples, n_features, np.random.default_rng(seed))
    before = reset_peak()  # with X
    run = time_call(_fit, solver, X, n_clusters, max_iter, seed)
    model, mean = run.result, n_samples / n_clusters
    record = {
        "CPU s": run.seconds,
        "cost": float(model.inertia_),
        "iterations": int(model.n_iter_),
        "largest / mean": float(np.bincount(model.labels_).max() / mean),
        "peak GB beyond X": peak_gigabytes() - before,
    }
    if solver == "FairKMeans":
        record["dual gap %"] = 100 * float(1 - model.lower_bound_ / model.inertia_)
    return record


def _fit(solver, X, n_clusters, max_iter, seed):
    """Fit a solver, FairKMeans with a bound on sizes."""
    settings = {"n_init": 1, "max_iter": max_iter, "random_state": seed}
    if solver == "KMeans":
        return KMeans(n_clusters, **settings).fit(X)
    largest = int(CAP * len(X) / n_clusters)
    return FairKMeans(n_clusters, min_balance=None, max_cluster_size=largest, **settings).fit(X)


if __name__ == "__main__":
    name, *numbers = sys.argv[1:]
    print(json.dumps(measure(name, *map(int, numbers))))
