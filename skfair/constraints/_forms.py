"""Linear forms of which a gap is the largest, one row each and one column per event."""

import numpy as np
from scipy import sparse

from skfair.inference import all_pairs

_MANY_FORMS = 100_000
"""Forms up to which a sum or an average of gaps is written as the largest of them."""


def differences(block, n_events):
    """Every ordered pair of a block of events.

    Parameters
    ----------
    block : tuple of int
        Events compared with one another.
    n_events : int
        Number of all events.

    Returns
    -------
    forms : csr_array of shape (n_pairs, n_events)
    """
    place = (np.ones(len(block)), (np.arange(len(block)), list(block)))
    return all_pairs(len(block)) @ sparse.csr_array(place, shape=(len(block), n_events))


def check_forms(n_forms):
    """Refuse a gap that is the largest of too many forms.

    Parameters
    ----------
    n_forms : float
        Their number.

    Raises
    ------
    ValueError
        If they are more than a table of them may hold.
    """
    if n_forms > _MANY_FORMS:
        raise ValueError(
            f"A gap that adds up or averages over these cells and groups is the largest of "
            f"{n_forms:.2g} linear forms, too many for a limit of it; ask for one of the largest "
            'gap, with aggregate="max".'
        )
