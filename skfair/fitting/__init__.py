"""A fit under constraints, from the input to a model that keeps its bounds by the public metrics.

`_linear` and `_network` have fits that read from top to bottom. `_input` checks samples, `_model`
makes problems, `_enforce` has the loop, `_fitter` solves, `_counting` counts decisions,
`_guarantee` holds bounds in the population, and `_outcome` says what came of it.
"""

from skfair.fitting._counting import Candidate as Candidate
from skfair.fitting._enforce import enforce as enforce
from skfair.fitting._enforce import enforce_in_population as enforce_in_population
from skfair.fitting._fitter import Fitter as Fitter
from skfair.fitting._fitter import search_lines as search_lines
from skfair.fitting._guarantee import Guarantee as Guarantee
from skfair.fitting._guarantee import fit_with_guarantee as fit_with_guarantee
from skfair.fitting._input import (
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
from skfair.fitting._linear import (
    ConstrainedLinearEstimator,
    PercentileSolver,
    fit_linear_model,
    fit_samples,
    make_partial_parity,
)
from skfair.fitting._model import (
    ConstrainedEstimator,
    ConstraintReportMixin,
    GroupAwareScoreMixin,
    estimator_docs,
    make_loss,
    make_problem,
)
from skfair.fitting._network import NetworkSteps, fit_network, solve_or_interrupt
from skfair.fitting._outcome import (
    REPORT_ATTRIBUTE,
    FitProgressCallback,
    FitTask,
    Subtask,
    compares_nothing,
    describe_uncertainty,
    guarantee_attributes,
    solution_attributes,
    status_of,
    store_fit,
    to_user_units,
    unconstrained_fit_attributes,
    warn_of_cost,
    warn_of_moved_decisions,
    warn_of_one_group,
    warn_of_outcome,
)
