"""Regressors whose scores are fair."""

from skfair.regression._partial_parity import PartialParityRegressor

__all__ = ["PartialParityRegressor"]
