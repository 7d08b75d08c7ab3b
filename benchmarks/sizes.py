"""The smallest size of each benchmark, at which a test runs it.

A benchmark declares it beside its definition, as values of the constants that it reads::

    @smallest(N_DATA_SETS=2, N_FITS=2)
    def starts(budget): ...
"""

import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from benchmarks import data

MAX_SAMPLES = 400
"""Samples of each data set, unless a benchmark declares another number."""


def smallest(module=None, **constants):
    """Declare constants of a module at the smallest size of a benchmark.

    Parameters
    ----------
    module : module, optional
        Where the constants are; by default in the module of the benchmark.
    **constants : object
        Their values.

    Returns
    -------
    decorator : callable
        It may be repeated, for constants of other modules.
    """

    def declare(benchmark):
        name = benchmark.__module__ if module is None else module.__name__
        benchmark.smallest = [*getattr(benchmark, "smallest", ()), (name, constants)]
        return benchmark

    return declare


@contextmanager
def use_smallest(benchmark):
    """Give constants the values that a benchmark declares. Files go to a temporary folder."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        for module in _modules():
            if hasattr(module, "FOLDER"):
                stack.enter_context(patch.object(module, "FOLDER", folder))
        stack.enter_context(patch.object(data, "MAX_SAMPLES", MAX_SAMPLES))
        for name, constants in benchmark.smallest:
            if constants:
                stack.enter_context(patch.multiple(name, **constants))
        # Results that are cached depend on the sizes.
        stack.callback(_clear_caches)
        _clear_caches()
        yield


def _modules():
    """The modules of benchmarks that are imported."""
    return [module for name, module in sys.modules.items() if name.startswith("benchmarks.")]


def _clear_caches():
    """Clear the caches of all functions of benchmarks."""
    for module in _modules():
        for value in vars(module).values():
            getattr(value, "cache_clear", lambda: None)()
