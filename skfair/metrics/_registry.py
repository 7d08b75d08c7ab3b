"""Registry of the metrics, for scorers, documentation and common tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from skfair._utils.api import Label, MatrixLike
from skfair.metrics._docstrings import classification_docs
from skfair.metrics._rates import confusion_matrices, rate_difference

if TYPE_CHECKING:
    from skfair._utils.api import Decorated


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
        - "labelled_score": ``y_true, y_score``, the latter as of "score"; keyword ``pos_label``.
        - "labelled_probability": ``y_true, y_proba``; keyword ``pos_label``.
        - "prediction": ``y_true`` and what ``predict`` returns: classes, with the keyword
          ``pos_label`` of two, or numbers.
        - "set": ``y_true`` and prediction sets, whose columns are named by classes, or intervals.
    greater_is_better : bool
        Whether a larger value is fairer.
    best : float
        The value of a perfectly fair prediction.
    params : mapping
        Further keyword arguments of the function.
    largest : float
        The largest possible value: 1 of ratios, and of differences of rates.
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


_DECISION_KINDS = ("classification", "decision", "labelled_decision")
"""Kinds of metrics that compare rates of decisions."""

METRICS: dict[str, Metric] = {}
"""Metrics by name, filled by `register_metric`."""


def register_metric(
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
        largest = 1.0 if best > 0.0 or kind in _DECISION_KINDS else np.inf

    def register(function: Callable) -> Callable:
        METRICS[name or function.__name__] = Metric(
            function=function,
            kind=kind,
            greater_is_better=best > 0.0,
            best=best,
            params=params,
            largest=largest,
        )
        return function

    return register  # type: ignore[return-value]


# Separation and sufficiency; the third criterion, independence, is demographic parity.


@classification_docs
@register_metric("classification", largest=2.0)
def separation_gap(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Departure from separation: sum of the differences of true and false positive rates.

    .. math:: (\max_g t_g - \min_g t_g) + (\max_g f_g - \min_g f_g)

    with :math:`t_g = \Pr(\hat{y} = 1 \mid y = 1, g)` and
    :math:`f_g = \Pr(\hat{y} = 1 \mid y = 0, g)`. Separation means that prediction and group are
    independent given the true class [1]_.

    Read more in the :ref:`guide <audit_metrics>`.

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, sample_weight, pos_label}

    Returns
    -------
    {gap}

    Raises
    ------
    {ValueError}

    See Also
    --------
    equalized_odds_difference : The larger of the two differences.

    References
    ----------
    {barocas2023}

    Examples
    --------
    >>> from skfair.metrics import separation_gap
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 0, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> separation_gap(y_true, y_pred, sensitive_features=group)  # (2/2 - 1/2) + (1/2 - 0/2)
    1.0
    """
    matrices = confusion_matrices(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return 2.0 * rate_difference(matrices, "true_positive_rate", "false_positive_rate", agg="mean")


@classification_docs
@register_metric("classification", largest=2.0)
def sufficiency_gap(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Departure from sufficiency: sum of the differences of two predictive values.

    .. math:: (\max_g p_g - \min_g p_g) + (\max_g o_g - \min_g o_g)

    with the positive predictive value :math:`p_g = \Pr(y = 1 \mid \hat{y} = 1, g)` and the false
    omission rate :math:`o_g = \Pr(y = 1 \mid \hat{y} = 0, g)`. Sufficiency means that true class
    and group are independent given the prediction [1]_.

    Read more in the :ref:`guide <audit_metrics>`.

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, sample_weight, pos_label}

    Returns
    -------
    {gap}

    Raises
    ------
    {ValueError}

    References
    ----------
    {barocas2023}

    Examples
    --------
    >>> from skfair.metrics import sufficiency_gap
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 0, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> sufficiency_gap(y_true, y_pred, sensitive_features=group)  # (1/1 - 2/3) + (1/3 - 0/1)
    0.6666666666666667
    """
    matrices = confusion_matrices(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return 2.0 * rate_difference(
        matrices, "positive_predictive_value", "false_omission_rate", agg="mean"
    )
