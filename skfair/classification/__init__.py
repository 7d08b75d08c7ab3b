"""Classifiers whose decisions are fair."""

from skfair.classification._constrained_erm import ConstrainedERMClassifier
from skfair.classification._partial_parity import PartialParityClassifier
from skfair.classification._partial_parity_postprocessor import PartialParityPostprocessor
from skfair.classification._suggest_interval import IntervalSuggestion, suggest_interval

__all__ = [
    "ConstrainedERMClassifier",
    "IntervalSuggestion",
    "PartialParityClassifier",
    "PartialParityPostprocessor",
    "suggest_interval",
]
