"""Fits of partitioned data: two threads and a cluster of two workers against one thread.

Times are elapsed seconds, because waiting threads and messages to workers take no CPU time. They
are meaningful on an idle machine only.
"""

import os
import pickle
import signal
from contextlib import contextmanager
from statistics import median
from time import perf_counter
from unittest import mock

import numpy as np

from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from skfair._partitions import dask as dask_module
from skfair._partitions.dask import DaskWorkers
from skfair._partitions.partitions import BLOCK_SIZE
from skfair.classification import ConstrainedERMClassifier, PartialParityClassifier

CONSTRAINTS = ("demographic_parity", "equalized_odds", "percentiles")
N_COLUMNS, N_WORKERS = 10, 2
N_PARTITIONS, N_BLOCKS = 4, 4
"""Partitions, and blocks in each: a little more than a million samples.

A partition has 21 MB; by its default of 128 MiB, Dask would make a single one.
"""

NO_TRAFFIC = {"received": [], "sent": []}
"""Traffic of fits without workers."""

SMALL = 1 << 10
"""Samples in each of a thousand partitions."""

KEEP_MEMORY = {
    f"distributed.nanny.pre-spawn-environ.MALLOC_{kind}_THRESHOLD_": size
    for kind, size in (("TRIM", 1 << 26), ("MMAP", 1 << 24))
}
"""With Dask's settings workers return memory after every array, which doubles the CPU time.

If they keep arrays as large as the files, they seem full and wait.
"""


@smallest(CONSTRAINTS=CONSTRAINTS[:1], BLOCK_SIZE=2000, N_PARTITIONS=2)
def partitions(budget):
    """Fits by one thread, two threads, two Dask workers, and two workers of which one is killed.

    Fits to a thousand small partitions show the traffic of a thousand million samples, which takes
    as many messages. ``--cells demographic_parity`` fits this constraint alone.
    """
    import dask
    from distributed import Client, LocalCluster

    constraints = budget.select(CONSTRAINTS)
    size = max(1, int(budget.fraction * N_BLOCKS))
    n_blocks = N_PARTITIONS * size
    arrays = draw_blocks(range(n_blocks))
    records = [row for name in constraints for row in thread_records(arrays, name, budget.n_runs)]
    with (
        dask.config.set(KEEP_MEMORY),
        LocalCluster(n_workers=N_WORKERS, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        arrays = draw_on_workers(size)
        for name in constraints:
            records += worker_records(client, arrays, name, budget.n_runs)
    title = f"Partitioned data, {n_blocks * BLOCK_SIZE} samples"
    return Report(title, [_row(**one) for one in records], _checks(records, constraints))


def thread_records(arrays, constraint, n_runs):
    """Fits by one thread and by two, which alternate; kernels are compiled first."""
    fit(arrays, constraint, 1)
    pairs = [[fit(arrays, constraint, n_jobs) for n_jobs in (1, 2)] for _ in range(n_runs)]
    for by, runs in zip(("1 thread", "2 threads"), zip(*pairs, strict=True), strict=True):
        yield {"constraint": constraint, "by": by, "runs": [(*run, NO_TRAFFIC) for run in runs]}


def worker_records(client, arrays, constraint, n_runs):
    """Fits by two workers, by two of which one is killed, and to many partitions."""
    import dask

    yield _fit_on_workers(client, arrays, constraint, "2 workers", 1 + n_runs)
    yield _fit_on_workers(client, arrays, constraint, "2 workers, 1 killed", 1, lost_at=6)
    client.wait_for_workers(N_WORKERS)
    # Only now are the partitions of the killed worker complete again.
    many = dask.persist(*(array.rechunk({0: SMALL}) for array in arrays))
    by = f"2 workers, {many[0].npartitions} partitions"
    yield _fit_on_workers(client, many, constraint, by, 1)


def _fit_on_workers(client, data, constraint, by, n_fits, lost_at=None):
    runs = []
    for _ in range(n_fits):
        with count_traffic(client, lost_at) as traffic:
            runs.append((*fit(data, constraint), traffic))
    # The first of several fits compiles kernels.
    return {"constraint": constraint, "by": by, "runs": runs[1:] or runs}


def block(number):
    """Draw features, classes and groups; a plain fit violates the tolerance."""
    rng = np.random.default_rng(number)
    groups = rng.integers(2, size=BLOCK_SIZE)
    X = rng.normal(size=(BLOCK_SIZE, N_COLUMNS))
    X[:, 0] += 0.8 * groups
    scores = X @ np.linspace(1.0, -0.5, N_COLUMNS) + 0.5 * groups
    return X, (scores + rng.logistic(size=BLOCK_SIZE) > 0).astype(int), groups


def draw_blocks(numbers):
    """Draw several blocks."""
    return [np.concatenate(columns) for columns in zip(*map(block, numbers), strict=True)]


def draw_on_workers(size):
    """Draw the same samples as Dask arrays on workers; those of a killed worker are drawn again."""
    import dask
    import dask.array as da

    partitions = [
        dask.delayed(draw_blocks, pure=True, nout=3)(range(number * size, (number + 1) * size))
        for number in range(N_PARTITIONS)
    ]
    shapes = (size * BLOCK_SIZE, N_COLUMNS), (size * BLOCK_SIZE,), (size * BLOCK_SIZE,)
    columns = [
        da.concatenate([da.from_delayed(one[i], shape, meta=block(0)[i]) for one in partitions])
        for i, shape in enumerate(shapes)
    ]
    return dask.persist(*columns)


def fit(data, constraint, n_jobs=None):
    """Fit a model; the model and the elapsed seconds."""
    X, y, groups = data
    if constraint == "percentiles":
        model = PartialParityClassifier(interval=(0.1, 0.4), n_jobs=n_jobs)
    else:
        model = ConstrainedERMClassifier(constraint, n_jobs=n_jobs)
    start = perf_counter()
    model.fit(X, y, sensitive_features=groups)
    return model, perf_counter() - start


@contextmanager
def count_traffic(client, lost_at=None):
    """Count the bytes sent and received by each request to workers, one of which may be killed.

    Parameters
    ----------
    client : Client
        Client of the workers.
    lost_at : int or None, default=None
        Number of the request at which a worker is killed.
    """
    from distributed.protocol.pickle import dumps

    traffic = {"received": [], "sent": []}
    gather, submit = dask_module.gather, DaskWorkers._submit

    def gather_and_count(client, futures, *what):
        results = gather(client, futures, *what)
        traffic["received"].append(len(pickle.dumps(results)))
        if len(traffic["received"]) == lost_at:
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        return results

    def submit_and_count(self, task, *others):
        traffic["sent"].append(len(dumps(task)))
        return submit(self, task, *others)

    with (
        mock.patch.object(dask_module, "gather", gather_and_count),
        mock.patch.object(DaskWorkers, "_submit", submit_and_count),
    ):
        yield traffic


def _row(constraint, by, runs):
    model, _, traffic = runs[0]
    record = {
        "constraint": constraint,
        "fitted by": by,
        "seconds": median(seconds for _, seconds, _ in runs),
        "objective": model.objective_,
        "gap": model.constraint_report_["gap"].iat[0],
    }
    if traffic["received"]:
        record |= {
            "passes": len(traffic["received"]),
            "MB received": sum(traffic["received"]) / 1e6,
            "MB sent": sum(traffic["sent"]) / 1e6,
        }
    return record


def _checks(records, constraints):
    checks = []
    for constraint in constraints:
        runs = {one["by"]: one["runs"] for one in records if one["constraint"] == constraint}
        single, threads, workers, killed, many = runs.values()
        checks += [
            Check(f"time, 1 thread / 2, {constraint}", _ratios(single, threads), ">=", 1.6),
            Check(f"time, workers / threads, {constraint}", _ratios(workers, threads), "<=", 1.4),
            Check(
                f"bits that differ, threads, {constraint}", _n_different(single, threads), "<=", 0
            ),
            Check(
                f"bits that differ, 1 worker killed, {constraint}",
                _n_different(workers, killed),
                "<=",
                0,
            ),
            Check(
                f"time, 1 worker killed / none, {constraint}",
                [killed[0][1] / median(seconds for _, seconds, _ in workers)],
                "<=",
                2.0,
            ),
            *_worker_checks(constraint, single, workers),
            *_worker_checks(f"{constraint}, many partitions", single, many),
        ]
    return checks


def _worker_checks(name, single, workers):
    """Error of a fit by workers against one in memory, and its traffic."""
    _, _, traffic = workers[0]
    max_passes = 21 if name.startswith("percentiles") else 14  # some count at its thresholds
    moved = sum(traffic["received"] + traffic["sent"]) / 1e6
    return [
        Check(f"error, workers - memory, {name}", [_error_difference(single, workers)], "<=", 5e-4),
        Check(f"passes, {name}", [len(traffic["received"])], "<=", max_passes),
        Check(f"MB moved, {name}", [moved], "<=", 40),
    ]


def _ratios(slow, fast):
    return [a / b for (_, a, _), (_, b, _) in zip(slow, fast, strict=True)]


def _bits(run):
    return np.append(run[0].coef_, run[0].intercept_)


def _n_different(one, others):
    return [int((_bits(one[0]) != _bits(other)).sum()) for other in others]


def _error_difference(one, other):
    """Excess of the other fit's error on the first blocks."""
    X, y, _ = draw_blocks(range(N_PARTITIONS))
    return one[0][0].score(X, y) - other[0][0].score(X, y)
