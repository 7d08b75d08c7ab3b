"""Contrasts: linear forms of the means whose largest value is the gap."""

import numpy as np
from scipy import sparse

_MAX_GROUPS = 1000
"""Number of groups up to which every pair is compared."""


def all_pairs(n_events):
    """Differences of every ordered pair of events, one per row of a csr_array."""
    if n_events > _MAX_GROUPS:
        raise ValueError(
            f"There must be at most {_MAX_GROUPS} groups, for every pair is compared; got "
            f"{n_events}. Merge groups, or leave small ones out."
        )
    first, second = np.nonzero(~np.eye(n_events, dtype=bool))
    rows = np.repeat(np.arange(len(first)), 2)
    factors = np.tile([1.0, -1.0], len(first))
    columns = np.column_stack((first, second)).ravel()
    return sparse.csr_array((factors, (rows, columns)), shape=(len(first), n_events))
