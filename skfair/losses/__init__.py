"""Losses of scores: what training makes small.

Those of `LOSSES` are a function of one score and its target. :class:`AUCLoss` compares pairs of
people, so that it is about their order alone.
"""

from collections import ChainMap

from skfair.losses._auc import AUCLoss
from skfair.losses._auc import over_pairs as over_pairs
from skfair.losses._pointwise import (
    LOSSES,
    AbsoluteLoss,
    HingeLoss,
    LogisticLoss,
    Pointwise,
    ScoreFunction,
    SquaredHingeLoss,
    SquaredLoss,
)
from skfair.losses._pointwise import as_pointwise as as_pointwise

__all__ = [
    "LOSSES",
    "OBJECTIVES",
    "AUCLoss",
    "AbsoluteLoss",
    "HingeLoss",
    "LogisticLoss",
    "Pointwise",
    "ScoreFunction",
    "SquaredHingeLoss",
    "SquaredLoss",
]

OBJECTIVES = ChainMap(LOSSES, {"auc": AUCLoss})
"""Classes of objectives by name: the entries of `LOSSES`, and the loss on pairs."""
