"""Sentences about rates, gaps and limits, which all answers of audits share.

They say, in this order: verdict, groups, bound, what is observed, what would suffice, what is
assumed, and which groups are left out.
"""

from __future__ import annotations

import re
from decimal import ROUND_HALF_EVEN, Decimal
from math import isfinite, isnan, nan
from typing import TYPE_CHECKING, Any, NamedTuple

from skfair._utils.checks import bound_text, join_names, number_text, outward_rounding
from skfair.audit._tables import OUTCOME_SHARE, group_text
from skfair.metrics import RATES, Rate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import pandas as pd

    from skfair._utils.api import GroupName, Label
    from skfair.constraints import Constraint


# What is compared: its noun, its unit, and the samples that its denominator counts.


METRIC_DESCRIPTIONS = {
    "base_rate": ("Base rate", "truly positive, of all"),
    "selection_rate": ("Selection rate", "selected, of all"),
    "spared_rate": ("Spared rate", "rejected, of all"),
    "coverage": ("Coverage", "prediction sets that have the true value, of all"),
    "true_positive_rate": ("True positive rate", "selected, of those truly positive"),
    "false_positive_rate": ("False positive rate", "selected, of those truly negative"),
    "positive_predictive_value": ("Precision", "truly positive, of those selected"),
    "true_negative_rate": ("True negative rate", "rejected, of those truly negative"),
    "false_negative_rate": ("False negative rate", "rejected, of those truly positive"),
    "false_discovery_rate": ("False discovery rate", "truly negative, of those selected"),
    "negative_predictive_value": ("Negative predictive value", "truly negative, of those rejected"),
    "false_omission_rate": ("False omission rate", "truly positive, of those rejected"),
    "error_rate": ("Error rate", "judged wrongly, of all"),
    "f1_score": ("F1 score", "harmonic mean of precision and true positive rate"),
    "jaccard_score": ("Jaccard score", "selected rightly, of those selected or truly positive"),
    "treatment_equality": ("Error ratio", "false negatives over false positives"),
    "balanced_accuracy": ("Balanced accuracy", "mean of true positive and true negative rate"),
    "matthews_corrcoef": ("Matthews correlation", "of truth and decision"),
    "average_precision": ("Average precision", "over all thresholds of the scores"),
    "brier_score": ("Brier score", "mean squared error of probabilities"),
    "expected_calibration_error": (
        "Expected calibration error",
        "distance of observed and predicted frequency, mean over ten bins of equal width",
    ),
    "mean_squared_error": ("Mean squared error", "squared distance of prediction and truth"),
    "accuracy": ("Accuracy", "judged rightly, of all"),
    "scoring_rate": ("Scoring rate", "predicted above the median of all"),
    "roc_auc": ("Area under the ROC curve", "how well scores order the samples of the group"),
    "mean_probability": ("Mean predicted probability", "what the model expects of the group"),
    "calibration_error": ("Calibration", "observed minus predicted share of positives"),
    "calibration_intercept": (
        "Calibration intercept",
        "log odds where 50 % are predicted; 0 if calibrated, above 0 if these are too low",
    ),
    "calibration_slope": (
        "Calibration slope",
        "1 if calibrated; below 1 probabilities are too extreme, above 1 too near to each other",
    ),
    "mean_target": ("Mean target", "true value"),
    "mean_prediction": ("Mean prediction", "predicted value"),
    "mean_error": ("Mean error", "prediction minus truth: above 0 is too high"),
    "mean_absolute_error": ("Mean absolute error", "distance of prediction and truth"),
}
"""Title of each metric, and what it is the mean of."""


_NON_SHARE_METRICS = (
    *("roc_auc", "average_precision", "brier_score", "matthews_corrcoef", "treatment_equality"),
    *("calibration_intercept", "calibration_slope"),
    *("mean_target", "mean_prediction", "mean_error", "mean_absolute_error", "mean_squared_error"),
)
"""Metrics that are no shares."""

_COMPARED = {
    "equalized_odds": "true positive rate or false positive rate",
    "mean_score": "mean score",
    "loss": "mean loss",
    "group_auc": "area under the ROC curve",
    "attention": "exposure",
    "probability": "calibration error",
}
"""What is compared where it is no single rate, by the first part of a name of a metric."""

_COUNTED = {
    "of the positive class": "with the outcome",
    "of the negative class": "without the outcome",
    "predicted positive": "decided",
    "predicted negative": "not decided",
}
"""Samples that a denominator counts, in relation to the positive label."""

_BURDEN_WORDS = {
    "selected": "decided",
    "rejected": "not decided",
    "truly positive": "with the outcome",
    "truly negative": "without the outcome",
}
"""Words of decisions -> what is said before the label of one that is a burden."""


def describe_metric(name: str, burden: str | None = None) -> tuple[str, str]:
    """Title of a metric, and what it is the mean of; `burden` labels a decision that is one."""
    rate, _, label = name.partition(" of class ")
    if rate in METRIC_DESCRIPTIONS:
        title, meaning = METRIC_DESCRIPTIONS[rate]
        if burden is not None:
            meaning = re.sub(
                "|".join(_BURDEN_WORDS),
                lambda match: f"{_BURDEN_WORDS[match[0]]} {burden!r}",
                meaning,
            )
            if rate in ("selection_rate", "spared_rate"):
                share, meaning = meaning.rsplit(", ", 1)
                title = f"Share {share}"
        return (
            (f"{title} of class {label}", f"{meaning}; positive is {label}")
            if label
            else (title, meaning)
        )
    if name.startswith("share of cluster "):
        return name[0].upper() + name[1:], "of all samples of the group"
    if name.startswith(OUTCOME_SHARE):
        return name[0].upper() + name[1:], "of those whose outcome is known"
    return name, "a metric that was passed"


def is_known_metric(name: str) -> bool:
    """Whether a name is that of a metric of this package, and not of one that was passed."""
    return describe_metric(name)[1] != "a metric that was passed"


class Quantity(NamedTuple):
    """What is compared: its noun, unit and form, and the samples that its denominator counts."""

    noun: str
    unit: str = ""
    form: str = "gap"
    counted: str = "samples"

    @property
    def is_share(self) -> bool:
        """Whether values are shares, which are stored as fractions and shown in percent."""
        return self.unit == "percent" or self.unit.startswith("percentage points")

    def value(self, value: float) -> str:
        """The value of a group as text."""
        return self._replace(unit="percent" if self.is_share else self.unit).gap(value)

    def gap(self, gap: float) -> str:
        """A gap as text."""
        return f"{self.number(gap)} {_UNIT_TEXTS.get(self.unit, self.unit)}".strip()

    def bound(self, bound: float) -> str:
        """A bound as text, as it was passed."""
        scale = 100 if self.is_share else 1
        return f"{bound_text(scale * bound)} {_UNIT_TEXTS.get(self.unit, self.unit)}".strip()

    def limit(self, limit: float, is_lower: bool = False, n_digits: int = 3) -> str:
        """A limit as text, rounded outwards."""
        text = self.number(limit, n_digits, outward_rounding(is_lower))
        return f"{text} {_UNIT_TEXTS.get(self.unit, self.unit)}".strip()

    def number(
        self,
        number: float | None,
        n_digits: int = 3,
        rounding: str = ROUND_HALF_EVEN,
        sign: str = "",
    ) -> str:
        """A value or a gap as text without its unit."""
        if number is None or isnan(number):
            return "–"
        number = round(100 * number, 6) if self.is_share else number
        return number_text(number, n_digits, rounding, sign)

    def difference(self, difference: float) -> str:
        """A difference as text, with its sign and without its unit."""
        return self.number(difference, sign="+")

    def interval(self, low: float, high: float) -> str:
        """The limits of a value or a gap as text, rounded outwards, without their unit."""
        return _write_limits(self.number, low, high)

    def decimal(self, number: float, rounding: str = ROUND_HALF_EVEN, sign: str = "") -> str:
        """A number of a page without its unit: percentages have one digit after the point."""
        if not self.is_share or not isfinite(number):
            return self.number(number, rounding=rounding, sign=sign)
        exact = Decimal(f"{round(100 * number, 6):.12g}")
        return format(exact.quantize(Decimal("0.1"), rounding) + 0, sign)

    def page_value(self, value: float) -> str:
        """The value of a group on a page, as text."""
        return self.decimal(value) + " %" * (self.is_share and isfinite(value))

    def reach(self, low: float, high: float) -> str:
        """The limits of a value or a gap on a page, rounded outwards, without their unit."""
        return _write_limits(self.decimal, low, high)

    def size(self, gap: float, low: float = nan, high: float = nan) -> str:
        """Clause on a gap, or on the rate of the worst group, with its limits if there are any."""
        limits = f" ({self.interval(low, high)})" if isfinite(low) or isfinite(high) else ""
        return f"{_SIZES.get(self.form, 'a gap of')} {self.gap(gap)}{limits}"

    def values(self, values: Iterable[float], groups: Iterable[str], sizes: Iterable[int]) -> str:
        """Clause on the values of groups, and on the samples that they are of."""
        listed = join_names(
            f"{self.value(value)} for {group}" for value, group in zip(values, groups, strict=True)
        )
        return f"{listed} (of {' and '.join(f'{n:,.0f}' for n in sizes)} {self.counted})"


def _write_limits(write: Callable[..., str], low: float, high: float) -> str:
    """The limits of an interval as text, rounded outwards, by a function that writes numbers."""
    if not isfinite(low) and not isfinite(high):
        return "no interval"
    lower = write(low, rounding=outward_rounding(True))
    return f"{lower} to {write(high, rounding=outward_rounding(False))}"


RATIO = Quantity("ratio", "ratio", "ratio")
"""A ratio of two rates."""

_SIZES = {
    "ratio": "a ratio of",
    "floor": "a smallest value of",
    "ceiling": "a largest value of",
    "difference": "a difference of",
}
"""What the forms of a bound call the observed number."""


_UNIT_TEXTS = {"percent": "%", "ratio": ""}
"""Units that are written otherwise."""


def describe_quantity(metric, pos_label=None, burden=None):
    """What a report compares, from the name of a metric; `burden` as in `describe_metric`."""
    rate, _, label = metric.partition(" of class ")
    is_share = is_known_metric(metric) and rate not in _NON_SHARE_METRICS
    phrase = RATES[rate].phrase if rate in RATES else ""
    counted = _describe_counted(phrase, label or pos_label)
    return Quantity(_noun(metric, burden), "percentage points" * is_share, counted=counted)


def _noun(metric: str, burden: str | None = None) -> str:
    """Title of a metric within a sentence, as in "F1 score" and "selection rate"."""
    title = describe_metric(metric, burden)[0]
    is_word = is_known_metric(metric) and not title[1].isdigit()
    return title[0].lower() + title[1:] if is_word else title


def bounds_spared(constraint: Constraint, burden: str | None) -> bool:
    """Whether a constraint bounds a ratio of selection rates, and `burden` labels one."""
    compares_selections = constraint.compared_rate is RATES["selection_rate"]
    return compares_selections and constraint.gap.is_ratio and burden is not None


def describe_bound(
    constraint: Constraint,
    is_real: bool = False,
    n_classes: int = 1,
    pos_label: Label | None = None,
    burden: str | None = None,
) -> Quantity:
    """What a constraint compares; `pos_label` is None if it is unknown."""
    form = constraint.gap.form
    if form not in BOUNDS:
        raise ValueError(
            f"No sentence says what the gap {constraint.gap.name} of {constraint.name} bounds, so "
            f"it cannot be claimed. Its class must have a form that is one of {join_names(BOUNDS)}"
            ", if that is what it bounds; or bound it by a scorer, "
            "make_scorer(constraint, confidence_level=0.95)."
        )
    noun = _describe_compared(constraint, is_real, n_classes, burden)
    phrase = getattr(constraint.compared_rate, "phrase", "")
    if "equalized" in (constraint.metric or ""):
        phrase = "of each outcome"
    unit = _find_unit(constraint, form)
    counted = _describe_counted(phrase, pos_label)
    return Quantity(noun, unit, form, counted)


def _describe_compared(
    constraint: Constraint, is_real: bool, n_classes: int, burden: str | None = None
) -> str:
    """What a constraint compares, as in "selection rate"."""
    rate = constraint.compared_rate
    has_strata = getattr(constraint, "control_features", None) is not None
    within = " within each stratum" * has_strata
    ending = within + " of each class" * (n_classes > 1)
    if constraint.counts_decisions and isinstance(rate, Rate) and is_known_metric(rate.name):
        name = "spared_rate" if bounds_spared(constraint, burden) else rate.name
        return _noun(name, burden) + ending
    if constraint.counts_decisions and isinstance(rate, Rate):
        return rate.name + ending
    name = constraint.metric or constraint.unit
    if constraint.rate_name == "mean_error":
        return _noun(constraint.rate_name)
    if is_real and constraint.unit == "score":
        return "mean prediction"
    known = (text for word, text in _COMPARED.items() if word in name)
    return next(known, f"what {constraint.name} compares") + ending


def _describe_counted(phrase: str, pos_label: Label | None) -> str:
    """Samples that a denominator counts, from the phrase of a rate."""
    if phrase in ("at all", ""):
        return "samples"
    if pos_label is None or phrase not in _COUNTED:
        return f"samples {phrase}"
    return f"samples {_COUNTED[phrase]} {str(pos_label)!r}"


def _find_unit(constraint: Constraint, form: str) -> str:
    """Unit of the gap of a constraint: that of its rate, or of what it averages."""
    rate = constraint.compared_rate
    if constraint.gap.is_ratio:
        return "ratio"
    if constraint.unit == "attention":
        return "units of attention"
    if constraint.unit == "probability":
        return "percentage points"
    if not constraint.counts_decisions:
        return f"units of the {_describe_compared(constraint, False, 1)}"
    if not isinstance(rate, Rate) or rate.is_share:
        return "percent" if form in ("floor", "ceiling") else "percentage points"
    return f"units of {rate.name}" + " per sample" * (rate.phrase == "at all")


# Headlines: the rates of two groups.


def state_rates(
    metric: str,
    values: Iterable[float],
    groups: Sequence[str] | pd.Index,
    burden: str | None = None,
) -> str:
    """Headline on the rates of two groups in their order; `burden` as in `describe_metric`."""
    quantity = describe_quantity(metric)
    first, second = map(quantity.page_value, values)
    if metric == "selection_rate":
        verb = "are selected" if burden is None else f"are decided {burden!r}"
        return f"{first} of {groups[0]} {verb}, {second} of {groups[1]}"
    title = describe_metric(metric, burden)[0]
    return f"{title}: {first} for {groups[0]}, {second} for {groups[1]}"


# What is claimed: a verdict on a bound, one sentence for each kind of gap.


POPULATION_SHARE = "population share"
"""Form of a bound on the shares of groups, which are compared with those of a population."""

BOUNDS = {
    "gap": "{nouns} of {compared} differ by at most {bound}",
    "ratio": "the smallest {noun} of a group{by} is at least {bound} times the largest",
    "floor": "every group{by} has a {noun} of at least {bound}",
    "ceiling": "every group{by} has a {noun} of at most {bound}",
    "calibration": "as many of every group{by} are positive as predicted, up to {bound}",
    "distance to overall": "no group{by} differs by more than {bound} from all in {noun}",
    "above overall": "no group{by} is more than {bound} above all in {noun} (how far groups are "
    "below is not asked)",
    "below reference": "no group{by} is more than {bound} below the reference in {noun}",
    "above reference": "no group{by} is more than {bound} above the reference in {noun}",
    "ratio below reference": "the {noun} of every group{by} is at least {bound} times that of the "
    "reference",
    "ratio above reference": "the {noun} of the reference is at least {bound} times that of every "
    "group{by}",
    "total gap": "the largest differences of groups{by} in {noun} add up to at most {bound}",
    "mean distance": "on average groups{by} differ by at most {bound} from all in {noun}",
    "mean excess": "on average groups{by} are at most {bound} above all in {noun}",
    "signed mean excess": "the mean of groups{by} is at most {bound} above all in {noun}, where "
    "groups offset each other",
    POPULATION_SHARE: "the share of no group{by} differs by more than {bound} from that in the "
    "population",
}
"""What a bound says of the groups, by the form of its gap."""

LOWER_BOUNDS = ("ratio", "ratio below reference", "ratio above reference", "floor")
"""Forms of bounds that are smallest values."""

_VERDICTS = {"shown": "Shown", "open": "Not shown", "contradicted": "Contradicted"}


_PLURALS = {
    "accuracy": "accuracies",
    "loss": "losses",
    "probability": "probabilities",
    **{
        word: f"{word}s"
        for word in ("area", "error", "precision", "prediction", "rate", "score", "share", "target")
    },
}
"""Plurals of what nouns of quantities count."""


def _write_plural(noun: str) -> str:
    """What is compared, in the plural, as in "selection rates" and "values of cost"."""
    text, n_words = re.subn(rf"\b({'|'.join(_PLURALS)})\b", lambda match: _PLURALS[match[0]], noun)
    return text if n_words else f"values of {noun}"


def verdict_text(
    verdict: str,
    quantity: Quantity,
    bound: str,
    attributes: Sequence[str] = (),
    when: str = "",
    pair: str = "",
) -> str:
    """Whether the data show a bound on the groups by some attributes, as a text without its end.

    `pair` names the groups where there are two, as in "f and m".
    """
    by = f" by {' and '.join(attributes)}" if attributes else ""
    statement = BOUNDS[quantity.form].format(
        by=by,
        noun=quantity.noun,
        nouns=_write_plural(quantity.noun),
        compared=pair or f"any two groups{by}",
        bound=bound.replace("percentage points", "points") if quantity.form == "gap" else bound,
    )
    return f"{_VERDICTS[verdict]}{when}: {statement}"


HERE = {
    **dict.fromkeys(("gap", POPULATION_SHARE), "they differ by"),
    "floor": "the smallest is",
    "ceiling": "the largest is",
}
"""What a claim says of these data before a number, by the form of its bound; else "it is"."""


def describe_miscalibration(group: str, low: float, high: float) -> str:
    """Sentence on limits of the observed share of positives less the predicted; "" around 0."""
    if not (low > 0.0 or high < 0.0):
        return ""
    side = "low" if low > 0.0 else "high"
    nearest, furthest = sorted((abs(low), abs(high)))
    quantity = Quantity("", "percentage points")
    first = quantity.number(nearest, 2, outward_rounding(True))
    return (
        f"The probabilities of {group} are too {side} by {first} to "
        f"{quantity.limit(furthest, n_digits=2)}."
    )


def end_sentence(text: str) -> str:
    """A sentence with its full stop, which a name such as "Nr." at its end has already."""
    return text if text.endswith(".") else f"{text}."


# Whom an answer is about, and how sure it is.


def samples_clause(n: int, n_groups: pd.Series | dict[str, int]) -> str:
    """Number of samples, and of their groups by attribute."""
    by = (f"{k} group{'s' * (k != 1)} by {attribute}" for attribute, k in n_groups.items())
    return f"{n:,} samples in {' and '.join(by)}"


def confidence_text(level: float) -> str:
    """A confidence level as text."""
    return f"{100 * level:g} % confidence"


def event_text(cell: str, group: GroupName, cells: set[str] | tuple | dict[str, Any]) -> str:
    """A group as text, after its cell where a rate has several."""
    return group_text(group) if len(cells) < 2 else f"{cell}: {group_text(group)}"


def name_left_out(
    small: dict | list,
    compared: list[tuple[str, float | str | tuple]] | set[tuple[str, str | tuple]],
) -> tuple[str, ...]:
    """Names of groups from pairs of a cell and a group, of rates that are small or compared."""
    cells = {cell for cell, _ in (*small, *compared)}
    groups = {group for _, group in compared}
    names = (event_text(cell, group, cells if group in groups else ()) for cell, group in small)
    return tuple(dict.fromkeys(names))


def left_out_clause(groups: Iterable[Any]) -> str:
    """Clause that names the groups which are too small to be compared; empty without any.

    A group is a label, or a pair of an attribute and a label where the label is not enough.
    """
    names = join_names(
        f"{one[1]!r} by {one[0]}" if isinstance(one, tuple) else repr(one) for one in groups
    )
    return f"; left out as too small: {names}" if names else ""


def small_groups_note(min_group_size: int) -> str:
    """Note on the groups that are not compared."""
    return (
        f"Groups with fewer than {min_group_size} of the samples that a rate counts are marked as "
        "small and left out of comparisons."
    )


UNCOUNTED = "samples that no number here counts"
"""What samples are that are left out to protect small counts."""


def describe_unpublished(hidden: str) -> str:
    """Sentence on groups that are not published, and whether totals count their samples."""
    part = "" if UNCOUNTED in hidden else ", but part of what follows"
    return f"Not published{part}: {hidden}."


def read_limited(
    row: pd.Series | Mapping[str, Any], name: str = "estimate"
) -> tuple[float, float, float]:
    """A value of a row of a table, and its limits."""
    prefix = f"{name}_" if f"{name}_low" in row else ""
    return row[name], row[f"{prefix}low"], row[f"{prefix}high"]


def value_cell(
    quantity: Quantity,
    row: pd.Series | Mapping[str, Any],
    name: str = "estimate",
) -> str | tuple[str, str]:
    """Cell of a value of a row with its limits; those of differences and changes have a sign."""
    return limited_text(quantity, row, name) if isfinite(row[name]) else "–"


def limited_text(
    quantity: Quantity, row: pd.Series | Mapping[str, Any], name: str = "estimate"
) -> tuple[str, str]:
    """A value of a row, and its limits."""
    value, low, high = read_limited(row, name)
    sign = "+" * name.endswith(("difference", "change"))
    unit = " points" if sign or name == "gap" else " %"
    text = quantity.decimal(value, sign=sign) + unit * quantity.is_share
    return text, quantity.reach(low, high)
