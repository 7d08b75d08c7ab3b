"""What is made of parts for every question anew."""

from functools import partial

from skfair.partitions._partitions import Partitions


class LazyPartitions(Partitions):
    """What a function makes of every part, made anew for every question and kept nowhere.

    For what takes more room than the time it takes to make it is worth.

    Parameters
    ----------
    parts : Parts
        What it is made of.
    make : callable
        part -> part.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.partitions import LazyPartitions, InMemory
    >>> LazyPartitions(InMemory([np.ones(2), np.ones(3)]), np.cumsum).total(np.sum)
    np.float64(9.0)
    """

    def __init__(self, parts, make):
        self._parts, self._make = parts, make

    def __len__(self):
        return len(self._parts)

    def total(self, function, *arguments):
        return self._parts.total(self._asking(function), *arguments)

    def each(self, function, *arguments):
        return LazyPartitions(self._parts, partial(_make_of_made, self._make, function, arguments))

    def collect(self, function, *arguments):
        return self._parts.collect(self._asking(function), *arguments)

    def kept(self):
        return self._parts.each(self._make).kept()

    def joined(self, lengths, empty):
        return self._parts.each(self._make).joined(lengths, empty)

    def _asking(self, function):
        return partial(_ask_made, self._make, function)


def _ask_made(make, function, part, *arguments):
    return function(make(part), *arguments)


def _make_of_made(make, function, arguments, part):
    return function(make(part), *arguments)
