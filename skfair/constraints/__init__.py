"""Fairness constraints: what must be equal, between whom, and up to which tolerance."""

from skfair.constraints._check import check_constraint
from skfair.constraints._conditional import ConditionalDemographicParity
from skfair.constraints._constraint import MIN_GROUP_SIZES as MIN_GROUP_SIZES
from skfair.constraints._constraint import Constraint
from skfair.constraints._constraint import bind_all as bind_all
from skfair.constraints._constraint import report_small_groups as report_small_groups
from skfair.constraints._joint import JointConstraint
from skfair.constraints._losses import (
    BoundedGroupLoss,
    EqualizedOddsLoss,
    EqualOpportunityLoss,
    LossParity,
)
from skfair.constraints._means import MeanParity
from skfair.constraints._parity import (
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    ErrorRateParity,
    FalsePositiveRateParity,
)
from skfair.constraints._partial_parity import PartialGroupAUC, PartialStatisticalParity
from skfair.constraints._protocols import AuditedConstraint, RowConstraint
from skfair.constraints._ranking_parity import RankingParity
from skfair.constraints._threshold_parity import (
    PartialDemographicParity,
    PartialEqualizedOdds,
    PartialEqualOpportunity,
)
from skfair.constraints._values import ConstraintValues, ScoreJacobian
from skfair.people import People

PARTIAL_CRITERIA = {
    "statistical_parity": PartialStatisticalParity,
    "demographic_parity": PartialDemographicParity,
    "equal_opportunity": PartialEqualOpportunity,
    "equalized_odds": PartialEqualizedOdds,
    "group_auc": PartialGroupAUC,
}
"""The criteria by the name that they have among themselves."""

CONSTRAINTS = {
    "demographic_parity": DemographicParity,
    "equal_opportunity": EqualOpportunity,
    "false_positive_rate_parity": FalsePositiveRateParity,
    "equalized_odds": EqualizedOdds,
    "error_rate_parity": ErrorRateParity,
    "mean_parity": MeanParity,
    "loss_parity": LossParity,
    "equal_opportunity_loss": EqualOpportunityLoss,
    "equalized_odds_loss": EqualizedOddsLoss,
    **{f"partial_{name}": criterion for name, criterion in PARTIAL_CRITERIA.items()},
}
"""Constraints that have a name of their own."""

__all__ = [
    "CONSTRAINTS",
    "AuditedConstraint",
    "BoundedGroupLoss",
    "ConditionalDemographicParity",
    "Constraint",
    "ConstraintValues",
    "DemographicParity",
    "EqualOpportunity",
    "EqualOpportunityLoss",
    "EqualizedOdds",
    "EqualizedOddsLoss",
    "ErrorRateParity",
    "FalsePositiveRateParity",
    "JointConstraint",
    "LossParity",
    "MeanParity",
    "PartialDemographicParity",
    "PartialEqualOpportunity",
    "PartialEqualizedOdds",
    "PartialGroupAUC",
    "PartialStatisticalParity",
    "People",
    "RankingParity",
    "RowConstraint",
    "ScoreJacobian",
    "check_constraint",
]
