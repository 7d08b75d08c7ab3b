"""Regressors whose predictions are fair."""

from skfair.regression._constrained_erm import ConstrainedERMRegressor
from skfair.regression._partial_parity import PartialParityRegressor

__all__ = ["ConstrainedERMRegressor", "PartialParityRegressor"]
