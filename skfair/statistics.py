"""Confidence limits of rates, gaps, ratios and balances in the population."""

from skfair._statistics import (
    balance_limit,
    gap_interval,
    ratio_interval,
    required_sample_size,
)

__all__ = ["balance_limit", "gap_interval", "ratio_interval", "required_sample_size"]
