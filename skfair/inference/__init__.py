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
    change_upper_limit,
    check_level,
    clopper_pearson_limits,
    curve_contrasts,
    exact_pair_test,
    make_estimates,
    pairwise_contrasts,
    rate_limits,
    wilson_limits,
)
from skfair.inference._estimates import _constrained_rate as constrained_rate
from skfair.inference._gaps import (
    CurvePosterior,
    Interval,
    UnknownPosterior,
    balance_limit,
    cluster_design_effects,
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
    bound_contrasts,
    check_odds_ratio,
    check_what_is_known,
    describe_assumption,
    hidden_gap_interval,
    interval_from_bounds,
    make_hidden_groups,
    predict_groups,
    require_assumption,
    separate_groups,
    stack_features,
    state_assumption,
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
