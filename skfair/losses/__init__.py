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
from skfair.losses._rates import SELECTED as SELECTED
from skfair.losses._rates import WRONG as WRONG
from skfair.losses._rates import count_decisions as count_decisions
from skfair.losses._rates import kernel_rate as kernel_rate
from skfair.losses._rates import mean_score as mean_score

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
