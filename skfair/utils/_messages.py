"""Messages to users: warnings at their line, lists of names, and look-up of names."""

import inspect
import warnings
from difflib import get_close_matches

_LIBRARIES = ("skfair", "sklearn", "joblib")
"""Packages whose frames are skipped to find the user's line."""


def warn(message, category=UserWarning):
    """Warn at the user's line, however deep below it the warning arises."""
    frame, level = inspect.currentframe(), 1
    # Skip frames of the libraries, whose warnings would point at lines the user did not write.
    while frame.f_back is not None and _is_library_frame(frame):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _is_library_frame(frame):
    return frame.f_globals.get("__name__", "").split(".")[0] in _LIBRARIES


def join_names(names, limit=10):
    """Names for a message, as in "a, b and 3 more"; pass ``map(repr, labels)`` for labels."""
    names = list(names)
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


class Registry(dict):
    """Objects by name, with a function that says what an unknown name may mean.

    ``hint(name, registry)`` returns a sentence to end an error with, or an empty string.
    """

    def __init__(self, objects, hint):
        super().__init__(objects)
        self.hint = hint


def spelling_hint(name, known):
    """A question such as " Did you mean 'sqp'?" to end an error with; empty if no name is close.

    A `Registry` knows what other names mean.
    """
    return (
        known.hint(name, known) if isinstance(known, Registry) else closest_name_hint(name, known)
    )


def closest_name_hint(name, known, cutoff=0.6):
    """The question for the name of closest spelling, if it is as similar as the cutoff."""
    close = get_close_matches(name, known, n=1, cutoff=cutoff) if isinstance(name, str) else []
    return f" Did you mean {close[0]!r}?" if close else ""


def resolve_name(registry, what, parameter, kind=object):
    """The object of a name in a registry, or the object passed if it is an instance of `kind`.

    A class in the registry stands for an instance with default parameters. `parameter` is what
    users call the argument.
    """
    if not isinstance(what, str) and isinstance(what, kind):
        return what
    if not isinstance(what, str) or what not in registry:
        kinds = kind if isinstance(kind, tuple) else (kind,)
        of_kind = "" if kind is object else f" of {' or '.join(one.__name__ for one in kinds)}"
        raise ValueError(
            f"{parameter} must be one of {sorted(registry)} or an instance{of_kind}; got {what!r}."
            + spelling_hint(what, registry)
        )
    entry = registry[what]
    # Registries hold classes and instances.
    return entry() if isinstance(entry, type) else entry
