"""Sentences of a report: findings, and what the data cannot decide."""

import numpy as np
import pandas as pd

from skfair.audit._measures import describe_measure, is_user_metric
from skfair.audit._tables import OUTCOMES, OVERALL
from skfair.utils._messages import join_names

FOUR_FIFTHS = 0.8
"""Four-fifths (80 %) rule: ratio of selection rates below which the Uniform Guidelines on Employee
Selection Procedures of the United States see evidence of adverse impact."""


_RATIOS = ("selection_rate", "scoring_rate")
"""Rates that the law compares by ratios: of decisions, and of scores above the median."""


def has_impact_ratio(measure):
    """Whether a measure is a rate that the law compares by ratios, perhaps of one class."""
    return measure.split(" of class ")[0] in _RATIOS


_ERRORS = (
    "true_positive_rate",
    "false_positive_rate",
    "positive_predictive_value",
    "accuracy",
    "calibration_error",
    "mean_error",
    "mean_absolute_error",
)
"""Measures of errors; those of one task have the same unit."""

_UNITS = ("auc", "mean_target", "mean_prediction", "mean_error", "mean_absolute_error")


def is_share(measure):
    """Whether a measure is a share of people, to be shown in percent."""
    return measure not in _UNITS and not is_user_metric(measure)


def value_text(value, measure):
    """A value of a measure as text."""
    if value is None or np.isnan(value):
        return "–"
    return f"{100 * value:.1f} %" if is_share(measure) else _plain(value, measure)


def interval_text(low, high, measure):
    """An interval as text."""
    if np.isnan(low) or np.isnan(high):
        return "no interval"
    if is_share(measure):
        return f"{100 * low:.1f} to {100 * high:.1f}"
    return f"{_plain(low, measure)} to {_plain(high, measure)}"


def _plain(value, measure):
    """A value that is not a share as text."""
    return f"{value:.3f}" if measure == "auc" else f"{value:.3g}"


def difference_text(difference, measure):
    """A difference of two values of a measure as text; of shares in percentage points."""
    if np.isnan(difference):
        return "–"
    if is_share(measure):
        return f"{100 * difference:+.1f}"
    return f"{'' if difference < 0 else '+'}{_plain(difference, measure)}"


def gap_text(gap, measure, unit=" percentage points"):
    """A gap with its interval, as text."""
    interval = interval_text(gap["gap_low"], gap["gap_high"], measure)
    return f"{_size_text(gap['gap'], measure)}{unit if is_share(measure) else ''} ({interval})"


def findings(report):
    """Sentences on the data, the largest gap in outcomes, and the largest gap in errors."""
    gaps = report.gaps.dropna(subset=["gap"])
    sentences = [_describe_sample(report)]
    if not len(gaps):
        return [*sentences, "No two groups are large enough to be compared."]
    # The largest gap in outcomes.
    outcomes = gaps[gaps["measure"].isin(_primary_measures(gaps))]
    sentences.append(_describe_gap(report, _largest_gap(outcomes, "gap")))
    # The error gap that is largest beyond doubt, by its lower limit.
    errors = gaps[_is_error(gaps)]
    if len(errors):
        sentences.append(_describe_gap(report, _largest_gap(errors, "gap_low")))
    if report.kind == "clustering":
        balance = report.balance
        sentences.append(
            f"The least balanced cluster has a balance of {balance.estimate:.2f} (its smallest "
            f"group over its largest), and at least {balance.low:.2f} in the population if these "
            "are held-out data."
        )
    return sentences


def _is_error(frame):
    """Mask of the rows on measures of errors, which need a target."""
    return [name.split(" of class ")[0] in _ERRORS for name in frame["measure"]]


def _largest_gap(gaps, column):
    """The gap that is largest by a column, of the significant ones if there are any."""
    significant = gaps[gaps["is_significant"]]
    candidates = significant if len(significant) else gaps
    return candidates.loc[candidates[column].idxmax()]


def _primary_measures(gaps):
    """Names of the measures of outcomes that gaps are claimed of."""
    names = gaps["measure"].unique().tolist()
    for outcome in OUTCOMES:
        if outcome in names:
            return [outcome]
    return [name for name in names if name.startswith(("share of", "selection_rate of"))]


def _describe_sample(report):
    """Sentence on the number of people and groups, and on overall rates."""
    overall = report.frame[report.frame["attribute"] == OVERALL].set_index("measure")
    *single, last = report.attributes
    n_groups = report.frame.loc[report.frame["attribute"] == last, "group"].nunique()
    listed = f"{', '.join(single[:-1])} and {single[-1]}" if len(single) > 1 else ""
    noun = "group" if n_groups == 1 else "groups"
    by = f"combinations of {listed}" if single else f"{noun} by {last}"
    text = f"{report.n_samples:,} people in {n_groups} {by} were audited"
    templates = {
        "selection_rate": "{} were selected",
        "accuracy": "{} were classified correctly",
        "mean_absolute_error": "predictions are off by {} on average",
    }
    results = [
        template.format(value_text(overall.loc[name, "value"], name))
        for name, template in templates.items()
        if name in overall.index
    ]
    return f"{text}: {' and '.join(results)}." if results else f"{text}."


def _describe_gap(report, gap):
    """One gap as a sentence."""
    name = gap["measure"]
    if _is_equal(gap):
        return _describe_equality(report, gap)
    # Values of the two groups that are furthest apart.
    rows = report.frame
    rows = rows[(rows["attribute"] == gap["attribute"]) & (rows["measure"] == name)]
    values = rows.set_index("group")["value"]
    low, high = (value_text(values[gap[end]], name) for end in ("lowest", "highest"))
    title, meaning = describe_measure(name)
    text = (
        f"{title} ({meaning}) differs most by {gap['attribute']}: {high} for {gap['highest']} and "
        f"{low} for {gap['lowest']}, a gap of {gap_text(gap, name)}"
    )
    if name in _RATIOS and not np.isnan(gap["ratio"]):
        text += f", and a ratio of {gap['ratio']:.2f}, {_four_fifths(gap)}"
    if not gap["is_significant"]:
        text += f"; {_chance_clause(report, gap)}"
    return f"{text}."


def _chance_clause(report, gap):
    """Clause on a gap that is not significant."""
    if gap["gap_low"] <= 0.0:
        return "it may be chance"
    return f"as one of {report.gaps['gap'].notna().sum()} gaps it may be chance"


def _is_equal(gap):
    """Whether a gap is 0, or a chance difference that is 0 in the digits shown."""
    return pd.isna(gap["highest"]) or (
        not gap["is_significant"] and _size_text(gap["gap"], gap["measure"]) in _ZEROS
    )


_ZEROS = ("0.0", "0.000", "0")
"""Gaps of 0 as text."""


def _size_text(gap, measure):
    """A gap as text, without unit and sign."""
    return difference_text(gap, measure).removeprefix("+")


def _describe_equality(report, gap):
    """A gap of 0, up to the digits shown, as a sentence."""
    name, large = gap["measure"], report.frame[~report.frame["is_small"]]
    rows = large[(large["attribute"] == gap["attribute"]) & (large["measure"] == name)]
    title, meaning = describe_measure(name)
    texts = list(dict.fromkeys(value_text(value, name) for value in sorted(rows["value"])))
    what = "rates" if is_share(name) else "values"
    text = f"{title} ({meaning}): equal {what} by {gap['attribute']}, "
    text += f"{' to '.join(texts)} for all groups"
    if not gap["gap_high"] > 0.0:
        return f"{text}."
    return f"{text}; in the population {_possible_gap(gap)}."


def _possible_gap(gap):
    """Clause on the largest gap in the population that a gap of 0 leaves open."""
    name = gap["measure"]
    unit = " percentage points" if is_share(name) else ""
    return f"a gap of up to {_size_text(gap['gap_high'], name)}{unit} is possible"


def _four_fifths(gap):
    """Clause on the four-fifths rule."""
    if gap["ratio_high"] < FOUR_FIFTHS and gap["is_significant"]:
        return "below four fifths"
    if gap["ratio_low"] >= FOUR_FIFTHS:
        return "not below four fifths"
    side = "below" if gap["ratio"] < FOUR_FIFTHS else "above"
    return f"{side} four fifths in these data, but undecided in the population"


def open_questions(report):
    """What these data cannot decide, one sentence each."""
    questions = [*_describe_small_groups(report)]
    for _, gap in report.gaps.dropna(subset=["gap"]).iterrows():
        name, by = gap["measure"], gap["attribute"]
        title = describe_measure(name)[0].lower()
        if name in _primary_measures(report.gaps) and _is_equal(gap):
            questions.append(
                f"Whether the {title} differs by {by}: {_possible_gap(gap)} in the population."
            )
        elif name in _primary_measures(report.gaps) and not gap["is_significant"]:
            questions.append(
                f"Whether the {title} differs by {by} at all: the gap is "
                f"{gap_text(gap, name)}, and {_chance_clause(report, gap)}."
            )
        if name in _RATIOS and gap["ratio_low"] < FOUR_FIFTHS <= gap["ratio_high"]:
            questions.append(
                f"Whether the {title} by {by} keeps four fifths: the ratio of "
                f"{gap['ratio']:.2f} has an interval of "
                f"{gap['ratio_low']:.2f} to {gap['ratio_high']:.2f}."
            )
    if any(_is_error(report.frame)):
        questions.append(
            "Whether the recorded truth is fair itself: error rates are as good as the labels."
        )
    elif report.kind != "clustering":
        questions.append(
            "Whether the predictions are right: without recorded outcomes there are no error rates."
        )
    questions += [
        "How the model treats people who are not in the data, or groups that were not recorded.",
        "Whether a difference is justified: rates show that groups differ, not why.",
    ]
    questions.append(
        "How the model treats people outside its training data, if these are its training data: "
        "intervals hold for held-out data."
    )
    return questions


def _describe_small_groups(report):
    """Sentences that name the small groups of each attribute."""
    small = report.frame[report.frame["is_small"]]
    for attribute, rows in small.groupby("attribute", sort=False):
        sizes = rows.groupby("group", sort=False)["n"].min()
        listed = join_names([f"{group} ({n:.0f})" for group, n in sizes.items()], 8)
        yield (
            f"How the model treats these groups by {attribute}, with fewer than "
            f"{report.min_group_size} people for some measure: {listed}. Their numbers are shown, "
            "marked as small, and they are left out of gaps."
        )
