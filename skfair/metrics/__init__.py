"""Fairness metrics, indicators of Pareto fronts, and scorers for model selection."""

from skfair.metrics._by_class import class_report, metric_by_class
from skfair.metrics._classification import (
    accuracy_score_difference,
    demographic_parity_difference,
    equal_opportunity_difference,
    equalized_odds_difference,
    false_positive_rate_difference,
)
from skfair.metrics._clustering import (
    additive_violation,
    balance_score,
    cluster_composition,
    cluster_share_ratios,
    share_ratio_score,
)
from skfair.metrics._conditional import conditional_demographic_parity_difference
from skfair.metrics._criteria import independence_gap, separation_gap, sufficiency_gap
from skfair.metrics._distributions import (
    mean_score_difference,
    wasserstein_distance_between_groups,
)
from skfair.metrics._fronts import coverage, hypervolume, non_dominated
from skfair.metrics._graph import (
    group_constraint_residual,
    normalized_cut,
    spectral_objective,
)
from skfair.metrics._losses import (
    equal_opportunity_loss_difference,
    equalized_odds_loss_difference,
    largest_group_loss,
    loss_parity_difference,
)
from skfair.metrics._partial import (
    partial_demographic_parity_difference,
    partial_group_auc_difference,
    partial_statistical_parity_difference,
)
from skfair.metrics._partial_odds import (
    partial_equal_opportunity_difference,
    partial_equalized_odds_difference,
)
from skfair.metrics._ranked import check_scored
from skfair.metrics._ranking import ranking_parity_difference
from skfair.metrics._rates import RATES, find_positive
from skfair.metrics._ratios import (
    demographic_parity_ratio,
    equal_opportunity_ratio,
    equalized_odds_ratio,
)
from skfair.metrics._registry import METRICS, Metric
from skfair.metrics._regression import (
    largest_mean_squared_error,
    mean_absolute_error_difference,
    mean_error_difference,
    mean_squared_error_difference,
)
from skfair.metrics._report import group_report
from skfair.metrics._scoring import PREDICTIONS, get_scorer

_WITHOUT_SCORER = {
    "METRICS",
    "Metric",
    "class_report",
    "cluster_composition",
    "cluster_share_ratios",
    "conditional_demographic_parity_difference",
    "coverage",
    "get_scorer",
    "group_constraint_residual",
    "group_report",
    "hypervolume",
    "metric_by_class",
    "non_dominated",
    "normalized_cut",
    "ranking_parity_difference",
    "spectral_objective",
}

__all__ = sorted(_WITHOUT_SCORER | {metric.function.__name__ for metric in METRICS.values()})
