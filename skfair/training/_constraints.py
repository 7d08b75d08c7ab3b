"""From what users call a constraint to objects."""

from skfair.constraints import CONSTRAINTS, Constraint
from skfair.utils._messages import resolve_name


def resolve_constraints(constraint):
    """List of the constraints that a parameter names; raises ValueError for unknown names."""
    if constraint is None:
        return []
    constraints = constraint if isinstance(constraint, list | tuple) else [constraint]
    return [resolve_name(CONSTRAINTS, one, "constraint", Constraint) for one in constraints]
