"""Confidence limits of rates, gaps and ratios in the population."""

from skfair._statistics import gap_interval, ratio_interval, required_sample_size

__all__ = ["gap_interval", "ratio_interval", "required_sample_size"]
