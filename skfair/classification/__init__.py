"""Classifiers whose decisions are fair."""

from skfair.classification._constrained_cv import ConstrainedClassifierCV
from skfair.classification._constrained_erm import ConstrainedERMClassifier
from skfair.classification._constrained_mlp import ConstrainedMLPClassifier
from skfair.classification._network import NetworkClassifier
from skfair.classification._partial_parity import PartialParityClassifier
from skfair.classification._partial_parity_postprocessor import PartialParityPostprocessor
from skfair.classification._suggest_interval import suggest_interval

__all__ = [
    "ConstrainedClassifierCV",
    "ConstrainedERMClassifier",
    "ConstrainedMLPClassifier",
    "PartialParityClassifier",
    "PartialParityPostprocessor",
    "suggest_interval",
]
