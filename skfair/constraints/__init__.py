"""Fairness constraints: what must be equal, between whom, and up to which tolerance."""

from skfair.constraints._check import check_constraint
from skfair.constraints._constraint import Constraint, People, Rates
from skfair.constraints._losses import (
    BoundedGroupLoss,
    EqualizedOddsLoss,
    EqualOpportunityLoss,
    LossParity,
)
from skfair.constraints._parity import (
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    ErrorRateParity,
    FalsePositiveRateParity,
)
from skfair.constraints._unconstrained import Unconstrained

CONSTRAINTS = {
    "demographic_parity": DemographicParity,
    "equal_opportunity": EqualOpportunity,
    "false_positive_rate_parity": FalsePositiveRateParity,
    "equalized_odds": EqualizedOdds,
    "error_rate_parity": ErrorRateParity,
    "loss_parity": LossParity,
    "equal_opportunity_loss": EqualOpportunityLoss,
    "equalized_odds_loss": EqualizedOddsLoss,
}
"""Constraints that have a name of their own."""

__all__ = [
    "CONSTRAINTS",
    "BoundedGroupLoss",
    "Constraint",
    "DemographicParity",
    "EqualOpportunity",
    "EqualOpportunityLoss",
    "EqualizedOdds",
    "EqualizedOddsLoss",
    "ErrorRateParity",
    "FalsePositiveRateParity",
    "LossParity",
    "People",
    "Rates",
    "Unconstrained",
    "check_constraint",
]
