"""Which cases of a parametrised test suffice: those in which all values of parameters meet."""

from functools import partial
from itertools import combinations


def cover(cases, strength):
    """Choose cases that contain every combination of `strength` parameter values.

    A case is a dictionary of parameters. In every step the greedy choice takes the first case with
    most of the combinations that are missing. Values are compared by identity, since few can be
    hashed, and partial functions, such as checks of scikit-learn, by that of their function.
    Returns the indices of the cases.
    """
    contained = [_combinations(case, strength) for case in cases]
    missing = set().union(*contained)
    chosen = []
    while missing:
        best = max(range(len(cases)), key=lambda i: len(contained[i] & missing))
        missing -= contained[best]
        chosen.append(best)
    return chosen


def _combinations(case, strength):
    """Combinations of a case's parameters, each of which is a name and the identity of a value."""
    values = [(name, _identify(case[name])) for name in sorted(case)]
    return set(combinations(values, min(strength, len(values))))


def _identify(value):
    """What equal values of a parameter have in common."""
    return id(value.func) if isinstance(value, partial) else id(value)
