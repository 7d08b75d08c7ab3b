"""What every fit promises."""

import functools

from skfair._kernels import announce_compilation


def restore_on_failure(fit):
    """Decorate a ``fit`` so that one that raises leaves the estimator as it was.

    Whatever raises counts: bad input, Ctrl-C, a callback and its teardown, a warning that is
    turned into an error. To be written above ``with_callbacks``, so that teardowns are inside.
    One with ``verbose`` says what is compiled for it.

    Parameters
    ----------
    fit : function
        The method; it may set attributes at any time, but must not write into the arrays of an
        earlier fit.

    Returns
    -------
    fit : function
    """

    @functools.wraps(fit)
    def fit_or_nothing(estimator, *args, **kwargs):
        earlier = dict(vars(estimator))
        try:
            with announce_compilation(getattr(estimator, "verbose", 0)):
                return fit(estimator, *args, **kwargs)
        except BaseException:
            vars(estimator).clear()
            vars(estimator).update(earlier)
            raise

    return fit_or_nothing
