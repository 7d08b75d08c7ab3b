"""Workers of a Dask cluster, and the partitions that they store or read for every pass."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import sys
from functools import partial
from itertools import chain
from time import monotonic
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from skfair._partitions.partitions import FAN_IN, sum_all, tree_sum
from skfair._utils.checks import join_names, warn
from skfair._utils.fit import single_threaded_blas

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dask.array import Array
    from dask.delayed import Delayed
    from distributed import Client, Future

    from skfair._partitions.partitions import Engine, Function


CHECK_EVERY = 5.0  # seconds between two checks whether workers can run tasks
WARN_AFTER = 30.0  # seconds in which hardly any could
TIMEOUT_KEY = "skfair.no-workers-timeout"  # key of Dask's configuration
DEFAULT_TIMEOUT = "5 minutes"


class DaskWorkers:
    """Engine of partitions on the workers of a Dask cluster.

    A task is sent with its arguments, to each worker once if partitions are many. It is called
    beside each partition, of few partitions by one call for each thread of a worker. Results are
    added in a tree. Partitions of a worker that is lost are computed again by Dask. As the order of
    additions is that of the partitions, sums are the same to the bit.

    Examples
    --------
    >>> import numpy as np
    >>> from distributed import Client
    >>> from skfair._partitions.dask import DaskWorkers
    >>> from skfair._partitions.partitions import Partitions
    >>> with Client(processes=False, dashboard_address=":0") as client:
    ...     stored = client.map(lambda n: [np.ones(n)], range(1, 5))
    ...     Partitions(DaskWorkers(client, stored)).reduce(np.sum)
    np.float64(10.0)
    """

    is_cluster = True
    only_block: Any = None

    def __init__(self, client: Client, partitions: Sequence[Delayed | Future[Any]]) -> None:
        self.client, self.partitions = client, list(partitions)
        self._latest: list[Future[Any]] = []
        self.is_stored = not hasattr(self.partitions[0], "__dask_graph__")
        self._batches: list[list[int]] | None = None
        # Partitions of a worker that is lost later are computed again.
        self._workers = _worker_addresses(client) if self.is_stored else set()

    def __len__(self) -> int:
        return len(self.partitions)

    def results(self, task: Function, others: list[Engine]) -> list[Any]:
        """Results of a task for each partition, in their order."""
        with _explain_errors(self.client):
            batches = self._batches_of_workers()
            self._latest = self._submit(task, others, batches)
        results = gather(self.client, self._latest, None if batches else "Partition")
        if not batches:
            return results
        pairs = zip(chain.from_iterable(batches), chain.from_iterable(results), strict=True)
        by_number = dict(pairs)
        return [by_number[number] for number in range(len(self))]

    def reduce(self, task: Function, others: list[Engine], is_small: bool) -> Any:
        """Sum of the results of a task over partitions."""
        if is_small and self._is_direct:
            return tree_sum(self.results(task, others))
        with _explain_errors(self.client):
            results = self._submit(task, others)
            # Add eight neighbouring results at a time, on the workers, until few are left.
            while len(results) > FAN_IN:
                groups = [results[i : i + FAN_IN] for i in range(0, len(results), FAN_IN)]
                results = self.client.map(sum_all, groups, pure=False)
        # They are released once the next pass has begun, which that message would delay by 10 ms.
        self._latest = results
        # The last of the tree: no worker waits for another.
        return sum_all(gather(self.client, results))

    def keep(self, task: Function, others: list[Engine]) -> DaskWorkers:
        """An engine whose workers store the results of a task."""
        with _explain_errors(self.client):
            return DaskWorkers(self.client, self._submit(task, others))

    @property
    def n_workers(self) -> int:
        """How many workers there are."""
        return len(_worker_addresses(self.client))

    def release(self) -> None:
        """Let workers forget the stored partitions, also those that a reference cycle holds."""
        for future in self.partitions if self.is_stored else ():
            future.release()
        self._latest = []

    def has_lost_workers(self) -> bool:
        """Whether stored partitions may have been computed again."""
        return not self._workers <= _worker_addresses(self.client)

    def concatenate(
        self, task: Function, others: list[Engine], lengths: list[int], empty: np.ndarray
    ) -> Array:
        """One array of Dask of the results of a task."""
        import dask.array as da
        from dask import delayed

        chunks = self.client.map(np.concatenate, self._submit(task, others), pure=False)
        inner = empty.shape[1:]
        return da.concatenate(
            [
                da.from_delayed(delayed(chunk), (length, *inner), meta=empty)
                for chunk, length in zip(chunks, lengths, strict=True)
            ]
        )

    @property
    def _is_direct(self) -> bool:
        """Whether a task is sent with its calls: workers wait for messages of one another."""
        return self.is_stored and len(self) <= 32

    def _batches_of_workers(self) -> list[list[int]]:
        """Numbers of the few partitions that each thread of a worker stores; [] where unknown.

        Each call takes some milliseconds, whatever it computes.
        """
        if self._batches is None and self._is_direct:
            places = self.client.who_has(self.partitions)
            by_worker: dict[str, list[int]] = {}
            for number, partition in enumerate(self.partitions):
                for address in sorted(places.get(partition.key, ()))[:1]:
                    by_worker.setdefault(address, []).append(number)
            if sum(map(len, by_worker.values())) < len(self):
                return []  # some are still computed
            n_threads = self.client.nthreads()
            batches = [
                numbers[i :: n_threads.get(address, 1)]
                for address, numbers in by_worker.items()
                for i in range(n_threads.get(address, 1))
            ]
            self._batches = [batch for batch in batches if batch]
        return self._batches or []

    def _submit(
        self, task: Function, others: list[Engine], batches: Sequence[list[int]] = ()
    ) -> list[Future[Any]]:
        """Futures of what a task makes of each partition, or lists of such by batch."""
        if self._is_direct:
            columns: list[Any] = [self.partitions, *(other.partitions for other in others)]
            call: partial[Any] = partial(_call_single_threaded, task)
            if batches:
                call = partial(_call_on_batch, task, len(self))
                columns = [range(len(self)), *columns]
                columns = [[[column[i] for i in batch] for batch in batches] for column in columns]
            return self.client.map(call, *columns, pure=False)
        # The task is the result of a task itself, so that Dask computes it again if its worker is
        # lost. An object that was scattered would be gone.
        sent = self.client.submit(_identity, task, pure=False)
        columns = [[sent] * len(self), self.partitions, *(other.partitions for other in others)]
        # Stored partitions are futures, with which one call per partition is submitted.
        if self.is_stored:
            return self.client.map(_call_single_threaded, *columns, pure=False)
        from dask import delayed

        # In one graph, in which a partition's result is computed before the next one is read.
        call = delayed(_call_and_free, pure=False)
        return self._compute_evenly([call(*row) for row in zip(*columns, strict=True)])

    def _compute_evenly(self, calls: list[Delayed]) -> list[Future[Any]]:
        """Futures of delayed calls, as many on each worker: those that store results need memory.

        Partitions in the memory of workers stay there. If a worker is lost, others take its calls.
        """
        addresses = sorted(_worker_addresses(self.client))
        if _is_persisted(self.client, self.partitions[0]) or len(addresses) < 2:
            return self.client.compute(calls)
        # Neighbours are on the same worker, which adds their results.
        futures = []
        n_workers = len(addresses)
        for i, address in enumerate(addresses):
            share = slice(len(calls) * i // n_workers, len(calls) * (i + 1) // n_workers)
            futures += self.client.compute(
                calls[share], workers=[address], allow_other_workers=True
            )
        return futures


def acquire_client() -> Client | None:
    """The client of this process or task, or None.

    A task secedes from the thread pool of its worker, whose threads the tasks that it submits may
    need while it waits.
    """
    if "distributed" not in sys.modules:  # then no client can have been started
        return None
    from distributed import get_client, secede
    from distributed.worker import thread_state

    try:
        client = get_client()
    except ValueError:
        return None
    if client.asynchronous:
        raise RuntimeError(
            "The Dask client is asynchronous, and a call in its event loop would block it. Use "
            "another client, as in Client(address), or call in a thread, as in "
            "await asyncio.to_thread(model.fit, X, y)."
        )
    if hasattr(thread_state, "start_time"):  # in a task
        with contextlib.suppress(KeyError):  # it has seceded before
            secede()
    return client


def gather(client: Client, futures: list[Future[Any]], what: str | None = "Result") -> list[Any]:
    """Wait for results of tasks; if one fails, or the wait is interrupted, all are cancelled.

    A note of the error says which one it is of, by its number, unless ``what`` is None. Warns
    after 30 s in which there was no worker, none ran tasks, or half of them were paused for lack
    of memory, and raises TimeoutError after as long as Dask's setting
    ``skfair.no-workers-timeout``. Such times add up over the calls of a client; times of progress
    take back a quarter of their length.
    """
    with _explain_errors(client):
        try:
            results = _await_results(client, futures)
            _raise_if_failed(futures, what)
            return results
        except BaseException:
            with contextlib.suppress(Exception):  # of a closed client, which would hide the error
                client.cancel(futures)
            raise


@contextlib.contextmanager
def _explain_errors(client: Client | type) -> Iterator[None]:
    """Errors of Dask, raised again with what happened and what to do."""
    try:
        yield
    except Exception as error:
        explanation = _translate_error(client, error)
        if explanation is None:
            raise
        raise explanation from error


def _translate_error(client: Any, error: Exception) -> Exception | None:
    """The error to raise in place of one of Dask; None for other errors."""
    name = type(error).__name__
    reason = getattr(error, "reason", None)
    is_cancelled = name == "FutureCancelledError"
    if name == "KilledWorker":
        return MemoryError(
            "Workers of the Dask cluster died repeatedly at one partition. A worker needs memory "
            "for a partition and half as much again. Make more and smaller partitions, or give "
            "workers more memory."
        )
    if reason == "scheduler-connection-lost" or (
        client.status == "connecting" and (is_cancelled or isinstance(error, OSError))
    ):
        return ConnectionError(
            f"The connection to the Dask scheduler at {_address(client)} was lost during a fit or "
            "a computation. Start the cluster and a new client, and call again."
        )
    if client.status in ("closing", "closed"):
        return RuntimeError(
            "The Dask client was closed during a fit or a computation, by the program or because "
            "its scheduler did not answer. Keep both running until the call has returned."
        )
    if is_cancelled and reason == "scheduler-restart":
        return RuntimeError(
            "The Dask cluster was restarted during a fit or a computation, which discards what its "
            "workers store. Call again, with data that are still there or made again."
        )
    if is_cancelled and reason in ("lost dependencies", "unknown"):
        # Older versions of Dask do not say which data are missing.
        certainty = "" if reason == "lost dependencies" else "cancelled by the program, or "
        return RuntimeError(
            f"Data of a fit or a computation were {certainty}scattered to a worker of the Dask "
            "cluster and lost with it: Dask can compute partitions again, but not what was put "
            "into memory by client.scatter. Scatter the data again, with broadcast=True for a copy "
            "on each worker, or make partitions from files or by functions."
        )
    return None


def _address(client: Any) -> str:
    return getattr(client.scheduler, "address", "its address")


class _StallClock:
    """Seconds in which the workers of a client have hardly run tasks, over all its waits.

    Workers that are paused again and again run few tasks in between, in this pass or the next: such
    times add up. Times of progress count against them with a weight.
    """

    def __init__(self) -> None:
        self.seconds, self.has_warned = 0.0, False
        self._reason: str | None = None

    def add(self, seconds: float, reason: str | None) -> None:
        """Count a time that ended in a stall for this reason, or in progress if it is None."""
        # Progress weighs a quarter: workers that are stalled in a fifth of the time go on.
        weight = -0.25 if reason is None else 1.0
        self.seconds = max(0.0, self.seconds + seconds * weight)
        # It starts again once there are workers, or most of the stalls are long ago.
        if reason is None and (self._reason == _NO_WORKERS or not self.seconds):
            self.seconds, self.has_warned = 0.0, False
        self._reason = reason


_CLOCKS: WeakKeyDictionary[Client, _StallClock] = WeakKeyDictionary()
"""The clock of each client."""


def _await_results(client: Client, futures: list[Future[Any]]) -> list[Any]:
    """Results of tasks, none if one fails, unless workers cannot run them for too long."""
    clock = _CLOCKS.setdefault(client, _StallClock())
    timeout = _timeout()
    before = monotonic()
    # Poll: Dask itself would wait forever for a cluster that has lost all its workers.
    gathering = client.sync(_begin_gathering, client, futures)
    while not gathering.done():
        if any(future.status == "error" for future in futures):
            _cancel(gathering)
            return []
        stall = client.sync(_relieve_and_explain_stall, client)
        now = monotonic()
        clock.add(now - before, stall)
        before = now
        if stall is not None and clock.seconds >= WARN_AFTER and not clock.has_warned:
            warn(_stall_message(client, futures, WARN_AFTER, stall))
            clock.has_warned = True
        if stall is not None and clock.seconds >= timeout:
            _cancel(gathering)
            del _CLOCKS[client]  # the next call has as much time
            raise TimeoutError(_stall_message(client, futures, timeout, stall))
        client.sync(_wait_until_check, gathering)
    clock.add(monotonic() - before, None)
    return gathering.result()


def _cancel(gathering: Any) -> None:
    gathering.get_loop().call_soon_threadsafe(gathering.cancel)


def _raise_if_failed(futures: list[Future[Any]], what: str | None) -> None:
    """Raise the error of the first task that failed, with its number."""
    statuses = [future.status for future in futures]
    failed = [
        number
        for status in ("error", "cancelled", "lost")
        for number, one in enumerate(statuses)
        if one == status
    ]
    if not failed:
        return
    if what is None:
        futures[failed[0]].result()
    try:
        futures[failed[0]].result()
    except KeyError as error:  # says no more than the key
        raise ValueError(
            f"{what} {failed[0]} could not be computed: KeyError {error}. All partitions of a "
            "dataframe must have the columns that it declares."
        ) from error
    except Exception as error:
        error.add_note(_failure_note(what, failed[0], len(futures)))
        raise


async def _begin_gathering(client, futures):
    """A task of the client's event loop that gathers the futures; mostly it is done."""
    # Errors are raised by `_raise_if_failed`. Dask would report all but the first one of several as
    # "never retrieved".
    gathering = client.gather(futures, errors="skip", asynchronous=True)
    gathering = asyncio.ensure_future(gathering)
    await _wait_until_check(gathering)
    return gathering


async def _wait_until_check(gathering):
    """Wait until results are there, or until it is time to see whether workers can run tasks."""
    try:
        await asyncio.wait({gathering}, timeout=CHECK_EVERY)
    except asyncio.CancelledError:  # the wait was interrupted
        gathering.cancel()
        raise


_NO_WORKERS = "has had no worker for {seconds:g} s. Start workers"
"""Why no worker can run tasks where there is none, as the end of a sentence."""


async def _relieve_and_explain_stall(client):
    """Why workers can run hardly any tasks, as the end of a sentence; None if they can."""
    try:
        workers = (await client.scheduler.identity())["workers"]
    except OSError:  # the scheduler does not answer
        workers = {}
    if not workers:
        return _NO_WORKERS
    paused = {address: one for address, one in workers.items() if one["status"] == "paused"}
    counts = [one.get("metrics", {}).get("task_counts", {}) for one in workers.values()]
    is_idle = not any(count.get("executing") for count in counts)
    if not paused or not (is_idle or 2 * len(paused) >= len(workers)):
        return None
    # Memory that libraries keep for later may be what a worker lacks.
    with contextlib.suppress(Exception):
        freeing = client.run(free_memory, workers=[*paused], on_error="ignore")
        await asyncio.wait_for(freeing, CHECK_EVERY)
    return (
        f"has had hardly any progress for {{seconds:g}} s: Dask has paused {len(paused)} of its "
        f"{len(workers)} workers, whose memory is nearly full "
        f"({join_names(map(_describe_memory, paused.values()), 3)}). Give workers more memory, "
        "release persisted data that is no longer needed, or make more and smaller partitions"
    )


def _describe_memory(worker: Any) -> str:
    used = worker.get("metrics", {}).get("memory", 0)
    limit = worker.get("memory_limit") or 0
    return f"{used / 1e9:.2f} of {limit / 1e9:.2f} GB"


def _timeout() -> float:
    """Seconds in which workers can run hardly any tasks, after which a wait ends."""
    import dask

    timeout = dask.utils.parse_timedelta(dask.config.get(TIMEOUT_KEY, DEFAULT_TIMEOUT))
    return float("inf") if timeout is None else timeout


def _stall_message(client: Client, futures: list[Future[Any]], seconds: float, stall: str) -> str:
    n_missing = sum(not future.done() for future in futures)
    return (
        f"{n_missing} of {len(futures)} results are awaited from the Dask cluster at "
        f"{_address(client)}, which {stall.format(seconds=seconds)}. Dask's setting "
        f"{TIMEOUT_KEY!r} (now {_timeout():g} s) says after how long a call gives up."
    )


def _is_persisted(client: Client, partition: Any) -> bool:
    """Whether workers have what a delayed partition is made from in memory already."""
    graph = partition.dask
    tasks = [getattr(task, "dependencies", ()) for task in graph.values()]
    return not client.futures.keys().isdisjoint({*graph, *chain.from_iterable(tasks)})


def _worker_addresses(client: Client) -> set[str]:
    """Addresses of the workers that there are."""
    return set(client.nthreads())


def check_worker_imports(client: Client) -> None:
    """Raise for workers without skfair, which would never end tasks that they cannot read."""

    def import_package() -> None:  # a function in a module would need the module on the worker
        import skfair  # noqa: F401

    with _explain_errors(client):
        results = client.run(import_package, on_error="return")
    for error in results.values():
        if isinstance(error, ModuleNotFoundError):
            raise ModuleNotFoundError(
                "The workers of the Dask cluster must have skfair installed, in the version of the "
                f"client, but one of them says: {error}; install it in their environment.",
                name=error.name,
            ) from error


def _identity(task: Function) -> Function:
    return task


def _call_single_threaded(task: Function, *columns: list[Any]) -> Any:
    """Call a task on a worker, with sums of BLAS that do not depend on its number of threads."""
    with single_threaded_blas():
        return task(*columns)


def _call_on_batch(
    task: Function, n_partitions: int, numbers: list[int], *columns: list[list[Any]]
) -> list[Any]:
    """Call a task on a worker with each of some partitions that it stores."""
    results = []
    for number, *row in zip(numbers, *columns, strict=True):
        try:
            results.append(_call_single_threaded(task, *row))
        except Exception as error:
            error.add_note(_failure_note("Partition", number, n_partitions))
            raise
    return results


def _failure_note(what: str | None, number: int, n_futures: int) -> str:
    return f"{what} {number} of {n_futures} could not be computed."


def _call_and_free(task: Function, *columns: list[Any]) -> Any:
    """Call a task with a partition that was read for it."""
    result = _call_single_threaded(task, *columns)
    free_memory()
    return result


def free_memory() -> None:
    """Return memory that libraries keep for later to the system, where they offer it."""
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].default_memory_pool().release_unused()
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # other C libraries have no malloc_trim
            ctypes.CDLL(None).malloc_trim(0)
