"""The list of metrics that feeds the scorers, the documentation and the common tests."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from skfair.metrics._clustering import additive_violation, balance_score


@dataclass(frozen=True)
class Metric:
    """A metric with the facts that a scorer, a table or a test needs to know about it.

    Attributes
    ----------
    function : callable
        For ``kind="clustering"``:
        ``function(labels, *, sensitive_features, sample_weight=None, **params) -> float``.
    kind : {"clustering"}
        What the function judges.
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

    def __call__(self, *predictions, sensitive_features, sample_weight=None):
        """Value of the metric, with its parameters filled in."""
        return self.function(
            *predictions,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            **self.params,
        )


METRICS = {
    "balance": Metric(balance_score, "clustering", True, 1.0),
    "relative_balance": Metric(balance_score, "clustering", True, 1.0, {"relative": True}),
    "mean_balance": Metric(balance_score, "clustering", True, 1.0, {"aggregate": "mean"}),
    "additive_violation": Metric(additive_violation, "clustering", False, 0.0),
    "normalized_additive_violation": Metric(
        additive_violation, "clustering", False, 0.0, {"normalize": True}
    ),
}
