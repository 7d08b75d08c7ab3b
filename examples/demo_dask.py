"""
Fair models of larger-than-memory data
======================================

``make demo-dask`` runs this script: it writes ten million samples to Parquet files and fits fair
models on a cluster of two workers. ``python examples/demo_dask.py 1000000`` takes one million.
"""

import logging
import resource
import sys
import time
from pathlib import Path

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

import skfair
from skfair.classification import ConstrainedERMClassifier
from skfair.cluster import FairKMeans
from skfair.metrics import balance_score, demographic_parity_difference, group_report

FOLDER = Path("demo")
ROWS = 250_000  # of a file
N_FEATURES = 20
FEATURES = [f"x{j}" for j in range(N_FEATURES)]
BYTES = 4 * N_FEATURES + 1 + 4  # of a sample: features, decision, sex
MEMORY = 1.2e9  # of a worker, in bytes

# Let workers reuse memory of the size of blocks: with Dask's default every temporary array of NumPy
# is allocated from the system and freed. Memory of the size of a file is freed.
KEEP_MEMORY = {
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": str(1 << 26),
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": str(1 << 24),
}


def main(n_samples):
    """Write the data, fit the models, print the table."""
    # Workers on other machines would need `client.run(skfair.warm_up)`: they find no files here.
    skfair.warm_up(verbose=1)
    folder = write_samples(n_samples)
    print(f"{n_samples:,} samples in {folder}, {n_samples * BYTES / 1e9:.1f} GB in memory;")
    print(f"2 workers of {MEMORY / 1e9:.1f} GB and one thread.\n")
    with dask.config.set(KEEP_MEMORY), start_cluster() as cluster, Client(cluster) as client:
        table = dd.read_parquet(folder)
        rows = {
            "plain classifier": fit_classifier(client, table, constraint=None),
            "demographic parity, .02": fit_classifier(client, table, tolerance=0.02),
            "FairKMeans, 10 clusters": fit_clusters(client, table),
        }
    print(pd.DataFrame(rows).T.to_string(na_rep="", float_format="{:.3f}".format), end="\n\n")
    print("gap: of the selection rates of the sexes, on all data; balance: smallest over largest")
    print("sex in the least balanced cluster; GB: peak memory of a worker.")


def write_samples(n_samples):
    """Write the missing files of a folder of Parquet files; the folder."""
    folder = FOLDER / f"samples_{n_samples}"
    folder.mkdir(parents=True, exist_ok=True)
    for number, first in enumerate(range(0, n_samples, ROWS)):
        file = folder / f"{number:04}.parquet"
        if not file.exists():
            draw_samples(min(ROWS, n_samples - first), seed=number).to_parquet(file)
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


def start_cluster():
    """Two workers, each a process with one thread."""
    return LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        memory_limit=int(MEMORY),
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
        "GB": peak_gigabytes(client),
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
    return {"seconds": seconds, "balance": balance, "GB": peak_gigabytes(client)}


def peak_gigabytes(client):
    """Largest peak memory of a worker, in GB."""
    return max(client.run(peak_memory).values()) / 1e6


def peak_memory():
    """Peak memory of this process, in kB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000)
