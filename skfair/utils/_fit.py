"""Restore an estimator whose fit fails."""

import functools

from skfair._kernels import announce_compilation


def restore_on_failure(fit):
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

    return fit_or_restore
