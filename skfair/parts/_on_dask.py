"""Parts on the workers of a Dask cluster."""

from skfair.parts._parts import FAN_IN, Parts, check_handed_out, sum_of


class OnDask(Parts):
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
    >>> from skfair.parts import OnDask
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
        """Wait for answers; nothing goes on where one fails, or the wait is interrupted."""
        try:
            return self.client.gather(futures)
        except BaseException as error:
            self.client.cancel(futures)
            if type(error).__name__ == "KilledWorker":
                raise MemoryError(
                    "Workers of the Dask cluster died again and again at one part. Mostly a part "
                    "does not fit into the memory of a worker, with half as much to work in: make "
                    "more and smaller partitions, or give workers more memory."
                ) from error
            raise


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
