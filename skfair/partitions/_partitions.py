"""What is asked of samples that lie in parts, and the order in which answers are added."""

from abc import ABC, abstractmethod
from functools import reduce
from itertools import islice
from operator import add

BLOCK = 1 << 16
"""Rows of a part, where nothing else divides them: few enough to stay in a processor's cache."""

FAN_IN = 8
"""How many answers are added at a time."""


class Partitions(ABC):
    """Samples in parts, that is in blocks of rows.

    A part is whatever its maker put there: a tuple of arrays, an object with methods. Functions
    that are asked of parts are functions of a module, so that other processes find them by name;
    they do not change a part. Arguments are small, and the same for every part; an argument that
    is itself `Parts`, as many as these, is handed out part by part.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.partitions import InMemory, Parts
    >>> def moments(rows, power):
    ...     return len(rows), (rows**power).sum(axis=0)
    >>> parts = InMemory([np.ones((2, 3)), np.full((1, 3), 2.0)])
    >>> isinstance(parts, Parts), len(parts)
    (True, 2)
    >>> parts.total(moments, 2)
    (3, array([6., 6., 6.]))
    >>> parts.each(np.sqrt).collect(np.shape)
    [(2, 3), (1, 3)]
    """

    @abstractmethod
    def __len__(self):
        """Number of parts."""

    @abstractmethod
    def total(self, function, *arguments):
        """Sum over all parts of what a function makes of one.

        Eight neighbours are added from the first to the last, then eight neighbouring sums, and so
        on: the order depends on the number of parts alone.

        Parameters
        ----------
        function : callable
            ``(part, *arguments)`` -> a number, an array, or a tuple of such or of tuples.
        *arguments : object
            Handed to the function.

        Returns
        -------
        total : number, array or tuple
            As the function returns it.
        """

    @abstractmethod
    def each(self, function, *arguments):
        """What a function makes of every part, left where the part lies.

        Parameters
        ----------
        function : callable
            ``(part, *arguments)`` -> part.
        *arguments : object
            Handed to the function.

        Returns
        -------
        parts : Parts
            As many, of the same kind.
        """

    @abstractmethod
    def collect(self, function, *arguments):
        """What a function makes of every part, brought here.

        Parameters
        ----------
        function : callable
            ``(part, *arguments)`` -> something small.
        *arguments : object
            Handed to the function.

        Returns
        -------
        answers : list
            One per part, in their order.
        """

    @abstractmethod
    def kept(self):
        """The same, made once and no more: here, unless the parts lie on a cluster.

        Returns
        -------
        parts : Parts
        """

    @abstractmethod
    def joined(self, lengths, empty):
        """Parts that are arrays, one after the other as one array.

        Parameters
        ----------
        lengths : sequence of int
            How long each is.
        empty : ndarray of shape (0, ...)
            Such an array of no rows: its shape but for these, and its type.

        Returns
        -------
        array : array of shape (sum(lengths), ...)
            An array of Dask where the parts lie on a cluster, and are left there.
        """


def blocks(n_samples, size=BLOCK):
    """Rows of parts of equal size; the last one may be smaller.

    Parameters
    ----------
    n_samples : int
        Number of all rows.
    size : int, default=65536
        Rows of a part.

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


def check_handed_out(parts, arguments, kind):
    """Refuse arguments in parts that are not as many, or lie elsewhere."""
    for argument in arguments:
        if isinstance(argument, Partitions) and not isinstance(argument, kind):
            raise TypeError(
                f"Arguments that are handed out part by part must lie where the parts lie, but "
                f"these are {type(parts).__name__} and the argument is {type(argument).__name__}; "
                "make it of these by `each`."
            )
        if isinstance(argument, Partitions) and len(argument) != len(parts):
            raise ValueError(
                f"These are {len(parts)} parts, but the argument has {len(argument)} parts; "
                "both must be of the same rows."
            )


def sum_of(answers):
    """Sum of a few answers of one form, from the first to the last."""
    if isinstance(answers[0], tuple):
        return tuple(map(sum_of, zip(*answers, strict=True)))
    return reduce(add, answers)


def tree_sum(answers, n_answers):
    """Sum of answers in the order of `Parts.total`; few are held at a time.

    Parameters
    ----------
    answers : iterable
        Numbers, arrays or tuples of them, all of one form.
    n_answers : int
        How many there are, at least one.
    """
    while n_answers > 1:
        answers, n_answers = _sums_of_neighbours(answers), -(-n_answers // FAN_IN)
    (total,) = answers
    return total


def _sums_of_neighbours(answers):
    answers = iter(answers)
    while group := list(islice(answers, FAN_IN)):
        yield sum_of(group)
