"""Compiled kernels: deterministic functions that take arrays and return numbers.

Every kernel is compiled lazily and cached on disk. A kernel writes into arrays that its caller
allocates. It returns numbers, never arrays or structs: numba calls Python to build those, and a
signal whose handler runs there (Ctrl-C) would break the interpreter. The public function around a
kernel allocates the arrays and packs them into a struct.
"""

import contextlib
import functools
import gc
import os
import threading
import types
import warnings
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from time import perf_counter

import numpy as np

CACHE_ON_DISK = os.environ.get("SKFAIR_NUMBA_CACHE", "1") != "0"
"""Whether compiled kernels are cached on disk; ``SKFAIR_NUMBA_CACHE=0`` turns the cache off."""

NO_INDEX = np.int64(-1)
"""No index. numba gives a literal -1 its own type and would compile helpers again for it."""


@functools.cache
def find_numba():
    """The module numba, which takes .25 s to import; None where it cannot be imported.

    A browser and a new version of Python have none. Kernels are then interpreted, with a warning.
    """
    try:
        return import_module("numba")
    except ImportError as error:
        warnings.warn(
            f"numba cannot be imported ({error}), so that kernels are interpreted. Results are "
            "equal, but clusterings and fits on ranks take many times as long. Install numba if "
            "you can.",
            stacklevel=2,
        )
        return None


@functools.cache
def find_extensions():
    """The extensions of numba; None where its private names, which they need, are others."""
    try:
        return import_module("skfair._kernels._numba")
    except ImportError:
        return None


def jit(function):
    """Compile a kernel at its first call and cache it on disk.

    Kernels run without the interpreter lock, and a division by zero gives inf or nan as in numpy.
    """
    numba = find_numba()
    if numba is None:
        return interpret(function)
    options = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    if numba.config.DISABLE_JIT:
        return function
    kernel = numba.njit(**options)(function)
    if CACHE_ON_DISK:
        with contextlib.suppress(RuntimeError):  # numba finds no folder, not even one to read
            extensions = find_extensions()
            if extensions is None:
                kernel.enable_caching()
            else:
                kernel._cache = extensions.KernelCache(function)
    return _move_compilation_to_thread(kernel)


def helper(function):
    """Compile a function that only kernels call; its code becomes part of theirs."""
    return _compile_helper(function)


def deferred_helper(function):
    """Compile a rarely called helper, which is optimised only within the kernel that calls it."""
    if find_numba() is None:
        return function
    if find_extensions() is None:
        return _compile_helper(function)
    return _compile_helper(function, pipeline_class=find_extensions().DeferredCompiler)


def inline_helper(function):
    """Compile a helper of inner loops in place, as passing structs costs more than its body."""
    return _compile_helper(function, forceinline=True)


def fastmath_helper(function):
    """Compile a helper whose sums may be taken in any order, so that they use vector registers."""
    return _compile_helper(function, fastmath={"reassoc", "contract"})


def _compile_helper(function, **options):
    numba = find_numba()
    if numba is None:
        return function
    # Wrappers for calls from Python and C would take a third of the compile time.
    return numba.njit(
        error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True, **options
    )(function)


def _move_compilation_to_thread(kernel):
    """Compile a kernel in a background thread, where no signal arrives.

    An exception of a signal handler during compilation would be lost or leave it incomplete. The
    main thread waits and receives signals; the compilation finishes in the background.
    """
    if not hasattr(kernel, "_compile_for_args"):
        return kernel
    compile_or_load = kernel._compile_for_args

    def compile_here(*args):
        with _pause_garbage_collection():
            return compile_or_load(*args)

    def compile_for_args(*args):
        if threading.current_thread() is not threading.main_thread():
            return compile_here(*args)
        return ThreadPoolExecutor(1).submit(compile_here, *args).result()

    kernel._compile_for_args = compile_for_args
    return kernel


@contextlib.contextmanager
def _pause_garbage_collection():
    """Pause garbage collection, which would take a sixth of the compile time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def announce_compilation(verbose):
    """A context that, if ``verbose``, prints a line for every kernel that is compiled in it."""
    if not verbose or find_numba() is None:
        return contextlib.nullcontext()
    from numba.core import event

    class Announcer(event.Listener):
        def on_start(self, event):
            kernel = event.data["dispatcher"]
            if is_kernel(kernel):
                self.start = perf_counter()
                storage = "stored on disk" if CACHE_ON_DISK else "for this process"
                name = kernel.__name__.lstrip("_")
                print(f"compiling {name}, once ({storage}) ...", end=" ", flush=True)

        def on_end(self, event):
            if is_kernel(event.data["dispatcher"]):
                print(f"{perf_counter() - self.start:.1f} s", flush=True)

    return event.install_listener("numba:compile", Announcer())


def is_kernel(item):
    """Whether an object is a kernel of this package, and not a helper or plain function."""
    options = getattr(item, "targetoptions", None)
    if options is None or options.get("no_cpython_wrapper"):
        return False
    return item.__module__.startswith(__name__)


# Numbers by which kernels know losses and rates; numba is not needed to import them.


(LOGISTIC, SQUARED_HINGE, HINGE, SQUARED, ABSOLUTE, SIGMOID, RAMP, STEP, SCORE) = range(9)


# Kernels that are not compiled by the first small fits, as compilation takes longer than these.


MAX_NUMPY_ENTRIES = 1_000_000
"""Entries that a process passes over by numpy, as in its first fit of 1,000 samples, before it
compiles a kernel of passes; below 0 there are none."""

_n_numpy_entries = 0  # entries that NumPy has evaluated so far


def is_numpy_enough(n_entries):
    """Whether a pass over so many entries is left to numpy; all that were are counted.

    Its results and those of the kernel of the pass are equal up to rounding.
    """
    global _n_numpy_entries
    _n_numpy_entries += n_entries
    return _n_numpy_entries <= MAX_NUMPY_ENTRIES


# An interpreted kernel gives the same numbers to the bit as a compiled one: the compiler may not
# reorder its operations.


MAX_INTERPRETED_STEPS = 500_000
"""Steps of a kernel that a process interprets, about .5 s; below 0 none are."""


@contextlib.contextmanager
def compile_at_first_call():
    """A context in which kernels are compiled at their first call."""
    global MAX_INTERPRETED_STEPS, MAX_NUMPY_ENTRIES
    before = MAX_INTERPRETED_STEPS, MAX_NUMPY_ENTRIES
    MAX_INTERPRETED_STEPS, MAX_NUMPY_ENTRIES = -1, -1
    try:
        yield
    finally:
        MAX_INTERPRETED_STEPS, MAX_NUMPY_ENTRIES = before


def interpret_at_first(count_steps):
    """Compile a kernel once its calls have taken many steps; before, interpret it.

    A kernel that is stored on disk is loaded at its first call. ``count_steps`` maps the arguments
    of a call to the number of its innermost steps, about.
    """

    def decorate(function):
        kernel = jit(function)
        # Nothing is compiled, or numba asks for it by another name.
        if not (hasattr(kernel, "py_func") and hasattr(kernel, "_compile_for_args")):
            return kernel
        compile_or_load, n_steps = kernel._compile_for_args, None

        def compile_or_interpret(*args):
            nonlocal n_steps
            if n_steps is None:
                n_steps = np.inf if _is_stored(kernel, args) else 0
            n_steps += count_steps(*args)
            return (
                compile_or_load(*args)
                if n_steps > MAX_INTERPRETED_STEPS
                else _interpreted_function(kernel)
            )

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
def _interpreted_function(kernel):
    """The function of a kernel in Python, with division by zero as in compiled code."""
    return interpret(_plain_function(kernel))


def interpret(function):
    """A kernel in Python, with division by zero as in compiled code."""

    @functools.wraps(function)
    def run(*args):
        with np.errstate(all="ignore"):
            return function(*args)

    return run


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
