"""Gaps as the largest of linear forms of the means: rows of factors, one column per mean."""

import numpy as np
from scipy import sparse

_MANY = 1000
"""Groups up to which every pair is compared."""


def all_pairs(n_events):
    """Every ordered pair of events, as rows +1 and -1.

    Parameters
    ----------
    n_events : int
        Number of events.

    Returns
    -------
    contrasts : csr_array of shape (n_events * (n_events - 1), n_events)

    Raises
    ------
    ValueError
        If there are too many to compare each with each.
    """
    if n_events > _MANY:
        raise ValueError(
            f"Every group is compared with every other, but there are {n_events} groups, more than "
            f"{_MANY}; merge groups, or leave small ones out."
        )
    first, second = np.nonzero(~np.eye(n_events, dtype=bool))
    rows = np.repeat(np.arange(len(first)), 2)
    factors = np.tile([1.0, -1.0], len(first))
    columns = np.column_stack((first, second)).ravel()
    return sparse.csr_array((factors, (rows, columns)), shape=(len(first), n_events))
