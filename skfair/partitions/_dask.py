"""Workers of a Dask cluster, and the partitions that they store or read for every pass."""

import asyncio
import contextlib
import sys
from time import monotonic

import numpy as np

from skfair.partitions._partitions import FAN_IN, sum_all
from skfair.utils._messages import warn

CHECK_EVERY = 5.0  # seconds between two checks whether there are workers
WARN_AFTER = 30.0  # seconds without any worker
TIMEOUT = "skfair.no-workers-timeout"  # key of Dask's configuration
DEFAULT_TIMEOUT = "5 minutes"
_MAX_DIRECT = 32  # partitions up to which a task is sent with each of its calls


class DaskWorkers:
    """Engine of partitions on the workers of a Dask cluster.

    A task is sent with its arguments, to each worker once if partitions are many. It is called
    beside each partition, and results are added in a tree. Partitions of a worker that is lost are
    computed again by Dask. As the order of additions is that of the partitions, sums are the same
    to the bit.

    Parameters
    ----------
    client : distributed.Client
        The cluster.
    partitions : sequence of distributed.Future, or of dask.delayed.Delayed
        Lists of blocks: those that workers store, or those that they read for every pass.

    Examples
    --------
    >>> import numpy as np
    >>> from distributed import Client
    >>> from skfair.partitions import DaskWorkers, Partitions
    >>> with Client(processes=False, dashboard_address=":0") as client:
    ...     stored = client.map(lambda n: [np.ones(n)], range(1, 5))
    ...     Partitions(DaskWorkers(client, stored)).reduce(np.sum)
    np.float64(10.0)
    """

    is_cluster = True
    only_block = None

    def __init__(self, client, partitions):
        self.client, self.partitions, self._latest = client, list(partitions), None
        self.is_stored = not hasattr(self.partitions[0], "__dask_graph__")

    def __len__(self):
        return len(self.partitions)

    def results(self, task, others):
        """Results of a task for each partition, in their order."""
        return self._gather(self._submit(task, others))

    def reduce(self, task, others):
        """Sum of the results of a task over partitions."""
        results = self._submit(task, others)
        # Add eight neighbouring results at a time, on the workers, until few are left.
        while len(results) > FAN_IN:
            groups = [results[i : i + FAN_IN] for i in range(0, len(results), FAN_IN)]
            results = self.client.map(sum_all, groups, pure=False)
        # The last of the tree: no worker waits for another.
        return sum_all(self._gather(results))

    def _gather(self, results):
        """Results of futures, brought to this process."""
        # They are released once the next pass has begun, which that message would delay by 10 ms.
        self._latest = results
        return gather(self.client, results)

    def keep(self, task, others):
        """An engine whose workers store the results of a task."""
        return DaskWorkers(self.client, self._submit(task, others))

    def concatenate(self, task, others, lengths, empty):
        """One array of Dask of the results of a task."""
        import dask.array as da
        from dask import delayed

        chunks = self.client.map(np.concatenate, self._submit(task, others), pure=False)
        chunks = zip(map(delayed, chunks), lengths, strict=True)
        inner = empty.shape[1:]
        return da.concatenate(
            [da.from_delayed(chunk, (length, *inner), meta=empty) for chunk, length in chunks]
        )

    def _submit(self, task, others):
        """Futures of what a task makes of each partition."""
        # To few partitions it is sent with every call, as workers wait for messages of one another.
        if self.is_stored and len(self) <= _MAX_DIRECT:
            columns = self.partitions, *(other.partitions for other in others)
            return self.client.map(task, *columns, pure=False)
        # The task is the result of a task itself, so that Dask computes it again if its worker is
        # lost. An object that was scattered would be gone.
        task = self.client.submit(_identity, task, pure=False)
        columns = [[task] * len(self), self.partitions, *(other.partitions for other in others)]
        # Stored partitions are futures, with which one call per partition is submitted.
        if self.is_stored:
            return self.client.map(_call, *columns, pure=False)
        from dask import delayed

        # In one graph, in which a partition's result is computed before the next one is read.
        call = delayed(_call, pure=False)
        return self.client.compute([call(*row) for row in zip(*columns, strict=True)])


def active_client():
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
    if hasattr(thread_state, "start_time"):  # in a task
        with contextlib.suppress(KeyError):  # it has seceded before
            secede()
    return client


def gather(client, futures):
    """Wait for results of tasks; if one fails, or the wait is interrupted, all are cancelled.

    Warns after 30 s without any worker, and raises TimeoutError after as long as Dask's setting
    ``skfair.no-workers-timeout``.
    """
    try:
        return _await_results(client, futures)
    except BaseException as error:
        was_closed = client.status in ("closing", "closed") and isinstance(error, Exception)
        with contextlib.suppress(Exception):  # of a closed client, which would hide the error
            client.cancel(futures)
        if was_closed:
            raise RuntimeError(
                "The Dask client was closed during a fit or a computation. Keep it open until the "
                "call has returned."
            ) from error
        if type(error).__name__ == "KilledWorker":
            raise MemoryError(
                "Workers of the Dask cluster died repeatedly at one partition. A worker needs "
                "memory for a partition and half as much again. Make more and smaller partitions, "
                "or give workers more memory."
            ) from error
        raise


def _await_results(client, futures):
    """Results of tasks, unless there is no worker for too long."""
    # Poll: Dask itself would wait forever for a cluster that has lost all its workers.
    gathering = client.sync(_begin, client, futures)
    last_time, has_warned = monotonic(), False
    while not gathering.done():
        # The clock runs only while there is no worker, and starts again once there is one.
        if client.sync(_has_workers, client):
            last_time, has_warned = monotonic(), False
        elif monotonic() - last_time >= WARN_AFTER and not has_warned:
            warn(_no_workers_message(client, futures, WARN_AFTER))
            has_warned = True
        timeout = _timeout()
        if monotonic() - last_time >= timeout:
            gathering.get_loop().call_soon_threadsafe(gathering.cancel)
            raise TimeoutError(_no_workers_message(client, futures, timeout))
        client.sync(_wait, gathering)
    return gathering.result()


async def _begin(client, futures):
    """A task of the client's event loop that gathers the futures; mostly it is done."""
    gathering = asyncio.ensure_future(client.gather(futures, asynchronous=True))
    await _wait(gathering)
    return gathering


async def _wait(gathering):
    """Wait until results are there, or until it is time to see whether there are workers."""
    try:
        await asyncio.wait({gathering}, timeout=CHECK_EVERY)
    except asyncio.CancelledError:  # the wait was interrupted
        gathering.cancel()
        raise


async def _has_workers(client):
    try:
        return bool(await client.scheduler.ncores())
    except OSError:  # the scheduler does not answer
        return False


def _timeout():
    """Seconds without any worker after which a wait ends."""
    import dask

    timeout = dask.utils.parse_timedelta(dask.config.get(TIMEOUT, DEFAULT_TIMEOUT))
    return float("inf") if timeout is None else timeout


def _no_workers_message(client, futures, seconds):
    n_missing = sum(not future.done() for future in futures)
    return (
        f"{n_missing} of {len(futures)} results are awaited from the Dask cluster at "
        f"{client.scheduler.address}, which has had no worker for {seconds:g} s. Start workers. "
        f"Dask's setting {TIMEOUT!r} (now {_timeout():g} s) says after how long a call gives up."
    )


def check_workers(client):
    """Refuse workers without skfair, which would never end tasks that they cannot read."""
    results = client.run(exec, "import skfair", on_error="return")
    for error in results.values():
        if isinstance(error, ModuleNotFoundError):
            raise ModuleNotFoundError(
                "The workers of the Dask cluster must have skfair installed, in the version of the "
                f"client, but one of them says: {error}; install it in their environment.",
                name=error.name,
            ) from error


def _identity(task):
    return task


def _call(task, *columns):
    return task(*columns)
