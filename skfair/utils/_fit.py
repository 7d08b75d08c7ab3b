"""Decorators of ``fit``: restore an estimator whose fit fails, and limit the threads of BLAS."""

import functools

from skfair._kernels import announce_compilation
from skfair.utils._threads import single_threaded_blas
from skfair.utils._types import Decorated


def restore_on_failure(fit: Decorated) -> Decorated:
    """Decorate a ``fit`` such that an exception leaves the estimator as it was.

    Every exception counts: bad input, Ctrl-C, a callback and its teardown, a warning turned into an
    error. Write it above ``with_callbacks``, so that teardowns are inside. The method may set
    attributes at any time, but must not write into the arrays of an earlier fit. With ``verbose``
    it reports what is compiled.
    """

    @functools.wraps(fit)
    def fit_or_restore(estimator, *args, **kwargs):
        # Attributes as they were, so that a failed or interrupted fit leaves no half of a model.
        before = dict(vars(estimator))
        try:
            with announce_compilation(getattr(estimator, "verbose", 0)):
                return fit(estimator, *args, **kwargs)
        except BaseException:
            vars(estimator).clear()
            vars(estimator).update(before)
            raise

    return fit_or_restore  # type: ignore[return-value]


def limit_blas(fit):
    """Decorate a ``fit`` such that BLAS has one thread.

    Sums over many samples are in blocks, with one thread of BLAS each. Between them, and in fits of
    few samples, further threads of BLAS take CPU time and save none, even for hundreds of columns
    (``python -m benchmarks thread-time``). Users' own estimators have their threads: do not write
    it above a fit that calls them.
    """

    @functools.wraps(fit)
    def fit_limited(estimator, X, *args, **kwargs):
        with single_threaded_blas():
            return fit(estimator, X, *args, **kwargs)

    return fit_limited
