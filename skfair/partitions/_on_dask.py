"""Parts on the workers of a Dask cluster."""

import asyncio
import contextlib
import sys
from time import monotonic

from skfair.partitions._partitions import FAN_IN, Partitions, check_handed_out, sum_of
from skfair.utils._messages import warn

CHECK_EVERY = 5.0  # seconds between two looks whether there are workers
WARN_AFTER = 30.0  # seconds without any worker
TIMEOUT = "skfair.no-workers-timeout"  # key of Dask's configuration
DEFAULT_TIMEOUT = "5 minutes"


class OnDask(Partitions):
    """Parts that lie in the memory of Dask's workers.

    A question travels to each worker once, with its arguments; it is one task per part, beside the
    part, and a tree of additions. Parts of a worker that is lost are made again by Dask, and as the
    order of additions is that of the parts, answers are the same to the bit.

    Parameters
    ----------
    client : distributed.Client
        The cluster.
    futures : sequence of distributed.Future
        The parts.

    Examples
    --------
    >>> import numpy as np
    >>> from distributed import Client
    >>> from skfair.partitions import OnDask
    >>> with Client(processes=False, dashboard_address=":0") as client:
    ...     OnDask(client, client.map(np.ones, range(1, 5))).total(np.sum)
    np.float64(10.0)
    """

    def __init__(self, client, futures):
        self.client = client
        self.futures = list(futures)

    def __len__(self):
        return len(self.futures)

    def total(self, function, *arguments):
        answers = self._asked(function, arguments)
        while len(answers) > FAN_IN:
            groups = [answers[i : i + FAN_IN] for i in range(0, len(answers), FAN_IN)]
            answers = self.client.map(sum_of, groups, pure=False)
        return sum_of(self._gather(answers))  # the last of the tree: no worker waits for another

    def each(self, function, *arguments):
        return OnDask(self.client, self._asked(function, arguments))

    def collect(self, function, *arguments):
        return self._gather(self._asked(function, arguments))

    def kept(self):
        return self

    def joined(self, lengths, empty):
        import dask.array as da
        from dask import delayed

        pieces = zip(map(delayed, self.futures), lengths, strict=True)
        inner = empty.shape[1:]
        return da.concatenate(
            [da.from_delayed(piece, (length, *inner), meta=empty) for piece, length in pieces]
        )

    def _asked(self, function, arguments):
        """Futures of what the function makes of each part."""
        check_handed_out(self, arguments, OnDask)
        in_parts = [one.futures for one in arguments if isinstance(one, OnDask)]
        same = tuple(_OfPart if isinstance(one, OnDask) else one for one in arguments)
        question = [self._sent(_Question(function, same))] * len(self)
        return self._mapped(_answer, self.futures, question, *in_parts)

    def _mapped(self, function, *futures):
        return self.client.map(function, *futures, pure=False)

    def _sent(self, question):
        """A future of what all parts are asked, which each worker is sent and reads once.

        It is the answer of a task, and made again if its worker is lost; an object that was
        scattered would be gone.
        """
        return self.client.submit(_as_it_is, question, pure=False)

    def _gather(self, futures):
        return gather(self.client, futures)


class ReadOnDask(OnDask):
    """Parts that Dask's workers read for every question and forget after it.

    What `each` makes of them stays with the workers: whoever asks more than once makes of a part
    what shall be kept.

    Parameters
    ----------
    client : distributed.Client
        The cluster.
    futures : sequence of dask.delayed.Delayed
        What reads each of the parts.
    """

    def _mapped(self, function, *futures):
        from dask import delayed

        # Of one graph: what is made of a part comes before the next part is read.
        ask = delayed(function, pure=False)
        return self.client.compute([ask(*own) for own in zip(*futures, strict=True)])


def active_client():
    """The client of this process or task, or None.

    A task secedes from the thread pool of its worker: what it asks for may need all of the threads,
    which tasks like it would hold while they wait.
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
    """Wait for results of tasks. If one fails, or the wait is interrupted, all are cancelled.

    Raises
    ------
    MemoryError
        If workers died again and again at one task.
    TimeoutError
        If there has been no worker for as long as Dask's setting ``skfair.no-workers-timeout``.
    RuntimeError
        If the client was closed.

    Warns
    -----
    UserWarning
        If there has been no worker for 30 seconds.
    """
    try:
        return _awaited(client, futures)
    except BaseException as error:
        was_closed = client.status in ("closing", "closed") and isinstance(error, Exception)
        with contextlib.suppress(Exception):  # of a closed client, which would hide the error
            client.cancel(futures)
        if was_closed:
            raise RuntimeError(
                "The Dask client was closed while results were awaited. Keep it open until the "
                "call that needs them has returned."
            ) from error
        if type(error).__name__ == "KilledWorker":
            raise MemoryError(
                "Workers of the Dask cluster died again and again at one part. Mostly a part "
                "does not fit into the memory of a worker, with half as much to work in: make "
                "more and smaller partitions, or give workers more memory."
            ) from error
        raise


def _awaited(client, futures):
    """Results of tasks, unless there is no worker for too long."""
    gathering = client.sync(_begin, client, futures)
    last_seen, has_warned = monotonic(), False
    while not gathering.done():
        if client.sync(_has_workers, client):
            last_seen, has_warned = monotonic(), False
        elif monotonic() - last_seen >= WARN_AFTER and not has_warned:
            warn(_without_workers(client, futures, WARN_AFTER))
            has_warned = True
        timeout = _timeout()
        if monotonic() - last_seen >= timeout:
            gathering.get_loop().call_soon_threadsafe(gathering.cancel)
            raise TimeoutError(_without_workers(client, futures, timeout))
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


def _without_workers(client, futures, seconds):
    n_missing = sum(not future.done() for future in futures)
    return (
        f"{n_missing} of {len(futures)} results are awaited from the Dask cluster at "
        f"{client.scheduler.address}, which has had no worker for {seconds:g} s. Start workers. "
        f"Dask's setting {TIMEOUT!r} (now {_timeout():g} s) says after how long a call gives up."
    )


def check_workers(client):
    """Refuse workers without skfair, which would wait for ever for tasks that they cannot read.

    Raises
    ------
    ModuleNotFoundError
        If one of them cannot import it.
    """
    found = client.run(exec, "import skfair", on_error="return")
    for error in found.values():
        if isinstance(error, ModuleNotFoundError):
            raise ModuleNotFoundError(
                "The workers of the Dask cluster must have skfair installed, in the version of the "
                f"client, but one of them says: {error}; install it in their environment.",
                name=error.name,
            ) from error


def _as_it_is(argument):
    return argument


class _Question:
    """A function and its arguments; Dask would look for tasks in a tuple of them."""

    def __init__(self, function, arguments):
        self.function, self.arguments = function, arguments


class _OfPart:
    """Stands in a question where an argument is handed out part by part."""


def _answer(part, question, *own):
    own = iter(own)
    arguments = (next(own) if one is _OfPart else one for one in question.arguments)
    return question.function(part, *arguments)
