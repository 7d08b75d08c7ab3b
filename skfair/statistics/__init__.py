"""Confidence limits of rates, gaps, ratios and balances in the population."""

from skfair._names import refuse_unknown_names
from skfair.statistics._bounded_means import BoundedMeans, make_estimates
from skfair.statistics._estimates import (
    AUCs,
    ComplementEstimates,
    Estimates,
    LogMeans,
    LogRates,
    Means,
    OutcomeMeans,
    Rates,
    RatesAgainstBound,
    ShareCurves,
    change_upper_limit,
    check_level,
    clopper_pearson_limits,
    combine_margins,
    curve_contrasts,
    exact_difference_test,
    pairwise_contrasts,
    rate_limits,
    wilson_limits,
)
from skfair.statistics._estimates import _constrained_rate as constrained_rate
from skfair.statistics._gaps import (
    CurvePosterior,
    Interval,
    UnknownPosterior,
    balance_limit,
    cluster_effects_and_correlation,
    gap_interval,
    gap_lower_limit,
    gap_posterior,
    gap_upper_limit,
    interval_of_largest_contrast,
    kish_sizes,
    ratio_interval,
)
from skfair.statistics._group_estimates import (
    FixedTotalRates,
    GroupFunction,
    estimate_areas,
    estimate_averages,
    estimate_by_bootstrap,
    estimate_means,
    estimate_quotients,
)
from skfair.statistics._hidden_groups import (
    ASSUMPTIONS,
    MIN_RECORDED,
    HiddenGap,
    HiddenGroups,
    ProbabilisticGroups,
    RecordedGroups,
    check_hidden_values,
    check_odds_ratio,
    describe_missing_assumption,
    describe_probability_assumption,
    extreme_contrasts,
    interval_from_bounds,
    make_recorded_groups,
    predict_group_probabilities,
    stack_features,
    to_log_odds,
    unmix_group_probabilities,
)
from skfair.statistics._pilots import DrawnFits, FitPilot
from skfair.statistics._planning import required_sample_size

__all__ = ["FitPilot", "balance_limit", "gap_interval", "required_sample_size", "ratio_interval"]

__getattr__ = refuse_unknown_names(__name__)
