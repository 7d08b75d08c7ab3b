"""What names of fairlearn, AIF360, Aequitas and scikit-learn mean here."""

from __future__ import annotations

from difflib import get_close_matches
from typing import NamedTuple


class Synonym(NamedTuple):
    """The constraint and the metric that a name means, or what there is no constraint on.

    An ``explanation`` says why. The ``rate`` is what is compared where no metric has a name.
    """

    constraint: str | None
    metric: str | None = None
    is_ratio: bool = False
    not_offered: str = ""
    explanation: str = ""
    rate: str = ""


_SELECTION = Synonym("demographic_parity", "demographic_parity_difference")
_SELECTION_RATIO = Synonym("demographic_parity", "demographic_parity_ratio", is_ratio=True)
_OPPORTUNITY = Synonym("equal_opportunity", "equal_opportunity_difference")
_OPPORTUNITY_RATIO = Synonym("equal_opportunity", "equal_opportunity_ratio", is_ratio=True)
_FALSE_POSITIVES = Synonym("false_positive_rate_parity", "false_positive_rate_difference")
_FALSE_POSITIVES_RATIO = Synonym(
    "false_positive_rate_parity", "false_positive_rate_ratio", is_ratio=True
)
_ODDS = Synonym("equalized_odds", "equalized_odds_difference")
_ODDS_RATIO = Synonym("equalized_odds", "equalized_odds_ratio", is_ratio=True)
_ERRORS = Synonym("error_rate_parity", "accuracy_score_difference")
_ERRORS_RATIO = Synonym("error_rate_parity", "error_rate_ratio", is_ratio=True)
# The ratio of two rates is another than that of their complements.
_OPPORTUNITY_COMPLEMENTS_RATIO = Synonym("equal_opportunity")
_FALSE_POSITIVES_COMPLEMENTS_RATIO = Synonym("false_positive_rate_parity")
_ACCURACY_RATIO = Synonym("error_rate_parity")
_MEANS = Synonym("mean_parity", "mean_score_difference")
_LOSSES = Synonym("loss_parity", "loss_parity_difference")
_LARGEST_LOSS = Synonym("BoundedGroupLoss(upper_bound)", "largest_group_loss")
_PRECISION = Synonym("precision_parity", rate="precision")
_NEGATIVE_PREDICTIONS = Synonym(
    "negative_predictive_value_parity", rate="negative_predictive_value"
)
_FALSE_DISCOVERIES_RATIO = Synonym('RateParity("false_discovery_rate")')
_FALSE_OMISSIONS_RATIO = Synonym('RateParity("false_omission_rate")')
_F1 = Synonym("f1_score_parity", rate="f1_score")
_JACCARD = Synonym("jaccard_score_parity", rate="jaccard_score")
_TREATMENT = Synonym("treatment_equality", rate="treatment_equality")
_AREAS = Synonym(
    None, not_offered="balanced accuracy, correlations or areas under curves of each group"
)
_INDIVIDUALS = Synonym(None, not_offered="individuals, causes or inequality as a whole")
NOT_CALIBRATION = (
    "no fit is constrained to be calibrated. Where base rates differ, groups that are calibrated "
    "have different error rates unless predictions are perfect, so that a model cannot keep both. "
    'Measure it, by skfair.audit.Audit.certify("calibration", tolerance) or '
    'Audit.subgroups("calibration_error"), and calibrate by a sigmoid for each group '
    "(calibrated_probabilities in the guide)."
)
"""Why calibration is no constraint of a fit, and what to do instead."""

_CALIBRATION = Synonym(None, explanation=NOT_CALIBRATION)
_PREDICTIVE_VALUES = Synonym(
    None,
    not_offered="several predictive values at once; RateParity takes one rate, "
    "and a list of constraints several",
)
_BASE_RATES = Synonym(None, not_offered="base rates, which no model changes")

COMPARISONS = {
    # fairlearn.metrics
    "demographic_parity_difference": _SELECTION,
    "demographic_parity_ratio": _SELECTION_RATIO,
    "equalized_odds_difference": _ODDS,
    "equalized_odds_ratio": _ODDS_RATIO,
    "equal_opportunity_difference": _OPPORTUNITY,
    "equal_opportunity_ratio": _OPPORTUNITY_RATIO,
    "selection_rate_difference": _SELECTION,
    "selection_rate_ratio": _SELECTION_RATIO,
    "true_positive_rate_difference": _OPPORTUNITY,
    "true_positive_rate_ratio": _OPPORTUNITY_RATIO,
    "false_negative_rate_difference": _OPPORTUNITY,
    "false_negative_rate_ratio": _OPPORTUNITY_COMPLEMENTS_RATIO,
    "false_positive_rate_difference": _FALSE_POSITIVES,
    "false_positive_rate_ratio": _FALSE_POSITIVES_RATIO,
    "true_negative_rate_difference": _FALSE_POSITIVES,
    "true_negative_rate_ratio": _FALSE_POSITIVES_COMPLEMENTS_RATIO,
    "accuracy_score_difference": _ERRORS,
    "accuracy_score_ratio": _ACCURACY_RATIO,
    "zero_one_loss_difference": _ERRORS,
    "zero_one_loss_ratio": _ERRORS_RATIO,
    "accuracy_score_group_min": Synonym('MinimumRate("accuracy", bound)'),
    "f1_score_group_min": Synonym('MinimumRate("f1_score", bound)'),
    "precision_score_group_min": Synonym('MinimumRate("precision", bound)'),
    "recall_score_group_min": Synonym('MinimumRate("recall", bound)'),
    "zero_one_loss_group_max": Synonym('MaximumRate("error_rate", bound)'),
    "log_loss_group_max": _LARGEST_LOSS,
    "mean_absolute_error_group_max": _LARGEST_LOSS,
    "mean_squared_error_group_max": _LARGEST_LOSS._replace(metric="largest_mean_squared_error"),
    "balanced_accuracy_score_group_min": _AREAS,
    "roc_auc_score_group_min": _AREAS,
    "r2_score_group_min": _AREAS,
    # aif360.sklearn.metrics
    "statistical_parity_difference": _SELECTION,
    "mean_difference": _SELECTION,
    "disparate_impact_ratio": _SELECTION_RATIO,
    "average_odds_difference": _ODDS,
    "average_odds_error": _ODDS,
    "average_predictive_value_difference": _PREDICTIVE_VALUES,
    # calibration
    "calibration": _CALIBRATION,
    "calibration_error": _CALIBRATION,
    "expected_calibration_error": _CALIBRATION,
    "multicalibration": _CALIBRATION,
    "conditional_demographic_disparity": Synonym("DemographicParity(control_features=)"),
    "class_imbalance": _BASE_RATES,
    "consistency_score": _INDIVIDUALS,
    "theil_index": _INDIVIDUALS,
    "generalized_entropy_index": _INDIVIDUALS,
    "generalized_entropy_error": _INDIVIDUALS,
    "between_group_generalized_entropy_error": _INDIVIDUALS,
    "coefficient_of_variation": _INDIVIDUALS,
    # aif360.metrics.ClassificationMetric
    "disparate_impact": _SELECTION_RATIO,
    "average_abs_odds_difference": _ODDS,
    "error_rate_difference": _ERRORS,
    "error_rate_ratio": _ERRORS_RATIO,
    "false_discovery_rate_difference": _PRECISION,
    "false_discovery_rate_ratio": _FALSE_DISCOVERIES_RATIO,
    "false_omission_rate_difference": _NEGATIVE_PREDICTIONS,
    "false_omission_rate_ratio": _FALSE_OMISSIONS_RATIO,
    "consistency": _INDIVIDUALS,
    # aequitas.bias.Bias, columns of disparities
    "pprev_disparity": _SELECTION_RATIO,
    "tpr_disparity": _OPPORTUNITY_RATIO,
    "fnr_disparity": _OPPORTUNITY_COMPLEMENTS_RATIO,
    "fpr_disparity": _FALSE_POSITIVES_RATIO,
    "tnr_disparity": _FALSE_POSITIVES_COMPLEMENTS_RATIO,
    "precision_disparity": _PRECISION,
    "npv_disparity": _NEGATIVE_PREDICTIONS,
    "fdr_disparity": _FALSE_DISCOVERIES_RATIO,
    "for_disparity": _FALSE_OMISSIONS_RATIO,
    # aequitas.fairness.Fairness, measures
    "Impact Parity": _SELECTION,
    "TPR Parity": _OPPORTUNITY,
    "FNR Parity": _OPPORTUNITY,
    "FPR Parity": _FALSE_POSITIVES,
    "TNR Parity": _FALSE_POSITIVES,
    "Equalized Odds": _ODDS,
    "Precision Parity": _PRECISION,
    "NPV Parity": _NEGATIVE_PREDICTIONS,
    "FDR Parity": _PRECISION,
    "FOR Parity": _NEGATIVE_PREDICTIONS,
    # Constraints without a metric of their name
    "precision_parity": _PRECISION,
    "predictive_parity": _PRECISION,
    "negative_predictive_value_parity": _NEGATIVE_PREDICTIONS,
    "f1_score_parity": _F1,
    "jaccard_score_parity": _JACCARD,
    "treatment_equality": _TREATMENT,
    # C. Dwork et al., "Fairness through awareness", ITCS 2012
    "statistical_parity": _SELECTION,
}
"""Names of comparisons of groups."""

SYNONYMS = COMPARISONS | {
    # fairlearn.metrics, rates of one group
    "selection_rate": _SELECTION,
    "true_positive_rate": _OPPORTUNITY,
    "false_negative_rate": _OPPORTUNITY,
    "false_positive_rate": _FALSE_POSITIVES,
    "true_negative_rate": _FALSE_POSITIVES,
    "mean_prediction": _MEANS,
    # fairlearn.reductions
    "DemographicParity": _SELECTION,
    "EqualizedOdds": _ODDS,
    "TruePositiveRateParity": _OPPORTUNITY,
    "FalsePositiveRateParity": _FALSE_POSITIVES,
    "ErrorRateParity": _ERRORS,
    "BoundedGroupLoss": _LARGEST_LOSS,
    # aif360.metrics.ClassificationMetric and aif360.sklearn.metrics, rates of one group
    "sensitivity_score": _OPPORTUNITY,
    "specificity_score": _FALSE_POSITIVES,
    "error_rate": _ERRORS,
    "positive_predictive_value": _PRECISION,
    "negative_predictive_value": _NEGATIVE_PREDICTIONS,
    "false_discovery_rate": _PRECISION,
    "false_omission_rate": _NEGATIVE_PREDICTIONS,
    "base_rate": _BASE_RATES,
    # sklearn.metrics, functions and names of scorers
    "accuracy": _ERRORS,
    "accuracy_score": _ERRORS,
    "zero_one_loss": _ERRORS,
    "recall": _OPPORTUNITY,
    "recall_score": _OPPORTUNITY,
    "precision": _PRECISION,
    "precision_score": _PRECISION,
    "f1": _F1,
    "f1_score": _F1,
    "jaccard": _JACCARD,
    "jaccard_score": _JACCARD,
    "log_loss": _LOSSES,
    "neg_log_loss": _LOSSES,
    "balanced_accuracy": _AREAS,
    "balanced_accuracy_score": _AREAS,
    "matthews_corrcoef": _AREAS,
    "roc_auc": _AREAS,
    "roc_auc_score": _AREAS,
    # Names of rates in this package, and short ones
    "acceptance_rate": _SELECTION,
    "positive_rate": _SELECTION,
    "sensitivity": _OPPORTUNITY,
    "hit_rate": _OPPORTUNITY,
    "miss_rate": _OPPORTUNITY,
    "specificity": _FALSE_POSITIVES,
    "fall_out": _FALSE_POSITIVES,
    "tpr": _OPPORTUNITY,
    "fnr": _OPPORTUNITY,
    "fpr": _FALSE_POSITIVES,
    "tnr": _FALSE_POSITIVES,
    "ppv": _PRECISION,
    "fdr": _PRECISION,
    "npv": _NEGATIVE_PREDICTIONS,
    "for": _NEGATIVE_PREDICTIONS,
    "accuracy_parity": _ERRORS,
    # Metrics of this package, of constraints with another name
    "mean_score_difference": _MEANS,
    "loss_parity_difference": _LOSSES,
    "largest_group_loss": _LARGEST_LOSS,
}
"""These, and names of rates, which a constraint compares."""


def find_synonym(name: str, synonyms: dict[str, Synonym]) -> Synonym | None:
    """What a name means, also if it is long and misspelt; None if it means nothing here.

    Short names such as "fpr_disparity" and "tpr_disparity" differ by as much as a misspelt one.
    """
    if name in synonyms:
        return synonyms[name]
    long = [known for known in synonyms if len(known) > 13]
    close = get_close_matches(name, long, n=1, cutoff=0.9)
    return synonyms[close[0]] if close else None
