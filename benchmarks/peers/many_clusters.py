"""Bounds on many clusters beside k-means without bounds, each fit in a process of its own."""

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
SOLVERS = "KMeans", "FairKMeans", "weights", "balance", "shares", "weights and balance"
"""KMeans, and FairKMeans with a cap, the same with unequal weights, or bounds on two groups."""
OTHER_RATIO = 20.0  # of CPU seconds to those of KMeans, for other bounds than a cap


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
    """Many clusters of bounded size or composition, up to 4,096: time and cost beside KMeans.

    Both have one start. Runs are kept in benchmarks/papers/recorded, with the commit and the day;
    the last case takes an hour. --recorded shows the stored runs.
    """
    stored = load_or_run("many-clusters", _runs(), budget, store_of(budget))
    records, checks = [], []
    for case in CASES:
        ratios = []
        for seed in SEEDS:
            plain, *fits = (stored.get((case.name, solver, seed)) for solver in SOLVERS)
            for solver, bounded in zip(SOLVERS[1:], fits, strict=True):
                if plain is None or bounded is None:
                    continue
                records.append(_compare(case, seed, solver, plain, bounded))
        ratios = [row["/ KMeans"] for row in records if row["data"] == case.name and _is_cap(row)]
        checks.append(Check(f"time / KMeans, {case.name}", ratios, "<=", case.largest_ratio))
    sizes = [row["largest / mean"] for row in records if _is_cap(row)]
    checks.append(Check("largest / mean", sizes, "<=", CAP))
    others = [row["/ KMeans"] for row in records if not _is_cap(row)]
    checks.append(Check("time / KMeans, other bounds", others, "<=", OTHER_RATIO))
    title = f"Clusters of at most {CAP} times the mean size, and other bounds, one start"
    return Report(title, records, checks)


def _is_cap(row):
    return row["bounds"] == "FairKMeans"


def _compare(case, seed, solver, plain, bounded):
    """A line of the table."""
    return {
        "data": case.name,
        "seed": seed,
        "bounds": solver,
        "KMeans, CPU s": plain["CPU s"],
        "FairKMeans, CPU s": bounded["CPU s"],
        "/ KMeans": bounded["CPU s"] / plain["CPU s"],
        "largest / mean": bounded["largest / mean"],
        "KMeans, largest / mean": plain["largest / mean"],
        "cost / KMeans": bounded["cost"] / plain["cost"],
        "dual gap %": bounded["dual gap %"],
        "peak GB beyond X": bounded["peak GB beyond X"],
    }


def _runs():
    """A run of each solver for every case and seed; of other bounds than a cap for one seed."""
    for case, seed, solver in product(CASES, SEEDS, SOLVERS):
        is_large = case.n_samples >= 1_000_000
        is_other = solver in SOLVERS[2:]
        if seed == SEEDS[0] and not (is_large and is_other) or not (is_large or is_other):
            make = partial(run_module, __name__, solver, *case[:4], vector_index.N_TOPICS, seed)
            yield Run(case.name, solver, seed, f"max_iter={case.max_iter}", make)


def measure(solver, n_samples, n_features, n_clusters, max_iter, n_topics, seed):
    """Figures of a fit, which follows a small one that compiles kernels."""
    vector_index.N_TOPICS = n_topics
    _fit(solver, make_vectors(4000, 4, np.random.default_rng(1)), 60, max_iter, seed)
    X = make_vectors(n_samples, n_features, np.random.default_rng(seed))
    before = reset_peak()  # with X
    run = time_call(_fit, solver, X, n_clusters, max_iter, seed)
    model = run.result
    mean = n_samples / n_clusters
    record = {
        "CPU s": run.seconds,
        "cost": float(model.inertia_),
        "iterations": int(model.n_iter_),
        "largest / mean": float(np.bincount(model.labels_).max() / mean),
        "peak GB beyond X": peak_gigabytes() - before,
    }
    if solver != "KMeans":
        record["cost"] = model.objective_ * n_samples  # of weights of mean 1
        record["largest / mean"] = float(model.cluster_sizes_.max() / model.cluster_sizes_.mean())
        record["dual gap %"] = 100 * float(1 - model.assignment_lower_bound_ / model.inertia_)
    return record


def _fit(solver, X, n_clusters, max_iter, seed):
    """Fit a solver."""
    settings = {"n_init": 1, "max_iter": max_iter, "random_state": seed}
    if solver == "KMeans":
        return KMeans(n_clusters, **settings).fit(X)
    model = FairKMeans(n_clusters, min_balance=None, **settings)
    rng = np.random.default_rng(seed)
    if solver == "FairKMeans":
        return model.set_params(max_cluster_size=int(CAP * len(X) / n_clusters)).fit(X)
    weights = rng.choice([0.5, 1.0, 2.0, 3.0], len(X)) if "weights" in solver else None
    if solver == "weights":
        return model.set_params(max_cluster_size=CAP / n_clusters).fit(X, sample_weight=weights)
    # Two groups, whose proportion rises with the first feature.
    rates = 0.1 + 0.5 / (1 + np.exp(-1.5 * X[:, 0] / X[:, 0].std()))
    groups = (rng.random(len(X)) < rates).astype(int)
    if solver != "shares":
        model.set_params(min_balance=0.8)
        return model.fit(X, sensitive_features=groups, sample_weight=weights)
    shares = dict(enumerate(np.bincount(groups) / len(X)))
    model.set_params(min_group_share={group: 0.8 * share for group, share in shares.items()})
    return model.fit(X, sensitive_features=groups)


if __name__ == "__main__":
    name, *numbers = sys.argv[1:]
    print(json.dumps(measure(name, *map(int, numbers))))
