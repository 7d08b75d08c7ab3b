"""What is said to users: warnings that point at their own line, lists of names, known names."""

import inspect
import warnings
from difflib import get_close_matches

_NOT_THE_USERS = ("skfair", "sklearn", "joblib")
"""Packages whose frames stand between a user's line and a warning."""


def warn(message, category=UserWarning):
    """Warn at the user's line, however deep below it the warning arises.

    Parameters
    ----------
    message : str
        What must hold, what came, what to do.
    category : type, default=UserWarning
        Class of the warning.
    """
    frame, level = inspect.currentframe(), 1
    while frame.f_back is not None and _is_ours(frame):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _is_ours(frame):
    return frame.f_globals.get("__name__", "").split(".")[0] in _NOT_THE_USERS


def join_names(names, limit=10):
    """Names for a message, cut off where the list would drown it.

    Parameters
    ----------
    names : iterable of str
        The names as they are to be shown; ``map(repr, labels)`` for labels.
    limit : int, default=10
        How many are shown; the others are counted.

    Returns
    -------
    listed : str
        As in "a, b and 3 more".
    """
    names = list(names)
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def spelling_hint(name, known):
    """A question that names the closest of the known names, to end an error message with.

    Parameters
    ----------
    name : object
        What the user passed; only a str has a suggestion.
    known : iterable of str
        What could have been passed.

    Returns
    -------
    question : str
        As in " Did you mean 'sqp'?"; empty where no name is close.
    """
    close = get_close_matches(name, known, n=1) if isinstance(name, str) else []
    return f" Did you mean {close[0]!r}?" if close else ""


def look_up_name(registry, what, parameter, kind=object):
    """Look up a name in a registry, or pass on the object given.

    Parameters
    ----------
    registry : dict
        Objects by name; a class stands for an object with its default parameters.
    what : str or object
        The name, or the object itself.
    parameter : str
        What users call this argument, for the error.
    kind : type or tuple of types, default=object
        What an object must be an instance of.

    Returns
    -------
    found : object

    Raises
    ------
    ValueError
        If there is no such name, or the object is not of this kind.
    """
    if not isinstance(what, str) and isinstance(what, kind):
        return what
    if not isinstance(what, str) or what not in registry:
        kinds = kind if isinstance(kind, tuple) else (kind,)
        such = "" if kind is object else f" of {' or '.join(one.__name__ for one in kinds)}"
        raise ValueError(
            f"{parameter} must be one of {sorted(registry)} or an instance{such}; got {what!r}."
            + spelling_hint(what, registry)
        )
    found = registry[what]
    return found() if isinstance(found, type) else found
