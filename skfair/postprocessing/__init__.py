"""Constraints on top of any classifier: out-of-fold scores, a final linear model, rank shifts."""

from skfair.postprocessing._constrained_cv import ConstrainedCV
from skfair.postprocessing._events import (
    check_several_classes,
    check_training_positions,
    estimate_groups_by_class,
    feature_attributes,
    route_metadata,
    stratify,
)
from skfair.postprocessing._joint import FoldModel, JointProbabilities, suits_joint
from skfair.postprocessing._oof import (
    CV_CONSTRAINTS,
    calibrate,
    calibrated_log_odds,
    check_held_out,
    check_out_of_bag,
    cross_fit,
    cross_fit_once,
    fit_rows,
    make_folds,
    make_predicted_class_likeliest,
    match_decisions,
    mean_scores,
    snap_to_levels,
    unique_levels,
    warn_of_memorized,
)
from skfair.postprocessing._rank_shift import (
    N_TRIES,
    RankedSamples,
    check_sizes,
    ranks_in_groups,
    search_rates,
    search_with_guarantee,
    shift_ranks,
)
