"""Models: scores from parameters, and gradients by parameters from derivatives by scores.

Only the model has access to X. Losses and constraints return one derivative per sample, which the
transpose of the model's Jacobian maps to a gradient.
"""

from skfair.models._linear import ArgmaxModel as ArgmaxModel
from skfair.models._linear import GroupInterceptsModel as GroupInterceptsModel
from skfair.models._linear import GroupwiseModel as GroupwiseModel
from skfair.models._linear import LinearModel
from skfair.models._mlp import MLPModel
from skfair.models._model import OPTIONAL_LINEAR_MEMBERS as OPTIONAL_LINEAR_MEMBERS
from skfair.models._model import OPTIONAL_MODEL_MEMBERS as OPTIONAL_MODEL_MEMBERS
from skfair.models._model import ChunkedPoint as ChunkedPoint
from skfair.models._model import LinearInParameters as LinearInParameters
from skfair.models._model import Model, check_model
from skfair.models._model import moments as moments
from skfair.models._model import pull_back_sparse_rows as pull_back_sparse_rows
from skfair.models._model import times_vector as times_vector
