"""Confidence limits of rates, gaps, ratios and balances in the population."""

from skfair.statistics._gaps import balance_limit, gap_interval, ratio_interval
from skfair.statistics._pilots import FitPilot
from skfair.statistics._planning import required_sample_size

__all__ = ["FitPilot", "balance_limit", "gap_interval", "required_sample_size", "ratio_interval"]
