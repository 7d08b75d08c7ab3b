"""
Fair models of larger-than-memory data
======================================

``make demo-dask`` runs this script: ten million people are written to Parquet files, and a cluster
of two workers fits fair models to them. ``python examples/demo_dask.py 1000000`` takes one million.
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
BYTES = 4 * N_FEATURES + 1 + 4  # of a person: features, decision, sex
MEMORY = 1.2e9  # of a worker, in bytes

# Let workers reuse memory of the size of blocks: with Dask's default every temporary array of NumPy
# is allocated from the system and freed. Memory of the size of a file is freed.
KEEP_MEMORY = {
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": str(1 << 26),
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": str(1 << 24),
}


def main(n_people):
    """Write the data, fit the models, print the table."""
    # Workers on other machines would need `client.run(skfair.warm_up)`: they find no files here.
    skfair.warm_up(verbose=1)
    folder = write_people(n_people)
    print(f"{n_people:,} people in {folder}, {n_people * BYTES / 1e9:.1f} GB in memory;")
    print(f"2 workers of {MEMORY / 1e9:.1f} GB and one thread.\n")
    with dask.config.set(KEEP_MEMORY), start_cluster() as cluster, Client(cluster) as client:
        people = dd.read_parquet(folder)
        rows = {
            "plain classifier": fit_classifier(client, people, constraint=None),
            "demographic parity, .02": fit_classifier(client, people, tolerance=0.02),
            "FairKMeans, 10 clusters": fit_clusters(client, people),
        }
    print(pd.DataFrame(rows).T.to_string(na_rep="", float_format="{:.3f}".format), end="\n\n")
    print("gap: of the selection rates of the sexes, on all data; balance: smallest over largest")
    print("sex in the least balanced cluster; GB: peak memory of a worker.")


def write_people(n_people):
    """A folder of Parquet files; existing files are kept."""
    folder = FOLDER / f"people_{n_people}"
    folder.mkdir(parents=True, exist_ok=True)
    for number, first in enumerate(range(0, n_people, ROWS)):
        file = folder / f"{number:04}.parquet"
        if not file.exists():
            draw_people(min(ROWS, n_people - first), seed=number).to_parquet(file)
    return folder


def draw_people(n_people, seed):
    """People of two sexes, whose features and chances differ."""
    rng = np.random.default_rng(seed)
    is_man = rng.random(n_people) < 0.6
    X = rng.normal(size=(n_people, N_FEATURES)).astype(np.float32)
    X[:, :3] += 0.4 * is_man[:, np.newaxis]
    X[:, 6:9] += 3.0 * rng.integers(3, size=(n_people, 1))
    success = X[:, :6].sum(axis=1) - 1.0 + rng.logistic(size=n_people) > 0.0
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


def fit_classifier(client, people, **settings):
    """Row of the table: a classifier, evaluated on all data."""
    model = ConstrainedERMClassifier(**settings)
    start = time.perf_counter()
    groups = {} if settings.get("constraint", "") is None else {"sensitive_features": people["sex"]}
    model.fit(people[FEATURES], people["success"], **groups)
    seconds = time.perf_counter() - start
    decided = people.assign(decided=model.predict(people[FEATURES]))
    shown = {"sensitive_features": decided["sex"]}
    report = group_report(decided["success"], decided["decided"], **shown)
    gap = demographic_parity_difference(decided["success"], decided["decided"], **shown)
    return {
        "seconds": seconds,
        "accuracy": report.loc["overall", "accuracy"],
        "gap": gap,
        "GB": most_memory(client),
    }


def fit_clusters(client, people):
    """Row of the table: a clustering, its balance recomputed."""
    model = FairKMeans(10, min_balance=0.8, random_state=0)
    start = time.perf_counter()
    model.fit(people[FEATURES], sensitive_features=people["sex"])
    seconds = time.perf_counter() - start
    # As an array it is gathered partition by partition: one worker would concatenate a column.
    sex = people["sex"].to_dask_array().compute()
    balance = balance_score(model.labels_.compute(), sensitive_features=sex)
    return {"seconds": seconds, "balance": balance, "GB": most_memory(client)}


def most_memory(client):
    """Peak memory of a worker, in GB."""
    return max(client.run(peak_memory).values()) / 1e6


def peak_memory():
    """Peak memory of this process, in kB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000)
