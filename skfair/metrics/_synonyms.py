"""What names that other libraries and papers give to fairness criteria mean here."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


CRITERIA = """
demographic_parity | demographic_parity_difference | demographic_parity_ratio: demographic,
  statistical, independence, selection, selection rate, positive predictive rate, negative
  predictive rate, positive rate, predictive positive rate, disparate impact, adverse impact, four
  fifths rule, 80 rule, 80 percent rule, p rule, p percent rule, mean difference
equal_opportunity | equal_opportunity_difference | equal_opportunity_ratio: opportunity,
  equal opportunity, true positive, true positive rate, recall, sensitivity, hit rate,
  false negative, false negative rate, miss rate
false_positive_rate_parity | false_positive_rate_difference | false_positive_rate_ratio: false
  positive, false positive rate, false alarm rate, fall out, true negative, true negative rate,
  specificity, predictive equality
equalized_odds | equalized_odds_difference | equalized_odds_ratio: odds, equalized odds, odds error,
  separation, conditional procedure accuracy
error_rate_parity | accuracy_score_difference | error_rate_ratio: error rate, accuracy, overall
  accuracy, zero one loss, misclassification, misclassification rate
mean_parity | mean_score_difference: mean, mean score, mean predictive
mean_error_parity: mean error, mean residual, signed error
loss_parity | loss_parity_difference: loss, log loss
BoundedGroupLoss(upper_bound) | largest_group_loss: bounded loss, bounded group loss, largest loss,
  log loss group max, mean squared error group max, mean absolute error group max
DemographicParity(control_features=): conditional demographic, conditional statistical
RateParity("positive_predictive_value"): predictive, positive predictive, positive predictive
  value, precision, outcome test
RateParity("negative_predictive_value"): negative predictive, negative predictive value
RateParity("false_discovery_rate"): false discovery, false discovery rate
RateParity("false_omission_rate"): false omission, false omission rate
RateParity("f1_score"): f1
RateParity("jaccard_score"): jaccard
RateParity("treatment_equality"): treatment, error ratio
MinimumRate("accuracy", bound): accuracy group min
MinimumRate("f1_score", bound): f1 group min
MinimumRate("precision", bound): precision group min
MinimumRate("recall", bound): recall group min
MaximumRate("error_rate", bound): zero one loss group max
no calibration, or on several predictive values at once; RateParity takes one rate, and a list of
  constraints several: predictive value, sufficiency, calibration, conditional use accuracy
no balanced accuracy, correlations or areas under curves of each group: balanced accuracy, mcc,
  matthews corrcoef, auc, roc auc, balanced accuracy group min, roc auc group min, r2 group min
no individuals, causes or inequality as a whole: individual, consistency, counterfactual,
  unawareness, theil index, theil, entropy index, entropy, gen entropy, generalized entropy,
  generalized entropy index, generalized entropy error, coefficient variation
no base rates, which no model changes: base rate, class imbalance
"""
"""Constraint, the metrics that are its gap and its ratio, and what others call it.

Names are without words such as "parity". After "no" stands what no constraint is on.
"""

_ABBREVIATIONS = """
tpr=true_positive_rate fpr=false_positive_rate tnr=true_negative_rate fnr=false_negative_rate
ppv=positive_predictive_value npv=negative_predictive_value fdr=false_discovery_rate dp=demographic
sp=statistical spd=statistical_difference di=disparate_impact aod=odds_difference pos=positive
neg=negative pred=predictive prediction=predictive predicted=predictive predictions=predictive
val=value values=value acc=accuracy cond=conditional diff=difference equalised=equalized rates=rate
losses=loss odd=odds
"""

_FILLERS = (
    "parity difference gap equality equal equalized disparity ratio average abs absolute between "
    "by of the groups score constraint fairness classification"
)
"""Words that do not say which rate is meant."""

_COMPARISONS = (
    "parity difference gap equality equal equalized disparity ratio impact rule demographic "
    "statistical opportunity odds independence"
)
"""Words that say that groups are compared."""

_AMBIGUOUS = "acceptance rejection utility rank"
"""Words that libraries use for different rates."""


class Criterion(NamedTuple):
    """A fairness criterion: a constraint, or what no constraint is on; its difference and ratio."""

    constraint: str | None
    description: str
    difference: str | None = None
    ratio: str | None = None


def find_criterion(name: str) -> Criterion | None:
    """The criterion that a name means, also misspelt; None if it means none, or several."""
    # Names without separators, such as "equalizedodds", then what is left without fillers.
    for known, form, cutoff in (
        (_JOINED, "".join(_split_words(name)), 0.9),
        (_STEMS, _stem(name), 0.85),
    ):
        close = get_close_matches(form, known, n=1, cutoff=cutoff)
        if close:
            return known[close[0]]
    return None


def asks_for_ratio(name: str) -> bool:
    """Whether a name of a criterion asks for the ratio of its rates that is offered.

    The ratio of two shares is another than that of their complements.
    """
    words = {*_expand(name)}
    return bool({"ratio", "impact", "rule"} & words) and not (
        {"negative", "accuracy", "specificity", "miss"} & words
    )


def mentions_comparison(name: str) -> bool:
    """Whether a name says that groups are compared, and not only which rate is meant."""
    return bool({*_COMPARISONS.split()} & {*_expand(name)})


def _split_words(name: str) -> list[str]:
    """Words of a name in lower case, also of one in camel case."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return re.findall(r"[a-z0-9]+", words.lower())


def _expand(name: str) -> list[str]:
    """Words of a name, abbreviations written out."""
    full = dict(pair.split("=") for pair in _ABBREVIATIONS.split())
    return "_".join(full.get(word, word) for word in _split_words(name)).split("_")


def _stem(name: str) -> str:
    """Words of a name that say which rate is meant, without separators."""
    words = _expand(name)
    return "".join(word for word in words if word not in _FILLERS.split()) or "".join(words)


def _read_criteria() -> Iterator[tuple[str, Criterion]]:
    """Pairs of a synonym and its criterion, from the table."""
    for line in re.sub("\n +", " ", CRITERIA).strip().splitlines():
        meaning, _, synonyms = line.partition(": ")
        constraint, *metrics = meaning.split(" | ")
        is_offered = not constraint.startswith("no ")
        criterion = Criterion(constraint if is_offered else None, constraint[3:], *metrics)
        yield from ((synonym, criterion) for synonym in synonyms.split(", "))


_BY_SYNONYM = [*_read_criteria()]
_STEMS = dict.fromkeys(_AMBIGUOUS.split()) | {
    _stem(synonym): criterion for synonym, criterion in _BY_SYNONYM
}
_JOINED = {
    "".join(_split_words(synonym)) + form: criterion
    for synonym, criterion in reversed(_BY_SYNONYM)  # of equal names the first counts
    for form in ("parity", "difference", "ratio", "")
}
