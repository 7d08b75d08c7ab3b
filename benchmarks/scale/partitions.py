"""People in parts: threads side by side and a cluster of two workers, against one thread.

Seconds are those that users wait for: threads that wait for one another, and workers that are sent
to, spend no CPU time on it. They mean something on a machine that is idle otherwise.
"""

import os
import pickle
import signal
from contextlib import contextmanager
from statistics import median
from time import perf_counter
from unittest import mock

import numpy as np

from benchmarks.tables import Check, Report
from skfair.classification import ConstrainedERMClassifier, PartialParityClassifier
from skfair.partitions import BLOCK, DaskWorkers, _dask

CONSTRAINTS = ("demographic_parity", "equalized_odds", "percentiles")
N_COLUMNS, N_WORKERS = 10, 2
N_PARTITIONS, N_BLOCKS = 4, 4
"""A million people and a little more, in partitions of so many blocks.

A partition is of 21 MB; by its own default of 128 MiB, Dask would make one of them all.
"""

NOTHING = {"received": [], "sent": []}
"""What is asked of workers by fits that have none."""

SMALL = 1 << 10
"""People of each of a thousand partitions."""

KEEP_MEMORY = {
    f"distributed.nanny.pre-spawn-environ.MALLOC_{kind}_THRESHOLD_": size
    for kind, size in (("TRIM", 1 << 26), ("MMAP", 1 << 24))
}
"""By Dask's own settings workers give memory back after every array: twice the CPU time.

If they keep arrays as large as files are, they seem full, and wait.
"""


def partitions(budget):
    """Fits by one thread, by two, by two workers of Dask, by two of which one is lost.

    And of a thousand partitions, to which as many questions go as to those of a thousand million
    people: what moves is as much, only the people of each are fewer.
    """
    import dask
    from distributed import Client, LocalCluster

    size = max(1, int(budget.share * N_BLOCKS))
    n_blocks = N_PARTITIONS * size
    here = people(range(n_blocks))
    records = [record for name in CONSTRAINTS for record in by_threads(here, name, budget.n_runs)]
    with (
        dask.config.set(KEEP_MEMORY),
        LocalCluster(n_workers=N_WORKERS, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        there = on_workers(size)
        for name in CONSTRAINTS:
            records += by_workers(client, there, name, budget.n_runs)
    title = f"People in parts: {n_blocks * BLOCK} of them"
    return Report(title, [_shown(**one) for one in records], _checks(records))


def by_threads(here, constraint, n_runs):
    """Records of fits by one thread and by two, in turns; kernels are compiled first."""
    fitted(here, constraint, 1)
    pairs = [[fitted(here, constraint, n_jobs) for n_jobs in (1, 2)] for _ in range(n_runs)]
    for by, runs in zip(("1 thread", "2 threads"), zip(*pairs, strict=True), strict=True):
        yield {"constraint": constraint, "by": by, "runs": [(*run, NOTHING) for run in runs]}


def by_workers(client, there, constraint, n_runs):
    """Records of fits by two workers, by two of which one is lost, and of many partitions."""
    import dask

    yield _on_workers(client, there, constraint, "2 workers", 1 + n_runs)
    yield _on_workers(client, there, constraint, "2 workers, 1 lost", 1, loses=6)
    client.wait_for_workers(N_WORKERS)
    # Not before: those of the lost worker would be made again meanwhile.
    many = dask.persist(*(own.rechunk({0: SMALL}) for own in there))
    by = f"2 workers, {many[0].npartitions} partitions"
    yield _on_workers(client, many, constraint, by, 1)


def _on_workers(client, data, constraint, by, n_fits, loses=None):
    runs = []
    for _ in range(n_fits):
        with questions(client, loses) as asked:
            runs.append((*fitted(data, constraint), asked))
    # The first of several compiles kernels.
    return {"constraint": constraint, "by": by, "runs": runs[1:] or runs}


def block(number):
    """Features, classes and groups of some people; the plain fit does not keep the tolerance."""
    rng = np.random.default_rng(number)
    groups = rng.integers(2, size=BLOCK)
    X = rng.normal(size=(BLOCK, N_COLUMNS))
    X[:, 0] += 0.8 * groups
    scores = X @ np.linspace(1.0, -0.5, N_COLUMNS) + 0.5 * groups
    return X, (scores + rng.logistic(size=BLOCK) > 0).astype(int), groups


def people(numbers):
    """Those of several blocks."""
    return [np.concatenate(own) for own in zip(*map(block, numbers), strict=True)]


def on_workers(size):
    """The same people as arrays of Dask, kept by workers; those of a lost one are made again."""
    import dask
    import dask.array as da

    made = [
        dask.delayed(people, pure=True, nout=3)(range(number * size, (number + 1) * size))
        for number in range(N_PARTITIONS)
    ]
    shapes = (size * BLOCK, N_COLUMNS), (size * BLOCK,), (size * BLOCK,)
    columns = [
        da.concatenate([da.from_delayed(one[i], shape, meta=block(0)[i]) for one in made])
        for i, shape in enumerate(shapes)
    ]
    return dask.persist(*columns)


def fitted(data, constraint, n_jobs=None):
    """A fit: the model, and its seconds."""
    X, y, groups = data
    if constraint == "percentiles":
        model = PartialParityClassifier(interval=(0.1, 0.4), n_jobs=n_jobs)
    else:
        model = ConstrainedERMClassifier(constraint, n_jobs=n_jobs)
    start = perf_counter()
    model.fit(X, y, sensitive_features=groups)
    return model, perf_counter() - start


@contextmanager
def questions(client, loses):
    """Bytes that are sent with each question to workers, and received; one may be lost on the way.

    Parameters
    ----------
    client : Client
        Whose workers are asked.
    loses : int or None
        Number of the question at which one of them is killed.
    """
    from distributed.protocol.pickle import dumps

    found = {"received": [], "sent": []}
    gather, submit = _dask.gather, DaskWorkers._submit

    def gather_and_count(client, futures):
        results = gather(client, futures)
        found["received"].append(len(pickle.dumps(results)))
        if len(found["received"]) == loses:
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        return results

    def submit_and_count(self, task, others):
        found["sent"].append(len(dumps(task)))
        return submit(self, task, others)

    with (
        mock.patch.object(_dask, "gather", gather_and_count),
        mock.patch.object(DaskWorkers, "_submit", submit_and_count),
    ):
        yield found


def _shown(constraint, by, runs):
    model, _, asked = runs[0]
    record = {
        "constraint": constraint,
        "fitted by": by,
        "seconds": median(seconds for _, seconds, _ in runs),
        "objective": model.objective_,
        "gap": model.constraint_report_["gap"].iat[0],
    }
    if asked["received"]:
        record |= {
            "looks": len(asked["received"]),
            "MB received": sum(asked["received"]) / 1e6,
            "MB sent": sum(asked["sent"]) / 1e6,
        }
    return record


def _checks(records):
    checks = []
    for constraint in CONSTRAINTS:
        own = {one["by"]: one["runs"] for one in records if one["constraint"] == constraint}
        alone, threads, workers, lost, many = own.values()
        checks += [
            Check(f"time, 1 thread / 2, {constraint}", _ratios(alone, threads), ">=", 1.6),
            Check(f"time, workers / threads, {constraint}", _ratios(workers, threads), "<=", 1.4),
            Check(f"bits that differ, threads, {constraint}", _differing(alone, threads), "<=", 0),
            Check(
                f"bits that differ, worker lost, {constraint}", _differing(workers, lost), "<=", 0
            ),
            Check(
                f"time, 1 worker lost / none, {constraint}",
                [lost[0][1] / median(seconds for _, seconds, _ in workers)],
                "<=",
                2.0,
            ),
            *_checks_of_workers(constraint, alone, workers),
            *_checks_of_workers(f"{constraint}, many partitions", alone, many),
        ]
    return checks


def _checks_of_workers(name, alone, workers):
    """How near a fit in memory one by workers is, and what it asked of them."""
    _, _, asked = workers[0]
    most_looks = 21 if name.startswith("percentiles") else 14  # whose thresholds are counted too
    moved = sum(asked["received"] + asked["sent"]) / 1e6
    return [
        Check(f"error, workers - memory, {name}", [_apart(alone, workers)], "<=", 5e-4),
        Check(f"looks, {name}", [len(asked["received"])], "<=", most_looks),
        Check(f"MB moved, {name}", [moved], "<=", 40),
    ]


def _ratios(slow, fast):
    return [a / b for (_, a, _), (_, b, _) in zip(slow, fast, strict=True)]


def _bits(run):
    return np.append(run[0].coef_, run[0].intercept_)


def _differing(one, others):
    return [int((_bits(one[0]) != _bits(other)).sum()) for other in others]


def _apart(one, other):
    """By how much another fit's decisions err more about the first people."""
    X, y, _ = people(range(N_PARTITIONS))
    return one[0][0].score(X, y) - other[0][0].score(X, y)
