"""Thirty million people in Parquet files, and a cluster whose memory they do not fit into.

``python -m benchmarks.scale.larger_than_memory [N]`` writes N people, fits them by two workers of
1.2 GB, and removes the files.
"""

import logging
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks.scale.partitions import KEEP_MEMORY, N_WORKERS, questions
from benchmarks.scale.spectral_large import peak_gigabytes
from benchmarks.tables import Check, Report, show
from skfair.classification import ConstrainedERMClassifier
from skfair.cluster import FairKMeans
from skfair.metrics import demographic_parity_difference

ROWS, N_COLUMNS = 250_000, 20
FEATURES = [f"x{j}" for j in range(N_COLUMNS)]
OF_CLUSTERS = FEATURES[:8]
N_CLUSTERS, BALANCE = 10, 0.8
TOLERANCE = 0.02
MEMORY = 1_200_000_000
"""Bytes of each worker; the features of all people are twice as many."""

SAMPLE = 500_000
"""People who are clustered in memory too."""


def larger_than_memory(n_people):
    """Print what becomes of smooth rates, of a tolerance that is kept literally, of clusters."""
    with tempfile.TemporaryDirectory(prefix="people-") as folder:
        write_people(Path(folder), n_people)
        for run in (smooth, literal, clusters):
            record, checks = run(Path(folder))
            title = f"{n_people} people in files; {N_WORKERS} workers of {MEMORY / 1e9} GB"
            print(show(Report(title, [record], checks)), end="\n\n", flush=True)


def write_people(folder, n_people):
    """Files of people, one row group each."""
    for number in range(-(-n_people // ROWS)):
        people = draw_people(min(ROWS, n_people - number * ROWS), seed=number)
        people.to_parquet(folder / f"{number:04}.parquet", compression=None)


def draw_people(n_people, seed):
    """People in ten clusters of unlike mixes, whose classes the other columns tell."""
    import pandas as pd

    centers = 3.0 * np.random.default_rng(99).normal(size=(N_CLUSTERS, len(OF_CLUSTERS)))
    rng = np.random.default_rng(seed)
    of_cluster = rng.integers(N_CLUSTERS, size=n_people)
    sex = (rng.random(n_people) < 0.3 + 0.04 * of_cluster).astype(np.int8)
    X = rng.standard_normal((n_people, N_COLUMNS), dtype=np.float32)
    X[:, : len(OF_CLUSTERS)] += centers[of_cluster].astype(np.float32)
    X[:, -3:] += 0.5 * sex[:, np.newaxis]
    chances = X[:, len(OF_CLUSTERS) :].sum(axis=1) - 1.0
    success = chances + rng.logistic(size=n_people) > 0.0
    return pd.DataFrame(X, columns=FEATURES).assign(success=success, sex=sex)


@contextmanager
def people_on_workers(folder):
    """A cluster, its people as a dataframe, and what is asked of it."""
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
        questions(client, loses=None) as asked,
    ):
        yield client, dd.read_parquet(folder), asked


def smooth(folder):
    """The record of a fit with smooth rates, and its checks."""
    return _classifier(folder, "smooth rates", 6, enforcement=None)


def literal(folder):
    """The record of a fit that keeps its tolerance literally, and its checks."""
    record, checks = _classifier(folder, "literal tolerance", 14)
    checks.append(Check("gap, literal tolerance", [record["gap"]], "<=", TOLERANCE))
    checks.append(Check("MB moved, literal tolerance", [record["MB moved"]], "<=", 40))
    return record, checks


def _classifier(folder, name, most_looks, **settings):
    model = ConstrainedERMClassifier("demographic_parity", tolerance=TOLERANCE, **settings)
    with people_on_workers(folder) as (client, people, asked):
        start = time.perf_counter()
        model.fit(people[FEATURES], people["success"], sensitive_features=people["sex"])
        record = _record(name, time.perf_counter() - start, client, asked)
        decided = people.assign(decided=model.predict(people[FEATURES]))
        record["gap"] = demographic_parity_difference(
            decided["success"], decided["decided"], sensitive_features=decided["sex"]
        )
    return record, [Check(f"looks, {name}", [record["looks"]], "<=", most_looks)]


def clusters(folder):
    """The record of fair clusters, and its checks against those of a sample in memory."""
    import pandas as pd

    model = FairKMeans(N_CLUSTERS, min_balance=BALANCE, random_state=0)
    with people_on_workers(folder) as (client, people, asked):
        start = time.perf_counter()
        model.fit(people[OF_CLUSTERS], sensitive_features=people["sex"])
        record = _record("FairKMeans", time.perf_counter() - start, client, asked)
        labels = model.labels_.compute()
    files = sorted(folder.iterdir())
    sex = pd.concat([pd.read_parquet(one, columns=["sex"]) for one in files])["sex"]
    counts = np.bincount(2 * labels + sex, minlength=2 * N_CLUSTERS).reshape(-1, 2)
    miscounted = int((counts != model.group_counts_).sum())
    del sex, labels
    some = pd.concat([pd.read_parquet(one) for one in files[: SAMPLE // ROWS]])
    whole = FairKMeans(N_CLUSTERS, min_balance=BALANCE, random_state=0)
    whole.fit(some[OF_CLUSTERS], sensitive_features=some["sex"])
    ratio = model.objective_ / whole.objective_
    return record | {"cost / in memory": ratio, "balance": model.relative_balance_}, [
        Check("looks, FairKMeans", [record["looks"]], "<=", 25),
        Check("cost / in memory, FairKMeans", [ratio], "<=", 1.005),
        Check("what balance lacks, FairKMeans", [model.constraint_violation_], "<=", 0),
        Check("counts that are others than told, FairKMeans", [miscounted], "<=", 0),
    ]


def _record(name, seconds, client, asked):
    """What a fit took, and what it asked of its workers."""
    return {
        "what": name,
        "elapsed s": seconds,
        "looks": len(asked["received"]),
        "MB moved": sum(asked["received"] + asked["sent"]) / 1e6,
        "GB of a worker": max(client.run(peak_gigabytes).values()),
        "GB on disk": max(client.run(_spilled).values()) / 1e9,
    }


def _spilled(dask_worker):
    """Bytes that lie on a worker's disk."""
    return dask_worker.data.spilled_total.disk


if __name__ == "__main__":
    larger_than_memory(int(sys.argv[1]) if len(sys.argv) > 1 else 30_000_000)
