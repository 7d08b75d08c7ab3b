"""Threads of this process, and the partitions that they store or read for every pass."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache, partial
from itertools import chain, count
from threading import Event

import numpy as np
from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

from skfair.partitions._partitions import Partitions, tree_sum


class Reader:
    """Partitions that are read for every pass and forgotten after it, for data beyond memory.

    Parameters
    ----------
    read : callable
        number -> list of the blocks of this partition.
    n_partitions : int
        How many there are.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.partitions import Partitions, Reader, Threads
    >>> reader = Reader(lambda number: [np.arange(number)], n_partitions=4)
    >>> Partitions(Threads(reader)).reduce(np.sum)  # 0 of nothing, 0, 0 + 1, 0 + 1 + 2
    np.int64(4)
    """

    def __init__(self, read, n_partitions):
        self._read, self._n_partitions = read, n_partitions

    def __len__(self):
        return self._n_partitions

    def __getitem__(self, number):
        return self._read(number)


class Threads:
    """Engine of partitions of this process; numpy and kernels let threads run side by side.

    Parameters
    ----------
    partitions : list of lists, or Reader
        The blocks of every partition.
    n_jobs : int or None, default=None
        Threads; None is 1 unless in a `joblib.parallel_config` context, -1 is all processors. Each
        holds one of the partitions of a `Reader`.
    """

    is_cluster = False

    def __init__(self, partitions, n_jobs=None):
        self.partitions, self.n_jobs = partitions, n_jobs
        self.is_stored = isinstance(partitions, list)
        is_single = self.is_stored and len(partitions) == 1 == len(partitions[0])
        self.only_block = partitions[0] if is_single else None

    def __len__(self):
        return len(self.partitions)

    def results(self, task, others):
        """Yield what a task makes of each partition, in their order."""
        evaluate = partial(_evaluate, task, [self, *others])
        if len(self) == 1:  # few rows, for which BLAS may use what it likes
            yield evaluate(0)
            return
        n_threads = min(n_threads_of(self.n_jobs), len(self))
        # Sums of BLAS depend on the number of its threads, which would be too many anyway.
        with _blas().limit(limits=1, user_api="blas"), _open_map(n_threads) as mapped:
            yield from mapped(evaluate, range(len(self)))

    def reduce(self, task, others):
        """Sum of the results of a task over partitions."""
        return tree_sum(self.results(task, others))

    def keep(self, task, others):
        """An engine that stores the results of a task."""
        return Threads(list(self.results(task, others)), self.n_jobs)

    def concatenate(self, task, others, lengths, empty):
        """One array of the results of a task."""
        arrays = chain.from_iterable(self.results(task, others))
        return np.concatenate([*arrays]).astype(empty.dtype, copy=False)


def make_partitions(blocks, n_jobs=None):
    """Partitions in memory, of one block each.

    Parameters
    ----------
    blocks : iterable
        The blocks.
    n_jobs : int or None, default=None
        Threads, as in `Threads`.

    Returns
    -------
    partitions : Partitions

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.partitions import blocks, make_partitions
    >>> X = np.arange(10.0)
    >>> make_partitions([X[rows] for rows in blocks(10, size=4)], n_jobs=2).reduce(np.sum)
    np.float64(45.0)
    """
    return Partitions(Threads([[block] for block in blocks], n_jobs))


def _evaluate(task, engines, number):
    return task(*[engine.partitions[number] for engine in engines])


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
def _open_map(n_threads):
    """A ``map`` over so many threads, which stop at its end, by an error or by Ctrl-C as well."""
    if n_threads == 1:
        yield map
        return
    with ThreadPoolExecutor(n_threads) as pool:
        yield partial(_shared_map, pool, n_threads)


def _shared_map(pool, n_threads, function, values):
    """Results of a function of values, of which each thread takes the next one that is left.

    Threads are waited for once: to submit values and receive results one by one costs time in which
    all other threads are idle.
    """
    results, numbers, stop = [None] * len(values), count(), Event()

    def work():
        try:
            while not stop.is_set() and (number := next(numbers)) < len(values):
                results[number] = function(values[number])
        finally:  # stop the others: nothing is left, or there is an error
            stop.set()

    try:
        for future in [pool.submit(work) for _ in range(n_threads)]:
            future.result()
    finally:
        stop.set()
    return results
