"""Verdicts: what is known of a bound in the population, in one word for all clients."""

from typing import Literal

Verdict = Literal["shown", "open", "contradicted"]
"""The bound is shown to hold in the population, or it is shown to be broken, or neither."""

EXIT_STATUSES: dict[Verdict, int] = {"shown": 0, "open": 1, "contradicted": 3}
"""Exit statuses of the shell."""


def find_verdict(is_shown: bool, is_contradicted: bool = False) -> Verdict:
    """The word for what is known; a bound that is contradicted is not shown."""
    if is_contradicted:
        return "contradicted"
    return "shown" if is_shown else "open"
