"""Registry of the metrics, for scorers, documentation and common tests."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skfair.utils._types import Decorated, MatrixLike


@dataclass(frozen=True)
class Metric:
    """A metric with the facts that scorers, tables and tests need.

    Attributes
    ----------
    function : callable
        Returns a float. Called as
        ``function(*predictions, sensitive_features, sample_weight=None, **params)``, where the
        predictions depend on the kind.
    kind : str
        The positional arguments of the function, and further keywords:

        - "clustering": ``labels`` of clusters.
        - "regression": ``y_true, y_pred``, target and predictions of a regressor.
        - "classification": ``y_true, y_pred``, true and predicted classes; keyword ``pos_label``.
        - "score": ``y_score``, predictions of a regressor, or probabilities or values of the
          decision function of a classifier.
        - "decision": ``y_score`` of a classifier; keyword ``threshold``, above which a decision is
          positive.
        - "labelled_decision": ``y_true, y_score``; keywords ``threshold`` and ``pos_label``.
        - "labelled_margin": ``y_true, y_score``, the latter values of the decision function;
          keyword ``pos_label``.
    greater_is_better : bool
        Whether a larger value is fairer.
    best : float
        The value of a perfectly fair prediction.
    params : mapping
        Further keyword arguments of the function.
    largest : float
        The largest possible value: 1 of ratios, and of differences of rates.

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
    largest: float = np.inf

    def __call__(
        self,
        *predictions: ArrayLike,
        sensitive_features: MatrixLike,
        sample_weight: ArrayLike | None = None,
        **params: Any,
    ) -> float:
        """Value of the metric; its registered parameters override those of the call."""
        return self.function(
            *predictions,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            **{**params, **self.params},
        )


_DECISIONS = ("classification", "decision", "labelled_decision")
"""Kinds of metrics that compare rates of decisions."""

METRICS: dict[str, "Metric"] = {}
"""Metrics by name, filled by `metric`."""


def metric(
    kind: str,
    *,
    best: float = 0.0,
    largest: float | None = None,
    name: str | None = None,
    **params: Any,
) -> Callable[[Decorated], Decorated]:
    """Make a decorator that registers a function as a metric with a scorer.

    `kind` and `params` are those of `Metric`. Of metrics whose `best` value is 0 less is better, of
    others more. `largest` is 1 by default of ratios and of metrics of decisions, and infinity of
    others. `name` is that of the function unless given: a function may be several metrics, with
    other parameters.
    """
    if largest is None:
        largest = 1.0 if best > 0.0 or kind in _DECISIONS else np.inf

    def register(function):
        METRICS[name or function.__name__] = Metric(
            function, kind, best > 0.0, best, params, largest
        )
        return function

    return register
