"""Decorator of ``fit``: restore an estimator whose fit fails, and limit the threads of BLAS."""

import functools
from collections.abc import Callable
from contextlib import nullcontext

from skfair._kernels import announce_compilation
from skfair.utils._threads import single_threaded_blas
from skfair.utils._types import Decorated


def restore_on_failure(*, one_blas_thread: bool) -> Callable[[Decorated], Decorated]:
    """Decorate a ``fit`` such that an exception leaves the estimator as it was.

    Every exception counts: bad input, Ctrl-C, a callback and its teardown, a warning turned into an
    error. Write it above ``with_callbacks``, so that teardowns are inside. The method may set
    attributes at any time, but must not write into the arrays of an earlier fit. With ``verbose``
    it reports what is compiled.

    With one thread of BLAS, threads are left to sums over many samples, which are in blocks with
    one thread of BLAS each. Between them, and in fits of few samples, further threads of BLAS take
    CPU time and save none, even for hundreds of columns (``python -m benchmarks thread-time``).
    Users' own estimators have their threads: do not limit those of a fit that calls them.
    """

    def decorate(fit):
        @functools.wraps(fit)
        def fit_or_restore(estimator, *args, **kwargs):
            # Attributes as they were: a failed or interrupted fit leaves no half of a model.
            before = dict(vars(estimator))
            threads = single_threaded_blas() if one_blas_thread else nullcontext()
            try:
                with announce_compilation(getattr(estimator, "verbose", 0)), threads:
                    return fit(estimator, *args, **kwargs)
            except BaseException:
                vars(estimator).clear()
                vars(estimator).update(before)
                raise

        return fit_or_restore

    return decorate
