"""Thirty million samples in Parquet files, and a cluster with less memory than they take.

``python -m benchmarks.scale.larger_than_memory [N]`` writes N samples, fits them on two workers
with 1.2 GB of memory each, and removes the files.
"""

import logging
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks.scale.partitions import KEEP_MEMORY, N_WORKERS, count_traffic
from benchmarks.subprocesses import peak_gigabytes
from benchmarks.tables import Check, Report, show
from skfair.classification import ConstrainedERMClassifier
from skfair.cluster import FairKMeans
from skfair.metrics import demographic_parity_difference

ROWS, N_COLUMNS = 250_000, 20
FEATURES = [f"x{j}" for j in range(N_COLUMNS)]
CLUSTER_FEATURES = FEATURES[:8]
N_CLUSTERS, BALANCE = 10, 0.8
TOLERANCE = 0.02
MEMORY = 1_200_000_000
"""Bytes of each worker; the features of all samples take twice as many."""

N_IN_MEMORY = 500_000
"""Samples that are also clustered in memory."""


def larger_than_memory(n_samples):
    """Print fits with smooth rates, with a tolerance of the metric, and of clusters."""
    with tempfile.TemporaryDirectory(prefix="samples-") as folder:
        write_samples(Path(folder), n_samples)
        for run in (fit_smooth_rates, fit_tolerance, fit_clusters):
            record, checks = run(Path(folder))
            title = f"{n_samples} samples in files; {N_WORKERS} workers of {MEMORY / 1e9} GB"
            print(show(Report(title, [record], checks)), end="\n\n", flush=True)


def write_samples(folder, n_samples):
    """Write the samples to files, one row group each."""
    for number in range(-(-n_samples // ROWS)):
        table = draw_samples(min(ROWS, n_samples - number * ROWS), seed=number)
        table.to_parquet(folder / f"{number:04}.parquet", compression=None)


def draw_samples(n_samples, seed):
    """Samples in ten clusters of different composition, with classes by the other columns."""
    import pandas as pd

    centers = 3.0 * np.random.default_rng(99).normal(size=(N_CLUSTERS, len(CLUSTER_FEATURES)))
    rng = np.random.default_rng(seed)
    cluster = rng.integers(N_CLUSTERS, size=n_samples)
    sex = (rng.random(n_samples) < 0.3 + 0.04 * cluster).astype(np.int8)
    X = rng.standard_normal((n_samples, N_COLUMNS), dtype=np.float32)
    X[:, : len(CLUSTER_FEATURES)] += centers[cluster].astype(np.float32)
    X[:, -3:] += 0.5 * sex[:, np.newaxis]
    chances = X[:, len(CLUSTER_FEATURES) :].sum(axis=1) - 1.0
    success = chances + rng.logistic(size=n_samples) > 0.0
    return pd.DataFrame(X, columns=FEATURES).assign(success=success, sex=sex)


@contextmanager
def open_cluster(folder):
    """A client of a new cluster, the samples as a Dask dataframe, and the traffic of the fit."""
    import dask
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    with (
        dask.config.set(KEEP_MEMORY),
        LocalCluster(
            n_workers=N_WORKERS,
            threads_per_worker=1,
            memory_limit=MEMORY,
            dashboard_address=":0",
            silence_logs=logging.ERROR,
        ) as cluster,
        Client(cluster) as client,
        count_traffic(client) as traffic,
    ):
        yield client, dd.read_parquet(folder), traffic


def fit_smooth_rates(folder):
    """Record of a fit with smooth rates, and its checks."""
    return _fit_classifier(folder, "smooth rates", 6, enforcement=None)


def fit_tolerance(folder):
    """Record of a fit whose decisions meet the tolerance, and its checks."""
    record, checks = _fit_classifier(folder, "counted decisions", 14)
    checks.append(Check("gap, counted decisions", [record["gap"]], "<=", TOLERANCE))
    checks.append(Check("MB moved, counted decisions", [record["MB moved"]], "<=", 40))
    return record, checks


def _fit_classifier(folder, name, max_passes, **settings):
    model = ConstrainedERMClassifier("demographic_parity", tolerance=TOLERANCE, **settings)
    with open_cluster(folder) as (client, table, traffic):
        start = time.perf_counter()
        model.fit(table[FEATURES], table["success"], sensitive_features=table["sex"])
        record = _record(name, time.perf_counter() - start, client, traffic)
        table = table.assign(decision=model.predict(table[FEATURES]))
        record["gap"] = demographic_parity_difference(
            table["success"], table["decision"], sensitive_features=table["sex"]
        )
    return record, [Check(f"passes, {name}", [record["passes"]], "<=", max_passes)]


def fit_clusters(folder):
    """Record of fair clusters, and its checks against clusters of a subsample in memory."""
    import pandas as pd

    model = FairKMeans(N_CLUSTERS, min_balance=BALANCE, random_state=0)
    with open_cluster(folder) as (client, table, traffic):
        start = time.perf_counter()
        model.fit(table[CLUSTER_FEATURES], sensitive_features=table["sex"])
        record = _record("FairKMeans", time.perf_counter() - start, client, traffic)
        labels = model.labels_.compute()
    files = sorted(folder.iterdir())
    sex = pd.concat([pd.read_parquet(one, columns=["sex"]) for one in files])["sex"]
    counts = np.bincount(2 * labels + sex, minlength=2 * N_CLUSTERS).reshape(-1, 2)
    n_wrong = int((counts != model.group_counts_).sum())
    del sex, labels
    subsample = pd.concat([pd.read_parquet(one) for one in files[: N_IN_MEMORY // ROWS]])
    in_memory = FairKMeans(N_CLUSTERS, min_balance=BALANCE, random_state=0)
    in_memory.fit(subsample[CLUSTER_FEATURES], sensitive_features=subsample["sex"])
    ratio = model.objective_ / in_memory.objective_
    return record | {"cost / in memory": ratio, "balance": model.relative_balance_}, [
        Check("passes, FairKMeans", [record["passes"]], "<=", 25),
        Check("cost / in memory, FairKMeans", [ratio], "<=", 1.005),
        Check("violation of the balance, FairKMeans", [model.constraint_violation_], "<=", 0),
        Check("counts that differ from group_counts_", [n_wrong], "<=", 0),
    ]


def _record(name, seconds, client, traffic):
    """Time, traffic and memory of a fit."""
    return {
        "fit": name,
        "elapsed s": seconds,
        "passes": len(traffic["received"]),
        "MB moved": sum(traffic["received"] + traffic["sent"]) / 1e6,
        "GB of a worker": max(client.run(peak_gigabytes).values()),
        "GB on disk": max(client.run(_spilled_bytes).values()) / 1e9,
    }


def _spilled_bytes(dask_worker):
    """Bytes that a worker has spilled to disk."""
    return dask_worker.data.spilled_total.disk


if __name__ == "__main__":
    larger_than_memory(int(sys.argv[1]) if len(sys.argv) > 1 else 30_000_000)
