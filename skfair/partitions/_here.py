"""Parts on this machine: in memory, or read again whenever they are asked for."""

from abc import abstractmethod
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache, partial
from itertools import count
from threading import Event

import numpy as np
from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

from skfair.partitions._partitions import Partitions, check_handed_out, tree_sum


class _Here(Partitions):
    """Parts that threads of this process ask; numpy and kernels let them run side by side."""

    def __init__(self, n_jobs):
        self.n_jobs = n_jobs

    @abstractmethod
    def part(self, number):
        """One of the parts."""

    def total(self, function, *arguments):
        return tree_sum(self._answers(function, arguments), len(self))

    def collect(self, function, *arguments):
        return list(self._answers(function, arguments))

    def kept(self):
        return InMemory(self.collect(_as_it_is), self.n_jobs)

    def joined(self, lengths, empty):
        return np.concatenate(self.collect(np.asarray)).astype(empty.dtype, copy=False)

    def _answers(self, function, arguments):
        """Yield what the function makes of each part, in their order."""
        check_handed_out(self, arguments, _Here)
        ask = partial(_ask, function, self, arguments)
        if len(self) == 1:  # few people, for whom BLAS may use what it likes
            yield ask(0)
            return
        n_threads = min(n_threads_of(self.n_jobs), len(self))
        # Sums of BLAS depend on the number of its threads, which would be too many besides.
        with _blas().limit(limits=1, user_api="blas"), _mapping(n_threads) as mapped:
            yield from mapped(ask, range(len(self)))


def _ask(function, parts, arguments, number):
    own = (one.part(number) if isinstance(one, _Here) else one for one in arguments)
    return function(parts.part(number), *own)


def _as_it_is(part):
    return part


@lru_cache(maxsize=1)
def _blas():
    return ThreadpoolController()


def n_threads_of(n_jobs):
    """Threads that ``n_jobs`` asks for, where fits that run side by side may have them already.

    Parameters
    ----------
    n_jobs : int or None
        As scikit-learn has it. Less than 0 is one thread within tasks of joblib, such as the fits
        of a search.

    Returns
    -------
    n_threads : int

    Examples
    --------
    >>> from joblib import Parallel, delayed
    >>> from skfair.partitions import n_threads_of
    >>> Parallel(2, prefer="threads")(delayed(n_threads_of)(n_jobs) for n_jobs in (None, -1, 3))
    [1, 1, 3]
    """
    is_task = bool(get_active_backend()[0].nesting_level)
    return 1 if n_jobs is not None and n_jobs < 0 and is_task else effective_n_jobs(n_jobs)


@contextmanager
def _mapping(n_threads):
    """A ``map`` over so many threads, which stop when it is left, be it by an error or Ctrl-C."""
    if n_threads == 1:
        yield map
        return
    with ThreadPoolExecutor(n_threads) as pool:
        yield partial(_shared_map, pool, n_threads)


def _shared_map(pool, n_threads, function, values):
    """What threads make of values, of which each takes the next one that is left.

    They are waited for once: values handed out and answers taken in one by one cost time that all
    threads but this one are idle.
    """
    answers, numbers, stop = [None] * len(values), count(), Event()

    def work():
        try:
            while not stop.is_set() and (number := next(numbers)) < len(values):
                answers[number] = function(values[number])
        finally:  # the others too: nothing is left, or there is an error
            stop.set()

    try:
        for done in [pool.submit(work) for _ in range(n_threads)]:
            done.result()
    finally:
        stop.set()
    return answers


class InMemory(_Here):
    """Parts that lie in the memory of this process.

    Parameters
    ----------
    parts : sequence
        The parts.
    n_jobs : int or None, default=None
        Threads; None is 1 unless in a `joblib.parallel_config` context, -1 is all processors.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.partitions import InMemory, blocks
    >>> X = np.arange(10.0)
    >>> InMemory([X[rows] for rows in blocks(10, size=4)], n_jobs=2).total(np.sum)
    np.float64(45.0)
    """

    def __init__(self, parts, n_jobs=None):
        super().__init__(n_jobs)
        self._parts = list(parts)

    def __len__(self):
        return len(self._parts)

    def part(self, number):
        return self._parts[number]

    def each(self, function, *arguments):
        return InMemory(self.collect(function, *arguments), self.n_jobs)


class Stored(_Here):
    """Parts that are read for every question and forgotten after it, for data beyond memory.

    What `each` makes of them is not kept either, but made again from what is read.

    Parameters
    ----------
    read : callable
        number -> the part.
    n_parts : int
        How many there are.
    n_jobs : int or None, default=None
        Threads, each of which holds one part; as in `InMemory`.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.partitions import Stored
    >>> Stored(np.arange, n_parts=4).total(np.sum)  # 0 of nothing, 0, 0 + 1, 0 + 1 + 2
    np.int64(4)
    """

    def __init__(self, read, n_parts, n_jobs=None):
        super().__init__(n_jobs)
        self._read = read
        self._n_parts = n_parts

    def __len__(self):
        return self._n_parts

    def part(self, number):
        return self._read(number)

    def each(self, function, *arguments):
        check_handed_out(self, arguments, _Here)
        return Stored(partial(_ask, function, self, arguments), len(self), self.n_jobs)
