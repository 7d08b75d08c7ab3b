"""From what users call a constraint to objects."""

from skfair.constraints import CONSTRAINTS, Constraint
from skfair.utils._messages import resolve_name


def constraints_of(constraint):
    """The constraints asked for.

    Parameters
    ----------
    constraint : str, Constraint, list of these, or None
        As users name them; None is none.

    Returns
    -------
    constraints : list of Constraint

    Raises
    ------
    ValueError
        If there is none of that name.
    """
    if constraint is None:
        return []
    given = constraint if isinstance(constraint, list | tuple) else [constraint]
    return [resolve_name(CONSTRAINTS, one, "constraint", Constraint) for one in given]
