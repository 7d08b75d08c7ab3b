"""Kernels whose first calls are interpreted, as compilation takes longer than a small fit.

Both give the same numbers to the bit: the compiler may not reorder the operations of a kernel.
"""

import contextlib
import functools
import types

import numpy as np

from skfair._kernels import jit

MAX_STEPS = 500_000
"""Steps of a kernel that a process interprets, about .5 s; below 0 none are."""


@contextlib.contextmanager
def compile_at_once():
    """A context in which kernels are compiled at their first call."""
    global MAX_STEPS
    before, MAX_STEPS = MAX_STEPS, -1
    try:
        yield
    finally:
        MAX_STEPS = before


def interpret_at_first(count_steps):
    """Compile a kernel once its calls have taken many steps; before, interpret it.

    A kernel that is stored on disk is loaded at its first call. ``count_steps`` maps the arguments
    of a call to the number of its innermost steps, about.
    """

    def decorate(function):
        kernel = jit(function)
        if kernel is function:  # nothing is compiled
            return function
        compile_or_load, n_steps = kernel._compile_for_args, None

        def compile_or_interpret(*args):
            nonlocal n_steps
            if n_steps is None:
                n_steps = np.inf if _is_stored(kernel, args) else 0
            n_steps += count_steps(*args)
            return compile_or_load(*args) if n_steps > MAX_STEPS else _interpreter(kernel)

        # numba asks for a function to call wherever it has not compiled one.
        kernel._compile_for_args = compile_or_interpret
        return kernel

    return decorate


def _is_stored(kernel, args):
    """Whether the kernel for arguments of these types is on disk."""
    files = getattr(kernel._cache, "_cache_file", None)
    if files is None:
        return False
    signature = tuple(map(kernel.typeof_pyval, args))
    key = kernel._cache._index_key(signature, kernel.targetctx.codegen())
    return files.load(key) is not None


@functools.cache
def _interpreter(kernel):
    """The function of a kernel in Python, with division by zero as in compiled code."""
    function = _plain_function(kernel)

    def interpret(*args):
        with np.errstate(all="ignore"):
            return function(*args)

    return interpret


@functools.cache
def _plain_function(kernel):
    """The function of a kernel or helper, which calls the functions of its helpers."""
    function = kernel.py_func
    scope = {
        name: _plain_function(value) if hasattr(value, "py_func") else value
        for name, value in function.__globals__.items()
        if name in function.__code__.co_names or name == "__builtins__"
    }
    return types.FunctionType(function.__code__, scope, function.__name__)
