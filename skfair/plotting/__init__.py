"""Display classes: rates, calibration and scores of groups, clusters, Pareto fronts.

Displays work as scikit-learn's: ``from_estimator`` and ``from_predictions`` build and draw,
``plot(ax=None)`` draws again, and ``ax_`` and ``figure_`` hold the drawing. Results that have a
table draw themselves by a method ``plot``. Colours are distinct for colour-blind readers, markers
and hatches in grey. matplotlib is imported when something is drawn.
"""

from skfair.plotting._calibration import GroupCalibrationDisplay
from skfair.plotting._clusters import ClusterCompositionDisplay, ParetoFrontDisplay
from skfair.plotting._groups import GroupRateCurveDisplay, GroupRateDisplay
from skfair.plotting._scores import ScoreDistributionDisplay

__all__ = [
    "ClusterCompositionDisplay",
    "GroupCalibrationDisplay",
    "GroupRateCurveDisplay",
    "GroupRateDisplay",
    "ParetoFrontDisplay",
    "ScoreDistributionDisplay",
]
