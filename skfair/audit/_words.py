"""What a report says in words: what was found, and what the data cannot decide."""

import numpy as np
import pandas as pd

from skfair.audit._measures import is_own, words
from skfair.audit._tables import EVERYBODY
from skfair.utils._messages import join_names

FOUR_FIFTHS = 0.8
"""Ratio of selection rates below which the guidelines on employment of the United States look."""

RATIOS = ("selection_rate", "scoring_rate")
"""Rates of which ratios are asked for: of decisions, and where scores are what people get."""

_FIRST = ("selection_rate", "mean_prediction")
"""What people get; the first that there is goes before all other measures."""

_ERRORS = (
    "true_positive_rate",
    "false_positive_rate",
    "positive_predictive_value",
    "accuracy",
    "calibration_error",
    "mean_error",
    "mean_absolute_error",
)
"""How well people are judged; measures of one kind of prediction are of one unit."""

_UNITS = ("auc", "mean_target", "mean_prediction", "mean_error", "mean_absolute_error")


def is_share(measure):
    """Whether a measure is a share of people, to be shown in percent."""
    return measure not in _UNITS and not is_own(measure)


def number(value, measure):
    """A value of a measure as text."""
    if value is None or np.isnan(value):
        return "–"
    return f"{100 * value:.1f} %" if is_share(measure) else _plain(value, measure)


def span(low, high, measure):
    """An interval as text."""
    if np.isnan(low) or np.isnan(high):
        return "no interval"
    if is_share(measure):
        return f"{100 * low:.1f} to {100 * high:.1f}"
    return f"{_plain(low, measure)} to {_plain(high, measure)}"


def _plain(value, measure):
    return f"{value:.3f}" if measure == "auc" else f"{value:.3g}"


def points(difference, measure):
    """A difference of two values of a measure as text; of shares in percentage points."""
    if np.isnan(difference):
        return "–"
    if is_share(measure):
        return f"{100 * difference:+.1f}"
    return f"{'' if difference < 0 else '+'}{_plain(difference, measure)}"


def gap_text(gap, measure, unit=" percentage points"):
    """A gap with its interval, as text."""
    interval = span(gap["gap_low"], gap["gap_high"], measure)
    size = points(gap["gap"], measure).removeprefix("+")
    return f"{size}{unit if is_share(measure) else ''} ({interval})"


def findings(report):
    """Three sentences: who was audited, what people get, and where the model errs.

    Parameters
    ----------
    report : FairnessReport
        The numbers.

    Returns
    -------
    sentences : list of str
    """
    gaps = report.gaps.dropna(subset=["gap"])
    first = _primary(gaps)
    sentences = [_audited(report)]
    if not len(gaps):
        return [*sentences, "No two groups are large enough to be compared."]
    top = gaps[gaps["measure"].isin(first)]
    sentences.append(_widest(report, _leading(top, "gap")))
    errors = gaps[[name.split(" of class ")[0] in _ERRORS for name in gaps["measure"]]]
    if len(errors):
        sentences.append(_widest(report, _leading(errors, "gap_low")))
    if report.kind == "clustering":
        low = report.balance
        sentences.append(
            f"The least balanced cluster has a balance of {low.estimate:.2f} (its rarest group "
            f"over its commonest), and {low.low:.2f} at least in the population if these people "
            "are new to the clustering."
        )
    return sentences


def _leading(gaps, column):
    """The gap that is largest by a column, of the significant ones if there are any."""
    significant = gaps[gaps["is_significant"]]
    among = significant if len(significant) else gaps
    return among.loc[among[column].idxmax()]


def _primary(gaps):
    names = gaps["measure"].unique().tolist()
    for first in _FIRST:
        if first in names:
            return [first]
    return [name for name in names if name.startswith(("share of", "selection_rate of"))]


def _audited(report):
    everybody = report.frame[report.frame["attribute"] == EVERYBODY].set_index("measure")
    *single, last = report.attributes
    n_groups = report.frame.loc[report.frame["attribute"] == last, "group"].nunique()
    both = f"{', '.join(single[:-1])} and {single[-1]}" if len(single) > 1 else ""
    by = f"combinations of {both}" if single else f"groups by {last}"
    text = f"{report.n_samples:,} people in {n_groups} {by} were audited"
    shown = {
        "selection_rate": "{} were selected",
        "accuracy": "{} were judged rightly",
        "mean_absolute_error": "predictions are off by {} on average",
    }
    said = [
        how.format(number(everybody.loc[name, "value"], name))
        for name, how in shown.items()
        if name in everybody.index
    ]
    return f"{text}: {' and '.join(said)}." if said else f"{text}."


def _widest(report, gap):
    """One gap as a sentence."""
    name = gap["measure"]
    if pd.isna(gap["highest"]):
        return _equal(report, gap)
    own = report.frame
    own = own[(own["attribute"] == gap["attribute"]) & (own["measure"] == name)].set_index("group")
    low, high = (number(own.loc[gap[end], "value"], name) for end in ("lowest", "highest"))
    title, meaning = words(name)
    text = (
        f"{title} ({meaning}) differs most by {gap['attribute']}: {high} for {gap['highest']} and "
        f"{low} for {gap['lowest']}, a gap of {gap_text(gap, name)}"
    )
    if name in RATIOS and not np.isnan(gap["ratio"]):
        text += f", and a ratio of {gap['ratio']:.2f}, {_four_fifths(gap)}"
    if not gap["is_significant"]:
        text += f"; {_chance(report, gap)}"
    return f"{text}."


def _chance(report, gap):
    """What is said of a gap that is not significant."""
    if gap["gap_low"] <= 0.0:
        return "it may be chance"
    return f"as one of {report.gaps['gap'].notna().sum()} gaps it may be chance"


def _equal(report, gap):
    """A gap of 0 as a sentence."""
    name, large = gap["measure"], report.frame[~report.frame["is_small"]]
    own = large[(large["attribute"] == gap["attribute"]) & (large["measure"] == name)]
    title, meaning = words(name)
    value, most = number(own["value"].iloc[0], name), points(gap["gap_high"], name)
    unit = " percentage points" if is_share(name) else ""
    text = f"{title} ({meaning}) is {value} for all groups by {gap['attribute']}"
    if not gap["gap_high"] > 0.0:
        return f"{text}."
    return f"{text}; in the population a gap of up to {most.removeprefix('+')}{unit} is possible."


def _four_fifths(gap):
    if gap["ratio_high"] < FOUR_FIFTHS and gap["is_significant"]:
        return "below four fifths"
    if gap["ratio_low"] >= FOUR_FIFTHS:
        return "not below four fifths"
    side = "below" if gap["ratio"] < FOUR_FIFTHS else "above"
    return f"{side} four fifths in these data, but undecided in the population"


def undecided(report):
    """What these data cannot decide, one sentence each.

    Parameters
    ----------
    report : FairnessReport
        The numbers.

    Returns
    -------
    sentences : list of str
    """
    said = [*_small(report)]
    for _, gap in report.gaps.dropna(subset=["gap"]).iterrows():
        name, by = gap["measure"], gap["attribute"]
        if name in _primary(report.gaps) and not gap["is_significant"]:
            said.append(
                f"Whether the {words(name)[0].lower()} differs by {by} at all: the gap is "
                f"{gap_text(gap, name)}, and {_chance(report, gap)}."
            )
        if name in RATIOS and gap["ratio_low"] < FOUR_FIFTHS <= gap["ratio_high"]:
            said.append(
                f"Whether the {words(name)[0].lower()} by {by} keeps four fifths: the ratio of "
                f"{gap['ratio']:.2f} is one of {gap['ratio_low']:.2f} to {gap['ratio_high']:.2f} "
                "in the population."
            )
    if report.kind != "clustering":
        said.append(
            "Whether the recorded truth is fair itself: error rates are as good as the labels."
        )
    said += [
        "How the model treats people who are not in the data, or groups that nobody recorded.",
        "Whether a difference has a good reason: rates say that groups differ, not why.",
    ]
    said.append(
        "How the model treats new people, if it was fitted to these: intervals hold for people "
        "whom it has not seen."
    )
    return said


def _small(report):
    few = report.frame[report.frame["is_small"]]
    for attribute, rows in few.groupby("attribute", sort=False):
        sizes = rows.groupby("group", sort=False)["n"].min()
        named = join_names([f"{group} ({n:.0f})" for group, n in sizes.items()], 8)
        yield (
            f"How these groups by {attribute} fare, of which fewer than {report.min_group_size} "
            f"people count for some measure: {named}. Their numbers are shown, marked as small, "
            "and no gap is measured on them."
        )
