"""Fair k-means and embeddings of many samples: two threads, and a cluster of two workers."""

from statistics import median
from time import perf_counter

import numpy as np

from benchmarks.scale.partitions import KEEP_MEMORY, count_traffic
from benchmarks.scale.spectral_large import SEPARATED
from benchmarks.sizes import smallest
from benchmarks.spectral_cases import sparse_sbm
from benchmarks.tables import Check, Report
from skfair._partitions.partitions import BLOCK_SIZE, blocks
from skfair.cluster import FairKMeans, fair_embedding
from skfair.datasets import make_fair_blobs

N_CLUSTERS, N_WORKERS = 10, 2
N_BLOCKS, MIN_BLOCKS = 16, 4


@smallest(BLOCK_SIZE=1000, MIN_BLOCKS=2)
def partitioned_clusters(budget):
    """Fair k-means by one thread, by two and by two workers; an embedding by one thread and two."""
    n_blocks = max(MIN_BLOCKS, int(budget.fraction * N_BLOCKS))
    X, _, groups = make_fair_blobs(
        n_blocks * BLOCK_SIZE, n_features=8, centers=N_CLUSTERS, random_state=0
    )
    graph = sparse_sbm(n_blocks * BLOCK_SIZE, 2 * N_CLUSTERS, SEPARATED)
    records, checks = [], []
    for name, fit, bits in (
        ("FairKMeans", lambda n_jobs: _model(n_jobs).fit(X, sensitive_features=groups), _bits),
        ("embedding", lambda n_jobs: _embedding(graph, n_jobs), lambda result: result.embedding),
    ):
        n_runs = 1  # of the embedding, which takes a minute and has no kernels to compile
        if name == "FairKMeans":
            fit(1)
            n_runs = budget.n_runs
        one, two = zip(*[(_time(fit, 1), _time(fit, 2)) for _ in range(n_runs)], strict=True)
        ratios = [a / b for (_, a), (_, b) in zip(one, two, strict=True)]
        n_different = int((bits(one[0][0]) != bits(two[0][0])).sum())
        checks += [
            Check(f"time, 1 thread / 2, {name}", ratios, ">=", 1.6),
            Check(f"bits that differ, threads, {name}", [n_different], "<=", 0),
        ]
        for by, runs in (("1 thread", one), ("2 threads", two)):
            seconds = median(elapsed for _, elapsed in runs)
            records.append({"what": name, "by": by, "seconds": seconds})
        if name == "FairKMeans":
            record, worker_checks = _fit_on_workers(X, groups, two)
            records.append(record)
            checks += worker_checks
    return Report(f"Clusters of {len(X)} samples in partitions", records, checks)


def _model(n_jobs=None):
    return FairKMeans(N_CLUSTERS, random_state=0, n_jobs=n_jobs)


def _bits(model):
    return np.append(model.labels_, model.cluster_centers_)


def _embedding(graph, n_jobs):
    settings = {"n_components": 2 * N_CLUSTERS, "random_state": 0, "n_jobs": n_jobs}
    return fair_embedding(graph.affinity, sensitive_features=graph.codes, **settings)


def _time(fit, n_jobs):
    """Result of a fit and its elapsed seconds."""
    start = perf_counter()
    return fit(n_jobs), perf_counter() - start


def _scatter(client, rows):
    """Copy rows to the workers; the Dask array of the chunks."""
    import dask
    import dask.array as da

    chunks = [rows[block] for block in blocks(len(rows))]
    futures = map(dask.delayed, client.scatter(chunks, hash=False))
    return da.concatenate(
        [
            da.from_delayed(future, chunk.shape, meta=rows[:0])
            for future, chunk in zip(futures, chunks, strict=True)
        ]
    )


def _fit_on_workers(X, groups, by_threads):
    """Record of fits by Dask workers, and their checks against those by two threads."""
    import dask
    from distributed import Client, LocalCluster

    with (
        dask.config.set(KEEP_MEMORY),
        LocalCluster(n_workers=N_WORKERS, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        arrays = _scatter(client, X), _scatter(client, groups)

        def fit(n_jobs):
            return _model(n_jobs).fit(arrays[0], sensitive_features=arrays[1])

        fit(None)  # kernels are compiled first
        with count_traffic(client) as traffic:
            model, seconds = _time(fit, None)
        seconds = [seconds, *(_time(fit, None)[1] for _ in by_threads[1:])]
    passes = len(traffic["received"])
    moved = sum(traffic["received"] + traffic["sent"]) / 1e6
    record = {"what": "FairKMeans", "by": "2 workers", "seconds": median(seconds)}
    record |= {"passes": passes, "MB moved": moved, "balance": model.relative_balance_}
    in_memory = by_threads[0][0]
    ratios = [a / b for a, (_, b) in zip(seconds, by_threads, strict=True)]
    return record, [
        Check("time, workers / threads, FairKMeans", ratios, "<=", 1.4),
        Check("passes, FairKMeans", [passes], "<=", 25),
        Check("cost, workers / memory", [model.objective_ / in_memory.objective_], "<=", 1.005),
        Check("violation of the balance, workers", [model.constraint_violation_], "<=", 0),
    ]
