"""Pictures of fairness: the price of balance, and who is in which cluster.

Displays work as scikit-learn's: ``from_...`` builds and draws, ``plot(ax=None)`` draws again, and
``ax_`` and ``figure_`` hold what was drawn. Colours stay apart for colour-blind eyes, and markers
and hatches stay apart in grey. matplotlib is imported when something is drawn.
"""

from skfair.plotting._cluster_composition import ClusterCompositionDisplay
from skfair.plotting._pareto_front import ParetoFrontDisplay

__all__ = ["ClusterCompositionDisplay", "ParetoFrontDisplay"]
