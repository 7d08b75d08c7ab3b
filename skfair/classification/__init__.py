"""Classifiers whose decisions are fair."""

from skfair.classification._constrained_erm import ConstrainedERMClassifier

__all__ = ["ConstrainedERMClassifier"]
