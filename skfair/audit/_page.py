"""A report as one page of HTML, without scripts and external resources."""

from html import escape
from math import isfinite

from skfair import __version__
from skfair.audit._measures import describe_measure
from skfair.audit._page_style import STYLE
from skfair.audit._sentences import (
    FOUR_FIFTHS,
    RATIOS,
    difference_text,
    gap_text,
    interval_text,
    is_share,
    value_text,
)

_MAX_ROWS = 40
"""Groups of one attribute that the page shows; the frame of the report has all."""


def render_page(report):
    """The whole page of a FairnessReport, as HTML."""
    title = escape(report.title)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{title}</title>\n</head>\n<body style="margin:0">\n'
        f"<main>\n{render_fragment(report)}\n</main>\n</body>\n</html>\n"
    )


def render_fragment(report):
    """The report with its style as a part of a page, which is what notebooks show."""
    parts = [
        f"<style>{STYLE}</style>",
        '<article class="skfair-report">',
        f"<h1>{escape(report.title)}</h1>",
        *_summary(report),
        *_overview(report),
        *_four_fifths(report),
        *(line for by in report.attributes for line in _attribute(report, by)),
        *_method(report),
        "</article>",
    ]
    return "\n".join(parts)


def _summary(report):
    """Findings and open questions."""
    yield "<section><h2>Findings</h2>"
    yield from (f'<p class="finding">{escape(text)}</p>' for text in report.findings)
    yield "<h2>What these data cannot decide</h2><ul>"
    yield from (f"<li>{escape(text)}</li>" for text in report.open_questions)
    yield "</ul></section>"


def _table(caption, titles, rows, note=""):
    """A table that scrolls within its frame, by keyboard too, where the page is narrow."""
    yield f'<div class="frame" role="region" aria-label="{escape(caption)}" tabindex="0"><table>'
    small = f"<small>{escape(note)}</small>" if note else ""
    yield f"<caption><span>{escape(caption)}</span>{small}</caption><thead><tr>"
    yield "".join(f'<th scope="col">{escape(title)}</th>' for title in titles)
    yield "</tr></thead><tbody>"
    for (first, *cells), is_marked in rows:
        marked = ' class="marked"' if is_marked else ""
        yield f'<tr{marked}><th scope="row">{escape(first)}</th>'
        yield "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    yield "</tbody></table></div>"


def _overview(report):
    """Table of the gaps of all measures and attributes."""
    gaps = report.gaps
    if not len(gaps):
        return
    names = gaps["measure"].unique()
    by = gaps.set_index(["measure", "attribute"])
    yield "<section><h2>Overview of gaps</h2>"

    def row(name):
        yield describe_measure(name)[0] + (", percentage points" if is_share(name) else "")
        for attribute in report.attributes:
            gap = by.loc[(name, attribute)] if (name, attribute) in by.index else None
            is_known = gap is not None and isfinite(gap["gap"])
            yield gap_text(gap, name, unit="") if is_known else "–"

    note = "Largest difference between two groups that are not small, with its interval."
    rows = ((tuple(row(name)), False) for name in names)
    titles = ("Measure", *(f"by {attribute}" for attribute in report.attributes))
    yield from _table("Gaps between groups", titles, rows, note)
    yield "</section>"


def _four_fifths(report):
    """Tables of impact ratios: the four-fifths (80 %) rule on adverse impact."""
    rates = report.frame[report.frame["measure"].isin(RATIOS)]
    if not len(rates):
        return
    measure = rates["measure"].iloc[0]
    title, meaning = describe_measure(measure)
    yield "<section><h2>Impact ratios</h2>"
    note = (
        f"{title} ({meaning}) of a group over that of the group where it is largest, as in the "
        "four-fifths (80 %) rule on adverse impact (disparate impact) and New York City's Local "
        "Law 144. Kept: the whole interval is at least 0.8. Below: the whole interval is less. "
        "Undecided: the interval contains 0.8."
    )
    for attribute in report.attributes:
        shown = _largest_groups(rates[rates["attribute"] == attribute])
        rows = [(_impact(row), row["is_reference"]) for _, row in shown.iterrows()]
        titles = ("Group", "People", "Of them", title, "Impact ratio", "Four fifths")
        yield from _table(f"Impact ratios by {attribute}", titles, rows, note)
    yield "</section>"


def _impact(row):
    """Cells of a group's impact ratio."""
    selected = f"{row['n'] * row['value']:,.0f}"
    rate, ratio = value_text(row["value"], row["measure"]), row["impact_ratio"]
    low, high = row["impact_ratio_low"], row["impact_ratio_high"]
    text = f"{ratio:.2f}" if isfinite(ratio) else "–"
    if isfinite(low):
        text += f" <small>{low:.2f} to {high:.2f}</small>"
    return row["group"], f"{row['n']:,.0f}", selected, rate, text, _verdict(row)


def _verdict(row):
    """Whether the interval of an impact ratio is above, below or around four fifths."""
    if row["is_small"]:
        return "small group"
    if row["impact_ratio"] == 1.0 and not isfinite(row["impact_ratio_low"]):
        return "largest rate"
    if row["impact_ratio_high"] < FOUR_FIFTHS:
        return "below four fifths"
    return "kept" if row["impact_ratio_low"] >= FOUR_FIFTHS else "undecided"


def _largest_groups(rows):
    """Rows of the largest groups, as many as the page shows, in their order."""
    if len(rows) <= _MAX_ROWS:
        return rows
    return rows.loc[rows["n"].nlargest(_MAX_ROWS).index].sort_index()


def _attribute(report, attribute):
    """Tables of all measures by one attribute."""
    frame = report.frame[report.frame["attribute"] == attribute]
    yield f"<section><h2>By {escape(attribute)}</h2>"
    for name in frame["measure"].unique():
        rows = frame[frame["measure"] == name]
        yield from _measure(_largest_groups(rows), attribute, name, len(rows))
    yield "</section>"


def _measure(rows, attribute, name, n_groups):
    """Table of one measure by one attribute."""
    title, meaning = describe_measure(name)
    scale = _scale(rows)
    titles = ["Group", "People", title]
    has_ratio = bool(rows["ratio"].notna().any())
    titles += ["Difference, points" if is_share(name) else "Difference"] + ["Ratio"] * has_ratio
    reference = rows.loc[rows["is_reference"], "value"]
    reference = reference.iloc[0] if len(reference) else None
    note = f"{meaning}; pictures from {value_text(scale[0], name)} to {value_text(scale[1], name)}"
    if len(rows) < n_groups:
        note += f"; the {len(rows)} largest of {n_groups} groups"
    cells = [
        (_cells(row, name, scale, reference, has_ratio), row["is_reference"])
        for _, row in rows.iterrows()
    ]
    yield from _table(f"{title} by {attribute}", titles, cells, note)


def _cells(row, name, scale, reference, has_ratio):
    """Cells of a group: number, value, picture, difference and ratio."""
    group = row["group"] + (" (reference)" if row["is_reference"] else "")
    mark = ' <abbr title="few people: mostly chance">small</abbr>' if row["is_small"] else ""
    value, reach = value_text(row["value"], name), interval_text(row["low"], row["high"], name)
    cells = [
        group,
        f"{row['n']:,.0f}{mark}",
        f"<div><span>{value} <small>{reach}</small></span>{_strip(row, scale, reference)}</div>",
    ]
    difference = difference_text(row["difference"], name)
    if isfinite(row["difference"]):
        reach = interval_text(row["difference_low"], row["difference_high"], name)
        difference = f"{difference} <small>{reach}</small>"
    cells.append(difference)
    if has_ratio:
        reach = f"<small>{row['ratio_low']:.2f} to {row['ratio_high']:.2f}</small>"
        cells.append(f"{row['ratio']:.2f} {reach}" if isfinite(row["ratio"]) else "–")
    return cells


def _scale(rows):
    """Ends of the axis of all pictures of one table; it includes 0."""
    values = [x for name in ("low", "value", "high") for x in rows[name] if isfinite(x)]
    low, high = min([0.0, *values]), max([0.0, *values])
    return (low, high) if high > low else (low, low + 1.0)


def _strip(row, scale, reference):
    """Picture of the interval, the value and, dashed, the value of the reference group."""

    def x(value):
        return f"{100 * (value - scale[0]) / (scale[1] - scale[0]):.1f}"

    def line(kind, start, end, top, bottom):
        return f'<line class="{kind}" x1="{x(start)}" x2="{x(end)}" y1="{top}" y2="{bottom}"/>'

    shapes = []
    if reference is not None:
        shapes.append(line("ref", reference, reference, 0, 20))
    if isfinite(row["low"]) and isfinite(row["high"]):
        shapes.append(line("span", row["low"], row["high"], 10, 10))
    shapes.append(line("at", row["value"], row["value"], 4, 16))
    return (
        '<svg viewBox="0 0 100 20" preserveAspectRatio="none" aria-hidden="true" focusable="false">'
        f"{''.join(shapes)}</svg>"
    )


def _method(report):
    """How intervals and claims are to be read."""
    level = f"{100 * report.confidence_level:g} %"
    yield "<section><h2>How to read this</h2><ul>"
    for text in (
        f"Every interval contains the value of the population in {level} of samples. Intervals are "
        "Wilson's for rates (exact ones for up to three successes or failures), Student's for "
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
        "A bar is an interval, and the stroke in it the value of the group. The dashed line is the "
        "value of the reference group, which is marked in the table.",
        f"Groups of fewer than {report.min_group_size} people are marked as small and left out of "
        "gaps.",
        f"Made by skfair {__version__} from data on {report.n_samples:,} people. "
        "FairnessReport.to_frame() returns all numbers.",
    ):
        yield f"<li>{escape(text)}</li>"
    yield "</ul></section>"
