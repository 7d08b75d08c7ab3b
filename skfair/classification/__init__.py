"""Classifiers whose decisions keep bounds on the gaps between groups."""

from skfair.classification._classifiers import (
    ConstrainedERMClassifier,
    ConstrainedMLPClassifier,
    PartialParityClassifier,
)
from skfair.classification._constrained_cv import ConstrainedClassifierCV
from skfair.classification._partial_parity_postprocessor import (
    PartialParityPostprocessor,
    suggest_interval,
)

__all__ = [
    "ConstrainedClassifierCV",
    "ConstrainedERMClassifier",
    "ConstrainedMLPClassifier",
    "PartialParityClassifier",
    "PartialParityPostprocessor",
    "suggest_interval",
]
