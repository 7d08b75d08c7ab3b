"""Compiled kernels: arrays in, arrays out, no randomness of their own.

Every kernel is compiled lazily and cached on disk. A kernel calls only kernels of its own file,
because numba's cache does not notice edits in other files.
"""

import os

import numba

CACHE = os.environ.get("SKFAIR_NUMBA_CACHE", "1") != "0"
"""Whether compiled kernels are kept on disk; ``SKFAIR_NUMBA_CACHE=0`` turns it off."""


def jit(function):
    """Compile a kernel at its first call and keep it on disk.

    Kernels run without the interpreter lock, and a division by zero gives inf or nan as in numpy.
    """
    return numba.njit(cache=CACHE, nogil=True, error_model="numpy")(function)
