"""What estimators that are trained under constraints share: their input, their fit, its outcome."""

from skfair.training._collected import fit_collected
from skfair.training._constraints import resolve_constraints
from skfair.training._cost import warn_of_cost, warn_of_rare_decisions
from skfair.training._dependence import warn_of_dependence
from skfair.training._docs import document
from skfair.training._files import Storable
from skfair.training._input import (
    Training,
    Unit,
    check_real_training,
    check_training,
    label_positive,
    loss_weights,
    refuse_partitioned,
    standardize_target,
    warn_if_revealed,
    warn_of_group_in_features,
)
from skfair.training._linear import ConstrainedLinearModel
from skfair.training._model import CONFIDENCE_LEVELS
from skfair.training._network import ConstrainedNetwork
from skfair.training._outcome import (
    FitProgress,
    Subtask,
    compares_nothing,
    describe_uncertainty,
    guarantee_attributes,
    status_of,
    store_fit,
    unconstrained_attributes,
    warn_of_outcome,
)
from skfair.training._partial_parity import PartialParityModel, make_criterion
from skfair.training._score import GroupScoreMixin
