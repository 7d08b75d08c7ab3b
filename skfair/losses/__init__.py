"""Losses of scores, the objectives of training.

Those of `LOSSES` are functions of one score and its target. :class:`AUCLoss` compares pairs of
samples, so it depends on their order alone.
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
    SquaredHingeLoss,
    SquaredLoss,
)
from skfair.losses._pointwise import ScoreFunction as ScoreFunction
from skfair.losses._pointwise import as_pointwise as as_pointwise
from skfair.losses._pointwise import kernel_code as kernel_code

__all__ = [
    "LOSSES",
    "AUCLoss",
    "AbsoluteLoss",
    "HingeLoss",
    "LogisticLoss",
    "Pointwise",
    "SquaredHingeLoss",
    "SquaredLoss",
]

OBJECTIVES = ChainMap(LOSSES, {"auc": AUCLoss})
"""Classes of objectives by name: the entries of `LOSSES`, and the loss on pairs."""
