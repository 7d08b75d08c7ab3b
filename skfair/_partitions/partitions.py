"""Rows in partitions: functions of their blocks, sums in one fixed order, and the threads for them.

Partitions of this process are stored, or read for every pass.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cache, partial, reduce
from itertools import chain, count, starmap
from operator import add
from threading import Event
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from joblib import effective_n_jobs
from joblib.parallel import get_active_backend

from skfair._utils.checks import warn
from skfair._utils.fit import single_threaded_blas

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dask.array import Array

    Function: TypeAlias = Callable[..., Any]
    """A function of a block, or of the blocks of a partition, and what goes with them."""

    Step: TypeAlias = tuple[Function, Sequence[Any]]
    """A function of blocks, and its further arguments."""


BLOCK_SIZE = 1 << 16
"""Rows of a block: few enough to stay in a processor's cache."""

FAN_IN = 8
"""How many results are added at a time."""


class Engine(Protocol):
    """Where partitions are, and who computes functions of them: threads, or workers of Dask.

    ``only_block`` is a list of the block if there is one alone, and in memory, else None.
    """

    @property
    def partitions(self) -> Any: ...

    @property
    def is_cluster(self) -> bool: ...

    @property
    def is_stored(self) -> bool: ...

    @property
    def only_block(self) -> Any: ...

    @property
    def n_workers(self) -> int: ...

    def __len__(self) -> int: ...

    def results(self, task: Function, others: list[Engine]) -> Iterable[Any]: ...

    def reduce(self, task: Function, others: list[Engine], is_small: bool) -> Any: ...

    def keep(self, task: Function, others: list[Engine]) -> Engine: ...

    def concatenate(
        self, task: Function, others: list[Engine], lengths: list[int], empty: np.ndarray
    ) -> np.ndarray | Array: ...

    def has_lost_workers(self) -> bool: ...

    def release(self) -> None: ...


@dataclass(eq=False, repr=False)
class Partitions:
    """Rows in partitions, each of which is a list of blocks.

    A partition is as large as suits who stores it: a chunk of Dask, a row group of a file. A block
    is as large as suits a computation, and whatever its maker put there: a tuple of arrays, an
    object with methods.

    Functions of blocks are functions of a module, so that other processes find them by name, and
    do not change a block. Their arguments are small and the same for every block. An argument that
    is itself `Partitions`, of as many blocks and computed already, is handed out block by block.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair._partitions.partitions import make_partitions
    >>> def moments(rows, power):
    ...     return len(rows), (rows**power).sum(axis=0)
    >>> partitions = make_partitions([np.ones((2, 3)), np.full((1, 3), 2.0)])
    >>> partitions.reduce(moments, 2)
    (3, array([6., 6., 6.]))
    >>> partitions.map(np.sqrt).gather(np.shape)
    [(2, 3), (1, 3)]
    """

    engine: Engine
    steps: tuple[Step, ...] = ()

    def __len__(self) -> int:
        return len(self.engine)

    def map(self, function: Function, *arguments: Any) -> Partitions:
        """What a function makes of every block.

        In memory it is computed at once. Elsewhere it is computed in every pass, unless `persist`
        or `keep` follows.
        """
        # A single block in memory needs no engine: most fits have no more, and many small steps.
        if self.engine.only_block is not None:
            block = function(self.engine.only_block[0], *map(_only_block, arguments))
            return Partitions(LocalThreads([[block]]))
        # Blocks in memory are computed now, once; all others are lazy, as results may exceed
        # memory.
        mapped = Partitions(self.engine, (*self.steps, (function, arguments)))
        return mapped.keep() if self.engine.is_stored and not self.engine.is_cluster else mapped

    def reduce(self, function: Function, *arguments: Any, is_small: bool = False) -> Any:
        """Sum over all blocks of what a function makes of each.

        The order depends on the numbers of blocks and partitions alone: eight neighbouring blocks
        are added from the first to the last, then eight neighbouring sums, and so on, in each
        partition, then in the same way over partitions.
        """
        if self.engine.only_block is not None:
            return function(self.engine.only_block[0], *map(_only_block, arguments))
        return self.engine.reduce(
            *self._partition_function((function, arguments), combine=tree_sum), is_small
        )

    def gather(self, function: Function, *arguments: Any) -> list[Any]:
        """What a function makes of every block, brought to this process."""
        if self.engine.only_block is not None:
            return [function(self.engine.only_block[0], *map(_only_block, arguments))]
        results = self.engine.results(*self._partition_function((function, arguments)))
        return [*chain.from_iterable(results)]

    def persist(self) -> Partitions:
        """The same, computed once and kept by the workers of a cluster; files are read again."""
        return self.keep() if self.engine.is_cluster else self

    def keep(self) -> Partitions:
        """The same, computed once and kept: in memory, unless the rows are on a cluster."""
        if self.engine.is_stored and not self.steps:
            return self
        return Partitions(self.engine.keep(*self._partition_function()))

    def may_have_changed(self) -> bool:
        """Whether partitions stored on a cluster were computed again, as a worker was lost."""
        return self.engine.has_lost_workers()

    def release(self) -> None:
        """Free what `persist` stored on a cluster; there are no further passes."""
        self.engine.release()

    def concatenate(self, lengths: list[int], empty: np.ndarray) -> np.ndarray | Array:
        """Blocks that are arrays, as one array."""
        return self.engine.concatenate(*self._partition_function(), lengths, empty)

    def _partition_function(
        self, *last: Step, combine: Function = list
    ) -> tuple[Function, list[Engine]]:
        """A function of stored partitions, and the engines of what is handed out with them."""
        steps: list[Step] = []
        others: list[Engine] = []
        for function, arguments in (*self.steps, *last):
            columns = []
            for argument in arguments:
                # Partitions are handed out by block: their position among the others stands here.
                is_column = isinstance(argument, Partitions)
                if is_column:
                    self._check_argument(argument)
                    others.append(argument.engine)
                columns.append((is_column, len(others) - 1 if is_column else argument))
            steps.append((function, columns))
        return partial(evaluate_partition, steps, combine), others

    def _check_argument(self, argument: Partitions) -> None:
        # Lazy arguments would be recomputed in each pass, and those of another engine would have to
        # travel.
        if argument.steps or argument.engine.is_cluster != self.engine.is_cluster:
            raise TypeError(
                "Partitions that are an argument must be computed already, and stored where those "
                "are that a function is called for. Call keep() on both."
            )
        if len(argument) != len(self):
            raise ValueError(
                f"There are {len(self)} partitions, but those of an argument are {len(argument)}; "
                "both must be of the same rows."
            )


def evaluate_partition(
    steps: list[Step], combine: Function, blocks: list[Any], *others: list[Any]
) -> Any:
    """Results of steps for each block of a stored partition, combined.

    A step is a function and its arguments: pairs (False, argument), or (True, position among the
    others), of which each block gets its own.
    """
    results: Iterable[Any] = blocks
    for function, arguments in steps:
        columns = [others[a] if is_column else [a] * len(blocks) for is_column, a in arguments]
        # Lazy: a block goes through all steps before the next one, so that few results are held.
        results = starmap(function, zip(results, *columns, strict=True))
    return combine(results)


SMALL_PARTITION_THRESHOLDS = 64, 1 << 12
"""More partitions than these, of fewer rows on average, take more time than their rows."""


def warn_of_small_partitions(partitions: Partitions, lengths: list[int]) -> None:
    """Warn of many small partitions, with the number of partitions that would serve."""
    in_memory = partitions.engine.is_stored and not partitions.engine.is_cluster
    number = len(lengths)
    n_rows = sum(lengths)
    max_number, min_rows = SMALL_PARTITION_THRESHOLDS
    if in_memory or number <= max_number or n_rows >= min_rows * number:
        return
    enough = max(-(-n_rows // BLOCK_SIZE), partitions.engine.n_workers)
    warn(
        f"The data has {number} partitions of {n_rows / number:.0f} rows on average, and each pass "
        "over the data takes some milliseconds for each of them, whatever its size. Merge them to "
        f"{enough} partitions, as in table.repartition(npartitions={enough}) of a dataframe of "
        f"Dask, X.rechunk(({-(-n_rows // enough)}, -1)) of an array, or larger row groups of files."
    )


def _only_block(argument: Any) -> Any:
    return argument.engine.only_block[0] if isinstance(argument, Partitions) else argument


def blocks(n_samples: int, size: int = BLOCK_SIZE) -> list[slice]:
    """Divide rows into blocks of equal size; the last one may be smaller.

    Examples
    --------
    >>> from skfair._partitions.partitions import blocks
    >>> blocks(5, size=3)
    [slice(0, 3, None), slice(3, 5, None)]
    """
    return [slice(start, min(start + size, n_samples)) for start in range(0, n_samples, size)]


def tree_sum(results: Iterable[Any]) -> Any:
    """Sum of results, at least one, in the order of `Partitions.reduce`; few are held at a time."""
    # Levels of the tree: results, sums of eight of them, sums of eight of these ...
    levels: list[list[Any]] = [[]]
    for result in results:
        # Push the result; whenever eight terms of a level are there, their sum is a term of the
        # next.
        levels[0].append(result)
        for level, terms in enumerate(levels):
            if len(terms) < FAN_IN:
                break
            if level + 1 == len(levels):
                levels.append([])
            levels[level + 1].append(sum_all(terms))
            terms.clear()
    # What is left at each level is the last term of the next.
    for level, terms in enumerate(levels[:-1]):
        if terms:
            levels[level + 1].append(sum_all(terms))
    return sum_all(levels[-1])


def sum_all(results: Sequence[Any]) -> Any:
    """Sum of a few results of one form, from the first to the last."""
    if isinstance(results[0], tuple):
        return tuple(map(sum_all, zip(*results, strict=True)))
    return reduce(add, results)


class Reader:
    """Partitions that are read for every pass and forgotten after it, for data beyond memory.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair._partitions.partitions import LocalThreads, Partitions, Reader
    >>> reader = Reader(lambda number: [np.arange(number)], n_partitions=4)
    >>> Partitions(LocalThreads(reader)).reduce(np.sum)  # 0 of nothing, 0, 0 + 1, 0 + 1 + 2
    np.int64(4)
    """

    def __init__(self, read: Callable[[int], list[Any]], n_partitions: int) -> None:
        self._read, self._n_partitions = read, n_partitions

    def __len__(self) -> int:
        return self._n_partitions

    def __getitem__(self, number: int) -> list[Any]:
        return self._read(number)


class LocalThreads:
    """Engine of partitions of this process; numpy and kernels let threads run side by side."""

    is_cluster = False
    n_workers = 1

    def __init__(self, partitions: Reader | list[list[Any]], n_jobs: int | None = None) -> None:
        self.partitions, self.n_jobs = partitions, n_jobs
        self.is_stored = isinstance(partitions, list)
        # `Partitions` calls functions of a single block directly, see there.
        is_single = self.is_stored and len(partitions) == 1 == len(partitions[0])
        self.only_block: Any = partitions[0] if is_single else None

    def __len__(self) -> int:
        return len(self.partitions)

    def results(self, task: Function, others: list[Engine]) -> Iterator[Any]:
        """Yield what a task makes of each partition, in their order."""
        evaluate = partial(_call_on_partition, task, [self, *others])
        # Few rows, for which BLAS may use as many threads as it is set to.
        if len(self) == 1:
            yield evaluate(0)
            return
        n_threads = min(n_threads_of(self.n_jobs), len(self))
        # Sums of BLAS depend on the number of its threads, which would be too many anyway.
        with single_threaded_blas():
            mapped = partial(_shared_map, n_threads) if n_threads > 1 else map
            yield from mapped(evaluate, range(len(self)))

    def has_lost_workers(self) -> bool:
        """Whether partitions may have been computed again: threads are not lost."""
        return False

    def release(self) -> None:
        """Nothing is stored elsewhere."""

    def reduce(self, task: Function, others: list[Engine], is_small: bool) -> Any:
        """Sum of the results of a task over partitions."""
        return tree_sum(self.results(task, others))

    def keep(self, task: Function, others: list[Engine]) -> LocalThreads:
        """An engine that stores the results of a task."""
        return LocalThreads(list(self.results(task, others)), self.n_jobs)

    def concatenate(
        self, task: Function, others: list[Engine], lengths: list[int], empty: np.ndarray
    ) -> np.ndarray:
        """One array of the results of a task."""
        arrays = chain.from_iterable(self.results(task, others))
        return np.concatenate([*arrays]).astype(empty.dtype, copy=False)


def make_partitions(blocks: Iterable[Any], n_jobs: int | None = None) -> Partitions:
    """Partitions in memory, of one block each.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair._partitions.partitions import blocks, make_partitions
    >>> X = np.arange(10.0)
    >>> make_partitions([X[rows] for rows in blocks(10, size=4)], n_jobs=2).reduce(np.sum)
    np.float64(45.0)
    """
    return Partitions(LocalThreads([[block] for block in blocks], n_jobs))


def _call_on_partition(task: Function, engines: list[Engine], number: int) -> Any:
    return task(*[engine.partitions[number] for engine in engines])


def n_threads_of(n_jobs: int | None) -> int:
    """Threads that ``n_jobs`` asks for, where fits that run side by side may have them already.

    Examples
    --------
    >>> from joblib import Parallel, delayed
    >>> from skfair._partitions.partitions import n_threads_of
    >>> Parallel(2, prefer="threads")(delayed(n_threads_of)(n_jobs) for n_jobs in (None, -1, 3))
    [1, 1, 3]
    """
    # Joblib counts nesting: at level 0 no other fit shares the processors.
    is_task = bool(get_active_backend()[0].nesting_level)
    return 1 if n_jobs is not None and n_jobs < 0 and is_task else effective_n_jobs(n_jobs)


@cache
def _pool(n_threads: int) -> ThreadPoolExecutor:
    """Return a pool of threads for all passes, because starting threads takes a third of a ms."""
    return ThreadPoolExecutor(n_threads, thread_name_prefix="skfair")


# A forked process has none of the threads.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)


def _shared_map(n_threads: int, function: Callable[[int], Any], values: range) -> list[Any]:
    """Results of a function of values, of which each thread takes the next one that is left.

    The calling thread works, too. Others are waited for once: to submit values and receive results
    one by one costs time in which all other threads are idle.
    """
    results: list[Any] = [None] * len(values)
    numbers = count()
    stop = Event()
    futures = []

    def work() -> None:
        try:
            while not stop.is_set() and (number := next(numbers)) < len(values):
                results[number] = function(values[number])
        finally:  # stop the others: nothing is left, or there is an error
            stop.set()

    try:
        # One by one: what was submitted before an error is known, and stopped.
        for _ in range(n_threads - 1):
            futures.append(_pool(n_threads - 1).submit(work))  # noqa: PERF401
        work()
    finally:
        stop.set()
        # A thread ends after its current value. One that has not begun is busy elsewhere.
        running = [future for future in futures if not future.cancel()]
        wait(running)
    for future in running:  # a worker's error is raised here
        future.result()
    return results


# Subsamples of partitioned rows: how many rows are drawn, and which, by random keys.


SUBSAMPLE_SIZES: dict[str, Any] = {
    "k-means": 100_000,
    "landmarks": 20,
    "linear": 1 << 16,
    "linear, blocks": 1 << 15,
    "linear, partitions": (1 << 15, 1 << 17),
}
"""Rows drawn for the warm start of a fit.

"landmarks" is the number per landmark. A linear fit in memory is warm-started in one block or, if
all it needs are sums, in several. On partitions the subsample is 1/256 of the rows, between two
limits: four times as many halve the distance to the solution of all, which saves one pass."""


def sampling_rates(counts: np.ndarray, size: float) -> np.ndarray:
    """Shares of the cells that make a subsample of about ``size`` rows.

    A cell is drawn at the common rate, or at a higher one if it would have less than a quarter of
    an even division.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair._partitions.partitions import sampling_rates
    >>> sampling_rates(np.array([9_000, 990, 10]), 1_200)
    array([0.12, 0.12, 1.  ])
    """
    per_cell = size / (4 * len(counts))
    return np.minimum(np.maximum(size / counts.sum(), per_cell / counts), 1.0)


def random_keys(numbers: np.ndarray) -> np.ndarray:
    """A number in [0, 1) for every row, by its row number alone.

    So a row is drawn or not wherever partitions begin, and on any number of workers (SplitMix64,
    Steele et al. 2014).

    Examples
    --------
    >>> import numpy as np
    >>> from skfair._partitions.partitions import random_keys
    >>> random_keys(np.arange(3)).round(3)
    array([0.883, 0.432, 0.026])
    """
    z = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    return (z ^ (z >> np.uint64(31))) / 2.0**64
