"""Confidence limits of rates, gaps, ratios and balances in the population."""

from skfair._statistics.gaps import gap_interval, ratio_interval
from skfair._statistics.planning import required_sample_size
