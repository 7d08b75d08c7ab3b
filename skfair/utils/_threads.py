"""Limit the threads of BLAS."""

from contextlib import contextmanager
from functools import cache
from threading import Lock

from threadpoolctl import ThreadpoolController


@contextmanager
def single_threaded_blas():
    """A context in which BLAS has one thread; contexts may be nested, and overlap in threads."""
    limit = _shared_limit()
    limit.enter()
    try:
        yield
    finally:
        limit.leave()


class _SharedLimit:
    """The limit of all contexts that are open in this process, lifted when the last one ends.

    Threads that each restored the limit that they found would lift it for those still running.
    """

    def __init__(self):
        self._controller = ThreadpoolController()  # listing the libraries takes milliseconds
        self._lock, self._n_open, self._limiter = Lock(), 0, None

    def enter(self):
        with self._lock:
            if not self._n_open:
                self._limiter = self._controller.limit(limits=1, user_api="blas")
            self._n_open += 1

    def leave(self):
        with self._lock:
            self._n_open -= 1
            if not self._n_open:
                self._limiter.restore_original_limits()


@cache
def _shared_limit():
    return _SharedLimit()
