"""The list of metrics that feeds the scorers, the documentation and the common tests."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from skfair.metrics._classification import (
    accuracy_score_difference,
    demographic_parity_difference,
    demographic_parity_ratio,
    equal_opportunity_difference,
    equal_opportunity_ratio,
    equalized_odds_difference,
    equalized_odds_ratio,
    false_positive_rate_difference,
)
from skfair.metrics._clustering import additive_violation, balance_score
from skfair.metrics._criteria import independence_gap, separation_gap, sufficiency_gap
from skfair.metrics._loss import loss_parity_difference
from skfair.metrics._partial import (
    partial_demographic_parity_difference,
    partial_group_auc_difference,
    partial_statistical_parity_difference,
)
from skfair.metrics._partial_odds import (
    partial_equal_opportunity_difference,
    partial_equalized_odds_difference,
)
from skfair.metrics._scores import wasserstein_distance_between_groups


@dataclass(frozen=True)
class Metric:
    """A metric with the facts that a scorer, a table or a test needs to know about it.

    Attributes
    ----------
    function : callable
        Returns a float. Called as
        ``function(*predictions, sensitive_features, sample_weight=None, **params)``, where the
        predictions depend on the kind.
    kind : str
        One of "clustering", "classification", "score", "decision", "labelled_decision" and
        "labelled_margin".
        What the function judges: ``labels`` of clusters; ``y_true, y_pred``, the true and the
        predicted classes (and then ``pos_label`` is among the keywords); ``y_score``,
        probabilities or values of a decision function; the same with the ``threshold`` of the
        decision among the keywords; ``y_true, y_score`` with both keywords; or the same with values
        of a decision function and without a threshold.
    greater_is_better : bool
        Whether a larger value is fairer.
    best : float
        The value of a perfectly fair prediction.
    params : mapping
        Further keyword arguments of the function.

    Examples
    --------
    >>> from skfair.metrics import METRICS
    >>> METRICS["additive_violation"].greater_is_better
    False
    >>> METRICS["balance"]([0, 0, 1, 1], sensitive_features=["a", "b", "a", "b"])
    1.0
    """

    function: Callable
    kind: str
    greater_is_better: bool
    best: float
    params: Mapping = field(default_factory=dict)

    def __call__(self, *predictions, sensitive_features, sample_weight=None, **params):
        """Value of the metric, with its parameters filled in; they prevail."""
        return self.function(
            *predictions,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            **{**params, **self.params},
        )


_EVERYBODY = {"interval": (0.0, 1.0)}

METRICS = {
    "balance": Metric(balance_score, "clustering", True, 1.0),
    "relative_balance": Metric(balance_score, "clustering", True, 1.0, {"relative": True}),
    "mean_balance": Metric(balance_score, "clustering", True, 1.0, {"aggregate": "mean"}),
    "additive_violation": Metric(additive_violation, "clustering", False, 0.0),
    "normalized_additive_violation": Metric(
        additive_violation, "clustering", False, 0.0, {"normalize": True}
    ),
    "demographic_parity_difference": Metric(
        demographic_parity_difference, "classification", False, 0.0
    ),
    "demographic_parity_ratio": Metric(demographic_parity_ratio, "classification", True, 1.0),
    "equal_opportunity_difference": Metric(
        equal_opportunity_difference, "classification", False, 0.0
    ),
    "equal_opportunity_ratio": Metric(equal_opportunity_ratio, "classification", True, 1.0),
    "equalized_odds_difference": Metric(equalized_odds_difference, "classification", False, 0.0),
    "equalized_odds_ratio": Metric(equalized_odds_ratio, "classification", True, 1.0),
    "false_positive_rate_difference": Metric(
        false_positive_rate_difference, "classification", False, 0.0
    ),
    "accuracy_score_difference": Metric(accuracy_score_difference, "classification", False, 0.0),
    "independence_gap": Metric(independence_gap, "classification", False, 0.0),
    "separation_gap": Metric(separation_gap, "classification", False, 0.0),
    "sufficiency_gap": Metric(sufficiency_gap, "classification", False, 0.0),
    "wasserstein_distance_between_groups": Metric(
        wasserstein_distance_between_groups, "score", False, 0.0
    ),
    "loss_parity_difference": Metric(loss_parity_difference, "labelled_margin", False, 0.0),
    "partial_statistical_parity_difference": Metric(
        partial_statistical_parity_difference, "score", False, 0.0, _EVERYBODY
    ),
    "partial_demographic_parity_difference": Metric(
        partial_demographic_parity_difference, "decision", False, 0.0, _EVERYBODY
    ),
    "partial_equal_opportunity_difference": Metric(
        partial_equal_opportunity_difference, "labelled_decision", False, 0.0, _EVERYBODY
    ),
    "partial_equalized_odds_difference": Metric(
        partial_equalized_odds_difference, "labelled_decision", False, 0.0, _EVERYBODY
    ),
    "partial_group_auc_difference": Metric(
        partial_group_auc_difference, "score", False, 0.0, _EVERYBODY
    ),
}
