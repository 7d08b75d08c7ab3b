"""Compiled kernels: arrays in, arrays out, no randomness of their own.

Every kernel is compiled lazily and cached on disk. A kernel calls only kernels of its own file,
because numba's cache does not notice edits in other files.
"""

import os

import numba

CACHE = os.environ.get("SKFAIR_NUMBA_CACHE", "1") != "0"
"""Whether compiled kernels are kept on disk; ``SKFAIR_NUMBA_CACHE=0`` turns it off."""


def jit(function):
    """Compile a kernel at its first call, without the interpreter lock, and keep it on disk."""
    return numba.njit(cache=CACHE, nogil=True)(function)
