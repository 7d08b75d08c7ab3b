"""What estimators that are trained under constraints share: their input, their fit, its outcome."""

from skfair.training._input import (
    VALID_ASSUME,
    VALID_MISSING,
    TrainingData,
    Unit,
    assumption_attributes,
    check_classification_data,
    check_missing_group_settings,
    check_regression_data,
    estimate_group_probabilities,
    estimate_missing_groups,
    fill_groups,
    loss_weights,
    refuse_partitioned,
    resolve_constraints,
    standardize_target,
    to_class_labels,
    warn_if_revealed,
    warn_of_dependence,
    warn_of_group_in_features,
)
from skfair.training._linear import (
    ConstrainedLinearEstimator,
    PartialParityMixin,
    fit_partitioned,
    make_criterion,
)
from skfair.training._model import (
    VALID_CONFIDENCE_LEVEL,
    ConstrainedNetwork,
    ConstraintReportMixin,
    GroupAwareScoreMixin,
    estimator_docs,
)
from skfair.training._outcome import (
    REPORT_ATTRIBUTE,
    FitProgressCallback,
    Subtask,
    columns_of,
    compares_nothing,
    describe_uncertainty,
    guarantee_attributes,
    status_of,
    store_fit,
    unconstrained_fit_attributes,
    warn_of_cost,
    warn_of_moved_decisions,
    warn_of_one_group,
    warn_of_outcome,
)
