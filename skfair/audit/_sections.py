"""Sections of a report as text and tables, which every format of the page shows.

A section is a heading and a list of elements. An element is a paragraph (a str), a list of bullet
points, or a table: a tuple of its caption, a note, the titles of the columns, and the rows. A row
is a pair of its cells and of whether it is marked. A cell is a str, or a tuple of its text, a
smaller remark and perhaps a picture, which is the arguments of `_page.draw_strip`.
"""

from math import isfinite

from skfair.audit._measures import describe_measure
from skfair.audit._provenance import titled_facts
from skfair.audit._sentences import (
    FOUR_FIFTHS,
    difference_text,
    gap_text,
    has_impact_ratio,
    interval_text,
    is_share,
    value_text,
)
from skfair.audit._tables import groups_like_unknown

_MAX_ROWS = 40
"""Groups of one attribute that the page shows; the frame of the report has all."""


def report_sections(report):
    """Yield the sections of a report: pairs of a heading and a list of elements."""
    yield "Findings", report.findings
    yield "What these data cannot decide", [report.open_questions]
    yield "What was audited", [facts_table(audited_facts(report))]
    if len(report.gaps):
        yield "Overview of gaps", [_overview(report)]
    measures = [name for name in report.frame["measure"].unique() if has_impact_ratio(name)]
    if measures:
        yield "Impact ratios", list(_impact_tables(report, measures))
    if measures and report.counts_samples:
        yield "Adverse impact", list(_adverse_impact_tables(report))
    for attribute in report.attributes:
        yield f"By {attribute}", list(_measure_tables(report, attribute))
    yield "How to read this", [_method(report)]


def facts_table(facts):
    """Table of facts, pairs of a title and a text."""
    return "Facts", "", ("Fact", "Value"), [(pair, False) for pair in facts]


def audited_facts(report):
    """Facts on the page: what the report knows, and what the user stated."""
    missing = [f"{n:,} by {name}" for name, n in report.n_missing.items() if n]
    facts = [("Task", report.kind), ("Samples", f"{report.n_samples:,}")]
    facts += [("Samples of unknown group", ", ".join(missing))] * bool(missing)
    suspect = [f"{name!r} by {by} ({n:,})" for by, name, n in groups_like_unknown(report.frame)]
    facts += [("Labels that look like an unknown group", "; ".join(suspect))] * bool(suspect)
    return facts + titled_facts(report.provenance)


def _overview(report):
    """Table of the gaps of all measures and attributes."""
    by = report.gaps.set_index(["measure", "attribute"])

    def row(name):
        yield describe_measure(name)[0] + (", percentage points" if is_share(name) else "")
        for attribute in report.attributes:
            gap = by.loc[(name, attribute)] if (name, attribute) in by.index else None
            is_known = gap is not None and isfinite(gap["gap"])
            yield gap_text(gap, name, unit="") if is_known else "–"

    note = "Largest difference between two groups that are not small, with its interval."
    rows = [(tuple(row(name)), False) for name in report.gaps["measure"].unique()]
    titles = ("Measure", *(f"by {attribute}" for attribute in report.attributes))
    return "Gaps between groups", note, titles, rows


def _impact_tables(report, measures):
    """Tables of impact ratios with intervals: the four-fifths (80 %) rule on adverse impact."""
    for measure in measures:
        title, meaning = describe_measure(measure)
        name = "Impact ratios" if len(measures) == 1 else f"Impact ratios of the {title.lower()}"
        note = (
            f"{title} ({meaning}) of a group over that of the group where it is largest, as in the "
            "four-fifths (80 %) rule on adverse impact (disparate impact) and New York City's "
            "Local Law 144. Kept: the whole interval is at least 0.8. Below: the whole interval is "
            "less. Undecided: the interval contains 0.8."
        )
        titles = ("Group", "Samples", count_title(measure), title, "Impact ratio", "Four fifths")
        for attribute in report.attributes:
            rows = _largest_groups(_rows(report.frame, attribute, measure))
            cells = [(_impact_cells(row), row["is_reference"]) for _, row in rows.iterrows()]
            yield f"{name} by {attribute}", note, titles, cells


def count_title(measure):
    """Title of the number of samples that a rate with impact ratios counts."""
    return "Above the median" if measure == "scoring_rate" else "Selected"


def _rows(frame, attribute, measure):
    """Rows of one measure by one attribute."""
    return frame[(frame["attribute"] == attribute) & (frame["measure"] == measure)]


def _impact_cells(row):
    """Cells of a group's impact ratio."""
    low, high = row["impact_ratio_low"], row["impact_ratio_high"]
    reach = f"{low:.2f} to {high:.2f}" if isfinite(low) else ""
    return (
        row["group"],
        f"{row['n']:,.0f}",
        f"{row['n'] * row['value']:,.0f}",
        value_text(row["value"], row["measure"]),
        (_number(row["impact_ratio"], ".2f"), reach),
        _verdict(row),
    )


def _number(value, form):
    """A number in a format, or a dash where it is unknown."""
    return format(value, form) if isfinite(value) else "–"


def _verdict(row):
    """Whether the interval of an impact ratio is above, below or around four fifths."""
    if row["is_small"]:
        return "small group"
    if row["impact_ratio"] == 1.0 and not isfinite(row["impact_ratio_low"]):
        return "largest rate"
    if row["impact_ratio_high"] < FOUR_FIFTHS:
        return "below four fifths"
    return "kept" if row["impact_ratio_low"] >= FOUR_FIFTHS else "undecided"


def _adverse_impact_tables(report):
    """Tables of 29 CFR 1607.4(D): four fifths, significance and shortfall of each group."""
    note = (
        "29 CFR 1607.4(D), against the most selected group. Groups with less than "
        f"{100 * report.min_share:g} % of all samples are left out. Standard deviations: "
        "difference of the rates in standard errors of the pooled rate, of which more than two are "
        "held to be significant. P-value: Fisher's exact test, two-sided. Shortfall: further "
        "selections that would make the rate equal."
    )
    comparisons = ("Impact ratio", "Below four fifths", "Standard deviations", "P-value")
    for (measure, attribute), rows in report.adverse_impact().groupby(
        ["measure", "attribute"], sort=False
    ):
        caption = f"Adverse impact by {attribute}: {describe_measure(measure)[0].lower()}"
        titles = ("Group", "Samples", count_title(measure), *comparisons, "Shortfall")
        rows = _largest_groups(rows)
        cells = [(_adverse_impact_cells(row), False) for _, row in rows.iterrows()]
        yield caption, note, titles, cells


def _adverse_impact_cells(row):
    """Cells of a group's comparison with the most selected one."""
    ratio = row["impact_ratio"]
    verdict = ("yes" if ratio < FOUR_FIFTHS else "no") if isfinite(ratio) else "–"
    return (
        row["group"],
        f"{row['n']:,}",
        f"{row['n_selected']:,}",
        "left out" if row["is_excluded"] else _number(ratio, ".3f"),
        verdict,
        _number(row["standard_deviations"], "+.2f"),
        _number(row["p_value"], ".3g"),
        _number(row["shortfall"], ",.0f"),
    )


def _largest_groups(rows):
    """Rows of the largest groups, as many as the page shows, in their order."""
    if len(rows) <= _MAX_ROWS:
        return rows
    return rows.loc[rows["n"].nlargest(_MAX_ROWS).index].sort_index()


def _measure_tables(report, attribute):
    """Tables of all measures by one attribute."""
    frame = report.frame[report.frame["attribute"] == attribute]
    for name in frame["measure"].unique():
        rows = frame[frame["measure"] == name]
        yield _measure_table(_largest_groups(rows), attribute, name, len(rows))


def _measure_table(rows, attribute, name, n_groups):
    """Table of one measure by one attribute."""
    title, meaning = describe_measure(name)
    scale = _scale(rows)
    titles = ["Group", "Samples", title]
    has_ratio = bool(rows["ratio"].notna().any())
    titles += ["Difference, points" if is_share(name) else "Difference"] + ["Ratio"] * has_ratio
    reference = rows.loc[rows["is_reference"], "value"]
    reference = reference.iloc[0] if len(reference) else None
    note = f"{meaning}; axis from {value_text(scale[0], name)} to {value_text(scale[1], name)}"
    if len(rows) < n_groups:
        note += f"; the {len(rows)} largest of {n_groups} groups"
    cells = [
        (_cells(row, name, scale, reference, has_ratio), row["is_reference"])
        for _, row in rows.iterrows()
    ]
    return f"{title} by {attribute}", note, titles, cells


def _cells(row, name, scale, reference, has_ratio):
    """Cells of a group: number, value with its picture, difference and ratio."""
    picture = row["low"], row["value"], row["high"], reference, scale
    cells = [
        row["group"] + (" (reference)" if row["is_reference"] else ""),
        (f"{row['n']:,.0f}", "small" if row["is_small"] else ""),
        (value_text(row["value"], name), interval_text(row["low"], row["high"], name), picture),
    ]
    reach = ""
    if isfinite(row["difference"]):
        reach = interval_text(row["difference_low"], row["difference_high"], name)
    cells.append((difference_text(row["difference"], name), reach))
    if has_ratio:
        is_known = isfinite(row["ratio"])
        reach = f"{row['ratio_low']:.2f} to {row['ratio_high']:.2f}" if is_known else ""
        cells.append((_number(row["ratio"], ".2f"), reach))
    return cells


def _scale(rows):
    """Ends of the axis of all pictures of one table; it includes 0."""
    values = [x for name in ("low", "value", "high") for x in rows[name] if isfinite(x)]
    low, high = min([0.0, *values]), max([0.0, *values])
    return (low, high) if high > low else (low, low + 1.0)


def _method(report):
    """How intervals and claims are to be read."""
    level = f"{100 * report.confidence_level:g} %"
    return [
        f"Every interval contains the value of the population in {level} of samples. Intervals are "
        "Wilson's for rates (exact ones for up to three successes or failures, for ratios, and "
        "where the level is divided among many comparisons), Student's for "
        "means (Hall's where values are skewed), DeLong's for areas, and Newcombe's combination of "
        "both for differences. Weighted samples count as the effective number of equal weight.",
        f"Intervals of single groups hold in {level} of samples one at a time. The interval of a "
        "gap holds for all groups of one attribute and measure together. Differences, ratios and "
        "impact ratios are relative to a group that was chosen because its value is the largest in "
        "these data. Their intervals hold for all groups, measures and attributes together "
        "(Bonferroni), so they are wider. Differences from a reference group that was named in "
        "advance, and ratios to it, hold one at a time.",
        "A sentence under “Findings” claims a gap without “may be chance” only if Holm’s "
        "procedure over the gaps of all measures and attributes finds it above 0. For a model "
        f"without gaps, at most {100 * (1 - report.confidence_level):.3g} % of reports claim one. "
        "A gap in the tables can have an interval above 0 and still be one of many due to chance.",
        "In pictures a bar is an interval, and the stroke in it the value of the group. The dashed "
        "line is the value of the reference group, which is marked in the table.",
        f"Groups of fewer than {report.min_group_size} samples are marked as small and left out of "
        "gaps.",
        "FairnessReport.to_frame() returns all numbers, and FairnessReport.to_json() the report.",
    ]
