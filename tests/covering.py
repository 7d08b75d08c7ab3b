"""Which cases of a parametrised test suffice: those in which all values of parameters meet."""

from functools import partial
from itertools import combinations, product
from random import Random


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


def make_rows(factors, forbidden=(), strength=3, seed=0):
    """Rows that contain every allowed combination of `strength` values of different factors.

    `factors` are lists of values by name, and `forbidden` pairs of (name, value) that no row may
    have together. A row begins with a combination that is missing; every other factor takes the
    value that adds most of those that are missing.
    """
    rng = Random(seed)
    refused = {frozenset(pair) for pair in forbidden}

    def fits(value, chosen):
        return all(frozenset((value, one)) not in refused for one in chosen)

    values = {name: [(name, value) for value in factors[name]] for name in factors}
    missing = {}  # in the order in which they are made
    for names in combinations(factors, strength):
        for combination in product(*(values[name] for name in names)):
            if all(fits(one, combination) for one in combination):
                missing[frozenset(combination)] = None
    rows = []
    while missing:
        chosen = set(next(iter(missing)))
        names = [name for name in factors if name not in dict(chosen)]
        rng.shuffle(names)
        for name in names:
            allowed = [value for value in values[name] if fits(value, chosen)]
            if not allowed:
                raise ValueError(f"No value of {name} fits {sorted(map(str, chosen))}.")
            rng.shuffle(allowed)
            others = [*combinations(sorted(chosen, key=str), strength - 1)]
            gains = [sum(frozenset((one, *rest)) in missing for rest in others) for one in allowed]
            chosen.add(allowed[gains.index(max(gains))])
        for combination in combinations(chosen, strength):
            missing.pop(frozenset(combination), None)
        rows.append({name: dict(chosen)[name] for name in factors})
    return rows
