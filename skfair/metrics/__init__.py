"""Fairness metrics, indicators of Pareto fronts, and scorers for model selection."""

from skfair.metrics._clustering import additive_violation, balance_score, cluster_composition
from skfair.metrics._fronts import coverage, hypervolume
from skfair.metrics._graph import normalized_cut
from skfair.metrics._registry import METRICS, Metric
from skfair.metrics._scorers import get_scorer

__all__ = [
    "METRICS",
    "Metric",
    "additive_violation",
    "balance_score",
    "cluster_composition",
    "coverage",
    "get_scorer",
    "hypervolume",
    "normalized_cut",
]
