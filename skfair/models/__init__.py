"""Models: scores from parameters, and gradients by parameters from slopes by scores.

A model is the only one who knows X. Losses and constraints give one slope per sample; the model's
transpose turns them into a gradient.
"""

from skfair.models._argmax import ArgmaxModel
from skfair.models._chunks import ChunkedPoint, rows_pulled_back
from skfair.models._columns import moments
from skfair.models._group_intercepts import GroupInterceptsModel
from skfair.models._groupwise import GroupwiseModel
from skfair.models._linear import LinearModel
from skfair.models._mlp import MLPModel
from skfair.models._model import Model

__all__ = [
    "ArgmaxModel",
    "GroupInterceptsModel",
    "GroupwiseModel",
    "LinearModel",
    "MLPModel",
    "Model",
    "moments",
]
