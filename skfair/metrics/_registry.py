"""Registry of the metrics, and the names that other libraries give to criteria."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from skfair.metrics._docstrings import classification_docs
from skfair.metrics._rates import confusion_matrices, rate_difference
from skfair.utils._api import Decorated, Label, MatrixLike

# Registry of the metrics, for scorers, documentation and common tests.


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


_DECISION_KINDS = ("classification", "decision", "labelled_decision")
"""Kinds of metrics that compare rates of decisions."""

METRICS: dict[str, "Metric"] = {}
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

    def register(function):
        METRICS[name or function.__name__] = Metric(
            function, kind, best > 0.0, best, params, largest
        )
        return function

    return register


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


# Names that other libraries and papers give to fairness criteria, and what they mean here.


class Criterion(NamedTuple):
    """A fairness criterion, known by many names.

    Attributes
    ----------
    constraint : str or None
        Name of the constraint, or an expression for one that needs arguments. None if there is no
        such constraint.
    difference, ratio : str or None
        Names of the metrics that are its gap, and the ratio of its rates.
    description : str
        What is compared, for messages.
    synonyms : tuple of str
        What it is called, in lower case, without words such as "parity" or "difference".
    """

    constraint: str | None
    difference: str | None
    ratio: str | None
    description: str
    synonyms: tuple


CRITERIA = (
    Criterion(
        "demographic_parity",
        "demographic_parity_difference",
        "demographic_parity_ratio",
        "selection rates",
        (
            "demographic",
            "statistical",
            "independence",
            "selection",
            "selection rate",
            "positive predictive rate",
            "negative predictive rate",
            "positive rate",
            "predictive positive rate",
            "disparate impact",
            "adverse impact",
            "four fifths rule",
            "80 rule",
            "80 percent rule",
            "p rule",
            "p percent rule",
        ),
    ),
    Criterion(
        "equal_opportunity",
        "equal_opportunity_difference",
        "equal_opportunity_ratio",
        "true positive rates",
        (
            "opportunity",
            "true positive",
            "true positive rate",
            "recall",
            "sensitivity",
            "hit rate",
            "false negative",
            "false negative rate",
            "miss rate",
        ),
    ),
    Criterion(
        "false_positive_rate_parity",
        "false_positive_rate_difference",
        "false_positive_rate_ratio",
        "false positive rates",
        (
            "false positive",
            "false positive rate",
            "false alarm rate",
            "fall out",
            "true negative",
            "true negative rate",
            "specificity",
            "predictive equality",
        ),
    ),
    Criterion(
        "equalized_odds",
        "equalized_odds_difference",
        "equalized_odds_ratio",
        "true and false positive rates",
        ("odds", "odds error", "separation", "conditional procedure accuracy"),
    ),
    Criterion(
        "error_rate_parity",
        "accuracy_score_difference",
        "error_rate_ratio",
        "error rates",
        (
            "error rate",
            "accuracy",
            "overall accuracy",
            "zero one loss",
            "misclassification",
            "misclassification rate",
        ),
    ),
    Criterion(
        "mean_parity",
        "mean_score_difference",
        None,
        "mean scores",
        ("mean", "mean score", "mean predictive"),
    ),
    Criterion("loss_parity", "loss_parity_difference", None, "mean losses", ("loss", "log loss")),
    Criterion(
        "BoundedGroupLoss(upper_bound)",
        "largest_group_loss",
        None,
        "the largest mean loss of a group",
        (
            "bounded loss",
            "largest loss",
            "log loss group max",
            "mean squared error group max",
            "mean absolute error group max",
        ),
    ),
    Criterion(
        "ConditionalDemographicParity(strata)",
        None,
        None,
        "selection rates within strata",
        ("conditional demographic", "conditional statistical"),
    ),
    *(
        Criterion(f'RateParity("{rate}")', None, None, rate.replace("_", " "), synonyms)
        for rate, synonyms in (
            (
                "positive_predictive_value",
                (
                    *("predictive", "positive predictive", "positive predictive value"),
                    *("precision", "outcome test"),
                ),
            ),
            ("negative_predictive_value", ("negative predictive", "negative predictive value")),
            ("false_discovery_rate", ("false discovery", "false discovery rate")),
            ("false_omission_rate", ("false omission", "false omission rate")),
            ("f1_score", ("f1",)),
            ("jaccard_score", ("jaccard",)),
            ("treatment_equality", ("treatment", "error ratio")),
        )
    ),
    *(
        Criterion(f'MinimumRate("{rate}", bound)', None, None, f"the smallest {rate}", (synonym,))
        for rate, synonym in (
            ("accuracy", "accuracy group min"),
            ("f1_score", "f1 group min"),
            ("precision", "precision group min"),
            ("recall", "recall group min"),
        )
    ),
    Criterion(
        'MaximumRate("error_rate", bound)',
        None,
        None,
        "the largest error rate",
        ("zero one loss group max",),
    ),
    Criterion(
        None,
        None,
        None,
        "calibration, or on several predictive values at once; RateParity takes one rate, and a "
        "list of constraints several",
        ("predictive value", "sufficiency", "calibration", "conditional use accuracy"),
    ),
    Criterion(
        None,
        None,
        None,
        "balanced accuracy, correlations or areas under curves of each group",
        (
            *("balanced accuracy", "mcc", "matthews corrcoef", "auc", "roc auc"),
            *("balanced accuracy group min", "roc auc group min", "r2 group min"),
        ),
    ),
    Criterion(
        None,
        None,
        None,
        "individuals, causes or inequality as a whole",
        (
            "individual",
            "consistency",
            "counterfactual",
            "unawareness",
            "theil index",
            "theil",
            "entropy index",
            "entropy",
            "gen entropy",
            "generalized entropy",
            "generalized entropy index",
            "generalized entropy error",
            "coefficient variation",
        ),
    ),
    Criterion(
        None, None, None, "base rates, which no model changes", ("base rate", "class imbalance")
    ),
)
"""The criteria that users ask for, also those that are not offered."""

_AMBIGUOUS_WORDS = {"acceptance", "rejection", "accept", "reject", "rejectance", "utility", "rank"}
"""Words that libraries use for different rates."""

_ABBREVIATIONS = {
    "tpr": "true positive rate",
    "fpr": "false positive rate",
    "tnr": "true negative rate",
    "fnr": "false negative rate",
    "ppv": "positive predictive value",
    "npv": "negative predictive value",
    "fdr": "false discovery rate",
    "dp": "demographic",
    "sp": "statistical",
    "spd": "statistical difference",
    "di": "disparate impact",
    "aod": "odds difference",
    "pos": "positive",
    "neg": "negative",
    "pred": "predictive",
    "prediction": "predictive",
    "predicted": "predictive",
    "predictions": "predictive",
    "val": "value",
    "values": "value",
    "acc": "accuracy",
    "cond": "conditional",
    "diff": "difference",
    "equalised": "equalized",
    "rates": "rate",
    "losses": "loss",
    "odd": "odds",
}

_RATIO_WORDS = {"ratio", "impact", "rule"}
_COMPARISON_WORDS = {
    "parity",
    "difference",
    "gap",
    "equality",
    "equal",
    "equalized",
    "disparity",
} | _RATIO_WORDS
"""Words that say how rates are compared."""

_FILLERS = (_COMPARISON_WORDS - {"impact", "rule"}) | {
    *("average", "abs", "absolute", "between", "by", "of", "the", "groups", "score"),
    *("constraint", "fairness", "classification"),
}
"""Words that do not say which rate is meant."""

_MIN_WORD_SIMILARITY, _MIN_NAME_SIMILARITY = 0.75, 0.9
"""Similarity of misspelt words, and of whole names that are written without separators."""

_MIN_WORD_LENGTH = 3
"""Letters of the shortest word that is corrected."""

_CRITERION_BY_SYNONYM = {
    synonym: criterion for criterion in CRITERIA for synonym in criterion.synonyms
}
_SYNONYM_BY_NAME = {"mean difference": "demographic", "error ratio": "error ratio"}
"""Names of which a word such as "difference" is the distinctive part."""

_VOCABULARY = sorted(
    {word for synonym in _CRITERION_BY_SYNONYM for word in synonym.split()}
    | {*_ABBREVIATIONS, *_FILLERS, *_AMBIGUOUS_WORDS, "group", "bounded"}
)


def find_criterion(name: str) -> Criterion | None:
    """The criterion that a name means, in any spelling; None if it means none, or several."""
    words = _split_words(name)
    # Correct words that are no known ones, each by itself; short ones are like too many others.
    corrected = [
        word
        if word in _VOCABULARY or len(word) < _MIN_WORD_LENGTH
        else _closest(word, _VOCABULARY, _MIN_WORD_SIMILARITY) or word
        for word in words
    ]
    for candidate in (words, corrected):
        expanded = " ".join(_ABBREVIATIONS.get(word, word) for word in candidate).split()
        if _AMBIGUOUS_WORDS & {*expanded}:
            return None
        criterion = _criterion_of(expanded)
        if criterion is not None:
            return criterion
    # Names without separators, such as "equalizedodds".
    joined = {
        (synonym + form).replace(" ", ""): criterion
        for synonym, criterion in _CRITERION_BY_SYNONYM.items()
        for form in ("parity", "difference", "ratio", "")
    }
    joined |= {
        "equalizedodds": _CRITERION_BY_SYNONYM["odds"],
        "equalopportunity": _CRITERION_BY_SYNONYM["opportunity"],
    }
    joined |= {
        name.replace(" ", ""): _CRITERION_BY_SYNONYM[synonym]
        for name, synonym in _SYNONYM_BY_NAME.items()
    }
    return joined.get(_closest("".join(words), joined, _MIN_NAME_SIMILARITY))


def asks_for_ratio(name: str) -> bool:
    """Whether a name of a criterion asks for the ratio of its rates that is offered.

    The ratio of two shares is another than that of their complements.
    """
    words = {*" ".join(_ABBREVIATIONS.get(word, word) for word in _split_words(name)).split()}
    return (
        bool(_RATIO_WORDS & words) and not {"negative", "accuracy", "specificity", "miss"} & words
    )


def mentions_comparison(name: str) -> bool:
    """Whether a name says that groups are compared, and not only which rate is meant."""
    comparing = _COMPARISON_WORDS | {
        "demographic",
        "statistical",
        "opportunity",
        "odds",
        "independence",
    }
    words = (_ABBREVIATIONS.get(word, word) for word in _split_words(name))
    return bool(comparing & {*" ".join(words).split()})


def _split_words(name):
    """The words of a name in lower case, also of one in camel case."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return re.findall(r"[a-z0-9]+", words.lower())


def _criterion_of(words):
    """The criterion of words in full, or of those among them that name a rate."""
    name = " ".join(words)
    if name in _SYNONYM_BY_NAME:
        return _CRITERION_BY_SYNONYM[_SYNONYM_BY_NAME[name]]
    rates = [word for word in words if word not in _FILLERS]
    if "group" in rates and not {"min", "max"} & {*rates}:
        rates.remove("group")
    return _CRITERION_BY_SYNONYM.get(name) or _CRITERION_BY_SYNONYM.get(" ".join(rates))


def _closest(word, known, cutoff):
    close = get_close_matches(word, known, n=1, cutoff=cutoff)
    return close[0] if close else None
