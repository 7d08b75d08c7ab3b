"""Limit the threads of BLAS."""

from contextlib import contextmanager
from functools import cache
from threading import Lock

from threadpoolctl import ThreadpoolController

_LOCK = Lock()

_limits: list = []
"""The limit of each context that is open in this process; all but the first are None.

Threads that each restored the limit that they found would lift it for those still running.
"""


@contextmanager
def single_threaded_blas():
    """A context in which BLAS has one thread; contexts may be nested, and overlap in threads."""
    with _LOCK:
        _limits.append(None if _limits else _controller().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _LOCK:
            limit = _limits.pop(0)
            if _limits:
                _limits[0] = limit  # the last context that ends lifts it
            else:
                limit.restore_original_limits()


@cache
def _controller():
    """The controller of this process's libraries, whose listing takes milliseconds."""
    return ThreadpoolController()
