"""
Fair models of larger-than-memory data
======================================

``make demo-dask`` runs this script: it writes ten million samples to Parquet files and fits fair
models on a cluster of two workers. ``make demo-dask SAMPLES=1000000`` takes one million, and
``python examples/demo_dask.py --worker-memory 1.5`` gives each worker 1.5 GB.
"""

import argparse
import logging
import os
import sys
import time
from pathlib import Path

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import psutil
from distributed import Client, LocalCluster
from distributed.system import MEMORY_LIMIT

import skfair
from skfair.classification import ConstrainedERMClassifier
from skfair.cluster import FairKMeans
from skfair.metrics import balance_score, demographic_parity_difference, group_report

FOLDER = Path("demo")
ROWS = 250_000  # of a file
N_FEATURES = 20
FEATURES = [f"x{j}" for j in range(N_FEATURES)]
BYTES = 4 * N_FEATURES + 1 + 4  # of a sample: features, decision, sex
MAX_MEMORY = 2.0  # of a worker, in GB, by default; on small machines a quarter of their memory

SETTINGS = {
    # Let workers reuse memory of the size of blocks: with Dask's default every temporary array of
    # NumPy is allocated from the system and freed. Memory of the size of a file is freed.
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": str(1 << 26),
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": str(1 << 24),
    # Each worker keeps the partitions that it was given: half of the data.
    "distributed.scheduler.work-stealing": False,
}


def main(n_samples, worker_memory):
    """Write the data, fit the models, print the table."""
    # Workers on other machines would need `client.run(skfair.warm_up)`: they find no files here.
    skfair.warm_up(verbose=1)
    folder = write_samples(n_samples)
    print(f"{n_samples:,} samples in {folder}, {n_samples * BYTES / 1e9:.1f} GB in memory;")
    print(f"2 workers of {worker_memory:.1f} GB and one thread.\n")
    with (
        dask.config.set(SETTINGS),
        start_cluster(worker_memory) as cluster,
        Client(cluster) as client,
    ):
        table = dd.read_parquet(folder)
        rows = {
            "plain classifier": fit_classifier(client, table, constraint=None),
            "demographic parity, .02": fit_classifier(client, table, tolerance=0.02),
            "FairKMeans, 10 clusters": fit_clusters(client, table),
        }
    print(pd.DataFrame(rows).T.to_string(na_rep="", float_format="{:.3f}".format), end="\n\n")
    print("gap: of the selection rates of the sexes, on all data; balance: smallest over largest")
    print("sex in the least balanced cluster; GB: peak memory of each worker so far.")


def write_samples(n_samples):
    """Write the missing files of a folder of Parquet files; the folder."""
    folder = FOLDER / f"samples_{n_samples}"
    folder.mkdir(parents=True, exist_ok=True)
    for number, first in enumerate(range(0, n_samples, ROWS)):
        file = folder / f"{number:04}.parquet"
        if not file.exists():
            # Written beside and renamed: an interrupted run leaves no half of a file.
            unfinished = file.with_suffix(".unfinished")
            draw_samples(min(ROWS, n_samples - first), seed=number).to_parquet(unfinished)
            os.replace(unfinished, file)
    return folder


def draw_samples(n_samples, seed):
    """Samples of two sexes with different features and rates of success."""
    rng = np.random.default_rng(seed)
    is_man = rng.random(n_samples) < 0.6
    X = rng.normal(size=(n_samples, N_FEATURES)).astype(np.float32)
    X[:, :3] += 0.4 * is_man[:, np.newaxis]
    X[:, 6:9] += 3.0 * rng.integers(3, size=(n_samples, 1))
    success = X[:, :6].sum(axis=1) - 1.0 + rng.logistic(size=n_samples) > 0.0
    sex = np.where(is_man, np.float32(1.0), np.float32(0.0))
    return pd.DataFrame(X, columns=FEATURES).assign(success=success, sex=sex)


def start_cluster(worker_memory):
    """Two workers, each a process with one thread."""
    return LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        memory_limit=int(1e9 * worker_memory),
        dashboard_address=":0",
        # Errors are raised here; the logs are about memory, and about workers that leave.
        silence_logs=logging.CRITICAL,
    )


def fit_classifier(client, table, **settings):
    """Row of the table: a classifier, evaluated on all data."""
    model = ConstrainedERMClassifier(**settings)
    start = time.perf_counter()
    groups = {} if settings.get("constraint", "") is None else {"sensitive_features": table["sex"]}
    model.fit(table[FEATURES], table["success"], **groups)
    seconds = time.perf_counter() - start
    table = table.assign(decision=model.predict(table[FEATURES]))
    arguments = table["success"], table["decision"]
    report = group_report(*arguments, sensitive_features=table["sex"])
    gap = demographic_parity_difference(*arguments, sensitive_features=table["sex"])
    return {
        "seconds": seconds,
        "accuracy": report.loc["overall", "accuracy"],
        "gap": gap,
        **peak_gigabytes(client),
    }


def fit_clusters(client, table):
    """Row of the table: a clustering, its balance recomputed."""
    model = FairKMeans(10, min_balance=0.8, random_state=0)
    start = time.perf_counter()
    model.fit(table[FEATURES], sensitive_features=table["sex"])
    seconds = time.perf_counter() - start
    # An array is gathered partition by partition. A column would be concatenated by one worker.
    sex = table["sex"].to_dask_array().compute()
    balance = balance_score(model.labels_.compute(), sensitive_features=sex)
    return {"seconds": seconds, "balance": balance, **peak_gigabytes(client)}


def peak_gigabytes(client):
    """Peak memory of each worker, in GB."""
    peaks = client.run(peak_memory)
    return {f"GB, {number}": peaks[address] / 1e9 for number, address in enumerate(sorted(peaks))}


def peak_memory():
    """Peak memory of this process, in bytes."""
    memory = psutil.Process().memory_info()
    if hasattr(memory, "peak_wset"):  # Windows
        return memory.peak_wset
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak  # macOS counts bytes, Linux kB


def parse_arguments():
    """Number of samples, and memory of a worker in GB."""
    parser = argparse.ArgumentParser(description="Fair models of larger-than-memory data.")
    parser.add_argument("n_samples", type=int, nargs="?", default=10_000_000)
    parser.add_argument(
        "--worker-memory",
        type=float,
        metavar="GB",
        default=min(MAX_MEMORY, MEMORY_LIMIT / 4e9),
        help="memory of each worker; by default a quarter of this machine's, at most 2",
    )
    return parser.parse_args()


if __name__ == "__main__":
    arguments = parse_arguments()
    main(arguments.n_samples, arguments.worker_memory)
