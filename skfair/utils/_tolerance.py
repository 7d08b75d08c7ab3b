"""The check of tolerances, for fits, audits, plans and monitors."""

from numbers import Real

import numpy as np


def check_tolerance(tolerance, largest=1.0, *, closed="both", name="tolerance", of=None):
    """Check that a tolerance is a number from 0 to the largest possible gap, and make it a float.

    `largest` is 1 for rates, whose tolerances are fractions, and infinity for gaps without a bound,
    such as those of losses. `closed` says which ends are allowed, as in `pandas.Interval`: "both",
    "left", "right" or "neither". `name` is what users call the argument, and `of`, for the message,
    the constraint or metric that has this largest gap. Anything else raises a ValueError.
    """
    is_number = isinstance(tolerance, Real) and not isinstance(tolerance, bool | np.bool_)
    if is_number and tolerance > largest:
        whose = "" if of is None else f" for {of}"
        raise ValueError(
            f"{name}={tolerance!r} is more than any gap between rates can be, which is "
            f"{largest:g}{whose}. Rates are fractions: {name}=0.05 is five percentage points."
        )
    is_inside = is_number and 0.0 <= tolerance < np.inf
    is_left_out = is_inside and (
        (tolerance == 0.0 and closed not in ("both", "left"))
        or (tolerance == largest and closed not in ("both", "right"))
    )
    if not is_inside or is_left_out:
        low = "at least 0" if closed in ("both", "left") else "positive"
        high = "at most" if closed in ("both", "right") else "less than"
        bound = "" if largest == np.inf else f" and {high} {largest:g}"
        raise ValueError(f"{name} must be a finite number, {low}{bound}; got {tolerance!r}.")
    return float(tolerance)
