"""Front of the page of a report: its headline, main numbers, and pictures of rates by group."""

from math import isfinite, nan
from operator import itemgetter

import numpy as np
import pandas as pd

from skfair.audit._formats import Axis, Picture
from skfair.audit._sentences import (
    RATIO,
    confidence_text,
    describe_metric,
    describe_quantity,
    difference_cell,
    state_rates,
    value_cell,
)
from skfair.audit._tables import OUTCOME_METRICS, OVERALL, STRATUM_SEPARATOR

# The gaps that a report is about first: in outcomes, and in errors.


_ERROR_METRICS = (
    "true_positive_rate",
    "false_positive_rate",
    "positive_predictive_value",
    "accuracy",
    "calibration_error",
    "mean_error",
    "mean_absolute_error",
)
"""Metrics of errors; those of one task have the same unit."""


def report_quantity(report, metric):
    """What a metric of a report compares."""
    return describe_quantity(metric, report.provenance.get("positive_label"))


def error_metric_mask(frame):
    """Mask of the rows on metrics of errors, which need a target."""
    return frame["metric"].str.partition(" of class ")[0].isin(_ERROR_METRICS)


def primary_metrics(gaps):
    """Names of the metrics of outcomes that gaps are claimed of."""
    names = gaps["metric"].unique().tolist()
    for outcome in OUTCOME_METRICS:
        if outcome in names:
            return [outcome]
    return [name for name in names if name.startswith(("share of", "selection_rate of"))]


def find_headline_gaps(report):
    """The widest gap in outcomes, and the gap in errors that is largest beyond doubt, or None.

    They are among the significant ones if there are any.
    """
    gaps = report.gaps.dropna(subset=["gap"])
    outcomes = gaps[gaps["metric"].isin(primary_metrics(gaps))]
    errors = gaps[error_metric_mask(gaps)]
    return _select_headline_gap(outcomes, "gap"), _select_headline_gap(errors, "gap_low")


def _select_headline_gap(gaps, column):
    """The gap that is largest by a column, of the significant ones if there are any, or None."""
    if not len(gaps):
        return None
    significant = gaps[gaps["is_significant"]]
    candidates = significant if len(significant) else gaps
    return candidates.loc[candidates[column].idxmax()]


def find_rows(frame, attribute, metric):
    """Rows of one metric by one attribute."""
    return frame[(frame["attribute"] == attribute) & (frame["metric"] == metric)]


def find_ends(report, gap):
    """Rows of the two groups that differ most, or of all that are not small if none differ."""
    rows = find_rows(report.frame, gap["attribute"], gap["metric"])
    if pd.isna(gap["highest"]):
        return rows[~rows["is_small"]].set_index("group")
    return rows.set_index("group").loc[[gap["highest"], gap["lowest"]]]


def chance_clause(report, gap):
    """Clause on a gap that is not significant."""
    if gap["gap_low"] <= 0.0:
        return "it may be chance"
    return f"as one of {report.gaps['gap'].notna().sum()} gaps it may be chance"


def is_zero_gap(quantity, gap, ends):
    """Whether a gap is 0, or by chance that of two values that are shown by the same digits."""
    return not gap["is_significant"] and len({*map(quantity.value, ends["estimate"])}) == 1


# Headline, and what stands below it.


REPORT_TITLE = "Fairness report"
"""What the page is, and its heading where no gap is known."""


def write_headline(report):
    """The widest gap in outcomes as a heading."""
    gap, _ = find_headline_gaps(report)
    return REPORT_TITLE if gap is None else _state_gap(report, gap)


def _state_gap(report, gap):
    """The rates of the two groups that differ most, and whether it may be chance."""
    metric, attribute = gap[["metric", "attribute"]]
    ends = find_ends(report, gap)
    values = ends["estimate"].tolist()
    quantity = describe_quantity(metric)
    if is_zero_gap(quantity, gap, ends):
        title = describe_metric(metric)[0]
        value, _ = value_cell(quantity, (values[0], nan, nan))
        return f"{title}: {value} for all groups by {attribute}"
    stratum = attribute.partition(STRATUM_SEPARATOR)[2]
    text = state_rates(metric, values, ends.index) + f", where {stratum}" * bool(stratum)
    return text if gap["is_significant"] else f"{text}; {chance_clause(report, gap)}"


def describe_front(report):
    """Yield the sentences below the headline: the size of the widest gap, and a gap in errors."""
    outcome, error = find_headline_gaps(report)
    headline = write_headline(report)
    if report.title != headline:
        yield f"{headline}."
    if outcome is not None:
        size = f"A gap of {_gap_size(report, outcome)}, the widest by {outcome['attribute']}"
        if outcome["four_fifths"]:
            ratio = RATIO.size(*itemgetter("ratio", "ratio_low", "ratio_high")(outcome))
            size += f", and {ratio}, {outcome['four_fifths']}"
        yield f"{size}."
    if error is not None:
        meaning = describe_metric(error["metric"])[1]
        size = _gap_size(report, error)
        yield f"{_state_gap(report, error)} ({meaning}); a gap of {size}."


def _gap_size(report, gap):
    """A gap with its unit and limits."""
    quantity = report_quantity(report, gap["metric"])
    limits = quantity.reach(gap["gap_low"], gap["gap_high"])
    size = f"{quantity.decimal(gap['gap'])} {quantity.unit}".strip()
    return f"{size} ({limits} with {confidence_text(report.confidence_level)})"


OVERALL_METRICS = ("selection_rate", "coverage", "accuracy", "mean_absolute_error")
"""Metrics of all samples that the page begins with."""


def overall_rates(report):
    """Values of all samples by metric."""
    rows = report.frame[report.frame["attribute"] == OVERALL]
    return dict(zip(rows["metric"], rows["estimate"], strict=True))


def find_main_table(report):
    """Attribute and metric of the widest gap, or of the last attribute where no gap is known."""
    gap, _ = find_headline_gaps(report)
    if gap is not None:
        return gap["attribute"], gap["metric"]
    return report.attributes[-1], report.frame["metric"].iloc[0]


def list_main_numbers(report):
    """Four numbers and what they are: samples, overall rates or the widest gap, and groups."""
    attribute, metric = find_main_table(report)
    gap, _ = find_headline_gaps(report)
    overall = overall_rates(report)
    numbers = [(f"{report.n_samples:,}", "samples")]
    for name in OVERALL_METRICS:
        if name in overall:
            value, _ = value_cell(describe_quantity(name), (overall[name], nan, nan))
            numbers.append((value, describe_metric(name)[1]))
    if gap is not None:
        quantity = describe_quantity(metric)
        unit = f", {quantity.unit}" if quantity.unit else ""
        numbers.append((quantity.decimal(gap["gap"]), f"widest gap by {attribute}{unit}"))
    rows = find_rows(report.frame, attribute, metric)
    n_groups = len(rows) + report.hidden.get(attribute, [0])[0]
    n_small = rows["is_small"].sum()
    small = f"; {n_small} too small to be compared" if n_small else ""
    return [*numbers[:3], (f"{n_groups}", f"groups by {attribute}{small}")]


# Pictures of rates on one axis.


_MAX_SHOWN_GROUPS = 40
"""Groups of one attribute that the page shows; the frame of the report has all."""


def largest_groups(rows, n=_MAX_SHOWN_GROUPS):
    """Rows of the largest groups, as many as the page shows, in their order."""
    return rows if len(rows) <= n else rows.loc[rows["n"].nlargest(n).index].sort_index()


def find_axis(quantity, values):
    """Axis of values: from 0 to 100 % of shares, symmetric if some are negative; else from 0."""
    values = [0.0, *filter(isfinite, values)]
    low = min(values)
    high = max(values)
    if quantity.is_share and low < 0.0:
        high = next((one for one in (0.05, 0.1, 0.25, 0.5) if one >= max(-low, high)), 1.0)
        low = -high
    elif quantity.is_share or 0.5 < high <= 1.0:
        high = 1.0
    elif high == low:
        high = 1.0
    ticks = [quantity.number(one) for one in np.linspace(low, high, 5)]
    ticks[-1] += " %" * quantity.is_share
    return Axis(low, high, tuple(ticks))


def _mark_rows(report, rows):
    """Classes of the rows of a metric: "small", "far" for the two ends of the gap, or "near"."""
    both = rows[["attribute", "metric"]].iloc[0]
    gaps = find_rows(report.gaps, *both)
    ends = {*gaps["lowest"], *gaps["highest"]}
    marks = np.where(rows["group"].isin(ends), "far", "near")
    return np.where(rows["is_small"], "small", marks).tolist()


def sort_groups(rows):
    """Rows of groups by their value, the largest first, and small groups last."""
    return rows.sort_values(["is_small", "estimate"], ascending=[True, False], kind="stable")


def difference_title(quantity, title="Difference"):
    """Title of a column of differences."""
    return f"{title}, points" if quantity.is_share else title


def metric_table(report, attribute, name, has_comparisons=True):
    """Table and pictures of one metric by one attribute, perhaps compared with the reference."""
    rows = find_rows(report.frame, attribute, name)
    n_groups = len(rows)
    rows = sort_groups(largest_groups(rows))
    quantity = describe_quantity(name)
    title, note = describe_metric(name)
    if len(rows) < n_groups:
        note += f"; the {len(rows)} largest of {n_groups} groups"
    has_ratio = has_comparisons and bool(rows["ratio"].notna().any())
    titles = ["Group", "", title, "Samples"]
    titles += [difference_title(quantity)] * has_comparisons + ["Ratio"] * has_ratio
    axis = find_axis(quantity, rows[["low", "estimate", "high"]].to_numpy().ravel())
    overall = overall_rates(report).get(name, nan)
    marks = _mark_rows(report, rows)
    cells = []
    for row, mark in zip(rows.to_dict("records"), marks, strict=True):
        limited = itemgetter("estimate", "low", "high")(row)
        picture = Picture(axis, [(row["estimate"], mark)], limited[1:], overall)
        size = f"{row['n']:,.0f}", "small" * row["is_small"]
        group = row["group"] + " (reference)" * (has_comparisons and row["is_reference"])
        line = [group, picture, value_cell(quantity, limited), size]
        if has_comparisons:
            limited = itemgetter("difference", "difference_low", "difference_high")(row)
            line.append(difference_cell(quantity, limited))
        if has_ratio:
            line.append(value_cell(RATIO, itemgetter("ratio", "ratio_low", "ratio_high")(row)))
        cells.append((line, mark))
    return f"{title} by {attribute}", note, titles, cells


def glance_table(report, attribute):
    """Table of all rates by one attribute: a dot for each group, and the gap."""
    overall = overall_rates(report)
    cells = []
    for gap in report.gaps[report.gaps["attribute"] == attribute].to_dict("records"):
        name = gap["metric"]
        quantity = describe_quantity(name)
        rows = find_rows(report.frame, attribute, name)
        marks = _mark_rows(report, rows)
        axis = find_axis(quantity, rows.loc[~rows["is_small"], "estimate"])
        # The two ends are drawn last, on top of the others.
        dots = zip(rows["estimate"], marks, strict=True)
        dots = sorted((one for one in dots if one[1] != "small"), key=itemgetter(1), reverse=True)
        title, meaning = describe_metric(name)
        if axis[:2] != (0.0, 1.0):
            meaning += f"; axis from {axis.ticks[0]} to {axis.ticks[-1]}"
        size = "–"
        if isfinite(gap["gap"]):
            unit = " points" * quantity.is_share
            limits = quantity.reach(gap["gap_low"], gap["gap_high"])
            size = f"{quantity.decimal(gap['gap'])}{unit}", limits
        picture = Picture(axis, dots, reference=overall.get(name, nan))
        cells.append((((title, meaning), picture, size), False))
    note = "Each dot is a group that is large enough to be compared."
    return f"Gaps by {attribute}", note, ("Rate", "", "Widest gap"), cells


def rate_table(report, attribute, names, groups):
    """Table of metrics of groups by one attribute, with intervals."""
    frame = report.frame[report.frame["attribute"].isin([OVERALL, attribute])]
    by = {(row["group"], row["metric"]): row for row in frame.to_dict("records")}
    rows = []
    for group in groups:
        known = [by[group, name] if (group, name) in by else None for name in names]
        texts = [
            "–"
            if row is None
            else value_cell(describe_quantity(name), itemgetter("estimate", "low", "high")(row))
            for name, row in zip(names, known, strict=True)
        ]
        n = max(row["n"] for row in known if row is not None)
        rows.append(((group, f"{n:,.0f}", *texts), False))
    titles = ("Group", "Samples", *(describe_metric(name)[0] for name in names))
    return f"By {attribute}", "With intervals.", titles, rows
