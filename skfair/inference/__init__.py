"""Confidence limits of rates, gaps, ratios and balances in the population."""

from skfair.inference._estimates import (
    AUCs,
    BoundedRates,
    Curves,
    Estimates,
    LogRates,
    Means,
    Rates,
    Shortfalls,
    all_pairs,
    check_level,
    clopper_pearson,
    curve_pairs,
    estimates_of,
    exact_pair_test,
    rate_limits,
    upper_change,
    wilson,
)
from skfair.inference._estimates import _constrained_rate as constrained_rate
from skfair.inference._gaps import (
    CurvePosterior,
    Interval,
    UnknownPosterior,
    balance_limit,
    cluster_effects,
    contrast_interval,
    gap_interval,
    gap_posterior,
    kish_sizes,
    lower_limit,
    ratio_interval,
    upper_limit,
)
from skfair.inference._group_estimates import (
    FixedTotalRates,
    GroupFunction,
    estimate_areas,
    estimate_by_bootstrap,
    estimate_means,
    estimate_quotients,
)
from skfair.inference._hidden_groups import (
    ASSUMPTIONS,
    MIN_RECORDED,
    HiddenGap,
    HiddenGroups,
    ProbableGroups,
    RecordedGroups,
    check_odds_ratio,
    check_what_is_known,
    hidden_gap_interval,
    hide_groups,
    interval_of_ends,
    predict_groups,
    require_assumption,
    separate_ends,
    separate_groups,
    stack_features,
    state_assumption,
    state_odds_ratio,
    to_log_odds,
)
from skfair.inference._planning import required_sample_size

__all__ = [
    "HiddenGap",
    "Interval",
    "balance_limit",
    "gap_interval",
    "hidden_gap_interval",
    "required_sample_size",
    "ratio_interval",
]
