"""What estimators that are trained under constraints share: their input, their fit, its outcome."""

from skfair.training._input import (
    MISSING_GROUPS,
    PROBABLE_GROUPS,
    Training,
    Unit,
    assumption_attributes,
    check_real_training,
    check_training,
    estimate_missing_groups,
    fill_groups,
    label_positive,
    loss_weights,
    predict_missing,
    refuse_missing_groups,
    refuse_partitioned,
    resolve_constraints,
    standardize_target,
    warn_if_revealed,
    warn_of_dependence,
    warn_of_group_in_features,
)
from skfair.training._linear import (
    ConstrainedLinearModel,
    PartialParityModel,
    fit_partitioned,
    make_criterion,
)
from skfair.training._model import (
    CONFIDENCE_LEVELS,
    ConstrainedNetwork,
    GroupScoreMixin,
    PlainStateMixin,
    document,
)
from skfair.training._outcome import (
    REPORT,
    FitProgress,
    Subtask,
    columns_of,
    compares_nothing,
    describe_uncertainty,
    guarantee_attributes,
    status_of,
    store_fit,
    unconstrained_attributes,
    warn_of_cost,
    warn_of_one_group,
    warn_of_outcome,
    warn_of_rare_decisions,
)
