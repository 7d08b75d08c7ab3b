"""Parts of kernels, which only kernels call, as functions that a test can call."""

import functools

from skfair._kernels import jit


@functools.cache
def alone(part):
    """A part of a kernel compiled by itself."""
    return jit(getattr(part, "py_func", part))
