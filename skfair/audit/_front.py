"""Front of the page of a report: its headline, main numbers, and pictures of rates by group."""

from __future__ import annotations

import re
from math import isfinite, nan
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from skfair.audit._formats import Axis, Picture
from skfair.audit._sentences import (
    RATIO,
    confidence_text,
    describe_metric,
    describe_quantity,
    limited_text,
    read_limited,
    state_rates,
    value_cell,
)
from skfair.audit._tables import (
    OUTCOME_METRICS,
    OVERALL,
    Grouping,
    needs_outcome,
    read_grouping,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pandas.arrays import ArrowStringArray

    from skfair.audit._report_data import ReportData
    from skfair.audit._sentences import Quantity


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


def report_quantity(report: ReportData, metric: str) -> Quantity:
    """What a metric of a report compares."""
    positive = report.provenance.get("positive_label")
    return describe_quantity(metric, positive, report.reading.burden)


def counts_outcomes(report: ReportData, metric: str) -> bool:
    """Return whether a metric counts the samples with an outcome, where others have none."""
    return report.n_without_outcome > 0 and needs_outcome(metric)


def outcomes_clause(report: ReportData, metric: str) -> str:
    """Return from how many outcomes a metric of all samples is, where some have none."""
    if not counts_outcomes(report, metric):
        return ""
    return f" from {report.n_samples - report.n_without_outcome:,} known outcomes"


def describe_in_report(report: ReportData, metric: str) -> tuple[str, str]:
    """Return the title of a metric, and what it is the mean of, by the samples that it counts."""
    title, meaning = describe_metric(metric, report.reading.burden)
    is_weighted = report.known_outcomes.get("missing") == "by_decision"
    if counts_outcomes(report, metric) and not is_weighted:
        meaning = re.sub(r", of all\b", ", of all whose outcome is known", meaning)
    return title, meaning


def error_metric_mask(frame: pd.DataFrame) -> pd.Series:
    """Mask of the rows on metrics of errors, which need a target."""
    return frame["metric"].str.split(" of class ").str[0].isin(_ERROR_METRICS)


def primary_metrics(gaps: pd.DataFrame) -> list[str]:
    """Names of the metrics of outcomes that gaps are claimed of."""
    names = gaps["metric"].unique().tolist()
    for outcome in OUTCOME_METRICS:
        if outcome in names:
            return [outcome]
    by_class = [name for name in names if name.startswith(("share of", "selection_rate of"))]
    return by_class or [name for name in names if name == "mean_target"]


def find_headline_gaps(report: ReportData) -> tuple[pd.Series | None, pd.Series | None]:
    """The widest gap in outcomes, and the gap in errors that is largest beyond doubt, or None.

    They are among the significant ones if there are any.
    """
    gaps = report.gaps.dropna(subset=["gap"])
    outcomes = gaps[gaps["metric"].isin(primary_metrics(gaps))]
    errors = gaps[error_metric_mask(gaps)]
    return select_headline_gap(outcomes, "gap"), select_headline_gap(errors, "gap_low")


def select_headline_gap(gaps: pd.DataFrame, column: str) -> pd.Series | None:
    """The gap that is largest by a column, of the significant ones if there are any, or None."""
    if not len(gaps):
        return None
    significant = gaps[gaps["is_significant"]]
    candidates = significant if len(significant) else gaps
    return candidates.loc[candidates[column].idxmax()]


def find_rows(frame: pd.DataFrame, grouping: Grouping, metric: str) -> pd.DataFrame:
    """Rows of one metric by one grouping."""
    is_of_grouping = (frame["attribute"] == grouping.attribute) & (
        frame["stratum"] == grouping.stratum
    )
    return frame[is_of_grouping & (frame["metric"] == metric)]


def find_ends(report: ReportData, gap: pd.Series | dict[str, float | str | None]) -> pd.DataFrame:
    """Rows of the two groups that differ most, or of all that are not small if none differ."""
    rows = find_rows(report.frame, read_grouping(gap), gap["metric"])  # type: ignore[arg-type]
    if pd.isna(gap["highest"]):
        return rows[~rows["is_small"]].set_index("group")
    return rows.set_index("group").loc[[gap["highest"], gap["lowest"]]]


def chance_clause(report: ReportData, gap: pd.Series | dict) -> str:
    """Clause on a gap that is not significant."""
    if gap["gap_low"] <= 0.0:
        return "it may be chance"
    return f"as one of {report.gaps['gap'].notna().sum()} gaps it may be chance"


def is_zero_gap(
    quantity: Quantity, gap: pd.Series | dict[str, float | str | None], ends: pd.DataFrame
) -> bool:
    """Whether a gap is 0, or by chance that of two values that are shown by the same digits."""
    return not gap["is_significant"] and len({*map(quantity.value, ends["estimate"])}) == 1


# Headline, and what stands below it.


REPORT_TITLE = "Fairness report"
"""What the page is, and its heading where no gap is known."""


def write_headline(report: ReportData) -> str:
    """The widest gap in outcomes as a heading."""
    gap, _ = find_headline_gaps(report)
    return REPORT_TITLE if gap is None else _state_gap(report, gap)


def _state_gap(report: ReportData, gap: pd.Series) -> str:
    """The rates of the two groups that differ most, and whether it may be chance."""
    metric, grouping = gap["metric"], read_grouping(gap)
    ends = find_ends(report, gap)
    values = ends["estimate"].tolist()
    quantity = describe_quantity(metric)
    if is_zero_gap(quantity, gap, ends):
        title = describe_metric(metric, report.reading.burden)[0]
        return f"{title}: {quantity.page_value(values[0])} for all groups by {grouping}"
    text = state_rates(metric, values, ends.index, report.reading.burden)
    text += f", where {grouping.stratum}" * bool(grouping.stratum)
    return text if gap["is_significant"] else f"{text}; {chance_clause(report, gap)}"


def describe_front(
    report: ReportData, gaps: tuple[pd.Series | None, pd.Series | None]
) -> Iterator[str]:
    """Yield a sentence on the size of each gap, after its rates where the headline has others."""
    for gap in gaps:
        if gap is None:
            continue
        state = _state_gap(report, gap)
        size, limits = limited_text(describe_quantity(gap["metric"]), gap, "gap")
        level = confidence_text(report.confidence_level)
        text = f"{state}. " * (state != report.title)
        text += f"A gap of {size} ({limits} with {level}) by {read_grouping(gap)}"
        yield f"{text}{state_ratio(report, gap)}."


def state_ratio(report: ReportData, gap: pd.Series) -> str:
    """Clause on the ratio of two rates, and four fifths; of a burden that of those spared."""
    if not gap["four_fifths"]:
        return ""
    ratio = RATIO.size(*read_limited(gap, "ratio"))
    if report.reading.burden is not None:
        ratio += f" of the {report_quantity(report, 'spared_rate').noun}"
    return f", and {ratio}, {gap['four_fifths']}"


OVERALL_METRICS = ("selection_rate", "coverage", "accuracy", "mean_absolute_error")
"""Metrics of all samples that the page begins with."""


def list_main_numbers(
    report: ReportData, tables: dict, main: tuple[Grouping, str], gap: pd.Series | None
) -> list[tuple[str, str]]:
    """Four numbers and what they are: samples, overall rates or the widest gap, and groups."""
    grouping, metric = main
    numbers = [(f"{report.n_samples:,}", "samples")]
    for name in OVERALL_METRICS:
        for row in tables.get((_ALL, name), ()):
            quantity = report_quantity(report, name)
            noun = f"{quantity.noun}{outcomes_clause(report, name)}"
            numbers.append((quantity.page_value(row["estimate"]), noun))
    if gap is not None:
        numbers.append((value_cell(describe_quantity(metric), gap, "gap")[0], "widest gap"))
    n_groups = len(tables[main]) + report.hidden.get(grouping.attribute, [0])[0]
    return [*numbers[:3], (f"{n_groups}", f"groups by {grouping}")]


# Pictures of rates on one axis.


_ALL = Grouping(OVERALL)


def tabulate_rates(report: ReportData) -> dict[tuple[Grouping, str], list[dict]]:
    """Rows of a report by grouping and metric, the largest value first and small groups last.

    They have the title and meaning of the metric as "words", the value of all samples as "overall",
    and their class in pictures as "mark": "small", "end" for the two ends of the other groups,
    and "near".
    """
    tables: dict = {}
    for row in report.frame.to_dict("records"):
        tables.setdefault((read_grouping(row), row["metric"]), []).append(row)
    for (_, metric), rows in tables.items():
        rows.sort(key=lambda row: (row["is_small"], -row["estimate"]))
        compared = [row["estimate"] for row in rows if not row["is_small"]]
        for row in rows:
            mark = "end" if row["estimate"] in (compared[:1] + compared[-1:]) else "near"
            row["mark"] = "small" if row["is_small"] else mark
            row["overall"] = tables[_ALL, metric][0]["estimate"]
            row["words"] = describe_in_report(report, metric)
    return tables


_MAX_SHOWN_GROUPS = 40
"""Groups of one attribute that the page shows; the frame of the report has all."""


def largest_groups(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of the largest groups, as many as the page shows, in their order."""
    smallest = sorted(row["n"] for row in rows)[-_MAX_SHOWN_GROUPS:][0]
    return [row for row in rows if row["n"] >= smallest][:_MAX_SHOWN_GROUPS]


def find_axis(quantity: Quantity, values: Iterable[float], top: float = 1.0) -> Axis:
    """Axis of values: from 0 to 100 % of shares, symmetric if some are negative."""
    values = [0.0, *filter(isfinite, values)]
    high = max(map(abs, values)) or 1.0
    low = -high if min(values) < 0.0 else 0.0
    if low == 0.0 and (quantity.is_share or 0.5 < high <= 1.0):
        high = top
    ticks = [quantity.number(one) for one in np.linspace(low, high, 5)]
    ticks[-1] += " %" * quantity.is_share
    return Axis(low, high, tuple(ticks))


def find_round_axis(quantity: Quantity, top: float) -> Axis:
    """Axis from 0 to a number that is at least `top`, with ticks at multiples of 1, 2 or 5.

    That of shares ends at 100 %.
    """
    power = 10.0 ** np.floor(np.log10(top / _N_STEPS))
    step = next(one * power for one in (1, 2, 5, 10) if _N_STEPS * one * power >= top * (1 - 1e-9))
    if quantity.is_share and top <= 1.0:
        step = min(step, 1.0 / _N_STEPS)
    ticks = [quantity.number(number * step) for number in range(_N_STEPS + 1)]
    ticks[-1] += " %" * quantity.is_share
    return Axis(0.0, _N_STEPS * step, tuple(ticks))


_N_STEPS = 4
"""Steps between ticks of an axis, which grid lines of the page show."""


def draw_limited(
    axis: Axis,
    row: dict[str, float | str],
    name: str = "estimate",
    mark: str = "near",
    reference: float = nan,
) -> Picture:
    """Picture of a value of a row and its limits."""
    value, low, high = read_limited(row, name)
    return Picture(axis, [(value, mark)], (low, high), reference)


def metric_table(
    report: ReportData,
    tables: dict[tuple[Grouping, str], list[dict]],
    key: tuple[Grouping, str],
    comparisons: Sequence[str] = ("difference", "ratio"),
) -> tuple[str, str, list[str], list[tuple]]:
    """Table and pictures of one metric by one grouping, with comparisons to the reference."""
    grouping, name = key
    rows = largest_groups(tables[key])
    quantity = describe_quantity(name)
    title, note = rows[0]["words"]
    if rows != tables[key]:
        note += f"; the {len(rows)} largest of {len(tables[key])} groups"
    comparisons = [one for one in comparisons if any(isfinite(row[one]) for row in rows)]
    axis = find_axis(quantity, [one for row in rows for one in read_limited(row)])
    cells = []
    for row in rows:
        line = [
            row["group"] + " (reference)" * bool(comparisons and row["is_reference"]),
            draw_limited(axis, row, "estimate", row["mark"], row["overall"]),
            value_cell(quantity, row),
            (f"{row['n']:,.0f}", "small" * row["is_small"]),
        ]
        line += [value_cell(RATIO if one == "ratio" else quantity, row, one) for one in comparisons]
        cells.append((line, row["mark"]))
    counted = "With outcome" if counts_outcomes(report, name) else "Samples"
    titles = ["Group", "", title, counted, *map(str.title, comparisons)]
    if report.reading.burden is not None and name == "selection_rate" and "ratio" in comparisons:
        titles[-1] = "Ratio of those spared"
    return f"{title} by {grouping}", note, titles, cells


def glance_table(
    report: ReportData, tables: dict[tuple[Grouping, str], list[dict]], grouping: Grouping
) -> tuple:
    """Table of all rates by one grouping: a dot for each group, and the gap."""
    cells = []
    for gap in report.gaps.to_dict("records"):
        name = gap["metric"]
        # With min_published a metric may have no group that is shown.
        if read_grouping(gap) != grouping or (grouping, name) not in tables:
            continue
        quantity = describe_quantity(name)
        title, meaning = tables[grouping, name][0]["words"]
        rows = [row for row in tables[grouping, name] if not row["is_small"]]
        # The two ends are drawn last, on top of the others.
        dots = [(row["estimate"], row["mark"]) for row in (*rows[1:-1], *rows[:1], *rows[-1:])]
        axis = find_axis(quantity, [value for value, _ in dots])
        if axis[:2] != (0.0, 1.0):
            meaning += f"; axis from {axis.ticks[0]} to {axis.ticks[-1]}"
        reference = tables[grouping, name][0]["overall"]
        picture = Picture(axis, dots, reference=reference)
        cells.append((((title, meaning), picture, value_cell(quantity, gap, "gap")), False))
    return (
        f"Gaps by {grouping}",
        "Groups that are large enough to be compared.",
        ("Rate", "", "Widest gap"),
        cells,
    )


OF_ALL_OUTCOMES = ("accuracy", "mean_target")
"""Metrics that count all samples that have an outcome."""


def _count_by_group(rows: list[dict]) -> dict[str, float]:
    """Return the largest number of samples that a metric counts, by group."""
    return dict(sorted(((row["group"], row["n"]) for row in rows), key=lambda pair: pair[1]))


def rate_table(
    tables: dict[tuple[Grouping, str], list[dict]],
    grouping: Grouping,
    names: ArrowStringArray,
    groups: list[str],
    has_unknown: bool,
) -> tuple:
    """Table of metrics of all samples and of groups by one grouping, with intervals.

    Where some samples have no outcome (`has_unknown`), a column counts the others.
    """
    listed = {_ALL: [OVERALL], grouping: groups}
    rows = [row for key, one in tables.items() if key[0] in listed for row in one]
    outcome_rows = [row for row in rows if row["metric"] in OF_ALL_OUTCOMES]
    has_known = has_unknown and bool(outcome_rows)
    lines = []
    for one, labels in listed.items():
        # All samples are called as a group may be.
        sizes = _count_by_group([row for row in rows if read_grouping(row) == one])
        known = _count_by_group([row for row in outcome_rows if read_grouping(row) == one])
        for group in labels:
            values = _value_cells(tables, one, group, names)
            counts = [f"{sizes[group]:,.0f}", *[f"{known.get(group, 0):,.0f}"] * has_known]
            lines.append(((group, *counts, *values), False))
    counted = ("Samples", *["With outcome"] * has_known)
    titles = ("Group", *counted, *(tables[_ALL, name][0]["words"][0] for name in names))
    return f"By {grouping}", "With intervals.", titles, lines


def _value_cells(
    tables: dict[tuple[Grouping, str], list[dict]],
    grouping: Grouping,
    group: str,
    names: ArrowStringArray,
) -> Iterator[str | tuple[str, str]]:
    """Yield the value of a group by each metric, or a dash where it has none."""
    for name in names:
        rows = [row for row in tables.get((grouping, name), ()) if row["group"] == group]
        yield value_cell(describe_quantity(name), rows[0]) if rows else "–"
