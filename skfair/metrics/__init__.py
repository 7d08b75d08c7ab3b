"""Fairness metrics, indicators of Pareto fronts, and scorers for model selection."""

from skfair.metrics._classification import (
    accuracy_score_difference,
    demographic_parity_difference,
    demographic_parity_ratio,
    equal_opportunity_difference,
    equal_opportunity_ratio,
    equalized_odds_difference,
    equalized_odds_ratio,
    false_positive_rate_difference,
)
from skfair.metrics._clustering import additive_violation, balance_score, cluster_composition
from skfair.metrics._criteria import independence_gap, separation_gap, sufficiency_gap
from skfair.metrics._fronts import coverage, hypervolume
from skfair.metrics._graph import (
    group_constraint_residual,
    normalized_cut,
    spectral_objective,
)
from skfair.metrics._loss import loss_parity_difference
from skfair.metrics._partial import (
    partial_demographic_parity_difference,
    partial_group_auc_difference,
    partial_statistical_parity_difference,
)
from skfair.metrics._partial_odds import (
    partial_equal_opportunity_difference,
    partial_equalized_odds_difference,
)
from skfair.metrics._registry import METRICS, Metric
from skfair.metrics._report import group_report
from skfair.metrics._scorers import get_scorer
from skfair.metrics._scores import wasserstein_distance_between_groups

__all__ = [
    "METRICS",
    "Metric",
    "accuracy_score_difference",
    "additive_violation",
    "balance_score",
    "cluster_composition",
    "coverage",
    "demographic_parity_difference",
    "demographic_parity_ratio",
    "equal_opportunity_difference",
    "equal_opportunity_ratio",
    "equalized_odds_difference",
    "equalized_odds_ratio",
    "false_positive_rate_difference",
    "get_scorer",
    "group_constraint_residual",
    "group_report",
    "hypervolume",
    "independence_gap",
    "loss_parity_difference",
    "normalized_cut",
    "partial_demographic_parity_difference",
    "partial_equal_opportunity_difference",
    "partial_equalized_odds_difference",
    "partial_group_auc_difference",
    "partial_statistical_parity_difference",
    "separation_gap",
    "spectral_objective",
    "sufficiency_gap",
    "wasserstein_distance_between_groups",
]
