"""Constraints on top of any classifier: out-of-fold scores, a final linear model, rank shifts."""

from skfair.postprocessing._calibration import (
    calibrate,
    calibrated_log_odds,
    match_classes,
    match_decisions,
)
from skfair.postprocessing._event_features import (
    EventFeatures,
    EventModel,
    fit_event_models,
    out_of_fold_probabilities,
    warn_if_groups_predictable,
)
from skfair.postprocessing._events import check_several_classes, find_events
from skfair.postprocessing._final_model import fit_final_model, log_odds_parameters
from skfair.postprocessing._folds import CV_CONSTRAINTS, check_out_of_bag, make_folds
from skfair.postprocessing._input import check_rows, feature_attributes, route_metadata, stratify
from skfair.postprocessing._memorized import warn_of_memorized
from skfair.postprocessing._oof import check_held_out, cross_fit, cross_fit_once, fit_rows
from skfair.postprocessing._rank_search import (
    N_TRIES,
    check_sizes,
    search_rates,
    search_with_guarantee,
)
from skfair.postprocessing._rank_shift import RankedSamples, ranks_in_groups, shift_ranks
from skfair.postprocessing._scores import mean_scores, snap_to_levels, unique_levels
