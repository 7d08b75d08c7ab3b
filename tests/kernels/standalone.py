"""Helpers of kernels, which only kernels call, as functions that a test can call."""

import functools

from skfair._kernels import jit


@functools.cache
def standalone(helper):
    """A helper of kernels, compiled by itself."""
    return jit(getattr(helper, "py_func", helper))
