"""Rows in partitions: functions of their blocks, and sums of the results in one fixed order."""

from functools import reduce
from itertools import chain, count, repeat
from operator import add

BLOCK = 1 << 16
"""Rows of a block: few enough to stay in a processor's cache."""

FAN_IN = 8
"""How many results are added at a time."""


class Partitions:
    """Rows in partitions, each of which is a list of blocks.

    A partition is as large as suits who stores it: a chunk of Dask, a row group of a file. A block
    is as large as suits a computation, and whatever its maker put there: a tuple of arrays, an
    object with methods.

    Functions of blocks are functions of a module, so that other processes find them by name, and
    do not change a block. Their arguments are small and the same for every block. An argument that
    is itself `Partitions`, of as many blocks and computed already, is handed out block by block.

    Parameters
    ----------
    engine : Threads or DaskWorkers
        Stores partitions, and calls functions of them.
    steps : tuple of (callable, tuple), default=()
        Functions that make the blocks from those that are stored, and their arguments.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.partitions import make_partitions
    >>> def moments(rows, power):
    ...     return len(rows), (rows**power).sum(axis=0)
    >>> partitions = make_partitions([np.ones((2, 3)), np.full((1, 3), 2.0)])
    >>> partitions.reduce(moments, 2)
    (3, array([6., 6., 6.]))
    >>> partitions.map(np.sqrt).gather(np.shape)
    [(2, 3), (1, 3)]
    """

    def __init__(self, engine, steps=()):
        self.engine, self.steps = engine, steps

    def __len__(self):
        return len(self.engine)

    def map(self, function, *arguments):
        """What a function makes of every block.

        In memory it is computed at once. Elsewhere it is computed in every pass, unless `persist`
        or `keep` follows.

        Parameters
        ----------
        function : callable
            ``(block, *arguments)`` -> block.
        *arguments : object
            Handed to the function.

        Returns
        -------
        partitions : Partitions
        """
        if self.engine.only_block is not None:  # nothing to distribute
            block = function(self.engine.only_block[0], *map(_only_block, arguments))
            return Partitions(type(self.engine)([[block]]))
        mapped = Partitions(self.engine, (*self.steps, (function, arguments)))
        return mapped.keep() if self.engine.is_stored and not self.engine.is_cluster else mapped

    def reduce(self, function, *arguments):
        """Sum over all blocks of what a function makes of each.

        The order depends on the numbers of blocks and partitions alone: eight neighbouring blocks
        are added from the first to the last, then eight neighbouring sums, and so on, in each
        partition, then in the same way over partitions.

        Parameters
        ----------
        function : callable
            ``(block, *arguments)`` -> a number, an array, or a tuple of such or of tuples.
        *arguments : object
            Handed to the function.

        Returns
        -------
        total : number, array or tuple
            As the function returns it.
        """
        if self.engine.only_block is not None:
            return function(self.engine.only_block[0], *map(_only_block, arguments))
        return self.engine.reduce(*self._task((function, arguments), combine=tree_sum))

    def gather(self, function, *arguments):
        """What a function makes of every block, brought to this process.

        Parameters
        ----------
        function : callable
            ``(block, *arguments)`` -> something small.
        *arguments : object
            Handed to the function.

        Returns
        -------
        results : list
            One per block, in their order.
        """
        if self.engine.only_block is not None:
            return [function(self.engine.only_block[0], *map(_only_block, arguments))]
        results = self.engine.results(*self._task((function, arguments)))
        return [*chain.from_iterable(results)]

    def persist(self):
        """The same, computed once and kept by the workers of a cluster; files are read again."""
        return self.keep() if self.engine.is_cluster else self

    def keep(self):
        """The same, computed once and kept: in memory, unless the rows are on a cluster."""
        if self.engine.is_stored and not self.steps:
            return self
        return Partitions(self.engine.keep(*self._task()))

    def concatenate(self, lengths, empty):
        """Blocks that are arrays, as one array.

        Parameters
        ----------
        lengths : sequence of int
            Rows of every partition.
        empty : ndarray of shape (0, ...)
            Such an array without rows: its shape but for these, and its type.

        Returns
        -------
        array : array of shape (sum(lengths), ...)
            Of Dask where the rows are on a cluster, and stay there.
        """
        return self.engine.concatenate(*self._task(), lengths, empty)

    def _task(self, *last, combine=list):
        """A function of stored partitions, and the engines of what is handed out with them."""
        steps, others = [], []
        for function, arguments in (*self.steps, *last):
            columns = []
            for argument in arguments:
                if isinstance(argument, Partitions):
                    self._check_argument(argument)
                    others.append(argument.engine)
                    argument = _Column(len(others) - 1)
                columns.append(argument)
            steps.append((function, columns))
        return PartitionTask(steps, combine), others

    def _check_argument(self, argument):
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


class PartitionTask:
    """A function of a stored partition: steps made of each of its blocks, and then combined."""

    def __init__(self, steps, combine):
        self.steps, self.combine = steps, combine

    def __call__(self, blocks, *others):
        return self.combine(map(self._compute, blocks, count(), repeat(others)))

    def _compute(self, block, number, others):
        for function, arguments in self.steps:
            values = (others[a.position][number] if type(a) is _Column else a for a in arguments)
            block = function(block, *values)
        return block


class _Column:
    """Stands for an argument that is handed out block by block."""

    def __init__(self, position):
        self.position = position


def _only_block(argument):
    return argument.engine.only_block[0] if isinstance(argument, Partitions) else argument


def blocks(n_samples, size=BLOCK):
    """Rows of blocks of equal size; the last one may be smaller.

    Parameters
    ----------
    n_samples : int
        Number of all rows.
    size : int, default=65536
        Rows of a block.

    Returns
    -------
    blocks : list of slice

    Examples
    --------
    >>> from skfair.partitions import blocks
    >>> blocks(5, size=3)
    [slice(0, 3, None), slice(3, 5, None)]
    """
    return [slice(start, min(start + size, n_samples)) for start in range(0, n_samples, size)]


def tree_sum(results):
    """Sum of results, at least one, in the order of `Partitions.reduce`; few are held at a time."""
    levels = [[]]  # of the tree: results, sums of eight of them, sums of eight of these ...
    for result in results:
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


def sum_all(results):
    """Sum of a few results of one form, from the first to the last."""
    if isinstance(results[0], tuple):
        return tuple(map(sum_all, zip(*results, strict=True)))
    return reduce(add, results)
