"""Fair k-means and embeddings of many samples: two threads, and a cluster of two workers."""

from statistics import median
from time import perf_counter

import numpy as np

from benchmarks.scale.partitions import KEEP_MEMORY, questions
from benchmarks.scale.spectral_large import SEPARATED
from benchmarks.spectral_cases import sparse_sbm
from benchmarks.tables import Check, Report
from skfair.cluster import FairKMeans, fair_embedding
from skfair.datasets import make_fair_blobs
from skfair.partitions import BLOCK, blocks

N_CLUSTERS, N_WORKERS = 10, 2
N_BLOCKS, LEAST = 16, 4


def partitioned_clusters(budget):
    """Fair k-means by one thread, by two and by two workers; an embedding by one thread and two."""
    n_blocks = max(LEAST, int(budget.share * N_BLOCKS))
    X, _, groups = make_fair_blobs(
        n_blocks * BLOCK, n_features=8, centers=N_CLUSTERS, random_state=0
    )
    graph = sparse_sbm(n_blocks * BLOCK, 2 * N_CLUSTERS, SEPARATED)
    records, checks = [], []
    for name, fit, bits in (
        ("FairKMeans", lambda n_jobs: _model(n_jobs).fit(X, sensitive_features=groups), _bits),
        ("embedding", lambda n_jobs: _embedding(graph, n_jobs), lambda found: found.embedding),
    ):
        n_runs = 1  # of the embedding, which takes a minute and has no kernels to compile
        if name == "FairKMeans":
            fit(1)
            n_runs = budget.n_runs
        alone, two = zip(*[(_timed(fit, 1), _timed(fit, 2)) for _ in range(n_runs)], strict=True)
        ratios = [a / b for (_, a), (_, b) in zip(alone, two, strict=True)]
        differing = int((bits(alone[0][0]) != bits(two[0][0])).sum())
        checks += [
            Check(f"time, 1 thread / 2, {name}", ratios, ">=", 1.6),
            Check(f"bits that differ, threads, {name}", [differing], "<=", 0),
        ]
        for by, runs in (("1 thread", alone), ("2 threads", two)):
            records.append({"what": name, "by": by, "seconds": median(own for _, own in runs)})
        if name == "FairKMeans":
            record, on_workers = _on_workers(X, groups, two)
            records.append(record)
            checks += on_workers
    return Report(f"Clusters of {len(X)} people in parts", records, checks)


def _model(n_jobs=None):
    return FairKMeans(N_CLUSTERS, random_state=0, n_jobs=n_jobs)


def _bits(model):
    return np.append(model.labels_, model.cluster_centers_)


def _embedding(graph, n_jobs):
    settings = {"n_components": 2 * N_CLUSTERS, "random_state": 0, "n_jobs": n_jobs}
    return fair_embedding(graph.affinity, sensitive_features=graph.codes, **settings)


def _timed(fit, n_jobs):
    """What was fitted, and the seconds that one waits for it."""
    start = perf_counter()
    return fit(n_jobs), perf_counter() - start


def _scattered(client, rows):
    """The same rows as an array of Dask, whose chunks lie on the workers."""
    import dask
    import dask.array as da

    chunks = [rows[own] for own in blocks(len(rows))]
    there = map(dask.delayed, client.scatter(chunks, hash=False))
    return da.concatenate(
        [
            da.from_delayed(one, own.shape, meta=rows[:0])
            for one, own in zip(there, chunks, strict=True)
        ]
    )


def _on_workers(X, groups, two):
    """The record of fits on workers of Dask, and checks against those by two threads."""
    import dask
    from distributed import Client, LocalCluster

    with (
        dask.config.set(KEEP_MEMORY),
        LocalCluster(n_workers=N_WORKERS, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        there = _scattered(client, X), _scattered(client, groups)

        def fit(n_jobs):
            return _model(n_jobs).fit(there[0], sensitive_features=there[1])

        fit(None)  # kernels are compiled first
        with questions(client, loses=None) as asked:
            model, seconds = _timed(fit, None)
        seconds = [seconds, *(_timed(fit, None)[1] for _ in two[1:])]
    looks = len(asked["received"])
    moved = sum(asked["received"] + asked["sent"]) / 1e6
    record = {"what": "FairKMeans", "by": "2 workers", "seconds": median(seconds)}
    record |= {"looks": looks, "MB moved": moved, "balance": model.relative_balance_}
    whole, ratios = two[0][0], [a / b for a, (_, b) in zip(seconds, two, strict=True)]
    return record, [
        Check("time, workers / threads, FairKMeans", ratios, "<=", 1.4),
        Check("looks, FairKMeans", [looks], "<=", 25),
        Check("cost, workers / memory", [model.objective_ / whole.objective_], "<=", 1.005),
        Check("what balance lacks, workers", [model.constraint_violation_], "<=", 0),
    ]
