"""Compiled kernels: arrays in, numbers out, no randomness of their own.

Every kernel is compiled lazily and cached on disk. A kernel fills arrays that it is given and
returns numbers, never arrays or structs: numba calls Python to build those, and a signal whose
handler runs there (Ctrl-C) would break the interpreter. The function of the same name that users
of a kernel call makes the arrays, and the struct of them.
"""

import contextlib
import gc
import os
import threading
from concurrent.futures import Future

import numpy as np

CACHE = os.environ.get("SKFAIR_NUMBA_CACHE", "1") != "0"
"""Whether compiled kernels are kept on disk; ``SKFAIR_NUMBA_CACHE=0`` turns it off."""

NONE = np.int64(-1)
"""No index. To numba a plain -1 is a type of its own, for which parts would be compiled as well."""


def jit(function):
    """Compile a kernel at its first call and keep it on disk.

    Kernels run without the interpreter lock, and a division by zero gives inf or nan as in numpy.
    Where nothing can be written, every process compiles anew.
    """
    import numba  # takes a quarter of a second, which fits without kernels need not wait for

    options = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    if numba.config.DISABLE_JIT:
        return function
    kernel = numba.njit(**options)(function)
    if CACHE:
        with contextlib.suppress(RuntimeError):  # there is no folder to write to
            kernel.enable_caching()
            _keep_on_disk(kernel._cache)
    return _compiled_apart(kernel)


def part(function):
    """Compile what only kernels call: it is kept within their code."""
    return _part(function)


def stage(function):
    """Compile a part that is called so rarely that optimising it is left to the kernel."""
    from skfair._kernels._stages import StageCompiler

    return _part(function, pipeline_class=StageCompiler)


def inlined(function):
    """Compile what kernels call once per candidate: passing structs would take longer than it."""
    return _part(function, forceinline=True)


def _part(function, **options):
    import numba

    # Wrappers for calls from elsewhere would take a third of the time of compilation.
    return numba.njit(
        error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True, **options
    )(function)


def _keep_on_disk(cache):
    """Keep a kernel in files that are valid for the same sources of kernels."""
    from skfair._kernels._cache import KernelCacheFile

    cache._cache_file = KernelCacheFile(cache)


def _compiled_apart(kernel):
    """Let a kernel be compiled in a thread, where no signal arrives.

    An exception of a signal handler amid compilation would be lost, or leave it half done. The
    caller waits, and hears signals; what was begun is finished in the background.
    """
    compile_or_load = kernel._compile_for_args

    def compile_here(*args):
        with _collections_put_off():
            return compile_or_load(*args)

    def compile_for_args(*args):
        if threading.current_thread() is not threading.main_thread():
            return compile_here(*args)
        entry = Future()
        threading.Thread(target=_answer, args=(entry, compile_here, args)).start()
        return entry.result()

    kernel._compile_for_args = compile_for_args
    return kernel


@contextlib.contextmanager
def _collections_put_off():
    """Collect no garbage: to look for some among a compiler's objects takes a sixth of its time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _answer(entry, function, args):
    """Set the result of a call, or what it raised, as the answer."""
    try:
        entry.set_result(function(*args))
    except BaseException as error:
        entry.set_exception(error)


def compilation_announced(verbose):
    """A context in which, if ``verbose``, a line is printed for every kernel to be compiled."""
    if not verbose:
        return contextlib.nullcontext()
    from numba.core import event

    class Announcer(event.Listener):
        def on_start(self, event):
            kernel = event.data["dispatcher"]
            if _is_kernel(kernel):
                kept = "kept on disk" if CACHE else "for this process"
                print(f"compiling {kernel.__name__.lstrip('_')}, once ({kept})", flush=True)

        def on_end(self, event):
            pass

    return event.install_listener("numba:compile", Announcer())


def _is_kernel(dispatcher):
    """Whether a compiled function is a kernel of this package and not a part of one."""
    own = dispatcher.__module__.startswith(__name__)
    return own and not dispatcher.targetoptions.get("no_cpython_wrapper")
