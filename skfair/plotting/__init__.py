"""Display classes: rates and scores of groups, subgroups, clusters, Pareto fronts, convergence.

Displays work as scikit-learn's: ``from_...`` builds and draws, ``plot(ax=None)`` draws again, and
``ax_`` and ``figure_`` hold the drawing. Colours are distinct for colour-blind readers, markers and
hatches in grey. matplotlib is imported when something is drawn.
"""

from skfair.plotting._calibration import GroupCalibrationDisplay
from skfair.plotting._clusters import ClusterCompositionDisplay, ParetoFrontDisplay, TradeoffDisplay
from skfair.plotting._groups import (
    GroupRateCurveDisplay,
    GroupRateDisplay,
    ScoreDistributionDisplay,
    SubgroupDisplay,
)
from skfair.plotting._progress import ConvergenceDisplay, GapMonitorDisplay

__all__ = [
    "ClusterCompositionDisplay",
    "ConvergenceDisplay",
    "GapMonitorDisplay",
    "GroupCalibrationDisplay",
    "GroupRateCurveDisplay",
    "GroupRateDisplay",
    "ScoreDistributionDisplay",
    "SubgroupDisplay",
    "ParetoFrontDisplay",
    "TradeoffDisplay",
]
