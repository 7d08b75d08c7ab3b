"""Parts that are divided into blocks, where they are larger than a question should look at."""

from functools import partial
from itertools import chain

import numpy as np

from skfair.partitions._partitions import Partitions, check_handed_out, tree_sum


class Divided(Partitions):
    """The blocks of parts, each of which is a list of blocks.

    Partitions of a cluster, and row groups of a file, are as large as is good for those who move
    them. A block is as large as is good for those who look at it: it stays in a processor's cache,
    and what they make of it takes little memory. One answer leaves each of the larger parts.

    Parameters
    ----------
    lists : Parts
        Of lists, each of one block at least.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.partitions import Divided, InMemory
    >>> rows = Divided(InMemory([[np.ones(2), np.ones(3)], [np.ones(4)]]))
    >>> len(rows), rows.total(np.sum), rows.each(np.cumsum).collect(np.max)
    (3, np.float64(9.0), [np.float64(2.0), np.float64(3.0), np.float64(4.0)])
    """

    def __init__(self, lists):
        self._lists = lists

    def __len__(self):
        return sum(self._lists.collect(len))

    def total(self, function, *arguments):
        """Sum over all blocks: of those of each part, and then of the parts."""
        return self._lists.total(self._asking(_total, function, arguments), *_lists_of(arguments))

    def each(self, function, *arguments):
        asking = self._asking(_each, function, arguments)
        return Divided(self._lists.each(asking, *_lists_of(arguments)))

    def collect(self, function, *arguments):
        asking = self._asking(_each, function, arguments)
        return [*chain.from_iterable(self._lists.collect(asking, *_lists_of(arguments)))]

    def kept(self):
        return Divided(self._lists.kept())

    def joined(self, lengths, empty):
        numbers = self._lists.collect(len)
        first = np.cumsum([0, *numbers[:-1]])
        return self._lists.each(np.concatenate).joined(
            np.add.reduceat(lengths, first).tolist(), empty
        )

    def _asking(self, way, function, arguments):
        """A question about lists, from one about blocks."""
        others = [argument for argument in arguments if not isinstance(argument, Divided)]
        check_handed_out(self, others, Divided)
        are_lists = tuple(isinstance(argument, Divided) for argument in arguments)
        return partial(way, function, are_lists)


def _lists_of(arguments):
    return [one._lists if isinstance(one, Divided) else one for one in arguments]


def _answers(function, are_lists, blocks, arguments):
    for number, block in enumerate(blocks):
        pairs = zip(arguments, are_lists, strict=True)
        yield function(block, *(one[number] if is_list else one for one, is_list in pairs))


def _total(function, are_lists, blocks, *arguments):
    return tree_sum(_answers(function, are_lists, blocks, arguments), len(blocks))


def _each(function, are_lists, blocks, *arguments):
    return [*_answers(function, are_lists, blocks, arguments)]
