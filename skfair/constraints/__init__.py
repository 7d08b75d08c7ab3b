"""Fairness constraints: what must be equal, between whom, and up to which tolerance."""

from skfair.constraints._check import check_constraint
from skfair.constraints._conditional import ConditionalDemographicParity
from skfair.constraints._constraint import MIN_GROUP_SIZES as MIN_GROUP_SIZES
from skfair.constraints._constraint import Constraint
from skfair.constraints._constraint import bind_all as bind_all
from skfair.constraints._constraint import report_small_groups as report_small_groups
from skfair.constraints._joint import ConstraintSystem
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
from skfair.constraints._protocols import MetricConstraint, SmoothConstraint
from skfair.constraints._ranking_parity import RankingParity
from skfair.constraints._threshold_parity import (
    PartialDemographicParity,
    PartialEqualizedOdds,
    PartialEqualOpportunity,
)
from skfair.constraints._values import ConstraintValues, ScoreJacobian
from skfair.groups import Samples

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


def constraints_on(prediction):
    """Names of the constraints that apply to a kind of prediction, as `Constraint.applies_to`."""
    return sorted(name for name, kind in CONSTRAINTS.items() if prediction in kind().applies_to)


def refuse_inapplicable(constraint, model):
    """Refuse a constraint that is not about numbers for a model that predicts numbers.

    Parameters
    ----------
    constraint : Constraint
        What was asked for.
    model : str
        What the regressor is called, for the error.

    Raises
    ------
    ValueError
        If it compares decisions or classes; the error names constraints that do not.
    """
    if "numbers" not in constraint.applies_to:
        raise ValueError(
            f"{constraint} is about classes and decisions, but {model} predicts numbers, so it "
            f"cannot be measured. Pass one of {constraints_on('numbers')} or BoundedGroupLoss, "
            "with the loss 'squared', 'absolute' or a callable where it has one; or a classifier."
        )


__all__ = [
    "CONSTRAINTS",
    "MetricConstraint",
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
    "ConstraintSystem",
    "LossParity",
    "MeanParity",
    "PartialDemographicParity",
    "PartialEqualOpportunity",
    "PartialEqualizedOdds",
    "PartialGroupAUC",
    "PartialStatisticalParity",
    "Samples",
    "RankingParity",
    "SmoothConstraint",
    "ScoreJacobian",
    "check_constraint",
]
