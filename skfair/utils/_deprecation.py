"""Deprecated parameters; functions, classes and properties have `sklearn.utils.deprecated`."""

import functools

from skfair.utils._messages import warn


def rename_parameter(old, new, *, removed_in):
    """Decorate a function or an estimator: accept the old name of a renamed parameter.

    The old name is passed on as the new one, with a FutureWarning at the user's line. Signatures,
    ``get_params`` and ``clone`` know the new name only. An estimator accepts the old one in its
    constructor and in ``set_params``, hence also in pipelines and in grids of a search.

    `removed_in` is the first version of skfair without the old name, as in "0.4". A class is
    changed in place and returned. Passing both names raises a TypeError.

    Examples
    --------
    >>> from skfair.utils._deprecation import rename_parameter
    >>> @rename_parameter("tolerance", "tol", removed_in="0.4")
    ... def solve(tol=1e-3):
    ...     return tol
    >>> solve(tol=0.1)
    0.1
    """

    def wrap(function):
        @functools.wraps(function)
        def accept_both(*args, **kwargs):
            if old in kwargs:
                if new in kwargs:
                    raise TypeError(f"Pass {new!r} only: {old!r} is its deprecated name.")
                message = f"{old!r} is deprecated and will be removed in skfair {removed_in}; "
                warn(f"{message}use {new!r} instead.", FutureWarning)
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return accept_both

    def decorate(what):
        if not isinstance(what, type):
            return wrap(what)
        what.__init__ = wrap(what.__init__)
        what.set_params = wrap(what.set_params)
        return what

    return decorate
