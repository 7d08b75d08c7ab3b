"""Display classes: group rates and scores, compositions of clusters, Pareto fronts, convergence.

Displays work as scikit-learn's: ``from_...`` builds and draws, ``plot(ax=None)`` draws again, and
``ax_`` and ``figure_`` hold the drawing. Colours are distinct for colour-blind readers, markers and
hatches in grey. matplotlib is imported when something is drawn.
"""

from skfair.plotting._cluster_composition import ClusterCompositionDisplay
from skfair.plotting._convergence import ConvergenceDisplay
from skfair.plotting._gap_monitor import GapMonitorDisplay
from skfair.plotting._group_rate_curve import GroupRateCurveDisplay
from skfair.plotting._group_rates import GroupRateDisplay
from skfair.plotting._group_scores import GroupScoreDisplay
from skfair.plotting._pareto_front import ParetoFrontDisplay
from skfair.plotting._tradeoff import TradeoffDisplay

__all__ = [
    "ClusterCompositionDisplay",
    "ConvergenceDisplay",
    "GapMonitorDisplay",
    "GroupRateCurveDisplay",
    "GroupRateDisplay",
    "GroupScoreDisplay",
    "ParetoFrontDisplay",
    "TradeoffDisplay",
]
