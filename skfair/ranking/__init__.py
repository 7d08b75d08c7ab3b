"""Rankers whose orders are fair."""

from skfair.ranking._constrained_ranker import ConstrainedRanker

__all__ = ["ConstrainedRanker"]
