"""Constraints on top of any classifier: out-of-fold scores, a final linear model, rank shifts."""

from skfair.postprocessing._constrained_cv import (
    ConstrainedCV,
    check_exportable,
    cross_fit_samples,
    fit_rule,
    store_rule,
)
from skfair.postprocessing._events import (
    check_training_without_features,
    feature_attributes,
    fill_groups_by_class,
    route_metadata,
    stratify,
)
from skfair.postprocessing._oof import (
    Folds,
    check_held_out,
    check_out_of_bag,
    cross_fit,
    cross_fit_and_refit,
    fit_rows,
    make_folds,
    make_predicted_class_likeliest,
    match_probabilities_to_decisions,
    mean_scores,
    snap_to_levels,
    unique_levels,
    warn_if_training_data,
)
from skfair.postprocessing._rank_shift import (
    MAX_TRIES,
    RankedSamples,
    check_interval_sizes,
    ranks_in_groups,
    search_rates,
    search_with_guarantee,
    shifted_scores,
)
from skfair.postprocessing._sql import check_rule_format, write_number, write_rule
