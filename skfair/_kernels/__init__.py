"""Compiled kernels: deterministic functions that take arrays and return numbers.

Every kernel is compiled at its first call and cached on disk by numba. A kernel writes into arrays
that its caller allocates. It returns numbers, never arrays or structs: numba calls Python to build
those, and a signal whose handler runs there (Ctrl-C) would break the interpreter. The public
function around a kernel allocates the arrays and packs them into a struct.
"""

import functools
import hashlib
import os
import warnings
from contextlib import contextmanager, nullcontext
from importlib import import_module
from pathlib import Path
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


def jit(function):
    """Compile a kernel, which Python calls, at its first call and cache it on disk.

    It runs without the interpreter lock, and a division by zero gives inf or nan as in numpy. It is
    interpreted where there is no numba, and compiled in every process where no folder can be
    written.
    """
    numba = find_numba()
    if numba is None:
        return _interpret(function)
    # numba stores a kernel under its name, and notices changes of its own file, but not of the
    # functions that it calls.
    function.__qualname__ = f"{function.__name__}-{_sources_digest()}"
    compiled = functools.partial(numba.njit, nogil=True, error_model="numpy")
    try:
        return compiled(cache=CACHE_ON_DISK)(function)
    except RuntimeError:  # numba finds no folder that it can write
        return compiled()(function)


def helper(function, **options):
    """Compile a function within the kernels that call it; Python calls it as it is."""
    if find_numba() is None:
        return function
    from numba.extending import register_jitable

    return register_jitable(error_model="numpy", **options)(function)


def fast_sums_helper(function):
    """Compile a helper whose sums may be taken in any order, in vector registers."""
    return helper(function, fastmath={"reassoc", "contract"})


_interpret = np.errstate(all="ignore")
"""Let Python call a kernel, with division by zero as in compiled code."""

MAX_INTERPRETED_STEPS = 500_000
"""Steps of a kernel that a process interprets, about .5 s; below 0 none are."""


@contextmanager
def compile_at_first_call():
    """A context in which kernels are compiled at their first call."""
    global MAX_INTERPRETED_STEPS
    before = MAX_INTERPRETED_STEPS
    MAX_INTERPRETED_STEPS = -1
    try:
        yield
    finally:
        MAX_INTERPRETED_STEPS = before


def interpret_at_first(count_steps, by_numpy=None):
    """Compile a kernel once its calls have taken many steps; before, interpret it.

    A kernel that is stored on disk is loaded at its first call. ``count_steps`` maps the arguments
    of a call to the number of its innermost steps, about. ``by_numpy`` is a function that is called
    in place of the interpreted kernel. Both ways give the same bits, as the compiler may not
    reorder operations.
    """

    def decorate(function):
        kernel, interpreted = jit(function), _interpret(by_numpy or function)
        if not is_compiled(kernel):
            return interpreted
        n_steps = None

        @functools.wraps(function)
        def run(*args):
            nonlocal n_steps
            if n_steps is None:
                n_steps = np.inf if is_stored(kernel) else 0
            if n_steps <= MAX_INTERPRETED_STEPS:
                n_steps += count_steps(*args)
            return (kernel if n_steps > MAX_INTERPRETED_STEPS else interpreted)(*args)

        run.kernel = kernel
        run.interpreted = interpreted
        return run

    return decorate


def is_stored(kernel):
    """Whether numba has stored the code of a kernel on disk, after its index."""
    folder = kernel.stats.cache_path
    return folder is not None and any(Path(folder).glob(f"*.{kernel.py_func.__qualname__}-*.nbc"))


@functools.cache
def _sources_digest():
    """Digest of the sources of all kernels."""
    files = sorted(Path(__file__).parent.rglob("*.py"))
    digests = b"".join(hashlib.sha256(file.read_bytes()).digest() for file in files)
    return hashlib.sha256(digests).hexdigest()[:12]


def announce_compilation(verbose):
    """A context that, if ``verbose``, prints a line for every kernel that is compiled in it."""
    if not verbose or find_numba() is None:
        return nullcontext()
    from numba.core import event

    class Announcer(event.Listener):
        depth = 0  # above 1 functions are compiled that a kernel calls

        def on_start(self, event):
            self.depth += 1
            if self.depth == 1:
                self.start = perf_counter()
                name = event.data["dispatcher"].__name__.lstrip("_")
                storage = "stored on disk" if CACHE_ON_DISK else "for this process"
                print(f"compiling {name}, once ({storage}) ...", end=" ", flush=True)

        def on_end(self, event):
            self.depth -= 1
            if self.depth == 0:
                print(f"{perf_counter() - self.start:.1f} s", flush=True)

    return event.install_listener("numba:compile", Announcer())


def kernels_of(module):
    """The compiled kernels of a module of this package."""
    items = [getattr(item, "kernel", item) for item in vars(module).values()]
    is_here = [getattr(item, "__module__", None) == module.__name__ for item in items]
    return [item for item, here in zip(items, is_here, strict=True) if here and is_compiled(item)]


def is_compiled(item):
    """Whether an object is a function that numba compiles."""
    return hasattr(item, "py_func")


# Numbers that kernels and their callers share; numba is not needed to import them.
(LOGISTIC, SQUARED_HINGE, HINGE, SQUARED, ABSOLUTE, SIGMOID, RAMP, STEP, SCORE) = range(9)
"""Numbers by which kernels know losses and rates."""

ERROR, MIN_ERROR, TOTAL_CHANGE, COUNT, MEANS = range(5)
"""Columns of a table of bins: the error before a bin and a lower bound of it within the bin, the
sum of all changes of means in the bin, its number of flips, and, from the last one on, the means
before the bin."""

OUTER_LENGTH = 3.0
"""Length from the outermost flip of a line to the end of the interval beyond it."""
