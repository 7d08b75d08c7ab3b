"""Limit the threads of BLAS."""

from functools import cache

from threadpoolctl import ThreadpoolController


def single_threaded_blas():
    """A context in which BLAS has one thread; contexts may be nested."""
    return _controller().limit(limits=1, user_api="blas")


@cache
def _controller():
    """The BLAS libraries of this process; to list them takes milliseconds."""
    return ThreadpoolController()
