"""What estimators that are trained under constraints share: their input, their fit, its outcome."""

from skfair.training._collected import fit_collected
from skfair.training._constraints import constraints_of
from skfair.training._cost import warn_of_cost
from skfair.training._cross_fit import (
    before_last_step,
    check_held_out,
    cross_fit,
    fit_and_score,
    fit_rows,
    mean_margins,
    probabilities_of,
)
from skfair.training._duplicates import warn_of_duplicates
from skfair.training._files import Storable
from skfair.training._folds import CV_CONSTRAINTS, check_out_of_bag, make_folds
from skfair.training._head import fit_head
from skfair.training._input import (
    Training,
    Unit,
    check_real_training,
    check_training,
    class_weights,
    in_units_of_spread,
    label_positive,
    refuse_partitioned,
    warn_of_told_groups,
)
from skfair.training._levels import at_levels, distinct_levels
from skfair.training._linear import ConstrainedLinearModel
from skfair.training._model import CONFIDENCE_LEVELS
from skfair.training._network import ConstrainedNetwork
from skfair.training._outcome import (
    FitProgress,
    Subtask,
    promised,
    status_of,
    store_fit,
    uncertain,
    unconstrained,
    warn_of_outcome,
)
from skfair.training._partial_parity import PartialParityModel, published_settings
from skfair.training._score import GroupScoreMixin

__all__ = [
    "CONFIDENCE_LEVELS",
    "CV_CONSTRAINTS",
    "ConstrainedLinearModel",
    "ConstrainedNetwork",
    "FitProgress",
    "GroupScoreMixin",
    "PartialParityModel",
    "Storable",
    "Subtask",
    "Training",
    "Unit",
    "at_levels",
    "before_last_step",
    "check_held_out",
    "check_out_of_bag",
    "check_real_training",
    "check_training",
    "class_weights",
    "constraints_of",
    "cross_fit",
    "distinct_levels",
    "fit_collected",
    "fit_and_score",
    "fit_head",
    "fit_rows",
    "in_units_of_spread",
    "label_positive",
    "make_folds",
    "mean_margins",
    "probabilities_of",
    "promised",
    "published_settings",
    "refuse_partitioned",
    "status_of",
    "store_fit",
    "uncertain",
    "unconstrained",
    "warn_of_cost",
    "warn_of_told_groups",
    "warn_of_duplicates",
    "warn_of_outcome",
]
