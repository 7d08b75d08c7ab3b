"""Numbers in sentences: bounds as they were passed, limits rounded outwards, few exponents."""

from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from math import isfinite


def bound_text(bound):
    """A bound as it was passed."""
    return f"{bound:.12g}"


def limit_text(limit, is_lower=False, n_digits=3):
    """A limit, rounded outwards."""
    return number_text(limit, n_digits, ROUND_FLOOR if is_lower else ROUND_CEILING)


def number_text(number, n_digits=3, rounding=ROUND_HALF_EVEN, sign=""):
    """A number of three digits, or all before the point; no zero has a sign.

    Only numbers from a million on, and below .0001, have an exponent.
    """
    number += 0.0
    if not isfinite(number):
        return format(number, f"{sign}g")
    exact = Decimal(f"{number:.12g}")
    n_digits = n_digits if abs(number) >= 1e6 else max(n_digits, exact.adjusted() + 1)
    last = Decimal(1).scaleb(exact.adjusted() + 1 - n_digits)
    # One digit more, as 99.96 may become 100.
    return format(float(exact.quantize(last, rounding)), f"{sign}.{n_digits + 1}g")
