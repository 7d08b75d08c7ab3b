"""Fairness metrics of predictions, scores, rankings and clusterings; reports and scorers."""

from skfair.metrics._calibration import bin_frequencies as bin_frequencies
from skfair.metrics._calibration import expected_calibration_error, reliability_table
from skfair.metrics._calibration import make_bin_edges as make_bin_edges
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
    coverage,
    group_constraint_residual,
    hypervolume,
    non_dominated_mask,
    normalized_cut,
    share_ratio_score,
    spectral_objective,
)
from skfair.metrics._group_metrics import GROUP_METRICS as GROUP_METRICS
from skfair.metrics._group_metrics import GroupMetric, get_metric_names
from skfair.metrics._group_metrics import check_columns_of as check_columns_of
from skfair.metrics._group_metrics import decide_top_k as decide_top_k
from skfair.metrics._group_metrics import encode_columns as encode_columns
from skfair.metrics._group_metrics import find_group_metric as find_group_metric
from skfair.metrics._group_metrics import find_group_metrics as find_group_metrics
from skfair.metrics._group_metrics import to_numbers as to_numbers
from skfair.metrics._group_report import Metrics as Metrics
from skfair.metrics._group_report import check_strata as check_strata
from skfair.metrics._group_report import check_top_k as check_top_k
from skfair.metrics._group_report import class_report, group_report
from skfair.metrics._partial import ScoredMembers as ScoredMembers
from skfair.metrics._partial import (
    check_scored_members,
    partial_demographic_parity_difference,
    partial_equal_opportunity_difference,
    partial_equalized_odds_difference,
    partial_group_auc_difference,
    partial_statistical_parity_difference,
)
from skfair.metrics._partial import partial_demographic_parity_gap as partial_demographic_parity_gap
from skfair.metrics._partial import partial_equal_opportunity_gap as partial_equal_opportunity_gap
from skfair.metrics._partial import partial_equalized_odds_gap as partial_equalized_odds_gap
from skfair.metrics._partial import partial_group_auc_gap as partial_group_auc_gap
from skfair.metrics._partial import partial_statistical_parity_gap as partial_statistical_parity_gap
from skfair.metrics._rates import RATES, Rate, find_positive
from skfair.metrics._rates import counted_values as counted_values
from skfair.metrics._rates import find_positive_multiclass as find_positive_multiclass
from skfair.metrics._rates import find_rate as find_rate
from skfair.metrics._rates import is_share as is_share
from skfair.metrics._rates import known_values as known_values
from skfair.metrics._registry import METRICS as METRICS
from skfair.metrics._registry import Metric as Metric
from skfair.metrics._registry import separation_gap, sufficiency_gap
from skfair.metrics._regression import (
    equal_opportunity_loss_difference,
    equalized_odds_loss_difference,
    largest_group_loss,
    largest_mean_squared_error,
    loss_parity_difference,
    mean_absolute_error_difference,
    mean_error_difference,
    mean_score_difference,
    mean_squared_error_difference,
    ranking_parity_difference,
    wasserstein_distance_between_groups,
)
from skfair.metrics._scoring import ARGUMENTS_BY_METRIC_KIND as ARGUMENTS_BY_METRIC_KIND
from skfair.metrics._scoring import get_scorer, get_scorer_names, make_scorer
from skfair.metrics._scoring import make_limit_metric as make_limit_metric
from skfair.metrics._synonyms import asks_for_ratio as asks_for_ratio
from skfair.metrics._synonyms import find_criterion as find_criterion

__all__ = [
    "GroupMetric",
    "Rate",
    "accuracy_score_difference",
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
    "false_positive_rate_difference",
    "false_positive_rate_ratio",
    "get_metric_names",
    "get_scorer",
    "get_scorer_names",
    "group_report",
    "largest_group_loss",
    "largest_mean_squared_error",
    "loss_parity_difference",
    "make_scorer",
    "mean_absolute_error_difference",
    "mean_error_difference",
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
    "separation_gap",
    "share_ratio_score",
    "sufficiency_gap",
    "wasserstein_distance_between_groups",
]
