"""Confidence limits of rates, gaps, ratios and balances in the population."""

from skfair.inference._auc import AUCs
from skfair.inference._balance import balance_limit
from skfair.inference._contrasts import all_pairs
from skfair.inference._curves import Curves, curve_pairs
from skfair.inference._estimates import Estimates, LogRates, Means, Rates, estimates_of
from skfair.inference._exact import _constrained_rate as constrained_rate
from skfair.inference._exact import exact_pair_test
from skfair.inference._gap_posterior import (
    CurvePosterior,
    cluster_effects,
    gap_posterior,
    kish_sizes,
)
from skfair.inference._gaps import (
    Interval,
    contrast_interval,
    gap_interval,
    ratio_interval,
    upper_limit,
)
from skfair.inference._limits import check_level, clopper_pearson, rate_limits, wilson
from skfair.inference._planning import required_sample_size

__all__ = [
    "Interval",
    "balance_limit",
    "gap_interval",
    "required_sample_size",
    "ratio_interval",
]
