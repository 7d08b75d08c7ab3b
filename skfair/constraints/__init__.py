"""Fairness constraints: what must be equal, between which groups, up to which tolerance."""

from collections.abc import Mapping
from typing import Annotated, Any

from skfair._bound.gap import Gap, LargestMean, RangeGap, RatioGap, Shortfall, TotalRangeGap
from skfair._bound.pair_gap import DistanceToOverall, ExcessOverOverall
from skfair._utils.checks import Registry, argument_error, resolve_name
from skfair._utils.parameters import Tolerance
from skfair._utils.sklearn import StrOptions
from skfair._utils.tables import TableLike
from skfair.constraints import _held_out  # with it `make_scorer` takes constraints
from skfair.constraints._constraint import (
    Constraint,
    check_whose_tolerance,
    constraint_hint,
    fill_tolerance,
)
from skfair.constraints._criteria import (
    BoundedGroupLoss,
    Calibration,
    DemographicParity,
    EqualizedOdds,
    EqualizedOddsLossParity,
    EqualOpportunity,
    EqualOpportunityLossParity,
    ErrorRateParity,
    ExposureParity,
    FalsePositiveRateParity,
    LossParity,
    MeanErrorParity,
    MeanParity,
    RankingParity,
    check_constraint,
)
from skfair.constraints._partial import (
    PartialDemographicParity,
    PartialEqualizedOdds,
    PartialEqualOpportunity,
    PartialGroupAUC,
    PartialStatisticalParity,
)
from skfair.constraints._rates import (
    F1ScoreParity,
    JaccardScoreParity,
    MaximumRate,
    MinimumRate,
    NegativePredictiveValueParity,
    PrecisionParity,
    RateParity,
    TreatmentEquality,
)
from skfair.metrics._rates import refuse_sets_metric
from skfair.metrics._registry import Metric
from skfair.metrics._scoring import make_limit_metric
from skfair.metrics._synonyms import NOT_CALIBRATION

PARTIAL_CRITERIA = Registry(
    {
        "partial_statistical_parity": PartialStatisticalParity,
        "partial_demographic_parity": PartialDemographicParity,
        "partial_equal_opportunity": PartialEqualOpportunity,
        "partial_equalized_odds": PartialEqualizedOdds,
        "partial_group_auc": PartialGroupAUC,
    },
    constraint_hint,
)
"""Constraints on an interval of percentiles, for `PartialParityClassifier`."""

CONSTRAINTS = Registry(
    {
        "demographic_parity": DemographicParity,
        "equal_opportunity": EqualOpportunity,
        "false_positive_rate_parity": FalsePositiveRateParity,
        "equalized_odds": EqualizedOdds,
        "error_rate_parity": ErrorRateParity,
        "precision_parity": PrecisionParity,
        "negative_predictive_value_parity": NegativePredictiveValueParity,
        "f1_score_parity": F1ScoreParity,
        "jaccard_score_parity": JaccardScoreParity,
        "treatment_equality": TreatmentEquality,
        "mean_parity": MeanParity,
        "mean_error_parity": MeanErrorParity,
        "loss_parity": LossParity,
        "equal_opportunity_loss": EqualOpportunityLossParity,
        "equalized_odds_loss": EqualizedOddsLossParity,
        **PARTIAL_CRITERIA,
    },
    constraint_hint,
)
"""Constraints by name; entries may be added."""

_CLASSES = {kind.__name__: kind for kind in CONSTRAINTS.values()} | {
    "BoundedGroupLoss": BoundedGroupLoss,
    "Calibration": Calibration,
    "Constraint": Constraint,
    "ExposureParity": ExposureParity,
    "MaximumRate": MaximumRate,
    "MinimumRate": MinimumRate,
    "RankingParity": RankingParity,
    "RateParity": RateParity,
}
"""All constraints of this package by the names of their classes, which files state."""

AUDITED_CONSTRAINTS = Registry({**CONSTRAINTS, "calibration": Calibration}, constraint_hint)
"""Constraints of claims by name: those of fits, and on calibration."""

CONSTRAINTS_ON_DECISIONS = Registry(
    {name: kind for name, kind in CONSTRAINTS.items() if kind.applies_to == ("decisions",)},
    constraint_hint,
)
"""Constraints that only count decisions, as of monitors, by name."""


@make_limit_metric.register(str)
def _make_limit_metric(name: str, confidence_level: float) -> Metric:
    """The upper confidence limit of the gap of a constraint, by its name."""
    constraint = resolve_name(AUDITED_CONSTRAINTS, name, "metric")
    return make_limit_metric(constraint, confidence_level)


ConstraintName = Annotated[str, StrOptions(CONSTRAINTS)]
ConstraintLike = ConstraintName | Constraint | list[str | Constraint] | tuple[str | Constraint, ...]
"""One constraint, or several."""


def resolve_constraints(
    constraint: Any,
    tolerance: Tolerance | None = None,
    registry: Registry | dict[str, type[Constraint]] = CONSTRAINTS,
    base: type[Constraint] = Constraint,
    *,
    takes_all: bool = False,
    is_real: bool = False,
) -> list[Constraint]:
    """List the constraints that a parameter names; each carries its tolerance.

    Constraints without a bound of their own get `tolerance`. The other parameters are those of
    `find_constraints`, which lists the same constraints as they were passed.
    """
    resolved = find_constraints(
        constraint, tolerance, registry, base, takes_all=takes_all, is_real=is_real
    )
    return [fill_tolerance(one, tolerance) for one in resolved]


def find_constraints(
    constraint: Any,
    tolerance: Tolerance | None = None,
    registry: Registry | dict[str, type[Constraint]] = CONSTRAINTS,
    base: type[Constraint] = Constraint,
    *,
    takes_all: bool = False,
    is_real: bool = False,
) -> list[Constraint]:
    """List the constraints that a parameter names, with the bounds of their own.

    Names are those of a registry, and objects of a base class. Constraints on rankings and on
    prediction sets are accepted with `takes_all`, and those on numbers alone if `is_real`.

    Raises
    ------
    ValueError
        If a name is unknown, constraints have other tolerances of their own, or one compares
        rankings or prediction sets where predictions are compared.
    """
    if constraint is None:
        return []
    check_whose_tolerance(constraint, tolerance)
    if takes_all and registry is CONSTRAINTS:
        registry = AUDITED_CONSTRAINTS
    constraints = constraint if isinstance(constraint, list | tuple) else [constraint]
    named = constraints
    constraints = [resolve_name(registry, one, "constraint", base) for one in constraints]
    if isinstance(tolerance, Mapping):  # a name leaves open which groups are compared
        for name, one in zip(named, constraints, strict=True):
            if isinstance(name, str) and "attributes" in one.get_params(deep=False):
                one.set_params(attributes="each")
    for one in [] if takes_all else constraints:
        refuse_sets_metric(one.compared_rate)
        check_task(one, is_real)
        if one.unit == "probability":
            raise argument_error(f"constraint must be one of fits, unlike {one}: {NOT_CALIBRATION}")
        if one.unit == "attention":
            raise argument_error(
                f"constraint must be about predictions, but {one} compares the exposure of "
                "documents in rankings; pass it to skfair.ranking.ConstrainedRankerCV, or to "
                "Audit.certify."
            )
    return constraints


def find_constraint_class(name: str) -> type[Constraint] | None:
    """The constraint of this package with a name; None if there is none."""
    return _CLASSES.get(name)


def applicable_constraint_names(prediction: str) -> list[str]:
    """Names of the constraints that apply to a kind of prediction, as `Constraint.applies_to`."""
    return sorted(name for name, kind in CONSTRAINTS.items() if prediction in kind().applies_to)


def check_task(constraint: Constraint, is_real: bool) -> None:
    """Raise for a constraint on predicted numbers alone where classes are predicted."""
    if constraint.applies_to == ("numbers",) and not is_real:
        raise argument_error(
            f"constraint must be about classes or their scores, but {constraint} is about "
            "predicted numbers and their outcomes. Pass a regressor, or an audit of numbers; of "
            "classes one of 'mean_parity' and 'loss_parity'."
        )


def check_applies_to_numbers(constraint: Constraint, model: str) -> None:
    """Raise for a constraint on decisions or classes for a regressor, which is named by `model`.

    Raises
    ------
    ValueError
        If it does not apply to numbers, or needs a threshold of them and has none; the error names
        constraints that do.
    """
    if getattr(constraint, "threshold", 0.0) is None and "numbers" in constraint.applies_to:
        raise argument_error(
            f"threshold must be a number from which on predictions of {model} are positive "
            f"decisions, but that of {constraint} is None. Pass "
            f"{type(constraint).__name__}(interval, threshold=...)."
        )
    if "numbers" not in constraint.applies_to:
        raise ValueError(
            f"{constraint} is about classes and decisions, but {model} predicts numbers, so it "
            f"cannot be measured. Pass one of {applicable_constraint_names('numbers')} or "
            "BoundedGroupLoss, "
            "with the loss 'squared', 'absolute' or a callable where it has one; or a classifier."
        )


__all__ = [
    "CONSTRAINTS",
    "BoundedGroupLoss",
    "Calibration",
    "Constraint",
    "DemographicParity",
    "EqualOpportunity",
    "EqualOpportunityLossParity",
    "EqualizedOdds",
    "EqualizedOddsLossParity",
    "ExposureParity",
    "Gap",
    "LossParity",
    "MaximumRate",
    "MeanErrorParity",
    "MeanParity",
    "MinimumRate",
    "PartialDemographicParity",
    "PartialEqualOpportunity",
    "PartialEqualizedOdds",
    "PartialGroupAUC",
    "PartialStatisticalParity",
    "RankingParity",
    "RateParity",
    "RatioGap",
    "check_constraint",
]
