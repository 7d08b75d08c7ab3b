"""What unknown constraints may mean: names of other libraries, and fairlearn's objects."""

from skfair.metrics import compares_ratio, find_criterion
from skfair.utils._messages import closest_name_hint

_SIMILAR = 0.8
"""Similarity of the spelling of names that no criterion is known by."""


def constraint_hint(what, registry):
    """What an unknown constraint may mean, to end an error with: by meaning, then by spelling.

    `what` is the name or object that was passed, and the registry has the constraints by name.
    """
    if isinstance(what, type) and what in registry.values():
        return f" Pass an instance, as in {what.__name__}()."
    # Classes, objects and functions of other libraries have names of criteria.
    name = what if isinstance(what, str) else getattr(what, "__name__", type(what).__name__)
    criterion = None if "partial" in name else find_criterion(name)
    if criterion is None:
        return closest_name_hint(what, registry, _SIMILAR)
    if criterion.constraint is None:
        return f" No such criterion is offered: no constraint is on {criterion.description}."
    is_named = criterion.constraint in registry
    if not is_named and "(" not in criterion.constraint:
        return ""  # of another registry
    shown = repr(criterion.constraint) if is_named else f"skfair.constraints.{criterion.constraint}"
    kind = registry[criterion.constraint].__name__ if is_named else ""
    has_ratio = criterion.ratio and is_named
    return f" Did you mean {shown}?" + (
        _translate_bound(what, kind)
        or (_advise_ratio(kind) if has_ratio and compares_ratio(name) else "")
    )


def _advise_ratio(kind, ratio=0.8):
    """How the ratio of rates is bounded."""
    return f" skfair.constraints.{kind}(ratio={ratio:g}) bounds the ratio of rates."


def _translate_bound(what, kind):
    """How the bound of one of fairlearn's constraints is passed here; empty for other objects."""
    if isinstance(what, type) or type(what).__module__.split(".")[0] != "fairlearn":
        return ""
    if hasattr(what, "upper_bound"):
        return f" Its upper_bound is {what.upper_bound!r}."
    if getattr(what, "ratio", 1.0) != 1.0:
        return _advise_ratio(kind, what.ratio)
    if getattr(what, "eps", None) is None:
        return ""
    return (
        f" fairlearn's difference_bound={what.eps:g} is from each group to all samples, so two "
        f"groups may differ by twice as much: pass tolerance={2 * what.eps:g}."
    )
