"""Fairness metrics of predictions, scores, rankings and clusterings; reports and scorers."""

from skfair.metrics._calibration import expected_calibration_error, reliability_table
from skfair.metrics._classification import (
    accuracy_score_difference,
    demographic_parity_difference,
    demographic_parity_ratio,
    equal_opportunity_difference,
    equal_opportunity_ratio,
    equalized_odds_difference,
    equalized_odds_ratio,
    error_rate_ratio,
    false_positive_rate_difference,
    false_positive_rate_ratio,
)
from skfair.metrics._clustering import (
    additive_violation,
    balance_score,
    cluster_composition,
    cluster_share_ratios,
    hypervolume,
    non_dominated_mask,
    normalized_cut,
    share_ratio_score,
)
from skfair.metrics._flips import flip_rate
from skfair.metrics._group_metrics import GroupMetric, get_metric_names
from skfair.metrics._group_report import class_report, group_report
from skfair.metrics._partial import (
    check_scored_members,
    partial_demographic_parity_difference,
    partial_equal_opportunity_difference,
    partial_equalized_odds_difference,
    partial_group_auc_difference,
    partial_statistical_parity_difference,
)
from skfair.metrics._ranking import exposure_difference, exposure_ratio, ranking_parity_difference
from skfair.metrics._rate_comparisons import (
    accuracy_score_ratio,
    false_negative_rate_difference,
    false_negative_rate_ratio,
    selection_rate_difference,
    selection_rate_ratio,
    true_negative_rate_difference,
    true_negative_rate_ratio,
    true_positive_rate_difference,
    true_positive_rate_ratio,
    zero_one_loss_difference,
    zero_one_loss_ratio,
)
from skfair.metrics._rates import RATES, Rate, find_positive
from skfair.metrics._registry import METRICS as METRICS
from skfair.metrics._registry import separation_gap, sufficiency_gap
from skfair.metrics._regression import (
    equal_opportunity_loss_difference,
    equalized_odds_loss_difference,
    largest_group_loss,
    largest_mean_squared_error,
    loss_parity_difference,
    mean_absolute_error_difference,
    mean_score_difference,
    mean_squared_error_difference,
    wasserstein_distance_between_groups,
)
from skfair.metrics._scoring import get_scorer, get_scorer_names, make_scorer

__all__ = [
    "GroupMetric",
    "Rate",
    "accuracy_score_difference",
    "accuracy_score_ratio",
    "balance_score",
    "class_report",
    "cluster_composition",
    "demographic_parity_difference",
    "demographic_parity_ratio",
    "equal_opportunity_difference",
    "equal_opportunity_ratio",
    "equalized_odds_difference",
    "equalized_odds_ratio",
    "error_rate_ratio",
    "expected_calibration_error",
    "exposure_difference",
    "exposure_ratio",
    "false_negative_rate_difference",
    "false_negative_rate_ratio",
    "false_positive_rate_difference",
    "false_positive_rate_ratio",
    "flip_rate",
    "get_metric_names",
    "get_scorer",
    "get_scorer_names",
    "group_report",
    "largest_group_loss",
    "largest_mean_squared_error",
    "loss_parity_difference",
    "make_scorer",
    "mean_absolute_error_difference",
    "mean_score_difference",
    "mean_squared_error_difference",
    "normalized_cut",
    "partial_demographic_parity_difference",
    "partial_equal_opportunity_difference",
    "partial_equalized_odds_difference",
    "partial_group_auc_difference",
    "partial_statistical_parity_difference",
    "ranking_parity_difference",
    "reliability_table",
    "selection_rate_difference",
    "selection_rate_ratio",
    "separation_gap",
    "share_ratio_score",
    "sufficiency_gap",
    "true_negative_rate_difference",
    "true_negative_rate_ratio",
    "true_positive_rate_difference",
    "true_positive_rate_ratio",
    "wasserstein_distance_between_groups",
    "zero_one_loss_difference",
    "zero_one_loss_ratio",
]
