"""Partitions on a cluster: the same bits as in memory, also where a worker is lost."""

import asyncio
import contextlib
import gc
import itertools
import os
import re
import signal
import sys
import threading
import time
import warnings

import numpy as np
import pytest

from skfair._partitions import dask as dask_module
from skfair._partitions import partitions_of
from skfair._partitions.collections import load_rows
from skfair._partitions.dask import DaskWorkers
from skfair._partitions.partitions import Partitions, make_partitions

da = pytest.importorskip("dask.array")

# Killed processes of Dask warn. These warnings do not concern this package.
pytestmark = pytest.mark.filterwarnings("ignore")


def draw(number):
    rng = np.random.default_rng(number)
    return rng.normal(size=(200, 3)) * 10.0 ** rng.integers(-8, 8)


def outer(rows, shift):
    return len(rows), ((rows - shift).T @ (rows - shift), rows.sum(axis=0))


def slow_outer(rows, shift, seconds=0.05):
    time.sleep(seconds)
    return outer(rows, shift)


def product(one, other):
    return float((one * other).sum())


def handed_over(rows, name, shift, nested, again):
    return name, shift.sum(), nested, np.array_equal(rows, again)


def sum_of_logs(rows):
    return np.log(np.abs(rows)).sum()


class NotInstalled:
    """An importer of a machine where skfair is not installed."""

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "skfair":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def uninstall():
    sys.meta_path.insert(0, NotInstalled())
    for name in [name for name in sys.modules if name.split(".")[0] == "skfair"]:
        del sys.modules[name]


def reinstall():
    sys.meta_path[:] = [one for one in sys.meta_path if not isinstance(one, NotInstalled)]


def dies(rows):
    os.kill(os.getpid(), signal.SIGKILL)  # as Dask does with processes that use too much memory


def ends(rows):
    raise RuntimeError("partition without an end")


def draw_list(number):
    return [draw(number)]


def local(n_partitions):
    return make_partitions([draw(number) for number in range(n_partitions)])


def on_workers(client, n_partitions, first=0):
    stored = client.map(draw_list, range(first, first + n_partitions))
    return Partitions(DaskWorkers(client, stored))


def same_bits(one, other):
    (n, (a, b)), (m, (c, d)) = one, other
    return n == m and np.array_equal(a, c) and np.array_equal(b, d)


@pytest.mark.parametrize("n_partitions", [1, 8, 75])
def test_sums_have_the_bits_of_those_in_memory(client, n_partitions):
    partitions = on_workers(client, n_partitions)
    shift = np.arange(3.0)
    assert len(partitions) == n_partitions
    assert same_bits(partitions.reduce(outer, shift), local(n_partitions).reduce(outer, shift))


def test_what_is_persisted_stays_there_and_may_be_an_argument(client):
    partitions = on_workers(client, 9)
    expected = local(9)
    squares = partitions.map(np.square).persist()
    assert squares.engine.is_stored
    assert partitions.gather(product, squares) == expected.gather(product, expected.map(np.square))
    assert partitions.reduce(product, squares) == expected.reduce(product, expected.map(np.square))


@pytest.mark.parametrize(("n_partitions", "n_sent"), [(9, 0), (33, 1)])
def test_a_task_is_sent_once_to_many_partitions_with_all_of_its_arguments(
    client, monkeypatch, n_partitions, n_sent
):
    partitions = on_workers(client, n_partitions)
    sent = []
    submit = client.submit

    def submit_and_count(function, *arguments, **settings):
        sent.append(function)
        return submit(function, *arguments, **settings)

    monkeypatch.setattr(client, "submit", submit_and_count)
    arguments = "corner", np.arange(3.0), (1, [2, "two"]), partitions
    expected = ("corner", 3.0, (1, [2, "two"]), True)
    assert partitions.gather(handed_over, *arguments) == [expected] * n_partitions
    assert len(sent) == n_sent


@pytest.mark.slow
def test_a_lost_worker_changes_no_bit(client):
    partitions = on_workers(client, 40)
    shift = np.ones(3)
    pids = client.run(os.getpid)
    results = partitions.map(slow_outer, shift).persist()
    os.kill(next(iter(pids.values())), signal.SIGKILL)
    assert same_bits(partitions.reduce(outer, shift), local(40).reduce(outer, shift))
    assert len(results.gather(len)) == 40
    client.wait_for_workers(2, timeout=300)


def during_a_wait(monkeypatch, action):
    """Do something once, as soon as results are awaited that are not there yet."""
    actions = [action]

    async def find_stall(client):
        if actions:
            actions.pop()()

    monkeypatch.setattr(dask_module, "CHECK_EVERY", 0.05)
    monkeypatch.setattr(dask_module, "_relieve_and_explain_stall", find_stall)


@pytest.fixture
def interruptible():
    """Let SIGINT raise: a process that a shell starts in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interruption_cancels_what_was_submitted(client, monkeypatch):
    partitions = on_workers(client, 20)
    cancelled = []
    main = threading.get_ident()
    monkeypatch.setattr(client, "cancel", cancelled.extend)
    during_a_wait(monkeypatch, lambda: signal.pthread_kill(main, signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        partitions.gather(slow_outer, np.ones(3), 0.5)  # five seconds in which to interrupt
    assert cancelled == partitions.engine._latest
    monkeypatch.undo()
    client.cancel(cancelled)
    assert same_bits(partitions.reduce(outer, 1.0), local(20).reduce(outer, 1.0))


@pytest.mark.slow
def test_partitions_at_which_workers_die_must_be_smaller(client, monkeypatch):
    monkeypatch.setattr(client.cluster.scheduler, "allowed_failures", 0)
    with pytest.raises(MemoryError, match="smaller partitions"):
        on_workers(client, 1, first=99).reduce(dies)
    client.restart(timeout=300)  # what died, and what is known of it, is not to meet other tests


def test_errors_at_a_partition_are_raised(client):
    partitions = on_workers(client, 3)
    with pytest.raises(RuntimeError, match="partition without an end"):
        partitions.reduce(ends)
    with pytest.raises(RuntimeError, match="partition without an end") as caught:
        partitions.gather(ends)
    assert re.fullmatch(r"Partition \d of 3 could not be computed\.", caught.value.__notes__[-1])


def test_workers_need_skfair(client):
    client.run(uninstall)
    rows = da.from_array(np.ones((6, 2)), chunks=(3, 2))
    with pytest.raises(ModuleNotFoundError, match="workers .* must have skfair installed"):
        partitions_of(X=rows)
    client.run(reinstall)
    assert partitions_of(X=rows).reduce(sum_of_rows) == 12


def run_with_timeout(function, *arguments, seconds=20):
    """What a function returns or raises in a thread, which it must do in time."""
    outcome = []

    def run():
        try:
            outcome.append(function(*arguments))
        except Exception as error:
            outcome.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert outcome, f"{function} waits for ever"
    return outcome[0]


@pytest.fixture
def small_cluster():
    """A cluster of one thread of this process. Its worker can be removed or paused at once."""
    distributed = pytest.importorskip("distributed")
    settings = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "memory_limit": 0}
    with (
        distributed.LocalCluster(dashboard_address=None, **settings) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield cluster, client


@pytest.fixture
def impatient(monkeypatch):
    dask = pytest.importorskip("dask")
    monkeypatch.setattr(dask_module, "CHECK_EVERY", 0.05)
    monkeypatch.setattr(dask_module, "WARN_AFTER", 0.2)
    with dask.config.set({"skfair.no-workers-timeout": "600ms"}):
        yield


def remove_workers(cluster):
    cluster.scale(0)
    deadline = time.monotonic() + 10
    while cluster.scheduler.workers and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not cluster.scheduler.workers


@pytest.mark.slow
def test_a_cluster_without_workers_ends_a_wait_after_a_warning(small_cluster, impatient):
    cluster, client = small_cluster
    remove_workers(cluster)
    partitions = on_workers(client, 3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        error = run_with_timeout(partitions.gather, len)
    assert isinstance(error, TimeoutError)
    assert "3 of 3 results" in str(error)
    assert "'skfair.no-workers-timeout' (now 0.6 s)" in str(error)
    said = [str(one.message) for one in caught if "no worker" in str(one.message)]
    assert len(said) == 1
    assert "no worker for 0.2 s" in said[0]


def set_status(cluster, status):
    """Pause or resume all workers, as Dask does by their memory; waits until it is known."""
    from distributed.core import Status

    for worker in cluster.workers.values():
        cluster.loop.add_callback(setattr, worker, "status", Status[status])
    deadline = time.monotonic() + 10
    workers = cluster.scheduler.workers.values()
    while {one.status.name for one in workers} != {status} and time.monotonic() < deadline:
        time.sleep(0.01)
    assert {one.status.name for one in workers} == {status}


@pytest.mark.slow
def test_paused_workers_end_a_wait_after_a_warning(small_cluster, impatient):
    cluster, client = small_cluster
    partitions = on_workers(client, 3).keep()
    partitions.gather(len)
    set_status(cluster, "paused")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        error = run_with_timeout(partitions.gather, len)
    assert isinstance(error, TimeoutError)
    said = [str(one.message) for one in caught if "hardly any progress" in str(one.message)]
    assert len(said) == 1
    for message in (said[0], str(error)):
        assert "1 of 1 results" in message  # the worker computes all of its partitions in one
        assert "paused 1 of its 1 workers" in message
        assert "Give workers more memory" in message
    set_status(cluster, "running")
    assert run_with_timeout(partitions.gather, len) == [200, 200, 200]


def test_times_of_workers_that_are_paused_again_and_again_add_up(client, monkeypatch):
    states = itertools.cycle(["has paused 1 of its workers", "has paused 1 of its workers", None])

    async def find_stall(client):
        return next(states)

    monkeypatch.setattr(dask_module, "CHECK_EVERY", 0.05)
    monkeypatch.setattr(dask_module, "_timeout", lambda: 0.6)
    monkeypatch.setattr(dask_module, "_relieve_and_explain_stall", find_stall)
    error = run_with_timeout(on_workers(client, 20).gather, slow_outer, np.ones(3), 0.5)
    assert isinstance(error, TimeoutError) and "has paused 1 of its workers" in str(error)


@pytest.mark.slow
def test_times_of_paused_workers_add_up_over_passes(small_cluster, impatient, monkeypatch):
    """Each pass loses two seconds and ends, as with workers that free memory by and by."""
    _, client = small_cluster
    clock = [0.0]
    checks = []

    async def find_stall(client):
        checks.append(None)
        clock[0] += len(checks) <= 2
        if len(checks) == 2:
            RELEASED.set()
        return "has paused 1 of its 2 workers"

    def wait():
        RELEASED.clear()
        checks.clear()
        return run_with_timeout(
            dask_module.gather, client, [client.submit(await_release, pure=False)]
        )

    monkeypatch.setattr(dask_module, "_relieve_and_explain_stall", find_stall)
    monkeypatch.setattr(dask_module, "monotonic", lambda: clock[0])
    monkeypatch.setattr(dask_module, "_timeout", lambda: 4.5)
    assert wait() == wait() == [True]
    error = wait()
    assert isinstance(error, TimeoutError) and "paused 1 of its 2 workers" in str(error)
    RELEASED.set()
    # The next call has its own time.
    assert wait() == [True]


def test_progress_takes_back_a_quarter_of_its_time():
    clock = dask_module._StallClock()
    clock.add(10.0, "has paused 1 of its 2 workers")
    clock.add(20.0, None)
    assert clock.seconds == 5.0
    clock.add(21.0, None)
    assert clock.seconds == 0.0


def test_a_paused_worker_stalls_nothing_while_another_task_runs(small_cluster, impatient):
    cluster, client = small_cluster
    stored = client.submit(draw_list, 0, pure=False)
    running = client.submit(await_release, pure=False)
    client.gather(stored)
    heartbeat = {"status": "paused", "metrics": {"task_counts": {"executing": 1}}}
    others = ["second", "third"]
    RELEASED.clear()

    async def identity():
        RELEASED.set()
        running = {name: {"status": "running"} for name in others}
        return {"workers": {"paused": heartbeat, **running}}

    assert client.sync(find_stall_of, identity) is None
    assert run_with_timeout(client.gather, running)
    # No task runs, or half of the workers are paused.
    heartbeat["metrics"]["task_counts"] = {}
    assert "paused 1 of its 3 workers" in client.sync(find_stall_of, identity)
    heartbeat["metrics"]["task_counts"] = {"executing": 1}
    others.remove("third")
    assert "paused 1 of its 2 workers" in client.sync(find_stall_of, identity)


async def find_stall_of(identity):
    scheduler = type("Scheduler", (), {"identity": staticmethod(identity)})
    return await dask_module._relieve_and_explain_stall(
        type("Client", (), {"scheduler": scheduler})
    )


@pytest.mark.slow
def test_a_collection_is_not_awaited_for_ever_either(small_cluster, impatient):
    cluster, client = small_cluster
    rows = da.ones((6, 2), chunks=(3, 2))
    assert run_with_timeout(load_rows, rows).shape == (6, 2)
    remove_workers(cluster)
    assert isinstance(run_with_timeout(load_rows, rows), TimeoutError)


RELEASED = threading.Event()


def await_release():
    return RELEASED.wait(15)


def test_a_worker_that_returns_starts_the_clock_again(small_cluster, impatient, monkeypatch):
    _, client = small_cluster
    states = [False, False, True, False, False]
    clock = [0.0]

    async def find_stall(client):
        clock[0] += 1.0
        if len(states) == 1:
            RELEASED.set()
        has_workers = states.pop(0) if states else True
        return None if has_workers else dask_module._NO_WORKERS

    monkeypatch.setattr(dask_module, "_relieve_and_explain_stall", find_stall)
    monkeypatch.setattr(dask_module, "monotonic", lambda: clock[0])
    monkeypatch.setattr(dask_module, "_timeout", lambda: 2.5)
    RELEASED.clear()
    waiting = client.submit(await_release, pure=False)
    assert run_with_timeout(dask_module.gather, client, [waiting]) == [True]
    assert not states


def test_setting_of_none_waits_for_ever(small_cluster, impatient):
    dask = pytest.importorskip("dask")
    with dask.config.set({"skfair.no-workers-timeout": None}):
        assert dask_module._timeout() == float("inf")
    with dask.config.set(dask.config.collect([], env={"DASK_SKFAIR__NO_WORKERS_TIMEOUT": "7s"})):
        assert dask_module._timeout() == 7


@pytest.mark.slow
def test_a_client_that_is_closed_is_named(small_cluster, monkeypatch):
    _, client = small_cluster
    partitions = on_workers(client, 3)
    during_a_wait(monkeypatch, threading.Thread(target=client.close, daemon=True).start)
    error = run_with_timeout(partitions.gather, slowest)
    assert isinstance(error, RuntimeError)
    assert "client was closed" in str(error)


def test_a_client_that_is_closed_between_passes_is_named(small_cluster):
    _, client = small_cluster
    partitions = on_workers(client, 3)
    assert partitions.gather(len) == [200] * 3
    client.close()
    with pytest.raises(RuntimeError, match="client was closed during a fit"):
        partitions.gather(len)


@pytest.mark.slow
def test_a_client_that_is_restarted_is_named(small_cluster, monkeypatch):
    _, client = small_cluster
    partitions = on_workers(client, 3)
    during_a_wait(monkeypatch, threading.Thread(target=client.restart, daemon=True).start)
    error = run_with_timeout(partitions.gather, slowest)
    assert isinstance(error, RuntimeError)
    assert "cluster was restarted" in str(error)


def test_a_scheduler_that_dies_is_named():
    class Lost(Exception):
        reason = "scheduler-connection-lost"

    client = type("Client", (), {"status": "connecting", "scheduler": None})
    for error in (Lost(), OSError("in <TCP (closed)>: Stream is closed")):
        with (
            pytest.raises(ConnectionError, match="connection to the Dask scheduler .* was lost"),
            dask_module._explain_errors(client),
        ):
            raise error


def test_scattered_data_that_are_lost_are_named(small_cluster):
    cluster, client = small_cluster
    partitions = Partitions(DaskWorkers(client, client.scatter([[draw(0)], [draw(1)]])))
    assert partitions.gather(len) == [200] * 2
    remove_workers(cluster)
    error = run_with_timeout(partitions.gather, len)
    assert isinstance(error, RuntimeError)
    assert "scattered to a worker" in str(error)


def test_an_asynchronous_client_is_refused():
    distributed = pytest.importorskip("distributed")

    async def ask_in_the_event_loop():
        settings = {"n_workers": 1, "processes": False, "dashboard_address": None}
        async with distributed.Client(asynchronous=True, **settings):
            with pytest.raises(RuntimeError, match=r"client is asynchronous.*asyncio\.to_thread"):
                ask(60)
            return await asyncio.to_thread(ask, 60)

    assert asyncio.run(ask_in_the_event_loop()) == 120


@pytest.mark.slow
def test_errors_of_several_tasks_are_all_retrieved(client, caplog):
    bad = client.submit(ends, None, pure=False)
    for _ in range(3):
        results = client.map(product, [bad] * 6, range(6), pure=False)
        with pytest.raises(RuntimeError, match="partition without an end"):
            dask_module.gather(client, results)
    del results
    gc.collect()
    time.sleep(0.2)
    assert "Task exception was never retrieved" not in caplog.text


def test_partitions_are_divided_evenly_among_workers(client, monkeypatch):
    X = da.ones((70, 2), chunks=(10, 2))
    shares = []
    compute = client.compute

    def compute_and_count(calls, workers=None, allow_other_workers=None):
        shares.append((len(calls), workers, allow_other_workers))
        return compute(calls, workers=workers, allow_other_workers=allow_other_workers)

    monkeypatch.setattr(client, "compute", compute_and_count)
    assert partitions_of(X=X).keep().reduce(sum_of_rows) == 140
    addresses = sorted(client.nthreads())
    assert shares == [(3, addresses[:1], True), (4, addresses[1:], True)]
    # Persisted partitions stay where they are.
    shares.clear()
    assert partitions_of(X=X.persist()).keep().reduce(sum_of_rows) == 140
    assert shares == [(7, None, None)]


def test_released_partitions_leave_the_cluster(small_cluster):
    cluster, client = small_cluster
    partitions = on_workers(client, 3).map(np.square).keep()
    partitions.gather(len)
    cycle = [partitions]
    cycle.append(cycle)
    partitions.release()
    deadline = time.monotonic() + 10
    while client.futures and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not client.futures


def is_limited(rows):
    return LIMITED[-1:] == [True]


LIMITED = []


@contextlib.contextmanager
def limit_recorded():
    LIMITED.append(True)
    yield
    LIMITED.append(False)


@pytest.mark.parametrize("n_partitions", [2, 33])
def test_sums_of_blas_have_one_thread_on_workers(small_cluster, monkeypatch, n_partitions):
    _, client = small_cluster
    monkeypatch.setattr(dask_module, "single_threaded_blas", limit_recorded)
    LIMITED.clear()
    partitions = on_workers(client, n_partitions)
    assert partitions.gather(is_limited) == [True] * n_partitions
    LIMITED.clear()
    lazy = partitions_of(X=da.ones((20, 2), chunks=(10, 2)))
    assert lazy.gather(is_limited) == [True] * 2
    assert LIMITED == [True, False] * 2


def slowest(rows):
    time.sleep(0.4)
    return len(rows)


def ask(n_rows):
    rows = da.ones((n_rows, 2), chunks=(30, 2))
    return partitions_of(X=rows).reduce(sum_of_rows)


def sum_of_rows(rows):
    return rows["X"].sum()


def ask_with_worker_client(n_rows):
    from distributed import worker_client

    with worker_client():
        return ask(n_rows)


@pytest.mark.parametrize("function", [ask, ask_with_worker_client])
def test_as_many_passes_as_threads_inside_tasks_end(small_cluster, function):
    _, client = small_cluster
    assert run_with_timeout(client.gather, client.map(function, [60, 90, 120])) == [120, 180, 240]


def test_each_thread_of_a_worker_is_called_once_for_the_partitions_that_it_stores(client):
    partitions = on_workers(client, 12).keep()
    expected = partitions.gather(len)  # and now all are computed
    batches = partitions.engine._batches_of_workers()
    assert sorted(itertools.chain.from_iterable(batches)) == [*range(12)]
    assert len(batches) <= sum(client.nthreads().values())
    places = client.who_has(partitions.engine.partitions)
    for batch in batches:
        assert len({places[partitions.engine.partitions[i].key] for i in batch}) == 1
    assert partitions.gather(len) == expected


def test_small_sums_have_the_bits_of_others(client):
    partitions = on_workers(client, 20).keep()
    expected = partitions.reduce(sum_of_logs)
    assert partitions.reduce(sum_of_logs, is_small=True) == expected
    assert partitions.reduce(sum_of_logs, is_small=True) == expected  # now in batches
