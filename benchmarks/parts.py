"""People in parts: threads side by side and a cluster of two workers, against one thread.

Seconds are CPU seconds of the longest path: what the calling thread takes, and at each question the
busiest of the threads, or over the fit the busiest worker, that work for it. It is the time of an
idle machine, but for what travels.
"""

import os
import pickle
import signal
import threading
from contextlib import contextmanager
from statistics import median
from time import process_time, thread_time
from unittest import mock

import numpy as np

from benchmarks.tables import Check, Report
from skfair.classification import ConstrainedERMClassifier, PartialParityClassifier
from skfair.parts import BLOCK, OnDask, _here

CONSTRAINTS = ("demographic_parity", "equalized_odds", "percentiles")
N_COLUMNS, N_WORKERS = 10, 2
N_PARTITIONS, N_BLOCKS = 4, 4
"""A million people and a little more, in partitions of so many blocks.

A partition is of 21 MB; by its own default of 128 MiB, Dask would make one of them all.
"""

SMALL = 1 << 10
"""People of each of a thousand partitions."""

KEEP_MEMORY = {
    f"distributed.nanny.pre-spawn-environ.MALLOC_{kind}_THRESHOLD_": size
    for kind, size in (("TRIM", 1 << 26), ("MMAP", 1 << 24))
}
"""By Dask's own settings workers give memory back after every array: twice the CPU time.

If they keep arrays as large as files are, they seem full, and wait.
"""


def parts(budget):
    """Fits by one thread, by two, by two workers of Dask, by two of which one is lost.

    And of a thousand partitions, to which as many questions go as to those of a thousand million
    people: what moves is as much, only the people of each are fewer.
    """
    import dask
    from distributed import Client, LocalCluster

    size = max(1, int(budget.share * N_BLOCKS))
    n_blocks = N_PARTITIONS * size
    here = people(range(n_blocks))
    records = []
    with (
        dask.config.set(KEEP_MEMORY),
        LocalCluster(n_workers=N_WORKERS, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        there = on_workers(size)
        many = dask.persist(*(own.rechunk({0: SMALL}) for own in there))
        for constraint in CONSTRAINTS:
            for name, data, n_jobs, is_lost in (
                ("1 thread", here, 1, False),
                ("2 threads", here, 2, False),
                ("2 workers", there, None, False),
                ("2 workers, 1 lost", there, None, True),
                (f"2 workers, {many[0].npartitions} partitions", many, None, False),
            ):
                is_once = is_lost or data is many
                n_runs = 1 if is_once else budget.n_runs
                warm = () if is_once else (None,)  # whose kernels are compiled first
                runs = [
                    fitted(client, data, constraint, n_jobs, is_lost)
                    for _ in (*warm, *range(n_runs))
                ][len(warm) :]
                records.append({"constraint": constraint, "by": name, "runs": runs})
                client.wait_for_workers(N_WORKERS)
    title = f"People in parts: {n_blocks * BLOCK} of them"
    return Report(title, [_shown(**one) for one in records], _checks(records))


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


def fitted(client, data, constraint, n_jobs, is_lost):
    """A fit: the model, its seconds, and what was asked of workers."""
    X, y, groups = data
    if constraint == "percentiles":
        model = PartialParityClassifier(interval=(0.1, 0.4), n_jobs=n_jobs)
    else:
        model = ConstrainedERMClassifier(constraint, n_jobs=n_jobs)
    with questions(client, loses=6 if is_lost else None) as asked, longest_path(client) as path:
        model.fit(X, y, sensitive_features=groups)
    return model, sum(path), asked


@contextmanager
def longest_path(client):
    """CPU seconds of this thread, and of the busiest of those that work for it side by side."""
    asked, ask, mapping = [], _here._ask, _here._mapping

    def ask_and_time(*arguments):
        own, start = asked[-1] if asked else {}, thread_time()
        answer = ask(*arguments)
        if threading.current_thread() is not threading.main_thread():
            number = threading.get_ident()
            own[number] = own.get(number, 0.0) + thread_time() - start
        return answer

    def mapping_of_question(n_threads):
        asked.append({})
        return mapping(n_threads)

    path = []
    start, before = thread_time(), client.run(process_time)
    with (
        mock.patch.object(_here, "_ask", ask_and_time),
        mock.patch.object(_here, "_mapping", mapping_of_question),
    ):
        yield path
    own = thread_time() - start
    after = client.run(process_time)
    workers = [seconds - before.get(name, 0.0) for name, seconds in after.items()]
    path += [own, *(max(times.values(), default=0.0) for times in asked)]
    # A million people in memory leave the workers idle, but for their heartbeats.
    path.append(max(workers) if not asked else 0.0)


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
    gather, send = OnDask._gather, OnDask._sent

    def gather_and_count(self, futures):
        answers = gather(self, futures)
        found["received"].append(len(pickle.dumps(answers)))
        if len(found["received"]) == loses:
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        return answers

    def send_and_count(self, question):
        found["sent"].append(len(dumps(question)))
        return send(self, question)

    with (
        mock.patch.object(OnDask, "_gather", gather_and_count),
        mock.patch.object(OnDask, "_sent", send_and_count),
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
            Check(f"time, 1 thread / 2, {constraint}", _ratios(alone, threads), ">=", 1.7),
            Check(f"time, workers / threads, {constraint}", _ratios(workers, threads), "<=", 1.6),
            Check(f"bits that differ, threads, {constraint}", _differing(alone, threads), "<=", 0),
            Check(
                f"bits that differ, worker lost, {constraint}", _differing(workers, lost), "<=", 0
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
